//! Parsers for the values of options, with their error messages and the words that shells complete.

use super::choices::CheckFormat;
use super::text::unknown_name;
use crate::filter::{Filter, FilterError};
use crate::protocols::Id;
use crate::rule::Severity;
use crate::schema;
use crate::stats::Prefix;
use crate::text::escape::{escaped, quoted};
use crate::text::similar::similar;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command, ValueEnum};
use jiff::SignedDuration;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::PathBuf;

/// A display filter as the user wrote it, and the result of parsing it.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: Result<Filter, FilterError>,
}

/// Parses an expression. Errors are reported later, with a caret at the place, which clap could not print.
pub fn expression(text: &str) -> Result<Expression, Infallible> {
    Ok(Expression { text: text.to_owned(), parsed: Filter::parse(text) })
}

impl Expression {
    /// The text as the user wrote it.
    #[cfg(any(feature = "parquet", feature = "tui"))]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The filter, if the text is valid.
    pub fn filter(&self) -> Option<&Filter> {
        self.parsed.as_ref().ok()
    }

    /// The error message: a sentence, and two lines that show the place.
    pub fn error_message(&self) -> Option<String> {
        let wrong = self.parsed.as_ref().err()?;
        Some(format!("{wrong}\n{}", wrong.caret(&self.text)))
    }
}

/// Parses the name of a protocol.
pub fn protocol(text: &str) -> Result<Id, String> {
    Id::by_name(text).ok_or_else(|| match Id::known_as(text) {
        Some((id, _)) => {
            format!("There is no protocol {}; its name here is {}.", quoted(text), id.info().name)
        }
        None => unknown_name("protocol", text, &protocols()),
    })
}

/// Parses the lengths of prefixes of IPv4 and IPv6 addresses.
pub fn prefix(text: &str) -> Result<Prefix, String> {
    let lengths = text
        .split_once(',')
        .and_then(|(v4, v6)| Some(Prefix { v4: v4.trim().parse().ok()?, v6: v6.trim().parse().ok()? }));
    lengths.filter(|prefix| prefix.v4 <= 32 && prefix.v6 <= 128).ok_or_else(|| {
        format!("{} is not two lengths of prefixes, of IPv4 and IPv6, for example 24,56.", quoted(text))
    })
}

/// Whom `ask` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Whoever answers, in every protocol.
    Auto,
    /// In one protocol, and on that port if none is given.
    Protocol(Id, Option<u16>),
}

/// Parses a protocol that is asked: its name, one that people use, or `auto`.
fn whom(text: &str) -> Result<Whom, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(Whom::Auto);
    }
    named(text).map(|(id, port)| Whom::Protocol(id, port)).map_err(|unknown| {
        let is_address = text.contains([':', '.']);
        let command = format!("qdissect ask auto {}", escaped(text));
        if is_address {
            format!("The protocol comes first, or auto for any, as in `{command}`.")
        } else {
            unknown
        }
    })
}

/// Parses a protocol: its name, or one that people use, which may mean another port.
fn named(text: &str) -> Result<(Id, Option<u16>), String> {
    Id::known_as(text).ok_or_else(|| unknown_name("protocol", text, &protocol_names()))
}

/// The names of protocols, and those that people use.
fn protocol_names() -> Vec<&'static str> {
    let people = Id::ALL.iter().flat_map(|id| id.info().known_as).map(|(name, _)| *name);
    protocols().into_iter().chain(people).collect()
}

/// The names that `ask` takes.
fn asked_names() -> Vec<&'static str> {
    protocol_names().into_iter().chain(["auto"]).collect()
}

/// Parses a rule and its severity; `None` switches the rule off.
pub fn level(text: &str) -> Result<(String, Option<Severity>), String> {
    let wrong = || format!("\"{text}\" is not of the form RULE=SEVERITY, for example SQP-TXN-010=warning.");
    let (rule, severity) = text.split_once('=').ok_or_else(wrong)?;
    Ok((rule.trim().to_owned(), self::severity(severity.trim())?))
}

