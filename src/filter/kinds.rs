//! Types of fields and their compatibility in comparisons.

use crate::exchange::Outcome;
use crate::protocols::{Direction, Id, Level};
use crate::rule::Severity;

/// Type of a field, or of the result of a slice or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer within these bounds.
    Int(i64, u64),
    /// 32-bit float.
    Float,
    /// Seconds, exact to the nanosecond.
    Seconds,
    /// Yes or no.
    Bool,
    /// Yes or no. A test of presence holds if the value is yes.
    Flag,
    /// Text.
    Text,
    /// A calendar time, as text that sorts chronologically.
    Stamp,
    /// Address and port, as text.
    Endpoint,
    /// An integer whose values have names.
    Named,
    /// Bytes.
    Bytes,
    /// Six bytes.
    Mac,
    /// IPv4 address.
    V4,
    /// IPv6 address.
    V6,
    /// A word from a list.
    Word(Words),
    /// A word from an ordered list.
    Rank(Words),
    /// Identifier of a rule.
    Rule,
    /// A finding, compared by a prefix of its rule's identifier.
    Finding,
    /// A type that is announced in each message.
    Dynamic,
    /// Present or absent, without a value.
    Presence,
}

/// An unsigned integer of 32 bits.
pub(super) const UINT: Kind = Kind::Int(0, u32::MAX as u64);
/// An unsigned integer of 16 bits.
pub(super) const UINT16: Kind = Kind::Int(0, u16::MAX as u64);
/// An unsigned integer of 8 bits.
pub(super) const UINT8: Kind = Kind::Int(0, u8::MAX as u64);
/// An unsigned integer of 64 bits.
pub(super) const UINT64: Kind = Kind::Int(0, u64::MAX);
/// A signed integer of 32 bits.
pub(super) const INT: Kind = Kind::Int(i32::MIN as i64, i32::MAX as u64);
/// A signed integer of 64 bits.
pub(super) const INT64: Kind = Kind::Int(i64::MIN, i64::MAX as u64);

/// A closed list of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// Names of the messages of all protocols.
    Messages,
    /// Names of the protocols, in registry order.
    Protocols,
    Directions,
    Outcomes,
    /// Ascending.
    Severities,
    /// Levels of confidence, ascending.
    Confidence,
}

impl Words {
    /// The noun for a word of this list.
    pub fn noun(self) -> &'static str {
        self.noun_and_example().0
    }

    /// The noun for a word of this list, and an example of one, for messages.
    fn noun_and_example(self) -> (&'static str, &'static str) {
        match self {
            Words::Messages => ("message", "query_response"),
            Words::Protocols => ("protocol", "sqp"),
            Words::Directions => ("direction", "s2c"),
            Words::Outcomes => ("outcome", "unanswered"),
            Words::Severities => ("severity", "warning"),
            Words::Confidence => ("confidence", "high"),
        }
    }

    /// The words.
    pub fn all(self) -> Vec<&'static str> {
        use Outcome::*;
        match self {
            Words::Messages => messages(),
            Words::Protocols => Id::ALL.iter().map(|id| id.info().name).collect(),
            Words::Directions => [Direction::C2s, Direction::S2c].map(Direction::name).to_vec(),
            Words::Outcomes => [Answered, Late, Unanswered, Undecided, Refused].map(Outcome::name).to_vec(),
            Words::Severities => {
                [Severity::Note, Severity::Warning, Severity::Error].map(Severity::name).to_vec()
            }
            Words::Confidence => Level::ALL.iter().map(|level| level.name()).collect(),
        }
    }
}

fn messages() -> Vec<&'static str> {
    let mut all: Vec<&str> = vec![];
    for message in Id::ALL.iter().flat_map(|id| id.info().messages) {
        if !all.contains(&message.name) {
            all.push(message.name);
        }
    }
    all
}

/// Classes of kinds. Values of the same class can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Number,
    Time,
    Text,
    Bytes,
    V4,
    V6,
    Rank(Words),
    Alone,
}

