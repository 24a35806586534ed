//! Tunnels in UDP, known by their ports and by headers that must be right to the last bit: a game server may use
//! the same port.
//!
//! ```text
//! VXLAN (RFC 7348)       08 │ 0 3 │ network 3 │ 0 │ Ethernet                        4789, 8472
//! VXLAN-GPE              00VVIPBO, V = 0, I = 1 │ 0 2 │ next 1 │ network 3 │ 0 │ …   4790; next 1 IPv4, 2 IPv6, 3 Ethernet
//! Geneve (RFC 8926)      version 2 bits (0), words 6 │ O, C, 0 6 bits │ ethertype 2 │ network 3 │ 0 │ options │ …   6081
//! GTP-U (TS 29.281)      version 3 bits (1), 1, 0, E, S, N │ FF │ length 2 │ end point 4 │ …                       2152
//!                        if E, S or N: sequence 2 │ number 1 │ next 1; while next is not 0: words 1 │ … │ next 1
//! Teredo (RFC 4380)      [00 01 │ n 1 │ m 1 │ n + m bytes │ nonce 8 │ 1] [00 00 │ port 2 │ address 4] IPv6          3544
//! ```

use super::gre::{Inner, inside};
use super::path::Tunnel;
use super::{Turned, ethertype, on_wire, udp};
use crate::capture::Frame;

/// GTP-U extension headers followed in one packet; three kinds are defined for user data.
const MAX_GTP_EXTENSIONS: usize = 8;
/// GTP-U's first byte: version 1, protocol type 1; the bit below is spare.
const GTP_V1: u8 = 0x30;
const GTP_FIXED: u8 = 0xf8;
const GTP_EXTENDED: u8 = 0x04;
const GTP_OPTIONAL: u8 = 0x07;
/// GTP-U's message "G-PDU": a packet of a user.
const GTP_PACKET: u8 = 0xff;
const V6_HEADER: usize = 40;

/// Why bytes are no tunnel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    /// They contradict it.
    Other,
    /// The snap length cut them.
    Cut,
}

type Found<'a> = Result<Inner<'a>, No>;

/// The packet in a datagram; `frame` is narrowed to its payload. `None` where it is no tunnel's.
pub(super) fn inner<'a>(frame: &Frame<'a>, src: u16, dst: u16) -> Option<Result<Inner<'a>, Turned>> {
    let found = match dst {
        udp::VXLAN | udp::VXLAN_LINUX => vxlan(frame),
        udp::VXLAN_GPE => vxlan_gpe(frame),
        udp::GENEVE => geneve(frame),
        udp::GTP => gtp(frame),
        udp::TEREDO => teredo(frame),
        _ if src == udp::TEREDO => teredo(frame),
        _ => return None,
    };
    match found {
        Ok(inner) => Some(Ok(inner)),
        Err(No::Cut) => Some(Err(Turned::HeadersCut)),
        Err(No::Other) => None,
    }
}

fn vxlan<'a>(frame: &Frame<'a>) -> Found<'a> {
    let (head, rest) = split::<8>(frame, frame.bytes)?;
    let [0x08, 0, 0, 0, a, b, c, 0] = *head else { return Err(No::Other) };
    ethernet(frame, rest)?;
    Ok(inside(frame, rest, Tunnel::Vxlan(u32::from_be_bytes([0, a, b, c])), ethertype::ETHERNET))
}

fn vxlan_gpe<'a>(frame: &Frame<'a>) -> Found<'a> {
    let (head, rest) = split::<8>(frame, frame.bytes)?;
    let [0x0c, 0, 0, next, a, b, c, 0] = *head else { return Err(No::Other) };
    let kind = match next {
        1 => version(frame, rest, 4)?,
        2 => version(frame, rest, 6)?,
        3 => ethernet(frame, rest)?,
        _ => return Err(No::Other),
    };
    Ok(inside(frame, rest, Tunnel::Vxlan(u32::from_be_bytes([0, a, b, c])), kind))
}

fn geneve<'a>(frame: &Frame<'a>) -> Found<'a> {
    let (head, rest) = split::<8>(frame, frame.bytes)?;
    let [words @ 0..=0x3f, bits, high, low, a, b, c, 0] = *head else { return Err(No::Other) };
    if bits & 0x3f != 0 {
        return Err(No::Other);
    }
    let rest = skip(frame, rest, usize::from(words).wrapping_mul(4))?;
    let kind = match u16::from_be_bytes([high, low]) {
        ethertype::IPV4 => version(frame, rest, 4)?,
        ethertype::IPV6 => version(frame, rest, 6)?,
        ethertype::ETHERNET => ethernet(frame, rest)?,
        _ => return Err(No::Other),
    };
    Ok(inside(frame, rest, Tunnel::Geneve(u32::from_be_bytes([0, a, b, c])), kind))
}

