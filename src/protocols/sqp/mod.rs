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
//! Oddities: no field tells the direction, so five zero bytes are a request or an answer with token 0. An answer does not tell
//! which chunks it contains, so the request's bits reach its decoder as [`Probe::request_state`]. There is no fixed port.

mod answering;
mod chunks;
mod exchange;
mod layouts;
mod probing;
mod tables;

use super::other::is_other_query;
use super::prelude::*;
use super::raknet::is_ping_or_pong;
use crate::contract::Relation::*;
use crate::net::Endpoint;
use chunks::{BODY, INF_001, INF_002, KNOWN};
use exchange::*;
use tables::*;

messages! {
    CHALLENGE_REQUEST = Message::named("challenge_request");
    CHALLENGE_RESPONSE = Message::named("challenge_response");
    QUERY_REQUEST = Message::named("query_request");
    QUERY_RESPONSE = Message::named("query_response").chosen();
    UNKNOWN = Message::named("unknown");
}

/// Maximum length of a datagram from a new client to a known server that is taken for a request, in bytes: the size of the
/// receive buffer of go-svrquery's sample server.
const LONGEST_REQUEST: usize = 16;

/// Unity's Server Query Protocol.
#[derive(Debug)]
pub struct Sqp;

impl Protocol for Sqp {
    type Memory = Memory;

