//! The reports for CI systems, parsed as by their readers: JUnit XML, workflow commands, Markdown.

mod given;

use crate::kit::ci::{
    at_or_above, attribute, check_github, check_junit, check_markdown, elements, unshown, written, xml,
};
use crate::kit::run::qdissect;
use given::{bytes, called, forty, hostile_names, judge};
use qdissect::report::Unread;
use qdissect::rule::Severity;
use qdissect::verdict::{
    Entry, Excuse, JunitStyle, Outcome, SarifStyle, Verdict, github, gitlab, markdown, sarif, step_summary,
};
use roxmltree::Document;
use std::collections::HashSet;

const DEMO: &str = "captures/demo.pcapng";
const CLEAN: &str = "captures/sqp/real_cli_sample.pcapng";
const NAMES: [&str; 4] = [
    "captures/hostile/sqp_names.pcap",
    "captures/hostile/sat_names.pcap",
    "captures/hostile/sky_names.pcap",
    "captures/hostile/gqp_names.pcap",
];
/// The values of --fail-on, from the strictest on.
const LIMITS: [Option<Severity>; 4] =
    [Some(Severity::Note), Some(Severity::Warning), Some(Severity::Error), None];

#[test]
fn junit_failures_agree_with_the_counts_at_every_limit() {
    let forty = forty();
    let files: Vec<Vec<u8>> = [DEMO, CLEAN].iter().chain(&NAMES).map(|path| bytes(path)).collect();
    let mut cases: Vec<Vec<(&[u8], &str)>> = files.iter().map(|b| vec![(&b[..], "a.pcap")]).collect();
    cases.push(vec![(&forty, "forty.pcap")]);
    cases.push(files.iter().map(|b| (&b[..], "same.pcap")).collect());
    for captures in cases {
        let verdict = judge(&captures, true, |_| None);
        for limit in LIMITS {
            let failing = check_junit(&xml(&verdict, JunitStyle::Common, limit));
            assert_eq!(failing, at_or_above(verdict.counts, limit), "{limit:?}");
        }
    }
}

#[test]
fn junit_lists_twenty_of_forty_findings_in_one_test() {
    let verdict = judge(&[(&forty(), "forty.pcap")], true, |_| None);
    let text = xml(&verdict, JunitStyle::Common, Some(Severity::Error));
    let document = Document::parse(&text).expect("XML");
    let failures = elements(document.root_element(), "failure");
    assert_eq!(failures.len(), 1, "{text}");
    assert_eq!(attribute(&failures[0], "message"), "40 findings: string is not valid UTF-8");
    assert_eq!(attribute(&failures[0], "type"), "error");
    let body = failures[0].text().expect("a body");
    assert_eq!(body.lines().filter(|l| l.starts_with("error frame ")).count(), 20);
    assert!(body.contains("at fault: server; sqp server 192.0.2.10:27100"), "{body}");
    assert!(body.contains("\nand 20 more\nsource: "), "{body}");
}

#[test]
fn junit_lists_twenty_reasons_and_says_that_there_are_others() {
    for reasons in [20, 21] {
        let excuse: fn(&Entry) -> Option<Excuse> = match reasons {
            20 => |e| Some(Excuse::Suppressed(format!("reason {}", e.exchange.unwrap_or(0) / 2 % 20))),
            _ => |e| Some(Excuse::Suppressed(format!("reason {}", e.exchange.unwrap_or(0) / 2 % 21))),
        };
        let text = xml(&judge(&[(&forty(), "forty.pcap")], true, excuse), JunitStyle::Common, None);
        let document = Document::parse(&text).expect("XML");
        let skipped = elements(document.root_element(), "skipped");
        let whys: Vec<_> =
            skipped.iter().map(|s| attribute(s, "message")).filter(|s| s.contains("reason")).collect();
        let why = whys.iter().find(|why| why.contains("reason 19")).expect("a rule was broken forty times");
        assert_eq!(why.matches("suppressed: reason ").count(), 20, "{why}");
        assert_eq!(why.ends_with("; and others"), reasons > 20, "{why}");
    }
}

