//! Values of an expression, read as the type of the field that they are compared with.

use super::FilterError;
use super::kinds::{Kind, Words};
use super::operand::{Atom, Operand};
use super::value::{Constant, Number};
use crate::check::matches;
use crate::text::escape::{from_hex, quoted};
use crate::text::similar::similar;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::net::{IpAddr, SocketAddr};

/// Reads a value for a field of this kind; `field` is the name of the field in the expression. With `is_part`, the
/// value is searched for within the field and may be incomplete.
///
/// # Errors
/// When the operand is no value of this kind. The error gives an example of one.
pub(super) fn constant(
    operand: &Operand<'_>,
    kind: Kind,
    field: &str,
    is_part: bool,
) -> super::error::Result<Constant> {
    if let Some(slice) = operand.slices.first() {
        let shown = slice.first().map(ToString::to_string).unwrap_or_default();
        return operand
            .span
            .error(format!("Only fields have slices, so [{shown}] means nothing here; leave it out."));
    }
    if operand.mask.is_some() {
        return operand.span.error("Only fields take a mask with \"&\"; write the value itself.");
    }
    let constant_result = match &operand.atom {
        Atom::Word(word) => word_constant(word, kind, is_part),
        Atom::Text(bytes) => text_constant(bytes, kind, is_part),
        Atom::Char(byte) => char_constant(*byte, kind),
        Atom::Call(name, _) => Err(Some(format!("{name}() is no function of a value"))),
    };
    constant_result.map_err(|reason| value_error(operand, kind, field, reason))
}

/// `Err(None)` means that the value has the wrong type; `Err(Some(reason))` that it is invalid for another reason.
type ReadResult = Result<Constant, Option<String>>;

fn word_constant(word: &str, kind: Kind, is_part: bool) -> ReadResult {
    let number = || number(word).ok_or(None);
    match kind {
        Kind::Int(min, max) => {
            let number = number()?;
            let int = number.int.ok_or(None)?;
            if int < i128::from(min) || int > i128::from(max) {
                return Err(Some(format!("{word} is outside of {min} to {max}")));
            }
            Ok(Constant::Number(number))
        }
        Kind::Float => number().map(Constant::Number),
        Kind::Seconds => number().or_else(|no_number| seconds(word).ok_or(no_number)).map(Constant::Number),
        Kind::Bool | Kind::Flag => {
            boolean(word).map_or_else(|| Ok(number()?.int != Some(0)), Ok).map(Constant::Bool)
        }
        Kind::Named => {
            number().map(Constant::Number).or_else(|_| Ok(Constant::Bytes(word.as_bytes().to_vec())))
        }
        Kind::Dynamic => boolean(word).map(Constant::Bool).map_or_else(|| number().map(Constant::Number), Ok),
        Kind::Text | Kind::Presence => Err(None),
        Kind::Stamp | Kind::Endpoint if is_part => Err(None),
        Kind::Stamp | Kind::Endpoint => canonical_constant(word, kind),
        Kind::Bytes => bytes(word).map(Constant::Bytes).ok_or(None),
        Kind::Mac => match bytes(word) {
            Some(bytes) if is_part || bytes.len() == 6 => Ok(Constant::Bytes(bytes)),
            Some(bytes) => Err(Some(format!("{} has {} bytes instead of 6", quoted(word), bytes.len()))),
            None => Err(None),
        },
        Kind::V4 | Kind::V6 => network(word, kind),
        Kind::Word(_) | Kind::Rank(_) | Kind::Rule | Kind::Finding => choice_constant(word, kind, is_part),
    }
}

fn text_constant(bytes: &[u8], kind: Kind, is_part: bool) -> ReadResult {
    match kind {
        Kind::Text | Kind::Named | Kind::Bytes | Kind::Dynamic => Ok(Constant::Bytes(bytes.to_vec())),
        Kind::Mac | Kind::Stamp | Kind::Endpoint if is_part => Ok(Constant::Bytes(bytes.to_vec())),
        Kind::Stamp | Kind::Endpoint => canonical_constant(&String::from_utf8_lossy(bytes), kind),
        Kind::Word(_) | Kind::Rank(_) | Kind::Rule | Kind::Finding => {
            choice_constant(&String::from_utf8_lossy(bytes), kind, is_part)
        }
        _ => Err(None),
    }
}

