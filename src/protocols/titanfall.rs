//! The server info of Titanfall 2 and Apex Legends in its unencrypted form. Little-endian.
//!
//! ```text
//! request     ff ff ff ff │ 4d │ version │ [ key ] │ zeros up to 1,200 bytes
//! answer      ff ff ff ff │ 4e │ version │ the fields of LAYOUT that the version has
//! string      bytes of UTF-8 │ 00
//! teams       { id u8 │ score u16 } ff
//! clients     { the fields of CLIENT that the version has } 00 * 8
//! ```
//!
//! Oddities: a server answers with the version that it speaks, whatever was requested. From version 8 on everything is
//! encrypted with a key and looks like noise.

use super::prelude::*;
use crate::contract::answering::{self, Reply, Slot};
use crate::decode::{Facts, Labels, Skip};

const SPEC: &str = "https://github.com/Unity-Technologies/go-svrquery";
const fn source(section: &'static str) -> Cite {
    Cite { doc: "go-svrquery", section, url: SPEC }
}
const QUERY: Cite = source("lib/svrquery/protocol/titanfall/query.go");
const TYPES: Cite = source("lib/svrquery/protocol/titanfall/types.go");

const ASK: rule::Step = C("ffffffff 4d 03 00*1194");
const OK: rule::Step =
    S("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 \
     9790 'PC' 00 '0' 00 01000000 'des' 00 01 3c 'mp_box' 00 02 01 00 00 0807 0700 3200 ff 00*8");