    const INFO: Info = Info {
        known_as: &[("unity", 0), ("multiplay", 0)],
        offsets: &[1],
        probes: probing::ROWS,
        ports: &[],
        first: &[Form::of(&[0]).length(1, LONGEST_REQUEST), Form::of(&[1]).length(8, usize::MAX)],
        messages: MESSAGES,
        steps: &[
            StepInfo {
                issues: true,
                validated: true,
                ..StepInfo::ordered(
                    "challenge",
                    StepRules {
                        unsolicited: Some(&TXN_005),
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
                        unsolicited: Some(&TXN_003),
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
        challenge: Some(CHALLENGE_RESPONSE),
        window_ms: 1000,
        fields: &[HEADER_FIELDS, PACKET_FIELDS, chunks::FIELDS, RULE_FIELDS, TABLE_FIELDS],
        rules: &[HEADER_RULES, CHUNK_RULES, chunks::RULES, SERVER_RULES_RULES, TABLE_RULES],
        exchange_rules: exchange::RULES,
        causes: CAUSES,
        layouts: layouts::LAYOUTS,
        suspicious: &[&CHK_004, &chunks::INF_006, &RSP_006, &TXN_001, &TXN_004, &TXN_007, &TXN_011, &TXN_012],
        unsuspicious: &[&RSP_009, &TAB_006],
        replies: answering::REPLIES,
        samples: SAMPLES,
        ..Info::of("sqp", "Unity Server Query Protocol", SPEC, &HEADER)
    };

    #[inline(always)]
    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        let (&kind, rest) = p.split_first()?;
        if kind == 0 {
            return challenge_probe(p, wire_len);
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
                let request = query(Role::Request, QUERY_REQUEST, token, asked(version, chunks), Level::High);
                // With token 0 these are just small integers, which prove nothing: the query must carry a token, or the server
                // must have issued one.
                Some(if token == 0 {
                    Probe { level: Level::Low, paired: Level::Low, ..request }
                } else {
                    request
                })
            }
            [0, 0, high, low, ..] => {
                let length = u16::from_be_bytes([high, low]) as usize;
                let response = |level| query(Role::Response, QUERY_RESPONSE, token, 0, level);
                if wire_len == length.saturating_add(11) {
                    return Some(response(Level::High));
                }
                // Only its request can prove that this is an answer, and only by a token other than 0.
                let paired = if token == 0 { Level::Low } else { Level::High };
                (!is_ping_or_pong(p)).then(|| Probe { paired, ..response(Level::Hint) })
            }
            _ => None,
        }
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let server = known.direction == Direction::S2c;
        let kind = p.first().copied();
        if known.level <= Level::Low {
            return if server {
                candidate_answer(p, wire_len, known)
            } else {
                candidate_query(p, wire_len, known)
            };
        }
        if !known.conversation && !damaged(p, wire_len, known) || is_other_query(&Sqp::INFO, p) {
            return None;
        }
        let level = known.level.min(Level::Medium);
        let Some(token) = token_of(p) else { return Some(stray(level)) };
        Some(match (kind, server) {
            (Some(0), false) => challenge(Role::Request, token, level),
            (Some(0), true) => challenge(Role::Response, token, level),
            (Some(1), false) => {
                // Whatever else is wrong with it, nothing but a query carries the token that was issued.
                let right = token != 0 && known.issued == Some(token);
                let level = if right { Level::High } else { level };
                query(Role::Request, QUERY_REQUEST, token, requested_chunks(p, wire_len), level)
            }
            (Some(1), true) => {
                // A further part of an answer is no further answer.
                let begins = p.get(7).is_none_or(|current| *current == 0);
                Probe { begins, ..query(Role::Response, QUERY_RESPONSE, token, packets(p), level) }
            }
            _ => stray(level),
        })
    }

    #[inline(always)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let kind = c.field(&TYPE, byte)?;
        c.require_that(&HDR_002, kind <= 1, || Compared::new(kind, "0 or 1"))?;
        let token = c.field(&TOKEN, be_u32)?;
        match cx.message {
            CHALLENGE_REQUEST if kind == 0 => {
                c.ends(&CHALLENGE_ENDS);
                c.compare(
                    &REQ_001,
                    || token == 0,
                    || Compared::new(ComparedValue::Hex(token.into(), 8), ComparedValue::Hex(0, 8)),
                );
                Ok(())
            }
            CHALLENGE_RESPONSE if kind == 0 => {
                c.compare(
                    &RSP_002,
                    || token != 0,
                    || Compared::new(ComparedValue::Hex(token.into(), 8), "a token other than 0"),
                );
                Ok(())
            }
            QUERY_REQUEST if kind == 1 => query_request(c),
            QUERY_RESPONSE if kind == 1 => query_response(c, cx),
            _ => c.field(&PAYLOAD, bytes(c.rest().len())).map(drop),
        }
    }

    /// The challenge, then ServerInfo. With `all`, each chunk is requested in a query of its own, because some servers answer
    /// only one, and after a challenge of its own, because most of them take a token only once.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        const CHUNKS: [u8; 5] = [0x01, 0x02, 0x04, 0x08, 0x10];
        let wanted = if ask.all { &CHUNKS[..] } else { &CHUNKS[..1] };
        let chunk = *wanted.get(ask.answered / 2)?;
        if ask.answered.is_multiple_of(2) {
            return Some(vec![0; 5]);
        }
        let &[0, a, b, c, d] = ask.latest else { return None };
        Some(vec![1, a, b, c, d, 0, 1, chunk])
    }

    #[inline(always)]
    fn prefetch(memory: &Self::Memory, server: Endpoint, probe: &Probe) {
        memory.prefetch(server, probe);
    }

    #[inline]
    fn observe(memory: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        exchange::observe(memory, seen, raised);
    }
}

/// Recognises type 0: five bytes, zero in a request. Zeros of another length are at most a hint, because keep-alives look the
/// same; they become a challenge request when an answer follows.
#[inline(always)]
fn challenge_probe(p: &[u8], wire_len: usize) -> Option<Probe> {
    if let [_, a, b, c, d] = *p
        && wire_len == 5
    {
        let token = u32::from_be_bytes([a, b, c, d]);
        let (message, role) = match token {
            0 => (CHALLENGE_REQUEST, Role::MaybeRequest),
            _ => (CHALLENGE_RESPONSE, Role::MaybeResponse),
        };
        return Some(Probe { message, ..challenge(role, token, Level::Low) });
    }
    let zeros = p.len() <= LONGEST_REQUEST && is_zeros(p, wire_len);
    let message = if p.len() < 5 { UNKNOWN } else { CHALLENGE_REQUEST };
    zeros.then(|| Probe { message, paired: Level::Hint, ..challenge(Role::MaybeRequest, 0, Level::Hint) })
}

