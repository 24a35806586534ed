//! Findings as rows of CSV.

use super::{Entry, Excuse, Verdict};
use crate::report::{Layout, Style};
use std::io::{self, Write};

/// The columns, named by the keys of the records where these have them.
const COLUMNS: &[&str] = &[
    "file",
    "frame",
    "rule",
    "severity",
    "protocol",
    "server",
    "client",
    "fault",
    "confidence",
    "field",
    "start",
    "end",
    "file_offset",
    "exchange",
    "message",
    "count",
    "caused_by",
    "excused",
];

/// Writes a row for each finding that is listed, with a row of names first.
///
/// # Errors
/// When they cannot be written.
pub fn csv(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let (layout, mut text) = (Layout::of(Style::Csv), String::new());
    layout.head(&mut text, COLUMNS.iter().copied());
    for entry in verdict.listed() {
        layout.push(&mut text, row(&layout, verdict.file(entry), entry).into_iter());
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    out.write_all(text.as_bytes())
}

fn row(layout: &Layout, file: &str, e: &Entry) -> [String; 18] {
    let f = &e.finding;
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let excused = match &e.excused {
        Some(Excuse::Baseline) => "baseline".to_owned(),
        Some(Excuse::Suppressed(reason)) => layout.text(reason),
        None => String::new(),
    };
    [
        layout.text(file),
        e.frame.to_string(),
        f.rule.id.to_owned(),
        f.severity.name().to_owned(),
        e.protocol.info().name.to_owned(),
        e.server.to_string(),
        e.client.to_string(),
        f.fault.name().to_owned(),
        e.level.name().to_owned(),
        layout.text(&f.path().map(|path| path.to_string()).unwrap_or_default()),
        number(f.span.map(|span| span.start.into())),
        number(f.span.map(|span| span.end.into())),
        number(e.file_offset),
        number(e.exchange),
        layout.text(&e.text()),
        number((f.rule.per_server && f.counts()).then_some(e.count)),
        f.caused_by.map_or(String::new(), |cause| cause.rule.id.to_owned()),
        excused,
    ]
}
