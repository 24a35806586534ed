//! The tests of `ask --probe sqp`.

use crate::contract::probing::{Copied, ERROR, Expect, NOTE, Part, ProbeRow, Shot, WARNING};
use crate::rule::Severity;

const CHALLENGE: &[Part] = &[Part::Zeros(5)];
const ASK: Shot = asking(0);
const ASK_OTHER: Shot = asking(1);
const TYPE: Part = Part::Bytes(&[1]);
const TOKEN: Part = Part::Value(0);
const INFO: &[u8] = &[0, 1, 1];
const QUERY: &[Part] = &[TYPE, TOKEN, Part::Bytes(INFO)];
const MANY: Shot = Shot::of(0, CHALLENGE);
const ANSWER: Expect = Expect::Answer(&[1]);
const EITHER: Expect = Expect::Either(&[&[1]]);
const SECURITY: (Severity, &str) = (Severity::Error, "SQP-SEC-001");

/// A challenge, which gets the token of a socket.
const fn asking(socket: usize) -> Shot {
    Shot::taking(socket, CHALLENGE, &[0], 4)
}

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    ProbeRow::new(
        "sqp-1",
        "challenge, query 0x01",
        (ANSWER, "Unity, Challenge and query packets"),
        ERROR,
        &[ASK, Shot::of(0, QUERY)],
    ),
    ProbeRow::new(
        "sqp-2",
        "8 challenges from 8 sockets",
        (Expect::Distinct, "Unity, Challenge numbers"),
        (Severity::Warning, "SQP-TXN-015"),
        &[ASK, ASK_OTHER, asking(2), asking(3), asking(4), asking(5), asking(6), asking(7)],
    ),
    ProbeRow::new(
        "sqp-3",
        "query with token + 1",
        (Expect::Silence, "Unity, Challenge numbers"),
        SECURITY,
        &[ASK, Shot::of(0, &[TYPE, Part::Next(0), Part::Bytes(&[0, 1, 1])])],
    ),
    ProbeRow::new(
        "sqp-4",
        "query with token 0, without a challenge",
        (Expect::Silence, "Unity, Challenge numbers"),
        SECURITY,
        &[Shot::of(0, &[TYPE, Part::Zeros(4), Part::Bytes(&[0, 1, 1])])],
    ),
    ProbeRow::new(
        "sqp-5",
        "query with the token of another socket",
        (Expect::Silence, "Unity, Challenge numbers"),
        SECURITY,
        &[ASK, ASK_OTHER, Shot::of(0, &[TYPE, Part::Value(1), Part::Bytes(&[0, 1, 1])])],
    ),
    ProbeRow::new(
        "sqp-6",
        "query with the token's bytes reversed",
        (Expect::Silence, "Unity, Challenge numbers"),
        SECURITY,
        &[ASK, Shot::of(0, &[TYPE, Part::Reversed(0), Part::Bytes(&[0, 1, 1])])],
    ),
    ProbeRow::new(
        "sqp-7",
        "the same query again after its answer",
        (EITHER, "Unity, Challenge numbers; go-svrquery"),
        NOTE,
        &[ASK, Shot::taking(0, QUERY, &[1], 4), Shot::of(0, QUERY)],
    ),
    ProbeRow::new(
        "sqp-8",
        "two challenges of one socket, query with the second token",
        (ANSWER, "go-svrquery; USQP is silent until a query"),
        NOTE,
        &[ASK, ASK, Shot::of(0, QUERY)],
    ),
    ProbeRow::new(
        "sqp-9",
        "versions 0 and 2",
        (EITHER, "go-svrquery; USQP"),
        NOTE,
        &[
            ASK,
            ASK_OTHER,
            Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 0, 1])]),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[0, 2, 1])]),
        ],
    ),
    ProbeRow::new(
        "sqp-10",
        "versions 3, 256 and 65535",
        (Expect::Either(&[&[1]]), "USQP"),
        WARNING,
        &[
            ASK,
            ASK_OTHER,
            asking(2),
            Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 3, 1])]),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[1, 0, 1])]),
            Shot::of(2, &[TYPE, Part::Value(2), Part::Bytes(&[255, 255, 1])]),
        ],
    ),
    ProbeRow::new(
        "sqp-11",
        "chunks 0x02, 0x04, 0x08 and 0x10, one each",
        (EITHER, "Unity, Chunk types: optional"),
        ERROR,
        &[
            ASK,
            ASK_OTHER,
            asking(2),
            asking(3),
            Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 2])]),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[0, 1, 4])]),
            Shot::of(2, &[TYPE, Part::Value(2), Part::Bytes(&[0, 1, 8])]),
            Shot::of(3, &[TYPE, Part::Value(3), Part::Bytes(&[0, 1, 16])]),
        ],
    ),
    ProbeRow::new(
        "sqp-12",
        "chunks 0x1f",
        (ANSWER, "Unity, Chunk types: ServerInfo must be answered"),
        (Severity::Warning, "SQP-TXN-012"),
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0x1f])])],
    ),
    ProbeRow::new(
        "sqp-13",
        "chunks 0x21 and 0xe0",
        (EITHER, "Unity, Chunk types"),
        WARNING,
        &[
            ASK,
            ASK_OTHER,
            Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0x21])]),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[0, 1, 0xe0])]),
        ],
    ),
    ProbeRow::new(
        "sqp-14",
        "chunks 0",
        (EITHER, "go-svrquery"),
        (Severity::Warning, "SQP-TXN-017"),
        &[ASK, Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 0])])],
    ),
    ProbeRow::new(
        "sqp-15",
        "challenge of 1 and of 4 zero bytes",
        (Expect::Silence, "Unity, Headers: 5 bytes"),
        (Severity::Warning, "SQP-SEC-002"),
        &[Shot::of(0, &[Part::Zeros(1)]), Shot::of(1, &[Part::Zeros(4)])],
    ),
    ProbeRow::new(
        "sqp-16",
        "query cut to 5, 6 and 7 bytes",
        (Expect::Silence, "Unity, Query packets"),
        WARNING,
        &[
            ASK,
            ASK_OTHER,
            asking(2),
            Shot::of(0, &[TYPE, TOKEN]),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[0])]),
            Shot::of(2, &[TYPE, Part::Value(2), Part::Bytes(&[0, 1])]),
        ],
    ),
    ProbeRow::new(
        "sqp-17",
        "empty datagram; type 2; type 255",
        (Expect::Silence, "Unity, Packet types"),
        ERROR,
        &[
            Shot::of(0, &[]),
            Shot::of(0, &[Part::Bytes(&[2]), Part::Zeros(4)]),
            Shot::of(0, &[Part::Bytes(&[255]), Part::Zeros(4)]),
        ],
    ),
    ProbeRow::new(
        "sqp-18",
        "challenge of 6, query of 9 and of 1,400 bytes",
        (Expect::Open, "all known servers ignore the rest"),
        NOTE,
        &[
            Shot::of(1, &[Part::Zeros(6)]),
            ASK,
            Shot::of(0, &[TYPE, TOKEN, Part::Bytes(&[0, 1, 1]), Part::Zeros(1)]),
            asking(2),
            Shot::of(2, &[TYPE, Part::Value(2), Part::Bytes(&[0, 1, 1]), Part::Zeros(1_392)]),
        ],
    ),
    ProbeRow::new(
        "sqp-19",
        "the query twice at once",
        (ANSWER, "Unity, Query packets"),
        (Severity::Error, "SQP-TXN-014"),
        &[ASK, Shot::of(0, QUERY), Shot::of(0, QUERY).after(0)],
    ),
    ProbeRow::new(
        "sqp-20",
        "two sockets at once, step by step",
        (Expect::Each(&[1], Copied { from: 1, to: 1, len: 4 }), "Unity, Challenge numbers"),
        (Severity::Error, "SQP-TXN-004"),
        &[
            ASK,
            ASK_OTHER,
            Shot::of(0, QUERY),
            Shot::of(1, &[TYPE, Part::Value(1), Part::Bytes(&[0, 1, 1])]).after(0),
        ],
    ),
    ProbeRow::new(
        "sqp-21",
        "20 challenges in 2 s, and no query",
        (Expect::Open, "tables of tokens are bounded"),
        NOTE,
        &[MANY; 20],
    ),
    ProbeRow::new(
        "sqp-22",
        "challenge, and 61 s later the query (with --slow)",
        (EITHER, "Unity SDK: a token lives for a minute"),
        NOTE,
        &[ASK, Shot::of(0, QUERY).after(61_000)],
    ),
];
