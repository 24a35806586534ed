//! Which rules were checked, broken or not.

use crate::decode::{Field, FieldSink, Listener, Notes, Shape, Span, Value, Violation};
use crate::rule::Rule;
use hashbrown::HashSet;

/// Places of the quick answer: every rule lands in one by its address.
const PLACES: usize = 1024;

/// A set of rules that answers quickly for those it has just seen.
#[derive(Debug)]
pub struct Marks {
    recent: Box<[usize; PLACES]>,
    all: HashSet<&'static str>,
}

impl Default for Marks {
    fn default() -> Self {
        Marks { recent: Box::new([0; PLACES]), all: HashSet::new() }
    }
}

impl Marks {
    /// Remembers a rule.
    #[inline(always)]
    pub fn mark(&mut self, rule: &'static Rule) {
        let address = std::ptr::from_ref(rule) as usize;
        let place = &mut self.recent[(address / size_of::<Rule>()) % PLACES];
        if *place != address {
            *place = address;
            self.all.insert(rule.id);
        }
    }

    /// Ids of the rules remembered.
    pub fn rules(&self) -> &HashSet<&'static str> {
        &self.all
    }
}

/// Listens to broken rules, and to which were checked.
#[derive(Debug, Default)]
pub struct Coverage {
    notes: Notes,
    /// The rules checked so far.
    pub marks: Marks,
    /// A value of the datagram is masked: its bytes must not be shown either.
    pub secret: bool,
}

impl FieldSink for Coverage {
    const COVERAGE: bool = true;
    #[inline(always)]
    fn checked(&mut self, rule: &'static Rule) {
        self.marks.mark(rule);
    }
    #[inline(always)]
    fn field(&mut self, _: &'static Field, _: Span, value: Value<'_>) {
        self.secret |= matches!(value, Value::Secret(_));
    }
    #[inline(always)]
    fn open(&mut self, _: &'static Field, _: u16, _: Shape) {}
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
        self.notes.begin();
    }
    fn notes(&self) -> &Notes {
        &self.notes
    }
}
