//! Datagrams that a protocol claims: what is kept of them until they are reported, and how long they wait.

use crate::capture::Time;
use crate::check::Finding;
use crate::classify::Verdict;
use crate::contract::{Piece, Raised, Whole};
use crate::conversation::Slot;
use crate::exchange::{EARLY, EARLY_FRAMES, PARTS_WINDOW, Pairing, Table};
use crate::net::Datagram;
use crate::protocols::{Level, Probe, Role};
use crate::rule::general::{GEN_008, GEN_012};
use std::ops::Deref;

/// How long a candidate waits in any case, in nanoseconds of capture time. A request waits longer, as long as its
/// answer may come and there is room.
pub const MAX_WAIT: i64 = 1_000_000_000;

/// The time and the frame until which an item waits if no conversation changes.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    pub clock: Time,
    pub frame: u64,
    /// See [`Table::changes`].
    pub changes: u64,
}

impl Deadline {
    /// A deadline that has always passed: the item has to be examined.
    pub const PASSED: Deadline = Deadline { clock: Time::UNKNOWN, frame: 0, changes: 0 };
}

/// A datagram that one of the protocols claims, as far as it has been examined.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its classification.
    pub verdict: Verdict,
    /// Its conversation.
    pub slot: Slot,
    /// How it belongs to an exchange.
    pub pairing: Pairing,
    /// The exchange whose answer it came instead of; that exchange may have been closed since.
    pub awaited: Option<u64>,
    /// Cross-packet rules it breaks.
    pub raised: KeptRaised,
    /// It is a part of a message, and the next part has not come yet.
    pub unfinished: bool,
    /// Why its request may be missing from the capture.
    pub edge: Option<Edge>,
    /// Confidence of its conversation when it came; the conversation may have been closed since. At low confidence, it
    /// is a candidate, which the conversation must confirm.
    pub level: Level,
    /// Its classification is final: it only waits for its turn behind other items.
    pub is_final: bool,
    /// Capture time when it came; its own time stamp may be far earlier.
    pub arrival: Time,
    /// Its header as a part of a message, and the message if it completes one.
    pub piece: Option<Box<Piece>>,
    /// What it is if its conversation is never confirmed: something unknown in a conversation of another protocol.
    pub other: Option<Box<Reading>>,
}

/// Why a capture may not have what was sent before a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It has just begun.
    Start,
    /// It holds only one direction of the server's traffic, as far as is known so far.
    OneDirection,
}

/// The cross-packet rules that a pending datagram breaks. Most datagrams break none; room for the rules in each of
/// thousands of items would more than double what has to stay in the cache.
#[derive(Clone, Debug, Default)]
pub struct KeptRaised(Option<Box<Raised>>);

impl Deref for KeptRaised {
    type Target = Raised;
    #[inline]
    fn deref(&self) -> &Raised {
        self.0.as_deref().unwrap_or(const { &Raised::NOTHING })
    }
}

/// Boxes for them that are used again, so that nothing is allocated per datagram.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
pub struct SpareRaised(Vec<Box<Raised>>);

impl SpareRaised {
    /// Keeps the rules of a datagram.
    #[inline]
    pub fn keep(&mut self, raised: Raised) -> KeptRaised {
        if raised.says_nothing() {
            return KeptRaised(None);
        }
        let Some(mut spare) = self.0.pop() else { return KeptRaised(Some(Box::new(raised))) };
        *spare = raised;
        KeptRaised(Some(spare))
    }

    /// Changes the rules that are kept of a datagram.
    #[cold]
    pub fn change(&mut self, kept: &mut KeptRaised, change: impl FnOnce(&mut Raised)) {
        let Some(raised) = &mut kept.0 else {
            let mut raised = Raised::default();
            change(&mut raised);
            return *kept = self.keep(raised);
        };
        change(raised);
    }

    /// Takes back what was kept of a datagram, which has been reported.
    #[inline]
    pub fn take_back(&mut self, kept: &mut KeptRaised) {
        self.0.extend(kept.0.take());
    }
}

/// How another protocol reads a datagram.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its classification in that protocol.
    pub verdict: Verdict,
    /// The conversation in that protocol.
    pub slot: Slot,
    /// Confidence of that conversation when it came.
    pub level: Level,
    /// See [`Claim::awaited`].
    pub awaited: Option<u64>,
}

