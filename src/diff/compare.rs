//! Compares the servers of two captures.

use super::answers::{Compared, Latest, Seen};
use super::fields::{Entry, Ignored, entries};
use super::pairs::{Key, keys, pairs};
use crate::case::{Broken, Port};
use crate::decode::Field;
use crate::protocols::Id;
use crate::rule::{Rule, Severity, Side};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A median differs if it is at least so many times as long as the other one, and at least [`MIN_LONGER`] longer.
pub const MOST_TIMES_AS_LONG: i64 = 2;
/// See [`MOST_TIMES_AS_LONG`]; in nanoseconds.
pub const MIN_LONGER: i64 = 10_000_000;
/// Most differences kept; further ones are counted.
pub const MAX_DIFFERENCES: usize = 10_000;

/// Something that differs.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A server that only one of the captures has.
    Server,
    /// A message that a server has answered with in one of them only, although it was asked in both: numbers of answers.
    Message(u8, [u64; 2]),
    /// A value of a message: its field, its path, and the values.
    Field(u8, &'static Field, String, [Option<serde_json::Value>; 2]),
    /// A rule: how often it was broken.
    Rule(&'static Rule, Severity, [u64; 2]),
    /// The median of the response times of a step in nanoseconds.
    Time(u8, [i64; 2]),
}

/// A difference, and the server in A and in B that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Protocol.
    pub id: Id,
    /// The endpoints.
    pub servers: [Option<Key>; 2],
    /// What differs.
    pub what: What,
}

/// A server of both captures: what was not compared, and counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Half {
    /// Its name.
    pub name: Option<String>,
    /// Requests to it.
    pub requests: u64,
    /// Those that were answered in time or late.
    pub answered: u64,
    /// Datagrams.
    pub packets: u64,
    /// Messages that the other capture has and this one did not ask for, and groups and lists of others, with a point before them.
    pub not_asked: Vec<String>,
    /// Messages of which the capture has no whole answer.
    pub cut: Vec<u8>,
}

/// A server of both captures.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The server in A and in B.
    pub servers: [Key; 2],
    /// What is known of it in each.
    pub sides: [Half; 2],
}

/// Why nothing can be compared: no server in A, in B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmatched(pub [bool; 2]);

/// What differs between two captures.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The servers of both.
    pub pairs: Vec<Pair>,
    /// What differs.
    pub differences: Vec<Difference>,
    /// Number of further differences.
    pub more: u64,
    /// Number of answers that were not compared for want of room.
    pub left_out: u64,
}

impl Comparison {
    /// Compares what was seen in A and in B.
    ///
    /// # Errors
    /// If one of them has no server.
    pub fn of(a: &Seen, b: &Seen, ignored: &Ignored) -> Result<Comparison, Unmatched> {
        let empty = [a, b].map(|seen| keys(seen).is_empty());
        if empty != [false; 2] {
            return Err(Unmatched(empty));
        }
        let pairs = pairs(a, b);
        let left_out = a.left_out.saturating_add(b.left_out);
        let mut comparison = Comparison { left_out, ..Comparison::default() };
        for (of_a, of_b) in pairs.both {
            comparison.pair([a, b], [of_a, of_b], ignored);
        }
        let [only_a, only_b] = pairs.only;
        for key in only_a {
            comparison.add(key.1, [Some(key), None], What::Server);
        }
        for key in only_b {
            comparison.add(key.1, [None, Some(key)], What::Server);
        }
        Ok(comparison)
    }

    /// Whether the captures differ.
    pub fn differs(&self) -> bool {
        !self.differences.is_empty()
    }

    /// Number of all differences.
    pub fn count(&self) -> u64 {
        self.more.saturating_add(self.differences.len() as u64)
    }

    fn add(&mut self, id: Id, servers: [Option<Key>; 2], what: What) {
        if self.differences.len() >= MAX_DIFFERENCES {
            self.more = self.more.saturating_add(1);
        } else {
            self.differences.push(Difference { id, servers, what });
        }
    }

