//! The ping of Murmur, the server of the voice chat Mumble. Big-endian throughout.
//!
//! ```text
//! ping      00000000 │ ident u64                                                          12 bytes
//! answer    00 │ version 3 │ ident u64 │ users u32 │ max_users u32 │ bandwidth u32        24 bytes
//! ```
//!
//! Oddities: nothing in either message is fixed but zeros, so only a pair is certain; the port is that of the encrypted voice,
//! which may begin with any byte.

use super::prelude::*;
use super::sources::gamedig;
use crate::contract::answering::{self, Reply, Slot};

const SPEC: &str = "https://github.com/mumble-voip/mumble-protocol";
const fn protocol(section: &'static str) -> Cite {
    Cite { doc: "Mumble protocol", section, url: SPEC }
}
const GAMEDIG: Cite = gamedig("protocols/mumbleping.js");

const ASK: rule::Step = C("00000000 0000000000000001");
const OK: rule::Step = S("00 010505 0000000000000001 00000001 00000032 00011940");

fields! {
    /// Four zeros, where an answer has the version.
    REQUEST_TYPE = "request_type": Uint;
    /// Zero in front of the version.
    VERSION_PREFIX = "version_prefix": Uint;
    /// Version of the server: major, minor, patch.
    VERSION = "version": Text => Version;
    /// Number of the client's choice, which the answer repeats.
    IDENT = "ident": Uint64 volatile token;
    /// Users now.
    USERS = "users": Uint => Players;
    /// Users at most.
    MOST_USERS = "max_users": Uint => MaxPlayers;
    /// Most that a user may send, in bits per second.
    BANDWIDTH = "bandwidth": Uint;
    /// Bytes after the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    /// Zeros and ident are 12 bytes. What is shorter has no ident to repeat.
    REQ_001 = "MUM-REQ-001" Error "ping is not 12 bytes long" {
        cite: protocol("UDP ping"),
        examples: [Example::of(&[ASK, OK, Wait(1000), C("00000000 0000000000")])],
    }
    /// Version, ident and three numbers are 24 bytes. Clients compare the length.
    RSP_001 = "MUM-RSP-001" Error "answer is not 24 bytes long" {
        cite: protocol("UDP ping"),
        examples: [Example::of(&[
            ASK, OK, Wait(1000),
            C("00000000 0000000000000002"), S("00 010505 0000000000000002 00000001 00000032"),
        ])],
    }
    /// The numbers are those of users who are there, and of places for them.
    RSP_002 = "MUM-RSP-002" Note "more users than places" {
        cite: protocol("UDP ping"),
        examples: [Example::of(&[ASK, S("00 010505 0000000000000001 00000033 00000032 00011940")])],
    }
}

rules! {
    list EXCHANGE_RULES;
    /// The ident is copied from the ping. No ping of this client had it, or the ping was sent before the capture.
    TXN_001 = "MUM-TXN-001" Error "answer carries an ident that no open ping carried" {
        cite: protocol("UDP ping"),
        needs_past: true,
        examples: [Example::of(&[ASK, OK, S("00 010505 0000000000000009 00000001 00000032 00011940")])],
    }
    /// The answer window is two seconds. A server that is told not to answer pings, or bans the client, is silent.
    TXN_002: UNANSWERED = "MUM-TXN-002" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, OK, Wait(1000), C("00000000 0000000000000002")])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_003: LATE = "MUM-TXN-003" {
        cite: GAMEDIG,
        examples: [Example::of(&[ASK, Wait(2500), OK])],
    }
    /// A second answer with an ident already answered: UDP duplicated it.
    TXN_004: COPY = "MUM-TXN-004" {
        cite: protocol("UDP ping"),
        examples: [Example::of(&[ASK, OK, OK])],
    }
    /// 12 bytes with a forged source address bring a victim 24, with headers 52 for 40: nothing proves the client's address.
    SEC_001 = "MUM-SEC-001" Note "answer is longer than its ping" {
        cite: protocol("UDP ping"),
        per_server: true,
        ratio: true,
        examples: [Example::of(&[ASK, OK])],
    }
}

