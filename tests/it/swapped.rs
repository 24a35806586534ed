//! Answers out of order. An answer before its request has the same findings as any other, and unsolicited answers are reported
//! after any pause.

use crate::kit::play::{
    CLIENTS, Collected, MS, POLL, PORT, RawFrame, ReportedPacket, S, SERVER_ADDR, SQP_CHALLENGE,
    SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, STATE, c, everything, foreign, lines, play,
    play_surrounded, report, s, summed, surrounded, udp_frame,
};
use qdissect::exchange::Pairing;
use qdissect::pipeline::Options;
use qdissect::protocols::Level;
use qdissect::rule::hex;

/// The rules broken in every frame, with foreign datagrams long before and after.
fn broken(frames: &[RawFrame]) -> Vec<(u64, Vec<&'static str>)> {
    let all = surrounded(frames);
    let (collected, totals) = play(&all);
    let (_, unordered) = report(everything(), Collected::<false>::default(), &all);
    assert_eq!(format!("{:?}", unordered.findings), format!("{:?}", totals.findings));
    let mut frames_and_rules: Vec<_> = collected.packets.iter().map(|p| (p.frame, p.rules())).collect();
    frames_and_rules.sort();
    frames_and_rules
}

#[test]
fn an_answer_before_its_request_is_checked_against_it() {
    let ratio = vec!["SFQ-SEC-001", "GEN-007"];
    assert_eq!(broken(&[c(0, POLL), s(MS, STATE)]), [(2, vec![]), (3, ratio.clone())]);
    assert_eq!(broken(&[s(MS, STATE), c(0, POLL)]), [(2, ratio), (3, vec![])]);
}

#[test]
fn an_answer_before_its_request_has_the_step_of_the_request() {
    let info = r"ffffffff 'infoResponse' 0a '\challenge\abc\protocol\68\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8'";
    let frames = [c(0, "ffffffff 'getinfo abc'"), s(MS, info)];
    let [original, turned] = [broken(&frames), broken(&[frames[1].clone(), frames[0].clone()])];
    assert_eq!((&original[1].1, &original[0].1), (&turned[0].1, &turned[1].1));
    assert!(!turned[0].1.contains(&"Q3-TXN-007"), "{turned:?}");
}

#[test]
fn server_data_of_an_answer_before_its_request_is_remembered() {
    let (poll, older) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee").replace("001100", "001000"));
    let later = [c(S, &poll), s(S + MS, &older)];
    let turned = [&[s(MS, STATE), c(0, POLL)][..], &later].concat();
    assert_eq!(broken(&turned)[3], (5, vec!["SFQ-SUB-005"]), "a sub state went back");
}

