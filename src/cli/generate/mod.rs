//! `qdissect generate`: writes shell completions, manual pages and schemas from the declarations in the program.

pub mod args;
mod completions;
mod man;
#[cfg(test)]
mod tests;

use super::command_line::command;
use super::diagnostics::error;
use super::outcome::{self, FAILED, OK};
use crate::escape::quoted;
use crate::schema;
use args::{GenerateCommand, ManArgs};
use std::io::{self, Write};
use std::path::Path;

/// Runs `qdissect generate`; returns the exit code.
pub fn run(command: &GenerateCommand) -> u8 {
    match command {
        GenerateCommand::Completions(args) => {
            print(completions::script(args.shell, &command_line()).as_bytes())
        }
        GenerateCommand::Man(ManArgs { dir: Some(dir) }) => pages(dir),
        GenerateCommand::Man(ManArgs { dir: None }) => print(&man::page(command_line())),
        GenerateCommand::Schema(args) => {
            let schema = args.record.as_deref().and_then(schema::schema_of);
            print(format!("{:#}\n", schema.unwrap_or_else(schema::schema)).as_bytes())
        }
    }
}

/// The command line as users see it, under the program's name in shells and the manual.
fn command_line() -> clap::Command {
    shown(&command()).name("qdissect")
}

/// A subcommand without its hidden arguments. Shells would offer them, but they are refused.
fn shown(command: &clap::Command) -> clap::Command {
    let hidden = command.get_arguments().any(clap::Arg::is_hide_set);
    let bare = match hidden {
        // clap cannot remove arguments, so the subcommand is rebuilt from the others.
        true => {
            let about = command.get_about().cloned().unwrap_or_default();
            let args = command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
            clap::Command::new(command.get_name().to_owned())
                .about(about)
                .disable_version_flag(true)
                .args(args)
        }
        false => command.clone(),
    };
    let names: Vec<_> = bare.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(bare, |command, name| command.mut_subcommand(name, |sub| shown(&sub)))
}

/// Writes to standard output; returns the exit code.
fn print(text: &[u8]) -> u8 {
    let mut out = io::stdout();
    outcome::printed(out.write_all(text).and_then(|()| out.flush()))
}

/// Writes a page for each subcommand; returns the exit code.
fn pages(dir: &Path) -> u8 {
    match man::write(command_line(), dir) {
        Ok(()) => OK,
        Err(e) => {
            let dir = quoted(&dir.to_string_lossy());
            error(&format_args!("The manual cannot be written to {dir}: {}.", outcome::why(&e)));
            FAILED
        }
    }
}
