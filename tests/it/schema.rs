//! Validates every record of every capture against the schema: of the captures of this repository and of those named in
//! `QDISSECT_CAPTURES`, files and directories separated as in `PATH`.

mod gather;
mod last_release;
mod validation;

use crate::kit::captures::{further, own};
use crate::kit::feed;
use crate::kit::play;
use gather::{Input, pasted};
use proptest::prelude::*;
use qdissect::protocols::Id;
use qdissect::schema::{ARRAY, names, records, schema, schema_of};
use serde_json::{Value, json};
use std::process::Command;
use std::{env, fs};
use validation::{ALL, Validation, is_valid, keys, shape, validator};

/// The records of a command that needs no capture.
fn run(args: &[&str]) -> Vec<Value> {
    run_to(0, args)
}

/// The same of one that ends with that exit code.
fn run_to(code: i32, args: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_qdissect")).args(args).output().expect("it runs");
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(|line| line.parse().expect("JSON")).collect()
}

/// All records of the captures and examples in this repository.
fn repository() -> Validation {
    let mut validation = Validation::default();
    for path in &own() {
        validation.validate(&path.display().to_string(), &Input::Files(std::slice::from_ref(path)).records());
    }
    for entry in fs::read_dir("tests/data/pasted").expect("there are texts") {
        let path = entry.expect("an entry").path();
        validation.validate(&path.display().to_string(), &Input::Pasted(&pasted(&path)).records());
    }
    // Split into two files, so that records refer to other files.
    for example in feed::conversations() {
        let frames = play::example_frames(example);
        for at in [frames.len() / 2, frames.len() / 2 + 1] {
            validation.validate(&format!("{example:?}"), &Input::Split(&frames, at).records());
        }
    }
    let protocols: Vec<_> = Id::ALL.iter().map(|id| id.info().name).collect();
    let protocols = protocols.join(",");
    let with_bytes = ["dump", "-x", "--all", "-T", "ndjson", "captures/skycoop/rcon.pcap"];
    validation.validate("dump -x", &run(&with_bytes));
    let case = ["server", "192.0.2.10", "-T", "ndjson", "captures/server/challenges_only.pcapng"];
    validation.validate("server", &run(&case));
    let differences =
        ["diff", "-T", "ndjson", "captures/sqp/fake_trailing.pcap", "captures/sqp/fake_badutf8.pcap"];
    validation.validate("diff", &run_to(1, &differences));
    let clients = ["stats", "--only", "clients", "-T", "ndjson", "captures/demo.pcapng"];
    validation.validate("stats --only clients", &run(&clients));
    validation.validate("rule list", &run(&["rule", "list", "-T", "ndjson"]));
    validation
        .validate("rule show", &run(&["rule", "show", "-T", "ndjson", "GEN", "SQP", "SFQ", "SKY", "GQP"]));
    validation.validate("protocol list", &run(&["protocol", "list", "-T", "ndjson"]));
    validation.validate("protocol show", &run(&["protocol", "show", "-T", "ndjson", &protocols]));
    validation
}

/// Messages of which no capture has one. Whatever an asked server of Mindustry sends is an answer, if a broken one.
const NEVER: &[(&str, &str)] = &[("mindustry", "unknown")];

#[test]
fn every_record_matches_the_schema_and_changed_records_do_not() {
    let validation = repository();
    validation.assert();
    // Every type of record and every declared message occurred.
    for kind in records() {
        assert!(
            validation.kinds.keys().any(|seen| seen.split(' ').next() == Some(kind)),
            "no {kind}: {:?}",
            validation.kinds
        );
    }
    for id in Id::ALL {
        for message in id.info().messages {
            let kind = format!("packet {} {}", id.info().name, message.name);
            let occurs = !NEVER.contains(&(id.info().name, message.name));
            assert_eq!(validation.kinds.contains_key(&kind), occurs, "{kind}");
        }
    }
    for key in
        ["request_file", "duplicate_file", "encapsulation", "fragments", "captured_length", "retransmission"]
    {
        assert!(validation.keys.contains(key), "no record has {key}");
    }
    for (kind, example) in &validation.examples {
        check_spoilt_records(kind, example, validation.common[&shape(kind)].iter());
    }
}

