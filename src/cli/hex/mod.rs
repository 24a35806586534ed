//! `qdissect hex`: dissects pasted bytes.

mod text;

use super::choices::{CONFIDENCE, Colour, Format, HEX_FORMATS};
use super::command_line::defaults;
use super::common_args::{Common, ConfigurationArgs, RuleArgs};
use super::diagnostics::{FAILED, OK, error, not_writable, note};
use super::output::{Target, overwrite_conflict};
use super::text::decoded;
use super::value_parsers::{self, decode_as, timeout};
use super::{run, system, terminal};
use crate::capture::capture_format;
use crate::classify::Choice;
use crate::net::OwnedFrame;
use crate::pasted::{self, AssumedEndpoints, EXPECTED, Pasted};
use crate::pipeline::{Options, Pipeline};
use crate::protocols::{Id, Level};
use crate::report::{Output, Records, Report, Totals};
use crate::text::escape::quoted;
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use text::Text;

/// UDP port of the server if the user names none.
const PORT: u16 = 7777;

/// Runs `qdissect hex` and returns the exit code. `is_given` tells whether an option was given on the command line.
///
/// # Errors
/// A sentence that says what is wrong with the arguments or the text.
pub fn run(args: &mut HexArgs, is_given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let mut reading = defaults("dump")?;
    let common = reading.common_mut();
    args.fill(common);
    let options = prepare(args, common, is_given)?;
    let (name, text, pasted) = read_input(args)?;
    if let Some(format) = pasted.pieces.iter().find_map(|piece| capture_format(&piece.bytes)) {
        return Err(format!(
            "{name}: These are the bytes of a capture ({format}), and not of a datagram: `xxd -r FILE | \
             qdissect -` reads a dump of xxd, `xxd -r -p FILE | qdissect -` plain hex."
        ));
    }
    let complete = report_complaints(&name, &text, &pasted);
    Ok(match dissect(args, common, options, &name, &pasted, complete) {
        Ok(()) if complete => OK,
        Ok(()) => FAILED,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(e) => not_writable(common, &e),
    })
}

/// Loads the configuration and checks all arguments before anything is read or written.
fn prepare(args: &HexArgs, common: &mut Common, is_given: &dyn Fn(&str) -> bool) -> Result<Options, String> {
    let config = run::load(common, is_given)?;
    let read = match args.what.as_slice() {
        [] => vec![Path::new("-")],
        [one] if Path::new(one).exists() => vec![Path::new(one)],
        _ => vec![],
    };
    let written: Vec<_> = common.output.iter().map(|path| ("--output", path.as_path())).collect();
    match overwrite_conflict(&written, false, &read, &config) {
        Some(conflict) => Err(conflict),
        None => run::pipeline_options(common, true),
    }
}

/// Reports what could not be read. Returns whether everything could be read and there are bytes.
fn report_complaints(name: &str, text: &str, pasted: &Pasted) -> bool {
    for c in &pasted.complaints {
        error(&format_args!("{name}:{}:{}: {}", c.line, c.column, c.what));
    }
    if pasted.more_complaints > 0 {
        error(&format_args!("{name}: {} places more could not be read.", pasted.more_complaints));
    }
    if pasted.pieces.is_empty() {
        let hint = base64_hint(text);
        error(&format_args!("{name}: There are no bytes in this text. {EXPECTED}.{hint}"));
    }
    pasted.complaints.is_empty() && !pasted.pieces.is_empty()
}

/// A hint for a text without bytes that could be base64, which is not recognised if it is short because it looks like a word.
fn base64_hint(text: &str) -> &'static str {
    let read = pasted::read(text, Some(pasted::Form::Base64));
    let is_base64 = read.complaints.is_empty() && !read.pieces.is_empty();
    if is_base64 { " If it is base64, say so with --input-format base64." } else { "" }
}

