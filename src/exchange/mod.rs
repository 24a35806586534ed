//! Pairs answers with requests: which request does an answer belong to, and how did the exchange end?
//!
//! ```text
//! request ──> open ──┬─ answer inside the window ──────> answered ───┐
//!                    ├─ answer inside the late window ─> late ───────┼─> remembered until the late window
//!                    ├─ late window over ──────────────> unanswered ─┘   ends, to recognise copies
//!                    ├─ ICMP error quotes it ──────────> refused
//!                    └─ capture ends before that ──────> undecided, or unanswered if the window was over
//! ```
//!
//! Windows run from the request, or its last retransmission, and are over when the difference is
//! *greater*. Capture time is the highest time stamp so far, even where a merged file jumps back.

mod answer;
mod ask;
mod closed;
mod incomplete;
mod join;
mod open;
#[cfg(feature = "page")]
mod outcomes;
mod parts;
mod queue;
mod rules;
mod search;
mod table;
mod unpack;
mod unreadable;
mod windows;

#[cfg(feature = "page")]
pub use outcomes::Outcomes;
#[cfg(feature = "internals")]
pub use queue::MAX_REQUESTS;
pub use rules::{observe, observe_shared};
pub use table::Table;
pub use windows::{EARLY, EARLY_FRAMES, Windows};

use crate::capture::Time;
use crate::contract::ShownKey;
pub use crate::contract::{Answer, Observation, Pairing};
use crate::conversation::{Conversations, Slot};
use crate::net::Endpoint;
use crate::protocols::{Id, Level};

/// A millisecond in nanoseconds.
const MS: i64 = 1_000_000;
/// Most parts of a message that spans datagrams.
pub const MAX_PARTS: u8 = 16;
/// Most frames listed of an answer in many datagrams, or of the answers of many hosts to one request.
pub const MAX_HOSTS: usize = 256;
/// The parts of a message come within this time after its first one, in nanoseconds.
pub const PARTS_WINDOW: i64 = 2_000 * MS;
/// Most requests whose key is kept as it is shown, and most bytes of it, with 64 MiB; the oldest is dropped first.
const MAX_SHOWN_KEYS: usize = 16_384;
const MAX_SHOWN_KEY: usize = 128;
/// How many of the latest requests of all clients are searched for one that was sent to another endpoint.
const MAX_ELSEWHERE: u64 = 256;
/// How many of the latest requests of one conversation are searched.
const MAX_STEPS_BACK: usize = 64;
/// How many are searched with 64 MiB for the request of an answer, where so many are open that it is not among the
/// latest.
const MAX_FAR_BACK: usize = 1_024;

/// The protocols that have steps whose keys are not shown as numbers, one bit each.
const SHOWN_KEYS: u32 = {
    let (mut bits, mut at) = (0, 0);
    while at < Id::ALL.len() {
        let (steps, mut step) = (Id::ALL[at].info().steps, 0);
        while step < steps.len() {
            if !matches!(steps[step].shown_key, ShownKey::Number) {
                bits |= 1 << at;
            }
            step += 1;
        }
        at += 1;
    }
    bits
};

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Answered inside the window.
    Answered,
    /// Answered after the window.
    Late,
    /// The window passed without an answer.
    Unanswered,
    /// The capture ended, or its memory was needed, before the window passed.
    Undecided,
    /// An ICMP error reports that the request was not accepted.
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

/// What is missing of an answer in numbered parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A part before one that has come, or before the last one.
    Part,
    /// As far as is known, only the last part, which shows the total.
    End,
}

