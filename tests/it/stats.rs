//! `qdissect stats`: its counts in every format.

use crate::kit::play::{
    Addr, CLIENTS, MS, RawFrame, S, SQP_CHALLENGE, SQP_CHALLENGE_REPLY, SQP_QUERY, SQP_QUERY_REPLY, START, c,
    foreign, report, s, udp_frame,
};
use qdissect::pipeline::Options;
use qdissect::report::{Form, Output};
use qdissect::rule::hex;
use qdissect::stats::{self, Section, Stats};
use qdissect::text::escape::is_hostile;
use serde_json::Value;
use std::process::{Command, Output as Ended};

const DEMO: &str = "captures/demo.pcapng";
const SECTIONS: [&str; 6] = ["times", "endpoints", "hierarchy", "series", "amplification", "losses"];

/// A query without the issued token.
const FORGED: &str = "01 11111111 0001 01";

fn run(args: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.args(args).env("COLUMNS", "100").env_remove("NO_COLOR").output().unwrap()
}

#[track_caller]
fn text(args: &[&str]) -> String {
    let ended = run(args);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// The records of a command.
#[track_caller]
fn records(args: &[&str]) -> Vec<Value> {
    text(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn records_of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|r| r["type"] == kind).collect()
}

/// The records of some frames.
fn played(raw_frames: &[RawFrame]) -> Vec<Value> {
    let (stats, totals) = report(Options { all: true, ..Options::default() }, Stats::new(None), raw_frames);
    let mut out = vec![];
    stats::records(&mut Output::new(&mut out, Form::Ndjson, false), &stats, &totals, Section::ALL).unwrap();
    String::from_utf8(out).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// A Satisfactory poll with this cookie, and its answer after some time.
fn polled(at: i64, cookie: u64, after: i64) -> [RawFrame; 2] {
    let cookie: String = cookie.to_le_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let state = "03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";
    [c(at, &format!("d5f6 00 01 {cookie} 01")), s(at + after, &format!("d5f6 01 01 {cookie} {state}"))]
}

/// Parses CSV by RFC 4180; every line must end with CR LF.
fn fields(csv: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (vec![], vec![], String::new());
    let (mut quoted, mut chars) = (false, csv.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(!quoted && field.is_empty() && row.is_empty(), "the last line has an end");
    rows
}

/// Against `tshark -q -z io,phs -r captures/demo.pcapng`: eth 108 frames, 8794 bytes; ip,udp 90 and 7415; ipv6,udp 13
/// and 1075; arp 2 and 120; tcp 3 and 184. The protocols: sums over `-z conv,udp` of the servers' endpoints; for
/// 192.0.2.40:7777, 11 frames and 660 bytes one way, 11 and 1033 the other.
#[test]
fn frames_and_bytes_agree_with_tshark() {
    let found = records(&["stats", "-T", "ndjson", "--only", "hierarchy", DEMO]);
    let layers = records_of_type(&found, "hierarchy");
    for (path, frames, bytes) in [
        ("frame", 108, 8794),
        ("frame:ethernet", 108, 8794),
        ("frame:ethernet:ipv4:udp", 90, 7415),
        ("frame:ethernet:ipv4:udp:satisfactory", 22, 1693),
        ("frame:ethernet:ipv4:udp:satisfactory:poll", 11, 660),
        ("frame:ethernet:ipv4:udp:satisfactory:state_response", 11, 1033),
        ("frame:ethernet:ipv4:udp:gqp", 10, 301 + 279 + 151),
        ("frame:ethernet:ipv4:udp:skycoop", 9, 292 + 292 + 354 + 292 + 60),
        ("frame:ethernet:ipv4:udp:unclaimed", 2, 174),
        ("frame:ethernet:ipv6:udp:sqp", 13, 1075),
        ("frame:ethernet:not_ip", 2, 120),
        ("frame:ethernet:tcp", 3, 184),
    ] {
        let layer = layers.iter().find(|l| l["path"] == path).unwrap_or_else(|| panic!("{path}"));
        assert_eq!((&layer["frames"], &layer["bytes"]), (&frames.into(), &bytes.into()), "{path}");
    }
}

/// Payload and datagrams added up from the records of `dump`, for servers and clients.
#[test]
fn endpoints_are_the_sums_of_the_packets() {
    let found = records(&["stats", "-T", "ndjson", "--only", "endpoints", DEMO]);
    let packets = records(&["dump", "-T", "ndjson", DEMO]);
    let address = |end: &Value| end.as_str().unwrap().rsplit_once(':').unwrap().0.replace(['[', ']'], "");
    for end in records_of_type(&found, "endpoint") {
        let (server, name) = (end["role"] == "server", end["endpoint"].as_str().unwrap());
        let is = |at: &Value| if server { at == name } else { address(at) == name };
        for (key, direction) in
            [("sent", if server { "s2c" } else { "c2s" }), ("received", if server { "c2s" } else { "s2c" })]
        {
            let at = if key == "sent" { "src" } else { "dst" };
            let own = || packets.iter().filter(|p| p["direction"] == direction && is(&p[at]));
            let bytes: u64 = own().map(|p| p["payload_length"].as_u64().unwrap()).sum();
            let headers = if name.contains("2001:") { 48 } else { 28 };
            let count = own().count() as u64;
            assert_eq!(end[format!("datagrams_{key}")], count, "{name}");
            assert_eq!(end[format!("bytes_{key}")], bytes, "{name}");
            assert_eq!(end[format!("wire_bytes_{key}")], bytes + headers * count, "{name}");
        }
    }
    assert_eq!(records_of_type(&found, "endpoint").len(), 7 + 10);
}

/// Compared with the sorted times of the exchanges: the quantile is the one whose rank is the share, rounded up.
#[test]
fn response_times_are_those_of_the_exchanges() {
    let found = records(&["stats", "-T", "ndjson", "--only", "times", DEMO]);
    let exchanges = records(&["exchanges", "-T", "ndjson", DEMO]);
    let rows = records_of_type(&found, "response_times");
    assert_eq!(rows.len(), 6 + 7);
    for row in rows {
        let key = if row["server"].is_null() { "step" } else { "server" };
        let same = |e: &&Value| e["protocol"] == row["protocol"] && e[key] == row[key];
        let mut times: Vec<f64> =
            exchanges.iter().filter(same).filter_map(|e| e["response_time"].as_f64()).collect();
        times.sort_by(f64::total_cmp);
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!(row["count"], times.len() as u64);
        assert_eq!((number("min"), number("max")), (times[0], times[times.len() - 1]));
        for (key, share) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
            let exact = times[(share * times.len() as f64).ceil() as usize - 1];
            assert!((number(key) - exact).abs() <= exact / 100.0, "{key} of {row}: {exact}");
        }
        assert!((number("mean") - times.iter().sum::<f64>() / times.len() as f64).abs() < 1e-6);
        if let Some(buckets) = row["histogram"].as_array() {
            let sum: u64 = buckets.iter().map(|b| b["count"].as_u64().unwrap()).sum();
            assert_eq!(row["count"], sum);
        }
    }
}

#[test]
fn quantiles_of_known_times_are_within_one_percent() {
    let mut raw_frames = vec![];
    for i in 1..=1_000 {
        raw_frames.extend(polled(i * S, i as u64, i * 37_000)); // 37 µs to 37 ms
    }
    raw_frames.push(foreign(START + 2_000 * S));
    let found = played(&raw_frames);
    let row = records_of_type(&found, "response_times")[0];
    for (key, rank) in [("min", 1), ("median", 500), ("p90", 900), ("p99", 990), ("max", 1_000)] {
        let exact = f64::from(rank) * 37e-6;
        let time = row[key].as_f64().unwrap();
        assert!((time - exact).abs() <= exact / 100.0, "{key}: {time} for {exact}");
    }
    assert!((row["mean"].as_f64().unwrap() - 500.5 * 37e-6).abs() < 1e-9, "{row}");
}

#[test]
fn an_answer_to_a_forged_query_has_no_valid_challenge() {
    for (query, without) in [(SQP_QUERY, 0), (FORGED, 1)] {
        let raw_frames = [
            foreign(START),
            c(30 * S, SQP_CHALLENGE),
            s(30 * S + MS, SQP_CHALLENGE_REPLY),
            c(30 * S + 2 * MS, query),
            s(30 * S + 3 * MS, SQP_QUERY_REPLY),
        ];
        let found = played(&raw_frames);
        let audit = records_of_type(&found, "amplification");
        let case = audit.iter().find(|r| r["step"] == "query").unwrap();
        assert_eq!((&case["without_challenge"], &case["worst_frame"]), (&without.into(), &5.into()));
        // 8 bytes in, 29 out; with 28 bytes of headers each.
        assert_eq!((&case["ratio"], &case["worst_ratio"]), (&3.625.into(), &3.625.into()));
        assert_eq!((&case["request_wire_bytes"], &case["response_wire_bytes"]), (&36.into(), &57.into()));
        assert_eq!(case["wire_ratio"], 1.583);
    }
}

/// In A2S any request may be answered with a challenge of 9 bytes, which the client repeats.
#[test]
fn a_challenge_counts_as_sent_for_what_was_asked() {
    const SERVER: Addr = ([192, 0, 2, 10], 27_015);
    const INFO: &str = "ffffffff 54 536f7572636520456e67696e6520517565727900";
    const CHALLENGE: &str = "ffffffff 41 0a08e16f";
    const FACTS: &str = "ffffffff 49 11 4100 6200 6300 6400 f000 01 08 00 64 6c 00 01 312e3000";
    let datagram = |at, from, to, text: &str| udp_frame(START + at, from, to, &hex(text));
    let found = played(&[
        foreign(START),
        datagram(30 * S, CLIENTS[0], SERVER, INFO),
        datagram(30 * S + MS, SERVER, CLIENTS[0], CHALLENGE),
        datagram(30 * S + 2 * MS, CLIENTS[0], SERVER, &format!("{INFO} 0a08e16f")),
        datagram(30 * S + 3 * MS, SERVER, CLIENTS[0], FACTS),
    ]);
    let [case] = records_of_type(&found, "amplification")[..] else { panic!("{found:?}") };
    for (key, value) in [
        ("requests", 2),
        ("request_bytes", 25 + 29),
        ("responses", 2),
        ("response_bytes", 9 + 27),
        ("without_challenge", 0),
    ] {
        assert_eq!(case[key], value, "{key}");
    }
}

/// RakNet's two kinds of ping have the same name in tables; they differ in whether a missing answer is a fault.
#[test]
fn steps_of_one_name_are_one_row() {
    let step = |protocol: &str| {
        let shown = records(&["protocol", "show", protocol, "-T", "ndjson"]);
        shown[0]["steps"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (step("raknet"), step("samp")),
        (vec!["ping".into()], ["query", "ping", "rcon"].map(Value::from).into())
    );
    const SERVER: Addr = ([192, 0, 2, 10], 19_132);
    const REST: &str = "00ffff00fefefefefdfdfdfd12345678";
    let pong = |time| format!("1c {time:016x} 00000000000004d2 {REST} 0003 4d4350");
    let mut raw_frames = vec![foreign(START)];
    for (time, kind) in [(1, "01"), (2, "02")] {
        let at = START + time * 30 * S;
        let ping = format!("{kind} {time:016x} {REST} 0000000000000007");
        raw_frames.push(udp_frame(at, CLIENTS[0], SERVER, &hex(&ping)));
        raw_frames.push(udp_frame(at + MS, SERVER, CLIENTS[0], &hex(&pong(time))));
    }
    let found = played(&raw_frames);
    for (kind, key) in [("response_times", "count"), ("amplification", "requests")] {
        let rows: Vec<_> =
            records_of_type(&found, kind).into_iter().filter(|r| r["step"] == "ping").collect();
        assert!(matches!(&rows[..], [row] if row[key] == 2), "{rows:?}");
    }
}

#[test]
fn copies_and_unsolicited_answers_count_as_sent_and_are_listed_separately() {
    let [poll, state] = polled(30 * S, 7, MS);
    let [_, stray] = polled(31 * S, 8, MS);
    let copy = RawFrame { time: state.time + MS, ..state.clone() };
    let again = RawFrame { time: poll.time + MS / 2, ..poll.clone() };
    let found = played(&[foreign(START), poll, again, state, copy, stray, foreign(START + 90 * S)]);
    let case = records_of_type(&found, "amplification")[0];
    for (key, value) in [
        ("requests", 2),
        ("request_bytes", 26),
        ("responses", 3),
        ("copies", 1),
        ("unasked", 1),
        ("without_challenge", 1),
    ] {
        assert_eq!(case[key], value, "{key}");
    }
    assert_eq!(case["copy_bytes"].as_u64().unwrap() * 3, case["response_bytes"].as_u64().unwrap());
    assert_eq!(case["copy_bytes"], case["unasked_bytes"]);
    let all = records_of_type(&found, "loss")[0];
    for (key, value) in
        [("requests", 1), ("answered", 1), ("retransmissions", 1), ("copies", 1), ("decided", 1)]
    {
        assert_eq!((&all[key], &all["server"]), (&value.into(), &Value::Null), "{key}");
    }
    assert_eq!((&all["copy_percent"], &all["unanswered_percent"]), (&100.0.into(), &0.0.into()));
}

#[test]
fn mirrored_packets_count_once_at_both_endpoints() {
    let mut plain = polled(START, 7, 2 * MS);
    // Only copies with an IP identification can be distinguished from datagrams that were sent twice.
    plain.iter_mut().zip(1..).for_each(|(raw_frame, id)| raw_frame.bytes[19] = id);
    let both = |raw_frame: &RawFrame| {
        [raw_frame.clone(), RawFrame { time: raw_frame.time + MS / 10, ..raw_frame.clone() }]
    };
    let twice: Vec<_> = plain.iter().flat_map(both).collect();
    let (once, found) = (played(&plain), played(&twice));
    let sums = found.last().unwrap();
    assert_eq!((&sums["packets"], &sums["duplicate_frames"]), (&4.into(), &2.into()));
    assert_eq!(records_of_type(&found, "endpoint"), records_of_type(&once, "endpoint"));
    assert_eq!(records_of_type(&found, "loss"), records_of_type(&once, "loss"));
}

#[test]
fn the_hierarchy_has_only_passing_frames() {
    for capture in ["captures/containers/ipfrag.pcap", "captures/hostile/tunnel_tower.pcap", DEMO] {
        for filter in ["udp.port == 1", "direction == s2c", "ip or ipv6"] {
            let found = records(&["stats", "-T", "ndjson", "--only", "hierarchy", "-Y", filter, capture]);
            let frames =
                records_of_type(&found, "hierarchy").first().map_or(0, |all| all["frames"].as_u64().unwrap());
            assert_eq!(found.last().unwrap()["packets"], frames, "{capture} {filter}");
        }
    }
}

#[test]
fn losses_and_the_series_add_up_to_the_summary() {
    for capture in [DEMO, "captures/hostile/stress_pairing.pcapng", "captures/hostile/clock_jumps.pcap"] {
        let found = records(&["stats", "-T", "ndjson", capture]);
        let (summary, losses) = (found.last().unwrap(), records_of_type(&found, "loss"));
        let ticks = records_of_type(&found, "interval");
        let sum = |list: &[&Value], key: &str| list.iter().map(|r| r[key].as_u64().unwrap()).sum::<u64>();
        for key in ["answered", "late", "unanswered", "undecided", "refused", "retransmissions"] {
            assert_eq!(losses[0][key], summary[key], "{capture} {key}");
            assert_eq!(sum(&losses[1..], key), summary[key], "{capture} {key}");
        }
        assert_eq!(
            (&losses[0]["requests"], sum(&ticks, "queries")),
            (&summary["exchanges"], summary["exchanges"].as_u64().unwrap())
        );
        assert_eq!(sum(&ticks, "unanswered"), summary["unanswered"], "{capture}");
        let answers = summary["answered"].as_u64().unwrap() + summary["late"].as_u64().unwrap();
        assert_eq!(sum(&ticks, "answers"), answers, "{capture}");
        assert!(ticks.len() <= 60, "{capture}: {}", ticks.len());
        let frames = records_of_type(&found, "hierarchy")[0]["frames"].clone();
        assert_eq!(frames, summary["packets"], "{capture}");
    }
}

#[test]
fn a_given_interval_is_used() {
    let found = records(&["stats", "-T", "ndjson", "--only", "series", "--interval", "10s", DEMO]);
    let ticks = records_of_type(&found, "interval");
    assert_eq!(ticks.len(), 6);
    assert_eq!(
        (&ticks[0]["start"], &ticks[0]["interval"]),
        (&"2026-11-20T10:32:00.000000000Z".into(), &10.0.into())
    );
    assert_eq!(run(&["stats", "--interval", "0s", DEMO]).status.code(), Some(2));
}

#[test]
fn csv_agrees_with_the_records() {
    for section in SECTIONS {
        let found = records(&["stats", "-T", "ndjson", "--only", section, DEMO]);
        let rows: Vec<_> =
            found.iter().filter(|r| r["type"] != "capture" && r["type"] != "summary").collect();
        let csv = fields(&text(&["stats", "-T", "csv", "--only", section, DEMO]));
        let (head, lines) = csv.split_first().unwrap();
        assert_eq!(lines.len(), rows.len(), "{section}");
        for (line, row) in lines.iter().zip(rows) {
            let keys = row.as_object().unwrap().keys().filter(|key| *key != "type" && *key != "histogram");
            assert_eq!((head[0].as_str(), line[0].as_str()), ("file", DEMO));
            assert!(keys.eq(&head[1..]), "{section}: {head:?}");
            for (key, cell) in head.iter().zip(line).skip(1) {
                match &row[key] {
                    Value::Null => assert_eq!(cell, ""),
                    Value::String(text) => assert_eq!(cell, text),
                    value => assert_eq!(*cell, value.to_string()),
                }
            }
        }
    }
}

#[test]
fn csv_needs_one_section() {
    for only in [&[][..], &["--only", "times,losses"]] {
        let ended = run(&[&["stats", "-T", "csv"], only, &[DEMO]].concat());
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), ended.stdout.len()), (Some(2), 0));
        assert!(stderr.contains("CSV holds one table: name one section"), "{stderr}");
    }
    assert_eq!(text(&["stats", "-T", "csv", "--only", "losses,losses", DEMO]).lines().count(), 1 + 1 + 7);
}

