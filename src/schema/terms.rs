//! Schemas that records of several types share.

use super::object::{Object, form, term, text, whole, words};
use crate::decode::SECRET;
use crate::exchange::Outcome;
use crate::protocols::{Direction, Id, Level};
use crate::rule::{Severity, Side};
use serde_json::{Value, json};

/// Largest length and offset of bytes in a UDP payload.
pub const LONGEST: i64 = u16::MAX as i64;

/// The names and schemas of all terms.
pub fn terms() -> Vec<(String, Value)> {
    let mut all = vec![];
    let mut add = |name: &str, about: &str, mut schema: Value| {
        schema["description"] = about.into();
        all.push((format!("term.{name}"), schema));
    };
    add("file", "Name of a capture as it was given; - is standard input.", text());
    add(
        "number",
        "Number of a frame or an exchange, counted from 1.",
        json!({ "type": "integer", "minimum": 1 }),
    );
    add("count", "How many.", json!({ "type": "integer", "minimum": 0 }));
    add("seconds", "A duration in seconds.", json!({ "type": "number" }));
    add("length", "Bytes of a UDP payload, or an offset among them.", whole(0, LONGEST));
    add("time", "RFC 3339 in UTC with nine decimals.", form(TIME));
    add(
        "endpoint",
        "Address and UDP port; IPv6 in brackets.",
        form(&format!("({V4}|\\[{V6}\\]):[0-9]{{1,5}}")),
    );
    add("address", "An address without port.", form(&format!("{V4}|{V6}")));
    add("hex", "Bytes as hex digits.", form(HEX));
    add(
        "payload",
        "Bytes as hex digits; each that belongs to a password is two asterisks.",
        form("([0-9a-f]{2}|[*]{2})*"),
    );
    add("link", "Name of a link type, or linktype_ and its number.", form("[a-z0-9_]+"));
    add("tunnel", "A tunnel that a datagram came through.", form(TUNNEL));
    add("field", "Path of a field, with indices.", form(PATH));
    add("protocol", "A protocol.", words(Id::ALL.iter().map(|id| id.info().name)));
    add("rule_id", "Id of a rule.", words(crate::protocols::rules().map(|rule| rule.id)));
    add("severity", "How bad a finding is.", words(Severity::ALL.iter().map(|s| s.name())));
    add("confidence", "How sure the recognition is.", words(Level::ALL.iter().map(|level| level.name())));
    add("direction", "From client to server, or back.", words(Direction::ALL.iter().map(|d| d.name())));
    add("outcome", "How an exchange ended.", words(Outcome::ALL.iter().map(|o| o.name())));
    let sides = Side::ALL.iter().filter(|side| **side != Side::Sender);
    add("fault", "Who is at fault.", words(sides.map(|side| side.name())));
    let counts = Severity::ALL.iter().fold(Object::default(), |o, s| o.key(s.name(), term("count")));
    add("finding_counts", "Findings by severity.", counts.end(""));
    let cause = Object::default().key("rule", term("rule_id")).key("frame", term("number"));
    add("cause", "The finding that made another one happen.", cause.maybe("file", term("file")).end(""));
    // Values of fields.
    add("uint", "Unsigned integer of at most 32 bits.", whole(0, u32::MAX.into()));
    add("int", "Signed integer of at most 32 bits.", whole(i32::MIN.into(), i32::MAX.into()));
    add("uint64", "Unsigned integer of 64 bits in decimal.", form("0|[1-9][0-9]{0,19}"));
    add(
        "float32",
        "A float, or the name of one that is not finite.",
        json!({ "anyOf": [{ "type": "number" }, { "enum": NOT_FINITE }] }),
    );
    add("named", "A name; the number where it has none.", json!({ "anyOf": [text(), term("uint")] }));
    add(
        "bytes",
        "Bytes as hex digits; passwords are masked.",
        form(&format!("{HEX}|[*]{{{}}}", SECRET.len())),
    );
    add(
        "dynamic",
        "A value of the type that the message announces.",
        json!({ "type": ["boolean", "number", "string"] }),
    );
    all
}

/// The floats that the records write as names, for JSON has no numbers that are not finite.
const NOT_FINITE: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
/// An even number of digits.
const HEX: &str = "([0-9a-f]{2})*";
const TIME: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}Z";
const V4: &str = "[0-9]{1,3}([.][0-9]{1,3}){3}";
/// The last 32 bits may be written as IPv4.
const V6: &str = "[0-9a-f:.]*:[0-9a-f:.]*";
/// See [`crate::net::Tunnel`].
const TUNNEL: &str = "ipip|6in4|4in6|ip6ip6|other|gre|erspan|(gre|erspan|vxlan|geneve):(0|[1-9][0-9]{0,9})";
const PATH: &str = r"[a-z0-9_]+(\[[0-9]+\])*([.][a-z0-9_]+(\[[0-9]+\])*)*";
