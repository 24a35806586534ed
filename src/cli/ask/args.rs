//! The arguments of `qdissect ask`.

use crate::cli::choices::{CheckFormat, Colour, DUMP_FORMATS, FAIL_ON, FailOn, SHOW};
use crate::cli::common_args::{ConfigurationArgs, RuleArgs};
use crate::cli::metrics::address;
use crate::cli::value_parsers::{self, Whom, check_formats, report, timeout};
use crate::rule::Severity;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What `--probe` is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProbeMode {
    /// Print the tests, and send nothing
    List,
    /// Test a server at a loopback, private or link-local address
    Private,
    /// Test a server at any address
    Public,
}

/// `qdissect ask`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("judges").args(["check", "probe"]).multiple(true)))]
pub struct AskArgs {
    /// The protocol that the server is asked in, by its name or one that people use, such as `source`, `minecraft`,
    /// `bedrock` or `mta`; `auto` tries all of them
    #[arg(value_name = "PROTO", value_parser = value_parsers::WHOM)]
    pub proto: Whom,
    /// The server; without a port the protocol's own, if it has one. With --watch there may be several
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "probe")]
    pub server: Vec<String>,
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
    /// Send what a careless or hostile client sends, one test after the other, and judge what comes back: `list` prints the
    /// tests, `public` allows a public address
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "private",
          conflicts_with_all = ["all", "count", "watch"])]
    pub probe: Option<ProbeMode>,
    /// With --probe: also the tests that wait for a minute
    #[arg(long, requires = "probe")]
    pub slow: bool,
    /// Ask again and again, one line each time, until it is interrupted or -c is reached
    #[arg(long, value_name = "DUR", value_parser = timeout, conflicts_with_all = ["check", "write", "hex", "format", "output"])]
    pub watch: Option<i64>,
    /// With --watch: serve metrics for Prometheus over HTTP at this IP address and port, e.g. 127.0.0.1:9400
    #[arg(long, value_name = "ADDR", value_parser = address, requires = "watch")]
    pub metrics: Option<SocketAddr>,
    /// Output format: that of `dump`, or with --check that of `check` [default: tree, or table]
    #[arg(short = 'T', long, value_name = "FMT", value_parser = formats())]
    pub format: Option<String>,
    /// With --check or --probe: a further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report, requires = "judges")]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// With --check or --probe: what makes it fail, with exit code 1
    #[arg(long, value_parser = FAIL_ON, default_value = "error", value_name = "SEVERITY", requires = "judges")]
    pub fail_on: FailOn,
    /// With --check or --probe: the least severity that is listed
    #[arg(long, value_parser = SHOW, value_name = "SEVERITY", requires = "judges")]
    pub show: Option<Severity>,
    /// The payload of each packet as hex and text, what is wrong in it marked
    #[arg(short = 'x')]
    pub hex: bool,
    /// Save the packets sent and received to a pcapng file
    #[arg(short = 'w', long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Write to FILE, replacing it only when complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No packets and findings, only the counts at the end
    #[arg(short = 'q')]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

impl AskArgs {
    /// The only server.
    ///
    /// # Errors
    /// That there are several.
    pub fn only_server(&self) -> Result<&str, String> {
        match self.server.as_slice() {
            [] => Ok(""),
            [server] => Ok(server),
            _ => Err("Only --watch asks several servers: name one, or add --watch 10s.".to_owned()),
        }
    }
}

/// The names of the formats of `dump` and `check`, without the one that needs columns.
fn formats() -> PossibleValuesParser {
    let dump = DUMP_FORMATS.names().filter(|name| *name != "fields").map(str::to_owned);
    let mut all: Vec<_> = dump.chain(check_formats()).collect();
    all.sort();
    all.dedup();
    PossibleValuesParser::new(all)
}
