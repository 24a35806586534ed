//! The fragment fields of IP headers.
//!
//! ```text
//! IPv4 (RFC 791, 3.1), bytes 4 to 7             IPv6 fragment header (RFC 8200, 4.5)
//! ┌───────────────────┬─┬─┬─┬───────────────┐   ┌───────────┬──────────┬───────────────┬──┬─┐
//! │ identification 16 │0│D│M│   offset 13   │   │next head 8│ reserved │   offset 13   │00│M│
//! └───────────────────┴─┴─┴─┴───────────────┘   ├───────────┴──────────┴───────────────┴──┴─┤
//!                                               │             identification 32             │
//! ```
//!
//! Offsets are in units of 8 bytes, from the end of the headers that every fragment repeats. M says that more
//! fragments follow. Fragments belong together if they agree, by RFC 791, in source, destination, protocol and
//! identification, and by RFC 8200 in source, destination and identification.

use super::{Endpoint, header};
use crate::capture::Time;
use etherparse::Ipv6FragmentHeaderSlice;

/// The longest payload of an IP packet, in bytes: its length field has 16 bits.
pub(super) const MAX_TOTAL: usize = 65_535;

/// More-fragments flag in the word of flags and offset of an IPv4 header.
const V4_MORE: u16 = 0x2000;
/// Fragment offset in the same word.
const V4_OFFSET: u16 = 0x1fff;

/// The fields that identify a packet: all of its fragments share them, and no other packet has them at that time.
///
/// VLAN tags and interfaces are not among them: the fragments of one packet may take several paths, and where
/// several interfaces are captured, one of them is often tagged and another is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Source and destination, without ports.
    pub hosts: [Endpoint; 2],
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
    /// Protocol number of IPv4; 0 in IPv6, where the next header of a fragment does not identify the packet.
    pub protocol: u8,
    /// Number of the tunnel that the packet came out of, because private addresses recur in several tunnels. The caller
    /// sets it; 0 as read from a header.
    pub tunnel: u16,
}

/// The fields of a fragment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The packet it belongs to.
    pub key: Key,
    /// Protocol number of the header or payload that follows; in IPv6 only the first fragment's counts.
    pub protocol: u8,
    /// Offset of its bytes in the packet's payload, in bytes: 0..=65,528, a multiple of 8.
    pub offset: usize,
    /// Whether more fragments follow.
    pub more: bool,
}

/// The place of a fragment in its capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Number of its frame.
    pub frame: u64,
    /// Time stamp of its frame.
    pub time: Time,
}

/// One fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    /// The fields of its header.
    pub header: Header,
    /// The captured bytes after its headers.
    pub bytes: &'a [u8],
    /// Number of these bytes on the wire: more than were captured where the snap length cut the frame, fewer where
    /// the frame was padded.
    pub wire_len: usize,
    /// Where it was found.
    pub location: Location,
    /// Other frames that held a part of it: it may have been reassembled from fragments itself.
    pub others: &'a [u64],
}

impl<'a> Fragment<'a> {
    /// Offset of its end in the packet's payload.
    pub fn end(&self) -> usize {
        self.header.offset.saturating_add(self.wire_len)
    }

    /// Whether a packet can have such a fragment: it is not empty, ends within [`MAX_TOTAL`] bytes, and has a length
    /// that is a multiple of 8 bytes unless it is the last one.
    pub fn is_valid(&self) -> bool {
        let aligned = !self.header.more || self.wire_len.is_multiple_of(8);
        self.wire_len > 0 && self.end() <= MAX_TOTAL && aligned
    }

    /// Its captured bytes from offset `start` to `stop` of the packet's payload.
    pub fn part(&self, start: usize, stop: usize) -> &'a [u8] {
        let index = |position: usize| position.saturating_sub(self.header.offset).min(self.bytes.len());
        self.bytes.get(index(start)..index(stop)).unwrap_or_default()
    }
}

/// The fragment fields of an IPv4 header (its first 20 bytes); `None` where the packet is not fragmented.
pub(super) fn v4(head: &[u8; 20]) -> Option<Header> {
    let word = u16::from_be_bytes([head[6], head[7]]);
    let (hosts, protocol) = (header::v4_hosts(head), head[9]);
    let id = u32::from(u16::from_be_bytes([head[4], head[5]]));
    let offset = usize::from(word & V4_OFFSET).saturating_mul(8);
    let more = word & V4_MORE != 0;
    let header = Header { key: Key { hosts, id, protocol, tunnel: 0 }, protocol, offset, more };
    (offset > 0 || more).then_some(header)
}

/// The fields of an IPv6 fragment header; `None` where the packet is nevertheless complete (RFC 6946).
///
/// `hosts` are those of the IPv6 header; `fragment` is the fragment header, which follows it or further headers.
pub(super) fn v6(hosts: [Endpoint; 2], fragment: &Ipv6FragmentHeaderSlice<'_>) -> Option<Header> {
    let key = Key { hosts, id: fragment.identification(), protocol: 0, tunnel: 0 };
    let offset = usize::from(fragment.fragment_offset().byte_offset());
    let header = Header { key, protocol: fragment.next_header().0, offset, more: fragment.more_fragments() };
    fragment.is_fragmenting_payload().then_some(header)
}
