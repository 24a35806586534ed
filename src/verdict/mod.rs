//! The verdict of `check`: did the servers and clients of a capture keep their protocols?
//!
//! ```text
//! pipeline ──> Check (a report) ──> Verdict ──┬─> table, concise          for people
//!                                             ├─> json, ndjson            for programs
//!                                             └─> sarif, junit, …         for CI systems
//! ```
//!
//! [`Check`] gathers findings; every format is a function of the finished [`Verdict`], so that one pass over the captures
//! serves any number of formats. Each format escapes text from the network for its own output.

mod annotations;
mod collect;
mod finding_store;
mod json;
mod junit;
mod markdown;
pub(crate) mod path;
mod sarif;
#[cfg(feature = "page")]
mod table;

pub use annotations::{github, gitlab, step_summary};
pub use collect::Check;
pub use finding_store::{Fingerprint, Fingerprints, ServerCounts};
pub use json::{FindingRecord, ResultRecord, csv, json, ndjson};
pub use junit::{JunitStyle, junit};
pub use markdown::markdown;
pub use sarif::{SarifStyle, sarif};
#[cfg(feature = "page")]
pub use table::{concise, table};

use crate::capture::CaptureInfo;
use crate::check::{Counts, Finding};
use crate::net::Endpoint;
use crate::protocols::{Id, Level};
use crate::report::{Totals, count};
use crate::rule::{Rule, Severity};
use arrayvec::ArrayVec;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;

/// Most findings kept in full, the worst of them; further findings are only counted.
pub const MAX_FINDINGS: usize = 50_000;
/// Most bytes kept of the bytes that a finding marks.
pub const MAX_MARKED: usize = 32;
/// Most captures whose names and facts are kept; further captures share an entry after them, which is named so.
pub const MAX_FILES: usize = 4_096;

/// Most rules named in the line about findings that are not listed.
const NAMED: usize = 12;

/// A finding with its place in the capture and in the conversation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What is broken, how, and by which side. Its span counts bytes of the UDP payload.
    pub finding: Finding,
    /// Index into [`Verdict::files`].
    pub file: usize,
    /// Number of the frame, counted from 1 in its file; for a finding about an exchange, the frame of the request.
    pub frame: u64,
    /// The file of the cause's frame, where it is another file: index and name.
    pub cause_file: Option<(usize, Box<str>)>,
    /// Protocol.
    pub protocol: Id,
    /// Name of the message; `None` for a finding about an exchange.
    pub message: Option<&'static str>,
    /// The endpoint that answers.
    pub server: Endpoint,
    /// The endpoint that asks.
    pub client: Endpoint,
    /// How sure the recognition is.
    pub level: Level,
    /// Offset in the capture file of the first marked byte, after decompression.
    pub file_offset: Option<u64>,
    /// Number of the exchange.
    pub exchange: Option<u64>,
    /// The marked bytes, the first [`MAX_MARKED`] of them; none where a password is among them.
    pub marked: ArrayVec<u8, MAX_MARKED>,
    /// For an exchange without an answer: number of packets that its capture lost, so that the answer may be among them.
    /// Known once the capture has been read to its end; else 0.
    pub dropped: u64,
    /// How often it was found: more than once only for remarks made once for each server.
    pub count: u64,
    /// Stays the same when the conversation is recorded again; `to_string` makes its text.
    pub fingerprint: Fingerprint,
    /// Why it does not fail the check, where a baseline or a suppression of the user excuses it.
    pub excused: Option<Excuse>,
}

/// Capture, frame and rule of a finding.
pub type Key = (usize, u64, &'static str);

/// Why a finding does not fail the check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Excuse {
    /// It stands in the baseline.
    Baseline,
    /// The user suppressed it, for this reason.
    Suppressed(String),
}

impl Excuse {
    /// What reports say of it; `escape` makes the user's reason harmless there.
    fn text(&self, escape: impl Fn(&str) -> String) -> String {
        match self {
            Excuse::Baseline => "known: it stands in the baseline".to_owned(),
            Excuse::Suppressed(reason) => format!("suppressed: {}", escape(reason)),
        }
    }
}

impl Entry {
    /// An entry of the first frame, recognised for certain, with nothing else that is known of it.
    fn new(finding: Finding, protocol: Id, [client, server]: [Endpoint; 2]) -> Entry {
        Entry {
            finding,
            file: 0,
            frame: 1,
            cause_file: None,
            protocol,
            message: None,
            server,
            client,
            level: Level::High,
            file_offset: None,
            exchange: None,
            marked: ArrayVec::new(),
            dropped: 0,
            count: 1,
            fingerprint: Fingerprint::default(),
            excused: None,
        }
    }

