//! Writes every report format with hostile text in packets and in the capture's name, and reads it back.
//!
//! ```text
//! format u8, of the list below │ options u8, of `talk` │ length of the name u8 │ the capture's name │ datagrams, as in `talk`
//! ```

use super::input::Input;
use super::talk;
use crate::kit::ci::{check_github, check_junit, check_markdown, written, xml};
use crate::kit::play::{RawFrame, numbered_frame};
use qdissect::capture::{CaptureInfo, Source};
use qdissect::check::Policy;
use qdissect::exchange::Windows;
use qdissect::filter::Columns;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::screen::{self, Screen, Sort};
use qdissect::report::summary::{self, Summary};
use qdissect::report::{
    Detail, Details, ExchangeRows, Exchanges, Explain, Fields, Form, Layout, Lister, Output, Records, Report,
    Style, Totals, server_rows,
};
use qdissect::rule::Severity;
use qdissect::stats::{self, Section, Stats};
use qdissect::text::escape::is_hostile;
use qdissect::verdict::{self, Check, Entry, JunitStyle, SarifStyle, Verdict};
use roxmltree::Document;
use serde_json::Value;
use std::io::Cursor;

/// Columns, some of which contain text from the network.
const COLUMNS: &[&str] = &[
    "frame.number",
    "ip.src",
    "protocol",
    "message",
    "rule",
    "sqp.server_info.server_name",
    "gqp.commands.args",
    "skycoop.server_name",
    "udp.payload",
];
const SCREEN: Screen =
    Screen { width: 80, colour: false, ascii: false, top: None, sort: Sort::Findings, show: None };
/// First characters of formulas in spreadsheets; numbers may begin with a sign.
const FORMULA: [char; 2] = ['=', '@'];

/// The input of reports: generated datagrams, or the bytes of a capture.
pub enum Content<'a> {
    Talk(Vec<RawFrame>),
    Capture(&'a [u8]),
}

/// An input with options and the name of its capture.
pub struct Case<'a> {
    pub options: Options,
    pub name: String,
    pub content: Content<'a>,
}

impl Case<'_> {
    fn run_report<R: Report>(&self, mut report: R) -> (R, Totals) {
        let mut pipeline = Pipeline::new(self.options.clone(), &mut report);
        let whole = match &self.content {
            Content::Talk(raw_frames) => {
                let frames = raw_frames
                    .iter()
                    .enumerate()
                    .map(|(i, raw_frame)| numbered_frame(raw_frame, i as u64 + 1, 24));
                pipeline
                    .read_frames(&self.name, &CaptureInfo::default(), frames)
                    .expect("memory takes everything");
                true
            }
            // The capture is read as far as possible.
            Content::Capture(bytes) => Source::from_reader(&self.name, Box::new(Cursor::new(bytes.to_vec())))
                .is_ok_and(|mut source| pipeline.read(&mut source, &self.name).is_ok()),
        };
        let totals = pipeline.finish(whole).expect("memory takes everything");
        (report, totals)
    }

    /// Writes the reports in every format, and reads them back.
    pub fn write(&self) {
        FORMATS.iter().for_each(|format| format(self));
    }
}

/// Checks that text for people contains no escape sequences.
fn harmless(out: Vec<u8>, what: &str) -> String {
    let text = String::from_utf8(out).expect("reports are UTF-8");
    let found = text.chars().find(|c| *c != '\n' && is_hostile(*c));
    assert_eq!(found, None, "{what}: {text:?}");
    text
}

fn json(out: &[u8], what: &str) -> Value {
    serde_json::from_slice(out).unwrap_or_else(|e| panic!("{what}: {e}: {}", String::from_utf8_lossy(out)))
}

fn ndjson(out: Vec<u8>, what: &str) -> usize {
    let text = harmless(out, what);
    text.lines().map(|line| json(line.as_bytes(), what)).filter(|record| record["type"].is_string()).count()
}

/// Checks rows of CSV (RFC 4180) and similar formats: all have the same number of cells, and no cell is a formula.
fn rows(out: Vec<u8>, separator: char, what: &str) {
    let text = String::from_utf8(out).expect("rows are UTF-8");
    let mut width = None;
    for line in text.lines() {
        let found = line.chars().find(|c| *c != separator && is_hostile(*c));
        assert_eq!(found, None, "{what}: {line:?}");
        let (mut cells, mut quoted, mut begins) = (1, false, true);
        for c in line.chars() {
            assert!(!(begins && FORMULA.contains(&c)), "{what}: a formula in {line:?}");
            begins = (begins && c == '"') || (c == separator && !quoted);
            quoted ^= separator == ',' && c == '"';
            cells += usize::from(c == separator && !quoted);
        }
        assert!(!quoted, "{what}: a quote is open in {line:?}");
        assert_eq!(*width.get_or_insert(cells), cells, "{what}: {text}");
    }
}

