//! Messages in several datagrams: which parts belong together, and their findings.

use crate::kit::play;
use crate::kit::play::{
    Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, RawFrame, START, foreign, play, udp_frame,
};
use qdissect::contract::Budget;
use qdissect::exchange::{Exchange, Outcome, Pairing};
use qdissect::pipeline::Options;
use qdissect::rule::hex;

/// The answer to `identify` in parts.
const HEAD: &str = "3130 6964656e74696679 1e 12 67616d656e";
const MIDDLE: &str = "616d65 1f 7574 1e 12 67616d65766572";
const TAIL: &str = "1f 343332 1e 12 6e6574766572 1f 343332 04";

fn c(ms: i64, text: &str) -> RawFrame {
    play::c(ms * MS, text)
}

fn s(ms: i64, text: &str) -> RawFrame {
    play::s(ms * MS, text)
}

/// Plays frames with a minute without traffic after them.
fn play_surrounded(raw_frames: &[RawFrame]) -> Collected<true> {
    let mut all = raw_frames.to_vec();
    all.push(foreign(START + 60_000 * MS));
    play(&all).0
}

fn messages(collected: &Collected<true>) -> Vec<(u64, &'static str)> {
    collected.packets.iter().map(|p| (p.frame, p.message)).collect()
}

fn exchanges(collected: &Collected<true>) -> Vec<(u64, Vec<u64>, Outcome)> {
    let one = |(e, _): &(Exchange, _)| (e.request_frame, e.response_frames().to_vec(), e.outcome);
    collected.exchanges.iter().map(one).collect()
}

#[test]
fn the_parts_of_an_answer_are_one_exchange() {
    let collected = play_surrounded(&[c(0, GQP_IDENTIFY), s(5, HEAD), s(6, MIDDLE), s(7, TAIL)]);
    assert_eq!(messages(&collected), [(1, "request"), (2, "fragment"), (3, "fragment"), (4, "response")]);
    assert_eq!(exchanges(&collected), [(1, vec![2, 3, 4], Outcome::Answered)]);
    let parts = hex(HEAD).len() + hex(MIDDLE).len() + hex(TAIL).len();
    assert_eq!(collected.exchanges[0].0.response_bytes, parts as u64);
    assert_eq!(collected.frame(2).rules(), ["GQP-FRM-003", "GEN-007"]);
    // 49 bytes for 9, as with one datagram.
    assert_eq!(collected.frame(4).rules(), ["GQP-SEC-002"]);
    assert_eq!(collected.frame(4).findings[0].sizes, Some([9, parts as u32]));
}

#[test]
fn the_parts_of_a_request_are_one_exchange() {
    let collected = play_surrounded(&[
        c(0, "6563686f 1e 6f6e6520"),
        c(1, "74776f 04"),
        s(5, "3130 6563686f 1e 11 6f6e652074776f 04"),
    ]);
    assert_eq!(messages(&collected), [(1, "fragment"), (2, "request"), (3, "response")]);
    assert_eq!(exchanges(&collected), [(1, vec![3], Outcome::Answered)]);
    // Truncated parts are not compared, so the echo is correct.
    let all: Vec<_> =
        collected.findings().map(|f| f.rule.id).filter(|id| id.starts_with("GQP-TXN")).collect();
    assert!(all.is_empty(), "{all:?}");
}

#[test]
fn the_first_part_may_be_short_whatever_ends_it() {
    for (first, rest) in
        [("69", "64656e74696679 04"), ("69 17", "64656e74696679 04"), ("69 23", "64656e74696679 04")]
    {
        let collected = play_surrounded(&[
            c(0, GQP_IDENTIFY),
            s(5, GQP_IDENTIFY_REPLY),
            c(300, first),
            c(310, rest),
            s(320, GQP_IDENTIFY_REPLY),
        ]);
        assert_eq!(messages(&collected)[2..], [(3, "fragment"), (4, "request"), (5, "response")], "{first}");
        assert!(collected.frame(5).rules().is_empty(), "{first}: what was cut is not compared");
    }
}