impl Kind {
    /// A description of the kind that completes a sentence with "is ...".
    pub fn name(self) -> String {
        self.name_and_example().0
    }

    /// An example of a value, for messages.
    pub fn example(self) -> &'static str {
        self.name_and_example().1
    }

    fn name_and_example(self) -> (String, &'static str) {
        let (name, example) = match self {
            Kind::Int(min, max) => {
                return (format!("a whole number from {min} to {max}"), "7777 or 0x1e61");
            }
            Kind::Word(words) | Kind::Rank(words) => {
                return (format!("one of {}", words.all().join(", ")), words.noun_and_example().1);
            }
            Kind::Float => ("a number", "0.25"),
            Kind::Seconds => ("a number of seconds", "0.25"),
            Kind::Bool | Kind::Flag => ("true or false", "true"),
            Kind::Text => ("a text", "\"text\""),
            Kind::Stamp => ("a time", "\"2026-11-20 10:32:00.5\""),
            Kind::Endpoint => ("an address with a port", "\"192.0.2.10:7777\" or \"[2001:db8::30]:9010\""),
            Kind::Named => ("a number with a name", "3 or \"name\""),
            Kind::Bytes => ("a sequence of bytes", "de:ad:be:ef or \"text\""),
            Kind::Mac => ("an Ethernet address", "02:00:5e:00:53:01"),
            Kind::V4 => ("an IPv4 address", "192.0.2.10 or 192.0.2.0/24"),
            Kind::V6 => ("an IPv6 address", "2001:db8::1 or 2001:db8::/32"),
            Kind::Rule => ("the identifier of a rule", "\"SQP-STR-002\""),
            Kind::Finding => ("a finding", "\"SQP-STR\""),
            Kind::Dynamic => ("a value of a type that the message announces", "\"text\""),
            Kind::Presence => ("a group or a layer", "nothing"),
        };
        (name.to_owned(), example)
    }

    fn class(self) -> Class {
        match self {
            Kind::Int(..) | Kind::Float | Kind::Bool | Kind::Flag => Class::Number,
            Kind::Seconds => Class::Time,
            Kind::Text | Kind::Stamp | Kind::Endpoint | Kind::Named | Kind::Word(_) | Kind::Rule => {
                Class::Text
            }
            Kind::Bytes | Kind::Mac => Class::Bytes,
            Kind::V4 => Class::V4,
            Kind::V6 => Class::V6,
            Kind::Rank(words) => Class::Rank(words),
            Kind::Finding | Kind::Dynamic | Kind::Presence => Class::Alone,
        }
    }

    /// Whether a field of this kind can be compared with a field of the other kind.
    pub fn compares(self, other: Kind) -> bool {
        match (self, other) {
            (Kind::Presence | Kind::Finding, _) | (_, Kind::Presence | Kind::Finding) => false,
            (Kind::Dynamic, other) | (other, Kind::Dynamic) => {
                matches!(other.class(), Class::Number | Class::Text | Class::Alone)
            }
            // Named numbers compare both as numbers and as texts.
            (Kind::Named, other) | (other, Kind::Named) => {
                matches!(other.class(), Class::Number | Class::Text)
            }
            (a, b) => a.class() == b.class(),
        }
    }

    /// Whether slices and `len` apply to it.
    pub fn has_bytes(self) -> bool {
        matches!(
            self,
            Kind::Text
                | Kind::Stamp
                | Kind::Endpoint
                | Kind::Bytes
                | Kind::Mac
                | Kind::V4
                | Kind::V6
                | Kind::Dynamic
                | Kind::Rule
        )
    }

    /// Whether `upper` and `lower` apply to it.
    pub fn has_case(self) -> bool {
        self.class() == Class::Text || self == Kind::Dynamic
    }

    /// Whether `contains` and `matches` apply to it.
    pub fn has_parts(self) -> bool {
        self.has_case() || self.class() == Class::Bytes
    }

    /// Whether `string` applies to it.
    pub fn has_string(self) -> bool {
        !matches!(self, Kind::Presence | Kind::Finding | Kind::Bytes)
    }
}
