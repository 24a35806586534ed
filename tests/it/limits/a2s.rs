//! Limits of the state of A2S.

use super::{S, SERVER_ADDR, at_minimum_memory, host, totals};
use crate::kit::play::{RawFrame, START, foreign, udp_frame};
use qdissect::rule::hex;
use std::io::Read;

const ASK: &str = "ffffffff 54 'Source Engine Query' 00";
const INFO: &str = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";

/// An INFO request of a different client for each number, answered with a different challenge.
fn challenged(n: u32) -> [RawFrame; 2] {
    let (client, challenge) = ((host(n), 9), format!("ffffffff 41 {:08x}", n + 1));
    [
        udp_frame(START, client, SERVER_ADDR, &hex(ASK)),
        udp_frame(START, SERVER_ADDR, client, &hex(&challenge)),
    ]
}

#[test]
fn addresses_and_challenges_that_are_forgotten_are_counted() {
    for (clients, forgotten) in [(at_minimum_memory(16_384), 0), (at_minimum_memory(16_384) + 1, 2)] {
        let mut frames: Vec<_> = (0..clients).flat_map(challenged).collect();
        frames.push(foreign(START + 60 * S));
        assert_eq!(totals(&frames).1.memory_forgotten, forgotten);
    }
}

#[test]
fn requests_that_are_forgotten_before_their_answers_are_counted() {
    for (clients, forgotten) in [(at_minimum_memory(16_384), 0), (at_minimum_memory(16_384) + 1, 1)] {
        let mut frames: Vec<_> =
            (0..clients).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &hex(ASK))).collect();
        frames.push(udp_frame(START + 1, SERVER_ADDR, (host(0), 9), &hex(INFO)));
        let (collected, totals) = totals(&frames);
        let unproven = collected.findings().filter(|finding| finding.rule.id == "A2S-SEC-001").count() as u64;
        assert_eq!((totals.memory_forgotten, unproven), (forgotten, 1 - forgotten));
    }
}

#[test]
fn numbers_of_players_that_are_forgotten_are_counted() {
    for (servers, forgotten) in [(at_minimum_memory(8_192), 0), (at_minimum_memory(8_192) + 1, 1)] {
        let asked = |n| {
            let server = (host(n), 9);
            [
                udp_frame(START, SERVER_ADDR, server, &hex(ASK)),
                udp_frame(START, server, SERVER_ADDR, &hex(INFO)),
            ]
        };
        let frames: Vec<_> = (0..servers).flat_map(asked).collect();
        assert_eq!(totals(&frames).1.memory_forgotten, forgotten);
    }
}

#[test]
fn older_challenges_of_an_address_with_eight_may_be_forgotten() {
    for (issued, foreign) in [(7, true), (8, false)] {
        let mut frames = vec![];
        for n in 1..=issued {
            let (src, time) = ((host(0), 9), START + i64::from(n) * S);
            frames.push(udp_frame(time, src, SERVER_ADDR, &hex(ASK)));
            frames.push(udp_frame(time + 1, SERVER_ADDR, src, &hex(&format!("ffffffff 41 {n:08x}"))));
        }
        frames.push(udp_frame(START + 20 * S, (host(0), 9), SERVER_ADDR, &hex("ffffffff 55 7f7f7f7f")));
        let is_reported = totals(&frames).0.findings().any(|finding| finding.rule.id == "A2S-CHL-005");
        assert_eq!(is_reported, foreign, "{issued} challenges");
    }
}

#[test]
fn bombs_are_left_as_they_are_and_counted() {
    // A RULES answer of 65,000 bytes in 130.
    let rules = [&hex("ffffffff 45 0100 'key' 00")[..], &vec![b'v'; 65_000 - 12], &[0]].concat();
    let (mut packed, mut crc) = (vec![], flate2::Crc::new());
    bzip2::read::BzEncoder::new(&rules[..], bzip2::Compression::best()).read_to_end(&mut packed).unwrap();
    crc.update(&rules);
    let head = hex("feffffff 07000080 0100");
    let claims = [rules.len() as u32, crc.sum()].map(u32::to_le_bytes).concat();
    let bomb = [head, claims, packed].concat();
    // The first MiB is free, and each answer costs its bytes and the beginning; what is read here pays for none.
    let free = (1 << 20) / (65_000 + 4_096);
    for (bombs, left) in [(free, 0), (free + 1, 1)] {
        let pair = |n: u32| {
            let (client, time) = ((host(n), 9), START + i64::from(n) * S / 100);
            [
                udp_frame(time, client, SERVER_ADDR, &hex("ffffffff 56 c3192a4b")),
                udp_frame(time + 1, SERVER_ADDR, client, &bomb),
            ]
        };
        let (collected, totals) = totals(&(0..bombs).flat_map(pair).collect::<Vec<_>>());
        let joined = collected.packets.iter().filter(|p| p.message == "rules_response").count() as u32;
        assert_eq!((totals.not_unpacked, joined, totals.answered), (left, free, u64::from(bombs)));
        let remark = format!("to 16 times what was read: {left}");
        assert_eq!(qdissect::report::limits(&totals).iter().any(|said| said.ends_with(&remark)), left > 0);
        assert!(!collected.findings().any(|finding| finding.rule.id == "A2S-SPL-006"));
    }
}

#[test]
fn requests_with_challenges_that_are_forgotten_are_counted() {
    let ask = |n| udp_frame(START, (host(n), 9), SERVER_ADDR, &hex("ffffffff 55 0a0b0c0d"));
    for (clients, forgotten) in [(at_minimum_memory(4_096), 0), (at_minimum_memory(4_096) + 1, 1)] {
        assert_eq!(totals(&(0..clients).map(ask).collect::<Vec<_>>()).1.memory_forgotten, forgotten);
    }
}

#[test]
fn clients_that_ask_as_frontlines_does_are_counted_when_forgotten() {
    let ask = |n| udp_frame(START, (host(n), 9), SERVER_ADDR, &hex("ffffffff 'FLSQ'"));
    for (clients, forgotten) in [(at_minimum_memory(4_096), 0), (at_minimum_memory(4_096) + 1, 1)] {
        assert_eq!(totals(&(0..clients).map(ask).collect::<Vec<_>>()).1.memory_forgotten, forgotten);
    }
}
