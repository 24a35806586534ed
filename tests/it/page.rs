//! The page of `report`: its numbers agree with the records, it contains no foreign markup, and what is left out is counted.

use crate::kit::captures::own;
use crate::kit::ci::elements;
use crate::kit::play::{PORT, RawFrame, START, everything, numbered_frame, udp_frame};
use crate::kit::run::qdissect;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use qdissect::capture::{CaptureInfo, Source};
use qdissect::page::{self, Gathered, Page};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::summary::{self, Summary};
use qdissect::report::{Form, ONE_WAY, Output, Records, Report, Totals};
use qdissect::rule::hex;
use qdissect::stats::{self, Section, Stats};
use qdissect::text::escape::is_hostile;
use qdissect::verdict::{Check, Entry, MAX_FINDINGS, Verdict, json};
use roxmltree::Document;
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads captures into a report. Returns it with the totals; `None` if no capture can be opened.
fn read_report<R: Report>(paths: &[PathBuf], mut report: R) -> Option<(R, Totals)> {
    let mut pipeline = Pipeline::new(Options::default(), &mut report);
    let mut any = false;
    for path in paths {
        let Ok(mut source) = Source::open(path) else { continue };
        any = true;
        let _ = pipeline.read(&mut source, &path.to_string_lossy()); // what was read before an error counts
    }
    let totals = pipeline.finish(true).expect("the report takes everything");
    any.then_some((report, totals))
}

type Judge = fn(&mut Entry, &str) -> io::Result<()>;

fn check() -> Check<Judge> {
    Check::new(Options::default().policy, |_, _| Ok(()))
}

fn paged() -> Page<Judge> {
    Page::new(check(), &Options::default())
}

fn html(gathered: &Gathered, verdict: &Verdict) -> String {
    let mut out = vec![];
    page::write(&mut out, gathered, verdict).expect("memory takes everything");
    String::from_utf8(out).expect("the page is UTF-8")
}

/// The page of captures.
fn page_of(paths: &[PathBuf]) -> Option<String> {
    let (page, totals) = read_report(paths, paged())?;
    let (verdict, gathered) = page.verdict(totals).expect("nothing is written");
    Some(html(&gathered, &verdict))
}

/// The text between two others.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin:?}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?}")).0
}

fn data(page: &str) -> Value {
    between(page, "id=\"data\">", "</script>").parse().expect("the data are JSON")
}

fn written(write: impl FnOnce(&mut Output<&mut Vec<u8>>) -> io::Result<()>) -> Vec<Value> {
    let mut out = vec![];
    write(&mut Output::new(&mut out, Form::Ndjson, false)).expect("memory takes everything");
    str::from_utf8(&out).expect("UTF-8").lines().map(|line| line.parse().expect("JSON")).collect()
}

fn records_of_type(records: &[Value], kind: &str) -> Vec<Value> {
    records.iter().filter(|record| record["type"] == kind).cloned().collect()
}

/// The rows of the page without the keys that only the page has, sorted.
fn without(rows: &Value, keys: &[&str]) -> Vec<Value> {
    let mut rows = rows.as_array().expect("rows").clone();
    for row in &mut rows {
        let row = row.as_object_mut().expect("a record");
        keys.iter().for_each(|key| _ = row.remove(*key));
    }
    rows.sort_by_key(Value::to_string);
    rows
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(Value::to_string);
    rows
}

/// The records of `summary`, `stats`, `check` and `exchanges` for captures.
fn records(paths: &[PathBuf]) -> Option<[Vec<Value>; 4]> {
    let (gathered, totals) = read_report(paths, Summary::default())?;
    let summary = written(|out| summary::records(out, &gathered, &totals));
    let (gathered, totals) = read_report(paths, Stats::new(None))?;
    let stats = written(|out| stats::records(out, &gathered, &totals, &[Section::Times, Section::Series]));
    let (report, totals) = read_report(paths, check())?;
    let mut out = vec![];
    let verdict = report.verdict(totals).expect("nothing is written");
    json(&mut out, &verdict, false).expect("memory takes everything");
    let check = serde_json::from_slice(&out).expect("an array");
    let mut out = vec![];
    read_report(paths, Records::new(Output::new(&mut out, Form::Ndjson, false), false, false))?;
    let exchanges =
        str::from_utf8(&out).expect("UTF-8").lines().map(|line| line.parse().expect("JSON")).collect();
    Some([summary, stats, check, exchanges])
}

