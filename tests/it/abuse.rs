//! Half handshakes, challenges that nobody uses, and floods of forged addresses.

use crate::kit::frames;
use crate::kit::play::{Addr, CLIENTS, MS, PORT, RawFrame, S, SERVER, START, foreign, udp_frame};
use crate::kit::run::{parsed, qdissect};
use qdissect::rule::hex;
use serde_json::Value;
use tempfile::tempdir;

const LATER: i64 = 300 * S;
const VICTIM: [u8; 4] = [203, 0, 113, 250];

/// A datagram of a client or of its server, `time` nanoseconds after the start; `to_server` says which way.
fn at(time: i64, client: Addr, server: Addr, to_server: bool, text: &str) -> RawFrame {
    let [from, to] = if to_server { [client, server] } else { [server, client] };
    udp_frame(START + 10 * S + time, from, to, &hex(text))
}

/// A handshake of a protocol: the request for a challenge, the challenge, and the request that carries it.
struct Handshake {
    protocol: &'static str,
    ask: &'static str,
    challenge: fn(u32) -> String,
    carry: fn(u32) -> String,
    answer: fn(u32) -> String,
    /// Returns the challenge with its bytes swapped.
    swap: fn(u32) -> String,
}

fn le(n: u32) -> String {
    format!("{:08x}", n.swap_bytes())
}

const PLAYERS: &str = "ffffffff 44 00";
const INFO: &str = "ffffffff 49 11 'Lab' 00 'b' 00 'c' 00 'd' 00 f000 01 08 00 'dl' 00 01 '1' 00";

const HANDSHAKES: &[Handshake] = &[
    Handshake {
        protocol: "sqp",
        ask: "00 00000000",
        challenge: |n| format!("00 {n:08x}"),
        carry: |n| format!("01 {n:08x} 0001 01"),
        answer: |n| format!("01 {n:08x} 0001 00 00 0012 0000000e 0001 0008 0141 0162 0163 0164 1e61"),
        swap: |n| format!("01 {} 0001 01", le(n)),
    },
    Handshake {
        protocol: "a2s",
        ask: "ffffffff 54 'Source Engine Query' 00",
        challenge: |n| format!("ffffffff 41 {}", le(n)),
        carry: |n| format!("ffffffff 54 'Source Engine Query' 00 {}", le(n)),
        answer: |_| INFO.to_owned(),
        swap: |n| format!("ffffffff 54 'Source Engine Query' 00 {n:08x}"),
    },
    Handshake {
        protocol: "a2s",
        ask: "ffffffff 55 ffffffff",
        challenge: |n| format!("ffffffff 41 {}", le(n)),
        carry: |n| format!("ffffffff 55 {}", le(n)),
        answer: |_| PLAYERS.to_owned(),
        swap: |n| format!("ffffffff 55 {n:08x}"),
    },
    Handshake {
        protocol: "gamespy3",
        ask: "fefd 09 01020304",
        challenge: |n| format!("09 01020304 '{n}' 00"),
        carry: |n| format!("fefd 00 01020304 {n:08x}"),
        answer: |_| "00 01020304 'Lab' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 dd63 '127.0.0.1' 00".to_owned(),
        swap: |n| format!("fefd 00 01020304 {}", le(n)),
    },
];

/// The challenge of the n-th round: small enough for GameSpy 3, different in both byte orders.
fn value(n: u32) -> u32 {
    0x2132_4354 + 0x0001_0000 * n
}

/// The frames as a capture file, in the order of their times.
fn pcap(raw_frames: &[RawFrame]) -> Vec<u8> {
    let mut raw_frames = [raw_frames, &[foreign(START), foreign(START + LATER)]].concat();
    raw_frames.sort_by_key(|frame| frame.time);
    let kept = |RawFrame { time, link, wire_len, bytes }| frames::Kept { time, link, wire_len, bytes };
    frames::pcap(&raw_frames.into_iter().map(kept).collect::<Vec<_>>())
}

