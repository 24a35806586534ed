//! qdissect for browsers: answers three requests of a page about a capture or pasted bytes.
//!
//! ```text
//! File ──slices──> Slices (a reader) ──> Source ──> Pipeline ──┬─> Records   chunks of NDJSON, handed over one by one
//! text ──────────> pasted ─────────────> frames ──────^        ├─> Picked    one packet: its fields and bytes
//!                                                              └─> Page      the report
//! ```
//! Each request reads the whole capture again, so that nothing has to be kept and the engine's memory does not grow with the
//! file.
#![deny(unsafe_code)]

use js_sys::Uint8Array;
use qdissect::capture::{self, Source, capture_format};
use qdissect::net::OwnedFrame;
use qdissect::page::{self, Page};
use qdissect::pasted::{self, AssumedEndpoints, EXPECTED};
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::{Form, Output, Picked, Records, Report, Totals, Unread};
use qdissect::verdict::Check;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Returns at most `limit` bytes of the file from an offset on; none at its end.
    #[wasm_bindgen(catch, js_name = readCapture)]
    fn read_capture(offset: f64, limit: u32) -> Result<Uint8Array, JsValue>;

    /// Yields to the browser, which reads further bytes of the file from that offset on.
    #[wasm_bindgen(js_name = takeTurn)]
    async fn take_turn(next: f64);

    /// Receives lines of records.
    #[wasm_bindgen(js_name = takeRecords)]
    fn take_records(lines: &[u8]);
}

/// Bytes of a capture that are dissected between two turns of the browser.
const STRETCH: u64 = 4 << 20;

/// The file of the page. The offset of the next byte is shared between this reader and the loop that yields to the browser.
struct Slices(Arc<AtomicU64>);

impl Read for Slices {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let bytes = read_capture(self.0.load(Relaxed) as f64, limit)
            .map_err(|_| io::Error::other("the browser cannot read the file, or cannot any more"))?;
        let length = bytes.length() as usize;
        let target = buffer.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
        bytes.copy_to(target);
        self.0.fetch_add(bytes.length().into(), Relaxed);
        Ok(length)
    }
}

/// Writes records to `takeRecords`.
struct Lines;