/// Writes one group of formats for each input, because some take long.
const FORMATS: &[fn(&Case<'_>)] =
    &[lines, details, records, columns, summaries, statistics, judged, analysed, tested, annotated];

/// Checks that every report can be read back.
pub fn writers(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let format = input.pick(FORMATS);
    let options = talk::options(input.byte());
    let length = usize::from(input.byte());
    let name = String::from_utf8_lossy(input.take(length)).into_owned();
    format(&Case { options, name, content: Content::Talk(talk::input_frames(&mut input)) });
}

fn lines(case: &Case<'_>) {
    let mut out = vec![];
    case.run_report(Lister::new(&mut out, false, false, true));
    harmless(out, "lines");
    let mut out = vec![];
    case.run_report(Exchanges::new(&mut out, false, false, true));
    harmless(out, "exchanges");
}

fn details(case: &Case<'_>) {
    let Options { choice, timeout, secrets, .. } = case.options.clone();
    let explain = Some(Explain { choice, windows: Windows::new(timeout) });
    for tree in [false, true] {
        let detail = Detail { tree, hex: true, explain: explain.clone(), secrets, ..Detail::default() };
        let mut out = vec![];
        case.run_report(Details::new(&mut out, false, true, detail));
        harmless(out, "details");
    }
}

fn records(case: &Case<'_>) {
    let mut out = vec![];
    case.run_report(Records::new(Output::new(&mut out, Form::Json, false), true, false));
    assert!(json(&out, "JSON").is_array());
    let mut out = vec![];
    case.run_report(Records::new(Output::new(&mut out, Form::Ndjson, false), false, false));
    assert!(ndjson(out, "NDJSON") > 0, "there is a summary");
}

fn columns(case: &Case<'_>) {
    for style in [Style::Plain, Style::Csv, Style::Tsv] {
        let separator = if style == Style::Csv { ',' } else { '\t' };
        let chosen = Columns::parse(COLUMNS).expect("the columns are known");
        let mut out = vec![];
        case.run_report(Fields::new(&mut out, chosen, Layout::of(style), [false; 3]));
        if style == Style::Plain {
            // As tshark writes them: separators in values are not escaped, and cells may look like formulas.
            let text = String::from_utf8(out).expect("rows are UTF-8");
            assert!(!text.chars().any(|c| !['\n', '\t'].contains(&c) && is_hostile(c)), "fields: {text:?}");
            continue;
        }
        rows(out, separator, "columns");
        let mut out = vec![];
        case.run_report(ExchangeRows::new(&mut out, Layout::of(style), false, false));
        rows(out, separator, "exchanges");
    }
}

fn summaries(case: &Case<'_>) {
    let (summary, totals) = case.run_report(Summary::default());
    let mut out = vec![];
    screen::write(&mut out, SCREEN, &summary, &totals).expect("memory takes everything");
    harmless(out, "summary");
    let mut out = vec![];
    summary::records(&mut Output::new(&mut out, Form::Json, false), &summary, &totals).expect("memory");
    assert!(json(&out, "summary").is_array());
    for (style, separator) in [(Style::Csv, ','), (Style::Tsv, '\t')] {
        let mut out = vec![];
        server_rows(&mut out, Layout::of(style), summary.captures.only(), summary.servers())
            .expect("memory takes everything");
        rows(out, separator, "servers");
    }
}

fn statistics(case: &Case<'_>) {
    let (stats, totals) = case.run_report(Stats::new(None));
    let mut out = vec![];
    stats::write(&mut out, SCREEN, &stats, &totals, Section::ALL).expect("memory takes everything");
    harmless(out, "statistics");
    let mut out = vec![];
    stats::records(&mut Output::new(&mut out, Form::Json, false), &stats, &totals, Section::ALL)
        .expect("memory");
    assert!(json(&out, "statistics").is_array());
    for section in Section::ALL {
        let mut out = vec![];
        stats::csv(&mut out, &stats, *section).expect("memory takes everything");
        rows(out, ',', "statistics");
    }
}

fn verdict(case: &Case<'_>) -> Verdict {
    let (check, totals) = case.run_report(Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(())));
    check.verdict(totals).expect("nothing is written yet")
}

fn judged(case: &Case<'_>) {
    let verdict = verdict(case);
    written(|out| verdict::table(out, &verdict, Screen { width: 80, ..Screen::default() }, false));
    written(|out| verdict::concise(out, &verdict, false));
    assert!(json(written(|out| verdict::json(out, &verdict, false)).as_bytes(), "verdict").is_array());
    ndjson(written(|out| verdict::ndjson(out, &verdict)).into_bytes(), "verdict");
}

fn analysed(case: &Case<'_>) {
    let verdict = verdict(case);
    assert!(json(written(|out| verdict::gitlab(out, &verdict)).as_bytes(), "GitLab").is_array());
    for style in [SarifStyle::Spec, SarifStyle::Github] {
        let log = json(written(|out| verdict::sarif(out, &verdict, style)).as_bytes(), "SARIF");
        assert_eq!(log["version"], "2.1.0");
    }
}

fn tested(case: &Case<'_>) {
    let (verdict, limit) = (verdict(case), Some(Severity::Note));
    // Without a time stamp there is no time.
    if verdict.totals.span.is_some() {
        check_junit(&xml(&verdict, JunitStyle::Common, limit));
    }
    let jenkins = xml(&verdict, JunitStyle::Jenkins, limit);
    Document::parse(&jenkins).unwrap_or_else(|e| panic!("JUnit: {e} in {jenkins}"));
}

fn annotated(case: &Case<'_>) {
    let verdict = verdict(case);
    check_markdown(&written(|out| verdict::markdown(out, &verdict)));
    check_markdown(&verdict::step_summary(&verdict));
    let files = check_github(&verdict);
    assert!(!files.iter().any(|name| name.chars().any(is_hostile)), "{files:?}");
}

/// The inputs for these datagrams, a name and a format.
pub fn seed(format: u8, name: &str, talk: &[u8]) -> Vec<u8> {
    let (options, datagrams) = talk.split_first().unwrap_or((&0, &[]));
    let mut seed = vec![format % FORMATS.len() as u8, *options, name.len().min(255) as u8];
    seed.extend(name.bytes().take(255));
    seed.extend(datagrams);
    seed
}
