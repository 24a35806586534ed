//! Looks up names and types values, turning operands into the terms and values of a plan.

use super::error::{Result, TextSpan};
use super::kinds::{Kind, UINT};
use super::literal::{constant, number};
use super::names::{self, Named, lookup};
use super::operand::{Atom, Element, Operand, Operator, spelling};
use super::pick::Wanted;
use super::plan::{Member, Plan, Quantifier, Relation, Side, Source, Step, Term};
use super::value::{Constant, Cut, Until};
use super::{FilterError, MAX_PATTERNS, Needs, REGEX_SIZE};
use crate::text::escape::quoted;
use regex::bytes::{Regex, RegexBuilder};
use std::fmt;

/// Deepest nesting of a regular expression.
const REGEX_DEPTH: u32 = 50;

/// Compiles operands and collects the declared fields that they name.
#[derive(Debug, Default)]
pub(super) struct Compiler {
    pub wanted: Vec<Wanted>,
    /// The parts of a view that the terms need.
    pub needs: Needs,
    patterns: usize,
}

/// A term, its type, and its name in the expression.
struct Typed {
    term: Term,
    kind: Kind,
    name: String,
}

/// The name and the type, as the beginning of a sentence.
impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.name, self.kind.name())
    }
}

impl Compiler {
    /// Compiles a test of presence; `span` covers the whole test.
    pub fn exists(
        &mut self,
        quantifier: Option<Quantifier>,
        left: &Operand<'_>,
        span: TextSpan,
    ) -> Result<Plan> {
        if quantifier.is_some() {
            return span.error(
                "\"any\" and \"all\" need a comparison; write one after the field, or leave the word out.",
            );
        }
        if let Atom::Call(name, _) = &left.atom {
            return span.error(format!("{}() by itself is no test; compare it with a value.", shown(name)));
        }
        Ok(Plan::Exists(self.term(left)?.term))
    }

