//! SARIF and GitLab's code quality report, parsed as by their readers.
//!
//! `data/sarif-schema-2.1.0.json` is the JSON Schema of the OASIS Standard "Static Analysis Results Interchange Format (SARIF)
//! Version 2.1.0", as included in the crate `serde-sarif` 0.8.0.

mod log;

use crate::kit::packed;
use log::{faults, hostile, list, log, text, unbase64, word};
use qdissect::capture::Source;
use qdissect::check::Policy;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::rule::Severity;
use qdissect::verdict::{Check, Entry, Excuse, SarifStyle, Verdict, gitlab};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Cursor;

const DEMO: &str = "captures/demo.pcapng";
const CLEAN: &str = "captures/sqp/real_cli_sample.pcapng";
const FAULTS: &str = "captures/skycoop/faults.pcap";
const MANY: [&str; 7] = [
    DEMO,
    FAULTS,
    "captures/gqp/fragments.pcap",
    "captures/gqp/bad_requests.pcapng",
    "captures/satisfactory/version2.pcapng",
    "captures/sqp/fake_multipacket.pcap",
    "captures/sqp/fake_metrics26.pcap",
];
const STYLES: [SarifStyle; 2] = [SarifStyle::Spec, SarifStyle::Github];

/// The verdict on captures, given by path and name.
fn judge(captures: &[(&str, &str)], complete: bool, excuse: fn(&Entry) -> Option<Excuse>) -> Verdict {
    let judge = |entry: &mut Entry, _: &str| {
        entry.excused = excuse(entry);
        Ok(())
    };
    let mut check = Check::new(Policy::default(), judge);
    let mut pipeline = Pipeline::new(Options::default(), &mut check);
    for (path, name) in captures {
        let bytes = fs::read(path).expect("the capture exists");
        let mut source = Source::from_reader(name, Box::new(Cursor::new(bytes))).expect("a capture");
        pipeline.read(&mut source, name).expect("it can be read");
    }
    let totals = pipeline.finish(complete).expect("nothing is written yet");
    check.verdict(totals).expect("nothing is written yet")
}

/// The verdict on intact captures under their own names.
fn verdict_of(paths: &[&str]) -> Verdict {
    let captures: Vec<_> = paths.iter().map(|path| (*path, *path)).collect();
    judge(&captures, true, |_| None)
}

fn results(log: &Value) -> &[Value] {
    list(&log["runs"][0]["results"])
}

#[test]
fn logs_of_all_protocols_match_the_schema_in_both_styles() {
    for style in STYLES {
        for path in MANY {
            assert!(!results(&log(&verdict_of(&[path]), style)).is_empty(), "{path}");
        }
        log(&verdict_of(&MANY), style);
    }
}

#[test]
fn the_schema_is_strict_enough_to_find_faults() {
    let sound = log(&verdict_of(&[DEMO]), SarifStyle::Spec);
    let damages: [(&str, Value); 7] = [
        ("/runs/0/results/0/level", json!("fatal")),
        ("/runs/0/results/0/message", json!("frame 12")),
        ("/runs/0/results/0/locations/0/physicalLocation/region/snippet", json!("1wA=")),
        ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", json!("a b.pcap")),
        ("/runs/0/tool/driver/rules/0/defaultConfiguration/level", json!("info")),
        ("/runs/0/invocations/0", json!({})),
        ("/runs/0/artifacts/0/mimeType", json!("pcap")),
    ];
    for (place, damage) in damages {
        let mut log = sound.clone();
        *log.pointer_mut(place).unwrap_or_else(|| panic!("there is no {place}")) = damage;
        assert_eq!(faults(&log).len(), 1, "{place}");
    }
}