fields! {
    /// Four bytes of 255.
    PREFIX = "prefix": Bytes public;
    /// 77 asks, 78 answers.
    COMMAND = "command": Uint;
    /// Version of the query. Behind it, or behind the key, a request has zeros up to 1,200 bytes.
    VERSION = "version": Uint;
    /// Key that shows that the client may ask; hidden without --show-secrets.
    KEY = "key": Text;
    /// 1 on servers for customers.
    RETAIL = "retail": Uint;
    /// Kind of the server.
    INSTANCE_TYPE = "instance_type": Uint;
    /// Checksum of the client that fits the server.
    CLIENT_CRC = "client_crc": Uint;
    /// Version of the network protocol.
    NET_PROTOCOL = "net_protocol": Uint;
    /// Troubles of the server, one bit each.
    HEALTH_FLAGS = "health_flags": Uint, Labels::Bits(&[
        "packet loss in", "packet loss out", "choked in", "choked out", "slow frames", "hitching", "denial of service", "relay",
    ]);
    /// Number that the server chose when it started: of 64 bits, from version 8 on of 32.
    RANDOM_SERVER_ID = "random_server_id": Dynamic;
    /// Build of the server.
    BUILD_NAME = "build_name": Text => Version;
    /// Where it runs.
    DATACENTER = "datacenter": Text public;
    /// Mode of the game.
    GAME_MODE = "game_mode": Text => Game;
    /// Port of the game.
    PORT = "port": Uint;
    /// Platform of the server.
    PLATFORM = "platform": Text public;
    /// Version of the playlist.
    PLAYLIST_VERSION = "playlist_version": Text;
    /// Number of the playlist.
    PLAYLIST_NUM = "playlist_num": Uint;
    /// Name of the playlist.
    PLAYLIST_NAME = "playlist_name": Text;
    /// Platforms in the list that follows.
    PLATFORM_COUNT = "platform_count": Uint;
    /// Players by platform.
    PLATFORM_PLAYERS = "platform_players": List;
    /// Those of one platform.
    PLATFORM_GROUP = "platform_players[]": Group;
    /// The platform.
    PLAYER_PLATFORM = "platform_players[].platform": Text public;
    /// Its players.
    PLATFORM_NUMBER = "platform_players[].players": Uint;
    /// Players now.
    NUM_CLIENTS = "num_clients": Uint => Players;
    /// Bots among them.
    NUM_BOT_CLIENTS = "num_bot_clients": Uint;
    /// Players at most.
    MAX_CLIENTS = "max_clients": Uint => MaxPlayers;
    /// Players since the server started.
    TOTAL_CLIENTS = "total_clients_connected_ever": Uint;
    /// Map.
    MAP = "map": Text => Map;
    /// Time that a frame takes on average.
    AVERAGE_FRAME_TIME = "average_frame_time": Float32 volatile;
    /// Time that a frame takes at most.
    MAX_FRAME_TIME = "max_frame_time": Float32 volatile;
    /// Time that the commands of users take on average.
    AVERAGE_COMMAND_TIME = "average_user_command_time": Float32 volatile;
    /// Time that the commands of users take at most.
    MAX_COMMAND_TIME = "max_user_command_time": Float32 volatile;
    /// Memory that the server has reserved.
    COMMIT_MEMORY = "commit_memory": Uint volatile;
    /// Memory that it has in use.
    RESIDENT_MEMORY = "resident_memory": Uint volatile;
    /// Phase of the match.
    PHASE = "phase": Uint;
    /// Rounds at most.
    MAX_ROUNDS = "max_rounds": Uint;
    /// Rounds that the IMC has won.
    ROUNDS_IMC = "rounds_won_imc": Uint;
    /// Rounds that the militia has won.
    ROUNDS_MILITIA = "rounds_won_militia": Uint;
    /// How long the match may last, in seconds.
    TIME_LIMIT = "time_limit": Uint;
    /// How long it has lasted, in seconds.
    TIME_PASSED = "time_passed": Uint volatile;
    /// Score at most.
    MAX_SCORE = "max_score": Uint;
    /// Teams that still have players.
    TEAMS_LEFT = "teams_left_with_players_num": Uint;
    /// Properties of entities in use.
    ENTITY_PROPERTIES = "current_entity_property_count": Uint;
    /// Properties of entities at most.
    MAX_ENTITY_PROPERTIES = "max_entity_property_count": Uint;
    /// Teams; a number of 255 ends them.
    TEAMS = "teams": List;
    /// One of them.
    TEAM = "teams[]": Group;
    /// Its number.
    TEAM_NUMBER = "teams[].id": Uint;
    /// Its score.
    TEAM_SCORE = "teams[].score": Uint;
    /// Players; a number of 0 ends them.
    CLIENTS = "clients": List;
    /// One of them.
    CLIENT = "clients[]": Group;
    /// Number of the account.
    CLIENT_NUMBER = "clients[].id": Uint64;
    /// Name.
    CLIENT_NAME = "clients[].name": Text personal;
    /// Number of the team.
    CLIENT_TEAM = "clients[].team_id": Uint;
    /// Address.
    CLIENT_ADDRESS = "clients[].address": Text;
    /// Ping in milliseconds.
    CLIENT_PING = "clients[].ping": Uint volatile;
    /// Packets that came.
    PACKETS_RECEIVED = "clients[].packets_received": Uint;
    /// Packets that were lost.
    PACKETS_DROPPED = "clients[].packets_dropped": Uint;
    /// Score.
    CLIENT_SCORE = "clients[].score": Uint;
    /// Kills.
    KILLS = "clients[].kills": Uint;
    /// Deaths.
    DEATHS = "clients[].deaths": Uint;
    /// The rest of an answer in a version that nobody knows, or that is too short.
    BODY = "body": Bytes;
    /// Bytes after the end of the message; no client reads them.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// 77 asks and 78 answers. What comes from the wrong side is answered by nobody.
    HDR_001 = "TTF-HDR-001" Error "command is that of the other side" {
        cite: source("lib/svrquery/protocol/titanfall/consts.go"),
        examples: [Example::of(&[ASK, OK, Wait(1000), ASK, S("ffffffff 4d 03 00*1194")])],
    }
    /// The zeros keep an answer from being longer than its request.
    REQ_001 = "TTF-REQ-001" Warning "request is not 1,200 bytes long" {
        cite: QUERY,
        examples: [Example::of(&[C("ffffffff 4d 03"), OK])],
    }
    /// Prefix, command and version are six bytes.
    REQ_002 = "TTF-REQ-002" Error "request ends before its version" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, Wait(1000), C("ffffffff 4d")])],
    }
    /// Clients refuse a shorter one. Its body is not looked at.
    RSP_001 = "TTF-RSP-001" Error "answer is shorter than 26 bytes" {
        cite: QUERY,
        examples: [Example::of(&[ASK, S("ffffffff 4e 03 01 02 ffffffff 0e02 010000000000")])],
    }
    /// Every field of its version must be there, and every string ends with a zero.
    RSP_002 = "TTF-RSP-002" Error "answer ends inside a field" {
        cite: QUERY,
        examples: [Example::of(&[ASK, S("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival'")])],
    }
    /// Clients ignore bytes after the number that ends the list.
    RSP_003 = "TTF-RSP-003" Note "bytes follow the clients" {
        cite: QUERY,
        examples: [Example::of(&[
            ASK,
            S("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 \
               9790 'PC' 00 '0' 00 01000000 'des' 00 01 3c 'mp_box' 00 02 01 00 00 0807 0700 3200 ff 00*8 00*9"),
        ])],
    }
    /// Versions 1 to 10 are known; the body of another one is not looked at.
    RSP_004 = "TTF-RSP-004" Note "version of the answer is not known" {
        cite: QUERY,
        examples: [Example::of(&[
            ASK,
            S("ffffffff 4e 0b 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 9790 'PC' 00"),
        ])],
    }
    /// Clients hand strings on in JSON, which is UTF-8.
    STR_001 = "TTF-STR-001" Warning "string is not valid UTF-8" {
        cite: TYPES,
        examples: [Example::of(&[
            ASK,
            S("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 \
               9790 'PC' 00 '0' 00 01000000 'des' 00 01 3c 'mp_' ff 00 02 01 00 00 0807 0700 3200 ff 00*8"),
        ])],
    }
    /// The numbers are those of players who are there, and of places for them.
    INF_001 = "TTF-INF-001" Note "more players than places" {
        cite: TYPES,
        examples: [Example::of(&[
            ASK,
            S("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 \
               9790 'PC' 00 '0' 00 01000000 'des' 00 3d 3c 'mp_box' 00 02 01 00 00 0807 0700 3200 ff 00*8"),
        ])],
    }
    /// A server answers with the version that it speaks. Clients take it as it comes.
    TXN_005 = "TTF-TXN-005" Note "answer has another version than its request" {
        cite: source("lib/svrquery/protocol/titanfall/testdata"),
        per_server: true,
        examples: [Example::of(&[C("ffffffff 4d 07 00*1194"), OK])],
    }
    /// Below version 8 the key travels as it is, and whoever sees it may ask as well.
    SEC_001 = "TTF-SEC-001" Warning "key travels in cleartext" {
        cite: QUERY,
        examples: [Example::of(&[
            C("ffffffff 4d 05 'QUFBQUJCQkI=' 00*1182"),
            S("ffffffff 4e 05 01 02 ffffffff 0e02 0100000000000000 'R5pc' 00 'west' 00 'survival' 00 9790 'PC' 00 '0' 00 \
               01000000 'des' 00 01 3c 'mp_box' 00 0000803f 00000040 00004040 00008040 02 01 00 00 0807 0700 3200 ff 00*8"),
        ])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "TTF-TXN-001" {
        cite: QUERY,
        examples: [Example::of(&[OK])],
    }
    /// The answer window is one second, as long as the client of the hosters waits.
    TXN_002: UNANSWERED = "TTF-TXN-002" {
        cite: source("lib/svrquery/client.go, DefaultTimeout"),
        examples: [Example::of(&[ASK])],
    }
    /// Later than the answer window of one second, within the late window.
    TXN_003: LATE = "TTF-TXN-003" {
        cite: source("lib/svrquery/client.go, DefaultTimeout"),
        examples: [Example::of(&[ASK, Wait(1200), OK])],
    }
    /// The same answer again, and no request is open: UDP duplicated it.
    TXN_004: COPY = "TTF-TXN-004" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// The zeros of a request are meant to prevent it: nothing proves the client's address.
    SEC_002 = "TTF-SEC-002" Note "answer is longer than its request" {
        cite: QUERY,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[C("ffffffff 4d 03"), OK])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_002, &REQ_002, &SURPLUS);
static HEADER_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);
static BODY_ENDS: Ends = Ends::new(&RSP_002, &RSP_003, &SURPLUS);

