//! The two formats whose streams are decoded block by block here: frames of zstd, and the legacy format of lz4.
//!
//! zstd (RFC 8878): the decoder holds back a window of decoded bytes until the frame has ended, so a pipe is read with that delay.
//! Where a frame is cut or damaged, it is closed with an empty last block, which makes the decoder release everything.
//!
//! The legacy format of lz4, `lz4 -l`: blocks up to the end of the file or the magic number of a frame. The frame
//! reader of lz4_flex is of no use here: it takes such a magic number for a block length, and refuses a block that
//! compression made larger.
//!
//! ```text
//!  02 21 4c 18 | block ...        block: size 4 (little-endian) | data, which decompresses to 8 MiB at the most
//! ```

use super::input::{Fault, Input, MAX_WINDOW, is_skippable};
use lz4_flex::block::decompress_into;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{BufRead, Read};
use std::mem;

/// The longest frame header in bytes, magic number included.
const HEAD: usize = 18;

/// An empty last block that is not compressed, and four bytes of checksum for frames that have one.
const CLOSE: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

pub(super) struct Zstd {
    decoder: FrameDecoder,
    pub(super) input: Input,
    /// The window is larger than the limit.
    large: bool,
    /// Bytes handed out so far.
    given: u64,
    /// Why there are no further blocks; reported once everything decoded has been handed out.
    fault: Option<Fault>,
}

impl Zstd {
    /// Opens the frame at the front of `input`; takes the input unless it fails.
    pub(super) fn open(input: &mut Input) -> Result<Zstd, Fault> {
        let head = input.peek(HEAD)?;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        let mut opened = decoder.init(head);
        let large = matches!(opened, Err(FrameDecoderError::WindowSizeTooBig { .. }));
        if large {
            // The decoder keeps no more of the window than it has decoded. It would truncate a number beyond `usize`.
            decoder.set_max_window_size(usize::MAX as u64);
            opened = decoder.init(head);
        }
        let used = match opened {
            Ok(()) => decoder.bytes_read_from_source() as usize,
            Err(FrameDecoderError::DictNotProvided { dict_id }) => {
                return Err(Fault::Refused(format!(
                    "needs the dictionary {dict_id}, which an option -D must name"
                )));
            }
            Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(Fault::window()),
            Err(_) if head.len() < HEAD => {
                input.consume(HEAD);
                return Err(Fault::Cut);
            }
            Err(error) => return Err(Fault::Damaged(format!("has a bad header ({error})"))),
        };
        input.consume(used);
        Ok(Zstd { decoder, input: mem::take(input), large, given: 0, fault: None })
    }

    pub(super) fn read(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() && self.fault.is_none() {
            self.fault = self.decode_next().err();
            if self.fault.is_some() {
                // It cannot fail, and a failure could not be handled.
                let _ = self.decoder.decode_blocks(CLOSE, BlockDecodingStrategy::UptoBlocks(1));
            }
        }
        let got = self.decoder.read(space)?;
        self.given = self.given.saturating_add(got as u64);
        if got > 0 {
            return Ok(got);
        }
        self.fault.take().map_or_else(|| self.end(), Err)
    }

    /// Decodes the next block. Where the window is too large, decodes the whole frame if that stays within the limit.
    fn decode_next(&mut self) -> Result<(), Fault> {
        let strategy = if self.large {
            BlockDecodingStrategy::UptoBytes(MAX_WINDOW as usize)
        } else {
            BlockDecodingStrategy::UptoBlocks(1)
        };
        match self.decoder.decode_blocks(&mut self.input, strategy) {
            Ok(over) if self.large && !over => Err(Fault::window()),
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::Damaged(format!("cannot be decoded ({error})"))),
        }
    }

    /// Checks length and checksum once everything has been handed out.
    fn end(&mut self) -> Result<usize, Fault> {
        let announced = self.decoder.content_size();
        if announced != 0 && announced != self.given {
            return Err(Fault::Damaged("has another length than its header says".into()));
        }
        let sum = self.decoder.get_checksum_from_data();
        if sum.is_some() && sum != self.decoder.get_calculated_checksum() {
            return Err(Fault::Damaged("has a wrong checksum".into()));
        }
        Ok(0)
    }
}

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
        let next_frame = head.starts_with(FRAME) || head.starts_with(Legacy::MAGIC) || is_skippable(head);
        if head.is_empty() || next_frame {
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
            .map_err(|_| Fault::Damaged("has a block that cannot be decoded".into()))?;
        self.pos = 0;
        Ok(true)
    }
}
