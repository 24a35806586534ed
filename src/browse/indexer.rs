//! The report that fills an index.

use super::kept::Kept;
use super::row::{FramePlace, Row};
use super::spool::Spool;
use super::{Capture, Index, MAX_KEPT_BYTES};
use crate::bounded::ByFrame;
use crate::capture::{CaptureInfo, Comments, Frame, Time};
use crate::check::{Finding, Packet};
use crate::net::{Datagram, DropReason, Tunnel};
use crate::report::{FragmentFrames, MAX_RECENT, Report, Totals, Wants};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A report that fills an index, which others may read meanwhile.
#[derive(Debug)]
pub struct Indexer {
    index: Arc<Mutex<Index>>,
    /// Where the latest frames are that may hold a datagram, and whether they hold it as it is.
    frames: ByFrame<(FramePlace, bool)>,
    /// The interface and the link type of the last frame, and their index in the table.
    origin: Option<((u32, u16), u16)>,
    fragments: FragmentFrames,
    comments: Comments,
    spool: Option<Spool>,
    /// The current capture is compressed.
    is_compressed: bool,
}

impl Indexer {
    /// A report that fills `index`.
    pub fn new(index: Arc<Mutex<Index>>) -> Indexer {
        let has_memory = index.lock().is_ok_and(|index| index.memory.is_used());
        Indexer {
            index,
            frames: ByFrame::default(),
            origin: None,
            fragments: FragmentFrames::default(),
            comments: Comments::default(),
            spool: has_memory.then(Spool::default),
            is_compressed: false,
        }
    }

    /// Keeps the frames of packets from compressed captures in this file, which is empty or was used for that before. Without
    /// it, and without [room in the index](Index::with_room_for_frames), such packets
    /// [need reading again](Row::needs_reading_again).
    pub fn with_spool(mut self, file: Option<File>) -> Indexer {
        self.spool = file.and_then(Spool::in_file).or(self.spool);
        self
    }

    /// Where the frame of a packet can be read again; `None` if nowhere.
    fn place(&mut self, frame: u64) -> Option<FramePlace> {
        let (place, _) = *self.frames.get(frame)?;
        match &mut self.spool {
            Some(spool) if spool.is_used => {
                let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
                Some(FramePlace { at: spool.write(frame, &mut index.memory)?, ..place })
            }
            _ => (!self.is_compressed).then_some(place),
        }
    }

    /// Whether the next packet gets a row: whether there is room, and those before the first row have passed.
    fn takes_next(&self) -> bool {
        let mut index = self.index();
        if index.passed_over < index.before {
            index.passed_over += 1;
            return false;
        }
        let is_full = index.rows.len() >= index.most || index.memory.is_full;
        index.left_out += u64::from(is_full);
        !is_full
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index of a frame's interface and link type in the table; `None` where there are too many of them.
    fn origin(&mut self, frame: &Frame<'_>) -> Option<u16> {
        let origin = (frame.interface, frame.link);
        if let Some((_, at)) = self.origin.filter(|(last, _)| *last == origin) {
            return Some(at);
        }
        let mut index = self.index();
        let at = index.origins.iter().position(|known| *known == origin).unwrap_or(index.origins.len());
        let number = u16::try_from(at).ok()?;
        if at == index.origins.len() {
            index.origins.push(origin);
        }
        drop(index);
        self.origin = Some((origin, number));
        Some(number)
    }

    fn add(&self, mut row: Row, findings: &[Finding], kept: Option<Kept>) {
        let mut index = self.index();
        if index.memory.is_full {
            // Its frame had no room.
            index.left_out += 1;
            return;
        }
        let at = index.rows.len() as u32; // bounded by `most`
        if !index.findings.add(at, row.frame, findings) {
            row.set_again();
            index.more_findings += findings.len() as u64;
        }
        if let Some(kept) = kept {
            let size = index.kept_bytes + kept.size();
            if size > MAX_KEPT_BYTES {
                row.set_again();
            } else {
                index.kept_bytes = size;
                index.kept.insert(at, Box::new(kept));
                row.set_kept();
            }
        }
        index.rows.push(row);
    }

    fn flush_now_and_then(&mut self) {
        self.spool.iter_mut().filter(|spool| spool.is_used).for_each(Spool::flush_now_and_then);
    }

    fn kept(&self, d: &Datagram<'_>) -> Option<Kept> {
        let is_plain = self.frames.get(d.frame).is_some_and(|(_, is_plain)| *is_plain);
        Kept::of_datagram(d, is_plain, self.fragments.fragments_of(d), self.comments.of(d.frame))
    }
}

impl Report for Indexer {
    fn wants(&self) -> Wants {
        Wants { ordered: true, frames: true, diagnosis: true, ..Wants::default() }
    }

