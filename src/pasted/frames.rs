//! Makes frames from pasted pieces: recognises whole packets, with headers before the datagram, and gives addresses,
//! directions and times to all other pieces.

use super::{Mark, Metadata, Piece};
use crate::capture::{CaptureInfo, Time};
use crate::classify;
use crate::net::link::{ETHERNET, NULL, RAW, SLL, SLL2};
use crate::net::{Endpoint, OwnedFrame, ethertype, parse};
use crate::protocols::Role;
use crate::report::{StandIn, StandIns};
use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};

/// Ethertypes of IPv4 and IPv6 and of VLAN tags; and of ARP, followed by its fixed fields for Ethernet and IPv4.
const IP: [u16; 2] = [ethertype::IPV4, ethertype::IPV6];
const TAGS: [u16; 2] = [ethertype::VLAN, ethertype::QINQ];
const ARP: &[u8] = &[8, 6, 0, 1, 8, 0, 6, 4];

/// Link type and wire length in bytes of a packet; `None` if the bytes are a payload.
///
/// `is_likely` means that the tool that printed the bytes prints packets.
pub fn detect_headers(bytes: &[u8], is_likely: bool) -> Option<(u16, u32)> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word));
    let is_ip = |at| word(at).is_some_and(|kind| IP.contains(&kind));
    let is_tagged = word(12).is_some_and(|kind| TAGS.contains(&kind)) && is_ip(16);
    let families = [2, 24, 28, 30].map(u32::to_le_bytes);
    let is_family = |first: &[u8; 4]| families.iter().any(|f| f == first || f.iter().rev().eq(first.iter()));
    // Link type, offset of the IP header, and whether the preceding header announces IP.
    let links = [
        (RAW, 0, true),
        (ETHERNET, 14, is_ip(12)),
        (ETHERNET, 18, is_tagged),
        (SLL, 16, is_ip(14)),
        (SLL2, 20, is_ip(0)),
        (NULL, 4, bytes.first_chunk().is_some_and(is_family)),
    ];
    let packet = links.into_iter().filter(|(.., announces_ip)| *announces_ip).find_map(|(link, at, _)| {
        let wire_len = ip_length(bytes.get(at..)?, is_likely)?.saturating_add(at).max(bytes.len());
        Some((link, u32::try_from(wire_len).ok()?))
    });
    let arp = || bytes.get(12..)?.starts_with(ARP).then_some((ETHERNET, u32::try_from(bytes.len()).ok()?));
    packet.or_else(arp)
}

/// Length of an IP packet according to its header; `None` if it is not certainly, or with `is_likely` possibly, an IP
/// packet.
fn ip_length(packet: &[u8], is_likely: bool) -> Option<usize> {
    let (length, is_certain) = if let Ok(header) = Ipv4HeaderSlice::from_slice(packet) {
        let length = usize::from(header.total_len());
        // With checksum offloading, the network card computes the checksum after the capture.
        let is_offloaded =
            header.header_checksum() == 0 && length == packet.len() && header.protocol() == IpNumber::UDP;
        let has_valid_checksum = header.header_checksum() == header.to_header().calc_header_checksum();
        (Some(length).filter(|length| *length >= header.slice().len())?, has_valid_checksum || is_offloaded)
    } else {
        let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
        let length = usize::from(header.payload_length()).saturating_add(header.slice().len());
        let is_known_protocol = [0, 6, 17, 43, 44, 58, 60].contains(&header.next_header().0);
        (length, is_known_protocol && length == packet.len() && length > header.slice().len())
    };
    (is_likely || is_certain).then_some(length)
}

/// Time in nanoseconds between a datagram and its successor without a time stamp.
const STEP: i64 = 1_000_000;
/// The client if the text names none: 192.0.2.1 or 2001:db8::1, from the documentation ranges.
const CLIENT: [u8; 4] = [192, 0, 2, 1];
/// The server if the text names none.
const SERVER: [u8; 4] = [198, 51, 100, 1];
const CLIENT_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const SERVER_V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const CLIENT_PORT: u16 = 40_000;

