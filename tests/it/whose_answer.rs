//! Which request an answer belongs to, where that is easily mistaken: keys cut off, tokens issued twice, requests alike.

use crate::kit::play::{
    CLIENTS, Collected, END, H1, H2, MS, OK, POLL, QI, S, START, STATE, Shot, c, everything, hear, lines,
    report, s, shot,
};
use qdissect::exchange::{Exchange, Outcome, Pairing};
use qdissect::rule::hex;

/// A poll of Satisfactory that ends inside its cookie, one with cookie 0, and the answer to that.
const CUT: &str = "d5f6 00 01 07070707";
const ZERO: &str = "d5f6 00 01 0000000000000000 01";
/// An answer that ends inside its cookie.
const CUT_STATE: &str = "d5f6 01 01 efcdab89 01";

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
    heard: &Collected<ORDERED>,
) -> Vec<(u64, Option<u64>, Option<u64>, Outcome)> {
    let one = |(e, _): &(Exchange, _)| (e.request_frame, e.key, e.response_frame, e.outcome);
    let mut all: Vec<_> = heard.exchanges.iter().map(one).collect();
    all.sort_by_key(|(frame, ..)| *frame);
    all
}

/// The rules that datagrams and exchanges break in a conversation.
fn rules(heard: &Collected<true>) -> Vec<&'static str> {
    heard.findings().map(|f| f.rule.id).collect()
}

#[test]
fn a_poll_cut_inside_its_cookie_is_none_with_cookie_0() {
    let shots = [c(0, CUT), c(500 * MS, ZERO), s(510 * MS, &state("0000000000000000"))];
    let heard = hear(&shots);
    let expected = [(2, None, None, Outcome::Unanswered), (3, Some(0), Some(4), Outcome::Answered)];
    assert_eq!(exchanges(&heard), expected);
    assert_eq!(
        [2, 3].map(|frame| heard.frame(frame).rules()),
        [vec!["SFQ-REQ-001", "SFQ-ENV-005"], vec!["SFQ-REQ-004"]]
    );
    let (second, _) = heard.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert_eq!((second.response_time, second.retransmissions), (Some(10 * MS), 0));
    let records = lines(everything(), &shots);
    let records: Vec<serde_json::Value> = records.lines().map(|l| l.parse().expect("JSON")).collect();
    let key = |frame: u64| {
        let its = |r: &&serde_json::Value| r["type"] == "exchange" && r["request_frame"] == frame;
        records.iter().find(its).expect("it is told")["key"].clone()
    };
    assert_eq!([key(1), key(2)], [serde_json::Value::Null, "0x0000000000000000".into()]);
}

#[test]
fn a_poll_without_a_whole_cookie_is_repeated_by_nobody() {
    let heard = hear(&[c(0, POLL), s(MS, STATE), c(S, CUT), c(S + 10 * MS, CUT)]);
    let silent = |frame| (frame, None, None, Outcome::Unanswered);
    assert_eq!(exchanges(&heard)[1..], [silent(4), silent(5)]);
    assert!(!rules(&heard).contains(&"SFQ-TXN-004"));
    // The same where the capture cut it: the sender did nothing wrong.
    let mut snapped = c(S, POLL);
    snapped.bytes.truncate(snapped.bytes.len() - 6);
    let heard =
        hear(&[c(0, POLL), s(MS, STATE), snapped.clone(), Shot { time: snapped.time + MS, ..snapped }]);
    assert_eq!(exchanges(&heard)[1..], [silent(4), silent(5)]);
    assert_eq!([4, 5].map(|frame| heard.frame(frame).rules()), [["GEN-001"], ["GEN-001"]]);
}

#[test]
fn what_was_captured_alike_is_no_copy_while_a_poll_waits() {
    let cut = |mut shot: Shot| {
        shot.bytes.truncate(14 + 20 + 8 + 6);
        shot
    };
    let heard =
        hear(&[c(0, POLL), s(MS, STATE), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, STATE)].map(cut));
    let answered = |asked, told| (asked, None, Some(told), Outcome::Answered);
    assert_eq!(exchanges(&heard), [answered(2, 3), answered(4, 5)]);
    assert_eq!(heard.frame(6).rules(), ["GEN-001", "SFQ-TXN-005"]);
}

#[test]
fn a_poll_without_a_whole_cookie_is_answered_by_order_if_at_all() {
    let heard = hear(&[c(0, CUT), s(MS, &state("0707070700000000"))]);
    assert_eq!(exchanges(&heard), [(2, None, Some(3), Outcome::Answered)]);
    // What belongs to another one does not answer it.
    let heard = hear(&[c(0, CUT), c(MS, POLL), s(2 * MS, STATE)]);
    let silent = (2, None, None, Outcome::Unanswered);
    let answered = |asked, told| (asked, Some(0x0123_4567_89ab_cdef), Some(told), Outcome::Answered);
    assert_eq!(exchanges(&heard), [silent, answered(3, 4)]);
    let heard = hear(&[c(0, POLL), s(MS, STATE), c(S, CUT), s(S + MS, STATE)]);
    assert_eq!(exchanges(&heard), [answered(2, 3), (4, None, None, Outcome::Unanswered)]);
    assert_eq!(heard.frame(5).rules(), ["SFQ-TXN-005"]);
    // Nor does an answer from elsewhere, whose cookie is 0.
    let elsewhere = shot(START + MS, (END.0, 9), CLIENTS[0], &hex(&state("0000000000000000")));
    let heard = hear(&[c(0, CUT), elsewhere]);
    assert_eq!(exchanges(&heard), [silent]);
    assert_eq!(heard.frame(3).rules(), ["SFQ-TXN-001"]);
}

