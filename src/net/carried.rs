//! What an IP packet carries, read with all that may stand in front of it: options, extension headers, fragments.
//!
//! ```text
//! extension header, most kinds (RFC 8200)     authentication (RFC 4302)     fragment (RFC 8200, 4.5)
//! ┌───────┬───────┬─────────────┐             ┌──────┬──────┬────────┐      ┌──────┬───┬────────┬─┬─┬────────────────┐
//! │ next  │length │ ...         │             │ next │length│  ...   │      │ next │ 0 │ offset │0│M│ identification │
//! └───────┴───────┴─────────────┘             └──────┴──────┴────────┘      └──────┴───┴────────┴─┴─┴────────────────┘
//! length in units of 8 bytes, less one        words of 4, less two          13 bits of offset, in units of 8 bytes
//! ```

use super::fragment_header::{self, Ends, Header, Piece, Place};
use super::fragment_set::{MAX_TOTAL, Packet};
use super::ip::{self, ICMP, ICMPV6, UDP, V4_HEADER, V6_HEADER};
use super::link::{self, missing};
use super::{Datagram, Endpoint, Turned, on_wire, udp};
use crate::capture::Frame;
use etherparse::err::ip_auth::HeaderSliceError;
use etherparse::{IpAuthHeaderSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice};

/// IPv6 extension headers followed in one packet; RFC 8200, 4.1 foresees seven.
pub(super) const MAX_EXTENSIONS: usize = 16;

// Extension headers (IANA, "IPv6 Extension Header Types"; not ESP, which hides what follows).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// What an IP packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<'a> {
    /// The frame, narrowed to what is carried: its place, its captured bytes and its length on the wire.
    pub frame: Frame<'a>,
    /// The protocol; in a piece it may be that of an extension header.
    pub protocol: u8,
    pub ends: Ends,
    /// Identification in IPv4, else 0.
    pub ip_id: u16,
    /// Set in a fragment of a packet that could be one of ours.
    pub piece: Option<Header>,
}

impl<'a> Carried<'a> {
    /// What a packet carries; `packet` is the captured end of the frame. Its protocol is UDP, ICMP or that of a
    /// tunnel, or it is a piece of such a packet.
    pub fn of(frame: &Frame<'a>, packet: link::Packet<'a>) -> Result<Self, Turned> {
        match packet {
            link::Packet::V4(packet) => Self::of_v4(frame, packet),
            link::Packet::V6(packet) => Self::of_v6(frame, packet),
        }
    }

