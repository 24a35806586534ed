//! Schemas of packets and exchanges. The `fields` of packets follow from what the protocols declare of their messages.

use super::{Object, list, list_of, or_null, reference, term};
use crate::capture::MAX_PACKET_COMMENTS;
use crate::decode::{Field, FieldKind, SHARED_FIELDS};
use crate::exchange::Outcome;
use crate::net::{MAX_DEPTH, MAX_FRAMES};
use crate::protocols::{Id, Info, ShownKey, StepInfo};
use crate::report::terms::{pattern, text};
use crate::schema::declared;
use crate::text::markdown::paragraph;
use serde_json::{Value, json};

/// `packet`: a message, or a datagram that no protocol claims.
pub fn packet() -> Value {
    json!({ "description": "A datagram.", "oneOf": datagrams(), "properties": { "file": term("file") } })
}

/// `exchange`
pub fn exchange() -> Value {
    let exchange = reference("exchange.any");
    json!({ "description": "An exchange.", "allOf": [exchange], "properties": { "file": term("file") } })
}

/// A packet or an exchange in the examples of rules, which belong to no file.
pub fn example_record() -> Value {
    let all: Vec<_> = datagrams().into_iter().chain([reference("exchange.any")]).collect();
    json!({ "oneOf": all, "properties": { "file": { "type": "null" } } })
}

fn datagrams() -> [Value; 2] {
    [reference("packet.claimed"), reference("packet.unclaimed")]
}

/// The beginning of the record of any datagram.
fn head() -> Object {
    Object::record("packet")
        .key("file", or_null(term("file")))
        .key("frame", term("number"))
        .key("time", or_null(term("time")))
        .key("src", term("endpoint"))
        .key("dst", term("endpoint"))
        .optional("encapsulation", list_of(term("tunnel"), 1, MAX_DEPTH))
        .optional("fragments", list_of(term("number"), 1, MAX_FRAMES))
        .optional("comment", list_of(text(), 1, MAX_PACKET_COMMENTS))
}

/// A datagram that no protocol claims.
pub fn unclaimed() -> Value {
    let null = json!({ "type": "null" });
    head()
        .keys(&["protocol", "message", "confidence"], &null)
        .key("payload_length", term("length"))
        .optional("captured_length", term("length"))
        .key("payload", term("payload"))
        .key("looks_like", or_null(term("looks_like")))
        .end("With --all: a datagram that no protocol claims. Without -x its first 64 bytes are shown.")
}

/// A datagram of a protocol.
pub fn claimed() -> Value {
    let variants: Vec<_> = messages()
        .map(|(info, message)| {
            let fields = reference(&name(info, message));
            json!({ "properties": {
                "protocol": { "const": info.name }, "message": { "const": message }, "fields": fields,
            } })
        })
        .collect();
    head()
        .key("protocol", term("protocol"))
        .key("message", text())
        .key("direction", term("direction"))
        .key("confidence", term("confidence"))
        .key("payload_length", term("length"))
        .optional("payload", term("payload"))
        .key("fields", json!({ "type": "object" }))
        .optional("heartbeat_of", term("endpoint"))
        .optional("exchange", term("number"))
        .optional("request_frame", term("number"))
        .optional("request_file", term("file"))
        .optional("response_time", or_null(term("seconds")))
        .optional("retransmission", json!({ "const": true }))
        .optional("duplicate_of", term("number"))
        .optional("duplicate_file", term("file"))
        .optional("captured_length", term("length"))
        .key("findings", list(reference("packet.finding")))
        .optional("more_findings", term("number"))
        .optional("diagnosis", term("diagnosis"))
        .needs("request_frame", "exchange")
        .needs("request_frame", "response_time")
        .needs("response_time", "request_frame")
        .needs("request_file", "request_frame")
        .needs("retransmission", "exchange")
        .needs("duplicate_file", "duplicate_of")
        .with_keyword("not", json!({ "required": ["request_frame", "duplicate_of"] }))
        .with_keyword("oneOf", variants.into())
        .end("A message of a protocol.")
}

/// A broken rule in a record; `bytes` is the schema of the ends of its bytes.
pub fn finding(bytes: Value, about: &str) -> Value {
    Object::default()
        .key("rule", term("rule_id"))
        .key("severity", term("severity"))
        .key("field", or_null(term("field")))
        .keys(&["start", "end"], &bytes)
        .key("message", text())
        .keys(&["found", "expected"], &or_null(text()))
        .optional("caused_by", term("cause"))
        .end(about)
}

