//! Collects the results of the pipeline into a verdict.

use super::finding_store::{FindingStore, MAX_REMARKS, PendingFindings};
use super::{Entry, Evidence, Excuse, Fingerprints, MAX_FILES, MAX_MARKED, Outcome, RuleResult, Verdict};
use crate::capture::{CaptureInfo, Time};
use crate::check::{Cause, Counts, Finding, Packet, Policy};
use crate::contract::{Abuse, Flood};
use crate::decode::{AnyListener, Coverage};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::{Files, Place, Report, SilentServer, Totals, Wants};
use crate::rule::general::{GEN_009, GEN_011};
use crate::rule::{Rule, Severity, Side};
use hashbrown::{HashMap, HashSet};
use std::io;

/// The report behind `check`.
pub struct Check<F> {
    policy: Policy,
    /// The parts of the verdict known so far: captures, their evidence, counts, and the number of findings not kept.
    verdict: Verdict,
    files: Files,
    findings: FindingStore,
    /// Index into `remarks`, which are made once per server, by server and address of the rule.
    remark_index: HashMap<(Endpoint, Id, usize), usize>,
    remarks: Vec<Entry>,
    /// Findings that are meaningless if the capture has only one direction of a server's traffic, which is known at the
    /// end.
    past_dependent: PendingFindings<Entry>,
    /// Findings that are [provisional](Finding::provisional).
    provisional: PendingFindings<Entry>,
    /// Findings about floods, whose final numbers are known at the end, with their frames in the run.
    floods: PendingFindings<(u64, Entry)>,
    /// Number of provisional findings that were reported early for want of room, although a server answered nothing.
    reported_early: u64,
    /// File and protocol of the latest datagram and of the latest exchange, which the evidence already includes.
    latest: [Option<(usize, Id)>; 2],
    broken_counts: HashMap<&'static str, u64>,
    /// Findings kept early for want of room, by server and the rule that may be their cause, and by their rule. The number
    /// of servers that a run remembers bounds it.
    early: HashMap<(Endpoint, Id, Option<usize>), HashMap<&'static str, Counts>>,
    /// Rules broken by excused findings.
    excused_rules: HashSet<&'static str>,
    fingerprints: Fingerprints,
    /// Called with every entry before it is stored; it may excuse the entry.
    judge: F,
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Check<F> {
    /// An empty report. `judge` is called with every complete entry and the name of its capture. It may excuse the
    /// entry, and may write it.
    pub fn new(policy: Policy, judge: F) -> Self {
        Check {
            policy,
            verdict: Verdict::default(),
            files: Files::default(),
            findings: FindingStore::default(),
            remark_index: HashMap::new(),
            remarks: vec![],
            past_dependent: PendingFindings::default(),
            provisional: PendingFindings::default(),
            floods: PendingFindings::default(),
            reported_early: 0,
            latest: [None; 2],
            broken_counts: HashMap::new(),
            early: HashMap::new(),
            excused_rules: HashSet::new(),
            fingerprints: Fingerprints::default(),
            judge,
        }
    }

    fn add(&mut self, entry: Entry) -> io::Result<()> {
        if entry.rule().per_server && entry.finding.counts() {
            return self.remark(entry);
        }
        let depends_on_past = entry.finding.depends_on_past();
        match self.past_dependent.hold(depends_on_past, entry) {
            Some(entry) if depends_on_past => self.keep_early(entry, None),
            Some(entry) => self.keep(entry),
            None => Ok(()),
        }
    }

    /// Keeps a finding for which there is no room until the end, when it may turn out to be a note, or a symptom of a
    /// finding of that rule. Only its count can change then.
    #[cold]
    fn keep_early(&mut self, entry: Entry, cause: Option<&'static Rule>) -> io::Result<()> {
        let key = (entry.server, entry.protocol, cause.map(Rule::address));
        let (rule, severity, before) = (entry.rule(), entry.finding.severity, self.verdict.counts.total());
        self.keep(entry)?;
        if self.verdict.counts.total() > before {
            let early = self.early.entry(key).or_default();
            early.entry(rule.id).or_default().add(severity);
        }
        Ok(())
    }

    /// Takes back the counts of findings kept early that are symptoms of a finding of that rule about the server; without
    /// a rule, they become notes.
    fn recount_early(&mut self, server: Endpoint, id: Id, cause: Option<&'static Rule>) {
        for (rule, counts) in self.early.remove(&(server, id, cause.map(Rule::address))).into_iter().flatten()
        {
            let of_server = self.findings.counts_of(server, id);
            for all in std::iter::once(&mut self.verdict.counts).chain(of_server) {
                if cause.is_some() { all.take_back(&counts) } else { all.demote(&counts) }
            }
            if let Some(broken) = self.broken_counts.get_mut(rule).filter(|_| cause.is_some()) {
                *broken = broken.saturating_sub(counts.total());
            }
        }
    }

    /// Keeps a remark, which is reported with its count once per server, after everything else. Beyond the limit it is
    /// handled like any other finding.
    fn remark(&mut self, entry: Entry) -> io::Result<()> {
        if self.remarks.len() >= MAX_REMARKS {
            return self.keep(entry);
        }
        let rule = entry.rule().address();
        self.remark_index.insert((entry.server, entry.protocol, rule), self.remarks.len());
        self.remarks.push(entry);
        Ok(())
    }

    /// Counts a finding that repeats a remark about the same server.
    fn repeat_remark(&mut self, finding: &Finding, server: Endpoint, id: Id) {
        let at = self.remark_index.get(&(server, id, finding.rule.address()));
        if let Some(first) = at.and_then(|&at| self.remarks.get_mut(at)) {
            first.count += 1;
        }
    }

    /// Adds a finding, at the end if it may turn out to be a symptom then.
    fn hold_provisional(&mut self, entry: Entry) -> io::Result<()> {
        let cause = entry.finding.provisional;
        match self.provisional.hold(cause.is_some(), entry) {
            Some(entry) if cause.is_some() => self.keep_early(entry, cause),
            Some(entry) => self.add(entry),
            None => Ok(()),
        }
    }

    /// Adds the findings of a datagram.
    #[inline(never)]
    fn add_findings(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let d = p.datagram;
        let [client, server] = p.ends();
        for finding in p.findings {
            // A remark belongs to the first packet that causes it. If a filter left out that packet, it left out the
            // remark.
            if finding.repeated {
                self.repeat_remark(finding, server, p.id);
                continue;
            }
            let span = finding.span.unwrap_or_default();
            let marked = if p.coverage().is_some_and(|c| c.secret) { &[][..] } else { span.of(p.bytes) };
            let mut finding = *finding;
            let (Place { file, frame }, cause_file) = self.place(d.frame, &mut finding);
            let entry = Entry {
                file,
                frame,
                time: d.time,
                cause_file,
                message: Some(p.message_name()),
                level: p.level,
                file_offset: p.file_offset(span.start),
                exchange: p.pairing.exchange(),
                marked: marked.iter().take(MAX_MARKED).copied().collect(),
                ..Entry::new(finding, p.id, [client, server])
            };
            if let Some(Abuse::Flood(_)) = entry.finding.abuse {
                // Its final numbers are known at the end.
                if let Some(entry) = self.floods.hold(true, (d.frame, entry)) {
                    self.add(entry.1)?;
                }
            } else {
                self.hold_provisional(entry)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, mut entry: Entry) -> io::Result<()> {
        // Symptoms depend on their causes, so they must not use up the numbers of findings that count.
        if entry.finding.counts() {
            entry.fingerprint = self.fingerprints.of(&entry);
        }
        let name = self.verdict.files.get(entry.file).map_or("-", |(name, _)| name.as_str());
        (self.judge)(&mut entry, name)?;
        if entry.counts() {
            *self.broken_counts.entry(entry.rule().id).or_default() += entry.count;
            self.verdict.counts.add(entry.finding.severity);
        } else if let Some(excuse) = entry.excused.as_ref().filter(|_| entry.finding.counts()) {
            self.excused_rules.insert(entry.rule().id);
            match excuse {
                Excuse::Baseline => self.verdict.known += 1,
                Excuse::Suppressed(_) => self.verdict.suppressed += 1,
            }
        }
        self.findings.add(entry);
        Ok(())
    }

    /// The verdict, after everything has been read.
    ///
    /// # Errors
    /// When a remark cannot be written.
    pub fn verdict(mut self, mut totals: Totals) -> io::Result<Verdict> {
        if !totals.one_sided.is_empty() {
            totals.waiting_overflow += self.past_dependent.more;
        }
        totals.waiting_overflow += self.reported_early;
        for entry in std::mem::take(&mut self.remarks) {
            self.keep(entry)?;
        }
        let is_seen = |id: &Id| self.verdict.evidence.iter().any(|evidence| evidence.protocols.contains(id));
        let protocols: Vec<Id> = Id::ALL.iter().copied().filter(is_seen).collect();
        let rules = crate::protocols::rules().map(|rule| self.result(rule)).collect();
        let (mut findings, unkept, servers) = self.findings.finish();
        let is_about_silence = |e: &&mut Entry| {
            e.protocol.info().is_missing_answer(e.rule()) || [&GEN_009, &GEN_011].contains(&e.rule())
        };
        for entry in findings.iter_mut().filter(is_about_silence) {
            entry.dropped = self.verdict.evidence.get(entry.file).map_or(0, |evidence| evidence.dropped);
        }
        let more_findings = self.verdict.more_findings + unkept;
        Ok(Verdict { findings, more_findings, servers, rules, protocols, totals, ..self.verdict })
    }

    fn result(&self, rule: &'static Rule) -> RuleResult {
        let severity = self.policy.severity(rule);
        let count = self.broken_counts.get(rule.id).copied().unwrap_or(0);
        let protocol = Id::of_rule(rule);
        let is_exchange_rule = protocol.is_some_and(|id| id.info().exchange_rules.contains(&rule));
        // A shared rule applies to the traffic of every protocol.
        let is_concerned = |evidence: &Evidence| {
            protocol.map_or(!evidence.protocols.is_empty(), |id| evidence.protocols.contains(&id))
        };
        let is_exercised = |evidence: &Evidence| match protocol {
            None => is_concerned(evidence),
            Some(id) => {
                evidence.marks.contains(rule.id) || is_exchange_rule && evidence.exchanges.contains(&id)
            }
        };
        let outcome = match () {
            () if severity.is_none() || !self.verdict.evidence.iter().any(is_concerned) => {
                Outcome::NotApplicable
            }
            () if count > 0 => Outcome::Fail,
            () if self.excused_rules.contains(rule.id) => Outcome::Known,
            () if self.verdict.evidence.iter().any(is_exercised) => Outcome::Pass,
            () => Outcome::NotExercised,
        };
        RuleResult { rule, severity, outcome, count }
    }

    /// Index among the files kept. All other files share the last index.
    fn kept_file(&self, file: usize) -> usize {
        file.min(self.verdict.files.len().saturating_sub(1))
    }

    /// The place of a frame, and the file of the cause's frame if it is another file. Converts the cause's frame to its
    /// number in its file.
    fn place(&self, frame: u64, finding: &mut Finding) -> (Place, Option<(usize, Box<str>)>) {
        let (mut place, mut cause_file) = (self.files.place(frame), None);
        if let Some(cause) = &mut finding.caused_by {
            let cause_place = self.files.place(cause.frame);
            cause.frame = cause_place.frame;
            if cause_place.file != place.file {
                let file = self.kept_file(cause_place.file);
                cause_file = self.verdict.files.get(file).map(|(name, _)| (file, name.as_str().into()));
            }
        }
        place.file = self.kept_file(place.file);
        (place, cause_file)
    }

    /// The entry for a finding about an exchange, located at this frame.
    fn of_exchange(&self, e: &Exchange, (frame, time): (u64, Time), mut finding: Finding) -> Entry {
        let (Place { file, frame }, cause_file) = self.place(frame, &mut finding);
        Entry {
            file,
            frame,
            time,
            cause_file,
            level: e.level,
            exchange: Some(e.id),
            ..Entry::new(finding, e.protocol, [e.client, e.server])
        }
    }

    /// The evidence of a capture so far.
    #[inline]
    fn evidence(&mut self, file: usize) -> &mut Evidence {
        let at = self.kept_file(file);
        if self.verdict.evidence.len() <= at {
            self.begin_evidence(at);
        }
        &mut self.verdict.evidence[at]
    }

    #[cold]
    #[inline(never)]
    fn begin_evidence(&mut self, at: usize) {
        self.verdict.evidence.resize_with(at + 1, Evidence::default);
    }
}

#[inline]
fn add_once(list: &mut Vec<Id>, id: Id) {
    if !list.contains(&id) {
        list.push(id);
    }
}

impl<F: FnMut(&mut Entry, &str) -> io::Result<()>> Report for Check<F> {
    fn listener(&self) -> AnyListener {
        AnyListener::Coverage(Coverage::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, repeat_remarks: true, silent_servers: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let file = self.files.place(p.datagram.frame).file;
        if self.latest[0] != Some((file, p.id)) {
            self.latest[0] = Some((file, p.id));
            add_once(&mut self.evidence(file).protocols, p.id);
        }
        self.verdict.more_findings += u64::from(p.more_findings);
        if p.findings.is_empty() { Ok(()) } else { self.add_findings(p) }
    }

    fn packet_left_out(&mut self, p: &Packet<'_>) {
        p.coverage().into_iter().for_each(Coverage::hide);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let file = self.files.place(e.request_frame).file;
        if self.latest[1] != Some((file, e.protocol)) {
            self.latest[1] = Some((file, e.protocol));
            let evidence = self.evidence(file);
            add_once(&mut evidence.protocols, e.protocol);
            add_once(&mut evidence.exchanges, e.protocol);
        }
        for finding in findings {
            let entry = self.of_exchange(e, (e.request_frame, e.request_time), *finding);
            self.hold_provisional(entry)?;
        }
        Ok(())
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        let finals: HashMap<_, _> = floods.iter().copied().collect();
        for (frame, mut entry) in std::mem::take(&mut self.floods.entries) {
            if let Some(flood) = finals.get(&frame) {
                entry.finding.abuse = Some(Abuse::Flood(*flood));
            }
            self.add(entry)?;
        }
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        let silent = servers.iter().map(|s| self.of_exchange(&s.exchange, (s.frame, s.time), s.finding));
        let silent: Vec<_> = silent.collect();
        let PendingFindings { entries: mut pending, more } = std::mem::take(&mut self.provisional);
        self.reported_early += if silent.is_empty() { 0 } else { more };
        let causes: HashMap<_, _> =
            silent.iter().map(|e| ((e.server, e.protocol, e.rule().id), (e.file, e.frame))).collect();
        pending.retain_mut(|entry| {
            let Some(rule) = entry.finding.provisional else { return true };
            let Some(&(file, frame)) = causes.get(&(entry.server, entry.protocol, rule.id)) else {
                return true;
            };
            // A challenge that comes again is what that rule is about.
            if entry.protocol.info().challenges_again == Some(entry.rule()) {
                return false;
            }
            // An error that explains a single missing answer remains its cause.
            let has_error_cause =
                entry.finding.caused_by.is_some_and(|cause| cause.rule.severity == Severity::Error);
            if !has_error_cause {
                entry.finding.caused_by = Some(Cause { rule, frame });
                let cause_file = self.verdict.files.get(file).filter(|_| file != entry.file);
                entry.cause_file = cause_file.map(|(name, _)| (file, name.as_str().into()));
            }
            true
        });
        for entry in &silent {
            self.recount_early(entry.server, entry.protocol, Some(entry.rule()));
        }
        self.early.retain(|(_, _, cause), _| cause.is_none());
        // No further file continues these files, so it repeats remarks about their servers.
        self.remark_index.clear();
        silent.into_iter().chain(pending).try_for_each(|entry| self.add(entry))
    }

    fn file_read(&mut self, facts: &CaptureInfo, _: &Totals) {
        // Captures beyond the limit share an entry.
        let evidence = self.evidence(self.files.len().saturating_sub(1));
        evidence.dropped = evidence.dropped.saturating_add(facts.dropped().unwrap_or(0));
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        let one_sided: HashSet<_> = servers.iter().copied().collect();
        for mut entry in std::mem::take(&mut self.past_dependent.entries) {
            if one_sided.contains(&(entry.server, entry.protocol)) {
                entry.finding.severity = Severity::Note;
                entry.finding.fault = Side::Capture;
            }
            self.keep(entry)?;
        }
        servers.iter().for_each(|&(server, id)| self.recount_early(server, id, None));
        self.early.clear();
        Ok(())
    }

    fn file_decoded(&mut self, listener: &mut AnyListener) {
        let AnyListener::Coverage(coverage) = listener else { return };
        let last = self.files.len().saturating_sub(1);
        self.evidence(last).marks.extend(coverage.take());
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.files.begin(before);
        // A finding must not name a capture that does not contain it, so captures beyond the limit share a separate
        // name.
        let name = match self.verdict.files.len() {
            ..MAX_FILES => name,
            MAX_FILES => "(further captures)",
            _ => return Ok(()),
        };
        self.verdict.files.push((name.to_owned(), facts.clone()));
        self.evidence(self.verdict.files.len() - 1);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A finding about an exchange of the n-th server.
    pub fn entry(n: u32) -> Entry {
        let [_, a, b, c] = n.to_be_bytes();
        let server = Endpoint::v4([10, a, b, c], 7777);
        let rule = Id::Sqp.info().steps[0].rules.unanswered.expect("it has one");
        Entry::new(Finding::of_exchange(rule), Id::Sqp, [server; 2])
    }

    /// The verdict on `count` findings of this rule, each about a different server.
    fn verdict(rule: &'static Rule, count: usize, totals: Totals) -> Verdict {
        let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
        for n in 0..count {
            let mut entry = entry(n as u32);
            entry.finding = Finding::of_exchange(rule);
            check.add(entry).expect("nothing is written");
        }
        check.one_sided(&totals.one_sided).expect("nothing is written");
        check.verdict(totals).expect("nothing is written")
    }

    #[test]
    fn remarks_beyond_those_kept_are_counted() {
        let rule =
            crate::protocols::rules().find(|rule| rule.per_server && !rule.needs_past).expect("there is one");
        for more in [0, 3] {
            let verdict = verdict(rule, MAX_REMARKS + more, Totals::default());
            assert_eq!((verdict.findings.len(), verdict.more_findings), (MAX_REMARKS, more as u64));
        }
    }

    #[test]
    fn missing_answers_beyond_the_limit_are_reported_at_once_and_counted() {
        let [mut reported, mut linked] = [0; 2];
        let mut check = Check::new(Policy::default(), |e: &mut Entry, _: &str| {
            reported += 1;
            linked += usize::from(e.finding.caused_by.is_some_and(|cause| cause.rule == &GEN_009));
            Ok(())
        });
        let Entry { server, finding, .. } = entry(1);
        let exchange = Exchange::unanswered(1, Id::Sqp, [server; 2]);
        let missing = Finding { provisional: Some(&GEN_009), ..finding };
        let silence_finding = Finding::of_exchange(&GEN_009);
        let silent = [SilentServer {
            frame: 1,
            time: Time::UNKNOWN,
            exchange: exchange.clone(),
            finding: silence_finding,
        }];
        // The second time, no server was silent.
        for silent in [&silent[..], &[]] {
            for _ in 0..=MAX_REMARKS {
                check.exchange(&exchange, &[missing]).expect("nothing is written");
            }
            check.silent_servers(silent).expect("nothing is written");
        }
        let verdict = check.verdict(Totals::default()).expect("nothing is written");
        assert_eq!(verdict.totals.waiting_overflow, 1);
        assert_eq!((reported, linked), (2 * (MAX_REMARKS + 1) + 1, MAX_REMARKS));
    }

    #[test]
    fn findings_judged_early_are_counted_if_a_server_is_one_sided() {
        let past = |rule: &&Rule| rule.needs_past && !rule.per_server && rule.severity > Severity::Note;
        let rule = crate::protocols::rules().find(past).expect("there is one");
        let first = entry(0).server;
        for (more, one_sided, expected) in
            [(0, vec![(first, Id::Sqp)], 0), (3, vec![], 0), (3, vec![(first, Id::Sqp)], 3)]
        {
            let notes = one_sided.len() as u64;
            let totals = Totals { one_sided, ..Totals::default() };
            let verdict = verdict(rule, MAX_REMARKS + more, totals);
            assert_eq!(verdict.totals.waiting_overflow, expected);
            assert_eq!((verdict.counts.note, verdict.counts.total()), (notes, (MAX_REMARKS + more) as u64));
        }
    }

    #[test]
    fn findings_of_a_server_without_requests_are_the_capture_s_unless_they_are_notes_anyway() {
        let server = (entry(0).server, Id::Sqp);
        for (severity, expected) in [(Severity::Warning, Side::Capture), (Severity::Note, Side::Server)] {
            let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
            let past = |rule: &&Rule| rule.needs_past && !rule.per_server;
            let rule = crate::protocols::rules().find(past).expect("there is one");
            let mut entry = entry(0);
            entry.finding = Finding { severity, fault: Side::Server, ..Finding::of_exchange(rule) };
            check.add(entry).expect("nothing is written");
            check.one_sided(&[server]).expect("nothing is written");
            let verdict = check.verdict(Totals::default()).expect("nothing is written");
            let found = verdict.findings.iter().map(|e| (e.finding.severity, e.finding.fault));
            assert_eq!(found.collect::<Vec<_>>(), [(Severity::Note, expected)]);
        }
    }

    #[test]
    fn a_cause_names_its_capture_only_where_it_is_another() {
        for (first_frame, expected) in [(1, None), (2, Some("first"))] {
            let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
            let Entry { server, finding, .. } = entry(1);
            let missing = Finding { provisional: Some(&GEN_009), ..finding };
            check.file("first", &CaptureInfo::default(), 0).expect("nothing is written");
            check.file("second", &CaptureInfo::default(), 1).expect("nothing is written");
            let exchange = Exchange::unanswered(first_frame, Id::Sqp, [server; 2]);
            check.exchange(&exchange, &[missing]).expect("nothing is written");
            let finding = Finding::of_exchange(&GEN_009);
            let exchange = Exchange::unanswered(1, Id::Sqp, [server; 2]);
            check
                .silent_servers(&[SilentServer { frame: 1, time: Time::UNKNOWN, exchange, finding }])
                .expect("nothing is written");
            let verdict = check.verdict(Totals::default()).expect("nothing is written");
            let symptom =
                verdict.findings.iter().find(|e| e.finding.caused_by.is_some()).expect("it is linked");
            assert_eq!(symptom.cause_file.as_ref().map(|(_, name)| &**name), expected);
        }
    }
}