#[test]
fn an_answer_cut_inside_its_cookie_answers_no_poll_that_has_one() {
    let heard = hear(&[c(0, POLL), s(MS, CUT_STATE), s(2 * MS, STATE)]);
    assert_eq!(exchanges(&heard), [(2, Some(0x0123_4567_89ab_cdef), Some(4), Outcome::Answered)]);
    assert_eq!(heard.frame(3).rules(), ["SFQ-RSP-001"], "nobody can say that its cookie is wrong");
    let heard = hear(&[c(0, POLL), s(MS, STATE), s(2 * MS, CUT_STATE)]);
    assert_eq!(heard.frame(4).rules(), ["SFQ-RSP-001", "SFQ-TXN-001"], "but that nothing is open");
}

#[test]
fn a_token_issued_again_answers_the_challenge_that_is_open() {
    let one = |at: i64| [c(at, H1), s(at + MS, H2), c(at + 2 * MS, QI), s(at + 3 * MS, OK)];
    let heard = hear(&[one(0), one(400 * MS)].concat());
    let told = [(2, 3), (4, 5), (6, 7), (8, 9)];
    let found: Vec<_> = exchanges(&heard).iter().map(|(asked, _, told, _)| (*asked, *told)).collect();
    assert_eq!(found, told.map(|(asked, told)| (asked, Some(told))));
    assert_eq!(rules(&heard), ["SQP-TXN-015"]);
    assert_eq!(heard.frame(7).rules(), ["SQP-TXN-015"]);
    // With no challenge open it is a copy.
    let heard = hear(&[&one(0)[..], &[s(4 * MS, H2)]].concat());
    assert_eq!(heard.frame(6).rules(), ["SQP-TXN-013"]);
}

/// The query of a conversation that is certain is reported at once: it did not wait for this answer, which confirms nothing.
#[test]
fn an_answer_from_another_endpoint_finds_no_request_released_early() {
    let other = ([192, 0, 2, 11], 7_777);
    let weak = hex("01 80902348 0001 00 00 0000 05 00000001 00");
    let late = shot(START + S + 1, other, CLIENTS[0], &weak);
    let shots = [c(0, H1), s(0, H2), c(0, QI), late];
    let (ordered, totals) = report(everything(), Collected::<true>::default(), &shots);
    let (at_once, others) = report(everything(), Collected::<false>::default(), &shots);
    assert_eq!(exchanges(&ordered), exchanges(&at_once));
    assert_eq!(exchanges(&ordered)[1].3, Outcome::Late);
    assert_eq!([totals.waiting_overflow, others.waiting_overflow], [0, 0]);
}

#[test]
fn versions_are_compared_with_the_request_that_is_answered() {
    let (other_token, old) =
        (OK.replace("80902348 0001", "22222222 0000"), OK.replace("0001 00 00", "0000 00 00"));
    // It belongs to no request: no version is expected.
    let heard = hear(&[c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, &other_token)]);
    assert_eq!(heard.frame(5).rules(), ["SQP-TXN-004"]);
    let heard = hear(&[c(0, POLL), s(MS, &version_2(&state("0200000000000000")))]);
    assert_eq!(heard.frame(3).rules(), ["SFQ-ENV-004", "SFQ-TXN-002"]);
    // The first of two queries with one token asked for version 1, the later one for 0.
    let later = QI.replace("0001 01", "0000 01");
    let heard =
        hear(&[c(0, H1), s(MS, H2), c(2 * MS, QI), c(3 * MS, &later), s(4 * MS, &old), s(5 * MS, OK)]);
    let differ: Vec<_> = heard.packets.iter().filter(|p| p.rules().contains(&"SQP-TXN-010")).collect();
    assert_eq!(differ.iter().map(|p| p.frame).collect::<Vec<_>>(), [6], "it is said once a server");
}

#[test]
fn of_two_answers_with_one_cookie_a_copy_repeats_the_one_with_its_bytes() {
    let (poll, told) = (version_2(POLL), version_2(STATE));
    let heard = hear(&[c(0, &poll), s(MS, &told), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, &told)]);
    assert!(matches!(heard.frame(6).pairing, Pairing::DuplicateResponse { exchange: 1, of: 3, .. }));
    assert_eq!(heard.frame(6).rules(), ["SFQ-ENV-004", "SFQ-TXN-005"], "its poll was of that version");
    // One with bytes of its own repeats the latest.
    let other = STATE.replace("466162", "426162");
    let heard = hear(&[c(0, POLL), s(MS, STATE), c(S, POLL), s(S + MS, STATE), s(S + 2 * MS, &other)]);
    assert!(matches!(heard.frame(6).pairing, Pairing::DuplicateResponse { exchange: 2, of: 5, .. }));
}

#[test]
fn a_chunk_too_many_does_not_hide_that_another_is_missing() {
    let asks = |chunks: &str| QI.replace("0001 01", &format!("0001 {chunks}"));
    let broken = |chunks: &str, answer: &str| {
        let heard = hear(&[c(0, H1), s(MS, H2), c(2 * MS, &asks(chunks)), s(3 * MS, answer)]);
        heard.frame(5).rules()
    };
    assert_eq!(broken("02", OK), ["SQP-TXN-017", "SQP-TXN-011"]);
    let with_rules =
        "01 80902348 0001 00 00 001a 0000000e 0001 0008 0141 0162 0163 0164 1e61 00000004 016b 00 01";
    assert_eq!(broken("02", with_rules), ["SQP-TXN-017"], "nothing is");
    assert_eq!(broken("06", with_rules), ["SQP-TXN-017", "SQP-TXN-011"]);
}
