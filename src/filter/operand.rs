//! Operands and operators as parsed, before names are looked up and values are typed.

use super::error::TextSpan;
use super::plan::{Quantifier, Relation};
use super::value::Cut;

/// A field, a value or a function, with its slices and its mask.
#[derive(Clone, Debug)]
pub(super) struct Operand<'t> {
    /// The field, value or function.
    pub atom: Atom<'t>,
    /// Slices, in the order in which they apply.
    pub slices: Vec<Vec<Cut>>,
    /// `& mask`.
    pub mask: Option<Box<Operand<'t>>>,
    /// Position in the expression.
    pub span: TextSpan,
    /// The text at that position.
    pub text: &'t str,
}

/// The smallest part of a comparison.
#[derive(Clone, Debug)]
pub(super) enum Atom<'t> {
    /// A name, a number, an address, bytes: anything without quotes.
    Word(&'t str),
    /// A text in double quotes, with its escapes resolved.
    Text(Vec<u8>),
    /// A character in single quotes.
    Char(u8),
    /// A function and its arguments.
    Call(&'t str, Vec<Operand<'t>>),
}

/// An element of a set: a value, or the first and the last value of a range.
pub(super) type Element<'t> = (Operand<'t>, Option<Operand<'t>>);

/// An operator between two operands: its default quantifier, which `any` and `all` override, and its relation.
pub(super) type Operator = (Quantifier, Relation);

/// Every spelling of each operator. Messages show the first one.
const OPERATORS: &[(&[&str], Operator)] = &[
    (&["==", "eq", "any_eq"], (Quantifier::Any, Relation::Eq)),
    (&["===", "all_eq"], (Quantifier::All, Relation::Eq)),
    (&["!=", "ne", "all_ne"], (Quantifier::All, Relation::Ne)),
    (&["!==", "any_ne", "~="], (Quantifier::Any, Relation::Ne)),
    (&["<", "lt"], (Quantifier::Any, Relation::Lt)),
    (&["<=", "le"], (Quantifier::Any, Relation::Le)),
    (&[">", "gt"], (Quantifier::Any, Relation::Gt)),
    (&[">=", "ge"], (Quantifier::Any, Relation::Ge)),
    (&["contains"], (Quantifier::Any, Relation::Contains)),
    (&["matches", "~"], (Quantifier::Any, Relation::Matches)),
];

/// The operator with that spelling.
pub(super) fn operator(text: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(spellings, _)| spellings.contains(&text)).map(|&(_, operator)| operator)
}

/// The first spelling of an operator.
pub(super) fn spelling(operator: Operator) -> &'static str {
    OPERATORS
        .iter()
        .find(|(_, candidate)| *candidate == operator)
        .and_then(|(spellings, _)| spellings.first())
        .copied()
        .unwrap_or_default()
}
