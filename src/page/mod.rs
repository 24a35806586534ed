//! Writes the result of a run as one HTML page that needs no other files: the output of `qdissect report`.
//!
//! ```text
//! pipeline ──> Page (a report) ──┬─> Summary     servers, unclaimed traffic         ──> data.rs    the rows as records
//!                                ├─> Stats       response times, intervals          ──> table.rs   the rows as HTML tables
//!                                ├─> Check       findings, rules                    ──> write()    the page
//!                                └─> retained.rs exchanges, bytes, outcomes over time
//! ```
//!
//! The page counts nothing that another report counts: its numbers are those of the records. The tables are part of the
//! HTML; the script (`script/`) sorts and filters them, and draws. It reads the records from the page, as JSON.

mod data;
mod retained;
mod table;

use crate::capture::{CaptureInfo, Time};
use crate::check::{Finding, Packet};
use crate::contract::Flood;
use crate::conversation::NONE;
use crate::decode::AnyListener;
use crate::exchange::Exchange;
use crate::net::{Datagram, Endpoint};
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::report::summary::Summary;
use crate::report::{Report, SilentServer, Totals, Wants, grouped_count, other_traffic};
use crate::stats::{Prefix, Stats};
use crate::text::escape::is_hostile;
use crate::verdict::{Check, Entry, Verdict};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use data::Data;
use hashbrown::HashMap;
use retained::{Exchanges, Frames, Trace};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use table::{MAX_ROWS, Table, escaped};

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
    /// An empty report, which passes everything on to `check`.
    pub fn new(check: Check<F>, options: &Options) -> Page<F> {
        let (summary, stats) = (Summary::default(), Stats::new(None).with_clients(Prefix::NONE));
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
    fn listener(&self) -> AnyListener {
        self.check.listener()
    }

    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.check)
    }

    /// Asks for what the verdict needs, and for datagrams that no protocol claims. Of the statistics, only the hierarchy
    /// would need frames, and the page does not show it.
    fn wants(&self) -> Wants {
        Wants { count_unclaimed: true, shown_keys: true, ..self.check.wants() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let g = &mut self.gathered;
        if !p.findings.is_empty() {
            let place = g.summary.captures.files.place(p.datagram.frame);
            g.frames.packet(place, p, self.secrets);
        }
        g.summary.packet(p)?;
        g.stats.packet(p)?;
        self.check.packet(p)
    }

    fn count_unclaimed(&mut self, d: &Datagram<'_>) {
        self.gathered.summary.count_unclaimed(d);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let g = &mut self.gathered;
        g.exchanges.add(e, findings);
        if let Some(after) = e.request_time.since(g.began).filter(|_| e.server_index != NONE) {
            g.traces.entry(e.server_index).or_default().add(after, e);
        }
        if !findings.is_empty() {
            g.frames.time(g.summary.captures.files.place(e.request_frame), e.request_time);
        }
        g.summary.exchange(e, findings)?;
        g.stats.exchange(e, findings)?;
        self.check.exchange(e, findings)
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        self.gathered.summary.translated(outer, inner);
        self.check.translated(outer, inner);
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.gathered.summary.floods(floods)?;
        self.check.floods(floods)
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        self.gathered.summary.silent_servers(servers)?;
        self.check.silent_servers(servers)
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.gathered.summary.one_sided(servers)?;
        self.check.one_sided(servers)
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.gathered.summary.file(name, facts, before)?;
        self.check.file(name, facts, before)
    }

    fn first_frame(&mut self, time: Time) {
        if self.gathered.began == Time::UNKNOWN {
            self.gathered.began = time;
        }
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.gathered.summary.finish(totals)?;
        self.gathered.stats.finish(totals)
    }
}

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("base.css"), include_str!("style.css"));
/// In the order in which they refer to each other.
const SCRIPT: &str = concat!(
    include_str!("script/text.js"),
    include_str!("script/filter.js"),
    include_str!("script/draw.js"),
    include_str!("script/hex.js"),
    include_str!("script/table.js"),
    include_str!("script/page.js"),
);

