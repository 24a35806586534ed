//! GameSpy's query 3, which UT3 and Minecraft support, too. Big-endian except for one port.
//!
//! ```text
//! challenge  fe fd 09 │ session_id u32                 09 │ session_id │ decimal int32 │ 00
//! stat       fe fd 00 │ session_id │ [ challenge i32 ] [ server, player, team keys u8 │ options u8 ]
//! full       00 │ session_id │ splitnum 00 │ number u8, bit 7 in the last part │ sections
//! basic      00 │ session_id │ name 00 type 00 map 00 players 00 maximum 00 │ port u16, little-endian │ address 00
//! section    0 │ { key 00 value 00 } 00            1 or 2 │ { name 00 first_index u8 { value 00 } 00 } 00
//! ```
//!
//! Oddities: other software writes a word of its own or zeros for `splitnum`. A part may end anywhere, and the next part repeats the name of the column. Minecraft omits the last zero and
//! repeats the session id of the handshake. Inside a column, only the following bytes tell an empty value from the column's
//! end.

mod answering;
mod answers;
mod layouts;

use super::gamespy::{ANSWERED_ID, ASKED_ID, is_legible, is_list};
use super::other::unknown;
use super::prelude::*;
use super::sources::{QR2_SDK, gamedig, qr2_sdk};
use crate::bounded::packed::Numbers;
use crate::capture::Time;
use crate::net::{Datagram, Endpoint};
use answers::{basic, full};

const fn wiki(section: &'static str) -> Cite {
    Cite { doc: "wiki.vg, Query", section, url: "https://wiki.vg/Query" }
}

const HS: rule::Step = C("fefd09 01020304");
const HR: rule::Step = S("09 01020304 '9513307' 00");
const FS: rule::Step = C("fefd00 01020304 0091295b ffffff01");
const FROK: rule::Step = S(
    "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 \
     01 'player_' 00 00 'Ann' 00 00 00 02 00",
);
const PART: rule::Step = S(
    "00 01020304 'splitnum' 00 00 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00",
);

/// Maximum numbers of handshakes, and of proofs by stat requests, that are remembered; the oldest goes first.
const MAX_HANDSHAKES: usize = 16_384;
const MAX_STATS: usize = 65_536;
/// Lifetime of a challenge in the SDK, in nanoseconds.
const LIFETIME: i64 = 4_000_000_000;
/// The highest status that GameSpy's master answers, with the bytes of a challenge request.
const LAST_STATUS: u32 = 2;
/// The highest options that a client sends.
const MOST_OPTIONS: u8 = 15;
/// Length of the shortest request in bytes.
const REQUEST_HEADER: usize = 7;

fields! {
    /// Two bytes before the client's messages.
    PREFIX = "prefix": Bytes public;
    /// 0 state, 9 challenge.
    MESSAGE_TYPE = "type": Uint;
    /// Number of the client's choice, which the answer repeats.
    SESSION_ID = "session_id": Uint volatile token;
    /// Value that the server issues, and that a request for its state carries.
    CHALLENGE = "challenge": Int volatile token;
    /// The same where it is no number.
    CHALLENGE_TEXT = "challenge_text": Text volatile token;
    /// Which keys of the server are asked for: 255 all, 0 none.
    SERVER_KEYS = "server_keys": Uint;
    /// Which keys of the players.
    PLAYER_KEYS = "player_keys": Uint;
    /// Which keys of the teams.
    TEAM_KEYS = "team_keys": Uint;
    /// Bit 0: the answer may come in parts; 2: Just Cause 2's own layout.
    OPTIONS = "options": Uint;
    /// What a request has beyond that, or instead.
    BODY = "body": Bytes;
    /// The word `splitnum`, or another one that the server writes in its place.
    SPLIT = "splitnum": Text public;
    /// Number of the part, and bit 7 in the last one.
    PART_BYTE = "part": Uint;
    /// Number of the part.
    PACKET_NUMBER = "packet_number": Uint;
    /// No further part follows.
    LAST_PACKET = "last_packet": Bool;
    /// Kind of the first section: 0 keys, 1 players, 2 teams.
    SECTION = "section": Uint;
    /// Keys and values of the server, in the order of the wire.
    KEYS = "keys": List;
    /// A pair.
    PAIR = "keys[]": Group;
    /// Its key.
    KEY = "keys[].key": Text public;
    /// Its value.
    VALUE = "keys[].value": Text;
    /// The beginning of a key that the end of the part cut; the next part has the whole pair.
    CUT_KEY = "cut_key": Text public;
    /// Columns of players and teams.
    COLUMNS = "columns": List;
    /// A column.
    COLUMN = "columns[]": Group;
    /// The section that it stands in: 1 players, 2 teams.
    COLUMN_SECTION = "columns[].section": Uint;
    /// Name, which ends in `_` for players and `_t` for teams.
    COLUMN_NAME = "columns[].name": Text public;
    /// Which player or team the first value is of.
    FIRST_INDEX = "columns[].first_index": Uint;
    /// Values.
    VALUES = "columns[].values": List;
    /// A value.
    COLUMN_VALUE = "columns[].values[]": Text;
    /// Just Cause 2: how many players follow.
    PLAYER_COUNT = "player_count": Uint;
    /// Just Cause 2: players.
    PLAYERS = "players": List;
    /// A player.
    PLAYER = "players[]": Group;
    /// Name.
    NAME = "players[].name": Text personal;
    /// Steam id.
    STEAM_ID = "players[].steam_id": Text;
    /// Round trip in milliseconds.
    PING = "players[].ping": Uint volatile;
    /// Name of the server.
    HOSTNAME = "hostname": Text => ServerName;
    /// Type of the game.
    GAMETYPE = "gametype": Text => Game;
    /// Map.
    MAP = "map": Text => Map;
    /// Players now.
    NUMPLAYERS = "numplayers": Dynamic => Players;
    /// Players at most.
    MAXPLAYERS = "maxplayers": Dynamic => MaxPlayers;
    /// Port of the game, the only little-endian number.
    HOSTPORT = "hostport": Uint;
    /// Address of the server.
    HOSTIP = "hostip": Text;
    /// A message of another kind.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message; no client reads them.
    IGNORED = "ignored": Bytes;
}

