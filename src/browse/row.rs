//! One packet in 64 bytes: what a list needs to know of it, and what opening it needs.

use crate::capture::Time;
use crate::check::Packet;
use crate::contract::{Answer, Direction, Level};
use crate::conversation::NONE;
use crate::exchange::Pairing;
use crate::net::Datagram;
use crate::protocols::Id;
use crate::rule::Severity;

/// The place of a frame in its capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FramePlace {
    /// Offset of its bytes in the capture (after decompression).
    pub at: u64,
    /// Number of bytes captured.
    pub captured: u32,
    /// Number of bytes on the wire.
    pub wire: u32,
    /// Index into [`Index::origins`](super::Index).
    pub origin: u16,
}

/// A packet of the index.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    place: u64,
    /// Time stamp of its frame.
    pub time: Time,
    response_time: i64,
    /// Number of its frame in the run.
    pub frame: u64,
    exchange: u32,
    /// How far before its frame the frame of its request is, or how far after it that of its answer.
    related: u32,
    asked: u32,
    captured: u32,
    wire: u32,
    server: u32,
    origin: u16,
    flags: u16,
    protocol: u8,
    message: u8,
    step: u8,
}

const _: () = assert!(size_of::<Row>() == 64);

// The bits of `Row::flags`. Two bits from `LEVEL` on hold the level, two from `WORST` on the worst finding, three from `KIND`
// on how it is paired.
const S2C: u16 = 1;
const LEVEL: u16 = 1;
const WORST: u16 = 3;
const KIND: u16 = 5;
const LATE: u16 = 1 << 8;
const SECOND: u16 = 1 << 9;
const PART: u16 = 1 << 10;
const UNREADABLE: u16 = 1 << 11;
const KEPT: u16 = 1 << 12;
const AGAIN: u16 = 1 << 13;

// How a packet is paired.
const NOTHING: u16 = 0;
const ASKED: u16 = 1;
const RETRANSMISSION: u16 = 2;
const ANSWERED: u16 = 3;

/// No response time is known.
const NO_TIME: i64 = i64::MIN;
/// No frame is related.
const NO_FRAME: u32 = u32::MAX;

impl Row {
    /// The row of a datagram that no protocol claims.
    pub(super) fn unclaimed(d: &Datagram<'_>, place: Option<FramePlace>) -> Row {
        let FramePlace { at, captured, wire, origin } =
            place.unwrap_or(FramePlace { at: 0, captured: 0, wire: 0, origin: 0 });
        Row {
            place: at,
            time: d.time,
            response_time: NO_TIME,
            frame: d.frame,
            exchange: 0,
            related: NO_FRAME,
            asked: 0,
            captured,
            wire,
            server: NONE,
            origin,
            flags: if place.is_none() { AGAIN } else { 0 },
            protocol: u8::MAX,
            message: 0,
            step: 0,
        }
    }

    /// The row of a packet, and whether it holds everything that opening the packet needs of its pairing.
    pub(super) fn of(p: &Packet<'_>, place: Option<FramePlace>) -> (Row, bool) {
        let mut row = Row::unclaimed(p.datagram, place);
        (row.protocol, row.message, row.step, row.server) = (p.id as u8, p.message, p.step, p.server_index);
        let worst = p.findings.iter().map(|f| 1 + f.severity as u16).max().unwrap_or(0);
        let s2c = if p.direction == Direction::S2c { S2C } else { 0 };
        let unreadable = if p.unreadable { UNREADABLE } else { 0 };
        row.flags |= s2c | (p.level as u16) << LEVEL | worst << WORST | unreadable;
        let is_whole = row.set_pairing(p.pairing);
        (row, is_whole)
    }

