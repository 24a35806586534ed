//! The table of conversations.
//!
//! The table is bounded. When it is full, an idle conversation is dropped, see `idle`; if there is none, the
//! conversation whose last request is oldest is dropped and counted.

use super::idle::{Entry, Idle, MAX_IDLE, MIN_INTERVAL, WITHOUT_REQUEST, stamp};
use super::{Conversation, IDLE, NONE, OVER, Slot};
use crate::bounded::buckets::Buckets;
use crate::bounded::hashing::hash_one;
use crate::bounded::packed::Count;
use crate::bounded::{Bounded, Budget, Forgets as _};
use crate::capture::Time;
use crate::net::Endpoint;
use crate::protocols::{Id, Level};
use hashbrown::DefaultHashBuilder;
use prefetch_index::prefetch_index;

/// Most conversations remembered with 64 MiB.
pub const MAX_CONVERSATIONS: usize = 262_144;

/// Most issued values remembered that were not used before their conversations ended; the oldest is dropped first.
const MAX_UNUSED: usize = 131_072;

/// The memory of an idle conversation is prefetched this many entries before it is dropped.
const PREFETCH_DISTANCE: usize = 16;

/// A hash that is the same for both directions. Endpoints that differ in their first words differ in hash; the protocol
/// is not part of the hash, and is compared.
#[inline(always)]
fn hash_of(hasher: &DefaultHashBuilder, a: Endpoint, b: Endpoint) -> u64 {
    hash_one(hasher, if a.order() <= b.order() { (a, b) } else { (b, a) })
}

/// The table of conversations, see the module documentation.
#[derive(Debug)]
pub struct Conversations {
    index: Buckets,
    hasher: DefaultHashBuilder,
    slots: Vec<Conversation>,
    /// By slot.
    links: Vec<Links>,
    pub(super) idle: Idle,
    most: usize,
    pub(super) most_idle: usize,
    /// Slot of the conversation that sent a request last; [`NONE`] where the table is empty.
    newest: u32,
    /// First free slot; free slots are chained by `older`; [`NONE`] where there is none.
    free: u32,
    evicted: u64,
    /// Values that were issued in conversations that have ended, and are not used yet, by the
    /// [`directed_hash`](Self::directed_hash) of the conversation: the next conversation of the same client and server
    /// takes its value over.
    unused: Bounded<u64, Option<u32>, MAX_UNUSED>,
}

/// The conversations that sent a request after and before this one; the newest one and the oldest are neighbours.
#[derive(Clone, Copy, Debug)]
struct Links {
    newer: u32,
    older: u32,
}

impl Conversations {
    /// An empty table; memory is taken as it fills.
    pub fn new(budget: Budget) -> Self {
        Conversations::of(budget, budget.of(MAX_CONVERSATIONS))
    }

    /// An empty table of at most `most` conversations.
    pub(super) fn of(budget: Budget, most: usize) -> Self {
        Conversations {
            index: Buckets::default(),
            hasher: DefaultHashBuilder::default(),
            slots: vec![],
            links: vec![],
            idle: Idle::default(),
            most,
            most_idle: budget.of(MAX_IDLE),
            newest: NONE,
            free: NONE,
            evicted: 0,
            unused: budget.into(),
        }
    }

    /// Conversations evicted so far.
    #[cfg(test)]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The conversation of two endpoints, in either direction.
    #[inline(always)]
    pub fn find(&self, a: Endpoint, b: Endpoint, id: Id) -> Option<Slot> {
        let hash = hash_of(&self.hasher, a, b);
        let matches = |at: u32| {
            let c = self.slots.get(at as usize);
            c.is_some_and(|c| c.is_of([a, b]) && c.id == id)
        };
        let at = self.index.find(hash, matches)?;
        Some(self.slots[at as usize].slot(at))
    }