    /// Compiles a chain of one or more comparisons.
    pub fn chain<'o, 't>(
        &mut self,
        quantifier: Option<Quantifier>,
        mut left: &'o Operand<'t>,
        chain: &'o [(Operator, Operand<'t>)],
    ) -> Result<Plan> {
        let mut plans = vec![];
        for (operator, right) in chain {
            plans.push(self.compare(quantifier, left, *operator, right)?);
            left = right;
        }
        Ok(Plan::one_or(plans, Plan::All))
    }

    /// Compiles a test of membership in a set.
    pub fn is_in(
        &mut self,
        quantifier: Option<Quantifier>,
        left: &Operand<'_>,
        set: &[Element<'_>],
        is_negated: bool,
    ) -> Result<Plan> {
        let left = self.term(left)?;
        let set =
            set.iter().map(|(from, to)| self.member(&left, from, to.as_ref())).collect::<Result<_>>()?;
        let plan = Plan::In(quantifier.unwrap_or(Quantifier::Any), left.term, set);
        Ok(if is_negated { Plan::Not(Box::new(plan)) } else { plan })
    }

    /// Compiles a comparison of two operands.
    fn compare(
        &mut self,
        quantifier: Option<Quantifier>,
        left: &Operand<'_>,
        operator: Operator,
        right: &Operand<'_>,
    ) -> Result<Plan> {
        let (default_quantifier, relation) = operator;
        let typed = self.term(left)?;
        check_operator(&typed, left, operator)?;
        let right_side = match relation {
            Relation::Matches => Side::Constant(self.pattern(right, typed.kind)?),
            _ => self.right_side(&typed, right, relation == Relation::Contains)?,
        };
        Ok(Plan::Compare(quantifier.unwrap_or(default_quantifier), typed.term, relation, right_side))
    }

    /// Compiles the right side of a comparison: a field if it names one, otherwise a value.
    fn right_side(&mut self, left: &Typed, right: &Operand<'_>, is_part: bool) -> Result<Side> {
        // Words of a list need no quotes. Some are also names of fields, but here the word is always meant.
        let is_word_list = matches!(left.kind, Kind::Word(_) | Kind::Rank(_) | Kind::Rule | Kind::Finding);
        let is_field = match &right.atom {
            Atom::Word(word) => !is_word_list && lookup(word).is_some(),
            Atom::Call(..) => true,
            _ => false,
        };
        if !is_field {
            return constant(right, left.kind, &left.name, is_part).map(Side::Constant);
        }
        let other = self.term(right)?;
        if !left.kind.compares(other.kind) || is_part && !other.kind.has_parts() {
            let message =
                format!("{left} and {other}, which cannot be compared; compare fields of one type.");
            return right.span.error(message);
        }
        Ok(Side::Term(other.term))
    }

    /// Compiles a member of a set: a value, or a range that ends with `to`.
    fn member(&mut self, left: &Typed, from: &Operand<'_>, to: Option<&Operand<'_>>) -> Result<Member> {
        check_operator(left, from, (Quantifier::Any, Relation::Eq))?;
        let Some(to) = to else { return self.right_side(left, from, false).map(Member::One) };
        let span = from.span.to(to.span);
        let value = |operand| constant(operand, left.kind, &left.name, false);
        let (first, last) = (value(from)?, value(to)?);
        let unordered = matches!(left.kind, Kind::Finding | Kind::Bool | Kind::Flag);
        if unordered
            || matches!(
                (&first, &last),
                (Constant::Number(_), Constant::Bytes(_)) | (Constant::Bytes(_), Constant::Number(_))
            )
        {
            return span.error(format!("{left}, which has no ranges; list the values."));
        }
        if first.is_above(&last) {
            return span.error(
                "The range holds nothing, for it begins above its end; write the lesser value first.",
            );
        }
        Ok(Member::Range(first, last))
    }

    /// Compiles a field with its slices and mask, or a function of one.
    fn term(&mut self, operand: &Operand<'_>) -> Result<Typed> {
        let (mut typed, slices) = match &operand.atom {
            Atom::Word(word) => self.field(word, operand)?,
            Atom::Call(name, arguments) => (self.call(name, arguments, operand)?, operand.slices.as_slice()),
            Atom::Text(_) | Atom::Char(_) => return Err(not_a_field_error(operand)),
        };
        for slice in slices {
            if !typed.kind.has_bytes() {
                let message = format!("{typed}, of which no part can be cut; leave the slice out.");
                return operand.span.error(message);
            }
            typed.term.steps.push(Step::Slice(slice.clone()));
            typed.kind = Kind::Bytes;
        }
        if let Some(mask) = &operand.mask {
            if !matches!(typed.kind, Kind::Int(..)) {
                return operand.span.error(format!("{typed}; only whole numbers take a mask with \"&\"."));
            }
            if let Constant::Number(mask) = constant(mask, typed.kind, &typed.name, false)? {
                typed.term.steps.push(Step::Mask(mask.int.unwrap_or_default()));
            }
        }
        Ok(typed)
    }

    /// Compiles a field. A number in brackets after the name of a list is an index, not a slice. Returns the field and
    /// the remaining slices.
    fn field<'o>(&mut self, word: &str, operand: &'o Operand<'_>) -> Result<(Typed, &'o [Vec<Cut>])> {
        let (mut name, mut slices) = (word.to_owned(), operand.slices.as_slice());
        let mut target = lookup(&name).ok_or_else(|| unknown_field_error(word, operand))?;
        while let Some((first, rest)) = slices.split_first()
            && let [Cut { from: index @ 0.., until: Until::Length(1) }] = first.as_slice()
        {
            let longer_name = format!("{name}[{index}]");
            let Some(longer_target) = lookup(&longer_name) else { break };
            (name, slices, target) = (longer_name, rest, longer_target);
        }
        let (named, kind) = target;
        let source = source(named, &mut self.wanted);
        self.needs.add(source);
        Ok((Typed { term: Term { source, steps: vec![] }, kind, name }, slices))
    }

    fn call(&mut self, name: &str, arguments: &[Operand<'_>], operand: &Operand<'_>) -> Result<Typed> {
        let is_known = matches!(name, "len" | "count" | "upper" | "lower" | "string");
        if !is_known {
            return operand.span.error(format!(
                "There is no function {}; known are len, count, upper, lower and string.",
                quoted(name)
            ));
        }
        let [argument] = arguments else {
            return operand
                .span
                .error(format!("{name}() takes one field and got {} arguments.", arguments.len()));
        };
        let inner = self.term(argument)?;
        let words = match inner.kind {
            Kind::Rank(words) => Some(words),
            _ => None,
        };
        let has_no_steps = inner.term.steps.is_empty();
        let (step, kind, is_applicable) = match name {
            "len" => (Step::Len, UINT, inner.kind.has_bytes()),
            "count" => (Step::Count, UINT, has_no_steps),
            "upper" => (Step::Upper, Kind::Text, inner.kind.has_case()),
            "lower" => (Step::Lower, Kind::Text, inner.kind.has_case()),
            _ => (Step::String(words), Kind::Text, inner.kind.has_string()),
        };
        if !is_applicable {
            return argument.span.error(match step {
                Step::Count => {
                    "count() counts occurrences of a field; name one, without slices and functions.".into()
                }
                _ => format!("{inner}, and {name}() makes nothing of that."),
            });
        }
        let mut term = inner.term;
        term.steps.push(step);
        Ok(Typed { term, kind, name: format!("{name}({})", inner.name) })
    }

    fn pattern(&mut self, right: &Operand<'_>, left: Kind) -> Result<Constant> {
        let Atom::Text(pattern) = &right.atom else {
            return right
                .span
                .error("A regular expression stands in double quotes, best raw: matches r\"^eu-\\d+\".");
        };
        self.patterns = self.patterns.saturating_add(1);
        if self.patterns > MAX_PATTERNS {
            return right.span.error(format!(
                "The filter has more than {MAX_PATTERNS} regular expressions; join some with \"|\"."
            ));
        }
        let Ok(pattern) = std::str::from_utf8(pattern) else {
            return right.span.error("The regular expression is not UTF-8; write \\\\xff for a byte.");
        };
        compile_pattern(pattern, left != Kind::Bytes)
            .map(Constant::Pattern)
            .map_err(|message| FilterError::new(right.span, message))
    }
}

