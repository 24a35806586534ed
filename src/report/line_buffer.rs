//! Gathers lines for people before they are written, puts the names of files above their lines, and makes lines fit a
//! terminal.

use super::format::{left, push_endpoint, right};
#[cfg(feature = "page")]
use super::terminal::Fitted;
use super::time_column::decimals;
use super::{Files, Place, Totals};
use crate::capture::{self, Time};
use crate::decode::push_u64;
use crate::escape::shown;
use crate::line::Line;
use crate::net::Endpoint;
use crate::rule::Severity;
use std::io::{self, Write};

/// How much is gathered before it is written, in bytes.
const BUFFER: usize = 64 * 1024;
/// Columns for an IPv4 endpoint: `203.0.113.255:65535` and two more.
const ENDPOINT: usize = 21;

/// Gathers lines and writes them in large pieces, or one by one. Writes nothing but the counts when quiet.
pub(super) struct Lines<W: Write> {
    out: W,
    pub(super) text: Line,
    flush: bool,
    pub(super) quiet: bool,
    /// Whether to write which file the following lines belong to.
    heads: bool,
    /// The file whose name was written last, and the first file whose name has not been written.
    head: Option<usize>,
    next: usize,
    pub(super) files: Files,
    pub(super) named: Vec<Named>,
    /// Columns for an endpoint: enough for IPv4, and from the first longer endpoint on enough for that.
    width: usize,
    /// Lines for a terminal wait here until the widths of their columns are known.
    #[cfg(feature = "page")]
    fitted: Option<Box<Fitted>>,
}

/// What lines need of a file.
pub(super) struct Named {
    /// Its name, escaped.
    pub(super) name: Box<str>,
    /// Its first time stamp.
    pub(super) first: Time,
    /// Decimals of the time stamps of its interfaces.
    pub(super) decimals: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W, flush: bool, quiet: bool, heads: bool) -> Self {
        let (files, named, width) = (Files::default(), vec![], ENDPOINT);
        Lines {
            out,
            text: Line::default(),
            flush,
            quiet,
            heads,
            head: None,
            next: 0,
            files,
            named,
            width,
            #[cfg(feature = "page")]
            fitted: None,
        }
    }

    /// Makes lines fit a terminal.
    #[cfg(feature = "page")]
    pub(super) fn fit(&mut self, fitted: Fitted) {
        self.fitted = Some(Box::new(fitted));
    }

    /// Marks the end of a cell; `severity` is given where the cell is a finding.
    pub(super) fn mark(&mut self, severity: Option<Severity>) {
        #[cfg(feature = "page")]
        if let Some(fitted) = &mut self.fitted {
            fitted.mark(self.text.len(), severity);
        }
        #[cfg(not(feature = "page"))]
        let _ = severity;
    }

    /// Puts the written line, or several, with the lines that wait. Returns whether they need not wait any longer.
    #[cfg(feature = "page")]
    fn gather(&mut self) -> Option<bool> {
        let fitted = self.fitted.as_mut()?;
        fitted.take(&self.text);
        self.text.clear();
        Some(self.flush || fitted.is_full())
    }

    /// Appends both endpoints of a conversation, with an arrow between them.
    pub(super) fn ends(&mut self, ends: [Endpoint; 2]) {
        const ARROW: &str = " → ";
        let text = &mut self.text;
        let from = text.len();
        push_endpoint(text, ends[0]);
        let first = text.len() - from;
        text.extend_from_slice(ARROW.as_bytes());
        push_endpoint(text, ends[1]);
        let second = text.len() - from - first - ARROW.len();
        #[cfg(feature = "page")]
        if let Some(fitted) = &mut self.fitted {
            fitted.mark(from + first, None);
            return fitted.mark(text.len(), None);
        }
        self.width = self.width.max(first).max(second);
        // The first endpoint is aligned to the right, the second to the left.
        right(text, from, self.width + ARROW.len() + second);
        left(text, from, self.width + ARROW.len() + self.width);
    }

    /// Ends a line.
    pub(super) fn end(&mut self) -> io::Result<()> {
        #[cfg(feature = "page")]
        if let Some(enough) = self.gather() {
            return if enough { self.write() } else { Ok(()) };
        }
        self.text.push(b'\n');
        if self.flush || self.text.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    /// A file begins.
    pub(super) fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        let decimals = decimals(&facts.interfaces);
        self.named.push(Named { name: shown(name).into(), first: Time::UNKNOWN, decimals });
        // If there are earlier files, datagrams that still wait belong to those.
        if self.files.len() == 1 { self.heads(0) } else { Ok(()) }
    }

    /// The place of a frame that the next line is about; writes the name of its file first, where that has changed.
    pub(super) fn place(&mut self, frame: u64) -> io::Result<Place> {
        let place = self.files.place(frame);
        if self.head != Some(place.file) {
            self.heads(place.file)?;
        }
        Ok(place)
    }

    /// Writes the name of a file whose lines follow, and the names of files before it that have no lines.
    fn heads(&mut self, file: usize) -> io::Result<()> {
        let from = self.next.min(file);
        self.head = Some(file);
        self.next = self.next.max(file.saturating_add(1));
        if self.quiet || !self.heads {
            return Ok(());
        }
        for at in from..=file {
            let Some(Named { name, .. }) = self.named.get(at) else { break };
            let _ = writeln!(self.text, "== {name}");
            #[cfg(feature = "page")]
            self.gather();
        }
        if self.flush { self.write() } else { Ok(()) }
    }

    /// Names a frame, with its file where that is not the file `here`.
    pub(super) fn other(&self, frame: u64, here: usize) -> String {
        let place = self.files.place(frame);
        match self.named.get(place.file).filter(|_| place.file != here) {
            Some(Named { name, .. }) => format!("{} of {name}", place.frame),
            None => place.frame.to_string(),
        }
    }

    /// Appends `before` and the name of a frame, as `other` gives it.
    pub(super) fn push_other(&mut self, before: &str, frame: u64, here: usize) {
        self.text.extend_from_slice(before.as_bytes());
        let place = self.files.place(frame);
        if place.file == here {
            push_u64(&mut self.text, place.frame);
        } else {
            let other = self.other(frame, here);
            self.text.extend_from_slice(other.as_bytes());
        }
    }

    /// Ends the output; when quiet, writes the counts.
    pub(super) fn finish(&mut self, t: &Totals) -> io::Result<()> {
        if self.next < self.files.len() {
            self.heads(self.files.len() - 1)?;
        }
        if self.quiet {
            let _ = writeln!(
                self.text,
                "{}, {} of query traffic, {}, {} answered, {}",
                t.part("packet", |t| t.packets),
                t.part("datagram", |t| t.recognised),
                t.part("exchange", |t| t.exchanges),
                t.number(|t| t.answered + t.late),
                t.part("finding", |t| t.findings.total())
            );
        }
        self.write()
    }
    fn write(&mut self) -> io::Result<()> {
        #[cfg(feature = "page")]
        if let Some(fitted) = &mut self.fitted {
            let end = std::mem::take(&mut self.text);
            fitted.lay_out(&mut self.text);
            self.text.extend_from_slice(&end);
        }
        self.out.write_all(&self.text)?;
        self.text.clear();
        self.out.flush()
    }
}
