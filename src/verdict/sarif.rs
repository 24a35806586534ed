//! The verdict as SARIF 2.1.0 (OASIS Standard with Errata 01), for code scanning.
//!
//! Two readers have incompatible requirements. In the standard (3.30.1), a region of a binary file counts bytes and has
//! no lines; GitHub reads only lines. So there are two styles, and a file uses one of them.

use super::{Entry, Excuse, Key, MAX_FILES, Outcome, Verdict, path};
use crate::capture::CaptureInfo;
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use crate::text::escape::terminal_safe_json;
use crate::text::markdown::{escaped, paragraph};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hashbrown::HashMap;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Address of the schema.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The media type registered with IANA for captures of tcpdump and Wireshark.
const MIME: &str = "application/vnd.tcpdump.pcap";
/// Maximum number of results that GitHub accepts in a run.
const MAX_RESULTS: usize = 25_000;
/// Maximum number of symptoms listed with their cause, the same as GitHub keeps.
const MAX_RELATED: usize = 100;
/// Maximum number of symptoms linked in the message of their cause.
const MAX_LINKS: usize = 5;
/// Maximum number of characters that GitHub accepts in a description.
const MAX_TEXT: usize = 1024;
/// The name of standard input.
const STDIN: &str = "-";

/// The interpretation of SARIF to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SarifStyle {
    /// The standard: a finding is a range of bytes in the capture.
    #[default]
    Spec,
    /// GitHub: a finding is on line 1 of the capture, with frame and bytes in the message.
    Github,
}

