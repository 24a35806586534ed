//! The status query of Quake 3 and its descendants, of Quake 2 and of QuakeWorld: text after four bytes of 255.
//!
//! ```text
//! request       ff*4 │ getstatus, getinfo [ ' ' challenge ]; status [ ' ' mode ]; info ' ' protocol; rcon ' ' password ' ' command
//! Quake 3       ff*4 │ statusResponse '\n' info '\n' { player '\n' }; infoResponse '\n' info
//! Quake 2       ff*4 │ print '\n' info '\n' { player '\n' }; info '\n' name map n/m
//! QuakeWorld    ff*4 │ n [ info '\n' ] { player '\n' } '\0'
//! info          { '\' key '\' value }
//! ```
//!
//! Oddities: MOHAA has a byte for the direction after the first four, and Hexen World a fifth 255. FiveM has a second info
//! string after the players. The port is shared with the game, whose packets belong to the same conversation.

mod answering;
mod answers;

use super::other::unknown;
use super::prelude::*;
use super::sources::gamedig;
use crate::capture::Time;
use crate::contract::Answers;
use crate::net::Endpoint;
use answers::{layout, quake2_name_len, response, tokens};
use arrayvec::ArrayVec;

const SPEC: &str = "https://github.com/ioquake/ioq3";
const fn ioquake3(section: &'static str) -> Cite {
    Cite { doc: "ioquake3", section, url: SPEC }
}