/// The parts of a [`Claim`] that are needed to report its datagram.
pub(super) struct ClaimRef<'a> {
    pub verdict: &'a Verdict,
    pub pairing: &'a Pairing,
    /// The exchange whose answer it came instead of, if it had to wait since.
    pub awaited: Option<u64>,
    pub raised: &'a Raised,
    /// Why its request may be missing from the capture.
    pub edge: Option<Edge>,
    pub slot: Slot,
    /// Its header as a part of a message, and the message if it completes one.
    pub piece: Option<&'a Piece>,
}

impl ClaimRef<'_> {
    /// The message that it completes.
    pub fn whole(&self) -> Option<&Whole> {
        self.piece?.whole.as_ref()
    }
    /// The bytes that its fields and findings refer to: its payload, or the message that it completes.
    #[inline]
    pub fn bytes<'b>(&'b self, d: &Datagram<'b>) -> &'b [u8] {
        self.piece.map_or(d.payload, |piece| piece.bytes(d))
    }
    /// Number of further bytes, which cannot be decoded.
    #[inline]
    pub fn missing(&self, d: &Datagram<'_>) -> usize {
        self.whole().map_or(d.cut as usize, Whole::missing)
    }
    /// Whether it is a copy made by the capture; its findings are reported for the original.
    pub fn is_copy(&self) -> bool {
        !self.raised.is_empty() && self.raised.has(&GEN_008)
    }
    /// Whether a finding is about the field that an answer repeats from its request.
    pub fn repeats(&self, finding: &Finding) -> bool {
        let Verdict { id, probe, .. } = self.verdict;
        finding.field.is_some() && finding.field == id.info().steps[usize::from(probe.step)].repeats
    }
    /// Whether a finding in an answer belongs to another exchange, the one whose key the answer carries. Findings
    /// raised by comparing the answer with earlier datagrams do not.
    pub fn is_of_another_exchange(&self, finding: &Finding) -> bool {
        let Probe { role, key, .. } = self.verdict.probe;
        role != Role::Stray && key.is_some() && !self.raised.has(finding.rule)
    }
}

impl Claim {
    /// Number of bytes of the message that it completes, or 0.
    pub fn joined_bytes(&self) -> usize {
        self.piece.as_deref().map_or(0, Piece::joined_bytes)
    }

    /// Nanoseconds of capture time since it came.
    pub fn age(&self, clock: Time) -> i64 {
        clock.since(self.arrival).unwrap_or(0)
    }

    /// Whether its answer may still come.
    fn may_be_answered(&self, table: &Table, age: i64) -> bool {
        let is_request = matches!(self.pairing, Pairing::Asked { .. } | Pairing::Retransmission { .. });
        // Bytes in the place of an answer belong to the protocol only if their request does.
        let is_unreadable = self.verdict.probe.role == Role::Unreadable;
        (is_request || is_unreadable)
            && age <= table.late_window(self.verdict.id)
            && table.awaits_answer(self.slot)
    }

    /// The deadline until which it must wait; `None` if it need not wait at that frame and capture time. `confirmed`
    /// says whether its conversation has been confirmed.
    pub fn deadline(
        &self,
        d: &Datagram<'_>,
        confirmed: bool,
        table: &Table,
        (frame, clock): (u64, Time),
    ) -> Option<Deadline> {
        if self.is_final {
            return None;
        }
        let age = self.age(clock);
        let deadline =
            |wait, frame| Some(Deadline { clock: self.arrival.plus(wait), frame, changes: table.changes() });
        if self.level <= Level::Low && !confirmed {
            if age <= MAX_WAIT {
                return deadline(MAX_WAIT, u64::MAX);
            }
            if self.may_be_answered(table, age) {
                return deadline(table.late_window(self.verdict.id), u64::MAX);
            }
        }
        // Whether it is one of too many is known a second later.
        if age <= MAX_WAIT && self.raised.has(&GEN_012) {
            return deadline(MAX_WAIT, u64::MAX);
        }
        let last_frame = d.frame.saturating_add(EARLY_FRAMES);
        if matches!(self.pairing, Pairing::Unsolicited { .. }) && age <= EARLY && frame <= last_frame {
            return deadline(EARLY, last_frame);
        }
        if self.unfinished && age <= PARTS_WINDOW { deadline(PARTS_WINDOW, u64::MAX) } else { None }
    }
}
