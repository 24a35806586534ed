//! What is remembered of A2S.

use super::{END, S, host, least, totals};
use crate::kit::play::{START, Shot, foreign, shot};
use qdissect::rule::hex;

const ASK: &str = "ffffffff 54 'Source Engine Query' 00";
const INFO: &str = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";

/// INFO asked by a client of its own for each number, and answered with a challenge of its own.
fn challenged(n: u32) -> [Shot; 2] {
    let (client, challenge) = ((host(n), 9), format!("ffffffff 41 {:08x}", n + 1));
    [shot(START, client, END, &hex(ASK)), shot(START, END, client, &hex(&challenge))]
}

#[test]
fn addresses_and_challenges_that_are_forgotten_are_counted() {
    for (clients, forgotten) in [(least(16_384), 0), (least(16_384) + 1, 2)] {
        let mut shots: Vec<_> = (0..clients).flat_map(challenged).collect();
        shots.push(foreign(START + 60 * S));
        assert_eq!(totals(&shots).1.memory_forgotten, forgotten);
    }
}

#[test]
fn requests_that_are_forgotten_before_their_answers_are_counted() {
    for (clients, forgotten) in [(least(16_384), 0), (least(16_384) + 1, 1)] {
        let mut shots: Vec<_> = (0..clients).map(|n| shot(START, (host(n), 9), END, &hex(ASK))).collect();
        shots.push(shot(START + 1, END, (host(0), 9), &hex(INFO)));
        let (heard, totals) = totals(&shots);
        let unproven = heard.findings().filter(|finding| finding.rule.id == "A2S-SEC-001").count() as u64;
        assert_eq!((totals.memory_forgotten, unproven), (forgotten, 1 - forgotten));
    }
}

#[test]
fn numbers_of_players_that_are_forgotten_are_counted() {
    for (servers, forgotten) in [(least(8_192), 0), (least(8_192) + 1, 1)] {
        let asked = |n| {
            let server = (host(n), 9);
            [shot(START, END, server, &hex(ASK)), shot(START, server, END, &hex(INFO))]
        };
        let shots: Vec<_> = (0..servers).flat_map(asked).collect();
        assert_eq!(totals(&shots).1.memory_forgotten, forgotten);
    }
}

#[test]
fn of_an_address_with_eight_challenges_an_older_one_may_be_forgotten() {
    for (issued, foreign) in [(7, true), (8, false)] {
        let mut shots = vec![];
        for n in 1..=issued {
            let (src, time) = ((host(0), 9), START + i64::from(n) * S);
            shots.push(shot(time, src, END, &hex(ASK)));
            shots.push(shot(time + 1, END, src, &hex(&format!("ffffffff 41 {n:08x}"))));
        }
        shots.push(shot(START + 20 * S, (host(0), 9), END, &hex("ffffffff 55 7f7f7f7f")));
        let said = totals(&shots).0.findings().any(|finding| finding.rule.id == "A2S-CHL-005");
        assert_eq!(said, foreign, "{issued} challenges");
    }
}
