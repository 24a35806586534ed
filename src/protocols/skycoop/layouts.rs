//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{STATUS_REQUEST, STATUS_RESPONSE};
use crate::layout::Order::Little;
use crate::layout::Part::{ConstNumber, Number as Num, Text, TextAs};
use crate::layout::common::*;
use crate::layout::{Encoding, Form, Layout, Number, Says, Variation};

const SAYS: [Says; 3] = [
    ("Sky Co-op is little-endian", "Packet.cs"),
    (
        "texts of Sky Co-op are UTF-16, little-endian, behind a length of 32 bits in bytes; the version is UTF-8",
        "Packet.cs",
    ),
    ("a message of Sky Co-op has its fields and nothing else", "Packet.cs"),
];

pub(super) static LAYOUTS: &[Layout] = &[STATUS, ASK];

const STATUS: Layout = Layout {
    order: Little,
    form: Form::U32_LE,
    encoding: Encoding::Utf16Le,
    narrow: &["version"],
    plausible: |r| {
        let (players, max) = (r.number("players").unwrap_or(0), r.number("max_players").unwrap_or(0));
        let config = r.string("config");
        0 <= players
            && players <= max.saturating_add(1)
            && max <= 1000
            && config.starts_with('{')
            && config.ends_with('}')
    },
    variations: &[&[
        BIG_ENDIAN,
        UTF8,
        UTF16_BE,
        UNIT,
        TEXTS_U8,
        TEXTS_U16_LE,
        TEXTS_7_BITS,
        TEXTS_NUL,
        NUL_COUNTED,
        NUL_UNCOUNTED,
        Variation::width("players", 2),
        Variation::width("players", 1),
        Variation::width("header", 1),
        Variation::width("header", 2),
        ZEROS,
    ]],
    ..Layout::of(
        STATUS_RESPONSE,
        SAYS,
        &[
            ConstNumber("header", &[147, 0, 0, 0]),
            Text("name"),
            TextAs("version", Form::U32_LE, Encoding::Utf8),
            Num(Number::of("players", 4).signed().within("players")),
            Num(Number::of("max_players", 4).signed().within("players")),
            Text("config"),
        ],
    )
};
const ASK: Layout = Layout {
    answer: false,
    order: Little,
    variations: &[&[BIG_ENDIAN, ZEROS]],
    ..Layout::of(STATUS_REQUEST, SAYS, &[ConstNumber("type", b"\xfe\xff\xff\xff")])
};
