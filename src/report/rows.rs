//! Rows of packets and records. Rows of packets have the fields that the user names, as in tshark's `-T fields`, CSV or
//! TSV; rows of records have the values of certain keys.

use super::recent_frames::{Missed, RecentFrames};
use super::{Report, Totals, Wants, secrets};
use crate::capture::{self, Comments, Frame};
use crate::decode::Span;
use crate::escape::{escaped, formula_safe, quoted_cell};
use crate::filter::{Columns, Needs, Pick, Printed, View};
use crate::net::{Datagram, DropReason};
use crate::packet::Packet;
use serde_json::Value;
use std::io::{self, Write};

/// Number of bytes that are buffered before they are written.
const BUFFER: usize = 64 * 1024;

/// The style of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As in tshark: no quotes except [`Layout::quote`].
    Plain,
    /// RFC 4180: cells are quoted if necessary, and formula_safe against evaluation as formulas by spreadsheets.
    Csv,
    /// Tabs and line ends in values are escaped, and cells are formula_safe against evaluation as formulas by spreadsheets.
    Tsv,
}

/// The values of a field to write if it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The first.
    First,
    /// The last.
    Last,
    /// All, with [`Layout::aggregator`] between them.
    All,
}

/// The separators, quotes and header of rows.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The style of cells.
    pub style: Style,
    /// Whether to begin with a byte order mark.
    pub mark: bool,
    /// Whether to begin with the names of the columns.
    pub header: bool,
    /// The separator between columns.
    pub separator: char,
    /// The quote around every cell that is not empty.
    pub quote: Option<char>,
    /// The values of a field to write if it has several.
    pub occurrence: Occurrence,
    /// The separator between several values of a field.
    pub aggregator: char,
}

impl Layout {
    /// A layout of this style with the defaults of tshark, but with a header for CSV and TSV.
    pub fn of(style: Style) -> Layout {
        Layout {
            style,
            mark: false,
            header: style != Style::Plain,
            separator: if style == Style::Csv { ',' } else { '\t' },
            quote: None,
            occurrence: Occurrence::All,
            aggregator: ',',
        }
    }

    /// A text as a cell.
    pub(crate) fn text(&self, text: &str) -> String {
        self.cell(&[Printed { text: text.to_owned(), is_free_text: true }])
    }

    /// Appends a row with the values of a record; `keys` is a list separated by commas.
    pub(crate) fn record(&self, out: &mut String, keys: &str, record: &Value) {
        self.push(out, keys.split(',').map(|key| self.value(&record[key])));
    }

    /// A value of a record as a cell. Numbers have no exponent, and elements of a list are separated by blanks.
    fn value(&self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::String(text) => self.text(text),
            Value::Array(all) => all.iter().map(|each| self.value(each)).collect::<Vec<_>>().join(" "),
            Value::Number(n) if n.is_f64() => match n.as_f64().unwrap_or_default() {
                whole if whole.fract() == 0.0 => format!("{whole:.1}"),
                x => x.to_string(),
            },
            other => other.to_string(),
        }
    }

    /// Appends the names of the columns, never quoted with [`Layout::quote`], as in tshark.
    pub(crate) fn push_header<'a>(&self, out: &mut String, names: impl Iterator<Item = &'a str>) {
        Layout { quote: None, ..*self }.push(out, names.map(str::to_owned));
    }

    /// Appends a row.
    pub(crate) fn push(&self, out: &mut String, cells: impl Iterator<Item = String>) {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                out.push(self.separator);
            }
            match self.quote.filter(|_| !cell.is_empty()) {
                Some(quote) => {
                    out.push(quote);
                    // Double quotes within the value, so that text from the network cannot end it.
                    cell.chars()
                        .for_each(|c| out.extend(std::iter::repeat_n(c, 1 + usize::from(c == quote))));
                    out.push(quote);
                }
                None if self.style == Style::Csv => out.push_str(&quoted_cell(&cell, self.separator)),
                None => out.push_str(&cell),
            }
        }
        out.push_str(if self.style == Style::Csv { "\r\n" } else { "\n" });
    }

    /// The values of a column in one cell.
    fn cell(&self, values: &[Printed]) -> String {
        let chosen = match self.occurrence {
            Occurrence::All => values,
            Occurrence::First => values.get(..1).unwrap_or_default(),
            Occurrence::Last => values.get(values.len().saturating_sub(1)..).unwrap_or_default(),
        };
        let mut cell = String::new();
        for (i, value) in chosen.iter().enumerate() {
            if i > 0 {
                cell.push(self.aggregator);
            }
            // Only text at the beginning of a cell can make it a formula.
            let guard = self.style != Style::Plain && value.is_free_text && cell.is_empty();
            cell.push_str(&if guard { formula_safe(&value.text) } else { escaped(&value.text) });
        }
        cell
    }
}

/// Buffers rows and writes them in large pieces or one by one. When quiet, writes none.
pub(super) struct Rows<W: Write> {
    out: W,
    text: String,
    flush: bool,
    pub(super) quiet: bool,
    pub(super) layout: Layout,
}

