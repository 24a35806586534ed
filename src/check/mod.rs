//! Turns a broken rule into a finding: its severity, its place, the side at fault, and its message.

mod agreement;
mod packet;
mod policy;
mod silence;

pub use agreement::{Agreements, Explained, Kind};
pub(crate) use packet::Message;
pub use packet::Packet;
pub use policy::{Policy, Profile, matches, within};
#[cfg(feature = "cli")]
pub use policy::{Unknown, rules_named};
pub use silence::Silence;

use crate::contract::{Abuse, Direction, Raised};
use crate::decode::{Compared, ComparedValue, Field, Index, Span, Violation, path};
use crate::rule::general::{GEN_012, GEN_014};
use crate::rule::{Rule, Severity, Side};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A rule that a datagram or an exchange broke.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Its severity here.
    pub severity: Severity,
    /// The field that it is about.
    pub field: Option<&'static Field>,
    /// Indices on the path to the field.
    pub index: Index,
    /// The bytes of the payload that it is about; `None` for an exchange.
    pub span: Option<Span>,
    /// Number of bytes that the field needs, where too few are left; else 0.
    pub needs: u32,
    /// What is there, and what should be, where the rule compares.
    pub values: Compared,
    /// It is a note, whatever severity the rule has elsewhere.
    pub minor: bool,
    /// It was reported before for the same server. Only a report that wants every finding gets it, and filters ignore
    /// it, so that the same packets pass in every report.
    pub repeated: bool,
    /// The rule about its server of which it may turn out to be a symptom at the end. Set only for reports that receive
    /// [silent servers](crate::report::Report::silent_servers).
    pub provisional: Option<&'static Rule>,
    /// Payload of request and answer in bytes, where the rule compares them.
    pub sizes: Option<[u32; 2]>,
    /// The requests that a server left without an answer, where the rule is about that.
    pub silence: Option<Silence>,
    /// The numbers of floods and of unused challenges, where the rule is about these.
    pub abuse: Option<Abuse>,
    /// The side at fault: never [`Side::Sender`] once it is reported.
    pub fault: Side,
    /// The cause of this finding, which is then a symptom and is not counted.
    pub caused_by: Option<Cause>,
}

/// The finding that caused another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cause {
    /// Its rule.
    pub rule: &'static Rule,
    /// Its frame.
    pub frame: u64,
}

impl Finding {
    /// A finding about an exchange as a whole.
    pub fn of_exchange(rule: &'static Rule) -> Finding {
        let (severity, index, fault) = (rule.severity, Index::default(), rule.side);
        Finding {
            rule,
            severity,
            field: None,
            index,
            span: None,
            needs: 0,
            values: Compared::NOTHING,
            minor: false,
            repeated: false,
            provisional: None,
            sizes: None,
            silence: None,
            abuse: None,
            fault,
            caused_by: None,
        }
    }

    /// A finding about a datagram of `len` bytes as a whole.
    pub fn of_datagram(rule: &'static Rule, len: usize) -> Finding {
        let span = Some(Span { start: 0, end: len as u16 });
        Finding { span, ..Finding::of_exchange(rule) }
    }

    /// The findings about the rules that a datagram of `len` bytes breaks in view of earlier ones.
    pub fn of_raised(raised: &Raised, len: usize) -> impl Iterator<Item = Finding> {
        raised.iter().map(move |(rule, at)| {
            let whole = Finding::of_datagram(rule, len);
            let abuse = raised.abuse.filter(|_| [&GEN_012, &GEN_014].contains(&rule));
            Finding { span: at.or(whole.span), abuse, values: raised.values(rule), ..whole }
        })
    }

    /// A finding about a place in a datagram.
    pub fn of_violation(v: &Violation) -> Finding {
        let Violation { rule, at, field, index, needs, minor, values } = *v;
        Finding { field, index, span: Some(at), needs, minor, values, ..Finding::of_exchange(rule) }
    }

    /// Replaces [`Side::Sender`] as the side at fault by the client or the server, given the direction of the
    /// datagram; for an exchange, the direction of its answer.
    pub fn resolve_sender(&mut self, direction: Direction) {
        self.fault = match (self.fault, direction) {
            (Side::Sender, Direction::C2s) => Side::Client,
            (Side::Sender, Direction::S2c) => Side::Server,
            (side, _) => side,
        };
    }

    /// Whether it is counted, because it is not a symptom of another finding.
    pub fn counts(&self) -> bool {
        self.caused_by.is_none()
    }

    /// Whether it becomes a note if only one direction of its server's traffic was captured, which is known at the end.
    pub fn depends_on_past(&self) -> bool {
        self.rule.needs_past && self.counts() && !self.rule.per_server && self.severity > Severity::Note
    }

    /// What is there, where the finding is about a value.
    pub fn found(&self) -> Option<ComparedValue> {
        match (self.span.filter(|_| self.needs > 0), self.sizes) {
            (Some(span), _) => Some(ComparedValue::Bytes(span.end.saturating_sub(span.start).into())),
            (None, Some([_, response])) => Some(ComparedValue::Bytes(response.into())),
            (None, None) => self.values.found.some(),
        }
    }