impl Write for Lines {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        take_records(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A capture, or pasted bytes.
#[wasm_bindgen]
pub struct Engine {
    name: String,
    /// The frames of the pasted bytes; `None` for a file.
    frames: Option<Vec<OwnedFrame>>,
    /// The parts of the pasted text that could not be read, one per line.
    complaints: String,
}

#[wasm_bindgen]
impl Engine {
    /// The capture that `readCapture` reads.
    pub fn capture(name: String) -> Engine {
        Engine { name, frames: None, complaints: String::new() }
    }

    /// Reads pasted text: hex, a dump, an array, a string or base64.
    ///
    /// # Errors
    /// A sentence, if the text contains no bytes.
    pub fn pasted(text: &str) -> Result<Engine, JsError> {
        let pasted = pasted::read(text, None);
        let places =
            pasted.complaints.iter().map(|c| format!("Line {}, column {}: {}", c.line, c.column, c.what));
        let mut complaints = places.collect::<Vec<_>>().join("\n");
        if pasted.more_complaints > 0 {
            complaints += &format!("\n{} places more could not be read.", pasted.more_complaints);
        }
        if pasted.pieces.is_empty() {
            let why = format!("{complaints}\nThere are no bytes in this text. {EXPECTED}.");
            return Err(JsError::new(why.trim_start()));
        }
        if let Some(format) = pasted.pieces.iter().find_map(|piece| capture_format(&piece.bytes)) {
            return Err(JsError::new(&format!(
                "These are the bytes of a capture ({format}), and not of a datagram: choose the capture itself."
            )));
        }
        let frames = Some(pasted::frames(&pasted.pieces, AssumedEndpoints::default()));
        Ok(Engine { name: "text".to_owned(), frames, complaints })
    }

    /// The parts of the pasted text that could not be read, one per line.
    pub fn complaints(&self) -> String {
        self.complaints.clone()
    }

    /// Hands records to `takeRecords`, whole lines each time: of the capture, of `limit` packets behind the first `before`, of the
    /// exchanges that close among them, and the summary of all. Returns why not everything could be read, if so.
    ///
    /// # Errors
    /// When the browser fails.
    pub async fn records(&self, before: f64, limit: f64) -> Result<Option<String>, JsError> {
        let range = before as u64..(before + limit) as u64;
        let mut records =
            Records::new(Output::new(Lines, Form::Ndjson, false), true, false).with_range(range).with_facts(true);
        let totals = self.read(self.options(true), &mut records).await?;
        Ok(totals.unread.into_iter().next().map(|unread| unread.why))
    }

    /// The packet of a frame as JSON: its fields, its bytes and its findings.
    ///
    /// # Errors
    /// When the capture cannot be read up to it, or there is none.
    pub async fn packet(&self, frame: f64) -> Result<String, JsError> {
        let mut picked = Picked::new(frame as u64);
        let read = self.read(self.options(true), &mut picked).await;
        if let Some(json) = picked.json() {
            return Ok(json);
        }
        Err(match read?.unread.first() {
            Some(unread) => JsError::new(&format!("{}: {}.", unread.file, unread.why)),
            None => JsError::new("There is no packet in this frame."),
        })
    }

    /// The report as a page of HTML.
    ///
    /// # Errors
    /// When the browser fails.
    pub async fn report(&self) -> Result<String, JsError> {
        let options = self.options(false);
        let mut page = Page::new(Check::new(options.policy.clone(), |_, _| Ok(())), &options);
        let totals = self.read(options, &mut page).await?;
        let (verdict, gathered) = page.verdict(totals)?;
        let mut html = vec![];
        page::write(&mut html, &gathered, &verdict)?;
        Ok(String::from_utf8(html)?)
    }
}

impl Engine {
    /// The options of `dump` and `hex`. With `all`, unclaimed datagrams are shown, too.
    fn options(&self, all: bool) -> Options {
        let min_confidence = if self.frames.is_some() { Level::Low } else { Level::Medium };
        Options { all, min_confidence, ..Options::default() }
    }

    /// Opens the file at its beginning. Returns the offset of the next byte as well.
    async fn open(&self) -> Result<(Source, Arc<AtomicU64>), capture::Error> {
        take_turn(0.0).await;
        let next = Arc::new(AtomicU64::new(0));
        let source = Source::from_reader(&self.name, Box::new(Slices(next.clone())))?;
        Ok((source, next))
    }

    /// Reads everything into a report. Errors of a capture are in the totals.
    async fn read(&self, options: Options, report: &mut dyn Report) -> Result<Totals, JsError> {
        let mut pipeline = Pipeline::new(options, report);
        let why = match &self.frames {
            Some(frames) => {
                let numbered = (1..).zip(frames).map(|(number, frame)| frame.frame(number));
                pipeline.read_frames(&self.name, &pasted::facts(frames), numbered)?;
                (!self.complaints.is_empty()).then(|| "not all of the text could be read".to_owned())
            }
            None => match self.open().await {
                Ok((mut source, next)) => {
                    let read = in_turns(&mut pipeline, &mut source, &self.name, &next).await;
                    unread(read)?.or_else(|| pipeline.why_unreadable(source.info()))
                }
                Err(e) => Some(e.to_string()),
            },
        };
        let complete = why.is_none();
        pipeline
            .set_unread(why.map(|why| Unread { file: self.name.clone(), why }).into_iter().collect(), false);
        Ok(pipeline.finish(complete)?)
    }
}

/// Reads a capture and yields to the browser regularly.
async fn in_turns(
    pipeline: &mut Pipeline<'_>,
    source: &mut Source,
    name: &str,
    next: &AtomicU64,
) -> Result<(), Stopped> {
    pipeline.begin(source, name)?;
    let read = loop {
        match pipeline.read_until(source, source.offset() + STRETCH) {
            Ok(true) => take_turn(next.load(Relaxed) as f64).await,
            Ok(false) => break Ok(()),
            Err(stopped) => break Err(stopped),
        }
    };
    pipeline.end(source);
    read
}

/// The reason why a capture was not read to its end, if it was not.
fn unread(read: Result<(), Stopped>) -> Result<Option<String>, JsError> {
    match read {
        Ok(()) => Ok(None),
        Err(Stopped::Capture(e)) => Ok(Some(e.to_string())),
        Err(Stopped::Report(e)) => Err(e.into()),
    }
}
