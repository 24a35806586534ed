//! Recognises datagrams of a server behind address translation, which a capture on that host shows twice.
//!
//! ```text
//!  before: client ─> outer   TTL n     ┌────┐   behind: client ─> inner   TTL n-1      the second is a copy
//!          client <─ outer   TTL m-1   │host│           client <─ inner   TTL m        the first is a copy
//!                                      └────┘
//! ```
//!
//! Two datagrams are one before and behind the translation if payload, IP identification and one address are the same, the
//! other address differs, the time to live is one less, they are at most a millisecond apart, and they were captured on
//! different interfaces or in different directions. Then the inner one is a copy, and the exchange is that of the outer
//! address. An answer comes from the inner address first: it waits for its copy from the outer one (`pending.rs`).
//!
//! The addresses of clients that are translated are not followed: both exchanges are reported.

use super::Pipeline;
use crate::bounded::{Bounded, Budget};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::{Raised, at_translation};
use crate::conversation::Slot;
use crate::exchange::Pairing;
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Level};
use crate::rule::general::GEN_008;
use std::io;

/// Requests remembered to find them behind a translation, and answers that wait to be found before it.
const LATEST: usize = 16;
/// Most pairs of a client and an inner address that are remembered, with 64 MiB.
const MAX_PAIRS: usize = 4_096;

/// What is the same on both sides, and what differs.
#[derive(Clone, Copy, Debug)]
struct Seen {
    src: Endpoint,
    dst: Endpoint,
    payload: (usize, u64),
    ip_id: u16,
    ttl: u8,
    origin: u32,
    frame: u64,
    time: Time,
}

impl Seen {
    fn new(d: &Datagram<'_>) -> Seen {
        let &Datagram { src, dst, ip_id, ttl, origin, frame, time, payload, .. } = d;
        Seen { src, dst, payload: (payload.len(), d.payload_sum()), ip_id, ttl, origin, frame, time }
    }

    /// Whether it is the same datagram as another one that has passed the translation, but for the addresses.
    fn is_before(&self, behind: &Seen) -> bool {
        (self.payload, self.ip_id) == (behind.payload, behind.ip_id)
            && self.ttl.checked_sub(1) == Some(behind.ttl)
            && self.origin != behind.origin
            && at_translation(behind.time, self.time)
    }
}

/// The translations that have been seen.
#[derive(Debug)]
pub struct Translations {
    requests: [Option<Seen>; LATEST],
    /// Answers of inner addresses, with their conversations.
    answers: [Option<(Seen, Slot)>; LATEST],
    /// Indices of the oldest of each.
    oldest: [usize; 2],
    /// The outer address for a client and an inner address.
    outer: Bounded<(Endpoint, Endpoint), Endpoint, MAX_PAIRS>,
}

impl From<Budget> for Translations {
    fn from(budget: Budget) -> Self {
        Translations {
            requests: [None; LATEST],
            answers: [None; LATEST],
            oldest: [0; 2],
            outer: Bounded::from(budget),
        }
    }
}

impl Translations {
    /// Forgets everything, because another capture begins.
    pub fn clear(&mut self, budget: Budget) {
        *self = Translations::from(budget);
    }

    /// The request before translation that a request is behind, if there is one; otherwise it is remembered.
    fn outer_request(&mut self, d: &Datagram<'_>) -> Option<Seen> {
        let seen = Seen::new(d);
        let is_outer = |other: &&Seen| {
            other.src == seen.src && other.dst.host() != seen.dst.host() && other.is_before(&seen)
        };
        if let Some(outer) = self.requests.iter().flatten().find(is_outer) {
            return Some(*outer);
        }
        self.requests[self.oldest[0]] = Some(seen);
        self.oldest[0] = (self.oldest[0] + 1) % LATEST;
        None
    }

    /// The outer address of the sender of an answer.
    fn outer_of(&self, d: &Datagram<'_>) -> Option<Endpoint> {
        if self.outer.is_empty() { None } else { self.outer.get(&(d.dst, d.src)).copied() }
    }

