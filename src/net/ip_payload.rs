//! The payload of an IP packet, read with all headers that may precede it: options, extension headers, fragments.
//!
//! ```text
//! extension header, most kinds (RFC 8200)     authentication (RFC 4302)     fragment (RFC 8200, 4.5)
//! ┌───────┬───────┬─────────────┐             ┌──────┬──────┬────────┐      ┌──────┬───┬────────┬─┬─┬────────────────┐
//! │ next  │length │ ...         │             │ next │length│  ...   │      │ next │ 0 │ offset │0│M│ identification │
//! └───────┴───────┴─────────────┘             └──────┴──────┴────────┘      └──────┴───┴────────┴─┴─┴────────────────┘
//! length in units of 8 bytes, less one        words of 4, less two          13 bits of offset, in units of 8 bytes
//! ```

use super::fragment_header::{self, Fragment, Header, Key, Location, MAX_TOTAL};
use super::fragment_set::Packet;
use super::header::{self, ICMP, ICMPV6, UDP, V4_HEADER, V6_HEADER, on_wire, skip, split};
use super::{Datagram, DropReason, Endpoint, udp};
use crate::capture::Frame;
use etherparse::Ipv6FragmentHeaderSlice;

/// The most IPv6 extension headers followed in one packet; RFC 8200, 4.1 foresees seven.
pub const MAX_EXTENSIONS: usize = 16;

// Extension headers (IANA, "IPv6 Extension Header Types"; not ESP, which hides what follows).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// The payload of an IP packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPayload<'a> {
    /// The frame, narrowed to the payload: its offset, its captured bytes and its length on the wire.
    pub frame: Frame<'a>,
    /// The protocol number; in a fragment it may be that of an extension header.
    pub protocol: u8,
    /// Source and destination, without ports.
    pub hosts: [Endpoint; 2],
    /// Identification in IPv4, else 0.
    pub ip_id: u16,
    /// Time to live or hop limit; 0 in a reassembled packet.
    pub ttl: u8,
    /// Set in a fragment of a packet that could hold a datagram.
    pub fragment: Option<Header>,
}

impl<'a> IpPayload<'a> {
    /// The payload of `packet`, which is the captured end of the frame. On success its protocol is UDP, ICMP or that
    /// of a tunnel, or it is a fragment of such a packet.
    pub fn of(frame: &Frame<'a>, packet: header::Packet<'a>) -> Result<Self, DropReason> {
        match packet {
            header::Packet::V4(packet) => Self::of_v4(frame, packet)?.after_extensions(),
            header::Packet::V6(packet) => Self::of_v6(frame, packet)?.after_extensions(),
        }
    }

