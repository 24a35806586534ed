//! What a right server answers.

use super::REQUEST;
use crate::contract::answering::{Reply, Slot::*, bare, decimal};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        REQUEST,
        &[
            Hex("'10identify' 1e 12 'gamename' 1f"),
            Game(bare),
            Hex("1e 12 'gamever' 1f"),
            Version(bare),
            Hex("1e 12 'netver' 1f '1' 1e 12 'hostname' 1f"),
            Name(bare),
            Hex("1e 12 'mapname' 1f"),
            Map(bare),
            Hex("1e 12 'numplayers' 1f"),
            Players(decimal),
            Hex("1e 12 'maxplayers' 1f"),
            MaxPlayers(decimal),
            Hex("04"),
        ],
    )
    .when(|p| p == b"identify\x04"),
    Reply::to(REQUEST, &[Hex("'10extensions' 1e 06 04")]).when(|p| p == b"extensions\x04"),
    Reply::to(REQUEST, &[Hex("'10echo' 1e 11"), Echo(|p| argument(p).to_vec()), Hex("04")])
        .when(|p| p.starts_with(ECHO) && !argument(p).iter().any(|byte| (0x1d..=0x1f).contains(byte))),
    Reply::to(REQUEST, &[Hex("'10'"), Echo(echoed), Hex("04")])
        .when(|p| p.starts_with(ECHO) && !p.contains(&0x1d)),
];

const ECHO: &[u8] = b"echo\x1e";

/// What is to be returned, where that is one argument.
fn argument(p: &[u8]) -> &[u8] {
    let rest = p.strip_prefix(ECHO).unwrap_or_default();
    rest.strip_suffix(&[4]).unwrap_or(rest)
}

/// The command, and each of its arguments as a text.
fn echoed(p: &[u8]) -> Vec<u8> {
    let rest = p.strip_suffix(&[4]).unwrap_or(p);
    let mut parts = rest.split(|byte| [0x1e, 0x1f].contains(byte));
    let mut reply = parts.next().unwrap_or_default().to_vec();
    for argument in parts {
        reply.extend([0x1e, 0x11]);
        reply.extend(argument);
    }
    reply
}
