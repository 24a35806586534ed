//! The servers of the summary as rows of CSV and TSV.

use super::fields::Layout;
use super::format::seconds;
use super::said::Said;
use super::server::Server;
use super::summary::Summary;
use std::io::{self, Write};

/// The columns; the keys are those of the records.
const COLUMNS: &[&str] = &[
    "file",
    "server",
    "protocol",
    "server_name",
    "game",
    "map",
    "version",
    "players",
    "max_players",
    "state",
    "requests",
    "answered",
    "late",
    "unanswered",
    "undecided",
    "refused",
    "response_time_min",
    "response_time_median",
    "response_time_p99",
    "response_time_max",
    "errors",
    "warnings",
    "notes",
];

/// Writes a row for each server, with a row of names first.
///
/// # Errors
/// When they cannot be written.
pub fn rows(out: &mut dyn Write, layout: Layout, summary: &Summary) -> io::Result<()> {
    let mut text = String::new();
    layout.head(&mut text, COLUMNS.iter().copied());
    let file = layout.text(summary.files.only().unwrap_or_default());
    for server in summary.servers() {
        layout.push(&mut text, [file.clone()].into_iter().chain(row(&layout, server)));
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn row(layout: &Layout, s: &Server) -> [String; 22] {
    let said = |text: &Option<Said>| text.as_ref().map_or(String::new(), |text| layout.text(&text.text()));
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let seconds = |nanos: Option<i64>| nanos.map_or(String::new(), seconds);
    let version = if s.said.version.is_some() { said(&s.said.version) } else { number(s.said.build) };
    let ends = s.times.ends();
    [
        s.endpoint.to_string(),
        s.id.info().name.to_owned(),
        said(&s.said.server_name),
        said(&s.said.game),
        said(&s.said.map),
        version,
        number(s.said.players.map(|p| u64::from(p.0))),
        number(s.said.players.map(|p| u64::from(p.1))),
        s.said.state.unwrap_or_default().to_owned(),
        s.requests.to_string(),
        s.answered.to_string(),
        s.late.to_string(),
        s.unanswered.to_string(),
        s.undecided.to_string(),
        s.refused.to_string(),
        seconds(ends.map(|(low, _)| low)),
        seconds(ends.and_then(|_| s.times.quantile(0.5))),
        seconds(ends.and_then(|_| s.times.quantile(0.99))),
        seconds(ends.map(|(_, high)| high)),
        s.findings.error.to_string(),
        s.findings.warning.to_string(),
        s.findings.note.to_string(),
    ]
}
