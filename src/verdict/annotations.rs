//! The verdict for display beside the code: workflow commands and step summaries of GitHub Actions, and code quality
//! reports of GitLab.
//!
//! GitHub's runner executes a line as a command if it starts with `::` after optional blanks, or contains `##[`. So
//! every line begins with a word of qdissect's own, and text from outside is escaped.
//!
//! GitLab locates a finding by line, but a capture has no lines. The frame number replaces the line number, and the
//! description says so.

use super::sarif::sentence;
use super::{Entry, Verdict, markdown, path};
use crate::report::count;
use crate::rule::Severity;
use crate::text::escape::{escaped, holds_command, is_hostile, terminal_safe_json};
use hashbrown::{HashMap, HashSet};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::{self, Write};

/// Maximum number of annotations of a kind that GitHub keeps for a step. It drops further ones silently.
const MAX_ANNOTATIONS: usize = 10;
/// Maximum size in bytes of a step summary. GitHub rejects a longer summary as a whole.
const MAX_SUMMARY: usize = 1024 * 1024;
/// The end of a truncated summary.
const CUT_NOTE: &str = "\n\n**This summary was cut here: a step may not have more than 1 MiB of it.**\n";

/// Writes annotations for the worst findings, ten of each kind, then all findings in a group of the log.
///
/// # Errors
/// When it cannot be written.
pub fn github(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let incomplete = !verdict.totals.complete;
    if incomplete {
        let unread = verdict.totals.unread.iter().take(MAX_ANNOTATIONS);
        let unread: String = unread.map(|u| format!(" {}: {}.", escaped(&u.file), escaped(&u.why))).collect();
        let message =
            format!("Not everything could be read: the verdict is about the readable part.{unread}");
        writeln!(out, "::warning title=Incomplete::{}", data(&message))?;
    }
    let mut left_over = vec![];
    for &severity in Severity::ALL {
        let is_slot_taken = incomplete && severity == Severity::Warning;
        let most_important = most_important(verdict, severity, MAX_ANNOTATIONS - usize::from(is_slot_taken));
        most_important.iter().try_for_each(|e| annotation(out, verdict.file(e), e))?;
        left_over.push((severity, verdict.counts.of(severity).saturating_sub(most_important.len() as u64)));
    }
    if left_over.iter().any(|(_, n)| *n > 0) {
        let left_over: Vec<_> =
            left_over.iter().map(|(s, n)| count(*n, &format!("more {}", s.name()))).collect();
        writeln!(out, "Without an annotation of their own: {}.", left_over.join(", "))?;
    }
    list(out, verdict)
}

/// Up to `room` findings of a severity that count: first one of every rule, in the order found, then the second of
/// every rule, and so on, so that a recurring fault does not hide others.
fn most_important(verdict: &Verdict, severity: Severity, room: usize) -> Vec<&Entry> {
    let mut occurrences: HashMap<&str, usize> = HashMap::new();
    let is_relevant = |e: &&Entry| e.counts() && e.finding.severity == severity;
    let numbered = verdict.listed().filter(is_relevant).map(|e| {
        let occurrence = occurrences.entry(e.rule().id).or_default();
        *occurrence += 1;
        (*occurrence, e)
    });
    let mut all: Vec<_> = numbered.collect();
    all.sort_by_key(|(occurrence, _)| *occurrence);
    all.into_iter().take(room).map(|(_, e)| e).collect()
}

/// Writes an annotation. A capture has no lines, so the title contains the frame instead.
fn annotation(out: &mut dyn Write, file: &str, e: &Entry) -> io::Result<()> {
    let kind = match e.finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    write!(out, "::{kind} ")?;
    if !file.is_empty() && file != "-" {
        write!(out, "file={},", property(&file_address(file)))?;
    }
    let rule = e.rule();
    let title = format!("{} frame {}", rule.id, e.frame);
    let message = format!("{}; source: {}, {}", description(e), rule.cite.doc, rule.cite.section);
    writeln!(out, "title={}::{}", property(&title), data(&message))
}

/// Writes all findings in a group of the log, the worst first, then the totals.
fn list(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let listed = verdict.worst_first();
    if !listed.is_empty() {
        writeln!(out, "::group::{} in all", count(listed.len() as u64, "finding"))?;
        for e in listed {
            let (severity, rule) = (e.finding.severity.name(), e.rule().id);
            let excuse_text =
                e.excused.as_ref().map(|e| format!("; {}", e.text(|why| escaped(why).into_owned())));
            let (file, excuse_text) = (escaped(verdict.file(e)), excuse_text.unwrap_or_default());
            writeln!(out, "{severity} {rule} {file}: {}{excuse_text}", description(e))?;
        }
        writeln!(out, "::endgroup::")?;
    }
    if let Some(unlisted) = verdict.unlisted() {
        writeln!(out, "{unlisted}.")?;
    }
    if let Some(below_threshold) = verdict.below_threshold(None) {
        writeln!(out, "{below_threshold}")?;
    }
    writeln!(out, "{}: {}.", verdict.totals.traffic(), verdict.counts_text(count))
}

