//! Reads the output of programs that has a layout of its own: gamedig's `debug` option, `tcpdump -A`, PDML.

use super::{Continuation, Reader};
use crate::pasted::{Form, Metadata, Parsed, digits, pattern, pdml};
use crate::report::count;
use regex::Regex;
use std::sync::LazyLock;

/// The line of gamedig above rows of bytes and of the same bytes as characters.
static BUFFER_LENGTH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|\s)Buffer length: (?<length>[0-9]{1,6}) bytes\s*$"));
/// Number of characters that gamedig prints for each byte: two digits or a character, and blanks.
const CELL: usize = 3;

impl<'a> Reader<'a> {
    /// Reads the rows below gamedig's line with the number of bytes. Returns the text after them.
    pub(super) fn read_buffer(&mut self, line: &'a str, below: &'a str) -> &'a str {
        let length =
            BUFFER_LENGTH.captures(line).and_then(|parts| parts.name("length")?.as_str().parse().ok());
        let Some(length) = length.filter(|_| self.accepts(Form::Hex)) else { return below };
        self.begin(Continuation::Complete, Metadata::default(), line);
        let (mut rest, mut read) = (below, 0usize);
        while read < length {
            let (row, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let Some(parsed) = digits::read(row).filter(|parsed| parsed.complaints.list.is_empty()) else {
                break;
            };
            read = read.saturating_add(parsed.bytes.len());
            let (characters, after_characters) = after.split_once('\n').unwrap_or((after, ""));
            rest = if are_characters(characters, &parsed.bytes) { after_characters } else { after };
            self.add(parsed, row);
        }
        if read != length {
            let (announced, missing) = (count(length as u64, "byte"), length.saturating_sub(read));
            let message = format!("Here {announced} are announced, and {read} follow in rows of hex digits.");
            let parsed = Parsed { missing: u32::try_from(missing).unwrap_or(0), ..Parsed::default() };
            self.complaints.add(line, message);
            self.add(parsed, line);
        }
        self.flush();
        rest
    }

    /// Reads the text below a line of tcpdump, if `-A` printed it. Returns `false` for other lines.
    pub(super) fn read_ascii_dump(&mut self, line: &'a str) -> bool {
        let is_below_header = std::mem::take(&mut self.is_below_header) && self.form.is_none();
        let is_packet = line.starts_with(['E', '`', '.']) && line.contains("..");
        if !is_below_header || !is_packet || digits::read(line).is_some() {
            return false;
        }
        let message = "This is the text of `tcpdump -A`, which prints every byte that is no character as a point, so \
                       that the bytes are lost: print them with `tcpdump -X`, which keeps them.";
        self.metadata = Metadata::default();
        self.skip(line, message);
        true
    }

    /// Reads a line of PDML. Returns `false` for other lines.
    pub(super) fn read_pdml(&mut self, line: &'a str) -> bool {
        if !pdml::is_pdml(line) || self.form.is_some() {
            return false;
        }
        self.flush();
        for (bytes, text, metadata) in self.pdml.read(line) {
            self.begin(Continuation::Complete, metadata, text);
            self.add(Parsed { bytes, ..Parsed::default() }, text);
            self.flush();
        }
        true
    }
}

/// Whether a row shows these bytes as characters, each in a cell of its own.
fn are_characters(row: &str, bytes: &[u8]) -> bool {
    let mut cells = bytes.iter();
    let mut chars = row.trim_end().chars().peekable();
    while chars.peek().is_some() {
        let mut cell = chars.by_ref().take(CELL);
        let (c, has_only_blanks) = (cell.next().unwrap_or(' '), cell.all(|c| c == ' '));
        let is_shown =
            cells.next().is_some_and(|byte| c == ' ' || !c.is_ascii() || u32::from(*byte) == u32::from(c));
        if !(is_shown && has_only_blanks) {
            return false;
        }
    }
    true
}