#[test]
fn numbers_on_the_page_agree_with_the_records() {
    let (mut pages, mut rows) = (0, 0);
    for path in own() {
        let paths = [path.clone()];
        let Some(page) = page_of(&paths) else { continue };
        let [summary, stats, check, exchanges] = records(&paths).expect("it was opened before");
        let data = data(&page);
        assert_eq!(data["summary"], records_of_type(&check, "summary")[0], "{path:?}");
        assert_eq!(data["capture"], Value::from(records_of_type(&summary, "capture")), "{path:?}");
        let servers = without(&data["server"], &["answered_percent", "trace"]);
        assert_eq!(servers, sorted(records_of_type(&summary, "server")), "{path:?}");
        assert_eq!(data["unclaimed"], Value::from(records_of_type(&summary, "unclaimed")), "{path:?}");
        assert_eq!(
            without(&data["finding"], &["bytes"]),
            sorted(records_of_type(&check, "finding")),
            "{path:?}"
        );
        let steps: Vec<_> = records_of_type(&stats, "response_times")
            .into_iter()
            .filter(|row| row["server"].is_null())
            .collect();
        assert_eq!(data["response_times"], Value::from(steps), "{path:?}");
        let intervals = without(&data["interval"], &["finding_counts"]);
        assert_eq!(intervals, sorted(records_of_type(&stats, "interval")), "{path:?}");
        let all: HashMap<u64, Value> = records_of_type(&exchanges, "exchange")
            .into_iter()
            .map(|e| (e["id"].as_u64().expect("a number"), e))
            .collect();
        let shown = data["exchange"].as_array().expect("exchanges");
        shown
            .iter()
            .for_each(|e| assert_eq!(all.get(&e["id"].as_u64().expect("a number")), Some(e), "{path:?}"));
        let left_out = data["left_out"]["exchange"].as_u64().expect("a count");
        assert_eq!(shown.len() as u64 + left_out, all.len() as u64, "{path:?}");
        let broken = records_of_type(&check, "rule").into_iter().filter(|rule| rule["result"] == "fail");
        assert_eq!(
            without(&data["rule"], &["severity", "title", "why", "source", "page"]),
            sorted(broken.collect())
        );
        check_sums(&data, &path);
        tables(&page, &data);
        pages += 1;
        rows += shown.len();
    }
    assert!(pages > 100 && rows > 500, "{pages} pages, {rows} exchanges");
}

/// Checks that the data that only the page has adds up to the records.
fn check_sums(data: &Value, path: &Path) {
    for server in data["server"].as_array().expect("servers") {
        let slots = server["trace"].as_array().expect("slots");
        let sum = |at: usize| slots.iter().map(|slot| slot[at].as_u64().expect("a count")).sum::<u64>();
        let count = |key: &str| server[key].as_u64().expect("a count");
        // Findings without a time are in no interval.
        if data["summary"]["first_time"].is_string() && sum(0) > 0 {
            assert_eq!(sum(0), count("requests"), "{path:?}: {server}");
            assert_eq!(sum(1), count("unanswered") + count("refused"), "{path:?}: {server}");
        }
        let requests = count("requests");
        let percent = (requests > 0).then(|| (count("answered") + count("late")) * 100 / requests);
        assert_eq!(server["answered_percent"], value!(percent), "{path:?}");
    }
    let findings = data["finding"].as_array().expect("findings");
    let mut untimed = 0;
    for severity in ["error", "warning", "note"] {
        let intervals = data["interval"].as_array().expect("intervals");
        let counted: u64 =
            intervals.iter().map(|row| row["finding_counts"][severity].as_u64().expect("a count")).sum();
        let timed = findings.iter().filter(|f| f["severity"] == severity && f["caused_by"].is_null());
        let timed = timed
            .filter(|f| intervals.first().is_some_and(|row| row["start"].as_str() <= f["time"].as_str()));
        assert_eq!(counted, timed.count() as u64, "{path:?}: {severity}");
        untimed += data["summary"]["finding_counts"][severity].as_u64().expect("a count") - counted;
    }
    let notes = data["notes"].as_array().expect("notes");
    let untimed_counts = notes.iter().filter_map(|note| note.as_str()?.split_once(" in no interval: "));
    let untimed_counts: Vec<_> =
        untimed_counts.filter_map(|(n, _)| n.split(' ').next()?.parse::<u64>().ok()).collect();
    assert_eq!(untimed_counts, Vec::from_iter((untimed > 0).then_some(untimed)), "{path:?}");
}

