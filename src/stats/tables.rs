//! The tables of each section.

use super::clients::Clients;
use super::series::{IntervalCounts, MAX_EMPTY};
use super::sheet::{
    AMPLIFICATION, Cell, ENDPOINTS, HIERARCHY, HISTOGRAM, LISTINGS, LOSSES, Rows, SERIES, Sheet, TIMES,
};
use super::traffic::{Flow, Losses, Served, StepTraffic, Traffic, UNIT, Weighed};
use super::{MAX_TIMED, Section, Stats};
use crate::capture::Time;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::listings::Listing;
use crate::report::screen::frame_name;
use crate::report::times::Times;
use crate::report::{count, duration};
use std::cmp::Reverse;

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn step_name(id: Id, step: usize) -> &'static str {
    id.info().steps.get(step).map_or("unknown", |s| s.name)
}

impl Stats {
    /// The tables of a section; all have the same columns.
    pub(super) fn tables(&self, section: Section) -> Vec<Sheet<'_>> {
        match section {
            Section::Times => vec![self.step_times(), self.server_times()],
            Section::Endpoints => vec![self.server_endpoints(), self.client_endpoints()],
            Section::Hierarchy => vec![self.layers()],
            Section::Series => vec![self.over_time()],
            Section::Amplification => vec![self.amplification()],
            Section::Losses => vec![self.losses()],
            Section::Listings => vec![self.listed()],
            Section::Clients => self.asking.iter().map(Clients::sheet).collect(),
        }
    }

    pub(super) fn step_times(&self) -> Sheet<'_> {
        let mut steps: Vec<_> = self.steps.iter().collect();
        steps.sort_by_key(|s| (s.id, s.step));
        let row = |s: &&super::StepTimes| {
            let step = step_name(s.id, usize::from(s.step));
            let histogram = Cell::Histogram(s.histogram.buckets());
            times_row([text(s.id.info().name), text(step), Cell::Nothing], &s.times, histogram)
        };
        let rows = Rows::of(steps, row);
        Sheet { hidden: &["server"], ..Sheet::new(&TIMES, "Response times by step", rows) }
    }

    fn server_times(&self) -> Sheet<'_> {
        let mut servers = self.servers.sorted();
        servers.retain(|(_, served)| served.times.count() > 0);
        servers.sort_by_key(|(_, served)| Reverse(served.times.count()));
        let row = |((end, id), served): &((Endpoint, Id), &Served)| {
            let heads = [text(id.info().name), Cell::Nothing, Cell::Text(end.to_string())];
            times_row(heads, &served.times, Cell::Nothing)
        };
        let mut notes = self.left_out();
        let without_quantiles =
            servers.iter().filter(|(_, served)| served.times.quantile(0.5).is_none()).count();
        if without_quantiles > 0 {
            let servers = count(without_quantiles as u64, "server");
            notes.push(format!("{servers} beyond the first {MAX_TIMED} have no median, p90 and p99"));
        }
        let rows = Rows::of(servers, row);
        Sheet { hidden: &["step", HISTOGRAM], notes, ..Sheet::new(&TIMES, "Response times by server", rows) }
    }

    /// A remark on servers that were left out because the table of servers is bounded.
    fn left_out(&self) -> Vec<String> {
        match self.servers.left_out {
            0 => vec![],
            n => vec![format!("{} with the least traffic left out for want of room", count(n, "server"))],
        }
    }

    fn server_endpoints(&self) -> Sheet<'_> {
        let rest = &self.servers.rest.traffic;
        let mut servers: Vec<_> = self.servers.sorted().into_iter().map(Some).collect();
        servers.extend((rest.weight() > 0).then_some(None));
        let rows = Rows::of(servers, move |server| match server {
            Some(((end, id), served)) => {
                let name = served.server_name.clone().map_or(Cell::Nothing, Cell::Name);
                let heads = [text("server"), Cell::Text(end.to_string()), text(id.info().name), name];
                endpoint_row(heads, &served.traffic, 0)
            }
            None => rest_row("server", rest, self.servers.left_out),
        });
        Sheet { notes: self.left_out(), ..Sheet::new(&ENDPOINTS, "Servers", rows) }
    }

    fn client_endpoints(&self) -> Sheet<'_> {
        let rest = &self.clients.rest;
        let mut clients: Vec<_> = self.clients.sorted().into_iter().map(Some).collect();
        clients.extend((rest.weight() > 0).then_some(None));
        let rows = Rows::of(clients, move |client| match client {
            Some((end, traffic)) => {
                let address = end.ip().to_string();
                endpoint_row([text("client"), Cell::Text(address), Cell::Nothing, Cell::Nothing], traffic, 0)
            }
            None => rest_row("client", rest, self.clients.left_out),
        });
        let hidden = &["protocol", "server_name"];
        Sheet { hidden, ..Sheet::new(&ENDPOINTS, "Clients, by address", rows) }
    }

    fn layers(&self) -> Sheet<'_> {
        let layers = self.hierarchy.layers();
        let all = layers.first().map_or(0, |all| all.count.bytes);
        let row = move |layer: &super::hierarchy::Layer| {
            let name = layer.path.last().cloned().unwrap_or_default();
            vec![
                Cell::Nested(layer.path.len().saturating_sub(1), name),
                Cell::Text(layer.path.join(":")),
                Cell::Count(layer.count.frames),
                Cell::Count(layer.count.bytes),
                Cell::percent(layer.count.bytes, all),
            ]
        };
        Sheet::new(&HIERARCHY, "Protocols, in frames", Rows::of(layers, row))
    }

    fn over_time(&self) -> Sheet<'_> {
        let series = self.series.rows();
        let most = series.rows.iter().map(|(_, counts)| counts.queries).max().unwrap_or(0).max(1);
        let interval = series.interval;
        let row = move |(start, counts): &(i64, IntervalCounts)| {
            vec![
                Cell::Time(Time::from_nanos(*start)),
                Cell::Duration(interval),
                Cell::Count(counts.queries),
                Cell::Count(counts.retransmissions),
                Cell::Count(counts.answers),
                Cell::Count(counts.unanswered),
                Cell::Count(counts.refused),
                Cell::duration(counts.mean()),
                Cell::duration(counts.longest),
                Cell::Bar(counts.queries as f64 / most as f64),
            ]
        };
        let mut notes = vec![];
        if series.gaps > 0 {
            let pauses = count(series.gaps, "pause");
            notes.push(format!("{pauses} of more than {MAX_EMPTY} empty intervals left out"));
        }
        for (counts, why) in [
            (&self.series.untimed, "at unknown times"),
            (&self.series.overflow, "in further intervals, for want of room"),
        ] {
            if *counts != IntervalCounts::default() {
                let IntervalCounts { queries, answers, unanswered, .. } = counts;
                notes.push(format!("{queries} queries, {answers} answers, {unanswered} unanswered {why}"));
            }
        }
        let title = format!("Over time (UTC), in intervals of {}", span(interval));
        let rows = Rows::of(series.rows, row);
        let hidden = &["retransmissions", "refused"];
        Sheet { hidden, notes, ..Sheet::new(&SERIES, &title, rows) }
    }

    fn amplification(&self) -> Sheet<'_> {
        let mut rows_by_step = vec![];
        for ((end, id), served) in self.servers.sorted() {
            let steps = served.steps.iter().enumerate();
            let has_traffic = |a: &StepTraffic| a.requests.datagrams + a.sent.datagrams > 0;
            rows_by_step.extend(
                steps
                    .filter(|(_, a)| has_traffic(a))
                    .map(|(step, step_traffic)| (end, id, step, step_traffic)),
            );
        }
        rows_by_step.sort_by(|a, b| sort_ratio(b.3).total_cmp(&sort_ratio(a.3)));
        let row = |(end, id, step, step_traffic): &(Endpoint, Id, usize, &StepTraffic)| {
            let (protocol, step) = (id.info().name, step_name(*id, *step));
            let both = Cell::Text(format!("{protocol} {step}"));
            self.amplification_row(
                [Cell::Text(end.to_string()), text(protocol), text(step), both],
                step_traffic,
            )
        };
        let rows = Rows::of(rows_by_step, row);
        let mut notes = vec![
            "ratio: everything sent for everything got; not asked: copies, and answers to nothing".to_owned(),
        ];
        notes.extend(self.left_out());
        Sheet { notes, ..Sheet::new(&AMPLIFICATION, "Amplification", rows) }
    }

    fn amplification_row(&self, heads: [Cell; 4], a: &StepTraffic) -> Vec<Cell> {
        let mut row = heads.to_vec();
        row.extend(flow(&a.requests));
        row.extend(flow(&a.sent));
        row.extend([Cell::ratio(a.sent.bytes, a.requests.bytes), Cell::ratio(a.sent.wire, a.requests.wire)]);
        match &a.worst {
            Some(worst) => {
                let place = self.captures.files.place(worst.frame);
                row.extend([
                    Cell::ratio(worst.response_bytes, worst.request_bytes),
                    Cell::Count(worst.request_bytes),
                    Cell::Count(worst.response_bytes),
                    self.captures.name(place.file).map_or(Cell::Nothing, text),
                    Cell::Count(place.frame),
                    Cell::Text(frame_name(place, &self.captures)),
                ]);
            }
            None => row.extend([const { Cell::Nothing }; 6]),
        }
        row.extend([
            Cell::Count(a.without_challenge),
            Cell::Count(a.copies.datagrams),
            Cell::Count(a.copies.bytes),
            Cell::Count(a.unsolicited.datagrams),
            Cell::Count(a.unsolicited.bytes),
            Cell::Count(a.copies.datagrams + a.unsolicited.datagrams),
        ]);
        row
    }

    fn losses(&self) -> Sheet<'_> {
        let mut all = self.servers.rest.losses;
        self.servers.values().for_each(|served| all.absorb(&served.losses));
        let mut servers = self.servers.sorted();
        servers.retain(|(_, served)| served.losses != Losses::default());
        servers.sort_by_key(|(_, s)| Reverse((s.losses.outcomes.unanswered, s.losses.outcomes.requests)));
        let mut rows = vec![];
        rows.extend((all != Losses::default()).then_some(None));
        rows.extend(servers.into_iter().map(Some));
        let rows = Rows::of(rows, move |server| match server {
            Some(((end, id), served)) => {
                loss_row([Cell::Text(end.to_string()), text(id.info().name)], &served.losses)
            }
            None => loss_row([Cell::All, Cell::Nothing], &all),
        });
        let mut notes = vec!["lost %: of all that were asked and are not open at the end".to_owned()];
        notes.extend(self.left_out());
        Sheet { notes, ..Sheet::new(&LOSSES, "Losses and retransmissions", rows) }
    }
}

