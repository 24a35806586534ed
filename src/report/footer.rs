//! Writes the end of the summary on a screen: totals, requests that were not answered, and what the limits of memory have
//! cost.

use super::server::Server;
use super::server_counters::MAX_TIMED;
use super::summary::Summary;
use super::terminal::{Screen, style};
use super::{MAX_LISTED, MORE_MEMORY, ONE_WAY, Totals, count, dropped_remark};
use crate::rule::Severity;
use anstyle::Style;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A count of exchanges, and the outcome that it counts.
type Outcome = (fn(&Totals) -> u64, &'static str);

/// The way out where one file may hold the requests, and another one the answers.
const EACH_A_SIDE: &str = "Captures of the same time are read each for itself; if they hold one direction each, \
                           `mergecap -w BOTH.pcapng FILE...` joins them.";

/// Writes the end of the summary.
pub(super) fn foot(out: &mut dyn Write, screen: Screen, summary: &Summary, t: &Totals) -> io::Result<()> {
    let outcomes: [Outcome; 4] = [
        (|t| t.late, "late"),
        (|t| t.unanswered, "unanswered"),
        (|t| t.undecided, "undecided at the end"),
        (|t| t.refused, "refused"),
    ];
    let mut line =
        format!("\n{}: {} answered", t.part("exchange", |t| t.exchanges), t.number(|t| t.answered));
    for (n, what) in outcomes.into_iter().filter(|(n, _)| n(t.all()) > 0) {
        let _ = write!(line, ", {} {what}", t.number(n));
    }
    if t.all().retransmissions > 0 {
        let _ = write!(line, "; {}", t.part("retransmission", |t| t.retransmissions));
    }
    writeln!(out, "{line}")?;
    let counts = Severity::ALL.iter().map(|&severity| {
        let style = if t.findings.of(severity) > 0 { style(severity) } else { Style::new() };
        screen.paint(style, &t.part(severity.name(), |t| t.findings.of(severity)))
    });
    writeln!(out, "findings: {}", counts.collect::<Vec<_>>().join(", "))?;
    if let Some(remark) = dropped_remark(t) {
        writeln!(out, "{remark}")?;
    }
    unanswering(out, summary)?;
    candidates(out, t)?;
    if summary.one_way || t.one_way() {
        writeln!(out, "{ONE_WAY}")?;
    }
    limits(out, t)?;
    let bare =
        summary.servers().filter(|s| s.times.ends().is_some() && s.times.quantile(0.5).is_none()).count();
    if bare > 0 {
        writeln!(out, "servers beyond the first {MAX_TIMED} have no median and no p99: {bare}")?;
    }
    match summary.elsewhere {
        0 => Ok(()),
        n => writeln!(
            out,
            "exchanges are in no row above, for their server was not certain or found no place: {n}"
        ),
    }
}

/// Writes the servers that were asked more than once and answered nothing, the servers asked most first, whether or not a
/// rule reports them.
fn unanswering(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let silent = |s: &&Server| s.requests > 1 && s.answered + s.late == 0;
    let mut servers: Vec<_> = summary.servers().filter(silent).collect();
    servers.sort_by_key(|s| std::cmp::Reverse(s.requests));
    for s in servers.iter().take(MAX_LISTED) {
        let open = if s.undecided > 0 { ", the last just before the end of the capture" } else { "" };
        let name = s.id.info().name;
        writeln!(out, "{} requests to {} ({name}), never answered{open}", s.requests, s.endpoint)?;
    }
    match servers.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        n => writeln!(out, "and the same of {}", count(n as u64, "further server")),
    }
}

/// Writes the endpoints that may have been sent requests without an answer, the endpoints with most datagrams first.
fn candidates(out: &mut dyn Write, t: &Totals) -> io::Result<()> {
    let (listed, more) = t.candidates();
    listed.iter().try_for_each(|candidate| writeln!(out, "{candidate}"))?;
    match more {
        0 => Ok(()),
        n => writeln!(out, "and the same of {}", count(n, "further endpoint")),
    }
}

/// Writes what the limits of memory have cost, and what a capture of one side lacks.
pub fn limits(out: &mut dyn Write, t: &Totals) -> io::Result<()> {
    let limits = [
        (t.evicted, "requests or conversations were forgotten early for want of room"),
        (t.waiting_overflow, "datagrams were judged before their conversation could confirm them"),
        (
            t.one_sided.len() as u64,
            "servers have only answers in the capture: it lacks the requests, or nobody here sent any",
        ),
        (
            t.fragments.disputes,
            "IP fragments contradicted others of their datagram; of each byte the first counts",
        ),
        (t.memory_forgotten, "entries of cross-packet rules were forgotten for want of room"),
        (t.servers_refused, "conversations have servers that found no place in their table"),
    ];
    limits.into_iter().filter(|(n, _)| *n > 0).try_for_each(|(n, what)| writeln!(out, "{what}: {n}"))?;
    if t.overlap && !t.one_sided.is_empty() && t.all().unanswered + t.all().undecided > 0 {
        writeln!(out, "{EACH_A_SIDE}")?;
    }
    if t.crowded() { writeln!(out, "{MORE_MEMORY}") } else { Ok(()) }
}
