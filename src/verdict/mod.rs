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

mod collect;
mod coverage;
mod csv;
mod fingerprint;
mod github;
mod gitlab;
mod json;
mod junit;
mod kept;
mod markdown;
mod order;
pub(crate) mod path;
mod sarif;
#[cfg(feature = "page")]
mod table;
mod unanswered;
#[cfg(feature = "page")]
mod wrap;

pub use collect::Check;
pub use coverage::{Coverage, Evidence, Marks};
pub use csv::csv;
pub use fingerprint::{Fingerprint, Fingerprints};
pub use github::{github, step_summary};
pub use gitlab::gitlab;
pub use json::{FindingRecord, ResultRecord, json, ndjson};
pub use junit::{JunitStyle, junit};
pub use kept::ServerCounts;
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
use hashbrown::HashMap;

/// Most findings kept in full, the worst of them; further findings are only counted.
pub const MAX_FINDINGS: usize = 50_000;
/// Most bytes kept of the bytes that a finding marks.
pub const MAX_MARKED: usize = 32;
/// Most captures whose names and facts are kept; further captures share an entry after them, which is named so.
pub const MAX_FILES: usize = 4_096;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excuse {
    /// It stands in the baseline.
    Baseline,
    /// The user suppressed it, for this reason.
    Suppressed(String),
}

impl Entry {
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

/// Everything that `check` found out.
#[derive(Debug)]
pub struct Verdict {
    /// Captures in the order read: name as given, and facts.
    pub files: Vec<(String, CaptureInfo)>,
    /// The evidence of each capture; one where frames came from no file.
    pub seen: Vec<Evidence>,
    /// Findings in the order found; remarks made once for each server come last.
    pub findings: Vec<Entry>,
    /// Number of findings beyond [`MAX_FINDINGS`].
    pub more: u64,
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
        let Counts { error, warning, note } = self.counts;
        let at = |severity, n| severity >= limit && n > 0;
        at(Severity::Error, error) || at(Severity::Warning, warning) || at(Severity::Note, note)
    }

    /// Share of a protocol's rules that were checked, in percent; `None` where it was not seen.
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
        let mut all = HashMap::new();
        for e in self.listed() {
            if let Some(cause) = e.finding.caused_by {
                let file = e.cause_file.as_ref().map_or(e.file, |(file, _)| *file);
                let symptoms: &mut Vec<_> = all.entry((file, cause.frame, cause.rule.id)).or_default();
                symptoms.push(e);
            }
        }
        all
    }

    /// Name of the capture that an entry comes from.
    pub fn file(&self, entry: &Entry) -> &str {
        self.files.get(entry.file).map_or("-", |(name, _)| name)
    }
}