/// Recognises a datagram from a server while five zero bytes wait for their answer: one that begins like an answer but is cut or
/// too long, or one of the right length but another type. Zeros are a keep-alive, and a wrong length proves nothing.
fn candidate_answer(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
    let kind = p.first().copied();
    let is_like_answer =
        if kind == Some(0) { wire_len <= LONGEST_REQUEST } else { p.len() == 5 && wire_len == 5 };
    let is_answer = is_like_answer && p.iter().skip(1).any(|&b| b != 0);
    let probe = || match (kind, token_of(p)) {
        (Some(0), Some(token)) => challenge(Role::Response, token, Level::Low),
        (Some(1), Some(token)) => query(Role::Response, QUERY_RESPONSE, token, 0, Level::Low),
        _ => stray(Level::Low),
    };
    // Zeros of another length are at most a hint, and so is an answer that is as wrong, until a query carries its token.
    let as_wrong = kind == Some(0) && (6..=LONGEST_REQUEST).contains(&wire_len);
    let expected = known.level == Level::Low || known.level == Level::Hint && as_wrong;
    let waits = expected && known.open && known.issued.is_some();
    (waits && is_answer).then(|| Probe { level: known.level, paired: known.level, ..probe() })
}

/// Recognises a datagram from a client that seems to have received a token: a query with that token, whatever else is wrong
/// with it, or a bare header with another token, which may be a query that was cut.
fn candidate_query(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
    let (issued, token) = (known.issued.filter(|token| *token != 0)?, token_of(p)?);
    let (right, short) = (token == issued, wire_len == 5);
    let asks = p.first() == Some(&1) && wire_len <= LONGEST_REQUEST && (right || short);
    let level = if right { Level::High } else { Level::Low };
    asks.then(|| query(Role::Request, QUERY_REQUEST, token, requested_chunks(p, wire_len), level))
}

/// The token in the header; `None` if the header is cut.
fn token_of(p: &[u8]) -> Option<u32> {
    p.get(1..)?.first_chunk::<4>().map(|token| u32::from_be_bytes(*token))
}

/// The chunks that a query requests, see [`asked`]; 0 if it is too short to request any, [`UNKNOWN_CHUNKS`] if the capture cut
/// them off.
fn requested_chunks(p: &[u8], wire_len: usize) -> u32 {
    match p {
        [_, _, _, _, _, high, low, chunks, ..] => asked(u16::from_be_bytes([*high, *low]), *chunks),
        _ if wire_len >= 8 => UNKNOWN_CHUNKS,
        _ => 0,
    }
}

#[inline(always)]
fn challenge(role: Role, token: u32, level: Level) -> Probe {
    let message = if role == Role::Response { CHALLENGE_RESPONSE } else { CHALLENGE_REQUEST };
    // Zeros answered by zeros may be two keep-alives as well as a challenge, so they prove nothing.
    let paired = if token == 0 { Level::Low } else { Level::Medium };
    Probe { step: CHALLENGE, request_state: token, paired, ..Probe::of(message, role, level) }
}

/// The packet numbers of an answer. They are not 0 if it is one of several parts.
fn packets(p: &[u8]) -> u32 {
    p.get(7..9).map_or(0, |n| n.iter().fold(0, |all, &n| all << 8 | u32::from(n)))
}

/// The request state of a query whose chunks are not in the capture.
const UNKNOWN_CHUNKS: u32 = 1 << 25;

/// The request state that the decoder of the answer needs: the chunks in bits 0 to 7, the version in bits 8 to 23, and bit 24,
/// which says that the request stated them.
const fn asked(version: u16, chunks: u8) -> u32 {
    1 << 24 | (version as u32) << 8 | chunks as u32
}

#[inline(always)]
fn query(role: Role, message: u8, token: u32, request_state: u32, level: Level) -> Probe {
    Probe { step: QUERY, key: Some(token as u64), request_state, ..Probe::of(message, role, level) }
}

fn stray(level: Level) -> Probe {
    Probe { step: QUERY, ..Probe::of(UNKNOWN, Role::Stray, level) }
}

