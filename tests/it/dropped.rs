//! Reports about captures that dropped packets.

use crate::kit::run::slashes;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

const DEMO: &str = "captures/demo.pcapng";
const REMARK: &str = "The capture dropped 12 packets: a request without an answer may have been answered.\n";
const FINDING: &str = "no answer in time (the capture dropped 12 packets)";

fn run(args: &[&str], capture: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_qdissect")).args(args).arg(capture).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The demo capture, followed by statistics that its first interface dropped 12 packets.
fn lossy() -> Vec<u8> {
    let mut capture = fs::read(DEMO).unwrap();
    let (kind, total) = (5u32.to_le_bytes(), 40u32.to_le_bytes());
    let dropped = [&[5, 0, 8, 0], &12u64.to_le_bytes()[..], &[0; 4]].concat();
    capture.extend([&kind[..], &total, &[0; 12], &dropped, &total].concat());
    capture
}

#[test]
fn missing_answers_are_less_severe_if_the_capture_dropped_packets() {
    let folder = tempdir().unwrap();
    let capture = folder.path().join("lossy.pcapng");
    fs::write(&capture, lossy()).unwrap();
    assert!(run(&["summary"], &capture).contains(REMARK));
    let table = run(&["check"], &capture);
    assert!(table.contains(REMARK) && table.contains(FINDING), "{table}");
    assert!(run(&["check", "-q"], &capture).contains(REMARK));
    assert!(run(&["check", "-Tmarkdown"], &capture).contains(REMARK.trim_end()));
    for format in ["json", "concise", "github", "sarif", "junit", "gitlab"] {
        let report = run(&["check", "-T", format], &capture);
        assert!(report.contains(FINDING), "{format}: {report}");
    }
    // Nothing else changes: findings keep their fingerprints.
    let without = |text: String| text.replace(" (the capture dropped 12 packets)", "").replace(REMARK, "");
    let concise = run(&["check", "-Tconcise"], &capture).replace(&slashes(&capture), DEMO);
    assert_eq!(without(concise), run(&["check", "-Tconcise"], DEMO.as_ref()));
    for args in [&["dump", "-Tndjson"][..], &["exchanges", "-Tndjson"], &["-Tndjson"], &["check", "-Tndjson"]]
    {
        let records = run(args, &capture);
        assert!(records.lines().last().unwrap().contains("\"dropped\":12,"), "{args:?}");
    }
}

#[test]
fn captures_without_drop_counts_get_no_remark() {
    for args in [&["summary"][..], &["check"], &["check", "-Tmarkdown"], &["check", "-Tjson"]] {
        assert!(!run(args, DEMO.as_ref()).contains("dropped 12"), "{args:?}");
        assert!(!run(args, DEMO.as_ref()).contains("The capture dropped"), "{args:?}");
    }
    assert!(run(&["dump", "-Tndjson"], DEMO.as_ref()).contains("\"dropped\":null,"));
}
