//! Lines of digits that follow each other: parts of a datagram, or datagrams of their own.
//!
//! ```text
//!  d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01 00 00 00     wrapped: the lines are full,
//!  00 00 00 04 00                                      except the last one of each datagram
//!
//!  d5f60001a59c4384f146df0801                          a datagram a line:
//!  d5f60101a59c4384f146df0802ffe00500…                 lines of any length
//! ```

use super::digits;
use nom::Offset;

/// The longest line in bytes that wrapping leaves: of `xxd -p -c 256`.
const WIDEST: usize = 256;

/// Looks at the lines of digits at the beginning of a text. Returns the length of the text that they take, and the number
/// of bytes in a full line where the lines are wrapped; `None` where each is a datagram.
///
/// One datagram fills all lines but the last. If there are several, full lines are the longest, and they are of a
/// length at which tools wrap, or two of them stand in a row, for few datagrams are as long as the one before.
pub fn block(text: &str) -> (usize, Option<usize>) {
    let (mut lengths, mut length, mut stream) = (vec![], 0, true);
    for line in text.lines() {
        let Some(found) = digits::commented(line) else { break };
        lengths.push(found.bytes.len());
        length = text.offset(line).saturating_add(line.len());
        stream &= digits::is_stream(line);
    }
    let widest = lengths.iter().copied().max().unwrap_or(0);
    let is_one = lengths.iter().skip_while(|bytes| **bytes == widest).count() <= 1;
    let customary: &[usize] = if stream { &[30, 32] } else { &[16, 20, 32] };
    let in_a_row = || lengths.windows(2).any(|two| *two == [widest, widest]);
    let wraps = is_usual(widest, stream) && (is_one || customary.contains(&widest) || in_a_row());
    (length, wraps.then_some(widest))
}

/// Whether lines are usually wrapped at this length: after 8 or 10 bytes and multiples of these, or after 72, 76 or 78
/// characters. A short line without blanks is rather a datagram.
fn is_usual(bytes: usize, stream: bool) -> bool {
    let least = if stream { 16 } else { 8 };
    (least..=WIDEST).contains(&bytes)
        && (bytes.is_multiple_of(8) || bytes.is_multiple_of(10) || [36, 38, 39].contains(&bytes))
}
