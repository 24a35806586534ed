//! The counters of a server, and the facts that it states about itself.

use super::Place;
use super::server_text::{ServerText, update_text};
use super::times::Times;
use crate::check::Counts;
use crate::decode::{self, Version};
use crate::exchange::Outcome;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::Rule;

/// Resolution of the quantiles of response times, in nanoseconds.
pub const UNIT: i64 = 1_000;

/// The counters and facts of a server.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub endpoint: Endpoint,
    /// Its protocol.
    pub id: Id,
    /// The address behind it, where its host translates addresses.
    pub inner: Option<Endpoint>,
    /// Requests to the server.
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
    /// Rules broken in its conversations, if the summary [keeps](super::summary::Summary::with_rules_of) them apart; without those
    /// in the following lists.
    pub(super) broken: Vec<Broken>,
    /// Rules broken by its [provisional](crate::check::Finding::provisional) findings: those that are symptoms if it
    /// answers nothing, and those that are if it answers nothing but challenges.
    pub(super) silent: Vec<Broken>,
    pub(super) challenging: Vec<Broken>,
    /// Rules that need the past, broken above note: notes if it is captured in one direction only.
    pub(super) past_dependent: Vec<Broken>,
    /// The latest facts that it states about itself.
    pub facts: ServerFacts,
}

impl Server {
    /// A server without any traffic yet.
    pub(super) fn new(endpoint: Endpoint, id: Id) -> Server {
        Server {
            endpoint,
            id,
            inner: None,
            requests: 0,
            answered: 0,
            late: 0,
            unanswered: 0,
            undecided: 0,
            refused: 0,
            times: Times::default(),
            findings: Counts::default(),
            broken: vec![],
            silent: vec![],
            challenging: vec![],
            past_dependent: vec![],
            facts: ServerFacts::default(),
        }
    }
}

impl Server {
    /// How many of its requests ended in each way.
    pub(super) fn outcomes(&self) -> [(Outcome, u64); 5] {
        [
            (Outcome::Answered, self.answered),
            (Outcome::Late, self.late),
            (Outcome::Unanswered, self.unanswered),
            (Outcome::Undecided, self.undecided),
            (Outcome::Refused, self.refused),
        ]
    }

    /// The rules that its [provisional](crate::check::Finding::provisional) findings have broken, so far.
    pub(super) fn provisional(&self) -> impl Iterator<Item = &Broken> {
        self.silent.iter().chain(&self.challenging)
    }
}

/// Facts that a server states about itself, in bounded memory.
#[derive(Clone, Debug, Default)]
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
    /// Current and maximum number of players.
    pub players: Option<(u32, u32)>,
    /// State.
    pub state: Option<&'static str>,
}

impl ServerFacts {
    /// Updates everything but the players. It is a separate function so that only a pointer to the facts is passed.
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

/// The violations of a rule.
#[derive(Debug)]
pub struct Broken {
    /// The rule.
    pub rule: &'static Rule,
    /// Findings by severity; a finding may be less severe than its rule.
    pub counts: Counts,
    /// Place of the first violation.
    pub first: Place,
}

impl Broken {
    /// The entry of a rule in a list. A new entry has no findings yet.
    pub(super) fn of<'a>(list: &'a mut Vec<Broken>, rule: &'static Rule, first: Place) -> &'a mut Broken {
        let at = list.iter().position(|b| std::ptr::eq(b.rule, rule)).unwrap_or(list.len());
        if at == list.len() {
            list.push(Broken { rule, counts: Counts::default(), first });
        }
        &mut list[at]
    }
}