#[test]
fn a_token_captured_before_its_request_belongs_to_the_client() {
    let turned =
        [s(MS, SQP_CHALLENGE_REPLY), c(0, SQP_CHALLENGE), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    assert_eq!(broken(&turned), [2, 3, 4, 5].map(|frame| (frame, vec![])));
}

#[test]
fn a_challenge_after_its_answer_is_not_a_repetition() {
    let again = ["00 70902348", "01 70902348 0001 01", "01 70902348 0001 00 00 0000"];
    let first =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    let turned = [s(S + MS, again[0]), c(S, SQP_CHALLENGE), c(S + 2 * MS, again[1])];
    let found = broken(&[&first[..], &turned].concat());
    assert_eq!(found, [2, 3, 4, 5, 6, 7, 8].map(|frame| (frame, vec![])));
}

#[test]
fn a_wrong_checksum_of_an_answer_before_its_request_is_reported() {
    let right = [c(0, POLL), s(MS, STATE)].map(|raw_frame| summed(raw_frame, 0));
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let turned = [summed(s(S + MS, &state), 1), c(S, &poll)];
    let found = broken(&[right, turned].concat());
    assert_eq!(found[2..], [(4, vec!["GEN-003"]), (5, vec![])], "and that it answers: {found:?}");
}

#[test]
fn datagrams_with_a_wrong_checksum_have_lower_confidence() {
    let right = [c(0, POLL), s(MS, STATE)].map(|raw_frame| summed(raw_frame, 0));
    let collected = play_surrounded(&[&right[..], &[summed(c(S, POLL), 1)]].concat());
    assert_eq!([2, 3, 4].map(|n| collected.frame(n).level), [Level::High, Level::High, Level::Medium]);
}

/// It must not matter whether the request was reported before its answer arrived; here it is pending behind that of another
/// client.
#[test]
fn the_confidence_of_an_exchange_is_that_of_its_answer_in_any_order() {
    let right = [c(0, POLL), s(MS, STATE)].map(|raw_frame| summed(raw_frame, 0));
    let waits = summed(udp_frame(START + S - MS, CLIENTS[1], SERVER_ADDR, &hex(SQP_CHALLENGE)), 0);
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let doubtful = [waits, summed(c(S, &poll), 1), summed(s(S + MS, &state), 0)];
    let all = [&[foreign(START - 30 * S)], &right[..], &doubtful].concat();
    let sure = || Options { min_confidence: Level::High, ..everything() };
    let (_, ordered) = report(sure(), Collected::<true>::default(), &all);
    let (_, unordered) = report(sure(), Collected::<false>::default(), &all);
    assert_eq!((ordered.exchanges, unordered.exchanges), (2, 2));
}

#[test]
fn requests_may_be_missing_at_the_start_of_a_capture() {
    let (collected, totals) =
        play(&[s(0, SQP_CHALLENGE_REPLY), s(MS, SQP_QUERY_REPLY), foreign(START + 60 * S)]);
    let old = |frame| collected.frame(frame).rules().contains(&"GEN-005");
    assert_eq!((old(1), old(2), totals.findings.error), (true, true, 0), "{:#?}", collected.packets);
}

/// A token counts as sent by the client until an answer follows.
#[test]
fn a_server_with_only_tokens_and_answers_lacks_requests() {
    let round = |n: i64| {
        let other = |text: &str| text.replace("809023", &format!("8090{n:02x}"));
        [s(10 * n * S, &other(SQP_CHALLENGE_REPLY)), s(10 * n * S + 100 * MS, &other(SQP_QUERY_REPLY))]
    };
    let frames: Vec<_> = (0..4).flat_map(round).collect();
    let (collected, totals) = play(&surrounded(&frames));
    let unsolicited = |id: &&str| ["SQP-TXN-003", "SQP-TXN-005"].contains(id);
    let reported = collected.findings().map(|f| f.rule.id).filter(unsolicited).count() as u64;
    assert_eq!((totals.one_sided.len(), reported), (1, 8), "{:#?}", collected.packets);
    // What a capture of one direction cannot show counts as notes.
    assert_eq!((totals.findings.error, totals.findings.note >= reported), (0, true), "{:?}", totals.findings);
}

#[test]
fn a_conversation_is_older_than_the_capture_only_at_its_start_in_every_report() {
    // All of them lack their requests; the last ones show that the capture holds one direction.
    let answers: Vec<_> = (0..4).map(|n| s(3 * n * S, &STATE.replace("ef", &format!("e{n}")))).collect();
    let frames = [&[foreign(START)], &answers[..], &[foreign(START + 60 * S)]].concat();
    let (collected, totals) = play(&frames);
    assert_eq!(totals.one_sided.len(), 1);
    let at_the_end: Vec<_> = collected.packets.iter().map(ReportedPacket::rules).collect();
    // Records are written as they come.
    let text = lines(everything(), &frames);
    let records: Vec<serde_json::Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
    let findings = records.iter().filter(|r| r["protocol"] == "satisfactory").map(|r| &r["findings"]);
    let findings: Vec<_> = findings.map(|all| all.as_array().expect("a list")).collect();
    let as_they_come: Vec<Vec<_>> = findings
        .iter()
        .map(|all| all.iter().map(|f| f["rule"].as_str().expect("a rule")).collect())
        .collect();
    assert_eq!(as_they_come, at_the_end);
    let [old, other] = [vec!["SFQ-TXN-001", "GEN-005"], vec!["SFQ-TXN-001"]];
    assert_eq!(at_the_end, [old.clone(), old, other.clone(), other]);
    let severities: Vec<_> = findings.iter().map(|all| all[0]["severity"].as_str()).collect();
    assert_eq!(severities, [Some("note"), Some("note"), Some("note"), Some("note")]);
}

#[test]
fn a_server_with_old_requests_is_not_one_sided() {
    let asked =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    let forged = |n: i64| s(60 * S + n * S, &SQP_QUERY_REPLY.replace("0163", &format!("01{n:02x}")));
    let found = broken(&[&asked[..], &[0x41, 0x42, 0x43, 0x44].map(forged)].concat());
    for (frame, rules) in &found[4..] {
        assert!(rules.contains(&"SQP-TXN-003") && !rules.contains(&"GEN-005"), "frame {frame}: {rules:?}");
    }
    assert_eq!(found.len(), 8);
}

/// The frames that break rules.
fn remarks(frames: &[RawFrame]) -> Vec<(u64, Vec<&'static str>)> {
    broken(frames).into_iter().filter(|(_, rules)| !rules.is_empty()).collect()
}

/// The same bytes with the other token.
fn other(text: &str) -> String {
    text.replace("80902348", "70902348")
}

#[test]
fn a_copy_of_a_token_does_not_issue_it_again() {
    let newer = [
        c(300 * MS, SQP_CHALLENGE),
        s(310 * MS, &other(SQP_CHALLENGE_REPLY)),
        s(315 * MS, SQP_CHALLENGE_REPLY),
    ];
    let used = [c(320 * MS, &other(SQP_QUERY)), s(330 * MS, &other(SQP_QUERY_REPLY))];
    let all = [&[c(0, SQP_CHALLENGE), s(10 * MS, SQP_CHALLENGE_REPLY)], &newer[..], &used].concat();
    assert_eq!(remarks(&all), [(4, vec!["SQP-TXN-008"]), (6, vec!["SQP-TXN-013"])]);
}

#[test]
fn a_copy_of_a_token_that_was_used_leaves_it_used() {
    let twice = [
        c(0, SQP_CHALLENGE),
        s(10 * MS, SQP_CHALLENGE_REPLY),
        c(20 * MS, SQP_QUERY),
        s(30 * MS, SQP_QUERY_REPLY),
        s(40 * MS, SQP_CHALLENGE_REPLY),
    ];
    let next = [
        c(500 * MS, SQP_CHALLENGE),
        s(510 * MS, &other(SQP_CHALLENGE_REPLY)),
        c(520 * MS, &other(SQP_QUERY)),
        s(530 * MS, &other(SQP_QUERY_REPLY)),
    ];
    assert_eq!(remarks(&[&twice[..], &next].concat()), [(6, vec!["SQP-TXN-013"])]);
    let again = [c(500 * MS, SQP_QUERY), s(510 * MS, SQP_QUERY_REPLY)];
    assert_eq!(remarks(&[&twice[..], &again].concat()), [(6, vec!["SQP-TXN-013"]), (7, vec!["SQP-TXN-006"])]);
}

/// The answer to a challenge is captured after the query that uses it, as with separate interfaces for the two directions.
#[test]
fn a_token_captured_after_its_query_belongs_to_the_client_and_is_used() {
    let first = [
        c(0, SQP_CHALLENGE),
        c(20 * MS, SQP_QUERY),
        s(19 * MS, SQP_CHALLENGE_REPLY),
        s(30 * MS, SQP_QUERY_REPLY),
    ];
    assert_eq!(remarks(&first), []);
    let again = [
        c(S, SQP_CHALLENGE),
        c(S + 20 * MS, &other(SQP_QUERY)),
        s(S + 19 * MS, &other(SQP_CHALLENGE_REPLY)),
        s(S + 30 * MS, &other(SQP_QUERY_REPLY)),
    ];
    assert_eq!(
        remarks(&[&first[..], &again, &[c(2 * S, SQP_CHALLENGE)]].concat()),
        [],
        "nor is a token left unused"
    );
    let used = [c(500 * MS, SQP_QUERY), s(510 * MS, SQP_QUERY_REPLY)];
    assert_eq!(remarks(&[&first[..], &used].concat()), [(6, vec!["SQP-TXN-006"])]);
}

#[test]
fn the_token_issued_just_before_a_query_may_be_missing() {
    let asked = [c(0, SQP_CHALLENGE), c(20 * MS, SQP_QUERY)];
    assert_eq!(remarks(&asked), []);
    let requests = (0..5).flat_map(|n| {
        [c(n * S, SQP_CHALLENGE), c(n * S + 20 * MS, &SQP_QUERY.replace("8090", &format!("809{n}")))]
    });
    assert_eq!(remarks(&requests.collect::<Vec<_>>()), [], "where it holds one direction");
    let lost = [&asked[..], &[s(30 * MS, SQP_QUERY_REPLY)]].concat();
    assert_eq!(remarks(&lost), []);
    let before = [
        c(-2 * S, SQP_CHALLENGE),
        s(-2 * S + MS, &other(SQP_CHALLENGE_REPLY)),
        c(-S, &other(SQP_QUERY)),
        s(-S + MS, &other(SQP_QUERY_REPLY)),
    ];
    assert_eq!(remarks(&[&before[..], &lost].concat()), []);
    let used = [c(500 * MS, SQP_QUERY), s(510 * MS, SQP_QUERY_REPLY)];
    assert_eq!(remarks(&[&lost[..], &used].concat()), [(5, vec!["SQP-TXN-006"])]);
}

#[test]
fn the_clients_previous_token_is_not_a_missing_one() {
    let issued = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(S, SQP_CHALLENGE),
        s(S + MS, &other(SQP_CHALLENGE_REPLY)),
        c(S + 2 * MS, &other(SQP_QUERY)),
    ];
    let asked = [
        s(S + 3 * MS, &other(SQP_QUERY_REPLY)),
        c(2 * S, SQP_CHALLENGE),
        c(2 * S + MS, SQP_QUERY),
        s(2 * S + 2 * MS, SQP_QUERY_REPLY),
    ];
    let expected = [(4, vec!["SQP-TXN-008"]), (9, vec!["SQP-TXN-001"]), (10, vec!["SQP-SEC-001"])];
    assert_eq!(remarks(&[&issued[..], &asked].concat()), expected);
}

