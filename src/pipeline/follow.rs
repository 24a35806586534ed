//! A capture that is still being made: while nothing comes, time goes on all the same.

use super::pending::MAX_WAIT;
use super::{Pipeline, Stopped};
use crate::capture::{Refill, Source, Time};
use crate::decode::Listener;
use std::io;
use std::time::{Duration, Instant};

impl<S: Listener> Pipeline<'_, S> {
    /// Reads a running capture to its end, as [`read`](Self::read) does a file.
    ///
    /// When nothing has come for `quiet`, no pending datagram waits any longer, and from then
    /// on exchanges time out by the clock on the wall. `reached` hears the capture time of what has been
    /// read so far, whenever that is all there is. The reader of `source` must give up a wait now
    /// and then, see [`Source::refill`].
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn follow(
        &mut self,
        source: &mut Source,
        file: &str,
        quiet: Duration,
        reached: &mut dyn FnMut(Time),
    ) -> Result<(), Stopped> {
        self.begin(source, file)?;
        let read = self.frames_as_they_come(source, quiet, reached);
        self.end(source);
        read
    }

    fn frames_as_they_come(
        &mut self,
        source: &mut Source,
        quiet: Duration,
        reached: &mut dyn FnMut(Time),
    ) -> Result<(), Stopped> {
        while self.wants_more() {
            if !source.is_ready() {
                reached(self.table.clock());
                self.await_packet(source, quiet)?;
            }
            match source.next().map_err(Stopped::Capture)? {
                Some(frame) => self.frame(&frame)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Waits until a packet is there, or the end.
    fn await_packet(&mut self, source: &mut Source, quiet: Duration) -> Result<(), Stopped> {
        let (since, began) = (Instant::now(), self.table.clock());
        while !source.is_ready() {
            match source.refill().map_err(Stopped::Capture)? {
                Refill::Bytes => {}
                Refill::Over => break,
                Refill::Nothing => {
                    if let Some(more) = since.elapsed().checked_sub(quiet) {
                        self.idle(began, i64::try_from(more.as_nanos()).unwrap_or(i64::MAX))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Nothing has come since capture time `began`; `passed` nanoseconds may be counted on top of it.
    fn idle(&mut self, began: Time, passed: i64) -> io::Result<()> {
        self.table.advance(began.plus(passed));
        self.release_pending(self.table.clock().max(began.plus(MAX_WAIT + 1)))
    }
}
