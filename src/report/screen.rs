//! Writes the summary for people: the capture in two lines, servers, findings, counts.

use super::footer::write_footer;
pub(crate) use super::footer::write_remarks;
use super::grid::{Cell, Column, Fit, Grid, LEAST_ADDRESS, LEAST_NAME, brief, write_rest};
use super::server::{Broken, Server};
use super::server_text::ServerText;
use super::summary::Summary;
#[cfg(feature = "tui")]
pub(crate) use super::terminal::shortened;
pub use super::terminal::{BOLD, DIM, Screen, Sort, style, wrapped};
use super::unclaimed_screen;
use super::{Captures, Place, Totals, duration, grouped_count};
use crate::capture::{CaptureInfo, Time, link_name};
use crate::check::Counts;
#[cfg(feature = "tui")]
use crate::net::Endpoint;
use crate::rule::Severity;
use crate::text::digits::grouped;
use crate::text::escape::{escaped, quoted, truncated};
use crate::text::timestamps::stamp;
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Maximum width in columns of text from the network in a cell.
pub(crate) const MAX_CELL: usize = 48;

/// Columns of the table of servers.
const SERVERS: [Column; 14] = [
    Column::text("server", Fit::Address(LEAST_ADDRESS)),
    Column::text("protocol", Fit::Whole),
    Column::text("name", Fit::Cut(LEAST_NAME)),
    Column::number("players", Fit::Whole),
    Column::number("answered", Fit::Whole),
    Column::number("median", Fit::Whole),
    Column::number("p99", Fit::Spare),
    Column::number("requests", Fit::Spare),
    Column::text("game", Fit::Spare),
    Column::text("map", Fit::Spare),
    Column::text("version", Fit::Spare),
    Column::number("E", Fit::Whole),
    Column::number("W", Fit::Whole),
    Column::number("N", Fit::Whole),
];

/// Columns of the table of rules.
const RULES: [Column; 5] = [
    Column::text("finding", Fit::Whole),
    Column::text("severity", Fit::Whole),
    Column::text("what", Fit::Cut(MAX_CELL / 2)),
    Column::number("times", Fit::Whole),
    Column::number("first\nin frame", Fit::Cut(8)),
];

/// Maximum number of interface names shown.
const MAX_NAMES: usize = 8;

/// Writes the whole summary.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, screen: Screen, summary: &Summary, totals: &Totals) -> io::Result<()> {
    write_head(out, &summary.captures, totals)?;
    write_servers(out, screen, summary)?;
    unclaimed_screen::write(out, screen, summary)?;
    write_rules(out, screen, summary)?;
    write_footer(out, screen, summary, totals)
}

/// Writes two lines about the captures, and between them the origin of a single capture, if known.
pub(crate) fn write_head(out: &mut dyn Write, captures: &Captures, totals: &Totals) -> io::Result<()> {
    let name = match captures.list.as_slice() {
        [(name, facts)] => {
            let in_compression =
                facts.compression.map_or(String::new(), |compression| format!(" in {compression}"));
            format!("{}: {}{in_compression}", escaped(name), facts.format)
        }
        _ => format!("{} captures", captures.files.len()),
    };
    let links: Vec<_> = totals.links.iter().map(|&l| link_name(l)).collect();
    let links = if links.is_empty() { "no interface".to_owned() } else { links.join(", ") };
    let time = match totals.span {
        Some((first, last)) => format!(" in {} from {}", span_text(first, last), seconds_text(first)),
        None => String::new(),
    };
    let incomplete = if totals.complete { "" } else { ", INCOMPLETE" };
    let packets = totals.part("packet", |t| t.packets);
    writeln!(out, "{name}, {links}, {packets}{time}{incomplete}")?;
    if let [(_, facts)] = captures.list.as_slice() {
        write_origin(out, facts)?;
    }
    let datagrams = totals.part("datagram", |t| t.recognised);
    writeln!(out, "{datagrams} of query traffic{}", other_traffic(totals))
}

/// A clause about other traffic than query traffic; empty if there is none.
pub(crate) fn other_traffic(totals: &Totals) -> String {
    let mut others: Vec<_> =
        totals.not_datagrams.iter().map(|(why, n)| format!("{} ({n})", why.text())).collect();
    if totals.unclaimed > 0 {
        let all_unclaimed =
            totals.unfiltered.as_ref().map_or(String::new(), |all| format!(" of {}", all.unclaimed));
        others.insert(0, format!("datagrams of no known protocol ({}{all_unclaimed})", totals.unclaimed));
    }
    if others.is_empty() { String::new() } else { format!("; other traffic: {}", others.join(", ")) }
}

