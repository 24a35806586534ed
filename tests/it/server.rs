//! `server`: each sentence has a capture of its own in `captures/server/`, which this file writes.

use crate::kit::play::{
    Addr, MS, POLL, RawFrame, S, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START,
    foreign, refusal, udp_frame,
};
use crate::kit::run::{parsed, qdissect};
use qdissect::rule::hex;
use serde_json::Value;
use std::path::{Path, PathBuf};

const SERVER: Addr = ([192, 0, 2, 10], 27_015);
const OTHER: Addr = ([192, 0, 2, 11], 27_015);
const CLIENT: Addr = ([198, 51, 100, 7], 40_001);
const SECOND: Addr = ([203, 0, 113, 9], 40_002);
const INNER: Addr = ([172, 17, 0, 2], 9_999);
const INFO: &str = "ffffffff 54 'Source Engine Query' 00";
const INFO_REPLY: &str = "ffffffff 49 11 'Harbour' 00 'b' 00 'c' 00 'd' 00 f000 05 20 00 'dl' 00 01 '1' 00";
const PRINT: &str = "ffffffff 6c 'Banned by server' 0a00";

/// A datagram, `time` nanoseconds after the start.
fn sent(time: i64, from: Addr, to: Addr, text: &str) -> RawFrame {
    udp_frame(START + time, from, to, &hex(text))
}

/// Requests every four seconds, each with what `more` adds to it.
fn asked(times: i64, more: impl Fn(i64, &RawFrame) -> Vec<RawFrame>) -> Vec<RawFrame> {
    let one = |n: i64| {
        let request = sent(4 * n * S, CLIENT, SERVER, INFO);
        [vec![request.clone()], more(4 * n * S, &request)].concat()
    };
    (0..times).flat_map(one).collect()
}

/// Handshakes of SQP every four seconds, whose query the server answers with `reply`, if with anything.
fn handshakes(reply: Option<&str>, delay: i64) -> Vec<RawFrame> {
    let one = |n: i64| {
        let (at, token) = (4 * n * S, |text: &str| text.replace("80902348", &format!("8090234{n}")));
        let mut frames = vec![
            sent(at, CLIENT, SERVER, SQP_CHALLENGE),
            sent(at + 10 * MS, SERVER, CLIENT, &token(SQP_CHALLENGE_REPLY)),
            sent(at + 20 * MS, CLIENT, SERVER, &token(SQP_QUERY)),
        ];
        frames.extend(reply.map(|reply| sent(at + 20 * MS + delay, SERVER, CLIENT, &token(reply))));
        frames
    };
    (0..4).flat_map(one).collect()
}

/// Each datagram on both sides of an address translation, on interfaces of their own.
fn translated() -> Vec<(u32, RawFrame)> {
    let seen = |interface, time, from, to, ttl: u8, text: &str| {
        let mut frame = sent(time, from, to, text);
        frame.bytes[19] = 7;
        frame.bytes[22] = ttl;
        (interface, frame)
    };
    let one = |n: i64| {
        let (at, later) = (4 * n * S, MS / 25);
        [
            seen(0, at, CLIENT, SERVER, 60, INFO),
            seen(1, at + later, CLIENT, INNER, 59, INFO),
            seen(1, at + 10 * MS, INNER, CLIENT, 60, INFO_REPLY),
            seen(0, at + 10 * MS + later, SERVER, CLIENT, 59, INFO_REPLY),
        ]
    };
    (0..3).flat_map(one).collect()
}

