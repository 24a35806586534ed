//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{POLL, STATE_RESPONSE};
use crate::layout::Known::{Key, Nothing};
use crate::layout::Order::Little;
use crate::layout::Part::{Const, ConstNumber, Count, Number as Num, Text, Token};
use crate::layout::common::*;
use crate::layout::{Form, Layout, Number, Says, Variation};

const SAYS: [Says; 3] = [
    ("the Lightweight Query is little-endian", "Protocol"),
    ("the name of the server is UTF-8 behind a length of 16 bits", "Server State Response"),
    ("a message has the fields of its table and a terminator", "Protocol"),
];
const MAGIC: crate::layout::Part = ConstNumber("magic", b"\xd5\xf6");
const TERMINATOR_ZERO: Variation = Variation::custom("terminator_zero", "the terminator is 0").weakly();

pub(super) static LAYOUTS: &[Layout] = &[STATE, ASK];

const STATE: Layout = Layout {
    order: Little,
    form: Form::U16_LE,
    one_text: true,
    plausible: |r| {
        let n = |name| r.number(name).unwrap_or(0);
        (1..10_000_000).contains(&n("net_cl")) && (0..32).contains(&n("server_flags")) && n("sub_states") <= 8
    },
    // One short text and a few numbers: two of these together read nearly anything.
    refuses: |set| {
        let vague = ["nul_", "terminator", "token", "width", "missing", "string_length_u8"];
        set.len() > 1 && set.iter().all(|v| vague.iter().any(|start| v.id.starts_with(start)))
    },
    variations: &[
        &[BIG_ENDIAN, TEXTS_U8],
        LONG_TEXTS,
        &[
            PADDING,
            ZEROS,
            TOKEN_SWAPPED,
            TOKEN_ZERO,
            TOKEN_REPLACED,
            TERMINATOR_ZERO,
            Variation::missing("sub_states"),
            Variation::width("server_flags", 4),
            Variation::width("net_cl", 8),
            Variation::width("sub_state_version", 4),
            Variation::width("sub_state_version", 1),
        ],
    ],
    ..Layout::of(
        STATE_RESPONSE,
        SAYS,
        &[
            MAGIC,
            Const("message", &[1]),
            Const("protocol", &[1]),
            Token("cookie", 8, Little, Key),
            Num(Number::of("state", 1).accepting(|n| (1..=3).contains(&n))),
            Num(Number::of("net_cl", 4)),
            Num(Number::of("server_flags", 8)),
            Count(
                "sub_states",
                1,
                &[
                    Num(Number::of("sub_state_id", 1).accepting(|n| n < 8)),
                    Num(Number::of("sub_state_version", 2)),
                ],
            ),
            Text("server_name"),
            Const("terminator", &[1]),
        ],
    )
};
const ASK: Layout = Layout {
    answer: false,
    order: Little,
    variations: &[&[BIG_ENDIAN, TERMINATOR_ZERO, ZEROS]],
    ..Layout::of(
        POLL,
        SAYS,
        &[
            MAGIC,
            Const("message", &[0]),
            Const("protocol", &[1]),
            Token("cookie", 8, Little, Nothing),
            Const("terminator", &[1]),
        ],
    )
};
