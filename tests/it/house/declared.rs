//! Whether what a decoder reports is what its protocol declares.

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
        // What a message announces may be a list.
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

/// Panics if a bit of a sound payload can be turned and nobody hears of it: neither a value changes nor a rule is broken.
/// A truth value is heard as it is meant: any other number but 0 is as true as 1.
pub fn every_bit_counts(id: Id, payload: &[u8], cx: &Context) {
    let said = said(id, payload, cx);
    let truths: Vec<Span> =
        said.leaves.iter().filter(|(kind, _)| *kind == FieldKind::Bool).map(|(_, at)| *at).collect();
    for at in 0..payload.len() {
        for bit in 0..8 {
            let mut other = payload.to_vec();
            other[at] ^= 1 << bit;
            let truth = truths.iter().any(|t| (t.start.into()..t.end.into()).contains(&at)) && other[at] != 0;
            assert!(
                truth || self::said(id, &other, cx).all != said.all,
                "{} {}: nobody hears of bit {bit} of byte {at}: {payload:02x?}",
                id.info().name,
                id.info().message_name(cx.message),
            );
        }
    }
}

/// Everything that a decoder says of a payload.
#[derive(Default)]
struct Said {
    all: Vec<String>,
    leaves: Vec<(FieldKind, Span)>,
}

fn said(id: Id, payload: &[u8], cx: &Context) -> Said {
    let mut said = Said::default();
    let _ = id.dissect(payload, cx, &mut said); // where it stops, it says why
    said
}

impl FieldSink for Said {
    fn field(&mut self, field: &'static Field, at: Span, value: Value<'_>) {
        self.all.push(format!("{} {value:?}", field.name));
        self.leaves.push((value.kind(), at));
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
