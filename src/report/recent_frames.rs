//! Remembers facts about frames until all their datagrams have been reported.

use super::{Files, count};
use crate::bounded::{Bounded, Budget, ByFrame};
use crate::capture::{self, Comments, Frame, Time};
use crate::filter::{FrameFacts, Needs, Stream, View};
use crate::net::{Datagram, DropReason, Endpoint};
use hashbrown::HashMap;
use std::sync::Arc;

/// Maximum number of frames remembered: sixteen times as many as can be pending in the pipeline, because other frames
/// pass in the meantime.
pub const MAX_RECENT: usize = 16_384;
/// Maximum number of bytes kept of these frames, if bytes are needed: 16 MiB.
pub const MAX_RECENT_BYTES: usize = 16 << 20;
/// Maximum number of UDP conversations that are numbered in each file.
pub const MAX_STREAMS: usize = 262_144;

/// Counts of data that a filter or columns needed, but that was not kept for want of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Datagrams whose frames were forgotten because too many other frames followed.
    pub frames: u64,
    /// Datagrams with more values than the limit of a datagram.
    pub values: u64,
    /// Exchanges for which it was forgotten whether one of their packets had passed.
    pub exchanges: u64,
}

impl Missed {
    /// A sentence about each kind. The `subject`, such as "The filter", is what could not take it into account.
    pub fn sentences(self, subject: &str) -> Vec<String> {
        let Missed { frames, values, exchanges } = self;
        let datagrams = |n| count(n, "datagram");
        let (headers, overfull, forgotten) =
            (datagrams(frames), datagrams(values), count(exchanges, "exchange"));
        let all = [
            (
                frames,
                format!("{subject} had no headers of {headers}: too many other frames stood in between."),
            ),
            (
                values,
                format!("{subject} had not all values of {overfull}: they hold more than are picked of one."),
            ),
            (
                exchanges,
                format!(
                    "Whether a packet passed was forgotten of {forgotten}, for want of room: they were judged by themselves."
                ),
            ),
        ];
        all.into_iter().filter(|(n, _)| *n > 0).map(|(_, sentence)| sentence).collect()
    }
}

/// Facts about recent frames and, if needed, their bytes.
#[derive(Debug, Default)]
pub(super) struct RecentFrames {
    needs: Needs,
    frames: ByFrame<RecentFrame>,
    bytes: usize,
    pub files: Files,
    /// Names of the files.
    names: Vec<Arc<str>>,
    /// Interface names of the current file.
    interfaces: Vec<Option<Arc<str>>>,
    /// Time stamp of the first frame of the current file.
    first_time: Option<Time>,
    /// Time stamp of the latest frame of the current file.
    previous_time: Option<Time>,
    /// The UDP conversations of the current file, with the time stamps of their latest datagrams.
    streams: HashMap<(Endpoint, Endpoint), Stream>,
    /// The captures' comments on packets.
    pub comments: Comments,
    /// Number of datagrams whose frame was forgotten.
    pub missed: u64,
}

#[derive(Debug)]
struct RecentFrame {
    facts: FrameFacts,
    bytes: Vec<u8>,
}

impl RecentFrames {
    pub fn new(needs: Needs) -> RecentFrames {
        RecentFrames { needs, ..RecentFrames::default() }
    }