/// A request and its outcome, in a file or not.
pub fn any_exchange() -> Value {
    let steps_of = |info: &'static Info| info.named_steps().map(|step| (info.name, step));
    let steps = Id::ALL.iter().flat_map(|id| steps_of(id.info()));
    let variants: Vec<_> = steps
        .map(|(protocol, step)| {
            json!({ "properties": {
                "protocol": { "const": protocol }, "step": { "const": step.name }, "key": key(step),
            } })
        })
        .collect();
    let refused = json!({ "properties": { "outcome": { "const": Outcome::Refused.name() } } });
    Object::record("exchange")
        .key("id", term("number"))
        .key("file", or_null(term("file")))
        .key("protocol", term("protocol"))
        .key("step", text())
        .keys(&["client", "server"], &term("endpoint"))
        .key("key", json!({ "type": ["string", "null"] }))
        .keys(&["client_ip", "server_ip"], &text())
        .keys(&["client_port", "server_port"], &json!({ "type": "integer", "minimum": 0, "maximum": 65535 }))
        .key("request_time", or_null(term("time")))
        .key("request_frame", term("number"))
        .optional("request_file", term("file"))
        .key("response_frames", list(term("number")))
        .optional("response_files", list(term("file")))
        .key("outcome", term("outcome"))
        .optional("answer", text())
        .key("response_time", or_null(term("seconds")))
        .keys(&["request_bytes", "response_bytes"], &term("count"))
        .key("confidence", term("confidence"))
        .optional("reason", text())
        .optional("retransmissions", term("number"))
        .key("findings", list(reference("exchange.finding")))
        .with_keyword("oneOf", variants.into())
        .with_keyword("if", refused)
        .with_keyword("then", json!({ "required": ["reason"] }))
        .with_keyword("else", json!({ "properties": { "reason": false } }))
        .end("A request and what became of it.")
}

/// The key that pairs an answer with its request; null where they are paired by order, and where the request ends before
/// the key.
fn key(step: &StepInfo) -> Value {
    let hex = |digits: usize| pattern(&format!("0x[0-9a-f]{{{digits}}}"));
    match (step.shown_key, step.key_digits) {
        (ShownKey::Byte(_), _) => hex(2),
        (ShownKey::Bytes(bytes, _), _) => or_null(hex(2 * bytes)),
        (ShownKey::Text(_), _) => or_null(text()),
        (ShownKey::Number, 0) => json!({ "type": "null" }),
        (ShownKey::Number, digits) => or_null(hex(digits)),
    }
}

/// Every message by protocol and name, each once.
pub fn messages() -> impl Iterator<Item = (&'static Info, &'static str)> {
    Id::ALL.iter().flat_map(|id| declared::messages(*id).into_iter().map(|name| (id.info(), name)))
}

/// The name in `$defs` of the fields of a message.
pub fn name(info: &Info, message: &str) -> String {
    format!("fields.{}.{message}", info.name)
}

/// The `fields` object of a message. All of its keys are optional, because decoding may stop anywhere.
pub fn fields(info: &Info, message: &str) -> Value {
    let mut all: Vec<&Field> = info.fields.iter().copied().flatten().copied().collect();
    all.extend(SHARED_FIELDS);
    object(&all, "", &format!("The fields of {} {message}.", info.name))
}

/// The object of the fields whose path is `prefix` and one more name.
fn object(all: &[&Field], prefix: &str, about: &str) -> Value {
    let is_direct =
        |field: &&&Field| field.name.strip_prefix(prefix).is_some_and(|rest| !rest.contains(['.', '[']));
    let mut object = Object::default();
    for field in all.iter().filter(is_direct) {
        object = object.optional(field.key, value(all, field));
        if let Some(schema) = hex_schema(all, field) {
            let name = format!("{}_hex", field.key);
            object = object.optional(name.as_str(), schema).needs(&name, field.key);
        }
    }
    object.end(about)
}

/// The schema of a field's value.
fn value(all: &[&Field], field: &Field) -> Value {
    let about = paragraph(field.about);
    let mut schema = match field.kind {
        FieldKind::Group => return object(all, &format!("{}.", field.name), &about),
        FieldKind::List => list(element(all, field).map_or(json!(false), |element| value(all, element))),
        FieldKind::Uint => term("uint"),
        FieldKind::Uint64 => term("uint64"),
        FieldKind::Int => term("int"),
        FieldKind::Int64 => term("int64"),
        FieldKind::Bool => json!({ "type": "boolean" }),
        FieldKind::Float32 => term("float32"),
        FieldKind::Text => text(),
        FieldKind::Named => term("named"),
        FieldKind::Names => list(text()),
        FieldKind::Bytes => term("bytes"),
        FieldKind::Dynamic => match element(all, field) {
            Some(element) => json!({ "anyOf": [term("dynamic"), list(value(all, element))] }),
            None => term("dynamic"),
        },
    };
    schema["description"] = about.into();
    schema
}

/// The field of the elements of a list.
fn element<'a>(all: &[&'a Field], list: &Field) -> Option<&'a Field> {
    all.iter().copied().find(|field| field.name.strip_suffix("[]") == Some(list.name))
}

/// The schema of the `_hex` key of a value that is, or may contain, damaged text: its bytes, in the shape of the value.
fn hex_schema(all: &[&Field], field: &Field) -> Option<Value> {
    match field.kind {
        FieldKind::Text | FieldKind::Dynamic => Some(term("hex")),
        FieldKind::List => element(all, field).and_then(|element| element_hex_schema(all, element)).map(list),
        _ => None,
    }
}

/// The schema of such bytes in a list, in which null stands for an undamaged element.
fn element_hex_schema(all: &[&Field], field: &Field) -> Option<Value> {
    let schema = hex_schema(all, field)?;
    Some(if field.kind == FieldKind::List { schema } else { or_null(schema) })
}
