//! The input of `check`: without traffic there is no verdict, and repeated captures add no new findings.

use crate::kit::run::{parsed, qdissect};
use qdissect::rule::Severity;
use serde_json::Value;
use std::cmp::Reverse;
use std::fs;
use std::process::Output;

const DEMO: &str = "captures/demo.pcapng";

fn check(args: &[&str]) -> Output {
    qdissect().args(["check", "--no-config", "--fail-on", "never"]).args(args).output().unwrap()
}

#[test]
fn a_check_without_traffic_explains_it_and_ends_with_3() {
    for (args, why) in [
        (&["-Y", "ip.addr == 203.0.113.99"][..], "None of the query traffic in the input passes the filter."),
        (
            &["--protocol", "gqp", "-c", "12"],
            "There is no query traffic in what --protocol and -c leave of the input.",
        ),
        (&["-Y", "sqp", "--require", "gqp"], "There is no traffic of gqp in what -Y leaves of the input."),
        (&["--require", "samp"], "There is no traffic of samp in the input."),
        (
            &["--select", "GQP", "-c", "12"],
            "No rule that --select and --ignore leave is for what the input holds, which is sqp, satisfactory, skycoop.",
        ),
        (
            &["--ignore", "GEN,SQP,SFQ,SKY,GQP,A2S"],
            "No rule that --select and --ignore leave is for what the input holds",
        ),
    ] {
        let output = check(&[args, &[DEMO]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {stderr}");
        assert!(stderr.contains(why), "{args:?}: {stderr}");
        let lifted = check(&[args, &["--allow-empty", DEMO]].concat());
        assert_eq!((lifted.status.code(), lifted.stderr.as_slice()), (Some(0), &[][..]), "{args:?}");
    }
    assert_eq!(check(&["--select", "SQP-STR", DEMO]).status.code(), Some(0));
}

#[test]
fn unlisted_findings_are_counted_for_no_protocol() {
    // One datagram of the first capture breaks more rules than are listed for a datagram.
    let captures = ["captures/hostile/sat_lengths.pcap", "captures/sqp/fake_badutf8.pcap"];
    let printed = |format: &str| {
        let output = check(&[&["-T", format], &captures[..]].concat());
        [output.stdout, output.stderr].concat()
    };
    for format in ["table", "concise", "csv", "github", "gitlab", "markdown"] {
        let printed = String::from_utf8(printed(format)).unwrap();
        assert_eq!(printed.matches(" further findings are not listed").count(), 1, "{format}: {printed}");
    }
    let junit = String::from_utf8(printed("junit")).unwrap();
    assert!(junit.contains("qdissect.sqp") && !junit.contains("<skipped "), "{junit}");
}

/// The rules of the findings in captures, with their counts.
fn found(captures: &[&str]) -> Vec<(String, u64)> {
    let output = check(&[&["-T", "ndjson"], captures].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rules = records.filter(|record| record["type"] == "rule" && record["count"] != 0);
    rules.map(|rule| (rule["id"].as_str().unwrap().to_owned(), rule["count"].as_u64().unwrap())).collect()
}

#[test]
fn each_copy_of_a_capture_adds_the_same_findings() {
    for name in [DEMO, "captures/sqp/fake_badutf8.pcap", "captures/containers/ng_spb.pcapng"] {
        let folder = tempfile::tempdir().unwrap();
        let copies: Vec<_> = (0..5).map(|n| folder.path().join(format!("{n}.pcap"))).collect();
        copies.iter().for_each(|copy| assert!(fs::copy(name, copy).is_ok()));
        let copies: Vec<_> = copies.iter().map(|copy| copy.to_str().unwrap()).collect();
        let alone: Vec<_> = found(&[name]).into_iter().map(|(rule, count)| (rule, 5 * count)).collect();
        assert_eq!(found(&copies), alone, "{name}");
    }
}

#[test]
fn a_thousand_inputs_that_cannot_be_read_are_remembered() {
    let names: Vec<String> = (0..1_002).map(|n| format!("missing-{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let output = check(&[&["-T", "ndjson"], &names[..]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(summary["unread"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1_002);
}

#[test]
fn failing_findings_come_first_and_repeated_ones_are_grouped() {
    let table = String::from_utf8(check(&[DEMO]).stdout).unwrap();
    let heads: Vec<_> = table.lines().filter(|line| line.contains("]: ")).collect();
    let severities: Vec<_> = heads.iter().filter_map(|line| line.split('[').next()).collect();
    assert_eq!(
        severities,
        ["error", "error", "error"].iter().chain(["warning"; 6].iter()).copied().collect::<Vec<_>>()
    );
    assert!(
        table
            .contains("\n21 findings below warning are not listed (--show note lists all): SFQ-SUB-006 10, ")
    );
    let all = String::from_utf8(check(&["--show", "note", DEMO]).stdout).unwrap();
    assert!(all.contains("\n   = and 9 more, in frames ") && !all.contains("not listed"), "{all}");
    assert_eq!(all.matches("note[SFQ-SUB-006]").count(), 1);
    // Findings that fail the check are always listed.
    let strict =
        qdissect().args(["check", "--no-config", "--fail-on", "note", "--show", "error", DEMO]).output();
    assert_eq!(String::from_utf8(strict.unwrap().stdout).unwrap(), all);
    let records = |args: &[&str]| {
        let output = check(&[args, &["-T", "ndjson", DEMO]].concat()).stdout;
        String::from_utf8(output)
            .unwrap()
            .lines()
            .filter(|line| line.contains("\"type\":\"finding\""))
            .count()
    };
    assert_eq!([records(&[]), records(&["--show", "note"]), records(&["--show", "error"])], [30, 30, 3]);
    let rows = |args: &[&str]| {
        String::from_utf8(check(&[args, &["-T", "csv", DEMO]].concat()).stdout).unwrap().lines().count() - 1
    };
    assert_eq!([rows(&[]), rows(&["--show", "warning"]), rows(&["--show", "error"])], [30, 9, 3]);
    for (args, expected) in [
        (&["--show", "error"][..], "Not on this page: 27 further findings."),
        (&["--show", "error", "--select", "SQP-INF"], "Not on this page: 1 further finding."),
        (&["--select", "SQP-CHK"], "There are no findings."),
    ] {
        let page = String::from_utf8(check(&[args, &["-T", "html", DEMO]].concat()).stdout).unwrap();
        assert!(page.contains(expected), "{args:?}");
        assert_eq!(page.contains("There are no findings."), expected.contains("no findings"), "{args:?}");
    }
}

#[test]
fn a_server_has_the_same_counts_wherever_it_is_listed() {
    let summary = qdissect().args(["summary", "--no-config", "-T", "ndjson", DEMO]).output().unwrap();
    let records = parsed(&summary, 0);
    let servers = records.iter().filter(|record| record["type"] == "server").map(|server| {
        let counts = ["error", "warning", "note"].map(|key| server["finding_counts"][key].as_u64().unwrap());
        ([&server["server"], &server["protocol"]].map(|text| text.as_str().unwrap().to_owned()), counts)
    });
    for show in [Severity::Error, Severity::Warning, Severity::Note] {
        let listed = |[error, warning, note]: [u64; 3]| match show {
            Severity::Error => error > 0,
            Severity::Warning => error + warning > 0,
            Severity::Note => error + warning + note > 0,
        };
        let mut expected: Vec<_> = servers.clone().filter(|(_, counts)| listed(*counts)).collect();
        expected.sort_by_key(|(name, counts)| (Reverse(*counts), name.clone()));
        for format in ["table", "markdown"] {
            let output = check(&["--show", show.name(), "-T", format, DEMO]);
            let text = String::from_utf8(output.stdout).unwrap().replace(['|', '`'], " ");
            let mut rows: Vec<_> = text
                .lines()
                .filter_map(|line| {
                    let [server, protocol, error, warning, note] =
                        line.split_whitespace().collect::<Vec<_>>()[..]
                    else {
                        return None;
                    };
                    // The table for people has a dash for none.
                    let number = |text: &str| if text == "-" { Some(0) } else { text.parse().ok() };
                    let counts = [number(error)?, number(warning)?, number(note)?];
                    Some(([server, protocol].map(str::to_owned), counts))
                })
                .collect();
            assert!(rows.is_sorted_by_key(|(_, counts)| Reverse(*counts)), "the worst first: {text}");
            rows.sort_by_key(|(name, counts)| (Reverse(*counts), name.clone()));
            assert_eq!(rows, expected, "{format} {show:?}");
        }
    }
}

#[test]
fn known_findings_are_counted_at_the_end_and_their_rules_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.json");
    let baseline = baseline.to_str().unwrap();
    assert!(check(&["--baseline", baseline, "--update-baseline", DEMO]).status.success());
    let output = qdissect().args(["check", "--no-config", "--baseline", baseline, DEMO]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{table}");
    assert!(table.ends_with("0 errors, 0 warnings, 0 notes; 30 known (baseline).\n"), "{table}");
    assert!(
        table.contains("sqp: 68 rules kept, 0 broken, 8 known, 1 not exercised (98 % checked)"),
        "{table}"
    );
    let two = check(&["--baseline", baseline, "--select", "SFQ-LEG-002,SFQ-SEC-001", DEMO]).stdout;
    let half = "satisfactory: 0 rules kept, 0 broken, 1 known, 1 not exercised (50 % checked)";
    assert!(String::from_utf8(two).unwrap().contains(half), "what is known has been checked");
    let errors = check(&["--baseline", baseline, "--show", "error", DEMO]).stdout;
    assert!(!String::from_utf8(errors).unwrap().contains("below error"), "nobody has to look at them");
    let junit = check(&["--baseline", baseline, "-T", "junit", DEMO]).stdout;
    assert!(
        String::from_utf8(junit).unwrap().contains("<skipped message=\"known: it is in the baseline\"/>")
    );
}

#[test]
fn known_findings_are_listed_last() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.json");
    let (baseline, known) = (baseline.to_str().unwrap(), "captures/sqp/fake_badutf8.pcap");
    assert!(check(&["--baseline", baseline, "--update-baseline", known]).status.success());
    let table =
        String::from_utf8(check(&["--baseline", baseline, "--show", "note,known", known, DEMO]).stdout)
            .unwrap();
    let blocks: Vec<_> = table.split("\n\n").filter(|block| block.contains("\n  --> ")).collect();
    let is_known = |block: &&str| block.contains("known: it is in the baseline");
    let (new, old) = blocks.split_at(blocks.iter().position(&is_known).unwrap());
    assert!(old.iter().all(is_known) && old[0].starts_with("error"), "{table}");
    assert!(new.last().is_some_and(|block| block.starts_with("note")), "{table}");
}

#[test]
fn the_shown_coverage_satisfies_require_coverage() {
    let required = |share: &str| {
        let args = ["-q", "--require-coverage", share, "captures/sqp/fake_badutf8.pcap"];
        let output = check(&args);
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(out.contains("(77 % checked)"), "{out}");
        (output.status.code(), err)
    };
    assert_eq!(required("sqp=77%"), (Some(0), String::new()));
    let expected = "error: 77.9 % of the rules of sqp were checked, less than 78 %.\n";
    assert_eq!(required("sqp=78%"), (Some(3), expected.to_owned()));
}

#[test]
fn quiet_json_and_ndjson_have_no_findings() {
    let lines = parsed(&check(&["-q", "-T", "ndjson", DEMO]), 0);
    let array: Vec<Value> = serde_json::from_slice(&check(&["-q", "-T", "json", DEMO]).stdout).unwrap();
    assert_eq!(lines, array);
    assert!(lines.iter().all(|record| record["type"] != "finding"));
    assert_eq!(lines.last().unwrap()["finding_counts"]["error"], 3);
}

#[test]
fn known_findings_take_a_line_each_unless_all_of_them_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("b.json");
    let baseline = baseline.to_str().unwrap();
    let run = |args: &[&str]| {
        let output = check(&[&["captures/demo.pcapng", "--baseline", baseline], args].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["--update-baseline"]);
    let short = run(&[]);
    assert!(!short.contains("-->"), "{short}");
    assert_eq!(short.lines().filter(|line| line.starts_with("known[")).count(), 9, "{short}");
    for show in ["known", "note,known"] {
        let long = run(&["--show", show]);
        assert!(long.contains("-->") && long.contains("= known: it is in the baseline"), "{show}: {long}");
        assert_eq!(long.contains("note[GEN-007]"), show != "known", "{long}");
    }
}
