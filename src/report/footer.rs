//! Writes the end of the summary on a screen: totals, unanswered requests, and losses due to limits of memory.

use super::server::Server;
use super::server_counters::MAX_TIMED;
use super::summary::Summary;
use super::terminal::{Screen, style};
use super::{MAX_LISTED, MORE_MEMORY, ONE_WAY, Totals, dropped_remark, grouped_count};
use crate::rule::Severity;
use anstyle::Style;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A function that counts the exchanges with an outcome, and the name of the outcome.
type Outcome = (fn(&Totals) -> u64, &'static str);

/// The advice if one file may contain the requests and another one the answers.
const MERGE_ADVICE: &str = "Captures of the same time are read each for itself; if they hold one direction each, \
                           `mergecap -w BOTH.pcapng FILE...` joins them.";

/// Writes the end of the summary.
pub(super) fn write_footer(
    out: &mut dyn Write,
    screen: Screen,
    summary: &Summary,
    t: &Totals,
) -> io::Result<()> {
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
    write_remarks(out, &remarks(summary, t))
}

/// Maximum number of remarks at the end of a screen.
pub(crate) const MAX_REMARKS: usize = 5;

/// Writes the first remarks, a line each, and how many more there are.
pub(crate) fn write_remarks(out: &mut dyn Write, remarks: &[String]) -> io::Result<()> {
    let shown = if remarks.len() > MAX_REMARKS { MAX_REMARKS - 1 } else { remarks.len() };
    remarks.iter().take(shown).try_for_each(|remark| writeln!(out, "{remark}"))?;
    match remarks.len() - shown {
        0 => Ok(()),
        more => writeln!(out, "and {}; -T ndjson has all numbers", grouped_count(more as u64, "more remark")),
    }
}

/// Remarks on facts that are in no table: unanswered requests, and gaps in the tables. Each is a sentence or a clause.
pub(crate) fn remarks(summary: &Summary, t: &Totals) -> Vec<String> {
    let mut remarks: Vec<_> = dropped_remark(t).into_iter().collect();
    remarks.extend(abuse_remark(summary));
    remarks.extend(diagnosis_remark(summary));
    remarks.extend(silent_server_remarks(summary));
    remarks.extend(t.candidate_remarks());
    remarks.extend((summary.one_way || t.one_way()).then(|| ONE_WAY.to_owned()));
    remarks.extend(limits(t));
    let without_quantiles =
        summary.servers().filter(|s| s.times.extremes().is_some() && s.times.quantile(0.5).is_none()).count();
    let gaps = [
        (without_quantiles as u64, format!("servers beyond the first {MAX_TIMED} have no median and no p99")),
        (
            summary.untracked,
            "exchanges are in no server's row: their server was uncertain, or the table of servers was full"
                .to_owned(),
        ),
        (summary.unclaimed.untracked, "unclaimed datagrams are of endpoints that found no place".to_owned()),
    ];
    remarks.extend(gaps.into_iter().filter(|(n, _)| *n > 0).map(|(n, gap)| format!("{gap}: {n}")));
    remarks
}

/// A line about floods: answers to an address that has proven nothing, or datagrams of no known protocol from many senders.
fn abuse_remark(summary: &Summary) -> Option<String> {
    let (floods, largest) = summary.floods;
    let answers = largest.map(|flood| match floods {
        1 => format!("unproven answers, {flood}"),
        _ => format!("unproven answers, {flood}; and {} more like it", floods - 1),
    });
    let unclaimed = summary.unclaimed.busiest().into_iter().find(|busy| busy.is_flood()).map(|busy| {
        let (senders, more) = busy.senders();
        let plus = if more { "+" } else { "" };
        format!(
            "{} of no known protocol at {} from {senders}{plus} senders, {} in the busiest second",
            grouped_count(busy.datagrams, "datagram"),
            busy.endpoint,
            busy.peak_rate
        )
    });
    let parts: Vec<_> = answers.into_iter().chain(unclaimed).collect();
    let more = "`qdissect stats --only clients` shows who asks";
    (!parts.is_empty()).then(|| format!("looks abused: {}; {more}", parts.join("; ")))
}

/// A line with what would make the broken messages of a server fit.
fn diagnosis_remark(summary: &Summary) -> Option<String> {
    let all = summary.agreements.all();
    let explained = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        n => format!("; and {} more, which `qdissect check` shows", n - 1),
    };
    Some(format!("help: {} ({}): {explained}{more}", explained.server, explained.protocol.info().name))
}

/// Remarks on servers that received several requests and answered none, ordered by the number of requests, whether or
/// not a rule reports them.
fn silent_server_remarks(summary: &Summary) -> Vec<String> {
    let is_silent = |s: &&Server| s.requests > 1 && s.answered + s.late == 0;
    let mut servers: Vec<_> = summary.servers().filter(is_silent).collect();
    servers.sort_by_key(|s| std::cmp::Reverse(s.requests));
    let remark = |s: &&Server| {
        let still_open = if s.undecided > 0 { ", the last just before the end of the capture" } else { "" };
        format!(
            "{} requests to {} ({}), never answered{still_open}",
            s.requests,
            s.endpoint,
            s.id.info().name
        )
    };
    let mut remarks: Vec<_> = servers.iter().take(MAX_LISTED).map(remark).collect();
    let more = servers.len().saturating_sub(MAX_LISTED) as u64;
    remarks.extend((more > 0).then(|| format!("and the same of {}", grouped_count(more, "further server"))));
    remarks
}

/// Remarks on losses due to limits of memory, and on captures of one direction.
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
        (
            t.not_unpacked,
            "compressed answers were not unpacked, for those before had unpacked to 16 times what was read",
        ),
        (t.servers_refused, "conversations have servers for which the table of servers had no room"),
    ];
    let mut remarks: Vec<_> =
        limits.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}")).collect();
    let may_be_split = t.overlap && !t.one_sided.is_empty() && t.all().unanswered + t.all().undecided > 0;
    remarks.extend(may_be_split.then(|| MERGE_ADVICE.to_owned()));
    remarks.extend(t.crowded().then(|| MORE_MEMORY.to_owned()));
    remarks
}
