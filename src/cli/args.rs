//! The command line, as clap sees it.

use super::ask::AskArgs;
pub use super::choices::{
    CheckFormat, Colour, Confidence, DumpFormat, FailOn, JunitStyleName, ProfileName, SarifStyleName, Show,
    TableFormat, TopArgs,
};
use super::columns::{ColumnArgs, RowFormat};
use super::completion_values;
use super::detail::DetailArgs;
use super::export::ExportArgs;
use super::filter::{Expression, expression};
use super::generate::GenerateCommand;
use super::hex::HexArgs;
use super::report::ReportArgs;
use super::save::SaveArgs;
use super::show::{ProtocolCommand, RuleCommand};
use super::stats::StatsArgs;
use super::text::absent;
use super::view::ViewArgs;
use crate::contract::Budget;
use crate::protocols::Id;
use crate::report::quoted;
use crate::rule::Severity;
use crate::similar::similar;
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use std::num::NonZeroUsize;
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

/// What the user makes of the rules.
#[derive(Clone, Debug, Args)]
pub struct RuleArgs {
    /// Severities: some dialects are warnings in `strict`, what every server does is a note in `lenient`
    #[arg(long, value_enum, default_value_t = ProfileName::Default, value_name = "NAME")]
    pub profile: ProfileName,
    /// Only these rules, by id or its beginning: SQP, SQP-TXN, SQP-TXN-004
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = completion_values::RULES, hide_possible_values = true)]
    pub select: Vec<String>,
    /// Not these rules, likewise
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = completion_values::RULES, hide_possible_values = true)]
    pub ignore: Vec<String>,
    /// Severity of rules: error, warning, note or off
    #[arg(long, value_name = "RULE=SEVERITY", value_parser = level)]
    pub level: Vec<(String, Option<Severity>)>,
}

/// Which configuration is obeyed.
#[derive(Clone, Debug, Args)]
pub struct ConfigurationArgs {
    /// Configuration; else the nearest qdissect.toml from the working directory upwards
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// No configuration
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
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

/// What every subcommand that reads captures understands.
#[derive(Debug, Args)]
pub struct Common {
    /// Captures: pcap or pcapng files, directories of them, FIFOs, `-` for standard input, which is read as well where
    /// none is named and it is no terminal. A last word that is no file may be the filter, as of -Y
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The same as a positional file; may be repeated
    #[arg(short = 'r', long = "read-file", value_name = "FILE")]
    pub read: Vec<PathBuf>,
    /// Only packets that pass this filter, and exchanges of which something does: tshark's language, our fields
    #[arg(short = 'Y', long, value_name = "EXPR", value_parser = expression)]
    pub display_filter: Option<Expression>,
    /// Only these protocols, by name, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = completion_values::PROTOCOL)]
    pub protocol: Vec<Id>,
    /// Pins a protocol on a port: udp.port==7779,sqp
    #[arg(short = 'd', long, value_name = "udp.port==N,PROTO", value_parser = decode_as)]
    pub decode_as: Vec<(u16, Id)>,
    /// Overrides every protocol's answer window, e.g. 500ms, 2s
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    pub timeout: Option<i64>,
    /// Least confidence of what is shown
    #[arg(long, value_enum, default_value_t = Confidence::Medium, value_name = "LEVEL")]
    pub min_confidence: Confidence,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Write the result to a file, aside first, and renamed when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub save: SaveArgs,
    /// Stop after N packets
    #[arg(short = 'c', value_name = "N")]
    pub count: Option<u64>,
    /// No records or lines, only the counts at the end
    #[arg(short = 'q')]
    pub quiet: bool,
    /// Hand on each record or line at once
    #[arg(short = 'l')]
    pub line_buffered: bool,
    /// Threads to use; more than one read large files ahead, and the result is the same [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How much may be remembered of servers, conversations and requests; what was forgotten for want of room is counted
    #[arg(long, value_name = "MIB", default_value_t = Budget::DEFAULT_MIB,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Budget::MOST_MIB)))]
    pub memory: u32,
    /// Nothing goes on from one file to the next: each is read as if it were alone
    #[arg(long)]
    pub per_file: bool,
    /// Go on reading files that grow and directories that fill, until interrupted
    #[arg(long, conflicts_with = "write")]
    pub follow: bool,
    /// Show passwords, which are masked otherwise
    #[arg(long)]
    pub show_secrets: bool,
    /// Accepted for tshark's sake: names are never resolved
    #[arg(short = 'n')]
    pub numeric: bool,
    /// Keep all rights of the user: else, on Linux, only inputs can be read and only results be written, and `live`
    /// does not go on as root
    #[arg(long)]
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "accepted everywhere"))]
    pub no_sandbox: bool,
    /// A capture that is cut short is not an error
    #[arg(long)]
    pub allow_truncated: bool,
}

