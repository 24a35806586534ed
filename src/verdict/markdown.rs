//! The verdict as Markdown, for the summary of a CI job or a comment on a merge request.
//!
//! Text from outside is written in code spans, so that it creates no mentions, links or HTML.

use super::{Entry, Outcome, Verdict};
use crate::protocols::Id;
use crate::report::{MORE_MEMORY, dropped_remark, grouped_count};
use crate::rule::{Rule, Severity};
use crate::text::escape::escaped;
use crate::text::markdown::{page_of, with_backslashes};
use std::io::{self, Write};

/// A row of a table.
type Row = Vec<String>;

/// Writes the whole report, the worst findings first.
///
/// # Errors
/// When it cannot be written.
pub fn markdown(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    head(out, verdict)?;
    findings(out, verdict)?;
    servers(out, verdict)?;
    protocols(out, verdict)?;
    excused(out, verdict)?;
    symptoms(out, verdict)?;
    incomplete(out, verdict)
}

/// Writes the heading, the counts, and a note about an incomplete run, which truncation cannot remove here.
fn head(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    writeln!(out, "# Game-server query conformance\n")?;
    let (traffic, files) = (verdict.totals.traffic(), grouped_count(verdict.totals.files, "capture"));
    writeln!(out, "**{}** in {traffic}, {files}.", verdict.counts_text(grouped_count))?;
    if !verdict.totals.complete {
        writeln!(out, "\n**Incomplete:** not everything could be read.")?;
    }
    Ok(())
}

fn findings(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let listed = verdict.worst_first().into_iter().filter(|e| e.counts());
    let columns =
        ["severity", "rule", "what", "capture", "frame", "bytes", "field", "server", "fault", "times"];
    let rows = listed.map(|e| {
        let f = &e.finding;
        vec![
            f.severity.name().to_owned(),
            rule_link(e.rule()),
            plain(&(e.text() + &e.help())),
            code(verdict.file(e)),
            e.frame.to_string(),
            f.span.map_or("exchange".to_owned(), |s| format!("{}..{}", s.start, s.end)),
            f.path().map_or(String::new(), |path| code(&path)),
            format!("{} {}", e.protocol.info().name, code(&e.server.to_string())),
            f.fault.name().to_owned(),
            e.count.to_string(),
        ]
    });
    table(out, "Findings", &columns, rows)?;
    if let Some(unlisted) = verdict.unlisted() {
        writeln!(out, "\n{unlisted}.")?;
    }
    if let Some(below_threshold) = verdict.below_threshold(None) {
        writeln!(out, "\n{}.", plain(&below_threshold))?;
    }
    Ok(())
}

/// Writes a row for each server with listed findings that count, the worst first.
fn servers(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let rows = verdict.worst_servers().into_iter().map(|s| {
        let mut row = vec![code(&s.server.to_string()), s.protocol.info().name.to_owned()];
        row.extend(Severity::ALL.iter().map(|severity| s.counts.of(*severity).to_string()));
        row
    });
    table(out, "Servers", &["server", "protocol", "errors", "warnings", "notes"], rows)
}

fn protocols(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let row = |id: &Id| {
        let count_of = |outcome| verdict.results(*id, outcome).to_string();
        let share = verdict.coverage(*id).unwrap_or(0.0).floor();
        let (kept, broken, known) =
            (count_of(Outcome::Pass), count_of(Outcome::Fail), count_of(Outcome::Known));
        vec![
            id.info().name.into(),
            kept,
            broken,
            known,
            count_of(Outcome::NotExercised),
            format!("{share:.0} %"),
        ]
    };
    let columns = ["protocol", "rules kept", "broken", "known", "not exercised", "checked"];
    table(out, "Protocols", &columns, verdict.protocols.iter().map(row))
}

fn excused(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let rows = verdict.listed().filter_map(|e| {
        let why = e.excused.as_ref()?.text(code);
        Some(short_row(verdict, e, why.strip_prefix("known: ").unwrap_or(&why)))
    });
    table(out, "Excused", &["severity", "rule", "what", "capture", "frame", "why"], rows)
}

fn symptoms(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let rows = verdict.listed().filter(|e| e.excused.is_none()).filter_map(|e| {
        let (rule, cause) = (e.finding.caused_by?.rule, e.cause()?);
        Some(short_row(verdict, e, &cause.replacen(rule.id, &rule_link(rule), 1)))
    });
    let columns = ["severity", "rule", "what", "capture", "frame", "caused by"];
    table(out, "Caused by findings above, and not counted", &columns, rows)
}

