//! Statistics over all captures of a run: response times, endpoints, protocols, time, amplification, losses.
//!
//! [`Stats`] gathers them in bounded memory; `tables.rs` makes tables of them. `sheet.rs` writes the tables for programs,
//! and `screen.rs` for people.

mod clients;
mod hierarchy;
mod screen;
mod series;
mod sheet;
mod tables;
#[cfg(feature = "cli")]
mod top;
mod traffic;

pub use clients::Prefix;
#[cfg(feature = "cli")]
pub use screen::write;
#[cfg(feature = "tui")]
pub use screen::write_tables;
pub(crate) use sheet::{CellType, Sheet, TABLES, Table};
#[cfg(feature = "cli")]
pub use top::Top;

use crate::capture::{self, Frame};
use crate::check::Finding;
use crate::check::Packet;
use crate::exchange::Exchange;
use crate::net::{Datagram, DropReason, Endpoint};
use crate::protocols::{Direction, Id};
use crate::report::listings::Listings;
use crate::report::server_text::update_text;
use crate::report::times::Times;
use crate::report::{CaptureRecord, Captures, Output, Report, Totals, Wants};
use crate::rule::general::GEN_008;
use clients::Clients;
use hierarchy::Hierarchy;
use series::Series;
use std::io::{self, Write};
use traffic::{Ranked, Served, Traffic, UNIT};

/// Number of servers that always stay in the tables; at most twice as many servers are in them.
pub const MAX_SERVERS: usize = 8_192;
/// The same for clients, by address.
pub const MAX_CLIENTS: usize = 32_768;
/// Most servers with quantiles of their response times, which take up to some 10 KiB each.
pub const MAX_TIMED: usize = 1_024;

/// A part of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Response times by step and by server.
    Times,
    /// Servers and clients, with the datagrams that they sent and received.
    Endpoints,
    /// Frames and bytes by protocol.
    Hierarchy,
    /// Queries, answers and losses over time.
    Series,
    /// The traffic that servers send in proportion to what they receive.
    Amplification,
    /// Losses and retransmissions.
    Losses,
    /// Which servers masters list, and which tell a master of themselves.
    Listings,
    /// Who asks how much, only where it is [asked for](Stats::with_clients).
    Clients,
}

impl Section {
    /// Every section, in the order shown.
    pub const ALL: &[Section] = &[
        Section::Times,
        Section::Endpoints,
        Section::Hierarchy,
        Section::Series,
        Section::Amplification,
        Section::Losses,
        Section::Listings,
        Section::Clients,
    ];
}

/// Response times of a step of a protocol.
#[derive(Debug)]
struct StepTimes {
    id: Id,
    step: u8,
    times: Times<UNIT>,
    histogram: Histogram,
}

/// Gathers the statistics. Set [`crate::pipeline::Options::all`], so that all datagrams are reported.
#[derive(Debug)]
pub struct Stats {
    captures: Captures,
    steps: Vec<StepTimes>,
    servers: Ranked<(Endpoint, Id), Served>,
    clients: Ranked<Endpoint, Traffic>,
    /// Who asks how much, where that is asked for.
    asking: Option<Clients>,
    listings: Listings,
    hierarchy: Hierarchy,
    series: Series,
    /// Number of servers that keep response times.
    timed: usize,
}

impl Stats {
    /// Empty statistics. Time is cut into intervals of `interval` nanoseconds, or of a length that is chosen at the end.
    pub fn new(interval: Option<i64>) -> Stats {
        Stats {
            captures: Captures::default(),
            steps: vec![],
            servers: Ranked::new(MAX_SERVERS),
            clients: Ranked::new(MAX_CLIENTS),
            asking: None,
            listings: Listings::default(),
            hierarchy: Hierarchy::default(),
            series: Series::new(interval),
            timed: 0,
        }
    }

    /// The same, which also count who asks how much, by address or by prefix.
    pub fn with_clients(self, prefix: Prefix) -> Stats {
        Stats { asking: Some(Clients::new(prefix)), ..self }
    }

    fn step(&mut self, e: &Exchange) -> &mut StepTimes {
        let (id, step) = (e.protocol, e.protocol.info().first_step_of_name(e.step));
        let at = self.steps.iter().position(|s| (s.id, s.step) == (id, step)).unwrap_or_else(|| {
            let (times, histogram) = (Times::default(), Histogram::default());
            self.steps.push(StepTimes { id, step, times, histogram });
            self.steps.len() - 1
        });
        &mut self.steps[at]
    }
}

impl Report for Stats {
    fn wants(&self) -> Wants {
        Wants { frames: true, ..Wants::default() }
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.hierarchy.frame(frame, parsed);
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.hierarchy.datagram(p.datagram, Some((p.id, p.message)));
        if p.raised.has(&GEN_008) {
            return Ok(()); // the datagram was on the wire once
        }
        if let Some(asking) = &mut self.asking {
            asking.packet(p);
        }
        self.listings.packet(p);
        let [client, server] = p.ends();
        let by_server = p.direction == Direction::S2c;
        let served = self.servers.entry((server, p.id));
        served.count_packet(p);
        if by_server && let Some(facts) = p.facts() {
            update_text(&mut served.server_name, facts.server_name);
        }
        let client = self.clients.entry(client.host());
        if by_server { &mut client.received } else { &mut client.sent }.add(p.datagram);
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.hierarchy.datagram(d, None);
        Ok(())
    }

    fn frame_left_out(&mut self, frame: u64) {
        self.hierarchy.remove_pending(frame);
    }

