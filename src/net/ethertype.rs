//! From an ethertype to the IP packet after it, through the headers that may be between them.
//!
//! ```text
//! tag        control 2 │ type 2 │ ...                     IEEE 802.1Q, after a type 8100, 88a8, 9100, 9200
//! LLC/SNAP   AA AA 03 │ 00 00 00 │ type 2 │ ...           IEEE 802.2, after a type that is a length (<= 1500)
//! PPPoE      11 │ 00 │ session 2 │ length 2 │ PPP ...     RFC 2516, after 8864
//! PPP        [FF 03] │ protocol 1 or 2 │ ...              RFC 1661, RFC 1662
//! Ethernet   destination 6 │ source 6 │ type 2 │ ...      after 6558
//! MPLS       label 20 bits, class 3, last 1, TTL 8 │ ...  RFC 3032, after 8847 and 8848: behind the last label, the first
//!            four bits are those of IP, or there is Ethernet, with 0 in four bytes before it or without (RFC 4448)
//! ```

use super::DropReason;
use super::header::{Packet, header, missing};
use crate::capture::Frame;

/// The most headers followed between an ethertype and IP; real frames have two or three at most.
pub const MAX_TAGS: usize = 8;
/// The most labels of MPLS in a row that are followed; real frames have five at most.
pub const MAX_LABELS: usize = 16;

/// The largest type field that is a length (IEEE 802.3).
const MAX_802_3_LENGTH: u16 = 1500;
pub(crate) const IPV4: u16 = 0x0800;
pub(super) const ARP: u16 = 0x0806;
/// Transparent Ethernet bridging: a whole Ethernet frame follows.
pub(super) const ETHERNET: u16 = 0x6558;
pub(crate) const VLAN: u16 = 0x8100;
pub(crate) const IPV6: u16 = 0x86dd;
pub(super) const MPLS: u16 = 0x8847;
const MPLS_UPSTREAM: u16 = 0x8848;
pub(super) const PPPOE_SESSION: u16 = 0x8864;
pub(super) const PPP: u16 = 0x880b;
pub(crate) const QINQ: u16 = 0x88a8;
pub(super) const LLDP: u16 = 0x88cc;
pub(crate) const QINQ_OLD: u16 = 0x9100;
const QINQ_OLDER: u16 = 0x9200;

/// LLC's two service access points and control byte, then SNAP's organisation: ethertypes follow.
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00];
/// PPPoE's version and type, then the code of a session's data.
const PPPOE: [u8; 2] = [0x11, 0x00];
/// PPP's address and control bytes, which peers may agree to leave out (RFC 1661, 6.6).
const PPP_ADDRESS_CONTROL: [u8; 2] = [0xff, 0x03];
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;
const PPP_MPLS_UPSTREAM: u16 = 0x0283;
/// The bit in the third byte of the last MPLS label.
const LAST_LABEL: u8 = 1;

/// Whether the ethertype is one that occurs in real networks and is known here.
pub(super) fn is_known(kind: u16) -> bool {
    matches!(kind, IPV4 | IPV6 | ARP | LLDP | MPLS | MPLS_UPSTREAM | PPP | PPPOE_SESSION | ETHERNET)
        || matches!(kind, VLAN | QINQ | QINQ_OLD | QINQ_OLDER)
}

