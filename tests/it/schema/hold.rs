//! Records against the schema.

use jsonschema::Validator;
use qdissect::schema::{records, schema, schema_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

/// Records of one kind that are held against the schema of all of them, too, which takes longer.
const FULL: u64 = 20;
/// Faults that are told.
const TOLD: usize = 20;

/// A validator for each type of records.
static TYPES: LazyLock<HashMap<&str, Validator>> = LazyLock::new(|| {
    records().map(|name| (name, validator(&schema_of(name).expect("a record has a schema")))).collect()
});
/// The one for all of them.
pub static ALL: LazyLock<Validator> = LazyLock::new(|| validator(&schema()));

/// A validator of a schema.
pub fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).expect("it is a schema")
}

/// Whether a record is one by the schema of its type.
pub fn is_valid(record: &Value) -> bool {
    record["type"].as_str().and_then(|name| TYPES.get(name)).is_some_and(|of| of.is_valid(record))
}

/// What was held so far.
#[derive(Default)]
pub struct Held {
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// The keys that all records of a shape had.
    pub common: BTreeMap<String, BTreeSet<String>>,
    /// A record of each kind, the one with the most keys.
    pub examples: BTreeMap<String, Value>,
    /// Every key of any record.
    pub keys: BTreeSet<String>,
    faults: Vec<String>,
}

impl Held {
    /// Holds the records of an input against the schema.
    pub fn see(&mut self, input: &str, records: &[Value]) {
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

    /// Fails unless everything was as the schema has it.
    #[track_caller]
    pub fn assert(&self) {
        let all = &self.faults;
        assert!(all.is_empty(), "{} records:\n{}", all.len(), all[..all.len().min(TOLD)].join("\n"));
    }
}

/// Keys of an object.
pub fn keys(record: &Value) -> impl Iterator<Item = String> {
    record.as_object().into_iter().flat_map(|all| all.keys().cloned())
}

/// Type of a record, and what tells records of that type apart.
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

/// The shape of the records of a kind: which keys they have depends on it, and not on protocols.
pub fn shape(kind: &str) -> String {
    match kind.split_once(' ') {
        Some(("packet", "null null")) => "packet nobody claims".to_owned(),
        Some(("rule", "why" | "examples")) => "rule declared".to_owned(),
        Some((name @ ("packet" | "exchange"), _)) => name.to_owned(),
        _ => kind.to_owned(),
    }
}

/// What the schema of its type says against a record.
fn faults(record: &Value) -> Vec<String> {
    let Some(of) = record["type"].as_str().and_then(|name| TYPES.get(name)) else {
        return vec![format!("{} is no type of records", record["type"])];
    };
    of.iter_errors(record)
        .map(|e| format!("{}: {e}", e.instance_path()).chars().take(400).collect())
        .collect()
}
