//! Filters, and their meaning in terms of records.

use serde_json::Value;

/// A filter with its meaning.
pub struct Row {
    /// The expression.
    pub filter: &'static str,
    /// Whether the record of a packet matches.
    pub packet: fn(&Value) -> bool,
    /// Whether the record of an exchange matches, if exchanges have the field.
    pub exchange: Option<fn(&Value) -> bool>,
}

const fn row(filter: &'static str, packet: fn(&Value) -> bool, exchange: Option<fn(&Value) -> bool>) -> Row {
    Row { filter, packet, exchange }
}

fn is(record: &Value, key: &str, value: &str) -> bool {
    record[key] == value
}

fn port(record: &Value, keys: [&str; 2], port: u16) -> bool {
    let end = format!(":{port}");
    keys.iter().any(|key| record[*key].as_str().is_some_and(|e| e.ends_with(&end)))
}

fn broken(record: &Value, test: fn(&Value) -> bool) -> bool {
    record["findings"].as_array().is_some_and(|findings| findings.iter().any(test))
}

fn severe(record: &Value) -> bool {
    broken(record, |f| f["severity"] != "note")
}

fn number(record: &Value, key: &str) -> Option<u64> {
    record[key].as_u64()
}

/// Filters that match some packets, but not most.
pub const ROWS: &[Row] = &[
    row("sqp", |p| is(p, "protocol", "sqp"), Some(|e| is(e, "protocol", "sqp"))),
    row("protocol == gqp", |p| is(p, "protocol", "gqp"), Some(|e| is(e, "protocol", "gqp"))),
    row("message == query_response", |p| is(p, "message", "query_response"), None),
    row("udp.port == 7777", |p| port(p, ["src", "dst"], 7777), Some(|e| port(e, ["client", "server"], 7777))),
    row(
        "ip.src == 192.0.2.10",
        |p| p["src"].as_str().is_some_and(|src| src.starts_with("192.0.2.10:")),
        Some(|e| e["client"].as_str().is_some_and(|src| src.starts_with("192.0.2.10:"))),
    ),
    row(
        "ipv6",
        |p| p["src"].as_str().is_some_and(|src| src.starts_with('[')),
        Some(|e| e["client"].as_str().is_some_and(|client| client.starts_with('['))),
    ),
    row("severity >= warning", severe, Some(severe)),
    row(
        "finding == \"SKY\" and frame.number < 60",
        |p| {
            broken(p, |f| f["rule"].as_str().is_some_and(|id| id.starts_with("SKY-")))
                && number(p, "frame").is_some_and(|n| n < 60)
        },
        None,
    ),
    row(
        "response_time > 0.005",
        |p| p["response_time"].as_f64().is_some_and(|t| t > 0.005),
        Some(|e| e["response_time"].as_f64().is_some_and(|t| t > 0.005)),
    ),
    row("duplicate", |p| !p["duplicate_of"].is_null() && !p["exchange"].is_null(), None),
    row(
        "sqp.server_info.server_name contains \"West\"",
        |p| p["fields"]["server_info"]["server_name"].as_str().is_some_and(|name| name.contains("West")),
        None,
    ),
    row(
        "sqp.token == 0x95bd447e",
        |p| p["fields"]["token"] == 0x95bd_447e_u64 && is(p, "protocol", "sqp"),
        None,
    ),
    row("frame.number in {1..6}", |p| number(p, "frame").is_some_and(|n| n <= 6), None),
    row("udp.length > 70", |p| number(p, "payload_length").is_some_and(|n| n + 8 > 70), None),
    row("exchange == 2", |p| number(p, "exchange") == Some(2), Some(|e| number(e, "id") == Some(2))),
    row(
        "confidence == medium and direction == s2c",
        |p| is(p, "confidence", "medium") && is(p, "direction", "s2c"),
        None,
    ),
    row("not protocol", |p| p["protocol"].is_null(), Some(|_| false)),
    row(
        "exchange.outcome in {unanswered, refused} or rule == \"SQP-REQ-010\"",
        |p| broken(p, |f| f["rule"] == "SQP-REQ-010"),
        Some(|e| is(e, "outcome", "unanswered") || is(e, "outcome", "refused")),
    ),
];
