//! The verdict as JUnit XML: a suite for each protocol, and in it a test for each rule that was exercised.
//!
//! ```text
//! testsuites ─┬─ qdissect.<protocol> ── SQP-STR-002 string-is-not-valid-utf-8
//!             └─ qdissect.run        ── capture: everything was read
//! ```
//!
//! A test has one name and one result for all captures, regardless of their names, because readers compare runs by the
//! name of the test, and keep only the first of two tests with the same name.

use super::annotations::{description, file_address};
use super::{Entry, Outcome, RuleResult, Verdict};
use crate::protocols::Id;
use crate::report::count;
use crate::rule::general::PRB_ALIVE;
use crate::rule::{Rule, Severity};
use crate::text::escape::escaped;
use hashbrown::HashMap;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use std::io::{self, Write};

/// Maximum number of findings that a test lists.
const MAX_LISTED: usize = 20;
/// The duration of a test, which is not measured.
const TIME: (&str, &str) = ("time", "0.000");

/// The program that reads the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JunitStyle {
    /// Most readers. GitLab links the `file` of a test.
    #[default]
    Common,
    /// Jenkins. Its schema allows no `file` and fewer attributes of `testsuites`.
    Jenkins,
}

/// Writes a test for each rule of every protocol that was exercised in any capture. A rule fails if it has findings
/// that count and are at least as severe as `limit`. With `None`, no rule fails.
///
/// # Errors
/// When it cannot be written.
pub fn junit(
    out: &mut dyn Write,
    verdict: &Verdict,
    style: JunitStyle,
    limit: Option<Severity>,
) -> io::Result<()> {
    let run = Run::new(verdict, limit);
    let suites =
        verdict.protocols.iter().map(|id| run.suite(*id)).chain(run.probe_suite()).chain([run.run_suite()]);
    let suites: Vec<_> = suites.collect();
    let mut counts = tally(suites.iter().flat_map(|suite| &suite.cases));
    if style == JunitStyle::Jenkins {
        counts.retain(|(name, _)| *name != "skipped");
    }
    let start = verdict.totals.span.and_then(|(first, _)| first.nanos());
    let second = start.and_then(|n| jiff::Timestamp::from_second(n.div_euclid(1_000_000_000)).ok());
    let start = second.map(|second| ("timestamp", second.to_string()));
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let root = xml.create_element("testsuites").with_attribute(("name", "qdissect"));
    let root = root.with_attributes(counts.iter().map(pair));
    root.with_attributes(start.iter().filter(|_| style == JunitStyle::Common).map(pair))
        .with_attribute(TIME)
        .write_inner_content(|xml| {
            suites.iter().try_for_each(|suite| suite.write(xml, style, start.as_ref()))
        })?;
    writeln!(out)
}

/// The name and the value of an attribute.
type Attribute = (&'static str, String);

fn pair((name, value): &Attribute) -> (&str, &str) {
    (name, value)
}

/// The number of tests, and of failed, erroneous and skipped ones.
fn tally<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<Attribute> {
    let [mut tests, mut failures, mut errors, mut skipped] = [0; 4];
    for case in cases {
        tests += 1;
        match case.ending {
            Ending::Passed => {}
            Ending::Skipped { .. } => skipped += 1,
            Ending::Failed { .. } => failures += 1,
            Ending::Error { .. } => errors += 1,
        }
    }
    let counts = [("tests", tests), ("failures", failures), ("errors", errors), ("skipped", skipped)];
    counts.map(|(name, n): (_, usize)| (name, n.to_string())).into()
}

/// The result of a test.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Skipped { reason: String },
    Failed { message: String, kind: Severity, text: String },
    Error { message: String },
}

/// A test.
struct Case {
    name: String,
    /// The capture of its first finding, or the only capture, if there is one.
    file: Option<String>,
    ending: Ending,
    /// Further findings as text for `system-out`; may be empty.
    output: String,
}

/// The tests of one class.
struct Suite {
    name: String,
    cases: Vec<Case>,
}

/// The verdict, with results by rule, and findings by protocol and rule.
struct Run<'a> {
    verdict: &'a Verdict,
    limit: Option<Severity>,
    results: HashMap<&'static str, &'a RuleResult>,
    findings_by_rule: HashMap<(Id, &'static str), Vec<&'a Entry>>,
}

