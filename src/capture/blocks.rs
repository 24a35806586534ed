//! pcapng: sections, interfaces, and the blocks that are skipped.
//!
//! ```text
//!  Section Header, 0a0d0d0a        Interface Description, 1     option
//!   8  1a2b3c4d: byte order  4      8  link type    2            0  code            2
//!  12  version 1.0           2 + 2  10  reserved    2            2  length n        2
//!  16  section length        8      12  snap length 4            4  n bytes, padded to four
//!  24  options                      16  options                  code 0 ends the list
//! ```
//! Options used: 1 comment, 2 hardware, 3 operating system and 4 application of a section; 1 comment,
//! 2 name, 3 description, 9 `if_tsresol` (1 byte) and 14 `if_tsoffset` (8 bytes) of an interface; 4, 5
//! and 7 (8 bytes each) of Interface Statistics, 5, which begin with the interface (4) and a time stamp
//! (8). draft-ietf-opsawg-pcapng, sections 3.5, 4.1, 4.2 and 4.6.
//!
//! Options are read one at a time, so that a list of any length needs no memory. Where a list overruns its block,
//! only its last option is lost; the file is read on.

use super::Error;
use super::buffer::{Buffer, half_in, word, word_in};
use super::info::{self, CaptureInfo};
use super::time::Clock;
use nom::error::ErrorKind;
use pcap_parser::pcapng::{PcapNGOption, parse_option_be, parse_option_le};

/// Section Header Block; its type reads the same in both byte orders.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
/// Interface Description Block.
pub(super) const INTERFACE: u32 = 1;
/// Interface Statistics Block, and its length in bytes without options.
pub(super) const STATISTICS: u32 = 5;
const STATISTICS_LEAST: u64 = 24;
/// Byte-order magic of a section header.
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Bytes of a section header without options.
pub(super) const SECTION_LEAST: usize = 28;

/// Interfaces remembered per section; an obsolete Packet Block cannot name more. Further interfaces are treated as
/// not described.
pub(super) const MAX_INTERFACES: usize = 65_536;

/// Enhanced Packet Block.
pub(super) const ENHANCED: u32 = 6;
/// Packet Block, obsolete since 2009.
pub(super) const PACKET: u32 = 2;
/// Simple Packet Block.
pub(super) const SIMPLE: u32 = 3;

/// Bytes of a block before its body, and of the total length after it.
pub(super) const HEAD: usize = 8;
pub(super) const TRAILER: usize = 4;

/// An interface of the section, as far as packets need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) link: u16,
    /// Counted from 0 over all sections.
    pub(super) number: u32,
    pub(super) snaplen: u32,
    pub(super) clock: Clock,
}

/// A block whose first eight bytes have been read. It is at the front of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) at: u64,
    pub(super) kind: u32,
    /// Total length as announced, in bytes.
    pub(super) announced: u32,
    /// Total length rounded up to a multiple of four: some writers do not count the padding.
    pub(super) total: u64,
}

/// The state of the section that is being read.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) big: bool,
    pub(super) interfaces: Vec<Interface>,
    /// Interfaces described in this section and those before it.
    pub(super) described: u32,
    /// A block larger than the buffer whose frame has been handed out but whose end has not been read yet, and how
    /// many of its bytes are left.
    pub(super) tail: Option<(Block, u64)>,
}

/// Types of blocks that hold no packet but that Wireshark numbers like frames: journal entries, custom blocks, and
/// three kinds of system call events.
const NUMBERED: [u32; 6] = [9, 0xbad, 0x4000_0bad, 0x204, 0x216, 0x221];

impl Block {
    /// Name of the block in messages.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            SECTION => "section header block",
            INTERFACE => "interface description block",
            PACKET => "packet block",
            SIMPLE => "simple packet block",
            ENHANCED => "enhanced packet block",
            _ => "block",
        }
    }

    pub(super) fn damaged(&self, problem: impl std::fmt::Display) -> Error {
        Error::damaged(self.name(), self.at, problem)
    }

    /// Reads until `count` bytes are in the buffer; they belong to this block.
    pub(super) fn fill(&self, buffer: &mut Buffer, count: usize) -> Result<(), Error> {
        if buffer.fill(count)? { Ok(()) } else { Err(self.cut(buffer)) }
    }

    /// The error for an input that ends inside this block.
    pub(super) fn cut(&self, buffer: &Buffer) -> Error {
        let missing = self.at.saturating_add(self.total).saturating_sub(buffer.end_offset());
        Error::cut(self.name(), self.at, self.total, missing)
    }

    /// Checks the total length after the body, `trailer`, against the one before it.
    pub(super) fn check_trailer(&self, big: bool, trailer: &[u8]) -> Result<(), Error> {
        let trailing = word_in(big, trailer, 0);
        if trailing == self.announced || u64::from(trailing) == self.total {
            return Ok(());
        }
        let announced = self.announced;
        Err(self.damaged(format_args!(
            "has a total length of {announced} bytes at its start and {trailing} at its end"
        )))
    }
}