/// A capture: its name, its frames by interface, and the number of packets that it dropped.
type Capture = (&'static str, Vec<(u32, RawFrame)>, Option<u64>);

/// The captures of this folder.
fn captures() -> Vec<Capture> {
    let answer = |at: i64, from: Addr| vec![sent(at + 20 * MS, from, CLIENT, INFO_REPLY)];
    let other_port = (SERVER.0, 27_016);
    let ignored = asked(6, |at, _| {
        let second = sent(at + S, SECOND, SERVER, INFO);
        [answer(at, SERVER), if at < 16 * S { vec![second] } else { vec![] }].concat()
    });
    let in_vain = asked(4, |at, _| {
        vec![sent(at + S, SECOND, other_port, INFO), sent(at + S + 20 * MS, other_port, SECOND, INFO_REPLY)]
    });
    let half = |at: i64, _: &RawFrame| if at % (8 * S) == 0 { answer(at, SERVER) } else { vec![] };
    let long = SQP_QUERY_REPLY.replace("0012 0000000e", "0022 0000000e");
    let plain: Vec<(&str, Vec<RawFrame>, Option<u64>)> = vec![
        ("refused", asked(4, |_, request| vec![refusal(request, 8)]), None),
        ("down", asked(6, |_, _| vec![]), None),
        ("banned", asked(4, |at, _| vec![sent(at + 20 * MS, SERVER, CLIENT, PRINT)]), None),
        ("ignored", ignored, None),
        ("challenges_only", handshakes(None, 0), None),
        ("other_address", asked(4, |at, _| answer(at, OTHER)), None),
        ("other_port", in_vain, None),
        ("unreadable", handshakes(Some(&long), 10 * MS), None),
        ("one_direction", (0..4).flat_map(|n| answer(4 * n * S, SERVER)).collect(), None),
        ("dropped", asked(8, half), Some(12)),
        ("slow", handshakes(Some(SQP_QUERY_REPLY), 1_400 * MS), None),
        ("fine", asked(4, |at, _| answer(at, SERVER)), None),
    ];
    let mut all: Vec<_> = plain
        .into_iter()
        .map(|(name, frames, dropped)| (name, frames.into_iter().map(|f| (0, f)).collect(), dropped))
        .collect();
    all.push(("translated", translated(), None));
    for (_, frames, _) in &mut all {
        frames.push((0, foreign(START + 60 * S)));
    }
    all
}

/// A capture with two interfaces as pcapng, in microseconds.
fn pcapng(frames: &[(u32, RawFrame)], dropped: Option<u64>) -> Vec<u8> {
    let mut file = vec![];
    let mut block = |kind: u32, body: &[u8]| {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let length = (12 + body.len() + padding.len()) as u32;
        file.extend(
            [&kind.to_le_bytes(), &length.to_le_bytes(), body, &padding, &length.to_le_bytes()].concat(),
        );
    };
    block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    (0..2).for_each(|_| block(1, &[1, 0, 0, 0, 0, 0, 4, 0]));
    for (interface, f) in frames {
        let (micros, length) = ((f.time / 1_000) as u64, f.bytes.len() as u32);
        let words = [*interface, (micros >> 32) as u32, micros as u32, length, f.wire_len];
        block(6, &[&words.map(u32::to_le_bytes).concat(), &f.bytes[..]].concat());
    }
    if let Some(dropped) = dropped {
        block(5, &[&[0; 12][..], &[5, 0, 8, 0], &dropped.to_le_bytes()[..], &[0; 4]].concat());
    }
    file
}

fn path(name: &str) -> PathBuf {
    Path::new("captures/server").join(format!("{name}.pcapng"))
}

#[test]
fn the_captures_are_up_to_date() {
    for (name, frames, dropped) in captures() {
        let made = pcapng(&frames, dropped);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all("captures/server").unwrap();
            std::fs::write(path(name), &made).unwrap();
        }
        let kept = std::fs::read(path(name)).unwrap_or_default();
        assert!(kept == made, "{name} is out of date: run UPDATE_DOCS=1 cargo test --test it server::");
    }
}

/// The record of a server in a capture, and the exit code of the run.
#[track_caller]
fn case(server: &str, name: &str, code: i32) -> Value {
    let run =
        qdissect().args(["server", server, "-T", "ndjson", "--no-config"]).arg(path(name)).output().unwrap();
    parsed(&run, code).pop().unwrap()
}

#[track_caller]
fn reason(server: &str, name: &str, part: &str) {
    let case = case(server, name, 0);
    let expected = if name == "ignored" { "banned" } else { name };
    assert_eq!(case["reason"], expected, "{case:#}");
    assert!(case["text"].as_str().unwrap().contains(part), "{case:#}");
}

#[test]
fn each_reason_has_its_sentence() {
    for (name, part) in [
        ("refused", "192.0.2.10 refuses: an ICMP error came back for 4 of 4 requests"),
        ("down", "192.0.2.10 is down, or a firewall is silent: 6 requests, and no answer"),
        ("banned", "192.0.2.10:27015 prints a text instead of an answer to 4 requests"),
        ("ignored", "nothing to 203.0.113.9, which sent 4 requests"),
        ("challenges_only", "gives challenges and answers nothing that carries one: 4 requests"),
        ("other_address", "the answers come from 192.0.2.11:27015"),
        (
            "other_port",
            "192.0.2.10:27015 is asked, where nobody answers (4 requests); 192.0.2.10:27016 answers",
        ),
        ("unreadable", "answers that clients cannot read, 4 of 4: "),
        ("one_direction", "4 answers, and no request"),
        ("dropped", "The capture dropped 12 packets: 4 requests to 192.0.2.10 may have been answered"),
        ("slow", "4 of 8 answers late"),
        ("fine", "Nothing wrong was seen of 192.0.2.10: 4 of 4 requests answered."),
    ] {
        reason("192.0.2.10", name, part);
    }
}

