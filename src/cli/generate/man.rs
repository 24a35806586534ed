//! The manual pages in roff, the format of `man`.

use crate::cli::help;
use clap::Command;
use clap_mangen::Man;
use std::path::Path;
use std::{fs, io};

/// The meanings of the exit codes.
const STATUS: [(&str, &str); 7] = [
    ("0", "Done. Findings do not change the exit code but of check."),
    ("1", "Of check: there are findings at or above --fail-on."),
    (
        "2",
        "Wrong usage; a file that is missing, no capture, damaged or cut short; output that cannot be written. What \
         could be read is still printed, and marked as incomplete.",
    ),
    ("3", "Of check: nothing was looked at, or there is less than --require and --require-coverage demand."),
    ("130", "Ctrl-C ended the reading of files; what was read is finished."),
    ("143", "SIGTERM did."),
    ("129", "SIGHUP did: the terminal was closed."),
];

/// One page about the program and all its subcommands, which have their options in sections of their own.
pub fn page(command: Command) -> Vec<u8> {
    let command = built(command);
    let mut page = head(&command);
    for leaf in leaves(&command) {
        let name = leaf.get_bin_name().unwrap_or(leaf.get_name());
        page.push_str(&format!(".SH \"{}\"\n", name.to_uppercase()));
        // The sections of a subcommand become subsections.
        for line in
            sections(leaf).lines().filter(|line| !(line.starts_with(".ie ") || line.starts_with(".el ")))
        {
            match line.strip_prefix(".SH ") {
                Some(title) => page.push_str(&format!(".SS {title}\n")),
                None => page.push_str(&format!("{line}\n")),
            }
        }
        page.push_str(&examples(leaf, ".SS"));
    }
    page.push_str(&exit_status_section());
    page.push_str(&examples(&command, ".SH"));
    page.into_bytes()
}

/// Writes a page for the program and one for each subcommand: `qdissect-dump.1`.
///
/// # Errors
/// When a page cannot be written.
pub fn write(command: Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    write_below(&built(command), dir)
}

fn write_below(command: &Command, dir: &Path) -> io::Result<()> {
    let page = head(command) + &exit_status_section() + &examples(command, ".SH");
    let name = command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-");
    fs::write(dir.join(format!("{name}.1")), page)?;
    visible_subcommands(command).try_for_each(|sub| write_below(sub, dir))
}

fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// The subcommands that have no subcommands themselves.
fn leaves(command: &Command) -> Vec<&Command> {
    visible_subcommands(command)
        .flat_map(|sub| if sub.has_subcommands() { leaves(sub) } else { vec![sub] })
        .collect()
}

/// The beginning of a page, up to the options and the subcommands.
fn head(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-");
    let man = Man::new(command.clone().name(name));
    let mut page = rendered(|page| man.render_title(page).and_then(|()| man.render_name_section(page)));
    page.push_str(&sections(command));
    if command.has_subcommands() {
        page.push_str(&rendered(|page| man.render_subcommands_section(page)));
    }
    page
}

/// Synopsis, description and options.
fn sections(command: &Command) -> String {
    let man = Man::new(command.clone());
    rendered(|page| {
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)
    })
}

fn rendered(render: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut page = vec![];
    // Writing to memory cannot fail.
    let _ = render(&mut page);
    String::from_utf8_lossy(&page).into_owned()
}

fn exit_status_section() -> String {
    let mut page = ".SH \"EXIT STATUS\"\n".to_owned();
    for (code, meaning) in STATUS {
        page.push_str(&format!(".TP\n{code}\n{}\n", literal(meaning)));
    }
    page
}

/// The examples, as lines that can be copied; empty if there are none.
fn examples(command: &Command, heading: &str) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let lines = help::examples_of(name).into_iter().map(|(line, what)| {
        format!("{}:\n.PP\n.nf\n.RS 4\n{}\n.RE\n.fi\n.PP\n", literal(what), literal(line))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("{heading} EXAMPLES\n{lines}") }
}

/// Escapes characters that roff would interpret or print as other characters.
fn literal(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
