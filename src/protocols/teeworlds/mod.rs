//! The server info of Teeworlds 0.4 to 0.7 and of DDNet, and the lists of their master servers. Big-endian.
//!
//! ```text
//! frame 0.6      ff × 10 │ word 4                                          0.4 and 0.5, too
//! frame 0.6ex    'xe' │ extra_token u16 │ 0000 ffffffff │ word 4           DDNet's requests
//! frame 0.7      21 │ receiver's token u32 │ sender's token u32 │ ffffffff │ word 4
//! gie3           token u8; 0.7: packed integer                             gie2 and fstd: u8; gief: none
//! inf3           token │ version │ name │ [hostname] │ map │ game_type │ flags │ [skill_level] │ counts │ players
//! iext           as inf3, with map_crc │ map_size after the map, and a reserved text after the counts and each player
//! iex+           token │ packet_no │ reserved │ players
//! 0.7 token      040000 ffffffff 05 │ client_token u32 │ zeros up to 520 bytes
//!                040000 client_token u32 │ 05 │ server_token u32
//! lis2           { address 16 │ port u16 }                                 list: { address 4 │ port u16, little-endian }
//! ```
//!
//! Oddities: numbers of 0.6 are decimal texts with a zero, those of 0.7 are packed: E S DDDDDD, then E DDDDDDD, low bits first,
//! where E says that another byte follows and S that the bits are inverted. A server of 0.6 does not look at its header, so that it
//! answers an extended request with the low byte of the token. Answers of DDNet come in parts that are not counted: only the number of
//! clients says whether all have come. 0.7 answers nobody whose address it has not proven by a token.

mod answering;
mod info;
mod keys;

use super::prelude::*;
use crate::capture::Time;
use crate::net::Endpoint;
use info::{info, name, number, players};
use keys::{
    answered_token, asked_token, extended_token, first_part, further_part, is_proven, is_word, part_of_64,
};

/// First byte of the frame of 0.7.
const SEVEN: u8 = 0x21;
/// Offset of the four letters, and that of the body, in frames of 0.6.
const WORD_AT: usize = 10;
const BODY_AT: usize = 14;
/// Offset of the body in frames of 0.7.
const SEVEN_BODY_AT: usize = 17;
/// The token of the receiver where the sender has none.
const NO_TOKEN: u32 = u32::MAX;
/// The least length of a token request in bytes; servers ignore shorter ones.
const TOKEN_REQUEST: usize = 519;
/// Length of the answer.
const TOKEN_ANSWER: usize = 12;
/// For how long a server accepts a token, in nanoseconds.
const TOKEN_AGE: i64 = 16_000_000_000;
/// Maximum number of clients whose tokens are remembered, and of tokens for each.
const MAX_CLIENTS: usize = 4096;
const TOKENS: usize = 4;

const SPEC: &str = "https://github.com/teeworlds/teeworlds";
const fn teeworlds(section: &'static str) -> Cite {
    Cite { doc: "Teeworlds", section, url: SPEC }
}
const fn ddnet(section: &'static str) -> Cite {
    Cite { doc: "DDNet", section, url: "https://github.com/ddnet/ddnet" }
}
const LIBTW2: Cite = Cite {
    doc: "libtw2",
    section: "serverbrowse/src/protocol.rs",
    url: "https://github.com/heinrich5991/libtw2",
};

const ASK: rule::Step = C("ff*10 'gie3' 05");
const OK: rule::Step =
    S("ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 '16' 00 '0' 00 '16' 00");
const ASK_EXTENDED: rule::Step = C("7865 0102 0000 ffffffff 'gie3' 05");
const ASK_TOKEN: rule::Step = C("040000 ffffffff 05 1a2b3c4d 00*508");
const TOKEN_OK: rule::Step = S("040000 1a2b3c4d 05 55667788");
const ASK_SEVEN: rule::Step = C("21 55667788 1a2b3c4d ffffffff 'gie3' 05");

