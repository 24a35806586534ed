//! The table of conversations: who speaks which protocol with whom.
//!
//! Bounded. When it is full the conversation whose last request is oldest goes, and is counted.

use crate::net::Endpoint;
use crate::protocols::{Direction, Id, Level};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Most conversations remembered.
pub const MAX_CONVERSATIONS: usize = 65_536;

/// No slot, no server.
pub const NONE: u32 = u32::MAX;

/// One conversation of two endpoints in one protocol.
#[derive(Clone, Copy, Debug)]
pub struct Conversation {
    ends: [Endpoint; 2],
    /// The protocol.
    pub id: Id,
    /// How sure that is.
    pub level: Level,
    /// Which of the two ends asked first, as far as is known.
    first_asks: bool,
    /// That end is the client for certain.
    pub decided: bool,
    /// What it sent so far may have been an answer instead.
    pub doubtful: bool,
    /// Index of the server in the table of servers, or [`NONE`].
    pub server: u32,
    /// That table had no place for it.
    pub refused: bool,
    /// The value the server issued last to this client.
    pub issued: Option<Issued>,
    /// Requests since the last answer.
    pub unanswered: u16,
    /// Sequence number of the latest request, plus one; 0 where there is none.
    pub latest: u64,
    /// Tells this conversation from an earlier one in the same slot.
    pub generation: u32,
    newer: u32,
    older: u32,
}

impl Conversation {
    /// Who asks, for certain or as it seems.
    pub fn client(&self) -> Endpoint {
        if self.first_asks { self.ends[0] } else { self.ends[1] }
    }
    /// Who answers.
    pub fn server(&self) -> Endpoint {
        if self.first_asks { self.ends[1] } else { self.ends[0] }
    }
    /// Which way a datagram from `src` travels.
    #[inline(always)]
    pub fn direction(&self, src: Endpoint) -> Direction {
        if (self.ends[0] == src) == self.first_asks { Direction::C2s } else { Direction::S2c }
    }
    /// Says who the client is.
    pub fn set_client(&mut self, client: Endpoint) {
        self.first_asks = client == self.ends[0];
    }
}

/// A value that a server issued to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The value.
    pub value: u64,
    /// A request has carried it since.
    pub used: bool,
}

/// A place in the table, valid as long as the conversation is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    at: u32,
    generation: u32,
}

/// Endpoints that differ in their first words differ in hash; the protocol is told apart by comparing.
#[inline(always)]
fn hash_of(hasher: &DefaultHashBuilder, [a, b]: &[Endpoint; 2], id: Id) -> u64 {
    hasher.hash_one((a, b)) ^ id as u64
}

/// See the module's words.
#[derive(Debug)]
pub struct Conversations {
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    slots: Vec<Conversation>,
    most: usize,
    newest: u32,
    oldest: u32,
    /// First of the slots that are free, chained by `older`.
    free: u32,
    evicted: u64,
}

impl Default for Conversations {
    fn default() -> Self {
        Conversations::new(MAX_CONVERSATIONS)
    }
}

impl Conversations {
    /// An empty table of at most `most` conversations; memory is taken as it fills.
    pub fn new(most: usize) -> Self {
        Conversations {
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            slots: vec![],
            most,
            newest: NONE,
            oldest: NONE,
            free: NONE,
            evicted: 0,
        }
    }

    /// Conversations evicted so far.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    #[inline(always)]
    fn ends(a: Endpoint, b: Endpoint) -> [Endpoint; 2] {
        if a.order() <= b.order() { [a, b] } else { [b, a] }
    }

    #[inline(always)]
    fn hash(&self, ends: &[Endpoint; 2], id: Id) -> u64 {
        hash_of(&self.hasher, ends, id)
    }

    /// The conversation of two endpoints, in either direction.
    #[inline(always)]
    pub fn find(&self, a: Endpoint, b: Endpoint, id: Id) -> Option<Slot> {
        let ends = Self::ends(a, b);
        let hash = self.hash(&ends, id);
        let same = |&at: &u32| {
            let c = &self.slots[at as usize];
            c.ends == ends && c.id == id
        };
        let at = *self.index.find(hash, same)?;
        Some(Slot { at, generation: self.slots[at as usize].generation })
    }

    /// The conversation in a slot; `None` once it was evicted.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<&Conversation> {
        self.slots.get(slot.at as usize).filter(|c| c.generation == slot.generation)
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Conversation> {
        self.slots.get_mut(slot.at as usize).filter(|c| c.generation == slot.generation)
    }

