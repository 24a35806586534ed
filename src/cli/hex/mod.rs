//! `qdissect hex`: dissects pasted bytes.

pub mod args;
mod text;

use super::common_args::Common;
use super::diagnostics::{error, note};
use super::outcome::{FAILED, OK, not_writable};
use super::output::Target;
use super::output_conflict;
use super::settings;
use super::terminal;
use crate::capture::capture_format;
use crate::classify::Choice;
use crate::decode::Listener;
use crate::escape::quoted;
use crate::net::OwnedFrame;
use crate::pasted::{self, EXPECTED, Ends, Pasted};
use crate::pipeline::{Options, Pipeline, Stopped};
use crate::report::{Output, Records, Report};
use args::{HexArgs, InputFormat};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use text::Text;

/// UDP port of the server if the user names none.
const PORT: u16 = 7777;

/// Runs `qdissect hex` and returns the exit code. `given` tells whether an option was given on the command line.
pub fn run(args: &mut HexArgs, given: &dyn Fn(&str) -> bool) -> u8 {
    let mut common = args.common();
    let found = prepare(args, &mut common, given).and_then(|options| Ok((options, find(args)?)));
    let (options, (name, text, pasted)) = match found {
        Ok(found) => found,
        Err(e) => {
            error(&e);
            return FAILED;
        }
    };
    if let Some(format) = pasted.pieces.iter().find_map(|piece| capture_format(&piece.bytes)) {
        error(&format_args!(
            "{name}: These are the bytes of a capture ({format}), and not of a datagram: `xxd -r FILE | \
             qdissect -` reads a dump of xxd, `xxd -r -p FILE | qdissect -` plain hex."
        ));
        return FAILED;
    }
    let complete = complain(&name, &text, &pasted);
    match dissect(args, &common, options, &name, &pasted, complete) {
        Ok(()) if complete => OK,
        Ok(()) => FAILED,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => OK,
        Err(e) => not_writable(&common, &e),
    }
}

/// Loads the configuration and checks all arguments before anything is read or written.
fn prepare(args: &HexArgs, common: &mut Common, given: &dyn Fn(&str) -> bool) -> Result<Options, String> {
    let config = settings::load(common, given)?;
    let read = match args.what.as_slice() {
        [] => vec![Path::new("-")],
        [one] if Path::new(one).exists() => vec![Path::new(one)],
        _ => vec![],
    };
    let written: Vec<_> = common.output.iter().map(|path| ("--output", path.as_path())).collect();
    match output_conflict::overwritten(&written, false, &read, &config) {
        Some(conflict) => Err(conflict),
        None => settings::pipeline_options(common, true),
    }
}

/// Reports what could not be read; returns whether no bytes were found at all.
fn complain(name: &str, text: &str, pasted: &Pasted) -> bool {
    for c in &pasted.complaints {
        error(&format_args!("{name}:{}:{}: {}", c.line, c.column, c.what));
    }
    if pasted.more_complaints > 0 {
        error(&format_args!("{name}: {} places more could not be read.", pasted.more_complaints));
    }
    if pasted.pieces.is_empty() {
        let guess = guess(text);
        error(&format_args!("{name}: There are no bytes in this text. {EXPECTED}.{guess}"));
    }
    pasted.complaints.is_empty() && !pasted.pieces.is_empty()
}

/// A hint for a text in which nothing was found: short base64 looks like a word.
fn guess(text: &str) -> &'static str {
    let read = pasted::read(text, Some(pasted::Form::Base64));
    let is_base64 = read.complaints.is_empty() && !read.pieces.is_empty();
    if is_base64 { " If it is base64, say so with --input-format base64." } else { "" }
}

/// Reads the pasted input. Returns a name for it, its text, and the bytes found in it.
fn find(args: &HexArgs) -> Result<(String, String, Pasted), String> {
    let form = args.input_format.map(InputFormat::form).transpose()?;
    let read = |name: &str, from: &mut dyn Read| {
        let text = text(from).map_err(|e| format!("{name}: {e}"))?;
        let pasted = pasted::read(&text, form);
        Ok((name.to_owned(), text, pasted))
    };
    match args.what.as_slice() {
        [] => {
            if io::stdin().is_terminal() {
                note(&format_args!("Paste the bytes here, then press Ctrl-D. {EXPECTED}."));
            }
            read("-", &mut io::stdin())
        }
        [dash] if dash == "-" => read("-", &mut io::stdin()),
        [path] if Path::new(path).exists() => {
            let name = terminal::name(Path::new(path));
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
                    guess(&text)
                ));
            }
            Ok(("text".to_owned(), text, pasted))
        }
    }
}

/// Reads the text of an input: UTF-8, or UTF-16 with a byte order mark. Invalid bytes become U+FFFD, which is no digit.
fn text(from: &mut dyn Read) -> Result<String, String> {
    let mut bytes = vec![];
    // Reads more than the maximum, so that a text that is too long is noticed.
    let limit = pasted::MAX_TEXT as u64 + 4;
    from.take(limit).read_to_end(&mut bytes).map_err(|e| format!("The input cannot be read: {e}."))?;
    let utf16 = |of: fn([u8; 2]) -> u16| -> String {
        let units = bytes.as_chunks::<2>().0.iter().skip(1).map(|b| of(*b));
        char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return Ok(utf16(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => return Ok(utf16(u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => return Ok(String::from_utf8_lossy(rest).into_owned()),
        _ => {}
    }
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
    let frames = pasted::frames(&pasted.pieces, ends(args, &options));
    let mut target = Target::open(common.output.as_deref())?;
    let input = Input { name, frames: &frames, complete };
    match args.format.form() {
        Some(form) => {
            let records = Records::new(Output::new(&mut target, form, false), true, false);
            input.play(options, &mut records.with_secrets(common.show_secrets))?
        }
        None => {
            let screen = terminal::screen(args.color, common);
            input.play(options, &mut Text::new(&mut target, screen, &frames))?;
        }
    }
    target.complete(!pasted.pieces.is_empty())
}

/// The server's port, and the protocols that may determine the direction of a datagram.
fn ends(args: &HexArgs, options: &Options) -> Ends {
    let pins = &options.choice.pins;
    let port = args.port.or(pins.first().map(|(port, _)| *port)).unwrap_or(PORT);
    let pinned = pins.iter().find(|(pin, _)| *pin == port);
    let protocols = pinned.map_or(options.choice.protocols, |(_, id)| Choice::only(&[*id]));
    Ends { port, protocols }
}

/// The frames made of the pasted bytes.
struct Input<'a> {
    name: &'a str,
    frames: &'a [OwnedFrame],
    complete: bool,
}

impl Input<'_> {
    fn play<S: Listener>(&self, options: Options, report: &mut dyn Report<Sink = S>) -> io::Result<()> {
        let facts = pasted::facts(self.frames);
        let mut pipeline = Pipeline::new(options, report);
        let frames = (1..).zip(self.frames).map(|(number, frame)| frame.frame(number));
        pipeline.play(self.name, &facts, frames).map_err(|e| match e {
            Stopped::Report(e) => e,
            Stopped::Capture(e) => io::Error::other(e.to_string()),
        })?;
        pipeline.finish(self.complete).map(drop)
    }
}
