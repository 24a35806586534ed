//! The verdict as JUnit XML: a suite for each protocol, a test for each of its rules that was exercised.
//!
//! ```text
//! testsuites ─┬─ qdissect.<protocol> ── SQP-STR-002 string-is-not-valid-utf-8
//!             └─ qdissect.run        ── capture: everything was read
//! ```
//!
//! A test has one name and one result over all captures, whatever the captures are called: readers compare runs by name,
//! and keep the first of two tests of the same name.

use super::annotations::{address, told};
use super::{Entry, Outcome, RuleResult, Verdict};
use crate::escape::shown;
use crate::protocols::Id;
use crate::report::count;
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
    let suites = verdict.protocols.iter().map(|id| run.suite(*id)).chain([run.itself()]);
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

/// Number of tests, and how many ended in each way but passing.
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
                let message = format!("{}: {}", count(failing.len() as u64, "finding"), rule.title);
                Ending::Failed { message, kind, text: self.listed(&failing) + &source(rule) }
            }
            None if others.iter().any(|e| e.counts()) => Ending::Passed,
            None => match excused(&others) {
                Some(why) => Ending::Skipped { why },
                None if self.listed_of(rule) < result.count => {
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

    /// How many findings of a rule are listed, in whatever protocol, that count.
    fn listed_of(&self, rule: &Rule) -> u64 {
        let found = Id::ALL.iter().filter_map(|id| self.found.get(&(*id, rule.id))).flatten();
        found.filter(|e| e.counts()).map(|e| e.count).sum()
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
            let excuse = e.excused.as_ref().map(|e| format!("; {}", e.text(legal))).unwrap_or_default();
            text.push_str(&format!("{} {capture}{}{excuse}\n", e.finding.severity.name(), told(e)));
        }
        if found.len() > LISTED {
            text.push_str(&format!("and {} more\n", found.len() - LISTED));
        }
        text
    }

    /// The tests of the run as a whole: whether everything was read, and whether everything is listed.
    fn itself(&self) -> Suite {
        let totals = &self.verdict.totals;
        let mut heard = self.verdict.below_threshold().map(|below| below + "\n").unwrap_or_default();
        let mut ending = Ending::Passed;
        if !totals.complete {
            let unread = totals.unread.iter();
            let unread: String = unread.map(|u| format!(" {}: {}.", legal(&u.file), legal(&u.why))).collect();
            let message = format!("Not everything could be read.{unread}");
            match totals.failed() {
                true => ending = Ending::Error { message },
                false => heard = format!("{message}\n{heard}"),
            }
        }
        let mut cases = vec![Case { name: "capture".to_owned(), file: None, ending, heard }];
        if let Some((kind, n)) = self.unlisted() {
            let message = format!("{} that were counted, but not listed", count(n, "finding"));
            let ending = Ending::Failed { message: message.clone(), kind, text: message };
            let name = "unlisted findings".to_owned();
            cases.push(Case { name, file: None, ending, heard: String::new() });
        }
        Suite { name: "qdissect.run".to_owned(), cases }
    }

    /// The worst severity and the number of findings that fail the check without being listed.
    fn unlisted(&self) -> Option<(Severity, u64)> {
        let Verdict { findings, counts, .. } = self.verdict;
        let failing = Severity::ALL.iter().filter(|s| self.limit.is_some_and(|limit| **s >= limit));
        let left = failing.map(|&severity| {
            let listed = findings.iter().filter(|e| e.counts() && e.finding.severity == severity).count();
            (severity, counts.of(severity).saturating_sub(listed as u64))
        });
        left.filter(|(_, n)| *n > 0).reduce(|worst, other| (worst.0, worst.1 + other.1))
    }
}

/// Why no finding counts, where that is because they are excused.
fn excused(found: &[&Entry]) -> Option<String> {
    let mut whys: Vec<String> = vec![];
    let mut more = false;
    for excuse in found.iter().filter_map(|e| e.excused.as_ref()) {
        let why = excuse.text(legal);
        match whys.contains(&why) {
            false if whys.len() < LISTED => whys.push(why),
            known => more |= !known,
        }
    }
    whys.extend(more.then(|| "and others".to_owned()));
    Some(whys.join("; ")).filter(|whys| !whys.is_empty())
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

impl Suite {
    /// Writes it; `start` is the lowest time stamp of the captures, to the second.
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
        if case.ending == Ending::Passed && case.heard.is_empty() {
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