static PING_ENDS: Ends = Ends::new(&REQ_001, &REQ_001, &SURPLUS);
static ANSWER_ENDS: Ends = Ends::new(&RSP_001, &RSP_001, &SURPLUS);

const PING_LEN: usize = 12;
const ANSWER_LEN: usize = 24;
/// Lengths in bytes of a damaged ping, and of a damaged answer with and without its ident.
const DAMAGED_PING: (usize, usize) = (4, 16);
const DAMAGED_ANSWER: (usize, usize) = (12, 40);
const CUT_ANSWER: (usize, usize) = (2, 11);
/// A higher major version is voice.
const MOST_MAJOR: u8 = 15;

messages! {
    PING = Message::request("ping_request", 0, &[
        Form::of(&[0; 4]).length(PING_LEN, PING_LEN).level(Level::Low),
        Form::of(&[0; 4]).length(DAMAGED_PING.0, DAMAGED_PING.1).known(),
    ]).keyed(number_at::<4, 8>);
    PING_RESPONSE = Message::response("ping_response", 0, &[
        Form::of(&[0]).length(ANSWER_LEN, ANSWER_LEN).when(has_version),
        Form::of(&[0, 1]).length(DAMAGED_ANSWER.0, DAMAGED_ANSWER.1).awaited(),
    ]).keyed(number_at::<4, 8>);
    // An answer that ends before its ident does.
    UNKNOWN = Message::label("unknown", Direction::S2c, &[
        Form::of(&[0, 1]).length(CUT_ANSWER.0, CUT_ANSWER.1).awaited(),
    ]);
}

/// Murmur's ping.
#[derive(Debug)]
pub struct Mumble;

impl Protocol for Mumble {
    type Memory = ();

    const INFO: Info = Info {
        ports: &[64738],
        known_as: &[("murmur", 0)],
        messages: MESSAGES,
        steps: &[StepInfo {
            once: true,
            ..StepInfo::keyed(
                "ping",
                16,
                StepRules {
                    unsolicited: Some(&TXN_001),
                    other_key: Some(&TXN_001),
                    late: Some(&TXN_003),
                    copy: Some(&TXN_004),
                    larger: Some((1, &SEC_001)),
                    key_at: Some(Span { start: 4, end: 12 }),
                    ..StepRules::new(&TXN_002)
                },
            )
        }],
        fields: &[FIELDS],
        rules: &[RULES],
        exchange_rules: EXCHANGE_RULES,
        causes: &[(Relation::Instead, &[&RSP_001, &TXN_001], &[&TXN_002])],
        replies: REPLIES,
        samples: &[Example::of(&[ASK, OK])],
        ..Info::of("mumble", "Mumble ping", SPEC, &PING_ENDS)
    };

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        (ask.answered == 0).then(|| [&[0; 4][..], &ask.random.to_be_bytes()].concat())
    }

    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        if cx.message != PING {
            return answer(c);
        }
        c.field(&REQUEST_TYPE, be_u32)?;
        c.field(&IDENT, be_u64).map(drop)
    }
}

fn answer<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&ANSWER_ENDS);
    c.field(&VERSION_PREFIX, byte)?;
    c.field_as(&VERSION, array, Value::Dotted)?;
    c.field(&IDENT, be_u64)?;
    let users = c.field(&USERS, be_u32)?;
    let most = c.field(&MOST_USERS, be_u32)?;
    c.compare(&RSP_002, || users <= most, || Compared::new(users, ComparedValue::AtMost(most.into())));
    c.field(&BANDWIDTH, be_u32).map(drop)
}

/// Whether the message begins with a plausible version.
fn has_version(p: &[u8]) -> bool {
    matches!(p, [_, major @ 0..=MOST_MAJOR, minor, patch, ..] if [*major, *minor, *patch] != [0; 3])
}

// --- Answering

static REPLIES: &[Reply] = &[Reply::to(
    PING,
    &[
        Slot::Hex("00 010505"),
        Slot::Asked(4, 12),
        Slot::Players(answering::be32),
        Slot::MaxPlayers(answering::be32),
        Slot::Hex("00011940"),
    ],
)];
