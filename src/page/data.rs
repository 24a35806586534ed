//! The data of the page: the records of the other commands, with further keys for what only the page shows.

use super::Gathered;
use super::retained::Trace;
use super::table::{MAX_ROWS, columns};
use crate::capture::CaptureInfo;
use crate::check::Counts;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::summary::MAX_UNCLAIMED;
use crate::report::{CaptureRecord, Place, Report, ServerRecord, Totals, grouped_count, lines_of, remarks};
use crate::stats::{self, Section};
use crate::text::escape::to_hex;
use crate::text::markdown::paragraph;
use crate::text::timestamps::stamp;
use crate::verdict::{Entry, FindingRecord, Outcome, RuleResult, Verdict};
use hashbrown::HashMap;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Most servers on the page: servers with the worst findings come first, then the servers asked most.
pub const MAX_SERVERS: usize = 2_000;
/// Most findings on the page, the worst first.
pub const MAX_FINDINGS: usize = 2_000;
/// Most clients on the page, the busiest first.
pub const MAX_CLIENTS: usize = 2_000;
/// Most captures on the page.
pub const MAX_CAPTURES: usize = 200;

/// The record of a row.
type Row = Box<RawValue>;

/// What the page shows.
#[derive(Debug, Default)]
pub struct Data {
    /// The rows of every table, by its name, as text: as values they take several times as much.
    tables: Vec<(&'static str, Vec<Row>)>,
    /// The totals.
    pub summary: Value,
    /// Rows that were left out, by the name of the table.
    pub left_out: Value,
    /// Further remarks, as sentences.
    pub notes: Vec<String>,
}

impl Data {
    /// Makes the records from the gathered data. Tables are cut at their bounds, and rows that this leaves out are counted.
    pub fn of(g: &Gathered, verdict: &Verdict) -> Data {
        let (mut times, _) = stats::section(&g.stats, Section::Times);
        times.retain(|row| row["server"].is_null());
        let (clients, _) = stats::section(&g.stats, Section::Clients);
        let (clients, more_clients) = rows(clients.into_iter(), MAX_CLIENTS, |row| row);
        let (amplification, _) = stats::section(&g.stats, Section::Amplification);
        let (amplification, more_amplification) = rows(amplification.into_iter(), MAX_SERVERS, |row| row);
        let (mut intervals, mut notes) = stats::section(&g.stats, Section::Series);
        notes.extend(add_findings(&mut intervals, verdict, g));
        notes.extend(remarks(&g.summary, &verdict.totals));
        let files = g.summary.captures.list.iter();
        let (captures, _) = rows(files, MAX_CAPTURES, |(name, facts)| json!(CaptureRecord::new(name, facts)));
        let (servers, more_servers) = servers(g, verdict);
        let listed = verdict.worst_first();
        let (findings, more_findings) = rows(listed.iter(), MAX_FINDINGS, |e| finding(e, g, verdict));
        let unlisted = (verdict.findings.len() - listed.len()) as u64 + verdict.more_findings;
        let busiest = g.summary.unclaimed.busiest();
        let (unclaimed, more_unclaimed) = rows(busiest.iter(), MAX_UNCLAIMED, |busy| json!(busy.record()));
        let left_out = json!({
            "server": more_servers,
            "finding": more_findings + unlisted,
            "exchange": g.exchanges.left_out,
            "unclaimed": more_unclaimed,
            "client": more_clients,
            "amplification": more_amplification,
            "capture": verdict.totals.files.saturating_sub(captures.len() as u64),
        });
        let tables = vec![
            ("capture", captures),
            ("server", servers),
            ("finding", findings),
            ("rule", raw(rules(verdict))),
            ("exchange", exchanges(g)),
            ("unclaimed", unclaimed),
            ("client", clients),
            ("amplification", amplification),
            ("response_times", raw(times)),
            ("interval", raw(intervals)),
        ];
        Data { tables, summary: json!(verdict.summary_record()), left_out, notes }
    }

    /// Number of rows of a table.
    pub fn number(&self, table: &str) -> usize {
        self.rows(table).len()
    }

    /// The first rows of a table, those in the HTML.
    pub fn first_rows(&self, table: &str) -> Vec<Value> {
        let first = self.rows(table).iter().take(MAX_ROWS);
        first.filter_map(|row| serde_json::from_str(row.get()).ok()).collect()
    }

    fn rows(&self, table: &str) -> &[Row] {
        self.tables.iter().find(|(name, _)| *name == table).map_or(&[], |(_, rows)| rows)
    }

    /// Whether the page is about several captures.
    pub fn several(&self) -> bool {
        self.number("capture") > 1
    }
}

/// Everything as one object, in which no row is copied.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_map(None)?;
        all.serialize_entry("summary", &self.summary)?;
        self.tables.iter().try_for_each(|(name, rows)| all.serialize_entry(name, rows))?;
        all.serialize_entry("left_out", &self.left_out)?;
        all.serialize_entry("notes", &self.notes)?;
        all.serialize_entry("columns", &columns(self.several()))?;
        all.end()
    }
}

/// Makes the first `most` rows, and returns the number of those that are not made.
fn rows<T>(
    of: impl ExactSizeIterator<Item = T>,
    most: usize,
    make: impl FnMut(T) -> Value,
) -> (Vec<Row>, u64) {
    let more = of.len().saturating_sub(most) as u64;
    (raw(of.take(most).map(make)), more)
}

