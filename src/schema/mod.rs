//! A JSON Schema of the records, made of what protocols, rules and tables declare.
//!
//! ```text
//!  structs of records, crate::report::terms ──schemars──────────────┐
//!  Info::messages, fields ──> packets.rs ───────────────────┼─> mod.rs: $defs
//!  stats::TABLES ───────────────────────────────────────────┘
//! ```
//!
//! Packets and exchanges are written by hand, for speed, and rows of statistics follow from their columns: these have no
//! structs, and their schemas are put together of objects.
//!
//! The schema is strict: for each type of record it names all keys, and requires the keys that are always there.

pub mod declared;
pub mod example;
mod packets;

use self::declared::ProtocolRecord;
use crate::case::CaseRecord;
use crate::diff::{DifferenceRecord, PairRecord};
use crate::protocols::Id;
use crate::report::terms::{self, one_of, text};
use crate::report::{BrokenRecord, CaptureRecord, ServerRecord, TotalsRecord, UnclaimedRecord};
use crate::stats::{CellType, TABLES, Table};
use crate::verdict::{self, FindingRecord};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The version of JSON Schema that is written.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The name of the schema for all that `-T json` writes, among the names that [`schema_of`] takes.
pub const ARRAY: &str = "array";

/// The types of records: the values of the key `type`.
pub fn records() -> impl Iterator<Item = &'static str> {
    let kinds = [
        "capture",
        "packet",
        "exchange",
        "finding",
        "server",
        "server_case",
        "server_pair",
        "difference",
        "unclaimed",
        "rule",
        "protocol",
    ];
    kinds.into_iter().chain(TABLES.iter().map(|table| table.kind)).chain(["summary"])
}

/// All names that have a schema: the types of records, and [`ARRAY`].
pub fn names() -> impl Iterator<Item = &'static str> {
    records().chain([ARRAY])
}

/// The schema of one record of any type.
pub fn schema() -> Value {
    let about = "One record: a line of what qdissect writes with -T ndjson. What it writes with -T json is an array of \
                 such records: #/$defs/array describes it, and `qdissect generate schema array` makes that the whole.";
    let one_of: Vec<_> = records().map(reference).collect();
    document("Records of qdissect", about, "oneOf", one_of.into(), definitions())
}

/// The schema of one type of records, or of what `-T json` writes; `None` for a name that is not among [`names`].
pub fn schema_of(name: &str) -> Option<Value> {
    let name = names().find(|known| *known == name)?;
    let (title, about) = match name {
        ARRAY => ("Output of qdissect".to_owned(), "What qdissect writes with -T json: an array of records."),
        _ => (format!("Record {name} of qdissect"), "One record of this type."),
    };
    let mut defs = definitions();
    let reachable = reachable(&defs, name);
    defs.retain(|name, _| reachable.contains(name));
    Some(document(&title, about, "$ref", format!("#/$defs/{name}").into(), defs))
}

/// A schema document, whose `keyword` has the value `what`.
fn document(title: &str, about: &str, keyword: &str, what: Value, defs: Map<String, Value>) -> Value {
    let title = format!("{title} {}", env!("CARGO_PKG_VERSION"));
    json!({ "$schema": DIALECT, "title": title, "description": about, keyword: what, "$defs": defs })
}