const ASKS: &[u8] = b"\xff\xff\xff\xff\x4d";
const ANSWERS: &[u8] = b"\xff\xff\xff\xff\x4e";
const VERSION_AT: usize = 5;
const NEWEST: u8 = 10;
/// From this version on, messages are encrypted with a key.
const ENCRYPTED: u8 = 8;
/// Lengths in bytes: of a request, of a request that is longer than any other message, and of the shortest answer.
const REQUEST_LEN: usize = 1200;
const LONG_REQUEST: usize = 1001;
const LEAST_ANSWER: usize = 26;

messages! {
    REQUEST = Message::request("info_request", 0, &[
        Form::of(ASKS).length(REQUEST_LEN, REQUEST_LEN).when(has_version).level(Level::High),
        Form::of(ASKS).when(is_padded).level(Level::Low),
        Form::of(ASKS).length(LONG_REQUEST, usize::MAX).when(has_version).level(Level::Low),
        Form::of(ASKS).known(),
    ]).remembers(asked);
    INFO_RESPONSE = Message::response("info_response", 0, &[
        Form::of(ANSWERS).when(is_whole).level(Level::High),
        Form::of(ANSWERS).when(has_version).level(Level::Low),
        Form::of(ANSWERS).known(),
    ]);
    // A message that ends before its command.
    UNKNOWN = Message::named("unknown").formed(&[Form::of(b"\xff\xff\xff\xff").length(4, 4).known()]);
}

