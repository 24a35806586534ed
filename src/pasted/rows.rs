//! One row of a dump: the offset, the bytes, and perhaps the same as characters.
//!
//! ```text
//!  xxd           00000010: a59c 4384 f146 df08 01                   ..C..F...
//!  tcpdump -X       0x0010:  a59c 4384 f146 df08 01                 ..C..F...
//!  hexdump -C    00000010  a5 9c 43 84 f1 46 df 08  01 00 00 00 00  |..C..F.......|
//!  hexdump       0000010 9ca5 8443 46f1 08df 0001                          words of the host, low byte first
//!  hexdump -x    0000010    9ca5    8443    46f1    08df    0001
//!  od            0000020 116245 102103 043361 004337 000001                  the same in octal
//!  od -A x -t x1 000010 a5 9c 43 84 f1 46 df 08 01
//!  tshark -x     0010  a5 9c 43 84 f1 46 df 08 01                    ..C..F...
//! ```
//!
//! Characters stand two blanks or more behind the last byte. They may be hex digits themselves, so it is the gap
//! that tells, and how long the rest is: never longer than there are bytes.

use super::{Wrong, indent, is_hex, pairs};
use crate::report::quoted;

/// A row as it stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The digits of the offset.
    pub offset: &'a str,
    /// A colon follows the offset, or `0x` stands before it: it is certainly one, and in hex.
    pub certain: bool,
    /// `0x` stands before the offset, as in what tcpdump prints.
    pub prefixed: bool,
    /// The row is indented.
    pub indented: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What could not be read.
    pub wrong: Option<Wrong>,
}

/// How many digits an offset may have.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=16;

/// The offset at the beginning of a line, whether it is certainly one, and where it ends.
fn offset(line: &str) -> Option<(&str, bool, usize)> {
    let body = line.trim_start();
    let indent = indent(line);
    let prefix = if body.starts_with("0x") { 2 } else { 0 };
    let digits = body.get(prefix..)?;
    let len = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (offset, rest) = digits.split_at_checked(len)?;
    let colon = rest.starts_with(':');
    let end = indent.saturating_add(prefix).saturating_add(len).saturating_add(usize::from(colon));
    let apart = line.get(end..)?.chars().next().is_none_or(char::is_whitespace);
    // `0xd5f6 0x0001` is no offset: those have a colon.
    (DIGITS.contains(&len) && apart && (prefix == 0 || colon)).then_some((offset, colon, end))
}

/// A line that is nothing but an offset, as the last one of `hexdump` and `od`.
pub fn end(line: &str) -> Option<&str> {
    let (offset, certain, end) = offset(line)?;
    let alone = line.get(end..)?.trim().is_empty();
    (alone && !certain && offset.len() >= 6).then_some(offset)
}

/// A row with an offset, if the line has the looks of one.
pub fn row(line: &str) -> Option<Row<'_>> {
    let (offset, certain, end) = offset(line)?;
    let rest = line.get(end..)?;
    let first = rest.split_whitespace().next()?;
    let words = first.len() > 2;
    let other = !certain && offset.len() == 7 && not_hex(first).is_some();
    // Without a colon a word of four digits is rather data than an offset before words.
    let fits = certain
        || other
        || is_hex(first) && (first.len() == 2 || matches!((offset.len(), first.len()), (6 | 7, 4 | 8 | 16)));
    if !fits {
        return None;
    }
    let prefixed = line.trim_start().starts_with("0x");
    let indented = line.starts_with([' ', '\t']);
    let mut row = Row { offset, certain, prefixed, indented, bytes: vec![], wrong: None };
    let swap = !certain && words;
    read_bytes(&mut row, line, end, (swap, other));
    Some(row)
}