fields! {
    /// The bytes in front of the four letters: those of 0.6, or the first ones of another frame.
    HEADER = "header": Bytes public;
    /// Upper 16 bits of the token of an extended request.
    EXTRA_TOKEN = "extra_token": Uint volatile;
    /// Token of the server, which proves the address of the client.
    SERVER_TOKEN = "server_token": Uint volatile token;
    /// Token of the client.
    CLIENT_TOKEN = "client_token": Uint volatile token;
    /// Bytes of the frame that are the same in every message.
    MARK = "mark": Bytes public;
    /// Kind of a control message: 5 token.
    CONTROL = "control": Uint;
    /// Zeros that make a token request larger than its answer.
    PADDING = "padding": Bytes public;
    /// Four letters that name the message.
    WORD = "word": Text public;
    /// Version whose frame and message it is: 0.4, 0.5, 0.6, 0.6ex, 0.6_64, 0.7, ddper.
    DIALECT = "dialect": Named;
    /// Number of the client's choice, which the answer repeats.
    TOKEN = "token": Dynamic volatile;
    /// Version of the server.
    VERSION = "version": Text => Version;
    /// Name of the server.
    SERVER_NAME = "name": Text => ServerName;
    /// Name of its host.
    HOSTNAME = "hostname": Text personal;
    /// The map that is played.
    MAP = "map": Text => Map;
    /// CRC of the map.
    MAP_CRC = "map_crc": Dynamic;
    /// Size of the map in bytes.
    MAP_SIZE = "map_size": Dynamic;
    /// The game: DM, CTF, a mod.
    GAME_TYPE = "game_type": Text public => Game;
    /// What the server wants and shows.
    FLAGS = "flags": Dynamic, Labels::Bits(&["password", "times"]);
    /// Progress of the game in per cent; -1 none.
    PROGRESSION = "progression": Dynamic;
    /// Skill that players need.
    SKILL_LEVEL = "skill_level": Dynamic;
    /// Clients who play.
    PLAYER_COUNT = "num_players": Dynamic => Players;
    /// How many may play.
    MOST_PLAYERS = "max_players": Dynamic => MaxPlayers;
    /// Clients, spectators too.
    CLIENT_COUNT = "num_clients": Dynamic => Players;
    /// Clients at most.
    MOST_CLIENTS = "max_clients": Dynamic => MaxPlayers;
    /// Number of the first player in this datagram.
    OFFSET = "offset": Dynamic;
    /// Number of a further part: 1, 2 and so on.
    PACKET_NO = "packet_no": Dynamic;
    /// A text that is empty so far.
    RESERVED = "reserved": Text;
    /// Players and spectators.
    PLAYER_LIST = "players": List;
    /// One of them.
    PLAYER = "players[]": Group;
    /// Name of the player.
    PLAYER_NAME = "players[].name": Text personal;
    /// Clan of the player.
    PLAYER_CLAN = "players[].clan": Text personal;
    /// Country of the player by its ISO 3166 number; -1 none.
    PLAYER_COUNTRY = "players[].country": Dynamic;
    /// Score of the player.
    PLAYER_SCORE = "players[].score": Dynamic;
    /// 1 for who plays, 0 for who watches.
    PLAYER_PLAYS = "players[].is_player": Dynamic;
    /// What the client is, in 0.7.
    PLAYER_FLAGS = "players[].flags": Dynamic, Labels::Bits(&["spectator", "bot"]);
    /// Empty so far.
    PLAYER_RESERVED = "players[].reserved": Text;
    /// Servers that the master knows.
    SERVER_LIST = "servers": List;
    /// Address and port of one.
    LISTED = "servers[]": Text;
    /// How many servers the master knows.
    COUNT = "count": Uint;
    /// Port on which a game server wants to be listed.
    PORT = "port": Uint;
    /// What became of the master's check.
    RESULT = "result": Text public;
    /// What the server has to tell the master over HTTP. Masked unless --show-secrets is given.
    CHALLENGE = "challenge": Text volatile;
    /// Bytes that nobody reads.
    IGNORED = "ignored": Bytes;
    /// A message of another kind.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// The answer has 12 bytes, and the request 512 after its header, so that nobody gains by a forged address. Servers ignore a
    /// shorter one.
    TOK_001 = "TW-TOK-001" Error "token request is shorter than 519 bytes" {
        cite: teeworlds("src/engine/shared/network_token.cpp, NET_TOKENREQUEST_DATASIZE"),
        examples: [Example::of(&[ASK_TOKEN, TOKEN_OK, Wait(1000), C("040000 ffffffff 05 0a0b0c0d 00*88")])],
    }
    /// Servers read the four letters and one more byte, and ignore what has none.
    REQ_001 = "TW-REQ-001" Error "request ends before its token" {
        cite: teeworlds("src/engine/server/server.cpp, PumpNetwork"),
        examples: [Example::of(&[ASK, OK, Wait(1000), C("ff*10 'gie3'")]), Example::of(&[C("ff*10 'fstd'")])],
    }
    /// A server of 0.6 wants exactly 15 bytes and ignores others; one of DDNet takes more.
    REQ_002 = "TW-REQ-002" Warning "bytes follow the token of a request" {
        cite: teeworlds("src/engine/server/server.cpp, PumpNetwork"),
        examples: [Example::of(&[C("ff*10 'gie3' 05 00"), OK])],
    }
    /// From 0.7 on a client asks for a token first. What comes without one is not answered.
    REQ_003 = "TW-REQ-003" Error "request carries no token of the server" {
        cite: teeworlds("src/engine/shared/network_token.cpp, CNetTokenManager::ProcessMessage"),
        examples: [Example::of(&[C("21 ffffffff 1a2b3c4d ffffffff 'gie3' 05")])],
    }
    /// Some clients drop it, others read on beyond its end.
    RSP_001 = "TW-RSP-001" Error "answer ends inside a field" {
        cite: LIBTW2,
        examples: [
            Example::of(&[ASK, S("ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 '16' 00 '0' 00")]),
            Example::of(&[
                ASK_TOKEN, TOKEN_OK, ASK_SEVEN,
                S("21 1a2b3c4d 55667788 ffffffff 'inf3' 05 '0.7.5' 00 'Lab' 00 00 'dm1' 00 'DM' 00 00 01 00 10"),
            ]),
        ],
    }
    /// Clients drop an answer whose token, flags, counts, scores or countries they cannot read.
    INF_001 = "TW-INF-001" Error "number is not decimal" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK, S("ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 'many' 00 '0' 00 '16' 00")])],
    }
    /// Players are clients, and neither may be more than there is room for. Clients drop the answer.
    INF_002 = "TW-INF-002" Warning "counts of players and clients do not fit" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK, S("ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '3' 00 '16' 00 '1' 00 '16' 00")])],
    }
    /// 16, or 64 in 0.7 and in the list for 64 players. Clients drop the answer; DDNet clips and writes the true numbers into the name.
    INF_003 = "TW-INF-003" Note "maximum is above what the version can say" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK, S("ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 '64' 00 '0' 00 '64' 00")])],
    }
    /// The game replaces what is not; some clients drop the answer.
    STR_001 = "TW-STR-001" Warning "text is not UTF-8" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK, S("ff*10 'inf3' '5' 00 '0.6.4' 00 4ce462 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 '16' 00 '0' 00 '16' 00")])],
    }
    /// A server with a limit of answers lists nobody, which is no fault; but whoever lists some clients should list all.
    PLR_001 = "TW-PLR-001" Note "players that are listed are not as many as are counted" {
        cite: ddnet("src/engine/server/server.cpp, CacheServerInfo"),
        examples: [Example::of(&[ASK, S(
            "ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '2' 00 '16' 00 '5' 00 '16' 00 \
             'Ann' 00 'X' 00 '276' 00 '3' 00 '1' 00",
        )])],
    }
    /// The parts behind the first one count from 1 to 64; clients drop others.
    PRT_002 = "TW-PRT-002" Error "number of a part is not 1 to 64" {
        cite: LIBTW2,
        examples: [Example::of(&[
            ASK_EXTENDED,
            S("ff*10 'iext' '66053' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 '7' 00 '9' 00 'DM' 00 '0' 00 '0' 00 '64' 00 '0' 00 '64' 00 00"),
            S("ff*10 'iex+' '66053' 00 '0' 00 00"),
        ])],
    }
    /// Servers have 18 bytes each, before 0.6 6 bytes. What is left over is lost.
    LST_001 = "TW-LST-001" Warning "list of servers ends inside one" {
        cite: LIBTW2,
        examples: [Example::of(&[C("ff*10 'req2'"), S("ff*10 'lis2' 00*10 ffff c0000201 206f 01")])],
    }
    /// Two bytes are the number of servers; game servers compare the length.
    LST_002 = "TW-LST-002" Error "number of servers is not two bytes" {
        cite: teeworlds("src/mastersrv/mastersrv.h, CMastersrvCount"),
        examples: [Example::of(&[C("ff*10 'cou2'"), S("ff*10 'siz2' 00")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// The server has issued tokens to this address in the last 16 seconds, but not this one: it ignores the message.
    TOK_002 = "TW-TOK-002" Error "token was not issued to this client" {
        cite: teeworlds("src/engine/shared/network_token.cpp, CheckToken"),
        examples: [Example::of(&[ASK_TOKEN, TOKEN_OK, C("21 01020304 1a2b3c4d ffffffff 'gie3' 05")])],
    }
    /// All parts together list fewer clients than are counted, though some, or the first part is missing: clients wait for a part that
    /// was lost.
    PRT_001 = "TW-PRT-001" Warning "parts of an answer are missing" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK_EXTENDED, S(
            "ff*10 'iext' '66053' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 '7' 00 '9' 00 'DM' 00 '0' 00 '8' 00 '64' 00 '8' 00 '64' 00 00 \
             'Ann' 00 00 '-1' 00 '1' 00 '1' 00 00",
        )])],
    }
    /// No request of its kind is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "TW-TXN-001" {
        cite: teeworlds("src/engine/server/server.cpp, PumpNetwork"),
        examples: [Example::of(&[OK])],
    }
    /// The answer window is two seconds; the game asks again after one. Servers refuse by silence.
    TXN_002: UNANSWERED = "TW-TXN-002" { cite: LIBTW2, examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "TW-TXN-003" { cite: LIBTW2, examples: [Example::of(&[ASK, Wait(2500), OK])] }
    /// A byte-identical answer: UDP duplicated it.
    TXN_004: COPY = "TW-TXN-004" {
        cite: teeworlds("src/engine/server/server.cpp, SendServerInfo"),
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// Servers copy the token, and clients drop an answer with another one.
    TXN_005 = "TW-TXN-005" Error "answer carries a token that no open request has" {
        cite: LIBTW2,
        examples: [Example::of(&[ASK, S("ff*10 'inf3' '6' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '0' 00 '16' 00 '0' 00 '16' 00")])],
    }
    /// The server does not know DDNet's extension, and repeats the low byte of the token. So the extension was made.
    TXN_006 = "TW-TXN-006" Note "plain answer to an extended request" {
        cite: ddnet("src/engine/shared/network.cpp"),
        per_server: true,
        examples: [Example::of(&[ASK_EXTENDED, OK])],
    }
    /// 15 bytes with a forged source address bring a victim hundreds; 0.7 proves the address by a token.
    SEC_001 = "TW-SEC-001" Note "answer is more than ten times its request" {
        cite: teeworlds("src/engine/server/server.cpp, SendServerInfo"),
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, S(
            "ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '2' 00 '16' 00 '2' 00 '16' 00 \
             'Ann' 00 78*40 00 '276' 00 '3' 00 '1' 00 'Bob' 00 79*40 00 '-1' 00 '-2' 00 '1' 00",
        )])],
    }
}

