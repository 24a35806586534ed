//! Writes the summary for people: the capture in two lines, servers, findings, counts.

use super::footer::write_footer;
use super::server::{Broken, Server};
use super::server_text::ServerText;
use super::summary::Summary;
pub use super::terminal::{BOLD, DIM, Screen, Sort, style, wrapped};
use super::{Captures, Place, Totals, count, duration};
use crate::capture::{CaptureInfo, Time, link_name};
use crate::check::Counts;
use crate::protocols::Id;
use crate::rule::Severity;
use crate::text::escape::{escaped, quoted, truncated};
use crate::text::timestamps::stamp;
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Minimum width for separate columns of name and game.
const WIDE: u16 = 120;
/// The headers of the wide and the narrow table of servers, with bars between the columns.
const WIDE_HEAD: &str =
    "server|protocol|name|game, map, version|players|requests|answered|median|p99|findings";
const NARROW_HEAD: &str =
    "server\n  name|protocol\ngame, map, version|players|requests\nanswered|median\np99|findings";
/// Minimum width to keep numbers and addresses on one line.
const ROOMY: u16 = 80;
/// Maximum width in columns of text from the network in a cell.
pub(crate) const MAX_CELL: usize = 48;

/// Maximum length of an address with port that is kept on one line. An IPv4 address takes up to 21 columns, a short
/// IPv6 address slightly more.
const MAX_ADDRESS: usize = 24;
/// Blanks before a cell.
const PADDING: u16 = 1;

/// Columns in the row of a rule for everything but title and place: number, severity, count, and blanks.
const BESIDE_TITLE: usize = 38;

/// Maximum number of interface names shown.
const MAX_NAMES: usize = 8;

/// Writes the whole summary.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, screen: Screen, summary: &Summary, totals: &Totals) -> io::Result<()> {
    write_head(out, screen, &summary.captures, totals)?;
    write_servers(out, screen, summary)?;
    unclaimed(out, screen, summary)?;
    write_rules(out, screen, summary)?;
    write_footer(out, screen, summary, totals)
}

/// Writes two lines about the captures, and between them the origin of a single capture, if known.
pub(crate) fn write_head(
    out: &mut dyn Write,
    screen: Screen,
    captures: &Captures,
    totals: &Totals,
) -> io::Result<()> {
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
    writeln!(
        out,
        "{}, {links}, {}{time}{incomplete}",
        screen.paint(BOLD, &name),
        totals.part("packet", |t| t.packets)
    )?;
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
    let mut rows: Vec<&Server> = summary.servers().collect();
    if rows.is_empty() {
        return Ok(());
    }
    sort_servers(&mut rows, screen.sort);
    let wide = screen.width >= WIDE;
    let mut table = screen.table(false);
    table.set_header(if wide { WIDE_HEAD } else { NARROW_HEAD }.split('|'));
    for s in rows.iter().take(screen.rows()) {
        table.add_row(if wide { wide_row(screen, s) } else { narrow_row(screen, s) });
    }
    let longest = rows.iter().take(screen.rows()).map(|s| address(s).len()).max().unwrap_or_default();
    align_columns(screen, &mut table, if wide { 4 } else { 2 }, longest);
    screen.print(out, &table)?;
    write_rest(out, screen, rows.len(), "server")
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

/// Right-aligns numbers, which begin with column `first_number`. If there is room, numbers and addresses stay on one
/// line, because partial addresses are useless, and names are wrapped instead.
pub(super) fn align_columns(screen: Screen, table: &mut Table, first_number: usize, longest_address: usize) {
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((PADDING, 0));
        if at >= first_number {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if screen.width < ROOMY {
            continue;
        } else if at >= first_number {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if at == 0 && longest_address <= MAX_ADDRESS {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
                longest_address as u16 + PADDING,
            )));
        } else if at == 1 {
            let name = Id::ALL.iter().map(|id| id.info().name.len()).max().unwrap_or_default();
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(name as u16 + PADDING)));
        }
    }
}

fn write_rest(out: &mut dyn Write, screen: Screen, rows: usize, what: &str) -> io::Result<()> {
    match rows.saturating_sub(screen.rows()) {
        0 => Ok(()),
        n => writeln!(out, "and {} more; --top {rows} shows all", count(n as u64, what)),
    }
}

/// The number of senders of an unclaimed endpoint from which on the table shows senders and rates.
const MIN_SENDERS: u64 = 10;

