//! Writes values in JSON: numbers, hex, and text that is safe to show in a terminal.

use super::Str;
use crate::line::Line;
use std::io::Write;

/// Appends formatted text; writing to memory cannot fail.
pub(crate) fn push(out: &mut Line, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// 10^8, the smallest number of nine digits.
pub(super) const TEN_POW_8: u64 = 100_000_000;

/// Appends a decimal number.
#[inline]
pub(crate) fn push_u64(out: &mut Line, v: u64) {
    if v >= TEN_POW_8 { push_long(out, v) } else { push_short(out, v as u32) }
}

/// Appends a number up to 99,999,999.
#[inline]
fn push_short(out: &mut Line, v: u32) {
    let (text, len) = decimal(v);
    out.push_first(&text.to_le_bytes(), len);
}

#[inline(never)]
fn push_long(out: &mut Line, v: u64) {
    let (front, last) = (v / TEN_POW_8, (v % TEN_POW_8) as u32);
    if front < TEN_POW_8 {
        push_short(out, front as u32);
    } else {
        push_short(out, (front / TEN_POW_8) as u32);
        push_eight(out, (front % TEN_POW_8) as u32);
    }
    push_eight(out, last);
}

/// The decimal text of a number up to 99,999,999, the first character in the lowest byte, and its length.
#[inline]
pub(crate) const fn decimal(v: u32) -> (u64, usize) {
    if v < 10 {
        return (b'0' as u64 | v as u64, 1);
    }
    let digits = eight_digits(v);
    // Leading zeros, in bits: eight for each.
    let zeros = digits.trailing_zeros() & 56;
    ((digits | ASCII) >> zeros, 8usize.wrapping_sub(zeros as usize / 8))
}

/// Appends a number below 100,000,000 with all of its eight digits.
#[inline]
fn push_eight(out: &mut Line, v: u32) {
    out.add(&(eight_digits(v) | ASCII).to_le_bytes());
}

/// The nine digits of a number below 1,000,000,000, and how many are left without trailing zeros, at least one.
#[inline]
pub(crate) fn nine(v: u32) -> ([u8; 9], usize) {
    let (first, rest) = (v / 100_000_000, eight_digits(v % 100_000_000));
    let mut text = [b'0'.wrapping_add(first as u8); 9];
    if let Some(eight) = text.last_chunk_mut() {
        *eight = (rest | ASCII).to_le_bytes();
    }
    (text, 9usize.wrapping_sub(rest.leading_zeros() as usize / 8))
}

/// Added to eight digits, turns them into ASCII characters.
const ASCII: u64 = 0x3030_3030_3030_3030;

/// The digits of a number below 100,000,000, one per byte, the first in the lowest byte. The number is split in halves,
/// and each half in the same way, all parts at once.
#[inline]
const fn eight_digits(v: u32) -> u64 {
    let v = v as u64;
    let fours = (v / 10_000) | (v % 10_000) << 32;
    // Divides by 100 and by 10: multiplies by 2^20 / 100 and 2^10 / 10, rounded up, and shifts; exact for so few
    // digits.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | fours.wrapping_sub(hundreds.wrapping_mul(100)) << 16;
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    tens | twos.wrapping_sub(tens.wrapping_mul(10)) << 8
}

/// The sixteen hex digits of a number.
#[inline]
pub(crate) fn hex_digits(v: u64) -> [u8; 16] {
    let digits = |half: u32| u128::from(eight_hex_digits(half));
    (digits((v >> 32) as u32) | digits(v as u32) << 64).to_le_bytes()
}

/// The text of eight hex digits, the first in the lowest byte; the number is split in halves, and each half in the same
/// way.
#[inline]
const fn eight_hex_digits(v: u32) -> u64 {
    let v = v as u64;
    let fours = v >> 16 | (v & 0xffff) << 32;
    let twos = fours >> 8 & 0xff_0000_00ff | (fours & 0xff_0000_00ff) << 16;
    let digits = twos >> 4 & 0x000f_000f_000f_000f | (twos & 0x000f_000f_000f_000f) << 8;
    // For digits from 10 on, adding 6 sets the bit above the digit.
    let letters = digits.wrapping_add(0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (digits | ASCII).wrapping_add(letters.wrapping_mul((b'a' - b'0' - 10) as u64))
}

/// Appends a string of hex digits, quoted.
pub(super) fn push_hex(out: &mut Line, bytes: &[u8]) {
    out.push(b'"');
    for b in bytes {
        let digit = |n: u8| if n < 10 { b'0'.wrapping_add(n) } else { b'a'.wrapping_add(n).wrapping_sub(10) };
        out.add(&[digit(b >> 4), digit(b & 15)]);
    }
    out.push(b'"');
}

/// Appends a quoted JSON string, with U+FFFD for bytes that are not UTF-8. Returns whether all bytes are UTF-8.
///
/// Besides the characters that JSON requires to be escaped, control characters beyond ASCII and the marks that turn
/// or hide text are escaped, because records are shown in terminals.
#[inline]
pub fn push_text(out: &mut Line, bytes: &[u8]) -> bool {
    out.push(b'"');
    let is_utf8 = if Str(bytes).is_bare() {
        out.add_few(bytes);
        true
    } else {
        push_escaped(out, bytes)
    };
    out.push(b'"');
    is_utf8
}

/// Appends a quoted JSON string of characters.
pub(super) fn push_chars(out: &mut Line, chars: impl Iterator<Item = char>) {
    out.push(b'"');
    chars.for_each(|c| push_char(out, c));
    out.push(b'"');
}

fn push_escaped(out: &mut Line, bytes: &[u8]) -> bool {
    let mut is_utf8 = true;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_char(out, c);
        }
        if !chunk.invalid().is_empty() {
            is_utf8 = false;
            push_char(out, char::REPLACEMENT_CHARACTER);
        }
    }
    is_utf8
}