#[test]
fn a_command_that_is_cut_in_two_goes_on_with_its_message() {
    let reply = "3130 6563686f 1e 11 61 1d 3230 6964656e74696679 1e 06 04";
    let parts = ["6563686f 1e 61 1d", "6964656e7469", "6679 04"];
    let raw_frames = [
        c(0, GQP_IDENTIFY),
        s(5, GQP_IDENTIFY_REPLY),
        c(10, parts[0]),
        c(11, parts[1]),
        c(12, parts[2]),
        s(15, reply),
    ];
    let found = exchanges(&play_surrounded(&raw_frames));
    assert_eq!(found, [(1, vec![2], Outcome::Answered), (3, vec![6], Outcome::Answered)]);
}

#[test]
fn an_answer_between_the_parts_of_a_request_belongs_to_the_request_before() {
    let [whole, head, tail] = [c(0, GQP_IDENTIFY), c(300, "6563686f 1e 6f6e6520"), c(310, "74776f 04")];
    let echo = s(600, "3130 6563686f 1e 11 6f6e652074776f 04");
    let collected = play_surrounded(&[whole, head.clone(), s(305, GQP_IDENTIFY_REPLY), tail, echo]);
    let ends = [(1, vec![3], Outcome::Answered), (2, vec![5], Outcome::Answered)];
    assert_eq!(exchanges(&collected), ends);
    // If no other request is open, the capture lacks the end of the request.
    let collected = play_surrounded(&[head, s(305, "3130 6563686f 1e 11 6f6e6520 04")]);
    assert_eq!(exchanges(&collected), [(1, vec![2], Outcome::Answered)]);
}

#[test]
fn a_part_without_a_next_part_is_a_message_without_its_end() {
    let collected = play_surrounded(&[c(0, GQP_IDENTIFY), s(5, HEAD)]);
    assert_eq!(messages(&collected), [(1, "request"), (2, "response")]);
    assert!(collected.frame(2).rules().contains(&"GQP-FRM-001"));
    assert_eq!(exchanges(&collected), [(1, vec![2], Outcome::Answered)]);
}

#[test]
fn two_seconds_are_the_limit_of_a_part() {
    let collected = play_surrounded(&[c(0, GQP_IDENTIFY), s(5, HEAD), s(2005, MIDDLE), s(2006, TAIL)]);
    assert_eq!(messages(&collected)[1], (2, "fragment"), "exactly two seconds are not too long");
    let collected = play_surrounded(&[c(0, GQP_IDENTIFY), s(5, HEAD), s(2006, TAIL)]);
    assert_eq!(messages(&collected)[1], (2, "response"));
    assert!(collected.frame(2).rules().contains(&"GQP-FRM-001"));
    assert_eq!(exchanges(&collected)[0], (1, vec![2], Outcome::Answered));
}

#[test]
fn a_request_goes_on_for_two_seconds_in_sixteen_parts_and_not_behind_another() {
    const BEGINS: &str = "6563686f 1e 6f6e6520";
    let asked = |raw_frames: &[RawFrame]| exchanges(&play_surrounded(raw_frames)).len();
    assert_eq!(asked(&[c(0, BEGINS), c(2000, "74776f 04")]), 1);
    assert_eq!(asked(&[c(0, BEGINS), c(2001, "74776f 04")]), 2);
    let parts = |count: i64| (1..count).map(|n| c(n, "61"));
    let in_parts = |count| [c(0, BEGINS)].into_iter().chain(parts(count)).collect::<Vec<_>>();
    assert_eq!((asked(&in_parts(16)), asked(&in_parts(17))), (1, 2));
    assert_eq!(asked(&[c(0, BEGINS), c(1, GQP_IDENTIFY), c(2, "74776f 04")]), 3);
}

#[test]
fn a_message_that_begins_does_not_go_on_with_another() {
    let collected =
        play_surrounded(&[c(0, "6964656e74696679"), c(300, GQP_IDENTIFY), s(305, GQP_IDENTIFY_REPLY)]);
    assert_eq!(messages(&collected), [(1, "request"), (2, "request"), (3, "response")]);
    assert!(collected.frame(1).rules().contains(&"GQP-FRM-001"));
    let mut ends = exchanges(&collected);
    ends.sort_by_key(|e| e.0);
    assert_eq!(ends, [(1, vec![], Outcome::Unanswered), (2, vec![3], Outcome::Answered)]);
}

