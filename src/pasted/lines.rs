//! Decides whether consecutive lines of digits are one wrapped datagram or a datagram each.
//!
//! ```text
//!  d5 f6 00 01 a5 9c 43 84 f1 46 df 08 01 00 00 00     wrapped: the lines are full,
//!  00 00 00 04 00                                      except the last one of each datagram
//!
//!  d5f60001a59c4384f146df0801                          a datagram a line:
//!  d5f60101a59c4384f146df0802ffe00500…                 lines of any length
//! ```

use super::{decimal, digits};
use nom::Offset;

/// Maximum number of bytes in a wrapped line, that of `xxd -p -c 256`.
const WIDEST: usize = 256;

/// Examines the lines of digits at the beginning of a text. Returns their length as text, and the number of bytes in a
/// full line if the lines are wrapped, or `None` if each line is a datagram.
///
/// A single datagram fills all lines except the last. Of several datagrams, the full lines are the longest, and either
/// tools wrap at their length or two of them are consecutive, because consecutive datagrams rarely have the same
/// length.
pub fn block(text: &str) -> (usize, Option<usize>) {
    let (mut lengths, mut text_len, mut is_stream, mut is_decimal) = (vec![], 0, true, false);
    for line in text.lines() {
        let decimal = decimal::read(line, is_decimal);
        is_decimal = decimal.is_some();
        let Some(parsed) = decimal.or_else(|| digits::read_commented(line)) else { break };
        lengths.push(parsed.bytes.len());
        text_len = text.offset(line).saturating_add(line.len());
        is_stream &= digits::is_stream(line);
    }
    let widest = lengths.iter().copied().max().unwrap_or(0);
    let is_single_datagram = lengths.iter().skip_while(|bytes| **bytes == widest).count() <= 1;
    let usual_widths: &[usize] = if is_stream { &[30, 32] } else { &[16, 20, 32] };
    let has_two_in_a_row = || lengths.windows(2).any(|two| *two == [widest, widest]);
    let wraps = is_usual_width(widest, is_stream)
        && (is_single_datagram || usual_widths.contains(&widest) || has_two_in_a_row());
    (text_len, wraps.then_some(widest))
}

/// Whether tools wrap lines at this length: at multiples of 8 or 10 bytes, or at 72, 76 or 78 characters. A short line
/// without blanks is more likely a datagram.
fn is_usual_width(bytes: usize, is_stream: bool) -> bool {
    let min = if is_stream { 16 } else { 8 };
    (min..=WIDEST).contains(&bytes)
        && (bytes.is_multiple_of(8) || bytes.is_multiple_of(10) || [36, 38, 39].contains(&bytes))
}
