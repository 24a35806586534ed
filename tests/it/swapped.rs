//! Answers out of place. What is said of one that stands before its request is what is said of any other; what nobody
//! asked for is told, however quiet it was before.

use crate::kit::play::{
    CLIENTS, Collected, END, H1, H2, MS, OK, POLL, PORT, QI, S, START, STATE, Shot, c, everything, foreign,
    hear, play, report, s, shot, summed, surrounded,
};
use qdissect::pipeline::Options;
use qdissect::protocols::Level;
use qdissect::rule::hex;

/// The rules broken in every frame, with foreign datagrams far before and behind.
fn broken(shots: &[Shot]) -> Vec<(u64, Vec<&'static str>)> {
    let all = surrounded(shots);
    let (heard, totals) = play(&all);
    let (_, unordered) = report(everything(), Collected::<false>::default(), &all);
    assert_eq!(format!("{:?}", unordered.findings), format!("{:?}", totals.findings));
    let mut told: Vec<_> = heard.packets.iter().map(|p| (p.frame, p.rules())).collect();
    told.sort();
    told
}

#[test]
fn an_answer_before_its_request_is_measured_against_it() {
    let ratio = vec!["SFQ-SEC-001", "GEN-007"];
    assert_eq!(broken(&[c(0, POLL), s(MS, STATE)]), [(2, vec![]), (3, ratio.clone())]);
    assert_eq!(broken(&[s(MS, STATE), c(0, POLL)]), [(2, ratio), (3, vec![])]);
}

#[test]
fn an_answer_before_its_request_answers_the_step_of_that() {
    let info = r"ffffffff 'infoResponse' 0a '\challenge\abc\protocol\68\hostname\Lab\mapname\q3dm17\clients\1\sv_maxclients\8'";
    let shots = [c(0, "ffffffff 'getinfo abc'"), s(MS, info)];
    let [told, turned] = [broken(&shots), broken(&[shots[1].clone(), shots[0].clone()])];
    assert_eq!((&told[1].1, &told[0].1), (&turned[0].1, &turned[1].1));
    assert!(!turned[0].1.contains(&"Q3-TXN-007"), "{turned:?}");
}

#[test]
fn what_such_an_answer_says_of_its_server_is_remembered() {
    let (poll, older) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee").replace("001100", "001000"));
    let later = [c(S, &poll), s(S + MS, &older)];
    let turned = [&[s(MS, STATE), c(0, POLL)][..], &later].concat();
    assert_eq!(broken(&turned)[3], (5, vec!["SFQ-SUB-005"]), "a sub state went back");
}

#[test]
fn a_token_issued_before_it_was_asked_for_is_the_clients() {
    let turned = [s(MS, H2), c(0, H1), c(2 * MS, QI), s(3 * MS, OK)];
    assert_eq!(broken(&turned), [2, 3, 4, 5].map(|frame| (frame, vec![])));
}

#[test]
fn a_challenge_with_its_answer_before_it_repeats_none() {
    let again = ["00 70902348", "01 70902348 0001 01", "01 70902348 0001 00 00 0000"];
    let first = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)];
    let turned = [s(S + MS, again[0]), c(S, H1), c(S + 2 * MS, again[1])];
    let told = broken(&[&first[..], &turned].concat());
    assert_eq!(told, [2, 3, 4, 5, 6, 7, 8].map(|frame| (frame, vec![])));
}

#[test]
fn a_wrong_checksum_is_told_of_an_answer_before_its_request_too() {
    let right = [c(0, POLL), s(MS, STATE)].map(|shot| summed(shot, 0));
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let turned = [summed(s(S + MS, &state), 1), c(S, &poll)];
    let told = broken(&[right, turned].concat());
    assert_eq!(told[2..], [(4, vec!["GEN-003"]), (5, vec![])], "and that it answers: {told:?}");
}

