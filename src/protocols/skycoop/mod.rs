//! Sky Co-op's server query (a mod of The Long Dark). Little-endian, signed integers.
//!
//! ```text
//! query  −2 i32
//! reply  147 i32 │ see `reply`
//! RCON   −1 i32 │ password_length i32 │ password UTF-8 │ command_length i32 │ command UTF-16LE
//!        130 i32 │ text_length i32 │ text UTF-16LE
//! ```
//!
//! Oddities: the query shares its socket and port with the game and with RCON. Only the order ties a reply to its query.
//! Source's split answers begin with the same four bytes as the query, but go the other way and are longer. 147 is the number
//! of a packet of the game, so a game packet of that length begins like a reply.

mod answering;
mod config;
mod layouts;
mod probing;
mod reply;

use super::other::is_other_query;
use super::prelude::*;
use config::*;
use reply::*;

/// The default port of servers.
const PORT: u16 = 26950;

messages! {
    STATUS_REQUEST = Message::named("status_request");
    STATUS_RESPONSE = Message::named("status_response");
    RCON_REQUEST = Message::named("rcon_request");
    RCON_RESPONSE = Message::named("rcon_response");
    // In place of a query or a reply.
    DAMAGED = Message::named("unknown");
    // A packet of the game.
    GAME = Message::named("unknown");
}

/// First bytes of the query.
const QUERY: [u8; 4] = [0xfe, 0xff, 0xff, 0xff];
/// The query in big-endian byte order.
const QUERY_SWAPPED: [u8; 4] = [0xff, 0xff, 0xff, 0xfe];
/// Packet numbers that a game server sends.
const PACKETS: std::ops::RangeInclusive<i32> = 1..=188;
/// A generous maximum for the clients of a game server, and the maximum length of a client's identifier in bytes.
const CLIENTS: i32 = 256;
const LONGEST_GUID: i32 = 64;
/// Maximum length of the name in a damaged reply for it to be plausible outside a conversation, in bytes.
const LONGEST_NAME: i32 = 512;
/// The text that the configuration of every real reply contains: `'players':[`.
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
        cite: server("Server.cs"),
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

rules! {
    list EXCHANGE_RULES;
    /// The server only responds: the query was lost before the capture, or somebody answers what was never
    /// asked.
    TXN_001 = "SKY-TXN-001" Error "reply without a query" {
        cite: wiki("Query format"),
        needs_past: true,
        examples: [Example::of(&[OK])],
    }
    /// The mod waits five seconds and does not ask again.
    TXN_002: UNANSWERED = "SKY-TXN-002" {
        cite: client("ClientUser.Ping"),
        examples: [Example::of(&[RQ])],
    }
    /// Replies carry no identifier: they are paired first in, first out, and a lost one shifts the others.
    TXN_003 = "SKY-TXN-003" Note "second query while one is open" {
        cite: wiki("Query format"),
        examples: [Example::of(&[RQ, RQ])],
    }
    /// A byte-identical copy of an earlier answer: UDP may duplicate datagrams.
    TXN_004: COPY = "SKY-TXN-004" {
        cite: wiki("Reply format"),
        examples: [Example::of(&[RQ, OK, OK])],
    }
    /// Later than the answer window of five seconds, within the late window.
    TXN_005: LATE = "SKY-TXN-005" {
        cite: client("ClientUser.Ping"),
        examples: [Example::of(&[RQ, Wait(6000), OK])],
    }
    /// The default is 26950; any port that is configured is legal.
    TXN_006 = "SKY-TXN-006" Note "server is not on the default port" {
        cite: wiki("Examples for easier understanding"),
        per_server: true,
        examples: [Example::on(35735, &[RQ, OK])],
    }
    /// Four bytes with a forged source address bring a victim more than ten times as much: nothing proves
    /// that the client is who it seems to be.
    SEC_001 = "SKY-SEC-001" Warning "answer is more than ten times its query, without a challenge" {
        cite: wiki("Query format"),
        per_server: true,
        ratio: true,
        lenient: Note,
        examples: [Example::of(&[RQ, OK])],
    }
}

