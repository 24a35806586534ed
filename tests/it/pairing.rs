//! Pairing of answers with requests.

use crate::kit::play::{
    CLIENTS, Collected, GQP_IDENTIFY, GQP_IDENTIFY_REPLY, MS, POLL, PORT, RawFrame, ReportedPacket, S,
    SERVER_ADDR, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything,
    example_frames, foreign, lines, play, refusal, report, s, udp_frame,
};
use qdissect::classify::Choice;
use qdissect::contract::Budget;
use qdissect::exchange::{Exchange, Lack, Outcome, Pairing};
use qdissect::pipeline::Options;
use qdissect::protocols::{Direction, Id, Level};
use qdissect::report::Totals;
use qdissect::rule::{Severity, hex};

/// The answer to another poll of Satisfactory.
const OTHER: &str =
    "d5f6 01 01 0200000000000000 03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";

/// Windows: SQP waits 1 s for an answer, Satisfactory 2 s; the late windows are 5 s and 10 s.
const SQP_WINDOW: i64 = S;
const SFQ_WINDOW: i64 = 2 * S;
const SFQ_LATE: i64 = 10 * S;

/// A foreign datagram that advances the capture time.
fn clock(time: i64) -> RawFrame {
    foreign(START + time)
}

/// Plays frames and returns the only exchange.
fn only_exchange(raw_frames: &[RawFrame]) -> (Exchange, Collected<true>) {
    let (collected, totals) = play(raw_frames);
    assert_eq!(totals.exchanges, 1, "{collected:#?}");
    (collected.exchanges[0].0.clone(), collected)
}

/// Request, answer and outcome of each exchange, in order of the requests.
fn outcomes(raw_frames: &[RawFrame]) -> Vec<(u64, Option<u64>, Outcome)> {
    let (collected, _) = play(raw_frames);
    let mut all: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame, e.outcome)).collect();
    all.sort_by_key(|(frame, ..)| *frame);
    all
}

/// The key of SA-MP is the same in every request, so the order decides as without a key.
#[test]
fn a_constant_key_pairs_only_by_order() {
    const SAMP_REQUEST: &str = "53414d50 c000020a 611e 69";
    const SAMP_REPLY: &str = "53414d50 c000020a 611e 69 00 0100 3200 01000000 41 01000000 67 01000000 6c";
    let window = 2 * S;
    let near = [
        c(0, SAMP_REQUEST),
        c(10 * MS, SAMP_REQUEST),
        s(window + 5 * MS, SAMP_REPLY),
        s(window + 6 * MS, SAMP_REPLY),
        clock(60 * S),
    ];
    let waiting = [(1, Some(4), Outcome::Late), (2, Some(3), Outcome::Answered)];
    assert_eq!(outcomes(&near), waiting, "the oldest that still waits");
    let late = [c(0, SAMP_REQUEST), c(S, SAMP_REQUEST), s(S + window + MS, SAMP_REPLY), clock(60 * S)];
    let oldest = [(1, Some(3), Outcome::Late), (2, None, Outcome::Unanswered)];
    assert_eq!(outcomes(&late), oldest, "the oldest of all, where none waits");
    // Two requests for players, then a request for something else, which ends neither of them.
    let [players, others] = ["63", "64"].map(|opcode| SAMP_REQUEST.replace(" 69", &format!(" {opcode}")));
    let player_list = format!("{players} 0000");
    let apart =
        [c(0, &players), c(300 * MS, &players), c(S, &others), s(S + MS, &player_list), clock(60 * S)];
    let last =
        [(1, None, Outcome::Unanswered), (2, Some(4), Outcome::Answered), (3, None, Outcome::Unanswered)];
    assert_eq!(outcomes(&apart), last, "the one that was not given up");
}

/// A challenge of A2S may answer any request, and a client with a long round trip has several open requests.
#[test]
fn a_request_with_a_challenge_does_not_end_a_request_for_one() {
    const CHALLENGE: &str = "ffffffff 41 c3192a4b";
    let asks = |step: &str, challenge: &str| format!("ffffffff {step} {challenge}");
    let [players, rules] = ["55", "56"].map(|step| asks(step, "ffffffff"));
    let [proven_players, proven_rules] = ["55", "56"].map(|step| asks(step, "c3192a4b"));
    let [list, pairs] = ["ffffffff 44 01 00 6e00 01000000 00007042", "ffffffff 45 0100 6b00 3100"];
    let rules_of =
        |raw_frames: &[RawFrame]| play(raw_frames).0.findings().map(|f| f.rule.id).collect::<Vec<_>>();
    let (trip, end) = (300 * MS, clock(60 * S));
    let at_once = [
        c(0, &players),
        c(MS, &rules),
        s(trip, CHALLENGE),
        c(trip + MS, &proven_players),
        s(trip + 2 * MS, CHALLENGE),
        c(trip + 3 * MS, &proven_rules),
        s(2 * trip, list),
        s(2 * trip + 2 * MS, pairs),
        end.clone(),
    ];
    let answered =
        // A challenge belongs to the latest request that waits for one.
        [(1, 5), (2, 3), (4, 7), (6, 8)].map(|(ask, answer)| (ask, Some(answer), Outcome::Answered));
    assert_eq!(outcomes(&at_once), answered);
    assert!(!rules_of(&at_once).iter().any(|rule| rule.starts_with("A2S")), "{:?}", rules_of(&at_once));
    // Sent again because the answer took long: both are answered.
    let again = [
        c(0, &players),
        c(S, &players),
        s(S + trip, CHALLENGE),
        c(S + trip + MS, &proven_players),
        s(S + trip + 2 * MS, CHALLENGE),
        s(S + 2 * trip, list),
        end.clone(),
    ];
    let answered = [(1, 5), (2, 3), (4, 6)].map(|(ask, answer)| (ask, Some(answer), Outcome::Answered));
    assert_eq!(outcomes(&again), answered);
    assert!(!rules_of(&again).contains(&"A2S-CHL-004"));
    // If no other request is open, it is refused.
    let refused =
        [c(0, &players), s(trip, CHALLENGE), c(trip + MS, &proven_players), s(2 * trip, CHALLENGE), end];
    assert!(rules_of(&refused).contains(&"A2S-CHL-004"));
}

#[test]
fn an_icmp_error_refuses_only_what_it_quotes() {
    const SKY: &str = "feffffff";
    let numbered = |mut raw_frame: RawFrame| {
        raw_frame.bytes[18..20].copy_from_slice(&[0, 7]); // the IP identification
        raw_frame
    };
    let (poll, other) = (numbered(c(0, POLL)), c(MS, &POLL.replace("efcdab8967452301", "0200000000000000")));
    let (answer, end) = (s(10 * MS, OTHER), clock(60 * S));
    let error = refusal(&poll, 13);
    let copy = RawFrame { time: error.time + 10_000, ..error.clone() };
    let raw_frames = [poll.clone(), other.clone(), error.clone(), copy, answer.clone(), end.clone()];
    assert_eq!(
        outcomes(&raw_frames),
        [(1, None, Outcome::Refused), (2, Some(5), Outcome::Answered)],
        "a copy"
    );
    let raw_frames = [poll, s(MS, STATE), other.clone(), error, answer.clone(), end.clone()];
    assert_eq!(
        outcomes(&raw_frames),
        [(1, Some(2), Outcome::Answered), (3, Some(5), Outcome::Answered)],
        "an old one"
    );
    let twins = [numbered(c(0, SKY)), c(MS, SKY)];
    let error = refusal(&twins[0], 4);
    let copy = RawFrame { time: error.time + 10_000, ..error.clone() };
    let found = outcomes(&[&twins[..], &[error.clone(), copy, end.clone()]].concat());
    assert_eq!(found.iter().filter(|(.., outcome)| *outcome == Outcome::Refused).count(), 1, "a copy");
    let mut fragment = error;
    fragment.bytes[48..50].copy_from_slice(&[0, 1]); // the offset of what it quotes
    let found = outcomes(&[twins[0].clone(), fragment, end.clone()]);
    assert_eq!(found, [(1, None, Outcome::Unanswered)], "what a later fragment holds is no header");
    let sky = c(2 * MS, SKY);
    let raw_frames = [other, sky.clone(), refusal(&sky, 4), answer, end];
    assert_eq!(
        outcomes(&raw_frames),
        [(1, Some(4), Outcome::Answered), (2, None, Outcome::Refused)],
        "another protocol"
    );
}

