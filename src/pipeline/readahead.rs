//! Reads ahead: the stages without state run in a separate thread.
//!
//! ```text
//!  reader                                        the loop, in order
//!  Source ─> parse ─> probe ─> Block ══ full ══> classify ─> pair ─> decode ─> ... ─> report
//!                                ^                 │
//!                                └──── empty ──────┘
//! ```
//!
//! The loop treats a block exactly like its frames, so that the result is the same to the byte. A faster reader
//! waits: at most [`MAX_QUEUED`] blocks are queued, the loop holds one, and the reader holds the next and the beginning
//! of another. If the reader is slower, the loop waits once, and parses and probes the frames of the next block itself.
//!
//! Passing a datagram to the loop takes longer than probing it. That pays where many frames belong to none of our
//! protocols; where nearly all do, the loop continues to read without the reader.

use super::{Pipeline, Stopped};
use crate::capture::{Bytes, Error, Frame, Source, Time};
use crate::classify;
use crate::net::{self, Datagram, DropReason};
use crate::protocols::{Id, Probe};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::{io, mem, thread};

/// Most blocks that wait for the loop. Each holds one buffer: some 256 KiB of the capture, and results of about the
/// same size.
const MAX_QUEUED: usize = 2;

/// Number of blocks after which it is decided whether the reader pays.
const TRIAL_BLOCKS: u64 = 8;

/// The memory of a conversation is prefetched this many datagrams before it is used.
const PREFETCH_DISTANCE: usize = 2;

/// Signals of the loop to the reader.
#[derive(Default)]
struct Signals {
    /// Deliver the next block without parsing and probing its frames.
    skip_probing: AtomicBool,
    /// Deliver no more blocks after the next one.
    stop: AtomicBool,
}

/// The frames of one buffer, and the results of parsing and probing them.
#[derive(Default)]
struct Block {
    bytes: Bytes,
    heads: Vec<Head>,
    /// The datagrams that the heads announce, in their order.
    datagrams: Vec<ProbedDatagram>,
    /// The frames that the loop has to examine itself; in a block without heads, all of them.
    frames: Vec<UnparsedFrame>,
    /// The reason why no block follows: the end of the capture, or an error.
    end: Option<Result<(), Error>>,
}

/// A frame, as far as the reader has examined it.
#[derive(Clone, Copy)]
struct Head {
    number: u64,
    time: Time,
    content: FrameContent,
}

/// The content of a frame.
#[derive(Clone, Copy)]
enum FrameContent {
    /// The next datagram.
    Datagram,
    /// The next of [`Block::frames`]: a tunnel, a fragment or an ICMP error.
    Unparsed,
    /// No datagram, for that reason.
    Dropped(DropReason),
}

/// A datagram and its probe.
struct ProbedDatagram {
    /// Without its payload.
    datagram: Datagram<'static>,
    /// Captured bytes of its payload.
    len: u32,
    probe: Option<(Id, Probe)>,
}

/// A frame that the loop has to examine itself.
struct UnparsedFrame {
    /// Without its bytes.
    frame: Frame<'static>,
    /// Number of captured bytes.
    len: u32,
}

impl Block {
    fn clear(&mut self) {
        self.heads.clear();
        self.datagrams.clear();
        self.frames.clear();
    }

    /// Adds a frame after parsing and probing it.
    #[inline(always)]
    fn push_probed(&mut self, frame: &Frame<'_>, protocols: u32) {
        let content = match net::parse(frame) {
            Ok(d) => {
                let (probe, len) = (classify::probe(&d, protocols), d.payload.len() as u32);
                self.datagrams.push(ProbedDatagram { datagram: Datagram { payload: &[], ..d }, len, probe });
                FrameContent::Datagram
            }
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => {
                self.push_unparsed(frame);
                FrameContent::Unparsed
            }
            Err(reason) => FrameContent::Dropped(reason),
        };
        self.heads.push(Head { number: frame.number, time: frame.time, content });
    }

    /// Adds a frame that the loop has to examine.
    #[inline(always)]
    fn push_unparsed(&mut self, frame: &Frame<'_>) {
        self.frames
            .push(UnparsedFrame { frame: Frame { bytes: &[], ..*frame }, len: frame.bytes.len() as u32 });
    }

    /// The frame with its bytes.
    fn frame(&self, unparsed: &UnparsedFrame) -> Frame<'_> {
        Frame { bytes: self.bytes.get(unparsed.frame.at, unparsed.len as usize), ..unparsed.frame }
    }
}

