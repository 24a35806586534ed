//! The values of an answer, each with a path that means the same in another answer.
//!
//! Elements of a list are known by the first text in them, as a setting by its key and a player by the name, and by their
//! index where they have none: `rules[sv_gravity].value`, `sub_states[2].version`.

use super::answers::{Answer, Latest};
use crate::decode::{Field, FieldKind, Node, Value, names_of_bits};
use crate::protocols::Id;
use crate::text::escape::to_hex;
use hashbrown::HashMap;
use serde_json::{Value as Json, json};

/// Most characters of the text by which an element is known.
const MAX_NAME: usize = 64;

/// Which fields are not compared.
#[derive(Clone, Debug, Default)]
pub struct Ignored {
    /// Names of fields, or their beginnings.
    pub fields: Vec<String>,
    /// Volatile fields are compared.
    pub volatile: bool,
}

impl Ignored {
    /// Whether a field is left out.
    fn has(&self, field: &Field, path: &str) -> bool {
        let begins = |text: &str, name: &str| {
            text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_named = |name: &String| begins(path, name) || begins(field.name, name);
        field.volatile && !self.volatile || self.fields.iter().any(is_named)
    }

    /// Whether elements of that name are left out.
    fn has_key(&self, id: Id, name: &str) -> bool {
        !self.volatile && id.info().volatile_keys.contains(&name)
    }
}

/// A value in an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its path, with names or indices of elements.
    pub path: String,
    /// Its field.
    pub field: &'static Field,
    /// The value as in records.
    pub value: Json,
    /// The bytes of a text that is not valid in its encoding.
    damaged: Vec<u8>,
}

impl Entry {
    /// Whether another entry has the same value.
    pub fn is_same(&self, other: &Entry) -> bool {
        self.value == other.value && self.damaged == other.damaged
    }
}

/// The values of the latest answer of a message, and of groups that it does not have, in order.
pub fn entries(latest: &Latest, id: Id, ignored: &Ignored) -> Vec<Entry> {
    let mut all = values(&latest.last, None, id, ignored);
    let mut parts: Vec<_> = latest.parts.iter().collect();
    parts.sort_by_key(|(name, _)| **name);
    all.extend(parts.into_iter().flat_map(|(name, answer)| values(answer, Some(name), id, ignored)));
    all
}

/// A group or list around a node.
struct Open {
    path: String,
    /// Number of its elements so far.
    elements: usize,
    /// How often an element of a name has come.
    names: HashMap<String, usize>,
    /// Nothing in it is compared.
    is_ignored: bool,
    /// The node in it that is its name.
    name: Option<usize>,
}

/// The values of an answer, or of one group of it.
fn values(answer: &Answer, only: Option<&str>, id: Id, ignored: &Ignored) -> Vec<Entry> {
    let (mut all, mut open): (Vec<Entry>, Vec<Open>) = (vec![], vec![]);
    let mut inside = only.is_none();
    for (at, node) in answer.nodes.iter().enumerate() {
        open.truncate(node.depth.into());
        if node.depth == 0 {
            inside = only.is_none_or(|name| name == node.field.name);
        }
        if !inside {
            continue;
        }
        let name = name_of(answer, at);
        let text = name.as_ref().map(|(_, text)| text.as_str());
        let path = path_of(node, open.last_mut(), text);
        let is_ignored = open.last().is_some_and(|around| around.is_ignored)
            || ignored.has(node.field, &path)
            || text.is_some_and(|text| ignored.has_key(id, text));
        match node.value(&answer.bytes) {
            None => {
                let name = name.filter(|(_, _)| has_more(answer, at, ignored)).map(|(place, _)| place);
                open.push(Open { path, elements: 0, names: HashMap::new(), is_ignored, name });
            }
            // The name of an element is in the paths of everything else in it.
            Some(_) if is_ignored || open.last().is_some_and(|around| around.name == Some(at)) => {}
            Some(value) => {
                let (value, damaged) = shown(value, node, &answer.bytes);
                all.push(Entry { path, field: node.field, value, damaged });
            }
        }
    }
    all
}

/// The nodes directly in a group.
fn members(answer: &Answer, group: usize) -> impl Iterator<Item = (usize, &Node)> {
    let depth = answer.nodes.get(group).map_or(0, |node| node.depth);
    let after = answer.nodes.iter().enumerate().skip(group.saturating_add(1));
    let inside = after.take_while(move |(_, node)| node.depth > depth);
    inside.filter(move |(_, node)| node.depth == depth.saturating_add(1))
}

/// The node that names an element of a list, and its text, where it is a group with a text.
fn name_of(answer: &Answer, at: usize) -> Option<(usize, String)> {
    let node = answer.nodes.get(at)?;
    if node.field.kind != FieldKind::Group || !node.field.name.ends_with("[]") {
        return None;
    }
    let named = |(place, node): (usize, &Node)| {
        let text = node.value(&answer.bytes).filter(|_| !node.derived && !node.field.volatile)?.text()?;
        Some((place, text.chars().take(MAX_NAME).collect()))
    };
    members(answer, at).find_map(named)
}

