//! Shows the bytes of a payload as rows of hex and text, with faulty bytes marked and passwords masked.
//!
//! ```text
//! 0010  08 48 69 67 68 72 69 73 65 1e 64                  .Highrise.d
//!          ^^ ^^ ^^
//! ```

use super::screen::style;
use crate::check::Finding;
use crate::decode::Span;
use crate::rule::Severity;
use std::fmt::Write;

/// Bytes in a row.
const ROW: usize = 16;

/// A payload, and what is known of each of its bytes.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    payload: &'a [u8],
    /// The worst severity of the findings about each byte.
    marks: Vec<Option<Severity>>,
    /// Whether each byte is hidden.
    hidden: Vec<bool>,
}

impl<'a> Bytes<'a> {
    /// A payload in which no byte is marked or hidden.
    pub fn new(payload: &'a [u8]) -> Bytes<'a> {
        Bytes { payload, marks: vec![None; payload.len()], hidden: vec![false; payload.len()] }
    }

    /// Hides the bytes of passwords.
    pub fn hide(&mut self, secrets: &[Span]) {
        secrets.iter().for_each(|at| of(&mut self.hidden, *at).fill(true));
    }

    /// Marks the bytes that findings are about. A finding about the whole payload marks none: it says nothing about single
    /// bytes.
    pub fn mark(&mut self, findings: &[Finding]) {
        let whole = self.payload.len();
        for f in findings {
            let Some(span) = f.span.filter(|s| s.start > 0 || usize::from(s.end) < whole) else { continue };
            for mark in of(&mut self.marks, span) {
                *mark = Some(f.severity).max(*mark);
            }
        }
    }

    /// Appends the rows. Marks are colours, or a second line with `^`.
    pub fn write(&self, out: &mut String, colour: bool) {
        for at in (0..self.payload.len()).step_by(ROW) {
            let row = at..self.payload.len().min(at + ROW);
            let (mut hex, mut text) = (String::new(), String::new());
            for i in row.clone() {
                let (digits, c) = self.byte(i);
                let style = self.marks[i].filter(|_| colour).map(style).unwrap_or_default();
                let _ = write!(hex, "{style}{digits}{style:#} ");
                let _ = write!(text, "{style}{c}{style:#}");
            }
            let blanks = "   ".repeat(ROW - row.len());
            let _ = writeln!(out, "{at:04x}  {hex}{blanks}  {text}");
            if !colour && row.clone().any(|i| self.marks[i].is_some()) {
                let under: String =
                    row.map(|i| if self.marks[i].is_some() { "^^ " } else { "   " }).collect();
                let _ = writeln!(out, "      {}", under.trim_end());
            }
        }
    }

    fn byte(&self, i: usize) -> (String, char) {
        match self.payload[i] {
            _ if self.hidden[i] => ("**".to_owned(), '*'),
            // After two of these it would begin a command of GitHub's runners.
            b'[' if self.payload[..i].ends_with(b"##") => ("5b".to_owned(), '.'),
            b @ b' '..=b'~' => (format!("{b:02x}"), char::from(b)),
            b => (format!("{b:02x}"), '.'),
        }
    }
}

/// The entries of a list for the bytes of a span.
fn of<T>(list: &mut [T], span: Span) -> &mut [T] {
    let end = usize::from(span.end).min(list.len());
    list.get_mut(usize::from(span.start).min(end)..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::general::GEN_001;

    fn rows(bytes: &Bytes<'_>, colour: bool) -> String {
        let mut out = String::new();
        bytes.write(&mut out, colour);
        out
    }

    fn at(start: u16, end: u16) -> Finding {
        Finding { span: Some(Span { start, end }), ..Finding::of_exchange(&GEN_001) }
    }

    #[test]
    fn rows_have_sixteen_bytes_and_nothing_that_moves_a_cursor() {
        let text: Vec<u8> = (0x10..0x23).collect();
        let expected = "0000  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f   ................\n\
                        0010  20 21 22                                           !\"\n";
        assert_eq!(rows(&Bytes::new(&text), false), expected);
        assert_eq!(rows(&Bytes::new(&[]), false), "");
        assert!(rows(&Bytes::new(b"##[x] #["), false).ends_with("  ##.x] #[\n"));
    }

    #[test]
    fn marks_stand_under_their_bytes_or_are_colours() {
        let mut bytes = Bytes::new(b"abcd");
        bytes.mark(&[at(1, 3), at(0, 4), at(4, 4), at(3, 9)]);
        let expected = format!("0000  61 62 63 64 {}  abcd\n         ^^ ^^ ^^\n", "   ".repeat(12));
        assert_eq!(rows(&bytes, false), expected);
        let painted = rows(&bytes, true);
        assert_eq!(painted.lines().count(), 1);
        assert!(painted.starts_with("0000  61 \x1b["), "{painted:?}");
    }
}
