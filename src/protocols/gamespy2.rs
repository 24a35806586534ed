//! GameSpy's query 2, which Arma, Halo, SWAT 4 and Battlefield Vietnam support. Big-endian.
//!
//! ```text
//! request    fe fd 00 │ request_id u32 │ server, player, team keys u8
//! response   00 │ request_id │ [ keys ] [ players ] [ teams ]
//! keys       { key 00 value 00 } 00
//! table      count u16 │ { name 00 } 00 │ count × names × { value 00 }
//! ```
//!
//! Oddities: sections that were not requested are missing, so only the request shows how to read the answer. Data that does not
//! fit into 1,400 bytes is dropped without a sign.

use super::gamespy::{ANSWERED_ID, ASKED_ID, Keys, begins_with_key, is_legible, is_list, keys};
use super::other::unknown;
use super::prelude::*;
use super::sources::{QR2_SDK, gamedig, qr2_sdk};
use crate::contract::answering::{self, Reply, Slot};

const ASK: rule::Step = C("fefd00 'CORY' ff0000");
const OK: rule::Step = S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00");
const TABLES: rule::Step = C("fefd00 'CORX' 00ffff");
const TWO: rule::Step =
    S("00 'CORX' 0001 'player_' 00 'score_' 00 00 'Ann' 00 '5' 00 0001 'team_t' 00 00 'Red' 00");
const PLAYERS_ONLY: rule::Step = C("fefd00 'CORY' 00ff00");

/// Length of a request in bytes.
const REQUEST: usize = 10;
/// Length of an answer for which the server had no more room, in bytes.
const FULL: usize = 1_400;

