//! The verdict as GitHub and GitLab show it beside the code: as workflow commands of GitHub Actions and the summary of a
//! job's step, and as a code quality report of GitLab.
//!
//! GitHub's runner takes a line for a command where it starts with `::`, blanks aside, or where `##[` stands anywhere in it. So
//! every line begins with a word that qdissect gives, and text from outside is escaped.
//!
//! GitLab looks up a finding by a line, but a capture has no lines: the number of the frame takes the place of the line,
//! and the description says so.

use super::sarif::sentence;
use super::{Entry, Verdict, markdown, path};
use crate::escape::{harmless, is_hostile, shown};
use crate::report::count;
use crate::rule::Severity;
use hashbrown::{HashMap, HashSet};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::{self, Write};

/// Most annotations of a kind that GitHub keeps for a step; it drops further ones silently.
const MOST: usize = 10;
/// Most bytes that GitHub takes for the summary of a step; it refuses a longer summary as a whole.
const MAX_SUMMARY: usize = 1024 * 1024;
/// Stands at the end of a summary that was cut.
const CUT: &str = "\n\n**This summary was cut here: a step may not have more than 1 MiB of it.**\n";

/// Writes annotations for the worst findings, ten of a kind, then all findings in a group of the log.
///
/// # Errors
/// When it cannot be written.
pub fn github(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let incomplete = !verdict.totals.complete;
    if incomplete {
        let unread = verdict.totals.unread.iter().take(MOST);
        let unread: String = unread.map(|u| format!(" {}: {}.", shown(&u.file), shown(&u.why))).collect();
        let what = format!("Not everything could be read: the verdict is about the readable part.{unread}");
        writeln!(out, "::warning title=Incomplete::{}", data(&what))?;
    }
    let mut more = vec![];
    for &severity in Severity::ALL {
        let taken = incomplete && severity == Severity::Warning;
        let foremost = foremost(verdict, severity, MOST - usize::from(taken));
        foremost.iter().try_for_each(|e| annotation(out, verdict.file(e), e))?;
        more.push((severity, verdict.counts.of(severity).saturating_sub(foremost.len() as u64)));
    }
    if more.iter().any(|(_, n)| *n > 0) {
        let more: Vec<_> = more.iter().map(|(s, n)| count(*n, &format!("more {}", s.name()))).collect();
        writeln!(out, "Without an annotation of their own: {}.", more.join(", "))?;
    }
    list(out, verdict)
}

/// The findings of a severity that count, up to `room`: every rule once, in the order found, then every rule for the second
/// time, and so on. So a fault that repeats does not hide the others.
fn foremost(verdict: &Verdict, severity: Severity, room: usize) -> Vec<&Entry> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    let of = |e: &&Entry| e.counts() && e.finding.severity == severity;
    let numbered = verdict.listed().filter(of).map(|e| {
        let time = times.entry(e.rule().id).or_default();
        *time += 1;
        (*time, e)
    });
    let mut all: Vec<_> = numbered.collect();
    all.sort_by_key(|(time, _)| *time);
    all.into_iter().take(room).map(|(_, e)| e).collect()
}

/// Writes an annotation. It has no line, for a capture has no lines; the frame stands in the title.
fn annotation(out: &mut dyn Write, file: &str, e: &Entry) -> io::Result<()> {
    let kind = match e.finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    write!(out, "::{kind} ")?;
    if !file.is_empty() && file != "-" {
        write!(out, "file={},", property(&address(file)))?;
    }
    let rule = e.rule();
    let title = format!("{} frame {}", rule.id, e.frame);
    let what = format!("{}; source: {}, {}", told(e), rule.cite.doc, rule.cite.section);
    writeln!(out, "title={}::{}", property(&title), data(&what))
}

/// Writes every finding in a group of the log, the worst first, then the totals.
fn list(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let listed = verdict.worst_first();
    if !listed.is_empty() {
        writeln!(out, "::group::{} in all", count(listed.len() as u64, "finding"))?;
        for e in listed {
            let (severity, rule) = (e.finding.severity.name(), e.rule().id);
            let excuse = e.excused.as_ref().map(|e| format!("; {}", e.text(|why| shown(why).into_owned())));
            let (file, excuse) = (shown(verdict.file(e)), excuse.unwrap_or_default());
            writeln!(out, "{severity} {rule} {file}: {}{excuse}", told(e))?;
        }
        writeln!(out, "::endgroup::")?;
    }
    if let Some(unlisted) = verdict.unlisted() {
        writeln!(out, "{unlisted}.")?;
    }
    if let Some(below) = verdict.below_threshold() {
        writeln!(out, "{below}")?;
    }
    writeln!(out, "{}: {}.", verdict.totals.traffic(), verdict.counts_text())
}

