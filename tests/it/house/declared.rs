//! Checks that decoders report only what their protocol declares.

use qdissect::decode::{Field, FieldKind, FieldSink, SHARED_FIELDS, Shape, Span, Tree, Value, Violation};
use qdissect::protocols::{Context, Id};

/// Panics unless every field of the tree is declared, with that type, at that place.
pub fn check(id: Id, message: u8, payload: &[u8], tree: &Tree) {
    let mut places = Places { id, open: vec![], wrong: None };
    tree.replay(payload, &mut places);
    if let Some(wrong) = places.wrong {
        panic!("{} {}: {wrong}\n{}", id.info().name, id.info().message_name(message), tree.render(payload));
    }
}

struct Places {
    id: Id,
    open: Vec<(&'static Field, Shape)>,
    wrong: Option<String>,
}

impl Places {
    fn see(&mut self, field: &'static Field, kind: FieldKind) {
        let has = |lists: &[&[&Field]]| lists.iter().copied().flatten().any(|f| **f == *field);
        let declared = || has(self.id.info().fields);
        let name = match self.open.last() {
            None => field.key.to_owned(),
            Some((list, Shape::List)) => format!("{}[]", list.name),
            Some((group, Shape::Group)) => format!("{}.{}", group.name, field.key),
        };
        let shared = SHARED_FIELDS.contains(&field);
        // The announced values may be a list.
        let announced = field.kind == FieldKind::Dynamic && kind != FieldKind::Group;
        if !shared && !declared() {
            self.wrong = Some(format!("{:?} is not declared", field.name));
        } else if field.kind != kind && !announced {
            self.wrong = Some(format!("{:?} is declared {:?} and was {kind:?}", field.name, field.kind));
        } else if !shared && field.name != name {
            self.wrong = Some(format!("{:?} stands at {name:?}", field.name));
        }
    }
}

impl FieldSink for Places {
    fn field(&mut self, field: &'static Field, _: Span, value: Value<'_>) {
        self.see(field, value.kind());
    }
    fn derived(&mut self, field: &'static Field, _: Span, value: Value<'_>) {
        self.see(field, value.kind());
    }
    fn open(&mut self, field: &'static Field, _: u16, shape: Shape) {
        let kind = if shape == Shape::List { FieldKind::List } else { FieldKind::Group };
        self.see(field, kind);
        self.open.push((field, shape));
    }
    fn close(&mut self, _: u16) {
        self.open.pop();
    }
}

/// Panics if a bit of a valid payload can be flipped without effect: without a changed value and without a broken rule. Truth
/// values are an exception, because any number other than 0 means true.
pub fn every_bit_counts(id: Id, payload: &[u8], cx: &Context) {
    let leaves_of = leaves_of(id, payload, cx);
    let truths: Vec<Span> =
        leaves_of.leaves.iter().filter(|(kind, _)| *kind == FieldKind::Bool).map(|(_, at)| *at).collect();
    for at in 0..payload.len() {
        for bit in 0..8 {
            let mut other = payload.to_vec();
            other[at] ^= 1 << bit;
            let truth = truths.iter().any(|t| (t.start.into()..t.end.into()).contains(&at)) && other[at] != 0;
            assert!(
                truth || self::leaves_of(id, &other, cx).all != leaves_of.all,
                "{} {}: nobody hears of bit {bit} of byte {at}: {payload:02x?}",
                id.info().name,
                id.info().message_name(cx.message),
            );
        }
    }
}

/// Everything that a decoder reports about a payload.
#[derive(Default)]
struct Leaves {
    all: Vec<String>,
    leaves: Vec<(FieldKind, Span)>,
}

fn leaves_of(id: Id, payload: &[u8], cx: &Context) -> Leaves {
    let mut leaves_of = Leaves::default();
    let _ = id.dissect(payload, cx, &mut leaves_of); // where it stops, it says why
    leaves_of
}

impl FieldSink for Leaves {
    fn field(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.all.push(format!("{} {value:?}", field.name));
        self.leaves.push((value.kind(), at));
    }
    fn derived(&mut self, field: &'static Field, _: Span, value: Value<'_>) {
        self.all.push(format!("{} {value:?}", field.name));
    }
    fn open(&mut self, field: &'static Field, _: u16, shape: Shape) {
        self.all.push(format!("{} {shape:?}", field.name));
    }
    fn close(&mut self, _: u16) {
        self.all.push("end".to_owned());
    }
    fn violation(&mut self, v: Violation) {
        self.all.push(v.rule.id.to_owned());
    }
}
