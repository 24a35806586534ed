//! Configuration and baseline from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::{TempDir, tempdir};

const DEMO: &str = "captures/demo.pcapng";

fn qdissect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.env("COLUMNS", "100").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

fn out(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn err(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

fn in_folder(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// The records of a run that must have ended with `code`.
#[track_caller]
fn records(output: &Output, code: i32) -> Vec<serde_json::Value> {
    assert_eq!(output.status.code(), Some(code), "{}", err(output));
    out(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs `check` on the demo capture in a directory.
fn check_in(folder: &Path, args: &[&str]) -> Output {
    let demo = fs::canonicalize(DEMO).unwrap();
    qdissect().current_dir(folder).arg("check").args(args).arg(demo).output().unwrap()
}

#[test]
fn the_nearest_configuration_is_used_and_named() {
    let folder = tempdir().unwrap();
    let below = folder.path().join("a");
    fs::create_dir(&below).unwrap();
    fs::write(folder.path().join("qdissect.toml"), "fail-on = \"never\"\ntimeout = \"9s\"\n").unwrap();
    let found = check_in(&below, &[]);
    assert_eq!(found.status.code(), Some(0), "{}", err(&found));
    assert!(err(&found).contains("note: The configuration is ") && err(&found).contains("qdissect.toml.\n"));
    assert!(!err(&check_in(&below, &["-q"])).contains("configuration"));
    assert_eq!(check_in(&below, &["--no-config"]).status.code(), Some(1));
    assert_eq!(check_in(&below, &["--fail-on=error"]).status.code(), Some(1), "the command line wins");
    let other = in_folder(&folder, "other.toml");
    fs::write(&other, "select = [\n  \"SKY\",\n  \"SQP-TNX\",\n]\n").unwrap();
    let wrong = check_in(&below, &["--config", &other]);
    assert_eq!((wrong.status.code(), out(&wrong)), (Some(2), ""));
    assert!(err(&wrong).ends_with("other.toml:3:3: There is no rule \"SQP-TNX\"; did you mean SQP-TXN?\n"));
    let missing = check_in(&below, &["--config", "missing.toml"]);
    assert_eq!((missing.status.code(), out(&missing)), (Some(2), ""));
    assert_eq!(check_in(&below, &["--config", &other, "--no-config"]).status.code(), Some(2));
}

#[test]
fn every_subcommand_uses_the_configuration() {
    let folder = tempdir().unwrap();
    let config = in_folder(&folder, "own.toml");
    fs::write(&config, "select = [\"SKY\"]\n").unwrap();
    for command in ["summary", "dump"] {
        let output = qdissect().args([command, "--config", &config, DEMO]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(out(&output).contains("SKY-JSN-001") && !out(&output).contains("SQP-STR-002"), "{command}");
    }
}

#[test]
fn findings_of_an_excused_rule_are_shown_and_do_not_fail_the_check() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("qdissect.toml");
    fs::write(&file, "[ignore]\nSQP-STR = \"old host\"\n").unwrap();
    let output = check_in(folder.path(), &["-T", "ndjson"]);
    let found = records(&output, 1);
    let of = |rule: &str| found.iter().find(|r| r["type"] == "finding" && r["rule"] == rule).unwrap();
    assert_eq!(of("SQP-STR-002")["suppressed"], "old host");
    assert!(of("SFQ-ENV-005")["suppressed"].is_null());
    fs::write(&file, "[ignore]\nSQP = \"a\"\nSFQ = \"b\"\nSKY = \"c\"\nGQP = \"d\"\nGEN = \"e\"\n").unwrap();
    assert_eq!(
        records(&check_in(folder.path(), &["-T", "ndjson"]), 0).pop().unwrap()["finding_counts"]["error"],
        0
    );
    fs::write(&file, "[[suppress]]\nrule = \"SQP\"\nreason = \"lab\"\n").unwrap();
    let refused = check_in(folder.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    let expected =
        "qdissect.toml:1:3: [[suppress]] is not known any more: [ignore] excuses a rule with a reason, ";
    assert!(err(&refused).contains(expected), "{}", err(&refused));
}

#[test]
fn findings_in_the_baseline_do_not_fail_the_check() {
    let folder = tempdir().unwrap();
    let here = folder.path();
    let missing = check_in(here, &["--baseline", "base.json"]);
    assert_eq!((missing.status.code(), out(&missing)), (Some(2), ""));
    assert_eq!(check_in(here, &["--update-baseline"]).status.code(), Some(2));
    let written = check_in(here, &["--baseline", "base.json", "--update-baseline"]);
    assert_eq!(written.status.code(), Some(0), "{}", err(&written));
    assert_eq!(fs::read_dir(here).unwrap().count(), 1, "nothing is left beside the baseline");
    let text = fs::read_to_string(here.join("base.json")).unwrap();
    let again = check_in(here, &["--baseline", "base.json", "--fail-on=note", "-T", "ndjson"]);
    let summary = records(&again, 0).pop().unwrap();
    assert_eq!((&summary["finding_counts"]["error"], err(&again)), (&0.into(), ""));
    fs::copy("captures/sqp/fake_badutf8.pcap", here.join("other.pcap")).unwrap();
    let fewer =
        qdissect().args(["check", "--baseline", "base.json", "other.pcap"]).current_dir(here).output();
    let fewer = fewer.unwrap();
    assert!(err(&fewer).contains("base.json: Known findings that were not found: "), "{}", err(&fewer));
    let twice = check_in(here, &["--baseline", "base.json", "--update-baseline"]);
    assert!(err(&twice).contains("new findings: 0, dropped: 0."), "{}", err(&twice));
    assert_eq!(fs::read_to_string(here.join("base.json")).unwrap(), text);
    fs::write(here.join("cut.pcapng"), &fs::read(DEMO).unwrap()[..3_000]).unwrap();
    let cut = check_in(here, &["--baseline", "base.json", "--update-baseline", "cut.pcapng"]);
    assert_eq!(cut.status.code(), Some(2));
    assert_eq!(fs::read_to_string(here.join("base.json")).unwrap(), text, "half a capture is no baseline");
}

#[test]
fn findings_of_partly_checked_rules_stay_in_the_baseline() {
    let folder = tempdir().unwrap();
    let here = folder.path();
    let check = |args: &[&str]| check_in(here, &[&["--baseline", "base.json"], args].concat());
    let kept = |checked: &str| {
        checked.contains("dropped: 0, kept because this run could not find all of their kind: ")
    };
    assert_eq!(check(&["--update-baseline"]).status.code(), Some(0));
    let text = fs::read_to_string(here.join("base.json")).unwrap();
    fs::write(here.join("cut.pcapng"), &fs::read(DEMO).unwrap()[..3_000]).unwrap();
    for part in [&["-c", "10"][..], &["--protocol=sqp"], &["--select=SQP-STR"], &["--level=GQP=off"]] {
        let checked = check(part);
        assert!(!err(&checked).contains("Known findings that were not found"), "{part:?}: {}", err(&checked));
        let written = check(&[part, &["--update-baseline"]].concat());
        assert!(kept(err(&written)), "{part:?}: {}", err(&written));
        assert_eq!(fs::read_to_string(here.join("base.json")).unwrap(), text, "{part:?}");
    }
    let cut = ["check", "--baseline=base.json", "--update-baseline", "--allow-truncated", "cut.pcapng"];
    let cut = qdissect().args(cut).current_dir(here).output().unwrap();
    assert_eq!((cut.status.code(), kept(err(&cut))), (Some(0), true), "{}", err(&cut));
    assert!(err(&cut).contains("warning: cut.pcapng: the capture is cut short: "), "{}", err(&cut));
    assert_eq!(fs::read_to_string(here.join("base.json")).unwrap(), text);
    // The server did not start, or not all of them did.
    for part in ["captures/containers/empty_capture.pcap", "captures/sqp/fake_badutf8.pcap"] {
        let args = ["check", "--baseline=base.json", "--update-baseline", "--require=samp"];
        let capture = fs::canonicalize(part).unwrap();
        let checked = qdissect().args(args).arg(capture).current_dir(here).output().unwrap();
        assert_eq!((checked.status.code(), kept(err(&checked))), (Some(3), true), "{}", err(&checked));
        assert_eq!(fs::read_to_string(here.join("base.json")).unwrap(), text, "{part:?}");
    }
}

#[test]
fn the_documented_configuration_is_accepted() {
    let page = fs::read_to_string("docs/configuration.md").unwrap();
    let block = |kind: &'static str| page.split(kind).skip(1).map(|text| text.split("```").next().unwrap());
    let folder = tempdir().unwrap();
    for (i, config) in block("```toml\n").enumerate() {
        fs::write(folder.path().join("qdissect.toml"), config).unwrap();
        let output = check_in(folder.path(), &["--fail-on=never"]);
        assert_eq!(output.status.code(), Some(0), "block {i}: {}", err(&output));
    }
    assert_eq!(block("```toml\n").count(), 2);
    fs::write(folder.path().join("base.json"), block("```json\n").next().unwrap()).unwrap();
    let output = check_in(folder.path(), &["--no-config", "--baseline", "base.json", "--fail-on=never"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}
