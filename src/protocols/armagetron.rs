//! The server information of Armagetron Advanced. Words of 16 bits, big-endian throughout.
//!
//! ```text
//! datagram   descriptor u16 │ id u16 │ length u16, of the data in words │ data │ sender u16
//! request    0035 │ 0000 │ 0000 │ sender
//! answer     0033 │ 0000 │ length │ port u32 │ hostname, server_name │ players, version_min, version_max u32 │ version
//!            │ max_players u32 │ player_list, options, url, global_ids │ settings │ sender
//! u32        two words, the low one first
//! text       length u16, of its bytes with the zero at the end │ its bytes, two a word, the first one in the low half
//! ```
//!
//! Oddities: the players are one text with a line for each. Nothing in an answer belongs to its request. Messages of the game may
//! share a datagram; an answer is alone in its own.

use super::prelude::*;
use super::sources::gamedig;
use crate::contract::answering::{self, Reply, Slot};
use crate::decode::{Escapes, Facts, Skip, swapped};

const SPEC: &str = "https://gitlab.com/wireshark/wireshark";
const FRAMING: Cite = Cite { doc: "Wireshark", section: "epan/dissectors/packet-armagetronad.c", url: SPEC };
const GAMEDIG: Cite = gamedig("protocols/armagetron.js");

const ASK: rule::Step = C("0035 0000 0000 0011");
const OK: rule::Step = S("0033 0000 001d 11b6 0000 0000 0004 614c 0062 0002 0000 0000 0000 0011 0000 0006 \
         2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
         0011");

fields! {
    /// Kind of the message: 53 asks, 51 answers.
    DESCRIPTOR = "descriptor": Uint;
    /// Number of the message, 0 outside a connection.
    MESSAGE_NUMBER = "id": Uint;
    /// Length of the data in words of two bytes.
    LENGTH = "length": Uint;
    /// Port of the game.
    PORT = "port": Uint;
    /// Name of the host, by custom empty.
    HOSTNAME = "hostname": Text personal;
    /// Name of the server.
    SERVER_NAME = "server_name": Text => ServerName;
    /// Players now.
    PLAYERS = "players": Uint => Players;
    /// Lowest version of the network protocol with which one may join.
    VERSION_MIN = "version_min": Uint;
    /// Highest one.
    VERSION_MAX = "version_max": Uint;
    /// Version of the server.
    VERSION = "version": Text => Version;
    /// Players at most.
    MAX_PLAYERS = "max_players": Uint => MaxPlayers;
    /// Names of the players, each with a line feed behind it.
    PLAYER_NAMES = "player_names": Text;
    /// The same names.
    PLAYER_LIST = "player_list": List;
    /// One of them.
    PLAYER = "player_list[]": Text;
    /// What the server says of its settings.
    OPTIONS = "options": Text;
    /// Its page.
    URL = "url": Text;
    /// Authenticated names of the players, a line each.
    GLOBAL_IDS = "global_ids": Text;
    /// Further settings.
    SETTINGS = "settings": Bytes;
    /// Number of the sender in the network of the game; clients that only ask may send any.
    SENDER = "sender": Uint;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Data is as many words of two bytes as its length says. Who steps over a message by it misses the next one.
    HDR_001 = "ARM-HDR-001" Error "length is not the number of words of the message" {
        cite: FRAMING,
        examples: [
            Example::of(&[ASK, OK, Wait(1000), C("0035 0000 0003 0011")]),
            Example::of(&[ASK, OK, Wait(1000), ASK, S("0033 0000 0009 11b6 0000 0000 0004 614c 0062 0002 0000 0000 0000 0011 0000 0006 \
            2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
            0011")]),
        ],
    }
    /// Clients read beyond the end of the message, and show what nobody sent.
    RSP_001 = "ARM-RSP-001" Error "answer ends inside a field" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, OK, Wait(1000), ASK, S("0033 0000 0008 11b6 0000 0000 0004 614c 0062 0002 0000 0011")])],
    }
    /// The game counts the zero at the end, and reads the text up to it. Clients cut it off by the length.
    STR_001 = "ARM-STR-001" Note "text does not end with a zero" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("0033 0000 001d 11b6 0000 0000 0003 614c 0062 0002 0000 0000 0000 0011 0000 0006 \
            2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
            0011")])],
    }
    /// Spectators may be missing, and clients show either number.
    INF_001 = "ARM-INF-001" Note "as many players are not listed as the answer says" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("0033 0000 001d 11b6 0000 0000 0004 614c 0062 0005 0000 0000 0000 0011 0000 0006 \
            2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
            0011")])],
    }
    /// The numbers are those of players who are there, and of places for them.
    INF_002 = "ARM-INF-002" Note "more players than places" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("0033 0000 001d 11b6 0000 0000 0004 614c 0062 0002 0000 0000 0000 0011 0000 0006 \
            2e30 2e32 0039 0001 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
            0011")])],
    }
    /// A client joins if its version is between the two. Here there is none.
    INF_003 = "ARM-INF-003" Warning "lowest version is above the highest" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, S("0033 0000 001d 11b6 0000 0000 0004 614c 0062 0002 0000 0012 0000 0011 0000 0006 \
            2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0000 0000 0000 0004 0000 0000 \
            0011")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// Servers only answer. The request was sent before the capture, or somebody answers what was never asked.
    TXN_001: UNSOLICITED = "ARM-TXN-001" { cite: GAMEDIG, examples: [Example::of(&[OK])] }
    /// The answer window is two seconds. Silence is the only way in which a server refuses.
    TXN_002: UNANSWERED = "ARM-TXN-002" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[ASK])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "ARM-TXN-003" {
        cite: gamedig("protocols/core.js, socketTimeout"),
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// The same answer again, and no request is open: UDP duplicated it.
    TXN_004: COPY = "ARM-TXN-004" { cite: GAMEDIG, examples: [Example::of(&[ASK, OK, OK])] }
    /// Eight bytes with a forged source address bring a victim 148 from an empty server: nothing proves the client's address.
    SEC_001 = "ARM-SEC-001" Note "answer is more than ten times its request" {
        cite: GAMEDIG,
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, S("0033 0000 0026 11b6 0000 0000 0004 614c 0062 0002 0000 0000 0000 0011 0000 0006 \
            2e30 2e32 0039 0020 0000 0007 0a41 6f42 0a62 0000 0011 6f4e 6874 6e69 2067 7073 \
            6365 6169 2e6c 0000 0000 0000 0004 0000 0000 0011")])],
    }
}