#[test]
fn a_lost_challenge_is_repeated_only_until_a_query() {
    let repeated = [
        c(0, SQP_CHALLENGE),
        c(S, SQP_CHALLENGE),
        s(S + MS, SQP_CHALLENGE_REPLY),
        c(S + 2 * MS, SQP_QUERY),
        s(S + 3 * MS, SQP_QUERY_REPLY),
    ];
    let next = [
        c(2 * S, SQP_CHALLENGE),
        s(2 * S + MS, &other(SQP_CHALLENGE_REPLY)),
        c(2 * S + 2 * MS, &other(SQP_QUERY)),
    ];
    let all = [&repeated[..], &next, &[s(2 * S + 3 * MS, &other(SQP_QUERY_REPLY))]].concat();
    assert_eq!(remarks(&all), [(3, vec!["SQP-TXN-008"])]);
    // So the next lost one is no consequence of a repetition.
    let lost = [&repeated[..], &[c(2 * S, SQP_CHALLENGE)]].concat();
    let collected = play_surrounded(&lost);
    let silent = collected.findings().filter(|f| f.rule.id == "SQP-TXN-009" && f.caused_by.is_none()).count();
    assert_eq!(silent, 2, "{collected:#?}");
    let twice = [&lost[..], &[c(3 * S, SQP_CHALLENGE)]].concat();
    assert_eq!(remarks(&twice), [(3, vec!["SQP-TXN-008"]), (8, vec!["SQP-TXN-008"])]);
}

