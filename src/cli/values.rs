//! Values of a configuration with their places in the file, and errors about them.

use super::choices::Choices;
use super::text::absent;
use crate::check::matches;
use crate::escape::quoted;
use crate::similar::similar;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error at a place in the file.
#[derive(Debug)]
pub struct Wrong {
    /// Offset in bytes.
    pub at: usize,
    /// The message, as a sentence.
    pub what: String,
}

/// A value or a key with its place.
pub type Value<'a> = Spanned<DeValue<'a>>;

/// An error at the place of a value or key.
pub fn wrong<T>(place: &Spanned<T>, what: String) -> Wrong {
    Wrong { at: place.span().start, what }
}

/// An error that says what the value should have been.
pub fn unfit(value: &Value<'_>, wanted: &str) -> Wrong {
    wrong(value, format!("This must be {wanted}; it is of type {}.", value.get_ref().type_str()))
}

/// Expects a string.
pub fn string<'v>(value: &'v Value<'_>, example: &str) -> Result<&'v str, Wrong> {
    value.get_ref().as_str().ok_or_else(|| unfit(value, &format!("a string such as \"{example}\"")))
}

/// Expects the id of a rule or the beginning of several ids.
pub fn rule<T>(place: &Spanned<T>, name: &str) -> Result<String, Wrong> {
    if crate::protocols::rules().any(|rule| matches(name, rule)) {
        return Ok(name.to_owned());
    }
    Err(wrong(place, no_rule(name)))
}

/// The error message about an unknown rule, with a suggestion.
pub fn no_rule(name: &str) -> String {
    let said = format!("There is no rule {}", quoted(name));
    // Numbers are often written without leading zeros: `sqp-str-2`.
    let full = match name.rsplit_once('-') {
        Some((group, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{group}-{number:0>3}")
        }
        _ => name.to_owned(),
    };
    match similar(&full, crate::protocols::rules().flat_map(|rule| beginnings(rule.id))) {
        Some(similar) => format!("{said}; did you mean {similar}?"),
        None => format!("{said}; `qdissect rule list` shows them all."),
    }
}

/// The groups of a rule and the rule itself: `SQP`, `SQP-TXN`, `SQP-TXN-004`.
pub fn beginnings(id: &'static str) -> impl Iterator<Item = &'static str> {
    id.match_indices('-').filter_map(|(at, _)| id.get(..at)).chain([id])
}

/// Expects a table.
pub fn table<'v, 'a>(value: &'v Value<'a>, example: &str) -> Result<&'v DeTable<'a>, Wrong> {
    value.get_ref().as_table().ok_or_else(|| unfit(value, &format!("a table with keys such as {example}")))
}

/// Expects one of the values that a command-line option accepts.
pub fn choice<T: Copy>(value: &Value<'_>, choices: Choices<T>, thing: &str) -> Result<T, Wrong> {
    let known: Vec<_> = choices.names().collect();
    let name = string(value, known.first().copied().unwrap_or_default())?;
    choices.find(name).ok_or_else(|| wrong(value, absent(thing, name, &known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_rule_is_said_with_what_is_similar() {
        assert_eq!(no_rule("SQP-TXN-OO4"), "There is no rule \"SQP-TXN-OO4\"; did you mean SQP-TXN-004?");
        assert_eq!(no_rule("sqp-str-2"), "There is no rule \"sqp-str-2\"; did you mean SQP-STR-002?");
        assert!(no_rule("HTTP").contains("rule list"));
    }
}