/// Writes a line about the origin of a capture, if known.
fn write_origin(out: &mut dyn Write, facts: &CaptureInfo) -> io::Result<()> {
    let text = |text: &Option<String>| text.as_ref().map(|t| quoted(&truncated(t, MAX_CELL)));
    let names: Vec<_> = facts.interfaces.iter().filter_map(|i| text(&i.name)).take(MAX_NAMES + 1).collect();
    let interfaces = match names.as_slice() {
        [] => None,
        [all @ .., _] if all.len() == MAX_NAMES => Some(format!("on {} and others", all.join(", "))),
        all => Some(format!("on {}", all.join(", "))),
    };
    let origin = [
        text(&facts.application).map(|t| format!("by {t}")),
        interfaces,
        text(&facts.os).map(|t| format!("under {t}")),
        text(&facts.hardware).map(|t| format!("with {t}")),
    ];
    let origin: Vec<_> = origin.into_iter().flatten().collect();
    let captured = Some(origin.join(" ")).filter(|o| !o.is_empty()).map(|o| format!("captured {o}"));
    let comment = text(&facts.comment).map(|t| format!("comment {t}"));
    let parts: Vec<_> = [captured, comment].into_iter().flatten().collect();
    if parts.is_empty() { Ok(()) } else { writeln!(out, "{}", parts.join("; ")) }
}

fn write_servers(out: &mut dyn Write, screen: Screen, summary: &Summary) -> io::Result<()> {
    let (table, rows) = server_table(screen, summary);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table.write(out, screen)?;
    write_rest(out, screen, rows.len(), "server")
}

/// The table of servers, with at most [`Screen::rows`] rows, and all servers in the order of its rows.
fn server_table(screen: Screen, summary: &Summary) -> (Grid, Vec<&Server>) {
    let mut rows: Vec<&Server> = summary.servers().collect();
    sort_servers(&mut rows, screen.sort);
    let mut table = Grid::new(SERVERS.to_vec());
    rows.iter().take(screen.rows()).for_each(|s| table.add(server_row(s)));
    (table, rows)
}

/// The lines of the table of servers: its heading, and the endpoint and the line of each server.
#[cfg(feature = "tui")]
pub(crate) fn server_lines(screen: Screen, summary: &Summary) -> (String, Vec<(Endpoint, String)>) {
    let (table, rows) = server_table(screen, summary);
    let mut lines = table.lines(screen).into_iter();
    let head = lines.next().unwrap_or_default();
    (head, rows.iter().map(|server| server.endpoint).zip(lines).collect())
}

/// Sorts the rows of servers.
fn sort_servers(rows: &mut [&Server], sort: Sort) {
    rows.sort_by_key(|s| {
        let Counts { error, warning, .. } = s.findings;
        Reverse((error, warning, s.unanswered, s.requests))
    });
    match sort {
        Sort::Findings => {}
        Sort::Count => rows.sort_by_key(|s| Reverse(s.requests)),
        Sort::Time => rows.sort_by_key(|s| Reverse(s.times.quantile(0.5))),
        Sort::Loss => rows.sort_by_key(|s| Reverse(s.unanswered + s.refused + s.late)),
        Sort::Name => rows.sort_by_key(|s| (s.facts.server_name.as_ref(), s.endpoint)),
    }
}

fn server_row(s: &Server) -> Vec<Cell> {
    let [median, p99] = [0.5, 0.99].map(|share| s.times.quantile(share).map_or_else(dash, brief));
    let [game, map] = [&s.facts.game, &s.facts.map].map(|name| text(name.as_ref()));
    let version = text(s.facts.version.as_ref()).or_else(|| s.facts.build.map(|n| n.to_string()));
    let state = s.facts.state.map(str::to_owned);
    let words =
        [game, map.or(state), version].map(|word| word.filter(|w| !w.is_empty()).unwrap_or_else(dash));
    let row = [address(s), s.id.info().name.to_owned(), name(s), players(s), answered(s), median, p99];
    let plain = row.into_iter().chain([grouped(s.requests)]).chain(words).map(|cell| (cell, None));
    plain.chain(severity_cells(s.findings)).collect()
}

/// The cells of the columns E, W and N: the findings of each severity.
pub(crate) fn severity_cells(counts: Counts) -> impl Iterator<Item = Cell> {
    Severity::ALL.iter().map(move |&severity| match counts.of(severity) {
        0 => (dash(), None),
        n => (grouped(n), Some(severity)),
    })
}

/// What stands in a cell for which there is nothing.
fn dash() -> String {
    "-".to_owned()
}

/// The address of a server, and the one behind it where its host translates addresses.
fn address(s: &Server) -> String {
    s.inner.map_or_else(|| s.endpoint.to_string(), |inner| format!("{} ({inner})", s.endpoint))
}

