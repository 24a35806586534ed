//! Bytes out of what people paste: dumps, arrays, strings, streams of digits.
//!
//! ```text
//!  text ──lines──> head.rs   who sent it, when, between which ends
//!                    │
//!                    ├─> dump.rs     0000  d5 f6 00 01  .... │ rows with an offset column
//!                    ├─> literal.rs  {0xd5, 0xf6}  b'\xd5'   │ what programs write
//!                    ├─> plain.rs    d5f60001                │ digits and nothing else
//!                    └─> base64.rs   1fYAAQ==                │
//!                           ▼
//!                    gather.rs   joins lines to datagrams, on sheet.rs ──> packet.rs  headers before a datagram?
//!                           ▼
//!                    talk.rs     frames for the pipeline
//! ```
//!
//! Each line is looked at for itself; what it may be depends only on the datagram under way. What cannot be read
//! becomes a [`Complaint`] with line and column, and reading goes on.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod base64;
mod dump;
mod gather;
mod head;
mod literal;
mod packet;
mod plain;
mod rows;
mod sheet;
mod stamps;
mod strings;
mod talk;

pub use gather::read;
pub use talk::{Ends, shots};

use crate::capture::Time;
use crate::net::Endpoint;

/// Longest text that is read, in bytes.
pub const MAX_TEXT: usize = 16 << 20;
/// Longest payload of a datagram in bytes: what IPv4 and UDP leave of 65,535.
pub const MAX_PAYLOAD: usize = 65_507;
/// Longest piece in bytes: a payload with the headers around it.
const MAX_PIECE: usize = 65_535 + 256;
/// Most datagrams of a text.
pub const MAX_PIECES: usize = 10_000;
/// Most complaints that are kept; further ones are counted.
pub const MAX_COMPLAINTS: usize = 100;

/// How the bytes of a line are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Hex digits and nothing but what separates them.
    Hex,
    /// Rows with an offset column: `xxd`, `hexdump`, `od`, `tcpdump -x`, `tshark -x`, Wireshark.
    Dump,
    /// Numbers in brackets, and Node's `<Buffer …>`.
    Array,
    /// Text with escapes, as in Python, C and JavaScript.
    String,
    /// Base64 (RFC 4648 sections 4 and 5).
    Base64,
    /// gamedig's debug output: rows of digits, each above a row of characters.
    Gamedig,
}

/// Who sent a datagram, in the words of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// To the server: `>`, `C:`, `request`.
    ToServer,
    /// From the server: `<`, `S:`, `response`.
    FromServer,
    /// Sent by whoever made the text: `TX`, `sent`.
    Sent,
    /// Received likewise: `RX`, `received`.
    Received,
}

/// What the text says of a datagram besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Who sent it.
    pub mark: Option<Mark>,
    /// When. A time of day without a date is one of 1970-01-01.
    pub time: Option<Time>,
    /// Where it comes from.
    pub src: Option<Endpoint>,
    /// Where it goes.
    pub dst: Option<Endpoint>,
}

/// A datagram, or a packet with headers, as it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Bytes that followed, and that the text has left out.
    pub missing: u32,
    /// What the text says of it.
    pub head: Head,
    /// Line of its first byte, from 1.
    pub line: usize,
    /// How it is written.
    pub form: Form,
    /// Link type and length on the wire in bytes, where headers stand before the datagram.
    pub packet: Option<(u16, u32)>,
}

/// Something in the text that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there and what was expected, in sentences.
    pub what: String,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pasted {
    /// Datagrams and packets, in the order of the text.
    pub pieces: Vec<Piece>,
    /// What could not be read, in the order of the text.
    pub complaints: Vec<Complaint>,
    /// Complaints beyond [`MAX_COMPLAINTS`].
    pub more_complaints: usize,
}

/// A place in a line, in characters from 0, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wrong {
    column: usize,
    what: String,
}

impl Wrong {
    /// Something at byte `at` of `line`.
    fn at(line: &str, at: usize, what: String) -> Wrong {
        Wrong { column: line.get(..at).map_or(0, |before| before.chars().count()), what }
    }
}

/// Bytes of the blanks at the beginning of a text.
fn indent(text: &str) -> usize {
    text.len().saturating_sub(text.trim_start().len())
}

/// The value of a hex digit.
fn nibble(c: u8) -> Option<u8> {
    char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// The bytes of an even number of hex digits; `None` for anything else.
fn pairs(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect()
}

/// Whether a text holds hex digits and nothing else.
fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}
