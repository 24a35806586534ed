//! A compiled filter, with names resolved and values typed.

use super::builtins::Builtin;
use super::kinds::Words;
use super::value::{Constant, Cut};
use crate::protocols::Id;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Any(Vec<Plan>),
    All(Vec<Plan>),
    Not(Box<Plan>),
    /// The term is present.
    Exists(Term),
    /// The relation holds between the term and the right side.
    Compare(Quantifier, Term, Relation, Side),
    /// The term is a member of this set.
    In(Quantifier, Term, Vec<Member>),
}

/// Whether one occurrence of a field must pass a test, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    /// At least one.
    Any,
    /// All, of at least one.
    All,
}

/// The relation of a comparison, without its quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Contains,
    Matches,
}

/// The right side of a comparison.
#[derive(Clone, Debug)]
pub(super) enum Side {
    Constant(Constant),
    Term(Term),
}

/// A member of a set: a value, or a range that includes both ends.
#[derive(Clone, Debug)]
pub(super) enum Member {
    One(Side),
    Range(Constant, Constant),
}

/// A field and the steps applied to its values.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub source: Source,
    pub steps: Vec<Step>,
}

/// The source of values.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Builtin(&'static Builtin),
    /// The payload of a datagram of that protocol.
    Protocol(Id),
    /// The values picked for a slot of the wanted fields of a protocol.
    Picked(Id, u16),
}

/// A step applied to a value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Replaces the values by their number.
    Count,
    Slice(Vec<Cut>),
    Len,
    Upper,
    Lower,
    /// The value as text; a rank in an ordered list needs the words of the list.
    String(Option<Words>),
    Mask(i128),
}

impl Plan {
    /// The only part, or all parts combined by `several`.
    pub fn one_or(parts: Vec<Plan>, several: fn(Vec<Plan>) -> Plan) -> Plan {
        <[Plan; 1]>::try_from(parts).map_or_else(several, |[one]| one)
    }
}
