//! Buffers lines for people, writes the names of files above their lines, and fits lines to a terminal.

use super::format::{align_right, pad_right, push_endpoint};
#[cfg(feature = "page")]
use super::grid::Cell;
#[cfg(feature = "page")]
use super::terminal::{Fitted, wrapped};
use super::time_column::decimals;
use super::{Files, Place, Totals};
use crate::capture::{self, Time};
use crate::net::Endpoint;
use crate::rule::Severity;
use crate::text::digits::push_u64;
use crate::text::escape::escaped;
use crate::text::line::Line;
use std::io::{self, Write};

/// Number of bytes that are buffered before they are written.
const BUFFER_SIZE: usize = 64 * 1024;
/// Columns for an IPv4 endpoint: `203.0.113.255:65535` and two more.
const ENDPOINT_WIDTH: usize = 21;

/// Buffers lines and writes them in large pieces or one by one. When quiet, writes only the counts.
pub(super) struct Lines<W: Write> {
    out: W,
    pub(super) text: Line,
    flush: bool,
    pub(super) quiet: bool,
    /// Whether to write the name of each file above its lines.
    shows_file_names: bool,
    /// The file whose name was written last.
    current_file: Option<usize>,
    /// The first file whose name has not been written.
    next_unnamed: usize,
    pub(super) files: Files,
    pub(super) file_infos: Vec<FileInfo>,
    /// Columns for an endpoint: at least enough for IPv4, and enough for the longest endpoint so far.
    pub(super) width: usize,
    /// Lines for a terminal, pending until the widths of their columns are known.
    #[cfg(feature = "page")]
    fitted: Option<Box<Fitted>>,
    /// The cells of the last line, where they are kept instead of written.
    #[cfg(feature = "page")]
    cells: Option<Cells>,
}

/// The cells of a line.
#[cfg(feature = "page")]
#[derive(Debug, Default)]
struct Cells {
    /// Where each cell of the current line ends, and its severity if it is a finding.
    ends: Vec<(usize, Option<Severity>)>,
    /// The cells of the last line.
    last: Vec<Cell>,
}

#[cfg(feature = "page")]
impl Cells {
    /// Takes the current line.
    fn take_line(&mut self, text: &[u8]) {
        let mut start = 0;
        self.last = vec![];
        for (end, severity) in self.ends.drain(..) {
            let cell = text.get(start..end).unwrap_or_default();
            self.last.push((String::from_utf8_lossy(cell).trim().to_owned(), severity));
            start = end;
        }
    }
}

/// The facts about a file that lines need.
pub(super) struct FileInfo {
    /// The escaped name.
    pub(super) name: Box<str>,
    /// The first time stamp.
    pub(super) first: Time,
    /// Decimals of the time stamps of each interface.
    pub(super) decimals: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(out: W, flush: bool, quiet: bool, shows_file_names: bool) -> Self {
        let (files, file_infos, width) = (Files::default(), vec![], ENDPOINT_WIDTH);
        Lines {
            out,
            text: Line::default(),
            flush,
            quiet,
            shows_file_names,
            current_file: None,
            next_unnamed: 0,
            files,
            file_infos,
            width,
            #[cfg(feature = "page")]
            fitted: None,
            #[cfg(feature = "page")]
            cells: None,
        }
    }

    /// Keeps the cells of the last line instead of writing lines.
    #[cfg(feature = "page")]
    pub(super) fn keep_cells(&mut self) {
        self.cells = Some(Cells::default());
    }

    /// The cells of the last line.
    #[cfg(feature = "page")]
    pub(super) fn take_cells(&mut self) -> Vec<Cell> {
        self.cells.as_mut().map(|cells| std::mem::take(&mut cells.last)).unwrap_or_default()
    }

    /// Fits lines to a terminal.
    #[cfg(feature = "page")]
    pub(super) fn fit_to(&mut self, fitted: Fitted) {
        self.fitted = Some(Box::new(fitted));
    }

    /// Whether each line is written at once.
    #[cfg(feature = "page")]
    pub(super) fn is_flushed(&self) -> bool {
        self.flush
    }

    /// Marks the end of a cell; `severity` is set if the cell is a finding.
    pub(super) fn mark_cell_end(&mut self, severity: Option<Severity>) {
        #[cfg(feature = "page")]
        if let Some(fitted) = &mut self.fitted {
            fitted.mark_cell_end(self.text.len(), severity);
        }
        #[cfg(feature = "page")]
        if let Some(cells) = &mut self.cells {
            cells.ends.push((self.text.len(), severity));
        }
        #[cfg(not(feature = "page"))]
        let _ = severity;
    }

    /// A text as lines that fit the terminal behind `margin` columns; as it is where lines are not fitted.
    pub(super) fn wrapped(&self, text: String, margin: usize) -> Vec<String> {
        #[cfg(feature = "page")]
        if let Some(fitted) = &self.fitted {
            return wrapped(&text, fitted.width().saturating_sub(margin), 2);
        }
        let _ = margin;
        vec![text]
    }