    /// The conversation in a slot; `None` once it was evicted.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<&Conversation> {
        self.slots.get(slot.at as usize).filter(|c| c.generation == slot.generation)
    }

    /// [`Conversation::latest`] of the conversation in a slot; also 0 once it was evicted.
    #[inline(always)]
    pub fn latest(&self, slot: Slot) -> u64 {
        self.get(slot).map_or(0, Conversation::latest)
    }

    /// Prefetches the index entry of the conversation of two endpoints.
    #[inline(always)]
    pub fn prefetch_ends(&self, a: Endpoint, b: Endpoint) {
        self.index.prefetch(hash_of(&self.hasher, a, b));
    }

    /// Prefetches the slot with that number.
    #[inline(always)]
    pub fn prefetch(&self, at: u32) {
        prefetch_index(&self.slots, at as usize);
    }

    /// The conversation that is now in the slot with that number.
    #[inline(always)]
    pub fn at(&self, at: u32) -> Option<(Slot, &Conversation)> {
        let c = self.slots.get(at as usize)?;
        Some((c.slot(at), c))
    }

    /// The conversation in a slot, mutably.
    #[inline(always)]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Conversation> {
        self.slots.get_mut(slot.at as usize).filter(|c| c.generation == slot.generation)
    }

    /// The protocols in which there is a conversation of two endpoints, one bit each.
    pub fn protocols_between(&self, a: Endpoint, b: Endpoint) -> u32 {
        let mut protocols = 0;
        self.index.find(hash_of(&self.hasher, a, b), |at| {
            let c = self.slots.get(at as usize).filter(|c| c.is_of([a, b]));
            protocols |= c.map_or(0, |c| 1 << c.id as u32);
            false
        });
        protocols
    }

    /// Notes a pair of request and answer in a conversation: raises its confidence to that of the pair.
    pub fn confirm(&mut self, slot: Slot, paired: Level) {
        if let Some(c) = self.get_mut(slot) {
            c.confirm(paired);
        }
    }

    /// Opens a conversation of a client and a server; also returns the conversation that was evicted for it.
    pub fn open(&mut self, client: Endpoint, server: Endpoint, id: Id) -> (Slot, Option<Conversation>) {
        let hash = hash_of(&self.hasher, client, server);
        let mut new = Conversation::new(client, server, id);
        if !self.unused.is_empty()
            && let Some(value) = self.unused.get_mut(&self.directed_hash(&new)).and_then(Option::take)
        {
            new.note_issued(value);
        }
        let is_full = self.free == NONE && self.slots.len() >= self.most;
        let evicted = if is_full && !self.drop_idle() { self.evict() } else { None };
        let at = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let at = self.free;
                self.free = self.links[at as usize].older;
                new.generation = slot.generation;
                *slot = new;
                at
            }
            None => {
                self.slots.push(new);
                self.links.push(Links { newer: NONE, older: NONE });
                (self.slots.len() - 1) as u32
            }
        };
        if self.index.is_full() {
            let (slots, hasher) = (&self.slots, &self.hasher);
            let others = slots.iter().enumerate().filter(|&(n, c)| n != at as usize && !c.marks.has(OVER));
            self.index.grow(others.map(|(at, c)| (hash_of(hasher, c.client(), c.server()), at as u32)));
        }
        self.index.add(hash, at);
        self.link(at);
        (new.slot(at), evicted)
    }

    /// Ends a conversation. Its slot is used for the next one, so that recently used memory is used again.
    pub fn close(&mut self, slot: Slot) {
        if self.get(slot).is_none() {
            return;
        }
        let at = slot.at;
        self.unlink(at);
        if self.slots[at as usize].issued().is_some_and(|issued| !issued.used) {
            self.keep_unused(at);
        }
        let c = &self.slots[at as usize];
        self.index.remove(hash_of(&self.hasher, c.client(), c.server()), at);
        let slot = &mut self.slots[at as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.latest = Count::default();
        slot.marks.set(IDLE, false);
        slot.marks.set(OVER, true);
        self.links[at as usize].older = std::mem::replace(&mut self.free, at);
    }

    #[cold]
    #[inline(never)]
    fn keep_unused(&mut self, at: u32) {
        let c = &self.slots[at as usize];
        let (hash, issued) = (self.directed_hash(c), c.issued());
        self.unused.insert(hash, issued.map(|issued| issued.value));
    }

    /// The hash of a conversation that depends on its direction: the same two endpoints may also be client and
    /// server the other way round.
    fn directed_hash(&self, c: &Conversation) -> u64 {
        hash_one(&self.hasher, (c.client(), c.server(), c.id))
    }

    /// Forgets the values issued in conversations that have ended.
    pub fn forget_unused(&mut self, budget: Budget) {
        self.unused = budget.into();
    }

    /// Number of unused values forgotten for lack of room.
    pub fn forgotten(&self) -> u64 {
        self.unused.forgotten()
    }

    /// Ends all conversations.
    pub fn clear(&mut self) {
        while let Some(oldest) = self.oldest() {
            self.close(oldest);
        }
        self.idle.clear();
    }

    fn oldest(&self) -> Option<Slot> {
        let at = self.links.get(self.newest as usize)?.newer;
        Some(self.slots[at as usize].slot(at))
    }

    /// Ends the conversation whose last request is oldest, for lack of room.
    #[cold]
    fn evict(&mut self) -> Option<Conversation> {
        let slot = self.oldest()?;
        let oldest = *self.get(slot)?;
        self.close(slot);
        self.evicted += 1;
        Some(oldest)
    }

    /// Makes a conversation the newest one, because it has just sent a request.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        if slot.at != self.newest && self.get(slot).is_some() {
            self.unlink(slot.at);
            self.link(slot.at);
        }
    }

    fn link(&mut self, at: u32) {
        let newest = std::mem::replace(&mut self.newest, at);
        let (older, newer) = match self.links.get_mut(newest as usize) {
            Some(newest_so_far) => (newest, std::mem::replace(&mut newest_so_far.newer, at)),
            None => (at, at),
        };
        self.links[newer as usize].older = at;
        self.links[at as usize] = Links { newer, older };
    }

    fn unlink(&mut self, at: u32) {
        let Links { newer, older } = self.links[at as usize];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
        if self.newest == at {
            self.newest = if older == at { NONE } else { older };
        }
    }
}

