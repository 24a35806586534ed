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
    remarks(summary, t).iter().try_for_each(|remark| writeln!(out, "{remark}"))
}

/// What no table tells: requests that were not answered, and what the tables lack. A sentence or a clause each.
pub(crate) fn remarks(summary: &Summary, t: &Totals) -> Vec<String> {
    let mut said: Vec<_> = dropped_remark(t).into_iter().collect();
    said.extend(unanswering(summary));
    said.extend(t.candidate_remarks());
    said.extend((summary.one_way || t.one_way()).then(|| ONE_WAY.to_owned()));
    said.extend(limits(t));
    let bare =
        summary.servers().filter(|s| s.times.extremes().is_some() && s.times.quantile(0.5).is_none()).count();
    let lacking = [
        (bare as u64, format!("servers beyond the first {MAX_TIMED} have no median and no p99")),
        (
            summary.untracked,
            "exchanges are in no row of a server, for theirs was not certain or found no place".to_owned(),
        ),
        (summary.unclaimed.untracked, "unclaimed datagrams are of endpoints that found no place".to_owned()),
    ];
    said.extend(lacking.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}")));
    said
}

/// The servers that were asked more than once and answered nothing, the servers asked most first, whether or not a rule
/// reports them.
fn unanswering(summary: &Summary) -> Vec<String> {
    let silent = |s: &&Server| s.requests > 1 && s.answered + s.late == 0;
    let mut servers: Vec<_> = summary.servers().filter(silent).collect();
    servers.sort_by_key(|s| std::cmp::Reverse(s.requests));
    let remark = |s: &&Server| {
        let open = if s.undecided > 0 { ", the last just before the end of the capture" } else { "" };
        format!("{} requests to {} ({}), never answered{open}", s.requests, s.endpoint, s.id.info().name)
    };
    let mut said: Vec<_> = servers.iter().take(MAX_LISTED).map(remark).collect();
    let more = servers.len().saturating_sub(MAX_LISTED) as u64;
    said.extend((more > 0).then(|| format!("and the same of {}", count(more, "further server"))));
    said
}

/// What the limits of memory have cost, and what a capture of one side lacks.
pub fn limits(t: &Totals) -> Vec<String> {
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
    let mut said: Vec<_> =
        limits.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}")).collect();
    let apart = t.overlap && !t.one_sided.is_empty() && t.all().unanswered + t.all().undecided > 0;
    said.extend(apart.then(|| EACH_A_SIDE.to_owned()));
    said.extend(t.crowded().then(|| MORE_MEMORY.to_owned()));
    said
}
