//! Limits of the state of GQP.

use super::{S, SERVER_ADDR, at_minimum_memory, host, totals};
use crate::kit::play::{Addr, CLIENTS, Collected, GQP_IDENTIFY, MS, RawFrame, START, foreign, udp_frame};
use qdissect::exchange::Outcome;
use qdissect::rule::hex;

/// The answer to `identify`, in three parts.
const PARTS: [&str; 3] = [
    "3130 6964656e74696679 1e 12 67616d656e",
    "616d65 1f 7574 1e 12 67616d65766572",
    "1f 343332 1e 12 6e6574766572 1f 343332 04",
];
/// `extensions`, and `players`, which a server must announce.
const EXTENSIONS: &[u8] = b"extensions\x04";
const PLAYERS: &[u8] = b"players\x04";

fn client(n: u32) -> Addr {
    (host(n), 9)
}

/// A datagram from a client to the server, `ms` milliseconds after the start.
fn to(ms: i64, client: Addr, payload: &[u8]) -> RawFrame {
    udp_frame(START + ms * MS, client, SERVER_ADDR, payload)
}

fn from(ms: i64, client: Addr, payload: &[u8]) -> RawFrame {
    udp_frame(START + ms * MS, SERVER_ADDR, client, payload)
}

/// Whether a rule is broken somewhere.
fn breaks(collected: &Collected<false>, rule: &str) -> bool {
    collected.findings().any(|finding| finding.rule.id == rule)
}

#[test]
fn requests_that_are_forgotten_before_their_answers_are_counted() {
    for (requests, forgotten) in [(at_minimum_memory(4_096), 0), (at_minimum_memory(4_096) + 1, 1)] {
        let mut raw_frames: Vec<_> = (0..requests).map(|n| to(0, client(n), &hex(GQP_IDENTIFY))).collect();
        // The answers to the first and to the last request name another command.
        let other = hex("3130 6563686f 1e 11 61 04");
        raw_frames.extend([0, requests - 1].map(|n| from(1, client(n), &other)));
        let (collected, totals) = totals(&raw_frames);
        let named = |frame: u32| collected.frame(u64::from(frame)).rules().contains(&"GQP-TXN-003");
        assert_eq!([named(requests + 1), named(requests + 2)], [forgotten == 0, true]);
        assert_eq!((totals.answered, totals.memory_forgotten), (2, forgotten));
    }
}

#[test]
fn requests_that_are_forgotten_after_their_answers_are_not() {
    let pair = |n| {
        [to(0, client(n), &hex("6563686f 1e 61 04")), from(0, client(n), &hex("3130 6563686f 1e 11 61 04"))]
    };
    let raw_frames: Vec<_> = (0..at_minimum_memory(4_096) + 100).flat_map(pair).collect();
    assert_eq!(totals(&raw_frames).1.memory_forgotten, 0);
}

#[test]
fn logins_that_are_forgotten_are_counted() {
    let auth = hex("61757468 1e 626f62 1f 7077 04");
    for (logins, forgotten) in [(at_minimum_memory(16_384), 0), (at_minimum_memory(16_384) + 25, 25)] {
        let pair = |n| {
            let string = format!("10auth\x1e\x11{n:08x}\x04");
            [to(0, client(n), &auth), from(0, client(n), string.as_bytes())]
        };
        let mut raw_frames: Vec<_> = (0..logins).flat_map(pair).collect();
        // Each login is one entry, and its string is another one.
        assert_eq!(totals(&raw_frames).1.memory_forgotten, 2 * forgotten);
        // The string of another client, namely the first one.
        let foreign = format!("challenge\x1e{:08x}\x04", 0);
        raw_frames.push(to(1, client(logins - 1), foreign.as_bytes()));
        let (collected, _) = totals(&raw_frames);
        let rule = if forgotten == 0 { "GQP-TXN-007" } else { "GQP-TXN-006" };
        assert!(breaks(&collected, rule), "whose it is, is known or not");
    }
}

