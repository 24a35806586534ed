//! Master servers: lists of game servers, and what game servers tell their master. Four families that differ in a word and a
//! separator: Valve's, Quake 3's, those of QuakeWorld and Quake 2, and GameSpy's. Addresses and ports are big-endian.
//!
//! ```text
//! valve       31 │ region u8 │ start 00 │ filter 00           ffffffff 66 0a │ { address 4 │ port }, the last one of zeros
//!             71: challenge                                   ffffffff 73 0a │ challenge i32, little-endian
//!             30 0a │ pairs │ 0a: information                 62 0a: the server quits
//! quake3      ffffffff 'getservers ' [ game ] protocol filter
//!                               ffffffff 'getserversResponse' { '\' │ address 4 │ port } [ '\EOT' 000000 ]
//!             ffffffff 'getserversExt ' …                     the same, and { '/' │ address 16 │ port }
//!             ffffffff 'heartbeat ' name 0a
//! quakeworld  63 0a                                           ffffffff 64 0a │ { address 4 │ port }
//!             61 0a │ sequence 0a │ clients 0a: heartbeat     43: the server quits
//! quake2      'query'                                         ffffffff 'servers ' { address 4 │ port }
//!             ffffffff 'heartbeat' 0a │ status                ffffffff 'shutdown'
//! gamespy1    '\heartbeat\' port '\gamename\' game …
//! gamespy2    03 │ instance 4 │ { key 00 │ value 00 } 00: heartbeat
//!             09 00000000 │ game 00                           fefd09 │ status u32
//! ```
//!
//! Oddities: the separators of Quake 3's lists are bytes that addresses have, too, so they are read by position. Old masters end every
//! datagram with the mark, so parts may follow one. A master that gets a heartbeat of Quake 3 asks the server for its information, as a
//! client does, and only that registers it: two conversations of the same endpoints.

mod answering;
mod messages;

use super::prelude::*;
use super::sources::{gamedig, qr2_sdk};
use crate::net::Endpoint;
use messages::{
    available_request, available_response, challenge_response, gamespy1_heartbeat, gamespy2_heartbeat, list,
    quake2_heartbeat, quake3_heartbeat, quake3_request, quakeworld_heartbeat, server_info, valve_request,
};

/// What marks messages outside a game.
const MARK: &[u8] = b"\xff\xff\xff\xff";
/// Bytes that may end a request or separate its words.
const BEHIND: &[u8] = b" \n\0";
/// Bytes that may end a request.
const LINE_ENDS: &[u8] = b"\n\0";
/// Maximum number of game servers whose challenges are remembered.
const MAX_CHALLENGES: usize = 4096;

const DPMASTER: Cite =
    Cite { doc: "dpmaster", section: "doc/techinfo.txt", url: "https://github.com/kphillisjr/dpmaster" };
const SPEC: &str = "https://developer.valvesoftware.com/wiki/Master_Server_Query_Protocol";
const VALVE_WIKI: Cite =
    Cite { doc: "Valve Developer Community", section: "Master Server Query Protocol", url: SPEC };
const QSTAT: Cite =
    Cite { doc: "qstat", section: "qstat.c", url: "https://github.com/Unity-Technologies/qstat" };
const QR2: Cite = qr2_sdk("qr2.c");
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C("31 ff '0.0.0.0:0' 00 00");
const OK: rule::Step = S("ffffffff 66 0a c0000222 6987 00*6");
const ASK_QUAKE3: rule::Step = C("ffffffff 'getservers 68 empty full'");
const OK_QUAKE3: rule::Step = S(r"ffffffff 'getserversResponse\' c0000222 6987 '\EOT' 000000");
const ASK_CHALLENGE: rule::Step = C("71");

