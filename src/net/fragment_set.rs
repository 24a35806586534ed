//! The fragments of one packet that have arrived.
//!
//! ```text
//!  payload  0        1480      2960   3400        what has arrived: runs, in order, without overlaps
//!           ├──run 0──┤         ├─run 1─┤
//!  store    [run 1 run 0]                         captured bytes, in order of arrival
//! ```
//!
//! Memory grows with the bytes that arrived, never with an offset: a fragment that claims to belong at the end of 64
//! KiB takes no more than its own length.
//!
//! **Overlaps.** The data that came first are kept, and so is the packet's end that was given first; the conflict is
//! counted. IPv6 receivers discard such packets (RFC 5722). Linux discards them in IPv4 too, unless the fragment lies
//! within earlier data, which it then keeps. Overlaps are never sent by mistake, and each choice of bytes can be a way
//! past a filter. A reader of a capture nevertheless wants to see the packet, and to know of the conflict. A fragment
//! that adds nothing and contradicts nothing is a copy, not an overlap, and makes no difference (RFC 8200, 4.5).

use super::fragment_header::{Fragment, Key, Location, MAX_TOTAL};
use crate::capture::Time;

/// The most runs per packet. Fragments that come in order are one run. In any other order, 64 KiB over links of 576
/// bytes, the smallest size that every receiver must accept by RFC 791, give 119 runs. So only tiny fragments find no
/// room, and inserting a run moves a few KiB at most.
pub(super) const MAX_RUNS: usize = 256;

/// The most frames listed per packet: as many as runs, enough for 64 KiB over any real link.
pub const MAX_FRAMES: usize = MAX_RUNS;

/// The most memory of a set in bytes: a growing vector may have twice the capacity that it needs.
pub(super) const MAX_SET_MEMORY: usize =
    2 * (MAX_TOTAL + 1) + MAX_RUNS * size_of::<Run>() + MAX_FRAMES * size_of::<u64>();

/// A range of the payload that has arrived, `start..end`. Its first `captured` bytes are at `at` in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: usize,
    end: usize,
    at: usize,
    captured: usize,
}

impl Run {
    /// Whether all its bytes were captured.
    fn is_full(&self) -> bool {
        self.start.saturating_add(self.captured) == self.end
    }

    /// Its captured bytes from `start` to `stop`.
    fn part<'a>(&self, store: &'a [u8], start: usize, stop: usize) -> &'a [u8] {
        let index =
            |position: usize| self.at.saturating_add(position.saturating_sub(self.start).min(self.captured));
        store.get(index(start)..index(stop)).unwrap_or_default()
    }
}

/// What has arrived of a packet.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    store: Vec<u8>,
    runs: Vec<Run>,
    /// The frames of the fragments that the packet is made of, in order of arrival, at most [`MAX_FRAMES`].
    frames: Vec<u64>,
}

impl Buffers {
    /// Bytes of memory taken.
    pub fn memory(&self) -> usize {
        let runs = self.runs.capacity().saturating_mul(size_of::<Run>());
        let frames = self.frames.capacity().saturating_mul(size_of::<u64>());
        self.store.capacity().saturating_add(runs).saturating_add(frames)
    }
}

/// Result of inserting a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    /// It added missing bytes, and contradicted nothing.
    NewBytes,
    /// It changed nothing.
    Duplicate,
    /// It contradicted earlier fragments, and may have added missing bytes.
    Conflict,
    /// Some of its bytes found no room because of [`MAX_RUNS`].
    NoRoom,
}

/// A reassembled packet, or the beginning of a packet that was never completed.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// The fields that its fragments share.
    pub key: Key,
    /// Protocol number of the payload's first header, from the first fragment (offset 0).
    pub protocol: u8,
    /// Where the first fragment was found.
    pub first: Location,
    /// The payload from its beginning to the first missing byte.
    pub payload: Vec<u8>,
    /// Length of the payload on the wire in bytes; `None` where the last fragment is missing.
    pub total: Option<usize>,
    /// Bytes of the payload in the fragments that arrived, captured or not.
    pub arrived: usize,
    /// The frames of the fragments it was made of, in order of arrival, at most [`MAX_FRAMES`].
    pub frames: Vec<u64>,
}

impl Packet {
    /// Whether every fragment arrived. Even then the payload may be shorter than `total`, because of the snap
    /// length.
    pub fn is_whole(&self) -> bool {
        self.total == Some(self.arrived)
    }
}

/// The fragments of one packet.
#[derive(Debug)]
pub(super) struct Set {
    /// Capture time when its first fragment arrived.
    pub since: Time,
    pub buffers: Buffers,
    /// The packet so far, without its payload and its frames.
    pub packet: Packet,
}

impl Set {
    /// An empty set for the packet of a fragment.
    pub fn new(fragment: &Fragment<'_>, since: Time) -> Set {
        let packet = Packet {
            key: fragment.header.key,
            protocol: fragment.header.protocol,
            first: fragment.location,
            payload: vec![],
            total: None,
            arrived: 0,
            frames: vec![],
        };
        Set { since, buffers: Buffers::default(), packet }
    }

