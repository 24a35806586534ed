//! The buffer between the input and the code that walks records, and integers at fixed offsets in it.
//!
//! ```text
//!   data:  [ handed out ... | not yet looked at ... | free ...          ]
//!          0                pos                     end                 CAPACITY
//!          ^ file offset `base`
//! ```

use super::{Error, MAX_FRAME};
use std::io::{self, ErrorKind, Read};
use std::mem;

/// Bytes requested in one read. Large enough to make the system call cheap, small enough to stay in the second-level
/// cache between the kernel's copy and the walk.
pub(super) const READ: usize = 256 * 1024;

/// The largest record that is held in one piece: a frame, the head before it (28 bytes at most), its padding and
/// trailer (7 at most).
const RECORD: usize = MAX_FRAME as usize + 64;

/// Size of the buffer: a whole read always fits after an incomplete record.
pub const CAPACITY: usize = READ + RECORD;

/// Result of one attempt to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// Bytes; perhaps not enough for a whole record.
    Bytes,
    /// Nothing: the reader returned [`Interrupted`](std::io::ErrorKind::Interrupted), because it waited too long or
    /// a signal came.
    Nothing,
    /// The input has ended, or the buffer holds as much as it can.
    Over,
}

/// The bytes of a part of the input, separate from the reader; frames lie in them.
#[derive(Default)]
pub struct Bytes {
    data: Box<[u8]>,
    /// Offset of the first byte in the input.
    base: u64,
}

impl Bytes {
    /// `len` bytes at offset `at` of the input, counted as in [`Frame::at`](super::Frame::at); empty where some of
    /// them are elsewhere.
    #[inline]
    pub fn get(&self, at: u64, len: usize) -> &[u8] {
        let from = usize::try_from(at.wrapping_sub(self.base)).unwrap_or(usize::MAX);
        self.data.get(from..from.saturating_add(len)).unwrap_or_default()
    }
}

/// Bytes of the input that have been read and not yet been handed out.
pub(super) struct Buffer {
    reader: Box<dyn Read + Send>,
    data: Box<[u8]>,
    pos: usize,
    end: usize,
    base: u64,
    ended: bool,
    /// Lent memory. When room is needed, the rest moves there, so that frames handed out earlier stay where they
    /// are.
    spare: Option<Bytes>,
    /// The memory in use before that move, with the frames handed out from it.
    filled: Option<Bytes>,
}

impl Default for Buffer {
    /// A buffer without input and without memory.
    fn default() -> Buffer {
        let (reader, data) = (Box::new(io::empty()), Box::default());
        Buffer { reader, data, pos: 0, end: 0, base: 0, ended: true, spare: None, filled: None }
    }
}

impl Buffer {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Buffer {
        Buffer { reader, data: vec![0; CAPACITY].into(), ended: false, ..Buffer::default() }
    }

    /// The bytes read and not yet handed out. Never `None`, but the caller checks for it: that costs the fewest
    /// instructions.
    #[inline(always)]
    pub(super) fn window(&self) -> Option<&[u8]> {
        self.data.get(self.pos..self.end)
    }

    /// The bytes read and not yet handed out.
    pub(super) fn rest(&self) -> &[u8] {
        self.window().unwrap_or_default()
    }

    /// Offset in the input of the first byte of [`rest`](Self::rest).
    #[inline(always)]
    pub(super) fn offset(&self) -> u64 {
        self.base.wrapping_add(self.pos as u64)
    }

    /// Offset in the input after the last byte of [`rest`](Self::rest).
    pub(super) fn end_offset(&self) -> u64 {
        self.base.wrapping_add(self.end as u64)
    }

    /// Skips `total` bytes, which must be there, and returns everything from the first of them on.
    #[inline(always)]
    pub(super) fn take(&mut self, total: u32) -> &[u8] {
        let window = self.data.get(self.pos..self.end);
        self.pos = self.pos.wrapping_add(total as usize);
        window.unwrap_or_default()
    }

    /// Skips `count` bytes of [`rest`](Self::rest).
    #[inline(always)]
    pub(super) fn advance(&mut self, count: usize) {
        self.pos = self.pos.wrapping_add(count).min(self.end);
    }

    /// Reads until [`rest`](Self::rest) has `count` bytes, at most [`CAPACITY`]; `false` when the
    /// input ends before.
    ///
    /// Does not wait for more: it returns as soon as a pipe has given `count` bytes.
    #[cold]
    pub(super) fn fill(&mut self, count: usize) -> Result<bool, Error> {
        self.read_until(count).map_err(|error| Error::io(self.end_offset(), error))
    }

