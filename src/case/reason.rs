//! The sentence at the top: what most likely keeps the server from being listed, and the command that shows more.

use super::Case;
use super::port::Port;
use crate::check::Finding;
use crate::net::Endpoint;
use crate::report::count;
use crate::rule::{Severity, Side};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is most likely wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// ICMP errors say that nobody listens.
    Refused,
    /// Requests, and no answer from any port.
    Down,
    /// Somebody is told, or gets, nothing while others are answered.
    Banned,
    /// It gives challenges, and answers nothing that carries one.
    ChallengesOnly,
    /// Another address or port answers than was asked.
    OtherAddress,
    /// Asked where nobody answers, while another port answers.
    OtherPort,
    /// Clients cannot read its answers.
    Unreadable,
    /// Only answers are in the capture.
    OneDirection,
    /// The capture dropped packets, and answers are missing.
    Dropped,
    /// Many answers are late or missing.
    Slow,
    /// Nothing wrong was seen.
    Fine,
    /// Nothing of the server is in the captures.
    Absent,
}

impl Reason {
    /// Every reason. Where several hold, the first counts.
    pub const ALL: &[Reason] = &[
        Reason::Refused,
        Reason::Down,
        Reason::Banned,
        Reason::ChallengesOnly,
        Reason::OtherAddress,
        Reason::OtherPort,
        Reason::Unreadable,
        Reason::OneDirection,
        Reason::Dropped,
        Reason::Slow,
        Reason::Fine,
        Reason::Absent,
    ];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Refused => "refused",
            Reason::Down => "down",
            Reason::Banned => "banned",
            Reason::ChallengesOnly => "challenges_only",
            Reason::OtherAddress => "other_address",
            Reason::OtherPort => "other_port",
            Reason::Unreadable => "unreadable",
            Reason::OneDirection => "one_direction",
            Reason::Dropped => "dropped",
            Reason::Slow => "slow",
            Reason::Fine => "fine",
            Reason::Absent => "absent",
        }
    }
}

/// The reason, as a sentence, and a command that shows more.
#[derive(Debug)]
pub struct Verdict {
    /// The reason.
    pub reason: Reason,
    /// The sentence.
    pub text: String,
    /// The command.
    pub command: String,
}

/// What shows more of a server.
enum Show {
    Lost,
    Exchanges,
    Packets,
    Findings,
    Summary,
}

impl Show {
    /// The command about these servers, or about everything where there are none.
    fn command(&self, servers: &[Endpoint], files: &str) -> String {
        let these: Vec<_> = servers.iter().map(|server| format!("server == \"{server}\"")).collect();
        let these = these.join(" or ");
        match self {
            _ if servers.is_empty() => format!("qdissect summary {files}"),
            Show::Lost => {
                let these = if servers.len() > 1 { format!("({these})") } else { these };
                format!("qdissect exchanges -Y '{these} and exchange.outcome != answered' {files}")
            }
            Show::Exchanges => format!("qdissect exchanges -Y '{these}' {files}"),
            Show::Packets => format!("qdissect dump -Y '{these}' {files}"),
            Show::Findings => format!("qdissect check -Y '{these}' {files}"),
            Show::Summary => format!("qdissect summary {files}"),
        }
    }
}

/// A reason, its sentence, what shows more, and about which servers.
type Found = (Reason, String, Show, Vec<Endpoint>);

impl Verdict {
    /// What is said as long as nothing is known.
    pub(super) fn absent(files: &str) -> Verdict {
        let command = Show::Summary.command(&[], files);
        Verdict { reason: Reason::Absent, text: String::new(), command }
    }

