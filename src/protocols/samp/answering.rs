//! What a right server answers.

use super::{CLIENT_LIST_REQUEST, DETAILED_PLAYERS_REQUEST, INFO_REQUEST, PING_REQUEST, RULES_REQUEST, SAMP};
use crate::contract::answering::{Reply, Slot::*, bare, le16, le32, long, short, sized, u8};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        INFO_REQUEST,
        &[
            Asked(0, 11),
            Hex("00"),
            Players(le16),
            MaxPlayers(le16),
            Name(long),
            Game(long),
            Hex("07000000 'English'"),
        ],
    )
    .when(is_samp),
    Reply::to(
        RULES_REQUEST,
        &[
            Asked(0, 11),
            Hex("0200 07 'mapname'"),
            Within(|map| sized(u8, map), &[Map(bare)]),
            Hex("07 'version'"),
            Version(short),
        ],
    )
    .when(is_samp),
    Reply::to(CLIENT_LIST_REQUEST, &[Asked(0, 11), Players(le16), Each(&[Player(short), Index(le32)])])
        .when(is_samp),
    Reply::to(
        DETAILED_PLAYERS_REQUEST,
        &[Asked(0, 11), Players(le16), Each(&[Index(u8), Player(short), Index(le32), Hex("14000000")])],
    )
    .when(is_samp),
    Reply::to(PING_REQUEST, &[Asked(0, 15)]).when(is_samp),
];

/// Vice City has other letters in its answers.
fn is_samp(p: &[u8]) -> bool {
    p.starts_with(SAMP)
}
