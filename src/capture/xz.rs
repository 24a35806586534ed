//! Streams of xz, through the decoder of lzma-rust2 that is handed the bytes: its readers want whole chunks, of up to
//! 2 MiB decoded, and lose them where the stream is cut.

use super::input::{Fault, Input, MAX_WINDOW};
use lzma_rust2::{Action, Status, XzStream};
use std::io::{BufRead, ErrorKind};
use std::mem;

/// Upper bound, in KiB, of the memory that the decoder needs for a dictionary of the largest size that is kept.
const LIMIT: u32 = ((MAX_WINDOW >> 10) + (1 << 10)) as u32;

pub(super) struct Xz {
    decoder: XzStream,
    pub(super) input: Input,
    /// The number of bytes that may still be decoded.
    left: u64,
    /// Why there are no further bytes; reported once everything decoded has been handed out.
    fault: Option<Fault>,
}

impl Xz {
    /// Takes the input, with a stream at its front.
    pub(super) fn open(input: &mut Input) -> Xz {
        let decoder = XzStream::new_mem_limit(false, LIMIT);
        Xz { decoder, input: mem::take(input), left: u64::MAX, fault: None }
    }

    pub(super) fn read(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        let most = usize::try_from(self.left).map_or(space.len(), |left| left.min(space.len()));
        let space = space.get_mut(..most).filter(|space| !space.is_empty()).ok_or_else(Fault::window)?;
        // First without further bytes: what is decoded is handed out before more is read.
        let mut more = false;
        while self.fault.is_none() {
            let bytes = if more { self.input.fill_buf()? } else { &[] };
            let action = if more && bytes.is_empty() { Action::Finish } else { Action::Run };
            let (used, given) = (self.decoder.total_in(), self.decoder.total_out());
            let done = self.decoder.process(bytes, space, action);
            self.input.consume((self.decoder.total_in().saturating_sub(used)) as usize);
            let got = self.decoder.total_out().saturating_sub(given);
            self.left = self.left.saturating_sub(got);
            let over = match done {
                Ok(done) => done.status == Status::StreamEnd,
                // The decoder keeps no more of a dictionary than it has decoded.
                Err(error) if error.kind() == ErrorKind::OutOfMemory && self.decoder.mem_limit() == LIMIT => {
                    self.decoder.set_mem_limit(u32::MAX);
                    self.left = MAX_WINDOW;
                    false
                }
                Err(error) => {
                    self.fault = Some(error.into());
                    false
                }
            };
            if got > 0 || over {
                return Ok(got as usize);
            }
            more = true;
        }
        self.fault.take().map_or(Ok(0), Err)
    }
}
