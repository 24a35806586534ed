//! Remembers facts about frames until all their datagrams have been reported.

use super::Files;
use crate::bounded::Bounded;
use crate::budget::Budget;
use crate::by_frame::ByFrame;
use crate::capture::{self, Comments, Frame, Time};
use crate::filter::{FrameFacts, Needs, View};
use crate::net::{Datagram, DropReason, Endpoint};
use hashbrown::HashMap;
use std::sync::Arc;

/// Most frames remembered: sixteen times as many as wait in the pipeline, for frames that do not wait pass meanwhile.
pub const MAX_RECENT: usize = 16_384;
/// Most bytes kept of these frames, where bytes are needed: 16 MiB.
pub const MAX_RECENT_BYTES: usize = 16 << 20;
/// Most UDP conversations that get a number in each file.
pub const MAX_STREAMS: usize = 262_144;

/// What a filter or columns needed, but lacked for want of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Datagrams whose frames were not remembered any more, because too many other frames came in between.
    pub frames: u64,
    /// Datagrams with more values than are picked of a datagram.
    pub values: u64,
    /// Exchanges of which it was no longer known whether one of their packets had passed.
    pub exchanges: u64,
}

/// Facts about recent frames, and their bytes, as far as they are needed.
#[derive(Debug, Default)]
pub(super) struct Recent {
    needs: Needs,
    frames: ByFrame<Kept>,
    bytes: usize,
    pub files: Files,
    /// Names of the files.
    names: Vec<Arc<str>>,
    /// Of the file that is being read: names of its interfaces, time stamps of its first frame and of the latest one.
    interfaces: Vec<Option<Arc<str>>>,
    first: Option<Time>,
    before: Option<Time>,
    /// Numbers of the file's UDP conversations.
    streams: HashMap<(Endpoint, Endpoint), u32>,
    /// The captures' comments on packets.
    pub comments: Comments,
    /// Datagrams whose frame was not remembered any more.
    pub missed: u64,
}

#[derive(Debug)]
struct Kept {
    facts: FrameFacts,
    bytes: Vec<u8>,
}

impl Recent {
    pub fn new(needs: Needs) -> Recent {
        Recent { needs, ..Recent::default() }
    }

