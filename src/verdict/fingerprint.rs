//! Fingerprints, which identify a finding when the same conversation is recorded again: rule, protocol, message, field, and
//! the number of the finding among findings of its kind. They hold no frame, time, token, address or port, so that a new
//! capture of the same fault keeps its alert, its baseline and its suppression.

use super::Entry;
use crate::decode::Field;
use crate::rule::Rule;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fmt;

/// Most kinds of findings told apart; findings of further kinds all count as the first of their kind.
const MAX_KINDS: usize = 16_384;

/// The fingerprint of a finding: shown as sixteen hex digits, a colon, and its number among its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Hash of what the findings of its kind have in common.
    kind: [u8; 8],
    /// Counted from 1.
    number: u32,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Sha256::new();
        hash.update(self.kind);
        hash.update(self.number.to_be_bytes());
        let digits = u64::from_be_bytes(first8(&hash.finalize()));
        write!(f, "{digits:016x}:{}", self.number)
    }
}

/// The key of a kind: addresses of declarations, for keys are compared at every finding.
type Key = (*const Rule, u8, *const u8, Option<*const Field>);

/// Counts kinds of findings, in the order found.
#[derive(Debug, Default)]
pub struct Fingerprints {
    seen: HashMap<Key, Fingerprint>,
}

impl Fingerprints {
    /// The fingerprint of the next finding.
    pub fn of(&mut self, entry: &Entry) -> Fingerprint {
        let message = entry.message.map_or(std::ptr::null(), str::as_ptr);
        let field = entry.finding.field.map(std::ptr::from_ref);
        let key = (std::ptr::from_ref(entry.rule()), entry.protocol as u8, message, field);
        if let Some(last) = self.seen.get_mut(&key) {
            last.number = last.number.saturating_add(1);
            return *last;
        }
        let first = Fingerprint { kind: kind(entry), number: 1 };
        if self.seen.len() < MAX_KINDS {
            self.seen.insert(key, first);
        }
        first
    }
}

/// Hash of what the findings of a kind have in common; of a field, the path without indices.
fn kind(entry: &Entry) -> [u8; 8] {
    let field = entry.finding.field.map_or("", |f| f.name);
    let parts = [entry.rule().id, entry.protocol.info().name, entry.message.unwrap_or("exchange"), field];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    first8(&hash.finalize())
}

fn first8(hash: &[u8]) -> [u8; 8] {
    hash.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::entry;
    use super::*;
    use crate::decode::FieldKind;

    #[test]
    fn kinds_beyond_the_limit_count_as_the_first_each_time() {
        let of = |prints: &mut Fingerprints, field: &'static Field| {
            let mut entry = entry(1);
            entry.finding.field = Some(field);
            prints.of(&entry).number
        };
        let fields: Vec<Field> = (0..=MAX_KINDS).map(|_| Field::new("a", FieldKind::Uint, "")).collect();
        let fields: &'static [Field] = fields.leak();
        let mut prints = Fingerprints::default();
        assert!(fields.iter().take(MAX_KINDS).all(|field| of(&mut prints, field) == 1));
        assert_eq!([&fields[0], &fields[MAX_KINDS - 1]].map(|field| of(&mut prints, field)), [2, 2]);
        assert_eq!([(); 3].map(|()| of(&mut prints, &fields[MAX_KINDS])), [1, 1, 1]);
    }
}
