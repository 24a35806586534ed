//! What a right server answers: in 0.6 to anybody, in 0.7 to who has its token.

use super::{INFO_REQUEST, SEVEN, TOKEN_REQUEST_MESSAGE};
use crate::contract::answering::{Reply, Slot::*, be32, be32_at, decimal_z, zero};

pub static REPLIES: &[Reply] = &[
    Reply::to(TOKEN_REQUEST_MESSAGE, &[Hex("040000"), Asked(8, 12), Hex("05"), Challenge(be32)]),
    Reply::to(
        INFO_REQUEST,
        &[
            Hex("21"),
            Asked(5, 9),
            Asked(1, 5),
            Hex("ffffffff 'inf3'"),
            Asked(17, 22),
            Version(zero),
            Name(zero),
            Hex("00"),
            Map(zero),
            Game(zero),
            Hex("00 00"),
            Players(packed),
            MaxPlayers(packed),
            Players(packed),
            MaxPlayers(packed),
            Each(&[Player(zero), Hex("00 9404"), Index(packed), Hex("00")]),
        ],
    )
    .when(is_seven)
    .returning(be32_at::<1>),
    // A server of 0.6 does not look at the header, and repeats one byte of the token.
    Reply::to(
        INFO_REQUEST,
        &[
            Hex("ff*10 'inf3'"),
            Echo(|p| decimal_z(p.get(14).copied().unwrap_or_default().into())),
            Version(zero),
            Name(zero),
            Map(zero),
            Game(zero),
            Hex("'0' 00"),
            Players(decimal_z),
            MaxPlayers(decimal_z),
            Players(decimal_z),
            MaxPlayers(decimal_z),
            Each(&[Player(zero), Hex("00 '276' 00"), Index(decimal_z), Hex("'1' 00")]),
        ],
    )
    .when(|p| !is_seven(p)),
];

fn is_seven(p: &[u8]) -> bool {
    p.first() == Some(&SEVEN)
}

/// A packed integer: six bits in the first byte, seven in the others, the lowest first.
fn packed(n: u32) -> Vec<u8> {
    let (mut bytes, mut rest) = (vec![(n & 0x3f) as u8], n >> 6);
    while rest > 0 {
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        // The first byte has its bit for a further one at the same place.
        bytes.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    bytes
}
