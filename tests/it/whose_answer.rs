//! Pairing in ambiguous cases: truncated keys, tokens issued twice, identical requests.

use crate::kit::play::{
    CLIENTS, Collected, MS, POLL, RawFrame, S, SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY,
    SQP_QUERY_REPLY, START, STATE, c, everything, lines, play_surrounded, report, s, udp_frame,
};
use qdissect::exchange::{Exchange, Outcome, Pairing};
use qdissect::rule::hex;

/// A poll of Satisfactory that ends inside its cookie, one with cookie 0, and the answer to that.
const TRUNCATED_POLL: &str = "d5f6 00 01 07070707";
const POLL_WITH_ZERO_COOKIE: &str = "d5f6 00 01 0000000000000000 01";
/// An answer that ends inside its cookie.
const TRUNCATED_STATE: &str = "d5f6 01 01 efcdab89 01";

/// An answer of Satisfactory with another cookie.
fn state(cookie: &str) -> String {
    STATE.replace("efcdab8967452301", cookie)
}

/// The same datagram of another version.
fn version_2(message: &str) -> String {
    format!("{}02{}", &message[..8], &message[10..])
}

/// Frame of the request, key, frame of the answer, and outcome of each exchange, in order of the requests.
fn exchanges<const ORDERED: bool>(
    collected: &Collected<ORDERED>,
) -> Vec<(u64, Option<u64>, Option<u64>, Outcome)> {
    let one = |(e, _): &(Exchange, _)| (e.request_frame, e.key, e.response_frame, e.outcome);
    let mut all: Vec<_> = collected.exchanges.iter().map(one).collect();
    all.sort_by_key(|(frame, ..)| *frame);
    all
}

/// The rules that datagrams and exchanges break in a conversation.
fn rules(collected: &Collected<true>) -> Vec<&'static str> {
    collected.findings().map(|f| f.rule.id).collect()
}

#[test]
fn a_poll_with_a_truncated_cookie_does_not_have_cookie_0() {
    let frames =
        [c(0, TRUNCATED_POLL), c(500 * MS, POLL_WITH_ZERO_COOKIE), s(510 * MS, &state("0000000000000000"))];
    let collected = play_surrounded(&frames);
    let expected = [(2, None, None, Outcome::Unanswered), (3, Some(0), Some(4), Outcome::Answered)];
    assert_eq!(exchanges(&collected), expected);
    assert_eq!(
        [2, 3].map(|frame| collected.frame(frame).rules()),
        [vec!["SFQ-REQ-001", "SFQ-ENV-005"], vec!["SFQ-REQ-004"]]
    );
    let (second, _) = collected.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert_eq!((second.response_time, second.retransmissions), (Some(10 * MS), 0));
    let records = lines(everything(), &frames);
    let records: Vec<serde_json::Value> = records.lines().map(|l| l.parse().expect("JSON")).collect();
    let key = |frame: u64| {
        let is_exchange = |r: &&serde_json::Value| r["type"] == "exchange" && r["request_frame"] == frame;
        records.iter().find(is_exchange).expect("it is told")["key"].clone()
    };
    assert_eq!([key(1), key(2)], [serde_json::Value::Null, "0x0000000000000000".into()]);
}

#[test]
fn a_poll_with_a_truncated_cookie_is_never_repeated() {
    let collected =
        play_surrounded(&[c(0, POLL), s(MS, STATE), c(S, TRUNCATED_POLL), c(S + 10 * MS, TRUNCATED_POLL)]);
    let silent = |frame| (frame, None, None, Outcome::Unanswered);
    assert_eq!(exchanges(&collected)[1..], [silent(4), silent(5)]);
    assert!(!rules(&collected).contains(&"SFQ-TXN-004"));
    // The same for truncated datagrams, without a fault of the sender.
    let mut snapped = c(S, POLL);
    snapped.bytes.truncate(snapped.bytes.len() - 6);
    let collected = play_surrounded(&[
        c(0, POLL),
        s(MS, STATE),
        snapped.clone(),
        RawFrame { time: snapped.time + MS, ..snapped },
    ]);
    assert_eq!(exchanges(&collected)[1..], [silent(4), silent(5)]);
    assert_eq!([4, 5].map(|frame| collected.frame(frame).rules()), [["GEN-001"], ["GEN-001"]]);
}