    /// What should be there, where the finding is about a value.
    pub fn expected(&self) -> Option<ComparedValue> {
        if self.needs > 0 {
            Some(ComparedValue::Bytes(self.needs.into()))
        } else {
            self.values.expected.some()
        }
    }

    /// Path of the field, with indices.
    pub fn path(&self) -> Option<String> {
        self.field.map(|f| path(f, self.index))
    }
}

/// The message in records: the title of the rule, and the numbers of the finding.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.title)?;
        if let (Some(span), Some(path)) = (self.span, self.path().filter(|_| self.needs > 0)) {
            let left = span.end - span.start;
            let bytes = if self.needs == 1 { "byte" } else { "bytes" };
            write!(f, ": {path} at byte {} needs {} {bytes}, {left} left", span.start, self.needs)?;
        }
        if self.needs == 0 && self.sizes.is_none() {
            write!(f, "{}", self.values)?;
        }
        if let Some([request, response]) = self.sizes {
            let ratio = f64::from(response) / f64::from(request.max(1));
            write!(f, ": {response} bytes for {request}, {ratio:.1} times")?;
        }
        if let Some(silence) = self.silence {
            write!(f, ": {silence}")?;
        }
        if let Some(abuse) = self.abuse {
            write!(f, ": {abuse}")?;
        }
        Ok(())
    }
}

/// Findings by severity: error, warning, note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "term.finding_counts", deny_unknown_fields)]
pub struct Counts {
    /// Errors.
    pub error: u64,
    /// Warnings.
    pub warning: u64,
    /// Notes.
    pub note: u64,
}

impl FromIterator<Severity> for Counts {
    fn from_iter<T: IntoIterator<Item = Severity>>(severities: T) -> Counts {
        let mut counts = Counts::default();
        severities.into_iter().for_each(|severity| counts.add(severity));
        counts
    }
}

impl Counts {
    /// Counts a finding, unless it is a symptom.
    pub fn add_finding(&mut self, finding: &Finding) {
        if finding.counts() {
            self.add(finding.severity);
        }
    }
    /// Counts one more.
    pub fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.error += 1,
            Severity::Warning => self.warning += 1,
            Severity::Note => self.note += 1,
        }
    }
    /// The number of findings of a severity.
    pub fn of(&self, severity: Severity) -> u64 {
        match severity {
            Severity::Error => self.error,
            Severity::Warning => self.warning,
            Severity::Note => self.note,
        }
    }
    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Counts) {
        self.error += other.error;
        self.warning += other.warning;
        self.note += other.note;
    }
    /// Subtracts findings that were counted before.
    pub fn take_back(&mut self, other: &Counts) {
        self.error = self.error.saturating_sub(other.error);
        self.warning = self.warning.saturating_sub(other.warning);
        self.note = self.note.saturating_sub(other.note);
    }
    /// Makes notes of findings that were counted before.
    pub fn demote(&mut self, findings: &Counts) {
        self.take_back(findings);
        self.note += findings.total();
    }
    /// The number of all findings.
    pub fn total(&self) -> u64 {
        self.error + self.warning + self.note
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_eight_raised_rules_once_each_and_no_ninth() {
        let mut raised = Raised::default();
        let rules: Vec<_> = crate::protocols::rules().take(9).collect();
        for rule in &rules {
            raised.add(rule);
            raised.add_at(rule, Span { start: 1, end: 2 });
        }
        assert!(raised.rules().eq(rules.iter().take(8).copied()));
        assert!(!raised.has(rules.last().expect("there are more")));
        assert!(
            Finding::of_raised(&raised, 7).all(|finding| finding.span == Some(Span { start: 0, end: 7 }))
        );
    }

    #[test]
    fn keeps_the_values_of_two_raised_rules() {
        let mut raised = Raised::default();
        let rules: Vec<_> = crate::protocols::rules().take(3).collect();
        rules.iter().for_each(|rule| raised.add_values(rule, None, Compared::new(1, 2)));
        let found: Vec<_> = Finding::of_raised(&raised, 7).map(|f| f.found().is_some()).collect();
        assert_eq!(found, [true, true, false]);
    }

    #[test]
    fn the_bytes_that_are_missing_are_counted() {
        static FIELD: Field = Field::new("port", crate::decode::FieldKind::Uint, "");
        let rule = crate::protocols::rules().next().expect("there are some");
        let (field, span) = (Some(&FIELD), Some(Span { start: 4, end: 5 }));
        let text = |needs| Finding { field, span, needs, ..Finding::of_exchange(rule) }.to_string();
        let start = format!("{}: port at byte 4 needs", rule.title);
        assert_eq!(text(1), format!("{start} 1 byte, 1 left"));
        assert_eq!(text(2), format!("{start} 2 bytes, 1 left"));
    }
}
