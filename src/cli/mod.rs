//! Arguments in, pipeline and reports, exit code out; the only place that knows clap.

mod args;
#[allow(dead_code)]
mod baseline;
mod check;
#[allow(dead_code)]
mod config;
#[allow(dead_code)]
mod known;
mod output;
#[allow(dead_code)]
mod pattern;
#[cfg(test)]
mod played;
mod run;
mod show;
#[allow(dead_code)]
mod suppress;
#[allow(dead_code)]
mod text;
#[allow(dead_code)]
mod values;

use args::Command;
use clap::Parser;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Runs the command line and returns the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    if args.len() <= 1 {
        let mut command = <args::Cli as clap::CommandFactory>::command();
        say(&command.render_help());
        return 2;
    }
    match args::Cli::try_parse_from(with_subcommand(args)) {
        Ok(cli) => match &cli.command {
            Command::Read(command) => run::run(command),
            Command::Rule(command) => show::rule(command),
            Command::Protocol(command) => show::protocol(command),
        },
        Err(e) => {
            // Help and version go to standard output and are no error; a closed pipe is none either.
            let _ = e.print();
            if e.use_stderr() { 2 } else { 0 }
        }
    }
}

/// Writes to standard error; nobody need be reading it.
fn say(what: &dyn std::fmt::Display) {
    let _ = write!(std::io::stderr(), "{what}");
}

/// Puts `summary` before arguments that begin with no subcommand.
///
/// A word that could be a mistyped subcommand is left for clap, which knows what it resembles.
fn with_subcommand(mut args: Vec<OsString>) -> Vec<OsString> {
    let command = <args::Cli as clap::CommandFactory>::command();
    let Some(first) = args.get(1).and_then(|a| a.to_str()) else {
        args.insert(1, "summary".into());
        return args;
    };
    let own = ["-h", "--help", "-v", "--version", "help"].contains(&first);
    let subcommand = command.get_subcommands().any(|s| s.get_name() == first);
    let word = first.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let mistyped = word && !first.starts_with('-') && !Path::new(first).exists();
    if !(own || subcommand || mistyped) {
        args.insert(1, "summary".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(args: &[&str]) -> String {
        let args = args.iter().map(OsString::from).collect();
        with_subcommand(args)[1].to_string_lossy().into_owned()
    }

    #[test]
    fn summary_is_understood_where_no_subcommand_stands() {
        assert_eq!(first(&["qdissect", "a.pcap"]), "summary");
        assert_eq!(first(&["qdissect", "-q", "a.pcap"]), "summary");
        assert_eq!(first(&["qdissect", "-"]), "summary");
        assert_eq!(first(&["qdissect", "./dump"]), "summary");
        assert_eq!(first(&["qdissect", "dump", "a.pcap"]), "dump");
        assert_eq!(first(&["qdissect", "dumb"]), "dumb");
        assert_eq!(first(&["qdissect", "--help"]), "--help");
    }
}