    /// Compares a server of both captures.
    fn pair(&mut self, seen: [&Seen; 2], servers: [Key; 2], ignored: &Ignored) {
        let [Some(a), Some(b)] = [0, 1].map(|at| side_of(seen, servers, at)) else { return };
        let (id, both) = (servers[0].1, servers.map(Some));
        let mut sides = [&a, &b].map(|(compared, port)| Half {
            name: port.name.as_ref().map(|name| name.text().into_owned()),
            requests: port.counts.requests,
            answered: port.counts.with_answer(),
            packets: compared.packets,
            ..Half::default()
        });
        let messages: BTreeSet<u8> = a.0.messages.keys().chain(b.0.messages.keys()).copied().collect();
        for message in messages {
            let latest = [a.0, b.0].map(|compared| compared.messages.get(&message));
            for (side, latest) in sides.iter_mut().zip(latest) {
                side.cut.extend(latest.filter(|latest| latest.last.is_cut).map(|_| message));
            }
            match latest {
                [Some(in_a), Some(in_b)] => {
                    let (differing, not_asked) = fields([in_a, in_b], id, ignored);
                    let what = |(field, path, values)| What::Field(message, field, path, values);
                    differing.into_iter().for_each(|field| self.add(id, both, what(field)));
                    let name = id.info().message_name(message);
                    for (side, parts) in sides.iter_mut().zip(not_asked) {
                        side.not_asked.extend(parts.into_iter().map(|part| format!("{name}.{part}")));
                    }
                }
                _ => {
                    let counts = latest.map(|latest| latest.map_or(0, |latest| latest.count));
                    let asked = [a.0, b.0].map(|compared| was_asked(compared, id, message));
                    if asked == [true; 2] {
                        self.add(id, both, What::Message(message, counts));
                    } else if let Some(side) = sides.iter_mut().zip(counts).find(|(_, n)| *n == 0) {
                        side.0.not_asked.push(id.info().message_name(message).to_owned());
                    }
                }
            }
        }
        rules([a, b]).into_iter().for_each(|what| self.add(id, both, what));
        times([a.0, b.0]).for_each(|what| self.add(id, both, what));
        self.pairs.push(Pair { servers, sides });
    }
}

type OfServer<'a> = (&'a Compared, &'a Port);

fn side_of<'a>(seen: [&'a Seen; 2], servers: [Key; 2], at: usize) -> Option<OfServer<'a>> {
    let (seen, key) = (seen.get(at)?, servers.get(at)?);
    let port = seen.case.ports().find(|port| (port.endpoint, port.id) == *key)?;
    Some((seen.servers.get(key)?, port))
}

/// Whether the server was asked for a message.
fn was_asked(compared: &Compared, id: Id, message: u8) -> bool {
    let info = id.info();
    let step = info.messages.get(usize::from(message)).map_or(0, |message| message.step);
    compared.requests.get(&info.first_step_of_name(step)).is_some_and(|requests| *requests > 0)
}

