//! Frames that were built from a datagram instead of captured, for examples and for payloads without headers.

use super::{Endpoint, link};
use crate::capture::{Frame, Time};
use etherparse::PacketBuilder;
use std::net::IpAddr;

const TTL: u8 = 64;

/// A frame that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFrame {
    /// When it was captured.
    pub time: Time,
    /// Link type (`LINKTYPE_…` of tcpdump.org).
    pub link: u16,
    /// Length on the wire in bytes.
    pub wire_len: u32,
    /// The captured bytes.
    pub bytes: Vec<u8>,
}

impl OwnedFrame {
    /// An empty frame: nothing but its time.
    pub fn empty(time: Time) -> OwnedFrame {
        OwnedFrame { time, link: link::RAW, wire_len: 0, bytes: vec![] }
    }

    /// A datagram in an IP packet, with checksums. `missing` is the number of payload bytes that were
    /// sent but not captured. Empty where one end is IPv4 and the other IPv6, or where the payload does not fit.
    pub fn udp(time: Time, from: Endpoint, to: Endpoint, payload: &[u8], missing: u32) -> OwnedFrame {
        let mut whole = payload.to_vec();
        whole.resize(payload.len().saturating_add(missing as usize), 0);
        let packet = match (from.ip(), to.ip()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => PacketBuilder::ipv4(a.octets(), b.octets(), TTL),
            (IpAddr::V6(a), IpAddr::V6(b)) => PacketBuilder::ipv6(a.octets(), b.octets(), TTL),
            _ => return OwnedFrame::empty(time),
        };
        let mut bytes = vec![];
        if packet.udp(from.port(), to.port()).write(&mut bytes, &whole).is_err() {
            return OwnedFrame::empty(time);
        }
        let wire_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        bytes.truncate(bytes.len().saturating_sub(missing as usize));
        OwnedFrame { time, link: link::RAW, wire_len, bytes }
    }

    /// The frame, with that frame number.
    pub fn frame(&self, number: u64) -> Frame<'_> {
        let OwnedFrame { time, link, wire_len, ref bytes } = *self;
        Frame { number, time, link, interface: 0, at: 0, wire_len, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Datagram, parse};

    const V4: [Endpoint; 2] = [Endpoint::v4([192, 0, 2, 1], 40_000), Endpoint::v4([198, 51, 100, 1], 7777)];

    #[track_caller]
    fn check(owned: &OwnedFrame, [from, to]: [Endpoint; 2], payload: &[u8], missing: u32) {
        let frame = owned.frame(3);
        let d: Datagram<'_> = parse(&frame).expect("a datagram");
        assert_eq!((d.src, d.dst, d.payload, d.cut, d.frame), (from, to, payload, missing, 3));
        let checked = if missing == 0 { Some(true) } else { None };
        assert_eq!(d.checksum_holds(), checked);
    }

    #[test]
    fn built_frames_parse_to_the_same_datagram() {
        let v6 =
            [7, 8].map(|last| Endpoint::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last], 9));
        for endpoints @ [from, to] in [V4, v6] {
            for payload in [&b""[..], b"\x00", b"\xd5\xf6\x00"] {
                check(&OwnedFrame::udp(Time::from_nanos(1), from, to, payload, 0), endpoints, payload, 0);
            }
            check(&OwnedFrame::udp(Time::UNKNOWN, from, to, b"abc", 5), endpoints, b"abc", 5);
        }
    }

    #[test]
    fn an_impossible_datagram_is_an_empty_frame() {
        let [from, to] = V4;
        let largest = vec![0; 65_507];
        assert_eq!(OwnedFrame::udp(Time::UNKNOWN, from, to, &largest, 0).bytes.len(), 65_535);
        assert_eq!(OwnedFrame::udp(Time::UNKNOWN, from, to, &largest, 1), OwnedFrame::empty(Time::UNKNOWN));
        assert_eq!(
            OwnedFrame::udp(Time::UNKNOWN, from, Endpoint::v6([1; 16], 1), b"", 0),
            OwnedFrame::empty(Time::UNKNOWN)
        );
    }
}
