//! Writes the result of a run as one HTML page that needs no other files: the output of `qdissect report`.
//!
//! ```text
//! pipeline ──> Page (a report) ──┬─> Summary     servers, unclaimed traffic         ──> data.rs    the rows as records
//!                                ├─> Stats       response times, intervals          ──> table.rs   the rows as HTML tables
//!                                ├─> Check       findings, rules                    ──> html.rs    the page
//!                                └─> retained.rs exchanges, bytes, outcomes over time
//! ```
//!
//! The page counts nothing that another report counts: its numbers are those of the records. The tables are part of the
//! HTML; the script (`script/`) sorts and filters them, and draws. It reads the records from the page, as JSON.

mod data;
mod html;
mod retained;
mod table;

pub use html::write;

use super::packet::Packet;
use crate::capture::{CaptureInfo, Time};
use crate::check::Finding;
use crate::conversation::NONE;
use crate::decode::Listener;
use crate::exchange::Exchange;
use crate::net::{Datagram, Endpoint};
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::report::summary::Summary;
use crate::report::{Report, Silent, Totals, Wants};
use crate::stats::Stats;
use crate::verdict::{Check, Coverage, Entry, Verdict};
use hashbrown::HashMap;
use retained::{Exchanges, Frames, Trace};
use std::io;

/// Everything that the page shows, except the verdict.
#[derive(Debug)]
pub struct Gathered {
    summary: Summary,
    stats: Stats,
    exchanges: Exchanges,
    frames: Frames,
    /// The trace of each server, by the pipeline's server index; no more than there are servers.
    traces: HashMap<u32, Trace>,
    /// The first time stamp of the run, from which traces count.
    began: Time,
}

/// The report that gathers the data of the page.
pub struct Page<F> {
    check: Check<F>,
    gathered: Gathered,
    secrets: bool,
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Page<F> {
    /// A report that has gathered nothing yet, around the report that judges.
    pub fn new(check: Check<F>, options: &Options) -> Page<F> {
        let (summary, stats) = (Summary::default(), Stats::new(None));
        let (exchanges, frames) = (Exchanges::default(), Frames::default());
        let (traces, began) = (HashMap::new(), Time::UNKNOWN);
        let gathered = Gathered { summary, stats, exchanges, frames, traces, began };
        Page { check, gathered, secrets: options.secrets }
    }

    /// The verdict and the gathered data, once everything has been read.
    ///
    /// # Errors
    /// As [`Check::verdict`].
    pub fn verdict(self, totals: Totals) -> io::Result<(Verdict, Gathered)> {
        Ok((self.check.verdict(totals)?, self.gathered))
    }
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Report for Page<F> {
    type Sink = Coverage;

    /// Asks for what the verdict needs, and for datagrams that no protocol claims. Of the statistics, only the hierarchy
    /// would need frames, and the page does not show it.
    fn wants(&self) -> Wants {
        Wants { foreign: true, ..self.check.wants() }
    }

    fn packet(&mut self, p: &Packet<'_, Coverage>) -> io::Result<()> {
        let g = &mut self.gathered;
        if !p.findings.is_empty() {
            let place = g.summary.files.places.place(p.datagram.frame);
            g.frames.packet(place, p, self.secrets);
        }
        let heard = p.heard_by(p.sink.notes());
        g.summary.packet(&heard)?;
        g.stats.packet(&heard)?;
        self.check.packet(p)
    }

    fn hidden(&mut self, p: &Packet<'_, Coverage>) {
        self.check.hidden(p);
    }

    fn foreign(&mut self, d: &Datagram<'_>) {
        self.gathered.summary.foreign(d);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let g = &mut self.gathered;
        g.exchanges.add(e, findings);
        if let Some(after) = e.request_time.since(g.began).filter(|_| e.server_index != NONE) {
            g.traces.entry(e.server_index).or_default().add(after, e);
        }
        if !findings.is_empty() {
            g.frames.time(g.summary.files.places.place(e.request_frame), e.request_time);
        }
        g.summary.exchange(e, findings)?;
        g.stats.exchange(e, findings)?;
        self.check.exchange(e, findings)
    }

    fn silent(&mut self, servers: &[Silent]) -> io::Result<()> {
        self.gathered.summary.silent(servers)?;
        self.check.silent(servers)
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.check.one_sided(servers)
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.gathered.summary.file(name, facts, before)?;
        self.check.file(name, facts, before)
    }

    fn file_read(&mut self, facts: &CaptureInfo, totals: &Totals) {
        self.check.file_read(facts, totals);
    }

    fn first_frame(&mut self, time: Time) {
        if self.gathered.began == Time::UNKNOWN {
            self.gathered.began = time;
        }
    }

    fn listened(&mut self, sink: &mut Coverage) {
        self.check.listened(sink);
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.gathered.summary.finish(totals)?;
        self.gathered.stats.finish(totals)
    }
}
