//! What is known of a server: what it did, and what it said of itself.

use super::Place;
use super::server_text::{ServerText, update_text};
use super::times::Times;
use crate::check::Counts;
use crate::decode::{self, Version};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;

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
    /// Rules that its [provisional](crate::check::Finding::provisional) findings break.
    pub(super) provisional: Vec<Broken>,
    /// What it says about itself: the latest answer counts.
    pub facts: ServerFacts,
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
            provisional: vec![],
            facts: ServerFacts::default(),
        }
    }
}

/// What a server said about itself, bounded.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// Name.
    pub server_name: Option<ServerText>,
    /// Game.
    pub game: Option<ServerText>,
    /// Map.
    pub map: Option<ServerText>,
    /// Version, as text.
    pub version: Option<ServerText>,
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
    pub(super) fn update(&mut self, facts: &decode::Facts<'_>) {
        update_text(&mut self.server_name, facts.server_name);
        update_text(&mut self.game, facts.game);
        update_text(&mut self.map, facts.map);
        match facts.version {
            Some(Version::Text(text)) => update_text(&mut self.version, Some(text)),
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
    /// The entry of a rule in a list; a new entry holds no findings yet.
    pub(super) fn of<'a>(list: &'a mut Vec<Broken>, rule: &'static Rule, first: Place) -> &'a mut Broken {
        let at = list.iter().position(|b| std::ptr::eq(b.rule, rule)).unwrap_or(list.len());
        if at == list.len() {
            list.push(Broken { rule, counts: Counts::default(), first });
        }
        &mut list[at]
    }
}
