//! Parses rows of tables with `|` between cells: an offset, bytes, and the same bytes as characters.

use super::{Parsed, digits};
use crate::text::escape::from_hex;

/// A row of a table.
#[derive(Debug)]
pub struct TableRow<'a> {
    /// The digits of the offset, if the first cell is one.
    pub offset: Option<&'a str>,
    /// The bytes.
    pub parsed: Parsed<'a>,
}

/// What a line of a table is.
#[derive(Debug)]
pub enum Line<'a> {
    /// Names of columns or a rule below them. `has_offset` tells whether the first column is that of the offsets.
    Head { has_offset: bool },
    /// Bytes.
    Row(TableRow<'a>),
}

/// Parses a line of a table; `None` for any other line. `has_offset` tells that the head names a column of offsets.
pub fn line(line: &str, has_offset: bool) -> Option<Line<'_>> {
    let line = line.trim();
    let bar = ["| ", "│ ", "|-", "|:"].into_iter().find(|bar| line.starts_with(bar))?;
    let bar = if bar.starts_with('|') { '|' } else { '│' };
    let inner = line.strip_prefix(bar)?.trim_end();
    let inner = inner.strip_suffix(bar).unwrap_or(inner);
    let cells: Vec<&str> = inner.split(bar).map(|cell| cell.trim().trim_matches('`')).collect();
    if cells.len() < 2 {
        return None;
    }
    let first = cells.first()?;
    if cells.iter().all(|cell| cell.bytes().all(|b| b == b'-' || b == b':')) {
        return Some(Line::Head { has_offset });
    }
    let names = first.to_ascii_lowercase();
    let names_offset =
        ["off", "addr", "pos", "at", "#", "index", "row"].iter().any(|name| names.starts_with(name));
    if names_offset || first.is_empty() && cells.len() > 8 {
        return Some(Line::Head { has_offset: true });
    }
    let digits_of = first.strip_prefix("0x").unwrap_or(first);
    let is_prefixed = digits_of.len() < first.len() && !cells.get(1)?.starts_with("0x");
    let is_number = super::is_hex(digits_of) && digits_of.len() <= 8;
    let is_offset =
        is_number && (has_offset || digits_of.len() != 2 || is_prefixed) && bytes(cells.get(1)?).is_some();
    let (offset, cells) = if is_offset { (Some(digits_of), cells.get(1..)?) } else { (None, &*cells) };
    let mut parsed = Parsed::default();
    for (at, cell) in cells.iter().enumerate() {
        if cell.is_empty() {
            continue;
        }
        let is_last =
            || cells.get(at.saturating_add(1)..).unwrap_or_default().iter().all(|cell| cell.is_empty());
        match bytes(cell) {
            Some(_) if is_last() && are_characters(cell, &parsed.bytes) => break,
            Some(more) => parsed.bytes.extend(more),
            // A bar among the characters looks like another cell.
            None if parsed.bytes.is_empty() => return None,
            None => {
                let later = cells.get(at.saturating_add(1)..).unwrap_or_default();
                let is_damage = cell.len() <= 2 && later.iter().filter_map(|cell| bytes(cell)).count() > 1;
                if is_damage {
                    let message =
                        "Two hex digits were expected in this cell. The rest of the row is left out.";
                    parsed.complaints.add(cell, message);
                }
                break;
            }
        }
    }
    (offset.is_some() || parsed.bytes.len() >= 4).then_some(Line::Row(TableRow { offset, parsed }))
}

/// The bytes of a cell: one or more of two digits each.
fn bytes(cell: &str) -> Option<Vec<u8>> {
    let is_byte = |word: &str| {
        let digits = word.strip_prefix("0x").or_else(|| word.strip_suffix('h')).unwrap_or(word);
        digits.len() == 2 && super::is_hex(digits)
    };
    if cell.split_whitespace().all(is_byte) {
        return digits::read(cell).map(|parsed| parsed.bytes).filter(|bytes| !bytes.is_empty());
    }
    let is_stream = super::is_hex(cell) && cell.len() >= 8 && cell.len().is_multiple_of(2);
    is_stream.then(|| from_hex(cell).collect())
}

/// Whether a cell shows these bytes as characters.
fn are_characters(cell: &str, bytes: &[u8]) -> bool {
    cell.len() == bytes.len() && cell.bytes().zip(bytes).all(|(c, b)| c == *b || c == b'.')
}
