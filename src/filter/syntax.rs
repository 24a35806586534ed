//! An expression as it is written: names have not been looked up, values have no type.

use std::fmt;

/// Longest expression in bytes.
pub const MAX_LENGTH: usize = 16_384;
/// Deepest nesting of brackets, `not`, functions and masks.
pub const MAX_DEPTH: usize = 64;
/// Most operands: fields, values, members of sets.
pub const MAX_NODES: usize = 2_048;
/// Most regular expressions.
pub const MAX_PATTERNS: usize = 32;
/// Most bytes of memory for a compiled regular expression, and again while it runs.
pub const REGEX_SIZE: usize = 1 << 20;

/// The place of a part in the expression, in bytes. All places are equal, so that equal parts are equal wherever
/// they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

impl Place {
    /// From the start of this one to the end of the other.
    pub fn to(self, other: Place) -> Place {
        Place { start: self.start, end: other.end }
    }
}

/// An expression. Chains are lists, so that only brackets and `not` make it deeper.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    /// At least one part holds.
    Or(Vec<Expr>),
    /// All parts hold.
    And(Vec<Expr>),
    /// The inner expression does not hold.
    Not(Box<Expr>),
    /// A test of a field.
    Test(Test),
}

/// Whether one occurrence of a field must fulfil a test, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    /// At least one.
    Any,
    /// All, and there is at least one.
    All,
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Test {
    /// `any` or `all`, if written.
    pub quantifier: Option<Quantifier>,
    /// The operand that is tested.
    pub left: Operand,
    /// The test it must pass.
    pub rest: Rest,
    /// The place of the whole test.
    pub at: Place,
}

/// The test that an operand must pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rest {
    /// Presence.
    Nothing,
    /// A comparison, or a chain of them. Each left side must be a field: `1 < a < 5` does not compile, but `a > b >
    /// 1` does.
    Compare(Vec<(Relation, Operand)>),
    /// Membership.
    In {
        /// `not in`.
        not: bool,
        /// Values and ranges.
        set: Vec<Element>,
    },
}

/// An element of a set: a value, or a range that includes both ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Element {
    /// The value, or the first value of the range.
    pub from: Operand,
    /// The last value of the range.
    pub to: Option<Operand>,
}

/// A field, a value or a function, with its slices and its mask.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operand {
    /// The field, value or function.
    pub atom: Atom,
    /// The parts that are cut out of it, one after the other.
    pub slices: Vec<Vec<Cut>>,
    /// `& mask`.
    pub mask: Option<Box<Operand>>,
    /// Its place.
    pub at: Place,
}

/// The smallest part of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Atom {
    /// A name, a number, an address, bytes: anything without quotes.
    Word(String),
    /// A text in double quotes, with its escapes resolved.
    Text(Vec<u8>),
    /// A character in single quotes.
    Char(u8),
    /// A function and its arguments.
    Call(String, Vec<Operand>),
}

/// A range of bytes; negative offsets count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// First byte.
    pub from: i32,
    /// Its end.
    pub until: Until,
}

/// The end of a [`Cut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// After so many bytes.
    Length(i32),
    /// With the byte at this offset.
    Through(i32),
    /// At the end of the field.
    End,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Any is equal.
    Eq,
    /// All are equal.
    AllEq,
    /// All are different.
    Ne,
    /// Any is different.
    AnyNe,
    /// Any is less.
    Lt,
    /// Any is less or equal.
    Le,
    /// Any is greater.
    Gt,
    /// Any is greater or equal.
    Ge,
    /// Any contains it.
    Contains,
    /// Any matches the regular expression.
    Matches,
}

