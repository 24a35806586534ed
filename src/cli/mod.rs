//! Arguments in, pipeline and reports, exit code out; the only place that knows clap.

mod accepted;
mod args;
mod ask;
mod baseline;
mod check;
mod choices;
mod clock;
mod columns;
mod common_args;
mod completion_values;
mod config;
mod detail;
mod diagnostics;
#[cfg(all(test, unix))]
mod documented;
mod export;
mod filter;
mod follow;
mod followed_file;
mod generate;
mod help;
mod hex;
mod implied_command;
mod inputs;
mod interrupt;
#[cfg(unix)]
mod live;
mod outcome;
mod output;
mod output_conflict;
mod pattern;
mod progress;
mod read;
#[cfg(test)]
mod recordings;
mod report;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod save;
mod show;
mod stats;
mod suppress;
mod terminal;
mod text;
mod value_parsers;
mod values;
mod view;
mod wrap;

use args::Command;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use implied_command::with_subcommand;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command line and returns the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    if args.len() <= 1 && !inputs::stdin_waits() {
        diagnostics::say(&command().render_help());
        return 2;
    }
    let args = with_subcommand(args);
    match parse(args.clone()) {
        Ok((cli, matches)) => match cli.command {
            Command::Read(mut command) => run::run(&mut command, &|option| given(&matches, option)),
            Command::Hex(mut command) => hex::run(&mut command, &|option| given(&matches, option)),
            Command::Ask(command) => ask::run(&command, &|option| given(&matches, option)),
            Command::View(command) => view::run(&command, args),
            Command::Rule(command) => show::rule(&command),
            Command::Protocol(command) => show::protocol(&command),
            Command::Generate(command) => generate::run(&command),
        },
        Err(e) => {
            // Help and version go to standard output and are no error; a closed pipe is none either.
            let printed = e.print().and_then(|()| std::io::stdout().flush());
            if e.use_stderr() { outcome::FAILED } else { outcome::printed(printed) }
        }
    }
}

/// The command line; `live` does not offer what is about files, and says so when it is asked for.
fn command() -> clap::Command {
    let command = implied_command::with_usage(help::arranged(args::Cli::command()));
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

/// The arguments, and where each came from.
fn parse(args: Vec<OsString>) -> Result<(args::Cli, ArgMatches), clap::Error> {
    let matches = command().try_get_matches_from(args).map_err(implied_command::advise)?;
    let cli = args::Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command()))?;
    Ok((cli, matches))
}

/// Whether an option of the subcommand stands on the command line; a configuration does not change those.
fn given(matches: &ArgMatches, option: &str) -> bool {
    let own = matches.subcommand().and_then(|(_, own)| own.value_source(option));
    own == Some(ValueSource::CommandLine)
}