#[test]
fn identical_answers_are_not_copies_while_a_poll_is_open() {
    let cut = |mut raw_frame: RawFrame| {
        raw_frame.bytes.truncate(14 + 20 + 8 + 6);
        raw_frame
    };
    let collected = play_surrounded(
        &[c(0, POLL), s(MS, STATE), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, STATE)].map(cut),
    );
    let answered = |asked, answer| (asked, None, Some(answer), Outcome::Answered);
    assert_eq!(exchanges(&collected), [answered(2, 3), answered(4, 5)]);
    assert_eq!(collected.frame(6).rules(), ["GEN-001", "SFQ-TXN-005"]);
}

#[test]
fn a_poll_with_a_truncated_cookie_is_paired_by_order() {
    let collected = play_surrounded(&[c(0, TRUNCATED_POLL), s(MS, &state("0707070700000000"))]);
    assert_eq!(exchanges(&collected), [(2, None, Some(3), Outcome::Answered)]);
    // An answer to another poll does not answer it.
    let collected = play_surrounded(&[c(0, TRUNCATED_POLL), c(MS, POLL), s(2 * MS, STATE)]);
    let silent = (2, None, None, Outcome::Unanswered);
    let answered = |asked, answer| (asked, Some(0x0123_4567_89ab_cdef), Some(answer), Outcome::Answered);
    assert_eq!(exchanges(&collected), [silent, answered(3, 4)]);
    let collected = play_surrounded(&[c(0, POLL), s(MS, STATE), c(S, TRUNCATED_POLL), s(S + MS, STATE)]);
    assert_eq!(exchanges(&collected), [answered(2, 3), (4, None, None, Outcome::Unanswered)]);
    assert_eq!(collected.frame(5).rules(), ["SFQ-TXN-005"]);
    // Nor does an answer from elsewhere, whose cookie is 0.
    let elsewhere = udp_frame(START + MS, (SERVER_ADDR.0, 9), CLIENTS[0], &hex(&state("0000000000000000")));
    let collected = play_surrounded(&[c(0, TRUNCATED_POLL), elsewhere]);
    assert_eq!(exchanges(&collected), [silent]);
    assert_eq!(collected.frame(3).rules(), ["SFQ-TXN-001"]);
}

#[test]
fn an_answer_with_a_truncated_cookie_answers_no_poll_with_a_cookie() {
    let collected = play_surrounded(&[c(0, POLL), s(MS, TRUNCATED_STATE), s(2 * MS, STATE)]);
    assert_eq!(exchanges(&collected), [(2, Some(0x0123_4567_89ab_cdef), Some(4), Outcome::Answered)]);
    assert_eq!(collected.frame(3).rules(), ["SFQ-RSP-001"], "nobody can say that its cookie is wrong");
    let collected = play_surrounded(&[c(0, POLL), s(MS, STATE), s(2 * MS, TRUNCATED_STATE)]);
    assert_eq!(collected.frame(4).rules(), ["SFQ-RSP-001", "SFQ-TXN-001"], "but that nothing is open");
}

#[test]
fn a_token_issued_again_answers_the_challenge_that_is_open() {
    let one = |at: i64| {
        [
            c(at, SQP_CHALLENGE),
            s(at + MS, SQP_CHALLENGE_REPLY),
            c(at + 2 * MS, SQP_QUERY),
            s(at + 3 * MS, SQP_QUERY_REPLY),
        ]
    };
    let collected = play_surrounded(&[one(0), one(400 * MS)].concat());
    let pairs = [(2, 3), (4, 5), (6, 7), (8, 9)];
    let found: Vec<_> = exchanges(&collected).iter().map(|(asked, _, pairs, _)| (*asked, *pairs)).collect();
    assert_eq!(found, pairs.map(|(asked, pairs)| (asked, Some(pairs))));
    assert_eq!(rules(&collected), ["SQP-TXN-015"]);
    assert_eq!(collected.frame(7).rules(), ["SQP-TXN-015"]);
    // Without an open challenge it is a copy.
    let collected = play_surrounded(&[&one(0)[..], &[s(4 * MS, SQP_CHALLENGE_REPLY)]].concat());
    assert_eq!(collected.frame(6).rules(), ["SQP-TXN-013"]);
}

