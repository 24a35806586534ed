//! Rules across datagrams: tokens, order, copies, time.
//!
//! Also contains the datagrams that all examples share.

use crate::bounded::hashing::hash_one;
use crate::bounded::packed::Numbers;
use crate::capture::Time;
use crate::net::Endpoint;
use crate::protocols::prelude::*;
use hashbrown::DefaultHashBuilder;
use std::hash::Hash;

/// The published document.
pub(super) const SPEC: &str = "https://docs.unity.com/en-us/multiplay-hosting/concepts/sqp";

pub(super) const fn unity(section: &'static str) -> Cite {
    Cite { doc: "Unity Server Query Protocol", section, url: SPEC }
}

pub(super) const fn go_svrquery(section: &'static str) -> Cite {
    Cite { doc: "go-svrquery", section, url: "https://github.com/Unity-Technologies/go-svrquery" }
}

/// A handshake (token 0x80902348), a query for ServerInfo, and its answer.
pub(super) const H1: Step = C("00 00000000");
pub(super) const H2: Step = S("00 80902348");
pub(super) const QI: Step = C("01 80902348 0001 01");
pub(super) const OK: Step = S("01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61");

/// Unity's C# implementation, which has no known public address.
pub(super) const USQP: Cite =
    Cite { doc: "Unity.Ucg.Usqp", section: "protocol structs, test client", url: "" };

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[H1, H2, QI, OK]),
    // The published answer: 16 slots on "UE4 Dedicated Server".
    Example::of(&[
        H1,
        S("00 c07a6c3d"),
        C("01 c07a6c3d 0001 01"),
        S("01 c07a6c3d 0001 00 00 005b 00000057 0000 0010 \
           14 554534204465646963617465642053657276 6572 \
           2e 2f5363726970742f53686f6f74657247616d652e53686f6f74657247616d655f5465616d44656174684d61746368 \
           03 303031 08 4869676872697365 1e61"),
    ]),
    // All five chunks, asked with version 2.
    Example::of(&[
        H1,
        H2,
        C("01 80902348 0002 1f"),
        S("01 80902348 0001 00 00 0094 \
           00000016 0002 0010 045a6fc3a9 03637466 0137 0464757374 2328 \
           00000033 026863 00 01 036c696d 01 012c 0473656564 02 0001e240 026964 03 0000010000000000 \
                    036d6f64 04 046e6f6e65 0167 05 3f000000 \
           00000020 0002 02 046e616d65 04 0573636f7265 02 03416e6e 0000000c 03426f62 00000007 \
           0000000e 0002 01 0573636f7265 01 0003 0001 \
           00000009 02 42700000 3e800000"),
    ]),
    // An optional chunk is left out, an empty table ends after its count.
    Example::of(&[H1, H2, C("01 80902348 0001 14"), S("01 80902348 0001 00 00 0006 00000002 0000")]),
];

// --- Across datagrams

/// Indices of the steps in [`Info::steps`].
pub(super) const CHALLENGE: u8 = 0;
pub(super) const QUERY: u8 = 1;

/// Maximum number of tokens remembered over all servers with 64 MiB; the oldest goes first.
const MAX_TOKENS: usize = 131_072;
/// Maximum number of suspect queries remembered until their answers come, and of answers in parts, with 64 MiB; the oldest
/// goes first.
const MAX_SUSPECT: usize = 4_096;
/// Number of words with a bit for each hash of a server that has issued a token.
const ISSUERS: usize = 1_024;
/// Number of the latest tokens that are compared with a token issued within a millisecond.
const RECENT: usize = 64;
/// Maximum number of searches through all tokens for the latest one of a client.
const MAX_SEARCHES: u32 = 16_384;
/// Position of the token in every packet.
pub(super) const TOKEN_AT: Span = Span { start: 1, end: 5 };