fn gtp<'a>(frame: &Frame<'a>) -> Found<'a> {
    let (head, mut rest) = split::<8>(frame, frame.bytes)?;
    let [flags, GTP_PACKET, high, low, end @ ..] = *head else { return Err(No::Other) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if flags & GTP_FIXED != GTP_V1 || length != on_wire(frame, rest) {
        return Err(No::Other);
    }
    if flags & GTP_OPTIONAL != 0 {
        let (optional, behind) = split::<4>(frame, rest)?;
        rest = behind;
        if flags & GTP_EXTENDED != 0 {
            rest = behind_extensions(frame, optional[3], rest)?;
        }
    }
    let kind = match first(frame, rest)? >> 4 {
        4 => ethertype::IPV4,
        6 => ethertype::IPV6,
        _ => return Err(No::Other),
    };
    Ok(inside(frame, rest, Tunnel::Gtp(u32::from_be_bytes(end)), kind))
}

/// Walks over GTP-U's extension headers.
fn behind_extensions<'a>(frame: &Frame<'a>, mut next: u8, mut rest: &'a [u8]) -> Result<&'a [u8], No> {
    for _ in 0..=MAX_GTP_EXTENSIONS {
        if next == 0 {
            return Ok(rest);
        }
        let length = usize::from(first(frame, rest)?).wrapping_mul(4);
        let last = length.checked_sub(1).ok_or(No::Other)?;
        let behind = skip(frame, rest, length)?;
        (next, rest) = (rest.get(last).copied().unwrap_or(0), behind);
    }
    Err(No::Other)
}

fn teredo<'a>(frame: &Frame<'a>) -> Found<'a> {
    let mut rest = frame.bytes;
    if *split::<2>(frame, rest)?.0 == [0, 1] {
        let (head, behind) = split::<4>(frame, rest)?;
        let texts = usize::from(head[2]).saturating_add(usize::from(head[3]));
        rest = skip(frame, behind, texts.saturating_add(9))?;
    }
    if *split::<2>(frame, rest)?.0 == [0, 0] {
        rest = split::<8>(frame, rest)?.1;
    }
    let kind = version(frame, rest, 6)?;
    let (head, behind) = split::<V6_HEADER>(frame, rest)?;
    if usize::from(u16::from_be_bytes([head[4], head[5]])) != on_wire(frame, behind) {
        return Err(No::Other);
    }
    Ok(inside(frame, rest, Tunnel::Teredo, kind))
}

/// That `rest` begins with an Ethernet header that announces something known.
fn ethernet(frame: &Frame<'_>, rest: &[u8]) -> Result<u16, No> {
    let (head, _) = split::<14>(frame, rest)?;
    let known = ethertype::is_known(u16::from_be_bytes([head[12], head[13]]));
    if known { Ok(ethertype::ETHERNET) } else { Err(No::Other) }
}

/// That `rest` begins with an IP header of this version.
fn version(frame: &Frame<'_>, rest: &[u8], version: u8) -> Result<u16, No> {
    match first(frame, rest)? >> 4 {
        found if found != version => Err(No::Other),
        4 => Ok(ethertype::IPV4),
        _ => Ok(ethertype::IPV6),
    }
}

fn first(frame: &Frame<'_>, rest: &[u8]) -> Result<u8, No> {
    split::<1>(frame, rest).map(|(&[byte], _)| byte)
}

/// Splits off `N` bytes; `rest` is the captured end of the frame.
fn split<'a, const N: usize>(frame: &Frame<'a>, rest: &'a [u8]) -> Result<(&'a [u8; N], &'a [u8]), No> {
    rest.split_first_chunk::<N>().ok_or_else(|| short(frame, rest, N))
}

fn skip<'a>(frame: &Frame<'a>, rest: &'a [u8], length: usize) -> Result<&'a [u8], No> {
    rest.get(length..).ok_or_else(|| short(frame, rest, length))
}

fn short(frame: &Frame<'_>, rest: &[u8], need: usize) -> No {
    if on_wire(frame, rest) < need { No::Other } else { No::Cut }
}
