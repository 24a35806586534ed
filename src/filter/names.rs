//! The names that a filter may use: built-in fields, fields of frames and headers, and declared fields.

use super::builtins::{BUILTINS, Builtin};
use super::kinds::{INT, Kind, UINT, UINT64};
use super::pick::{Indices, Wanted};
use crate::decode::{Field, FieldKind, SHARED_FIELDS};
use crate::escape::quoted;
use crate::protocols::Id;
use crate::similar::similar;

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
    let fields: Vec<_> = declared(id).filter(|field| is_at(field.name, path, &mut index)).collect();
    let kind = kind_of(&fields)?;
    Some((Named::Declared(Wanted { id, fields, index }), kind))
}

/// The fields of a protocol, and the fields that all protocols share.
fn declared(id: Id) -> impl Iterator<Item = &'static Field> {
    id.info().fields.iter().copied().flatten().copied().chain(SHARED_FIELDS.iter().copied())
}

/// Whether a written name (`a.b.c`, `a.b[2].c`) stands for a declared one (`a.b[].c`); sets the indices.
fn is_at(declared: &str, written: &str, index: &mut Indices) -> bool {
    let mut found = Indices::default();
    let mut level = 0usize;
    let (mut parts, mut given) = (declared.split('.'), written.split('.'));
    loop {
        match (parts.next(), given.next()) {
            (None, None) => break,
            (Some(part), Some(written)) => {
                let lists = part.matches("[]").count();
                let mut pieces = written.split('[');
                if pieces.next() != part.split('[').next() {
                    return false;
                }
                for (i, piece) in pieces.enumerate() {
                    let number = piece.strip_suffix(']').and_then(|n| n.parse().ok());
                    let Some(slot) = found.get_mut(level.saturating_add(i)).filter(|_| i < lists) else {
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
    *index = found;
    true
}

/// The type of the values of all declarations with one name; `None` where there are no declarations.
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
        FieldKind::Bool => Kind::Bool,
        FieldKind::Float32 => Kind::Float,
        FieldKind::Text | FieldKind::Names => Kind::Text,
        FieldKind::Named => Kind::Named,
        FieldKind::Bytes => Kind::Bytes,
        FieldKind::Dynamic => Kind::Dynamic,
        FieldKind::Group | FieldKind::List => Kind::Presence,
    }
}

/// Every name that a filter may use, without indices, each once.
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

/// The error message about an unknown name, with the one that was probably meant.
pub(super) fn unknown(name: &str) -> String {
    let said = format!("There is no field {}", quoted(name));
    if let Some(known) = meant(name) {
        return format!("{said}; did you mean {known}?");
    }
    match protocol_of(name) {
        Some(id) => format!("{said}; `qdissect protocol show {0}` lists those of {0}.", id.info().name),
        None => format!("{said}; `qdissect protocol show NAME` lists those of a protocol."),
    }
}

/// The protocol whose field a name would be.
fn protocol_of(name: &str) -> Option<Id> {
    Id::by_name(&name.split_once('.')?.0.to_ascii_lowercase())
}

/// The known name that an unknown one was probably meant to be: of a protocol that exists, one of its own fields.
fn meant(name: &str) -> Option<String> {
    let mut all = names();
    let plain: String =
        name.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    let mut path = plain.as_str();
    if let Some(id) = protocol_of(name) {
        all.retain(|known| protocol_of(known) == Some(id));
        path = plain.split_once('.').map_or(path, |(_, path)| path);
    }
    let last = format!(".{}", path.to_ascii_lowercase());
    let whole = all.iter().find(|known| known.eq_ignore_ascii_case(&plain));
    let shortened = all.iter().find(|known| known.ends_with(&last));
    whole
        .or(shortened)
        .cloned()
        .or_else(|| similar(&plain, all.iter().map(String::as_str)).map(str::to_owned))
}
