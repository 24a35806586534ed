//! What a right server answers.

use super::{GETINFO_REQUEST, GETSTATUS_REQUEST, INFO_REQUEST, STATUS_REQUEST, challenge_text};
use crate::contract::answering::{Reply, Slot, Slot::*, bare, decimal};

pub static REPLIES: &[Reply] = &[
    Reply::to(
        GETINFO_REQUEST,
        &[
            HEAD,
            Hex("'infoResponse' 0a"),
            CHALLENGE,
            Hex(r"'\hostname\'"),
            Name(bare),
            Hex(r"'\mapname\'"),
            Map(bare),
            Hex(r"'\clients\'"),
            Players(decimal),
            Hex(r"'\sv_maxclients\'"),
            MaxPlayers(decimal),
            Hex(r"'\game\'"),
            Game(bare),
            Hex(r"'\protocol\68'"),
        ],
    ),
    Reply::to(
        GETSTATUS_REQUEST,
        &[
            HEAD,
            Hex("'statusResponse' 0a"),
            CHALLENGE,
            Hex(r"'\sv_hostname\'"),
            Name(bare),
            Hex(r"'\mapname\'"),
            Map(bare),
            Hex(r"'\sv_maxclients\'"),
            MaxPlayers(decimal),
            Hex(r"'\gamename\'"),
            Game(bare),
            Hex(r"'\version\'"),
            Version(bare),
            Hex("0a"),
            Each(&[Hex("'0 20 \"'"), Player(bare), Hex("'\"' 0a")]),
        ],
    ),
    // QuakeWorld has a number behind the word.
    Reply::to(
        STATUS_REQUEST,
        &[
            Hex(r"ffffffff 'n\hostname\'"),
            Name(bare),
            Hex(r"'\map\'"),
            Map(bare),
            Hex(r"'\maxclients\'"),
            MaxPlayers(decimal),
            Hex("0a"),
            Each(&[Index(decimal), Hex("' 0 3 45 \"'"), Player(bare), Hex("'\" \"base\" 4 11' 0a")]),
            Hex("00"),
        ],
    )
    .when(|p| p.iter().any(u8::is_ascii_digit)),
    Reply::to(
        STATUS_REQUEST,
        &[
            Hex(r"ffffffff 'print' 0a '\hostname\'"),
            Name(bare),
            Hex(r"'\mapname\'"),
            Map(bare),
            Hex(r"'\maxclients\'"),
            MaxPlayers(decimal),
            Hex("0a"),
            Each(&[Hex("'0 20 \"'"), Player(bare), Hex("'\"' 0a")]),
        ],
    ),
    Reply::to(
        INFO_REQUEST,
        &[
            Hex("ffffffff 'info' 0a"),
            Name(bare),
            Hex("20"),
            Map(bare),
            Hex("20"),
            Players(decimal),
            Hex("2f"),
            MaxPlayers(decimal),
            Hex("0a"),
        ],
    ),
];

/// The prefix; MOHAA has a byte for the direction behind it.
const HEAD: Slot = Echo(|p| if p.get(4) == Some(&2) { vec![255, 255, 255, 255, 1] } else { vec![255; 4] });
const CHALLENGE: Slot = If(
    |p| challenge_text(p).is_some(),
    &[Hex(r"'\challenge\'"), Echo(|p| challenge_text(p).unwrap_or_default().to_vec())],
);
