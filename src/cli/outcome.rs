//! The outcome of a run: exit codes, and what is said where the result cannot be written.

use super::common_args::Common;
use super::diagnostics::error;
use super::terminal::name;
use std::io;

/// Exit code: done.
pub const OK: u8 = 0;
/// Exit code: wrong usage, or something cannot be read or written.
pub const FAILED: u8 = 2;

/// The exit code and how many captures were read.
pub type Done = (u8, u64);

/// Says that the result cannot be written; returns the exit code.
pub fn not_writable(common: &Common, e: &io::Error) -> u8 {
    let why = why(e);
    let to = common.output.as_deref().map_or("standard output".into(), |p| format!("\"{}\"", name(p)));
    error(&format_args!("The result cannot be written to {to}: {why}."));
    FAILED
}

/// What went wrong with an output. An error of the file aside speaks of that file's name, which nobody knows.
pub fn why(e: &io::Error) -> String {
    if e.raw_os_error().is_some() { e.to_string() } else { e.kind().to_string() }
}

/// The exit code of what was written to standard output. A closed pipe is no error.
pub fn printed(written: io::Result<()>) -> u8 {
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            error(&format_args!("The result cannot be written to standard output: {}.", why(&e)));
            FAILED
        }
        _ => OK,
    }
}
