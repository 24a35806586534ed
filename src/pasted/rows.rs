//! Splits a dump whose line breaks were lost into its rows: in a row, the next offset stands where the bytes before it
//! end.

use super::is_hex;
use nom::Offset;

/// An offset: its digits, and the text around them.
#[derive(Clone, Copy)]
struct Mark<'a> {
    digits: &'a str,
    is_prefixed: bool,
    has_colon: bool,
}

impl<'a> Mark<'a> {
    fn of(word: &'a str) -> Option<Mark<'a>> {
        let bare = word.strip_suffix(':').unwrap_or(word);
        let digits = bare.strip_prefix("0x").unwrap_or(bare);
        let is_offset = is_hex(digits) && (4..=16).contains(&digits.len());
        let (is_prefixed, has_colon) = (digits.len() < bare.len(), bare.len() < word.len());
        is_offset.then_some(Mark { digits, is_prefixed, has_colon })
    }

    fn is_like(&self, other: &Mark<'_>) -> bool {
        (self.digits.len(), self.is_prefixed, self.has_colon)
            == (other.digits.len(), other.is_prefixed, other.has_colon)
    }

    fn value(&self, radix: u32) -> Option<u64> {
        u64::from_str_radix(self.digits, radix).ok()
    }

    /// Whether this offset stands where `bytes` bytes after another one end.
    fn follows(&self, other: &Mark<'_>, bytes: u64) -> bool {
        let radixes: &[u32] = if self.digits.len() == 7 { &[16, 8, 10] } else { &[16] };
        let step = |radix| self.value(radix)?.checked_sub(other.value(radix)?);
        // `hexdump` fills up the last word; two characters may look like a byte.
        radixes
            .iter()
            .filter_map(|radix| step(*radix))
            .any(|step| step > 0 && step <= bytes && bytes <= step.saturating_mul(2))
    }
}

/// The rows of a line, at least one.
pub fn split(line: &str) -> Vec<&str> {
    let mut rows = vec![];
    let Some(mut mark) = line.split_whitespace().next().and_then(Mark::of) else { return vec![line] };
    let (mut start, mut digits, mut is_in_bytes) = (0usize, 0usize, true);
    for word in line.split_whitespace().skip(1) {
        let at = line.offset(word);
        match Mark::of(word) {
            Some(next) if next.is_like(&mark) && next.follows(&mark, digits as u64 / 2) => {
                rows.extend(line.get(start..at));
                (mark, start, digits, is_in_bytes) = (next, at, 0, true);
            }
            _ => {
                is_in_bytes &= is_hex(word);
                digits = digits.saturating_add(if is_in_bytes { word.len() } else { 0 });
            }
        }
    }
    rows.extend(line.get(start..));
    rows
}
