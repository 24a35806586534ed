//! The `fields` of packets, from what the protocols declare of their messages.

use super::object::{Object, list, or_null, term};
use crate::declared;
use crate::decode::{Field, FieldKind, SHARED_FIELDS};
use crate::docs::paragraph;
use crate::protocols::{Id, Info};
use crate::terms::text;
use serde_json::{Value, json};

/// Every message by protocol and name, each once.
pub fn messages() -> impl Iterator<Item = (&'static Info, &'static str)> {
    Id::ALL.iter().flat_map(|id| declared::messages(*id).into_iter().map(|name| (id.info(), name)))
}

/// The name in `$defs` of the fields of a message.
pub fn name(info: &Info, message: &str) -> String {
    format!("fields.{}.{message}", info.name)
}

/// The `fields` object of a message. None of its keys need be there: decoding may stop anywhere.
pub fn fields(info: &Info, message: &str) -> Value {
    let mut all: Vec<&Field> = info.fields.iter().copied().flatten().copied().collect();
    all.extend(SHARED_FIELDS);
    object(&all, "", &format!("The fields of {} {message}.", info.name))
}

/// The object of the fields whose path is `prefix` and one more name.
fn object(all: &[&Field], prefix: &str, about: &str) -> Value {
    let here =
        |field: &&&Field| field.name.strip_prefix(prefix).is_some_and(|rest| !rest.contains(['.', '[']));
    let mut object = Object::default();
    for field in all.iter().filter(here) {
        object = object.maybe(field.key, value(all, field));
        if let Some(twin) = twin(all, field) {
            let name = format!("{}_hex", field.key);
            object = object.maybe(name.as_str(), twin).needs(&name, field.key);
        }
    }
    object.end(about)
}

/// The schema of a field's value.
fn value(all: &[&Field], field: &Field) -> Value {
    let about = paragraph(field.about);
    let mut schema = match field.kind {
        FieldKind::Group => return object(all, &format!("{}.", field.name), &about),
        FieldKind::List => list(element(all, field).map_or(json!(false), |element| value(all, element))),
        FieldKind::Uint => term("uint"),
        FieldKind::Uint64 => term("uint64"),
        FieldKind::Int => term("int"),
        FieldKind::Bool => json!({ "type": "boolean" }),
        FieldKind::Float32 => term("float32"),
        FieldKind::Text => text(),
        FieldKind::Named => term("named"),
        FieldKind::Names => list(text()),
        FieldKind::Bytes => term("bytes"),
        FieldKind::Dynamic => match element(all, field) {
            Some(element) => json!({ "anyOf": [term("dynamic"), list(value(all, element))] }),
            None => term("dynamic"),
        },
    };
    schema["description"] = about.into();
    schema
}

/// The field that stands for the elements of a list.
fn element<'a>(all: &[&'a Field], list: &Field) -> Option<&'a Field> {
    all.iter().copied().find(|field| field.name.strip_suffix("[]") == Some(list.name))
}

/// The schema of the key beside a value that is, or may hold, damaged text: its bytes, in the shape of the value.
fn twin(all: &[&Field], field: &Field) -> Option<Value> {
    match field.kind {
        FieldKind::Text | FieldKind::Dynamic => Some(term("hex")),
        FieldKind::List => element(all, field).and_then(|element| beside(all, element)).map(list),
        _ => None,
    }
}

/// The schema of such bytes inside a list, where null stands for a sound element.
fn beside(all: &[&Field], field: &Field) -> Option<Value> {
    let twin = twin(all, field)?;
    Some(if field.kind == FieldKind::List { twin } else { or_null(twin) })
}