#[test]
fn junit_has_one_test_for_each_rule_over_all_captures_and_names_those_it_failed_in() {
    let (broken, clean) = (bytes("captures/sqp/fake_badutf8.pcap"), bytes(CLEAN));
    let other = bytes("captures/satisfactory/idle.pcap");
    let captures = [(&broken[..], "broken"), (&clean[..], "clean"), (&other[..], "other"), (&clean[..], "x")];
    let verdict = judge(&captures, true, |_| None);
    let text = xml(&verdict, JunitStyle::Common, Some(Severity::Error));
    check_junit(&text);
    let document = Document::parse(&text).expect("XML");
    let suites = elements(document.root_element(), "testsuite");
    let names: Vec<_> = suites.iter().map(|s| attribute(s, "name")).collect();
    assert_eq!(names, ["qdissect.sqp", "qdissect.satisfactory", "qdissect.run"]);
    let failures = elements(document.root_element(), "failure");
    let case = failures[0].parent_element().expect("a test");
    assert_eq!((failures.len(), attribute(&case, "file")), (1, "broken"));
    let body = failures[0].text().expect("a body");
    assert!(body.starts_with("error broken: frame 4 query_response: string is not valid UTF-8"), "{body}");
    for r in verdict.rules.iter().filter(|r| r.outcome == Outcome::NotExercised) {
        assert!(
            !text.contains(&format!("\"{} ", r.rule.id)),
            "{} has a test and was not exercised",
            r.rule.id
        );
    }
}

#[test]
fn unlisted_findings_are_counted_by_rule_and_still_fail_the_check() {
    let mut verdict = called(DEMO, "demo");
    let listed = |verdict: &Verdict| {
        let texts = [written(|out| markdown(out, verdict)), written(|out| github(out, verdict))];
        texts.map(|text| (text.contains("GEN-007"), text.contains("(--show note lists all)")))
    };
    let gitlab = |verdict: &Verdict| written(|out| gitlab(out, verdict)).matches("\"info\"").count();
    let results = |verdict: &Verdict| {
        let text = xml(verdict, JunitStyle::Common, Some(Severity::Error));
        let document = Document::parse(&text).expect("XML");
        let end = |name| elements(document.root_element(), name).len();
        ["testcase", "failure", "skipped"].map(end)
    };
    let counts_unlisted = |verdict: &Verdict| {
        let sarif = written(|out| sarif(out, verdict, SarifStyle::Spec));
        [sarif, xml(verdict, JunitStyle::Common, None)]
            .map(|text| text.contains("21 findings below warning are"))
    };
    assert_eq!((listed(&verdict), gitlab(&verdict) as u64), ([(true, false); 2], verdict.counts.note));
    assert_eq!(counts_unlisted(&verdict), [false; 2]);
    let before = results(&verdict);
    verdict.show = Severity::Warning;
    assert_eq!(counts_unlisted(&verdict), [true; 2]);
    assert_eq!((listed(&verdict), gitlab(&verdict)), ([(true, true); 2], 0), "each rule has its count");
    assert!(!xml(&verdict, JunitStyle::Common, None).contains("note frame"));
    assert_eq!(results(&verdict), before);
    assert_eq!(verdict.counts.note, 21);
}

#[test]
fn junit_tests_of_one_capture_end_as_its_rules_do() {
    let verdict = called(DEMO, "demo");
    let text = xml(&verdict, JunitStyle::Common, Some(Severity::Note));
    let document = Document::parse(&text).expect("XML");
    let mut seen = HashSet::new();
    for case in elements(document.root_element(), "testcase") {
        let id = attribute(&case, "name").split(' ').next().expect("a name");
        let Some(result) = verdict.rules.iter().find(|r| r.rule.id == id) else { continue };
        assert_eq!(attribute(&case, "name"), format!("{id} {}", result.rule.slug()));
        let has = |name| !elements(case, name).is_empty();
        match result.outcome {
            Outcome::Pass => assert!(!has("failure") && !has("skipped"), "{id}"),
            Outcome::Fail if id.starts_with("GEN-") => assert!(!has("skipped"), "{id}"),
            Outcome::Fail => assert!(has("failure"), "{id}"),
            Outcome::Known => assert!(has("skipped"), "{id}"),
            Outcome::NotExercised | Outcome::NotApplicable => panic!("{id} was not exercised"),
        }
        seen.insert(id);
    }
    let exercised = verdict.rules.iter().filter(|r| matches!(r.outcome, Outcome::Pass | Outcome::Fail));
    assert_eq!(seen.len(), exercised.count());
}

#[test]
fn junit_skips_what_is_excused_and_passes_what_is_below_the_limit() {
    let excuse = |e: &Entry| match e.finding.severity {
        Severity::Error => Some(Excuse::Suppressed("known ]]> \x1b[[ATTACHMENT|x]]".to_owned())),
        _ => None,
    };
    let verdict = judge(&[(&bytes(DEMO), "demo")], true, excuse);
    let text = xml(&verdict, JunitStyle::Common, Some(Severity::Error));
    assert_eq!(check_junit(&text), 0);
    let document = Document::parse(&text).expect("XML");
    let skipped = elements(document.root_element(), "skipped");
    let why = "suppressed: known ]]> \\x1b[\\x5bATTACHMENT|x]]";
    assert_eq!(skipped.iter().filter(|s| attribute(s, "message") == why).count(), 3, "{text}");
    let notes = elements(document.root_element(), "system-out");
    let notes = notes.iter().filter_map(|n| n.text()).flat_map(str::lines).filter(|l| l.starts_with("note "));
    assert_eq!(notes.count() as u64, verdict.counts.note);
}

