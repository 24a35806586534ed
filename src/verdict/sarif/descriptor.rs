//! Rules as SARIF describes them.

use crate::docs::{escaped, paragraph};
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use serde_json::{Value, json};

/// Most characters that GitHub takes for a description.
const MAX_TEXT: usize = 1024;

/// The `reportingDescriptor` of a rule.
pub fn descriptor(rule: &Rule) -> Value {
    let cite = &rule.cite;
    let why = paragraph(rule.why);
    let link = Some(cite.url).filter(|url| url.starts_with("https://"));
    let page = crate::docs::page_of(rule);
    let (doc, section) = (escaped(cite.doc), escaped(cite.section));
    let mut plain = format!("{}, {}", cite.doc, cite.section);
    let mut marked = format!("{doc}, {section}");
    if let Some(url) = link {
        plain = format!("{plain}: {url}");
        marked = format!("[{doc}](<{url}>), {section}");
    }
    let mut record = json!({
        "id": rule.id, "name": rule.slug(),
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": cut(&why) },
        "help": {
            "text": format!("{why}\n\nSource: {plain}"), "markdown": format!("{why}\n\nSource: {marked}"),
        },
        "helpUri": page,
    });
    record["defaultConfiguration"] = json!({ "level": rule.severity.name() });
    record["properties"] = properties(rule);
    record
}

/// The properties that GitHub reads. The precision is high because a finding is what the bytes say, not a guess.
fn properties(rule: &Rule) -> Value {
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

/// The base score of CVSS 3.1 for an attack over the network that harms nothing but availability: with high impact; with
/// low impact; with low impact and hard to bring about.
const fn amplification(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "7.5",
        Severity::Warning => "5.3",
        Severity::Note => "3.7",
    }
}

/// The beginning of a text, as long as a description may be, up to the end of a word.
fn cut(text: &str) -> String {
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
                // What SARIF takes for a placeholder or, in plain text, for a link.
                assert!(!text.contains(['{', '}']), "{}: {text}", rule.id);
            }
            let full = d["fullDescription"]["text"].as_str().unwrap_or_default();
            assert!(full.chars().count() <= MAX_TEXT, "{}", rule.id);
            assert!(!d["help"]["text"].as_str().unwrap_or_default().contains("]("), "{}", rule.id);
            let page = format!("/docs/rules/index.html#{}", rule.id.to_lowercase());
            assert!(d["helpUri"].as_str().is_some_and(|uri| uri.ends_with(&page)), "{}", rule.id);
            let security = d["properties"].get("security-severity");
            assert_eq!(security.is_some(), rule.ratio, "{}", rule.id);
        }
    }

    #[test]
    fn a_long_text_ends_behind_a_word_that_fits() {
        let words = "é".repeat(9) + " ";
        let long = words.repeat(200);
        let short = cut(long.trim_end());
        assert!(short.chars().count() <= MAX_TEXT && short.chars().count() > MAX_TEXT - 20, "{short}");
        assert!(short.ends_with("é…") && !short.contains(" …"), "{short}");
        assert_eq!(cut(&"a".repeat(MAX_TEXT)), "a".repeat(MAX_TEXT));
        assert!(cut(&"a".repeat(MAX_TEXT + 1)).chars().count() <= MAX_TEXT);
        assert!(cut(&"é".repeat(MAX_TEXT + 1)).chars().count() <= MAX_TEXT);
    }

    #[test]
    fn amplification_is_a_number_between_nought_and_ten() {
        for severity in [Severity::Note, Severity::Warning, Severity::Error] {
            let score: f64 = amplification(severity).parse().unwrap_or(-1.0);
            assert!((0.1..=10.0).contains(&score), "{severity:?}");
        }
    }
}
