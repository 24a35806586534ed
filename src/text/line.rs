//! A buffer for output, to which short pieces are appended fast.

use std::io;
use std::ops::{Deref, DerefMut, Range};

/// A buffer to which bytes are appended piece by piece. Unlike with a `Vec<u8>`, the code that appends is inlined
/// everywhere, because copying a short piece takes less time than a call. Allocated memory is kept.
#[derive(Debug, Default)]
pub struct Line {
    /// The appended bytes, and free room after them.
    buffer: Vec<u8>,
    len: usize,
}

impl Line {
    /// An empty buffer with room for that many bytes.
    pub fn with_capacity(bytes: usize) -> Line {
        Line { buffer: vec![0; bytes], len: 0 }
    }

    /// The text that `write` appends to an empty buffer; U+FFFD stands for bytes that are not UTF-8.
    pub fn text(write: impl FnOnce(&mut Line)) -> String {
        let mut line = Line::default();
        write(&mut line);
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Appends a byte.
    #[inline(always)]
    pub fn push(&mut self, byte: u8) {
        self.add(&[byte]);
    }

    /// Appends a text of fixed length.
    #[inline(always)]
    pub fn add<const N: usize>(&mut self, text: &[u8; N]) {
        self.push_first(text, N);
    }

    /// Appends bytes.
    #[inline(always)]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        match self.buffer.get_mut(self.len..self.len.wrapping_add(bytes.len())) {
            Some(target) => {
                target.copy_from_slice(bytes);
                self.len = self.len.wrapping_add(bytes.len());
            }
            None => self.grow_and_extend(bytes),
        }
    }

    /// Appends the first `len` bytes of `text`. All of `text` is copied, because a copy of fixed length takes a few
    /// instructions, and one of variable length a call.
    #[inline(always)]
    pub fn push_first<const N: usize>(&mut self, text: &[u8; N], len: usize) {
        // A range with both ends takes fewer comparisons than an open range.
        match self
            .buffer
            .get_mut(self.len..self.len.wrapping_add(N))
            .and_then(|target| target.first_chunk_mut())
        {
            Some(target) => {
                *target = *text;
                self.len = self.len.wrapping_add(len);
            }
            None => self.grow_and_extend(text.get(..len).unwrap_or(text)),
        }
    }

    /// Appends bytes; the copy takes no call if there are few, as nearly always.
    #[inline(always)]
    pub fn add_few(&mut self, bytes: &[u8]) {
        match bytes.len() {
            16..=32 => self.add_ends::<16>(bytes),
            8..16 => self.add_ends::<8>(bytes),
            4..8 => self.add_ends::<4>(bytes),
            _ => self.extend_from_slice(bytes),
        }
    }

    /// Appends from `N` to `2 * N` bytes: the first `N`, then the last `N`, which may overlap them.
    #[inline(always)]
    fn add_ends<const N: usize>(&mut self, bytes: &[u8]) {
        if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
            self.push_first(first, bytes.len().wrapping_sub(N));
            self.add(last);
        }
    }

    /// Appends a copy of the bytes in that range of the buffer, `N` at most.
    pub fn add_again<const N: usize>(&mut self, range: Range<usize>) {
        let mut bytes = [0; N];
        if let (Some(copy), Some(source)) = (bytes.get_mut(..range.len()), self.get(range)) {
            copy.copy_from_slice(source);
            let len = source.len();
            self.push_first(&bytes, len);
        }
    }

    /// Not inlined, so that callers need not save registers while there is room.
    #[cold]
    #[inline(never)]
    fn grow_and_extend(&mut self, bytes: &[u8]) {
        self.buffer.truncate(self.len);
        self.buffer.extend_from_slice(bytes);
        self.len = self.buffer.len();
        // Grows to at least twice the length, and to all that the allocator gives, so that allocations are rare.
        self.buffer.reserve(self.len.max(64));
        self.buffer.resize(self.buffer.capacity(), 0);
    }

    /// Removes the bytes after that many.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Removes the last byte.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Removes all bytes.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Deref for Line {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for Line {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.len).unwrap_or_default()
    }
}

/// Writing to memory cannot fail.
impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holds_the_same_bytes_as_a_vector(steps in prop::collection::vec((0u8..8, any::<[u8; 40]>(), 0usize..41), 0..200)) {
            let (mut ours, mut theirs) = (Line::default(), vec![]);
            for (step, bytes, len) in steps {
                let tail = theirs.len().saturating_sub(len)..theirs.len();
                match step {
                    0 => { ours.push(bytes[0]); theirs.push(bytes[0]); }
                    1 => { ours.extend_from_slice(&bytes[..len]); theirs.extend_from_slice(&bytes[..len]); }
                    2 => { ours.push_first(&bytes, len); theirs.extend_from_slice(&bytes[..len]); }
                    3 => { ours.pop(); theirs.pop(); }
                    4 => { ours.add(&bytes); theirs.extend_from_slice(&bytes); }
                    5 => { ours.add_few(&bytes[..len]); theirs.extend_from_slice(&bytes[..len]); }
                    6 => { ours.add_again::<40>(tail.clone()); theirs.extend_from_within(tail); }
                    _ if len == 0 => { ours.clear(); theirs.clear(); }
                    _ => {}
                }
                prop_assert_eq!(&*ours, &theirs[..]);
            }
        }
    }

    #[test]
    fn memory_is_reused() {
        let mut line = Line::with_capacity(100);
        let address = line.buffer.as_ptr();
        for _ in 0..3 {
            line.extend_from_slice(&[b'a'; 100]);
            assert_eq!((line.len(), line.buffer.as_ptr()), (100, address));
            line.clear();
        }
    }
}
