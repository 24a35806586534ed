//! Who listed whom: what `dump`, `stats` and `server` say of masters, their lists and heartbeats.

use crate::kit::play::{CLIENTS, MS, RawFrame, S, SERVER_ADDR, START, everything, foreign, lines, udp_frame};
use crate::kit::run::{parsed, qdissect};
use qdissect::rule::hex;
use serde_json::{Value, json};

const FAMILIES: &str = "captures/masters/families_and_faults.pcap";

/// What a run writes, and its exit code.
fn run(args: &[&str]) -> (String, Option<i32>) {
    let output = qdissect().args(args).output().expect("it runs");
    (String::from_utf8(output.stdout).expect("UTF-8"), output.status.code())
}

fn records(args: &[&str]) -> Vec<Value> {
    parsed(&qdissect().args(args).output().expect("it runs"), 0)
}

fn packets(frames: &[RawFrame]) -> Vec<Value> {
    let all = [&[foreign(START - 60 * S)], frames, &[foreign(START + 60 * S)]].concat();
    let text = lines(everything(), &all);
    text.lines()
        .map(|line| line.parse::<Value>().expect("a record is JSON"))
        .filter(|r| r["type"] == "packet")
        .collect()
}

#[test]
fn a_heartbeat_names_its_game_server() {
    // What is sent, and the port of the game, where it is not the one that sends.
    let beats = [
        ("ffffffff 'heartbeat QuakeArena-1' 0a", None),
        (r"ffffffff 'heartbeat' 0a '\hostname\Lab' 0a", None),
        ("'a' 0a '17' 0a '3' 0a", None),
        (r"'\heartbeat\7778\gamename\ut'", Some(7778)),
        (r"'\heartbeat\seven\gamename\ut'", None),
        ("03 01020304 'localip0' 00 '10.0.0.1' 00 'gamename' 00 'ut' 00 00", None),
        (r"30 0a '\protocol\7\challenge\1' 0a", None),
        ("ffff 'heartbeat' 00", None),
        ("ff*10 'bea2' 206f", Some(8303)),
        ("1600 04 'OpenTTDRegister' 00 01 8b0f", Some(3979)),
    ];
    for (text, port) in beats {
        let found = packets(&[udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(text))]);
        let ([a, b, c, d], own) = CLIENTS[0];
        let expected = format!("{a}.{b}.{c}.{d}:{}", port.unwrap_or(own));
        let of: Vec<_> = found.iter().filter_map(|packet| packet.get("heartbeat_of")).collect();
        assert_eq!(of, [&json!(expected)], "{text}");
    }
    // Nothing else names one.
    for other in ["ffffffff 'getservers 68'", "ffffffff 'getstatus'", "62 0a"] {
        let found = packets(&[udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(other))]);
        assert!(found.iter().all(|packet| packet.get("heartbeat_of").is_none()), "{other}");
    }
}