#[test]
fn the_port_decides_what_it_is_about() {
    reason("192.0.2.10:27015", "other_port", "27015 is asked");
    let answering = case("192.0.2.10:27016", "other_port", 0);
    assert_eq!(answering["reason"], "fine", "{answering:#}");
    // No request of the focused port is in the capture, but others are.
    assert_eq!(case("192.0.2.10:9", "fine", 3)["reason"], "absent");
}

#[test]
fn servers_are_found_by_their_name() {
    let case = case("Harbour", "fine", 0);
    assert_eq!((&case["reason"], &case["address"]), (&"fine".into(), &"192.0.2.10".into()));
    assert_eq!(case["ports"][0]["players"], 5);
}

/// Standard output of `server` with these arguments.
fn said(args: &[&str], code: i32) -> String {
    let run = qdissect().arg("server").args(args).output().unwrap();
    assert_eq!(run.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
}

#[test]
fn a_server_that_breaks_rules_is_not_said_to_be_right() {
    let demo = "captures/demo.pcapng";
    let text = said(&["192.0.2.40", demo], 0);
    assert!(text.starts_with("192.0.2.40: 11 of 11 requests answered, but some break SFQ-ENV-005"), "{text}");
    let text = said(&["127.0.0.1", "captures/sqp/fake_noanswer.pcap"], 0);
    assert!(text.starts_with("Too little was captured of 127.0.0.1 to tell: 1 of 2 requests"), "{text}");
    assert!(text.contains("the only answer is a challenge"), "{text}");
    let text = said(&["192.0.2.10", "-Y", "sqp && finding", demo], 0);
    assert!(
        text.starts_with("Of what passes the filter: ") && text.contains("in 6 of 108 packets"),
        "{text}"
    );
    let case = case("192.0.2.10", "other_address", 0);
    let findings = case["ports"][0]["findings"].as_array().unwrap();
    assert!(findings.iter().any(|f| f["rule"] == "GEN-006" && f["count"] == 4), "{findings:#?}");
}

#[test]
fn what_is_named_wrongly_is_told_with_what_is_right() {
    let demo = "captures/demo.pcapng";
    assert!(said(&["eu west 1", demo], 0).contains("192.0.2.10:7777"));
    let text = said(&["Harb", demo], 3);
    assert!(
        text.starts_with("No server is named \"Harb\"; named are ") && text.contains("EU West 1"),
        "{text}"
    );
    let text = said(&[demo, "192.0.2.10"], 2);
    assert!(text.contains("`qdissect server 192.0.2.10 captures/demo.pcapng`"), "{text}");
}

#[test]
fn what_is_not_there_is_absent() {
    for server in ["192.0.2.77", "[2001:db8::1]:9", "no such server"] {
        assert_eq!(case(server, "fine", 3)["reason"], "absent");
    }
}

#[test]
fn the_other_end_of_a_detour_is_named() {
    let case = case("192.0.2.11", "other_address", 0);
    assert_eq!(case["reason"], "other_address", "{case:#}");
    assert!(
        case["text"].as_str().unwrap().starts_with("192.0.2.11:27015 answers what 192.0.2.10:27015 is asked")
    );
}

#[test]
fn both_addresses_of_a_translation_are_one_server() {
    for address in ["192.0.2.10", "172.17.0.2"] {
        let case = case(address, "translated", 0);
        assert_eq!(case["reason"], "fine", "{case:#}");
        let port = &case["ports"][0];
        assert_eq!(
            (&port["endpoint"], &port["translated_to"]),
            (&"192.0.2.10:27015".into(), &"172.17.0.2:9999".into())
        );
        assert_eq!(port["answered"], 3, "{case:#}");
    }
}

#[test]
fn screens_fit_their_width() {
    for (name, ..) in captures() {
        for width in [80, 160] {
            let run = qdissect()
                .env("COLUMNS", width.to_string())
                .args(["server", "192.0.2.10"])
                .arg(path(name))
                .output();
            let text = String::from_utf8(run.unwrap().stdout).unwrap();
            let tables = text.lines().skip(3).take_while(|line| !line.is_empty());
            assert!(
                tables.clone().count() > 0 && tables.clone().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
    }
}

#[test]
fn a_capture_may_come_from_standard_input() {
    let file = std::fs::File::open(path("fine")).unwrap();
    let run = qdissect().args(["server", "192.0.2.10", "-T", "ndjson", "-"]).stdin(file).output().unwrap();
    assert_eq!(parsed(&run, 0)[0]["reason"], "fine");
}

/// Requests by datagrams that nothing confirms, as they are seen of a server that is down.
#[test]
fn possible_requests_count_where_nothing_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("possible.pcapng");
    let mut frames: Vec<_> =
        (0..6).map(|n| (0, sent(4 * n * S, CLIENT, (SERVER.0, 30_000), "00 00000000"))).collect();
    frames.push((0, sent(30 * S, CLIENT, (SERVER.0, 31_000), POLL)));
    frames.push((0, foreign(START + 60 * S)));
    std::fs::write(&path, pcapng(&frames, None)).unwrap();
    let run = qdissect().args(["server", "192.0.2.10:30000", "-T", "ndjson"]).arg(&path).output().unwrap();
    let case = parsed(&run, 0).pop().unwrap();
    assert_eq!(case["reason"], "down", "{case:#}");
}

/// The record of the server in a capture of these frames, and the text of its screen.
#[track_caller]
fn seen(frames: Vec<RawFrame>) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.pcapng");
    let frames: Vec<_> =
        frames.into_iter().chain([foreign(START + 60 * S)]).map(|frame| (0, frame)).collect();
    std::fs::write(&path, pcapng(&frames, None)).unwrap();
    let run = |form: &str| qdissect().args(["server", "192.0.2.10", "-T", form]).arg(&path).output().unwrap();
    let screen = String::from_utf8(run("table").stdout).unwrap();
    (parsed(&run("ndjson"), 0).pop().unwrap(), screen)
}

#[test]
fn a_port_keeps_so_many_clients_and_others() {
    let frames = (0..1_030_i64).flat_map(|n| {
        let client = ([198, 51, (n / 200) as u8, (n % 200) as u8], 40_001);
        let other = ([192, 0, 2, 20 + (n % 20) as u8], SERVER.1);
        [sent(n * 10 * MS, client, SERVER, INFO), sent((n * 10 + 2) * MS, other, client, INFO_REPLY)]
    });
    let (case, _) = seen(frames.collect());
    let port = &case["ports"][0];
    assert_eq!((&port["requests"], &port["more_clients"]), (&1_030.into(), &true.into()));
    assert_eq!(port["clients"].as_array().unwrap().len(), 100);
    assert_eq!(port["answered_from"].as_array().unwrap().len(), 16, "{case:#}");
}

#[test]
fn further_ports_are_counted() {
    let frames = (0..4_100_u16).map(|n| sent(i64::from(n) * MS, CLIENT, (SERVER.0, 20_000 + n), INFO));
    let (case, screen) = seen(frames.collect());
    assert_eq!(case["ports"].as_array().unwrap().len(), 4_096);
    assert!(screen.contains("of further ports, for want of room"), "{screen}");
}

/// A hundred requests of a forged address within half a second, each answered at once.
fn flood() -> Vec<(u32, RawFrame)> {
    let victim = ([203, 0, 113, 250], 80);
    let one = |n: i64| {
        let at = n * 5 * MS;
        [sent(at, victim, SERVER, INFO), sent(at + MS, SERVER, victim, INFO_REPLY)]
    };
    (0..100).flat_map(one).chain([foreign(START + 60 * S)]).map(|frame| (0, frame)).collect()
}

#[test]
fn who_is_flooded_is_seen_in_the_summary_and_among_the_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flood.pcapng");
    std::fs::write(&path, pcapng(&flood(), None)).unwrap();
    let run = |args: &[&str]| qdissect().args(args).arg(&path).output().unwrap();
    let summary = String::from_utf8(run(&["summary"]).stdout).unwrap();
    assert!(summary.contains("looks abused: unproven answers, 100 to 203.0.113.250 on 1 port"), "{summary}");
    for (prefix, client) in [(&[][..], "203.0.113.250"), (&["--prefix", "24,56"], "203.0.113.0/24")] {
        let args = [&["stats", "--only", "clients", "-T", "ndjson"][..], prefix].concat();
        let records = parsed(&run(&args), 0);
        let row = records.iter().find(|r| r["type"] == "client").unwrap();
        let expected = serde_json::json!({
            "client": client, "servers": 1, "requests": 100, "share": 100.0, "peak_rate": 100, "mean_rate": 100.0,
            "ports": 1, "proven": false,
        });
        expected.as_object().unwrap().iter().for_each(|(key, value)| assert_eq!(&row[key], value, "{key}"));
    }
    assert!(
        !String::from_utf8(run(&["stats"]).stdout).unwrap().contains("Clients\n"),
        "only where it is named"
    );
}
