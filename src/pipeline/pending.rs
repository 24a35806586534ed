//! Pending datagrams: their records wait for later datagrams of their conversation.
//!
//! Three kinds are pending: a candidate that only its conversation can confirm (SQP's five zero bytes), an answer
//! whose request may come after it in the file, and a part of a message whose next part may follow. They have been
//! paired already; only their records wait, and where records are printed in order, so does everything behind them.
//! The number of items, their bytes and their time are bounded. An item that is released early is judged by its own
//! bytes alone, and is counted.
//!
//! No search examines all items: answers are sought from the end, where the items of the last frames are, requests from
//! the beginning, and parts in a separate map.

use super::claim::{Claim, Deadline, MAX_WAIT};
use crate::bounded::Budget;
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::Raised;
use crate::conversation::Slot;
use crate::exchange::{Exchange, Pairing};
use crate::net::Datagram;
use crate::protocols::{Direction, Role};
use std::collections::{BTreeMap, VecDeque};
use std::iter;

/// Most pending items, with 64 MiB.
const MAX_WAITING: usize = 16_384;
/// Most payload bytes of all pending items, with 64 MiB. Even with the least memory, a few of the largest have room.
const MAX_WAITING_BYTES: usize = 4 << 20;
const MIN_WAITING_BYTES: usize = 256 << 10;

/// An item that waits to be reported.
#[derive(Debug)]
pub enum Item {
    /// A datagram, the length of its payload, and its claim if a protocol claims it. The payloads of all items are
    /// in one ring buffer.
    Datagram(Datagram<'static>, usize, Option<Claim>),
    /// A closed exchange, and whether it waits for its conversation to be confirmed.
    Exchange(Exchange, bool),
}

/// The pending items, see the module documentation.
#[derive(Debug)]
pub struct Pending {
    items: VecDeque<Item>,
    bytes: VecDeque<u8>,
    /// The items and bytes before each item, of all that has come; see [`Pending::note_passing`].
    places: VecDeque<Place>,
    /// All that has come while something was pending.
    seen: Place,
    /// Number of items that are no longer pending.
    released: u64,
    /// The unfinished parts among the items, and all copies: by conversation, and by the number of items before them,
    /// including the released ones.
    parts: BTreeMap<(Slot, u64), Part>,
    most: usize,
    most_bytes: usize,
    /// Number of datagrams whose classification is final.
    final_datagrams: usize,
    /// Number of items released early.
    early: u64,
    first_deadline: Deadline,
}

/// A number of items and of their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    items: u64,
    bytes: u64,
}

/// A pending datagram that [`Pending::continue_message`] may change.
#[derive(Debug)]
struct Part {
    frame: u64,
    direction: Direction,
    /// It is a copy of the datagram in that frame.
    copy_of: Option<u64>,
}

impl From<Budget> for Pending {
    fn from(budget: Budget) -> Self {
        Pending {
            items: VecDeque::new(),
            bytes: VecDeque::new(),
            places: VecDeque::new(),
            seen: Place::default(),
            released: 0,
            parts: BTreeMap::new(),
            most: budget.of(MAX_WAITING),
            most_bytes: budget.of(MAX_WAITING_BYTES).max(MIN_WAITING_BYTES),
            final_datagrams: 0,
            early: 0,
            first_deadline: Deadline::PASSED,
        }
    }
}

impl Pending {
    /// Whether nothing is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the first item certainly still waits at that frame and capture time, because nothing that it could wait
    /// for has happened since it was examined.
    #[inline(always)]
    pub fn first_still_waits(&self, changes: u64, (frame, clock): (u64, Time)) -> bool {
        let deadline = self.first_deadline;
        clock <= deadline.clock && frame <= deadline.frame && changes == deadline.changes
    }

    /// Sets the deadline of the first item, which has been examined.
    pub fn set_first_deadline(&mut self, deadline: Deadline) {
        self.first_deadline = deadline;
    }

    /// Notes a new datagram of a conversation: the first item must be examined again if it may wait for that.
    #[inline(always)]
    pub fn note_arrival(&mut self, slot: Slot) {
        match self.items.front() {
            Some(Item::Datagram(_, _, Some(claim))) if claim.slot != slot => {}
            _ => self.first_deadline = Deadline::PASSED,
        }
    }

    /// Whether a datagram must wait behind the pending ones although its classification is final. A request that
    /// breaks a rule must, because a pending answer may be the cause, and so must everything behind such a request.
    pub fn holds_back(&self, v: &Verdict, raised: &Raised) -> bool {
        self.holds_back_all() || v.direction == Direction::C2s && !raised.is_empty()
    }

    /// Whether everything must wait behind the pending ones: a request among them breaks a rule, which may explain what
    /// follows, also that an exchange has no answer.
    #[inline(always)]
    pub fn holds_back_all(&self) -> bool {
        self.final_datagrams > 0
    }

    /// Whether an item must be released before the next one is added, which completes a joined message of that many
    /// bytes, or of none.
    #[inline(always)]
    pub fn is_full(&self, joined_bytes: usize) -> bool {
        let Some(first) = self.places.front() else { return false };
        let bytes = (self.seen.bytes - first.bytes) as usize + joined_bytes + usize::from(u16::MAX);
        (self.seen.items - first.items) as usize >= self.most || bytes > self.most_bytes
    }

    /// Counts an item of that many bytes that passes the pending ones, as if it were pending, too. Where order is kept, it
    /// is; and for want of room the same items must be released early everywhere.
    #[inline(always)]
    pub fn note_passing(&mut self, bytes: usize) {
        self.seen.items += 1;
        self.seen.bytes += bytes as u64;
    }

