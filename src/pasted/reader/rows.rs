//! Reads rows of dumps and tables, and lines that can only continue what is above them.

use super::{Continuation, Open, Reader};
use crate::pasted::dump::{self, Dump, Row};
use crate::pasted::table::{self, TableRow};
use crate::pasted::{Form, Metadata, is_hex, rows, string};

/// Minimum number of characters in a base64 line that the next line may continue.
const BASE64_LINE: usize = 60;

impl<'a> Reader<'a> {
    /// Reads a row of a dump, or several of which the line breaks were lost. Returns `false` if the line is not one.
    pub(super) fn read_rows(&mut self, line: &'a str, below: &str, line_metadata: Metadata) -> bool {
        let mut all = rows::split(line).into_iter();
        if !all.next().is_some_and(|first| self.read_row(first, below, line_metadata)) {
            return false;
        }
        for row in all {
            if !(self.read_row(row, "", Metadata::default()) || self.read_continuation(row)) {
                self.complaints.add(row, "A row of a dump was expected here. It is left out.");
            }
        }
        true
    }

    fn read_row(&mut self, line: &'a str, below: &str, line_metadata: Metadata) -> bool {
        if !self.accepts(Form::Dump) {
            return false;
        }
        let continues_short =
            matches!(&self.open, Some(Open { continuation: Continuation::Dump(dump), .. }) if dump.is_short);
        let continued = dump::short_row(line).filter(|_| continues_short);
        let begun = || dump::short_row(line).filter(|row| dump::begins_short(row, below));
        let Some(row) = continued.or_else(|| dump::row(line)).or_else(begun) else { return false };
        self.add_row(row, line, line_metadata)
    }

    /// Reads a line of a table. Returns `false` if the line is not one.
    pub(super) fn read_table(&mut self, line: &'a str) -> bool {
        let Some(table_line) = table::line(line, self.has_offsets).filter(|_| self.form.is_none()) else {
            return false;
        };
        match table_line {
            table::Line::Head { has_offset } => {
                self.flush();
                self.has_offsets = has_offset;
                true
            }
            table::Line::Row(TableRow { offset: Some(offset), parsed }) => {
                self.add_row(Row::of_table(offset, parsed), line, Metadata::default())
            }
            table::Line::Row(TableRow { offset: None, parsed }) => {
                if !matches!(&self.open, Some(Open { continuation: Continuation::Lines { .. }, .. })) {
                    self.begin(
                        Continuation::Lines { last: 0, is_continued: true },
                        Metadata::default(),
                        line,
                    );
                }
                self.add(parsed, line);
                true
            }
        }
    }

    /// Adds a row to the current dump, or begins another one. Returns `false` if it is more likely plain data.
    fn add_row(&mut self, row: Row<'a>, line: &'a str, line_metadata: Metadata) -> bool {
        if row.is_other_base {
            let message = "Words in octal, decimal or binary are not read: print the bytes with `xxd`, `hexdump -C` or `od -t x1`.";
            self.skip(row.offset, message);
            return true;
        }
        let continues = self.continues_dump(&row, line_metadata);
        if continues != Some(true) {
            let is_forced = row.is_short || self.form.is_some() || self.is_stream || continues.is_some();
            let Some(dump) = Dump::begin(&row, is_forced) else { return false };
            self.begin(Continuation::Dump(dump), line_metadata, line);
        }
        if let Some(Open { piece, continuation: Continuation::Dump(dump), is_full: false, .. }) =
            &mut self.open
        {
            dump.add(row.offset, piece.bytes.len());
        }
        self.add(row.parsed, line);
        true
    }

    /// Whether a row continues the current dump or begins another one; `None` if there is no current dump.
    fn continues_dump(&mut self, row: &Row<'_>, line_metadata: Metadata) -> Option<bool> {
        let Open { piece, continuation: Continuation::Dump(dump), .. } = self.open.as_ref()? else {
            return None;
        };
        let is_other_side = row.is_indented != dump.is_indented && row.offset.len() == 8 && !row.is_certain;
        self.is_stream |= is_other_side;
        let has_other_mark = line_metadata.mark.is_some() && line_metadata.mark != piece.metadata.mark;
        let is_ended = self.is_stream && (is_other_side || dump.is_short(piece.bytes.len()));
        Some(dump.is_behind(row.offset) && !has_other_mark && !is_ended)
    }

    /// Reads a line that can only continue the current datagram: a `*`, which repeats the last row, the offset after
    /// the last row, or a further line of base64.
    pub(super) fn read_continuation(&mut self, line: &'a str) -> bool {
        let Some(Open { piece, continuation, .. }) = &mut self.open else { return false };
        let word = line.trim();
        match continuation {
            Continuation::Dump(dump) if word == "*" => dump.repeat(),
            // The markers of `qdissect dump -x` below a row.
            Continuation::Dump(_) if word.starts_with("^^") => {}
            Continuation::Lines { .. } if word == "*" => {
                let message = "A `*` stands for lines like the one above, and without offsets it is unknown how many: \
                            print all with `-v`.";
                self.complaints.add(line, message);
            }
            Continuation::Dump(dump) => {
                let end = dump::end_offset(line).or_else(|| {
                    word.trim_start_matches("0x")
                        .trim_start_matches('+')
                        .strip_suffix(':')
                        .filter(|_| dump.is_short)
                });
                let Some(offset) =
                    end.filter(|offset| is_hex(offset)).filter(|offset| dump.is_behind(offset))
                else {
                    return false;
                };
                dump.add(offset, piece.bytes.len());
                self.flush();
            }
            Continuation::Base64(last)
                if *last >= BASE64_LINE && last.is_multiple_of(4) && word.len() <= *last =>
            {
                let Some(parsed) = string::base64(word) else { return false };
                *last = if word.ends_with('=') { 0 } else { word.len() };
                self.add(parsed, line);
            }
            _ => return false,
        }
        true
    }
}
