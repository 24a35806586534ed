//! Pairs answers with requests: which question is this the answer to, and how did it end?
//!
//! ```text
//! request ──> open ──┬─ answer inside the window ─> answered ┐
//!                    ├─ answer inside the late one ─> late   ├─ kept until the late window ends: that
//!                    ├─ late window over ──> unanswered      ┘  is how copies are known
//!                    ├─ ICMP error quotes it ──> refused
//!                    └─ capture over before that ──> undecided, or unanswered if the window was over
//! ```
//!
//! Windows run from the request, or its last retransmission, and are over when the difference is
//! *greater*. Capture time is the highest time stamp so far, even where a merged file jumps back.

mod answer;
mod ask;
mod queue;
mod search;
mod table;
mod windows;

pub use ask::{EARLY, EARLY_FRAMES};
pub use queue::MAX_REQUESTS;
pub use table::Table;
pub use windows::Windows;

use crate::capture::Time;
use crate::conversation::{Conversation, Conversations, Issued, Slot};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Context, Glance, Id, Level};

/// A millisecond in nanoseconds.
const MS: i64 = 1_000_000;
/// Most parts of a message that spans datagrams.
pub const MAX_PARTS: u8 = 16;
/// The parts of a message come within this time of its first one, in nanoseconds.
pub const PARTS_WINDOW: i64 = 2_000 * MS;
/// How far back the requests of all clients are searched for one that was sent to another endpoint.
const MAX_ELSEWHERE: u64 = 256;
/// How far back the requests of one conversation are searched.
const MAX_STEPS_BACK: usize = 64;

/// What a datagram is to its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// It neither asks nor answers.
    Nothing,
    /// It asks: a new exchange.
    Asked {
        /// Number of the exchange.
        exchange: u64,
        /// Frame of its answer, where that stands before it in the file.
        answered_by: Option<u64>,
        /// None of the step was open when it was asked.
        alone: bool,
    },
    /// It repeats a request that is still open, or is a further part of one.
    Again {
        /// Number of the exchange.
        exchange: u64,
        /// A further part of a request, not a repetition.
        part: bool,
    },
    /// It answers.
    Answered(Answer),
    /// It is a copy of an earlier answer.
    Copy {
        /// Number of the exchange.
        exchange: u64,
        /// Frame of that answer.
        of: u64,
        /// What the request asked, see [`Glance::memo`].
        asked: u32,
    },
    /// The capture holds it twice: it is no datagram of its own, and nothing is paired with it.
    Twice {
        /// The frame that holds it first.
        of: u64,
        /// What the request asked that it would have to answer, see [`Glance::memo`].
        asked: Option<u32>,
    },
    /// It answers nothing that was asked.
    Unasked {
        /// Other requests of the step are open.
        open: bool,
        /// What the only one of them asked, see [`Glance::memo`].
        asked: Option<u32>,
        /// The client waits for an answer of another port of the same host, and order does not prove that this is it.
        elsewhere: bool,
    },
}

/// The facts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Number of the exchange.
    pub exchange: u64,
    /// Frame of the request.
    pub request_frame: u64,
    /// What the request asked, see [`Glance::memo`].
    pub asked: u32,
    /// Nanoseconds since the request (the first, if it was repeated); negative where time stamps
    /// are out of order, `None` where one is unknown.
    pub response_time: Option<i64>,
    /// It came after the answer window.
    pub late: bool,
    /// Payload of the request in bytes, on the wire.
    pub request_bytes: u32,
    /// A second, different answer to the request.
    pub second: bool,
    /// It carries the value issued last to the client, not the one the request carries.
    pub foreign_key: bool,
    /// A further part of an answer that has begun.
    pub part: bool,
    /// Payload of the parts before it in bytes, on the wire.
    pub before: u32,
    /// It comes from another endpoint than the one that was asked.
    pub elsewhere: bool,
}

impl Answer {
    /// Payload of the answer as far as it has come in bytes, on the wire, with this datagram of it.
    pub fn bytes(&self, d: &Datagram<'_>) -> usize {
        (self.before as usize).saturating_add(d.wire_len())
    }
    /// Whether it is with this datagram that the answer becomes larger than so many bytes.
    #[inline(always)]
    pub fn exceeds(&self, most: usize, d: &Datagram<'_>) -> bool {
        self.bytes(d) > most && self.before as usize <= most
    }
}

