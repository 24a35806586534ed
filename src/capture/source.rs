//! An open capture.

use super::blocks::Section;
use super::buffer::{Buffer, Bytes, Refill};
use super::cutter::{Cut, Cutter};
use super::magic::{self, Format};
use super::pcap::{self, Found, Layout};
use super::{CaptureInfo, Comments, Error, Frame, Interface, Time};
use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the capture's records are parsed: format and byte order in one, so that there is one branch per frame, and
/// always the same one.
#[derive(Clone, Copy, Debug)]
enum Walk {
    PcapLittle,
    PcapBig,
    NgLittle,
    NgBig,
    /// pcapng where the next block needs the slow path: the first block, or one after a block larger than the
    /// buffer.
    NgSlow,
    /// The end or an error has been reached.
    Over,
}

/// The record at the start of `rest`, if it is complete and of the usual kind.
#[inline(always)]
fn parse_record(walk: Walk, layout: &Layout, section: &Section, rest: &[u8]) -> Option<Found> {
    match walk {
        Walk::PcapLittle => layout.parse_record::<false>(rest),
        Walk::PcapBig => layout.parse_record::<true>(rest),
        Walk::NgLittle => section.parse_enhanced::<false>(rest),
        Walk::NgBig => section.parse_enhanced::<true>(rest),
        Walk::NgSlow | Walk::Over => None,
    }
}

/// An open capture: pull frames until [`None`].
pub struct Source {
    buffer: Buffer,
    walk: Walk,
    frames: u64,
    layout: Layout,
    section: Section,
    info: CaptureInfo,
    /// An error met while looking ahead, to be reported once the frames before it have been handed out.
    deferred_error: Option<Error>,
    /// Where other threads can see how far reading has come.
    progress: Option<Arc<AtomicU64>>,
    /// Where comments on packets are stored.
    comments: Option<Comments>,
    path: PathBuf,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("offset", &self.offset())
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file, a FIFO or a device such as `/dev/fd/3`.
    ///
    /// # Errors
    /// [`Io`](super::ErrorKind::Io) when it cannot be opened or read, else as
    /// [`from_reader`](Self::from_reader). A directory is not a capture.
    pub fn open(path: &Path) -> Result<Source, Error> {
        Source::open_through(path, |file| Box::new(file))
    }

