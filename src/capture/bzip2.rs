//! bzip2: streams one behind the other, each of blocks of up to 900 kB.
//!
//! ```text
//!  "BZh" | "1".."9" | blocks, not in whole bytes | 17 72 45 38 50 90 | crc 4
//! ```

use super::compressed::{Decode, Flow, Next, Out, Stop, next_of};
use super::input::Input;
use bzip2::{Decompress, Status};

pub(super) const MAGIC: &[u8] = b"BZh";

/// A stream without blocks, behind its level.
const EMPTY: &[u8] = b"\x17\x72\x45\x38\x50\x90\0\0\0\0";

pub(super) fn decoder() -> Box<dyn Decode> {
    Box::new(Bzip2 { stream: None, full: false })
}

struct Bzip2 {
    stream: Option<Decompress>,
    /// The last step wrote all there was room for, so there may be more without further input.
    full: bool,
}

impl Decode for Bzip2 {
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        let Some(stream) = &mut self.stream else { return self.between(input) };
        let bytes = if self.full { input.buffered() } else { input.bytes()? };
        if bytes.is_empty() && !self.full {
            return Err(Stop::Cut);
        }
        let before = (stream.total_in(), stream.total_out());
        let status = stream.decompress(bytes, out.free());
        let used = stream.total_in().saturating_sub(before.0) as usize;
        let got = stream.total_out().saturating_sub(before.1) as usize;
        let starved = bytes.is_empty();
        input.consume(used);
        self.full = got == out.free().len();
        out.add(got);
        match status {
            Ok(Status::StreamEnd) => self.stream = None,
            Ok(Status::MemNeeded) => return Err(Stop::Refused("needs more memory than there is".into())),
            Ok(_) if used != 0 || got != 0 || starved => {}
            Ok(_) | Err(_) => return Err(Stop::damaged("cannot be decoded, or has a wrong checksum")),
        }
        Ok(Flow::More)
    }
}

impl Bzip2 {
    fn between(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        if let Next::End = next_of(input, &[MAGIC], "bzip2")? {
            return Ok(Flow::End);
        }
        // A decoder costs 3.6 MB, and there may be any number of streams with nothing in them.
        let level = MAGIC.len().saturating_add(1);
        let head = input.peek(level.saturating_add(EMPTY.len())).map_err(Stop::Io)?;
        if head.get(level..) == Some(EMPTY) && head.get(3).is_some_and(|l| (b'1'..=b'9').contains(l)) {
            let whole = head.len();
            input.consume(whole);
            return Ok(Flow::More);
        }
        self.stream = Some(Decompress::new(false));
        self.full = false;
        Ok(Flow::More)
    }
}
