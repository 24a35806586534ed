//! `ask` against servers on loopback: correct, silent and broken ones.

use crate::kit;
use crate::kit::run::{parsed, qdissect};
use qdissect::protocols::{Ask, Id, Role};
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// Returns the datagrams that a server sends back for a request.
type Answer = fn(&[u8]) -> Vec<Vec<u8>>;

fn serve(answer: Answer) -> String {
    kit::serve::serve(move |request, _| answer(request))
}

fn ask(args: &[&str]) -> Output {
    qdissect().arg("ask").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

const TOKEN: [u8; 4] = [0x80, 0x90, 0x23, 0x48];

/// A query response: its chunks with their lengths.
fn response(chunks: &[u8]) -> Vec<u8> {
    let length = u16::try_from(chunks.len()).unwrap().to_be_bytes();
    [&[1][..], &TOKEN, &[0, 1, 0, 0], &length, chunks].concat()
}

fn sqp(request: &[u8]) -> Vec<Vec<u8>> {
    let info = b"\0\0\0\x15\0\x05\0\x20\x06Ask Me\x03TDM\x011\x01m\x1e\x61";
    vec![match request {
        [0, 0, 0, 0, 0] => [&[0][..], &TOKEN].concat(),
        [1, .., 1] => response(info),
        // Chunks that the server does not have are left out.
        _ => response(b""),
    }]
}

fn silent(_: &[u8]) -> Vec<Vec<u8>> {
    vec![]
}

#[test]
fn an_answer_is_shown_as_a_tree_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("asked.pcapng").to_str().unwrap().to_owned();
    let output = ask(&["sqp", &serve(sqp), "-w", &saved]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{}", text(&output.stdout));
    let shown = text(&output.stdout);
    assert!(shown.contains("server_name: \"Ask Me\"") && shown.contains("[Response time: "), "{shown}");
    let read = qdissect().args(["dump", "-T", "ndjson", &saved]).output().unwrap();
    let messages: Vec<_> =
        parsed(&read, 0).iter().filter_map(|r| Some(r["message"].as_str()?.to_owned())).collect();
    assert_eq!(messages, ["challenge_request", "challenge_response", "query_request", "query_response"]);
}

#[test]
fn a_saved_silence_is_judged_as_when_it_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("asked.pcapng").to_str().unwrap().to_owned();
    let server = serve(silent);
    assert_eq!(ask(&["sqp", &server, "--timeout", "1s", "-w", &saved]).status.code(), Some(3));
    let port = server.rsplit_once(':').unwrap().1;
    let pin = format!("udp.port=={port},sqp");
    let checked = qdissect().args(["check", "--timeout", "1s", "-d", &pin, &saved]).output().unwrap();
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stdout).contains("error[GEN-009]"), "{}", text(&checked.stdout));
}

#[test]
fn everything_is_asked_for_one_request_at_a_time_and_not_too_fast() {
    let begin = Instant::now();
    let output = ask(&["sqp", &serve(sqp), "--all", "-T", "ndjson"]);
    let records = parsed(&output, 0);
    let asked: Vec<_> = records.iter().filter_map(|r| r["fields"]["requested_chunks"].as_u64()).collect();
    assert_eq!(asked, [1, 2, 4, 8, 16]);
    assert!(begin.elapsed() > Duration::from_millis(900), "ten requests: {:?}", begin.elapsed());
    let twice = parsed(&ask(&["sqp", &serve(sqp), "-c", "2", "--interval", "10ms", "-T", "ndjson"]), 0);
    assert_eq!(twice.last().unwrap()["exchanges"], 4);
}

