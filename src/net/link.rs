//! From a frame to its IP packet: the link layers.
//!
//! Header layouts as in "Link-layer header types" of tcpdump.org; all numbers are big-endian unless said otherwise.
//! The headers that may follow a type are in `ethertype.rs`. Frames of any other link type are dropped as
//! `UnknownLink`.
//!
//! ```text
//! Ethernet   destination 6 │ source 6 │ type 2 │ ...
//! SLL        kind 2 │ ARPHRD 2 │ length 2 │ address 8 │ type 2 │ ...
//! SLL2       type 2 │ 0 2 │ interface 4 │ ARPHRD 2 │ kind 1 │ length 1 │ address 8 │ ...
//! NULL, LOOP address family 4 (either byte order) │ ...
//! MPLS       see `ethertype.rs`
//! NFLOG, PKTAP, PPI  see `metadata.rs`
//! PPP, PPPoE see `ethertype.rs`
//! raw IP     ...
//! ```

use super::header::{Packet, header, missing};
use super::{DropReason, ethertype};
use crate::capture::Frame;

pub(crate) const NULL: u16 = 0;
pub(crate) const ETHERNET: u16 = 1;
const PPP: u16 = 9;
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
const PPP_HDLC: u16 = 50;
const PPP_ETHER: u16 = 51;
pub(crate) const RAW: u16 = 101;
const LOOP: u16 = 108;
pub(crate) const SLL: u16 = 113;
pub(super) const PKTAP_USER2: u16 = 149;
pub(super) const PPI: u16 = 192;
pub(super) const NFLOG: u16 = 239;
pub(super) const PKTAP: u16 = 258;
const MPLS: u16 = 219;
pub(super) const IPV4: u16 = 228;
pub(super) const IPV6: u16 = 229;
pub(crate) const SLL2: u16 = 276;

/// The IP packet of a frame.
#[inline(always)]
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, DropReason> {
    match frame.link {
        ETHERNET => {
            let (head, rest) = header::<14>(frame, frame.bytes)?;
            typed(frame, u16::from_be_bytes([head[12], head[13]]), rest)
        }
        _ => other(*frame),
    }
}

/// The IP packet of a frame that is not Ethernet; not inlined, because nearly all frames are Ethernet.
#[inline(never)]
fn other<'a>(frame: Frame<'a>) -> Result<Packet<'a>, DropReason> {
    match frame.link {
        SLL => {
            let (head, rest) = header::<16>(&frame, frame.bytes)?;
            typed(&frame, u16::from_be_bytes([head[14], head[15]]), rest)
        }
        SLL2 => {
            let (head, rest) = header::<20>(&frame, frame.bytes)?;
            typed(&frame, u16::from_be_bytes([head[0], head[1]]), rest)
        }
        NULL | LOOP => {
            let (family, rest) = header::<4>(&frame, frame.bytes)?;
            by_family(*family, rest)
        }
        PPP | PPP_HDLC => ethertype::packet_after(frame, ethertype::PPP, frame.bytes),
        PPP_ETHER => ethertype::packet_after(frame, ethertype::PPPOE_SESSION, frame.bytes),
        RAW | RAW_BSD | RAW_OPENBSD => match frame.bytes.first() {
            Some(0x40..=0x4f) => Ok(Packet::V4(frame.bytes)),
            Some(0x60..=0x6f) => Ok(Packet::V6(frame.bytes)),
            Some(_) => Err(DropReason::BadIp),
            None => Err(missing(frame, frame.bytes, 1, DropReason::BadIp)),
        },
        IPV4 => Ok(Packet::V4(frame.bytes)),
        IPV6 => Ok(Packet::V6(frame.bytes)),
        MPLS => ethertype::packet_after(frame, ethertype::MPLS, frame.bytes),
        // A frame within the frame: the decapsulator goes on.
        link if holds_frames(link) => Err(DropReason::Tunnel),
        _ => Err(DropReason::UnknownLink),
    }
}

/// Whether frames of a link type hold whole frames, behind headers that `metadata.rs` reads.
pub(super) fn holds_frames(link: u16) -> bool {
    matches!(link, PKTAP_USER2 | PPI | NFLOG | PKTAP)
}

/// Whether frames of a link type can be read.
pub fn is_supported_link(link: u16) -> bool {
    packet(&Frame { link, ..Frame::default() }).err() != Some(DropReason::UnknownLink)
}

/// The packet after an ethertype: IP, or IP after one tag; all else is read by [`ethertype::packet_after`].
#[inline(always)]
fn typed<'a>(frame: &Frame<'a>, kind: u16, rest: &'a [u8]) -> Result<Packet<'a>, DropReason> {
    match kind {
        ethertype::IPV4 => return Ok(Packet::V4(rest)),
        ethertype::IPV6 => return Ok(Packet::V6(rest)),
        ethertype::VLAN => {
            if let Some((tag, inner)) = rest.split_first_chunk::<4>() {
                match u16::from_be_bytes([tag[2], tag[3]]) {
                    ethertype::IPV4 => return Ok(Packet::V4(inner)),
                    ethertype::IPV6 => return Ok(Packet::V6(inner)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    ethertype::packet_after(*frame, kind, rest)
}

/// Reads BSD's address family, in the byte order of the capturing machine (NULL) or big-endian (LOOP). Files of
/// either link type with the other byte order exist, and the values tell the orders apart.
#[inline(always)]
pub(super) fn by_family(family: [u8; 4], packet: &[u8]) -> Result<Packet<'_>, DropReason> {
    let family = match family {
        [family, 0, 0, 0] | [0, 0, 0, family] => family,
        _ => return Err(DropReason::NotIp),
    };
    match family {
        2 => Ok(Packet::V4(packet)),
        // AF_INET6: Linux 10, Windows 23, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30.
        10 | 23 | 24 | 28 | 30 => Ok(Packet::V6(packet)),
        _ => Err(DropReason::NotIp),
    }
}

/// Whether frames of a link type contain their direction, which differs between the copies of a datagram.
pub fn has_direction(link: u16) -> bool {
    matches!(link, SLL | SLL2 | NFLOG | PKTAP | PKTAP_USER2)
}

/// Where a frame was captured: the number of its interface in the upper 24 bits; below it, in Linux cooked captures,
/// the packet type (0 received by this host, 4 sent by it) and, in their second version, the lowest bits of the number
/// that the kernel gave the interface; 0 for other link types, but for those of `metadata.rs`.
#[inline(always)]
pub(super) fn origin(frame: &Frame<'_>) -> u32 {
    let below = match (frame.link, frame.bytes) {
        (SLL, [_, kind, ..]) => *kind,
        (SLL2, [_, _, _, _, _, _, _, index, _, _, kind, ..]) => index << 3 | kind & 7,
        _ => 0,
    };
    frame.interface << 8 | u32::from(below)
}
