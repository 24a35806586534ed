//! Records which rules were checked, whether broken or not.

use super::{Ends, Field, FieldSink, Listener, Notes, Span, Value, Violation};
use crate::rule::Rule;
use hashbrown::HashSet;
use std::cell::Cell;

/// Slots of the table of recent addresses: the address of a rule, or of the ends of a scope, gives its slot. Each slot
/// holds two addresses, because the linker may place any two of them at the same slot.
const SLOTS: usize = 1024;
/// These addresses differ by at least two to this power. A shift is faster than a division by a size.
const ADDRESS_SHIFT: u32 = size_of::<Ends>().ilog2();

/// A set of rules that is fast for rules marked recently, and for ends of scopes, each of which stands for several
/// rules.
#[derive(Debug)]
pub struct Marks {
    /// Addresses of rules and ends that were marked before.
    recent: Box<[[usize; 2]; SLOTS]>,
    all: HashSet<&'static str>,
    /// The rules that the latest datagram was the first to mark.
    latest: Vec<&'static Rule>,
}

impl Default for Marks {
    fn default() -> Self {
        Marks { recent: Box::new([[0; 2]; SLOTS]), all: HashSet::new(), latest: vec![] }
    }
}

impl Marks {
    /// Remembers a rule.
    #[inline(always)]
    pub fn mark(&mut self, rule: &'static Rule) {
        if self.is_new(rule.address()) {
            self.add(rule);
        }
    }

    /// Remembers the rules of the end of a scope.
    #[inline(always)]
    fn mark_ends(&mut self, ends: &'static Ends) {
        if self.is_new(std::ptr::from_ref(ends) as usize) {
            [ends.early, ends.early_inside, ends.late].into_iter().for_each(|rule| self.add(rule));
        }
    }

    /// Whether this address is not among the last two that were marked at its slot.
    #[inline(always)]
    fn is_new(&mut self, address: usize) -> bool {
        let Some([latest, before]) = self.recent.get_mut((address >> ADDRESS_SHIFT) % SLOTS) else {
            return true;
        };
        if *latest == address || *before == address {
            return false;
        }
        *before = std::mem::replace(latest, address);
        true
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, rule: &'static Rule) {
        if self.all.insert(rule.id) {
            self.latest.push(rule);
        }
    }

    /// A new datagram begins. With `forget`, the rules that only the latest one has marked do not count.
    #[inline]
    fn begin(&mut self, forget: bool) {
        if self.latest.is_empty() {
            return;
        }
        if forget {
            for rule in &self.latest {
                self.all.remove(rule.id);
            }
            self.recent.fill([0; 2]);
        }
        self.latest.clear();
    }

    /// Ids of the rules remembered; the set is empty afterwards.
    pub fn take(&mut self) -> HashSet<&'static str> {
        self.recent.fill([0; 2]);
        std::mem::take(&mut self.all)
    }
}

/// Listens for rules that are checked or broken.
#[derive(Debug, Default)]
pub struct Coverage {
    notes: Notes,
    /// The rules checked so far.
    pub marks: Marks,
    /// Whether a value of the datagram is masked; its bytes must not be shown either.
    pub secret: bool,
    /// Whether a filter has left out the datagram. A cell, because the report that applies the filter has only a shared
    /// reference.
    hidden: Cell<bool>,
}

impl Coverage {
    /// A filter has left out the datagram that was decoded last: it checks no rule.
    pub(crate) fn hide(&self) {
        self.hidden.set(true);
    }

    /// Ids of the rules that datagrams have checked; the set is empty afterwards.
    pub(crate) fn take(&mut self) -> HashSet<&'static str> {
        self.marks.begin(self.hidden.take());
        self.marks.take()
    }
}

impl FieldSink for Coverage {
    const COVERAGE: bool = true;
    #[inline(always)]
    fn checked(&mut self, rule: &'static Rule) {
        self.marks.mark(rule);
    }
    #[inline(always)]
    fn scope(&mut self, ends: &'static Ends) {
        self.marks.mark_ends(ends);
    }
    #[inline(always)]
    fn field(&mut self, _: &'static Field, _: Span, value: Value<'_>) {
        self.secret |= matches!(value, Value::Secret(_));
    }
    #[inline]
    fn violation(&mut self, v: Violation) {
        self.marks.mark(v.rule);
        self.notes.violation(v);
    }
}

impl Listener for Coverage {
    #[inline]
    fn begin(&mut self) {
        self.secret = false;
        self.marks.begin(self.hidden.take());
        self.notes.begin();
    }
    fn notes(&self) -> &Notes {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::general::{GEN_001, GEN_002};

    #[test]
    fn a_datagram_that_is_left_out_checks_no_rule() {
        let mut coverage = Coverage::default();
        coverage.begin();
        coverage.checked(&GEN_001);
        coverage.begin();
        coverage.checked(&GEN_001);
        coverage.checked(&GEN_002);
        coverage.hide();
        assert_eq!(coverage.take(), HashSet::from_iter([GEN_001.id]));
    }
}
