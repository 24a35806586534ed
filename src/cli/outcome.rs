//! The outcome of a run: exit codes, and messages about results that cannot be written.

use super::common_args::Common;
use super::diagnostics::error;
use super::terminal::name;
use std::fmt::Display;
use std::io;

/// Exit code: success.
pub const OK: u8 = 0;
/// Exit code: wrong usage, or something cannot be read or written.
pub const FAILED: u8 = 2;

/// The exit code, and how many captures were read.
pub type Done = (u8, u64);

/// Reports why a run failed. No capture counts as read.
pub fn refuse(why: &dyn Display) -> Done {
    error(why);
    (FAILED, 0)
}

/// Reports that the result cannot be written; returns the exit code.
pub fn not_writable(common: &Common, e: &io::Error) -> u8 {
    let why = why(e);
    let to = common.output.as_deref().map_or("standard output".into(), |p| format!("\"{}\"", name(p)));
    error(&format_args!("The result cannot be written to {to}: {why}."));
    FAILED
}

/// The reason why an output failed. An error of the temporary file would name that file, which the user does not know.
pub fn why(e: &io::Error) -> String {
    if e.raw_os_error().is_some() { e.to_string() } else { e.kind().to_string() }
}

/// The exit code after writing to standard output. A closed pipe is no error.
pub fn printed(written: io::Result<()>) -> u8 {
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            error(&format_args!("The result cannot be written to standard output: {}.", why(&e)));
            FAILED
        }
        _ => OK,
    }
}
