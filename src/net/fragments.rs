//! Reassembles IP packets from their fragments.
//!
//! ```text
//!               key                        sets, the oldest first
//!  fragment ──────────> HashMap ─────> │ open │ whole │ replaced │ open │ ... <── new ones
//!                                          │                         │
//!               next_expired <─────────────┘                         └─────> add: the packet
//!               expired, or no room
//! ```
//!
//! Sets are kept in the order in which their first fragments arrived. They are removed at the front only, whichever
//! limit is reached: age decides, never the position in a hash table, because hashes are seeded and two runs must
//! not differ. So every step takes the same time, however many sets there are.
//!
//! A complete set stays until it expires. A fragment that adds nothing to it is a late copy, as in captures of
//! several interfaces, and opens no set: such a set would swallow fragments of the next packet with the same
//! identification. A fragment with other contents belongs to that next packet, and opens a set for it. One case is not
//! covered: the next packet has bytes in common with this one, and a fragment of common bytes arrives before the first
//! different one.
//!
//! Before each fragment, the caller takes out expired packets:
//!
//! ```text
//! while let Some(packet) = fragments.next_expired(clock, false) { ... }
//! if let Some(packet) = fragments.add(&fragment) { ... }
//! ```

use super::fragment_header::{Fragment, Key};
use super::fragment_set::{Insertion, MAX_SET_MEMORY, Packet, Set};
use crate::capture::Time;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// The most sets remembered at once, complete ones included.
pub(super) const MAX_SETS: usize = 2048;

/// The most memory of the buffers of all sets, in bytes.
pub(super) const MAX_BYTES: usize = 8 << 20;

/// How long a set waits for further fragments, in nanoseconds of capture time after the first one. Fragments of one
/// packet follow each other within milliseconds. Hosts wait 30 s and longer, but by then the exchange has been given up.
pub(super) const MAX_AGE: i64 = 2_000_000_000;

/// Counts of fragments and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentCounts {
    /// Fragments seen.
    pub seen: u64,
    /// Packets that were completed.
    pub reassembled: u64,
    /// Packets given up whose beginning arrived: handed out, if the caller asks in time.
    pub begun: u64,
    /// Packets given up whose beginning did not arrive.
    pub headless: u64,
    /// How many of these two kinds were given up for want of room (limits: 2,048 packets, 8 MiB).
    pub evicted: u64,
    /// Fragments that added nothing and contradicted nothing.
    pub copies: u64,
    /// Fragments that contradicted others of their packet.
    pub disputes: u64,
    /// Fragments that no packet can have: empty, beyond 65,535 bytes, or of an odd length before the end.
    pub damaged: u64,
    /// Fragments, or parts of them, that found no room in their packet.
    pub crowded: u64,
}

/// Fragments of incomplete packets.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    by_key: HashMap<Key, u64>,
    sets: VecDeque<Set>,
    /// Number of sets removed so far, which is the number of the front set.
    removed: u64,
    /// The highest time stamp so far.
    clock: Time,
    /// Memory of all sets in bytes.
    memory: usize,
    counts: FragmentCounts,
}

impl Fragments {
    /// Adds a fragment and returns its packet if that is now complete.
    pub fn add(&mut self, fragment: &Fragment<'_>) -> Option<Packet> {
        self.counts.seen = self.counts.seen.saturating_add(1);
        self.advance(fragment.location.time);
        if !fragment.is_valid() {
            self.counts.damaged = self.counts.damaged.saturating_add(1);
            return None;
        }
        // Does nothing where the caller has taken out expired packets.
        while self.is_full() {
            self.evict_oldest(true);
        }
        let number = self.set_for(fragment)?;
        let set = self.sets.get_mut(index_of(self.removed, number))?;
        let before = set.buffers.memory();
        let count = match set.insert(fragment) {
            Insertion::NewBytes => None,
            Insertion::Duplicate => Some(&mut self.counts.copies),
            Insertion::Conflict => Some(&mut self.counts.disputes),
            Insertion::NoRoom => Some(&mut self.counts.crowded),
        };
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
        self.memory = self.memory.saturating_sub(before).saturating_add(set.buffers.memory());
        if !set.packet.is_whole() {
            return None;
        }
        self.counts.reassembled = self.counts.reassembled.saturating_add(1);
        set.packet()
    }

