//! Clients that ask for challenges and never use them.
//!
//! A conversation knows whether its last challenge was used. Only where it was not, and the client asks again, does this
//! table remember anything.

use crate::bounded::{Bounded, Budget, Forgets as _};
use crate::capture::{SECOND, Time};
use crate::contract::{Abuse, Mistake, Unused};
use crate::net::Endpoint;
use arrayvec::ArrayVec;

/// The fewest challenges in a row that a client has not used.
const MIN_UNUSED: usize = 3;
/// The time within which they are issued, in nanoseconds.
const PERIOD: i64 = 60_000_000_000;
/// A client that gets more challenges than this within a second is probably no client: its address is forged.
const MOST_A_SECOND: usize = 20;
/// Most clients with unused challenges remembered with 64 MiB; the oldest is dropped first.
const MAX_CLIENTS: usize = 4_096;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct UnusedChallenges {
    /// By client and server.
    clients: Bounded<(Endpoint, Endpoint), Client, MAX_CLIENTS>,
}

#[derive(Clone, Debug)]
struct Client {
    /// The times of the requests after the latest unused challenges.
    asked: ArrayVec<Time, MIN_UNUSED>,
    /// A challenge has been issued since the last of them.
    has_new: bool,
    mistake: Option<Mistake>,
    /// The times of the latest challenges, and the first time at which there were too many within a second.
    issued: ArrayVec<Time, MOST_A_SECOND>,
    flooded: Option<Time>,
    reported: bool,
}

impl Client {
    /// Whether its challenges may still count.
    fn counts(&self, now: Time) -> bool {
        self.asked.last().and_then(|last| now.since(*last)).is_some_and(|age| age <= PERIOD)
    }

    fn note_issued(&mut self, now: Time) {
        self.has_new = true;
        self.issued.retain(|time| now.since(*time).is_some_and(|age| age <= SECOND));
        if self.issued.try_push(now).is_err() {
            self.issued.clear();
            self.flooded.get_or_insert(now);
        }
    }
}

impl From<Budget> for UnusedChallenges {
    fn from(budget: Budget) -> Self {
        UnusedChallenges { clients: budget.into() }
    }
}

impl UnusedChallenges {
    /// Notes that a server issues another challenge to a client that has not used the last one.
    #[cold]
    #[inline(never)]
    pub fn note_issued(&mut self, ends: (Endpoint, Endpoint), now: Time) {
        self.clients.get_mut(&ends).into_iter().for_each(|client| client.note_issued(now));
    }

    /// Notes that a client uses a challenge.
    #[inline]
    pub fn note_used(&mut self, ends: (Endpoint, Endpoint)) {
        if !self.clients.is_empty()
            && let Some(client) = self.clients.get_mut(&ends)
        {
            client.asked.clear();
            client.has_new = false;
        }
    }

    /// Notes a request that does not carry the challenge issued before it. Returns the numbers of the finding if it is
    /// the first one that is too many.
    #[cold]
    #[inline(never)]
    pub fn note_ignored(
        &mut self,
        ends: (Endpoint, Endpoint),
        now: Time,
        challenge: u32,
        request: &[u8],
    ) -> Option<Abuse> {
        let new = Client {
            asked: ArrayVec::new(),
            has_new: true,
            mistake: None,
            issued: ArrayVec::from_iter([now]),
            flooded: None,
            reported: false,
        };
        let client = self.clients.get_or_insert_over(ends, new, |(_, client)| client.counts(now));
        client.mistake = mistake_in(request, challenge).or(client.mistake);
        if !std::mem::take(&mut client.has_new) {
            return None;
        }
        if client.asked.is_full() {
            client.asked.remove(0);
        }
        client.asked.push(now);
        let age = client.asked.first().and_then(|first| now.since(*first));
        let is_over = client.asked.is_full() && age.is_some_and(|age| age <= PERIOD);
        if !is_over || client.flooded.is_some() || std::mem::replace(&mut client.reported, true) {
            return None;
        }
        let millis = age.and_then(|age| u32::try_from(age / 1_000_000).ok()).unwrap_or(0);
        let challenges = MIN_UNUSED as u32;
        Some(Abuse::Unused(Unused { challenges, millis, mistake: client.mistake }))
    }

