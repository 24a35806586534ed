//! Tunnels in UDP, recognised by their ports and by headers that must be right in every bit, because a game server
//! may use the same port.
//!
//! ```text
//! VXLAN (RFC 7348)       08 │ 0 3 │ network 3 │ 0 │ Ethernet                        4789, 8472
//! VXLAN-GPE              00VVIPBO, V = 0, I = 1 │ 0 2 │ next 1 │ network 3 │ 0 │ …   4790; next 1 IPv4, 2 IPv6, 3 Ethernet
//! Geneve (RFC 8926)      version 2 bits (0), words 6 │ O, C, 0 6 bits │ ethertype 2 │ network 3 │ 0 │ options │ …   6081
//!
//! Recognised only to be counted:
//! GTP-U (TS 29.281)      version 3 bits (1), 1, 0, E, S, N │ FF │ length 2 │ end point 4 │ …                       2152
//! Teredo (RFC 4380)      [00 01 │ n 1 │ m 1 │ n + m bytes │ nonce 8 │ 1] [00 00 │ port 2 │ address 4] IPv6          3544
//! ```

use super::gre::{Inner, inside};
use super::header::{on_wire, skip, split};
use super::tunnels::Tunnel;
use super::{DropReason, ethertype, udp};
use crate::capture::Frame;

/// The result for a header that contradicts its tunnel: the datagram is then an ordinary one.
const NO_TUNNEL: DropReason = DropReason::Tunnel;

/// The packet in a datagram, or why it cannot be read; `frame` is narrowed to the datagram's payload. `None` where
/// the datagram belongs to no tunnel.
pub(super) fn inner<'a>(frame: &Frame<'a>, src: u16, dst: u16) -> Option<Result<Inner<'a>, DropReason>> {
    let found = match dst {
        udp::VXLAN | udp::VXLAN_LINUX | udp::VXLAN_GPE => vxlan(frame, dst == udp::VXLAN_GPE),
        udp::GENEVE => geneve(frame),
        udp::GTP if is_gtp(frame) => Err(DropReason::GtpU),
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

/// Whether a payload is exactly one G-PDU message of GTP-U version 1, which carries a user's packet.
fn is_gtp(frame: &Frame<'_>) -> bool {
    let [0x30..=0x37, 0xff, high, low, ..] = *frame.bytes else { return false };
    usize::from(u16::from_be_bytes([high, low])).saturating_add(8) == on_wire(frame, frame.bytes)
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