#[test]
fn a_client_without_an_answer_has_no_token() {
    let unknown = ["SQP-TXN-002", "SQP-SEC-001"].map(|rule| vec![rule]);
    let asked = |time| [c(time, SQP_QUERY), s(time + MS, SQP_QUERY_REPLY)];
    // USQP does not answer a second challenge before a query, and answers the query with any token.
    let repeated = [&[c(0, SQP_CHALLENGE), c(900 * MS, SQP_CHALLENGE)][..], &asked(950 * MS)].concat();
    let found = remarks(&repeated);
    assert_eq!(found[1..], [(4, unknown[0].clone()), (5, unknown[1].clone())], "{found:?}");
    let late = [&[c(0, SQP_CHALLENGE)][..], &asked(1_100 * MS)].concat();
    assert_eq!(remarks(&late), [(3, unknown[0].clone()), (4, unknown[1].clone())]);
    // The client has a token, and requests another one without getting it.
    let unused = [
        &[c(0, SQP_CHALLENGE), s(MS, &other(SQP_CHALLENGE_REPLY)), c(500 * MS, SQP_CHALLENGE)][..],
        &asked(600 * MS),
    ]
    .concat();
    let rules: Vec<_> = remarks(&unused).into_iter().flat_map(|(_, rules)| rules).collect();
    assert_eq!(rules, ["SQP-TXN-008", "SQP-TXN-001", "SQP-SEC-001"]);
}

