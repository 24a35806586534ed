//! Between the capture program and the parser: counts whole records, saves them, and knows where `-c` ends.
//!
//! ```text
//!  held:  [ whole records, to be written | part of a record ]
//!         0                          whole
//! ```

use super::ring::Ring;
use qdissect::capture::{Cut, Cutter, Piece};
use std::time::{Duration, Instant};

/// Whole records are written at the latest when there are so many bytes of them,
const MOST: usize = 256 * 1024;
/// or when the last writing is that long ago.
const LATEST: Duration = Duration::from_secs(1);

/// Sees every byte that the parser sees.
#[derive(Debug)]
pub struct Saver {
    cutter: Cutter,
    ring: Option<Ring>,
    limit: Option<u64>,
    held: Vec<u8>,
    whole: usize,
    /// Packets seen whole.
    packets: u64,
    /// The bytes can no longer be told apart.
    damaged: bool,
    failed: Option<String>,
    last: Instant,
}

impl Saver {
    /// Saves to `ring`, and lets `limit` packets pass.
    pub fn new(ring: Option<Ring>, limit: Option<u64>) -> Saver {
        Saver {
            cutter: Cutter::default(),
            ring,
            limit,
            held: vec![],
            whole: 0,
            packets: 0,
            damaged: false,
            failed: None,
            last: Instant::now(),
        }
    }

    /// Takes in what has been read. Gives how many bytes of it may pass: fewer than all where the capture
    /// has as many packets as it should have.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        if self.damaged || self.failed.is_some() {
            return bytes.len();
        }
        self.held.extend_from_slice(bytes);
        let mut pass = bytes.len();
        loop {
            let rest = self.held.get(self.whole..).unwrap_or_default();
            match self.cutter.next(rest) {
                Cut::Part => break,
                Cut::Damaged => {
                    self.damaged = true;
                    break;
                }
                Cut::Whole(Piece::Packet, _) if self.limit == Some(self.packets) => {
                    pass = pass.saturating_sub(self.held.len() - self.whole);
                    self.held.truncate(self.whole);
                    break;
                }
                Cut::Whole(piece, len) => self.take(piece, len),
            }
        }
        if self.whole >= MOST || self.last.elapsed() >= LATEST {
            self.flush();
        }
        pass
    }

    /// A whole piece behind those that are to be written.
    fn take(&mut self, piece: Piece, len: usize) {
        if piece == Piece::Packet {
            self.packets += 1;
            if self.ring.as_ref().is_some_and(|ring| ring.is_full(self.whole as u64)) {
                self.flush();
                let next = self.ring.as_mut().map_or(Ok(()), Ring::next);
                self.note(next);
            }
        }
        if let (Some(ring), Some(bytes)) = (&mut self.ring, self.held.get(self.whole..self.whole + len)) {
            ring.see(piece, bytes);
        }
        self.whole += len;
    }

    /// Writes the whole records that are held.
    pub fn flush(&mut self) {
        self.last = Instant::now();
        let Some(records) = self.held.get(..self.whole).filter(|records| !records.is_empty()) else { return };
        let written = match &mut self.ring {
            Some(ring) if self.failed.is_none() => ring.write(records),
            _ => Ok(()),
        };
        self.held.drain(..self.whole);
        self.whole = 0;
        self.note(written);
    }

    fn note(&mut self, written: Result<(), String>) {
        if let Err(e) = written {
            self.failed.get_or_insert(e);
        }
    }

    /// Whether as many packets have passed as there should be.
    pub fn is_enough(&self) -> bool {
        self.limit.is_some_and(|limit| self.packets >= limit)
    }

    /// Why nothing is saved any more.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Bytes of a record whose end has not come.
    pub fn part(&self) -> usize {
        self.held.len() - self.whole
    }
}