    /// Calls `evaluate` with the view of a datagram, completed by facts about its frame and file. The view has the
    /// number of the frame in its file instead of the number in the run.
    pub fn with_frame<T>(&mut self, view: View<'_>, evaluate: impl FnOnce(&View<'_>) -> T) -> T {
        let frame = view.datagram.map_or(0, |d| d.frame);
        let place = self.files.place(frame);
        let local_datagram = view.datagram.map(|d| Datagram { frame: place.frame, ..*d });
        let frame_comments = if self.needs.any(Needs::COMMENTS) { self.comments.of(frame) } else { None };
        let (comments, name) =
            (frame_comments.as_deref().unwrap_or_default(), self.names.get(place.file).cloned());
        let (facts, bytes) = self.frame_and_bytes(frame);
        evaluate(&View {
            datagram: local_datagram.as_ref(),
            file: name.as_deref(),
            facts,
            bytes,
            comments,
            ..view
        })
    }

    /// Begins a file.
    pub fn begin(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) {
        self.files.begin(before);
        self.names.push(name.into());
        self.interfaces =
            facts.interfaces.iter().map(|interface| interface.name.as_deref().map(Arc::from)).collect();
        (self.first_time, self.previous_time) = (None, None);
        self.streams.clear();
    }

    /// Whether frames are needed.
    pub fn needs_frames(&self) -> bool {
        self.needs.any(Needs::FACTS.and(Needs::BYTES))
    }

    /// Remembers a frame that may contain a datagram, if frames are needed.
    pub fn see(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if !self.needs_frames() {
            return;
        }
        self.first_time.get_or_insert(frame.time);
        let previous_time = self.previous_time.replace(frame.time).unwrap_or(frame.time);
        if DropReason::may_hold_datagram(parsed) {
            let stream = parsed.as_ref().ok().and_then(|d| self.stream((d.src, d.dst), frame.time));
            self.store(frame, previous_time, stream);
        }
    }

    /// The conversation of a datagram, counted as in Wireshark; `None` for conversations beyond [`MAX_STREAMS`].
    fn stream(&mut self, (src, dst): (Endpoint, Endpoint), now: Time) -> Option<Stream> {
        let (stream_count, key) = (self.streams.len(), if src <= dst { (src, dst) } else { (dst, src) });
        let stream = if stream_count >= MAX_STREAMS {
            self.streams.get_mut(&key)?
        } else {
            let new = Stream { number: stream_count as u32, first: now, before: now };
            self.streams.entry(key).or_insert(new)
        };
        Some(Stream { before: std::mem::replace(&mut stream.before, now), ..*stream })
    }

    fn store(&mut self, frame: &Frame<'_>, previous_time: Time, stream: Option<Stream>) {
        let mut bytes = vec![];
        while self.frames.len() >= MAX_RECENT || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.frames.pop() else { break };
            self.bytes -= oldest.bytes.len();
            bytes = oldest.bytes; // reuse its memory
        }
        bytes.clear();
        if self.needs.any(Needs::BYTES) {
            bytes.extend_from_slice(frame.bytes);
            self.bytes += bytes.len();
        }
        let facts = FrameFacts {
            number: self.files.place(frame.number).frame,
            first: self.first_time.unwrap_or(frame.time),
            before: previous_time,
            interface_name: self.interfaces.get(frame.interface as usize).cloned().flatten(),
            stream,
            ..FrameFacts::of(frame)
        };
        self.frames.push(frame.number, RecentFrame { facts, bytes });
    }

    /// The facts and bytes of a frame with this number in the run.
    fn frame_and_bytes(&mut self, frame: u64) -> (Option<&FrameFacts>, &[u8]) {
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

/// Maximum number of datagrams whose frames are remembered until they are reported. The oldest are forgotten first.
const MAX_FRAGMENTED: usize = 4_096;

/// The frames of the fragments of each reassembled datagram, by the frame with which it is reported.
#[derive(Debug)]
pub(crate) struct FragmentFrames(Bounded<u64, Box<[u64]>, MAX_FRAGMENTED>);

impl Default for FragmentFrames {
    fn default() -> Self {
        FragmentFrames(Budget::default().into())
    }
}

impl FragmentFrames {
    /// Remembers that the datagram reported with `frame` was reassembled from these frames.
    pub fn insert(&mut self, frame: u64, pieces: &[u64]) {
        self.0.insert(frame, pieces.into());
    }

    /// The frames of a datagram's fragments; empty if it was not fragmented.
    pub fn fragments_of(&self, d: &Datagram<'_>) -> &[u64] {
        match self.0.get(&d.frame) {
            Some(pieces) if d.at >= Datagram::NOT_IN_FILE => pieces,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(recent: &mut RecentFrames, number: u64, bytes: &[u8]) {
        let frame = Frame { number, time: Time::UNKNOWN, link: 1, interface: 0, at: 0, wire_len: 60, bytes };
        recent.see(&frame, &Err(DropReason::Tunnel));
    }

    #[test]
    fn each_kind_of_missed_data_has_a_sentence() {
        assert!(Missed::default().sentences("The filter").is_empty());
        let sentences = Missed { frames: 1, values: 2, exchanges: 3 }.sentences("The columns");
        assert!(sentences[0].starts_with("The columns had no headers of 1 datagram: "), "{sentences:?}");
        assert!(sentences[1].starts_with("The columns had not all values of 2 datagrams: "), "{sentences:?}");
        assert!(
            sentences[2].starts_with("Whether a packet passed was forgotten of 3 exchanges, "),
            "{sentences:?}"
        );
    }

    #[test]
    fn forgets_frames_in_order_and_counts_missed_ones() {
        let mut recent = RecentFrames::new(Needs::FACTS);
        recent.files.begin(0);
        recent.files.begin(10);
        let last = 2 * (MAX_RECENT as u64 + 5);
        (1..=last / 2).for_each(|i| see(&mut recent, 2 * i, &[0; 20]));
        assert_eq!(
            recent.frame_and_bytes(last).0.map(|facts| facts.number),
            Some(last - 10),
            "its number in the file"
        );
        assert_eq!(recent.frame_and_bytes(12).0.map(|facts| facts.number), Some(2));
        assert_eq!(
            (recent.frame_and_bytes(10).0.is_none(), recent.frame_and_bytes(13).0.is_none(), recent.missed),
            (true, true, 2)
        );
        assert!(recent.frame_and_bytes(last).1.is_empty(), "nobody needs bytes");
    }

    #[test]
    fn conversations_beyond_the_limit_have_no_number() {
        let mut recent = RecentFrames::new(Needs::FACTS);
        let server = Endpoint::v4([10, 0, 0, 1], 9);
        let client = |n: usize| Endpoint::v4((0x0b00_0000 + n as u32).to_be_bytes(), 7);
        let number = |recent: &mut RecentFrames, src, dst| {
            recent.stream((src, dst), Time::UNKNOWN).map(|stream| stream.number)
        };
        let numbers = (0..MAX_STREAMS).map(|n| number(&mut recent, client(n), server));
        assert!(numbers.enumerate().all(|(n, number)| number == Some(n as u32)));
        assert_eq!(number(&mut recent, client(MAX_STREAMS), server), None);
        assert_eq!(number(&mut recent, server, client(5)), Some(5), "either way");
    }

    #[test]
    fn bytes_are_bounded() {
        let mut recent = RecentFrames::new(Needs::BYTES);
        let long = vec![7; MAX_RECENT_BYTES / 4];
        (1..=9).for_each(|number| see(&mut recent, number, &long));
        assert!(recent.bytes <= MAX_RECENT_BYTES + long.len() && recent.frames.len() == 5);
        assert_eq!(recent.frame_and_bytes(9).1, long);
        assert_eq!(recent.frame_and_bytes(4).1, b"");
    }

    #[test]
    fn forgets_the_oldest_fragments_and_unfragmented_datagrams_have_none() {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let datagram = |frame, at| Datagram { frame, at, ..Datagram::between(end, end, &[]) };
        let mut fragments = FragmentFrames::default();
        let last = 2 * MAX_FRAGMENTED as u64;
        (1..=MAX_FRAGMENTED as u64).for_each(|n| fragments.insert(2 * n, &[2 * n - 1, 2 * n]));
        assert_eq!(fragments.fragments_of(&datagram(2, Datagram::NOT_IN_FILE)), [1, 2]);
        fragments.insert(last + 2, &[last + 1, last + 2]);
        assert!(fragments.fragments_of(&datagram(2, Datagram::NOT_IN_FILE)).is_empty());
        assert_eq!(fragments.fragments_of(&datagram(4, Datagram::NOT_IN_FILE)), [3, 4]);
        assert_eq!(fragments.fragments_of(&datagram(last + 2, Datagram::NOT_IN_FILE)), [last + 1, last + 2]);
        assert!(fragments.fragments_of(&datagram(4, 100)).is_empty(), "it stands in the file as one piece");
    }
}