    /// Passes on the view of a datagram, completed by what is known of its frame and file. Frames are numbered through all
    /// files of a run; in the view it is the number in the file.
    pub fn complete<T>(&mut self, view: View<'_>, look: impl FnOnce(&View<'_>) -> T) -> T {
        let frame = view.datagram.map_or(0, |d| d.frame);
        let place = self.files.place(frame);
        let local = view.datagram.map(|d| Datagram { frame: place.frame, ..*d });
        let said = if self.needs.any(Needs::COMMENTS) { self.comments.of(frame) } else { None };
        let (comments, name) = (said.as_deref().unwrap_or_default(), self.names.get(place.file).cloned());
        let (facts, bytes) = self.get(frame);
        look(&View { datagram: local.as_ref(), file: name.as_deref(), facts, bytes, comments, ..view })
    }

    /// A file begins.
    pub fn begin(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) {
        self.files.begin(before);
        self.names.push(name.into());
        self.interfaces = facts.interfaces.iter().map(|it| it.name.as_deref().map(Arc::from)).collect();
        (self.first, self.before) = (None, None);
        self.streams.clear();
    }

    /// Whether frames are needed at all.
    pub fn needs_frames(&self) -> bool {
        self.needs.any(Needs::FACTS.and(Needs::BYTES))
    }

    /// A frame has been read.
    pub fn see(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if !self.needs_frames() {
            return;
        }
        self.first.get_or_insert(frame.time);
        let before = self.before.replace(frame.time).unwrap_or(frame.time);
        if DropReason::may_hold_datagram(parsed) {
            let stream = parsed.as_ref().ok().and_then(|d| self.stream(d.src, d.dst));
            self.keep(frame, before, stream);
        }
    }

    /// The number of a conversation, as Wireshark counts; none for conversations beyond [`MAX_STREAMS`].
    fn stream(&mut self, src: Endpoint, dst: Endpoint) -> Option<u32> {
        let (known, key) = (self.streams.len(), if src <= dst { (src, dst) } else { (dst, src) });
        if known >= MAX_STREAMS {
            return self.streams.get(&key).copied();
        }
        Some(*self.streams.entry(key).or_insert(known as u32))
    }

    fn keep(&mut self, frame: &Frame<'_>, before: Time, stream: Option<u32>) {
        let mut bytes = vec![];
        while self.frames.len() >= MAX_RECENT || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.frames.pop() else { break };
            self.bytes -= oldest.bytes.len();
            bytes = oldest.bytes; // its memory is used again
        }
        bytes.clear();
        if self.needs.any(Needs::BYTES) {
            bytes.extend_from_slice(frame.bytes);
            self.bytes += bytes.len();
        }
        let facts = FrameFacts {
            number: self.files.place(frame.number).frame,
            first: self.first.unwrap_or(frame.time),
            before,
            interface_name: self.interfaces.get(frame.interface as usize).cloned().flatten(),
            stream,
            ..FrameFacts::of(frame)
        };
        self.frames.push(frame.number, Kept { facts, bytes });
    }

    /// What is remembered of a frame, by its number in the run.
    fn get(&mut self, frame: u64) -> (Option<&FrameFacts>, &[u8]) {
        if !self.needs_frames() {
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

/// Most datagrams whose frames are remembered until they are reported; the oldest go first.
const MAX_JOINED: usize = 4_096;

/// The frames of each datagram, by the number of the frame with which it is reported.
#[derive(Debug)]
pub(super) struct Joined(Bounded<u64, Box<[u64]>, MAX_JOINED>);

impl Default for Joined {
    fn default() -> Self {
        Joined(Budget::default().into())
    }
}

impl Joined {
    /// Remembers that the datagram of a frame was reassembled from these frames.
    pub fn note(&mut self, frame: u64, pieces: &[u64]) {
        self.0.insert(frame, pieces.into());
    }

    /// The frames of a datagram; none where it came in one frame.
    pub fn of(&self, d: &Datagram<'_>) -> &[u64] {
        match self.0.get(&d.frame) {
            Some(pieces) if d.at >= Datagram::NOWHERE => pieces,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(recent: &mut Recent, number: u64, bytes: &[u8]) {
        let frame = Frame { number, time: Time::UNKNOWN, link: 1, interface: 0, at: 0, wire_len: 60, bytes };
        recent.see(&frame, &Err(DropReason::Tunnel));
    }

    #[test]
    fn frames_are_forgotten_in_their_order_and_that_is_counted() {
        let mut recent = Recent::new(Needs::FACTS);
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
    fn conversations_beyond_those_remembered_have_no_number() {
        let mut recent = Recent::new(Needs::FACTS);
        let server = Endpoint::v4([10, 0, 0, 1], 9);
        let client = |n: usize| Endpoint::v4((0x0b00_0000 + n as u32).to_be_bytes(), 7);
        let numbers = (0..MAX_STREAMS).map(|n| recent.stream(client(n), server));
        assert!(numbers.enumerate().all(|(n, number)| number == Some(n as u32)));
        assert_eq!(recent.stream(client(MAX_STREAMS), server), None);
        assert_eq!(recent.stream(server, client(5)), Some(5), "either way");
    }

    #[test]
    fn bytes_are_bounded() {
        let mut recent = Recent::new(Needs::BYTES);
        let long = vec![7; MAX_RECENT_BYTES / 4];
        (1..=9).for_each(|number| see(&mut recent, number, &long));
        assert!(recent.bytes <= MAX_RECENT_BYTES + long.len() && recent.frames.len() == 5);
        assert_eq!(recent.get(9).1, long);
        assert_eq!(recent.get(4).1, b"");
    }

    #[test]
    fn the_oldest_are_forgotten_and_what_came_in_one_frame_has_no_others() {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let datagram = |frame, at| Datagram { frame, at, ..Datagram::between(end, end, &[]) };
        let mut joined = Joined::default();
        let last = 2 * MAX_JOINED as u64;
        (1..=MAX_JOINED as u64).for_each(|n| joined.note(2 * n, &[2 * n - 1, 2 * n]));
        assert_eq!(joined.of(&datagram(2, Datagram::NOWHERE)), [1, 2]);
        joined.note(last + 2, &[last + 1, last + 2]);
        assert!(joined.of(&datagram(2, Datagram::NOWHERE)).is_empty());
        assert_eq!(joined.of(&datagram(4, Datagram::NOWHERE)), [3, 4]);
        assert_eq!(joined.of(&datagram(last + 2, Datagram::NOWHERE)), [last + 1, last + 2]);
        assert!(joined.of(&datagram(4, 100)).is_empty(), "it stands in the file as one piece");
    }
}
