//! The verdict as JUnit XML: a suite for each protocol, a test for each of its rules that was exercised.
//!
//! ```text
//! testsuites ─┬─ qdissect.<protocol> ── SQP-STR-002 string-is-not-valid-utf-8
//!             └─ qdissect.run        ── capture: everything was read
//! ```
//!
//! A test has one name and one result over all captures, whatever the captures are called: readers compare runs by name,
//! and keep the first of two tests of the same name.

use super::github::{address, told};
use super::{Entry, Excuse, Outcome, RuleResult, Verdict};
use crate::escape::shown;
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;
use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;
use std::io::{self, Write};

/// Most findings that a test lists.
const LISTED: usize = 20;
/// Tests here have no duration of their own.
const TIME: (&str, &str) = ("time", "0.000");

/// The reader that the file is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JunitStyle {
    /// What most readers understand. GitLab links a test's `file`.
    #[default]
    Common,
    /// What the schema of Jenkins allows: no `file`, and fewer attributes of `testsuites`.
    Jenkins,
}

/// Writes one test for each rule of every protocol that was exercised in any capture. A rule fails where it has findings
/// that count and are at least as bad as `limit`; with `None` no rule fails.
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
    let suites = || verdict.protocols.iter().map(|id| run.suite(*id)).chain([run.itself()]);
    let mut all = Tally::default();
    suites().for_each(|suite| all.add(&suite.tally()));
    let start = verdict.totals.span.and_then(|(first, _)| first.nanos());
    let second = start.and_then(|n| jiff::Timestamp::from_second(n.div_euclid(1_000_000_000)).ok());
    let sheet = Sheet { style, start: second.map(|s| s.to_string()) };
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 1);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut root = xml.create_element("testsuites").with_attribute(("name", "qdissect"));
    for (name, value) in all.attributes() {
        if name != "skipped" || style == JunitStyle::Common {
            root = root.with_attribute((name, value.as_str()));
        }
    }
    if let Some(start) = sheet.start.as_ref().filter(|_| style == JunitStyle::Common) {
        root = root.with_attribute(("timestamp", start.as_str()));
    }
    root.with_attribute(TIME)
        .write_inner_content(|xml| suites().try_for_each(|suite| sheet.suite(xml, &suite)))?;
    writeln!(out)
}

/// How a test ended.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Skipped { why: String },
    Failed { message: String, kind: Severity, text: String },
    Error { message: String },
}

/// A test.
struct Case {
    name: String,
    /// The capture of its first finding, or the only capture, if there is one.
    file: Option<String>,
    ending: Ending,
    /// Further findings as text; may be empty.
    heard: String,
}

/// The tests of one class.
struct Suite {
    name: String,
    cases: Vec<Case>,
}

impl Suite {
    fn tally(&self) -> Tally {
        let mut tally = Tally { tests: self.cases.len(), ..Tally::default() };
        for case in &self.cases {
            match case.ending {
                Ending::Passed => {}
                Ending::Skipped { .. } => tally.skipped += 1,
                Ending::Failed { .. } => tally.failures += 1,
                Ending::Error { .. } => tally.errors += 1,
            }
        }
        tally
    }
}

/// Number of tests, and how many ended in each way but passing.
#[derive(Default)]
struct Tally {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
    }

    fn attributes(&self) -> [(&'static str, String); 4] {
        let Tally { tests, failures, errors, skipped } = self;
        [("tests", tests), ("failures", failures), ("errors", errors), ("skipped", skipped)]
            .map(|(name, n)| (name, n.to_string()))
    }
}

/// The verdict by protocol and rule.
struct Run<'a> {
    verdict: &'a Verdict,
    limit: Option<Severity>,
    results: HashMap<&'static str, &'a RuleResult>,
    found: HashMap<(Id, &'static str), Vec<&'a Entry>>,
}

