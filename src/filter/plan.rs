//! What a filter does for each packet: names looked up, values typed.

use super::kinds::Words;
use super::names::Builtin;
use super::syntax::{Cut, Quantifier};
use super::value::Constant;
use crate::protocols::Id;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Any(Vec<Plan>),
    All(Vec<Plan>),
    Not(Box<Plan>),
    /// It is there.
    Exists(Term),
    /// It compares.
    Compare(Quantifier, Term, Relation, Side),
    /// It is one of these.
    In(Quantifier, Term, Vec<Member>),
}

/// How two values are compared; whether for any or all is said beside it.
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

/// A member of a set: a value, or a range with both ends in it.
#[derive(Clone, Debug)]
pub(super) enum Member {
    One(Side),
    Range(Constant, Constant),
}

/// A field and what is made of its values.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub source: Source,
    pub steps: Vec<Step>,
}

/// Where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Builtin(Builtin),
    /// The payload of a datagram of that protocol.
    Protocol(Id),
    /// What was picked for that entry of the wanted fields, of that protocol or any.
    Picked(Id, u16),
}

/// What is made of a value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// How many there are; the values themselves are gone.
    Count,
    Slice(Vec<Cut>),
    Len,
    Upper,
    Lower,
    /// As text; what has an order has the words of it.
    String(Option<Words>),
    Mask(i128),
}

impl Plan {
    /// Tells everything that values are taken from.
    pub fn sources(&self, tell: &mut impl FnMut(Source)) {
        let side = |side: &Side, tell: &mut dyn FnMut(Source)| {
            if let Side::Term(term) = side {
                tell(term.source);
            }
        };
        match self {
            Plan::Any(parts) | Plan::All(parts) => {
                for part in parts {
                    part.sources(tell);
                }
            }
            Plan::Not(inner) => inner.sources(tell),
            Plan::Exists(term) => tell(term.source),
            Plan::Compare(_, term, _, right) => {
                tell(term.source);
                side(right, tell);
            }
            Plan::In(_, term, set) => {
                tell(term.source);
                for member in set {
                    if let Member::One(one) = member {
                        side(one, tell);
                    }
                }
            }
        }
    }
}
