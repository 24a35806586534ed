//! The query of All-Seeing Eye, which MTA: San Andreas, Far Cry, Soldat and others support.
//!
//! ```text
//! request    's' │ 'b' │ 'r' │ 'x' │ 'v'
//! s          EYE1 │ nine strings │ { key string, value string } 01 │ { flags u8, a string for each bit }
//! b, r       EYE2 │ four strings │ details │ version string │ four bytes │ { name string }
//! x          EYE3 │ three strings │ details │ version string │ three bytes
//! v          text
//! string     length u8, which counts itself │ text
//! details    length u8, which counts itself │ map │ 00 │ players '/' maximum │ { 00 text }
//! ```
//!
//! Oddities: MTA writes a text of 255 bytes with the length 0. A request of one byte causes an answer of several thousand.

use super::prelude::*;
use super::sources::gamedig;
use crate::capture::Time;
use crate::contract::answering::{self, Reply, Slot};
use crate::net::Endpoint;

const SPEC: &str = "https://github.com/multitheftauto/mtasa-blue";
const ASE_CPP: Cite =
    Cite { doc: "MTA: San Andreas", section: "Server/mods/deathmatch/logic/ASE.cpp", url: SPEC };
const CLIENT: Cite = gamedig("protocols/ase.js");
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C("'s'");
const OK: rule::Step = S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 01");
const LIGHTER: Example = Example::of(&[
    C("'b'"),
    S(
        "'EYE2' 04 'mta' 06 '22003' 04 'Lab' 03 'DM' 1b 'LV' 00 '1/8' 00 '1' 00 '9892' 00 'ok' 00 00 '60' 00 '22005' \
       04 '1.6' 00 01 01 08 04 'Ann'",
    ),
    C("'x'"),
    S("'EYE3' 04 'mta' 04 'Lab' 03 'DM' 07 'LV' 00 '1/8' 04 '1.6' 00 01 08"),
    C("'v'"),
    S("'1.6'"),
]);

/// In this time span, in nanoseconds, servers answer five requests from one address.
const SPAN: i64 = 6_000_000_000;
/// Largest UDP payload that fits an Ethernet frame, in bytes.
const UNFRAGMENTED: usize = 1_472;
/// Maximum length of an answer that is recognised as a version, in bytes.
const LONGEST_VERSION: usize = 32;