    fn set_pairing(&mut self, pairing: &Pairing) -> bool {
        let apart = |from: u64, to: u64| to.checked_sub(from).and_then(|n| u32::try_from(n).ok());
        let (kind, exchange, related) = match *pairing {
            Pairing::Nothing => (NOTHING, 0, Some(NO_FRAME)),
            Pairing::Asked { exchange, answered_by, .. } => {
                // An answer that comes first in the file is shown with its request.
                (ASKED, exchange, answered_by.map_or(Some(NO_FRAME), |frame| apart(frame, self.frame)))
            }
            Pairing::Retransmission { exchange, request_frame, part } => {
                self.flags |= if part { PART } else { 0 };
                (RETRANSMISSION, exchange, apart(request_frame, self.frame))
            }
            Pairing::Answered(a) if a.step == self.step => {
                self.response_time = a.response_time.unwrap_or(NO_TIME);
                self.asked = a.asked;
                let flags = [(a.late, LATE), (a.second, SECOND), (a.part, PART)];
                flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| self.flags |= flag);
                (ANSWERED, a.exchange, apart(a.request_frame, self.frame))
            }
            _ => return false,
        };
        self.flags |= kind << KIND;
        let (Ok(exchange), Some(related)) = (u32::try_from(exchange), related) else { return false };
        (self.exchange, self.related) = (exchange, related);
        true
    }

    /// How it belongs to an exchange, as far as that is shown and its decoder needs it.
    pub fn pairing(&self) -> Pairing {
        let exchange = self.exchange.into();
        let related = (self.related != NO_FRAME).then(|| self.frame.saturating_sub(self.related.into()));
        match self.flags >> KIND & 7 {
            ASKED => Pairing::Asked {
                exchange,
                answered_by: related,
                alone: false,
                repeated: false,
                reused: false,
                issue_pending: false,
            },
            RETRANSMISSION => Pairing::Retransmission {
                exchange,
                request_frame: related.unwrap_or_default(),
                part: self.has(PART),
            },
            ANSWERED => Pairing::Answered(Answer {
                exchange,
                request_frame: related.unwrap_or_default(),
                asked: self.asked,
                step: self.step,
                response_time: self.response_time(),
                late: self.has(LATE),
                second: self.has(SECOND),
                part: self.has(PART),
                ..Answer::default()
            }),
            _ => Pairing::Nothing,
        }
    }

    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Where its frame is.
    pub(super) fn place(&self) -> FramePlace {
        FramePlace { at: self.place, captured: self.captured, wire: self.wire, origin: self.origin }
    }

    /// Its protocol; `None` where no protocol claims it.
    pub fn protocol(&self) -> Option<Id> {
        Id::ALL.get(usize::from(self.protocol)).copied()
    }

    /// Its message: index into the protocol's messages.
    pub fn message(&self) -> u8 {
        self.message
    }

    /// Its step: index into the protocol's steps, if it is a request or an answer.
    pub(super) fn step(&self) -> u8 {
        self.step
    }

    /// Index of its server, or `crate::conversation::NONE`.
    pub(super) fn server(&self) -> u32 {
        self.server
    }

    /// Which way it travels.
    pub fn direction(&self) -> Direction {
        if self.has(S2C) { Direction::S2c } else { Direction::C2s }
    }

    /// Confidence of the recognition.
    pub fn level(&self) -> Level {
        [Level::Hint, Level::Low, Level::Medium, Level::High][usize::from(self.flags >> LEVEL & 3)]
    }

    /// The severity of the worst rule that it breaks.
    pub fn worst(&self) -> Option<Severity> {
        let at = usize::from(self.flags >> WORST & 3).checked_sub(1)?;
        [Severity::Note, Severity::Warning, Severity::Error].get(at).copied()
    }

    /// Nanoseconds from request to answer.
    pub fn response_time(&self) -> Option<i64> {
        (self.response_time != NO_TIME).then_some(self.response_time)
    }

    /// It is no message, but came in the place of an answer.
    pub(super) fn is_unreadable(&self) -> bool {
        self.has(UNREADABLE)
    }

    /// Further facts about it are in the side tables.
    pub(super) fn is_kept(&self) -> bool {
        self.has(KEPT)
    }

    pub(super) fn set_kept(&mut self) {
        self.flags |= KEPT;
    }

    /// It cannot be opened by itself: the side tables had no room for what that needs, or its frame had been forgotten.
    pub fn needs_reading_again(&self) -> bool {
        self.has(AGAIN)
    }

    pub(super) fn set_again(&mut self) {
        self.flags |= AGAIN;
    }
}
