//! Ctrl-C and `kill`, at any moment.

use super::*;
use live_kit::Running;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;
use tempfile::tempdir;

/// Signal, its number, and the exit code of who was interrupted.
const SIGNALS: [(&str, i32, i32); 2] = [("INT", 2, 130), ("TERM", 15, 143)];

fn kill(child: &Child, signal: &str) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
}

/// A capture whose reading takes a while.
fn long(path: &Path) {
    let base = fs::read(live_kit::BASE).unwrap();
    let (head, records) = base.split_at(24);
    fs::write(path, [head, &records.repeat(2000)].concat()).unwrap();
}

/// Reports are whole or not there, whenever the signal comes; and so is the capture of `-w`.
#[test]
fn no_moment_leaves_half_a_report() {
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
            let (status, words) = (output.status, said(&output));
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
                // Before it watches for signals, before it has read anything, or when it was done.
                let done = matches!(status.code(), Some(0 | 1)) && json.is_some() && words.is_empty();
                let early =
                    (status.code() == Some(code) || status.signal() == Some(number)) && json.is_none();
                assert!(done || early, "{delay}: {status}: {words}");
            }
            for name in names(folder.path()).iter().filter(|name| *name != "long.pcap") {
                // The unfinished file is what a signal leaves that comes before there is anything to finish.
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
fn every_command_finishes_what_it_has_read() {
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
        assert_eq!(written.status.code(), Some(0), "the capture is whole: {}", said(&written));
        fs::remove_file(&file).unwrap();
    }
}

/// Who does not want to wait for what is finished asks twice.
#[test]
fn the_second_one_ends_it_at_once() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("long.pcap");
    long(&path);
    let mut command = qdissect(["dump", "-l", "-T", "ndjson", text(&path)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // One line, and nobody reads the rest: it waits for room in the pipe.
    let mut out = BufReader::with_capacity(64, child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    sleep(Duration::from_millis(300));
    kill(&child, "INT");
    sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "the first one lets it finish");
    kill(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
