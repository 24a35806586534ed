//! Unity SQP, the Server Query Protocol of Multiplay and Clanforge. Big-endian throughout.
//!
//! ```text
//! header             type u8 │ token u32
//! ChallengeRequest   00 │ 00000000
//! ChallengeResponse  00 │ token
//! QueryRequest       01 │ token │ version u16 │ requested_chunks u8
//! QueryResponse      01 │ token │ version u16 │ current_packet u8 │ last_packet u8 │ packet_length u16 │ chunks
//! ```
//!
//! Oddities: no field names the direction, so five zero bytes are a request or an answer with token
//! 0; an answer does not say which chunks it carries, so the request's bits travel to its decoder as
//! [`Glance::memo`]; there is no fixed port.

mod causes;
mod choice;
mod chunks;
mod exchange;
mod header;
mod samples;
mod server_rules;
mod tables;

use super::{
    Ask, Context, Direction, Glance, Info, Known, Level, Protocol, Role, StepInfo, StepRules, is_other_query,
    is_raknet,
};
use crate::contract::{Message, Raised};
use crate::decode::{Cursor, Fault, FieldSink};
use crate::exchange::Seen;
use exchange::*;

const CHALLENGE_REQUEST: u8 = 0;
const CHALLENGE_RESPONSE: u8 = 1;
const QUERY_REQUEST: u8 = 2;
const QUERY_RESPONSE: u8 = 3;
const UNKNOWN: u8 = 4;

const CHALLENGE: u8 = 0;
const QUERY: u8 = 1;

/// Longest request that a datagram to a known server is taken for when its client is new: the
/// receive buffer of go-svrquery's sample server, in bytes.
const LONGEST_REQUEST: usize = 16;

/// Unity's Server Query Protocol.
#[derive(Debug)]
pub struct Sqp;

impl Protocol for Sqp {
    type Memory = exchange::Memory;

    const INFO: Info = Info {
        name: "sqp",
        title: "Unity Server Query Protocol",
        ports: &[],
        spec: samples::SPEC,
        first: &[b"\x00", b"\x01"],
        messages: &[
            Message::named("challenge_request"),
            Message::named("challenge_response"),
            Message::named("query_request"),
            Message::named("query_response"),
            Message::named("unknown"),
        ],
        fragment: None,
        joining: None,
        steps: &[
            StepInfo {
                issues: true,
                validated: true,
                ..StepInfo::ordered(
                    "challenge",
                    StepRules {
                        unasked: Some(&TXN_005),
                        late: Some(&TXN_016),
                        copy: Some(&TXN_013),
                        larger: Some((1, &SEC_002)),
                        ..StepRules::new(&TXN_009)
                    },
                )
            },
            StepInfo {
                retransmits: true,
                validated: true,
                ..StepInfo::keyed(
                    "query",
                    8,
                    StepRules {
                        unasked: Some(&TXN_003),
                        other_key: Some(&TXN_004),
                        repeated: Some(&TXN_018),
                        late: Some(&TXN_016),
                        copy: Some(&TXN_013),
                        larger: Some((10, &SEC_003)),
                        key_at: Some(TOKEN_AT),
                        ..StepRules::new(&TXN_009)
                    },
                )
            },
        ],
        window_ms: 1000,
        ends: &header::HEADER,
        fields: &[header::FIELDS, chunks::FIELDS, server_rules::FIELDS, tables::FIELDS],
        rules: &[header::RULES, chunks::RULES, server_rules::RULES, tables::RULES, exchange::RULES],
        causes: causes::CAUSES,
        samples: samples::SAMPLES,
    };