/// Writes a log with one run. Symptoms are listed with their causes. Only the worst 25,000 findings are written.
///
/// # Errors
/// When it cannot be written.
pub fn sarif(out: &mut dyn Write, verdict: &Verdict, style: SarifStyle) -> io::Result<()> {
    let (results, unlisted) = selected_results(verdict);
    let mut run = Run::new(verdict, style, &results);
    let rules: Vec<Value> = run.rules.iter().map(|rule| descriptor(rule)).collect();
    let tool = json!({ "driver": {
        "name": env!("CARGO_PKG_NAME"), "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    } });
    write!(
        out,
        "{{\"$schema\":\"{SCHEMA}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{}",
        terminal_safe_json(&tool)
    )?;
    let details = json!({ "id": concat!(env!("CARGO_PKG_NAME"), "/") });
    write!(out, ",\n\"automationDetails\":{details},\n\"invocations\":[{}]", invocation(verdict, unlisted))?;
    write!(out, ",\n\"artifacts\":{},\n\"results\":[", terminal_safe_json(&run.artifacts()))?;
    for (i, e) in results.into_iter().enumerate() {
        write!(out, "{}\n{}", if i == 0 { "" } else { "," }, terminal_safe_json(&run.result(e)))?;
    }
    writeln!(out, "]}}]}}")
}

/// The findings that become results, in the order found, and the number of the others.
fn selected_results(verdict: &Verdict) -> (Vec<&Entry>, u64) {
    let mut all: Vec<(usize, &Entry)> = verdict.listed().filter(|e| e.finding.counts()).enumerate().collect();
    let excess = all.len().saturating_sub(MAX_RESULTS);
    if excess > 0 {
        // Select the worst, with excused findings after all others, then restore the order found. Both sorts are
        // stable.
        all.sort_by_key(|(_, e)| (e.excused.is_some(), std::cmp::Reverse(e.finding.severity)));
        all.truncate(MAX_RESULTS);
        all.sort_by_key(|(order, _)| *order);
    }
    (all.into_iter().map(|(_, e)| e).collect(), verdict.more_findings.saturating_add(excess as u64))
}

/// The invocation. It is successful if everything required was read, regardless of findings.
fn invocation(verdict: &Verdict, unlisted: u64) -> Value {
    let failed = verdict.totals.failed();
    let level = if failed { "error" } else { "warning" };
    let mut notes = vec![];
    let mut note = |level, text: String| notes.push(json!({ "level": level, "message": { "text": text } }));
    if !verdict.totals.complete {
        let text = "Not everything could be read: the verdict is about the readable part.";
        note(level, text.to_owned());
    }
    verdict.totals.unread.iter().for_each(|u| note(level, format!("{}: {}.", u.file, u.why)));
    if unlisted > 0 {
        let s = if unlisted == 1 { "" } else { "s" };
        note("warning", format!("{unlisted} further finding{s} not among the results."));
    }
    if let Some(below_threshold) = verdict.below_threshold(None) {
        note("note", format!("{below_threshold}."));
    }
    let mut record = json!({ "executionSuccessful": !failed });
    if !notes.is_empty() {
        record["toolExecutionNotifications"] = notes.into();
    }
    record
}

/// A capture that results refer to.
struct Capture {
    uri: String,
    /// Whether it is standard input.
    is_stdin: bool,
    /// Whether a reader can open it and locate a finding by offset. That excludes a stream, a compressed file, whose
    /// offsets refer to its content, and the entry that further captures share.
    is_addressable: bool,
}

/// The data shared by all results.
struct Run<'a> {
    style: SarifStyle,
    /// Rules that were applied or have a result.
    rules: Vec<&'static Rule>,
    /// Index into `rules`, by id.
    rule_index: HashMap<&'static str, usize>,
    captures: Vec<Capture>,
    /// Symptoms by the place of their cause, in the order found.
    symptoms: HashMap<Key, Vec<&'a Entry>>,
    /// Whether any finding is in a baseline; then every result says whether it is.
    has_baseline: bool,
    /// Whether any finding is suppressed; then every result says whether it is.
    has_suppressed: bool,
}

impl<'a> Run<'a> {
    fn new(verdict: &'a Verdict, style: SarifStyle, results: &[&'a Entry]) -> Self {
        let base = std::env::current_dir().ok();
        let applied = verdict.rules.iter().filter(|r| r.outcome != Outcome::NotApplicable).map(|r| r.rule);
        let (mut rules, mut rule_index) = (vec![], HashMap::new());
        for rule in applied.chain(results.iter().map(|e| e.rule())) {
            rule_index.entry(rule.id).or_insert_with(|| {
                rules.push(rule);
                rules.len() - 1
            });
        }
        let symptoms = verdict.symptoms();
        let capture = |(index, (name, facts)): (usize, &(String, CaptureInfo))| {
            let path = facts.strange_name.as_deref().unwrap_or(Path::new(name));
            let (uri, is_stdin) = (path::uri(path::bytes(path, base.as_deref())), name == STDIN);
            let is_addressable = !is_stdin && facts.compression.is_none() && index < MAX_FILES;
            Capture { uri, is_stdin, is_addressable }
        };
        let captures = verdict.files.iter().enumerate().map(capture).collect();
        let has_baseline = results.iter().any(|e| e.excused == Some(Excuse::Baseline));
        let has_suppressed = results.iter().any(|e| matches!(e.excused, Some(Excuse::Suppressed(_))));
        Run { style, rules, rule_index, captures, symptoms, has_baseline, has_suppressed }
    }

    /// Every capture of the run, with or without findings.
    fn artifacts(&self) -> Value {
        let artifact = |capture: &Capture| {
            let roles: &[&str] =
                if capture.is_stdin { &["analysisTarget", "standardStream"] } else { &["analysisTarget"] };
            json!({ "location": { "uri": capture.uri }, "roles": roles, "mimeType": MIME })
        };
        self.captures.iter().map(artifact).collect()
    }

    fn result(&mut self, e: &Entry) -> Value {
        // The first of several findings with the same frame and rule gets the symptoms.
        let symptoms = self.symptoms.remove(&e.key()).unwrap_or_default();
        let mut record = json!({
            "ruleId": e.rule().id, "ruleIndex": self.rule_index.get(e.rule().id),
            "level": e.finding.severity.name(), "kind": "fail",
            "message": { "text": self.message(e, &symptoms) },
            "locations": [self.location(e)],
            "partialFingerprints": { "primaryLocationLineHash": e.fingerprint.to_string() },
            "properties": properties(e),
        });
        if !symptoms.is_empty() {
            let related = symptoms.into_iter().take(MAX_RELATED).enumerate().map(|(i, s)| {
                let mut location = self.location(s);
                location["id"] = (i + 1).into();
                location["message"] = json!({ "text": format!("{} {}", s.rule().id, self.message(s, &[])) });
                location
            });
            record["relatedLocations"] = related.collect();
        }
        if self.has_suppressed {
            record["suppressions"] = match &e.excused {
                Some(Excuse::Suppressed(why)) => json!([{ "kind": "external", "justification": why }]),
                _ => json!([]),
            };
        }
        if self.has_baseline {
            let is_known = e.excused == Some(Excuse::Baseline);
            record["baselineState"] = if is_known { "unchanged" } else { "new" }.into();
        }
        record
    }

    /// The message of a result or a symptom. Readers show the related locations that a message links by number.
    fn message(&self, e: &Entry, symptoms: &[&Entry]) -> String {
        let mut text = match self.style {
            SarifStyle::Spec => sentence(e, None),
            SarifStyle::Github => sentence(e, bytes(e)),
        };
        for (i, s) in symptoms.iter().take(MAX_LINKS).enumerate() {
            let separator = if i == 0 { "; it caused" } else { "," };
            let _ = write!(text, "{separator} [{}]({})", s.rule().id, i + 1);
        }
        if symptoms.len() > MAX_LINKS {
            let _ = write!(text, " and {} more", symptoms.len() - MAX_LINKS);
        }
        text + "."
    }

    fn location(&self, e: &Entry) -> Value {
        let capture = self.captures.get(e.file);
        let mut physical = match capture {
            Some(capture) => json!({ "artifactLocation": { "uri": capture.uri, "index": e.file } }),
            None => json!({ "artifactLocation": { "uri": STDIN } }),
        };
        let region = match self.style {
            SarifStyle::Github => {
                Some(json!({ "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1 }))
            }
            SarifStyle::Spec if capture.is_none_or(|c| !c.is_addressable) => None,
            SarifStyle::Spec => region(e),
        };
        if let Some(region) = region {
            physical["region"] = region;
        }
        json!({ "physicalLocation": physical, "logicalLocations": [logical_location(e)] })
    }
}

/// The bytes of the capture that a finding marks. A snippet contains the whole region or is omitted (3.30.13).
fn region(e: &Entry) -> Option<Value> {
    let (offset, span) = (e.file_offset?, e.finding.span?);
    let length = usize::from(span.end.saturating_sub(span.start));
    let mut region = json!({ "byteOffset": offset, "byteLength": length });
    if length > 0 && length == e.marked.len() {
        region["snippet"] = json!({ "binary": BASE64_STANDARD.encode(&e.marked) });
    }
    Some(region)
}

/// The location of a finding in the conversation: `frame 12/sqp/server_info.port`.
fn logical_location(e: &Entry) -> Value {
    let (field, kind) = match (e.finding.path(), e.finding.span) {
        (Some(field), _) => (format!("/{field}"), "member"),
        (None, Some(_)) => (String::new(), "datagram"),
        (None, None) => (String::new(), "exchange"),
    };
    let name = format!("frame {}/{}{field}", e.frame, e.protocol.info().name);
    json!({ "fullyQualifiedName": name, "kind": kind })
}

/// Further facts about a finding.
fn properties(e: &Entry) -> Value {
    let mut record = json!({
        "protocol": e.protocol.info().name, "server": e.server.to_string(), "client": e.client.to_string(),
        "fault": e.finding.fault.name(), "confidence": e.level.name(), "exchange": e.exchange,
        "count": e.count, "found": e.finding.found().map(|found| found.to_string()),
        "expected": e.finding.expected().map(|expected| expected.to_string()),
    });
    if let Some(explained) = &e.explained {
        record["diagnosis"] = json!(explained.diagnosis.record());
    }
    record
}

/// A finding in a sentence without a full stop. Text from the network in it is escaped already.
pub(super) fn sentence(e: &Entry, bytes: Option<String>) -> String {
    // The message itself names a field that is too short.
    let field = e.finding.path().filter(|_| e.finding.needs == 0).map(|field| format!(" ({field})"));
    let (field, bytes) = (field.unwrap_or_default(), bytes.unwrap_or_default());
    let (frame, what, fault) = (e.frame, e.text(), e.finding.fault.name());
    let (parties, times, help) = (e.parties(), e.times(), e.help());
    format!("frame {frame}: {what}{field}{bytes}; {parties}; at fault: {fault}{times}{help}")
}

/// The marked bytes as hex, with their offsets in the payload.
fn bytes(e: &Entry) -> Option<String> {
    let span = e.finding.span?;
    let place = format!(", payload bytes {}..{}", span.start, span.end);
    if e.marked.is_empty() {
        return Some(place);
    }
    let digits: Vec<_> = e.marked.iter().map(|byte| format!("{byte:02x}")).collect();
    let rest = match usize::from(span.end.saturating_sub(span.start)).saturating_sub(e.marked.len()) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!("{place}: {}{rest}", digits.join(" ")))
}

/// The `reportingDescriptor` of a rule.
fn descriptor(rule: &Rule) -> Value {
    let cite = &rule.cite;
    let why = paragraph(rule.why);
    let link = Some(cite.url).filter(|url| url.starts_with("https://"));
    let (doc, section) = (escaped(cite.doc), escaped(cite.section));
    let mut plain_source = format!("{}, {}", cite.doc, cite.section);
    let mut markdown_source = format!("{doc}, {section}");
    if let Some(url) = link {
        plain_source = format!("{plain_source}: {url}");
        markdown_source = format!("[{doc}](<{url}>), {section}");
    }
    json!({
        "id": rule.id, "name": rule.slug(),
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": truncate(&why) },
        "help": {
            "text": format!("{why}\n\nSource: {plain_source}"), "markdown": format!("{why}\n\nSource: {markdown_source}"),
        },
        "defaultConfiguration": { "level": rule.severity.name() },
        "properties": rule_properties(rule),
    })
}

/// The properties that GitHub reads. The precision is high because findings are facts about the bytes, not guesses.
fn rule_properties(rule: &Rule) -> Value {
    let mut tags = vec![Id::of_rule(rule).map_or("general", |id| id.info().name)];
    if rule.ratio || rule.id.contains("-SEC-") {
        tags.push("security");
    }
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "recommendation",
    };
    let mut record = json!({ "tags": tags, "precision": "high", "problem.severity": severity });
    if rule.ratio {
        record["security-severity"] = amplification(rule.severity).into();
    }
    record
}

/// The base score of CVSS 3.1 for a network attack that affects only availability: with high impact, with low impact,
/// and with low impact and high complexity.
const fn amplification(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "7.5",
        Severity::Warning => "5.3",
        Severity::Note => "3.7",
    }
}

/// Truncates a text to the maximum length of a description, after a complete word.
fn truncate(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        return text.to_owned();
    }
    let room: String = text.chars().take(MAX_TEXT - 1).collect();
    let whole = room.rsplit_once(' ').map_or(room.as_str(), |(whole, _)| whole);
    format!("{whole}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_what_github_asks_for() {
        for rule in crate::protocols::rules() {
            let d = descriptor(rule);
            for text in ["/shortDescription/text", "/fullDescription/text", "/help/text", "/help/markdown"] {
                let text = d.pointer(text).and_then(Value::as_str).unwrap_or_default();
                assert!(!text.is_empty(), "{}", rule.id);
                // SARIF would read these as placeholders, or as links in plain text.
                assert!(!text.contains(['{', '}']), "{}: {text}", rule.id);
            }
            let full = d["fullDescription"]["text"].as_str().unwrap_or_default();
            assert!(full.chars().count() <= MAX_TEXT, "{}", rule.id);
            assert!(!d["help"]["text"].as_str().unwrap_or_default().contains("]("), "{}", rule.id);
            // An address must be absolute, and there is none: the text is in the log itself.
            assert!(d.get("helpUri").is_none() && d["help"]["markdown"].is_string(), "{}", rule.id);
            let security = d["properties"].get("security-severity");
            assert_eq!(security.is_some(), rule.ratio, "{}", rule.id);
        }
    }

    #[test]
    fn truncates_a_long_text_after_a_complete_word() {
        let words = "é".repeat(9) + " ";
        let long = words.repeat(200);
        let short = truncate(long.trim_end());
        assert!(short.chars().count() <= MAX_TEXT && short.chars().count() > MAX_TEXT - 20, "{short}");
        assert!(short.ends_with("é…") && !short.contains(" …"), "{short}");
        assert_eq!(truncate(&"a".repeat(MAX_TEXT)), "a".repeat(MAX_TEXT));
        assert!(truncate(&"a".repeat(MAX_TEXT + 1)).chars().count() <= MAX_TEXT);
        assert!(truncate(&"é".repeat(MAX_TEXT + 1)).chars().count() <= MAX_TEXT);
    }

    #[test]
    fn amplification_scores_are_between_zero_and_ten() {
        for severity in [Severity::Note, Severity::Warning, Severity::Error] {
            let score: f64 = amplification(severity).parse().unwrap_or(-1.0);
            assert!((0.1..=10.0).contains(&score), "{severity:?}");
        }
    }
}
