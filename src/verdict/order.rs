//! Selects and orders the findings of a verdict that are listed: findings that fail the check come first, and findings that
//! repeat form one block.

#[cfg(feature = "page")]
use super::Excuse;
use super::{Entry, ServerCounts, Verdict};
use crate::check::Counts;
use crate::report::count;
use crate::rule::Severity;
#[cfg(feature = "page")]
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::fmt::Write;

/// Most rules named in the line about findings that are not listed.
const NAMED: usize = 12;

impl Verdict {
    /// The findings that are listed, in the order found: those at or above [`Verdict::show`].
    pub fn listed(&self) -> impl Iterator<Item = &Entry> {
        self.findings.iter().filter(|e| e.finding.severity >= self.show)
    }

    /// The findings that are listed, excused findings after all others, and the worst first.
    pub fn worst_first(&self) -> Vec<&Entry> {
        let mut all: Vec<_> = self.listed().collect();
        all.sort_by_key(|e| (e.excused.is_some(), Reverse(e.finding.severity))); // stable: as found within each
        all
    }

    /// The same findings without symptoms, in blocks: findings that repeat a rule at a server are together with the first
    /// of them, which stands first.
    #[cfg(feature = "page")]
    pub(super) fn blocks(&self) -> Vec<Vec<&Entry>> {
        let mut at = HashMap::new();
        let mut blocks: Vec<Vec<&Entry>> = vec![];
        for e in self.worst_first().into_iter().filter(|e| e.finding.counts()) {
            let excuse = match &e.excused {
                None => "",
                Some(Excuse::Baseline) => "baseline",
                Some(Excuse::Suppressed(why)) => why,
            };
            let key = (e.rule().id, e.finding.severity, e.server, e.protocol, excuse);
            match at.get(&key).and_then(|&at: &usize| blocks.get_mut(at)) {
                Some(block) => block.push(e),
                None => {
                    at.insert(key, blocks.len());
                    blocks.push(vec![e]);
                }
            }
        }
        blocks
    }

    /// The servers of the findings that are listed and count, the worst first, with the counts of all their findings.
    pub(super) fn worst_servers(&self) -> Vec<&ServerCounts> {
        let severities = Severity::ALL.iter().filter(|severity| **severity >= self.show);
        let listed = |s: &&ServerCounts| severities.clone().any(|severity| s.counts.of(*severity) > 0);
        let mut all: Vec<_> = self.servers.iter().filter(listed).collect();
        all.sort_by_key(|s| Reverse((s.counts.error, s.counts.warning, s.counts.note))); // stable: as found
        all
    }

    /// How many findings that count are less severe than what is listed, by rule; `None` where there are none.
    pub(super) fn below(&self) -> Option<String> {
        let mut rules: Vec<(&str, u64)> = vec![];
        let below = |e: &&Entry| e.counts() && e.finding.severity < self.show;
        for e in self.findings.iter().filter(below) {
            match rules.iter_mut().find(|(id, _)| *id == e.rule().id) {
                Some((_, n)) => *n += 1,
                None => rules.push((e.rule().id, 1)),
            }
        }
        let all: u64 = rules.iter().map(|(_, n)| n).sum();
        rules.sort_by_key(|&(id, n)| (Reverse(n), id));
        let are = if all == 1 { "is" } else { "are" };
        let (all_text, show) = (count(all, "finding"), self.show.name());
        let mut line = format!("{all_text} below {show} {are} not listed (--show note lists all): ");
        for (i, (id, n)) in rules.iter().take(NAMED).enumerate() {
            let _ = write!(line, "{}{id} {n}", if i == 0 { "" } else { ", " });
        }
        if let more @ 1.. = rules.len().saturating_sub(NAMED) {
            let _ = write!(line, ", and of {}", count(more as u64, "further rule"));
        }
        (all > 0).then_some(line)
    }

    /// The counts of the check: `1 error, 0 warnings, 2 notes; 29 known (baseline)`.
    pub(super) fn sums(&self) -> String {
        let Counts { error, warning, note } = self.counts;
        let counts = [(error, "error"), (warning, "warning"), (note, "note")].map(|(n, what)| count(n, what));
        let mut line = counts.join(", ");
        let excused = [(self.known, "known (baseline)"), (self.suppressed, "suppressed")];
        let mut before = "; ";
        for (n, what) in excused.into_iter().filter(|(n, _)| *n > 0) {
            let _ = write!(line, "{before}{n} {what}");
            before = ", ";
        }
        line
    }
}