    #[inline(always)]
    fn glance(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Glance> {
        let (&kind, rest) = p.split_first()?;
        if kind == 0 {
            return challenge_glance(p, wire_len);
        }
        let (&token, rest) = rest.split_first_chunk::<4>()?;
        let token = u32::from_be_bytes(token);
        let (&version, rest) = rest.split_first_chunk::<2>()?;
        let version = u16::from_be_bytes(version);
        if kind != 1 || version > 2 {
            return None;
        }
        match *rest {
            [chunks @ 0x01..=0x1f] if wire_len == 8 => {
                let asks = query(Role::Request, QUERY_REQUEST, token, asked(version, chunks), Level::High);
                // Small integers are no random data: a token must be there, or have been issued.
                Some(if token == 0 { Glance { level: Level::Low, paired: Level::Low, ..asks } } else { asks })
            }
            [0, 0, high, low, ..] => {
                let length = u16::from_be_bytes([high, low]) as usize;
                let answers = |level| query(Role::Response, QUERY_RESPONSE, token, 0, level);
                if wire_len == length.saturating_add(11) {
                    return Some(answers(Level::High));
                }
                // Its request must say that it is one, and not by another number than 0.
                let paired = if token == 0 { Level::Low } else { Level::High };
                (!is_raknet(p)).then(|| Glance { paired, ..answers(Level::Hint) })
            }
            _ => None,
        }
    }

    fn read(p: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
        let server = known.direction == Direction::S2c;
        let kind = p.first().copied();
        if known.level <= Level::Low {
            return if server { answers_candidate(p, wire_len, known) } else { repeats(p, wire_len, known) };
        }
        if !known.conversation && !damaged(p, wire_len, server) || is_other_query(p) {
            return None;
        }
        let level = known.level.min(Level::Medium);
        let Some(token) = token_of(p) else { return Some(stray(level)) };
        Some(match (kind, server) {
            (Some(0), false) => challenge(Role::Request, token, level),
            (Some(0), true) => challenge(Role::Response, token, level),
            (Some(1), false) => query(Role::Request, QUERY_REQUEST, token, asks_for(p), level),
            (Some(1), true) => query(Role::Response, QUERY_RESPONSE, token, packets(p), level),
            _ => stray(level),
        })
    }

    #[inline(always)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        header::decode(c, cx)
    }

    fn forgotten(memory: &Self::Memory) -> u64 {
        memory.forgotten()
    }

    /// The challenge, then ServerInfo; of everything each chunk in a query of its own, for servers may answer one alone.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        const CHUNKS: [u8; 5] = [0x01, 0x02, 0x04, 0x08, 0x10];
        let Some(query) = ask.answered.checked_sub(1) else { return Some(vec![0; 5]) };
        let &[0, a, b, c, d] = ask.first else { return None };
        let wanted = if ask.all { &CHUNKS[..] } else { &CHUNKS[..1] };
        wanted.get(query).map(|&chunk| vec![1, a, b, c, d, 0, 1, chunk])
    }

    #[inline]
    fn observe(memory: &mut Self::Memory, seen: &Seen<'_>, raised: &mut Raised) {
        exchange::observe(memory, seen, raised);
    }
}

/// Type 0: five bytes, zero in a request. Zeros of another length are a hint at most, for keep-alives
/// look so; they become a challenge request when an answer follows.
#[inline(always)]
fn challenge_glance(p: &[u8], wire_len: usize) -> Option<Glance> {
    if let [_, a, b, c, d] = *p
        && wire_len == 5
    {
        let token = u32::from_be_bytes([a, b, c, d]);
        let (message, role) = match token {
            0 => (CHALLENGE_REQUEST, Role::MaybeRequest),
            _ => (CHALLENGE_RESPONSE, Role::MaybeResponse),
        };
        return Some(Glance { message, ..challenge(role, token, Level::Low) });
    }
    let zeros = p.len() <= LONGEST_REQUEST && is_zeros(p, wire_len);
    let message = if p.len() < 5 { UNKNOWN } else { CHALLENGE_REQUEST };
    zeros.then(|| Glance { message, paired: Level::Hint, ..challenge(Role::MaybeRequest, 0, Level::Hint) })
}