/// A row with severity, rule, text, capture, frame and a last cell.
fn short_row(verdict: &Verdict, e: &Entry, last: &str) -> Row {
    let (severity, frame) = (e.finding.severity.name().to_owned(), e.frame.to_string());
    vec![severity, rule_link(e.rule()), plain(&e.text()), code(verdict.file(e)), frame, last.to_owned()]
}

/// Writes remarks on data that could not be read, kept or listed.
fn incomplete(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    let totals = &verdict.totals;
    let mut remarks = vec![];
    if !totals.complete {
        remarks.push("Not everything could be read: the verdict is about the readable part.".to_owned());
    }
    remarks.extend(totals.unread.iter().map(|u| format!("{}: {}.", code(&u.file), plain(&escaped(&u.why)))));
    remarks.extend(dropped_remark(totals));
    let counted_remarks = [
        (verdict.more_findings, "Findings that are not listed"),
        (totals.undecided, "Exchanges that were open when their capture ended"),
        (totals.evicted, "Open requests and conversations that were forgotten for want of room"),
        (
            totals.waiting_overflow,
            "Datagrams that were judged before their conversation had spoken, for want of room",
        ),
        (totals.servers_refused, "Conversations whose server found no place in the table"),
        (
            totals.not_unpacked,
            "Compressed answers that were not unpacked, for want of proportion to what was read",
        ),
        (totals.memory_forgotten, "Entries that rules about several packets need, and that were forgotten"),
    ];
    remarks.extend(
        counted_remarks.into_iter().filter(|(n, _)| *n > 0).map(|(n, remark)| format!("{remark}: {n}.")),
    );
    remarks.extend(totals.crowded().then(|| MORE_MEMORY.to_owned()));
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Incomplete\n")?;
    remarks.iter().try_for_each(|remark| writeln!(out, "- {remark}"))
}

/// Writes a heading and a table, or nothing if there are no rows.
fn table(
    out: &mut dyn Write,
    heading: &str,
    columns: &[&str],
    rows: impl Iterator<Item = Row>,
) -> io::Result<()> {
    for (i, row) in rows.enumerate() {
        if i == 0 {
            writeln!(
                out,
                "\n## {heading}\n\n| {} |\n|{}",
                columns.join(" | "),
                "---|".repeat(columns.len())
            )?;
        }
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    Ok(())
}

/// The identifier of a rule as a link to its page.
fn rule_link(rule: &Rule) -> String {
    format!("[{}]({})", rule.id, page_of(rule))
}

/// Escapes the Markdown punctuation in qdissect's own text.
fn plain(text: &str) -> String {
    with_backslashes(text, "\\`*_[]<>|~&$@#!")
}

/// Text from outside as a code span. Characters that could end the span or the cell, or mention a user where code spans
/// are not supported, are escaped as in `\x7c`.
fn code(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    let text = escaped(text);
    let (first, last) = (0, text.chars().count() - 1);
    let mut out = String::with_capacity(text.len() + 2);
    out.push('`');
    for (i, c) in text.chars().enumerate() {
        match c {
            '`' | '|' | '<' | '>' | '@' => out.push_str(&format!("\\x{:02x}", c as u32)),
            ' ' if i == first || i == last => out.push_str("\\x20"), // Markdown would drop it
            c => out.push(c),
        }
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_breaks_out_of_a_code_span_or_its_cell() {
        assert_eq!(code("a|b`c"), "`a\\x7cb\\x60c`");
        assert_eq!(code("<img>@all"), "`\\x3cimg\\x3e\\x40all`");
        assert_eq!(code("\x1b[2J\n"), "`\\x1b[2J\\n`");
        assert_eq!(code(" a b "), "`\\x20a b\\x20`");
        assert_eq!(code("a\\"), "`a\\\\`");
        assert_eq!(code(""), "(empty)");
    }

    #[test]
    fn escapes_markdown_punctuation_in_own_text() {
        assert_eq!(plain("a_b is <1 | *"), "a\\_b is \\<1 \\| \\*");
    }

    #[test]
    fn every_rule_links_to_its_page_and_no_link_ends_early() {
        for rule in crate::protocols::rules() {
            let link = rule_link(rule);
            let url = link
                .strip_prefix(&format!("[{}](docs/rules.md#", rule.id))
                .and_then(|rest| rest.strip_suffix(')'));
            assert!(url.is_some_and(|url| !url.contains(['(', ')', '|', ' ', '<'])), "{link}");
        }
    }
}
