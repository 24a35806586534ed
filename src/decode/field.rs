//! Fields are declared once; decoders name them, listeners and filters know them.

use super::labels::Labels;
use std::borrow::Cow;
use std::char::DecodeUtf16Error;
use std::fmt;

/// Half-open byte range inside one UDP payload (at most 65,535 bytes, so `u16` is enough).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u16,
    /// One past the last byte.
    pub end: u16,
}

impl Span {
    /// The bytes of the span, as far as `payload` has them.
    pub fn of(self, payload: &[u8]) -> &[u8] {
        payload.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A declared field: what help, documentation, filters and records know about it.
#[derive(Debug)]
pub struct Field {
    /// Path from the message, in the specification's words: `server_info.port`. `[]` stands for
    /// the index in a list: `sub_states[].version`.
    pub name: &'static str,
    /// Last part of the path, without `[]`: the key in JSON.
    pub key: &'static str,
    /// Type of its values.
    pub kind: FieldKind,
    /// What it means.
    pub about: &'static str,
    /// Names of its values, for people; records have the number alone.
    pub labels: Labels,
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Type of a field's values, and so its form in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Unsigned integer of at most 32 bits: a number.
    Uint,
    /// Unsigned integer of 64 bits: a decimal string, for a double cannot hold it.
    Uint64,
    /// Signed integer of at most 32 bits: a number.
    Int,
    /// Yes or no: a boolean.
    Bool,
    /// 32-bit float: a number, or "NaN", "Infinity", "-Infinity".
    Float32,
    /// Text: a string.
    Text,
    /// An integer shown by its name: a string, or the number where it has no name.
    Named,
    /// Names of the bits that are set: a list of strings.
    Names,
    /// Raw bytes: a string of hex digits.
    Bytes,
    /// A type that the message itself announces.
    Dynamic,
    /// Fields under one name: an object.
    Group,
    /// Repeated elements: a list.
    List,
}

/// Text as sent: bytes that claim to be UTF-8. Whether they are is a rule, not a type.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Str<'a>(pub &'a [u8]);

impl<'a> Str<'a> {
    /// Whether all bytes are printable ASCII, as nearly always: then it is UTF-8 without control
    /// characters, and nothing else need be asked.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.words_are(plain_word)
    }

    /// Whether something holds of all bytes, which it is asked eight at a time: some twice, and spaces with a
    /// text that is shorter.
    #[inline(always)]
    fn words_are(self, sound: impl Fn(u64) -> bool) -> bool {
        let half = |bytes: &[u8; 4]| u64::from(u32::from_ne_bytes(*bytes));
        let end = match (self.0.last_chunk(), self.0.first_chunk(), self.0.last_chunk()) {
            (Some(word), ..) => u64::from_ne_bytes(*word),
            (_, Some(low), Some(high)) => half(high) << 32 | half(low),
            _ => self.0.iter().fold(ONES.wrapping_mul(0x20), |word, &byte| word << 8 | u64::from(byte)),
        };
        self.0.as_chunks().0.iter().all(|word| sound(u64::from_ne_bytes(*word))) && sound(end)
    }

    /// Whether the bytes are valid UTF-8.
    #[inline]
    pub fn is_utf8(self) -> bool {
        std::str::from_utf8(self.0).is_ok()
    }
    /// Whether a control character (C0, DEL, C1) stands in it; damaged text has none to speak of.
    #[inline]
    pub fn has_control(self) -> bool {
        // In UTF-8 those of C1 are two bytes, of which the first is C2.
        !self.words_are(|word| !suspect_word(word)) && self.shows_control()
    }
    #[cold]
    fn shows_control(self) -> bool {
        self.0.iter().any(|b| b.is_ascii_control())
            || std::str::from_utf8(self.0).is_ok_and(|s| s.chars().any(char::is_control))
    }
    /// The text with U+FFFD for what is not UTF-8.
    pub fn to_text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

/// Eight bytes of 1.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Whether all eight bytes are in 0x20..=0x7e.
#[inline]
const fn plain_word(w: u64) -> bool {
    // A byte below 0x20 borrows into its high bit; 0x7f reaches it when 1 is added; others have it.
    let below = w.wrapping_sub(ONES.wrapping_mul(0x20));
    let delete = w.wrapping_add(ONES);
    (w | below | delete) & HIGH == 0
}

/// Whether one of eight bytes is below 0x20, DEL or 0xc2.
#[inline]
const fn suspect_word(w: u64) -> bool {
    // The lowest byte below `n`, if there is one, borrows into its own high bit, which it had not.
    const fn below(w: u64, n: u64) -> u64 {
        w.wrapping_sub(ONES.wrapping_mul(n)) & !w
    }
    let (delete, c2) = (w ^ ONES.wrapping_mul(0x7f), w ^ ONES.wrapping_mul(0xc2));
    (below(w, 0x20) | below(delete, 1) | below(c2, 1)) & HIGH != 0
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

/// The characters of little-endian UTF-16; an error for an unpaired surrogate, and for half a unit at the end.
pub fn utf16(bytes: &[u8]) -> impl Iterator<Item = Result<char, DecodeUtf16Error>> {
    let (units, tail) = bytes.as_chunks::<2>();
    let half = (!tail.is_empty()).then_some(0xd800); // alone, as broken as half a unit
    char::decode_utf16(units.iter().map(|u| u16::from_le_bytes(*u)).chain(half))
}

/// A field's value, borrowed from the payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// At most 32 bits, unsigned.
    Uint(u32),
    /// 64 bits, unsigned.
    Uint64(u64),
    /// At most 32 bits, signed.
    Int(i32),
    /// Yes or no.
    Bool(bool),
    /// 32-bit float.
    Float32(f32),
    /// Text that claims to be UTF-8.
    Text(&'a [u8]),
    /// Text in UTF-16, little-endian.
    Utf16(&'a [u8]),
    /// Text with one byte a character.
    Latin1(&'a [u8]),
    /// An integer that has names; `None` where this value has none.
    Named(u32, Option<&'static str>),
    /// The names of the bits set in a value, lowest bit first.
    Names(&'static [&'static str], u64),
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// A value of that kind which nobody may see: a password.
    Secret(FieldKind),
}

/// What is shown instead of a secret. It says nothing about its length.
pub const SECRET: &str = "********";

impl<'a> Value<'a> {
    /// The text of a text; `None` for anything else. U+FFFD stands for what is not valid in its encoding.
    pub fn text(self) -> Option<Cow<'a, str>> {
        Some(match self {
            Value::Text(bytes) => Str(bytes).to_text(),
            Value::Utf16(bytes) => utf16(bytes).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect(),
            Value::Latin1(bytes) => bytes.iter().map(|&b| b as char).collect(),
            _ => return None,
        })
    }

    /// The declared kind this value belongs to.
    pub fn kind(&self) -> FieldKind {
        match self {
            Value::Uint(_) => FieldKind::Uint,
            Value::Uint64(_) => FieldKind::Uint64,
            Value::Int(_) => FieldKind::Int,
            Value::Bool(_) => FieldKind::Bool,
            Value::Float32(_) => FieldKind::Float32,
            Value::Text(_) | Value::Utf16(_) | Value::Latin1(_) => FieldKind::Text,
            Value::Named(..) => FieldKind::Named,
            Value::Names(..) => FieldKind::Names,
            Value::Bytes(_) => FieldKind::Bytes,
            Value::Secret(kind) => *kind,
        }
    }
}

impl From<u8> for Value<'_> {
    #[inline(always)]
    fn from(v: u8) -> Self {
        Value::Uint(v as u32)
    }
}
impl From<u16> for Value<'_> {
    #[inline(always)]
    fn from(v: u16) -> Self {
        Value::Uint(v as u32)
    }
}
impl From<u32> for Value<'_> {
    #[inline(always)]
    fn from(v: u32) -> Self {
        Value::Uint(v)
    }
}
impl From<u64> for Value<'_> {
    #[inline(always)]
    fn from(v: u64) -> Self {
        Value::Uint64(v)
    }
}
impl From<i32> for Value<'_> {
    #[inline(always)]
    fn from(v: i32) -> Self {
        Value::Int(v)
    }
}
impl From<f32> for Value<'_> {
    #[inline(always)]
    fn from(v: f32) -> Self {
        Value::Float32(v)
    }
}
impl<'a> From<Str<'a>> for Value<'a> {
    #[inline(always)]
    fn from(v: Str<'a>) -> Self {
        Value::Text(v.0)
    }
}
impl From<bool> for Value<'_> {
    #[inline(always)]
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline(always)]
    fn from(v: &'a [u8]) -> Self {
        Value::Bytes(v)
    }
}

