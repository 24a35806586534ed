//! The tunnels that a datagram came through, and numbers for them.
//!
//! Datagrams are copied and delayed, so each carries a 16-bit number instead of its tunnels; [`Tunnels`] resolves
//! it.

use arrayvec::ArrayVec;
use hashbrown::HashMap;
use std::fmt;

/// The most nested tunnels that are followed; a frame with more is dropped.
pub const MAX_DEPTH: usize = 8;
/// The most paths that get their own number, besides the empty path and the common number of all others.
pub const MAX_PATHS: usize = 4_096;
/// Number of all further paths.
const OTHER: u16 = MAX_PATHS as u16 + 1;

/// A packet inside a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tunnel {
    /// IPv4 in IPv4 (RFC 2003).
    IpInIp,
    /// IPv6 in IPv4 (RFC 4213): 6in4, 6to4, ISATAP.
    SixInFour,
    /// IPv4 in IPv6 (RFC 2473): DS-Lite.
    FourInSix,
    /// IPv6 in IPv6 (RFC 2473).
    SixInSix,
    /// GRE (RFC 2784), with its key if it has one (RFC 2890).
    Gre(Option<u32>),
    /// PPP in GRE of version 1, of PPTP (RFC 2637), with the call of its receiver.
    Pptp(u16),
    /// ERSPAN of a mirror port, with its session; type I has none.
    Erspan(Option<u16>),
    /// VXLAN (RFC 7348) or VXLAN-GPE, with its network identifier of 24 bits.
    Vxlan(u32),
    /// Geneve (RFC 8926), with its network identifier of 24 bits.
    Geneve(u32),
    /// A user's packet in GTP-U version 1 (3GPP TS 29.281), with its tunnel endpoint identifier.
    Gtp(u32),
    /// A path beyond [`MAX_PATHS`], which has no number of its own.
    Other,
}

/// The name of a tunnel in records: `vxlan:42`.
impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tunnel::IpInIp => f.write_str("ipip"),
            Tunnel::SixInFour => f.write_str("6in4"),
            Tunnel::FourInSix => f.write_str("4in6"),
            Tunnel::SixInSix => f.write_str("ip6ip6"),
            Tunnel::Gre(None) => f.write_str("gre"),
            Tunnel::Gre(Some(key)) => write!(f, "gre:{key}"),
            Tunnel::Pptp(call) => write!(f, "pptp:{call}"),
            Tunnel::Erspan(None) => f.write_str("erspan"),
            Tunnel::Erspan(Some(session)) => write!(f, "erspan:{session}"),
            Tunnel::Vxlan(network) => write!(f, "vxlan:{network}"),
            Tunnel::Geneve(network) => write!(f, "geneve:{network}"),
            Tunnel::Gtp(endpoint) => write!(f, "gtp:{endpoint}"),
            Tunnel::Other => f.write_str("other"),
        }
    }
}

/// Tunnels from the outermost to the innermost.
pub(super) type Path = ArrayVec<Tunnel, MAX_DEPTH>;

/// Paths and their numbers, in the order in which they were met; 0 stands for the empty path.
#[derive(Debug, Default)]
pub struct Tunnels {
    numbers: HashMap<Path, u16>,
    paths: Vec<Path>,
    unnamed: u64,
}

impl Tunnels {
    /// The number of a path. A new path gets the next number, or, once all are taken, the common number of all
    /// others.
    pub(super) fn number(&mut self, path: &Path) -> u16 {
        if path.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        if self.paths.len() >= MAX_PATHS {
            self.unnamed = self.unnamed.saturating_add(1);
            return OTHER;
        }
        self.paths.push(path.clone());
        let number = self.paths.len() as u16;
        self.numbers.insert(path.clone(), number);
        number
    }

    /// The tunnels of a path number, from the outermost to the innermost; none for 0 and for unknown numbers.
    pub fn path(&self, number: u16) -> &[Tunnel] {
        if number == OTHER {
            return &[Tunnel::Other];
        }
        let path = usize::from(number).checked_sub(1).and_then(|at| self.paths.get(at));
        path.map_or(&[], |path| path.as_slice())
    }

    /// Number of datagrams whose path has the common number.
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_number_and_the_number_its_path() {
        let mut tunnels = Tunnels::default();
        assert_eq!((tunnels.number(&Path::new()), tunnels.path(0)), (0, &[][..]));
        let paths = [
            Path::from_iter([Tunnel::Vxlan(42)]),
            Path::from_iter([Tunnel::Vxlan(42), Tunnel::IpInIp]),
            Path::from_iter([Tunnel::IpInIp, Tunnel::Vxlan(42)]),
        ];
        for _ in 0..2 {
            for (path, number) in paths.iter().zip(1..) {
                assert_eq!(tunnels.number(path), number);
                assert_eq!(tunnels.path(number), path.as_slice());
            }
        }
        assert_eq!(tunnels.path(4), []);
        assert_eq!(tunnels.unnamed(), 0);
    }

    #[test]
    fn paths_beyond_the_limit_share_a_number_and_are_counted() {
        let mut tunnels = Tunnels::default();
        let path = |network| Path::from_iter([Tunnel::Vxlan(network)]);
        let most = MAX_PATHS as u32;
        for network in 0..most + 3 {
            let expected = if network < most { network as u16 + 1 } else { OTHER };
            assert_eq!(tunnels.number(&path(network)), expected);
        }
        assert_eq!((tunnels.unnamed(), tunnels.path(OTHER)), (3, &[Tunnel::Other][..]));
        assert_eq!((tunnels.number(&path(7)), tunnels.unnamed()), (8, 3), "known ones keep their number");
        assert_eq!((tunnels.numbers.len(), tunnels.paths.len()), (MAX_PATHS, MAX_PATHS));
    }

    #[test]
    fn names() {
        let all = [
            (Tunnel::IpInIp, "ipip"),
            (Tunnel::SixInFour, "6in4"),
            (Tunnel::FourInSix, "4in6"),
            (Tunnel::SixInSix, "ip6ip6"),
            (Tunnel::Gre(None), "gre"),
            (Tunnel::Gre(Some(7)), "gre:7"),
            (Tunnel::Pptp(65_535), "pptp:65535"),
            (Tunnel::Erspan(None), "erspan"),
            (Tunnel::Erspan(Some(1023)), "erspan:1023"),
            (Tunnel::Vxlan(42), "vxlan:42"),
            (Tunnel::Geneve(0xff_ffff), "geneve:16777215"),
            (Tunnel::Gtp(u32::MAX), "gtp:4294967295"),
            (Tunnel::Other, "other"),
        ];
        for (tunnel, name) in all {
            assert_eq!(tunnel.to_string(), name);
        }
    }
}
