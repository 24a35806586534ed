//! The bytes of a compressed input with their offsets, and the reason why decoding stops.

use super::buffer::Buffer;
use lz4_flex::frame::Error as Lz4Error;
use std::io::{self, BufRead, ErrorKind, Read};

/// The largest window or dictionary that is kept: 32 MiB, which is enough for `xz -8` and `zstd --ultra -20`. If a
/// stream announces a larger one, its first 32 MiB are decoded.
pub const MAX_WINDOW: u64 = 32 << 20;

/// Limit of the decoded bytes that damage can lose, as messages state it.
pub(super) const LOST: &str = "64 KiB";

/// Whether `head` begins a skippable frame. zstd and lz4 share them: only the next frame tells which format it is.
pub(super) fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Why decoding stops. Errors of the input are not among them: [`Input`] keeps those.
pub(super) enum Fault {
    /// The input ends inside a stream.
    Cut,
    /// The stream is damaged; the text is a predicate: "has a wrong checksum".
    Damaged(String),
    /// The stream needs something that is not supported; the text is a predicate: "needs a dictionary".
    Refused(String),
}

impl Fault {
    pub(super) fn window() -> Fault {
        let most = MAX_WINDOW >> 20;
        Fault::Refused(format!("needs a window of more than the {most} MiB that are kept"))
    }
}

impl From<io::Error> for Fault {
    /// Converts the error of a decompressing reader.
    fn from(error: io::Error) -> Fault {
        let lz4 = error.get_ref().and_then(|error| error.downcast_ref());
        match (error.kind(), lz4) {
            (ErrorKind::OutOfMemory, _) => Fault::window(),
            (ErrorKind::Unsupported, _)
            | (_, Some(Lz4Error::DictionaryNotSupported | Lz4Error::UnsupportedVersion(_))) => {
                Fault::Refused(format!("needs what is not supported here ({error})"))
            }
            _ => Fault::Damaged(format!(
                "cannot be decoded ({error}; up to {LOST} of what was decoded are lost)"
            )),
        }
    }
}

/// The compressed bytes, with the traits that the decompressing readers require.
#[derive(Default)]
pub(super) struct Input {
    buffer: Buffer,
    /// A reader asked for more than there is.
    pub(super) starved: bool,
    /// The error of the input. Readers get only its kind, because they report errors in their own words.
    pub(super) failed: Option<io::Error>,
}

impl Input {
    pub(super) fn new(buffer: Buffer) -> Input {
        Input { buffer, ..Input::default() }
    }

    /// Offset in the input of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// The next `count` bytes, fewer at the end.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if let Err(error) = self.buffer.read_until(count) {
            let kind = error.kind();
            self.failed = Some(error);
            return Err(kind.into());
        }
        let available = self.buffer.rest();
        Ok(available.get(..count).unwrap_or(available))
    }

    /// Skips `count` bytes.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), Fault> {
        let skipped = io::copy(&mut self.take(count), &mut io::sink())?;
        if skipped == count { Ok(()) } else { Err(Fault::Cut) }
    }

    /// The next `N` bytes. Where fewer are left, they are consumed.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let found = self.peek(N)?.first_chunk().copied();
        self.consume(N);
        found.ok_or(Fault::Cut)
    }
}

impl BufRead for Input {
    /// The bytes that have been read already or, if there are none, the bytes of one read.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.starved |= self.peek(1)?.is_empty();
        Ok(self.buffer.rest())
    }

    fn consume(&mut self, count: usize) {
        self.buffer.advance(count);
    }
}

impl Read for Input {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let got = self.fill_buf()?.read(space)?;
        self.consume(got);
        Ok(got)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::buffer::READ;
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Fills every request, and counts the bytes.
    struct Endless(Arc<AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            self.0.fetch_add(space.len(), Relaxed);
            Ok(space.len())
        }
    }

    #[test]
    fn available_bytes_are_decoded_before_more_are_read() {
        let given = Arc::new(AtomicUsize::new(0));
        let mut input = Input::new(Buffer::new(Box::new(Endless(given.clone()))));
        for taken in [1, 1_000, READ - 1_001] {
            input.read_exact(&mut vec![0; taken]).unwrap();
            assert_eq!(given.load(Relaxed), READ, "one read, of 256 KiB");
        }
        input.read_exact(&mut [0]).unwrap();
        assert_eq!((given.load(Relaxed), input.offset()), (2 * READ, READ as u64 + 1));
    }
}
