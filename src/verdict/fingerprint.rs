//! What a finding is called when the same conversation is recorded again: rule, protocol, message, field,
//! and the how-manieth of its kind. No frame, time, token, address or port, so that a new capture of the
//! same fault keeps its alert, its baseline and its suppression.

use super::Entry;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};

/// Kinds of findings counted; further ones all count as the first.
const MAX_KINDS: usize = 16_384;

/// Counts kinds of findings, in the order found.
#[derive(Debug, Default)]
pub struct Fingerprints {
    seen: HashMap<[u8; 8], u32>,
}

impl Fingerprints {
    /// The fingerprint of the next finding: sixteen hex digits, a colon, and its number among its kind.
    pub fn of(&mut self, entry: &Entry) -> String {
        let kind = kind(entry);
        let known = self.seen.len() < MAX_KINDS || self.seen.contains_key(&kind);
        let number = match known {
            true => {
                let n = self.seen.entry(kind).or_default();
                *n = n.saturating_add(1);
                *n
            }
            false => 1,
        };
        let mut hash = Sha256::new();
        hash.update(kind);
        hash.update(number.to_be_bytes());
        format!("{}:{number}", hex(&first8(&hash.finalize())))
    }
}

/// Hash of what the findings of a kind have in common.
fn kind(entry: &Entry) -> [u8; 8] {
    let field = entry.finding.field.map_or("", |f| f.name); // without indices
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

fn hex(bytes: &[u8; 8]) -> String {
    format!("{:016x}", u64::from_be_bytes(*bytes))
}
