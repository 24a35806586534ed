//! Servers that answer nothing are reported once, at the end, and so is possible traffic of such servers.

use crate::kit::frames;
use crate::kit::play::{
    Addr, CLIENTS, MS, POLL, PORT, RawFrame, S, SERVER, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, START, STATE, c,
    foreign, play, refusal, s, udp_frame,
};
use crate::kit::run::{parsed, qdissect};
use qdissect::rule::hex;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::{TempDir, tempdir};

/// The address of a server that is down.
const DOWN: Addr = ([10, 0, 0, 9], 7777);
/// A time long after all datagrams.
const LATER: i64 = 120 * S;

/// A foreign datagram that advances the capture time.
fn clock(time: i64) -> RawFrame {
    foreign(START + time)
}

/// A Satisfactory poll with this cookie.
fn poll(cookie: u8) -> String {
    POLL.replace("efcdab89", &format!("{cookie:02x}000000"))
}

/// Polls with different cookies at these times.
fn polls(times: &[i64]) -> Vec<RawFrame> {
    times.iter().enumerate().map(|(n, &time)| c(time, &poll(n as u8))).collect()
}

/// The findings about silent servers, with their frames.
fn silent_servers(raw_frames: &[RawFrame]) -> Vec<(u64, String)> {
    let silent = play(raw_frames).0.silent;
    silent.iter().map(|silent| (silent.frame, silent.finding.to_string())).collect()
}

fn is_told(raw_frames: &[RawFrame]) -> bool {
    !silent_servers(raw_frames).is_empty()
}

#[test]
fn silence_needs_three_unanswered_requests_over_two_seconds() {
    let until = |times: &[i64], end: i64| {
        let mut raw_frames = polls(times);
        raw_frames.push(clock(end));
        silent_servers(&raw_frames)
    };
    let alone = "; the capture holds no answer of anybody: one direction may be missing";
    let three = until(&[0, S, 2 * S], LATER);
    assert_eq!(three, [(3, format!("server answered none of its requests: 3 datagrams in 2.0 s{alone}"))]);
    assert!(until(&[0, S, 2 * S - 1], LATER).is_empty(), "not long enough");
    assert!(until(&[0, 9 * S], LATER).is_empty(), "not often enough");
    // The window of the last request is still open at the end of the capture.
    let times = [0, 3 * S, 4 * S];
    assert!(until(&times, 6 * S).is_empty());
    assert_eq!(until(&times, 6 * S + 1).len(), 1);
    let four = until(&[0, 3 * S, 4 * S, 9 * S], 10 * S);
    assert!(matches!(&four[..], [(3, text)] if text.contains("3 datagrams in 4.0 s")), "{four:?}");
}

#[test]
fn a_server_that_answers_once_is_not_silent() {
    let asked = polls(&[0, 3 * S, 6 * S, 9 * S]);
    let answered =
        |cookie: u8, time: i64| s(time, &STATE.replace("efcdab89", &format!("{cookie:02x}000000")));
    let with = |answer: RawFrame| {
        let mut raw_frames = [&asked[..], &[answer, clock(LATER)]].concat();
        raw_frames.sort_by_key(|raw_frame| raw_frame.time);
        raw_frames
    };
    for cookie in 0..4 {
        let time = 3 * S * i64::from(cookie);
        assert!(!is_told(&with(answered(cookie, time + MS))), "{cookie}");
        assert!(!is_told(&with(answered(cookie, time + 4 * S))), "{cookie}: late");
    }
    // An answer of another server does not count for it, but shows that both directions are captured.
    let (ask, answer) = (poll(9), STATE.replace("efcdab89", "09000000"));
    let other = (SERVER, PORT + 1);
    let pair = [
        udp_frame(START + S, CLIENTS[1], other, &hex(&ask)),
        udp_frame(START + S + MS, other, CLIENTS[1], &hex(&answer)),
    ];
    let mut raw_frames = [&asked[..], &pair, &[clock(LATER)]].concat();
    raw_frames.sort_by_key(|raw_frame| raw_frame.time);
    let silent_servers = silent_servers(&raw_frames);
    assert_eq!(
        silent_servers,
        [(6, "server answered none of its requests: 4 datagrams in 9.0 s".to_owned())]
    );
}

