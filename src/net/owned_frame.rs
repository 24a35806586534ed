//! Frames that were built from a datagram instead of captured, for examples and for payloads without headers.

use super::{Datagram, Endpoint, link};
use crate::capture::{Frame, Time};
use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, PacketBuilder};
use std::net::{IpAddr, Ipv6Addr};

const TTL: u8 = 64;
const UDP: IpNumber = IpNumber::UDP;
/// Bytes of a header of IPv6 and of a fragment, which is more than those of IPv4.
const MOST_HEADERS: usize = 48;

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
        let d = Datagram { time, ttl: TTL, ..Datagram::between(from, to, &whole) };
        let checksum = d.right_checksum(d.payload_sum());
        OwnedFrame::of(&Datagram { payload, cut: missing, checksum, ..d })
    }

    /// A frame with a datagram as it is: its checksum, identification and time to live, and as many bytes missing. Where fragments
    /// are missing, it is the first one. Empty where one end is IPv4 and the other IPv6, or where the payload does not fit.
    pub fn of(d: &Datagram<'_>) -> OwnedFrame {
        let segment = d.segment();
        let missing = if d.partial { 0 } else { d.cut as usize };
        let length = segment.len().saturating_add(missing);
        let mut bytes = Vec::with_capacity(segment.len().saturating_add(MOST_HEADERS));
        let header = match (d.src.ip(), d.dst.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => u16::try_from(length).ok().and_then(|length| {
                let mut ip = Ipv4Header::new(length, d.ttl, UDP, from.octets(), to.octets()).ok()?;
                (ip.identification, ip.more_fragments) = (d.ip_id, d.partial);
                // Without an identification it may not be fragmented (RFC 6864, section 4.1).
                ip.dont_fragment = d.ip_id == 0 && !d.partial;
                ip.header_checksum = ip.calc_header_checksum();
                ip.write(&mut bytes).ok()
            }),
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                v6_header(d, (from, to), length).map(|header| bytes.extend_from_slice(&header))
            }
            _ => None,
        };
        if header.is_none() {
            return OwnedFrame::empty(d.time);
        }
        bytes.extend_from_slice(&segment);
        let wire_len = u32::try_from(bytes.len().saturating_add(missing)).unwrap_or(u32::MAX);
        OwnedFrame { time: d.time, link: link::RAW, wire_len, bytes }
    }

    /// An ICMP error of the receiver of a datagram, or of a host before it: type, code, and the headers of the datagram.
    pub fn error([kind, code]: [u8; 2], d: &Datagram<'_>) -> OwnedFrame {
        let missing = u32::try_from(d.wire_len()).unwrap_or(u32::MAX);
        let quoted = OwnedFrame::of(&Datagram { payload: &[], cut: missing, partial: false, ..*d });
        let mut bytes = vec![];
        let written = match (d.dst.ip(), d.src.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let packet = PacketBuilder::ipv4(from.octets(), to.octets(), TTL);
                packet.icmpv4_raw(kind, code, [0; 4]).write(&mut bytes, &quoted.bytes).is_ok()
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let packet = PacketBuilder::ipv6(from.octets(), to.octets(), TTL);
                packet.icmpv6_raw(kind, code, [0; 4]).write(&mut bytes, &quoted.bytes).is_ok()
            }
            _ => false,
        };
        if !written {
            return OwnedFrame::empty(d.time);
        }
        let wire_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        OwnedFrame { time: d.time, link: link::RAW, wire_len, bytes }
    }

    /// An IP packet with nothing in it, in the place of a frame that is left out: only its time counts.
    pub fn placeholder(time: Time) -> OwnedFrame {
        let bytes = Ipv4Header::new(0, TTL, IpNumber::IPV6_NO_NEXT_HEADER, [0; 4], [0; 4]).map(|mut ip| {
            ip.header_checksum = ip.calc_header_checksum();
            ip.to_bytes().to_vec()
        });
        let bytes = bytes.unwrap_or_default();
        OwnedFrame { time, link: link::RAW, wire_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX), bytes }
    }

    /// The frame, with that frame number.
    pub fn frame(&self, number: u64) -> Frame<'_> {
        let OwnedFrame { time, link, wire_len, ref bytes } = *self;
        Frame { number, time, link, interface: 0, at: 0, wire_len, bytes }
    }
}

/// A header of IPv6 before so many bytes, and that of the first fragment where others are missing.
fn v6_header(d: &Datagram<'_>, (from, to): (Ipv6Addr, Ipv6Addr), length: usize) -> Option<Vec<u8>> {
    let fragment = d.partial.then(|| Ipv6FragmentHeader::new(UDP, IpFragOffset::ZERO, true, d.ip_id.into()));
    let extension = fragment.map(|header| header.to_bytes().to_vec()).unwrap_or_default();
    let header = Ipv6Header {
        payload_length: u16::try_from(length.saturating_add(extension.len())).ok()?,
        next_header: if d.partial { IpNumber::IPV6_FRAGMENTATION_HEADER } else { UDP },
        hop_limit: d.ttl,
        source: from.octets(),
        destination: to.octets(),
        ..Ipv6Header::default()
    };
    Some([&header.to_bytes()[..], &extension].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Content, Decapsulator, DropReason, parse};

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
    fn a_datagram_is_the_same_in_another_frame() {
        let v6 =
            [3, 4].map(|last| Endpoint::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last], 9));
        for [src, dst] in [V4, v6] {
            let ip_id = if src.is_v4() { 77 } else { 0 };
            let between = Datagram::between(src, dst, b"abc");
            let d =
                Datagram { checksum: 0x1234, ip_id, ttl: 3, cut: 2, time: Time::from_nanos(5), ..between };
            let frame = OwnedFrame::of(&d);
            let again = parse(&frame.frame(1)).expect("a datagram");
            let facts = |d: &Datagram<'_>| (d.src, d.dst, d.checksum, d.ip_id, d.ttl, d.cut, d.time);
            assert_eq!((facts(&again), again.payload), (facts(&d), d.payload));
            let fragment = OwnedFrame::of(&Datagram { partial: true, cut: 99, ..d });
            assert_eq!(fragment.bytes.len(), fragment.wire_len as usize);
            assert!(parse(&fragment.frame(1)).is_err(), "the rest of the datagram is missing");
        }
        let mixed = Datagram::between(V4[0], v6[0], b"abc");
        assert!(OwnedFrame::of(&mixed).bytes.is_empty());
    }

    #[test]
    fn an_error_quotes_the_datagram_and_a_placeholder_is_nothing() {
        let d = Datagram { ttl: 9, ip_id: 5, ..Datagram::between(V4[0], V4[1], b"abc") };
        let error = OwnedFrame::error([3, 3], &d);
        let mut decapsulator = Decapsulator::default();
        let inner = decapsulator.decapsulate(&error.frame(7)).expect("an ICMP message");
        let Content::Icmp(Some(quote)) = inner.content else { unreachable!("no error") };
        let quoted = quote.datagram;
        assert_eq!((quoted.src, quoted.dst, quoted.wire_len()), (V4[0], V4[1], 3));
        assert_eq!((quote.kind, quote.reason), ([3, 3], "port unreachable"));
        let nothing = OwnedFrame::placeholder(Time::from_nanos(3));
        assert_eq!(parse(&nothing.frame(1)).expect_err("no datagram"), DropReason::OtherProtocol);
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
