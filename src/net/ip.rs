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
//! query traffic looks like and leave the rest to [`slow_path`], which reads everything, in the steps of `ip_payload.rs`.

use super::ip_payload::IpPayload;
use super::link::{self, Packet};
use super::{Datagram, DropReason, Endpoint, udp};
use crate::capture::Frame;

/// Bytes of an IPv4 header without options.
pub(super) const V4_HEADER: usize = 20;
/// Bytes of an IPv6 header.
pub(super) const V6_HEADER: usize = 40;
/// More-fragments flag and fragment offset: not zero in every fragment, zero in whole packets.
pub(super) const V4_FRAGMENT: u16 = 0x3fff;

// Protocol numbers (IANA, "Assigned Internet Protocol Numbers").
pub(super) const ICMP: u8 = 1;
pub(super) const IPV4: u8 = 4;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const IPV6: u8 = 41;
pub(super) const GRE: u8 = 47;
pub(super) const ICMPV6: u8 = 58;

/// The datagram of an IPv4 packet; `packet` is the captured rest of the frame.
#[inline(always)]
pub(super) fn v4<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, DropReason> {
    let Some((head, segment)) = packet.split_first_chunk::<V4_HEADER>() else {
        return slow_path(*frame, Packet::V4(packet));
    };
    if head[0] != 0x45 {
        return slow_path(*frame, Packet::V4(packet));
    }
    match head[9] {
        UDP => {}
        TCP => return Err(DropReason::Tcp),
        _ => return slow_path(*frame, Packet::V4(packet)),
    }
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let whole = u16::from_be_bytes([head[6], head[7]]) & V4_FRAGMENT == 0;
    match total.checked_sub(V4_HEADER) {
        Some(room) if whole && total <= packet.len() => {
            let ip_id = u16::from_be_bytes([head[4], head[5]]);
            udp::datagram(frame, segment, room, v4_addresses(head), Endpoint::v4, ip_id, false)
        }
        _ => slow_path(*frame, Packet::V4(packet)),
    }
}

/// The datagram of an IPv6 packet; `packet` is the captured rest of the frame.
#[inline(always)]
pub(super) fn v6<'a>(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Datagram<'a>, DropReason> {
    let Some((head, segment)) = packet.split_first_chunk::<V6_HEADER>() else {
        return slow_path(*frame, Packet::V6(packet));
    };
    if head[0] >> 4 != 6 {
        return slow_path(*frame, Packet::V6(packet));
    }
    match head[6] {
        UDP => {}
        TCP => return Err(DropReason::Tcp),
        _ => return slow_path(*frame, Packet::V6(packet)),
    }
    let room = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if room == 0 || room > segment.len() {
        return slow_path(*frame, Packet::V6(packet));
    }
    udp::datagram(frame, segment, room, v6_addresses(head), Endpoint::v6, 0, false)
}

/// The datagram of any IP packet: options, extension headers, cut, damaged, other protocols.
#[cold]
#[inline(never)]
pub(super) fn slow_path<'a>(frame: Frame<'a>, packet: Packet<'a>) -> Result<Datagram<'a>, DropReason> {
    let payload = IpPayload::of(&frame, packet)?;
    if payload.fragment.is_some() {
        return Err(DropReason::Fragment);
    }
    match payload.protocol {
        UDP => Ok(Datagram { origin: link::origin(&frame), ..payload.datagram(false)? }),
        ICMP | ICMPV6 => Err(DropReason::Icmp),
        _ => Err(DropReason::Tunnel),
    }
}

/// Source and destination of an IPv4 header.
#[inline(always)]
pub(super) fn v4_addresses(head: &[u8; V4_HEADER]) -> ([u8; 4], [u8; 4]) {
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *head;
    ([s0, s1, s2, s3], [d0, d1, d2, d3])
}

/// Source and destination of an IPv6 header.
#[inline(always)]
pub(super) fn v6_addresses(head: &[u8; V6_HEADER]) -> ([u8; 16], [u8; 16]) {
    let [_, _, _, _, _, _, _, _, both @ ..] = head;
    let address = |chunk: Option<&[u8; 16]>| chunk.copied().unwrap_or_default();
    (address(both.first_chunk()), address(both.last_chunk()))
}