    /// The first reason that holds.
    pub(super) fn of(case: &Case<'_>, files: &str) -> Verdict {
        let tries: [fn(&Case<'_>) -> Option<Found>; 10] = [
            silent,
            banned,
            challenges_only,
            other_address,
            other_port,
            unreadable,
            one_direction,
            dropped,
            slow,
            fine,
        ];
        let found = tries.iter().find_map(|reason| reason(case));
        let (reason, text, show, servers) = found.unwrap_or_else(|| absent(case));
        Verdict { reason, text, command: show.command(&servers, files) }
    }
}

fn absent(case: &Case<'_>) -> Found {
    let text = if !case.other_names.is_empty() {
        let names: Vec<_> = case.other_names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("No server is named \"{}\"; named are {}.", name(case), names.join(", "))
    } else if case.listed.is_empty() {
        format!("Nothing to or from {} is in the traffic of a known protocol.", name(case))
    } else {
        format!("Nobody asks {} in the traffic of a known protocol; masters know it.", name(case))
    };
    (Reason::Absent, text, Show::Summary, vec![])
}

/// The address, with the port that it is about.
fn name(case: &Case<'_>) -> String {
    match case.focus {
        Some(port) if case.address.contains(':') => format!("[{}]:{port}", case.address),
        Some(port) => format!("{}:{port}", case.address),
        None => case.address.clone(),
    }
}

fn requests(n: u64) -> String {
    count(n, "request")
}

/// No port of the address answers: it refuses, or is down.
fn silent(case: &Case<'_>) -> Option<Found> {
    let asked: u64 = case.in_vain().iter().map(|(.., n)| n).sum();
    if asked == 0 || case.ports.iter().any(|p| p.answers() > 0 || !p.in_place_of.is_empty()) {
        return None;
    }
    let refused = case.ports.iter().map(|p| p.counts.refused).sum::<u64>()
        + case.candidates.iter().map(|c| c.refused).sum::<u64>();
    let servers: Vec<_> = case.ports.iter().map(|p| p.endpoint).collect();
    let (who, requests) = (name(case), requests(asked));
    if refused > 0 {
        let text = format!(
            "{who} refuses: an ICMP error came back for {refused} of {requests}; no server listens there, or a \
             firewall rejects."
        );
        return Some((Reason::Refused, text, Show::Lost, servers));
    }
    let text = format!("{who} is down, or a firewall is silent: {requests}, and no answer from any port.");
    Some((Reason::Down, text, Show::Lost, servers))
}

fn banned(case: &Case<'_>) -> Option<Found> {
    if let Some(p) = case.focused().find(|p| p.prints > 0) {
        let text = format!(
            "{} prints a text instead of an answer to {}: it has banned who asks, or is asked too often.",
            p.endpoint,
            requests(p.prints)
        );
        return Some((Reason::Banned, text, Show::Packets, vec![p.endpoint]));
    }
    let (p, client) = case.focused().find_map(|p| Some((p, p.ignored_client()?)))?;
    let text = format!(
        "{} answers others, but nothing to {}, which sent {}: it is banned there, or a firewall stops it.",
        p.endpoint,
        client.address.ip(),
        requests(client.counts.requests)
    );
    Some((Reason::Banned, text, Show::Lost, vec![p.endpoint]))
}

fn challenges_only(case: &Case<'_>) -> Option<Found> {
    let only = |p: &&Port| p.challenges > 0 && p.challenged_lost > 0 && !p.answers_more_than_challenges();
    let again = |p: &&Port| p.findings.iter().any(|b| b.finding.rule.id == "GEN-011");
    let p = case.focused().find(|p| only(p) || again(p))?;
    let text = format!(
        "{} gives challenges and answers nothing that carries one: {} answered by a challenge, none by what was \
         asked for.",
        p.endpoint,
        requests(p.challenges)
    );
    Some((Reason::ChallengesOnly, text, Show::Exchanges, vec![p.endpoint]))
}

fn other_address(case: &Case<'_>) -> Option<Found> {
    let own = |p: &Port| p.counts.with_answer().saturating_sub(p.elsewhere);
    if let Some(p) = case.focused().find(|p| p.elsewhere > 0 && p.elsewhere >= own(p)) {
        let others = list(&p.others);
        let text = format!(
            "{} is asked, and the answers come from {others}: clients and firewalls drop what they did not ask for.",
            p.endpoint
        );
        let servers = std::iter::once(p.endpoint).chain(p.others.iter().copied()).collect();
        return Some((Reason::OtherAddress, text, Show::Packets, servers));
    }
    let p = case.focused().find(|p| !p.in_place_of.is_empty() && p.counts.requests == 0)?;
    let asked = list(&p.in_place_of);
    let text = format!(
        "{} answers what {asked} is asked: clients drop answers from where they did not ask.",
        p.endpoint
    );
    let servers = std::iter::once(p.endpoint).chain(p.in_place_of.iter().copied()).collect();
    Some((Reason::OtherAddress, text, Show::Packets, servers))
}

/// Several endpoints in a sentence.
fn list(ends: &[Endpoint]) -> String {
    match ends {
        [] => "another endpoint".to_owned(),
        [one] => one.to_string(),
        [one, rest @ ..] => format!("{one} and {}", count(rest.len() as u64, "other")),
    }
}

fn other_port(case: &Case<'_>) -> Option<Found> {
    /// From so many possible requests on, they count as asked.
    const MIN_POSSIBLE: u64 = 2;
    let is_focused = |end: &Endpoint| case.focus.is_none_or(|port| port == end.port());
    let in_vain = case.in_vain();
    let answering = case.ports.iter().filter(|p| p.answers() > 0);
    let (asked, _, n) = in_vain.iter().find(|(end, _, n)| is_focused(end) && *n >= MIN_POSSIBLE)?;
    let answering: Vec<_> = answering.map(|p| p.endpoint).filter(|end| end != asked).collect();
    if answering.is_empty() {
        return None;
    }
    let text =
        format!("{asked} is asked, where nobody answers ({}); {} answers.", requests(*n), list(&answering));
    let servers = std::iter::once(*asked).chain(answering.first().copied()).collect();
    Some((Reason::OtherPort, text, Show::Exchanges, servers))
}

fn unreadable(case: &Case<'_>) -> Option<Found> {
    let explained = |p: &Port| case.explained(p).filter(|explained| explained.is_serious());
    let of_explained = |p: &Port| explained(p).map(|explained| (explained.messages, explained.messages));
    let (p, (broken, all)) =
        case.focused().find_map(|p| Some((p, p.unreadable().or_else(|| of_explained(p))?)))?;
    let what = match (explained(p), p.stopping()) {
        (Some(explained), _) => format!(": {}", explained.diagnosis),
        (None, Some(b)) => format!(": {} ({})", b.finding, b.finding.rule.id),
        (None, None) => String::new(),
    };
    let text = format!("{} gives answers that clients cannot read, {broken} of {all}{what}.", p.endpoint);
    Some((Reason::Unreadable, text, Show::Findings, vec![p.endpoint]))
}

fn one_direction(case: &Case<'_>) -> Option<Found> {
    let all = || case.focused();
    if all().any(|p| p.counts.requests > 0) || !all().any(|p| p.unsolicited > 0) {
        return None;
    }
    let answers = count(all().map(|p| p.unsolicited).sum(), "answer");
    let text = format!(
        "Only one direction was captured of {}: {answers}, and no request; capture where both pass.",
        name(case)
    );
    Some((Reason::OneDirection, text, Show::Packets, all().map(|p| p.endpoint).collect()))
}

fn dropped(case: &Case<'_>) -> Option<Found> {
    let lost: u64 = case.focused().map(|p| p.counts.unanswered).sum();
    if case.dropped == 0 || lost == 0 {
        return None;
    }
    let text = format!(
        "The capture dropped {}: {} to {} may have been answered.",
        count(case.dropped, "packet"),
        requests(lost),
        name(case)
    );
    Some((Reason::Dropped, text, Show::Summary, vec![]))
}

fn slow(case: &Case<'_>) -> Option<Found> {
    let is_late = |p: &Port| p.counts.late > 0 && p.counts.late * 2 >= p.counts.with_answer();
    let is_lossy = |p: &Port| p.counts.unanswered > 0 && p.counts.unanswered * 10 >= p.counts.decided();
    let p = case.focused().find(|p| is_late(p) || is_lossy(p))?;
    let c = &p.counts;
    let text = format!(
        "{} is slow or loses requests: {} of {} late, {} of {} not answered.",
        p.endpoint,
        c.late,
        count(c.with_answer(), "answer"),
        c.unanswered,
        requests(c.decided())
    );
    Some((Reason::Slow, text, Show::Lost, vec![p.endpoint]))
}

fn fine(case: &Case<'_>) -> Option<Found> {
    let servers: Vec<_> = case.focused().map(|p| p.endpoint).collect();
    if servers.is_empty() {
        return None;
    }
    let sum = |of: fn(&Port) -> u64| case.focused().map(of).sum::<u64>();
    let (who, answered, open) = (name(case), sum(|p| p.counts.with_answer()), sum(|p| p.counts.undecided));
    let answers = format!("{answered} of {} answered", requests(sum(|p| p.counts.requests)));
    if open > 0 && answered == sum(|p| p.challenges) {
        let text = format!("Too little was captured of {who} to tell: {answers}, {open} open at its end.");
        return Some((Reason::Fine, text, Show::Exchanges, servers));
    }
    let errors = errors(case);
    if !errors.is_empty() {
        let text =
            format!("{who}: {answers}, but some break {}: clients may refuse them.", errors.join(", "));
        return Some((Reason::Fine, text, Show::Findings, servers));
    }
    let text = format!("Nothing wrong was seen of {who}: {answers}.");
    Some((Reason::Fine, text, Show::Exchanges, servers))
}

/// The rules that the server breaks with an error, the most frequent first. Of many, the rest is counted.
fn errors(case: &Case<'_>) -> Vec<String> {
    /// Most rules named.
    const NAMED: usize = 3;
    let mut counts = BTreeMap::<&str, u64>::new();
    let is_own = |f: &Finding| f.severity == Severity::Error && f.fault == Side::Server;
    let broken = case.focused().flat_map(|p| &p.findings).filter(|b| is_own(&b.finding));
    broken.for_each(|b| *counts.entry(b.finding.rule.id).or_default() += b.count);
    let mut rules: Vec<_> = counts.into_iter().collect();
    rules.sort_by_key(|(_, n)| Reverse(*n));
    let more = rules.len().saturating_sub(NAMED);
    let named = rules.iter().take(NAMED).map(|(id, _)| (*id).to_owned());
    named.chain((more > 0).then(|| format!("and {more} more"))).collect()
}
