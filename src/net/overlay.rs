//! Tunnels in UDP, recognised by their ports and by headers that must be right in every bit, because a game server
//! may use the same port.
//!
//! ```text
//! VXLAN (RFC 7348)       08 │ 0 3 │ network 3 │ 0 │ Ethernet                        4789, 8472
//! VXLAN-GPE              00VVIPBO, V = 0, I = 1 │ 0 2 │ next 1 │ network 3 │ 0 │ …   4790; next 1 IPv4, 2 IPv6, 3 Ethernet
//! Geneve (RFC 8926)      version 2 bits (0), words 6 │ O, C, 0 6 bits │ ethertype 2 │ network 3 │ 0 │ options │ …   6081
//!
//! GTP-U (TS 29.281)      version 3 bits (1), 1, 0, E, S, N │ FF │ length 2 │ end point 4 │ …                       2152
//!                        where one of E, S, N is set: sequence 2 │ N-PDU 1 │ next 1 │ …, and while `next` is not 0:
//!                        words 1 │ … │ next 1
//!
//! Recognised only to be counted:
//! Teredo (RFC 4380)      [00 01 │ n 1 │ m 1 │ n + m bytes │ nonce 8 │ 1] [00 00 │ port 2 │ address 4] IPv6          3544
//! ```

use super::gre::{Inner, inside};
use super::header::{on_wire, skip, split};
use super::tunnels::Tunnel;
use super::{DropReason, ethertype, udp};
use crate::capture::Frame;

/// GTP-U's flags: extension headers follow; one of the optional fields is used, so that all are there.
const GTP_EXTENSION: u8 = 0x04;
const GTP_OPTIONS: u8 = 0x07;
/// The most extension headers of GTP-U that are followed; real packets have one.
pub const MAX_GTP_EXTENSIONS: usize = 8;

/// The result for a header that contradicts its tunnel: the datagram is then an ordinary one.
const NO_TUNNEL: DropReason = DropReason::Tunnel;

/// The packet in a datagram, or why it cannot be read; `frame` is narrowed to the datagram's payload. `None` where
/// the datagram belongs to no tunnel.
pub(super) fn inner<'a>(frame: &Frame<'a>, src: u16, dst: u16) -> Option<Result<Inner<'a>, DropReason>> {
    let found = match dst {
        udp::VXLAN | udp::VXLAN_LINUX | udp::VXLAN_GPE => vxlan(frame, dst == udp::VXLAN_GPE),
        udp::GENEVE => geneve(frame),
        udp::GTP => gtp(frame),
        _ if (dst == udp::TEREDO || src == udp::TEREDO) && is_teredo(frame) => Err(DropReason::Teredo),
        _ => Err(NO_TUNNEL),
    };
    if matches!(found, Err(NO_TUNNEL)) { None } else { Some(found) }
}

fn vxlan<'a>(frame: &Frame<'a>, gpe: bool) -> Result<Inner<'a>, DropReason> {
    let (head, rest) = split::<8>(frame, frame.bytes, NO_TUNNEL)?;
    let [flags, 0, 0, next, a, b, c, 0] = *head else { return Err(NO_TUNNEL) };
    let kind = match (gpe, flags, next) {
        (false, 0x08, 0) | (true, 0x0c, 3) => ethertype::ETHERNET,
        (true, 0x0c, 1) => ethertype::IPV4,
        (true, 0x0c, 2) => ethertype::IPV6,
        _ => return Err(NO_TUNNEL),
    };
    inside_if_plausible(frame, rest, Tunnel::Vxlan(u32::from_be_bytes([0, a, b, c])), kind)
}

fn geneve<'a>(frame: &Frame<'a>) -> Result<Inner<'a>, DropReason> {
    let (head, rest) = split::<8>(frame, frame.bytes, NO_TUNNEL)?;
    let [words @ 0..=0x3f, bits, high, low, a, b, c, 0] = *head else { return Err(NO_TUNNEL) };
    if bits & 0x3f != 0 {
        return Err(NO_TUNNEL);
    }
    let rest = skip(frame, rest, usize::from(words).wrapping_mul(4), NO_TUNNEL)?;
    let tunnel = Tunnel::Geneve(u32::from_be_bytes([0, a, b, c]));
    inside_if_plausible(frame, rest, tunnel, u16::from_be_bytes([high, low]))
}

/// The packet in a tunnel, if its first bytes agree with the ethertype.
fn inside_if_plausible<'a>(
    frame: &Frame<'a>,
    rest: &'a [u8],
    tunnel: Tunnel,
    kind: u16,
) -> Result<Inner<'a>, DropReason> {
    let version = || split::<1>(frame, rest, NO_TUNNEL).map(|(&[byte], _)| byte >> 4);
    let fits = match kind {
        ethertype::IPV4 => version()? == 4,
        ethertype::IPV6 => version()? == 6,
        ethertype::ETHERNET => {
            let (head, _) = split::<14>(frame, rest, NO_TUNNEL)?;
            ethertype::is_known(u16::from_be_bytes([head[12], head[13]]))
        }
        _ => false,
    };
    if fits { Ok(inside(frame, rest, tunnel, kind)) } else { Err(NO_TUNNEL) }
}

/// The packet of a G-PDU message of GTP-U version 1, which must be exactly the payload.
fn gtp<'a>(frame: &Frame<'a>) -> Result<Inner<'a>, DropReason> {
    let (head, mut rest) = split::<8>(frame, frame.bytes, NO_TUNNEL)?;
    let [flags @ 0x30..=0x37, 0xff, high, low, a, b, c, d] = *head else { return Err(NO_TUNNEL) };
    if usize::from(u16::from_be_bytes([high, low])).saturating_add(8) != on_wire(frame, frame.bytes) {
        return Err(NO_TUNNEL);
    }
    if flags & GTP_OPTIONS != 0 {
        let (&[_, _, _, mut next], after) = split::<4>(frame, rest, DropReason::GtpU)?;
        rest = after;
        if flags & GTP_EXTENSION == 0 {
            next = 0; // the field is there, but means nothing
        }
        for count in 0.. {
            if next == 0 {
                break;
            }
            if count == MAX_GTP_EXTENSIONS {
                return Err(DropReason::GtpU);
            }
            let (&[words], _) = split::<1>(frame, rest, DropReason::GtpU)?;
            let length = usize::from(words).wrapping_mul(4);
            let after = skip(frame, rest, length, DropReason::GtpU)?;
            next = length.checked_sub(1).and_then(|last| rest.get(last)).copied().ok_or(DropReason::GtpU)?;
            rest = after;
        }
    }
    let kind = match split::<1>(frame, rest, DropReason::GtpU)?.0[0] >> 4 {
        4 => ethertype::IPV4,
        6 => ethertype::IPV6,
        _ => return Err(DropReason::GtpU),
    };
    Ok(inside(frame, rest, Tunnel::Gtp(u32::from_be_bytes([a, b, c, d])), kind))
}

/// Whether a payload is an IPv6 packet, after the headers that Teredo may put in front of it.
fn is_teredo(frame: &Frame<'_>) -> bool {
    let mut rest = frame.bytes;
    if let [0, 1, id, value, after @ ..] = rest {
        let length = usize::from(*id).saturating_add(usize::from(*value)).saturating_add(9);
        rest = after.get(length..).unwrap_or_default();
    }
    if let [0, 0, _, _, _, _, _, _, after @ ..] = rest {
        rest = after;
    }
    let [0x60..=0x6f, _, _, _, high, low, ..] = *rest else { return false };
    usize::from(u16::from_be_bytes([high, low])).saturating_add(40) == on_wire(frame, rest)
}