/// Every definition: records first, then the definitions that they refer to.
fn definitions() -> Map<String, Value> {
    let mut defs = Map::new();
    let mut add = |name: &str, schema: Value| {
        let before = defs.insert(name.to_owned(), schema);
        debug_assert!(before.is_none(), "two definitions are called {name}");
    };
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schemas = &mut generator;
    add("capture", record::<CaptureRecord<'_>>("capture", schemas));
    add("packet", packets::packet());
    add("exchange", packets::exchange());
    add("finding", record::<FindingRecord<'_>>("finding", schemas));
    add("server", record::<ServerRecord>("server", schemas));
    add("server_case", record::<CaseRecord<'_>>("server_case", schemas));
    add("server_pair", record::<PairRecord>("server_pair", schemas));
    add("difference", record::<DifferenceRecord>("difference", schemas));
    let rules = ["rule.broken", "rule.judged", "rule.declared"];
    add("rule", json!({ "description": "A rule.", "oneOf": rules.map(reference) }));
    add("protocol", record::<ProtocolRecord>("protocol", schemas));
    TABLES.iter().for_each(|table| add(table.kind, row(table)));
    add("unclaimed", record::<UnclaimedRecord>("unclaimed", schemas));
    add("summary", record::<TotalsRecord<'_>>("summary", schemas));
    add(ARRAY, list(json!({ "oneOf": records().map(reference).collect::<Vec<_>>() })));
    add("packet.claimed", packets::claimed());
    add("packet.unclaimed", packets::unclaimed());
    add("packet.finding", packets::finding(term("length"), "A rule that the packet breaks."));
    add("exchange.any", packets::any_exchange());
    let null = json!({ "type": "null" });
    add("exchange.finding", packets::finding(null, "A rule that the exchange breaks."));
    add("rule.broken", record::<BrokenRecord<'_>>("rule", schemas));
    add("rule.judged", record::<verdict::ResultRecord>("rule", schemas));
    add("rule.declared", record::<declared::RuleRecord>("rule", schemas));
    add(declared::EXAMPLE_RECORD, packets::example_record());
    packets::messages().for_each(|(info, m)| add(&packets::name(info, m), packets::fields(info, m)));
    terms::define_all(schemas);
    generator.take_definitions(true).into_iter().for_each(|(name, schema)| add(&name, schema));
    defs
}

/// The schema of a record that is a struct. schemars leaves out the tag of a struct, which is added here as the first key.
fn record<T: JsonSchema>(kind: &str, generator: &mut SchemaGenerator) -> Value {
    let mut schema = T::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.shift_insert(0, "type".to_owned(), json!({ "const": kind }));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.insert(0, "type".into());
    }
    schema.into()
}

/// The record of a row of statistics, from the columns of its table.
fn row(table: &Table) -> Value {
    let keyed = table.columns.iter().filter(|column| !column.key.is_empty());
    let object = keyed.fold(Object::record(table.kind), |object, column| {
        let cell = cell(column.cell_type);
        let object = object.key(column.key, if column.nullable { or_null(cell) } else { cell });
        match column.cell_type {
            CellType::Name => object.optional(format!("{}_hex", column.key), term("hex")),
            _ => object,
        }
    });
    object.end("A row of statistics: what stats writes.")
}

/// The schema of a cell.
fn cell(cell_type: CellType) -> Value {
    let steps = Id::ALL.iter().flat_map(|id| id.info().steps);
    match cell_type {
        CellType::Protocol => term("protocol"),
        CellType::Step => one_of(declared::unique(steps.map(|step| step.name))),
        CellType::Server => term("endpoint"),
        CellType::Role => one_of(["server", "client"]),
        CellType::Endpoint => json!({ "anyOf": [term("endpoint"), term("address")] }),
        CellType::Text | CellType::Name => text(),
        CellType::Count => term("count"),
        CellType::AtLeast => {
            json!({ "anyOf": [term("count"), { "type": "string", "pattern": "^[0-9]+[+]$" }] })
        }
        CellType::Flag => json!({ "type": "boolean" }),
        CellType::Seconds => term("seconds"),
        CellType::Time => term("time"),
        CellType::Number => json!({ "type": "number", "minimum": 0 }),
        CellType::Histogram => list(bucket()),
        CellType::Shown => json!(false),
    }
}

/// A bucket of a histogram.
fn bucket() -> Value {
    Object::default()
        .key("from", or_null(term("seconds")))
        .key("to", or_null(term("seconds")))
        .key("count", term("count"))
        .end("So many response times from one on and before another.")
}

/// The definitions that a definition refers to, directly or not, itself included.
fn reachable(defs: &Map<String, Value>, from: &str) -> Vec<String> {
    let mut found = vec![from.to_owned()];
    let mut at = 0;
    while let Some(schema) = found.get(at).and_then(|name| defs.get(name)) {
        let mut next = vec![];
        references(schema, &mut next);
        next.retain(|name| !found.contains(name));
        found.append(&mut next);
        at += 1;
    }
    found
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Array(all) => all.iter().for_each(|each| references(each, found)),
        Value::Object(all) => {
            for (key, each) in all {
                match each.as_str().filter(|_| key == "$ref").and_then(|text| text.strip_prefix("#/$defs/")) {
                    Some(name) if !found.iter().any(|known| known == name) => found.push(name.to_owned()),
                    _ => references(each, found),
                }
            }
        }
        _ => {}
    }
}

/// The schema of an object that has the named keys and no others.
#[derive(Debug, Default)]
struct Object {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    keywords: Map<String, Value>,
}

impl Object {
    /// A record of that type.
    fn record(kind: &str) -> Object {
        Object::default().key("type", json!({ "const": kind }))
    }

    /// A key that is always there.
    fn key(mut self, name: &'static str, schema: Value) -> Object {
        self.properties.insert(name.to_owned(), schema);
        self.required.push(name);
        self
    }

    /// Keys that are always there, with the same schema.
    fn keys(self, names: &[&'static str], schema: &Value) -> Object {
        names.iter().fold(self, |object, name| object.key(name, schema.clone()))
    }

    /// A key that may be missing.
    fn optional(mut self, name: impl Into<String>, schema: Value) -> Object {
        self.properties.insert(name.into(), schema);
        self
    }

    /// Where `key` is present, `other` must be present, too.
    fn needs(mut self, key: &str, other: &str) -> Object {
        let all = self.keywords.entry("dependentRequired").or_insert_with(|| json!({}));
        match &mut all[key] {
            Value::Array(others) => others.push(other.into()),
            place => *place = json!([other]),
        }
        self
    }

    /// A further keyword of JSON Schema.
    fn with_keyword(mut self, keyword: &str, value: Value) -> Object {
        self.keywords.insert(keyword.to_owned(), value);
        self
    }

    /// The schema, with a description; without one where `about` is empty.
    fn end(self, about: &str) -> Value {
        let mut schema = Map::new();
        if !about.is_empty() {
            schema.insert("description".to_owned(), about.into());
        }
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), self.required.into());
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        schema.extend(self.keywords);
        schema.into()
    }
}

/// A reference to a definition in `$defs`.
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A reference to a term that several records share: see [`crate::report::terms`].
fn term(name: &str) -> Value {
    reference(&format!("term.{name}"))
}

/// A value of that schema, or null.
fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// A list of elements of one schema.
fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// A list with `least` to `most` elements.
fn list_of(items: Value, least: usize, most: usize) -> Value {
    json!({ "type": "array", "items": items, "minItems": least, "maxItems": most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_defined_and_every_definition_is_reachable() {
        let defs = definitions();
        let (mut named, mut used) = (vec![], vec![]);
        references(&schema(), &mut named);
        named.iter().for_each(|name| assert!(defs.contains_key(name), "there is no {name}"));
        names().for_each(|name| used.extend(reachable(&defs, name)));
        let unused: Vec<_> = defs.keys().filter(|name| !used.contains(name)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }

    #[test]
    fn the_schema_of_a_record_has_only_definitions_it_needs() {
        let schema = schema_of("hierarchy").expect("there is such a record");
        let names: Vec<_> = schema["$defs"].as_object().expect("an object").keys().collect();
        assert_eq!(names, ["hierarchy", "term.count"]);
    }
}
