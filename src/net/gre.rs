//! Tunnels that are IP protocols: IP in IP, GRE, and ERSPAN and PPP in GRE.
//!
//! ```text
//! GRE version 0 (RFC 2784, RFC 2890), and version 1 below
//! ┌─┬─┬─┬─┬───────────────┬─────┐
//! │C│R│K│S│       0       │  0  │  0   checksum, routing (RFC 1701, given up), key, sequence
//! ├─┴─┴─┴─┴───────────────┴─────┤
//! │ ethertype                   │  2
//! ├─────────────────────────────┤
//! │ [checksum 2, 0 2] [key 4] [sequence 4] ...
//!
//! GRE version 1, of PPTP (RFC 2637)
//!             0 0 1 S 0000 │ A 0000 001 │ 88 0b │ length 2 │ call 2 │ [sequence 4 if S] [acknowledgement 4 if A] PPP if S
//!
//! ERSPAN II   version 4 bits (1) │ VLAN 12 │ class 3, kind 2, cut 1 │ session 10 │ 0 12 │ port 20
//!       III   version 4 bits (2) │ VLAN 12 │ class 3, kind 2, cut 1 │ session 10 │ time 32 │ tag 16
//!             │ P 1 │ frame type 5 (0 Ethernet, 2 IP) │ hardware 6, direction 1, grain 2 │ O 1 │ [8 bytes if O] ...
//!       I     nothing: GRE without sequence
//! ```
//!
//! ERSPAN after draft-foschiano-erspan-03.

use super::header::split;
use super::ip_payload::{IpPayload, narrow, rest_of};
use super::tunnels::Tunnel;
use super::{DropReason, ethertype, header};
use crate::capture::Frame;

/// A packet in a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner<'a> {
    pub tunnel: Tunnel,
    /// Kind of the packet, as an ethertype.
    pub kind: u16,
    /// The frame, narrowed to the packet.
    pub frame: Frame<'a>,
}

const CHECKSUM: u8 = 0x80;
const ROUTING: u8 = 0x40;
const KEY: u8 = 0x20;
const SEQUENCE: u8 = 0x10;
const VERSION: u8 = 0x07;
const ACKNOWLEDGEMENT: u8 = 0x80;

const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
/// The session of ERSPAN: ten bits.
const SESSION: u16 = 0x03ff;

/// The packet inside an IP packet of one of these protocols.
pub(super) fn inner<'a>(outer: &IpPayload<'a>) -> Result<Inner<'a>, DropReason> {
    let (tunnel, kind) = match (outer.protocol, outer.is_v4()) {
        (header::IPV4, true) => (Tunnel::IpInIp, ethertype::IPV4),
        (header::IPV4, false) => (Tunnel::FourInSix, ethertype::IPV4),
        (header::IPV6, true) => (Tunnel::SixInFour, ethertype::IPV6),
        (header::IPV6, false) => (Tunnel::SixInSix, ethertype::IPV6),
        _ => return gre(&outer.frame),
    };
    Ok(Inner { tunnel, kind, frame: outer.frame })
}

fn gre<'a>(frame: &Frame<'a>) -> Result<Inner<'a>, DropReason> {
    let (&[flags, low, high, kind], mut rest) = split::<4>(frame, frame.bytes, DropReason::Tunnel)?;
    if low & VERSION == 1 {
        return pptp(frame);
    }
    if flags & ROUTING != 0 || low & VERSION != 0 {
        return Err(DropReason::Tunnel);
    }
    if flags & CHECKSUM != 0 {
        rest = split::<4>(frame, rest, DropReason::Tunnel)?.1;
    }
    let mut key = None;
    if flags & KEY != 0 {
        let (number, after) = split::<4>(frame, rest, DropReason::Tunnel)?;
        (key, rest) = (Some(u32::from_be_bytes(*number)), after);
    }
    if flags & SEQUENCE != 0 {
        rest = split::<4>(frame, rest, DropReason::Tunnel)?.1;
    }
    match u16::from_be_bytes([high, kind]) {
        ERSPAN if flags & SEQUENCE == 0 => Ok(inside(frame, rest, Tunnel::Erspan(None), ethertype::ETHERNET)),
        kind @ (ERSPAN | ERSPAN_III) => erspan(frame, rest, kind),
        kind if ethertype::is_known(kind) => Ok(inside(frame, rest, Tunnel::Gre(key), kind)),
        _ => Err(DropReason::Tunnel),
    }
}

/// The packet in PPTP's GRE. A packet without one only acknowledges others.
fn pptp<'a>(frame: &Frame<'a>) -> Result<Inner<'a>, DropReason> {
    let (&[flags, low, k0, k1, l0, l1, c0, c1], mut rest) =
        split::<8>(frame, frame.bytes, DropReason::Tunnel)?;
    if flags & !SEQUENCE != KEY || low & !ACKNOWLEDGEMENT != 1 || [k0, k1] != ethertype::PPP.to_be_bytes() {
        return Err(DropReason::Tunnel);
    }
    for present in [flags & SEQUENCE != 0, low & ACKNOWLEDGEMENT != 0] {
        if present {
            rest = split::<4>(frame, rest, DropReason::Tunnel)?.1;
        }
    }
    let length = usize::from(u16::from_be_bytes([l0, l1]));
    if length == 0 {
        return Err(DropReason::NotIp);
    }
    let tunnel = Tunnel::Pptp(u16::from_be_bytes([c0, c1]));
    Ok(Inner { tunnel, kind: ethertype::PPP, frame: narrow(frame, rest, length) })
}

fn erspan<'a>(frame: &Frame<'a>, rest: &'a [u8], kind: u16) -> Result<Inner<'a>, DropReason> {
    let (head, mut rest) = split::<8>(frame, rest, DropReason::Tunnel)?;
    let tunnel = Tunnel::Erspan(Some(u16::from_be_bytes([head[2], head[3]]) & SESSION));
    match (kind, head[0] >> 4) {
        (ERSPAN, 1) => Ok(inside(frame, rest, tunnel, ethertype::ETHERNET)),
        (ERSPAN_III, 2) => {
            let (tail, after) = split::<4>(frame, rest, DropReason::Tunnel)?;
            rest = if tail[3] & 1 == 1 { split::<8>(frame, after, DropReason::Tunnel)?.1 } else { after };
            let kind = match (tail[2] >> 2 & 0x1f, rest.first()) {
                (0, _) => ethertype::ETHERNET,
                (2, Some(0x60..=0x6f)) => ethertype::IPV6,
                (2, _) => ethertype::IPV4,
                _ => return Err(DropReason::Tunnel),
            };
            Ok(inside(frame, rest, tunnel, kind))
        }
        _ => Err(DropReason::Tunnel),
    }
}

/// The packet `rest` in a tunnel, of ethertype `kind`; `rest` is the captured end of the frame.
pub(super) fn inside<'a>(frame: &Frame<'a>, rest: &'a [u8], tunnel: Tunnel, kind: u16) -> Inner<'a> {
    Inner { tunnel, kind, frame: rest_of(frame, rest) }
}
