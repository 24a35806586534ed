//! Reads a running capture, in which time passes even while no packet comes.

use super::pending::MAX_WAIT;
use super::{Pipeline, Stopped};
use crate::capture::{Refill, Source, Time};
use std::io;
use std::time::{Duration, Instant};

impl Pipeline<'_> {
    /// Reads a running capture to its end, as [`read`](Self::read) does a file.
    ///
    /// When nothing has come for `quiet`, pending datagrams are released as if more than the usual wait of one
    /// second had passed, and from then on exchanges time out by the wall clock. `reached` is called with the
    /// capture time reached whenever everything available has been read. The reader of `source` must return from a
    /// wait now and then, see [`Source::refill`].
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

    /// Waits until a packet is available or the capture ends.
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

    /// Nothing has come since capture time `began`: advances it by `passed` nanoseconds.
    fn idle(&mut self, began: Time, passed: i64) -> io::Result<()> {
        self.table.advance(began.plus(passed));
        self.release_pending(self.table.clock().max(began.plus(MAX_WAIT + 1)))
    }
}