rules! {
    /// The query repeats another token than the last one this client got. Go, Unreal and C# servers do not
    /// answer; USQP and FPSSample do not compare and answer.
    TXN_001 = "SQP-TXN-001" Error "token differs from the one issued last" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, H2, C("01 11111111 0001 01")])],
    }
    /// No challenge of this client is in the capture. A query must repeat the number that the server gave.
    TXN_002 = "SQP-TXN-002" Warning "query without a challenge" {
        cite: unity("Challenge numbers"),
        needs_past: true,
        examples: [Example::of(&[QI])],
    }
    /// No query of this client is outstanding: the request was lost before the capture, or somebody answers
    /// what was never asked.
    TXN_003 = "SQP-TXN-003" Error "query response without a query" {
        cite: unity("Query packets"),
        needs_past: true,
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
        needs_past: true,
        examples: [Example::of(&[H2])],
    }
    /// The document speaks of "all following requests", but Go, Unreal and C# servers forget a token at its
    /// first use and stay silent. Only the C# toolkit keeps it.
    TXN_006 = "SQP-TXN-006" Warning "token is used a second time" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, H2, QI, OK, QI])],
    }
    /// The number proves that the client is the one that received it; this one was issued to another
    /// endpoint.
    TXN_007 = "SQP-TXN-007" Error "token belongs to another client" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, H2, C2("01 80902348 0001 01")])],
    }
    /// One is unanswered, or its token unused. USQP, FPSSample and the Unreal SDK do not answer the second:
    /// after one lost response that client's port is locked out until it sends a query.
    TXN_008 = "SQP-TXN-008" Note "challenge is repeated before its token is used" {
        cite: USQP,
        side: Client,
        examples: [Example::of(&[H1, H2, H1])],
    }
    /// The answer window of SQP is one second, the time-out of go-svrquery. Silence is the only negative
    /// answer SQP has.
    TXN_009: UNANSWERED = "SQP-TXN-009" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1])],
    }
    /// The older document says that the version is the one received. USQP always sends 0, the game server
    /// hosting SDK always 1, the Unreal SDK repeats it.
    TXN_010 = "SQP-TXN-010" Note "response version differs from the request's" {
        cite: Cite { doc: "Multiplay Server Queries", section: "Query response", url: "" },
        per_server: true,
        strict: Warning,
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
    TXN_013: COPY = "SQP-TXN-013" {
        cite: unity("Query packets"),
        examples: [Example::of(&[H1, H2, QI, OK, OK])],
    }
    /// Somebody spoofs the server, or a proxy answers too. Clients take the first one. Parts of a split answer
    /// are different answers only if they have the same number.
    TXN_014 = "SQP-TXN-014" Error "second, different answer to one query" {
        cite: unity("Query packets"),
        examples: [
            Example::of(&[H1, H2, QI, OK, S("01 80902348 0001 00 00 0012 0000000e 0007000801410162016301641e61")]),
            Example::of(&[
                H1,
                H2,
                QI,
                S("01 80902348 0001 00 01 0012 0000000e 0001000801410162016301641e61"),
                S("01 80902348 0001 00 01 0012 0000000e 0007000801410162016301641e61"),
            ]),
        ],
    }
    /// The number is to be random. A value that comes twice in one capture hints at a weak generator; among n
    /// random ones that happens n²/2³³ times by chance, which is once among 93,000. If two clients get it within
    /// a millisecond, it was issued once, and the capture shows both sides of an address translation.
    TXN_015 = "SQP-TXN-015" Warning "token was issued before" {
        cite: unity("Challenge numbers"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C2("00 00000000"), S2("00 80902348")])],
    }
    /// Later than the answer window of one second, within the late window: the client has given up by then.
    TXN_016: LATE = "SQP-TXN-016" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1, H2, QI, Wait(1210), OK])],
    }
    /// The request decides what is sent. Clients skip the surplus or misread it. Said only where the surplus
    /// decodes exactly as further chunks, or the whole body does with ServerInfo.
    TXN_017 = "SQP-TXN-017" Error "chunk was not requested" {
        cite: unity("Chunk types"),
        examples: [
            Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 001a 0000000e 0001000801410162016301641e61 00000004 016b0001")]),
            Example::of(&[H1, H2, C("01 80902348 0001 02"), OK]),
        ],
    }
    /// A retransmission. If only the response was lost it will never be answered, for servers forget a
    /// token at its first use: the client has to ask for a new challenge.
    TXN_018 = "SQP-TXN-018" Note "query is repeated while unanswered" {
        cite: go_svrquery("lib/svrsample"),
        examples: [Example::of(&[H1, H2, QI, QI])],
    }
    /// The query's token was missing, wrong or another client's: the number did not protect anybody.
    SEC_001 = "SQP-SEC-001" Error "server answers a query without a right token" {
        cite: unity("Challenge numbers"),
        unproven: true,
        examples: [Example::of(&[H1, H2, C("01 11111111 0001 01"), OK])],
    }
    /// Nothing is proven at that point, so a forged source address makes the server a reflector. Clients pad
    /// the request to five bytes for that reason; Go servers and USQP answer a single zero byte.
    SEC_002 = "SQP-SEC-002" Warning "challenge response is larger than its request" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/challenge.go"),
        per_server: true,
        ratio: true,
        lenient: Note,
        examples: [Example::of(&[C("00"), H2])],
    }
    /// A client must have proven its address by then, which is what the challenge is for.
    SEC_003 = "SQP-SEC-003" Note "answer is more than ten times its query" {
        cite: unity("Challenge numbers"),
        per_server: true,
        ratio: true,
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0056 00000052 00010008 3c 55*60 0162 0163 0a 6d*10 1e61")])],
    }
}

