//! The verdict of `check`: whether the servers and clients of a capture conform to their protocols.
//!
//! ```text
//! pipeline ──> Check (a report) ──> Verdict ──┬─> table, concise          for people
//!                                             ├─> json, ndjson            for programs
//!                                             └─> sarif, junit, …         for CI systems
//! ```
//!
//! [`Check`] collects findings. Every format is a function of the finished [`Verdict`], so that one pass over the
//! captures serves any number of formats. Each format escapes text from the network for its output.

mod annotations;
mod collect;
mod finding_store;
mod json;
mod junit;
mod markdown;
pub(crate) mod path;
pub(crate) mod pending;
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

use crate::capture::{CaptureInfo, Time};
use crate::check::{Counts, Explained, Finding, Kind};
use crate::net::Endpoint;
use crate::protocols::{Id, Level};
use crate::report::{Totals, count};
use crate::rule::{Rule, Severity};
use arrayvec::ArrayVec;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;
use std::sync::Arc;

/// Maximum number of findings kept in full, the worst ones; further findings are only counted.
pub const MAX_FINDINGS: usize = 50_000;
/// Maximum number of marked bytes kept of a finding.
pub const MAX_MARKED: usize = 32;
/// Maximum number of captures whose names and facts are kept. Further captures share an additional entry.
pub const MAX_FILES: usize = 4_096;

/// Maximum number of rules named in the line about findings that are not listed.
const NAMED_RULES: usize = 12;

/// A finding with its place in the capture and in the conversation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The broken rule, the details, and the side at fault. The span counts bytes of the UDP payload.
    pub finding: Finding,
    /// Index into [`Verdict::files`].
    pub file: usize,
    /// Number of the frame, counted from 1 in its file. For a finding about an exchange, the frame of the request.
    pub frame: u64,
    /// Time of that frame.
    pub time: Time,
    /// Index and name of the file of the cause's frame, if it is another file.
    pub cause_file: Option<(usize, Box<str>)>,
    /// Protocol.
    pub protocol: Id,
    /// Name of the message; `None` for a finding about an exchange.
    pub message: Option<&'static str>,
    /// The server that was asked.
    pub server: Endpoint,
    /// The endpoint that asks.
    pub client: Endpoint,
    /// Confidence of the recognition.
    pub level: Level,
    /// Offset of the first marked byte in the decompressed capture file.
    pub file_offset: Option<u64>,
    /// Number of the exchange.
    pub exchange: Option<u64>,
    /// The first [`MAX_MARKED`] of the marked bytes; none if they include a password.
    pub marked: ArrayVec<u8, MAX_MARKED>,
    /// For an exchange without an answer: the number of packets dropped by its capture, which may include the answer.
    /// Known once the capture has been read to its end; 0 before.
    pub dropped: u64,
    /// Number of occurrences; more than one only for remarks made once per server.
    pub count: u64,
    /// The fingerprint, which stays the same when the conversation is recorded again; `to_string` formats it.
    pub fingerprint: Fingerprint,
    /// The reason why the finding does not fail the check, if a baseline or a suppression excuses it.
    pub excused: Option<Excuse>,
    /// The messages whose diagnosis may explain it.
    pub kind: Option<Kind>,
    /// What explains them, which is known once everything has been read.
    pub explained: Option<Arc<Explained>>,
}

/// The result of a test of `ask --probe`.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Id of its row.
    pub id: &'static str,
    /// The rule that is broken where it fails; may be empty.
    pub rule: &'static str,
    /// What was sent.
    pub sends: &'static str,
    /// How bad it is, and what is wrong; `None` where it passed.
    pub failed: Option<(Severity, String)>,
}

/// Capture, frame and rule of a finding.
pub type Key = (usize, u64, &'static str);

/// The reason why a finding does not fail the check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Excuse {
    /// The baseline contains it.
    Baseline,
    /// The user suppressed it, for this reason.
    Suppressed(String),
}

impl Excuse {
    /// The text in reports; `escape` escapes the user's reason.
    fn text(&self, escape: impl Fn(&str) -> String) -> String {
        match self {
            Excuse::Baseline => "known: it is in the baseline".to_owned(),
            Excuse::Suppressed(reason) => format!("suppressed: {}", escape(reason)),
        }
    }
}

impl Entry {
    /// An entry for the first frame with high confidence and no further facts.
    fn new(finding: Finding, protocol: Id, [client, server]: [Endpoint; 2]) -> Entry {
        Entry {
            finding,
            file: 0,
            frame: 1,
            time: Time::UNKNOWN,
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
            kind: None,
            explained: None,
        }
    }

    /// Whether the finding counts: it is neither a symptom nor excused.
    pub fn counts(&self) -> bool {
        self.finding.counts() && self.excused.is_none()
    }