/// Fills block after block until the capture ends or the loop wants no more; the source is then behind the last
/// block. A block ends where the source continues in the memory of the next one.
fn fill(
    source: &mut Source,
    protocols: u32,
    signals: &Signals,
    full: &SyncSender<Block>,
    empty: &Receiver<Block>,
) {
    let mut next = source.find_next();
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.clear();
        source.lend(mem::take(&mut block.bytes));
        let skip_probing = signals.skip_probing.swap(false, Relaxed);
        while let Ok(Some(found)) = next {
            let Ok(_) = source.hand_out_from(found, |frame| {
                if skip_probing {
                    block.push_unparsed(frame)
                } else {
                    block.push_probed(frame, protocols)
                }
                Ok::<bool, Infallible>(true)
            });
            next = source.find_next();
            let over = !matches!(next, Ok(Some(_)));
            if let Some(bytes) = source.take_filled(over) {
                block.bytes = bytes;
                break;
            }
        }
        let (found, end) = match next.transpose() {
            Some(Ok(found)) => (Some(found), None),
            Some(Err(error)) => (None, Some(Err(error))),
            None => (None, Some(Ok(()))),
        };
        block.end = end;
        if full.send(block).is_err() || found.is_none() || signals.stop.load(Relaxed) {
            return;
        }
        next = Ok(found);
    }
}

impl Pipeline<'_> {
    /// Processes all frames. Another thread reads them where that pays and a thread can be started.
    pub(super) fn frames_with_reader(&mut self, source: &mut Source) -> Result<(), Stopped> {
        if self.read_in_thread(source).unwrap_or(Ok(true))? { self.frames(source) } else { Ok(()) }
    }

    /// Processes frames read by another thread; `None` where none can be started. Returns whether the capture
    /// continues, because reading ahead does not pay.
    fn read_in_thread(&mut self, source: &mut Source) -> Option<Result<bool, Stopped>> {
        let (protocols, signals) = (self.classifier.protocols(), &Signals::default());
        // Decompression is always worth a thread.
        let may_stop = source.info().compression.is_none();
        thread::scope(|scope| {
            let (full, full_blocks) = sync_channel(MAX_QUEUED);
            let (empty, empty_blocks) = channel();
            let reader = thread::Builder::new().name("reader".into());
            reader
                .spawn_scoped(scope, move || fill(source, protocols, signals, &full, &empty_blocks))
                .ok()?;
            Some(self.process_blocks(signals, may_stop, &full_blocks, &empty))
        })
    }

    /// Processes block after block, and returns them to the reader. Returns whether the reader was stopped before the
    /// end.
    fn process_blocks(
        &mut self,
        signals: &Signals,
        may_stop: bool,
        full: &Receiver<Block>,
        empty: &Sender<Block>,
    ) -> Result<bool, Stopped> {
        let next = || {
            full.try_recv().or_else(|_| {
                signals.skip_probing.store(true, Relaxed);
                full.recv()
            })
        };
        let (packets_before, recognised_before) = (self.totals.packets, self.totals.recognised);
        let mut blocks = 0;
        while let Ok(mut block) = next() {
            self.process_block(&block)?;
            if let Some(end) = block.end.take() {
                return Ok(end.map(|()| false)?);
            }
            let _ = empty.send(block); // the reader may have ended
            blocks += 1;
            let packets = self.totals.packets - packets_before;
            let recognised = self.totals.recognised - recognised_before;
            let pays = recognised <= packets / 4 * 3;
            signals.stop.store(may_stop && blocks >= TRIAL_BLOCKS && !pays, Relaxed);
        }
        Ok(true)
    }

    /// Processes the frames of a block, each like [`frame`](Self::frame).
    fn process_block(&mut self, block: &Block) -> io::Result<()> {
        let (mut datagrams, mut frames) = (block.datagrams.iter(), block.frames.iter());
        if block.heads.is_empty() {
            return frames.try_for_each(|unparsed| self.frame(&block.frame(unparsed)));
        }
        for &Head { number, time, content } in &block.heads {
            self.begin_frame(number, time)?;
            match content {
                FrameContent::Datagram => {
                    let Some(probed) = datagrams.next() else { continue };
                    if let Some(ProbedDatagram { datagram, probe: Some(_), .. }) =
                        datagrams.as_slice().get(PREFETCH_DISTANCE)
                    {
                        self.table.conversations.prefetch_ends(datagram.src, datagram.dst);
                    }
                    let payload = block.bytes.get(probed.datagram.at, probed.len as usize);
                    self.process_probed(&Datagram { payload, ..probed.datagram }, probed.probe)?;
                }
                FrameContent::Unparsed => {
                    let Some(unparsed) = frames.next() else { continue };
                    self.decapsulate(block.frame(unparsed))?;
                }
                FrameContent::Dropped(reason) => self.totals.not_datagrams.add(reason),
            }
            self.end_frame()?;
        }
        Ok(())
    }
}
