//! From a broken rule to a finding: how bad, where, and what to say about it.

use crate::decode::{Field, Index, Span, Violation, path};
use crate::rule::{Cite, Example, Rule, Severity, Step::*, rules};
use arrayvec::ArrayVec;
use std::fmt;

rules! {
    /// The capture holds only the first bytes of the datagram (its snap length is too small). What is
    /// there is decoded; what is missing is nobody's fault. Capture with `-s 0` to see everything.
    GEN_001 = "GEN-001" Note "datagram is cut short by the capture" {
        cite: Cite { doc: "pcapng", section: "Enhanced Packet Block, Captured Packet Length", url: "https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/" },
        examples: [Example::on(7777, &[
            C("00 00000000"),
            S("00 80902348"),
            C("01 80902348 0001 01"),
            // Raw IPv4: 57 bytes, of which 50 were captured.
            Frame(101, 57, "4500003900000000 40110000 c000020a c6336407 1e619c4100250000 \
                            01 80902348 0001 00 00 0012 0000000e 0001 0008 0141 01"),
        ])],
    }
}

/// A rule that a datagram or an exchange broke.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// The field it speaks of.
    pub field: Option<&'static Field>,
    /// Indices on the way to the field.
    pub index: Index,
    /// The bytes of the payload it speaks of; `None` for an exchange.
    pub span: Option<Span>,
    /// How many bytes the field needs, where too few are left; else 0.
    pub needs: u32,
}

impl Finding {
    /// A finding about an exchange as a whole.
    pub fn of_exchange(rule: &'static Rule) -> Finding {
        Finding { rule, severity: rule.severity, field: None, index: Index::default(), span: None, needs: 0 }
    }

    /// A finding about a datagram of `len` bytes as a whole.
    pub fn of_datagram(rule: &'static Rule, len: usize) -> Finding {
        let span = Some(Span { start: 0, end: len as u16 });
        Finding { span, ..Finding::of_exchange(rule) }
    }

    /// A finding about a place in a datagram.
    pub fn of_violation(v: &Violation) -> Finding {
        let Violation { rule, at, field, index, needs } = *v;
        Finding { rule, severity: rule.severity, field, index, span: Some(at), needs }
    }

    /// Path of the field, with indices.
    pub fn path(&self) -> Option<String> {
        self.field.map(|f| path(f, self.index))
    }
}

/// The message of the record: what is wrong, and with which numbers.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule.title)?;
        if let (Some(span), Some(path)) = (self.span, self.path().filter(|_| self.needs > 0)) {
            let left = span.end - span.start;
            let bytes = if self.needs == 1 { "byte" } else { "bytes" };
            write!(f, ": {path} at byte {} needs {} {bytes}, {left} left", span.start, self.needs)?;
        }
        Ok(())
    }
}

/// Most rules that one datagram breaks by what went before it; no protocol raises more.
const MAX_RAISED: usize = 4;

/// Rules that a datagram breaks by what went before it, each once, without the heap.
#[derive(Clone, Debug, Default)]
pub struct Raised(ArrayVec<(&'static Rule, Option<Span>), MAX_RAISED>);

impl Raised {
    /// Adds a rule that the datagram as a whole breaks.
    pub fn add(&mut self, rule: &'static Rule) {
        self.put(rule, None);
    }
    /// Adds a rule that the bytes at `at` break.
    pub fn add_at(&mut self, rule: &'static Rule, at: Span) {
        self.put(rule, Some(at));
    }
    fn put(&mut self, rule: &'static Rule, at: Option<Span>) {
        if !self.0.iter().any(|(known, _)| std::ptr::eq(*known, rule)) {
            let _ = self.0.try_push((rule, at)); // a fifth has no place, and there is none
        }
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The findings, for a datagram of `len` bytes.
    pub fn findings(&self, len: usize) -> impl Iterator<Item = Finding> {
        self.0.iter().map(move |&(rule, at)| {
            let whole = Finding::of_datagram(rule, len);
            Finding { span: at.or(whole.span), ..whole }
        })
    }
}

/// Findings by severity: error, warning, note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub error: u64,
    /// Warnings.
    pub warning: u64,
    /// Notes.
    pub note: u64,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.error += 1,
            Severity::Warning => self.warning += 1,
            Severity::Note => self.note += 1,
        }
    }
    /// The `finding_counts` of a record.
    pub fn record(&self) -> serde_json::Value {
        serde_json::json!({ "error": self.error, "warning": self.warning, "note": self.note })
    }
    /// All of them.
    pub fn total(&self) -> u64 {
        self.error + self.warning + self.note
    }
}
