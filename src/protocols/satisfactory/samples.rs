//! Datagrams that examples and samples share, and conversations that keep the protocol.

use crate::rule::{Cite, Example, Step, Step::*};

/// The published document.
pub(super) const SPEC: &str = "https://satisfactory.wiki.gg/wiki/Dedicated_servers/Lightweight_Query_API";

pub(super) const fn api(section: &'static str) -> Cite {
    Cite { doc: "Satisfactory Lightweight Query API", section, url: SPEC }
}

/// The game's own headers, as published for modders.
pub(super) const fn css(file: &'static str) -> Cite {
    let url = "https://github.com/satisfactorymodding/SatisfactoryModLoader";
    Cite { doc: "Coffee Stain headers", section: file, url }
}

/// A poll with cookie 0x0123456789ABCDEF, and its answer.
pub(super) const PQ: Step = C("d5f6 00 01 efcdab8967452301 01");
pub(super) const OK: Step = S(
    "d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01",
);

/// Another poll.
pub(super) const PQ2: Step = C("d5f6 00 01 0200000000000000 01");

pub(super) const SAMPLES: &[Example] = &[
    Example::of(&[PQ, OK]),
    // Idle, no save loaded, a name beyond ASCII.
    Example::on(
        7777,
        &[
            C("d5f6 00 01 0102030405060708 01"),
            S("d5f6 01 01 0102030405060708 01 7a960500 0000000000000000 00 0900 46c3a46272696b2020 01"),
        ],
    ),
    Example::on(15777, &[C("0000 efcdab8967452301"), S("0100 efcdab8967452301 03 7f3b0300 983a")]),
];