/// Reads the pasted input. Returns a name for it, its text, and the bytes found in it.
fn read_input(args: &HexArgs) -> Result<(String, String, Pasted), String> {
    let form = args.input_format.map(InputFormat::form).transpose()?;
    let read = |name: &str, from: &mut dyn Read| {
        let text = read_text(from).map_err(|e| format!("{name}: {e}"))?;
        let pasted = pasted::read(&text, form);
        Ok((name.to_owned(), text, pasted))
    };
    match args.what.as_slice() {
        [] => {
            if io::stdin().is_terminal() {
                let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
                note(&format_args!("Paste the bytes here, then press {end}. {EXPECTED}."));
            }
            read("-", &mut io::stdin())
        }
        [dash] if dash == "-" => read("-", &mut io::stdin()),
        [path] if Path::new(path).exists() => {
            let name = system::display_name(Path::new(path));
            let mut file =
                File::open(path).map_err(|e| format!("{name}: The file cannot be opened: {e}."))?;
            read(&name, &mut file)
        }
        words => {
            let text = words.join(" ");
            let pasted = pasted::read(&text, form);
            if pasted.pieces.is_empty() && pasted.complaints.is_empty() {
                let short: String = text.chars().take(60).collect();
                return Err(format!(
                    "{} is no file, and there are no bytes in it. {EXPECTED}.{}",
                    quoted(&short),
                    base64_hint(&text)
                ));
            }
            Ok(("text".to_owned(), text, pasted))
        }
    }
}

/// Reads the text of an input: UTF-8, or UTF-16 with a byte order mark. Invalid bytes become U+FFFD, which is no digit.
fn read_text(from: &mut dyn Read) -> Result<String, String> {
    let mut bytes = vec![];
    // Reads more than the maximum, so that a text that is too long is noticed.
    let limit = pasted::MAX_TEXT as u64 + 4;
    from.take(limit).read_to_end(&mut bytes).map_err(|e| format!("The input cannot be read: {e}."))?;
    let bytes = decoded(bytes);
    if let Some(at) = bytes.iter().take(1024).position(|b| *b == 0) {
        return Err(format!(
            "This is no text: byte {at} is 0. For a capture there is `qdissect dump`; other bytes can come through \
             `xxd -p`."
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Dissects what was pasted and writes the result.
fn dissect(
    args: &HexArgs,
    common: &Common,
    options: Options,
    name: &str,
    pasted: &Pasted,
    complete: bool,
) -> io::Result<()> {
    let frames = pasted::frames(&pasted.pieces, endpoints(args, &options));
    let mut target = Target::open(common.output.as_deref())?;
    let input = (name, frames.as_slice(), complete);
    match args.format.form() {
        Some(form) => {
            let records = Records::new(Output::new(&mut target, form, false), true, false);
            play(input, options, &mut records.with_secrets(common.show_secrets))?;
        }
        None => {
            let screen = terminal::screen(args.color, common);
            play(input, options, &mut Text::new(&mut target, screen, &frames))?;
        }
    }
    target.complete(!pasted.pieces.is_empty())
}

/// The server's port, and the protocols that determine the direction of each datagram.
fn endpoints(args: &HexArgs, options: &Options) -> AssumedEndpoints {
    let pins = &options.choice.pins;
    let port = args.port.or(pins.last().map(|(port, _)| *port)).unwrap_or(PORT);
    let pinned = pins.iter().rev().find(|(pin, _)| *pin == port);
    let protocols = pinned.map_or(options.choice.protocols, |(_, id)| Choice::only(&[*id]));
    AssumedEndpoints { port, protocols }
}

/// Plays frames into a report, and returns the totals. `complete` says whether all of the text could be read.
pub fn play(
    (name, frames, complete): (&str, &[OwnedFrame], bool),
    options: Options,
    report: &mut dyn Report,
) -> io::Result<Totals> {
    let facts = pasted::facts(frames);
    let mut pipeline = Pipeline::new(options, report);
    let numbered = (1..).zip(frames).map(|(number, frame)| frame.frame(number));
    pipeline.read_frames(name, &facts, numbered)?;
    pipeline.finish(complete)
}

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
    /// Moves the options that `hex` shares with other subcommands there.
    fn fill(&mut self, common: &mut Common) {
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
