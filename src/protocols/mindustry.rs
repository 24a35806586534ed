//! The server discovery of Mindustry. Big-endian throughout; a text has its length in front, in one byte.
//!
//! ```text
//! request    fe 01                                                                     2 bytes
//! answer     server_name, map text │ players, wave, version i32
//!            │ version_type text                                                       from build 60
//!            │ game_mode u8 │ player_limit i32                                         90
//!            │ description text                                                        100
//!            │ mode_name text                                                          110
//!            │ port u16                                                                147
//!            │ zeros
//! ```
//!
//! Oddities: any game on KryoNet sends the same request, and nothing marks an answer, so only a pair whose answer can be read is
//! certain. An answer may end before each of these lines. Servers that send their whole buffer fill it with zeros, which read as
//! empty texts and as numbers.

use super::prelude::*;
use crate::contract::answering::{self, Reply, Slot};
use crate::decode::{Facts, Skip, Version};

const SPEC: &str = "https://github.com/Anuken/Mindustry";
const fn mindustry(section: &'static str) -> Cite {
    Cite { doc: "Mindustry", section, url: SPEC }
}
const NETWORK_IO: Cite = mindustry("core/src/mindustry/net/NetworkIO.java");
const GAMEMODE: Cite = mindustry("core/src/mindustry/game/Gamemode.java");
const PROVIDER: Cite = mindustry("core/src/mindustry/net/ArcNetProvider.java");

const ASK: rule::Step = C("fe01");
const OK: rule::Step =
    S("03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092 08 'official' 00 00000000 00 00 19a7");

fields! {
    /// The two bytes that ask for a server.
    PREFIX = "prefix": Bytes public;
    /// Name of the server, with colours in brackets.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Map.
    MAP = "map": Text => Map;
    /// Players now.
    PLAYERS = "players": Int => Players;
    /// Wave of enemies.
    WAVE = "wave": Int;
    /// Build of the server, −1 for one that somebody built.
    VERSION = "version": Int => Version;
    /// Kind of that build.
    VERSION_TYPE = "version_type": Text public;
    /// Mode of the game.
    GAME_MODE = "game_mode": Uint, Labels::FromZero(MODES);
    /// Players at most, 0 where there is no limit.
    PLAYER_LIMIT = "player_limit": Int;
    /// What the server says of itself.
    DESCRIPTION = "description": Text personal;
    /// Name of the mode, empty where it is the mode's own.
    MODE_NAME = "mode_name": Text;
    /// Port of the server, 0 where it is the usual one.
    PORT = "port": Uint;
    /// Zeros up to the end of the server's buffer.
    PADDING = "padding": Bytes public;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}
/// The modes of the game, from 0 on.
const MODES: &[&str] = &["survival", "sandbox", "attack", "pvp", "editor"];
const LAST_MODE: i64 = 4;