/// Titanfall's server info.
#[derive(Debug)]
pub struct Titanfall;

impl Protocol for Titanfall {
    type Memory = ();

    const INFO: Info = Info {
        known_as: &[("titanfall2", 0), ("apex", 0)],
        ports: &[37015, 37005],
        messages: MESSAGES,
        steps: &[StepInfo::ordered(
            "info",
            StepRules {
                unsolicited: Some(&TXN_001),
                late: Some(&TXN_003),
                copy: Some(&TXN_004),
                larger: Some((1, &SEC_002)),
                ..StepRules::new(&TXN_002)
            },
        )],
        window_ms: 1000,
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[(Relation::Instead, &[&HDR_001, &RSP_001], &[&TXN_002])],
        replies: REPLIES,
        samples: &[
            Example::of(&[ASK, OK]),
            Example::of(&[
                C("ffffffff 4d 0a 00*1194"),
                S("ffffffff 4e 0a 01 02 ffffffff 0e02 00000000 01000000 'R5pc' 00 'west' 00 'survival' 00 \
                   9790 'PC' 00 '0' 00 01000000 'des' 00 01 'pc' 00 01 01 00 3c 09000000 'mp_box' 00 \
                   0000803f 00000040 00004040 00008040 00100000 00080000 02 0700 0200 05000000 09000000 \
                   00 0300 01 0400 ff 2a00000000000000 'Ann' 00 00 '192.0.2.1' 00 14000000 64000000 01000000 \
                   07000000 0200 0100 00*8"),
            ]),
        ],
        ..Info::of("titanfall", "Titanfall 2 and Apex server info", SPEC, &REQUEST_ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let request = || [ASKS, &[3], &[0; REQUEST_LEN - VERSION_AT - 1]].concat();
        (ask.answered == 0).then(request)
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let asks = cx.direction == Direction::C2s;
        if !asks {
            c.ends(&HEADER_ENDS);
        }
        c.field(&PREFIX, bytes(4))?;
        let command = c.field(&COMMAND, byte)?;
        c.compare(
            &HDR_001,
            || asks == (ASKS.last() == Some(&command)),
            || Compared::new(ComparedValue::byte(command), "the command of this direction"),
        );
        if cx.message == REQUEST { request(c, cx.secrets) } else { answer(c, cx.asked) }
    }
}

/// Whether the version is known.
fn has_version(p: &[u8]) -> bool {
    p.get(VERSION_AT).is_some_and(|version| (1..=NEWEST).contains(version))
}

/// Whether the version is known and only zeros follow it.
fn is_padded(p: &[u8]) -> bool {
    has_version(p) && p.iter().skip(VERSION_AT).skip(1).all(|byte| *byte == 0)
}

/// Whether the version is known and the answer can be read to its end.
fn is_whole(p: &[u8]) -> bool {
    let (mut facts, mut sink) = (Facts::default(), Skip);
    let mut c = Cursor::new(p, 0, &BODY_ENDS, &mut sink, &mut facts);
    has_version(p)
        && p.len() >= LEAST_ANSWER
        && c.field(&PREFIX, bytes(VERSION_AT)).is_ok()
        && answer(&mut c, None).is_ok()
        && c.rest().is_empty()
}

/// The version of a request, which the decoder of the answer needs; 0 where the request ends before it.
fn asked(p: &[u8]) -> u32 {
    p.get(VERSION_AT).map_or(0, |version| u32::from(*version))
}

fn request<S: FieldSink>(c: &mut Cursor<'_, '_, S>, secrets: bool) -> Result<(), Fault> {
    c.mask_unless(secrets);
    let wire_len = c.wire_len();
    let version = c.field(&VERSION, byte)?;
    c.compare_whole(
        &REQ_001,
        || wire_len == REQUEST_LEN,
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::Bytes(REQUEST_LEN as u64)),
    );
    c.check(&SEC_001, || true);
    c.skip_all(b"\0");
    if !c.rest().is_empty() {
        c.secret_text(&KEY, until(b"\0"))?;
        c.compare(
            &SEC_001,
            || version >= ENCRYPTED,
            || Compared::new(version, ComparedValue::AtLeast(ENCRYPTED.into())),
        );
        c.skip_all(b"\0");
    }
    c.ignored(&SURPLUS)
}

