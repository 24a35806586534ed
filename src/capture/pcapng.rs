//! pcapng: the blocks that hold packets.
//!
//! ```text
//!  any block             Enhanced Packet, 6       Packet, 2 (obsolete)     Simple Packet, 3
//!   0  type      4        8  interface     4       8  interface     2       8  length on wire  4
//!   4  total T   4       12  time, high    4      10  drops         2      12  data
//!   8  ...               16  time, low     4      12  time, high    4
//!      body              20  captured n    4      ..  as in 6               captured length:
//! T-4  total T   4       24  length on wire 4       (ffff: unknown)         the lesser of the
//!                        28  data, padding, options                         length on the wire and
//!                                                                           the snap length
//! ```
//! All integers are in the byte order of the section. draft-ietf-opsawg-pcapng, sections 3.1, 4.3, 4.4, and appendix
//! A for the Packet Block.

use super::blocks::{Block, ENHANCED, HEAD, Interface, PACKET, SIMPLE, Section, TRAILER};
use super::buffer::{Buffer, CAPACITY, half_in, word, word_in};
use super::comments::MAX_PACKET_COMMENTS;
use super::info::{MAX_TEXT, text};
use super::pcap::Found;
use super::{Error, MAX_FRAME, Time};

/// Options of an Enhanced Packet Block: a comment, and packets lost since the previous packet (`epb_dropcount`).
const COMMENT: u16 = 1;
const DROPPED: u16 = 4;

impl Section {
    /// The Enhanced Packet Block at the start of `rest`; `None` where it is incomplete or damaged, or where another
    /// block is there.
    #[inline(always)]
    pub(super) fn parse_enhanced<const BIG: bool>(&self, rest: &[u8]) -> Option<Found> {
        let head = rest.first_chunk::<28>()?;
        let total = word::<BIG>(head, 4);
        let captured = word::<BIG>(head, 20);
        // Padding alone is less than four bytes. Where a block is shorter than its packet, the subtraction wraps around.
        let extra = total.wrapping_sub(captured).wrapping_sub(32);
        if word::<BIG>(head, 0) != ENHANCED
            || !total.is_multiple_of(4)
            || captured > MAX_FRAME
            || extra > 3 && needs_slow_path(BIG, rest, total, captured)
        {
            return None;
        }
        let trailer = rest.get(..total as usize)?.last_chunk::<4>()?;
        if word::<BIG>(trailer, 0) != total {
            return None;
        }
        let interface = self.interfaces.get(word::<BIG>(head, 8) as usize)?;
        let count = u64::from(word::<BIG>(head, 12)) << 32 | u64::from(word::<BIG>(head, 16));
        Some(Found {
            time: interface.clock.time(count),
            link: interface.link,
            interface: interface.number,
            wire_len: word::<BIG>(head, 24).max(captured),
            skip: 28,
            len: captured,
            total,
        })
    }

    /// Reads a packet block of any kind, complete or not: reads more input, or returns the error.
    pub(super) fn read_packet(&mut self, buffer: &mut Buffer, block: Block) -> Result<Found, Error> {
        let head: u32 = if block.kind == SIMPLE { 12 } else { 28 };
        let least = head.saturating_add(TRAILER as u32);
        if block.total < u64::from(least) {
            let problem = format!("has a total length of {} bytes and needs {least}", block.announced);
            return Err(block.damaged(problem));
        }
        block.fill(buffer, head as usize)?;
        let (interface, time, len, wire_len) = self.read_fields(buffer.rest(), block)?;
        if len > MAX_FRAME {
            let problem = format!("announces {len} bytes, and a frame has at most {MAX_FRAME}");
            return Err(block.damaged(problem));
        }
        let room = block.total.saturating_sub(least.into());
        if u64::from(len) > room {
            let problem = format!("announces {len} captured bytes and has room for {room}");
            return Err(block.damaged(problem));
        }
        let total = match u32::try_from(block.total) {
            Ok(total) if total as usize <= CAPACITY => {
                block.fill(buffer, total as usize)?;
                let trailer = buffer.rest().get(..total as usize).and_then(<[u8]>::last_chunk::<4>);
                block.check_trailer(self.big, trailer.map_or(&[], |end| end.as_slice()))?;
                total
            }
            _ => {
                let front = head.saturating_add(len);
                block.fill(buffer, front as usize)?;
                self.tail = Some((block, block.total.saturating_sub(front.into())));
                front
            }
        };
        let wire_len = wire_len.max(len);
        let Interface { link, number: interface, .. } = interface;
        Ok(Found { time, link, interface, wire_len, skip: head, len, total })
    }

