//! Maps that forget their oldest entries.

use super::buckets::Buckets;
use super::budget::{Budget, Forgets};
use super::hashing::hash_one;
use hashbrown::DefaultHashBuilder;
use prefetch_index::prefetch_index;
use std::hash::Hash;

/// How many replacements ahead the memory of the next entries to be replaced is prefetched.
const PREFETCH_DISTANCE: usize = 4;

/// A hash map of at most `MOST` entries with 64 MiB: when it is full, the entry inserted first is dropped and counted.
///
/// Age decides which entry is dropped, never the position of its hash: hashes are seeded, and two runs must not
/// differ.
///
/// ```text
///  index, by hash of the key ──position──> [ key, value │ key, value │ ... ]   a new entry replaces the oldest
/// ```
#[derive(Debug)]
pub struct Bounded<K, V, const MOST: usize> {
    /// In the order of insertion, as a ring that begins with the oldest entry at `oldest`.
    entries: Vec<(K, V)>,
    oldest: usize,
    index: Buckets,
    hasher: DefaultHashBuilder,
    capacity: usize,
    forgotten: u64,
}

/// An empty map; memory is taken as it fills.
impl<K, V, const MOST: usize> From<Budget> for Bounded<K, V, MOST> {
    fn from(budget: Budget) -> Self {
        let (index, hasher, capacity) = (Buckets::default(), DefaultHashBuilder::default(), budget.of(MOST));
        Bounded { entries: vec![], oldest: 0, index, hasher, capacity, forgotten: 0 }
    }
}

/// Counts the replaced entries that were still needed, by the `needed` of the call that replaced them.
impl<K, V, const MOST: usize> Forgets for Bounded<K, V, MOST> {
    fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

impl<K: Copy + Eq + Hash, V, const MOST: usize> Bounded<K, V, MOST> {
    #[inline]
    fn find(&self, hash: u64, key: &K) -> Option<usize> {
        self.index.find(hash, |at| self.entries[at as usize].0 == *key).map(|at| at as usize)
    }

    /// Prefetches the index entry of `key`.
    #[inline(always)]
    pub fn prefetch(&self, key: &K) {
        self.index.prefetch(hash_one(&self.hasher, key));
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.find(hash_one(&self.hasher, key), key).map(|at| &self.entries[at].1)
    }

    /// The value of `key`, mutable.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(hash_one(&self.hasher, key), key).map(|at| &mut self.entries[at].1)
    }

    /// The key of the newest value for which `matches` holds; it may examine all values.
    pub fn latest(&self, matches: impl Fn(&V) -> bool) -> Option<K> {
        let (newer, older) = self.entries.split_at_checked(self.oldest)?;
        let newest_first = newer.iter().rev().chain(older.iter().rev());
        newest_first.into_iter().find(|(_, value)| matches(value)).map(|(key, _)| *key)
    }

    /// All entries, in no certain order.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.entries.iter()
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
        match self.find(hash, &key) {
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

    /// As [`get_or_insert`](Self::get_or_insert), but an entry that is replaced by the new one counts as forgotten only
    /// if it is still `needed`.
    #[inline]
    pub fn get_or_insert_over(&mut self, key: K, new: V, needed: impl Fn(&(K, V)) -> bool) -> &mut V {
        let hash = hash_one(&self.hasher, key);
        let at = self.find(hash, &key).unwrap_or_else(|| self.add(hash, key, new, needed));
        &mut self.entries[at].1
    }

    /// Adds a new key, and returns its position.
    #[inline]
    fn add(&mut self, hash: u64, key: K, value: V, needed: impl Fn(&(K, V)) -> bool) -> usize {
        let at = if self.entries.len() < self.capacity {
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

    /// Replaces the oldest entry, and returns its position.
    fn replace_oldest(&mut self, key: K, value: V, needed: impl Fn(&(K, V)) -> bool) -> usize {
        let at = self.oldest;
        // Entries are replaced in order of their position.
        prefetch_index(&self.entries, at + 2 * PREFETCH_DISTANCE);
        let ahead = self.entries.get(at + PREFETCH_DISTANCE);
        ahead.into_iter().for_each(|(key, _)| self.prefetch(key));
        let replaced = std::mem::replace(&mut self.entries[at], (key, value));
        self.index.remove(hash_one(&self.hasher, replaced.0), at as u32);
        self.oldest = (at + 1) % self.capacity;
        self.forgotten += u64::from(needed(&replaced));
        at
    }

    /// The key that the next new entry replaces; `None` while there is room.
    fn next_replaced(&self) -> Option<K> {
        if self.entries.len() < self.capacity { None } else { self.entries.get(self.oldest).map(|e| e.0) }
    }
}

/// A map by exchange number, of at most `MOST` entries with 64 MiB, which knows which numbers may have been forgotten.
/// They are counted only when one is looked up, because most exchanges have ended by then.
#[derive(Debug)]
pub struct Numbered<V, const MOST: usize> {
    map: Bounded<u64, V, MOST>,
    /// The highest number forgotten; numbers start at 1.
    highest_forgotten: u64,
    missed: u64,
}

impl<V, const MOST: usize> From<Budget> for Numbered<V, MOST> {
    fn from(budget: Budget) -> Self {
        Numbered { map: budget.into(), highest_forgotten: 0, missed: 0 }
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

    /// The value of a number, mutable.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut V> {
        self.map.get_mut(&number)
    }

    /// As [`get_mut`](Self::get_mut), but counts a number that may have been forgotten.
    pub fn find(&mut self, number: u64) -> Option<&mut V> {
        self.missed += u64::from(self.may_have_forgotten(number));
        self.map.get_mut(&number)
    }

    /// Remembers a value; a known number keeps its age.
    pub fn insert(&mut self, number: u64, value: V) {
        let oldest = self.map.next_replaced();
        if self.map.insert(number, value).is_none() {
            self.highest_forgotten = self.highest_forgotten.max(oldest.unwrap_or(0));
        }
    }

    /// Whether a number has no value but may have had one that was forgotten.
    pub fn may_have_forgotten(&self, number: u64) -> bool {
        number <= self.highest_forgotten && self.get(number).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evicted_number_and_those_below_may_have_been_known() {
        let mut map = Numbered::<char, 2>::from(Budget::default());
        [2, 5, 2].into_iter().for_each(|number| map.insert(number, 'a'));
        assert_eq!([1, 2, 5].map(|number| map.may_have_forgotten(number)), [false; 3]);
        map.insert(6, 'b');
        assert_eq!([1, 2, 3, 5, 6].map(|n| map.may_have_forgotten(n)), [true, true, false, false, false]);
        map.insert(1, 'c');
        assert_eq!([1, 4, 5].map(|n| map.may_have_forgotten(n)), [false, true, true]);
    }

    #[test]
    fn the_oldest_entry_is_evicted_first_and_counted() {
        let mut b = Bounded::<_, _, 2>::from(Budget::default());
        b.insert(1, 'a');
        assert_eq!(b.next_replaced(), None, "there is room");
        b.insert(2, 'b');
        assert_eq!(b.insert(1, 'c'), Some('a'), "a known key keeps its age");
        assert_eq!((b.next_replaced(), b.forgotten()), (Some(1), 0));
        b.insert(3, 'd');
        assert_eq!((b.get(&1), b.get(&2), b.get(&3)), (None, Some(&'b'), Some(&'d')));
        assert_eq!(b.forgotten(), 1);
    }
}
