//! The verdict for people: the worst findings first, each in several lines like compiler diagnostics, or in one line.

use super::{Entry, Excuse, Key, Outcome, Verdict};
use crate::check::{Counts, Explained};
use crate::report::grid::{Column, Fit, Grid, LEAST_ADDRESS};
use crate::report::screen::{BOLD, DIM, Screen, severity_cells, style, wrapped, write_remarks};
use crate::report::{count, dropped_remark, grouped_count};
use crate::rule::Severity;
use crate::text::digits::grouped;
use crate::text::escape::{escaped, truncated};
use anstyle::Style;
use hashbrown::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Columns in a line of bytes for other text: the text before the bytes, and "… and 65535 more" after them.
const COLUMNS_BESIDE_BYTES: usize = 22;

/// Maximum number of symptoms listed with their cause. A server that answers nothing has one for each request.
const SHOWN_SYMPTOMS: usize = 8;
/// Maximum number of frames listed for findings that repeat the first one.
const SHOWN_FRAMES: usize = 8;
/// Maximum number of rows in the table of servers; the worst come first.
const SHOWN_SERVERS: usize = 20;

/// The output and the properties of the screen.
struct Page<'a> {
    out: &'a mut dyn Write,
    screen: Screen,
}

impl Page<'_> {
    /// Width of the screen in columns.
    fn width(&self) -> usize {
        self.screen.width.into()
    }

    /// Writes a text after a mark, wrapped between words. Further lines are indented to the same column.
    fn marked(&mut self, mark: &str, text: &str) -> io::Result<()> {
        let indent = mark.len() + 1;
        let lines = wrapped(text, self.width().saturating_sub(indent), 0);
        for (i, line) in lines.iter().enumerate() {
            match i {
                0 => writeln!(self.out, "{} {line}", self.screen.paint(DIM, mark))?,
                _ => writeln!(self.out, "{:indent$}{line}", "")?,
            }
        }
        Ok(())
    }

    /// Writes a remark about a finding.
    fn remark(&mut self, text: &str) -> io::Result<()> {
        self.marked("   =", text)
    }

    /// Writes a text without a mark, wrapped between words.
    fn text(&mut self, style: Style, text: &str) -> io::Result<()> {
        for line in wrapped(text, self.width(), 2) {
            writeln!(self.out, "{}", self.screen.paint(style, &line))?;
        }
        Ok(())
    }
}

/// Writes the whole report, or with `quiet` only its end, wrapped to the screen.
///
/// # Errors
/// When it cannot be written.
pub fn table(out: &mut dyn Write, verdict: &Verdict, screen: Screen, quiet: bool) -> io::Result<()> {
    let mut page = Page { out, screen };
    if !quiet {
        let symptoms = verdict.symptoms();
        let in_a_line = |block: &[&Entry]| block.iter().any(|e| e.excused.is_some()) && !verdict.show_known;
        let (lines, blocks): (Vec<_>, Vec<_>) =
            verdict.blocks().into_iter().partition(|block| in_a_line(block));
        let mut said = HashSet::new();
        for block in &blocks {
            write_block(&mut page, verdict, block, &symptoms)?;
            help(&mut page, block, &mut said)?;
            writeln!(page.out)?;
        }
        for block in &lines {
            write_known(&mut page, block)?;
        }
        if !lines.is_empty() {
            writeln!(page.out)?;
        }
        servers(&mut page, verdict)?;
    }
    foot(&mut page, verdict, !quiet && verdict.listed().next().is_some())
}

/// Writes a line about the findings of a block that a baseline or a suppression excuses.
fn write_known(page: &mut Page<'_>, block: &[&Entry]) -> io::Result<()> {
    let [e, others @ ..] = block else { return Ok(()) };
    let (what, why) = match &e.excused {
        Some(Excuse::Suppressed(why)) => ("suppressed", format!("; {}", escaped(why))),
        _ => ("known", String::new()),
    };
    let times = match e.count + others.iter().map(|other| other.count).sum::<u64>() {
        1 => String::new(),
        n => format!(", {} times", grouped(n)),
    };
    let head = format!("{what}[{}]", e.rule().id);
    let (protocol, server, frame) = (e.protocol.info().name, e.server, e.frame);
    let rest = format!(": {protocol} {server}, frame {frame}{times}: {}{why}", e.text());
    let room = page.width().saturating_sub(head.width());
    writeln!(page.out, "{}{}", page.screen.paint(DIM, &head), truncated(&rest, room))
}