/// Writes the busiest endpoints of unclaimed traffic.
fn unclaimed(out: &mut dyn Write, screen: Screen, summary: &Summary) -> io::Result<()> {
    let rows = summary.unclaimed.busiest();
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = screen.table(false);
    let shows_floods = rows.iter().any(|busy| busy.senders().0 >= MIN_SENDERS);
    let columns = ["unclaimed", "looks like", "first bytes", "datagrams", "bytes", "senders", "peak/s"];
    let shown = if shows_floods { columns.len() } else { columns.len() - 2 };
    table.set_header(columns.into_iter().take(shown));
    for busy in rows.iter().take(screen.rows()) {
        let looks = busy.looks_like.unwrap_or("-").to_owned();
        let (senders, more) = busy.senders();
        let senders = format!("{senders}{}", if more { "+" } else { "" });
        let [datagrams, bytes, peak] = [busy.datagrams, busy.bytes, busy.peak_rate].map(|n| n.to_string());
        let counts = [datagrams, bytes, senders, peak];
        let cells = [busy.endpoint.to_string(), looks, busy.first_hex()].into_iter().chain(counts);
        table.add_row(cells.take(shown));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    screen.print(out, &table)?;
    write_rest(out, screen, rows.len(), "unclaimed endpoint")
}

fn wide_row(screen: Screen, s: &Server) -> Vec<String> {
    let [median, p99] = times(s);
    let row = [address(s), s.id.info().name.to_owned(), name(s), game(s), players(s)];
    let counts = [s.requests.to_string(), answered(s), median, p99, findings(screen, s.findings)];
    row.into_iter().chain(counts).collect()
}

fn narrow_row(screen: Screen, s: &Server) -> Vec<String> {
    let [median, p99] = times(s);
    vec![
        format!("{}\n  {}", address(s), name(s)),
        format!("{}\n{}", s.id.info().name, game(s)),
        players(s),
        format!("{}\n{}", s.requests, answered(s)),
        format!("{median}\n{p99}"),
        findings(screen, s.findings),
    ]
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

fn game(s: &Server) -> String {
    let version = text(s.facts.version.as_ref()).or_else(|| s.facts.build.map(|n| n.to_string()));
    let [game, map] = [&s.facts.game, &s.facts.map].map(|name| text(name.as_ref()));
    let parts = [game, map, version, s.facts.state.map(str::to_owned)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|p| !p.is_empty()).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
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

fn times(s: &Server) -> [String; 2] {
    [0.5, 0.99].map(|share| s.times.quantile(share).map_or("-".to_owned(), duration))
}

/// The number of findings of each severity, the worst first, one per line.
fn findings(screen: Screen, c: Counts) -> String {
    let counts = [(c.error, Severity::Error), (c.warning, Severity::Warning), (c.note, Severity::Note)];
    let present = counts.into_iter().filter(|(n, _)| *n > 0);
    let lines = present.map(|(n, severity)| {
        let s = if n == 1 { "" } else { "s" };
        format!("{n} {}", screen.mark(severity, &format!("{}{s}", severity.name())))
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() { "-".to_owned() } else { lines.join("\n") }
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
    let mut table = screen.table(false);
    table.set_header(["finding", "severity", "what", "times", "first in frame"]);
    let max_place = usize::from(screen.width).saturating_sub(BESIDE_TITLE + MAX_CELL / 2).max(14);
    let listed: Vec<_> = rows
        .iter()
        .take(screen.rows())
        .map(|b| (b, truncated(&frame_name(b.first, &summary.captures), max_place)))
        .collect();
    // Truncate the title if necessary, but never number and place: they are more informative than the end of the title.
    let place_width = listed.iter().map(|(_, place)| place.width()).max().unwrap_or(0).max(14);
    let room = usize::from(screen.width).saturating_sub(BESIDE_TITLE + place_width).max(MAX_CELL / 2);
    for (b, place) in &listed {
        let (severity, times) = (worst(b.counts), b.counts.total().to_string());
        table.add_row([
            b.rule.id.to_owned(),
            screen.mark(severity, severity.name()),
            truncated(b.rule.title, room),
            times,
            place.clone(),
        ]);
    }
    if screen.width >= ROOMY {
        table.column_iter_mut().for_each(|column| _ = column.set_constraint(ColumnConstraint::ContentWidth));
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    screen.print(out, &table)?;
    write_rest(out, screen, rows.len(), "rule")
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