/// Assumptions about the endpoints if the text does not name them.
#[derive(Clone, Copy, Debug)]
pub struct AssumedEndpoints {
    /// UDP port of the server.
    pub port: u16,
    /// Protocols that may determine the direction of a datagram, one bit each in registry order.
    pub protocols: u32,
}

impl Default for AssumedEndpoints {
    fn default() -> Self {
        AssumedEndpoints { port: 7777, protocols: u32::MAX }
    }
}

/// Makes a frame for each piece, in order.
///
/// A piece with its own headers is not changed. Other pieces get headers with the endpoints that the text names, or
/// with made-up ones. The direction comes from the text, or else from the bytes. If neither determines it, the piece
/// counts as the answer to a preceding request, or else as a request. Without a time stamp, time advances by a
/// millisecond.
pub fn frames(pieces: &[Piece], ends: AssumedEndpoints) -> Vec<OwnedFrame> {
    let mut time = start_time(pieces);
    let mut frames = vec![];
    for (piece, is_request) in pieces.iter().zip(directions(pieces, ends)) {
        time = piece.metadata.time.unwrap_or(time.plus(STEP));
        frames.push(match piece.packet {
            Some((link, wire_len)) => OwnedFrame {
                time,
                link,
                wire_len: wire_len.saturating_add(piece.missing),
                bytes: piece.bytes.clone(),
            },
            None => {
                let [from, to] = endpoints(piece, is_request, ends.port);
                OwnedFrame::udp(time, from, to, &piece.bytes, piece.missing)
            }
        });
    }
    frames
}

/// What [`frames`] makes up of each frame.
pub fn stand_ins(pieces: &[Piece], ends: AssumedEndpoints) -> StandIns {
    let made_up = pieces.iter().zip(directions(pieces, ends)).map(|(piece, is_request)| {
        let Metadata { src, dst, peer, time, .. } = piece.metadata;
        if piece.packet.is_some() {
            return StandIn { time: time.is_none(), ..StandIn::default() };
        }
        let [from, to] = if is_request { ["client", "server"] } else { ["server", "client"] };
        let is_peer = |word| word == "server" && peer.is_some() && src.is_none() && dst.is_none();
        let word = |word, end: Option<Endpoint>| Some(word).filter(|word| end.is_none() && !is_peer(*word));
        StandIn { ends: [word(from, src), word(to, dst)], time: time.is_none() }
    });
    StandIns(made_up.collect())
}

/// Whether each piece counts as a request.
fn directions(pieces: &[Piece], ends: AssumedEndpoints) -> Vec<bool> {
    let author_is_server = author_is_server(pieces, ends);
    let mut previous_is_request = None;
    let direction = |piece: &Piece| {
        let is_request = match piece.metadata.mark {
            Some(Mark::ToServer) => true,
            Some(Mark::FromServer) => false,
            Some(Mark::Sent) => !author_is_server,
            Some(Mark::Received) => author_is_server,
            None => is_request(piece, ends).unwrap_or(!previous_is_request.unwrap_or(false)),
        };
        if piece.packet.is_none() {
            previous_is_request = Some(is_request);
        }
        is_request
    };
    pieces.iter().map(direction).collect()
}

/// Capture metadata of pasted frames.
pub fn facts(frames: &[OwnedFrame]) -> CaptureInfo {
    let mut links = vec![];
    for frame in frames {
        if !links.contains(&frame.link) {
            links.push(frame.link);
        }
    }
    CaptureInfo { format: "hex", links, ..CaptureInfo::default() }
}

/// The start time: one step before the first piece, counted back from the first time stamp with one step per piece.
fn start_time(pieces: &[Piece]) -> Time {
    let first_stamp = pieces.iter().enumerate().find_map(|(i, p)| Some((i, p.metadata.time?)));
    let (pieces_before, first_time) = first_stamp.unwrap_or((0, Time::from_nanos(0)));
    let steps = i64::try_from(pieces_before).unwrap_or(0).saturating_add(1);
    first_time.plus(STEP.saturating_mul(steps).saturating_neg())
}

