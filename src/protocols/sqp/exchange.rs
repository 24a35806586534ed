//! What one datagram alone cannot show: tokens, order, copies, time.

use super::samples::*;
use crate::bounded::Bounded;
use crate::check::Raised;
use crate::decode::Span;
use crate::exchange::{Answer, Pairing, Seen};
use crate::net::Endpoint;
use crate::rule::{Cite, Example, Step::*, rules};
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Tokens remembered over all servers; the oldest goes first.
const MAX_TOKENS: usize = 8_192;
/// Where the token stands in every packet.
const TOKEN_AT: Span = Span { start: 1, end: 5 };

rules! {
    /// The query repeats another token than the last one this client got. Go, Unreal and C# servers do not
    /// answer; USQP and FPSSample do not compare and answer.
    TXN_001 = "SQP-TXN-001" Error "token differs from the one issued last" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, H2, C("01 11111111 0001 01")])],
    }
    /// No query of this client is outstanding: the request was lost before the capture, or somebody answers
    /// what was never asked.
    TXN_003 = "SQP-TXN-003" Error "query response without a query" {
        cite: unity("Query packets"),
        examples: [Example::of(&[OK])],
    }
    /// It is neither the token of the outstanding query nor, unless it is said otherwise, one the server
    /// issued. USQP repeats the token it issued, not the one it received.
    TXN_004 = "SQP-TXN-004" Error "response carries another token than the query" {
        cite: unity("Headers"),
        examples: [Example::of(&[H1, H2, C("01 11111111 0001 01"), OK])],
    }
    /// No challenge request of this client is outstanding.
    TXN_005 = "SQP-TXN-005" Error "challenge response without a challenge request" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[H2])],
    }
    /// The number proves that the client is the one that received it; this one was issued to another
    /// endpoint.
    TXN_007 = "SQP-TXN-007" Error "token belongs to another client" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, H2, C2("01 80902348 0001 01")])],
    }
    /// The answer window of SQP is one second, the time-out of go-svrquery. Silence is the only negative
    /// answer SQP has.
    TXN_009 = "SQP-TXN-009" Warning "no answer in time" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1])],
    }
    /// The older document says that the version is the one received. USQP always sends 0, the game server
    /// hosting SDK always 1, the Unreal SDK repeats it.
    TXN_010 = "SQP-TXN-010" Note "response version differs from the request's" {
        cite: Cite { doc: "Multiplay Server Queries", section: "Query response", url: "" },
        per_server: true,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0000 00 00 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// A server need not answer more than ServerInfo, but clients that decode in the order of the request
    /// misread the rest.
    TXN_011 = "SQP-TXN-011" Note "optional chunk is missing" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 03"), OK])],
    }
    /// It was requested, and it is the one chunk that must be answered.
    TXN_012 = "SQP-TXN-012" Error "ServerInfo is missing" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0000")])],
    }
    /// A byte-identical copy of an earlier answer: UDP may duplicate datagrams.
    TXN_013 = "SQP-TXN-013" Note "answer arrived twice" {
        cite: unity("Query packets"),
        examples: [Example::of(&[H1, H2, QI, OK, OK])],
    }
    /// Somebody spoofs the server, or a proxy answers too. Clients take the first one.
    TXN_014 = "SQP-TXN-014" Error "second, different answer to one query" {
        cite: unity("Query packets"),
        examples: [Example::of(&[H1, H2, QI, OK, S("01 80902348 0001 00 00 0012 0000000e 0007000801410162016301641e61")])],
    }
    /// Later than the answer window of one second, within the late window: the client has given up by then.
    TXN_016 = "SQP-TXN-016" Note "answer came after the time-out" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1, H2, QI, Wait(1210), OK])],
    }
    /// A retransmission. If only the response was lost it will never be answered, for servers forget a
    /// token at its first use: the client has to ask for a new challenge.
    TXN_018 = "SQP-TXN-018" Note "query is repeated while unanswered" {
        cite: go_svrquery("lib/svrsample"),
        examples: [Example::of(&[H1, H2, QI, QI])],
    }
}

/// Which token a server issued to whom: seeded hashes of both, for the table is touched at every
/// challenge and a mistake would take one chance in 2^64.
pub struct Memory {
    issued: Bounded<u64, u64>,
    hasher: DefaultHashBuilder,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { issued: Bounded::new(MAX_TOKENS), hasher: DefaultHashBuilder::default() }
    }
}

impl Memory {
    fn key(&self, server: Endpoint, token: u32) -> u64 {
        self.hasher.hash_one((server, token))
    }
    /// How many tokens were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.issued.forgotten()
    }
    fn client(&self, client: Endpoint) -> u64 {
        self.hasher.hash_one(client)
    }
}

pub(super) fn observe(memory: &mut Memory, seen: &Seen<'_>, raised: &mut Raised) {
    let query = seen.glance.step == super::QUERY;
    match *seen.pairing {
        Pairing::Asked { .. } if query => token_rules(memory, seen, raised),
        Pairing::Again { .. } if query => raised.add(&TXN_018),
        Pairing::Answered(Answer { late, second, foreign_key, .. }) => {
            if !query {
                let c = seen.conversation;
                let (key, client) =
                    (memory.key(c.server(), seen.glance.memo as u32), memory.client(c.client()));
                memory.issued.insert(key, client);
            }
            // Parts of a split answer differ, and are no second one.
            let split = query && seen.glance.memo != 0;
            for (rule, holds) in [(&TXN_016, late), (&TXN_014, second && !split)] {
                if holds {
                    raised.add(rule);
                }
            }
            if foreign_key {
                raised.add_at(&TXN_004, TOKEN_AT);
            }
        }
        Pairing::Copy { .. } => raised.add(&TXN_013),
        Pairing::Unasked { open: true, .. } if query => raised.add_at(&TXN_004, TOKEN_AT),
        Pairing::Unasked { .. } => raised.add(if query { &TXN_003 } else { &TXN_005 }),
        _ => {}
    }
}

/// Whose is the token of a query?
fn token_rules(memory: &Memory, seen: &Seen<'_>, raised: &mut Raised) {
    let token = seen.glance.key.unwrap_or_default();
    if seen.issued == Some(token) {
        return;
    }
    let c = seen.conversation;
    match memory.issued.get(&memory.key(c.server(), token as u32)) {
        Some(&owner) if owner != memory.client(c.client()) => raised.add_at(&TXN_007, TOKEN_AT),
        _ if seen.issued.is_some() => raised.add_at(&TXN_001, TOKEN_AT),
        _ => {}
    }
}
