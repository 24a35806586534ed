//! Rules across datagrams: cookies, copies, time. Also contains the datagrams that all examples share.

use super::{LEGACY_POLL, STATE_RESPONSE};
use crate::bounded::hashing::hash_one;
use crate::capture::Time;
use crate::net::Endpoint;
use crate::protocols::prelude::*;
use arrayvec::ArrayVec;
use hashbrown::DefaultHashBuilder;
use std::hash::Hash;

/// UDP port of version 0.
pub(super) const LEGACY_PORT: u16 = 15777;

/// The published document.
pub(super) const SPEC: &str = "https://satisfactory.wiki.gg/wiki/Dedicated_servers/Lightweight_Query_API";

pub(super) const fn api(section: &'static str) -> Cite {
    Cite { doc: "Satisfactory Lightweight Query API", section, url: SPEC }
}

/// The game's own headers, as published for mod developers.
pub(super) const fn css(file: &'static str) -> Cite {
    let url = "https://github.com/satisfactorymodding/SatisfactoryModLoader";
    Cite { doc: "Coffee Stain headers", section: file, url }
}

/// A poll with cookie 0x0123456789ABCDEF, and its answer.
pub(super) const PQ: Step = C("d5f6 00 01 efcdab8967452301 01");
pub(super) const OK: Step = S(
    "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01",
);

/// Another poll.
pub(super) const PQ2: Step = C("d5f6 00 01 0200000000000000 01");

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[PQ, OK]),
    // Idle, no save loaded, a name beyond ASCII.
    Example::on(
        7777,
        &[
            C("d5f6 00 01 0102030405060708 01"),
            S("d5f6 01 01 0102030405060708 01 7a960500 0000000000000000 00 0900 46c3a46272696b2020 01"),
        ],
    ),
    Example::on(15777, &[C("0000 efcdab8967452301"), S("0100 efcdab8967452301 03 7f3b0300 983a")]),
];

// --- Across datagrams

/// Maximum number of cookies remembered over all servers with 64 MiB; the oldest goes first.
const MAX_COOKIES: usize = 131_072;
/// Maximum number of clients remembered whose cookie other clients sent afterwards; the oldest goes first.
const MAX_SHARING: usize = 8_192;
/// Maximum number of cookies that several clients sent, and of clients that wait with the same cookie; the oldest goes first.
const MAX_SHARED: usize = 1_024;
const MAX_WAITING: usize = 8;
/// Maximum number of servers whose last state is remembered.
const MAX_STATES: usize = 16_384;
/// How long a poll is open at most, in nanoseconds: the late window.
const LATE: i64 = 10_000_000_000;
/// Maximum number of successive polls without an answer that is still normal.
const NORMAL_UNANSWERED: u8 = 20;
/// Position of the cookie in a message with an envelope, and in one of version 0.
const COOKIE_AT: Span = Span { start: 4, end: 12 };
const LEGACY_COOKIE_AT: Span = Span { start: 2, end: 10 };