#[test]
fn symptoms_are_reported_but_do_not_fail_the_check() {
    let mut verdict = called(CLEAN, "clean");
    let mut cause = called("captures/sqp/fake_badutf8.pcap", "x").findings.remove(0);
    cause.finding.caused_by = Some(qdissect::check::Cause { rule: cause.finding.rule, frame: 77 });
    verdict.findings.push(cause);
    let text = xml(&verdict, JunitStyle::Common, Some(Severity::Note));
    assert_eq!(check_junit(&text), 0);
    for text in [text, written(|out| github(out, &verdict))] {
        assert!(text.contains("caused by SQP-STR-002 in frame 77, and not counted"), "{text}");
    }
    let page = written(|out| markdown(out, &verdict));
    assert!(page.contains("Caused by") && page.contains("in frame 77 |"), "{page}");
}

#[test]
fn every_format_reports_a_truncated_capture() {
    for (complete, accepted) in [(true, false), (false, false), (false, true)] {
        let mut verdict = judge(&[(&bytes(CLEAN), "clean")], complete, |_| None);
        verdict.totals.accepted = accepted;
        let unread = Unread { file: "cut|`<b>.pcap".to_owned(), why: "it ends early".to_owned() };
        verdict.totals.unread = if complete { vec![] } else { vec![unread] };
        let text = xml(&verdict, JunitStyle::Common, None);
        check_junit(&text);
        let document = Document::parse(&text).expect("XML");
        let errors = elements(document.root_element(), "error");
        let names: Vec<_> = errors.iter().filter_map(|e| e.parent()?.attribute("name")).collect();
        assert_eq!(names, if complete || accepted { vec![] } else { vec!["capture"] });
        let page = written(|out| markdown(out, &verdict));
        check_markdown(&page);
        for text in [&text, &written(|out| github(out, &verdict)), &page] {
            assert_eq!(text.contains(": it ends early."), !complete, "{text}");
        }
        let outputs = [written(|out| github(out, &verdict)), page];
        assert_eq!(outputs.map(|text| text.contains("Incomplete")), [!complete; 2]);
    }
}

#[test]
fn findings_that_are_not_listed_fail_too() {
    let mut verdict = called(DEMO, "demo");
    let all = verdict.findings.len() as u64;
    verdict.findings.truncate(1);
    verdict.more_findings = all - 1;
    for limit in LIMITS {
        let failing = check_junit(&xml(&verdict, JunitStyle::Common, limit));
        assert_eq!(failing, at_or_above(verdict.counts, limit), "{limit:?}");
    }
}

#[test]
fn junit_for_jenkins_has_nothing_that_its_schema_forbids() {
    let verdict = called(DEMO, DEMO);
    let common = xml(&verdict, JunitStyle::Common, None);
    let text = xml(&verdict, JunitStyle::Jenkins, None);
    assert!(common.contains(&format!("file=\"{DEMO}\"")) && !text.contains(" file=\""));
    let document = Document::parse(&text).expect("XML");
    let root: Vec<_> = document.root_element().attributes().map(|a| a.name()).collect();
    assert_eq!(root, ["name", "tests", "failures", "errors", "time"]);
}

#[test]
fn annotations_are_limited_to_ten_per_severity_and_the_list_is_complete() {
    let forty = forty();
    let many: Vec<Vec<u8>> = NAMES.iter().map(|path| bytes(path)).collect();
    let captures: Vec<(&[u8], &str)> =
        many.iter().map(|b| (&b[..], "x")).chain([(&forty[..], "forty")]).collect();
    for complete in [true, false] {
        let verdict = judge(&captures, complete, |_| None);
        assert!(verdict.counts.error > 40 && verdict.counts.warning > 10 && verdict.counts.note > 10);
        check_github(&verdict);
        let text = written(|out| github(out, &verdict));
        let inside = text.lines().skip_while(|l| !l.starts_with("::group::"));
        let inside = inside.skip(1).take_while(|l| *l != "::endgroup::");
        assert_eq!(inside.count(), verdict.findings.len());
        let rules: Vec<_> = text.lines().filter_map(|l| l.strip_prefix("::error file=")).collect();
        assert!(
            rules.iter().any(|l| l.contains("title=SQP-STR-002"))
                && rules.iter().any(|l| l.contains("title=SKY-"))
        );
    }
}

