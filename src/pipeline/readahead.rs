//! Reads ahead: the stages without state run in a thread of their own.
//!
//! ```text
//!  reader                                        the loop, in order
//!  Source ─> parse ─> probe ─> Block ══ FULL ══> classify ─> pair ─> decode ─> ... ─> report
//!                                ^                 │
//!                                └──── empty ──────┘
//! ```
//!
//! The loop treats a block exactly like its frames, so that the result is the same to the byte. A faster reader
//! waits: at most [`FULL`] blocks are queued, the loop holds one, and the reader holds the next and the beginning
//! of another. If the reader is slower, the loop waits once, and the next block then comes with frames that have
//! not been parsed and probed, which the loop does itself.
//!
//! Handing a datagram over takes longer than probing it. That pays where many frames belong to none of our
//! protocols; where nearly all do, the loop reads on by itself.

use super::{Pipeline, Stopped};
use crate::capture::{Bytes, Error, Frame, Source, Time};
use crate::classify;
use crate::net::{self, Datagram, DropReason};
use crate::protocols::{Id, Probe};
use std::convert::Infallible;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Most blocks that wait for the loop. Each holds one buffer: some 256 KiB of the capture, and about as much of
/// results.
const FULL: usize = 2;

/// Number of blocks after which it is known whether the reader pays.
const TRIAL: u64 = 8;

/// How many datagrams before it is taken the conversation of a datagram is looked for.
const AHEAD: usize = 2;

/// Signals of the loop to the reader.
#[derive(Default)]
struct Wishes {
    /// Deliver the next block without parsing and probing its frames.
    unlooked: AtomicBool,
    /// Deliver no more blocks after the next one.
    stop: AtomicBool,
}

/// The frames of one buffer, and what was found in them.
#[derive(Default)]
struct Block {
    bytes: Bytes,
    heads: Vec<Head>,
    /// The datagrams that the heads announce, in their order.
    datagrams: Vec<Found>,
    /// The frames that the loop has to examine itself; in a block without heads, all of them.
    frames: Vec<Place>,
    /// Why no block follows: the end of the capture, or an error.
    end: Option<Result<(), Error>>,
}

/// A frame, as far as the reader has examined it.
#[derive(Clone, Copy)]
struct Head {
    number: u64,
    time: Time,
    what: What,
}

/// What is in a frame.
#[derive(Clone, Copy)]
enum What {
    /// The next datagram.
    Datagram,
    /// The next of [`Block::frames`]: a tunnel, a fragment or an ICMP error.
    Deeper,
    /// No datagram, for that reason.
    Dropped(DropReason),
}

/// A datagram and its probe.
struct Found {
    /// Without its payload.
    datagram: Datagram<'static>,
    /// Captured bytes of its payload.
    len: u32,
    probe: Option<(Id, Probe)>,
}

/// A frame that the loop has to examine itself.
struct Place {
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

    #[inline(always)]
    fn take(&mut self, frame: &Frame<'_>, protocols: u32) {
        let what = match net::parse(frame) {
            Ok(d) => {
                let (probe, len) = (classify::probe(&d, protocols), d.payload.len() as u32);
                self.datagrams.push(Found { datagram: Datagram { payload: &[], ..d }, len, probe });
                What::Datagram
            }
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => {
                self.keep(frame);
                What::Deeper
            }
            Err(reason) => What::Dropped(reason),
        };
        self.heads.push(Head { number: frame.number, time: frame.time, what });
    }

    #[inline(always)]
    fn keep(&mut self, frame: &Frame<'_>) {
        self.frames.push(Place { frame: Frame { bytes: &[], ..*frame }, len: frame.bytes.len() as u32 });
    }

    fn frame(&self, place: &Place) -> Frame<'_> {
        Frame { bytes: self.bytes.get(place.frame.at, place.len as usize), ..place.frame }
    }
}

