//! Which of the layouts a reply has, found out by its lengths before it is decoded.
//!
//! Lengths of strings are ambiguous: the page does not say in which unit they count, and the server
//! itself writes characters where it means bytes for the version. Bytes are tried first; another unit is
//! taken only where it makes the whole chain end exactly where the datagram ends.

/// Bytes of a legacy reply behind its version: players, max_players, and 18 of configuration.
const LEGACY_TAIL: usize = 26;
/// Longest version that is taken for one, in bytes.
const LONGEST_VERSION: usize = 32;

/// Which lengths count UTF-16 units instead of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Units {
    pub name: bool,
    pub version: bool,
    pub config: bool,
}

/// The layout of a reply behind its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Name, version, players, configuration as text.
    Current(Units),
    /// Before April 2023: version, players, configuration as numbers.
    Legacy,
}

const BYTES: Units = Units { name: false, version: false, config: false };

/// The other readings, the more likely first.
const OTHERS: [Units; 7] = [
    Units { name: true, version: false, config: false },
    Units { name: false, version: true, config: false },
    Units { name: true, version: false, config: true },
    Units { name: false, version: false, config: true },
    Units { name: true, version: true, config: false },
    Units { name: false, version: true, config: true },
    Units { name: true, version: true, config: true },
];

/// The layout of the bytes behind the header, of which so many at the end are missing in the capture.
pub(super) fn of(rest: &[u8], missing: usize) -> Layout {
    if left(rest, missing, BYTES) == Some(0) {
        return Layout::Current(BYTES);
    }
    if is_legacy(rest) {
        return Layout::Legacy;
    }
    let fits = |units: &Units| left(rest, missing, *units) == Some(0);
    Layout::Current(OTHERS.into_iter().find(fits).unwrap_or(BYTES))
}

/// Whether the bytes behind the header are a reply that ends exactly where they end.
pub(super) fn is_exact(rest: &[u8]) -> bool {
    let legacy = || is_legacy(rest) && version(rest).is_some_and(|(_, tail)| tail.len() == LEGACY_TAIL);
    left(rest, 0, BYTES) == Some(0) || legacy()
}

/// How many bytes are left behind the last string of a current reply; `None` where a length is negative
/// or runs past the end. Those that are missing in the capture are of that string, or behind it.
fn left(rest: &[u8], missing: usize, units: Units) -> Option<usize> {
    let rest = string(rest, |n, _| n.checked_mul(if units.name { 2 } else { 1 }))?;
    let rest = string(rest, |n, text| if units.version { utf8_of_units(text, n) } else { Some(n) })?;
    let (length, rest) = length(rest.get(8..)?)?;
    rest.len().saturating_add(missing).checked_sub(length.checked_mul(if units.config { 2 } else { 1 })?)
}

/// What follows a length and its string, whose size in bytes `size` tells.
fn string(rest: &[u8], size: impl FnOnce(usize, &[u8]) -> Option<usize>) -> Option<&[u8]> {
    let (length, text) = length(rest)?;
    text.get(size(length, text)?..)
}

/// A length that is not negative, and what follows.
fn length(rest: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = rest.split_first_chunk::<4>()?;
    Some((usize::try_from(i32::from_le_bytes(*length)).ok()?, rest))
}

/// How many bytes of UTF-8 make that many UTF-16 units; `None` where it is no UTF-8, or there are too few.
pub(super) fn utf8_of_units(text: &[u8], units: usize) -> Option<usize> {
    // A unit takes three bytes at most.
    let text = text.get(..units.saturating_mul(3)).unwrap_or(text);
    let sound = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let (mut bytes, mut seen) = (0usize, 0usize);
    for c in sound.chars() {
        if seen >= units {
            break;
        }
        seen = seen.saturating_add(c.len_utf16());
        bytes = bytes.saturating_add(c.len_utf8());
    }
    (seen == units).then_some(bytes)
}

/// A legacy reply begins with its version. Read as a name, "0.11.2" would be three Chinese characters.
fn is_legacy(rest: &[u8]) -> bool {
    version(rest).is_some_and(|(text, _)| !text.is_empty() && is_version(text))
}

/// The string at the start, if it is short, and what follows.
fn version(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, text) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_le_bytes(*length)).ok().filter(|n| *n <= LONGEST_VERSION)?;
    text.split_at_checked(length)
}

/// Digits and dots.
pub(super) fn is_version(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::rule::hex;

    #[test]
    fn units_are_taken_only_where_the_chain_then_ends_exactly() {
        let bytes = hex("02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        assert_eq!(of(&bytes, 0), Layout::Current(BYTES));
        let name = hex("01000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        assert_eq!(of(&name, 0), Layout::Current(Units { name: true, ..BYTES }));
        let version = hex("02000000 4100 02000000 31c3a9 00000000 01000000 04000000 7b007d00");
        assert_eq!(of(&version, 0), Layout::Current(Units { version: true, ..BYTES }));
        let long = hex("02000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d0000");
        assert_eq!(of(&long, 0), Layout::Current(BYTES));
        assert!(is_exact(&bytes) && !is_exact(&name) && !is_exact(&long));
    }

    #[test]
    fn a_reply_that_the_capture_cuts_ends_where_its_lengths_say() {
        let name = hex("01000000 4100 03000000 302e31 00000000 01000000 04000000 7b007d00");
        for missing in 0..=4 {
            let cut = &name[..name.len() - missing];
            assert_eq!(of(cut, missing), Layout::Current(Units { name: true, ..BYTES }), "{missing}");
        }
        assert_eq!(of(&name[..name.len() - 5], 5), Layout::Current(BYTES), "the last length is cut");
        assert_eq!(of(&name, 1), Layout::Current(BYTES), "it ends elsewhere");
    }

    #[test]
    fn a_version_in_front_is_the_legacy_layout() {
        let legacy =
            hex("06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01");
        assert_eq!(of(&legacy, 0), Layout::Legacy);
        assert!(is_exact(&legacy) && !is_exact(&legacy[..30]));
        assert_eq!(of(&legacy[..30], 0), Layout::Legacy, "also when it is cut");
    }

    #[test]
    fn utf16_units_are_counted_in_utf8() {
        assert_eq!(utf8_of_units("é".as_bytes(), 1), Some(2));
        assert_eq!(utf8_of_units("🏕x".as_bytes(), 2), Some(4));
        assert_eq!(utf8_of_units("🏕x".as_bytes(), 1), None, "half a character");
        assert_eq!(utf8_of_units(b"a\xff", 2), None);
        assert_eq!(utf8_of_units(b"", 0), Some(0));
    }
}
