//! Replaces addresses so that networks stay networks.
//!
//! Each bit is turned over or not, as the key and all bits before it decide, so that two addresses of one network are two
//! addresses of another one (Xu et al., Prefix-preserving IP address anonymization, 2002). What kind of address it is stays:
//! private, link-local, broadcast.

use super::key::{Key, Kind};
use crate::net::Endpoint;
use hashbrown::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Most replaced addresses that are remembered, only to be faster; then all are forgotten.
pub const MAX_REMEMBERED: usize = 4096;

/// Number of leading bits that stay in addresses of IPv6: they name a registry, or a kind.
const V6_FIXED: usize = 16;

/// Replaces addresses.
pub struct Addresses {
    key: Key,
    remembered: HashMap<Endpoint, Endpoint>,
}

impl Addresses {
    /// Replaces with this key.
    pub fn new(key: Key) -> Addresses {
        Addresses { key, remembered: HashMap::new() }
    }

    /// The address that stands for another one. The port stays.
    pub fn endpoint(&mut self, end: Endpoint) -> Endpoint {
        let host = end.host();
        let replaced = self.remembered.get(&host).copied().unwrap_or_else(|| {
            let replaced = Endpoint::of(self.ip(host.ip()), 0);
            if self.remembered.len() >= MAX_REMEMBERED {
                self.remembered.clear();
            }
            self.remembered.insert(host, replaced);
            replaced
        });
        Endpoint::of(replaced.ip(), end.port())
    }

    /// The address that stands for another one.
    pub fn ip(&self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(v4) => self.v4(v4).into(),
            IpAddr::V6(v6) => self.v6(v6).into(),
        }
    }

    fn v4(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let Some(fixed) = fixed_bits(ip) else { return ip };
        let [.., last] = ip.octets();
        let network = |ip: Ipv4Addr| {
            let mut octets = ip.octets();
            self.turn(&mut octets, fixed..24);
            Ipv4Addr::from(octets)
        };
        let mut replaced = network(ip);
        // What is public stays public.
        while fixed_bits(replaced) != Some(fixed) {
            replaced = network(replaced);
        }
        let [a, b, c, _] = replaced.octets();
        // 255 is nearly everywhere the broadcast address and 0 the network, and nothing else becomes one of them.
        let is_special = |last: u8| last == 0 || last == 255;
        let mut host = [a, b, c, last];
        while !is_special(last) {
            self.turn(&mut host, 24..32);
            if host.last().is_some_and(|last| !is_special(*last)) {
                break;
            }
        }
        Ipv4Addr::from(host)
    }

    fn v6(&self, ip: Ipv6Addr) -> Ipv6Addr {
        let mut octets = ip.octets();
        if ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() {
            return ip;
        }
        // An address of IPv4, mapped or translated.
        let embeds = ip.to_ipv4_mapped().is_some() || octets.starts_with(&[0, 0x64, 0xff, 0x9b]);
        if let (Some(v4), true) = (octets.last_chunk_mut::<4>(), embeds) {
            *v4 = self.v4(Ipv4Addr::from(*v4)).octets();
            return octets.into();
        }
        self.turn(&mut octets, if ip.is_unicast_link_local() { 64 } else { V6_FIXED }..128);
        octets.into()
    }

    /// Turns some bits of an address over, each as those before it decide.
    fn turn(&self, address: &mut [u8], bits: Range<usize>) {
        let mut original = [0; 16];
        original.iter_mut().zip(&*address).for_each(|(to, from)| *to = *from);
        let family = if address.len() == 4 { 0 } else { 1 };
        for (whole, octet) in address.iter_mut().enumerate() {
            let first = whole.saturating_mul(8);
            if first.saturating_add(8) <= bits.start || first >= bits.end {
                continue;
            }
            // Each octet has a tree of its own: a bit for each way in which the octet may begin.
            let before = original.get(..whole).unwrap_or_default();
            let tree = self.key.numbers((Kind::Address, family), before);
            let mut node: u64 = 1;
            for within in 0..8u8 {
                let bit = 0x80 >> within;
                if bits.contains(&first.saturating_add(within.into())) && tree.nth(node) & 1 == 1 {
                    *octet ^= bit;
                }
                let was_set = original.get(whole).is_some_and(|octet| octet & bit != 0);
                node = node << 1 | u64::from(was_set);
            }
        }
    }
}

