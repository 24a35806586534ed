//! The data of the page: the records of the other commands, with further keys for what only the page shows.

use super::Gathered;
use super::retained::Trace;
use crate::capture::{CaptureInfo, Time};
use crate::check::Counts;
use crate::docs::paragraph;
use crate::escape::to_hex;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::summary::MAX_UNCLAIMED;
use crate::report::{CaptureRecord, Place, Report, ServerRecord, Totals, count, records_of, remarks};
use crate::stats::{self, Section};
use crate::timestamps::stamp;
use crate::verdict::{Entry, FindingRecord, Outcome, RuleResult, Verdict};
use hashbrown::HashMap;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Most servers on the page: servers with the worst findings come first, then the servers asked most.
pub const MAX_SERVERS: usize = 16_384;
/// Most findings on the page, the worst first.
pub const MAX_FINDINGS: usize = 2_000;
/// Most captures on the page.
pub const MAX_CAPTURES: usize = 200;

/// What the page shows.
#[derive(Debug, Default)]
pub struct Data {
    /// The rows of every table, by its name.
    tables: Vec<(&'static str, Vec<Value>)>,
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
        let (mut intervals, mut notes) = stats::section(&g.stats, Section::Series);
        notes.extend(add_findings(&mut intervals, verdict, g));
        notes.extend(remarks(&g.summary, &verdict.totals));
        let mut captures: Vec<_> = g
            .summary
            .captures
            .list
            .iter()
            .map(|(name, facts)| json!(CaptureRecord::new(name, facts)))
            .collect();
        let mut servers = servers(g, verdict);
        let mut findings: Vec<_> = verdict.worst_first().iter().map(|e| finding(e, g, verdict)).collect();
        let mut unclaimed: Vec<_> =
            g.summary.unclaimed.busiest().iter().map(|busy| json!(busy.record())).collect();
        let more_captures = verdict.totals.files.saturating_sub(captures.len() as u64);
        let more_findings = (verdict.findings.len() - findings.len()) as u64 + verdict.more_findings;
        let left_out = json!({
            "server": truncate(&mut servers, MAX_SERVERS),
            "finding": truncate(&mut findings, MAX_FINDINGS) + more_findings,
            "exchange": g.exchanges.left_out,
            "unclaimed": truncate(&mut unclaimed, MAX_UNCLAIMED),
            "capture": truncate(&mut captures, MAX_CAPTURES) + more_captures,
        });
        let tables = vec![
            ("capture", captures),
            ("server", servers),
            ("finding", findings),
            ("rule", rules(verdict)),
            ("exchange", exchanges(g)),
            ("unclaimed", unclaimed),
            ("response_times", times),
            ("interval", intervals),
        ];
        Data { tables, summary: json!(verdict.summary_record()), left_out, notes }
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> &[Value] {
        self.tables.iter().find(|(name, _)| *name == table).map_or(&[], |(_, rows)| rows)
    }

    /// Whether the page is about several captures.
    pub fn several(&self) -> bool {
        self.rows("capture").len() > 1
    }

    /// Everything as one object.
    pub fn json(&self) -> Value {
        let mut all = json!({ "summary": self.summary });
        self.tables.iter().for_each(|(name, rows)| all[name] = json!(rows));
        all["left_out"] = self.left_out.clone();
        all["notes"] = json!(self.notes);
        all
    }
}

/// Keeps the first `most` rows, and returns the number of rows removed.
fn truncate(rows: &mut Vec<Value>, most: usize) -> u64 {
    let more = rows.len().saturating_sub(most);
    rows.truncate(most);
    more as u64
}

/// The `server` records with the counts of findings from the verdict, the percentage of requests that were answered, and
/// the trace. The slots of all traces have the same length.
fn servers(g: &Gathered, verdict: &Verdict) -> Vec<Value> {
    let counts = verdict.servers.iter().map(|s| ((s.server, s.protocol), s.counts));
    let counts: HashMap<(Endpoint, Id), Counts> = counts.collect();
    let length = g.traces.values().map(Trace::length).max().unwrap_or(0);
    let mut rows = vec![];
    for (index, server) in (0..).zip(&g.summary.servers) {
        let Some(s) = server else { continue };
        let findings = counts.get(&(s.endpoint, s.id)).copied().unwrap_or_default();
        let mut record = json!(ServerRecord::new(s));
        record["finding_counts"] = json!(findings);
        let answered = s.answered + s.late;
        record["answered_percent"] = answered.saturating_mul(100).checked_div(s.requests).into();
        record["trace"] = g.traces.get(&index).cloned().unwrap_or_default().record(length);
        rows.push((Reverse((findings.error, findings.warning, s.unanswered, s.requests)), record));
    }
    rows.sort_by_key(|(order, _)| *order);
    rows.into_iter().map(|(_, record)| record).collect()
}

/// The `finding` record with the time of its frame and the bytes that are kept of it.
fn finding(e: &Entry, g: &Gathered, verdict: &Verdict) -> Value {
    let place = Place { file: e.file, frame: e.frame };
    let mut record = json!(FindingRecord::new(verdict.file(e), e));
    let time = g.frames.time_of(place);
    record["time"] = Some(stamp(time)).filter(|_| time != Time::UNKNOWN).into();
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
    let findings = count(untimed, "finding");
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
fn exchanges(g: &Gathered) -> Vec<Value> {
    let captures = &g.summary.captures;
    records_of(false, |records| {
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
        for most in [MAX_SERVERS, MAX_FINDINGS, MAX_CAPTURES] {
            for (rows, more) in [(most, 0), (most + 3, 3)] {
                let mut all = vec![Value::Null; rows];
                assert_eq!((truncate(&mut all, most), all.len()), (more, most));
            }
        }
    }
}