#[test]
fn an_answer_of_a_forgotten_conversation_is_reported() {
    // With the minimum memory, 4,096 further conversations evict the first one.
    let mut raw_frames = vec![c(0, GQP_IDENTIFY), s(1, HEAD)];
    for n in 0..5_000u32 {
        let client = ([10, 1, (n >> 8) as u8, n as u8], 1024 + (n >> 16) as u16);
        raw_frames.push(udp_frame(
            START + 2 * MS + i64::from(n) * 1000,
            client,
            ([192, 0, 2, 99], 7070),
            &hex(GQP_IDENTIFY),
        ));
    }
    let options = Options { budget: Budget::mib(1), ..play::everything() };
    let (collected, totals) = play::report(options, Collected::<true>::default(), &raw_frames);
    assert!(totals.evicted > 0);
    let first = collected.exchanges.iter().find(|(e, _)| e.id == 1).expect("it is told");
    assert_eq!((first.0.response_frames(), first.0.outcome), (&[2][..], Outcome::Answered));
}

#[test]
fn sixteen_parts_are_the_most() {
    let mut raw_frames = vec![c(0, GQP_IDENTIFY)];
    raw_frames.extend((0..20).map(|n| s(5 + n, if n == 0 { HEAD } else { "61" })));
    let collected = play_surrounded(&raw_frames);
    assert_eq!(collected.exchanges[0].0.response_frames().len(), 16);
}

/// The exchanges for rules of Unreal Engine 2, which are sent in datagrams without number or end.
fn listed(collected: &Collected<true>) -> Vec<(u64, Vec<u64>)> {
    let mut all: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.id, e.response_frames().to_vec())).collect();
    all.sort();
    all
}

#[test]
fn an_answer_without_end_goes_on_until_another_request_is_open() {
    const RULES: &str = "79000000 01";
    let part = |ms, key: &str| s(ms, &format!("80000000 01 02 '{key}' 00 00"));
    let raw_frames = [
        c(0, RULES),
        part(1, "a"),
        part(2, "b"),
        part(3, "b"),
        c(1_000, RULES),
        part(1_001, "c"),
        part(1_002, "a"),
    ];
    let collected = play_surrounded(&raw_frames);
    assert_eq!(listed(&collected), [(1, vec![2, 3]), (2, vec![6, 7])]);
    assert!(
        matches!(collected.frame(4).pairing, Pairing::DuplicateResponse { of: 3, .. }),
        "{:?}",
        collected.frame(4).pairing
    );
}

#[test]
fn parts_of_an_answer_do_not_answer_an_earlier_abandoned_request() {
    const RULES: &str = "79000000 01";
    let part = |ms, key: &str| s(ms, &format!("80000000 01 02 '{key}' 00 00"));
    let raw_frames = [c(0, RULES), c(5_000, RULES), part(5_001, "a"), part(5_002, "b"), part(5_003, "c")];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![]), (2, vec![3, 4, 5])]);
    // Each of two simultaneous requests has an answer.
    let raw_frames = [c(0, RULES), c(100, RULES), part(101, "a"), part(102, "b"), part(103, "c")];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![3]), (2, vec![4, 5])]);
}

#[test]
fn answers_without_end_leave_room_for_the_parts_of_others() {
    let of = |port: u16, mut frame: RawFrame, at: usize| {
        frame.bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        frame
    };
    let part = |ms, text: &str| s(ms, &format!(r"'\a\b\queryid\{text}'"));
    let many = (0..100).flat_map(|n| {
        let answer = |after, key: &str| s(20 * n + after, &format!("80000000 01 02 '{key}' 00 00"));
        let port = 20_000 + n as u16;
        [of(port, c(20 * n, "79000000 01"), 34), of(port, answer(1, "a"), 36), of(port, answer(2, "b"), 36)]
    });
    let last = [c(2_000, r"'\status\'"), part(2_001, "7.1"), part(2_002, r"7.2\final\")];
    let collected = play_surrounded(&many.chain(last).collect::<Vec<_>>());
    let listed = listed(&collected);
    assert!(listed.iter().all(|(_, frames)| frames.len() == 2), "{listed:?}");
    assert_eq!(listed.len(), 101);
}

#[test]
fn one_request_may_ask_for_two_answers_without_end() {
    let raw_frames = [
        c(0, "79000000 03"),
        s(1, "80000000 01 02 'a' 00 00"),
        s(2, "80000000 02"),
        s(3, "80000000 01 02 'b' 00 00"),
    ];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![2, 3, 4])]);
}

