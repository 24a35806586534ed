//! Invariants of reports for CI systems, which are parsed as their readers do.

use pulldown_cmark::{Event, Options as Dialect, Parser, Tag, TagEnd};
use qdissect::check::Counts;
use qdissect::rule::Severity;
use qdissect::text::escape::is_hostile;
use qdissect::verdict::{JunitStyle, Verdict, github, junit};
use roxmltree::{Document, Node};
use std::collections::{HashMap, HashSet};

/// Decodes the escapes `\n`, `\x1b` and `\u{202e}`.
pub fn unshown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (c, used) = match after.as_bytes() {
            [b'n', ..] => ('\n', 1),
            [b'r', ..] => ('\r', 1),
            [b't', ..] => ('\t', 1),
            [b'\\', ..] => ('\\', 1),
            [b'x', ..] => (u8::from_str_radix(&after[1..3], 16).expect("two digits") as char, 3),
            [b'u', b'{', ..] => {
                let end = after.find('}').expect("a brace");
                let n = u32::from_str_radix(&after[2..end], 16).expect("digits");
                (char::from_u32(n).expect("a character"), end + 1)
            }
            _ => panic!("{text:?} ends an escape early"),
        };
        out.push(c);
        rest = &after[used..];
    }
    out + rest
}

pub fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = vec![];
    write(&mut out).expect("memory takes everything");
    let text = String::from_utf8(out).expect("reports are UTF-8");
    let raw = text.chars().find(|c| is_hostile(*c) && *c != '\n');
    assert_eq!(raw, None, "raw in {text}");
    text
}

pub fn xml(verdict: &Verdict, style: JunitStyle, limit: Option<Severity>) -> String {
    written(|out| junit(out, verdict, style, limit))
}

pub fn at_or_above(counts: Counts, limit: Option<Severity>) -> u64 {
    match limit {
        Some(Severity::Note) => counts.total(),
        Some(Severity::Warning) => counts.error + counts.warning,
        Some(Severity::Error) => counts.error,
        None => 0,
    }
}

pub fn elements<'a, 'i>(root: Node<'a, 'i>, name: &'static str) -> Vec<Node<'a, 'i>> {
    root.descendants().filter(|n| n.has_tag_name(name)).collect()
}

pub fn attribute<'a>(node: &Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_else(|| panic!("no {name} in {node:?}"))
}

/// Checks the invariants of a JUnit report, and returns the number of findings in its failures.
pub fn check_junit(text: &str) -> u64 {
    let document = Document::parse(text).unwrap_or_else(|e| panic!("{e} in {text}"));
    let root = document.root_element();
    let mut seen = HashSet::new();
    for case in elements(root, "testcase") {
        assert!(seen.insert((attribute(&case, "classname"), attribute(&case, "name"))), "twice: {case:?}");
        let results = case.children().filter(|n| n.is_element() && !n.has_tag_name("system-out"));
        assert!(results.count() <= 1, "two results: {case:?}");
    }
    for suite in elements(root, "testsuite").into_iter().chain([root]) {
        for (what, tag) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            assert_eq!(
                attribute(&suite, what),
                elements(suite, tag).len().to_string(),
                "{what} of {suite:?}"
            );
        }
        assert!(suite.has_attribute("time") && suite.has_attribute("timestamp"), "{suite:?}");
    }
    let failures = elements(root, "failure");
    failures.iter().map(|f| number(attribute(f, "message"))).sum()
}

/// The number at the start of a message.
pub fn number(message: &str) -> u64 {
    message.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{message}"))
}

/// Parses a line as a runner does: a command with its properties and its data.
pub fn command(line: &str) -> Option<(String, HashMap<String, String>, String)> {
    let plain = |text: &str| text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%");
    let value = |text: &str| plain(&text.replace("%3A", ":").replace("%2C", ","));
    let (head, data) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let properties = properties.split(',').filter_map(|p| p.split_once('='));
    let properties = properties.map(|(k, v)| (k.to_owned(), value(v))).collect();
    Some((name.to_owned(), properties, plain(data)))
}

/// Checks the invariants of a report for GitHub, and returns the file names in annotations and list.
pub fn check_github(verdict: &Verdict) -> HashSet<String> {
    let text = written(|out| github(out, verdict));
    let (mut counts, mut files) = (HashMap::new(), HashSet::new());
    let mut in_group = false;
    for line in text.lines() {
        let Some((name, properties, _)) = command(line) else {
            assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line}");
            if in_group {
                let (_, rest) = line.split_once('-').expect("severity and rule");
                let (_, file) = rest.split_once(' ').expect("a capture");
                files.insert(file.rsplit_once(": frame ").expect("a frame").0.to_owned());
            }
            continue;
        };
        in_group = name == "group";
        assert!(["error", "warning", "notice", "group", "endgroup"].contains(&&*name), "{line}");
        assert!(properties.keys().all(|k| ["file", "title"].contains(&&**k)), "{line}");
        files.extend(properties.get("file").map(|f| format!("file={f}")));
        *counts.entry(name).or_insert(0) += 1;
    }
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    let Counts { error, warning, note } = verdict.counts;
    assert_eq!((of("error"), of("notice")), (error.min(10), note.min(10)), "{text}");
    assert_eq!(of("warning"), (warning + u64::from(!verdict.totals.complete)).min(10), "{text}");
    let left = error.saturating_sub(10);
    assert!(
        left == 0 || text.contains(&format!("\nWithout an annotation of their own: {left} more error")),
        "{text}"
    );
    files
}

/// Counts the bars of a row without a backslash before them, which separate its cells.
fn bars(line: &str) -> usize {
    let mut escaped = false;
    let mut bars = 0;
    for c in line.chars() {
        bars += usize::from(c == '|' && !escaped);
        escaped = c == '\\' && !escaped;
    }
    bars
}

/// Checks the invariants of a Markdown report, and returns the texts of its code spans.
pub fn check_markdown(text: &str) -> HashSet<String> {
    let mut before = None;
    for line in text.lines() {
        let bars = line.starts_with('|').then(|| bars(line));
        assert!(before.is_none() || bars.is_none() || before == bars, "{before:?} bars before {line}");
        before = bars;
    }
    let (mut codes, mut width, mut cells) = (HashSet::new(), 0, 0);
    for event in Parser::new_ext(text, Dialect::ENABLE_TABLES | Dialect::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Code(code) => drop(codes.insert(code.into_string())),
            Event::Html(html) | Event::InlineHtml(html) => panic!("HTML: {html} in {text}"),
            Event::Start(Tag::Image { dest_url, .. }) => panic!("an image: {dest_url} in {text}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let ours =
                    qdissect::protocols::rules().any(|r| *dest_url == *qdissect::text::markdown::page_of(r));
                assert!(ours, "a link to {dest_url}");
            }
            Event::Start(Tag::Table(columns)) => width = columns.len(),
            Event::Start(Tag::TableRow | Tag::TableHead) => cells = 0,
            Event::Start(Tag::TableCell) => cells += 1,
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => assert_eq!(cells, width, "{text}"),
            Event::Text(words) => assert!(!words.contains(['`', '@', '|']), "{words:?} in {text}"),
            _ => {}
        }
    }
    codes
}
