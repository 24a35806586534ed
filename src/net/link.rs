//! From a frame to its IP packet: the link layers.
//!
//! Header layouts after tcpdump.org, "Link-layer header types"; all numbers big-endian unless said.
//!
//! ```text
//! Ethernet   destination 6 │ source 6 │ type 2 │ ...
//! tag        control 2 │ type 2 │ ...                     IEEE 802.1Q, after a type 8100, 88a8, 9100, 9200
//! LLC/SNAP   AA AA 03 │ 00 00 00 │ type 2 │ ...           IEEE 802.2, after a type that is a length (<= 1500)
//! SLL        kind 2 │ ARPHRD 2 │ length 2 │ address 8 │ type 2 │ ...
//! SLL2       type 2 │ 0 2 │ interface 4 │ ARPHRD 2 │ kind 1 │ length 1 │ address 8 │ ...
//! NULL, LOOP address family 4 (either byte order) │ ...
//! PPP        [FF 03] │ protocol 1 or 2 │ ...              RFC 1661, RFC 1662
//! raw IP     ...
//! ```

use super::{Turned, on_wire};
use crate::capture::Frame;

/// An IP packet with what follows it in the frame, by what the link header announces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packet<'a> {
    /// Announced as IPv4.
    V4(&'a [u8]),
    /// Announced as IPv6.
    V6(&'a [u8]),
}

/// VLAN tags and SNAP headers followed in one frame; real frames have two at most.
pub(super) const MAX_TAGS: usize = 8;

const LINK_NULL: u16 = 0;
const LINK_ETHERNET: u16 = 1;
const LINK_PPP: u16 = 9;
const LINK_RAW_BSD: u16 = 12;
const LINK_RAW_OPENBSD: u16 = 14;
const LINK_PPP_HDLC: u16 = 50;
const LINK_RAW: u16 = 101;
const LINK_LOOP: u16 = 108;
const LINK_SLL: u16 = 113;
const LINK_IPV4: u16 = 228;
const LINK_IPV6: u16 = 229;
const LINK_SLL2: u16 = 276;

/// The largest type field that is a length (IEEE 802.3).
const MAX_802_3_LENGTH: u16 = 1500;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
const TYPE_VLAN: u16 = 0x8100;
const TYPE_QINQ: u16 = 0x88a8;
const TYPE_QINQ_OLD: u16 = 0x9100;
const TYPE_QINQ_OLDER: u16 = 0x9200;
/// LLC's two service access points and control byte, then SNAP's organisation: ethertypes follow.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00];

/// PPP's address and control bytes, which peers may agree to leave out (RFC 1661, 6.6).
const PPP_ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// The IP packet of a frame.
#[inline(always)]
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    match frame.link {
        LINK_ETHERNET => {
            let (head, rest) = header::<14>(frame, frame.bytes)?;
            typed(frame, u16::from_be_bytes([head[12], head[13]]), rest)
        }
        LINK_SLL => {
            let (head, rest) = header::<16>(frame, frame.bytes)?;
            typed(frame, u16::from_be_bytes([head[14], head[15]]), rest)
        }
        LINK_SLL2 => {
            let (head, rest) = header::<20>(frame, frame.bytes)?;
            typed(frame, u16::from_be_bytes([head[0], head[1]]), rest)
        }
        LINK_NULL | LINK_LOOP => {
            let (family, rest) = header::<4>(frame, frame.bytes)?;
            family_of(*family, rest)
        }
        LINK_RAW | LINK_RAW_BSD | LINK_RAW_OPENBSD => match frame.bytes.first() {
            Some(0x40..=0x4f) => Ok(Packet::V4(frame.bytes)),
            Some(0x60..=0x6f) => Ok(Packet::V6(frame.bytes)),
            Some(_) => Err(Turned::BadIp),
            None => Err(missing(frame, frame.bytes, 1, Turned::BadIp)),
        },
        LINK_IPV4 => Ok(Packet::V4(frame.bytes)),
        LINK_IPV6 => Ok(Packet::V6(frame.bytes)),
        LINK_PPP | LINK_PPP_HDLC => ppp(frame),
        _ => Err(Turned::UnknownLink),
    }
}

