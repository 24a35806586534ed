//! The report that looks for the finding of one rule.

use crate::check::{Finding, Packet};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::{Files, Place, Report, SilentServer, Wants};
use crate::rule::{Rule, Severity};
use std::collections::BTreeMap;
use std::io;

/// Most findings of the rule that are kept; the finding is chosen among these.
pub const MAX_FOUND: usize = 4_096;

/// A finding of the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The rule.
    pub rule: &'static Rule,
    /// Its frame in the run; that of the request where it is about an exchange.
    pub frame: u64,
    /// The client and the server.
    pub ends: [Endpoint; 2],
    /// The protocol.
    pub id: Id,
    /// Its severity.
    pub severity: Severity,
    /// It is no symptom of another finding.
    pub counts: bool,
    /// The rule about its server of which it may be a symptom at the end.
    provisional: Option<&'static Rule>,
    /// It is a note if only one direction was captured.
    depends_on_past: bool,
}

impl Found {
    /// A finding about a frame with this number in the run.
    pub fn of(finding: &Finding, frame: u64, ends: [Endpoint; 2], id: Id) -> Found {
        Found {
            rule: finding.rule,
            frame,
            ends,
            id,
            severity: finding.severity,
            counts: finding.counts(),
            provisional: finding.provisional,
            depends_on_past: finding.depends_on_past(),
        }
    }
}

/// Most other frames that are named.
pub const MAX_OTHERS: usize = 8;

/// Looks for the findings of a rule.
#[derive(Debug)]
pub struct Search {
    rule: &'static Rule,
    /// Only at that frame of its file.
    frame: Option<u64>,
    found: Vec<Found>,
    /// The first other frames of their files with a finding of the rule.
    pub others: Vec<u64>,
    /// How often each rule was broken.
    pub rules: BTreeMap<&'static str, u64>,
    files: Files,
}

impl Search {
    /// Looks for findings of that rule, at that frame only if there is one.
    pub fn new(rule: &'static Rule, frame: Option<u64>) -> Search {
        Search { rule, frame, found: vec![], others: vec![], rules: BTreeMap::new(), files: Files::default() }
    }

    /// The finding to keep: the first one of the highest severity, and if possible no symptom.
    pub fn best(&self) -> Option<Found> {
        // Of equal ones, `max_by_key` would return the last.
        self.found.iter().rev().max_by_key(|found| (found.counts, found.severity)).copied()
    }

    /// The place of a frame with this number in the run.
    pub fn place(&self, frame: u64) -> Place {
        self.files.place(frame)
    }

    /// Whether a finding is there that is as good as that one.
    pub fn shows(&self, wanted: &Found) -> bool {
        let is_as_good =
            |found: &Found| found.severity >= wanted.severity && (found.counts || !wanted.counts);
        self.found.iter().any(is_as_good)
    }

    fn add(&mut self, finding: &Finding, frame: u64, ends: [Endpoint; 2], id: Id) {
        if finding.repeated {
            return;
        }
        let count = self.rules.entry(finding.rule.id).or_default();
        *count = count.saturating_add(1);
        if finding.rule != self.rule {
            return;
        }
        let place = self.files.place(frame).frame;
        if self.frame.is_none_or(|wanted| place == wanted) {
            if self.found.len() < MAX_FOUND {
                self.found.push(Found::of(finding, frame, ends, id));
            }
        } else if self.others.len() < MAX_OTHERS && !self.others.contains(&place) {
            self.others.push(place);
        }
    }
}

impl Report for Search {
    fn wants(&self) -> Wants {
        Wants { silent_servers: true, packets_first: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let [client, _] = p.ends();
        let ends = [client, p.server()];
        p.findings.iter().for_each(|finding| self.add(finding, p.datagram.frame, ends, p.id));
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let ends = [e.client, e.server];
        findings.iter().for_each(|finding| self.add(finding, e.request_frame, ends, e.protocol));
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for SilentServer { frame, exchange: e, finding, .. } in servers {
            let is_symptom = |found: &&mut Found| {
                found.provisional == Some(finding.rule) && (found.ends[1], found.id) == (e.server, e.protocol)
            };
            self.found.iter_mut().filter(is_symptom).for_each(|found| found.counts = false);
            self.add(finding, *frame, [e.client, e.server], e.protocol);
        }
        Ok(())
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        let is_of =
            |found: &&mut Found| found.depends_on_past && servers.contains(&(found.ends[1], found.id));
        self.found.iter_mut().filter(is_of).for_each(|found| found.severity = Severity::Note);
        Ok(())
    }

    fn file(&mut self, _: &str, _: &crate::capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::general::GEN_009;

    #[test]
    fn other_frames_are_named_up_to_a_limit() {
        let mut search = Search::new(&GEN_009, Some(1));
        let end = Endpoint::v4([192, 0, 2, 1], 7777);
        let finding = Finding::of_exchange(&GEN_009);
        (2..99).for_each(|frame| search.add(&finding, frame, [end, end], Id::Sqp));
        assert_eq!(search.others, (2..2 + MAX_OTHERS as u64).collect::<Vec<_>>());
        assert!(search.best().is_none());
    }

    #[test]
    fn a_finding_is_chosen_among_the_first() {
        let mut search = Search::new(&GEN_009, None);
        let end = Endpoint::v4([192, 0, 2, 1], 7777);
        let weak = Finding { severity: Severity::Note, ..Finding::of_exchange(&GEN_009) };
        (1..=MAX_FOUND as u64).for_each(|frame| search.add(&weak, frame, [end, end], Id::Sqp));
        search.add(&Finding::of_exchange(&GEN_009), 9_999, [end, end], Id::Sqp);
        assert_eq!(search.best().map(|found| (found.frame, found.severity)), Some((1, Severity::Note)));
        assert_eq!(search.rules.get("GEN-009"), Some(&(MAX_FOUND as u64 + 1)));
        search.found.pop();
        search.add(&Finding::of_exchange(&GEN_009), 9_999, [end, end], Id::Sqp);
        assert_eq!(search.best().map(|found| found.frame), Some(9_999));
    }
}