/// The clients that servers issued tokens to. Both are stored as seeded hashes, because the table is accessed at every
/// challenge; they collide with a probability of one in 2^64.
#[derive(Debug)]
pub struct Memory {
    issued: Bounded<u64, u64, MAX_TOKENS>,
    /// Queries whose token was missing, wrong or issued to another client.
    suspect: Numbered<(), MAX_SUSPECT>,
    /// Tokens that clients used, and whose issue the capture may not show.
    trusted: Bounded<u64, (), MAX_TOKENS>,
    /// The numbers of the parts that came, by exchange, unless the only answer is whole.
    parts: Numbered<Numbers, MAX_SUSPECT>,
    /// Servers that have issued a token, a bit for each value of a hash: where two servers share one, less is said.
    issuers: Box<[u64; ISSUERS]>,
    /// Clients whose first challenge may be older than the capture.
    older: Bounded<u64, (), MAX_SUSPECT>,
    /// Queries of clients whose token may have been issued out of sight, until they are answered.
    unseen: Numbered<(), MAX_SUSPECT>,
    /// The first client whose token was not seen and whose query was answered, by server that has issued no token; and
    /// whether there are others.
    answered_anyway: Bounded<Endpoint, (u64, bool), MAX_SUSPECT>,
    /// The tokens issued last, as keys, and when: a ring, of which `next` is the oldest.
    recent: [(u64, Time); RECENT],
    next: usize,
    searches: u32,
    hasher: DefaultHashBuilder,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Self {
        Memory {
            issued: budget.into(),
            suspect: budget.into(),
            trusted: budget.into(),
            parts: budget.into(),
            issuers: Box::new([0; ISSUERS]),
            older: budget.into(),
            unseen: budget.into(),
            answered_anyway: budget.into(),
            recent: [(0, Time::UNKNOWN); RECENT],
            next: 0,
            searches: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Forgets for Memory {
    /// Tokens count, too, that were not searched for because that would take too long.
    fn forgotten(&self) -> u64 {
        let unsearched = u64::from(self.searches.saturating_sub(MAX_SEARCHES));
        let doubtful = self.suspect.forgotten().saturating_add(self.trusted.forgotten());
        let forgotten = self.issued.forgotten().saturating_add(self.parts.forgotten());
        let unseen = self.unseen.forgotten().saturating_add(self.answered_anyway.forgotten());
        let forgotten = forgotten.saturating_add(unseen);
        forgotten.saturating_add(doubtful).saturating_add(unsearched)
    }
}

impl Memory {
    /// The key of a token by server and value, of a client by server and address, or of both together.
    fn hash(&self, what: impl Hash) -> u64 {
        hash_one(&self.hasher, what)
    }
    /// Whether the token, given as a key, was issued so recently that this is the same answer.
    #[cold]
    fn has_just_issued(&self, key: u64, now: Time) -> bool {
        let same = |&(other, time): &(u64, Time)| other == key && at_translation(now, time);
        self.recent.iter().any(same)
    }
    /// Records the packet number of an answer; returns whether an earlier answer to its query has the same number. Parts with
    /// different numbers are no second answer.
    #[cold]
    fn repeats_part(&mut self, answer: &Answer, packets: u32) -> bool {
        let number = (packets >> 8) as u8;
        if let Some(parts) = self.parts.find(answer.exchange) {
            return !parts.insert(number);
        }
        let mut parts = Numbers::default();
        if answer.second {
            parts.insert(0); // the number of a first answer that is whole
        }
        let new = parts.insert(number);
        self.parts.insert(answer.exchange, parts);
        !new
    }
    /// The word and the bit of a server among those that have issued a token.
    #[inline(always)]
    fn issuer_bit(server: Endpoint) -> (usize, u64) {
        let ([first, second], end) = server.halves();
        let mixed = (first ^ second ^ u64::from(end)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 54) as usize, 1 << (mixed >> 48 & 63))
    }
    /// Whether a server has issued a token, as far as these bits tell.
    #[inline(always)]
    fn has_issued(&self, server: Endpoint) -> bool {
        let (word, bit) = Memory::issuer_bit(server);
        self.issuers.get(word).is_none_or(|word| word & bit != 0)
    }
    /// Whether a server issues nothing, and not just out of sight: it has answered queries, of another client, too, whose
    /// first challenges are in the capture, and no challenge. Otherwise the query is remembered until it is answered.
    #[cold]
    fn issues_nothing(&mut self, seen: &Observation<'_>, exchange: u64, client: u64) -> bool {
        let has_issued = self.has_issued(seen.server);
        let may_be_older = self.older.get(&client).is_some() || self.older.forgotten() > 0;
        if has_issued || seen.may_predate_capture || may_be_older {
            return false;
        }
        if let Some((first, several)) = self.answered_anyway.get_mut(&seen.server) {
            *several |= *first != client;
            return *several;
        }
        self.unseen.insert(exchange, ());
        false
    }
    /// Records that a query was answered although the capture shows no token for it.
    #[cold]
    fn answered_unseen(&mut self, server: Endpoint, client: Endpoint, exchange: u64) {
        if self.unseen.find(exchange).is_some() {
            let client = self.hash((server, client));
            self.answered_anyway.get_or_insert(server, (client, false));
        }
    }
    /// Prefetches the entry of the token that an answer issues.
    #[inline(always)]
    pub fn prefetch(&self, server: Endpoint, probe: &Probe) {
        if probe.role == Role::Response && probe.step == CHALLENGE {
            self.issued.prefetch(&self.hash((server, probe.request_state)));
        }
    }
    /// The token that the server issued last to a client, as a key. It is remembered longer than a conversation. The search is
    /// skipped after [`MAX_SEARCHES`], because a flood of unknown tokens must not take long.
    #[cold]
    fn latest(&mut self, owner: u64) -> Option<u64> {
        self.searches = self.searches.saturating_add(1);
        if self.searches > MAX_SEARCHES { None } else { self.issued.latest(|&other| other == owner) }
    }
}

pub(super) fn observe(memory: &mut Memory, seen: &Observation<'_>, raised: &mut Raised) {
    let query = seen.probe.step == QUERY;
    match *seen.pairing {
        Pairing::Asked { exchange, issue_pending, .. } if query => {
            token_rules(memory, seen, (exchange, issue_pending), raised);
        }
        Pairing::Asked { repeated, answered_by, .. } => {
            // Of a server that has issued a token, nobody will ask.
            if seen.may_predate_capture && !memory.has_issued(seen.server) {
                memory.older.insert(memory.hash((seen.server, seen.client)), ());
            }
            raised.proof = Proof::Lacks;
            // An answer before this request issued a token that has not been used yet.
            let unused = answered_by.is_none() && seen.issued.is_some_and(|issued| !issued.used);
            // A query after an unanswered challenge ends the wait: servers issue another token then.
            if unused || repeated {
                raised.add(&TXN_008);
            }
        }
        Pairing::Answered(answer) if query => answered_query(memory, seen, &answer, raised),
        Pairing::Answered(_) => answered_challenge(memory, seen, raised),
        _ => {}
    }
}

fn answered_query(memory: &mut Memory, seen: &Observation<'_>, answer: &Answer, raised: &mut Raised) {
    if (answer.second || seen.probe.request_state != 0)
        && memory.repeats_part(answer, seen.probe.request_state)
    {
        raised.add(&TXN_014);
    }
    if !memory.unseen.is_empty() {
        memory.answered_unseen(seen.server, seen.client, answer.exchange);
    }
    if !memory.suspect.is_empty() && memory.suspect.find(answer.exchange).is_some() {
        raised.proof = Proof::Wrong;
        raised.add(&SEC_001);
    }
}

fn answered_challenge(memory: &mut Memory, seen: &Observation<'_>, raised: &mut Raised) {
    let token = seen.probe.request_state;
    raised.proof = Proof::Issues(token);
    let (key, owner) = (memory.hash((seen.server, token)), memory.hash((seen.server, seen.client)));
    let (word, bit) = Memory::issuer_bit(seen.server);
    memory.issuers.get_mut(word).into_iter().for_each(|word| *word |= bit);
    let before = memory.issued.insert(key, owner);
    let now = seen.datagram.time;
    let translated = before.is_some_and(|before| before != owner) && memory.has_just_issued(key, now);
    memory.recent.get_mut(memory.next % RECENT).into_iter().for_each(|oldest| *oldest = (key, now));
    memory.next = memory.next.wrapping_add(1);
    if token != 0 && before.is_some() && !translated {
        raised.add_values(
            &TXN_015,
            Some(TOKEN_AT),
            Compared::new(ComparedValue::Hex(token.into(), 8), "a token that was not issued before"),
        );
    }
}

/// Checks whether the token of a query was issued to this client and is fresh. This is unknown if the client has just asked
/// for a token, and the answer follows the query in the file or is missing from it.
fn token_rules(
    memory: &mut Memory,
    seen: &Observation<'_>,
    (exchange, issue_pending): (u64, bool),
    raised: &mut Raised,
) {
    let token = seen.probe.key.unwrap_or_default();
    if let Some(issued) = seen.issued.filter(|issued| u64::from(issued.value) == token) {
        raised.proof = Proof::Returns;
        if issued.used {
            raised.add_values(
                &TXN_006,
                Some(TOKEN_AT),
                Compared::new(ComparedValue::Hex(token, 8), "a token that was not used before"),
            );
        }
        return;
    }
    let (key, client) = (memory.hash((seen.server, token as u32)), memory.hash((seen.server, seen.client)));
    let rule = match memory.issued.get(&key).copied() {
        Some(owner) if owner != client => &TXN_007,
        None if issue_pending
            && seen.issued.is_none_or(|issued| issued.used)
            && !memory.issues_nothing(seen, exchange, client) =>
        {
            if memory.trusted.insert(memory.hash((key, client)), ()).is_some() {
                raised.add_values(
                    &TXN_006,
                    Some(TOKEN_AT),
                    Compared::new(ComparedValue::Hex(token, 8), "a token that was not used before"),
                );
            }
            return;
        }
        _ if seen.issued.is_some() => &TXN_001,
        owner => match memory.latest(client) {
            Some(latest) if latest != key => &TXN_001,
            None if owner.is_none() && memory.trusted.get(&memory.hash((key, client))).is_none() => &TXN_002,
            // An unused latest token of the client would be known to its next conversation with the server, so this one was
            // used.
            _ => {
                raised.proof = Proof::Returns;
                return raised.add_values(
                    &TXN_006,
                    Some(TOKEN_AT),
                    Compared::new(ComparedValue::Hex(token, 8), "a token that was not used before"),
                );
            }
        },
    };
    // An older token of this client is one that it got all the same.
    let owned = memory.issued.get(&key) == Some(&client);
    raised.proof = if owned { Proof::Returns } else { Proof::Wrong };
    let latest =
        seen.issued.map_or(ComparedValue::from("a token that was issued to this client"), |issued| {
            ComparedValue::Hex(issued.value.into(), 8)
        });
    raised.add_values(rule, Some(TOKEN_AT), Compared::new(ComparedValue::Hex(token, 8), latest));
    if !seen.may_predate_capture {
        memory.suspect.insert(exchange, ());
    }
}
