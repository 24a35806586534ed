//! Captures with a snap length, and of mirror ports that cut frames: what was cut off is held against nobody.

use crate::kit::feed::samples;
use crate::kit::play::{Collected, MS, START, Shot, c, foreign, report, s, shots};
use qdissect::pipeline::Options;
use qdissect::protocols::Id;
use std::collections::BTreeSet;

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

/// The rules that a conversation breaks if at most so many bytes of each payload were captured.
fn broken(shots: &[Shot], captured: usize) -> BTreeSet<&'static str> {
    let rules = |shots: &[Shot]| -> BTreeSet<_> {
        let heard: Collected<true> = report(Options::default(), Collected::default(), shots).0;
        heard.findings().map(|f| f.rule.id).collect()
    };
    let mut cut = shots.to_vec();
    cut.iter_mut().for_each(|shot| shot.bytes.truncate(HEADERS.saturating_add(captured)));
    let broken = rules(&cut);
    // A mirror port that cuts frames does not say how long they were.
    cut.iter_mut().for_each(|shot| shot.wire_len = shot.bytes.len() as u32);
    assert_eq!(rules(&cut), broken, "{captured} bytes captured");
    broken
}

/// From so many bytes on, no rule is broken but those that the whole datagrams break.
fn breaks_nothing_more(name: &str, shots: &[Shot], from: usize) {
    let mut right = broken(shots, usize::MAX);
    right.insert("GEN-001");
    let longest = shots.iter().map(|shot| shot.bytes.len() - HEADERS).max().expect("there are some");
    for captured in from..longest {
        let more: Vec<_> = broken(shots, captured).difference(&right).copied().collect();
        assert!(more.is_empty(), "{name}, {captured} bytes captured: {more:?}");
    }
}

#[test]
fn no_sample_breaks_a_rule_because_it_was_cut() {
    let ours = [Id::Sqp, Id::Satisfactory, Id::Skycoop, Id::Gqp, Id::A2s];
    let samples: Vec<_> = samples().filter(|(id, _)| ours.contains(id)).collect();
    assert!(samples.len() > 10, "{} samples", samples.len());
    for (id, sample) in samples {
        breaks_nothing_more(id.info().name, &shots(sample), 0);
    }
}

#[test]
fn what_is_left_behind_tcp_headers_is_enough_for_other_samples() {
    for (id, sample) in samples() {
        breaks_nothing_more(id.info().name, &shots(sample), 12);
    }
}

#[test]
fn a_challenge_whose_digits_were_cut_off_is_unknown() {
    let shots = [
        foreign(START),
        c(30_000 * MS, "fefd09 01020304"),
        s(30_010 * MS, "09 01020304 '9513307' 00"),
        c(30_020 * MS, "fefd00 01020304 0091295b ffffff01"),
        s(
            30_030 * MS,
            "00 01020304 'splitnum' 00 80 00 'hostname' 00 'Lab' 00 'numplayers' 00 '1' 00 'maxplayers' 00 '8' 00 00",
        ),
        foreign(START + 90_000 * MS),
    ];
    breaks_nothing_more("gamespy3", &shots, 6);
    // The client of this one sends four zeros behind its request.
    let shots = [
        foreign(START),
        c(30_000 * MS, "fefd09 01020304 00000000"),
        s(30_010 * MS, "09 01020304 '9513307' 00"),
        foreign(START + 90_000 * MS),
    ];
    breaks_nothing_more("gamespy3 with zeros", &shots, 7);
}

#[test]
fn a_word_that_was_cut_off_is_no_shorter_word() {
    let answer = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a";
    let shots = [
        foreign(START),
        c(30_000 * MS, "ffffffff 'getstatus'"),
        s(30_010 * MS, answer),
        foreign(START + 90_000 * MS),
    ];
    for captured in 8..14 {
        let mut cut = shots.clone();
        cut.iter_mut().for_each(|shot| shot.bytes.truncate(HEADERS + captured));
        let heard: Collected<true> = report(Options::default(), Collected::default(), &cut).0;
        let asked = heard.exchanges.iter().all(|(e, _)| e.request_frame == 2);
        assert!(asked, "{captured} bytes captured: {:#?}", heard.exchanges);
    }
}

