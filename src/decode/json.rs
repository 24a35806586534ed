//! Writes the `fields` object of a record while the datagram is decoded.

use super::field::{SECRET, utf16};
use super::{Field, FieldSink, Listener, Notes, Shape, Span, Value, Violation};
use std::io::Write;

/// The JSON listener: an object of the fields, and the broken rules beside it.
///
/// Text that is damaged is shown with U+FFFD, and its bytes stand beside it as `<key>_hex`; a list
/// with damaged text gets a sibling `<key>_hex` of the same shape, null where the text was sound.
#[derive(Debug, Default)]
pub struct Json {
    out: Vec<u8>,
    notes: Notes,
    open: Vec<Open>,
    /// The twin of the outermost open list that holds values: null or hex for each of them.
    twin: Vec<u8>,
    twin_damaged: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    shape: Shape,
    first: bool,
    field: Option<&'static Field>,
}

const ROOT: Open = Open { shape: Shape::Group, first: true, field: None };

impl Json {
    /// The object, once the datagram has ended.
    #[inline]
    pub fn object(&self) -> &[u8] {
        &self.out
    }

    /// Comma and key, as the innermost open group or list needs them.
    #[inline]
    fn before(&mut self, field: &'static Field, suffix: &str) {
        let Some(open) = self.open.last_mut() else { return };
        if !std::mem::take(&mut open.first) {
            self.out.push(b',');
        }
        if open.shape == Shape::Group {
            self.out.push(b'"');
            self.out.extend_from_slice(field.key.as_bytes());
            self.out.extend_from_slice(suffix.as_bytes());
            self.out.extend_from_slice(b"\":");
        }
    }

    fn in_list(&self) -> bool {
        self.open.last().is_some_and(|o| o.shape == Shape::List)
    }

    /// Writes a value; `true` if it is damaged text.
    #[inline]
    fn value(&mut self, value: Value<'_>) -> bool {
        let out = &mut self.out;
        match value {
            Value::Uint(v) => push_u64(out, v as u64),
            Value::Uint64(v) => {
                out.push(b'"');
                push_u64(out, v);
                out.push(b'"');
            }
            Value::Int(v) => push(out, format_args!("{v}")),
            Value::Float32(v) if v.is_nan() => out.extend_from_slice(b"\"NaN\""),
            Value::Float32(v) if v.is_infinite() => {
                out.extend_from_slice(if v > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
            }
            Value::Float32(v) => push(out, format_args!("{v:?}")),
            Value::Text(bytes) => return !push_text(out, bytes),
            Value::Latin1(bytes) => {
                push_chars(out, bytes.iter().map(|&b| b as char));
            }
            Value::Utf16(bytes) => {
                push_chars(out, utf16(bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                return utf16(bytes).any(|c| c.is_err());
            }
            Value::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
            Value::Secret(_) => {
                push_text(out, SECRET.as_bytes());
            }
            Value::Named(_, Some(name)) => {
                push_text(out, name.as_bytes());
            }
            Value::Named(v, None) => push_u64(out, v as u64),
            Value::Names(names, bits) => {
                out.push(b'[');
                for (i, name) in set(names, bits).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    push_text(out, name.as_bytes());
                }
                out.push(b']');
            }
            Value::Bytes(bytes) => push_hex(out, bytes),
        }
        false
    }

    #[cold]
    fn damaged(&mut self, field: &'static Field, value: Value<'_>) {
        let (Value::Text(bytes) | Value::Utf16(bytes)) = value else { return };
        if self.in_list() {
            self.twin_damaged = true;
        } else {
            self.before(field, "_hex");
            push_hex(&mut self.out, bytes);
        }
    }

    fn twin_value(&mut self, damaged: bool, value: Value<'_>) {
        if !self.twin.ends_with(b"[") {
            self.twin.push(b',');
        }
        match value {
            Value::Text(bytes) | Value::Utf16(bytes) if damaged => push_hex(&mut self.twin, bytes),
            _ => self.twin.extend_from_slice(b"null"),
        }
    }

    fn close_list(&mut self, list: Open) {
        self.out.push(b']');
        self.twin.push(b']');
        if self.in_list() {
            return;
        }
        if std::mem::take(&mut self.twin_damaged)
            && let Some(field) = list.field
        {
            self.before(field, "_hex");
            self.out.extend_from_slice(&self.twin);
        }
        self.twin.clear();
    }
}

/// The names whose bits are set, lowest bit first.
pub(super) fn set(names: &'static [&'static str], bits: u64) -> impl Iterator<Item = &'static str> {
    names
        .iter()
        .enumerate()
        .filter(move |(i, _)| bits.checked_shr(*i as u32).is_some_and(|b| b & 1 == 1))
        .map(|(_, n)| *n)
}