static TOKEN_ENDS: Ends = Ends::new(&TOK_001, &TOK_001, &SURPLUS);
static REQUEST_ENDS: Ends = Ends::new(&REQ_001, &REQ_002, &SURPLUS);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);
static LIST_ENDS: Ends = Ends::new(&LST_001, &LST_001, &SURPLUS);
static COUNT_ENDS: Ends = Ends::new(&LST_002, &LST_002, &SURPLUS);

// --- Recognising

/// What precedes the letters in 0.6 and before; the second is that of old clients of the master.
const PLAIN: &[&[u8]] = &[&[0xff; 10], b"\x20\0\0\0\0\0\xff\xff\xff\xff"];

/// The letters in every frame but DDNet's; `seven` is the end of the frame of 0.7 with them.
const fn word(letters: &'static [u8], seven: &'static [u8]) -> [Form; 2] {
    [Form::of(letters).after(PLAIN), Form::of(b"\x21").and(9, seven)]
}
/// Letters that 0.7 does not have.
const fn old(letters: &'static [u8]) -> Form {
    Form::of(letters).after(PLAIN)
}

messages! {
    TOKEN_REQUEST_MESSAGE = Message::request("token_request", TOKEN_STEP, &[
        Form::of(b"\x04\0\0\xff\xff\xff\xff\x05").length(TOKEN_REQUEST, usize::MAX),
        Form::of(b"\x04\0\0\xff\xff\xff\xff\x05").level(Level::Medium),
    ]).keyed(number_at::<8, 4>);
    TOKEN_RESPONSE = Message::response("token_response", TOKEN_STEP, &[
        Form::of(b"\x04\0\0").and(7, b"\x05").length(TOKEN_ANSWER, TOKEN_ANSWER).known(),
    ]).keyed(number_at::<3, 4>);
    INFO_REQUEST = Message::request("info_request", INFO, &[
        old(b"gie3"),
        Form::of(b"\x21").and(9, b"\xff\xff\xff\xffgie3"),
        Form::of(b"xe").and(4, b"\0\0\xff\xff\xff\xffgie3"),
    ]).keyed(asked_token).remembers(extended_token);
    INFO_RESPONSE = Message::response("info_response", INFO, &[
        old(b"inf3"),
        Form::of(b"\x21").and(9, b"\xff\xff\xff\xffinf3"),
        old(b"iext"),
        Form::of(b"dp\0\0\0\0\xff\xff\xff\xffinf3"),
    ]).keyed(answered_token).remembers(extended_token).in_parts(first_part).also(&[EXTENDED]);
    INFO_MORE = Message::response("info_more_response", EXTENDED, &[old(b"iex+")])
        .keyed(answered_token).remembers(extended_token).in_parts(further_part);
    INFO64_REQUEST = Message::request("info64_request", INFO64, &[old(b"fstd")]).keyed(asked_token);
    INFO64_RESPONSE = Message::response("info64_response", INFO64, &[old(b"dtsf")])
        .keyed(answered_token).in_parts(part_of_64);
    INFO5_REQUEST = Message::request("info5_request", INFO5, &[old(b"gie2")]).keyed(asked_token);
    INFO5_RESPONSE = Message::response("info5_response", INFO5, &[old(b"inf2")]).keyed(answered_token);
    INFO4_REQUEST = Message::request("info4_request", INFO4, &[old(b"gief")]);
    INFO4_RESPONSE = Message::response("info4_response", INFO4, &[old(b"info")]);
    LIST_REQUEST = Message::request("list_request", LIST, &[
        old(b"req2"), old(b"reqt"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xffreq2"),
    ]).remembers(is_proven);
    LIST_RESPONSE = Message::response("list_response", LIST, &[
        old(b"lis2"), old(b"list"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xfflis2"),
    ]).lists(&LISTED);
    COUNT_REQUEST = Message::request("count_request", COUNT_STEP, &[
        old(b"cou2"), old(b"coun"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xffcou2"),
    ]);
    COUNT_RESPONSE = Message::response("count_response", COUNT_STEP, &[
        old(b"siz2"), old(b"size"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xffsiz2"),
    ]);
    HEARTBEAT = Message::label("heartbeat", Direction::C2s, &[
        old(b"bea2"), old(b"beat"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xffbea2"),
    ]).beats(told_port);
    FIREWALL_CHECK = Message::label("firewall_check", Direction::S2c, &word(b"fw??", b"\xff\xff\xff\xfffw??"));
    FIREWALL_ANSWER = Message::label("firewall_answer", Direction::C2s, &word(b"fw!!", b"\xff\xff\xff\xfffw!!"));
    FIREWALL_RESULT = Message::label("firewall_result", Direction::S2c, &[
        old(b"fwok"), old(b"fwer"),
        Form::of(b"\x21").and(9, b"\xff\xff\xff\xfffwok"), Form::of(b"\x21").and(9, b"\xff\xff\xff\xfffwer"),
    ]);
    CHALLENGE_MESSAGE = Message::label("challenge", Direction::S2c, &word(b"chal", b"\xff\xff\xff\xffchal"));
    // A known word of the wrong side.
    UNKNOWN = Message::named("unknown").formed(&[
        Form::of(&[0xff; 10]).when(|p| is_word(p.get(WORD_AT..))).known(),
        Form::of(&[SEVEN]).and(9, b"\xff\xff\xff\xff").when(|p| is_word(p.get(13..))).known(),
    ]);
}

/// Steps, in the order of their declaration.
const TOKEN_STEP: u8 = 0;
const INFO: u8 = 1;
const INFO_SEVEN: u8 = 2;
const EXTENDED: u8 = 3;
const INFO64: u8 = 4;
const INFO5: u8 = 5;
const INFO4: u8 = 6;
const LIST: u8 = 7;
const COUNT_STEP: u8 = 8;

/// The port that a heartbeat tells.
fn told_port(p: &[u8]) -> Option<u16> {
    let at = if p.first() == Some(&SEVEN) { SEVEN_BODY_AT } else { BODY_AT };
    read_at(p, at, be_u16).filter(|port| *port > 0)
}

/// Gives a message of the frame or the extension of another version its step.
fn placed(p: &[u8], probe: Probe) -> Probe {
    let step = match (probe.message, p.first()) {
        (INFO_REQUEST | INFO_RESPONSE, Some(&SEVEN)) => INFO_SEVEN,
        (INFO_REQUEST, Some(b'x')) => EXTENDED,
        (INFO_RESPONSE, _) if p.get(WORD_AT..BODY_AT) == Some(b"iext") => EXTENDED,
        _ => probe.step,
    };
    Probe { step, ..probe }
}

// --- Protocol

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_key: Some(&TXN_005),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((10, &SEC_001)),
    ..StepRules::new(&TXN_002)
};
const ASKED: StepInfo = StepInfo { reuses_keys: true, keyless: true, ..StepInfo::keyed("info", 2, ANSWERED) };
const IN_PARTS: StepRules = StepRules { incomplete: Some(&PRT_001), ..ANSWERED };
const PROVEN: StepRules = StepRules { larger: None, ..ANSWERED };

/// Teeworlds and DDNet.
#[derive(Debug)]
pub struct Teeworlds;

impl Protocol for Teeworlds {
    /// The tokens that a server has issued to an address lately, and when.
    type Memory = Bounded<(Endpoint, Endpoint), [(u32, Time); TOKENS], MAX_CLIENTS>;

    const INFO: Info = Info {
        known_as: &[("ddnet", 0)],
        ports: &[8303, 8300, 8283],
        messages: MESSAGES,
        steps: &[
            StepInfo { reuses_keys: true, ..StepInfo::keyed("token", 8, PROVEN) },
            ASKED,
            StepInfo { name: "info7", key_digits: 8, rules: PROVEN, ..ASKED },
            StepInfo { open_ended: true, ..StepInfo { rules: IN_PARTS, ..ASKED } },
            StepInfo { name: "info64", open_ended: true, rules: IN_PARTS, ..ASKED },
            StepInfo { name: "info5", ..ASKED },
            StepInfo::ordered("info4", ANSWERED),
            StepInfo { open_ended: true, carries: 1, ..StepInfo::ordered("list", ANSWERED) },
            StepInfo::ordered("count", PROVEN),
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&RSP_001], &[&PLR_001, &INF_002]),
            (Relation::Same, &[&INF_001], &[&INF_002, &INF_003, &PLR_001, &PRT_002]),
            (Relation::Request, &[&REQ_002], &[&TXN_002]),
            (Relation::Instead, &[&TXN_005], &[&TXN_002]),
        ],
        replies: answering::REPLIES,
        samples: &[
            Example::of(&[
                ASK,
                S(
                    "ff*10 'inf3' '5' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '1' 00 '16' 00 '1' 00 '16' 00 \
                   'Ann' 00 'X' 00 '276' 00 '3' 00 '1' 00",
                ),
                C("ff*10 'gie2' 07"),
                S("ff*10 'inf2' '7' 00 '0.5.1' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '-1' 00 '0' 00 '16' 00"),
                C("ff*10 'gief'"),
                S("ff*10 'info' '0.4.1' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '-1' 00 '0' 00 '16' 00"),
            ]),
            Example::of(&[
                ASK_TOKEN,
                TOKEN_OK,
                ASK_SEVEN,
                S(
                    "21 1a2b3c4d 55667788 ffffffff 'inf3' 05 '0.7.5' 00 'Lab' 00 00 'dm1' 00 'DM' 00 00 01 01 10 01 10 \
                   'Ann' 00 'X' 00 9404 03 00",
                ),
            ]),
            Example::of(&[
                ASK_EXTENDED,
                S(
                    "ff*10 'iext' '66053' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 '7' 00 '9' 00 'DM' 00 '0' 00 '2' 00 '64' 00 \
                   '2' 00 '64' 00 00 'Ann' 00 00 '-1' 00 '1' 00 '1' 00 00",
                ),
                S("ff*10 'iex+' '66053' 00 '1' 00 00 'Bob' 00 00 '-1' 00 '2' 00 '1' 00 00"),
                C("ff*10 'fstd' 09"),
                S(
                    "ff*10 'dtsf' '9' 00 '0.6.4' 00 'Lab' 00 'dm1' 00 'DM' 00 '0' 00 '1' 00 '64' 00 '1' 00 '64' 00 '0' 00 \
                   'Ann' 00 'X' 00 '276' 00 '3' 00 '1' 00",
                ),
            ]),
            Example::on(
                8300,
                &[
                    C("ff*10 'req2'"),
                    S("ff*10 'lis2' 00*10 ffff c0000201 206f"),
                    C("ff*10 'cou2'"),
                    S("ff*10 'siz2' 0102"),
                ],
            ),
        ],
        ..Info::of("teeworlds", "Teeworlds and DDNet", SPEC, &REQUEST_ENDS)
    };

    /// DDNet's request, which servers of 0.6 answer, too; where nothing answers, the token of 0.7 and its request.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let [a, b, c, d, token, ..] = ask.random.to_le_bytes();
        let own = [a, b, c, d];
        match (ask.answered, ask.latest) {
            (0, _) if ask.silences.is_multiple_of(2) => {
                Some([&[b'x', b'e', a, b, 0, 0, 0xff, 0xff, 0xff, 0xff][..], b"gie3", &[token]].concat())
            }
            (0, _) => Some([&b"\x04\0\0\xff\xff\xff\xff\x05"[..], &own, &[0; 508]].concat()),
            (1, [4, _, _, w, x, y, z, 5, server @ ..]) => {
                let token = token & 0x3f;
                Some(
                    [&[SEVEN][..], server.get(..4)?, &[*w, *x, *y, *z], b"\xff\xff\xff\xffgie3", &[token]]
                        .concat(),
                )
            }
            _ => None,
        }
    }

    fn probe(p: &[u8], wire_len: usize, _: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).map(|probe| placed(p, probe))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(p, wire_len, known).map(|probe| placed(p, probe))
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        match cx.message {
            UNKNOWN => return c.ignored(&PAYLOAD),
            TOKEN_REQUEST_MESSAGE => return token_request(c),
            TOKEN_RESPONSE => {
                c.ends(&ANSWER_ENDS);
                c.field(&HEADER, bytes(3))?;
                c.field(&CLIENT_TOKEN, be_u32)?;
                c.field(&CONTROL, byte)?;
                return c.field(&SERVER_TOKEN, be_u32).map(drop);
            }
            INFO_RESPONSE | INFO_MORE | INFO64_RESPONSE | INFO5_RESPONSE | INFO4_RESPONSE => {
                c.ends(&ANSWER_ENDS);
            }
            LIST_RESPONSE => c.ends(&LIST_ENDS),
            COUNT_RESPONSE => c.ends(&COUNT_ENDS),
            _ => {}
        }
        let extra = header(c, cx.direction)?;
        let is_seven = extra == Frame::Seven;
        let word = c.text(&WORD, text(4))?;
        let dialect = dialect(extra, word.0);
        c.derived(&DIALECT, Value::Named(dialect.into(), DIALECTS.get(usize::from(dialect)).copied()));
        match cx.message {
            INFO_REQUEST if is_seven => c.field(&TOKEN, packed).map(drop),
            INFO_REQUEST | INFO64_REQUEST | INFO5_REQUEST => {
                let upper = if let Frame::Extended(upper) = extra { upper } else { 0 };
                let token = |low: u8| Value::Uint(u32::from(upper) << 8 | u32::from(low));
                c.field_as(&TOKEN, byte, token).map(drop)
            }
            INFO_MORE => {
                number(c, &TOKEN, false)?;
                let packet = number(c, &PACKET_NO, false)?;
                let fits = packet.is_none_or(|number| (1..=64).contains(&number));
                c.compare(&PRT_002, || fits, || Compared::new(packet.unwrap_or_default(), "1 to 64"));
                name(c, &RESERVED)?;
                players(c, word.0, false).map(drop)
            }
            INFO_RESPONSE | INFO64_RESPONSE | INFO5_RESPONSE | INFO4_RESPONSE => info(c, word.0, is_seven),
            LIST_RESPONSE if word.0 == b"list" => c
                .list(
                    &SERVER_LIST,
                    |c, _| !c.rest().is_empty(),
                    |c| c.field_as(&LISTED, le_address, Value::Address).map(drop),
                )
                .map(drop),
            LIST_RESPONSE => c
                .list(
                    &SERVER_LIST,
                    |c, _| !c.rest().is_empty(),
                    |c| c.field_as(&LISTED, array, Value::MappedAddress).map(drop),
                )
                .map(drop),
            COUNT_RESPONSE => c.field(&COUNT, be_u16).map(drop),
            HEARTBEAT => {
                c.field(&PORT, be_u16)?;
                c.ignored(&IGNORED)
            }
            FIREWALL_RESULT => {
                c.part(&RESULT, word.0.get(2..).unwrap_or_default(), |result| Value::Text(result.0));
                c.ignored(&IGNORED)
            }
            CHALLENGE_MESSAGE => {
                c.mask_unless(cx.secrets);
                c.secret_text(&CHALLENGE, remaining).map(drop)
            }
            _ => c.ignored(&IGNORED),
        }
    }

    fn observe(issued: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let (p, now) = (seen.datagram.payload, seen.datagram.time);
        let ends = (seen.server, seen.client.host());
        if seen.probe.message == TOKEN_RESPONSE {
            let Some(token) = number_at::<8, 4>(p).map(|token| token as u32) else { return };
            let tokens = issued.get_or_insert(ends, [(NO_TOKEN, Time::UNKNOWN); TOKENS]);
            // An answer before its request in the file is observed twice.
            match tokens.iter_mut().find(|(known, _)| *known == token) {
                Some((_, time)) => *time = now,
                None => {
                    tokens.rotate_right(1);
                    tokens.iter_mut().take(1).for_each(|first| *first = (token, now));
                }
            }
        }
        if p.first() == Some(&SEVEN) && seen.datagram.src == seen.client {
            let token = number_at::<1, 4>(p).map_or(NO_TOKEN, |token| token as u32);
            let tokens = issued.get(&ends).map_or(&[][..], |tokens| &tokens[..]);
            let is_recent = |&(_, time): &(u32, Time)| now.since(time).is_some_and(|age| age <= TOKEN_AGE);
            let is_issued = tokens.iter().any(|(known, _)| *known == token);
            if token != NO_TOKEN && tokens.iter().any(is_recent) && !is_issued {
                let hex = |token: u32| ComparedValue::Hex(token.into(), 8);
                let latest = tokens.first().map_or(NO_TOKEN, |(latest, _)| *latest);
                let at = Span { start: 1, end: 5 };
                raised.add_values(&TOK_002, Some(at), Compared::new(hex(token), hex(latest)));
            }
        }
        if let Pairing::Answered(answer) = seen.pairing
            && answer.step == EXTENDED
        {
            let state = seen.probe.request_state;
            if p.get(WORD_AT..BODY_AT) == Some(b"inf3") {
                let answer = ComparedValue::Words("inf3");
                raised.add_values(&TXN_006, None, Compared::new(answer, "iext"));
            } else if ![0, answer.asked].contains(&state) && answer.asked != 0 {
                let token = |state: u32| i64::from(state.saturating_sub(1));
                let values = Compared::new(token(state), token(answer.asked));
                raised.add_values(&TXN_005, None, values);
            }
        }
    }
}

