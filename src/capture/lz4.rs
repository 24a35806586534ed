//! lz4 (LZ4 Frame Format 1.6.4): frames one behind the other, skippable and legacy ones among them.
//!
//! ```text
//!  04 22 4d 18 | flags | block size | [content size 8] | [dictionary 4] | check | block ... | 0 4 | [XXH32 4]
//!  block: not compressed 1 bit, size 31 bits (little-endian) | data | [XXH32 4]
//!
//!  02 21 4c 18 | block ...          legacy: blocks of 8 MiB, until the file or a magic number ends it
//!  block: size 4 | data
//! ```

use super::compressed::{Decode, Flow, Next, Out, Stop, is_skippable, next_frame};
use super::input::Input;
use lz4_flex::block::decompress_into_with_dict;
use std::hash::Hasher;
use std::mem;
use twox_hash::XxHash32;

pub(super) const MAGIC: &[u8] = b"\x04\x22\x4d\x18";
pub(super) const LEGACY: &[u8] = b"\x02\x21\x4c\x18";

/// Flags of a frame (Frame Descriptor, FLG byte).
const VERSION: u8 = 0b1100_0000;
const VERSION_1: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUM: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const RESERVED: u8 = 1 << 1;
const DICTIONARY: u8 = 1;

/// How far back a block reaches into those before it.
const HISTORY: usize = 64 * 1024;

/// What blocks of a legacy frame decompress to at the most.
const LEGACY_BLOCK: usize = 8 << 20;

/// The longest data of such a block: `LZ4_compressBound` of lz4.
const LEGACY_DATA: usize = LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16;

pub(super) fn decoder() -> Box<dyn Decode> {
    Box::new(Lz4 { frame: None, block: Vec::new(), data: Vec::new(), pos: 0, end: 0, stop: None })
}

struct Lz4 {
    frame: Option<Frame>,
    /// A block as it stands in the file.
    block: Vec<u8>,
    /// What the blocks before gave, up to [`HISTORY`], and what the block gave: `pos..end` is still
    /// to be handed out.
    data: Vec<u8>,
    pos: usize,
    end: usize,
    /// Why there are no further blocks, to be told when all has been handed out.
    stop: Option<Stop>,
}

struct Frame {
    flags: u8,
    legacy: bool,
    /// The most a block decompresses to.
    most: usize,
    announced: Option<u64>,
    given: u64,
    hash: XxHash32,
}

impl Decode for Lz4 {
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        if self.pos < self.end {
            let taken = out.take(self.data.get(self.pos..self.end).unwrap_or_default());
            self.pos = self.pos.saturating_add(taken);
            return Ok(Flow::More);
        }
        if let Some(stop) = self.stop.take() {
            return Err(stop);
        }
        match self.frame.take() {
            None => self.between(input),
            Some(mut frame) => {
                match if frame.legacy { self.legacy(input) } else { self.block(input, &mut frame) } {
                    Ok(true) => self.frame = Some(frame),
                    Ok(false) => frame.end(input)?,
                    Err(stop) => self.stop = Some(stop),
                }
                Ok(Flow::More)
            }
        }
    }
}

impl Lz4 {
    fn between(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        match next_frame(input, &[MAGIC, LEGACY], "lz4")? {
            None => {}
            Some(Next::End) => return Ok(Flow::End),
            Some(Next::Stream(0)) => self.frame = Some(Frame::open(input)?),
            Some(Next::Stream(_)) => {
                input.skip(LEGACY.len() as u64)?;
                let hash = XxHash32::with_seed(0);
                let flags = VERSION_1 | INDEPENDENT;
                self.frame =
                    Some(Frame { flags, legacy: true, most: LEGACY_BLOCK, announced: None, given: 0, hash });
            }
        }
        (self.pos, self.end) = (0, 0);
        Ok(Flow::More)
    }

    /// The next block; `false` when the end of the frame stands there.
    fn block(&mut self, input: &mut Input, frame: &mut Frame) -> Result<bool, Stop> {
        let head = u32::from_le_bytes(input.array()?);
        let (bare, size) = (head >> 31 != 0, (head & !(1 << 31)) as usize);
        if head == 0 {
            return Ok(false);
        }
        if size > frame.most {
            let most = frame.most;
            return Err(Stop::Damaged(format!("has a block of {size} bytes where {most} are the most")));
        }
        self.block.clear();
        let cut = input.gather(size, &mut self.block);
        if cut.is_ok() && frame.flags & BLOCK_CHECKSUM != 0 {
            let mut hash = XxHash32::with_seed(0);
            hash.write(&self.block);
            if input.array()? != (hash.finish() as u32).to_le_bytes() {
                return Err(Stop::damaged("has a block with a wrong checksum"));
            }
        }
        if frame.flags & INDEPENDENT != 0 {
            self.end = 0;
        }
        self.decode(frame.most, bare, cut.is_ok())?;
        let got = self.data.get(self.pos..self.end).unwrap_or_default();
        frame.given = frame.given.saturating_add(got.len() as u64);
        if frame.flags & CONTENT_CHECKSUM != 0 {
            frame.hash.write(got);
        }
        cut.map(|()| true)
    }