    /// Counts the first item as released early, for lack of room, unless it has waited longer than [`MAX_WAIT`].
    pub fn count_early(&mut self, clock: Time) {
        let is_early = match self.front() {
            Some(Item::Datagram(_, _, Some(claim))) => !claim.is_final && claim.age(clock) <= MAX_WAIT,
            Some(Item::Exchange(_, uncertain)) => *uncertain,
            Some(Item::Datagram(_, _, None)) | None => false,
        };
        self.early += u64::from(is_early);
    }

    /// Counts the request in a frame, which its answer has just confirmed, as released early if it is no longer
    /// pending.
    #[cold]
    pub fn count_missed(&mut self, frame: u64) {
        let datagrams = self.items.iter().filter_map(|item| match item {
            Item::Datagram(d, _, claim) => Some((d.frame, claim.is_some())),
            Item::Exchange(..) => None,
        });
        let is_pending =
            datagrams.take_while(|&(number, _)| number <= frame).any(|found| found == (frame, true));
        self.early += u64::from(!is_pending);
    }

    /// Notes that an item has another joined message than before, given the bytes of both. More bytes count until all items
    /// are gone that were there by now, fewer change nothing.
    pub fn resize_joined(&mut self, [before, now]: [usize; 2]) {
        self.seen.bytes += now.saturating_sub(before) as u64;
    }

    /// Number of items released early.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Adds a datagram.
    pub fn push_datagram(&mut self, d: &Datagram<'_>, claim: Option<Claim>) {
        if let Some(claim) = &claim {
            let copy_of = match claim.pairing {
                Pairing::DuplicateFrame { of, .. } => Some(of),
                _ => None,
            };
            if claim.unfinished || copy_of.is_some() {
                let at = self.released + self.items.len() as u64;
                let part = Part { frame: d.frame, direction: claim.verdict.direction, copy_of };
                self.parts.insert((claim.slot, at), part);
            }
        }
        self.final_datagrams += usize::from(claim.as_ref().is_some_and(|claim| claim.is_final));
        self.places.push_back(self.seen);
        self.note_passing(d.payload.len() + claim.as_ref().map_or(0, Claim::joined_bytes));
        self.bytes.extend(d.payload);
        self.items.push_back(Item::Datagram(Datagram { payload: &[], ..*d }, d.payload.len(), claim));
    }

    /// Adds an exchange. If it is `uncertain`, it waits for its conversation to be confirmed, otherwise only for its
    /// turn.
    pub fn push_exchange(&mut self, e: Exchange, uncertain: bool) {
        self.places.push_back(self.seen);
        self.note_passing(0);
        self.items.push_back(Item::Exchange(e, uncertain));
    }

    /// The next item to be released.
    pub fn front(&self) -> Option<&Item> {
        self.items.front()
    }

    /// Removes the next item; its payload is copied to `payload`.
    pub fn pop(&mut self, payload: &mut Vec<u8>) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.places.pop_front();
        let at = self.released;
        self.released += 1;
        self.first_deadline = Deadline::PASSED;
        payload.clear();
        if let Item::Datagram(_, len, claim) = &item {
            claim.iter().for_each(|claim| _ = self.parts.remove(&(claim.slot, at)));
            let (front, back) = self.bytes.as_slices();
            let first = front.len().min(*len);
            payload.extend_from_slice(&front[..first]);
            payload.extend_from_slice(&back[..*len - first]);
            self.bytes.drain(..*len);
            self.final_datagrams -= usize::from(claim.as_ref().is_some_and(|claim| claim.is_final));
        }
        Some(item)
    }

    /// Notes a further part of a message in a frame: the last pending part before it is then reported as a part.
    pub fn continue_message(&mut self, slot: Slot, direction: Direction, frame: u64) {
        let mut parts = self.parts.range((slot, 0)..=(slot, u64::MAX));
        let last = parts
            .rfind(|(_, part)| part.copy_of.is_none() && part.direction == direction && part.frame < frame);
        let Some((&(_, at), &Part { frame, .. })) = last else { return };
        self.parts.remove(&(slot, at));
        // Its copies come after it.
        let later = self.parts.range((slot, at)..=(slot, u64::MAX));
        let copies = later.filter(|(_, part)| part.copy_of == Some(frame)).map(|(&(_, at), _)| at);
        for at in iter::once(at).chain(copies) {
            let item = self.items.get_mut((at - self.released) as usize);
            let Some(Item::Datagram(_, _, Some(claim))) = item else { continue };
            claim.unfinished = false;
            // Some protocols report each part as the message that it was recognised as.
            let Some(message) = claim.verdict.id.info().fragment else { return };
            claim.verdict.probe.message = message;
        }
    }

    /// The answer in a frame, if it is pending; its payload is copied to `payload`.
    pub fn find_answer(
        &mut self,
        slot: Slot,
        frame: u64,
        payload: &mut Vec<u8>,
    ) -> Option<(&mut Claim, Datagram<'static>)> {
        let (items, bytes, mut end) = (&mut self.items, &self.bytes, self.bytes.len());
        items.iter_mut().rev().find_map(|item| {
            let Item::Datagram(d, len, claim) = item else { return None };
            let range = end - *len..end;
            end = range.start;
            let claim = claim.as_mut().filter(|claim| d.frame == frame && claim.slot == slot)?;
            payload.clear();
            payload.extend(bytes.range(range));
            Some((claim, *d))
        })
    }
}

/// Whether a datagram of that role is a part of a message, and further parts follow.
pub fn is_part(role: Role) -> bool {
    matches!(role, Role::RequestPart | Role::ResponsePart)
}
