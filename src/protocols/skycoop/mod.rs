//! Sky Co-op's server query (a mod of The Long Dark). Little-endian, signed integers.
//!
//! ```text
//! query  −2 i32
//! reply  147 i32 │ see `reply`
//! ```
//!
//! Oddities: the query shares its socket and port with the game and with RCON (`rcon`); nothing ties a
//! reply to its query but the order; the query's four bytes begin Source's split answers too, which go
//! the other way and are longer; 147 is the number of a packet of the game, so a game packet of that
//! length begins like a reply.

mod config;
mod exchange;
mod layout;
mod rcon;
mod reply;
mod samples;
mod strings;

use super::{
    Ask, Context, Direction, Glance, Info, Known, Level, Protocol, Role, StepInfo, StepRules, is_other_query,
};
use crate::contract::{Message, Raised};
use crate::decode::wire::*;
use crate::decode::{Cursor, Ends, Fault, FieldKind, FieldSink, Labels, Value, fields};
use crate::exchange::Seen;
use crate::rule::{Example, Step::*, rules};
use exchange::*;
use reply::{HEADER, RSP_001, SURPLUS, int};
use samples::{OK, RQ, wiki};

const STATUS_REQUEST: u8 = 0;
const STATUS_RESPONSE: u8 = 1;
const RCON_REQUEST: u8 = 2;
const RCON_RESPONSE: u8 = 3;
/// Something in place of a query or a reply.
const DAMAGED: u8 = 4;
/// A packet of the game.
const GAME: u8 = 5;

/// First bytes of the query.
const QUERY: [u8; 4] = [0xfe, 0xff, 0xff, 0xff];
/// The same, big-endian.
const QUERY_SWAPPED: [u8; 4] = [0xff, 0xff, 0xff, 0xfe];
/// Header of a reply.
const REPLY: i32 = 147;
/// The same with its bytes swapped.
const SWAPPED: i32 = REPLY.swap_bytes();
/// Numbers of the packets that a server of the game sends.
const PACKETS: std::ops::RangeInclusive<i32> = 1..=188;
/// Most clients of a server of the game, generously; longest identifier of one, in bytes.
const CLIENTS: i32 = 256;
const LONGEST_GUID: i32 = 64;
/// Longest name that a damaged reply by itself is believed to have, in bytes.
const LONGEST_NAME: i32 = 512;
/// What every real reply has in its configuration: `'players':[`.
const PLAYERS: [u8; 22] = *b"'\0p\0l\0a\0y\0e\0r\0s\0'\0:\0[\0";

fields! {
    /// −2 in a query, −1 in a request of RCON.
    MESSAGE_TYPE = "message_type": Int, Labels::Pairs(&[(-2, "status request"), (-1, "RCON request")]);
    /// Bytes of a packet that is no message of the query.
    PAYLOAD = "payload": Bytes;
}

rules! {
    /// The server returns at once when it has received fewer than four bytes.
    REQ_001 = "SKY-REQ-001" Error "query is shorter than 4 bytes" {
        cite: samples::server("Server.cs"),
        examples: [Example::of(&[C("feffff")])],
    }
    /// The query is one integer. The server ignores what follows it.
    REQ_002 = "SKY-REQ-002" Warning "bytes follow the query" {
        cite: wiki("Query format"),
        examples: [Example::of(&[RQ, OK, C("feffffff 00")])],
    }
    /// The bytes are FF FF FF FE. The server reads −16777217, takes it for the number of a client, and
    /// answers with a message that the version is wrong.
    REQ_003 = "SKY-REQ-003" Error "query is written big-endian" {
        cite: wiki("C# Example"),
        examples: [Example::of(&[C("fffffffe")])],
    }
}

static REQUEST: Ends = Ends::new(&REQ_001, &REQ_002, &SURPLUS);

/// Sky Co-op's server query.
#[derive(Debug)]
pub struct Skycoop;

impl Protocol for Skycoop {
    type Memory = ();

    const INFO: Info = Info {
        name: "skycoop",
        title: "Sky Co-op server query",
        ports: &[exchange::PORT],
        spec: samples::SPEC,
        first: &[b"\xfe\xff\xff", b"\xff\xff\xff", b"\x93\x00\x00\x00"],
        messages: &[
            Message::named("status_request"),
            Message::named("status_response"),
            Message::named("rcon_request"),
            Message::named("rcon_response"),
            Message::named("unknown"),
            Message::named("unknown"),
        ],
        fragment: None,
        joining: None,
        steps: &[StepInfo::ordered(
            "status",
            StepRules {
                unasked: Some(&TXN_001),
                overlapping: Some(&TXN_003),
                late: Some(&TXN_005),
                copy: Some(&TXN_004),
                larger: Some((10, &SEC_001)),
                ..StepRules::new(&TXN_002)
            },
        )],
        window_ms: 5000,
        ends: &reply::FIXED,
        fields: &[FIELDS, reply::FIELDS, config::FIELDS, rcon::FIELDS],
        rules: &[RULES, reply::RULES, strings::RULES, config::RULES, rcon::RULES, exchange::RULES],
        causes: exchange::CAUSES,
        samples: samples::SAMPLES,
    };