/// Checks that the schema rejects a record if a key is renamed, has a value of another type, or is missing although all records
/// have it.
fn check_spoilt_records<'a>(kind: &str, record: &Value, always: impl Iterator<Item = &'a String>) {
    assert!(is_valid(record), "{record}");
    for key in keys(record) {
        let mut other = record.clone();
        other[&key] = json!([{ "no": [1.5] }]);
        assert!(!is_valid(&other) && !ALL.is_valid(&other), "{kind}: {key} may be anything: {other}");
        let mut renamed = record.clone();
        let fields = renamed.as_object_mut().expect("an object");
        let value = fields.remove(&key).expect("it is there");
        fields.insert(format!("{key}_"), value);
        assert!(!is_valid(&renamed), "{kind}: {key} may be called {key}_");
    }
    for key in always {
        let mut less = record.clone();
        less.as_object_mut().expect("an object").remove(key);
        assert!(!is_valid(&less), "{kind}: {key} may be missing");
    }
}

#[test]
fn nested_objects_are_strict_too() {
    let records = Input::Files(&["captures/demo.pcapng".into()]).records();
    let find = |what: &dyn Fn(&&Value) -> bool| records.iter().find(what).expect("there is one").clone();
    let answer = find(&|r| r["fields"]["server_info"]["server_name_hex"].is_string());
    assert!(is_valid(&answer));
    for (pointer, value) in [
        ("/fields/token", json!(4294967296u64)),
        ("/fields/token", json!("722805432")),
        ("/fields/server_info/server_name", json!(null)),
        ("/fields/server_info/server_name_hex", json!("436")),
        ("/fields/server_info/port", json!(-1)),
        ("/fields/server_info", json!([])),
        ("/findings/0/rule", json!("SQP-STR-999")),
        ("/findings/0/severity", json!("fatal")),
        ("/message", json!("poll")),
        ("/protocol", json!("gqp")),
        ("/time", json!("2026-11-20T10:32:19Z")),
        ("/src", json!("192.0.2.1")),
    ] {
        let mut changed = answer.clone();
        *changed.pointer_mut(pointer).expect(pointer) = value;
        assert!(!is_valid(&changed), "{pointer} may be so: {changed}");
    }
    for (pointer, key) in [("/fields", "players"), ("/fields/server_info", "players"), ("/findings/0", "why")]
    {
        let mut more = answer.clone();
        more.pointer_mut(pointer).expect(pointer)[key] = json!(1);
        assert!(!is_valid(&more), "{pointer} may have {key}");
    }
    let mut alone = answer;
    alone["fields"]["server_info"].as_object_mut().expect("a group").remove("server_name");
    assert!(!is_valid(&alone), "bytes of a text that is not there");
    let poll = find(&|r| r["message"] == "poll");
    for cookie in [json!(1), json!("0x1"), json!("-1"), json!("01")] {
        let mut changed = poll.clone();
        changed["fields"]["cookie"] = cookie;
        assert!(!is_valid(&changed), "{changed}");
    }
    let exchange = find(&|r| r["type"] == "exchange" && r["step"] == "query");
    for (key, value) in [
        ("key", json!("0x1")),
        ("key", json!("0x")),
        ("outcome", json!("lost")),
        ("reason", json!("")),
        ("step", json!("status")),
    ] {
        let mut changed = exchange.clone();
        changed[key] = value;
        assert!(!is_valid(&changed), "{changed}");
    }
}

#[test]
fn floats_that_are_not_finite_are_words_and_no_others() {
    let metrics = |values: Value| {
        let records = Input::Files(&["captures/demo.pcapng".into()]).records();
        let mut packet =
            records.into_iter().find(|r| r["message"] == "query_response").expect("there is one");
        packet["fields"]["metrics"] = values;
        is_valid(&packet)
    };
    assert!(metrics(json!([1.5, "NaN", "Infinity", "-Infinity", -3])));
    assert!(!metrics(json!(["nan"])) && !metrics(json!([null])) && !metrics(json!("NaN")));
}

#[test]
fn a_request_from_the_server_is_no_request() {
    let (server, client) = ((play::SERVER, play::PORT), play::CLIENTS[0]);
    let begins = [b"auth\x1e".as_slice(), &[0xf1; 60]].concat();
    let frames = [
        play::udp_frame(play::START, server, client, &begins),
        play::udp_frame(play::START + 8_000_000, client, server, b"echo\x1ecafe\x04"),
    ];
    let mut validation = Validation::default();
    let records = Input::Split(&frames, 0).records();
    validation.validate("played", &records);
    validation.assert();
    let first = records.iter().find(|r| r["type"] == "packet" && r["frame"] == 1).expect("it is told");
    assert_eq!((&first["direction"], &first["message"]), (&json!("s2c"), &json!("unknown")), "{first}");
}