    /// Whether a client got more challenges than clients ask for, until a second after `since` at the latest.
    #[cold]
    pub fn is_flooded(&self, ends: (Endpoint, Endpoint), since: Time) -> bool {
        let flooded = self.clients.get(&ends).and_then(|client| client.flooded);
        flooded.is_some_and(|time| time.since(since).is_none_or(|after| after <= SECOND))
    }

    /// Number of clients forgotten that may have had a finding.
    pub fn forgotten(&self) -> u64 {
        self.clients.forgotten()
    }
}

/// How a request carries the challenge wrongly. One whose bytes are equal in both orders is left out.
fn mistake_in(request: &[u8], challenge: u32) -> Option<Mistake> {
    if challenge == challenge.swap_bytes() {
        return None;
    }
    let has = |bytes: &[u8]| request.windows(bytes.len()).any(|window| window == bytes);
    let orders = [challenge.to_le_bytes(), challenge.to_be_bytes()];
    if orders.iter().any(|bytes| has(bytes)) {
        return Some(Mistake::Swapped);
    }
    let is_text = |word: &[u8]| {
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        let hex = std::str::from_utf8(digits).ok().and_then(|text| u32::from_str_radix(text, 16).ok());
        let decimal = std::str::from_utf8(word).ok().and_then(|text| text.parse::<i64>().ok());
        let equal = |value: i64| value == i64::from(challenge) || value == i64::from(challenge as i32);
        digits.len() == 8 && hex.is_some_and(|hex| [challenge, challenge.swap_bytes()].contains(&hex))
            || word.len() > 3 && decimal.is_some_and(equal)
    };
    let is_digit = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b'-' | b'x');
    request.split(|b| !is_digit(b)).any(is_text).then_some(Mistake::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(n: u32) -> (Endpoint, Endpoint) {
        (Endpoint::v4(n.to_be_bytes(), 9), Endpoint::v4([192, 0, 2, 1], 7777))
    }

    fn at(seconds: i64) -> Time {
        Time::from_nanos(seconds * SECOND)
    }

    #[test]
    fn clients_that_are_forgotten_are_counted() {
        let mut unused = UnusedChallenges::from(Budget::mib(1));
        let most = Budget::mib(1).of(MAX_CLIENTS) as u32;
        (0..most).for_each(|n| _ = unused.note_ignored(ends(n), at(1), 7, b""));
        assert_eq!(unused.forgotten(), 0);
        unused.note_ignored(ends(most), at(2), 7, b"");
        assert_eq!(unused.forgotten(), 1);
        unused.note_ignored(ends(most + 1), at(100), 7, b"");
        assert_eq!(unused.forgotten(), 1, "what is older than a minute does not count");
    }

    #[test]
    fn each_challenge_is_ignored_once_and_a_used_one_begins_anew() {
        let mut unused = UnusedChallenges::from(Budget::default());
        let ask = |unused: &mut UnusedChallenges, seconds| {
            unused.note_ignored(ends(1), at(seconds), 7, b"").is_some()
        };
        assert!((0..9).all(|n| !ask(&mut unused, n)), "it asks before the next challenge comes");
        for told in [false, true, false] {
            unused.note_issued(ends(1), at(10));
            assert_eq!(ask(&mut unused, 10), told);
        }
        unused.note_used(ends(1));
        for _ in 0..5 {
            unused.note_issued(ends(1), at(20));
            assert!(!ask(&mut unused, 20), "once for each socket and server");
        }
    }

    #[test]
    fn a_wrongly_returned_challenge_is_recognised() {
        for (request, expected) in [
            (&b"\xff\xff\xff\xff\x55\x01\x02\x03\x04"[..], Some(Mistake::Swapped)),
            (b"\xff\xff\xff\xff\x5516909060", Some(Mistake::Text)),
            (b"\xff\xff\xff\xff\x55\0" as &[u8], None),
            (b"x 0x01020304", Some(Mistake::Text)),
            (b"x 04030201\0", Some(Mistake::Text)),
            (b"16909061", None),
        ] {
            assert_eq!(mistake_in(request, 0x0102_0304), expected, "{request:?}");
        }
        assert_eq!(mistake_in(&[0; 9], 0), None);
    }
}