impl Stats {
    fn listed(&self) -> Sheet<'_> {
        let row = |listing: &Listing| {
            vec![
                Cell::Text(listing.server.to_string()),
                Cell::Text(listing.master.to_string()),
                text(listing.id.info().name),
                Cell::Count(listing.lists),
                Cell::Count(listing.heartbeats),
                Cell::Time(listing.first),
                Cell::Time(listing.last),
            ]
        };
        let notes = match self.listings.left_out {
            0 => vec![],
            n => vec![format!("{} of further servers left out for want of room", count(n, "mention"))],
        };
        let rows = Rows::of(self.listings.sorted(), row);
        Sheet {
            notes,
            ..Sheet::new(&LISTINGS, "Servers that masters list, or that tell them of themselves", rows)
        }
    }
}

fn times_row([protocol, step, server]: [Cell; 3], times: &Times<UNIT>, histogram: Cell) -> Vec<Cell> {
    let quantile = |share| Cell::duration(times.quantile(share));
    let ends = times.extremes();
    vec![
        protocol,
        step,
        server,
        Cell::Count(times.count()),
        Cell::duration(ends.map(|e| e.0)),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        Cell::duration(ends.map(|e| e.1)),
        Cell::duration(times.mean()),
        histogram,
    ]
}

/// Datagrams, bytes of payload, bytes on the wire.
fn flow(flow: &Flow) -> [Cell; 3] {
    [flow.datagrams, flow.bytes, flow.wire].map(Cell::Count)
}

