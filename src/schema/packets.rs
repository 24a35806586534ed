//! Packets and exchanges.

use super::fields::{self, messages};
use super::object::{Object, form, list, list_of, of, or_null, text};
use super::terms::LONGEST;
use crate::exchange::Outcome;
use crate::net::{MAX_DEPTH, MAX_FRAMES};
use crate::protocols::{Id, StepInfo};
use serde_json::{Value, json};

/// `packet`: of a message, or of a datagram that nobody claims.
pub fn packet() -> Value {
    json!({ "description": "A datagram.", "oneOf": [of("packet.claimed"), of("packet.unclaimed")] })
}

/// What every record of a datagram begins with.
fn head() -> Object {
    Object::record("packet")
        .key("file", of("file"))
        .key("frame", of("number"))
        .key("time", or_null(of("time")))
        .key("src", of("endpoint"))
        .key("dst", of("endpoint"))
        .maybe("encapsulation", list_of(of("tunnel"), 1, MAX_DEPTH))
        .maybe("fragments", list_of(of("number"), 1, MAX_FRAMES))
}

/// A datagram that no protocol claims.
pub fn unclaimed() -> Value {
    let null = json!({ "type": "null" });
    head()
        .keys(&["protocol", "message", "confidence"], &null)
        .key("payload_length", of("length"))
        .end("With --all: a datagram that no protocol claims.")
}

/// A datagram of a protocol.
pub fn claimed() -> Value {
    let variants: Vec<_> = messages()
        .map(|(info, message)| {
            let fields = of(&fields::name(info, message));
            json!({ "properties": {
                "protocol": { "const": info.name }, "message": { "const": message }, "fields": fields,
            } })
        })
        .collect();
    head()
        .key("protocol", of("protocol"))
        .key("message", text())
        .key("direction", of("direction"))
        .key("confidence", of("confidence"))
        .key("payload_length", of("length"))
        .key("fields", json!({ "type": "object" }))
        .maybe("exchange", of("number"))
        .maybe("request_frame", of("number"))
        .maybe("request_file", of("file"))
        .maybe("response_time", or_null(of("seconds")))
        .maybe("retransmission", json!({ "const": true }))
        .maybe("duplicate_of", of("number"))
        .maybe("duplicate_file", of("file"))
        .maybe("captured_length", of("length"))
        .key("findings", list(of("packet.finding")))
        .maybe("more_findings", of("number"))
        .needs("request_frame", "exchange")
        .needs("request_frame", "response_time")
        .needs("response_time", "request_frame")
        .needs("request_file", "request_frame")
        .needs("retransmission", "exchange")
        .needs("duplicate_file", "duplicate_of")
        .with("not", json!({ "required": ["request_frame", "duplicate_of"] }))
        .with("oneOf", variants.into())
        .end("A message of a protocol.")
}

/// A broken rule in the record of a packet.
pub fn packet_finding() -> Value {
    finding(of("length"), "A rule that the packet breaks.")
}

/// The same in the record of an exchange, which has no bytes.
pub fn exchange_finding() -> Value {
    finding(json!({ "type": "null" }), "A rule that the exchange breaks.")
}

fn finding(bytes: Value, about: &str) -> Value {
    Object::default()
        .key("rule", of("rule_id"))
        .key("severity", of("severity"))
        .key("field", or_null(of("field")))
        .keys(&["start", "end"], &bytes)
        .key("message", text())
        .maybe("caused_by", of("cause"))
        .end(about)
}

/// `exchange`
pub fn exchange() -> Value {
    let steps = Id::ALL.iter().flat_map(|id| id.info().steps.iter().map(|step| (id.info().name, step)));
    let variants: Vec<_> = steps
        .map(|(protocol, step)| {
            json!({ "properties": {
                "protocol": { "const": protocol }, "step": { "const": step.name }, "key": key(step),
            } })
        })
        .collect();
    let refused = json!({ "properties": { "outcome": { "const": Outcome::Refused.name() } } });
    Object::record("exchange")
        .key("id", of("number"))
        .key("file", of("file"))
        .key("protocol", of("protocol"))
        .key("step", text())
        .keys(&["client", "server"], &of("endpoint"))
        .key("key", json!({ "type": ["string", "null"] }))
        .key("request_frame", of("number"))
        .maybe("request_file", of("file"))
        .key("response_frames", list(of("number")))
        .maybe("response_files", list(of("file")))
        .key("outcome", of("outcome"))
        .key("response_time", or_null(of("seconds")))
        .keys(&["request_bytes", "response_bytes"], &of("count"))
        .maybe("reason", text())
        .maybe("retransmissions", of("number"))
        .key("findings", list(of("exchange.finding")))
        .with("oneOf", variants.into())
        .with("if", refused)
        .with("then", json!({ "required": ["reason"] }))
        .with("else", json!({ "properties": { "reason": false } }))
        .end("A request and what became of it.")
}

/// What ties answer to request; null where order does.
fn key(step: &StepInfo) -> Value {
    match step.key_digits {
        0 => json!({ "type": "null" }),
        digits => form(&format!("0x[0-9a-f]{{{digits}}}")),
    }
}

/// `finding`, of `check`.
pub fn judged_finding() -> Value {
    Object::record("finding")
        .key("rule", of("rule_id"))
        .key("severity", of("severity"))
        .key("file", of("file"))
        .key("frame", of("number"))
        .key("protocol", of("protocol"))
        .keys(&["server", "client"], &of("endpoint"))
        .key("fault", of("fault"))
        .key("confidence", of("confidence"))
        .key("field", or_null(of("field")))
        .keys(&["start", "end"], &json!({ "type": ["integer", "null"], "minimum": 0, "maximum": LONGEST }))
        .key("file_offset", or_null(of("count")))
        .key("exchange", or_null(of("number")))
        .key("message", text())
        .key("caused_by", or_null(of("cause")))
        .maybe("count", of("number"))
        .maybe("baseline", json!({ "const": true }))
        .maybe("suppressed", text())
        .end("A rule that a packet or an exchange breaks, with all that is known of it: what check writes.")
}