/// How many leading bits of an address say of what kind it is; `None` for addresses that are the same everywhere.
fn fixed_bits(ip: Ipv4Addr) -> Option<usize> {
    match ip.octets() {
        [0 | 127 | 224..=255, ..] => None,
        [10, ..] => Some(8),
        [100, 64..=127, ..] => Some(10),
        [172, 16..=31, ..] => Some(12),
        [192, 168, ..] | [169, 254, ..] => Some(16),
        _ => Some(0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn addresses() -> Addresses {
        Addresses::new(Key::of("test"))
    }

    fn shared(a: Ipv4Addr, b: Ipv4Addr) -> u32 {
        (u32::from(a) ^ u32::from(b)).leading_zeros()
    }

    #[test]
    fn addresses_of_a_network_stay_together_and_differ() {
        let all = addresses();
        let hosts: BTreeSet<_> = (0..=255).map(|n| all.v4(Ipv4Addr::new(192, 0, 2, n))).collect();
        assert_eq!(hosts.len(), 256);
        let first = *hosts.first().unwrap();
        assert!(hosts.iter().all(|host| shared(*host, first) >= 24), "{hosts:?}");
        assert!(!hosts.contains(&Ipv4Addr::new(192, 0, 2, 1)), "{hosts:?}");
    }

    #[test]
    fn what_is_the_same_everywhere_stays() {
        for ip in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "239.255.0.1", "::", "::1", "ff02::1"] {
            let ip: IpAddr = ip.parse().unwrap();
            assert_eq!(addresses().ip(ip), ip);
        }
    }

    #[test]
    fn an_embedded_address_is_replaced_as_it_is_alone() {
        let (v4, all) = (Ipv4Addr::new(198, 51, 100, 7), addresses());
        assert_eq!(all.v6(v4.to_ipv6_mapped()), all.v4(v4).to_ipv6_mapped());
        let translated = |ip: Ipv4Addr| {
            let [a, b, c, d] = ip.octets();
            Ipv6Addr::from([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d])
        };
        assert_eq!(all.v6(translated(v4)), translated(all.v4(v4)));
    }

    #[test]
    fn what_is_forgotten_is_replaced_as_before() {
        let mut all = addresses();
        let first = Endpoint::v4([203, 0, 113, 9], 7777);
        let replaced = all.endpoint(first);
        assert_eq!(replaced.port(), 7777);
        for n in 0..MAX_REMEMBERED as u32 {
            all.endpoint(Endpoint::of(Ipv4Addr::from(0x0800_0000 | n).into(), 1));
        }
        assert!(all.remembered.len() <= MAX_REMEMBERED);
        assert_eq!(all.endpoint(first), replaced);
    }

    proptest! {
        #[test]
        fn kinds_and_networks_stay(a: u32, b: u32, bits in 16..24u32) {
            let (a, b) = (Ipv4Addr::from(a), Ipv4Addr::from(a ^ (b >> bits)));
            let [a2, b2] = [a, b].map(|ip| addresses().v4(ip));
            prop_assert_eq!(fixed_bits(a), fixed_bits(a2));
            for special in [0, 255] {
                prop_assert_eq!(a.octets()[3] == special, a2.octets()[3] == special);
            }
            prop_assert!(shared(a2, b2) >= shared(a, b).min(24), "{a} {b} became {a2} {b2}");
            prop_assert_eq!(a == b, a2 == b2);
        }

        #[test]
        fn networks_of_ipv6_stay(a: u128, b: u128, bits in 0..128u32) {
            let ends = [a, a ^ (b >> bits)].map(|ip| Ipv6Addr::from(ip | 1 << 125));
            let became = ends.map(|ip| addresses().v6(ip));
            let shared = |[a, b]: [Ipv6Addr; 2]| (u128::from(a) ^ u128::from(b)).leading_zeros();
            prop_assert_eq!(shared(ends), shared(became));
        }
    }
}
