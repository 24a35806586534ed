//! Ctrl-C and `kill` at any time.

use super::*;
use live_kit::Running;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;
use tempfile::tempdir;

/// Signal, its number, and the exit code after it.
const SIGNALS: [(&str, i32, i32); 3] = [("INT", 2, 130), ("TERM", 15, 143), ("HUP", 1, 129)];

fn kill(child: &Child, signal: &str) {
    // The program may have ended by itself.
    let _ = Command::new("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
}

/// A capture whose reading takes a while.
fn long(path: &Path) {
    let base = fs::read(live_kit::BASE).unwrap();
    let (head, records) = base.split_at(24);
    fs::write(path, [head, &records.repeat(2000)].concat()).unwrap();
}

/// Reports and the capture of `-w` are complete or do not exist, whenever the signal comes.
#[test]
fn a_signal_at_any_time_leaves_no_partial_report() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    long(&place("long.pcap"));
    let arguments = [
        "check".to_owned(),
        text(&place("long.pcap")).to_owned(),
        format!("--report=sarif={}", place("sarif").display()),
        format!("--report=junit={}", place("junit").display()),
    ];
    let mut interrupted = 0;
    for (signal, number, code) in SIGNALS {
        for delay in [0, 10, 40, 120, 400] {
            let mut command = qdissect(&arguments);
            command
                .args(["-T", "json", "--output"])
                .arg(place("json"))
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            sleep(Duration::from_millis(delay));
            kill(&child, signal);
            let output = child.wait_with_output().unwrap();
            let (status, words) = (output.status, stderr_text(&output));
            let reports = ["json", "sarif", "junit"].map(|name| fs::read_to_string(place(name)).ok());
            let [json, sarif, junit] = &reports;
            assert!(
                json.is_some() == sarif.is_some() && json.is_some() == junit.is_some(),
                "{delay}: {words}"
            );
            if let (Some(json), Some(sarif), Some(junit)) = (json, sarif, junit) {
                serde_json::from_str::<Vec<Value>>(json).unwrap();
                serde_json::from_str::<Value>(sarif).unwrap();
                roxmltree::Document::parse(junit).unwrap();
            }
            if status.code() == Some(code) && json.is_some() {
                interrupted += 1;
                assert!(
                    words.contains("the reading was interrupted; what follows is about the part"),
                    "{words}"
                );
                let records: Vec<Value> = serde_json::from_str(json.as_ref().unwrap()).unwrap();
                assert_eq!(records.last().unwrap()["complete"], false);
            } else {
                // The signal came before the handlers were installed, before anything was read, or after the end.
                let done = matches!(status.code(), Some(0 | 1)) && json.is_some() && words.is_empty();
                let early =
                    (status.code() == Some(code) || status.signal() == Some(number)) && json.is_none();
                assert!(done || early, "{delay}: {status}: {words}");
            }
            for name in names(folder.path()).iter().filter(|name| *name != "long.pcap") {
                // A signal that comes before there is anything to finish leaves the temporary file.
                assert!(
                    ["json", "sarif", "junit"].contains(&name.as_str()) || name.starts_with(".qdissect-"),
                    "{name}"
                );
                fs::remove_file(place(name)).unwrap();
            }
        }
    }
    assert!(interrupted > 0, "one of them came in the middle");
}

#[test]
fn every_subcommand_finishes_after_a_signal() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("out");
    let capture = fs::read(DEMO).unwrap();
    for (signal, _, code) in SIGNALS {
        for line in [
            &["dump", "-l", "-T", "json"][..],
            &["exchanges", "-l", "-T", "json"],
            &["dump", "-l", "-T", "json", "-w", text(&file)],
        ] {
            let mut run = Running::new(qdissect([line, &["-"]].concat()));
            run.feed(&capture);
            run.await_line("\"type\":\"exchange\"");
            run.signal(signal);
            let ended = run.end();
            assert_eq!(ended.code, Some(code), "{line:?}: {}", ended.err);
            let records: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
            assert_eq!(records.last().unwrap()["complete"], false, "{line:?}");
        }
        let written = qdissect(["dump", "-q", text(&file)]).output().unwrap();
        assert_eq!(written.status.code(), Some(0), "the capture is whole: {}", stderr_text(&written));
        fs::remove_file(&file).unwrap();
    }
}

/// A second signal does not wait until the result is finished.
#[test]
fn a_second_signal_ends_the_process_at_once() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("long.pcap");
    long(&path);
    let mut command = qdissect(["dump", "-l", "-T", "ndjson", text(&path)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Only one line is read, so that the program blocks on the full pipe.
    let mut out = BufReader::with_capacity(64, child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    sleep(Duration::from_millis(300));
    kill(&child, "INT");
    sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "the first one lets it finish");
    kill(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