/// The capture, read by `check`; the findings that are no symptoms, and the exit code.
fn check(frames: &[RawFrame], args: &[&str]) -> (Vec<Value>, i32) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("c.pcap");
    std::fs::write(&path, pcap(frames)).unwrap();
    let args = [&["check", "-T", "ndjson", "--show", "note", "--no-config"], args].concat();
    let output = qdissect().args(args).arg(&path).output().unwrap();
    let code = output.status.code().unwrap();
    let found = parsed(&output, code).into_iter().filter(|r| r["type"] == "finding");
    (found.collect(), code)
}

fn of<'a>(found: &'a [Value], rule: &str) -> Vec<&'a Value> {
    found.iter().filter(|f| f["rule"] == rule && f["caused_by"].is_null()).collect()
}

/// Rounds of a handshake, 5 s apart; the last request is answered by `last`.
fn rounds(h: &Handshake, count: u32, port: u16, last: impl Fn(u32) -> Option<String>) -> Vec<RawFrame> {
    let (client, server) = ((CLIENTS[0].0, port), (SERVER, PORT));
    let round = |n: u32| {
        let (time, value) = (i64::from(n) * 5 * S, value(n));
        let mut frames = vec![
            at(time, client, server, true, h.ask),
            at(time + 20 * MS, client, server, false, &(h.challenge)(value)),
            at(time + 21 * MS, client, server, true, &(h.carry)(value)),
        ];
        frames.extend(last(value).map(|text| at(time + 40 * MS, client, server, false, &text)));
        frames
    };
    (0..count).flat_map(round).collect()
}

#[test]
fn a_server_that_gives_only_challenges_fails_once() {
    for h in HANDSHAKES {
        let (found, code) = check(&rounds(h, 3, 40_001, |_| None), &[]);
        let halves = of(&found, "GEN-011");
        assert_eq!((halves.len(), code), (1, 1), "{}: {found:?}", h.protocol);
        assert_eq!((&halves[0]["severity"], &halves[0]["fault"]), (&"error".into(), &"server".into()));
        let message = halves[0]["message"].as_str().unwrap();
        assert!(message.ends_with("3 requests with its challenge in 10.0 s"), "{message}");
        let symptoms = found.iter().filter(|f| f["caused_by"]["rule"] == "GEN-011").count();
        assert_eq!(symptoms, 3, "{}: the missing answers: {found:?}", h.protocol);
        assert!(of(&found, "GEN-009").is_empty() && of(&found, "GEN-012").is_empty(), "{found:?}");
        let (found, _) = check(&rounds(h, 2, 40_001, |_| None), &[]);
        assert!(of(&found, "GEN-011").is_empty(), "two requests prove nothing: {found:?}");
        let (found, code) = check(&rounds(h, 4, 40_001, |n| Some((h.answer)(n))), &[]);
        let shared =
            found.iter().any(|f| ["GEN-011", "GEN-012", "GEN-014"].iter().any(|id| f["rule"] == *id));
        assert_eq!((shared, code), (false, 0), "{}: {found:?}", h.protocol);
    }
}

#[test]
fn a_challenge_for_a_challenge_is_no_answer() {
    for h in HANDSHAKES.iter().filter(|h| h.protocol == "a2s") {
        let again = |n: u32| Some((h.challenge)(n ^ 0x55));
        let (found, code) = check(&rounds(h, 3, 40_001, again), &[]);
        assert_eq!((of(&found, "GEN-011").len(), code), (1, 1), "{found:?}");
        assert!(!found.iter().any(|f| f["rule"] == "A2S-CHL-004"), "it is not said beside that: {found:?}");
        // Where another request with a challenge is answered, it is said.
        let one = std::cell::Cell::new(true);
        let (found, _) = check(
            &rounds(h, 3, 40_001, |n| if one.replace(false) { Some((h.answer)(n)) } else { again(n) }),
            &[],
        );
        assert!(of(&found, "GEN-011").is_empty() && of(&found, "A2S-CHL-004").len() == 2, "{found:?}");
    }
}

