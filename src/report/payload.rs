//! Shows a message to people: its fields as a tree, each finding below the field that it is about; and its bytes as rows of
//! hex and text, with faulty bytes marked and passwords masked.
//!
//! ```text
//! token: 2512209022 [1..5] 95bd447e
//! server_info [15..66]
//!     server_name: "Caf\u{fffd}" [19..24] 05436166c3
//!         ^ error[SQP-STR-002] text is not UTF-8 (at fault: server)
//! [requested_chunk_names: server_info]
//!
//! 0010  08 48 69 67 68 72 69 73 65 1e 64                  .Highrise.d
//!          ^^ ^^ ^^
//! ```

use super::layers::INDENT;
use super::screen::{Screen, style};
use crate::check::Finding;
use crate::decode::{Node, Span, Tree, Value, display};
use crate::rule::Severity;
use std::fmt::Write;

/// How fields are shown.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Whether the first bytes of each field stand beside it.
    pub bytes: bool,
    /// Whether to write colours.
    pub colour: bool,
}

/// The lines of a tree and of the findings in it; each level is indented by four more blanks than the level around it. Text
/// from the network is escaped. `place` names the frame of a cause.
pub fn fields(
    tree: &Tree,
    payload: &[u8],
    findings: &[Finding],
    manner: Manner,
    place: &dyn Fn(u64) -> String,
) -> Vec<String> {
    let nodes = tree.nodes();
    let owners: Vec<_> = findings.iter().map(|f| owner(nodes, f)).collect();
    let mut out = vec![];
    for (i, node) in nodes.iter().enumerate() {
        let indent = INDENT.repeat(usize::from(node.depth));
        out.push(format!("{indent}{}", line(node, payload, manner.bytes)));
        let own = findings.iter().zip(&owners).filter(|(_, owner)| **owner == Some(i));
        out.extend(
            own.map(|(f, _)| format!("{indent}{INDENT}{}", finding_line(f, true, manner.colour, place))),
        );
    }
    let rest = findings.iter().zip(&owners).filter(|(_, owner)| owner.is_none());
    out.extend(rest.map(|(f, _)| finding_line(f, false, manner.colour, place)));
    out
}

/// The field that a finding is about: the field with exactly its bytes, or the last field around its first byte, or the
/// first field that shares a byte with it.
fn owner(nodes: &[Node], f: &Finding) -> Option<usize> {
    let (field, span) = (f.field?, f.span?);
    let own = || nodes.iter().enumerate().filter(|(_, n)| n.field == field);
    let exact = own().find(|(_, n)| n.at == span && !n.derived).or_else(|| own().find(|(_, n)| n.at == span));
    let around = || own().rfind(|(_, n)| n.at.start <= span.start && span.start < n.at.end);
    let beside = || own().find(|(_, n)| n.at.start < span.end && span.start < n.at.end);
    exact.or_else(around).or_else(beside).map(|(i, _)| i)
}

/// A field: name, value, offsets of its bytes, and the bytes.
fn line(node: &Node, payload: &[u8], bytes: bool) -> String {
    let key = node.field.key;
    let value = node.value(payload).map(|v| format!(": {}", value(node, v))).unwrap_or_default();
    if node.derived {
        return format!("[{key}{value}]");
    }
    let hex = if bytes { node.hex(payload) } else { String::new() };
    let line = format!("{key}{value} [{}..{}] {hex}", node.at.start, node.at.end);
    line.trim_end().to_owned()
}

/// A value with its name, if it has one. A code with a name is written in hex, with as many digits as its bytes have.
pub(super) fn value(node: &Node, value: Value<'_>) -> String {
    match value {
        // A value that is only derived from bytes has no width of its own.
        Value::Named(v, Some(name)) if !node.derived => {
            let bytes = usize::from(node.at.end.saturating_sub(node.at.start)).clamp(1, 4);
            format!("{v:#0width$x} ({name})", width = 2 + 2 * bytes)
        }
        _ => match node.field.label(value) {
            Some(label) => format!("{} ({label})", display(value)),
            None => display(value),
        },
    }
}

/// A finding: severity, rule, what is wrong, which side is at fault, and the finding that caused it. Below its field
/// (`below`) it need not name the field.
pub fn finding_line(f: &Finding, below: bool, colour: bool, place: &dyn Fn(u64) -> String) -> String {
    let screen = Screen { width: 0, colour, ..Screen::default() };
    let id = screen.paint(style(f.severity), &format!("{}[{}]", f.severity.name(), f.rule.id));
    // A finding about missing bytes names the field in its own text.
    let path = f.path().filter(|_| !below && f.needs == 0).map(|p| format!(" {p}:")).unwrap_or_default();
    let fault = f.fault.name();
    let why = match f.caused_by {
        Some(cause) => {
            format!("at fault: {fault}; caused by {} in frame {}", cause.rule.id, place(cause.frame))
        }
        None => format!("at fault: {fault}"),
    };
    format!("^ {id}{path} {f} ({why})")
}

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
        secrets.iter().for_each(|at| entries(&mut self.hidden, *at).fill(true));
    }

    /// Marks the bytes that findings are about. A finding about the whole payload marks none: it says nothing about single
    /// bytes.
    pub fn mark(&mut self, findings: &[Finding]) {
        let whole = self.payload.len();
        for f in findings {
            let Some(span) = f.span.filter(|s| s.start > 0 || usize::from(s.end) < whole) else { continue };
            for mark in entries(&mut self.marks, span) {
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
fn entries<T>(list: &mut [T], span: Span) -> &mut [T] {
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
