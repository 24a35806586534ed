//! From a frame to its UDP datagram.
//!
//! ```text
//!  Frame
//!    │  link.rs  link header ─────────────────────────────> UnknownLink, BadLink
//!    │           ─ NFLOG, PKTAP, PPI: metadata.rs, a frame again
//!    │  ethertype.rs  tags, LLC/SNAP, PPP(oE), MPLS ──────> NotIp, Mpls
//!    ▼
//!  IP packet <────────────────────────────────────────────┐
//!    │  ip.rs, ip_payload.rs  version, protocol, lengths ─│─> BadIp, OtherProtocol, Tcp
//!    │           ─ IP in IP, GRE: gre.rs ─────────────────┤─> Tunnel, TooDeep
//!    │           ─ more fragments, offset: fragments.rs ──│─> Fragment, unless it makes the packet whole
//!    │           ─ ICMP, ICMPv6: quote.rs ────────────────│─> Icmp, and the datagram it quotes
//!    ▼                                                    │
//!  UDP segment                                            │
//!    │  udp.rs   ports, length, snap length ──────────────│─> BadUdpLength, HeadersCut
//!    │           ─ a tunnel's port and header: overlay.rs ┴─> GtpU, Teredo
//!    ▼
//!  Datagram
//! ```
//!
//! [`parse`] keeps no state between frames. Each layer hands the rest of the frame to the next; the offset is the
//! difference of the two lengths, so no layer passes it on. The fast path is inline and written by hand:
//! Ethernet with at most one tag, IPv4 without options, IPv6 without extension headers. All else is in separate
//! `#[cold]` functions.
//!
//! Where a packet may contain another one, `parse` stops, and [`Decapsulator`] (`decapsulate.rs`) goes on: through
//! tunnels, which it numbers (`tunnels.rs`), to the innermost datagram, or to the datagram that an ICMP error
//! quotes. It reassembles fragments within limits of number, bytes and time (`fragments.rs`).
//!
//! Every layer knows two lengths: the captured bytes and the bytes on the wire. A length field that points beyond
//! the wire is damage; one that points beyond the captured bytes is due to the snap length.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod datagram;
mod decapsulate;
mod drop_reason;
pub(crate) mod ethertype;
mod fragment_header;
mod fragment_set;
mod fragments;
mod gre;
mod header;
mod ip;
mod ip_payload;
pub(crate) mod link;
mod metadata;
mod overlay;
mod owned_frame;
mod quote;
mod tunnels;
mod udp;

#[cfg(test)]
mod fragments_limits;
#[cfg(test)]
mod fragments_oracle;
#[cfg(test)]
mod fragments_tests;

pub(crate) use datagram::UDP_HEADER;
pub use datagram::{Datagram, Endpoint};
pub use decapsulate::{Content, Decapsulated, Decapsulator, PacketHosts, packet_hosts};
pub use drop_reason::{DropCounts, DropReason};
pub use fragment_set::MAX_FRAMES;
pub use fragments::FragmentCounts;
pub use link::{has_direction, is_supported_link};
pub use owned_frame::OwnedFrame;
pub use quote::Quote;
pub use tunnels::{MAX_DEPTH, MAX_PATHS, Tunnel, Tunnels};

#[cfg(feature = "internals")]
pub use {
    ethertype::{MAX_LABELS, MAX_TAGS},
    ip_payload::MAX_EXTENSIONS,
    metadata::{MAX_ATTRIBUTES, MAX_HEADERS},
    overlay::MAX_GTP_EXTENSIONS,
};

use crate::capture::Frame;

/// Takes the UDP datagram out of a frame, or returns the reason why there is none. Has no side effects and does not
/// allocate.
///
/// Pass frames that it drops as `Tunnel`, `Fragment` or `Icmp` to [`Decapsulator::decapsulate`].
///
/// The payload is a part of `frame.bytes`: Ethernet padding is left out, and bytes cut off by the snap length are
/// counted in [`Datagram::cut`]. Checksums are not checked: captures taken at the sender often have none.
///
/// # Errors
///
/// The first reason met on the way, see [`DropReason`].
#[inline(always)]
pub fn parse<'a>(frame: &Frame<'a>) -> Result<Datagram<'a>, DropReason> {
    match link::packet(frame)? {
        header::Packet::V4(packet) => ip::v4(frame, packet),
        header::Packet::V6(packet) => ip::v6(frame, packet),
    }
}

/// The frame that holds the link header of a packet: the one inside where the link type describes whole frames (NFLOG,
/// PKTAP, PPI), else the same. `None` where there is none.
pub fn innermost_frame<'a>(frame: &Frame<'a>) -> Option<Frame<'a>> {
    Some(metadata::unwrapped(frame).ok()?.0)
}

/// The IP packet of a frame and all bytes after it, from its header on; `None` where the link layer holds no IP
/// packet, or where its headers were cut. For callers that need headers that [`parse`] does not keep.
#[cold]
#[inline(never)]
pub fn ip_packet<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let (frame, _) = metadata::unwrapped(frame).ok()?;
    match link::packet(&frame).ok()? {
        header::Packet::V4(packet) | header::Packet::V6(packet) => Some(packet),
    }
}
