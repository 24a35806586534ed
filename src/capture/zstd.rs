//! Frames of zstd (RFC 8878).
//!
//! The decoder keeps back a window's worth of what it has decoded until the frame is over. So a pipe
//! is read with that delay, and where a frame breaks it is closed with an empty last block, which
//! makes the decoder give all it has.

use super::input::{Fault, Input, MAX_WINDOW};
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{BufRead, Read};
use std::mem;

/// The longest header of a frame, with its magic number.
const HEAD: usize = 18;

/// An empty last block that is not compressed, and a checksum for frames that have one.
const CLOSE: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

pub(super) struct Zstd {
    decoder: FrameDecoder,
    pub(super) input: Input,
    /// The window is larger than what is kept.
    large: bool,
    given: u64,
    /// Why there are no further blocks, to be told when all has been handed out.
    fault: Option<Fault>,
}

impl Zstd {
    /// A frame begins at the front of `input`, which is taken unless this fails.
    pub(super) fn open(input: &mut Input) -> Result<Zstd, Fault> {
        let head = input.peek(HEAD)?;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        let mut begun = decoder.init(head);
        let large = matches!(begun, Err(FrameDecoderError::WindowSizeTooBig { .. }));
        if large {
            // The decoder keeps as much of it as was decoded.
            decoder.set_max_window_size(u64::MAX);
            begun = decoder.init(head);
        }
        let used = match begun {
            Ok(()) => decoder.bytes_read_from_source() as usize,
            Err(FrameDecoderError::DictNotProvided { dict_id }) => {
                return Err(Fault::Refused(format!(
                    "needs the dictionary {dict_id}, which an option -D must name"
                )));
            }
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
            self.fault = self.blocks().err();
            if self.fault.is_some() {
                // It cannot fail, and if it did there would be nothing to do about it.
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

    /// Decodes the next block; of a frame with too large a window all, if that is not too much.
    fn blocks(&mut self) -> Result<(), Fault> {
        let some = if self.large {
            BlockDecodingStrategy::UptoBytes(MAX_WINDOW as usize)
        } else {
            BlockDecodingStrategy::UptoBlocks(1)
        };
        match self.decoder.decode_blocks(&mut self.input, some) {
            Ok(over) if self.large && !over => Err(Fault::window()),
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::Damaged(format!("cannot be decoded ({error})"))),
        }
    }

    /// Everything has been handed out.
    fn end(&mut self) -> Result<usize, Fault> {
        let announced = self.decoder.content_size();
        if announced != 0 && announced != self.given {
            return Err(Fault::damaged("has another length than its header says"));
        }
        let sum = self.decoder.get_checksum_from_data();
        if sum.is_some() && sum != self.decoder.get_calculated_checksum() {
            return Err(Fault::damaged("has a wrong checksum"));
        }
        Ok(0)
    }
}
