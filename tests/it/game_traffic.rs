//! Game traffic on query ports: numbers that begin with zeros are no challenges, and a server that answers queries also sends
//! game traffic to its players.

use crate::kit::play::{
    Addr, CLIENTS, Collected, MS, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY,
    SQP_QUERY_REPLY, START, c, everything, foreign, play, report, s, udp_frame,
};
use qdissect::classify::Choice;
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id, Level};
use qdissect::rule::hex;

/// `count` datagrams from and to the second client in turn, 20 ms apart, one second after the start.
fn game(count: u32, payload: impl Fn(u32) -> Vec<u8>) -> Vec<RawFrame> {
    let ends =
        |n: u32| if n.is_multiple_of(2) { (CLIENTS[1], SERVER_ADDR) } else { (SERVER_ADDR, CLIENTS[1]) };
    let one = |n: u32| {
        let (from, to) = ends(n);
        udp_frame(START + S + i64::from(n) * 20 * MS, from, to, &payload(n))
    };
    (0..count).map(one).collect()
}

/// The bytes of a number, followed by `more` bytes with this value.
fn number(bytes: &[u8], value: u8, more: usize) -> Vec<u8> {
    [bytes, &vec![value; more]].concat()
}

/// A challenge and a query of the first client, and the answers.
fn query() -> Vec<RawFrame> {
    vec![c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)]
}

fn played(options: Options, frames: &[Vec<RawFrame>]) -> Collected<true> {
    let frames = [&frames.concat()[..], &[foreign(START + 60 * S)]].concat();
    report(options, Collected::default(), &frames).0
}

#[test]
fn numbers_that_begin_with_zeros_are_no_challenges() {
    // Both endpoints count, and some datagrams have five bytes like a challenge.
    let lengths = [3, 18, 30, 1, 3, 7, 60, 3];
    let counts =
        |n: u32| number(&(n as u16 / 2).to_be_bytes(), 0xb0 + (n % 7) as u8, lengths[n as usize % 8]);
    let (collected, _) = play(&[game(400, counts), vec![foreign(START + 60 * S)]].concat());
    assert!(collected.packets.iter().all(|p| p.level <= Level::Low), "{:#?}", collected.packets);
}

#[test]
fn game_traffic_of_a_known_server_is_not_claimed_for_long() {
    let types = |n: u32| number(&[(n % 12) as u8], 0xa0 + (n % 9) as u8, 4 + n as usize % 30);
    let collected = played(everything(), &[query(), game(600, types)]);
    let of_game: Vec<_> = collected.packets.iter().map(|p| p.frame).filter(|frame| *frame > 4).collect();
    assert!(of_game.len() <= 8 && of_game.iter().all(|frame| *frame < 100), "{of_game:?}");
    // But not if the user pins the protocol.
    let choice = Choice { pins: vec![(SERVER_ADDR.1, Id::Sqp)], ..Choice::default() };
    let collected = played(Options { choice, ..everything() }, &[query(), game(600, types)]);
    assert_eq!(collected.packets.len(), 604);
}

#[test]
fn pinned_traffic_between_equal_ports_keeps_its_direction() {
    let player = ([203, 0, 113, 9], SERVER_ADDR.1);
    let at =
        |n: i64, [from, to]: [Addr; 2], text: &str| udp_frame(START + S + n * 20 * MS, from, to, &hex(text));
    let mut frames = vec![at(0, [player, SERVER_ADDR], SQP_CHALLENGE)];
    frames.extend((1..20).map(|n| at(n, [SERVER_ADDR, player], "aabbccddeeff11")));
    let choice = Choice { pins: vec![(SERVER_ADDR.1, Id::Sqp)], ..Choice::default() };
    let collected = played(Options { choice, ..everything() }, &[query(), frames]);
    assert!(collected.packets.iter().all(|p| p.frame < 6 || p.direction == Direction::S2c), "{collected:#?}");
}

#[test]
fn a_known_server_is_asked_in_its_protocol_whatever_else_a_client_asks_there() {
    const ANSWER: &str = "'EYE1' 04 'mta' 06 '22003' 02 'A' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 01";
    let of_another = |n: i64, text: &str| {
        let [from, to] = if n % 2 == 0 { [CLIENTS[1], SERVER_ADDR] } else { [SERVER_ADDR, CLIENTS[1]] };
        udp_frame(START + S + n * MS, from, to, &hex(text))
    };
    let sqp = [SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY];
    let then = (0..).zip(sqp.into_iter().chain(["'s'", ANSWER])).map(|(n, text)| of_another(n, text));
    let collected = played(everything(), &[vec![c(0, "'s'"), s(MS, ANSWER)], then.collect()]);
    assert_eq!([7, 8].map(|frame| collected.frame(frame).id), [Id::Ase; 2]);
}