#[test]
fn servers_with_extensions_that_are_forgotten_are_counted() {
    for (servers, forgotten) in [(at_minimum_memory(16_384), 0), (at_minimum_memory(16_384) + 25, 25)] {
        let announced = |n| {
            let server = (host(n), 7_070);
            let answer = b"10extensions\x1e\x13players\x04";
            [udp_frame(START, CLIENTS[0], server, EXTENSIONS), udp_frame(START, server, CLIENTS[0], answer)]
        };
        let mut raw_frames: Vec<_> = (0..servers).flat_map(announced).collect();
        raw_frames.push(udp_frame(START + MS, CLIENTS[0], (host(0), 7_070), PLAYERS));
        let (collected, totals) = totals(&raw_frames);
        assert_eq!((totals.memory_forgotten, breaks(&collected, "GQP-REQ-004")), (forgotten, forgotten > 0));
    }
}

#[test]
fn a_server_with_more_extensions_than_are_kept_may_have_announced_any() {
    for (extensions, asked, broken, beyond) in
        [(32, "e32", false, 0), (32, "unheard", true, 0), (33, "e33", false, 1), (33, "unheard", false, 1)]
    {
        let names: Vec<_> = (1..=extensions).map(|n| format!("e{n}")).collect();
        let answer = format!("10extensions\x1e\x13{}\x04", names.join("\x1f"));
        let raw_frames = [
            to(0, CLIENTS[0], EXTENSIONS),
            from(1, CLIENTS[0], answer.as_bytes()),
            to(2, CLIENTS[0], format!("{asked}\x04").as_bytes()),
        ];
        let (collected, totals) = totals(&raw_frames);
        let counts = (breaks(&collected, "GQP-REQ-004"), totals.memory_forgotten);
        assert_eq!(counts, (broken, beyond), "{asked} of {extensions}");
    }
}

#[test]
fn commands_beyond_those_compared_are_counted() {
    for (commands, differs, beyond) in [(16, true, 0), (17, false, 1)] {
        let mut each = vec!["echo\x1ea"; commands];
        let asked = format!("{}\x04", each.join("\x1d"));
        let reply = "10echo\x1e\x11a";
        each.fill(reply);
        each[commands - 1] = "10other\x1e\x11a";
        let answers = |replies: &[&str]| format!("{}\x04", replies.join("\x1d"));
        let raw_frames = [
            to(0, CLIENTS[0], asked.as_bytes()),
            from(1, CLIENTS[0], answers(&each).as_bytes()),
            to(2, CLIENTS[1], asked.as_bytes()),
            from(3, CLIENTS[1], answers(&each[..commands - 1]).as_bytes()),
        ];
        let (collected, totals) = totals(&raw_frames);
        assert_eq!((breaks(&collected, "GQP-TXN-003"), totals.memory_forgotten), (differs, 2 * beyond));
        assert!(collected.frame(4).rules().contains(&"GQP-TXN-002"), "their number is compared all the same");
    }
}

#[test]
fn the_oldest_of_too_many_answers_in_parts_ends_incomplete_and_is_counted() {
    let limit = at_minimum_memory(4_096);
    for answers in [limit, limit + 1] {
        let mut raw_frames: Vec<_> = (0..answers).map(|n| to(0, client(n), &hex(GQP_IDENTIFY))).collect();
        for (ms, part) in (1..).zip(PARTS) {
            raw_frames.extend((0..answers).map(|n| from(ms, client(n), &hex(part))));
        }
        raw_frames.push(foreign(START + 60 * S));
        let (collected, totals) = totals(&raw_frames);
        let frames = |e: &qdissect::exchange::Exchange| e.response_frames().len();
        let with = |parts: usize| collected.exchanges.iter().filter(|(e, _)| frames(e) == parts).count();
        assert_eq!((with(3), with(1)), (limit as usize, (answers - limit) as usize));
        assert_eq!(totals.evicted, u64::from(answers - limit));
        assert!(collected.exchanges.iter().all(|(e, _)| e.outcome == Outcome::Answered));
    }
}