/// Indices in the lists on the way to a field, the outermost first.
pub type Index = [u16; 3];

/// The field's path with its indices filled in: `player_info.records[3][0]`.
pub fn path(field: &Field, index: Index) -> String {
    let mut out = String::with_capacity(field.name.len().saturating_add(8));
    let mut index = index.iter();
    for (i, part) in field.name.split("[]").enumerate() {
        if i > 0 {
            let n = index.next().copied().unwrap_or_default();
            out.push_str(&format!("[{n}]"));
        }
        out.push_str(part);
    }
    out
}

/// The last part of a path, without `[]`.
pub(crate) const fn key(name: &'static str) -> &'static str {
    let mut end = name.len();
    let bytes = name.as_bytes();
    while end >= 2 && ends_with_brackets(bytes, end) {
        end = end.saturating_sub(2);
    }
    let mut start = end;
    while start > 0 && !is_dot(bytes, start.saturating_sub(1)) {
        start = start.saturating_sub(1);
    }
    name.split_at(end).0.split_at(start).1
}

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)] // evaluated at compile time
const fn ends_with_brackets(bytes: &[u8], end: usize) -> bool {
    bytes[end - 2] == b'[' && bytes[end - 1] == b']'
}

#[allow(clippy::indexing_slicing)] // evaluated at compile time
const fn is_dot(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'.'
}

