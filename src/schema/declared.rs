//! Schemas of rules and protocols: their results, and their declarations.

use super::object::{Object, form, list, of, or_null, term, text, whole, words};
use super::packets;
use super::terms::LONGEST;
use crate::docs;
use crate::rule::Side;
use crate::verdict::Outcome;
use serde_json::{Value, json};

/// `rule`: three commands write this type, each in its own form.
pub fn rule() -> Value {
    json!({ "description": "A rule.", "oneOf": [of("rule.broken"), of("rule.judged"), of("rule.declared")] })
}

/// `rule` as `summary` writes it.
pub fn broken() -> Value {
    Object::record("rule")
        .key("id", term("rule_id"))
        .key("title", text())
        .key("count", term("number"))
        .key("finding_counts", term("finding_counts"))
        .key("file", or_null(term("file")))
        .key("first_frame", term("number"))
        .end("A rule that was broken: what summary writes.")
}

/// `rule` as `check` writes it.
pub fn judged() -> Value {
    Object::record("rule")
        .key("id", term("rule_id"))
        .key("result", words(Outcome::ALL.iter().map(|outcome| outcome.name())))
        .key("count", term("count"))
        .end("What became of a rule: what check writes.")
}

/// `rule` as `rule list` and `rule show` write it.
pub fn declared() -> Value {
    let source = Object::default().keys(&["document", "section"], &text()).key("url", or_null(text()));
    let example = Object::default()
        .key("server_port", or_null(whole(0, LONGEST)))
        .key("at_start", json!({ "type": "boolean" }))
        .key("steps", list(json!({ "oneOf": steps() })))
        .key("records", list(packets::played()))
        .end("A conversation that breaks the rule.");
    Object::record("rule")
        .key("id", term("rule_id"))
        .key("name", form("[a-z0-9-]+"))
        .key("protocol", or_null(term("protocol")))
        .keys(&["severity", "strict", "lenient"], &term("severity"))
        .key("fault", words(Side::ALL.iter().map(|side| side.name())))
        .keys(&["title", "why"], &text())
        .key("per_server", json!({ "type": "boolean" }))
        .key("source", source.end(""))
        .maybe("examples", list(example))
        .end("What is declared of a rule: what rule list writes, and rule show with examples.")
}

/// The steps of an example: what is sent, or how long is waited.
fn steps() -> [Value; 4] {
    let ends = words(["client", "second client", "server"]);
    [
        Object::default().keys(&["from", "to"], &ends).key("payload", term("hex")).end("A datagram."),
        Object::default()
            .key("link", whole(0, LONGEST))
            .key("wire_length", term("count"))
            .key("frame", term("hex"))
            .end("A whole frame."),
        Object::default().key("copy", json!({ "const": true })).end("The frame before it once more."),
        Object::default().key("wait", term("seconds")).end("A pause."),
    ]
}

/// `protocol`: in short from `protocol list`, in full from `protocol show`.
pub fn protocol() -> Value {
    json!({ "description": "A protocol.", "oneOf": [of("protocol.listed"), of("protocol.shown")] })
}

fn about_protocol() -> Object {
    Object::record("protocol")
        .key("name", term("protocol"))
        .key("title", text())
        .key("ports", list(whole(0, LONGEST)))
        .key("specification", text())
        .key("rules", term("count"))
        .key("rule_counts", term("finding_counts"))
}

/// `protocol` as `protocol list` writes it.
pub fn listed() -> Value {
    about_protocol().end("A protocol: what protocol list writes.")
}

/// `protocol` as `protocol show` writes it.
pub fn shown() -> Value {
    let step = Object::default()
        .key("name", text())
        .key("key_digits", term("count"))
        .keys(&["answer_window", "late_window"], &term("seconds"))
        .key("address_proven", json!({ "type": "boolean" }));
    let kinds = docs::KINDS.into_iter().map(|kind| docs::words(kind).0);
    let field = Object::default()
        .key("name", form("[a-z0-9_.\\[\\]]+"))
        .key("type", words(kinds))
        .key("about", text());
    about_protocol()
        .key("first_bytes", list(form("[0-9a-f]{2}")))
        .key("steps", list(step.end("A question and its answer.")))
        .key("messages", list(text()))
        .key("fields", list(field.end("A field of its messages.")))
        .end("A protocol with all that is declared of it: what protocol show writes.")
}
