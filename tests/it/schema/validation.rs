//! Validates records against the schema.

use jsonschema::Validator;
use qdissect::schema::{records, schema, schema_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

/// Number of records of each kind that are also validated against the schema of all records, which takes longer.
const FULL: u64 = 20;
/// Maximum number of faults that are listed.
const LISTED_FAULTS: usize = 20;

/// A validator for each type of records.
static TYPES: LazyLock<HashMap<&str, Validator>> = LazyLock::new(|| {
    records().map(|name| (name, validator(&schema_of(name).expect("a record has a schema")))).collect()
});
/// The validator for records of any type.
pub static ALL: LazyLock<Validator> = LazyLock::new(|| validator(&schema()));

/// A validator of a schema.
pub fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("it is a schema")
}

/// Whether a record is valid by the schema of its type.
pub fn is_valid(record: &Value) -> bool {
    record["type"].as_str().and_then(|name| TYPES.get(name)).is_some_and(|of| of.is_valid(record))
}

/// The results so far.
#[derive(Default)]
pub struct Validation {
    /// The number of records of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The keys that all records of a shape have.
    pub common: BTreeMap<String, BTreeSet<String>>,
    /// The record with the most keys of each kind.
    pub examples: BTreeMap<String, Value>,
    /// All keys of all records.
    pub keys: BTreeSet<String>,
    faults: Vec<String>,
}

impl Validation {
    /// Validates the records of an input.
    pub fn validate(&mut self, input: &str, records: &[Value]) {
        for record in records {
            let kind = kind(record);
            self.keys.extend(keys(record));
            let seen = self.kinds.entry(kind.clone()).or_default();
            *seen += 1;
            let common = self.common.entry(shape(&kind)).or_insert_with(|| keys(record).collect());
            common.retain(|key| record.get(key).is_some());
            if !is_valid(record) || *seen <= FULL && !ALL.is_valid(record) {
                self.faults.push(format!("{input}: {record}: {}", faults(record).join("; ")));
            }
            let example = self.examples.entry(kind).or_insert(Value::Null);
            if example.is_null() || keys(record).count() > keys(example).count() {
                *example = record.clone();
            }
        }
    }

    /// Fails if a record was invalid.
    #[track_caller]
    pub fn assert(&self) {
        let all = &self.faults;
        assert!(all.is_empty(), "{} records:\n{}", all.len(), all[..all.len().min(LISTED_FAULTS)].join("\n"));
    }
}

/// Keys of an object.
pub fn keys(record: &Value) -> impl Iterator<Item = String> {
    record.as_object().into_iter().flat_map(|all| all.keys().cloned())
}

/// The type of a record, and what distinguishes records of that type.
fn kind(record: &Value) -> String {
    let name = record["type"].as_str().unwrap_or_default();
    let more = match name {
        "packet" => format!("{} {}", record["protocol"], record["message"]),
        "exchange" => format!("{} {} {}", record["protocol"], record["step"], record["outcome"]),
        "rule" => ["result", "first_frame", "examples", "why"]
            .into_iter()
            .find(|k| record.get(k).is_some())
            .unwrap_or("")
            .into(),
        "protocol" => if record.get("fields").is_some() { "show" } else { "list" }.into(),
        _ => String::new(),
    };
    format!("{name} {more}").replace('"', "").trim_end().to_owned()
}

/// The shape of the records of a kind. It determines their keys, which do not depend on protocols.
pub fn shape(kind: &str) -> String {
    match kind.split_once(' ') {
        Some(("packet", "null null")) => "packet nobody claims".to_owned(),
        Some(("rule", "why" | "examples")) => "rule declared".to_owned(),
        Some((name @ ("packet" | "exchange"), _)) => name.to_owned(),
        _ => kind.to_owned(),
    }
}

/// The violations of the schema of its type in a record.
fn faults(record: &Value) -> Vec<String> {
    let Some(of) = record["type"].as_str().and_then(|name| TYPES.get(name)) else {
        return vec![format!("{} is no type of records", record["type"])];
    };
    of.iter_errors(record)
        .map(|e| format!("{}: {e}", e.instance_path()).chars().take(400).collect())
        .collect()
}
