//! The UDP query of OpenTTD before version 12: what a server plays, its companies and NewGRFs, and the master's list. Little-endian.
//!
//! ```text
//! every packet   size u16, of the whole datagram │ type u8
//!  0, 2          find and detail: nothing
//!  1             version u8 │ the fields of that version, the newest first, down to those of version 1: see `game.rs`; or nothing
//!  3             version u8 │ number u8 │ companies
//!  4, 5          'OpenTTDRegister' 00 │ version u8 │ port u16 │ [ session_key u64 ]; the answer is not read
//!  6             version u8 │ version 2: list_type u8
//!  7             version u8 │ number u16 │ { address 4, or 16 in version 2 │ port u16 }
//!  8             version u8 │ port u16
//!  9, 10         number u8 │ { id 4 │ md5 16 │ 10: name }
//! 11             session_key u64
//! ```
//!
//! Oddities: a find request is three bytes, of which nothing but its length and its type are fixed, and the answer repeats nothing.
//! OpenTTD drops a datagram whose size is another. From version 12 on the same fields travel over TCP.

mod answering;
mod game;

use super::other::is_other_query;
use super::prelude::*;
use super::sources::gamedig;
use crate::decode::{Facts, Skip};
use game::{NEWEST, companies, game, newgrf, string};

/// The bytes of size and type.
const HEADER: usize = 3;
/// Bytes of the number and a NewGRF in a request; of version, number and a server in a list.
const GRF: usize = 20;
const GRFS_AT: usize = 4;
const SERVERS_AT: usize = 6;
const SERVER: usize = 6;
const SERVER_OF_IPV6: usize = 18;
/// What a server says to its master, and how much of it is enough.
const REGISTERS: &[u8] = b"OpenTTDRegister\0";
const LEAST_WELCOME: usize = 6;
/// The highest type that OpenTTD knows.
const LAST_TYPE: u8 = 11;

const SPEC: &str = "https://github.com/OpenTTD/OpenTTD";
const fn openttd(section: &'static str) -> Cite {
    Cite { doc: "OpenTTD", section, url: SPEC }
}
const UDP: Cite = openttd("src/network/core/udp.cpp");
const GAME_INFO: Cite = openttd("src/network/core/game_info.cpp");
const QSTAT: Cite =
    Cite { doc: "qstat", section: "ottd.c", url: "https://github.com/Unity-Technologies/qstat" };
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C("030000");
const OK: rule::Step =
    S("3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 \
     0001 0002 01 01");
const ASK_GRFS: rule::Step = C("1800 09 01 4d470301 00*8 0123456789abcdef");