#[test]
fn faulty_requests_and_faulty_answers_do_not_count() {
    let h = &HANDSHAKES[0];
    // An answer with another token: SQP-TXN-004 instead of an answer.
    let (found, _) = check(&rounds(h, 4, 40_001, |n| Some((h.answer)(n ^ 0xffff))), &[]);
    assert!(of(&found, "GEN-011").is_empty() && of(&found, "SQP-TXN-004").len() == 4, "{found:?}");
    // Within less than two seconds.
    let quick: Vec<_> = rounds(h, 4, 40_001, |_| None)
        .into_iter()
        .map(|frame| RawFrame { time: START + 10 * S + (frame.time - START - 10 * S) / 10, ..frame })
        .collect();
    assert!(of(&check(&quick, &[]).0, "GEN-011").is_empty());
}

/// A client that asks `count` times, every `pause`; `request` makes the next request of the last challenge.
fn loops(h: &Handshake, count: u32, pause: i64, request: impl Fn(u32) -> String) -> Vec<RawFrame> {
    let (client, server) = (CLIENTS[0], (SERVER, PORT));
    let round = |n: u32| {
        let time = i64::from(n) * pause;
        let asked = if n == 0 { h.ask.to_owned() } else { request(value(n - 1)) };
        let challenge = (h.challenge)(value(n));
        [
            at(time, client, server, true, &asked),
            at(time + (pause / 5).min(50 * MS), client, server, false, &challenge),
        ]
    };
    (0..count).flat_map(round).collect()
}

#[test]
fn a_client_that_never_uses_its_challenge_is_warned_once() {
    for h in HANDSHAKES {
        for pause in [100 * MS, S, 29 * S] {
            let (found, code) = check(&loops(h, 6, pause, |_| h.ask.to_owned()), &[]);
            let unused = of(&found, "GEN-012");
            assert_eq!((unused.len(), code), (1, 0), "{} {pause}: {found:?}", h.protocol);
            let [severity, fault] = [&unused[0]["severity"], &unused[0]["fault"]];
            assert_eq!([severity, fault], [&Value::from("warning"), &"client".into()]);
            assert!(
                unused[0]["message"]
                    .as_str()
                    .unwrap()
                    .ends_with("its address is forged, and it never got one")
            );
        }
        let slow = check(&loops(h, 6, 31 * S, |_| h.ask.to_owned()), &[]).0;
        assert!(of(&slow, "GEN-012").is_empty(), "{}: not three within a minute", h.protocol);
        let few = check(&loops(h, 3, S, |_| h.ask.to_owned()), &[]).0;
        assert!(of(&few, "GEN-012").is_empty(), "{}: the third may still be used", h.protocol);
        let flood = check(&loops(h, 60, 5 * MS, |_| h.ask.to_owned()), &[]).0;
        assert!(of(&flood, "GEN-012").is_empty(), "{}: no client asks so often", h.protocol);
    }
}

