//! Stores findings in bounded memory: the worst with all details, and counts by server.
//!
//! A fingerprint identifies a finding across recordings of the same conversation. It consists of rule, protocol,
//! message, field, and the number of the finding among those of its kind, but no frame, time, token, address or port.
//! So a new capture of the same fault keeps its alert, its baseline and its suppression.

use super::{Entry, MAX_FINDINGS};
use crate::check::Counts;
use crate::decode::Field;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fmt;

/// The ranks of findings that worse findings replace when the store is full, in this order. `None` means symptoms and
/// excused findings.
const REPLACEABLE_RANKS: [Option<Severity>; 3] = [None, Some(Severity::Note), Some(Severity::Warning)];

/// The findings of a server that count.
#[derive(Clone, Copy, Debug)]
pub struct ServerCounts {
    /// The server that was asked.
    pub server: Endpoint,
    /// Its protocol.
    pub protocol: Id,
    /// Number of findings, stored or not.
    pub counts: Counts,
}

/// The stored findings.
#[derive(Debug, Default)]
pub(super) struct FindingStore {
    /// Findings with their number in the order found.
    findings: Vec<(u64, Entry)>,
    /// Number of findings added, stored or not.
    found_count: u64,
    /// Index into [`REPLACEABLE_RANKS`] of the rank that is replaced next, and the index from which on no finding has
    /// this rank.
    replaced_index: usize,
    search_end: Option<usize>,
    servers: Vec<ServerCounts>,
    /// Index into `servers`.
    server_index: HashMap<(Endpoint, Id), usize>,
}

impl FindingStore {
    /// Adds a finding. In a full store it replaces a less severe finding, if there is one.
    pub fn add(&mut self, entry: Entry) {
        if entry.counts() {
            self.count(&entry);
        }
        self.found_count += 1;
        let numbered = (self.found_count, entry);
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(numbered);
        } else if let Some(slot) = self.slot_for(rank(&numbered.1)) {
            self.findings[slot] = numbered;
        }
    }

    fn count(&mut self, entry: &Entry) {
        let (server, protocol) = (entry.server, entry.protocol);
        let next = self.servers.len();
        let index = match self.server_index.get(&(server, protocol)) {
            Some(index) => *index,
            None if next >= MAX_FINDINGS => return,
            None => {
                self.server_index.insert((server, protocol), next);
                self.servers.push(ServerCounts { server, protocol, counts: Counts::default() });
                next
            }
        };
        self.servers[index].counts.add(entry.finding.severity);
    }

    /// The counts of a server, if it has any.
    pub fn counts_of(&mut self, server: Endpoint, protocol: Id) -> Option<&mut Counts> {
        let index = *self.server_index.get(&(server, protocol))?;
        Some(&mut self.servers.get_mut(index)?.counts)
    }

    /// The index of a finding to be replaced by one of this rank. While a rank is being replaced, no finding of that
    /// rank is added, so each call continues the search towards the first finding.
    #[cold]
    fn slot_for(&mut self, rank: Option<Severity>) -> Option<usize> {
        while let Some(replaced_rank) =
            REPLACEABLE_RANKS.get(self.replaced_index).filter(|replaced_rank| **replaced_rank < rank)
        {
            let before = self.findings.get(..self.search_end.unwrap_or(self.findings.len()))?;
            self.search_end = before.iter().rposition(|(_, e)| self::rank(e) == *replaced_rank);
            if self.search_end.is_some() {
                return self.search_end;
            }
            self.replaced_index += 1;
        }
        None
    }

    /// The findings in the order found, the number of findings not stored, and the counts of each server in the order
    /// found.
    pub fn finish(mut self) -> (Vec<Entry>, u64, Vec<ServerCounts>) {
        // Their numbers are sorted, and each finding is moved once: it is half a kilobyte.
        self.findings.sort_by_cached_key(|(number, _)| *number);
        let more = self.found_count - self.findings.len() as u64;
        (self.findings.into_iter().map(|(_, entry)| entry).collect(), more, self.servers)
    }
}

