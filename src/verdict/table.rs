//! The verdict for people: one finding after the other as compilers print them, or one a line.

use super::{Entry, Excuse, Key, Outcome, Verdict};
use crate::check::Counts;
use crate::report::{count, dropped_remark, line_start, shown};
use crate::rule::Severity;
use anstyle::{AnsiColor, Style};
use hashbrown::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Columns of a line of bytes that are none: what stands before them, and "… and 65535 more" behind.
const BESIDE: usize = 22;

/// Symptoms listed with their cause; a server that answers nothing has as many as there were requests.
const SYMPTOMS: usize = 8;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Note => AnsiColor::Cyan.on_default(),
    }
}

/// Paints where colours are welcome.
#[derive(Clone, Copy, Debug)]
struct Paint(bool);

impl Paint {
    fn on(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Writes the whole report, or only its end where that is all that is wanted; in colours or not, and bytes in lines of so
/// many columns.
///
/// # Errors
/// When it cannot be written.
pub fn table(
    out: &mut dyn Write,
    verdict: &Verdict,
    (colour, width): (bool, u16),
    quiet: bool,
) -> io::Result<()> {
    let paint = Paint(colour);
    if quiet {
        return foot(out, verdict, paint);
    }
    let symptoms = verdict.symptoms();
    for entry in verdict.findings.iter().filter(|e| e.finding.counts()) {
        write_entry(out, verdict, (entry, width), &symptoms, paint)?;
    }
    servers(out, verdict, paint)?;
    foot(out, verdict, paint)
}

fn write_entry(
    out: &mut dyn Write,
    verdict: &Verdict,
    (e, width): (&Entry, u16),
    symptoms: &HashMap<Key, Vec<&Entry>>,
    paint: Paint,
) -> io::Result<()> {
    let f = &e.finding;
    let head = format!("{}[{}]", f.severity.name(), f.rule.id);
    writeln!(out, "{}{}", paint.on(style(f.severity), &head), paint.on(BOLD, &format!(": {}", e.text())))?;
    let file = shown(verdict.file(e));
    writeln!(out, "  {} {file}: frame {}{}", paint.on(DIM, "-->"), e.frame, place(e))?;
    if let Some(line) = hex(e, width) {
        writeln!(out, "   {} {line}", paint.on(DIM, "|"))?;
    }
    let who = format!("{} {}, client {}", e.protocol.info().name, e.server, e.client);
    writeln!(out, "   {} {who}; at fault: {}", paint.on(DIM, "="), f.fault.name())?;
    let cite = &f.rule.cite;
    writeln!(out, "   {} source: {}, {}", paint.on(DIM, "="), cite.doc, cite.section)?;
    if e.count > 1 {
        writeln!(out, "   {} said once for this server; {} times in all", paint.on(DIM, "="), e.count)?;
    }
    let caused = symptoms.get(&e.key()).map_or(&[][..], Vec::as_slice);
    for symptom in caused.iter().take(SYMPTOMS) {
        let where_from =
            if symptom.frame == e.frame { String::new() } else { format!(" (frame {})", symptom.frame) };
        writeln!(
            out,
            "   {} caused: {} {}{where_from}",
            paint.on(DIM, "="),
            symptom.rule().id,
            symptom.text()
        )?;
    }
    if let more @ 1.. = caused.len().saturating_sub(SYMPTOMS) {
        writeln!(out, "   {} and {} caused", paint.on(DIM, "="), count(more as u64, "further finding"))?;
    }
    match &e.excused {
        Some(Excuse::Baseline) => {
            writeln!(out, "   {} known: it stands in the baseline", paint.on(DIM, "="))?
        }
        Some(Excuse::Suppressed(reason)) => {
            writeln!(out, "   {} suppressed: {}", paint.on(DIM, "="), shown(reason))?;
        }
        None => {}
    }
    writeln!(out)
}

/// Field and bytes of a finding.
fn place(e: &Entry) -> String {
    let Some(span) = e.finding.span else { return ", exchange".to_owned() };
    let field = e.finding.path().map(|p| format!(" ({p})")).unwrap_or_default();
    format!(", payload bytes {}..{}{field}", span.start, span.end)
}

/// The marked bytes, as many as fit on a line.
fn hex(e: &Entry, width: u16) -> Option<String> {
    let span = e.finding.span.filter(|_| !e.marked.is_empty())?;
    let mut line = String::new();
    let fits = usize::from(width).saturating_sub(BESIDE) / 3;
    let shown = e.marked.get(..fits).unwrap_or(&e.marked);
    for byte in shown {
        let _ = write!(line, "{byte:02x} ");
    }
    let more = usize::from(span.end.saturating_sub(span.start)).saturating_sub(shown.len());
    if more > 0 {
        let _ = write!(line, "… and {more} more");
    }
    Some(line.trim_end().to_owned())
}

/// A line for each server with findings that count.
fn servers(out: &mut dyn Write, verdict: &Verdict, paint: Paint) -> io::Result<()> {
    let mut rows: Vec<(String, &str, Counts)> = vec![];
    let mut known = HashMap::new();
    for e in verdict.findings.iter().filter(|e| e.counts()) {
        let at = *known.entry((e.server, e.protocol)).or_insert_with(|| {
            rows.push((e.server.to_string(), e.protocol.info().name, Counts::default()));
            rows.len() - 1
        });
        rows[at].2.add(e.finding.severity);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0).max(6);
    let head =
        format!("{:<width$}  {:<12} {:>7} {:>9} {:>6}", "server", "protocol", "errors", "warnings", "notes");
    writeln!(out, "{}", paint.on(BOLD, &head))?;
    for (server, protocol, Counts { error, warning, note }) in rows {
        writeln!(out, "{server:<width$}  {protocol:<12} {error:>7} {warning:>9} {note:>6}")?;
    }
    writeln!(out)
}

fn foot(out: &mut dyn Write, verdict: &Verdict, paint: Paint) -> io::Result<()> {
    for id in &verdict.protocols {
        let share = verdict.coverage(*id).unwrap_or(0.0);
        let of = |outcome| verdict.results(*id, outcome);
        writeln!(
            out,
            "{}: {} rules kept, {} broken, {} not exercised ({share:.0} % checked)",
            id.info().name,
            of(Outcome::Pass),
            of(Outcome::Fail),
            of(Outcome::NotExercised),
        )?;
    }
    if verdict.more > 0 {
        writeln!(out, "{} counted, but not listed.", count(verdict.more, "further finding"))?;
    }
    let symptoms = verdict.findings.iter().filter(|e| !e.finding.counts()).count();
    if symptoms > 0 {
        let further = count(symptoms as u64, "further finding");
        writeln!(out, "{further} caused by these, not counted.")?;
    }
    if let Some(remark) = dropped_remark(&verdict.totals) {
        writeln!(out, "{remark}")?;
    }
    let Counts { error, warning, note } = verdict.counts;
    let worst = match () {
        () if error > 0 => style(Severity::Error),
        () if warning > 0 => style(Severity::Warning),
        () => BOLD,
    };
    let incomplete = if verdict.totals.complete { "" } else { " INCOMPLETE: not everything could be read." };
    let line = format!(
        "{} of query traffic in {}: {}, {}, {}.{incomplete}",
        count(verdict.totals.recognised, "datagram"),
        count(verdict.totals.packets, "packet"),
        count(error, "error"),
        count(warning, "warning"),
        count(note, "note"),
    );
    writeln!(out, "{}", paint.on(worst, &line))
}

/// Writes one finding a line: capture, frame, severity, rule, what, where; or only the counts.
///
/// # Errors
/// When it cannot be written.
pub fn concise(out: &mut dyn Write, verdict: &Verdict, quiet: bool) -> io::Result<()> {
    for e in verdict.findings.iter().filter(|e| e.counts() && !quiet) {
        let f = &e.finding;
        writeln!(
            out,
            "{}:{}: {} {}: {}{} [{} {}]",
            line_start(verdict.file(e)),
            e.frame,
            f.severity.name(),
            f.rule.id,
            e.text(),
            place(e),
            e.protocol.info().name,
            e.server
        )?;
    }
    let Counts { error, warning, note } = verdict.counts;
    writeln!(out, "{}, {}, {}", count(error, "error"), count(warning, "warning"), count(note, "note"))
}