    /// A pair was found: the conversation is as sure as that makes it.
    pub fn confirm(&mut self, slot: Slot, paired: Level) {
        if let Some(c) = self.get_mut(slot) {
            c.level = c.level.max(paired);
            c.decided |= c.level >= Level::Medium;
            c.unanswered = 0;
        }
    }

    /// A new conversation in which `client` spoke first, and the one that had to go for it.
    pub fn open(&mut self, client: Endpoint, server: Endpoint, id: Id) -> (Slot, Option<Conversation>) {
        let ends = Self::ends(client, server);
        let hash = self.hash(&ends, id);
        let mut new = Conversation {
            ends,
            id,
            level: Level::Hint,
            first_asks: client == ends[0],
            decided: false,
            doubtful: false,
            server: NONE,
            refused: false,
            issued: None,
            unanswered: 0,
            latest: 0,
            generation: 0,
            newer: NONE,
            older: NONE,
        };
        let evicted = if self.free == NONE && self.slots.len() >= self.most { self.evict() } else { None };
        let at = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                new.generation = slot.generation;
                let next = slot.older;
                *slot = new;
                std::mem::replace(&mut self.free, next)
            }
            None => {
                self.slots.push(new);
                self.slots.len() as u32 - 1
            }
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.index.insert_unique(hash, at, |&i| {
            let c = &slots[i as usize];
            hash_of(hasher, &c.ends, c.id)
        });
        self.link(at);
        (Slot { at, generation: new.generation }, evicted)
    }

    /// Ends a conversation that has nothing left to remember; its slot serves the next one, so that
    /// memory stays where it was just used.
    pub fn close(&mut self, slot: Slot) {
        if self.get(slot).is_none() {
            return;
        }
        let at = slot.at;
        self.unlink(at);
        let hash = self.hash(&self.slots[at as usize].ends, self.slots[at as usize].id);
        if let Ok(entry) = self.index.find_entry(hash, |&i| i == at) {
            entry.remove();
        }
        let slot = &mut self.slots[at as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.older = std::mem::replace(&mut self.free, at);
    }

    /// Ends all conversations.
    pub fn clear(&mut self) {
        while let Some(oldest) = self.slots.get(self.oldest as usize) {
            self.close(Slot { at: self.oldest, generation: oldest.generation });
        }
    }

    /// Ends the conversation whose last request is oldest, for want of room.
    #[cold]
    fn evict(&mut self) -> Option<Conversation> {
        let oldest = *self.slots.get(self.oldest as usize)?;
        self.close(Slot { at: self.oldest, generation: oldest.generation });
        self.evicted += 1;
        Some(oldest)
    }

    /// Makes a conversation the youngest: it has just asked something.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        if slot.at != self.newest && self.get(slot).is_some() {
            self.unlink(slot.at);
            self.link(slot.at);
        }
    }

    fn link(&mut self, at: u32) {
        let newest = std::mem::replace(&mut self.newest, at);
        let slot = &mut self.slots[at as usize];
        (slot.older, slot.newer) = (newest, NONE);
        match self.slots.get_mut(newest as usize) {
            Some(previous) => previous.newer = at,
            None => self.oldest = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let Conversation { newer, older, .. } = self.slots[at as usize];
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(n: u16) -> Endpoint {
        Endpoint::v4([192, 0, 2, 1], n)
    }

    #[test]
    fn both_directions_find_the_conversation_and_protocols_are_apart() {
        let mut table = Conversations::new(8);
        let (slot, _) = table.open(end(1), end(2), Id::Sqp);
        assert_eq!(table.find(end(2), end(1), Id::Sqp), Some(slot));
        assert_eq!(table.find(end(1), end(2), Id::Satisfactory), None);
        assert_eq!(table.get(slot).map(|c| (c.client(), c.server())), Some((end(1), end(2))));
    }

    #[test]
    fn the_least_recently_touched_goes_and_its_slot_is_dead() {
        let mut table = Conversations::new(2);
        let (first, _) = table.open(end(1), end(9), Id::Sqp);
        let (second, _) = table.open(end(2), end(9), Id::Sqp);
        table.touch(first);
        let (_, gone) = table.open(end(3), end(9), Id::Sqp);
        assert_eq!(gone.map(|c| c.client()), Some(end(2)));
        assert!(table.get(first).is_some() && table.get(second).is_none());
        assert_eq!(table.find(end(2), end(9), Id::Sqp), None);
        assert_eq!(table.evicted(), 1);
    }
}
