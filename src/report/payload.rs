//! Shows a message to people: its fields as a tree, with each finding below its field, and its bytes as rows of hex and
//! text, with faulty bytes marked and passwords masked. Can also return both as JSON for the packet of a given frame.
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
use super::secrets::{in_tree, in_unclaimed};
use super::{Files, Report, Wants};
use crate::capture::CaptureInfo;
use crate::check::{Finding, Packet};
use crate::decode::{Node, Span, Tree, Value, display};
use crate::diagnosis::Diagnosis;
use crate::filter::masked;
use crate::net::Datagram;
use crate::rule::Severity;
use crate::text::escape::terminal_safe_json;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::io;

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

/// A report that waits for the packet of a frame, and then stops reading.
pub struct Picked {
    frame: u64,
    files: Files,
    found: Option<Json>,
}

impl Picked {
    /// A report that waits for the packet of a frame with this number in the run.
    pub fn new(frame: u64) -> Picked {
        Picked { frame, files: Files::default(), found: None }
    }

    /// The packet as JSON: message, fields, bytes as hex digits, and findings. Passwords are masked. The text contains
    /// no characters that hide or reverse text.
    pub fn json(&self) -> Option<String> {
        self.found.as_ref().map(terminal_safe_json)
    }

    /// Keeps the result and stops reading.
    fn keep(&mut self, found: Json) -> io::Result<()> {
        self.found = Some(found);
        Err(io::ErrorKind::Interrupted.into())
    }

    fn finding(&self, f: &Finding) -> Json {
        json!({
            "rule": f.rule.id, "severity": f.severity.name(), "field": f.path().map(|path| path.to_string()),
            "start": f.span.map(|span| span.start), "end": f.span.map(|span| span.end), "message": f.to_string(),
            "found": f.found().map(|found| found.to_string()),
            "expected": f.expected().map(|expected| expected.to_string()),
            "caused_by": f.caused_by.map(|cause| json!({
                "rule": cause.rule.id, "frame": self.files.place(cause.frame).frame,
            })),
        })
    }
}

impl Report for Picked {
    /// Requests the same input as records, so that the packet is reported in the same way.
    fn wants(&self) -> Wants {
        Wants { ordered: true, diagnosis: true, ..Wants::default() }
    }

    fn file(&mut self, _name: &str, _facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        Ok(())
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if p.datagram.frame != self.frame {
            return Ok(());
        }
        let mut tree = Tree::default();
        p.decode_again(false, &mut tree);
        self.keep(json!({
            "protocol": p.id.info().title, "message": p.message_name(),
            "joined": p.whole().is_some(), "missing": p.datagram.cut,
            "bytes": masked(p.bytes, &in_tree(&tree), 0),
            "fields": tree.nodes().iter().map(|node| field(node, p.bytes)).collect::<Vec<_>>(),
            "findings": p.findings.iter().map(|f| self.finding(f)).collect::<Vec<_>>(),
            "help": p.diagnosis().map(Diagnosis::to_string),
        }))
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if d.frame != self.frame {
            return Ok(());
        }
        self.keep(json!({
            "protocol": null, "message": null, "joined": false, "missing": d.cut,
            "bytes": masked(d.payload, &in_unclaimed(d), 0), "fields": [], "findings": [],
        }))
    }
}

/// A field as JSON: depth, name, value for people, and offsets.
fn field(node: &Node, bytes: &[u8]) -> Json {
    json!({
        "depth": node.depth, "name": node.field.key, "value": node.value(bytes).map(|v| value(node, v)),
        "start": node.at.start, "end": node.at.end, "derived": node.derived,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Source;
    use crate::pipeline::{Options, Pipeline, Stopped};
    use crate::rule::general::GEN_001;
    use std::path::Path;

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

    /// The packet of a frame in the demo capture.
    fn pick(frame: u64) -> Option<Json> {
        let mut source = Source::open(Path::new("captures/demo.pcapng")).expect("a capture");
        let mut picked = Picked::new(frame);
        let mut pipeline = Pipeline::new(Options { all: true, ..Options::default() }, &mut picked);
        let result = pipeline.read(&mut source, "demo");
        drop(pipeline);
        assert_eq!(
            matches!(result, Err(Stopped::Report(_))),
            picked.json().is_some(),
            "it ends with the frame"
        );
        picked.json().map(|json| json.parse().expect("JSON"))
    }

    #[test]
    fn finds_the_packet_of_a_frame_with_fields_and_bytes() {
        let picked_packet = pick(4).expect("a packet");
        assert_eq!(
            (&picked_packet["message"], &picked_packet["bytes"]),
            (&json!("challenge_response"), &json!("0095bd447e"))
        );
        let token = json!({ "depth": 0, "name": "token", "value": "2512209022", "start": 1, "end": 5, "derived": false });
        assert_eq!(picked_packet["fields"][1], token);
    }

    #[test]
    fn finds_nothing_in_a_frame_without_a_datagram() {
        assert_eq!(pick(1), None);
        assert_eq!(pick(1_000), None);
    }
}
