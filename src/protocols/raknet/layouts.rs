//! How the messages are built, and the mistakes that servers and clients make with them.

use super::{MAGIC, PONG};
use crate::layout::Known::{Key, Nothing};
use crate::layout::Order::Big;
use crate::layout::Part::{Const, Text, Token};
use crate::layout::common::*;
use crate::layout::wholes::{self, Whole};
use crate::layout::{Form, Layout, Reader, Says, Variation};

const SAYS: [Says; 3] = [
    ("RakNet is big-endian", "Unconnected Pong"),
    ("the status is UTF-8 behind a length of 16 bits, big-endian", "Unconnected Pong"),
    ("a pong has the time of the ping, the GUID, the magic and the status", "Unconnected Pong"),
];
/// Where the status begins whose length is left out.
const STATUS_AT: usize = 33;

pub(super) static LAYOUTS: &[Layout] = &[STATUS];

static NO_LENGTH: Whole =
    Whole::of("missing_field@status_length", "the length of the status is left out", |data| {
        let (head, status) = data.split_at_checked(STATUS_AT)?;
        let length = u16::try_from(status.len()).ok()?.to_be_bytes();
        let begins = status.starts_with(b"MCPE;") || status.starts_with(b"MCEE;");
        begins.then(|| [head, &length, status].concat())
    });

const STATUS: Layout = Layout {
    form: Form::U16_BE,
    one_text: true,
    plausible: is_status,
    variations: &[
        &[TEXTS_U8],
        LONG_TEXTS,
        &[little_endian_at("status_length"), TOKEN_SWAPPED, ZEROS, Variation::missing("magic")],
    ],
    wholes: &[wholes::ALL, &[&NO_LENGTH]],
    ..Layout::of(
        PONG,
        SAYS,
        &[
            Const("id", &[0x1c]),
            Token("time", 8, Big, Key),
            Token("server_guid", 8, Big, Nothing),
            Const("magic", MAGIC),
            Text("status"),
        ],
    )
};

/// Whether there are numbers where a status has numbers.
fn is_status(r: &Reader<'_>) -> bool {
    let fields: Vec<&str> = r.string("status").trim_end_matches(';').split(';').collect();
    let is_number = |text: &str| {
        let digits = text.trim_start_matches('-');
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    matches!(fields.first(), Some(&"MCPE" | &"MCEE"))
        && (6..16).contains(&fields.len())
        && fields.iter().enumerate().all(|(i, field)| !matches!(i, 4 | 5 | 9..) || is_number(field))
}
