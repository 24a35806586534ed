//! Listeners: they receive fields and broken rules while a datagram is decoded.

use super::{Compared, Ends, Field, Index, Listener, Span, Value};
use crate::rule::{Rule, Severity};

/// The shape of nested fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Fields with names.
    Group,
    /// Elements with indices.
    List,
}

/// Listens while a datagram is decoded. Decoders are compiled once per sink, so a sink pays only for what it uses:
/// for [`Skip`], no name, span or rule condition is left in the machine code.
pub trait FieldSink {
    /// `false` removes every check of a rule, condition included.
    const RULES: bool = true;
    /// Whether it records which rules were checked, broken or not.
    const COVERAGE: bool = false;
    /// Whether it keeps the fields, so that those of an element that is not whole have to be withdrawn.
    const KEEPS_FIELDS: bool = false;
    /// How much it has kept so far, for [`withdraw`](Self::withdraw).
    #[inline(always)]
    fn kept(&self) -> Kept {
        Kept::default()
    }
    /// The fields reported since then are withdrawn, but not the broken rules. No group or list was left open since.
    #[inline(always)]
    fn withdraw(&mut self, _to: Kept) {}
    /// A rule is checked.
    #[inline(always)]
    fn checked(&mut self, _rule: &'static Rule) {}
    /// The rules of the end of a scope will be checked.
    #[inline(always)]
    fn scope(&mut self, _ends: &'static Ends) {}
    /// A field was read.
    #[inline(always)]
    fn field(&mut self, _field: &'static Field, _at: Span, _value: Value<'_>) {}
    /// A value that follows from the bytes at `at` but is not itself in the payload.
    #[inline(always)]
    fn derived(&mut self, _field: &'static Field, _at: Span, _value: Value<'_>) {}
    /// A separator of so many bytes follows the value of the last field, and belongs to that field.
    #[inline(always)]
    fn separator(&mut self, _bytes: u16) {}
    /// A group or list begins at offset `at`.
    #[inline(always)]
    fn open(&mut self, _field: &'static Field, _at: u16, _shape: Shape) {}
    /// The innermost group or list ends at offset `at`.
    #[inline(always)]
    fn close(&mut self, _at: u16) {}
    /// A rule is broken.
    #[inline(always)]
    fn violation(&mut self, _violation: Violation) {}
}

/// How much a listener had kept at some point: its own measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept(pub(super) [usize; 2], pub(super) bool);

/// A rule broken at a place. The check stage turns it into a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static Rule,
    /// The bytes of the payload it refers to.
    pub at: Span,
    /// The field it refers to, if any.
    pub field: Option<&'static Field>,
    /// Indices in the lists on the way to the field.
    pub index: Index,
    /// How many bytes the field needs, where too few are left; else 0.
    pub needs: u32,
    /// It is only a note here, whatever the severity of the rule.
    pub minor: bool,
    /// What is there, and what should be, where the rule compares.
    pub values: Compared,
}

/// The fast path: ignores everything.
#[derive(Debug, Default)]
pub struct Skip;
impl FieldSink for Skip {
    const RULES: bool = false;
}

/// A trial: reports nothing and remembers whether there was an error or bytes were left over.
#[derive(Debug, Default)]
pub struct Fit {
    /// Something did not fit.
    pub misfit: bool,
}

impl FieldSink for Fit {
    #[inline]
    fn violation(&mut self, v: Violation) {
        self.misfit |= v.rule.severity == Severity::Error || v.field.is_some_and(is_surplus);
    }
}

/// By convention the field that holds a scope's left-over bytes is called `…surplus`.
fn is_surplus(field: &'static Field) -> bool {
    field.key.ends_with("surplus")
}

/// Violations kept per datagram; further ones are only counted. The first violation of another rule replaces a
/// repeated one, so that no flood of notes hides an error.
pub const MAX_VIOLATIONS: usize = 32;

/// Collects only broken rules, at most `MAX_VIOLATIONS` per datagram, in memory allocated once.
#[derive(Debug)]
pub struct Notes {
    violations: Vec<Violation>,
    more: u32,
}

impl Default for Notes {
    fn default() -> Self {
        Notes { violations: Vec::with_capacity(MAX_VIOLATIONS), more: 0 }
    }
}

impl Notes {
    /// The violations, in the order of decoding, which mostly is byte order.
    #[inline]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
    /// Number of violations beyond `MAX_VIOLATIONS`.
    pub fn more(&self) -> u32 {
        self.more
    }

    /// Handles a violation for which there is no room: if its rule is new, it replaces the last violation whose rule
    /// is kept more than once.
    #[cold]
    #[inline(never)]
    fn replace_repeated(&mut self, v: Violation) {
        self.more = self.more.saturating_add(1);
        let has_rule = |rule: &'static Rule| move |kept: &Violation| std::ptr::eq(kept.rule, rule);
        if self.violations.iter().rev().any(has_rule(v.rule)) {
            return;
        }
        let mut before = self.violations.as_slice();
        while let Some((last, rest)) = before.split_last() {
            if rest.iter().any(has_rule(last.rule)) {
                self.violations.remove(rest.len());
                self.violations.push(v);
                return;
            }
            before = rest;
        }
    }
}

impl FieldSink for Notes {
    #[inline]
    fn violation(&mut self, v: Violation) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(v);
        } else {
            self.replace_repeated(v);
        }
    }
}

impl Listener for Notes {
    #[inline]
    fn begin(&mut self) {
        self.violations.clear();
        self.more = 0;
    }
    fn notes(&self) -> &Notes {
        self
    }
}