impl Conversations {
    /// Makes a conversation idle, because its last request, sent at that time, is forgotten; ends it if it was not
    /// certain.
    pub fn make_idle(&mut self, slot: Slot, last: Time) {
        match self.get_mut(slot) {
            Some(c) if c.decided() && c.level >= Level::Medium => {
                c.marks.set(IDLE, true);
                c.latest = Count::new(stamp(last));
                let list = c.id as usize;
                self.idle.add(list, stamp(last), slot.at);
                self.enforce_bound();
            }
            _ => self.close(slot),
        }
    }

    /// Notes a datagram in an idle conversation.
    #[cold]
    pub fn wake(&mut self, slot: Slot, is_request: bool, clock: Time) {
        let now = stamp(clock);
        let Some(c) = self.get_mut(slot).filter(|c| c.marks.has(IDLE)) else { return };
        if is_request {
            c.marks.set(IDLE, false);
            c.latest = Count::new(1); // the very first request, which is forgotten
        } else if now > c.latest.get() + MIN_INTERVAL {
            c.latest = Count::new(now);
            self.idle.add(WITHOUT_REQUEST, now, slot.at);
            self.enforce_bound();
        }
    }

    /// Notes a conversation without a request so far: unless a request comes, it ends as an idle one does.
    pub fn await_request(&mut self, slot: Slot, clock: Time) {
        self.idle.add(WITHOUT_REQUEST, stamp(clock), slot.at);
        self.enforce_bound();
    }

    fn enforce_bound(&mut self) {
        if self.idle.len() > self.most_idle {
            self.drop_first();
        }
    }

