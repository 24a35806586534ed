//! `-Y` and columns from outside: the passing packets agree with the records for any input and output.

mod columns;
mod rows;

use crate::kit::run::{parsed, qdissect};
use qdissect::protocols::Id;
use rows::ROWS;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use tempfile::{TempDir, tempdir};

const DEMO: &str = "captures/demo.pcapng";
/// Many files, each with its own frame numbers.
const ALL: &[&str] = &[
    DEMO,
    "captures/sqp",
    "captures/satisfactory",
    "captures/skycoop",
    "captures/gqp",
    "captures/containers/vlan.pcap",
];

/// The records of `dump` with further arguments.
#[track_caller]
fn dumped(args: &[&str], files: &[&str]) -> Vec<Value> {
    let output = qdissect().args(["dump", "--no-config", "-T", "ndjson"]).args(args).args(files).output();
    parsed(&output.unwrap(), 0)
}

/// The packets that match a row, and the exchanges that match it or contain such a packet. Packets after the end of an exchange,
/// such as copies or further parts, do not count for it.
fn expected(records: &[Value], row: &rows::Row) -> Vec<Value> {
    let mut exchanges: HashSet<u64> = HashSet::new();
    let mut passes = |r: &&Value| match r["type"].as_str() {
        Some("packet") => {
            let passes = (row.packet)(r);
            exchanges.extend(r["exchange"].as_u64().filter(|_| passes));
            passes
        }
        Some("exchange") => {
            r["id"].as_u64().is_some_and(|id| exchanges.contains(&id)) || row.exchange.is_some_and(|e| e(r))
        }
        Some("summary") => false,
        _ => true,
    };
    records.iter().filter(&mut passes).cloned().collect()
}

fn without_files(mut records: Vec<Value>) -> Vec<Value> {
    records.retain(|r| r["type"] != "capture");
    records
}

/// The records without the summary, which counts passing packets.
fn without_counts(mut records: Vec<Value>) -> Vec<Value> {
    records.retain(|r| r["type"] != "summary");
    records
}