#[test]
fn names_cannot_be_formulas_or_escape_sequences() {
    // SQP's name is `=1+1,"x"` and ESC c.
    let name = "3d312b312c22782263 1b 63";
    let answer = format!("01 80902348 0001 00 00 001c 00000018 0001 0008 0b {name} 0162 0163 0164 1e61");
    let raw_frames = [
        foreign(START),
        c(30 * S, SQP_CHALLENGE),
        s(30 * S + MS, SQP_CHALLENGE_REPLY),
        c(30 * S + 2 * MS, SQP_QUERY),
        s(30 * S + 3 * MS, &answer),
    ];
    let (stats, _) = report(Options { all: true, ..Options::default() }, Stats::new(None), &raw_frames);
    let mut out = vec![];
    stats::csv(&mut out, &stats, Section::Endpoints).unwrap();
    let rows = fields(std::str::from_utf8(&out).unwrap());
    assert_eq!(rows[1][4], "'=1+1,\"x\"c\\x1bc");
    for capture in
        ["sqp_names.pcap", "sat_names.pcap", "sky_names.pcap", "gqp_names.pcap", "ng_hostile_text.pcapng"]
    {
        let capture = format!("captures/hostile/{capture}");
        for args in
            [&["stats"][..], &["stats", "-T", "ndjson"], &["stats", "-T", "csv", "--only", "endpoints"]]
        {
            let out = text(&[args, &[capture.as_str()]].concat());
            let raw = out.replace("\r\n", "\n").chars().find(|&c| c != '\n' && is_hostile(c));
            assert_eq!(raw, None, "{capture} {args:?}");
        }
    }
}

#[test]
fn without_traffic_there_are_no_tables() {
    let empty = "captures/containers/empty_capture.pcap";
    let kinds: Vec<_> =
        records(&["stats", "-T", "ndjson", empty]).iter().map(|r| r["type"].to_string()).collect();
    assert_eq!(kinds, ["\"capture\"", "\"summary\""]);
    assert_eq!(text(&["stats", empty]).lines().count(), 2);
    assert_eq!(text(&["stats", "-T", "csv", "--only", "losses", empty]).lines().count(), 1);
    let missing = run(&["stats", "missing.pcap"]);
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0));
}
