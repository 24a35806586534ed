//! Arguments in, pipeline and reports, exit code out; the only place that knows clap.
//!
//! Files import only what is to the right of them, or below:
//!
//! ```text
//!  mod ──> ask, generate, hex, show, view
//!           └──> run ──> args ──> summary, dump, check, exchanges, live, stats, export, report
//!                                  └──> save ──> read ──> follow ──> inputs ──> diagnostics ──> common_args
//! ```
//! The options of a subcommand are in its file, or in `args.rs` of its folder.

mod accepted;
mod args;
mod ask;
mod baseline;
mod check;
mod choices;
mod clock;
mod columns;
mod command_line;
mod common_args;
mod completion_values;
mod config;
mod detail;
mod diagnostics;
#[cfg(all(test, unix))]
mod documented;
mod dump;
mod exchanges;
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
mod progress;
mod read;
#[cfg(test)]
mod recordings;
mod report;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod save;
mod settings;
mod show;
mod stats;
mod summary;
mod terminal;
mod text;
mod value_parsers;
mod values;
mod view;
mod wrap;

use args::Command;
use command_line::{command, given, parse};
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
            // Help and version go to standard output and are no errors; neither is a closed pipe.
            let printed = e.print().and_then(|()| std::io::stdout().flush());
            if e.use_stderr() { outcome::FAILED } else { outcome::printed(printed) }
        }
    }
}
