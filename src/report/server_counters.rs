//! The counters of servers that nearly every exchange changes. They are separate from the rarely changed ones and take
//! one cache line per server.

use super::server::{Server, UNIT};
use super::times::Times;
use crate::bounded::hashing::folded_product;
use crate::bounded::packed::Bits;
use crate::decode::{Facts, Str, Value, Version};
use crate::exchange::{Exchange, Outcome};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Maximum number of servers whose response times are kept. Each takes up to about 10 KiB.
pub const MAX_TIMED: usize = 1_024;
/// Number of response times of a server that are counted together. With hundreds of servers each access misses the
/// cache, but the misses of a batch overlap.
const BATCH: usize = 7;

/// Counters of all servers, by the pipeline's server index. They are [moved](HotCounters::flush) to a server before it
/// is shown.
#[derive(Debug)]
pub(super) struct HotCounters {
    slots: Vec<Counters>,
    /// Servers that have counters.
    is_used: Bits,
    pending_times: Vec<PendingTimes>,
    /// Seed of all hashes, so that nobody can construct texts with equal hashes.
    seed: u64,
}

impl Default for HotCounters {
    fn default() -> Self {
        let seed = DefaultHashBuilder::default().hash_one(());
        HotCounters { slots: vec![], is_used: Bits::default(), pending_times: vec![], seed }
    }
}

/// The counters of one server.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Counters {
    /// Shortest and longest response time.
    extremes: (i64, i64),
    /// Sum of the response times.
    time_sum: i64,
    /// Number of response times.
    time_count: u32,
    requests: u32,
    answered: u32,
    /// Latest current and maximum number of players.
    players: Option<(u32, u32)>,
    /// Hash of the other latest facts about the server; 0 if there are none.
    facts_hash: u64,
    /// Index into [`HotCounters::pending_times`] plus one; 0 if the server has no entry there.
    pending_index: u16,
}

const _: () = assert!(size_of::<Counters>() == 64);

impl Default for Counters {
    fn default() -> Self {
        let (time_count, requests, answered, time_sum, players, facts_hash, pending_index) =
            (0, 0, 0, 0, None, 0, 0);
        Counters {
            extremes: (i64::MAX, i64::MIN),
            time_sum,
            time_count,
            requests,
            answered,
            players,
            facts_hash,
            pending_index,
        }
    }
}

/// Response times of a server that have not been counted yet, in units. A minute has fewer than 2^32 units.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct PendingTimes {
    units: [u32; BATCH],
    len: u32,
}

impl HotCounters {
    /// Whether a server has counters.
    #[inline(always)]
    pub fn has(&self, index: u32) -> bool {
        self.is_used.has(index as usize)
    }

    /// Adds counters for a server.
    pub fn begin(&mut self, at: usize) {
        if at >= self.slots.len() {
            self.slots.resize_with(at + 1, Counters::default);
            self.is_used.grow(at + 1);
        }
        self.is_used.set(at);
    }

    /// Updates the facts that a server states. Returns whether any of them but the players has changed.
    #[inline(always)]
    pub fn update_facts(&mut self, index: u32, facts: &Facts<'_>) -> bool {
        let Some(counters) = self.slots.get_mut(index as usize) else { return false };
        if let Some(players) = facts.player_counts() {
            counters.players = Some(players);
        }
        let hash = hash(self.seed, facts);
        std::mem::replace(&mut counters.facts_hash, hash) != hash
    }

    /// Counts an exchange. Returns `false` if its server has no counters. The server itself is accessed only to move a
    /// full batch of response times.
    #[inline(always)]
    pub fn count(&mut self, e: &Exchange, servers: &mut [Option<Server>]) -> bool {
        let at = e.server_index as usize;
        let Some(counters) = self.slots.get_mut(at).filter(|_| self.is_used.has(at)) else { return false };
        let time_sum = counters.time_sum.checked_add(e.response_time.unwrap_or(0));
        let Some(time_sum) = time_sum.filter(|_| counters.requests < u32::MAX) else {
            self.flush(at, servers);
            return self.count(e, servers);
        };
        counters.time_sum = time_sum;
        counters.requests += 1;
        counters.answered += u32::from(e.outcome == Outcome::Answered);
        let Some(time) = e.response_time else { return true };
        counters.time_count += 1;
        counters.extremes = (counters.extremes.0.min(time), counters.extremes.1.max(time));
        if counters.pending_index == 0 && self.pending_times.len() < MAX_TIMED {
            self.pending_times.push(PendingTimes::default());
            counters.pending_index = self.pending_times.len() as u16;
        }
        let Some(pending_times) =
            self.pending_times.get_mut(usize::from(counters.pending_index).wrapping_sub(1))
        else {
            return true;
        };
        pending_times.units[pending_times.len as usize] = Times::<UNIT>::units(time) as u32;
        pending_times.len += 1;
        if pending_times.len as usize == BATCH {
            pending_times.len = 0;
            if let Some(Some(server)) = servers.get_mut(at) {
                server.times.count_units(&pending_times.units);
            }
        }
        true
    }