impl<'a> Run<'a> {
    fn new(verdict: &'a Verdict, limit: Option<Severity>) -> Run<'a> {
        let mut findings_by_rule: HashMap<_, Vec<&Entry>> = HashMap::new();
        for e in &verdict.findings {
            findings_by_rule.entry((e.protocol, e.rule().id)).or_default().push(e);
        }
        let results = verdict.rules.iter().map(|r| (r.rule.id, r)).collect();
        Run { verdict, limit, results, findings_by_rule }
    }

    /// The tests of a protocol: of the shared rules and its own rules.
    fn suite(&self, id: Id) -> Suite {
        let rules = crate::rule::general::RULES.iter().copied().chain(id.rules());
        let results = rules.filter_map(|rule| self.results.get(rule.id));
        let exercised =
            |r: &&&RuleResult| !matches!(r.outcome, Outcome::NotApplicable | Outcome::NotExercised);
        let cases = results.filter(exercised).map(|result| self.case(id, result)).collect();
        Suite { name: format!("qdissect.{}", id.info().name), cases }
    }

    fn case(&self, id: Id, result: &RuleResult) -> Case {
        let rule = result.rule;
        let findings = self.findings_by_rule.get(&(id, rule.id)).map_or(&[][..], Vec::as_slice);
        let fails = |e: &Entry| e.counts() && self.limit.is_some_and(|limit| e.finding.severity >= limit);
        let (failing, others): (Vec<&Entry>, Vec<&Entry>) = findings.iter().copied().partition(|e| fails(e));
        let ending = match failing.iter().map(|e| e.finding.severity).max() {
            Some(kind) => {
                let message = format!("{}: {}", count(failing.len() as u64, "finding"), rule.title);
                Ending::Failed { message, kind, text: self.listed(&failing) + &source(rule) }
            }
            None if others.iter().any(|e| e.counts()) => Ending::Passed,
            None => match excused(&others) {
                Some(reason) => Ending::Skipped { reason },
                None if self.listed_of(rule) < result.count => {
                    let reason = "broken in this run, and not every finding is listed: perhaps here";
                    Ending::Skipped { reason: reason.to_owned() }
                }
                None => Ending::Passed,
            },
        };
        let output: Vec<_> = others.into_iter().filter(|e| e.finding.severity >= self.verdict.show).collect();
        let file = match (failing.first().or(output.first()), self.verdict.files.as_slice()) {
            (Some(e), _) => Some(self.verdict.file(e)),
            (None, [(name, _)]) => Some(name.as_str()),
            _ => None,
        };
        let file = file
            .filter(|name| !name.is_empty() && *name != "-")
            .map(|name| without_forbidden(&file_address(name)));
        Case { name: format!("{} {}", rule.id, rule.slug()), file, ending, output: self.listed(&output) }
    }

    /// Number of listed findings of a rule that count, in all protocols.
    fn listed_of(&self, rule: &Rule) -> u64 {
        let findings = Id::ALL.iter().filter_map(|id| self.findings_by_rule.get(&(*id, rule.id))).flatten();
        findings.filter(|e| e.counts()).map(|e| e.count).sum()
    }

    /// A line for each of the first findings, with its capture if there are several, and the number of further
    /// findings.
    fn listed(&self, findings: &[&Entry]) -> String {
        let mut text = String::new();
        for e in findings.iter().take(MAX_LISTED) {
            let capture_prefix = match self.verdict.files.len() {
                ..2 => String::new(),
                _ => format!("{}: ", escaped_text(self.verdict.file(e))),
            };
            let excuse =
                e.excused.as_ref().map(|e| format!("; {}", e.text(escaped_text))).unwrap_or_default();
            text.push_str(&format!(
                "{} {capture_prefix}{}{excuse}\n",
                e.finding.severity.name(),
                description(e)
            ));
        }
        if findings.len() > MAX_LISTED {
            text.push_str(&format!("and {} more\n", findings.len() - MAX_LISTED));
        }
        text
    }

    /// The tests of `ask --probe`, one for each row.
    fn probe_suite(&self) -> Option<Suite> {
        let ending = |row: &super::Probed| match &row.failed {
            Some((kind, what)) if self.limit.is_some_and(|limit| *kind >= limit) => {
                Ending::Failed { message: what.clone(), kind: *kind, text: format!("{} {what}", row.rule) }
            }
            _ => Ending::Passed,
        };
        let case = |row: &super::Probed| {
            let alive = if row.rule == PRB_ALIVE.id { " alive" } else { "" };
            let output = row.failed.as_ref().map_or(String::new(), |(_, what)| what.clone() + "\n");
            Case { name: format!("{}{alive} {}", row.id, row.sends), file: None, ending: ending(row), output }
        };
        let cases: Vec<_> = self.verdict.probed.iter().map(case).collect();
        (!cases.is_empty()).then(|| Suite { name: "qdissect.probe".to_owned(), cases })
    }

    /// The tests of the whole run: whether everything was read, and whether everything is listed.
    fn run_suite(&self) -> Suite {
        let totals = &self.verdict.totals;
        let mut output = self
            .verdict
            .below_threshold(None)
            .map(|below_threshold| below_threshold + "\n")
            .unwrap_or_default();
        let mut ending = Ending::Passed;
        if !totals.complete {
            let unread = totals.unread.iter();
            let unread: String =
                unread.map(|u| format!(" {}: {}.", escaped_text(&u.file), escaped_text(&u.why))).collect();
            let message = format!("Not everything could be read.{unread}");
            match totals.failed() {
                true => ending = Ending::Error { message },
                false => output = format!("{message}\n{output}"),
            }
        }
        let mut cases = vec![Case { name: "capture".to_owned(), file: None, ending, output }];
        if let Some((kind, n)) = self.unlisted() {
            let message = format!("{} that were counted, but not listed", count(n, "finding"));
            let ending = Ending::Failed { message: message.clone(), kind, text: message };
            let name = "unlisted findings".to_owned();
            cases.push(Case { name, file: None, ending, output: String::new() });
        }
        Suite { name: "qdissect.run".to_owned(), cases }
    }

    /// The worst severity and the number of findings that fail the check without being listed.
    fn unlisted(&self) -> Option<(Severity, u64)> {
        let Verdict { findings, counts, .. } = self.verdict;
        let failing = Severity::ALL.iter().filter(|s| self.limit.is_some_and(|limit| **s >= limit));
        let unlisted = failing.map(|&severity| {
            let listed = findings.iter().filter(|e| e.counts() && e.finding.severity == severity).count();
            (severity, counts.of(severity).saturating_sub(listed as u64))
        });
        unlisted.filter(|(_, n)| *n > 0).reduce(|worst, other| (worst.0, worst.1 + other.1))
    }
}

/// The reasons of excused findings; `None` if there are none.
fn excused(entries: &[&Entry]) -> Option<String> {
    let mut reasons: Vec<String> = vec![];
    let mut has_more = false;
    for excuse in entries.iter().filter_map(|e| e.excused.as_ref()) {
        let reason = excuse.text(escaped_text);
        match reasons.contains(&reason) {
            false if reasons.len() < MAX_LISTED => reasons.push(reason),
            is_listed => has_more |= !is_listed,
        }
    }
    reasons.extend(has_more.then(|| "and others".to_owned()));
    Some(reasons.join("; ")).filter(|reasons| !reasons.is_empty())
}

/// The source of a rule.
fn source(rule: &Rule) -> String {
    let cite = &rule.cite;
    format!("source: {}, {} {}", cite.doc, cite.section, cite.url).trim_end().to_owned()
}

/// Escapes text from outside: characters that XML 1.0 forbids or that reverse or hide text, and the marker with which
/// GitLab and Jenkins attach a file.
fn escaped_text(text: &str) -> String {
    without_forbidden(&escaped(text).replace("[[ATTACHMENT|", "[\\x5bATTACHMENT|"))
}

/// Escapes the remaining characters that XML 1.0 forbids.
fn without_forbidden(text: &str) -> String {
    text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

impl Suite {
    /// Writes the suite; `start` is the lowest time stamp of the captures, to the second.
    fn write<W: Write>(
        &self,
        xml: &mut Writer<W>,
        style: JunitStyle,
        start: Option<&Attribute>,
    ) -> io::Result<()> {
        let element = xml.create_element("testsuite").with_attribute(("name", self.name.as_str()));
        let element = element.with_attributes(tally(self.cases.iter()).iter().map(pair));
        let element = element.with_attribute(TIME).with_attributes(start.map(pair));
        element.write_inner_content(|xml| self.cases.iter().try_for_each(|c| self.case(xml, style, c)))?;
        Ok(())
    }

    fn case<W: Write>(&self, xml: &mut Writer<W>, style: JunitStyle, case: &Case) -> io::Result<()> {
        let file = case.file.as_deref().filter(|_| style == JunitStyle::Common).map(|name| ("file", name));
        let element = xml
            .create_element("testcase")
            .with_attributes([("name", case.name.as_str()), ("classname", self.name.as_str()), TIME])
            .with_attributes(file);
        if case.ending == Ending::Passed && case.output.is_empty() {
            element.write_empty()?;
        } else {
            element.write_inner_content(|xml| result(xml, case))?;
        }
        Ok(())
    }
}

/// Writes the content of a test.
fn result<W: Write>(xml: &mut Writer<W>, case: &Case) -> io::Result<()> {
    match &case.ending {
        Ending::Passed => {}
        Ending::Skipped { reason } => {
            xml.create_element("skipped").with_attribute(("message", reason.as_str())).write_empty()?;
        }
        Ending::Failed { message, kind, text } => {
            let element = xml.create_element("failure").with_attribute(("message", message.as_str()));
            element.with_attribute(("type", kind.name())).write_text_content(BytesText::new(text))?;
        }
        Ending::Error { message } => {
            let element = xml.create_element("error").with_attribute(("message", message.as_str()));
            element.with_attribute(("type", "incomplete")).write_text_content(BytesText::new(message))?;
        }
    }
    if !case.output.is_empty() {
        xml.create_element("system-out").write_text_content(BytesText::new(&case.output))?;
    }
    Ok(())
}