#[test]
fn a_stray_answer_of_another_endpoint_hides_no_silent_server() {
    let times = [0, 3 * S, 6 * S, 9 * S];
    let other = (SERVER, PORT + 1);
    let with = |answered: &[usize]| {
        let answer = |&n: &usize| {
            let state = STATE.replace("efcdab89", &format!("{n:02x}000000"));
            udp_frame(START + times[n] + MS, other, CLIENTS[0], &hex(&state))
        };
        let mut raw_frames = [&polls(&times)[..], &[clock(LATER)]].concat();
        raw_frames.extend(answered.iter().map(answer));
        raw_frames.sort_by_key(|raw_frame| raw_frame.time);
        silent_servers(&raw_frames)
    };
    let text =
        "server answered none of its requests: 3 datagrams in 6.0 s; another endpoint has answered 1 more";
    assert_eq!(with(&[0]), [(5, text.to_owned())]);
    // A server with several addresses may have lost some requests.
    assert!(with(&[0, 1]).is_empty() && with(&[0, 1, 2, 3]).is_empty());
}

#[test]
fn broadcasts_are_not_reported_as_silence() {
    let asks = |n: u8| udp_frame(START + i64::from(n) * 3 * S, CLIENTS[0], ([255; 4], PORT), &hex(&poll(n)));
    assert!(!is_told(&[asks(0), asks(1), asks(2), clock(LATER)]));
}

#[test]
fn any_datagram_of_a_server_shows_that_both_directions_are_captured() {
    let asked = polls(&[0, 3 * S, 6 * S]);
    let told_of = |asked: &[RawFrame], sent: &str| {
        let raw_frames = [asked, &[s(6 * S + MS, sent), clock(LATER)]].concat();
        let (collected, totals) = play(&raw_frames);
        assert!(!totals.one_way(), "{sent}");
        collected.silent.iter().map(|silent| silent.finding.to_string()).collect::<Vec<_>>()
    };
    let text = |seconds: &str| [format!("server answered none of its requests: 3 datagrams in {seconds} s")];
    // A cookie of no poll, and a datagram that is no answer.
    assert_eq!(told_of(&asked, &STATE.replace("ef", "ee")), text("6.0"));
    let queries: Vec<_> = (0..3).map(|n| c(n * S, "feffffff")).collect();
    assert_eq!(told_of(&queries, "05 00000011223344556677"), text("2.0"));
}

#[test]
fn every_retransmission_counts() {
    let eight = |gap: i64, end: i64| {
        let raw_frames: Vec<_> = (0..8).map(|n| c(n * gap, POLL)).chain([clock(end)]).collect();
        let (collected, totals) = play(&raw_frames);
        assert_eq!((totals.exchanges, totals.retransmissions), (1, 7));
        let silences =
            collected.silent.iter().map(|t| (t.frame, t.finding.silence.expect("it is about that")));
        silences.map(|(frame, silence)| (frame, silence.requests, silence.millis)).collect::<Vec<_>>()
    };
    assert_eq!(eight(S, LATER), [(8, 8, 7_000)]);
    assert_eq!(eight(5 * S, LATER), [(8, 8, 35_000)]);
    assert_eq!(eight(200 * MS, LATER), [], "less than two seconds");
    // The last request is undecided at the end of the capture, and so is its exchange; the earlier ones are not.
    assert_eq!(eight(5 * S, 35 * S), [(7, 7, 30_000)]);
    assert!(matches!(eight(S, 7 * S)[..], [(frame, n, _)] if frame == u64::from(n) && (3..=5).contains(&n)));
}