fn answer<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    let wire_len = c.wire_len();
    let is_long_enough = wire_len >= LEAST_ANSWER;
    let version = c.field(&VERSION, byte)?;
    let known = (1..=NEWEST).contains(&version);
    c.compare(&RSP_004, || known, || Compared::new(version, ComparedValue::AtMost(NEWEST.into())));
    let requested_version = asked.filter(|asked| asked & Context::UNPAIRED == 0);
    c.compare(
        &TXN_005,
        || requested_version.is_none_or(|asked| [0, version.into()].contains(&asked)),
        || Compared::new(version, requested_version.map_or(ComparedValue::Nothing, ComparedValue::from)),
    );
    c.compare_whole(
        &RSP_001,
        || is_long_enough,
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtLeast(LEAST_ANSWER as i64)),
    );
    if !known || !is_long_enough {
        return c.ignored(&BODY);
    }
    c.ends(&BODY_ENDS);
    fields(c, version, LAYOUT)
}

/// How to read a field.
#[derive(Clone, Copy)]
enum Read {
    U8,
    U16,
    U32,
    U64,
    F32,
    Text,
    Platforms,
    Teams,
    Clients,
}

/// The first and the last version with a field, how to read it, and the field.
type VersionedField = (u8, u8, Read, &'static Field);

const LAYOUT: &[VersionedField] = &[
    (2, 10, Read::U8, &RETAIL),
    (2, 10, Read::U8, &INSTANCE_TYPE),
    (2, 10, Read::U32, &CLIENT_CRC),
    (2, 10, Read::U16, &NET_PROTOCOL),
    (2, 7, Read::U64, &RANDOM_SERVER_ID),
    (8, 10, Read::U32, &HEALTH_FLAGS),
    (8, 10, Read::U32, &RANDOM_SERVER_ID),
    (2, 10, Read::Text, &BUILD_NAME),
    (2, 10, Read::Text, &DATACENTER),
    (2, 10, Read::Text, &GAME_MODE),
    (1, 10, Read::U16, &PORT),
    (1, 10, Read::Text, &PLATFORM),
    (1, 10, Read::Text, &PLAYLIST_VERSION),
    (1, 10, Read::U32, &PLAYLIST_NUM),
    (1, 10, Read::Text, &PLAYLIST_NAME),
    (7, 10, Read::Platforms, &PLATFORM_PLAYERS),
    (1, 10, Read::U8, &NUM_CLIENTS),
    (9, 10, Read::U8, &NUM_BOT_CLIENTS),
    (1, 10, Read::U8, &MAX_CLIENTS),
    (9, 10, Read::U32, &TOTAL_CLIENTS),
    (1, 10, Read::Text, &MAP),
    (5, 10, Read::F32, &AVERAGE_FRAME_TIME),
    (5, 10, Read::F32, &MAX_FRAME_TIME),
    (5, 10, Read::F32, &AVERAGE_COMMAND_TIME),
    (5, 10, Read::F32, &MAX_COMMAND_TIME),
    (9, 10, Read::U32, &COMMIT_MEMORY),
    (9, 10, Read::U32, &RESIDENT_MEMORY),
    (3, 10, Read::U8, &PHASE),
    (3, 8, Read::U8, &MAX_ROUNDS),
    (3, 8, Read::U8, &ROUNDS_IMC),
    (3, 8, Read::U8, &ROUNDS_MILITIA),
    (3, 8, Read::U16, &TIME_LIMIT),
    (3, 10, Read::U16, &TIME_PASSED),
    (3, 8, Read::U16, &MAX_SCORE),
    (6, 10, Read::U16, &TEAMS_LEFT),
    (10, 10, Read::U32, &ENTITY_PROPERTIES),
    (10, 10, Read::U32, &MAX_ENTITY_PROPERTIES),
    (3, 10, Read::Teams, &TEAMS),
    (1, 10, Read::Clients, &CLIENTS),
];
const CLIENT_LAYOUT: &[VersionedField] = &[
    (1, 10, Read::U64, &CLIENT_NUMBER),
    (1, 10, Read::Text, &CLIENT_NAME),
    (1, 10, Read::U8, &CLIENT_TEAM),
    (4, 10, Read::Text, &CLIENT_ADDRESS),
    (4, 10, Read::U32, &CLIENT_PING),
    (4, 10, Read::U32, &PACKETS_RECEIVED),
    (4, 10, Read::U32, &PACKETS_DROPPED),
    (3, 10, Read::U32, &CLIENT_SCORE),
    (3, 10, Read::U16, &KILLS),
    (3, 10, Read::U16, &DEATHS),
];
const END_OF_TEAMS: &[u8] = &[255];
const END_OF_CLIENTS: &[u8] = &[0; 8];

/// Reads the fields that a version has.
fn fields<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    version: u8,
    layout: &[VersionedField],
) -> Result<(), Fault> {
    let mut players = 0;
    for &(_, _, read, field) in layout.iter().filter(|(first, last, ..)| (*first..=*last).contains(&version))
    {
        let number = match read {
            Read::U8 => c.field(field, byte)?.into(),
            Read::U16 => c.field(field, le_u16)?.into(),
            Read::U32 => c.field(field, le_u32)?,
            Read::U64 => c.field(field, le_u64).map(|_| 0)?,
            Read::F32 => c.field(field, le_f32).map(|_| 0)?,
            Read::Text => string(c, field).map(|()| 0)?,
            Read::Platforms => {
                c.counted(&PLATFORM_COUNT, byte, [field, &PLATFORM_GROUP], platform).map(|()| 0)?
            }
            Read::Teams => {
                let more = |c: &Cursor<'_, '_, S>, _| c.rest().first().is_some_and(|id| *id != 255);
                c.list(field, more, |c| c.group(&TEAM, team))?;
                c.expect(END_OF_TEAMS).map(|()| 0)?
            }
            Read::Clients => {
                let more =
                    |c: &Cursor<'_, '_, S>, _| !c.rest().is_empty() && !c.rest().starts_with(END_OF_CLIENTS);
                c.list(field, more, |c| c.group(&CLIENT, |c| fields(c, version, CLIENT_LAYOUT)))?;
                c.expect(END_OF_CLIENTS).map(|()| 0)?
            }
        };
        if *field == NUM_CLIENTS {
            players = number;
        } else if *field == MAX_CLIENTS {
            c.compare(
                &INF_001,
                || players <= number,
                || Compared::new(players, ComparedValue::AtMost(number.into())),
            );
        }
    }
    Ok(())
}

