//! Counts unclaimed traffic by endpoint for the summary.
//!
//! Each datagram counts at one of its two endpoints: that which most others talk to. As long as only two endpoints are known
//! to talk to each other, it is the one with the lower port, because clients have high ports; once a third one talks to the
//! other, it is that one.

use super::secrets::harmless_part;
use crate::bounded::hashing::hash_one;
use crate::capture::Time;
use crate::classify::looks_like::looks_like;
use crate::net::{Datagram, Endpoint};
use crate::report::terms;
use crate::text::escape::to_hex;
use arrayvec::ArrayVec;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Maximum number of endpoints in the table; datagrams of further endpoints are only counted.
pub(super) const MAX_ENDPOINTS: usize = 4_096;
/// Maximum number of bytes kept of the first datagram of each endpoint.
const MAX_FIRST: usize = 8;
/// Number of datagrams of an endpoint that are checked for what they look like.
const SAMPLED_DATAGRAMS: u64 = 8;
/// Maximum number of senders counted of an endpoint, and of all endpoints; then they have "more".
const MAX_SENDERS: usize = 1_024;
const MAX_SENDERS_OF_ALL: usize = 262_144;
/// Datagrams in a second from which on it may be a flood; where not all senders were counted, more.
const FLOOD: u64 = 100;
const CROWDED_FLOOD: u64 = 1_000;
/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The counters of an endpoint's unclaimed datagrams.
#[derive(Clone, Debug)]
pub struct UnclaimedEndpoint {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Number of unclaimed datagrams to and from the endpoint.
    pub datagrams: u64,
    /// Wire length of their payloads.
    pub bytes: u64,
    /// The first bytes of the first datagram, ending before a password.
    pub first: ArrayVec<u8, MAX_FIRST>,
    /// The protocol that the first datagrams look like.
    pub looks_like: Option<&'static str>,
    /// Most datagrams within a second, counted from a datagram on.
    pub peak_rate: u64,
    /// The beginning of the current second, and the datagrams in it.
    second: (Time, u64),
    /// Hashes of the endpoints that sent datagrams to it, from the second one on: then the first is among them.
    senders: Option<Box<HashSet<u64>>>,
    /// There are more senders.
    more_senders: bool,
    /// The last sender.
    last_sender: Option<Endpoint>,
    /// The other endpoint, as long as there is only one.
    only_other: Option<Endpoint>,
    /// It has sent datagrams itself.
    sends: bool,
}

impl UnclaimedEndpoint {
    #[inline(always)]
    fn add(&mut self, d: &Datagram<'_>) {
        self.datagrams += 1;
        self.bytes += d.wire_len() as u64;
        if self.datagrams <= SAMPLED_DATAGRAMS && self.looks_like.is_none() {
            self.sample(d);
        }
        let (start, count) = &mut self.second;
        if !d.time.is_within(*start, SECOND - 1) || d.time == Time::UNKNOWN {
            (*start, *count) = (d.time, 0);
        }
        *count += 1;
        self.peak_rate = self.peak_rate.max(*count);
    }

    #[cold]
    #[inline(never)]
    fn sample(&mut self, d: &Datagram<'_>) {
        self.looks_like = looks_like(d.payload, [d.src.port(), d.dst.port()]);
    }

    /// Number of endpoints that sent datagrams to it, and whether there are more.
    pub fn senders(&self) -> (u64, bool) {
        let senders = self.senders.as_ref().map_or(usize::from(self.last_sender.is_some()), |all| all.len());
        (senders as u64, self.more_senders)
    }

    /// Whether it looks like the target of a flood: many datagrams in a second, nearly each from another sender.
    pub(super) fn is_flood(&self) -> bool {
        let (senders, more) = self.senders();
        let least = if more { CROWDED_FLOOD } else { FLOOD };
        self.peak_rate >= least && (more || senders * 2 >= self.datagrams)
    }

    /// The first bytes in hex.
    pub fn first_hex(&self) -> String {
        to_hex(&self.first)
    }

    /// Its record.
    pub(crate) fn record(&self) -> UnclaimedRecord {
        let UnclaimedEndpoint { endpoint, datagrams, bytes, looks_like, peak_rate, .. } = *self;
        let (senders, more_senders) = self.senders();
        UnclaimedRecord {
            endpoint: terms::Endpoint(endpoint.to_string()),
            datagrams,
            bytes,
            senders,
            more_senders,
            peak_rate,
            first_bytes: terms::Hex(self.first_hex()),
            looks_like: looks_like.map(terms::LooksLike),
        }
    }
}