/// Compiles a regular expression. As in Wireshark, it ignores case unless it contains `(?-i)`.
fn compile_pattern(pattern: &str, unicode: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(true).unicode(unicode).nest_limit(REGEX_DEPTH);
    let built = builder.size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE).build();
    built.map_err(|e| match e {
        regex::Error::CompiledTooBig(_) => {
            format!("The regular expression takes more than {REGEX_SIZE} bytes; repeat less in it.")
        }
        e => {
            // The last line names the error; the lines before it mark the position.
            let text = e.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("The regular expression cannot be read: {}.", shown(last))
        }
    })
}

/// Checks that an operator applies to the field on its left.
fn check_operator(left: &Typed, operand: &Operand<'_>, operator: Operator) -> Result<()> {
    let is_applicable = match operator.1 {
        Relation::Contains | Relation::Matches => left.kind.has_parts(),
        Relation::Eq | Relation::Ne => left.kind != Kind::Presence,
        _ => !matches!(left.kind, Kind::Presence | Kind::Finding),
    };
    if is_applicable {
        return Ok(());
    }
    let operator = spelling(operator);
    operand.span.error(match left.kind {
        Kind::Presence => format!("{left}, which is there or not and has no value; name a field in it."),
        Kind::Finding => {
            format!("{left}, which \"{operator}\" says nothing about; use == or !=, or the field rule.")
        }
        _ => format!("{left}, which \"{operator}\" says nothing about; compare string({}).", left.name),
    })
}

fn unknown_field_error(word: &str, operand: &Operand<'_>) -> FilterError {
    if number(word).is_some() || word.contains(':') {
        return not_a_field_error(operand);
    }
    FilterError::new(operand.span, names::unknown_field(word))
}

fn not_a_field_error(operand: &Operand<'_>) -> FilterError {
    let message =
        format!("A field must stand here, and {} is a value; write the field first.", shown(operand.text));
    FilterError::new(operand.span, message)
}

fn shown(text: &str) -> String {
    crate::text::escape::escaped(text).into_owned()
}

/// The source of a name's values. A declared field gets a slot among the wanted fields.
pub(super) fn source(named: Named, wanted: &mut Vec<Wanted>) -> Source {
    match named {
        Named::Builtin(builtin) => Source::Builtin(builtin),
        Named::Protocol(id) => Source::Protocol(id),
        Named::Declared(field) => {
            let id = field.id;
            let slot = wanted.iter().position(|w| *w == field).unwrap_or_else(|| {
                wanted.push(field);
                wanted.len().saturating_sub(1)
            });
            Source::Picked(id, slot as u16)
        }
    }
}
