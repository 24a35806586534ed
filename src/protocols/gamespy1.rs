//! GameSpy's first query: Unreal Tournament, Battlefield 1942, Medal of Honor and others. Text.
//!
//! ```text
//! request    { '\' command '\' [ argument ] }
//! response   { '\' key '\' value } │ '\queryid\' N '.' M │ '\final\' in the last part
//! ```
//!
//! Oddities: a backslash cannot be escaped and shifts everything after it. `final` comes before or after `queryid`, or in a
//! part of its own. The query id counts the server's answers, so only their order shows which request an answer belongs to.

use super::gamespy::KeysRead;
use super::other::unknown;
use super::prelude::*;
use super::sources::{gamedig, qr2_sdk};
use crate::contract::Role;
use crate::contract::answering::{self, Reply, Slot};

const SPEC: &str = "https://wiki.beyondunreal.com/Legacy:UT_Server_Query";
const UT: Cite = Cite { doc: "Unreal Wiki, UT server query", section: "UdpServerQuery", url: SPEC };
const SDK: Cite = qr2_sdk("qr2.c, qr_process_old_query");
const CLIENT: Cite = gamedig("protocols/gamespy1.js");
const TIMEOUT: Cite = gamedig("protocols/core.js, socketTimeout");

const ASK: rule::Step = C(r"'\status\'");
const OK: rule::Step = S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1\final\'");
const PART: rule::Step = S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1'");

/// Maximum length of a request that is recognised by its bytes alone.
const LONGEST_REQUEST: usize = 64;
/// The commands that servers answer.
const COMMANDS: [&[u8]; 12] = [
    b"basic",
    b"info",
    b"rules",
    b"players",
    b"status",
    b"echo",
    b"secure",
    b"teams",
    b"packets",
    b"level_property",
    b"game_property",
    b"player_property",
];
const BACKSLASH: &[u8] = b"\\";
const ID: &[u8] = b"\\queryid\\";
const FINAL_MARK: &[u8] = b"\\final\\";