    /// The rule.
    pub fn rule(&self) -> &'static Rule {
        self.finding.rule
    }

    /// Rule and place of the cause of a symptom: `SQP-STR-002 in frame 3`.
    pub fn cause(&self) -> Option<String> {
        let cause = self.finding.caused_by?;
        let which_capture = match &self.cause_file {
            Some((file, _)) if *file > self.file => " of a later capture",
            Some(_) => " of an earlier capture",
            None => "",
        };
        Some(format!("{} in frame {}{which_capture}", cause.rule.id, cause.frame))
    }

    /// Capture, frame and rule, the key with which symptoms refer to their cause.
    pub fn key(&self) -> Key {
        (self.file, self.frame, self.rule().id)
    }

    /// The message of the finding, with numbers. Text from the network in it is short, in quotes, and
    /// has letters, digits and a few harmless characters; all others are escaped.
    pub fn text(&self) -> String {
        match self.dropped {
            0 => self.finding.to_string(),
            1 => format!("{} (the capture dropped 1 packet)", self.finding),
            n => format!("{} (the capture dropped {n} packets)", self.finding),
        }
    }

    /// A clause with what would make the message fit; empty if that is not known. All of it is qdissect's own words.
    fn help(&self) -> String {
        self.explained
            .as_ref()
            .map_or(String::new(), |explained| format!("; help: {}", explained.diagnosis.cause()))
    }

    /// The bytes and the field: `, payload bytes 19..24 (server_info.server_name)`.
    fn place(&self) -> String {
        let Some(span) = self.finding.span else { return ", exchange".to_owned() };
        let field = self.finding.path().map(|path| format!(" ({path})")).unwrap_or_default();
        format!(", payload bytes {}..{}{field}", span.start, span.end)
    }

    /// Protocol, server and client.
    fn parties(&self) -> String {
        format!("{} server {}, client {}", self.protocol.info().name, self.server, self.client)
    }

    /// A clause with the number of occurrences; empty if there is only one.
    fn times(&self) -> String {
        match self.count {
            ..2 => String::new(),
            n => format!("; reported once for this server; {n} in all"),
        }
    }
}

/// The result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rule was checked and never broken.
    Pass,
    /// The rule was broken.
    Fail,
    /// The rule was broken only by findings that the baseline or suppressions excuse.
    Known,
    /// Its protocol was not seen, or the rule is switched off.
    NotApplicable,
    /// Its protocol was seen, but no traffic to which the rule applies.
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
    /// Its severity under the user's policy; `None` if it is switched off.
    pub severity: Option<Severity>,
    /// Its result.
    pub outcome: Outcome,
    /// Number of violations, without symptoms and excused findings.
    pub count: u64,
}

/// Evidence from a capture about which rules were exercised.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Protocols of its datagrams.
    pub protocols: Vec<Id>,
    /// Protocols of its exchanges.
    exchanges: Vec<Id>,
    /// Number of packets that the capture dropped; 0 if it does not report drops.
    dropped: u64,
    /// Rules that were checked in datagrams.
    marks: HashSet<&'static str>,
}

/// All results of `check`.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Captures in the order read: name as given, and facts.
    pub files: Vec<(String, CaptureInfo)>,
    /// The evidence of each capture; one entry if frames came from no file.
    pub evidence: Vec<Evidence>,
    /// Findings in the order found; remarks made once per server come last.
    pub findings: Vec<Entry>,
    /// Number of findings that are not listed: those beyond [`MAX_FINDINGS`], which are included in all other counts,
    /// and those beyond the limit of a single datagram, which are not.
    pub more_findings: u64,
    /// Servers with findings that count, in the order found, at most [`MAX_FINDINGS`].
    pub servers: Vec<ServerCounts>,
    /// Every rule in the order of declaration.
    pub rules: Vec<RuleResult>,
    /// Findings that count, by severity.
    pub counts: Counts,
    /// Number of findings in the baseline.
    pub known: u64,
    /// Number of findings that the user suppressed.
    pub suppressed: u64,
    /// The lowest severity that is listed; nothing else depends on it.
    pub show: Severity,
    /// Whether people see excused findings with all details, not in a line each.
    pub show_known: bool,
    /// Protocols seen, in registry order.
    pub protocols: Vec<Id>,
    /// The totals of the run.
    pub totals: Totals,
    /// The tests of `ask --probe`, if it has sent any.
    pub probed: Vec<Probed>,
}

impl Verdict {
    /// Whether any finding that counts is at least as severe as `limit`.
    pub fn fails(&self, limit: Severity) -> bool {
        let failed = |row: &Probed| row.failed.as_ref().is_some_and(|(severity, _)| *severity >= limit);
        self.probed.iter().any(failed)
            || Severity::ALL.iter().any(|&severity| severity >= limit && self.counts.of(severity) > 0)
    }

    /// Adds the tests of `ask --probe`, which alone find some rules broken.
    pub fn add_probed(&mut self, probed: Vec<Probed>) {
        let count = |rule: &Rule| {
            probed.iter().filter(|row| row.rule == rule.id && row.failed.is_some()).count() as u64
        };
        for result in self.rules.iter_mut().filter(|result| result.rule.active && !probed.is_empty()) {
            result.count = count(result.rule);
            result.outcome = if result.count > 0 { Outcome::Fail } else { Outcome::Pass };
        }
        self.probed = probed;
    }

