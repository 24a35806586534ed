//! What a right server answers.

use super::{BASIC_REQUEST, CHALLENGE_REQUEST, FULL_REQUEST};
use crate::contract::answering::{Reply, Slot::*, be32_at, decimal_z, le16, zero};

pub static REPLIES: &[Reply] = &[
    Reply::to(CHALLENGE_REQUEST, &[Hex("09"), Asked(3, 7), Challenge(decimal_z)]),
    Reply::to(
        FULL_REQUEST,
        &[
            Hex("00"),
            Asked(3, 7),
            Hex("'splitnum' 00 80 00 'hostname' 00"),
            Name(zero),
            Hex("'gametype' 00"),
            Game(zero),
            Hex("'version' 00"),
            Version(zero),
            Hex("'map' 00"),
            Map(zero),
            Hex("'numplayers' 00"),
            Players(decimal_z),
            Hex("'maxplayers' 00"),
            MaxPlayers(decimal_z),
            Hex("'hostport' 00"),
            Port(decimal_z),
            // What clients of Minecraft want besides.
            Hex("'hostip' 00 '127.0.0.1' 00 'plugins' 00 00 'game_id' 00"),
            Game(zero),
            Hex("00 01 'player_' 00 00"),
            Each(&[Player(zero)]),
            Hex("00 00 02 00"),
        ],
    )
    .returning(be32_at::<7>),
    Reply::to(
        BASIC_REQUEST,
        &[
            Hex("00"),
            Asked(3, 7),
            Name(zero),
            Game(zero),
            Map(zero),
            Players(decimal_z),
            MaxPlayers(decimal_z),
            Port(le16),
            Hex("'127.0.0.1' 00"),
        ],
    )
    .returning(be32_at::<7>),
];
