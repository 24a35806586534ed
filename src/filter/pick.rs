//! Picks the fields that a filter names out of the tree of a datagram.

use super::Filter;
use super::value::Datum;
use crate::check::Packet;
use crate::decode::{Field, FieldSink, Shape, Span, Tree, Value};
use crate::protocols::Id;
use std::borrow::Cow;

/// Maximum number of values picked from a datagram; further ones are ignored. No protocol has more than one value per
/// byte, so no datagram with a single list reaches this limit.
pub const MAX_PICKED: usize = 65_536;
/// Indices into the lists on the path to a field; `None` matches every index.
pub(super) type Indices = [Option<u16>; 3];

/// The declared fields that a name in a filter refers to: `player_info.records` means the list, each of its records and
/// every value in them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// The protocol of the fields.
    pub id: Id,
    /// The declarations.
    pub fields: Vec<&'static Field>,
    /// Indices into the lists on the path.
    pub index: Indices,
}

/// Values of the declared fields that a filter names, of one datagram at a time. The memory is reused.
///
/// The default value picks nothing.
#[derive(Debug, Default)]
pub struct Pick {
    wanted: Vec<Wanted>,
    /// Picked values: the slot of the wanted field and the index of the tree node.
    picked: Vec<(u16, usize)>,
    payload: Vec<u8>,
    /// Number of nodes visited.
    nodes: usize,
    /// The open groups and lists, for each list with the number of elements visited.
    open: Vec<Option<u16>>,
    index: [u16; 3],
    tree: Tree,
    /// The datagram has more than [`MAX_PICKED`] values.
    is_full: bool,
    /// Number of such datagrams.
    missed: u64,
}

impl Pick {
    /// Picks the fields that this filter names.
    pub fn new(filter: &Filter) -> Pick {
        Pick::of(filter.wanted.clone())
    }

    pub(super) fn of(wanted: Vec<Wanted>) -> Pick {
        Pick { wanted, ..Pick::default() }
    }

    /// Picks values from a reported packet by decoding it once more. `secrets` allows reading passwords, as in the
    /// options of the pipeline.
    pub fn packet(&mut self, packet: &Packet<'_>, secrets: bool) {
        self.begin();
        if !self.wanted.iter().any(|wanted| wanted.id == packet.id) {
            return;
        }
        let mut tree = std::mem::take(&mut self.tree);
        packet.decode_again(secrets, &mut tree);
        self.payload.extend_from_slice(packet.bytes);
        tree.replay(packet.bytes, self);
        self.tree = tree;
        self.missed = self.missed.saturating_add(u64::from(self.is_full));
    }

    /// Number of datagrams with more than [`MAX_PICKED`] values, which were evaluated in part.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Visits the values of a wanted field until the visitor returns `true`.
    pub(super) fn each(&self, slot: u16, visit: &mut dyn FnMut(Datum<'_>) -> bool) -> bool {
        self.picked.iter().filter(|(s, _)| *s == slot).any(|(_, node)| {
            let node = self.tree.nodes().get(*node);
            match node.and_then(|node| node.value(&self.payload)) {
                None => visit(Datum::Present),
                Some(Value::Names(names, bits)) => (0u32..).zip(names).any(|(bit, name)| {
                    let is_set = bits.checked_shr(bit).is_some_and(|rest| rest & 1 == 1);
                    is_set && visit(Datum::Text(Cow::Borrowed(name.as_bytes())))
                }),
                Some(value) => visit(datum(value)),
            }
        })
    }

    /// Clears all values for the next datagram.
    fn begin(&mut self) {
        self.picked.clear();
        self.payload.clear();
        self.nodes = 0;
        self.open.clear();
        self.index = [0; 3];
        self.is_full = false;
    }

    /// Advances to the next element if the innermost open scope is a list.
    fn step(&mut self) {
        let lists = self.open.iter().flatten().count();
        if let Some(Some(count)) = self.open.last_mut() {
            if let Some(index) = self.index.get_mut(lists.saturating_sub(1)) {
                *index = *count;
            }
            *count = count.saturating_add(1);
        }
    }

    /// Picks the next node of the tree for every slot that refers to its field.
    fn take(&mut self, field: &'static Field) {
        for (slot, wanted) in (0..).zip(&self.wanted) {
            let mut indices = wanted.index.iter().zip(self.index);
            let is_at_index = indices
                .all(|(wanted_index, index)| wanted_index.is_none_or(|wanted_index| wanted_index == index));
            if is_at_index && wanted.fields.contains(&field) {
                match self.picked.len() < MAX_PICKED {
                    true => self.picked.push((slot, self.nodes)),
                    false => self.is_full = true,
                }
            }
        }
        self.nodes = self.nodes.saturating_add(1);
    }
}

/// A value of a field.
fn datum(value: Value<'_>) -> Datum<'_> {
    match value {
        Value::Uint(v) => Datum::Int(i128::from(v)),
        Value::Uint64(v) => Datum::Int(i128::from(v)),
        Value::Int(v) => Datum::Int(i128::from(v)),
        Value::Int64(v) => Datum::Int(i128::from(v)),
        Value::Bool(v) => Datum::Bool(v),
        Value::Float32(v) => Datum::Float(v),
        Value::Named(v, name) => Datum::Named(v, name),
        Value::Secret(_) => Datum::Hidden,
        Value::Text(bytes) => Datum::Text(Cow::Borrowed(bytes)),
        Value::Bytes(bytes) => Datum::Bytes(Cow::Borrowed(bytes)),
        other => Datum::Text(Cow::Owned(other.text().unwrap_or_default().into_owned().into_bytes())),
    }
}

impl FieldSink for Pick {
    fn field(&mut self, field: &'static Field, _at: Span, _value: Value<'_>) {
        self.step();
        self.take(field);
    }
    fn derived(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.field(field, at, value);
    }
    fn open(&mut self, field: &'static Field, _at: u16, shape: Shape) {
        self.step();
        self.take(field);
        self.open.push((shape == Shape::List).then_some(0));
    }
    fn close(&mut self, _at: u16) {
        self.open.pop();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::filter::Filter;

    /// A `Pick` for a number and a text, and the declarations of these two fields.
    fn pick() -> (Pick, [&'static Field; 2]) {
        let filter = Filter::parse("sqp.token == 1 and sqp.server_info.server_name == \"a\"").unwrap();
        let pick = Pick::new(&filter);
        let fields = [0, 1].map(|slot| pick.wanted[slot].fields[0]);
        (pick, fields)
    }

    fn count(pick: &Pick, slot: u16) -> usize {
        pick.picked.iter().filter(|(s, _)| *s == slot).count()
    }

    #[test]
    fn ignores_values_beyond_the_limit_and_counts_the_datagram() {
        let (mut pick, [number, text]) = pick();
        let at = Span { start: 0, end: 0 };
        pick.begin();
        (0..MAX_PICKED as u32 - 1).for_each(|n| pick.field(number, at, Value::Uint(n)));
        pick.field(text, at, Value::Text(b"a"));
        assert_eq!((count(&pick, 0), count(&pick, 1), pick.is_full), (MAX_PICKED - 1, 1, false));
        pick.field(text, at, Value::Text(b"b"));
        assert_eq!((pick.picked.len(), count(&pick, 1), pick.is_full), (MAX_PICKED, 1, true));
        pick.begin();
        pick.field(text, at, Value::Text(b"b"));
        assert_eq!((count(&pick, 1), pick.is_full), (1, false), "the next datagram has room of its own");
    }
}