// --- Decoding

/// The frame of a message.
#[derive(Clone, Copy, PartialEq)]
enum Frame {
    Plain,
    Seven,
    /// With the upper bits of the token.
    Extended(u16),
    Ddper,
}

const DIALECTS: [&str; 7] = ["0.4", "0.5", "0.6", "0.6ex", "0.6_64", "0.7", "ddper"];

/// The version of a message: index into [`DIALECTS`].
fn dialect(frame: Frame, word: &[u8]) -> u8 {
    match (frame, word) {
        (Frame::Seven, _) => 5,
        (Frame::Ddper, _) => 6,
        (Frame::Extended(_), _) | (_, b"iext" | b"iex+") => 3,
        (_, b"fstd" | b"dtsf") => 4,
        (_, b"gie2" | b"inf2" | b"reqt" | b"list" | b"coun" | b"size" | b"beat") => 1,
        (_, b"gief" | b"info") => 0,
        _ => 2,
    }
}

fn token_request<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&TOKEN_ENDS);
    let length = c.wire_len();
    c.field(&HEADER, bytes(7))?;
    c.field(&CONTROL, byte)?;
    c.field(&CLIENT_TOKEN, be_u32)?;
    c.ignored(&PADDING)?;
    c.about(None);
    const LEAST: i64 = TOKEN_REQUEST as i64;
    c.compare_whole(
        &TOK_001,
        || length >= TOKEN_REQUEST,
        || Compared::new(ComparedValue::Bytes(length as u64), ComparedValue::AtLeast(LEAST)),
    );
    Ok(())
}

