//! The findings of packets, in bounded memory: equal ones are kept once.

use super::{MAX_DISTINCT, MAX_FINDINGS};
use crate::check::{Cause, Finding};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The findings of packets, in the order of the packets.
#[derive(Debug, Default)]
pub(super) struct FindingTable {
    /// Different findings. Frames of causes are counted backwards from the frame of the packet.
    distinct: Vec<Finding>,
    /// Their indices, by what they say.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Index of a row, and index of one of its findings.
    used: Vec<(u32, u32)>,
}

/// A finding with the frame of its cause counted from the frame of its packet, or the reverse.
fn turned(finding: &Finding, frame: u64) -> Finding {
    let turned = |cause: Cause| Cause { frame: frame.wrapping_sub(cause.frame), ..cause };
    Finding { caused_by: finding.caused_by.map(turned), ..*finding }
}

fn hash(hasher: &DefaultHashBuilder, finding: &Finding) -> u64 {
    let Finding { rule, severity, field, span, needs, values, sizes, caused_by, .. } = finding;
    let span = span.map(|span| (span.start, span.end));
    let field = field.map(|field| field.name);
    hasher.hash_one((
        rule.id,
        severity,
        field,
        span,
        needs,
        values,
        sizes,
        caused_by.map(|cause| cause.frame),
    ))
}

impl FindingTable {
    /// Adds the findings of a row with this frame, the last row so far. Returns whether there was room; else none is added.
    pub fn add(&mut self, row: u32, frame: u64, findings: &[Finding]) -> bool {
        let before = self.used.len();
        if before + findings.len() > MAX_FINDINGS {
            return false;
        }
        for finding in findings {
            let Some(at) = self.index_of(turned(finding, frame)) else {
                self.used.truncate(before);
                return false;
            };
            self.used.push((row, at));
        }
        true
    }

    fn index_of(&mut self, finding: Finding) -> Option<u32> {
        let FindingTable { distinct, known, hasher, .. } = self;
        let hash_of = hash(hasher, &finding);
        if let Some(at) = known.find(hash_of, |at| distinct.get(*at as usize) == Some(&finding)) {
            return Some(*at);
        }
        let at = distinct.len() as u32; // bounded
        if distinct.len() >= MAX_DISTINCT {
            return None;
        }
        distinct.push(finding);
        known.insert_unique(hash_of, at, |at| distinct.get(*at as usize).map_or(0, |f| hash(hasher, f)));
        Some(at)
    }

    /// The findings of a row with this frame.
    pub fn of(&self, row: usize, frame: u64) -> impl Iterator<Item = Finding> {
        let from = self.used.partition_point(|(of, _)| (*of as usize) < row);
        let used = self.used[from..].iter().take_while(move |(of, _)| *of as usize == row);
        used.filter_map(move |(_, at)| self.distinct.get(*at as usize)).map(move |f| turned(f, frame))
    }

    /// All findings, each with the index of its row. Frames of causes are missing.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Finding)> {
        self.used.iter().filter_map(|(row, at)| Some((*row as usize, self.distinct.get(*at as usize)?)))
    }

    /// Memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        self.used.len() * size_of::<(u32, u32)>()
            + self.distinct.len() * (size_of::<Finding>() + 2 * size_of::<u32>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::general::{GEN_001, GEN_008};

    #[test]
    fn equal_findings_are_kept_once_and_given_back_as_they_were() {
        let mut table = FindingTable::default();
        let plain = Finding::of_datagram(&GEN_001, 9);
        let of_frame = |frame: u64| {
            let cause = Cause { rule: &GEN_008, frame: frame - 2 };
            [plain, Finding { caused_by: Some(cause), ..plain }]
        };
        for row in 0..1_000 {
            assert!(table.add(row, u64::from(row) + 7, &of_frame(u64::from(row) + 7)));
        }
        assert_eq!(table.distinct.len(), 2);
        assert_eq!(table.of(500, 507).collect::<Vec<_>>(), of_frame(507));
        assert_eq!(table.all().count(), 2_000);
        let later = Cause { rule: &GEN_008, frame: 2_000 };
        let later = Finding { caused_by: Some(later), ..plain };
        assert!(table.add(1_000, 1_007, &[later]));
        assert_eq!(table.of(1_000, 1_007).collect::<Vec<_>>(), [later], "the cause may come later");
        assert_eq!(table.of(1_001, 1_008).count(), 0);
    }

    #[test]
    fn different_findings_are_bounded_as_well() {
        let mut table = FindingTable::default();
        let finding =
            |len: usize| [Finding::of_datagram(&GEN_001, len), Finding::of_datagram(&GEN_001, len + 1)];
        let has_room: Vec<bool> =
            (0..=MAX_DISTINCT).map(|n| table.add(n as u32, n as u64, &finding(n))).collect();
        let first = has_room.iter().position(|room| !room).unwrap();
        assert_eq!((first, table.distinct.len()), (MAX_DISTINCT - 1, MAX_DISTINCT));
        assert_eq!(table.of(first, first as u64).count(), 0, "all of a packet's, or none");
    }
}
