//! The command line, as clap sees it: the subcommands, each with its own options.

use super::ask::AskArgs;
use super::choices::{
    CheckFormat, Colour, DumpFormat, FailOn, JunitStyleName, SarifStyleName, Show, TopArgs,
};
use super::columns::{ColumnArgs, RowFormat};
use super::common_args::Common;
use super::completion_values;
use super::detail::DetailArgs;
use super::export::ExportArgs;
use super::generate::GenerateCommand;
use super::hex::HexArgs;
use super::report::ReportArgs;
use super::show::{ProtocolCommand, RuleCommand};
use super::stats::StatsArgs;
use super::value_parsers::{protocol, report};
use super::view::ViewArgs;
use crate::protocols::Id;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Dissects and judges the traffic of game-server query protocols.
///
/// Reads pcap and pcapng files, recognises the protocols by content, pairs answers with requests and
/// says what does not keep to the protocol. Without a command it prints the summary; with -V, -O, -x, -e or
/// -T text|tree|fields|tsv, packets. `qdissect summary --help` and `qdissect dump --help` have the options of both.
#[derive(Debug, Parser)]
#[command(
    name = "qdissect",
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
    Live(super::live::LiveArgs),
    /// Statistics: response times, endpoints, protocols, amplification, losses
    Stats(StatsArgs),
    /// Tables in Parquet files, for DuckDB, Polars, pandas and Spark
    Export(ExportArgs),
    /// One page of HTML with everything that was found, which needs no network and no server
    Report(ReportArgs),
}

impl Reading {
    /// What every one of them understands.
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

    /// The same, to be changed.
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

    /// Whether packets are captured, and not read.
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
            // Frames are counted by what becomes of their datagrams.
            Reading::Stats(_) => true,
            _ => false,
        }
    }
}

/// `qdissect summary`
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// Output format
    #[arg(short = 'T', long, value_enum, default_value_t = RowFormat::Table, value_name = "FMT")]
    pub format: RowFormat,
    #[command(flatten)]
    pub rows: TopArgs,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

/// `qdissect check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Output format
    #[arg(short = 'T', long, value_enum, default_value_t = CheckFormat::Table, value_name = "FMT")]
    pub format: CheckFormat,
    /// A further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report)]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// What makes the check fail, with exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Error, value_name = "SEVERITY")]
    pub fail_on: FailOn,
    /// The least severity that is listed; what is below is counted by rule [default: warning, and never above
    /// --fail-on; json, ndjson and html list everything]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub show: Option<Show>,
    /// Fail, with exit code 3, unless there is traffic of these protocols
    #[arg(long, value_name = "PROTO,...", value_delimiter = ',', value_parser = completion_values::PROTOCOL)]
    pub require: Vec<Id>,
    /// Fail, with exit code 3, unless that share of a protocol's rules was checked
    #[arg(long, value_name = "PROTO=N%", value_parser = coverage)]
    pub require_coverage: Vec<(Id, f64)>,
    /// How places are told in SARIF; `github` by itself where GITHUB_ACTIONS is true
    #[arg(long, value_enum, value_name = "STYLE")]
    pub sarif_style: Option<SarifStyleName>,
    /// Which attributes JUnit reports have
    #[arg(long, value_enum, default_value_t = JunitStyleName::Common, value_name = "STYLE")]
    pub junit_style: JunitStyleName,
    /// An input without query traffic is fine
    #[arg(long)]
    pub allow_empty: bool,
    /// Known findings, by fingerprint: they are shown as such and do not fail the check
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Make everything that is found now known to the baseline; the reasons in it are kept
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

/// `qdissect exchanges`
#[derive(Debug, Args)]
pub struct ExchangesArgs {
    /// Output format
    #[arg(short = 'T', long, value_enum, default_value_t = RowFormat::Table, value_name = "FMT")]
    pub format: RowFormat,
    /// Accepted as everywhere; these tables have no colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    #[command(flatten)]
    pub common: Common,
}

/// `qdissect dump`
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// Output format
    #[arg(short = 'T', long, value_enum, default_value_t = DumpFormat::Text, value_name = "FMT")]
    pub format: DumpFormat,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Also the datagrams that no protocol claims
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub detail: DetailArgs,
    #[command(flatten)]
    pub common: Common,
}

fn coverage(text: &str) -> Result<(Id, f64), String> {
    let wrong = || format!("\"{text}\" is not of the form PROTO=N%, for example sqp=60%.");
    let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
    let percent: f64 = percent.trim().trim_end_matches('%').parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("{percent} is no percentage: a number from 0 to 100."));
    }
    Ok((protocol(name.trim())?, percent))
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