    fn exchange(&mut self, e: &Exchange, _: &[Finding]) -> io::Result<()> {
        self.series.add(e);
        if let Some(asking) = &mut self.asking {
            asking.exchange(e);
        }
        if let Some(t) = e.response_time {
            let step = self.step(e);
            step.times.add(t, true);
            step.histogram.add(t);
        }
        let may_take_memory = self.timed < MAX_TIMED;
        let took_memory = self.servers.entry((e.server, e.protocol)).add_exchange(e, may_take_memory);
        self.timed += usize::from(took_memory);
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.captures.begin(name, facts, before);
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.hierarchy.finish(totals.unfiltered.is_some());
        Ok(())
    }
}

/// Writes sections as records, after the records of the captures and before the summary.
///
/// # Errors
/// When they cannot be written.
pub fn records<W: Write>(
    out: &mut Output<W>,
    stats: &Stats,
    totals: &Totals,
    sections: &[Section],
) -> io::Result<()> {
    stats.captures.list.iter().try_for_each(|(name, facts)| out.value(&CaptureRecord::new(name, facts)))?;
    for section in sections {
        let sheets = stats.tables(*section);
        sheets.iter().flat_map(Sheet::records).try_for_each(|record| out.value(&record))?;
    }
    out.value(&totals.record())?;
    out.finish()
}

/// The table of a section that the page shows; of response times, those by step.
pub(crate) fn sheet(stats: &Stats, section: Section) -> Option<Sheet<'_>> {
    match section {
        Section::Times => Some(stats.step_times()),
        _ => stats.tables(section).into_iter().next(),
    }
}

/// Writes a section as CSV (RFC 4180), with a row of names first.
///
/// # Errors
/// When it cannot be written.
pub fn csv(out: &mut dyn Write, stats: &Stats, section: Section) -> io::Result<()> {
    let sheets = stats.tables(section);
    let file = stats.captures.only().unwrap_or_default();
    sheets.iter().take(1).try_for_each(|sheet| sheet.csv_head(out))?;
    sheets.iter().try_for_each(|sheet| sheet.csv(file, out))
}

/// Where buckets begin, within a power of ten.
const STEPS: [i64; 3] = [1, 2, 5];
/// Powers of ten: from a microsecond to ten seconds.
const DECADES: usize = 8;
/// Number of buckets: one of negative times, one below a microsecond, and the last one without an end.
const BUCKETS: usize = DECADES * STEPS.len() + 2;

/// Counts by response time in buckets that begin at 1, 2 and 5 times the powers of ten, from 1 µs to 50 s. Negative times,
/// from clocks that were set back, have a bucket of their own.
#[derive(Clone, Debug)]
pub struct Histogram([u64; BUCKETS]);

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its beginning in nanoseconds; `None` for the one of negative times.
    pub from: Option<i64>,
    /// Its end in nanoseconds, which is not part of it; `None` for the last one.
    pub to: Option<i64>,
    /// Number of response times in it.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram([0; BUCKETS])
    }
}

/// The beginnings of all buckets but the first, in nanoseconds.
const EDGES: [i64; BUCKETS - 1] = {
    let mut edges = [0; BUCKETS - 1];
    let (mut bucket, mut power) = (1, 1_000);
    while bucket < edges.len() {
        let step = (bucket - 1) % STEPS.len();
        edges[bucket] = STEPS[step] * power;
        bucket += 1;
        power *= if step + 1 == STEPS.len() { 10 } else { 1 };
    }
    edges
};

/// The beginning of a bucket in nanoseconds; `None` for the first one, and after the last one.
fn edge(bucket: usize) -> Option<i64> {
    EDGES.get(bucket.checked_sub(1)?).copied()
}

impl Histogram {
    /// Counts a time in nanoseconds.
    pub fn add(&mut self, nanos: i64) {
        self.0[EDGES.partition_point(|&from| from <= nanos)] += 1;
    }

    /// The buckets from the first to the last one that is not empty.
    pub fn buckets(&self) -> Vec<Bucket> {
        let first = self.0.iter().position(|&n| n > 0).unwrap_or(BUCKETS);
        let end = self.0.iter().rposition(|&n| n > 0).map_or(first, |last| last + 1);
        let bucket = |at| Bucket { from: edge(at), to: edge(at + 1), count: self.0[at] };
        (first..end).map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_at_one_two_and_five() {
        let mut histogram = Histogram::default();
        [-3, 999, 1_000, 1_999, 2_000, 4_999, 5_000].iter().for_each(|&t| histogram.add(t));
        let found: Vec<_> = histogram.buckets().iter().map(|b| (b.from, b.to, b.count)).collect();
        let (none, us) = ((None, Some(0), 1), |n: i64| Some(1_000 * n));
        assert_eq!(
            found,
            [none, (us(0), us(1), 1), (us(1), us(2), 2), (us(2), us(5), 2), (us(5), us(10), 1)]
        );
    }

    #[test]
    fn the_last_bucket_has_no_end_and_gaps_are_kept() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.buckets(), []);
        [20_000_000_000, i64::MAX].iter().for_each(|&t| histogram.add(t));
        let found: Vec<_> = histogram.buckets().iter().map(|b| (b.from, b.to, b.count)).collect();
        let s = 1_000_000_000;
        assert_eq!(found, [(Some(20 * s), Some(50 * s), 1), (Some(50 * s), None, 1)]);
        histogram.add(3_000_000_000);
        assert_eq!(histogram.buckets().iter().map(|b| b.count).collect::<Vec<_>>(), [1, 0, 0, 1, 1]);
    }
}
