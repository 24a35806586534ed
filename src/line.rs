//! Text on its way out: bytes in room that is there already.

use std::io;
use std::ops::{Deref, DerefMut};

/// Bytes that are appended piece by piece. Unlike that of a `Vec<u8>`, each appending is compiled where it stands: to copy a short piece
/// takes less than a call. Room that was made once stays.
#[derive(Debug, Default)]
pub struct Line {
    /// What has been appended, and the room behind it.
    room: Vec<u8>,
    len: usize,
}

impl Line {
    /// An empty one with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Line {
        Line { room: vec![0; bytes], len: 0 }
    }

    /// What is appended to an empty one, as text; U+FFFD stands for what is not UTF-8.
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
        match self.room.get_mut(self.len..).and_then(|free| free.get_mut(..bytes.len())) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len = self.len.wrapping_add(bytes.len());
            }
            None => self.extend_into_new_room(bytes),
        }
    }

    /// Appends the first `len` bytes of `text`: all of them are copied, which takes a few instructions where the length is fixed and
    /// a call where it is not.
    #[inline(always)]
    pub fn push_first<const N: usize>(&mut self, text: &[u8; N], len: usize) {
        match self.room.get_mut(self.len..).and_then(|free| free.first_chunk_mut()) {
            Some(place) => {
                *place = *text;
                self.len = self.len.wrapping_add(len);
            }
            None => self.extend_into_new_room(text.get(..len).unwrap_or(text)),
        }
    }

    /// Apart, so that nothing need be saved where there is room.
    #[cold]
    #[inline(never)]
    fn extend_into_new_room(&mut self, bytes: &[u8]) {
        self.room.truncate(self.len);
        self.room.extend_from_slice(bytes);
        self.len = self.room.len();
        // All that was got from the allocator, and twice as much as there is at least, so that it is seldom asked.
        self.room.reserve(self.len.max(64));
        self.room.resize(self.room.capacity(), 0);
    }

    /// Takes the last byte away.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Takes everything away.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Deref for Line {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.room.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for Line {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.room.get_mut(..self.len).unwrap_or_default()
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
        fn it_holds_what_a_vector_would(steps in prop::collection::vec((0u8..6, any::<[u8; 8]>(), 0usize..9), 0..200)) {
            let (mut ours, mut theirs) = (Line::default(), vec![]);
            for (step, bytes, len) in steps {
                match step {
                    0 => { ours.push(bytes[0]); theirs.push(bytes[0]); }
                    1 => { ours.extend_from_slice(&bytes[..len]); theirs.extend_from_slice(&bytes[..len]); }
                    2 => { ours.push_first(&bytes, len); theirs.extend_from_slice(&bytes[..len]); }
                    3 => { ours.pop(); theirs.pop(); }
                    4 => { ours.add(&bytes); theirs.extend_from_slice(&bytes); }
                    _ if len == 0 => { ours.clear(); theirs.clear(); }
                    _ => {}
                }
                prop_assert_eq!(&*ours, &theirs[..]);
            }
        }
    }

    #[test]
    fn room_is_used_again() {
        let mut line = Line::with_capacity(100);
        let room = line.room.as_ptr();
        for _ in 0..3 {
            line.extend_from_slice(&[b'a'; 100]);
            assert_eq!((line.len(), line.room.as_ptr()), (100, room));
            line.clear();
        }
    }
}
