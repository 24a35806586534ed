//! xz (The .xz File Format 1.2.1): streams of blocks, one behind the other.
//!
//! ```text
//!  fd "7zXZ" 0 | flags 2 | crc 4                                                           stream header
//!  size | flags | [packed] | [unpacked] | filters | zeros | crc 4 || LZMA2 | zeros | check     each block
//!  0 | count | (unpadded, unpacked) ... | zeros | crc 4                                            index
//!  crc 4 | index size 4 | flags 2 | "YZ"                                                   stream footer
//!  0 0 0 0 ...                                                                            stream padding
//! ```
//!
//! The index is held against the blocks by their number and a checksum, so that their number does not
//! cost memory.

use super::compressed::{Decode, Flow, MAX_WINDOW, Next, Out, Stop, next_of};
use super::input::Input;
use super::xz_check::Check;
use flate2::Crc;
use lzma_rust2::{Action, Lzma2Stream, Status};

pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The only filter that is read (5.3.1).
const LZMA2: u64 = 0x21;

/// Bytes given to the decoder at once: where they are damaged, what they gave is lost.
const PART: usize = 4096;

pub(super) fn decoder() -> Box<dyn Decode> {
    Box::new(Xz { at: At::Header, check: 0, blocks: Records::default() })
}

enum At {
    Header,
    Block,
    Data(Box<Block>),
    Behind,
}

struct Xz {
    at: At,
    /// Number of the check that the stream uses (2.1.1.2).
    check: u8,
    blocks: Records,
}

struct Block {
    lzma: Lzma2Stream,
    check: Check,
    /// Length of its header.
    head: u64,
    /// What the header says of its data, compressed and not.
    packed: Option<u64>,
    unpacked: Option<u64>,
    /// The last step wrote all there was room for, so there may be more without further input.
    full: bool,
}

/// The blocks of a stream as its index lists them.
#[derive(Default)]
struct Records {
    count: u64,
    sum: Crc,
}

impl Records {
    fn add(&mut self, unpadded: u64, unpacked: u64) {
        self.count = self.count.saturating_add(1);
        self.sum.update(&unpadded.to_le_bytes());
        self.sum.update(&unpacked.to_le_bytes());
    }
}

impl Decode for Xz {
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        match &mut self.at {
            At::Header => self.header(input)?,
            At::Block => self.block(input)?,
            At::Data(block) => {
                if block.step(input, out)? {
                    let (unpadded, unpacked) = block.end(input)?;
                    self.blocks.add(unpadded, unpacked);
                    self.at = At::Block;
                }
            }
            At::Behind => return self.behind(input),
        }
        Ok(Flow::More)
    }
}

impl Xz {
    fn header(&mut self, input: &mut Input) -> Result<(), Stop> {
        if input.array::<6>()? != *MAGIC {
            return Err(Stop::damaged("begins with something else than xz does"));
        }
        let flags = input.array::<2>()?;
        let mut sum = Crc::new();
        sum.update(&flags);
        if input.array()? != sum.sum().to_le_bytes() {
            return Err(Stop::damaged("has a header with a wrong checksum"));
        }
        let [0, check @ 0..16] = flags else {
            return Err(Stop::damaged("sets flags in its header that xz does not have"));
        };
        self.check = check;
        self.blocks = Records::default();
        self.at = At::Block;
        Ok(())
    }

    /// A header of a block, or the index and what follows it.
    fn block(&mut self, input: &mut Input) -> Result<(), Stop> {
        let size = input.byte()?;
        if size == 0 {
            let length = self.index(input)?;
            self.footer(input, length)?;
            self.at = At::Behind;
        } else {
            self.at = At::Data(Box::new(Block::open(input, size, self.check)?));
        }
        Ok(())
    }

    /// Gives the length of the index, in 32 bits.
    fn index(&mut self, input: &mut Input) -> Result<u32, Stop> {
        let mut sum = Crc::new();
        sum.update(&[0]);
        let count = number(input, &mut sum)?;
        if count != self.blocks.count {
            return Err(Stop::damaged("has an index with another number of blocks"));
        }
        let mut listed = Records::default();
        while listed.count < count {
            let unpadded = number(input, &mut sum)?;
            listed.add(unpadded, number(input, &mut sum)?);
        }
        if listed.sum.sum() != self.blocks.sum.sum() {
            return Err(Stop::damaged("has an index that does not fit its blocks"));
        }
        while !sum.amount().is_multiple_of(4) {
            if input.byte()? != 0 {
                return Err(Stop::damaged("has an index that is not filled up with zeros"));
            }
            sum.update(&[0]);
        }
        if input.array()? != sum.sum().to_le_bytes() {
            return Err(Stop::damaged("has an index with a wrong checksum"));
        }
        Ok(sum.amount().wrapping_add(4))
    }

    fn footer(&self, input: &mut Input, index: u32) -> Result<(), Stop> {
        let [a, b, c, d, rest @ ..] = input.array::<12>()?;
        let [e, f, g, h, flags, check, magic @ ..] = rest;
        let mut sum = Crc::new();
        sum.update(&[e, f, g, h, flags, check]);
        let announced = u32::from_le_bytes([e, f, g, h]).wrapping_add(1).wrapping_mul(4);
        let sound = u32::from_le_bytes([a, b, c, d]) == sum.sum() && magic == *b"YZ";
        if !sound || [flags, check] != [0, self.check] || announced != index {
            return Err(Stop::damaged("has a damaged footer"));
        }
        Ok(())
    }

