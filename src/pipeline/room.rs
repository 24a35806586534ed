//! The waiting room: datagrams whose record must wait for what follows in their conversation.
//!
//! Two kinds wait: a candidate that only its conversation can confirm (SQP's five zero bytes), and an
//! answer whose request may stand behind it in the file. Pairing has happened; only the record waits,
//! and where records are printed in order, everything behind it too. Bounded in datagrams, bytes and
//! capture time; whoever leaves early is taken for what its own bytes are worth, and is counted.

use crate::capture::Time;
use crate::classify::Verdict;
use crate::conversation::Slot;
use crate::exchange::{EARLY, EARLY_FRAMES, Exchange, Pairing};
use crate::net::Datagram;
use crate::protocols::Level;
use crate::rule::Rule;
use std::collections::VecDeque;

/// Most items in the room.
pub const MAX_WAITING: usize = 1024;
/// Most bytes of payload in the room.
pub const MAX_WAITING_BYTES: usize = 256 * 1024;
/// Longest wait for a candidate in nanoseconds of capture time.
pub const MAX_WAIT: i64 = 1_000_000_000;

/// What has been found out about a datagram that one of the protocols claims.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What it is.
    pub verdict: Verdict,
    /// Its conversation.
    pub slot: Slot,
    /// What it is to its exchange.
    pub pairing: Pairing,
    /// Cross-packet rules it breaks.
    pub broken: Broken,
    /// It stands so close to the start of the capture that its request may stand before it.
    pub edge: bool,
    /// It is a candidate: its conversation must confirm it.
    pub candidate: bool,
    /// How sure its conversation was when it came; the conversation may be closed since.
    pub level: Level,
    /// Capture time when it came; its own time stamp may lie far behind.
    pub since: Time,
}

/// A few rules, without the heap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broken {
    rules: [Option<&'static Rule>; 4],
}

impl Broken {
    /// Adds a rule; a fifth has no place, and no check raises that many on one datagram.
    pub fn push(&mut self, rule: &'static Rule) {
        if let Some(slot) = self.rules.iter_mut().find(|r| r.is_none()) {
            *slot = Some(rule);
        }
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rules[0].is_none()
    }
    /// The rules.
    pub fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules.into_iter().flatten()
    }
}

/// Something whose turn to be reported has not come.
#[derive(Debug)]
pub enum Item {
    /// A datagram without its payload, which lies in the room's own memory.
    Datagram(Datagram<'static>, usize, Option<Claim>),
    /// A closed exchange.
    Exchange(Exchange),
}

/// See the module's words.
#[derive(Debug, Default)]
pub struct Room {
    items: VecDeque<Item>,
    bytes: VecDeque<u8>,
    early: u64,
}

impl Room {
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether somebody must leave before the next may come in.
    pub fn is_full(&self) -> bool {
        self.items.len() >= MAX_WAITING || self.bytes.len() + usize::from(u16::MAX) > MAX_WAITING_BYTES
    }

    /// Counts one that left before its conversation had spoken, for want of room.
    pub fn count_early(&mut self) {
        self.early += 1;
    }

    /// How many left early.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Lets a datagram in.
    pub fn wait(&mut self, d: &Datagram<'_>, claim: Option<Claim>) {
        self.bytes.extend(d.payload);
        self.items.push_back(Item::Datagram(Datagram { payload: &[], ..*d }, d.payload.len(), claim));
    }

    /// Lets an exchange in.
    pub fn wait_exchange(&mut self, e: Exchange) {
        self.items.push_back(Item::Exchange(e));
    }

    /// The one whose turn is next.
    pub fn front(&self) -> Option<&Item> {
        self.items.front()
    }

    /// Takes the next out; its payload is copied to `payload`.
    pub fn pop(&mut self, payload: &mut Vec<u8>) -> Option<Item> {
        let item = self.items.pop_front()?;
        payload.clear();
        if let Item::Datagram(_, len, _) = item {
            payload.extend(self.bytes.drain(..len));
        }
        Some(item)
    }

    /// The answer in a frame, if it waits for its request, and its time stamp.
    pub fn orphan(&mut self, slot: Slot, frame: u64) -> Option<(&mut Claim, Time)> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Datagram(d, _, Some(claim)) if d.frame == frame && claim.slot == slot => {
                Some((claim, d.time))
            }
            _ => None,
        })
    }
}

impl Claim {
    /// Whether it must still wait, at frame `frame` and capture time `clock`, its conversation having
    /// been confirmed or not.
    pub fn waits(&self, d: &Datagram<'_>, confirmed: bool, frame: u64, clock: Time) -> bool {
        let passed = clock.since(self.since).unwrap_or(0);
        let candidate = self.candidate && !confirmed && passed <= MAX_WAIT;
        let unasked = matches!(self.pairing, Pairing::Unasked { .. });
        candidate || unasked && passed <= EARLY && frame <= d.frame.saturating_add(EARLY_FRAMES)
    }
}
