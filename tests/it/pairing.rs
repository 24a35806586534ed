//! Which answer belongs to which request, told in datagrams.

use crate::kit::play::{
    CLIENTS, Collected, END, H1, H2, ID, IDR, MS, OK, POLL, PORT, QI, S, START, STATE, Seen, Shot, c,
    everything, foreign, lines, play, refusal, report, s, shot, shots,
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

/// Moves capture time.
fn clock(time: i64) -> Shot {
    foreign(START + time)
}

/// Plays and gives the only exchange.
fn one(shots: &[Shot]) -> (Exchange, Collected<true>) {
    let (heard, totals) = play(shots);
    assert_eq!(totals.exchanges, 1, "{heard:#?}");
    (heard.exchanges[0].0.clone(), heard)
}

/// Request, answer and outcome of each exchange, in order of the requests.
fn outcomes(shots: &[Shot]) -> Vec<(u64, Option<u64>, Outcome)> {
    let (heard, _) = play(shots);
    let mut all: Vec<_> =
        heard.exchanges.iter().map(|(e, _)| (e.request_frame, e.response_frame, e.outcome)).collect();
    all.sort_by_key(|(frame, ..)| *frame);
    all
}

/// The key of SA-MP is the same in every request, so the order decides, as where there is none.
#[test]
fn a_key_that_never_changes_proves_no_more_than_the_order() {
    const ASK: &str = "53414d50 c000020a 611e 69";
    const TOLD: &str = "53414d50 c000020a 611e 69 00 0100 3200 01000000 41 01000000 67 01000000 6c";
    let window = 2 * S;
    let near =
        [c(0, ASK), c(10 * MS, ASK), s(window + 5 * MS, TOLD), s(window + 6 * MS, TOLD), clock(60 * S)];
    let waiting = [(1, Some(4), Outcome::Late), (2, Some(3), Outcome::Answered)];
    assert_eq!(outcomes(&near), waiting, "the oldest that still waits");
    let late = [c(0, ASK), c(S, ASK), s(S + window + MS, TOLD), clock(60 * S)];
    let oldest = [(1, Some(3), Outcome::Late), (2, None, Outcome::Unanswered)];
    assert_eq!(outcomes(&late), oldest, "the oldest of all, where none waits");
    // For its players, twice; then for something else, which gives up neither of the two.
    let [players, others] = ["63", "64"].map(|opcode| ASK.replace(" 69", &format!(" {opcode}")));
    let told = format!("{players} 0000");
    let apart = [c(0, &players), c(300 * MS, &players), c(S, &others), s(S + MS, &told), clock(60 * S)];
    let last =
        [(1, None, Outcome::Unanswered), (2, Some(4), Outcome::Answered), (3, None, Outcome::Unanswered)];
    assert_eq!(outcomes(&apart), last, "the one that was not given up");
}

/// Any challenge of Valve's servers may answer any request; a client whose round trip is long asks for several things at once.
#[test]
fn a_request_with_a_challenge_gives_up_no_request_for_one() {
    const CHALLENGE: &str = "ffffffff 41 c3192a4b";
    let asks = |step: &str, challenge: &str| format!("ffffffff {step} {challenge}");
    let [players, rules] = ["55", "56"].map(|step| asks(step, "ffffffff"));
    let [proven_players, proven_rules] = ["55", "56"].map(|step| asks(step, "c3192a4b"));
    let [list, pairs] = ["ffffffff 44 01 00 6e00 01000000 00007042", "ffffffff 45 0100 6b00 3100"];
    let rules_of = |shots: &[Shot]| play(shots).0.findings().map(|f| f.rule.id).collect::<Vec<_>>();
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
    let answered = [(1, 3), (2, 5), (4, 7), (6, 8)].map(|(ask, told)| (ask, Some(told), Outcome::Answered));
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
    let answered = [(1, 5), (2, 3), (4, 6)].map(|(ask, told)| (ask, Some(told), Outcome::Answered));
    assert_eq!(outcomes(&again), answered);
    assert!(!rules_of(&again).contains(&"A2S-CHL-004"));
    // Where nothing else is open, it is refused.
    let refused =
        [c(0, &players), s(trip, CHALLENGE), c(trip + MS, &proven_players), s(2 * trip, CHALLENGE), end];
    assert!(rules_of(&refused).contains(&"A2S-CHL-004"));
}

#[test]
fn an_icmp_error_refuses_only_what_it_quotes() {
    const SKY: &str = "feffffff";
    let numbered = |mut shot: Shot| {
        shot.bytes[18..20].copy_from_slice(&[0, 7]); // the IP identification
        shot
    };
    let (poll, other) = (numbered(c(0, POLL)), c(MS, &POLL.replace("efcdab8967452301", "0200000000000000")));
    let (answer, end) = (s(10 * MS, OTHER), clock(60 * S));
    let error = refusal(&poll, 13);
    let copy = Shot { time: error.time + 10_000, ..error.clone() };
    let shots = [poll.clone(), other.clone(), error.clone(), copy, answer.clone(), end.clone()];
    assert_eq!(outcomes(&shots), [(1, None, Outcome::Refused), (2, Some(5), Outcome::Answered)], "a copy");
    let shots = [poll, s(MS, STATE), other.clone(), error, answer.clone(), end.clone()];
    assert_eq!(
        outcomes(&shots),
        [(1, Some(2), Outcome::Answered), (3, Some(5), Outcome::Answered)],
        "an old one"
    );
    let twins = [numbered(c(0, SKY)), c(MS, SKY)];
    let error = refusal(&twins[0], 4);
    let copy = Shot { time: error.time + 10_000, ..error.clone() };
    let told = outcomes(&[&twins[..], &[error.clone(), copy, end.clone()]].concat());
    assert_eq!(told.iter().filter(|(.., outcome)| *outcome == Outcome::Refused).count(), 1, "a copy");
    let mut fragment = error;
    fragment.bytes[48..50].copy_from_slice(&[0, 1]); // the offset of what it quotes
    let told = outcomes(&[twins[0].clone(), fragment, end.clone()]);
    assert_eq!(told, [(1, None, Outcome::Unanswered)], "what a later fragment holds is no header");
    let sky = c(2 * MS, SKY);
    let shots = [other, sky.clone(), refusal(&sky, 4), answer, end];
    assert_eq!(
        outcomes(&shots),
        [(1, Some(4), Outcome::Answered), (2, None, Outcome::Refused)],
        "another protocol"
    );
}

#[test]
fn an_icmp_error_refuses_no_request_that_was_given_up_nor_one_of_another_step() {
    let sky = [c(0, "feffffff"), c(10 * S, "feffffff")];
    let refused = [(1, None, Outcome::Unanswered), (2, None, Outcome::Refused)];
    assert_eq!(outcomes(&[sky[0].clone(), sky[1].clone(), refusal(&sky[1], 4), clock(60 * S)]), refused);
    let again = c(2 * S, H1);
    let sqp = [c(0, H1), s(MS, H2), c(2 * MS, QI), again.clone(), refusal(&again, 5), clock(60 * S)];
    let told = outcomes(&sqp);
    assert_eq!(told[1..], [(3, None, Outcome::Unanswered), (4, None, Outcome::Refused)]);
}

/// The packet and exchange records.
fn records(options: Options, shots: &[Shot]) -> Vec<serde_json::Value> {
    lines(options, shots).lines().map(|l| l.parse().expect("a record is JSON")).collect()
}

#[test]
fn an_answer_without_a_key_goes_to_a_request_without_one_first() {
    const PLAIN: &str = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let ask = |time, challenge: &str| c(time, &format!("ffffffff 'getinfo{challenge}'"));
    let end = clock(60 * S);
    let shots = [ask(0, " abc"), ask(MS, ""), s(2 * MS, PLAIN), end.clone()];
    assert_eq!(outcomes(&shots), [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
    let (heard, _) = play(&[ask(0, " abc"), s(2 * MS, PLAIN), end]);
    assert!(matches!(heard.frame(2).pairing, Pairing::Answered(a) if a.keyless));
}

#[test]
fn an_answer_with_a_key_belongs_to_no_request_with_another_or_none() {
    const KEYED: &str = r"ffffffff 'infoResponse' 0a '\challenge\x\hostname\Lab\mapname\dm\sv_maxclients\8'";
    for request in ["ffffffff 'getinfo abc'", "ffffffff 'getinfo'"] {
        let (heard, _) = play(&[c(0, request), s(MS, KEYED), clock(60 * S)]);
        assert!(matches!(heard.frame(2).pairing, Pairing::Unsolicited { open: true, .. }), "{request}");
    }
}

#[test]
fn an_answer_goes_to_a_request_of_another_step_only_where_none_of_its_own_is_open() {
    const INFO: &str = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\dm\sv_maxclients\8'";
    let (status, info) = ("ffffffff 'getstatus'", "ffffffff 'getinfo'");
    let named = |step: u8| Id::Quake3.info().steps[usize::from(step)].name;
    let shots = [c(0, status), c(MS, info), s(2 * MS, INFO), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
    let (heard, _) = play(&[c(0, status), s(2 * MS, INFO), clock(60 * S)]);
    assert!(matches!(heard.frame(2).pairing, Pairing::Answered(a) if named(a.step) == "status"));
}

/// A handshake and a request for the state, then these answers a millisecond apart.
fn in_parts(answers: &[&str]) -> Vec<Shot> {
    let mut shots = vec![c(0, "fefd09 01020304"), s(MS, "09 01020304 '7' 00")];
    shots.push(c(2 * MS, "fefd00 01020304 00000007 ffffff01"));
    shots.extend(
        (3..).zip(answers).map(|(ms, text)| s(ms * MS, &format!("00 01020304 'splitnum' 00 {text}"))),
    );
    shots.push(clock(60 * S));
    shots
}

#[test]
fn numbered_parts_come_in_any_order_and_twice() {
    let [first, second, last] = ["00 01 'a_' 00", "01 01 'a_' 00", "82 01 'a_' 00"];
    let (heard, _) = play(&in_parts(&[last, first, first, second, last]));
    let (e, findings) = heard.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert_eq!((e.response_frames(), e.outcome, findings.len()), (&[4, 5, 7][..], Outcome::Answered, 0));
    for (frame, of) in [(6, 5), (8, 4)] {
        assert!(
            matches!(heard.frame(frame).pairing, Pairing::DuplicateResponse { of: its, .. } if its == of),
            "{frame}"
        );
    }
}

#[test]
fn parts_that_never_come_are_said_of_the_exchange() {
    let (heard, _) = play(&in_parts(&["00 01 'a_' 00", "82 01 'a_' 00"]));
    let (e, findings) = heard.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
    assert!(e.incomplete == Some(Lack::Part) && e.outcome == Outcome::Answered);
    assert_eq!(findings.iter().map(|f| f.rule.id).collect::<Vec<_>>(), ["GS3-SPL-002"]);
}

#[test]
fn a_part_that_contradicts_another_is_said() {
    let (heard, _) = play(&in_parts(&["00 01 'a_' 00", "00 01 'b_' 00", "81 01 'a_' 00", "02 01 'a_' 00"]));
    assert_eq!(heard.frame(5).rules(), ["GS3-SPL-003"]);
    assert!(matches!(heard.frame(6).pairing, Pairing::Answered(a) if !a.contradicts));
}

#[test]
fn of_an_answer_that_is_complete_but_for_a_part_beyond_the_last_nothing_is_missed() {
    let [first, beyond, last] = ["00 01 'a_' 00", "02 01 'a_' 00", "81 01 'a_' 00 00 'b' 00 00 00"];
    for (parts, wrong) in [([first, beyond, last], 6), ([beyond, last, first], 5), ([first, last, beyond], 6)]
    {
        let (heard, _) = play(&in_parts(&parts));
        let told: Vec<_> = [4, 5, 6].map(|frame| heard.frame(frame).rules()).concat();
        assert_eq!(
            (told, heard.frame(wrong).rules()),
            (vec!["GS3-SPL-003"], vec!["GS3-SPL-003"]),
            "{parts:?}"
        );
        let (_, findings) = heard.exchanges.iter().find(|(e, _)| e.request_frame == 3).expect("it is told");
        assert_eq!(findings.iter().map(|f| f.rule.id).collect::<Vec<_>>(), [""; 0], "{parts:?}");
    }
}

#[test]
fn an_answer_with_the_key_of_its_handshake_belongs_to_the_only_request() {
    let shots = [
        c(0, "fefd09 01020304"),
        s(MS, "09 01020304 '7' 00"),
        c(2 * MS, "fefd00 05060708 00000007 00000000"),
        s(3 * MS, "00 01020304 'splitnum' 00 80 00 00"),
        clock(60 * S),
    ];
    let (heard, _) = play(&shots);
    assert!(matches!(heard.frame(4).pairing, Pairing::Answered(a) if a.request_frame == 3 && a.foreign_key));
}

#[test]
fn lines_of_a_console_belong_to_the_last_command_however_many_and_also_twice() {
    const HEADER: &str = "'SAMP' c000020a 611e 'x'";
    let command = |at| c(at, &format!("{HEADER} 0100 'p' 0300 'cmd'"));
    let line = |at, text: &str| s(at, &format!("{HEADER} 0300 '{text}'"));
    let shots = [
        command(0),
        line(MS, "one"),
        line(2 * MS, "one"),
        command(S),
        line(S + MS, "two"),
        line(S + 2 * MS, "one"),
        clock(60 * S),
    ];
    let (heard, totals) = play(&shots);
    let asked = |frame| match heard.frame(frame).pairing {
        Pairing::Answered(answer) => Some(answer.request_frame),
        _ => None,
    };
    assert_eq!([2, 3, 5, 6].map(asked), [Some(1), Some(1), Some(4), Some(4)]);
    assert_eq!((totals.exchanges, totals.answered), (2, 2));
    // Also where an earlier command was lost.
    let lost = [command(0), command(S), line(S + MS, "one"), line(S + 2 * MS, "two"), clock(60 * S)];
    let outcomes = outcomes(&lost);
    assert_eq!(outcomes, [(1, None, Outcome::Unanswered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn the_silence_of_who_may_be_silent_is_a_note() {
    let silence = |opcode: char| {
        let (heard, _) = play(&[c(0, &format!("'SAMP' c000020a 611e '{opcode}'")), clock(60 * S)]);
        heard.findings().find(|f| f.rule.id == "SAMP-TXN-003").map(|f| f.severity.name())
    };
    assert_eq!(
        ['i', 'r', 'c', 'd', 'o'].map(silence),
        ["warning", "warning", "note", "note", "note"].map(Some)
    );
}

#[test]
fn a_broadcast_is_answered_by_many_hosts_or_none_and_nobody_wonders() {
    let client = CLIENTS[0];
    let host = |n: u8| ([192, 0, 2, n], 19132);
    let magic = "00ffff00fefefefefdfdfdfd12345678";
    let ping = |at, time| {
        shot(START + at, client, host(255), &hex(&format!("01 {time:016x} {magic} 0000000000000002")))
    };
    let pong = |at, n: u8, time| {
        let text = format!("1c {time:016x} {:016x} {magic} 0001 'x'", 7);
        shot(START + at, host(n), client, &hex(&text))
    };
    // The hosts send the same bytes, the second one twice; nobody answers the second ping.
    let shots =
        [ping(0, 1), pong(MS, 21, 1), pong(2 * MS, 22, 1), pong(3 * MS, 22, 1), ping(S, 2), clock(60 * S)];
    let (heard, totals) = play(&shots);
    let told: Vec<_> = heard.exchanges.iter().map(|(e, f)| (e.response_frames().to_vec(), f.len())).collect();
    assert!(told.contains(&(vec![2, 3], 0)) && told.contains(&(vec![], 0)), "{told:?}");
    assert!(matches!(heard.frame(4).pairing, Pairing::DuplicateResponse { of: 3, .. }));
    assert_eq!((totals.exchanges, totals.answered, totals.unanswered), (2, 1, 1));
    assert!(heard.findings().all(|f| ["GEN-007", "RAK-TXN-005"].contains(&f.rule.id)), "{heard:#?}");
    // What was asked of one host, another one does not answer so.
    let unicast = shot(START, client, host(20), &hex(&format!("01 {:016x} {magic} 0000000000000002", 1)));
    let (heard, _) = play(&[unicast, pong(MS, 21, 1), clock(60 * S)]);
    assert!(heard.findings().any(|f| f.rule.id == "GEN-006"), "{heard:#?}");
}

#[test]
fn a_host_answers_the_broadcast_to_its_port() {
    let asks =
        |n: u16| shot(START + i64::from(n), CLIENTS[0], ([255; 4], 27960 + n), &hex("ffffffff 'getinfo'"));
    let hears = r"ffffffff 'infoResponse' 0a '\hostname\Lab\mapname\m\sv_maxclients\8'";
    let answer = shot(START + MS, ([192, 0, 2, 21], 27961), CLIENTS[0], &hex(hears));
    let told = outcomes(&[asks(0), asks(1), asks(2), asks(3), answer, clock(60 * S)]);
    let answered: Vec<_> = told.iter().map(|(_, answer, _)| *answer).collect();
    assert_eq!(answered, [None, Some(5), None, None]);
}

#[test]
fn a_host_answers_a_broadcast_to_its_sender_and_in_its_window() {
    let asks = shot(START, CLIENTS[0], ([255; 4], PORT), &hex(POLL));
    let told = |to, time| outcomes(&[asks.clone(), shot(START + time, END, to, &hex(STATE)), clock(60 * S)]);
    assert_eq!(told(CLIENTS[0], SFQ_WINDOW), [(1, Some(2), Outcome::Answered)]);
    assert_eq!(told(CLIENTS[0], SFQ_WINDOW + 1), [(1, Some(2), Outcome::Late)]);
    assert_eq!(told(CLIENTS[1], MS), [(1, None, Outcome::Unanswered)], "it has asked nothing");
}

#[test]
fn what_is_asked_of_a_whole_network_is_answered_by_its_hosts_in_every_protocol() {
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
        let asks = |at| shot(START + at, CLIENTS[0], ([255; 4], 27960), &hex(ask));
        let answers = |at, n| shot(START + at, ([192, 0, 2, n], 27960), CLIENTS[0], &hex(&answer));
        let polls = (0..4).flat_map(|n| [asks(n * S), answers(n * S + MS, 21), answers(n * S + 2 * MS, 22)]);
        let silence = [asks(60 * S), asks(62 * S), asks(64 * S), clock(120 * S)];
        let (heard, totals) = play(&polls.chain(silence).collect::<Vec<_>>());
        let wrong: Vec<_> =
            heard.findings().filter(|f| f.severity > Severity::Note).map(|f| f.rule.id).collect();
        assert_eq!((wrong, totals.answered), (vec![], 4), "{ask}");
        assert!(heard.exchanges[..4].iter().all(|(e, _)| e.response_frames().len() == 2), "{ask}");
    }
}

#[test]
fn a_key_that_was_answered_before_is_said_to_be_used_again() {
    let (ping, pong) = (
        "01 0000000000000001 00ffff00fefefefefdfdfdfd12345678 0000000000000002",
        "1c 0000000000000001 0000000000000007 00ffff00fefefefefdfdfdfd12345678",
    );
    let (heard, _) = play(&[c(0, ping), s(MS, pong), c(S, ping), s(S + MS, pong), clock(60 * S)]);
    assert!(matches!(heard.frame(3).pairing, Pairing::Asked { reused: true, .. }));
    assert!(matches!(heard.frame(4).pairing, Pairing::Answered(a) if a.request_frame == 3));
}

#[test]
fn a_retransmission_stays_one_exchange() {
    let (e, heard) = one(&[c(0, POLL), c(300 * MS, POLL), s(320 * MS, STATE), clock(60 * S)]);
    assert_eq!((e.request_frame, e.response_frame, e.retransmissions), (1, Some(3), 1));
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(320 * MS)));
    assert_eq!(
        heard.frame(2).pairing,
        Pairing::Retransmission { exchange: e.id, request_frame: 1, part: false }
    );
    assert_eq!(heard.frame(2).rules(), ["SFQ-TXN-004"]);
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
    let told = |asked: &[Shot]| {
        let answered = [answers(20 * MS, "Lab"), answers(30 * MS, "Two")];
        let (heard, _) = play(&[&[clock(-60 * S)], asked, &answered].concat());
        heard.packets.last().is_some_and(|p| p.rules().contains(&"GS2-TXN-001"))
    };
    assert!(told(&[asks(0)]));
    assert!(!told(&[asks(0), asks(10 * MS)]));
}

#[test]
fn a_poll_that_is_repeated_is_one_of_those_without_an_answer() {
    let polls: Vec<_> = (0..30).map(|n| c(n * 2 * S, POLL)).collect();
    let heard = play(&polls).0;
    let said = heard.packets.iter().filter(|p| p.rules().contains(&"SFQ-TXN-009"));
    assert_eq!(said.map(|p| p.frame).collect::<Vec<_>>(), [21]);
}

#[test]
fn the_window_runs_from_the_last_retransmission() {
    let again = 1500 * MS;
    let (e, _) = one(&[c(0, POLL), c(again, POLL), s(again + SFQ_WINDOW, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(again + SFQ_WINDOW)));
    let (e, _) = one(&[c(0, POLL), c(again, POLL), s(again + SFQ_WINDOW + 1, STATE)]);
    assert_eq!(e.outcome, Outcome::Late);
}

#[test]
fn a_copy_of_an_answer_names_it_and_answers_nothing() {
    let shots = [c(0, POLL), s(MS, STATE), s(2 * MS, STATE), clock(60 * S)];
    let (e, heard) = one(&shots);
    assert_eq!(e.response_frame, Some(2));
    assert_eq!(heard.frame(3).rules(), ["SFQ-TXN-005"]);
    let copy = &records(everything(), &shots)[3];
    assert_eq!((&copy["frame"], &copy["exchange"], &copy["duplicate_of"]), (&3.into(), &1.into(), &2.into()));
    assert!(copy.get("request_frame").is_none() && copy.get("response_time").is_none(), "{copy}");
}

#[test]
fn a_server_that_issues_the_same_token_again_answers_with_it() {
    let one = |at: i64| [c(at, H1), s(at + MS, H2), c(at + 2 * MS, QI), s(at + 3 * MS, OK)];
    let shots = [&one(0)[..], &one(2 * S), &[clock(30 * S)]].concat();
    let answered =
        [(1, 2), (3, 4), (5, 6), (7, 8)].map(|(asked, told)| (asked, Some(told), Outcome::Answered));
    assert_eq!(outcomes(&shots), answered);
    let (heard, _) = play(&shots);
    let broken: Vec<_> =
        heard.packets.iter().map(|p| (p.frame, p.rules())).filter(|(_, r)| !r.is_empty()).collect();
    // The same query with the same answer comes twice, too.
    assert_eq!(broken, [(6, vec!["SQP-TXN-015"])]);
    // With nothing open it is a copy.
    let copied = [&one(0)[..], &[s(4 * MS, H2), clock(30 * S)]].concat();
    assert_eq!(play(&copied).0.frame(5).rules(), ["SQP-TXN-013"]);
}

#[test]
fn a_copy_is_read_with_the_chunks_that_were_asked() {
    let metrics = "01 80902348 0001 00 00 0009 00000005 01 3f800000";
    let shots =
        [c(0, H1), s(MS, H2), c(2 * MS, "01 80902348 0002 10"), s(3 * MS, metrics), s(4 * MS, metrics)];
    let found = records(everything(), &shots);
    let packet = |frame: u64| found.iter().find(|r| r["frame"] == frame).expect("every frame is claimed");
    assert_eq!(packet(5)["duplicate_of"], 4);
    assert_eq!(packet(5)["fields"], packet(4)["fields"]);
    let rules = packet(5)["findings"].to_string();
    assert!(!rules.contains("SQP-CHK-006"), "the request is in the capture: {rules}");
}

#[test]
fn an_answer_is_late_when_more_than_the_window_has_passed() {
    for (time, outcome) in [(SFQ_WINDOW, Outcome::Answered), (SFQ_WINDOW + 1, Outcome::Late)] {
        let (e, heard) = one(&[c(0, POLL), s(time, STATE), clock(60 * S)]);
        assert_eq!((e.outcome, e.response_time), (outcome, Some(time)));
        assert!(heard.exchanges[0].1.is_empty(), "late is no time-out");
        let late = heard.frame(2).rules().contains(&"SFQ-TXN-010");
        assert_eq!(late, outcome == Outcome::Late);
    }
    let query = |time| [c(0, H1), s(0, H2), c(0, QI), s(time, OK), clock(60 * S)];
    assert_eq!(outcomes(&query(SQP_WINDOW))[1].2, Outcome::Answered);
    assert_eq!(outcomes(&query(SQP_WINDOW + 1))[1].2, Outcome::Late);
}

#[test]
fn the_late_window_ends_the_wait() {
    let (e, _) = one(&[c(0, POLL), s(SFQ_LATE, STATE)]);
    assert_eq!(e.outcome, Outcome::Late);
    // Also where another one's ends a moment before.
    let another = c(-MS, &POLL.replace("efcdab89", "02000000"));
    assert_eq!(outcomes(&[another, c(0, POLL), s(SFQ_LATE, STATE)])[1], (2, Some(3), Outcome::Late));
    let (e, heard) = one(&[c(0, POLL), s(SFQ_LATE + 1, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Unanswered, None));
    assert_eq!(
        heard.frame(2).pairing,
        Pairing::Unsolicited { open: false, asked: None, other_step: false, elsewhere: false }
    );
    assert_eq!(heard.frame(2).rules(), ["SFQ-TXN-001"]);
}

#[test]
fn what_the_end_of_the_capture_leaves_open_is_undecided() {
    let (e, heard) = one(&[c(0, POLL), clock(SFQ_WINDOW)]);
    assert_eq!(e.outcome, Outcome::Undecided);
    assert!(heard.exchanges[0].1.is_empty());
    let (e, heard) = one(&[c(0, POLL), clock(SFQ_WINDOW + 1)]);
    assert_eq!(e.outcome, Outcome::Unanswered);
    assert_eq!(heard.exchanges[0].1[0].rule.id, "SFQ-TXN-003");
}

/// An answer, so many foreign frames, and its request.
fn early(between: usize, time: i64) -> Vec<Shot> {
    let mut shots = vec![clock(-60 * S), s(0, STATE)];
    shots.extend((0..between).map(|_| clock(0)));
    shots.extend([c(time, POLL), clock(60 * S)]);
    shots
}

#[test]
fn an_answer_that_stands_before_its_request_is_paired() {
    for (between, time) in [(0, 0), (63, 0), (0, 10 * MS), (0, -10 * MS)] {
        let (e, heard) = one(&early(between, time));
        assert_eq!(
            (e.response_frame, e.response_time),
            (Some(2), Some(-time)),
            "{between} frames, {time} ns"
        );
        assert_eq!(heard.frame(2).rules(), ["SFQ-SEC-001", "GEN-007"], "what is said of any answer");
        assert!(matches!(heard.frame(2).pairing, Pairing::Answered(a) if a.exchange == e.id));
        let frames: Vec<u64> = heard.packets.iter().map(|p| p.frame).collect();
        assert_eq!(frames, [2, 3 + between as u64]);
    }
    for (between, time) in [(64, 0), (0, 10 * MS + 1)] {
        let (e, heard) = one(&early(between, time));
        assert_eq!((e.response_frame, e.outcome), (None, Outcome::Unanswered), "{between} frames, {time} ns");
        assert_eq!(heard.frame(2).rules(), ["SFQ-TXN-001"]);
    }
}

#[test]
fn a_challenge_answer_that_stands_before_its_request_is_paired() {
    let shots = [clock(-60 * S), s(0, H2), c(0, H1), c(MS, QI), s(2 * MS, OK), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(3, Some(2), Outcome::Answered), (4, Some(5), Outcome::Answered)]);
}

#[test]
fn time_stamps_out_of_order_do_not_disturb_a_pair() {
    let (e, _) = one(&[c(5 * MS, POLL), s(0, STATE)]);
    assert_eq!((e.outcome, e.response_time), (Outcome::Answered, Some(-5 * MS)));
    let shots = [c(5 * MS, H1), s(0, H2), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(1, Some(2), Outcome::Answered)]);
}

#[test]
fn an_answer_without_a_key_may_be_stamped_a_hundredth_of_a_second_before_its_request() {
    let again = H2.replace("80902348", "80902349");
    let told = |time| outcomes(&[c(0, H1), s(MS, H2), c(20 * MS, H1), s(time, &again), clock(60 * S)]);
    assert_eq!(told(10 * MS)[1..], [(3, Some(4), Outcome::Answered)]);
    assert_eq!(told(10 * MS - 1)[1..], [(3, None, Outcome::Unanswered)]);
}

#[test]
fn a_file_whose_time_jumps_back_is_paired_all_the_same() {
    let hour = 3600 * S;
    let shots = [clock(hour), c(0, H1), s(MS, H2), c(20 * MS, QI), s(20 * MS + 3 * S, OK), clock(hour)];
    let (heard, _) = play(&shots);
    let found: Vec<_> = heard.exchanges.iter().map(|(e, _)| (e.outcome, e.response_time)).collect();
    assert_eq!(found, [(Outcome::Answered, Some(MS)), (Outcome::Late, Some(3 * S))]);
    let by_default: Totals = report(Options::default(), Collected::<true>::default(), &shots).1;
    assert_eq!(by_default.recognised, 4, "the first challenge is confirmed by what follows");
}

#[test]
fn a_request_without_a_key_is_given_up_when_its_sender_asks_again() {
    let asked_again = |ms: i64| [c(0, H1), c(ms * MS, H1), s((ms + 10) * MS, H2), clock(60 * S)];
    let (first, second) = ((1, None, Outcome::Unanswered), (2, None, Outcome::Unanswered));
    assert_eq!(outcomes(&asked_again(250)), [first, (2, Some(3), Outcome::Answered)]);
    assert_eq!(outcomes(&asked_again(249)), [(1, Some(3), Outcome::Answered), second]);
}

#[test]
fn a_request_given_up_is_answered_when_no_other_is_left() {
    let shots = [c(0, H1), c(300 * MS, H1), s(310 * MS, H2), s(320 * MS, "00 11111111"), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(1, Some(4), Outcome::Answered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn a_request_past_its_window_is_answered_when_no_other_is_left() {
    let shots = [c(0, H1), s(3 * S, H2), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(1, Some(2), Outcome::Late)]);
}

#[test]
fn an_answer_with_a_key_nobody_asked_leaves_the_exchange_open() {
    let (e, heard) = one(&[c(0, POLL), s(MS, OTHER), s(2 * MS, STATE), clock(60 * S)]);
    assert_eq!((e.response_frame, e.outcome), (Some(3), Outcome::Answered));
    assert!(matches!(heard.frame(2).pairing, Pairing::Unsolicited { open: true, .. }));
    assert_eq!(heard.frame(2).rules(), ["SFQ-TXN-002"]);
}

#[test]
fn an_answer_with_the_token_issued_last_answers_a_query_with_another() {
    let wrong = "01 11111111 0001 01";
    let shots = [c(0, H1), s(MS, H2), c(2 * MS, wrong), s(3 * MS, OK), clock(60 * S)];
    let (heard, _) = play(&shots);
    assert_eq!(outcomes(&shots)[1], (3, Some(4), Outcome::Answered));
    assert_eq!(heard.frame(3).rules(), ["SQP-TXN-001"]);
    assert_eq!(heard.frame(4).rules(), ["SQP-TXN-004", "SQP-SEC-001"]);
}

#[test]
fn clients_with_the_same_cookie_are_kept_apart() {
    let from_second = shot(START + MS, CLIENTS[1], END, &hex(POLL));
    let to_second = shot(START + 2 * MS, END, CLIENTS[1], &hex(STATE));
    let shots = [c(0, POLL), from_second, to_second, s(3 * MS, STATE), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(1, Some(4), Outcome::Answered), (2, Some(3), Outcome::Answered)]);
}

#[test]
fn a_capture_that_begins_with_the_answer_to_a_challenge_has_no_false_request() {
    let shots = [s(0, H2), c(10 * MS, QI), s(20 * MS, OK), clock(60 * S)];
    assert_eq!(outcomes(&shots), [(2, Some(3), Outcome::Answered)]);
    let (heard, _) = play(&shots);
    assert_eq!((heard.frame(1).message, heard.frame(1).direction), ("challenge_response", Direction::S2c));
}

/// Conversations that are remembered at most, with 4 MiB.
const MOST: u64 = 16_384;

#[test]
fn the_oldest_of_too_many_conversations_goes_and_is_counted() {
    let all = 20_000u32;
    let client = |n: u32| ([10, (n >> 16) as u8, (n >> 8) as u8, n as u8], 40_000);
    let mut shots: Vec<Shot> = (0..all).map(|n| shot(START, client(n), END, &hex(POLL))).collect();
    shots.push(shot(START, END, client(0), &hex(STATE)));
    shots.push(shot(START, END, client(all - 1), &hex(STATE)));
    let options = Options { budget: Budget::mib(4), ..everything() };
    let (heard, totals) = report(options, Collected::<false>::default(), &shots);
    assert_eq!((totals.exchanges, totals.answered), (u64::from(all), 1));
    assert_eq!(totals.evicted, u64::from(all) - MOST + 1, "the answer to a forgotten one opens a new one");
    assert_eq!(
        heard.frame(u64::from(all) + 1).pairing,
        Pairing::Unsolicited { open: false, asked: None, other_step: false, elsewhere: false }
    );
    assert!(matches!(heard.frame(u64::from(all) + 2).pairing, Pairing::Answered(_)));
}

#[test]
fn five_zero_bytes_alone_are_of_low_confidence_and_not_shown_by_default() {
    let shots = [c(0, H1), clock(60 * S)];
    let (heard, _) = play(&shots);
    assert_eq!((heard.frame(1).level, heard.frame(1).message), (Level::Low, "challenge_request"));
    let (heard, totals) = report(Options::default(), Collected::<true>::default(), &shots);
    assert!(heard.packets.is_empty() && heard.exchanges.is_empty());
    assert_eq!((totals.recognised, totals.unclaimed), (0, 2));
}

#[test]
fn five_zero_bytes_answered_by_five_zero_bytes_stay_low() {
    let (heard, _) = play(&[c(0, H1), s(10 * MS, H1), clock(60 * S)]);
    let levels: Vec<_> = heard.packets.iter().map(|p| (p.message, p.level)).collect();
    assert_eq!(levels, [("challenge_request", Level::Low), ("challenge_response", Level::Low)]);
    let (e, _) = &heard.exchanges[0];
    assert_eq!((e.level, e.outcome), (Level::Low, Outcome::Answered));
}

#[test]
fn candidates_are_promoted_and_keep_the_order_of_frames() {
    let other = |time, text| shot(START + time, CLIENTS[1], END, &hex(text));
    let shots = [c(0, H1), other(MS, POLL), c(2 * MS, H1), s(700 * MS, H2), c(710 * MS, QI), clock(60 * S)];
    let found = records(Options::default(), &shots);
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
        let shots = [c(0, H1), c(time, QI), s(time + MS, OK), clock(60 * S)];
        let (heard, _) = report(Options::default(), Collected::<true>::default(), &shots);
        assert_eq!(heard.packets.iter().any(|p| p.frame == 1), shown, "{time} ns");
    }
}

#[test]
fn a_pinned_port_says_what_is_spoken_there() {
    let cut = "01 80902348 0001";
    let shots = [c(0, cut), clock(60 * S)];
    let (heard, _) = play(&shots);
    assert!(heard.packets.is_empty(), "seven bytes alone are nobody's: {heard:#?}");
    let pinned = Choice { pins: vec![(PORT, Id::Sqp)], ..Choice::default() };
    let (heard, _) = report(Options { choice: pinned, ..everything() }, Collected::<true>::default(), &shots);
    let packet = heard.frame(1);
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
        shot(START + S, CLIENTS[1], elsewhere, &hex(POLL)),
        shot(START + S + MS, elsewhere, CLIENTS[1], &hex(STATE)),
        c(2 * S, H1),
        s(2 * S + MS, H2),
        clock(60 * S),
    ];
    let pinned = Choice { pins: vec![(PORT, Id::Sqp)], ..Choice::default() };
    let (heard, _) = report(Options { choice: pinned, ..everything() }, Collected::<true>::default(), &shots);
    let of = |id| heard.packets.iter().filter(|p| p.id == id).map(|p| p.frame).collect::<Vec<_>>();
    assert_eq!(of(Id::Satisfactory), [3, 4]);
    assert!(of(Id::Sqp).ends_with(&[5, 6]), "{heard:#?}");
}

#[test]
fn an_answered_request_stays_one_when_its_conversation_turns() {
    // The first byte seems to ask for a challenge and is answered; then who answered asks.
    let shots = [s(0, "00"), c(0, H1), s(0, H2), c(0, "01 80902348"), s(0, OK)];
    let told = records(everything(), &shots);
    let exchange = told.iter().find(|r| r["type"] == "exchange").unwrap();
    for frame in [&exchange["request_frame"], &exchange["response_frames"][0]] {
        let packet = told.iter().find(|r| r["type"] == "packet" && &r["frame"] == frame).unwrap();
        assert_eq!(packet["exchange"], exchange["id"], "{packet}");
    }
}

/// GQP: what is wrong with the name of a command is wrong in its reply, but not in one that stands before it.
#[test]
fn who_stands_in_front_is_no_symptom_of_what_follows_in_order_or_not() {
    let (request, answer) = ("636166e9 04", "3130 636166e9 1e 11 61 04");
    let known = |time| [c(time, ID), s(time + MS, IDR)];
    let pair = |time| [c(time, request), s(time + MS, answer)];
    let turned = |time| [s(time + MS, answer), c(time, request)];
    for (behind, symptoms) in [(pair(40 * S), &[4, 9][..]), (turned(40 * S), &[4])] {
        let shots =
            [&known(0)[..], &pair(2 * MS), &[clock(30 * S)], &known(39 * S), &behind, &[clock(90 * S)]];
        let shots = shots.concat();
        let (heard, totals) = play(&shots);
        let elsewhere =
            |p: &&Seen| p.findings.iter().filter_map(|f| f.caused_by).any(|cause| cause.frame != p.frame);
        let frames: Vec<u64> = heard.packets.iter().filter(elsewhere).map(|p| p.frame).collect();
        assert_eq!(frames, symptoms, "{heard:#?}");
        let (_, unordered) = report(everything(), Collected::<false>::default(), &shots);
        assert_eq!(format!("{:?}", unordered.findings), format!("{:?}", totals.findings));
    }
}

/// Whoever waits in front of others that have nothing to do with it makes them no surer.
#[test]
fn a_reply_without_status_explains_nothing_about_the_one_before() {
    let ask = c(0, "6563686f 1e 61 1d 6563686f 1e 62 04");
    let cause = |reply: &str, rule: &str| {
        let heard = play(&[ask.clone(), s(MS, reply)]).0;
        let found = heard.findings().find(|f| f.rule.id == rule).expect("it is told");
        found.caused_by.map(|cause| cause.rule.id)
    };
    // The first reply names another command and has no data; the second one has no status.
    let apart = "3130 6563 1d 6563686f 1e 11 62 04";
    assert_eq!(cause(apart, "GQP-RSP-003"), None);
    assert_eq!(cause(apart, "GQP-TXN-003"), None);
    // Here one has neither status nor data.
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
    let surplus = format!("{OK} ee000000000000");
    let first = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, &surplus)];
    // The client reads the surplus as a token.
    let next = [c(S, H1), s(S + MS, &H2.replace("80", "70")), c(S + 2 * MS, "01 ee000000 0001 01")];
    let heard = play(&[&first[..], &next, &[clock(60 * S)]].concat()).0;
    let cause = |rule: &str| {
        let found = heard.findings().find(|f| f.rule.id == rule).expect("it is told");
        found.caused_by.map(|cause| (cause.rule.id, cause.frame))
    };
    assert_eq!(cause("SQP-TXN-001"), Some(("SQP-RSP-008", 4)));
    assert_eq!(cause("SQP-TXN-009"), Some(("SQP-RSP-008", 4)));
}

#[test]
fn a_client_that_came_through_a_broken_answer_errs_by_itself() {
    let surplus = format!("{OK} ee");
    let other = |text: &str| text.replace("80902348", "90902349");
    let wrong = "01 ee000000 0001 01";
    let first = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, &surplus)];
    let cause = |then: &[Shot]| {
        let heard = play(&[&first[..], then].concat()).0;
        let wrong = heard.findings().find(|f| f.rule.id == "SQP-TXN-001").expect("it is told");
        wrong.caused_by.map(|cause| (cause.rule.id, cause.frame))
    };
    let anew = [c(S, H1), s(S + MS, &other(H2))];
    let at_once = [&anew[..], &[c(S + 2 * MS, wrong)]].concat();
    assert_eq!(cause(&at_once), Some(("SQP-RSP-008", 4)));
    let right = [c(S + 2 * MS, &other(QI)), s(S + 3 * MS, &other(OK)), c(S + 4 * MS, wrong)];
    assert_eq!(cause(&[&anew[..], &right].concat()), None);
}