#[test]
fn markdown_tables_are_well_formed_and_complete() {
    for path in [DEMO, CLEAN].iter().chain(&NAMES) {
        let verdict = called(path, path);
        let text = written(|out| markdown(out, &verdict));
        let codes = check_markdown(&text);
        assert_eq!(text.contains("## Findings"), verdict.counts.total() > 0, "{text}");
        let mut expected = verdict.findings.iter().map(|e| e.server.to_string());
        assert!(expected.all(|server| codes.contains(&server)), "{text}");
        let rows =
            text.lines().filter(|l| ["| error", "| warning", "| note"].iter().any(|s| l.starts_with(s)));
        assert_eq!(rows.count(), verdict.findings.len(), "{text}");
    }
}

#[test]
fn the_step_summary_is_cut_at_its_limit() {
    let mut verdict = called(DEMO, &"`".repeat(255));
    assert!(!step_summary(&verdict).contains("cut here"));
    let again = verdict.findings.clone();
    while verdict.findings.len() < 5000 {
        verdict.findings.extend(again.iter().cloned());
    }
    let text = step_summary(&verdict);
    assert!(text.len() <= 1024 * 1024 && text.len() > 1024 * 1000, "{}", text.len());
    assert!(text.trim_end().ends_with("1 MiB of it.**"));
    check_markdown(&text);
}

#[test]
fn hostile_names_are_escaped_but_complete_in_every_format() {
    let excuse =
        |e: &Entry| (e.frame > 5).then(|| Excuse::Suppressed("::error::\n|`<b>@all]]>##[x]".to_owned()));
    let captures = [bytes(CLEAN), bytes(NAMES[0])];
    for name in hostile_names() {
        let verdict = judge(&captures.each_ref().map(|b| (&b[..], &*name)), true, excuse);

        let text = xml(&verdict, JunitStyle::Common, Some(Severity::Note));
        check_junit(&text);
        let document = Document::parse(&text).expect("XML");
        let failures = elements(document.root_element(), "failure")
            .into_iter()
            .chain(elements(document.root_element(), "system-out"));
        let is_name = |line: &str| {
            let named = line.split_once(' ').and_then(|(_, rest)| rest.split_once(": frame "));
            named.is_some_and(|(c, _)| unshown(c) == name)
        };
        let mut lines = failures.filter_map(|n| n.text()).flat_map(str::lines);
        assert!(lines.any(is_name), "{name:?} is lost in {text}");
        let texts = document.descendants().filter_map(|n| n.text());
        assert!(!texts.collect::<String>().contains("[[ATTACHMENT|"), "{text}");

        let files = check_github(&verdict);
        let mut listed = files.iter().filter(|f| !f.starts_with("file="));
        assert!(listed.all(|f| unshown(f) == name), "{name:?} is lost in {files:?}");
        let annotated =
            files.iter().any(|f| f.strip_prefix("file=").is_some_and(|f| f == name || unshown(f) == name));
        assert_eq!(annotated, !["", "-"].contains(&&*name), "{name:?} is lost in {files:?}");

        let page = written(|out| markdown(out, &verdict));
        let codes = check_markdown(&page);
        let found = codes.iter().any(|code| unshown(code) == name);
        assert!(found || name.is_empty(), "{name:?} is lost in {page}");
        assert_eq!(step_summary(&verdict), page);
    }
}

#[test]
fn no_name_becomes_a_workflow_command_in_text_formats() {
    let (folder, demo) = (tempfile::tempdir().expect("a folder"), bytes(DEMO));
    // File names on Windows contain no colons.
    let names = [&b"##[error]"[..], b"::error::"];
    for name in names.into_iter().filter(|name| cfg!(unix) || !name.contains(&b':')) {
        let known = b"EU West 1";
        let mut capture = demo.clone();
        let found = demo.windows(known.len()).enumerate().filter(|(_, window)| window == known);
        found.for_each(|(at, _)| capture[at..][..known.len()].copy_from_slice(name));
        assert_ne!(capture, demo);
        let name = std::str::from_utf8(name).expect("a text");
        std::fs::write(folder.path().join(name), capture).expect("there is room");
        for args in [
            "summary",
            "exchanges",
            "stats",
            "dump",
            "dump -V",
            "dump -x",
            "dump -T fields -e server_name",
            "dump -T tsv -e server_name",
            "summary -T csv",
            "check",
            "check -T concise",
            "check -T markdown",
            "check -T csv",
            "check -T junit",
        ] {
            let args_and_files = args.split(' ').chain(["--no-config", "::debug::none", name]);
            let output = qdissect().args(args_and_files).current_dir(&folder).output().expect("it runs");
            let text =
                [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("a text")).concat();
            assert!(text.contains("error") && text.lines().count() > 3, "{args}: {text}");
            let command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
            assert_eq!(text.lines().find(command), None, "{args}");
        }
    }
}
