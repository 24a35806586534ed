//! Keeps frames that cannot be found again in their capture, because it is compressed: in a file, or in the memory of the index.

use super::IN_SPOOL;
use crate::bounded::ByFrame;
use crate::capture::Frame;
use crate::report::{MAX_RECENT, MAX_RECENT_BYTES};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;
/// So many packets can be read at once, later ones after as many again.
const AT_ONCE: u64 = 512;

/// Where frames are kept, and those that may have to be.
#[derive(Debug, Default)]
pub(super) struct Spool {
    /// The file, and the number of bytes written to it; `None` if frames are kept in the memory of the index.
    file: Option<(BufWriter<File>, u64)>,
    /// Number of packets.
    packets: u64,
    /// The frames of the current capture are kept.
    pub is_used: bool,
    /// The bytes of the latest frames, and their number.
    frames: ByFrame<Vec<u8>>,
    bytes: usize,
}

impl Spool {
    /// A spool in a file, which is empty or was used for that before; `None` if it cannot be used.
    pub fn in_file(mut file: File) -> Option<Spool> {
        file.set_len(0).and_then(|()| file.rewind()).ok()?;
        Some(Spool { file: Some((BufWriter::with_capacity(BUFFER, file), 0)), ..Spool::default() })
    }

    /// Remembers a frame until it is known whether it is needed.
    pub fn remember(&mut self, frame: &Frame<'_>) {
        while self.frames.len() >= MAX_RECENT || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.frames.pop() else { break };
            self.bytes -= oldest.len();
        }
        self.bytes += frame.bytes.len();
        self.frames.push(frame.number, frame.bytes.to_vec());
    }

    /// Writes a frame, and returns where; `None` if it is forgotten or cannot be written. `memory` is that of the index.
    pub fn write(&mut self, frame: u64, memory: &mut Memory) -> Option<u64> {
        let bytes = self.frames.get(frame)?;
        let at = match &mut self.file {
            Some((file, length)) => {
                file.write_all(bytes).ok()?;
                let at = *length;
                *length += bytes.len() as u64;
                at
            }
            None => memory.write(bytes)?,
        };
        Some(at | IN_SPOOL)
    }

    /// Writes what has been gathered, so that it can be read.
    pub fn flush(&mut self) {
        let _ = self.file.as_mut().map(|(file, _)| file.flush());
    }

    /// Makes the first packets readable at once, later ones a little later.
    pub fn flush_now_and_then(&mut self) {
        self.packets += 1;
        if self.packets < AT_ONCE || self.packets.is_multiple_of(AT_ONCE) {
            self.flush();
        }
    }
}

/// Bytes of a piece of memory.
const PIECE: usize = 1 << 20;

/// Frames in memory, in pieces that never move.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pieces: Vec<Vec<u8>>,
    /// Most pieces.
    most: usize,
    /// A frame had no room.
    pub is_full: bool,
}

impl Memory {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Memory {
        Memory { most: bytes / PIECE, ..Memory::default() }
    }

    /// Whether there is room for anything.
    pub fn is_used(&self) -> bool {
        self.most > 0
    }

    /// Memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        self.pieces.len() * PIECE
    }

    fn write(&mut self, frame: &[u8]) -> Option<u64> {
        if self.pieces.last().is_none_or(|piece| piece.len() + frame.len() > PIECE) {
            self.is_full |= self.pieces.len() >= self.most;
            if self.is_full || frame.len() > PIECE {
                return None;
            }
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        let before = (self.pieces.len() - 1) * PIECE;
        let piece = self.pieces.last_mut()?;
        let at = before + piece.len();
        piece.extend_from_slice(frame);
        Some(at as u64)
    }

    /// Reads the bytes of a frame.
    pub fn read(&self, at: u64, frame: &mut [u8]) -> io::Result<()> {
        let at = usize::try_from(at).map_err(io::Error::other)?;
        let piece = self.pieces.get(at / PIECE).ok_or(io::ErrorKind::UnexpectedEof)?;
        let from = at % PIECE;
        let bytes = piece.get(from..from + frame.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        frame.copy_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_memory_are_found_again_until_there_is_no_room() {
        let mut memory = Memory::new(2 * PIECE);
        let frames: Vec<Vec<u8>> = (0..4).map(|n| vec![n; PIECE / 2 - 1]).collect();
        let places: Vec<_> = frames.iter().map(|frame| memory.write(frame).expect("room")).collect();
        assert_eq!(memory.write(&vec![9; PIECE + 1]), None, "larger than a piece");
        for (frame, place) in frames.iter().zip(places) {
            let mut read = vec![7; frame.len()];
            memory.read(place, &mut read).expect("it was written");
            assert_eq!(read, *frame);
        }
        assert!(memory.write(&[1, 2]).is_some() && memory.write(&[3]).is_none() && memory.is_full);
        assert_eq!(memory.size(), 2 * PIECE);
        assert!(memory.read(5 * PIECE as u64, &mut [0]).is_err());
    }
}
