//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{CHALLENGE_RESPONSE, QUERY_REQUEST, QUERY_RESPONSE};
use crate::layout::Known::{Issued, Key, Nothing};
use crate::layout::Order::Big;
use crate::layout::Part::{Const, Custom, Number as Num, Rest, Sized as Counted, Texts, Token};
use crate::layout::common::*;
use crate::layout::{Layout, Length, Number, Part, Reader, Says, Sized, Variation};

const SAYS: [Says; 3] = [
    ("SQP is big-endian", "Data types"),
    ("texts of SQP are UTF-8 behind a length of 8 bits", "Data types"),
    ("a message of SQP has the fields of its page and nothing else", "Packet format"),
];

pub(super) static LAYOUTS: &[Layout] = &[RESPONSE, CHALLENGE, QUERY];

const CHALLENGE: Layout = Layout {
    step: Some(super::CHALLENGE),
    nonzero: true,
    variations: &[&[ZEROS, WRONG_TYPE, TOKEN_AS_TEXT, PADDING, Variation::width("token", 8)]],
    ..Layout::of(CHALLENGE_RESPONSE, SAYS, &[Const("type", &[0]), Token("token", 4, Big, Nothing)])
};

const QUERY: Layout = Layout {
    answer: false,
    needs_issued: true,
    plausible: |r| {
        (0..=2).contains(&r.number("version").unwrap_or(0))
            && (1..32).contains(&r.number("requested_chunks").unwrap_or(0))
    },
    variations: &[&[
        LITTLE_ENDIAN,
        PADDING,
        ZEROS,
        WRONG_TYPE,
        TOKEN_SWAPPED,
        TOKEN_REPLACED,
        Variation::width("version", 4),
        Variation::missing("version"),
        Variation::width("requested_chunks", 4),
    ]],
    ..Layout::of(
        QUERY_REQUEST,
        SAYS,
        &[
            Const("type", &[1]),
            Token("token", 4, Big, Issued),
            Num(Number::of("version", 2)),
            Num(Number::of("requested_chunks", 1)),
        ],
    )
};

const RESPONSE: Layout = Layout {
    step: Some(super::QUERY),
    sized: true,
    wrapped: &["server_name", "game_type", "build_id", "map"],
    plausible: |r| {
        let n = |name| r.number(name).unwrap_or(0);
        let (now, max) = (n("current_players"), n("max_players"));
        (now <= max || max == 0) && max <= 2000 && n("version") <= 2
    },
    variations: &[&[LITTLE_ENDIAN], LONG_TEXTS, VARIATIONS],
    ..Layout::of(
        QUERY_RESPONSE,
        SAYS,
        &[
            Const("type", &[1]),
            Token("token", 4, Big, Key),
            Num(Number::of("version", 2)),
            Custom(packet_numbers),
            Counted(Sized { name: "packet_length", width: 2, fill: true, parts: &[Custom(chunks)] }),
        ],
    )
};

const VARIATIONS: &[Variation] = &[
    TEXTS_FIXED,
    COUNTS_ITSELF,
    WRAPPED,
    PADDING,
    PADDING_BEHIND,
    ZEROS,
    WRONG_TYPE,
    TOKEN_SWAPPED,
    TOKEN_ZERO,
    TOKEN_REPLACED,
    Variation::length("packet_length", Length::Header),
    Variation::length("packet_length", Length::Itself),
    Variation::length("packet_length", Length::NoChunkLengths),
    Variation::length("packet_length", Length::Zero),
    Variation::length("chunk_length", Length::Itself),
    Variation::length("chunk_length", Length::Zero),
    little_endian_at("packet_length"),
    little_endian_at("chunk_length"),
    Variation::missing("chunk_length"),
    Variation::missing("packet_length"),
    Variation::missing("packet_numbers"),
    Variation::missing("version"),
    Variation::width("version", 4),
    Variation::width("chunk_length", 2),
    Variation::width("packet_length", 4),
    Variation::custom("packet_numbers_from_one", "packet numbers begin with 1").weakly(),
    Variation::custom("last_packet_is_count", "the last packet is the number of packets").weakly(),
    Variation::missing("text"),
    Variation::missing("port"),
    Variation::width("players", 4),
    Variation::width("players", 1),
    Variation::width("port", 4),
    Variation::custom("type_before_key", "the type of a rule goes before its key"),
    Variation::extra("count"),
    Variation::extra("type"),
    Variation::width("record_count", 1),
    Variation::width("record_count", 4),
    Variation::width("metric_count", 2),
    Variation::width("metric_count", 4),
    Variation::width("metrics", 8),
];