    fn of_v4(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Self, DropReason> {
        let (head, _) = split::<V4_HEADER>(frame, packet, DropReason::BadIp)?;
        let header = usize::from(head[0] & 0x0f).wrapping_mul(4);
        if head[0] >> 4 != 4 || header < V4_HEADER {
            return Err(DropReason::BadIp);
        }
        let protocol = head[9];
        if protocol != AUTHENTICATION {
            check(protocol)?;
        }
        let fragment = fragment_header::v4(head);
        // A length beyond the frame is kept: a mirror port may cut packets without saying so.
        let total = match u16::from_be_bytes([head[2], head[3]]) {
            0 => on_wire(frame, packet),
            total => usize::from(total),
        };
        let length = total.checked_sub(header).ok_or(DropReason::BadIp)?;
        Ok(IpPayload {
            frame: narrow(frame, packet.get(header..).unwrap_or_default(), length),
            protocol,
            hosts: header::v4_hosts(head),
            ip_id: u16::from_be_bytes([head[4], head[5]]),
            ttl: head[8],
            fragment,
        })
    }

    fn of_v6(frame: &Frame<'a>, packet: &'a [u8]) -> Result<Self, DropReason> {
        let (head, rest) = split::<V6_HEADER>(frame, packet, DropReason::BadIp)?;
        if head[0] >> 4 != 6 {
            return Err(DropReason::BadIp);
        }
        let protocol = head[6];
        if !is_extension(protocol) {
            check(protocol)?;
        }
        let length = match u16::from_be_bytes([head[4], head[5]]) {
            // A jumbogram (RFC 2675) has its length in an extension header; without such a header, 0 means
            // segmentation offload.
            0 if is_extension(protocol) => return Err(DropReason::BadIp),
            0 => on_wire(frame, rest),
            length => usize::from(length),
        };
        let (src, dst) = header::v6_addresses(head);
        let hosts = [src, dst].map(|ip| Endpoint::v6(ip, 0));
        Ok(IpPayload {
            frame: narrow(frame, rest, length),
            protocol,
            hosts,
            ip_id: 0,
            ttl: head[7],
            fragment: None,
        })
    }

    /// Skips extension headers, up to a fragment header; IPv4 has one at most, for authentication.
    fn after_extensions(mut self) -> Result<Self, DropReason> {
        let v4 = self.is_v4();
        for count in 0..=MAX_EXTENSIONS {
            if self.fragment.is_some() {
                return self.check_fragment();
            }
            let more = match v4 {
                true => self.protocol == AUTHENTICATION && count == 0,
                false => is_extension(self.protocol),
            };
            if !more {
                return check(self.protocol).map(|()| self);
            }
            self.skip_extension()?;
            // Hop-by-hop options come first or not at all: receivers discard other packets (RFC 8200, 4).
            if self.protocol == HOP_BY_HOP && !v4 {
                return Err(DropReason::BadIp);
            }
        }
        Err(DropReason::BadIp)
    }

    /// Accepts a fragment whose packet may hold a datagram. For an ICMP error, the first fragment is enough.
    fn check_fragment(mut self) -> Result<Self, DropReason> {
        match (self.protocol, self.fragment) {
            (ICMP | ICMPV6, Some(Header { offset: 0, .. })) => self.fragment = None,
            (ICMP | ICMPV6, _) => return Err(DropReason::Icmp),
            (protocol, _) if is_extension(protocol) => {}
            (protocol, _) => check(protocol)?,
        }
        Ok(self)
    }

    /// Skips one extension header.
    fn skip_extension(&mut self) -> Result<(), DropReason> {
        let bytes = self.frame.bytes;
        // The shortest extension header has 8 bytes.
        let (&[next, length, ..], _) = split::<8>(&self.frame, bytes, DropReason::BadIp)?;
        let length = match self.protocol {
            AUTHENTICATION if length == 0 => return Err(DropReason::BadIp),
            AUTHENTICATION => usize::from(length).wrapping_add(2).wrapping_mul(4),
            FRAGMENT => 8,
            _ => usize::from(length).wrapping_add(1).wrapping_mul(8),
        };
        let rest = skip(&self.frame, bytes, length, DropReason::BadIp)?;
        if self.protocol == FRAGMENT
            && let Ok(header) = Ipv6FragmentHeaderSlice::from_slice(bytes)
        {
            // A fragment that is the only one (RFC 6946) is a complete packet.
            self.fragment = fragment_header::v6(self.hosts, &header);
        }
        self.frame = rest_of(&self.frame, rest);
        self.protocol = next;
        Ok(())
    }

    /// The payload of a reassembled packet, or of its beginning. It is not in the file in one piece; `frame` is the
    /// frame that it is reported with.
    pub fn of_packet(frame: &Frame<'_>, packet: &'a Packet) -> Result<Self, DropReason> {
        // Where the end is missing, the length is unknown: takes the longest possible.
        let wire_len = packet.total.unwrap_or(MAX_TOTAL);
        let wire_len = u32::try_from(wire_len).unwrap_or(u32::MAX);
        let frame = Frame { at: Datagram::NOT_IN_FILE, wire_len, bytes: &packet.payload, ..*frame };
        let Key { hosts, id, .. } = packet.key;
        let ip_id = if hosts[0].is_v4() { id as u16 } else { 0 };
        IpPayload { frame, protocol: packet.protocol, hosts, ip_id, ttl: 0, fragment: None }
            .after_extensions()
    }

    /// Whether it is the payload of an IPv4 packet.
    pub fn is_v4(&self) -> bool {
        self.hosts[0].is_v4()
    }

    /// The payload as a fragment; `header` has the fields of its header.
    pub fn as_fragment(&self, header: Header) -> Fragment<'a> {
        let frame = &self.frame;
        let location = Location { frame: frame.number, time: frame.time };
        Fragment { header, bytes: frame.bytes, wire_len: on_wire(frame, frame.bytes), location, others: &[] }
    }

    /// The payload as a UDP segment: any with `all`, else only one that cannot hold another packet.
    pub fn datagram(&self, all: bool) -> Result<Datagram<'a>, DropReason> {
        let (frame, bytes) = (&self.frame, self.frame.bytes);
        let (length, hosts) = (on_wire(frame, bytes), self.hosts.into());
        udp::datagram(frame, bytes, length, hosts, Endpoint::with_port, (self.ip_id, self.ttl), all)
    }
}

/// The frame, narrowed to `length` bytes on the wire from the start of `rest`, its captured end.
pub(super) fn narrow<'a>(frame: &Frame<'a>, rest: &'a [u8], length: usize) -> Frame<'a> {
    let offset = frame.bytes.len().saturating_sub(rest.len()) as u64;
    Frame {
        at: frame.at.saturating_add(offset),
        wire_len: u32::try_from(length).unwrap_or(u32::MAX),
        bytes: rest.get(..length).unwrap_or(rest),
        ..*frame
    }
}

/// The frame, narrowed to its captured end `rest` and the bytes after it on the wire.
pub(super) fn rest_of<'a>(frame: &Frame<'a>, rest: &'a [u8]) -> Frame<'a> {
    narrow(frame, rest, on_wire(frame, rest))
}

/// Whether this is the number of an IPv6 extension header that is followed.
fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION | MOBILITY | HIP | SHIM6)
}

/// Checks that a packet of this protocol can hold a datagram; the error says why it cannot.
fn check(protocol: u8) -> Result<(), DropReason> {
    match protocol {
        UDP | ICMP | ICMPV6 | header::IPV4 | header::IPV6 | header::GRE => Ok(()),
        header::TCP => Err(DropReason::Tcp),
        _ => Err(DropReason::OtherProtocol),
    }
}
