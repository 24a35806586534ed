//! What is known of a server: what it did, and what it said of itself.

use super::Place;
use super::said::{Said, keep};
use super::times::Times;
use crate::check::{Counts, Finding};
use crate::decode::{self, Version};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;
use arrayvec::ArrayVec;

/// Resolution of the quantiles of response times, in nanoseconds.
pub const UNIT: i64 = 1_000;

/// What one server did.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub endpoint: Endpoint,
    /// The protocol that it speaks.
    pub id: Id,
    /// Requests it got.
    pub requests: u64,
    /// Requests answered in time.
    pub answered: u64,
    /// Requests answered after the window.
    pub late: u64,
    /// Requests not answered.
    pub unanswered: u64,
    /// Requests open when the capture ended.
    pub undecided: u64,
    /// Requests refused by ICMP errors.
    pub refused: u64,
    /// Response times; without quantiles beyond the first 1,024 servers.
    pub times: Times<UNIT>,
    /// Findings in its conversations.
    pub findings: Counts,
    /// Findings about requests without an answer, while it has answered none: at the end they may turn out to be symptoms
    /// of a silent server. No protocol has more than two rules about such requests.
    pub(super) held: ArrayVec<Broken, 2>,
    /// How many requests it had answered when findings were last released.
    pub(super) before: u64,
    /// How many of the answered requests another endpoint has answered.
    pub(super) elsewhere: u64,
    /// What it says about itself: the latest answer counts.
    pub said: ServerFacts,
}

impl Server {
    /// A server of which nothing has been seen yet.
    pub(super) fn new(endpoint: Endpoint, id: Id) -> Server {
        Server {
            endpoint,
            id,
            requests: 0,
            answered: 0,
            late: 0,
            unanswered: 0,
            undecided: 0,
            refused: 0,
            times: Times::default(),
            findings: Counts::default(),
            held: ArrayVec::new(),
            before: 0,
            elsewhere: 0,
            said: ServerFacts::default(),
        }
    }
}

/// What a server said about itself, bounded.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// Name.
    pub server_name: Option<Said>,
    /// Game.
    pub game: Option<Said>,
    /// Map.
    pub map: Option<Said>,
    /// Version, as text.
    pub version: Option<Said>,
    /// Version, as a number.
    pub build: Option<u64>,
    /// Players now and at most.
    pub players: Option<(u32, u32)>,
    /// State.
    pub state: Option<&'static str>,
}

impl ServerFacts {
    /// Takes in everything but the players. A function of its own, so that only a pointer to the facts is handed on.
    #[inline(never)]
    pub(super) fn hear(&mut self, facts: &decode::Facts<'_>) {
        keep(&mut self.server_name, facts.server_name);
        keep(&mut self.game, facts.game);
        keep(&mut self.map, facts.map);
        match facts.version {
            Some(Version::Text(text)) => keep(&mut self.version, Some(text)),
            Some(Version::Number(n)) => self.build = Some(n),
            None => {}
        }
        self.state = facts.state.or(self.state);
    }
}

/// How often a rule was broken.
#[derive(Debug)]
pub struct Broken {
    /// The rule.
    pub rule: &'static Rule,
    /// Findings by severity, for a finding may be milder than its rule.
    pub counts: Counts,
    /// Where it was broken first.
    pub first: Place,
}

impl Broken {
    pub(super) fn once(finding: &Finding, first: Place) -> Broken {
        let mut counts = Counts::default();
        counts.add(finding.severity);
        Broken { rule: finding.rule, counts, first }
    }
}
