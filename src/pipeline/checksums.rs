//! Decides whether a wrong UDP checksum is worth reporting.

use crate::net::Datagram;

/// Number of counters: one for each interface, and the last one for all further interfaces.
const INTERFACES: usize = 64;

/// How many more of the UDP checksums of a file so far are right than wrong, by interface. If most of them are wrong, the
/// network card computes them after the capture.
#[derive(Debug)]
pub struct Checksums([i64; INTERFACES]);

impl Default for Checksums {
    fn default() -> Self {
        Checksums([0; INTERFACES])
    }
}

impl Checksums {
    /// Whether the checksum of a datagram is wrong although most checksums of its interface are not.
    #[inline(always)]
    pub fn wrong(&mut self, d: &Datagram<'_>) -> bool {
        let Some(holds) = d.checksum_holds() else { return false };
        let lead = &mut self.0[(d.interface() as usize).min(INTERFACES - 1)];
        *lead += if holds { 1 } else { -1 };
        !holds && *lead >= 0
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
        let mut with = (1..=u16::MAX).map(d).filter(|d| d.checksum_holds() == Some(right));
        with.next().expect("one of them is")
    }

    #[test]
    fn sixty_three_interfaces_are_judged_apart_and_all_others_together() {
        let wrong = |seen: &[(u32, bool)], last: u32| {
            let mut sums = Checksums::default();
            for &(interface, right) in seen {
                sums.wrong(&datagram(interface, right));
            }
            sums.wrong(&datagram(last, false))
        };
        // A wrong checksum is reported where as many are right.
        for interface in [0, 1, 62, 63, 64, 70_000] {
            assert!(wrong(&[(interface, true)], interface), "{interface}");
            assert!(!wrong(&[(interface, false)], interface), "{interface}");
        }
        assert!(!wrong(&[(61, true)], 62) && !wrong(&[(62, true)], 63), "each for itself");
        assert!(wrong(&[(63, true)], 64) && wrong(&[(64, true)], 70_000), "the others share a place");
    }
}
