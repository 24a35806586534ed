//! UDP checksums: which of them mean something.

use crate::net::Datagram;

/// UDP checksums of a file so far. Where most are wrong the network card computes them after the capture.
#[derive(Debug, Default)]
pub struct Sums {
    checked: u64,
    wrong: u64,
}

impl Sums {
    /// Whether the checksum of a datagram is wrong, and that means something.
    #[inline(always)]
    pub fn wrong(&mut self, d: &Datagram<'_>) -> bool {
        let Some(holds) = d.checksum_holds() else { return false };
        self.checked += 1;
        self.wrong += u64::from(!holds);
        !holds && self.wrong * 2 <= self.checked
    }
}
