//! Writes strings in JSON: hex, and text that is safe to show in a terminal.

use super::Str;
use crate::text::digits::push;
use crate::text::line::Line;

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
        c if crate::text::escape::is_hostile(c) => {
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
    fn bytes_are_hex() {
        assert_eq!(Line::text(|out| push_hex(out, &[0, 0xab, 0xff])), "\"00abff\"");
    }
}
