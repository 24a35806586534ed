//! The verdict as records: `finding`, `rule`, then the `summary`; and its findings as rows of CSV.

use super::{Entry, Excuse, Outcome, RuleResult, Verdict};
use crate::capture::Time;
use crate::check::Cause;
use crate::diagnosis::DiagnosisRecord;
use crate::report::{Layout, Style, TotalsRecord, terms};
use crate::text::escape::terminal_safe_json;
use crate::text::timestamps::stamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// A rule that a packet or an exchange breaks, with all that is known of it: what check writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "finding", deny_unknown_fields)]
pub struct FindingRecord<'a> {
    rule: terms::RuleId<&'static str>,
    severity: terms::Severity<&'static str>,
    file: terms::File<&'a str>,
    frame: terms::Number<u64>,
    time: Option<terms::Time<String>>,
    protocol: terms::Protocol<&'static str>,
    server: terms::Endpoint<String>,
    client: terms::Endpoint<String>,
    fault: terms::Fault<&'static str>,
    confidence: terms::Confidence<&'static str>,
    field: Option<terms::Field<String>>,
    start: Option<u16>,
    end: Option<u16>,
    file_offset: Option<u64>,
    exchange: Option<terms::Number<u64>>,
    message: String,
    found: Option<String>,
    expected: Option<String>,
    caused_by: Option<CauseRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::Number<()>")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    baseline: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    suppressed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiagnosisRecord<'_>")]
    diagnosis: Option<DiagnosisRecord<'a>>,
}

/// The finding that made another one happen.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "term.cause", deny_unknown_fields)]
struct CauseRecord<'a> {
    rule: terms::RuleId<&'static str>,
    frame: terms::Number<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "terms::File<()>")]
    file: Option<&'a str>,
}

impl<'a> FindingRecord<'a> {
    /// The record of a finding in a file of this name.
    pub fn new(file: &'a str, e: &'a Entry) -> FindingRecord<'a> {
        let f = &e.finding;
        let cause_file = e.cause_file.as_ref().map(|(_, name)| &**name);
        FindingRecord {
            rule: terms::RuleId(f.rule.id),
            severity: terms::Severity(f.severity.name()),
            file: terms::File(file),
            frame: terms::Number(e.frame),
            time: Some(e.time).filter(|time| *time != Time::UNKNOWN).map(|time| terms::Time(stamp(time))),
            protocol: terms::Protocol(e.protocol.info().name),
            server: terms::Endpoint(e.server.to_string()),
            client: terms::Endpoint(e.client.to_string()),
            fault: terms::Fault(f.fault.name()),
            confidence: terms::Confidence(e.level.name()),
            field: f.path().map(terms::Field),
            start: f.span.map(|span| span.start),
            end: f.span.map(|span| span.end),
            file_offset: e.file_offset,
            exchange: e.exchange.map(terms::Number),
            message: e.text(),
            found: f.found().map(|found| found.to_string()),
            expected: f.expected().map(|expected| expected.to_string()),
            caused_by: f.caused_by.map(|Cause { rule, frame }| CauseRecord {
                rule: terms::RuleId(rule.id),
                frame: terms::Number(frame),
                file: cause_file,
            }),
            count: Some(e.count).filter(|_| f.rule.per_server && f.counts()),
            baseline: e.excused == Some(Excuse::Baseline),
            suppressed: match &e.excused {
                Some(Excuse::Suppressed(reason)) => Some(reason),
                _ => None,
            },
            diagnosis: e.explained.as_ref().map(|explained| explained.diagnosis.record()),
        }
    }
}

/// What became of a rule: what check writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "rule", deny_unknown_fields)]
pub struct ResultRecord {
    id: terms::RuleId<&'static str>,
    #[schemars(extend("enum" = Outcome::ALL.iter().map(|result| result.name()).collect::<Vec<_>>()))]
    result: &'static str,
    count: u64,
}

impl RuleResult {
    /// Its record.
    pub fn record(&self) -> ResultRecord {
        ResultRecord { id: terms::RuleId(self.rule.id), result: self.outcome.name(), count: self.count }
    }
}

impl Verdict {
    /// The `summary` record of the run, with the counts of the verdict.
    pub(crate) fn summary_record(&self) -> TotalsRecord<'_> {
        let mut record = self.totals.record();
        (record.finding_counts, record.more_findings) = (self.counts, self.more_findings);
        record
    }

    /// The records of the listed findings.
    pub fn finding_records(&self) -> impl Iterator<Item = FindingRecord<'_>> {
        self.listed().map(|e| FindingRecord::new(self.file(e), e))
    }
}

/// Writes the records that follow the findings, one per line: rules and summary. The findings were written earlier,
/// when they were found.
///
/// # Errors
/// When it cannot be written.
pub fn ndjson(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    verdict.rules.iter().try_for_each(|r| writeln!(out, "{}", terminal_safe_json(&r.record())))?;
    writeln!(out, "{}", terminal_safe_json(&verdict.summary_record()))
}

/// Writes all records as an array; with `quiet`, without the findings.
///
/// # Errors
/// When it cannot be written.
pub fn json(out: &mut dyn Write, verdict: &Verdict, quiet: bool) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut findings = verdict.finding_records().filter(|_| !quiet);
    findings.try_for_each(|finding| writeln!(out, "{},", terminal_safe_json(&finding)))?;
    verdict.rules.iter().try_for_each(|r| writeln!(out, "{},", terminal_safe_json(&r.record())))?;
    writeln!(out, "{}]", terminal_safe_json(&verdict.summary_record()))
}

/// The columns of findings, named like the keys of the records if they have one.
const COLUMNS: &str = "file,frame,time,rule,severity,protocol,server,client,fault,confidence,field,start,end,file_offset,\
                       exchange,message,found,expected,count,caused_by,excused,diagnosis";

/// Writes a header row and a row for each listed finding.
///
/// # Errors
/// When they cannot be written.
pub fn csv(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let (layout, mut text) = (Layout::of(Style::Csv), String::new());
    layout.push_header(&mut text, COLUMNS.split(','));
    for finding in verdict.finding_records() {
        let excused = if finding.baseline { Some("baseline") } else { finding.suppressed };
        let mut record = json!(finding);
        record["excused"] = excused.into();
        record["diagnosis"] = finding.diagnosis.as_ref().map(DiagnosisRecord::cause).into();
        record["caused_by"] = finding.caused_by.map(|cause| cause.rule.0).into();
        layout.record(&mut text, COLUMNS, &record);
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    out.write_all(text.as_bytes())
}
