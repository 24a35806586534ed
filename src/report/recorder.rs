//! Records the reported frames and their findings, so that a second pass over the captures can extract these frames.

#[cfg(feature = "page")]
use super::payload::{FieldStyle, fields};
use super::recent_frames::FragmentFrames;
use super::{Files, Place, Report, SilentServer, Totals, Wants};
use crate::bounded::packed::Bits;
use crate::capture::CaptureInfo;
use crate::check::{Finding, Packet};
use crate::decode::AnyListener;
#[cfg(feature = "page")]
use crate::decode::Tree;
use crate::exchange::Exchange;
use crate::net::{Datagram, Endpoint};
use crate::protocols::Id;
use hashbrown::HashMap;
use std::io::{self, ErrorKind};

/// Maximum number of findings kept as text; further findings are only counted.
const MAX_COMMENTS: usize = 50_000;
/// Maximum number of messages whose fields are kept as text, and of bytes of all these texts; further ones are only counted.
#[cfg(feature = "page")]
const MAX_TREES: usize = 50_000;
#[cfg(feature = "page")]
const MAX_TREE_BYTES: usize = 32 << 20;
/// Maximum number of findings kept of a frame, which bounds the size of a block in a capture; further findings are only
/// counted.
const MAX_OF_FRAME: usize = 64;

/// The marked frames of a capture, one bit per frame.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    bits: Bits,
}

impl Frames {
    /// Marks a frame. Frame numbers count from 1.
    pub fn mark(&mut self, frame: u64) {
        self.bits.grow(frame as usize + 1);
        self.bits.set(frame as usize);
    }

    /// Whether a frame is marked.
    pub fn has(&self, frame: u64) -> bool {
        self.bits.has(frame as usize)
    }

    /// The last marked frame; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.bits.last().map_or(0, |at| at as u64)
    }
}

/// The recorded facts about a capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// Frames whose datagrams were reported.
    pub frames: Frames,
    /// Metadata of the capture, as far as it was read.
    pub facts: CaptureInfo,
}

/// What is kept as comments on frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remarks {
    /// Nothing.
    #[default]
    None,
    /// Findings.
    Findings,
    /// Findings, and the fields of each message; passwords only if they may be shown.
    #[cfg(feature = "page")]
    Fields {
        /// Whether passwords may be shown.
        secrets: bool,
    },
}

/// The recorded facts about all captures.
#[derive(Debug, Default)]
pub struct Recording {
    /// Captures in the order read; a single one if frames come from no file.
    pub captures: Vec<Capture>,
    /// Fields of messages as text, by index of the capture and number of the frame: a line with the protocol and the message, and a
    /// line for each field.
    pub fields: HashMap<(usize, u64), String>,
    /// Number of messages whose fields were not kept for want of room.
    pub without_fields: u64,
    /// Findings as text in the order found, by index of the capture and number of the frame.
    pub comments: HashMap<(usize, u64), Vec<String>>,
    /// Number of findings not kept for want of room.
    pub more: u64,
    remarks: Remarks,
    /// Bytes of `fields`.
    #[cfg(feature = "page")]
    field_bytes: usize,
    #[cfg(feature = "page")]
    tree: Tree,
    /// Number of findings kept.
    comment_count: usize,
    files: Files,
    /// Frames of the fragments of reassembled datagrams that may still be reported.
    fragments: FragmentFrames,
}

impl Recording {
    /// The facts about a capture.
    fn capture(&mut self, at: usize) -> &mut Capture {
        if self.captures.len() <= at {
            self.captures.resize_with(at + 1, Capture::default);
        }
        &mut self.captures[at]
    }

    /// Marks a frame with this number in the run.
    fn mark(&mut self, frame: u64) {
        let place = self.files.place(frame);
        self.capture(place.file).frames.mark(place.frame);
    }

    /// Marks all frames of a datagram.
    fn mark_all(&mut self, datagram: &Datagram<'_>) {
        self.mark(datagram.frame);
        let pieces = self.fragments.fragments_of(datagram).to_vec();
        pieces.iter().for_each(|&frame| self.mark(frame));
    }

