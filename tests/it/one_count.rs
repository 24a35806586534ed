//! Every command counts the same of one input, whatever it shows and however full its tables are.

use crate::kit::play::{MS, RawFrame, START, udp_frame};
use crate::kit::run::qdissect;
use crate::kit::{captures, frames};
use qdissect::rule::hex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What is counted: datagrams, exchanges and their outcomes, findings by severity.
const KEYS: [&str; 12] = [
    "packets",
    "udp",
    "recognised",
    "unclaimed",
    "exchanges",
    "answered",
    "late",
    "unanswered",
    "undecided",
    "refused",
    "retransmissions",
    "waiting_overflow",
];

/// The records that a command prints, and what it says on standard error.
fn records(args: &[&str], path: &Path) -> (Vec<Value>, String) {
    let output = qdissect().args(args).arg("--no-config").arg(path).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (records, String::from_utf8(output.stderr).unwrap())
}

fn summary(records: &[Value]) -> &Value {
    records.iter().find(|r| r["type"] == "summary").expect("there is one")
}

/// How often each rule is broken, in the records of packets and exchanges; symptoms and what the same server repeats do not
/// count.
fn times(records: &[Value]) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    let findings = records.iter().filter_map(|r| r["findings"].as_array()).flatten();
    for finding in findings.filter(|f| f["caused_by"].is_null()) {
        *times.entry(finding["rule"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    times
}

/// Compares what all commands count of a capture.
#[track_caller]
fn compare(path: &Path, more: &[&str]) {
    let run = |args: &[&str]| records(&[args, more].concat(), path);
    let (checked, _) = run(&["check", "-T", "ndjson"]);
    let (summed, _) = run(&["summary", "-T", "ndjson"]);
    let (dumped, said) = run(&["dump", "-T", "ndjson"]);
    let (listed, _) = run(&["exchanges", "-T", "ndjson"]);
    let all = [("summary", &summed), ("dump", &dumped), ("exchanges", &listed)];
    for (name, records) in all {
        for key in KEYS {
            assert_eq!(summary(records)[key], summary(&checked)[key], "{}: {key} of {name}", path.display());
        }
    }
    let counts = |records: &[Value]| summary(records)["finding_counts"].clone();
    assert_eq!(counts(&summed), counts(&checked), "{}: summary", path.display());
    if said.contains("judge that at the end") {
        return; // then they count otherwise
    }
    for (name, records) in [("dump", &dumped), ("exchanges", &listed)] {
        assert_eq!(counts(records), counts(&checked), "{}: {name}", path.display());
    }
    let broken: BTreeMap<_, _> = summed
        .iter()
        .filter(|r| r["type"] == "rule")
        .map(|r| (r["id"].as_str().unwrap().to_owned(), r["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(broken, times(&dumped), "{}: times of rules", path.display());
}

#[test]
fn every_command_counts_the_same_of_every_capture() {
    for path in captures::own() {
        compare(&path, &[]);
    }
}

/// More clients and servers than any table with 1 MiB holds, requests that wait for their confirmation, and faults.
fn crowd() -> Vec<RawFrame> {
    let answer = "ffffffff 49 11 'Lab' 00 'b' 00 'c' 00 'd' 00 f000 28 20 00 'dl' 00 01 '1' 00";
    let mut frames = vec![];
    for k in 0..3_000_u32 {
        let [_, _, high, low] = k.to_be_bytes();
        let (client, server) = (([10, 1, high, low], 30_000), ([10, 2, high, low], 27_015));
        let time = START + i64::from(k) * 2 * MS;
        let mut send = |after: i64, to_server: bool, text: &str| {
            let [from, to] = if to_server { [client, server] } else { [server, client] };
            frames.push(udp_frame(time + after * MS, from, to, &hex(text)));
        };
        match k % 3 {
            // A server with more players than it has room for.
            0 => {
                send(0, true, "ffffffff 54 'Source Engine Query' 00");
                send(10, false, answer);
            }
            // Five zero bytes that nothing confirms.
            1 => (0..4).for_each(|n| send(n, true, "00 00000000")),
            _ => send(0, true, "ffffffff 54 'Source Engine Query' 00"),
        }
    }
    frames.sort_by_key(|frame| frame.time);
    frames
}

#[test]
fn every_command_counts_the_same_where_tables_are_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crowd.pcap");
    let kept = |RawFrame { time, link, wire_len, bytes }| frames::Kept { time, link, wire_len, bytes };
    std::fs::write(&path, frames::pcap(&crowd().into_iter().map(kept).collect::<Vec<_>>())).unwrap();
    let (records, _) = records(&["check", "-T", "ndjson", "--memory", "1"], &path);
    let full = |key| summary(&records)[key].as_u64().unwrap() > 0;
    assert!(full("waiting_overflow") && full("servers_refused"), "{}", summary(&records));
    for more in [&["--memory", "1"][..], &[], &["--memory", "1", "--threads", "2"]] {
        compare(&path, more);
    }
}