fn char_constant(byte: u8, kind: Kind) -> ReadResult {
    match kind {
        Kind::Int(..) | Kind::Named | Kind::Dynamic => Ok(Constant::Number(integer(byte.into()))),
        Kind::Bytes | Kind::Text => Ok(Constant::Bytes(vec![byte])),
        _ => Err(None),
    }
}

/// A time, or an address with a port, in the text form of the field, because such fields are compared as text.
fn canonical_constant(word: &str, kind: Kind) -> ReadResult {
    let text = match kind {
        Kind::Stamp => time(word).map(|time| format!("{time:.9}")),
        _ => word.parse::<SocketAddr>().ok().map(|endpoint| endpoint.to_string()),
    };
    text.map(|text| Constant::Bytes(text.into_bytes())).ok_or(None)
}

/// A time as in RFC 3339. The zone defaults to UTC, the time of day to midnight.
fn time(word: &str) -> Option<Timestamp> {
    let word = word.trim_end_matches(" UTC");
    let local = || word.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    word.parse().ok().or_else(|| Some(local()?.timestamp()))
}

/// A word from a list, a rule, or a rule prefix. With `is_part`, any text is accepted.
fn choice_constant(word: &str, kind: Kind, is_part: bool) -> ReadResult {
    let lower = word.to_ascii_lowercase();
    match kind {
        Kind::Word(_) if is_part => Ok(Constant::Bytes(word.as_bytes().to_vec())),
        Kind::Rule if is_part => Ok(Constant::Bytes(word.to_ascii_uppercase().into_bytes())),
        Kind::Word(words) | Kind::Rank(words) => {
            let names = words.all();
            match names.iter().position(|name| *name == lower) {
                Some(rank) if matches!(kind, Kind::Rank(_)) => Ok(Constant::Rank(rank as u8)),
                Some(_) => Ok(Constant::Bytes(lower.into_bytes())),
                None => Err(Some(unknown_word(word, words, &names))),
            }
        }
        Kind::Rule if crate::protocols::rules().any(|rule| rule.id.eq_ignore_ascii_case(word)) => {
            Ok(Constant::Bytes(word.to_ascii_uppercase().into_bytes()))
        }
        Kind::Finding if crate::protocols::rules().any(|rule| matches(word, rule)) => {
            Ok(Constant::Group(word.to_owned()))
        }
        _ => Err(Some(unknown_rule(word))),
    }
}

fn unknown_rule(word: &str) -> String {
    let name = quoted(word);
    if crate::protocols::rules().any(|rule| matches(word, rule)) {
        return format!("{name} is the beginning of several rules; write finding == {name}");
    }
    match similar(word, crate::protocols::rules().map(|rule| rule.id)) {
        Some(suggestion) => format!("there is no rule {name}; did you mean {suggestion}?"),
        None => format!("there is no rule {name}; `qdissect rule list` shows them all"),
    }
}

fn unknown_word(word: &str, words: Words, names: &[&str]) -> String {
    let noun = words.noun();
    match similar(word, names.iter().copied()) {
        Some(suggestion) => format!("there is no {noun} {}; did you mean {suggestion}?", quoted(word)),
        None => format!("there is no {noun} {}; known are {}", quoted(word), names.join(", ")),
    }
}

fn value_error(operand: &Operand<'_>, kind: Kind, field: &str, reason: Option<String>) -> FilterError {
    let value = crate::text::escape::escaped(operand.text).into_owned();
    let message = match (reason, kind, &operand.atom) {
        (Some(reason), ..) => {
            let mut chars = reason.chars();
            let first = chars.next().unwrap_or_default().to_uppercase();
            let full_stop = if reason.ends_with('?') { "" } else { "." };
            format!("{first}{}{full_stop}", chars.as_str())
        }
        (None, Kind::Presence, _) => {
            format!(
                "{field} is a group or a layer, which is there or not and has no value; name a field in it."
            )
        }
        (None, Kind::Text | Kind::Dynamic, Atom::Word(word)) => {
            format!("{field} is {}, which stands in quotes: {}.", kind.name(), quoted(word))
        }
        (None, ..) => {
            format!(
                "{field} is {}, and {value} is none; write a value such as {}.",
                kind.name(),
                kind.example()
            )
        }
    };
    FilterError::new(operand.span, message)
}

