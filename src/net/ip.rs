//! From an IP packet to its UDP segment.
//!
//! ```text
//! IPv4 (RFC 791)                                IPv6 (RFC 8200)
//! ┌───┬───┬───────┬───────────────┐             ┌───┬───────┬───────────────────┐
//! │ 4 │IHL│  TOS  │ total length  │  0          │ 6 │ class │    flow label     │  0
//! ├───┴───┴───────┼───┬───────────┤             ├───┴───────┴───┬───────┬───────┤
//! │identification │flg│  offset   │  4          │payload length │ next  │  hop  │  4
//! ├───────┬───────┼───┴───────────┤             ├───────────────┴───────┴───────┤
//! │  TTL  │ proto │   checksum    │  8          │            source             │  8
//! ├───────┴───────┴───────────────┤             ├───────────────────────────────┤
//! │            source             │ 12          │          destination          │ 24
//! ├───────────────────────────────┤             ├───────────────────────────────┤
//! │          destination          │ 16          │ extension headers, payload ...│ 40
//! ├───────────────────────────────┤
//! │ options (IHL - 5 words), ...  │ 20
//! ```
//!
//! Total length counts the header; payload length counts extension headers but not the 40 bytes. Both are 0 in
//! captures of packets that the network card will cut into segments: then the packet ends with the frame.
//!
//! Both versions are read in the same order: header, protocol, fragment, lengths. [`v4`] and [`v6`] read what
//! query traffic looks like and leave the rest to [`v4_rare`] and [`v6_rare`], which read everything.

use super::link::missing;
use super::{Datagram, Endpoint, Turned, on_wire, udp};
use crate::capture::Frame;
use etherparse::err::ip_auth::HeaderSliceError;
use etherparse::{IpAuthHeaderSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice};

/// IPv6 extension headers followed in one packet; RFC 8200, 4.1 foresees seven.
pub(super) const MAX_EXTENSIONS: usize = 16;

/// Bytes of an IPv4 header without options.
const V4_HEADER: usize = 20;
/// Bytes of an IPv6 header.
const V6_HEADER: usize = 40;
/// More-fragments flag and fragment offset: not zero in every fragment, zero in whole packets.
const V4_FRAGMENT: u16 = 0x3fff;

// Protocol numbers (IANA, "Assigned Internet Protocol Numbers").
const HOP_BY_HOP: u8 = 0;
const ICMP: u8 = 1;
const IP_IN_IP: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_IN_IP: u8 = 41;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const GRE: u8 = 47;
const AUTHENTICATION: u8 = 51;
const ICMPV6: u8 = 58;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// The datagram of an IPv4 packet; `packet` is the captured rest of the frame.
#[inline(always)]
pub(super) fn v4<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, Turned> {
    let Some((head, segment)) = packet.split_first_chunk::<V4_HEADER>() else {
        return v4_rare(frame, packet);
    };
    if head[0] != 0x45 {
        return v4_rare(frame, packet);
    }
    match head[9] {
        UDP => {}
        TCP => return Err(Turned::Tcp),
        _ => return v4_rare(frame, packet),
    }
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let whole = u16::from_be_bytes([head[6], head[7]]) & V4_FRAGMENT == 0;
    match total.checked_sub(V4_HEADER) {
        Some(room) if whole && total <= packet.len() => {
            udp::datagram(frame, segment, room, v4_addresses(head), Endpoint::v4)
        }
        _ => v4_rare(frame, packet),
    }
}

/// The datagram of any IPv4 packet: options, authentication header, cut, damaged, other protocols.
#[cold]
#[inline(never)]
pub(super) fn v4_rare<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, Turned> {
    let Some(head) = packet.first_chunk::<V4_HEADER>() else {
        return Err(missing(frame, packet, V4_HEADER, Turned::BadIp));
    };
    let header = usize::from(head[0] & 0x0f).wrapping_mul(4);
    if head[0] >> 4 != 4 || header < V4_HEADER {
        return Err(Turned::BadIp);
    }
    let protocol = head[9];
    if protocol != UDP && protocol != AUTHENTICATION {
        return Err(no_udp(protocol));
    }
    if u16::from_be_bytes([head[6], head[7]]) & V4_FRAGMENT != 0 {
        return Err(Turned::Fragment);
    }
    let wire = on_wire(frame, packet);
    let total = match u16::from_be_bytes([head[2], head[3]]) {
        0 => wire,
        total => usize::from(total),
    };
    if total > wire {
        return Err(Turned::BadIp);
    }
    let mut room = total.checked_sub(header).ok_or(Turned::BadIp)?;
    let mut segment = packet.get(header..).unwrap_or_default();
    if protocol == AUTHENTICATION {
        let next = step(AUTHENTICATION, &mut segment, &mut room)?;
        if next != UDP {
            return Err(no_udp(next));
        }
    }
    udp::datagram(frame, segment, room, v4_addresses(head), Endpoint::v4)
}

