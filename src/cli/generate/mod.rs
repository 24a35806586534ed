//! `qdissect generate`: writes shell completions, manual pages, schemas and what Wireshark needs from the declarations in the program.

mod completions;
mod man;
#[cfg(test)]
mod tests;
mod wireshark;

use super::choices::SHELLS;
use super::diagnostics::{OK, error_text, stdout_exit_code};
use super::system;
use crate::schema;
use crate::text::escape::quoted;
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::PathBuf;

/// Runs `qdissect generate` for the command line `whole`; returns the exit code.
///
/// # Errors
/// A sentence, if pages of the manual cannot be written.
pub fn run(command: &GenerateCommand, whole: &clap::Command) -> Result<u8, String> {
    let command_line = || shown(whole);
    let text = match command {
        GenerateCommand::Completions { shell } => completions::script(*shell, &command_line()).into_bytes(),
        GenerateCommand::Man { dir: Some(dir) } => {
            let why = |e| {
                let dir = quoted(&system::path_text(dir));
                format!("The manual cannot be written to {dir}: {}.", error_text(&e))
            };
            return man::write(command_line(), dir).map(|()| OK).map_err(why);
        }
        GenerateCommand::Man { dir: None } => man::page(command_line()),
        GenerateCommand::Wireshark => wireshark::PLUGIN.as_bytes().to_vec(),
        GenerateCommand::Extcap => wireshark::extcap().into_bytes(),
        GenerateCommand::Schema { record } => {
            let schema = record.as_deref().and_then(schema::schema_of);
            format!("{:#}\n", schema.unwrap_or_else(schema::schema)).into_bytes()
        }
    };
    let mut out = io::stdout();
    Ok(stdout_exit_code(out.write_all(&text).and_then(|()| out.flush())))
}

/// The command line as users see it, under the program's name in shells and the manual.
fn shown(whole: &clap::Command) -> clap::Command {
    visible(whole).name("qdissect")
}

/// A command without hidden arguments, which shells would otherwise offer although they are refused.
fn visible(command: &clap::Command) -> clap::Command {
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
    names.into_iter().fold(bare, |command, name| command.mut_subcommand(name, |sub| visible(&sub)))
}

/// `qdissect generate`
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// A script that completes options and values in a shell
    Completions {
        /// The shell
        #[arg(value_parser = SHELLS, value_name = "SHELL")]
        shell: Shell,
    },
    /// The manual for `man`: one page for everything, or a page for each subcommand
    Man {
        /// Write a page for each subcommand to this directory, which is made if it is not there
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// A Lua plugin for Wireshark and tshark: the findings that -w --annotate writes as fields, expert information and marked bytes
    Wireshark,
    /// An extcap program, which makes qdissect an interface of Wireshark and tshark
    Extcap,
    /// A JSON Schema of what -T json and -T ndjson write
    Schema {
        /// Only one type of records; `array` is what -T json writes. Else one record of any type
        #[arg(value_name = "RECORD", value_parser = PossibleValuesParser::new(schema::names()))]
        record: Option<String>,
    },
}