/// A field, a path, and the values in A and in B.
type OfField = (&'static Field, String, [Option<serde_json::Value>; 2]);

/// The values of a message that differ, in the order of A, and then those that only B has; and the groups and lists of one that the
/// other did not ask for.
fn fields(latest: [&Latest; 2], id: Id, ignored: &Ignored) -> (Vec<OfField>, [Vec<String>; 2]) {
    let entries = latest.map(|latest| entries(latest, id, ignored));
    let [a, b] = &entries;
    // A cut answer ends where the capture cut it: what it lacks says nothing.
    let is_cut = latest.map(|latest| latest.last.is_cut);
    // Where each was asked for something else, what only one has says nothing.
    let is_asked = latest[0].last.asked == latest[1].last.asked;
    let [has_a, has_b] = entries.each_ref().map(|entries| tops(entries));
    let in_b: HashMap<&str, &Entry> = b.iter().map(|entry| (entry.path.as_str(), entry)).collect();
    let in_a: BTreeSet<&str> = a.iter().map(|entry| entry.path.as_str()).collect();
    let mut all = vec![];
    for entry in a {
        let values = match in_b.get(entry.path.as_str()) {
            Some(other) if entry.is_same(other) => continue,
            None if is_cut[1] || !is_asked && !has_b.contains_key(top(&entry.path)) => continue,
            other => [Some(entry.value.clone()), other.map(|other| other.value.clone())],
        };
        all.push((entry.field, entry.path.clone(), values));
    }
    let is_compared = |entry: &&Entry| !is_cut[0] && (is_asked || has_a.contains_key(top(&entry.path)));
    for entry in b.iter().filter(is_compared).filter(|entry| !in_a.contains(entry.path.as_str())) {
        all.push((entry.field, entry.path.clone(), [None, Some(entry.value.clone())]));
    }
    let lacks = |has: &BTreeMap<&str, bool>, other: &BTreeMap<&str, bool>| {
        let parts = other.iter().filter(|(name, is_part)| !is_asked && **is_part && !has.contains_key(*name));
        parts.map(|(name, _)| (*name).to_owned()).collect()
    };
    (all, [lacks(&has_a, &has_b), lacks(&has_b, &has_a)])
}

/// The first name of a path.
fn top(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// The first names of all paths, and whether they are groups or lists.
fn tops(entries: &[Entry]) -> BTreeMap<&str, bool> {
    entries.iter().map(|entry| (top(&entry.path), top(&entry.path) != entry.path)).collect()
}

/// The rules that are broken in one capture only, or in another share of the datagrams. What clients do wrong is no difference of
/// the server, nor what the capture lacks.
fn rules(sides: [OfServer<'_>; 2]) -> Vec<What> {
    let mut broken: BTreeMap<&'static str, (&'static Rule, Severity, [u64; 2])> = BTreeMap::new();
    for (at, (_, port)) in sides.iter().enumerate() {
        let of_server = |found: &&Broken| ![Side::Client, Side::Capture].contains(&found.finding.fault);
        for found in port.findings.iter().filter(of_server) {
            let (rule, severity) = (found.finding.rule, found.finding.severity);
            let (_, worst, counts) = broken.entry(rule.id).or_insert((rule, severity, [0; 2]));
            *worst = severity.max(*worst);
            if let Some(count) = counts.get_mut(at) {
                *count = count.saturating_add(found.count);
            }
        }
    }
    let packets = sides.map(|(compared, _)| u128::from(compared.packets));
    let is_same = |[a, b]: [u64; 2]| {
        let share = |n: u64, of: u128| u128::from(n).saturating_mul(of);
        a == b || a > 0 && b > 0 && share(a, packets[1]) == share(b, packets[0])
    };
    let differing = broken.into_values().filter(|(_, _, counts)| !is_same(*counts));
    differing.map(|(rule, severity, counts)| What::Rule(rule, severity, counts)).collect()
}

/// The medians of response times that differ by more than chance.
fn times(sides: [&Compared; 2]) -> impl Iterator<Item = What> {
    let steps: BTreeSet<u8> = sides.iter().flat_map(|side| side.times.keys().copied()).collect();
    steps.into_iter().filter_map(move |step| {
        let [a, b] = sides.map(|side| side.times.get(&step).and_then(|times| times.quantile(0.5)));
        let medians = [a?, b?];
        is_slower(medians).then_some(What::Time(step, medians))
    })
}

/// Whether one of two times is much longer than the other one.
fn is_slower([a, b]: [i64; 2]) -> bool {
    let (short, long) = (a.min(b).max(0), a.max(b));
    long >= short.saturating_mul(MOST_TIMES_AS_LONG) && long.saturating_sub(short) >= MIN_LONGER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    #[test]
    fn further_differences_are_counted() {
        let mut comparison = Comparison::default();
        let server = Some((Endpoint::v4([192, 0, 2, 1], 7777), Id::Sqp));
        for _ in 0..=MAX_DIFFERENCES {
            comparison.add(Id::Sqp, [server, None], What::Server);
        }
        assert_eq!((comparison.differences.len(), comparison.more), (MAX_DIFFERENCES, 1));
        assert!(comparison.differs() && comparison.count() == MAX_DIFFERENCES as u64 + 1);
    }

    #[test]
    fn a_time_differs_if_it_is_twice_as_long_and_ten_milliseconds_longer() {
        let ms = |n: i64| n * 1_000_000;
        assert!(is_slower([ms(10), ms(20)]) && is_slower([ms(20), ms(10)]) && is_slower([0, ms(10)]));
        assert!(!is_slower([ms(1), ms(9)]) && !is_slower([ms(100), ms(199)]) && !is_slower([ms(5), ms(14)]));
        assert!(is_slower([-5, ms(10)]) && !is_slower([-5, 5]));
    }
}
