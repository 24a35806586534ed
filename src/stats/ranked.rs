//! A map of bounded size that keeps the entries that weigh most.

use hashbrown::HashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// What a [`Ranked`] can weigh and add up.
pub trait Weighed: Default {
    /// The weight, which decides which entries stay.
    fn weight(&self) -> u64;
    /// Adds the value of an entry that is removed.
    fn absorb(&mut self, other: Self);
}

/// A hash map of at most twice `most` entries. When it is full, the lighter half is removed and added up in one value.
///
/// Weight and then the order of the keys decide, never the position of a hash: hashes are seeded, and two runs must not
/// differ.
#[derive(Debug)]
pub struct Ranked<K, V> {
    map: HashMap<K, V>,
    most: usize,
    /// The removed entries, added up.
    pub rest: V,
    /// How many entries were removed; an entry that comes back and is removed again counts again.
    pub left_out: u64,
}

impl<K: Copy + Ord + Hash, V: Weighed> Ranked<K, V> {
    /// An empty map that always keeps the `most` heaviest entries.
    pub fn new(most: usize) -> Self {
        Ranked { map: HashMap::new(), most: most.max(1), rest: V::default(), left_out: 0 }
    }

    /// The value of `key`, made where there is none.
    pub fn entry(&mut self, key: K) -> &mut V {
        if self.map.len() >= self.most.saturating_mul(2) && !self.map.contains_key(&key) {
            self.halve();
        }
        self.map.entry(key).or_default()
    }

    #[cold]
    fn halve(&mut self) {
        let mut order: Vec<_> = self.map.iter().map(|(key, value)| (Reverse(value.weight()), *key)).collect();
        order.sort_unstable();
        for (_, key) in order.iter().skip(self.most) {
            if let Some(value) = self.map.remove(key) {
                self.rest.absorb(value);
                self.left_out += 1;
            }
        }
    }

    /// The entries, the heaviest first.
    pub fn sorted(&self) -> Vec<(K, &V)> {
        let mut list: Vec<_> = self.map.iter().map(|(key, value)| (*key, value)).collect();
        list.sort_unstable_by_key(|(key, value)| (Reverse(value.weight()), *key));
        list
    }

    /// The values in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.map.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Sum(u64);

    impl Weighed for Sum {
        fn weight(&self) -> u64 {
            self.0
        }
        fn absorb(&mut self, other: Sum) {
            self.0 += other.0;
        }
    }

    #[test]
    fn a_flood_of_light_ones_does_not_drive_out_the_heavy_and_nothing_is_lost() {
        let mut map = Ranked::<u32, Sum>::new(4);
        for key in 0..1_000_u32 {
            map.entry(key).0 += 1;
            map.entry(5_000).0 += 10; // the only one that always speaks
            assert!(map.values().count() <= 8);
        }
        let list = map.sorted();
        assert_eq!(list[0], (5_000, &Sum(10_000)));
        let kept: u64 = map.values().map(|v| v.0).sum();
        assert_eq!(kept + map.rest.0, 11_000);
        assert_eq!(map.left_out + list.len() as u64, 1_001);
        // Of entries of the same weight, the first in order stay.
        assert!(list.iter().skip(1).take(3).map(|(key, _)| *key).eq(0..3), "{list:?}");
    }
}
