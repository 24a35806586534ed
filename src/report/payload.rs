//! Shows a message to people: its fields as a tree, with each finding below its field, and its bytes as rows of hex and
//! text, with faulty bytes marked and passwords masked.
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

use super::outline::{ByteCell, Outline, OutlineLine};
use super::screen::{Screen, style};
use crate::check::Finding;
use crate::decode::{Node, Span, Tree, Value, display};
use crate::diagnosis::Diagnosis;
use crate::rule::Severity;
use std::fmt::Write;

/// The style in which fields are shown.
#[derive(Clone, Copy, Debug)]
pub struct FieldStyle {
    /// Whether to show the first bytes of each field beside it.
    pub bytes: bool,
    /// Whether to write colours.
    pub colour: bool,
}

/// The lines of a tree, its findings and its diagnosis. Text from the network is escaped. `frame_name` names the frame of a
/// cause.
pub(super) fn outline(
    tree: &Tree,
    payload: &[u8],
    (findings, diagnosis): (&[Finding], Option<&Diagnosis>),
    style: FieldStyle,
    frame_name: &dyn Fn(u64) -> String,
) -> Outline {
    let nodes = tree.nodes();
    let owner_indices: Vec<_> = findings.iter().map(|f| owner(nodes, f)).collect();
    let finding = |f: &Finding, level: usize, is_below_field| {
        let text = finding_line(f, is_below_field, style.colour, frame_name);
        OutlineLine { span: f.span, severity: Some(f.severity), ..OutlineLine::plain(level, text) }
    };
    let mut out = vec![];
    for (i, node) in nodes.iter().enumerate() {
        let level = usize::from(node.depth);
        let span = Some(node.at).filter(|at| at.start < at.end);
        let (field, value) = (Some(node.field), node.value(payload).map(display));
        let text = line(node, payload, style.bytes);
        out.push(OutlineLine { span, field, value, ..OutlineLine::plain(level, text) });
        let own_findings = findings.iter().zip(&owner_indices).filter(|(_, owner)| **owner == Some(i));
        out.extend(own_findings.map(|(f, _)| finding(f, level + 1, true)));
    }
    let other_findings = findings.iter().zip(&owner_indices).filter(|(_, owner)| owner.is_none());
    out.extend(other_findings.map(|(f, _)| finding(f, 0, false)));
    out.extend(diagnosis.map(|diagnosis| OutlineLine::plain(0, diagnosis.help_line())));
    out
}

/// The lines of a tree, its findings and its diagnosis, indented by four blanks per level. Text from the network is escaped.
/// `frame_name` names the frame of a cause.
pub fn fields(
    tree: &Tree,
    payload: &[u8],
    judged: (&[Finding], Option<&Diagnosis>),
    style: FieldStyle,
    frame_name: &dyn Fn(u64) -> String,
) -> Vec<String> {
    outline(tree, payload, judged, style, frame_name).iter().map(OutlineLine::indented).collect()
}

/// Index of the field that a finding is about: the field with exactly its bytes, or the last field that contains its
/// first byte, or the first field that shares a byte with it.
fn owner(nodes: &[Node], f: &Finding) -> Option<usize> {
    let (field, span) = (f.field?, f.span?);
    let own_nodes = || nodes.iter().enumerate().filter(|(_, n)| n.field == field);
    let exact_node = own_nodes()
        .find(|(_, n)| n.at == span && !n.derived)
        .or_else(|| own_nodes().find(|(_, n)| n.at == span));
    let node_around = || own_nodes().rfind(|(_, n)| n.at.start <= span.start && span.start < n.at.end);
    let node_beside = || own_nodes().find(|(_, n)| n.at.start < span.end && span.start < n.at.end);
    exact_node.or_else(node_around).or_else(node_beside).map(|(i, _)| i)
}

/// The line of a field: name, value, offsets and bytes.
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

