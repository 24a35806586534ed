//! The manual in roff, as `man` reads it.

use clap::Command;
use clap_mangen::Man;
use std::fs;
use std::io;
use std::path::Path;

/// One page on the program and all its subcommands, those with their options in sections of their own.
pub fn page(command: Command) -> Vec<u8> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut page = vec![];
    // Memory takes everything.
    let _ = Man::new(command.clone()).render(&mut page);
    leaves(&command).into_iter().for_each(|leaf| section(&mut page, leaf));
    page
}

/// Writes a page for the program and one for each subcommand: `qdissect-dump.1`.
///
/// # Errors
/// When a page cannot be written.
pub fn write(command: Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(command, dir)
}

/// The subcommands that have none themselves.
fn leaves(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.flat_map(|sub| if sub.has_subcommands() { leaves(sub) } else { vec![sub] }).collect()
}

/// Appends a subcommand: its own page without head and name, its sections one level lower.
fn section(page: &mut Vec<u8>, command: &Command) {
    let (man, mut own) = (Man::new(command.clone()), vec![]);
    let _ = man.render_synopsis_section(&mut own);
    let _ = man.render_description_section(&mut own);
    let _ = man.render_options_section(&mut own);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    page.extend(format!(".SH \"{}\"\n", name.to_uppercase()).bytes());
    for line in String::from_utf8_lossy(&own).lines() {
        match line.strip_prefix(".SH ") {
            Some(title) => page.extend(format!(".SS {title}\n").bytes()),
            None => page.extend(format!("{line}\n").bytes()),
        }
    }
}