static REQUEST_ENDS: Ends = Ends::new(&HDR_001, &HDR_001, &SURPLUS);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);

/// Bytes of descriptor, id and length, and of the sender behind the data.
const HEADER_LEN: usize = 6;
const SENDER_LEN: usize = 2;
/// Bytes of a request, and of a damaged one.
const REQUEST_LEN: usize = 8;
const DAMAGED_REQUEST: (usize, usize) = (4, 16);
/// Bytes of the shortest answer: numbers, empty texts and no settings.
const LEAST_ANSWER: usize = 42;

messages! {
    INFO_REQUEST = Message::request("info_request", 0, &[
        Form::of(b"\0\x35\0\0\0\0").length(REQUEST_LEN, REQUEST_LEN).level(Level::Medium),
        Form::of(b"\0\x35\0\0").length(DAMAGED_REQUEST.0, DAMAGED_REQUEST.1).known(),
    ]);
    INFO_RESPONSE = Message::response("info_response", 0, &[
        Form::of(b"\0\x33\0\0").length(LEAST_ANSWER, usize::MAX).when(is_whole).level(Level::High),
        Form::of(b"\0\x33\0\0").awaited(),
    ]);
    UNKNOWN = Message::named("unknown");
}

/// Armagetron's server information.
#[derive(Debug)]
pub struct Armagetron;

impl Protocol for Armagetron {
    type Memory = ();

