//! What people are told on standard error: errors, warnings and notes.

use super::choices::Colour;
use super::progress;
use super::terminal::coloured;
use anstyle::AnsiColor;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Writes to standard error; nobody need be reading it.
pub fn say(what: &dyn Display) {
    progress::hide();
    let _ = write!(io::stderr(), "{what}");
}

/// Says what the exit code tells as well: something is wrong.
pub fn error(what: &dyn Display) {
    say_as("error", AnsiColor::Red, what);
}

/// Says that something is not as the user may think.
pub fn warning(what: &dyn Display) {
    say_as("warning", AnsiColor::Yellow, what);
}

/// Says what goes on.
pub fn note(what: &dyn Display) {
    say_as("note", AnsiColor::Cyan, what);
}

/// One line, as clap words its own.
fn say_as(word: &str, colour: AnsiColor, what: &dyn Display) {
    let style = if coloured(Colour::Auto, io::stderr().is_terminal()) {
        colour.on_default().bold()
    } else {
        anstyle::Style::new()
    };
    say(&format_args!("{style}{word}:{style:#} {what}\n"));
}
