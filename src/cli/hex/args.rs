//! The arguments of `qdissect hex`.

use crate::cli::choices::{CONFIDENCE, CheckFormat, Colour, FAIL_ON, FailOn, HEX_FORMATS, SHOW};
use crate::cli::common_args::{Common, ConfigurationArgs, RuleArgs};
use crate::cli::value_parsers::{self, check_formats, decode_as, report, timeout};
use crate::pasted;
use crate::protocols::{Id, Level};
use crate::rule::Severity;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `qdissect hex`
#[derive(Debug, Args)]
pub struct HexArgs {
    /// The bytes themselves, or a file that holds them; `-` or nothing for standard input
    #[arg(value_name = "TEXT|FILE")]
    pub what: Vec<String>,
    /// How the bytes are written; by default recognised line by line
    #[arg(long, value_enum, value_name = "NAME")]
    pub input_format: Option<InputFormat>,
    /// UDP port of the server where the text names none [default: the one of -d, or 7777]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Output format; with --check that of `check` [default: text, or table]
    #[arg(short = 'T', long, value_name = "FMT", value_parser = formats())]
    pub format: Option<String>,
    /// The tree of layers and fields of each packet
    #[arg(short = 'V')]
    pub tree: bool,
    /// The payload of each packet as hex and text, what is wrong in it marked
    #[arg(short = 'x')]
    pub hex: bool,
    /// Why each datagram was classified so, and what happened in each exchange
    #[arg(long)]
    pub explain: bool,
    /// Judge the datagrams, as `check` judges those of a capture, with its exit code
    #[arg(long, conflicts_with_all = ["tree", "hex", "explain"])]
    pub check: bool,
    /// With --check: a further report in a file; may be repeated
    #[arg(long, value_name = "FMT=PATH", value_parser = report, requires = "check")]
    pub report: Vec<(CheckFormat, PathBuf)>,
    /// With --check: what makes it fail, with exit code 1
    #[arg(long, value_parser = FAIL_ON, default_value = "error", value_name = "SEVERITY", requires = "check")]
    pub fail_on: FailOn,
    /// With --check: the least severity that is listed
    #[arg(long, value_parser = SHOW, value_name = "SEVERITY", requires = "check")]
    pub show: Option<Severity>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Only these protocols, by name, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parsers::PROTOCOL)]
    protocol: Vec<Id>,
    /// Pins a protocol on a port: udp.port==7779,sqp
    #[arg(short = 'd', long, value_name = "udp.port==N,PROTO", value_parser = decode_as)]
    decode_as: Vec<(u16, Id)>,
    /// Overrides every protocol's answer window, e.g. 500ms, 2s
    #[arg(long, value_name = "DUR", value_parser = timeout)]
    timeout: Option<i64>,
    /// Least confidence of what is dissected
    #[arg(long, value_parser = CONFIDENCE, default_value = "low", value_name = "LEVEL")]
    min_confidence: Level,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// Write to FILE, replacing it only when complete
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show passwords, which are masked otherwise
    #[arg(long)]
    show_secrets: bool,
}

/// `--input-format`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Hex digits: 00ff, 00 ff, 00:ff, 0x00 0xff, xxd -p
    #[value(alias = "plain")]
    Hex,
    /// Rows with offsets: xxd, hexdump -C, od -t x1, tcpdump -x, tshark -x, Wireshark
    #[value(aliases = ["xxd", "hexdump", "od", "tcpdump", "tshark", "wireshark"])]
    Dump,
    /// Numbers in brackets, <Buffer 00 ff>
    Array,
    /// Quotes and escapes: b'\x00\xff'
    String,
    /// Base64, either alphabet
    Base64,
    /// What gamedig prints, which is recognised by itself
    #[value(hide = true)]
    Gamedig,
}

impl InputFormat {
    /// The form of the pasted text; `None` where it is recognised by itself.
    pub fn form(self) -> Option<pasted::Form> {
        match self {
            InputFormat::Hex => Some(pasted::Form::Hex),
            InputFormat::Dump => Some(pasted::Form::Dump),
            InputFormat::Array => Some(pasted::Form::Array),
            InputFormat::String => Some(pasted::Form::String),
            InputFormat::Base64 => Some(pasted::Form::Base64),
            InputFormat::Gamedig => None,
        }
    }
}

impl HexArgs {
    /// Moves the options that `hex` shares with other subcommands there.
    pub fn fill(&mut self, common: &mut Common) {
        use std::mem::take;
        common.protocol = take(&mut self.protocol);
        common.decode_as = take(&mut self.decode_as);
        common.timeout = self.timeout;
        common.min_confidence = self.min_confidence;
        common.rules = self.rules.clone();
        common.configuration = self.configuration.clone();
        common.output = self.output.take();
        common.show_secrets = self.show_secrets;
    }
}

/// The names of the formats with and without --check.
fn formats() -> PossibleValuesParser {
    let mut all: Vec<_> = HEX_FORMATS.names().map(str::to_owned).chain(check_formats()).collect();
    all.sort();
    all.dedup();
    PossibleValuesParser::new(all)
}
