//! The result of the network stage: one UDP datagram with its two endpoints.

use crate::capture::Time;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of a UDP header.
pub const UDP_HEADER: usize = 8;

/// An IP address and UDP port, in a form that is cheap to hash and compare.
///
/// An IPv4 address is stored as an IPv4-mapped IPv6 address plus a flag, so that `::ffff:1.2.3.4` on the wire stays
/// distinct from `1.2.3.4`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Endpoint {
    // Two words, because a u128 would be aligned to 16 bytes and make the type 32 bytes long instead of 24.
    ip: [u64; 2],
    /// The port shifted left by one; the lowest bit is set for an IPv4 address. One word to copy, compare and hash.
    port_and_family: u64,
}

/// Hashes two words instead of three, because endpoints are hashed once or twice per datagram.
impl std::hash::Hash for Endpoint {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let [high, low] = self.ip;
        state.write_u64(low);
        state.write_u64(high ^ self.port_and_family);
    }
}

impl Endpoint {
    /// From an IPv4 address in network byte order.
    #[inline]
    pub const fn v4(ip: [u8; 4], port: u16) -> Endpoint {
        Endpoint {
            ip: [0, 0xffff_0000_0000 | u32::from_be_bytes(ip) as u64],
            port_and_family: (port as u64) << 1 | 1,
        }
    }

    /// From an IPv6 address in network byte order.
    #[inline]
    pub const fn v6(ip: [u8; 16], port: u16) -> Endpoint {
        let ip = u128::from_be_bytes(ip);
        Endpoint { ip: [(ip >> 64) as u64, ip as u64], port_and_family: (port as u64) << 1 }
    }

    /// From an address of the standard library.
    pub const fn of(ip: IpAddr, port: u16) -> Endpoint {
        match ip {
            IpAddr::V4(ip) => Endpoint::v4(ip.octets(), port),
            IpAddr::V6(ip) => Endpoint::v6(ip.octets(), port),
        }
    }

    /// From the values that [`Endpoint::halves`] returns.
    #[inline(always)]
    pub(crate) const fn new(ip: [u64; 2], port_and_family: u32) -> Endpoint {
        Endpoint { ip, port_and_family: port_and_family as u64 }
    }

    /// The two words of the address; the port shifted left by one, with the family in the lowest bit.
    #[inline(always)]
    pub(crate) const fn halves(self) -> ([u64; 2], u32) {
        (self.ip, self.port_and_family as u32)
    }

    /// A total order among endpoints in which the words that differ most often come first.
    #[inline(always)]
    pub(crate) const fn order(self) -> (u64, u64, u64) {
        (self.ip[1], self.port_and_family, self.ip[0])
    }

    /// Sum of the address's words, as checksums count them: the word ffff of a mapped IPv4 address adds nothing.
    #[inline(always)]
    const fn sum(self) -> u64 {
        let [high, low] = self.ip;
        add_words(high, low)
    }

    /// The UDP port.
    #[inline]
    pub const fn port(self) -> u16 {
        (self.port_and_family >> 1) as u16
    }

    #[inline]
    pub(super) const fn is_v4(self) -> bool {
        self.port_and_family & 1 == 1
    }

    /// The address alone: port 0.
    #[inline]
    pub const fn host(self) -> Endpoint {
        Endpoint { port_and_family: self.port_and_family & 1, ..self }
    }

    /// The same address with a port, where it has none.
    pub(super) fn with_port(self, port: u16) -> Endpoint {
        Endpoint { port_and_family: u64::from(port) << 1 | self.port_and_family, ..self }
    }

    /// The octets of an IPv4 address.
    #[inline]
    pub const fn octets(self) -> Option<[u8; 4]> {
        if self.is_v4() { Some((self.ip[1] as u32).to_be_bytes()) } else { None }
    }

    /// Whether it addresses many hosts: a multicast address, the limited broadcast, or an address that ends in 255,
    /// which nearly everywhere is the broadcast address of a network.
    pub fn is_group(self) -> bool {
        match self.octets() {
            Some([first, .., last]) => last == 255 || (224..240).contains(&first),
            None => self.ip[0] >> 56 == 0xff,
        }
    }

