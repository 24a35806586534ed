//! Text as it is sent, and checks of it on eight bytes at a time.

use super::{Compared, ComparedValue, FieldKind, Value, work};
use std::borrow::Cow;
use std::char::DecodeUtf16Error;
use std::fmt;

/// Text as sent: bytes that claim to be UTF-8. Whether they are is checked by rules, not by the type.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Str<'a>(pub &'a [u8]);

impl<'a> Str<'a> {
    /// Whether all bytes are printable ASCII, as in nearly all texts: then the text is UTF-8 without control
    /// characters, and no further check is needed. Not inlined: decoders check many texts while they use many registers,
    /// and a call is cheaper there.
    #[inline(never)]
    pub fn is_plain(self) -> bool {
        self.all_words(plain_word)
    }

    /// Whether it is plain and JSON need not escape any of it: it has neither quote nor backslash.
    #[inline(always)]
    pub(super) fn is_bare(self) -> bool {
        self.all_words(bare_word)
    }

    /// Whether `sound` holds for all bytes; it checks eight at a time.
    #[inline(always)]
    fn all_words(self, sound: impl Fn(u64) -> bool) -> bool {
        work::add(self.0.len());
        let (words, end) = self.words();
        words.iter().all(|word| sound(u64::from_ne_bytes(*word))) && sound(end)
    }

    /// All bytes, eight at a time, and the last eight once more if they are not a word themselves. A text shorter than
    /// eight bytes is filled with its own bytes or with spaces.
    #[inline(always)]
    pub(crate) fn words(self) -> (&'a [[u8; 8]], u64) {
        let half = |bytes: &[u8; 4]| u64::from(u32::from_ne_bytes(*bytes));
        let end = match (self.0.last_chunk(), self.0.first_chunk(), self.0.last_chunk()) {
            (Some(word), ..) => u64::from_ne_bytes(*word),
            (_, Some(low), Some(high)) => half(high) << 32 | half(low),
            _ => self.0.iter().fold(ONES.wrapping_mul(0x20), |word, &byte| word << 8 | u64::from(byte)),
        };
        (self.0.as_chunks().0, end)
    }

    /// Whether the bytes are valid UTF-8.
    #[inline]
    pub fn is_utf8(self) -> bool {
        std::str::from_utf8(self.0).is_ok()
    }
    /// Whether it contains a control character (C0, DEL, C1); in damaged text those of C1 do not count.
    #[inline]
    pub fn has_control(self) -> bool {
        // In UTF-8, C1 control characters have two bytes, and the first is C2.
        !self.all_words(|word| !suspect_word(word)) && self.has_control_slowly()
    }
    #[cold]
    fn has_control_slowly(self) -> bool {
        self.0.iter().any(|b| b.is_ascii_control())
            || std::str::from_utf8(self.0).is_ok_and(|s| s.chars().any(char::is_control))
    }
    /// The first byte that is no UTF-8.
    #[cold]
    pub(super) fn first_damage(self) -> Option<Blemish> {
        let at = std::str::from_utf8(self.0).err()?.valid_up_to();
        let byte = self.0.get(at).copied().unwrap_or_default();
        Some(Blemish { at: at as u16, len: 1, values: Compared::new(ComparedValue::byte(byte), "UTF-8") })
    }
    /// The first control character.
    #[cold]
    pub(super) fn first_control(self) -> Option<Blemish> {
        if !self.has_control() {
            return None;
        }
        let beyond_ascii = |text: &str| {
            let (at, c) = text.char_indices().find(|(_, c)| c.is_control())?;
            Some((at, c.len_utf8(), u32::from(c)))
        };
        let ascii = || {
            let at = self.0.iter().position(u8::is_ascii_control)?;
            Some((at, 1, self.0.get(at).copied().unwrap_or_default().into()))
        };
        let (at, len, c) = match std::str::from_utf8(self.0) {
            Ok(text) => beyond_ascii(text),
            Err(_) => ascii(),
        }?;
        let values = Compared::new(ComparedValue::Hex(c.into(), 2), "no control character");
        Some(Blemish { at: at as u16, len: len as u16, values })
    }
    /// A text without a declared encoding: UTF-8 where it is valid, else one byte per character.
    pub fn utf8_or_latin1(self) -> Value<'a> {
        if self.is_utf8() { Value::Text(self.0) } else { Value::Latin1(self.0) }
    }
    /// The number written in decimal digits, with or without a sign; `None` where the text is not such a number or
    /// does not fit 32 bits.
    pub fn decimal(self) -> Option<i32> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }
    /// A count in decimal digits, which is not negative.
    pub fn count(self) -> Option<u32> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }
    /// Whether it is a number in decimal digits, with or without a sign, however large.
    pub fn is_integer(self) -> bool {
        let digits = self.0.strip_prefix(b"-").or(self.0.strip_prefix(b"+")).unwrap_or(self.0);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    }
    /// Whether it mentions a password, so that it may contain one.
    pub fn mentions_password(self) -> bool {
        work::add(self.0.len());
        self.0.windows(8).any(|word| word.eq_ignore_ascii_case(b"password"))
    }
    /// The number in decimal digits, or the text where it is not a number or does not fit 32 bits.
    pub fn decimal_or_text(self) -> Value<'a> {
        let number = self.decimal().map(Value::Int).or_else(|| self.count().map(Value::Uint));
        number.unwrap_or_else(|| self.utf8_or_latin1())
    }
    /// The text as the value of a field of this kind.
    pub fn to_value(self, kind: FieldKind) -> Value<'a> {
        if kind == FieldKind::Dynamic { self.decimal_or_text() } else { self.utf8_or_latin1() }
    }
    /// The text with U+FFFD for bytes that are not UTF-8.
    pub fn to_text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

