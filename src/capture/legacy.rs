//! The legacy format of lz4, `lz4 -l`: blocks up to the end of the file or the magic number of a frame. The frame
//! reader of lz4_flex is of no use here: it takes such a magic number for a block length, and refuses a block that
//! compression made larger.
//!
//! ```text
//!  02 21 4c 18 | block ...        block: size 4 (little-endian) | data, which decompresses to 8 MiB at the most
//! ```

use super::input::{Fault, Input, is_skippable};
use lz4_flex::block::decompress_into;
use std::io::{BufRead, Read};
use std::mem;

/// Magic number of an lz4 frame, the format that replaced the legacy one.
pub(super) const FRAME: &[u8] = b"\x04\x22\x4d\x18";

/// The most bytes that a block decompresses to.
const LEGACY_BLOCK: usize = 8 << 20;

/// The longest data of a block: `LZ4_compressBound` of lz4.
const LEGACY_DATA: usize = LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16;

pub(super) struct Legacy {
    pub(super) input: Input,
    /// The compressed block, and its decompressed bytes in `data`: `pos..end` is still to be handed out.
    block: Vec<u8>,
    data: Vec<u8>,
    pos: usize,
    end: usize,
}

impl Legacy {
    pub(super) const MAGIC: &[u8] = b"\x02\x21\x4c\x18";

    /// Opens a stream; its magic number is at the front of `input`.
    pub(super) fn open(input: &mut Input) -> Legacy {
        input.consume(Legacy::MAGIC.len());
        Legacy { input: mem::take(input), block: vec![], data: vec![], pos: 0, end: 0 }
    }

    pub(super) fn read(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        while self.pos >= self.end {
            if !self.block()? {
                return Ok(0);
            }
        }
        let got = self.data.get(self.pos..self.end).unwrap_or_default().read(space)?;
        self.pos = self.pos.saturating_add(got);
        Ok(got)
    }

    /// Decodes the next block; `false` when there is none.
    fn block(&mut self) -> Result<bool, Fault> {
        let head = self.input.peek(4)?;
        let other = head.starts_with(FRAME) || head.starts_with(Legacy::MAGIC) || is_skippable(head);
        if head.is_empty() || other {
            return Ok(false);
        }
        let size = u32::from_le_bytes(self.input.array()?) as usize;
        if size > LEGACY_DATA {
            return Err(Fault::Damaged(format!(
                "has a block of {size} bytes where {LEGACY_DATA} are the most"
            )));
        }
        self.block.clear();
        (&mut self.input).take(size as u64).read_to_end(&mut self.block)?;
        if self.block.len() < size {
            return Err(Fault::Cut);
        }
        if self.data.is_empty() {
            self.data = vec![0; LEGACY_BLOCK];
        }
        self.end = decompress_into(&self.block, &mut self.data)
            .map_err(|_| Fault::damaged("has a block that cannot be decoded"))?;
        self.pos = 0;
        Ok(true)
    }
}
