//! The numbers that are exposed: those of the first servers, and of all others together.

use super::steps::{BOUNDS, Steps};
use crate::check::Counts;
use crate::exchange::{Exchange, Outcome};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::server::{Broken, Server, ServerFacts};
use crate::report::server_text::ServerText;
use crate::report::summary::Summary;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Most series of a text: every one takes memory in the database that reads it.
pub const MAX_SERIES: usize = 10_000;
/// Most servers with series of their own, the first ones. Room is left for the findings of each, and for what all others have.
pub const MAX_SERVERS: usize = 320;
/// The label `server` of all servers without series of their own, and the label `protocol` of rules that all protocols share.
pub(super) const OTHER: &str = "other";
/// Series of one server besides findings: outcomes, steps with sum and count, players, places, facts.
pub(super) const PER_SERVER: usize = Outcome::ALL.len() + BOUNDS.len() + 3 + 3;
/// Series without labels.
pub(super) const UNLABELLED: usize = 3;

/// The numbers of a server, or of several.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Exchanges by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    pub times: Steps,
    /// Current and maximum number of players, as stated last.
    pub players: Option<(u64, u64)>,
}

impl Numbers {
    /// Counts an exchange.
    pub fn count(&mut self, e: &Exchange) {
        let at = Outcome::ALL.iter().position(|outcome| *outcome == e.outcome);
        if let Some(count) = at.and_then(|at| self.outcomes.get_mut(at)) {
            *count += 1;
        }
        e.response_time.iter().for_each(|time| self.times.count(*time));
    }

    fn of(server: &Server, times: Option<&Steps>) -> Numbers {
        let known = server.outcomes();
        let count = |outcome: &Outcome| known.iter().find(|(it, _)| it == outcome).map_or(0, |(_, n)| *n);
        let mut outcomes = [0; Outcome::ALL.len()];
        outcomes.iter_mut().zip(Outcome::ALL).for_each(|(place, outcome)| *place = count(outcome));
        Numbers { outcomes, times: times.copied().unwrap_or_default(), players: wide(server.facts.players) }
    }

    /// Adds the counts of others.
    fn add_counts(&mut self, other: &Numbers) {
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(count, more)| *count += more);
        self.times.add(&other.times);
    }

    /// Adds players to those of other servers.
    fn add_players(&mut self, players: Option<(u64, u64)>) {
        let Some((players, most)) = players else { return };
        let (others, more) = self.players.unwrap_or_default();
        self.players = Some((others + players, more + most));
    }
}

fn wide(players: Option<(u32, u32)>) -> Option<(u64, u64)> {
    players.map(|(players, most)| (players.into(), most.into()))
}

/// A server with series of its own.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub endpoint: Endpoint,
    pub id: Id,
    pub numbers: Numbers,
    /// What it states about itself: names of labels, and texts.
    pub facts: Vec<(&'static str, String)>,
}

/// How often a rule was broken in conversations with a server of its own series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Place among all of these, in the order in which they were first found.
    pub order: usize,
    pub count: u64,
}

/// A server among those with series of their own, a rule, and a severity.
pub(super) type FoundKey = (usize, &'static str, Severity);
/// Name of a protocol, rule, and severity.
pub(super) type RestKey = (&'static str, &'static str, Severity);

/// The numbers that are exposed, at most [`MAX_SERIES`] series of them.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    pub(super) servers: Vec<Own>,
    /// All other servers, by protocol.
    pub(super) rest: BTreeMap<Id, Numbers>,
    pub(super) findings: BTreeMap<FoundKey, Found>,
    /// Findings in conversations with other servers.
    pub(super) rest_findings: BTreeMap<RestKey, u64>,
    pub(super) unclaimed: u64,
    /// Number of servers in `rest`, as far as they are known.
    pub(super) others: u64,
    /// Whether every input was read to its end, if there is an end.
    pub(super) complete: Option<bool>,
}

impl Exposition {
    pub(super) fn of(
        summary: &Summary,
        times: &[Steps],
        rest: BTreeMap<Id, Numbers>,
        unclaimed: u64,
    ) -> Exposition {
        let mut all = Exposition { rest, unclaimed, ..Exposition::default() };
        let mut left = HashMap::new();
        summary.broken.iter().for_each(|broken| merge(&mut left, broken));
        let mut own = vec![];
        for (at, server) in summary.servers.iter().enumerate() {
            let Some(server) = server else { continue };
            server.provisional().for_each(|broken| merge(&mut left, broken));
            if at >= MAX_SERVERS {
                all.others += 1;
                all.rest.entry(server.id).or_default().add_players(wide(server.facts.players));
                continue;
            }
            own.extend(server.broken.iter().chain(server.provisional()).map(|it| (it, all.servers.len())));
            all.servers.push(Own {
                endpoint: server.endpoint,
                id: server.id,
                numbers: Numbers::of(server, times.get(at)),
                facts: labels(&server.facts),
            });
        }
        own.sort_by_key(|(broken, _)| broken.first);
        for (broken, at) in own {
            left.entry(broken.rule.id).and_modify(|(_, counts)| counts.take_back(&broken.counts));
            all.add_findings(at, broken.rule.id, &broken.counts);
        }
        for (rule, counts) in left.values() {
            let protocol = protocol_of(rule);
            for (severity, count) in by_severity(counts) {
                *all.rest_findings.entry((protocol, rule.id, severity)).or_default() += count;
            }
        }
        all
    }

