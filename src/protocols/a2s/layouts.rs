//! How the messages are built, and the mistakes that servers and clients make with them.

use super::*;
use crate::layout::Known::{Issued, Nothing};
use crate::layout::Order::Little;
use crate::layout::Part::{Const, Count, Custom, Number as Num, Text, Token};
use crate::layout::common::*;
use crate::layout::wholes::{self, Whole};
use crate::layout::{Encoding, Form, Layout, Number, Reader, Says, Variation};

const SAYS: [Says; 3] = [
    ("A2S is little-endian", "Data Types"),
    ("texts of A2S are UTF-8 and end with a zero byte", "Data Types"),
    ("a message of A2S has the fields of its page and nothing else", "Requests"),
];
const PREFIX: crate::layout::Part = Const("prefix", b"\xff\xff\xff\xff");

pub(super) static LAYOUTS: &[Layout] = &[INFO, PLAYERS, RULES, CHALLENGE, ASKS_PLAYERS, ASKS_RULES];

static NO_PREFIX: Whole =
    Whole::of("prefix_missing", "the four bytes FF before the message are there", |data| {
        matches!(data.first(), Some(b'I' | b'D' | b'E' | b'A')).then(|| [b"\xff\xff\xff\xff", data].concat())
    });
static TWO_PREFIXES: Whole =
    Whole::of("prefix_twice", "the four bytes FF before the message are there once", |data| {
        data.starts_with(&[0xff; 8]).then(|| data.get(4..).map(<[u8]>::to_vec))?
    });

const WHOLES: &[&[&Whole]] = &[wholes::ALL, &[&NO_PREFIX, &TWO_PREFIXES]];

const fn answer_of(message: u8, parts: &'static [crate::layout::Part]) -> Layout {
    Layout {
        order: Little,
        form: Form::Nul,
        encoding: Encoding::Bytes,
        wholes: WHOLES,
        ..Layout::of(message, SAYS, parts)
    }
}
const fn request_of(message: u8, parts: &'static [crate::layout::Part]) -> Layout {
    Layout {
        answer: false,
        needs_issued: true,
        variations: &[&[TOKEN_SWAPPED, ZEROS]],
        ..answer_of(message, parts)
    }
}
const CHALLENGE: Layout = Layout {
    variations: &[&[TOKEN_AS_TEXT, ZEROS]],
    ..answer_of(CHALLENGE_RESPONSE, &[PREFIX, Const("type", b"A"), Token("challenge", 4, Little, Nothing)])
};
const ASKS_PLAYERS: Layout =
    request_of(PLAYERS_REQUEST, &[PREFIX, Const("type", b"U"), Token("challenge", 4, Little, Issued)]);
const ASKS_RULES: Layout =
    request_of(RULES_REQUEST, &[PREFIX, Const("type", b"V"), Token("challenge", 4, Little, Issued)]);