/// Whether a datagram to or from a known server, in a conversation not seen before, looks like a damaged packet of this
/// protocol rather than like something else.
fn damaged(p: &[u8], wire_len: usize, known: Known<'_>) -> bool {
    let ours = p.first().is_some_and(|&kind| kind <= 1);
    let short = wire_len <= LONGEST_REQUEST;
    // Zeros from a server that was not queried are no answer: it queries another server, or keeps a path open.
    let unasked = !known.open && is_zeros(p, wire_len);
    match known.direction {
        Direction::C2s => ours && short,
        Direction::S2c => ours && !unasked && (short || is_like_answer(p, wire_len)),
    }
}

/// Whether the payload was captured completely and consists of zeros.
fn is_zeros(p: &[u8], wire_len: usize) -> bool {
    p.len() == wire_len && p.iter().all(|&b| b == 0)
}

/// Whether there is a known version at its place in an answer, followed by the packet numbers of an answer in one packet, or by
/// the right length. Small numbers of other protocols may look like one of these.
fn is_like_answer(p: &[u8], wire_len: usize) -> bool {
    match *p {
        [_, _, _, _, _, 0, 0..=2, 0, 0, ..] => true,
        [_, _, _, _, _, 0, 0..=2, _, _, high, low, ..] => {
            wire_len == usize::from(u16::from_be_bytes([high, low])) + 11
        }
        _ => false,
    }
}

// --- Challenge and query packets up to the chunks

/// Names of the bits of RequestedChunks, lowest first.
static CHUNK_NAMES: &[&str] =
    &["server_info", "server_rules", "player_info", "team_info", "metrics", "bit_5", "bit_6", "bit_7"];

/// Maximum length of an answer that the known clients read, in bytes of UDP payload.
const CLIENT_BUFFER: usize = 1472;

fields! {
    list HEADER_FIELDS;
    /// Packet type: 0 challenge, 1 query, in both directions.
    TYPE = "type": Uint, Labels::FromZero(&["challenge", "query"]);
    /// Challenge token: 0 in a challenge request, the server's random number afterwards.
    TOKEN = "token": Uint volatile token;
    /// Version of the protocol: 0, 1 or 2.
    VERSION = "version": Uint;
    /// Chunks asked for: bit 0 ServerInfo, 1 ServerRules, 2 PlayerInfo, 3 TeamInfo, 4 Metrics.
    REQUESTED_CHUNKS = "requested_chunks": Uint, Labels::Bits(CHUNK_NAMES);
    /// The same by name.
    REQUESTED_CHUNK_NAMES = "requested_chunk_names": Names;
    /// Number of this packet; splitting is not supported, so 0.
    CURRENT_PACKET = "current_packet": Uint;
    /// Number of the last packet, 0.
    LAST_PACKET = "last_packet": Uint;
    /// Bytes after this field.
    PACKET_LENGTH = "packet_length": Uint volatile;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
    /// Body of a packet of unknown type.
    PAYLOAD = "payload": Bytes;
}

