//! Writes a server for people: the sentence, the command that shows more, its ports, who asked, and the rest in lines.

use super::Case;
use super::port::{Broken, Port};
use crate::net::Endpoint;
use crate::report::grid::{Column, Fit, Grid, LEAST_ADDRESS, LEAST_NAME};
use crate::report::listings::Listing;
use crate::report::screen::{BOLD, DIM, MAX_CELL, Screen, style};
use crate::report::{Captures, grouped_count};
use crate::text::digits::grouped;
use crate::text::escape::{escaped, truncated};
use crate::text::timestamps::stamp;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Most clients shown, those that ask most.
const MAX_CLIENTS: usize = 10;
/// Most lines about ports that were asked in vain.
const MAX_LINES: usize = 10;
/// The table of ports, and that of clients.
const PORTS: [Column; 9] = [
    Column::number("port", Fit::Whole),
    Column::text("protocol", Fit::Whole),
    Column::text("name", Fit::Cut(LEAST_NAME)),
    Column::number("players", Fit::Whole),
    Column::number("requests", Fit::Whole),
    Column::number("answered", Fit::Whole),
    Column::number("late", Fit::Whole),
    Column::number("lost", Fit::Whole),
    Column::number("refused", Fit::Whole),
];
const CLIENTS: [Column; 8] = [
    Column::text("asked by", Fit::Address(LEAST_ADDRESS)),
    Column::number("port", Fit::Whole),
    Column::text("protocol", Fit::Whole),
    Column::number("requests", Fit::Whole),
    Column::number("answered", Fit::Whole),
    Column::number("late", Fit::Whole),
    Column::number("lost", Fit::Whole),
    Column::number("refused", Fit::Whole),
];

/// Writes the case.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, screen: Screen, case: &Case<'_>, captures: &Captures) -> io::Result<()> {
    writeln!(out, "{}", screen.paint(BOLD, &escaped(&case.verdict.text)))?;
    writeln!(out, "  {}", screen.paint(DIM, &escaped(&case.verdict.command)))?;
    if !case.ports.is_empty() {
        table(out, screen, &PORTS, case.ports.iter().take(screen.rows()).map(|p| port_row(p)))?;
        let more = case.ports.len().saturating_sub(screen.rows()) as u64;
        if more > 0 {
            writeln!(out, "and {}", grouped_count(more, "more port"))?;
        }
        clients(out, screen, case)?;
    }
    remarks(case).iter().try_for_each(|remark| writeln!(out, "{remark}"))?;
    findings(out, screen, case, captures)
}

fn table(
    out: &mut dyn Write,
    screen: Screen,
    columns: &[Column],
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut table = Grid::new(columns.to_vec());
    rows.for_each(|row| table.add_plain(row));
    writeln!(out)?;
    table.write(out, screen)
}

fn port_row(p: &Port) -> Vec<String> {
    let c = p.counts;
    let name = p.name.as_ref().map_or("-".to_owned(), |name| truncated(&escaped(&name.text()), MAX_CELL));
    let players = p.players.map_or("-".to_owned(), |(players, max)| format!("{players}/{max}"));
    let mut row = vec![p.endpoint.port().to_string(), p.id.info().name.to_owned(), name, players];
    row.extend([c.requests, c.answered, c.late, c.unanswered, c.refused].map(grouped));
    row
}

/// Writes who asked how often.
fn clients(out: &mut dyn Write, screen: Screen, case: &Case<'_>) -> io::Result<()> {
    let mut all: Vec<_> =
        case.ports.iter().flat_map(|p| p.clients.iter().map(move |client| (p, client))).collect();
    if all.is_empty() {
        return Ok(());
    }
    all.sort_by_key(|(p, client)| (Reverse(client.counts.requests), client.address, p.endpoint));
    let row = |(p, client): &(&&Port, &super::port::Client)| {
        let c = client.counts;
        let port = p.endpoint.port().to_string();
        let mut row = vec![client.address.ip().to_string(), port, p.id.info().name.to_owned()];
        row.extend([c.requests, c.answered, c.late, c.unanswered, c.refused].map(grouped));
        row
    };
    table(out, screen, &CLIENTS, all.iter().take(MAX_CLIENTS).map(row))?;
    let more = all.len().saturating_sub(MAX_CLIENTS) as u64;
    let plus = if case.ports.iter().any(|p| p.more_clients) { ", and further ones" } else { "" };
    if more > 0 {
        writeln!(out, "and {}{plus}", grouped_count(more, "more client"))?;
    }
    Ok(())
}

