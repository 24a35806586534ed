//! The arguments of `hex`, as clap defines them.

use crate::cli::choices::{CONFIDENCE, Colour, Format, HEX_FORMATS};
use crate::cli::common_args::{Common, ConfigurationArgs, RuleArgs, SaveArgs};
use crate::cli::completion_values;
use crate::cli::value_parsers::{decode_as, timeout};
use crate::contract::Budget;
use crate::pasted;
use crate::protocols::{Id, Level};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `qdissect hex`
#[derive(Debug, Args)]
pub struct HexArgs {
    /// The bytes themselves, or a file that holds them; `-` or nothing for standard input
    #[arg(value_name = "TEXT|FILE")]
    pub what: Vec<String>,
    /// How the bytes are written; else each line is looked at
    #[arg(long, value_enum, value_name = "NAME")]
    pub input_format: Option<InputFormat>,
    /// UDP port of the server where the text names none [default: the one of -d, or 7777]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Output format
    #[arg(short = 'T', long, value_parser = HEX_FORMATS, default_value = "text", value_name = "FMT")]
    pub format: Format,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Only these protocols, by name, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = completion_values::PROTOCOL)]
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
    /// Write the result to a file, aside first, and renamed when it is complete
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
    /// What gamedig prints, which is declined
    #[value(hide = true)]
    Gamedig,
}

impl InputFormat {
    /// The format of the pasted text.
    ///
    /// # Errors
    /// A sentence, if the format is not supported.
    pub fn form(self) -> Result<pasted::Form, String> {
        match self {
            InputFormat::Hex => Ok(pasted::Form::Hex),
            InputFormat::Dump => Ok(pasted::Form::Dump),
            InputFormat::Array => Ok(pasted::Form::Array),
            InputFormat::String => Ok(pasted::Form::String),
            InputFormat::Base64 => Ok(pasted::Form::Base64),
            InputFormat::Gamedig => {
                Err("--input-format gamedig is not read: paste the rows of bytes that its `debug` \
                                         option prints, without the rows of characters, one datagram a line."
                    .to_owned())
            }
        }
    }
}

impl HexArgs {
    /// The options that `hex` shares with other subcommands.
    pub fn common(&mut self) -> Common {
        use std::mem::take;
        Common {
            threads: None,
            memory: Budget::DEFAULT_MIB,
            per_file: false,
            follow: false,
            save: SaveArgs { write: None, annotate: false },
            display_filter: None,
            files: vec![],
            read: vec![],
            protocol: take(&mut self.protocol),
            decode_as: take(&mut self.decode_as),
            timeout: self.timeout,
            min_confidence: self.min_confidence,
            rules: self.rules.clone(),
            configuration: self.configuration.clone(),
            output: self.output.take(),
            count: None,
            quiet: false,
            line_buffered: false,
            numeric: false,
            show_secrets: self.show_secrets,
            allow_truncated: false,
            no_sandbox: true,
        }
    }
}
