//! Metrics: their numbers are those of the records, their text is read by what it is for, and their series are bounded.

#[cfg(unix)]
mod served;

use crate::kit::captures::own;
use crate::kit::exposition::{Exposed, exposed};
use crate::kit::play::{CLIENTS, PORT, RawFrame, S, START, everything, report, udp_frame};
use crate::kit::run::{parsed, qdissect};
use qdissect::protocols::Id;
use qdissect::report::metrics::{FAMILIES, Kind, MAX_LABEL, MAX_SERIES, MAX_SERVERS, Metrics, Syntax};
use qdissect::rule::hex;
use qdissect::text::escape::escaped;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const OUTCOMES: [&str; 5] = ["answered", "late", "unanswered", "undecided", "refused"];
const SEVERITIES: [&str; 3] = ["error", "warning", "note"];

fn summary(args: &[&str], path: &Path) -> Output {
    qdissect().args(["summary", "--no-config"]).args(args).arg(path).output().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Compares the metrics of a capture with its records.
#[track_caller]
fn compare(path: &Path) -> usize {
    let (records, metrics) = (summary(&["-T", "ndjson"], path), summary(&["-T", "openmetrics"], path));
    let at = path.display();
    assert_eq!(metrics.status.code(), records.status.code(), "{at}");
    let records = parsed(&records, records.status.code().unwrap());
    let of_type = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    let total = of_type("summary").next().expect("there is one");
    if total["files"] == 0 {
        assert!(metrics.stdout.is_empty(), "{at}");
        return 0;
    }
    let text = String::from_utf8(metrics.stdout).unwrap();
    let exposed = exposed(&text);
    assert!(exposed.samples.len() <= MAX_SERIES, "{at}");
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()), "{at}");
    for (n, server) in of_type("server").enumerate() {
        compare_server(&exposed, server, n < MAX_SERVERS);
    }
    let servers = of_type("server").count();
    assert_eq!(
        exposed.sum("qdissect_other_servers", &[]),
        servers.saturating_sub(MAX_SERVERS) as u64,
        "{at}"
    );
    for outcome in OUTCOMES {
        let counted = exposed.sum("qdissect_requests_total", &[("outcome", outcome)]);
        assert_eq!(counted, number(&total[outcome]), "{at}: {outcome}");
    }
    assert_eq!(exposed.sum("qdissect_unclaimed_datagrams_total", &[]), number(&total["unclaimed"]), "{at}");
    assert_eq!(exposed.sum("qdissect_complete", &[]) == 1, total["complete"] == true, "{at}");
    let mut rules = BTreeSet::new();
    for rule in of_type("rule") {
        let id = rule["id"].as_str().unwrap();
        for severity in SEVERITIES {
            let counted = exposed.sum("qdissect_findings_total", &[("rule", id), ("severity", severity)]);
            assert_eq!(counted, number(&rule["finding_counts"][severity]), "{at}: {id} {severity}");
        }
        rules.insert(id);
    }
    assert!(exposed.values("rule").is_subset(&rules), "{at}");
    servers
}