static INFO: Sized = chunk(&[
    Num(Number::of("current_players", 2).within("players")),
    Num(Number::of("max_players", 2).within("players")),
    Texts(&["server_name", "game_type", "build_id", "map"]),
    Num(Number::of("port", 2)),
]);
static RULES: Sized = chunk(&[Rest(&[Custom(rule)])]);
static TABLE: Sized = chunk(&[Custom(table)]);
static METRICS: Sized = chunk(&[Custom(metrics)]);

const fn chunk(parts: &'static [Part]) -> Sized {
    Sized { name: "chunk_length", width: 4, fill: false, parts }
}

/// The chunks that the query requests.
fn chunks(r: &mut Reader<'_>) -> Option<()> {
    let asked = r.expected.asked.filter(|asked| asked & super::UNKNOWN_CHUNKS == 0)?;
    let asked = if asked & 31 == 0 { 1 } else { asked };
    for (bit, chunk) in [(1, &INFO), (2, &RULES), (4, &TABLE), (8, &TABLE), (16, &METRICS)] {
        if asked & bit != 0 {
            r.sized(chunk)?;
        }
    }
    Some(())
}

/// The number of this packet and that of the last one.
fn packet_numbers(r: &mut Reader<'_>) -> Option<()> {
    if !r.misses("packet_numbers") {
        match r.take(2)? {
            [0, 0] => {}
            [1, 1] => r.varies("packet_numbers_from_one", "").then_some(())?,
            [0, 1] => r.varies("last_packet_is_count", "").then_some(())?,
            _ => return None,
        }
    }
    r.write(&[0, 0]);
    Some(())
}

/// A value of that type.
fn value(r: &mut Reader<'_>, kind: u8) -> Option<()> {
    match kind {
        0..=3 => r.copy_number("value", 1 << kind).map(drop),
        4 => r.text("value"),
        5 => r.copy_float("value").map(drop),
        _ => None,
    }
}

fn rule(r: &mut Reader<'_>) -> Option<()> {
    if r.varies("type_before_key", "") {
        let kind = r.byte()?;
        r.text("key")?;
        r.write(&[kind]);
        return (!r.last_text().is_empty()).then(|| value(r, kind))?;
    }
    r.text("key")?;
    let named = !r.last_text().is_empty();
    let [kind] = *r.copy(1)? else { return None };
    named.then(|| value(r, kind))?
}

fn table(r: &mut Reader<'_>) -> Option<()> {
    let rows = r.copy_number("record_count", 2).filter(|rows| *rows <= 1000)?;
    let columns = r.copy_number("field_count", 1).filter(|columns| *columns <= 20)?;
    let mut kinds = vec![];
    for _ in 0..columns {
        r.text("name")?;
        let [kind @ 0..=5] = *r.copy(1)? else { return None };
        kinds.push(kind);
    }
    for _ in 0..rows {
        for &kind in &kinds {
            if r.varies("extra_field", "type") && r.byte()? != kind {
                return None;
            }
            value(r, kind)?;
        }
    }
    Some(())
}

fn metrics(r: &mut Reader<'_>) -> Option<()> {
    let n = r.copy_number("metric_count", 1).filter(|n| *n <= 25)?;
    for _ in 0..n {
        let x = r.copy_float("metrics")?;
        if !x.is_finite() || x.abs() > 1e9 || x != 0.0 && x.abs() < 1e-6 {
            return None;
        }
    }
    Some(())
}