#[test]
fn a_clean_run_has_no_results_but_all_its_rules() {
    let verdict = verdict_of(&[CLEAN]);
    assert!(verdict.findings.is_empty(), "the capture is clean");
    for style in STYLES {
        let log = log(&verdict, style);
        assert_eq!(log["runs"][0]["results"], json!([]));
        assert_eq!(log["runs"][0]["invocations"], json!([{ "executionSuccessful": true }]));
        let rules = list(&log["runs"][0]["tool"]["driver"]["rules"]);
        assert!(rules.iter().any(|rule| rule["id"] == "SQP-STR-002"));
        assert!(!rules.iter().any(|rule| word(&rule["id"]).starts_with("SKY-")), "it was not seen");
    }
    let mut out = vec![];
    gitlab(&mut out, &verdict).expect("a buffer takes everything");
    assert_eq!(out, b"[]\n");
}

#[test]
fn a_region_is_the_bytes_that_the_snippet_shows() {
    let verdict = verdict_of(&MANY);
    let log = log(&verdict, SarifStyle::Spec);
    let mut shown = 0;
    for result in results(&log) {
        let physical = &result["locations"][0]["physicalLocation"];
        let file = fs::read(word(&physical["artifactLocation"]["uri"])).expect("a capture");
        let Some(region) = physical.get("region") else { continue };
        let number = |key: &str| region[key].as_u64().expect("a number") as usize;
        let marked = &file[number("byteOffset")..][..number("byteLength")];
        let Some(snippet) = region.get("snippet") else {
            assert!(marked.is_empty() || marked.len() > 32, "{region}"); // no password is in these
            continue;
        };
        assert_eq!(unbase64(word(&snippet["binary"])), marked, "{region}");
        assert!(!marked.is_empty(), "{region}");
        shown += 1;
    }
    assert!(shown > 20, "{shown}");
}

#[test]
fn a_password_is_in_no_report() {
    let verdict = verdict_of(&["captures/skycoop/rcon.pcap"]);
    assert!(verdict.findings.iter().any(|e| e.rule().id == "SKY-SEC-002"), "a password was sent");
    for password in ["guess", "Wolf-1942"] {
        let spec = log(&verdict, SarifStyle::Spec);
        let regions = results(&spec).iter().map(|r| &r["locations"][0]["physicalLocation"]["region"]);
        for snippet in regions.filter_map(|region| region["snippet"]["binary"].as_str()) {
            let bytes = unbase64(snippet);
            assert!(!bytes.windows(password.len()).any(|w| w == password.as_bytes()), "{snippet}");
        }
        let hex: Vec<String> = password.bytes().map(|b| format!("{b:02x}")).collect();
        assert!(!text(&verdict, SarifStyle::Github).contains(&hex.join(" ")), "{password}");
    }
}

