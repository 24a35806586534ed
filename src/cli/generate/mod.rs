//! `qdissect generate`: what is made of the declarations for shells, for `man`, and for programs.

mod completions;
mod man;
#[cfg(test)]
mod tests;

use super::command;
use super::diagnostics::error;
use super::outcome::{self, FAILED, OK};
use crate::report::quoted;
use crate::schema;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the program, as shells and the manual know it.
const NAME: &str = "qdissect";

/// `qdissect generate`
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// A script that completes options and values in a shell
    Completions(CompletionsArgs),
    /// The manual for `man`: one page for everything, or a page for each subcommand
    Man(ManArgs),
    /// A JSON Schema of what -T json and -T ndjson write
    Schema(SchemaArgs),
}

/// `qdissect generate completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: ShellName,
}

/// The shells that there are completions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// PowerShell
    #[value(name = "powershell")]
    PowerShell,
    /// Elvish
    Elvish,
}

/// `qdissect generate man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each subcommand to this directory, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `qdissect generate schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Only one type of records; `array` is what -T json writes. Else one record of any type
    #[arg(value_name = "RECORD", value_parser = PossibleValuesParser::new(schema::names()))]
    pub record: Option<String>,
}

/// Runs `qdissect generate`; returns the exit code.
pub fn run(command: &GenerateCommand) -> u8 {
    match command {
        GenerateCommand::Completions(args) => print(completions::script(args.shell).as_bytes()),
        GenerateCommand::Man(ManArgs { dir: Some(dir) }) => pages(dir),
        GenerateCommand::Man(ManArgs { dir: None }) => print(&man::page(command_line())),
        GenerateCommand::Schema(args) => {
            let schema = args.record.as_deref().and_then(schema::schema_of);
            print(format!("{:#}\n", schema.unwrap_or_else(schema::schema)).as_bytes())
        }
    }
}

/// The command line as users see it.
fn command_line() -> clap::Command {
    shown(&command()).name(NAME)
}

/// A subcommand without the arguments that help does not show: shells would offer what is refused.
fn shown(command: &clap::Command) -> clap::Command {
    let hidden = command.get_arguments().any(clap::Arg::is_hide_set);
    let bare = match hidden {
        // Arguments cannot be taken away, so it is made anew of the others.
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