#[test]
fn a_token_with_a_missing_request_was_issued() {
    assert_eq!(
        remarks(&[s(0, SQP_CHALLENGE_REPLY), c(10 * MS, SQP_QUERY), s(20 * MS, SQP_QUERY_REPLY)]),
        [(2, vec!["SQP-TXN-005"])],
        "neither an unknown token nor one that is not checked"
    );
}

#[test]
fn a_copy_of_an_answer_with_another_token_is_a_copy() {
    let wrong = SQP_QUERY.replace("80902348", "11111111");
    let frames = [
        c(0, SQP_CHALLENGE),
        s(10 * MS, SQP_CHALLENGE_REPLY),
        c(20 * MS, &wrong),
        s(30 * MS, SQP_QUERY_REPLY),
        s(40 * MS, SQP_QUERY_REPLY),
    ];
    let last = remarks(&frames).pop();
    assert_eq!(last, Some((6, vec!["SQP-TXN-013"])));
}

#[test]
fn a_token_is_used_a_second_time_however_long_after_the_first() {
    let first =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    for pause in [S, 4 * S, 6 * S, 60 * S] {
        let all = [&first[..], &[c(pause, SQP_QUERY), s(pause + MS, SQP_QUERY_REPLY)]].concat();
        assert_eq!(remarks(&all), [(6, vec!["SQP-TXN-006"])], "{pause} ns");
    }
}

#[test]
fn a_token_stays_valid_until_it_is_used() {
    let issued = [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY)];
    for pause in [S, 6 * S, 60 * S] {
        let used = [c(pause, SQP_QUERY), s(pause + MS, SQP_QUERY_REPLY)];
        assert_eq!(remarks(&[&issued[..], &used].concat()), [], "{pause} ns");
        let twice = [c(pause + 10 * S, SQP_QUERY), s(pause + 10 * S + MS, SQP_QUERY_REPLY)];
        let all = [&issued[..], &used, &twice].concat();
        assert_eq!(remarks(&all), [(6, vec!["SQP-TXN-006"])], "{pause} ns");
        let unknown = [c(pause, &other(SQP_QUERY)), s(pause + MS, &other(SQP_QUERY_REPLY))];
        let all = [&issued[..], &unknown].concat();
        let wrong = [(4, vec!["SQP-TXN-001"]), (5, vec!["SQP-SEC-001"])];
        assert_eq!(remarks(&all), wrong, "{pause} ns");
        let anew = [c(pause, SQP_CHALLENGE), s(pause + MS, &other(SQP_CHALLENGE_REPLY))];
        assert_eq!(remarks(&[&issued[..], &anew].concat()), [(4, vec!["SQP-TXN-008"])], "{pause} ns");
    }
}

/// Only both answers together show the version before 1.0. The first alone says nothing about the server.
#[test]
fn findings_once_per_server_include_answers_before_their_request() {
    let (poll, state) = ("0000 efcdab8967452301", "0100 efcdab8967452301 03 7f3b0300 983a");
    let later = |text: &str| text.replace("ef", "ee");
    let turned = [s(MS, state), c(0, poll), c(20 * S, &later(poll)), s(20 * S + MS, &later(state))];
    assert_eq!(remarks(&turned), [(2, vec!["SFQ-LEG-001", "GEN-007"]), (3, vec!["SFQ-LEG-003"])]);
}

#[test]
fn an_answer_matches_a_later_request_if_the_earlier_one_is_forgotten() {
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let first = [c(0, POLL), s(MS, STATE)];
    // The late window of the first poll, ten seconds, ends between them.
    let turned = [s(10 * S - MS, &state), c(10 * S + MS, &poll)];
    let found = broken(&[&first[..], &turned].concat());
    assert_eq!(found[2..], [(4, vec![]), (5, vec![])]);
}

