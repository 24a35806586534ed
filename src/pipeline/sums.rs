//! UDP checksums: which of them mean something.

use crate::net::Datagram;

/// Interfaces whose checksums are counted apart; further ones share the last place.
const INTERFACES: usize = 64;

/// UDP checksums of a file so far, by interface. Where most are wrong the network card computes them after the
/// capture.
#[derive(Debug)]
pub struct Sums([Count; INTERFACES]);

#[derive(Clone, Copy, Debug)]
struct Count {
    checked: u64,
    wrong: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Sums([Count { checked: 0, wrong: 0 }; INTERFACES])
    }
}

impl Sums {
    /// Whether the checksum of a datagram is wrong, and that means something.
    #[inline(always)]
    pub fn wrong(&mut self, d: &Datagram<'_>) -> bool {
        let Some(holds) = d.checksum_holds() else { return false };
        let count = &mut self.0[(d.interface() as usize).min(INTERFACES - 1)];
        count.checked += 1;
        count.wrong += u64::from(!holds);
        !holds && count.wrong * 2 <= count.checked
    }
}