#[test]
fn a_wrongly_returned_challenge_is_named() {
    for h in HANDSHAKES.iter().filter(|h| h.protocol == "a2s") {
        let (found, _) = check(&loops(h, 5, S, h.swap), &[]);
        let message = of(&found, "GEN-012")[0]["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("the challenge comes back with its bytes swapped"), "{message}");
    }
    let players = &HANDSHAKES[2];
    let (found, _) = check(&loops(players, 5, S, |n| format!("ffffffff 55 '{n}'")), &[]);
    let message = of(&found, "GEN-012")[0]["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("the challenge comes back as text"), "{message}");
}

/// Answers to the victim, every `pause`, in each of these protocols.
fn flood(pair: [&str; 2], count: u16, pause: i64, port: impl Fn(u16) -> u16) -> Vec<RawFrame> {
    let server = (SERVER, PORT);
    let round = |n: u16| {
        let (time, client) = (i64::from(n) * pause, (VICTIM, port(n)));
        [at(time, client, server, true, pair[0]), at(time + MS / 4, client, server, false, pair[1])]
    };
    (0..count).flat_map(round).collect()
}

const SKY: [&str; 2] = [
    "feffffff",
    "93000000 06000000 302e31312e32 01000000 0a000000 01 00 00 00000000 02000000 02000000 00 00 01",
];
const A2S: [&str; 2] = ["ffffffff 54 'Source Engine Query' 00", INFO];

#[test]
fn more_than_twenty_unproven_answers_to_an_address_are_one_warning() {
    for pair in [A2S, SKY] {
        for spread in [0, 1] {
            let port = |n: u16| 80 + n * spread;
            let (found, code) = check(&flood(pair, 100, 2 * MS, port), &[]);
            let warned = of(&found, "GEN-014");
            assert_eq!((warned.len(), code), (1, 0), "{found:?}");
            let message = warned[0]["message"].as_str().unwrap();
            let ports = if spread == 0 { "1 port, " } else { "100 ports, " };
            assert!(
                message.contains(&format!("100 to 203.0.113.250 on {ports}100 in the busiest second")),
                "{message}"
            );
            assert_eq!(warned[0]["client"], format!("203.0.113.250:{}", port(20)), "of the 21st answer");
        }
        for (count, pause, is_told) in
            [(20, 2 * MS, false), (21, 2 * MS, true), (60, 50 * MS, true), (60, 51 * MS, false)]
        {
            let found = check(&flood(pair, count, pause, |_| 80), &[]).0;
            assert_eq!(!of(&found, "GEN-014").is_empty(), is_told, "{count} every {pause} ns");
        }
    }
}

#[test]
fn two_victims_are_two_warnings_and_proven_addresses_none() {
    let mut frames = flood(SKY, 30, 2 * MS, |n| 80 + n);
    let to_other = |frame: RawFrame| {
        let other: Vec<u8> = frame
            .bytes
            .windows(4)
            .any(|w| w == VICTIM)
            .then(|| {
                let at = frame.bytes.windows(4).position(|w| w == VICTIM).unwrap();
                let mut bytes = frame.bytes.clone();
                bytes[at + 3] = 9;
                bytes
            })
            .unwrap();
        RawFrame { bytes: other, ..frame }
    };
    let other: Vec<_> = flood(SKY, 30, 2 * MS, |n| 80 + n).into_iter().map(to_other).collect();
    frames.extend(other);
    let (found, _) = check(&frames, &[]);
    assert_eq!(of(&found, "GEN-014").len(), 2, "{found:?}");
    // The address has returned a challenge to the same server before.
    let h = &HANDSHAKES[0];
    let (client, server) = ((VICTIM, 50_000), (SERVER, 7_777));
    let mut frames = vec![
        at(-5 * S, client, server, true, h.ask),
        at(-5 * S + MS, client, server, false, &(h.challenge)(value(1))),
        at(-5 * S + 2 * MS, client, server, true, &(h.carry)(value(1))),
        at(-5 * S + 3 * MS, client, server, false, &(h.answer)(value(1))),
    ];
    frames.extend(flood(SKY, 60, 2 * MS, |n| 80 + n));
    let (found, _) = check(&frames, &[]);
    assert!(of(&found, "GEN-014").is_empty(), "{found:?}");
}

#[test]
fn quake_3_keeps_its_own_rule() {
    let pair = [
        "ffffffff 'getstatus'",
        r"ffffffff 'statusResponse' 0a '\sv_hostname\Lab\mapname\q3dm17\sv_maxclients\8' 0a",
    ];
    let (found, _) = check(&flood(pair, 60, 2 * MS, |_| 27_000), &[]);
    assert!(of(&found, "GEN-014").is_empty() && !of(&found, "Q3-SEC-002").is_empty(), "{found:?}");
}

#[test]
fn dump_has_the_numbers_so_far_and_every_report_the_same_count() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("c.pcap");
    std::fs::write(&path, pcap(&flood(SKY, 100, 2 * MS, |n| 80 + n))).unwrap();
    let run =
        |args: &[&str]| String::from_utf8(qdissect().args(args).arg(&path).output().unwrap().stdout).unwrap();
    let dump = run(&["dump", "-V"]);
    assert!(dump.contains("21 to 203.0.113.250 on 21 ports, 21 in the busiest second"), "{dump}");
    for args in [
        &["check", "-T", "sarif"][..],
        &["check", "-T", "junit"],
        &["check"],
        &["check", "-T", "csv"],
        &["check", "--threads", "2"],
        &["check", "-Y", "udp.port > 1"],
    ] {
        let text = run(args);
        assert!(text.contains("100 to 203.0.113.250 on 100 ports"), "{args:?}: {text}");
    }
    for args in [&["summary"][..], &["summary", "--threads", "2"]] {
        assert!(run(args).contains("GEN-014"), "{args:?}");
    }
}