#[test]
fn a_symptom_is_listed_once_with_a_link_to_its_cause() {
    let verdict = verdict_of(&MANY);
    let symptoms = verdict.findings.iter().filter(|e| !e.finding.counts());
    let mut expected: Vec<_> = symptoms.map(|e| format!("{} frame {}: ", e.rule().id, e.frame)).collect();
    assert!(expected.len() > 3, "{expected:?}");
    for style in STYLES {
        let log = log(&verdict, style);
        let mut found = vec![];
        for result in results(&log) {
            let related = result.get("relatedLocations").map(list).unwrap_or_default();
            for (i, location) in related.iter().enumerate() {
                let message = word(&location["message"]["text"]);
                let (rule, _) = message.split_once(' ').expect("a rule");
                found.push(message.split_inclusive(": ").next().expect("a beginning").to_owned());
                assert_eq!(location["id"], i + 1);
                assert!(word(&result["message"]["text"]).contains(&format!("[{rule}]({})", i + 1)));
            }
        }
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn many_symptoms_are_counted_and_some_of_them_listed() {
    let mut verdict = verdict_of(&[FAULTS]);
    let symptom = verdict.findings.iter().find(|e| !e.finding.counts()).cloned().expect("there is one");
    let cause = symptom.finding.caused_by.expect("it has a cause");
    let frame = format!("frame {}: ", cause.frame);
    for (symptoms, listed, end) in [(5, 5, "](5)."), (150, 100, "](5) and 145 more.")] {
        let missing = symptoms - verdict.symptoms()[&(symptom.file, cause.frame, cause.rule.id)].len();
        verdict.findings.extend(vec![symptom.clone(); missing]);
        let log = log(&verdict, SarifStyle::Spec);
        let mut of_cause = results(&log).iter().filter(|r| word(&r["message"]["text"]).starts_with(&frame));
        let result = of_cause.find(|r| r["ruleId"] == cause.rule.id).expect("the cause is a result");
        assert_eq!(list(&result["relatedLocations"]).len(), listed);
        assert!(word(&result["message"]["text"]).ends_with(end), "{result}");
    }
}

#[test]
fn the_policy_determines_the_level_of_a_finding() {
    let mut verdict = verdict_of(&[DEMO]);
    for e in &mut verdict.findings {
        e.finding.severity = match e.finding.severity {
            Severity::Error => Severity::Note,
            Severity::Warning | Severity::Note => Severity::Error,
        };
    }
    let log = log(&verdict, SarifStyle::Spec); // which compares the levels
    let rules = list(&log["runs"][0]["tool"]["driver"]["rules"]);
    let rule = rules.iter().find(|rule| rule["id"] == "SQP-STR-002").expect("it was broken");
    assert_eq!(rule["defaultConfiguration"]["level"], "error");
}

#[test]
fn no_two_results_of_a_run_share_a_fingerprint() {
    let twice: Vec<_> = MANY.iter().map(|path| (*path, *path)).chain([(DEMO, "again.pcap")]).collect();
    let log = log(&judge(&twice, true, |_| None), SarifStyle::Spec);
    let mut known: HashMap<&str, &Value> = HashMap::new();
    for result in results(&log) {
        let print = word(&result["partialFingerprints"]["primaryLocationLineHash"]);
        assert!(known.insert(print, result).is_none(), "{print}: {result} and {}", known[print]);
    }
    assert!(known.len() > 100, "{}", known.len());
}

#[test]
fn excused_findings_are_suppressed_and_all_results_say_so() {
    let plain = log(&verdict_of(&[FAULTS]), SarifStyle::Spec);
    for result in results(&plain) {
        assert!(result.get("baselineState").is_none() && result.get("suppressions").is_none(), "{result}");
    }
    let excuse = |e: &Entry| match e.finding.severity {
        Severity::Error => Some(Excuse::Suppressed("known \u{202e}\x1b[2J\n::error::".into())),
        Severity::Warning => Some(Excuse::Baseline),
        Severity::Note => None,
    };
    let log = log(&judge(&[(FAULTS, FAULTS)], true, excuse), SarifStyle::Github);
    let mut levels = HashSet::new();
    for result in results(&log) {
        let level = word(&result["level"]);
        let reason = "known \u{202e}\x1b[2J\n::error::";
        let (state, suppressions) = match level {
            "error" => ("new", json!([{ "kind": "external", "justification": reason }])),
            "warning" => ("unchanged", json!([])),
            _ => ("new", json!([])),
        };
        assert_eq!(result["baselineState"], state);
        assert_eq!(result["suppressions"], suppressions);
        levels.insert(level);
    }
    assert_eq!(levels.len(), 3);
}

#[test]
fn the_worst_findings_are_written_and_the_rest_is_counted() {
    let mut verdict = verdict_of(&[DEMO]);
    let find = |severity| verdict.findings.iter().find(|e| e.finding.severity == severity).cloned();
    let (note, error) = (find(Severity::Note), find(Severity::Error));
    let (note, error) = (note.expect("there is a note"), error.expect("there is an error"));
    verdict.findings = vec![note; 25_000];
    verdict.findings.extend([error.clone(), Entry { excused: Some(Excuse::Baseline), ..error.clone() }]);
    verdict.findings.insert(7, error);
    verdict.more_findings = 5;
    let text = text(&verdict, SarifStyle::Spec);
    let log: Value = serde_json::from_str(&text).expect("JSON");
    let levels: Vec<&str> = results(&log).iter().map(|r| word(&r["level"])).collect();
    assert_eq!(levels.len(), 25_000);
    let errors: Vec<usize> =
        levels.iter().enumerate().filter(|(_, l)| **l == "error").map(|(i, _)| i).collect();
    assert_eq!(errors, [7, 24_999]);
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert!(word(&note["message"]["text"]).starts_with("8 further findings"), "{note}");
}

#[test]
fn a_run_that_could_not_read_everything_says_so() {
    let mut verdict = judge(&[(DEMO, DEMO)], false, |_| None);
    for (accepted, level) in [(false, "error"), (true, "warning")] {
        verdict.totals.accepted = accepted;
        let log = log(&verdict, SarifStyle::Spec);
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], accepted);
        assert_eq!(invocation["toolExecutionNotifications"][0]["level"], level);
    }
}

