//! What a right server answers, in version 4.

use super::{DETAIL_REQUEST, FIND_REQUEST};
use crate::contract::answering::{Reply, Slot::*, le16, u8, zero};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        FIND_REQUEST,
        &[Within(
            whole,
            &[
                Hex("01 04 00 e83e0b00 b1dc0a00 0f 02 0a"),
                Name(zero),
                Version(zero),
                Hex("00 00"),
                MaxPlayers(u8),
                Players(u8),
                Hex("00"),
                Map(zero),
                Hex("0001 0002 01 01"),
            ],
        )],
    ),
    Reply::to(DETAIL_REQUEST, &[Within(whole, &[Hex("03 06 00")])]),
];

/// The size of the whole datagram, which counts itself, and the rest.
fn whole(rest: &[u8]) -> Vec<u8> {
    [&le16((rest.len() as u32).saturating_add(2)), rest].concat()
}
