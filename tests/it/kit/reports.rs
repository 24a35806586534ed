//! All reports about captures in memory, with different ways of reading.

use qdissect::capture::Source;
use qdissect::check::Policy;
use qdissect::filter::{Columns, Filter};
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::screen::Screen;
use qdissect::report::summary::{self, Summary};
use qdissect::report::{
    Exchanges, Fields, Filtered, Form, Layout, Lister, Output, Recorder, Records, Remarks, Report, Style,
    Totals,
};
use qdissect::verdict::{self, Check, Entry};
use std::fmt::Write as _;
use std::io::{self, Cursor, Read};

/// Returns at most this many bytes per read, so that buffers are filled differently.
struct Chunked<R>(R, usize);

impl<R: Read> Read for Chunked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

/// How inputs are read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    pub read_ahead: bool,
    /// Bytes per read.
    pub chunk_size: usize,
    /// Datagrams with less confidence count as unclaimed.
    pub min_confidence: Level,
}

impl ReadOptions {
    /// Reads everything at once, on one thread, with the default confidence.
    pub const PLAIN: ReadOptions =
        ReadOptions { read_ahead: false, chunk_size: usize::MAX, min_confidence: Level::Medium };
}

/// Reads captures one after the other into a report. Returns it with the totals, and the errors and properties of the captures.
pub fn run<R: Report>(inputs: &[Vec<u8>], read_options: ReadOptions, mut report: R) -> (R, Totals, String) {
    let options = Options { all: true, min_confidence: read_options.min_confidence, ..Options::default() };
    let (mut pipeline, mut errors, mut complete) = (Pipeline::new(options, &mut report), String::new(), true);
    for (i, input) in inputs.iter().enumerate() {
        let name = format!("input {i}");
        let reader = Chunked(Cursor::new(input.clone()), read_options.chunk_size);
        let mut source = match Source::from_reader(&name, Box::new(reader)) {
            Ok(source) => source,
            Err(e) => {
                let _ = writeln!(errors, "{e}");
                complete = false;
                continue;
            }
        };
        let read = match read_options.read_ahead {
            true => pipeline.read_ahead(&mut source, &name),
            false => pipeline.read(&mut source, &name),
        };
        match read {
            Ok(()) => {}
            Err(Stopped::Capture(e)) => {
                let _ = writeln!(errors, "{e}");
                complete = false;
            }
            Err(Stopped::Report(e)) => panic!("{e}"),
        }
        let _ = writeln!(errors, "{} {:?}", source.offset(), source.info());
    }
    let totals = pipeline.finish(complete).expect("memory takes everything");
    (report, totals, errors)
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("reports are UTF-8")
}

/// The records of captures, one a line.
pub fn records(inputs: &[Vec<u8>], read_options: ReadOptions) -> (String, Totals, String) {
    let mut out = vec![];
    let (_, totals, errors) =
        run(inputs, read_options, Records::new(Output::new(&mut out, Form::Ndjson, false), true, false));
    (text(out), totals, errors)
}

/// The records that pass a filter, and what the recorder keeps for the second pass.
#[allow(dead_code)] // not used by all test programs
pub fn filtered(inputs: &[Vec<u8>], read_options: ReadOptions, filter: &str) -> [String; 2] {
    let mut out = vec![];
    let mut records = Records::new(Output::new(&mut out, Form::Ndjson, false), true, false);
    let filter = Filter::parse(filter).expect("a filter");
    let mut recorder = Recorder::new(&mut records, Remarks::Fields { secrets: false });
    let (filtered, ..) = run(inputs, read_options, Filtered::new(filter, false, &mut recorder));
    let missed = filtered.missed();
    let (kept, _) = recorder.into_parts();
    let mut comments: Vec<_> = kept.comments.iter().collect();
    comments.sort();
    let kept = format!("{missed:?} {:?} {comments:?}", kept.captures);
    [text(out), kept]
}

/// Columns of captures.
#[allow(dead_code)] // as above
pub fn columns(inputs: &[Vec<u8>], read_options: ReadOptions, names: &[&str]) -> String {
    let (mut out, layout) = (vec![], Layout::of(Style::Csv));
    let columns = Columns::parse(names).expect("the columns are known");
    let (fields, ..) = run(inputs, read_options, Fields::new(&mut out, columns, layout, [false; 3]));
    let missed = fields.missed();
    format!("{missed:?}\n{}", text(out))
}

/// The outputs of all reports.
pub fn all_reports(inputs: &[Vec<u8>], read_options: ReadOptions) -> Vec<String> {
    let (records, totals, errors) = records(inputs, read_options);
    let mut all = vec![records, format!("{totals:?}"), errors];
    let mut out = vec![];
    run(inputs, read_options, Lister::new(&mut out, false, false, true));
    all.push(text(out));
    let mut out = vec![];
    run(inputs, read_options, Exchanges::new(&mut out, false, false, true));
    all.push(text(out));
    let (found, totals, _) = run(inputs, read_options, Summary::default());
    let mut out = vec![];
    summary::records(&mut Output::new(&mut out, Form::Ndjson, false), &found, &totals)
        .expect("memory takes everything");
    all.push(text(out));
    let mut entries = String::new();
    let judge = |entry: &mut Entry, file: &str| {
        let _ = writeln!(entries, "{file} {entry:?}");
        Ok(())
    };
    let (check, totals, _) = run(inputs, read_options, Check::new(Policy::default(), judge));
    let verdict = check.verdict(totals).expect("memory takes everything");
    let mut out = vec![];
    let screen = Screen { width: 100, ..Screen::default() };
    verdict::table(&mut out, &verdict, screen, false).expect("memory takes everything");
    all.extend([text(out), entries]);
    all
}