#[test]
fn results_of_standard_input_have_no_byte_region() {
    let log = log(&judge(&[(DEMO, "-")], true, |_| None), SarifStyle::Spec);
    assert!(results(&log).iter().all(|r| r["locations"][0]["physicalLocation"].get("region").is_none()));
    assert_eq!(log["runs"][0]["artifacts"][0]["roles"], json!(["analysisTarget", "standardStream"]));
}

#[test]
fn results_of_compressed_files_have_no_byte_region() {
    let folder = tempfile::tempdir().expect("a folder");
    let without_regions = |verdict: &Verdict| {
        let log = log(verdict, SarifStyle::Spec);
        let mut results = results(&log).to_vec();
        let all = results.len();
        let physical = |result: &mut Value| result["locations"][0]["physicalLocation"].take();
        let regions = results.iter_mut().filter_map(|r| physical(r).get("region").cloned()).count();
        results.iter_mut().for_each(|result| drop(result["relatedLocations"].take()));
        (results, all, regions)
    };
    let (plain, all, regions) = without_regions(&judge(&[(DEMO, "demo")], true, |_| None));
    assert!(regions > all / 2, "{regions} of {all}");
    for (ending, bytes) in packed::all(&fs::read(DEMO).expect("it is there")) {
        let path = folder.path().join(ending);
        fs::write(&path, bytes).expect("there is room");
        let path = path.to_str().expect("a text");
        assert_eq!(without_regions(&judge(&[(path, "demo")], true, |_| None)), (plain.clone(), all, 0));
    }
}

/// Names with special characters for terminals, URIs or parsers, and their form in the log.
const NAMES: [(&str, &str); 12] = [
    ("./captures/a b.pcap", "captures/a b.pcap"),
    ("\x1b[2J", "\x1b[2J"),
    ("a\r\n::error::b", "a\r\n::error::b"),
    ("\",\"x\":{}", "\",\"x\":{}"),
    ("http://example.org/?q#f", "http:/example.org/?q#f"),
    ("c:x", if cfg!(windows) { "C:x" } else { "c:x" }),
    ("100%41", "100%41"),
    ("\u{202e}gpj.pcap", "\u{202e}gpj.pcap"),
    ("\u{85}\u{2028}\u{fffe}\0", "\u{85}\u{2028}\u{fffe}\0"),
    ("[x](1) {0} <b>", "[x](1) {0} <b>"),
    ("Zoé/サーバー\u{fffd}", "Zoé/サーバー\u{fffd}"),
    ("", "."),
];