fields! {
    /// Letter that says what is asked for.
    QUERY = "query": Text public;
    /// `EYE1`, `EYE2` or `EYE3`.
    MARK = "mark": Text public;
    /// Short name of the game.
    GAME = "game": Text => Game;
    /// Port of the game.
    PORT = "port": Dynamic;
    /// Name of the server.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Type of the game.
    GAME_TYPE = "game_type": Text;
    /// Length of what stands in one string, the byte itself included.
    DETAILS_LENGTH = "details_length": Uint;
    /// Map.
    MAP = "map": Text => Map;
    /// Version of the game.
    VERSION = "version": Text => Version;
    /// Players need one.
    PASSWORD = "password": Dynamic personal;
    /// Players now.
    PLAYERS = "players": Dynamic => Players;
    /// Players at most.
    MAX_PLAYERS = "max_players": Dynamic => MaxPlayers;
    /// Kind of build of the server.
    BUILD_TYPE = "build_type": Dynamic;
    /// Its number.
    BUILD_NUMBER = "build_number": Dynamic;
    /// How the server fares with the master server's pings.
    PING_STATUS = "ping_status": Dynamic volatile;
    /// How it is reached.
    NET_ROUTE = "net_route": Dynamic;
    /// Seconds since it was started.
    UPTIME = "uptime": Dynamic volatile;
    /// Port for downloads.
    HTTP_PORT = "http_port": Dynamic;
    /// Further parts of that string.
    MORE_DETAILS = "more_details": Bytes;
    /// Serial numbers of players are verified.
    SERIAL_VERIFICATION = "serial_verification": Bool;
    /// Players now, 255 at most.
    PLAYERS_BYTE = "players_byte": Uint;
    /// Players at most, likewise.
    MAX_PLAYERS_BYTE = "max_players_byte": Uint;
    /// Rules of the server, in the order of the wire.
    RULE_LIST = "rules": List;
    /// A rule.
    RULE = "rules[]": Group;
    /// Its key.
    KEY = "rules[].key": Text public;
    /// Its value.
    VALUE = "rules[].value": Text;
    /// Players.
    PLAYER_LIST = "player_list": List;
    /// A player.
    PLAYER = "player_list[]": Group;
    /// Which of the following are there: bits 0 to 5 in their order.
    FLAGS = "player_list[].flags": Uint;
    /// Name.
    NAME = "player_list[].name": Text personal;
    /// Team.
    TEAM = "player_list[].team": Text;
    /// Skin.
    SKIN = "player_list[].skin": Text;
    /// Score, which may be any text.
    SCORE = "player_list[].score": Text;
    /// Round trip in milliseconds.
    PING = "player_list[].ping": Text volatile;
    /// Time in the game.
    TIME = "player_list[].time": Text volatile;
    /// Bytes after the letter; no client reads them.
    IGNORED = "ignored": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// MTA looks at the first byte only, and answers all the same.
    REQ_001 = "ASE-REQ-001" Note "request is longer than its letter" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, OK, Wait(1000), C("'s' 00")])],
    }
    /// EYE1 answers s, EYE2 b and r, EYE3 x. Clients drop what begins otherwise.
    HDR_001 = "ASE-HDR-001" Error "answer does not begin with the mark of what was asked" {
        cite: CLIENT,
        examples: [
            Example::of(&[ASK, S("'EYE2' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 00 00 00 08")]),
            Example::of(&[ASK, OK, Wait(1000), ASK, S("'EYQ1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 01")]),
            Example::of(&[ASK, OK, Wait(1000), ASK, S("'hello'")]),
        ],
    }
    /// It counts itself, so that 1 is the empty string. MTA casts a length of 256 to a byte: clients misread the rest.
    STR_001 = "ASE-STR-001" Error "length of a string is 0" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 02 'k' 00 78*255 01")])],
    }
    /// Clients read what is there, or beyond it.
    STR_002 = "ASE-STR-002" Error "string goes beyond the end of its message" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02")])],
    }
    /// What stands in front of the rules and players is always there.
    INF_001 = "ASE-INF-001" Error "answer ends before the maximum of players" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g'")])],
    }
    /// Port, players and maximum are numbers to every client.
    INF_002 = "ASE-INF-002" Warning "number is not a decimal integer" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 05 'none' 02 '8' 01")])],
    }
    /// Servers behind a proxy report what they like.
    INF_003 = "ASE-INF-003" Note "more players than places" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '9' 02 '8' 01")])],
    }
    /// MTA always writes the empty key; clients take the end of the datagram for it.
    RUL_001 = "ASE-RUL-001" Warning "rules are not ended by an empty key" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8'")])],
    }
    /// Clients read beyond the end, and show what nobody sent.
    PLR_001 = "ASE-PLR-001" Error "player ends before what its flags announce" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '1' 02 '8' 01 3f 04 'Ann'")])],
    }
    /// Some players are hidden or still joining, or the list is an older one.
    PLR_002 = "ASE-PLR-002" Note "as many players are not listed as the answer says" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '2' 02 '8' 01 3f 04 'Ann' 01 01 02 '1' 03 '20' 01")])],
    }
    /// Six bits have a meaning; clients pass over the others.
    PLR_003 = "ASE-PLR-003" Note "flags of a player have bit 6 or 7" {
        cite: ASE_CPP,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '1' 02 '8' 01 41 04 'Ann'")])],
    }
    /// On most paths it comes in IP fragments, and one that is lost takes all of it along.
    RSP_001 = "ASE-RSP-001" Note "answer does not fit one Ethernet frame" {
        cite: ASE_CPP,
        per_server: true,
        examples: [Example::of(&[ASK, S("'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' \
                                         02 'a' ff 61*254 02 'b' ff 62*254 02 'c' ff 63*254 02 'd' ff 64*254 02 'e' ff 65*254 02 'f' ff 66*254 01")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of this client is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "ASE-TXN-001" {
        cite: ASE_CPP,
        examples: [Example::of(&[OK])],
    }
    /// The answer window is two seconds. Servers are silent to an address that asks too often.
    TXN_002: UNANSWERED = "ASE-TXN-002" {
        cite: TIMEOUT,
        examples: [Example::of(&[ASK, OK, Wait(3000), ASK])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "ASE-TXN-003" {
        cite: TIMEOUT,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// A byte-identical answer: UDP duplicated it. MTA keeps an answer for ten seconds, so that two requests may bring the same.
    TXN_004: COPY = "ASE-TXN-004" { cite: ASE_CPP, examples: [Example::of(&[ASK, OK, OK])] }
    /// MTA ignores an address for seven seconds that sends more than five requests within six.
    TXN_005 = "ASE-TXN-005" Note "address asks more than five times within six seconds" {
        cite: ASE_CPP,
        side: Client,
        examples: [Example::of(&[
            ASK, OK, Wait(400), ASK, OK, Wait(400), ASK, OK, Wait(400), ASK, OK, Wait(400), ASK, OK, Wait(400), ASK, OK,
        ])],
    }
    /// One byte with a forged source address brings a victim thousands: nothing proves the client's address.
    SEC_001 = "ASE-SEC-001" Note "answer is more than three times its request" {
        cite: ASE_CPP,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, OK])],
    }
}

static HEAD_ENDS: Ends = Ends::new(&INF_001, &INF_001, &SURPLUS);
static RULES_END: Ends = Ends::new(&RUL_001, &RUL_001, &SURPLUS);
static PLAYER_ENDS: Ends = Ends::new(&PLR_001, &PLR_001, &SURPLUS);
static EMPTY_ENDS: Ends = Ends::new(&STR_001, &STR_001, &SURPLUS);
static STRING_ENDS: Ends = Ends::new(&STR_002, &STR_002, &SURPLUS);

const MARKS: [&[u8; 4]; 3] = [b"EYE1", b"EYE2", b"EYE3"];
const REQUESTS: u8 = 4;
const VERSION_STEP: u8 = 3;

const fn letter(letter: &'static [u8]) -> [Form; 2] {
    [Form::of(letter).length(1, 1), Form::of(letter).length(2, usize::MAX).known()]
}
const fn mark(mark: &'static [u8]) -> [Form; 2] {
    [Form::of(mark).when(has_string).level(Level::High), Form::of(mark)]
}
const FULL: [Form; 2] = letter(b"s");
const BROWSER: [Form; 2] = letter(b"b");
const OTHER_BROWSER: [Form; 2] = letter(b"r");

messages! {
    FULL_REQUEST = Message::request("full_request", 0, &[FULL[0].level(Level::Low), FULL[1]]);
    LIGHT_REQUEST = Message::request("light_request", 1, &[BROWSER[0], BROWSER[1], OTHER_BROWSER[0], OTHER_BROWSER[1]]);
    XFIRE_REQUEST = Message::request("xfire_request", 2, &letter(b"x"));
    VERSION_REQUEST = Message::request("version_request", VERSION_STEP, &letter(b"v"));
    FULL_RESPONSE = Message::response("full_response", 0, &mark(b"EYE1"));
    LIGHT_RESPONSE = Message::response("light_response", 1, &mark(b"EYE2"));
    XFIRE_RESPONSE = Message::response("xfire_response", 2, &mark(b"EYE3"));
    // A letter and a word prove nothing, not even together.
    VERSION_RESPONSE = Message::response("version_response", VERSION_STEP, &[
        Form::of(b"").when(is_version).due(),
    ]).paired(Level::Hint);
    UNKNOWN = Message::named("unknown");
}

/// The fields after each mark.
const LAYOUTS: [&[&Field]; 3] = [
    &[&GAME, &PORT, &SERVER_NAME, &GAME_TYPE, &MAP, &VERSION, &PASSWORD, &PLAYERS, &MAX_PLAYERS],
    &[
        &GAME,
        &PORT,
        &SERVER_NAME,
        &GAME_TYPE,
        &DETAILS_LENGTH,
        &VERSION,
        &PASSWORD,
        &SERIAL_VERIFICATION,
        &PLAYERS_BYTE,
        &MAX_PLAYERS_BYTE,
    ],
    &[
        &GAME,
        &SERVER_NAME,
        &GAME_TYPE,
        &DETAILS_LENGTH,
        &VERSION,
        &PASSWORD,
        &PLAYERS_BYTE,
        &MAX_PLAYERS_BYTE,
    ],
];
/// The fields after the map in the details, each with the separator in front of it.
const DETAILS: [(&[u8], &Field); 8] = [
    (b"\0", &PLAYERS),
    (b"/", &MAX_PLAYERS),
    (b"\0", &BUILD_TYPE),
    (b"\0", &BUILD_NUMBER),
    (b"\0", &PING_STATUS),
    (b"\0", &NET_ROUTE),
    (b"\0", &UPTIME),
    (b"\0", &HTTP_PORT),
];

const ANSWERED: StepRules = StepRules {
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((3, &SEC_001)),
    ..StepRules::new(&TXN_002)
};

/// All-Seeing Eye.
#[derive(Debug)]
pub struct Ase;

impl Protocol for Ase {
    type Memory = RecentRequests<5>;

    const INFO: Info = Info {
        known_as: &[("mta", 0)],
        offsets: &[123],
        ports: &[22126],
        messages: MESSAGES,
        steps: &[
            StepInfo::ordered("full", ANSWERED),
            StepInfo::ordered("light", ANSWERED),
            StepInfo::ordered("xfire", ANSWERED),
            StepInfo::ordered("version", ANSWERED),
        ],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            // STR_001 ends the decoding, so all fields with findings come before it: these are no symptoms of it.
            (Relation::Same, &[&STR_001], &[&TXN_001, &TXN_003, &TXN_004]),
            (Relation::Request, &[&TXN_005], &[&TXN_002]),
            (Relation::Instead, &[&HDR_001], &[&TXN_002]),
        ],
        replies: REPLIES,
        samples: &[Example::of(&[ASK, OK]), LIGHTER],
        ..Info::of("ase", "All-Seeing Eye query", SPEC, &HEAD_ENDS)
    };

    /// The request for everything; with `all` also the requests of MTA's own server browser.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let letters: &[u8] = if ask.all { b"sbxv" } else { b"s" };
        letters.get(ask.answered).map(|letter| vec![*letter])
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(p, wire_len, known).or_else(|| {
            let answer_is_due = known.direction == Direction::S2c && known.open;
            Self::INFO.stray(answer_is_due.then(|| damaged(p).unwrap_or(UNKNOWN))?, p, known)
        })
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message < REQUESTS {
            c.text(&QUERY, text(1))?;
            return c.expect_end(&IGNORED, &REQ_001);
        }
        if cx.message == UNKNOWN {
            c.check_whole(&HDR_001, || cx.direction == Direction::C2s);
            return c.ignored(&IGNORED);
        }
        let at = usize::from(cx.message.saturating_sub(REQUESTS));
        let (Some(expected), Some(layout)) = (MARKS.get(at), LAYOUTS.get(at)) else {
            return c.text(&VERSION, remaining).map(drop);
        };
        let wire_len = c.wire_len();
        let large = wire_len > UNFRAGMENTED;
        c.compare_whole(
            &RSP_001,
            || !large,
            || {
                Compared::new(
                    ComparedValue::Bytes(wire_len as u64),
                    ComparedValue::AtMost(UNFRAGMENTED as i64),
                )
            },
        );
        let mark = c.text(&MARK, text(4))?;
        c.compare(
            &HDR_001,
            || mark.0 == *expected,
            || Compared::new(mark, ComparedValue::from(&expected[..])),
        );
        let players = head(c, layout)?;
        match cx.message {
            FULL_RESPONSE => rules_and_players(c, players),
            LIGHT_RESPONSE => {
                c.all([&PLAYER_LIST, &PLAYER], |c| string(c, &NAME, &PLAYER_ENDS).map(drop)).map(drop)
            }
            _ => c.ignored(&IGNORED),
        }
    }

    fn observe(memory: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        match seen.pairing {
            Pairing::Asked { .. } if memory.exceeds(seen.server, seen.client, seen.datagram.time, SPAN) => {
                raised.add(&TXN_005);
            }
            // Its mark is that of an answer to another request.
            Pairing::Unsolicited { other_step: true, .. } => raised.add(&HDR_001),
            Pairing::Unsolicited { .. } => raised.add(&TXN_001),
            _ => {}
        }
    }
}

// --- Answering

static REPLIES: &[Reply] = &[
    Reply::to(
        FULL_REQUEST,
        &[
            Slot::Hex("'EYE1' 04 'mta'"),
            Slot::Port(|port| counted(&port.to_string())),
            Slot::Name(counted),
            Slot::Game(counted),
            Slot::Map(counted),
            Slot::Version(counted),
            Slot::Hex("02 '0'"),
            Slot::Players(|players| counted(&players.to_string())),
            Slot::MaxPlayers(|most| counted(&most.to_string())),
            Slot::Hex("01"),
            Slot::Each(&[Slot::Hex("01"), Slot::Player(counted)]),
        ],
    ),
    Reply::to(
        LIGHT_REQUEST,
        &[
            Slot::Hex("'EYE2' 04 'mta'"),
            Slot::Port(|port| counted(&port.to_string())),
            Slot::Name(counted),
            Slot::Game(counted),
            Slot::Within(
                counting_itself,
                &[
                    Slot::Map(answering::zero),
                    Slot::Players(answering::decimal),
                    Slot::Hex("'/'"),
                    Slot::MaxPlayers(answering::decimal),
                    Slot::Hex("00 '1' 00 '9892' 00 'ok' 00 00 '60' 00 '22005'"),
                ],
            ),
            Slot::Version(counted),
            Slot::Hex("00 01"),
            Slot::Players(answering::u8),
            Slot::MaxPlayers(answering::u8),
            Slot::Each(&[Slot::Player(counted)]),
        ],
    ),
    Reply::to(
        XFIRE_REQUEST,
        &[
            Slot::Hex("'EYE3' 04 'mta'"),
            Slot::Name(counted),
            Slot::Game(counted),
            Slot::Within(
                counting_itself,
                &[
                    Slot::Map(answering::zero),
                    Slot::Players(answering::decimal),
                    Slot::Hex("'/'"),
                    Slot::MaxPlayers(answering::decimal),
                ],
            ),
            Slot::Version(counted),
            Slot::Hex("00"),
            Slot::Players(answering::u8),
            Slot::MaxPlayers(answering::u8),
        ],
    ),
    Reply::to(VERSION_REQUEST, &[Slot::Version(answering::bare)]),
];

/// A length that counts itself, and the text.
fn counted(text: &str) -> Vec<u8> {
    counting_itself(text.as_bytes())
}
fn counting_itself(bytes: &[u8]) -> Vec<u8> {
    answering::sized(|length| answering::u8(length.saturating_add(1)), bytes)
}

// --- Recognising

/// Whether a string of printable characters follows the mark.
fn has_string(p: &[u8]) -> bool {
    let string = p.get(4..).and_then(|rest| counted8(rest).ok());
    string.is_some_and(|(_, text)| (1..=30).contains(&text.0.len()) && text.is_plain())
}

/// The answer that a mark belongs to. One of its four characters may be wrong.
fn damaged(p: &[u8]) -> Option<u8> {
    let mark: &[u8; 4] = p.first_chunk()?;
    let agreeing = |of: &[u8; 4]| mark.iter().zip(of).filter(|(a, b)| a == b).count();
    let marks = MARKS.map(agreeing);
    let best = marks.into_iter().max().filter(|best| *best >= 3)?;
    let at = marks.iter().position(|matching| *matching == best)?;
    Some(FULL_RESPONSE.saturating_add(at as u8))
}

/// Whether this may be a version, the only answer without a mark.
fn is_version(p: &[u8]) -> bool {
    (1..=LONGEST_VERSION).contains(&p.len()) && Str(p).is_plain() && damaged(p).is_none()
}

// --- Decoding

/// Reads a string. `missing` applies if its length is missing.
fn string<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
    missing: &'static Ends,
) -> Result<Str<'a>, Fault> {
    c.ends(missing);
    if let Some(length) = c.rest().first() {
        c.ends(if *length == 0 { &EMPTY_ENDS } else { &STRING_ENDS });
    }
    let show = |text: Str<'a>| match text.0 {
        b"0" | b"1" if field == &PASSWORD => Value::Bool(text.0 == b"1"),
        _ => text.to_value(field.kind),
    };
    c.field_as(field, counted8, show).map_err(|fault| match std::ptr::eq(fault.rule, &STR_001) {
        true => Fault { values: Compared::new(0u8, ComparedValue::AtLeast(1)), ..fault },
        false => fault,
    })
}

