//! Evaluates a plan for a packet or an exchange.

use super::builtins::Visit;
use super::kinds::Kind;
use super::plan::{Member, Plan, Quantifier, Relation, Side, Source, Step, Term};
use super::value::{Constant, Datum, contains, cut};
use super::view::View;
use std::borrow::Cow;
use std::cmp::Ordering;

impl Plan {
    /// Whether the packet in the view fulfils the plan.
    pub fn holds(&self, view: &View<'_>) -> bool {
        match self {
            Plan::Any(parts) => parts.iter().any(|part| part.holds(view)),
            Plan::All(parts) => parts.iter().all(|part| part.holds(view)),
            Plan::Not(inner) => !inner.holds(view),
            Plan::Exists(term) => term.exists(view),
            Plan::Compare(quantifier, term, relation, side) => match side {
                Side::Constant(constant) => {
                    term.fulfils(*quantifier, view, &mut |value| relation.holds(&value, constant))
                }
                Side::Term(other) => {
                    let inner = &mut |value: Datum<'_>| {
                        other.fulfils(*quantifier, view, &mut |right| relation.holds_between(&value, &right))
                    };
                    term.fulfils(*quantifier, view, inner)
                }
            },
            Plan::In(quantifier, term, set) => term.fulfils(*quantifier, view, &mut |value| {
                set.iter().any(|member| match member {
                    Member::One(Side::Constant(one)) => Relation::Eq.holds(&value, one),
                    Member::One(Side::Term(other)) => {
                        other.each(view, &mut |right| Relation::Eq.holds_between(&value, &right))
                    }
                    Member::Range(from, to) => {
                        Relation::Ge.holds(&value, from) && Relation::Le.holds(&value, to)
                    }
                })
            }),
        }
    }
}

impl Relation {
    fn holds_for(self, order: Option<Ordering>) -> bool {
        match self {
            Relation::Eq => order == Some(Ordering::Equal),
            Relation::Ne => order != Some(Ordering::Equal),
            Relation::Lt => order == Some(Ordering::Less),
            Relation::Le => order.is_some_and(Ordering::is_le),
            Relation::Gt => order == Some(Ordering::Greater),
            Relation::Ge => order.is_some_and(Ordering::is_ge),
            Relation::Contains | Relation::Matches => false,
        }
    }

    fn holds(self, value: &Datum<'_>, constant: &Constant) -> bool {
        match (self, constant) {
            (Relation::Contains, Constant::Bytes(part)) => {
                value.text().is_some_and(|whole| contains(whole, part))
            }
            (Relation::Matches, Constant::Pattern(pattern)) => {
                value.text().is_some_and(|text| pattern.is_match(text))
            }
            _ => self.holds_for(value.compare(constant)),
        }
    }

    fn holds_between(self, left: &Datum<'_>, right: &Datum<'_>) -> bool {
        match (self, left.text(), right.text()) {
            (Relation::Contains, Some(whole), Some(part)) => contains(whole, part),
            _ => self.holds_for(left.compare_with(right)),
        }
    }
}

impl Term {
    /// Whether any value passes the test, or, for [`Quantifier::All`], there is a value and all of them pass.
    fn fulfils(&self, quantifier: Quantifier, view: &View<'_>, test: &mut Visit<'_>) -> bool {
        match quantifier {
            Quantifier::Any => self.each(view, test),
            Quantifier::All => {
                let mut has_value = false;
                let failed = self.each(view, &mut |value| {
                    has_value = true;
                    !test(value)
                });
                has_value && !failed
            }
        }
    }

    /// Whether the term is present. An empty slice, a masked value of 0 and a flag that is off count as absent.
    fn exists(&self, view: &View<'_>) -> bool {
        if !self.steps.is_empty() {
            return self.each(view, &mut |value| match value {
                Datum::Int(v) => v != 0,
                value => value.bytes().is_none_or(|bytes| !bytes.is_empty()),
            });
        }
        match self.source {
            Source::Builtin(flag) if flag.kind == Kind::Flag => {
                flag.each(view, &mut |value| matches!(value, Datum::Bool(true)))
            }
            source => source.each(view, &mut |_| true),
        }
    }

    /// Visits the values after applying all steps to them.
    fn each(&self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        match self.steps.split_first() {
            None => self.source.each(view, &mut |value| {
                let comparable = !matches!(value, Datum::Present | Datum::Hidden);
                comparable && visit(value)
            }),
            Some((Step::Count, rest)) => {
                let count = self.count(view);
                count > 0 && apply_steps(Datum::Int(count), rest).is_some_and(visit)
            }
            Some(_) => {
                self.source.each(view, &mut |value| apply_steps(value, &self.steps).is_some_and(&mut *visit))
            }
        }
    }

    /// Number of occurrences: the number of values, or of groups and lists if there are no values.
    fn count(&self, view: &View<'_>) -> i128 {
        let (mut values, mut groups) = (0i128, 0i128);
        self.source.each(view, &mut |value| {
            let counter = if matches!(value, Datum::Present) { &mut groups } else { &mut values };
            *counter = counter.saturating_add(1);
            false
        });
        if values > 0 { values } else { groups }
    }
}

/// Applies all steps to a value. `None` if a step does not apply to it.
fn apply_steps<'a>(value: Datum<'a>, steps: &[Step]) -> Option<Datum<'a>> {
    let with_case = |text: &Datum<'_>, convert: fn(&str) -> String| {
        let text = convert(&String::from_utf8_lossy(text.text()?));
        Some(Datum::Text(Cow::Owned(text.into_bytes())))
    };
    steps.iter().try_fold(value, |value, step| match step {
        Step::Count => None, // only valid as the first step, which the caller handles
        Step::Slice(cuts) => Some(Datum::Bytes(Cow::Owned(cut(&value.bytes()?, cuts)))),
        Step::Len => Some(Datum::Int(value.bytes()?.len() as i128)),
        Step::Upper => with_case(&value, str::to_uppercase),
        Step::Lower => with_case(&value, str::to_lowercase),
        Step::String(words) => {
            let words = words.map(|words| words.all()).unwrap_or_default();
            Some(Datum::Text(Cow::Owned(value.string(&words)?.into_bytes())))
        }
        Step::Mask(mask) => match value {
            Datum::Int(v) => Some(Datum::Int(v & mask)),
            _ => None,
        },
    })
}

impl Source {
    /// Visits the values of a field until the visitor returns `true`.
    pub fn each(self, view: &View<'_>, visit: &mut Visit<'_>) -> bool {
        match self {
            Source::Builtin(builtin) => builtin.each(view, visit),
            Source::Protocol(id) => {
                let payload = view.datagram.map(|d| Datum::Bytes(Cow::Borrowed(d.payload)));
                view.protocol == Some(id) && visit(payload.unwrap_or(Datum::Present))
            }
            Source::Picked(id, slot) => {
                view.protocol == Some(id) && view.picked.is_some_and(|pick| pick.each(slot, visit))
            }
        }
    }
}