static CAUSES: &[Causation] = &[
    // Another message in place of a reply, or a reply that is cut inside its header.
    (Relation::Instead, &[&RSP_001, &RSP_002], &[&TXN_002]),
];

static REQUEST: Ends = Ends::new(&REQ_001, &REQ_002, &SURPLUS);

/// Sky Co-op's server query.
#[derive(Debug)]
pub struct Skycoop;

impl Protocol for Skycoop {
    type Memory = ();

    const INFO: Info = Info {
        probes: probing::ROWS,
        known_as: &[("sky-co-op", 0)],
        ports: &[PORT],
        first: &[
            Form::of(b"\xfe\xff\xff").length(3, 4),
            Form::of(b"\xff\xff\xff\xfe").length(4, 4),
            Form::of(b"\xff\xff\xff\xff").and(5, &[0; 3]),
            Form::of(b"\x93\x00\x00\x00"),
        ],
        messages: MESSAGES,
        steps: &[StepInfo::ordered(
            "status",
            StepRules {
                unsolicited: Some(&TXN_001),
                late: Some(&TXN_005),
                copy: Some(&TXN_004),
                larger: Some((10, &SEC_001)),
                ..StepRules::new(&TXN_002)
            },
        )],
        window_ms: 5000,
        fields: &[FIELDS, REPLY_FIELDS, config::FIELDS, RCON_FIELDS],
        rules: &[RULES, REPLY_RULES, STRING_RULES, config::RULES, RCON_RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: CAUSES,
        layouts: layouts::LAYOUTS,
        replies: answering::REPLIES,
        samples: SAMPLES,
        ..Info::of("skycoop", "Sky Co-op server query", SPEC, &FIXED)
    };

    #[inline(never)]
    fn probe(p: &[u8], wire_len: usize, [source, _]: [u16; 2]) -> Option<Probe> {
        match *p {
            [0xfe, 0xff, 0xff, 0xff] if wire_len == 4 => Some(request(Level::Medium)),
            [0xfe, 0xff, 0xff] if wire_len == 3 => Some(stray(DAMAGED, Level::Low)),
            [0xff, 0xff, 0xff, 0xfe] if wire_len == 4 => Some(stray(DAMAGED, Level::Low)),
            [0xff, 0xff, 0xff, 0xff, _, 0, 0, 0, ..] if wire_len == p.len() => {
                is_rcon_request(p, wire_len).then(|| stray(RCON_REQUEST, Level::Medium))
            }
            [147, 0, 0, 0, ref rest @ ..] => {
                let whole = wire_len == p.len();
                if whole && is_exact(rest) || rest.windows(PLAYERS.len()).any(|w| w == PLAYERS) {
                    return Some(response(Level::High));
                }
                let plausible = int(p, 4).is_some_and(|n| (0..=LONGEST_NAME).contains(&n));
                let is_usual = source == PORT && plausible && !is_game_packet(p, wire_len);
                is_usual.then(|| response(Level::Low))
            }
            _ => None,
        }
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
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
                c.field(&MESSAGE_TYPE, le_i32)?;
                [&REQ_003, &SEC_002].into_iter().for_each(|rule| c.check(rule, || true));
                Ok(())
            }
            STATUS_RESPONSE => reply::reply(c),
            RCON_REQUEST | RCON_RESPONSE => rcon(c, cx),
            DAMAGED => damaged(c, cx),
            _ => unknown(c, cx, c.rest()),
        }
    }

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| vec![0xfe, 0xff, 0xff, 0xff])
    }

    #[inline(never)]
    fn observe(_: &mut (), seen: &Observation<'_>, raised: &mut Raised) {
        match seen.pairing {
            Pairing::Asked { alone: false, .. } => raised.add(&TXN_003),
            Pairing::Answered(_) if seen.server.port() != PORT => {
                raised.add_values(&TXN_006, None, Compared::new(seen.server.port(), PORT));
            }
            _ => {}
        }
    }
}