const INFO: Layout = Layout {
    step: Some(INFO_STEP),
    plausible: is_plausible,
    variations: &[&[
        BIG_ENDIAN,
        TEXTS_U8,
        TEXTS_7_BITS,
        TEXTS_U16_LE,
        TEXTS_U32_LE,
        TEXTS_U16_BE,
        NUL_TWICE,
        UTF16_LE,
        ZEROS,
        Variation::width("app_id", 4),
        Variation::width("players", 2),
        Variation::width("players", 4),
        Variation::missing("bots"),
        Variation::missing("port"),
        Variation::missing("steam_id"),
    ]],
    ..answer_of(
        INFO_RESPONSE,
        &[
            PREFIX,
            Const("type", b"I"),
            Num(Number::of("protocol", 1)),
            Text("name"),
            Text("map"),
            Text("folder"),
            Text("game"),
            Num(Number::of("app_id", 2)),
            Num(Number::of("players", 1).within("players")),
            Num(Number::of("max_players", 1).within("players")),
            Num(Number::of("bots", 1).within("players")),
            Num(Number::of("server_type", 1).accepting(|n| letter(n, b"dlpDLP"))),
            Num(Number::of("environment", 1).accepting(|n| letter(n, b"lwmoLWMO"))),
            Num(Number::of("visibility", 1).accepting(|n| n < 2)),
            Num(Number::of("vac", 1).accepting(|n| n < 2)),
            Text("version"),
            Custom(extra_data),
        ],
    )
};
const PLAYERS: Layout = Layout {
    step: Some(PLAYERS_STEP),
    plausible: |r| r.number("odd").is_none() && r.number("count").is_some_and(|n| n > 0),
    variations: &[&[
        BIG_ENDIAN,
        TEXTS_U8,
        NUL_TWICE,
        UTF16_LE,
        ZEROS,
        Variation::custom("integer_for_float", "{} is an integer").at("duration"),
        Variation::custom("milliseconds", "{} is in milliseconds").at("duration"),
        Variation::width("duration", 8),
        Variation::missing("index"),
        Variation::width("count", 4),
        Variation::width("count", 2),
        Variation::width("score", 2),
    ]],
    ..answer_of(PLAYERS_RESPONSE, &[PREFIX, Const("type", b"D"), Count("count", 1, &[Custom(player)])])
};
const RULES: Layout = Layout {
    step: Some(RULES_STEP),
    plausible: |r| r.number("count").is_some_and(|n| (1..1000).contains(&n)),
    variations: &[&[
        BIG_ENDIAN,
        TEXTS_U8,
        NUL_TWICE,
        UTF16_LE,
        ZEROS,
        Variation::width("count", 1),
        Variation::width("count", 4),
    ]],
    ..answer_of(RULES_RESPONSE, &[PREFIX, Const("type", b"E"), Count("count", 2, &[Custom(|r| r.pair())])])
};

fn letter(n: i64, letters: &[u8]) -> bool {
    letters.iter().any(|letter| i64::from(*letter) == n)
}

fn is_plausible(r: &Reader<'_>) -> bool {
    let n = |name| r.number(name).unwrap_or(0);
    let (game, app, steam) = (n("game_id"), n("app_id"), n("steam_id") as u64);
    n("players") <= 255
        && n("max_players") <= 1000
        && (game == 0 || app == 0 || game & 0xffff == app)
        && (steam == 0 || steam >> 56 == 1)
}

/// The flag of further fields, and the fields. Without others behind it, nothing shows that one is left out.
fn extra_data(r: &mut Reader<'_>) -> Option<()> {
    if r.rest().is_empty() {
        return Some(());
    }
    let [flag] = *r.copy(1)? else { return None };
    if flag & 0x0e != 0 {
        return None;
    }
    let fields = [
        (0x80, "port", 2),
        (0x10, "steam_id", 8),
        (0x40, "stv_port", 2),
        (0x40, "stv_name", 0),
        (0x20, "keywords", 0),
        (0x01, "game_id", 8),
    ];
    for (bit, name, width) in fields {
        if flag & bit == 0 {
            continue;
        }
        let shown = match name {
            "port" => flag & 0x31 != 0,
            "steam_id" => flag & 0x21 != 0,
            _ => true,
        };
        if !shown && r.may_vary("missing_field", name) {
            return None;
        }
        if width == 0 {
            r.text(name)?;
        } else {
            let n = r.copy_number(name, width)?;
            r.keep(name, n as i64);
        }
    }
    Some(())
}

fn player(r: &mut Reader<'_>) -> Option<()> {
    r.copy_number("index", 1)?;
    r.text("name")?;
    let score = r.copy_signed("score", 4)?;
    let seconds = r.copy_float("duration")?;
    let usual = seconds.is_finite()
        && (-2.0..4e6).contains(&seconds)
        && (seconds == 0.0 || seconds.abs() >= 1e-3)
        && score.saturating_abs() < 100_000;
    if !usual || seconds < 10.0 && r.may_vary("milliseconds", "duration") {
        r.keep("odd", 1);
    }
    Some(())
}