    const INFO: Info = Info {
        known_as: &[("armagetronad", 0)],
        ports: &[4534],
        messages: MESSAGES,
        steps: &[StepInfo::ordered(
            "info",
            StepRules {
                unsolicited: Some(&TXN_001),
                late: Some(&TXN_003),
                copy: Some(&TXN_004),
                larger: Some((10, &SEC_001)),
                ..StepRules::new(&TXN_002)
            },
        )],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[
            (Relation::Same, &[&HDR_001], &[&RSP_001]),
            (Relation::Same, &[&RSP_001], &[&INF_001, &INF_002]),
            (Relation::Instead, &[&HDR_001], &[&TXN_002]),
        ],
        replies: REPLIES,
        samples: &[Example::of(&[ASK, OK])],
        ..Info::of("armagetron", "Armagetron Advanced server information", SPEC, &REQUEST_ENDS)
    };
    const COLOURS: Option<Colours> = Some(Colours::Hex);

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| b"\0\x35\0\0\0\0\0\x11".to_vec())
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        let asks = cx.message == INFO_REQUEST;
        if !asks {
            c.ends(&ANSWER_ENDS);
        }
        let data_len = c.wire_len().saturating_sub(HEADER_LEN + SENDER_LEN);
        c.field(&DESCRIPTOR, be_u16)?;
        c.field(&MESSAGE_NUMBER, be_u16)?;
        let words = c.field(&LENGTH, be_u16)?;
        let (length, actual) = (usize::from(words).saturating_mul(2), data_len);
        c.compare(&HDR_001, || length == actual, || Compared::new(words, actual / 2));
        if !asks {
            c.sized(data_len, &RSP_001, &ANSWER_ENDS, |c| {
                answer(c)?;
                c.ignored(&SETTINGS)
            })?;
        }
        c.field(&SENDER, be_u16).map(drop)
    }
}

/// Whether the length fits and the answer can be read up to its settings.
fn is_whole(p: &[u8]) -> bool {
    let data = p.len().saturating_sub(HEADER_LEN + SENDER_LEN);
    let length = read_at(p, 4, be_u16).map_or(0, |words| usize::from(words).saturating_mul(2));
    let body = p.get(HEADER_LEN..HEADER_LEN.saturating_add(data)).unwrap_or_default();
    let (mut facts, mut sink) = (Facts::default(), Skip);
    length == data && answer(&mut Cursor::new(body, 0, &ANSWER_ENDS, &mut sink, &mut facts)).is_ok()
}

/// Reads the data of an answer up to its settings.
fn answer<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.field(&PORT, low_word_first)?;
    text(c, &HOSTNAME)?;
    text(c, &SERVER_NAME)?;
    let players = c.field(&PLAYERS, low_word_first)?;
    let lowest = c.field(&VERSION_MIN, low_word_first)?;
    let highest = c.field(&VERSION_MAX, low_word_first)?;
    c.compare(
        &INF_003,
        || lowest <= highest,
        || Compared::new(highest, ComparedValue::AtLeast(lowest.into())),
    );
    text(c, &VERSION)?;
    let most = c.field(&MAX_PLAYERS, low_word_first)?;
    c.compare(&INF_002, || players <= most, || Compared::new(players, ComparedValue::AtMost(most.into())));
    let names = text(c, &PLAYER_NAMES)?;
    let listed = list(c, names);
    c.compare(&INF_001, || listed == players, || Compared::new(listed, players));
    text(c, &OPTIONS)?;
    text(c, &URL)?;
    text(c, &GLOBAL_IDS).map(drop)
}

/// A number of 32 bits, whose low word comes first.
fn low_word_first(i: &[u8]) -> Wire<'_, u32> {
    let (i, low) = be_u16(i)?;
    let (i, high) = be_u16(i)?;
    Ok((i, u32::from(high) << 16 | u32::from(low)))
}

/// A text in words, and its length with the zero at its end.
#[derive(Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
    length: u16,
}