#[test]
fn what_has_a_wrong_checksum_is_not_certain() {
    let right = [c(0, POLL), s(MS, STATE)].map(|shot| summed(shot, 0));
    let heard = hear(&[&right[..], &[summed(c(S, POLL), 1)]].concat());
    assert_eq!([2, 3, 4].map(|n| heard.frame(n).level), [Level::High, Level::High, Level::Medium]);
}

/// Whether the request was reported before its answer came must not matter; here it waits behind another client's.
#[test]
fn an_exchange_is_as_sure_as_its_answer_in_any_order() {
    let right = [c(0, POLL), s(MS, STATE)].map(|shot| summed(shot, 0));
    let waits = summed(shot(START + S - MS, CLIENTS[1], END, &hex(H1)), 0);
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let doubtful = [waits, summed(c(S, &poll), 1), summed(s(S + MS, &state), 0)];
    let all = [&[foreign(START - 30 * S)], &right[..], &doubtful].concat();
    let sure = || Options { min_confidence: Level::High, ..everything() };
    let (_, ordered) = report(sure(), Collected::<true>::default(), &all);
    let (_, unordered) = report(sure(), Collected::<false>::default(), &all);
    assert_eq!((ordered.exchanges, unordered.exchanges), (2, 2));
}

#[test]
fn at_the_start_of_a_capture_what_was_asked_may_stand_before_it() {
    let (heard, totals) = play(&[s(0, H2), s(MS, OK), foreign(START + 60 * S)]);
    let old = |frame| heard.frame(frame).rules().contains(&"GEN-005");
    assert_eq!((old(1), old(2), totals.findings.error), (true, true, 0), "{:#?}", heard.packets);
}

/// A token is taken for what its client sends until an answer follows.
#[test]
fn who_only_issues_tokens_and_answers_was_not_asked() {
    let round = |n: i64| {
        let other = |text: &str| text.replace("809023", &format!("8090{n:02x}"));
        [s(10 * n * S, &other(H2)), s(10 * n * S + 100 * MS, &other(OK))]
    };
    let shots: Vec<_> = (0..4).flat_map(round).collect();
    let (heard, totals) = play(&surrounded(&shots));
    assert_eq!((totals.one_sided.len(), totals.findings.error), (1, 3), "{:#?}", heard.packets);
}

#[test]
fn who_was_asked_long_ago_is_not_one_of_whom_only_answers_are_seen() {
    let asked = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)];
    let forged = |n: i64| s(60 * S + n * S, &OK.replace("0163", &format!("01{n:02x}")));
    let told = broken(&[&asked[..], &[0x41, 0x42, 0x43, 0x44].map(forged)].concat());
    for (frame, rules) in &told[4..] {
        assert!(rules.contains(&"SQP-TXN-003") && !rules.contains(&"GEN-005"), "frame {frame}: {rules:?}");
    }
    assert_eq!(told.len(), 8);
}

/// Only what breaks a rule.
fn remarks(shots: &[Shot]) -> Vec<(u64, Vec<&'static str>)> {
    broken(shots).into_iter().filter(|(_, rules)| !rules.is_empty()).collect()
}

/// The same bytes with the other token.
fn other(text: &str) -> String {
    text.replace("80902348", "70902348")
}

#[test]
fn a_copy_of_a_token_does_not_issue_it_again() {
    let newer = [c(300 * MS, H1), s(310 * MS, &other(H2)), s(315 * MS, H2)];
    let used = [c(320 * MS, &other(QI)), s(330 * MS, &other(OK))];
    let all = [&[c(0, H1), s(10 * MS, H2)], &newer[..], &used].concat();
    assert_eq!(remarks(&all), [(4, vec!["SQP-TXN-008"]), (6, vec!["SQP-TXN-013"])]);
}

#[test]
fn a_copy_of_a_token_that_was_used_leaves_it_used() {
    let twice = [c(0, H1), s(10 * MS, H2), c(20 * MS, QI), s(30 * MS, OK), s(40 * MS, H2)];
    let next = [c(500 * MS, H1), s(510 * MS, &other(H2)), c(520 * MS, &other(QI)), s(530 * MS, &other(OK))];
    assert_eq!(remarks(&[&twice[..], &next].concat()), [(6, vec!["SQP-TXN-013"])]);
    let again = [c(500 * MS, QI), s(510 * MS, OK)];
    assert_eq!(remarks(&[&twice[..], &again].concat()), [(6, vec!["SQP-TXN-013"]), (7, vec!["SQP-TXN-006"])]);
}