    /// As [`fill`](Self::fill), but returns the reader's own error.
    pub(super) fn read_until(&mut self, count: usize) -> io::Result<bool> {
        if self.rest().len() >= count {
            return Ok(true);
        }
        self.make_room();
        while self.end < count.min(CAPACITY) && !self.ended {
            let until = self.end.saturating_add(READ).min(CAPACITY);
            let space = self.data.get_mut(self.end..until).unwrap_or_default();
            match self.reader.read(space) {
                Ok(0) => self.ended = true,
                Ok(got) => self.end = self.end.saturating_add(got).min(until),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end >= count)
    }

    /// Moves [`rest`](Self::rest) to the front of the buffer, or of the lent memory if there is any.
    pub(super) fn make_room(&mut self) {
        let next = self.offset();
        let base = mem::replace(&mut self.base, next);
        let rest = self.pos..self.end;
        self.end = rest.len();
        self.pos = 0;
        let Some(Bytes { mut data, .. }) = self.spare.take() else {
            return self.data.copy_within(rest, 0);
        };
        if let (Some(to), Some(from)) = (data.get_mut(..rest.len()), self.data.get(rest)) {
            to.copy_from_slice(from);
        }
        mem::swap(&mut self.data, &mut data);
        self.filled = Some(Bytes { data, base });
    }

    /// Lends memory for the next [`make_room`](Self::make_room).
    pub(super) fn lend(&mut self, mut bytes: Bytes) {
        if bytes.data.is_empty() {
            bytes.data = vec![0; CAPACITY].into();
        }
        self.spare = Some(bytes);
    }

    /// Takes the memory in use before the buffer moved to lent memory, with the frames handed out from it.
    pub(super) fn take_filled(&mut self) -> Option<Bytes> {
        self.filled.take()
    }

    /// Reads once, and does not repeat an interrupted read.
    #[cold]
    pub(super) fn refill(&mut self) -> Result<Refill, Error> {
        self.make_room();
        let space = self.data.get_mut(self.end..).unwrap_or_default();
        if self.ended || space.is_empty() {
            return Ok(Refill::Over);
        }
        let space_len = space.len();
        match self.reader.read(space) {
            Ok(0) => {
                self.ended = true;
                Ok(Refill::Over)
            }
            Ok(got) => {
                self.end = self.end.saturating_add(got.min(space_len));
                Ok(Refill::Bytes)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Refill::Nothing),
            Err(error) => Err(Error::io(self.end_offset(), error)),
        }
    }

    /// Reads past `count` bytes without keeping them; `false` when the input ends before.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<bool, Error> {
        while count > 0 {
            if self.rest().is_empty() && !self.fill(1)? {
                return Ok(false);
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(self.rest().len());
            self.advance(step);
            count = count.saturating_sub(step as u64);
        }
        Ok(true)
    }
}

/// The unsigned 32-bit integer at `at`; 0 where `bytes` ends before.
#[inline(always)]
pub(super) fn word<const BIG: bool>(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(field) if BIG => u32::from_be_bytes(*field),
        Some(field) => u32::from_le_bytes(*field),
        None => 0,
    }
}

/// [`word`] in a byte order known only at run time.
pub(super) fn word_in(big: bool, bytes: &[u8], at: usize) -> u32 {
    if big { word::<true>(bytes, at) } else { word::<false>(bytes, at) }
}

/// The unsigned 16-bit integer at `at`; 0 where `bytes` ends before.
pub(super) fn half_in(big: bool, bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(field) if big => u16::from_be_bytes(*field),
        Some(field) => u16::from_le_bytes(*field),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

    use super::*;
    use crate::capture::Source;
    use std::convert::Infallible;
    use std::io::Cursor;

    #[test]
    fn packets_with_comments_share_lent_memory_until_the_buffer_runs_out() {
        let block = |kind: u32, body: &[u8]| {
            let total = (body.len() as u32 + 12).to_le_bytes();
            [&kind.to_le_bytes()[..], &total, body, &total].concat()
        };
        let section = block(0x0a0d_0d0a, b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff");
        let mut capture = [section, block(1, &[1, 0, 0, 0, 0, 0, 0, 0])].concat();
        for n in 0..2_000_u32 {
            let head = [0, 0, n, 300, 300].map(u32::to_le_bytes).concat();
            capture
                .extend(block(6, &[&head, &n.to_le_bytes().repeat(75)[..], b"\x01\0\x01\0x\0\0\0"].concat()));
        }
        assert!(capture.len() > CAPACITY && capture.len() < 2 * CAPACITY);
        let mut source = Source::from_reader("memory", Box::new(Cursor::new(capture))).unwrap();
        source.lend(Bytes::default());
        let (mut frames, mut parts) = (vec![], vec![]);
        while let Some(found) = source.find_next().unwrap() {
            if let Some(bytes) = source.take_filled(false) {
                parts.push((std::mem::take(&mut frames), bytes));
                source.lend(Bytes::default());
            }
            let handed_out: Result<_, Infallible> = source.hand_out_from(found, |frame| {
                frames.push((frame.at, frame.bytes.to_vec()));
                Ok(true)
            });
            assert_eq!(handed_out, Ok(true));
        }
        parts.push((frames, source.take_filled(true).unwrap()));
        let counts: Vec<_> = parts.iter().map(|(frames, _)| frames.len()).collect();
        assert_eq!(counts.iter().sum::<usize>(), 2_000);
        assert!(counts.len() <= 4, "not a part for each packet: {counts:?}");
        for (frames, bytes) in &parts {
            assert!(frames.iter().all(|(at, frame)| bytes.get(*at, frame.len()) == frame));
        }
    }
}
