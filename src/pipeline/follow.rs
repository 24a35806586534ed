//! Reads a running capture, in which time passes even while no packet comes.

use super::claim::MAX_WAIT;
use super::{Pipeline, Stopped};
use crate::capture::{Refill, Source, Time};
use std::io;
use std::time::{Duration, Instant};

impl Pipeline<'_> {
    /// Reads a running capture to its end, as [`read`](Self::read) does a file.
    ///
    /// When no packet has come for `idle_after`, pending datagrams are released as if more than the usual wait of one
    /// second had passed, and from then on exchanges time out by the wall clock. `reached` is called with the
    /// capture time reached whenever everything available has been read, and again while nothing comes. The reader of `source` must return from a
    /// wait now and then, see [`Source::refill`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn follow(
        &mut self,
        source: &mut Source,
        file: &str,
        idle_after: Duration,
        reached: &mut dyn FnMut(Time),
    ) -> Result<(), Stopped> {
        self.begin(source, file)?;
        let result = self.follow_frames(source, idle_after, reached);
        self.end(source);
        result
    }

    fn follow_frames(
        &mut self,
        source: &mut Source,
        idle_after: Duration,
        reached: &mut dyn FnMut(Time),
    ) -> Result<(), Stopped> {
        while self.wants_more() {
            if !source.is_ready() {
                reached(self.table.clock());
                self.await_packet(source, idle_after, reached)?;
            }
            match source.next().map_err(Stopped::Capture)? {
                Some(frame) => self.frame(&frame)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Waits until a packet is available or the capture ends.
    fn await_packet(
        &mut self,
        source: &mut Source,
        idle_after: Duration,
        reached: &mut dyn FnMut(Time),
    ) -> Result<(), Stopped> {
        let (started, clock) = (Instant::now(), self.table.clock());
        while !source.is_ready() {
            match source.refill().map_err(Stopped::Capture)? {
                Refill::Bytes => {}
                Refill::Over => break,
                Refill::Nothing => {
                    reached(clock);
                    if let Some(excess) = started.elapsed().checked_sub(idle_after) {
                        self.advance_idle(clock, i64::try_from(excess.as_nanos()).unwrap_or(i64::MAX))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Advances capture time to `nanos` nanoseconds after `clock`, the capture time at which the wait began.
    fn advance_idle(&mut self, clock: Time, nanos: i64) -> io::Result<()> {
        self.table.advance(clock.plus(nanos));
        self.release_pending(self.table.clock().max(clock.plus(MAX_WAIT + 1)))
    }
}
