//! The fragments of one packet, as far as they have come.
//!
//! ```text
//!  payload  0        1480      2960   3400        what is known of it: runs, in order, without overlaps
//!           ├──run 0──┤         ├─run 1─┤
//!  store    [run 1 run 0]                         captured bytes, in the order in which they came
//! ```
//!
//! Memory follows the bytes that came, never an offset: a fragment that says it belongs at the end of 64 KiB takes no
//! more than its own length.
//!
//! **Overlaps.** What came first stays, bytes as well as the end of the packet, and the packet is *disputed*. IPv6
//! receivers throw such packets away (RFC 5722); Linux does in IPv4 too, unless a fragment lies within what came before:
//! then it keeps what came first. Nobody sends them by mistake, and each choice of bytes is somebody's way past a filter.
//! Who looks at a capture wants to see them all the same, and to be told. A fragment that brings nothing new and
//! contradicts nothing is no overlap but a copy, and makes no difference (RFC 8200, 4.5).

use super::fragment_header::{Addresses, Fragment, Key, Location, MAX_TOTAL};
use crate::capture::Time;
use arrayvec::ArrayVec;

/// The most runs of a packet. Fragments that come in order are one run; in any other order 64 KiB over links of 576
/// bytes, the least that every receiver of RFC 791 must take, are 119. So only splinters find no room, and finding
/// the place for one moves a few KiB at most.
pub(super) const MAX_RUNS: usize = 256;

/// The most frames listed, enough for 23 KB over Ethernet. A longer list would be most of what a set is.
pub const MAX_FRAMES: usize = 16;

/// The most memory of a set in bytes: a vector that grows may be twice as long as what it holds.
pub(super) const MAX_WEIGHT: usize = 2 * (MAX_TOTAL + 1) + MAX_RUNS * size_of::<Run>();

/// A stretch of the payload that came, `start..end`. Its captured bytes are `held` bytes at `at` in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: usize,
    end: usize,
    at: usize,
    held: usize,
}

impl Run {
    /// Whether the snap length cut nothing off.
    fn is_full(&self) -> bool {
        self.start.saturating_add(self.held) == self.end
    }

    /// What was captured of it from `start` to `stop`.
    fn part<'a>(&self, store: &'a [u8], start: usize, stop: usize) -> &'a [u8] {
        let place =
            |position: usize| self.at.saturating_add(position.saturating_sub(self.start).min(self.held));
        store.get(place(start)..place(stop)).unwrap_or_default()
    }
}

/// The memory of a set, used again by later ones.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    store: Vec<u8>,
    runs: Vec<Run>,
}

impl Buffers {
    /// Bytes of memory taken.
    pub fn weight(&self) -> usize {
        let runs = self.runs.capacity().saturating_mul(size_of::<Run>());
        self.store.capacity().saturating_add(runs)
    }
}

/// How far a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Something is missing.
    Open,
    /// The packet was handed out; copies of its fragments may still come.
    Whole,
    /// A later packet has taken its place.
    Replaced,
}

/// What inserting a fragment changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    /// Bytes that were missing, and nothing else.
    NewBytes,
    /// Nothing.
    Duplicate,
    /// Something that contradicts what came before it, and perhaps bytes that were missing.
    Conflict,
    /// Bytes that found no room: [`MAX_RUNS`].
    NoRoom,
}

/// A reassembled packet, or the beginning of one that never became whole.
// Tests look at more of it than decapsulating does.
#[cfg_attr(not(test), allow(dead_code))]
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// Its addresses.
    pub addresses: Addresses,
    /// Its identification.
    pub id: u32,
    /// The tunnel it came out of, as in its fragments.
    pub tunnel: u16,
    /// Number of what the payload begins with, by the first fragment (offset 0).
    pub protocol: u8,
    /// Where the first fragment was found. Only its own bytes lie there one after the other.
    pub first: Location,
    /// The payload from its beginning to the first byte that is missing.
    pub payload: Vec<u8>,
    /// Length of the payload on the wire in bytes; `None` where the last fragment is missing.
    pub total: Option<usize>,
    /// How much of that was in the fragments that came, captured or not, in bytes.
    pub came: usize,
    /// Whether every fragment came. The payload may be shorter than `total` even then: the snap length.
    pub whole: bool,
    /// Whether fragments contradicted each other: they overlapped, or named two ends. Receivers throw it away.
    pub disputed: bool,
    /// The frames it was made of, in the order in which they came, as many as fit.
    pub frames: ArrayVec<u64, MAX_FRAMES>,
    /// How many fragments it was made of.
    pub pieces: u32,
}

/// The fragments of one packet.
#[derive(Debug)]
pub(super) struct Set {
    pub key: Key,
    /// Capture time when its first fragment came.
    pub since: Time,
    pub state: State,
    pub buffers: Buffers,
    /// The packet so far, without its payload.
    packet: Packet,
}