    /// Whether no set is held.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Removes packets that have expired at `clock` or must make room, up to the first one whose beginning has arrived,
    /// and returns that one. Once this has returned `None`, there is room for any fragment.
    ///
    /// With `all`, because the file has ended, age does not matter; once this has returned `None`, the next file may begin,
    /// with its own capture time.
    pub fn next_expired(&mut self, clock: Time, all: bool) -> Option<Packet> {
        self.advance(clock);
        while all && !self.sets.is_empty() || self.is_expired() || self.is_full() {
            let begun = self.evict_oldest(!all && !self.is_expired());
            if begun.is_some() {
                return begun;
            }
        }
        if all {
            self.clock = Time::UNKNOWN;
        }
        None
    }

    /// Counts of fragments and packets so far.
    pub fn counts(&self) -> &FragmentCounts {
        &self.counts
    }

    /// Sets remembered, and their memory in bytes.
    #[cfg(test)]
    pub fn usage(&self) -> (usize, usize) {
        (self.sets.len(), self.memory)
    }

    /// Moves capture time on to `time`, which may be later than any fragment seen; it never goes back. Fragments
    /// that came before the first time stamp age from that time stamp.
    pub fn advance(&mut self, time: Time) {
        if self.clock == Time::UNKNOWN && time != Time::UNKNOWN {
            self.sets.iter_mut().for_each(|set| set.since = time);
        }
        self.clock = self.clock.max(time);
    }

    /// Whether there may be no room for another set of the largest size.
    fn is_full(&self) -> bool {
        self.sets.len() >= MAX_SETS || self.memory > MAX_BYTES.saturating_sub(MAX_SET_MEMORY)
    }

    /// Whether the oldest set has expired.
    fn is_expired(&self) -> bool {
        let age = self.sets.front().and_then(|oldest| self.clock.since(oldest.since));
        age.is_some_and(|age| age > MAX_AGE)
    }

    /// Number of the set that a fragment belongs to, created if necessary; `None` where the fragment is a late copy.
    fn set_for(&mut self, fragment: &Fragment<'_>) -> Option<u64> {
        let key = fragment.header.key;
        if let Some(&number) = self.by_key.get(&key)
            && let Some(set) = self.sets.get_mut(index_of(self.removed, number))
        {
            if !set.packet.is_whole() {
                return Some(number);
            }
            if set.repeats(fragment) {
                self.counts.copies = self.counts.copies.saturating_add(1);
                return None;
            }
            // The set of the next packet replaces it.
            self.memory = self.memory.saturating_sub(std::mem::take(&mut set.buffers).memory());
        }
        let number = self.removed.saturating_add(self.sets.len() as u64);
        self.by_key.insert(key, number);
        self.sets.push_back(Set::new(fragment, self.clock));
        Some(number)
    }

    /// Removes the oldest set, for want of room (`evicted`) or because it has expired. Returns its packet if that is
    /// incomplete and its beginning has arrived.
    fn evict_oldest(&mut self, evicted: bool) -> Option<Packet> {
        let set = self.sets.pop_front()?;
        let number = self.removed;
        self.removed = number.saturating_add(1);
        self.memory = self.memory.saturating_sub(set.buffers.memory());
        let key = set.packet.key;
        if self.by_key.get(&key) == Some(&number) {
            self.by_key.remove(&key);
        }
        if set.packet.is_whole() {
            return None;
        }
        self.counts.evicted = self.counts.evicted.saturating_add(u64::from(evicted));
        let begun = set.packet();
        let count = if begun.is_some() { &mut self.counts.begun } else { &mut self.counts.headless };
        *count = count.saturating_add(1);
        begun
    }
}

/// Index of set `number` once `removed` sets have been removed.
fn index_of(removed: u64, number: u64) -> usize {
    usize::try_from(number.wrapping_sub(removed)).unwrap_or(usize::MAX)
}