/// The answer to a challenge stands behind the query that uses it, as where two interfaces saw the two directions.
#[test]
fn a_token_issued_behind_its_query_in_the_file_is_the_clients_and_used() {
    let first = [c(0, H1), c(20 * MS, QI), s(19 * MS, H2), s(30 * MS, OK)];
    assert_eq!(remarks(&first), []);
    let again =
        [c(S, H1), c(S + 20 * MS, &other(QI)), s(S + 19 * MS, &other(H2)), s(S + 30 * MS, &other(OK))];
    assert_eq!(remarks(&[&first[..], &again, &[c(2 * S, H1)]].concat()), [], "nor is a token left unused");
    let used = [c(500 * MS, QI), s(510 * MS, OK)];
    assert_eq!(remarks(&[&first[..], &used].concat()), [(6, vec!["SQP-TXN-006"])]);
}

#[test]
fn what_answered_the_challenge_just_before_a_query_may_be_missing_from_the_capture() {
    let asked = [c(0, H1), c(20 * MS, QI)];
    assert_eq!(remarks(&asked), []);
    let requests =
        (0..5).flat_map(|n| [c(n * S, H1), c(n * S + 20 * MS, &QI.replace("8090", &format!("809{n}")))]);
    assert_eq!(remarks(&requests.collect::<Vec<_>>()), [], "where it holds one direction");
    let lost = [&asked[..], &[s(30 * MS, OK)]].concat();
    assert_eq!(remarks(&lost), []);
    let before = [c(-2 * S, H1), s(-2 * S + MS, &other(H2)), c(-S, &other(QI)), s(-S + MS, &other(OK))];
    assert_eq!(remarks(&[&before[..], &lost].concat()), []);
    let used = [c(500 * MS, QI), s(510 * MS, OK)];
    assert_eq!(remarks(&[&lost[..], &used].concat()), [(5, vec!["SQP-TXN-006"])]);
}

#[test]
fn an_own_token_from_before_the_last_one_is_no_missing_one() {
    let issued = [c(0, H1), s(MS, H2), c(S, H1), s(S + MS, &other(H2)), c(S + 2 * MS, &other(QI))];
    let asked = [s(S + 3 * MS, &other(OK)), c(2 * S, H1), c(2 * S + MS, QI), s(2 * S + 2 * MS, OK)];
    let told = [(4, vec!["SQP-TXN-008"]), (9, vec!["SQP-TXN-001"]), (10, vec!["SQP-SEC-001"])];
    assert_eq!(remarks(&[&issued[..], &asked].concat()), told);
}

#[test]
fn a_challenge_that_was_lost_is_repeated_only_until_a_query_comes() {
    let repeated = [c(0, H1), c(S, H1), s(S + MS, H2), c(S + 2 * MS, QI), s(S + 3 * MS, OK)];
    let next = [c(2 * S, H1), s(2 * S + MS, &other(H2)), c(2 * S + 2 * MS, &other(QI))];
    let all = [&repeated[..], &next, &[s(2 * S + 3 * MS, &other(OK))]].concat();
    assert_eq!(remarks(&all), [(3, vec!["SQP-TXN-008"])]);
    // So the next one that is lost is no consequence of a repetition.
    let lost = [&repeated[..], &[c(2 * S, H1)]].concat();
    let heard = hear(&lost);
    let silent = heard.findings().filter(|f| f.rule.id == "SQP-TXN-009" && f.caused_by.is_none()).count();
    assert_eq!(silent, 2, "{heard:#?}");
    let twice = [&lost[..], &[c(3 * S, H1)]].concat();
    assert_eq!(remarks(&twice), [(3, vec!["SQP-TXN-008"]), (8, vec!["SQP-TXN-008"])]);
}