    fn is_marked(&self, frame: u64) -> bool {
        let place = self.files.place(frame);
        self.captures.get(place.file).is_some_and(|capture| capture.frames.has(place.frame))
    }

    /// Keeps findings of a frame with this number in the run, and counts `unlisted` further findings.
    fn add_comments(&mut self, frame: u64, findings: &[Finding], unlisted: u32) {
        if self.remarks == Remarks::None || findings.is_empty() {
            return;
        }
        let place = self.files.place(frame);
        let key = (place.file, place.frame);
        let existing = self.comments.get(&key).map_or(0, Vec::len);
        let room =
            MAX_OF_FRAME.saturating_sub(existing).min(MAX_COMMENTS - self.comment_count).min(findings.len());
        self.more += (findings.len() - room) as u64 + u64::from(unlisted);
        if room > 0 {
            self.comments
                .entry(key)
                .or_default()
                .extend(findings.iter().take(room).map(|f| sentence(f, place, &self.files)));
            self.comment_count += room;
        }
    }
}

#[cfg(feature = "page")]
impl Recording {
    /// Keeps the fields of a message.
    fn add_fields(&mut self, packet: &Packet<'_>) {
        let Remarks::Fields { secrets } = self.remarks else { return };
        self.keep_fields(packet.datagram.frame, |tree| {
            packet.decode_again(secrets, tree);
            let style = FieldStyle { bytes: false, colour: false };
            let lines = fields(tree, packet.bytes, (&[], None), style, &|_| String::new());
            // Of a message in several datagrams the bytes are not all here.
            let bytes = match packet.whole() {
                None => format!(", payload bytes 0..{}", packet.bytes.len()),
                Some(_) => String::new(),
            };
            let title = format!("fields {} {}{bytes}", packet.id.info().name, packet.message_name());
            format!("{title}\n{}", lines.join("\n"))
        });
    }

    /// Keeps a text about a frame with this number in the run, or counts it.
    fn keep_fields(&mut self, frame: u64, text: impl FnOnce(&mut Tree) -> String) {
        if self.fields.len() >= MAX_TREES || self.field_bytes >= MAX_TREE_BYTES {
            self.without_fields += 1;
            return;
        }
        let text = text(&mut self.tree);
        self.field_bytes += text.len();
        let place = self.files.place(frame);
        self.fields.insert((place.file, place.frame), text);
    }
}

/// A finding of a frame as a comment: severity, rule, side at fault, message, position and cause.
fn sentence(finding: &Finding, place: Place, files: &Files) -> String {
    let Finding { rule, severity, fault, span, caused_by, .. } = finding;
    let mut text = format!("{} {} {}: {finding}", severity.name(), rule.id, fault.name());
    let bytes = span.map(|span| format!("payload bytes {}..{}", span.start, span.end));
    let location: Vec<_> = finding.path().into_iter().chain(bytes).collect();
    if !location.is_empty() {
        text += &format!(" ({})", location.join(", "));
    }
    if let Some(cause) = caused_by {
        text += &format!("; caused by {}", cause.rule.id);
        let cause_place = files.place(cause.frame);
        if cause_place != place {
            // The frame may have another number in the file that contains the comment.
            let original = if cause_place.file == place.file { "the original" } else { "an earlier capture" };
            text += &format!(" in frame {} of {original}", cause_place.frame);
        }
    }
    text
}

/// A report that records its input and forwards it to another report.
///
/// When the other report fails to write, nothing more is forwarded, but everything is still recorded.
pub struct Recorder<'r> {
    report: &'r mut dyn Report,
    recording: Recording,
    is_closed: bool,
    /// The error of the other report; not set if its reader closed the pipe.
    write_error: Option<io::Error>,
}

impl<'r> Recorder<'r> {
    /// A recorder in front of `report`, which also keeps these remarks.
    pub fn new(report: &'r mut dyn Report, remarks: Remarks) -> Self {
        Recorder {
            report,
            recording: Recording { remarks, ..Recording::default() },
            is_closed: false,
            write_error: None,
        }
    }

    /// The recording, and the error if the report could not be written completely. A closed pipe is no error.
    pub fn into_parts(self) -> (Recording, Option<io::Error>) {
        (self.recording, self.write_error)
    }