/// Writes the first finding of a block with all details, and the frames of the findings that repeat it.
fn write_block(
    page: &mut Page<'_>,
    verdict: &Verdict,
    block: &[&Entry],
    symptoms: &HashMap<Key, Vec<&Entry>>,
) -> io::Result<()> {
    let [e, others @ ..] = block else { return Ok(()) };
    let f = &e.finding;
    let (screen, head) = (page.screen, format!("{}[{}]", f.severity.name(), f.rule.id));
    for line in wrapped(&format!("{head}: {}", e.text()), page.width(), 4) {
        match line.strip_prefix(&head) {
            Some(rest) => {
                writeln!(page.out, "{}{}", screen.paint(style(f.severity), &head), screen.paint(BOLD, rest))?
            }
            None => writeln!(page.out, "{}", screen.paint(BOLD, &line))?,
        }
    }
    page.marked("  -->", &format!("{}: frame {}{}", escaped(verdict.file(e)), e.frame, e.place()))?;
    if let Some(line) = hex(e, page.width()) {
        writeln!(page.out, "   {} {line}", screen.paint(DIM, "|"))?;
    }
    let (protocol, fault) = (e.protocol.info().name, f.fault.name());
    page.remark(&format!("{protocol} {}, client {}; at fault: {fault}", e.server, e.client))?;
    page.remark(&format!("source: {}, {}", f.rule.cite.doc, f.rule.cite.section))?;
    if e.count > 1 {
        page.remark(&format!("reported once for this server; {} in all", e.count))?;
    }
    if let Some(line) = repeats(verdict, e, others) {
        page.remark(&line)?;
    }
    write_symptoms(page, block, symptoms)?;
    if let Some(excuse) = &e.excused {
        page.remark(&excuse.text(|why| escaped(why).into_owned()))?;
    }
    Ok(())
}

/// Writes what explains a block, below the first one that it explains.
fn help(page: &mut Page<'_>, block: &[&Entry], said: &mut HashSet<*const Explained>) -> io::Result<()> {
    let explained = block.iter().filter_map(|e| e.explained.as_ref());
    let new: Vec<_> = explained.filter(|explained| said.insert(Arc::as_ptr(explained))).collect();
    new.into_iter().try_for_each(|explained| page.remark(&format!("help: {explained}")))
}

/// A line with the frames of the findings that repeat a finding.
fn repeats(verdict: &Verdict, e: &Entry, others: &[&Entry]) -> Option<String> {
    let mut frames: Vec<_> = others
        .iter()
        .take(SHOWN_FRAMES)
        .map(|other| match other.file == e.file {
            true => other.frame.to_string(),
            false => format!("{} of {}", other.frame, escaped(verdict.file(other))),
        })
        .collect();
    let plural = if others.len() == 1 { "" } else { "s" };
    if others.len() > SHOWN_FRAMES {
        frames.push("…".to_owned());
    }
    (!others.is_empty()).then(|| format!("and {} more, in frame{plural} {}", others.len(), frames.join(", ")))
}