/// Checks that the tables of the HTML have the rows and numbers of the data.
fn tables(page: &str, data: &Value) {
    for part in page.split("<table ").skip(1) {
        let text = format!("<table {}</table>", part.split_once("</table>").expect("it ends").0);
        let table = Document::parse(&text).expect("a table is well-formed");
        let name = table.root_element().attribute("data-table").expect("a name");
        let rows = data[name].as_array().expect("rows");
        let keys: Vec<_> =
            elements(table.root(), "th").iter().map(|th| th.attribute("data-key").expect("a key")).collect();
        let lines: Vec<_> = elements(table.root(), "tr").into_iter().skip(1).collect();
        assert_eq!(lines.len(), rows.len().min(200), "{name}");
        for (line, row) in lines.iter().zip(rows) {
            let cells = elements(*line, "td");
            assert_eq!(cells.len(), keys.len());
            for (cell, key) in
                cells.iter().zip(&keys).filter(|(cell, _)| cell.attribute("class") == Some("count"))
            {
                let expected = if row[key].is_null() { "–".to_owned() } else { row[key].to_string() };
                assert_eq!(cell.text(), Some(expected.as_str()), "{name} {key}");
            }
        }
    }
}

#[test]
fn no_name_of_a_hostile_capture_is_markup() {
    let mut names = 0;
    for capture in ["sqp_names", "sky_names", "sat_names", "gqp_names"] {
        let page =
            page_of(&[Path::new("captures/hostile").join(format!("{capture}.pcap"))]).expect("it is there");
        let hostile = page.chars().find(|c| is_hostile(*c) && *c != '\n');
        assert_eq!(hostile, None, "{capture}");
        let json = between(&page, "id=\"data\">", "</script>");
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{capture}");
        // The HTML contains only elements of the template and the tables.
        let (before, behind) =
            (page.split_once("<script type").expect("data").0, page.split_once("</style>").expect("style").1);
        let outside = before.strip_prefix(page.split_once("</style>").expect("style").0).expect("in order");
        assert!(behind.len() > outside.len());
        const TAGS: &str = "a p nav button header main section h1 h2 h3 bdi dl div dt dd ul li figure figcaption details \
                            summary table caption thead tbody tr th td span code footer body head style strong";
        for tag in outside.split('<').skip(1) {
            let name = tag.trim_start_matches('/').split([' ', '>']).next().expect("a name");
            assert!(TAGS.split_whitespace().any(|known| known == name), "{capture}: <{tag}");
        }
        names += data(&page)["server"].as_array().expect("servers").len();
    }
    assert!(names > 3, "{names}");
}

#[test]
fn the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() {
    let page = page_of(&["captures/demo.pcapng".into()]).expect("it is there");
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let (style, script) = (between(&page, "<style>", "</style>"), between(&page, "<script>", "</script>"));
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            hash(script),
            hash(style)
        )
    );
    let attributes = ["src=", "srcset=", "style=\"", "javascript:", "@import", "url("];
    let html = page.replacen(script, "", 1).replacen(between(&page, "id=\"data\">", "</script>"), "", 1);
    let tags = || html.split('<').skip(1).filter_map(|tag| tag.split_once('>'));
    for attribute in attributes {
        assert_eq!(tags().find(|(tag, _)| tag.contains(attribute)), None, "{attribute}");
    }
    // Handlers of events; quoted values may have any words.
    let names = |tag: &str| tag.split('"').step_by(2).collect::<String>();
    assert_eq!(tags().find(|(tag, _)| names(tag).contains(" on")), None);
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

/// A page of frames.
fn played(raw_frames: &[RawFrame]) -> Value {
    let mut report = paged();
    let mut pipeline = Pipeline::new(everything(), &mut report);
    let frames =
        raw_frames.iter().enumerate().map(|(at, raw_frame)| numbered_frame(raw_frame, at as u64 + 1, 0));
    pipeline.read_frames("a", &CaptureInfo::default(), frames).expect("memory");
    let totals = pipeline.finish(true).expect("memory");
    let (verdict, gathered) = report.verdict(totals).expect("memory");
    data(&html(&gathered, &verdict))
}