/// Reads a text with its terminating zero.
fn string<S: FieldSink>(c: &mut Cursor<'_, '_, S>, field: &'static Field) -> Result<(), Fault> {
    let text = c.field(field, until(b"\0"))?;
    // Where its zero is missing, the last character may be cut.
    let whole = !c.rest().is_empty();
    c.check(&STR_001, || true);
    if whole {
        c.check_utf8(&STR_001, text);
    }
    c.expect(b"\0")
}

fn platform<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    string(c, &PLAYER_PLATFORM)?;
    c.field(&PLATFORM_NUMBER, byte).map(drop)
}

fn team<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&TEAM_NUMBER, byte)?;
    c.field(&TEAM_SCORE, le_u16).map(drop)
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    REQUEST,
    &[
        Slot::Hex("ffffffff 4e 03 01 02 ffffffff 0e02 0100000000000000"),
        Slot::Version(answering::zero),
        Slot::Hex("'west' 00"),
        Slot::Game(answering::zero),
        Slot::Port(answering::le16),
        Slot::Hex("'PC' 00 '0' 00 01000000 'des' 00"),
        Slot::Players(answering::u8),
        Slot::MaxPlayers(answering::u8),
        Slot::Map(answering::zero),
        Slot::Hex("02 01 00 00 0807 0700 3200 ff 00*8"),
    ],
)];
