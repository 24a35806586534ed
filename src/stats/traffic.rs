//! The traffic of servers and clients, and a map that keeps those with the most.

use crate::check::Packet;
use crate::exchange::{Exchange, Outcomes, Pairing};
use crate::net::Datagram;
use crate::protocols::{Direction, Id};
use crate::report::server_text::ServerText;
use crate::report::times::Times;
use crate::rule::general::GEN_007;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// Bytes of the headers of IPv4 (without options) and UDP.
const HEADERS_V4: u64 = 28;
/// Bytes of the headers of IPv6 and UDP.
const HEADERS_V6: u64 = 48;
/// Resolution of the quantiles of response times, in nanoseconds.
pub const UNIT: i64 = 100;

/// A value that a [`Ranked`] can weigh and add up.
pub trait Weighed: Default {
    /// The weight. The heaviest entries stay.
    fn weight(&self) -> u64;
    /// Adds the value of an entry that is removed.
    fn absorb(&mut self, other: Self);
}

/// A hash map of at most twice `most` entries. When it is full, the lighter half is removed and added up in one value.
///
/// Weight and then the order of the keys decide, never the position of a hash: hashes are seeded, and two runs must not
/// differ.
#[derive(Debug)]
pub struct Ranked<K, V> {
    map: HashMap<K, V>,
    most: usize,
    /// The removed entries, added up.
    pub rest: V,
    /// How many entries were removed; an entry that comes back and is removed again counts again.
    pub left_out: u64,
}

impl<K: Copy + Ord + Hash, V: Weighed> Ranked<K, V> {
    /// An empty map that always keeps the `most` heaviest entries.
    pub fn new(most: usize) -> Self {
        Ranked { map: HashMap::new(), most: most.max(1), rest: V::default(), left_out: 0 }
    }

    /// The value of `key`, a new one if there is none.
    pub fn entry(&mut self, key: K) -> &mut V {
        if self.map.len() >= self.most.saturating_mul(2) && !self.map.contains_key(&key) {
            self.halve();
        }
        self.map.entry(key).or_default()
    }

    #[cold]
    fn halve(&mut self) {
        let mut order: Vec<_> = self.map.iter().map(|(key, value)| (Reverse(value.weight()), *key)).collect();
        // The first one in the order that is removed; there are twice as many as stay.
        let (_, &mut first, _) = order.select_nth_unstable(self.most);
        for (_, value) in self.map.extract_if(|key, value| (Reverse(value.weight()), *key) >= first) {
            self.rest.absorb(value);
            self.left_out += 1;
        }
    }

    /// The entries, the heaviest first.
    pub fn sorted(&self) -> Vec<(K, &V)> {
        let mut list: Vec<_> = self.map.iter().map(|(key, value)| (*key, value)).collect();
        list.sort_unstable_by_key(|(key, value)| (Reverse(value.weight()), *key));
        list
    }

    /// The values in no order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.map.values()
    }
}

/// Datagrams in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Number of datagrams.
    pub datagrams: u64,
    /// UDP payload on the wire in bytes.
    pub bytes: u64,
    /// The same with the headers of UDP and IP, which take 28 or 48 bytes.
    pub wire: u64,
}

impl Flow {
    /// Counts a datagram.
    pub fn add(&mut self, d: &Datagram<'_>) {
        let headers = if d.src.octets().is_some() { HEADERS_V4 } else { HEADERS_V6 };
        self.datagrams += 1;
        self.bytes += d.wire_len() as u64;
        self.wire += d.wire_len() as u64 + headers;
    }

    fn absorb(&mut self, other: Flow) {
        self.datagrams += other.datagrams;
        self.bytes += other.bytes;
        self.wire += other.wire;
    }
}

/// Datagrams in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams from the endpoint.
    pub sent: Flow,
    /// Datagrams to the endpoint.
    pub received: Flow,
}

impl Weighed for Traffic {
    fn weight(&self) -> u64 {
        self.sent.wire.saturating_add(self.received.wire)
    }
    fn absorb(&mut self, other: Traffic) {
        self.sent.absorb(other.sent);
        self.received.absorb(other.received);
    }
}

/// How exchanges ended, and what was sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// How they ended.
    pub outcomes: Outcomes,
    /// Repetitions of requests, which open no exchange.
    pub retransmissions: u64,
    /// Copies of answers.
    pub copies: u64,
}

impl Losses {
    /// Counts an exchange.
    pub fn add(&mut self, e: &Exchange) {
        self.outcomes.add(e.outcome);
        self.retransmissions += u64::from(e.retransmissions);
    }

    /// Adds the counts of another server.
    pub fn absorb(&mut self, other: &Losses) {
        self.outcomes.absorb(&other.outcomes);
        self.retransmissions += other.retransmissions;
        self.copies += other.copies;
    }
}

/// The answer that is largest in proportion to its request.
#[derive(Clone, Copy, Debug)]
pub struct WorstExchange {
    /// Payload of the request in bytes.
    pub request_bytes: u64,
    /// Payload of the answer in bytes, all parts.
    pub response_bytes: u64,
    /// Frame of the answer, or of its first part, counted through all files.
    pub frame: u64,
}