rules! {
    /// Clients that cannot read it do not show the server. It may end before the fields of a later build, but not inside one.
    RSP_001 = "MDT-RSP-001" Error "answer ends inside a field" {
        cite: NETWORK_IO,
        examples: [
            Example::of(&[ASK, S("03 'Lab' 0a 'Groun'")]),
            Example::of(&[
                ASK, OK, Wait(1000), ASK,
                S("03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092 08 'of'"),
            ]),
        ],
    }
    /// The port is the last field, and padding is zero. Clients read neither.
    RSP_002 = "MDT-RSP-002" Warning "bytes follow the answer that are not zero" {
        cite: NETWORK_IO,
        examples: [Example::of(&[
            ASK,
            S("03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092 08 'official' 00 00000000 00 00 19a7 0102"),
        ])],
    }
    /// Older builds and many plugins send their whole buffer of 128, 256, 500 or 512 bytes for a request of two.
    RSP_003 = "MDT-RSP-003" Note "answer is filled up with zeros" {
        cite: NETWORK_IO,
        per_server: true,
        examples: [Example::of(&[
            ASK,
            S("03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092 08 'official' 00 00000000 00 00 19a7 00*200"),
        ])],
    }
    /// Texts are cut at a number of bytes, which may be inside a character.
    STR_001 = "MDT-STR-001" Warning "text is not valid UTF-8" {
        cite: NETWORK_IO,
        examples: [Example::of(&[
            ASK,
            S("02 'L' c3 0a 'Groundzero' 00000003 0000000c 00000092 08 'official' 00 00000000 00 00 19a7"),
        ])],
    }
    /// They count players, waves and places, and clients show them as they come.
    INF_001 = "MDT-INF-001" Warning "players, wave or limit is negative" {
        cite: NETWORK_IO,
        examples: [Example::of(&[
            ASK,
            S("03 'Lab' 0a 'Groundzero' ffffffff 0000000c 00000092 08 'official' 00 00000000 00 00 19a7"),
        ])],
    }
    /// Hubs state the players of several servers together. A limit of 0 is none.
    INF_002 = "MDT-INF-002" Note "more players than the limit" {
        cite: NETWORK_IO,
        examples: [Example::of(&[
            ASK,
            S("03 'Lab' 0a 'Groundzero' 00000009 0000000c 00000092 08 'official' 00 00000004 00 00 19a7"),
        ])],
    }
    /// There are five: survival, sandbox, attack, pvp and editor. Clients take another one for survival.
    INF_003 = "MDT-INF-003" Note "mode of the game is not known" {
        cite: GAMEMODE,
        examples: [Example::of(&[
            ASK,
            S("03 'Lab' 0a 'Groundzero' 00000003 0000000c 00000092 08 'official' 07 00000000 00 00 19a7"),
        ])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// Servers only answer. The request was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "MDT-TXN-001" {
        cite: PROVIDER,
        examples: [Example::of(&[
            ASK, OK, Wait(1000),
            S("03 'Lab' 0a 'Groundzero' 00000004 0000000c 00000092 08 'official' 00 00000000 00 00 19a7"),
        ])],
    }
    /// The answer window is two seconds, as long as the game waits. Nobody has to answer what is sent to many hosts.
    TXN_002: UNANSWERED = "MDT-TXN-002" {
        cite: PROVIDER,
        examples: [Example::of(&[ASK, OK, Wait(1000), ASK])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "MDT-TXN-003" {
        cite: PROVIDER,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// The same answer again, and no request is open: UDP duplicated it.
    TXN_004: COPY = "MDT-TXN-004" { cite: PROVIDER, examples: [Example::of(&[ASK, OK, OK])] }
    /// Two bytes with a forged source address bring a victim 40 to 400, or 512 with padding: nothing proves the client's address.
    SEC_001 = "MDT-SEC-001" Note "answer is more than ten times its request" {
        cite: NETWORK_IO,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, OK])],
    }
}

static ENDS: Ends = Ends::new(&RSP_001, &RSP_002, &SURPLUS);

const ASKS: &[u8] = b"\xfe\x01";
/// Numbers with which an answer is taken for one.
const VERSIONS: std::ops::RangeInclusive<i32> = -1..=99_999;
const MOST_PLAYERS: i32 = 1_000_000;

messages! {
    DISCOVERY_REQUEST = Message::request("discovery_request", 0, &[Form::of(ASKS).length(2, 2).level(Level::Low)]);
    DISCOVERY_RESPONSE = Message::response("discovery_response", 0, &[
        Form::of(b"").when(is_readable).known(),
        Form::of(b"").awaited(),
    ]);
    UNKNOWN = Message::named("unknown");
}

/// Mindustry's server discovery.
#[derive(Debug)]
pub struct Mindustry;

impl Protocol for Mindustry {
    type Memory = ();

    const INFO: Info = Info {
        ports: &[6567],
        messages: MESSAGES,
        steps: &[StepInfo::ordered(
            "discovery",
            StepRules {
                unsolicited: Some(&TXN_001),
                late: Some(&TXN_003),
                copy: Some(&TXN_004),
                larger: Some((10, &SEC_001)),
                ..StepRules::new(&TXN_002)
            },
        )],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[(Relation::Same, &[&RSP_001], &[&STR_001, &INF_001, &INF_002])],
        replies: REPLIES,
        samples: &[
            Example::of(&[ASK, OK]),
            Example::of(&[
                ASK,
                S("03 'Lab' 0a 'Groundzero' 00000004 0000000c 00000092 08 'official' 00 00000000 00"),
            ]),
            Example::of(&[ASK, S("03 'Lab' 0a 'Groundzero' 00000005 0000000c 00000092 08 'official'")]),
        ],
        ..Info::of("mindustry", "Mindustry server discovery", SPEC, &ENDS)
    };
    const COLOURS: Option<Colours> = Some(Colours::Brackets);

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| ASKS.to_vec())
    }

    /// Any game on KryoNet may answer: a pair is certain only if its answer can be read.
    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let probe = recognise_known::<Self>(p, wire_len, known)?;
        let is_certain = probe.message != DISCOVERY_RESPONSE || is_readable(p);
        Some(if is_certain { probe } else { Probe { paired: Level::Low, ..probe } })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message == DISCOVERY_RESPONSE {
            return answer(c);
        }
        c.field(&PREFIX, bytes(ASKS.len().min(c.rest().len()))).map(drop)
    }
}

