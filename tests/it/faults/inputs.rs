//! Inputs that change while they are read, cannot be read, or are no captures.

use super::*;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

const BASE: &str = live_kit::BASE;

/// A capture of more than a megabyte, and its number of packets. It is larger than what is read ahead, and its lines do not fit
/// into a pipe.
fn long(folder: &TempDir) -> (PathBuf, u64) {
    let base = fs::read(BASE).unwrap();
    let (head, records) = base.split_at(24);
    let times = (1 << 20) / records.len() + 1;
    let path = folder.path().join("long.pcap");
    fs::write(&path, [head, &records.repeat(times)].concat()).unwrap();
    (path, 16 * times as u64)
}

/// Reads the first line of output for a capture, calls `change`, and reads the rest. Returns the summary, the exit code and
/// standard error.
fn while_read(path: &Path, change: impl FnOnce()) -> (Value, Option<i32>, String) {
    let mut command = qdissect(["dump", "-l", "-T", "ndjson"]);
    let mut child = command.arg(path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"type\":\"capture\""));
    change();
    let last = lines.map(Result::unwrap).last().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (serde_json::from_str(&last).unwrap(), child.wait().unwrap().code(), stderr)
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_cut_short() {
    let folder = tempdir().unwrap();
    for len in [700_000, 0] {
        let (path, packets) = long(&folder);
        let shrink = || File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
        let (summary, code, stderr) = while_read(&path, shrink);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("long.pcap: the capture is cut short: "), "{stderr}");
        let read = summary["packets"].as_u64().unwrap();
        assert!(read > 100 && read < packets, "{read} of {packets}");
        assert_eq!(summary["complete"], false);
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_to_its_new_end() {
    let folder = tempdir().unwrap();
    let more = fs::read(BASE).unwrap().split_off(24);
    for (bytes, new, expected) in [(more.len(), 16, Some(0)), (more.len() - 5, 15, Some(2))] {
        let (path, packets) = long(&folder);
        let grow = || File::options().append(true).open(&path).unwrap().write_all(&more[..bytes]).unwrap();
        let (summary, code, stderr) = while_read(&path, grow);
        assert_eq!((code, summary["packets"].as_u64()), (expected, Some(packets + new)), "{stderr}");
        assert_eq!(stderr.contains("cut short"), expected == Some(2), "{stderr}");
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_read_as_it_was() {
    let folder = tempdir().unwrap();
    let (path, packets) = long(&folder);
    let replace = || {
        fs::copy(BASE, folder.path().join("new")).unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
    };
    let (summary, code, stderr) = while_read(&path, replace);
    assert_eq!((code, summary["packets"].as_u64(), stderr.as_str()), (Some(0), Some(packets), ""));
}

#[test]
fn files_that_are_no_captures_are_reported_and_the_others_are_read() {
    let folder = tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (input, words) in [
        (text(&socket), "the capture cannot be opened: No such device or address"),
        (text(&empty), "there is no capture in the directory"),
        ("/dev/null", "it is empty: a capture has at least a file header"),
        ("/dev/zero", "it is not a capture"),
        ("missing.pcap", "the capture cannot be opened: No such file or directory"),
        // Its first pages are not mapped, so that the read itself fails.
        ("/proc/self/mem", "the capture cannot be read on from byte 0: Input/output error"),
    ] {
        let output = qdissect(["summary", "-T", "ndjson", input, BASE]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{input}");
        assert!(
            stderr_text(&output).starts_with(&format!("error: {input}: {words}")),
            "{}",
            stderr_text(&output)
        );
        let last = str::from_utf8(&output.stdout).unwrap().lines().last().unwrap();
        let summary: Value = serde_json::from_str(last).unwrap();
        assert_eq!((&summary["packets"], &summary["complete"]), (&16.into(), &false.into()), "{input}");
    }
}

#[test]
fn dangling_and_circular_links_do_not_stop_the_search() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("in")).unwrap();
    fs::copy(BASE, place("in/a.pcap")).unwrap();
    for (to, name) in [("..", "in/up"), (".", "in/here"), ("round", "in/round"), ("gone", "in/notes.txt")] {
        symlink(to, place(name)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(place("in/fifo.pcap")).status().unwrap().success());
    let packets = |expected, words: &str| {
        let output = qdissect(["summary", "-T", "ndjson", text(folder.path())]).output().unwrap();
        assert_eq!((output.status.code(), stderr_text(&output)), (expected, words));
        let last = str::from_utf8(&output.stdout).unwrap().lines().last().unwrap();
        serde_json::from_str::<Value>(last).unwrap()["packets"].as_u64()
    };
    let fifo = format!(
        "warning: {} is skipped, for it is a device, a socket or a FIFO: only a FIFO that is named is read.\n",
        place("in/fifo.pcap").display()
    );
    assert_eq!(packets(Some(0), &fifo), Some(16), "once, and nobody waits for the FIFO");
    // One with the name of a capture is missed.
    symlink("gone", place("in/b.pcap")).unwrap();
    let missed = format!(
        "error: {}: it cannot be looked into: No such file or directory (os error 2).\n",
        place("in/b.pcap").display()
    );
    assert_eq!(packets(Some(2), &(missed + &fifo)), Some(16));
}

/// Runs as an unprivileged user, which only root can do.
#[test]
fn unreadable_files_are_reported_and_the_others_are_read() {
    let folder = tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("closed")).unwrap();
    fs::copy(BASE, place("a.pcap")).unwrap();
    fs::copy(BASE, place("b.pcap")).unwrap();
    // The program may be in a directory that only root can read.
    fs::copy(env!("CARGO_BIN_EXE_qdissect"), place("program")).unwrap();
    let script = format!(
        "cd '{0}' && chmod 755 . && chmod 0 closed b.pcap && \
         {{ [ \"$(id -u)\" != 0 ] || become='setpriv --reuid 65534 --clear-groups'; }} && \
         $become true 2>/dev/null || exit 77; $become ./program summary -T ndjson . || exit",
        folder.path().display()
    );
    let output = Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    if output.status.code() == Some(77) {
        return eprintln!("not tested: there is no way to be somebody else");
    }
    let words = stderr_text(&output);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("./closed: it cannot be looked into: Permission denied"), "{words}");
    assert!(words.contains("./b.pcap: the capture cannot be opened: Permission denied"), "{words}");
    assert!(str::from_utf8(&output.stdout).unwrap().contains("\"packets\":16,"));
}

#[test]
fn names_of_inputs_need_not_be_utf_8() {
    let folder = tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"a\xff\x1b]0;b.pcap"));
    fs::copy(BASE, &path).unwrap();
    for input in [&path, folder.path()] {
        for command in ["summary", "dump", "exchanges", "check", "stats"] {
            let output = qdissect([command, "-T", "ndjson"]).arg(input).output().unwrap();
            assert_eq!((output.status.code(), stderr_text(&output)), (Some(0), ""), "{command}");
            assert!(!output.stdout.contains(&0x1b), "{command}");
        }
    }
    fs::write(&path, "no capture").unwrap();
    let (code, words) = ended(&mut qdissect([path.as_os_str()]));
    assert_eq!(code, Some(2));
    assert!(words.contains("a\u{fffd}\\x1b]0;b.pcap: ") && !words.contains('\u{1b}'), "{words}");
}
