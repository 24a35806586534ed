//! Ends the input, or a series of files that the next one does not continue.

use super::Pipeline;
use crate::report::{Totals, Unread};
use std::io;

impl Pipeline<'_> {
    /// Records in the totals which inputs could not be read to their end, or not at all, and whether that is accepted.
    pub fn set_unread(&mut self, unread: Vec<Unread>, accepted: bool) {
        (self.totals.unread, self.totals.accepted) = (unread, accepted);
    }

    /// Records in the totals how many packets the capture program dropped, unless the capture itself says so.
    pub fn set_dropped(&mut self, dropped: Option<u64>) {
        self.totals.dropped = self.totals.dropped.or(dropped);
    }

    /// Ends the input: closes everything that is open, and passes the totals to the report.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub fn finish(mut self, complete: bool) -> io::Result<Totals> {
        if let Some(end) = self.options.watched {
            self.table.advance(end);
        }
        self.close()?;
        self.totals.complete = complete;
        self.totals.evicted = self.table.evicted();
        self.totals.waiting_overflow = self.pending.early();
        self.totals.servers_refused = self.classifier.servers.refused();
        self.totals.tunnels_unnamed = self.decapsulator.tunnels().unnamed();
        self.totals.not_unpacked = self.table.not_unpacked();
        self.totals.fragments = *self.decapsulator.fragments();
        self.totals.memory_forgotten +=
            self.protocol_memories.forgotten() + self.attribution.forgotten() + self.table.forgotten();
        self.totals.memory_forgotten +=
            self.silences.forgotten() + self.unused.forgotten() + self.floods.forgotten();
        let servers = &self.classifier.servers;
        self.totals.candidates = self.silences.candidates(|server, id| servers.find(server, id).is_some());
        self.report_one_sided()?;
        self.report.file_decoded(&mut self.listener);
        self.report.finish(&self.totals)?;
        Ok(self.totals)
    }

    /// Reports the servers of which only one direction was captured, because no further file can show the other one.
    pub(super) fn report_one_sided(&mut self) -> io::Result<()> {
        let earlier = self.totals.one_sided.len();
        self.totals.one_sided.extend(self.classifier.servers.one_sided());
        let one_sided = self.totals.one_sided.split_off(earlier);
        self.totals.add_one_sided(&one_sided, self.wants.silent_servers);
        let result = self.report.one_sided(&one_sided);
        self.totals.one_sided.extend(one_sided);
        result
    }

    /// Reports the servers that answered nothing, because no further file continues what has been read so far.
    fn report_silent(&mut self) -> io::Result<()> {
        let by_servers = self.totals.by_servers;
        let earlier = std::mem::replace(&mut self.earlier_by_servers, by_servers);
        let from_servers = by_servers > earlier || self.is_part;
        let silent = self.silences.take_silent(&self.options, &self.classifier.servers, from_servers);
        if !self.wants.silent_servers {
            // What `ask` asks is judged with --check, or not at all.
            self.totals.judged_later += if self.options.watched.is_some() { 0 } else { silent.len() as u64 };
            return Ok(());
        }
        self.totals.add_silent_servers(&silent);
        self.report.silent_servers(&silent)
    }

    /// Closes everything that is open, because no further file continues it.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.silences.set_end(self.table.clock());
        self.release_incomplete(self.table.clock(), true)?;
        self.release_until(|_| false)?;
        // One at a time, because there may be very many.
        while self.table.close_next() {
            self.deliver_closed()?;
        }
        self.table.finish();
        let floods = self.floods.take(self.options.budget);
        self.report.floods(&floods)?;
        self.report_silent()
    }
}
