//! The pairs of ends between which datagrams of the protocols came.

use crate::net::Datagram;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;

/// Most pairs that are remembered; then all are forgotten.
pub const MAX_PAIRS: usize = 65_536;

/// Most pairs of which nothing is known but a datagram of no protocol; then all are forgotten.
pub const MAX_OTHERS: usize = 4_096;

/// A pair by its hash, and the bit of a way.
pub type Way = (u64, u8);

/// The ends of the first datagram of no protocol that comes one way.
pub enum First {
    /// They have spoken one of the protocols.
    BetweenNoted,
    /// Nothing else is known of them.
    BetweenUnknown(Way),
}

/// Pairs by a hash, each with a bit for each way in which another datagram came.
#[derive(Debug, Default)]
pub struct Pairs {
    others: HashMap<u64, u8>,
    /// Pairs that have spoken none of the protocols, with the ways in which other datagrams came.
    unknown: HashMap<u64, u8>,
    hasher: DefaultHashBuilder,
}

impl Pairs {
    /// The hash of the ends of a datagram, and the bit of its way.
    fn of(&self, d: &Datagram<'_>) -> Way {
        match d.src.order() <= d.dst.order() {
            true => (self.hasher.hash_one((d.src, d.dst)), 1),
            false => (self.hasher.hash_one((d.dst, d.src)), 2),
        }
    }

    /// Notes the ends of a datagram of one of the protocols. Returns their hash if they are new, and other datagrams came between
    /// them.
    pub fn note(&mut self, d: &Datagram<'_>) -> Option<u64> {
        let (pair, _) = self.of(d);
        if self.others.contains_key(&pair) {
            return None;
        }
        if self.others.len() >= MAX_PAIRS {
            self.others.clear();
        }
        self.others.insert(pair, 0);
        self.unknown.remove(&pair).map(|_| pair)
    }

    /// Notes the ways in which other datagrams between two ends are written.
    pub fn note_others(&mut self, pair: u64, ways: u8) {
        self.others.entry(pair).and_modify(|others| *others |= ways);
    }

    /// Whether a datagram of no protocol is the first one that comes this way between its ends. Then it is noted, too.
    pub fn first_other(&mut self, d: &Datagram<'_>) -> Option<First> {
        let (pair, way) = self.of(d);
        let (ways, first) = match self.others.get_mut(&pair) {
            Some(ways) => (ways, First::BetweenNoted),
            None => {
                if self.unknown.len() >= MAX_OTHERS && !self.unknown.contains_key(&pair) {
                    self.unknown.clear();
                }
                (self.unknown.entry(pair).or_default(), First::BetweenUnknown((pair, way)))
            }
        };
        let is_first = *ways & way == 0;
        *ways |= way;
        is_first.then_some(first)
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

    fn is_first_other(pairs: &mut Pairs, d: &Datagram<'_>) -> bool {
        matches!(pairs.first_other(d), Some(First::BetweenNoted))
    }

    fn first_unknown(pairs: &mut Pairs, d: &Datagram<'_>) -> Option<Way> {
        match pairs.first_other(d) {
            Some(First::BetweenUnknown(way)) => Some(way),
            _ => None,
        }
    }

    #[test]
    fn one_other_datagram_each_way_is_the_first() {
        let mut pairs = Pairs::default();
        assert!(!is_first_other(&mut pairs, &between(7, false)));
        pairs.note(&between(7, true));
        let is_first =
            [false, false, true, true].map(|is_back| is_first_other(&mut pairs, &between(7, is_back)));
        assert_eq!(is_first, [true, false, true, false]);
        assert!(!is_first_other(&mut pairs, &between(8, false)));
    }

    #[test]
    fn what_came_before_a_pair_is_known_is_known_then() {
        let mut pairs = Pairs::default();
        let first = first_unknown(&mut pairs, &between(7, false));
        assert!(first.is_some() && first_unknown(&mut pairs, &between(7, false)).is_none());
        let noted = pairs.note(&between(7, true));
        assert_eq!(noted, first.map(|(pair, _)| pair));
        assert_eq!((pairs.note(&between(7, false)), pairs.note(&between(8, false))), (None, None));
        first.into_iter().for_each(|(pair, way)| pairs.note_others(pair, way));
        assert!(
            !is_first_other(&mut pairs, &between(7, false)) && is_first_other(&mut pairs, &between(7, true))
        );
    }

    #[test]
    fn unknown_pairs_beyond_the_limit_are_forgotten() {
        let mut pairs = Pairs::default();
        let all = (0..=MAX_OTHERS as u16).filter_map(|port| first_unknown(&mut pairs, &between(port, false)));
        assert_eq!(all.count(), MAX_OTHERS + 1);
        assert_eq!(pairs.unknown.len(), 1);
    }

    #[test]
    fn pairs_beyond_the_limit_are_forgotten() {
        let mut pairs = Pairs::default();
        (0..=u16::MAX).chain(0..9).for_each(|port| {
            pairs.note(&between(port, false));
        });
        pairs.note(&Datagram::between(Endpoint::default(), Endpoint::v4([9; 4], 9), b""));
        assert!(pairs.others.len() <= MAX_PAIRS);
    }
}
