//! Shows exchanges to people as they close, one line each, in fixed columns.

use super::format::{align_right, pad_right, push_duration, push_key};
use super::line_buffer::Lines;
#[cfg(feature = "page")]
use super::terminal::{Fitted, GiveWay, Screen};
use super::{Place, Report, Totals, Wants};
use crate::capture;
use crate::check::Finding;
use crate::exchange::Exchange;
#[cfg(feature = "page")]
use crate::rule::Severity;
use crate::text::digits::{push, push_u64};
use crate::text::escape::escaped;
use crate::text::line::Line;
use std::io::{self, Write};

/// The columns before the last one: name, width, and whether cells are aligned to the right.
const COLUMNS: [(&str, usize, bool); 10] = [
    ("id", 6, true),
    ("client", 21, true),
    ("  server", 23, false),
    ("protocol", 12, false),
    ("step", 9, false),
    ("key", 18, false),
    ("outcome", 10, false),
    ("time", 12, true),
    ("out", 5, true),
    ("in", 5, true),
];

/// Exchanges, one line each.
pub struct Exchanges<W: Write> {
    lines: Lines<W>,
    has_title: bool,
}

impl<W: Write> Exchanges<W> {
    /// The parameters are those of [`Lister::new`](super::Lister::new).
    pub fn new(out: W, flush: bool, quiet: bool, file_names: bool) -> Self {
        Exchanges { lines: Lines::new(out, flush, quiet, file_names), has_title: false }
    }

    /// Fits lines to a terminal, like [`Lister::fit`](super::Lister::fit).
    #[cfg(feature = "page")]
    pub fn fit(mut self, screen: Option<Screen>) -> Self {
        // The key, bytes and step give way first, then columns that can be inferred from the others.
        const GIVE_WAY: &[GiveWay] = &[
            (5, 8),
            (5, 0),
            (9, 0),
            (8, 0),
            (4, 4),
            (4, 0),
            (1, 18),
            (2, 20),
            (0, 0),
            (1, 9),
            (2, 11),
            (3, 4),
        ];
        if let Some(screen) = screen {
            self.lines.fit_to(Fitted::new(
                screen,
                COLUMNS.map(|(_, _, is_right_aligned)| is_right_aligned).into(),
                GIVE_WAY,
            ));
        }
        self
    }

    /// Keeps the cells of the last line for [`Exchanges::take_cells`] instead of writing lines.
    #[cfg(feature = "page")]
    pub fn keep_cells(mut self) -> Self {
        self.lines.keep_cells();
        self.has_title = true;
        self
    }

    /// The cells of the last line: the columns of [`Exchanges::titles`], and the findings.
    #[cfg(feature = "page")]
    pub fn take_cells(&mut self) -> Vec<(String, Option<Severity>)> {
        self.lines.take_cells()
    }

    /// The names of the columns.
    #[cfg(feature = "page")]
    pub fn titles() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(name, _, _)| name.trim()).chain(["frames"])
    }

    /// Writes the names of the columns.
    fn write_title(&mut self) -> io::Result<()> {
        for (at, (name, _, _)) in COLUMNS.iter().enumerate() {
            self.cell(at, |text| text.extend_from_slice(name.as_bytes()));
        }
        self.lines.text.add(b" frames");
        self.lines.mark_cell_end(None);
        self.lines.end_line()
    }

    /// Appends a cell and a blank.
    fn cell(&mut self, column: usize, write: impl FnOnce(&mut Line)) {
        let (_, width, is_right_aligned) = COLUMNS[column];
        let text = &mut self.lines.text;
        let from = text.len();
        write(text);
        // The `µ` in `µs` takes one column but two bytes.
        let width = width + usize::from(text.ends_with("µs".as_bytes()));
        if is_right_aligned {
            align_right(text, from, width)
        } else {
            pad_right(text, from, width)
        }
        self.lines.mark_cell_end(None);
        self.lines.text.push(b' ');
    }

    /// Appends all columns except the last.
    fn push_columns(&mut self, e: &Exchange) {
        let info = e.protocol.info();
        let step = &info.steps[e.step as usize];
        self.cell(0, |text| push_u64(text, e.id));
        self.lines.push_endpoints([e.client, e.server]);
        self.lines.text.push(b' ');
        self.cell(3, |text| text.extend_from_slice(info.name.as_bytes()));
        self.cell(4, |text| text.extend_from_slice(step.name.as_bytes()));
        self.cell(5, |text| match (&e.shown_key, e.key) {
            (Some(key), _) => text.extend_from_slice(escaped(key).as_bytes()),
            (None, Some(key)) => push_key(text, key, step.key_digits),
            (None, None) => text.push(b'-'),
        });
        self.cell(6, |text| text.extend_from_slice(e.outcome.name().as_bytes()));
        self.cell(7, |text| match e.response_time {
            Some(time) => push_duration(text, time),
            None => text.push(b'-'),
        });
        self.cell(8, |text| push_u64(text, e.request_bytes));
        self.cell(9, |text| push_u64(text, e.response_bytes));
    }

    /// Appends the frames of an exchange. `place` determines the file under which the line is written.
    fn frames(&mut self, e: &Exchange, request_place: Place, place: Place) {
        let text = &mut self.lines.text;
        text.push(b' ');
        if request_place.file == place.file {
            push_u64(text, request_place.frame);
        } else {
            let other = self.lines.frame_name(e.request_frame, place.file);
            push(&mut self.lines.text, format_args!("({other})"));
        }
        for &frame in e.response_frames() {
            let response_place = self.lines.files.place(frame);
            self.lines.text.push(b' ');
            push_u64(&mut self.lines.text, response_place.frame);
        }
    }
}

impl<W: Write> Report for Exchanges<W> {
    fn wants(&self) -> Wants {
        Wants { shown_keys: true, ..Wants::default() }
    }

    fn exchange(&mut self, e: &Exchange, _: &[Finding]) -> io::Result<()> {
        if self.lines.quiet {
            return Ok(());
        }
        let request_place = self.lines.files.place(e.request_frame);
        let place = match e.response_frames() {
            [first, ..] => self.lines.place(*first)?,
            [] => self.lines.place(e.request_frame)?,
        };
        if !std::mem::replace(&mut self.has_title, true) {
            self.write_title()?;
        }
        self.push_columns(e);
        self.frames(e, request_place, place);
        let text = &mut self.lines.text;
        if let Some(reason) = e.reason {
            let _ = write!(text, " ({reason})");
        }
        if e.retransmissions > 0 {
            let _ = write!(text, " (repeated {} times)", e.retransmissions);
        }
        self.lines.mark_cell_end(None);
        self.lines.end_line()
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.lines.begin_file(name, facts, before)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.lines.finish(totals)
    }
}
