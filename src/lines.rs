//! Places in a list by hash: each hash has a line of the cache, which holds fifteen places.
//!
//! ```text
//!  hash ──low bits──> [ 15 tags of 16 bits │ how many lie further on │ 15 places of 16 bits │ - ]
//! ```

/// Places of a line.
const WIDTH: usize = 15;
/// The least number of lines.
const LEAST: usize = 16;

/// One line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    /// Four tags each; the last one counts those that belong here and found no room.
    tags: [u64; 4],
    places: [u16; 16],
}

const EMPTY: Line = Line { tags: [0; 4], places: [0; 16] };
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGHS: u64 = 0x8000_8000_8000_8000;

impl Line {
    #[inline(always)]
    fn tag(&self, i: usize) -> u16 {
        (self.tags[(i / 4) & 3] >> (i % 4 * 16)) as u16
    }
    #[inline(always)]
    fn set(&mut self, i: usize, tag: u16) {
        let shift = i % 4 * 16;
        let word = &mut self.tags[(i / 4) & 3];
        *word = *word & !(0xffff << shift) | u64::from(tag) << shift;
    }
    #[inline(always)]
    fn beyond(&self) -> u16 {
        (self.tags[3] >> 48) as u16
    }
    /// Asks about each place with that tag; false alarms are possible.
    #[inline(always)]
    fn find(&self, tag: u16, mut is_it: impl FnMut(u16) -> bool) -> Option<usize> {
        let all = u64::from(tag).wrapping_mul(ONES);
        for word in 0..4 {
            let x = self.tags[word] ^ all;
            let mut hits = x.wrapping_sub(ONES) & !x & HIGHS;
            while hits != 0 {
                let i = word * 4 + hits.trailing_zeros() as usize / 16;
                if i < WIDTH && self.tag(i) == tag && is_it(self.places[i & 15]) {
                    return Some(i);
                }
                hits &= hits - 1;
            }
        }
        None
    }
}

/// See the module's words. Tags are never 0.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Vec<Line>,
    len: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Lines { lines: vec![EMPTY; LEAST], len: 0 }
    }
}

#[inline(always)]
fn tag_of(hash: u64) -> u16 {
    (hash >> 48) as u16 | 1
}

impl Lines {
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.lines.len() - 1)
    }

    /// The place with this hash of which `is_it` says that it is the one.
    #[inline(always)]
    pub fn find(&self, hash: u64, is_it: impl Fn(u16) -> bool) -> Option<u16> {
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let line = &self.lines[at];
            if let Some(i) = line.find(tag, &is_it) {
                return Some(line.places[i & 15]);
            }
            if line.beyond() == 0 {
                return None;
            }
            at = (at + 1) & (self.lines.len() - 1);
        }
    }

    /// Whether there must be more lines before a place is added.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len >= self.lines.len() * 8
    }

    /// Begins again with more lines.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, all: impl Iterator<Item = (u64, u16)>) {
        self.lines = vec![EMPTY; self.lines.len() * 2];
        self.len = 0;
        all.for_each(|(hash, place)| self.add(hash, place));
    }

    /// Adds a place that is not there.
    #[inline(always)]
    pub fn add(&mut self, hash: u64, place: u16) {
        self.len += 1;
        let (mut at, tag) = (self.home(hash), tag_of(hash));
        loop {
            let most = self.lines.len() - 1;
            let line = &mut self.lines[at];
            let free = line.find(0, |_| true);
            if let Some(i) = free {
                line.set(i, tag);
                line.places[i & 15] = place;
                return;
            }
            line.tags[3] = line.tags[3].wrapping_add(1 << 48);
            at = (at + 1) & most;
        }
    }

    /// Takes a place out.
    #[inline(always)]
    pub fn remove(&mut self, hash: u64, place: u16) {
        let (home, tag, most) = (self.home(hash), tag_of(hash), self.lines.len() - 1);
        let mut at = home;
        loop {
            let line = &mut self.lines[at];
            if let Some(i) = line.find(tag, |other| other == place) {
                line.set(i, 0);
                self.len -= 1;
                break;
            }
            if line.beyond() == 0 {
                return;
            }
            at = (at + 1) & most;
        }
        let mut back = home;
        while back != at {
            self.lines[back].tags[3] = self.lines[back].tags[3].wrapping_sub(1 << 48);
            back = (back + 1) & most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few hashes, so that lines run over and tags are the same; each place is there once.
        #[test]
        fn what_was_added_and_not_removed_is_found(
            steps in prop::collection::vec((any::<bool>(), 0_u16..400, 0_u64..4, 0_u64..3), 1..1_500),
        ) {
            let (mut lines, mut model) = (Lines::default(), std::collections::BTreeMap::new());
            for (adds, place, low, high) in steps {
                let hash = low | high << 48;
                match model.remove(&place) {
                    Some(hash) => lines.remove(hash, place),
                    None if adds => {
                        if lines.is_full() {
                            lines.grow(model.iter().map(|(&place, &hash)| (hash, place)));
                        }
                        lines.add(hash, place);
                        model.insert(place, hash);
                    }
                    None => {}
                }
                prop_assert_eq!(lines.find(hash, |other| other == place), model.get(&place).map(|_| place));
            }
            for (&place, &hash) in &model {
                prop_assert_eq!(lines.find(hash, |other| other == place), Some(place));
                prop_assert_eq!(lines.find(hash ^ 1 << 60, |other| other == place), None);
            }
        }
    }
}