fn endpoint_row(heads: [Cell; 4], traffic: &Traffic, left_out: u64) -> Vec<Cell> {
    let mut row = heads.to_vec();
    row.extend(flow(&traffic.sent));
    row.extend(flow(&traffic.received));
    row.push(if left_out > 0 { Cell::Count(left_out) } else { Cell::Nothing });
    row
}

/// A row that adds up the endpoints that were left out.
fn rest_row(role: &str, rest: &Traffic, left_out: u64) -> Vec<Cell> {
    endpoint_row([text(role), Cell::Nothing, Cell::Nothing, Cell::Nothing], rest, left_out)
}

fn loss_row(heads: [Cell; 2], l: &Losses) -> Vec<Cell> {
    let mut row = heads.to_vec();
    let o = &l.outcomes;
    row.extend([o.requests, o.answered, o.late, o.unanswered, o.refused, o.undecided].map(Cell::Count));
    let decided = o.decided();
    row.push(Cell::Count(decided));
    row.extend([o.unanswered, o.late, o.refused].map(|part| Cell::percent(part, decided)));
    row.extend([Cell::Count(l.retransmissions), Cell::percent(l.retransmissions, o.requests)]);
    row.extend([Cell::Count(l.copies), Cell::percent(l.copies, o.with_answer())]);
    row
}

/// The ratio by which the rows are sorted: that of the worst exchange, or without one, that of everything sent.
fn sort_ratio(a: &StepTraffic) -> f64 {
    let (part, base) = match &a.worst {
        Some(worst) => (worst.response_bytes, worst.request_bytes),
        None => (a.sent.bytes, a.requests.bytes),
    };
    part as f64 / base.max(1) as f64
}

/// The length of an interval, for people.
fn span(nanos: i64) -> String {
    const S: i64 = 1_000_000_000;
    for (unit, name) in [(86_400 * S, "d"), (3_600 * S, "h"), (60 * S, "min"), (S, "s"), (S / 1_000, "ms")] {
        if nanos >= unit && nanos % unit == 0 {
            return format!("{} {name}", nanos / unit);
        }
    }
    duration(nanos)
}