    /// Ends conversations that have been idle for too long.
    pub fn expire_idle(&mut self, clock: Time) {
        let now = stamp(clock);
        while self.idle.is_over(now) {
            self.drop_first();
        }
    }

    /// The time after which a conversation has been idle for too long; `None` where none is idle.
    pub fn idle_until(&self) -> Option<Time> {
        self.idle.until()
    }

    /// Ends the conversation that has been idle for longest, for lack of room; `false` where none is idle.
    #[cold]
    pub(super) fn drop_idle(&mut self) -> bool {
        while self.idle.len() > 0 {
            if self.drop_first() {
                return true;
            }
        }
        false
    }

    /// Removes the oldest entry; returns whether that has ended its conversation.
    fn drop_first(&mut self) -> bool {
        // Idle conversations have not been used for long, and are dropped one after the other.
        self.idle.slot_ahead(2 * PREFETCH_DISTANCE).into_iter().for_each(|at| self.prefetch(at));
        let next = self.idle.slot_ahead(PREFETCH_DISTANCE).and_then(|at| self.slots.get(at as usize));
        next.into_iter().for_each(|c| self.prefetch_ends(c.client(), c.server()));
        let Some(Entry { last, at }) = self.idle.pop_oldest() else { return false };
        let has_no_request = |c: &Conversation| c.latest() == 0 && !c.marks.has(OVER);
        let is_due = |c: &Conversation| c.marks.has(IDLE) && c.latest == last || has_no_request(c);
        let slot = self.at(at).filter(|(_, c)| is_due(c)).map(|(slot, _)| slot);
        slot.into_iter().for_each(|slot| self.close(slot));
        slot.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(n: u16) -> Endpoint {
        Endpoint::v4([192, 0, 2, 1], n)
    }

    #[test]
    fn finds_a_conversation_in_both_directions_but_not_in_another_protocol() {
        let mut table = Conversations::new(Budget::default());
        let (slot, _) = table.open(end(1), end(2), Id::Sqp);
        assert_eq!(table.find(end(2), end(1), Id::Sqp), Some(slot));
        assert_eq!(table.find(end(1), end(2), Id::Satisfactory), None);
        assert_eq!(table.get(slot).map(|c| (c.client(), c.server())), Some((end(1), end(2))));
    }

    #[test]
    fn evicts_the_least_recently_touched_and_invalidates_its_slot() {
        let mut table = Conversations::of(Budget::default(), 2);
        let (first, _) = table.open(end(1), end(9), Id::Sqp);
        let (second, _) = table.open(end(2), end(9), Id::Sqp);
        table.touch(first);
        let (_, evicted) = table.open(end(3), end(9), Id::Sqp);
        assert_eq!(evicted.map(|c| c.client()), Some(end(2)));
        assert!(table.get(first).is_some() && table.get(second).is_none());
        assert_eq!(table.find(end(2), end(9), Id::Sqp), None);
        assert_eq!(table.evicted(), 1);
    }

    #[test]
    fn forgets_the_oldest_unused_values() {
        let mut table = Conversations::new(Budget::default());
        let mut open_and_close = |client: u32, issues: bool| {
            let client = Endpoint::v4(client.to_be_bytes(), 1);
            let (slot, _) = table.open(client, end(9), Id::Sqp);
            let c = table.get_mut(slot).unwrap();
            let issued = c.issued().map(|issued| issued.value);
            if issues {
                c.note_issued(7);
            } else {
                c.note_carried(7);
            }
            table.close(slot);
            issued
        };
        let most = MAX_UNUSED as u32;
        (0..most).for_each(|n| assert_eq!(open_and_close(n, true), None));
        assert_eq!(open_and_close(0, false), Some(7), "and is used up");
        open_and_close(most, true);
        assert_eq!([0, 1, 2, most].map(|n| open_and_close(n, false)), [None, Some(7), Some(7), Some(7)]);
        open_and_close(most + 1, true);
        assert_eq!(open_and_close(3, false), Some(7));
    }
}