    /// Adds the text as a pending line. Returns whether the pending lines are to be written now; `None` if lines are
    /// not fitted.
    #[cfg(feature = "page")]
    fn gather_line(&mut self) -> Option<bool> {
        let fitted = self.fitted.as_mut()?;
        fitted.take(&self.text);
        self.text.clear();
        Some(self.flush || fitted.is_full())
    }

    /// Appends two endpoints with an arrow between them.
    pub(super) fn push_endpoints(&mut self, endpoints: [Endpoint; 2]) {
        let push = |end: Endpoint| {
            move |text: &mut Line| {
                push_endpoint(text, end);
            }
        };
        self.push_ends(push(endpoints[0]), push(endpoints[1]));
    }

    /// Appends two ends with an arrow between them.
    pub(super) fn push_ends(
        &mut self,
        push_first: impl FnOnce(&mut Line),
        push_second: impl FnOnce(&mut Line),
    ) {
        const ARROW: &str = " → ";
        let text = &mut self.text;
        let from = text.len();
        push_first(text);
        let first = text.len() - from;
        text.extend_from_slice(ARROW.as_bytes());
        push_second(text);
        let second = text.len() - from - first - ARROW.len();
        #[cfg(feature = "page")]
        if let Some(fitted) = &mut self.fitted {
            fitted.mark_cell_end(from + first, None);
            return fitted.mark_cell_end(text.len(), None);
        }
        #[cfg(feature = "page")]
        if let Some(cells) = &mut self.cells {
            return cells.ends.extend([(from + first, None), (text.len(), None)]);
        }
        self.width = self.width.max(first).max(second);
        // Right-align the first endpoint and left-align the second.
        align_right(text, from, self.width + ARROW.len() + second);
        pad_right(text, from, self.width + ARROW.len() + self.width);
    }

    /// Ends a line.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        #[cfg(feature = "page")]
        if let Some(cells) = &mut self.cells {
            cells.take_line(&self.text);
            self.text.clear();
            return Ok(());
        }
        #[cfg(feature = "page")]
        if let Some(enough) = self.gather_line() {
            return if enough { self.write() } else { Ok(()) };
        }
        self.text.push(b'\n');
        if self.flush || self.text.len() >= BUFFER_SIZE { self.write() } else { Ok(()) }
    }

    /// Begins a file.
    pub(super) fn begin_file(
        &mut self,
        name: &str,
        facts: &capture::CaptureInfo,
        before: u64,
    ) -> io::Result<()> {
        self.files.begin(before);
        let decimals = decimals(&facts.interfaces);
        self.file_infos.push(FileInfo { name: escaped(name).into(), first: Time::UNKNOWN, decimals });
        // Pending datagrams may still belong to earlier files.
        if self.files.len() == 1 { self.write_file_names(0) } else { Ok(()) }
    }

    /// The place of the frame of the next line. If the file has changed, writes its name first.
    pub(super) fn place(&mut self, frame: u64) -> io::Result<Place> {
        let place = self.files.place(frame);
        if self.current_file != Some(place.file) {
            self.write_file_names(place.file)?;
        }
        Ok(place)
    }

    /// Writes the names of earlier files without lines, and the name of the file whose lines follow.
    fn write_file_names(&mut self, file: usize) -> io::Result<()> {
        let from = self.next_unnamed.min(file);
        self.current_file = Some(file);
        self.next_unnamed = self.next_unnamed.max(file.saturating_add(1));
        if self.quiet || !self.shows_file_names {
            return Ok(());
        }
        for at in from..=file {
            let Some(FileInfo { name, .. }) = self.file_infos.get(at) else { break };
            let _ = writeln!(self.text, "== {name}");
            #[cfg(feature = "page")]
            self.gather_line();
        }
        if self.flush { self.write() } else { Ok(()) }
    }

    /// Names a frame, and its file if it is not `current_file`.
    pub(super) fn frame_name(&self, frame: u64, current_file: usize) -> String {
        let place = self.files.place(frame);
        match self.file_infos.get(place.file).filter(|_| place.file != current_file) {
            Some(FileInfo { name, .. }) => format!("{} of {name}", place.frame),
            None => place.frame.to_string(),
        }
    }

    /// Appends `before` and the name of a frame, as in [`Lines::frame_name`].
    pub(super) fn push_frame_name(&mut self, before: &str, frame: u64, current_file: usize) {
        self.text.extend_from_slice(before.as_bytes());
        let place = self.files.place(frame);
        if place.file == current_file {
            push_u64(&mut self.text, place.frame);
        } else {
            let other = self.frame_name(frame, current_file);
            self.text.extend_from_slice(other.as_bytes());
        }
    }

    /// Ends the output. When quiet, writes the counts.
    pub(super) fn finish(&mut self, t: &Totals) -> io::Result<()> {
        if self.next_unnamed < self.files.len() {
            self.write_file_names(self.files.len() - 1)?;
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