/// What is in no table, a line each.
fn remarks(case: &Case<'_>) -> Vec<String> {
    let passed = case.passed.as_ref().map(|passed| format!("only what passes the filter counts: {passed}"));
    let mut lines: Vec<_> = passed.into_iter().collect();
    for p in &case.ports {
        let end = p.endpoint;
        let list = |ends: &[crate::net::Endpoint]| {
            ends.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        if let Some(inner) = p.inner {
            lines.push(format!("{end} is translated to {inner} behind it"));
        }
        if p.challenges > 0 && !p.answers_more_than_challenges() {
            lines.push(match p.challenges {
                1 => format!("{end}: the only answer is a challenge"),
                n => format!("{end}: all {} are challenges", grouped_count(n, "answer")),
            });
        }
        if p.elsewhere > 0 {
            lines.push(format!(
                "{end}: {} came from {}",
                grouped_count(p.elsewhere, "answer"),
                list(&p.others)
            ));
        }
        if !p.in_place_of.is_empty() {
            lines.push(format!("{end} answers in the place of {}", list(&p.in_place_of)));
        }
        if p.unsolicited > 0 {
            let only = if p.is_one_sided() { "; only this direction was captured" } else { "" };
            lines.push(format!(
                "{end}: {} to no request in the capture{only}",
                grouped_count(p.unsolicited, "answer")
            ));
        }
        if p.counts.undecided > 0 {
            let open = grouped_count(p.counts.undecided, "request");
            lines.push(format!("{end}: {open} still open when the capture ended"));
        }
        if p.cut > 0 {
            lines.push(format!("{end}: {} cut by the capture", grouped_count(p.cut, "datagram")));
        }
    }
    let in_vain = case.in_vain();
    for (end, id, n) in in_vain.iter().take(MAX_LINES) {
        lines.push(format!("{end} was asked in vain: {} ({})", grouped_count(*n, "request"), id.info().name));
    }
    let more = in_vain.len().saturating_sub(MAX_LINES) as u64;
    if more > 0 {
        lines.push(format!("and the same of {}", grouped_count(more, "more port")));
    }
    lines.extend(listings(case));
    if case.dropped > 0 {
        lines.push(format!("the capture dropped {}", grouped_count(case.dropped, "packet")));
    }
    if !case.namesakes.is_empty() {
        let others: Vec<_> = case.namesakes.iter().take(MAX_LINES).map(ToString::to_string).collect();
        lines.push(format!("the same name: {}", others.join(", ")));
    }
    if case.untracked > 0 {
        lines.push(format!("datagrams and exchanges of further ports, for want of room: {}", case.untracked));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Which masters know the server, a line each, and what it lists where it is one.
fn listings(case: &Case<'_>) -> Vec<String> {
    let mut lines: Vec<_> = case.listed.iter().take(MAX_LINES).map(listing).collect();
    let more = case.listed.len().saturating_sub(MAX_LINES) as u64;
    if more > 0 {
        lines.push(format!("and the same of {}", grouped_count(more, "more pair")));
    }
    let lists = |(master, n): &(Endpoint, u64)| format!("{master} lists {}", grouped_count(*n, "server"));
    lines.extend(case.lists.iter().take(MAX_LINES).map(lists));
    let is_unlisted = case.lists.is_empty() && case.listed.iter().all(|listing| listing.lists == 0);
    if case.has_listings && is_unlisted {
        lines.push(format!("{} is never listed in this capture", case.address));
    }
    lines
}

fn listing(listing: &Listing) -> String {
    let Listing { server, master, id, lists, heartbeats, last, .. } = listing;
    let (name, at) = (id.info().name, stamp(*last));
    let told = grouped_count(*heartbeats, "heartbeat");
    match (lists, heartbeats) {
        (0, _) => format!("{server} told {master} of itself at {at} ({name}, {told})"),
        (n, 0) => format!("{server} listed by {master} at {at} ({name}, {})", grouped_count(*n, "list")),
        (n, _) => {
            format!("{server} listed by {master} at {at} ({name}, {}, {told})", grouped_count(*n, "list"))
        }
    }
}

/// Writes the broken rules, the worst first, and below the first one that it explains, a diagnosis.
fn findings(out: &mut dyn Write, screen: Screen, case: &Case<'_>, captures: &Captures) -> io::Result<()> {
    let mut all: Vec<(&Port, &Broken)> =
        case.ports.iter().flat_map(|p| p.findings.iter().map(move |b| (*p, b))).collect();
    if all.is_empty() {
        return Ok(());
    }
    all.sort_by_key(|(_, b)| (Reverse(b.finding.severity), Reverse(b.count), b.first));
    writeln!(out)?;
    let mut said = vec![];
    for (p, b) in all.iter().take(screen.rows()) {
        let severity = b.finding.severity;
        let word = screen.paint(style(severity), &format!("{:<7}", severity.name()));
        let file = if captures.files.len() > 1 {
            captures.name(b.first.file).map_or(String::new(), |name| format!("{} ", escaped(name)))
        } else {
            String::new()
        };
        let times = if b.count == 1 { "once".to_owned() } else { format!("{} times", b.count) };
        let (id, frame) = (b.finding.rule.id, b.first.frame);
        writeln!(out, "{word} {id:<11} {} ({times}, first in {file}frame {frame})", b.finding)?;
        let explained = case.explained(p).filter(|e| e.rules.contains(&b.finding.rule) && !said.contains(e));
        if let Some(explained) = explained {
            writeln!(out, "        = help: {explained}")?;
            said.push(explained);
        }
    }
    Ok(())
}
