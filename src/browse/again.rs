//! Finds a packet that an index cannot open, by reading the captures again.

use crate::check::Packet;
use crate::decode::AnyListener;
use crate::net::Datagram;
use crate::report::{Report, Wants};
use std::io;

/// Waits for the packet of a frame, passes it on to a report, and then stops the reading.
pub struct Until<'r> {
    frame: u64,
    report: &'r mut dyn Report,
    /// The packet has come.
    pub found: bool,
}

impl<'r> Until<'r> {
    /// Passes the packet of the frame with this number in the run on to `report`, and what comes before it.
    pub fn new(frame: u64, report: &'r mut dyn Report) -> Until<'r> {
        Until { frame, report, found: false }
    }

    /// Passes on what belongs to the frame, and then stops.
    fn pass(&mut self, frame: u64, pass: impl FnOnce(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        if frame != self.frame {
            return Ok(());
        }
        self.found = true;
        pass(self.report)?;
        Err(io::ErrorKind::Interrupted.into())
    }
}

impl Report for Until<'_> {
    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(self.report)
    }

    fn listener(&self) -> AnyListener {
        self.report.listener()
    }

    fn wants(&self) -> Wants {
        self.report.wants()
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.pass(p.datagram.frame, |report| report.packet(p))
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.pass(d.frame, |report| report.unclaimed(d))
    }
}
