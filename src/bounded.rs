//! Maps that forget their oldest entries.

use crate::buckets::Buckets;
use crate::budget::{Budget, Forgets};
use crate::capture::Time;
use crate::fold::hash_one;
use crate::net::Endpoint;
use hashbrown::DefaultHashBuilder;
use prefetch_index::prefetch_index;
use std::hash::Hash;

/// How many entries before it is replaced the memory of an entry is asked for.
const AHEAD: usize = 4;

/// A hash map of at most `MOST` entries with 64 MiB: when it is full, the entry inserted first is dropped and counted.
///
/// Age decides which entry is dropped, never the position of its hash: hashes are seeded, and two runs must not
/// differ.
///
/// ```text
///  index, by hash of the key ──place──> [ key, value │ key, value │ ... ]   the next one takes the oldest's place
/// ```
#[derive(Debug)]
pub struct Bounded<K, V, const MOST: usize> {
    /// In the order of insertion, as a ring that begins with the oldest entry at `oldest`.
    entries: Vec<(K, V)>,
    oldest: usize,
    index: Buckets,
    hasher: DefaultHashBuilder,
    most: usize,
    forgotten: u64,
}

/// An empty map; memory is taken as it fills.
impl<K, V, const MOST: usize> From<Budget> for Bounded<K, V, MOST> {
    fn from(budget: Budget) -> Self {
        let (index, hasher, most) = (Buckets::default(), DefaultHashBuilder::default(), budget.of(MOST));
        Bounded { entries: vec![], oldest: 0, index, hasher, most, forgotten: 0 }
    }
}

/// Counts entries that were still needed, as far as who inserted others said so.
impl<K, V, const MOST: usize> Forgets for Bounded<K, V, MOST> {
    fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

impl<K: Copy + Eq + Hash, V, const MOST: usize> Bounded<K, V, MOST> {
    #[inline]
    fn place(&self, hash: u64, key: &K) -> Option<usize> {
        self.index.find(hash, |at| self.entries[at as usize].0 == *key).map(|at| at as usize)
    }

    /// Asks for the memory by which `key` is found.
    #[inline(always)]
    pub fn prefetch(&self, key: &K) {
        self.index.prefetch(hash_one(&self.hasher, key));
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.place(hash_one(&self.hasher, key), key).map(|at| &self.entries[at].1)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.place(hash_one(&self.hasher, key), key).map(|at| &mut self.entries[at].1)
    }

    /// The key of the newest value for which `is` holds; all values may be examined.
    pub fn latest(&self, is: impl Fn(&V) -> bool) -> Option<K> {
        let (newer, older) = self.entries.split_at_checked(self.oldest)?;
        let newest_first = newer.iter().rev().chain(older.iter().rev());
        newest_first.into_iter().find(|(_, value)| is(value)).map(|(key, _)| *key)
    }

    /// Whether nothing is remembered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Remembers a value; a known key keeps its age, and its old value is returned.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash_one(&self.hasher, key);
        match self.place(hash, &key) {
            Some(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            None => {
                self.add(hash, key, value, |_| true);
                None
            }
        }
    }

    /// The value of `key`, which is set to `new` if there is none.
    #[inline]
    pub fn get_or_insert(&mut self, key: K, new: V) -> &mut V {
        self.get_or_insert_over(key, new, |_| true)
    }

    /// The same; the entry that makes room for a new one counts as forgotten only if it is still `needed`.
    #[inline]
    pub fn get_or_insert_over(&mut self, key: K, new: V, needed: impl Fn(&(K, V)) -> bool) -> &mut V {
        let hash = hash_one(&self.hasher, key);
        let at = self.place(hash, &key).unwrap_or_else(|| self.add(hash, key, new, needed));
        &mut self.entries[at].1
    }

    /// Adds a new key, and returns its place.
    fn add(&mut self, hash: u64, key: K, value: V, needed: impl Fn(&(K, V)) -> bool) -> usize {
        let at = if self.entries.len() < self.most {
            if self.index.is_full() {
                let hashed = |(at, (key, _)): (usize, &(K, V))| (hash_one(&self.hasher, key), at as u32);
                self.index.grow(self.entries.iter().enumerate().map(hashed));
            }
            self.entries.push((key, value));
            self.entries.len() - 1
        } else {
            self.replace_oldest(key, value, needed)
        };
        self.index.add(hash, at as u32);
        at
    }

    /// Replaces the oldest entry, which is forgotten; returns its place.
    fn replace_oldest(&mut self, key: K, value: V, needed: impl Fn(&(K, V)) -> bool) -> usize {
        let at = self.oldest;
        // Entries are replaced in a row.
        prefetch_index(&self.entries, at + 2 * AHEAD);
        let next = self.entries.get(at + AHEAD);
        next.into_iter().for_each(|(key, _)| self.prefetch(key));
        let gone = std::mem::replace(&mut self.entries[at], (key, value));
        self.index.remove(hash_one(&self.hasher, gone.0), at as u32);
        self.oldest = (at + 1) % self.most;
        self.forgotten += u64::from(needed(&gone));
        at
    }

