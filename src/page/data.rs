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
use crate::stats::{self, Section, Sheet};
use crate::text::escape::to_hex;
use crate::text::markdown::paragraph;
use crate::text::timestamps::stamp;
use crate::verdict::{Entry, FindingRecord, Outcome, RuleResult, Verdict};
use hashbrown::HashMap;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
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

/// The rows of a table. A row is made when it is written, so that no more than one is in memory.
struct Rows<'a> {
    number: usize,
    make: Make<'a>,
}

/// How rows are made.
enum Make<'a> {
    /// From the row's number.
    Record(Box<dyn Fn(usize) -> Value + 'a>),
    /// They have been written already.
    Text(Vec<Box<RawValue>>),
}

/// What the page shows.
#[derive(Default)]
pub struct Data<'a> {
    /// The rows of every table, by its name.
    tables: Vec<(&'static str, Rows<'a>)>,
    /// The totals.
    pub summary: Value,
    /// Rows that were left out, by the name of the table.
    pub left_out: Value,
    /// Further remarks, as sentences.
    pub notes: Vec<String>,
}

impl<'a> Data<'a> {
    /// The tables of the gathered data. They are cut at their bounds, and rows that this leaves out are counted.
    pub fn of(g: &'a Gathered, verdict: &'a Verdict) -> Data<'a> {
        let (times, _) = sheet(g, Section::Times, usize::MAX);
        let (clients, more_clients) = sheet(g, Section::Clients, MAX_CLIENTS);
        let (amplification, more_amplification) = sheet(g, Section::Amplification, MAX_SERVERS);
        let series = stats::sheet(&g.stats, Section::Series);
        let mut intervals: Vec<_> = series.iter().flat_map(Sheet::records).collect();
        let mut notes = series.map(|series| series.notes).unwrap_or_default();
        notes.extend(add_findings(&mut intervals, verdict, g));
        notes.extend(remarks(&g.summary, &verdict.totals));
        let files = g.summary.captures.list.iter().collect();
        let (captures, _) = rows(files, MAX_CAPTURES, |(name, facts)| json!(CaptureRecord::new(name, facts)));
        let (servers, more_servers) = servers(g, verdict);
        let listed = verdict.worst_first();
        let unlisted = (verdict.findings.len() - listed.len()) as u64 + verdict.more_findings;
        let (findings, more_findings) = rows(listed, MAX_FINDINGS, |e| finding(e, g, verdict));
        let busiest = g.summary.unclaimed.busiest();
        let (unclaimed, more_unclaimed) = rows(busiest, MAX_UNCLAIMED, |busy| json!(busy.record()));
        let left_out = json!({
            "server": more_servers,
            "finding": more_findings + unlisted,
            "exchange": g.exchanges.left_out,
            "unclaimed": more_unclaimed,
            "client": more_clients,
            "amplification": more_amplification,
            "capture": verdict.totals.files.saturating_sub(captures.number as u64),
        });
        let tables = vec![
            ("capture", captures),
            ("server", servers),
            ("finding", findings),
            ("rule", rules(verdict)),
            ("exchange", exchanges(g)),
            ("unclaimed", unclaimed),
            ("client", clients),
            ("amplification", amplification),
            ("response_times", times),
            ("interval", rows(intervals, usize::MAX, Value::clone).0),
        ];
        Data { tables, summary: json!(verdict.summary_record()), left_out, notes }
    }

    /// Number of rows of a table.
    pub fn number(&self, table: &str) -> usize {
        self.rows(table).map_or(0, |rows| rows.number)
    }

    /// The first rows of a table, those in the HTML.
    pub fn first_rows(&self, table: &str) -> impl Iterator<Item = Value> {
        let rows = self.rows(table);
        (0..self.number(table).min(MAX_ROWS)).filter_map(move |at| match &rows?.make {
            Make::Record(make) => Some(make(at)),
            Make::Text(lines) => serde_json::from_str(lines.get(at)?.get()).ok(),
        })
    }

    fn rows(&self, table: &str) -> Option<&Rows<'a>> {
        self.tables.iter().find(|(name, _)| *name == table).map(|(_, rows)| rows)
    }

    /// Whether the page is about several captures.
    pub fn several(&self) -> bool {
        self.number("capture") > 1
    }
}