fn raw(rows: impl IntoIterator<Item = Value>) -> Vec<Row> {
    // It fails only for keys that are not strings, and no record has such keys.
    rows.into_iter().filter_map(|row| to_raw_value(&row).ok()).collect()
}

/// The `server` records with the counts of findings from the verdict, the percentage of requests that were answered, and
/// the trace. The slots of all traces have the same length.
fn servers(g: &Gathered, verdict: &Verdict) -> (Vec<Row>, u64) {
    let counts = verdict.servers.iter().map(|s| ((s.server, s.protocol), s.counts));
    let counts: HashMap<(Endpoint, Id), Counts> = counts.collect();
    let length = g.traces.values().map(Trace::length).max().unwrap_or(0);
    let mut order = vec![];
    for (index, server) in (0..).zip(&g.summary.servers) {
        let Some(s) = server else { continue };
        let findings = counts.get(&(s.endpoint, s.id)).copied().unwrap_or_default();
        let key = Reverse((findings.error, findings.warning, s.unanswered, s.requests));
        order.push((key, index, s, findings));
    }
    order.sort_by_key(|(key, ..)| *key);
    rows(order.into_iter(), MAX_SERVERS, |(_, index, s, findings)| {
        let mut record = json!(ServerRecord::new(s));
        record["finding_counts"] = json!(findings);
        let answered = s.answered + s.late;
        record["answered_percent"] = answered.saturating_mul(100).checked_div(s.requests).into();
        record["trace"] = g.traces.get(&index).cloned().unwrap_or_default().record(length);
        record
    })
}

/// The `finding` record with the bytes that are kept of it.
fn finding(e: &Entry, g: &Gathered, verdict: &Verdict) -> Value {
    let place = Place { file: e.file, frame: e.frame };
    let mut record = json!(FindingRecord::new(verdict.file(e), e));
    let start = e.finding.span.map_or(0, |span| span.start);
    record["bytes"] = match g.frames.bytes_of(place, start.into()) {
        Some(bytes) => bytes,
        None if e.marked.is_empty() => Value::Null,
        None => {
            json!({ "from": start, "hex": to_hex(&e.marked) })
        }
    };
    record
}

/// Counts each finding in the interval of its frame, if all findings are kept. Returns a remark on findings that are in none.
fn add_findings(intervals: &mut [Value], verdict: &Verdict, g: &Gathered) -> Option<String> {
    let counted = verdict.findings.iter().filter(|e| e.counts());
    let total = verdict.counts.total();
    if counted.clone().count() as u64 != total {
        // The kept findings are the worst and the first: their counts would suggest that there are none later.
        intervals.iter_mut().for_each(|row| row["finding_counts"] = Value::Null);
        return Some(format!("no findings over time, for not all {total} could be kept"));
    }
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let starts: Vec<_> = intervals.iter().map(|row| text(row, "start")).collect();
    let (mut counts, mut untimed) = (vec![Counts::default(); intervals.len()], 0);
    for e in counted {
        // All time stamps have the same length, so their order as text is their order in time.
        let time = stamp(g.frames.time_of(Place { file: e.file, frame: e.frame }));
        let at = starts.partition_point(|start| *start <= time).checked_sub(1);
        match at.and_then(|at| counts.get_mut(at)) {
            Some(counts) => counts.add(e.finding.severity),
            None => untimed += 1,
        }
    }
    for (row, counts) in intervals.iter_mut().zip(counts) {
        row["finding_counts"] = json!(counts);
    }
    let findings = grouped_count(untimed, "finding");
    (untimed > 0).then(|| format!("{findings} in no interval: before the first query, or at an unknown time"))
}

/// The `rule` records of broken rules, with severity, title, reason and source of each.
fn rules(verdict: &Verdict) -> Vec<Value> {
    let broken = |outcome| matches!(outcome, Outcome::Fail | Outcome::Known);
    let mut rows: Vec<_> = verdict.rules.iter().filter(|r| broken(r.outcome)).collect();
    rows.sort_by_key(|r| Reverse((r.severity, r.count)));
    let row = |r: &&RuleResult| {
        let mut record = json!(r.record());
        record["severity"] = r.severity.map(|severity| severity.name()).into();
        record["title"] = r.rule.title.into();
        record["why"] = paragraph(r.rule.why).into();
        record["source"] =
            json!({ "document": r.rule.cite.doc, "section": r.rule.cite.section, "url": r.rule.cite.url });
        record
    };
    rows.iter().map(row).collect()
}

/// The `exchange` records, as `exchanges` writes them.
fn exchanges(g: &Gathered) -> Vec<Row> {
    let captures = &g.summary.captures;
    lines_of(false, |records| {
        for (at, before) in captures.files.before().enumerate() {
            match captures.list.get(at) {
                Some((name, facts)) => records.file(name, facts, before)?,
                None => records.file("(further captures)", &CaptureInfo::default(), before)?,
            }
        }
        g.exchanges.sorted().into_iter().try_for_each(|(e, findings)| records.exchange(e, findings))?;
        records.finish(&Totals::default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_limit_are_left_out_and_counted() {
        for most in [MAX_SERVERS, MAX_FINDINGS, MAX_CLIENTS, MAX_CAPTURES] {
            for (number, more) in [(most, 0), (most + 3, 3)] {
                let (mut made, all) = (0, 0..number);
                let (made_rows, left_out) = rows(all, most, |_| {
                    made += 1;
                    Value::Null
                });
                assert_eq!((made_rows.len(), made, left_out), (most, most, more));
            }
        }
    }
}
