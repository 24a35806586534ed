//! Satisfactory: several clients with one cookie, as those have that never change it.
#![allow(clippy::panic)] // tests fail that way

#[path = "house/play.rs"]
mod play;

use play::{End, PORT, SERVER, START, Shot, foreign, play, shot};
use qdissect::rule::hex;

const MS: i64 = 1_000_000;
const END: End = (SERVER, PORT);
const POLL: &str = "d5f6 00 01 0505050505050505 01";
const STATE: &str =
    "d5f6 01 01 0505050505050505 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";

fn client(number: u8) -> End {
    ([198, 51, 100, number], 40_000)
}

/// A client polls, so many milliseconds after the start.
fn polls(ms: i64, number: u8) -> Shot {
    shot(START + ms * MS, client(number), END, &hex(POLL))
}

/// It is answered.
fn told(ms: i64, number: u8) -> Shot {
    shot(START + ms * MS, END, client(number), &hex(STATE))
}

/// The frames of the polls that break a rule; one that every exchange breaks is told of the first only.
fn frames(shots: &[Shot], rule: &str) -> Vec<u64> {
    let (heard, _) = play(&[shots, &[foreign(START + 60_000 * MS)]].concat());
    heard.packets.iter().filter(|p| p.rules().contains(&rule)).map(|p| p.frame).collect()
}

#[test]
fn who_uses_a_cookie_again_is_told_whoever_used_it_in_between() {
    let mut shots = vec![polls(0, 1), told(10, 1)];
    assert_eq!(frames(&shots, "SFQ-REQ-003"), Vec::<u64>::new());
    shots.extend([polls(500, 2), told(510, 2)]);
    assert_eq!(frames(&shots, "SFQ-REQ-003"), Vec::<u64>::new(), "another client uses it for the first time");
    shots.push(polls(4_000, 1));
    assert_eq!(frames(&shots, "SFQ-REQ-003"), [5]);
}

#[test]
fn an_answer_that_another_poll_overtook_counts_as_one() {
    let shots = [polls(0, 1), polls(5, 2), told(10, 1), polls(4_000, 1)];
    assert_eq!(frames(&shots, "SFQ-REQ-003"), [4]);
}

#[test]
fn a_cookie_is_open_elsewhere_as_long_as_anybody_waits_for_its_answer() {
    let shots = [polls(0, 1), polls(5, 2), told(10, 2), polls(20, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [2, 4], "the first still waits");
    let shots = [polls(0, 1), polls(5, 2), told(10, 2), told(15, 1), polls(20, 3)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), [2], "nobody waits");
    let shots = [polls(0, 1), polls(10_001, 2)];
    assert_eq!(frames(&shots, "SFQ-TXN-006"), Vec::<u64>::new(), "nobody waits so long");
}

#[test]
fn of_nine_others_the_oldest_is_forgotten() {
    let asks = |last: u8| -> Vec<Shot> {
        let all = (1..=last).map(|n| [polls(i64::from(n) * 20, n), told(i64::from(n) * 20 + 5, n)]);
        all.flatten().chain([polls(5_000, 1)]).collect()
    };
    assert_eq!(frames(&asks(9), "SFQ-REQ-003"), [19]);
    assert_eq!(frames(&asks(10), "SFQ-REQ-003"), Vec::<u64>::new());
}