/// Reads the fields in front of rules and players. Returns the number of players that they state.
fn head<S: FieldSink>(c: &mut Cursor<'_, '_, S>, layout: &[&'static Field]) -> Result<Option<i32>, Fault> {
    let (mut players, mut after_details) = (None, false);
    for &field in layout {
        c.ends(&HEAD_ENDS);
        match field.kind {
            _ if field == &DETAILS_LENGTH => {
                after_details = true;
                details(c)?;
            }
            FieldKind::Text => drop(string(c, field, &HEAD_ENDS)?),
            FieldKind::Dynamic if !after_details => {
                let text = string(c, field, &HEAD_ENDS)?;
                let number = text.decimal();
                c.compare(
                    &INF_002,
                    || number.is_some() || field == &PASSWORD,
                    || Compared::new(text, "a number"),
                );
                players = if field == &PLAYERS { number } else { players };
            }
            FieldKind::Uint => {
                // This byte cannot exceed 255.
                let count = Some(c.field(field, byte)?.into());
                let fact =
                    if field == &PLAYERS_BYTE { &mut c.facts.players } else { &mut c.facts.max_players };
                *fact = fact.or(count);
            }
            _ => drop(c.field_as(field, byte, |b| Value::Bool(b != 0))?),
        }
    }
    let places = c.facts.player_counts();
    c.compare(
        &INF_003,
        || places.is_none_or(|(now, most)| now <= most),
        || {
            places.map_or(Compared::NOTHING, |(now, most)| {
                Compared::new(now, ComparedValue::AtMost(most.into()))
            })
        },
    );
    Ok(players)
}

/// Reads the string with the details, as far as they are present.
fn details<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let length = usize::from(c.field(&DETAILS_LENGTH, byte)?);
    c.require_that(&STR_001, length > 0, || Compared::new(length, ComparedValue::AtLeast(1)))?;
    let length = length.saturating_sub(1);
    let (left, cut) = (c.rest().len(), c.is_cut());
    c.require_that(&STR_002, length <= left || cut, || {
        Compared::new(length, ComparedValue::Following(left as u64))
    })?;
    c.sized(length, &STR_002, &STRING_ENDS, |c| {
        c.text(&MAP, until(b"\0"))?;
        for (separator, field) in DETAILS {
            if !c.skip(separator) {
                break;
            }
            let text = c.text(field, until(if field == &PLAYERS { b"/\0" } else { b"\0" }))?;
            let number = text.decimal();
            let whole = !c.may_continue();
            c.compare(
                &INF_002,
                || !whole || number.is_some() || ![&PLAYERS, &MAX_PLAYERS].contains(&field),
                || Compared::new(text, "a number"),
            );
        }
        c.ignored(&MORE_DETAILS)
    })
}

