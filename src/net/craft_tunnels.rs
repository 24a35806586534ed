//! Packets in tunnels for tests, put together by hand.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::craft::*;
use super::craft_links::linked;

/// The payload of the datagram in all of them.
pub const QUERY: &[u8] = b"\x01\x00\x00\x00\x00\x00\x01\x01";

/// A tunnel's name, and what puts a packet into it as the payload of an IP packet of that protocol.
pub type Craft = (&'static str, fn(&[u8]) -> (u8, Vec<u8>));

pub fn wired(packet: &[u8]) -> Vec<u8> {
    linked(1, packet).unwrap()
}

pub fn kind(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] }
}

pub fn over(port: u16, parts: &[&[u8]]) -> (u8, Vec<u8>) {
    (17, udp_between(55_555, port, &join(parts)))
}

pub fn gtp(flags: u8, optional: &[u8], packet: &[u8]) -> (u8, Vec<u8>) {
    let length = (optional.len() + packet.len()) as u16;
    over(2152, &[&[0x30 | flags, 0xff], &length.to_be_bytes(), &[0, 0, 1, 2], optional, packet])
}

/// Every form of every tunnel but IP in IP and Teredo, which [`tunnelled`] adds.
pub const CRAFTS: &[Craft] = &[
    ("gre", |p| (47, join(&[&[0, 0], &kind(p), p]))),
    ("gre:7", |p| (47, join(&[&[0x20, 0], &kind(p), &[0, 0, 0, 7], p]))),
    ("gre:7", |p| (47, join(&[&[0xb0, 0], &kind(p), &[0; 4], &[0, 0, 0, 7], &[0; 4], p]))),
    ("gre", |p| (47, join(&[&[0x10, 0, 0x65, 0x58], &[0; 4], &wired(p)]))),
    ("gre", |p| (47, join(&[&[0, 0, 0x88, 0x47], &[0, 1, 0x01, 64], p]))),
    ("erspan", |p| (47, join(&[&[0, 0, 0x88, 0xbe], &wired(p)]))),
    ("erspan:517", |p| {
        (47, join(&[&[0x10, 0, 0x88, 0xbe], &[0; 4], &[0x10, 1, 0xfa, 5], &[0; 4], &wired(p)]))
    }),
    ("erspan:5", |p| (47, join(&[&[0x10, 0, 0x22, 0xeb], &[0; 4], &[0x20, 1, 0, 5], &[0; 8], &wired(p)]))),
    ("erspan:5", |p| {
        let head = [0x20, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0x08, 0x01, 9, 9, 9, 9, 9, 9, 9, 9];
        (47, join(&[&[0x10, 0, 0x22, 0xeb], &[0; 4], &head, p]))
    }),
    ("vxlan:66051", |p| over(4789, &[&[8, 0, 0, 0, 1, 2, 3, 0], &wired(p)])),
    ("vxlan:1", |p| over(8472, &[&[8, 0, 0, 0, 0, 0, 1, 0], &wired(p)])),
    ("vxlan:1", |p| over(4790, &[&[0x0c, 0, 0, 3, 0, 0, 1, 0], &wired(p)])),
    ("vxlan:1", |p| over(4790, &[&[0x0c, 0, 0, if p[0] >> 4 == 6 { 2 } else { 1 }, 0, 0, 1, 0], p])),
    ("geneve:9", |p| over(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &wired(p)])),
    ("geneve:9", |p| over(6081, &[&[2, 0x40], &kind(p), &[0, 0, 9, 0], &[1; 8], p])),
    ("geneve:9", |p| over(6081, &[&[0x3f, 0], &kind(p), &[0, 0, 9, 0], &[1; 252], p])),
    ("gtp:258", |p| gtp(0, &[], p)),
    ("gtp:258", |p| gtp(2, &[0, 1, 0, 0], p)),
    ("gtp:258", |p| gtp(4, &[0, 0, 0, 0x85, 1, 0, 9, 0xc0, 2, 1, 1, 1, 1, 1, 1, 0], p)),
];

/// Packets with our datagram, each with the names of its tunnels: one tunnel of each form.
pub fn tunnelled() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![];
    for inner in [v4(17, &udp(QUERY)), v6(17, &udp(QUERY))] {
        for (name, craft) in CRAFTS {
            let (protocol, body) = craft(&inner);
            all.push((*name, v4(protocol, &body)));
            all.push((*name, v4_with(&[1; 4], protocol, &body)));
            all.push((*name, v6(protocol, &body)));
            all.push((*name, v6(60, &join(&[&[protocol, 0, 0, 0, 0, 0, 0, 0], &body]))));
        }
    }
    let (inner4, inner6) = (v4(17, &udp(QUERY)), v6(17, &udp(QUERY)));
    for (name, packet) in [
        ("ipip", v4(4, &inner4)),
        ("6in4", v4(41, &inner6)),
        ("4in6", v6(4, &inner4)),
        ("ip6ip6", v6(41, &inner6)),
    ] {
        all.push((name, packet));
    }
    for head in [&[][..], &[0, 0, 1, 2, 3, 4, 5, 6], &[0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]] {
        for (src, dst) in [(55_555, 3544), (3544, 55_555)] {
            all.push(("teredo", v4(17, &udp_between(src, dst, &join(&[head, &inner6])))));
        }
    }
    let both = [&[0, 1, 2, 1, 9, 9, 9][..], &[1; 9], &[0, 0, 1, 2, 3, 4, 5, 6]].concat();
    all.push(("teredo", v4(17, &udp_between(3544, 3544, &join(&[&both, &inner6])))));
    all
}
