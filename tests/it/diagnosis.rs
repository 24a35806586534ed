//! Diagnosis in every output, and none where nothing is wrong.

use crate::kit::run::qdissect;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

/// A query, and an answer whose numbers are little-endian.
const LITTLE: [&str; 2] = [
    "C: 01 5bd1e995 0001 01",
    "S: 01 5bd1e995 0100 0000 2d00 29000000 0500 2000 0d486172626f7572206e69676874 094672656520726f616d \
     05312e302e33 0450696572 611e",
];
const HELP: &str = "everything fits if numbers are little-endian";
const LINE: &str = "= help: everything fits if numbers are little-endian: \"Harbour night\" \"Free roam\" \"1.0.3\" on \
                    \"Pier\", 5/32, port 7777. SQP is big-endian (Data types)";

/// What the program writes about the lines.
fn hex(lines: &[&str], args: &[&str]) -> String {
    let mut child =
        qdissect().arg("hex").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn trees_and_checks_have_the_line_once() {
    for args in [&[][..], &["-V"], &["--check"]] {
        let text = hex(&LITTLE, args).replace("\n     ", "");
        assert_eq!(text.matches(HELP).count(), 1, "{args:?}: {text}");
    }
    assert!(hex(&LITTLE, &[]).contains(LINE));
}

#[test]
fn every_report_names_the_cause() {
    for format in ["json", "ndjson", "csv", "sarif", "junit", "github", "gitlab", "markdown", "html"] {
        let text = hex(&LITTLE, &["--check", "-T", format]);
        assert!(text.contains(HELP), "{format}: {text}");
    }
}

#[test]
fn packets_and_findings_have_the_same_record() {
    let record = |text: String, kind: &str| {
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut found = records.filter(|r| r["type"] == kind && !r["diagnosis"].is_null());
        found.next().expect("one has it")["diagnosis"].clone()
    };
    let of_packet = record(hex(&LITTLE, &["-T", "ndjson"]), "packet");
    assert_eq!(of_packet["variations"], serde_json::json!(["little_endian"]));
    assert_eq!(of_packet["reading"]["server_info"]["server_name"], "Harbour night");
    assert_eq!(of_packet, record(hex(&LITTLE, &["--check", "-T", "ndjson"]), "finding"));
}

/// A server whose answers are right at times is not a server with a habit.
#[test]
fn one_clean_answer_silences_the_check() {
    let right = "S: 01 5bd1e996 0001 0000 002d 00000029 0005 0020 0d486172626f7572206e69676874 094672656520726f616d \
                 05312e302e33 0450696572 1e61";
    let both = [LITTLE[0], LITTLE[1], "C: 01 5bd1e996 0001 01", right];
    assert!(!hex(&both, &["--check"]).contains(HELP));
    assert!(hex(&both, &[]).contains(HELP), "the message itself has it");
}

/// The captures in which nothing is wrong.
#[test]
fn healthy_captures_have_no_diagnosis() {
    let (mut healthy, mut explained) = (0, vec![]);
    let mut folders = vec![std::path::PathBuf::from("captures")];
    let mut paths = vec![];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    for path in paths {
        let output = qdissect().args(["dump", "-T", "ndjson"]).arg(&path).output().unwrap();
        let records = String::from_utf8_lossy(&output.stdout).into_owned();
        let records: Vec<Value> =
            records.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let is_bad = |f: &Value| f["severity"] != "note";
        let findings = |r: &Value| r["findings"].as_array().is_some_and(|all| all.iter().any(is_bad));
        if records.iter().any(findings) {
            continue;
        }
        healthy += 1;
        explained.extend(
            records.iter().filter(|r| !r["diagnosis"].is_null()).map(|r| (path.clone(), r["frame"].clone())),
        );
    }
    assert!(healthy > 20, "{healthy} are healthy");
    assert!(explained.is_empty(), "{explained:?}");
}

#[test]
fn the_new_notes_are_in_no_capture() {
    const NOTES: [&str; 6] =
        ["A2S-INF-007", "A2S-PLY-006", "A2S-PLY-007", "RAK-PON-004", "RAK-MOT-008", "SAMP-STR-001"];
    let select = NOTES.join(",");
    let output = qdissect().args(["check", "-T", "csv", "--select", &select, "captures"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
}