impl Pairing {
    /// Number of the exchange it belongs to.
    pub fn exchange(&self) -> Option<u64> {
        match *self {
            Pairing::Asked { exchange, .. } | Pairing::Again { exchange, .. } => Some(exchange),
            Pairing::Copy { exchange, .. } => Some(exchange),
            Pairing::Answered(answer) => Some(answer.exchange),
            Pairing::Nothing | Pairing::Twice { .. } | Pairing::Unasked { .. } => None,
        }
    }
    /// Whether an earlier datagram began the message.
    pub fn continues(&self) -> bool {
        match *self {
            Pairing::Again { part, .. } => part,
            Pairing::Answered(answer) => answer.part,
            _ => false,
        }
    }
    /// What the request asked that it answers, or would have to answer; see [`Context::asked`].
    pub fn asked(&self) -> Option<u32> {
        match *self {
            Pairing::Answered(answer) => Some(answer.asked),
            Pairing::Copy { asked, .. } => Some(asked),
            Pairing::Twice { asked, .. } => asked,
            Pairing::Unasked { asked, .. } => asked.map(|memo| memo | Context::NOT_ITS_OWN),
            _ => None,
        }
    }
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Answered inside the window.
    Answered,
    /// Answered after it.
    Late,
    /// The window passed.
    Unanswered,
    /// The capture ended, or its memory was needed, before the window passed.
    Undecided,
    /// An ICMP error says that nobody took the request.
    Refused,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: &[Outcome] =
        &[Outcome::Answered, Outcome::Late, Outcome::Unanswered, Outcome::Undecided, Outcome::Refused];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Answered => "answered",
            Outcome::Late => "late",
            Outcome::Unanswered => "unanswered",
            Outcome::Undecided => "undecided",
            Outcome::Refused => "refused",
        }
    }
}

/// A closed exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Counts requests in frame order from 1.
    pub id: u64,
    /// Protocol.
    pub protocol: Id,
    /// Index into the protocol's steps.
    pub step: u8,
    /// How sure the recognition was when it closed.
    pub level: Level,
    /// Its conversation, which may have become surer since.
    pub(crate) conversation: Slot,
    /// Who asked.
    pub client: Endpoint,
    /// Who was asked.
    pub server: Endpoint,
    /// Index in the table of servers, or [`crate::conversation::NONE`].
    pub server_index: u32,
    /// What ties answer to request; `None` where order does.
    pub key: Option<u64>,
    /// Frame of the (first) request.
    pub request_frame: u64,
    /// Time stamp of that frame.
    pub request_time: Time,
    /// Frame of the answer, or of its first part.
    pub response_frame: Option<u64>,
    /// Frames of all parts where the answer spans datagrams, else empty.
    pub response_parts: Vec<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Nanoseconds from request to answer.
    pub response_time: Option<i64>,
    /// Payload of the request in bytes, on the wire.
    pub request_bytes: u64,
    /// Payload of the answer in bytes, on the wire.
    pub response_bytes: u64,
    /// How often the request was repeated.
    pub retransmissions: u16,
    /// What the ICMP error said that refused it.
    pub reason: Option<&'static str>,
}

impl Exchange {
    /// Frames of the answer: none, one, or those of its parts.
    pub fn response_frames(&self) -> &[u64] {
        if self.response_parts.is_empty() { self.response_frame.as_slice() } else { &self.response_parts }
    }

    /// One that nobody answered, for tests.
    #[cfg(test)]
    pub(crate) fn unanswered(id: u64, protocol: Id, [client, server]: [Endpoint; 2]) -> Exchange {
        Exchange {
            id,
            protocol,
            step: 0,
            level: Level::High,
            conversation: Conversations::new(1).open(client, server, protocol).0,
            client,
            server,
            server_index: crate::conversation::NONE,
            key: None,
            request_frame: id,
            request_time: Time::UNKNOWN,
            response_frame: None,
            response_parts: vec![],
            outcome: Outcome::Unanswered,
            response_time: None,
            request_bytes: 0,
            response_bytes: 0,
            retransmissions: 0,
            reason: None,
        }
    }

    /// Its conversation may have become surer since it closed.
    #[inline]
    pub(crate) fn refresh(&mut self, conversations: &Conversations) {
        if let Some(c) = conversations.get(self.conversation) {
            (self.level, self.server_index) = (c.level, c.server_index());
        }
    }
}

/// A datagram with everything that cross-packet rules may look at.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Who speaks with whom.
    pub conversation: &'a Conversation,
    /// The datagram itself.
    pub datagram: &'a Datagram<'a>,
    /// What it is.
    pub glance: &'a Glance,
    /// What it is to its exchange.
    pub pairing: &'a Pairing,
    /// The conversation may be older than the capture.
    pub edge: bool,
    /// The value the server had issued last to this client before this datagram.
    pub issued: Option<Issued>,
}