rules! {
    /// No poll of this client is outstanding: it was lost before the capture, or somebody answers what was
    /// never asked.
    TXN_001 = "SFQ-TXN-001" Error "response without a poll" {
        cite: api("Flow"),
        needs_past: true,
        examples: [Example::of(&[OK])],
    }
    /// The cookie is copied from the request; this one belongs to none of the open polls of the client.
    TXN_002 = "SFQ-TXN-002" Error "cookie matches no outstanding poll" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 0200000000000000 03 7a960500 0000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// The answer window is two seconds. UDP may lose datagrams; a server that starts up does not answer
    /// either.
    TXN_003: UNANSWERED = "SFQ-TXN-003" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ])],
    }
    /// The cookie is to identify one request, and this one was answered before. Some clients always send the
    /// same: then a late answer cannot be told from the next.
    REQ_003 = "SFQ-REQ-003" Note "cookie is used again after its answer" {
        cite: api("Poll Server State"),
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[PQ, OK, PQ])],
    }
    /// It counts up. A lower value means a restart, a counter that wrapped, or two servers behind one address.
    SUB_005 = "SFQ-SUB-005" Warning "sub state version went back" {
        cite: api("Server Sub States"),
        examples: [Example::of(&[PQ, OK, PQ2, S("d5f6 01 01 0200000000000000 03 7a960500 0000000000000000 04 000300 010100 030500 020100 0300 466162 01")])],
    }
    /// Something has changed on the server; clients ask for the details then.
    SUB_006 = "SFQ-SUB-006" Note "sub state version went up" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, OK, PQ2, S("d5f6 01 01 0200000000000000 03 7a960500 0000000000000000 04 001200 010100 030500 020100 0300 466162 01")])],
    }
    /// The same cookie again: a retransmission. The document advises to poll at an interval instead of
    /// waiting.
    TXN_004 = "SFQ-TXN-004" Note "poll is repeated while unanswered" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, PQ, OK])],
    }
    /// A second response for a cookie already answered: UDP duplicated it, or the server answered a
    /// retransmission too.
    TXN_005: COPY = "SFQ-TXN-005" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, OK, OK])],
    }
    /// The cookie alone does not tell whose answer it is; client and server together do.
    TXN_006 = "SFQ-TXN-006" Note "two clients have the same cookie open" {
        cite: api("Poll Server State"),
        examples: [Example::of(&[PQ, C2("d5f6 00 01 efcdab8967452301 01"), OK, S2("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01")])],
    }
    /// It should be that of the poll, which was 1.
    TXN_007 = "SFQ-TXN-007" Warning "response has another protocol version than its poll" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [Example::of(&[PQ, S("d5f6 01 02 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01")])],
    }
    /// The server was updated, or two servers answer behind one address.
    TXN_008 = "SFQ-TXN-008" Note "changelist of the server has changed" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, OK, PQ2, S("d5f6 01 01 0200000000000000 03 7b960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01")])],
    }
    /// The document asks clients not to poll a server for long that does not answer. Polls more than a minute
    /// apart are not counted as a row.
    TXN_009 = "SFQ-TXN-009" Warning "more than 20 polls in a row without an answer" {
        cite: api("Flow"),
        per_server: true,
        side: Client,
        examples: [Example::of(&[
            C("d5f6 00 01 0100000000000000 01"), C("d5f6 00 01 0200000000000000 01"),
            C("d5f6 00 01 0300000000000000 01"), C("d5f6 00 01 0400000000000000 01"),
            C("d5f6 00 01 0500000000000000 01"), C("d5f6 00 01 0600000000000000 01"),
            C("d5f6 00 01 0700000000000000 01"), C("d5f6 00 01 0800000000000000 01"),
            C("d5f6 00 01 0900000000000000 01"), C("d5f6 00 01 0a00000000000000 01"),
            C("d5f6 00 01 0b00000000000000 01"), C("d5f6 00 01 0c00000000000000 01"),
            C("d5f6 00 01 0d00000000000000 01"), C("d5f6 00 01 0e00000000000000 01"),
            C("d5f6 00 01 0f00000000000000 01"), C("d5f6 00 01 1000000000000000 01"),
            C("d5f6 00 01 1100000000000000 01"), C("d5f6 00 01 1200000000000000 01"),
            C("d5f6 00 01 1300000000000000 01"), C("d5f6 00 01 1400000000000000 01"),
            C("d5f6 00 01 1500000000000000 01"),
        ])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_010: LATE = "SFQ-TXN-010" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, Wait(3010), OK])],
    }
    /// Thirteen bytes with a forged source address bring a victim more than three times as much: nothing proves
    /// that the client is who it seems to be.
    SEC_001 = "SFQ-SEC-001" Note "answer is more than three times its poll, without a challenge" {
        cite: api("Flow"),
        per_server: true,
        ratio: true,
        examples: [Example::of(&[PQ, OK])],
    }
    /// The game's 1.0 moved the query to the game's port, and the protocol changed with it.
    LEG_003 = "SFQ-LEG-003" Note "poll of version 0 to another port than 15777" {
        cite: css("Server/FGDSQueryTypes.h"),
        per_server: true,
        examples: [Example::on(7777, &[C("0000 efcdab8967452301")])],
    }
}