    /// Whether it counts: it is no symptom, and not excused.
    pub fn counts(&self) -> bool {
        self.finding.counts() && self.excused.is_none()
    }

    /// The rule.
    pub fn rule(&self) -> &'static Rule {
        self.finding.rule
    }

    /// The rule and the place of its cause, if it is a symptom: `SQP-STR-002 in frame 3`.
    pub fn cause(&self) -> Option<String> {
        let cause = self.finding.caused_by?;
        let other = match &self.cause_file {
            Some((file, _)) if *file > self.file => " of a later capture",
            Some(_) => " of an earlier capture",
            None => "",
        };
        Some(format!("{} in frame {}{other}", cause.rule.id, cause.frame))
    }

    /// Capture, frame and rule, by which symptoms name their cause.
    pub fn key(&self) -> Key {
        (self.file, self.frame, self.rule().id)
    }

    /// The message of the finding: what is wrong, and with which numbers. The text is qdissect's own, without anything from
    /// the network.
    pub fn text(&self) -> String {
        match self.dropped {
            0 => self.finding.to_string(),
            n => format!("{} (the capture dropped {})", self.finding, count(n, "packet")),
        }
    }

    /// Its bytes and its field: `, payload bytes 19..24 (server_info.server_name)`.
    fn place(&self) -> String {
        let Some(span) = self.finding.span else { return ", exchange".to_owned() };
        let field = self.finding.path().map(|path| format!(" ({path})")).unwrap_or_default();
        format!(", payload bytes {}..{}{field}", span.start, span.end)
    }

    /// Protocol, server and client.
    fn parties(&self) -> String {
        format!("{} server {}, client {}", self.protocol.info().name, self.server, self.client)
    }

    /// Says how often it was found, if more than once.
    fn times(&self) -> String {
        match self.count {
            ..2 => String::new(),
            n => format!("; said once for this server, {n} times in all"),
        }
    }
}

/// The result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was checked, and never broken.
    Pass,
    /// It was broken.
    Fail,
    /// It was broken, but only by findings that baseline and suppressions excuse.
    Known,
    /// Its protocol was not seen, or the rule is switched off.
    NotApplicable,
    /// Its protocol was seen, but nothing that the rule is about.
    NotExercised,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: &[Outcome] =
        &[Outcome::Pass, Outcome::Fail, Outcome::Known, Outcome::NotApplicable, Outcome::NotExercised];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Known => "known",
            Outcome::NotApplicable => "not_applicable",
            Outcome::NotExercised => "not_exercised",
        }
    }
}

/// A rule and its result.
#[derive(Clone, Copy, Debug)]
pub struct RuleResult {
    /// The rule.
    pub rule: &'static Rule,
    /// Its severity under the user's policy; `None` where it is switched off.
    pub severity: Option<Severity>,
    /// Its result.
    pub outcome: Outcome,
    /// How often it was broken, without symptoms and excused findings.
    pub count: u64,
}

/// The evidence that a capture gives about rules.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Protocols of its datagrams.
    pub protocols: Vec<Id>,
    /// Protocols of its exchanges.
    exchanges: Vec<Id>,
    /// Packets that were lost on the way into it; 0 where it does not say.
    dropped: u64,
    /// Rules of datagrams that were checked.
    marks: HashSet<&'static str>,
}

/// Everything that `check` found out.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Captures in the order read: name as given, and facts.
    pub files: Vec<(String, CaptureInfo)>,
    /// The evidence of each capture; one where frames came from no file.
    pub evidence: Vec<Evidence>,
    /// Findings in the order found; remarks made once for each server come last.
    pub findings: Vec<Entry>,
    /// Number of findings that are not listed: those beyond [`MAX_FINDINGS`], which are counted otherwise, and those beyond
    /// what is kept of one datagram, which are not.
    pub more_findings: u64,
    /// Servers with findings that count, in the order found; no more of them than [`MAX_FINDINGS`].
    pub servers: Vec<ServerCounts>,
    /// Every rule in the order of declaration.
    pub rules: Vec<RuleResult>,
    /// Findings that count, by severity.
    pub counts: Counts,
    /// Findings that stand in the baseline.
    pub known: u64,
    /// Findings that the user suppressed.
    pub suppressed: u64,
    /// The least severity that is listed; nothing else depends on it.
    pub show: Severity,
    /// Protocols seen, in registry order.
    pub protocols: Vec<Id>,
    /// The totals of the run.
    pub totals: Totals,
}

impl Verdict {
    /// Whether a finding that counts is at least as bad as `limit`.
    pub fn fails(&self, limit: Severity) -> bool {
        Severity::ALL.iter().any(|&severity| severity >= limit && self.counts.of(severity) > 0)
    }

