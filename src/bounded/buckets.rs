//! A hash index of positions in a list: each hash belongs to a bucket of ten positions, which is one cache line.
//!
//! ```text
//!  hash ──low bits──> [ 10 tags of 16 bits │ - │ overflow count │ 10 positions of 32 bits ]
//! ```

use prefetch_index::prefetch_index;

/// Positions in a bucket.
const WIDTH: usize = 10;
/// Average number of positions per bucket above which more buckets are needed.
const FULL: usize = 5;
/// The least number of buckets.
const MIN_BUCKETS: usize = 16;

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Four tags in each word; the very last tag counts the positions that belong here but are in a later bucket.
    tags: [u64; 3],
    positions: [u32; WIDTH],
}

const EMPTY: Bucket = Bucket { tags: [0; 3], positions: [0; WIDTH] };
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
    fn overflow(&self) -> u16 {
        (self.tags[2] >> 48) as u16
    }
    /// The index of the first position with that tag for which `matches` holds; positions of other hashes may have the
    /// same tag.
    #[inline(always)]
    fn find(&self, tag: u16, matches: &mut impl FnMut(u32) -> bool) -> Option<usize> {
        let repeated = u64::from(tag).wrapping_mul(ONES);
        for (word, tags) in self.tags.iter().enumerate() {
            let x = tags ^ repeated;
            let mut hits = x.wrapping_sub(ONES) & !x & HIGHS;
            while hits != 0 {
                let i = word * 4 + hits.trailing_zeros() as usize / 16;
                if i < WIDTH && self.tag(i) == tag && matches(self.positions[i]) {
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
        Buckets { buckets: vec![EMPTY; MIN_BUCKETS], len: 0 }
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

    /// Prefetches the bucket of a hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch_index(&self.buckets, self.home(hash));
    }

    /// The position with this hash for which `matches` holds.
    #[inline(always)]
    pub fn find(&self, hash: u64, mut matches: impl FnMut(u32) -> bool) -> Option<u32> {
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let bucket = &self.buckets[at];
            if let Some(i) = bucket.find(tag, &mut matches) {
                return Some(bucket.positions[i]);
            }
            if bucket.overflow() == 0 {
                return None;
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
    }

    /// Whether more buckets are needed before a position is added.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= self.buckets.len() * FULL
    }

    /// Rebuilds the index with twice as many buckets from all positions.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, all: impl Iterator<Item = (u64, u32)>) {
        let doubled = self.buckets.len() * 2;
        self.buckets = vec![]; // freed before the new one is allocated
        self.buckets.resize(doubled, EMPTY);
        self.len = 0;
        all.for_each(|(hash, position)| self.add(hash, position));
    }

    /// Adds a position that is not in the index.
    #[inline(always)]
    pub fn add(&mut self, hash: u64, position: u32) {
        self.len += 1;
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let mask = self.buckets.len() - 1;
            let bucket = &mut self.buckets[at];
            let free = bucket.find(0, &mut |_| true);
            if let Some(i) = free {
                bucket.set(i, tag);
                bucket.positions[i] = position;
                return;
            }
            bucket.tags[2] = bucket.tags[2].wrapping_add(1 << 48);
            at = (at + 1) & mask;
        }
    }

    /// Removes a position.
    #[inline(always)]
    pub fn remove(&mut self, hash: u64, position: u32) {
        let (home, tag, mask) = (self.home(hash), tag_of(hash), self.buckets.len() - 1);
        let mut at = home;
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(i) = bucket.find(tag, &mut |other| other == position) {
                bucket.set(i, 0);
                self.len -= 1;
                break;
            }
            if bucket.overflow() == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
        let mut passed = home;
        while passed != at {
            self.buckets[passed].tags[2] = self.buckets[passed].tags[2].wrapping_sub(1 << 48);
            passed = (passed + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few hashes, so that buckets overflow and tags are equal; each position is there once.
        #[test]
        fn added_places_are_found_until_removed(
            steps in prop::collection::vec((any::<bool>(), 0_u32..400, 0_u64..4, 0_u64..3), 1..1_500),
        ) {
            let (mut buckets, mut model) = (Buckets::default(), std::collections::BTreeMap::new());
            for (adds, position, low, high) in steps {
                let hash = low | high << 48;
                match model.remove(&position) {
                    Some(hash) => buckets.remove(hash, position),
                    None if adds => {
                        if buckets.is_full() {
                            buckets.grow(model.iter().map(|(&position, &hash)| (hash, position)));
                        }
                        buckets.add(hash, position);
                        model.insert(position, hash);
                    }
                    None => {}
                }
                prop_assert_eq!(buckets.find(hash, |other| other == position), model.get(&position).map(|_| position));
            }
            for (&position, &hash) in &model {
                prop_assert_eq!(buckets.find(hash, |other| other == position), Some(position));
                prop_assert_eq!(buckets.find(hash ^ 1 << 60, |other| other == position), None);
            }
        }
    }
}