fn request(level: Level) -> Probe {
    Probe::of(STATUS_REQUEST, Role::Request, level)
}

fn response(level: Level) -> Probe {
    Probe::of(STATUS_RESPONSE, Role::Response, level)
}

fn stray(message: u8, level: Level) -> Probe {
    Probe::of(message, Role::Stray, level)
}

/// Recognises a datagram that a client sends to a known server.
fn from_client(p: &[u8], wire_len: usize, conversation: bool, level: Level) -> Option<Probe> {
    if p.starts_with(&QUERY) {
        return Some(request(level));
    }
    // An empty datagram is no query.
    let cut = wire_len < 4 && QUERY.starts_with(p) && p.len() > usize::from(!conversation);
    if cut || p == QUERY_SWAPPED && wire_len == 4 {
        return Some(stray(DAMAGED, level));
    }
    if is_rcon_request(p, wire_len) {
        return Some(stray(RCON_REQUEST, level));
    }
    (begins_rcon_request(p) || joins_game(p)).then(|| stray(GAME, level))
}

/// Recognises a datagram that a known server sends; `open` says that a query of the client waits for its reply.
fn from_server(p: &[u8], wire_len: usize, open: bool, level: Level) -> Option<Probe> {
    if is_other_query(&Skycoop::INFO, p) {
        return None;
    }
    let game = is_game_packet(p, wire_len);
    match int(p, 0) {
        Some(REPLY) if open || !game => Some(response(level)),
        Some(SWAPPED) if open => Some(response(level)),
        Some(_) if open && has_prefix(p, wire_len) => Some(response(level)),
        Some(_) if is_rcon_response(p, wire_len) => Some(stray(RCON_RESPONSE, level)),
        _ if open => Some(stray(DAMAGED, level)),
        _ => game.then(|| stray(GAME, level)),
    }
}

/// Whether this is a game packet from a server: the length of the rest, and a packet number.
fn is_game_packet(p: &[u8], wire_len: usize) -> bool {
    let length = int(p, 0).and_then(|n| usize::try_from(n).ok());
    length.is_some_and(|n| n.saturating_add(4) == wire_len)
        && int(p, 4).is_some_and(|id| PACKETS.contains(&id))
}

/// Whether this is a game packet from a client: its number, and its identifier with a length in front.
fn joins_game(p: &[u8]) -> bool {
    let guid = int(p, 4).filter(|n| (1..=LONGEST_GUID).contains(n)).and_then(|n| usize::try_from(n).ok());
    let Some(guid) = guid.and_then(|n| p.get(8..)?.get(..n)) else { return false };
    int(p, 0).is_some_and(|n| (0..=CLIENTS).contains(&n)) && guid.iter().all(|b| b.is_ascii_graphic())
}

/// Decodes a damaged message in place of a query or a reply.
fn damaged<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let whole = c.rest();
    if cx.direction == Direction::C2s {
        c.ends(&REQUEST);
        let kind = c.field(&MESSAGE_TYPE, le_i32)?;
        return match whole.starts_with(&QUERY_SWAPPED) {
            true => Err(Fault { values: Compared::new(kind, kind.swap_bytes()), ..c.stop(&REQ_003) }),
            false => unknown(c, cx, whole),
        };
    }
    let header = c.field(&HEADER, le_i32)?;
    c.compare(&RSP_001, || header == REPLY, || Compared::new(header, REPLY));
    unknown(c, cx, whole)
}

/// Reads the rest of a packet as bytes. It may be a damaged RCON request with a password.
fn unknown<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context, whole: &[u8]) -> Result<(), Fault> {
    c.mask_unless(cx.secrets || !begins_rcon_request(whole));
    c.ignored(&PAYLOAD)
}

// --- RCON