/// What an ethertype announces: IP, or after one tag IP; anything else is [`tagged`]'s.
#[inline(always)]
fn typed<'a>(frame: &Frame<'a>, kind: u16, rest: &'a [u8]) -> Result<Packet<'a>, Turned> {
    match kind {
        TYPE_IPV4 => return Ok(Packet::V4(rest)),
        TYPE_IPV6 => return Ok(Packet::V6(rest)),
        TYPE_VLAN => {
            if let Some((tag, inner)) = rest.split_first_chunk::<4>() {
                match u16::from_be_bytes([tag[2], tag[3]]) {
                    TYPE_IPV4 => return Ok(Packet::V4(inner)),
                    TYPE_IPV6 => return Ok(Packet::V6(inner)),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    tagged(frame, kind, rest)
}

/// Follows tags and SNAP headers from a type field to the packet behind them.
#[cold]
#[inline(never)]
fn tagged<'a>(frame: &Frame<'a>, mut kind: u16, mut rest: &'a [u8]) -> Result<Packet<'a>, Turned> {
    for _ in 0..=MAX_TAGS {
        match kind {
            TYPE_IPV4 => return Ok(Packet::V4(rest)),
            TYPE_IPV6 => return Ok(Packet::V6(rest)),
            TYPE_VLAN | TYPE_QINQ | TYPE_QINQ_OLD | TYPE_QINQ_OLDER => {
                let (tag, inner) = header::<4>(frame, rest)?;
                (kind, rest) = (u16::from_be_bytes([tag[2], tag[3]]), inner);
            }
            0..=MAX_802_3_LENGTH => (kind, rest) = snap(frame, rest)?,
            _ => return Err(Turned::NotIp),
        }
    }
    Err(Turned::BadLink)
}

/// The ethertype behind a SNAP header; other LLC frames (spanning tree, IPX) are not IP.
fn snap<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(u16, &'a [u8]), Turned> {
    if !rest.iter().zip(SNAP).all(|(&byte, snap)| byte == snap) {
        return Err(Turned::NotIp);
    }
    match rest.split_first_chunk::<8>() {
        Some((head, inner)) => Ok((u16::from_be_bytes([head[6], head[7]]), inner)),
        None => Err(missing(frame, rest, 8, Turned::NotIp)),
    }
}

/// BSD's address family, in the byte order of the machine that captured (NULL) or big-endian (LOOP); files of
/// either link type with the other order exist, and the values tell them apart.
#[inline(always)]
fn family_of(family: [u8; 4], packet: &[u8]) -> Result<Packet<'_>, Turned> {
    let family = match family {
        [family, 0, 0, 0] | [0, 0, 0, family] => family,
        _ => return Err(Turned::NotIp),
    };
    match family {
        2 => Ok(Packet::V4(packet)),
        // AF_INET6: Linux 10, Windows 23, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30.
        10 | 23 | 24 | 28 | 30 => Ok(Packet::V6(packet)),
        _ => Err(Turned::NotIp),
    }
}

/// PPP with or without address and control bytes, its protocol field in one byte or two.
#[cold]
#[inline(never)]
fn ppp<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let rest = frame.bytes.strip_prefix(&PPP_ADDRESS_CONTROL).unwrap_or(frame.bytes);
    // The last byte of a protocol number is odd and the others are even (RFC 1661, 2), so an odd first one
    // is a number whose leading zero was left out. 00ff is reserved: ff is the start of an address.
    let (protocol, packet) = match rest.split_first() {
        Some((&first, packet)) if first & 1 == 1 && first != 0xff => (u16::from(first), packet),
        _ => {
            let (number, packet) = header::<2>(frame, rest)?;
            (u16::from_be_bytes(*number), packet)
        }
    };
    match protocol {
        PPP_IPV4 => Ok(Packet::V4(packet)),
        PPP_IPV6 => Ok(Packet::V6(packet)),
        _ => Err(Turned::NotIp),
    }
}

/// Splits off a link header of `N` bytes.
#[inline(always)]
fn header<'a, const N: usize>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(&'a [u8; N], &'a [u8]), Turned> {
    match rest.split_first_chunk::<N>() {
        Some(split) => Ok(split),
        None => Err(missing(frame, rest, N, Turned::BadLink)),
    }
}

/// Why `rest` is shorter than the `need` bytes of a header: the snap length, or `damage`.
#[cold]
#[inline(never)]
pub(super) fn missing(frame: &Frame<'_>, rest: &[u8], need: usize, damage: Turned) -> Turned {
    if on_wire(frame, rest) < need { damage } else { Turned::HeadersCut }
}