/// An endpoint and what it got and sent that no protocol claims: what summary writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "unclaimed", deny_unknown_fields)]
pub struct UnclaimedRecord {
    endpoint: terms::Endpoint<String>,
    datagrams: u64,
    bytes: u64,
    /// Endpoints that sent datagrams to it, at most 1,024.
    senders: u64,
    /// Whether there are more senders.
    more_senders: bool,
    /// Datagrams in the busiest second.
    peak_rate: u64,
    first_bytes: terms::Hex<String>,
    looks_like: Option<terms::LooksLike<&'static str>>,
}

/// Counters of unclaimed datagrams by endpoint.
#[derive(Debug, Default)]
pub struct UnclaimedTraffic {
    rows: Vec<UnclaimedEndpoint>,
    /// The rows of endpoints, and of the [only others](UnclaimedEndpoint::only_other) of rows.
    index: HashMap<Endpoint, u32>,
    /// Rows that were merged with others.
    free: Vec<u32>,
    hasher: DefaultHashBuilder,
    /// Number of senders in the sets of all rows.
    senders: usize,
    /// Number of datagrams of endpoints that did not fit into the table.
    pub untracked: u64,
}

impl UnclaimedTraffic {
    /// Counts a datagram at one of its endpoints, see the module documentation.
    #[inline]
    pub(super) fn add(&mut self, d: &Datagram<'_>) {
        if let Some(&at) = self.index.get(&d.dst)
            && let Some(row) = self.rows.get_mut(at as usize)
        {
            if row.endpoint == d.dst {
                row.add(d);
                if row.last_sender != Some(d.src) {
                    self.note_sender(at, d.src);
                }
                return;
            }
            if row.endpoint == d.src && row.sends && row.only_other.is_none_or(|other| other == d.dst) {
                return row.add(d);
            }
        }
        self.add_to_row(d);
    }

    /// Counts a datagram whose receiver has no row of its own.
    #[inline(never)]
    fn add_to_row(&mut self, d: &Datagram<'_>) {
        match self.row_for(d) {
            Some(row) => self.add_to(row, d),
            None => self.add_new(d),
        }
    }

    /// The row in which a datagram counts, if there is one.
    #[inline]
    fn row_for(&mut self, d: &Datagram<'_>) -> Option<u32> {
        if let Some(&at) = self.index.get(&d.dst)
            && let Some(row) = self.rows.get_mut(at as usize)
        {
            if row.endpoint == d.dst || row.endpoint == d.src {
                return Some(at);
            }
            let knows_others =
                |row: u32| self.rows.get(row as usize).is_some_and(|r| r.only_other != Some(d.dst));
            let of_sender = self.row_of(d.src).filter(|row| knows_others(*row));
            if of_sender.is_none() {
                self.turn(at, d.dst);
            }
            return Some(of_sender.unwrap_or(at));
        }
        self.row_of(d.src)
    }

    /// The row of an endpoint.
    fn row_of(&self, endpoint: Endpoint) -> Option<u32> {
        let at = *self.index.get(&endpoint)?;
        self.rows.get(at as usize).is_some_and(|row| row.endpoint == endpoint).then_some(at)
    }

    /// Counts a datagram in a row of one of its endpoints.
    #[inline]
    fn add_to(&mut self, at: u32, d: &Datagram<'_>) {
        let Some(row) = self.rows.get_mut(at as usize) else { return };
        row.add(d);
        if row.endpoint == d.src {
            row.sends = true;
            if row.only_other.is_some_and(|other| other != d.dst) {
                self.note_others(at);
            }
        } else if row.last_sender != Some(d.src) {
            self.note_sender(at, d.src);
        }
    }

    /// Counts a sender that is not the last one.
    #[inline(never)]
    fn note_sender(&mut self, at: u32, sender: Endpoint) {
        let Some(row) = self.rows.get_mut(at as usize) else { return };
        let last = row.last_sender.replace(sender);
        let is_second = row.only_other.is_some_and(|other| other != sender);
        if let Some(first) = last.filter(|_| row.senders.is_none()) {
            row.senders = Some(Box::default());
            self.count_sender(at, first);
        }
        let is_known = last.is_some() && !self.count_sender(at, sender);
        if is_second {
            self.note_others(at);
        }
        // A row of its own that only concerns this one is older than its first datagram to this one.
        if !is_known && let Some(of_sender) = self.row_of(sender) {
            self.merge(of_sender, at);
        }
    }