/// Writes the symptoms of the first finding of a block, and the number of further symptoms of the block.
fn write_symptoms(
    page: &mut Page<'_>,
    block: &[&Entry],
    symptoms: &HashMap<Key, Vec<&Entry>>,
) -> io::Result<()> {
    let symptoms_of = |e: &Entry| symptoms.get(&e.key()).map_or(&[][..], Vec::as_slice);
    let Some(first) = block.first() else { return Ok(()) };
    for symptom in symptoms_of(first).iter().take(SHOWN_SYMPTOMS) {
        let from = if symptom.frame == first.frame { "" } else { &format!(" (frame {})", symptom.frame) };
        page.remark(&format!("caused: {} {}{from}", symptom.rule().id, symptom.text()))?;
    }
    let mut keys: Vec<Key> = block.iter().map(|e| e.key()).collect();
    keys.dedup(); // findings with the same frame and rule share their symptoms
    let total: usize = keys.iter().filter_map(|key| symptoms.get(key)).map(Vec::len).sum();
    match total.saturating_sub(symptoms_of(first).len().min(SHOWN_SYMPTOMS)) {
        0 => Ok(()),
        further => page.remark(&format!("and {} caused", grouped_count(further as u64, "further finding"))),
    }
}

/// The marked bytes in hex, as many as fit on a line.
fn hex(e: &Entry, width: usize) -> Option<String> {
    let span = e.finding.span.filter(|_| !e.marked.is_empty())?;
    let shown = e.marked.get(..width.saturating_sub(COLUMNS_BESIDE_BYTES) / 3).unwrap_or(&e.marked);
    let mut words: Vec<_> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    if let more @ 1.. = usize::from(span.end.saturating_sub(span.start)).saturating_sub(shown.len()) {
        words.push(format!("… and {more} more"));
    }
    Some(words.join(" "))
}

/// Writes a line for each server with listed findings that count, the worst first.
fn servers(page: &mut Page<'_>, verdict: &Verdict) -> io::Result<()> {
    let all = verdict.worst_servers();
    if all.is_empty() {
        return Ok(());
    }
    let more = all.len().saturating_sub(SHOWN_SERVERS);
    let mut table = Grid::new(vec![
        Column::text("server", Fit::Address(LEAST_ADDRESS)),
        Column::text("protocol", Fit::Whole),
        Column::number("E", Fit::Whole),
        Column::number("W", Fit::Whole),
        Column::number("N", Fit::Whole),
    ]);
    for s in all.into_iter().take(SHOWN_SERVERS) {
        let mut cells = vec![(s.server.to_string(), None), (s.protocol.info().name.to_owned(), None)];
        cells.extend(severity_cells(s.counts));
        table.add(cells);
    }
    table.write(page.out, page.screen)?;
    if more > 0 {
        writeln!(page.out, "and {}", grouped_count(more as u64, "more server"))?;
    }
    writeln!(page.out)
}

/// Writes the results by protocol, remarks, and the totals.
fn foot(page: &mut Page<'_>, verdict: &Verdict, explain: bool) -> io::Result<()> {
    for id in &verdict.protocols {
        let count_of = |outcome| verdict.results(*id, outcome);
        let known_text = Some(count_of(Outcome::Known)).filter(|n| *n > 0).map(|n| format!(" {n} known,"));
        page.text(
            Style::new(),
            &format!(
                "{}: {} kept, {} broken,{} {} not exercised ({:.0} % checked)",
                id.info().name,
                grouped_count(count_of(Outcome::Pass) as u64, "rule"),
                count_of(Outcome::Fail),
                known_text.unwrap_or_default(),
                count_of(Outcome::NotExercised),
                verdict.coverage(*id).unwrap_or(0.0).floor(),
            ),
        )?;
    }
    let mut lines = vec![];
    write_remarks(&mut lines, &remarks(verdict, page.width()))?;
    for line in String::from_utf8_lossy(&lines).lines() {
        page.text(Style::new(), line)?;
    }
    if explain {
        page.text(Style::new(), "`qdissect rule ID` explains a rule.")?;
    }
    let worst = match verdict.counts {
        Counts { error: 1.., .. } => style(Severity::Error),
        Counts { warning: 1.., .. } => style(Severity::Warning),
        _ => BOLD,
    };
    let incomplete = if verdict.totals.complete { "" } else { " INCOMPLETE: not everything could be read." };
    page.text(
        worst,
        &format!("{}: {}.{incomplete}", verdict.totals.traffic(), verdict.counts_text(grouped_count)),
    )
}