rules! {
    list HEADER_RULES;
    /// Every packet starts with the type and the challenge token, five bytes. The Unreal SDK drops anything
    /// shorter; Go servers pad their receive buffer with zeros and answer it all the same.
    HDR_001 = "SQP-HDR-001" Error "datagram is shorter than the 5-byte header" {
        cite: unity("Headers"),
        examples: [
            Example::of(&[H1, H2, C("00 000000")]),
            Example::of(&[H1, H2, C("01")]),
        ],
    }
    /// Only challenge (0) and query (1) packets exist. It is said only in a conversation that is known to
    /// be SQP.
    HDR_002 = "SQP-HDR-002" Error "packet type is neither 0 nor 1" {
        cite: unity("Packet types"),
        examples: [Example::of(&[H1, H2, C("0200000000")])],
    }
    /// The published sample is five zero bytes, the text is silent. Go servers answer nothing else; the
    /// Unreal SDK, USQP and FPSSample ignore the token.
    REQ_001 = "SQP-REQ-001" Warning "challenge request carries a token" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[C("00 12345678"), H2, QI])],
    }
    /// A challenge packet is a header without payload. All known servers ignore the excess.
    REQ_002 = "SQP-REQ-002" Warning "challenge request is longer than 5 bytes" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[C("00 00000000 00"), H2, QI])],
    }
    /// The request ends inside its version or before the byte that names the chunks. Go servers read it
    /// with zeros behind it, so it may even be answered, with nothing in it.
    REQ_003 = "SQP-REQ-003" Error "query request is shorter than 8 bytes" {
        cite: unity("Query packets, request format"),
        examples: [
            Example::of(&[H1, H2, C("01 80902348")]),
            Example::of(&[H1, H2, C("01 80902348 00")]),
            Example::of(&[H1, H2, C("01 80902348 0001")]),
        ],
    }
    /// The usual cause is a version written with 32 bits, as the PHP client of Clansuite does.
    REQ_004 = "SQP-REQ-004" Warning "query request is longer than 8 bytes" {
        cite: unity("Query packets, request format"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 01 ff")])],
    }
    /// The sample server of go-svrquery takes only 1, the game server hosting SDK refuses more than 2; the
    /// Unreal SDK echoes anything.
    REQ_005 = "SQP-REQ-005" Error "request version is above 2" {
        cite: go_svrquery("lib/svrsample"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0003 01")])],
    }
    /// The value is 0x0100 or 0x0200: a 1 or 2 with its bytes swapped. All numbers are big-endian.
    REQ_006 = "SQP-REQ-006" Error "request version is written little-endian" {
        cite: unity("Data types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0100 01")])],
    }
    /// No document names version 0, but the clients of FPSSample and USQP never set the field. The sample
    /// server of go-svrquery refuses it.
    REQ_007 = "SQP-REQ-007" Note "request version is 0" {
        cite: USQP,
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[H1, H2, C("01 80902348 0000 01")])],
    }
    /// Go servers reply with an empty body, USQP and FPSSample stay silent.
    REQ_008 = "SQP-REQ-008" Warning "request asks for no chunk" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 00")])],
    }
    /// Bits 5 to 7 name no chunk in any document or implementation.
    REQ_009 = "SQP-REQ-009" Warning "request asks for undefined chunks" {
        cite: unity("Chunk types"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 21")])],
    }
    /// Only ServerInfo must be answered. A server may leave the others out, and most do.
    REQ_010 = "SQP-REQ-010" Note "request asks for optional chunks" {
        cite: unity("Chunk types"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02")])],
    }
    /// The document allows it, but chunks in the answer carry no tag, and USQP, FPSSample and the C#
    /// toolkit compare the byte for equality and stay silent.
    REQ_011 = "SQP-REQ-011" Note "request asks for more than one chunk" {
        cite: unity("Chunk types, note"),
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 03")])],
    }
    /// The game server hosting SDK sends metrics only from version 2 on; go-svrquery asks for them with
    /// version 1 and its sample server answers.
    REQ_012 = "SQP-REQ-012" Note "metrics are requested with a version below 2" {
        cite: Cite { doc: "Unity game server hosting SDK for Go", section: "server/proto/sqp/sqp.go", url: "https://github.com/Unity-Technologies/unity-gaming-services-go-sdk" },
        per_server: true,
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 10")])],
    }
    /// go-svrquery reads datagrams as one stream of bytes: the excess becomes the start of the next
    /// message, and the query fails.
    RSP_001 = "SQP-RSP-001" Error "challenge response is longer than 5 bytes" {
        cite: unity("Challenge packets"),
        examples: [Example::of(&[H1, S("00 80902348 00")])],
    }
    /// The token is to be random. With 0 the response is byte-identical to the request; the Unreal SDK can
    /// draw it.
    RSP_002 = "SQP-RSP-002" Warning "challenge token is 0" {
        cite: unity("Challenge numbers"),
        examples: [Example::of(&[H1, S("00 00000000")])],
    }
    /// It ends inside the version, the packet numbers or the packet length.
    RSP_003 = "SQP-RSP-003" Error "query response is shorter than its 11-byte header" {
        cite: unity("Standard response format"),
        examples: [
            Example::of(&[H1, H2, QI, S("01 80902348 00")]),
            Example::of(&[H1, H2, QI, S("01 80902348 0001 00")]),
            Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 00")]),
        ],
    }
    /// No server sends it. 0x0100 or 0x0200 hints at little-endian numbers.
    RSP_004 = "SQP-RSP-004" Error "response version is above 2" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0003 00 00 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// go-svrquery rejects such an answer as malformed.
    RSP_005 = "SQP-RSP-005" Error "packet number is greater than the last packet number" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/query.go"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 01 00 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// Both packet numbers should always be 0: splitting is not supported, and no implementation puts the
    /// parts together.
    RSP_006 = "SQP-RSP-006" Warning "response is split over several packets" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 01 0012 0000000e 0001000801410162016301641e61")])],
    }
    /// It announces more bytes than follow it. Clients wait for the rest until their time is up. A value
    /// that equals the whole datagram counts the header in by mistake; one that fits with its bytes swapped
    /// is written little-endian.
    RSP_007 = "SQP-RSP-007" Error "packet length exceeds the datagram" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 001d 0000000e 0001000801410162016301641e61")])],
    }
    /// With a client that reads the socket as a stream, such as go-svrquery, they spoil the next exchange.
    RSP_008 = "SQP-RSP-008" Warning "bytes follow the announced body" {
        cite: unity("Standard response format"),
        examples: [Example::of(&[H1, H2, QI, S("01 80902348 0001 00 00 0012 0000000e 0001000801410162016301641e61ee")])],
    }
    /// go-svrquery and USQP read at most 1472 bytes; the rest of the datagram is lost to them.
    RSP_009 = "SQP-RSP-009" Warning "response is larger than 1472 bytes" {
        cite: go_svrquery("lib/svrquery/protocol/sqp/consts.go"),
        examples: [Example::of(&[H1, H2, C("01 80902348 0001 02"), S("01 80902348 0001 00 00 0616 00000612 026b3004fe 78*254 026b3104fe 78*254 026b3204fe 78*254 026b3304fe 78*254 026b3404fe 78*254 026b3504fe 78*254")])],
    }
}