    /// Counts one of several senders; returns whether it may be a new one.
    #[inline]
    fn count_sender(&mut self, at: u32, sender: Endpoint) -> bool {
        let Some(row) = self.rows.get_mut(at as usize) else { return false };
        let Some(senders) = &mut row.senders else { return false };
        let hash = hash_one(&self.hasher, sender);
        if senders.len() < MAX_SENDERS && self.senders < MAX_SENDERS_OF_ALL {
            let is_new = senders.insert(hash);
            self.senders += usize::from(is_new);
            return is_new;
        }
        let is_new = !senders.contains(&hash);
        row.more_senders |= is_new;
        is_new
    }

    /// Adds the row of an endpoint that only talks to that of another row to that one.
    #[cold]
    fn merge(&mut self, from: u32, to: u32) {
        let target = self.rows.get(to as usize).map(|row| row.endpoint);
        let Some(row) = self.rows.get_mut(from as usize).filter(|row| row.only_other == target) else {
            return;
        };
        let (sender, datagrams, bytes) = (row.endpoint, row.datagrams, row.bytes);
        (row.datagrams, row.bytes, row.only_other) = (0, 0, None);
        self.senders -= row.senders.take().map_or(0, |senders| senders.len());
        self.index.remove(&sender);
        self.free.push(from);
        if let Some(row) = self.rows.get_mut(to as usize) {
            row.datagrams += datagrams;
            row.bytes += bytes;
        }
    }

    /// Notes that an endpoint talks to several others.
    #[cold]
    fn note_others(&mut self, at: u32) {
        let Some(other) = self.rows.get_mut(at as usize).and_then(|row| row.only_other.take()) else {
            return;
        };
        if self.index.get(&other) == Some(&at) {
            self.index.remove(&other);
        }
    }