/// Fills block after block until the capture ends or the loop wants no more; the source is then behind the last
/// block. A block ends where the source continues in the memory of the next one.
fn fill(
    source: &mut Source,
    protocols: u32,
    wishes: &Wishes,
    full: &SyncSender<Block>,
    empty: &Receiver<Block>,
) {
    let mut next = source.seek();
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.clear();
        source.lend(mem::take(&mut block.bytes));
        let unlooked = wishes.unlooked.swap(false, Relaxed);
        while let Ok(Some(found)) = next {
            let Ok(_) = source.go_on(found, |frame| {
                if unlooked {
                    block.keep(frame)
                } else {
                    block.take(frame, protocols)
                }
                Ok::<bool, Infallible>(true)
            });
            next = source.seek();
            let over = !matches!(next, Ok(Some(_)));
            if let Some(bytes) = source.shown(over) {
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
        if full.send(block).is_err() || found.is_none() || wishes.stop.load(Relaxed) {
            return;
        }
        next = Ok(found);
    }
}

impl Pipeline<'_> {
    /// Takes all frames, read by another thread where that pays and one can be started.
    pub(super) fn frames_ahead(&mut self, source: &mut Source) -> Result<(), Stopped> {
        if self.ahead(source).unwrap_or(Ok(true))? { self.frames(source) } else { Ok(()) }
    }

    /// Takes frames read by another thread; `None` where none can be started. Returns whether the capture
    /// continues, because reading ahead does not pay.
    fn ahead(&mut self, source: &mut Source) -> Option<Result<bool, Stopped>> {
        let (protocols, wishes) = (self.classifier.protocols(), &Wishes::default());
        // Decompression is always worth a thread.
        let may_stop = source.facts().compression.is_none();
        thread::scope(|scope| {
            let (full, blocks) = sync_channel(FULL);
            let (back, empty) = channel();
            let reader = thread::Builder::new().name("reader".into());
            reader.spawn_scoped(scope, move || fill(source, protocols, wishes, &full, &empty)).ok()?;
            Some(self.blocks(wishes, may_stop, &blocks, &back))
        })
    }

    /// Takes block after block, and gives them back empty. Returns whether the reader was stopped before the end.
    fn blocks(
        &mut self,
        wishes: &Wishes,
        may_stop: bool,
        full: &Receiver<Block>,
        empty: &Sender<Block>,
    ) -> Result<bool, Stopped> {
        let next = || {
            full.try_recv().or_else(|_| {
                wishes.unlooked.store(true, Relaxed);
                full.recv()
            })
        };
        let before = (self.totals.packets, self.totals.recognised);
        let mut tried = 0;
        while let Ok(mut block) = next() {
            self.block(&block)?;
            if let Some(end) = block.end.take() {
                return Ok(end.map(|()| false)?);
            }
            let _ = empty.send(block); // the reader may have ended
            tried += 1;
            let frames = self.totals.packets - before.0;
            let ours = self.totals.recognised - before.1;
            wishes.stop.store(may_stop && tried >= TRIAL && ours > frames / 4 * 3, Relaxed);
        }
        Ok(true)
    }

    /// Takes the frames of a block, each like [`frame`](Self::frame).
    fn block(&mut self, block: &Block) -> Result<(), Stopped> {
        let (mut datagrams, mut frames) = (block.datagrams.iter(), block.frames.iter());
        if block.heads.is_empty() {
            return frames.try_for_each(|place| self.frame(&block.frame(place)));
        }
        for &Head { number, time, what } in &block.heads {
            self.before(number, time)?;
            match what {
                What::Datagram => {
                    let Some(found) = datagrams.next() else { continue };
                    if let Some(Found { datagram, probe: Some(_), .. }) = datagrams.as_slice().get(AHEAD) {
                        self.table.conversations.prefetch_ends(datagram.src, datagram.dst);
                    }
                    let payload = block.bytes.get(found.datagram.at, found.len as usize);
                    self.looked_at(&Datagram { payload, ..found.datagram }, found.probe)?;
                }
                What::Deeper => {
                    let Some(place) = frames.next() else { continue };
                    self.decapsulate(block.frame(place))?;
                }
                What::Dropped(reason) => self.totals.not_datagrams.add(reason),
            }
            self.after()?;
        }
        Ok(())
    }
}
