//! Files: where they begin and end, and which go on with the one before.

use super::checksums::Checksums;
use super::{Pipeline, Stopped};
use crate::capture::{self, Frame, Source, Time};
use crate::decode::Listener;
use crate::net;
use std::io;

/// A file that begins that much before the end of the one before, and after its beginning, still goes on with
/// it, in nanoseconds: time stamps of several interfaces are a little out of order.
const MAX_BACK: i64 = 100_000_000;
/// After a longer gap between two files in nanoseconds no exchange is open any more, and what the next file
/// begins with may be older than it.
const MAX_GAP: i64 = 30_000_000_000;

impl<S: Listener> Pipeline<'_, S> {
    /// Reads a capture to its end, or to the frame count asked for. What was read before an error counts.
    ///
    /// It goes on with the conversations of the one before if it begins where that ended, as rotated files
    /// do; otherwise those are closed first.
    ///
    /// # Errors
    /// When the capture cannot be read on, or the report cannot be written.
    pub fn read(&mut self, source: &mut Source, file: &str) -> Result<(), Stopped> {
        self.begin(source, file)?;
        let read = self.frames(source);
        self.end(source);
        read
    }

    /// The same, with the frames read and looked at by another thread ahead of this one, where the report and the
    /// options allow that. What comes of it is the same to the byte.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_ahead(&mut self, source: &mut Source, file: &str) -> Result<(), Stopped> {
        // Who stops after some frames must not have read on; who wants to see frames must have them here.
        if self.report.watches() || self.options.count.is_some() {
            return self.read(source, file);
        }
        self.begin(source, file)?;
        let read = self.frames_ahead(source);
        self.end(source);
        read
    }

    /// A capture begins that is to be read in steps; see [`read`](Self::read).
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn begin(&mut self, source: &mut Source, file: &str) -> io::Result<()> {
        let first_time = if self.totals.files > 0 { source.next_time() } else { Time::UNKNOWN };
        source.count_from(self.frame);
        source.comment_into(&self.comments);
        self.begin_file(file, source.facts(), first_time)
    }

    /// A file begins whose first frame has that time stamp; it goes on with the file before if it begins where that ended, as
    /// rotated files do. For callers that have [frames](Self::frame) or [datagrams](Self::datagram) of their own; frames are
    /// numbered through all files.
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
            self.goes_on(first_time)?;
        }
        self.totals.files += 1;
        self.fresh = true;
        self.file_at = self.frame;
        self.counted = self.counts();
        self.dedup.begin(facts.format == "pcap" && !facts.links.iter().any(|&link| net::has_direction(link)));
        self.report.file(name, facts, self.frame)
    }

    /// The next file begins after that many frames: those that are missing lie elsewhere.
    pub fn skip_to(&mut self, before: u64) {
        self.frame = self.frame.max(before);
    }

    /// The file has been read, to its end or as far as it goes; `facts` are those known by now.
    pub fn end_file(&mut self, facts: &capture::CaptureInfo) {
        self.totals.see(facts);
        self.report.file_read(facts, &self.totals);
        self.report.listened(&mut self.sink);
    }

    /// Why nothing of the capture read last was understood, if that is so: a clause without the name. `facts` are those of its
    /// end.
    pub fn strange(&self, facts: &capture::CaptureInfo) -> Option<String> {
        let [frames, unknown] = [0, 1].map(|at| self.counts()[at] - self.counted[at]);
        let links: Vec<_> = facts.links.iter().map(|&link| capture::link_name(link)).collect();
        let links = links.join(", ");
        (unknown > 0 && unknown == frames).then(|| {
            format!(
                "no frame can be read, for link type {links} is not supported: `tshark -r FILE -U IP -w OUT` writes a \
                 capture of the IP packets in it, or capture on another interface"
            )
        })
    }

    /// Frames so far, and those of an unknown link type among them.
    fn counts(&self) -> [u64; 2] {
        [self.totals.packets, self.totals.not_datagrams.get(net::DropReason::UnknownLink)]
    }

    /// A further file begins, at a time that may be unknown: goes on with the one before, or closes it.
    fn goes_on(&mut self, time: Time) -> io::Result<()> {
        // Capture time, but not what the clock on the wall has added to it.
        let latest = self.totals.span.map_or(Time::UNKNOWN, |(_, high)| high).min(self.table.clock());
        let gap = time.since(latest);
        let goes_on = gap.is_some_and(|gap| gap >= -MAX_BACK) && time > self.began && !self.options.per_file;
        if !goes_on {
            self.close()?;
            self.report.listened(&mut self.sink);
            self.checksums = Checksums::default();
            self.dedup.clear();
            // Captures of the same time are of different places, or the same once more: none speaks for another.
            self.tell_one_sided()?;
            self.forget();
        }
        if !goes_on || gap.is_some_and(|gap| gap > MAX_GAP) {
            self.first = Time::UNKNOWN;
        }
        Ok(())
    }

    /// Nothing that is remembered of the files so far counts any more.
    fn forget(&mut self) {
        self.totals.memory_forgotten += self.memories.forgotten() + self.attribution.forgotten();
        self.totals.memory_forgotten += self.table.conversations.forgotten();
        (self.memories, self.attribution) = (self.options.budget.into(), self.options.budget.into());
        self.table.conversations.forget_unused();
        self.memory.servers.begin_anew();
    }

    /// A capture that was [begun](Self::begin) has been read, to its end or as far as it goes.
    pub fn end(&mut self, source: &Source) {
        // Also the blocks that Wireshark numbers like frames.
        self.frame = self.frame.max(source.frames());
        self.end_file(source.facts());
    }

    #[inline(always)]
    pub(super) fn wants_more(&self) -> bool {
        self.options.count.is_none_or(|most| self.totals.packets < most)
    }

    /// Takes frames that stand in no capture as one file of that name.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn play<'f>(
        &mut self,
        file: &str,
        facts: &capture::CaptureInfo,
        frames: impl IntoIterator<Item = Frame<'f>>,
    ) -> Result<(), Stopped> {
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

    /// Reads a capture that was [begun](Self::begin) on, up to the first frame at that offset or behind it. Whether it stopped
    /// there: else the end has been reached, or the frame count asked for.
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