fields! {
    /// Bytes that mark messages outside a game.
    PREFIX = "prefix": Bytes public;
    /// What the message is, as a word or a letter.
    WORD = "word": Text public;
    /// The same as a number, in GameSpy's second query.
    TYPE = "type": Uint, Labels::Pairs(&[(3, "heartbeat"), (9, "available")]);
    /// Whose message it is: valve, quake3, quakeworld, quake2, gamespy1, gamespy2.
    DIALECT = "dialect": Named;
    /// What a client of Quake 3's masters asks for: getservers, getserversExt.
    COMMAND = "command": Text public;
    /// Part of the world whose servers are asked for.
    REGION = "region": Uint, Labels::Pairs(&[
        (0, "US east"), (1, "US west"), (2, "South America"), (3, "Europe"), (4, "Asia"), (5, "Australia"), (6, "Middle East"),
        (7, "Africa"), (255, "all"),
    ]);
    /// The last address of the page before it; 0.0.0.0:0 asks for the first page.
    START = "start": Text;
    /// Game whose servers are asked for, or that a server plays.
    GAME = "game": Text public;
    /// Protocol whose servers are asked for.
    PROTOCOL = "protocol": Dynamic;
    /// Which servers are wanted.
    FILTER = "filter": Text;
    /// Servers that the master knows.
    SERVER_LIST = "servers": List;
    /// Address and port of one.
    LISTED = "servers[]": Text;
    /// 1 if this datagram has the mark that ends the list.
    LAST = "last": Uint;
    /// What a heartbeat of Quake 3 calls its protocol.
    NAME = "name": Text personal;
    /// Number of a heartbeat of QuakeWorld.
    SEQUENCE = "sequence": Dynamic volatile;
    /// Clients on the server.
    CLIENTS = "clients": Dynamic;
    /// Port of the queries of the server that sends the heartbeat.
    PORT = "port": Dynamic;
    /// Kind of a change that the server reports.
    STATE_CHANGED = "statechanged": Dynamic;
    /// Number that a server has chosen, which the master repeats.
    INSTANCE = "instance": Uint;
    /// What a server tells the master of itself, in the order of the wire.
    INFO_LIST = "info": List;
    /// One of it.
    PAIR = "info[]": Group;
    /// Its key.
    KEY = "info[].key": Text public;
    /// Its value.
    VALUE = "info[].value": Text;
    /// Lines behind it, about players.
    LINES = "lines": Text;
    /// Number that the master gives a server, which the server repeats.
    CHALLENGE = "challenge": Int volatile token;
    /// Whether GameSpy serves the game.
    STATUS = "status": Uint, Labels::FromZero(&["up", "down", "down for a while"]);
    /// Bytes between the word of a list and its first separator.
    GAP = "gap": Bytes;
    /// Bytes that nobody reads.
    IGNORED = "ignored": Bytes;
    /// A message of another kind.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Start and filter are texts that end with a zero each. It is recognised only in a known conversation where the first is missing.
    REQ_001 = "MST-REQ-001" Error "list request ends before its texts do" {
        cite: VALVE_WIKI,
        examples: [Example::on(27011, &[ASK, OK, Wait(1000), C("31 ff '0.0.0.0:0' 00")])],
    }
    /// It is 0.0.0.0:0, then the last address that came. With anything else the master begins again, or is silent.
    REQ_002 = "MST-REQ-002" Error "start is no address and port" {
        cite: VALVE_WIKI,
        examples: [Example::on(27011, &[ASK, OK, Wait(1000), C("31 ff 'localhost' 00 00")])],
    }
    /// There are regions 0 to 7, and 255 for all of them.
    REQ_003 = "MST-REQ-003" Warning "region is not 0 to 7 or 255" {
        cite: VALVE_WIKI,
        examples: [Example::on(27011, &[C("31 09 '0.0.0.0:0' 00 00"), OK])],
    }
    /// Masters reject it: they keep their lists by protocol.
    REQ_004 = "MST-REQ-004" Error "request names no protocol" {
        cite: DPMASTER,
        examples: [Example::on(27950, &[C("ffffffff 'getservers nexuiz empty'")])],
    }
    /// Each has an address and a port, and in Quake 3's lists a separator in front. Clients read beyond the end, or refuse the list.
    RSP_001 = "MST-RSP-001" Error "server of the list is not whole" {
        cite: DPMASTER,
        examples: [
            Example::on(27011, &[ASK, S("ffffffff 66 0a c0000222 6987 000000")]),
            Example::on(27950, &[ASK_QUAKE3, S(r"ffffffff 'getserversResponse\' c00002")]),
            Example::on(27950, &[ASK_QUAKE3, S(r"ffffffff 'getserversResponse\' c0000222 6987 c0000223 6987 '\EOT' 000000")]),
        ],
    }
    /// Its port is 0, or its address is unspecified, a loopback, of a group or reserved. Lists hold what servers said of themselves.
    RSP_003 = "MST-RSP-003" Note "nobody can reach a server of the list" {
        cite: DPMASTER,
        examples: [Example::on(27950, &[
            ASK_QUAKE3, S(r"ffffffff 'getserversResponse\' 7f000001 6d38 '\EOT' 000000"),
        ])],
    }
    /// Clients show it twice. Only the first 64 of a datagram are compared.
    RSP_004 = "MST-RSP-004" Note "server stands twice in the list" {
        cite: QSTAT,
        examples: [Example::on(27011, &[ASK, S("ffffffff 66 0a c0000222 6987 c0000222 6987 00*6")])],
    }
    /// Masters for one family list IPv6 in extended answers only. Clients of the plain one take the bytes for entries of IPv4.
    RSP_005 = "MST-RSP-005" Warning "plain list has an address of IPv6" {
        cite: DPMASTER,
        examples: [Example::on(27950, &[
            ASK_QUAKE3, S(r"ffffffff 'getserversResponse/' 20010db8 00*12 6d38 '\EOT' 000000"),
        ])],
    }
    /// The mark and three zeros end the list. Clients stop there.
    RSP_006 = "MST-RSP-006" Warning "bytes follow the end of the list" {
        cite: DPMASTER,
        examples: [Example::on(27950, &[
            ASK_QUAKE3, S(r"ffffffff 'getserversResponse\' c0000222 6987 '\EOT' 000000 'xyz'"),
        ])],
    }
    /// The master asks the server at that port. The variables of the second query end with an empty key.
    HBT_001 = "MST-HBT-001" Error "heartbeat has no port, or variables without an end" {
        cite: QR2,
        examples: [
            Example::on(27900, &[C(r"'\heartbeat\seven\gamename\ut'")]),
            Example::on(27900, &[C("03 01020304 'localip0' 00 '192.0.2.9' 00 'gamename' 00 'ut'")]),
        ],
    }
    /// Masters keep their lists by game, and do not know where to add the server.
    HBT_002 = "MST-HBT-002" Warning "heartbeat does not name its game" {
        cite: QR2,
        examples: [
            Example::on(27900, &[C(r"'\heartbeat\7778\statechanged\1'")]),
            Example::on(27900, &[C("03 01020304 'localip0' 00 '192.0.2.9' 00 00")]),
        ],
    }
    /// It is an integer of 32 bits. Servers read beyond the end, or register with another one.
    CHL_001 = "MST-CHL-001" Error "challenge is not four bytes" {
        cite: VALVE_WIKI,
        examples: [Example::on(27011, &[
            ASK_CHALLENGE, S("ffffffff 73 0a 01020304"), Wait(1000), ASK_CHALLENGE, S("ffffffff 73 0a 0102"),
        ])],
    }
    /// 1 says that the game is no longer served, 2 that it is not served for a while: the game tells that to its players.
    AVL_001 = "MST-AVL-001" Note "game is not served" {
        cite: QR2,
        examples: [Example::on(27900, &[C("09 00*4 'bfield1942' 00"), S("fefd09 00000001")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// The last datagram of a list has it. One was lost, or the master is older.
    RSP_002 = "MST-RSP-002" Warning "no part of the list has the end mark" {
        cite: DPMASTER,
        examples: [Example::on(27950, &[ASK_QUAKE3, S(r"ffffffff 'getserversResponse\' c0000222 6987")])],
    }
    /// The master drops it: the challenge proves where the server is.
    CHL_002 = "MST-CHL-002" Error "information carries another challenge than the master gave" {
        cite: VALVE_WIKI,
        examples: [Example::on(27011, &[
            ASK_CHALLENGE, S("ffffffff 73 0a 4d000000"), C(r"30 0a '\protocol\7\challenge\78\players\0' 0a"),
        ])],
    }
    /// No request of its kind is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "MST-TXN-001" { cite: DPMASTER, examples: [Example::on(27011, &[OK])] }
    /// The answer window is two seconds. Masters are silent to who asks too often, and many are gone for good.
    TXN_002: UNANSWERED = "MST-TXN-002" { cite: TIMEOUT, examples: [Example::on(27011, &[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "MST-TXN-003" { cite: TIMEOUT, examples: [Example::on(27011, &[ASK, Wait(2500), OK])] }
    /// A byte-identical answer or part: UDP duplicated it.
    TXN_004: COPY = "MST-TXN-004" { cite: DPMASTER, examples: [Example::on(27950, &[ASK_QUAKE3, OK_QUAKE3, OK_QUAKE3])] }
    /// 30 bytes with a forged source address bring a victim datagrams of up to 1,400, as many as the list has: nothing proves the
    /// client's address.
    SEC_001 = "MST-SEC-001" Note "datagram of the list is more than ten times its request" {
        cite: DPMASTER,
        per_server: true,
        ratio: true,
        strict: Warning,
        examples: [Example::on(27000, &[
            C("63 0a"), S("ffffffff 64 0a c6120101 6d39 c6120102 6d3a c6120103 6d3b c6120104 6d3c c6120105 6d3d"),
        ])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_001, &REQ_001, &SURPLUS);
static LIST_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);
static HEARTBEAT_ENDS: Ends = Ends::new(&HBT_001, &HBT_001, &SURPLUS);
static CHALLENGE_ENDS: Ends = Ends::new(&CHL_001, &CHL_001, &SURPLUS);

/// Whose message it is: index into the names of [`DIALECT`].
const VALVE: u8 = 0;
const QUAKE3: u8 = 1;
const QUAKEWORLD: u8 = 2;
const QUAKE2: u8 = 3;
const GAMESPY1: u8 = 4;
const GAMESPY2: u8 = 5;
const DIALECTS: [&str; 6] = ["valve", "quake3", "quakeworld", "quake2", "gamespy1", "gamespy2"];

/// Steps, in the order of their declaration: those of lists have the numbers of their dialects.
const EXTENDED: u8 = 4;
const CHALLENGES: u8 = 5;
const AVAILABLE: u8 = 6;

/// Most bytes of a damaged list request, and of an answer whose bytes alone prove little.
const LONGEST_REQUEST: usize = 512;
/// The shortest list request with an address: `0.0.0.0:0`.
const LEAST_REQUEST: usize = 12;
const LONGEST_LETTERS: usize = 64;

messages! {
    SERVERS_REQUEST = Message::request("servers_request", VALVE, &[
        Form::of(b"\xff\xff\xff\xffgetservers").word(BEHIND),
        Form::of(b"\xff\xff\xff\xffgetserversExt").word(BEHIND),
        Form::of(b"1").length(LEAST_REQUEST, LONGEST_REQUEST).when(has_start).level(Level::High),
        Form::of(b"1").length(3, LONGEST_REQUEST).when(is_text).known(),
        Form::of(b"c\n").length(2, 3).when(ends_behind_letter).level(Level::Low),
        Form::of(b"c").length(1, 1).level(Level::Low),
        Form::of(b"query").length(5, 7).word(LINE_ENDS).level(Level::Low),
    ]);
    SERVERS_RESPONSE = Message::response("servers_response", VALVE, &[
        Form::of(b"\xff\xff\xff\xffgetserversResponse"),
        Form::of(b"\xff\xff\xff\xffgetserversExtResponse"),
        Form::of(b"\xff\xff\xff\xff\x66\n"),
        Form::of(b"\xff\xff\xff\xff\x64\n").level(Level::Medium),
        Form::of(b"\xff\xff\xff\xffservers "),
        Form::of(b"\xff\xff\xff\xffgetservers").when(is_cut).awaited(),
    ]).remembers(unended).lists(&LISTED);
    HEARTBEAT = Message::label("heartbeat", Direction::C2s, &[
        Form::of(b"\xff\xff\xff\xffheartbeat ").when(has_name),
        Form::of(b"\xff\xff\xff\xffheartbeat\n"),
        Form::of(b"a\n").length(6, LONGEST_LETTERS).when(has_two_numbers).level(Level::Medium),
        Form::of(br"\heartbeat\"),
        Form::of(b"\x03").and(5, b"localip0\0"),
    ]).beats(told_port);
    SHUTDOWN = Message::label("shutdown", Direction::C2s, &[
        Form::of(b"\xff\xff\xff\xffshutdown").word(BEHIND).known(),
        Form::of(b"b\n").length(2, 3).known(),
        Form::of(b"C").length(1, 3).word(LINE_ENDS).known(),
    ]);
    CHALLENGE_REQUEST = Message::request("challenge_request", CHALLENGES, &[
        Form::of(b"q").length(1, 1).level(Level::Low),
    ]);
    CHALLENGE_RESPONSE = Message::response("challenge_response", CHALLENGES, &[
        Form::of(b"\xff\xff\xff\xff\x73\n").length(10, 10).level(Level::Medium),
        Form::of(b"\xff\xff\xff\xff\x73\n").length(6, 16).due(),
    ]);
    SERVER_INFO = Message::label("server_info", Direction::C2s, &[
        Form::of(b"0").and(1, b"\n\\protocol"),
        Form::of(b"0").and(1, b"\n\\").known(),
    ]).beats(|_| None);
    AVAILABLE_REQUEST = Message::request("available_request", AVAILABLE, &[
        Form::of(b"\x09\0\0\0\0").length(7, LONGEST_LETTERS).when(has_game).level(Level::Medium),
        Form::of(b"\x09\0\0\0\0").length(8, LONGEST_LETTERS).when(|p| p.get(5..).is_some_and(is_game)).level(Level::Low),
    ]);
    // A client of GameSpy's third query asks with the same bytes: only what came before tells them apart.
    AVAILABLE_RESPONSE = Message::response("available_response", AVAILABLE, &[
        Form::of(b"\xfe\xfd\x09").length(7, 7).due(),
    ]);
    // An answer that ends behind its letter.
    UNKNOWN = Message::label("unknown", Direction::S2c, &[
        Form::of(MARK).length(5, 5).when(|p| p.last().is_some_and(|letter| b"dfs".contains(letter))).awaited(),
    ]);
}

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    ..StepRules::new(&TXN_002)
};
/// A list in any number of datagrams, of which the last one has a mark.
const MARKED: StepInfo = StepInfo {
    open_ended: true,
    ..StepInfo::ordered("servers", StepRules { unended: Some(&RSP_002), ..ANSWERED })
};
const UNMARKED: StepInfo = StepInfo { open_ended: true, ..StepInfo::ordered("servers", ANSWERED) };

/// Gives a message the step of its dialect.
fn placed(p: &[u8], probe: Probe) -> Probe {
    let step = match probe.message {
        SERVERS_REQUEST | SERVERS_RESPONSE if is_extended(p) => EXTENDED,
        SERVERS_REQUEST | SERVERS_RESPONSE => dialect(probe.message, p),
        _ => probe.step,
    };
    Probe { step, ..probe }
}

/// Master servers.
#[derive(Debug)]
pub struct Masters;

impl Protocol for Masters {
    /// The challenge that a master gave a server last.
    type Memory = Bounded<(Endpoint, Endpoint), i32, MAX_CHALLENGES>;

    const INFO: Info = Info {
        known_as: &[("dpmaster", 27950), ("hl2master", 27011)],
        ports: &[27950, 27000, 27900, 27010, 27011, 27012, 27013],
        messages: MESSAGES,
        steps: &[
            StepInfo::ordered("servers", ANSWERED),
            MARKED,
            UNMARKED,
            UNMARKED,
            MARKED,
            StepInfo::ordered("challenge", ANSWERED),
            StepInfo::ordered("available", ANSWERED),
        ],
        fields: &[FIELDS],
        volatile_keys: &["challenge"],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[(Relation::Same, &[&RSP_001], &[&RSP_002, &RSP_005, &RSP_006])],
        replies: answering::REPLIES,
        samples: &[
            Example::on(
                27011,
                &[
                    ASK,
                    S("ffffffff 66 0a c0000222 6987 c000022d 6988"),
                    C("31 ff '192.0.2.45:27016' 00 00"),
                    S("ffffffff 66 0a c000022e 6989 00*6"),
                ],
            ),
            Example::on(
                27950,
                &[
                    C("ffffffff 'getservers Xonotic 3 empty full'"),
                    S(r"ffffffff 'getserversResponse\' c0000222 6987"),
                    S(r"ffffffff 'getserversResponse\' c000022d 6590 '\EOT' 000000"),
                    C("ffffffff 'getserversExt Quake3Arena 68 ipv6'"),
                    S(
                        r"ffffffff 'getserversExtResponse\' c0000222 6987 '/' 20010db8 00*12 6d38 '\EOT' 000000",
                    ),
                    C("ffffffff 'heartbeat QuakeArena-1' 0a"),
                ],
            ),
            Example::on(
                27000,
                &[
                    C("63 0a 00"),
                    S("ffffffff 64 0a c0000222 6987"),
                    C("'query' 0a 00"),
                    S("ffffffff 'servers ' c0000222 6987"),
                    C("'a' 0a '17' 0a '3' 0a"),
                    C(r"ffffffff 'heartbeat' 0a '\hostname\Lab\maxclients\8' 0a '3 40 ' 22 'Ann' 22 0a"),
                    C("43 0a"),
                    C("ffffffff 'shutdown'"),
                ],
            ),
            Example::on(
                27900,
                &[
                    C(r"'\heartbeat\7778\gamename\ut\statechanged\1'"),
                    C("03 01020304 'localip0' 00 '192.0.2.9' 00 'gamename' 00 'bfield1942' 00 00"),
                    C("09 00*4 'bfield1942' 00"),
                    S("fefd09 00000000"),
                ],
            ),
            Example::on(
                27010,
                &[
                    ASK_CHALLENGE,
                    S("ffffffff 73 0a fbffffff"),
                    C(r"30 0a '\protocol\7\challenge\-5\players\0\max\2' 0a"),
                    C("62 0a"),
                ],
            ),
        ],
        ..Info::of("masters", "Master servers' lists and heartbeats", SPEC, &LIST_ENDS)
    };

    /// Quake 3's request, then those of the other families, one after the other.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let requests: [&[u8]; 4] =
            [b"\xff\xff\xff\xffgetservers 68 empty full", b"1\xff0.0.0.0:0\0\0", b"c\n\0", b"query\n\0"];
        let next = ask.silences.checked_rem(requests.len()).and_then(|at| requests.get(at));
        next.filter(|_| ask.answered == 0).map(|request| request.to_vec())
    }

    fn probe(p: &[u8], wire_len: usize, _: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(p, wire_len).map(|probe| placed(p, probe))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(p, wire_len, known).map(|probe| placed(p, probe))
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let dialect = dialect(cx.message, c.rest());
        if cx.message >= UNKNOWN {
            return c.ignored(&PAYLOAD);
        }
        begin(c, dialect)?;
        match (cx.message, dialect) {
            (SERVERS_REQUEST, VALVE) => valve_request(c),
            (SERVERS_REQUEST, QUAKE3) => quake3_request(c),
            (SERVERS_RESPONSE, _) => list(c, dialect),
            (HEARTBEAT, QUAKE3) => quake3_heartbeat(c),
            (HEARTBEAT, QUAKE2) => quake2_heartbeat(c),
            (HEARTBEAT, QUAKEWORLD) => quakeworld_heartbeat(c),
            (HEARTBEAT, GAMESPY1) => gamespy1_heartbeat(c),
            (HEARTBEAT, _) => gamespy2_heartbeat(c),
            (CHALLENGE_RESPONSE, _) => challenge_response(c),
            (SERVER_INFO, _) => server_info(c),
            (AVAILABLE_REQUEST, _) => available_request(c),
            (AVAILABLE_RESPONSE, _) => available_response(c),
            _ => {
                c.text(&WORD, until(LINE_ENDS))?;
                c.skip_all(LINE_ENDS);
                c.ignored(&IGNORED)
            }
        }
    }

    fn observe(given: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let p = seen.datagram.payload;
        let ends = (seen.server, seen.client);
        match (seen.probe.message, seen.pairing) {
            (SERVERS_RESPONSE, Pairing::Answered(answer)) => {
                let most = (answer.request_bytes as usize).saturating_mul(MOST_TIMES);
                if seen.datagram.wire_len() > most {
                    let most = ComparedValue::AtMost(most as i64);
                    raised.add_values(&SEC_001, None, Compared::new(ComparedValue::Nothing, most));
                }
            }
            // Datagrams that the capture has cut may differ behind that.
            (SERVERS_RESPONSE, Pairing::DuplicateResponse { .. }) if seen.datagram.cut > 0 => {
                raised.remove(&TXN_004);
            }
            (CHALLENGE_RESPONSE, _) => {
                if let Some(value) = read_at(p, CHALLENGE_AT, le_i32) {
                    given.insert(ends, value);
                    raised.proof = Proof::Issues(value as u32);
                }
            }
            (SERVER_INFO, _) => {
                let Some(&right) = given.get(&ends) else { return };
                let told = challenge_of(p);
                if told.and_then(Str::decimal) == Some(right) {
                    raised.proof = Proof::Returns;
                } else if seen.datagram.cut == 0 {
                    let found = told.map_or(ComparedValue::Words("nothing"), ComparedValue::from);
                    raised.add_values(&CHL_002, None, Compared::new(found, right));
                }
            }
            _ => {}
        }
    }
}

/// How many times as long as its request a datagram may be.
const MOST_TIMES: usize = 10;
/// Offset of a challenge.
const CHALLENGE_AT: usize = 6;

/// Reads what marks the message, and says whose it is.
fn begin<S: FieldSink>(c: &mut Cursor<'_, '_, S>, dialect: u8) -> Result<(), Fault> {
    let marks = match c.rest() {
        [0xff, 0xff, 0xff, 0xff, ..] => MARK.len(),
        [0xfe, 0xfd, ..] => 2,
        _ => 0,
    };
    if marks > 0 {
        c.field(&PREFIX, bytes(marks))?;
    }
    let name = DIALECTS.get(usize::from(dialect)).copied();
    c.derived_at(&DIALECT, c.whole(), Value::Named(dialect.into(), name));
    Ok(())
}

// --- Recognising

/// Whose message it is.
fn dialect(message: u8, p: &[u8]) -> u8 {
    match (message, p) {
        (SERVERS_REQUEST, [b'1', ..]) => VALVE,
        (SERVERS_REQUEST, [b'c', ..]) => QUAKEWORLD,
        (SERVERS_REQUEST, [b'q', ..]) => QUAKE2,
        (SERVERS_RESPONSE, [_, _, _, _, b'f', ..]) => VALVE,
        (SERVERS_RESPONSE, [_, _, _, _, b'd', ..]) => QUAKEWORLD,
        (SERVERS_RESPONSE, [_, _, _, _, b's', ..]) => QUAKE2,
        (HEARTBEAT, [b'a', ..]) | (SHUTDOWN, [b'C', ..]) => QUAKEWORLD,
        (HEARTBEAT, [b'\\', ..]) => GAMESPY1,
        (HEARTBEAT, [3, ..]) => GAMESPY2,
        (HEARTBEAT, _) if p.get(13) == Some(&b'\n') => QUAKE2,
        (SHUTDOWN, [0xff, ..]) => QUAKE2,
        (SHUTDOWN | CHALLENGE_REQUEST | CHALLENGE_RESPONSE | SERVER_INFO, _) => VALVE,
        (AVAILABLE_REQUEST | AVAILABLE_RESPONSE, _) => GAMESPY2,
        _ => QUAKE3,
    }
}

/// Whether this is Quake 3's extended request, or an answer to it.
fn is_extended(p: &[u8]) -> bool {
    p.get(MARK.len()..).is_some_and(|rest| rest.starts_with(b"getserversExt"))
}

/// Whether the text is an address of IPv4 and a port.
fn is_address(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::SocketAddrV4>().is_ok())
}

/// Whether a start with an address and its zero follows the region.
fn has_start(p: &[u8]) -> bool {
    /// Most letters of an address and a port.
    const LONGEST: usize = 21;
    let rest = p.get(2..).unwrap_or_default();
    let end = rest.iter().take(LONGEST.saturating_add(1)).position(|byte| *byte == 0);
    end.and_then(|end| rest.get(..end)).is_some_and(is_address)
}

/// Whether only text and zeros follow the region.
fn is_text(p: &[u8]) -> bool {
    p.iter().skip(2).all(|byte| *byte == 0 || byte.is_ascii_graphic() || *byte == b' ')
}

/// Whether at most a zero follows the letter and its line.
fn ends_behind_letter(p: &[u8]) -> bool {
    matches!(p, [_, _] | [_, _, 0])
}

/// Whether one word follows, up to the end of the line.
fn has_name(p: &[u8]) -> bool {
    let line = p.get(14..).and_then(|rest| rest.split(|byte| LINE_ENDS.contains(byte)).next());
    line.is_some_and(|line| !line.is_empty() && line.iter().all(u8::is_ascii_graphic))
}

/// Whether two numbers follow, on a line each.
fn has_two_numbers(p: &[u8]) -> bool {
    let mut lines = p.get(2..).unwrap_or_default().split(|byte| *byte == b'\n');
    let mut is_number = || lines.next().is_some_and(is_digits);
    is_number() && is_number() && matches!(lines.next(), Some([] | [0]))
}

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Whether the name of a game and a zero follow, and nothing else.
fn has_game(p: &[u8]) -> bool {
    p.get(5..).and_then(|rest| rest.strip_suffix(b"\0")).is_some_and(is_game)
}

/// Whether this may be the name of a game, or its beginning.
fn is_game(name: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(byte);
    name.first().is_some_and(u8::is_ascii_lowercase) && name.iter().all(is_letter)
}

/// Whether the payload ends inside the word of a list of Quake 3.
fn is_cut(p: &[u8]) -> bool {
    let words: [&[u8]; 2] = [b"getserversResponse", b"getserversExtResponse"];
    p.get(MARK.len()..).is_some_and(|text| words.iter().any(|word| word.starts_with(text)))
}

/// The state of a list of Quake 3 that has no end mark.
fn unended(p: &[u8]) -> u32 {
    let is_marked = dialect(SERVERS_RESPONSE, p) != QUAKE3 || messages::is_marked(p);
    if is_marked { 0 } else { Probe::UNENDED }
}

/// The port that GameSpy's first heartbeat tells; others are sent from it.
fn told_port(p: &[u8]) -> Option<u16> {
    let text = p.strip_prefix(br"\heartbeat\")?.split(|byte| *byte == b'\\').next()?;
    Str(text).decimal().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// The challenge in a server's information.
fn challenge_of(p: &[u8]) -> Option<Str<'_>> {
    let mut texts = p.split(|byte| b"\\\n".contains(byte)).skip(2);
    std::iter::from_fn(|| Some((texts.next()?, texts.next()?)))
        .find(|(key, _)| *key == b"challenge")
        .map(|(_, value)| Str(value))
}