    /// Percentage of a protocol's rules that were checked; `None` if the protocol was not seen. It is rounded down for
    /// display, so that a check can require the displayed value.
    pub fn coverage(&self, id: Id) -> Option<f64> {
        if !self.protocols.contains(&id) {
            return None;
        }
        let count_of = |outcome| self.results(id, outcome);
        let checked = count_of(Outcome::Pass) + count_of(Outcome::Fail) + count_of(Outcome::Known);
        let total = checked + count_of(Outcome::NotExercised);
        Some(checked as f64 * 100.0 / total.max(1) as f64)
    }

    /// Number of a protocol's rules with this result.
    pub fn results(&self, id: Id, outcome: Outcome) -> usize {
        let own_rules = self.rules.iter().filter(|r| id.rules().any(|rule| rule == r.rule));
        own_rules.filter(|r| r.outcome == outcome).count()
    }

    /// The listed symptoms, by cause.
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

    /// Name of the capture of an entry.
    pub fn file(&self, entry: &Entry) -> &str {
        self.files.get(entry.file).map_or("-", |(name, _)| name)
    }

    /// The listed findings, that is, those at or above [`Verdict::show`], in the order found.
    pub fn listed(&self) -> impl Iterator<Item = &Entry> {
        self.findings.iter().filter(|e| e.finding.severity >= self.show)
    }

    /// The listed findings, the worst first; excused findings after all others.
    pub fn worst_first(&self) -> Vec<&Entry> {
        let mut all: Vec<_> = self.listed().collect();
        all.sort_by_key(|e| (e.excused.is_some(), Reverse(e.finding.severity))); // stable: keeps the order found
        all
    }

    /// The same findings without symptoms, in blocks: the first finding of a rule at a server, followed by those that
    /// repeat it.
    #[cfg(feature = "page")]
    fn blocks(&self) -> Vec<Vec<&Entry>> {
        let mut block_index = HashMap::new();
        let mut blocks: Vec<Vec<&Entry>> = vec![];
        for e in self.worst_first().into_iter().filter(|e| e.finding.counts()) {
            let key = (e.rule().id, e.finding.severity, e.server, e.protocol, e.excused.as_ref());
            let block = *block_index.entry(key).or_insert_with(|| {
                blocks.push(vec![]);
                blocks.len() - 1
            });
            blocks[block].push(e);
        }
        blocks
    }

    /// The servers of listed findings that count, the worst first, with the counts of all their findings.
    fn worst_servers(&self) -> Vec<&ServerCounts> {
        let severities = Severity::ALL.iter().filter(|severity| **severity >= self.show);
        let listed = |s: &&ServerCounts| severities.clone().any(|severity| s.counts.of(*severity) > 0);
        let mut all: Vec<_> = self.servers.iter().filter(listed).collect();
        all.sort_by_key(|s| Reverse((s.counts.error, s.counts.warning, s.counts.note))); // stable: keeps the order found
        all
    }

    /// A line about the findings that count but are below the listed severity, by rule; `None` if there are none. It
    /// names as many rules as fit into a width, or the most important ones.
    fn below_threshold(&self, width: Option<usize>) -> Option<String> {
        let mut rules: HashMap<&str, u64> = HashMap::new();
        for e in self.findings.iter().filter(|e| e.counts() && e.finding.severity < self.show) {
            *rules.entry(e.rule().id).or_default() += 1;
        }
        let mut rules: Vec<_> = rules.into_iter().collect();
        let total: u64 = rules.iter().map(|(_, n)| n).sum();
        rules.sort_by_key(|&(id, n)| (Reverse(n), id));
        let verb = if total == 1 { "is" } else { "are" };
        let (total_text, show) = (count(total, "finding"), self.show.name());
        let shown = rules.len().min(NAMED_RULES);
        let line = |shown: usize| {
            let mut named: Vec<_> = rules.iter().take(shown).map(|(id, n)| format!("{id} {n}")).collect();
            if let further @ 1.. = rules.len().saturating_sub(shown) {
                named.push(format!("and of {}", count(further as u64, "further rule")));
            }
            let named = named.join(", ");
            format!("{total_text} below {show} {verb} not listed (--show note lists all): {named}")
        };
        let fits = |line: &String| width.is_none_or(|width| line.len() <= width);
        (total > 0).then(|| (1..=shown).rev().map(line).find(fits).unwrap_or_else(|| line(1)))
    }

    /// A line about the number of findings that are not listed; `None` if there are none.
    pub fn unlisted(&self) -> Option<String> {
        let verb = if self.more_findings == 1 { "is" } else { "are" };
        (self.more_findings > 0)
            .then(|| format!("{} {verb} not listed", count(self.more_findings, "further finding")))
    }

    /// The counts of the check: `1 error, 0 warnings, 2 notes; 29 known (baseline)`.
    fn counts_text(&self, count: fn(u64, &str) -> String) -> String {
        let counts = Severity::ALL.iter().map(|s| count(self.counts.of(*s), s.name()));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let excused = [(self.known, "known (baseline)"), (self.suppressed, "suppressed")];
        let excused = excused.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        let excused = excused.collect::<Vec<_>>().join(", ");
        if excused.is_empty() { counts } else { format!("{counts}; {excused}") }
    }
}