/// Most servers accept a token only once.
#[test]
fn every_query_carries_a_token_of_its_own() {
    let output = ask(&["sqp", &serve(sqp), "--all", "-T", "ndjson"]);
    let records = parsed(&output, 0);
    let asked: Vec<_> = records.iter().filter(|r| r["direction"] == "c2s").collect();
    let messages: Vec<_> = asked.iter().map(|r| r["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["challenge_request", "query_request"].repeat(5));
    assert!(!format!("{records:?}").contains("SQP-TXN-006"));
}

/// An A2S server that demands a challenge for lists, if at all, but not for its info.
#[test]
fn lists_are_requested_without_an_earlier_challenge() {
    fn replies_to(request: &[u8], challenged: bool) -> Vec<Vec<u8>> {
        let answer = match request.get(4..) {
            Some([b'T', ..]) => b"I\x11A\0b\0c\0d\0\xf0\0\x01\x08\0dl\0\x011\0".to_vec(),
            Some([b'U' | b'V', 0xff, 0xff, 0xff, 0xff]) if challenged => b"A\xc3\x19\x2a\x4b".to_vec(),
            Some([b'U', ..]) => b"D\x01\0n\0\x01\0\0\0\0\0\x70\x42".to_vec(),
            _ => b"E\x01\0k\x001\0".to_vec(),
        };
        vec![[&[0xff; 4][..], &answer].concat()]
    }
    let asked = |answer: Answer| {
        let records = parsed(&ask(&["a2s", &serve(answer), "--all", "-T", "ndjson"]), 0);
        let messages: Vec<_> =
            records.iter().filter_map(|r| Some(r["message"].as_str()?.to_owned())).collect();
        messages.chunks(2).map(|pair| pair.join(" ")).collect::<Vec<_>>()
    };
    let [info, players, rules] =
        ["info", "players", "rules"].map(|list| format!("{list}_request {list}_response"));
    let [first_players, first_rules] =
        ["players", "rules"].map(|list| format!("{list}_request challenge_response"));
    assert_eq!(asked(|request| replies_to(request, false)), [&info, &players, &rules].map(String::as_str));
    let challenged = asked(|request| replies_to(request, true));
    assert_eq!(challenged, [&info, &first_players, &players, &first_rules, &rules].map(String::as_str));
}

#[test]
fn check_gives_the_verdict_of_the_check_subcommand() {
    let sound = ask(&["sqp", &serve(sqp), "--check"]);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound.stdout));
    let broken: Answer = |request| {
        let mut answers = sqp(request);
        if request.len() == 8 {
            answers.iter_mut().for_each(|answer| answer.truncate(answer.len() - 3));
        }
        answers
    };
    let output = ask(&["sqp", &serve(broken), "--check", "-T", "ndjson"]);
    assert!(parsed(&output, 1).iter().any(|r| r["rule"] == "SQP-RSP-003" || r["type"] == "finding"));
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    let report = format!("junit={}", junit.display());
    let output = ask(&["sqp", &serve(silent), "--check", "--timeout", "150ms", "--report", &report]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("error[GEN-009]"), "{}", text(&output.stdout));
    assert!(!text(&output.stdout).contains("one direction may be missing"), "{}", text(&output.stdout));
    assert!(std::fs::read_to_string(junit).unwrap().contains("GEN-009"));
}

#[test]
fn a_missing_answer_is_reported_with_exit_code_3() {
    for (server, expected) in
        [(serve(silent), "3 datagrams sent."), ("127.0.0.1:9".to_owned(), "did not answer")]
    {
        for protocol in ["sqp", "satisfactory", "skycoop", "gqp"] {
            let output = ask(&[protocol, &server, "--timeout", "120ms"]);
            assert_eq!(output.status.code(), Some(3), "{protocol}: {}", text(&output.stdout));
            assert!(text(&output.stderr).starts_with(&format!("error: {server} did not answer")));
            assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
            let checked = ask(&[protocol, &server, "--timeout", "120ms", "--check"]);
            assert!(
                text(&checked.stdout).contains("error[GEN-009]"),
                "{protocol}: {}",
                text(&checked.stdout)
            );
        }
    }
}

#[test]
fn long_and_unknown_answers_are_handled() {
    let flood: Answer = |_| (0..2_000u16).map(|n| n.to_be_bytes().to_vec()).collect();
    let output = ask(&["gqp", &serve(flood), "-T", "ndjson"]);
    let packets = parsed(&output, 0).iter().filter(|r| r["type"] == "packet").count();
    assert!(packets <= 65, "{packets}");
    let judged = ask(&["satisfactory", &serve(flood), "--check", "--timeout", "120ms", "-q"]);
    assert_eq!(judged.status.code(), Some(1), "{}", text(&judged.stdout));
}

#[test]
fn undecodable_datagrams_do_not_count_as_answers() {
    let garbage: Answer = |_| vec![vec![0xff; 20]];
    let server = serve(garbage);
    let output = ask(&["sqp", &server, "--timeout", "120ms", "-q"]);
    let expected =
        format!("error: {server} did not answer: 3 datagrams sent; 3 datagrams received, but no answer.\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(3), &expected[..]));
    let judged = ask(&["sqp", &server, "--timeout", "120ms", "--check"]);
    assert_eq!(judged.status.code(), Some(1), "{}", text(&judged.stdout));
    assert!(text(&judged.stdout).contains("error[GEN-010]"), "{}", text(&judged.stdout));
}

#[test]
fn a_closed_port_is_reported_with_check_too() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let judged = ask(&["sqp", &closed, "--timeout", "120ms", "--check"]);
    let expected =
        format!("error: {closed} did not answer: 3 datagrams sent; ICMP says that nothing listens there.\n");
    assert_eq!((judged.status.code(), text(&judged.stderr)), (Some(1), &expected[..]));
    assert!(text(&judged.stdout).contains("error[GEN-009]"), "{}", text(&judged.stdout));
}

#[test]
fn copies_of_earlier_answers_do_not_count_as_answers() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = socket.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut space = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut space) {
            let request = &space[..length];
            let late = if length == 8 { sqp(&[0; 5]) } else { vec![] };
            for datagram in late.into_iter().chain(sqp(request)) {
                _ = socket.send_to(&datagram, from);
                thread::sleep(Duration::from_millis(120));
            }
        }
    });
    let records = parsed(&ask(&["sqp", &server, "-T", "ndjson"]), 0);
    let summary = records.last().unwrap();
    assert_eq!((&summary["exchanges"], &summary["answered"]), (&2.into(), &2.into()), "{records:?}");
}