#[test]
fn the_page_has_the_worst_findings_and_the_bytes_of_twenty_per_rule() {
    // Polls of an unknown version, each with a different cookie, followed by one broken answer.
    let (client, server) = (([198, 51, 100, 7], 40_001), ([192, 0, 2, 10], PORT));
    let poll = |n: u64| [&hex("d5f6 00 07")[..], &n.to_le_bytes(), &[1]].concat();
    let mut raw_frames: Vec<_> =
        (1..=2_100).map(|n| udp_frame(START + n * 1_000_000, client, server, &poll(n as u64))).collect();
    raw_frames.push(udp_frame(
        START + 3_000_000_000,
        server,
        client,
        &hex("d5f6 01 01 3408000000000000 03 7a960500"),
    ));
    let data = played(&raw_frames);
    let findings = data["finding"].as_array().expect("findings");
    assert_eq!(findings.len(), 2_000);
    let all: u64 = data["left_out"]["finding"].as_u64().expect("a count") + 2_000;
    assert!(all > 2_000, "{all}");
    let worst = |f: &Value| ["note", "warning", "error"].iter().position(|name| f["severity"] == **name);
    assert!(findings.windows(2).all(|pair| worst(&pair[0]) >= worst(&pair[1])), "the worst come first");
    let whole =
        findings.iter().filter(|f| f["bytes"]["hex"].as_str().is_some_and(|hex| hex.len() == 26)).count();
    assert!((1..=60).contains(&whole), "{whole}");
}

#[test]
fn findings_over_time_are_left_out_where_not_all_are_kept() {
    let (client, server) = (([198, 51, 100, 7], 40_001), ([192, 0, 2, 10], PORT));
    let poll = |n: u64| [&hex("d5f6 00 07")[..], &n.to_le_bytes(), &[1]].concat();
    for (polls, kept) in [(10_i64, true), (MAX_FINDINGS as i64 + 10, false)] {
        let raw_frames: Vec<_> =
            (1..=polls).map(|n| udp_frame(START + n * 1_000_000, client, server, &poll(n as u64))).collect();
        let data = played(&raw_frames);
        let intervals = data["interval"].as_array().expect("intervals");
        assert!(intervals.iter().all(|row| row["finding_counts"].is_object() == kept), "{polls}");
        let notes = data["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
        assert_eq!(
            notes.filter(|note| note.starts_with("no findings over time")).count(),
            usize::from(!kept)
        );
    }
}

#[test]
fn the_bytes_around_the_finding_of_a_long_datagram_are_kept() {
    // An answer with a name of 600 bytes, and a byte after its terminator.
    let (client, server) = (([198, 51, 100, 7], 40_001), ([192, 0, 2, 10], PORT));
    let rest = [&hex("03 7a960500 0000000000000000 00 5802")[..], &[b'a'; 600], &hex("01 ee")].concat();
    let answer = [&hex("d5f6 01 01 efcdab8967452301")[..], &rest].concat();
    let poll = hex("d5f6 00 01 efcdab8967452301 01");
    let data = played(&[
        udp_frame(START, client, server, &poll),
        udp_frame(START + 1_000_000, server, client, &answer),
    ]);
    let findings = data["finding"].as_array().expect("findings");
    let last = findings.iter().find(|f| f["end"] == answer.len()).expect("a finding about the end");
    let from = last["bytes"]["from"].as_u64().expect("an offset") as usize;
    let kept: String = answer[from..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        from > 0 && from.is_multiple_of(16) && from as u64 <= last["start"].as_u64().expect("an offset"),
        "{last}"
    );
    assert_eq!(last["bytes"]["hex"], kept);
}

#[test]
fn captures_beyond_the_limit_are_counted_below_their_table() {
    let files: Vec<_> = (0..203).map(|n| format!("{n}.pcap")).collect();
    let mut report = paged();
    let mut pipeline = Pipeline::new(everything(), &mut report);
    for name in &files {
        pipeline.read_frames(name, &CaptureInfo::default(), []).expect("memory");
    }
    let totals = pipeline.finish(true).expect("memory");
    let (verdict, gathered) = report.verdict(totals).expect("memory");
    let data = data(&html(&gathered, &verdict));
    assert_eq!(data["capture"].as_array().map(Vec::len), Some(200));
    assert_eq!(data["left_out"]["capture"], 3);
}

#[test]
fn the_program_writes_the_page_to_a_file_and_as_a_report_of_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, of_check] = ["own.html", "check.html"].map(|name| folder.path().join(name));
    let demo = "captures/demo.pcapng";
    let report = qdissect().args(["report", demo, "--output"]).arg(&own).output().expect("it runs");
    assert_eq!((report.status.code(), report.stdout.len()), (Some(0), 0), "{report:?}");
    let mut check = qdissect();
    check.args(["check", "-q", demo, "--report"]).arg(format!("html={}", of_check.display()));
    assert_eq!(check.output().expect("it runs").status.code(), Some(1), "the demo has errors");
    let [own, of_check] = [own, of_check].map(|path| fs::read_to_string(path).expect("it is written"));
    assert_eq!(own, of_check);
    assert_eq!(own, page_of(&[demo.into()]).expect("it is there"));
}

