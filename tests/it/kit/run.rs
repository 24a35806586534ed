//! Runs the program.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program.
pub fn qdissect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs the program, and returns its exit code, standard output and standard error.
pub fn run<const N: usize>(arguments: [&str; N]) -> (Option<i32>, String, String) {
    let output = qdissect().args(arguments).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Asserts that a subcommand ends with 2 for each of some arguments, and says why.
#[track_caller]
pub fn assert_refused(subcommand: &str, cases: &[(&[&str], &str)]) {
    for (arguments, says) in cases {
        let output = qdissect().arg(subcommand).args(*arguments).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}

/// The records of a run that must have ended with `code`.
#[track_caller]
pub fn parsed(output: &Output, code: i32) -> Vec<Value> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    let text = str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A path as results show it, with slashes on every system.
pub fn slashes(path: &Path) -> String {
    let text = path.to_str().expect("a text");
    if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() }
}
