//! Breaks lines between words if they are wider than the terminal.

use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

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

/// Breaks a line into several; all but the first are indented.
fn wrapped(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let indent = (line.len() - line.trim_start().len() + HANGING).min(width / 2);
    let (mut out, mut at, mut fresh) = (String::new(), 0, true);
    for piece in line.split_inclusive(' ') {
        let word = columns(piece.trim_end());
        if at + word > width && !fresh {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        }
        fresh = at <= indent && piece.trim().is_empty();
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
    fn what_is_written_in_pieces_is_one_line() {
        let mut out = vec![];
        let mut wrap = Wrap::new(&mut out, 6);
        write!(wrap, "one ").and_then(|()| write!(wrap, "two")).unwrap();
        write!(wrap, " three\nfour").unwrap();
        wrap.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "one\n  two\n  three\nfour");
    }
}