/// The query of a certain conversation is reported at once, without waiting for this answer, which confirms nothing.
#[test]
fn an_answer_from_another_endpoint_finds_no_request_released_early() {
    let other = ([192, 0, 2, 11], 7_777);
    let weak = hex("01 80902348 0001 00 00 0000 05 00000001 00");
    let late = udp_frame(START + S + 1, other, CLIENTS[0], &weak);
    let frames = [c(0, SQP_CHALLENGE), s(0, SQP_CHALLENGE_REPLY), c(0, SQP_QUERY), late];
    let (ordered, totals) = report(everything(), Collected::<true>::default(), &frames);
    let (at_once, others) = report(everything(), Collected::<false>::default(), &frames);
    assert_eq!(exchanges(&ordered), exchanges(&at_once));
    assert_eq!(exchanges(&ordered)[1].3, Outcome::Late);
    assert_eq!([totals.waiting_overflow, others.waiting_overflow], [0, 0]);
}

#[test]
fn versions_are_compared_with_the_request_that_is_answered() {
    let (other_token, old) = (
        SQP_QUERY_REPLY.replace("80902348 0001", "22222222 0000"),
        SQP_QUERY_REPLY.replace("0001 00 00", "0000 00 00"),
    );
    // It belongs to no request: no version is expected.
    let collected = play_surrounded(&[
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, &other_token),
    ]);
    assert_eq!(collected.frame(5).rules(), ["SQP-TXN-004"]);
    let collected = play_surrounded(&[c(0, POLL), s(MS, &version_2(&state("0200000000000000")))]);
    assert_eq!(collected.frame(3).rules(), ["SFQ-ENV-004", "SFQ-TXN-002"]);
    // The first of two queries with the same token requested version 1, the later one version 0.
    let later = SQP_QUERY.replace("0001 01", "0000 01");
    let collected = play_surrounded(&[
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        c(3 * MS, &later),
        s(4 * MS, &old),
        s(5 * MS, SQP_QUERY_REPLY),
    ]);
    let differ: Vec<_> = collected.packets.iter().filter(|p| p.rules().contains(&"SQP-TXN-010")).collect();
    assert_eq!(differ.iter().map(|p| p.frame).collect::<Vec<_>>(), [6], "it is said once a server");
}

#[test]
fn a_copy_refers_to_the_answer_with_the_same_bytes() {
    let (poll, state) = (version_2(POLL), version_2(STATE));
    let collected =
        play_surrounded(&[c(0, &poll), s(MS, &state), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, &state)]);
    assert!(matches!(collected.frame(6).pairing, Pairing::DuplicateResponse { exchange: 1, of: 3, .. }));
    assert_eq!(collected.frame(6).rules(), ["SFQ-ENV-004", "SFQ-TXN-005"], "its poll was of that version");
    // An answer with other bytes repeats the latest one.
    let other = STATE.replace("466162", "426162");
    let collected =
        play_surrounded(&[c(0, POLL), s(MS, STATE), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, &other)]);
    assert!(matches!(collected.frame(6).pairing, Pairing::DuplicateResponse { exchange: 2, of: 5, .. }));
}

#[test]
fn an_extra_chunk_does_not_hide_a_missing_one() {
    let asks = |chunks: &str| SQP_QUERY.replace("0001 01", &format!("0001 {chunks}"));
    let broken = |chunks: &str, answer: &str| {
        let collected = play_surrounded(&[
            c(0, SQP_CHALLENGE),
            s(MS, SQP_CHALLENGE_REPLY),
            c(2 * MS, &asks(chunks)),
            s(3 * MS, answer),
        ]);
        collected.frame(5).rules()
    };
    assert_eq!(broken("02", SQP_QUERY_REPLY), ["SQP-TXN-017", "SQP-TXN-011"]);
    let with_rules =
        "01 80902348 0001 00 00 001a 0000000e 0001 0008 0141 0162 0163 0164 1e61 00000004 016b 00 01";
    assert_eq!(broken("02", with_rules), ["SQP-TXN-017"], "nothing is");
    assert_eq!(broken("06", with_rules), ["SQP-TXN-017", "SQP-TXN-011"]);
}
