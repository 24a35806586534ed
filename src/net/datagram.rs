//! What the network stage hands on: one UDP datagram with its two ends.

use crate::capture::Time;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An IP address and UDP port, in a form that is cheap to hash and compare.
///
/// IPv4 addresses are held as IPv4-mapped IPv6 ones plus a flag, so that `::ffff:1.2.3.4` on the
/// wire stays distinct from `1.2.3.4`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Endpoint {
    // Two words, not one u128: that would be aligned to 16 and take 32 bytes instead of 24.
    ip: [u64; 2],
    port: u16,
    v4: bool,
}

/// Two words instead of four fields: endpoints are hashed once or twice a datagram.
impl std::hash::Hash for Endpoint {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let [high, low] = self.ip;
        state.write_u64(low);
        state.write_u64(high ^ (u64::from(self.port) << 1 | u64::from(self.v4)));
    }
}

impl Endpoint {
    /// From an IPv4 address in network byte order.
    #[inline]
    pub const fn v4(ip: [u8; 4], port: u16) -> Endpoint {
        Endpoint { ip: [0, 0xffff_0000_0000 | u32::from_be_bytes(ip) as u64], port, v4: true }
    }

    /// From an IPv6 address in network byte order.
    #[inline]
    pub const fn v6(ip: [u8; 16], port: u16) -> Endpoint {
        let ip = u128::from_be_bytes(ip);
        Endpoint { ip: [(ip >> 64) as u64, ip as u64], port, v4: false }
    }

    /// A total order among endpoints in which the words that differ most often come first.
    #[inline(always)]
    pub(crate) const fn order(self) -> (u64, u64, u64) {
        (self.ip[1], (self.port as u64) << 1 | self.v4 as u64, self.ip[0])
    }

    /// The UDP port.
    #[inline]
    pub const fn port(self) -> u16 {
        self.port
    }

    /// The octets of an IPv4 address.
    #[inline]
    pub const fn octets(self) -> Option<[u8; 4]> {
        if self.v4 { Some((self.ip[1] as u32).to_be_bytes()) } else { None }
    }

    /// The same as the standard library's type.
    pub fn socket_addr(self) -> SocketAddr {
        let ip = if self.v4 {
            IpAddr::V4(Ipv4Addr::from(self.ip[1] as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from(((self.ip[0] as u128) << 64) | self.ip[1] as u128))
        };
        SocketAddr::new(ip, self.port)
    }
}

/// `192.0.2.1:7777`, `[2001:db8::1]:7777`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.socket_addr(), f)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One UDP datagram, borrowed from its frame.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Number of its frame in the file.
    pub frame: u64,
    /// Time stamp of its frame.
    pub time: Time,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Offset of the payload in the capture file (after decompression).
    pub at: u64,
    /// Payload bytes that the capture left out (snap length): not the sender's fault.
    pub cut: u32,
    /// The UDP payload as captured, at most 65,535 bytes.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// Length of the payload on the wire in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        self.payload.len().saturating_add(self.cut as usize)
    }
}