#[test]
fn the_next_token_may_follow_an_answer() {
    let surplus = format!("{SQP_QUERY_REPLY} ee");
    let frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, &surplus),
        c(4 * S, "01 ee008090 0001 01"),
    ];
    let (collected, _) = play(&frames);
    let caused: Vec<_> = collected.frame(5).findings.iter().map(|f| (f.rule.id, f.caused_by)).collect();
    let (rule, cause) = caused[0];
    assert_eq!((rule, cause.map(|c| (c.rule.id, c.frame))), ("SQP-TXN-001", Some(("SQP-RSP-008", 4))));
}

#[test]
fn a_refused_client_may_request_a_string_again() {
    let (auth, no) = ("61757468 1e 626f62 1f 7077 04", "3332 61757468 1e 06 04");
    let challenge = c(3 * S, "6368616c6c656e6765 1e 78797a 04");
    let is_reported = |frames: &[RawFrame]| {
        let rules = |(_, rules): (u64, Vec<&'static str>)| rules.contains(&"GQP-TXN-005");
        remarks(&[frames, std::slice::from_ref(&challenge)].concat()).into_iter().any(rules)
    };
    let refused = [c(0, auth), s(MS, no)];
    assert!(is_reported(&refused), "there was no string to send");
    assert!(!is_reported(&[&refused[..], &[c(S, auth)]].concat()), "its answer is not in the capture");
}

#[test]
fn a_copy_of_a_second_answer_is_a_copy() {
    let (second, third) = (SQP_QUERY_REPLY.replace("0163", "0164"), SQP_QUERY_REPLY.replace("0163", "0165"));
    let query =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    let others = [&second, &second, SQP_QUERY_REPLY, &third, &second]
        .into_iter()
        .zip(4..)
        .map(|(text, ms)| s(ms * MS, text));
    let frames: Vec<_> = query.into_iter().chain(others).collect();
    let (other, copy) = (vec!["SQP-TXN-014"], vec!["SQP-TXN-013"]);
    assert_eq!(remarks(&frames), [(6, other.clone()), (7, copy), (9, other)], "one copy is reported");
    let collected = play_surrounded(&frames);
    let originals = [7, 8, 10].map(|frame| match collected.frame(frame).pairing {
        Pairing::DuplicateResponse { of, .. } => Some(of),
        _ => None,
    });
    assert_eq!(originals, [6, 5, 6].map(Some), "all are copies");
}

/// Unreal 2 sends lists in several datagrams, any of which may be the one that is copied first.
#[test]
fn the_first_copy_in_an_open_ended_list_is_reported() {
    let rules = ["80000000 01 02'a' 00 02'1' 00", "80000000 01 02'b' 00 02'2' 00"];
    let frames =
        [c(0, "79000000 01"), s(MS, rules[0]), s(2 * MS, rules[1]), s(3 * MS, rules[1]), s(4 * MS, rules[0])];
    let copies = |(_, rules): &(u64, Vec<&'static str>)| rules.contains(&"UN2-TXN-004");
    let found: Vec<_> = broken(&frames).into_iter().filter(copies).map(|(frame, _)| frame).collect();
    assert_eq!(found, [5]);
}

/// SQP: a part of an answer is no second answer, and a copy of it is no third one.
#[test]
fn a_copy_of_a_part_is_a_copy() {
    let part = "01 80902348 0001 01 01 0003 78797a";
    let first = SQP_QUERY_REPLY.replacen("00 00 0012", "00 01 0012", 1);
    let frames = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(2 * MS, SQP_QUERY),
        s(3 * MS, &first),
        s(4 * MS, part),
        s(5 * MS, part),
    ];
    let part = vec!["SQP-RSP-006"];
    let copy = (7, vec!["SQP-RSP-006", "SQP-TXN-013"]);
    assert_eq!(remarks(&frames), [(5, part.clone()), (6, part), copy]);
}

/// SQP: parts are distinguished by their numbers, in any order, and even if one is the whole answer.
#[test]
fn two_parts_with_one_number_are_two_answers() {
    let with = |numbers: &str, text: &str| {
        SQP_QUERY_REPLY.replacen("00 00 0012", &format!("{numbers} 0012"), 1).replace("0163", text)
    };
    let rules_of = |answers: &[(&str, &str)]| {
        let answers = answers.iter().zip(3..).map(|((numbers, text), ms)| s(ms * MS, &with(numbers, text)));
        let frames: Vec<_> = [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY)]
            .into_iter()
            .chain(answers)
            .collect();
        let second = |(frame, rules): (u64, Vec<&str>)| rules.contains(&"SQP-TXN-014").then_some(frame);
        remarks(&frames).into_iter().filter_map(second).collect::<Vec<_>>()
    };
    assert_eq!(rules_of(&[("00 01", "0163"), ("00 01", "0164"), ("01 01", "0165")]), [6]);
    assert_eq!(rules_of(&[("01 01", "0163"), ("00 01", "0164"), ("01 01", "0165")]), [7]);
    assert_eq!(rules_of(&[("00 00", "0163"), ("00 01", "0164")]), [6]);
    assert!(rules_of(&[("00 00", "0163"), ("01 01", "0164")]).is_empty());
}

