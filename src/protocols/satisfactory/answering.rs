//! What a right server answers.

use super::{LEGACY_POLL, POLL};
use crate::contract::answering::{Reply, Slot::*, le16, sized};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        POLL,
        &[
            Hex("d5f6 01 01"),
            Asked(4, 12),
            Hex("03 7a960500 00*8 04 001100 010100 030500 020100"),
            Name(|name| sized(le16, name.as_bytes())),
            Hex("01"),
        ],
    )
    .when(is_whole),
    Reply::to(LEGACY_POLL, &[Hex("0100"), Asked(2, 10), Hex("03 7f3b0300"), Port(le16)]),
];

/// Whether a poll has its cookie, and the terminator behind it; any other gets no answer.
fn is_whole(p: &[u8]) -> bool {
    p.get(12) == Some(&1)
}
