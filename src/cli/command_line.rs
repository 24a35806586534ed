//! The command line as users see it, and the parsing of arguments.

use super::args::Cli;
use super::help;
use super::implied_command::advise;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, Error, FromArgMatches};
use std::ffi::OsString;

/// Subcommands that read captures.
const READERS: [&str; 7] = ["summary", "dump", "check", "exchanges", "stats", "report", "view"];

/// The command line. `live` hides the options that concern files, and an explanation is printed if they are used.
pub fn command() -> Command {
    let command = with_usage(help::arranged(Cli::command()));
    if cfg!(not(unix)) {
        return command;
    }
    command.mut_subcommand("live", |live| {
        let save = "Save what is captured, as the capture program sends it";
        ["files", "read", "allow_truncated", "per_file", "follow", "annotate"]
            .into_iter()
            .fold(live, |live, id| live.mut_arg(id, |a| a.hide(true)))
            .mut_arg("write", |a| a.help(save))
    })
}

/// Adds usage lines that clap cannot derive: the form without a subcommand comes first, and a filter comes last.
fn with_usage(command: Command) -> Command {
    const INPUTS: &str = "[OPTIONS] [FILE|DIR|-]... [FILTER]";
    let command =
        command.override_usage(format!("qdissect {INPUTS}\n       qdissect <COMMAND> [OPTIONS] ..."));
    let command = READERS.iter().fold(command, |command, name| {
        command.mut_subcommand(*name, |sub| sub.override_usage(format!("qdissect {name} {INPUTS}")))
    });
    [("rule", "ID"), ("protocol", "NAME")].iter().fold(command, |command, (name, what)| {
        let usage = format!("qdissect {name} [OPTIONS] {what}...\n       qdissect {name} <COMMAND>");
        command.mut_subcommand(*name, |sub| sub.override_usage(usage))
    })
}

/// Parses the arguments, and returns where each of them came from.
///
/// # Errors
/// What is wrong with the arguments, and which subcommand a refused option belongs to.
pub fn parse(args: Vec<OsString>) -> Result<(Cli, ArgMatches), Error> {
    let matches = command().try_get_matches_from(args).map_err(|e| advise(e, &command()))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command()))?;
    Ok((cli, matches))
}

/// Whether an option of the subcommand was given on the command line. A configuration does not override it then.
pub fn given(matches: &ArgMatches, option: &str) -> bool {
    let own = matches.subcommand().and_then(|(_, own)| own.value_source(option));
    own == Some(ValueSource::CommandLine)
}