#[test]
fn refused_requests_count_as_unanswered() {
    let asked = polls(&[0, S, 2 * S]);
    let refused: Vec<_> = asked.iter().flat_map(|ask| [ask.clone(), refusal(ask, 0)]).collect();
    let text = "server answered none of its requests: 3 datagrams in 2.0 s";
    let all = silent_servers(&[&refused[..], &[clock(LATER)]].concat());
    assert_eq!(all, [(5, format!("{text}, all refused by ICMP errors"))]);
    let one = silent_servers(&[&asked[..], &[refusal(&asked[2], 0), clock(LATER)]].concat());
    assert_eq!(one, [(3, format!("{text}, 1 of them refused by ICMP errors"))]);
}

/// A directory with a capture of these frames.
fn captured(raw_frames: &[RawFrame]) -> (TempDir, String) {
    let folder = tempdir().unwrap();
    let path = write(folder.path(), "a.pcap", raw_frames);
    (folder, path)
}

fn write(folder: &Path, name: &str, raw_frames: &[RawFrame]) -> String {
    let kept =
        |RawFrame { time, link, wire_len, bytes }: RawFrame| frames::Kept { time, link, wire_len, bytes };
    let path = folder.join(name);
    fs::write(&path, frames::pcap(&raw_frames.iter().cloned().map(kept).collect::<Vec<_>>())).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(args: &[&str]) -> Output {
    qdissect().args(args).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Rule, frame and cause of the findings of `check`, which must end with this code.
#[track_caller]
fn check(args: &[&str], code: i32) -> Vec<(String, u64, Option<String>)> {
    let records = parsed(&run(&[&["check", "--no-config", "-T", "ndjson"], args].concat()), code);
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let findings = records.iter().filter(|r| r["type"] == "finding");
    findings
        .map(|f| (word(&f["rule"]).unwrap(), f["frame"].as_u64().unwrap(), word(&f["caused_by"]["rule"])))
        .collect()
}

/// Polls of a server that never answers.
fn silence() -> Vec<RawFrame> {
    [vec![foreign(START - 30 * S)], polls(&[0, 3 * S, 6 * S]), vec![clock(LATER)]].concat()
}

#[test]
fn check_and_summary_report_silence_and_missing_answers_are_its_symptoms() {
    let (_folder, path) = captured(&silence());
    let cause = |rule: &str, frame| (rule.to_owned(), frame, Some("GEN-009".to_owned()));
    let expected = [
        ("GEN-009".to_owned(), 4, None),
        cause("SFQ-TXN-003", 2),
        cause("SFQ-TXN-003", 3),
        cause("SFQ-TXN-003", 4),
    ];
    assert_eq!(check(&[&path], 1), expected);
    let table = printed(&run(&["check", &path]));
    assert!(table.contains("error[GEN-009]: server answered none of its requests: 3 datagrams in 6.0 s"));
    assert!(table.contains("1 error, 0 warnings, 0 notes"), "{table}");
    let records = parsed(&run(&["-T", "ndjson", &path]), 0);
    let of = |kind: &str| records.iter().filter(|r| r["type"] == kind).collect::<Vec<_>>();
    let counts = serde_json::json!({ "error": 1, "warning": 0, "note": 0 });
    let rules: Vec<_> = of("rule").iter().map(|r| (r["id"].clone(), r["first_frame"].clone())).collect();
    assert_eq!(rules, [("GEN-009".into(), 4.into())]);
    assert_eq!([&of("summary")[0]["finding_counts"], &of("server")[0]["finding_counts"]], [&counts; 2]);
    let screen = printed(&run(&[&path]));
    assert!(screen.contains("GEN-009") && screen.contains("one direction may be missing"), "{screen}");
    // Other subcommands do not know the end of the capture, so there the exchanges have no cause.
    for args in [["dump", "-Tndjson"], ["exchanges", "-Tndjson"]] {
        let records = parsed(&run(&[&args[..], &[path.as_str()]].concat()), 0);
        let text = format!("{records:?}");
        assert!(!text.contains("GEN-009") && text.matches("SFQ-TXN-003").count() == 3, "{text}");
    }
}

#[test]
fn profile_and_selection_apply_to_the_silence_rule() {
    let (_folder, path) = captured(&silence());
    assert_eq!(check(&["--profile", "lenient", &path], 0).len(), 4);
    check(&["--profile", "lenient", "--fail-on", "warning", &path], 1);
    let alone = |rule: &str, frame| (rule.to_owned(), frame, None);
    let without = check(&["--ignore", "GEN-009", &path], 0);
    assert_eq!(without, [2, 3, 4].map(|frame| alone("SFQ-TXN-003", frame)));
    assert_eq!(check(&["--select", "GEN-009", &path], 1), [alone("GEN-009", 4)]);
    // Packets that pass a filter are judged with all packets.
    assert_eq!(check(&["-Y", "frame.number == 4", &path], 1).len(), 2);
    assert_eq!(check(&["-Y", "frame.number == 2", &path], 0), [alone("SFQ-TXN-003", 2)]);
}

#[test]
fn an_error_that_explains_one_silence_stays_its_cause() {
    // The second poll is truncated.
    let mut raw_frames = silence();
    raw_frames[2] = c(3 * S, "d5f6 00 01 0100000067452302");
    let (_folder, path) = captured(&raw_frames);
    let causes: Vec<_> = check(&[&path], 1).into_iter().filter(|(rule, ..)| rule == "SFQ-TXN-003").collect();
    let causes: Vec<_> = causes.iter().map(|(_, frame, cause)| (*frame, cause.as_deref())).collect();
    assert_eq!(causes, [(2, Some("GEN-009")), (3, Some("SFQ-REQ-001")), (4, Some("GEN-009"))]);
}

#[test]
fn every_format_reports_what_was_forgotten() {
    let client = |n: u32| ([10, 1, (n >> 8) as u8, n as u8], 4_000);
    let polls =
        (0..8_000).map(|n| udp_frame(START + i64::from(n) * 10_000, client(n), (SERVER, PORT), &hex(POLL)));
    let (_folder, path) = captured(&polls.collect::<Vec<_>>());
    for format in ["table", "concise", "sarif", "junit"] {
        let stderr = |memory| {
            let output = run(&["check", "--no-config", "-T", format, "--memory", memory, &path]);
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        assert!(stderr("1").contains("were forgotten early for want of room: "), "{format}: {}", stderr("1"));
        assert!(stderr("1").contains("--memory"));
        assert_eq!(stderr("64"), "");
    }
}

/// Challenges of SQP, each from another port. Only their answers would prove the protocol.
fn challenges(server: Addr, count: u16) -> Vec<RawFrame> {
    let ask = |n: u16| {
        let client = (CLIENTS[0].0, 40_000 + n);
        udp_frame(START + i64::from(n) * 3 * S, client, server, &hex(SQP_CHALLENGE))
    };
    (0..count).map(ask).collect()
}

#[test]
fn possible_requests_to_a_silent_server_are_reported() {
    let asked = challenges(DOWN, 8);
    let refused: Vec<_> = asked.iter().flat_map(|ask| [ask.clone(), refusal(ask, 0)]).collect();
    let could = "8 datagrams could be sqp to 10.0.0.9:7777, never answered";
    for (raw_frames, more) in [(asked, ""), (refused, " (8 refused by ICMP errors)")] {
        let around =
            |raw_frames: &[RawFrame]| [&[foreign(START - 30 * S)], raw_frames, &[clock(LATER)]].concat();
        let (_folder, path) = captured(&around(&raw_frames));
        let advice = "; -d udp.port==7777,sqp decides it";
        assert!(printed(&run(&[&path])).contains(&format!("\n{could}{more}{advice}\n")));
        let output = run(&["check", "--no-config", &path]);
        assert_eq!(output.status.code(), Some(3));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains(&format!("{could}{more}{advice}.")), "{stderr}");
        assert!(!stderr.contains("There is no query traffic"), "{stderr}");
        assert_eq!(stderr.contains("one direction may be missing"), more.is_empty(), "{stderr}");
        let allowed = printed(&run(&["check", "--no-config", "--allow-empty", &path]));
        assert!(allowed.contains(&format!("{could}{more}{advice}\n")), "{allowed}");
        // With a pinned port they are requests.
        let pinned = check(&["-d", "udp.port==7777,sqp", &path], 1);
        assert_eq!(pinned.iter().filter(|(rule, ..)| rule == "GEN-009").count(), 1);
        let symptoms = pinned.iter().filter(|(.., cause)| cause.as_deref() == Some("GEN-009"));
        assert_eq!((pinned.len(), symptoms.count()), (9, 8));
    }
}

#[test]
fn single_or_answered_requests_are_not_reported_as_silence() {
    let could = |raw_frames: &[RawFrame]| play(&[raw_frames, &[clock(LATER)]].concat()).1.candidates.len();
    assert_eq!(could(&challenges(DOWN, 1)), 0);
    assert_eq!(could(&challenges(DOWN, 2)), 1);
    // Nor does the end of the capture after the second one hide it.
    let open = &play(&challenges(DOWN, 2)).1.candidates;
    assert_eq!(open.iter().map(|c| (c.datagrams, c.undecided)).collect::<Vec<_>>(), [(2, 1)]);
    // Zeros for zeros do not prove the protocol, but they are an answer.
    let mut raw_frames = challenges(DOWN, 4);
    let kept_alive = udp_frame(raw_frames[3].time + MS, DOWN, (CLIENTS[0].0, 40_003), &hex(SQP_CHALLENGE));
    raw_frames.push(kept_alive);
    assert_eq!(could(&raw_frames), 0);
    // Nor is a server that has answered another client.
    let mut raw_frames = challenges(DOWN, 4);
    let at = |n: i64| START + 30 * S + n * MS;
    raw_frames.extend([
        udp_frame(at(0), CLIENTS[1], DOWN, &hex(SQP_CHALLENGE)),
        udp_frame(at(1), DOWN, CLIENTS[1], &hex(SQP_CHALLENGE_REPLY)),
    ]);
    assert_eq!(could(&raw_frames), 0);
}

#[test]
fn ten_endpoints_that_could_be_servers_are_listed_and_the_others_counted() {
    let all: Vec<_> = (0..12u8).flat_map(|n| challenges(([10, 0, 1, n], 9000), 2 + u16::from(n))).collect();
    let (_folder, path) = captured(&[all, vec![clock(LATER)]].concat());
    let screen = printed(&run(&[&path]));
    let listed: Vec<_> = screen.lines().filter(|line| line.contains("could be sqp")).collect();
    // The screen has at most five lines of remarks. Six of the rest are about an endpoint each, one counts two more.
    assert_eq!((listed.len(), listed[0].starts_with("13 datagrams")), (4, true), "{screen}");
    assert!(screen.contains("\nand 8 more remarks; -T ndjson has all numbers\n"), "{screen}");
    let stdout = printed(&run(&["check", "--no-config", &path]));
    assert!(stdout.contains("The same may be true of 2 further endpoints."), "{stdout}");
    let records = parsed(&run(&["-T", "ndjson", &path]), 0);
    let summary = records.last().unwrap();
    let listed = summary["candidates"].as_array().unwrap();
    assert_eq!((listed.len(), &summary["more_candidates"]), (10, &2.into()));
    assert_eq!(listed[0]["server"], "10.0.1.11:9000");
}

#[test]
fn separate_captures_are_judged_separately_and_a_ring_buffer_as_one() {
    let folder = tempdir().unwrap();
    let later = |raw_frames: &[RawFrame], by: i64| -> Vec<RawFrame> {
        raw_frames
            .iter()
            .map(|raw_frame| RawFrame { time: raw_frame.time + by, ..raw_frame.clone() })
            .collect()
    };
    // At first the server answers.
    let answered = [c(0, &poll(99)), s(MS, &STATE.replace("efcdab89", "63000000"))];
    let first = write(folder.path(), "1.pcap", &answered);
    let silent = polls(&[S, 4 * S, 7 * S]);
    let second = write(folder.path(), "2.pcap", &[&silent[..], &[clock(LATER)]].concat());
    let frames = |args: &[&str], code| -> Vec<u64> {
        let found = check(args, code).into_iter();
        found.filter(|(rule, ..)| rule == "GEN-009").map(|(_, frame, _)| frame).collect()
    };
    assert_eq!(frames(&[&first, &second], 0), [0; 0]);
    assert_eq!(frames(&["--per-file", &first, &second], 1), [3]);
    // The same frames again are another capture of the same silent server.
    let copies: Vec<_> = (0..3).map(|n| write(folder.path(), &format!("c{n}.pcap"), &silence())).collect();
    let copies: Vec<_> = copies.iter().map(String::as_str).collect();
    assert_eq!(frames(&copies, 1), [4, 4, 4]);
    assert_eq!(check(&copies, 1).len(), 3 * check(&copies[..1], 1).len());
    // With two files of one capture, the cause of the first time-out is in the later file.
    let a = write(folder.path(), "a.pcap", &later(&polls(&[0, 3 * S]), 0));
    let b = write(folder.path(), "b.pcap", &[polls(&[6 * S]), vec![clock(LATER)]].concat());
    assert_eq!(frames(&[&a, &b], 1), [1]);
    let table = printed(&run(&["check", "-Tmarkdown", &a, &b]));
    assert!(table.contains("in frame 1 of a later capture"), "{table}");
}

#[test]
fn findings_once_per_server_are_reported_for_each_separate_capture() {
    let folder = tempdir().unwrap();
    let answered: Vec<_> = [0, S].into_iter().flat_map(|t| [c(t, POLL), s(t + MS, STATE)]).collect();
    let paths = ["1.pcap", "2.pcap"].map(|name| write(folder.path(), name, &answered));
    let [first, second] = paths.each_ref().map(String::as_str);
    let counts = |args: &[&str]| {
        let records = parsed(&run(&[&["check", "--no-config", "-T", "ndjson"], args].concat()), 0);
        let of = |kind: &str| records.iter().filter(|r| r["type"] == kind).collect::<Vec<_>>();
        let remarks = of("finding").into_iter().filter(|f| f["rule"] == "SFQ-SEC-001");
        let remarks: Vec<_> = remarks.map(|f| f["count"].as_u64().unwrap()).collect();
        let summary = parsed(&run(&[&["summary", "-T", "ndjson"], args].concat()), 0);
        let last = |records: &[Value]| records.last().unwrap()["finding_counts"].clone();
        assert_eq!(last(&records), last(&summary), "{args:?}");
        remarks
    };
    assert_eq!(counts(&[first]), [2]);
    assert_eq!(counts(&[first, second]), [2, 2]);
    assert_eq!(counts(&["--per-file", first, second]), [2, 2]);
    assert_eq!(counts(&["-Y", "frame.number != 2", first]), [0; 0], "the first packet does not pass");
}

#[test]
fn two_unanswered_requests_at_the_end_are_in_the_summary() {
    let (_folder, path) = captured(&polls(&[0, S]));
    let expected = "2 requests to 192.0.2.10:27100 (satisfactory), never answered, the last just before the end of the capture";
    let screen = printed(&run(&[&path]));
    assert!(screen.contains(expected), "{screen}");
}

#[test]
fn a_server_that_answers_another_protocol_is_not_down() {
    let asks = |at| c(at, "79000000 00");
    let raw_frames = [asks(0), c(S, POLL), s(S + MS, STATE), asks(S), asks(2 * S), clock(LATER)];
    let expected = "server answered none of its requests: 3 datagrams in 2.0 s; it does answer satisfactory";
    assert_eq!(silent_servers(&raw_frames), [(5, expected.into())]);
}