/// The part of a text that is wrong.
pub(super) struct Blemish {
    /// Its offset in the text.
    pub at: u16,
    /// Its length in bytes.
    pub len: u16,
    /// What is there, and what should be.
    pub values: Compared,
}

/// The byte 1, eight times.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each of eight bytes.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Whether all eight bytes are in 0x20..=0x7e.
#[inline]
const fn plain_word(w: u64) -> bool {
    beyond_plain(w) & HIGH == 0
}

/// A word in which a byte has its high bit set if one of the eight bytes of `w` is not in 0x20..=0x7e.
#[inline]
const fn beyond_plain(w: u64) -> u64 {
    // A byte below 0x20 borrows and gets its high bit set; 0x7f gets it by adding 1; bytes above have it.
    w | w.wrapping_sub(ONES.wrapping_mul(0x20)) | w.wrapping_add(ONES)
}

/// Whether all eight bytes are in 0x20..=0x7e and none is a quote or a backslash.
#[inline]
const fn bare_word(w: u64) -> bool {
    // A quote or backslash becomes zero, and borrows into its high bit.
    let quote = (w ^ ONES.wrapping_mul(b'"' as u64)).wrapping_sub(ONES);
    let backslash = (w ^ ONES.wrapping_mul(b'\\' as u64)).wrapping_sub(ONES);
    (beyond_plain(w) | quote | backslash) & HIGH == 0
}

/// Whether one of eight bytes is below 0x20, DEL or 0xc2.
#[inline]
const fn suspect_word(w: u64) -> bool {
    // The lowest byte below `n`, if there is one, borrows and so gets its high bit set, which it did not have.
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
    let half = (!tail.is_empty()).then_some(0xd800); // a lone surrogate, an error just like half a unit
    char::decode_utf16(units.iter().map(|u| u16::from_le_bytes(*u)).chain(half))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_exactly_printable_ascii() {
        for byte in 0..=255u8 {
            let expected = (0x20..=0x7e).contains(&byte);
            for at in 0..11 {
                let mut text = *b"plain  text";
                text[at] = byte;
                for end in at + 1..=11 {
                    let prefix = Str(&text[..end]);
                    assert_eq!(prefix.is_plain(), expected, "{byte:#x} at {at} of {end}");
                    let bare = expected && !matches!(byte, b'"' | b'\\');
                    assert_eq!(prefix.is_bare(), bare, "{byte:#x} at {at} of {end}");
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
}