#[track_caller]
fn compare_server(exposed: &Exposed, record: &Value, is_own: bool) {
    let (server, protocol) = (record["server"].as_str().unwrap(), record["protocol"].as_str().unwrap());
    let with = |label, value| [("server", server), ("protocol", protocol), (label, value)];
    let labels = &with("", "")[..2];
    if !is_own {
        assert_eq!(exposed.of("qdissect_requests_total", labels).count(), 0, "{server}");
        return;
    }
    for outcome in OUTCOMES {
        let counted = exposed.sum("qdissect_requests_total", &with("outcome", outcome));
        assert_eq!(counted, number(&record[outcome]), "{server} {outcome}");
    }
    assert_eq!(exposed.sum("qdissect_requests_total", labels), number(&record["requests"]), "{server}");
    for severity in SEVERITIES {
        let counted = exposed.sum("qdissect_findings_total", &with("severity", severity));
        assert_eq!(counted, number(&record["finding_counts"][severity]), "{server} {severity}");
    }
    for (name, key) in [("qdissect_players", "players"), ("qdissect_max_players", "max_players")] {
        let value = exposed.of(name, labels).next().map(|sample| sample.value);
        assert_eq!(value, record[key].as_f64(), "{server} {key}");
    }
    compare_times(exposed, labels, record);
    let info = exposed.of("qdissect_server_info", labels).next();
    let keys = [("name", "server_name"), ("game", "game"), ("map", "map"), ("state", "state")];
    for (label, key) in keys {
        let text = record[key].as_str().unwrap_or_default();
        let shown = info.map_or("", |info| info.label(label));
        if text.chars().count() <= MAX_LABEL {
            assert_eq!(shown, escaped(text), "{server} {key}");
        } else {
            let cut: String = text.chars().take(MAX_LABEL - 1).collect();
            assert_eq!(shown, escaped(&(cut + "…")), "{server} {key}");
        }
    }
}

/// The shortest and the longest response time say which steps have some.
#[track_caller]
fn compare_times(exposed: &Exposed, labels: &[(&str, &str)], record: &Value) {
    let count = exposed.sum("qdissect_response_seconds_count", labels);
    let buckets: Vec<_> = exposed.of("qdissect_response_seconds_bucket", labels).collect();
    assert!(buckets.is_sorted_by(|a, b| a.value <= b.value), "{labels:?}");
    let bound = |label: &str| if label == "+Inf" { f64::INFINITY } else { label.parse().unwrap() };
    let sum = exposed.of("qdissect_response_seconds_sum", labels).next().unwrap().value;
    let time = |key: &str| record["response_time"][key].as_f64();
    let (Some(min), Some(max)) = (time("min"), time("max")) else {
        assert_eq!((count, sum), (0, 0.0), "{labels:?}");
        return;
    };
    for bucket in buckets {
        let bound = bound(bucket.label("le"));
        let expected = [(0, bound < min), (count, bound >= max)];
        for (expected, _) in expected.iter().filter(|(_, is_certain)| *is_certain) {
            assert_eq!(bucket.value, *expected as f64, "{labels:?} {bound}");
        }
        assert!(bound < max.max(0.0) || bucket.value == count as f64, "{labels:?} {bound}");
    }
    let [least, most] = [min, max].map(|time| time.max(0.0) * count as f64);
    let rounding = 1e-9 * count as f64;
    assert!(least - rounding <= sum && sum <= most + rounding, "{labels:?}: {least} {sum} {most}");
}

#[test]
fn metrics_of_every_capture_equal_its_records() {
    let servers: usize = own().iter().map(|path| compare(path)).sum();
    assert!(servers > 300, "{servers}");
}

#[test]
fn what_a_filter_leaves_out_is_in_no_metric() {
    let text = summary(&["-T", "openmetrics", "-Y", "sqp"], Path::new("captures/demo.pcapng")).stdout;
    let exposed = exposed(str::from_utf8(&text).unwrap());
    assert_eq!(exposed.values("protocol"), BTreeSet::from(["sqp"]));
    assert_eq!(exposed.sum("qdissect_unclaimed_datagrams_total", &[]), 0);
}

