//! What is remembered of GQP, and what happens where that is all there is room for.

use super::{END, S, host, least, totals};
use crate::kit::play::{CLIENTS, Collected, End, ID, MS, START, Shot, foreign, shot};
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

fn client(n: u32) -> End {
    (host(n), 9)
}

/// A datagram to the server, so many milliseconds after the start, and one from it.
fn to(ms: i64, client: End, payload: &[u8]) -> Shot {
    shot(START + ms * MS, client, END, payload)
}

fn from(ms: i64, client: End, payload: &[u8]) -> Shot {
    shot(START + ms * MS, END, client, payload)
}

/// Whether a rule is broken somewhere.
fn breaks(heard: &Collected<false>, rule: &str) -> bool {
    heard.findings().any(|finding| finding.rule.id == rule)
}

#[test]
fn requests_that_are_forgotten_before_their_answers_are_counted() {
    for (requests, forgotten) in [(least(4_096), 0), (least(4_096) + 1, 1)] {
        let mut shots: Vec<_> = (0..requests).map(|n| to(0, client(n), &hex(ID))).collect();
        // The answers to the first and to the last request name another command.
        let other = hex("3130 6563686f 1e 11 61 04");
        shots.extend([0, requests - 1].map(|n| from(1, client(n), &other)));
        let (heard, totals) = totals(&shots);
        let named = |frame: u32| heard.frame(u64::from(frame)).rules().contains(&"GQP-TXN-003");
        assert_eq!([named(requests + 1), named(requests + 2)], [forgotten == 0, true]);
        assert_eq!((totals.answered, totals.memory_forgotten), (2, forgotten));
    }
}

#[test]
fn requests_that_are_forgotten_after_their_answers_are_not() {
    let pair = |n| {
        [to(0, client(n), &hex("6563686f 1e 61 04")), from(0, client(n), &hex("3130 6563686f 1e 11 61 04"))]
    };
    let shots: Vec<_> = (0..least(4_096) + 100).flat_map(pair).collect();
    assert_eq!(totals(&shots).1.memory_forgotten, 0);
}

#[test]
fn logins_that_are_forgotten_are_counted() {
    let auth = hex("61757468 1e 626f62 1f 7077 04");
    for (logins, forgotten) in [(least(16_384), 0), (least(16_384) + 25, 25)] {
        let pair = |n| {
            let string = format!("10auth\x1e\x11{n:08x}\x04");
            [to(0, client(n), &auth), from(0, client(n), string.as_bytes())]
        };
        let mut shots: Vec<_> = (0..logins).flat_map(pair).collect();
        // Each login is one entry, and the string that it got another.
        assert_eq!(totals(&shots).1.memory_forgotten, 2 * forgotten);
        // The string of another client, which is the first one's.
        let foreign = format!("challenge\x1e{:08x}\x04", 0);
        shots.push(to(1, client(logins - 1), foreign.as_bytes()));
        let (heard, _) = totals(&shots);
        let rule = if forgotten == 0 { "GQP-TXN-007" } else { "GQP-TXN-006" };
        assert!(breaks(&heard, rule), "whose it is, is known or not");
    }
}

#[test]
fn servers_with_extensions_that_are_forgotten_are_counted() {
    for (servers, forgotten) in [(least(16_384), 0), (least(16_384) + 25, 25)] {
        let announced = |n| {
            let server = (host(n), 7_070);
            let answer = b"10extensions\x1e\x13players\x04";
            [shot(START, CLIENTS[0], server, EXTENSIONS), shot(START, server, CLIENTS[0], answer)]
        };
        let mut shots: Vec<_> = (0..servers).flat_map(announced).collect();
        shots.push(shot(START + MS, CLIENTS[0], (host(0), 7_070), PLAYERS));
        let (heard, totals) = totals(&shots);
        assert_eq!((totals.memory_forgotten, breaks(&heard, "GQP-REQ-004")), (forgotten, forgotten > 0));
    }
}

#[test]
fn a_server_with_more_extensions_than_are_kept_may_have_announced_any() {
    for (extensions, asked, broken, beyond) in
        [(32, "e32", false, 0), (32, "unheard", true, 0), (33, "e33", false, 1), (33, "unheard", false, 1)]
    {
        let names: Vec<_> = (1..=extensions).map(|n| format!("e{n}")).collect();
        let answer = format!("10extensions\x1e\x13{}\x04", names.join("\x1f"));
        let shots = [
            to(0, CLIENTS[0], EXTENSIONS),
            from(1, CLIENTS[0], answer.as_bytes()),
            to(2, CLIENTS[0], format!("{asked}\x04").as_bytes()),
        ];
        let (heard, totals) = totals(&shots);
        let said = (breaks(&heard, "GQP-REQ-004"), totals.memory_forgotten);
        assert_eq!(said, (broken, beyond), "{asked} of {extensions}");
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
        let shots = [
            to(0, CLIENTS[0], asked.as_bytes()),
            from(1, CLIENTS[0], answers(&each).as_bytes()),
            to(2, CLIENTS[1], asked.as_bytes()),
            from(3, CLIENTS[1], answers(&each[..commands - 1]).as_bytes()),
        ];
        let (heard, totals) = totals(&shots);
        assert_eq!((breaks(&heard, "GQP-TXN-003"), totals.memory_forgotten), (differs, 2 * beyond));
        assert!(heard.frame(4).rules().contains(&"GQP-TXN-002"), "their number is compared all the same");
    }
}

#[test]
fn of_too_many_answers_in_parts_the_oldest_ends_with_what_has_come_and_is_counted() {
    let most = least(4_096);
    for answers in [most, most + 1] {
        let mut shots: Vec<_> = (0..answers).map(|n| to(0, client(n), &hex(ID))).collect();
        for (ms, part) in (1..).zip(PARTS) {
            shots.extend((0..answers).map(|n| from(ms, client(n), &hex(part))));
        }
        shots.push(foreign(START + 60 * S));
        let (heard, totals) = totals(&shots);
        let frames = |e: &qdissect::exchange::Exchange| e.response_frames().len();
        let with = |parts: usize| heard.exchanges.iter().filter(|(e, _)| frames(e) == parts).count();
        assert_eq!((with(3), with(1)), (most as usize, (answers - most) as usize));
        assert_eq!(totals.evicted, u64::from(answers - most));
        assert!(heard.exchanges.iter().all(|(e, _)| e.outcome == Outcome::Answered));
    }
}