/// Everything as one object.
impl Serialize for Data<'_> {
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

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.make {
            Make::Record(make) => serializer.collect_seq((0..self.number).map(make)),
            Make::Text(lines) => serializer.collect_seq(lines),
        }
    }
}

/// The first `most` rows, and the number of those that are left out.
fn rows<'a, T: 'a>(of: Vec<T>, most: usize, make: impl Fn(&T) -> Value + 'a) -> (Rows<'a>, u64) {
    let number = of.len().min(most);
    let more = (of.len() - number) as u64;
    let make = Make::Record(Box::new(move |at| of.get(at).map_or(Value::Null, &make)));
    (Rows { number, make }, more)
}

/// The rows of a section of the statistics.
fn sheet(g: &Gathered, section: Section, most: usize) -> (Rows<'_>, u64) {
    let Some(sheet) = stats::sheet(&g.stats, section) else { return rows(vec![], 0, Value::clone) };
    let number = sheet.rows.len().min(most);
    let more = (sheet.rows.len() - number) as u64;
    (Rows { number, make: Make::Record(Box::new(move |at| sheet.table.record(&sheet.rows.row(at)))) }, more)
}

/// The `server` records with the counts of findings from the verdict, the percentage of requests that were answered, and
/// the trace. The slots of all traces have the same length.
fn servers<'a>(g: &'a Gathered, verdict: &Verdict) -> (Rows<'a>, u64) {
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
    rows(order, MAX_SERVERS, move |(_, index, s, findings)| {
        let mut record = json!(ServerRecord::new(s));
        record["finding_counts"] = json!(findings);
        let answered = s.answered + s.late;
        record["answered_percent"] = answered.saturating_mul(100).checked_div(s.requests).into();
        record["trace"] = g.traces.get(index).cloned().unwrap_or_default().record(length);
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
fn rules(verdict: &Verdict) -> Rows<'_> {
    let broken = |outcome| matches!(outcome, Outcome::Fail | Outcome::Known);
    let mut results: Vec<_> = verdict.rules.iter().filter(|r| broken(r.outcome)).collect();
    results.sort_by_key(|r| Reverse((r.severity, r.count)));
    let row = |r: &&RuleResult| {
        let mut record = json!(r.record());
        record["severity"] = r.severity.map(|severity| severity.name()).into();
        record["title"] = r.rule.title.into();
        record["why"] = paragraph(r.rule.why).into();
        record["source"] =
            json!({ "document": r.rule.cite.doc, "section": r.rule.cite.section, "url": r.rule.cite.url });
        record
    };
    rows(results, usize::MAX, row).0
}

/// The `exchange` records, as `exchanges` writes them.
fn exchanges<'a>(g: &Gathered) -> Rows<'a> {
    let captures = &g.summary.captures;
    let lines = lines_of(false, |records| {
        for (at, before) in captures.files.before().enumerate() {
            match captures.list.get(at) {
                Some((name, facts)) => records.file(name, facts, before)?,
                None => records.file("(further captures)", &CaptureInfo::default(), before)?,
            }
        }
        g.exchanges.sorted().into_iter().try_for_each(|(e, findings)| records.exchange(e, findings))?;
        records.finish(&Totals::default())
    });
    Rows { number: lines.len(), make: Make::Text(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn rows_beyond_the_limit_are_left_out_and_counted() {
        for most in [MAX_SERVERS, MAX_FINDINGS, MAX_CLIENTS, MAX_CAPTURES] {
            for (number, more) in [(most, 0), (most + 3, 3)] {
                let made = Cell::new(0);
                let (table, left_out) = rows((0..number).collect(), most, |n| {
                    made.set(made.get() + 1);
                    json!(n)
                });
                assert_eq!((table.number, made.get(), left_out), (most, 0, more));
                let text = json!(table).to_string();
                assert_eq!((text.split(',').count(), made.get()), (most, most));
            }
        }
    }
}
