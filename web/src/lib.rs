//! qdissect for browsers: shows a page a capture or pasted bytes.
//!
//! ```text
//! File ──slices──> Slices (a reader) ──> Source ──> Pipeline ──┬─> Overview ──> Index   64 bytes a packet, findings
//! text ──────────> pasted ─────────────> frames ──────^        └─> Page                 the report
//!
//! Index + the bytes of a frame ──> a row of the list, or a packet: its tree, bytes and findings
//! ```
//! The capture is read once for the list, once more for each filter and for the report. A row or a packet needs its frame only.
#![deny(unsafe_code)]

mod file;
mod typed;

use file::{Slices, read_at, take_turn};
use qdissect::browse::{Index, Indexer, Overview, Unopened, Until};
use qdissect::capture::{self, Source, capture_format};
use qdissect::filter::Filter;
use qdissect::net::OwnedFrame;
use qdissect::page::{self, Page};
use qdissect::pasted::{self, AssumedEndpoints, EXPECTED};
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::{Filtered, Picked, Report, StandIns, Totals, Unread, count};
use qdissect::verdict::Check;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasm_bindgen::prelude::*;

/// Bytes of a capture that are dissected between two turns of the browser.
const STRETCH: u64 = 4 << 20;
/// Most packets in the index, which takes 64 bytes for each.
const MAX_ROWS: usize = 1_000_000;
/// Most bytes of frames of compressed captures, which are kept because reading them again takes long.
const MAX_FRAME_BYTES: usize = 128 << 20;
/// Most findings in the list.
const MAX_FOUND: usize = 20_000;

/// Pasted bytes.
struct Pasted {
    frames: Vec<OwnedFrame>,
    /// The bytes of all frames, one after the other.
    bytes: Vec<u8>,
    stand_ins: StandIns,
}

/// A capture, or pasted bytes.
#[wasm_bindgen]
pub struct Engine {
    name: String,
    /// `None` for a file.
    pasted: Option<Pasted>,
    /// The parts of the pasted text that could not be read, one per line.
    complaints: String,
    /// The packets that have been read last.
    index: RefCell<Arc<Mutex<Index>>>,
    /// Nobody waits for what is being read any more.
    is_stopped: Cell<bool>,
}

#[wasm_bindgen]
impl Engine {
    /// The capture that `readCapture` reads.
    pub fn capture(name: String) -> Engine {
        Engine::new(name, None, String::new())
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
        let frames = pasted::frames(&pasted.pieces, AssumedEndpoints::default());
        let stand_ins = pasted::stand_ins(&pasted.pieces, AssumedEndpoints::default());
        let bytes = frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect();
        Ok(Engine::new("text".to_owned(), Some(Pasted { frames, bytes, stand_ins }), complaints))
    }

    /// The parts of the pasted text that could not be read, one per line.
    pub fn complaints(&self) -> String {
        self.complaints.clone()
    }

    /// Reads the packets that pass a filter, except the first `before`, as many as there is room for. Returns as JSON the summary,
    /// the findings, why not everything could be read, and remarks about the filter.
    ///
    /// # Errors
    /// When the browser fails, the filter is wrong, or nobody waits for it any more.
    pub async fn read(&self, filter: &str, before: f64) -> Result<String, JsError> {
        let index = Index::new(MAX_ROWS).after(before as u64).with_room_for_frames(MAX_FRAME_BYTES);
        let index = Arc::new(Mutex::new(index));
        self.index.replace(index.clone());
        let mut overview = Overview::new(Indexer::new(index.clone()));
        let (totals, mut remarks) =
            self.run(self.options(true), Filter::parse(filter)?, &mut overview).await?;
        if totals.judged_later > 0 {
            remarks.push(format!(
                "{} answered nothing, or nothing but challenges, or in one direction only: the report judges that at the \
                 end, and counts otherwise.",
                count(totals.judged_later, "server")
            ));
        }
        let index = locked(&index);
        let (findings, more) = overview.findings(&index, MAX_FOUND);
        let why = totals.unread.first().map(|unread| &unread.why);
        let read = json!({
            "summary": totals.record(), "why": why, "remarks": remarks,
            "rows": index.rows().len(), "left_out": index.left_out, "findings": findings, "more_findings": more,
        });
        Ok(read.to_string())
    }

    /// Gives up what is being read, if anything is.
    pub fn stop(&self) {
        self.is_stopped.set(true);
    }

    /// The number of rows read so far.
    pub fn rows(&self) -> usize {
        locked(&self.index.borrow()).rows().len()
    }

    /// Rows of the list as JSON.
    pub fn list(&self, from: usize, to: usize) -> String {
        let index = self.index.borrow();
        locked(&index).listed(from..to, &self.stand_ins(), &mut |_, at, buffer| self.read_at(at, buffer))
    }

    /// The packet of a row as JSON; `None` if the capture must be read again for it.
    ///
    /// # Errors
    /// When its frame cannot be read.
    pub fn packet(&self, row: usize) -> Result<Option<String>, JsError> {
        let index = self.index.borrow();
        let read = &mut |_: usize, at: u64, buffer: &mut [u8]| self.read_at(at, buffer);
        match locked(&index).picked(row, &self.stand_ins(), read) {
            Ok(packet) => Ok(Some(packet)),
            Err(Unopened::Again) => Ok(None),
            Err(e) => Err(JsError::new(&format!("The packet cannot be shown: {e}."))),
        }
    }