    #[inline(never)]
    fn glance(p: &[u8], wire_len: usize, [source, _]: [u16; 2]) -> Option<Glance> {
        match *p {
            [0xfe, 0xff, 0xff, 0xff] if wire_len == 4 => Some(request(Level::Medium)),
            [0xfe, 0xff, 0xff] if wire_len == 3 => Some(stray(DAMAGED, Level::Low)),
            [0xff, 0xff, 0xff, 0xfe] if wire_len == 4 => Some(stray(DAMAGED, Level::Low)),
            [0xff, 0xff, 0xff, 0xff, _, 0, 0, 0, ..] if wire_len == p.len() => {
                rcon::is_request(p, wire_len).then(|| stray(RCON_REQUEST, Level::Medium))
            }
            [147, 0, 0, 0, ref rest @ ..] => {
                let whole = wire_len == p.len();
                if whole && layout::is_exact(rest) || rest.windows(PLAYERS.len()).any(|w| w == PLAYERS) {
                    return Some(response(Level::High));
                }
                let plausible = int(p, 4).is_some_and(|n| (0..=LONGEST_NAME).contains(&n));
                let usual = source == exchange::PORT && plausible && !is_game_packet(p, wire_len);
                usual.then(|| response(Level::Low))
            }
            _ => None,
        }
    }

    fn read(p: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
        if known.level <= Level::Low {
            return None;
        }
        let level = known.level.min(Level::Medium);
        match known.direction {
            Direction::C2s => from_client(p, wire_len, known.conversation, level),
            Direction::S2c => from_server(p, wire_len, known.conversation && known.open, level),
        }
    }

    #[inline(never)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        match cx.message {
            STATUS_REQUEST => {
                c.ends(&REQUEST);
                c.field(&MESSAGE_TYPE, le_i32).map(drop)
            }
            STATUS_RESPONSE => reply::decode(c),
            RCON_REQUEST | RCON_RESPONSE => rcon::decode(c, cx),
            DAMAGED => damaged(c, cx),
            _ => unknown(c, cx, c.rest()),
        }
    }

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| vec![0xfe, 0xff, 0xff, 0xff])
    }

    #[inline(never)]
    fn observe(_: &mut (), seen: &Seen<'_>, raised: &mut Raised) {
        exchange::observe(seen, raised);
    }
}

fn request(level: Level) -> Glance {
    let (message, role) = (STATUS_REQUEST, Role::Request);
    Glance {
        message,
        role,
        step: 0,
        key: None,
        memo: 0,
        level,
        paired: Level::High,
        begins: true,
        part: None,
    }
}

fn response(level: Level) -> Glance {
    Glance { message: STATUS_RESPONSE, role: Role::Response, ..request(level) }
}

fn stray(message: u8, level: Level) -> Glance {
    Glance { message, role: Role::Stray, paired: level, ..request(level) }
}

/// What a client sends to a known server.
fn from_client(p: &[u8], wire_len: usize, conversation: bool, level: Level) -> Option<Glance> {
    if p.starts_with(&QUERY) {
        return Some(request(level));
    }
    let cut = wire_len < 4 && QUERY.starts_with(p) && (conversation || p.len() > 1);
    if cut || p == QUERY_SWAPPED && wire_len == 4 {
        return Some(stray(DAMAGED, level));
    }
    if rcon::is_request(p, wire_len) {
        return Some(stray(RCON_REQUEST, level));
    }
    (rcon::begins_request(p) || joins_game(p)).then(|| stray(GAME, level))
}

/// What a known server sends; `open` says that a query of the client waits for its reply.
fn from_server(p: &[u8], wire_len: usize, open: bool, level: Level) -> Option<Glance> {
    if is_other_query(p) {
        return None;
    }
    let game = is_game_packet(p, wire_len);
    match int(p, 0) {
        Some(REPLY) if open || !game => Some(response(level)),
        Some(SWAPPED) if open => Some(response(level)),
        Some(_) if open && reply::has_prefix(p, wire_len) => Some(response(level)),
        Some(_) if rcon::is_response(p, wire_len) => Some(stray(RCON_RESPONSE, level)),
        _ if open => Some(stray(DAMAGED, level)),
        _ => game.then(|| stray(GAME, level)),
    }
}

/// Whether it is a packet of the game from its server: the length of the rest, and a number.
fn is_game_packet(p: &[u8], wire_len: usize) -> bool {
    let length = int(p, 0).and_then(|n| usize::try_from(n).ok());
    length.is_some_and(|n| n.saturating_add(4) == wire_len)
        && int(p, 4).is_some_and(|id| PACKETS.contains(&id))
}

/// Whether it is a packet of the game from a client: its number, its identifier, and a length of the rest.
fn joins_game(p: &[u8]) -> bool {
    let guid = int(p, 4).filter(|n| (1..=LONGEST_GUID).contains(n)).and_then(|n| usize::try_from(n).ok());
    let Some(guid) = guid.and_then(|n| p.get(8..)?.get(..n)) else { return false };
    int(p, 0).is_some_and(|n| (0..=CLIENTS).contains(&n)) && guid.iter().all(|b| b.is_ascii_graphic())
}

/// What stands in place of a query or a reply.
fn damaged<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let whole = c.rest();
    if cx.direction == Direction::C2s {
        c.ends(&REQUEST);
        c.field(&MESSAGE_TYPE, le_i32)?;
        return match whole.starts_with(&QUERY_SWAPPED) {
            true => Err(c.stop(&REQ_003)),
            false => unknown(c, cx, whole),
        };
    }
    let header = c.field(&HEADER, le_i32)?;
    c.check(&RSP_001, || header == REPLY);
    unknown(c, cx, whole)
}

/// The rest of a packet as bytes. There may be a damaged request of RCON in it, with its password.
fn unknown<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, cx: Context, whole: &'a [u8]) -> Result<(), Fault> {
    let secret = !cx.secrets && rcon::begins_request(whole);
    let show = |b: &'a [u8]| if secret { Value::Secret(FieldKind::Bytes) } else { Value::Bytes(b) };
    if !c.rest().is_empty() {
        c.field_as(&PAYLOAD, bytes(c.rest().len()), show)?;
    }
    Ok(())
}
