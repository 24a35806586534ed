//! Recognises datagrams of a server or a client whose address is translated, which a capture on that host shows twice.
//!
//! ```text
//!  server: client ─> outer   TTL n     ┌────┐   client ─> inner   TTL n-1      the second is a copy
//!          client <─ outer   TTL m-1   │host│   client <─ inner   TTL m        the first is a copy
//!                                      │    │
//!  client:  inner ─> server  TTL n     │    │   outer ─> server   TTL n-1      the second is a copy
//!           inner <─ server  TTL m-1   └────┘   outer <─ server   TTL m        the first is a copy
//! ```
//!
//! Two datagrams are one on both sides of the translation if payload, IP identification and one address are the same, the
//! other address differs, the time to live is one less, they are at most a millisecond apart, and they were captured on
//! different interfaces or in different directions. Then the exchange is that of the request that comes first: it names the
//! outer address of a server and the inner one of a client. An answer comes from the other side first: it waits for its copy
//! (`pending.rs`).
//!
//! Many clients send the same bytes. So two requests to one server are one only if they have the same source port, or an
//! IP identification, which most systems set to zero.

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
/// Most pairs of a client and a server that are remembered behind a translation, with 64 MiB.
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

    /// Whether it is the same request as another one that has passed the translation of the server's address or of the
    /// client's.
    fn is_request_before(&self, behind: &Seen) -> bool {
        let of_server = self.src == behind.src && self.dst.host() != behind.dst.host();
        let is_told = self.ip_id != 0 || self.src.port() == behind.src.port();
        let of_client = self.dst == behind.dst && self.src.host() != behind.src.host() && is_told;
        (of_server || of_client) && self.is_before(behind)
    }

    /// Whether it is the same datagram as another one that has passed the translation, but for the addresses.
    fn is_before(&self, behind: &Seen) -> bool {
        (self.payload, self.ip_id) == (behind.payload, behind.ip_id)
            && self.ttl.checked_sub(1) == Some(behind.ttl)
            && self.origin != behind.origin
            && at_translation(behind.time, self.time)
    }
}

/// A client and a server.
type Ends = (Endpoint, Endpoint);

/// The translations that have been seen.
#[derive(Debug)]
pub struct Translations {
    requests: [Option<Seen>; LATEST],
    /// Answers that have not passed the translation, with their conversations.
    answers: [Option<(Seen, Slot)>; LATEST],
    /// Indices of the oldest of each.
    oldest: [usize; 2],
    /// The client and the server before translation, by those behind it.
    before: Bounded<Ends, Ends, MAX_PAIRS>,
}

impl From<Budget> for Translations {
    fn from(budget: Budget) -> Self {
        Translations {
            requests: [None; LATEST],
            answers: [None; LATEST],
            oldest: [0; 2],
            before: Bounded::from(budget),
        }
    }
}

impl Translations {
    /// Forgets everything, because another capture begins.
    pub fn clear(&mut self, budget: Budget) {
        *self = Translations::from(budget);
    }

    /// The request before translation that a request is behind, if there is one; otherwise it is remembered.
    fn request_before(&mut self, d: &Datagram<'_>) -> Option<Seen> {
        let seen = Seen::new(d);
        if let Some(first) = self.requests.iter().flatten().find(|first| first.is_request_before(&seen)) {
            return Some(*first);
        }
        self.requests[self.oldest[0]] = Some(seen);
        self.oldest[0] = (self.oldest[0] + 1) % LATEST;
        None
    }

    /// The client and the server before translation of an answer that has not passed it.
    fn ends_before(&self, d: &Datagram<'_>) -> Option<Ends> {
        if self.before.is_empty() { None } else { self.before.get(&(d.dst, d.src)).copied() }
    }

    /// Remembers an answer that has not passed the translation.
    fn hold(&mut self, d: &Datagram<'_>, slot: Slot) {
        self.answers[self.oldest[1]] = Some((Seen::new(d), slot));
        self.oldest[1] = (self.oldest[1] + 1) % LATEST;
    }

    /// Takes the same answer as this one, from the other side of the translation.
    fn held_answer(&mut self, d: &Datagram<'_>) -> Option<(Seen, Slot)> {
        let passed = Seen::new(d);
        let before = &self.before;
        let is_same = |held: &&mut Option<(Seen, Slot)>| {
            held.is_some_and(|(seen, _)| {
                seen.is_before(&passed)
                    && before.get(&(seen.dst, seen.src)) == Some(&(passed.dst, passed.src))
            })
        };
        self.answers.iter_mut().find(is_same)?.take()
    }
}

impl Pipeline<'_> {
    /// The frame before translation of a request that is captured behind it.
    #[cold]
    #[inline(never)]
    fn translated_request(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> Option<u64> {
        let first = self.translations.request_before(d)?;
        let ends = (first.src, first.dst);
        let is_new = self.translations.before.insert((d.src, d.dst), ends) != Some(ends);
        if is_new && first.dst != d.dst {
            self.report.translated(first.dst, d.dst);
        }
        // The answers behind the translation are recognised in a conversation of its own.
        let behind = v.slot.unwrap_or_else(|| self.table.enter(d, v));
        // The copy is shown in the conversation before it, which may still have to be confirmed.
        v.slot = self.table.conversations.find(first.src, first.dst, v.id).or(Some(behind));
        let level =
            v.slot.and_then(|slot| self.table.conversations.get(slot)).map_or(Level::Hint, |c| c.level);
        if let Some(c) = self.table.conversations.get_mut(behind) {
            c.level = c.level.max(level);
        }
        Some(first.frame)
    }

    /// Lets an answer that has not passed the translation wait for the same answer that has; `false` if it is no such answer.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_untranslated_answer(&mut self, d: &Datagram<'_>, v: &Verdict) -> io::Result<bool> {
        let Some((client, server)) = self.translations.ends_before(d) else { return Ok(false) };
        let Some(slot) = self.table.conversations.find(client, server, v.id) else { return Ok(false) };
        self.translations.hold(d, slot);
        self.pending.note_arrival(slot);
        let pairing =
            Pairing::Unsolicited { open: false, asked: None, key: None, other_step: false, elsewhere: false };
        let level = self.table.conversations.get(slot).map_or(Level::Hint, |c| c.level);
        let claim = self.new_claim(*v, (slot, level), pairing, Raised::default());
        self.hold_or_deliver(d, claim)?;
        Ok(true)
    }

    /// Makes the waiting answer a copy of the same answer that has passed the translation.
    #[cold]
    #[inline(never)]
    pub(super) fn note_translated_answer(&mut self, d: &Datagram<'_>, pairing: &Pairing) {
        let Some((held, slot)) = self.translations.held_answer(d) else { return };
        let mut payload = std::mem::take(&mut self.payload);
        if let Some((claim, _)) = self.pending.find_answer(slot, held.frame, &mut payload) {
            claim.pairing = Pairing::DuplicateFrame { of: d.frame, asked: pairing.asked() };
            self.spare_raised.change(&mut claim.raised, |raised| raised.add(&GEN_008));
            self.totals.duplicate_frames += 1;
        }
        self.payload = payload;
        self.pending.note_arrival(slot);
    }

    /// The frame that shows the same datagram with another address: a request before its translation, or an
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
