//! Terms that records of several types share, as wrapper types around their values: the type gives the schema.

use crate::capture::compressions;
use crate::classify::looks_like;
use crate::decode::SECRET;
use crate::exchange;
use crate::protocols::{self, Id, Level};
use crate::rule::{self, Side};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Largest length and offset of bytes in a UDP payload.
pub const LONGEST: i64 = u16::MAX as i64;

/// Declares terms: their description, the type around a value, their name in `$defs` after `term.`, and their schema.
macro_rules! terms {
    ($($(#[doc = $about:literal])+ $Term:ident = $name:literal: $schema:expr;)*) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, Serialize)]
            #[serde(transparent)]
            pub struct $Term<T>(pub T);

            impl<T> JsonSchema for $Term<T> {
                fn schema_name() -> Cow<'static, str> {
                    concat!("term.", $name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    described(concat!($($about),+), $schema)
                }
            }
        )*

        /// Adds the definitions of all terms.
        pub fn define_all(generator: &mut SchemaGenerator) {
            $(generator.subschema_for::<$Term<()>>();)*
        }
    };
}

terms! {
    /// Name of a capture as it was given; - is standard input.
    File = "file": text();
    /// Number of a frame or an exchange, counted from 1.
    Number = "number": json!({ "type": "integer", "minimum": 1 });
    /// How many.
    Count = "count": json!({ "type": "integer", "minimum": 0 });
    /// A duration in seconds.
    Seconds = "seconds": json!({ "type": "number" });
    /// Bytes of a UDP payload, or an offset among them.
    Length = "length": integer(0, LONGEST);
    /// RFC 3339 in UTC with nine decimals.
    Time = "time": pattern(TIME);
    /// Address and UDP port; IPv6 in brackets.
    Endpoint = "endpoint": pattern(&format!("({V4}|\\[{V6}\\]):[0-9]{{1,5}}"));
    /// An address without port.
    Address = "address": pattern(&format!("{V4}|{V6}"));
    /// Bytes as hex digits.
    Hex = "hex": pattern(HEX);
    /// Bytes as hex digits; each that belongs to a password is two asterisks.
    Payload = "payload": pattern("([0-9a-f]{2}|[*]{2})*");
    /// Name of a link type, or linktype_ and its number.
    Link = "link": pattern("[a-z0-9_]+");
    /// How a file is compressed.
    Compression = "compression": one_of(compressions());
    /// A tunnel that a datagram came through.
    Tunnel = "tunnel": pattern(TUNNEL);
    /// Path of a field, with indices.
    Field = "field": pattern(PATH);
    /// A protocol.
    Protocol = "protocol": one_of(Id::ALL.iter().map(|id| id.info().name));
    /// What a datagram that no protocol claims looks like.
    LooksLike = "looks_like": one_of(looks_like::names());
    /// Id of a rule.
    RuleId = "rule_id": one_of(protocols::rules().map(|rule| rule.id));
    /// How bad a finding is.
    Severity = "severity": one_of(rule::Severity::ALL.iter().map(|severity| severity.name()));
    /// How sure the recognition is.
    Confidence = "confidence": one_of(Level::ALL.iter().map(|level| level.name()));
    /// From client to server, or back.
    Direction = "direction": one_of(protocols::Direction::ALL.iter().map(|direction| direction.name()));
    /// How an exchange ended.
    Outcome = "outcome": one_of(exchange::Outcome::ALL.iter().map(|outcome| outcome.name()));
    /// Who is at fault.
    Fault = "fault": one_of(Side::ALL.iter().filter(|side| **side != Side::Sender).map(|side| side.name()));
    /// Unsigned integer of at most 32 bits.
    Uint = "uint": integer(0, u32::MAX.into());
    /// Signed integer of at most 32 bits.
    Int = "int": integer(i32::MIN.into(), i32::MAX.into());
    /// Unsigned integer of 64 bits in decimal.
    Uint64 = "uint64": pattern("0|[1-9][0-9]{0,19}");
    /// Signed integer of 64 bits in decimal.
    Int64 = "int64": pattern("0|-?[1-9][0-9]{0,18}");
    /// A float, or the name of one that is not finite.
    Float32 = "float32": json!({ "anyOf": [{ "type": "number" }, { "enum": NOT_FINITE }] });
    /// A name; the number where it has none.
    Named = "named": json!({ "anyOf": [text(), integer(0, u32::MAX.into())] });
    /// Bytes as hex digits; passwords are masked.
    Bytes = "bytes": pattern(&format!("{HEX}|[*]{{{}}}", SECRET.len()));
    /// A value of any field, or a count. Names of bits are a list.
    AnyValue = "any_value": json!({
        "anyOf": [{ "type": ["boolean", "number", "string"] }, { "type": "array", "items": text() }],
    });
    /// A value of the type that the message announces.
    Dynamic = "dynamic": json!({ "type": ["boolean", "number", "string"] });
}

/// Floats that records write as names, because JSON has only finite numbers.
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
/// An even number of digits.
const HEX: &str = "([0-9a-f]{2})*";
const TIME: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}Z";
const V4: &str = "[0-9]{1,3}([.][0-9]{1,3}){3}";
/// The last 32 bits may be written as IPv4.
const V6: &str = "[0-9a-f:.]*:[0-9a-f:.]*";
/// See [`crate::net::Tunnel`].
const TUNNEL: &str =
    "ipip|6in4|4in6|ip6ip6|other|gre|erspan|(gre|pptp|erspan|vxlan|geneve|gtp):(0|[1-9][0-9]{0,9})";
const PATH: &str = r"[a-z0-9_]+(\[[0-9]+\])*([.][a-z0-9_]+(\[[0-9]+\])*)*";

/// A schema with the text of a doc comment as its description.
fn described(about: &str, schema: Value) -> Schema {
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    schema.insert("description".to_owned(), about.trim().into());
    schema
}

/// A word of a closed set.
pub fn one_of(names: impl IntoIterator<Item = &'static str>) -> Value {
    json!({ "enum": names.into_iter().collect::<Vec<_>>() })
}

/// Text that matches a regular expression as a whole.
pub fn pattern(expression: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^(?:{expression})$") })
}

/// Any text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// A whole number from `least` to `most`.
pub fn integer(least: i64, most: i64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}