/// Remarks on findings that are not listed, inputs that were not read, and results that are uncertain.
fn remarks(verdict: &Verdict, width: usize) -> Vec<String> {
    let mut remarks: Vec<_> = verdict.unlisted().map(|unlisted| unlisted + ".").into_iter().collect();
    let symptoms = verdict.findings.iter().filter(|e| !e.finding.counts()).count();
    if symptoms > 0 {
        remarks.push(format!(
            "{} caused by these, not counted.",
            grouped_count(symptoms as u64, "further finding")
        ));
    }
    remarks.extend(verdict.below_threshold(Some(width)));
    remarks.extend(dropped_remark(&verdict.totals));
    remarks.extend(verdict.totals.candidate_remarks());
    remarks.extend(
        verdict.totals.unread.iter().map(|u| format!("not read: {}: {}", escaped(&u.file), escaped(&u.why))),
    );
    remarks
}

/// Writes one finding per line, the worst first: capture, frame, severity, rule, message, position; with `quiet` only
/// the counts.
///
/// # Errors
/// When it cannot be written.
pub fn concise(out: &mut dyn Write, verdict: &Verdict, quiet: bool) -> io::Result<()> {
    for e in verdict.worst_first().iter().filter(|e| e.counts() && !quiet) {
        let f = &e.finding;
        writeln!(
            out,
            "{}:{}: {} {}: {}{} [{} {}]",
            escaped(verdict.file(e)),
            e.frame,
            f.severity.name(),
            f.rule.id,
            e.text(),
            e.place(),
            e.protocol.info().name,
            e.server
        )?;
    }
    let unlisted = verdict.unlisted().into_iter().chain(verdict.below_threshold(None));
    unlisted.filter(|_| !quiet).try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "{}", verdict.counts_text(count))
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::entry;
    use super::*;
    use crate::check::Finding;

    #[test]
    fn wraps_lines_between_words_without_losing_any() {
        assert_eq!(wrapped("one two  three", 100, 2), ["one two  three"]);
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrapped("a-very-long-word x", 5, 1), ["a-very-long-word", " x"]);
        assert_eq!(wrapped("日本 語", 6, 0), ["日本", "語"], "these take two columns each");
        assert_eq!(wrapped("", 5, 2), [""]);
    }

    #[test]
    fn repeated_findings_are_listed_with_their_frames_up_to_a_limit() {
        let verdict = Verdict::default();
        let line = |count: u64| {
            let others: Vec<_> = (1..=count).map(|frame| Entry { frame, ..entry(0) }).collect();
            repeats(&verdict, &entry(0), &others.iter().collect::<Vec<_>>())
        };
        assert_eq!(line(0), None);
        assert_eq!(line(1).as_deref(), Some("and 1 more, in frame 1"));
        assert_eq!(line(8).as_deref(), Some("and 8 more, in frames 1, 2, 3, 4, 5, 6, 7, 8"));
        assert_eq!(line(9).as_deref(), Some("and 9 more, in frames 1, 2, 3, 4, 5, 6, 7, 8, …"));
    }

    #[test]
    fn a_symptom_has_a_frame_only_where_it_is_another_than_that_of_its_cause() {
        let cause = Entry { frame: 3, ..entry(0) };
        let symptom = |frame| {
            let caused_by = Some(crate::check::Cause { rule: cause.rule(), frame: 3 });
            Entry { frame, finding: Finding { caused_by, ..cause.finding }, ..cause.clone() }
        };
        let verdict = Verdict { findings: vec![cause.clone(), symptom(3), symptom(4)], ..Verdict::default() };
        let mut out = vec![];
        let mut page = Page { out: &mut out, screen: Screen { width: 100, ..Screen::default() } };
        write_symptoms(&mut page, &[&cause], &verdict.symptoms()).expect("a buffer takes everything");
        let text = String::from_utf8(out).expect("it is UTF-8");
        let framed: Vec<_> = text.lines().map(|line| line.ends_with("(frame 4)")).collect();
        assert_eq!(framed, [false, true], "{text}");
        assert!(!text.contains("(frame 3)"), "{text}");
    }
}