/// The rank of a finding, which decides whether it is kept: the severity if it counts.
fn rank(entry: &Entry) -> Option<Severity> {
    entry.counts().then_some(entry.finding.severity)
}

/// Maximum number of kinds of findings that are numbered. Findings of further kinds all count as the first of their
/// kind.
const MAX_KINDS: usize = 16_384;

/// The fingerprint of a finding, shown as sixteen hex digits, a colon, and the number of the finding among its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Hash of the properties shared by findings of this kind.
    kind: [u8; 8],
    /// Counted from 1.
    number: u32,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Sha256::new();
        hash.update(self.kind);
        hash.update(self.number.to_be_bytes());
        let digits = u64::from_be_bytes(first_eight(&hash.finalize()));
        write!(f, "{digits:016x}:{}", self.number)
    }
}

/// The key of a kind. It consists of addresses of declarations, which are fast to compare for every finding.
type Key = (*const Rule, u8, *const u8, Option<*const Field>);

/// Numbers the findings of each kind in the order found.
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

/// Hash of the properties shared by findings of a kind. A field is represented by its path without indices.
fn kind(entry: &Entry) -> [u8; 8] {
    let field = entry.finding.field.map_or("", |f| f.name);
    let parts = [entry.rule().id, entry.protocol.info().name, entry.message.unwrap_or("exchange"), field];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    first_eight(&hash.finalize())
}

fn first_eight(hash: &[u8]) -> [u8; 8] {
    hash.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::entry;
    use super::*;
    use crate::check::Cause;
    use crate::decode::FieldKind;

    /// The n-th finding, about one of ten servers. Without a severity it is a symptom.
    fn finding(n: usize, rank: Option<Severity>) -> Entry {
        let mut entry = entry(n as u32 % 10);
        entry.frame = n as u64;
        match rank {
            Some(severity) => entry.finding.severity = severity,
            None => entry.finding.caused_by = Some(Cause { rule: entry.rule(), frame: 1 }),
        }
        entry
    }

    #[test]
    fn keeps_the_worst_findings_in_the_order_found_and_counts_all() {
        let (note, warning, error) = (Some(Severity::Note), Some(Severity::Warning), Some(Severity::Error));
        let third = MAX_FINDINGS / 3;
        // An error comes first, then more findings of lower severity than fit, then more errors.
        let blocks = [
            (error, 1),
            (warning, third),
            (None, third),
            (note, MAX_FINDINGS),
            (warning, 2 * third),
            (error, third),
        ];
        let ranks = blocks.iter().flat_map(|(rank, times)| std::iter::repeat_n(*rank, *times));
        let mut kept = FindingStore::default();
        let mut all = 0;
        for (n, rank) in ranks.enumerate() {
            kept.add(finding(n, rank));
            all += 1;
        }
        let (findings, more, servers) = kept.finish();
        assert_eq!((findings.len() as u64 + more, findings.len()), (all, MAX_FINDINGS));
        let count_of = |severity| findings.iter().filter(|e| rank(e) == severity).count();
        assert_eq!([None, note, error].map(count_of), [0, 0, third + 1]);
        assert!(findings.iter().map(|e| e.frame).is_sorted());
        let sum = |severity| servers.iter().map(|s| s.counts.of(severity)).sum::<u64>();
        assert_eq!(servers.len(), 10);
        assert_eq!(
            [Severity::Note, Severity::Warning, Severity::Error].map(sum),
            [MAX_FINDINGS, 3 * third, third + 1].map(|n| n as u64)
        );
    }

    #[test]
    fn servers_beyond_the_limit_have_no_counts() {
        let mut kept = FindingStore::default();
        (0..=MAX_FINDINGS as u32).for_each(|n| kept.add(entry(n)));
        kept.add(entry(1));
        let (_, more, servers) = kept.finish();
        assert_eq!((servers.len(), more, servers[1].counts.total()), (MAX_FINDINGS, 2, 2));
    }

    #[test]
    fn findings_of_kinds_beyond_the_limit_have_number_one() {
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
