//! Frames of pasted pieces: recognises those that are whole packets, with headers before the datagram, and gives the others
//! addresses, directions and times.

use super::{Mark, Piece};
use crate::capture::{CaptureInfo, Time};
use crate::classify;
use crate::net::link::{ETHERNET, NULL, RAW, SLL, SLL2};
use crate::net::{Endpoint, OwnedFrame, ethertype, parse};
use crate::protocols::Role;
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};

/// Ethertypes: IPv4 and IPv6, VLAN tags, and ARP followed by the sizes of Ethernet and IPv4 addresses.
const IP: [u16; 2] = [ethertype::IPV4, ethertype::IPV6];
const TAGS: [u16; 2] = [ethertype::VLAN, ethertype::QINQ];
const ARP: &[u8] = &[8, 6, 0, 1, 8, 0, 6, 4];

/// Link type and length on the wire in bytes of a packet; `None` where the bytes are a payload.
///
/// `likely`: the tool that printed the bytes shows packets.
pub fn headers(bytes: &[u8], likely: bool) -> Option<(u16, u32)> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word));
    let is_ip = |at| word(at).is_some_and(|kind| IP.contains(&kind));
    let is_tagged = word(12).is_some_and(|kind| TAGS.contains(&kind)) && is_ip(16);
    let families = [2, 24, 28, 30].map(u32::to_le_bytes);
    let is_family = |first: &[u8; 4]| families.iter().any(|f| f == first || f.iter().rev().eq(first.iter()));
    // Link type, offset of the IP header, and whether the header before it announces IP.
    let links = [
        (RAW, 0, true),
        (ETHERNET, 14, is_ip(12)),
        (ETHERNET, 18, is_tagged),
        (SLL, 16, is_ip(14)),
        (SLL2, 20, is_ip(0)),
        (NULL, 4, bytes.first_chunk().is_some_and(is_family)),
    ];
    let packet = links.into_iter().filter(|(.., says)| *says).find_map(|(link, at, _)| {
        let wire = ip_length(bytes.get(at..)?, likely)?.saturating_add(at).max(bytes.len());
        Some((link, u32::try_from(wire).ok()?))
    });
    let arp = || bytes.get(12..)?.starts_with(ARP).then_some((ETHERNET, u32::try_from(bytes.len()).ok()?));
    packet.or_else(arp)
}

/// Length of an IP packet by its header; `None` if it is not an IP packet, or if that is neither certain nor
/// `likely`.
fn ip_length(packet: &[u8], likely: bool) -> Option<usize> {
    let (length, sure) = if let Ok(header) = Ipv4HeaderSlice::from_slice(packet) {
        let length = usize::from(header.total_len());
        // The network card may compute the checksum after the capture.
        let left_to_card =
            header.header_checksum() == 0 && length == packet.len() && header.protocol() == IpNumber::UDP;
        let agrees = header.header_checksum() == header.to_header().calc_header_checksum();
        (Some(length).filter(|length| *length >= header.slice().len())?, agrees || left_to_card)
    } else {
        let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
        let length = usize::from(header.payload_length()).saturating_add(header.slice().len());
        let known = [0, 6, 17, 43, 44, 58, 60].contains(&header.next_header().0);
        (length, known && length == packet.len() && length > header.slice().len())
    };
    (likely || sure).then_some(length)
}

/// Time between two datagrams where the second has no time stamp, in nanoseconds.
const STEP: i64 = 1_000_000;
/// The client where the text names none: 192.0.2.1 or 2001:db8::1, from the ranges for documentation.
const CLIENT: [u8; 4] = [192, 0, 2, 1];
/// The server where the text names none.
const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SERVER_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const CLIENT_PORT: u16 = 40_000;

/// What to assume of the endpoints where the text does not name them.
#[derive(Clone, Copy, Debug)]
pub struct AssumedEndpoints {
    /// UDP port of the server.
    pub port: u16,
    /// Recognisers that tell which way a datagram goes, one bit each in registry order.
    pub protocols: u32,
}

impl Default for AssumedEndpoints {
    fn default() -> Self {
        AssumedEndpoints { port: 7777, protocols: u32::MAX }
    }
}

/// A frame for each piece, in order.
///
/// A piece with headers of its own stays as it is. Other pieces get headers: with the endpoints that the text names,
/// or else made-up ones. The direction is taken from the text, or else from the bytes; where neither tells, the
/// piece counts as the answer to a request before it, or as a request. Time advances by a millisecond where there is
/// no time stamp.
pub fn frames(pieces: &[Piece], ends: AssumedEndpoints) -> Vec<OwnedFrame> {
    let turned = is_server_side(pieces, ends);
    let mut time = start(pieces);
    let mut before = None;
    let mut frames = vec![];
    for piece in pieces {
        time = piece.metadata.time.unwrap_or(time.plus(STEP));
        let asks = match piece.metadata.mark {
            Some(Mark::ToServer) => true,
            Some(Mark::FromServer) => false,
            Some(Mark::Sent) => !turned,
            Some(Mark::Received) => turned,
            None => asks(piece, ends).unwrap_or(!before.unwrap_or(false)),
        };
        frames.push(match piece.packet {
            Some((link, wire_len)) => OwnedFrame {
                time,
                link,
                wire_len: wire_len.saturating_add(piece.missing),
                bytes: piece.bytes.clone(),
            },
            None => {
                before = Some(asks);
                let [from, to] = between(piece, asks, ends.port);
                OwnedFrame::udp(time, from, to, &piece.bytes, piece.missing)
            }
        });
    }
    frames
}

