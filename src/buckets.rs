//! An index of places in a list by hash: each hash belongs to a bucket of ten places, which is one cache line.
//!
//! ```text
//!  hash ──low bits──> [ 10 tags of 16 bits │ - │ how many lie further on │ 10 places of 32 bits ]
//! ```

use prefetch_index::prefetch_index;

/// Places in a bucket.
const WIDTH: usize = 10;
/// Average number of filled places per bucket above which more buckets are needed.
const FULL: usize = 5;
/// The least number of buckets.
const LEAST: usize = 16;

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Four tags in each word; the last tag of all counts the places that belong here and found no room.
    tags: [u64; 3],
    places: [u32; WIDTH],
}

const EMPTY: Bucket = Bucket { tags: [0; 3], places: [0; WIDTH] };
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGHS: u64 = 0x8000_8000_8000_8000;

impl Bucket {
    #[inline(always)]
    fn tag(&self, i: usize) -> u16 {
        (self.tags[i / 4] >> (i % 4 * 16)) as u16
    }
    #[inline(always)]
    fn set(&mut self, i: usize, tag: u16) {
        let shift = i % 4 * 16;
        let word = &mut self.tags[i / 4];
        *word = *word & !(0xffff << shift) | u64::from(tag) << shift;
    }
    #[inline(always)]
    fn beyond(&self) -> u16 {
        (self.tags[2] >> 48) as u16
    }
    /// Calls `is_it` for each place with that tag; places of other hashes may have the same tag.
    #[inline(always)]
    fn find(&self, tag: u16, mut is_it: impl FnMut(u32) -> bool) -> Option<usize> {
        let all = u64::from(tag).wrapping_mul(ONES);
        for (word, tags) in self.tags.iter().enumerate() {
            let x = tags ^ all;
            let mut hits = x.wrapping_sub(ONES) & !x & HIGHS;
            while hits != 0 {
                let i = word * 4 + hits.trailing_zeros() as usize / 16;
                if i < WIDTH && self.tag(i) == tag && is_it(self.places[i]) {
                    return Some(i);
                }
                hits &= hits - 1;
            }
        }
        None
    }
}

/// The index, see the module documentation. Tags are never 0.
#[derive(Debug)]
pub(crate) struct Buckets {
    buckets: Vec<Bucket>,
    len: usize,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { buckets: vec![EMPTY; LEAST], len: 0 }
    }
}

#[inline(always)]
fn tag_of(hash: u64) -> u16 {
    (hash >> 48) as u16 | 1
}

impl Buckets {
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Asks for the memory of the bucket of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch_index(&self.buckets, self.home(hash));
    }

    /// The place with this hash for which `is_it` holds.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let bucket = &self.buckets[at];
            if let Some(i) = bucket.find(tag, &mut is_it) {
                return Some(bucket.places[i]);
            }
            if bucket.beyond() == 0 {
                return None;
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    /// Whether more buckets are needed before a place is added.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= self.buckets.len() * FULL
    }

    /// Starts again with twice as many buckets and all places.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, all: impl Iterator<Item = (u64, u32)>) {
        let more = self.buckets.len() * 2;
        self.buckets = vec![]; // its memory is not needed beside the new one
        self.buckets.resize(more, EMPTY);
        self.len = 0;
        all.for_each(|(hash, place)| self.add(hash, place));
    }

    /// Adds a place that is not in the index.
    #[inline(always)]
    pub fn add(&mut self, hash: u64, place: u32) {
        self.len += 1;
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let most = self.buckets.len() - 1;
            let bucket = &mut self.buckets[at];
            let free = bucket.find(0, |_| true);
            if let Some(i) = free {
                bucket.set(i, tag);
                bucket.places[i] = place;
                return;
            }
            bucket.tags[2] = bucket.tags[2].wrapping_add(1 << 48);
            at = (at + 1) & most;
        }
    }

    /// Removes a place.
    #[inline(always)]
    pub fn remove(&mut self, hash: u64, place: u32) {
        let (home, tag, most) = (self.home(hash), tag_of(hash), self.buckets.len() - 1);
        let mut at = home;
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(i) = bucket.find(tag, |other| other == place) {
                bucket.set(i, 0);
                self.len -= 1;
                break;
            }
            if bucket.beyond() == 0 {
                return;
            }
            at = (at + 1) & most;
        }
        let mut back = home;
        while back != at {
            self.buckets[back].tags[2] = self.buckets[back].tags[2].wrapping_sub(1 << 48);
            back = (back + 1) & most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few hashes, so that buckets overflow and tags are equal; each place is there once.
        #[test]
        fn what_was_added_and_not_removed_is_found(
            steps in prop::collection::vec((any::<bool>(), 0_u32..400, 0_u64..4, 0_u64..3), 1..1_500),
        ) {
            let (mut buckets, mut model) = (Buckets::default(), std::collections::BTreeMap::new());
            for (adds, place, low, high) in steps {
                let hash = low | high << 48;
                match model.remove(&place) {
                    Some(hash) => buckets.remove(hash, place),
                    None if adds => {
                        if buckets.is_full() {
                            buckets.grow(model.iter().map(|(&place, &hash)| (hash, place)));
                        }
                        buckets.add(hash, place);
                        model.insert(place, hash);
                    }
                    None => {}
                }
                prop_assert_eq!(buckets.find(hash, |other| other == place), model.get(&place).map(|_| place));
            }
            for (&place, &hash) in &model {
                prop_assert_eq!(buckets.find(hash, |other| other == place), Some(place));
                prop_assert_eq!(buckets.find(hash ^ 1 << 60, |other| other == place), None);
            }
        }
    }
}
