//! Decides whether a wrong UDP checksum is reported.

use crate::net::Datagram;

/// Number of counters: one for each interface, and the last one for all further interfaces.
const INTERFACES: usize = 64;

/// The number of right UDP checksums minus that of wrong ones in the file so far, by interface. If most are wrong, the
/// network card computes them after the capture.
#[derive(Debug)]
pub struct Checksums([i64; INTERFACES]);

impl Default for Checksums {
    fn default() -> Self {
        Checksums([0; INTERFACES])
    }
}

impl Checksums {
    /// Counts the checksum of a datagram with that [sum](Datagram::payload_sum). Returns whether it is wrong although most checksums of its interface are
    /// right.
    #[inline(always)]
    pub fn is_wrong(&mut self, d: &Datagram<'_>, payload_sum: u64) -> bool {
        let Some(is_right) = d.checksum_holds_with(payload_sum) else { return false };
        let lead = &mut self.0[(d.interface() as usize).min(INTERFACES - 1)];
        *lead += if is_right { 1 } else { -1 };
        !is_right && *lead >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    /// A datagram captured on that interface, with a right or a wrong checksum.
    fn datagram(interface: u32, right: bool) -> Datagram<'static> {
        let (src, dst) = (Endpoint::v4([192, 0, 2, 1], 1), Endpoint::v4([192, 0, 2, 2], 2));
        let plain = Datagram::between(src, dst, b"payload");
        let d = |checksum| Datagram { origin: interface << 8, checksum, ..plain };
        let mut datagrams = (1..=u16::MAX).map(d).filter(|d| d.checksum_holds() == Some(right));
        datagrams.next().expect("one of them is")
    }

    #[test]
    fn sixty_three_interfaces_are_judged_separately_and_all_others_together() {
        let is_wrong = |earlier: &[(u32, bool)], last: u32| {
            let mut checksums = Checksums::default();
            for &(interface, right) in earlier {
                let d = datagram(interface, right);
                checksums.is_wrong(&d, d.payload_sum());
            }
            let d = datagram(last, false);
            checksums.is_wrong(&d, d.payload_sum())
        };
        // A wrong checksum is reported where as many are right.
        for interface in [0, 1, 62, 63, 64, 70_000] {
            assert!(is_wrong(&[(interface, true)], interface), "{interface}");
            assert!(!is_wrong(&[(interface, false)], interface), "{interface}");
        }
        assert!(!is_wrong(&[(61, true)], 62) && !is_wrong(&[(62, true)], 63), "each for itself");
        assert!(is_wrong(&[(63, true)], 64) && is_wrong(&[(64, true)], 70_000), "the others share a counter");
    }
}