fn in_folder(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn records_pass_if_the_filter_is_true_for_them() {
    let all = dumped(&["--all"], ALL);
    assert!(all.len() > 500, "{} records", all.len());
    for row in ROWS {
        let (passed, expected) = (dumped(&["--all", "-Y", row.filter], ALL), expected(&all, row));
        let packet_count = expected.iter().filter(|r| r["type"] == "packet").count();
        assert!((1..all.len() / 2).contains(&packet_count), "{} tells {packet_count} packets", row.filter);
        // The record of a file comes before the first record that refers to it, or with that of the next file.
        let (passed, expected) = (without_files(without_counts(passed)), without_files(expected));
        let differs = passed.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((differs, passed.len()), (None, expected.len()), "{}", row.filter);
    }
}

#[test]
fn without_all_only_packets_of_protocols_pass() {
    let (claimed, all) =
        (dumped(&["-Y", "ip or ipv6"], &[DEMO]), dumped(&["--all", "-Y", "ip or ipv6"], &[DEMO]));
    assert!(all.len() > claimed.len());
    assert_eq!(without_counts(claimed), without_counts(dumped(&[], &[DEMO])));
    assert_eq!(without_counts(all), without_counts(dumped(&["--all"], &[DEMO])));
}

#[test]
fn exchanges_pass_by_themselves_or_by_their_packets() {
    let exchanges = |args: &[&str]| -> Vec<Value> {
        let output =
            qdissect().args(["exchanges", "--no-config", "-T", "ndjson"]).args(args).args(ALL).output();
        parsed(&output.unwrap(), 0)
    };
    let (all, packets) = (exchanges(&[]), dumped(&[], ALL));
    for row in ROWS {
        let of = |records: &[Value]| -> Vec<u64> {
            let exchanges = records.iter().filter(|r| r["type"] == "exchange");
            exchanges.filter_map(|r| r["id"].as_u64()).collect()
        };
        let mut expected = of(&expected(&packets, row));
        let mut passed = of(&exchanges(&["-Y", row.filter]));
        expected.sort_unstable();
        passed.sort_unstable();
        assert_eq!(passed, expected, "{}", row.filter);
    }
    assert!(all.len() > 100);
}

/// A remark that is made once for each server belongs to the first packet that causes it, in every report.
#[test]
fn every_subcommand_passes_the_same_packets() {
    let counts = |command: &str, filter: &str| {
        let never = if command == "check" { &["--fail-on", "never"][..] } else { &[] };
        let args = [command, "--no-config", "-T", "ndjson", "-Y", filter, DEMO];
        let summary = parsed(&qdissect().args(args).args(never).output().unwrap(), 0).pop().unwrap();
        ["packets", "recognised", "exchanges", "answered", "finding_counts"].map(|key| summary[key].clone())
    };
    for filter in ["finding", "severity >= warning", "not finding", "frame.number > 10", "players > 3"] {
        let dumped = counts("dump", filter);
        for command in ["summary", "exchanges", "stats", "check"] {
            assert_eq!(counts(command, filter), dumped, "{command} {filter}");
        }
    }
}

#[test]
fn standard_input_and_files_pass_the_same_packets() {
    for filter in ["sqp and udp.port == 7777", "frame contains \"West\"", "exchange.outcome == late"] {
        let args = ["dump", "--no-config", "-T", "ndjson", "-Y", filter, "-"];
        let output = qdissect().args(args).stdin(File::open(DEMO).unwrap()).output().unwrap();
        let (piped, read) = (parsed(&output, 0), dumped(&["-Y", filter], &[DEMO]));
        assert!(piped.len() > 2, "{filter}");
        let plain = |records: &[Value]| {
            let mut records = records.to_vec();
            records.iter_mut().for_each(|r| r["file"] = "x".into());
            records
        };
        assert_eq!(plain(&piped), plain(&read), "{filter}");
    }
}

/// Times and payloads of frames, which do not depend on the file.
fn frames(args: &[&str], file: &str) -> String {
    let columns = ["-T", "fields", "-e", "frame.time_epoch", "-e", "eth.src", "-e", "udp.payload"];
    let output =
        qdissect().args(["dump", "--no-config", "--all"]).args(columns).args(args).arg(file).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn only_passing_packets_are_written() {
    let folder = tempdir().unwrap();
    for filter in
        ["sqp", "eth.src == 02:00:5e:00:53:10", "udp.length > 40 or severity >= warning", "frame.number > 90"]
    {
        let to = in_folder(&folder, "passed.pcapng");
        let args = ["dump", "--no-config", "--all", "-q", "-Y", filter, "-w", &to, "--annotate", DEMO];
        let output = qdissect().args(args).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{filter}");
        let written = frames(&[], &to);
        assert_eq!(written, frames(&["-Y", filter], DEMO), "{filter}");
        assert!(written.lines().count() > 3 && written.lines().count() < 80, "{filter}");
    }
}

#[test]
fn a_frame_has_the_number_of_its_file_in_rotated_files_too() {
    let folder = tempdir().unwrap();
    let halves: Vec<String> = [("1.pcapng", "frame.number < 61"), ("2.pcapng", "frame.number >= 61")]
        .iter()
        .map(|(name, filter)| {
            let to = in_folder(&folder, name);
            let output = qdissect().args(["dump", "--all", "-q", "-Y", filter, "-w", &to, DEMO]).output();
            assert_eq!(output.unwrap().status.code(), Some(0));
            to
        })
        .collect();
    let halves: Vec<&str> = halves.iter().map(String::as_str).collect();
    let all = dumped(&[], &halves);
    for row in ROWS {
        let (passed, expected) = (dumped(&["-Y", row.filter], &halves), expected(&all, row));
        assert_eq!(without_files(without_counts(passed)), without_files(expected), "{}", row.filter);
    }
    let first = dumped(&["--all", "-Y", "frame.number == 1"], &halves);
    let packets: Vec<_> = first.iter().filter(|r| r["type"] == "packet").collect();
    assert_eq!(packets.iter().map(|r| &r["frame"]).collect::<Vec<_>>(), [1, 1]);
    let crossing = all.iter().filter(|r| r["type"] == "exchange" && !r["request_file"].is_null());
    assert_eq!(crossing.count(), 0, "the demonstration is cut where nothing is open");
}

#[test]
fn an_invalid_filter_is_reported_before_anything_is_opened() {
    for command in ["dump", "exchanges", "summary", "check", "stats"] {
        let args = [command, "--no-config", "-Y", "udp.prot == 1", "/nowhere/at/all.pcap"];
        let output = qdissect().args(args).output().unwrap();
        let expected = "error: At byte 1 of the filter: There is no field \"udp.prot\"; did you mean udp.port?\n\
                    udp.prot == 1\n^^^^^^^^\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected, "{command}");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{command}");
    }
}

#[test]
fn summary_check_and_stats_count_passing_packets() {
    let run = |args: &[&str]| {
        let output =
            qdissect().args(args).args(["--no-config", "-T", "ndjson", "-Y", "satisfactory", DEMO]).output();
        parsed(&output.unwrap(), if args[0] == "check" { 1 } else { 0 })
    };
    let of = |records: &[Value], kind: &str, key: &str| -> HashSet<String> {
        let records = records.iter().filter(|r| r["type"] == kind);
        records.map(|r| r[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    let only = |name: &str| HashSet::from([name.to_owned()]);
    assert_eq!(of(&run(&["summary"]), "server", "protocol"), only("satisfactory"));
    let check = run(&["check"]);
    assert_eq!(of(&check, "finding", "protocol"), only("satisfactory"));
    let summary = check.last().unwrap();
    assert_eq!((&summary["packets"], &summary["of"]["packets"]), (&22.into(), &108.into()));
    assert_eq!(of(&run(&["stats"]), "response_times", "protocol"), only("satisfactory"));
    let layers = of(&run(&["stats", "--only", "hierarchy"]), "hierarchy", "name");
    assert!(layers.contains("satisfactory"), "{layers:?}");
    assert!(!["sqp", "tcp", "unclaimed", "not_ip"].iter().any(|name| layers.contains(*name)), "{layers:?}");
}

/// A capture whose first answers arrive before the protocol is certain.
const DECIDED_LATE: &str = "captures/gqp/bad_requests.pcapng";

#[test]
fn every_report_passes_the_same_exchanges() {
    for filter in ["frame.number > 0", "direction == s2c", "frame.number in {3..9}"] {
        let passed = ["exchanges", "summary", "stats", "check"].map(|command| {
            let args = [command, "--no-config", "-T", "ndjson", "-Y", filter, DECIDED_LATE];
            let output = qdissect().args(args).output().unwrap();
            let summary = String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned();
            let summary: Value = serde_json::from_str(&summary).unwrap();
            ["exchanges", "answered"].map(|key| summary[key].as_u64().unwrap())
        });
        assert!(passed[0][1] > 2 && passed.iter().all(|p| p == &passed[0]), "{filter}: {passed:?}");
    }
}

#[test]
fn findings_of_everything_are_counted_as_those_that_pass() {
    let args = ["check", "--no-config", "--fail-on", "never", "-T", "ndjson", "-Y", "ip or ipv6", DEMO];
    let records = parsed(&qdissect().args(args).output().unwrap(), 0);
    let summary = records.last().unwrap();
    assert_eq!(summary["finding_counts"], summary["of"]["finding_counts"]);
    let remarks =
        records.iter().filter(|r| r["count"].as_u64().is_some_and(|n| n > 1) && r["type"] == "finding");
    assert!(remarks.count() > 1, "some are found more often than counted");
}

#[test]
fn packets_that_do_not_pass_check_no_rule() {
    let folder = tempdir().unwrap();
    let checked = |args: &[&str]| -> HashSet<String> {
        let page = format!("html={}", in_folder(&folder, "page.html"));
        let each: [&[&str]; 2] = [&[], &["--report", &page]];
        let [plain, beside] = each.map(|report| {
            let args =
                [&["check", "--no-config", "-T", "ndjson", "--fail-on", "never"], args, report].concat();
            let records = parsed(&qdissect().args(args).output().unwrap(), 0);
            let checked =
                |r: &&Value| r["type"] == "rule" && (r["result"] == "pass" || r["result"] == "fail");
            let ids = records.iter().filter(checked).map(|r| r["id"].as_str().unwrap().to_owned());
            ids.collect::<HashSet<_>>()
        });
        assert_eq!(plain, beside, "{args:?}");
        plain
    };
    // A capture of only these packets has the same coverage, because challenge requests do not depend on others.
    let (filter, only) = ("sqp and message == challenge_request", in_folder(&folder, "only.pcapng"));
    let args = ["dump", "--no-config", "-q", "-Y", filter, "-w", &only, DEMO];
    assert_eq!(qdissect().args(args).output().unwrap().status.code(), Some(0));
    let (all, passed) = (checked(&[DEMO]), checked(&["-Y", filter, DEMO]));
    let of_datagrams = |rules: &HashSet<String>| {
        let across = Id::Sqp.info().exchange_rules.iter().map(|rule| rule.id);
        let across: HashSet<_> = across.collect();
        rules.iter().filter(|rule| !across.contains(rule.as_str())).cloned().collect::<HashSet<_>>()
    };
    assert_eq!(of_datagrams(&passed), of_datagrams(&checked(&["-d", "udp.port==7777,sqp", &only])));
    assert!(all.contains("SQP-STR-002") && !passed.contains("SQP-STR-002"), "{passed:?}");
}

#[test]
fn an_empty_filter_lets_everything_pass() {
    let bare = |mut records: Vec<Value>| {
        let summary = records.pop().unwrap();
        (records, summary["recognised"].clone(), summary["exchanges"].clone())
    };
    assert_eq!(bare(dumped(&["-Y", ""], &[DEMO])), bare(dumped(&[], &[DEMO])));
}

#[test]
fn counts_of_passing_packets_are_beside_the_total_counts() {
    let text = |args: &[&str]| {
        let output = qdissect().args(args).args(["--no-config", DEMO]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let line = "56 of 108 packets, 56 of 101 datagrams of query traffic, 28 of 51 exchanges, 27 of 49 answered, 8 of 30 findings";
    assert_eq!(text(&["dump", "-q", "-Y", "sqp"]), format!("{line}\n"));
    let screen = text(&["-Y", "sqp"]);
    for part in [
        ", 56 of 108 packets in ",
        "\n56 of 101 datagrams of query traffic\n",
        "\n28 of 51 exchanges: 26 of 48 answered, 1 of 1 late, 1 of 2 unanswered\n",
        "\nfindings: 1 of 3 errors, 2 of 6 warnings, 5 of 21 notes\n",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(text(&["stats", "-Y", "sqp"]).contains(", 56 of 108 packets in "));
    assert!(text(&["check", "-Y", "sqp"]).ends_with(
        "56 of 101 datagrams of query traffic in 56 of 108 packets: 1 error, 2 warnings, 5 notes.\n"
    ));
    // The totals agree with the records.
    for expression in
        ["sqp", "udp", "!sqp", "exchange.outcome == \"unanswered\"", "rule", "frame.number < 20"]
    {
        let records = dumped(&["--all", "-Y", expression], &[DEMO]);
        let count = |kind: &str| records.iter().filter(|r| r["type"] == kind).count();
        let found: usize = records.iter().filter_map(|r| r["findings"].as_array()).map(Vec::len).sum();
        let summary = records.last().unwrap();
        let counts = &summary["finding_counts"];
        let counted = ["error", "warning", "note"].map(|s| counts[s].as_u64().unwrap()).iter().sum::<u64>();
        let expected_counts = [count("packet"), count("exchange")].map(|n| n as u64);
        assert_eq!(
            ["packets", "exchanges"].map(|key| summary[key].as_u64().unwrap()),
            expected_counts,
            "{expression}"
        );
        assert_eq!(counted, found as u64, "{expression}");
        assert_eq!((&summary["of"]["packets"], &summary["of"]["exchanges"]), (&108.into(), &51.into()));
        assert_eq!(summary["udp"].as_u64(), Some(expected_counts[0]));
    }
}

#[test]
fn a_baseline_cannot_be_updated_with_a_filter() {
    let folder = tempdir().unwrap();
    let baseline = in_folder(&folder, "baseline.json");
    let check = |args: &[&str]| {
        let all = ["check", "--no-config", "--baseline", &baseline, DEMO];
        qdissect().args(all).args(args).output().unwrap()
    };
    assert_eq!(check(&["--update-baseline"]).status.code(), Some(0));
    let before = std::fs::read(&baseline).unwrap();
    let refused = check(&["--update-baseline", "-Y", "gqp"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("without a filter"));
    assert_eq!((refused.status.code(), std::fs::read(&baseline).unwrap()), (Some(2), before));
    let passed = check(&["-Y", "gqp"]);
    assert_eq!(
        (passed.status.code(), passed.stderr.as_slice()),
        (Some(0), &b""[..]),
        "nothing is said to be gone"
    );
}
