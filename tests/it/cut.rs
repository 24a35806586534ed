//! Captures with a snap length, and of mirror ports that cut frames: truncation causes no findings.

use crate::kit::feed::samples;
use crate::kit::play::{Collected, MS, RawFrame, START, c, example_frames, foreign, report, s};
use qdissect::pipeline::Options;
use qdissect::protocols::Id;
use std::collections::BTreeSet;

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

/// The rules that a conversation breaks if at most `captured` bytes of each payload are captured.
fn broken(frames: &[RawFrame], captured: usize) -> BTreeSet<&'static str> {
    let rules = |frames: &[RawFrame]| -> BTreeSet<_> {
        let collected: Collected<true> = report(Options::default(), Collected::default(), frames).0;
        collected.findings().map(|f| f.rule.id).collect()
    };
    let mut cut = frames.to_vec();
    cut.iter_mut().for_each(|frame| frame.bytes.truncate(HEADERS.saturating_add(captured)));
    let broken = rules(&cut);
    // A mirror port that cuts frames does not record how long they were.
    cut.iter_mut().for_each(|frame| frame.wire_len = frame.bytes.len() as u32);
    assert_eq!(rules(&cut), broken, "{captured} bytes captured");
    broken
}

/// Checks that with `from` or more captured bytes only the rules are broken that the whole datagrams break.
fn breaks_nothing_more(name: &str, frames: &[RawFrame], from: usize) {
    let mut right = broken(frames, usize::MAX);
    right.insert("GEN-001");
    let longest = frames.iter().map(|frame| frame.bytes.len() - HEADERS).max().expect("there are some");
    for captured in from..longest {
        let more: Vec<_> = broken(frames, captured).difference(&right).copied().collect();
        assert!(more.is_empty(), "{name}, {captured} bytes captured: {more:?}");
    }
}

#[test]
fn no_truncated_sample_breaks_a_rule() {
    let ours = [Id::Sqp, Id::Satisfactory, Id::Skycoop, Id::Gqp, Id::A2s];
    let samples: Vec<_> = samples().filter(|(id, _)| ours.contains(id)).collect();
    assert!(samples.len() > 10, "{} samples", samples.len());
    for (id, sample) in samples {
        breaks_nothing_more(id.info().name, &example_frames(sample), 0);
    }
}

#[test]
fn samples_behind_tcp_headers_break_no_rule_when_truncated() {
    for (id, sample) in samples() {
        breaks_nothing_more(id.info().name, &example_frames(sample), 12);
    }
}

#[test]
fn a_truncated_challenge_is_unknown() {
    let frames = [
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
    breaks_nothing_more("gamespy3", &frames, 6);
    // The client of this sample sends four zeros after its request.
    let frames = [
        foreign(START),
        c(30_000 * MS, "fefd09 01020304 00000000"),
        s(30_010 * MS, "09 01020304 '9513307' 00"),
        foreign(START + 90_000 * MS),
    ];
    breaks_nothing_more("gamespy3 with zeros", &frames, 7);
}

#[test]
fn a_truncated_word_is_not_taken_for_a_shorter_one() {
    let answer = r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab' 0a";
    let frames = [
        foreign(START),
        c(30_000 * MS, "ffffffff 'getstatus'"),
        s(30_010 * MS, answer),
        foreign(START + 90_000 * MS),
    ];
    for captured in 8..14 {
        let mut cut = frames.clone();
        cut.iter_mut().for_each(|frame| frame.bytes.truncate(HEADERS + captured));
        let collected: Collected<true> = report(Options::default(), Collected::default(), &cut).0;
        let asked = collected.exchanges.iter().all(|(e, _)| e.request_frame == 2);
        assert!(asked, "{captured} bytes captured: {:#?}", collected.exchanges);
    }
}

/// A request for players or rules with the right challenge, and its answer.
fn listed(request: &str, answers: &[&str]) -> Vec<RawFrame> {
    let mut frames = vec![
        foreign(START),
        c(30_000 * MS, "ffffffff 54 'Source Engine Query' 00"),
        s(30_010 * MS, "ffffffff 41 c3192a4b"),
        c(30_020 * MS, "ffffffff 54 'Source Engine Query' 00 c3192a4b"),
        s(30_030 * MS, "ffffffff 49 11 'A' 00 'b' 00 'c' 00 'd' 00 f000 00 08 00 'dl' 00 01 '1' 00 80 8769"),
        c(30_040 * MS, request),
    ];
    frames.extend(answers.iter().zip(0..).map(|(answer, n)| s((30_050 + n) * MS, answer)));
    frames.push(foreign(START + 90_000 * MS));
    frames
}

#[test]
fn a_truncated_challenge_is_not_missing() {
    let answer = "ffffffff 45 0100 'k' 00 '1' 00";
    breaks_nothing_more("rules", &listed("ffffffff 56 c3192a4b", &[answer]), 5);
}

#[test]
fn the_wire_length_decides_the_layout_of_truncated_parts() {
    let parts = [
        "feffffff 07000000 03 00 0f00 ffffffff 45 0400 'alpha' 00 '1' 00",
        "feffffff 07000000 03 01 0f00 'beta' 00 '2' 00 'gamma' 00 '3' 00",
        "feffffff 07000000 03 02 0f00 'delta' 00 '4' 00",
    ];
    let mut frames = listed("ffffffff 56 c3192a4b", &parts);
    breaks_nothing_more("parts", &frames, 12);
    // Only the headers are captured.
    frames.iter_mut().for_each(|frame| frame.bytes.truncate(HEADERS + 12));
    let collected: Collected<true> = report(Options::default(), Collected::default(), &frames).0;
    let parts =
        collected.exchanges.iter().find(|(e, _)| e.request_frame == 6).map(|(e, _)| &e.response_parts[..]);
    assert_eq!(parts, Some(&[7, 8, 9][..]));
}

#[test]
fn what_follows_a_truncated_list_is_determined_by_its_length() {
    let ship = "ffffffff 44 01 00 'n' 00 01000000 00007042 02000000 03000000";
    breaks_nothing_more("ship", &listed("ffffffff 55 c3192a4b", &[ship]), 5);
    let binary = "ffffffff 45 0300 0103 00 fe01 00 0203 00 fd02 00 0303 00 'x' 00";
    breaks_nothing_more("binary", &listed("ffffffff 56 c3192a4b", &[binary]), 5);
}

#[test]
fn truncated_announcements_and_tokens_are_unknown() {
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
    let frames: Vec<_> =
        [foreign(start)].into_iter().chain(sent).chain([foreign(start + 90_000 * MS)]).collect();
    breaks_nothing_more("gqp", &frames, 0);
}