    /// The address alone, as the standard library's type.
    pub fn ip(self) -> IpAddr {
        if self.is_v4() {
            IpAddr::V4(Ipv4Addr::from(self.ip[1] as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from(((self.ip[0] as u128) << 64) | self.ip[1] as u128))
        }
    }

    /// As the standard library's type.
    pub fn socket_addr(self) -> SocketAddr {
        SocketAddr::new(self.ip(), self.port())
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint::of(address.ip(), address.port())
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

/// The sum of data and their checksum: 16 one bits, which count as zero.
const ONES: u64 = 0xffff;

/// Whether a sum of data and checksum is valid: its 16-bit words, with all carries added in, give ffff.
///
/// 2^16 and all its powers count as 1 in such sums, so words of any multiple of 16 bits may be added (RFC 1071,
/// section 2). A sum of words that are not all 0 is never 0.
#[inline(always)]
const fn is_valid_sum(sum: u64) -> bool {
    sum.is_multiple_of(ONES)
}

/// Sum of the big-endian 16-bit words of some bytes as checksums count them; an odd last byte is followed by a zero.
#[inline(always)]
fn sum_of(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut sum = 0u64;
    for word in words {
        sum = add_words(sum, u64::from_le_bytes(*word));
    }
    let last = match bytes.last_chunk::<8>() {
        // The tail is in the upper bytes of `last`; it may be empty.
        Some(last) => {
            u64::from_le_bytes(*last) >> 1 >> 63u32.wrapping_sub((tail.len() as u32).wrapping_mul(8))
        }
        None => short_word(tail),
    };
    // It makes no difference whether bytes are swapped before they are added or after (section 2).
    add_words(sum, last).swap_bytes()
}

/// Fewer than 8 bytes as a little-endian number.
#[inline(always)]
fn short_word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            // Bytes that are in both words end up in the same position.
            let above = (bytes.len() as u32).wrapping_sub(4).wrapping_mul(8);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << above
        }
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Adds two words of such a sum: a carry counts 1.
#[inline(always)]
const fn add_words(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum.wrapping_add(carry as u64)
}

/// One UDP datagram, borrowed from its frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagram<'a> {
    /// Number of its frame in the file.
    pub frame: u64,
    /// Time stamp of its frame.
    pub time: Time,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Offset of the payload in the capture file (after decompression); [`Datagram::NOT_IN_FILE`] or more where the
    /// payload was reassembled from fragments.
    pub at: u64,
    /// Payload bytes that the snap length or a mirror port cut off; the sender did send them.
    pub cut: u32,
    /// Where its frame was captured: the number of the interface in the upper 24 bits; in the lower 8 bits, what Linux
    /// cooked captures say about direction and interface, 0 for other link types.
    pub origin: u32,
    /// Whether fragments are missing: then the network or the capture lost the bytes counted in [`cut`](Self::cut).
    pub partial: bool,
    /// UDP checksum as sent; 0 where the sender made none.
    pub checksum: u16,
    /// Identification of its IPv4 packet; 0 in IPv6.
    pub ip_id: u16,
    /// Time to live, or hop limit, of its IP packet; 0 where it was reassembled.
    pub ttl: u8,
    /// The tunnels it came through, by their number in [`Tunnels`](super::Tunnels); 0 for no tunnel.
    pub tunnel: u16,
    /// The UDP payload as captured, at most 65,535 bytes.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// Offsets from this one on mark payloads that are not in the file in one piece.
    pub const NOT_IN_FILE: u64 = 1 << 63;

    /// Offset in the capture file of a byte of the payload; `None` where the payload was reassembled.
    pub fn file_offset(&self, start: u16) -> Option<u64> {
        (self.at < Self::NOT_IN_FILE).then(|| self.at.saturating_add(u64::from(start)))
    }

    /// The interface that captured it, by its number in the file.
    #[inline(always)]
    pub fn interface(&self) -> u32 {
        self.origin >> 8
    }

    /// Length of the payload on the wire in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        // They are parts of one datagram: together 65,535 bytes at most.
        self.payload.len().wrapping_add(self.cut as usize)
    }

    /// A datagram that is in no capture: without a time stamp, its payload complete. Callers that know more set the
    /// fields.
    pub fn between(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Datagram<'_> {
        Datagram { frame: 1, src, dst, at: Self::NOT_IN_FILE, payload, ..Datagram::default() }
    }

    /// The UDP header and the captured part of the payload.
    pub fn segment(&self) -> Vec<u8> {
        let length = u16::try_from(self.wire_len().saturating_add(UDP_HEADER)).unwrap_or(u16::MAX);
        let header = [self.src.port(), self.dst.port(), length, self.checksum].map(u16::to_be_bytes);
        [header.as_flattened(), self.payload].concat()
    }

