//! The query of the Unreal engine 2: UT2003, UT2004, Killing Floor and Red Orchestra. Little-endian.
//!
//! ```text
//! both       protocol_version u32 │ type u8
//! details    server_id u32 │ server_ip │ port u32 │ query_port u32 │ server_name │ map │ game_type │ players u32 │ max_players u32
//!   UT2003        ping u32
//!   UT2004        ping u32 │ flags u32 │ skill
//!   Killing Floor wave u32 │ final_wave u32 │ ping u32 │ flags u32 │ skill
//! rules      { key │ value }
//! players    { id u32 │ name │ ping u32 │ score i32 │ stats_id u32 }
//! text       compact index: characters with the zero behind them, negative for UTF-16 │ characters
//! ```
//!
//! Oddities: rules and players come in any number of datagrams, without numbers or an end mark. Only the structure of the
//! details tells their layout.

use super::prelude::*;
use super::sources::gamedig;
use crate::contract::answering::{self, Reply, Slot};
use crate::decode::{Counted, counted};

const SPEC: &str = "https://wiki.beyondunreal.com/Legacy:UT2003_Server_Query_Protocol";
const QUERY: Cite = Cite { doc: "Unreal Wiki, server query", section: "ServerQueryClient", url: SPEC };
const CLIENT: Cite = gamedig("protocols/unreal2.js");
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C("7900000000");
const OK: rule::Step = S(
    "8000000000 00000000 00 611e0000 00000000 02 'A' 00 02 'M' 00 02 'g' 00 01000000 08000000 00000000 00000000 02 '2' 00 000000",
);
const ASK_RULES: rule::Step = C("7900000001");
const RULES_OK: rule::Step = S("8000000001 02 'k' 00 02 'v' 00");
const MORE_RULES: rule::Step = S("8000000001 02 'l' 00 02 'w' 00");

fields! {
    /// 121 from UT2004's clients, 128 from its servers; 120 and 127 of UT2003.
    PROTOCOL_VERSION = "protocol_version": Uint;
    /// 0 details, 1 rules, 2 players, 3 rules and players.
    TYPE = "type": Uint;
    /// Number of the server.
    SERVER_ID = "server_id": Uint;
    /// Address of the server, mostly empty.
    SERVER_IP = "server_ip": Text;
    /// Port of the game, or 0.
    PORT = "port": Uint;
    /// Port of the query, or 0.
    QUERY_PORT = "query_port": Uint;
    /// Name of the server, with colours of four bytes.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Map.
    MAP = "map": Text => Map;
    /// Type of the game.
    GAME_TYPE = "game_type": Text => Game;
    /// Players now.
    PLAYERS = "players": Uint => Players;
    /// Players at most.
    MAX_PLAYERS = "max_players": Uint => MaxPlayers;
    /// Killing Floor: wave of enemies.
    WAVE = "wave": Uint;
    /// Killing Floor: how many waves there are.
    FINAL_WAVE = "final_wave": Uint;
    /// Round trip, which servers leave at 0.
    PING = "ping": Uint volatile;
    /// Bits of which nobody says what they mean.
    FLAGS = "flags": Uint;
    /// How good bots are.
    SKILL = "skill": Text;
    /// Bytes after the details.
    REST = "rest_hex": Bytes;
    /// Rules of the server, in the order of the wire.
    RULE_LIST = "rules": List;
    /// A rule.
    RULE = "rules[]": Group;
    /// Its key, which may come again.
    KEY = "rules[].key": Text public;
    /// Its value.
    VALUE = "rules[].value": Text;
    /// Players.
    PLAYER_LIST = "player_list": List;
    /// A player.
    PLAYER = "player_list[]": Group;
    /// Number; 0 is a line of the score board.
    PLAYER_ID = "player_list[].id": Uint;
    /// Name.
    NAME = "player_list[].name": Text personal;
    /// Round trip in milliseconds.
    PLAYER_PING = "player_list[].ping": Uint volatile;
    /// Score.
    SCORE = "player_list[].score": Int;
    /// Number in the statistics; the highest bits are the team.
    STATS_ID = "player_list[].stats_id": Uint;
    /// Bytes after the type; no client reads them.
    IGNORED = "ignored": Bytes;
}