/// The packet after an ethertype; `rest` is the captured end of the frame.
#[cold]
#[inline(never)]
pub(super) fn packet_after<'a>(
    frame: Frame<'a>,
    mut kind: u16,
    mut rest: &'a [u8],
) -> Result<Packet<'a>, DropReason> {
    for _ in 0..=MAX_TAGS {
        (kind, rest) = match kind {
            IPV4 => return Ok(Packet::V4(rest)),
            IPV6 => return Ok(Packet::V6(rest)),
            VLAN | QINQ | QINQ_OLD | QINQ_OLDER => {
                let (tag, inner) = header::<4>(&frame, rest)?;
                (u16::from_be_bytes([tag[2], tag[3]]), inner)
            }
            0..=MAX_802_3_LENGTH => snap(&frame, rest)?,
            PPPOE_SESSION => pppoe(&frame, rest)?,
            PPP => ppp(&frame, rest)?,
            MPLS | MPLS_UPSTREAM => mpls(&frame, rest)?,
            ETHERNET => {
                let (head, inner) = header::<14>(&frame, rest)?;
                (u16::from_be_bytes([head[12], head[13]]), inner)
            }
            _ => return Err(DropReason::NotIp),
        };
    }
    Err(DropReason::BadLink)
}

/// The ethertype after a SNAP header; other LLC frames (spanning tree, IPX) are not IP.
pub(super) fn snap<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(u16, &'a [u8]), DropReason> {
    if !rest.iter().zip(SNAP).all(|(&byte, snap)| byte == snap) {
        return Err(DropReason::NotIp);
    }
    match rest.split_first_chunk::<8>() {
        Some((head, inner)) => Ok((u16::from_be_bytes([head[6], head[7]]), inner)),
        None => Err(missing(*frame, rest, 8, DropReason::NotIp)),
    }
}

/// The ethertype of what a PPPoE session carries.
fn pppoe<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(u16, &'a [u8]), DropReason> {
    let (head, inner) = header::<6>(frame, rest)?;
    if !head.starts_with(&PPPOE) {
        return Err(DropReason::NotIp);
    }
    ppp(frame, inner)
}

/// The ethertype of what PPP carries, with or without address and control bytes; its protocol field has one or two bytes.
fn ppp<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(u16, &'a [u8]), DropReason> {
    let rest = rest.strip_prefix(&PPP_ADDRESS_CONTROL).unwrap_or(rest);
    // The last byte of a protocol number is odd and the other byte is even (RFC 1661, 2), so an odd first byte is a
    // number whose leading zero was left out. 00ff is reserved: ff begins an address field.
    let (protocol, packet) = match rest.split_first() {
        Some((&first, packet)) if first & 1 == 1 && first != 0xff => (u16::from(first), packet),
        _ => {
            let (number, packet) = header::<2>(frame, rest)?;
            (u16::from_be_bytes(*number), packet)
        }
    };
    match protocol {
        PPP_IPV4 => Ok((IPV4, packet)),
        PPP_IPV6 => Ok((IPV6, packet)),
        PPP_MPLS | PPP_MPLS_UPSTREAM => Ok((MPLS, packet)),
        _ => Err(DropReason::NotIp),
    }
}

/// The ethertype of what is behind a stack of MPLS labels, which do not say it themselves.
fn mpls<'a>(frame: &Frame<'a>, mut rest: &'a [u8]) -> Result<(u16, &'a [u8]), DropReason> {
    for _ in 0..MAX_LABELS {
        let (&[_, _, bits, _], inner) = header::<4>(frame, rest)?;
        rest = inner;
        if bits & LAST_LABEL != 0 {
            return behind_labels(frame, rest);
        }
    }
    Err(DropReason::BadLink)
}

/// IP, or a whole Ethernet frame with or without the control word that pseudo wires put before it.
fn behind_labels<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(u16, &'a [u8]), DropReason> {
    let (&[first], _) = header::<1>(frame, rest)?;
    let ethernet = |rest: &'a [u8]| {
        let (head, _) = rest.split_first_chunk::<14>()?;
        is_known(u16::from_be_bytes([head[12], head[13]])).then_some((ETHERNET, rest))
    };
    match first >> 4 {
        4 => Ok((IPV4, rest)),
        6 => Ok((IPV6, rest)),
        _ => {
            let word = rest.split_first_chunk::<4>().filter(|(word, _)| word[0] >> 4 == 0);
            ethernet(rest).or_else(|| ethernet(word?.1)).ok_or(DropReason::Mpls)
        }
    }
}
