//! The records that describe rules and protocols.

use crate::check::{Counts, Finding};
use crate::decode::{Field, KINDS, kind_names};
use crate::exchange::Windows;
use crate::pipeline::Options;
use crate::protocols::{Id, Level, StepInfo};
use crate::report::{records_of, terms};
use crate::rule::{Example, Rule, Side, Step, hex};
use crate::schema::example::{self, Act};
use crate::text::escape::to_hex;
use crate::text::markdown::paragraph;
use crate::text::timestamps::seconds;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

/// What is declared of a rule: what rule list writes, and rule show with examples.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "rule", deny_unknown_fields)]
pub struct RuleRecord {
    id: terms::RuleId<&'static str>,
    #[schemars(regex(pattern = "^[a-z0-9-]+$"))]
    name: String,
    protocol: Option<terms::Protocol<&'static str>>,
    severity: terms::Severity<&'static str>,
    strict: terms::Severity<&'static str>,
    lenient: terms::Severity<&'static str>,
    #[schemars(extend("enum" = Side::ALL.iter().map(|side| side.name()).collect::<Vec<_>>()))]
    fault: &'static str,
    title: &'static str,
    why: String,
    per_server: bool,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ExampleRecord>")]
    examples: Option<Vec<ExampleRecord>>,
}

/// Where it is said.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "rule.source", deny_unknown_fields)]
struct Source {
    document: &'static str,
    section: &'static str,
    url: Option<&'static str>,
}

/// A conversation that breaks the rule.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "rule.example", deny_unknown_fields)]
struct ExampleRecord {
    server_port: Option<u16>,
    at_start: bool,
    steps: Vec<StepRecord>,
    #[schemars(schema_with = "list_of_example_records")]
    records: Vec<Value>,
}

/// A step of an example: what is sent, or how long is waited.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "rule.step", deny_unknown_fields)]
enum StepRecord {
    /// A datagram.
    Datagram {
        #[schemars(extend("enum" = ENDS))]
        from: &'static str,
        #[schemars(extend("enum" = ENDS))]
        to: &'static str,
        payload: terms::Hex<String>,
    },
    /// A whole frame.
    Frame { link: u16, wire_length: u32, frame: terms::Hex<String> },
    /// The frame before it once more.
    Copy {
        #[schemars(extend("const" = true))]
        copy: bool,
    },
    /// A pause.
    Wait { wait: terms::Seconds<f64> },
}

/// Who sends and receives in examples.
const ENDS: [&str; 3] = ["client", "second client", "server"];

/// The schema of a list of packets and exchanges.
fn list_of_example_records(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "$ref": format!("#/$defs/{EXAMPLE_RECORD}") } })
}

/// Name of the schema of packets and exchanges in examples, which belong to no file.
pub const EXAMPLE_RECORD: &str = "rule.played";

impl RuleRecord {
    /// The record of a rule, without its examples.
    pub fn new(rule: &Rule) -> RuleRecord {
        let (severity, cite) = (rule.severity, &rule.cite);
        RuleRecord {
            id: terms::RuleId(rule.id),
            name: rule.slug(),
            protocol: Id::of_rule(rule).map(|id| terms::Protocol(id.info().name)),
            severity: terms::Severity(severity.name()),
            strict: terms::Severity(rule.strict.unwrap_or(severity).name()),
            lenient: terms::Severity(rule.lenient.unwrap_or(severity).name()),
            fault: rule.side.name(),
            title: rule.title,
            why: paragraph(rule.why),
            per_server: rule.per_server,
            source: Source {
                document: cite.doc,
                section: cite.section,
                url: Some(cite.url).filter(|url| !url.is_empty()),
            },
            examples: None,
        }
    }

    /// The record of a rule with its examples: their datagrams and the resulting records.
    pub fn with_examples(rule: &Rule) -> RuleRecord {
        let examples = rule.examples.iter().map(ExampleRecord::new).collect();
        RuleRecord { examples: Some(examples), ..RuleRecord::new(rule) }
    }
}

impl ExampleRecord {
    fn new(example: &Example) -> ExampleRecord {
        let Example { server_port, at_start, .. } = *example;
        let steps = example.steps.iter().map(StepRecord::new).collect();
        ExampleRecord { server_port, at_start, steps, records: records_of_example(example) }
    }
}

impl StepRecord {
    fn new(step: &Step) -> StepRecord {
        match Act::of(step) {
            Act::Send { direction, client, payload } => {
                let [from, to] = direction.order([ENDS[client], "server"]);
                StepRecord::Datagram { from, to, payload: digits(payload) }
            }
            Act::Frame(link, wire_length, text) => {
                StepRecord::Frame { link, wire_length, frame: digits(text) }
            }
            Act::Copy => StepRecord::Copy { copy: true },
            Act::Wait(ms) => StepRecord::Wait { wait: terms::Seconds(seconds(i64::from(ms) * 1_000_000)) },
        }
    }
}

/// Expands hex with spaces and repetitions to plain digits.
fn digits(text: &str) -> terms::Hex<String> {
    terms::Hex(to_hex(&hex(text)))
}