rules! {
    /// A request has seven bytes at least, an answer five: type and session id are read first.
    HDR_001 = "GS3-HDR-001" Error "datagram ends inside its header" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [
            Example::of(&[HS, HR, FS, FROK, C("fefd09 01")]),
            Example::of(&[HS, HR, FS, S("00 0102")]),
        ],
    }
    /// npm gamedig appends four zeros; every server ignores them.
    REQ_001 = "GS3-REQ-001" Note "bytes follow the challenge request" {
        cite: gamedig("protocols/gamespy3.js"),
        examples: [
            Example::of(&[C("fefd09 01020304 00000000"), HR, FS, FROK]),
            Example::of(&[C("fefd09 01020304 00"), HR, FS, FROK]),
        ],
    }
    /// It is a challenge, a selector of keys, or both: 4, 7 or 8 bytes. BungeeCord and Velocity refuse others, the SDK drops what
    /// ends inside the selector.
    REQ_002 = "GS3-REQ-002" Error "body of the request has another length than 4, 7 or 8" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [
            Example::of(&[HS, HR, C("fefd00 01020304 0091295b ffff")]),
            Example::of(&[HS, HR, C("fefd00 01020304 009129")]),
        ],
    }
    /// Minecraft keeps it as text, and sends such bytes back damaged: no client finds its answer.
    REQ_003 = "GS3-REQ-003" Note "session id has a byte above 0x7f" {
        cite: wiki("Session ID"),
        examples: [Example::of(&[C("fefd09 81020304"), S("09 81020304 '9513307' 00")])],
    }
    /// Clients read it as a number of 32 bits with a sign; UT3 has more zeros behind it.
    CHA_001 = "GS3-CHA-001" Error "challenge is no decimal number with a zero behind it" {
        cite: qr2_sdk("qr2.c, compute_challenge_response"),
        examples: [
            Example::of(&[HS, S("09 01020304 '0x91295b' 00")]),
            Example::of(&[HS, S("09 01020304 '9513307'")]),
            Example::of(&[HS, S("09 01020304 '4294967295' 00")]),
        ],
    }
    /// The server asks for none: its requests prove nothing, and its answers can be sent to a forged address.
    CHA_002 = "GS3-CHA-002" Note "challenge is 0" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        per_server: true,
        examples: [Example::of(&[HS, S("09 01020304 '0' 00"), C("fefd00 01020304 ffffff01"), FROK])],
    }
    /// A request that allows parts is answered in numbered ones. Clients skip eleven bytes unread, and lose the first keys.
    SPL_001 = "GS3-SPL-001" Error "answer has no whole number of a part" {
        cite: qr2_sdk("qr2.c, qr_build_split_query_reply"),
        examples: [
            Example::of(&[HS, HR, FS, S("00 01020304 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 'hostport' 00 '6500' 00 00")]),
            Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80")]),
            Example::of(&[HS, HR, FS, S("00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00")]),
        ],
    }
    /// Most clients skip it unread; one that looks for it finds no parts. Geyser writes its name, other servers write zeros.
    SPL_004 = "GS3-SPL-004" Note "another word stands in the place of splitnum" {
        cite: Cite {
            doc: "Geyser",
            section: "QueryPacketHandler.java, getGameData",
            url: "https://github.com/GeyserMC/Geyser",
        },
        per_server: true,
        examples: [
            Example::of(&[HS, HR, FS, S("00 01020304 'GeyserMC' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")]),
            Example::of(&[HS, HR, FS, S("00 01020304 00*11 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")]),
        ],
    }
    /// An empty key ends them. Only a part that is not the last may end anywhere.
    KEY_001 = "GS3-KEY-001" Error "keys are not ended" {
        cite: qr2_sdk("qr2.c, qr_build_query_reply"),
        examples: [
            Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8'")]),
            Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00")]),
        ],
    }
    /// Clients keep the last one, and show what nobody meant.
    KEY_002 = "GS3-KEY-002" Note "key is given twice" {
        cite: gamedig("protocols/gamespy3.js"),
        examples: [Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'hostname' 00 'Two' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")])],
    }
    /// Name, players and maximum: every client shows them.
    KEY_003 = "GS3-KEY-003" Warning "keys lack hostname, numplayers or maxplayers" {
        cite: gamedig("protocols/gamespy3.js"),
        examples: [Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")])],
    }
    /// Players, maximum and port are numbers to every client.
    KEY_004 = "GS3-KEY-004" Warning "value is not a decimal integer" {
        cite: gamedig("protocols/gamespy3.js"),
        examples: [Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 'one' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")])],
    }
    /// Battlefield 2 fills its parts to the last byte. The next part begins with the whole key, so clients drop this one.
    KEY_005 = "GS3-KEY-005" Note "key is cut by the end of the part" {
        cite: gamedig("issue 708, server information in several packets"),
        per_server: true,
        examples: [Example::of(&[
            HS, HR, FS,
            S("00 01020304 'splitnum' 00 00 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxpl' 00"),
            S("00 01020304 'splitnum' 00 81 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00"),
        ])],
    }
    /// Minecraft sends the lowest byte of each character, which is 0 for some, and zeros that its settings contain. The value is
    /// read up to the next key; clients that stop at the first zero lose all that follows.
    KEY_006 = "GS3-KEY-006" Note "value contains a zero" {
        cite: Cite {
            doc: "minecraft-server-util",
            section: "pull request 81, on Minecraft's bugs MC-221987 and MC-231035",
            url: "https://github.com/PassTheMayo/minecraft-server-util/pull/81",
        },
        per_server: true,
        examples: [Example::of(&[
            HS, HR, FS,
            S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'La' 00 '*b' 00 'game_id' 00 'MINECRAFT' 00 'numplayers' 00 '1' 00 \
               'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00"),
        ])],
    }
    /// An empty value ends a column; sections are 0, 1 and 2. Only a part that is not the last may end anywhere.
    COL_001 = "GS3-COL-001" Error "columns are not ended, or their section is unknown" {
        cite: qr2_sdk("qr2.c, qr_build_query_reply"),
        examples: [
            Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann'")]),
            Example::of(&[HS, HR, FS, S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 05 'player_' 00 00 'Ann' 00 00 00")]),
        ],
    }
    /// It has five strings, a port and a string.
    BAS_001 = "GS3-BAS-001" Error "basic answer is cut" {
        cite: wiki("Basic Stat"),
        examples: [Example::of(&[HS, HR, C("fefd00 01020304 0091295b"), S("00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// A number is missing, or no part says that it is the last. Clients wait for all of them, and give up.
    SPL_002 = "GS3-SPL-002" Warning "parts of the answer are missing" {
        cite: gamedig("protocols/gamespy3.js"),
        side: Path,
        examples: [
            Example::of(&[HS, HR, FS, PART]),
            Example::of(&[HS, HR, FS, PART, S("00 01020304 'splitnum' 00 82 02 'team_t' 00 00 'Red' 00 00 00")]),
        ],
    }
    /// Another one has its number, or it stands beyond the last: clients keep one of them by chance.
    SPL_003 = "GS3-SPL-003" Error "part contradicts another one" {
        cite: qr2_sdk("qr2.c, qr_build_split_query_reply"),
        examples: [
            Example::of(&[
                HS, HR, FS, PART,
                S("00 01020304 'splitnum' 00 00 00 'hostname' 00 'Two' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00"),
                S("00 01020304 'splitnum' 00 81 01 'player_' 00 00 'Ann' 00 00 00 02 00"),
            ]),
            Example::of(&[HS, HR, FS, FROK, S("00 01020304 'splitnum' 00 81 01 'player_' 00 00 'Ann' 00 00 00 02 00")]),
        ],
    }
    /// No request is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "GS3-TXN-001" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [Example::of(&[FROK]), Example::of(&[HR]), Example::of(&[HS, HR, S("09 01020304 '77' 00")])],
    }
    /// The answer window is two seconds. Servers are silent to a wrong challenge.
    TXN_002: UNANSWERED = "GS3-TXN-002" { cite: gamedig("protocols/core.js, socketTimeout"), examples: [Example::of(&[HS])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "GS3-TXN-003" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[HS, Wait(2500), HR])],
    }
    /// A byte-identical answer or part: UDP duplicated it.
    TXN_004: COPY = "GS3-TXN-004" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [Example::of(&[HS, HR, FS, FROK, FROK])],
    }
    /// Servers do not answer it. The usual cause is a fault in sign or byte order.
    TXN_005 = "GS3-TXN-005" Error "challenge is not the one issued last" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [Example::of(&[HS, HR, C("fefd00 01020304 5b299100 ffffff01")])],
    }
    /// In the SDK it serves once, and for four seconds; in Minecraft for up to 30.
    TXN_006 = "GS3-TXN-006" Note "challenge is used again or is older than four seconds" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        examples: [
            Example::of(&[HS, HR, FS, FROK, C("fefd00 01020304 0091295b ffffff00"), S("00 01020304 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 'hostport' 00 '6500' 00 00")]),
            Example::of(&[HS, HR, Wait(5000), FS, FROK]),
        ],
    }
    /// Clients compare it with that of their request, and drop the answer.
    TXN_007 = "GS3-TXN-007" Error "session id is neither an open request's nor the handshake's" {
        cite: gamedig("protocols/gamespy3.js"),
        examples: [Example::of(&[HS, HR, FS, S("00 09090909 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 01 'player_' 00 00 'Ann' 00 00 00 02 00")])],
    }
    /// Vanilla Minecraft and its kin keep the handshake's.
    TXN_008 = "GS3-TXN-008" Note "answer carries the session id of the handshake" {
        cite: wiki("Session ID"),
        per_server: true,
        examples: [Example::of(&[HS, HR, C("fefd00 05060708 0091295b 00000000"), FROK])],
    }
    /// The challenge is what keeps a forged sender out.
    SEC_001 = "GS3-SEC-001" Error "server answered a request with a wrong challenge or none" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        unproven: true,
        examples: [
            Example::of(&[HS, HR, C("fefd00 01020304 5b299100 ffffff01"), FROK]),
            Example::of(&[HS, HR, C("fefd00 01020304 ffffff01"), FROK]),
        ],
    }
    /// Nothing proves the client's address then. Battlefield 2 sends 92 to 342 times its request.
    SEC_002 = "GS3-SEC-002" Note "answer is more than ten times its request, without a challenge" {
        cite: qr2_sdk("qr2.c, qr2_parse_query"),
        per_server: true,
        ratio: true,
        strict: Warning,
        examples: [Example::of(&[C("fefd00 01020304 ffffff01"), S("00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 21*120 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00")])],
    }
}

static HEADER: Ends = Ends::new(&HDR_001, &HDR_001, &IGNORED);
static SPLIT_ENDS: Ends = Ends::new(&SPL_001, &HDR_001, &IGNORED);
static COLUMN_ENDS: Ends = Ends::new(&COL_001, &HDR_001, &IGNORED);
static BASIC_ENDS: Ends = Ends::new(&BAS_001, &HDR_001, &IGNORED);

const SHAKE: u8 = 0;
const STAT: u8 = 1;

const ASKS_CHALLENGE: Form = Form::of(b"\xfe\xfd\x09");
const ASKS_STAT: Form = Form::of(b"\xfe\xfd\x00");

messages! {
    CHALLENGE_REQUEST = Message::request("challenge_request", SHAKE, &[
        ASKS_CHALLENGE.length(REQUEST_HEADER, REQUEST_HEADER).level(Level::Medium),
        ASKS_CHALLENGE.length(11, 11).when(|p| p.iter().skip(7).all(|b| *b == 0)).level(Level::Medium),
        ASKS_CHALLENGE.length(REQUEST_HEADER, usize::MAX).level(Level::Low),
    ]).keyed(ASKED_ID).remembers(may_be_status);
    CHALLENGE_RESPONSE = Message::response("challenge_response", SHAKE, &[
        Form::of(b"\x09").length(7, usize::MAX).when(is_challenge).level(Level::Low),
        Form::of(b"\x09").length(5, usize::MAX).asked(),
        Form::of(b"\x09").when(|p| is_legible(p) || ends_in_digits(p)).awaited(),
    ]).keyed(ANSWERED_ID);
    FULL_REQUEST = Message::request("full_stat_request", STAT, &[
        ASKS_STAT.and(7, b"\xff\xff\xff").length(11, 11).when(selects_all),
        ASKS_STAT.and(11, b"\xff\xff\xff").length(15, 15),
        ASKS_STAT.length(15, 15).when(ends_in_zeros).level(Level::Medium),
        ASKS_STAT.length(14, 14).when(ends_in_keys).level(Level::Medium),
        ASKS_STAT.length(12, 15).level(Level::Low),
        ASKS_STAT.length(12, usize::MAX).known(),
    ]).keyed(ASKED_ID).remembers(asked);
    BASIC_REQUEST = Message::request("basic_stat_request", STAT, &[
        ASKS_STAT.and(7, b"\xff\xff\xff").length(11, 11).level(Level::Medium),
        ASKS_STAT.length(11, 11).level(Level::Low),
        ASKS_STAT.length(8, 9).level(Level::Low),
        ASKS_STAT.length(REQUEST_HEADER, 11).when(is_no_gamespy2).known(),
    ]).keyed(ASKED_ID).remembers(asked);
    FULL_RESPONSE = Message::response("full_stat_response", STAT, &[
        Form::of(b"\x00").and(5, b"splitnum\x00"),
        Form::of(b"\x00").and(5, b"GeyserMC\x00\x80\x00"),
        Form::of(b"\x00").when(is_list).known(),
        Form::of(b"\x00").length(5, usize::MAX).when(is_full).asked(),
        Form::of(b"\x00").when(|p| is_full(p) && is_legible(p)).awaited(),
    ]).keyed(ANSWERED_ID).in_parts(part);
    BASIC_RESPONSE = Message::response("basic_stat_response", STAT, &[
        Form::of(b"\x00").when(is_whole_basic).known(),
        Form::of(b"\x00").length(5, usize::MAX).when(is_basic).asked(),
        Form::of(b"\x00").when(|p| is_basic(p) && is_legible(p)).awaited(),
    ]).keyed(ANSWERED_ID);
    UNKNOWN = Message::named("unknown");
}

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_key: Some(&TXN_007),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    contradicting: Some(&SPL_003),
    incomplete: Some(&SPL_002),
    ..StepRules::new(&TXN_002)
};

/// GameSpy's query 3.
#[derive(Debug)]
pub struct Gamespy3;

impl Protocol for Gamespy3 {
    /// The challenges that servers issued to clients, and stat requests, by exchange.
    type Memory = (Bounded<(Endpoint, Endpoint), Handshake, MAX_HANDSHAKES>, Numbered<Stat, MAX_STATS>);

    const COLOURS: Option<Colours> = Some(Colours::Sections);

    /// The challenge request, then a request for everything with the number that the challenge response contains as text.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        // Some servers use only these bits of a session id.
        let session = (ask.random as u32 & 0x0f0f_0f0f).to_be_bytes();
        match ask.answered {
            0 => Some([&[0xfe, 0xfd, 9][..], &session].concat()),
            1 => {
                let text = str::from_utf8(ask.first.get(5..)?).ok()?.trim_end_matches('\0');
                let challenge = text.parse::<i32>().ok()?.to_be_bytes();
                Some([&[0xfe, 0xfd, 0][..], &session, &challenge, &[0xff, 0xff, 0xff, 1]].concat())
            }
            _ => None,
        }
    }

    const INFO: Info = Info {
        known_as: &[("minecraft", 25565), ("bf2", 29900)],
        ports: &[29900, 6500, 64087, 25565],
        messages: MESSAGES,
        steps: &[
            StepInfo {
                reuses_keys: true,
                retransmits: true,
                single: true,
                ..StepInfo::keyed("challenge", 8, ANSWERED)
            },
            StepInfo {
                single: true,
                reuses_keys: true,
                retransmits: true,
                key_of: Some(SHAKE),
                carries: CARRIES,
                ..StepInfo::keyed("stat", 8, ANSWERED)
            },
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&SPL_001], &[&KEY_001, &KEY_002, &KEY_003, &KEY_004, &COL_001, &BAS_001]),
            (Relation::Same, &[&KEY_001], &[&KEY_003, &COL_001]),
            (Relation::Request, &[&REQ_003, &TXN_006], &[&TXN_002]),
            (Relation::Instead, &[&TXN_007], &[&TXN_002]),
        ],
        challenge: Some(CHALLENGE_RESPONSE),
        layouts: layouts::LAYOUTS,
        suspicious: &[&TXN_005, &TXN_007],
        replies: answering::REPLIES,
        samples: &[
            Example::of(&[HS, HR, FS, FROK]),
            Example::of(&[
                HS,
                HR,
                C("fefd00 01020304 0091295b"),
                S("00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00"),
            ]),
        ],
        ..Info::of("gamespy3", "GameSpy query 3, and Minecraft's", QR2_SDK, &HEADER)
    };

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let stray = |at: u8| Self::INFO.stray(at, p, known);
        recognise_known::<Self>(p, wire_len, known).or_else(|| match (p, known.direction) {
            ([0xfe, 0xfd, 9, ..], Direction::C2s) if wire_len < REQUEST_HEADER => stray(CHALLENGE_REQUEST),
            ([0xfe, 0xfd, 0, ..], Direction::C2s) if wire_len < REQUEST_HEADER => stray(BASIC_REQUEST),
            ([0, ..], Direction::S2c) if known.open && wire_len < 5 => stray(FULL_RESPONSE),
            ([9, ..], Direction::S2c) if known.open && wire_len < 5 => stray(CHALLENGE_RESPONSE),
            _ => unknown(&Self::INFO, p, known),
        })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message >= UNKNOWN {
            return c.ignored(&PAYLOAD);
        }
        let asks = [CHALLENGE_REQUEST, FULL_REQUEST, BASIC_REQUEST].contains(&cx.message);
        if asks {
            c.field(&PREFIX, bytes(2))?;
        }
        c.field(&MESSAGE_TYPE, byte)?;
        let id = c.field(&SESSION_ID, be_u32)?;
        if asks {
            c.compare(
                &REQ_003,
                || id & 0x8080_8080 == 0,
                || {
                    Compared::new(
                        ComparedValue::Hex(id.into(), 8),
                        ComparedValue::Hex((id & !0x8080_8080).into(), 8),
                    )
                },
            );
        }
        match cx.message {
            CHALLENGE_REQUEST => {
                let at = c.to_end();
                let ended = c.rest().is_empty();
                c.ignored(&BODY)?;
                c.compare_at(
                    &REQ_001,
                    at,
                    || ended,
                    || Compared::new(ComparedValue::Bytes(at.end.saturating_sub(at.start).into()), "none"),
                );
                Ok(())
            }
            CHALLENGE_RESPONSE => challenge(c),
            FULL_REQUEST | BASIC_REQUEST => stat_request(c, cx.message),
            FULL_RESPONSE => full(c, cx.asked),
            _ => basic(c, cx.asked),
        }
    }

    /// Four bytes like a selector for everything may be the challenge: then the request is a basic one.
    fn recall(
        (handshakes, _): &Self::Memory,
        d: &Datagram<'_>,
        [client, server]: [Endpoint; 2],
        probe: &mut Probe,
    ) {
        let handshake = || handshakes.get(&(server, client)).and_then(|handshake| handshake.value);
        if probe.message == FULL_REQUEST && d.payload.len() == 11 && word(d.payload) == handshake() {
            probe.message = BASIC_REQUEST;
            probe.request_state = asked_basic(d.payload);
        }
    }

    fn observe((handshakes, stats): &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let ends = (seen.server, seen.client);
        if let Pairing::Answered(Answer { foreign_key: true, asked_key, .. }) = seen.pairing {
            let hex = |key: Option<u64>| key.map_or(ComparedValue::Nothing, |key| ComparedValue::Hex(key, 8));
            raised.add_values(&TXN_008, None, Compared::new(hex(seen.probe.key), hex(*asked_key)));
        }
        match (seen.probe.message, *seen.pairing) {
            (CHALLENGE_RESPONSE, pairing) if !matches!(pairing, Pairing::DuplicateResponse { .. }) => {
                let payload = seen.datagram.payload;
                // Without its end, on the wire or in the capture, it may have had further digits.
                let whole = payload.get(5..).is_some_and(|text| text.contains(&0));
                let value = issued(payload).filter(|_| whole);
                if let Some(value) = value.filter(|value| *value != 0) {
                    raised.proof = Proof::Issues(value as u32);
                }
                let known = handshakes.get(&ends);
                // What was not asked for counts only after a handshake: the client may use either.
                let counts = matches!(pairing, Pairing::Answered(_)) || known.is_some();
                if counts && (value.is_some() || !whole) {
                    let before = known.and_then(|handshake| handshake.value);
                    let handshake = Handshake { value, before, since: seen.datagram.time, used: false };
                    handshakes.insert(ends, handshake);
                }
            }
            (CHALLENGE_REQUEST, Pairing::Asked { .. }) => raised.proof = Proof::Lacks,
            (FULL_REQUEST | BASIC_REQUEST, Pairing::Asked { exchange, .. }) => {
                let (request, now) = (seen.datagram.payload, seen.datagram.time);
                let cut_off = seen.datagram.cut > 0 && read_at(request, 7, be_u32).is_none();
                let proof = match handshakes.get_mut(&ends) {
                    _ if cut_off => Carried::Unknown,
                    Some(Handshake { value: None, .. }) => Carried::Unknown,
                    Some(handshake) if handshake.value != Some(0) => handshake.proof_of(request, now, raised),
                    // The challenge may have been issued before the capture.
                    None if seen.probe.request_state & CARRIES != 0 => {
                        if seen.may_predate_capture {
                            Carried::Unknown
                        } else {
                            Carried::Unissued
                        }
                    }
                    _ => Carried::None,
                };
                raised.proof = match proof {
                    Carried::Unknown | Carried::Unissued => Proof::None,
                    Carried::None => Proof::Lacks,
                    Carried::Wrong => Proof::Wrong,
                    Carried::Right => Proof::Returns,
                };
                stats.insert(exchange, Stat { proof, numbers: Numbers::default(), total: u8::MAX });
            }
            (FULL_RESPONSE | BASIC_RESPONSE, Pairing::Answered(answer)) => {
                let repeats = answer.second && answer.repeats_message && seen.datagram.cut == 0;
                let mut stat = stats.find(answer.exchange);
                let part = seen.probe.part.zip(stat.as_mut());
                let contradicts = part.is_some_and(|(part, stat)| stat.contradicts(part));
                if repeats && contradicts {
                    raised.add(&SPL_003);
                }
                let most = usize::saturating_mul(10, answer.request_bytes as usize);
                if matches!(stat, Some(Stat { proof: Carried::Wrong | Carried::Unissued, .. })) {
                    raised.proof = Proof::Wrong;
                }
                match stat.map(|stat| stat.proof) {
                    Some(Carried::Wrong) if !answer.part => raised.add(&SEC_001),
                    Some(Carried::None) if answer.exceeds(most, seen.datagram) => {
                        let values =
                            Compared::new(answer.bytes(seen.datagram), ComparedValue::AtMost(most as i64));
                        raised.add_values(&SEC_002, None, values);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// A stat request, and the parts of its answer that have come.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    proof: Carried,
    /// Numbers of the parts.
    numbers: Numbers,
    /// Number of parts; the maximum, as long as it is unknown.
    total: u8,
}

impl Stat {
    /// Records a part; returns whether a part with its number came before, or its number is beyond the last one.
    fn contradicts(&mut self, part: Part) -> bool {
        let contradicts = !self.numbers.insert(part.number) || part.number >= self.total;
        self.total = self.total.min(part.total.unwrap_or(u8::MAX));
        contradicts
    }
}

/// What a request proves about its sender's address.
#[derive(Clone, Copy, Debug)]
enum Carried {
    /// Nothing, and no proof was required.
    None,
    /// Probably nothing, because the server has issued no challenge since the capture began.
    Unissued,
    /// Probably that its sender receives what is sent to the address: the challenge was issued before the capture, or is cut.
    Unknown,
    /// That its sender receives what is sent to the address.
    Right,
    /// Nothing, although the server had issued a challenge.
    Wrong,
}

/// A challenge that a server issued to a client.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// `None` where the capture cut it.
    value: Option<i32>,
    /// The value before it, which the library still takes.
    before: Option<i32>,
    since: Time,
    used: bool,
}

impl Handshake {
    /// Determines what a request proves. Its last four bytes may be either a selector or this challenge.
    fn proof_of(&mut self, request: &[u8], now: Time, raised: &mut Raised) -> Carried {
        let word = word(request);
        if word != self.value {
            if carried(request).is_some() {
                raised.add_values(
                    &TXN_005,
                    Some(Span { start: 7, end: 11 }),
                    Compared::new(
                        word.map_or(ComparedValue::Nothing, ComparedValue::from),
                        self.value.map_or(ComparedValue::Nothing, ComparedValue::from),
                    ),
                );
            }
            return if word.is_some() && word == self.before { Carried::Right } else { Carried::Wrong };
        }
        if std::mem::replace(&mut self.used, true) || now.since(self.since).is_some_and(|age| age > LIFETIME)
        {
            raised.add_values(
                &TXN_006,
                Some(Span { start: 7, end: 11 }),
                Compared::new(
                    word.map_or(ComparedValue::Nothing, ComparedValue::from),
                    "a challenge that is fresh",
                ),
            );
        }
        Carried::Right
    }
}

// --- Recognising

/// The state of a challenge request: a master server answers with the same bytes whether it serves a game.
fn may_be_status(p: &[u8]) -> u32 {
    let is_status = p.len() == REQUEST_HEADER && read_at(p, 3, be_u32).is_some_and(|id| id <= LAST_STATUS);
    if is_status { Probe::CONTESTED } else { 0 }
}
fn ends_in_zeros(p: &[u8]) -> bool {
    p.ends_with(&[0; 4])
}
fn ends_in_keys(p: &[u8]) -> bool {
    p.iter().rev().take(3).all(|key| [0, 0xff].contains(key))
}
/// Whether this is no request of GameSpy 2, which has three selector bytes after the same header.
fn is_no_gamespy2(p: &[u8]) -> bool {
    p.len() != 10 || !ends_in_keys(p)
}
/// The challenge that an answer issues.
fn issued(p: &[u8]) -> Option<i32> {
    Str(p.get(5..)?.split(|b| *b == 0).next()?).decimal()
}
/// Whether the payload consists of digits with a terminating zero.
fn is_challenge(p: &[u8]) -> bool {
    let text = p.get(5..).unwrap_or_default().trim_ascii_end();
    let digits = text.split(|b| *b == 0).next().unwrap_or_default();
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    let ended = text.get(text.len().saturating_sub(1)..) == Some(&[0]);
    ended && (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}
/// Whether the payload ends with a number, as an answer does whose id Minecraft has made longer.
fn ends_in_digits(p: &[u8]) -> bool {
    p.iter().rev().find(|b| **b != 0).is_some_and(u8::is_ascii_digit)
}
/// The number behind the session id: a challenge or a selector.
fn word(p: &[u8]) -> Option<i32> {
    read_at(p, 7, be_u32).map(|word| word as i32)
}
/// Whether a request consists of a selector for everything. Other options than these are the end of a challenge, unless the
/// server has issued exactly this number.
fn selects_all(p: &[u8]) -> bool {
    matches!(p, [_, _, _, _, _, _, _, 0xff, 0xff, 0xff, 0..=MOST_OPTIONS])
}
/// The challenge in a request. A selector alone is not one.
fn carried(p: &[u8]) -> Option<i32> {
    word(p).filter(|_| !selects_all(p))
}
/// In the state of a stat request: its answer may come in parts.
const SPLITS: u32 = 1 << 8;
/// In the state of a stat request: its answer comes in one datagram.
const WHOLE: u32 = Probe::WHOLE_ANSWER;
/// In the state of a stat request: it carries a challenge. Servers that ask for none issue 0.
const CARRIES: u32 = 1 << 9;
/// The state of a stat request: its options in the low byte, the three flags, and a hash of the request in the other bits.
fn asked(p: &[u8]) -> u32 {
    let selector = p.len().checked_sub(4).filter(|_| p.len() == 15 || selects_all(p));
    let selector = selector.and_then(|at| read_at(p, at, be_u32));
    let options = selector.unwrap_or(0) & 0xff;
    let splits = selector.is_some_and(|all| all == 0 || all & 1 == 1);
    let whole = selector.is_some() && options == 2;
    let carries = carried(p).is_some_and(|value| value != 0);
    options
        | if splits { SPLITS } else { 0 }
        | if whole { WHOLE } else { 0 }
        | if carries { CARRIES } else { 0 }
        | hash_bits(p)
}
/// The same of a request that consists of a challenge, whatever that looks like.
fn asked_basic(p: &[u8]) -> u32 {
    CARRIES | hash_bits(p)
}
fn hash_bits(p: &[u8]) -> u32 {
    (hashed(p) as u32 & 0x1f_ffff) << 10 & !WHOLE & !Context::UNPAIRED
}
/// Whether this is Minecraft's basic form: the last two of its five strings are numbers, or it ends before these and does not
/// begin with a known key.
fn is_basic(p: &[u8]) -> bool {
    const KEYS: [&[u8]; 5] = [b"splitnum", b"hostname", b"gamename", b"gamever", b"mapname"];
    let body = p.get(5..).unwrap_or_default();
    let strings = || body.splitn(6, |b| *b == 0);
    let number = |n: usize| strings().nth(n).is_some_and(|text| Str(text).decimal().is_some());
    let first = strings().next().unwrap_or_default();
    let begins_with_key = || KEYS.iter().any(|key| key.starts_with(first));
    match strings().count() {
        0..6 => !begins_with_key(),
        _ => number(3) && number(4) || !KEYS.contains(&first) && name_with_zeros(body).is_some(),
    }
}
/// The length of the name at the beginning of a basic form, if it contains zeros: it ends where four strings, a port and an
/// address are left, and the last two of these strings are numbers.
fn name_with_zeros(body: &[u8]) -> Option<usize> {
    let mut strings = body.strip_suffix(b"\0")?.rsplitn(6, |b| *b == 0);
    let [address, most, now, _, _] = std::array::from_fn(|_| strings.next().unwrap_or_default());
    let has_numbers = [most, now].iter().all(|text| Str(text).decimal().is_some());
    strings.next().filter(|name| has_numbers && address.len() > 2 && name.contains(&0)).map(<[u8]>::len)
}
/// Whether this is a complete basic form.
fn is_whole_basic(p: &[u8]) -> bool {
    let strings = p.get(5..).unwrap_or_default().splitn(6, |b| *b == 0);
    is_basic(p) && strings.last().is_some_and(|end| end.get(2..).is_some_and(|end| end.ends_with(b"\0")))
}
fn is_full(p: &[u8]) -> bool {
    !is_basic(p)
}
/// Length of the word before the number of a part, in bytes.
const HEADER_WORD: usize = 8;

/// What stands in the place of `splitnum` before the number of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Header {
    /// Another word of eight letters.
    Word,
    Zeros,
}
fn other_header(body: &[u8]) -> Option<Header> {
    const KEYS: [&[u8]; 3] = [b"hostname", b"gametype", b"hostport"];
    let (word, behind) = body.split_at_checked(HEADER_WORD)?;
    match behind {
        [0, 0x80, 0, ..] if Str(word).is_plain() && word != b"splitnum" && !KEYS.contains(&word) => {
            Some(Header::Word)
        }
        [0, 0 | 0x80, 0, b'a'..=b'z', ..] if word == [0; HEADER_WORD] => Some(Header::Zeros),
        _ => None,
    }
}

/// Number of the part, and the total if this is the last part.
fn part(p: &[u8]) -> Option<Part> {
    let body = p.get(5..)?;
    let number = match other_header(body) {
        Some(Header::Zeros) => return None,
        Some(Header::Word) => *body.get(HEADER_WORD.saturating_add(1))?,
        None => *body.strip_prefix(b"splitnum\0")?.first()?,
    };
    let last = number & 0x80 != 0;
    let number = number & 0x7f;
    Some(Part { number, total: last.then(|| number.saturating_add(1)), makes: None, share: None })
}

// --- Decoding

fn challenge<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let rest = c.rest();
    let digits = rest.split(|b| *b == 0).next().unwrap_or_default();
    // If the captured bytes end with a digit, the capture may have cut off more.
    let whole = !c.is_cut() || digits.len() < rest.len();
    let value = Str(digits).decimal().filter(|_| whole);
    match value {
        Some(value) => drop(c.field_as(&CHALLENGE, text(digits.len()), |_| Value::Int(value))?),
        None => drop(c.text(&CHALLENGE_TEXT, text(digits.len()))?),
    }
    let is_valid = value.is_some() && digits.len() < rest.len() || c.is_cut();
    c.compare(&CHA_001, || is_valid, || Compared::new(Str(digits), "a number"));
    c.compare(&CHA_002, || value != Some(0), || Compared::new(0, ComparedValue::Not(0)));
    c.skip_all(b"\0");
    c.ignored(&IGNORED)
}

fn stat_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>, message: u8) -> Result<(), Fault> {
    let len = c.rest().len();
    let selects = len == 4 && message == FULL_REQUEST && c.rest().starts_with(&[0xff; 3]);
    let (at, is_valid) = (c.to_end(), c.is_cut() || [4, 7, 8].contains(&len));
    if !is_valid {
        c.ignored(&BODY)?;
        c.about(None);
    }
    c.compare_at(
        &REQ_002,
        at,
        || is_valid,
        || Compared::new(ComparedValue::Bytes(len as u64), "4, 7 or 8 bytes"),
    );
    if is_valid && !selects {
        c.field_as(&CHALLENGE, be_u32, |value| Value::Int(value as i32))?;
    }
    for field in [&SERVER_KEYS, &PLAYER_KEYS, &TEAM_KEYS, &OPTIONS] {
        if !c.rest().is_empty() {
            c.field(field, byte)?;
        }
    }
    Ok(())
}
