//! The records of `stats`, from the columns of its tables.

use super::object::{Object, list, or_null, term};
use crate::protocols::Id;
use crate::stats::{Column, Holds};
use crate::terms::{text, words};
use serde_json::{Value, json};

/// The record of a row.
pub fn row(kind: &str, columns: &[Column]) -> Value {
    let keyed = columns.iter().filter(|column| !column.key.is_empty());
    let object = keyed.fold(Object::record(kind), |object, column| {
        let cell = cell(column.holds);
        let object = object.key(column.key, if column.null { or_null(cell) } else { cell });
        match column.holds {
            Holds::Name => object.maybe(format!("{}_hex", column.key), term("hex")),
            _ => object,
        }
    });
    object.end("A row of statistics: what stats writes.")
}

/// The schema of a cell.
fn cell(holds: Holds) -> Value {
    match holds {
        Holds::Protocol => term("protocol"),
        Holds::Step => words(steps()),
        Holds::Server => term("endpoint"),
        Holds::Role => words(["server", "client"]),
        Holds::Endpoint => json!({ "anyOf": [term("endpoint"), term("address")] }),
        Holds::Text | Holds::Name => text(),
        Holds::Count => term("count"),
        Holds::Seconds => term("seconds"),
        Holds::Time => term("time"),
        Holds::Number => json!({ "type": "number", "minimum": 0 }),
        Holds::Spread => list(bucket()),
        Holds::Shown => json!(false),
    }
}

/// Names of the steps of all protocols, each once.
fn steps() -> Vec<&'static str> {
    let mut names: Vec<_> = vec![];
    for step in Id::ALL.iter().flat_map(|id| id.info().steps) {
        if !names.contains(&step.name) {
            names.push(step.name);
        }
    }
    names
}

/// A bucket of a histogram.
fn bucket() -> Value {
    Object::default()
        .key("from", or_null(term("seconds")))
        .key("to", or_null(term("seconds")))
        .key("count", term("count"))
        .end("So many response times from one on and before another.")
}
