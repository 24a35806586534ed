//! Picks the fields that a filter names out of the tree of a datagram.

use super::Filter;
use super::value::Datum;
use crate::decode::{Field, FieldSink, Heard, Shape, Span, Value};
use crate::packet::Packet;
use crate::protocols::Id;
use std::borrow::Cow;
use std::ops::Range;

/// Most values picked per datagram; further ones are not looked at. No protocol has more than one value per byte, so
/// no datagram with a single list reaches this limit.
pub const MAX_PICKED: usize = 65_536;
/// Bytes of text kept per datagram; enough for text that is reported twice, and for UTF-16, which grows when
/// converted.
pub const MAX_PICKED_BYTES: usize = 262_144;

/// Indices in the lists on the path to a field; `None` means any.
pub(super) type Indices = [Option<u16>; 3];

/// The declared fields that one name in a filter stands for: `player_info.records` is the list, each record in it,
/// and every value of the records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// Their protocol.
    pub id: Id,
    /// The declarations.
    pub fields: Vec<&'static Field>,
    /// Indices in the lists on the path.
    pub index: Indices,
}

/// A value without its borrowed bytes, which are ranges in a buffer here.
#[derive(Clone, Debug)]
enum Held {
    Present,
    Hidden,
    Uint(u64),
    Int(i32),
    Bool(bool),
    Float(f32),
    Named(u32, Option<&'static str>),
    Name(&'static str),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

/// An open group or list.
#[derive(Clone, Copy, Debug)]
struct Open {
    shape: Shape,
    /// Elements so far.
    count: u16,
}

/// Values of the declared fields that a filter names, for one datagram after the other, in memory that is reused.
///
/// The default value picks nothing.
#[derive(Debug, Default)]
pub struct Pick {
    wanted: Vec<Wanted>,
    picked: Vec<(u16, Held)>,
    bytes: Vec<u8>,
    open: Vec<Open>,
    lists: usize,
    index: [u16; 3],
    heard: Heard,
    /// The datagram has more values or text than are picked.
    full: bool,
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

    /// Picks out of a packet as it is reported, by decoding it once more. `secrets` says whether passwords may be
    /// looked at, as in the options of the pipeline.
    pub fn packet<S>(&mut self, packet: &Packet<'_, S>, secrets: bool) {
        self.begin();
        if !self.wanted.iter().any(|wanted| wanted.id == packet.id) {
            return;
        }
        let mut heard = std::mem::take(&mut self.heard);
        packet.hear(secrets, &mut heard);
        heard.tree.replay(packet.bytes, self);
        self.heard = heard;
        self.missed = self.missed.saturating_add(u64::from(self.full));
    }

    /// Number of datagrams that were not looked at completely: they have more than [`MAX_PICKED`] values, or texts
    /// of more than [`MAX_PICKED_BYTES`].
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Visits the values of one of the wanted fields until the visitor returns `true`.
    pub(super) fn each(&self, slot: u16, visit: &mut dyn FnMut(Datum<'_>) -> bool) -> bool {
        let of_slot = self.picked.iter().filter(|(s, _)| *s == slot);
        of_slot.map(|(_, held)| self.datum(held)).any(visit)
    }

    /// Forgets everything, for the next datagram.
    fn begin(&mut self) {
        self.picked.clear();
        self.bytes.clear();
        self.open.clear();
        self.lists = 0;
        self.index = [0; 3];
        self.full = false;
    }

    fn datum(&self, held: &Held) -> Datum<'_> {
        let bytes = |range: &Range<usize>| Cow::Borrowed(self.bytes.get(range.clone()).unwrap_or_default());
        match held {
            Held::Present => Datum::Present,
            Held::Hidden => Datum::Hidden,
            Held::Uint(v) => Datum::Int(i128::from(*v)),
            Held::Int(v) => Datum::Int(i128::from(*v)),
            Held::Bool(v) => Datum::Bool(*v),
            Held::Float(v) => Datum::Float(*v),
            Held::Named(v, name) => Datum::Named(*v, *name),
            Held::Name(name) => Datum::Text(Cow::Borrowed(name.as_bytes())),
            Held::Text(range) => Datum::Text(bytes(range)),
            Held::Bytes(range) => Datum::Bytes(bytes(range)),
        }
    }

    /// Goes on to the next element of the innermost group or list, if that is a list.
    fn step(&mut self) {
        if let Some(Open { shape: Shape::List, count }) = self.open.last_mut() {
            if let Some(index) = self.index.get_mut(self.lists.saturating_sub(1)) {
                *index = *count;
            }
            *count = count.saturating_add(1);
        }
    }

    fn take(&mut self, field: &'static Field, value: Option<Value<'_>>) {
        for slot in 0..self.wanted.len() {
            let wanted = self.wanted.get(slot).is_some_and(|w| {
                let here =
                    w.index.iter().zip(self.index).all(|(want, is)| want.is_none_or(|want| want == is));
                here && w.fields.contains(&field)
            });
            if wanted {
                self.hold(slot as u16, value);
            }
        }
    }

    fn hold(&mut self, slot: u16, value: Option<Value<'_>>) {
        let Some(value) = value else { return self.push(slot, Held::Present) };
        let held = match value {
            Value::Uint(v) => Held::Uint(u64::from(v)),
            Value::Uint64(v) => Held::Uint(v),
            Value::Int(v) => Held::Int(v),
            Value::Bool(v) => Held::Bool(v),
            Value::Float32(v) => Held::Float(v),
            Value::Named(v, name) => Held::Named(v, name),
            Value::Secret(_) => Held::Hidden,
            Value::Text(bytes) => Held::Text(self.keep(bytes)),
            Value::Bytes(bytes) => Held::Bytes(self.keep(bytes)),
            Value::Utf16(_) | Value::Latin1(_) | Value::Dotted(_) | Value::Address(_) => {
                let text = value.text().unwrap_or_default();
                Held::Text(self.keep(text.as_bytes()))
            }
            Value::Names(names, bits) => {
                for (bit, name) in (0u32..).zip(names) {
                    if bits.checked_shr(bit).is_some_and(|rest| rest & 1 == 1) {
                        self.push(slot, Held::Name(name));
                    }
                }
                return;
            }
        };
        self.push(slot, held);
    }

    fn push(&mut self, slot: u16, held: Held) {
        if self.picked.len() < MAX_PICKED {
            self.picked.push((slot, held));
        } else {
            self.full = true;
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        let room = MAX_PICKED_BYTES.saturating_sub(start);
        self.full |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        start..self.bytes.len()
    }
}

impl FieldSink for Pick {
    fn field(&mut self, field: &'static Field, _at: Span, value: Value<'_>) {
        self.step();
        self.take(field, Some(value));
    }
    fn derived(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.field(field, at, value);
    }
    fn open(&mut self, field: &'static Field, _at: u16, shape: Shape) {
        self.step();
        self.take(field, None);
        self.lists = self.lists.saturating_add(usize::from(shape == Shape::List));
        self.open.push(Open { shape, count: 0 });
    }
    fn close(&mut self, _at: u16) {
        if let Some(Open { shape: Shape::List, .. }) = self.open.pop() {
            self.lists = self.lists.saturating_sub(1);
        }
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
        pick.picked.iter().filter(|(of, _)| *of == slot).count()
    }

    #[test]
    fn values_beyond_the_limit_are_not_looked_at_and_that_is_known() {
        let (mut pick, [number, text]) = pick();
        let at = Span { start: 0, end: 0 };
        pick.begin();
        (0..MAX_PICKED as u32 - 1).for_each(|n| pick.field(number, at, Value::Uint(n)));
        pick.field(text, at, Value::Text(b"a"));
        assert_eq!((count(&pick, 0), count(&pick, 1), pick.full), (MAX_PICKED - 1, 1, false));
        pick.field(text, at, Value::Text(b"b"));
        assert_eq!((pick.picked.len(), count(&pick, 1), pick.full), (MAX_PICKED, 1, true));
        pick.begin();
        pick.field(text, at, Value::Text(b"b"));
        assert_eq!((count(&pick, 1), pick.full), (1, false), "the next datagram has room of its own");
    }

    #[test]
    fn texts_beyond_the_limit_are_cut_and_that_is_known() {
        let (mut pick, [number, text]) = pick();
        let (at, half) = (Span { start: 0, end: 0 }, vec![b'a'; MAX_PICKED_BYTES / 2]);
        let texts = |pick: &Pick| {
            let mut lengths = vec![];
            pick.each(1, &mut |value| {
                lengths.extend(match value {
                    Datum::Text(bytes) => Some(bytes.len()),
                    _ => None,
                });
                false
            });
            lengths
        };
        pick.begin();
        (0..2).for_each(|_| pick.field(text, at, Value::Text(&half)));
        assert!(texts(&pick) == [half.len(); 2] && !pick.full);
        pick.field(text, at, Value::Text(b"b"));
        pick.field(number, at, Value::Uint(1));
        assert!(texts(&pick) == [half.len(), half.len(), 0] && pick.full);
        assert_eq!(count(&pick, 0), 1, "numbers need none of that room");
    }
}