    /// Moves the counters of a server to the server.
    #[cold]
    #[inline(never)]
    pub fn flush(&mut self, at: usize, servers: &mut [Option<Server>]) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let Counters { facts_hash, pending_index, .. } = *slot;
        let counters = std::mem::replace(slot, Counters { facts_hash, pending_index, ..Counters::default() });
        let Some(Some(server)) = servers.get_mut(at) else { return };
        server.requests += u64::from(counters.requests);
        server.answered += u64::from(counters.answered);
        server.times.add_summed(counters.time_count.into(), counters.time_sum, counters.extremes);
        server.facts.players = counters.players.or(server.facts.players);
        if let Some(pending_times) = self.pending_times.get_mut(usize::from(pending_index).wrapping_sub(1)) {
            server.times.count_units(pending_times.units.iter().take(pending_times.len as usize));
            pending_times.len = 0;
        }
    }
}

/// A hash of the facts that a server states, except the players; never 0.
#[inline(always)]
fn hash(seed: u64, facts: &Facts<'_>) -> u64 {
    let (text, number) = match facts.version {
        Some(Version::Text(version)) => (Some(version), 0),
        Some(Version::Number(n)) => (None, n),
        None => (None, u64::MAX),
    };
    // A loop over an array would copy all texts.
    let hash = hash_text(hash_text(seed, &facts.server_name), &facts.game);
    let hash = hash_text(hash_text(hash, &facts.map), &text);
    mix(mix(hash, number), facts.state.map_or(0, |state| state.as_ptr() as u64)) | 1
}

#[inline(always)]
fn hash_text(hash: u64, text: &Option<Value<'_>>) -> u64 {
    match *text {
        Some(Value::Text(bytes)) => hash_bytes(hash, bytes),
        None => hash.rotate_left(1),
        Some(other) => hash_other(hash, other),
    }
}

/// [`hash_text`] for a text in another encoding than UTF-8.
#[cold]
#[inline(never)]
fn hash_other(hash: u64, text: Value<'_>) -> u64 {
    let (kind, bytes) = match text {
        Value::Utf16(bytes) => (2, bytes),
        Value::Latin1(bytes) => (3, bytes),
        Value::Coloured(bytes, _) => (6, bytes),
        Value::Escaped(bytes, ..) => (7, bytes),
        Value::Numbered(bytes, number) => (number as u32, bytes),
        Value::Dotted(ref bytes) => (4, &bytes[..]),
        _ => (5, &[][..]),
    };
    hash_bytes(hash.rotate_left(kind), bytes)
}

#[inline(always)]
fn hash_bytes(hash: u64, bytes: &[u8]) -> u64 {
    let (words, end) = Str(bytes).words();
    let hash = mix(hash ^ bytes.len() as u64, end);
    words.iter().fold(hash, |hash, word| mix(hash, u64::from_ne_bytes(*word)))
}

/// Mixes a word into a hash.
#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    folded_product(hash ^ word, 0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    const END: Endpoint = Endpoint::v4([192, 0, 2, 1], 7777);

    /// The counters of one server, and the server.
    fn one() -> (HotCounters, Vec<Option<Server>>) {
        let mut counters = HotCounters::default();
        counters.begin(0);
        (counters, vec![Some(Server::new(END, Id::Sqp))])
    }

    #[test]
    fn moves_full_counters_to_the_server_before_counting() {
        let (mut counters, mut servers) = one();
        let mut e = Exchange::unanswered(1, Id::Sqp, [END; 2]);
        (e.server_index, e.outcome) = (0, Outcome::Answered);
        for time in [i64::MAX, i64::MAX, 1] {
            e.response_time = Some(time);
            assert!(counters.count(&e, &mut servers));
        }
        counters.slots[0].requests = u32::MAX;
        assert!(counters.count(&e, &mut servers));
        e.server_index = 1;
        assert!(!counters.count(&e, &mut servers), "it has no place");
        counters.flush(0, &mut servers);
        let server = servers[0].as_ref().expect("it is there");
        assert_eq!((server.requests, server.answered), (2 + u64::from(u32::MAX) + 1, 4));
        assert_eq!((server.times.count(), server.times.extremes()), (4, Some((1, i64::MAX))));
        assert_eq!(server.times.mean(), Some(i64::MAX / 2 + 1));
        assert_eq!(server.times.quantile(0.5), Some(1), "those that waited are in their buckets");
    }

    #[test]
    fn detects_changed_facts_and_keeps_players() {
        let (mut counters, mut servers) = one();
        let mut facts = Facts { players: Some(1), max_players: Some(8), ..Facts::default() };
        let mut is_changed = |facts: &Facts<'_>| counters.update_facts(0, facts);
        for name in ["", "a", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "a name of 24 letters ...."]
        {
            for value in [Value::Text, Value::Latin1, Value::Utf16] {
                facts.server_name = Some(value(name.as_bytes()));
                facts.players = Some(name.len() as u32);
                assert!(is_changed(&facts) && !is_changed(&Facts { players: Some(2), ..facts }), "{value:?}");
            }
        }
        let game = Facts { game: facts.server_name, server_name: None, ..facts };
        assert!(
            is_changed(&game) && is_changed(&Facts { state: Some("idle"), ..game }) && is_changed(&facts)
        );
        assert!(!is_changed(&Facts { players: None, ..facts }), "the last number is kept");
        counters.flush(0, &mut servers);
        assert_eq!(servers[0].as_ref().and_then(|server| server.facts.players), Some((25, 8)));
    }
}
