//! Rules and protocols as records.

use crate::check::{Counts, Finding};
use crate::decode::Field;
use crate::docs;
use crate::example;
use crate::example::Act;
use crate::exchange::Windows;
use crate::pipeline::Options;
use crate::protocols::{Id, Level};
use crate::report::{Form, Output, Records};
use crate::rule::{Example, Rule, Step, hex};
use serde_json::{Value, json};

/// Converts nanoseconds to seconds.
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// The record of a rule.
pub fn rule(rule: &Rule) -> Value {
    let severity = rule.severity;
    let cite = &rule.cite;
    json!({
        "type": "rule", "id": rule.id, "name": rule.slug(), "protocol": Id::of_rule(rule).map(|id| id.info().name),
        "severity": severity.name(), "strict": rule.strict.unwrap_or(severity).name(),
        "lenient": rule.lenient.unwrap_or(severity).name(), "fault": rule.side.name(), "title": rule.title,
        "why": docs::paragraph(rule.why), "per_server": rule.per_server,
        "source": { "document": cite.doc, "section": cite.section,
                    "url": Some(cite.url).filter(|url| !url.is_empty()) },
    })
}

/// The record of a rule with its examples: their datagrams and the resulting records.
pub fn rule_with_examples(r: &Rule) -> Value {
    let mut record = rule(r);
    record["examples"] = r.examples.iter().map(example).collect();
    record
}

fn example(example: &Example) -> Value {
    json!({
        "server_port": example.server_port, "at_start": example.at_start,
        "steps": example.steps.iter().map(step).collect::<Vec<_>>(), "records": played(example),
    })
}

fn step(step: &Step) -> Value {
    match Act::of(step) {
        Act::Send { direction, client, payload } => {
            let [from, to] = direction.order([["client", "second client"][client], "server"]);
            json!({ "from": from, "to": to, "payload": digits(payload) })
        }
        Act::Frame(link, wire_len, text) => {
            json!({ "link": link, "wire_length": wire_len, "frame": digits(text) })
        }
        Act::Copy => json!({ "copy": true }),
        Act::Wait(ms) => json!({ "wait": seconds(i64::from(ms) * 1_000_000) }),
    }
}

/// Expands hex with spaces and repetitions to plain digits.
fn digits(text: &str) -> String {
    hex(text).iter().map(|b| format!("{b:02x}")).collect()
}

/// The records of packets and exchanges as `dump` writes them. Findings about a server are added to its last exchange.
fn played(example: &Example) -> Vec<Value> {
    let options = Options { min_confidence: Level::Low, all: true, ..Options::default() };
    let mut out = vec![];
    let mut report = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
    if example::play(example, options, &mut report).is_err() {
        return vec![]; // writing to memory cannot fail
    }
    let text = String::from_utf8_lossy(&out);
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut told: Vec<_> =
        records.filter(|r| matches!(r["type"].as_str(), Some("packet" | "exchange"))).collect();
    for (e, findings) in example::dissect(example).exchanges {
        let own = |r: &&mut Value| r["type"] == "exchange" && r["id"] == e.id;
        let list = told.iter_mut().find(own).and_then(|record| record["findings"].as_array_mut());
        let at_end = findings.iter().filter(|finding| finding.silence.is_some()).map(at_end);
        list.into_iter().for_each(|list| list.extend(at_end.clone()));
    }
    told
}

/// The record of a finding about a server.
fn at_end(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.id, "severity": finding.severity.name(), "field": null, "start": null, "end": null,
        "message": finding.to_string(),
    })
}

/// The record of a protocol.
pub fn protocol(id: Id) -> Value {
    let info = id.info();
    let counts: Counts = id.rules().map(|rule| rule.severity).collect();
    json!({
        "type": "protocol", "name": info.name, "title": info.title, "ports": info.ports,
        "specification": info.spec, "rules": counts.total(), "rule_counts": counts.record(),
    })
}

/// The record of a protocol with all its declarations.
pub fn protocol_with_fields(id: Id) -> Value {
    let info = id.info();
    let windows = Windows::new(None);
    let mut record = protocol(id);
    record["first_bytes"] = info.first_bytes().map(|b| format!("{b:02x}")).collect();
    record["steps"] = info
        .steps
        .iter()
        .map(|step| {
            json!({
                "name": step.name, "key_digits": step.key_digits,
                "answer_window": seconds(windows.answer(id)), "late_window": seconds(windows.late(id)),
                "address_proven": step.validated,
            })
        })
        .collect();
    record["messages"] = messages(id).into();
    record["fields"] = info.fields.iter().copied().flatten().map(|f| field(f)).collect();
    record
}

/// The names of the messages, each once.
pub fn messages(id: Id) -> Vec<&'static str> {
    let mut names: Vec<_> = vec![];
    for message in id.info().messages {
        if !names.contains(&message.name) {
            names.push(message.name);
        }
    }
    names
}

fn field(field: &Field) -> Value {
    let (kind, _) = docs::words(field.kind);
    json!({ "name": field.name, "type": kind, "about": docs::paragraph(field.about) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::rules as all;

    #[test]
    fn the_records_of_every_example_name_its_rule() {
        for rule in all() {
            let record = rule_with_examples(rule);
            let examples = record["examples"].as_array().expect("a list");
            assert_eq!(examples.len(), rule.examples.len());
            for example in examples {
                let named = |r: &Value| {
                    let findings = r["findings"].as_array().cloned().unwrap_or_default();
                    findings.iter().any(|f| f["rule"] == rule.id)
                };
                assert!(example["records"].as_array().expect("a list").iter().any(named), "{record:#}");
            }
        }
    }

    #[test]
    fn hex_is_written_out() {
        assert_eq!(step(&Step::C("00 78*3"))["payload"], "00787878");
        assert_eq!(step(&Step::Wait(1500))["wait"], 1.5);
    }

    #[test]
    fn a_protocol_says_its_windows_and_each_message_once() {
        let record = protocol_with_fields(Id::Skycoop);
        assert_eq!(record["steps"][0]["answer_window"], 5.0);
        assert_eq!(record["steps"][0]["late_window"], 25.0);
        let messages = record["messages"].as_array().expect("a list");
        assert_eq!(messages.iter().filter(|m| *m == "unknown").count(), 1);
        let counts = &record["rule_counts"];
        let sum: u64 = ["error", "warning", "note"].iter().filter_map(|s| counts[s].as_u64()).sum();
        assert_eq!(record["rules"], sum);
    }
}
