//! The tests of `ask --probe gqp`.

use crate::contract::probing::{Copied, ERROR, Expect, NOTE, Part, ProbeRow, Shot, WARNING};
use crate::rule::Severity;

const IDENTIFY: Shot = Shot::of(0, &[Part::Bytes(b"identify\x04")]);
const IDENTIFIED: &[u8] = b"10identify\x1e";
const LETTERS: [u8; 1_300] = [b'a'; 1_300];
const SEVENTEEN: &[u8] = b"echo\x1decho\x1decho\x1decho\x1decho\x1decho\x1decho\x1decho\x1decho\x1d\
    echo\x1decho\x1decho\x1decho\x1decho\x1decho\x1decho\x1decho\x04";

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    ProbeRow::new(
        "gqp-1",
        "identify",
        (Expect::Answer(IDENTIFIED), "GQP draft, Required commands"),
        (Severity::Error, "GQP-RSP-008"),
        &[IDENTIFY],
    ),
    ProbeRow::new(
        "gqp-2",
        "echo with one, two and no arguments",
        (Expect::Each(b"10echo\x1e", Copied::NOTHING), "GQP draft, echo"),
        (Severity::Error, "GQP-TXN-004"),
        &[
            Shot::of(0, &[Part::Bytes(b"echo\x1eone\x04")]),
            Shot::of(0, &[Part::Bytes(b"echo\x1eone\x1ftwo\x04")]),
            Shot::of(0, &[Part::Bytes(b"echo\x04")]),
        ],
    ),
    ProbeRow::new(
        "gqp-3",
        "echo, identify and echo in one message",
        (Expect::Answer(b"10echo\x1e"), "GQP draft, echo"),
        (Severity::Error, "GQP-TXN-002"),
        &[Shot::of(0, &[Part::Bytes(b"echo\x1ea\x1didentify\x1decho\x1eb\x04")])],
    ),
    ProbeRow::new(
        "gqp-4",
        "an unknown command; an empty one",
        (Expect::Each(b"20", Copied::NOTHING), "GQP draft, Status codes"),
        ERROR,
        &[Shot::of(0, &[Part::Bytes(b"nosuch\x04")]), Shot::of(0, &[Part::Bytes(b"\x04")])],
    ),
    ProbeRow::new(
        "gqp-4b",
        "Identify with a capital",
        (Expect::Answer(b"20"), "GQP draft, Status codes"),
        NOTE,
        &[Shot::of(0, &[Part::Bytes(b"Identify\x04")])],
    ),
    ProbeRow::new(
        "gqp-5",
        "identify with an argument; a separator too early",
        (Expect::Either(&[b"10", b"20", b"22", b"23"]), "GQP draft, Status codes"),
        WARNING,
        &[
            Shot::of(0, &[Part::Bytes(b"identify\x1ex\x04")]),
            Shot::of(1, &[Part::Bytes(b"echo\x1fa\x1eb\x04")]),
        ],
    ),
    ProbeRow::new(
        "gqp-6",
        "an encoding that nobody knows",
        (Expect::Answer(b"40"), "GQP draft, Status codes"),
        WARNING,
        &[Shot::of(0, &[Part::Bytes(b"\x01x-none\x06identify\x04")])],
    ),
    ProbeRow::new(
        "gqp-7",
        "a message without an end",
        (Expect::Silence, "GQP draft, Grammar"),
        WARNING,
        &[Shot::of(0, &[Part::Bytes(b"identify")])],
    ),
    ProbeRow::new(
        "gqp-7b",
        "bytes behind the end",
        (Expect::Answer(IDENTIFIED), "GQP draft, reading until EOT"),
        WARNING,
        &[Shot::of(0, &[Part::Bytes(b"identify\x04x")])],
    ),
    ProbeRow::new(
        "gqp-8",
        "identify in two datagrams",
        (Expect::Open, "GQP draft, left open"),
        (Severity::Note, "GQP-FRM-003"),
        &[Shot::of(0, &[Part::Bytes(b"ident")]), Shot::of(0, &[Part::Bytes(b"ify\x04")])],
    ),
    ProbeRow::new(
        "gqp-9",
        "17 commands; an argument of 1,300 bytes; a letter beyond ASCII",
        (Expect::Open, "GQP draft, no limit"),
        NOTE,
        &[
            Shot::of(0, &[Part::Bytes(SEVENTEEN)]),
            Shot::of(1, &[Part::Bytes(b"echo\x1e"), Part::Bytes(&LETTERS), Part::Bytes(b"\x04")]),
            Shot::of(2, &[Part::Bytes(b"echo\x1ecaf\xe9\x04")]),
        ],
    ),
];
