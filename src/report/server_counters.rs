//! The counters of a server that nearly every exchange changes, apart from those that few exchanges change: they take one
//! cache line for each server.

use super::server::{Server, UNIT};
use super::times::Times;
use crate::decode::{Facts, Str, Value, Version};
use crate::exchange::{Exchange, Outcome};
use crate::fold::folded;
use crate::packed::Bits;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Most servers whose response times are kept; the memory for them grows to some 10 KiB each.
pub const MAX_TIMED: usize = 1_024;
/// Response times of a server that wait to be counted together: with hundreds of servers each access goes to slow memory,
/// and those of a batch need not wait for each other.
const WAITING: usize = 7;

/// Counters of all servers, by the pipeline's server index; the counters of a server are [moved](Hot::settle) to it before
/// it is shown.
#[derive(Debug)]
pub(super) struct Hot {
    lines: Vec<Line>,
    /// Servers that have a place.
    begun: Bits,
    waiting: Vec<Waiting>,
    /// Begins all hashes, so that nobody can send texts of the same hash.
    seed: u64,
}

impl Default for Hot {
    fn default() -> Self {
        let seed = DefaultHashBuilder::default().hash_one(());
        Hot { lines: vec![], begun: Bits::default(), waiting: vec![], seed }
    }
}

/// The counters of one server.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line {
    /// Response times: the shortest and the longest, their sum, and their number.
    ends: (i64, i64),
    sum: i64,
    count: u32,
    requests: u32,
    answered: u32,
    /// Players now and at most, as the server said last.
    players: Option<(u32, u32)>,
    /// A hash of what else it said last; 0 where it has said nothing.
    said: u64,
    /// Index of its response times in [`Hot::waiting`], plus one; 0 where it has none.
    timed: u16,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Default for Line {
    fn default() -> Self {
        let (count, requests, answered, sum, players, said, timed) = (0, 0, 0, 0, None, 0, 0);
        Line { ends: (i64::MAX, i64::MIN), sum, count, requests, answered, players, said, timed }
    }
}

/// Response times of one server that wait, in units, of which a minute has fewer than 2^32.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Waiting {
    units: [u32; WAITING],
    len: u32,
}

impl Hot {
    /// Whether a server has a place.
    #[inline(always)]
    pub fn has(&self, index: u32) -> bool {
        self.begun.has(index as usize)
    }

    /// Gives a server a place.
    pub fn begin(&mut self, at: usize) {
        if at >= self.lines.len() {
            self.lines.resize_with(at + 1, Line::default);
            self.begun.grow(at + 1);
        }
        self.begun.set(at);
    }

    /// Takes note of what a server says. Returns whether that differs from last time in anything but the players.
    #[inline(always)]
    pub fn hear(&mut self, index: u32, facts: &Facts<'_>) -> bool {
        let Some(line) = self.lines.get_mut(index as usize) else { return false };
        if let Some(places) = facts.places() {
            line.players = Some(places);
        }
        let hash = hash(self.seed, facts);
        std::mem::replace(&mut line.said, hash) != hash
    }

    /// Counts an exchange with a server; `false` where the server has no place. The server itself is looked at only where
    /// its response times are to be moved.
    #[inline(always)]
    pub fn count(&mut self, e: &Exchange, servers: &mut [Option<Server>]) -> bool {
        let at = e.server_index as usize;
        let Some(line) = self.lines.get_mut(at).filter(|_| self.begun.has(at)) else { return false };
        let sum = line.sum.checked_add(e.response_time.unwrap_or(0));
        let Some(sum) = sum.filter(|_| line.requests < u32::MAX) else {
            self.settle(at, servers);
            return self.count(e, servers);
        };
        line.sum = sum;
        line.requests += 1;
        line.answered += u32::from(e.outcome == Outcome::Answered);
        let Some(time) = e.response_time else { return true };
        line.count += 1;
        line.ends = (line.ends.0.min(time), line.ends.1.max(time));
        if line.timed == 0 && self.waiting.len() < MAX_TIMED {
            self.waiting.push(Waiting::default());
            line.timed = self.waiting.len() as u16;
        }
        let Some(waiting) = self.waiting.get_mut(usize::from(line.timed).wrapping_sub(1)) else {
            return true;
        };
        waiting.units[waiting.len as usize] = Times::<UNIT>::units(time) as u32;
        waiting.len += 1;
        if waiting.len as usize == WAITING {
            waiting.len = 0;
            if let Some(Some(server)) = servers.get_mut(at) {
                server.times.keep(waiting.units.map(u64::from));
            }
        }
        true
    }

