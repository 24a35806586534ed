//! Answers to addresses that have proven nothing: whoever forges such an address floods it through the server.
//!
//! ```text
//! answer ──> counts, by hash of both addresses ── few in this second ──> only the ring of recent answers
//!                                              └─ many ───────────────> a victim, begun with what the ring has of it
//! ```
//!
//! Healthy traffic has many addresses with few answers each. So it only touches the counts and the ring, which are small
//! and stay in the cache.

use crate::bounded::hashing::folded_product;
use crate::bounded::rate::Rate;
use crate::bounded::{Bounded, Budget, Forgets as _};
use crate::capture::{SECOND, Time};
use crate::contract::{Answer, Flood};
use crate::net::{Datagram, Endpoint};
use arrayvec::ArrayVec;
use hashbrown::HashSet;

/// Most unproven answers to one address within a second.
const MOST_ANSWERS: usize = 20;
/// Number of counts; addresses with the same hash share one, which then only begins a victim earlier.
const COUNTS: usize = 4_096;
/// The count in about a second from which on an address is a possible victim. A second spans two counts at most, so one
/// of them exceeds half of [`MOST_ANSWERS`].
const MIN_COUNT: u16 = 8;
/// Number of recent answers kept, of all addresses.
const RECENT: usize = 1_024;
/// Most possible victims with 64 MiB; the oldest is dropped first.
const MAX_VICTIMS: usize = 4_096;
/// Most ports counted of a victim; then it has "more".
const MAX_PORTS: usize = 1_024;
/// Number of addresses remembered that have returned a challenge; one with the same hash as another replaces it.
const MAX_PROVEN: usize = 4_096;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Floods {
    counts: Box<[Count]>,
    recent: Box<[Recent]>,
    next: usize,
    /// By address of server and client.
    victims: Bounded<(Endpoint, Endpoint), Victim, MAX_VICTIMS>,
    /// Halves of the hashes of addresses that have returned a challenge; the lowest bit is set where another one was
    /// replaced.
    proven: Box<[u32]>,
    /// Number of victims that may have returned a challenge, which was forgotten.
    doubtful: u64,
}

/// Answers in the last part of the time.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    part: u32,
    answers: u16,
    /// One of the addresses is a possible victim.
    watched: bool,
}

/// An answer.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// The hash of both addresses.
    pair: u64,
    time: i64,
    port: u16,
    /// Payload of request and answer in bytes.
    bytes: [u32; 2],
}

/// A possible victim.
#[derive(Clone, Debug)]
struct Victim {
    /// The times of the latest answers.
    times: ArrayVec<i64, MOST_ANSWERS>,
    answers: u64,
    /// Its first port, and further ones: most addresses that only seem to be victims have one, which takes no memory.
    port: Option<u16>,
    ports: HashSet<u16>,
    more_ports: bool,
    wire: [u64; 2],
    rate: Rate,
    /// The frame of its finding.
    reported: Option<u64>,
}

impl Victim {
    fn new() -> Victim {
        Victim {
            times: ArrayVec::new(),
            answers: 0,
            port: None,
            ports: HashSet::new(),
            more_ports: false,
            wire: [0; 2],
            rate: Rate::default(),
            reported: None,
        }
    }

    /// Adds an answer, whose headers have that length. Returns whether there were too many within a second.
    fn add(&mut self, answer: &Recent, headers: u64) -> bool {
        self.answers += 1;
        let is_first = *self.port.get_or_insert(answer.port) == answer.port;
        let is_new = !is_first && !self.ports.contains(&answer.port);
        self.more_ports |= is_new && self.number_of_ports() >= MAX_PORTS;
        if is_new && !self.more_ports {
            self.ports.insert(answer.port);
        }
        for (sum, bytes) in self.wire.iter_mut().zip(answer.bytes) {
            *sum = sum.saturating_add(u64::from(bytes) + headers);
        }
        self.rate.add(answer.time);
        self.times.retain(|time| (0..=SECOND).contains(&answer.time.saturating_sub(*time)));
        let is_full = self.times.is_full();
        if is_full {
            self.times.remove(0);
        }
        self.times.push(answer.time);
        is_full
    }

    fn number_of_ports(&self) -> usize {
        self.ports.len() + usize::from(self.port.is_some())
    }

    fn flood(&self, client: Endpoint) -> Flood {
        let peak = self.rate.peak().max(self.times.len() as u32);
        let ports = (self.number_of_ports() as u16, self.more_ports);
        Flood { client, answers: self.answers, peak, ports, wire: self.wire }
    }