#[test]
fn who_waited_for_an_answer_in_vain_got_no_token() {
    let unknown = ["SQP-TXN-002", "SQP-SEC-001"].map(|rule| vec![rule]);
    let asked = |time| [c(time, QI), s(time + MS, OK)];
    // USQP answers no second challenge until a query comes, and that it answers whatever its token is.
    let repeated = [&[c(0, H1), c(900 * MS, H1)][..], &asked(950 * MS)].concat();
    let told = remarks(&repeated);
    assert_eq!(told[1..], [(4, unknown[0].clone()), (5, unknown[1].clone())], "{told:?}");
    let late = [&[c(0, H1)][..], &asked(1_100 * MS)].concat();
    assert_eq!(remarks(&late), [(3, unknown[0].clone()), (4, unknown[1].clone())]);
    // It has a token, and asks for another one that it does not get.
    let unused = [&[c(0, H1), s(MS, &other(H2)), c(500 * MS, H1)][..], &asked(600 * MS)].concat();
    let rules: Vec<_> = remarks(&unused).into_iter().flat_map(|(_, rules)| rules).collect();
    assert_eq!(rules, ["SQP-TXN-008", "SQP-TXN-001", "SQP-SEC-001"]);
}

#[test]
fn a_token_whose_request_the_capture_lacks_was_issued_all_the_same() {
    assert_eq!(
        remarks(&[s(0, H2), c(10 * MS, QI), s(20 * MS, OK)]),
        [(2, vec!["SQP-TXN-005"])],
        "neither an unknown token nor one that is not checked"
    );
}

#[test]
fn a_copy_of_an_answer_with_another_token_than_its_query_is_one() {
    let wrong = QI.replace("80902348", "11111111");
    let shots = [c(0, H1), s(10 * MS, H2), c(20 * MS, &wrong), s(30 * MS, OK), s(40 * MS, OK)];
    let last = remarks(&shots).pop();
    assert_eq!(last, Some((6, vec!["SQP-TXN-013"])));
}

#[test]
fn a_token_is_used_a_second_time_however_long_after_the_first() {
    let first = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)];
    for pause in [S, 4 * S, 6 * S, 60 * S] {
        let all = [&first[..], &[c(pause, QI), s(pause + MS, OK)]].concat();
        assert_eq!(remarks(&all), [(6, vec!["SQP-TXN-006"])], "{pause} ns");
    }
}

#[test]
fn a_token_that_waits_long_for_its_use_is_as_good_as_ever() {
    let issued = [c(0, H1), s(MS, H2)];
    for pause in [S, 6 * S, 60 * S] {
        let used = [c(pause, QI), s(pause + MS, OK)];
        assert_eq!(remarks(&[&issued[..], &used].concat()), [], "{pause} ns");
        let twice = [c(pause + 10 * S, QI), s(pause + 10 * S + MS, OK)];
        let all = [&issued[..], &used, &twice].concat();
        assert_eq!(remarks(&all), [(6, vec!["SQP-TXN-006"])], "{pause} ns");
        let unknown = [c(pause, &other(QI)), s(pause + MS, &other(OK))];
        let all = [&issued[..], &unknown].concat();
        let wrong = [(4, vec!["SQP-TXN-001"]), (5, vec!["SQP-SEC-001"])];
        assert_eq!(remarks(&all), wrong, "{pause} ns");
        let anew = [c(pause, H1), s(pause + MS, &other(H2))];
        assert_eq!(remarks(&[&issued[..], &anew].concat()), [(4, vec!["SQP-TXN-008"])], "{pause} ns");
    }
}