    /// Share of a protocol's rules that were checked, in percent; `None` where it was not seen. It is rounded down where it is
    /// shown, so that a check may require what it shows.
    pub fn coverage(&self, id: Id) -> Option<f64> {
        if !self.protocols.contains(&id) {
            return None;
        }
        let of = |outcome| self.results(id, outcome);
        let checked = of(Outcome::Pass) + of(Outcome::Fail) + of(Outcome::Known);
        let all = checked + of(Outcome::NotExercised);
        Some(checked as f64 * 100.0 / all.max(1) as f64)
    }

    /// How many of a protocol's rules have this result.
    pub fn results(&self, id: Id, outcome: Outcome) -> usize {
        let own = self.rules.iter().filter(|r| id.rules().any(|own| own == r.rule));
        own.filter(|r| r.outcome == outcome).count()
    }

    /// The symptoms that are listed, by their cause.
    pub fn symptoms(&self) -> HashMap<Key, Vec<&Entry>> {
        let mut all = HashMap::<_, Vec<_>>::new();
        for e in self.listed() {
            if let Some(cause) = e.finding.caused_by {
                let file = e.cause_file.as_ref().map_or(e.file, |(file, _)| *file);
                all.entry((file, cause.frame, cause.rule.id)).or_default().push(e);
            }
        }
        all
    }

    /// Name of the capture that an entry comes from.
    pub fn file(&self, entry: &Entry) -> &str {
        self.files.get(entry.file).map_or("-", |(name, _)| name)
    }

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
    fn blocks(&self) -> Vec<Vec<&Entry>> {
        let mut at = HashMap::new();
        let mut blocks: Vec<Vec<&Entry>> = vec![];
        for e in self.worst_first().into_iter().filter(|e| e.finding.counts()) {
            let key = (e.rule().id, e.finding.severity, e.server, e.protocol, e.excused.as_ref());
            let block = *at.entry(key).or_insert_with(|| {
                blocks.push(vec![]);
                blocks.len() - 1
            });
            blocks[block].push(e);
        }
        blocks
    }

    /// The servers of the findings that are listed and count, the worst first, with the counts of all their findings.
    fn worst_servers(&self) -> Vec<&ServerCounts> {
        let severities = Severity::ALL.iter().filter(|severity| **severity >= self.show);
        let listed = |s: &&ServerCounts| severities.clone().any(|severity| s.counts.of(*severity) > 0);
        let mut all: Vec<_> = self.servers.iter().filter(listed).collect();
        all.sort_by_key(|s| Reverse((s.counts.error, s.counts.warning, s.counts.note))); // stable: as found
        all
    }

    /// How many findings that count are less severe than what is listed, by rule; `None` where there are none.
    fn below_threshold(&self) -> Option<String> {
        let mut rules: HashMap<&str, u64> = HashMap::new();
        for e in self.findings.iter().filter(|e| e.counts() && e.finding.severity < self.show) {
            *rules.entry(e.rule().id).or_default() += 1;
        }
        let mut rules: Vec<_> = rules.into_iter().collect();
        let all: u64 = rules.iter().map(|(_, n)| n).sum();
        rules.sort_by_key(|&(id, n)| (Reverse(n), id));
        let are = if all == 1 { "is" } else { "are" };
        let (all_text, show) = (count(all, "finding"), self.show.name());
        let mut named: Vec<_> = rules.iter().take(NAMED).map(|(id, n)| format!("{id} {n}")).collect();
        if let more @ 1.. = rules.len().saturating_sub(NAMED) {
            named.push(format!("and of {}", count(more as u64, "further rule")));
        }
        let named = named.join(", ");
        (all > 0)
            .then(|| format!("{all_text} below {show} {are} not listed (--show note lists all): {named}"))
    }

    /// How many findings have no place in the list.
    pub fn unlisted(&self) -> Option<String> {
        let are = if self.more_findings == 1 { "is" } else { "are" };
        (self.more_findings > 0)
            .then(|| format!("{} {are} not listed", count(self.more_findings, "further finding")))
    }

    /// The counts of the check: `1 error, 0 warnings, 2 notes; 29 known (baseline)`.
    fn counts_text(&self) -> String {
        let counts = Severity::ALL.iter().map(|s| count(self.counts.of(*s), s.name()));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let excused = [(self.known, "known (baseline)"), (self.suppressed, "suppressed")];
        let excused = excused.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let excused = excused.collect::<Vec<_>>().join(", ");
        if excused.is_empty() { counts } else { format!("{counts}; {excused}") }
    }
}
