//! The values that shells complete for options with parsers of our own.

use super::value_parsers::protocol;
use super::values::beginnings;
use crate::protocols::Id;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// A value parser: `read` parses a value and reports errors, `words` returns the words that shells complete.
#[derive(Clone)]
pub struct CompletionValues<T: 'static> {
    read: fn(&str) -> Result<T, String>,
    words: fn() -> Vec<&'static str>,
}

/// Completes names of protocols.
pub const PROTOCOL: CompletionValues<Id> = CompletionValues { read: protocol, words: protocols };
/// Completes beginnings of rule ids, such as `SQP` and `SQP-TXN`. Other names are accepted, and looked up later.
pub const RULES: CompletionValues<String> = CompletionValues { read: any, words: groups };
/// Completes beginnings of rule ids and every full id.
pub const EVERY_RULE: CompletionValues<String> = CompletionValues { read: any, words: every };

impl<T: Clone + Send + Sync + 'static> TypedValueParser for CompletionValues<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter().map(PossibleValue::new)))
    }
}

fn any(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn protocols() -> Vec<&'static str> {
    Id::ALL.iter().map(|id| id.info().name).collect()
}

fn groups() -> Vec<&'static str> {
    let whole = |name: &str| crate::protocols::rules().any(|rule| rule.id == name);
    every().into_iter().filter(|name| !whole(name)).collect()
}

fn every() -> Vec<&'static str> {
    let mut names: Vec<_> = crate::protocols::rules().flat_map(|rule| beginnings(rule.id)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_rules_are_offered_once_and_every_rule_where_one_is_meant() {
        assert!(groups().contains(&"SQP") && groups().contains(&"SQP-TXN"));
        assert!(!groups().contains(&"SQP-TXN-004") && every().contains(&"SQP-TXN-004"));
        assert_eq!(every().len(), groups().len() + crate::protocols::rules().count());
    }
}
