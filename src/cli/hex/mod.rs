//! `qdissect hex`: dissects pasted bytes.

mod args;
mod text;

pub use args::HexArgs;

use super::check::CheckArgs;
use super::choices::{CheckFormat, Format, HEX_FORMATS, shown};
use super::common_args::Common;
use super::config::Config;
use super::diagnostics::{FAILED, OK, error, not_writable, note};
use super::dump::DumpArgs;
use super::inputs::Inputs;
use super::job::{Job, ReadsCaptures};
use super::output::{Target, overwrite_conflict};
use super::text::decoded;
use super::{run, save, system, terminal};
use crate::capture::{Source, Writer, capture_format};
use crate::classify::Choice;
use crate::exchange::Windows;
use crate::net::OwnedFrame;
use crate::pasted::{self, AssumedEndpoints, EXPECTED, Pasted};
use crate::pipeline::{Options, Pipeline};
use crate::report::{Detail, Details, Explain, Output, Records, Report, TimeFormat, Totals};
use crate::text::escape::quoted;
use clap::ValueEnum;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use text::Text;

/// UDP port of the server if the user names none.
const PORT: u16 = 7777;

/// Runs `qdissect hex` and returns the exit code. `is_given` tells whether an option was given on the command line.
///
/// # Errors
/// A sentence that says what is wrong with the arguments or the text.
pub fn run(args: &mut HexArgs, is_given: &dyn Fn(&str) -> bool) -> Result<u8, String> {
    let mut reading = reading(args)?;
    let (config, options) = prepare(args, &mut *reading, is_given)?;
    let (name, text, pasted) = read_input(args)?;
    if let Some(format) = pasted.pieces.iter().find_map(|piece| capture_format(&piece.bytes)) {
        return Err(format!(
            "{name}: These are the bytes of a capture ({format}), and not of a datagram: `xxd -r FILE | \
             qdissect -` reads a dump of xxd, `xxd -r -p FILE | qdissect -` plain hex."
        ));
    }
    let complete = report_complaints(&name, &text, &pasted);
    if args.check {
        let code = check(&*reading, args, (config, options), &name, &pasted)?;
        return Ok(if complete { code } else { FAILED });
    }
    let common = reading.common();
    Ok(match dissect(args, common, options, &name, &pasted, complete) {
        Ok(()) if complete => OK,
        Ok(()) => FAILED,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(e) => not_writable(common, &e),
    })
}

/// Loads the configuration and checks all arguments before anything is read or written.
fn prepare(
    args: &HexArgs,
    reading: &mut dyn ReadsCaptures,
    is_given: &dyn Fn(&str) -> bool,
) -> Result<(Config, Options), String> {
    let config = run::configure(reading, is_given)?;
    let read = match args.what.as_slice() {
        [] => vec![Path::new("-")],
        [one] if Path::new(one).exists() => vec![Path::new(one)],
        _ => vec![],
    };
    let common = reading.common();
    let written = run::output_files(reading, common);
    match overwrite_conflict(&written, false, &read, &config) {
        Some(conflict) => Err(conflict),
        None => Ok((config, run::pipeline_options(common, true)?)),
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
    let form = args.input_format.and_then(args::InputFormat::form);
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

/// The arguments of `dump` or `check` that correspond to those of `hex`.
fn reading(args: &mut HexArgs) -> Result<Box<dyn ReadsCaptures>, String> {
    let mut common = Common::default();
    args.fill(&mut common);
    let format = args.format.as_deref();
    if args.check {
        let wrong = |name| format!("-T {name} goes without --check.");
        let format = format.map(|name| CheckFormat::from_str(name, false).map_err(|_| wrong(name)));
        let format = format.transpose()?.unwrap_or(CheckFormat::Table);
        let (report, fail_on, show, color) =
            (args.report.clone(), args.fail_on, shown(args.show), args.color);
        return Ok(Box::new(CheckArgs { format, report, fail_on, show, color, ..CheckArgs::of(common) }));
    }
    let format = format.map(|name| HEX_FORMATS.find(name).ok_or(format!("-T {name} needs --check.")));
    let mut dump = DumpArgs::of(common, format.transpose()?.unwrap_or(Format::Text));
    (dump.detail.tree, dump.detail.hex) = (args.tree, args.hex);
    (dump.detail.explain, dump.detail.color) = (args.explain, args.color);
    match dump.detail.format_conflict(dump.format) {
        Some(conflict) => Err(conflict),
        None => Ok(Box::new(dump)),
    }
}

/// Judges what was pasted, and returns the exit code of `check`.
fn check(
    reading: &dyn ReadsCaptures,
    args: &HexArgs,
    (config, options): (Config, Options),
    name: &str,
    pasted: &Pasted,
) -> Result<u8, String> {
    let frames = pasted::frames(&pasted.pieces, endpoints(args, &options));
    let capture = capture_file(&frames).map_err(|e| e.to_string())?;
    let source = Source::in_memory(name.to_owned(), capture);
    let inputs = Inputs::of(Path::new(name), source);
    Ok(run::finish(reading, Job { config, columns: None, options, inputs, heading: None, probed: vec![] }))
}

/// Writes the frames as a capture file.
fn capture_file(frames: &[OwnedFrame]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(vec![], save::APPLICATION)?;
    let facts = pasted::facts(frames);
    for (number, frame) in (1..).zip(frames) {
        writer.frame::<&str>(0, &facts, &frame.frame(number), &[])?;
    }
    writer.finish()
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
    let ends = endpoints(args, &options);
    let frames = pasted::frames(&pasted.pieces, ends);
    let mut target = Target::open(common.output.as_deref())?;
    let input = (name, frames.as_slice(), complete);
    let format = args.format.as_deref().and_then(|name| HEX_FORMATS.find(name)).unwrap_or(Format::Text);
    if let Some(form) = format.form() {
        let records = Records::new(Output::new(&mut target, form, false), true, false);
        let mut records = records.with_secrets(common.show_secrets).with_bytes(args.hex);
        play(input, options, &mut records)?;
        return target.complete(!pasted.pieces.is_empty());
    }
    let screen = terminal::screen(args.color, common);
    let stand_ins = pasted::stand_ins(&pasted.pieces, ends);
    let shows_tree = args.tree || format == Format::Tree;
    if shows_tree || args.hex || args.explain {
        let windows = Windows::new(options.timeout);
        let detail = Detail {
            tree: shows_tree,
            fields: true,
            hex: args.hex,
            explain: args.explain.then(|| Explain { choice: options.choice.clone(), windows }),
            colour: screen.colour,
            secrets: options.secrets,
            time_format: TimeFormat::default(),
            stand_ins,
            ..Detail::default()
        };
        let to = terminal::wrap(&mut target, common);
        play(input, options, &mut Details::new(to, false, false, detail))?;
    } else {
        let to = terminal::wrap(&mut target, common);
        play(input, options, &mut Text::new(to, screen, &frames, stand_ins))?;
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
