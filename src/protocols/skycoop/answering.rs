//! What a right server answers.

use super::STATUS_REQUEST;
use crate::contract::answering::{Reply, Slot::*, bare, le32, long, sized};

pub static REPLIES: &[Reply] = &[Reply::to(
    STATUS_REQUEST,
    &[
        Hex("93000000"),
        Name(|name| wide(name.as_bytes())),
        Version(long),
        Players(le32),
        MaxPlayers(le32),
        Within(
            wide,
            &[
                Hex("'{' 27 'players' 27 ':['"),
                Each(&[Hex("27"), Player(bare), Hex("27 ','")]),
                Hex("'],' 27 'experience' 27 ':' 27 'Stalker' 27 ',' 27 'pvp' 27 ':' 27 'True' 27 '}'"),
            ],
        ),
    ],
)];

/// UTF-16, with its length in bytes in front. No comma is left behind the last player.
fn wide(text: &[u8]) -> Vec<u8> {
    let units = String::from_utf8_lossy(text).replace("',]", "']");
    let bytes: Vec<u8> = units.encode_utf16().flat_map(u16::to_le_bytes).collect();
    sized(le32, &bytes)
}
