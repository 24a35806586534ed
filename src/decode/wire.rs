//! Plain nom parsers for the primitives that game-query protocols share. No state, no spans, no names.

use super::Str;
use nom::IResult;
use nom::error::{ErrorKind, ParseError};
use std::net::SocketAddrV4;

/// Why a primitive stopped. The cursor adds the place, and the rule the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The scope ended inside the primitive, which needs this many bytes; 0 if that is unknown.
    Short(u32),
    /// The bytes are there but are not what the primitive accepts.
    Wrong,
}

impl<I> ParseError<I> for Stop {
    #[inline(always)]
    fn from_error_kind(_: I, kind: ErrorKind) -> Self {
        if matches!(kind, ErrorKind::Eof) { Stop::Short(0) } else { Stop::Wrong }
    }
    #[inline(always)]
    fn append(_: I, _: ErrorKind, first: Self) -> Self {
        first
    }
}

/// Result of every primitive.
pub type Wire<'a, T> = IResult<&'a [u8], T, Stop>;

// nom's own number parsers are generic byte loops; these are one load each. nom's `take` compares twice.

/// The value that a parser reads at an offset of a payload; `None` where bytes are missing.
#[inline(always)]
pub fn read_at<'a, O>(
    payload: &'a [u8],
    offset: usize,
    parser: impl FnOnce(&'a [u8]) -> Wire<'a, O>,
) -> Option<O> {
    parser(payload.get(offset..)?).ok().map(|(_, value)| value)
}

/// `N` bytes, as an array.
#[inline(always)]
pub fn array<const N: usize>(i: &[u8]) -> Wire<'_, [u8; N]> {
    match i.split_first_chunk() {
        Some((bytes, rest)) => Ok((rest, *bytes)),
        None => Err(nom::Err::Error(Stop::Short(N as u32))),
    }
}

/// One byte.
#[inline(always)]
pub fn byte(i: &[u8]) -> Wire<'_, u8> {
    array::<1>(i).map(|(i, [b])| (i, b))
}
/// 16 bits, big-endian.
#[inline(always)]
pub fn be_u16(i: &[u8]) -> Wire<'_, u16> {
    array(i).map(|(i, b)| (i, u16::from_be_bytes(b)))
}
/// 32 bits, big-endian.
#[inline(always)]
pub fn be_u32(i: &[u8]) -> Wire<'_, u32> {
    array(i).map(|(i, b)| (i, u32::from_be_bytes(b)))
}
/// 32 bits, big-endian, signed.
#[inline(always)]
pub fn be_i32(i: &[u8]) -> Wire<'_, i32> {
    array(i).map(|(i, b)| (i, i32::from_be_bytes(b)))
}
/// 64 bits, big-endian.
#[inline(always)]
pub fn be_u64(i: &[u8]) -> Wire<'_, u64> {
    array(i).map(|(i, b)| (i, u64::from_be_bytes(b)))
}
/// IEEE 754 single precision, big-endian.
#[inline(always)]
pub fn be_f32(i: &[u8]) -> Wire<'_, f32> {
    array(i).map(|(i, b)| (i, f32::from_be_bytes(b)))
}
/// IEEE 754 single precision, little-endian.
#[inline(always)]
pub fn le_f32(i: &[u8]) -> Wire<'_, f32> {
    array(i).map(|(i, b)| (i, f32::from_le_bytes(b)))
}
/// 16 bits, little-endian.
#[inline(always)]
pub fn le_u16(i: &[u8]) -> Wire<'_, u16> {
    array(i).map(|(i, b)| (i, u16::from_le_bytes(b)))
}
/// 16 bits, little-endian, signed.
#[inline(always)]
pub fn le_i16(i: &[u8]) -> Wire<'_, i16> {
    array(i).map(|(i, b)| (i, i16::from_le_bytes(b)))
}
/// 32 bits, little-endian, signed.
#[inline(always)]
pub fn le_i32(i: &[u8]) -> Wire<'_, i32> {
    array(i).map(|(i, b)| (i, i32::from_le_bytes(b)))
}
/// 32 bits, little-endian.
#[inline(always)]
pub fn le_u32(i: &[u8]) -> Wire<'_, u32> {
    array(i).map(|(i, b)| (i, u32::from_le_bytes(b)))
}
/// 64 bits, little-endian.
#[inline(always)]
pub fn le_u64(i: &[u8]) -> Wire<'_, u64> {
    array(i).map(|(i, b)| (i, u64::from_le_bytes(b)))
}

