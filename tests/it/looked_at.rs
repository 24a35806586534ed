//! What `check` looked at: nothing is no verdict, and what is seen twice is no new thing.

use crate::kit::run::qdissect;
use std::fs;
use std::process::Output;

const DEMO: &str = "captures/demo.pcapng";

fn check(args: &[&str]) -> Output {
    qdissect().args(["check", "--no-config", "--fail-on", "never"]).args(args).output().unwrap()
}

#[test]
fn a_check_that_looked_at_nothing_says_why_and_ends_with_3() {
    for (args, why) in [
        (&["-Y", "ip.addr == 203.0.113.99"][..], "None of the query traffic in the input passes the filter."),
        (&["--protocol", "gqp", "-c", "12"], "There is no query traffic in the input."),
        (
            &["--select", "GQP", "-c", "12"],
            "No rule that --select and --ignore leave is for what the input holds, which is sqp, satisfactory, skycoop.",
        ),
        (
            &["--ignore", "GEN,SQP,SFQ,SKY,GQP"],
            "No rule that --select and --ignore leave is for what the input holds",
        ),
    ] {
        let output = check(&[args, &[DEMO]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
        let lifted = check(&[args, &["--allow-empty", DEMO]].concat());
        assert_eq!((lifted.status.code(), lifted.stderr.as_slice()), (Some(0), &[][..]), "{args:?}");
    }
    assert_eq!(check(&["--select", "SQP-STR", DEMO]).status.code(), Some(0));
}

/// Rules and counts of what is found in captures.
fn found(captures: &[&str]) -> Vec<(String, u64)> {
    let output = check(&[&["-T", "ndjson"], captures].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rules = records.filter(|record| record["type"] == "rule" && record["count"] != 0);
    rules.map(|rule| (rule["id"].as_str().unwrap().to_owned(), rule["count"].as_u64().unwrap())).collect()
}

#[test]
fn copies_of_a_capture_have_its_findings_as_often_and_no_others() {
    for name in [DEMO, "captures/sqp/fake_badutf8.pcap", "captures/containers/ng_spb.pcapng"] {
        let folder = tempfile::tempdir().unwrap();
        let copies: Vec<_> = (0..5).map(|n| folder.path().join(format!("{n}.pcap"))).collect();
        copies.iter().for_each(|copy| assert!(fs::copy(name, copy).is_ok()));
        let copies: Vec<_> = copies.iter().map(|copy| copy.to_str().unwrap()).collect();
        let alone: Vec<_> = found(&[name]).into_iter().map(|(rule, count)| (rule, 5 * count)).collect();
        assert_eq!(found(&copies), alone, "{name}");
    }
}