fields! {
    /// Two bytes before the client's messages.
    PREFIX = "prefix": Bytes public;
    /// 0 state.
    MESSAGE_TYPE = "type": Uint;
    /// Number of the client's choice, which the answer repeats.
    REQUEST_ID = "request_id": Uint volatile token;
    /// Which keys of the server are asked for: 255 all, 0 none.
    SERVER_KEYS = "server_keys": Uint;
    /// Which keys of the players.
    PLAYER_KEYS = "player_keys": Uint;
    /// Which keys of the teams.
    TEAM_KEYS = "team_keys": Uint;
    /// Keys and values of the server, in the order of the wire.
    KEYS = "keys": List;
    /// A pair.
    PAIR = "keys[]": Group;
    /// Its key.
    KEY = "keys[].key": Text public;
    /// Its value.
    VALUE = "keys[].value": Text;
    /// Table of the players.
    PLAYERS = "players": Group;
    /// How many players follow.
    PLAYER_COUNT = "players.count": Uint;
    /// What is said of each player.
    PLAYER_FIELDS = "players.fields": List;
    /// One of these.
    PLAYER_FIELD = "players.fields[]": Group;
    /// Its name, which ends in `_`.
    PLAYER_FIELD_NAME = "players.fields[].name": Text public;
    /// The players.
    PLAYER_RECORDS = "players.records": List;
    /// A player: values in the order of the fields.
    PLAYER_RECORD = "players.records[]": List;
    /// A value.
    PLAYER_VALUE = "players.records[][]": Text;
    /// Table of the teams.
    TEAMS = "teams": Group;
    /// How many teams follow.
    TEAM_COUNT = "teams.count": Uint;
    /// What is said of each team.
    TEAM_FIELDS = "teams.fields": List;
    /// One of these.
    TEAM_FIELD = "teams.fields[]": Group;
    /// Its name, which ends in `_t`.
    TEAM_FIELD_NAME = "teams.fields[].name": Text public;
    /// The teams.
    TEAM_RECORDS = "teams.records": List;
    /// A team: values in the order of the fields.
    TEAM_RECORD = "teams.records[]": List;
    /// A value.
    TEAM_VALUE = "teams.records[][]": Text;
    /// Sections whose layout nobody knows: the request is missing, or asked for keys by number.
    BODY = "body": Bytes;
    /// A message of another kind.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the last section.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Servers read the three bytes first, and drop what ends before them.
    REQ_001 = "GS2-REQ-001" Error "request ends before its three key bytes" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        examples: [Example::of(&[ASK, OK, C("fefd00 'CORY' ff00")])],
    }
    /// The answer is the bare header: five bytes.
    REQ_002 = "GS2-REQ-002" Warning "request asks for nothing" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        examples: [Example::of(&[C("fefd00 'CORY' 000000")])],
    }
    /// As many numbers of keys follow, and the values come without names. No known client asks so, and the answer is not decoded.
    REQ_003 = "GS2-REQ-003" Note "key byte is neither 0 nor 255" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        examples: [Example::of(&[ASK, OK, C("fefd00 'CORY' 01ff00")])],
    }
    /// The server's buffer was full, and the rest is lost: a section that is cut is no further fault.
    RSP_001 = "GS2-RSP-001" Note "answer has 1,400 bytes or more" {
        cite: qr2_sdk("qr2.c, MAX_DATA_SIZE"),
        examples: [Example::of(&[ASK, S("00 'CORY' 'hostname' 00 4c*1386")])],
    }
    /// An empty key ends them; without it clients read on in what follows.
    KEY_001 = "GS2-KEY-001" Error "keys are not ended" {
        cite: qr2_sdk("qr2.c, qr_build_partial_query_reply"),
        examples: [
            Example::of(&[ASK, S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1'")]),
            Example::of(&[ASK, S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00")]),
        ],
    }
    /// Clients keep the last one, and show what nobody meant.
    KEY_002 = "GS2-KEY-002" Note "key is given twice" {
        cite: gamedig("protocols/gamespy2.js"),
        examples: [Example::of(&[ASK, S("00 'CORY' 'hostname' 00 'Lab' 00 'hostname' 00 'Two' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00")])],
    }
    /// Name, players and maximum: every client shows them.
    KEY_003 = "GS2-KEY-003" Warning "keys lack hostname, numplayers or maxplayers" {
        cite: gamedig("protocols/gamespy2.js"),
        examples: [Example::of(&[ASK, S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 00")])],
    }
    /// It has a count, names with an empty one behind them, and for each of so many rows a value for each name.
    TAB_001 = "GS2-TAB-001" Error "table of players or teams is cut" {
        cite: qr2_sdk("qr2.c, qr_build_partial_query_reply"),
        examples: [
            Example::of(&[PLAYERS_ONLY, S("00 'CORY' 0002 'player_' 00 'score_' 00 00 'Ann' 00 '5' 00")]),
            Example::of(&[PLAYERS_ONLY, S("00 'CORY' 0001 'player_' 00 'score_'")]),
        ],
    }
    /// Names registered with the library do; clients cut the endings off.
    TAB_002 = "GS2-TAB-002" Note "name of a field does not end in _ or _t" {
        cite: qr2_sdk("qr2.h, qr2_register_key"),
        examples: [Example::of(&[PLAYERS_ONLY, S("00 'CORY' 0001 'name' 00 00 'Ann' 00")])],
    }
    /// Nobody reads them. A zero too many before the players shifts all that follows it.
    TAB_003 = "GS2-TAB-003" Warning "bytes follow the last section" {
        cite: qr2_sdk("qr2.c, qr_build_partial_query_reply"),
        examples: [
            Example::of(&[ASK, S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 'zz'")]),
            Example::of(&[
                C("fefd00 'CORY' ffffff"),
                S("00 'CORY' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00 \
                   0001 'player_' 00 'score_' 00 00 'Ann' 00 '5' 00 0001 'team_t' 00 00 'Red' 00 00"),
            ]),
        ],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request with its id is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "GS2-TXN-001" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        examples: [
            Example::of(&[ASK, OK, S("00 'XXXX' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00")]),
            Example::of(&[ASK, OK, S("00 'CORY' 'hostname' 00 'Two' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00")]),
        ],
    }
    /// The answer window is two seconds. Servers drop what they cannot read.
    TXN_002: UNANSWERED = "GS2-TXN-002" { cite: gamedig("protocols/core.js, socketTimeout"), examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "GS2-TXN-003" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// A byte-identical answer: UDP duplicated it.
    TXN_004: COPY = "GS2-TXN-004" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// Ten bytes with a forged source address bring a victim up to 140 times as much: the protocol has no challenge.
    SEC_001 = "GS2-SEC-001" Note "answer is more than ten times its request" {
        cite: qr2_sdk("qr2.c, qr_process_query"),
        per_server: true,
        ratio: true,
        strict: Warning,
        examples: [Example::of(&[ASK, S("00 'CORY' 'hostname' 00 4c*91 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00")])],
    }
}

static ASK_ENDS: Ends = Ends::new(&REQ_001, &TAB_003, &SURPLUS);
static TABLE_ENDS: Ends = Ends::new(&TAB_001, &TAB_003, &SURPLUS);
static FULL_ENDS: Ends = Ends::new(&RSP_001, &TAB_003, &SURPLUS);

const ASKS: Form = Form::of(b"\xfe\xfd\x00");
/// Minimum length of an answer with a list: type, request id, a key of three letters and two zeros.
const LEAST_LIST: usize = 10;

messages! {
    QUERY_REQUEST = Message::request("query_request", 0, &[
        ASKS.length(REQUEST, REQUEST).when(selects_sections).level(Level::High),
        ASKS.length(REQUEST, REQUEST).level(Level::Low),
        ASKS.length(3, REQUEST).known(),
    ]).keyed(ASKED_ID).remembers(asked);
    QUERY_RESPONSE = Message::response("query_response", 0, &[
        Form::of(b"\x00").length(LEAST_LIST, usize::MAX).when(is_list).level(Level::Low),
        Form::of(b"\x00").length(LEAST_LIST, usize::MAX).when(is_list_before_tables).level(Level::Low),
        Form::of(b"\x00")
            .when(|p| table_name(p).is_some() || begins_with_key(p) && p.ends_with(&[0]))
            .known(),
        Form::of(b"\x00").length(5, usize::MAX).when(is_no_gamespy3).asked(),
        Form::of(b"\x00").when(|p| is_no_gamespy3(p) && is_legible(p) && has_word(p)).awaited(),
    ]).keyed(ANSWERED_ID).remembers(not_asked).chosen();
    UNKNOWN = Message::named("unknown");
}

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    other_key: Some(&TXN_001),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    larger: Some((10, &SEC_001)),
    key_at: Some(Span { start: 1, end: 5 }),
    ..StepRules::new(&TXN_002)
};

/// GameSpy's query 2.
#[derive(Debug)]
pub struct Gamespy2;

impl Protocol for Gamespy2 {
    type Memory = ();

    const INFO: Info = Info {
        known_as: &[("halo", 0)],
        offsets: &[1],
        ports: &[2302, 23000],
        messages: MESSAGES,
        steps: &[StepInfo {
            reuses_keys: true,
            retransmits: true,
            excludes: true,
            single: true,
            ..StepInfo::keyed("query", 8, ANSWERED)
        }],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Request, &[&REQ_002], &[&TXN_002]),
            (Relation::Instead, &[&TXN_001], &[&TXN_002]),
        ],
        replies: REPLIES,
        samples: &[Example::of(&[ASK, OK, TABLES, TWO])],
        ..Info::of("gamespy2", "GameSpy query 2", QR2_SDK, &ASK_ENDS)
    };

    /// All three sections in one request; with `all` also players and teams again, which may not have fitted.
    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let sections: &[u8] = match (ask.answered, ask.all) {
            (0, _) => &[0xff; 3],
            (1, true) => &[0, 0xff, 0xff],
            _ => return None,
        };
        Some([&[0xfe, 0xfd, 0][..], &(ask.random as u32).to_be_bytes(), sections].concat())
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(p, wire_len, known).or_else(|| unknown(&Self::INFO, p, known))
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message >= UNKNOWN {
            return c.ignored(&PAYLOAD);
        }
        if cx.message == QUERY_REQUEST {
            c.field(&PREFIX, bytes(2))?;
        }
        c.field(&MESSAGE_TYPE, byte)?;
        c.field(&REQUEST_ID, be_u32)?;
        if cx.message == QUERY_RESPONSE {
            return response(c, cx.asked);
        }
        let keys = [&SERVER_KEYS, &PLAYER_KEYS, &TEAM_KEYS];
        let mut any_requested = false;
        for field in keys {
            let key = c.field(field, byte)?;
            any_requested |= key != 0;
            c.compare(
                &REQ_003,
                || [0, 0xff].contains(&key),
                || Compared::new(ComparedValue::byte(key), "0x00 or 0xff"),
            );
        }
        c.about(None);
        c.compare_whole(
            &REQ_002,
            || any_requested,
            || Compared::new(ComparedValue::Hex(0, 6), "0xff in one of them"),
        );
        Ok(())
    }
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    QUERY_REQUEST,
    &[
        Slot::Hex("00"),
        Slot::Asked(3, 7),
        Slot::If(
            selects::<7>,
            &[
                Slot::Hex("'hostname' 00"),
                Slot::Name(answering::zero),
                Slot::Hex("'gametype' 00"),
                Slot::Game(answering::zero),
                Slot::Hex("'gamever' 00"),
                Slot::Version(answering::zero),
                Slot::Hex("'mapname' 00"),
                Slot::Map(answering::zero),
                Slot::Hex("'hostport' 00"),
                Slot::Port(answering::decimal_z),
                Slot::Hex("'numplayers' 00"),
                Slot::Players(answering::decimal_z),
                Slot::Hex("'maxplayers' 00"),
                Slot::MaxPlayers(answering::decimal_z),
                Slot::Hex("00"),
            ],
        ),
        Slot::If(
            selects::<8>,
            &[
                Slot::Players(answering::be16),
                Slot::Hex("'player_' 00 'score_' 00 00"),
                Slot::Each(&[Slot::Player(answering::zero), Slot::Index(answering::decimal_z)]),
            ],
        ),
        Slot::If(selects::<9>, &[Slot::Hex("0001 'team_t' 00 00 'Red' 00")]),
    ],
)];

/// Whether the byte at this position of a request selects its section.
fn selects<const AT: usize>(p: &[u8]) -> bool {
    p.get(AT) == Some(&0xff)
}

// --- Recognising

/// The three key bytes of a request.
fn selector(p: &[u8]) -> Option<[u8; 3]> {
    p.get(7..)?.try_into().ok()
}
fn selects_sections(p: &[u8]) -> bool {
    selector(p).is_some_and(|keys| keys.iter().all(|key| [0, 0xff].contains(key)))
}
/// Bit that says that the requested sections are known. The bits below it tell which of them are requested.
const KNOWN: u32 = 8;
const LIST: u32 = 1;
const PLAYER_LIST: u32 = 2;
/// Bits of the first two sections, set if these are known not to be requested.
const NO_LIST: u32 = LIST << 28;
const NO_PLAYERS: u32 = PLAYER_LIST << 28;
fn asked(p: &[u8]) -> u32 {
    let sections = selector(p).filter(|_| selects_sections(p));
    let other = selector(p).map_or(0, |keys| u32::from_be_bytes([0, keys[0], keys[1], keys[2]]) << 4);
    sections.map_or(other, |keys| {
        let requested = (0..3).zip(keys).fold(0, |bits, (n, key)| bits | u32::from(key & 1) << n);
        KNOWN | requested | (!requested & (LIST | PLAYER_LIST)) << 28
    })
}
/// What the request of an answer did not ask for. Clients send all their requests with one id, so only the first section of
/// an answer shows which request it belongs to.
fn not_asked(p: &[u8]) -> u32 {
    match table_name(p) {
        Some(name) if name.ends_with(b"_t") => LIST | PLAYER_LIST,
        Some(_) => LIST | NO_PLAYERS,
        None if begins_with_key(p) => NO_LIST,
        None => 0,
    }
}
/// The name of the first field, if the answer begins with a table: it follows a count, and ends like the fields of players
/// or teams.
fn table_name(p: &[u8]) -> Option<&[u8]> {
    let name = p.get(7..)?.split(|b| *b == 0).next()?;
    let is_field = name.first()?.is_ascii_alphabetic() && (name.ends_with(b"_") || name.ends_with(b"_t"));
    (p.get(5) == Some(&0) && p.ends_with(&[0]) && is_field).then_some(name)
}
/// Whether an answer begins with keys and values, and a table follows them.
fn is_list_before_tables(p: &[u8]) -> bool {
    if !begins_with_key(p) {
        return false;
    }
    let mut at = 5_usize;
    let mut words = p.get(5..).unwrap_or_default().split(|b| *b == 0).map(<[u8]>::len);
    // Each word has a zero; a pair has two words, the end of the list is one empty word.
    while let Some(key) = words.next().filter(|key| *key > 0) {
        let value = words.next().unwrap_or_default();
        at = at.saturating_add(key).saturating_add(value).saturating_add(2);
    }
    p.get(at.saturating_sub(4)..).is_some_and(|tables| table_name(tables).is_some())
}
/// Whether this is no answer of query 3, which begins with the number of a part.
fn is_no_gamespy3(p: &[u8]) -> bool {
    !p.get(5..).is_some_and(|rest| rest.starts_with(b"splitnum\0"))
}

/// Whether a text of three letters or more ends with a zero, as keys and the names of fields do.
fn has_word(p: &[u8]) -> bool {
    let mut words = p.get(5..).unwrap_or_default().split(|b| *b == 0);
    words.next_back();
    words.any(|word| word.len() > 2)
}

// --- Decoding

const KEYS_AND_VALUES: Keys = Keys {
    list: &KEYS,
    pair: &PAIR,
    key: &KEY,
    value: &VALUE,
    duplicate: &KEY_002,
    not_a_number: None,
    unterminated: &KEY_001,
    incomplete: Some(&KEY_003),
    cut_key: None,
    zero: None,
};

/// The fields of a table.
struct Table {
    group: &'static Field,
    count: &'static Field,
    fields: &'static Field,
    field: &'static Field,
    name: &'static Field,
    records: &'static Field,
    record: &'static Field,
    value: &'static Field,
    /// The common suffix of its field names.
    ending: &'static [u8],
}

const PLAYER_TABLE: Table = Table {
    group: &PLAYERS,
    count: &PLAYER_COUNT,
    fields: &PLAYER_FIELDS,
    field: &PLAYER_FIELD,
    name: &PLAYER_FIELD_NAME,
    records: &PLAYER_RECORDS,
    record: &PLAYER_RECORD,
    value: &PLAYER_VALUE,
    ending: b"_",
};
const TEAM_TABLE: Table = Table {
    group: &TEAMS,
    count: &TEAM_COUNT,
    fields: &TEAM_FIELDS,
    field: &TEAM_FIELD,
    name: &TEAM_FIELD_NAME,
    records: &TEAM_RECORDS,
    record: &TEAM_RECORD,
    value: &TEAM_VALUE,
    ending: b"_t",
};

fn response<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: Option<u32>) -> Result<(), Fault> {
    let wire_len = c.wire_len();
    let full = wire_len >= FULL;
    c.ends(if full { &FULL_ENDS } else { &TABLE_ENDS });
    let out = match asked.filter(|asked| asked & Context::UNPAIRED == 0) {
        None | Some(0) => guess_sections(c, full),
        Some(asked) if asked & KNOWN == 0 => c.ignored(&BODY),
        Some(asked) => sections(c, asked, full),
    };
    const MOST: i64 = FULL as i64 - 1;
    c.about(None);
    c.compare_whole(
        &RSP_001,
        || !full || out.is_err(),
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtMost(MOST)),
    );
    out
}

fn sections<S: FieldSink>(c: &mut Cursor<'_, '_, S>, asked: u32, full: bool) -> Result<(), Fault> {
    let strict = !full && !c.is_cut();
    if asked & 1 != 0 && !keys(c, &KEYS_AND_VALUES, strict)? {
        return Ok(());
    }
    for (bit, table) in [(2, &PLAYER_TABLE), (4, &TEAM_TABLE)] {
        if asked & bit != 0 {
            c.group(table.group, |c| rows(c, table))?;
        }
    }
    Ok(())
}

/// Decodes an answer whose request is unknown: keys, unless it begins with a zero, then all tables that there are.
fn guess_sections<S: FieldSink>(c: &mut Cursor<'_, '_, S>, full: bool) -> Result<(), Fault> {
    if c.rest().first().is_some_and(|first| *first != 0) {
        keys(c, &KEYS_AND_VALUES, false)?;
    }
    for asked in [2, 6] {
        let mut fit = crate::decode::Fit::default();
        if c.trial(&mut fit, |c| sections(c, asked, full)) && !fit.misfit {
            return sections(c, asked, full);
        }
    }
    c.ignored(&BODY)
}

/// Reads the content of a table.
fn rows<S: FieldSink>(c: &mut Cursor<'_, '_, S>, table: &Table) -> Result<(), Fault> {
    let count = c.field(table.count, be_u16)?;
    let mut width = 0u16;
    let has_fields = !c.skip(b"\0");
    c.groups([table.fields, table.field], has_fields, |c| {
        let name = terminated_text(c, table.name)?;
        let whole = !c.may_continue();
        c.compare(
            &TAB_002,
            || !whole || name.0.ends_with(table.ending),
            || Compared::new(name, "a name with the ending of its table"),
        );
        width = width.saturating_add(1);
        Ok(!c.skip(b"\0"))
    })?;
    let count = if width == 0 { 0 } else { count };
    let value = |c: &mut Cursor<'_, '_, S>| terminated_text(c, table.value).map(drop);
    let record = |c: &mut Cursor<'_, '_, S>| c.list(table.record, |_, done| done < width, value).map(drop);
    c.list(table.records, |_, done| done < count, record).map(drop)
}

/// Reads a text with its terminating zero, which must be present.
fn terminated_text<'a, S: FieldSink>(
    c: &mut Cursor<'a, '_, S>,
    field: &'static Field,
) -> Result<Str<'a>, Fault> {
    if c.rest().is_empty() {
        c.about(Some(field));
        return Err(c.ended_early());
    }
    c.terminated(field, b"\0")
}