/// 64 bits, little-endian, signed.
#[inline(always)]
pub fn le_i64(i: &[u8]) -> Wire<'_, i64> {
    array(i).map(|(i, b)| (i, i64::from_le_bytes(b)))
}

/// An address of IPv4, and a port, little-endian.
#[inline(always)]
pub fn le_address(i: &[u8]) -> Wire<'_, SocketAddrV4> {
    array(i).map(|(i, [a, b, c, d, low, high])| {
        (i, SocketAddrV4::new([a, b, c, d].into(), u16::from_le_bytes([low, high])))
    })
}

/// Most bytes of a packed integer.
const MOST_PACKED: usize = 5;

/// A packed integer (Teeworlds 0.7): `E S DDDDDD`, then up to four times `E DDDDDDD`, low bits first. E says that another
/// byte follows, S that the bits are inverted.
#[inline]
pub fn packed(i: &[u8]) -> Wire<'_, i32> {
    let (mut rest, first) = byte(i)?;
    let (mut bits, mut shift, mut last) = (u32::from(first & 0x3f), 6, first);
    for read in 1..MOST_PACKED {
        if last & 0x80 == 0 {
            break;
        }
        let short = nom::Err::Error(Stop::Short((read as u32).wrapping_add(1)));
        (rest, last) = byte(rest).map_err(|_: nom::Err<Stop>| short)?;
        bits |= u32::from(last & 0x7f).wrapping_shl(shift);
        shift = shift.wrapping_add(7);
    }
    let inverted = if first & 0x40 == 0 { 0 } else { u32::MAX };
    Ok((rest, (bits ^ inverted) as i32))
}

/// One byte of length, then that many bytes of text (SQP).
#[inline(always)]
pub fn string8(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, len) = byte(i)?;
    text(len as usize)(rest)
        .map_err(|_: nom::Err<Stop>| nom::Err::Error(Stop::Short(u32::from(len).wrapping_add(1))))
}

/// 16 bits of length, little-endian, then that many bytes of text.
#[inline(always)]
pub fn string16(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, len) = le_u16(i)?;
    text(len.into())(rest)
        .map_err(|_: nom::Err<Stop>| nom::Err::Error(Stop::Short(u32::from(len).wrapping_add(2))))
}

/// 32 bits of length, little-endian, then that many bytes of text.
#[inline(always)]
pub fn string32(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, len) = le_u32(i)?;
    let short = nom::Err::Error(Stop::Short(len.saturating_add(4)));
    text(usize::try_from(len).unwrap_or(usize::MAX))(rest).map_err(|_: nom::Err<Stop>| short)
}

/// One byte of length that counts itself, then the text (All-Seeing Eye): 1 is the empty text, and 0 is wrong.
#[inline(always)]
pub fn counted8(i: &[u8]) -> Wire<'_, Str<'_>> {
    let (rest, len) = byte(i)?;
    let Some(text_len) = len.checked_sub(1) else { return Err(nom::Err::Error(Stop::Wrong)) };
    text(text_len.into())(rest).map_err(|_: nom::Err<Stop>| nom::Err::Error(Stop::Short(len.into())))
}

/// A known number of bytes of text.
#[inline(always)]
pub fn text<'a>(len: usize) -> impl Fn(&'a [u8]) -> Wire<'a, Str<'a>> {
    move |i| bytes(len)(i).map(|(i, t)| (i, Str(t)))
}

/// A known number of raw bytes.
#[inline(always)]
pub fn bytes<'a>(len: usize) -> impl Fn(&'a [u8]) -> Wire<'a, &'a [u8]> {
    move |i| match i.split_at_checked(len) {
        Some((bytes, rest)) => Ok((rest, bytes)),
        None => Err(nom::Err::Error(Stop::Short(len as u32))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_integers_have_five_bytes_at_most() {
        for (bytes, value, left) in [
            (&b"\x05"[..], 5, 0),
            (b"\x80\x01", 64, 0),
            (b"\x40x", -1, 1),
            (b"\xdf\x9a\x0c", -100_000, 0),
            (b"\x80\x80\x80\x80\x08", 1 << 30, 0),
            (b"\xff\xff\xff\xff\x8fx", i32::MIN, 1),
        ] {
            assert_eq!(
                packed(bytes).map(|(rest, value)| (rest.len(), value)),
                Ok((left, value)),
                "{bytes:?}"
            );
        }
        assert!(packed(b"").is_err() && packed(b"\x80").is_err() && packed(b"\x80\x80").is_err());
    }
}