    /// Whether it may still become one, or is reported.
    fn counts(&self, now: i64) -> bool {
        let is_recent = |time: &i64| now.saturating_sub(*time) <= SECOND;
        self.reported.is_some()
            || self.times.len() > MOST_ANSWERS / 2 && self.times.last().is_some_and(is_recent)
    }
}

impl From<Budget> for Floods {
    fn from(budget: Budget) -> Self {
        Floods {
            counts: vec![Count::default(); COUNTS].into(),
            recent: vec![Recent::default(); RECENT].into(),
            next: 0,
            victims: budget.into(),
            proven: vec![0; MAX_PROVEN].into(),
            doubtful: 0,
        }
    }
}

/// The hash of the addresses of server and client. It has no seed, because what is recent enough to be counted must not
/// depend on chance.
#[inline(always)]
fn pair_of(server: Endpoint, client: Endpoint) -> u64 {
    let (([s1, s0], _), ([c1, c0], _)) = (server.halves(), client.halves());
    folded_product(
        s0 ^ s1.rotate_left(17) ^ 0x9e37_79b9_7f4a_7c15,
        c0 ^ c1.rotate_left(29) ^ 0xd1b5_4a32_d192_ed03,
    )
}

/// The place of a pair among the proven ones, and its mark there.
#[inline(always)]
fn proof_of(pair: u64) -> (usize, u32) {
    ((pair >> 40) as usize % MAX_PROVEN, (pair as u32 | 2) & !1)
}

impl Floods {
    /// Notes that an address has returned a challenge of the server's address.
    #[inline]
    pub fn note_proven(&mut self, server: Endpoint, client: Endpoint) {
        let (at, mark) = proof_of(pair_of(server, client));
        let Some(proven) = self.proven.get_mut(at) else { return };
        if *proven & !1 != mark {
            *proven = mark | u32::from(*proven != 0);
        }
    }

    /// Notes an unproven answer that is larger than its request. Returns the numbers of the finding if it is the first
    /// one that is too many.
    #[inline]
    pub fn note_answer(
        &mut self,
        (server, client): (Endpoint, Endpoint),
        d: &Datagram<'_>,
        answer: &Answer,
        now: Time,
    ) -> Option<Flood> {
        let (pair, time) = (pair_of(server, client), now.nanos()?);
        let bytes = [answer.request_bytes, answer.bytes(d) as u32];
        let recent = Recent { pair, time, port: client.port(), bytes };
        if let Some(oldest) = self.recent.get_mut(self.next) {
            *oldest = recent;
        }
        self.next = (self.next + 1) % RECENT;
        let count = self.counts.get_mut(pair as usize % COUNTS)?;
        let part = (time >> 30) as u32;
        if count.part != part {
            (count.part, count.answers) = (part, 0);
        }
        count.answers = count.answers.saturating_add(1);
        if count.answers < MIN_COUNT && !count.watched {
            return None;
        }
        count.watched = true;
        self.note_victim((server.host(), client.host()), &recent, d.frame)
    }

    /// Adds an answer to a possible victim.
    #[cold]
    #[inline(never)]
    fn note_victim(&mut self, ends: (Endpoint, Endpoint), answer: &Recent, frame: u64) -> Option<Flood> {
        let headers = if ends.1.octets().is_some() { 28 } else { 48 };
        let is_known = self.victims.get(&ends).is_some();
        let counts = |(_, victim): &(_, Victim)| victim.counts(answer.time);
        let victim = self.victims.get_or_insert_over(ends, Victim::new(), counts);
        let is_over = if is_known {
            victim.add(answer, headers)
        } else {
            let (newer, older) = self.recent.split_at_checked(self.next)?;
            let same = older.iter().chain(newer).filter(|recent| recent.pair == answer.pair);
            let recent =
                same.filter(|recent| (0..=SECOND).contains(&answer.time.saturating_sub(recent.time)));
            let mut is_over = false;
            recent.for_each(|recent| is_over |= victim.add(recent, headers));
            is_over
        };
        if !is_over || victim.reported.is_some() {
            return None;
        }
        let (at, mark) = proof_of(answer.pair);
        let proven = self.proven.get(at).copied().unwrap_or(0);
        if proven & !1 == mark {
            return None;
        }
        self.doubtful += u64::from(proven & 1);
        victim.reported = Some(frame);
        Some(victim.flood(ends.1))
    }