#[test]
fn records_of_further_captures_match_the_schema() {
    let mut validation = Validation::default();
    for path in further() {
        validation
            .validate(&path.display().to_string(), &Input::Files(std::slice::from_ref(&path)).records());
    }
    validation.assert();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn records_of_anything_are_as_the_schema_says(moves in feed::wild()) {
        let frames = feed::move_frames(&moves);
        let mut validation = Validation::default();
        validation.validate("played", &Input::Split(&frames, frames.len() / 3).records());
        validation.assert();
    }
}

#[test]
fn the_schemas_are_schemas() {
    let all = names().map(|name| schema_of(name).expect("it has a schema"));
    for schema in all.chain([schema()]) {
        if let Err(e) = jsonschema::draft202012::meta::validate(&schema) {
            panic!("{}: {}: {e}", schema["title"], e.instance_path());
        }
        validator(&schema); // every reference leads somewhere
    }
    assert_eq!(schema_of("packets"), None);
    let wrong = json!({ "$schema": schema()["$schema"], "type": "objekt" });
    assert!(jsonschema::draft202012::meta::validate(&wrong).is_err(), "whatever is a schema");
}

#[test]
fn the_array_schema_matches_t_json() {
    let output = Command::new(env!("CARGO_BIN_EXE_qdissect"))
        .args(["dump", "--no-config", "--all", "-T", "json", "captures/demo.pcapng"])
        .output()
        .expect("it runs");
    let array: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(array.as_array().is_some_and(|records| records.len() > 100));
    let of = validator(&schema_of(ARRAY).expect("it has a schema"));
    assert!(of.is_valid(&array));
    assert!(!of.is_valid(&array[0]) && !of.is_valid(&json!([[]])) && !ALL.is_valid(&array));
    let within = json!({ "$ref": "#/$defs/array", "$defs": schema()["$defs"] });
    assert!(validator(&within).is_valid(&array));
}

#[test]
fn the_program_writes_these_schemas() {
    let written = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_qdissect"))
            .args(["generate", "schema"])
            .args(args)
            .output()
            .expect("it runs");
        (
            output.status.code(),
            String::from_utf8(output.stdout).expect("UTF-8"),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (code, text, _) = written(&[]);
    assert_eq!((code, text), (Some(0), format!("{:#}\n", schema())));
    for name in names() {
        let (code, text, _) = written(&[name]);
        assert_eq!((code, text), (Some(0), format!("{:#}\n", schema_of(name).expect("it has a schema"))));
    }
    let (code, _, stderr) = written(&["packt"]);
    assert!(code == Some(2) && stderr.contains("'packet'"), "{stderr}");
}

/// Every key of every object in a schema.
fn properties(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Array(all) => all.iter().for_each(|each| properties(each, found)),
        Value::Object(all) => {
            found.extend(all.get("properties").into_iter().flat_map(keys));
            all.values().for_each(|each| properties(each, found));
        }
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let (output, fields) = (read("docs/output.md"), read("docs/fields.md"));
    let schema = schema();
    let mut missing = vec![];
    for (name, definition) in schema["$defs"].as_object().expect("an object") {
        let mut found = vec![];
        properties(definition, &mut found);
        for key in found {
            let plain = key.strip_suffix("_hex").unwrap_or(&key);
            let there = if name.starts_with("fields.") {
                let stands = |key: &str| {
                    let written =
                        |before: &&str, after: &&str| fields.contains(&format!("{before}{key}{after}"));
                    ["`", "."].iter().any(|before| ["`", "["].iter().any(|after| written(before, after)))
                };
                stands(plain) || stands(&key)
            } else {
                output.contains(&format!("`{plain}`"))
            };
            if !there {
                missing.push(format!("{name}: {key}"));
            }
        }
    }
    missing.dedup();
    assert!(missing.is_empty(), "not in docs/output.md or docs/fields.md: {missing:#?}");
}

fn read(path: &str) -> String {
    fs::read_to_string(path).expect("the page is there")
}