/// What a server sends to five zero bytes that wait for their answer: what begins like one, cut or too long, is
/// claimed, and what is as long, of another type. Zeros again are a keep-alive, and the wrong length proves nothing.
fn answers_candidate(p: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
    let kind = p.first().copied();
    let like = if kind == Some(0) { wire_len <= LONGEST_REQUEST } else { p.len() == 5 && wire_len == 5 };
    let answer = like && p.iter().skip(1).any(|&b| b != 0);
    let glance = || match (kind, token_of(p)) {
        (Some(0), Some(token)) => challenge(Role::Response, token, Level::Low),
        (Some(1), Some(token)) => query(Role::Response, QUERY_RESPONSE, token, 0, Level::Low),
        _ => stray(Level::Low),
    };
    let waits = known.level == Level::Low && known.open && known.issued.is_some();
    (waits && answer).then(|| Glance { paired: Level::Low, ..glance() })
}

/// What a client sends to whom a token seems to have been issued: a query with that token is one, whatever else is
/// wrong with it; a header with another one may be, cut.
fn repeats(p: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
    let (issued, token) = (known.issued.filter(|token| *token != 0)?, token_of(p)?);
    let (right, short) = (token == issued, wire_len == 5);
    let asks = p.first() == Some(&1) && wire_len <= LONGEST_REQUEST && (right || short);
    let level = if right { Level::High } else { Level::Low };
    asks.then(|| query(Role::Request, QUERY_REQUEST, token, asks_for(p), level))
}

/// The token in the header; `None` where that is cut.
fn token_of(p: &[u8]) -> Option<u32> {
    p.get(1..)?.first_chunk::<4>().map(|token| u32::from_be_bytes(*token))
}

/// What a query asks for, see [`asked`]; 0 where it is too short to ask for anything.
fn asks_for(p: &[u8]) -> u32 {
    match p {
        [_, _, _, _, _, high, low, chunks, ..] => asked(u16::from_be_bytes([*high, *low]), *chunks),
        _ => 0,
    }
}

#[inline(always)]
fn challenge(role: Role, token: u32, level: Level) -> Glance {
    let message = if role == Role::Response { CHALLENGE_RESPONSE } else { CHALLENGE_REQUEST };
    // Zeros answered by zeros are two keep-alives as well as a challenge: that proves nothing.
    let paired = if token == 0 { Level::Low } else { Level::Medium };
    Glance { message, role, step: CHALLENGE, key: None, memo: token, level, paired, begins: true, part: None }
}

/// The packet numbers of an answer: not 0 when it is one of several parts.
fn packets(p: &[u8]) -> u32 {
    p.get(7..9).map_or(0, |n| n.iter().fold(0, |all, &n| all << 8 | u32::from(n)))
}

/// What the decoder of the answer must know: bits 0 to 7 the chunks, bits 8 to 23 the version, bit 24
/// that the request named them.
const fn asked(version: u16, chunks: u8) -> u32 {
    1 << 24 | (version as u32) << 8 | chunks as u32
}

#[inline(always)]
fn query(role: Role, message: u8, token: u32, memo: u32, level: Level) -> Glance {
    let key = Some(token as u64);
    Glance { message, role, step: QUERY, key, memo, level, paired: Level::High, begins: true, part: None }
}

fn stray(level: Level) -> Glance {
    Glance { key: None, paired: level, ..query(Role::Stray, UNKNOWN, 0, 0, level) }
}

/// Whether a datagram to or from a known server, in a conversation not seen before, looks like a
/// packet of ours that was damaged, rather than like something else.
fn damaged(p: &[u8], wire_len: usize, server: bool) -> bool {
    let ours = p.first().is_some_and(|&kind| kind <= 1);
    // Without a question, zeros answer nothing: the server asks another one, or keeps a way open.
    let zeros = is_zeros(p, wire_len);
    match server {
        false => ours && wire_len <= LONGEST_REQUEST,
        true => ours && !zeros && (wire_len <= LONGEST_REQUEST || has_version(p)),
    }
}

/// Whether all of it is there, and zero.
fn is_zeros(p: &[u8], wire_len: usize) -> bool {
    p.len() == wire_len && p.iter().all(|&b| b == 0)
}

/// Whether a version that exists stands where queries and their answers have one.
fn has_version(p: &[u8]) -> bool {
    matches!(p, [_, _, _, _, _, 0, 0..=2, ..])
}