    fn comments(&mut self, comments: &Comments) {
        self.comments = comments.clone();
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        if !DropReason::may_hold_datagram(parsed) {
            return;
        }
        let Some(origin) = self.origin(frame) else { return };
        if self.frames.len() >= MAX_RECENT {
            self.frames.pop();
        }
        // A frame is never longer than the reader's buffer.
        let captured = frame.bytes.len() as u32;
        if let Some(spool) = self.spool.as_mut().filter(|spool| spool.is_used) {
            spool.remember(frame);
        }
        let place = FramePlace { at: frame.at, captured, wire: frame.wire_len, origin };
        self.frames.push(frame.number, (place, parsed.is_ok()));
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if !self.takes_next() {
            return Ok(());
        }
        let place = self.place(p.datagram.frame);
        let (row, is_whole) = Row::of(p, place);
        self.add(row, p.findings, Kept::of_packet(p, is_whole, self.kept(p.datagram)));
        self.flush_now_and_then();
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if !self.takes_next() {
            return Ok(());
        }
        let place = self.place(d.frame);
        self.add(Row::unclaimed(d, place), &[], self.kept(d));
        self.flush_now_and_then();
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.is_compressed = facts.compression.is_some();
        self.spool.iter_mut().for_each(|spool| spool.is_used = facts.compression.is_some());
        let mut index = self.index();
        index.files.begin(before);
        index.captures.push(Capture {
            name: name.to_owned(),
            facts: facts.clone(),
            before,
            first: Time::UNKNOWN,
        });
        Ok(())
    }

    fn file_read(&mut self, facts: &CaptureInfo, _: &Totals) {
        self.spool.iter_mut().for_each(Spool::flush);
        if let Some(capture) = self.index().captures.last_mut() {
            capture.facts = facts.clone();
        }
    }

    fn first_frame(&mut self, time: Time) {
        if let Some(capture) = self.index().captures.last_mut() {
            capture.first = time;
        }
    }

    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.index().tunnels.push((number, path.into()));
    }

    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.fragments.insert(frame, pieces);
    }

    fn finish(&mut self, _: &Totals) -> io::Result<()> {
        self.spool.iter_mut().for_each(Spool::flush);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_FINDINGS;
    use super::*;
    use crate::net::Endpoint;
    use crate::rule::general::GEN_001;

    fn indexer() -> (Indexer, Arc<Mutex<Index>>) {
        let index = Arc::new(Mutex::new(Index::new(usize::MAX)));
        (Indexer::new(index.clone()), index)
    }

    fn row(frame: u64) -> Row {
        let end = Endpoint::v4([192, 0, 2, 1], 7);
        let place = FramePlace { at: 0, captured: 0, wire: 0, origin: 0 };
        Row::unclaimed(&Datagram { frame, ..Datagram::between(end, end, &[]) }, Some(place))
    }

    #[test]
    fn packets_whose_findings_have_no_room_need_reading_again() {
        let (indexer, index) = indexer();
        let findings = [Finding::of_exchange(&GEN_001); 64];
        let fit = MAX_FINDINGS / findings.len();
        (0..=fit as u64).for_each(|frame| indexer.add(row(frame), &findings, None));
        indexer.add(row(fit as u64 + 1), &[], None);
        let index = index.lock().unwrap();
        assert_eq!(index.all_findings().count(), MAX_FINDINGS);
        let again: Vec<_> = index.rows().iter().skip(fit - 1).map(Row::needs_reading_again).collect();
        assert_eq!(again, [false, true, false]);
        assert_eq!(index.findings(fit - 1).count(), 64);
    }

    #[test]
    fn packets_that_are_not_in_one_frame_have_room_for_some_megabytes() {
        let (indexer, index) = indexer();
        let payload = vec![0; 60_000];
        let end = Endpoint::v4([192, 0, 2, 1], 7);
        let datagram = Datagram::between(end, end, &payload);
        let fit = MAX_KEPT_BYTES / Kept::of_datagram(&datagram, false, &[], None).unwrap().size();
        (0..fit as u64 + 2).for_each(|n| {
            indexer.add(row(n), &[], Kept::of_datagram(&datagram, false, &[], None));
        });
        let index = index.lock().unwrap();
        let again = index.rows().iter().filter(|row| row.needs_reading_again()).count();
        assert_eq!((again, index.kept.len()), (2, fit));
    }
}
