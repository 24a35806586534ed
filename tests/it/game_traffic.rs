//! Games talk on the ports of their queries: numbers that begin with zeros are no challenges, and a server that
//! answers queries sends its players other things.

use crate::kit::play::{
    CLIENTS, Collected, END, H1, H2, MS, OK, QI, S, START, Shot, c, everything, foreign, play, report, s,
    shot,
};
use qdissect::classify::Choice;
use qdissect::pipeline::Options;
use qdissect::protocols::{Id, Level};

/// So many datagrams from the second client and to it in turn, 20 ms apart, one second after the start.
fn game(count: u32, payload: impl Fn(u32) -> Vec<u8>) -> Vec<Shot> {
    let ends = |n: u32| if n.is_multiple_of(2) { (CLIENTS[1], END) } else { (END, CLIENTS[1]) };
    let one = |n: u32| {
        let (from, to) = ends(n);
        shot(START + S + i64::from(n) * 20 * MS, from, to, &payload(n))
    };
    (0..count).map(one).collect()
}

/// The bytes of a number, and so many more, each with that value.
fn number(bytes: &[u8], value: u8, more: usize) -> Vec<u8> {
    [bytes, &vec![value; more]].concat()
}

/// A challenge and a query of the first client, and the answers.
fn query() -> Vec<Shot> {
    vec![c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)]
}

fn played(options: Options, shots: &[Vec<Shot>]) -> Collected<true> {
    let shots = [&shots.concat()[..], &[foreign(START + 60 * S)]].concat();
    report(options, Collected::default(), &shots).0
}

#[test]
fn numbers_that_begin_with_zeros_are_no_challenges() {
    // Both ends count, and now and then a datagram has five bytes, as a challenge does.
    let lengths = [3, 18, 30, 1, 3, 7, 60, 3];
    let counts =
        |n: u32| number(&(n as u16 / 2).to_be_bytes(), 0xb0 + (n % 7) as u8, lengths[n as usize % 8]);
    let (heard, _) = play(&[game(400, counts), vec![foreign(START + 60 * S)]].concat());
    assert!(heard.packets.iter().all(|p| p.level <= Level::Low), "{:#?}", heard.packets);
}

#[test]
fn what_a_known_server_sends_its_players_is_soon_left_alone() {
    let types = |n: u32| number(&[(n % 12) as u8], 0xa0 + (n % 9) as u8, 4 + n as usize % 30);
    let heard = played(everything(), &[query(), game(600, types)]);
    let of_game: Vec<_> = heard.packets.iter().map(|p| p.frame).filter(|frame| *frame > 4).collect();
    assert!(of_game.len() <= 8 && of_game.iter().all(|frame| *frame < 100), "{of_game:?}");
    // But not if the user says what it is.
    let choice = Choice { pins: vec![(END.1, Id::Sqp)], ..Choice::default() };
    let heard = played(Options { choice, ..everything() }, &[query(), game(600, types)]);
    assert_eq!(heard.packets.len(), 604);
}
