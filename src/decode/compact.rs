//! Text of the Unreal engine: its length as a compact index, then its characters, the last of which is a zero.

use super::Value;
use super::wire::{Stop, Wire, byte, bytes};

/// A text with its length in front; the length includes the zero after the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<'a> {
    /// Its characters without that zero, of one or two bytes each.
    pub text: &'a [u8],
    wide: bool,
    /// The zero after the text, which has not been read yet.
    end: &'static [u8],
    announced: bool,
}

impl<'a> Counted<'a> {
    /// The text as a value: UTF-16 if its length is negative, else one byte per character.
    pub fn value(self) -> Value<'a> {
        if self.wide { Value::Utf16(self.text) } else { Value::Latin1(self.text) }
    }
    /// The zero after it; empty where there is none.
    pub fn end(self) -> &'static [u8] {
        self.end
    }
    /// Whether a zero ends it; an empty text needs none.
    pub fn is_ended(self) -> bool {
        !self.announced || !self.end.is_empty()
    }
    /// Whether it has no characters.
    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }
}

/// A compact index of the engine: a sign bit, a bit that says whether bytes follow, and the six lowest bits; then
/// seven bits per byte.
pub fn compact_index(i: &[u8]) -> Wire<'_, i64> {
    let (mut rest, first) = byte(i)?;
    let (mut value, mut more) = (i64::from(first & 0x3f), first & 0x40 != 0);
    for shift in [6u32, 13, 20, 27] {
        if !more {
            break;
        }
        let (after, next) = byte(rest)?;
        value |= i64::from(next & 0x7f).wrapping_shl(shift);
        (rest, more) = (after, next & 0x80 != 0);
    }
    Ok((rest, if first & 0x80 == 0 { value } else { value.wrapping_neg() }))
}

/// Reads a text up to the zero that its length includes.
pub fn counted(i: &[u8]) -> Wire<'_, Counted<'_>> {
    let (rest, count) = compact_index(i)?;
    // The sign counts even where the number is 0.
    let wide = i.first().is_some_and(|first| first & 0x80 != 0);
    let zero: &[u8] = if wide { b"\0\0" } else { b"\0" };
    let length = usize::try_from(count.unsigned_abs()).ok().and_then(|n| n.checked_mul(zero.len()));
    let short = |_| nom::Err::Error(Stop::Short(u32::try_from(length.unwrap_or(0)).unwrap_or(u32::MAX)));
    let (_, all) = bytes(length.unwrap_or(usize::MAX))(rest).map_err(short)?;
    let (text, end): (&[u8], &[u8]) = match all.strip_suffix(zero) {
        Some(text) => (text, zero),
        None => (all, b""),
    };
    let (rest, _) = bytes(text.len())(rest)?;
    Ok((rest, Counted { text, wide, end, announced: count != 0 }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn index(bytes: &[u8]) -> Option<i64> {
        compact_index(bytes).ok().map(|(_, value)| value)
    }

    #[test]
    fn compact_indices_have_one_to_five_bytes() {
        let indices = [&[0x00][..], &[0x3f], &[0x40, 0x01], &[0x41, 0x03], &[0x5b, 0x02], &[0x83]];
        assert_eq!(indices.map(index), [Some(0), Some(63), Some(64), Some(193), Some(155), Some(-3)]);
        assert_eq!(index(&[0x7f, 0xff, 0xff, 0xff, 0xff]), Some((1 << 34) - 1), "five bytes are the most");
        assert_eq!([&[][..], &[0x40], &[0x40, 0x80]].map(index), [None; 3]);
    }

    #[test]
    fn the_counted_zero_is_no_part_of_the_text() {
        let read = |bytes: &'static [u8]| {
            let (rest, text) = counted(bytes).unwrap();
            (text.value(), text.is_ended(), rest)
        };
        assert_eq!(read(b"\x02A\0!"), (Value::Latin1(b"A"), true, &b"\0!"[..]));
        assert_eq!(read(b"\x02AB!"), (Value::Latin1(b"AB"), false, &b"!"[..]));
        assert_eq!(read(b"\x82A\0\0\0!"), (Value::Utf16(b"A\0"), true, &b"\0\0!"[..]));
        assert_eq!(read(b"\0!"), (Value::Latin1(b""), true, &b"!"[..]));
        assert!(counted(b"\x03A\0").is_err() && counted(b"\x83A\0\0\0").is_err());
    }
}
