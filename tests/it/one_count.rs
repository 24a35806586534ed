//! Every command counts the same of one input, whatever it shows and however full its tables are.

use crate::kit::play::{MS, RawFrame, START, udp_frame};
use crate::kit::run::qdissect;
use crate::kit::{captures, frames};
use qdissect::rule::hex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// What a command prints, and what it says on standard error.
fn printed(args: &[&str], paths: &[&Path]) -> (String, String) {
    let output = qdissect().args(args).arg("--no-config").args(paths).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The records that a command prints, and what it says on standard error.
fn records(args: &[&str], paths: &[&Path]) -> (Vec<Value>, String) {
    let (lines, said) = printed(args, paths);
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), said)
}

/// The data in the page of `report`.
fn reported(args: &[&str], paths: &[&Path]) -> Value {
    let (page, _) = printed(&[&["report"], args].concat(), paths);
    let (_, data) = page.split_once("id=\"data\">").expect("a page has data");
    serde_json::from_str(data.split_once("</script>").expect("they end").0).unwrap()
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

/// Compares what all commands count of captures.
#[track_caller]
fn compare(paths: &[&Path], more: &[&str]) {
    let run = |args: &[&str]| records(&[args, more].concat(), paths);
    let at = paths[0].display();
    let (checked, of_check) = run(&["check", "-T", "ndjson", "--show", "note"]);
    let (summed, _) = run(&["summary", "-T", "ndjson"]);
    let (dumped, said) = run(&["dump", "-T", "ndjson"]);
    let (listed, _) = run(&["exchanges", "-T", "ndjson"]);
    let (stats, stats_said) = run(&["stats", "-T", "ndjson"]);
    // There is no page of a file that is no capture.
    let is_read = summary(&checked)["files"] != 0;
    let page = if is_read { vec![reported(more, paths)["summary"].clone()] } else { checked.clone() };
    let all = [
        ("summary", &summed),
        ("dump", &dumped),
        ("exchanges", &listed),
        ("stats", &stats),
        ("report", &page),
    ];
    for (name, records) in all {
        for key in KEYS {
            assert_eq!(summary(records)[key], summary(&checked)[key], "{at}: {key} of {name}");
        }
    }
    let counts = |records: &[Value]| summary(records)["finding_counts"].clone();
    assert_eq!(counts(&summed), counts(&checked), "{at}: summary");
    assert_eq!(counts(&page), counts(&checked), "{at}: report");
    #[cfg(feature = "parquet")]
    exported::compare(paths, more, &checked, &summed);
    assert_eq!(said.contains("judge that at the end"), stats_said.contains("judge that at the end"), "{at}");
    if said.contains("judge that at the end") || of_check.contains("have only answers in the capture") {
        return; // then they count otherwise
    }
    for (name, records) in [("dump", &dumped), ("exchanges", &listed), ("stats", &stats)] {
        assert_eq!(counts(records), counts(&checked), "{at}: {name}");
    }
    let broken: BTreeMap<_, _> = summed
        .iter()
        .filter(|r| r["type"] == "rule")
        .map(|r| (r["id"].as_str().unwrap().to_owned(), r["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(broken, times(&dumped), "{at}: times of rules");
}

#[cfg(feature = "parquet")]
mod exported {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{RecordBatch, StringArray};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::fs::File;

    fn table(folder: &Path, name: &str) -> Vec<RecordBatch> {
        let file = File::open(folder.join(name).join("part-00000.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        reader.map(Result::unwrap).collect()
    }

    /// A label of each row; nothing where there is none.
    fn labels(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
        let column = batch.column_by_name(name).unwrap().as_dictionary::<Int32Type>();
        let labels = column.downcast_dict::<StringArray>().unwrap();
        labels.into_iter().map(|label| label.map(str::to_owned)).collect()
    }

    fn numbers(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
        batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter().collect()
    }

    /// Frame, rule and severity of a finding, and frame and rule of its cause.
    type Row = (Option<i64>, [Option<String>; 2], Option<i64>, Option<String>);

    fn rows(batch: &RecordBatch) -> Vec<Row> {
        let [rules, severities, causes] =
            ["rule", "severity", "caused_by_rule"].map(|name| labels(batch, name));
        let [frames, cause_frames] = ["frame", "caused_by_frame"].map(|name| numbers(batch, name));
        let row = |n: usize| {
            let labels = [rules[n].clone(), severities[n].clone()];
            (frames[n], labels, cause_frames[n], causes[n].clone())
        };
        (0..batch.num_rows()).map(row).collect()
    }

    fn row(record: &Value) -> Row {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let cause = &record["caused_by"];
        let labels = [text(&record["rule"]), text(&record["severity"])];
        (record["frame"].as_i64(), labels, cause["frame"].as_i64(), text(&cause["rule"]))
    }

    /// Compares the tables of `export` with the records of `check` and of the summary.
    #[track_caller]
    pub fn compare(paths: &[&Path], more: &[&str], checked: &[Value], summed: &[Value]) {
        let at = paths[0].display();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("tables");
        let (_, said) = printed(&[&["export", "--to", to.to_str().unwrap()], more].concat(), paths);
        assert!(!said.contains("judge that at the end"), "{at}: {said}");
        let of = |name| table(&to, name);
        let len = |batches: &[RecordBatch]| batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        let (exchanges, all) = (of("exchanges"), summary(checked));
        assert_eq!(len(&of("messages")), all["recognised"], "{at}: messages");
        assert_eq!(len(&exchanges), all["exchanges"], "{at}: exchanges");
        let outcomes: Vec<_> =
            exchanges.iter().flat_map(|batch| labels(batch, "outcome")).map(Option::unwrap).collect();
        for name in ["answered", "late", "unanswered", "undecided", "refused"] {
            let count = outcomes.iter().filter(|outcome| *outcome == name).count();
            assert_eq!(count, all[name], "{at}: {name}");
        }
        let mut found: Vec<_> = of("findings").iter().flat_map(rows).collect();
        let mut expected: Vec<_> = checked.iter().filter(|r| r["type"] == "finding").map(row).collect();
        found.sort();
        expected.sort();
        let other = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!((found.len(), other), (expected.len(), None), "{at}: findings");
        let servers = of("servers");
        let translated = servers.iter().flat_map(|batch| {
            let column = batch.column_by_name("translated_to").unwrap().as_string::<i32>();
            column.into_iter().map(|end| end.map(str::to_owned)).collect::<Vec<_>>()
        });
        let expected = summed.iter().filter(|r| r["type"] == "server").map(|r| r["translated_to"].as_str());
        assert!(translated.eq(expected.map(|end| end.map(str::to_owned))), "{at}: translated addresses");
        let sum = |name: &str| {
            servers.iter().flat_map(|batch| numbers(batch, name)).map(Option::unwrap).sum::<i64>()
        };
        for severity in ["error", "warning", "note"] {
            let is_counted =
                |(.., labels, _, cause): &&Row| cause.is_none() && labels[1].as_deref() == Some(severity);
            let count = found.iter().filter(is_counted).count();
            assert_eq!(count, all["finding_counts"][severity], "{at}: {severity}");
            // Of servers without a row, the findings are in none.
            if all["servers_refused"] == 0 {
                assert_eq!(sum(&format!("{severity}s")), count as i64, "{at}: {severity} of servers");
            }
        }
    }
}

#[test]
fn every_command_counts_the_same_of_every_capture() {
    for path in captures::own() {
        compare(&[&path], &[]);
    }
}

/// Writes frames as a capture.
fn written(folder: &Path, name: &str, frames: Vec<RawFrame>) -> PathBuf {
    let kept = |RawFrame { time, link, wire_len, bytes }| frames::Kept { time, link, wire_len, bytes };
    let path = folder.join(name);
    std::fs::write(&path, frames::pcap(&frames.into_iter().map(kept).collect::<Vec<_>>())).unwrap();
    path
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
    let path = written(folder.path(), "crowd.pcap", crowd());
    let (records, _) = records(&["check", "-T", "ndjson", "--memory", "1"], &[&path]);
    let full = |key| summary(&records)[key].as_u64().unwrap() > 0;
    assert!(full("waiting_overflow") && full("servers_refused"), "{}", summary(&records));
    for more in [&["--memory", "1"][..], &[], &["--memory", "1", "--threads", "2"]] {
        compare(&[&path], more);
    }
}

/// Requests to a server that is down, answers without requests, a server that answers only with challenges, and a flood; the
/// second half continues the first.
fn judged_at_the_end() -> [Vec<RawFrame>; 2] {
    let info = "ffffffff 54 'Source Engine Query' 00";
    let challenge = "ffffffff 41 01020304";
    let answer = "ffffffff 49 11 'Lab' 00 'b' 00 'c' 00 'd' 00 f000 01 20 00 'dl' 00 01 '1' 00";
    let client = ([10, 1, 0, 1], 30_000);
    let server = |n| ([10, 2, 0, n], 27_015);
    [0_i64, 1].map(|half| {
        let mut frames = vec![];
        for n in 0..4_i64 {
            let time = START + (half * 4 + n) * 10_000 * MS;
            let mut send = |after: i64, from, to, text: &str| {
                frames.push(udp_frame(time + after * MS, from, to, &hex(text)));
            };
            send(0, client, server(1), info);
            send(1, server(2), ([10, 1, 0, 2], 30_000), "01 11111111 0000 00 00 0007 00000003 0001 02 03");
            send(2, client, server(3), info);
            send(3, server(3), client, challenge);
            send(4, client, server(3), &format!("{info} 01020304"));
            send(5, server(3), client, challenge);
            send(
                6,
                server(4),
                ([10, 1, 0, 3], 30_000),
                "d5f6 01 01 0102030405060708 03 7a960500 0000000000000000 00 0300 466162 01",
            );
            for k in 0..40 {
                send(20 + k * 4, ([10, 1, 0, 4], 30_000), server(5), info);
                send(22 + k * 4, server(5), ([10, 1, 0, 4], 30_000), answer);
            }
        }
        frames
    })
}

#[test]
fn what_is_judged_at_the_end_is_the_same_in_several_files_and_with_options() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = judged_at_the_end();
    let paths = [written(folder.path(), "a.pcap", first), written(folder.path(), "b.pcap", second)];
    let both = [paths[0].as_path(), &paths[1]];
    let (checked, _) = records(&["check", "-T", "ndjson", "--show", "note"], &both);
    for rule in ["GEN-009", "GEN-011", "GEN-014"] {
        assert!(checked.iter().any(|r| r["rule"] == rule), "{rule} is missing: {checked:#?}");
    }
    assert!(summary(&checked)["one_sided_servers"].as_u64() > Some(0), "{}", summary(&checked));
    for more in [&[][..], &["--per-file"], &["--min-confidence", "high"], &["-Y", "udp.port == 27015"]] {
        compare(&both, more);
        compare(&both[..1], more);
    }
}

/// A query that waits, because its conversation may become another one's, breaks a rule that explains why it has no answer.
#[test]
fn a_waiting_request_explains_its_missing_answer_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let (client, server, other) =
        (([192, 0, 2, 1], 40_001), ([198, 51, 100, 1], 27_100), ([198, 51, 100, 1], 7_777));
    let sent = [
        (0, client, server, "0000000000"),
        (1, server, client, "0080902348"),
        (2, client, server, "0180902348000101"),
        (3, client, server, "0180902348000101"),
        (4, client, server, "6563686f1e61006204"),
        (1_019, client, server, "00"),
        (1_210, client, other, "0000000000"),
        (1_401, other, client, "0080902348"),
        (1_592, client, other, "0180902348000101"),
        (1_783, other, client, "01809023480001000000120000000e0001000801410162016301641e61"),
        (1_791, client, server, "00"),
        (2_003, client, server, "0180902348"),
        (7_027, other, client, "d5f60101efcdab8967452301"),
    ];
    let frames = sent.map(|(at, from, to, text)| udp_frame(START + at * MS, from, to, &hex(text)));
    compare(&[&written(folder.path(), "waiting.pcap", frames.into())], &[]);
}