#[test]
fn a_datagram_that_waits_for_its_turn_is_as_sure_as_without_that() {
    let mut shots = shots(&Id::Skycoop.info().samples[0]);
    let levels = |shots: &[Shot]| {
        let heard = play(shots).0.packets;
        [2, 3].map(|frame| heard.iter().find(|p| p.frame == frame).map(|p| p.level))
    };
    let alone = levels(&shots);
    assert_eq!(alone, [Some(Level::Medium), Some(Level::High)]);
    shots[0] = shot(shots[1].time - MS, CLIENTS[1], ([192, 0, 2, 77], 9000), &hex(H1));
    assert_eq!(levels(&shots), alone);
}

/// SQP: a remark that is made once a server still explains the silence of later times, for whoever tells of it.
#[test]
fn a_remark_made_before_still_causes_a_silence() {
    let all = "01 80902348 0001 1f";
    let asked = |time| [c(time, H1), s(time + MS, H2), c(time + 2 * MS, all)];
    let shots = [&asked(0)[..], &asked(20 * S), &[clock(90 * S)]].concat();
    let (heard, _) = play(&shots);
    let of = |id: &str| {
        heard.packets.iter().filter(|p| p.rules().contains(&id)).map(|p| p.frame).collect::<Vec<_>>()
    };
    assert_eq!(of("SQP-REQ-010"), [3]);
    let silent = heard.exchanges.iter().flat_map(|(_, findings)| findings);
    let causes: Vec<_> = silent.map(|f| f.caused_by.map(|cause| (cause.rule.id, cause.frame))).collect();
    assert_eq!(causes, [Some(("SQP-REQ-010", 3)), Some(("SQP-REQ-010", 6))]);
}

/// Order pairs nothing that comes from elsewhere, but says where the client waits.
#[test]
fn an_answer_from_another_port_of_the_host_is_told_as_one() {
    const REPLY: &str =
        "93000000 06000000 302e31312e32 01000000 0a000000 010000 00000000 02000000 02000000 000001";
    let from = |port, time| shot(START + time, (END.0, port), CLIENTS[0], &hex(REPLY));
    let told = |shots: &[Shot]| {
        let (heard, _) = play(&[&[clock(-30 * S)], shots, &[clock(60 * S)]].concat());
        let last = heard.packets.last().expect("it was claimed");
        assert!(matches!(last.pairing, Pairing::Unsolicited { .. }));
        last.rules().contains(&"GEN-006")
    };
    assert!(told(&[c(0, "feffffff"), from(9, MS)]));
    assert!(!told(&[c(0, "feffffff"), from(9, 5 * S + 1)]), "the window is over");
    assert!(!told(&[c(0, "feffffff"), s(MS, REPLY), from(9, 2 * MS)]), "nobody waits");
    assert!(!told(&[c(0, POLL), from(9, MS)]), "for another protocol's answer");
}
