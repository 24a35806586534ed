//! Messages on standard error: errors, warnings and notes.

use super::choices::Colour;
use super::progress;
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