/// Reads what precedes the four letters.
fn header<S: FieldSink>(c: &mut Cursor<'_, '_, S>, direction: Direction) -> Result<Frame, Fault> {
    match c.rest().first() {
        Some(&SEVEN) => {
            c.field(&HEADER, bytes(1))?;
            if direction == Direction::C2s {
                let token = c.field(&SERVER_TOKEN, be_u32)?;
                let hex = ComparedValue::Hex(token.into(), 8);
                c.compare(&REQ_003, || token != NO_TOKEN, || Compared::new(hex, "a token of the server"));
                c.field(&CLIENT_TOKEN, be_u32)?;
            } else {
                c.field(&CLIENT_TOKEN, be_u32)?;
                c.field(&SERVER_TOKEN, be_u32)?;
            }
            c.field(&MARK, bytes(4))?;
            Ok(Frame::Seven)
        }
        Some(b'x') => {
            c.field(&HEADER, bytes(2))?;
            let upper = c.field(&EXTRA_TOKEN, be_u16)?;
            c.field(&MARK, bytes(6))?;
            Ok(Frame::Extended(upper))
        }
        first => {
            let frame = if first == Some(&b'd') { Frame::Ddper } else { Frame::Plain };
            c.field(&HEADER, bytes(WORD_AT))?;
            Ok(frame)
        }
    }
}