/// The protocol of a name.
pub fn protocol(text: &str) -> Result<Id, String> {
    let known: Vec<_> = Id::ALL.iter().map(|id| id.info().name).collect();
    Id::by_name(text).ok_or_else(|| absent("protocol", text, &known))
}

fn level(text: &str) -> Result<(String, Option<Severity>), String> {
    let wrong = || format!("\"{text}\" is not of the form RULE=SEVERITY, for example SQP-TXN-010=warning.");
    let (rule, severity) = text.split_once('=').ok_or_else(wrong)?;
    let severity = match severity.trim() {
        "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Note),
        "off" => None,
        other => return Err(absent("severity", other, &["error", "warning", "note", "off"])),
    };
    Ok((rule.trim().to_owned(), severity))
}

/// A format and the file of a report.
pub fn report(text: &str) -> Result<(CheckFormat, PathBuf), String> {
    let wrong = || format!("\"{text}\" is not of the form FMT=PATH, for example json=report.json.");
    let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(wrong)?;
    let format = CheckFormat::from_str(format, true).map_err(|_| {
        let known: Vec<_> =
            CheckFormat::value_variants().iter().filter_map(|v| v.to_possible_value()).collect();
        let known: Vec<_> = known.iter().map(|v| v.get_name()).collect();
        absent("report format", format, &known)
    })?;
    if path == "-" {
        return Err("A report is a file; -T says what goes to standard output.".to_owned());
    }
    Ok((format, PathBuf::from(path)))
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

/// A pin: a server port and the protocol it speaks.
pub fn decode_as(text: &str) -> Result<(u16, Id), String> {
    let wrong = || {
        let meant = pin_meant(text).map(|pin| format!(" Did you mean {pin}?")).unwrap_or_default();
        format!(
            "{} is not of the form udp.port==N,PROTO, for example udp.port==7779,sqp.{meant}",
            quoted(text)
        )
    };
    let (selector, name) = text.split_once(',').ok_or_else(wrong)?;
    let port = selector.trim().strip_prefix("udp.port==").ok_or_else(wrong)?;
    let port =
        port.parse().map_err(|_| format!("\"{port}\" is not a UDP port: a number from 0 to 65535."))?;
    Ok((port, protocol(name.trim())?))
}

/// The pin that was perhaps meant by a text with a port and a protocol in it.
fn pin_meant(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let port: u16 = words.find_map(|word| word.parse().ok())?;
    let name = words.next_back()?;
    let id = similar(name, Id::ALL.iter().map(|id| id.info().name))?;
    Some(format!("udp.port=={port},{id}"))
}

/// An answer window in nanoseconds.
pub fn timeout(text: &str) -> Result<i64, String> {
    let wrong = |why: &str| format!("\"{text}\" is not a duration such as 500ms or 2s: {why}.");
    let duration: SignedDuration = text
        .parse()
        .map_err(|_| wrong("write a number and a unit, ns, us, ms, s, m or h, less than 292 years"))?;
    match i64::try_from(duration.as_nanos()) {
        Ok(nanos) if nanos > 0 => Ok(nanos),
        _ => Err(wrong("it must be more than nothing and less than 292 years")),
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

    #[test]
    fn pins_and_durations_are_read_or_explained() {
        assert_eq!(decode_as("udp.port==7779,sqp"), Ok((7779, Id::Sqp)));
        assert!(decode_as("tcp.port==1,sqp").unwrap_err().contains("udp.port==N,PROTO"));
        for text in ["udp.prt==7779,sqp", "udp.port=7779,sqp", "7779:sqp", "tcp.port==7779,sqpp"] {
            let said = decode_as(text).unwrap_err();
            assert!(said.ends_with("Did you mean udp.port==7779,sqp?"), "{said}");
        }
        assert!(decode_as("sqp,7779").unwrap_err().ends_with("for example udp.port==7779,sqp."));
        assert!(decode_as("udp.port==70000,sqp").unwrap_err().contains("65535"));
        assert!(decode_as("udp.port==1,http").unwrap_err().contains("known are sqp, satisfactory"));
        assert_eq!(timeout("500ms"), Ok(500_000_000));
        assert_eq!(timeout("2s"), Ok(2_000_000_000));
        assert!(timeout("0s").is_err() && timeout("-1s").is_err() && timeout("soon").is_err());
    }
}