fields! {
    /// Length of the datagram.
    SIZE = "size": Uint;
    /// Kind of the packet.
    TYPE = "type": Uint, Labels::FromZero(&[
        "find", "game", "detail", "companies", "register", "registered", "list", "servers", "unregister", "newgrfs", "names",
        "session key",
    ]);
    /// Version of what follows.
    VERSION = "version": Uint;
    /// How long the game has run, in ticks.
    TICKS = "ticks_playing": Uint64 volatile;
    /// How NewGRFs are written: with id and sum, with their names, too, or by number.
    SERIALISATION = "newgrf_serialisation": Uint, Labels::FromZero(&["id and md5", "with names", "by number"]);
    /// Version of the script that the game runs; -1 none.
    SCRIPT_VERSION = "gamescript_version": Int;
    /// Name of that script.
    SCRIPT_NAME = "gamescript_name": Text;
    /// NewGRFs in the list that follows.
    GRF_COUNT = "newgrf_count": Uint;
    /// NewGRFs of the game, which change it.
    GRF_LIST = "newgrfs": List;
    /// One of them.
    GRF_GROUP = "newgrfs[]": Group;
    /// Its number of four bytes.
    GRF_ID = "newgrfs[].id": Bytes public;
    /// Its MD5 sum.
    GRF_MD5 = "newgrfs[].md5": Bytes public;
    /// Its name.
    GRF_NAME = "newgrfs[].name": Text personal;
    /// Its number in a table that both ends have.
    GRF_INDEX = "newgrfs[].index": Uint;
    /// Date in the game, in days since the year 0; before version 3 since 1920.
    GAME_DATE = "game_date": Uint;
    /// Date on which the game began, in the same days.
    START_DATE = "start_date": Uint;
    /// Companies at most.
    COMPANIES_MAX = "companies_max": Uint;
    /// Spectators at most.
    SPECTATORS_MAX = "spectators_max": Uint;
    /// Name of the server.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Version of the server.
    REVISION = "revision": Text => Version;
    /// Language of the server.
    LANGUAGE = "language": Uint, Labels::FromZero(&["any", "English", "German", "French"]);
    /// Players need a password.
    PASSWORD = "password": Bool;
    /// Clients at most.
    CLIENTS_MAX = "clients_max": Uint => MaxPlayers;
    /// Clients now.
    CLIENTS = "clients": Uint => Players;
    /// Clients who only watch.
    SPECTATORS = "spectators": Uint;
    /// Name of the map.
    MAP_NAME = "map_name": Text => Map;
    /// Width of the map in tiles.
    MAP_WIDTH = "map_width": Uint;
    /// Height of the map in tiles.
    MAP_HEIGHT = "map_height": Uint;
    /// Climate.
    MAP_SET = "map_set": Uint, Labels::FromZero(&["temperate", "arctic", "desert", "toyland"]);
    /// The server runs without a window.
    DEDICATED = "dedicated": Bool;
    /// Companies now; in the answer to a detail request those in the list that follows.
    COMPANY_COUNT = "company_count": Uint;
    /// Companies, as a list; in the answer to a find request their number.
    COMPANIES = "companies": Dynamic;
    /// One of them.
    COMPANY = "companies[]": Group;
    /// Number of the company.
    COMPANY_ID = "companies[].id": Uint;
    /// Its name.
    COMPANY_NAME = "companies[].name": Text personal;
    /// Year in which it began.
    START_YEAR = "companies[].start_year": Uint;
    /// What it is worth.
    COMPANY_VALUE = "companies[].value": Int64;
    /// Its money.
    MONEY = "companies[].money": Int64;
    /// Its income of the last year.
    INCOME = "companies[].income": Int64;
    /// How well it does, in parts of a thousand.
    PERFORMANCE = "companies[].performance": Uint;
    /// Whoever joins it needs a password.
    COMPANY_PASSWORD = "companies[].password": Bool;
    /// Trains, lorries, buses, aircraft and ships.
    VEHICLES = "companies[].vehicles": List;
    /// Number of one kind.
    VEHICLE = "companies[].vehicles[]": Uint;
    /// Stations for trains, lorries, buses, aircraft and ships.
    STATIONS = "companies[].stations": List;
    /// Number of one kind.
    STATION = "companies[].stations[]": Uint;
    /// It is played by the computer.
    IS_AI = "companies[].is_ai": Bool;
    /// What a server says to its master.
    WELCOME = "welcome": Text public;
    /// Port of the game.
    PORT = "port": Uint;
    /// Number by which a server and its master know each other.
    SESSION_KEY = "session_key": Uint64 volatile token;
    /// Which servers are asked for.
    LIST_TYPE = "list_type": Uint, Labels::FromZero(&["IPv4", "IPv6", "as asked"]);
    /// Servers in the list that follows.
    SERVER_COUNT = "server_count": Uint;
    /// Servers that the master knows.
    SERVER_LIST = "servers": List;
    /// One of them.
    LISTED = "servers[]": Text;
    /// The rest of an answer in a version that is not read, or of a packet of another kind.
    BODY = "body": Bytes;
    /// Bytes after the end of a request; no server reads them.
    IGNORED = "ignored": Bytes;
    /// Bytes after the end of an answer.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// OpenTTD drops a datagram whose size is not its own, and clients say that it is broken. It is read as far as it goes.
    HDR_001 = "OTTD-HDR-001" Error "size is not the length of the datagram" {
        cite: openttd("src/network/core/udp.cpp, ReceivePackets"),
        examples: [
            Example::on(3979, &[ASK, OK, Wait(1000), C("040000")]),
            Example::on(3979, &[ASK, S(
                "0900 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 01 01",
            )]),
        ],
    }
    /// OpenTTD says that the packet is illegal. Some patched servers have types of their own, from 128 on.
    HDR_002 = "OTTD-HDR-002" Note "type is not known" {
        cite: openttd("src/network/core/udp.cpp, HandleUDPPacket"),
        examples: [Example::on(3979, &[ASK, OK, Wait(1000), C("030080")])],
    }
    /// Size and type are the whole request. Servers read no more.
    REQ_001 = "OTTD-REQ-001" Note "bytes follow a find or detail request" {
        cite: UDP,
        examples: [Example::on(3979, &[ASK, OK, Wait(1000), C("04000000")])],
    }
    /// OpenTTD reads beyond the end, takes the connection for closed and does not answer.
    REQ_002 = "OTTD-REQ-002" Error "request ends inside a field, or has another number of NewGRFs" {
        cite: UDP,
        examples: [Example::on(3979, &[ASK, OK, Wait(1000), C("1800 09 02 00*20")])],
    }
    /// Clients read beyond the end, or say that the packet is broken.
    RSP_001 = "OTTD-RSP-001" Error "answer ends inside a field" {
        cite: QSTAT,
        examples: [Example::on(3979, &[ASK, S(
            "2d00 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001",
        )])],
    }
    /// The fields of a version are fixed, and clients stop behind them.
    RSP_002 = "OTTD-RSP-002" Warning "bytes follow the last field" {
        cite: GAME_INFO,
        examples: [Example::on(3979, &[ASK, S(
            "3200 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 01 01 00",
        )])],
    }
    /// OpenTTD has had versions 1 to 7, of which 5 to 7 were meant for TCP. What follows another one is not read.
    INF_001 = "OTTD-INF-001" Note "version of the game's information is not known" {
        cite: GAME_INFO,
        examples: [Example::on(3979, &[ASK, OK, Wait(1000), ASK, S(
            "3100 01 09 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 01 01",
        )])],
    }
    /// 0 says no and 1 yes. Clients take any other number for yes.
    INF_002 = "OTTD-INF-002" Note "password or dedicated is neither 0 nor 1" {
        cite: GAME_INFO,
        examples: [Example::on(3979, &[ASK, S(
            "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 02 19 03 01 'Random Map' 00 0001 0002 01 01",
        )])],
    }
    /// The numbers are those of clients or companies that are there, and of places for them.
    INF_003 = "OTTD-INF-003" Note "more clients or companies than places" {
        cite: GAME_INFO,
        examples: [Example::on(3979, &[ASK, S(
            "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 1a 01 'Random Map' 00 0001 0002 01 01",
        )])],
    }
    /// There are temperate, arctic, desert and toyland, 0 to 3. OpenTTD takes any other number for temperate.
    INF_004 = "OTTD-INF-004" Note "climate is above 3" {
        cite: GAME_INFO,
        examples: [Example::on(3979, &[ASK, S(
            "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 04 01",
        )])],
    }
    /// OpenTTD makes maps with sides of 64, 128 and so on up to 4096 tiles.
    INF_005 = "OTTD-INF-005" Warning "side of the map is no power of two from 64 to 4096" {
        cite: openttd("src/map_type.h"),
        examples: [Example::on(3979, &[ASK, S(
            "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 'Lab' 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 6400 0002 01 01",
        )])],
    }
    /// OpenTTD sends UTF-8, and replaces what is not in texts that it gets.
    STR_001 = "OTTD-STR-001" Warning "text is not UTF-8" {
        cite: openttd("src/network/core/packet.cpp, Recv_string"),
        examples: [Example::on(3979, &[ASK, S(
            "3100 01 04 00 e83e0b00 b1dc0a00 0f 02 0a 4ce462 00 '1.10.1' 00 00 00 19 03 01 'Random Map' 00 0001 0002 01 01",
        )])],
    }
    /// Versions 5 and 6 are read. Version 4 and those before it had lists of clients, too.
    DET_001 = "OTTD-DET-001" Note "version of the companies is not read" {
        cite: QSTAT,
        examples: [Example::on(3979, &[C("030002"), S("0600 03 04 0000")])],
    }
    /// OpenTTD stops at the end of the datagram, other clients refuse it.
    LST_001 = "OTTD-LST-001" Error "list has another number of servers" {
        cite: QSTAT,
        examples: [Example::on(3978, &[C("0400 06 01"), S("0c00 07 01 0200 c0000209 8b0f")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of its kind is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "OTTD-TXN-001" { cite: UDP, examples: [Example::on(3979, &[OK])] }
    /// The answer window is two seconds. A server that knows none of the NewGRFs asked for is silent, as is one of version 12 or later.
    TXN_002: UNANSWERED = "OTTD-TXN-002" { cite: TIMEOUT, examples: [Example::on(3979, &[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "OTTD-TXN-003" { cite: TIMEOUT, examples: [Example::on(3979, &[ASK, Wait(2500), OK])] }
    /// The same answer again, and no request is open: UDP duplicated it.
    TXN_004: COPY = "OTTD-TXN-004" { cite: UDP, examples: [Example::on(3979, &[ASK, OK, OK])] }
    /// Three bytes with a forged source address bring a victim 79 to 394: nothing proves the client's address.
    SEC_001 = "OTTD-SEC-001" Note "answer is more than ten times its request" {
        cite: GAME_INFO,
        per_server: true,
        ratio: true,
        examples: [Example::on(3979, &[ASK, OK])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_002, &REQ_002, &SURPLUS);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_002, &SURPLUS);
static LIST_ENDS: Ends = Ends::new(&LST_001, &LST_001, &SURPLUS);

/// Steps, in the order of their declaration.
const FIND: u8 = 0;
const DETAIL: u8 = 1;
const NEWGRFS: u8 = 2;
const LIST: u8 = 3;
const REGISTER: u8 = 4;

/// Forms of whole packets of up to 1,535 bytes, with upper byte of the size and type fixed and the rest checked, and a further form.
const fn whole(types: [&'static [u8]; 6], holds: fn(&[u8]) -> bool, further: Form) -> [Form; 7] {
    let [first, second, third, fourth, fifth, sixth] = types;
    [
        fixed(first).when(holds).level(Level::High),
        fixed(second).when(holds).level(Level::High),
        fixed(third).when(holds).level(Level::High),
        fixed(fourth).when(holds).level(Level::High),
        fixed(fifth).when(holds).level(Level::High),
        fixed(sixth).when(holds).level(Level::High),
        further,
    ]
}
/// Upper byte of the size, type, and what follows it.
const fn fixed(bytes: &'static [u8]) -> Form {
    Form::of(b"").and(1, bytes)
}
/// A type in packets of any size.
const fn typed(bytes: &'static [u8]) -> Form {
    Form::of(b"").and(2, bytes)
}

const GAMES: [&[u8]; 6] = [b"\0\x01", b"\x01\x01", b"\x02\x01", b"\x03\x01", b"\x04\x01", b"\x05\x01"];
const LISTS: [&[u8]; 6] = [b"\0\x07", b"\x01\x07", b"\x02\x07", b"\x03\x07", b"\x04\x07", b"\x05\x07"];
const GRFS: [&[u8]; 6] = [b"\0\x09", b"\x01\x09", b"\x02\x09", b"\x03\x09", b"\x04\x09", b"\x05\x09"];

// The number of a message is its type.
messages! {
    FIND_REQUEST = Message::request("find_request", FIND, &[
        Form::of(b"\x03\0\0").length(HEADER, HEADER),
        fixed(b"\0\0").length(HEADER, LONGEST_BARE).known(),
    ]);
    FIND_RESPONSE = Message::response("find_response", FIND, &whole(GAMES, has_game, typed(b"\x01").due()));
    DETAIL_REQUEST = Message::request("detail_request", DETAIL, &[
        Form::of(b"\x03\0\x02").length(HEADER, HEADER),
        fixed(b"\0\x02").length(HEADER, LONGEST_BARE).known(),
    ]);
    DETAIL_RESPONSE = Message::response("detail_response", DETAIL, &[
        typed(b"\x03").due(), typed(b"\x03").when(has_companies).known(),
    ]);
    REGISTER_REQUEST = Message::request("register_request", REGISTER, &[typed(b"\x04OpenTTD").when(is_welcome)])
        .beats(told_port);
    REGISTER_RESPONSE = Message::response("register_response", REGISTER, &[fixed(b"\0\x05").known()]);
    LIST_REQUEST = Message::request("list_request", LIST, &[
        Form::of(b"\x04\0\x06\x01").length(4, 4),
        Form::of(b"\x05\0\x06\x02").length(5, 5),
        fixed(b"\0\x06").length(HEADER, LONGEST_BARE).known(),
    ]);
    LIST_RESPONSE = Message::response("list_response", LIST, &whole(LISTS, has_servers, typed(b"\x07").due()))
        .lists(&LISTED);
    UNREGISTER = Message::label("unregister", Direction::C2s, &[fixed(b"\0\x08").length(6, 6).known()]);
    NEWGRFS_REQUEST = Message::request("newgrfs_request", NEWGRFS, &whole(GRFS, has_grfs, typed(b"\x09").known()));
    NEWGRFS_RESPONSE = Message::response("newgrfs_response", NEWGRFS, &[typed(b"\x0a").known()]);
    SESSION_KEY_MESSAGE = Message::label("session_key", Direction::S2c, &[fixed(b"\0\x0b").length(11, 11).known()]);
    UNKNOWN = Message::named("unknown").formed(&[Form::of(b"").when(has_other_type).known()]);
}

/// Most bytes of a find, detail or list request that has too many.
const LONGEST_BARE: usize = 16;

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((10, &SEC_001)),
    ..StepRules::new(&TXN_002)
};

/// OpenTTD.
#[derive(Debug)]
pub struct Openttd;

impl Protocol for Openttd {
    type Memory = ();

    const INFO: Info = Info {
        ports: &[3979, 3978],
        messages: MESSAGES,
        steps: &[
            StepInfo::ordered("find", ANSWERED),
            StepInfo::ordered("detail", ANSWERED),
            StepInfo::ordered("newgrfs", ANSWERED),
            StepInfo { open_ended: true, ..StepInfo::ordered("list", ANSWERED) },
            StepInfo::ordered("register", ANSWERED),
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&HDR_001], &[&RSP_001, &RSP_002, &LST_001, &REQ_002]),
            (Relation::Same, &[&RSP_001], &[&LST_001]),
        ],
        replies: answering::REPLIES,
        samples: &[
            Example::on(
                3979,
                &[
                    ASK,
                    OK,
                    Wait(1000),
                    ASK,
                    S(
                        "2900 01 01 'Lab' 00 '1.10.1' 00 00 00 19 03 01 f82a cd2a 'Random Map' 00 0001 0002 01 01",
                    ),
                ],
            ),
            Example::on(
                3979,
                &[
                    C("030002"),
                    S(
                        "4200 03 06 01 01 'Ann Co.' 00 9f070000 0a00000000000000 78ecffffffffffff 0903000000000000 \
                       6400 01 0100 0200 0300 0400 0500 0500 0400 0300 0200 0100 00",
                    ),
                    ASK_GRFS,
                    S("1e00 0a 01 4d470301 00*8 0123456789abcdef 'Trams' 00"),
                ],
            ),
            Example::on(
                3978,
                &[
                    C("0400 06 01"),
                    S("1200 07 01 0200 c0000209 8b0f c0000208 8c0f"),
                    C("1600 04 'OpenTTDRegister' 00 01 8b0f"),
                    S("0300 05"),
                ],
            ),
        ],
        begins_with_length: true,
        ..Info::of("openttd", "OpenTTD query", SPEC, &ANSWER_ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let types: &[u8] = if ask.all { &[FIND_REQUEST, DETAIL_REQUEST] } else { &[FIND_REQUEST] };
        types.get(ask.answered).map(|kind| vec![HEADER as u8, 0, *kind])
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        if begins_with_length(p, wire_len) {
            recognise_known::<Self>(p, wire_len, known)
        } else {
            missized(p, wire_len, known)
        }
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let length = c.wire_len();
        if [REGISTER_REQUEST, LIST_REQUEST, UNREGISTER, NEWGRFS_REQUEST].contains(&cx.message) {
            c.ends(&REQUEST_ENDS);
        }
        let size = c.field(&SIZE, le_u16)?;
        let bytes = |length: usize| ComparedValue::Bytes(length as u64);
        let both = || Compared::new(bytes(size.into()), bytes(length));
        c.compare(&HDR_001, || usize::from(size) == length, both);
        let kind = c.field(&TYPE, byte)?;
        c.check_number(&HDR_002, kind, ComparedValue::AtMost(LAST_TYPE.into()));
        match cx.message {
            FIND_REQUEST | DETAIL_REQUEST => c.expect_end(&IGNORED, &REQ_001),
            FIND_RESPONSE if c.rest().is_empty() && !c.is_cut() => Ok(()),
            FIND_RESPONSE => game(c),
            DETAIL_RESPONSE => companies(c),
            REGISTER_REQUEST => {
                string(c, &WELCOME)?;
                c.field(&VERSION, byte)?;
                c.field(&PORT, le_u16)?;
                if c.wire_len_of(c.rest()) >= size_of::<u64>() {
                    c.field(&SESSION_KEY, le_u64)?;
                }
                c.ignored(&IGNORED)
            }
            LIST_REQUEST => {
                let version = c.field(&VERSION, byte)?;
                if version >= 2 {
                    c.field(&LIST_TYPE, byte)?;
                }
                c.ignored(&IGNORED)
            }
            LIST_RESPONSE => servers(c),
            UNREGISTER => {
                c.field(&VERSION, byte)?;
                c.field(&PORT, le_u16).map(drop)
            }
            NEWGRFS_REQUEST | NEWGRFS_RESPONSE => {
                let form = u8::from(cx.message == NEWGRFS_RESPONSE);
                c.counted(&GRF_COUNT, byte, [&GRF_LIST, &GRF_GROUP], |c| newgrf(c, form))
            }
            SESSION_KEY_MESSAGE => c.field(&SESSION_KEY, le_u64).map(drop),
            _ => c.ignored(&BODY),
        }
    }
}

// --- Recognising

/// The size that the packet states.
fn size(p: &[u8]) -> Option<usize> {
    read_at(p, 0, le_u16).map(usize::from)
}

/// Whether the information about a game can be read to its end.
fn has_game(p: &[u8]) -> bool {
    p.get(HEADER).is_some_and(|version| (1..=NEWEST).contains(version)) && reads(p, game)
}

/// Whether companies of a known version can be read to their end.
fn has_companies(p: &[u8]) -> bool {
    matches!(p.get(HEADER), Some(5 | 6)) && reads(p, companies)
}

/// Whether what follows the type can be read to its end.
fn reads(p: &[u8], body: fn(&mut Cursor<'_, '_, Skip>) -> Result<(), Fault>) -> bool {
    let (mut facts, mut sink) = (Facts::default(), Skip);
    let mut c = Cursor::new(p.get(HEADER..).unwrap_or_default(), 0, &ANSWER_ENDS, &mut sink, &mut facts);
    body(&mut c).is_ok() && c.rest().is_empty()
}

/// Whether version and number fit the size of a list.
fn has_servers(p: &[u8]) -> bool {
    let count = read_at(p, GRFS_AT, le_u16).map_or(0, usize::from);
    let each = if p.get(HEADER) == Some(&2) { SERVER_OF_IPV6 } else { SERVER };
    let length = SERVERS_AT.saturating_add(each.saturating_mul(count));
    matches!(p.get(HEADER), Some(1 | 2)) && size(p) == Some(length)
}

/// Whether there are NewGRFs, and their number fits the size of the request.
fn has_grfs(p: &[u8]) -> bool {
    let count = p.get(HEADER).map_or(0, |count| usize::from(*count));
    count > 0 && size(p) == Some(GRFS_AT.saturating_add(GRF.saturating_mul(count)))
}

/// Whether what a server says to its master follows, of which the capture may have cut the end.
fn is_welcome(p: &[u8]) -> bool {
    let text = p.get(HEADER..).unwrap_or_default();
    text.starts_with(REGISTERS) || text.len() > LEAST_WELCOME && REGISTERS.starts_with(text)
}

/// The port that a server tells its master.
fn told_port(p: &[u8]) -> Option<u16> {
    let behind = p.get(HEADER..)?.strip_prefix(REGISTERS)?;
    read_at(behind, 1, le_u16).filter(|port| *port > 0)
}

fn has_other_type(p: &[u8]) -> bool {
    p.get(2).is_some_and(|kind| *kind > LAST_TYPE)
}

/// A packet that states another length than its own, in a known conversation: it is of the type that it states if its length is
/// likely for that type, or an answer of that type is due.
fn missized(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
    let &[_, high, kind, ..] = p else { return None };
    let message = MESSAGES.get(usize::from(kind)).filter(|_| kind <= LAST_TYPE)?;
    let is_due = known.awaited >> message.step & 1 == 1;
    let is_likely = match kind {
        FIND_REQUEST | DETAIL_REQUEST => wire_len <= HEADER.saturating_add(1),
        FIND_RESPONSE => is_due && p.get(HEADER).is_some_and(|version| (1..=NEWEST).contains(version)),
        DETAIL_RESPONSE | LIST_RESPONSE | NEWGRFS_RESPONSE => is_due,
        REGISTER_REQUEST => is_welcome(p),
        LIST_REQUEST => matches!(p.get(HEADER..), Some([1] | [2, _])),
        NEWGRFS_REQUEST => {
            let count = p.get(HEADER).map_or(0, |count| usize::from(*count));
            count > 0 && wire_len == GRFS_AT.saturating_add(GRF.saturating_mul(count))
        }
        _ => false,
    };
    let is_ours = known.conversation
        && known.level >= Level::Medium
        && message.direction == Some(known.direction)
        && usize::from(high) == wire_len >> 8
        && is_likely
        && !is_other_query(&Openttd::INFO, p);
    is_ours.then(|| message.probe(kind, p, Level::Medium))
}

// --- Decoding

fn servers<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let version = c.field(&VERSION, byte)?;
    let count = c.field(&SERVER_COUNT, le_u16)?;
    c.ends(&LIST_ENDS);
    let more = |_: &Cursor<'_, '_, S>, index| index < count;
    let read = |c: &mut Cursor<'_, '_, S>| match version {
        2 => c.field_as(&LISTED, array, |bytes| Value::MappedAddress(big_endian(bytes))).map(drop),
        _ => c.field_as(&LISTED, le_address, Value::Address).map(drop),
    };
    c.list(&SERVER_LIST, more, read).map(drop)
}

/// An address of IPv6 with its port in the order of the network.
fn big_endian([address @ .., low, high]: [u8; SERVER_OF_IPV6]) -> [u8; SERVER_OF_IPV6] {
    let mut bytes = [0; SERVER_OF_IPV6];
    bytes.iter_mut().zip(address.into_iter().chain([high, low])).for_each(|(to, from)| *to = from);
    bytes
}