    /// The key that the next new entry replaces; `None` while there is room.
    fn next_to_go(&self) -> Option<K> {
        if self.entries.len() < self.most { None } else { self.entries.get(self.oldest).map(|e| e.0) }
    }
}

/// Most pairs of server and client address whose latest requests are remembered with 64 MiB.
const MAX_ASKING: usize = 16_384;

/// When each client address sent its last `N` requests to a server, for request limits; the oldest address is
/// dropped first.
#[derive(Debug)]
pub struct Asking<const N: usize>(Bounded<(Endpoint, Endpoint), [Option<Time>; N], MAX_ASKING>);

impl<const N: usize> From<Budget> for Asking<N> {
    fn from(budget: Budget) -> Self {
        Asking(budget.into())
    }
}

impl<const N: usize> Asking<N> {
    /// Remembers a request; returns whether its address sent `N` others in the `span` nanoseconds before it.
    pub fn exceeds(&mut self, server: Endpoint, client: Endpoint, now: Time, span: i64) -> bool {
        // Requests before that say nothing more.
        let recent = |at: &Time| now.since(*at).is_some_and(|age| age < span);
        let needed = |(_, times): &(_, [Option<Time>; N])| times.iter().flatten().any(recent);
        let times = self.0.get_or_insert_over((server, client.host()), [None; N], needed);
        times.rotate_left(1);
        let oldest = times.last_mut().and_then(|latest| latest.replace(now));
        oldest.and_then(|oldest| now.since(oldest)).is_some_and(|age| (0..span).contains(&age))
    }
}

impl<const N: usize> Forgets for Asking<N> {
    fn forgotten(&self) -> u64 {
        self.0.forgotten()
    }
}

/// A map by exchange number, of at most `MOST` entries with 64 MiB, which knows which numbers may have been forgotten. That
/// counts only where one of them is sought: most exchanges have ended by then.
#[derive(Debug)]
pub struct Numbered<V, const MOST: usize> {
    map: Bounded<u64, V, MOST>,
    /// The highest number forgotten; numbers start at 1.
    gone: u64,
    missed: u64,
}

impl<V, const MOST: usize> From<Budget> for Numbered<V, MOST> {
    fn from(budget: Budget) -> Self {
        Numbered { map: budget.into(), gone: 0, missed: 0 }
    }
}

impl<V, const MOST: usize> Forgets for Numbered<V, MOST> {
    fn forgotten(&self) -> u64 {
        self.missed
    }
}

impl<V, const MOST: usize> Numbered<V, MOST> {
    /// Whether nothing is remembered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The value of a number.
    pub fn get(&self, number: u64) -> Option<&V> {
        self.map.get(&number)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut V> {
        self.map.get_mut(&number)
    }

    /// The same; a number that may have been forgotten counts.
    pub fn find(&mut self, number: u64) -> Option<&mut V> {
        self.missed += u64::from(self.may_have_forgotten(number));
        self.map.get_mut(&number)
    }

    /// Remembers a value; a known number keeps its age.
    pub fn insert(&mut self, number: u64, value: V) {
        let oldest = self.map.next_to_go();
        if self.map.insert(number, value).is_none() {
            self.gone = self.gone.max(oldest.unwrap_or(0));
        }
    }

    /// Whether a number is unknown that may have been known and forgotten.
    pub fn may_have_forgotten(&self, number: u64) -> bool {
        number <= self.gone && self.get(number).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_driven_out_may_have_been_known_and_so_may_those_before_it() {
        let mut known = Numbered::<char, 2>::from(Budget::default());
        [2, 5, 2].into_iter().for_each(|number| known.insert(number, 'a'));
        assert_eq!([1, 2, 5].map(|number| known.may_have_forgotten(number)), [false; 3]);
        known.insert(6, 'b');
        assert_eq!([1, 2, 3, 5, 6].map(|n| known.may_have_forgotten(n)), [true, true, false, false, false]);
        known.insert(1, 'c');
        assert_eq!([1, 4, 5].map(|n| known.may_have_forgotten(n)), [false, true, true]);
    }

    #[test]
    fn the_oldest_goes_first_and_is_counted() {
        let mut b = Bounded::<_, _, 2>::from(Budget::default());
        b.insert(1, 'a');
        assert_eq!(b.next_to_go(), None, "there is room");
        b.insert(2, 'b');
        assert_eq!(b.insert(1, 'c'), Some('a'), "it keeps its age");
        assert_eq!((b.next_to_go(), b.forgotten()), (Some(1), 0));
        b.insert(3, 'd');
        assert_eq!((b.get(&1), b.get(&2), b.get(&3)), (None, Some(&'b'), Some(&'d')));
        assert_eq!(b.forgotten(), 1);
    }
}