#[test]
fn dump_says_which_servers_a_list_holds() {
    let (output, _) = run(&["dump", "-Y", "masters", FAMILIES]);
    for part in [
        "[lists 198.51.2.1:27960 and 1 more]",
        "[lists 198.51.2.5:26002]",
        "heartbeat [heartbeat of 198.51.2.61:23001]",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let of_list =
        records(&["dump", "-T", "ndjson", "-Y", r#"masters.servers == "198.51.2.7:27960""#, FAMILIES]);
    let frames: Vec<_> = of_list.iter().filter(|r| r["type"] == "packet").map(|r| &r["frame"]).collect();
    assert_eq!(frames, [10]);
}

#[test]
fn servers_in_lists_have_no_rows_of_their_own() {
    let summary = records(&["summary", "-T", "ndjson", FAMILIES]);
    let servers: Vec<_> = summary.iter().filter(|r| r["type"] == "server").collect();
    let listed = |r: &&&Value| r["server"].as_str().is_some_and(|server| server.starts_with("198.51.2."));
    // One of them was asked by its master.
    let asked: Vec<_> = servers.iter().filter(listed).map(|r| (&r["server"], &r["protocol"])).collect();
    assert_eq!(asked, [(&json!("198.51.2.1:27960"), &json!("quake3"))]);
    let masters: Vec<_> = servers.iter().filter(|r| r["protocol"] == "masters").map(|r| &r["game"]).collect();
    assert_eq!(masters, [&json!("quake3"), &json!("valve"), &json!("quake2"), &Value::Null]);
}

#[test]
fn stats_have_a_table_of_who_listed_whom() {
    let rows = records(&["stats", "-T", "ndjson", "--only", "listings", FAMILIES]);
    let rows: Vec<_> = rows.into_iter().filter(|r| r["type"] == "listing").collect();
    let counts = |server: &str, master: &str| {
        let row = rows.iter().find(|r| r["server"] == server && r["master"] == master);
        row.map(|r| (r["lists"].as_u64().unwrap(), r["heartbeats"].as_u64().unwrap(), r["protocol"].clone()))
    };
    let masters = json!("masters");
    assert_eq!(counts("198.51.2.3:26000", "192.0.2.50:27950"), Some((1, 1, masters.clone())));
    assert_eq!(counts("198.51.2.30:27500", "192.0.2.52:27000"), Some((1, 1, masters.clone())));
    assert_eq!(counts("198.51.2.61:23001", "192.0.2.53:27900"), Some((0, 1, masters.clone())));
    assert_eq!(counts("[2001:db8::]:27960", "192.0.2.50:27950"), Some((2, 0, masters)));
    assert_eq!(counts("0.0.0.0:0", "192.0.2.51:27011"), None, "the end of a list is no server");
    // Those of other protocols, in the same table.
    for (file, protocol) in [
        ("captures/teeworlds/dialects_and_faults.pcap", "teeworlds"),
        ("captures/doom3/games_and_faults.pcap", "doom3"),
        ("captures/openttd/versions_and_faults.pcap", "openttd"),
    ] {
        let rows = records(&["stats", "-T", "ndjson", "--only", "listings", file]);
        let listed = rows.iter().filter(|r| r["type"] == "listing" && r["protocol"] == protocol);
        assert!(listed.map(|r| r["lists"].as_u64().unwrap()).sum::<u64>() > 0, "{file}");
    }
}

#[test]
fn server_says_who_listed_it() {
    let said = |server: &str| run(&["server", server, FAMILIES]);
    let (asked, code) = said("198.51.2.1");
    assert_eq!(code, Some(0));
    assert!(asked.contains("198.51.2.1:27960 listed by 192.0.2.50:27950 at 2026-09-21T"), "{asked}");
    let (only_listed, code) = said("198.51.2.5");
    assert_eq!(code, Some(3));
    assert!(only_listed.starts_with("Nobody asks 198.51.2.5 "), "{only_listed}");
    assert!(only_listed.contains("198.51.2.5:26002 listed by"), "{only_listed}");
    let (told, _) = said("198.51.2.60");
    assert!(told.contains("198.51.2.60:7778 told 192.0.2.53:27900 of itself at"), "{told}");
    assert!(told.contains("198.51.2.60 is never listed in this capture"), "{told}");
    let (master, _) = said("192.0.2.51");
    assert!(master.contains("192.0.2.51:27011 lists 3 servers"), "{master}");
    assert!(!master.contains("never listed"), "{master}");
    let (stranger, code) = said("203.0.113.77");
    assert_eq!(code, Some(3));
    assert!(stranger.contains("203.0.113.77 is never listed in this capture"), "{stranger}");
    // Where no master says anything, there is nothing to say.
    let (without, _) = run(&["server", "192.0.2.10", "captures/demo.pcapng"]);
    assert!(!without.contains("listed"), "{without}");
    let record = records(&["server", "-T", "ndjson", "198.51.2.1", FAMILIES]);
    let all = record[0]["listed_by"].as_array().expect("a list");
    let listed_by = all.iter().find(|r| r["server"] == "198.51.2.1:27960").expect("it is there");
    assert_eq!(
        [&listed_by["server"], &listed_by["master"], &listed_by["protocol"], &listed_by["heartbeats"]],
        [&json!("198.51.2.1:27960"), &json!("192.0.2.50:27950"), &json!("masters"), &json!(1)]
    );
}

#[test]
fn a_list_in_parts_has_one_end() {
    let part = |text: &str| format!(r"ffffffff 'getserversResponse\' {text}");
    let (end, plain) = (part(r"c0000222 6d38 '\EOT' 000000"), part("c0000223 6d38"));
    let ask = "ffffffff 'getservers 68'";
    for (answers, broken) in [
        (&[&end[..]][..], false),
        (&[&plain, &end], false),
        // UDP may change the order, and old masters end each part.
        (&[&end, &plain], false),
        (&[&end, &part(r"c0000224 6d38 '\EOT' 000000")], false),
        (&[&plain], true),
        (&[&plain, &part("c0000224 6d38")], true),
    ] {
        let mut frames = vec![udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(ask))];
        for (n, answer) in (1..).zip(answers) {
            frames.push(udp_frame(START + n * 20 * MS, SERVER_ADDR, CLIENTS[0], &hex(answer)));
        }
        let all = [&[foreign(START - 60 * S)], &frames[..], &[foreign(START + 60 * S)]].concat();
        let text = lines(everything(), &all);
        let records: Vec<Value> = text.lines().map(|line| line.parse().expect("a record is JSON")).collect();
        let paired = records.iter().filter(|r| r["type"] == "packet" && r["request_frame"] == 2).count();
        assert_eq!(paired, answers.len(), "{answers:?}");
        let exchange = records.iter().find(|r| r["type"] == "exchange").expect("there is one");
        let rules: Vec<_> = exchange["findings"].as_array().unwrap().iter().map(|f| &f["rule"]).collect();
        assert_eq!(rules.contains(&&json!("MST-RSP-002")), broken, "{answers:?}");
        assert_eq!(exchange["outcome"], "answered");
    }
    // A list that is cut is not blamed twice.
    let frames = [
        udp_frame(START, CLIENTS[0], SERVER_ADDR, &hex(ask)),
        udp_frame(START + MS, SERVER_ADDR, CLIENTS[0], &hex(&part("c00002"))),
    ];
    let all = [&[foreign(START - 60 * S)], &frames[..], &[foreign(START + 60 * S)]].concat();
    let text = lines(everything(), &all);
    let records: Vec<Value> = text.lines().map(|line| line.parse().expect("a record is JSON")).collect();
    let exchange = records.iter().find(|r| r["type"] == "exchange").expect("there is one");
    let finding = &exchange["findings"][0];
    assert_eq!(
        (&finding["rule"], &finding["caused_by"]["rule"]),
        (&json!("MST-RSP-002"), &json!("MST-RSP-001"))
    );
}