/// Only the pair of these shows that it is of the version before 1.0: the first of them says nothing of its server alone.
#[test]
fn what_is_said_once_a_server_is_said_of_an_answer_before_its_request_too() {
    let (poll, state) = ("0000 efcdab8967452301", "0100 efcdab8967452301 03 7f3b0300 983a");
    let later = |text: &str| text.replace("ef", "ee");
    let turned = [s(MS, state), c(0, poll), c(20 * S, &later(poll)), s(20 * S + MS, &later(state))];
    assert_eq!(remarks(&turned), [(2, vec!["SFQ-LEG-001", "GEN-007"]), (3, vec!["SFQ-LEG-003"])]);
}

#[test]
fn an_answer_finds_its_request_behind_it_where_the_one_before_is_forgotten_in_between() {
    let (poll, state) = (POLL.replace("ef", "ee"), STATE.replace("ef", "ee"));
    let first = [c(0, POLL), s(MS, STATE)];
    // The late window of the first poll, ten seconds, ends between them.
    let turned = [s(10 * S - MS, &state), c(10 * S + MS, &poll)];
    let told = broken(&[&first[..], &turned].concat());
    assert_eq!(told[2..], [(4, vec![]), (5, vec![])]);
}

#[test]
fn what_stands_behind_an_answer_may_be_the_next_token() {
    let surplus = format!("{OK} ee");
    let shots = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, &surplus), c(4 * S, "01 ee008090 0001 01")];
    let (heard, _) = play(&shots);
    let caused: Vec<_> = heard.frame(5).findings.iter().map(|f| (f.rule.id, f.caused_by)).collect();
    let (rule, cause) = caused[0];
    assert_eq!((rule, cause.map(|c| (c.rule.id, c.frame))), ("SQP-TXN-001", Some(("SQP-RSP-008", 4))));
}

#[test]
fn who_was_refused_may_ask_for_a_string_again() {
    let (auth, no) = ("61757468 1e 626f62 1f 7077 04", "3332 61757468 1e 06 04");
    let challenge = c(3 * S, "6368616c6c656e6765 1e 78797a 04");
    let told = |shots: &[Shot]| {
        let rules = |(_, rules): (u64, Vec<&'static str>)| rules.contains(&"GQP-TXN-005");
        remarks(&[shots, std::slice::from_ref(&challenge)].concat()).into_iter().any(rules)
    };
    let refused = [c(0, auth), s(MS, no)];
    assert!(told(&refused), "there was no string to send");
    assert!(!told(&[&refused[..], &[c(S, auth)]].concat()), "its answer is not in the capture");
}

#[test]
fn a_copy_of_a_second_answer_is_one_too() {
    let (second, third) = (OK.replace("0163", "0164"), OK.replace("0163", "0165"));
    let query = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)];
    let others =
        [&second, &second, OK, &third, &second].into_iter().zip(4..).map(|(text, ms)| s(ms * MS, text));
    let told = remarks(&query.into_iter().chain(others).collect::<Vec<_>>());
    let (other, copy) = (vec!["SQP-TXN-014"], vec!["SQP-TXN-013"]);
    assert_eq!(told, [(6, other.clone()), (7, copy.clone()), (8, copy.clone()), (9, other), (10, copy)]);
}

/// SQP: one part of an answer is no second one, and a copy of it no third.
#[test]
fn a_copy_of_a_part_of_an_answer_is_one_too() {
    let part = "01 80902348 0001 01 01 0003 78797a";
    let first = OK.replacen("00 00 0012", "00 01 0012", 1);
    let shots = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, &first), s(4 * MS, part), s(5 * MS, part)];
    let part = vec!["SQP-RSP-006"];
    let copy = (7, vec!["SQP-RSP-006", "SQP-TXN-013"]);
    assert_eq!(remarks(&shots), [(5, part.clone()), (6, part), copy]);
}

