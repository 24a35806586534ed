//! The tests of `ask --probe a2s`.

use crate::contract::probing::{Copied, ERROR, Expect, NOTE, Part, ProbeRow, Shot, Taken, WARNING};
use crate::rule::Severity;

const INFO: Part = Part::Bytes(b"\xff\xff\xff\xffTSource Engine Query\0");
const PLAYER: Part = Part::Bytes(b"\xff\xff\xff\xffU");
const RULES: Part = Part::Bytes(b"\xff\xff\xff\xffV");
const NO_CHALLENGE: Part = Part::Bytes(&[0xff; 4]);
const CHALLENGED: &[u8] = b"\xff\xff\xff\xffA";
const ANY: &[u8] = &[0xff; 4];
const INFO_ANSWER: &[u8] = b"\xff\xff\xff\xffI";
const ANSWER: Expect = Expect::Answer(INFO_ANSWER);
const EITHER: Expect = Expect::Either(&[CHALLENGED]);
/// Servers may answer at once.
const ASK: Shot = taking(&[INFO], INFO_ANSWER);
const ASK_PLAYERS: Shot = taking(&[PLAYER, NO_CHALLENGE], b"\xff\xff\xff\xffD");
const ASK_RULES: Shot = taking(&[RULES, NO_CHALLENGE], b"\xff\xff\xff\xffE");
const MANY: Shot = Shot::of(0, &[INFO]);
const RETURN: Shot = Shot::of(0, &[INFO, Part::Value(0)]);
const WITHOUT: (Severity, &str) = (Severity::Warning, "A2S-SEC-002");

/// A request that gets a challenge, unless it is answered at once.
const fn taking(parts: &'static [Part], instead: &'static [u8]) -> Shot {
    Shot { takes: Some(Taken { head: CHALLENGED, len: 4, instead }), ..Shot::of(0, parts) }
}

/// The first one is the plain query.
pub static ROWS: &[ProbeRow] = &[
    ProbeRow::new(
        "a2s-1",
        "INFO, again with its challenge",
        (ANSWER, "Valve Developer Community, Server queries: A2S_INFO"),
        ERROR,
        &[ASK, RETURN],
    ),
    ProbeRow::new(
        "a2s-2",
        "PLAYER and RULES with -1 and with 0",
        (EITHER, "Valve Developer Community, Server queries: Challenge mechanism"),
        WITHOUT,
        &[
            Shot::of(0, &[PLAYER, NO_CHALLENGE]),
            Shot::of(0, &[PLAYER, Part::Zeros(4)]),
            Shot::of(0, &[RULES, NO_CHALLENGE]),
            Shot::of(0, &[RULES, Part::Zeros(4)]),
        ],
    ),
    ProbeRow::new(
        "a2s-3",
        "INFO, PLAYER and RULES with a wrong challenge",
        (EITHER, "Valve Developer Community, Server queries: Challenge mechanism"),
        WITHOUT,
        &[
            ASK_PLAYERS,
            Shot::of(0, &[INFO, Part::Next(0)]),
            Shot::of(0, &[PLAYER, Part::Next(0)]),
            Shot::of(0, &[RULES, Part::Next(0)]),
        ],
    ),
    ProbeRow::new(
        "a2s-4",
        "the challenge of another socket",
        (ANSWER, "Source: it belongs to the address"),
        NOTE,
        &[ASK, Shot::of(1, &[INFO, Part::Value(0)])],
    ),
    ProbeRow::new(
        "a2s-5",
        "INFO, PLAYER and RULES at once",
        (Expect::Each(ANY, Copied::NOTHING), "GameQ asks so"),
        WARNING,
        &[
            Shot::of(0, &[INFO]),
            Shot::of(0, &[PLAYER, NO_CHALLENGE]).after(0),
            Shot::of(0, &[RULES, NO_CHALLENGE]).after(0),
        ],
    ),
    ProbeRow::new(
        "a2s-6",
        "INFO without its NUL, with another text, cut to 4 and 5 bytes",
        (EITHER, "Valve Developer Community, Server queries: A2S_INFO"),
        WARNING,
        &[
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffTSource Engine Query")]),
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffTSource Engine Quest\0")]),
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xff")]),
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffT")]),
        ],
    ),
    ProbeRow::new(
        "a2s-7",
        "INFO with zeros behind it, 1,200 bytes",
        (Expect::Either(&[ANY]), "Steam, change of December 2020"),
        (Severity::Note, "A2S-REQ-003"),
        &[Shot::of(0, &[INFO, Part::Zeros(1_175)])],
    ),
    ProbeRow::new(
        "a2s-8",
        "types 0 and 0x58; a part of a message",
        (Expect::Silence, "Valve Developer Community, Server queries: Requests"),
        WARNING,
        &[
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xff\0")]),
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffX")]),
            Shot::of(0, &[Part::Bytes(b"\xfe\xff\xff\xff"), Part::Zeros(8)]),
        ],
    ),
    ProbeRow::new(
        "a2s-9",
        "GETCHALLENGE and PING",
        (
            Expect::Either(&[CHALLENGED, b"\xff\xff\xff\xffj"]),
            "Valve Developer Community, Server queries: both are deprecated",
        ),
        NOTE,
        &[
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffW")]),
            Shot::of(0, &[Part::Bytes(b"\xff\xff\xff\xffi")]),
        ],
    ),
    ProbeRow::new(
        "a2s-10",
        "INFO with its challenge, twice",
        (Expect::Each(INFO_ANSWER, Copied::NOTHING), "UDP"),
        (Severity::Warning, "A2S-TXN-006"),
        &[ASK, RETURN, RETURN],
    ),
    ProbeRow::new(
        "a2s-11",
        "RULES with its challenge, 3 times",
        (Expect::Open, "Valve Developer Community, Server queries: Multi-packet responses"),
        (Severity::Error, "A2S-SPL-004"),
        &[
            ASK_RULES,
            Shot::of(0, &[RULES, Part::Value(0)]),
            Shot::of(0, &[RULES, Part::Value(0)]),
            Shot::of(0, &[RULES, Part::Value(0)]),
        ],
    ),
    ProbeRow::new(
        "a2s-12",
        "20 times INFO in 2 s",
        (Expect::Open, "STEAM_GAMESERVER_RATE_LIMIT_200MS"),
        NOTE,
        &[MANY; 20],
    ),
];