impl Section {
    /// Reads up to the next packet block and leaves it at the front of the buffer; `None` at the end of the input.
    /// `frames` counts the blocks that Wireshark numbers.
    pub(super) fn next_packet(
        &mut self,
        buffer: &mut Buffer,
        info: &mut CaptureInfo,
        frames: &mut u64,
    ) -> Result<Option<Block>, Error> {
        if let Some((block, left)) = self.tail.take() {
            self.skip_rest(buffer, block, left)?;
        }
        loop {
            let Some(block) = self.read_head(buffer)? else { return Ok(None) };
            match block.kind {
                ENHANCED | PACKET | SIMPLE => return Ok(Some(block)),
                SECTION => self.begin_section(buffer, block, info)?,
                INTERFACE => self.read_interface(buffer, block, info)?,
                STATISTICS if block.total >= STATISTICS_LEAST => self.read_statistics(buffer, block, info)?,
                kind => {
                    *frames = frames.wrapping_add(NUMBERED.contains(&kind).into());
                    self.skip_rest(buffer, block, block.total)?;
                }
            }
        }
    }

    /// Reads the head of the block at the front of the buffer, and takes over the byte order if it is a section
    /// header; `None` at the end of the input.
    fn read_head(&mut self, buffer: &mut Buffer) -> Result<Option<Block>, Error> {
        let at = buffer.offset();
        if !buffer.fill(HEAD)? {
            return match buffer.rest().len() {
                0 => Ok(None),
                present => Err(Error::cut_head("block", at, present as u64, HEAD as u64)),
            };
        }
        let kind = word_in(self.big, buffer.rest(), 0);
        if kind == SECTION {
            if !buffer.fill(12)? {
                return Err(Error::cut_head("section header block", at, buffer.rest().len() as u64, 12));
            }
            self.big = is_big(buffer.rest()).ok_or_else(|| {
                let order = word::<false>(buffer.rest(), 8);
                let problem = format!("has {order:#010x} in place of its byte order, {BYTE_ORDER:#010x}");
                Error::damaged("section header block", at, problem)
            })?;
        }
        let announced = word_in(self.big, buffer.rest(), 4);
        let total = u64::from(announced).next_multiple_of(4);
        let block = Block { at, kind, announced, total };
        let least = match kind {
            SECTION => SECTION_LEAST,
            INTERFACE => 20,
            _ => HEAD + TRAILER,
        };
        if total < least as u64 {
            return Err(block.damaged(format!("has a total length of {announced} bytes and needs {least}")));
        }
        Ok(Some(block))
    }

    /// Reads a section header and forgets the interfaces of the previous section.
    fn begin_section(
        &mut self,
        buffer: &mut Buffer,
        block: Block,
        info: &mut CaptureInfo,
    ) -> Result<(), Error> {
        block.fill(buffer, 24)?;
        let version = (half_in(self.big, buffer.rest(), 12), half_in(self.big, buffer.rest(), 14));
        if version.0 != 1 {
            let problem = format!("is of version {}.{}, and only 1.0 is known", version.0, version.1);
            return Err(block.damaged(problem));
        }
        self.interfaces.clear();
        self.read_options(buffer, block, 24, |code, value| info.note_section(code, value))
    }