/// The records of packets and exchanges as `dump` writes them. Findings about a server are added to its last exchange.
fn records_of_example(example: &Example) -> Vec<Value> {
    let options = Options { min_confidence: Level::Low, all: true, ..Options::default() };
    let mut records = records_of(true, |report| example::run(example, options, report).map(drop));
    for (e, findings) in example::dissect(example).exchanges {
        let is_of_exchange = |r: &&mut Value| r["type"] == "exchange" && r["id"] == e.id;
        let list = records.iter_mut().find(is_of_exchange).and_then(|r| r["findings"].as_array_mut());
        let about_servers = findings.iter().filter(|finding| finding.silence.is_some()).map(server_finding);
        list.into_iter().for_each(|list| list.extend(about_servers.clone()));
    }
    records
}

/// The record of a finding about a server.
fn server_finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.id, "severity": finding.severity.name(), "field": null, "start": null, "end": null,
        "message": finding.to_string(), "found": null, "expected": null,
    })
}

/// A protocol: what protocol list writes, and protocol show with all that is declared of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "protocol", deny_unknown_fields)]
#[schemars(extend("dependentRequired" = all_or_none(&["first_bytes", "steps", "messages", "fields"])))]
pub struct ProtocolRecord {
    name: terms::Protocol<&'static str>,
    title: &'static str,
    ports: &'static [u16],
    specification: &'static str,
    rules: u64,
    rule_counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<terms::Hex<()>>")]
    first_bytes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ProtocolStep>")]
    steps: Option<Vec<ProtocolStep>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    messages: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<ProtocolField>")]
    fields: Option<Vec<ProtocolField>>,
}

/// The value of `dependentRequired` for keys of which a record has all or none.
fn all_or_none(keys: &[&str]) -> Value {
    keys.iter().map(|key| (*key, json!(keys))).collect()
}

/// A question and its answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "protocol.step", deny_unknown_fields)]
struct ProtocolStep {
    name: &'static str,
    key_digits: usize,
    answer_window: terms::Seconds<f64>,
    late_window: terms::Seconds<f64>,
    address_proven: bool,
}

/// A field of its messages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "protocol.field", deny_unknown_fields)]
struct ProtocolField {
    #[schemars(regex(pattern = r"^[a-z0-9_.\[\]]+$"))]
    name: &'static str,
    #[serde(rename = "type")]
    #[schemars(extend("enum" = KINDS.map(|(_, name, _)| name)))]
    kind: &'static str,
    about: String,
}

impl ProtocolRecord {
    /// A protocol in short.
    pub fn new(id: Id) -> ProtocolRecord {
        let info = id.info();
        let rule_counts: Counts = id.rules().map(|rule| rule.severity).collect();
        ProtocolRecord {
            name: terms::Protocol(info.name),
            title: info.title,
            ports: info.ports,
            specification: info.spec,
            rules: rule_counts.total(),
            rule_counts,
            first_bytes: None,
            steps: None,
            messages: None,
            fields: None,
        }
    }

    /// A protocol with all its declarations.
    pub fn with_fields(id: Id) -> ProtocolRecord {
        let info = id.info();
        let windows = Windows::new(None);
        let step = |step: &StepInfo| ProtocolStep {
            name: step.name,
            key_digits: step.key_digits,
            answer_window: terms::Seconds(seconds(windows.answer(id))),
            late_window: terms::Seconds(seconds(windows.late(id))),
            address_proven: step.validated,
        };
        let field = |field: &&Field| ProtocolField {
            name: field.name,
            kind: kind_names(field.kind).0,
            about: paragraph(field.about),
        };
        ProtocolRecord {
            first_bytes: Some(info.first_bytes().map(|b| to_hex(&[b])).collect()),
            steps: Some(info.named_steps().map(step).collect()),
            messages: Some(messages(id)),
            fields: Some(info.fields.iter().copied().flatten().map(field).collect()),
            ..ProtocolRecord::new(id)
        }
    }
}

/// The names of the messages, each once.
pub fn messages(id: Id) -> Vec<&'static str> {
    unique(id.info().messages.iter().map(|message| message.name))
}

/// Each name once, in the order given.
pub fn unique(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut seen = vec![];
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::rules;

    #[test]
    fn the_records_of_every_example_name_its_rule() {
        for rule in rules() {
            let record = json!(RuleRecord::with_examples(rule));
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
    fn hex_repetitions_are_expanded() {
        let step = |step| json!(StepRecord::new(&step));
        assert_eq!(step(Step::C("00 78*3"))["payload"], "00787878");
        assert_eq!(step(Step::Wait(1500))["wait"], 1.5);
    }

    #[test]
    fn a_protocol_record_has_its_windows_and_each_message_once() {
        let record = json!(ProtocolRecord::with_fields(Id::Skycoop));
        assert_eq!(record["steps"][0]["answer_window"], 5.0);
        assert_eq!(record["steps"][0]["late_window"], 25.0);
        let messages = record["messages"].as_array().expect("a list");
        assert_eq!(messages.iter().filter(|m| *m == "unknown").count(), 1);
        let counts = &record["rule_counts"];
        let sum: u64 = ["error", "warning", "note"].iter().filter_map(|s| counts[s].as_u64()).sum();
        assert_eq!(record["rules"], sum);
    }
}
