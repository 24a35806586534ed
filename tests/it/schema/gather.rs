//! The records of every subcommand for captures, pasted text and generated frames.

use crate::kit::play::{RawFrame, everything, numbered_frame};
use qdissect::capture::{CaptureInfo, Source};
use qdissect::net;
use qdissect::pasted;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::summary::{self, Summary};
use qdissect::report::{Form, Output, Records, Report, Totals};
use qdissect::stats::{self, Section, Stats};
use qdissect::text::escape::terminal_safe_json;
use qdissect::verdict::{Check, Entry, Excuse, FindingRecord, ndjson};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The input of the reports.
pub enum Input<'a> {
    /// Captures, one after the other.
    Files(&'a [PathBuf]),
    /// Frames in two files, with this number of them in the first one.
    Split(&'a [RawFrame], usize),
    /// Frames of pasted text.
    Pasted(&'a [net::OwnedFrame]),
}

impl Input<'_> {
    /// Reads the input into a report. Returns it with the totals; `None` if nothing can be opened.
    fn read_report<R: Report>(&self, options: Options, mut report: R) -> Option<(R, Totals)> {
        let mut pipeline = Pipeline::new(options, &mut report);
        let facts = |format: &'static str| CaptureInfo { format, links: vec![1], ..CaptureInfo::default() };
        match self {
            Input::Files(paths) => {
                let mut sources: Vec<_> =
                    paths.iter().filter_map(|path| Source::open(path).ok().map(|s| (s, path))).collect();
                if sources.is_empty() {
                    return None;
                }
                for (source, path) in &mut sources {
                    let _ = pipeline.read(source, &path.to_string_lossy()); // what was read before an error counts
                }
            }
            Input::Split(raw_frames, at) => {
                let (mut offset, mut frames) = (0, vec![]);
                for (number, raw_frame) in (1..).zip(*raw_frames) {
                    frames.push(numbered_frame(raw_frame, number, offset));
                    offset += raw_frame.bytes.len() as u64;
                }
                let (first, second) = frames.split_at(*at);
                for (name, part) in [("first", first), ("second", second)] {
                    let played = pipeline.read_frames(name, &facts("pcap"), part.iter().copied());
                    played.expect("the report takes everything");
                }
            }
            Input::Pasted(raw_frames) => {
                let frames = (1..).zip(*raw_frames).map(|(number, raw_frame)| raw_frame.frame(number));
                pipeline.read_frames("text", &facts("hex"), frames).expect("the report takes everything");
            }
        }
        let totals = pipeline.finish(true).expect("the report takes everything");
        Some((report, totals))
    }

    /// The records of every subcommand that reads captures.
    pub fn records(&self) -> Vec<Value> {
        let mut out = vec![];
        self.read_report(everything(), Records::new(Output::new(&mut out, Form::Ndjson, false), true, false));
        let exchanges = Options::default();
        self.read_report(exchanges, Records::new(Output::new(&mut out, Form::Ndjson, false), false, false));
        if let Some((gathered, totals)) = self.read_report(Options::default(), Summary::default()) {
            let written =
                summary::records(&mut Output::new(&mut out, Form::Ndjson, false), &gathered, &totals);
            written.expect("memory takes everything");
        }
        if let Some((gathered, totals)) = self.read_report(everything(), Stats::new(None)) {
            let mut output = Output::new(&mut out, Form::Ndjson, false);
            stats::records(&mut output, &gathered, &totals, Section::ALL).expect("memory takes everything");
        }
        self.check(&mut out);
        let text = String::from_utf8(out).expect("records are UTF-8");
        text.lines().map(|line| line.parse().expect("records are JSON")).collect()
    }

    /// The records of `check`, with every third finding excused in one way and every third in another.
    fn check(&self, out: &mut Vec<u8>) {
        let (mut findings, mut number) = (vec![], 0);
        let judge = |entry: &mut Entry, file: &str| {
            number += 1;
            entry.excused = match number % 3 {
                0 => Some(Excuse::Baseline),
                1 => Some(Excuse::Suppressed("known \u{202e} \"so\"".into())),
                _ => None,
            };
            writeln!(findings, "{}", terminal_safe_json(&FindingRecord::new(file, entry)))
        };
        let options = everything();
        let Some((report, totals)) = self.read_report(options.clone(), Check::new(options.policy, judge))
        else {
            return;
        };
        let verdict = report.verdict(totals).expect("memory takes everything");
        out.extend(findings);
        ndjson(out, &verdict).expect("memory takes everything");
    }
}

/// The frames of a file with pasted text.
pub fn pasted(path: &Path) -> Vec<net::OwnedFrame> {
    let text = fs::read_to_string(path).expect("the text is there");
    let pasted = pasted::read(&text, None);
    pasted::frames(&pasted.pieces, pasted::AssumedEndpoints::default())
}
