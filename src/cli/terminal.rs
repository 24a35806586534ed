//! Properties of the terminal: its width and whether it supports colours. Also makes text harmless for it.

use super::choices::Colour;
use super::common_args::Common;
use super::system;
use crate::report::screen::{Screen, Sort};
use std::io::{self, IsTerminal, Write};
use unicode_width::UnicodeWidthChar;

/// Width if there is no terminal.
const WIDTH: u16 = 100;
/// Maximum number of table rows on a terminal.
const TOP: usize = 20;
/// Minimum width for tables.
const NARROWEST: u16 = 60;

/// Whether the result goes to a terminal.
pub fn is_result_on_terminal(common: &Common) -> bool {
    common.output.is_none() && io::stdout().is_terminal()
}

/// The screen's width and whether it supports colours.
pub fn screen(colour: Colour, common: &Common) -> Screen {
    let terminal = is_result_on_terminal(common);
    let top = terminal.then_some(TOP);
    Screen {
        width: width(terminal),
        colour: coloured(colour, terminal),
        ascii: !utf8(),
        top,
        sort: Sort::default(),
        show: None,
    }
}

/// Whether the locale supports characters beyond ASCII, which is assumed if none is set.
fn utf8() -> bool {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_none_or(|locale| locale.to_ascii_uppercase().replace('-', "").contains("UTF8"))
}

/// The screen that lines are fitted to; `None` unless the result goes to a terminal or has colours. Lines for programs are not
/// fitted, so that all have the same columns.
pub fn fitted_screen(colour: Colour, common: &Common) -> Option<Screen> {
    let screen = line_screen(colour, common);
    (is_result_on_terminal(common) || screen.colour).then_some(screen)
}

/// The screen with the width that lines of a result may have.
pub fn line_screen(colour: Colour, common: &Common) -> Screen {
    Screen { width: line_width(common), ..screen(colour, common) }
}

/// The width that lines of a result may have.
fn line_width(common: &Common) -> u16 {
    if is_result_on_terminal(common) { width(true) } else { u16::MAX }
}

/// Wraps a result: on a terminal, long lines are broken between words.
pub fn wrap<'a, W: Write>(to: &'a mut W, common: &Common) -> Wrap<&'a mut W> {
    Wrap::new(to, line_width(common))
}

/// The width in columns: that of the terminal, or for a file or pipe what the user sets in `COLUMNS`.
pub fn width(terminal: bool) -> u16 {
    let width = terminal_size::terminal_size().filter(|_| terminal).map(|(w, _)| w.0);
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    width.or_else(columns).unwrap_or(WIDTH).max(NARROWEST)
}

/// Whether to use colours: by the option, or else by `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` and `CLICOLOR`
/// (bixense.com/clicolors), and whether there is a terminal that supports them.
pub fn coloured(colour: Colour, terminal: bool) -> bool {
    // Called in any case, because it also switches on the interpretation of escape sequences.
    let escapes_work = terminal && system::supports_escapes();
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
            let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            let able = set("TERM").map_or(escapes_work, |term| term != "dumb");
            let wanted = set("CLICOLOR").is_none_or(|value| value != "0");
            set("NO_COLOR").is_none() && (forced || terminal && able && wanted)
        }
    }
}

/// Additional indent of continuation lines, in columns.
const HANGING: usize = 2;

/// Writes lines to another writer, broken so that they fit the width if their words allow that. Escape sequences have no width.
pub struct Wrap<W: Write> {
    to: W,
    width: usize,
    line: Vec<u8>,
}

impl<W: Write> Wrap<W> {
    pub fn new(to: W, width: u16) -> Wrap<W> {
        Wrap { to, width: width.into(), line: vec![] }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        self.to.write_all(wrapped(&text, self.width).as_bytes())
    }
}

impl<W: Write> Write for Wrap<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.to.flush()
    }
}

/// Breaks a line between words into several; all but the first are indented.
pub fn wrapped(line: &str, width: usize) -> String {
    // No character has more columns than bytes.
    if line.len() <= width || columns(line) <= width {
        return line.to_owned();
    }
    let indent = (line.len() - line.trim_start().len() + HANGING).min(width / 2);
    let (mut out, mut at, mut at_line_start) = (String::new(), 0, true);
    for piece in line.split_inclusive(' ') {
        let word = columns(piece.trim_end());
        if at + word > width && !at_line_start {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        }
        at_line_start = at <= indent && piece.trim().is_empty();
        out.push_str(piece);
        at += columns(piece);
    }
    out
}

/// The width of a text in columns, without its escape sequences and line end.
fn columns(text: &str) -> usize {
    let (mut columns, mut escape) = (0, false);
    for c in text.chars() {
        match c {
            '\x1b' => escape = true,
            'a'..='z' | 'A'..='Z' if escape => escape = false,
            _ if escape => {}
            c => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        assert_eq!(wrapped("short\n", 5), "short\n");
        assert_eq!(wrapped("one two three four\n", 9), "one two\n  three\n  four\n");
        assert_eq!(wrapped("   = one two three\n", 12), "   = one two\n     three\n");
        assert_eq!(wrapped("ananas_without_end and\n", 9), "ananas_without_end\n  and\n");
        assert_eq!(wrapped("\x1b[1mone two\x1b[0m\n", 7), "\x1b[1mone two\x1b[0m\n");
        assert_eq!(wrapped("\x1b[1mone two\x1b[0m three\n", 9), "\x1b[1mone two\x1b[0m\n  three\n");
        assert_eq!(wrapped("サーバー サーバー\n", 9), "サーバー\n  サーバー\n");
    }

    #[test]
    fn a_line_written_in_pieces_is_wrapped_as_one() {
        let mut out = vec![];
        let mut wrap = Wrap::new(&mut out, 6);
        write!(wrap, "one ").and_then(|()| write!(wrap, "two")).unwrap();
        write!(wrap, " three\nfour").unwrap();
        wrap.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "one\n  two\n  three\nfour");
    }
}
