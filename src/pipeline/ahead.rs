//! Reading ahead: what holds no state is done by a thread of its own.
//!
//! ```text
//!  reader                                        the loop, in order
//!  Source ─> peel ─> glance ─> Block ══ FULL ══> settle ─> pair ─> decode ─> ... ─> report
//!                                ^                 │
//!                                └──── empty ──────┘
//! ```
//!
//! The loop does with a block what it does with its frames, so that the result is the same to the byte. A reader that is
//! faster waits, and one that is slower is waited for: at most [`FULL`] blocks and one in the hands of each are there.

use super::{AHEAD, Pipeline, Stopped};
use crate::capture::{Bytes, Error, Frame, Source, Time};
use crate::classify;
use crate::net::{self, Datagram, Turned};
use crate::protocols::{Glance, Id};
use crate::report::Report;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Blocks that wait for the loop, each of one buffer: some 256 KiB of the capture, and about as much of what was found.
const FULL: usize = 3;

/// The frames of one buffer, and what was found in them.
#[derive(Default)]
struct Block {
    bytes: Bytes,
    heads: Vec<Head>,
    /// Those of the heads that say so, in their order.
    datagrams: Vec<Found>,
    frames: Vec<Place>,
    /// Why nothing follows.
    end: Option<Result<(), Error>>,
}

/// A frame.
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
    /// The next frame: there is more in it than a look shows.
    Deeper,
    /// None of ours.
    Turned(Turned),
}

/// A datagram.
struct Found {
    /// Without its payload.
    datagram: Datagram<'static>,
    /// Captured bytes of that.
    len: u32,
    glance: Option<(Id, Glance)>,
}

/// Where a frame lies.
struct Place {
    link: u16,
    interface: u32,
    at: u64,
    wire_len: u32,
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
        let what = match net::peel(frame) {
            Ok(d) => {
                let (glance, len) = (classify::glance(&d, protocols), d.payload.len() as u32);
                self.datagrams.push(Found { datagram: Datagram { payload: &[], ..d }, len, glance });
                What::Datagram
            }
            Err(Turned::Tunnel | Turned::Fragment | Turned::Icmp) => {
                let Frame { link, interface, at, wire_len, bytes, .. } = *frame;
                self.frames.push(Place { link, interface, at, wire_len, len: bytes.len() as u32 });
                What::Deeper
            }
            Err(reason) => What::Turned(reason),
        };
        self.heads.push(Head { number: frame.number, time: frame.time, what });
    }
}

/// Fills block after block until the capture ends, or nobody wants any.
fn fill(source: &mut Source, protocols: u32, full: &SyncSender<Block>, empty: &Receiver<Block>) {
    let mut over = false;
    while !over {
        let mut block = empty.try_recv().unwrap_or_default();
        block.clear();
        let read = source.buffered(|frame| {
            block.take(frame, protocols);
            Ok::<bool, Error>(true)
        });
        source.detach(&mut block.bytes);
        block.end = match read {
            Ok(true) => None,
            Ok(false) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        over = block.end.is_some();
        over |= full.send(block).is_err();
    }
}

impl<R: Report> Pipeline<R> {
    /// All frames, read by another thread; by this one where there is none to be had.
    pub(super) fn frames_ahead(&mut self, source: &mut Source) -> Result<(), Stopped> {
        let (protocols, lent) = (self.memory.protocols(), &mut *source);
        let done = thread::scope(|scope| {
            let (full, blocks) = sync_channel(FULL);
            let (back, empty) = channel();
            let reader = thread::Builder::new().name("reader".into());
            reader.spawn_scoped(scope, move || fill(lent, protocols, &full, &empty)).ok()?;
            Some(self.blocks(&blocks, &back))
        });
        done.unwrap_or_else(|| self.frames(source))
    }

    /// Takes over block after block, and gives them back empty.
    fn blocks(&mut self, full: &Receiver<Block>, empty: &Sender<Block>) -> Result<(), Stopped> {
        for mut block in full {
            self.block(&block)?;
            if let Some(end) = block.end.take() {
                return Ok(end?);
            }
            let _ = empty.send(block); // the reader may have ended
        }
        Ok(())
    }

    /// The frames of a block, each as [`frame`](Self::frame) takes it.
    fn block(&mut self, block: &Block) -> Result<(), Stopped> {
        let (mut datagrams, mut frames) = (block.datagrams.iter(), block.frames.iter());
        for &Head { number, time, what } in &block.heads {
            self.before(number, time)?;
            match what {
                What::Datagram => {
                    let Some(found) = datagrams.next() else { continue };
                    let payload = block.bytes.get(found.datagram.at, found.len as usize);
                    self.looked_at::<AHEAD>(&Datagram { payload, ..found.datagram }, found.glance)?;
                }
                What::Deeper => {
                    let Some(&Place { link, interface, at, wire_len, len }) = frames.next() else { continue };
                    let bytes = block.bytes.get(at, len as usize);
                    self.deeper(&Frame { number, time, link, interface, at, wire_len, bytes })?;
                }
                What::Turned(reason) => self.totals.turned.add(reason),
            }
            self.after()?;
        }
        Ok(())
    }
}