    fn of_v4(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Self, Turned> {
        let Some(head) = packet.first_chunk::<V4_HEADER>() else {
            return Err(missing(*frame, packet, V4_HEADER, Turned::BadIp));
        };
        let header = usize::from(head[0] & 0x0f).wrapping_mul(4);
        if head[0] >> 4 != 4 || header < V4_HEADER {
            return Err(Turned::BadIp);
        }
        let protocol = head[9];
        if protocol != AUTHENTICATION {
            ours(protocol)?;
        }
        let ip_id = u16::from_be_bytes([head[4], head[5]]);
        let piece = fragment_header::v4(head, 0);
        let wire = on_wire(frame, packet);
        let total = match u16::from_be_bytes([head[2], head[3]]) {
            0 => wire,
            total => usize::from(total),
        };
        if total > wire {
            return Err(if piece.is_some() { Turned::Fragment } else { Turned::BadIp });
        }
        let room = total.checked_sub(header).ok_or(Turned::BadIp)?;
        let (source, destination) = ip::v4_addresses(head);
        let ends = Ends::V4(source, destination);
        let frame = narrow(frame, packet.get(header..).unwrap_or_default(), room);
        Carried { frame, protocol, ends, ip_id, piece }.behind_extensions()
    }

    fn of_v6(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Self, Turned> {
        let Some((head, rest)) = packet.split_first_chunk::<V6_HEADER>() else {
            return Err(missing(*frame, packet, V6_HEADER, Turned::BadIp));
        };
        if head[0] >> 4 != 6 {
            return Err(Turned::BadIp);
        }
        let protocol = head[6];
        if !is_extension(protocol) {
            ours(protocol)?;
        }
        let wire = on_wire(frame, rest);
        let room = match u16::from_be_bytes([head[4], head[5]]) {
            // A jumbogram (RFC 2675) says its length in an extension header; without one it is offload.
            0 if is_extension(protocol) => return Err(Turned::BadIp),
            0 => wire,
            room => usize::from(room),
        };
        if room > wire {
            return Err(Turned::BadIp);
        }
        let (source, destination) = ip::v6_addresses(head);
        let (frame, ends) = (narrow(frame, rest, room), Ends::V6(source, destination));
        Carried { frame, protocol, ends, ip_id: 0, piece: None }.behind_extensions()
    }

    /// Walks over extension headers, as far as a fragment; IPv4 has one at most, for authentication.
    fn behind_extensions(mut self) -> Result<Self, Turned> {
        let v4 = matches!(self.ends, Ends::V4(..));
        for steps in 0..=MAX_EXTENSIONS {
            if self.piece.is_some() {
                return self.of_ours();
            }
            let more = match v4 {
                true => self.protocol == AUTHENTICATION && steps == 0,
                false => is_extension(self.protocol),
            };
            if !more {
                return ours(self.protocol).map(|()| self);
            }
            self.step()?;
            // Hop-by-hop options stand first or nowhere: receivers discard all else (RFC 8200, 4).
            if self.protocol == HOP_BY_HOP && !v4 {
                return Err(Turned::BadIp);
            }
        }
        Err(Turned::BadIp)
    }

    /// A piece that is worth putting together with its fellows. ICMP errors are as short as their beginning.
    fn of_ours(mut self) -> Result<Self, Turned> {
        match (self.protocol, self.piece) {
            (ICMP | ICMPV6, Some(Header { offset: 0, .. })) => self.piece = None,
            (ICMP | ICMPV6, _) => return Err(Turned::Icmp),
            (protocol, _) if is_extension(protocol) => {}
            (protocol, _) => ours(protocol)?,
        }
        Ok(self)
    }

    /// Walks over one extension header.
    fn step(&mut self) -> Result<(), Turned> {
        let inside = self.frame.bytes;
        let walked = match self.protocol {
            AUTHENTICATION => match IpAuthHeaderSlice::from_slice(inside) {
                Ok(header) => Ok((header.next_header().0, header.slice().len())),
                Err(HeaderSliceError::Len(error)) => Err(error.required_len),
                Err(HeaderSliceError::Content(_)) => return Err(Turned::BadIp),
            },
            FRAGMENT => match Ipv6FragmentHeaderSlice::from_slice(inside) {
                Ok(header) => {
                    // A fragment without fellows (RFC 6946) is a whole packet.
                    self.piece = fragment_header::v6(self.ends, &header, 0);
                    Ok((header.next_header().0, header.slice().len()))
                }
                Err(error) => Err(error.required_len),
            },
            _ => match Ipv6RawExtHeaderSlice::from_slice(inside) {
                Ok(header) => Ok((header.next_header().0, header.slice().len())),
                Err(error) => Err(error.required_len),
            },
        };
        let room = on_wire(&self.frame, inside);
        match walked {
            Ok((next, length)) => {
                let rest = inside.get(length..).unwrap_or_default();
                self.frame = narrow(&self.frame, rest, room.saturating_sub(length));
                self.protocol = next;
                Ok(())
            }
            Err(required) if required > room => Err(Turned::BadIp),
            Err(_) => Err(Turned::HeadersCut),
        }
    }

    /// What a packet carries that was put together, or the beginning of it. It stands nowhere in the file as one
    /// piece; `frame` is the one that it is told of.
    pub fn of_packet(frame: &Frame<'_>, packet: &'a Packet) -> Result<Self, Turned> {
        // Where the end is missing its length is not known: the longest there can be.
        let wire_len = packet.total.unwrap_or(MAX_TOTAL).max(packet.payload.len());
        let frame = Frame {
            number: frame.number,
            time: frame.time,
            link: frame.link,
            interface: frame.interface,
            at: Datagram::NOWHERE,
            wire_len: u32::try_from(wire_len).unwrap_or(u32::MAX),
            bytes: &packet.payload,
        };
        let ip_id = match packet.ends {
            Ends::V4(..) => packet.id as u16,
            Ends::V6(..) => 0,
        };
        Carried { frame, protocol: packet.protocol, ends: packet.ends, ip_id, piece: None }
            .behind_extensions()
    }

    /// The fragment that is carried, `header` being what its own header says.
    pub fn as_piece(&self, header: Header) -> Piece<'a> {
        let frame = &self.frame;
        let place = Place { frame: frame.number, time: frame.time, at: frame.at };
        Piece { header, bytes: frame.bytes, wire_len: on_wire(frame, frame.bytes), place }
    }

    /// What is carried as a UDP segment: `all` of them, or only what cannot hold another packet.
    pub fn datagram(&self, all: bool) -> Result<Datagram<'a>, Turned> {
        let (frame, bytes) = (&self.frame, self.frame.bytes);
        let room = on_wire(frame, bytes);
        match self.ends {
            Ends::V4(src, dst) => {
                udp::datagram(frame, bytes, room, (src, dst), Endpoint::v4, self.ip_id, all)
            }
            Ends::V6(src, dst) => udp::datagram(frame, bytes, room, (src, dst), Endpoint::v6, 0, all),
        }
    }
}

/// The frame, narrowed to `room` bytes on the wire from the start of `rest` on; `rest` is its captured end.
pub(super) fn narrow<'a>(frame: &Frame<'a>, rest: &'a [u8], room: usize) -> Frame<'a> {
    let offset = frame.bytes.len().saturating_sub(rest.len()) as u64;
    Frame {
        at: frame.at.saturating_add(offset),
        wire_len: u32::try_from(room).unwrap_or(u32::MAX),
        bytes: rest.get(..room).unwrap_or(rest),
        ..*frame
    }
}

/// Whether an IPv6 packet goes on behind this header.
fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP | SHIM6)
}

/// Whether a packet of this protocol can hold a datagram, or the reason why it cannot.
fn ours(protocol: u8) -> Result<(), Turned> {
    match protocol {
        UDP | ICMP | ICMPV6 | ip::IPV4 | ip::IPV6 | ip::GRE => Ok(()),
        ip::TCP => Err(Turned::Tcp),
        _ => Err(Turned::OtherProtocol),
    }
}
