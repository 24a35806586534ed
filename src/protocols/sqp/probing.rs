//! The tests of `ask --probe sqp`.

use crate::contract::probing::{Expect, Part, ProbeRow, Shot};
use crate::rule::Severity;

const CHALLENGE: &[Part] = &[Part::Zeros(5)];
const ASK: Shot = Shot::taking(0, CHALLENGE, &[0], 4);
const ASK_OTHER: Shot = Shot::taking(1, CHALLENGE, &[0], 4);
const TYPE: Part = Part::Bytes(&[1]);
const TOKEN: Part = Part::Value(0);
const INFO: &[u8] = &[0, 1, 1];
const QUERY: &[Part] = &[TYPE, TOKEN, Part::Bytes(INFO)];
const ANSWER: Expect = Expect::Answer(&[1]);
const EITHER: Expect = Expect::Either(&[1]);

/// A row whose shots follow a challenge.
const fn row(
    id: &'static str,
    sends: &'static str,
    right: Expect,
    (severity, rule): (Severity, &'static str),
    shots: &'static [Shot],
) -> ProbeRow {
    ProbeRow { id, sends, right, source: "Unity SQP, as its servers implement it", severity, rule, shots }
}

const SECURITY: (Severity, &str) = (Severity::Error, "SQP-SEC-001");
const ERROR: (Severity, &str) = (Severity::Error, "");
const WARNING: (Severity, &str) = (Severity::Warning, "");
const NOTE: (Severity, &str) = (Severity::Note, "");

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    row("sqp-1", "challenge, query 0x01", ANSWER, ERROR, &[ASK, Shot::of(0, QUERY)]),
    row(
        "sqp-2",
        "8 challenges from 8 sockets",
        Expect::Distinct,
        (Severity::Warning, "SQP-TXN-015"),
        &[
            ASK,
            ASK_OTHER,
            Shot::taking(2, CHALLENGE, &[0], 4),
            Shot::taking(3, CHALLENGE, &[0], 4),
            Shot::taking(4, CHALLENGE, &[0], 4),
            Shot::taking(5, CHALLENGE, &[0], 4),
            Shot::taking(6, CHALLENGE, &[0], 4),
            Shot::taking(7, CHALLENGE, &[0], 4),
        ],
    ),
    row(
        "sqp-3",
        "query with token + 1",
        Expect::Silence,
        SECURITY,
        &[ASK, Shot::of(0, &[TYPE, Part::Next(0), Part::Bytes(INFO)])],
    ),
    row(
        "sqp-4",
        "query with token 0, without a challenge",
        Expect::Silence,
        SECURITY,
        &[Shot::of(0, &[TYPE, Part::Zeros(4), Part::Bytes(INFO)])],
    ),
    row(
        "sqp-5",
        "query with the token of another socket",
        Expect::Silence,
        SECURITY,
        &[ASK, ASK_OTHER, Shot::of(0, &[TYPE, Part::Value(1), Part::Bytes(INFO)])],
    ),
    row(
        "sqp-6",
        "query with the token's bytes reversed",
        Expect::Silence,
        SECURITY,
        &[ASK, Shot::of(0, &[TYPE, Part::Reversed(0), Part::Bytes(INFO)])],
    ),
    row("sqp-9", "version 2", EITHER, NOTE, &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 2, 1])])]),
    row(
        "sqp-10",
        "version 65535",
        EITHER,
        WARNING,
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[255, 255, 1])])],
    ),
    row("sqp-11", "chunks 0x02", EITHER, ERROR, &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 2])])]),
    row(
        "sqp-12",
        "chunks 0x1f",
        ANSWER,
        (Severity::Warning, "SQP-TXN-012"),
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0x1f])])],
    ),
    row(
        "sqp-13",
        "chunks 0x21",
        EITHER,
        WARNING,
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0x21])])],
    ),
    row(
        "sqp-14",
        "chunks 0",
        EITHER,
        (Severity::Warning, "SQP-TXN-017"),
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0])])],
    ),
    row(
        "sqp-15",
        "challenge of one zero byte",
        Expect::Silence,
        (Severity::Warning, "SQP-SEC-002"),
        &[Shot::of(0, &[Part::Zeros(1)])],
    ),
    row(
        "sqp-16",
        "query cut to 7 bytes",
        Expect::Silence,
        WARNING,
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1])])],
    ),
    row(
        "sqp-17",
        "empty datagram; type 2; type 255",
        Expect::Silence,
        ERROR,
        &[
            Shot::of(0, &[]),
            Shot::of(0, &[Part::Bytes(&[2]), Part::Zeros(4)]),
            Shot::of(0, &[Part::Bytes(&[255]), Part::Zeros(4)]),
        ],
    ),
    row(
        "sqp-18",
        "query of 1,400 bytes",
        Expect::Open,
        NOTE,
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(INFO), Part::Zeros(1_392)])],
    ),
];
