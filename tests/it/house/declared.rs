//! Whether what a decoder reports is what its protocol declares.

use qdissect::decode::{Field, FieldKind, FieldSink, SHARED_FIELDS, Shape, Span, Tree, Value};
use qdissect::protocols::Id;

/// Panics unless every field of the tree is declared for that message, with that type, at that place.
pub fn check(id: Id, message: u8, payload: &[u8], tree: &Tree) {
    let mut places = Places { id, message, open: vec![], wrong: None };
    tree.replay(payload, &mut places);
    if let Some(wrong) = places.wrong {
        panic!(
            "{} {}: {wrong}\n{}",
            id.info().name,
            id.info().messages[usize::from(message)],
            tree.render(payload)
        );
    }
}

struct Places {
    id: Id,
    message: u8,
    open: Vec<&'static Field>,
    wrong: Option<String>,
}

impl Places {
    fn see(&mut self, field: &'static Field, kind: FieldKind) {
        let has = |lists: &[&[&Field]]| lists.iter().copied().flatten().any(|f| **f == *field);
        let declared = || has(self.id.info().fields);
        let expected = || has(self.id.info().message_fields[usize::from(self.message)]);
        let name = match self.open.last() {
            None => field.key.to_owned(),
            Some(list) if list.kind == FieldKind::List => format!("{}[]", list.name),
            Some(group) => format!("{}.{}", group.name, field.key),
        };
        let shared = SHARED_FIELDS.contains(&field);
        let scalar = !matches!(kind, FieldKind::Group | FieldKind::List);
        if !shared && !declared() {
            self.wrong = Some(format!("{:?} is not declared", field.name));
        } else if !shared && !expected() {
            self.wrong = Some(format!("{:?} is not declared for this message", field.name));
        } else if field.kind != kind && !(field.kind == FieldKind::Dynamic && scalar) {
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
        self.open.push(field);
    }
    fn close(&mut self, _: u16) {
        self.open.pop();
    }
}