/// A value with its name, if it has one. A named code is written in hex with the digits of all of its bytes.
pub(super) fn value(node: &Node, value: Value<'_>) -> String {
    match value {
        // A derived value has no width of its own.
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

/// The line of a finding: severity, rule, message, the side at fault, and the cause. With `is_below_field`, it does not
/// name the field.
pub fn finding_line(
    f: &Finding,
    is_below_field: bool,
    colour: bool,
    frame_name: &dyn Fn(u64) -> String,
) -> String {
    let screen = Screen { width: 0, colour, ..Screen::default() };
    let id = screen.paint(style(f.severity), &format!("{}[{}]", f.severity.name(), f.rule.id));
    // The message of a finding about missing bytes names the field itself.
    let path =
        f.path().filter(|_| !is_below_field && f.needs == 0).map(|p| format!(" {p}:")).unwrap_or_default();
    let fault = f.fault.name();
    let fault_and_cause = match f.caused_by {
        Some(cause) => {
            format!("at fault: {fault}; caused by {} in frame {}", cause.rule.id, frame_name(cause.frame))
        }
        None => format!("at fault: {fault}"),
    };
    format!("^ {id}{path} {f} ({fault_and_cause})")
}

/// Bytes in a row.
const ROW: usize = 16;

/// A payload, with a severity and a mask for each byte.
#[derive(Debug)]
pub(super) struct Bytes<'a> {
    payload: &'a [u8],
    /// The worst severity of the findings about each byte.
    severities: Vec<Option<Severity>>,
    /// Whether each byte is masked.
    is_hidden: Vec<bool>,
}

impl<'a> Bytes<'a> {
    /// A payload without marked or masked bytes.
    pub fn new(payload: &'a [u8]) -> Bytes<'a> {
        Bytes { payload, severities: vec![None; payload.len()], is_hidden: vec![false; payload.len()] }
    }

    /// Masks the bytes of passwords.
    pub fn hide(&mut self, secrets: &[Span]) {
        secrets.iter().for_each(|at| entries(&mut self.is_hidden, *at).fill(true));
    }

    /// Marks the bytes that findings are about. A finding about the whole payload marks none, because it is not about
    /// single bytes.
    pub fn mark(&mut self, findings: &[Finding]) {
        let whole = self.payload.len();
        for f in findings {
            let Some(span) = f.span.filter(|s| s.start > 0 || usize::from(s.end) < whole) else { continue };
            for mark in entries(&mut self.severities, span) {
                *mark = Some(f.severity).max(*mark);
            }
        }
    }

    /// Each byte.
    pub fn cells(&self) -> impl Iterator<Item = ByteCell> {
        let marks = self.severities.iter().zip(&self.is_hidden);
        self.payload.iter().zip(marks).map(|(&byte, (&severity, &is_hidden))| {
            let value = (!is_hidden).then_some(byte);
            ByteCell { value, severity }
        })
    }

    /// Appends the rows. Bytes are marked by colour, or by `^` in a second line.
    pub fn write(&self, out: &mut String, colour: bool) {
        for at in (0..self.payload.len()).step_by(ROW) {
            let row = at..self.payload.len().min(at + ROW);
            let (mut hex, mut text) = (String::new(), String::new());
            for i in row.clone() {
                let (digits, c) = self.byte(i);
                let style = self.severities[i].filter(|_| colour).map(style).unwrap_or_default();
                let _ = write!(hex, "{style}{digits}{style:#} ");
                let _ = write!(text, "{style}{c}{style:#}");
            }
            let blanks = "   ".repeat(ROW - row.len());
            let _ = writeln!(out, "{at:04x}  {hex}{blanks}  {text}");
            if !colour && row.clone().any(|i| self.severities[i].is_some()) {
                let markers: String =
                    row.map(|i| if self.severities[i].is_some() { "^^ " } else { "   " }).collect();
                let _ = writeln!(out, "      {}", markers.trim_end());
            }
        }
    }

    fn byte(&self, i: usize) -> (String, char) {
        match self.payload[i] {
            _ if self.is_hidden[i] => ("**".to_owned(), '*'),
            // After `##`, it would begin a command of GitHub's runners.
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
    use crate::rule::general::GEN_001;

    fn rows(bytes: &Bytes<'_>, colour: bool) -> String {
        let mut out = String::new();
        bytes.write(&mut out, colour);
        out
    }

    fn at(start: u16, end: u16) -> Finding {
        Finding { span: Some(Span { start, end }), ..Finding::of_exchange(&GEN_001) }
    }

    #[test]
    fn rows_have_sixteen_bytes_and_no_control_characters() {
        let text: Vec<u8> = (0x10..0x23).collect();
        let expected = "0000  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f   ................\n\
                        0010  20 21 22                                           !\"\n";
        assert_eq!(rows(&Bytes::new(&text), false), expected);
        assert_eq!(rows(&Bytes::new(&[]), false), "");
        assert!(rows(&Bytes::new(b"##[x] #["), false).ends_with("  ##.x] #[\n"));
    }

    #[test]
    fn marks_bytes_below_the_row_or_by_colour() {
        let mut bytes = Bytes::new(b"abcd");
        bytes.mark(&[at(1, 3), at(0, 4), at(4, 4), at(3, 9)]);
        let expected = format!("0000  61 62 63 64 {}  abcd\n         ^^ ^^ ^^\n", "   ".repeat(12));
        assert_eq!(rows(&bytes, false), expected);
        let painted = rows(&bytes, true);
        assert_eq!(painted.lines().count(), 1);
        assert!(painted.starts_with("0000  61 \x1b["), "{painted:?}");
    }
}