fn rules_and_players<S: FieldSink>(c: &mut Cursor<'_, '_, S>, players: Option<i32>) -> Result<(), Fault> {
    let (mut ended, cut) = (c.skip(b"\x01"), c.is_cut());
    let has_rules = !ended && !c.rest().is_empty();
    c.groups([&RULE_LIST, &RULE], has_rules, |c| {
        string(c, &KEY, &RULES_END)?;
        string(c, &VALUE, &RULES_END)?;
        ended = c.skip(b"\x01");
        Ok(!ended && !c.rest().is_empty())
    })?;
    c.check(&RUL_001, || ended || cut);
    let listed = c.all([&PLAYER_LIST, &PLAYER], |c| {
        let flags = c.field(&FLAGS, byte)?;
        c.compare(
            &PLR_003,
            || flags & 0xc0 == 0,
            || Compared::new(ComparedValue::byte(flags), ComparedValue::byte(flags & !0xc0)),
        );
        let fields = [&NAME, &TEAM, &SKIN, &SCORE, &PING, &TIME].into_iter().enumerate();
        let mut present = fields.filter(|(bit, _)| flags >> bit & 1 == 1);
        present.try_for_each(|(_, field)| string(c, field, &PLAYER_ENDS).map(drop))
    })?;
    c.compare_whole(
        &PLR_002,
        || cut || players.is_none_or(|players| players == i32::from(listed)),
        || Compared::new(listed, players.map_or(ComparedValue::Nothing, ComparedValue::from)),
    );
    Ok(())
}
/// Most pairs of server and client address whose latest requests are remembered with 64 MiB.
const MAX_RECENT_CLIENTS: usize = 16_384;