    /// Moves the counters of a server to the server.
    #[cold]
    #[inline(never)]
    pub fn settle(&mut self, at: usize, servers: &mut [Option<Server>]) {
        let Some(line) = self.lines.get_mut(at) else { return };
        let Line { said, timed, .. } = *line;
        let counted = std::mem::replace(line, Line { said, timed, ..Line::default() });
        let Some(Some(server)) = servers.get_mut(at) else { return };
        server.requests += u64::from(counted.requests);
        server.answered += u64::from(counted.answered);
        server.times.take_in(counted.count.into(), counted.sum, counted.ends);
        server.facts.players = counted.players.or(server.facts.players);
        if let Some(waiting) = self.waiting.get_mut(usize::from(timed).wrapping_sub(1)) {
            server.times.keep(waiting.units.map(u64::from).into_iter().take(waiting.len as usize));
            waiting.len = 0;
        }
    }
}

/// A hash of what a server says, but for the players; never 0.
#[inline(always)]
fn hash(seed: u64, facts: &Facts<'_>) -> u64 {
    let (text, number) = match facts.version {
        Some(Version::Text(version)) => (Some(version), 0),
        Some(Version::Number(n)) => (None, n),
        None => (None, u64::MAX),
    };
    // No loop over an array, for which all would have to be copied.
    let all = hash_text(hash_text(seed, &facts.server_name), &facts.game);
    let all = hash_text(hash_text(all, &facts.map), &text);
    mix(mix(all, number), facts.state.map_or(0, |state| state.as_ptr() as u64)) | 1
}

#[inline(always)]
fn hash_text(before: u64, text: &Option<Value<'_>>) -> u64 {
    match *text {
        Some(Value::Text(bytes)) => hash_bytes(before, bytes),
        None => before.rotate_left(1),
        Some(other) => hash_other(before, other),
    }
}

/// [`hash_text`] for a text that claims not to be UTF-8.
#[cold]
#[inline(never)]
fn hash_other(before: u64, text: Value<'_>) -> u64 {
    let (kind, bytes) = match text {
        Value::Utf16(bytes) => (2, bytes),
        Value::Latin1(bytes) => (3, bytes),
        Value::Coloured(bytes, _) => (6, bytes),
        Value::Dotted(ref bytes) => (4, &bytes[..]),
        _ => (5, &[][..]),
    };
    hash_bytes(before.rotate_left(kind), bytes)
}

#[inline(always)]
fn hash_bytes(before: u64, bytes: &[u8]) -> u64 {
    let (words, end) = Str(bytes).words();
    let all = mix(before ^ bytes.len() as u64, end);
    words.iter().fold(all, |hash, word| mix(hash, u64::from_ne_bytes(*word)))
}

/// Mixes a word into a hash.
#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    folded(hash ^ word, 0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    const END: Endpoint = Endpoint::v4([192, 0, 2, 1], 7777);

    /// The counters of one server, and the server.
    fn one() -> (Hot, Vec<Option<Server>>) {
        let mut hot = Hot::default();
        hot.begin(0);
        (hot, vec![Some(Server::new(END, Id::Sqp))])
    }

    #[test]
    fn counters_that_are_full_are_moved_to_the_server_first() {
        let (mut hot, mut servers) = one();
        let mut e = Exchange::unanswered(1, Id::Sqp, [END; 2]);
        (e.server_index, e.outcome) = (0, Outcome::Answered);
        for time in [i64::MAX, i64::MAX, 1] {
            e.response_time = Some(time);
            assert!(hot.count(&e, &mut servers));
        }
        hot.lines[0].requests = u32::MAX;
        assert!(hot.count(&e, &mut servers));
        e.server_index = 1;
        assert!(!hot.count(&e, &mut servers), "it has no place");
        hot.settle(0, &mut servers);
        let server = servers[0].as_ref().expect("it is there");
        assert_eq!((server.requests, server.answered), (2 + u64::from(u32::MAX) + 1, 4));
        assert_eq!((server.times.count(), server.times.extremes()), (4, Some((1, i64::MAX))));
        assert_eq!(server.times.mean(), Some(i64::MAX / 2 + 1));
        assert_eq!(server.times.quantile(0.5), Some(1), "those that waited are in their buckets");
    }

    #[test]
    fn only_other_texts_are_news_and_players_are_kept() {
        let (mut hot, mut servers) = one();
        let mut facts = Facts { players: Some(1), max_players: Some(8), ..Facts::default() };
        let mut news = |facts: &Facts<'_>| hot.hear(0, facts);
        for name in ["", "a", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "a name of 24 letters ...."]
        {
            for value in [Value::Text, Value::Latin1, Value::Utf16] {
                facts.server_name = Some(value(name.as_bytes()));
                facts.players = Some(name.len() as u32);
                assert!(news(&facts) && !news(&Facts { players: Some(2), ..facts }), "{value:?}");
            }
        }
        let game = Facts { game: facts.server_name, server_name: None, ..facts };
        assert!(news(&game) && news(&Facts { state: Some("idle"), ..game }) && news(&facts));
        assert!(!news(&Facts { players: None, ..facts }), "the last number is kept");
        hot.settle(0, &mut servers);
        assert_eq!(servers[0].as_ref().and_then(|server| server.facts.players), Some((25, 8)));
    }
}
