//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{INFO_RESPONSE, RULES_RESPONSE};
use crate::layout::Known::Key;
use crate::layout::Order::{Big, Little};
use crate::layout::Part::{Const, Count, Custom, Number as Num, Text, Token};
use crate::layout::common::*;
use crate::layout::{Encoding, Form, Layout, Number, Reader, Says, Variation};

const SAYS: [Says; 3] = [
    ("SA-MP is little-endian", "Query Mechanism"),
    ("texts of SA-MP have lengths of 32 bits, and those of rules of 8 bits", "Query Mechanism"),
    ("a message of SA-MP has the header and the fields of its opcode", "Query Mechanism"),
];

pub(super) static LAYOUTS: &[Layout] = &[INFO, RULES];

const INFO: Layout = Layout {
    step: Some(0),
    order: Little,
    form: Form::U32_LE,
    encoding: Encoding::Bytes,
    plausible: |r| {
        let (players, max) = (r.number("players").unwrap_or(0), r.number("max_players").unwrap_or(0));
        players <= max && (1..=2000).contains(&max) && asks(r, b'i')
    },
    variations: &[
        &[BIG_ENDIAN, TEXTS_U8],
        LONG_TEXTS,
        &[
            Variation::width("players", 4),
            Variation::width("players", 1),
            Variation::missing("password"),
            ZEROS,
        ],
    ],
    ..Layout::of(
        INFO_RESPONSE,
        SAYS,
        &[
            Const("samp", b"SAMP"),
            Token("address", 7, Big, Key),
            Num(Number::of("password", 1).accepting(|n| n < 2)),
            Num(Number::of("players", 2).within("players")),
            Num(Number::of("max_players", 2).within("players")),
            Text("server_name"),
            Text("game_mode"),
            Text("language"),
        ],
    )
};
const RULES: Layout = Layout {
    step: Some(0),
    order: Little,
    encoding: Encoding::Bytes,
    plausible: |r| r.number("rule_count").is_some_and(|n| (1..500).contains(&n)) && asks(r, b'r'),
    variations: &[
        &[BIG_ENDIAN],
        LONG_TEXTS,
        &[Variation::width("rule_count", 1), Variation::width("rule_count", 4), ZEROS],
    ],
    ..Layout::of(
        RULES_RESPONSE,
        SAYS,
        &[
            Const("samp", b"SAMP"),
            Token("address", 7, Big, Key),
            Count("rule_count", 2, &[Custom(|r| r.pair())]),
        ],
    )
};

/// Whether the request has that opcode, which is the last byte of its key.
fn asks(r: &Reader<'_>, opcode: u8) -> bool {
    r.expected.key.is_none_or(|key| key as u8 == opcode)
}
