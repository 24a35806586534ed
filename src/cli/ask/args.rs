//! The arguments of `ask`, as clap defines them.

use crate::cli::choices::{CheckFormat, Colour, DUMP_FORMATS, FAIL_ON, FailOn};
use crate::cli::common_args::{ConfigurationArgs, RuleArgs};
use crate::cli::completion_values;
use crate::cli::value_parsers::{report, timeout};
use crate::protocols::Id;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `qdissect ask`
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The protocol that the server is asked in
    #[arg(value_name = "PROTO", value_parser = completion_values::PROTOCOL)]
    pub proto: Id,
    /// The server; without a port the protocol's own, if it has one
    #[arg(value_name = "HOST[:PORT]")]
    pub server: String,
    /// Ask for everything there is, not only for what every client wants
    #[arg(long)]
    pub all: bool,
    /// Ask N times
    #[arg(short = 'c', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// From one time to the next, at least 100ms
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = timeout)]
    pub interval: i64,
    /// How long to wait for an answer; a request is sent up to three times
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = timeout)]
    pub timeout: i64,
    /// Judge what comes back, as `check` does, with its exit code
    #[arg(long)]
    pub check: bool,
    /// Output format: that of `dump`, or with --check that of `check` [default: tree, or table]
    #[arg(short = 'T', long, value_name = "FMT", value_parser = formats())]
    pub format: Option<String>,
    /// With --check: a further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report, requires = "check")]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// With --check: what makes it fail, with exit code 1
    #[arg(long, value_parser = FAIL_ON, default_value = "error", value_name = "SEVERITY", requires = "check")]
    pub fail_on: FailOn,
    /// The payload of each packet as hex and text, what is wrong in it marked
    #[arg(short = 'x')]
    pub hex: bool,
    /// Save what went to and fro to a pcapng file
    #[arg(short = 'w', long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Write the result to a file, aside first, and renamed when it is complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No packets and findings, only the counts at the end
    #[arg(short = 'q')]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// The names of the formats of `dump` and `check`.
fn formats() -> PossibleValuesParser {
    let check = CheckFormat::value_variants().iter().filter_map(CheckFormat::to_possible_value);
    let check: Vec<_> = check.map(|value| value.get_name().to_owned()).collect();
    let mut all: Vec<_> = DUMP_FORMATS.names().map(str::to_owned).chain(check).collect();
    all.sort();
    all.dedup();
    PossibleValuesParser::new(all)
}
