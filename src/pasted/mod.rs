//! Bytes out of what people paste: five forms, told apart line by line.
//!
//! ```text
//!  text ──lines──> reader.rs    tries the forms on each line, joins lines to datagrams
//!                    ├─> head.rs      who sent it, when, between which ends
//!                    ├─> dump.rs      00000000: d5f6 0001  ....   rows with an offset
//!                    ├─> digits.rs    d5 f6 00 01   d5:f6:00:01   plain hex
//!                    ├─> list.rs      {0xd5, 0xf6}  [213, 246]    arrays and byte lists
//!                    ├─> string.rs    b'\xd5\xf6'   "1fYAAQ=="    escaped strings, base64
//!                    └─> packet.rs    do headers stand before the datagram?
//!                           ▼
//!                    frames.rs    frames for the pipeline
//! ```
//!
//! Every part of a line is a slice of the text, so that what cannot be read becomes a [`Complaint`] with line and
//! column, and reading goes on.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod digits;
mod dump;
mod frames;
mod head;
mod list;
mod packet;
mod reader;
mod string;

pub use frames::{Ends, facts, frames};
pub use reader::read;

use crate::capture::Time;
use crate::net::Endpoint;
use regex::Regex;

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

/// What is read, for whoever wrote something else; without a full stop.
pub const EXPECTED: &str = "Expected is hex, as a stream or as a dump of xxd, hexdump -C, od -t x1, tcpdump -x or \
                            Wireshark; an array such as {0xd5, 0xf6}; a string such as b'\\xd5\\xf6'; or base64";

/// How the bytes of a line are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Hex digits and nothing but what separates them.
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

/// What could not be read: slices of the text that begin there, and what is wrong.
#[derive(Debug, Default)]
struct Unread<'a> {
    kept: Vec<(&'a str, String)>,
    more: usize,
}

impl<'a> Unread<'a> {
    /// Complains about what stands at the beginning of `here`.
    fn add(&mut self, here: &'a str, what: std::fmt::Arguments<'_>) {
        if self.kept.len() < MAX_COMPLAINTS {
            self.kept.push((here, what.to_string()));
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn append(&mut self, other: Unread<'a>) {
        other.kept.into_iter().for_each(|(here, what)| self.add(here, format_args!("{what}")));
        self.more = self.more.saturating_add(other.more);
    }
}

/// Bytes that a part of the text stands for, and what of it could not be read.
#[derive(Debug, Default)]
struct Found<'a> {
    bytes: Vec<u8>,
    /// Bytes that followed, and that whoever wrote the text left out.
    missing: u32,
    unread: Unread<'a>,
}

/// The beginning of a text, fit to be shown.
fn shown(text: &str) -> String {
    crate::report::quoted(&text.chars().take(12).collect::<String>())
}

/// The bytes of pairs of hex digits; what is no pair is left out.
fn hex(digits: &str) -> impl Iterator<Item = u8> + '_ {
    let digit = |c: u8| char::from(c).to_digit(16);
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    pairs.filter_map(move |[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok())
}

/// Whether a text holds hex digits and nothing else.
fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A pattern of this module; every one is used by tests.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of ours is valid")
}
