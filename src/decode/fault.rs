//! Why decoding of a message stops.

use super::{Compared, Field, Span};
use crate::rule::Rule;

/// Why decoding stopped: `rule` is the reason, `at` the place. A fault becomes a finding, never a crash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// From the place where decoding stopped to the end of the scope.
    pub at: Span,
    /// The field that could not be read.
    pub field: Option<&'static Field>,
    /// How many bytes the field needs; 0 where the fault is another one.
    pub needs: u32,
    /// What is there, and what should be, where the rule compares.
    pub values: Compared,
}

/// A fault at a place, without values.
#[cold]
#[inline(never)]
pub(super) fn fault(rule: &'static Rule, at: Span, field: Option<&'static Field>) -> Fault {
    Fault { rule, at, field, needs: 0, values: Compared::NOTHING }
}