    /// The next block of a legacy frame; `false` when a magic number or the end stands there.
    fn legacy(&mut self, input: &mut Input) -> Result<bool, Stop> {
        let head = input.peek(4).map_err(Stop::Io)?;
        if head.is_empty() || head == MAGIC || head == LEGACY || is_skippable(head) {
            return Ok(false);
        }
        let size = u32::from_le_bytes(input.array()?) as usize;
        if size > LEGACY_DATA {
            return Err(Stop::Damaged(format!(
                "has a block of {size} bytes where {LEGACY_DATA} are the most"
            )));
        }
        self.block.clear();
        let cut = input.gather(size, &mut self.block);
        self.end = 0;
        self.decode(LEGACY_BLOCK, false, cut.is_ok())?;
        cut.map(|()| true)
    }

    /// Decodes [`block`](Self::block) behind what the blocks before it left in `data`, to at most
    /// `most` bytes. Of a block that is not complete, as much as there is.
    fn decode(&mut self, most: usize, bare: bool, complete: bool) -> Result<(), Stop> {
        let start = self.end.min(HISTORY);
        self.data.copy_within(self.end.saturating_sub(start)..self.end, 0);
        (self.pos, self.end) = (start, start);
        let room = HISTORY.saturating_add(most);
        if self.data.len() < room {
            // Only a frame with larger blocks than those before it comes here, so there is no history.
            self.data = vec![0; room];
        }
        let Some((history, space)) = self.data.split_at_mut_checked(start) else { return Ok(()) };
        let got = if bare {
            Out::new(space).take(&self.block)
        } else {
            let there = if complete { self.block.len() } else { whole_sequences(&self.block) };
            let block = self.block.get(..there).unwrap_or_default();
            let space = space.get_mut(..most).unwrap_or_default();
            match decompress_into_with_dict(block, space, history) {
                Ok(got) => got,
                Err(_) if !complete => 0,
                Err(_) => return Err(Stop::damaged("has a block that cannot be decoded")),
            }
        };
        self.end = start.saturating_add(got);
        Ok(())
    }
}

impl Frame {
    fn open(input: &mut Input) -> Result<Frame, Stop> {
        input.skip(MAGIC.len() as u64)?;
        let mut head = input.array::<2>()?.to_vec();
        let [flags, size] = [head.first(), head.last()].map(|byte| byte.copied().unwrap_or_default());
        if flags & VERSION != VERSION_1 {
            return Err(Stop::Refused(format!("is of version {} of lz4, and only 1 is read", flags >> 6)));
        }
        let optional = [(CONTENT_SIZE, 8), (DICTIONARY, 4)];
        for (_, length) in optional.iter().filter(|(flag, _)| flags & flag != 0) {
            input.gather(*length, &mut head)?;
        }
        let mut hash = XxHash32::with_seed(0);
        hash.write(&head);
        if input.byte()? != (hash.finish() >> 8) as u8 {
            return Err(Stop::damaged("has a header with a wrong checksum"));
        }
        let most = match size & 0b0111_0000 {
            0x40 => 64 << 10,
            0x50 => 256 << 10,
            0x60 => 1 << 20,
            0x70 => 4 << 20,
            _ => return Err(Stop::damaged("has blocks of a size that lz4 does not have")),
        };
        if flags & RESERVED != 0 || size & 0b1000_1111 != 0 {
            return Err(Stop::damaged("sets bits in its header that lz4 does not have"));
        }
        if flags & DICTIONARY != 0 {
            return Err(Stop::Refused("needs a dictionary, which an option -D must name".into()));
        }
        let announced =
            head.get(2..).and_then(|rest| rest.first_chunk()).map(|&size| u64::from_le_bytes(size));
        Ok(Frame { flags, legacy: false, most, announced, given: 0, hash: XxHash32::with_seed(0) })
    }

    /// Behind the mark of the end.
    fn end(&mut self, input: &mut Input) -> Result<(), Stop> {
        if self.announced.is_some_and(|announced| announced != self.given) {
            return Err(Stop::damaged("has another length than its header says"));
        }
        if self.flags & CONTENT_CHECKSUM != 0 {
            let hash = mem::replace(&mut self.hash, XxHash32::with_seed(0));
            if input.array()? != (hash.finish() as u32).to_le_bytes() {
                return Err(Stop::damaged("has a wrong checksum"));
            }
        }
        Ok(())
    }
}

/// How much of a block that is cut can be decoded: a block may end behind literals, so up to the last
/// ones that are complete (LZ4 Block Format, sequences: token, literals, offset 2, length).
fn whole_sequences(block: &[u8]) -> usize {
    let (mut at, mut whole) = (0usize, 0);
    while let Some(&token) = block.get(at) {
        let Some(literals) = length(block, at.saturating_add(1), token >> 4) else { break };
        let behind = literals.0.saturating_add(literals.1);
        if behind > block.len() {
            break;
        }
        whole = behind;
        let Some((next, _)) = length(block, behind.saturating_add(2), token & 15) else { break };
        at = next;
    }
    whole
}

/// A length: four bits, and when they are all set as many bytes as are 255, and one more. Gives where
/// it ends, and its value.
fn length(block: &[u8], at: usize, bits: u8) -> Option<(usize, usize)> {
    if bits < 15 {
        return Some((at, bits.into()));
    }
    let full = block.get(at..)?.iter().take_while(|&&byte| byte == 255).count();
    let last = at.saturating_add(full);
    let value = full.saturating_mul(255).saturating_add(15).saturating_add((*block.get(last)?).into());
    Some((last.saturating_add(1), value))
}