rules! {
    /// UT2003 sends 78 and 7f; 7e is said of demos. Servers of one version may ignore clients of another.
    HDR_001 = "UN2-HDR-001" Note "protocol version is not UT2004's" {
        cite: QUERY,
        examples: [Example::of(&[
            C("7800000000"),
            S("7f00000000 00000000 00 611e0000 00000000 02 'A' 00 02 'M' 00 02 'g' 00 01000000 08000000 00000000"),
        ])],
    }
    /// Version and type: servers read no less, and drop it.
    REQ_001 = "UN2-REQ-001" Error "request is shorter than five bytes" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, C("79000000")])],
    }
    /// All known clients send five bytes, and servers read no more.
    REQ_002 = "UN2-REQ-002" Note "bytes follow the type of a request" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, OK, C("7900000000 00")])],
    }
    /// There are 0 to 3: details, rules, players, rules and players.
    REQ_003 = "UN2-REQ-003" Error "type of a request is above 3" {
        cite: QUERY,
        examples: [Example::of(&[ASK, OK, C("7900000009")])],
    }
    /// Clients read beyond the end. A rule has a key and a value.
    RSP_001 = "UN2-RSP-001" Error "answer ends inside a field" {
        cite: CLIENT,
        examples: [
            Example::of(&[ASK, S("8000000000 00000000 00 611e0000 00")]),
            Example::of(&[ASK_RULES, S("8000000001 02 'k' 00")]),
        ],
    }
    /// The length is the engine's compact index, and counts the zero.
    STR_001 = "UN2-STR-001" Error "text goes beyond the end of its datagram" {
        cite: QUERY,
        examples: [Example::of(&[ASK, S("8000000000 00000000 00 611e0000 00000000 4803 'A' 00 02 'M' 00 02 'g' 00 01000000 08000000 00000000 00000000 02 '2' 00 000000")])],
    }
    /// The engine counts it. Some clients read to the zero, others as many bytes as were counted.
    STR_002 = "UN2-STR-002" Warning "text does not end with a zero" {
        cite: QUERY,
        examples: [Example::of(&[ASK, S("8000000000 00000000 00 611e0000 00000000 02 'AB' 02 'M' 00 02 'g' 00 01000000 08000000 00000000 00000000 02 '2' 00 000000")])],
    }
    /// Servers send three zeros there, which are empty lists.
    DET_001 = "UN2-DET-001" Note "what follows the details is not zero" {
        cite: CLIENT,
        per_server: true,
        examples: [Example::of(&[ASK, S("8000000000 00000000 00 611e0000 00000000 02 'A' 00 02 'M' 00 02 'g' 00 01000000 08000000 00000000 00000000 02 '2' 00 010203")])],
    }
    /// Servers behind a proxy report what they like.
    DET_002 = "UN2-DET-002" Note "more players than places" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S("8000000000 00000000 00 611e0000 00000000 02 'A' 00 02 'M' 00 02 'g' 00 09000000 08000000 00000000 00000000 02 '2' 00 000000")])],
    }
    /// Clients drop it where the value is empty, too.
    RUL_001 = "UN2-RUL-001" Note "key of a rule is empty" {
        cite: CLIENT,
        examples: [Example::of(&[ASK_RULES, S("8000000001 00 02 'v' 00")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of its type is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "UN2-TXN-001" {
        cite: QUERY,
        examples: [Example::of(&[OK])],
    }
    /// The answer window is two seconds. Clients take an answer that is missing for an empty one.
    TXN_002: UNANSWERED = "UN2-TXN-002" { cite: TIMEOUT, examples: [Example::of(&[ASK, OK, ASK_RULES])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "UN2-TXN-003" {
        cite: TIMEOUT,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// A byte-identical datagram: UDP duplicated it.
    TXN_004: COPY = "UN2-TXN-004" { cite: QUERY, examples: [Example::of(&[ASK, OK, OK])] }
    /// They have neither number nor end: nobody notices that one is lost, and clients wait until nothing comes any more.
    TXN_005 = "UN2-TXN-005" Note "answer comes in several datagrams" {
        cite: CLIENT,
        per_server: true,
        examples: [Example::of(&[ASK_RULES, RULES_OK, MORE_RULES])],
    }
    /// Five bytes with a forged source address bring a victim hundreds: nothing proves the client's address.
    SEC_001 = "UN2-SEC-001" Note "answer is more than three times its request" {
        cite: QUERY,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, OK])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&REQ_001, &REQ_001, &IGNORED);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &IGNORED);
static TEXT_ENDS: Ends = Ends::new(&STR_001, &STR_001, &IGNORED);

const REQUEST: usize = 5;
/// The first bytes of requests and answers, which stand for protocol versions.
const CLIENTS: &[&[u8]] = &[b"\x79", b"\x78"];
const SERVERS: &[&[u8]] = &[b"\x80", b"\x7f", b"\x7e"];

const fn asks(rest: &'static [u8]) -> [Form; 2] {
    let form = Form::of(rest).after(CLIENTS);
    [form.length(REQUEST, REQUEST), form.length(REQUEST, usize::MAX).known()]
}
const fn answers(rest: &'static [u8]) -> [Form; 2] {
    let form = Form::of(rest).after(SERVERS);
    [form.when(decodes), form.known()]
}

messages! {
    DETAILS_REQUEST = Message::request("details_request", 0, &asks(b"\0\0\0\x00"));
    RULES_REQUEST = Message::request("rules_request", 1, &asks(b"\0\0\0\x01"));
    PLAYERS_REQUEST = Message::request("players_request", 2, &asks(b"\0\0\0\x02"));
    RULES_AND_PLAYERS_REQUEST = Message::request("rules_and_players_request", BOTH, &asks(b"\0\0\0\x03"));
    DETAILS = Message::response("details_response", 0, &answers(b"\0\0\0\x00"));
    RULES_RESPONSE = Message::response("rules_response", 1, &answers(b"\0\0\0\x01")).also(&[BOTH]);
    PLAYERS_RESPONSE = Message::response("players_response", 2, &answers(b"\0\0\0\x02")).also(&[BOTH]);
    UNKNOWN = Message::named("unknown");
}

/// The step of the request that two kinds of answers belong to.
const BOTH: u8 = 3;
const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((3, &SEC_001)),
    ..StepRules::new(&TXN_002)
};
const LISTED: StepInfo = StepInfo { open_ended: true, ..StepInfo::ordered("rules", ANSWERED) };

/// The query of the Unreal engine 2.
#[derive(Debug)]
pub struct Unreal2;

impl Protocol for Unreal2 {
    type Memory = ();

    const INFO: Info = Info {
        known_as: &[("ut2004", 7778), ("killingfloor", 7708)],
        offsets: &[1],
        ports: &[7778, 7708, 7758],
        messages: MESSAGES,
        steps: &[
            StepInfo { shown_key: ShownKey::Byte(0), ..StepInfo::ordered("details", ANSWERED) },
            StepInfo { shown_key: ShownKey::Byte(1), ..LISTED },
            StepInfo { name: "players", shown_key: ShownKey::Byte(2), ..LISTED },
            StepInfo { name: "rules_and_players", shown_key: ShownKey::Byte(BOTH), ..LISTED },
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        replies: REPLIES,
        samples: &[Example::of(&[
            ASK,
            OK,
            ASK_RULES,
            RULES_OK,
            C("7900000002"),
            S("8000000002 14000000 83 5a00e9000000 98000000 ffffffff 00000020"),
        ])],
        ..Info::of("unreal2", "Unreal engine 2 query", SPEC, &REQUEST_ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let last = if ask.all { 2 } else { 0 };
        u8::try_from(ask.answered).ok().filter(|kind| *kind <= last).map(|kind| vec![0x79, 0, 0, 0, kind])
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(p, wire_len, known).or_else(|| {
            let asks = matches!(p, [0x78 | 0x79, zeros @ ..] if zeros.iter().take(3).all(|b| *b == 0));
            let ours = asks && known.direction == Direction::C2s;
            if ours { Self::INFO.stray(UNKNOWN, p, known) } else { None }
        })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let asks = !(DETAILS..=PLAYERS_RESPONSE).contains(&cx.message);
        c.ends(if asks { &REQUEST_ENDS } else { &ANSWER_ENDS });
        let version = c.field(&PROTOCOL_VERSION, le_u32)?;
        let expected = if asks { 0x79 } else { 0x80 };
        let hex = |number: u32| ComparedValue::Hex(number.into(), 2);
        c.compare(&HDR_001, || version == expected, || Compared::new(hex(version), hex(expected)));
        let kind = c.field(&TYPE, byte)?;
        match cx.message {
            DETAILS => details(c),
            RULES_RESPONSE => c.all([&RULE_LIST, &RULE], rule).map(drop),
            PLAYERS_RESPONSE => c.all([&PLAYER_LIST, &PLAYER], player).map(drop),
            _ => {
                c.check_number(&REQ_003, kind, ComparedValue::AtMost(BOTH.into()));
                c.expect_end(&IGNORED, &REQ_002)
            }
        }
    }

    fn observe(_: &mut (), seen: &Observation<'_>, raised: &mut Raised) {
        // Rules and players, asked for at once, are two messages.
        if let Pairing::Answered(answer) = seen.pairing
            && answer.part
            && answer.repeats_message
        {
            raised.add(&TXN_005);
        }
    }
}

/// A sink that records whether an answer has no errors or warnings.
struct Clean(bool);

impl FieldSink for Clean {
    fn violation(&mut self, v: crate::decode::Violation) {
        self.0 &= v.rule.severity == rule::Severity::Note && v.rule != &DET_001;
    }
}

/// Whether the answer can be read to its end, and is clean.
fn decodes(p: &[u8]) -> bool {
    let message = p.get(4).map_or(UNKNOWN, |kind| DETAILS.saturating_add(*kind));
    let (mut clean, mut facts) = (Clean(true), Default::default());
    let cx = Context::of(message, Direction::S2c);
    let decoded =
        crate::decode::dissect(p, 0, &ANSWER_ENDS, &mut clean, &mut facts, |c| Unreal2::decode(c, cx));
    decoded.is_ok() && clean.0
}

/// Reads a text with its terminating zero.
fn terminated_text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Counted<'a>, Fault> {
    c.ends(if c.rest().is_empty() { &ANSWER_ENDS } else { &TEXT_ENDS });
    let text = c.field_as(field, counted, Counted::value)?;
    c.skip(text.end());
    c.check(&STR_002, || text.is_ended());
    c.ends(&ANSWER_ENDS);
    Ok(text)
}

fn details<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&SERVER_ID, le_u32)?;
    terminated_text(c, &SERVER_IP)?;
    c.field(&PORT, le_u32)?;
    c.field(&QUERY_PORT, le_u32)?;
    for text in [&SERVER_NAME, &MAP, &GAME_TYPE] {
        terminated_text(c, text)?;
    }
    let (players, most) = (c.field(&PLAYERS, le_u32)?, c.field(&MAX_PLAYERS, le_u32)?);
    c.compare(&DET_002, || players <= most, || Compared::new(players, ComparedValue::AtMost(most.into())));
    let numbers: &[&'static Field] = match layout(c.rest()) {
        None if c.is_cut() => &[],
        Some(UT2004) => &[&PING, &FLAGS],
        Some(_) => &[&WAVE, &FINAL_WAVE, &PING, &FLAGS],
        None => &[&PING],
    };
    for number in numbers {
        c.field(number, le_u32)?;
    }
    if numbers.len() > 1 {
        terminated_text(c, &SKILL)?;
    }
    let (at, zeros) = (c.to_end(), c.ahead().iter().all(|b| *b == 0));
    c.ignored(&REST)?;
    let cut = c.is_cut();
    let bytes = ComparedValue::Bytes(at.end.saturating_sub(at.start).into());
    c.compare_at(&DET_001, at, || zeros || cut, || Compared::new(bytes, "none"));
    Ok(())
}

/// Offsets of the skill, with which two of the layouts end.
const UT2004: usize = 8;
const KILLING_FLOOR: usize = 16;

/// The layout whose skill is a non-empty text. If that is true of both, the one followed only by zeros is chosen.
fn layout(rest: &[u8]) -> Option<usize> {
    let zeros_follow = |at: &usize| {
        let (rest, text) = counted(rest.get(*at..)?).ok()?;
        let rest = rest.strip_prefix(text.end())?;
        (!text.is_empty()).then(|| rest.iter().all(|b| *b == 0))
    };
    let layouts = [UT2004, KILLING_FLOOR];
    let exact = layouts.into_iter().find(|at| zeros_follow(at) == Some(true));
    exact.or_else(|| layouts.into_iter().find(|at| zeros_follow(at).is_some()))
}

fn rule<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let key = terminated_text(c, &KEY)?;
    c.compare(&RUL_001, || !key.is_empty(), || Compared::new(key.text, "a name"));
    let value = terminated_text(c, &VALUE)?;
    if key.text == b"ServerVersion" {
        c.facts.set(Fact::Version, value.value());
    }
    Ok(())
}

fn player<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PLAYER_ID, le_u32)?;
    terminated_text(c, &NAME)?;
    c.field(&PLAYER_PING, le_u32)?;
    c.field(&SCORE, le_i32)?;
    c.field(&STATS_ID, le_u32).map(drop)
}

