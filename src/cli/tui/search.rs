//! Searches packets, a few at a time, so that the screen stays alive.

use super::frames::Frames;
use super::gather::{Shared, lock};
use crate::report::{ByteCell, OutlineLine};

/// Packets that are opened between two looks at the keyboard.
const AT_ONCE: usize = 500;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Text in a line of the tree, in lower case; upper and lower case are the same.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Any finding.
    Finding,
}

impl Wanted {
    /// What the user typed: `0x` and hex digits are bytes, anything else is text; nothing is nothing.
    pub fn parse(text: &str) -> Option<Wanted> {
        let text = text.trim();
        let digits = text.strip_prefix("0x").map(|digits| digits.replace([' ', ':'], ""));
        let bytes = digits.filter(|digits| digits.is_ascii() && digits.len() % 2 == 0 && !digits.is_empty());
        let bytes = bytes.and_then(|digits| {
            (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
        });
        match bytes {
            Some(bytes) => Some(Wanted::Bytes(bytes)),
            None => (!text.is_empty()).then(|| Wanted::Text(text.to_lowercase())),
        }
    }

    /// Whether a line of the tree has it.
    pub fn is_in_line(&self, line: &OutlineLine) -> bool {
        match self {
            Wanted::Text(text) => line.text.to_lowercase().contains(text),
            Wanted::Finding => line.severity.is_some(),
            Wanted::Bytes(_) => false,
        }
    }

    fn is_in_bytes(&self, bytes: &[ByteCell]) -> bool {
        let Wanted::Bytes(wanted) = self else { return false };
        let has =
            |window: &[ByteCell]| window.iter().zip(wanted).all(|(cell, byte)| cell.value == Some(*byte));
        bytes.windows(wanted.len()).any(has)
    }
}

/// A search.
#[derive(Debug)]
pub struct Search {
    /// What is searched for.
    pub wanted: Wanted,
    /// The packet that is looked at next; `None` once it has ended.
    next: Option<usize>,
    forward: bool,
}

impl Search {
    /// Begins a search behind or before a packet.
    pub fn begin(wanted: Wanted, from: usize, forward: bool) -> Search {
        let next = if forward { from.checked_add(1) } else { from.checked_sub(1) };
        Search { wanted, next: next.or(Some(usize::MAX)), forward }
    }

    /// Whether it has not ended.
    pub fn runs(&self) -> bool {
        self.next.is_some()
    }

    /// Looks at some packets. Returns the packet that is found, or a sentence if there is none; `None` if it goes on.
    pub fn step(&mut self, shared: &Shared, frames: &mut Frames, all: bool) -> Option<Result<usize, String>> {
        let length = lock(&shared.index).rows().len();
        for _ in 0..AT_ONCE {
            let Some(row) = self.next.filter(|row| *row < length) else {
                self.next = None;
                let end = if self.forward { "end" } else { "beginning" };
                return Some(Err(format!("Nothing was found up to the {end} of the list.")));
            };
            self.next = if self.forward { Some(row + 1) } else { row.checked_sub(1).or(Some(usize::MAX)) };
            let found = match self.wanted {
                Wanted::Finding => {
                    lock(&shared.index).rows().get(row).is_some_and(|row| row.worst().is_some())
                }
                _ => frames.open(shared, row, all).is_ok_and(|opened| {
                    opened.outline.iter().any(|line| self.wanted.is_in_line(line))
                        || self.wanted.is_in_bytes(&opened.bytes)
                }),
            };
            if found {
                self.next = None;
                return Some(Ok(row));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_behind_0x_are_bytes_and_anything_else_is_text() {
        assert_eq!(Wanted::parse("0xDE ad:01"), Some(Wanted::Bytes(vec![0xde, 0xad, 1])));
        for text in ["0xabc", "0x", "0xzz", "dead", "0xé"] {
            assert_eq!(Wanted::parse(text), Some(Wanted::Text(text.to_lowercase())), "{text}");
        }
        assert_eq!(Wanted::parse("  "), None);
    }
}
