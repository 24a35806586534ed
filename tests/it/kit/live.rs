//! Fake capture programs, and `qdissect` running in the background of a test.
#![allow(clippy::panic)]
#![allow(dead_code, reason = "each test file uses some of it")]

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::{TempDir, tempdir};

/// A small capture in each format.
pub const BASE: &str = "captures/containers/base.pcap";
pub const NG: &str = "captures/containers/ng_plain.pcapng";

/// Maximum time to wait for expected output.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a capture program that is a shell script.
pub struct Fake(TempDir);

impl Fake {
    pub fn new(name: &str, script: &str) -> Fake {
        let fake = Fake(tempdir().unwrap());
        fs::create_dir(fake.path("bin")).unwrap();
        fake.install(name, script);
        fake
    }

    pub fn install(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn shown(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A file of the checkout, for a script.
    pub fn here(name: &str) -> String {
        format!("'{}'", Path::new(env!("CARGO_MANIFEST_DIR")).join(name).display())
    }

    /// `qdissect live`, which finds the fake program before any other.
    pub fn live<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = qdissect();
        // Its own folder alone, so that a real dumpcap does not come before a fake tcpdump; the shell's
        // programs are found by a search path of its own.
        command.arg("live").args(args).env("PATH", self.path("bin"));
        command
    }

    /// The output of `dump` for a file.
    pub fn dump(path: &Path) -> Ended {
        run_to_end(qdissect().args(["dump", "-T", "ndjson"]).arg(path))
    }

    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Running {
        Running::new(self.live(args))
    }

    /// Waits until a file has this many bytes.
    pub fn await_bytes(&self, name: &str, wanted: u64) {
        let started = Instant::now();
        while fs::metadata(self.path(name)).map_or(0, |it| it.len()) < wanted {
            assert!(started.elapsed() < PATIENCE, "{name} does not get its {wanted} bytes");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn qdissect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.env("COLUMNS", "100").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// The first records of a pcap file.
pub fn head(capture: &[u8], records: usize) -> &[u8] {
    let mut at = 24;
    for _ in 0..records {
        at += 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    &capture[..at]
}

/// The result of a run.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The records without those of captures and without file names.
    pub fn records(&self) -> Vec<Value> {
        let records = self.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut records: Vec<_> = records.filter(|r| r["type"] != "capture").collect();
        for record in &mut records {
            record.as_object_mut().unwrap().retain(|key, _| key != "file" && key != "complete");
        }
        records
    }

    /// The last record.
    pub fn summary(&self) -> Value {
        serde_json::from_str(self.out.lines().last().expect("there is output")).unwrap()
    }
}

pub fn run_to_end(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// `qdissect` with these arguments and a pipe as standard input.
pub fn end(args: &[&str]) -> Running {
    let mut command = qdissect();
    command.args(args);
    Running::new(command)
}

/// The value of a name in a text of `/proc`, with single spaces.
pub fn field(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("there is no {name}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run in the background of the test.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    out: Receiver<String>,
    err: Arc<Mutex<String>>,
    hearing: JoinHandle<()>,
    read: String,
}

impl Running {
    pub fn new(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (err, lines) = (Arc::default(), BufReader::new(child.stderr.take().unwrap()).lines());
        let collected: Arc<Mutex<String>> = Arc::clone(&err);
        let play_surrounded = move |line: String| *collected.lock().unwrap() += &(line + "\n");
        let hearing = thread::spawn(move || lines.map_while(Result::ok).for_each(play_surrounded));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (line, out) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|l| line.send(l + "\n")));
        Running { input: child.stdin.take(), child, out, err, hearing, read: String::new() }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line; `None` at the end.
    #[track_caller]
    fn line(&mut self) -> Option<&str> {
        let line = match self.out.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                panic!("nothing comes any more behind: {}", self.read);
            }
        };
        let before = self.read.len();
        self.read.push_str(&line);
        self.read.get(before..)
    }

    /// Reads until a line contains `text`, while the run goes on.
    #[track_caller]
    pub fn await_line(&mut self, text: &str) {
        loop {
            match self.line() {
                Some(line) if line.contains(text) => return,
                Some(_) => {}
                None => panic!("it ended without {text}: {}", self.read),
            }
        }
    }

    /// The output on standard error so far.
    pub fn stderr_text(&self) -> String {
        self.err.lock().unwrap().clone()
    }

    /// The values of a name in `/proc/PID/status`, for all threads.
    pub fn rights(&self, name: &str) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let status = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")).unwrap());
        status.map(|text| field(&text, name)).collect()
    }

    /// Waits for a text on standard error.
    #[track_caller]
    pub fn await_words(&self, text: &str) {
        let started = Instant::now();
        while !self.stderr_text().contains(text) {
            assert!(started.elapsed() < PATIENCE, "{text} is not said: {}", self.stderr_text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    #[track_caller]
    pub fn end(mut self) -> Ended {
        while self.line().is_some() {}
        let code = self.child.wait().unwrap().code();
        self.hearing.join().unwrap();
        let err = self.err.lock().unwrap().clone();
        Ended { code, out: self.read, err }
    }
}