    /// Whether the UDP checksum is right (RFC 768, RFC 8200 section 8.1). `None` where there is none, where the
    /// payload was cut, and where the checksum is wrong but is the sum of the pseudo header alone: then the sender's
    /// network card computes the rest after the capture.
    // Inlined because the caller has these fields at hand.
    #[inline(always)]
    pub fn checksum_holds(&self) -> Option<bool> {
        self.checksum_holds_with(self.payload_sum())
    }

    /// The sum of the payload's words, as checksums add them, in 64 bits: payloads of one length that differ have different
    /// sums but for rare coincidences.
    #[inline(always)]
    pub(crate) fn payload_sum(&self) -> u64 {
        sum_of(self.payload)
    }

    /// The same as [`checksum_holds`](Self::checksum_holds), with the [sum of the payload](Self::payload_sum) at hand.
    #[inline(always)]
    pub(crate) fn checksum_holds_with(&self, payload_sum: u64) -> Option<bool> {
        if self.checksum == 0 || self.cut > 0 {
            return None;
        }
        // Each operand has 17 bits at most.
        let ports = (self.src.port_and_family >> 1).wrapping_add(self.dst.port_and_family >> 1);
        let header = ports.wrapping_add(self.length()).wrapping_add(self.checksum.into());
        if is_valid_sum(add_words(add_words(self.pseudo_header_sum(), header), payload_sum)) {
            return Some(true);
        }
        self.covers_payload().then_some(false)
    }

    /// The UDP checksum that these addresses, ports and this payload, whose words have this sum, should have.
    #[cold]
    pub(crate) fn right_checksum(&self, payload_sum: u64) -> u16 {
        let ports = u64::from(self.src.port()).wrapping_add(self.dst.port().into());
        let words = add_words(add_words(self.pseudo_header_sum(), ports), self.length());
        let rest = add_words(words, payload_sum) % ONES;
        // Zero would say that there is none.
        ONES.saturating_sub(rest) as u16
    }

    /// The length field of the UDP header, for a payload that was not cut.
    #[inline(always)]
    fn length(&self) -> u64 {
        (self.payload.len() as u64).wrapping_add(8)
    }

    /// Sum of the pseudo header's words: addresses, protocol and length.
    #[inline(always)]
    fn pseudo_header_sum(&self) -> u64 {
        add_words(add_words(self.src.sum(), self.dst.sum()), self.length().wrapping_add(17))
    }

    /// Whether the checksum covers more than the pseudo header.
    #[cold]
    #[inline(never)]
    fn covers_payload(&self) -> bool {
        self.pseudo_header_sum() % ONES != u64::from(self.checksum) % ONES
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Adds the carries in until there are none.
    fn fold_carries(mut sum: u128) -> u64 {
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        sum as u64
    }

    /// Whether a sum of long words equals one of 16-bit words, where ffff counts as zero.
    fn sums_agree(sum: u64, words: u128) -> bool {
        sum % ONES == fold_carries(words) % ONES && (sum == 0) == (words == 0)
    }

    proptest! {
        #[test]
        fn the_sum_of_data_and_checksum_is_ffff(words in prop::collection::vec(any::<u64>(), 1..9)) {
            let sum = fold_carries(words.iter().map(|&word| u128::from(word)).sum());
            let data = words.iter().fold(0, |sum, &word| add_words(sum, word));
            prop_assert!(is_valid_sum(add_words(data, ONES - sum)), "{sum:x}");
            prop_assert!(!is_valid_sum(add_words(data, ONES - sum + 1)), "{sum:x}");
        }

        /// Long words give the same sum as the 16-bit words of RFC 1071.
        #[test]
        fn sums_are_those_of_16_bit_words(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let by_two = bytes.chunks(2).map(|w| u128::from(w[0]) << 8 | w.get(1).map_or(0, |b| u128::from(*b)));
            prop_assert!(sums_agree(sum_of(&bytes), by_two.sum()));
        }

        #[test]
        fn addresses_are_summed_by_16_bit_words(ip: [u8; 16]) {
            let by_two = |ip: &[u8]| ip.chunks(2).map(|w| u128::from(w[0]) << 8 | u128::from(w[1])).sum::<u128>();
            prop_assert!(sums_agree(Endpoint::v6(ip, 7).sum(), by_two(&ip)));
            let [a, b, c, d, ..] = ip;
            prop_assert!(sums_agree(add_words(Endpoint::v4([a, b, c, d], 7).sum(), 17), by_two(&[a, b, c, d]) + 17));
        }
    }
}