    /// The same, with whether every input was read to its end.
    #[must_use]
    pub fn completed(self, complete: bool) -> Exposition {
        Exposition { complete: Some(complete), ..self }
    }

    /// Adds what came later. Players and facts of its servers replace the former ones.
    pub fn add(&mut self, later: Exposition) {
        let mut places = vec![];
        for server in later.servers {
            let known =
                self.servers.iter().position(|own| (own.endpoint, own.id) == (server.endpoint, server.id));
            let place = known.or_else(|| (self.servers.len() < MAX_SERVERS).then_some(self.servers.len()));
            places.push(place.ok_or(server.id));
            match (known.and_then(|at| self.servers.get_mut(at)), place) {
                (Some(own), _) => {
                    own.numbers.add_counts(&server.numbers);
                    own.numbers.players = server.numbers.players;
                    own.facts = server.facts;
                }
                (None, Some(_)) => self.servers.push(server),
                (None, None) => self.rest.entry(server.id).or_default().add_counts(&server.numbers),
            }
        }
        for (id, numbers) in &later.rest {
            self.rest.entry(*id).or_default().add_counts(numbers);
        }
        let mut findings: Vec<_> = later.findings.into_iter().collect();
        findings.sort_by_key(|(_, found)| found.order);
        for ((at, rule, severity), Found { count, .. }) in findings {
            match places.get(at) {
                Some(Ok(place)) => self.add_finding((*place, rule, severity), count),
                Some(Err(id)) => {
                    *self.rest_findings.entry((id.info().name, rule, severity)).or_default() += count
                }
                None => {}
            }
        }
        for (key, count) in later.rest_findings {
            *self.rest_findings.entry(key).or_default() += count;
        }
        self.unclaimed += later.unclaimed;
    }

    fn add_findings(&mut self, server: usize, rule: &'static str, counts: &Counts) {
        for (severity, count) in by_severity(counts) {
            self.add_finding((server, rule, severity), count);
        }
    }

    fn add_finding(&mut self, key: FoundKey, count: u64) {
        let order = self.findings.len();
        self.findings.entry(key).or_insert(Found { order, count: 0 }).count += count;
    }

    /// The findings with series of their own, and all others.
    pub(super) fn shared_out(&self) -> (Vec<(FoundKey, u64)>, BTreeMap<RestKey, u64>) {
        let mut rest = self.rest_findings.clone();
        let as_rest =
            |(at, rule, severity): FoundKey| Some((self.servers.get(at)?.id.info().name, rule, severity));
        // Where they do not all fit, any of them may be among the rest.
        let taken = UNLABELLED + (self.servers.len() + self.rest.len()) * PER_SERVER;
        let mut room = MAX_SERIES.saturating_sub(taken + rest.len());
        if self.findings.len() > room {
            let mut possible = rest.clone();
            possible.extend(self.findings.keys().filter_map(|key| Some((as_rest(*key)?, 0))));
            room = MAX_SERIES.saturating_sub(taken + possible.len());
        }
        let (mut own, mut shown) = (self.findings.iter().collect::<Vec<_>>(), vec![]);
        own.sort_by_key(|(_, found)| found.order);
        for (key, found) in own {
            if shown.len() < room {
                shown.push((*key, found.count));
            } else if let Some(key) = as_rest(*key) {
                *rest.entry(key).or_default() += found.count;
            }
        }
        shown.sort_unstable();
        (shown, rest)
    }
}

/// Adds the counts of a rule to those in a map by its number.
fn merge(map: &mut HashMap<&'static str, (&'static Rule, Counts)>, broken: &Broken) {
    map.entry(broken.rule.id).or_insert((broken.rule, Counts::default())).1.merge(&broken.counts);
}

fn by_severity(counts: &Counts) -> impl Iterator<Item = (Severity, u64)> {
    let all =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| (severity, counts.of(severity)));
    all.into_iter().filter(|(_, count)| *count > 0)
}

