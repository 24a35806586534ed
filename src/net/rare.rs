//! Link types that few captures have.
//!
//! ```text
//! type of its own   some bytes │ type 2 │ some bytes │ ...      FDDI, IPoIB, switch tags, …: see TYPED
//! LLC               some bytes │ AA AA 03 00 00 00 │ type 2 │ ...     see SNAPPED
//! PPP               [direction 1] │ PPP;  direction 1 │ 03 │ PPP;  PPPoE
//! Cisco HDLC        [direction 1] │ address 1 │ control 1 │ type 2 │ ...
//! Frame relay       [direction 1] │ address 2 to 4, the last byte odd │ 03 │ [00] │ NLPID 1 │ ...   RFC 2427
//!                                                                   │ type 2 │ ...                  Cisco's
//! PKTAP             length 4 │ kind 4 │ link type 4 │ ...       little-endian; then a frame of that link type
//! PPI               version 1 │ flags 1 │ length 2 │ link type 4 │ ...            the same
//! NFLOG             family 1 │ version 1 │ resource 2 │ { length 2 │ kind 2 │ value, padded to 4 } …
//! PFLOG             length 1 │ family 1 │ ..., padded to 4
//! ```

use super::link::{self, Packet, family_of, header, missing};
use super::{Turned, ethertype, on_wire, wifi};
use crate::capture::Frame;

const PPP: u16 = 9;
const TOKEN_RING: u16 = 6;
const PPP_HDLC: u16 = 50;
const PPP_ETHER: u16 = 51;
const FRELAY: u16 = 107;
const ENC: u16 = 109;
const PFLOG: u16 = 117;
/// Apple's PKTAP in captures from before it had a number of its own.
const USER2: u16 = 149;
const PPP_PPPD: u16 = 166;
const PPI: u16 = 192;
const PPP_WITH_DIR: u16 = 204;
const FRELAY_WITH_DIR: u16 = 206;
const MPLS: u16 = 219;
const IPNET: u16 = 226;
const NFLOG: u16 = 239;
const PKTAP: u16 = 258;

/// Link types with a header of fixed length that holds an ethertype: number, length, place of the type.
const TYPED: &[(u16, usize, usize)] = &[
    (104, 4, 2),   // Cisco HDLC
    (138, 18, 16), // IP over IEEE 1394
    (205, 5, 3),   // Cisco HDLC with direction
    (240, 18, 16), // netANALYZER: 4 bytes before Ethernet
    (241, 26, 24), // netANALYZER transparent: the preamble too
    (242, 44, 40), // IP over InfiniBand
    (281, 18, 16), // Broadcom's switch tag in front of the type
    (282, 18, 16), // … in front of the frame
    (284, 18, 16), // Marvell's DSA
    (285, 22, 20), // … with an ethertype of its own
];
/// Link types with a header of fixed length, then LLC: number, length.
const SNAPPED: &[(u16, usize)] = &[(10, 13), (100, 0), (122, 16), (123, 4)];

/// Cisco HDLC's addresses in what may be PPP: one station, all stations.
const CISCO: [u8; 2] = [0x0f, 0x8f];
/// HDLC's unnumbered information, where a control byte stands.
const UNNUMBERED: u8 = 0x03;
/// NFLOG's attribute that holds the packet.
const NFLOG_PAYLOAD: u16 = 9;
/// Address families of Linux.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// The IP packet of a frame of one of these link types.
#[cold]
#[inline(never)]
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let (length, link) = match frame.link {
        PKTAP => pktap(frame)?,
        USER2 => pktap(frame).map_err(|e| if e == Turned::BadLink { Turned::UnknownLink } else { e })?,
        PPI => ppi(frame)?,
        _ => return plain(frame),
    };
    if matches!(link, PPI | PKTAP | USER2) {
        return Err(Turned::BadLink);
    }
    let bytes = skip(frame, frame.bytes, length)?;
    let wire_len = u32::try_from(on_wire(frame, bytes)).unwrap_or(u32::MAX);
    link::packet(&Frame { link, bytes, wire_len, ..*frame })
}

/// Length of a PKTAP header, and the link type of the frame behind it.
fn pktap(frame: &Frame<'_>) -> Result<(usize, u16), Turned> {
    match *header::<12>(frame, frame.bytes)?.0 {
        [a, b, c, d, 1, 0, 0, 0, e, f, 0, 0] => {
            Ok((u32::from_le_bytes([a, b, c, d]) as usize, u16::from_le_bytes([e, f])))
        }
        _ => Err(Turned::BadLink),
    }
}

/// The same of a PPI header.
fn ppi(frame: &Frame<'_>) -> Result<(usize, u16), Turned> {
    match *header::<8>(frame, frame.bytes)?.0 {
        [0, _, a, b, c, d, 0, 0] => Ok((usize::from(u16::from_le_bytes([a, b])), u16::from_le_bytes([c, d]))),
        _ => Err(Turned::BadLink),
    }
}