#[test]
fn hostile_names_are_addresses_and_nothing_else() {
    for (name, expected) in NAMES {
        for style in STYLES {
            let verdict = judge(&[(DEMO, name)], true, |_| None);
            let log = log(&verdict, style);
            let uri = word(&log["runs"][0]["artifacts"][0]["location"]["uri"]);
            assert!(uri.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b)), "{uri}");
            assert_eq!(decoded(uri), expected);
        }
        for finding in quality(&[(DEMO, name)]) {
            assert_eq!(word(&finding["location"]["path"]), expected);
        }
    }
}

fn decoded(uri: &str) -> String {
    let mut parts = uri.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(&part[..2], 16).expect("hex digits"));
        out.extend(part[2..].bytes());
    }
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_capture_named_from_the_root_is_found_from_the_working_directory() {
    let root = std::env::current_dir().expect("there is one").join(DEMO);
    let root = root.to_str().expect("UTF-8");
    let log = log(&judge(&[(DEMO, root)], true, |_| None), SarifStyle::Github);
    assert_eq!(log["runs"][0]["artifacts"][0]["location"]["uri"], DEMO);
    assert!(!log.to_string().contains(root));
    assert!(quality(&[(DEMO, root)]).iter().all(|f| f["location"]["path"] == DEMO));
}

/// GitLab's report.
fn quality(captures: &[(&str, &str)]) -> Vec<Value> {
    let mut out = vec![];
    gitlab(&mut out, &judge(captures, true, |_| None)).expect("a buffer takes everything");
    let text = String::from_utf8(out).expect("UTF-8");
    assert_eq!(hostile(&text), None);
    serde_json::from_str(&text).expect("an array")
}

#[test]
fn gitlab_gets_every_finding_that_counts() {
    let captures: Vec<_> = MANY.iter().map(|path| (*path, *path)).collect();
    let (verdict, report) = (verdict_of(&MANY), quality(&captures));
    let entries: Vec<&Entry> = verdict.findings.iter().filter(|e| e.counts()).collect();
    assert_eq!(report.len(), entries.len());
    for (finding, e) in report.iter().zip(entries) {
        assert_eq!(finding["check_name"], e.rule().id);
        let severity = ["info", "minor", "major"][e.finding.severity as usize];
        assert_eq!(finding["severity"], severity);
        let location = json!({ "path": verdict.file(e), "lines": { "begin": e.frame } });
        assert_eq!(finding["location"], location);
        let description = format!("{} in frame {}: {}", e.rule().id, e.frame, e.text());
        assert!(word(&finding["description"]).starts_with(&description), "{finding}");
    }
}

#[test]
fn gitlab_gets_nothing_that_is_excused() {
    let verdict = judge(&[(DEMO, DEMO)], true, |_| Some(Excuse::Baseline));
    assert!(!verdict.findings.is_empty());
    let mut out = vec![];
    gitlab(&mut out, &verdict).expect("a buffer takes everything");
    assert_eq!(out, b"[]\n");
}

#[test]
fn no_two_findings_share_a_fingerprint_in_gitlab_even_of_several_jobs() {
    let one = quality(&[(DEMO, "one.pcapng"), (FAULTS, FAULTS)]);
    let two = quality(&[(DEMO, "two.pcapng")]);
    let prints: HashSet<&str> = one.iter().chain(&two).map(|f| word(&f["fingerprint"])).collect();
    assert_eq!(prints.len(), one.len() + two.len());
    let again = quality(&[(DEMO, "two.pcapng")]);
    assert_eq!(two, again, "a second run finds the same");
}

#[test]
fn equal_findings_beyond_all_counting_differ_in_gitlab() {
    let mut verdict = verdict_of(&[DEMO]);
    let first = verdict.findings.first().cloned().expect("there is a finding");
    verdict.findings = vec![first; 3];
    let mut out = vec![];
    gitlab(&mut out, &verdict).expect("a buffer takes everything");
    let report: Vec<Value> = serde_json::from_slice(&out).expect("an array");
    let prints: HashSet<&str> = report.iter().map(|f| word(&f["fingerprint"])).collect();
    assert_eq!(prints.len(), 3);
}