static HEADER: Ends = Ends::new(&HDR_001, &RSP_001, &SURPLUS);
static CHALLENGE_ENDS: Ends = Ends::new(&HDR_001, &REQ_002, &SURPLUS);
static REQUEST: Ends = Ends::new(&REQ_003, &REQ_004, &SURPLUS);
static RESPONSE: Ends = Ends::new(&RSP_003, &RSP_008, &SURPLUS);

#[inline(always)]
fn query_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&REQUEST);
    let version = c.field(&VERSION, be_u16)?;
    let swapped = version == 0x0100 || version == 0x0200;
    c.compare(
        &REQ_006,
        || !swapped,
        || {
            Compared::new(
                ComparedValue::Hex(version.into(), 4),
                ComparedValue::Hex(version.swap_bytes().into(), 4),
            )
        },
    );
    c.compare(&REQ_005, || version <= 2 || swapped, || Compared::new(version, ComparedValue::AtMost(2)));
    c.check_number(&REQ_007, version, ComparedValue::Not(0));
    let chunks = c.field(&REQUESTED_CHUNKS, byte)?;
    c.derived(&REQUESTED_CHUNK_NAMES, crate::decode::Value::Names(CHUNK_NAMES, chunks.into()));
    c.compare(&REQ_008, || chunks != 0, || Compared::new(ComparedValue::byte(chunks), "at least one chunk"));
    c.compare(
        &REQ_009,
        || chunks & 0xe0 == 0,
        || Compared::new(ComparedValue::byte(chunks), ComparedValue::byte(chunks & !0xe0)),
    );
    c.compare(
        &REQ_010,
        || chunks & 0x1e == 0,
        || Compared::new(ComparedValue::byte(chunks), ComparedValue::byte(chunks & !0x1e)),
    );
    c.compare(
        &REQ_011,
        || (chunks & KNOWN).count_ones() < 2,
        || Compared::new(ComparedValue::byte(chunks), "one bit"),
    );
    c.compare(
        &REQ_012,
        || chunks & chunks::METRICS == 0 || version >= 2,
        || Compared::new(version, ComparedValue::AtLeast(2)),
    );
    Ok(())
}