/// A finding in one line, without its rule and capture. The text is qdissect's own: nothing in it comes from outside.
pub(super) fn told(e: &Entry) -> String {
    let message = e.message.map(|m| format!(" {m}")).unwrap_or_default();
    let cause = e.cause().map(|cause| format!("; caused by {cause}, and not counted")).unwrap_or_default();
    let (frame, what, place, fault) = (e.frame, e.text(), e.place(), e.finding.fault.name());
    format!("frame {frame}{message}: {what}{place}; at fault: {fault}; {}{}{cause}", e.parties(), e.times())
}

/// A file's name as programs look it up: unchanged, unless something in it is hostile.
pub(super) fn address(name: &str) -> Cow<'_, str> {
    if name.contains(is_hostile) || name.contains("##[") { shown(name) } else { name.into() }
}

/// Escapes the text after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The verdict as Markdown for `$GITHUB_STEP_SUMMARY`: at most 1 MiB; a text that was cut says so.
pub fn step_summary(verdict: &Verdict) -> String {
    let mut page = vec![];
    let written = markdown(&mut page, verdict);
    debug_assert!(written.is_ok(), "memory takes everything");
    cut(String::from_utf8_lossy(&page).into_owned())
}

/// The text, cut after its last whole line if it is too long.
fn cut(text: String) -> String {
    match text.as_bytes().get(..MAX_SUMMARY - CUT.len()) {
        Some(head) if text.len() > MAX_SUMMARY => {
            let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            text.get(..end).unwrap_or_default().to_owned() + CUT
        }
        _ => text,
    }
}

/// Writes the findings that count as one array, for GitLab.
///
/// # Errors
/// When it cannot be written.
pub fn gitlab(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let base = std::env::current_dir().ok();
    let mut seen = HashSet::new();
    for (i, e) in verdict.listed().filter(|e| e.counts()).enumerate() {
        let path = path::relative(verdict.file(e), base.as_deref());
        let record = json!({
            "description": format!("{} in {}", e.rule().id, sentence(e, None)),
            "check_name": e.rule().id,
            "fingerprint": fingerprint(&path, e, &mut seen),
            "severity": severity(e.finding.severity),
            "location": { "path": path, "lines": { "begin": e.frame } },
        });
        write!(out, "{}{}", if i == 0 { "[" } else { ",\n" }, harmless(&record))?;
    }
    writeln!(out, "{}", if seen.is_empty() { "[]" } else { "]" })
}

/// One of the five severities of GitLab. `critical` and `blocker` are not used: they are for what stops a merge, which the
/// exit code decides.
const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "major",
        Severity::Warning => "minor",
        Severity::Note => "info",
    }
}

/// The fingerprint for GitLab, which merges the reports of all jobs and shows findings of equal fingerprints as one
/// finding. So the path is part of it, and a number where the path is not enough.
fn fingerprint(path: &str, e: &Entry, seen: &mut HashSet<String>) -> String {
    let of = |number: u32| {
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
    (0..).map(of).find(|fingerprint| seen.insert(fingerprint.clone())).unwrap_or_default()
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
    fn a_name_without_harm_is_an_address_as_it_is() {
        assert_eq!(address("captures\\a b.pcap"), "captures\\a b.pcap");
        assert_eq!(address("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(address("##[error]x"), "##\\x5berror]x");
    }

    #[test]
    fn a_page_is_cut_behind_a_whole_line_and_says_so() {
        let line = "| é |\n";
        let text = cut(line.repeat(MAX_SUMMARY / line.len() + 1));
        assert!(text.len() <= MAX_SUMMARY && text.len() > MAX_SUMMARY - 2 * line.len());
        let whole = text.strip_suffix(CUT).expect("it says that it was cut");
        assert!(whole.lines().all(|l| l == line.trim_end()), "half a line is left");
    }

    #[test]
    fn a_page_that_fits_is_left_alone() {
        let text = "x".repeat(MAX_SUMMARY);
        assert!(cut(text.clone()) == text);
    }
}