    /// The packet of a row as JSON, found by reading the capture again.
    ///
    /// # Errors
    /// When the capture cannot be read up to it, or there is none.
    pub async fn packet_again(&self, row: usize) -> Result<String, JsError> {
        let frame = locked(&self.index.borrow()).rows().get(row).map(|row| row.frame);
        let mut picked = Picked::new(self.stand_ins());
        let mut until = Until::new(frame.unwrap_or_default(), &mut picked);
        let read = self.read_into(self.options(true), &mut until).await;
        if let Some(json) = picked.json() {
            return Ok(json);
        }
        Err(match read?.unread.first() {
            Some(unread) => JsError::new(&format!("{}: {}.", unread.file, unread.why)),
            None => JsError::new("The packet cannot be shown: the capture has changed."),
        })
    }

    /// A filter for the field that a line of a packet's tree shows, if it shows one.
    pub fn field_filter(&self, row: usize, line: usize) -> Option<String> {
        let index = self.index.borrow();
        locked(&index).field_filter(row, line, &mut |_, at, buffer| self.read_at(at, buffer))
    }

    /// The report on what passes a filter as a page of HTML.
    ///
    /// # Errors
    /// When the browser fails, or the filter is wrong.
    pub async fn report(&self, filter: &str) -> Result<String, JsError> {
        let options = self.options(false);
        let mut page = Page::new(Check::new(options.policy.clone(), |_, _| Ok(())), &options);
        let (totals, _) = self.run(options, Filter::parse(filter)?, &mut page).await?;
        let (verdict, gathered) = page.verdict(totals)?;
        let mut html = vec![];
        page::write(&mut html, &gathered, &verdict)?;
        Ok(String::from_utf8(html)?)
    }
}

fn locked(index: &Mutex<Index>) -> MutexGuard<'_, Index> {
    index.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    fn new(name: String, pasted: Option<Pasted>, complaints: String) -> Engine {
        let index = RefCell::new(Arc::new(Mutex::new(Index::new(0))));
        Engine { name, pasted, complaints, index, is_stopped: Cell::new(false) }
    }

    fn stand_ins(&self) -> StandIns {
        self.pasted.as_ref().map(|pasted| pasted.stand_ins.clone()).unwrap_or_default()
    }

    /// Reads the bytes of a frame.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some(pasted) = &self.pasted else { return read_at(at, buffer) };
        let at = usize::try_from(at).map_err(io::Error::other)?;
        let bytes = pasted.bytes.get(at..).and_then(|bytes| bytes.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// The options of `dump` and `hex`. With `all`, unclaimed datagrams are shown, too.
    fn options(&self, all: bool) -> Options {
        let min_confidence = if self.pasted.is_some() { Level::Low } else { Level::Medium };
        Options { all, min_confidence, ..Options::default() }
    }

    /// Opens the file at its beginning. Returns the offset of the next byte as well.
    async fn open(&self) -> Result<(Source, Arc<AtomicU64>), capture::Error> {
        take_turn(0.0).await;
        let next = Arc::new(AtomicU64::new(0));
        let source = Source::from_reader(&self.name, Box::new(Slices(next.clone())))?;
        Ok((source, next))
    }

    /// Reads what passes a filter into a report. Returns the totals of that, and remarks about the filter.
    async fn run(
        &self,
        options: Options,
        filter: Filter,
        report: &mut dyn Report,
    ) -> Result<(Totals, Vec<String>), JsError> {
        if filter.is_empty() {
            return Ok((self.read_into(options, report).await?, vec![]));
        }
        let mut filtered = Filtered::new(filter, false, report);
        let totals = self.read_into(options, &mut filtered).await?;
        Ok((filtered.narrow(&totals), filtered.missed().sentences("The filter")))
    }

    /// Reads everything into a report. Errors of a capture are in the totals.
    async fn read_into(&self, options: Options, report: &mut dyn Report) -> Result<Totals, JsError> {
        self.is_stopped.set(false);
        let mut pipeline = Pipeline::new(options, report);
        let why = match &self.pasted {
            Some(Pasted { frames, .. }) => {
                let mut at = 0;
                let numbered = (1..).zip(frames).map(|(number, owned)| {
                    let frame = capture::Frame { at, ..owned.frame(number) };
                    at += owned.bytes.len() as u64;
                    frame
                });
                pipeline.read_frames(&self.name, &pasted::facts(frames), numbered)?;
                (!self.complaints.is_empty()).then(|| "not all of the text could be read".to_owned())
            }
            None => match self.open().await {
                Ok((mut source, next)) => {
                    let read = self.in_turns(&mut pipeline, &mut source, &next).await;
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

    /// Reads a capture and yields to the browser regularly.
    async fn in_turns(
        &self,
        pipeline: &mut Pipeline<'_>,
        source: &mut Source,
        next: &AtomicU64,
    ) -> Result<(), Stopped> {
        pipeline.begin(source, &self.name)?;
        let read = loop {
            match pipeline.read_until(source, source.offset() + STRETCH) {
                Ok(true) => take_turn(next.load(Relaxed) as f64).await,
                Ok(false) => break Ok(()),
                Err(stopped) => break Err(stopped),
            }
            if self.is_stopped.get() {
                break Err(Stopped::Report(io::Error::other("The reading was given up.")));
            }
        };
        pipeline.end(source);
        read
    }
}

/// The reason why a capture was not read to its end, if it was not.
fn unread(read: Result<(), Stopped>) -> Result<Option<String>, JsError> {
    match read {
        Ok(()) => Ok(None),
        Err(Stopped::Capture(e)) => Ok(Some(e.to_string())),
        Err(Stopped::Report(e)) => Err(e.into()),
    }
}