    /// Time stamp of the packet block at the front of the buffer; unknown where another block is there or the packet
    /// block is damaged.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub(super) fn next_time(&mut self, buffer: &mut Buffer) -> Result<Time, Error> {
        buffer.fill(HEAD)?;
        let kind = word_in(self.big, buffer.rest(), 0);
        let head = if kind == SIMPLE { 12 } else { 28 };
        if !matches!(kind, ENHANCED | PACKET | SIMPLE) || !buffer.fill(head)? {
            return Ok(Time::UNKNOWN);
        }
        let block = Block { at: buffer.offset(), kind, announced: 0, total: 0 };
        Ok(self.read_fields(buffer.rest(), block).map_or(Time::UNKNOWN, |(_, time, ..)| time))
    }

    /// How many packets were lost before the packet `found`, according to its block, which is at the front of the
    /// buffer. Not known for a block larger than the buffer.
    pub(super) fn lost_before(&self, buffer: &Buffer, block: Block, found: Found) -> Option<u64> {
        let rest = buffer.rest();
        match block.kind {
            PACKET => Some(half_in(self.big, rest, 10)).filter(|&drops| drops != 0xffff).map(u64::from),
            ENHANCED if self.tail.is_none() => {
                let mut list = options(self.big, option_bytes(rest, found.total, found.len));
                super::blocks::long(self.big, list.find(|(code, _)| *code == DROPPED)?.1)
            }
            _ => None,
        }
    }

    /// The comments on the packet `found`, under the same conditions.
    pub(super) fn comments(&self, buffer: &Buffer, block: Block, found: Found) -> Vec<Box<str>> {
        if block.kind == SIMPLE || self.tail.is_some() {
            return vec![];
        }
        options(self.big, option_bytes(buffer.rest(), found.total, found.len))
            .filter(|(code, _)| *code == COMMENT)
            .filter_map(|(_, value)| text(value, MAX_TEXT).map(String::into_boxed_str))
            .take(MAX_PACKET_COMMENTS)
            .collect()
    }

    /// Interface, time, captured length and length on the wire of the block that starts `rest`.
    fn read_fields(&self, rest: &[u8], block: Block) -> Result<(Interface, Time, u32, u32), Error> {
        let get = |at| word_in(self.big, rest, at);
        let number = match block.kind {
            ENHANCED => get(8),
            PACKET => half_in(self.big, rest, 8).into(),
            _ => 0,
        };
        let Some(&interface) = self.interfaces.get(number as usize) else {
            let described = self.interfaces.len();
            let problem = format!(
                "refers to interface {number}, counted from 0; interfaces described before it in its section: {described}"
            );
            return Err(block.damaged(problem));
        };
        if block.kind == SIMPLE {
            let wire_len = get(8);
            let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            return Ok((interface, Time::UNKNOWN, wire_len.min(limit), wire_len));
        }
        let count = u64::from(get(12)) << 32 | u64::from(get(16));
        Ok((interface, interface.clock.time(count), get(20), get(24)))
    }
}

/// Whether an Enhanced Packet Block with more than padding after its packet needs the slow path: it is too short for
/// its packet, has comments, or counts packets lost before it.
#[cold]
#[inline(never)]
fn needs_slow_path(big: bool, rest: &[u8], total: u32, captured: u32) -> bool {
    let is_needed = |(code, _): (u16, _)| matches!(code, COMMENT | DROPPED);
    total < captured.wrapping_add(32) || options(big, option_bytes(rest, total, captured)).any(is_needed)
}

/// The options of an Enhanced Packet Block: the bytes between its packet and its trailer.
fn option_bytes(rest: &[u8], total: u32, captured: u32) -> &[u8] {
    let from = captured.next_multiple_of(4).saturating_add(28) as usize;
    rest.get(from..(total as usize).saturating_sub(TRAILER)).unwrap_or_default()
}

/// The options of a list: code and value.
fn options(big: bool, mut list: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (code, len) = (half_in(big, list, 0), usize::from(half_in(big, list, 2)));
        let value = list.get(4..)?.get(..len).filter(|_| code != 0)?;
        list = list.get(len.next_multiple_of(4).saturating_add(4)..).unwrap_or_default();
        Some((code, value))
    })
}
