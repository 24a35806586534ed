//! Faults of the world: full disks, closed pipes, files that change or cannot be read, signals, and capture programs
//! that send rubbish. Each ends with its exit code and a sentence that names the place, and costs nothing that was
//! decided before.
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

/// The program without what continuous integration sets.
fn qdissect<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = live_kit::qdissect();
    command.args(args).env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
    command
}

/// The same from a shell that does `first`: it sets limits or closes streams.
fn after(first: &str, args: &[&str]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_qdissect")]).args(args);
    shell.stdin(Stdio::null());
    shell
}

/// A sink in which there is never room.
fn full() -> Stdio {
    fs::File::options().write(true).open("/dev/full").unwrap().into()
}

fn said(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Exit code and words.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), said(&output).to_owned())
}

/// Names in a folder, in order; also of what is hidden.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