#[test]
fn an_icmp_error_refuses_no_request_that_was_given_up_nor_one_of_another_step() {
    let sky = [c(0, "feffffff"), c(10 * S, "feffffff")];
    let refused = [(1, None, Outcome::Unanswered), (2, None, Outcome::Refused)];
    assert_eq!(outcomes(&[sky[0].clone(), sky[1].clone(), refusal(&sky[1], 4), clock(60 * S)]), refused);
    let again = c(2 * S, SQP_CHALLENGE);
    let sqp = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        again.clone(),
        refusal(&again, 5),
        clock(60 * S),
    ];
    let found = outcomes(&sqp);
    assert_eq!(found[1..], [(3, None, Outcome::Unanswered), (4, None, Outcome::Refused)]);
}

/// The packet and exchange records.
fn records(options: Options, raw_frames: &[RawFrame]) -> Vec<serde_json::Value> {
    lines(options, raw_frames).lines().map(|l| l.parse().expect("a record is JSON")).collect()
}

#[test]
fn an_answer_without_a_key_prefers_a_request_without_one() {
    const PLAIN: &str = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let ask = |time, challenge: &str| c(time, &format!("ffffffff 'getinfo{challenge}'"));
    let end = clock(60 * S);
    let raw_frames = [ask(0, " abc"), ask(MS, ""), s(2 * MS, PLAIN), end.clone()];
    assert_eq!(outcomes(&raw_frames), [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
    let (collected, _) = play(&[ask(0, " abc"), s(2 * MS, PLAIN), end]);
    assert!(matches!(collected.frame(2).pairing, Pairing::Answered(a) if a.keyless));
}

#[test]
fn an_answer_with_a_key_belongs_to_no_request_with_another_or_none() {
    const KEYED: &str = r"ffffffff 'infoResponse' 0a '\challenge\x\hostname\Lab\mapname\dm\sv_maxclients\8'";
    for request in ["ffffffff 'getinfo abc'", "ffffffff 'getinfo'"] {
        let (collected, _) = play(&[c(0, request), s(MS, KEYED), clock(60 * S)]);
        assert!(matches!(collected.frame(2).pairing, Pairing::Unsolicited { open: true, .. }), "{request}");
    }
}

#[test]
fn an_answer_goes_to_a_request_of_another_step_only_where_none_of_its_own_is_open() {
    const INFO: &str = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let (status, info) = ("ffffffff 'getstatus'", "ffffffff 'getinfo'");
    let named = |step: u8| Id::Quake3.info().steps[usize::from(step)].name;
    let raw_frames = [c(0, status), c(MS, info), s(2 * MS, INFO), clock(60 * S)];
    assert_eq!(outcomes(&raw_frames), [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
    let (collected, _) = play(&[c(0, status), s(2 * MS, INFO), clock(60 * S)]);
    assert!(matches!(collected.frame(2).pairing, Pairing::Answered(a) if named(a.step) == "status"));
}

/// A handshake and a request for the state, then these answers a millisecond apart.
fn in_parts(answers: &[&str]) -> Vec<RawFrame> {
    let mut raw_frames = vec![c(0, "fefd09 01020304"), s(MS, "09 01020304 '7' 00")];
    raw_frames.push(c(2 * MS, "fefd00 01020304 00000007 ffffff01"));
    raw_frames.extend(
        (3..).zip(answers).map(|(ms, text)| s(ms * MS, &format!("00 01020304 'splitnum' 00 {text}"))),
    );
    raw_frames.push(clock(60 * S));
    raw_frames
}

#[test]
fn numbered_parts_come_in_any_order_and_twice() {
    let [first, second, last] = ["00 01 'a_' 00", "01 01 'a_' 00", "82 01 'a_' 00"];
    let (collected, _) = play(&in_parts(&[last, first, first, second, last]));
    let (e, findings) = collected.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert_eq!((e.response_frames(), e.outcome, findings.len()), (&[4, 5, 7][..], Outcome::Answered, 0));
    for (frame, of) in [(6, 5), (8, 4)] {
        assert!(
            matches!(collected.frame(frame).pairing, Pairing::DuplicateResponse { of: original, .. } if original == of),
            "{frame}"
        );
    }
}

#[test]
fn missing_parts_are_reported_for_the_exchange() {
    let (collected, _) = play(&in_parts(&["00 01 'a_' 00", "82 01 'a_' 00"]));
    let (e, findings) = collected.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert!(e.incomplete == Some(Lack::Part) && e.outcome == Outcome::Answered);
    assert_eq!(findings.iter().map(|f| f.rule.id).collect::<Vec<_>>(), ["GS3-SPL-002"]);
}

#[test]
fn a_part_that_contradicts_another_is_reported() {
    let (collected, _) =
        play(&in_parts(&["00 01 'a_' 00", "00 01 'b_' 00", "81 01 'a_' 00", "02 01 'a_' 00"]));
    assert_eq!(collected.frame(5).rules(), ["GS3-SPL-003"]);
    assert!(matches!(collected.frame(6).pairing, Pairing::Answered(a) if !a.contradicts));
}

#[test]
fn an_answer_with_an_extra_part_number_is_complete() {
    let [first, beyond, last] = ["00 01 'a_' 00", "02 01 'a_' 00", "81 01 'a_' 00 00 'b' 00 00 00"];
    for (parts, wrong) in [([first, beyond, last], 6), ([beyond, last, first], 5), ([first, last, beyond], 6)]
    {
        let (collected, _) = play(&in_parts(&parts));
        let part_rules: Vec<_> = [4, 5, 6].map(|frame| collected.frame(frame).rules()).concat();
        assert_eq!(
            (part_rules, collected.frame(wrong).rules()),
            (vec!["GS3-SPL-003"], vec!["GS3-SPL-003"]),
            "{parts:?}"
        );
        let (_, findings) =
            collected.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
        assert_eq!(findings.iter().map(|f| f.rule.id).collect::<Vec<_>>(), [""; 0], "{parts:?}");
    }
}

#[test]
fn an_answer_with_the_key_of_its_handshake_belongs_to_the_only_request() {
    let raw_frames = [
        c(0, "fefd09 01020304"),
        s(MS, "09 01020304 '7' 00"),
        c(2 * MS, "fefd00 05060708 00000007 00000000"),
        s(3 * MS, "00 01020304 'splitnum' 00 80 00 00"),
        clock(60 * S),
    ];
    let (collected, _) = play(&raw_frames);
    assert!(
        matches!(collected.frame(4).pairing, Pairing::Answered(a) if a.request_frame == 3 && a.foreign_key)
    );
}

#[test]
fn console_lines_answer_the_last_command_even_if_repeated() {
    const HEADER: &str = "'SAMP' c000020a 611e 'x'";
    let command = |at| c(at, &format!("{HEADER} 0100 'p' 0300 'cmd'"));
    let line = |at, text: &str| s(at, &format!("{HEADER} 0300 '{text}'"));
    let raw_frames = [
        command(0),
        line(MS, "one"),
        line(2 * MS, "one"),
        command(S),
        line(S + MS, "two"),
        line(S + 2 * MS, "one"),
        clock(60 * S),
    ];
    let (collected, totals) = play(&raw_frames);
    let asked = |frame| match collected.frame(frame).pairing {
        Pairing::Answered(answer) => Some(answer.request_frame),
        _ => None,
    };
    assert_eq!([2, 3, 5, 6].map(asked), [Some(1), Some(1), Some(4), Some(4)]);
    assert_eq!((totals.exchanges, totals.answered), (2, 2));
    // Also if an earlier command was lost.
    let lost = [command(0), command(S), line(S + MS, "one"), line(S + 2 * MS, "two"), clock(60 * S)];
    let outcomes = outcomes(&lost);
    assert_eq!(outcomes, [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn a_missing_optional_answer_is_a_note() {
    let silence = |opcode: char| {
        let (collected, _) = play(&[c(0, &format!("'SAMP' c000020a 611e '{opcode}'")), clock(60 * S)]);
        collected.findings().find(|f| f.rule.id == "SAMP-TXN-003").map(|f| f.severity.name())
    };
    assert_eq!(
        ['i', 'r', 'c', 'd', 'o'].map(silence),
        ["warning", "warning", "note", "note", "note"].map(Some)
    );
}

#[test]
fn a_broadcast_may_have_any_number_of_answers() {
    let client = CLIENTS[0];
    let host = |n: u8| ([192, 0, 2, n], 19132);
    let magic = "00ffff00fefefefefdfdfdfd12345678";
    let ping = |at, time| {
        udp_frame(START + at, client, host(255), &hex(&format!("01 {time:016x} {magic} 0000000000000002")))
    };
    let pong = |at, n: u8, time| {
        let text = format!("1c {time:016x} {:016x} {magic} 0001 'x'", 7);
        udp_frame(START + at, host(n), client, &hex(&text))
    };
    // The hosts send the same bytes, the second one twice; the second ping is not answered.
    let raw_frames =
        [ping(0, 1), pong(MS, 21, 1), pong(2 * MS, 22, 1), pong(3 * MS, 22, 1), ping(S, 2), clock(60 * S)];
    let (collected, totals) = play(&raw_frames);
    let exchanges: Vec<_> =
        collected.exchanges.iter().map(|(e, f)| (e.response_frames().to_vec(), f.len())).collect();
    assert!(exchanges.contains(&(vec![2, 3], 0)) && exchanges.contains(&(vec![], 0)), "{exchanges:?}");
    assert!(matches!(collected.frame(4).pairing, Pairing::DuplicateResponse { of: 3, .. }));
    assert_eq!((totals.exchanges, totals.answered, totals.unanswered), (2, 1, 1));
    assert!(collected.findings().all(|f| ["GEN-007", "RAK-TXN-005"].contains(&f.rule.id)), "{collected:#?}");
    // A request to one host is not answered by another one.
    let unicast =
        udp_frame(START, client, host(20), &hex(&format!("01 {:016x} {magic} 0000000000000002", 1)));
    let (collected, _) = play(&[unicast, pong(MS, 21, 1), clock(60 * S)]);
    assert!(collected.findings().any(|f| f.rule.id == "GEN-006"), "{collected:#?}");
}

#[test]
fn a_host_answers_the_broadcast_to_its_port() {
    let asks = |n: u16| {
        udp_frame(START + i64::from(n), CLIENTS[0], ([255; 4], 27960 + n), &hex("ffffffff 'getinfo'"))
    };
    let hears = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\m\sv_maxclients\8'";
    let answer = udp_frame(START + MS, ([192, 0, 2, 21], 27961), CLIENTS[0], &hex(hears));
    let found = outcomes(&[asks(0), asks(1), asks(2), asks(3), answer, clock(60 * S)]);
    let answered: Vec<_> = found.iter().map(|(_, answer, _)| *answer).collect();
    assert_eq!(answered, [None, Some(5), None, None]);
}

#[test]
fn a_host_answers_a_broadcast_to_its_sender_and_in_its_window() {
    let asks = udp_frame(START, CLIENTS[0], ([255; 4], PORT), &hex(POLL));
    let outcomes_of = |to, time| {
        outcomes(&[asks.clone(), udp_frame(START + time, SERVER_ADDR, to, &hex(STATE)), clock(60 * S)])
    };
    assert_eq!(outcomes_of(CLIENTS[0], SFQ_WINDOW), [(1, Some(2), Outcome::Answered)]);
    assert_eq!(outcomes_of(CLIENTS[0], SFQ_WINDOW + 1), [(1, Some(2), Outcome::Late)]);
    assert_eq!(outcomes_of(CLIENTS[1], MS), [(1, None, Outcome::Unanswered)], "it has asked nothing");
}

#[test]
fn hosts_answer_broadcasts_in_every_protocol() {
    let (info, plain) = ("ffffffff 'TSource Engine Query' 00", "ffffffff 'getinfo'");
    let a2s = "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00 80 8769";
    let quake = |challenge: &str| {
        format!(r"ffffffff 'infoResponse' 0a '{challenge}\hostname\Lab\mapname\m\sv_maxclients\8'")
    };
    let status = r"'\hostname\Lab\numplayers\1\maxplayers\8\queryid\7.1\final\'";
    let list = "'hostname' 00 'Lab' 00 'mapname' 00 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    let polls = [
        (info, a2s.to_owned()),
        (plain, quake("")),
        ("ffffffff 'getinfo abc'", quake(r"\challenge\abc")),
        (r"'\status\'", status.to_owned()),
        ("fefd00 'CORY' ff0000", format!("00 'CORY' {list}")),
        ("fefd00 'CORY' ffffff", format!("00 'CORY' {list} 0001 'player_' 00 00 'Ann' 00 0000 00")),
    ];
    for (ask, answer) in polls {
        let asks = |at| udp_frame(START + at, CLIENTS[0], ([255; 4], 27960), &hex(ask));
        let answers = |at, n| udp_frame(START + at, ([192, 0, 2, n], 27960), CLIENTS[0], &hex(&answer));
        let polls = (0..4).flat_map(|n| [asks(n * S), answers(n * S + MS, 21), answers(n * S + 2 * MS, 22)]);
        let silence = [asks(60 * S), asks(62 * S), asks(64 * S), clock(120 * S)];
        let (collected, totals) = play(&polls.chain(silence).collect::<Vec<_>>());
        let wrong: Vec<_> =
            collected.findings().filter(|f| f.severity > Severity::Note).map(|f| f.rule.id).collect();
        assert_eq!((wrong, totals.answered), (vec![], 4), "{ask}");
        assert!(collected.exchanges[..4].iter().all(|(e, _)| e.response_frames().len() == 2), "{ask}");
    }
}

#[test]
fn a_reused_key_is_reported() {
    let (ping, pong) = (
        "01 0000000000000001 00ffff00fefefefefdfdfdfd12345678 0000000000000002",
        "1c 0000000000000001 0000000000000007 00ffff00fefefefefdfdfdfd12345678",
    );
    let (collected, _) = play(&[c(0, ping), s(MS, pong), c(S, ping), s(S + MS, pong), clock(60 * S)]);
    assert!(matches!(collected.frame(3).pairing, Pairing::Asked { reused: true, .. }));
    assert!(matches!(collected.frame(4).pairing, Pairing::Answered(a) if a.request_frame == 3));
}

#[test]
fn a_retransmission_stays_one_exchange() {
    let (e, collected) = only_exchange(&[c(0, POLL), c(300 * MS, POLL), s(320 * MS, STATE), clock(60 * S)]);
    assert_eq!((e.request_frame, e.response_frame, e.retransmissions), (1, Some(3), 1));
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(320 * MS)));
    assert_eq!(
        collected.frame(2).pairing,
        Pairing::Retransmission { exchange: e.id, request_frame: 1, part: false }
    );
    assert_eq!(collected.frame(2).rules(), ["SFQ-TXN-004"]);
}

#[test]
fn a_request_that_was_sent_twice_may_be_answered_twice() {
    let asks = |time| c(time, "fefd00 'CORY' ff0000");
    let answers = |time, name: &str| {
        s(
            time,
            &format!("00 'CORY' 'hostname' 00 '{name}' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00"),
        )
    };
    let is_changed_reply = |asked: &[RawFrame]| {
        let answered = [answers(20 * MS, "Lab"), answers(30 * MS, "Two")];
        let (collected, _) = play(&[&[clock(-60 * S)], asked, &answered].concat());
        collected.packets.last().is_some_and(|p| p.rules().contains(&"GS2-TXN-001"))
    };
    assert!(is_changed_reply(&[asks(0)]));
    assert!(!is_changed_reply(&[asks(0), asks(10 * MS)]));
}

#[test]
fn repeated_polls_count_as_unanswered() {
    let polls: Vec<_> = (0..30).map(|n| c(n * 2 * S, POLL)).collect();
    let collected = play(&polls).0;
    let reported = collected.packets.iter().filter(|p| p.rules().contains(&"SFQ-TXN-009"));
    assert_eq!(reported.map(|p| p.frame).collect::<Vec<_>>(), [21]);
}

#[test]
fn the_window_runs_from_the_last_retransmission() {
    let again = 1500 * MS;
    let (e, _) = only_exchange(&[c(0, POLL), c(again, POLL), s(again + SFQ_WINDOW, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(again + SFQ_WINDOW)));
    let (e, _) = only_exchange(&[c(0, POLL), c(again, POLL), s(again + SFQ_WINDOW + 1, STATE)]);
    assert_eq!(e.outcome, Outcome::Late);
}

#[test]
fn a_copy_of_an_answer_refers_to_it_and_answers_nothing() {
    let raw_frames = [c(0, POLL), s(MS, STATE), s(2 * MS, STATE), clock(60 * S)];
    let (e, collected) = only_exchange(&raw_frames);
    assert_eq!(e.response_frame, Some(2));
    assert_eq!(collected.frame(3).rules(), ["SFQ-TXN-005"]);
    let copy = &records(everything(), &raw_frames)[3];
    assert_eq!((&copy["frame"], &copy["exchange"], &copy["duplicate_of"]), (&3.into(), &1.into(), &2.into()));
    assert!(copy.get("request_frame").is_none() && copy.get("response_time").is_none(), "{copy}");
}

#[test]
fn a_server_that_issues_the_same_token_again_answers_with_it() {
    let one = |at: i64| {
        [
            c(at, SQP_CHALLENGE),
            s(at + MS, SQP_CHALLENGE_REPLY),
            c(at + 2 * MS, SQP_QUERY),
            s(at + 3 * MS, SQP_QUERY_REPLY),
        ]
    };
    let raw_frames = [&one(0)[..], &one(2 * S), &[clock(30 * S)]].concat();
    let answered =
        [(1, 2), (3, 4), (5, 6), (7, 8)].map(|(asked, answer)| (asked, Some(answer), Outcome::Answered));
    assert_eq!(outcomes(&raw_frames), answered);
    let (collected, _) = play(&raw_frames);
    let broken: Vec<_> =
        collected.packets.iter().map(|p| (p.frame, p.rules())).filter(|(_, r)| !r.is_empty()).collect();
    // The same query and answer may also occur twice.
    assert_eq!(broken, [(6, vec!["SQP-TXN-015"])]);
    // Without an open request it is a copy.
    let copied = [&one(0)[..], &[s(4 * MS, SQP_CHALLENGE_REPLY), clock(30 * S)]].concat();
    assert_eq!(play(&copied).0.frame(5).rules(), ["SQP-TXN-013"]);
}

#[test]
fn a_copy_is_read_with_the_chunks_that_were_asked() {
    let metrics = "01 80902348 0001 00 00 0009 00000005 01 3f800000";
    let raw_frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, "01 80902348 0002 10"),
        s(3 * MS, metrics),
        s(4 * MS, metrics),
    ];
    let found = records(everything(), &raw_frames);
    let packet = |frame: u64| found.iter().find(|r| r["frame"] == frame).expect("every frame is claimed");
    assert_eq!(packet(5)["duplicate_of"], 4);
    assert_eq!(packet(5)["fields"], packet(4)["fields"]);
    let rules = packet(5)["findings"].to_string();
    assert!(!rules.contains("SQP-CHK-006"), "the request is in the capture: {rules}");
}

#[test]
fn an_answer_is_late_when_more_than_the_window_has_passed() {
    for (time, outcome) in [(SFQ_WINDOW, Outcome::Answered), (SFQ_WINDOW + 1, Outcome::Late)] {
        let (e, collected) = only_exchange(&[c(0, POLL), s(time, STATE), clock(60 * S)]);
        assert_eq!((e.outcome, e.response_time), (outcome, Some(time)));
        assert!(collected.exchanges[0].1.is_empty(), "late is no time-out");
        let late = collected.frame(2).rules().contains(&"SFQ-TXN-010");
        assert_eq!(late, outcome == Outcome::Late);
    }
    let query = |time| {
        [
            c(0, SQP_CHALLENGE),
            s(0, SQP_CHALLENGE_REPLY),
            c(0, SQP_QUERY),
            s(time, SQP_QUERY_REPLY),
            clock(60 * S),
        ]
    };
    assert_eq!(outcomes(&query(SQP_WINDOW))[1].2, Outcome::Answered);
    assert_eq!(outcomes(&query(SQP_WINDOW + 1))[1].2, Outcome::Late);
}

#[test]
fn the_late_window_ends_the_wait() {
    let (e, _) = only_exchange(&[c(0, POLL), s(SFQ_LATE, STATE)]);
    assert_eq!(e.outcome, Outcome::Late);
    // Also if that of another request ends just before.
    let another = c(-MS, &POLL.replace("efcdab89", "02000000"));
    assert_eq!(outcomes(&[another, c(0, POLL), s(SFQ_LATE, STATE)])[1], (2, Some(3), Outcome::Late));
    let (e, collected) = only_exchange(&[c(0, POLL), s(SFQ_LATE + 1, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Unanswered, None));
    assert_eq!(
        collected.frame(2).pairing,
        Pairing::Unsolicited { open: false, asked: None, key: None, other_step: false, elsewhere: false }
    );
    assert_eq!(collected.frame(2).rules(), ["SFQ-TXN-001"]);
}

#[test]
fn requests_open_at_the_end_of_the_capture_are_undecided() {
    let (e, collected) = only_exchange(&[c(0, POLL), clock(SFQ_WINDOW)]);
    assert_eq!(e.outcome, Outcome::Undecided);
    assert!(collected.exchanges[0].1.is_empty());
    let (e, collected) = only_exchange(&[c(0, POLL), clock(SFQ_WINDOW + 1)]);
    assert_eq!(e.outcome, Outcome::Unanswered);
    assert_eq!(collected.exchanges[0].1[0].rule.id, "SFQ-TXN-003");
}

/// An answer, `between` foreign frames, and its request.
fn early(between: usize, time: i64) -> Vec<RawFrame> {
    let mut raw_frames = vec![clock(-60 * S), s(0, STATE)];
    raw_frames.extend((0..between).map(|_| clock(0)));
    raw_frames.extend([c(time, POLL), clock(60 * S)]);
    raw_frames
}

#[test]
fn an_answer_captured_before_its_request_is_paired() {
    for (between, time) in [(0, 0), (63, 0), (0, 10 * MS), (0, -10 * MS)] {
        let (e, collected) = only_exchange(&early(between, time));
        assert_eq!(
            (e.response_frame, e.response_time),
            (Some(2), Some(-time)),
            "{between} frames, {time} ns"
        );
        assert_eq!(collected.frame(2).rules(), ["SFQ-SEC-001", "GEN-007"], "what is said of any answer");
        assert!(matches!(collected.frame(2).pairing, Pairing::Answered(a) if a.exchange == e.id));
        let frames: Vec<u64> = collected.packets.iter().map(|p| p.frame).collect();
        assert_eq!(frames, [2, 3 + between as u64]);
    }
    for (between, time) in [(64, 0), (0, 10 * MS + 1)] {
        let (e, collected) = only_exchange(&early(between, time));
        assert_eq!((e.response_frame, e.outcome), (None, Outcome::Unanswered), "{between} frames, {time} ns");
        assert_eq!(collected.frame(2).rules(), ["SFQ-TXN-001"]);
    }
}

#[test]
fn a_challenge_answer_captured_before_its_request_is_paired() {
    let raw_frames = [
        clock(-60 * S),
        s(0, SQP_CHALLENGE_REPLY),
        c(0, SQP_CHALLENGE),
        c(MS, SQP_QUERY),
        s(2 * MS, SQP_QUERY_REPLY),
        clock(60 * S),
    ];
    assert_eq!(outcomes(&raw_frames), [(3, Some(2), Outcome::Answered), (4, Some(5), Outcome::Answered)]);
}

#[test]
fn time_stamps_out_of_order_do_not_disturb_a_pair() {
    let (e, _) = only_exchange(&[c(5 * MS, POLL), s(0, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(-5 * MS)));
    let raw_frames = [c(5 * MS, SQP_CHALLENGE), s(0, SQP_CHALLENGE_REPLY), clock(60 * S)];
    assert_eq!(outcomes(&raw_frames), [(1, Some(2), Outcome::Answered)]);
}

#[test]
fn an_answer_without_a_key_may_be_stamped_a_hundredth_of_a_second_before_its_request() {
    let again = SQP_CHALLENGE_REPLY.replace("80902348", "80902349");
    let outcomes_at = |time| {
        outcomes(&[
            c(0, SQP_CHALLENGE),
            s(MS, SQP_CHALLENGE_REPLY),
            c(20 * MS, SQP_CHALLENGE),
            s(time, &again),
            clock(60 * S),
        ])
    };
    assert_eq!(outcomes_at(10 * MS)[1..], [(3, Some(4), Outcome::Answered)]);
    assert_eq!(outcomes_at(10 * MS - 1)[1..], [(3, None, Outcome::Unanswered)]);
}

#[test]
fn a_file_whose_time_jumps_back_is_paired() {
    let hour = 3600 * S;
    let raw_frames = [
        clock(hour),
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(20 * MS, SQP_QUERY),
        s(20 * MS + 3 * S, SQP_QUERY_REPLY),
        clock(hour),
    ];
    let (collected, _) = play(&raw_frames);
    let found: Vec<_> = collected.exchanges.iter().map(|(e, _)| (e.outcome, e.response_time)).collect();
    assert_eq!(found, [(Outcome::Answered, Some(MS)), (Outcome::Late, Some(3 * S))]);
    let by_default: Totals = report(Options::default(), Collected::<true>::default(), &raw_frames).1;
    assert_eq!(by_default.recognised, 4, "the first challenge is confirmed by what follows");
}

#[test]
fn a_request_without_a_key_is_given_up_when_its_sender_asks_again() {
    let asked_again = |ms: i64| {
        [
            c(0, SQP_CHALLENGE),
            c(ms * MS, SQP_CHALLENGE),
            s((ms + 10) * MS, SQP_CHALLENGE_REPLY),
            clock(60 * S),
        ]
    };
    let (first, second) = ((1, None, Outcome::Unanswered), (2, None, Outcome::Unanswered));
    assert_eq!(outcomes(&asked_again(250)), [first, (2, Some(3), Outcome::Answered)]);
    assert_eq!(outcomes(&asked_again(249)), [(1, Some(3), Outcome::Answered), second]);
}

#[test]
fn a_request_given_up_is_answered_when_no_other_is_left() {
    let raw_frames = [
        c(0, SQP_CHALLENGE),
        c(300 * MS, SQP_CHALLENGE),
        s(310 * MS, SQP_CHALLENGE_REPLY),
        s(320 * MS, "00 11111111"),
        clock(60 * S),
    ];
    assert_eq!(outcomes(&raw_frames), [(1, Some(4), Outcome::Answered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn a_request_past_its_window_is_answered_when_no_other_is_left() {
    let raw_frames = [c(0, SQP_CHALLENGE), s(3 * S, SQP_CHALLENGE_REPLY), clock(60 * S)];
    assert_eq!(outcomes(&raw_frames), [(1, Some(2), Outcome::Late)]);
}

#[test]
fn an_answer_with_an_unknown_key_leaves_the_exchange_open() {
    let (e, collected) = only_exchange(&[c(0, POLL), s(MS, OTHER), s(2 * MS, STATE), clock(60 * S)]);
    assert_eq!((e.response_frame, e.outcome), (Some(3), Outcome::Answered));
    assert!(matches!(collected.frame(2).pairing, Pairing::Unsolicited { open: true, .. }));
    assert_eq!(collected.frame(2).rules(), ["SFQ-TXN-002"]);
}

#[test]
fn an_answer_with_the_token_issued_last_answers_a_query_with_another() {
    let wrong = "01 11111111 0001 01";
    let raw_frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, wrong),
        s(3 * MS, SQP_QUERY_REPLY),
        clock(60 * S),
    ];
    let (collected, _) = play(&raw_frames);
    assert_eq!(outcomes(&raw_frames)[1], (3, Some(4), Outcome::Answered));
    assert_eq!(collected.frame(3).rules(), ["SQP-TXN-001"]);
    assert_eq!(collected.frame(4).rules(), ["SQP-TXN-004", "SQP-SEC-001"]);
}

#[test]
fn clients_with_the_same_cookie_are_kept_apart() {
    let from_second = udp_frame(START + MS, CLIENTS[1], SERVER_ADDR, &hex(POLL));
    let to_second = udp_frame(START + 2 * MS, SERVER_ADDR, CLIENTS[1], &hex(STATE));
    let raw_frames = [c(0, POLL), from_second, to_second, s(3 * MS, STATE), clock(60 * S)];
    assert_eq!(outcomes(&raw_frames), [(1, Some(4), Outcome::Answered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn a_capture_that_begins_with_the_answer_to_a_challenge_has_no_false_request() {
    let raw_frames =
        [s(0, SQP_CHALLENGE_REPLY), c(10 * MS, SQP_QUERY), s(20 * MS, SQP_QUERY_REPLY), clock(60 * S)];
    assert_eq!(outcomes(&raw_frames), [(2, Some(3), Outcome::Answered)]);
    let (collected, _) = play(&raw_frames);
    assert_eq!(
        (collected.frame(1).message, collected.frame(1).direction),
        ("challenge_response", Direction::S2c)
    );
}

/// Maximum number of remembered conversations with 4 MiB.
const MOST: u64 = 16_384;

#[test]
fn the_oldest_of_too_many_conversations_goes_and_is_counted() {
    let all = 20_000u32;
    let client = |n: u32| ([10, (n >> 16) as u8, (n >> 8) as u8, n as u8], 40_000);
    let mut raw_frames: Vec<RawFrame> =
        (0..all).map(|n| udp_frame(START, client(n), SERVER_ADDR, &hex(POLL))).collect();
    raw_frames.push(udp_frame(START, SERVER_ADDR, client(0), &hex(STATE)));
    raw_frames.push(udp_frame(START, SERVER_ADDR, client(all - 1), &hex(STATE)));
    let options = Options { budget: Budget::mib(4), ..everything() };
    let (collected, totals) = report(options, Collected::<false>::default(), &raw_frames);
    assert_eq!((totals.exchanges, totals.answered), (u64::from(all), 1));
    assert_eq!(totals.evicted, u64::from(all) - MOST + 1, "the answer to a forgotten one opens a new one");
    assert_eq!(
        collected.frame(u64::from(all) + 1).pairing,
        Pairing::Unsolicited { open: false, asked: None, key: None, other_step: false, elsewhere: false }
    );
    assert!(matches!(collected.frame(u64::from(all) + 2).pairing, Pairing::Answered(_)));
}

#[test]
fn five_zero_bytes_alone_are_of_low_confidence_and_not_shown_by_default() {
    let raw_frames = [c(0, SQP_CHALLENGE), clock(60 * S)];
    let (collected, _) = play(&raw_frames);
    assert_eq!((collected.frame(1).level, collected.frame(1).message), (Level::Low, "challenge_request"));
    let (collected, totals) = report(Options::default(), Collected::<true>::default(), &raw_frames);
    assert!(collected.packets.is_empty() && collected.exchanges.is_empty());
    assert_eq!((totals.recognised, totals.unclaimed), (0, 2));
}

#[test]
fn five_zero_bytes_answered_by_five_zero_bytes_stay_low() {
    let (collected, _) = play(&[c(0, SQP_CHALLENGE), s(10 * MS, SQP_CHALLENGE), clock(60 * S)]);
    let levels: Vec<_> = collected.packets.iter().map(|p| (p.message, p.level)).collect();
    assert_eq!(levels, [("challenge_request", Level::Low), ("challenge_response", Level::Low)]);
    let (e, _) = &collected.exchanges[0];
    assert_eq!((e.level, e.outcome), (Level::Low, Outcome::Answered));
}

#[test]
fn candidates_are_promoted_and_keep_the_order_of_frames() {
    let other = |time, text| udp_frame(START + time, CLIENTS[1], SERVER_ADDR, &hex(text));
    let raw_frames = [
        c(0, SQP_CHALLENGE),
        other(MS, POLL),
        c(2 * MS, SQP_CHALLENGE),
        s(700 * MS, SQP_CHALLENGE_REPLY),
        c(710 * MS, SQP_QUERY),
        clock(60 * S),
    ];
    let found = records(Options::default(), &raw_frames);
    let packets: Vec<_> = found.iter().filter(|r| r["type"] == "packet").collect();
    let frames: Vec<_> = packets.iter().map(|p| p["frame"].as_u64()).collect();
    assert_eq!(frames, [Some(1), Some(2), Some(3), Some(4), Some(5)]);
    assert!(packets.iter().all(|p| p["confidence"] != "low"), "{packets:#?}");
    let challenge = found.iter().find(|r| r["type"] == "exchange" && r["request_frame"] == 1);
    assert_eq!(challenge.map(|e| &e["outcome"]), Some(&"answered".into()), "{found:#?}");
}

#[test]
fn a_candidate_waits_while_its_answer_may_come_and_no_longer() {
    for (time, shown) in [(5 * S, true), (5 * S + 1, false)] {
        let raw_frames =
            [c(0, SQP_CHALLENGE), c(time, SQP_QUERY), s(time + MS, SQP_QUERY_REPLY), clock(60 * S)];
        let (collected, _) = report(Options::default(), Collected::<true>::default(), &raw_frames);
        assert_eq!(collected.packets.iter().any(|p| p.frame == 1), shown, "{time} ns");
    }
}

#[test]
fn a_pinned_port_determines_the_protocol() {
    let cut = "01 80902348 0001";
    let raw_frames = [c(0, cut), clock(60 * S)];
    let (collected, _) = play(&raw_frames);
    assert!(collected.packets.is_empty(), "seven bytes alone are nobody's: {collected:#?}");
    let pinned = Choice { pins: vec![(PORT, Id::Sqp)], ..Choice::default() };
    let (collected, _) =
        report(Options { choice: pinned, ..everything() }, Collected::<true>::default(), &raw_frames);
    let packet = collected.frame(1);
    assert_eq!((packet.id, packet.message, packet.direction), (Id::Sqp, "query_request", Direction::C2s));
    assert_eq!(
        (packet.level, packet.rules()),
        (Level::Medium, vec!["SQP-REQ-003", "SQP-TXN-002", "GEN-005"])
    );
}

/// What looks like another protocol is not taken for it there, and anywhere else it is.
#[test]
fn a_pinned_port_is_of_no_other_protocol() {
    let elsewhere = ([192, 0, 2, 77], PORT + 1);
    let shots = [
        c(0, POLL),
        s(MS, STATE),
        udp_frame(START + S, CLIENTS[1], elsewhere, &hex(POLL)),
        udp_frame(START + S + MS, elsewhere, CLIENTS[1], &hex(STATE)),
        c(2 * S, SQP_CHALLENGE),
        s(2 * S + MS, SQP_CHALLENGE_REPLY),
        clock(60 * S),
    ];
    let pinned = Choice { pins: vec![(PORT, Id::Sqp)], ..Choice::default() };
    let (heard, _) = report(Options { choice: pinned, ..everything() }, Collected::<true>::default(), &shots);
    let of = |id| heard.packets.iter().filter(|p| p.id == id).map(|p| p.frame).collect::<Vec<_>>();
    assert_eq!(of(Id::Satisfactory), [3, 4]);
    assert!(of(Id::Sqp).ends_with(&[5, 6]), "{heard:#?}");
}

#[test]
fn an_answered_request_stays_a_request_when_roles_are_reversed() {
    // The first byte looks like a challenge request and is answered; then the sender of the answer sends a request.
    let raw_frames = [
        s(0, "00"),
        c(0, SQP_CHALLENGE),
        s(0, SQP_CHALLENGE_REPLY),
        c(0, "01 80902348"),
        s(0, SQP_QUERY_REPLY),
    ];
    let all_records = records(everything(), &raw_frames);
    let exchange = all_records.iter().find(|r| r["type"] == "exchange").unwrap();
    for frame in [&exchange["request_frame"], &exchange["response_frames"][0]] {
        let packet = all_records.iter().find(|r| r["type"] == "packet" && &r["frame"] == frame).unwrap();
        assert_eq!(packet["exchange"], exchange["id"], "{packet}");
    }
}

/// GQP: an error in the name of a command is a cause for the same error in its reply, but not in an earlier reply.
#[test]
fn earlier_findings_are_not_symptoms_of_later_ones_in_any_order() {
    let (request, answer) = ("636166e9 04", "3130 636166e9 1e 11 61 04");
    let known = |time| [c(time, GQP_IDENTIFY), s(time + MS, GQP_IDENTIFY_REPLY)];
    let pair = |time| [c(time, request), s(time + MS, answer)];
    let turned = |time| [s(time + MS, answer), c(time, request)];
    for (behind, symptoms) in [(pair(40 * S), &[4, 9][..]), (turned(40 * S), &[4])] {
        let raw_frames =
            [&known(0)[..], &pair(2 * MS), &[clock(30 * S)], &known(39 * S), &behind, &[clock(90 * S)]];
        let raw_frames = raw_frames.concat();
        let (collected, totals) = play(&raw_frames);
        let elsewhere = |p: &&ReportedPacket| {
            p.findings.iter().filter_map(|f| f.caused_by).any(|cause| cause.frame != p.frame)
        };
        let frames: Vec<u64> = collected.packets.iter().filter(elsewhere).map(|p| p.frame).collect();
        assert_eq!(frames, symptoms, "{collected:#?}");
        let (_, unordered) = report(everything(), Collected::<false>::default(), &raw_frames);
        assert_eq!(format!("{:?}", unordered.findings), format!("{:?}", totals.findings));
    }
}

/// Pending datagrams do not raise the confidence of unrelated ones behind them.
#[test]
fn a_reply_without_status_is_no_cause_for_an_earlier_finding() {
    let ask = c(0, "6563686f 1e 61 1d 6563686f 1e 62 04");
    let cause = |reply: &str, rule: &str| {
        let collected = play(&[ask.clone(), s(MS, reply)]).0;
        let found = collected.findings().find(|f| f.rule.id == rule).expect("it is told");
        found.caused_by.map(|cause| cause.rule.id)
    };
    // The first reply names another command and has no data; the second one has no status.
    let apart = "3130 6563 1d 6563686f 1e 11 62 04";
    assert_eq!(cause(apart, "GQP-RSP-003"), None);
    assert_eq!(cause(apart, "GQP-TXN-003"), None);
    // Here one reply has neither status nor data.
    assert_eq!(cause("3130 6563686f 1e 11 61 1d 6563686f 04", "GQP-RSP-003"), Some("GQP-RSP-001"));
    // A broken record, and an echo of something else.
    assert_eq!(cause("3130 6563686f 1e 11 63 1d 3130 6563686f 1e 11 62 1f 63 04", "GQP-TXN-004"), None);
    assert_eq!(
        cause("3130 6563686f 1e 11 61 1d 3130 6563686f 1e 11 62 1f 63 04", "GQP-TXN-004"),
        Some("GQP-REC-003")
    );
}

#[test]
fn a_server_is_silent_for_the_same_cause_that_its_request_was_wrong() {
    let surplus = format!("{SQP_QUERY_REPLY} ee000000000000");
    let first = [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, &surplus)];
    // The client reads the surplus as a token.
    let next = [
        c(S, SQP_CHALLENGE),
        s(S + MS, &SQP_CHALLENGE_REPLY.replace("80", "70")),
        c(S + 2 * MS, "01 ee000000 0001 01"),
    ];
    let collected = play(&[&first[..], &next, &[clock(60 * S)]].concat()).0;
    let cause = |rule: &str| {
        let found = collected.findings().find(|f| f.rule.id == rule).expect("it is told");
        found.caused_by.map(|cause| (cause.rule.id, cause.frame))
    };
    assert_eq!(cause("SQP-TXN-001"), Some(("SQP-RSP-008", 4)));
    assert_eq!(cause("SQP-TXN-009"), Some(("SQP-RSP-008", 4)));
}

#[test]
fn client_errors_after_a_decoded_broken_answer_have_no_cause() {
    let surplus = format!("{SQP_QUERY_REPLY} ee");
    let other = |text: &str| text.replace("80902348", "90902349");
    let wrong = "01 ee000000 0001 01";
    let first = [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, &surplus)];
    let cause = |then: &[RawFrame]| {
        let collected = play(&[&first[..], then].concat()).0;
        let wrong = collected.findings().find(|f| f.rule.id == "SQP-TXN-001").expect("it is told");
        wrong.caused_by.map(|cause| (cause.rule.id, cause.frame))
    };
    let anew = [c(S, SQP_CHALLENGE), s(S + MS, &other(SQP_CHALLENGE_REPLY))];
    let at_once = [&anew[..], &[c(S + 2 * MS, wrong)]].concat();
    assert_eq!(cause(&at_once), Some(("SQP-RSP-008", 4)));
    let right =
        [c(S + 2 * MS, &other(SQP_QUERY)), s(S + 3 * MS, &other(SQP_QUERY_REPLY)), c(S + 4 * MS, wrong)];
    assert_eq!(cause(&[&anew[..], &right].concat()), None);
}

#[test]
fn reordering_does_not_change_confidence() {
    let mut raw_frames = example_frames(&Id::Skycoop.info().samples[0]);
    let levels = |raw_frames: &[RawFrame]| {
        let collected = play(raw_frames).0.packets;
        [2, 3].map(|frame| collected.iter().find(|p| p.frame == frame).map(|p| p.level))
    };
    let alone = levels(&raw_frames);
    assert_eq!(alone, [Some(Level::Medium), Some(Level::High)]);
    raw_frames[0] =
        udp_frame(raw_frames[1].time - MS, CLIENTS[1], ([192, 0, 2, 77], 9000), &hex(SQP_CHALLENGE));
    assert_eq!(levels(&raw_frames), alone);
}

/// SQP: a remark that is reported once for each server is also the cause of later missing answers, in every report.
#[test]
fn an_earlier_remark_can_be_the_cause_of_a_missing_answer() {
    let all = "01 80902348 0001 1f";
    let asked = |time| [c(time, SQP_CHALLENGE), s(time + MS, SQP_CHALLENGE_REPLY), c(time + 2 * MS, all)];
    let raw_frames = [&asked(0)[..], &asked(20 * S), &[clock(90 * S)]].concat();
    let (collected, _) = play(&raw_frames);
    let of = |id: &str| {
        collected.packets.iter().filter(|p| p.rules().contains(&id)).map(|p| p.frame).collect::<Vec<_>>()
    };
    assert_eq!(of("SQP-REQ-010"), [3]);
    let silent = collected.exchanges.iter().flat_map(|(_, findings)| findings);
    let causes: Vec<_> = silent.map(|f| f.caused_by.map(|cause| (cause.rule.id, cause.frame))).collect();
    assert_eq!(causes, [Some(("SQP-REQ-010", 3)), Some(("SQP-REQ-010", 6))]);
}

/// Answers from another endpoint are not paired by order, but are reported for the open request.
#[test]
fn an_answer_from_another_port_of_the_host_is_reported() {
    const REPLY: &str =
        "93000000 06000000 302e31312e32 01000000 0a000000 010000 00000000 02000000 02000000 000001";
    let from = |port, time| udp_frame(START + time, (SERVER_ADDR.0, port), CLIENTS[0], &hex(REPLY));
    let last_rules = |raw_frames: &[RawFrame]| {
        let (collected, _) = play(&[&[clock(-30 * S)], raw_frames, &[clock(60 * S)]].concat());
        let last = collected.packets.last().expect("it was claimed");
        last.rules().contains(&"GEN-006")
    };
    assert!(last_rules(&[c(0, "feffffff"), from(9, MS)]));
    assert!(!last_rules(&[c(0, "feffffff"), from(9, 5 * S + 1)]), "the window is over");
    assert!(!last_rules(&[c(0, "feffffff"), s(MS, REPLY), from(9, 2 * MS)]), "nobody waits");
    assert!(!last_rules(&[c(S, "feffffff"), from(9, MS)]), "it was sent before the request");
    assert!(!last_rules(&[c(0, POLL), from(9, MS)]), "for another protocol's answer");
}

#[test]
fn the_only_request_is_answered_even_if_the_clock_was_set_back() {
    let frames = [c(20 * MS, SQP_CHALLENGE), s(-S, SQP_CHALLENGE_REPLY), clock(60 * S)];
    assert_eq!(outcomes(&frames), [(1, Some(2), Outcome::Answered)]);
}

#[test]
fn an_answer_with_another_key_is_not_sought_elsewhere_while_a_request_is_open() {
    let poll = POLL.replace("efcdab8967452301", "0200000000000000");
    let elsewhere = udp_frame(START + MS, CLIENTS[0], (SERVER_ADDR.0, 9), &hex(&poll));
    let (collected, _) = play(&[c(0, POLL), elsewhere, s(2 * MS, OTHER), clock(60 * S)]);
    assert_eq!(collected.frame(3).rules(), ["SFQ-TXN-002"]);
}

#[test]
fn an_answer_from_another_port_may_lack_the_key() {
    let from = |time, text: &str| udp_frame(START + time, (SERVER_ADDR.0, 9), CLIENTS[0], &hex(text));
    let rules = |text: &str| {
        let (collected, _) =
            play(&[clock(-30 * S), c(0, "ffffffff 'getinfo abc'"), from(MS, text), clock(60 * S)]);
        collected.frame(3).rules()
    };
    assert!(
        rules(r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'").contains(&"GEN-006")
    );
    let keyed = r"ffffffff 'infoResponse' 0a '\challenge\x\hostname\Lab\mapname\dm\sv_maxclients\8'";
    assert!(!rules(keyed).contains(&"GEN-006"), "one with a key is never paired by order");
}

#[test]
fn an_answer_has_the_type_of_another_request_only_where_none_of_its_own_is_open() {
    let answer = |time, name: char| {
        let head = "'EYE1' 04 'mta' 06 '22003'";
        s(time, &format!("{head} 02 '{name}' 02 'g' 02 'M' 04 '1.6' 02 '0' 02 '0' 02 '8' 01"))
    };
    // The last answer carries a time stamp far before that of the open request.
    let early = [c(0, "'s'"), answer(MS, 'A'), c(50 * MS, "'s'"), answer(20 * MS, 'B'), clock(60 * S)];
    let rules = play(&[&[clock(-30 * S)], &early[..]].concat()).0.frame(5).rules();
    assert!(rules.contains(&"ASE-TXN-001") && !rules.contains(&"ASE-HDR-001"), "{rules:?}");
}

#[test]
fn the_oldest_request_is_answered_until_its_window_is_over() {
    let answered = |time| {
        let frames =
            [c(0, SQP_CHALLENGE), c(100 * MS, SQP_CHALLENGE), s(time, SQP_CHALLENGE_REPLY), clock(60 * S)];
        outcomes(&frames).into_iter().find(|(_, answer, _)| *answer == Some(3)).map(|(request, ..)| request)
    };
    assert_eq!([SQP_WINDOW, SQP_WINDOW + 1].map(answered), [Some(1), Some(2)]);
}

#[test]
fn a_request_with_a_constant_key_is_given_up_after_a_quarter_of_a_second() {
    const HEADER: &str = "'SAMP' c000020a 611e 'i'";
    let reply = format!("{HEADER} 00 0100 3200 01000000 41 01000000 67 01000000 6c");
    let answered = |pause| {
        let frames = [c(0, HEADER), c(pause, HEADER), s(pause + 10 * MS, &reply), clock(60 * S)];
        outcomes(&frames).into_iter().find(|(_, answer, _)| *answer == Some(3)).map(|(request, ..)| request)
    };
    assert_eq!([250 * MS - 1, 250 * MS].map(answered), [Some(1), Some(2)]);
}

#[test]
fn a_constant_key_marks_a_retransmission_until_the_window_is_over() {
    let ask = |time| c(time, "fefd00 'CORY' ff0000");
    let is_retransmission = |time| {
        let (collected, _) = play(&[ask(0), ask(time), clock(60 * S)]);
        matches!(collected.frame(2).pairing, Pairing::Retransmission { .. })
    };
    assert_eq!([2 * S, 2 * S + 1].map(is_retransmission), [true, false]);
}

#[test]
fn a_request_that_is_sent_again_is_not_given_up() {
    let ask = |time, id: &str| c(time, &format!("fefd00 '{id}' ff0000"));
    let answer = "00 'CORX' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    let last = ask(450 * MS, "CORZ");
    let frames = [
        ask(0, "CORY"),
        ask(300 * MS, "CORX"),
        s(310 * MS, answer),
        ask(400 * MS, "CORY"),
        last.clone(),
        refusal(&last, 0),
        clock(60 * S),
    ];
    let refused = outcomes(&frames).into_iter().find(|(.., outcome)| *outcome == Outcome::Refused);
    assert_eq!(refused.map(|(request, ..)| request), Some(1), "the oldest of the two that are open");
}

#[test]
fn an_answer_before_its_request_has_what_that_request_asks_for() {
    const KEYS: &str = "00 'CORX' 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00";
    const TABLES: &str =
        "00 'CORY' 0001 'player_' 00 'score_' 00 00 'Ann' 00 '5' 00 0001 'team_t' 00 00 'Red' 00";
    let answered = |sections: &str| {
        let ask = |time, id: &str, sections: &str| c(time, &format!("fefd00 '{id}' {sections}"));
        let first = [ask(-30 * S, "CORX", "ff0000"), s(-30 * S + MS, KEYS)];
        let turned = [s(0, TABLES), ask(5 * MS, "CORY", sections), clock(60 * S)];
        outcomes(&[&first[..], &turned].concat())[1].1
    };
    assert_eq!(["00ffff", "ff0000"].map(answered), [Some(3), None]);
}

#[test]
fn an_answer_of_the_wrong_type_may_be_repeated_for_the_next_request() {
    const INFO: &str = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let status = "ffffffff 'getstatus'";
    let frames = [c(0, status), s(MS, INFO), c(S, status), s(S + MS, INFO), clock(60 * S)];
    let answered = [(1, Some(2), Outcome::Answered), (3, Some(4), Outcome::Answered)];
    assert_eq!(outcomes(&frames), answered);
}

#[test]
fn a_key_beyond_the_captured_bytes_is_not_missing() {
    let ask = "ffffffff 'getinfo abc'";
    let info = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let lacks_key = |cut: usize| {
        let mut answer = s(MS, info);
        answer.bytes.truncate(answer.bytes.len() - cut);
        let (collected, _) = play(&[c(0, ask), answer, clock(60 * S)]);
        assert!(matches!(collected.frame(2).pairing, Pairing::Answered(a) if a.keyless));
        collected.frame(2).rules().contains(&"Q3-TXN-006")
    };
    assert_eq!([0, 4].map(lacks_key), [true, false]);
}

#[test]
fn a_request_that_is_not_reported_hides_no_other() {
    let frames = [
        clock(-60 * S),
        c(0, SQP_CHALLENGE),
        c(100 * MS, SQP_CHALLENGE),
        c(5 * S + 40 * MS, SQP_CHALLENGE),
        s(5 * S + 50 * MS, SQP_CHALLENGE_REPLY),
        clock(60 * S),
    ];
    let (collected, _) = report(Options::default(), Collected::<true>::default(), &frames);
    let mut reported: Vec<_> =
        collected.exchanges.iter().map(|(e, _)| (e.request_frame, e.outcome)).collect();
    reported.sort_by_key(|(frame, _)| *frame);
    assert_eq!(reported, [(3, Outcome::Unanswered), (4, Outcome::Answered)]);
}

#[test]
fn an_uncertain_direction_is_not_remembered_longer_than_its_request() {
    let ping = hex("'SAMP' c000020a 611e 'p' 01020304");
    let [a, b] = [CLIENTS[0], ([203, 0, 113, 9], 40_002)];
    let frames = [udp_frame(START, a, b, &ping), udp_frame(START + 20 * S, b, a, &ping), clock(60 * S)];
    let (collected, _) = play(&frames);
    assert!(matches!(collected.frame(2).pairing, Pairing::Asked { .. }), "{collected:#?}");
}

#[test]
fn an_answer_reported_for_lack_of_room_answers_no_later_request() {
    let large = |n: i64| udp_frame(START + n, ([192, 0, 2, 200], 1), ([192, 0, 2, 201], 1), &[0xee; 60_000]);
    let frames: Vec<_> = [clock(-60 * S), s(0, STATE)]
        .into_iter()
        .chain((0..6).map(large))
        .chain([c(5 * MS, POLL), clock(60 * S)])
        .collect();
    let options = Options { budget: Budget::mib(1), ..everything() };
    let (collected, _) = report(options, Collected::<true>::default(), &frames);
    assert_eq!(collected.frame(2).rules(), ["SFQ-TXN-001"]);
    assert_eq!(collected.exchanges[0].0.outcome, Outcome::Unanswered);
}

#[test]
fn an_unsolicited_answer_waits_for_its_request_for_64_frames() {
    let poll = POLL.replace("efcdab8967452301", "0200000000000000");
    let of_another = udp_frame(START, CLIENTS[1], ([192, 0, 2, 11], 7777), &hex(&poll));
    let reported = |between: usize| {
        let mut frames = vec![clock(-60 * S), s(0, STATE)];
        frames.extend((0..between).map(|_| clock(0)));
        frames.push(of_another.clone());
        let (collected, _) = report(everything(), Collected::<false>::default(), &frames);
        collected.packets.iter().map(|p| p.frame).collect::<Vec<_>>()
    };
    assert_eq!((reported(63), reported(64)), (vec![66, 2], vec![2, 67]));
}

#[test]
fn nothing_overtakes_a_request_that_waits_for_the_cause_of_its_finding() {
    let other = |time, cookie: &str| {
        let poll = POLL.replace("efcdab8967452301", cookie);
        udp_frame(START + time, CLIENTS[1], ([192, 0, 2, 11], 7777), &hex(&poll))
    };
    let [first, second] = ["0200000000000000", "0300000000000000"];
    let frames = [other(-S, first), s(0, STATE), other(MS, first), other(2 * MS, second), clock(60 * S)];
    let (collected, _) = report(everything(), Collected::<false>::default(), &frames);
    assert_eq!(collected.packets.iter().map(|p| p.frame).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_waiting_pair_does_not_become_more_certain_by_itself() {
    let noise = |time| s(time, "aabbccddeeff11");
    let frames = [
        clock(-60 * S),
        c(0, SQP_CHALLENGE),
        noise(10 * MS),
        noise(20 * MS),
        s(30 * MS, SQP_CHALLENGE_REPLY),
        clock(60 * S),
    ];
    let (collected, _) = play(&frames);
    assert_eq!([2, 5].map(|frame| collected.frame(frame).level), [Level::Low; 2]);
    let (_, by_default) = report(Options::default(), Collected::<true>::default(), &frames);
    assert_eq!(by_default.recognised, 0);
}

#[test]
fn two_possible_answers_of_one_end_do_not_answer_each_other() {
    let token = |time, token: &str| s(time, &SQP_CHALLENGE_REPLY.replace("8090", token));
    let (collected, _) = play(&[clock(-60 * S), token(0, "7071"), token(100 * MS, "7072")]);
    let is_unsolicited = |frame| matches!(collected.frame(frame).pairing, Pairing::Unsolicited { .. });
    assert!(is_unsolicited(2) && is_unsolicited(3), "{collected:#?}");
}