const QS: rule::Step = C("ffffffff 'getstatus'");
const QI: rule::Step = C("ffffffff 'getinfo abc'");
const SOK: rule::Step =
    S(r#"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\mapname\q3dm17\sv_maxclients\8' 0a '5 48 "Ann"' 0a"#);
const IOK: rule::Step = S(
    r"ffffffff 'infoResponse' 0a '\challenge\abc\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8\protocol\68'",
);

/// Maximum length of a challenge that servers accept, in bytes.
const LONGEST_CHALLENGE: usize = 128;
/// Largest UDP payload that fits an Ethernet frame, in bytes.
const UNFRAGMENTED: usize = 1472;
/// Maximum number of tokens in a player's line.
const MAX_TOKENS: usize = 24;
/// Maximum number of client addresses remembered over all servers; the oldest goes first.
const MAX_CLIENTS: usize = 16_384;
/// How many requests from one address a server accepts at once, and the time in nanoseconds until it accepts one more.
const BURST: u8 = 10;
const PERIOD: i64 = 1_000_000_000;
/// Maximum number of answers to one address per second from a server with a rate limit.
const MOST_ANSWERS: usize = 20;

fields! {
    /// Four bytes of 255, which mark packets outside a connection; five in Hexen World.
    PREFIX = "prefix": Bytes public;
    /// MOHAA: 2 from the client, 1 from the server.
    DIRECTION_BYTE = "direction_byte": Uint;
    /// What the message is.
    WORD = "word": Text public;
    /// Text of the client's choice, which the answer repeats.
    CHALLENGE = "challenge": Text volatile;
    /// QuakeWorld: 1 info, 2 players, 4 spectators, 8 spectators as players, 16 teams, 32 QTV.
    MODE = "mode": Dynamic;
    /// Version of Quake 2's protocol.
    PROTOCOL = "protocol": Dynamic;
    /// Password of the remote console; masked unless --show-secrets is given.
    PASSWORD = "password": Text personal;
    /// Command for the remote console; or the word of a packet that is no query.
    COMMAND = "command": Text;
    /// Bytes after the end of the message; no client reads them.
    IGNORED = "ignored": Bytes;
    /// Whose form the answer has.
    DIALECT = "dialect": Named;
    /// Variables of the server, in the order of the wire.
    INFO = "info": List;
    /// A variable.
    VARIABLE = "info[]": Group;
    /// Its name.
    KEY = "info[].key": Text public;
    /// Its value.
    VALUE = "info[].value": Text;
    /// FiveM: the variables behind the players; they stand in `info`, too.
    MORE_INFO = "more_info": Text;
    /// Who plays.
    PLAYERS = "players": List;
    /// A player.
    PLAYER = "players[]": Group;
    /// QuakeWorld: number of the player.
    USER_ID = "players[].user_id": Dynamic;
    /// Score; text where the server says something else there.
    SCORE = "players[].score": Dynamic;
    /// QuakeWorld: minutes on the server.
    TIME = "players[].time": Dynamic volatile;
    /// Round trip in milliseconds; 0 for a bot, 999 while connecting, in QuakeWorld negative for a spectator.
    PING = "players[].ping": Dynamic volatile;
    /// Name, in which `^` and a character change the colour.
    NAME = "players[].name": Text personal;
    /// Quake 2's heirs: address of the player.
    ADDRESS = "players[].address": Text;
    /// QuakeWorld: skin.
    SKIN = "players[].skin": Text;
    /// QuakeWorld: colour of the shirt.
    TOP_COLOR = "players[].top_color": Dynamic;
    /// QuakeWorld: colour of the trousers.
    BOTTOM_COLOR = "players[].bottom_color": Dynamic;
    /// Team.
    TEAM = "players[].team": Dynamic;
    /// What else stands in the line.
    EXTRA = "players[].extra": List;
    /// A part of it.
    EXTRA_PART = "players[].extra[]": Text;
    /// The whole line, where it is none of a player.
    LINE = "players[].line": Text;
    /// Name of a Quake 2 server.
    HOSTNAME = "hostname": Text => ServerName;
    /// Its map.
    MAP = "map": Text => Map;
    /// Its players.
    CLIENTS = "clients": Dynamic => Players;
    /// How many it takes.
    MOST_CLIENTS = "max_clients": Dynamic => MaxPlayers;
    /// Text for the console.
    TEXT = "text": Text;
    /// A packet of the game.
    PAYLOAD = "payload": Bytes;
}

rules! {
    /// Servers take what does not begin with four bytes of 255 for a packet of the game, and do not answer.
    HDR_001 = "Q3-HDR-001" Error "query begins with fewer than four bytes of 255" {
        cite: ioquake3("code/server/sv_main.c, SV_PacketEvent"),
        examples: [Example::of(&[QS, SOK, C("ffffff 'getstatus'")]), Example::of(&[QS, SOK, C("'getstatus' 0a")])],
    }
    /// Servers and clients compare the first four bytes, and drop the packet or do not find its word. The message behind the
    /// wrong prefix is read all the same.
    HDR_002 = "Q3-HDR-002" Error "message does not begin with exactly four bytes of 255" {
        cite: ioquake3("code/client/cl_main.c, CL_PacketEvent"),
        examples: [
            Example::of(&[QS, S(r"ffffffff ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a")]),
            Example::of(&[QS, S(r"'statusResponse' 0a '\sv_hostname\Lab' 0a")]),
            Example::of(&[C("ffffffff ffffffff 'getstatus'")]),
        ],
    }
    /// ioquake3 compares without case; Quake 2, QuakeWorld, DarkPlaces and FiveM compare bytes and stay silent.
    REQ_001 = "Q3-REQ-001" Warning "word of the query is not in lower case" {
        cite: ioquake3("code/server/sv_main.c, SV_ConnectionlessPacket"),
        examples: [Example::of(&[C("ffffffff 'GetStatus'")])],
    }
    /// Servers drop it: such challenges were used to overflow the info string. FiveM takes 8 bytes at most.
    REQ_002 = "Q3-REQ-002" Error "challenge is longer than 128 bytes" {
        cite: ioquake3("code/server/sv_main.c, SVC_Info"),
        examples: [Example::of(&[C("ffffffff 'getinfo ' 78*129")])],
    }
    /// The server cannot put it into its info string: the answer comes without it, or with a broken info string.
    REQ_003 = "Q3-REQ-003" Warning "challenge contains a backslash, a semicolon or a quote" {
        cite: ioquake3("code/qcommon/q_shared.c, Info_SetValueForKey"),
        examples: [Example::of(&[
            C(r"ffffffff 'getinfo a\b'"),
            S(r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8\protocol\68'"),
        ])],
    }
    /// Every client compares the word together with its line feed.
    RSP_001 = "Q3-RSP-001" Error "word of the answer is not ended by a line feed" {
        cite: ioquake3("code/client/cl_main.c, CL_ConnectionlessPacket"),
        examples: [
            Example::of(&[QI, S(r"ffffffff 'infoResponse\challenge\abc\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8'")]),
            Example::of(&[QS, S(r"ffffffff 'statusResponse \sv_hostname\Lab' 0a")]),
        ],
    }
    /// All servers end both. The usual cause is a full buffer: the last name is cut.
    RSP_002 = "Q3-RSP-002" Warning "last line is not ended by a line feed" {
        cite: ioquake3("code/server/sv_main.c, SVC_Status"),
        examples: [
            Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8'")]),
            Example::of(&[QS, S(r#"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_maxclients\8' 0a '5 48 "Ann"'"#)]),
        ],
    }
    /// It travels as IP fragments, and does not arrive where these are dropped. Up to 1,814 bytes were measured.
    RSP_003 = "Q3-RSP-003" Note "answer is larger than 1472 bytes" {
        cite: ioquake3("code/server/sv_main.c, SVC_Status"),
        examples: [Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\' 4c*1455 0a")])],
    }
    /// Info strings begin with a backslash in every engine; QuakeWorld may leave the whole line out.
    INF_001 = "Q3-INF-001" Error "info string does not begin with a backslash" {
        cite: ioquake3("code/qcommon/q_shared.c, Info_NextPair"),
        examples: [Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a 'sv_hostname\Lab' 0a")])],
    }
    /// Info strings are pairs. A backslash inside a value has the same effect.
    INF_002 = "Q3-INF-002" Error "last key of an info string has no value" {
        cite: ioquake3("code/qcommon/q_shared.c, Info_NextPair"),
        examples: [
            Example::of(&[QI, S(r"ffffffff 'infoResponse' 0a '\challenge\abc\hostname\Lab\mapname\q3dm17\sv_maxclients\8\pure'")]),
            Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\La\b' 0a")]),
        ],
    }
    /// Engines refuse empty keys: one shows that a value contained a backslash. An empty value is legal.
    INF_003 = "Q3-INF-003" Warning "key of an info string is empty" {
        cite: ioquake3("code/qcommon/q_shared.c, Info_SetValueForKey"),
        examples: [Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\\x' 0a")])],
    }
    /// Engines take the first one, most libraries the last.
    INF_004 = "Q3-INF-004" Note "key is given twice" {
        cite: ioquake3("code/qcommon/q_shared.c, Info_ValueForKey"),
        examples: [Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\sv_hostname\Other' 0a")])],
    }
    /// `hostname` or `sv_hostname`, `mapname` or `map`, `sv_maxclients` or `maxclients`: server browsers drop a server that lacks
    /// one of them.
    INF_005 = "Q3-INF-005" Warning "info response has no name, map or maximum of players" {
        cite: ioquake3("code/server/sv_main.c, SVC_Info"),
        examples: [Example::of(&[QI, S(r"ffffffff 'infoResponse' 0a '\challenge\abc\hostname\Lab\clients\1\sv_maxclients\8'")])],
    }
    /// `clients`, `sv_maxclients`, `maxclients` and `protocol` are: all clients convert them.
    INF_006 = "Q3-INF-006" Warning "value is not a decimal integer" {
        cite: gamedig("protocols/quake3.js"),
        examples: [Example::of(&[QI, S(r"ffffffff 'infoResponse' 0a '\challenge\abc\hostname\Lab\mapname\q3dm17\clients\one\sv_maxclients\8'")])],
    }
    /// It has score, ping and a name in quotes; in QuakeWorld number, score, minutes and ping stand before the name.
    PLR_001 = "Q3-PLR-001" Error "line is none of a player" {
        cite: gamedig("protocols/quake2.js"),
        examples: [
            Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a '5 48 Ann' 0a")]),
            Example::of(&[QS, S(r#"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a '5 48 "Ann' 0a"#)]),
            Example::of(&[C("ffffffff 'status'"), S(r#"ffffffff 'n\hostname\Lab\map\dm6' 0a '1 12 "Ann" "base" 4 11' 0a00"#)]),
        ],
    }
    /// Everyone on the path reads the password, and who has it controls the server.
    SEC_003 = "Q3-SEC-003" Warning "rcon sends its password in clear text" {
        cite: ioquake3("code/server/sv_main.c, SVC_RemoteCommand"),
        examples: [Example::of(&[QS, SOK, C("ffffffff 'rcon secret status'"), S("ffffffff 'print' 0a 'ok' 0a")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of its kind is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "Q3-TXN-001" {
        cite: ioquake3("code/server/sv_main.c, SV_ConnectionlessPacket"),
        examples: [Example::of(&[SOK])],
    }
    /// The answer window is two seconds. Silence is also how servers refuse: for their limits, or because they are set so.
    TXN_002: UNANSWERED = "Q3-TXN-002" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[QS])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "Q3-TXN-003" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[QS, Wait(2600), SOK])],
    }
    /// A byte-identical answer to a request already answered: UDP duplicated it.
    TXN_004: COPY = "Q3-TXN-004" {
        cite: ioquake3("code/server/sv_main.c, SVC_Status"),
        examples: [Example::of(&[QS, SOK, SOK])],
    }
    /// The challenge keeps out forged answers: clients drop one with another challenge than theirs.
    TXN_005 = "Q3-TXN-005" Error "answer carries a challenge that no open request carried" {
        cite: ioquake3("code/server/sv_main.c, SVC_Info"),
        examples: [Example::of(&[QI, S(r"ffffffff 'infoResponse' 0a '\challenge\xyz\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8'")])],
    }
    /// Engines repeat it, but for FiveM's status response. The answer is paired by order then.
    TXN_006 = "Q3-TXN-006" Note "answer does not repeat the challenge" {
        cite: ioquake3("code/server/sv_main.c, SVC_Info"),
        per_server: true,
        strict: Warning,
        examples: [Example::of(&[QI, S(r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8'")])],
    }
    /// DarkPlaces does so where the list of players does not fit its buffer.
    TXN_007 = "Q3-TXN-007" Note "getstatus is answered by an info response" {
        cite: Cite { doc: "DarkPlaces", section: "netconn.c", url: "https://github.com/DarkPlacesEngine/DarkPlaces" },
        per_server: true,
        examples: [Example::of(&[C("ffffffff 'getstatus abc'"), IOK])],
    }
    /// Servers with a limit drop it: ioquake3 takes ten at once and one a second from an address, FiveM and DarkPlaces similarly.
    TXN_008 = "Q3-TXN-008" Note "request beyond ten at once and one a second" {
        cite: ioquake3("code/server/sv_main.c, SVC_RateLimitAddress"),
        side: Client,
        examples: [Example::of(&[QS, QS, QS, QS, QS, QS, QS, QS, QS, QS, QS, QS])],
    }
    /// The server prints a text where an answer is due: QuakeWorld and its descendants tell banned clients so. Clients show
    /// that it does not answer. A print that may answer `rcon` or `connect` answers no query.
    TXN_009 = "Q3-TXN-009" Error "request is answered by a print" {
        cite: Cite { doc: "MVDSV", section: "src/sv_main.c, SV_SendBan", url: "https://github.com/QW-Group/mvdsv" },
        examples: [
            Example::of(&[C("ffffffff 'status'"), S("ffffffff 'n' 0a 'banned.' 0a")]),
            Example::of(&[QS, S("ffffffff 'print' 0a 'You are banned.' 0a")]),
        ],
    }
    /// A forged source address brings a victim that much more: nothing proves that the client is who it seems to be. Answers of
    /// 30 to 130 times their request were measured.
    SEC_001 = "Q3-SEC-001" Note "answer is more than ten times its request" {
        cite: ioquake3("code/server/sv_main.c, SVC_RateLimitAddress"),
        per_server: true,
        ratio: true,
        strict: Warning,
        examples: [Example::of(&[QS, S(r"ffffffff 'statusResponse' 0a '\sv_hostname\' 4c*125 0a")])],
    }
    /// It has no limit, and can be used to flood a victim whose address is forged. ioquake3 answers 11 times, FiveM 12.
    SEC_002 = "Q3-SEC-002" Warning "more than 20 answers to one address within a second" {
        cite: ioquake3("code/server/sv_main.c, SVC_RateLimitAddress"),
        examples: [Example::of(&[
            QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK,
            QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK, QS, SOK,
        ])],
    }
}

static ENDS: Ends = Ends::new(&RSP_001, &RSP_002, &IGNORED);

const SAMPLES: &[Example] = &[
    Example::of(&[
        C("ffffffff 'getstatus x1' 0a"),
        S(
            r#"ffffffff 'statusResponse' 0a '\challenge\x1\sv_maxclients\8\mapname\q3dm1' 0a '3 50 "Ann"' 0a '-1 0 "Bob" 2' 0a"#,
        ),
    ]),
    Example::of(&[QI, IOK]),
    Example::of(&[
        C("ffffffff 02 'getinfo x'"),
        S(r"ffffffff 01 'infoResponse' 0a '\challenge\x\hostname\Lab\mapname\dm\sv_maxclients\8'"),
    ]),
    Example::of(&[
        C("ffffffff 'status' 0a"),
        S(r#"ffffffff 'print' 0a '\hostname\Lab\maxclients\8' 0a '3 50 "Ann" "10.0.0.1:1"' 0a"#),
    ]),
    Example::of(&[
        C("ffffffff 'status 23'"),
        S(r#"ffffffff 'n\hostname\Lab\map\dm6' 0a '7 12 3 45 "Ann" "base" 4 11 "red"' 0a00"#),
    ]),
    Example::of(&[C("ffffffff 'info 34'"), S("ffffffff 'info' 0a 'Lab q2dm1 3/16' 0a")]),
];

/// The bytes before the command word in messages of the client and of the server.
const CLIENT: &[&[u8]] = &[b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x02", b"\xff\xff\xff\xff\xff", DOUBLED];
const SERVER: &[&[u8]] = &[b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\xff", DOUBLED];
/// The prefix twice, which is a fault.
const DOUBLED: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff";
/// How lines of QuakeWorld about servers for spectators begin.
const QTV: &[u8] = b"qtv ";
/// The bytes between the tokens of a player's line.
const BLANKS: &[u8] = b" \t\r\x0c";
/// The bytes that may follow a command word.
const BEHIND: &[u8] = b" \n\0";

const STATUS: u8 = 0;
const INFORMATION: u8 = 1;
const CONSOLE: u8 = 2;

/// A form with the prefixes of the client, and of the server.
const fn asks(form: Form) -> Form {
    form.after(CLIENT)
}
const fn answers(form: Form) -> Form {
    form.after(SERVER)
}

messages! {
    GETSTATUS_REQUEST = Message::request("getstatus_request", STATUS, &[
        asks(Form::of(b"getstatus").word(BEHIND).caseless()),
    ]).keyed(asked_challenge);
    GETINFO_REQUEST = Message::request("getinfo_request", INFORMATION, &[
        asks(Form::of(b"getinfo").word(BEHIND).caseless()),
    ]).keyed(asked_challenge);
    STATUS_REQUEST = Message::request("status_request", STATUS, &[
        asks(Form::of(b"status").word(BEHIND).caseless()).when(is_number_or_nothing).level(Level::Medium),
    ]);
    INFO_REQUEST = Message::request("info_request", INFORMATION, &[
        asks(Form::of(b"info ").caseless()).when(is_number_or_nothing).level(Level::Medium),
    ]);
    RCON_REQUEST = Message::request("rcon_request", CONSOLE, &[
        asks(Form::of(b"rcon ")).level(Level::Low),
    ]).paired(Level::Medium);
    STATUS_RESPONSE = Message::response("status_response", STATUS, &[
        answers(Form::of(b"statusResponse\n\\")),
        answers(Form::of(b"statusResponse")).level(Level::Medium),
        answers(Form::of(b"print\n\\")).level(Level::Medium),
        answers(Form::of(b"n\\")).when(has_pair).level(Level::Medium),
        answers(Form::of(b"n")).when(has_player).level(Level::Low),
        answers(Form::of(b"n")).when(may_have_player).due(),
        answers(Form::of(b"n")).when(has_nothing).due(),
        Form::of(b"").when(|p| is_cut(p, b"statusResponse")).awaited(),
    ]).keyed(repeated_challenge).answering(Answers { follows: &[PRINT_RESPONSE], ..Answers::OWN_STEP });
    INFO_RESPONSE = Message::response("info_response", INFORMATION, &[
        answers(Form::of(b"infoResponse\n\\")),
        answers(Form::of(b"infoResponse")).level(Level::Medium),
        answers(Form::of(b"info\n")).when(ends_with_player_counts).level(Level::Medium),
        answers(Form::of(b"info\n")).awaited(),
        Form::of(b"").when(|p| is_cut(p, b"infoResponse")).awaited(),
    ]).keyed(repeated_challenge).answering(Answers { also: &[STATUS], follows: &[PRINT_RESPONSE], ..Answers::OWN_STEP });
    // QuakeWorld and DarkPlaces print to the console with the letter that begins a status response.
    PRINT_RESPONSE = Message::response("print_response", CONSOLE, &[
        answers(Form::of(b"print\n")).level(Level::Low),
        answers(Form::of(b"n")).level(Level::Low).known(),
    ]).paired(Level::Medium).answering(Answers { also: &[STATUS, INFORMATION], refuses: true, ..Answers::OWN_STEP });
    OOB = Message::named("oob");
    UNKNOWN = Message::named("unknown");
}

const RULES_OF_STEPS: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_key: Some(&TXN_005),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((10, &SEC_001)),
    ..StepRules::new(&TXN_002)
};

/// The status query of Quake 3 and its descendants.
#[derive(Debug)]
pub struct Quake3;

impl Protocol for Quake3 {
    /// The recent requests and answers of client addresses.
    type Memory = Bounded<(Endpoint, Endpoint), Client, MAX_CLIENTS>;

    const COLOURS: Option<Colours> = Some(Colours::Carets);

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let challenge = ask.random as u32;
        let command = match (ask.answered, ask.silences) {
            // Quake 2 and QuakeWorld know no other word, and answer it with everything.
            (0, 2..) => "status".to_owned(),
            (0, _) => format!("getinfo {challenge:08x}"),
            (1, _) if ask.all && words(ask.first).starts_with(b"infoResponse") => {
                format!("getstatus {challenge:08x}")
            }
            _ => return None,
        };
        Some([&[0xff; 4], command.as_bytes()].concat())
    }

    const INFO: Info = Info {
        known_as: &[
            ("quake", 0),
            ("quake2", 27910),
            ("quakeworld", 27500),
            ("cod", 28960),
            ("fivem", 30120),
            ("xonotic", 26000),
        ],
        ports: &[27960, 27910, 27500, 28960, 29070, 20100, 30120, 26000, 44400],
        messages: MESSAGES,
        steps: &[
            StepInfo {
                shown_key: CHALLENGE_TEXT,
                keyless: true,
                prefers_own: true,
                ..StepInfo::keyed("status", 16, RULES_OF_STEPS)
            },
            StepInfo {
                shown_key: CHALLENGE_TEXT,
                keyless: true,
                prefers_own: true,
                ..StepInfo::keyed("info", 16, RULES_OF_STEPS)
            },
            StepInfo {
                lines: true,
                prefers_own: true,
                ..StepInfo::ordered("rcon", StepRules { late: Some(&TXN_003), ..StepRules::new(&TXN_002) })
            },
        ],
        fields: &[FIELDS],
        volatile_keys: &["challenge"],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&RSP_001], &[&INF_001, &INF_002, &INF_005, &RSP_002]),
            (Relation::Same, &[&INF_001], &[&INF_005, &PLR_001]),
            (Relation::Same, &[&INF_002], &[&INF_003, &INF_005]),
            (Relation::Same, &[&RSP_002], &[&PLR_001]),
            (Relation::Request, &[&REQ_001, &REQ_003, &TXN_008], &[&TXN_002]),
            (Relation::Instead, &[&TXN_005], &[&TXN_002]),
        ],
        floods: Some(&SEC_002),
        replies: answering::REPLIES,
        samples: SAMPLES,
        ..Info::of("quake3", "Quake 3, Quake 2 and QuakeWorld status query", SPEC, &ENDS)
    };

    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).map(|g| without_cut_key(g, p, wire_len))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let claimed = recognise_known::<Self>(p, wire_len, known).map(|g| without_cut_key(g, p, wire_len));
        claimed.or_else(|| misprefixed(p, wire_len, known)).or_else(|| {
            let word = p.get(prefix(p)..).unwrap_or_default();
            match p {
                [0xff, 0xff, 0xff, 0xff, ..] if is_word(word) => {
                    // The server may print its answer.
                    let probe = Self::INFO.stray(OOB, p, known)?;
                    let commands = known.direction == Direction::C2s;
                    Some(Probe { request_state: if commands { Probe::COMMAND } else { 0 }, ..probe })
                }
                [0xff, 0xff, 0xff, 0xff, ..] => None,
                _ if known.direction == Direction::C2s && query(word).is_some() => {
                    Self::INFO.stray(query(word)?, p, known)
                }
                [0xff, ..] if known.direction == Direction::C2s => None,
                _ => unknown(&Self::INFO, p, known),
            }
        })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message >= UNKNOWN {
            let rest = c.rest().len();
            return c.field(&PAYLOAD, bytes(rest)).map(drop);
        }
        let prefix = prefix(c.rest());
        let marks = || Compared::new(ComparedValue::Bytes(prefix as u64), ComparedValue::Bytes(4));
        if prefix > 0 {
            c.field(&PREFIX, bytes(prefix))?;
        }
        if c.rest().is_empty() {
            let asks = cx.message <= RCON_REQUEST;
            let fault = c.short(if asks { &HDR_001 } else { &RSP_001 });
            return Err(if asks { Fault { values: marks(), ..fault } } else { fault });
        }
        let answers = [STATUS_RESPONSE, INFO_RESPONSE, PRINT_RESPONSE].contains(&cx.message);
        c.require_that(&HDR_001, prefix >= 4 || answers, marks)?;
        c.compare_at(
            &HDR_002,
            Span { start: 0, end: prefix.max(1) as u16 },
            || matches!(prefix, 4 | 5),
            || Compared::new(ComparedValue::Bytes(prefix as u64), "4 or 5 bytes"),
        );
        let has_direction_byte = matches!(c.rest(), [1 | 2, ..]);
        if has_direction_byte {
            c.field(&DIRECTION_BYTE, byte)?;
        }
        let wire_len = c.wire_len();
        match cx.message {
            STATUS_RESPONSE | INFO_RESPONSE => {
                c.compare_whole(
                    &RSP_003,
                    || wire_len <= UNFRAGMENTED,
                    || {
                        Compared::new(
                            ComparedValue::Bytes(wire_len as u64),
                            ComparedValue::AtMost(UNFRAGMENTED as i64),
                        )
                    },
                );
                response(c, cx.message, prefix, has_direction_byte)
            }
            PRINT_RESPONSE => {
                let length = if c.rest().first() == Some(&b'n') { 1 } else { "print".len() };
                c.text(&WORD, text(length))?;
                c.skip(if length == 1 { b"" } else { b"\n" });
                // The console prints the value of a variable in quotes.
                let shows = Str(c.rest()).mentions_password() && c.ahead().contains(&b'"');
                c.mask_unless(cx.secrets || !shows);
                c.secret_text(&TEXT, remaining).map(drop)
            }
            OOB => {
                c.text(&COMMAND, until(BEHIND))?;
                // A connect packet may contain the password of the game.
                c.hide_password(cx.secrets);
                c.ignored(&IGNORED)
            }
            _ => request(c, cx),
        }
    }

    fn observe(clients: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let asks = match (seen.probe.message, seen.pairing) {
            (GETSTATUS_REQUEST | GETINFO_REQUEST | RCON_REQUEST, Pairing::Asked { .. }) => true,
            (STATUS_RESPONSE | INFO_RESPONSE, Pairing::Answered(answer)) => {
                if answer.keyless && seen.datagram.cut == 0 {
                    raised.add(&TXN_006);
                }
                if answer.step != seen.probe.step {
                    raised.add(&TXN_007);
                }
                false
            }
            (PRINT_RESPONSE, Pairing::Answered(answer)) if answer.step != CONSOLE => {
                return raised.add(&TXN_009);
            }
            _ => return, // nearly all packets are the game's
        };
        let now = seen.datagram.time;
        let still_counts = |(_, client): &(_, Client)| client.still_counts(now);
        let client =
            clients.get_or_insert_over((seen.server, seen.client.host()), Client::default(), still_counts);
        if asks && client.exceeds_requests(now) {
            raised.add(&TXN_008);
        }
        if !asks && client.exceeds_answers(now) {
            raised.add(&SEC_002);
        }
    }
}

/// The recent requests and answers of a client address.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// The fill level of the token bucket of its requests, and the time of that level.
    requests: u8,
    since: Option<Time>,
    /// The times of the latest answers, of the last second and since the last finding.
    answers: ArrayVec<Time, MOST_ANSWERS>,
}

impl Client {
    /// Whether its requests and answers may still count: the bucket is not empty before that.
    fn still_counts(&self, now: Time) -> bool {
        let latest = self.since.max(self.answers.last().copied());
        latest
            .and_then(|latest| now.since(latest))
            .is_some_and(|age| age < PERIOD.saturating_mul(BURST.into()))
    }

    /// Records a request; returns whether a server with ioquake3's rate limit drops it.
    fn exceeds_requests(&mut self, now: Time) -> bool {
        let age = self.since.and_then(|since| now.since(since)).filter(|age| *age >= 0);
        let leaked = age.map_or(i64::MAX, |age| age.checked_div(PERIOD).unwrap_or(i64::MAX));
        if leaked > 0 {
            let rest = age.filter(|_| leaked <= i64::from(BURST)).map_or(0, |age| age.wrapping_rem(PERIOD));
            self.since = Some(now.plus(rest.saturating_neg()));
            self.requests = self.requests.saturating_sub(u8::try_from(leaked).unwrap_or(u8::MAX));
        }
        let full = self.requests >= BURST;
        self.requests = if full { BURST } else { self.requests.saturating_add(1) };
        full
    }

    /// Records an answer; returns whether it exceeds the limit within a second. After that, counting starts again.
    fn exceeds_answers(&mut self, now: Time) -> bool {
        let recent = |age| (0..=PERIOD).contains(&age);
        self.answers.retain(|at| now.since(*at).is_some_and(recent));
        let full = self.answers.is_full();
        if full {
            self.answers.clear();
        }
        self.answers.push(now);
        full
    }
}

// --- Recognising

/// The length of the prefix. Other queries have more bytes of 255 than Hexen World; eight are a prefix twice.
fn prefix(p: &[u8]) -> usize {
    let bytes = p.iter().take(DOUBLED.len().saturating_add(1)).take_while(|b| **b == 0xff).count();
    if bytes == DOUBLED.len() { bytes } else { bytes.min(5) }
}

/// Recognises an answer behind a prefix that is too short or missing.
#[cold]
fn misprefixed(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
    let prefix = prefix(p);
    if prefix >= 4 || known.direction == Direction::C2s || !known.open {
        return None;
    }
    let right = [&[0xff; 4][..], p.get(prefix..)?].concat();
    let length = wire_len.saturating_sub(prefix).saturating_add(4);
    let is_answer =
        |g: &Probe| [STATUS_RESPONSE, INFO_RESPONSE].contains(&g.message) && g.level == Level::High;
    recognise::<Quake3>(&right, length).filter(is_answer)
}

/// The text after the prefix and MOHAA's byte.
fn words(p: &[u8]) -> &[u8] {
    let rest = p.get(prefix(p)..).unwrap_or_default();
    rest.strip_prefix(b"\x01").or(rest.strip_prefix(b"\x02")).unwrap_or(rest)
}

/// The first line.
fn line(text: &[u8]) -> &[u8] {
    text.split(|b| b"\n\0".contains(b)).next().unwrap_or_default()
}

/// Whether only digits and spaces follow the first word of the line.
fn is_number_or_nothing(p: &[u8]) -> bool {
    let mut rest = line(words(p)).iter().skip_while(|b| b.is_ascii_alphabetic());
    rest.all(|b| b.is_ascii_digit() || *b == b' ')
}

/// Whether the info string begins with a key and a value.
fn has_pair(p: &[u8]) -> bool {
    line(words(p)).iter().filter(|b| **b == b'\\').count() >= 2
}

/// Whether a player's line in the form of QuakeWorld follows.
fn has_player(p: &[u8]) -> bool {
    let tokens = words(p).get(1..).and_then(|rest| tokens(line(rest)));
    tokens.is_some_and(|tokens| layout(&tokens, true).is_some())
}

/// Whether an info string or a number follows, which may be cut.
fn may_have_player(p: &[u8]) -> bool {
    matches!(words(p), [b'n', b'\\' | b'0'..=b'9' | b'-', ..])
}

/// Whether this is QuakeWorld's answer without an info string and without players, or with lines about servers only.
fn has_nothing(p: &[u8]) -> bool {
    let rest = words(p).get(1..).unwrap_or_default();
    rest.starts_with(QTV) || rest.iter().all(|b| b"\n\0".contains(b))
}

/// Whether the line ends with the numbers of players and the maximum.
fn ends_with_player_counts(p: &[u8]) -> bool {
    words(p).strip_prefix(b"info\n").is_some_and(|rest| quake2_name_len(line(rest)).is_some())
}

/// Whether the text begins with a word of letters.
fn is_word(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let ends = text.get(letters).is_none_or(|b| b" \n\0\"\\".contains(b));
    letters >= 3 && ends && text.first().is_some_and(u8::is_ascii_lowercase)
}

/// Whether the payload ends inside this word.
fn is_cut(p: &[u8], word: &[u8]) -> bool {
    let text = words(p);
    p.starts_with(&[0xff; 4]) && text.len() > 1 && word.starts_with(text)
}

/// The request that a word stands for.
fn query(word: &[u8]) -> Option<u8> {
    let end = word.iter().position(|b| BEHIND.contains(b)).unwrap_or(word.len());
    let word = word.get(..end)?;
    let queries: [&[u8]; 4] = [b"getstatus", b"getinfo", b"status", b"info"];
    queries.iter().position(|query| *query == word).map(|at| at as u8)
}

/// Removes the key if the capture may have cut its challenge: if the last captured byte belongs to it.
fn without_cut_key(g: Probe, p: &[u8], wire_len: usize) -> Probe {
    let key = MESSAGES.get(usize::from(g.message)).and_then(|message| message.key);
    let reaches_end = || key.zip(p.split_last()).is_some_and(|(key, (_, rest))| key(rest) != g.key);
    if p.len() < wire_len && reaches_end() { Probe { key: None, ..g } } else { g }
}

const CHALLENGE_TEXT: ShownKey = ShownKey::Text(challenge_text);
fn challenge_text(p: &[u8]) -> Option<&[u8]> {
    line(words(p)).split(|b| *b == b' ').filter(|word| !word.is_empty()).nth(1)
}
fn asked_challenge(p: &[u8]) -> Option<u64> {
    challenge_text(p).map(hashed)
}

fn repeated_challenge(p: &[u8]) -> Option<u64> {
    let info = p.get(p.iter().position(|b| *b == b'\\')?.saturating_add(1)..)?;
    let (_, challenge) = pairs(line(info)).find(|(key, _)| *key == b"challenge")?;
    challenge.split(|b| *b == b' ').next().filter(|first| !first.is_empty()).map(hashed)
}

/// The keys and values of an info string after its first backslash.
fn pairs(info: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut parts = info.split(|b| *b == b'\\');
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

// --- Decoding

/// A password. In quotes it may contain spaces.
fn password(i: &[u8]) -> Wire<'_, Str<'_>> {
    let Some(inside) = i.strip_prefix(b"\"") else { return until(BEHIND)(i) };
    let (_, found) = until(b"\"\n\0")(inside)?;
    let quotes = if inside.get(found.0.len()) == Some(&b'"') { 2 } else { 1 };
    text(found.0.len().saturating_add(quotes))(i)
}

fn request<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let word = c.text(&WORD, until(BEHIND))?;
    c.compare(
        &REQ_001,
        || !word.0.iter().any(u8::is_ascii_uppercase),
        || Compared::new(word, "small letters"),
    );
    c.check(&SEC_003, || true);
    c.skip_all(b" ");
    let more = c.rest().first().is_some_and(|next| !BEHIND.contains(next));
    match cx.message {
        GETSTATUS_REQUEST | GETINFO_REQUEST if more => {
            let challenge = c.text(&CHALLENGE, until(BEHIND))?;
            c.compare(
                &REQ_002,
                || challenge.0.len() <= LONGEST_CHALLENGE,
                || {
                    Compared::new(
                        ComparedValue::Bytes(challenge.0.len() as u64),
                        ComparedValue::AtMost(LONGEST_CHALLENGE as i64),
                    )
                },
            );
            c.compare(
                &REQ_003,
                || !challenge.0.iter().any(|b| b"\\;\"".contains(b)),
                || Compared::new(challenge, "a challenge without backslash, semicolon and quote"),
            );
        }
        STATUS_REQUEST if more => drop(c.text(&MODE, until(BEHIND))?),
        INFO_REQUEST if more => drop(c.text(&PROTOCOL, until(BEHIND))?),
        RCON_REQUEST => {
            c.mask_unless(cx.secrets);
            c.secret_text(&PASSWORD, password)?;
            c.check(&SEC_003, || false);
            c.skip(b" ");
            // It may set another password.
            c.hide_password(cx.secrets);
            c.secret_text(&COMMAND, until(b"\n\0"))?;
        }
        _ => {}
    }
    c.ignored(&IGNORED)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_takes_ten_requests_at_once_and_one_a_second() {
        let mut client = Client::default();
        let mut exceeds =
            |seconds: i64| client.exceeds_requests(Time::from_nanos(seconds * PERIOD + PERIOD / 2));
        assert_eq!(
            (0..12).map(|_| exceeds(0)).collect::<Vec<_>>(),
            [vec![false; 10], vec![true; 2]].concat()
        );
        assert_eq!([1, 1, 3, 3, 3].map(&mut exceeds), [false, true, false, false, true]);
        assert_eq!([60, 60].map(&mut exceeds), [false, false]);
    }
}
