//! What IP headers say of fragments.
//!
//! ```text
//! IPv4 (RFC 791, 3.1), bytes 4 to 7             IPv6 fragment header (RFC 8200, 4.5)
//! ┌───────────────────┬─┬─┬─┬───────────────┐   ┌───────────┬──────────┬───────────────┬──┬─┐
//! │ identification 16 │0│D│M│   offset 13   │   │next head 8│ reserved │   offset 13   │00│M│
//! └───────────────────┴─┴─┴─┴───────────────┘   ├───────────┴──────────┴───────────────┴──┴─┤
//!                                               │             identification 32             │
//! ```
//!
//! Offsets count 8 bytes each, from the end of the header that is repeated in every fragment. M says that more
//! fragments follow. Which fragments belong together: RFC 791 goes by source, destination, protocol and
//! identification, RFC 8200 by source, destination and identification.

use super::{Endpoint, header};
use crate::capture::Time;
use etherparse::Ipv6FragmentHeaderSlice;

/// The longest payload of an IP packet, in bytes: its length field has 16 bits.
pub(super) const MAX_TOTAL: usize = 65_535;

/// More-fragments flag in the word of flags and offset of an IPv4 header.
const V4_MORE: u16 = 0x2000;
/// Offset in that word.
const V4_OFFSET: u16 = 0x1fff;

/// Source and destination address, in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Addresses {
    /// IPv4.
    V4([u8; 4], [u8; 4]),
    /// IPv6.
    V6([u8; 16], [u8; 16]),
}

impl Addresses {
    /// Source and destination with their ports.
    pub fn endpoints(self, source: u16, destination: u16) -> (Endpoint, Endpoint) {
        match self {
            Addresses::V4(src, dst) => (Endpoint::v4(src, source), Endpoint::v4(dst, destination)),
            Addresses::V6(src, dst) => (Endpoint::v6(src, source), Endpoint::v6(dst, destination)),
        }
    }
}

/// What all fragments of a packet share, and those of no other at that time.
///
/// VLAN tags and interfaces are no part of it: the fragments of one packet may come by several ways, and a capture
/// of several interfaces often shows one of them tagged and another not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The addresses.
    pub addresses: Addresses,
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
    /// Protocol number of IPv4; 0 in IPv6, where fragments belong together whatever they say follows.
    pub protocol: u8,
    /// Which tunnel the packet came out of, as the caller numbers them: private addresses repeat themselves.
    pub tunnel: u16,
}

/// What the header of a fragment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Which packet it belongs to.
    pub key: Key,
    /// Number of what follows the header: in IPv6 it counts in the first fragment only.
    pub protocol: u8,
    /// Where its bytes belong in the packet's payload, in bytes: 0..=65,528, a multiple of 8.
    pub offset: usize,
    /// Whether more bytes follow behind it.
    pub more: bool,
}

/// The place of a fragment in its capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Number of its frame.
    pub frame: u64,
    /// Time stamp of its frame.
    pub time: Time,
    /// Offset in the file of the first byte behind its IP headers.
    pub at: u64,
}

/// One fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    /// What its header says.
    pub header: Header,
    /// What was captured behind its headers.
    pub bytes: &'a [u8],
    /// How much of that was on the wire, in bytes: more than was captured when the snap length cut it, less when
    /// the frame was padded.
    pub wire_len: usize,
    /// Where it was found.
    pub place: Location,
}

impl<'a> Fragment<'a> {
    /// Where it ends in the packet's payload.
    pub fn end(&self) -> usize {
        self.header.offset.saturating_add(self.wire_len)
    }

    /// Whether a packet can have such a fragment: not empty, ends within [`MAX_TOTAL`] bytes, and unless it is the
    /// last one its length is a multiple of 8 bytes.
    pub fn is_sound(&self) -> bool {
        let aligned = !self.header.more || self.wire_len.is_multiple_of(8);
        self.wire_len > 0 && self.end() <= MAX_TOTAL && aligned
    }

    /// What was captured of it from `start` to `stop` of the packet's payload, up to its end.
    pub fn part(&self, start: usize, stop: usize) -> &'a [u8] {
        let place = |position: usize| position.saturating_sub(self.header.offset).min(self.bytes.len());
        self.bytes.get(place(start)..place(stop)).unwrap_or_default()
    }
}

/// What an IPv4 header (its first 20 bytes) says of its fragment; `None` where the packet is whole.
pub(super) fn v4(head: &[u8; 20], tunnel: u16) -> Option<Header> {
    let word = u16::from_be_bytes([head[6], head[7]]);
    let (source, destination) = header::v4_addresses(head);
    let (addresses, protocol) = (Addresses::V4(source, destination), head[9]);
    let id = u32::from(u16::from_be_bytes([head[4], head[5]]));
    let offset = usize::from(word & V4_OFFSET).saturating_mul(8);
    let more = word & V4_MORE != 0;
    let header = Header { key: Key { addresses, id, protocol, tunnel }, protocol, offset, more };
    (offset > 0 || more).then_some(header)
}

/// What an IPv6 fragment header says; `None` where the packet is whole in spite of it (RFC 6946).
///
/// `addresses` are the addresses of the IPv6 header, `fragment` what follows it or further headers.
pub(super) fn v6(
    addresses: Addresses,
    fragment: &Ipv6FragmentHeaderSlice<'_>,
    tunnel: u16,
) -> Option<Header> {
    let key = Key { addresses, id: fragment.identification(), protocol: 0, tunnel };
    let offset = usize::from(fragment.fragment_offset().byte_offset());
    let header = Header { key, protocol: fragment.next_header().0, offset, more: fragment.more_fragments() };
    fragment.is_fragmenting_payload().then_some(header)
}
