//! An index of places in a list by hash; its owner knows what is at a place.
//!
//! Places are not removed when their entry leaves the list: that would mean two accesses to slow memory, one after
//! the other, each time. They are skipped when something else is found there, and dropped when there is no more
//! room.

use hashbrown::HashTable;
use std::cell::Cell;

/// The index is tidied up after this many wrong answers for each place in use.
const PATIENCE: usize = 8;
/// The least capacity.
const LEAST: usize = 16;

/// The index, see the module documentation.
#[derive(Debug)]
pub(crate) struct Places<P> {
    table: HashTable<P>,
    /// How often a place was not the right one: seldom, except where the same entry comes and goes again and again.
    wrong: Cell<usize>,
}

impl<P> Default for Places<P> {
    fn default() -> Self {
        Places { table: HashTable::new(), wrong: Cell::new(0) }
    }
}

impl<P: Copy> Places<P> {
    /// The place with this hash for which `is_it` holds. `is_it` is also called for other places, including places
    /// that hold something else by now, or nothing.
    #[inline(always)]
    pub fn find(&self, hash: u64, is_it: impl Fn(P) -> bool) -> Option<P> {
        let right = |&place: &P| {
            let right = is_it(place);
            if !right {
                self.wrong.set(self.wrong.get() + 1);
            }
            right
        };
        self.table.find(hash, right).copied()
    }

    /// Adds a place. `all` yields the places in use with their hashes, including this one; there are at most `most`
    /// of them.
    #[inline(always)]
    pub fn add<I: Iterator<Item = (u64, P)>>(
        &mut self,
        hash: u64,
        place: P,
        most: usize,
        all: impl FnOnce() -> I,
    ) {
        if self.table.len() == self.table.capacity() || self.wrong.get() > PATIENCE * most.max(LEAST) {
            return self.tidy(most, all());
        }
        // There is room, so no place is hashed again.
        self.table.insert_unique(hash, place, |_| hash);
    }

    /// Starts again with the places in use, which fill two thirds at most.
    #[cold]
    #[inline(never)]
    fn tidy(&mut self, most: usize, all: impl Iterator<Item = (u64, P)>) {
        let room = (most + most / 2 + 1).max(LEAST);
        match self.table.capacity() < room {
            true => self.table = HashTable::with_capacity(room),
            false => self.table.clear(),
        }
        self.wrong.set(0);
        all.for_each(|(hash, place)| {
            self.table.insert_unique(hash, place, |_| hash);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_comes_and_goes_again_and_again_does_not_make_the_way_to_it_long() {
        const MOST: usize = 1_000;
        let mut places = Places::default();
        let asked = Cell::new(0_usize);
        for n in 0..20 * MOST {
            // The key is always the same, each time at another place, and is found at none of the earlier ones.
            let at = (n % MOST) as u16;
            let found = places.find(7, |_| {
                asked.set(asked.get() + 1);
                false
            });
            assert_eq!(found, None);
            places.add(7, at, MOST, || [(7, at)].into_iter());
        }
        assert!(asked.get() < 20 * MOST * 200, "{}", asked.get());
    }

    proptest! {
        /// A ring of eight places, the oldest of which is taken again and again.
        #[test]
        fn what_is_in_use_is_found_and_nothing_else(keys in prop::collection::vec(0_u64..40, 1..400)) {
            const MOST: usize = 8;
            let (mut places, mut list): (Places<u16>, Vec<u64>) = (Places::default(), vec![]);
            // Few hashes, so that many keys share one.
            let hash = |key: u64| (key % 5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for (n, key) in keys.into_iter().enumerate() {
                if !list.contains(&key) {
                    let at = n % MOST;
                    let at = if list.len() < MOST { list.len() } else { at };
                    list.resize(list.len().max(at + 1), key);
                    list[at] = key;
                    let all = || list.iter().enumerate().map(|(at, &key)| (hash(key), at as u16));
                    places.add(hash(key), at as u16, MOST, all);
                }
                for key in 0..40 {
                    let found = places.find(hash(key), |at| list[usize::from(at)] == key);
                    prop_assert_eq!(found.map(usize::from), list.iter().position(|&other| other == key));
                }
                prop_assert!(places.table.capacity() <= 4 * LEAST, "it grows with what is in use");
            }
        }
    }
}
