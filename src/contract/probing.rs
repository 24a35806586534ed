//! What `ask --probe` sends: rows of data that stand next to the protocols.

use crate::rule::Severity;

/// How bad it is where the row alone says so.
pub const ERROR: (Severity, &str) = (Severity::Error, "");
/// See [`ERROR`].
pub const WARNING: (Severity, &str) = (Severity::Warning, "");
/// See [`ERROR`].
pub const NOTE: (Severity, &str) = (Severity::Note, "");

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

impl ProbeRow {
    /// A row with these values.
    pub const fn new(
        id: &'static str,
        sends: &'static str,
        (right, source): (Expect, &'static str),
        (severity, rule): (Severity, &'static str),
        shots: &'static [Shot],
    ) -> ProbeRow {
        ProbeRow { id, sends, right, source, severity, rule, shots }
    }

    /// Whether it waits so long that it is left out unless somebody asks for it.
    pub fn is_slow(&self) -> bool {
        self.shots.iter().any(|shot| shot.wait_ms > 10_000)
    }
}

/// What a right server does with the datagrams of a row that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No answer.
    Silence,
    /// An answer that begins with these bytes.
    Answer(&'static [u8]),
    /// To each datagram an answer that begins with these bytes and repeats a part of the datagram.
    Each(&'static [u8], Copied),
    /// Silence, or answers that begin with one of these.
    Either(&'static [&'static [u8]]),
    /// Anything but an answer that begins with these bytes.
    Not(&'static [u8]),
    /// Anything: the answers are judged by the rules alone.
    Open,
    /// Answers whose values differ from each other, and of which none is zero.
    Distinct,
}

/// A part of a datagram that its answer repeats, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Where it is in the datagram.
    pub from: usize,
    /// Where it is in the answer.
    pub to: usize,
    /// Its length; 0 where nothing is repeated.
    pub len: usize,
}

impl Copied {
    /// Nothing is repeated.
    pub const NOTHING: Copied = Copied { from: 0, to: 0, len: 0 };
}

/// A datagram of a row.
#[derive(Debug)]
pub struct Shot {
    /// The socket that sends it, from 0: each is another client.
    pub socket: usize,
    /// Its payload.
    pub parts: &'static [Part],
    /// What it is sent for, if that is not to be judged.
    pub takes: Option<Taken>,
    /// How long it waits after the datagram before it, in milliseconds.
    pub wait_ms: u64,
}

/// A value that a datagram is sent for.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// How its answer begins. The value follows.
    pub head: &'static [u8],
    /// Length of the value in bytes.
    pub len: usize,
    /// How an answer begins that needs no value, so that the row has nothing to test; empty where a value is needed.
    pub instead: &'static [u8],
}

impl Shot {
    /// A datagram that is judged.
    pub const fn of(socket: usize, parts: &'static [Part]) -> Shot {
        Shot { socket, parts, takes: None, wait_ms: 20 }
    }

    /// A datagram whose answer begins with `head`, followed by a value of so many bytes.
    pub const fn taking(socket: usize, parts: &'static [Part], head: &'static [u8], len: usize) -> Shot {
        Shot { takes: Some(Taken { head, len, instead: &[] }), ..Shot::of(socket, parts) }
    }

    /// The same, so long after the datagram before it.
    pub const fn after(self, wait_ms: u64) -> Shot {
        Shot { wait_ms, ..self }
    }
}

/// A part of a payload.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// These bytes.
    Bytes(&'static [u8]),
    /// So many zeros.
    Zeros(usize),
    /// So many random bytes.
    Random(usize),
    /// The value that a socket has got.
    Value(usize),
    /// The same plus one, in network order.
    Next(usize),
    /// The same with its bytes reversed.
    Reversed(usize),
}