/// The datagram of an IPv6 packet; `packet` is the captured rest of the frame.
#[inline(always)]
pub(super) fn v6<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, Turned> {
    let Some((head, segment)) = packet.split_first_chunk::<V6_HEADER>() else {
        return v6_rare(frame, packet);
    };
    if head[0] >> 4 != 6 {
        return v6_rare(frame, packet);
    }
    match head[6] {
        UDP => {}
        TCP => return Err(Turned::Tcp),
        _ => return v6_rare(frame, packet),
    }
    let room = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if room == 0 || room > segment.len() {
        return v6_rare(frame, packet);
    }
    udp::datagram(frame, segment, room, v6_addresses(head), Endpoint::v6)
}

/// The datagram of any IPv6 packet: extension headers, cut, damaged, other protocols.
#[cold]
#[inline(never)]
pub(super) fn v6_rare<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, Turned> {
    let Some((head, mut segment)) = packet.split_first_chunk::<V6_HEADER>() else {
        return Err(missing(frame, packet, V6_HEADER, Turned::BadIp));
    };
    if head[0] >> 4 != 6 {
        return Err(Turned::BadIp);
    }
    let mut next = head[6];
    if next != UDP && !is_extension(next) {
        return Err(no_udp(next));
    }
    let wire = on_wire(frame, segment);
    let mut room = match u16::from_be_bytes([head[4], head[5]]) {
        // A jumbogram (RFC 2675) says its length in an extension header; without one it is offload.
        0 if next == UDP => wire,
        0 => return Err(Turned::BadIp),
        room => usize::from(room),
    };
    if room > wire {
        return Err(Turned::BadIp);
    }
    for _ in 0..=MAX_EXTENSIONS {
        if next == UDP {
            return udp::datagram(frame, segment, room, v6_addresses(head), Endpoint::v6);
        }
        next = step(next, &mut segment, &mut room)?;
        // Hop-by-hop options stand first or nowhere: receivers discard all else (RFC 8200, 4).
        if next == HOP_BY_HOP {
            return Err(Turned::BadIp);
        }
        if next != UDP && !is_extension(next) {
            return Err(no_udp(next));
        }
    }
    Err(Turned::BadIp)
}

/// Source and destination of an IPv4 header.
#[inline(always)]
fn v4_addresses(head: &[u8; V4_HEADER]) -> ([u8; 4], [u8; 4]) {
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *head;
    ([s0, s1, s2, s3], [d0, d1, d2, d3])
}

/// Source and destination of an IPv6 header.
#[inline(always)]
fn v6_addresses(head: &[u8; V6_HEADER]) -> ([u8; 16], [u8; 16]) {
    let [_, _, _, _, _, _, _, _, both @ ..] = head;
    let address = |chunk: Option<&[u8; 16]>| chunk.copied().unwrap_or_default();
    (address(both.first_chunk()), address(both.last_chunk()))
}

/// Whether an IPv6 packet goes on behind this header (IANA, "IPv6 Extension Header Types"; not ESP, which
/// hides what follows).
fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP | SHIM6)
}

/// Walks over one extension header of the given kind and returns the number of what follows.
///
/// `rest` is what was captured from the header on, `room` what of it is IP payload on the wire.
fn step(kind: u8, rest: &mut &[u8], room: &mut usize) -> Result<u8, Turned> {
    let inside = rest.get(..*room).unwrap_or(rest);
    let walked = match kind {
        AUTHENTICATION => match IpAuthHeaderSlice::from_slice(inside) {
            Ok(header) => Ok((header.next_header().0, header.slice().len())),
            Err(HeaderSliceError::Len(error)) => Err(error.required_len),
            Err(HeaderSliceError::Content(_)) => return Err(Turned::BadIp),
        },
        FRAGMENT => match Ipv6FragmentHeaderSlice::from_slice(inside) {
            // A fragment without fellows (RFC 6946) is a whole packet.
            Ok(header) if header.is_fragmenting_payload() => {
                let next = header.next_header().0;
                let ours = next == UDP || is_extension(next);
                return Err(if ours { Turned::Fragment } else { no_udp(next) });
            }
            Ok(header) => Ok((header.next_header().0, header.slice().len())),
            Err(error) => Err(error.required_len),
        },
        _ => match Ipv6RawExtHeaderSlice::from_slice(inside) {
            Ok(header) => Ok((header.next_header().0, header.slice().len())),
            Err(error) => Err(error.required_len),
        },
    };
    match walked {
        Ok((next, length)) => {
            *rest = rest.get(length..).unwrap_or_default();
            *room = room.saturating_sub(length);
            Ok(next)
        }
        Err(required) if required > *room => Err(Turned::BadIp),
        Err(_) => Err(Turned::HeadersCut),
    }
}

/// The reason for a packet that carries another protocol than UDP.
fn no_udp(protocol: u8) -> Turned {
    match protocol {
        TCP => Turned::Tcp,
        ICMP | ICMPV6 => Turned::Icmp,
        IP_IN_IP | IPV6_IN_IP | GRE => Turned::Tunnel,
        _ => Turned::OtherProtocol,
    }
}
