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
