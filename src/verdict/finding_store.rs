//! Keeps findings in bounded memory: the worst of them with all their details, and counts of them by server; and findings
//! that wait for the end.
//!
//! Fingerprints identify a finding when the same conversation is recorded again: rule, protocol, message, field, and the
//! number of the finding among findings of its kind. They hold no frame, time, token, address or port, so that a new capture
//! of the same fault keeps its alert, its baseline and its suppression.

use super::{Entry, MAX_FINDINGS};
use crate::check::Counts;
use crate::decode::Field;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fmt;

/// Which findings give way to worse ones where there is no more room, the first of these first: `None` stands for symptoms
/// and excused findings.
const YIELDING: [Option<Severity>; 3] = [None, Some(Severity::Note), Some(Severity::Warning)];

/// The findings of a server that count.
#[derive(Clone, Copy, Debug)]
pub struct ServerCounts {
    /// The endpoint that answers.
    pub server: Endpoint,
    /// Its protocol.
    pub protocol: Id,
    /// How many there are, whether they are kept or not.
    pub counts: Counts,
}

/// Findings as they come.
#[derive(Debug, Default)]
pub(super) struct FindingStore {
    /// With each its number in the order found.
    findings: Vec<(u64, Entry)>,
    /// How many findings came.
    found: u64,
    /// Which of [`YIELDING`] give way now, and the index from which on none of them is kept.
    yielding: usize,
    until: Option<usize>,
    servers: Vec<ServerCounts>,
    /// Index into `servers`.
    at: HashMap<(Endpoint, Id), usize>,
}

impl FindingStore {
    /// Takes a finding; where there is no more room, a worse finding replaces another one.
    pub fn add(&mut self, entry: Entry) {
        if entry.counts() {
            self.count(&entry);
        }
        self.found += 1;
        let numbered = (self.found, entry);
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(numbered);
        } else if let Some(at) = self.place_for(rank(&numbered.1)) {
            self.findings[at] = numbered;
        }
    }

    fn count(&mut self, entry: &Entry) {
        let (server, protocol) = (entry.server, entry.protocol);
        let next = self.servers.len();
        let at = match self.at.get(&(server, protocol)) {
            Some(at) => *at,
            None if next >= MAX_FINDINGS => return,
            None => {
                self.at.insert((server, protocol), next);
                self.servers.push(ServerCounts { server, protocol, counts: Counts::default() });
                next
            }
        };
        self.servers[at].counts.add(entry.finding.severity);
    }

    /// The place of a finding that gives way to one of that rank. While there is one that does, no finding like it is added,
    /// so each call looks further towards the first finding.
    #[cold]
    fn place_for(&mut self, rank: Option<Severity>) -> Option<usize> {
        while let Some(yields) = YIELDING.get(self.yielding).filter(|yields| **yields < rank) {
            let before = self.findings.get(..self.until.unwrap_or(self.findings.len()))?;
            self.until = before.iter().rposition(|(_, e)| self::rank(e) == *yields);
            if self.until.is_some() {
                return self.until;
            }
            self.yielding += 1;
        }
        None
    }

    /// The findings in the order found, how many others came, and the counts of each server, in the order found.
    pub fn finish(mut self) -> (Vec<Entry>, u64, Vec<ServerCounts>) {
        self.findings.sort_by_key(|(number, _)| *number);
        let more = self.found - self.findings.len() as u64;
        (self.findings.into_iter().map(|(_, entry)| entry).collect(), more, self.servers)
    }
}

/// What decides which of two findings is kept: the severity of a finding that counts.
fn rank(entry: &Entry) -> Option<Severity> {
    entry.counts().then_some(entry.finding.severity)
}

/// Most remarks that are made once for each server; and most findings that wait for the end, when it is known which servers
/// were captured with one side only, and which answer nothing. Further findings are judged at once, as if both sides had
/// been captured, and as if there were answers.
pub(super) const MAX_REMARKS: usize = 50_000;

/// Findings that wait for the end.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// At most [`MAX_REMARKS`].
    pub entries: Vec<Entry>,
    /// Number of further findings, which were reported at once.
    pub more: u64,
}

impl Waiting {
    /// Holds a finding if it `waits`, or returns it, to be reported at once.
    pub fn hold(&mut self, waits: bool, entry: Entry) -> Option<Entry> {
        if waits && self.entries.len() < MAX_REMARKS {
            self.entries.push(entry);
            return None;
        }
        self.more += u64::from(waits);
        Some(entry)
    }
}

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
    use crate::check::Cause;
    use crate::decode::FieldKind;

    /// The n-th finding, about one of ten servers; without a severity it is a symptom.
    fn found(n: usize, rank: Option<Severity>) -> Entry {
        let mut entry = entry(n as u32 % 10);
        entry.frame = n as u64;
        match rank {
            Some(severity) => entry.finding.severity = severity,
            None => entry.finding.caused_by = Some(Cause { rule: entry.rule(), frame: 1 }),
        }
        entry
    }

    #[test]
    fn the_worst_are_kept_in_the_order_found_and_all_are_counted() {
        let (note, warning, error) = (Some(Severity::Note), Some(Severity::Warning), Some(Severity::Error));
        let third = MAX_FINDINGS / 3;
        // The error comes first, then more than fits of everything below it, and errors last.
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
            kept.add(found(n, rank));
            all += 1;
        }
        let (findings, more, servers) = kept.finish();
        assert_eq!((findings.len() as u64 + more, findings.len()), (all, MAX_FINDINGS));
        let of = |severity| findings.iter().filter(|e| rank(e) == severity).count();
        assert_eq!([None, note, error].map(of), [0, 0, third + 1]);
        assert!(findings.iter().map(|e| e.frame).is_sorted());
        let sum = |severity| servers.iter().map(|s| s.counts.of(severity)).sum::<u64>();
        assert_eq!(servers.len(), 10);
        assert_eq!(
            [Severity::Note, Severity::Warning, Severity::Error].map(sum),
            [MAX_FINDINGS, 3 * third, third + 1].map(|n| n as u64)
        );
    }

    #[test]
    fn servers_beyond_as_many_as_findings_are_not_counted_apart() {
        let mut kept = FindingStore::default();
        (0..=MAX_FINDINGS as u32).for_each(|n| kept.add(entry(n)));
        kept.add(entry(1));
        let (_, more, servers) = kept.finish();
        assert_eq!((servers.len(), more, servers[1].counts.total()), (MAX_FINDINGS, 2, 2));
    }

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