impl FieldSink for Json {
    #[inline]
    fn field(&mut self, field: &'static Field, _at: Span, value: Value<'_>) {
        self.before(field, "");
        let damaged = self.value(value);
        if self.in_list() {
            self.twin_value(damaged, value);
        }
        if damaged {
            self.damaged(field, value);
        }
    }
    #[inline]
    fn derived(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.field(field, at, value);
    }
    fn open(&mut self, field: &'static Field, _at: u16, shape: Shape) {
        self.before(field, "");
        self.out.push(if shape == Shape::List { b'[' } else { b'{' });
        if shape == Shape::List {
            if self.in_list() && !self.twin.ends_with(b"[") {
                self.twin.push(b',');
            }
            self.twin.push(b'[');
        }
        self.open.push(Open { shape, first: true, field: Some(field) });
    }
    fn close(&mut self, _at: u16) {
        match self.open.pop() {
            Some(list) if list.shape == Shape::List => self.close_list(list),
            _ => self.out.push(b'}'),
        }
    }
    #[inline]
    fn violation(&mut self, v: Violation) {
        self.notes.violation(v);
    }
}

impl Listener for Json {
    #[inline]
    fn begin(&mut self) {
        self.out.clear();
        self.notes.begin();
        self.open.clear();
        self.open.push(ROOT);
        self.twin.clear();
        self.twin_damaged = false;
        self.out.push(b'{');
    }
    #[inline]
    fn end(&mut self) {
        self.out.push(b'}');
    }
    fn notes(&self) -> &Notes {
        &self.notes
    }
}

/// Appends formatted text; writing to memory cannot fail.
pub(crate) fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// Appends a decimal number.
#[inline]
pub(crate) fn push_u64(out: &mut Vec<u8>, mut v: u64) {
    let mut digits = [0u8; 20];
    let mut used = 0usize;
    for slot in digits.iter_mut().rev() {
        *slot = b'0'.wrapping_add((v % 10) as u8);
        v /= 10;
        used = used.wrapping_add(1);
        if v == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20usize.wrapping_sub(used)..).unwrap_or_default());
}

/// Appends a string of hex digits, quoted.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for b in bytes {
        let digit = |n: u8| if n < 10 { b'0'.wrapping_add(n) } else { b'a'.wrapping_add(n).wrapping_sub(10) };
        out.extend_from_slice(&[digit(b >> 4), digit(b & 15)]);
    }
    out.push(b'"');
}

/// Appends a JSON string, quoted, with U+FFFD for what is not UTF-8. Returns whether it all was.
///
/// Besides what JSON demands, control characters beyond ASCII and the marks that turn or hide text
/// are escaped, for records are looked at in terminals.
#[inline]
pub fn push_text(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    out.push(b'"');
    let plain = |&b: &u8| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\';
    let sound = if bytes.iter().all(plain) {
        out.extend_from_slice(bytes);
        true
    } else {
        push_escaped(out, bytes)
    };
    out.push(b'"');
    sound
}

/// The same for characters.
fn push_chars(out: &mut Vec<u8>, chars: impl Iterator<Item = char>) {
    out.push(b'"');
    chars.for_each(|c| push_char(out, c));
    out.push(b'"');
}

fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let mut sound = true;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_char(out, c);
        }
        if !chunk.invalid().is_empty() {
            sound = false;
            push_char(out, char::REPLACEMENT_CHARACTER);
        }
    }
    sound
}

fn push_char(out: &mut Vec<u8>, c: char) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        c if crate::report::is_hostile(c) => {
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
        let mut out = vec![];
        let sound = push_text(&mut out, bytes);
        (String::from_utf8(out).unwrap(), sound)
    }

    #[test]
    fn strings_equal_what_serde_json_reads_back() {
        for s in
            ["", "plain", "q\"b\\s", "\u{1b}[2J", "Zoé ☃ 😀", "\u{202e}gnp", "a\u{85}\u{7f}", "\u{e0041}"]
        {
            let (json, sound) = text(s.as_bytes());
            assert!(sound);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), s);
            assert!(!json.contains('\u{1b}') && !json.contains('\u{202e}') && !json.contains('\u{85}'));
        }
    }

    #[test]
    fn damaged_text_is_said() {
        assert_eq!(text(b"a\xff\xfeb"), ("\"a\u{fffd}\u{fffd}b\"".into(), false));
    }

    #[test]
    fn numbers_and_hex() {
        for v in [0, 7, 10, 99, 100, u64::MAX] {
            let mut out = vec![];
            push_u64(&mut out, v);
            assert_eq!(String::from_utf8(out).unwrap(), v.to_string());
        }
        let mut out = vec![];
        push_hex(&mut out, &[0, 0xab, 0xff]);
        assert_eq!(out, b"\"00abff\"");
    }
}
