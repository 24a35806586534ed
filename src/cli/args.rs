//! The command line as clap defines it: the subcommands, each with its own options.

use super::anonymise::AnonymiseArgs;
use super::answer::AnswerArgs;
use super::ask::AskArgs;
use super::check::CheckArgs;
use super::diff::DiffArgs;
use super::dump::{DumpArgs, ExchangesArgs};
use super::export::ExportArgs;
use super::generate::GenerateCommand;
use super::hex::HexArgs;
use super::job::ReadsCaptures;
use super::overview::{ReportArgs, StatsArgs, SummaryArgs};
use super::reduce::ReduceArgs;
use super::server::ServerArgs;
use super::show::{ProtocolCommand, RuleCommand};
#[cfg(feature = "tui")]
use super::tui::TuiArgs;
use super::view::ViewArgs;
use clap::{Parser, Subcommand};

/// Dissects and judges the traffic of game-server query protocols.
///
/// Reads pcap and pcapng files, recognises the protocols by content, pairs answers with requests and
/// says what does not keep to the protocol. Without a command it prints the summary; with -V, -O, -x, -e or
/// -T text|tree|fields|tsv, packets. `qdissect summary --help` and `qdissect dump --help` have the options of both.
#[derive(Debug, Parser)]
#[command(
    name = "qdissect",
    bin_name = "qdissect",
    version,
    propagate_version = true,
    disable_version_flag = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Print the version.
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Read(Box<Reading>),
    /// Pasted bytes: hex, dumps of xxd, hexdump, tcpdump or Wireshark, arrays, strings, base64
    Hex(Box<HexArgs>),
    /// Asks a server as a client would, and dissects or judges what comes back
    Ask(Box<AskArgs>),
    /// A server that answers queries: right, with one fault, or from a capture; for authors of clients
    Answer(Box<AnswerArgs>),
    /// Opens the page that `report` writes in the browser, or says where it is
    View(Box<ViewArgs>),
    /// The conformance rules and their sources
    #[command(subcommand)]
    Rule(RuleCommand),
    /// The protocols: messages, fields, signatures, sources
    #[command(subcommand)]
    Protocol(ProtocolCommand),
    /// Completions for shells, the manual, and the schema of the records
    #[command(subcommand)]
    Generate(GenerateCommand),
}

/// What to do with captures.
#[derive(Debug, Subcommand)]
pub enum Reading {
    /// Summary for a person: capture, servers, findings (the default; the word may be left out)
    Summary(SummaryArgs),
    /// Packets, one line each, or as records
    Dump(DumpArgs),
    /// Conformance verdict for CI: findings, reports, exit code
    Check(CheckArgs),
    /// Exchanges: one row per request and its answer
    Exchanges(ExchangesArgs),
    /// Captures with dumpcap or tcpdump, and shows packets as they come
    Live(super::live::args::LiveArgs),
    /// Statistics: response times, endpoints, protocols, amplification, losses
    Stats(StatsArgs),
    /// One server on one screen: who asks it, what it answers, and what keeps it from being listed
    Server(ServerArgs),
    /// Two captures of one server: fields of its answers, rules and response times that differ
    Diff(Box<DiffArgs>),
    /// The smallest capture that still shows a finding
    Reduce(ReduceArgs),
    /// A capture that can be shared: other addresses, names and keys, the same lengths, times and findings
    Anonymise(AnonymiseArgs),
    /// Packets, fields and bytes to walk through on a terminal; servers, exchanges, findings, statistics
    #[cfg(feature = "tui")]
    Tui(TuiArgs),
    /// Tables in Parquet files, for DuckDB, Polars, pandas and Spark
    Export(ExportArgs),
    /// One page of HTML with everything that was found, which needs no network and no server
    Report(ReportArgs),
}

impl Reading {
    /// The subcommand by what all of them say of themselves.
    pub fn subcommand(self) -> Box<dyn ReadsCaptures> {
        match self {
            Reading::Summary(args) => Box::new(args),
            Reading::Dump(args) => Box::new(args),
            Reading::Check(args) => Box::new(args),
            Reading::Exchanges(args) => Box::new(args),
            Reading::Live(args) => Box::new(args),
            Reading::Stats(args) => Box::new(args),
            Reading::Server(args) => Box::new(args),
            Reading::Diff(args) => args,
            Reading::Reduce(args) => Box::new(args),
            Reading::Anonymise(args) => Box::new(args),
            #[cfg(feature = "tui")]
            Reading::Tui(args) => Box::new(args),
            Reading::Export(args) => Box::new(args),
            Reading::Report(args) => Box::new(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::choices::Format;
    use crate::cli::common_args::Common;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn parsed(name: &str) -> Reading {
        match Cli::parse_from(["qdissect", name]).command {
            Command::Read(reading) => *reading,
            _ => unreachable!("it reads captures"),
        }
    }

    #[test]
    fn options_that_are_not_given_have_the_values_that_clap_takes() {
        let Reading::Dump(dump) = parsed("dump") else { unreachable!("dump was called") };
        let ours = DumpArgs::of(Common::default(), Format::Text);
        assert_eq!(format!("{dump:?}"), format!("{ours:?}"));
        let Reading::Check(check) = parsed("check") else { unreachable!("check was called") };
        assert_eq!(format!("{check:?}"), format!("{:?}", CheckArgs::of(Common::default())));
    }
}
