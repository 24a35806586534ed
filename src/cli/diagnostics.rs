//! Messages on standard error, and exit codes.

use super::choices::Colour;
use super::common_args::Common;
use super::progress;
use super::system::name;
use super::terminal::coloured;
use anstyle::AnsiColor;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Writes to standard error, and ignores errors there.
pub fn say(what: &dyn Display) {
    progress::hide();
    let _ = write!(io::stderr(), "{what}");
}

/// Prints an error. The exit code reports it as well.
pub fn error(what: &dyn Display) {
    say_as("error", AnsiColor::Red, what);
}

/// Warns that something may not be as the user expects.
pub fn warning(what: &dyn Display) {
    say_as("warning", AnsiColor::Yellow, what);
}

/// Prints a note about what the program does.
pub fn note(what: &dyn Display) {
    say_as("note", AnsiColor::Cyan, what);
}

/// Prints one line in the style of clap's messages.
fn say_as(word: &str, colour: AnsiColor, what: &dyn Display) {
    let style = if coloured(Colour::Auto, io::stderr().is_terminal()) {
        colour.on_default().bold()
    } else {
        anstyle::Style::new()
    };
    say(&format_args!("{style}{word}:{style:#} {what}\n"));
}

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

/// The reason why an output failed. An error of the temporary file would name that file, which the user does not know;
/// an error of a kind that says nothing has to be told in its own words.
pub fn why(e: &io::Error) -> String {
    let told = e.raw_os_error().is_some() || e.kind() == io::ErrorKind::Other;
    if told { e.to_string() } else { e.kind().to_string() }
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
