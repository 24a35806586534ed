//! From a UDP segment to the datagram (RFC 768).
//!
//! ```text
//!  0      7 8     15 16    23 24    31
//! ┌────────┴────────┬────────┴────────┐
//! │   source port   │ destination port│
//! ├─────────────────┼─────────────────┤
//! │     length      │    checksum     │   length: header and payload, 8..=65535 bytes
//! ├─────────────────┴─────────────────┤
//! │ payload ...                       │
//! ```

use super::datagram::UDP_HEADER;
use super::{Datagram, DropReason, Endpoint, link};
use crate::capture::Frame;

// Ports of tunnels (IANA, "Service Name and Transport Protocol Port Number Registry").
pub(super) const GTP: u16 = 2152;
/// Also the source port of Teredo servers and relays.
pub(super) const TEREDO: u16 = 3544;
pub(super) const VXLAN: u16 = 4789;
pub(super) const VXLAN_GPE: u16 = 4790;
pub(super) const GENEVE: u16 = 6081;
/// The port that Linux used for VXLAN before IANA assigned one.
pub(super) const VXLAN_LINUX: u16 = 8472;

/// A bit for each of these ports modulo 64: a quick test that nearly all other ports fail.
const TUNNELS: u64 = 1 << (GTP % 64)
    | 1 << (TEREDO % 64)
    | 1 << (VXLAN % 64)
    | 1 << (VXLAN_GPE % 64)
    | 1 << (GENEVE % 64)
    | 1 << (VXLAN_LINUX % 64);

/// Whether a datagram to or from these ports may hold another packet.
#[inline(always)]
pub(super) fn is_tunnel(src: u16, dst: u16) -> bool {
    let tunnel = || matches!(dst, GTP | TEREDO | VXLAN | VXLAN_GPE | GENEVE | VXLAN_LINUX);
    TUNNELS >> (dst % 64) & 1 != 0 && tunnel() || src == TEREDO
}

/// Reads the UDP header at the start of `segment`.
///
/// `segment` is the captured rest of the frame, padding included; `room` is the length of the IP payload on the wire
/// in bytes, which the caller has checked to lie within the frame. `endpoint` joins an address, `src` or `dst`, and
/// a port; `ip_id` is IPv4's identification, `ttl` the time to live.
///
/// A datagram that may hold another packet is dropped as `Tunnel`, unless `all` is set. The origin is read as from a
/// complete frame: a caller that has narrowed the frame must set it.
#[inline(always)]
pub(super) fn datagram<'a, A>(
    frame: &Frame<'a>,
    segment: &'a [u8],
    room: usize,
    (src, dst): (A, A),
    endpoint: impl Fn(A, u16) -> Endpoint,
    (ip_id, ttl): (u16, u8),
    all: bool,
) -> Result<Datagram<'a>, DropReason> {
    let Some((head, rest)) = segment.split_first_chunk::<UDP_HEADER>() else {
        return Err(if room < UDP_HEADER { DropReason::BadUdpLength } else { DropReason::HeadersCut });
    };
    let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if length > room {
        return Err(DropReason::BadUdpLength);
    }
    let Some(announced) = length.checked_sub(UDP_HEADER) else {
        return Err(DropReason::BadUdpLength);
    };
    let ports = (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]));
    if !all && is_tunnel(ports.0, ports.1) {
        return Err(DropReason::Tunnel);
    }
    let payload = rest.get(..announced).unwrap_or(rest);
    let offset = frame.bytes.len().wrapping_sub(rest.len());
    Ok(Datagram {
        frame: frame.number,
        time: frame.time,
        src: endpoint(src, ports.0),
        dst: endpoint(dst, ports.1),
        at: frame.at.wrapping_add(offset as u64),
        cut: announced.wrapping_sub(payload.len()) as u32,
        origin: link::origin(frame),
        partial: false,
        checksum: u16::from_be_bytes([head[6], head[7]]),
        ip_id,
        ttl,
        tunnel: 0,
        payload,
    })
}
