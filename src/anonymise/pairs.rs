//! The pairs of ends between which datagrams of the protocols came.

use crate::net::Datagram;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

/// Most pairs that are remembered; then all are forgotten.
pub const MAX_PAIRS: usize = 65_536;

/// Pairs by a hash, each with a bit for each way in which another datagram came.
#[derive(Debug, Default)]
pub struct Pairs {
    others: HashMap<u64, u8>,
    hasher: DefaultHashBuilder,
}

impl Pairs {
    /// The hash of the ends of a datagram, and the bit of its way.
    fn of(&self, d: &Datagram<'_>) -> (u64, u8) {
        match d.src.order() <= d.dst.order() {
            true => (self.hasher.hash_one((d.src, d.dst)), 1),
            false => (self.hasher.hash_one((d.dst, d.src)), 2),
        }
    }

    /// Notes the ends of a datagram of one of the protocols.
    pub fn note(&mut self, d: &Datagram<'_>) {
        let (pair, _) = self.of(d);
        if self.others.len() >= MAX_PAIRS {
            self.others.clear();
        }
        self.others.entry(pair).or_default();
    }

    /// Whether a datagram is the first one of no protocol that comes this way between noted ends. Then it is noted, too.
    pub fn is_first_other(&mut self, d: &Datagram<'_>) -> bool {
        let (pair, way) = self.of(d);
        let others = self.others.get_mut(&pair).filter(|others| **others & way == 0);
        others.map(|others| *others |= way).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    fn between(port: u16, is_back: bool) -> Datagram<'static> {
        let [a, b] = [1, 2].map(|last| Endpoint::v4([192, 0, 2, last], port));
        if is_back { Datagram::between(b, a, b"") } else { Datagram::between(a, b, b"") }
    }

    #[test]
    fn one_other_datagram_each_way_is_the_first() {
        let mut pairs = Pairs::default();
        assert!(!pairs.is_first_other(&between(7, false)));
        pairs.note(&between(7, true));
        let is_first = [false, false, true, true].map(|is_back| pairs.is_first_other(&between(7, is_back)));
        assert_eq!(is_first, [true, false, true, false]);
        assert!(!pairs.is_first_other(&between(8, false)));
    }

    #[test]
    fn pairs_beyond_the_limit_are_forgotten() {
        let mut pairs = Pairs::default();
        (0..=u16::MAX).chain(0..9).for_each(|port| pairs.note(&between(port, false)));
        pairs.note(&Datagram::between(Endpoint::default(), Endpoint::v4([9; 4], 9), b""));
        assert!(pairs.others.len() <= MAX_PAIRS);
    }
}