/// A finding in one line, without rule and capture. Text from the network in it is escaped already.
pub(super) fn description(e: &Entry) -> String {
    let message = e.message.map(|name| format!(" {name}")).unwrap_or_default();
    let cause = e.cause().map(|cause| format!("; caused by {cause}, and not counted")).unwrap_or_default();
    let (frame, text, place, fault) = (e.frame, e.text(), e.place(), e.finding.fault.name());
    let (parties, times, help) = (e.parties(), e.times(), e.help());
    format!("frame {frame}{message}: {text}{place}; at fault: {fault}; {parties}{times}{cause}{help}")
}

/// A file name for programs: unchanged, unless it contains hostile characters.
pub(super) fn file_address(name: &str) -> Cow<'_, str> {
    if name.contains(is_hostile) || holds_command(name) { escaped(name) } else { name.into() }
}

/// Escapes the text after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The verdict as Markdown for `$GITHUB_STEP_SUMMARY`, truncated with a note to at most 1 MiB.
pub fn step_summary(verdict: &Verdict) -> String {
    let mut page = vec![];
    let result = markdown(&mut page, verdict);
    debug_assert!(result.is_ok(), "memory takes everything");
    cut(String::from_utf8_lossy(&page).into_owned())
}

/// Truncates a text that is too long after a complete line.
fn cut(text: String) -> String {
    match text.as_bytes().get(..MAX_SUMMARY - CUT_NOTE.len()) {
        Some(head) if text.len() > MAX_SUMMARY => {
            let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            text.get(..end).unwrap_or_default().to_owned() + CUT_NOTE
        }
        _ => text,
    }
}

/// Writes the findings that count as a JSON array for GitLab.
///
/// # Errors
/// When it cannot be written.
pub fn gitlab(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let base = std::env::current_dir().ok();
    let mut fingerprints = HashSet::new();
    for (i, e) in verdict.listed().filter(|e| e.counts()).enumerate() {
        let path = path::relative(verdict.file(e), base.as_deref());
        let record = json!({
            "description": format!("{} in {}", e.rule().id, sentence(e, None)),
            "check_name": e.rule().id,
            "fingerprint": fingerprint(&path, e, &mut fingerprints),
            "severity": severity(e.finding.severity),
            "location": { "path": path, "lines": { "begin": e.frame } },
        });
        write!(out, "{}{}", if i == 0 { "[" } else { ",\n" }, terminal_safe_json(&record))?;
    }
    writeln!(out, "{}", if fingerprints.is_empty() { "[]" } else { "]" })
}

/// The corresponding severity of GitLab. `critical` and `blocker` are for findings that stop a merge and are not used,
/// because the exit code decides about merges.
const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "major",
        Severity::Warning => "minor",
        Severity::Note => "info",
    }
}

/// The fingerprint for GitLab, which merges the reports of all jobs and shows findings with equal fingerprints as one.
/// So the fingerprint includes the path, and a number if the path is ambiguous.
fn fingerprint(path: &str, e: &Entry, used: &mut HashSet<String>) -> String {
    let numbered_fingerprint = |number: u32| {
        let mut hash = Sha256::new();
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(e.fingerprint.to_string().as_bytes());
        if number > 0 {
            hash.update(number.to_be_bytes());
        }
        let digits: [u8; 16] = hash.finalize().first_chunk().copied().unwrap_or_default();
        format!("{:032x}", u128::from_be_bytes(digits))
    };
    (0..).map(numbered_fingerprint).find(|fingerprint| used.insert(fingerprint.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_properties_are_escaped_as_the_runner_reads_them() {
        assert_eq!(data("100 %\r\n::error::x"), "100 %25%0D%0A::error::x");
        assert_eq!(property("a,b:c%0A"), "a%2Cb%3Ac%250A");
    }

    #[test]
    fn harmless_file_names_stay_unchanged() {
        assert_eq!(file_address("captures\\a b.pcap"), "captures\\a b.pcap");
        assert_eq!(file_address("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(file_address("##[error]x"), "##\\x5berror]x");
    }

    #[test]
    fn truncates_a_long_page_after_a_complete_line_and_says_so() {
        let line = "| é |\n";
        let text = cut(line.repeat(MAX_SUMMARY / line.len() + 1));
        assert!(text.len() <= MAX_SUMMARY && text.len() > MAX_SUMMARY - 2 * line.len());
        let whole = text.strip_suffix(CUT_NOTE).expect("it says that it was cut");
        assert!(whole.lines().all(|l| l == line.trim_end()), "half a line is left");
    }

    #[test]
    fn a_page_within_the_limit_stays_unchanged() {
        let text = "x".repeat(MAX_SUMMARY);
        assert!(cut(text.clone()) == text);
    }
}
