//! Findings say what is there and what should be, or their rule is known to compare nothing.

use crate::kit::feed::examples;
use crate::kit::play::{example_frames, play};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that compare nothing, with the reason.
const WITHOUT_VALUES: &[(&str, &[&str])] = &[];

/// Whether the findings of a rule in its examples have both values: some of them, and all of them.
#[derive(Default)]
struct Seen {
    some: bool,
    lacks: Option<String>,
}

#[test]
fn every_finding_has_both_values_unless_its_rule_compares_nothing() {
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    for (rule, number, example) in examples() {
        let (collected, _) = play(&example_frames(example));
        for finding in collected.findings().filter(|f| f.rule.id == rule.id) {
            let of_rule = seen.entry(rule.id).or_default();
            match (finding.found(), finding.expected()) {
                (Some(_), Some(_)) => of_rule.some = true,
                _ => of_rule.lacks = Some(format!("{} ({number}): {finding}", rule.id)),
            }
        }
    }
    let excepted: BTreeSet<&str> =
        WITHOUT_VALUES.iter().flat_map(|(_, rules)| rules.iter().copied()).collect();
    let lacking: Vec<_> = seen
        .iter()
        .filter(|(id, _)| !excepted.contains(*id))
        .filter_map(|(_, of_rule)| of_rule.lacks.as_ref())
        .collect();
    assert!(lacking.is_empty(), "without both values: {lacking:#?}");
    let needless: Vec<_> =
        excepted.iter().filter(|id| seen.get(*id).is_none_or(|of_rule| of_rule.some)).collect();
    assert!(needless.is_empty(), "excepted, but unknown or with values: {needless:#?}");
}