/// The facts about pasted frames, as about a capture.
pub fn facts(frames: &[OwnedFrame]) -> CaptureInfo {
    let mut links = vec![];
    for frame in frames {
        if !links.contains(&frame.link) {
            links.push(frame.link);
        }
    }
    CaptureInfo { format: "hex", links, ..CaptureInfo::default() }
}

/// The start time, one step before the first piece, calculated back from the first time stamp, one step per piece.
fn start(pieces: &[Piece]) -> Time {
    let stamped = pieces.iter().enumerate().find_map(|(i, p)| Some((i, p.metadata.time?)));
    let (before, first) = stamped.unwrap_or((0, Time::from_nanos(0)));
    let steps = i64::try_from(before).unwrap_or(0).saturating_add(1);
    first.plus(STEP.saturating_mul(steps).saturating_neg())
}

/// The two endpoints of a piece without headers, sender first.
fn between(piece: &Piece, asks: bool, port: u16) -> [Endpoint; 2] {
    let v6 = [piece.metadata.src, piece.metadata.dst].into_iter().flatten().any(|end| end.octets().is_none());
    let (client, server) = if v6 {
        (Endpoint::v6(CLIENT_V6, CLIENT_PORT), Endpoint::v6(SERVER_V6, port))
    } else {
        (Endpoint::v4(CLIENT, CLIENT_PORT), Endpoint::v4(SERVER, port))
    };
    let [from, to] = if asks { [client, server] } else { [server, client] };
    [piece.metadata.src.unwrap_or(from), piece.metadata.dst.unwrap_or(to)]
}

/// Whether a piece looks like a request; `None` if its bytes do not tell.
fn asks(piece: &Piece, ends: AssumedEndpoints) -> Option<bool> {
    // With the server's port the bytes would be taken for sent there, where a protocol names that port in them.
    let [client, server] = between(piece, true, CLIENT_PORT);
    let made = OwnedFrame::udp(Time::UNKNOWN, client, server, &piece.bytes, piece.missing);
    let frame = made.frame(0);
    match classify::probe(&parse(&frame).ok()?, ends.protocols)?.1.role {
        Role::Request | Role::RequestPart | Role::MaybeRequest => Some(true),
        Role::Response | Role::ResponsePart | Role::MaybeResponse => Some(false),
        Role::Stray => None,
    }
}

/// Whether "sent" means sent by the server: the first marked datagram that is recognised as request or answer
/// decides.
fn is_server_side(pieces: &[Piece], ends: AssumedEndpoints) -> bool {
    pieces
        .iter()
        .find_map(|piece| match piece.metadata.mark? {
            Mark::Sent => asks(piece, ends).map(|asks| !asks),
            Mark::Received => asks(piece, ends),
            _ => None,
        })
        .unwrap_or(false)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::rule::hex;

    /// An SQP challenge from 198.51.100.21:56417 to 192.0.2.10:7777.
    const PACKET: &str = "45000021 47344000 39110e45 c6336415 c000020a dc611e61 000d18be 0000000000";

    #[test]
    fn packets_are_known_behind_every_header() {
        for (link, before) in [
            (RAW, ""),
            (NULL, "02000000"),
            (ETHERNET, "02005e005310 02005e005301 0800"),
            (ETHERNET, "02005e005310 02005e005301 8100 0007 0800"),
            (SLL, "0000 0001 0006 020000000001 0000 0800"),
            (SLL2, "0800 0000 00000003 0001 00 06 0200000000010000"),
        ] {
            let bytes = hex(&format!("{before} {PACKET}"));
            assert_eq!(headers(&bytes, false), Some((link, bytes.len() as u32)), "{link}");
        }
        let arp = hex("ffffffffffff 02005e005310 0806 0001 0800 06 04 0001");
        assert_eq!(headers(&arp, false), Some((ETHERNET, arp.len() as u32)));
    }

    #[test]
    fn payloads_are_no_packets_unless_a_tool_says_so() {
        let padded = [hex(PACKET), vec![0; 13]].concat();
        assert_eq!(headers(&padded, false), Some((RAW, 46)));
        assert_eq!(headers(&padded[..30], false), Some((RAW, 33)), "it is cut");
        assert_eq!(headers(&hex("d5f60001a59c4384f146df0801"), true), None);
        let mut strange = hex(PACKET);
        strange[10] ^= 1;
        assert_eq!(headers(&strange, false), None);
        assert_eq!(headers(&strange, true), Some((RAW, 33)));
        assert_eq!((headers(&[], true), headers(&[0x45; 19], true)), (None, None));
    }
}
