//! Compares the values that filters pick while decoding with the tree of the same datagram.

use qdissect::decode::{AnyListener, Tree, Value};
use qdissect::filter::{Filter, Pick, View, names};
use qdissect::protocols::Id;
use qdissect::report::{Packet, Report};
use std::fmt::Write;
use std::io;

/// Compares the picked values of every packet with its tree, and counts the comparisons.
#[derive(Debug, Default)]
pub struct Against {
    /// The name of every declared field, and the expression that tests its presence.
    names: Vec<(String, Filter)>,
    /// Number of compared values.
    pub values: usize,
    /// Names that were present at least once.
    pub seen: Vec<String>,
}

impl Against {
    /// For all declared fields.
    pub fn all() -> Against {
        let declared =
            |name: &String| Id::ALL.iter().any(|id| name.starts_with(&format!("{}.", id.info().name)));
        let named = |name: String| (name.clone(), parsed(&name));
        Against { names: names().into_iter().filter(declared).map(named).collect(), ..Against::default() }
    }
}

fn parsed(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|e| panic!("{e}\n{}", e.caret(text)))
}

fn holds(filter: &Filter, packet: &Packet<'_>) -> bool {
    let mut pick = Pick::new(filter);
    pick.packet(packet, false);
    filter.matches(&View { picked: Some(&pick), ..View::of_packet(packet) })
}

/// The value in the syntax of expressions; `None` for values that are not compared.
fn written(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Uint(v) => v.to_string(),
        Value::Uint64(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Int64(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Float32(v) if v.is_finite() => format!("{v:?}"),
        Value::Named(v, _) => v.to_string(),
        Value::Text(bytes) | Value::Bytes(bytes) => quoted(bytes),
        Value::Utf16(_)
        | Value::Latin1(_)
        | Value::Coloured(..)
        | Value::Escaped(..)
        | Value::Numbered(..)
        | Value::Dotted(_)
        | Value::Pair(..)
        | Value::Address(_)
        | Value::MappedAddress(_) => quoted(value.text()?.as_bytes()),
        Value::Float32(_) | Value::Names(..) | Value::Secret(_) => return None,
    })
}

fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    bytes.iter().for_each(|b| write!(out, "\\x{b:02x}").expect("it is memory"));
    out + "\""
}

/// The values of a name in a tree, and whether it is present. A set without names is not present.
fn values<'a>(tree: &Tree, payload: &'a [u8], protocol: &str, name: &str) -> (Vec<Value<'a>>, bool) {
    let is = |field: &str| format!("{protocol}.{}", field.replace("[]", "")) == name;
    let nodes: Vec<_> = tree.nodes().iter().filter(|node| is(node.field.name)).collect();
    let unnamed = |value: Value<'_>| match value {
        Value::Names(names, bits) => (0..names.len()).all(|bit| bits >> bit & 1 == 0),
        _ => false,
    };
    let there = nodes.iter().any(|node| !node.value(payload).is_some_and(unnamed));
    (nodes.iter().filter_map(|node| node.value(payload)).collect(), there)
}

impl Report for Against {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let protocol = packet.id.info().name;
        for (name, filter) in &self.names {
            if name.split_once('.').is_none_or(|(of, _)| of != protocol) {
                assert!(!holds(filter, packet), "{name} is of another protocol");
                continue;
            }
            let (values, there) =
                values(packet.tree().expect("trees were asked for"), packet.bytes, protocol, name);
            assert_eq!(holds(filter, packet), there, "{name} in frame {}", packet.datagram.frame);
            if there && !self.seen.contains(name) {
                self.seen.push(name.clone());
            }
            for value in values {
                let Some(written) = written(value) else { continue };
                let text = format!("{name} == {written}");
                assert!(holds(&parsed(&text), packet), "{text} in frame {}", packet.datagram.frame);
                self.values += 1;
            }
        }
        Ok(())
    }
}