/// A closed exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Number of the exchange: requests are counted in frame order from 1.
    pub id: u64,
    /// Protocol.
    pub protocol: Id,
    /// Index into the protocol's steps.
    pub step: u8,
    /// Confidence of the recognition when it closed.
    pub level: Level,
    /// Its conversation, whose confidence may have risen since.
    pub(crate) conversation: Slot,
    /// The client.
    pub client: Endpoint,
    /// The server that was asked.
    pub server: Endpoint,
    /// Index in the table of servers, or `crate::conversation::NONE`.
    pub server_index: u32,
    /// The key that answer and request share; `None` where they are paired by order.
    pub key: Option<u64>,
    /// The key as it is shown, where it is not shown as a number: see [`crate::contract::ShownKey`].
    pub shown_key: Option<Box<str>>,
    /// Frame of the (first) request.
    pub request_frame: u64,
    /// Time stamp of that frame.
    pub request_time: Time,
    /// Frame of the answer, or of its first part.
    pub response_frame: Option<u64>,
    /// The message that answered, or its first part: index into the protocol's messages; `None` where that is not
    /// known.
    pub answer: Option<u8>,
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
    /// The reason in the ICMP error that refused the request.
    pub reason: Option<&'static str>,
    /// What is missing of its answer and no longer expected.
    pub incomplete: Option<Lack>,
    /// Frame of the first part of its answer that contradicts others.
    pub contradicted: Option<u64>,
    /// Another endpoint than the server has answered.
    pub elsewhere: bool,
    /// Bytes that are no message came in the place of its answer.
    pub unreadable: bool,
    /// Its request carries a challenge that the server has issued to the client.
    pub(crate) returns: bool,
    /// It is not reported, because its request is not reported.
    pub(crate) hidden: bool,
    /// Its request may have been an answer instead: it is reported only if its conversation turns out to have that
    /// direction.
    pub(crate) assumed: bool,
}

impl Exchange {
    /// Name of its step.
    pub fn step_name(&self) -> &'static str {
        self.protocol.info().step_name(self.step).unwrap_or_default()
    }

    /// The key as text, as records have it; `None` where request and answer are paired by order.
    pub fn key_text(&self) -> Option<String> {
        let digits = self.protocol.info().steps.get(usize::from(self.step)).map_or(0, |step| step.key_digits);
        match (&self.shown_key, self.key) {
            (Some(key), _) => Some(key.to_string()),
            (None, key) => key.map(|key| format!("0x{key:0digits$x}")),
        }
    }

    /// Name of the message that answered, if the answer could have been another one: several messages may answer the step,
    /// which `several` says, or what came is no regular answer.
    pub fn answer_name(&self, several: bool) -> Option<&'static str> {
        let (message, info) = (self.answer?, self.protocol.info());
        let is_named = several || self.unreadable || info.refuses(message, self.step);
        is_named.then(|| info.message_name(message))
    }

    /// Frames of the answer: none, one, or those of its parts.
    pub fn response_frames(&self) -> &[u64] {
        if self.response_parts.is_empty() { self.response_frame.as_slice() } else { &self.response_parts }
    }

    /// An unanswered exchange, for tests.
    #[cfg(test)]
    pub(crate) fn unanswered(id: u64, protocol: Id, [client, server]: [Endpoint; 2]) -> Exchange {
        let mut conversations = Conversations::new(crate::contract::Budget::default());
        let (slot, _) = conversations.open(client, server, protocol);
        let c = conversations.get_mut(slot).expect("it has just been opened");
        c.level = Level::High;
        let d = crate::net::Datagram { frame: id, ..crate::net::Datagram::between(client, server, b"") };
        let probe = crate::protocols::Probe::of(0, crate::protocols::Role::Request, Level::High);
        let request = queue::Request::new(id, slot.at(), &d, &probe, true);
        incomplete::record(c, &request, Outcome::Unanswered, None, None, 0)
    }

    /// Updates it from its conversation, which may have become more certain since it closed.
    #[inline]
    pub(crate) fn refresh(&mut self, conversations: &Conversations) {
        if let Some(c) = conversations.get(self.conversation) {
            self.level = c.level;
            if c.client() == self.client {
                self.server_index = c.server_index();
                self.assumed &= !c.decided();
            }
        }
    }

    /// Whether its conversation may become more certain before it is reported.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.level <= Level::Low || self.assumed
    }
}
