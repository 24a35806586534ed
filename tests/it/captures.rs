//! Every capture in three views: field trees, records, findings. The trees show bytes and ranges, so that a reviewer can compare
//! them with a specification.

use crate::kit::play::{AnyListener, Tree, everything};
use crate::kit::run::slashes;
use insta::{assert_snapshot, glob};
use qdissect::capture::{CaptureInfo, Source, Time};
use qdissect::check::{Counts, Finding};
use qdissect::exchange::{Exchange, Pairing};
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::summary::Summary;
use qdissect::report::{Form, Output, Packet, Records, Report, Totals, Wants, duration};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Captures with more frames than this are shown in part …
const LONG: u64 = 200;
/// … up to this packet. Findings are shown in full.
const SHOWN: usize = 60;

#[test]
fn every_capture_in_three_views() {
    glob!("../../captures", "**/*.{pcap,pcapng}", |path| {
        let shown = shown(path);
        assert_snapshot!("trees", shown.trees);
        assert_snapshot!("records", shown.records);
        assert_snapshot!("findings", shown.findings);
    });
}

#[test]
fn nothing_in_foreign_traffic_is_recognised() {
    glob!("../../captures/noise", "**/*.{pcap,pcapng}", |path| {
        let (views, ..) = read(path, everything(), Views::default());
        assert_eq!(views.surest, None, "{}:\n{}", name(path), views.trees.concat());
    });
}

#[test]
fn the_findings_of_all_servers_are_all_findings() {
    glob!("../../captures", "**/*.{pcap,pcapng}", |path| {
        let (summary, Some(totals), _) = read(path, Options::default(), Summary::default()) else { return };
        let mut sum = Counts::default();
        for Counts { error, warning, note } in summary.servers().map(|server| server.findings) {
            sum.error += error;
            sum.warning += warning;
            sum.note += note;
        }
        assert_eq!(sum, totals.findings, "{}", name(path));
    });
}

#[test]
fn no_view_contains_local_paths() {
    let here = env!("CARGO_MANIFEST_DIR");
    glob!("../../captures", "**/*.{pcap,pcapng}", |path| {
        let Shown { trees, records, findings } = shown(path);
        assert!([trees, records, findings].iter().all(|view| !view.contains(here)), "{}", name(path));
    });
}

struct Shown {
    trees: String,
    records: String,
    findings: String,
}

/// The views: trees and findings with all options, records with the default options.
fn shown(path: &Path) -> Shown {
    let (views, totals, end) = read(path, everything(), Views::default());
    let mut out = vec![];
    read(path, Options::default(), Records::new(Output::new(&mut out, Form::Ndjson, false), true, false));
    let records: Vec<String> =
        String::from_utf8(out).expect("records are UTF-8").lines().map(|l| format!("{l}\n")).collect();
    let long = totals.is_some_and(|t| t.packets > LONG);
    let trees = cut(views.trees, long, 0);
    Shown { trees: trees + &end, records: cut(records, long, 1), findings: views.findings.concat() + &end }
}

/// All lines, or for a long capture the first ones and the last `keep`.
fn cut(mut all: Vec<String>, long: bool, keep: usize) -> String {
    if long && all.len() > SHOWN + keep {
        let left_out = all.len() - SHOWN - keep;
        all.splice(SHOWN..SHOWN + left_out, [format!("… {left_out} more\n")]);
    }
    all.concat()
}

/// The path of a capture relative to the project.
fn name(path: &Path) -> String {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().expect("the project is somewhere");
    let path = path.canonicalize().expect("the capture is somewhere");
    slashes(path.strip_prefix(base).expect("it is inside the project"))
}

/// Reads a capture; the last value says why reading stopped early, if it did.
fn read<R: Report>(path: &Path, options: Options, mut report: R) -> (R, Option<Totals>, String) {
    let mut source = match Source::open(path) {
        Ok(source) => source,
        Err(e) => return (report, None, format!("cannot be opened: {e}\n")),
    };
    let mut pipeline = Pipeline::new(options, &mut report);
    let stopped = pipeline.read(&mut source, &name(path));
    let end = match &stopped {
        Ok(()) => String::new(),
        Err(Stopped::Capture(e)) => format!("stopped: {e}\n"),
        Err(Stopped::Report(e)) => panic!("the report takes everything: {e}"),
    };
    let totals = pipeline.finish(stopped.is_ok()).expect("the report takes everything");
    (report, Some(totals), end)
}

/// Collects trees and findings as text.
#[derive(Default)]
struct Views {
    trees: Vec<String>,
    findings: Vec<String>,
    first: Option<Time>,
    /// The highest confidence above low.
    surest: Option<Level>,
}

impl Report for Views {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, _before: u64) -> io::Result<()> {
        self.trees.push(format!("{name}, {}\n", facts.format));
        Ok(())
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        let (d, tree) = (p.datagram, p.tree().expect("trees were asked for"));
        let since = d.time.since(*self.first.get_or_insert(d.time)).map_or("?".into(), duration);
        let cut = if d.cut > 0 { format!(", {} of them captured", d.payload.len()) } else { String::new() };
        let mut text = format!(
            "\n#{} {since} {} → {}: {} {} {} {}, {} bytes{cut}{}\n",
            d.frame,
            d.src,
            d.dst,
            p.id.info().name,
            p.message_name(),
            p.direction.name(),
            p.level.name(),
            d.wire_len(),
            pairing(p.pairing),
        );
        text.push_str(&tree.render(p.bytes));
        self.trees.push(text);
        self.surest = self.surest.max(Some(p.level).filter(|level| *level > Level::Low));
        let place = format!("frame {}", d.frame);
        p.findings.iter().for_each(|f| self.findings.push(line(&place, f)));
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let place = format!("exchange {} (frame {})", e.id, e.request_frame);
        findings.iter().for_each(|f| self.findings.push(line(&place, f)));
        Ok(())
    }
}

/// Describes the role of a datagram in its exchange.
fn pairing(pairing: &Pairing) -> String {
    match pairing {
        Pairing::Nothing => String::new(),
        Pairing::Asked { exchange, .. } => format!(", asks ({exchange})"),
        Pairing::Retransmission { exchange, part: false, .. } => format!(", asks again ({exchange})"),
        Pairing::Retransmission { exchange, part: true, .. } => format!(", asks on ({exchange})"),
        Pairing::Answered(a) => format!(", answers #{} ({})", a.request_frame, a.exchange),
        Pairing::DuplicateResponse { exchange, of, .. } => format!(", is #{of} again ({exchange})"),
        Pairing::DuplicateFrame { of, .. } => format!(", is the same as #{of}"),
        Pairing::Unsolicited { .. } => ", answers nothing".into(),
    }
}

/// One line: place, rule, severity, field, bytes and message.
fn line(place: &str, f: &Finding) -> String {
    let mut out = format!("{place}: {} {}", f.rule.id, f.severity.name());
    if let Some(path) = f.path() {
        let _ = write!(out, " {path}");
    }
    if let Some(span) = f.span {
        let _ = write!(out, " {}..{}", span.start, span.end);
    }
    out + &format!(": {f}\n")
}