/// Whether the payload can be read as an answer, and its numbers are plausible.
fn is_readable(p: &[u8]) -> bool {
    let (mut facts, mut sink) = (Facts::default(), Skip);
    let mut c = Cursor::new(p, 0, &ENDS, &mut sink, &mut facts);
    let Ok(Head { name, players, version }) = head(&mut c) else { return false };
    let plausible = (0..=MOST_PLAYERS).contains(&players) && VERSIONS.contains(&version);
    let read = !name.0.is_empty() && plausible && tail(&mut c, players).is_ok();
    read && c.rest().iter().all(|byte| *byte == 0)
}

/// What every answer begins with.
#[derive(Clone, Copy)]
struct Head<'a> {
    name: Str<'a>,
    players: i32,
    version: i32,
}

/// What later builds add, as far as it is there.
#[derive(Clone, Copy, Default)]
struct Tail<'a> {
    kind: Option<Str<'a>>,
    mode: Option<u8>,
    limit: Option<i32>,
    mode_name: Option<Str<'a>>,
}

fn answer<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let Head { players, version, .. } = head(c)?;
    let Tail { kind, mode, limit, mode_name } = tail(c, players)?;
    if let Some(kind) = kind.filter(|kind| !kind.0.is_empty()) {
        c.facts.version = Some(Version::Text(Value::Numbered(kind.0, version)));
    }
    let own_name = mode.and_then(|mode| MODES.get(usize::from(mode))).map(|name| name.as_bytes());
    let given_name = mode_name.map(|name| name.0).filter(|name| !name.is_empty());
    c.facts.game = given_name.or(own_name).map(Value::Text);
    c.facts.max_players = limit.and_then(|limit| u32::try_from(limit).ok()).filter(|limit| *limit > 0);
    let rest = c.ahead();
    let is_padded = !rest.is_empty() && rest.iter().all(|byte| *byte == 0);
    if is_padded {
        c.ignored(&PADDING)?;
    }
    let zeros = rest.len() as u64;
    c.compare(&RSP_003, || !is_padded, || Compared::new(ComparedValue::Bytes(zeros), "none"));
    Ok(())
}

/// Reads name, map and the numbers of every build.
fn head<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>) -> Result<Head<'a>, Fault> {
    let name = text(c, &SERVER_NAME)?;
    text(c, &MAP)?;
    let players = count(c, &PLAYERS)?;
    count(c, &WAVE)?;
    let version = c.field(&VERSION, be_i32)?;
    Ok(Head { name, players, version })
}

/// Reads the fields of later builds.
fn tail<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, players: i32) -> Result<Tail<'a>, Fault> {
    let mut tail = Tail::default();
    if c.rest().is_empty() {
        return Ok(tail);
    }
    tail.kind = Some(text(c, &VERSION_TYPE)?);
    if c.rest().is_empty() {
        return Ok(tail);
    }
    let mode = c.field(&GAME_MODE, byte)?;
    let known = usize::from(mode) < MODES.len();
    c.compare(&INF_003, || known, || Compared::new(mode, ComparedValue::AtMost(LAST_MODE)));
    let limit = count(c, &PLAYER_LIMIT)?;
    c.compare(
        &INF_002,
        || limit <= 0 || players <= limit,
        || Compared::new(players, ComparedValue::AtMost(limit.into())),
    );
    (tail.mode, tail.limit) = (Some(mode), Some(limit));
    if !c.rest().is_empty() {
        text(c, &DESCRIPTION)?;
    }
    if !c.rest().is_empty() {
        tail.mode_name = Some(text(c, &MODE_NAME)?);
    }
    if !c.rest().is_empty() {
        c.field(&PORT, be_u16)?;
    }
    Ok(tail)
}

fn text<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, field: &'static Field) -> Result<Str<'a>, Fault> {
    let text = c.field(field, string8)?;
    c.check_utf8(&STR_001, text);
    Ok(text)
}

/// Reads a number that should not be negative.
fn count<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<i32, Fault> {
    let number = c.field(field, be_i32)?;
    c.check_number(&INF_001, number, ComparedValue::AtLeast(0));
    Ok(number)
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    DISCOVERY_REQUEST,
    &[
        Slot::Name(answering::short),
        Slot::Map(answering::short),
        Slot::Players(answering::be32),
        Slot::Hex("0000000c 00000092 08 'official' 00"),
        Slot::MaxPlayers(answering::be32),
        Slot::Hex("00"),
        Slot::Game(answering::short),
        Slot::Port(answering::be16),
    ],
)];
