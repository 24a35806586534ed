//! Shows the fields of a message as a tree for people, each finding below the field that it is about.
//!
//! ```text
//! token: 2512209022 [1..5] 95bd447e
//! server_info [15..66]
//!     server_name: "Caf\u{fffd}" [19..24] 05436166c3
//!         ^ error[SQP-STR-002] text is not UTF-8 (at fault: server)
//! [requested_chunk_names: server_info]
//! ```

use super::layers::INDENT;
use super::screen::{Screen, style};
use crate::check::Finding;
use crate::decode::{Node, Tree, Value, display};

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
