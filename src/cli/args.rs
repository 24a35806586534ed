//! The command line as clap defines it: the subcommands, each with its own options.

use super::ask::AskArgs;
use super::check::CheckArgs;
use super::common_args::Common;
use super::dump::{DumpArgs, ExchangesArgs};
use super::export::ExportArgs;
use super::generate::GenerateCommand;
use super::hex::HexArgs;
use super::overview::{ReportArgs, StatsArgs, SummaryArgs};
use super::show::{ProtocolCommand, RuleCommand};
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
    #[cfg(unix)]
    Live(super::live::args::LiveArgs),
    /// Statistics: response times, endpoints, protocols, amplification, losses
    Stats(StatsArgs),
    /// Tables in Parquet files, for DuckDB, Polars, pandas and Spark
    Export(ExportArgs),
    /// One page of HTML with everything that was found, which needs no network and no server
    Report(ReportArgs),
}

impl Reading {
    /// The options that all these subcommands have in common.
    pub fn common(&self) -> &Common {
        match self {
            Reading::Summary(a) => &a.common,
            Reading::Exchanges(a) => &a.common,
            Reading::Dump(a) => &a.common,
            Reading::Check(a) => &a.common,
            Reading::Stats(a) => &a.common,
            Reading::Export(a) => &a.common,
            Reading::Report(a) => &a.common,
            #[cfg(unix)]
            Reading::Live(a) => &a.common,
        }
    }

    /// Mutable access to the common options.
    pub fn common_mut(&mut self) -> &mut Common {
        match self {
            Reading::Summary(a) => &mut a.common,
            Reading::Exchanges(a) => &mut a.common,
            Reading::Dump(a) => &mut a.common,
            Reading::Check(a) => &mut a.common,
            Reading::Stats(a) => &mut a.common,
            Reading::Export(a) => &mut a.common,
            Reading::Report(a) => &mut a.common,
            #[cfg(unix)]
            Reading::Live(a) => &mut a.common,
        }
    }

    /// Whether the command captures packets itself instead of reading captures.
    pub fn is_live(&self) -> bool {
        #[cfg(unix)]
        return matches!(self, Reading::Live(_));
        #[cfg(not(unix))]
        false
    }

    /// Whether datagrams that no protocol claims are to be shown.
    pub fn all(&self) -> bool {
        match self {
            Reading::Dump(a) => a.all,
            #[cfg(unix)]
            Reading::Live(a) => a.all,
            // Statistics count every frame, also those with unclaimed datagrams.
            Reading::Stats(_) => true,
            _ => false,
        }
    }

    /// Whether results are printed while inputs are still being read.
    pub fn prints_meanwhile(&self) -> bool {
        match self {
            Reading::Dump(_) | Reading::Exchanges(_) => true,
            Reading::Check(check) => check.prints_meanwhile(),
            Reading::Summary(_) | Reading::Stats(_) | Reading::Report(_) | Reading::Export(_) => false,
            #[cfg(unix)]
            Reading::Live(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
