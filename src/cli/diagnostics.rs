//! Messages on standard error, and exit codes.

use super::choices::Colour;
use super::common_args::Common;
use super::progress;
use super::system::display_name;
use super::terminal::coloured;
use anstyle::AnsiColor;
use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes to standard error, and ignores errors there.
pub fn print_stderr(what: &dyn Display) {
    progress::hide();
    let _ = write!(io::stderr(), "{what}");
}

/// Prints an error. The exit code reports it as well.
pub fn error(what: &dyn Display) {
    print_message("error", AnsiColor::Red, what);
}

/// Warns that something may not be as the user expects.
pub fn warning(what: &dyn Display) {
    print_message("warning", AnsiColor::Yellow, what);
}

/// Prints a note about what the program does.
pub fn note(what: &dyn Display) {
    print_message("note", AnsiColor::Cyan, what);
}

thread_local! {
    /// Where the messages of this thread go instead of standard error.
    static DIVERTED: RefCell<Option<Arc<Mutex<Vec<String>>>>> = const { RefCell::new(None) };
}

/// From now on, messages of this thread are kept for whoever owns the screen.
#[cfg(feature = "tui")]
pub fn divert(to: Arc<Mutex<Vec<String>>>) {
    DIVERTED.set(Some(to));
}

/// Prints one line in the style of clap's messages.
fn print_message(word: &str, colour: AnsiColor, what: &dyn Display) {
    if let Some(kept) = DIVERTED.with_borrow(Clone::clone) {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{word}: {what}"));
        return;
    }
    let style = if coloured(Colour::Auto, io::stderr().is_terminal()) {
        colour.on_default().bold()
    } else {
        anstyle::Style::new()
    };
    print_stderr(&format_args!("{style}{word}:{style:#} {what}\n"));
}

/// Exit code: success.
pub const OK: u8 = 0;
/// Exit code: wrong usage, or something cannot be read or written.
pub const FAILED: u8 = 2;

/// The exit code, and how many captures were read.
pub type Done = (u8, u64);

/// Reports why a run failed. No capture counts as read.
pub fn refuse(reason: &dyn Display) -> Done {
    error(reason);
    (FAILED, 0)
}

/// Reports that the result cannot be written; returns the exit code.
pub fn not_writable(common: &Common, e: &io::Error) -> u8 {
    let reason = error_text(e);
    let to =
        common.output.as_deref().map_or("standard output".into(), |p| format!("\"{}\"", display_name(p)));
    error(&format_args!("The result cannot be written to {to}: {reason}."));
    FAILED
}

/// The text of an error of an output. Errors of the temporary file name that file, which the user does not know, so only their
/// kind is shown. Errors of the system and of kind `Other` are shown in full, because their kind says too little.
pub fn error_text(e: &io::Error) -> String {
    let has_own_text = e.raw_os_error().is_some() || e.kind() == io::ErrorKind::Other;
    if has_own_text { e.to_string() } else { e.kind().to_string() }
}

/// Passes on an error of an output, but for a reader that closed the pipe early, which does not change the exit code.
///
/// # Errors
/// The error.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|e| if e.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
}

/// The exit code after writing to standard output. A closed pipe is no error.
pub fn stdout_exit_code(written: io::Result<()>) -> u8 {
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            error(&format_args!("The result cannot be written to standard output: {}.", error_text(&e)));
            FAILED
        }
        _ => OK,
    }
}
