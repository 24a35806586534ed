//! Faults: the examples of rules, played by the server.

use super::Reply;
use super::request::Request;
use super::rounds::{Planned, Round, Rounds};
use crate::classify::Choice;
use crate::contract::{Direction, Level};
use crate::pipeline::Options;
use crate::protocols::Id;
use crate::rule::{Example, Rule, Side, Step, hex};
use crate::schema::example::{Act, Dissected, SERVER_NAME, dissect_with, server_port};
use std::collections::BTreeSet;

/// Milliseconds from one answer to the next, as in examples.
const STEP: u32 = 10;

/// The rules whose faults a server of the protocol can play, in the order of declaration.
pub fn faults(id: Id) -> Vec<&'static Rule> {
    id.rules().filter(|rule| Rounds::breaking(id, rule).is_some()).collect()
}

impl Rounds {
    /// The conversation in which the server breaks the rule; `None` where it is none about what a server sends, or where its
    /// examples show it by something else than datagrams. How large answers are, a fault cannot show to everybody.
    pub fn breaking(id: Id, rule: &Rule) -> Option<Rounds> {
        let is_of_server = matches!(rule.side, Side::Sender | Side::Server | Side::Path);
        let is_of_size = rule.ratio || rule.unproven || id.info().floods == Some(rule);
        if !is_of_server || is_of_size || rule.is_shared() || rule.active {
            return None;
        }
        // What nobody asks for shows best beside what somebody does.
        let (asked, unasked): (Vec<_>, Vec<_>) =
            rule.examples.iter().partition(|example| example.steps.iter().any(asks));
        asked.into_iter().chain(unasked).find_map(|example| shortest(id, rule, example))
    }
}

/// Whether a client sends something.
fn asks(step: &Step) -> bool {
    matches!(Act::of(step), Act::Send { direction: Direction::C2s, .. })
}

/// The shortest end of an example that breaks the rule and no rule that the whole of it does not break.
fn shortest(id: Id, rule: &Rule, example: &Example) -> Option<Rounds> {
    if example.steps.iter().any(|step| matches!(step, Step::Frame(..) | Step::Copy)) {
        return None;
    }
    let whole = Broken::by(id, rule, example);
    let starts = (1..example.steps.len()).rev().filter(|at| example.steps.get(*at).is_some_and(asks));
    let ends = starts.filter_map(|at| Some(Example { steps: example.steps.get(at..)?, ..*example }));
    let fits = |end: &Example| {
        let broken = Broken::by(id, rule, end);
        broken.is_by_server() && broken.rules.is_subset(&whole.rules)
    };
    let end = ends.into_iter().find(fits).or_else(|| whole.is_by_server().then_some(*example))?;
    rounds(id, &end, &Broken::by(id, rule, &end))
}

/// What an example breaks.
struct Broken {
    /// All rules that it breaks but for symptoms.
    rules: BTreeSet<&'static str>,
    /// The datagrams of the server that break the rule.
    payloads: Vec<Vec<u8>>,
    /// An exchange breaks it, because the server does not answer, or not in full.
    by_silence: bool,
}

impl Broken {
    fn by(id: Id, rule: &Rule, example: &Example) -> Broken {
        let choice = Choice { pins: vec![(server_port(example), id)], ..Choice::default() };
        let options = Options { choice, min_confidence: Level::Low, all: true, ..Options::default() };
        let Dissected { datagrams, exchanges, .. } = dissect_with(example, options);
        let of_exchanges = exchanges.iter().flat_map(|(_, findings)| findings);
        let by_silence = of_exchanges.clone().any(|finding| finding.rule == rule);
        let mut broken = Broken { rules: BTreeSet::new(), payloads: vec![], by_silence };
        let all = datagrams.iter().filter_map(|d| d.dissection.as_ref()).flat_map(|d| &d.findings);
        broken.rules.extend(all.chain(of_exchanges).filter(|f| f.counts()).map(|f| f.rule.id));
        for datagram in datagrams.into_iter().filter(|datagram| datagram.from == SERVER_NAME) {
            let mut findings = datagram.dissection.iter().flat_map(|dissection| &dissection.findings);
            if findings.any(|finding| finding.rule == rule) {
                broken.payloads.push(datagram.payload);
            }
        }
        broken
    }

    fn is_by_server(&self) -> bool {
        self.by_silence || !self.payloads.is_empty()
    }
}

/// The rounds of an example.
fn rounds(id: Id, example: &Example, broken: &Broken) -> Option<Rounds> {
    let (mut rounds, mut unasked, mut after): (Vec<Round>, Vec<Reply>, u32) = (vec![], vec![], 0);
    for step in example.steps {
        match Act::of(step) {
            Act::Wait(ms) => after = after.saturating_add(ms),
            Act::Send { direction: Direction::C2s, payload, .. } => {
                let request = Request::of(id, &hex(payload))?;
                rounds.push(Round { request, replies: vec![] });
                after = 0;
            }
            Act::Send { direction: Direction::S2c, payload, .. } => {
                let reply = Reply { after, payload: hex(payload) };
                let as_recorded = broken.payloads.contains(&reply.payload);
                match rounds.last_mut() {
                    Some(round) => round.replies.push(Planned { reply, as_recorded }),
                    None => unasked.push(reply),
                }
                after = after.saturating_add(STEP);
            }
            Act::Frame(..) | Act::Copy => return None,
        }
    }
    Some(Rounds::new(id, rounds, unasked))
}