impl<W: Write> Rows<W> {
    /// Buffers rows for `out`, beginning with the names of the columns if the layout has a header.
    pub(super) fn new<'a>(
        out: W,
        layout: Layout,
        [flush, quiet]: [bool; 2],
        names: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut text = String::new();
        if layout.mark && !quiet {
            text.push('\u{feff}');
        }
        if layout.header && !quiet {
            layout.push_header(&mut text, names);
        }
        Rows { out, text, flush, quiet, layout }
    }

    /// Appends a row.
    pub(super) fn push(&mut self, cells: impl Iterator<Item = String>) -> io::Result<()> {
        self.layout.push(&mut self.text, cells);
        if self.flush || self.text.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.out.flush()
    }

    /// Writes the last rows.
    pub(super) fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        // The header alone would suggest that a capture had been read.
        if totals.files == 0 { Ok(()) } else { self.write() }
    }
}

/// Writes a row for each packet.
pub struct Fields<W: Write> {
    rows: Rows<W>,
    columns: Columns,
    pick: Pick,
    secrets: bool,
    recent_frames: RecentFrames,
}

impl<W: Write> Fields<W> {
    /// Writes rows to `out`, with `flush` each at once, otherwise in large pieces. Writes no rows if `quiet`. `secrets`
    /// allows showing passwords, as in the options of the pipeline.
    pub fn new(out: W, columns: Columns, layout: Layout, [flush, quiet, secrets]: [bool; 3]) -> Self {
        let (pick, recent_frames) = (columns.pick(), RecentFrames::new(columns.needs()));
        let rows = Rows::new(out, layout, [flush, quiet], columns.names());
        Fields { rows, columns, pick, secrets, recent_frames }
    }

    /// Counts of data that the columns needed, but that was not kept for want of room.
    pub fn missed(&self) -> Missed {
        Missed { frames: self.recent_frames.missed, values: self.pick.missed(), exchanges: 0 }
    }

    fn row(&mut self, view: View<'_>, secrets: &[Span]) -> io::Result<()> {
        let (columns, layout, rows) = (&self.columns, self.rows.layout, &mut self.rows);
        let view = View { picked: Some(&self.pick), ..view };
        self.recent_frames.with_frame(view, |view| {
            rows.push(columns.values(view, secrets).map(|values| layout.cell(&values)))
        })
    }

    /// Whether passwords must be masked in columns of bytes.
    fn masks(&self) -> bool {
        !self.secrets && self.columns.needs().any(Needs::RAW)
    }
}

impl<W: Write> Report for Fields<W> {
    fn wants(&self) -> Wants {
        Wants { ordered: true, frames: true, ..Wants::default() }
    }

    fn comments(&mut self, comments: &Comments) {
        self.recent_frames.comments = comments.clone();
    }

    fn needs_frames(&self) -> bool {
        self.recent_frames.needs_frames()
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.recent_frames.see(frame, parsed);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.rows.quiet {
            return Ok(());
        }
        if self.columns.needs().any(Needs::FIELDS) {
            self.pick.packet(p, self.secrets);
        }
        let secrets = if self.masks() { secrets::in_payload(p) } else { vec![] };
        self.row(View::of_packet(p), &secrets)
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.rows.quiet {
            return Ok(());
        }
        let secrets = if self.masks() { secrets::in_unclaimed(d) } else { vec![] };
        self.row(View::of_datagram(d), &secrets)
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.recent_frames.begin(name, facts, before);
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.rows.finish(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(layout: &Layout, values: &[&[(&str, bool)]]) -> String {
        let printed = |&(text, is_free_text): &(&str, bool)| Printed { text: text.to_owned(), is_free_text };
        let mut out = String::new();
        let cells = values.iter().map(|cell| layout.cell(&cell.iter().map(printed).collect::<Vec<_>>()));
        layout.push(&mut out, cells);
        out
    }

    const VALUES: &[&[(&str, bool)]] =
        &[&[("7777", false), ("9", false)], &[], &[("=a\t\"b\"", true)], &[("-5", false)]];

    #[test]
    fn each_style_escapes_and_quotes_cells() {
        let text = |style| row(&Layout::of(style), VALUES);
        assert_eq!(text(Style::Plain), "7777,9\t\t=a\\t\"b\"\t-5\n");
        assert_eq!(text(Style::Tsv), "7777,9\t\t'=a\\t\"b\"\t-5\n");
        assert_eq!(text(Style::Csv), "\"7777,9\",,\"'=a\\t\"\"b\"\"\",-5\r\n");
    }

    #[test]
    fn selects_joins_and_quotes_values_as_configured() {
        let plain = Layout::of(Style::Plain);
        let quoted = Layout { quote: Some('"'), separator: ';', aggregator: ' ', ..plain };
        assert_eq!(row(&quoted, VALUES), "\"7777 9\";;\"=a\\t\"\"b\"\"\";\"-5\"\n");
        let first = Layout { occurrence: Occurrence::First, ..plain };
        assert_eq!(row(&first, VALUES), "7777\t\t=a\\t\"b\"\t-5\n");
        let last = Layout { occurrence: Occurrence::Last, ..plain };
        assert_eq!(row(&last, VALUES), "9\t\t=a\\t\"b\"\t-5\n");
    }
}