/// The name of the protocol that a rule is about; `other` for those that all protocols share.
fn protocol_of(rule: &'static Rule) -> &'static str {
    let has = |id: &&Id| id.rules().any(|own| std::ptr::eq(own, rule));
    Id::ALL.iter().find(has).map_or(OTHER, |id| id.info().name)
}

/// What a server states about itself, as labels.
fn labels(facts: &ServerFacts) -> Vec<(&'static str, String)> {
    let text = |text: &Option<ServerText>| text.as_ref().map(|text| text.text().into_owned());
    let version = text(&facts.version).or_else(|| facts.build.map(|build| build.to_string()));
    let all = [
        ("name", text(&facts.server_name)),
        ("game", text(&facts.game)),
        ("map", text(&facts.map)),
        ("version", version),
        ("state", facts.state.map(str::to_owned)),
    ];
    all.into_iter().filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::metrics::Syntax;

    #[test]
    fn the_series_of_all_servers_and_all_rules_have_room() {
        let rules = Id::ALL.iter().flat_map(|id| id.rules()).count() + crate::rule::general::RULES.len();
        let most = UNLABELLED + (MAX_SERVERS + Id::ALL.len()) * PER_SERVER + rules * 3;
        assert!(most < MAX_SERIES, "{most}");
    }

    fn own(n: usize) -> Own {
        let endpoint = Endpoint::v4([10, 0, (n >> 8) as u8, n as u8], 7777);
        let numbers = Numbers { outcomes: [1, 0, 2, 0, 0], players: Some((3, 8)), ..Numbers::default() };
        Own { endpoint, id: Id::Sqp, numbers, facts: vec![("name", format!("server {n}"))] }
    }

    /// So many servers, each with findings of so many rules.
    fn exposition(servers: usize, rules: usize) -> Exposition {
        let mut all = Exposition { servers: (0..servers).map(own).collect(), ..Exposition::default() };
        for rule in Id::Sqp.rules().take(rules) {
            (0..servers).for_each(|at| all.add_finding((at, rule.id, Severity::Warning), 2));
        }
        all
    }

    fn findings(text: &str) -> Vec<(&str, u64)> {
        let lines = text.lines().filter(|line| line.starts_with("qdissect_findings_total{"));
        lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(series, count)| (series, count.parse().expect("a number")))
            .collect()
    }

    #[test]
    fn findings_without_room_are_added_up() {
        for (rules, together) in [(5, false), (60, true)] {
            let all = exposition(MAX_SERVERS, rules);
            let text = all.text(Syntax::Both);
            let samples = text.lines().filter(|line| !line.starts_with('#')).count();
            assert!(samples <= MAX_SERIES, "{samples}");
            let findings = findings(&text);
            let total: u64 = findings.iter().map(|(_, count)| count).sum();
            assert_eq!(total, (MAX_SERVERS * rules * 2) as u64);
            let others = findings.iter().filter(|(series, _)| series.contains("server=\"other\"")).count();
            assert_eq!(others > 0, together, "{others}");
            // Those that came first have series of their own.
            let first = Id::Sqp.rules().next().expect("it has rules").id;
            let of_first = findings.iter().filter(|(series, _)| series.contains(first)).count();
            assert_eq!(of_first, MAX_SERVERS);
        }
    }

    #[test]
    fn what_came_later_is_added_and_facts_are_replaced() {
        let mut all = exposition(2, 3);
        let mut later = exposition(3, 4);
        later.servers.remove(0);
        // The places of the others change with that.
        later.findings = later
            .findings
            .iter()
            .filter(|(key, _)| key.0 > 0)
            .map(|(key, it)| ((key.0 - 1, key.1, key.2), *it))
            .collect();
        later.servers[0].facts.clear();
        later.servers[0].numbers.players = None;
        all.add(later);
        let count = |at: usize| all.servers[at].numbers.outcomes;
        assert_eq!([count(0), count(1), count(2)], [[1, 0, 2, 0, 0], [2, 0, 4, 0, 0], [1, 0, 2, 0, 0]]);
        let players = all.servers.iter().map(|own| (own.numbers.players.is_some(), own.facts.len()));
        assert_eq!(players.collect::<Vec<_>>(), [(true, 1), (false, 0), (true, 1)]);
        let counts =
            |at: usize| all.findings.iter().filter(move |(key, _)| key.0 == at).map(|(_, it)| it.count);
        assert_eq!(counts(0).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(counts(1).sum::<u64>(), 4 + 4 + 4 + 2);
        assert_eq!(counts(2).collect::<Vec<_>>(), [2, 2, 2, 2]);
    }

    #[test]
    fn servers_that_come_later_than_the_limit_are_added_up() {
        let mut all = exposition(MAX_SERVERS, 0);
        let mut later = exposition(1, 1);
        later.servers = vec![own(MAX_SERVERS)];
        all.add(later);
        assert_eq!(all.servers.len(), MAX_SERVERS);
        assert_eq!(all.rest[&Id::Sqp].outcomes, [1, 0, 2, 0, 0]);
        assert_eq!(all.rest_findings.values().sum::<u64>(), 2);
    }
}
