//! A report that fills an index, and keeps what a page shows beside it: findings about exchanges.

use super::{Index, Indexer, MAX_FINDINGS};
use crate::check::Finding;
use crate::exchange::Exchange;
use crate::report::{Report, Wants};
use serde::Serialize;
use std::io;

/// A report that fills an index and keeps findings about exchanges.
#[derive(Debug)]
pub struct Overview {
    indexer: Indexer,
    /// Findings about exchanges, each with the frame of the request.
    findings: Vec<(u64, Finding)>,
    /// Number of those for which there was no room.
    more_findings: u64,
}

/// A finding in a list.
#[derive(Clone, Debug, Serialize)]
pub struct FoundRecord {
    /// How bad it is.
    pub severity: &'static str,
    /// The rule that is broken.
    pub rule: &'static str,
    /// The number of its frame in its capture.
    pub frame: u64,
    /// The index of its packet.
    pub row: Option<usize>,
    /// The field that it is about.
    pub field: Option<String>,
    /// What is wrong, escaped.
    pub message: String,
}

impl Overview {
    /// A report that fills the index of `indexer`.
    pub fn new(indexer: Indexer) -> Overview {
        Overview { indexer, findings: vec![], more_findings: 0 }
    }

    /// The first findings about the packets of the index and their exchanges, `most` at most, in the order of their frames; and how
    /// many more there are.
    pub fn findings(&self, index: &Index, most: usize) -> (Vec<FoundRecord>, u64) {
        let rows = index.rows();
        // Packets before the first row and after the last have their own index.
        let first = rows.first().filter(|_| index.before > 0).map_or(0, |row| row.frame);
        let last = rows.last().filter(|_| index.left_out > 0).map_or(u64::MAX, |row| row.frame);
        let of_packets =
            index.all_findings().filter_map(|(row, finding)| Some((rows.get(row)?.frame, finding)));
        let others = self.findings.iter().map(|(frame, finding)| (*frame, finding));
        let mut all: Vec<(u64, &Finding)> =
            of_packets.chain(others.filter(|(frame, _)| (first..=last).contains(frame))).collect();
        all.sort_by_key(|(frame, _)| *frame);
        let more = all.len().saturating_sub(most) as u64 + index.more_findings + self.more_findings;
        let record = |(frame, finding): &(u64, &Finding)| FoundRecord {
            severity: finding.severity.name(),
            rule: finding.rule.id,
            frame: index.place(*frame).frame,
            row: index.of_frame(*frame),
            field: finding.path().map(|path| path.to_string()),
            message: finding.to_string(),
        };
        (all.iter().take(most).map(record).collect(), more)
    }

    fn keep(&mut self, frame: u64, findings: &[Finding]) {
        let room = MAX_FINDINGS.saturating_sub(self.findings.len());
        self.findings.extend(findings.iter().take(room).map(|finding| (frame, *finding)));
        self.more_findings += findings.len().saturating_sub(room) as u64;
    }
}

impl Report for Overview {
    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(&mut self.indexer)
    }

    fn wants(&self) -> Wants {
        self.indexer.wants()
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.keep(e.request_frame, findings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;
    use crate::rule::general::GEN_001;
    use std::sync::{Arc, Mutex};

    #[test]
    fn findings_of_exchanges_beyond_the_limit_are_counted() {
        let index = Arc::new(Mutex::new(Index::new(1)));
        let mut overview = Overview::new(Indexer::new(index.clone()));
        let exchange = Exchange::unanswered(1, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 7); 2]);
        let findings = [Finding::of_exchange(&GEN_001); 3];
        (0..=MAX_FINDINGS / 3).for_each(|_| overview.exchange(&exchange, &findings).expect("memory"));
        let (listed, more) = overview.findings(&index.lock().expect("nobody panics"), 10);
        assert_eq!(listed.len(), 10);
        assert_eq!(10 + more as usize, 3 * (MAX_FINDINGS / 3 + 1));
    }
}
