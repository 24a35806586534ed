//! Streams of xz, through the decoder of lzma-rust2 that is given the bytes: the readers of that crate need whole
//! chunks, of up to 2 MiB decoded, and lose them where the stream is cut. The decoder loses only what the last 20 bytes
//! before a cut hold.
//!
//! ```text
//! stream  magic 6 │ 0 │ check │ CRC 4 │ blocks │ 0, index, footer
//! block   length of the header / 4 - 1, filters, CRC │ chunks │ 0 │ padding to 4 │ check
//! chunk   kind: 1, 2        │                 length - 1 u16 │                               data
//!         kind: 80 and more │ decoded u16   │ length - 1 u16 │ properties, from kind c0 on │ data
//! ```

use super::input::{Fault, Input, MAX_WINDOW};
use lzma_rust2::{Action, Status, XzStream};
use std::io::{BufRead, ErrorKind};
use std::mem;

/// Upper bound, in KiB, of the memory that the decoder needs for a dictionary of the largest size that is kept.
const LIMIT: u32 = ((MAX_WINDOW >> 10) + (1 << 10)) as u32;

/// The most blocks of a stream. The decoder keeps 16 bytes of each, to compare them with the index.
pub const MAX_BLOCKS: u32 = 1 << 18;

pub(super) struct Xz {
    decoder: XzStream,
    pub(super) input: Input,
    blocks: Blocks,
    /// The number of bytes that may still be decoded.
    left: u64,
    /// Why there are no further bytes; reported once everything decoded has been handed out.
    fault: Option<Fault>,
}

impl Xz {
    /// Takes the input, with a stream at its front.
    pub(super) fn open(input: &mut Input) -> Xz {
        let decoder = XzStream::new_mem_limit(false, LIMIT);
        Xz { decoder, input: mem::take(input), blocks: Blocks::BEGIN, left: u64::MAX, fault: None }
    }

    pub(super) fn read(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        let most = usize::try_from(self.left).map_or(space.len(), |left| left.min(space.len()));
        let space = space.get_mut(..most).filter(|space| !space.is_empty()).ok_or_else(Fault::window)?;
        // The first round gets no bytes: everything decoded is handed out before more is read.
        let mut read_more = false;
        while self.fault.is_none() {
            let bytes = if read_more { self.input.fill_buf()? } else { &[] };
            let action = if read_more && bytes.is_empty() { Action::Finish } else { Action::Run };
            let (used, given) = (self.decoder.total_in(), self.decoder.total_out());
            let result = self.decoder.process(bytes, space, action);
            let used = self.decoder.total_in().saturating_sub(used) as usize;
            let got = self.decoder.total_out().saturating_sub(given);
            self.blocks.scan(bytes.get(..used).unwrap_or_default());
            self.input.consume(used);
            self.left = self.left.saturating_sub(got);
            let ended = result.as_ref().is_ok_and(|status| status.status == Status::StreamEnd);
            match result {
                // The decoder keeps no more of a dictionary than it has decoded.
                Err(error) if error.kind() == ErrorKind::OutOfMemory && self.decoder.mem_limit() == LIMIT => {
                    self.decoder.set_mem_limit(u32::MAX);
                    self.left = MAX_WINDOW;
                }
                Err(error) => self.fault = Some(error.into()),
                Ok(_) if self.blocks.count > MAX_BLOCKS => {
                    self.fault = Some(Fault::Refused(format!("has more than {MAX_BLOCKS} blocks")));
                }
                Ok(_) => {}
            }
            if got > 0 || ended {
                return Ok(got as usize);
            }
            read_more = true;
        }
        self.fault.take().map_or(Ok(0), Err)
    }
}

/// Counts the blocks of a stream from its bytes; the decoder does not report them.
struct Blocks {
    /// The next byte that matters, and how many bytes precede it.
    next: Next,
    skip: u64,
    /// Bytes of the stream so far.
    passed: u64,
    /// Length of the check after each block.
    check: u64,
    count: u32,
}

#[derive(Clone, Copy)]
enum Next {
    Check,
    Block,
    Chunk,
    /// The first byte of the length of a chunk, and the number of bytes between the length and the data.
    Length(u64),
    /// The second byte of that length, the number of bytes between, and the first byte.
    Lower(u64, u8),
    Index,
}

impl Blocks {
    const BEGIN: Blocks = Blocks { next: Next::Check, skip: 7, passed: 0, check: 0, count: 0 };

    fn scan(&mut self, mut bytes: &[u8]) {
        loop {
            let skipped = self.skip.min(bytes.len() as u64);
            bytes = bytes.get(skipped as usize..).unwrap_or_default();
            self.skip = self.skip.saturating_sub(skipped);
            self.passed = self.passed.saturating_add(skipped);
            let Some((&byte, rest)) = bytes.split_first() else { return };
            self.passed = self.passed.saturating_add(1);
            bytes = rest;
            (self.next, self.skip) = match self.next {
                Next::Check => {
                    let kind = usize::from(byte & 15).div_ceil(3);
                    self.check = [0, 4, 8, 16, 32, 64].get(kind).copied().unwrap_or_default();
                    (Next::Block, 4)
                }
                Next::Block if byte > 0 => {
                    self.count = self.count.saturating_add(1);
                    (Next::Chunk, u64::from(byte).saturating_mul(4).saturating_add(3))
                }
                Next::Block | Next::Index => (Next::Index, u64::MAX),
                Next::Chunk => match byte {
                    0 => (Next::Block, (self.passed.wrapping_neg() & 3).saturating_add(self.check)),
                    1..0x80 => (Next::Length(0), 0),
                    _ => (Next::Length(u64::from(byte >= 0xc0)), 2),
                },
                Next::Length(between) => (Next::Lower(between, byte), 0),
                Next::Lower(between, upper) => {
                    let length = u64::from(u16::from_be_bytes([upper, byte]));
                    (Next::Chunk, length.saturating_add(1).saturating_add(between))
                }
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use lzma_rust2::{CheckType, XzOptions, XzWriter};
    use std::io::Write;
    use std::num::NonZeroU64;

    #[test]
    fn blocks_are_counted() {
        let data: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
        for check in [CheckType::None, CheckType::Crc32, CheckType::Crc64, CheckType::Sha256] {
            let mut options = XzOptions::with_preset(0);
            options.set_check_sum_type(check);
            options.set_block_size(NonZeroU64::new(1 << 18));
            let mut writer = XzWriter::new(vec![], options).unwrap();
            writer.write_all(&data).unwrap();
            let stream = writer.finish().unwrap();
            // The index is as long as the footer says, and begins with a 0 and the number.
            let footer = stream.last_chunk::<12>().unwrap();
            let words = u32::from_le_bytes(*footer[4..].first_chunk().unwrap()) as usize + 1;
            let number = stream[stream.len() - 12 - words * 4 + 1];
            assert_eq!(number, 4);
            for piece in [1, 3, 1_000, stream.len()] {
                let mut blocks = Blocks::BEGIN;
                stream.chunks(piece).for_each(|bytes| blocks.scan(bytes));
                assert!(matches!(blocks.next, Next::Index), "{check:?}");
                assert_eq!(blocks.count, u32::from(number), "{check:?} in pieces of {piece}");
            }
        }
    }
}
