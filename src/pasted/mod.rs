//! Extracts bytes from pasted text in five forms, which are distinguished line by line.
//!
//! ```text
//!  text ──lines──> reader.rs    tries the forms on each line, joins lines into datagrams
//!                    ├─> metadata.rs  sender, time and endpoints
//!                    ├─> dump.rs      00000000: d5f6 0001  ....   rows with an offset
//!                    ├─> digits.rs    d5 f6 00 01   d5:f6:00:01   plain hex
//!                    ├─> lines.rs     lines of plain hex: one wrapped datagram, or one datagram a line
//!                    ├─> list.rs      {0xd5, 0xf6}  [213, 246]    arrays and byte lists
//!                    ├─> string.rs    b'\xd5\xf6'   "1fYAAQ=="    escaped strings, base64
//!                    └─> frames.rs    headers before the datagram
//!                           ▼
//!                    frames.rs    frames for the pipeline
//! ```
//!
//! Every part of a line is a slice of the text, so an unreadable part becomes a [`Complaint`] with line and column, and
//! reading continues.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod clean;
mod decimal;
mod digits;
mod dump;
mod escaped;
mod expression;
mod frames;
mod lines;
mod list;
mod metadata;
mod pdml;
mod prose;
mod reader;
mod rows;
mod string;
mod table;

pub use frames::{AssumedEndpoints, facts, frames, stand_ins};
pub use reader::read;

use crate::capture::Time;
use crate::net::Endpoint;
use regex::Regex;

/// Longest text that is read, in bytes.
pub const MAX_TEXT: usize = 16 << 20;
/// Longest payload of a datagram in bytes: 65,535 less the headers of IPv4 and UDP.
pub const MAX_PAYLOAD: usize = 65_507;
/// Longest piece in bytes: a payload with its headers.
const MAX_PIECE: usize = 65_535 + 256;
/// Most datagrams in a text.
pub const MAX_PIECES: usize = 10_000;
/// Most complaints that are kept; further ones are counted.
pub const MAX_COMPLAINTS: usize = 100;

/// The supported forms, for messages about other text; without a full stop.
pub const EXPECTED: &str = "Expected is hex, as a stream or as a dump of xxd, hexdump -C, od -t x1, tcpdump -x or \
                            Wireshark; an array such as {0xd5, 0xf6}; a string such as b'\\xd5\\xf6'; or base64";

/// The notation of the bytes in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Hex digits and separators only.
    Hex,
    /// Rows with an offset column: `xxd`, `hexdump -C`, `od`, `tcpdump -x`, `tshark -x`, Wireshark.
    Dump,
    /// Numbers in brackets, and Node's `<Buffer …>`.
    Array,
    /// Text with escapes, as in Python, C and JavaScript.
    String,
    /// Base64 (RFC 4648 sections 4 and 5).
    Base64,
}

/// The direction of a datagram according to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// To the server: `>`, `C:`, `request`.
    ToServer,
    /// From the server: `<`, `S:`, `response`.
    FromServer,
    /// Sent by the author of the text: `TX`, `sent`.
    Sent,
    /// Received by the author of the text: `RX`, `received`.
    Received,
}

/// Facts about a datagram that the text states besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The direction.
    pub mark: Option<Mark>,
    /// The time. The date of a bare time of day is 1970-01-01.
    pub time: Option<Time>,
    /// Source.
    pub src: Option<Endpoint>,
    /// Destination.
    pub dst: Option<Endpoint>,
    /// The only endpoint that is named, the other side of whoever made the text: the destination of a request, the
    /// source of an answer.
    pub peer: Option<Endpoint>,
    /// The port of whoever made the text.
    pub local_port: Option<u16>,
}

/// A datagram, or a packet with headers, from the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Number of further bytes that the text omits.
    pub missing: u32,
    /// Facts about the datagram from the text.
    pub metadata: Metadata,
    /// Link type and wire length in bytes, if headers precede the datagram.
    pub packet: Option<(u16, u32)>,
}

/// A part of the text that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The problem and the expected text, in full sentences.
    pub what: String,
}

/// The result of reading a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pasted {
    /// Datagrams and packets, in the order of the text.
    pub pieces: Vec<Piece>,
    /// The parts that could not be read, in the order of the text.
    pub complaints: Vec<Complaint>,
    /// Number of complaints beyond [`MAX_COMPLAINTS`].
    pub more_complaints: usize,
}

/// The parts that could not be read: slices of the text that begin there, and messages.
#[derive(Debug, Default)]
struct Complaints<'a> {
    list: Vec<(&'a str, String)>,
    more: usize,
}

impl<'a> Complaints<'a> {
    /// Adds a complaint about the text at the beginning of `at`.
    fn add(&mut self, at: &'a str, message: impl Into<String>) {
        if self.list.len() < MAX_COMPLAINTS {
            self.list.push((at, message.into()));
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn append(&mut self, other: Complaints<'a>) {
        other.list.into_iter().for_each(|(at, message)| self.add(at, message));
        self.more = self.more.saturating_add(other.more);
    }
}

/// The bytes of a part of the text, and the complaints about it.
#[derive(Debug, Default)]
struct Parsed<'a> {
    bytes: Vec<u8>,
    /// Number of further bytes that the text omits.
    missing: u32,
    complaints: Complaints<'a>,
}

/// The beginning of a text, quoted for messages.
fn shown(text: &str) -> String {
    crate::text::escape::quoted(&text.chars().take(12).collect::<String>())
}

/// Whether a text consists only of hex digits.
fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Compiles a pattern of this module. Tests cover all of them.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of ours is valid")
}
