//! Strings of a reply: UTF-16LE or UTF-8 behind a signed length.

use super::reply::{FIXED, RSP_004, SURPLUS};
use super::samples::*;
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Value, utf16 as characters};
use crate::rule::{Example, Step::*, rules};

rules! {
    /// Lengths are signed, but a string cannot be shorter than nothing: the published client throws.
    STR_001 = "SKY-STR-001" Error "string length is negative" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 ffffffff")]),
        ],
    }
    /// Its length announces more bytes than there are.
    STR_002 = "SKY-STR-002" Error "string runs past the end of the datagram" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 64000000 4100")]),
        ],
    }
    /// Every unit of UTF-16 takes two bytes, and the server counts bytes.
    STR_003 = "SKY-STR-003" Error "UTF-16 string has an odd number of bytes" {
        cite: server("Packet.cs, WriteUnicodeString"),
        examples: [
            Example::of(&[RQ, S("93000000 03000000 410042 06000000 302e31332e32 02000000 0a000000 7a000000 7b00270070006c0061\
               00790065007200730027003a005b00270041006e006e0027002c00270042006f00620027005d002c002700650078\
               00700065007200690065006e006300650027003a0027005300740061006c006b006500720027002c002700700076\
               00700027003a002700540072007500650027007d00")]),
        ],
    }
    /// Half a character: it is shown as U+FFFD, and its bytes beside it.
    STR_004 = "SKY-STR-004" Error "UTF-16 string has an unpaired surrogate" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 02000000 00d8 03000000 302e31 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// It is shown with U+FFFD, and its bytes beside it.
    STR_005 = "SKY-STR-005" Error "version is not valid UTF-8" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 02000000 4100 03000000 302eff 00000000 01000000 66000000 7b00270070006c006100790065\
               007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a002700500069\
               006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// With the length in bytes the reply cannot be read; with the length in UTF-16 units it ends exactly where
    /// the datagram ends. The published client takes the value for bytes.
    STR_006 = "SKY-STR-006" Error "string length counts characters instead of bytes" {
        cite: wiki("C# Example"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 430061006d007000 03000000 302e31 00000000 01000000 66000000 7b00270070006c\
               006100790065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a\
               002700500069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027\
               007d00")]),
        ],
    }
    /// The published server writes none, and clients show it as a character.
    STR_007 = "SKY-STR-007" Warning "string begins with a byte-order mark" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 fffe4100 03000000 302e31 00000000 01000000 66000000 7b00270070006c00610079\
               0065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00270050\
               0069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// NUL included: usually the terminator of a C string, counted in by mistake.
    STR_008 = "SKY-STR-008" Warning "string contains a control character" {
        cite: wiki("Reply format"),
        examples: [
            Example::of(&[RQ, S("93000000 04000000 41000000 03000000 302e31 00000000 01000000 66000000 7b00270070006c00610079\
               0065007200730027003a005b005d002c00270065007800700065007200690065006e006300650027003a00270050\
               0069006c006700720069006d0027002c00270070007600700027003a002700460061006c007300650027007d00")]),
        ],
    }
    /// The server writes the number of characters in front of bytes. With a character beyond ASCII in the
    /// version all later fields shift.
    STR_009 = "SKY-STR-009" Error "version length counts UTF-16 units of a text in UTF-8" {
        cite: server("Packet.cs, Write(string)"),
        examples: [
            Example::of(&[RQ, S("93000000 08000000 430061006d007000 07000000 302e31332e32c3a9 02000000 0a000000 7a000000 \
               7b00270070006c006100790065007200730027003a005b00270041006e006e0027002c00270042006f0062002700\
               5d002c00270065007800700065007200690065006e006300650027003a0027005300740061006c006b0065007200\
               27002c00270070007600700027003a002700540072007500650027007d00")]),
        ],
    }
}

/// Inside a string.
pub(super) static STRING: Ends = Ends::new(&STR_002, &RSP_004, &SURPLUS);

/// Bytes of the length before a string.
pub(super) const LENGTH: u16 = 4;

/// A string of UTF-16LE behind its length in bytes, or in units if `units` says so.
pub(super) fn utf16<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    [length, text]: [&'static Field; 2],
    units: bool,
) -> Result<&'a [u8], Fault> {
    let claimed = c.field(length, le_i32)?;
    c.require(&STR_001, claimed >= 0)?;
    let claimed = claimed as usize;
    let len = if units { claimed.saturating_mul(2) } else { claimed };
    c.ends(&STRING);
    let bytes = c.text_behind_length(LENGTH, text, bytes(len), Value::Utf16)?;
    c.ends(&FIXED);
    c.check(&STR_006, || !units);
    c.check(&STR_003, || bytes.len().is_multiple_of(2));
    let whole = bytes.as_chunks::<2>().0.as_flattened();
    c.check(&STR_004, || characters(whole).all(|unit| unit.is_ok()));
    c.check(&STR_007, || !bytes.starts_with(&[0xff, 0xfe]));
    c.check(&STR_008, || !characters(whole).flatten().any(char::is_control));
    Ok(bytes)
}