impl WorstExchange {
    /// Whether this is worse than another: in proportion, or if that is the same, in bytes.
    fn is_worse_than(&self, other: &WorstExchange) -> bool {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b.max(1));
        let this = product(self.response_bytes, other.request_bytes);
        let that = product(other.response_bytes, self.request_bytes);
        (this, self.response_bytes) > (that, other.response_bytes)
    }
}

/// The datagrams that a server receives and sends in one step of its protocol.
#[derive(Clone, Debug, Default)]
pub struct StepTraffic {
    /// Requests, their repetitions and parts.
    pub requests: Flow,
    /// Everything sent: answers, their parts and copies, and unsolicited answers.
    pub sent: Flow,
    /// Answers in `sent` to clients that had not proven their address, if they are larger than their request or follow an
    /// invalid challenge; the parts of an answer count once.
    pub without_challenge: u64,
    /// Copies of answers in `sent`.
    pub copies: Flow,
    /// Unsolicited answers in `sent`.
    pub unsolicited: Flow,
    /// The worst single exchange.
    pub worst: Option<WorstExchange>,
}

/// The traffic of one server in one protocol.
#[derive(Debug, Default)]
pub struct Served {
    /// The name that it gave itself last.
    pub server_name: Option<ServerText>,
    /// Datagrams in both directions.
    pub traffic: Traffic,
    /// How its exchanges ended.
    pub losses: Losses,
    /// Its response times.
    pub times: Times<UNIT>,
    /// By step of the protocol, up to the last step with traffic.
    pub steps: Vec<StepTraffic>,
}

impl Weighed for Served {
    fn weight(&self) -> u64 {
        self.traffic.weight()
    }
    /// Does not add up steps: steps of different protocols have nothing in common.
    fn absorb(&mut self, other: Served) {
        self.traffic.absorb(other.traffic);
        self.losses.absorb(&other.losses);
        self.times.absorb(&other.times);
    }
}

impl Served {
    /// The counts of a step, which steps of the same name share.
    fn step(&mut self, id: Id, step: u8) -> &mut StepTraffic {
        let at = usize::from(id.info().first_step_of_name(step));
        if at >= self.steps.len() {
            self.steps.resize_with(at + 1, StepTraffic::default);
        }
        &mut self.steps[at]
    }

    /// Counts a datagram to the server or from it. An answer counts in the step of its request, whatever its message: in A2S,
    /// a challenge may answer any request.
    pub fn count_packet(&mut self, p: &Packet<'_>) {
        let (d, by_server) = (p.datagram, p.direction == Direction::S2c);
        if by_server { &mut self.traffic.sent } else { &mut self.traffic.received }.add(d);
        self.losses.copies += u64::from(matches!(p.pairing, Pairing::DuplicateResponse { .. }));
        let step_traffic = self.step(p.id, p.pairing.step().unwrap_or(p.step));
        match p.pairing {
            Pairing::Nothing | Pairing::DuplicateFrame { .. } => return,
            Pairing::Asked { .. } | Pairing::Retransmission { .. } => return step_traffic.requests.add(d),
            Pairing::Answered(_) => {
                let unproven = p.raised.rules().any(|rule| *rule == GEN_007 || rule.unproven);
                step_traffic.without_challenge += u64::from(unproven);
            }
            Pairing::DuplicateResponse { .. } => step_traffic.copies.add(d),
            Pairing::Unsolicited { .. } => step_traffic.unsolicited.add(d),
        }
        step_traffic.sent.add(d);
    }

    /// Counts an exchange. `may_take_memory` allows memory for its response times; returns whether the memory was taken.
    pub fn add_exchange(&mut self, e: &Exchange, may_take_memory: bool) -> bool {
        self.losses.add(e);
        if let Some(frame) = e.response_frame {
            let Exchange { request_bytes, response_bytes, .. } = *e;
            let worst = &mut self.step(e.protocol, e.step).worst;
            let this = WorstExchange { request_bytes, response_bytes, frame };
            if worst.is_none_or(|worst| this.is_worse_than(&worst)) {
                *worst = Some(this);
            }
        }
        e.response_time.is_some_and(|t| self.times.add(t, may_take_memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Sum(u64);

    impl Weighed for Sum {
        fn weight(&self) -> u64 {
            self.0
        }
        fn absorb(&mut self, other: Sum) {
            self.0 += other.0;
        }
    }

    #[test]
    fn a_flood_of_light_entries_displaces_no_heavy_entry_and_loses_nothing() {
        let mut map = Ranked::<u32, Sum>::new(4);
        for key in 0..1_000_u32 {
            map.entry(key).0 += 1;
            map.entry(5_000).0 += 10; // the only one with constant traffic
            assert!(map.values().count() <= 8);
        }
        let list = map.sorted();
        assert_eq!(list[0], (5_000, &Sum(10_000)));
        let kept: u64 = map.values().map(|v| v.0).sum();
        assert_eq!(kept + map.rest.0, 11_000);
        assert_eq!(map.left_out + list.len() as u64, 1_001);
        // Of entries of the same weight, the first in order stay.
        assert!(list.iter().skip(1).take(3).map(|(key, _)| *key).eq(0..3), "{list:?}");
    }
}