#[test]
fn a_file_appears_whole_and_only_for_captures() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("qdissect.prom");
    let name = file.to_str().unwrap();
    let write = |capture: &Path| summary(&["-T", "openmetrics", "--output", name], capture).status.code();
    assert_eq!(write(Path::new("captures/demo.pcapng")), Some(0));
    let whole = fs::read_to_string(&file).unwrap();
    assert!(exposed(&whole).samples.len() > 100);
    assert_eq!(write(&folder.path().join("missing.pcap")), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), whole);
    // What can be read of a capture that is cut short is exposed, and marked.
    let cut = folder.path().join("cut.pcapng");
    let capture = fs::read("captures/demo.pcapng").unwrap();
    fs::write(&cut, &capture[..capture.len() - 7]).unwrap();
    assert_eq!(write(&cut), Some(2));
    assert_eq!(exposed(&fs::read_to_string(&file).unwrap()).sum("qdissect_complete", &[]), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn other_commands_have_no_metrics_and_name_the_one_that_has() {
    let output = qdissect().args(["dump", "-T", "openmetrics", "captures/demo.pcapng"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("-T openmetrics belongs to `qdissect summary`"), "{said}");
}

/// A request of each of so many servers, its answer, and one of each that nobody answers.
fn asked(servers: u32) -> Vec<RawFrame> {
    let of = |n: u32| {
        let host = ([10, (n >> 16) as u8, (n >> 8) as u8, n as u8], PORT);
        let cookie = u64::from(n).to_le_bytes();
        let poll = [&hex("d5f6 00 01")[..], &cookie, &[1]].concat();
        let rest = "03 7a960500 0000000000000000 04 001100 010100 030500 020100 0300 466162 01";
        let state = [&hex("d5f6 01 01")[..], &cookie, &hex(rest)].concat();
        let time = START + i64::from(n) * 1_000;
        [
            udp_frame(time, CLIENTS[0], host, &poll),
            udp_frame(time + 2_000_000, host, CLIENTS[0], &state),
            udp_frame(time + 10 * S, CLIENTS[1], host, &poll),
        ]
    };
    let mut frames: Vec<_> = (0..servers).flat_map(of).collect();
    frames.sort_by_key(|frame| frame.time);
    frames.push(crate::kit::play::foreign(START + 60 * S));
    frames
}

#[test]
fn servers_beyond_the_limit_are_added_up() {
    // As many as the table of servers has, and more.
    for servers in [MAX_SERVERS as u32, MAX_SERVERS as u32 + 1, 17_000] {
        let (mut metrics, totals) = report(everything(), Metrics::default(), &asked(servers));
        let text = metrics.exposition().text(Syntax::Both);
        let exposed = exposed(&text);
        assert!(exposed.samples.len() <= MAX_SERIES, "{servers}");
        let known = servers.min(16_384) - MAX_SERVERS as u32;
        assert_eq!(exposed.sum("qdissect_other_servers", &[]), u64::from(known));
        let further = u64::from(servers) - MAX_SERVERS as u64;
        let other = |name, labels: &[_]| exposed.sum(name, &[labels, &[("server", "other")]].concat());
        assert_eq!(other("qdissect_requests_total", &[("outcome", "answered")]), further);
        assert_eq!(other("qdissect_requests_total", &[("outcome", "unanswered")]), further);
        assert_eq!(other("qdissect_response_seconds_bucket", &[("le", "0.001")]), 0);
        assert_eq!(other("qdissect_response_seconds_bucket", &[("le", "0.005")]), further);
        for (severity, count) in
            SEVERITIES.iter().zip([totals.findings.error, totals.findings.warning, totals.findings.note])
        {
            assert_eq!(
                exposed.sum("qdissect_findings_total", &[("severity", severity)]),
                count,
                "{severity}"
            );
        }
        assert!(totals.findings.warning + totals.findings.note >= u64::from(servers));
    }
}

/// A program that reads metrics, with a text on its standard input; `None` where it is not installed.
fn promtool(args: &[&str], text: &str) -> Option<Output> {
    let command = Command::new("promtool")
        .args(args)
        .current_dir("docs/metrics")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = command else {
        println!("there is no promtool: nothing is tested");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[track_caller]
fn assert_accepted(output: &Output, what: &str) {
    let said = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn promtool_accepts_the_metrics_of_every_capture() {
    for path in own() {
        let text = String::from_utf8(summary(&["-T", "openmetrics"], &path).stdout).unwrap();
        let Some(output) = promtool(&["check", "metrics"], &text) else { return };
        assert_accepted(&output, &path.display().to_string());
    }
    // Counters have a type in the other forms. Promtool does not read OpenMetrics.
    let (mut metrics, _) = report(everything(), Metrics::default(), &asked(3));
    let exposition = metrics.exposition();
    let output = promtool(&["check", "metrics"], &exposition.text(Syntax::Prometheus)).unwrap();
    assert_accepted(&output, "Prometheus");
    let wrong = promtool(&["check", "metrics"], "# TYPE a counter\na{b=\"c\\d\"} 1\n").unwrap();
    assert!(!wrong.status.success());
}

#[test]
fn promtool_plays_the_alerts() {
    for args in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]] {
        let Some(output) = promtool(&args, "") else { return };
        assert_accepted(&output, args[2]);
    }
}

/// The names and labels of metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let ends = text.match_indices("qdissect_").map(|(at, _)| {
        let name = &text[at..];
        &name[..name.find(|c| !is_part(c)).unwrap_or(name.len())]
    });
    ends.collect()
}

