//! The verdict as workflow commands of GitHub Actions, and as the summary of a job's step.
//!
//! The runner takes a line for a command where it starts with `::`, blanks aside, or where `##[` stands anywhere in it. So
//! every line begins with a word that qdissect gives, and text from outside is escaped.

use super::{Entry, Excuse, Verdict, markdown};
use crate::check::Counts;
use crate::escape::{is_hostile, shown};
use crate::report::count;
use crate::rule::Severity;
use hashbrown::HashMap;
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
    let mut left = Counts::default();
    let Counts { error, warning, note } = verdict.counts;
    let kinds = [
        (Severity::Error, error, &mut left.error),
        (Severity::Warning, warning, &mut left.warning),
        (Severity::Note, note, &mut left.note),
    ];
    for (severity, all, left) in kinds {
        let taken = incomplete && severity == Severity::Warning;
        let foremost = foremost(verdict, severity, MOST - usize::from(taken));
        foremost.iter().try_for_each(|e| annotation(out, verdict.file(e), e))?;
        *left = all.saturating_sub(foremost.len() as u64);
    }
    if left.total() > 0 {
        let Counts { error, warning, note } = left;
        let more = [(error, "more error"), (warning, "more warning"), (note, "more note")];
        let more = more.map(|(n, what)| count(n, what)).join(", ");
        writeln!(out, "Without an annotation of their own: {more}.")?;
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
            write!(out, "{severity} {rule} {}: {}", shown(verdict.file(e)), told(e))?;
            match &e.excused {
                Some(Excuse::Baseline) => writeln!(out, "; known: it stands in the baseline")?,
                Some(Excuse::Suppressed(why)) => writeln!(out, "; suppressed: {}", shown(why))?,
                None => writeln!(out)?,
            }
        }
        writeln!(out, "::endgroup::")?;
    }
    if verdict.more > 0 {
        writeln!(out, "{} counted, but not listed.", count(verdict.more, "further finding"))?;
    }
    if let Some(below) = verdict.below() {
        writeln!(out, "{below}")?;
    }
    writeln!(out, "{}: {}.", verdict.totals.traffic(), verdict.sums())
}

/// A finding in one line, without its rule and capture. The text is qdissect's own: nothing in it comes from outside.
pub(super) fn told(e: &Entry) -> String {
    let f = &e.finding;
    let message = e.message.map(|m| format!(" {m}")).unwrap_or_default();
    let place = match f.span {
        Some(span) => format!(", payload bytes {}..{}", span.start, span.end),
        None => ", exchange".to_owned(),
    };
    let field = f.path().map(|p| format!(" ({p})")).unwrap_or_default();
    let (protocol, server, client) = (e.protocol.info().name, e.server, e.client);
    let mut line = format!("frame {}{message}: {}{place}{field}; at fault: ", e.frame, e.text());
    line.push_str(&format!("{}; {protocol} server {server}, client {client}", f.fault.name()));
    if e.count > 1 {
        line.push_str(&format!("; said once for this server, {} times in all", e.count));
    }
    if let Some(cause) = e.cause() {
        line.push_str(&format!("; caused by {cause}, and not counted"));
    }
    line
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
    let mut page = Page { bytes: vec![], cut: false };
    let written = markdown(&mut page, verdict);
    debug_assert!(written.is_ok(), "a page takes everything");
    page.text()
}

/// Keeps as many bytes as a summary may have.
struct Page {
    bytes: Vec<u8>,
    cut: bool,
}

impl Page {
    /// The text, cut after its last whole line if it was too long.
    fn text(mut self) -> String {
        if self.cut {
            self.bytes.truncate(MAX_SUMMARY - CUT.len());
            let end = self.bytes.iter().rposition(|b| *b == b'\n').unwrap_or(0);
            self.bytes.truncate(end);
            self.bytes.extend(CUT.bytes());
        }
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_SUMMARY - self.bytes.len();
        self.cut |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        let mut page = Page { bytes: vec![], cut: false };
        while !page.cut {
            page.write_all(line.as_bytes()).expect("a page takes everything");
        }
        let text = page.text();
        assert!(text.len() <= MAX_SUMMARY && text.len() > MAX_SUMMARY - 2 * line.len());
        let whole = text.strip_suffix(CUT).expect("it says that it was cut");
        assert!(whole.lines().all(|l| l == line.trim_end()), "half a line is left");
    }

    #[test]
    fn a_page_that_fits_is_left_alone() {
        let mut page = Page { bytes: vec![], cut: false };
        let text = "x".repeat(MAX_SUMMARY);
        page.write_all(text.as_bytes()).expect("a page takes everything");
        assert!(page.text() == text);
    }
}