    fn pass_on(&mut self, write: impl FnOnce(&mut dyn Report) -> io::Result<()>) {
        if !self.is_closed
            && let Err(e) = write(self.report)
        {
            self.is_closed = true;
            self.write_error = Some(e).filter(|e| e.kind() != ErrorKind::BrokenPipe);
        }
    }
}

impl Report for Recorder<'_> {
    fn listener(&self) -> AnyListener {
        self.report.listener()
    }

    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(self.report)
    }

    fn wants(&self) -> Wants {
        self.report.wants()
    }

    fn needs_frames(&self) -> bool {
        self.report.needs_frames()
    }

    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.recording.mark_all(packet.datagram);
        #[cfg(feature = "page")]
        self.recording.add_fields(packet);
        self.recording.add_comments(packet.datagram.frame, packet.findings, packet.more_findings);
        self.pass_on(|report| report.packet(packet));
        Ok(())
    }

    fn unclaimed(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.recording.mark_all(datagram);
        self.pass_on(|report| report.unclaimed(datagram));
        Ok(())
    }

    fn exchange(&mut self, exchange: &Exchange, findings: &[Finding]) -> io::Result<()> {
        // A filter may pass the exchange but not its request, which is then not written.
        if self.recording.is_marked(exchange.request_frame) {
            self.recording.add_comments(exchange.request_frame, findings, 0);
        }
        self.pass_on(|report| report.exchange(exchange, findings));
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.recording.files.begin(before);
        self.recording.capture(self.recording.files.len() - 1);
        self.pass_on(|report| report.file(name, facts, before));
        Ok(())
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.recording.fragments.insert(frame, pieces);
        self.report.reassembled(frame, pieces);
    }

    fn file_read(&mut self, facts: &CaptureInfo, totals: &Totals) {
        let last = self.recording.files.len().saturating_sub(1);
        self.recording.capture(last).facts = facts.clone();
        self.report.file_read(facts, totals);
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.pass_on(|report| report.one_sided(servers));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for silent in servers.iter().filter(|s| self.recording.is_marked(s.frame)).collect::<Vec<_>>() {
            self.recording.add_comments(silent.frame, &[silent.finding], 0);
        }
        self.pass_on(|report| report.silent_servers(servers));
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.pass_on(|report| report.finish(totals));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remembers_exactly_the_marked_frames(marked in proptest::collection::btree_set(1u64..1000, 0..60)) {
            let mut frames = Frames::default();
            marked.iter().for_each(|&frame| frames.mark(frame));
            let back: Vec<_> = (1..1100).filter(|&frame| frames.has(frame)).collect();
            prop_assert_eq!(&back, &marked.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(frames.last(), marked.last().copied().unwrap_or(0));
        }
    }

    #[cfg(feature = "page")]
    #[test]
    fn bounds_fields_and_counts_the_rest() {
        for (messages, length, kept) in [(MAX_TREES + 2, 1, MAX_TREES), (40, 1 << 20, MAX_TREE_BYTES >> 20)] {
            let mut recording = Recording::default();
            (1..=messages).for_each(|frame| recording.keep_fields(frame as u64, |_| "a".repeat(length)));
            assert_eq!((recording.fields.len(), recording.without_fields), (kept, (messages - kept) as u64));
        }
    }

    #[test]
    fn bounds_findings_and_counts_the_rest() {
        let mut recording = Recording { remarks: Remarks::Findings, ..Recording::default() };
        let finding = Finding::of_datagram(crate::protocols::rules().next().unwrap(), 7);
        let many = vec![finding; 100];
        recording.add_comments(1, &many, 0);
        assert_eq!((recording.comments[&(0, 1)].len(), recording.more), (64, 36));
        for frame in 2..2000 {
            recording.add_comments(frame, &many, 3);
        }
        assert_eq!(recording.comments.values().map(Vec::len).sum::<usize>(), MAX_COMMENTS);
        assert_eq!(recording.more, 100 * 1999 + 3 * 1998 - MAX_COMMENTS as u64);
        assert!(recording.comments.values().all(|comments| comments[0].ends_with(" (payload bytes 0..7)")));
    }
}