/// Parses a severity; `None` is off.
pub fn severity(text: &str) -> Result<Option<Severity>, String> {
    const KNOWN: [(&str, Option<Severity>); 4] = [
        ("error", Some(Severity::Error)),
        ("warning", Some(Severity::Warning)),
        ("note", Some(Severity::Note)),
        ("off", None),
    ];
    let found = KNOWN.iter().find(|(name, _)| *name == text).map(|(_, severity)| *severity);
    found.ok_or_else(|| unknown_name("severity", text, &KNOWN.map(|(name, _)| name)))
}

/// Parses the format and the path of a report.
pub fn report(text: &str) -> Result<(CheckFormat, PathBuf), String> {
    let wrong = || format!("\"{text}\" is not of the form FMT=PATH, for example json=report.json.");
    let (format, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(wrong)?;
    let format = CheckFormat::from_str(format, true).map_err(|_| {
        let known: Vec<_> = check_formats().collect();
        unknown_name("report format", format, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })?;
    if path == "-" {
        return Err("A report is a file; -T says what goes to standard output.".to_owned());
    }
    Ok((format, PathBuf::from(path)))
}

/// The names of the formats of `check`.
pub fn check_formats() -> impl Iterator<Item = String> {
    let values = CheckFormat::value_variants().iter().filter_map(CheckFormat::to_possible_value);
    values.map(|value| value.get_name().to_owned())
}

/// Parses a pin: a server port and its protocol.
pub fn decode_as(text: &str) -> Result<(u16, Id), String> {
    let wrong = || {
        let hint = suggested_pin(text).map(|pin| format!(" Did you mean {pin}?")).unwrap_or_default();
        format!(
            "{} is not of the form udp.port==N,PROTO, for example udp.port==7779,sqp.{hint}",
            quoted(text)
        )
    };
    let (selector, name) = text.split_once(',').ok_or_else(wrong)?;
    let port = selector.trim().strip_prefix("udp.port==").ok_or_else(wrong)?;
    let port =
        port.parse().map_err(|_| format!("\"{port}\" is not a UDP port: a number from 0 to 65535."))?;
    Ok((port, protocol(name.trim())?))
}

/// A suggestion for a text that is not a valid pin but contains a port and a protocol.
fn suggested_pin(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let port: u16 = words.find_map(|word| word.parse().ok())?;
    let name = words.next_back()?;
    let id = similar(name, protocols())?;
    Some(format!("udp.port=={port},{id}"))
}

/// Parses the number of packets after which to stop.
pub fn packets(text: &str) -> Result<u64, String> {
    let wrong = || format!("{} is not a number of packets: write one from 1.", quoted(text));
    text.parse().ok().filter(|&number| number > 0).ok_or_else(wrong)
}

/// Parses the time to wait for an answer, in nanoseconds.
pub fn timeout(text: &str) -> Result<i64, String> {
    let wrong = |why: &str| format!("\"{text}\" is not a duration such as 500ms or 2s: {why}.");
    let duration: SignedDuration = text
        .parse()
        .map_err(|_| wrong("write a number and a unit, ns, us, ms, s, m or h, less than 292 years"))?;
    match i64::try_from(duration.as_nanos()) {
        Ok(nanos) if nanos > 0 => Ok(nanos),
        _ => Err(wrong("it must be more than nothing and less than 292 years")),
    }
}

/// A value parser: `parse` parses a value and reports errors, `words` returns the words that shells complete.
#[derive(Clone)]
pub struct CompletionValues<T: 'static> {
    parse: fn(&str) -> Result<T, String>,
    words: fn() -> Vec<&'static str>,
}

impl<T> CompletionValues<T> {
    /// The words that complete a value.
    pub fn words(&self) -> Vec<&'static str> {
        (self.words)()
    }
}

/// Completes names of protocols.
pub const PROTOCOL: CompletionValues<Id> = CompletionValues { parse: protocol, words: protocols };
/// Completes the types of records.
pub const RECORD: CompletionValues<String> = CompletionValues { parse: record_type, words: record_types };
/// Completes the names of protocols, those that people use, and `auto`.
pub const WHOM: CompletionValues<Whom> = CompletionValues { parse: whom, words: asked_names };
/// Completes the names of protocols, and those that people use.
pub const NAMED: CompletionValues<(Id, Option<u16>)> =
    CompletionValues { parse: named, words: protocol_names };
