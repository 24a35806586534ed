//! Rules that take more than one datagram, on their way to become findings.

use super::Finding;
use crate::decode::Span;
use crate::protocols::Id;
use crate::rule::Rule;
use arrayvec::ArrayVec;

/// Most rules that one datagram breaks by what went before it; no protocol raises more.
const MAX_RAISED: usize = 8;

/// Rules that a datagram breaks by what went before it, each once, without the heap.
#[derive(Clone, Debug, Default)]
pub struct Raised(ArrayVec<(&'static Rule, Option<Span>), MAX_RAISED>);

impl Raised {
    /// Adds a rule that the datagram as a whole breaks.
    #[cold]
    pub fn add(&mut self, rule: &'static Rule) {
        self.put(rule, None);
    }
    /// Adds a rule that the bytes at `at` break.
    #[cold]
    pub fn add_at(&mut self, rule: &'static Rule, at: Span) {
        self.put(rule, Some(at));
    }
    #[inline(never)]
    fn put(&mut self, rule: &'static Rule, at: Option<Span>) {
        if !self.0.iter().any(|(known, _)| std::ptr::eq(*known, rule)) {
            let _ = self.0.try_push((rule, at)); // a ninth has no place, and there is none
        }
    }
    /// Forgets the protocols' own: the datagram was found to be something else to its exchange. What the capture or
    /// the path did to it stands.
    #[cold]
    pub fn reconsider(&mut self) {
        self.0.retain(|(rule, _)| Id::of_rule(rule).is_none());
    }
    /// Whether a rule is among them.
    pub fn has(&self, rule: &Rule) -> bool {
        self.0.iter().any(|(raised, _)| std::ptr::eq(*raised, rule))
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.0.iter().map(|(rule, _)| *rule)
    }
    /// The findings, for a datagram of `len` bytes.
    pub fn findings(&self, len: usize) -> impl Iterator<Item = Finding> {
        self.0.iter().map(move |&(rule, at)| {
            let whole = Finding::of_datagram(rule, len);
            Finding { span: at.or(whole.span), ..whole }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule;

    #[test]
    fn eight_rules_are_kept_each_once_and_a_ninth_has_no_place() {
        let mut raised = Raised::default();
        let rules: Vec<_> = rule::all().take(MAX_RAISED + 1).collect();
        for rule in &rules {
            raised.add(rule);
            raised.add_at(rule, Span { start: 1, end: 2 });
        }
        assert!(raised.rules().eq(rules.iter().take(MAX_RAISED).copied()));
        assert!(!raised.has(rules.last().expect("there are more")));
        assert!(raised.findings(7).all(|finding| finding.span == Some(Span { start: 0, end: 7 })));
    }
}