    fn behind(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        match input.peek(4).map_err(Stop::Io)? {
            [0, ..] => {
                if input.array()? != [0; 4] {
                    return Err(Stop::damaged("is followed by zeros and then by something else"));
                }
            }
            _ => match next_of(input, &[MAGIC], "xz")? {
                Next::End => return Ok(Flow::End),
                Next::Stream(_) => self.at = At::Header,
            },
        }
        Ok(Flow::More)
    }
}

impl Block {
    /// `size` is the first byte of the header: its length in words, without the checksum.
    fn open(input: &mut Input, size: u8, check: u8) -> Result<Block, Stop> {
        let head = usize::from(size).saturating_mul(4);
        let mut bytes = vec![size];
        input.gather(head.saturating_sub(1), &mut bytes)?;
        let mut sum = Crc::new();
        sum.update(&bytes);
        if input.array()? != sum.sum().to_le_bytes() {
            return Err(Stop::damaged("has a block header with a wrong checksum"));
        }
        let mut rest = Input::whole(bytes);
        let short = |_| Stop::damaged("has a block header that is too short for what it announces");
        let [_, flags] = rest.array().map_err(short)?;
        if flags & 0b0011_1100 != 0 {
            return Err(Stop::damaged("sets flags in a block header that xz does not have"));
        }
        let mut next = || number(&mut rest, &mut Crc::new()).map_err(short);
        let packed = if flags & 0x40 != 0 { Some(next()?) } else { None };
        let unpacked = if flags & 0x80 != 0 { Some(next()?) } else { None };
        let (filter, length) = (next()?, next()?);
        if flags & 3 != 0 || filter != LZMA2 || length != 1 {
            return Err(Stop::Refused("uses filters before LZMA2, which are not read".into()));
        }
        let size = dictionary(rest.byte().map_err(short)?)?;
        if rest.buffered().iter().any(|&byte| byte != 0) {
            return Err(Stop::damaged("has a block header that is not filled up with zeros"));
        }
        let lzma = Lzma2Stream::new(size);
        let head = (head as u64).saturating_add(4);
        Ok(Block { lzma, check: Check::new(check), head, packed, unpacked, full: false })
    }

    /// Says whether the data is complete.
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<bool, Stop> {
        let bytes = if self.full { input.buffered() } else { input.bytes()? };
        let action = if bytes.is_empty() && !self.full { Action::Finish } else { Action::Run };
        let bytes = bytes.get(..PART).unwrap_or(bytes);
        let before = (self.lzma.total_in(), self.lzma.total_out());
        let result = self.lzma.process(bytes, out.free(), action);
        let used = self.lzma.total_in().saturating_sub(before.0) as usize;
        let got = self.lzma.total_out().saturating_sub(before.1) as usize;
        let starved = bytes.is_empty();
        input.consume(used);
        self.check.update(out.free().get(..got).unwrap_or_default());
        self.full = got == out.free().len();
        out.add(got);
        match result.map(|result| result.status) {
            Ok(Status::StreamEnd) => Ok(true),
            Ok(Status::Ok) if used != 0 || got != 0 || (starved && action == Action::Run) => Ok(false),
            Ok(Status::Ok) | Err(_) if action == Action::Finish => Err(Stop::Cut),
            Ok(Status::Ok) | Err(_) => Err(Stop::damaged("cannot be decoded")),
        }
    }

    /// Padding and check behind the data; gives what the index says of the block.
    fn end(&mut self, input: &mut Input) -> Result<(u64, u64), Stop> {
        let (packed, unpacked) = (self.lzma.total_in(), self.lzma.total_out());
        let differs = |announced: Option<u64>, is| announced.is_some_and(|announced| announced != is);
        if differs(self.packed, packed) || differs(self.unpacked, unpacked) {
            return Err(Stop::damaged("has a block of another length than its header says"));
        }
        for _ in packed..packed.next_multiple_of(4) {
            if input.byte()? != 0 {
                return Err(Stop::damaged("has a block that is not filled up with zeros"));
            }
        }
        let mut check = Vec::new();
        input.gather(self.check.size(), &mut check)?;
        if !self.check.is(&check) {
            return Err(Stop::damaged("has a block with a wrong checksum"));
        }
        let unpadded = self.head.saturating_add(packed).saturating_add(check.len() as u64);
        Ok((unpadded, unpacked))
    }
}

/// Size of the dictionary in bytes (5.3.1): 4 KiB to 4 GiB.
fn dictionary(byte: u8) -> Result<u32, Stop> {
    let bytes = match byte {
        0..40 => u64::from(2 | byte & 1) << (byte >> 1).saturating_add(11),
        40 => u64::from(u32::MAX),
        _ => return Err(Stop::damaged("has a dictionary of a size that xz does not have")),
    };
    if bytes > MAX_WINDOW {
        return Err(Stop::window("dictionary", bytes));
    }
    Ok(bytes as u32)
}

/// An integer of up to nine bytes, seven bits each, the lowest first (1.2).
fn number(input: &mut Input, sum: &mut Crc) -> Result<u64, Stop> {
    let mut value = 0;
    for place in 0..9u32 {
        let byte = input.byte()?;
        sum.update(&[byte]);
        value |= u64::from(byte & 0x7f) << place.saturating_mul(7);
        if byte & 0x80 == 0 {
            return if byte == 0 && place > 0 { break } else { Ok(value) };
        }
    }
    Err(Stop::damaged("has a number of too many bytes"))
}
