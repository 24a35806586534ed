//! The records of a comparison.

use super::compare::{Comparison, Difference, Half, Pair, What};
use super::pairs::Key;
use crate::report::terms;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What differs: the kinds of [`DifferenceRecord`].
const KINDS: [&str; 5] = ["server", "message", "field", "rule", "response_time"];

/// A server that both captures have: what diff writes before the differences.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "server_pair", deny_unknown_fields)]
pub struct PairRecord {
    protocol: terms::Protocol<&'static str>,
    a: PairSide,
    b: PairSide,
}

/// The server in one of the captures.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_pair.side", deny_unknown_fields)]
struct PairSide {
    server: terms::Endpoint<String>,
    name: Option<String>,
    requests: u64,
    answered: u64,
    packets: u64,
    not_asked: Vec<String>,
    cut: Vec<&'static str>,
}

/// Something that differs between two captures: what diff writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "difference", deny_unknown_fields)]
pub struct DifferenceRecord {
    protocol: terms::Protocol<&'static str>,
    server_a: Option<terms::Endpoint<String>>,
    server_b: Option<terms::Endpoint<String>>,
    #[schemars(extend("enum" = KINDS))]
    what: &'static str,
    message: Option<&'static str>,
    field: Option<&'static str>,
    path: Option<String>,
    rule: Option<terms::RuleId<&'static str>>,
    severity: Option<terms::Severity<&'static str>>,
    step: Option<&'static str>,
    a: Option<terms::AnyValue<Value>>,
    b: Option<terms::AnyValue<Value>>,
}

impl Comparison {
    /// The records of the servers of both captures, and of the differences.
    pub fn records(
        &self,
    ) -> (impl Iterator<Item = PairRecord> + '_, impl Iterator<Item = DifferenceRecord> + '_) {
        (self.pairs.iter().map(PairRecord::of), self.differences.iter().map(DifferenceRecord::of))
    }
}

fn endpoint((end, _): Key) -> terms::Endpoint<String> {
    terms::Endpoint(end.to_string())
}

impl PairRecord {
    fn of(pair: &Pair) -> PairRecord {
        let [a, b] = pair.servers;
        let [of_a, of_b] = &pair.sides;
        let protocol = terms::Protocol(a.1.info().name);
        PairRecord { protocol, a: side(a, of_a), b: side(b, of_b) }
    }
}

fn side(key: Key, side: &Half) -> PairSide {
    let names =
        |messages: &[u8]| messages.iter().map(|message| key.1.info().message_name(*message)).collect();
    PairSide {
        server: endpoint(key),
        name: side.name.clone(),
        requests: side.requests,
        answered: side.answered,
        packets: side.packets,
        not_asked: side.not_asked.clone(),
        cut: names(&side.cut),
    }
}

impl DifferenceRecord {
    fn of(difference: &Difference) -> DifferenceRecord {
        let Difference { id, servers: [server_a, server_b], what } = difference;
        let nothing = DifferenceRecord {
            protocol: terms::Protocol(id.info().name),
            server_a: server_a.map(endpoint),
            server_b: server_b.map(endpoint),
            what: "server",
            message: None,
            field: None,
            path: None,
            rule: None,
            severity: None,
            step: None,
            a: None,
            b: None,
        };
        let message_name = |message: &u8| Some(id.info().message_name(*message));
        match what {
            What::Server => {
                nothing.with("server", difference.servers.map(|server| Some(json!(server.is_some()))))
            }
            What::Message(message, counts) => DifferenceRecord {
                message: message_name(message),
                ..nothing.with("message", counts.map(|count| Some(json!(count))))
            },
            What::Field(message, field, path, values) => DifferenceRecord {
                message: message_name(message),
                field: Some(field.name),
                path: Some(path.clone()),
                ..nothing.with("field", values.clone())
            },
            What::Rule(rule, severity, counts) => DifferenceRecord {
                rule: Some(terms::RuleId(rule.id)),
                severity: Some(terms::Severity(severity.name())),
                ..nothing.with("rule", counts.map(|count| Some(json!(count))))
            },
            What::Time(step, medians) => DifferenceRecord {
                step: id.info().step_name(*step),
                ..nothing.with("response_time", medians.map(|nanos| Some(json!(nanos as f64 / 1e9))))
            },
        }
    }

    fn with(self, what: &'static str, [a, b]: [Option<Value>; 2]) -> DifferenceRecord {
        let [a, b] = [a, b].map(|value| value.map(terms::AnyValue));
        DifferenceRecord { what, a, b, ..self }
    }
}
