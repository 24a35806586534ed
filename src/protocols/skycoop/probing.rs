//! The tests of `ask --probe skycoop`.

use crate::contract::probing::{Copied, ERROR, Expect, NOTE, Part, ProbeRow, Shot, WARNING};

const QUERY: Part = Part::Bytes(&[0xfe, 0xff, 0xff, 0xff]);
const ASK: Shot = Shot::of(0, &[QUERY]);
const ASK_OTHER: Shot = Shot::of(1, &[QUERY]);
/// 147 in little-endian order.
const REPLY: &[u8] = &[0x93, 0, 0, 0];

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    ProbeRow::new("sky-1", "-2", (Expect::Answer(REPLY), "Sky Co-op, server query"), ERROR, &[ASK]),
    ProbeRow::new(
        "sky-2",
        "-2 and 1 byte more; 100 bytes more",
        (Expect::Either(&[REPLY]), "Sky Co-op, the server reads the first number"),
        NOTE,
        &[Shot::of(0, &[QUERY, Part::Zeros(1)]), Shot::of(1, &[QUERY, Part::Zeros(100)])],
    ),
    ProbeRow::new(
        "sky-3",
        "-2 in big-endian order",
        (Expect::Not(REPLY), "Sky Co-op, Server.cs"),
        NOTE,
        &[Shot::of(0, &[Part::Bytes(&[0xff, 0xff, 0xff, 0xfe])])],
    ),
    ProbeRow::new(
        "sky-4",
        "3 bytes of -2; empty datagram",
        (Expect::Silence, "Sky Co-op, Server.cs: less than 4 bytes"),
        ERROR,
        &[Shot::of(0, &[Part::Bytes(&[0xfe, 0xff, 0xff])]), Shot::of(0, &[])],
    ),
    ProbeRow::new(
        "sky-5",
        "-2 from two sockets at once, twice each",
        (Expect::Each(REPLY, Copied::NOTHING), "Sky Co-op, server query"),
        WARNING,
        &[ASK, ASK_OTHER.after(0), ASK, ASK_OTHER.after(0)],
    ),
    ProbeRow::new(
        "sky-6",
        "20 times -2 in 2 s",
        (Expect::Open, "Sky Co-op, there is no challenge"),
        NOTE,
        &[ASK; 20],
    ),
];