/// Whether an element has more to compare than its name.
fn has_more(answer: &Answer, at: usize, ignored: &Ignored) -> bool {
    let named = name_of(answer, at).map(|(place, _)| place);
    members(answer, at).any(|(place, node)| {
        Some(place) != named && node.is_value() && !ignored.has(node.field, node.field.name)
    })
}

/// The path of a node in what is around it.
fn path_of(node: &Node, around: Option<&mut Open>, name: Option<&str>) -> String {
    let Some(around) = around else { return node.field.key.to_owned() };
    if !node.field.name.ends_with("[]") {
        return format!("{}.{}", around.path, node.field.key);
    }
    let index = around.elements;
    around.elements = index.saturating_add(1);
    let Some(name) = name else { return format!("{}[{index}]", around.path) };
    let times = around.names.entry(name.to_owned()).or_default();
    *times = times.saturating_add(1);
    match *times {
        1 => format!("{}[{name}]", around.path),
        n => format!("{}[{name}#{n}]", around.path),
    }
}

/// A value as records show it, and the bytes of a damaged text.
fn shown(value: Value<'_>, node: &Node, bytes: &[u8]) -> (Json, Vec<u8>) {
    let json = match value {
        Value::Uint(n) => json!(n),
        Value::Int(n) => json!(n),
        Value::Uint64(n) => json!(n.to_string()),
        Value::Int64(n) => json!(n.to_string()),
        Value::Bool(yes) => json!(yes),
        Value::Float32(n) if n.is_finite() => {
            // The shortest decimal of a float, not that of the double next to it.
            n.to_string().parse::<f64>().map_or(Json::Null, |n| json!(n))
        }
        Value::Float32(n) if n.is_nan() => json!("NaN"),
        Value::Float32(n) => json!(if n > 0.0 { "Infinity" } else { "-Infinity" }),
        Value::Named(n, name) => name.map_or(json!(n), |name| json!(name)),
        Value::Names(names, bits) => json!(names_of_bits(names, bits.into()).collect::<Vec<_>>()),
        Value::Bytes(bytes) => json!(to_hex(bytes)),
        Value::Secret(_) => json!(crate::decode::SECRET),
        text => json!(text.text().unwrap_or_default()),
    };
    let is_damaged = json.as_str().is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER));
    let damaged = if is_damaged { node.at.of(bytes).to_vec() } else { vec![] };
    (json, damaged)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::decode::{FieldSink, Shape, Span, Tree};

    static LIST: Field = Field::new("rules", FieldKind::List, "");
    static RULE: Field = Field::new("rules[]", FieldKind::Group, "");
    static KEY: Field = Field::new("rules[].key", FieldKind::Text, "");
    static VALUE: Field = Field::new("rules[].value", FieldKind::Uint, "");
    static PING: Field = Field::new("ping", FieldKind::Uint, "").volatile();

    /// The paths and values of a list of settings.
    fn paths(keys: &[&str], ignored: &Ignored) -> Vec<String> {
        let (mut tree, mut bytes) = (Tree::default(), vec![]);
        tree.open(&LIST, 0, Shape::List);
        for (n, key) in keys.iter().enumerate() {
            let start = bytes.len() as u16;
            bytes.extend_from_slice(key.as_bytes());
            let end = bytes.len() as u16;
            tree.open(&RULE, start, Shape::Group);
            tree.field(&KEY, Span { start, end }, Value::Text(key.as_bytes()));
            tree.field(&VALUE, Span { start: end, end }, Value::Uint(n as u32));
            tree.close(end);
        }
        tree.close(bytes.len() as u16);
        tree.field(&PING, Span::default(), Value::Uint(7));
        let last = Answer { bytes, nodes: tree.nodes().to_vec(), ..Answer::default() };
        let all = entries(&Latest { last, ..Latest::default() }, Id::Quake3, ignored);
        all.into_iter().map(|entry| format!("{}={}", entry.path, entry.value)).collect()
    }

    #[test]
    fn elements_are_known_by_the_beginning_of_their_text() {
        let ignored = Ignored::default();
        assert_eq!(
            paths(&["a", "b", "a"], &ignored),
            ["rules[a].value=0", "rules[b].value=1", "rules[a#2].value=2"]
        );
        let long = "x".repeat(MAX_NAME + 1);
        let beginning = &long[1..];
        let found = paths(&[&long, beginning], &ignored);
        assert_eq!(found, [format!("rules[{beginning}].value=0"), format!("rules[{beginning}#2].value=1")]);
    }

    #[test]
    fn what_is_volatile_or_ignored_is_left_out() {
        let ignored = |fields: &[&str], volatile| Ignored {
            fields: fields.iter().map(|name| (*name).to_owned()).collect(),
            volatile,
        };
        assert_eq!(paths(&["a", "challenge"], &ignored(&[], false)), ["rules[a].value=0"]);
        let all = ["rules[a].value=0", "rules[challenge].value=1", "ping=7"];
        assert_eq!(paths(&["a", "challenge"], &ignored(&[], true)), all);
        assert_eq!(paths(&["a", "b"], &ignored(&["rules[a]"], false)), ["rules[b].value=1"]);
        assert!(paths(&["a", "b"], &ignored(&["rules"], false)).is_empty());
        assert_eq!(paths(&["a"], &ignored(&["rule"], false)), ["rules[a].value=0"], "no name of a field");
    }
}