/// The bytes of a word in another base than 16, by its length: `od -b` has three octal digits for each byte, `od` six for
/// two of them, low byte first, and `hexdump -d` five decimal ones. As hex none of these would be whole bytes, or
/// behind an offset of seven digits words.
fn not_hex(word: &str) -> Option<Vec<u8>> {
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    match word.len() {
        3 if digits => Some(vec![u8::from_str_radix(word, 8).ok()?]),
        5 if digits => Some(word.parse::<u16>().ok()?.to_le_bytes().to_vec()),
        6 if digits => Some(u16::from_str_radix(word, 8).ok()?.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// Reads the bytes behind the offset, which ends at `from`. Words may have their low byte first, or be of another base.
fn read_bytes(row: &mut Row<'_>, line: &str, from: usize, (swap, other): (bool, bool)) {
    let mut at = from;
    let gap = |at: usize, rest: &str| line.get(at..at.saturating_add(indent(rest))).unwrap_or_default();
    let first_gap = line.get(from..).map(|rest| gap(from, rest));
    while let Some(rest) = line.get(at..) {
        let word_at = at.saturating_add(indent(rest));
        let gap = gap(at, rest);
        let Some(word) = rest.split_whitespace().next() else { return };
        // `hexdump -x`, `-d` and `-o` have several blanks before each word.
        let even = other || swap && word.len() == 4 && is_hex(word) && Some(gap) == first_gap;
        let wide = !even && (gap.chars().count() > 1 || gap.contains('\t'));
        let left = || line.get(word_at..).unwrap_or_default().trim_end().chars().count();
        if wide && !row.bytes.is_empty() && !(word.len() == 2 && is_middle(row, gap, left())) {
            return; // the characters
        }
        match if other { not_hex(word) } else { pairs(word) } {
            Some(mut bytes) if word.len() <= 16 || row.certain => {
                if swap && !other {
                    bytes.reverse();
                }
                row.bytes.append(&mut bytes);
            }
            // `od -t o1z` has characters between marks, `hexdump -c` among the bytes.
            _ if other && !word.starts_with(['>', '|']) => {
                row.wrong = Some(unread(line, word_at, word));
                return;
            }
            _ => {
                row.wrong = strange(row, line, word_at, word, left());
                return;
            }
        }
        at = word_at.saturating_add(word.len());
    }
}

/// Whether a gap is the one in the middle of a row, before its ninth byte, and not the one before the characters.
fn is_middle(row: &Row<'_>, gap: &str, left: usize) -> bool {
    let eighth = row.bytes.len().is_multiple_of(8) && row.bytes.len() < 32;
    eighth && gap.chars().count() <= 3 && (left > row.bytes.len() || !row.certain && gap == "  ")
}

/// Says what is wrong with a word, unless it begins the characters.
fn strange(row: &Row<'_>, line: &str, at: usize, word: &str, left: usize) -> Option<Wrong> {
    let bars = word.starts_with(['|', '>', '<', '[', '#']);
    let characters =
        bars || !row.bytes.is_empty() && (left <= row.bytes.len() && left > 2 || row.bytes.len() >= 16);
    let hex = is_hex(word);
    if characters && !(hex && word.len() < 4 && row.bytes.len() < 16) {
        return None;
    }
    if !hex {
        return Some(unread(line, at, word));
    }
    let n = word.len();
    let what = format!(
        "An odd number of hex digits, {n}, stands here; every byte needs two. The rest of the row is left out."
    );
    Some(Wrong::at(line, at, what))
}

/// Says that a word is no bytes.
fn unread(line: &str, at: usize, word: &str) -> Wrong {
    let shown: String = word.chars().take(12).collect();
    let what = format!(
        "Hex digits or two blanks before the characters were expected here, not {}. The rest of the row is left out.",
        quoted(&shown)
    );
    Wrong::at(line, at, what)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[track_caller]
    fn bytes(line: &str) -> String {
        let row = row(line).expect("a row");
        assert_eq!(row.wrong, None);
        row.bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn characters_that_are_hex_digits_are_not_read() {
        assert_eq!(bytes("00000010: 6162 6364                                abcd"), "61626364");
        assert_eq!(bytes("00000000: 4142 4344 4546 4748  ABCDEFGH"), "4142434445464748");
        assert_eq!(bytes("00000000: 41 42 43 44 45 46 47 48  41424344"), "4142434445464748");
        assert_eq!(bytes("0000  61 62 20 61 62   ab ab"), "6162206162");
        assert_eq!(
            bytes("00000000  61 62 20 61 62                                    |ab ab|"),
            "6162206162"
        );
        assert_eq!(bytes("000000 61 62 20 61 62                                   >ab ab<"), "6162206162");
        assert_eq!(bytes("\t0x0000:  6162 2061 62                             ab.ab"), "6162206162");
    }

    #[test]
    fn the_gap_in_the_middle_is_no_end() {
        assert_eq!(bytes("00000000  41 42 43 44 45 46 47 48  49 4a"), "4142434445464748494a");
        assert_eq!(
            bytes("00000000: 00 5B 68 65 78 64 75 6D  70 5D 00 00 00 00 00 00  .[hexdump]......"),
            "005b68657864756d705d000000000000"
        );
    }

    #[test]
    fn words_without_a_colon_have_their_low_byte_first() {
        assert_eq!(bytes("0000000 f6d5 0100 00a5                         "), "d5f60001a500");
        assert_eq!(bytes("0000000    f6d5    0100    00a5"), "d5f60001a500");
        assert_eq!(bytes("000000 0100f6d5"), "d5f60001");
        assert_eq!(bytes("00000000: d5f60001 a5"), "d5f60001a5");
    }

    #[test]
    fn words_of_another_base_are_known_by_their_length() {
        assert_eq!(bytes("0000000 173325 000400 000245"), "d5f60001a500");
        assert_eq!(bytes("0000000  173325  000400  000245"), "d5f60001a500");
        assert_eq!(bytes("0000000 325 366 000 001"), "d5f60001");
        assert_eq!(bytes("0000000   63189   00256   00165"), "d5f60001a500");
        assert_eq!(bytes("0000000 325 366 000 001  >....<"), "d5f60001");
        let wrong = row("0000000 325 366  \\0 001").unwrap().wrong.unwrap();
        assert_eq!(wrong.column, 17);
        for line in ["0000 173325 000400", "0000000 888 366", "0000000 65536", "0000000 400"] {
            assert_eq!(row(line), None, "{line}");
        }
    }

    #[test]
    fn data_is_no_offset() {
        for line in
            ["d5f6 0001", "d5f60001", "0xd5f6 0x0001", "00000000 d5f60001", "d5f6:0001", "d5 f6", "abcd:"]
        {
            assert_eq!(row(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_neither_a_byte_nor_a_character_is_said() {
        let wrong = row("0000  d5 f6 0g 01 d5 f6 00 01 a5").unwrap().wrong.unwrap();
        assert_eq!(wrong.column, 12);
        assert!(wrong.what.contains("not \"0g\""), "{}", wrong.what);
        assert_eq!(row("00000000: d5f6 00 1").unwrap().wrong.unwrap().column, 18);
    }

    #[test]
    fn an_offset_alone_ends_a_dump() {
        assert_eq!(end("0000005"), Some("0000005"));
        assert_eq!(end("000005  "), Some("000005"));
        assert_eq!((end("0005"), end("0000005 00"), end("0000005:")), (None, None, None));
    }
}
