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
//! Total length includes the header; payload length includes extension headers but not the 40 bytes of the IPv6
//! header. Both are 0 in captures of packets that the network card will cut into segments: then the packet ends with
//! the frame.
//!
//! Both versions are read in the same order: header, protocol, fragment, lengths. [`v4`] and [`v6`] read headers as
//! query traffic has them, and leave all others to [`slow_path`], which reads everything, in the steps of
//! `ip_payload.rs`.

use super::header::{
    ICMP, ICMPV6, Packet, TCP, UDP, V4_FRAGMENT, V4_HEADER, V6_HEADER, v4_addresses, v6_addresses,
};
use super::ip_payload::IpPayload;
use super::{Datagram, DropReason, Endpoint, link, udp};
use crate::capture::Frame;

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
    let unfragmented = u16::from_be_bytes([head[6], head[7]]) & V4_FRAGMENT == 0;
    match total.checked_sub(V4_HEADER) {
        Some(room) if unfragmented && total <= packet.len() => {
            let ip_id = u16::from_be_bytes([head[4], head[5]]);
            udp::datagram(frame, segment, room, v4_addresses(head), Endpoint::v4, (ip_id, head[8]), false)
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
    udp::datagram(frame, segment, room, v6_addresses(head), Endpoint::v6, (0, head[7]), false)
}

/// The datagram of any IP packet, also one with options or extension headers, cut, damaged, or of another protocol.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Random IP headers over random bytes: the inline path and the cold path give the same result.
        #[test]
        fn the_inline_path_agrees_with_the_cold_one(
            mut bytes in prop::collection::vec(any::<u8>(), 0..120),
            total in 0_u16..130,
            length in 0_u16..100,
            protocol in prop::sample::select(vec![17, 17, 17, 6, 1, 51, 44, 0, 47]),
            first in prop::sample::select(vec![0x45, 0x45, 0x46, 0x44, 0x60, 0x6f]),
            fragment in prop::sample::select(vec![0, 0x40, 0x20, 0x01]),
            more in 0_usize..60,
        ) {
            let patch = |bytes: &mut Vec<u8>, at: usize, with: &[u8]| {
                if let Some(place) = bytes.get_mut(at..at + with.len()) {
                    place.copy_from_slice(with);
                }
            };
            patch(&mut bytes, 0, &[first]);
            if first >> 4 == 4 {
                patch(&mut bytes, 2, &total.to_be_bytes());
                patch(&mut bytes, 6, &[fragment, 0]);
                patch(&mut bytes, 9, &[protocol]);
                patch(&mut bytes, usize::from(first & 15) * 4 + 4, &length.to_be_bytes());
            } else {
                patch(&mut bytes, 4, &total.to_be_bytes());
                patch(&mut bytes, 6, &[protocol]);
                patch(&mut bytes, 44, &length.to_be_bytes());
            }
            let frame = Frame { link: 101, wire_len: (bytes.len() + more) as u32, bytes: &bytes, ..Frame::default() };
            let pairs = [
                (v4(&frame, &bytes), slow_path(frame, Packet::V4(&bytes))),
                (v6(&frame, &bytes), slow_path(frame, Packet::V6(&bytes))),
            ];
            for (inline, cold) in pairs {
                match (inline, cold) {
                    (Ok(a), Ok(b)) => {
                        let at = a.at as usize;
                        prop_assert_eq!(a.payload, &bytes[at..at + a.payload.len()]);
                        prop_assert_eq!(format!("{a:?}"), format!("{b:?}"));
                    }
                    (a, b) => prop_assert_eq!(a.err(), b.err()),
                }
            }
        }
    }
}
