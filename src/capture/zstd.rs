//! zstd (RFC 8878): frames one behind the other, skippable ones among them.
//!
//! ```text
//!  28 b5 2f fd | descriptor | [window] | [dictionary 0..4] | [content size 0..8] | block ... | [XXH64 4]
//!  block: last 1 bit, type 2 bits, size 21 bits (little-endian) | data
//! ```
//!
//! The decoder keeps back a window's worth of what it has decoded until the frame is over. So a pipe
//! is read with that delay, and where a frame breaks it is closed with an empty last block, which
//! makes the decoder give all it has.

use super::compressed::{Decode, Flow, MAX_WINDOW, Next, Out, Stop, next_frame};
use super::input::Input;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

pub(super) const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// Bits of the descriptor (RFC 8878, 3.1.1.1.1).
const SINGLE_SEGMENT: u8 = 1 << 5;
const RESERVED: u8 = 1 << 3;
const CHECKSUM: u8 = 1 << 2;

/// Types of a block (RFC 8878, 3.1.1.2.2).
const RAW: u32 = 0;
const RUN: u32 = 1;

/// The largest block (RFC 8878, 3.1.1.2.4).
const MAX_BLOCK: usize = 128 * 1024;

pub(super) fn decoder() -> Box<dyn Decode> {
    Box::new(Zstd { frame: None, block: Vec::new() })
}

struct Zstd {
    frame: Option<Frame>,
    block: Vec<u8>,
}

struct Frame {
    decoder: FrameDecoder,
    checksum: bool,
    /// Length of the whole content, if the header says so, and of what was handed out.
    announced: Option<u64>,
    given: u64,
    /// The last block has been decoded.
    last: bool,
    /// Why there are no further blocks, to be told when all has been handed out.
    stop: Option<Stop>,
}

impl Decode for Zstd {
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        let Some(frame) = &mut self.frame else { return self.between(input) };
        let got = frame.decoder.read(out.free()).map_err(Stop::Io)?;
        out.add(got);
        frame.given = frame.given.saturating_add(got as u64);
        if got == 0 {
            match frame.stop.take() {
                Some(stop) => return Err(stop),
                None if !frame.last => frame.block(input, &mut self.block),
                None => {
                    frame.end(input)?;
                    self.frame = None;
                }
            }
        }
        Ok(Flow::More)
    }
}

impl Zstd {
    fn between(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        match next_frame(input, &[MAGIC], "zstd")? {
            None => {}
            Some(Next::End) => return Ok(Flow::End),
            Some(Next::Stream(_)) => self.frame = Some(Frame::open(input)?),
        }
        Ok(Flow::More)
    }
}

impl Frame {
    fn open(input: &mut Input) -> Result<Frame, Stop> {
        input.skip(MAGIC.len() as u64)?;
        let descriptor = input.byte()?;
        if descriptor & RESERVED != 0 {
            return Err(Stop::damaged("sets a bit in its header that zstd does not have"));
        }
        // The decoder is not told of the checksum: it would want to read it along with the last block.
        let mut head = [MAGIC, &[descriptor & !CHECKSUM]].concat();
        let window = if descriptor & SINGLE_SEGMENT == 0 {
            let byte = input.byte()?;
            head.push(byte);
            Some(window(byte))
        } else {
            None
        };
        let size_of_id = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or_default();
        let dictionary = number(input, size_of_id, &mut head)?;
        if dictionary != 0 {
            return Err(Stop::Refused(format!(
                "needs the dictionary {dictionary}, which an option -D must name"
            )));
        }
        let announced = match (descriptor >> 6, window) {
            (0, Some(_)) => None,
            (0, None) => Some(number(input, 1, &mut head)?),
            (1, _) => Some(number(input, 2, &mut head)?.saturating_add(256)),
            (2, _) => Some(number(input, 4, &mut head)?),
            _ => Some(number(input, 8, &mut head)?),
        };
        let window = window.or(announced).unwrap_or_default();
        if window > MAX_WINDOW {
            return Err(Stop::window("window", window));
        }
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        decoder
            .reset(head.as_slice())
            .map_err(|error| Stop::Damaged(format!("has a bad header ({error})")))?;
        let checksum = descriptor & CHECKSUM != 0;
        Ok(Frame { decoder, checksum, announced, given: 0, last: false, stop: None })
    }

    /// Decodes the next block, or closes the frame where that cannot be done.
    fn block(&mut self, input: &mut Input, block: &mut Vec<u8>) {
        block.clear();
        self.stop = self.next_block(input, block).err();
        if self.stop.is_some() {
            // An empty last block. It cannot fail, and if it did there would be nothing to do about it.
            let _ = self.decode(&[1, 0, 0]);
        }
    }

    fn next_block(&mut self, input: &mut Input, block: &mut Vec<u8>) -> Result<(), Stop> {
        let [a, b, c] = input.array::<3>()?;
        let head = u32::from_le_bytes([a, b, c, 0]);
        let (kind, size) = (head >> 1 & 3, (head >> 3) as usize);
        if size > MAX_BLOCK {
            return Err(Stop::Damaged(format!("has a block of {size} bytes, and 128 KiB are the most")));
        }
        block.extend_from_slice(&[a, b, c]);
        if let Err(stop) = input.gather(if kind == RUN { 1 } else { size }, block) {
            // What has arrived of bytes that are not compressed is a block of its own.
            if let (RAW, Some((head, data))) = (kind, block.split_first_chunk_mut::<3>()) {
                let [a, b, c, _] = ((data.len() as u32) << 3).to_le_bytes();
                *head = [a, b, c];
                self.decode(block)?;
            }
            return Err(stop);
        }
        self.decode(block)?;
        self.last = a & 1 != 0;
        Ok(())
    }

    fn decode(&mut self, block: &[u8]) -> Result<(), Stop> {
        match self.decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(Stop::damaged("cannot be decoded")),
        }
    }

    /// Everything has been handed out.
    fn end(&mut self, input: &mut Input) -> Result<(), Stop> {
        if self.announced.is_some_and(|announced| announced != self.given) {
            return Err(Stop::damaged("has another length than its header says"));
        }
        if self.checksum && Some(u32::from_le_bytes(input.array()?)) != self.decoder.get_calculated_checksum()
        {
            return Err(Stop::damaged("has a wrong checksum"));
        }
        Ok(())
    }
}

/// Size of the window in bytes (RFC 8878, 3.1.1.1.2): 1 KiB to 3.75 TiB.
fn window(byte: u8) -> u64 {
    let base = 1u64 << (byte >> 3).saturating_add(10);
    base.saturating_add((base >> 3).saturating_mul((byte & 7).into()))
}

/// An integer of `size` bytes, at most 8, little-endian, which is copied to `head`.
fn number(input: &mut Input, size: usize, head: &mut Vec<u8>) -> Result<u64, Stop> {
    let from = head.len();
    input.gather(size, head)?;
    Ok(head.iter().skip(from).rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}
