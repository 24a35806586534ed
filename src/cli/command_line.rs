//! The command line as users see it, and how arguments are read by it.

use super::args::Cli;
use super::help;
use super::implied_command::advise;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, Error, FromArgMatches};
use std::ffi::OsString;

/// Commands that read captures.
const READERS: [&str; 7] = ["summary", "dump", "check", "exchanges", "stats", "report", "view"];

/// The command line; `live` does not offer what is about files, and says so when it is asked for.
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

/// Usage lines of what clap does not know: the form without a command comes first, and a filter stands last.
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

/// The arguments, and where each came from.
///
/// # Errors
/// What is wrong with them, and which command refused options belong to.
pub fn parse(args: Vec<OsString>) -> Result<(Cli, ArgMatches), Error> {
    let matches = command().try_get_matches_from(args).map_err(|e| advise(e, &command()))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command()))?;
    Ok((cli, matches))
}

/// Whether an option of the subcommand stands on the command line; a configuration does not change those.
pub fn given(matches: &ArgMatches, option: &str) -> bool {
    let own = matches.subcommand().and_then(|(_, own)| own.value_source(option));
    own == Some(ValueSource::CommandLine)
}