/// The two endpoints of a piece without headers, sender first.
fn endpoints(piece: &Piece, is_request: bool, port: u16) -> [Endpoint; 2] {
    let Metadata { src, dst, peer, local_port, .. } = piece.metadata;
    let is_v6 = [src, dst, peer].into_iter().flatten().any(|end| end.octets().is_none());
    let client_port = local_port.unwrap_or(CLIENT_PORT);
    let (client, server) = if is_v6 {
        (Endpoint::v6(CLIENT_V6, client_port), Endpoint::v6(SERVER_V6, port))
    } else {
        (Endpoint::v4(CLIENT, client_port), Endpoint::v4(SERVER, port))
    };
    let is_named = src.is_some() || dst.is_some();
    let server = peer.filter(|_| !is_named).unwrap_or(server);
    let [from, to] = if is_request { [client, server] } else { [server, client] };
    [src.unwrap_or(from), dst.unwrap_or(to)]
}

/// Whether a piece looks like a request; `None` if its bytes do not show that.
fn is_request(piece: &Piece, ends: AssumedEndpoints) -> Option<bool> {
    // Use a neutral port: a protocol whose messages contain the server's port would take it as evidence of the
    // direction.
    let [client, server] = endpoints(piece, true, CLIENT_PORT);
    let owned_frame = OwnedFrame::udp(Time::UNKNOWN, client, server, &piece.bytes, piece.missing);
    let frame = owned_frame.frame(0);
    match classify::probe(&parse(&frame).ok()?, ends.protocols)?.1.role {
        Role::Request | Role::RequestPart | Role::MaybeRequest => Some(true),
        Role::Response | Role::ResponsePart | Role::MaybeResponse => Some(false),
        Role::Stray | Role::Unreadable => None,
    }
}

/// Whether "sent" means sent by the server. The first marked datagram that is recognised as a request or an answer
/// decides.
fn author_is_server(pieces: &[Piece], ends: AssumedEndpoints) -> bool {
    pieces
        .iter()
        .find_map(|piece| match piece.metadata.mark? {
            Mark::Sent => is_request(piece, ends).map(|is_request| !is_request),
            Mark::Received => is_request(piece, ends),
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
    fn recognises_packets_after_every_link_header() {
        for (link, header) in [
            (RAW, ""),
            (NULL, "02000000"),
            (ETHERNET, "02005e005310 02005e005301 0800"),
            (ETHERNET, "02005e005310 02005e005301 8100 0007 0800"),
            (SLL, "0000 0001 0006 020000000001 0000 0800"),
            (SLL2, "0800 0000 00000003 0001 00 06 0200000000010000"),
        ] {
            let bytes = hex(&format!("{header} {PACKET}"));
            assert_eq!(detect_headers(&bytes, false), Some((link, bytes.len() as u32)), "{link}");
        }
        let arp = hex("ffffffffffff 02005e005310 0806 0001 0800 06 04 0001");
        assert_eq!(detect_headers(&arp, false), Some((ETHERNET, arp.len() as u32)));
    }

    #[test]
    fn ambiguous_bytes_are_packets_only_if_the_tool_prints_packets() {
        let padded = [hex(PACKET), vec![0; 13]].concat();
        assert_eq!(detect_headers(&padded, false), Some((RAW, 46)));
        assert_eq!(detect_headers(&padded[..30], false), Some((RAW, 33)), "it is cut");
        assert_eq!(detect_headers(&hex("d5f60001a59c4384f146df0801"), true), None);
        let mut strange = hex(PACKET);
        strange[10] ^= 1;
        assert_eq!(detect_headers(&strange, false), None);
        assert_eq!(detect_headers(&strange, true), Some((RAW, 33)));
        assert_eq!((detect_headers(&[], true), detect_headers(&[0x45; 19], true)), (None, None));
    }
}
