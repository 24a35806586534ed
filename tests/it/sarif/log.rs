//! Invariants of every SARIF log.

use jsonschema::Validator;
use qdissect::text::escape::is_hostile;
use qdissect::verdict::{Entry, SarifStyle, Verdict, sarif};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::sync::LazyLock;

/// The log as written.
pub fn text(verdict: &Verdict, style: SarifStyle) -> String {
    let mut out = vec![];
    sarif(&mut out, verdict, style).expect("a buffer takes everything");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// The log, after checking it against the schema and the invariants.
pub fn log(verdict: &Verdict, style: SarifStyle) -> Value {
    let text = text(verdict, style);
    assert_eq!(hostile(&text), None);
    let log: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(faults(&log), [""; 0]);
    check_invariants(verdict, &log, style);
    log
}

/// The violations of the schema in a log.
pub fn faults(log: &Value) -> Vec<String> {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(schema);
    SCHEMA.iter_errors(log).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

fn schema() -> Validator {
    let text = fs::read_to_string("tests/data/sarif-schema-2.1.0.json").expect("the schema is there");
    // This pattern has an extra bracket, which validators reject. It is about a language property that is not used.
    let text = text.replace("-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$");
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("it is a schema")
}

/// Checks invariants that are not in the schema.
fn check_invariants(verdict: &Verdict, log: &Value, style: SarifStyle) {
    let run = &log["runs"][0];
    let entries: Vec<&Entry> = verdict.findings.iter().filter(|e| e.finding.counts()).collect();
    let results = list(&run["results"]);
    assert_eq!(results.len(), entries.len().min(25_000));
    let rules = list(&run["tool"]["driver"]["rules"]);
    let ids: HashSet<&str> = rules.iter().map(|rule| word(&rule["id"])).collect();
    assert_eq!(ids.len(), rules.len(), "a rule stands there twice");
    assert_eq!(list(&run["artifacts"]).len(), verdict.files.len());
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["kind"], "fail");
        let related = result.get("relatedLocations").map(list).unwrap_or_default();
        for location in list(&result["locations"]).iter().chain(related) {
            hold_location(run, location, style);
        }
    }
    if results.len() == entries.len() {
        for (result, e) in results.iter().zip(entries) {
            assert_eq!(word(&result["ruleId"]), e.rule().id);
            assert_eq!(word(&result["level"]), e.finding.severity.name());
            let message = word(&result["message"]["text"]);
            assert!(message.starts_with(&format!("frame {}: {}", e.frame, e.text())), "{message}");
        }
    }
}

fn hold_location(run: &Value, location: &Value, style: SarifStyle) {
    let physical = &location["physicalLocation"];
    let index = physical["artifactLocation"]["index"].as_u64().expect("an index") as usize;
    assert_eq!(run["artifacts"][index]["location"]["uri"], physical["artifactLocation"]["uri"]);
    let has = |key: &str| physical["region"].get(key).is_some();
    match style {
        SarifStyle::Spec => {
            assert!(!["startLine", "startColumn", "endLine", "endColumn"].into_iter().any(has), "{physical}");
            assert_eq!(has("byteOffset"), physical.get("region").is_some(), "{physical}");
        }
        SarifStyle::Github => {
            let one = json!({ "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1 });
            assert_eq!(physical["region"], one);
        }
    }
}

/// The first character that could harm a viewer of the report, with the line before it.
pub fn hostile(text: &str) -> Option<&str> {
    let (at, c) = text.char_indices().find(|(_, c)| is_hostile(*c) && *c != '\n')?;
    Some(text[..at + c.len_utf8()].rsplit('\n').next().unwrap_or_default())
}

/// The elements.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// The text.
pub fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The bytes of Base64.
pub fn unbase64(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut have) = (vec![], 0u32, 0);
    for c in text.chars().filter(|c| *c != '=') {
        bits = bits << 6 | digits.find(c).expect("a digit") as u32;
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    out
}
