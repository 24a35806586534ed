//! Counts unclaimed traffic by endpoint for the summary.

use super::secrets::harmless_part;
use crate::classify::looks_like::looks_like;
use crate::net::{Datagram, Endpoint};
use crate::report::terms;
use crate::text::escape::to_hex;
use arrayvec::ArrayVec;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Maximum number of endpoints in the table; datagrams of further endpoints are only counted.
pub(super) const MAX_ENDPOINTS: usize = 4_096;
/// Maximum number of bytes kept of the first datagram of each endpoint.
const MAX_FIRST: usize = 8;
/// Number of datagrams of an endpoint that are checked for what they look like.
const SAMPLED_DATAGRAMS: u64 = 8;

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
}

impl UnclaimedEndpoint {
    fn add(&mut self, d: &Datagram<'_>) {
        self.datagrams += 1;
        self.bytes += d.wire_len() as u64;
        if self.looks_like.is_none() && self.datagrams <= SAMPLED_DATAGRAMS {
            self.looks_like = looks_like(d.payload, [d.src.port(), d.dst.port()]);
        }
    }

    /// The first bytes in hex.
    pub fn first_hex(&self) -> String {
        to_hex(&self.first)
    }

    /// Its record.
    pub(crate) fn record(&self) -> UnclaimedRecord {
        let UnclaimedEndpoint { endpoint, datagrams, bytes, looks_like, .. } = *self;
        UnclaimedRecord {
            endpoint: terms::Endpoint(endpoint.to_string()),
            datagrams,
            bytes,
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
    first_bytes: terms::Hex<String>,
    looks_like: Option<terms::LooksLike<&'static str>>,
}

/// Counters of unclaimed datagrams by endpoint.
#[derive(Debug, Default)]
pub struct UnclaimedTraffic {
    endpoints: HashMap<Endpoint, UnclaimedEndpoint>,
    /// Number of datagrams of endpoints that did not fit into the table.
    pub untracked: u64,
}

impl UnclaimedTraffic {
    /// Counts a datagram at one of its endpoints: at one that is already in the table, or else at the one with the
    /// lower port, because clients have high ports.
    pub(super) fn add(&mut self, d: &Datagram<'_>) {
        if let Some(endpoint) = self.endpoints.get_mut(&d.dst) {
            endpoint.add(d);
        } else if let Some(endpoint) = self.endpoints.get_mut(&d.src) {
            endpoint.add(d);
        } else {
            self.add_new(d);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_new(&mut self, d: &Datagram<'_>) {
        if self.endpoints.len() >= MAX_ENDPOINTS {
            self.untracked += 1;
            return;
        }
        let endpoint = if d.src.port() < d.dst.port() { d.src } else { d.dst };
        let first = harmless_part(d, MAX_FIRST).iter().copied().collect();
        let mut counted = UnclaimedEndpoint { endpoint, datagrams: 0, bytes: 0, first, looks_like: None };
        counted.add(d);
        self.endpoints.insert(endpoint, counted);
    }

    /// The endpoints, ordered by the number of datagrams.
    pub fn busiest(&self) -> Vec<&UnclaimedEndpoint> {
        let mut all: Vec<_> = self.endpoints.values().collect();
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
}