/// SQP: parts are told apart by their number, whichever comes first, and whether or not one is the whole answer.
#[test]
fn two_parts_with_one_number_are_two_answers() {
    let with = |numbers: &str, text: &str| {
        OK.replacen("00 00 0012", &format!("{numbers} 0012"), 1).replace("0163", text)
    };
    let told = |answers: &[(&str, &str)]| {
        let answers = answers.iter().zip(3..).map(|((numbers, text), ms)| s(ms * MS, &with(numbers, text)));
        let shots: Vec<_> = [c(0, H1), s(MS, H2), c(2 * MS, QI)].into_iter().chain(answers).collect();
        let second = |(frame, rules): (u64, Vec<&str>)| rules.contains(&"SQP-TXN-014").then_some(frame);
        remarks(&shots).into_iter().filter_map(second).collect::<Vec<_>>()
    };
    assert_eq!(told(&[("00 01", "0163"), ("00 01", "0164"), ("01 01", "0165")]), [6]);
    assert_eq!(told(&[("01 01", "0163"), ("00 01", "0164"), ("01 01", "0165")]), [7]);
    assert_eq!(told(&[("00 00", "0163"), ("00 01", "0164")]), [6]);
    assert!(told(&[("00 00", "0163"), ("01 01", "0164")]).is_empty());
}

#[test]
fn another_token_than_the_one_issued_last_is_one_however_long_after_it() {
    let used = [c(0, H1), s(MS, H2), c(2 * MS, QI), s(3 * MS, OK)];
    for pause in [S, 4 * S, 6 * S, 60 * S] {
        let all = [&used[..], &[c(pause, &other(QI))]].concat();
        assert_eq!(remarks(&all).first(), Some(&(6, vec!["SQP-TXN-001"])), "{pause} ns");
    }
}

#[test]
fn a_token_that_another_took_the_place_of_is_another_however_long_after_it() {
    let first = [c(0, H1), s(MS, H2), c(300 * MS, H1), s(301 * MS, &other(H2))];
    let used = [c(302 * MS, &other(QI)), s(303 * MS, &other(OK))];
    for pause in [S, 6 * S, 60 * S] {
        let all = [&first[..], &used, &[c(pause, QI)]].concat();
        assert_eq!(remarks(&all).last(), Some(&(8, vec!["SQP-TXN-001"])), "{pause} ns");
    }
}

#[test]
fn what_was_issued_to_one_end_was_not_issued_to_the_other() {
    let (one, other) = ((CLIENTS[0].0, PORT), END);
    let to = |at: i64, from, to, text: &str| shot(START + at, from, to, &hex(text));
    let issued = [to(0, one, other, H1), to(MS, other, one, H2)];
    let turned = [to(30 * S, other, one, H1), to(30 * S + MS, one, other, &H2.replace("8090", "7090"))];
    let all = [&[foreign(START - 10 * S)], &issued[..], &turned].concat();
    let (heard, _) = play(&all);
    assert!(heard.packets.iter().all(|p| p.rules().is_empty()), "{:?}", heard.packets);
}

#[test]
fn a_symptom_is_one_also_while_its_cause_waits() {
    // The answer, which has another token and is cut, waits for a request of its own; the client's next one does not.
    let cut = s(3 * MS, "01 11111111 0001 00 00 0012 0000000e");
    let next = c(4 * MS, "01 22222222 0001 01");
    let told = broken(&[c(0, H1), s(MS, H2), c(2 * MS, QI), cut, next]);
    assert!(told[3].1.contains(&"SQP-RSP-007"), "{told:?}");
    assert_eq!(told[4], (6, vec!["SQP-TXN-001"]), "counted alike in any order: {told:?}");
}

#[test]
fn what_comes_after_the_clock_was_set_back_is_not_older_than_the_capture() {
    let answer = |time: i64| s(time, STATE);
    let edge = vec!["SFQ-TXN-001", "GEN-005"];
    let told = |shots: &[Shot]| play(shots).0.packets.iter().map(|p| p.rules()).collect::<Vec<_>>();
    assert_eq!(told(&[foreign(START), answer(5 * S - 1)]), [edge]);
    assert_eq!(told(&[foreign(START), answer(5 * S)]), [["SFQ-TXN-001"]]);
    let set_back = [foreign(START), foreign(START + 10 * S), answer(-3_600 * S)];
    assert_eq!(told(&set_back), [["SFQ-TXN-001"]]);
}