fn text(server_text: Option<&ServerText>) -> Option<String> {
    server_text.map(|server_text| truncated(&escaped(&server_text.text()), MAX_CELL))
}

fn name(s: &Server) -> String {
    text(s.facts.server_name.as_ref()).unwrap_or_else(|| "-".to_owned())
}

fn players(s: &Server) -> String {
    s.facts.players.map_or("-".to_owned(), |(current, max)| format!("{current}/{max}"))
}

fn answered(s: &Server) -> String {
    match s.requests {
        0 => "-".to_owned(),
        n => format!("{} %", (s.answered + s.late) * 100 / n),
    }
}

/// Names a frame, and its file if there are several.
pub(crate) fn frame_name(place: Place, captures: &Captures) -> String {
    match captures.name(place.file).filter(|_| captures.list.len() > 1) {
        Some(name) => {
            let name = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
            format!("{} of {}", place.frame, escaped(&truncated(&name, MAX_CELL)))
        }
        None => place.frame.to_string(),
    }
}

fn write_rules(out: &mut dyn Write, screen: Screen, summary: &Summary) -> io::Result<()> {
    let mut rows: Vec<&Broken> = summary.broken.iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|b| (Reverse((worst(b.counts), b.counts.total())), b.rule.id));
    match screen.sort {
        Sort::Findings | Sort::Loss => {}
        Sort::Count => rows.sort_by_key(|b| Reverse(b.counts.total())),
        Sort::Time => rows.sort_by_key(|b| (b.first.file, b.first.frame)),
        Sort::Name => rows.sort_by_key(|b| b.rule.id),
    }
    let least = screen.show.unwrap_or(Severity::Warning);
    let (listed, folded): (Vec<&Broken>, Vec<&Broken>) = rows.iter().partition(|b| worst(b.counts) >= least);
    let mut table = Grid::new(RULES.to_vec());
    for b in listed.iter().take(screen.rows()) {
        let severity = worst(b.counts);
        table.add(vec![
            (b.rule.id.to_owned(), None),
            (severity.name().to_owned(), Some(severity)),
            (b.rule.title.to_owned(), None),
            (grouped(b.counts.total()), None),
            (frame_name(b.first, &summary.captures), None),
        ]);
    }
    writeln!(out)?;
    if !listed.is_empty() {
        table.write(out, screen)?;
        write_rest(out, screen, listed.len(), "rule")?;
    }
    write_folded(out, screen, &folded)
}

/// Writes a line about the rules that the table leaves out.
fn write_folded(out: &mut dyn Write, screen: Screen, rules: &[&Broken]) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    let sum = |of: fn(&Counts) -> u64| rules.iter().map(|b| of(&b.counts)).sum::<u64>();
    let counts = [(sum(|c| c.warning), "warning"), (sum(|c| c.note), "note")];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| grouped_count(*n, what));
    let head = format!("{} (--show note lists them): ", counts.collect::<Vec<_>>().join(", "));
    let names = rules.iter().map(|b| match b.counts.total() {
        1 => b.rule.id.to_owned(),
        n => format!("{} ×{}", b.rule.id, grouped(n)),
    });
    let room = usize::from(screen.width).saturating_sub(head.width());
    writeln!(out, "{head}{}", as_many(names, room))
}

/// As many of these words as fit, separated by commas; then how many more there are.
pub(crate) fn as_many(words: impl ExactSizeIterator<Item = String>, room: usize) -> String {
    let (mut line, all) = (String::new(), words.len());
    for (at, word) in words.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let more = if at + 1 < all { ", and 999 more".len() } else { 0 };
        if line.width() + comma.len() + word.width() + more > room {
            let comma = if at == 0 { "" } else { ", and " };
            return format!("{line}{comma}{} more", grouped((all - at) as u64));
        }
        line.extend([comma, &word]);
    }
    line
}

/// The worst severity among the counts.
fn worst(c: Counts) -> Severity {
    Severity::ALL.iter().copied().find(|severity| c.of(*severity) > 0).unwrap_or(Severity::Note)
}

/// A time stamp to the second, with a blank instead of the `T`.
fn seconds_text(time: Time) -> String {
    let text = stamp(time).replace('T', " ");
    text.get(..19).map_or_else(String::new, |t| format!("{t} UTC"))
}

fn span_text(first: Time, last: Time) -> String {
    let nanos = last.since(first).unwrap_or(0);
    match nanos / 1_000_000_000 {
        s @ 7200.. => format!("{:.1} h", s as f64 / 3600.0),
        s @ 120.. => format!("{:.1} min", s as f64 / 60.0),
        _ => duration(nanos),
    }
}