fn boolean(word: &str) -> Option<bool> {
    match word {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn integer(int: i128) -> Number {
    Number { int: Some(int), float: int as f64, nanos: int.saturating_mul(1_000_000_000) }
}

/// A number: decimal, hexadecimal with `0x`, binary with `0b`, octal with a leading zero, or a decimal fraction.
pub(super) fn number(word: &str) -> Option<Number> {
    let digits = word.trim_start_matches(['+', '-']);
    let sign: i128 = if word.starts_with('-') { -1 } else { 1 };
    if word.len().saturating_sub(digits.len()) > 1
        || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let parse_radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    let int = if let Some(hex) = lower.strip_prefix("0x") {
        Some(parse_radix(hex, 16)?)
    } else if let Some(binary) = lower.strip_prefix("0b") {
        Some(parse_radix(binary, 2)?)
    } else if lower.starts_with('0') && lower.bytes().all(|b| b.is_ascii_digit()) {
        Some(parse_radix(&lower, 8)?)
    } else {
        lower.parse().ok()
    };
    if let Some(int) = int {
        return Some(integer(sign.saturating_mul(i128::from(int))));
    }
    let float: f64 = lower.parse().ok().filter(|v: &f64| v.is_finite())?;
    let nanos = sign.saturating_mul(to_billionths(&lower).unwrap_or((float * 1e9).round() as i128));
    let float = if sign < 0 { -float } else { float };
    Some(Number { int: None, float, nanos })
}

/// A duration with its unit: `10ms`, `1.5s`.
fn seconds(word: &str) -> Option<Number> {
    let at = word.find(|c: char| c.is_ascii_alphabetic() || c == 'µ')?;
    let (value, unit) = (number(word.get(..at)?)?, word.get(at..)?);
    let scale: i128 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    // The value is in billionths, so scaling it to nanoseconds loses no digit that a time stamp can have.
    let nanos = value.nanos.saturating_mul(scale) / 1_000_000_000;
    Some(Number { int: None, float: nanos as f64 / 1e9, nanos })
}

/// Converts a decimal fraction to billionths without rounding; digits after the ninth are dropped. `None` if it has an
/// exponent.
fn to_billionths(digits: &str) -> Option<i128> {
    let (integer, fraction) = digits.split_once('.')?;
    let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let integer: i128 = if integer.is_empty() { 0 } else { i128::from(integer.parse::<u64>().ok()?) };
    integer.checked_mul(1_000_000_000)?.checked_add(i128::from(fraction.parse::<u32>().ok()?))
}

/// Bytes as hex digits: groups separated by `:`, `-` or `.`, or pairs without separators. A single byte may have a
/// leading `:`.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let word = word.strip_prefix(':').unwrap_or(word);
    let mut out = vec![];
    for group in word.split([':', '-', '.']) {
        let padded = if group.len() == 1 { format!("0{group}") } else { group.to_owned() };
        let bytes: Vec<u8> = from_hex(&padded).collect();
        if bytes.is_empty() || bytes.len().saturating_mul(2) != padded.len() {
            return None;
        }
        out.extend(bytes);
    }
    Some(out)
}

/// An address, or a network as an address with a prefix length.
fn network(word: &str, kind: Kind) -> ReadResult {
    let max_bits: u32 = if kind == Kind::V4 { 32 } else { 128 };
    let (address, bits) = word.split_once('/').unwrap_or((word, ""));
    let host_bits = match bits.parse() {
        _ if address == word => Some(0),
        Ok(bits) => max_bits.checked_sub(bits),
        Err(_) => None,
    };
    let Some(host_bits) = host_bits else {
        return Err(Some(format!("a network has at most {max_bits} bits and {} has /{bits}", quoted(word))));
    };
    match address.parse::<IpAddr>() {
        Ok(ip) if ip.is_ipv4() == (kind == Kind::V4) => {
            Ok(Constant::Network(ip, u128::MAX.checked_shl(host_bits).unwrap_or(0)))
        }
        Ok(IpAddr::V4(_)) => {
            Err(Some(format!("{} is an IPv4 address; compare it with ip.addr", quoted(word))))
        }
        Ok(IpAddr::V6(_)) => {
            Err(Some(format!("{} is an IPv6 address; compare it with ipv6.addr", quoted(word))))
        }
        Err(_) => Err(None),
    }
}