    /// As [`open`](Self::open), but reads from the reader that `through` makes of the open file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_through(
        path: &Path,
        through: impl FnOnce(File) -> Box<dyn Read + Send>,
    ) -> Result<Source, Error> {
        let directory = || {
            let text = "it is a directory and not a capture: name the captures in it";
            Err(Error::not_a_capture(text).with_path(path))
        };
        match File::open(path) {
            Ok(file) if file.metadata().is_ok_and(|it| it.is_dir()) => directory(),
            Ok(file) => Source::from_reader(path, through(file)),
            // Some systems do not open directories at all.
            Err(_) if path.is_dir() => directory(),
            Err(error) => Err(Error::unopened(error).with_path(path)),
        }
    }

    /// Reads a capture in memory; `name` is for messages.
    ///
    /// # Errors
    /// See [`from_reader`](Self::from_reader).
    pub fn in_memory(name: impl Into<PathBuf>, capture: Vec<u8>) -> Result<Source, Error> {
        Source::from_reader(name, Box::new(Cursor::new(capture)))
    }

    /// Reads a capture from `reader`; `name` is for messages.
    ///
    /// Reads the file header, and in pcapng on to the first packet: on a pipe this waits for them. Input compressed
    /// with gzip, zstd, lz4, xz or bzip2 is decompressed; every offset then counts decompressed bytes.
    ///
    /// # Errors
    /// [`NotACapture`](super::ErrorKind::NotACapture) when the first bytes are not those of pcap or pcapng or end
    /// too early, [`Io`](super::ErrorKind::Io) when they cannot be read; [`CutShort`](super::ErrorKind::CutShort) or
    /// [`Damaged`](super::ErrorKind::Damaged) when they cannot be decompressed. Faults further on are reported by
    /// [`next`](Self::next).
    pub fn from_reader(name: impl Into<PathBuf>, reader: Box<dyn Read + Send>) -> Result<Source, Error> {
        let path = name.into();
        let mut buffer = Buffer::new(reader);
        let (format, compression) = magic::format(&mut buffer).map_err(|error| error.with_path(&path))?;
        let strange_name = path.to_str().is_none().then(|| path.clone());
        let mut source = Source {
            buffer,
            walk: Walk::NgSlow,
            frames: 0,
            layout: Layout::default(),
            section: Section::default(),
            info: CaptureInfo { compression, strange_name, ..CaptureInfo::default() },
            deferred_error: None,
            progress: None,
            comments: None,
            path,
        };
        match format {
            Format::Pcap(layout) => source.start_pcap(layout),
            Format::Pcapng => source.start_pcapng(),
        }
        Ok(source)
    }

    /// The next frame, or `None` at the end.
    ///
    /// # Errors
    /// Once, after the frames before it: [`CutShort`](super::ErrorKind::CutShort),
    /// [`Damaged`](super::ErrorKind::Damaged) or [`Io`](super::ErrorKind::Io). From then on, and after
    /// `None`, every call gives `None`.
    // Not an `Iterator`: the frame borrows the buffer.
    #[allow(clippy::should_implement_trait)]
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Error> {
        let found = self.find_next()?;
        Ok(found.map(|found| self.hand_out(found)))
    }

    /// The record at the front of the buffer, if it is complete and of the usual kind.
    #[inline(always)]
    fn parse_next(&self) -> Option<Found> {
        parse_record(self.walk, &self.layout, &self.section, self.buffer.window()?)
    }

    /// Hands out frames until `take` wants no more or the capture ends. Does the same as [`next`](Self::next) in a
    /// loop, but keeps the state of the walk in local variables while a buffer lasts.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next) and of `take`; a frame for which `take` fails counts as handed out.
    #[inline(always)]
    pub fn each<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(&Frame<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        while let Some(found) = self.find_next()?
            && self.hand_out_from(found, &mut take)?
        {}
        Ok(())
    }

    /// Finds the next frame, and reads more input where necessary.
    ///
    /// # Errors
    /// The errors of [`next`](Self::next).
    #[inline(always)]
    pub(crate) fn find_next(&mut self) -> Result<Option<Found>, Error> {
        match self.parse_next() {
            Some(found) => Ok(Some(found)),
            None => self.find_next_slow(),
        }
    }

    /// Hands out the frame that [`find_next`](Self::find_next) has found, and the frames after it in the buffer. Returns
    /// whether there may be more and `take` wants them.
    ///
    /// # Errors
    /// The errors of `take`; the frame for which it fails counts as handed out.
    #[inline(always)]
    pub(crate) fn hand_out_from<E>(
        &mut self,
        found: Found,
        take: impl FnMut(&Frame<'_>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        // One loop per kind of record, so that each is compiled for its kind.
        match self.walk {
            Walk::PcapLittle => {
                self.hand_out_all(found, |s, rest| s.layout.parse_record::<false>(rest), take)
            }
            Walk::PcapBig => self.hand_out_all(found, |s, rest| s.layout.parse_record::<true>(rest), take),
            Walk::NgLittle => {
                self.hand_out_all(found, |s, rest| s.section.parse_enhanced::<false>(rest), take)
            }
            Walk::NgBig => self.hand_out_all(found, |s, rest| s.section.parse_enhanced::<true>(rest), take),
            Walk::NgSlow | Walk::Over => self.hand_out_all(found, |_, _| None, take),
        }
    }

    #[inline(always)]
    fn hand_out_all<E>(
        &mut self,
        found: Found,
        parse: impl Fn(&Source, &[u8]) -> Option<Found>,
        mut take: impl FnMut(&Frame<'_>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (window, mut at, mut number) = (self.buffer.rest(), self.buffer.offset(), self.frames);
        let (mut rest, mut done, mut next) = (window, Ok(true), Some(found.split(window)));
        while let Some((found, bytes, after)) = next {
            number = number.wrapping_add(1);
            let frame = found.frame(number, at, bytes);
            (rest, at) = (after, at.wrapping_add(found.total.into()));
            match take(&frame) {
                // The record is split where it has just been found to be complete.
                Ok(true) => next = parse(self, rest).map(|found| found.split(rest)),
                // Two arms, because a common one costs six instructions per frame.
                Ok(false) => {
                    done = Ok(false);
                    break;
                }
                Err(error) => {
                    done = Err(error);
                    break;
                }
            }
        }
        let handed_out = window.len().wrapping_sub(rest.len());
        self.frames = number;
        self.buffer.advance(handed_out);
        done
    }

    /// Lends memory, to which the unread bytes move when the buffer next needs room.
    pub fn lend(&mut self, bytes: Bytes) {
        self.buffer.lend(bytes);
    }

    /// Takes the bytes of all frames handed out since memory was lent, once the buffer has moved to the lent memory;
    /// with `now`, it moves at once.
    pub fn take_filled(&mut self, now: bool) -> Option<Bytes> {
        let filled = self.buffer.take_filled();
        if filled.is_none() && now {
            self.buffer.make_room();
            return self.buffer.take_filled();
        }
        filled
    }

    #[inline(always)]
    fn hand_out(&mut self, found: Found) -> Frame<'_> {
        self.frames = self.frames.wrapping_add(1);
        let (number, at) = (self.frames, self.buffer.offset());
        let (found, bytes, _) = found.split(self.buffer.take(found.total));
        found.frame(number, at, bytes)
    }

    /// Continues the frame numbers after `before`, the number of frames in the files before this one. To be called
    /// before the first [`next`](Self::next).
    pub fn count_from(&mut self, before: u64) {
        self.frames = self.frames.saturating_add(before);
    }

    /// Stores the number of the last frame read where other threads, and the reader, can see it: whenever the buffer
    /// has run out, before more is read.
    pub fn count_into(&mut self, frames: Arc<AtomicU64>) {
        self.progress = Some(frames);
    }

    /// Stores the comments on packets read from now on in `comments`.
    pub fn comment_into(&mut self, comments: &Comments) {
        self.comments = Some(comments.clone());
    }

    /// The number of the last frame read, or of a block that Wireshark numbers like one.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Time stamp of the next frame, which is not consumed; unknown where there is none. On a pipe this waits for
    /// the head of its record.
    pub fn next_time(&mut self) -> Time {
        let time_of = |found: Option<Found>| found.map_or(Time::UNKNOWN, |found| found.time);
        let time = match self.walk {
            Walk::PcapLittle => self.layout.read_record::<false>(&mut self.buffer).map(time_of),
            Walk::PcapBig => self.layout.read_record::<true>(&mut self.buffer).map(time_of),
            Walk::NgLittle | Walk::NgBig | Walk::NgSlow => self.section.next_time(&mut self.buffer),
            Walk::Over => return Time::UNKNOWN,
        };
        time.unwrap_or_else(|error| {
            // Reported when the frame is asked for: some readers fail once, and then seem to have ended.
            (self.deferred_error, self.walk) = (Some(error), Walk::Over);
            Time::UNKNOWN
        })
    }

    /// Whether [`next`](Self::next) can return without more input: with a complete packet, or because the capture has
    /// ended.
    pub fn is_ready(&self) -> bool {
        let mut cutter = match self.walk {
            Walk::Over | Walk::NgSlow => return true,
            Walk::PcapLittle | Walk::PcapBig => Cutter::pcap(&self.layout),
            Walk::NgLittle | Walk::NgBig => Cutter::pcapng(self.section.big),
        };
        let mut rest = self.buffer.rest();
        loop {
            match cutter.next(rest) {
                Cut::Packet(_) | Cut::Damaged => return true,
                Cut::Other(len) => rest = rest.get(len..).unwrap_or_default(),
                Cut::Part => return false,
            }
        }
    }

    /// Reads once from the input, for callers that must not wait for a whole record. If the reader times out with
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), the caller can do other work in between.
    ///
    /// # Errors
    /// [`Io`](super::ErrorKind::Io) when the input cannot be read.
    pub fn refill(&mut self) -> Result<Refill, Error> {
        self.buffer.refill().map_err(|error| error.with_path(&self.path))
    }

    /// Facts that the capture states about itself, as far as it has been read.
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Bytes of the capture that have been consumed.
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }

    /// The name under which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finds the next frame where [`parse_next`](Self::parse_next) found none.
    #[cold]
    fn find_next_slow(&mut self) -> Result<Option<Found>, Error> {
        if let Some(progress) = &self.progress {
            progress.store(self.frames, Ordering::Relaxed);
        }
        let found = match self.walk {
            Walk::PcapLittle => self.layout.read_record::<false>(&mut self.buffer),
            Walk::PcapBig => self.layout.read_record::<true>(&mut self.buffer),
            Walk::NgLittle | Walk::NgBig | Walk::NgSlow => self.read_blocks(),
            Walk::Over => self.deferred_error.take().map_or(Ok(None), Err),
        };
        if !matches!(found, Ok(Some(_))) {
            self.walk = Walk::Over;
        }
        found.map_err(|error| error.with_path(&self.path))
    }

    /// Finds the next packet block, and reads all blocks before it.
    fn read_blocks(&mut self) -> Result<Option<Found>, Error> {
        let Some(block) = self.section.next_packet(&mut self.buffer, &mut self.info, &mut self.frames)?
        else {
            return Ok(None);
        };
        let found = self.section.read_packet(&mut self.buffer, block)?;
        if let Some(packets) = self.section.lost_before(&self.buffer, block, found) {
            self.info.note_lost(found.interface, packets);
        }
        if let Some(comments) = &self.comments {
            let texts = self.section.comments(&self.buffer, block, found);
            comments.add(self.frames.wrapping_add(1), texts);
        }
        self.walk = match (&self.section.tail, self.section.big) {
            (Some(_), _) => Walk::NgSlow,
            (None, false) => Walk::NgLittle,
            (None, true) => Walk::NgBig,
        };
        Ok(Some(found))
    }

    /// Starts a pcap file, whose header is at the front of the buffer.
    fn start_pcap(&mut self, layout: Layout) {
        self.buffer.advance(pcap::FILE_HEAD);
        self.info.format = "pcap";
        let mut interface = Interface::new(layout.link, layout.snaplen);
        interface.set_resolution(if layout.unit == 1 { 9 } else { 6 });
        self.info.note_interface(interface);
        self.walk = if layout.big { Walk::PcapBig } else { Walk::PcapLittle };
        self.layout = layout;
    }

    /// Starts a pcapng file, whose first section header is at the front of the buffer: looks ahead to the first
    /// packet, so that the facts before it are known.
    fn start_pcapng(&mut self) {
        self.info.format = "pcapng";
        let first_packet = self.section.next_packet(&mut self.buffer, &mut self.info, &mut self.frames);
        self.walk = if matches!(first_packet, Ok(Some(_))) { Walk::NgSlow } else { Walk::Over };
        self.deferred_error = first_packet.err();
    }
}
