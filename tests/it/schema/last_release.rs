//! Holds the schema to that of the last release: what programs read today, they read tomorrow.
//!
//! `tests/data/records-of-last-release.txt` has a line for each key of each record, and of the fields of each message: its path, its
//! types, and whether it is always there. Lines are in the form of [`lines`]; after a release `UPDATE_RELEASED=1 cargo test --test it
//! schema::last_release` writes them anew.

use qdissect::schema::{records, schema};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const FILE: &str = "tests/data/records-of-last-release.txt";

/// What is said about a key: its types, and whether it is there whenever its object is.
#[derive(Debug, Clone, Default, PartialEq)]
struct Key {
    types: BTreeSet<String>,
    always: bool,
}

/// Keys by path, such as `server.players`; `[]` stands for the entries of an array, `*` for keys that are data.
type Keys = BTreeMap<String, Key>;

/// The keys of every record, and of the fields of every message.
fn keys() -> Keys {
    let schema = schema();
    let messages = schema["$defs"].as_object().expect("there are definitions").keys();
    let roots = messages.filter(|name| name.starts_with("fields.")).cloned();
    let roots = roots.chain(records().map(str::to_owned));
    roots.flat_map(|root| below(&schema, &schema["$defs"][&root], &root)).collect()
}

/// The keys of a node of the schema, which is at `path`.
fn below(schema: &Value, node: &Value, path: &str) -> Keys {
    let mut keys = Keys::new();
    if let Some(name) = node["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
        // The fields of messages are roots of their own.
        if name.starts_with("fields.") {
            return Keys::from([(
                path.to_owned(),
                Key { types: ["object".to_owned()].into(), always: true },
            )]);
        }
        keys = below(schema, &schema["$defs"][name], path);
    }
    let types = types(node);
    if !types.is_empty() {
        keys.entry(path.to_owned()).or_default().types.extend(types);
    }
    for (name, property) in node["properties"].as_object().into_iter().flatten() {
        let at = format!("{path}.{name}");
        let required = node["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let mut inside = below(schema, property, &at);
        inside.entry(at).or_default().always = required;
        keys.extend(inside);
    }
    for (nested, name) in [("items", "[]"), ("additionalProperties", ".*")] {
        if node[nested].is_object() {
            keys.extend(below(schema, &node[nested], &format!("{path}{name}")));
        }
    }
    for pattern in node["patternProperties"].as_object().into_iter().flat_map(|it| it.values()) {
        keys.extend(below(schema, pattern, &format!("{path}.*")));
    }
    for part in node["allOf"].as_array().into_iter().flatten() {
        for (at, key) in below(schema, part, path) {
            let known = keys.entry(at).or_default();
            known.types.extend(key.types);
            known.always |= key.always;
        }
    }
    for choice in ["oneOf", "anyOf"] {
        let variants = node[choice].as_array().into_iter().flatten();
        keys.extend(variants.map(|it| below(schema, it, path)).reduce(either).unwrap_or_default());
    }
    keys
}

/// The keys of what is one or the other.
fn either(one: Keys, mut other: Keys) -> Keys {
    for (at, key) in other.iter_mut() {
        key.always &= one.get(at).is_some_and(|it| it.always);
    }
    for (at, key) in one {
        let known = other.entry(at).or_default();
        known.types.extend(key.types);
    }
    other
}

/// The types that a node itself names, also by its values.
fn types(node: &Value) -> Vec<String> {
    let of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match &node["type"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => {
            let listed = node["enum"].as_array().into_iter().flatten();
            listed.chain(node.get("const")).map(|value| of(value).to_owned()).collect()
        }
    }
}

/// A line for each key: `server.players always integer null`.
fn lines(keys: &Keys) -> String {
    let line = |(at, key): (&String, &Key)| {
        let types: Vec<_> = key.types.iter().map(String::as_str).collect();
        format!("{at} {} {}\n", if key.always { "always" } else { "sometimes" }, types.join(" "))
    };
    keys.iter().map(line).collect()
}

fn parsed(text: &str) -> Keys {
    let keys = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split(' ').map(str::to_owned);
        let at = words.next().expect("a path");
        let always = words.next().is_some_and(|it| it == "always");
        (at, Key { always, types: words.filter(|it| !it.is_empty()).collect() })
    });
    keys.collect()
}

/// What programs that were written for `old` do not find in `new`.
fn broken(old: &Keys, new: &Keys) -> Vec<String> {
    let mut broken = vec![];
    for (at, was) in old {
        let Some(is) = new.get(at) else {
            broken.push(format!("{at} is gone"));
            continue;
        };
        if was.always && !is.always {
            broken.push(format!("{at} was always there, and may be missing"));
        }
        // An integer is a number.
        let knows =
            |it: &&String| was.types.contains(*it) || *it == "integer" && was.types.contains("number");
        broken.extend(is.types.iter().filter(|it| !knows(it)).map(|it| format!("{at} may be of type {it}")));
    }
    broken
}

#[test]
fn programs_that_read_the_last_release_read_this_one() {
    let keys = keys();
    if std::env::var_os("UPDATE_RELEASED").is_some() {
        let head = format!("# The keys of the records of qdissect {}.\n", env!("CARGO_PKG_VERSION"));
        fs::write(FILE, head + &lines(&keys)).unwrap();
    }
    let released = parsed(&fs::read_to_string(FILE).unwrap());
    assert!(released.len() > 1000, "the release has keys: {}", released.len());
    let broken = broken(&released, &keys);
    assert!(
        broken.is_empty(),
        "{}\nA version that breaks programs is a major one: see docs/compatibility.md.",
        broken.join("\n")
    );
}

#[test]
fn what_breaks_programs_is_noticed_and_what_is_new_is_not() {
    let old = keys();
    assert_eq!(parsed(&lines(&old)), old);
    assert!(old["server.players"].always && old["server.players"].types.contains("null"), "{old:?}");
    assert!(old.contains_key("fields.sqp.query_response.server_info.server_name"));
    let changed = |change: &dyn Fn(&mut Keys)| {
        let mut new = old.clone();
        change(&mut new);
        broken(&old, &new)
    };
    let string = || ["string".to_owned()];
    assert!(
        changed(&|new| {
            new.insert("server.new".to_owned(), Key { types: string().into(), always: true });
        })
        .is_empty()
    );
    assert!(
        changed(&|new| new.get_mut("server.players").unwrap().types = ["null".to_owned()].into()).is_empty()
    );
    assert_eq!(changed(&|new| drop(new.remove("server.map"))), ["server.map is gone"]);
    assert_eq!(
        changed(&|new| new.get_mut("server.players").unwrap().types.extend(string())),
        ["server.players may be of type string"]
    );
    assert_eq!(
        changed(&|new| new.get_mut("server.players").unwrap().always = false),
        ["server.players was always there, and may be missing"]
    );
}
