//! Values of a configuration with their places, and what is wrong with them.

use super::text::{absent, similar};
use clap::ValueEnum;
use qdissect::check::{Unknown, matches};
use qdissect::report::shown;
use qdissect::rule;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A place in the file, as its first byte, and what is wrong there.
#[derive(Debug)]
pub struct Wrong {
    /// Offset in bytes.
    pub at: usize,
    /// A sentence.
    pub what: String,
}

/// A value or a key with its place.
pub type Value<'a> = Spanned<DeValue<'a>>;
/// A key with its place.
pub type Key<'a> = Spanned<DeString<'a>>;

/// Says what is wrong at a place.
pub fn wrong<T>(place: &Spanned<T>, what: String) -> Wrong {
    Wrong { at: place.span().start, what }
}

/// Says what a value should have been.
pub fn unfit(value: &Value<'_>, wanted: &str) -> Wrong {
    wrong(value, format!("This must be {wanted}; it is of type {}.", value.get_ref().type_str()))
}

/// A string.
pub fn string<'v>(value: &'v Value<'_>, example: &str) -> Result<&'v str, Wrong> {
    value.get_ref().as_str().ok_or_else(|| unfit(value, &format!("a string such as \"{example}\"")))
}

/// A rule's id or the beginning of several.
pub fn rule<T>(place: &Spanned<T>, name: &str) -> Result<String, Wrong> {
    if rule::all().any(|rule| matches(name, rule)) {
        return Ok(name.to_owned());
    }
    let similar = similar(name, rule::all().flat_map(|rule| beginnings(rule.id)));
    Err(wrong(place, Unknown { name: shown(name).into_owned(), similar }.to_string()))
}

/// `SQP`, `SQP-TXN`, `SQP-TXN-004`.
fn beginnings(id: &'static str) -> impl Iterator<Item = &'static str> {
    id.match_indices('-').filter_map(|(at, _)| id.get(..at)).chain([id])
}

/// A table.
pub fn table<'v, 'a>(value: &'v Value<'a>, example: &str) -> Result<&'v DeTable<'a>, Wrong> {
    value.get_ref().as_table().ok_or_else(|| unfit(value, &format!("a table with keys such as {example}")))
}

/// One of the words that an option of the command line takes.
pub fn choice<T: ValueEnum>(value: &Value<'_>, thing: &str) -> Result<T, Wrong> {
    let known: Vec<_> = T::value_variants().iter().filter_map(T::to_possible_value).collect();
    let known: Vec<_> = known.iter().map(|v| v.get_name()).collect();
    let name = string(value, known.first().copied().unwrap_or_default())?;
    T::from_str(name, false).map_err(|_| wrong(value, absent(thing, name, &known)))
}