/// Completes beginnings of rule ids, such as `SQP` and `SQP-TXN`. Other names are accepted, and looked up later.
pub const RULES: CompletionValues<String> = CompletionValues { parse: accept_any, words: rule_groups };
/// Completes beginnings of rule ids and every full id.
pub const EVERY_RULE: CompletionValues<String> = CompletionValues { parse: accept_any, words: rule_names };

impl<T: Clone + Send + Sync + 'static> TypedValueParser for CompletionValues<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words().into_iter().map(PossibleValue::new)))
    }
}

fn record_types() -> Vec<&'static str> {
    schema::records().collect()
}

fn record_type(text: &str) -> Result<String, String> {
    let types = record_types();
    if types.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(unknown_name("type of record", text, &types))
    }
}

fn accept_any(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn protocols() -> Vec<&'static str> {
    Id::ALL.iter().map(|id| id.info().name).collect()
}

fn rule_groups() -> Vec<&'static str> {
    let is_rule = |name: &str| crate::protocols::rules().any(|rule| rule.id == name);
    rule_names().into_iter().filter(|name| !is_rule(name)).collect()
}

fn rule_names() -> Vec<&'static str> {
    let mut names: Vec<_> = crate::protocols::rules().flat_map(|rule| rule_prefixes(rule.id)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The error message about an unknown rule, with a suggestion.
pub fn unknown_rule(name: &str) -> String {
    let message = format!("There is no rule {}", quoted(name));
    // Numbers are often written without leading zeros: `sqp-str-2`.
    let padded = match name.rsplit_once('-') {
        Some((group, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{group}-{number:0>3}")
        }
        _ => name.to_owned(),
    };
    match similar(&padded, crate::protocols::rules().flat_map(|rule| rule_prefixes(rule.id))) {
        Some(similar) => format!("{message}; did you mean {similar}?"),
        None => format!("{message}; `qdissect rule list` shows them all."),
    }
}

/// The groups of a rule and the rule itself: `SQP`, `SQP-TXN`, `SQP-TXN-004`.
pub fn rule_prefixes(id: &'static str) -> impl Iterator<Item = &'static str> {
    id.match_indices('-').filter_map(|(at, _)| id.get(..at)).chain([id])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_and_durations_are_parsed_and_errors_explain_the_form() {
        assert_eq!(decode_as("udp.port==7779,sqp"), Ok((7779, Id::Sqp)));
        assert!(decode_as("tcp.port==1,sqp").unwrap_err().contains("udp.port==N,PROTO"));
        for text in ["udp.prt==7779,sqp", "udp.port=7779,sqp", "7779:sqp", "tcp.port==7779,sqpp"] {
            let message = decode_as(text).unwrap_err();
            assert!(message.ends_with("Did you mean udp.port==7779,sqp?"), "{message}");
        }
        assert!(decode_as("sqp,7779").unwrap_err().ends_with("for example udp.port==7779,sqp."));
        assert!(decode_as("udp.port==70000,sqp").unwrap_err().contains("65535"));
        assert!(decode_as("udp.port==1,http").unwrap_err().contains("known are sqp, satisfactory"));
        assert_eq!(timeout("500ms"), Ok(500_000_000));
        assert_eq!(timeout("2s"), Ok(2_000_000_000));
        assert!(timeout("0s").is_err() && timeout("-1s").is_err() && timeout("soon").is_err());
    }

    #[test]
    fn completions_are_groups_of_rules_or_groups_and_every_rule() {
        assert!(rule_groups().contains(&"SQP") && rule_groups().contains(&"SQP-TXN"));
        assert!(!rule_groups().contains(&"SQP-TXN-004") && rule_names().contains(&"SQP-TXN-004"));
        assert_eq!(rule_names().len(), rule_groups().len() + crate::protocols::rules().count());
    }

    #[test]
    fn unknown_rules_are_reported_with_a_similar_name() {
        assert_eq!(
            unknown_rule("SQP-TXN-OO4"),
            "There is no rule \"SQP-TXN-OO4\"; did you mean SQP-TXN-004?"
        );
        assert_eq!(unknown_rule("sqp-str-2"), "There is no rule \"sqp-str-2\"; did you mean SQP-STR-002?");
        assert!(unknown_rule("HTTP").contains("rule list"));
    }
}