    /// Remembers an answer of an inner address.
    fn hold(&mut self, d: &Datagram<'_>, slot: Slot) {
        self.answers[self.oldest[1]] = Some((Seen::new(d), slot));
        self.oldest[1] = (self.oldest[1] + 1) % LATEST;
    }

    /// Takes the answer of an inner address that an answer of its outer one is behind.
    fn inner_answer(&mut self, d: &Datagram<'_>) -> Option<(Seen, Slot)> {
        let behind = Seen::new(d);
        let outer = &self.outer;
        let is_inner = |held: &&mut Option<(Seen, Slot)>| {
            held.is_some_and(|(seen, _)| {
                seen.dst == behind.dst
                    && seen.is_before(&behind)
                    && outer.get(&(seen.dst, seen.src)) == Some(&behind.src)
            })
        };
        self.answers.iter_mut().find(is_inner)?.take()
    }
}

impl Pipeline<'_> {
    /// The frame before translation of a request that is captured behind it.
    #[cold]
    #[inline(never)]
    fn translated_request(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> Option<u64> {
        let outer = self.translations.outer_request(d)?;
        if self.translations.outer.insert((d.src, d.dst), outer.dst) != Some(outer.dst) {
            self.report.translated(outer.dst, d.dst);
        }
        // The answers of the inner address are recognised in a conversation of its own.
        let inner = v.slot.unwrap_or_else(|| self.table.enter(d, v));
        // The copy is shown in the outer conversation, which may still have to be confirmed.
        v.slot = self.table.conversations.find(d.src, outer.dst, v.id).or(Some(inner));
        let level =
            v.slot.and_then(|slot| self.table.conversations.get(slot)).map_or(Level::Hint, |c| c.level);
        if let Some(c) = self.table.conversations.get_mut(inner) {
            c.level = c.level.max(level);
        }
        Some(outer.frame)
    }

    /// Lets an answer of an inner address wait for the same answer of its outer one; `false` if it is no such answer.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_inner_answer(&mut self, d: &Datagram<'_>, v: &Verdict) -> io::Result<bool> {
        let Some(outer) = self.translations.outer_of(d) else { return Ok(false) };
        let Some(slot) = self.table.conversations.find(d.dst, outer, v.id) else { return Ok(false) };
        self.translations.hold(d, slot);
        self.pending.note_arrival(slot);
        let pairing =
            Pairing::Unsolicited { open: false, asked: None, key: None, other_step: false, elsewhere: false };
        let level = self.table.conversations.get(slot).map_or(Level::Hint, |c| c.level);
        let claim = self.new_claim(*v, (slot, level), pairing, Raised::default());
        self.hold_or_deliver(d, claim)?;
        Ok(true)
    }

    /// Makes the waiting answer of an inner address a copy of an answer that its outer one has sent.
    #[cold]
    #[inline(never)]
    pub(super) fn note_outer_answer(&mut self, d: &Datagram<'_>, pairing: &Pairing) {
        let Some((inner, slot)) = self.translations.inner_answer(d) else { return };
        let mut payload = std::mem::take(&mut self.payload);
        if let Some((claim, _)) = self.pending.find_answer(slot, inner.frame, &mut payload) {
            claim.pairing = Pairing::DuplicateFrame { of: d.frame, asked: pairing.asked() };
            claim.raised.add(&GEN_008);
            self.totals.duplicate_frames += 1;
        }
        self.payload = payload;
        self.pending.note_arrival(slot);
    }

    /// The frame that shows the same datagram with another address: a request before the translation of its receiver, or an
    /// answer to another receiver if that of this one has sent no request.
    #[inline(always)]
    pub(super) fn translated(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> Option<u64> {
        if !self.dedup.has_several_origins() {
            return None;
        }
        if v.direction == Direction::C2s {
            return self.translated_request(d, v);
        }
        let asked = v.slot.and_then(|slot| self.table.conversations.get(slot)).is_some_and(|c| c.asked());
        self.dedup.translation_of(d, asked)
    }
}