    /// Ends a series of files: forgets everything, and returns the final numbers of each flood by the frame of its
    /// finding.
    pub fn take(&mut self, budget: Budget) -> Vec<(u64, Flood)> {
        let reported = |((_, client), victim): &((Endpoint, Endpoint), Victim)| {
            Some((victim.reported?, victim.flood(*client)))
        };
        let mut floods: Vec<_> = self.victims.iter().filter_map(reported).collect();
        floods.sort_unstable_by_key(|(frame, _)| *frame);
        let doubtful = self.forgotten();
        *self = Floods { doubtful, ..Floods::from(budget) };
        floods
    }

    /// Number of addresses forgotten that may have had a finding, or may have needed none.
    pub fn forgotten(&self) -> u64 {
        self.doubtful + self.victims.forgotten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Endpoint = Endpoint::v4([192, 0, 2, 1], 7777);

    fn client(n: u32) -> Endpoint {
        Endpoint::v4(n.to_be_bytes(), 9)
    }

    /// An answer of 100 bytes to a request of 10 from a client, at that time in milliseconds.
    fn answer(floods: &mut Floods, client: Endpoint, ms: i64) -> Option<Flood> {
        let time = Time::from_nanos(1_700_000_000 * SECOND + ms * 1_000_000);
        let d = Datagram { time, frame: ms as u64, ..Datagram::between(SERVER, client, &[0; 100]) };
        floods.note_answer((SERVER, client), &d, &Answer { request_bytes: 10, ..Answer::default() }, time)
    }

    #[test]
    fn the_21st_answer_within_a_second_is_one_too_many() {
        for (pause, expected) in [(1, Some(20)), (50, Some(20)), (51, None)] {
            let mut floods = Floods::from(Budget::default());
            let told = (0..60).filter(|n| answer(&mut floods, client(1), n * pause).is_some());
            assert_eq!(told.collect::<Vec<_>>(), Vec::from_iter(expected), "{pause}");
            let last = floods.take(Budget::default());
            assert_eq!(
                last.iter().map(|(_, flood)| flood.answers).collect::<Vec<_>>(),
                Vec::from_iter(expected.map(|_| 60))
            );
        }
    }

    #[test]
    fn an_address_that_has_returned_a_challenge_is_no_victim_unless_that_is_forgotten() {
        let mut floods = Floods::from(Budget::default());
        floods.note_proven(SERVER, client(1));
        assert!((0..60).all(|n| answer(&mut floods, client(1), n).is_none()));
        let (at, _) = proof_of(pair_of(SERVER, client(1)));
        let same = (2..).find(|n| proof_of(pair_of(SERVER, client(*n))).0 == at).expect("there is one");
        floods.note_proven(SERVER, client(same));
        assert_eq!(floods.forgotten(), 0);
        assert!(answer(&mut floods, client(1), 61).is_some());
        assert_eq!(floods.forgotten(), 1);
    }

    #[test]
    fn victims_that_are_forgotten_are_counted() {
        let mut floods = Floods::from(Budget::mib(1));
        let most = Budget::mib(1).of(MAX_VICTIMS) as u32;
        let told =
            |floods: &mut Floods, n| (0..21).filter(|ms| answer(floods, client(n), *ms).is_some()).count();
        let all: usize = (0..most).map(|n| told(&mut floods, n)).sum();
        assert_eq!((all as u32, floods.forgotten()), (most, 0));
        told(&mut floods, most);
        assert_eq!((floods.forgotten(), floods.take(Budget::default()).len() as u32), (1, most));
    }

    #[test]
    fn ports_beyond_the_limit_are_more() {
        for (more, expected) in [(0, (1_024, false)), (1, (1_024, true))] {
            let mut victim = Victim::new();
            for port in 0..MAX_PORTS as u16 + more {
                victim.add(&Recent { port, ..Recent::default() }, 28);
            }
            assert_eq!(victim.flood(SERVER.host()).ports, expected);
        }
    }

    #[test]
    fn answers_that_are_no_longer_recent_do_not_count() {
        let mut floods = Floods::from(Budget::default());
        let others = |floods: &mut Floods, count: u32| {
            (0..count).for_each(|n| _ = answer(floods, client(1_000 + n), 7))
        };
        (0..7).for_each(|n| _ = answer(&mut floods, client(1), n));
        others(&mut floods, RECENT as u32 - 7);
        let told = (8..80).find(|n| answer(&mut floods, client(1), *n).is_some());
        assert_eq!(told, Some(8 + 20 - 6), "the first of them has just been overwritten");
    }
}