/// The state of a server according to its last response.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Changelist.
    net_cl: u32,
    /// Versions of the sub states with a name.
    versions: [Option<u16>; 8],
}

/// A client's last poll with a cookie.
#[derive(Clone, Copy, Debug)]
struct Poll {
    time: Time,
    /// Hash of the client that polled.
    client: u32,
    answered: bool,
    /// Whether an earlier poll of the same client with this cookie was answered.
    answered_before: bool,
}

impl Poll {
    /// Whether the client has received an answer to a poll with this cookie.
    fn is_used(&self) -> bool {
        self.answered || self.answered_before
    }
    /// Whether it is open when another client sends the cookie, and an address translation has not shown one poll twice.
    fn conflicts_with(&self, new: &Poll) -> bool {
        self.is_open(new.time) && !at_translation(new.time, self.time)
    }
    /// Whether the answer may still come.
    fn is_open(&self, now: Time) -> bool {
        !self.answered && now.since(self.time).is_none_or(|t| t <= LATE)
    }
}

/// Cookies and states. Addresses are stored as seeded hashes: two servers are confused with a probability of one in 2^64, and
/// two clients with the same cookie with one in 2^32.
#[derive(Debug)]
pub struct Memory {
    /// The last poll by server and cookie.
    cookies: Bounded<u64, Poll, MAX_COOKIES>,
    /// Whether clients that polled with a cookie before its last poll have received an answer, by server, cookie and client.
    /// Clients whose cookie never changes share it with all others of their kind.
    used: Bounded<u64, bool, MAX_SHARING>,
    /// Polls of such clients that wait for an answer, by server and cookie.
    waiting: Bounded<u64, ArrayVec<Poll, MAX_WAITING>, MAX_SHARED>,
    states: Bounded<Endpoint, State, MAX_STATES>,
    hasher: DefaultHashBuilder,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Self {
        Memory {
            cookies: budget.into(),
            used: budget.into(),
            waiting: budget.into(),
            states: budget.into(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Forgets for Memory {
    fn forgotten(&self) -> u64 {
        let polls = [self.cookies.forgotten(), self.used.forgotten(), self.waiting.forgotten()];
        polls.iter().fold(self.states.forgotten(), |all, n| all.saturating_add(*n))
    }
}

impl Memory {
    /// Prefetches the entry of the cookie that a datagram carries.
    #[inline(always)]
    pub fn prefetch(&self, server: Endpoint, probe: &Probe) {
        if let Some(cookie) = probe.key {
            self.cookies.prefetch(&self.hash((server, cookie)));
        }
    }

    fn hash(&self, what: impl Hash) -> u64 {
        hash_one(&self.hasher, what)
    }

    /// Records a poll with a cookie that was sent before. Returns whether its client has received an answer with the cookie,
    /// and whether another client has an open poll with it. `old` is the last poll with the cookie, by any client.
    #[cold]
    #[inline(never)]
    fn record_reuse(&mut self, key: u64, old: Poll, new: Poll) -> (bool, bool) {
        let mut used = old.is_used();
        if old.client != new.client {
            used = self.used.get(&self.hash((key, new.client))).is_some_and(|used| *used);
            self.used.insert(self.hash((key, old.client)), old.is_used());
            let waiting = self.waiting.get_or_insert(key, ArrayVec::new());
            waiting.retain(|other| other.client != new.client && other.is_open(new.time));
            if waiting.is_full() {
                waiting.remove(0);
            }
            if old.is_open(new.time) {
                waiting.push(old);
            }
        }
        if let Some(last) = self.cookies.get_mut(&key) {
            last.answered_before = used;
        }
        (used, self.waiting.get(&key).into_iter().flatten().any(|other| other.conflicts_with(&new)))
    }

    /// Records a retransmission: the answer to the poll may come later.
    #[cold]
    #[inline(never)]
    fn record_retransmission(&mut self, seen: &Observation<'_>) {
        let Some(cookie) = seen.probe.key else { return };
        let key = self.hash((seen.server, cookie));
        let (client, now) = (self.hash(seen.client) as u32, seen.datagram.time);
        let others = self.waiting.get_mut(&key).into_iter().flatten();
        let last = self.cookies.get_mut(&key).into_iter();
        last.chain(others).filter(|poll| poll.client == client).for_each(|poll| poll.time = now);
    }

    /// Records an answer to a client after other clients have sent its cookie.
    #[cold]
    #[inline(never)]
    fn record_answer_after_others(&mut self, key: u64, client: u32) {
        let client_key = self.hash((key, client));
        if let Some(used) = self.used.get_mut(&client_key) {
            *used = true;
        }
        if let Some(waiting) = self.waiting.get_mut(&key) {
            waiting.retain(|other| other.client != client);
        }
    }
}

pub(super) fn observe(memory: &mut Memory, seen: &Observation<'_>, raised: &mut Raised) {
    match *seen.pairing {
        Pairing::Asked { .. } => observe_poll(memory, seen, raised),
        Pairing::Retransmission { .. } => {
            memory.record_retransmission(seen);
            check_unanswered(seen, raised);
        }
        Pairing::Answered(_) => observe_answer(memory, seen, raised),
        _ => {}
    }
}

fn observe_poll(memory: &mut Memory, seen: &Observation<'_>, raised: &mut Raised) {
    if seen.probe.message == LEGACY_POLL && seen.server.port() != LEGACY_PORT {
        raised.add_values(&LEG_003, None, Compared::new(seen.server.port(), LEGACY_PORT));
    }
    if let Some(cookie) = seen.probe.key {
        let (server, client) = (seen.server, seen.client);
        let (key, client_hash) = (memory.hash((server, cookie)), memory.hash(client) as u32);
        let (time, answered, answered_before) = (seen.datagram.time, false, false);
        let new = Poll { client: client_hash, time, answered, answered_before };
        if let Some(old) = memory.cookies.insert(key, new) {
            let (used, open) = memory.record_reuse(key, old, new);
            let at = if seen.probe.message == LEGACY_POLL { LEGACY_COOKIE_AT } else { COOKIE_AT };
            if used {
                raised.add_values(
                    &REQ_003,
                    Some(at),
                    Compared::new(ComparedValue::Hex(cookie, 16), "a cookie that was not used before"),
                );
            }
            if open {
                raised.add_values(
                    &TXN_006,
                    Some(at),
                    Compared::new(ComparedValue::Hex(cookie, 16), "a cookie of this client alone"),
                );
            }
        }
    }
    check_unanswered(seen, raised);
}

/// Checks the number of successive polls without an answer. A retransmission counts as a poll.
fn check_unanswered(seen: &Observation<'_>, raised: &mut Raised) {
    if seen.unanswered == NORMAL_UNANSWERED.saturating_add(1) {
        raised.add_values(
            &TXN_009,
            None,
            Compared::new(seen.unanswered, ComparedValue::AtMost(NORMAL_UNANSWERED.into())),
        );
    }
}

fn observe_answer(memory: &mut Memory, seen: &Observation<'_>, raised: &mut Raised) {
    let (server, client) = (seen.server, seen.client);
    let client_hash = memory.hash(client) as u32;
    if let Some(cookie) = seen.probe.key {
        let key = memory.hash((server, cookie));
        match memory.cookies.get_mut(&key) {
            Some(last) if last.client == client_hash => last.answered = true,
            Some(_) => memory.record_answer_after_others(key, client_hash),
            None => {}
        }
    }
    if seen.probe.message != STATE_RESPONSE || seen.datagram.cut > 0 {
        return;
    }
    let Some(response) = comparable(seen.datagram.payload) else { return };
    let first = State { net_cl: response.net_cl, ..State::default() };
    let state = memory.states.get_or_insert(server, first);
    let before = *state;
    state.net_cl = response.net_cl;
    if before.net_cl != response.net_cl {
        raised.add_values(&TXN_008, Some(NET_CL_AT), Compared::new(response.net_cl, before.net_cl));
    }
    for (i, (at, id, version)) in response.sub_states().enumerate() {
        let Some(known) = state.versions.get_mut(usize::from(id)) else { continue };
        *known = Some(version);
        let Some(&Some(old)) = before.versions.get(usize::from(id)) else { continue };
        // If a sub state is listed twice, the last version counts.
        if version != old && !response.sub_states().skip(i.saturating_add(1)).any(|(_, later, _)| later == id)
        {
            let rule = if version < old { &SUB_005 } else { &SUB_006 };
            raised.add_values(rule, Some(at), Compared::new(version, old));
        }
    }
}

// --- The parts of a response that are compared with the next one

/// Length of a sub state in bytes: number and version.
pub(super) const ENTRY: usize = 3;

/// Position of the changelist in a message with its envelope.
pub(super) const NET_CL_AT: Span = Span { start: 13, end: 17 };
/// Offset of the sub states.
const SUB_STATES_AT: usize = 26;

/// The parts of a response that are compared with the next one.
pub(super) struct Comparable<'a> {
    pub net_cl: u32,
    entries: &'a [u8],
}

/// Extracts them from a complete state response; `None` if that is too short.
pub(super) fn comparable(p: &[u8]) -> Option<Comparable<'_>> {
    let net_cl = u32::from_le_bytes(*p.get(NET_CL_AT.start.into()..)?.first_chunk()?);
    let count = usize::from(*p.get(SUB_STATES_AT.saturating_sub(1))?);
    let rest = p.get(SUB_STATES_AT..)?;
    let (entries, behind) = rest.split_at_checked(count.saturating_mul(ENTRY))?;
    if behind.is_empty() && rest.last() == Some(&1) {
        return None; // the last entry would contain the terminator
    }
    Some(Comparable { net_cl, entries: if is_misprinted(count, rest) { &[] } else { entries } })
}

impl Comparable<'_> {
    /// The position of the version, the number and the version of each sub state.
    pub fn sub_states(&self) -> impl Iterator<Item = (Span, u8, u16)> {
        self.entries.as_chunks::<ENTRY>().0.iter().enumerate().map(|(i, &[id, low, high])| {
            let start = i.saturating_mul(ENTRY).saturating_add(SUB_STATES_AT).saturating_add(1) as u16;
            (Span { start, end: start.saturating_add(2) }, id, u16::from_le_bytes([low, high]))
        })
    }
}

/// Whether length and name at `at`, followed by the terminator, end exactly where the message ends.
#[inline(always)]
fn ends_with_name(rest: &[u8], at: usize) -> bool {
    let Some(&[low, high]) = rest.get(at..).and_then(|r| r.first_chunk::<2>()) else { return false };
    let name = u16::from_le_bytes([low, high]) as usize;
    rest.len() == at.saturating_add(name).saturating_add(3)
}

/// Whether this many sub states have the layout that the document misprints instead of the real one.
#[inline(always)]
pub(super) fn is_misprinted(count: usize, rest: &[u8]) -> bool {
    !ends_with_name(rest, count.saturating_mul(ENTRY)) && follows_misprint(count, rest)
}

/// Whether the bytes after the number of sub states fit one of the document's misprints exactly: a name with a one-byte length,
/// or sub states of ten bytes.
#[cold]
fn follows_misprint(count: usize, rest: &[u8]) -> bool {
    // Whether a length in `width` bytes at `at`, the name and the terminator end where the message ends.
    let fits = |at: usize, width: usize| {
        let length = match rest.get(at..at.saturating_add(width)) {
            Some(&[low]) => low as usize,
            Some(&[low, high]) => u16::from_le_bytes([low, high]) as usize,
            _ => return false,
        };
        let name = at.saturating_add(width);
        let end = name.saturating_add(length);
        let clean = rest.get(name..end).is_some_and(|name| !Str(name).has_control() && Str(name).is_utf8());
        clean && rest.get(end..) == Some(&[1])
    };
    fits(count.saturating_mul(ENTRY), 1) || count > 0 && fits(count.saturating_mul(10), 2)
}