/// Writes the page of a run.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, gathered: &Gathered, verdict: &Verdict) -> io::Result<()> {
    let data = Data::of(gathered, verdict);
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.write_all(before.as_bytes())?;
        match name {
            "data" => embed(out, &data)?,
            _ => match table::ALL.iter().find(|table| table.name == name) {
                Some(table) => section(out, table, &data)?,
                None => out.write_all(content_of(name, &data, verdict).as_bytes())?,
            },
        }
        rest = behind;
    }
    out.write_all(rest.as_bytes())
}

/// The content for a placeholder of the template that is no table.
fn content_of(name: &str, data: &Data, verdict: &Verdict) -> String {
    match name {
        "title" => title(data),
        "policy" => policy(),
        "style" => STYLE.to_owned(),
        "script" => SCRIPT.to_owned(),
        "lead" => lead(data, verdict),
        "tiles" => tiles(data),
        "notes" => notes(data, verdict),
        "version" => env!("CARGO_PKG_VERSION").to_owned(),
        _ => String::new(),
    }
}

/// The name of the only capture, or the number of captures.
fn title(data: &Data) -> String {
    match data.first_rows("capture").next() {
        Some(only) if !data.several() => escaped(only["file"].as_str().unwrap_or_default()),
        _ => grouped_count(data.summary["files"].as_u64().unwrap_or(0), "capture"),
    }
}

/// The content security policy. Nothing may be loaded, and only the script of this page may run: a name that got past the
/// escaping would do nothing.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// Writes the data as JSON, escaped so that nothing in it ends the element or begins another.
fn embed(out: &mut dyn Write, data: &Data) -> io::Result<()> {
    // Writing fails only for keys that are not strings, and no record has such keys.
    serde_json::to_writer(Embedded(out), data).map_err(io::Error::from)
}

/// Escapes JSON for an element of a page on its way out, piece by piece: no copy of it is made.
struct Embedded<'a>(&'a mut dyn Write);