#[test]
fn remarks_of_the_summary_are_on_the_page() {
    let (client, server) = (([198, 51, 100, 7], 40_001), ([192, 0, 2, 10], PORT));
    let poll = |n: u8| {
        udp_frame(START + i64::from(n), client, server, &[&hex("d5f6 00 01")[..], &[n; 8], &[1]].concat())
    };
    let data = played(&[poll(1), poll(2)]);
    let silent = format!(
        "2 requests to 192.0.2.10:{PORT} (satisfactory), never answered, the last just before the end of the capture"
    );
    assert_eq!(data["notes"], value!([silent, ONE_WAY]));
}

#[test]
fn rows_name_their_capture_if_there_are_several() {
    let demo = PathBuf::from("captures/demo.pcapng");
    let heads = |paths: &[PathBuf]| page_of(paths).expect("a page").matches("data-key=\"file\"").count();
    let both = [demo, "captures/sqp/fake_badutf8.pcap".into()];
    assert_eq!(heads(&both[..1]), 1, "only the table of captures");
    assert_eq!(heads(&both), 3);
}

#[test]
fn filtered_counts_have_the_unfiltered_count_beside_them() {
    let page =
        qdissect().args(["report", "-q", "-Y", "sqp", "captures/demo.pcapng"]).output().expect("it runs");
    let page = String::from_utf8(page.stdout).expect("UTF-8");
    assert_eq!(
        between(&page, "<p class=\"lead\">", ","),
        "56 of 101 datagrams of query traffic in 56 of 108 packets"
    );
    assert!(page.contains("<dt>errors</dt><dd>1<small> of 3</small></dd>"));
}

#[test]
fn passwords_are_masked_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    let password = "guess";
    let digits: String = password.bytes().map(|byte| format!("{byte:02x}")).collect();
    for (more, shown) in [(vec![], false), (vec!["--show-secrets"], true)] {
        let mut command = qdissect();
        command.args(["report", "captures/skycoop/rcon.pcap"]).args(more).arg("--output").arg(&page);
        assert_eq!(command.output().expect("it runs").status.code(), Some(0));
        let text = fs::read_to_string(&page).expect("the page");
        let found = data(&text)["finding"].to_string();
        assert!(found.contains("SKY-SEC-002"), "{found}");
        assert_eq!(
            (found.contains(&digits), found.contains(&"**".repeat(password.len()))),
            (shown, !shown),
            "{found}"
        );
        assert!(!text.contains(&digits) || shown, "nowhere else");
    }
}

#[test]
fn view_writes_the_page_to_a_private_directory_and_prints_its_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = qdissect();
    command.env("TMPDIR", folder.path()).env("TMP", folder.path()).args([
        "view",
        "captures/demo.pcapng",
        "--protocol",
        "sqp",
    ]);
    let output = command.output().expect("it runs");
    let path = PathBuf::from(str::from_utf8(&output.stdout).expect("a path").trim_end());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(path.starts_with(folder.path()), "{path:?}");
    let page = fs::read_to_string(&path).expect("the page is there");
    assert!(
        data(&page)["server"].as_array().expect("servers").iter().all(|server| server["protocol"] == "sqp")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path.parent().expect("a folder")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    let missing = qdissect()
        .env("TMPDIR", folder.path())
        .env("TMP", folder.path())
        .args(["view", "nothing.pcap"])
        .output()
        .expect("it runs");
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no folder is left of that");
}