/// A request for players or rules with the right challenge, and its answer.
fn listed(request: &str, answers: &[&str]) -> Vec<Shot> {
    let mut shots = vec![
        foreign(START),
        c(30_000 * MS, "ffffffff 54 'Source Engine Query' 00"),
        s(30_010 * MS, "ffffffff 41 c3192a4b"),
        c(30_020 * MS, "ffffffff 54 'Source Engine Query' 00 c3192a4b"),
        s(30_030 * MS, "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 00 08 00 'dl' 00 01 '1' 00 80 8769"),
        c(30_040 * MS, request),
    ];
    shots.extend(answers.iter().zip(0..).map(|(answer, n)| s((30_050 + n) * MS, answer)));
    shots.push(foreign(START + 90_000 * MS));
    shots
}

#[test]
fn a_challenge_that_was_cut_off_is_not_missing() {
    let answer = "ffffffff 45 0100 'k' 00 '1' 00";
    breaks_nothing_more("rules", &listed("ffffffff 56 c3192a4b", &[answer]), 5);
}

#[test]
fn parts_that_were_cut_have_the_layout_that_their_length_shows() {
    let parts = [
        "feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1' 00",
        "feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00",
        "feffffff 07000000 03 02 0f00 'delta' 00 '4' 00",
    ];
    let mut shots = listed("ffffffff 56 c3192a4b", &parts);
    breaks_nothing_more("parts", &shots, 12);
    // Nothing is left of them but their headers.
    shots.iter_mut().for_each(|shot| shot.bytes.truncate(HEADERS + 12));
    let heard: Collected<true> = report(Options::default(), Collected::default(), &shots).0;
    let parts =
        heard.exchanges.iter().find(|(e, _)| e.request_frame == 6).map(|(e, _)| &e.response_parts[..]);
    assert_eq!(parts, Some(&[7, 8, 9][..]));
}

#[test]
fn what_follows_a_list_is_known_by_its_length() {
    let ship = "ffffffff 44 01 00 'n' 00 01000000 00007042 02000000 03000000";
    breaks_nothing_more("ship", &listed("ffffffff 55 c3192a4b", &[ship]), 5);
    let binary = "ffffffff 45 0300 0103 00 fe01 00 0203 00 fd02 00 0303 00 'x' 00";
    breaks_nothing_more("binary", &listed("ffffffff 56 c3192a4b", &[binary]), 5);
}

#[test]
fn what_was_announced_or_returned_in_bytes_that_were_cut_off_is_unknown() {
    let auth = "61757468 1e 626f62 1f 7077 04";
    let challenge = |string: &str| format!("6368616c6c656e6765 1e '{string}' 04");
    let returned = |string: &str| format!("3130 61757468 1e 11 '{string}' 04");
    let turns = [
        auth.to_owned(),
        returned("first"),
        challenge("first"),
        "3130 6368616c6c656e6765 1e 06 04".to_owned(),
        auth.to_owned(),
        returned("second"),
        challenge("second"),
        "3130 6368616c6c656e6765 1e 06 04".to_owned(),
        "657874656e73696f6e73 04".to_owned(),
        "3130 657874656e73696f6e73 1e 13 706c6179657273 1f 72756c6573 04".to_owned(),
        "72756c6573 04".to_owned(),
        "3130 72756c6573 1e 06 04".to_owned(),
    ];
    let at = |n: usize| (30_000 + 10 * n as i64) * MS;
    let turns = turns.iter().enumerate();
    let sent = turns.map(|(n, text)| if n % 2 == 0 { c(at(n), text) } else { s(at(n), text) });
    let start = START;
    let shots: Vec<_> =
        [foreign(start)].into_iter().chain(sent).chain([foreign(start + 90_000 * MS)]).collect();
    breaks_nothing_more("gqp", &shots, 0);
}
