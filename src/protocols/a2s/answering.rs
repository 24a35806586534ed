//! What a right server answers.

use super::{CHALLENGE_REQUEST, INFO_REQUEST, NONE_YET, PING_REQUEST, PLAYERS_REQUEST, RULES_REQUEST};
use crate::contract::answering::{Reply, Slot, Slot::*, le16, le32, le32_at, u8, zero};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        INFO_REQUEST,
        &[
            Hex("ffffffff 49 11"),
            Name(zero),
            Map(zero),
            Hex("'lab' 00"),
            Game(zero),
            Hex("0000"),
            Players(u8),
            MaxPlayers(u8),
            Hex("00 'dl' 00 00"),
            Version(zero),
            Hex("80"),
            Port(le16),
        ],
    )
    .returning(returned::<25>),
    Reply::to(
        PLAYERS_REQUEST,
        &[Hex("ffffffff 44"), Players(u8), Each(&[Index(u8), Player(zero), Index(le32), Hex("0000c842")])],
    )
    .returning(returned::<5>),
    Reply::to(RULES_REQUEST, &[Hex("ffffffff 45 0200 'mp_timelimit' 00 '30' 00 'sv_gravity' 00 '800' 00")])
        .returning(returned::<5>),
    Reply::to(INFO_REQUEST, CHALLENGE),
    Reply::to(PLAYERS_REQUEST, CHALLENGE),
    Reply::to(RULES_REQUEST, CHALLENGE),
    Reply::to(CHALLENGE_REQUEST, CHALLENGE),
    Reply::to(PING_REQUEST, &[Hex("ffffffff 6a '00000000000000' 00")]),
];

const CHALLENGE: &[Slot] = &[Hex("ffffffff 41"), Challenge(le32)];

/// The challenge at this position, unless it asks for one.
fn returned<const AT: usize>(p: &[u8]) -> Option<u32> {
    le32_at::<AT>(p).filter(|challenge| !NONE_YET.contains(challenge))
}