fn push_char(out: &mut Line, c: char) {
    match c {
        '"' => out.add(b"\\\""),
        '\\' => out.add(b"\\\\"),
        '\n' => out.add(b"\\n"),
        '\r' => out.add(b"\\r"),
        '\t' => out.add(b"\\t"),
        c if crate::escape::is_hostile(c) => {
            let mut units = [0u16; 2];
            for unit in c.encode_utf16(&mut units) {
                push(out, format_args!("\\u{unit:04x}"));
            }
        }
        c => {
            let mut buffer = [0u8; 4];
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, bool) {
        let mut is_utf8 = false;
        (Line::text(|out| is_utf8 = push_text(out, bytes)), is_utf8)
    }

    #[test]
    fn strings_equal_what_serde_json_reads_back() {
        for s in
            ["", "plain", "q\"b\\s", "\u{1b}[2J", "Zoé ☃ 😀", "\u{202e}gnp", "a\u{85}\u{7f}", "\u{e0041}"]
        {
            let (json, is_utf8) = text(s.as_bytes());
            assert!(is_utf8);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), s);
            assert!(!json.contains('\u{1b}') && !json.contains('\u{202e}') && !json.contains('\u{85}'));
        }
    }

    #[test]
    fn damaged_text_is_reported() {
        assert_eq!(text(b"a\xff\xfeb"), ("\"a\u{fffd}\u{fffd}b\"".into(), false));
    }

    #[test]
    fn numbers_and_hex() {
        let powers = (0..20).flat_map(|n| {
            [10u64.pow(n) - 1, 10u64.pow(n), 10u64.pow(n) + 1, u64::saturating_mul(7, 10u64.pow(n))]
        });
        for v in powers.chain(0..100_000).chain([u64::MAX, 1 << 32, 1_234_567_890_123_456_789]) {
            assert_eq!(Line::text(|out| push_u64(out, v)), v.to_string());
        }
        assert_eq!(Line::text(|out| push_hex(out, &[0, 0xab, 0xff])), "\"00abff\"");
    }
}