impl<'a> Words<'a> {
    /// Its bytes, in order.
    fn text(self) -> impl Iterator<Item = u8> + Clone {
        swapped(self.bytes).take(self.length.into())
    }
    /// Its bytes from `start` to `end`, without those from a zero on.
    fn value(self, start: usize, end: usize) -> Value<'a> {
        let words = self.bytes.get(start & !1..end.next_multiple_of(2)).unwrap_or_default();
        Value::Escaped(
            words,
            Escapes::Swapped { skips_first: start & 1 == 1, skips_last: end & 1 == 1 },
            None,
        )
    }
    /// Number of its bytes before the first zero.
    fn len(self) -> usize {
        self.text().take_while(|byte| *byte != 0).count()
    }
}

fn words(i: &[u8]) -> Wire<'_, Words<'_>> {
    let (rest, length) = be_u16(i)?;
    let whole = usize::from(length).next_multiple_of(2);
    let short = nom::Err::Error(Stop::Short(u32::from(length).wrapping_add(2)));
    let (rest, bytes) = bytes(whole)(rest).map_err(|_: nom::Err<Stop>| short)?;
    Ok((rest, Words { bytes, length }))
}

/// Reads a text with its length.
fn text<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, field: &'static Field) -> Result<Words<'a>, Fault> {
    let text = c.field_as(field, words, |text| text.value(0, text.length.into()))?;
    let last = text.text().last();
    c.compare(
        &STR_001,
        || last.is_none_or(|last| last == 0),
        || Compared::new(last.map_or(ComparedValue::Nothing, ComparedValue::byte), ComparedValue::byte(0)),
    );
    Ok(text)
}

/// Reports the names in a text, and returns their number.
fn list<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, names: Words<'a>) -> u32 {
    let (length, mut listed) = (names.len(), 0u32);
    let base = c.offset().saturating_sub(names.bytes.len() as u16);
    c.derived_in(&PLAYER_LIST, Shape::List, c.last(), |c| {
        let mut start = 0;
        let feeds = names.text().take(length).enumerate().filter(|(_, byte)| *byte == b'\n');
        for end in feeds.map(|(at, _)| at).chain((length > 0).then_some(length)) {
            // Behind the last line feed there is no name.
            if start < length {
                let at = |offset: usize| base.saturating_add(offset as u16);
                let at = Span { start: at(start & !1), end: at(end.next_multiple_of(2)) };
                c.derived_at(&PLAYER, at, names.value(start, end));
                listed = listed.saturating_add(1);
            }
            start = end.saturating_add(1);
        }
    });
    listed
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    INFO_REQUEST,
    &[
        Slot::Hex("0033 0000"),
        Slot::Within(
            |data| [&answering::be16(data.len() as u32 / 2), data].concat(),
            &[
                Slot::Port(word_pair),
                Slot::Hex("0000"),
                Slot::Name(|name| swapped_text(name.as_bytes())),
                Slot::Players(word_pair),
                Slot::Hex("0000 0000 0011 0000"),
                Slot::Version(|version| swapped_text(version.as_bytes())),
                Slot::MaxPlayers(word_pair),
                Slot::Within(swapped_text, &[Slot::Each(&[Slot::Player(answering::bare), Slot::Hex("0a")])]),
                Slot::Hex("0000 0000 0000 0004 0000 0000 0000"),
            ],
        ),
        Slot::Hex("0011"),
    ],
)];

/// Two word_pair, the low one first.
fn word_pair(n: u32) -> Vec<u8> {
    [answering::be16(n), answering::be16(n >> 16)].concat()
}
/// A text with its length: the two bytes of each word are swapped.
fn swapped_text(text: &[u8]) -> Vec<u8> {
    let ended = [text, &[0]].concat();
    let mut all = answering::be16(ended.len() as u32);
    for pair in ended.chunks(2) {
        all.extend([pair.get(1).copied().unwrap_or_default(), pair.first().copied().unwrap_or_default()]);
    }
    all
}
