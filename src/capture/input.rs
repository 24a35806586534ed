//! The bytes of a compressed input, in order, with their places.

use super::compressed::Stop;
use std::io::{self, ErrorKind, Read};

/// Bytes asked for in one read.
const READ: usize = 64 * 1024;

/// Bytes that have been read and not yet been decoded.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    data: Vec<u8>,
    pos: usize,
    end: usize,
    /// Offset in the input of the first byte of `data`.
    base: u64,
    ended: bool,
}

impl Input {
    /// `head` has been read from `reader` already.
    pub(super) fn new(head: &[u8], reader: Box<dyn Read + Send>) -> Input {
        let mut input = Input::whole(vec![0; READ.max(head.len())]);
        if let Some(to) = input.data.get_mut(..head.len()) {
            to.copy_from_slice(head);
        }
        Input { reader, end: head.len(), ended: false, ..input }
    }

    /// There is no more than `data`.
    pub(super) fn whole(data: Vec<u8>) -> Input {
        Input { reader: Box::new(io::empty()), end: data.len(), data, pos: 0, base: 0, ended: true }
    }

    /// Offset in the input of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.base.saturating_add(self.pos as u64)
    }

    /// What has been read already.
    pub(super) fn buffered(&self) -> &[u8] {
        self.data.get(self.pos..self.end).unwrap_or_default()
    }

    /// What has been read already or, where that is nothing, what one read gives; empty at the end.
    pub(super) fn bytes(&mut self) -> Result<&[u8], Stop> {
        self.peek(1).map_err(Stop::Io)?;
        Ok(self.buffered())
    }

    /// The next `count` bytes, fewer at the end.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffered().len() < count {
            self.data.copy_within(self.pos..self.end, 0);
            self.base = self.offset();
            self.end = self.end.saturating_sub(self.pos);
            self.pos = 0;
        }
        while self.end < count.min(self.data.len()) && !self.ended {
            match self.reader.read(self.data.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(got) => self.end = self.end.saturating_add(got).min(self.data.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let there = self.buffered();
        Ok(there.get(..count).unwrap_or(there))
    }

    /// Steps over `count` bytes of [`buffered`](Self::buffered).
    pub(super) fn consume(&mut self, count: usize) {
        self.pos = self.pos.saturating_add(count).min(self.end);
    }

    /// Reads past `count` bytes.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<(), Stop> {
        while count > 0 {
            let there = self.bytes()?.len();
            if there == 0 {
                return Err(Stop::Cut);
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(there);
            self.consume(step);
            count = count.saturating_sub(step as u64);
        }
        Ok(())
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// The next `N` bytes, at most [`READ`]. Where the input ends before, all of it is read.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let found = self.peek(N).map_err(Stop::Io)?.first_chunk().copied();
        self.consume(N);
        found.ok_or(Stop::Cut)
    }

    /// Appends the next `count` bytes to `to`; what there is of them also when the input ends before.
    pub(super) fn gather(&mut self, mut count: usize, to: &mut Vec<u8>) -> Result<(), Stop> {
        while count > 0 {
            let there = self.bytes()?;
            if there.is_empty() {
                return Err(Stop::Cut);
            }
            let part = there.get(..count).unwrap_or(there);
            to.extend_from_slice(part);
            let step = part.len();
            self.consume(step);
            count = count.saturating_sub(step);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Gives all that is asked for, and counts it.
    struct Endless(Arc<AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            self.0.fetch_add(space.len(), Relaxed);
            Ok(space.len())
        }
    }

    #[test]
    fn nothing_is_read_before_what_there_is_has_been_decoded() {
        let given = Arc::new(AtomicUsize::new(0));
        let (mut input, mut to) = (Input::new(b"", Box::new(Endless(given.clone()))), vec![]);
        for taken in [1, 1_000, READ - 1_001] {
            assert!(input.gather(taken, &mut to).is_ok());
            assert_eq!(given.load(Relaxed), READ, "one read, of 64 KiB");
        }
        assert!(input.byte().is_ok() && input.buffered().len() == READ - 1);
        assert_eq!(given.load(Relaxed), 2 * READ);
        // Who looks for more than there can be gets what there can be.
        assert_eq!(input.peek(READ + 1).unwrap().len(), READ);
        assert_eq!((given.load(Relaxed), input.offset()), (2 * READ + 1, READ as u64 + 1));
    }

    #[test]
    fn what_was_read_already_may_be_more() {
        let given = Arc::new(AtomicUsize::new(0));
        let mut input = Input::new(&vec![1; READ + 9], Box::new(Endless(given.clone())));
        assert_eq!(input.bytes().map(<[u8]>::len).unwrap_or(0), READ + 9);
        assert_eq!(given.load(Relaxed), 0);
    }
}
