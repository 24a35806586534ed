//! The options that several subcommands have in common.

use super::choices::{Annotate, CONFIDENCE, PROFILES, positive};
use super::value_parsers::{self, Expression, decode_as, expression, level, packets, timeout};
use crate::check::Profile;
use crate::contract::Budget;
use crate::protocols::{Id, Level};
use crate::rule::Severity;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The options of every subcommand that reads captures.
#[derive(Clone, Debug, Args)]
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parsers::PROTOCOL)]
    pub protocol: Vec<Id>,
    /// Pins a protocol on a port: udp.port==7779,sqp
    #[arg(short = 'd', long, value_name = "udp.port==N,PROTO", value_parser = decode_as)]
    pub decode_as: Vec<(u16, Id)>,
    /// Overrides every protocol's answer window, e.g. 500ms, 2s
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    pub timeout: Option<i64>,
    /// Least confidence of what is shown
    #[arg(long, value_parser = CONFIDENCE, default_value = "medium", value_name = "LEVEL")]
    pub min_confidence: Level,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Write to FILE, replacing it only when complete
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the packets of recognised protocols to a pcapng file; with `dump --all`, all UDP datagrams
    #[arg(short = 'w', long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// With -w: put the findings on the packets as comments, with `fields` also what each message holds
    #[arg(long, requires = "write", value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true,
        default_missing_value = "findings")]
    pub annotate: Option<Annotate>,
    /// Stop after N packets
    #[arg(short = 'c', value_name = "N", value_parser = packets, allow_negative_numbers = true)]
    pub count: Option<u64>,
    /// No records or lines, only the counts at the end
    #[arg(short = 'q')]
    pub quiet: bool,
    /// Flush after each record or line
    #[arg(short = 'l')]
    pub line_buffered: bool,
    /// With -T ndjson: only records of these types, separated by commas: packet,summary
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = value_parsers::RECORD)]
    pub records: Vec<String>,
    /// Threads to use; more than one read large files ahead, and the result is the same [default: one for each core]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub threads: Option<NonZeroUsize>,
    /// How much may be remembered of servers, conversations and requests; what was forgotten for want of room is counted
    #[arg(long, value_name = "MIB", default_value_t = Budget::DEFAULT_MIB, allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Budget::MOST_MIB)))]
    pub memory: u32,
    /// Analyse each file separately
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

/// The values of the options that are not given; a test holds them to those that clap takes.
impl Default for Common {
    fn default() -> Self {
        Common {
            files: vec![],
            read: vec![],
            display_filter: None,
            protocol: vec![],
            decode_as: vec![],
            timeout: None,
            min_confidence: Level::Medium,
            rules: RuleArgs::default(),
            configuration: ConfigurationArgs::default(),
            output: None,
            write: None,
            annotate: None,
            count: None,
            quiet: false,
            line_buffered: false,
            records: vec![],
            threads: None,
            memory: Budget::DEFAULT_MIB,
            per_file: false,
            follow: false,
            show_secrets: false,
            numeric: false,
            no_sandbox: false,
            allow_truncated: false,
        }
    }
}

impl Common {
    /// Whether each line is written at once.
    pub fn flushes(&self) -> bool {
        self.line_buffered || self.follow
    }
}

/// The options about rules.
#[derive(Clone, Debug, Default, Args)]
pub struct RuleArgs {
    /// Severities: some dialects are warnings in `strict`, what every server does is a note in `lenient`
    #[arg(long, value_parser = PROFILES, default_value = "default", value_name = "NAME")]
    pub profile: Profile,
    /// Only these rules, by id or its beginning: SQP, SQP-TXN, SQP-TXN-004
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = value_parsers::RULES, hide_possible_values = true)]
    pub select: Vec<String>,
    /// Not these rules, likewise
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = value_parsers::RULES, hide_possible_values = true)]
    pub ignore: Vec<String>,
    /// Severity of rules: error, warning, note or off
    #[arg(long, value_name = "RULE=SEVERITY", value_parser = level)]
    pub level: Vec<(String, Option<Severity>)>,
}

/// The options about the configuration.
#[derive(Clone, Debug, Default, Args)]
pub struct ConfigurationArgs {
    /// Use this configuration; by default the nearest qdissect.toml from the working directory upwards
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// No configuration
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
}
