//! Usability of the command line: examples that run, suggestions, and closed pipes without errors.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use tempfile::tempdir;

const QDISSECT: &str = env!("CARGO_BIN_EXE_qdissect");
const DEMO: &str = "captures/demo.pcapng";
#[cfg(unix)]
const SUBCOMMANDS: [&[&str]; 12] = [
    &[],
    &["summary"],
    &["dump"],
    &["check"],
    &["exchanges"],
    &["live"],
    &["stats"],
    &["hex"],
    &["rule", "list"],
    &["rule", "show"],
    &["protocol", "list"],
    &["protocol", "show"],
];

fn qdissect(args: &[&str]) -> Output {
    Command::new(QDISSECT).args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn records_are_chosen_by_type() {
    let lines = |args: &[&str]| {
        let output = qdissect(&[args, &[DEMO]].concat());
        assert!(output.stderr.is_empty(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for (command, chosen) in [
        ("summary", "server,summary"),
        ("dump", "exchange"),
        ("exchanges", "summary"),
        ("stats", "interval,loss"),
        ("check", "finding,summary"),
    ] {
        let args = [command, "-T", "ndjson", "--no-config"];
        let has_type = |line: &&String| {
            chosen.split(',').any(|name| line.starts_with(&format!("{{\"type\":\"{name}\",")))
        };
        let all = lines(&args);
        let expected: Vec<_> = all.iter().filter(has_type).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{command}");
        assert_eq!(lines(&[&args[..], &["--records", chosen]].concat()), expected, "{command}");
    }
    let refused = |args: &[&str]| {
        let output = qdissect(&[args, &[DEMO]].concat());
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).to_owned()
    };
    let no_lines = refused(&["summary", "-T", "json", "--records", "server"]);
    assert!(no_lines.contains("--records chooses among the lines of -T ndjson"), "{no_lines}");
    let unknown = refused(&["summary", "-T", "ndjson", "--records", "servers"]);
    assert!(unknown.contains("did you mean server?"), "{unknown}");
}

/// The examples of a long help.
#[cfg(unix)]
fn examples(of: &[&str]) -> Vec<String> {
    let output = qdissect(&[of, &["--help"]].concat());
    let help = text(&output.stdout);
    let (_, examples) = help.split_once("EXAMPLES:\n").expect("every long help has examples");
    let lines = examples.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn every_example_of_every_help_runs() {
    let mut ran = 0;
    for of in SUBCOMMANDS {
        for line in examples(of) {
            assert!(line.contains("qdissect") && line.len() <= 78, "{line}");
            // Examples that need an interface or another program are only parsed, in another test.
            if line.contains(" live ") || line.contains(" | ") {
                continue;
            }
            let folder = tempdir().unwrap();
            fs::copy(DEMO, folder.path().join("capture.pcapng")).unwrap();
            fs::create_dir(folder.path().join("captures")).unwrap();
            for name in ["captures/sqp/real_cli_sample.pcapng", DEMO] {
                let to = folder.path().join("captures").join(name.rsplit('/').next().unwrap());
                fs::copy(name, to).unwrap();
            }
            let line = line.replacen("qdissect", &format!("'{QDISSECT}'"), 1);
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
            let wanted = if line.contains(" check ") { [Some(0), Some(1)] } else { [Some(0); 2] };
            assert!(wanted.contains(&output.status.code()), "{line}: {}", text(&output.stderr));
            let silent = line.contains("--output") || line.contains(" -q ");
            assert!(silent || output.stdout.len() > 20, "{line} says nothing");
            ran += 1;
        }
    }
    assert!(ran >= 30, "{ran}");
}

/// Mistyped arguments, and the expected suggestion.
const SLIPS: &[(&[&str], &str)] = &[
    (&["sumary", DEMO], "'summary'"),
    (&["chekc", DEMO], "'check'"),
    (&["rule", "shwo", "GEN"], "'show'"),
    (&["protocol", "lst"], "'list'"),
    (&["dump", "--formt", "json", DEMO], "'--format'"),
    (&["dump", "--protcol", "sqp", DEMO], "'--protocol'"),
    (&["dump", "-T", "jsn", DEMO], "'json'"),
    (&["check", "-T", "sarfi", DEMO], "'sarif'"),
    (&["stats", "--only", "tmes", DEMO], "'times'"),
    (&["check", "--profile", "stict", DEMO], "'strict'"),
    (&["check", "--fail-on", "warnig", DEMO], "'warning'"),
    (&["dump", "--color", "alwys", DEMO], "'always'"),
    (&["dump", "--min-confidence", "hihg", DEMO], "'high'"),
    (&["hex", "--input-format", "strng", "00"], "'string'"),
    (&["check", "--junit-style", "jenkns", DEMO], "'jenkins'"),
    (&["dump", "--protocol", "sqpp", DEMO], "did you mean sqp?"),
    (&["protocol", "show", "skycop"], "did you mean skycoop?"),
    (&["check", "--require", "gpq", DEMO], "did you mean gqp?"),
    (&["check", "--require-coverage", "satisfctory=3%", DEMO], "did you mean satisfactory?"),
    (&["dump", "-O", "fram", DEMO], "did you mean frame?"),
    (&["dump", "-d", "udp.port==7777,sqpp", DEMO], "did you mean sqp?"),
    (&["dump", "-d", "udp.prt==7777,sqp", DEMO], "Did you mean udp.port==7777,sqp?"),
    (&["dump", "-d", "7777=sqp", DEMO], "Did you mean udp.port==7777,sqp?"),
    (&["check", "--select", "SQP-TXN-04", DEMO], "did you mean SQP-TXN-004?"),
    (&["check", "--ignore", "GQPP", DEMO], "did you mean GQP?"),
    (&["rule", "show", "sqp-str-2"], "did you mean SQP-STR-002?"),
    (&["check", "--level", "SQP-TXX-010=note", DEMO], "did you mean SQP-TXN-010?"),
    (&["check", "--level", "SQP-TXN-010=warnin", DEMO], "did you mean warning?"),
    (&["check", "--report", "sarfi=a.sarif", DEMO], "did you mean sarif?"),
    (&["dump", "-T", "fields", "-e", "frame.numbr", DEMO], "did you mean frame.number?"),
    (&["dump", "-Y", "sqp.tokn == 1", DEMO], "did you mean sqp.token?"),
    (&["dump", "-Y", "exchange.outcome == \"answerd\"", DEMO], "did you mean answered?"),
    (&["dump", "-T", "csv", "-E", "headr=y", DEMO], "did you mean header?"),
    (&["dump", "-T", "csv", "-E", "occurence=f", DEMO], "did you mean occurrence?"),
    (&["dump", "-t", "relative", DEMO], "ad (date and time of day, local)"),
    (&["dump", "-t", "dd.3", DEMO], "-t dd is not known any more; use -t d."),
    (&["dump", "--config", "QDISSECT.toml", DEMO], "did you mean profile?"),
    #[cfg(unix)]
    (&["live", "-i", "lo", "-a", "duraton:4"], "Did you mean duration:4?"),
];

#[test]
fn mistyped_arguments_end_with_2_and_a_suggestion() {
    let folder = tempdir().unwrap();
    let config = folder.path().join("q.toml");
    fs::write(&config, "profil = \"strict\"\n").unwrap();
    for (args, expected) in SLIPS {
        let args: Vec<_> = args
            .iter()
            .map(|arg| if *arg == "QDISSECT.toml" { config.to_str().unwrap() } else { arg })
            .collect();
        let output = qdissect(&args);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

/// A capture whose results do not fit into a pipe.
const LONG: &str = "captures/hostile/sqp_lengths.pcap";

#[test]
fn a_reader_of_one_line_gets_it_and_a_closed_pipe_is_no_error() {
    let mut cases: Vec<Vec<&str>> =
        vec![vec!["dump", "-V", LONG], vec!["dump", "-x", LONG], vec!["dump", "--explain", LONG]];
    for format in ["text", "tree", "json", "ndjson", "csv", "tsv"] {
        cases.push(vec!["dump", "-T", format, LONG]);
    }
    cases.push(vec!["dump", "-l", "-T", "fields", "-e", "frame.number", LONG]);
    for format in ["table", "json", "ndjson", "csv", "tsv"] {
        cases.push(vec!["summary", "-T", format, LONG]);
        cases.push(vec!["exchanges", "-T", format, LONG]);
    }
    for format in ["table", "json", "ndjson"] {
        cases.push(vec!["stats", "-T", format, LONG]);
        cases.push(vec!["rule", "list", "-T", format]);
        cases.push(vec!["rule", "show", "SQP", "-T", format]);
        cases.push(vec!["protocol", "list", "-T", format]);
        cases.push(vec!["protocol", "show", "sqp,gqp,skycoop,satisfactory", "-T", format]);
    }
    cases.push(vec!["stats", "--only", "times", "-T", "csv", LONG]);
    for format in ["text", "json", "ndjson"] {
        cases.push(vec!["hex", "-T", format, "0000000000"]);
    }
    cases.push(vec!["--help"]);
    for args in cases {
        assert_eq!(one_line(&args), Some(0), "{args:?}");
    }
    let formats = ["table", "concise", "json", "ndjson", "sarif", "junit", "github", "gitlab", "markdown"];
    for format in formats {
        assert_eq!(one_line(&["check", "-T", format, LONG]), Some(1), "check -T {format}: the verdict stays");
    }
}

/// Reads a line of the output and closes the pipe; returns the exit code. No error may be printed. A note about unlisted findings
/// is allowed, because CSV and GitLab's format have no place for their number.
fn one_line(args: &[&str]) -> Option<i32> {
    let mut command = Command::new(QDISSECT);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env_remove("GITHUB_ACTIONS").spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::with_capacity(64, child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "{args:?}");
    drop(out);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(
        stderr.is_empty() || stderr.ends_with(" further findings are not listed.\n"),
        "{args:?}: {stderr}"
    );
    child.wait().unwrap().code()
}

#[test]
fn the_option_n_is_accepted() {
    for subcommand in ["summary", "dump", "exchanges", "stats"] {
        let plain = qdissect(&[subcommand, DEMO]);
        let asked = qdissect(&[subcommand, "-n", DEMO]);
        assert_eq!((plain.status.code(), plain.stdout), (Some(0), asked.stdout), "{subcommand}");
    }
}

#[test]
fn numbers_have_names_in_trees_and_stay_numbers_in_records() {
    let tree = qdissect(&["dump", "-V", DEMO]);
    let tree = text(&tree.stdout);
    for line in [
        "    type: 0 (challenge) [0..1]",
        "    type: 1 (query) [0..1]",
        "    requested_chunks: 1 (server_info) [7..8]",
        "    message_type: 0 (poll) [2..3]",
        "    message_type: -2 (status request) [0..4]",
        "    header: 147 (status response) [0..4]",
        "            id: 1 (ServerOptions) [29..30]",
    ] {
        assert!(tree.lines().any(|there| there == line), "{line}");
    }
    let records = qdissect(&["dump", "-T", "ndjson", DEMO]);
    let records = text(&records.stdout);
    assert!(records.contains("\"message_type\":-2,") || records.contains("\"message_type\":-2}"));
    assert!(records.contains("\"type\":0,\"token\":0"));
}

fn tshark(word: &str, zone: &str) -> Option<Vec<(u64, String)>> {
    let format = "gui.column.format:\"No.\",\"%m\",\"Time\",\"%t\"";
    let output = Command::new("tshark")
        .args(["-n", "-t", word, "-o", format, "-Y", "udp", "-r", DEMO])
        .env("TZ", zone)
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: tshark is not installed");
        return None;
    };
    let line = |line: &str| {
        let (number, time) = line.trim().split_once(char::is_whitespace)?;
        Some((number.parse().ok()?, time.trim().to_owned()))
    };
    Some(text(&output.stdout).lines().filter_map(line).collect())
}

/// The times that qdissect prints: they are between the number and the address of the sender.
fn qdissect_times(word: &str, zone: &str) -> Vec<(u64, String)> {
    let command = Command::new(QDISSECT).args(["dump", "--all", "-t", word, DEMO]).env("TZ", zone).output();
    let output = command.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line = |line: &str| {
        let (head, _) = line.split_once(" → ")?;
        let (number, rest) = head.trim().split_once(' ')?;
        let (time, _) = rest.trim().rsplit_once(' ')?;
        Some((number.parse().ok()?, time.trim().to_owned()))
    };
    text(&output.stdout).lines().filter_map(line).collect()
}

#[test]
fn times_are_the_same_as_in_tshark() {
    let local = ["UTC", "America/New_York", "Asia/Kolkata"].map(|zone| ("ad", zone));
    let anywhere = ["d", "e", "r", "u", "ud"].map(|word| (word, "Asia/Kolkata"));
    for (word, zone) in local.into_iter().chain(anywhere) {
        let Some(theirs) = tshark(word, zone) else { return };
        let ours = qdissect_times(word, zone);
        assert!(ours.len() > 90, "{}", ours.len());
        assert_eq!(ours, theirs, "-t {word}, {zone}");
    }
}

#[test]
fn local_time_uses_the_time_zone() {
    let first = |word: &str, zone: &str| qdissect_times(word, zone).remove(0).1;
    assert_eq!(first("ad", "UTC"), "2026-11-20 10:32:00.614506310");
    assert_eq!(first("ad", "America/New_York"), "2026-11-20 05:32:00.614506310");
    assert_eq!(first("ad.0", "EST5EDT,M3.2.0,M11.1.0"), "2026-11-20 05:32:00");
    assert_eq!(first("ud", "America/New_York"), "2026-11-20 10:32:00.614506310");
}

#[test]
fn capture_comments_are_in_trees_columns_and_filters() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("commented.pcapng").to_str().unwrap().to_owned();
    let written = qdissect(&["dump", "-q", "-w", &path, "--annotate", DEMO]);
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let records = qdissect(&["dump", "-T", "ndjson", &path]);
    let commented: Vec<serde_json::Value> = text(&records.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &serde_json::Value| record["type"] == "packet" && !record["comment"].is_null())
        .collect();
    assert!(commented.len() > 10);
    let tree = qdissect(&["dump", "-V", &path]);
    for record in &commented {
        let comments = record["comment"].as_array().unwrap();
        assert!(comments.iter().all(|one| {
            text(&tree.stdout).contains(&format!("    [Packet comment: {}]", one.as_str().unwrap()))
        }));
        assert!(!comments.is_empty(), "{record}");
    }
    let rows = ["-Y", "frame.comment", "-T", "fields", "-e", "frame.number", "-e", "frame.comment"];
    let ours = qdissect(&[&["dump"], &rows[..], &[&path]].concat());
    assert_eq!(text(&ours.stdout).lines().count(), commented.len());
    match Command::new("tshark").args(["-n", "-r", &path]).args(rows).stderr(Stdio::null()).output() {
        Ok(theirs) => assert_eq!(text(&ours.stdout), text(&theirs.stdout)),
        Err(_) => eprintln!("tshark is not installed: not compared"),
    }
    let late = qdissect(&["dump", "-Y", "frame.comment contains \"SQP-STR-002\"", &path]);
    assert_eq!(text(&late.stdout).lines().count(), 1);
}