/// A server that answers two challenge requests together, after the second one, and accepts only the later token.
#[test]
fn the_later_of_two_tokens_is_sent_back() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = socket.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut space, mut challenges) = ([0; 2000], 0);
        while let Ok((length, from)) = socket.recv_from(&mut space) {
            challenges += usize::from(length == 5);
            let late = match (length, challenges) {
                (5, 1) => vec![],
                (5, _) => [vec![vec![0, 1, 2, 3, 4]], sqp(&[0; 5])].concat(),
                _ if space[1..5] == TOKEN => sqp(&space[..length]),
                _ => vec![],
            };
            late.iter().for_each(|datagram| _ = socket.send_to(datagram, from));
        }
    });
    let output = ask(&["sqp", &server, "--timeout", "200ms", "--check", "--fail-on", "warning"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn parts_are_waited_for_until_they_count_as_lost() {
    let halved: Answer = |_| vec![b"\xfe\xff\xff\xff\x07\0\0\0\x02\0\x0f\0\xff\xff\xff\xffI\x11A\0".to_vec()];
    let output = ask(&["a2s", &serve(halved), "--timeout", "150ms", "--check"]);
    assert!(text(&output.stdout).contains("A2S-SPL-002"), "{}", text(&output.stdout));
}

#[test]
fn check_tells_datagrams_that_are_no_answers() {
    let bare: Answer = |request| match request.len() {
        25 => vec![b"\xff\xff\xff\xffA\xc3\x19\x2a\x4b".to_vec()],
        _ => vec![b"I\x11A\0b\0c\0d\0".to_vec()],
    };
    let server = serve(bare);
    let output = ask(&["a2s", &server, "--timeout", "120ms", "--check"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
    assert!(text(&output.stdout).contains("error[GEN-010]"), "{}", text(&output.stdout));
}

/// A QuakeWorld server, which knows only one query.
fn quake_world(request: &[u8]) -> Vec<Vec<u8>> {
    let answer = b"\xff\xff\xff\xffn\\hostname\\Lab\\map\\dm6\\maxclients\\8\n\0";
    if request == b"\xff\xff\xff\xffstatus" { vec![answer.to_vec()] } else { vec![] }
}

#[test]
fn quake_world_servers_get_quake_world_requests() {
    for wanted in [&["--check"][..], &["--check", "--all"]] {
        let server = serve(quake_world);
        let output = ask(&[&["quake3", &server, "--timeout", "150ms"][..], wanted].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(text(&output.stdout).contains("4 datagrams of query traffic"), "{}", text(&output.stdout));
    }
}

#[test]
fn lists_can_be_requested_with_all() {
    let repeated: Answer = |request| [sqp(request), sqp(request)].concat();
    let server = serve(repeated);
    let hint = ask(&["sqp", &server, "--check"]);
    assert!(text(&hint.stdout).contains("--show note lists all"), "{}", text(&hint.stdout));
    let output = ask(&["sqp", &server, "--check", "--show", "note"]);
    assert!(text(&output.stdout).contains("note[SQP-TXN-013]"), "{}", text(&output.stdout));
}

#[test]
fn protocols_without_requests_are_wrong_usage() {
    for (args, expected) in [
        (&["sqp", "127.0.0.1"][..], "sqp has no port of its own"),
        (&["gqp", "127.0.0.1:x"], "is no UDP port"),
        (&["sqp", "no.such.host.invalid:1"], "is not known"),
        (&["http", "127.0.0.1:1"], "There is no protocol \"http\""),
        (&["sqp", "127.0.0.1:1", "-T", "sarif"], "-T sarif needs --check"),
        (&["sqp", "127.0.0.1:1", "-T", "fields"], "invalid value 'fields'"),
        (&["sqp", "127.0.0.1:1", "-T", "tree", "--check"], "-T tree goes without --check"),
    ] {
        let output = ask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn every_protocol_recognises_its_own_requests_and_stops_asking() {
    // Protocols without requests have nothing to ask.
    let asks = |id: &&Id| id.info().steps.iter().any(|step| step.rules.unanswered.is_some());
    for &id in Id::ALL.iter().filter(asks) {
        let first = [&[0][..], &TOKEN].concat();
        for all in [false, true] {
            let (first, latest) = (&first[..], &first[..]);
            let ask = |answered| Ask { answered, silences: 0, all, random: 7, server: None, first, latest };
            let asked: Vec<_> = (0..20).map_while(|answered| id.ask(&ask(answered))).collect();
            assert!((1..20).contains(&asked.len()), "{id:?}");
            for payload in asked {
                let probe = id.probe(&payload, payload.len(), [40_000, 9_000]);
                let role = probe.map(|probe| probe.role);
                assert!(
                    matches!(role, Some(Role::Request | Role::MaybeRequest)),
                    "{id:?} {payload:02x?}: {role:?}"
                );
            }
        }
    }
}

#[test]
fn help_says_what_is_needed() {
    let help = Command::new(env!("CARGO_BIN_EXE_qdissect")).args(["ask", "-h"]).output().unwrap();
    assert!(
        text(&help.stdout).contains("Usage: qdissect ask [OPTIONS] <PROTO> <HOST[:PORT]>"),
        "{}",
        text(&help.stdout)
    );
}