impl<'a> Run<'a> {
    fn new(verdict: &'a Verdict, limit: Option<Severity>) -> Run<'a> {
        let mut found: HashMap<_, Vec<&Entry>> = HashMap::new();
        for e in &verdict.findings {
            found.entry((e.protocol, e.rule().id)).or_default().push(e);
        }
        let results = verdict.rules.iter().map(|r| (r.rule.id, r)).collect();
        Run { verdict, limit, results, found }
    }

    /// The tests of a protocol: the shared rules, and its own.
    fn suite(&self, id: Id) -> Suite {
        let rules = crate::general::RULES.iter().copied().chain(id.rules());
        let results = rules.filter_map(|rule| self.results.get(rule.id));
        let exercised =
            |r: &&&RuleResult| !matches!(r.outcome, Outcome::NotApplicable | Outcome::NotExercised);
        let cases = results.filter(exercised).map(|result| self.case(id, result)).collect();
        Suite { name: format!("qdissect.{}", id.info().name), cases }
    }

    fn case(&self, id: Id, result: &RuleResult) -> Case {
        let rule = result.rule;
        let found = self.found.get(&(id, rule.id)).map_or(&[][..], Vec::as_slice);
        let fails = |e: &Entry| e.counts() && self.limit.is_some_and(|limit| e.finding.severity >= limit);
        let (failing, others): (Vec<&Entry>, Vec<&Entry>) = found.iter().copied().partition(|e| fails(e));
        let ending = match failing.iter().map(|e| e.finding.severity).max() {
            Some(kind) => {
                let message = format!("{}: {}", findings(failing.len()), rule.title);
                Ending::Failed { message, kind, text: self.listed(&failing) + &source(rule) }
            }
            None if others.iter().any(|e| e.counts()) => Ending::Passed,
            None => match excused(&others) {
                Some(why) => Ending::Skipped { why },
                None if result.outcome == Outcome::Fail && self.verdict.more > 0 => {
                    let why = "broken in this run, and not every finding is listed: perhaps here";
                    Ending::Skipped { why: why.to_owned() }
                }
                None => Ending::Passed,
            },
        };
        let heard: Vec<_> = others.into_iter().filter(|e| e.finding.severity >= self.verdict.show).collect();
        let file = match (failing.first().or(heard.first()), self.verdict.files.as_slice()) {
            (Some(e), _) => Some(self.verdict.file(e)),
            (None, [(name, _)]) => Some(name.as_str()),
            _ => None,
        };
        let file =
            file.filter(|name| !name.is_empty() && *name != "-").map(|name| characters(&address(name)));
        Case { name: format!("{} {}", rule.id, rule.slug()), file, ending, heard: self.listed(&heard) }
    }

    /// A line for each of the first findings, with its capture where there are several captures, and the number of further
    /// findings.
    fn listed(&self, found: &[&Entry]) -> String {
        let mut text = String::new();
        for e in found.iter().take(LISTED) {
            let capture = match self.verdict.files.len() {
                ..2 => String::new(),
                _ => format!("{}: ", legal(self.verdict.file(e))),
            };
            let excuse = e.excused.as_ref().map(|e| format!("; {}", reason(e))).unwrap_or_default();
            text.push_str(&format!("{} {capture}{}{excuse}\n", e.finding.severity.name(), told(e)));
        }
        if found.len() > LISTED {
            text.push_str(&format!("and {} more\n", found.len() - LISTED));
        }
        text
    }

    /// The tests of the run as a whole: whether everything was read, and whether everything is listed.
    fn itself(&self) -> Suite {
        let ending = match self.verdict.totals.complete {
            true => Ending::Passed,
            false => {
                let unread = self.verdict.totals.unread.iter();
                let unread: String =
                    unread.map(|u| format!(" {}: {}.", legal(&u.file), legal(&u.why))).collect();
                Ending::Error { message: format!("Not everything could be read.{unread}") }
            }
        };
        let case =
            |name: &str, ending| Case { name: name.to_owned(), file: None, ending, heard: String::new() };
        let heard = self.verdict.below().map(|below| below + "\n").unwrap_or_default();
        let mut cases = vec![Case { heard, ..case("capture", ending) }];
        if let Some((kind, count)) = self.unlisted() {
            let message = format!("{} that were counted, but not listed", findings(count));
            cases.push(case(
                "unlisted findings",
                Ending::Failed { message: message.clone(), kind, text: message },
            ));
        }
        Suite { name: "qdissect.run".to_owned(), cases }
    }

    /// The worst severity and the number of findings that fail the check without being listed.
    fn unlisted(&self) -> Option<(Severity, usize)> {
        let counts = &self.verdict.counts;
        let all = [
            (Severity::Error, counts.error),
            (Severity::Warning, counts.warning),
            (Severity::Note, counts.note),
        ];
        let listed = |severity| {
            self.verdict.findings.iter().filter(|e| e.counts() && e.finding.severity == severity).count()
        };
        let left = all
            .into_iter()
            .filter(|(severity, _)| self.limit.is_some_and(|limit| *severity >= limit))
            .map(|(severity, n)| (severity, usize::try_from(n).unwrap_or(usize::MAX)))
            .map(|(severity, n)| (severity, n.saturating_sub(listed(severity))))
            .filter(|(_, n)| *n > 0);
        left.reduce(|worst, other| (worst.0, worst.1 + other.1))
    }
}

fn findings(n: usize) -> String {
    if n == 1 { "1 finding".to_owned() } else { format!("{n} findings") }
}

/// Why no finding counts, where that is because they are excused.
fn excused(found: &[&Entry]) -> Option<String> {
    let mut whys: Vec<String> = vec![];
    let mut more = false;
    for excuse in found.iter().filter_map(|e| e.excused.as_ref()) {
        let why = reason(excuse);
        match whys.contains(&why) {
            false if whys.len() < LISTED => whys.push(why),
            known => more |= !known,
        }
    }
    whys.extend(more.then(|| "and others".to_owned()));
    Some(whys.join("; ")).filter(|whys| !whys.is_empty())
}

fn reason(excuse: &Excuse) -> String {
    match excuse {
        Excuse::Baseline => "known: it stands in the baseline".to_owned(),
        Excuse::Suppressed(why) => format!("suppressed: {}", legal(why)),
    }
}

/// The source of what the rule demands.
fn source(rule: &Rule) -> String {
    let cite = &rule.cite;
    format!("source: {}, {} {}", cite.doc, cite.section, cite.url).trim_end().to_owned()
}

/// Text from outside, without characters that XML 1.0 forbids or that turn or hide text, and without the mark by which
/// GitLab and Jenkins attach a file.
fn legal(text: &str) -> String {
    characters(&shown(text).replace("[[ATTACHMENT|", "[\\x5bATTACHMENT|"))
}

/// Escapes the characters that XML 1.0 forbids and that are not escaped already.
fn characters(text: &str) -> String {
    text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// How the file is laid out.
struct Sheet {
    style: JunitStyle,
    /// The lowest time stamp of the captures, to the second.
    start: Option<String>,
}

impl Sheet {
    fn suite<W: Write>(&self, xml: &mut Writer<W>, suite: &Suite) -> io::Result<()> {
        let mut element = xml.create_element("testsuite").with_attribute(("name", suite.name.as_str()));
        for (name, value) in suite.tally().attributes() {
            element = element.with_attribute((name, value.as_str()));
        }
        element = element.with_attribute(TIME);
        if let Some(start) = &self.start {
            element = element.with_attribute(("timestamp", start.as_str()));
        }
        element.write_inner_content(|xml| suite.cases.iter().try_for_each(|c| self.case(xml, suite, c)))?;
        Ok(())
    }

    fn case<W: Write>(&self, xml: &mut Writer<W>, suite: &Suite, case: &Case) -> io::Result<()> {
        let mut element = xml
            .create_element("testcase")
            .with_attribute(("name", case.name.as_str()))
            .with_attribute(("classname", suite.name.as_str()))
            .with_attribute(TIME);
        if let Some(name) = case.file.as_deref().filter(|_| self.style == JunitStyle::Common) {
            element = element.with_attribute(("file", name));
        }
        if case.ending == Ending::Passed && case.heard.is_empty() {
            element.write_empty()?;
            return Ok(());
        }
        element.write_inner_content(|xml| result(xml, case))?;
        Ok(())
    }
}

/// Writes the content of a test.
fn result<W: Write>(xml: &mut Writer<W>, case: &Case) -> io::Result<()> {
    match &case.ending {
        Ending::Passed => {}
        Ending::Skipped { why } => {
            xml.create_element("skipped").with_attribute(("message", why.as_str())).write_empty()?;
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
    if !case.heard.is_empty() {
        xml.create_element("system-out").write_text_content(BytesText::new(&case.heard))?;
    }
    Ok(())
}
