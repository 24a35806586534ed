//! Gathers what the pipeline finds into a verdict.

use super::{Coverage, Entry, Fingerprints, MAX_FILES, MAX_FINDINGS, Outcome, RuleResult, Verdict};
use crate::capture::Facts;
use crate::check::{self, Counts, Finding, Policy};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::{Packet, Report, Totals};
use crate::rule::{self, Rule};
use hashbrown::{HashMap, HashSet};
use std::io;

/// Most remarks that are made once for each server.
const MAX_REMARKS: usize = 50_000;

/// The report behind `check`.
pub struct Check<F> {
    policy: Policy,
    files: Vec<(String, Facts)>,
    findings: Vec<Entry>,
    more: u64,
    /// Remarks made once for each server, by server and rule: index into `remarks`.
    known: HashMap<(Endpoint, Id, &'static str), usize>,
    remarks: Vec<Entry>,
    seen: Vec<Id>,
    exchanges: Vec<Id>,
    broken: HashMap<&'static str, u64>,
    counts: Counts,
    fingerprints: Fingerprints,
    marks: HashSet<&'static str>,
    /// Says of an entry why it does not fail the check, before it is kept; and sees every one of them.
    judge: F,
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Check<F> {
    /// An empty one. `judge` sees every entry and the name of its capture as soon as it is complete, may
    /// excuse it, and may write it out.
    pub fn new(policy: Policy, judge: F) -> Self {
        Check {
            policy,
            files: vec![],
            findings: vec![],
            more: 0,
            known: HashMap::new(),
            remarks: vec![],
            seen: vec![],
            exchanges: vec![],
            broken: HashMap::new(),
            counts: Counts::default(),
            fingerprints: Fingerprints::default(),
            marks: HashSet::new(),
            judge,
        }
    }

    fn add(&mut self, entry: Entry) -> io::Result<()> {
        if entry.rule().per_server && entry.finding.counts() {
            self.remark(entry);
            return Ok(());
        }
        self.keep(entry)
    }

    /// A remark is said once a server, behind everything else, with its count.
    fn remark(&mut self, entry: Entry) {
        let key = (entry.server, entry.protocol, entry.rule().id);
        match self.known.get(&key) {
            Some(&at) => {
                if let Some(first) = self.remarks.get_mut(at) {
                    first.count += 1;
                }
            }
            None if self.remarks.len() < MAX_REMARKS => {
                self.known.insert(key, self.remarks.len());
                self.remarks.push(entry);
            }
            None => self.more += 1,
        }
    }

    fn keep(&mut self, mut entry: Entry) -> io::Result<()> {
        entry.fingerprint = self.fingerprints.of(&entry);
        let name = self.files.get(entry.file).map_or("-", |(name, _)| name.as_str());
        (self.judge)(&mut entry, name)?;
        if entry.counts() {
            *self.broken.entry(entry.rule().id).or_default() += entry.count;
            self.counts.add(entry.finding.severity);
        }
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(entry);
        } else {
            self.more += 1;
        }
        Ok(())
    }

    /// The verdict, once everything was read.
    ///
    /// # Errors
    /// When a remark cannot be written.
    pub fn verdict(mut self, totals: Totals) -> io::Result<Verdict> {
        for entry in std::mem::take(&mut self.remarks) {
            self.keep(entry)?;
        }
        let protocols: Vec<Id> = Id::ALL.iter().copied().filter(|id| self.seen.contains(id)).collect();
        let rules = rule::all().map(|rule| self.result(rule)).collect();
        let Check { files, findings, more, counts, .. } = self;
        Ok(Verdict { files, findings, more, rules, counts, protocols, totals })
    }

    fn result(&self, rule: &'static Rule) -> RuleResult {
        let severity = self.policy.severity(rule);
        let count = self.broken.get(rule.id).copied().unwrap_or(0);
        let owner =
            Id::ALL.iter().copied().find(|id| id.info().rules.iter().copied().flatten().any(|r| *r == rule));
        let seen = owner.map_or(!self.seen.is_empty(), |id| self.seen.contains(&id));
        // Rules that take more than one datagram are declared in the last file of a protocol.
        let across = |id: Id| id.info().rules.last().is_some_and(|last| last.iter().any(|r| **r == *rule));
        let exchanged = owner.is_some_and(|id| across(id) && self.exchanges.contains(&id));
        let general = check::RULES.iter().any(|r| **r == *rule);
        let outcome = match () {
            () if severity.is_none() || !seen => Outcome::NotApplicable,
            () if count > 0 => Outcome::Fail,
            () if self.marks.contains(rule.id) || exchanged || general => Outcome::Pass,
            () => Outcome::NotExercised,
        };
        RuleResult { rule, severity, outcome, count }
    }
}

fn see(list: &mut Vec<Id>, id: Id) {
    if !list.contains(&id) {
        list.push(id);
    }
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Report for Check<F> {
    type Sink = Coverage;
    const ORDERED: bool = true;
    const EVERY: bool = true;

    fn packet(&mut self, p: &Packet<'_, Coverage>) -> io::Result<()> {
        see(&mut self.seen, p.id);
        let d = p.datagram;
        let by_client = p.direction == Direction::C2s;
        let (client, server) = if by_client { (d.src, d.dst) } else { (d.dst, d.src) };
        for finding in p.findings {
            let span = finding.span.unwrap_or_default();
            let marked = if p.sink.secret { &[][..] } else { span.of(d.payload) };
            self.add(Entry {
                finding: *finding,
                file: self.files.len().saturating_sub(1),
                frame: d.frame,
                protocol: p.id,
                message: Some(p.message_name()),
                server,
                client,
                level: p.level,
                file_offset: Some(d.at + u64::from(span.start)),
                exchange: p.pairing.exchange(),
                marked: marked.iter().copied().take(super::MAX_MARKED).collect(),
                count: 1,
                fingerprint: Default::default(),
                excused: None,
            })?;
        }
        self.more += u64::from(p.more_findings);
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        see(&mut self.seen, e.protocol);
        see(&mut self.exchanges, e.protocol);
        for finding in findings {
            self.add(Entry {
                finding: *finding,
                file: self.files.len().saturating_sub(1),
                frame: e.request_frame,
                protocol: e.protocol,
                message: None,
                server: e.server,
                client: e.client,
                level: e.level,
                file_offset: None,
                exchange: Some(e.id),
                marked: Default::default(),
                count: 1,
                fingerprint: Default::default(),
                excused: None,
            })?;
        }
        Ok(())
    }

    fn listened(&mut self, sink: &Coverage) {
        self.marks = sink.marks.rules().clone();
    }

    fn file(&mut self, name: &str, facts: &Facts) -> io::Result<()> {
        if self.files.len() < MAX_FILES {
            self.files.push((name.to_owned(), facts.clone()));
        }
        Ok(())
    }
}
