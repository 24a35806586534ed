//! The verdict as records: `finding`, `rule`, then the `summary`.

use super::{Entry, Excuse, RuleResult, Verdict};
use crate::escape::harmless;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The `finding` record.
pub fn finding_record(file: &str, e: &Entry) -> Value {
    let f = &e.finding;
    let mut record = json!({
        "type": "finding", "rule": f.rule.id, "severity": f.severity.name(), "file": file, "frame": e.frame,
        "protocol": e.protocol.info().name, "server": e.server.to_string(), "client": e.client.to_string(),
        "fault": f.fault.name(), "confidence": e.level.name(), "field": f.path(),
        "start": f.span.map(|s| s.start), "end": f.span.map(|s| s.end), "file_offset": e.file_offset,
        "exchange": e.exchange, "message": e.text(),
        "caused_by": f.caused_by.map(|c| json!({ "rule": c.rule.id, "frame": c.frame })),
    });
    if let Some((_, name)) = &e.cause_file {
        record["caused_by"]["file"] = (&**name).into();
    }
    if f.rule.per_server && f.counts() {
        record["count"] = e.count.into();
    }
    match &e.excused {
        Some(Excuse::Baseline) => record["baseline"] = true.into(),
        Some(Excuse::Suppressed(reason)) => record["suppressed"] = reason.as_str().into(),
        None => {}
    }
    record
}

/// The `rule` record.
pub fn rule_record(r: &RuleResult) -> Value {
    json!({ "type": "rule", "id": r.rule.id, "result": r.outcome.name(), "count": r.count })
}

/// The `summary` record of a run, with the counts of the verdict.
pub(crate) fn summary_record(verdict: &Verdict) -> Value {
    let mut record = verdict.totals.record();
    record["finding_counts"] = verdict.counts.record();
    if verdict.more > 0 {
        record["more_findings"] = verdict.more.into();
    }
    record
}

/// Writes the records that follow the findings, which were written as they came: rules and summary, one a line.
///
/// # Errors
/// When it cannot be written.
pub fn ndjson(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    for r in &verdict.rules {
        writeln!(out, "{}", rule_record(r))?;
    }
    writeln!(out, "{}", harmless(&summary_record(verdict)))
}

/// Writes all records as one array.
///
/// # Errors
/// When it cannot be written.
pub fn json(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let findings = verdict.listed().map(|e| finding_record(verdict.file(e), e));
    let rules = verdict.rules.iter().map(rule_record);
    let all = findings.chain(rules).chain([summary_record(verdict)]);
    for (i, record) in all.enumerate() {
        write!(out, "{}{}", if i == 0 { "[" } else { ",\n" }, harmless(&record))?;
    }
    writeln!(out, "]")
}