/// Times of the last `N` requests of each client address to a server, for request limits; the oldest address is dropped
/// first.
#[derive(Debug)]
pub struct RecentRequests<const N: usize>(
    Bounded<(Endpoint, Endpoint), [Option<Time>; N], MAX_RECENT_CLIENTS>,
);

impl<const N: usize> From<Budget> for RecentRequests<N> {
    fn from(budget: Budget) -> Self {
        RecentRequests(budget.into())
    }
}

impl<const N: usize> RecentRequests<N> {
    /// Remembers a request; returns whether its address sent `N` others in the `span` nanoseconds before it.
    pub fn exceeds(&mut self, server: Endpoint, client: Endpoint, now: Time, span: i64) -> bool {
        // Earlier requests do not affect the limit.
        let recent = |at: &Time| now.since(*at).is_some_and(|age| age < span);
        let needed = |(_, times): &(_, [Option<Time>; N])| times.iter().flatten().any(recent);
        let times = self.0.get_or_insert_over((server, client.host()), [None; N], needed);
        times.rotate_left(1);
        let oldest = times.last_mut().and_then(|latest| latest.replace(now));
        oldest.and_then(|oldest| now.since(oldest)).is_some_and(|age| (0..span).contains(&age))
    }
}

impl<const N: usize> Forgets for RecentRequests<N> {
    fn forgotten(&self) -> u64 {
        self.0.forgotten()
    }
}
