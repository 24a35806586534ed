//! The tests of `ask --probe satisfactory`.

use crate::contract::probing::{Copied, ERROR, Expect, NOTE, Part, ProbeRow, Shot, WARNING};
use crate::rule::Severity;

const HEAD: Part = Part::Bytes(&[0xd5, 0xf6, 0, 1]);
const COOKIE: Part = Part::Random(8);
const END: Part = Part::Bytes(&[1]);
const POLL: Shot = Shot::of(0, &[HEAD, COOKIE, END]);
const SAME: Shot = Shot::of(0, &[HEAD, Part::Bytes(b"qdissect"), END]);
const STATE: &[u8] = &[0xd5, 0xf6, 1, 1];
const ANSWER: Expect = Expect::Answer(STATE);
/// The cookie is copied byte by byte.
const EACH: Expect = Expect::Each(STATE, Copied { from: 4, to: 4, len: 8 });

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    ProbeRow::new(
        "sfq-1",
        "poll",
        (ANSWER, "Satisfactory, Lightweight Query API: Poll Server State"),
        ERROR,
        &[POLL],
    ),
    ProbeRow::new(
        "sfq-2",
        "polls with cookie 0, all ones, and 8 random ones",
        (EACH, "Satisfactory, Lightweight Query API: Cookie"),
        (Severity::Error, "SFQ-TXN-002"),
        &[
            Shot::of(0, &[HEAD, Part::Zeros(8), END]),
            Shot::of(0, &[HEAD, Part::Bytes(&[0xff; 8]), END]),
            POLL,
            POLL,
            POLL,
            POLL,
            POLL,
            POLL,
            POLL,
            POLL,
        ],
    ),
    ProbeRow::new(
        "sfq-3",
        "5 polls at once",
        (EACH, "Satisfactory, Lightweight Query API: polled at intervals"),
        ERROR,
        &[POLL, POLL.after(0), POLL.after(0), POLL.after(0), POLL.after(0)],
    ),
    ProbeRow::new(
        "sfq-4",
        "the same poll twice",
        (ANSWER, "Satisfactory, Lightweight Query API: Cookie"),
        (Severity::Note, "SFQ-TXN-005"),
        &[SAME, SAME],
    ),
    ProbeRow::new(
        "sfq-5",
        "terminator 0, and none",
        (Expect::Silence, "Satisfactory, Lightweight Query API: such messages are discarded"),
        ERROR,
        &[Shot::of(0, &[HEAD, COOKIE, Part::Bytes(&[0])]), Shot::of(0, &[HEAD, COOKIE])],
    ),
    ProbeRow::new(
        "sfq-6",
        "terminators 2, 0x80 and 0xff",
        (Expect::Silence, "Satisfactory, Lightweight Query API: 0x1; Unreal takes the highest bit"),
        WARNING,
        &[
            Shot::of(0, &[HEAD, COOKIE, Part::Bytes(&[2])]),
            Shot::of(0, &[HEAD, COOKIE, Part::Bytes(&[0x80])]),
            Shot::of(0, &[HEAD, COOKIE, Part::Bytes(&[0xff])]),
        ],
    ),
    ProbeRow::new(
        "sfq-7",
        "protocol versions 0, 2 and 255",
        (Expect::Either(&[STATE]), "Satisfactory, Lightweight Query API: Protocol Version"),
        (Severity::Warning, "SFQ-TXN-007"),
        &[
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 0, 0]), COOKIE, END]),
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 0, 2]), COOKIE, END]),
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 0, 255]), COOKIE, END]),
        ],
    ),
    ProbeRow::new(
        "sfq-8",
        "message types 1, 2 and 255",
        (Expect::Silence, "Satisfactory, Lightweight Query API: Message Types"),
        ERROR,
        &[
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 1, 1]), COOKIE, END]),
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 2, 1]), COOKIE, END]),
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6, 255, 1]), COOKIE, END]),
        ],
    ),
    ProbeRow::new(
        "sfq-9",
        "magic F6 D5, and 0",
        (Expect::Silence, "Satisfactory, Lightweight Query API: Protocol Magic"),
        WARNING,
        &[
            Shot::of(0, &[Part::Bytes(&[0xf6, 0xd5, 0, 1]), COOKIE, END]),
            Shot::of(0, &[Part::Bytes(&[0, 0, 0, 1]), COOKIE, END]),
        ],
    ),
    ProbeRow::new(
        "sfq-10",
        "cut to 2, 4 and 12 bytes; empty datagram",
        (Expect::Silence, "Satisfactory, Lightweight Query API: Envelope"),
        ERROR,
        &[
            Shot::of(0, &[Part::Bytes(&[0xd5, 0xf6])]),
            Shot::of(0, &[HEAD]),
            Shot::of(0, &[HEAD, COOKIE]),
            Shot::of(0, &[]),
        ],
    ),
    ProbeRow::new(
        "sfq-11",
        "14 bytes that end with 1; 1,200 bytes",
        (Expect::Open, "left open"),
        NOTE,
        &[Shot::of(0, &[HEAD, COOKIE, END, END]), Shot::of(0, &[HEAD, COOKIE, Part::Zeros(1_187), END])],
    ),
    ProbeRow::new(
        "sfq-12",
        "10 polls, one each second",
        (EACH, "Satisfactory, Lightweight Query API: sub states are counters"),
        (Severity::Warning, "SFQ-SUB-005"),
        &[
            POLL,
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
            POLL.after(1_000),
        ],
    ),
    ProbeRow::new(
        "sfq-13",
        "poll of the version before 1",
        (Expect::Silence, "SF-Tools"),
        (Severity::Note, "SFQ-LEG-003"),
        &[Shot::of(0, &[Part::Zeros(2), COOKIE])],
    ),
];