/// Every spelling of the operators; the first of each is the one that is printed.
const RELATIONS: &[(&str, Relation)] = &[
    ("==", Relation::Eq),
    ("eq", Relation::Eq),
    ("any_eq", Relation::Eq),
    ("===", Relation::AllEq),
    ("all_eq", Relation::AllEq),
    ("!=", Relation::Ne),
    ("ne", Relation::Ne),
    ("all_ne", Relation::Ne),
    ("!==", Relation::AnyNe),
    ("any_ne", Relation::AnyNe),
    ("~=", Relation::AnyNe),
    ("<", Relation::Lt),
    ("lt", Relation::Lt),
    ("<=", Relation::Le),
    ("le", Relation::Le),
    (">", Relation::Gt),
    ("gt", Relation::Gt),
    (">=", Relation::Ge),
    ("ge", Relation::Ge),
    ("contains", Relation::Contains),
    ("matches", Relation::Matches),
    ("~", Relation::Matches),
];

impl Relation {
    /// The operator with that spelling.
    pub fn of(text: &str) -> Option<Relation> {
        RELATIONS.iter().find(|(spelling, _)| *spelling == text).map(|&(_, relation)| relation)
    }

    /// Its first spelling.
    pub fn name(self) -> &'static str {
        RELATIONS.iter().find(|(_, relation)| *relation == self).map_or("", |&(spelling, _)| spelling)
    }
}

/// Written with no more brackets than necessary, so that the text is nested no deeper than the original.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |f: &mut fmt::Formatter<'_>, part: &Expr, bracket: bool| match bracket {
            true => write!(f, "({part})"),
            false => write!(f, "{part}"),
        };
        let between = |f: &mut fmt::Formatter<'_>, i: usize, word: &str| match i {
            0 => Ok(()),
            _ => f.write_str(word),
        };
        match self {
            Expr::Or(parts) => parts.iter().enumerate().try_for_each(|(i, inner)| {
                between(f, i, " or ")?;
                part(f, inner, matches!(inner, Expr::Or(_)))
            }),
            Expr::And(parts) => parts.iter().enumerate().try_for_each(|(i, inner)| {
                between(f, i, " and ")?;
                part(f, inner, matches!(inner, Expr::Or(_) | Expr::And(_)))
            }),
            Expr::Not(inner) => {
                f.write_str("not ")?;
                part(f, inner, matches!(**inner, Expr::Or(_) | Expr::And(_)))
            }
            Expr::Test(test) => test.fmt(f),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantifier {
            Some(Quantifier::Any) => f.write_str("any ")?,
            Some(Quantifier::All) => f.write_str("all ")?,
            None => {}
        }
        write!(f, "{}", self.left)?;
        match &self.rest {
            Rest::Nothing => Ok(()),
            Rest::Compare(chain) => {
                chain.iter().try_for_each(|(relation, right)| write!(f, " {} {right}", relation.name()))
            }
            Rest::In { not, set } => {
                write!(f, " {}in {{", if *not { "not " } else { "" })?;
                for (i, element) in set.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { ", " } else { "" }, element.from)?;
                    if let Some(to) = &element.to {
                        write!(f, " .. {to}")?;
                    }
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.atom {
            Atom::Word(word) => f.write_str(word)?,
            Atom::Text(bytes) => escaped(f, bytes, '"')?,
            Atom::Char(byte) => escaped(f, &[*byte], '\'')?,
            Atom::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")?;
            }
        }
        for slice in &self.slices {
            for (i, cut) in slice.iter().enumerate() {
                write!(f, "{}{cut}", if i > 0 { "," } else { "[" })?;
            }
            f.write_str("]")?;
        }
        self.mask.as_ref().map_or(Ok(()), |mask| write!(f, " & {mask}"))
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Until::Length(length) => write!(f, "{}:{length}", self.from),
            Until::Through(last) => write!(f, "{}-{last}", self.from),
            Until::End => write!(f, "{}:", self.from),
        }
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, bytes: &[u8], quote: char) -> fmt::Result {
    write!(f, "{quote}")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\'' | b'\\' => write!(f, "\\{}", byte as char)?,
            0x20..=0x7e => write!(f, "{}", byte as char)?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    write!(f, "{quote}")
}
