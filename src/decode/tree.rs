//! The field tree: a flat pre-order list that is cleared and refilled for every datagram.

use super::field::SECRET;
use super::labels::names_of_bits;
use super::{Escapes, Field, FieldSink, Kept, Listener, Notes, Shape, Span, Value, Violation, path};
use crate::text::escape::{quoted, to_hex_head};
use std::fmt::Write;

/// The contents of a node. Text and bytes stay in the payload: they end where the node's span ends, or before its
/// separator. Only their length is kept, so that one tree serves every datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    Group,
    List,
    Scalar(Value<'static>),
    Text(u16),
    Utf16(u16),
    Latin1(u16),
    Escaped(u16, Escapes),
    Bytes(u16),
}

/// The most bytes shown beside a field.
const HEAD: usize = 8;

/// One line of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The declared field.
    pub field: &'static Field,
    /// Its bytes.
    pub at: Span,
    /// Number of groups and lists around it.
    pub depth: u8,
    /// Its value follows from the bytes but is not in the payload itself.
    pub derived: bool,
    content: Content,
    /// Number of its bytes after its value: a separator.
    separator: u16,
}

impl Node {
    /// Whether the node is a value, not a group or list.
    pub fn is_value(&self) -> bool {
        !matches!(self.content, Content::Group | Content::List)
    }

    /// Whether neither its value nor its bytes may be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Secret(_)))
    }

    /// Its first bytes as hex digits; empty where it has no bytes of its own or they are secret.
    pub fn hex(&self, payload: &[u8]) -> String {
        if !self.is_value() || self.derived || self.is_secret() {
            return String::new();
        }
        let bytes = self.at.of(payload);
        to_hex_head(bytes, HEAD)
    }

    /// The bytes of its value: those of a text without its length and separators.
    pub fn value_span(&self) -> Span {
        let end = self.at.end.saturating_sub(self.separator);
        let start = match self.content {
            Content::Text(length)
            | Content::Utf16(length)
            | Content::Latin1(length)
            | Content::Escaped(length, _)
            | Content::Bytes(length) => end.saturating_sub(length),
            Content::Group | Content::List | Content::Scalar(_) => self.at.start,
        };
        Span { start, end }
    }

    /// The value, read back out of the payload; `None` for a group or list.
    pub fn value<'a>(&self, payload: &'a [u8]) -> Option<Value<'a>> {
        let bytes = self.value_span().of(payload);
        Some(match self.content {
            Content::Group | Content::List => return None,
            Content::Scalar(v) => v,
            Content::Text(_) => Value::Text(bytes),
            Content::Utf16(_) => Value::Utf16(bytes),
            Content::Latin1(_) => Value::Latin1(bytes),
            Content::Escaped(_, escapes) => Value::Escaped(bytes, escapes, None),
            Content::Bytes(_) => Value::Bytes(bytes),
        })
    }
}

/// Everything that a decoder reported about a datagram.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    violations: Vec<Violation>,
    open: Vec<usize>,
    /// The last node that is a value in the payload.
    last_leaf: Option<usize>,
    /// The broken rules in the form that the check stage needs.
    notes: Notes,
}

impl Tree {
    /// The nodes, groups before their contents.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// The broken rules.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Reports everything to another listener, without running the decoder again.
    pub fn replay<S: FieldSink>(&self, payload: &[u8], sink: &mut S) {
        let mut open: Vec<u16> = vec![];
        for n in &self.nodes {
            while open.len() > n.depth as usize {
                sink.close(open.pop().unwrap_or_default());
            }
            match n.content {
                Content::Group | Content::List => {
                    let shape = if n.content == Content::List { Shape::List } else { Shape::Group };
                    sink.open(n.field, n.at.start, shape);
                    open.push(n.at.end);
                }
                _ => match n.value(payload) {
                    Some(v) if n.derived => sink.derived(n.field, n.at, v),
                    Some(v) => {
                        sink.field(n.field, Span { end: n.at.end.saturating_sub(n.separator), ..n.at }, v);
                        if n.separator > 0 {
                            sink.separator(n.separator);
                        }
                    }
                    None => {}
                },
            }
        }
        while let Some(at) = open.pop() {
            sink.close(at);
        }
        self.violations.iter().for_each(|v| sink.violation(*v));
    }

    /// The tree as text: byte range, hex, name and value, with broken rules at the end.
    pub fn render(&self, payload: &[u8]) -> String {
        let mut out = String::new();
        for n in &self.nodes {
            let hex = n.hex(payload);
            let pad = "  ".repeat(n.depth as usize);
            let (left, right) = if n.derived { ("[", "]") } else { ("", "") };
            let _ = write!(out, "{:4}..{:<4} {hex:<18} {pad}{left}{}", n.at.start, n.at.end, n.field.key);
            if let Some(v) = n.value(payload) {
                let _ = write!(out, ": {}", display(v));
            }
            let _ = writeln!(out, "{right}");
        }
        for v in &self.violations {
            let place = v.field.map(|f| path(f, v.index)).unwrap_or_default();
            let _ =
                writeln!(out, "{:4}..{:<4} ^ {} {place}: {}", v.at.start, v.at.end, v.rule.id, v.rule.title);
        }
        out
    }