    /// Makes a row that of its only other endpoint, because a third endpoint talks to that.
    #[cold]
    fn turn(&mut self, at: u32, endpoint: Endpoint) {
        let Some(row) = self.rows.get_mut(at as usize) else { return };
        let before = std::mem::replace(&mut row.endpoint, endpoint);
        row.only_other = None;
        self.senders -= row.senders.take().map_or(0, |senders| senders.len());
        let sent = std::mem::replace(&mut row.sends, row.last_sender.take().is_some());
        self.index.remove(&before);
        if sent {
            self.note_sender(at, before);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_new(&mut self, d: &Datagram<'_>) {
        let at = self.free.pop().map_or(self.rows.len(), |at| at as usize);
        if at >= MAX_ENDPOINTS {
            self.untracked += 1;
            return;
        }
        let (endpoint, other) = if d.src.port() < d.dst.port() { (d.src, d.dst) } else { (d.dst, d.src) };
        let first = harmless_part(d, MAX_FIRST).iter().copied().collect();
        let row = UnclaimedEndpoint {
            endpoint,
            datagrams: 0,
            bytes: 0,
            first,
            looks_like: None,
            peak_rate: 0,
            second: (Time::UNKNOWN, 0),
            senders: None,
            more_senders: false,
            last_sender: None,
            only_other: Some(other),
            sends: false,
        };
        match self.rows.get_mut(at) {
            Some(free) => *free = row,
            None => self.rows.push(row),
        }
        self.index.insert(endpoint, at as u32);
        self.index.entry(other).or_insert(at as u32);
        self.add_to(at as u32, d);
    }

    /// The endpoints, ordered by the number of datagrams.
    pub fn busiest(&self) -> Vec<&UnclaimedEndpoint> {
        let mut all: Vec<_> = self.rows.iter().filter(|row| row.datagrams > 0).collect();
        all.sort_by_cached_key(|endpoint| {
            (Reverse(endpoint.datagrams), Reverse(endpoint.bytes), endpoint.endpoint.to_string())
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::{OwnedFrame, parse};

    fn add(traffic: &mut UnclaimedTraffic, from: u16, to: u16, payload: &[u8]) {
        let [from, to] = [from, to].map(|port| Endpoint::v4([192, 0, 2, 1], port));
        let frame = OwnedFrame::udp(Time::UNKNOWN, from, to, payload, 0);
        let frame = frame.frame(1);
        traffic.add(&parse(&frame).expect("it is a datagram"));
    }

    #[test]
    fn counts_both_directions_at_one_endpoint() {
        let mut traffic = UnclaimedTraffic::default();
        (0..3).for_each(|n| add(&mut traffic, 40_000 + n, 9_000, b"hello there"));
        add(&mut traffic, 9_000, 40_001, &[7; 100]);
        let all = traffic.busiest();
        let rows: Vec<_> = all.iter().map(|b| (b.endpoint.port(), b.datagrams, b.bytes)).collect();
        assert_eq!(rows, [(9_000, 4, 133)]);
        assert_eq!((all[0].first_hex().as_str(), all[0].looks_like), ("68656c6c6f207468", None));
    }

    #[test]
    fn only_counts_datagrams_of_endpoints_beyond_the_limit() {
        let mut traffic = UnclaimedTraffic::default();
        (0..MAX_ENDPOINTS as u16 + 5).for_each(|n| add(&mut traffic, 60_000, 10_000 + n, b"x"));
        add(&mut traffic, 60_000, 10_000, b"x");
        assert_eq!((traffic.busiest().len(), traffic.untracked), (MAX_ENDPOINTS, 5));
        assert_eq!(traffic.busiest()[0].datagrams, 2);
    }

    #[test]
    fn a_flood_is_one_row_of_its_target_whatever_the_ports() {
        for port in [1_000, 40_000, 65_000] {
            let mut traffic = UnclaimedTraffic::default();
            (0..60).for_each(|n| add(&mut traffic, 20_000 + n, port, b"x"));
            add(&mut traffic, port, 20_007, b"x");
            let rows: Vec<_> =
                traffic.busiest().iter().map(|b| (b.endpoint.port(), b.datagrams, b.senders())).collect();
            assert_eq!(rows, [(port, 61, (60, false))]);
        }
    }

    #[test]
    fn answers_before_their_requests_are_in_the_row_of_the_target() {
        let mut traffic = UnclaimedTraffic::default();
        (0..30).for_each(|n| add(&mut traffic, 40_000, 20_000 + n, b"answer"));
        assert_eq!(traffic.busiest().len(), 30, "nobody is known to talk to the sender");
        (0..30).for_each(|n| add(&mut traffic, 20_000 + n, 40_000, b"x"));
        let rows: Vec<_> =
            traffic.busiest().iter().map(|b| (b.endpoint.port(), b.datagrams, b.senders())).collect();
        assert_eq!(rows, [(40_000, 60, (30, false))]);
        add(&mut traffic, 7, 8, b"x");
        assert_eq!((traffic.busiest().len(), traffic.rows.len()), (2, 30), "places are used again");
    }

    #[test]
    fn two_endpoints_are_one_row_until_a_third_one_talks_to_the_higher_port() {
        let mut traffic = UnclaimedTraffic::default();
        add(&mut traffic, 9_000, 5_000, b"x");
        add(&mut traffic, 5_000, 9_000, b"x");
        let row = |traffic: &UnclaimedTraffic| {
            traffic.busiest().iter().map(|b| (b.endpoint.port(), b.senders())).collect::<Vec<_>>()
        };
        assert_eq!(row(&traffic), [(5_000, (1, false))]);
        add(&mut traffic, 5_001, 9_000, b"x");
        assert_eq!(row(&traffic), [(9_000, (2, false))]);
    }

    #[test]
    fn senders_are_exact_up_to_a_limit() {
        for (senders, expected) in [(1_024, (1_024, false)), (1_025, (1_024, true))] {
            let mut traffic = UnclaimedTraffic::default();
            (0..2).for_each(|_| (0..senders).for_each(|n| add(&mut traffic, 20_000 + n, 9_000, b"x")));
            assert_eq!(traffic.busiest()[0].senders(), expected);
        }
    }

    #[test]
    fn senders_of_all_endpoints_are_limited() {
        let mut traffic = UnclaimedTraffic::default();
        let most = (MAX_SENDERS_OF_ALL / MAX_SENDERS) as u16;
        for port in 0..=most {
            (0..MAX_SENDERS as u16).for_each(|n| add(&mut traffic, 20_000 + n, 1_000 + port, b"x"));
        }
        let limited: Vec<_> =
            traffic.busiest().iter().filter(|b| b.senders().1).map(|b| b.senders().0).collect();
        assert_eq!((limited, traffic.senders), (vec![0], MAX_SENDERS_OF_ALL));
    }
}
