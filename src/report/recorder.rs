//! Remembers which frames were reported, and what was found in them, so that a second pass over the captures can pick them
//! out.

use super::recent_frames::Joined;
use super::{Files, Place, Report, SilentServer, Totals, Wants};
use crate::capture::CaptureInfo;
use crate::check::Finding;
use crate::decode::AnyListener;
use crate::exchange::Exchange;
use crate::net::{Datagram, Endpoint};
use crate::packed::Bits;
use crate::packet::Packet;
use crate::protocols::Id;
use hashbrown::HashMap;
use std::io::{self, ErrorKind};

/// Most findings kept as text; further findings are only counted.
const MAX_COMMENTS: usize = 50_000;
/// Most findings kept of one frame; further findings are only counted. Blocks of a capture must not grow without end.
const MAX_OF_FRAME: usize = 64;
/// The marked frames of one capture, one bit for each frame.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    bits: Bits,
}

impl Frames {
    /// Marks a frame; its number counts from 1.
    pub fn mark(&mut self, frame: u64) {
        self.bits.grow(frame as usize + 1);
        self.bits.set(frame as usize);
    }

    /// Whether a frame was marked.
    pub fn has(&self, frame: u64) -> bool {
        self.bits.has(frame as usize)
    }

    /// The highest marked frame; 0 without any.
    pub fn last(&self) -> u64 {
        self.bits.last().map_or(0, |at| at as u64)
    }
}

/// What is remembered of a capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// Frames whose datagrams were reported.
    pub frames: Frames,
    /// What the capture says about itself, as far as it was read.
    pub facts: CaptureInfo,
}

/// What is remembered of all captures.
#[derive(Debug, Default)]
pub struct Recording {
    /// Captures in the order read; a single one where frames come from no file.
    pub captures: Vec<Capture>,
    /// Findings as text, by index of the capture and number of the frame, in the order found.
    pub comments: HashMap<(usize, u64), Vec<String>>,
    /// Findings that were not kept for want of room.
    pub more: u64,
    /// Whether findings are kept at all.
    annotate: bool,
    /// Number of findings kept.
    told: usize,
    files: Files,
    /// Frames of reassembled datagrams that may still be reported.
    joined: Joined,
}

impl Recording {
    /// What is remembered of a capture.
    fn capture(&mut self, at: usize) -> &mut Capture {
        if self.captures.len() <= at {
            self.captures.resize_with(at + 1, Capture::default);
        }
        &mut self.captures[at]
    }

    /// Marks a frame, by its number in the run.
    fn mark(&mut self, frame: u64) {
        let place = self.files.place(frame);
        self.capture(place.file).frames.mark(place.frame);
    }

    /// Marks the frames of a datagram.
    fn mark_all(&mut self, datagram: &Datagram<'_>) {
        self.mark(datagram.frame);
        let pieces = self.joined.of(datagram).to_vec();
        pieces.iter().for_each(|&frame| self.mark(frame));
    }

    fn is_marked(&self, frame: u64) -> bool {
        let place = self.files.place(frame);
        self.captures.get(place.file).is_some_and(|capture| capture.frames.has(place.frame))
    }

    /// Keeps findings of a frame, by its number in the run; `unlisted` further findings are only counted.
    fn comment(&mut self, frame: u64, findings: &[Finding], unlisted: u32) {
        if !self.annotate || findings.is_empty() {
            return;
        }
        let place = self.files.place(frame);
        let at = (place.file, place.frame);
        let own = self.comments.get(&at).map_or(0, Vec::len);
        let room = MAX_OF_FRAME.saturating_sub(own).min(MAX_COMMENTS - self.told).min(findings.len());
        self.more += (findings.len() - room) as u64 + u64::from(unlisted);
        if room > 0 {
            self.comments
                .entry(at)
                .or_default()
                .extend(findings.iter().take(room).map(|f| sentence(f, place, &self.files)));
            self.told += room;
        }
    }
}

/// A finding of a frame as a comment: severity, rule, side at fault, what is wrong, where, and the cause.
fn sentence(finding: &Finding, here: Place, files: &Files) -> String {
    let Finding { rule, severity, fault, span, caused_by, .. } = finding;
    let mut text = format!("{} {} {}: {finding}", severity.name(), rule.id, fault.name());
    let bytes = span.map(|span| format!("payload bytes {}..{}", span.start, span.end));
    let place: Vec<_> = finding.path().into_iter().chain(bytes).collect();
    if !place.is_empty() {
        text += &format!(" ({})", place.join(", "));
    }
    if let Some(cause) = caused_by {
        text += &format!("; caused by {}", cause.rule.id);
        let there = files.place(cause.frame);
        if there != here {
            // The frame may have another number in the file in which the comment is read.
            let original = if there.file == here.file { "the original" } else { "an earlier capture" };
            text += &format!(" in frame {} of {original}", there.frame);
        }
    }
    text
}