fields! {
    /// What is asked for.
    QUERIES = "queries": List;
    /// A question.
    QUERY = "queries[]": Group;
    /// What it asks for.
    COMMAND = "queries[].command": Text public;
    /// Text behind it, which most servers ignore.
    ARGUMENT = "queries[].argument": Text;
    /// Keys and values, in the order of the wire.
    KEYS = "keys": List;
    /// A pair.
    PAIR = "keys[]": Group;
    /// Its key; those of players end in `_` and a number.
    KEY = "keys[].key": Text public;
    /// Its value.
    VALUE = "keys[].value": Text;
    /// Number of the answer, by the server's count.
    QUERY_ID = "query_id": Dynamic volatile;
    /// Number of the part, from 1.
    PART_NUMBER = "part": Dynamic;
    /// No part has a higher number.
    FINAL = "final": Bool;
    /// A message of another kind.
    PAYLOAD = "payload": Bytes;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Servers do not take it for a query, and drop it.
    REQ_001 = "GS1-REQ-001" Error "request does not begin with a backslash" {
        cite: UT,
        examples: [Example::of(&[ASK, OK, Wait(500), C(r"'status\'")])],
    }
    /// Unreal Tournament reads commands and arguments in pairs; GameSpy's library answers whatever begins with a backslash.
    REQ_002 = "GS1-REQ-002" Warning "no backslash follows the command" {
        cite: UT,
        examples: [Example::of(&[ASK, OK, Wait(500), C(r"'\status'")])],
    }
    /// Servers ignore it, or their answer has nothing but its query id.
    REQ_003 = "GS1-REQ-003" Note "command is not a known one" {
        cite: UT,
        examples: [Example::of(&[ASK, OK, Wait(500), C(r"'\bogus\'")])],
    }
    /// Answers are pairs. A backslash inside a value has the same effect.
    RSP_001 = "GS1-RSP-001" Error "last key has no value" {
        cite: UT,
        examples: [
            Example::of(&[ASK, S(r"'\hostname\La\b\numplayers\1\queryid\7.1'")]),
            Example::of(&[ASK, S(r"'\gamename\ut\hostname\Lab\numplayers\queryid\7.1'")]),
        ],
    }
    /// Without it the parts of an answer have no order: some clients count them instead, others refuse the answer.
    RSP_002 = "GS1-RSP-002" Warning "query id is missing, or is not two numbers" {
        cite: CLIENT,
        examples: [
            Example::of(&[ASK, S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\final\'")]),
            Example::of(&[ASK, S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\queryid\7\final\'")]),
        ],
    }
    /// What commands share comes twice where both are asked for. Clients keep the last one.
    RSP_003 = "GS1-RSP-003" Note "key is given twice" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\gamename\ut\queryid\7.1\final\'")])],
    }
    /// Players, maximum and port are numbers to every client.
    RSP_004 = "GS1-RSP-004" Warning "value is not a decimal integer" {
        cite: CLIENT,
        examples: [Example::of(&[ASK, S(r"'\hostname\Lab\numplayers\one\maxplayers\8\queryid\7.1\final\'")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// No request of this client is outstanding: it was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "GS1-TXN-001" { cite: UT, examples: [Example::of(&[OK])] }
    /// The answer window is two seconds. Some servers answer an address only now and then.
    TXN_002: UNANSWERED = "GS1-TXN-002" { cite: TIMEOUT, examples: [Example::of(&[ASK])] }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "GS1-TXN-003" {
        cite: TIMEOUT,
        examples: [Example::of(&[ASK, Wait(2400), OK])],
    }
    /// A byte-identical answer or part: UDP duplicated it.
    TXN_004: COPY = "GS1-TXN-004" { cite: UT, examples: [Example::of(&[ASK, OK, OK])] }
    /// A number below the highest one never came. Clients wait for it, and give up.
    TXN_005 = "GS1-TXN-005" Warning "parts of the answer are missing" {
        cite: CLIENT,
        side: Path,
        examples: [Example::of(&[ASK, PART, S(r"'\player_0\Ann\queryid\7.3\final\'")])],
    }
    /// Some commands within a request keep it away, and the documents warn of that. Some clients give up without it.
    TXN_006 = "GS1-TXN-006" Note "no part says that it is the last" { cite: UT, examples: [Example::of(&[ASK, PART])] }
    /// Eight bytes with a forged source address bring a victim hundreds of times as much: there is no challenge.
    SEC_001 = "GS1-SEC-001" Note "answer is more than ten times its request" {
        cite: SDK,
        per_server: true,
        ratio: true,
        strict: Warning,
        examples: [Example::of(&[ASK, S(r"'\gamename\ut\hostname\Lab\numplayers\1\maxplayers\8\AdminName\' 41*60 '\queryid\7.1\final\'")])],
    }
}

static ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);

const TEXT: Form = Form::of(b"\\");

messages! {
    REQUEST = Message::request("request", 0, &[
        TEXT.length(3, LONGEST_REQUEST).when(asks).level(Level::Medium),
        TEXT.when(|p| command(p) == Some(false) || asks(p)).level(Level::Low),
        TEXT.when(begins_plainly).known(),
        Form::of(b"").when(|p| command(p).is_some()).known(),
    ]);
    RESPONSE = Message::response("response", 0, &[
        TEXT.when(|p| query_id(p).is_some()).level(Level::High),
        TEXT.when(is_final).level(Level::Medium),
        TEXT.when(begins_plainly).known(),
    ]).keyed(query_id).in_parts(part);
    UNKNOWN = Message::named("unknown");
}

const ANSWERED: StepRules = StepRules {
    unsolicited: Some(&TXN_001),
    late: Some(&TXN_003),
    copy: Some(&TXN_004),
    incomplete: Some(&TXN_005),
    unended: Some(&TXN_006),
    larger: Some((10, &SEC_001)),
    ..StepRules::new(&TXN_002)
};

/// GameSpy's first query.
#[derive(Debug)]
pub struct Gamespy1;

impl Protocol for Gamespy1 {
    type Memory = ();

    const INFO: Info = Info {
        known_as: &[("ut99", 0), ("unreal", 0)],
        offsets: &[1, 10],
        ports: &[7778, 22000, 23000, 12300],
        messages: MESSAGES,
        steps: &[StepInfo::ordered("query", ANSWERED)],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&RSP_001], &[&RSP_002]),
            (Relation::Request, &[&REQ_002, &REQ_003], &[&TXN_002]),
        ],
        replies: REPLIES,
        samples: &[
            Example::of(&[ASK, OK]),
            Example::of(&[
                C(r"'\level_property\timedilation\'"),
                S(r"'\timedilation\1.0\queryid\7.1\final\'"),
            ]),
            Example::of(&[C(r"'\info\\rules\'"), S(r"'\hostname\Lab\timelimit\15\final\\queryid\7.1'")]),
        ],
        ..Info::of("gamespy1", "GameSpy query 1", SPEC, &ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| br"\status\".to_vec())
    }

    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        if master_word(p).is_some() {
            return None;
        }
        recognise::<Self>(p, wire_len).map(|g| unnumbered(g, p, wire_len))
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        // A client, too, may ask a server to prove itself.
        let is_claimed = match master_word(p) {
            Some(b"secure") => known.conversation && known.direction == Direction::C2s,
            Some(b"validate") => known.open && known.direction == Direction::S2c,
            Some(_) => false,
            None => true,
        };
        if !is_claimed {
            return None;
        }
        let read = recognise_known::<Self>(p, wire_len, known).map(|g| unnumbered(g, p, wire_len));
        read.or_else(|| unknown(&Self::INFO, p, known))
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        match cx.message {
            REQUEST => {
                let first = c.rest().first().copied();
                let has_queries = !c.rest().is_empty();
                c.groups([&QUERIES, &QUERY], has_queries, query)?;
                c.skip(BACKSLASH);
                let found = first.map_or(ComparedValue::Bytes(0), ComparedValue::byte);
                let mark = b'\\';
                c.compare_whole(
                    &REQ_001,
                    || first == Some(mark),
                    || Compared::new(found, ComparedValue::byte(mark)),
                );
                Ok(())
            }
            RESPONSE => response(c),
            _ => c.ignored(&PAYLOAD),
        }
    }
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    REQUEST,
    &[
        Slot::Hex(r"'\gamename\'"),
        Slot::Game(answering::bare),
        Slot::Hex(r"'\gamever\'"),
        Slot::Version(answering::bare),
        Slot::Hex(r"'\hostname\'"),
        Slot::Name(answering::bare),
        Slot::Hex(r"'\hostport\'"),
        Slot::Port(answering::decimal),
        Slot::Hex(r"'\mapname\'"),
        Slot::Map(answering::bare),
        Slot::Hex(r"'\numplayers\'"),
        Slot::Players(answering::decimal),
        Slot::Hex(r"'\maxplayers\'"),
        Slot::MaxPlayers(answering::decimal),
        Slot::Each(&[
            Slot::Hex(r"'\player_'"),
            Slot::Index(answering::decimal),
            Slot::Hex(r"'\'"),
            Slot::Player(answering::bare),
            Slot::Hex(r"'\frags_'"),
            Slot::Index(answering::decimal),
            Slot::Hex(r"'\'"),
            Slot::Index(answering::decimal),
        ]),
        Slot::Hex(r"'\queryid\'"),
        Slot::Serial(|n| answering::decimal(n % 1_000 + 1)),
        Slot::Hex(r"'.1\final\'"),
    ],
)];

// --- Recognising

/// The text after the last occurrence of a mark, up to a backslash.
fn last<'a>(p: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let is_mark = |at: &usize| p.get(*at..).is_some_and(|rest| rest.starts_with(mark));
    let at = memchr::memrchr_iter(b'\\', p).find(is_mark)?;
    p.get(at.saturating_add(mark.len())..)?.split(|b| *b == b'\\').next()
}
/// Both numbers of the query id; the second one is optional.
fn numbers(id: &[u8]) -> Option<(u32, Option<u32>)> {
    let mut parts = id.splitn(2, |b| *b == b'.').map(|part| Str(part).count());
    Some((parts.next()??, parts.next().flatten()))
}
fn is_final(p: &[u8]) -> bool {
    last(p, FINAL_MARK).is_some()
}
fn query_id(p: &[u8]) -> Option<u64> {
    last(p, ID).and_then(numbers).map(|(id, _)| id.into())
}
fn part(p: &[u8]) -> Option<Part> {
    let (_, part) = last(p, ID).and_then(numbers)?;
    let total = u8::try_from(part?).ok()?;
    Some(Part {
        number: total.checked_sub(1)?,
        total: is_final(p).then_some(total),
        makes: None,
        share: None,
    })
}
/// The probe of an answer without a part number. It belongs to the answer in progress, which only `final` ends, unless it
/// begins like the answers to `status` and `basic`.
fn unnumbered(g: Probe, p: &[u8], wire_len: usize) -> Probe {
    // The capture may have cut a number at the end, and the mark of the last part after it.
    let may_end = p.len() < wire_len && !is_final(p);
    if !matches!(g.role, Role::Response | Role::ResponsePart) || g.part.is_some() && !may_end {
        return g;
    }
    let role = if is_final(p) { g.role } else { Role::ResponsePart };
    Probe { begins: p.starts_with(br"\gamename\"), role, part: None, ..g }
}
/// The first word, if it is one that servers and master servers exchange.
fn master_word(p: &[u8]) -> Option<&[u8]> {
    let word = p.strip_prefix(BACKSLASH)?.split(|b| *b == b'\\').next()?;
    [&b"heartbeat"[..], b"secure", b"validate"].contains(&word).then_some(word)
}
/// Whether a backslash follows the first command; `None` if that command is unknown.
fn command(p: &[u8]) -> Option<bool> {
    let text = p.strip_prefix(b"\\").unwrap_or(p);
    let command = text.split(|b| *b == b'\\').next()?;
    COMMANDS.contains(&command).then_some(text.len() > command.len())
}
/// Whether the first word is text. Other traffic of a server may begin with a backslash, too.
fn begins_plainly(p: &[u8]) -> bool {
    p.split(|b| *b == b'\\').nth(1).is_some_and(|word| Str(word).is_plain())
}
fn asks(p: &[u8]) -> bool {
    let answers = query_id(p).is_some() || is_final(p);
    command(p) == Some(true) && Str(p).is_plain() && !answers
}

// --- Decoding

/// Reads a command and its argument; returns whether another command follows, which a backslash at the end does not begin.
fn query<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<bool, Fault> {
    let command = c.text(&COMMAND, after_mark(BACKSLASH, BACKSLASH))?;
    let whole = !c.rest().is_empty() || c.is_cut();
    c.check(&REQ_002, || whole);
    c.compare(
        &REQ_003,
        || COMMANDS.contains(&command.0),
        || Compared::new(command, "a query of the protocol"),
    );
    if whole {
        c.text(&ARGUMENT, after_mark(BACKSLASH, BACKSLASH))?;
        return Ok(!matches!(c.rest(), [] | BACKSLASH));
    }
    c.derived(&ARGUMENT, Value::Text(b""));
    Ok(false)
}

fn response<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    let (mut keys_read, mut marks, cut) = (KeysRead::default(), Marks::default(), c.is_cut());
    let padding = c.ahead().iter().rev().take_while(|b| **b == b'\\').count();
    marks.read(c, true)?;
    let has_pairs = is_more(c, padding) || c.offset() == 0 && !c.rest().is_empty();
    c.groups([&KEYS, &PAIR], has_pairs, |c| {
        let key = c.text(&KEY, after_mark(BACKSLASH, BACKSLASH))?;
        keys_read.add_key(c, key, &RSP_003);
        let paired = !c.rest().is_empty();
        if paired {
            let value = c.text(&VALUE, after_mark(BACKSLASH, BACKSLASH))?;
            keys_read.add_value(c, key, value, Some(&RSP_004));
        }
        c.check(&RSP_001, || paired || cut);
        let more = is_more(c, padding);
        if more {
            marks.read(c, false)?;
        }
        Ok(more)
    })?;
    marks.read(c, true)?;
    marks.report_rest(c);
    c.skip_all(b"\\");
    c.check_whole(&RSP_002, || cut || matches!(marks.id, Some((_, Some(_)))));
    Ok(())
}

/// Whether another pair follows, and not just marks, or an empty pair at the end: the `padding` backslashes that end the
/// message are counted once, because looking for anything else before each pair would take the square of its length.
fn is_more<S: FieldSink>(c: &Cursor<'_, '_, S>, padding: usize) -> bool {
    let mut rest = c.rest();
    while let Some((mark, value)) = mark(rest) {
        rest = rest.get(mark.len().saturating_add(value.len())..).unwrap_or_default();
    }
    rest.len() > padding
}

/// The mark at this position, and its value.
fn mark(rest: &[u8]) -> Option<(&'static [u8], &[u8])> {
    let mark = [ID, FINAL_MARK].into_iter().find(|mark| rest.starts_with(mark))?;
    Some((mark, rest.get(mark.len()..)?.split(|b| *b == b'\\').next()?))
}

/// The query id and the mark of the last part, and whether they have been reported.
#[derive(Debug, Default)]
struct Marks {
    id: Option<(u32, Option<u32>)>,
    last: bool,
    id_reported: bool,
    last_reported: bool,
}

impl Marks {
    /// Reads the marks at this position. If `shown`, they become fields; otherwise pairs follow, and the marks belong to the
    /// pair before them.
    fn read<S: FieldSink>(&mut self, c: &mut Cursor<'_, '_, S>, shown: bool) -> Result<(), Fault> {
        while let Some((mark, value)) = mark(c.rest()) {
            let length = mark.len().saturating_add(value.len());
            let (last, numbers) = (mark == FINAL_MARK, numbers(value));
            let reported = if last { &mut self.last_reported } else { &mut self.id_reported };
            if !shown || std::mem::replace(reported, true) {
                c.skip(c.rest().get(..length).unwrap_or_default());
            } else if last {
                c.field_as(&FINAL, text(length), |_| Value::Bool(true))?;
            } else {
                c.text(&QUERY_ID, after_mark(ID, b".\\"))?;
                if c.skip(b".") {
                    c.text(&PART_NUMBER, until(BACKSLASH))?;
                }
            }
            self.id = numbers.filter(|_| !last).or(self.id);
            self.last |= last;
        }
        Ok(())
    }

    /// Reports the values that have not been reported as fields.
    fn report_rest<S: FieldSink>(&self, c: &mut Cursor<'_, '_, S>) {
        if let Some((id, part)) = self.id.filter(|_| !self.id_reported) {
            c.derived(&QUERY_ID, Value::Uint(id));
            part.into_iter().for_each(|part| c.derived(&PART_NUMBER, Value::Uint(part)));
        }
        if !self.last_reported {
            c.derived(&FINAL, Value::Bool(self.last));
        }
    }
}
