//! What a right server answers.

use super::{PING, PING_IF_OPEN};
use crate::contract::answering::{Reply, Slot, Slot::*, bare, be16, decimal, sized};

pub static REPLIES: &[Reply] = &[Reply::to(PING, PONG), Reply::to(PING_IF_OPEN, PONG)];

const PONG: &[Slot] = &[
    Hex("1c"),
    Asked(1, 9),
    Hex("1122334455667788 00ffff00fefefefefdfdfdfd12345678"),
    Within(
        |status| sized(be16, status),
        &[
            Hex("'MCPE;'"),
            Name(bare),
            Hex("';649;'"),
            Version(bare),
            Hex("';'"),
            Players(decimal),
            Hex("';'"),
            MaxPlayers(decimal),
            Hex("';1234605616436508552;'"),
            Map(bare),
            Hex("';Survival;1;'"),
            Port(decimal),
            Hex("';'"),
            Port(decimal),
            Hex("';'"),
        ],
    ),
];