#[test]
fn parts_of_two_answers_are_told_apart_by_their_query_id_or_by_order() {
    let ask = |ms| c(ms, r"'\status\'");
    let part = |ms, text: &str| s(ms, &format!(r"'\a\b\queryid\{text}'"));
    // The second answer begins before the first one is complete.
    let raw_frames =
        [ask(0), ask(1), part(2, "7.1"), part(3, r"8.1"), part(4, r"8.2\final\"), part(5, r"7.2\final\")];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![3, 6]), (2, vec![4, 5])]);
    // A server that always sends the part number 1.1 and never the last part.
    let raw_frames = [ask(0), part(1, "1.1"), ask(500), part(501, r"1.1\c\d")];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![2]), (2, vec![4])]);
    // Without a query id, each datagram belongs to the current answer.
    let raw_frames = [ask(0), s(1, r"'\a\b'"), s(2, r"'\c\d\final\'")];
    let collected = play_surrounded(&raw_frames);
    assert_eq!(listed(&collected), [(1, vec![2, 3])]);
    assert_eq!(messages(&collected), [(1, "request"), (2, "response"), (3, "response")]);
}

#[test]
fn a_part_that_comes_again_is_a_copy_when_the_answer_is_whole_too() {
    let part = |ms, text: &str| s(ms, &format!(r"'\a\b\queryid\{text}'"));
    let raw_frames = [c(0, r"'\status\'"), part(1, "7.1"), part(2, r"7.2\final\"), part(3, r"7.2\final\")];
    let collected = play_surrounded(&raw_frames);
    assert!(
        matches!(collected.frame(4).pairing, Pairing::DuplicateResponse { of: 3, .. }),
        "{:?}",
        collected.frame(4).pairing
    );
}

#[test]
fn parts_with_truncated_numbers_belong_to_the_current_answer() {
    let cut = |mut frame: RawFrame| {
        frame.bytes.truncate(14 + 20 + 8 + 20);
        frame
    };
    let part = |ms, text: &str| cut(s(ms, &format!(r"'\{text}\queryid\7.1'")));
    let [ask, players] = [c(0, r"'\status\'"), part(1, r"player_0\Ann\frags_0\3")];
    // The first part comes second.
    let first = part(2, r"gamename\ut\hostname\Lab");
    assert_eq!(listed(&play_surrounded(&[ask.clone(), players.clone(), first])), [(1, vec![2, 3])]);
    // While another request is open, the beginning of an answer is a new answer.
    let second = part(500, r"gamename\ut\hostname\Lab");
    let raw_frames = [ask, players, c(499, r"'\status\'"), second];
    assert_eq!(listed(&play_surrounded(&raw_frames)), [(1, vec![2]), (2, vec![4])]);
}

#[test]
fn extensions_announced_in_parts_are_unknown() {
    let raw_frames = [
        c(0, "657874656e73696f6e73 04"),
        s(5, "3130 657874656e73696f6e73 1e 13 706c61"),
        s(6, "79657273 1f 72756c6573 04"),
        c(100, "72756c6573 04"),
    ];
    let rules = play_surrounded(&raw_frames).frame(4).rules();
    assert!(!rules.contains(&"GQP-REQ-004"), "{rules:?}");
}

#[test]
fn a_part_waits_two_seconds_whatever_else_comes_then() {
    let another = c(2005, "6563686f 1e 61 04");
    let collected =
        play_surrounded(&[c(0, GQP_IDENTIFY), s(5, HEAD), another, s(2005, MIDDLE), s(2006, TAIL)]);
    assert_eq!(collected.frame(2).message, "fragment");
}

#[test]
fn a_part_of_one_end_does_not_continue_a_message_of_the_other() {
    let collected = play_surrounded(&[
        c(0, GQP_IDENTIFY),
        c(300, "6563686f 1e 6f6e6520"),
        s(305, HEAD),
        c(310, "74776f 04"),
        s(600, "3130 6563686f 1e 11 6f6e652074776f 04"),
    ]);
    let expected = ["request", "fragment", "response", "request", "response"];
    assert_eq!([1, 2, 3, 4, 5].map(|frame| collected.frame(frame).message), expected);
}
