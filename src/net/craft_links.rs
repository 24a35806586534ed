//! Link headers for tests, put together by hand.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::craft::{ethernet, join};

/// Every link type the walk knows.
pub const LINKS: [u16; 44] = [
    0, 1, 6, 9, 10, 12, 14, 50, 51, 100, 101, 104, 105, 107, 108, 109, 113, 117, 119, 122, 123, 127, 138,
    149, 163, 166, 192, 204, 205, 206, 219, 226, 228, 229, 239, 240, 241, 242, 258, 276, 281, 282, 284, 285,
];

/// A packet behind the simplest header of each link type; `None` where the link type has no such packets.
pub fn linked(link: u16, packet: &[u8]) -> Option<Vec<u8>> {
    let is_v6 = packet[0] >> 4 == 6;
    let kind: &[u8] = if is_v6 { &[0x86, 0xdd] } else { &[0x08, 0x00] };
    let family = |v4, v6| if is_v6 { v6 } else { v4 };
    let ppp = [0, family(0x21, 0x57)];
    let wired = ethernet(u16::from_be_bytes([kind[0], kind[1]]), packet);
    let relay = [0x18, 0x41, 3, family(0xcc, 0x8e)];
    Some(match link {
        0 => join(&[&[family(2, 30), 0, 0, 0], packet]),
        108 => join(&[&[0, 0, 0, family(2, 24)], packet]),
        1 => wired,
        6 => join(&[&[0x10, 0x40], &[2; 12], &snap(packet)]),
        9 | 50 => join(&[&[0xff, 3], &ppp, packet]),
        10 => join(&[&[0x50], &[2; 12], &snap(packet)]),
        51 => join(&[&[0x11, 0, 0, 7], &(packet.len() as u16 + 2).to_be_bytes(), &ppp, packet]),
        100 => snap(packet),
        104 => join(&[&[0x0f, 0], kind, packet]),
        105 => wifi(0x08, 1, packet),
        107 => join(&[&relay, packet]),
        109 => join(&[&[family(2, 24), 0, 0, 0], &[0; 8], packet]),
        113 => join(&[&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], kind, packet]),
        117 => join(&[&[61, family(2, 24)], &[0; 62], packet]),
        119 => join(&[&[0x44, 0, 0, 0, 144, 0, 0, 0], &[0; 136], &wifi(0x08, 1, packet)]),
        122 => join(&[&[2; 16], &snap(packet)]),
        123 => join(&[&[2, 0, 0, 32], &snap(packet)]),
        127 => join(&[&[0, 0, 8, 0, 0, 0, 0, 0], &wifi(0x08, 1, packet)]),
        138 => join(&[&[2; 16], kind, packet]),
        149 | 258 => join(&[&[108, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], &[0; 96], &wired]),
        163 => join(&[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64], &[0; 56], &wifi(0x08, 1, packet)]),
        166 => join(&[&[1, 3], &ppp, packet]),
        192 => join(&[&[0, 0, 8, 0, 105, 0, 0, 0], &wifi(0x08, 1, packet)]),
        204 => join(&[&[1, 0xff, 3], &ppp, packet]),
        205 => join(&[&[1, 0x8f, 0], kind, packet]),
        206 => join(&[&[1], &relay, packet]),
        219 => join(&[&[0, 1, 0x01, 64], packet]),
        226 => join(&[&[1, family(2, 26)], &[0; 22], packet]),
        239 => {
            let length = (packet.len() as u16 + 4).to_le_bytes();
            let prefix = [6, 0, 10, 0, b'x', 0, 0, 0];
            join(&[&[family(2, 10), 0, 0, 0], &prefix, &length, &[9, 0], packet])
        }
        240 | 282 => join(&[&[1; 4], &wired]),
        241 => join(&[&[1; 12], &wired]),
        242 => join(&[&[2; 40], kind, &[0, 0], packet]),
        276 => join(&[kind, &[0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0], packet]),
        281 | 284 => join(&[&wired[..12], &[0x20, 0, 0, 3], kind, packet]),
        285 => join(&[&wired[..12], &[0xda, 0xda, 0, 0, 0x20, 0, 0, 3], kind, packet]),
        228 if is_v6 => return None,
        229 if !is_v6 => return None,
        _ => packet.to_vec(),
    })
}

/// LLC and SNAP in front of a packet.
pub fn snap(packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    join(&[&[0xaa, 0xaa, 3, 0, 0, 0], &kind, packet])
}

/// An 802.11 frame with every header that its first two bytes call for.
pub fn wifi(kind: u8, flags: u8, packet: &[u8]) -> Vec<u8> {
    join(&[&wifi_head(kind, flags), &snap(packet)])
}

/// The headers of an 802.11 frame: three addresses or four, QoS, HT control.
pub fn wifi_head(kind: u8, flags: u8) -> Vec<u8> {
    let (relayed, qos) = (flags & 3 == 3, kind & 0x80 != 0);
    let fourth: &[u8] = if relayed { &[2; 6] } else { &[] };
    let quality: &[u8] = if qos { &[5, 0] } else { &[] };
    let control: &[u8] = if qos && flags & 0x80 != 0 { &[9; 4] } else { &[] };
    join(&[&[kind, flags, 0, 0], &[2; 18], &[0x30, 0x12], fourth, quality, control])
}
