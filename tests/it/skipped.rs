//! What is skipped or refused, and what is said of it: devices in directories, odd time zones, addresses of many hosts, arguments
//! with control characters, captures whose first frames hold nothing of ours.
#![cfg(unix)]

use crate::kit::run::qdissect;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::tempdir;

const DEMO: &str = "captures/demo.pcapng";

fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn devices_in_a_directory_are_skipped() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::copy(DEMO, path("a.pcapng")).unwrap();
    symlink("/dev/zero", path("zero.pcap")).unwrap();
    symlink("/proc/self/status", path("proc.cap")).unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo.pcap")).status().unwrap().success());
    let (code, out, words) = run(qdissect().args(["dump", "--no-config", "-q"]).arg(folder.path()));
    assert_eq!(code, Some(0), "{words}");
    assert!(out.starts_with("108 packets"), "{out}");
    for name in ["zero.pcap", "fifo.pcap"] {
        assert!(words.contains(&format!("{name} is skipped, for it is a device")), "{words}");
    }
    if cfg!(target_os = "linux") {
        assert!(words.contains("proc.cap is skipped, for it is no regular file of a disk"), "{words}");
    }
    // A directory with nothing else has no capture.
    fs::remove_file(path("a.pcapng")).unwrap();
    let (code, _, words) = run(qdissect().args(["dump", "--no-config", "-q"]).arg(folder.path()));
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("there is no capture in the directory"), "{words}");
}

#[test]
fn a_time_zone_that_is_a_device_is_refused() {
    let folder = tempdir().unwrap();
    let large = folder.path().join("zone");
    fs::File::create(&large).unwrap().set_len(1 << 33).unwrap();
    let start = Instant::now();
    for zone in ["/dev/zero", ":/dev/zero", "/dev", large.to_str().unwrap()] {
        let (code, _, words) = run(qdissect().env("TZ", zone).args(["dump", "-t", "ad", "-c", "20", DEMO]));
        assert_eq!(code, Some(2), "{zone}: {words}");
        assert!(words.contains("which is no file of a time zone"), "{words}");
        // Only local time needs it.
        let (code, ..) = run(qdissect().env("TZ", zone).args(["dump", "-t", "ud", "-c", "20", DEMO]));
        assert_eq!(code, Some(0), "{zone}");
    }
    for zone in ["UTC", "", "Europe/Berlin", "EST5EDT,M3.2.0,M11.1.0", "/usr/share/zoneinfo/UTC"] {
        let (code, _, words) = run(qdissect().env("TZ", zone).args(["dump", "-t", "ad", "-c", "20", DEMO]));
        assert_eq!(code, Some(0), "{zone}: {words}");
    }
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn many_hosts_are_not_asked() {
    for (address, kind) in [
        ("224.0.0.1:27015", "multicast"),
        ("[ff02::1]:27015", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("192.0.2.255:27015", "broadcast"),
    ] {
        let (code, out, words) = run(qdissect().args(["ask", "a2s", address]));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{words}");
        assert!(words.contains(kind) && words.contains("name one server"), "{words}");
    }
}

#[test]
fn errors_about_arguments_are_harmless_for_terminals() {
    let evil = "\u{1b}[31m\u{9b}2J\u{202e}\u{7}x";
    for arguments in [
        vec![format!("--{evil}")],
        vec!["dump".into(), format!("-c{evil}")],
        vec!["dump".into(), "-T".into(), evil.into()],
        vec!["rule".into(), evil.into()],
        vec!["protocol".into(), "show".into(), evil.into()],
        vec!["check".into(), format!("--fail-on={evil}")],
        vec!["check".into(), "--level".into(), format!("{evil}=note")],
        vec!["generate".into(), evil.into()],
        vec!["ask".into(), evil.into(), "127.0.0.1".into()],
        vec![format!("chec{evil}")],
        vec!["dump".into(), "--color".into(), "never".into(), "--memory".into(), evil.into()],
        vec!["dump".into(), "-Y".into(), evil.into(), DEMO.into()],
        vec!["live".into(), "-i".into(), "lo".into(), "--annotate".into(), evil.into()],
    ] {
        let (code, out, words) = run(qdissect().args(&arguments));
        assert_eq!(code, Some(2), "{arguments:?}: {words:?}");
        let hostile = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!words.contains(hostile) && !out.contains(hostile), "{arguments:?}: {words:?}");
        assert!(!words.is_empty());
    }
}

#[test]
fn frames_without_query_traffic_are_said_to_be_that() {
    let said = |arguments: &[&str]| run(qdissect().args(["--no-config"]).args(arguments));
    let (code, out, words) = run(qdissect().args(["dump", "--no-config", "-c", "3", DEMO]));
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(
        words,
        "note: The first 3 frames hold no query traffic: -c counts all frames, as in tshark.\n"
    );
    let (_, _, words) = run(qdissect().args(["exchanges", "--no-config", "-c", "3", DEMO]));
    assert!(words.contains("The first 3 frames"), "{words}");
    for quiet in [&["-c", "9"][..], &["-c", "9", "-Y", "gqp"], &["-c", "3", "-q"]] {
        let (_, _, words) = run(qdissect().args(["dump", "--no-config"]).args(quiet).arg(DEMO));
        assert_eq!(words, "", "{quiet:?}");
    }
    assert_eq!(said(&["-c", "3", DEMO]).2, "", "the summary says it itself");
}
