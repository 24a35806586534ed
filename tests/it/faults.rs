//! External faults: full disks, closed pipes, files that change or cannot be read, signals, and capture programs with invalid
//! output. Each has its exit code and a sentence that names the file, and does not affect earlier results.
#![cfg(target_os = "linux")]

mod following;
mod inputs;
mod live;
mod outputs;
mod places;
mod signals;

use crate::kit::live as live_kit;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A capture with findings.
const DEMO: &str = "captures/demo.pcapng";

/// The program without the environment variables of CI services.
fn qdissect<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = live_kit::qdissect();
    command.args(args).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
    command
}

/// Runs the program from a shell that runs `first` before, which sets limits or closes streams.
fn after(first: &str, args: &[&str]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_qdissect")]).args(args);
    shell.stdin(Stdio::null());
    shell
}

/// An output that is always full.
fn full() -> Stdio {
    fs::File::options().write(true).open("/dev/full").unwrap().into()
}

fn stderr_text(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Exit code and standard error.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), stderr_text(&output).to_owned())
}

/// The names in a directory in order, including hidden files.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
