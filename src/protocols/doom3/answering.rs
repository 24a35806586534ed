//! What a right server answers, that of Doom 3.

use super::INFO_REQUEST;
use crate::contract::answering::{Reply, Slot::*, decimal_z, u8, zero};

pub static REPLIES: &[Reply] = &[Reply::to(
    INFO_REQUEST,
    &[
        Hex("ffff 'infoResponse' 00"),
        Echo(echoed),
        Hex("29000100 'si_name' 00"),
        Name(zero),
        Hex("'si_map' 00"),
        Map(zero),
        Hex("'si_maxPlayers' 00"),
        MaxPlayers(decimal_z),
        Hex("'si_version' 00"),
        Version(zero),
        Hex("'si_gameType' 00"),
        Game(zero),
        Hex("0000"),
        Each(&[Index(u8), Hex("2800 803e0000"), Player(zero)]),
        Hex("20 07000000"),
    ],
)];

/// Four bytes behind the word; 255 for each that is not there.
fn echoed(p: &[u8]) -> Vec<u8> {
    p.iter().skip(10).copied().chain([255; 4]).take(4).collect()
}