    fn add(&mut self, field: &'static Field, at: Span, value: Value<'_>, derived: bool) {
        let content = match value {
            Value::Text(t) | Value::Coloured(t, _) | Value::Numbered(t, _) => Content::Text(t.len() as u16),
            Value::Utf16(t) => Content::Utf16(t.len() as u16),
            Value::Latin1(t) => Content::Latin1(t.len() as u16),
            Value::Escaped(t, escapes, _) => Content::Escaped(t.len() as u16, escapes),
            Value::Bytes(b) => Content::Bytes(b.len() as u16),
            Value::Uint(v) => Content::Scalar(Value::Uint(v)),
            Value::Uint64(v) => Content::Scalar(Value::Uint64(v)),
            Value::Int(v) => Content::Scalar(Value::Int(v)),
            Value::Int64(v) => Content::Scalar(Value::Int64(v)),
            Value::Bool(v) => Content::Scalar(Value::Bool(v)),
            Value::Secret(kind) => Content::Scalar(Value::Secret(kind)),
            Value::Float32(v) => Content::Scalar(Value::Float32(v)),
            Value::Named(v, name) => Content::Scalar(Value::Named(v, name)),
            Value::Names(names, bits) => Content::Scalar(Value::Names(names, bits)),
            Value::Dotted(bytes) => Content::Scalar(Value::Dotted(bytes)),
            Value::Pair(numbers, between) => Content::Scalar(Value::Pair(numbers, between)),
            Value::Address(address) => Content::Scalar(Value::Address(address)),
            Value::MappedAddress(bytes) => Content::Scalar(Value::MappedAddress(bytes)),
        };
        if !derived {
            self.last_leaf = Some(self.nodes.len());
        }
        self.nodes.push(Node { field, at, depth: self.open.len() as u8, derived, content, separator: 0 });
    }
}

/// A value for people: text quoted and escaped, numbers with their names.
pub fn display(value: Value<'_>) -> String {
    match value {
        Value::Uint(v) => v.to_string(),
        Value::Uint64(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Int64(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Secret(_) => SECRET.into(),
        Value::Float32(v) => format!("{v:?}"),
        Value::Text(_)
        | Value::Utf16(_)
        | Value::Latin1(_)
        | Value::Coloured(..)
        | Value::Escaped(..)
        | Value::Numbered(..)
        | Value::Dotted(_)
        | Value::Pair(..)
        | Value::Address(_)
        | Value::MappedAddress(_) => quoted(&value.text().unwrap_or_default()),
        Value::Named(v, Some(name)) => format!("{v} ({name})"),
        Value::Named(v, None) => v.to_string(),
        Value::Names(names, bits) => names_of_bits(names, bits.into()).collect::<Vec<_>>().join(", "),
        Value::Bytes(b) => format!("[{} bytes]", b.len()),
    }
}

impl FieldSink for Tree {
    const KEEPS_FIELDS: bool = true;
    fn kept(&self) -> Kept {
        Kept([self.nodes.len(), 0], false)
    }
    fn withdraw(&mut self, Kept([nodes, _], _): Kept) {
        self.nodes.truncate(nodes);
    }
    fn field(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.add(field, at, value, false);
    }
    fn derived(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.add(field, at, value, true);
    }
    fn separator(&mut self, bytes: u16) {
        if let Some(last) = self.last_leaf.and_then(|at| self.nodes.get_mut(at)) {
            last.at.end = last.at.end.saturating_add(bytes);
            last.separator = last.separator.saturating_add(bytes);
        }
    }
    fn open(&mut self, field: &'static Field, at: u16, shape: Shape) {
        let content = if shape == Shape::List { Content::List } else { Content::Group };
        let depth = self.open.len() as u8;
        self.open.push(self.nodes.len());
        let at = Span { start: at, end: at };
        self.nodes.push(Node { field, at, depth, derived: false, content, separator: 0 });
    }
    fn close(&mut self, at: u16) {
        if let Some(node) = self.open.pop().and_then(|i| self.nodes.get_mut(i)) {
            node.at.end = at;
        }
    }
    fn violation(&mut self, v: Violation) {
        self.violations.push(v);
        self.notes.violation(v);
    }
}

impl Listener for Tree {
    fn begin(&mut self) {
        self.nodes.clear();
        self.violations.clear();
        self.open.clear();
        self.last_leaf = None;
        self.notes.begin();
    }
    fn notes(&self) -> &Notes {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::FieldKind;

    static FIELD: Field = Field::new("a", FieldKind::Bytes, "");

    #[test]
    fn at_most_eight_bytes_of_a_field_are_shown() {
        let payload = [0xd5; 9];
        let shown = |end: u16| {
            let mut tree = Tree::default();
            tree.field(
                &FIELD,
                Span { start: 0, end },
                Value::Bytes(payload.get(..end.into()).unwrap_or_default()),
            );
            tree.nodes().first().map(|node| node.hex(&payload))
        };
        assert_eq!(shown(8), Some("d5".repeat(8)));
        assert_eq!(shown(9), Some("d5".repeat(8) + "…"));
    }
}
