//! Ethernet frames around a payload, with correct lengths and checksums.
//!
//! ```text
//! | target MAC 6 | source MAC 6 | [8100 and tag 4] | ethertype 2 |
//! | IPv4 20 or IPv6 40 | UDP 8 or TCP 20 | payload |
//! ```

use std::net::{IpAddr, SocketAddr};

/// Ethernet pads shorter frames; the padding shows in captures of received frames.
const MIN_FRAME: usize = 60;
/// MAC address of the capture point, to which requests are addressed.
pub const INSIDE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OUTSIDE: [u8; 6] = [2, 0, 0, 0, 0, 2];
const VLAN: [u8; 4] = [0x81, 0x00, 0x00, 0x2a];

/// The layer above IP.
#[derive(Clone, Copy)]
pub enum Transport {
    /// User datagram.
    Udp,
    /// A segment with ACK set.
    Tcp {
        /// Sequence number of its first byte.
        seq: u32,
        /// Next byte expected from the other side.
        ack: u32,
    },
}

impl Transport {
    fn number(self) -> u8 {
        match self {
            Self::Udp => 17,
            Self::Tcp { .. } => 6,
        }
    }

    fn header_len(self) -> usize {
        match self {
            Self::Udp => 8,
            Self::Tcp { .. } => 20,
        }
    }
}

/// Sender, receiver and layers of a frame.
pub struct Envelope {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver; of the same address family as `source`.
    pub target: SocketAddr,
    /// The layer above IP.
    pub transport: Transport,
    /// Whether the capture point received the frame (padded to the minimum) or sent it.
    pub received: bool,
    /// Whether it has an 802.1Q tag.
    pub vlan: bool,
}

/// Replaces `out` by the frame; `payload` is at most 65,000 bytes.
pub fn write(out: &mut Vec<u8>, envelope: &Envelope, payload: &[u8]) {
    let (to, from) = if envelope.received { (INSIDE, OUTSIDE) } else { (OUTSIDE, INSIDE) };
    out.clear();
    out.extend_from_slice(&to);
    out.extend_from_slice(&from);
    if envelope.vlan {
        out.extend_from_slice(&VLAN);
    }
    let length = envelope.transport.header_len() + payload.len();
    let pseudo = ip(out, envelope, length as u16);
    let at = out.len();
    transport(out, envelope, length as u16, payload.is_empty());
    out.extend_from_slice(payload);
    let sum = checksum(pseudo, &out[at..]);
    match envelope.transport {
        // RFC 768: zero means none, so a sum of zero is sent as all ones.
        Transport::Udp => put(out, at + 6, if sum == 0 { 0xffff } else { sum }),
        Transport::Tcp { .. } => put(out, at + 16, sum),
    }
    if envelope.received && out.len() < MIN_FRAME {
        out.resize(MIN_FRAME, 0);
    }
}

/// Writes the ethertype and the IP header; returns the sum of the pseudo header.
fn ip(out: &mut Vec<u8>, envelope: &Envelope, length: u16) -> u64 {
    let number = envelope.transport.number();
    match (envelope.source.ip(), envelope.target.ip()) {
        (IpAddr::V4(source), IpAddr::V4(target)) => {
            out.extend_from_slice(&[0x08, 0x00]);
            let at = out.len();
            out.extend_from_slice(&[0x45, 0]);
            out.extend_from_slice(&(length + 20).to_be_bytes());
            // No identification, don't fragment, 64 hops, checksum below.
            out.extend_from_slice(&[0, 0, 0x40, 0, 64, number, 0, 0]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&target.octets());
            let sum = checksum(0, &out[at..]);
            put(out, at + 10, sum);
        }
        (IpAddr::V6(source), IpAddr::V6(target)) => {
            out.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&[number, 64]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&target.octets());
        }
        _ => unreachable!("both ends are made of one address family"),
    }
    let addresses = if envelope.source.is_ipv4() { 8 } else { 32 };
    sum(&out[out.len() - addresses..]) + u64::from(number) + u64::from(length)
}

fn transport(out: &mut Vec<u8>, envelope: &Envelope, length: u16, empty: bool) {
    out.extend_from_slice(&envelope.source.port().to_be_bytes());
    out.extend_from_slice(&envelope.target.port().to_be_bytes());
    match envelope.transport {
        Transport::Udp => {
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&[0, 0]);
        }
        Transport::Tcp { seq, ack } => {
            out.extend_from_slice(&seq.to_be_bytes());
            out.extend_from_slice(&ack.to_be_bytes());
            // 20 bytes of header, ACK (and PSH with data), window, checksum, no urgent pointer.
            out.extend_from_slice(&[0x50, if empty { 0x10 } else { 0x18 }, 0x20, 0, 0, 0, 0, 0]);
        }
    }
}

fn put(out: &mut [u8], at: usize, value: u16) {
    out[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The Internet checksum (RFC 1071) of `bytes`, continued from a partial sum.
pub fn checksum(start: u64, bytes: &[u8]) -> u16 {
    let mut total = start + sum(bytes);
    while total > 0xffff {
        total = (total >> 16) + (total & 0xffff);
    }
    !(total as u16)
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let odd = rest.first().map_or(0, |&last| u64::from(last) << 8);
    words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>() + odd
}
