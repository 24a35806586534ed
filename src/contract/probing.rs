//! What `ask --probe` sends: rows of data that stand next to the protocols.

use crate::rule::Severity;

/// A test of a server.
#[derive(Debug)]
pub struct ProbeRow {
    /// `sqp-3`. Stable.
    pub id: &'static str,
    /// What is sent, for people.
    pub sends: &'static str,
    /// What a right server does.
    pub right: Expect,
    /// The document or implementation that says so.
    pub source: &'static str,
    /// How bad it is if not.
    pub severity: Severity,
    /// The rule that is then broken; empty where only the row says so.
    pub rule: &'static str,
    /// The datagrams, in order.
    pub shots: &'static [Shot],
}

/// What a right server does with the datagrams of a row that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No answer.
    Silence,
    /// An answer that begins with these bytes.
    Answer(&'static [u8]),
    /// Silence, or an answer that begins with these bytes.
    Either(&'static [u8]),
    /// Both are right: the row says which.
    Open,
    /// Answers whose values differ from each other, and of which none is zero.
    Distinct,
}

/// A datagram of a row.
#[derive(Debug)]
pub struct Shot {
    /// The socket that sends it, from 0: each is another client.
    pub socket: usize,
    /// Its payload.
    pub parts: &'static [Part],
    /// It is sent to get a value: an answer that begins with these bytes, and the value of so many bytes behind them. It is not
    /// judged.
    pub takes: Option<(&'static [u8], usize)>,
}

impl Shot {
    /// A datagram that is judged.
    pub const fn of(socket: usize, parts: &'static [Part]) -> Shot {
        Shot { socket, parts, takes: None }
    }

    /// A datagram whose answer begins with `head`, followed by a value of so many bytes.
    pub const fn taking(socket: usize, parts: &'static [Part], head: &'static [u8], len: usize) -> Shot {
        Shot { socket, parts, takes: Some((head, len)) }
    }
}

/// A part of a payload.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// These bytes.
    Bytes(&'static [u8]),
    /// So many zeros.
    Zeros(usize),
    /// The value that a socket has got.
    Value(usize),
    /// The same plus one, in network order.
    Next(usize),
    /// The same with its bytes reversed.
    Reversed(usize),
}