/// Without another frame inside.
fn plain<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let bytes = frame.bytes;
    if let Some(&(_, length, at)) = TYPED.iter().find(|known| known.0 == frame.link) {
        let rest = skip(frame, bytes, length)?;
        let kind = bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        return ethertype::behind(*frame, u16::from_be_bytes(kind), rest);
    }
    if let Some(&(_, length)) = SNAPPED.iter().find(|known| known.0 == frame.link) {
        return snapped(frame, skip(frame, bytes, length)?);
    }
    match frame.link {
        TOKEN_RING => token_ring(frame),
        PPP_HDLC if bytes.first().is_some_and(|address| CISCO.contains(address)) => {
            let (head, rest) = header::<4>(frame, bytes)?;
            ethertype::behind(*frame, u16::from_be_bytes([head[2], head[3]]), rest)
        }
        PPP | PPP_HDLC => ethertype::ppp(frame, bytes),
        PPP_ETHER => ethertype::pppoe(frame, bytes),
        // The address byte says the direction here.
        PPP_PPPD => ethertype::ppp(frame, skip(frame, bytes, 2)?),
        PPP_WITH_DIR => ethertype::ppp(frame, skip(frame, bytes, 1)?),
        FRELAY => frame_relay(frame, bytes),
        FRELAY_WITH_DIR => frame_relay(frame, skip(frame, bytes, 1)?),
        MPLS => {
            let (kind, rest) = ethertype::mpls(frame, bytes)?;
            ethertype::behind(*frame, kind, rest)
        }
        // OpenBSD's inside of an IPsec tunnel: family, parameter index, flags.
        ENC => {
            let (head, rest) = header::<12>(frame, bytes)?;
            family_of([head[0], head[1], head[2], head[3]], rest)
        }
        PFLOG => {
            let (head, _) = header::<2>(frame, bytes)?;
            let length = usize::from(head[0]).next_multiple_of(4);
            family_of([head[1], 0, 0, 0], skip(frame, bytes, length)?)
        }
        IPNET => {
            let (head, rest) = header::<24>(frame, bytes)?;
            match head[1] {
                2 => Ok(Packet::V4(rest)),
                26 => Ok(Packet::V6(rest)), // Solaris' AF_INET6
                _ => Err(Turned::NotIp),
            }
        }
        NFLOG => nflog(frame),
        105 | 119 | 127 | 163 => wifi::packet(frame),
        _ => Err(Turned::UnknownLink),
    }
}

/// What follows `length` bytes of a header.
pub(super) fn skip<'a>(frame: &Frame<'a>, bytes: &'a [u8], length: usize) -> Result<&'a [u8], Turned> {
    bytes.get(length..).ok_or_else(|| missing(*frame, bytes, length, Turned::BadLink))
}

/// The packet behind an LLC and SNAP header.
pub(super) fn snapped<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<Packet<'a>, Turned> {
    let (kind, rest) = ethertype::snap(frame, rest)?;
    ethertype::behind(*frame, kind, rest)
}

/// Access control, frame control, two addresses, and the route through bridges if the source says so.
fn token_ring<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let (head, rest) = header::<14>(frame, frame.bytes)?;
    if head[1] & 0xc0 != 0x40 {
        return Err(Turned::NotIp); // of the ring itself
    }
    let route = match head[8] & 0x80 {
        0 => 0,
        _ => usize::from(header::<1>(frame, rest)?.0[0] & 0x1f),
    };
    snapped(frame, skip(frame, rest, route)?)
}

/// A Q.922 address, then RFC 2427's protocol identifier or Cisco's ethertype.
fn frame_relay<'a>(frame: &Frame<'a>, bytes: &'a [u8]) -> Result<Packet<'a>, Turned> {
    let address = bytes.iter().take(4).position(|byte| byte & 1 == 1);
    let length = match address {
        Some(last) => last.saturating_add(1),
        None if bytes.len() >= 4 => return Err(Turned::NotIp),
        None => return Err(missing(*frame, bytes, 4, Turned::BadLink)),
    };
    let rest = skip(frame, bytes, length)?;
    let Some(rest) = rest.strip_prefix(&[UNNUMBERED]) else {
        let (kind, rest) = header::<2>(frame, rest)?;
        return ethertype::behind(*frame, u16::from_be_bytes(*kind), rest);
    };
    let rest = rest.strip_prefix(&[0]).unwrap_or(rest);
    let (identifier, rest) = header::<1>(frame, rest)?;
    match identifier[0] {
        0xcc => Ok(Packet::V4(rest)),
        0x8e => Ok(Packet::V6(rest)),
        0x80 => {
            let (snap, rest) = header::<5>(frame, rest)?;
            let [0, 0, 0, high, low] = *snap else { return Err(Turned::NotIp) };
            ethertype::behind(*frame, u16::from_be_bytes([high, low]), rest)
        }
        _ => Err(Turned::NotIp),
    }
}

/// The packet among the attributes of Linux' packet filter; their numbers are in the byte order of the machine
/// that captured, and small.
fn nflog<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Turned> {
    let (head, mut rest) = header::<4>(frame, frame.bytes)?;
    loop {
        let (attribute, value) = header::<4>(frame, rest)?;
        let [a, b, c, d] = *attribute;
        let (length, kind) = match d {
            0 => (u16::from_le_bytes([a, b]), u16::from(c)),
            _ => (u16::from_be_bytes([a, b]), u16::from(d)),
        };
        let length = usize::from(length);
        if length < attribute.len() {
            return Err(Turned::BadLink);
        }
        if kind == NFLOG_PAYLOAD {
            return match head[0] {
                AF_INET => Ok(Packet::V4(value)),
                AF_INET6 => Ok(Packet::V6(value)),
                _ => Err(Turned::NotIp),
            };
        }
        rest = skip(frame, rest, length.next_multiple_of(4))?;
    }
}