/// Declares a file's fields and, from the same text, its `FIELDS` list. Behind the kind may stand the names of the
/// field's values. The doc comment is what
/// help and `docs/fields.md` say about the field.
macro_rules! fields {
    ($($(#[doc = $about:expr])+ $NAME:ident = $name:literal: $kind:ident $(, $labels:expr)?;)*) => {
        $($(#[doc = $about])+ pub static $NAME: $crate::decode::Field = $crate::decode::Field {
            name: $name,
            key: $crate::decode::field_key($name),
            kind: $crate::decode::FieldKind::$kind,
            about: concat!($($about, "\n"),+),
            labels: $crate::decode::Labels::None,
        }$(.labelled($labels))?;)*
        /// The fields declared in this file, in order.
        pub static FIELDS: &[&$crate::decode::Field] = &[$(&$NAME),*];
    };
}
pub(crate) use fields;

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn key_is_the_last_part_without_brackets() {
        assert_eq!(key("token"), "token");
        assert_eq!(key("server_info.port"), "port");
        assert_eq!(key("player_info.records[][]"), "records");
        assert_eq!(key("sub_states[].version"), "version");
    }

    #[test]
    fn path_fills_indices_in_order() {
        fields! {
            /// A value.
            RECORD = "player_info.records[][]": Dynamic;
        }
        assert_eq!(FIELDS.len(), 1);
        assert_eq!(path(&RECORD, [3, 0, 0]), "player_info.records[3][0]");
    }

    #[test]
    fn plain_text_is_exactly_printable_ascii() {
        for byte in 0..=255u8 {
            let expected = (0x20..=0x7e).contains(&byte);
            for at in 0..11 {
                let mut text = *b"plain  text";
                text[at] = byte;
                for end in at + 1..=11 {
                    assert_eq!(Str(&text[..end]).is_plain(), expected, "{byte:#x} at {at} of {end}");
                }
            }
        }
    }

    #[test]
    fn control_characters_are_found_beyond_ascii() {
        assert!(Str(b"a\x07").has_control());
        assert!(Str("a\u{85}".as_bytes()).has_control());
        assert!(!Str("Zoé ☃".as_bytes()).has_control());
        assert!(!Str(b"\xff\xfe").has_control());
        for c in ('\0'..'\u{800}').chain(['\u{2028}', '\u{ffff}', '\u{1f3d5}']) {
            for at in 0..9 {
                let text = format!("{:at$}{c}{:>9}", "", "é");
                assert_eq!(Str(text.as_bytes()).has_control(), c.is_control(), "{c:?} at {at}");
            }
        }
    }

    #[test]
    fn utf16_with_lone_surrogates_and_odd_lengths_is_damaged() {
        let read =
            |bytes: &'static [u8]| (Value::Utf16(bytes).text().unwrap(), utf16(bytes).all(|c| c.is_ok()));
        assert_eq!(read(&[0x41, 0]), ("A".into(), true));
        assert_eq!(read(&[0x3c, 0xd8, 0xd5, 0xdf]), ("🏕".into(), true));
        assert_eq!(read(&[0, 0xd8]), ("\u{fffd}".into(), false));
        assert_eq!(read(&[0x41, 0, 0x42]), ("A\u{fffd}".into(), false));
        assert_eq!(read(&[0x3c, 0xd8, 0x42]), ("\u{fffd}\u{fffd}".into(), false));
    }
}