// Remote control on the same socket: a password in clear text, a command, an answer. It is recognised only if its lengths end
// exactly where the datagram ends, because a Source query begins with the same four bytes and has a printable byte in place of
// the first length, which may be that of a password, too.

/// Maximum length of a password that is recognised, in bytes.
const LONGEST_PASSWORD: i32 = 255;

fields! {
    list RCON_FIELDS;
    /// Length of the password in bytes.
    PASSWORD_LENGTH = "password_length": Int;
    /// Password; masked unless --show-secrets is given.
    PASSWORD = "password": Text personal;
    /// Length of the command in bytes.
    COMMAND_LENGTH = "command_length": Int;
    /// Command.
    COMMAND = "command": Text;
    /// Length of the text in bytes.
    TEXT_LENGTH = "text_length": Int;
    /// What the server answers.
    TEXT = "text": Text;
}

rules! {
    list RCON_RULES;
    /// Everyone on the path reads the password, and who has it controls the server.
    SEC_002 = "SKY-SEC-002" Warning "RCON password is sent in clear text" {
        cite: server("Server.cs, client -1"),
        examples: [Example::of(&[RCON])],
    }
}

/// Whether the whole payload is an RCON request, as far as it was captured.
fn is_rcon_request(p: &[u8], wire_len: usize) -> bool {
    let password = int(p, 4).filter(|n| (1..=LONGEST_PASSWORD).contains(n)).unwrap_or(-1);
    let Ok(password) = usize::try_from(password) else { return false };
    p.starts_with(&[0xff; 4]) && ends_with_text(p, wire_len, password.saturating_add(8))
}

/// Whether the payload begins like an RCON request, complete or not.
fn begins_rcon_request(p: &[u8]) -> bool {
    p.starts_with(&[0xff; 4]) && int(p, 4).is_some_and(|n| (1..=LONGEST_PASSWORD).contains(&n))
}

/// Whether the whole payload is an RCON answer, as far as it was captured.
fn is_rcon_response(p: &[u8], wire_len: usize) -> bool {
    int(p, 0) == Some(CALLBACK) && ends_with_text(p, wire_len, 4)
}

/// Whether a length at `at` and its UTF-16 text end where the payload ends.
fn ends_with_text(p: &[u8], wire_len: usize, at: usize) -> bool {
    let length = int(p, at).and_then(|n| usize::try_from(n).ok()).filter(|n| n.is_multiple_of(2));
    length.is_some_and(|n| at.saturating_add(4).saturating_add(n) == wire_len)
}

fn rcon<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, cx: Context) -> Result<(), Fault> {
    c.mask_unless(cx.secrets);
    if cx.message != RCON_REQUEST {
        if c.field(&HEADER, le_i32)? != CALLBACK {
            return Err(c.stop(&RSP_001)); // never claimed
        }
        return rcon_text(c, &TEXT_LENGTH, &TEXT);
    }
    if c.field(&MESSAGE_TYPE, le_i32)? != -1 {
        return Err(c.stop(&REQ_003)); // never claimed
    }
    c.about(Some(&PASSWORD));
    c.check_at(&SEC_002, c.whole(), || false);
    let length = rcon_length(c, &PASSWORD_LENGTH)?;
    let shown = |text: Str<'a>| if cx.secrets { Value::Text(text.0) } else { Value::Secret(FieldKind::Text) };
    c.text_after_length(LENGTH, &PASSWORD, text(length), shown)?;
    rcon_text(c, &COMMAND_LENGTH, &COMMAND)
}

fn rcon_length<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<usize, Fault> {
    let length = c.field(field, le_i32)?;
    c.ends(&STRING);
    let values = || Compared::new(length, ComparedValue::AtLeast(0));
    usize::try_from(length).map_err(|_| Fault { values: values(), ..c.stop(&STR_001) })
}

fn rcon_text<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    text: &'static Field,
) -> Result<(), Fault> {
    let length = rcon_length(c, field)?;
    c.text_after_length(LENGTH, text, bytes(length), Value::Utf16).map(drop)
}
