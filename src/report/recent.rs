//! Facts of the frames whose datagrams have not all been told of.

use super::Files;
use crate::bounded::ByFrame;
use crate::capture::{Comments, Frame, Said};
use crate::filter::{Facts, Needs};
use crate::net::{Datagram, DropReason};

/// Frames remembered: sixteen times as many as wait in the pipeline, for those that do not wait pass by meanwhile.
pub const MAX_RECENT: usize = 16_384;
/// Their bytes, where those are needed: 16 MiB.
pub const MAX_RECENT_BYTES: usize = 16 << 20;

/// What a filter or columns asked for in vain, for want of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Datagrams whose frames were not remembered any more: too many others came in between.
    pub frames: u64,
    /// Datagrams with more values than are picked of one.
    pub values: u64,
    /// Exchanges of which it was forgotten whether one of their packets had passed.
    pub exchanges: u64,
}

/// Facts of recent frames, and their bytes, as far as they are needed.
#[derive(Debug, Default)]
pub(super) struct Recent {
    needs: Needs,
    frames: ByFrame<Kept>,
    bytes: usize,
    pub files: Files,
    /// What captures say about packets.
    pub comments: Comments,
    /// Datagrams whose frame was not remembered any more.
    pub missed: u64,
}

#[derive(Debug)]
struct Kept {
    facts: Facts,
    bytes: Vec<u8>,
}

impl Recent {
    pub fn new(needs: Needs) -> Recent {
        Recent { needs, ..Recent::default() }
    }

    /// The comments on a frame, where they are needed.
    pub fn said(&self, frame: u64) -> Option<Said> {
        if self.needs.comments { self.comments.of(frame) } else { None }
    }

    /// Whether frames are needed at all.
    pub fn watches(&self) -> bool {
        self.needs.facts || self.needs.bytes
    }

    /// A frame has been read.
    pub fn see(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if DropReason::may_hold_datagram(parsed) && self.watches() {
            self.keep(frame);
        }
    }

    fn keep(&mut self, frame: &Frame<'_>) {
        let mut bytes = vec![];
        while self.frames.len() >= MAX_RECENT || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.frames.pop() else { break };
            self.bytes -= oldest.bytes.len();
            bytes = oldest.bytes; // its memory is used again
        }
        bytes.clear();
        if self.needs.bytes {
            bytes.extend_from_slice(frame.bytes);
            self.bytes += bytes.len();
        }
        let facts = Facts { number: self.files.place(frame.number).frame, ..Facts::of(frame) };
        self.frames.push(frame.number, Kept { facts, bytes });
    }

    /// What is remembered of a frame, by its number in the run.
    pub fn get(&mut self, frame: u64) -> (Option<&Facts>, &[u8]) {
        if !self.watches() {
            return (None, &[]);
        }
        match self.frames.get(frame) {
            Some(kept) => (Some(&kept.facts), &kept.bytes),
            None => {
                self.missed += 1;
                (None, &[])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Time;

    fn see(recent: &mut Recent, number: u64, bytes: &[u8]) {
        let frame = Frame { number, time: Time::UNKNOWN, link: 1, interface: 0, at: 0, wire_len: 60, bytes };
        recent.see(&frame, &Err(DropReason::Tunnel));
    }

    #[test]
    fn frames_are_forgotten_in_their_order_and_that_is_counted() {
        let mut recent = Recent::new(Needs { facts: true, ..Needs::default() });
        recent.files.begin(0);
        recent.files.begin(10);
        let last = 2 * (MAX_RECENT as u64 + 5);
        (1..=last / 2).for_each(|i| see(&mut recent, 2 * i, &[0; 20]));
        assert_eq!(recent.get(last).0.map(|facts| facts.number), Some(last - 10), "its number in the file");
        assert_eq!(recent.get(12).0.map(|facts| facts.number), Some(2));
        assert_eq!((recent.get(10).0.is_none(), recent.get(13).0.is_none(), recent.missed), (true, true, 2));
        assert!(recent.get(last).1.is_empty(), "nobody needs bytes");
    }

    #[test]
    fn bytes_are_bounded() {
        let mut recent = Recent::new(Needs { bytes: true, ..Needs::default() });
        let long = vec![7; MAX_RECENT_BYTES / 4];
        (1..=9).for_each(|number| see(&mut recent, number, &long));
        assert!(recent.bytes <= MAX_RECENT_BYTES + long.len() && recent.frames.len() == 5);
        assert_eq!(recent.get(9).1, long);
        assert_eq!(recent.get(4).1, b"");
    }
}
