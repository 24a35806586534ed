//! Reads files, and decides whether a file continues the one before.

use super::checksums::Checksums;
use super::{Pipeline, Stopped};
use crate::capture::{self, Frame, Source, Time};
use crate::net;
use std::io;

/// A file continues the one before even if it begins up to this much before the end of that one (in nanoseconds), but
/// nearer to its end than to its beginning: time stamps of several interfaces are a little out of order. Short captures
/// of the same moment overlap for most of their time.
const MAX_BACK: i64 = 100_000_000;
/// After a longer gap between two files, in nanoseconds, no exchange is open any more, and conversations at the
/// beginning of the next file may be older than that file.
const MAX_GAP: i64 = 30_000_000_000;

impl Pipeline<'_> {
    /// Reads a capture to its end, or to the frame count asked for. Frames read before an error count.
    ///
    /// The capture continues the conversations of the file before if it begins where that file ended, as rotated files
    /// do; otherwise they are closed first.
    ///
    /// # Errors
    /// When the capture cannot be read on, or the report cannot be written.
    pub fn read(&mut self, source: &mut Source, file: &str) -> Result<(), Stopped> {
        self.begin(source, file)?;
        let result = self.frames(source);
        self.end(source);
        result
    }

    /// Reads a capture as [`read`](Self::read) does, but another thread reads and probes the frames ahead of this one,
    /// where the report and the options allow that. The result is the same to the byte.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_ahead(&mut self, source: &mut Source, file: &str) -> Result<(), Stopped> {
        // Nothing must be read beyond a frame count, and a report that wants to see frames needs them in this thread.
        if self.report.needs_frames() || self.options.count.is_some() {
            return self.read(source, file);
        }
        self.begin(source, file)?;
        let result = self.frames_with_reader(source);
        self.end(source);
        result
    }

    /// Begins a capture that is read in steps; see [`read`](Self::read).
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn begin(&mut self, source: &mut Source, file: &str) -> io::Result<()> {
        let first_time = if self.totals.files > 0 { source.next_time() } else { Time::UNKNOWN };
        source.count_from(self.frame);
        source.comment_into(&self.comments);
        self.begin_file(file, source.info(), first_time)
    }

    /// Begins a file whose first frame has that time stamp. It continues the file before if it begins where that file
    /// ended, as rotated files do. For callers that provide [frames](Self::frame) or [datagrams](Self::datagram)
    /// themselves; frames are numbered through all files.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn begin_file(
        &mut self,
        name: &str,
        facts: &capture::CaptureInfo,
        first_time: Time,
    ) -> io::Result<()> {
        if self.totals.files > 0 {
            self.continue_or_close(first_time)?;
        }
        self.totals.files += 1;
        self.at_file_start = true;
        self.frames_before_file = self.frame;
        self.counts_before_file = self.counts();
        let has_direction = facts.links.iter().any(|&link| net::has_direction(link));
        self.dedup
            .begin(facts.format == "pcap" && !has_direction, has_direction || facts.interfaces.len() > 1);
        self.report.file(name, facts, self.frame)
    }

    /// Raises the number of frames before the next file: the frames between are in other parts of the capture.
    pub fn skip_to(&mut self, before: u64) {
        self.is_part = true;
        self.frame = self.frame.max(before);
    }

    /// Ends a file that has been read to its end, or as far as possible; `facts` are those known by now.
    pub fn end_file(&mut self, facts: &capture::CaptureInfo) {
        self.totals.add_capture(facts);
        self.report.file_read(facts, &self.totals);
        self.report.file_decoded(&mut self.listener);
    }

    /// The reason if no frame of the capture read last could be read: a clause without the file name. `facts` are
    /// those known at its end.
    pub fn why_unreadable(&self, facts: &capture::CaptureInfo) -> Option<String> {
        let [frames, unknown] = [0, 1].map(|at| self.counts()[at] - self.counts_before_file[at]);
        let unread = facts.links.iter().filter(|&&link| !net::is_supported_link(link));
        let links = unread.map(|&link| capture::link_name(link)).collect::<Vec<_>>().join(", ");
        (unknown > 0 && unknown == frames).then(|| {
            format!(
                "no frame can be read, for link type {links} is not supported: `tshark -r FILE -U IP -w OUT` writes a \
                 capture of the IP packets in it, or capture on another interface"
            )
        })
    }

    /// Number of frames so far, and of those with an unknown link type.
    fn counts(&self) -> [u64; 2] {
        [self.totals.packets, self.totals.not_datagrams.get(net::DropReason::UnknownLink)]
    }

    /// Continues or closes the file before, depending on the time at which the next one begins, which may be unknown.
    fn continue_or_close(&mut self, time: Time) -> io::Result<()> {
        // Capture time, without the time that the wall clock has added to it.
        let latest = self.totals.span.map_or(Time::UNKNOWN, |(_, high)| high).min(self.table.clock());
        let gap = time.since(latest);
        let is_adjacent =
            |gap: i64| gap >= -MAX_BACK && time.since(self.file_start).is_some_and(|t| t > (-gap).max(0));
        let continues = gap.is_some_and(is_adjacent) && !self.options.per_file;
        if !continues {
            self.totals.overlap |= gap.is_some() && !self.options.per_file;
            self.close()?;
            self.report.file_decoded(&mut self.listener);
            self.checksums = Checksums::default();
            self.dedup.clear();
            self.translations.clear(self.options.budget);
            // Captures of the same time are of different places, or the same capture again: facts learnt from one do
            // not hold for another.
            self.report_one_sided()?;
            self.forget();
        }
        if !continues || gap.is_some_and(|gap| gap > MAX_GAP) {
            self.series_start = Time::UNKNOWN;
        }
        Ok(())
    }

    /// Forgets everything learnt from the files so far.
    fn forget(&mut self) {
        self.totals.memory_forgotten += self.protocol_memories.forgotten() + self.attribution.forgotten();
        self.totals.memory_forgotten += self.table.conversations.forgotten() + self.unused.forgotten();
        self.unused = self.options.budget.into();
        (self.protocol_memories, self.attribution) = (self.options.budget.into(), self.options.budget.into());
        self.table.conversations.forget_unused(self.options.budget);
        self.classifier.servers.reset();
    }

    /// Ends a capture that was [begun](Self::begin) and has been read to its end, or as far as possible.
    pub fn end(&mut self, source: &Source) {
        // This includes the blocks that Wireshark numbers like frames.
        self.frame = self.frame.max(source.frames());
        self.end_file(source.info());
    }

    #[inline(always)]
    pub(super) fn wants_more(&self) -> bool {
        self.options.count.is_none_or(|most| self.totals.packets < most)
    }

    /// Reads frames that are not in a capture file as one file of that name.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn read_frames<'f>(
        &mut self,
        file: &str,
        facts: &capture::CaptureInfo,
        frames: impl IntoIterator<Item = Frame<'f>>,
    ) -> io::Result<()> {
        let mut frames = frames.into_iter().peekable();
        let first = frames.peek().map_or(Time::UNKNOWN, |frame| frame.time);
        self.begin_file(file, facts, first)?;
        frames.try_for_each(|frame| self.frame(&frame))?;
        self.end_file(facts);
        Ok(())
    }

    pub(super) fn frames(&mut self, source: &mut Source) -> Result<(), Stopped> {
        self.read_until(source, u64::MAX).map(drop)
    }

    /// Continues to read a capture that was [begun](Self::begin), up to the first frame at or after that offset,
    /// which is taken too. Returns whether it stopped there; otherwise the end has been reached, or the frame count
    /// asked for.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline(always)]
    pub fn read_until(&mut self, source: &mut Source, offset: u64) -> Result<bool, Stopped> {
        let mut stopped = false;
        if self.wants_more() {
            source.each(|frame| {
                self.frame(frame)?;
                stopped = frame.at >= offset;
                Ok::<_, Stopped>(!stopped && self.wants_more())
            })?;
        }
        Ok(stopped)
    }
}