#[test]
fn an_old_token_is_reported_at_any_later_time() {
    let used =
        [c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), s(3 * MS, SQP_QUERY_REPLY)];
    for pause in [S, 4 * S, 6 * S, 60 * S] {
        let all = [&used[..], &[c(pause, &other(SQP_QUERY))]].concat();
        assert_eq!(remarks(&all).first(), Some(&(6, vec!["SQP-TXN-001"])), "{pause} ns");
    }
}

#[test]
fn a_replaced_token_is_reported_at_any_later_time() {
    let first = [
        c(0, SQP_CHALLENGE),
        s(MS, SQP_CHALLENGE_REPLY),
        c(300 * MS, SQP_CHALLENGE),
        s(301 * MS, &other(SQP_CHALLENGE_REPLY)),
    ];
    let used = [c(302 * MS, &other(SQP_QUERY)), s(303 * MS, &other(SQP_QUERY_REPLY))];
    for pause in [S, 6 * S, 60 * S] {
        let all = [&first[..], &used, &[c(pause, SQP_QUERY)]].concat();
        assert_eq!(remarks(&all).last(), Some(&(8, vec!["SQP-TXN-001"])), "{pause} ns");
    }
}

#[test]
fn a_token_is_issued_to_one_endpoint_only() {
    let (one, other) = ((CLIENTS[0].0, PORT), SERVER_ADDR);
    let to = |at: i64, from, to, text: &str| udp_frame(START + at, from, to, &hex(text));
    let issued = [to(0, one, other, SQP_CHALLENGE), to(MS, other, one, SQP_CHALLENGE_REPLY)];
    let turned = [
        to(30 * S, other, one, SQP_CHALLENGE),
        to(30 * S + MS, one, other, &SQP_CHALLENGE_REPLY.replace("8090", "7090")),
    ];
    let all = [&[foreign(START - 10 * S)], &issued[..], &turned].concat();
    let (collected, _) = play(&all);
    assert!(collected.packets.iter().all(|p| p.rules().is_empty()), "{:?}", collected.packets);
}

#[test]
fn a_symptom_is_recognised_while_its_cause_is_pending() {
    // The answer has another token and is truncated, so it is pending for its own request; the client's next request does not
    // match it.
    let cut = s(3 * MS, "01 11111111 0001 00 00 0012 0000000e");
    let next = c(4 * MS, "01 22222222 0001 01");
    let found = broken(&[c(0, SQP_CHALLENGE), s(MS, SQP_CHALLENGE_REPLY), c(2 * MS, SQP_QUERY), cut, next]);
    assert!(found[3].1.contains(&"SQP-RSP-007"), "{found:?}");
    assert_eq!(found[4], (6, vec!["SQP-TXN-001"]), "counted alike in any order: {found:?}");
}

#[test]
fn datagrams_after_the_clock_was_set_back_are_not_before_the_capture() {
    let answer = |time: i64| s(time, STATE);
    let edge = vec!["SFQ-TXN-001", "GEN-005"];
    let rules_by_packet =
        |frames: &[RawFrame]| play(frames).0.packets.iter().map(|p| p.rules()).collect::<Vec<_>>();
    assert_eq!(rules_by_packet(&[foreign(START), answer(5 * S - 1)]), [edge]);
    assert_eq!(rules_by_packet(&[foreign(START), answer(5 * S)]), [["SFQ-TXN-001"]]);
    let set_back = [foreign(START), foreign(START + 10 * S), answer(-3_600 * S)];
    assert_eq!(rules_by_packet(&set_back), [["SFQ-TXN-001"]]);
}