    /// Whether the first fragment has arrived.
    fn has_beginning(&self) -> bool {
        self.buffers.runs.first().is_some_and(|run| run.start == 0)
    }

    /// Inserts a sound fragment.
    pub fn insert(&mut self, fragment: &Fragment<'_>) -> Insertion {
        if self.contradicts_end(fragment) {
            return Insertion::Conflict;
        }
        let (before, begun) = (self.packet.arrived, self.has_beginning());
        let conflicts = self.fill_gaps(fragment);
        let begins = !begun && self.has_beginning();
        let packet = &mut self.packet;
        if begins {
            (packet.first, packet.protocol) = (fragment.location, fragment.header.protocol);
        }
        let added_bytes = packet.arrived > before;
        if added_bytes {
            let frames = fragment.others.iter().copied().chain([fragment.location.frame]);
            self.buffers.frames.extend(frames.take(MAX_FRAMES.saturating_sub(self.buffers.frames.len())));
        }
        let Some(conflicts) = conflicts else { return Insertion::NoRoom };
        if !fragment.header.more {
            packet.total = Some(fragment.end());
        }
        match (conflicts, added_bytes) {
            (true, _) => Insertion::Conflict,
            (false, true) => Insertion::NewBytes,
            (false, false) => Insertion::Duplicate,
        }
    }

    /// Whether a fragment contradicts the known end of the packet.
    fn contradicts_end(&self, fragment: &Fragment<'_>) -> bool {
        let end = fragment.end();
        match self.packet.total {
            Some(total) if fragment.header.more => end >= total,
            Some(total) => end != total,
            // Every fragment so far announced more.
            None => !fragment.header.more && self.buffers.runs.last().is_some_and(|run| run.end >= end),
        }
    }

    /// Fills gaps with the bytes of a fragment. Returns whether the fragment overlaps earlier data without being a
    /// copy; `None` where a gap stays because there is no room.
    fn fill_gaps(&mut self, fragment: &Fragment<'_>) -> Option<bool> {
        let (before, end) = (self.packet.arrived, fragment.end());
        let (mut start, mut overlaps, mut differs) = (fragment.header.offset, false, false);
        let mut index = self.buffers.runs.partition_point(|run| run.end <= start);
        while start < end {
            let next = self.buffers.runs.get(index).copied();
            match next {
                Some(run) if run.start <= start => {
                    let stop = run.end.min(end);
                    overlaps = true;
                    differs |= self.differs(&run, fragment, start, stop);
                    index = index.saturating_add(1);
                    start = stop;
                }
                _ => {
                    let stop = next.map_or(end, |run| run.start.min(end));
                    index = self.fill(index, start, stop, fragment.part(start, stop))?;
                    start = stop;
                }
            }
        }
        Some(differs || overlaps && self.packet.arrived > before)
    }

    /// Whether captured bytes of a run differ from those of a fragment.
    fn differs(&self, run: &Run, fragment: &Fragment<'_>, start: usize, stop: usize) -> bool {
        let ours = run.part(&self.buffers.store, start, stop);
        let theirs = fragment.part(start, stop);
        let common = ours.len().min(theirs.len());
        ours.get(..common) != theirs.get(..common)
    }

    /// Fills the gap `start..stop` in front of the run `index`. Returns the index of the next run; `None` where
    /// there is no room.
    fn fill(&mut self, index: usize, start: usize, stop: usize, bytes: &[u8]) -> Option<usize> {
        let Buffers { store, runs, .. } = &mut self.buffers;
        let at = store.len();
        let crowded = runs.len() >= MAX_RUNS;
        let after = match index.checked_sub(1).and_then(|before| runs.get_mut(before)) {
            // Adjacent both in the payload and in the store.
            Some(run) if run.end == start && run.is_full() && run.at.saturating_add(run.captured) == at => {
                run.end = stop;
                run.captured = run.captured.saturating_add(bytes.len());
                index
            }
            _ if crowded => return None,
            _ => {
                runs.insert(index, Run { start, end: stop, at, captured: bytes.len() });
                index.saturating_add(1)
            }
        };
        store.extend_from_slice(bytes);
        self.packet.arrived = self.packet.arrived.saturating_add(stop.saturating_sub(start));
        Some(after)
    }

    /// Whether a fragment adds nothing to a complete packet, and contradicts nothing.
    pub fn repeats(&self, fragment: &Fragment<'_>) -> bool {
        !self.contradicts_end(fragment)
            && self.buffers.runs.iter().all(|run| {
                let (start, stop) = (run.start.max(fragment.header.offset), run.end.min(fragment.end()));
                start >= stop || !self.differs(run, fragment, start, stop)
            })
    }

    /// The packet as far as it has arrived; `None` where its beginning is missing.
    pub fn packet(&self) -> Option<Packet> {
        if !self.has_beginning() {
            return None;
        }
        let (mut payload, mut next) = (vec![], 0);
        for run in &self.buffers.runs {
            if run.start != next {
                break;
            }
            payload.extend_from_slice(run.part(&self.buffers.store, run.start, run.end));
            if !run.is_full() {
                break;
            }
            next = run.end;
        }
        let frames = self.buffers.frames.clone();
        Some(Packet { payload, frames, ..self.packet.clone() })
    }
}