/// A report that remembers what it is told, and passes it on to another report.
///
/// Where the other report cannot write any more, nothing is passed on, but everything is still remembered.
pub struct Recorder<'r> {
    report: &'r mut dyn Report,
    kept: Recording,
    closed: bool,
    /// Why nothing is passed on any more; not set where a reader went away.
    lost: Option<io::Error>,
}

impl<'r> Recorder<'r> {
    /// A recorder in front of `report`, which also keeps findings if asked to.
    pub fn new(report: &'r mut dyn Report, annotate: bool) -> Self {
        Recorder { report, kept: Recording { annotate, ..Recording::default() }, closed: false, lost: None }
    }

    /// What was remembered, and the error if the report could not be written to its end. A reader that went away is no
    /// error.
    pub fn into_parts(self) -> (Recording, Option<io::Error>) {
        (self.kept, self.lost)
    }

    fn tell(&mut self, tell: impl FnOnce(&mut dyn Report) -> io::Result<()>) {
        if !self.closed
            && let Err(e) = tell(self.report)
        {
            self.closed = true;
            self.lost = Some(e).filter(|e| e.kind() != ErrorKind::BrokenPipe);
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
        self.kept.mark_all(packet.datagram);
        self.kept.comment(packet.datagram.frame, packet.findings, packet.more_findings);
        self.tell(|report| report.packet(packet));
        Ok(())
    }

    fn unclaimed(&mut self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.kept.mark_all(datagram);
        self.tell(|report| report.unclaimed(datagram));
        Ok(())
    }

    fn exchange(&mut self, exchange: &Exchange, findings: &[Finding]) -> io::Result<()> {
        // A filter may let the exchange pass and not its request, which is then not written.
        if self.kept.is_marked(exchange.request_frame) {
            self.kept.comment(exchange.request_frame, findings, 0);
        }
        self.tell(|report| report.exchange(exchange, findings));
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.kept.files.begin(before);
        self.kept.capture(self.kept.files.len() - 1);
        self.tell(|report| report.file(name, facts, before));
        Ok(())
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.kept.joined.note(frame, pieces);
        self.report.reassembled(frame, pieces);
    }

    fn file_read(&mut self, facts: &CaptureInfo, totals: &Totals) {
        let last = self.kept.files.len().saturating_sub(1);
        self.kept.capture(last).facts = facts.clone();
        self.report.file_read(facts, totals);
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.tell(|report| report.one_sided(servers));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for silent in servers.iter().filter(|s| self.kept.is_marked(s.frame)).collect::<Vec<_>>() {
            self.kept.comment(silent.frame, &[silent.finding], 0);
        }
        self.tell(|report| report.silent_servers(servers));
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.tell(|report| report.finish(totals));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_are_remembered_and_no_others(marked in proptest::collection::btree_set(1u64..1000, 0..60)) {
            let mut frames = Frames::default();
            marked.iter().for_each(|&frame| frames.mark(frame));
            let back: Vec<_> = (1..1100).filter(|&frame| frames.has(frame)).collect();
            prop_assert_eq!(&back, &marked.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(frames.last(), marked.last().copied().unwrap_or(0));
        }
    }

    #[test]
    fn findings_are_bounded_and_the_rest_is_counted() {
        let mut kept = Recording { annotate: true, ..Recording::default() };
        let finding = Finding::of_datagram(crate::protocols::rules().next().unwrap(), 7);
        let many = vec![finding; 100];
        kept.comment(1, &many, 0);
        assert_eq!((kept.comments[&(0, 1)].len(), kept.more), (64, 36));
        for frame in 2..2000 {
            kept.comment(frame, &many, 3);
        }
        assert_eq!(kept.comments.values().map(Vec::len).sum::<usize>(), MAX_COMMENTS);
        assert_eq!(kept.more, 100 * 1999 + 3 * 1998 - MAX_COMMENTS as u64);
        assert!(kept.comments.values().all(|own| own[0].ends_with(" (payload bytes 0..7)")));
    }
}