// --- Answering

static REPLIES: &[Reply] = &[
    Reply::to(
        DETAILS_REQUEST,
        &[
            Slot::Hex("80000000 00 00000000 00"),
            Slot::Port(answering::le32),
            Slot::Port(answering::le32),
            Slot::Name(indexed),
            Slot::Map(indexed),
            Slot::Game(indexed),
            Slot::Players(answering::le32),
            Slot::MaxPlayers(answering::le32),
            Slot::Hex("00000000 00000000 02 '2' 00"),
        ],
    ),
    Reply::to(RULES_REQUEST, RULES_ANSWER),
    Reply::to(PLAYERS_REQUEST, PLAYERS_ANSWER),
];
const RULES_ANSWER: &[Slot] = &[Slot::Hex("80000000 01 0e 'ServerVersion' 00"), Slot::Version(indexed)];
const PLAYERS_ANSWER: &[Slot] = &[
    Slot::Hex("80000000 02"),
    Slot::Each(&[
        Slot::Index(answering::le32),
        Slot::Player(indexed),
        Slot::Hex("14000000"),
        Slot::Index(answering::le32),
        Slot::Hex("00000000"),
    ]),
];

/// A compact index that counts the zero behind the text, and both.
fn indexed(text: &str) -> Vec<u8> {
    let length = (text.len() as u32).saturating_add(1);
    let index = match length {
        0..0x40 => vec![length as u8],
        _ => vec![(length & 0x3f) as u8 | 0x40, (length >> 6) as u8],
    };
    [index, answering::zero(text)].concat()
}