impl Write for Embedded<'_> {
    /// The pieces of serde_json end between characters.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        // Nearly every piece is a few harmless characters.
        if piece.iter().all(|byte| matches!(byte, b' '..=b'~') && !b"&<>".contains(byte)) {
            return self.0.write_all(piece).map(|()| piece.len());
        }
        let mut plain = 0;
        let text = String::from_utf8_lossy(piece);
        for (at, c) in text.char_indices() {
            if !matches!(c, '&' | '<' | '>') && !is_hostile(c) {
                continue;
            }
            self.0.write_all(text.get(plain..at).unwrap_or_default().as_bytes())?;
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(self.0, "\\u{unit:04x}"))?;
            plain = at + c.len_utf8();
        }
        self.0.write_all(text.get(plain..).unwrap_or_default().as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The first sentences: the amount of traffic, its time, other traffic, and whether anything could not be read.
fn lead(data: &Data, verdict: &Verdict) -> String {
    let summary = &data.summary;
    let span = ["first_time", "last_time"].map(|key| summary[key].as_str().unwrap_or_default().get(..19));
    let when = match span {
        [Some(first), Some(last)] => {
            format!(", {} to {} UTC", first.replace('T', " "), last.replace('T', " "))
        }
        _ => String::new(),
    };
    let incomplete = match verdict.totals.complete {
        true => "",
        false => " <strong>Incomplete: not everything could be read.</strong>",
    };
    let totals = &verdict.totals;
    format!("{}{when}{}.{incomplete}", escaped(&totals.traffic()), other_traffic(totals))
}

/// The most important numbers, each with its name.
fn tiles(data: &Data) -> String {
    let summary = &data.summary;
    let counts = &summary["finding_counts"];
    let servers = data.number("server") as u64 + data.left_out["server"].as_u64().unwrap_or(0);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let outcome = |key: &str| number(&summary[key]);
    // With a filter, the number without it.
    let unfiltered =
        |key: &str| summary["of"][key].as_u64().or(summary["of"]["finding_counts"][key].as_u64());
    let tiles = [
        ("servers", "servers", servers, ""),
        ("exchanges", "exchanges", outcome("exchanges"), ""),
        ("answered", "answered", outcome("answered"), ""),
        ("late", "late", outcome("late"), "warning"),
        ("unanswered", "unanswered", outcome("unanswered"), "error"),
        ("refused", "refused", outcome("refused"), "error"),
        ("undecided", "undecided", outcome("undecided"), "note"),
        ("error", "errors", number(&counts["error"]), "error"),
        ("warning", "warnings", number(&counts["warning"]), "warning"),
        ("note", "notes", number(&counts["note"]), "note"),
    ];
    let tile = |(key, label, n, class): (&str, &str, u64, &str)| {
        let class = if n > 0 { class } else { "" };
        let unfiltered =
            unfiltered(key).map(|unfiltered| format!("<small> of {unfiltered}</small>")).unwrap_or_default();
        format!(
            "<div class=\"tile {class}\" data-number=\"{key}\"><dt>{label}</dt><dd>{n}{unfiltered}</dd></div>"
        )
    };
    tiles.map(tile).concat()
}

/// Writes a table, with the number of rows shown and the number of rows left out.
fn section(out: &mut dyn Write, table: &Table, data: &Data) -> io::Result<()> {
    let rows = data.number(table.name);
    let more = data.left_out[table.name].as_u64().unwrap_or(0);
    let left_out = match more {
        0 => String::new(),
        _ => {
            let more = grouped_count(more, &format!("further {}", table.noun));
            format!(
                "<p class=\"more\">Not on this page: {more}. <code>{}</code> lists them all.</p>",
                table.command
            )
        }
    };
    match (rows == 0, more) {
        (true, 0) => return write!(out, "<p class=\"none\">There are no {}s.</p>", table.noun),
        (true, _) => return out.write_all(left_out.as_bytes()),
        (false, _) => {}
    }
    let mut caption = grouped_count(rows as u64, table.noun);
    if rows > MAX_ROWS {
        caption = format!("The first {MAX_ROWS} of {caption}; the script shows all");
    }
    // The element scrolls, so the keyboard must reach it.
    let label = format!("tabindex=\"0\" role=\"region\" aria-label=\"Table of {}s\"", table.noun);
    write!(out, "<div class=\"scroll\" {label}>")?;
    table.html(out, &caption, data.first_rows(table.name), data.several())?;
    write!(out, "</div>{left_out}")
}

/// Remarks that belong to no table.
fn notes(data: &Data, verdict: &Verdict) -> String {
    let unread = verdict.totals.unread.iter().map(|unread| format!("{}: {}", unread.file, unread.why));
    let notes = data.notes.iter().cloned().chain(unread);
    let items: String = notes.map(|note| format!("<li>{}</li>", escaped(&note))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">{items}</ul>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_of_the_template_has_content() {
        let data = Data::default();
        let verdict = crate::verdict::Check::new(Default::default(), |_, _| Ok(()));
        let verdict = verdict.verdict(Default::default()).expect("nothing is written");
        let placeholders = TEMPLATE.split("{{").skip(1).map(|rest| rest.split_once("}}").expect("it ends").0);
        for placeholder in placeholders.filter(|placeholder| !["notes", "data"].contains(placeholder)) {
            let is_table = table::ALL.iter().any(|table| table.name == placeholder);
            assert!(is_table || !content_of(placeholder, &data, &verdict).is_empty(), "{placeholder}");
        }
    }

    #[test]
    fn the_page_without_data_is_small() {
        let size = TEMPLATE.len() + STYLE.len() + SCRIPT.len();
        assert!(size < 300_000, "{size} bytes");
    }
}