#[inline(always)]
fn query_response<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&RESPONSE);
    let wire_len = c.wire_len();
    c.compare_whole(
        &RSP_009,
        || wire_len <= CLIENT_BUFFER,
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtMost(CLIENT_BUFFER as i64)),
    );
    let version = c.field(&VERSION, be_u16)?;
    c.check_number(&RSP_004, version, ComparedValue::AtMost(2));
    // The version is not compared with a request that the answer does not belong to.
    let asked = cx.asked.filter(|a| a >> 24 == 1).map(|a| (a >> 8) as u16);
    c.compare(
        &TXN_010,
        || asked.is_none_or(|a| a == version),
        || Compared::new(version, asked.unwrap_or_default()),
    );
    let current_packet = c.field(&CURRENT_PACKET, byte)?;
    c.compare(&RSP_006, || current_packet == 0, || Compared::new(current_packet, 0));
    let last_packet = c.field(&LAST_PACKET, byte)?;
    c.compare(
        &RSP_005,
        || current_packet <= last_packet,
        || Compared::new(current_packet, ComparedValue::AtMost(last_packet.into())),
    );
    c.compare(&RSP_006, || last_packet == 0 || current_packet != 0, || Compared::new(last_packet, 0));
    let length = c.field(&PACKET_LENGTH, be_u16)?;
    let end = c.offset().saturating_add(length);
    let body = c.sized(length as usize, &RSP_007, &BODY, |c| {
        if current_packet != 0 {
            return opaque(c);
        }
        chunks::decode(c, cx.asked.filter(|asked| asked & UNKNOWN_CHUNKS == 0))
    });
    if body.is_err() {
        c.out_of_line(|c| check_after_body(c, end));
    }
    body
}

/// If the body cannot be read to its end, surplus bytes after it are still reported, because PacketLength tells where it ends.
#[cold]
#[inline(never)]
fn check_after_body<S: FieldSink>(c: &mut Cursor<'_, '_, S>, end: u16) {
    let at = Span { start: end, ..c.whole() };
    c.about(Some(&SURPLUS));
    c.compare_at(
        &RSP_008,
        at,
        || at.start >= at.end,
        || Compared::new(ComparedValue::Bytes(at.end.saturating_sub(at.start).into()), "none"),
    );
}

// --- Causes

/// Errors that end the decoding of a body, or shift what follows.
static BREAKS: &[&Rule] = &[
    &CHK_001, &CHK_002, &CHK_005, &STR_001, &INF_001, &INF_002, &RUL_001, &DYN_001, &DYN_003, &TAB_001,
    &TAB_003, &MET_001,
];
/// Errors in a body that neither end its decoding nor shift what follows.
static HARMLESS: &[&Rule] = &[&STR_002, &TAB_002, &MET_002];
static MISSING: &[&Rule] = &[&TXN_011, &TXN_012];
static HEADER_BREAKS: &[&Rule] = &[&RSP_001, &RSP_003, &RSP_004, &RSP_005, &RSP_007, &RSP_008];
/// Errors of incomplete answers.
static CUT: &[&Rule] = &[&RSP_006, &RSP_007];

static CAUSES: &[Causation] = &[
    (Same, CUT, BREAKS),
    (Same, CUT, HARMLESS),
    (Same, CUT, MISSING),
    (Same, BREAKS, BREAKS),
    (Same, BREAKS, MISSING),
    (Request, &[&REQ_001, &REQ_007, &REQ_008, &REQ_010, &TXN_002, &TXN_006, &TXN_008], &[&TXN_009]),
    (Instead, &[&HDR_002, &TXN_004], &[&TXN_009]),
    // The reference client continues reading where a broken answer left it, and takes the bytes there for a token. They may be
    // bytes that follow the answer.
    (Earlier, HEADER_BREAKS, &[&TXN_001]),
    (Earlier, BREAKS, &[&TXN_001]),
    (Earlier, HARMLESS, &[&TXN_001]),
];