    /// Reads an interface description.
    fn read_interface(
        &mut self,
        buffer: &mut Buffer,
        block: Block,
        info: &mut CaptureInfo,
    ) -> Result<(), Error> {
        block.fill(buffer, 16)?;
        let link = half_in(self.big, buffer.rest(), 8);
        let snaplen = word_in(self.big, buffer.rest(), 12);
        let (mut resolution, mut offset) = (None, None);
        let mut description = info::Interface::new(link, snaplen);
        let big = self.big;
        self.read_options(buffer, block, 16, |code, value| match (code, value) {
            (9, [value]) => _ = resolution.get_or_insert(*value),
            (14, value) => {
                if let Some(value) = long(big, value) {
                    offset.get_or_insert(value.cast_signed());
                }
            }
            _ => description.note(code, value),
        })?;
        description.set_resolution(resolution.unwrap_or(6));
        info.note_interface(description);
        if self.interfaces.len() < MAX_INTERFACES {
            let clock = Clock::new(resolution.unwrap_or(6), offset.unwrap_or(0));
            self.interfaces.push(Interface { link, number: self.described, snaplen, clock });
        }
        self.described = self.described.saturating_add(1);
        Ok(())
    }

    /// Reads the statistics of an interface; those of an interface that is not described are ignored.
    fn read_statistics(
        &mut self,
        buffer: &mut Buffer,
        block: Block,
        info: &mut CaptureInfo,
    ) -> Result<(), Error> {
        block.fill(buffer, 20)?;
        let interface = self.interfaces.get(word_in(self.big, buffer.rest(), 8) as usize).copied();
        let (big, mut counts) = (self.big, [None; 3]);
        self.read_options(buffer, block, 20, |code, value| {
            // isb_ifrecv, isb_ifdrop, isb_osdrop
            let slot = [4, 5, 7].into_iter().zip(&mut counts).find(|(known, _)| *known == code);
            if let (Some((_, slot)), Some(value)) = (slot, long(big, value)) {
                slot.get_or_insert(value);
            }
        })?;
        if let Some(interface) = interface {
            info.note_statistics(interface.number, counts);
        }
        Ok(())
    }

    /// Skips the `head` bytes before the options of a block, passes each option to `each`, and skips the rest of the
    /// block.
    fn read_options(
        &self,
        buffer: &mut Buffer,
        block: Block,
        head: usize,
        mut each: impl FnMut(u16, &[u8]),
    ) -> Result<(), Error> {
        buffer.advance(head);
        let mut left = block.total.saturating_sub(head.saturating_add(TRAILER) as u64);
        while left >= 4 {
            block.fill(buffer, 4)?;
            let code = half_in(self.big, buffer.rest(), 0);
            let len = usize::from(half_in(self.big, buffer.rest(), 2));
            let size = len.next_multiple_of(4).saturating_add(4);
            if code == 0 || size as u64 > left {
                break;
            }
            block.fill(buffer, size)?;
            if let Some(option) = option(self.big, buffer.rest())
                && let Ok(value) = option.as_bytes()
            {
                each(option.code.0, value);
            }
            buffer.advance(size);
            left = left.saturating_sub(size as u64);
        }
        self.skip_rest(buffer, block, left.saturating_add(TRAILER as u64))
    }

    /// Skips the last `left` bytes of a block and checks its trailer.
    fn skip_rest(&self, buffer: &mut Buffer, block: Block, left: u64) -> Result<(), Error> {
        if !buffer.skip(left.saturating_sub(TRAILER as u64))? {
            return Err(block.cut(buffer));
        }
        block.fill(buffer, TRAILER)?;
        block.check_trailer(self.big, buffer.rest())?;
        buffer.advance(TRAILER);
        Ok(())
    }
}

/// Whether the section whose header begins with `head` is big-endian; `None` where its byte-order magic is wrong.
pub(super) fn is_big(head: &[u8]) -> Option<bool> {
    match word::<false>(head, 8) {
        BYTE_ORDER => Some(false),
        order => (order.swap_bytes() == BYTE_ORDER).then_some(true),
    }
}

/// A 64-bit integer; `None` where the option is not 8 bytes long.
pub(super) fn long(big: bool, value: &[u8]) -> Option<u64> {
    let field = value.try_into().ok()?;
    Some(if big { u64::from_be_bytes(field) } else { u64::from_le_bytes(field) })
}

/// The option at the start of `bytes`.
fn option(big: bool, bytes: &[u8]) -> Option<PcapNGOption<'_>> {
    let parsed = if big {
        parse_option_be::<(&[u8], ErrorKind)>(bytes)
    } else {
        parse_option_le::<(&[u8], ErrorKind)>(bytes)
    };
    parsed.ok().map(|(_, option)| option)
}
