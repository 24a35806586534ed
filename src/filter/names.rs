//! The names of fields in filters: built-in and declared ones.

use super::builtins::{BUILTINS, Builtin};
use super::kinds::{INT, INT64, Kind, UINT, UINT64};
use super::pick::{Indices, Wanted};
use crate::decode::{Field, FieldKind, SHARED_FIELDS};
use crate::protocols::Id;
use crate::text::escape::quoted;
use crate::text::similar::similar;

/// The meaning of a name.
#[derive(Debug)]
pub(super) enum Named {
    Builtin(&'static Builtin),
    Protocol(Id),
    Declared(Wanted),
}

/// Looks a name up.
pub(super) fn lookup(name: &str) -> Option<(Named, Kind)> {
    if let Some(builtin) = BUILTINS.iter().find(|builtin| builtin.name == name) {
        return Some((Named::Builtin(builtin), builtin.kind));
    }
    if let Some(id) = Id::by_name(name) {
        return Some((Named::Protocol(id), Kind::Bytes));
    }
    let (protocol, path) = name.split_once('.')?;
    let id = Id::by_name(protocol)?;
    let mut index = Indices::default();
    let fields: Vec<_> = declared(id).filter(|field| names_field(field.name, path, &mut index)).collect();
    let kind = kind_of(&fields)?;
    Some((Named::Declared(Wanted { id, fields, index }), kind))
}

/// The fields of a protocol, and the fields that all protocols share.
fn declared(id: Id) -> impl Iterator<Item = &'static Field> {
    id.info().fields.iter().copied().flatten().copied().chain(SHARED_FIELDS.iter().copied())
}

/// Whether a written name (`a.b.c`, `a.b[2].c`) refers to a declared field (`a.b[].c`); sets the indices.
fn names_field(declared: &str, written: &str, index: &mut Indices) -> bool {
    let mut indices = Indices::default();
    let mut level = 0usize;
    let (mut parts, mut written_parts) = (declared.split('.'), written.split('.'));
    loop {
        match (parts.next(), written_parts.next()) {
            (None, None) => break,
            (Some(part), Some(written)) => {
                let lists = part.matches("[]").count();
                let mut pieces = written.split('[');
                if pieces.next() != part.split('[').next() {
                    return false;
                }
                for (i, piece) in pieces.enumerate() {
                    let number = piece.strip_suffix(']').and_then(|n| n.parse().ok());
                    let Some(slot) = indices.get_mut(level.saturating_add(i)).filter(|_| i < lists) else {
                        return false;
                    };
                    let Some(number) = number else { return false };
                    *slot = Some(number);
                }
                level = level.saturating_add(lists);
            }
            _ => return false,
        }
    }
    *index = indices;
    true
}

/// The common type of all declarations of a name; `None` if there are none.
fn kind_of(fields: &[&Field]) -> Option<Kind> {
    let mut kinds: Vec<Kind> = fields.iter().map(|field| kind(field.kind)).collect();
    kinds.dedup();
    let values: Vec<Kind> = kinds.iter().copied().filter(|kind| *kind != Kind::Presence).collect();
    match (values.as_slice(), kinds.as_slice()) {
        ([one], _) => Some(*one),
        ([_, ..], _) => Some(Kind::Dynamic),
        ([], [_, ..]) => Some(Kind::Presence),
        ([], []) => None,
    }
}

fn kind(declared: FieldKind) -> Kind {
    match declared {
        FieldKind::Uint => UINT,
        FieldKind::Uint64 => UINT64,
        FieldKind::Int => INT,
        FieldKind::Int64 => INT64,
        FieldKind::Bool => Kind::Bool,
        FieldKind::Float32 => Kind::Float,
        FieldKind::Text | FieldKind::Names => Kind::Text,
        FieldKind::Named => Kind::Named,
        FieldKind::Bytes => Kind::Bytes,
        FieldKind::Dynamic => Kind::Dynamic,
        FieldKind::Group | FieldKind::List => Kind::Presence,
    }
}

/// Every name that a filter may use, without indices or duplicates.
pub fn names() -> Vec<String> {
    let mut all: Vec<String> = BUILTINS.iter().map(|builtin| builtin.name.to_owned()).collect();
    for &id in Id::ALL {
        let protocol = id.info().name;
        all.push(protocol.to_owned());
        for field in declared(id) {
            let name = format!("{protocol}.{}", field.name.replace("[]", ""));
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

/// The error message about an unknown name, with a suggestion.
pub(super) fn unknown_field(name: &str) -> String {
    let message = format!("There is no field {}", quoted(name));
    if let Some(name_meant) = suggestion(name) {
        return format!("{message}; did you mean {name_meant}?");
    }
    match protocol_of(name) {
        Some(id) => format!("{message}; `qdissect protocol show {0}` lists those of {0}.", id.info().name),
        None => format!("{message}; `qdissect protocol show NAME` lists those of a protocol."),
    }
}

/// The protocol that a name begins with.
fn protocol_of(name: &str) -> Option<Id> {
    Id::by_name(&name.split_once('.')?.0.to_ascii_lowercase())
}

/// The known name most similar to an unknown one. If the name begins with a protocol, only its fields are considered.
fn suggestion(name: &str) -> Option<String> {
    let mut all = names();
    let without_indices: String =
        name.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let mut path = without_indices.as_str();
    if let Some(id) = protocol_of(name) {
        all.retain(|candidate| protocol_of(candidate) == Some(id));
        path = without_indices.split_once('.').map_or(path, |(_, path)| path);
    }
    let suffix = format!(".{}", path.to_ascii_lowercase());
    let same_ignoring_case = all.iter().find(|candidate| candidate.eq_ignore_ascii_case(&without_indices));
    let shortened = all.iter().find(|candidate| candidate.ends_with(&suffix));
    same_ignoring_case
        .or(shortened)
        .cloned()
        .or_else(|| similar(&without_indices, all.iter().map(String::as_str)).map(str::to_owned))
}
