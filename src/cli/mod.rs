//! The command line: parses the arguments, runs the pipeline and the reports, and returns the exit code. Only this module uses
//! clap. Files import only files to the right of them or below:
//!
//! ```text
//!  mod ──> command_line, answer, ask, generate, hex, show, view
//!           └──> run
//!           └──> args ──> overview, dump, check, live, server, export
//!           │            └──> tui
//!                          └──> job, save ──> read ──> follow ──> inputs ──> diagnostics ──> common_args
//! ```
//! The options of a subcommand are in its file, or in the `mod.rs` of its folder. One that reads captures says there, by
//! `job::ReadsCaptures`, what it reads, writes and allows.

mod accepted;
mod anonymise;
mod answer;
mod args;
mod ask;
mod baseline;
mod check;
mod choices;
mod clock;
mod columns;
mod command_line;
mod common_args;
mod config;
mod detail;
mod diagnostics;
mod diff;
mod dump;
mod export;
mod follow;
mod generate;
mod help;
mod hex;
mod inputs;
mod interrupt;
mod job;
mod live;
mod metrics;
mod output;
mod overview;
mod progress;
mod read;
mod reduce;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod save;
mod server;
mod show;
mod system;
mod terminal;
#[cfg(all(test, unix))]
mod tests_documented;
#[cfg(test)]
mod tests_recordings;
mod text;
#[cfg(feature = "tui")]
mod tui;
mod value_parsers;
mod view;
mod wildcards;

use args::Command;
use command_line::{command, is_given, parse, with_subcommand};
use diagnostics::{FAILED, error, stdout_exit_code};
use std::ffi::OsString;
use std::io::Write;

/// Runs the command line and returns the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    if args.len() <= 1 && !system::stdin_may_be_capture() {
        diagnostics::print_stderr(&command().render_help());
        return 2;
    }
    let args = with_subcommand(args);
    let (cli, matches) = match parse(args.clone()) {
        Ok(parsed) => parsed,
        Err(e) => {
            let e = command_line::harmless(e, &args);
            // Help and version go to standard output and are no errors; neither is a closed pipe.
            let print_result = e.print().and_then(|()| std::io::stdout().flush());
            return if e.use_stderr() { FAILED } else { stdout_exit_code(print_result) };
        }
    };
    let is_given = |option: &str| is_given(&matches, option);
    let result = match cli.command {
        Command::Read(command) => run::run(command.subcommand(), &is_given),
        Command::Hex(mut command) => hex::run(&mut command, &is_given),
        Command::Answer(command) => answer::run(&command),
        Command::Ask(command) => ask::run(&command, &is_given),
        Command::View(command) => view::run(&command, args),
        Command::Rule(command) => show::rule(&command),
        Command::Protocol(command) => Ok(show::protocol(&command)),
        Command::Generate(command) => generate::run(&command, &command_line::command()),
    };
    result.unwrap_or_else(|why| {
        error(&why);
        FAILED
    })
}