impl Set {
    /// An empty one for the packet of a fragment; of the buffers only the memory is used.
    pub fn new(fragment: &Fragment<'_>, since: Time, mut buffers: Buffers) -> Set {
        buffers.store.clear();
        buffers.runs.clear();
        let key = fragment.header.key;
        let packet = Packet {
            addresses: key.addresses,
            id: key.id,
            tunnel: key.tunnel,
            protocol: fragment.header.protocol,
            first: fragment.place,
            payload: vec![],
            total: None,
            came: 0,
            whole: false,
            disputed: false,
            frames: ArrayVec::new(),
            pieces: 0,
        };
        Set { key, since, state: State::Open, buffers, packet }
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.packet.total == Some(self.packet.came)
    }

    /// Whether the first fragment has come.
    fn has_beginning(&self) -> bool {
        self.buffers.runs.first().is_some_and(|run| run.start == 0)
    }

    /// Takes a sound fragment in.
    pub fn insert(&mut self, fragment: &Fragment<'_>) -> Insertion {
        if self.contradicts_end(fragment) {
            self.packet.disputed = true;
            return Insertion::Conflict;
        }
        let (before, begun) = (self.packet.came, self.has_beginning());
        let contested = self.cover(fragment);
        let begins = !begun && self.has_beginning();
        let packet = &mut self.packet;
        if begins {
            (packet.first, packet.protocol) = (fragment.place, fragment.header.protocol);
        }
        let brought = packet.came > before;
        if brought {
            packet.pieces = packet.pieces.saturating_add(1);
            // What does not fit is not listed; `pieces` says how many there were.
            let _ = packet.frames.try_push(fragment.place.frame);
        }
        let Some(contested) = contested else { return Insertion::NoRoom };
        if !fragment.header.more {
            packet.total = Some(fragment.end());
        }
        packet.disputed |= contested;
        match (contested, brought) {
            (true, _) => Insertion::Conflict,
            (false, true) => Insertion::NewBytes,
            (false, false) => Insertion::Duplicate,
        }
    }

    /// Whether what a fragment says of the packet's end contradicts what is known of it.
    fn contradicts_end(&self, fragment: &Fragment<'_>) -> bool {
        let end = fragment.end();
        match self.packet.total {
            Some(total) if fragment.header.more => end >= total,
            Some(total) => end != total,
            // So far every fragment said that more follows.
            None => !fragment.header.more && self.buffers.runs.last().is_some_and(|run| run.end >= end),
        }
    }

    /// Fills the gaps that a fragment can fill. Says whether it was more than that and no copy: `None` when a gap was
    /// left for want of room.
    fn cover(&mut self, fragment: &Fragment<'_>) -> Option<bool> {
        let (before, end) = (self.packet.came, fragment.end());
        let (mut start, mut common, mut differs) = (fragment.header.offset, false, false);
        let mut index = self.buffers.runs.partition_point(|run| run.end <= start);
        while start < end {
            let next = self.buffers.runs.get(index).copied();
            match next {
                Some(run) if run.start <= start => {
                    let stop = run.end.min(end);
                    common = true;
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
        Some(differs || common && self.packet.came > before)
    }

    /// Whether captured bytes of a run are not those of a fragment.
    fn differs(&self, run: &Run, fragment: &Fragment<'_>, start: usize, stop: usize) -> bool {
        let ours = run.part(&self.buffers.store, start, stop);
        let theirs = fragment.part(start, stop);
        let both = ours.len().min(theirs.len());
        ours.get(..both) != theirs.get(..both)
    }

    /// Fills the gap `start..stop` in front of the run `index`. Returns the index of what follows, `None` where there
    /// is no room.
    fn fill(&mut self, index: usize, start: usize, stop: usize, bytes: &[u8]) -> Option<usize> {
        let Buffers { store, runs } = &mut self.buffers;
        let at = store.len();
        let crowded = runs.len() >= MAX_RUNS;
        let after = match index.checked_sub(1).and_then(|before| runs.get_mut(before)) {
            // Next to each other on the wire and in the store.
            Some(run) if run.end == start && run.is_full() && run.at.saturating_add(run.held) == at => {
                run.end = stop;
                run.held = run.held.saturating_add(bytes.len());
                index
            }
            _ if crowded => return None,
            _ => {
                runs.insert(index, Run { start, end: stop, at, held: bytes.len() });
                index.saturating_add(1)
            }
        };
        store.extend_from_slice(bytes);
        self.packet.came = self.packet.came.saturating_add(stop.saturating_sub(start));
        Some(after)
    }

    /// Whether a fragment brings nothing to a packet that is whole, and contradicts nothing.
    pub fn repeats(&self, fragment: &Fragment<'_>) -> bool {
        !self.contradicts_end(fragment)
            && self.buffers.runs.iter().all(|run| {
                let (start, stop) = (run.start.max(fragment.header.offset), run.end.min(fragment.end()));
                start >= stop || !self.differs(run, fragment, start, stop)
            })
    }

    /// The packet, as far as it has come; `None` where its beginning has not. Uses the memory of `payload`.
    pub fn packet(&self, mut payload: Vec<u8>) -> Option<Packet> {
        if !self.has_beginning() {
            return None;
        }
        payload.clear();
        let mut next = 0;
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
        Some(Packet { payload, whole: self.is_whole(), ..self.packet.clone() })
    }
}
