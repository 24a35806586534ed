//! Collects the results of the pipeline into a verdict.

use super::finding_store::FindingStore;
use super::pending::{Found, MAX_REMARKS, Pending};
use super::{Entry, Evidence, Excuse, Fingerprints, MAX_FILES, Outcome, RuleResult, Verdict};
use crate::capture::CaptureInfo;
use crate::check::{Counts, Finding, Packet, Policy};
use crate::contract::Flood;
use crate::decode::{AnyListener, Coverage};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::report::{Files, Place, Report, SilentServer, Totals, Wants};
use crate::rule::Rule;
use crate::rule::general::{GEN_009, GEN_011};
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
    pending: Pending,
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
            pending: Pending::default(),
            latest: [None; 2],
            broken_counts: HashMap::new(),
            early: HashMap::new(),
            excused_rules: HashSet::new(),
            fingerprints: Fingerprints::default(),
            judge,
        }
    }

    /// Adds a finding, which may be judged at the end.
    fn add(&mut self, found: Found) -> io::Result<()> {
        self.pending.hold(found).map_or(Ok(()), |found| self.add_now(found))
    }

    /// Adds a finding that is not held.
    fn add_now(&mut self, found: Found) -> io::Result<()> {
        let Finding { provisional, .. } = found.finding;
        let is_early = provisional.is_some() || found.finding.depends_on_past();
        let entry = self.entry(found);
        if is_early {
            self.keep_early(entry, provisional)
        } else if entry.rule().per_server && entry.finding.counts() {
            self.remark(entry)
        } else {
            self.keep(entry)
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

    /// Adds the findings of a datagram.
    #[inline(never)]
    fn add_findings(&mut self, p: &Packet<'_>) -> io::Result<()> {
        for finding in p.findings {
            // A remark belongs to the first packet that causes it. If a filter left out that packet, it left out the
            // remark.
            if finding.repeated {
                self.repeat_remark(finding, p.server(), p.id);
            } else {
                self.add(Found::in_packet(p, finding))?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, mut entry: Entry) -> io::Result<()> {
        entry.explained = entry.kind.and_then(|kind| self.pending.explained(kind));
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
        totals.waiting_overflow += self.pending.misjudged(!totals.one_sided.is_empty());
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
            () if severity.is_none() || rule.active || !self.verdict.evidence.iter().any(is_concerned) => {
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

    /// The entry for a finding.
    fn entry(&self, found: Found) -> Entry {
        let Found { mut finding, time, protocol, client, server, level, message, .. } = found;
        let Found { file_offset, marked, exchange, kind, .. } = found;
        let (Place { file, frame }, cause_file) = self.place(found.frame, &mut finding);
        let exchange = exchange.map(|(number, _)| number);
        Entry {
            file,
            frame,
            time,
            cause_file,
            message,
            level,
            file_offset,
            exchange,
            marked,
            kind,
            ..Entry::new(finding, protocol, [client, server])
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
        Wants {
            ordered: true,
            repeat_remarks: true,
            silent_servers: true,
            diagnosis: true,
            ..Wants::default()
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let file = self.files.place(p.datagram.frame).file;
        if self.latest[0] != Some((file, p.id)) {
            self.latest[0] = Some((file, p.id));
            add_once(&mut self.evidence(file).protocols, p.id);
        }
        self.verdict.more_findings += u64::from(p.more_findings);
        self.pending.note(p);
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
        let at = (e.request_frame, e.request_time);
        findings.iter().try_for_each(|finding| self.add(Found::of_exchange(e, at, *finding)))
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.pending.floods(floods).into_iter().try_for_each(|found| self.add_now(found))
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        let found = self.pending.silent_servers(servers);
        for SilentServer { exchange: e, finding, .. } in servers {
            self.recount_early(e.server, e.protocol, Some(finding.rule));
        }
        self.early.retain(|(_, _, cause), _| cause.is_none());
        // No further file continues these files, so it repeats remarks about their servers.
        self.remark_index.clear();
        found.into_iter().try_for_each(|found| self.add_now(found))
    }

    fn file_read(&mut self, facts: &CaptureInfo, _: &Totals) {
        // Captures beyond the limit share an entry.
        let evidence = self.evidence(self.files.len().saturating_sub(1));
        evidence.dropped = evidence.dropped.saturating_add(facts.dropped().unwrap_or(0));
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        for found in self.pending.one_sided(servers) {
            let entry = self.entry(found);
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
    use crate::capture::Time;
    use crate::rule::{Severity, Side};

    fn server(n: u32) -> Endpoint {
        let [_, a, b, c] = n.to_be_bytes();
        Endpoint::v4([10, a, b, c], 7777)
    }

    /// A finding about an exchange of the n-th server.
    pub fn entry(n: u32) -> Entry {
        let rule = Id::Sqp.info().steps[0].rules.unanswered.expect("it has one");
        Entry::new(Finding::of_exchange(rule), Id::Sqp, [server(n); 2])
    }

    /// Adds this finding about an exchange of the n-th server.
    fn add<F: FnMut(&mut Entry, &str) -> io::Result<()>>(check: &mut Check<F>, n: u32, finding: Finding) {
        let exchange = Exchange::unanswered(1, Id::Sqp, [server(n); 2]);
        check.exchange(&exchange, &[finding]).expect("nothing is written");
    }

    /// The verdict on `count` findings of this rule, each about a different server.
    fn verdict(rule: &'static Rule, count: usize, totals: Totals) -> Verdict {
        let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
        for n in 0..count {
            add(&mut check, n as u32, Finding::of_exchange(rule));
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
            add(&mut check, 0, Finding { severity, fault: Side::Server, ..Finding::of_exchange(rule) });
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