#[test]
fn the_page_the_alerts_and_the_dashboard_speak_of_metrics_that_exist() {
    let page = fs::read_to_string("docs/metrics.md").unwrap();
    for family in FAMILIES {
        let kind = format!("{:?}", family.kind).to_lowercase();
        let labels: Vec<_> = family.labels.split_whitespace().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{} ", labels.join(" ")) };
        let row = format!("| `{}` | {kind} | {labels}| {} |\n", family.name, family.help);
        assert!(page.contains(&row), "docs/metrics.md lacks {row}");
    }
    let known: BTreeSet<_> = FAMILIES.iter().map(|family| family.name).collect();
    let alerts = fs::read_to_string("docs/metrics/alerts.yml").unwrap();
    let dashboard = fs::read_to_string("docs/metrics/dashboard.json").unwrap();
    for text in [&alerts, &dashboard] {
        let found: BTreeSet<_> =
            names(text).into_iter().map(|name| name.trim_end_matches("_bucket")).collect();
        assert!(found.len() > 4 && found.is_subset(&known), "{found:?}");
    }
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(numbers.len(), panels.len());
    // Every expression is one that Prometheus reads.
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    let rules = expressions.iter().enumerate().map(|(n, expression)| {
        let expression = expression.replace("$__rate_interval", "5m").replace(['$'], "");
        serde_json::json!({"record": format!("a:{n}"), "expr": expression})
    });
    let rules = serde_json::json!({"groups": [{"name": "a", "rules": rules.collect::<Vec<_>>()}]});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    fs::write(&file, rules.to_string()).unwrap();
    let Some(output) = promtool(&["check", "rules", file.to_str().unwrap()], "") else { return };
    assert_accepted(&output, "dashboard.json");
}

#[test]
fn samples_have_the_labels_that_their_family_declares() {
    let text = summary(&["-T", "openmetrics"], Path::new("captures/demo.pcapng")).stdout;
    let exposed = exposed(str::from_utf8(&text).unwrap());
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for sample in &exposed.samples {
        let histogram = FAMILIES
            .iter()
            .find(|family| family.kind == Kind::Histogram && sample.name.starts_with(family.name));
        let name = histogram.map_or(sample.name.as_str(), |family| family.name);
        found.entry(name).or_default().extend(sample.labels.keys().map(String::as_str));
    }
    for family in FAMILIES {
        let declared: BTreeSet<_> = family.labels.split_whitespace().collect();
        let used = found.remove(family.name).unwrap_or_default();
        // No server of that capture has a state.
        assert!(declared.is_superset(&used) && declared.len() <= used.len() + 1, "{}: {used:?}", family.name);
    }
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(Id::ALL.iter().filter(|id| id.info().name == "other").count(), 0);
}
