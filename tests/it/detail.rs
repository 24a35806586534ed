//! Trees, bytes and explanations of every capture, compared with the decoded packets.

use qdissect::capture::{self, Frame, Source, Time};
use qdissect::check::Finding;
use qdissect::classify::Choice;
use qdissect::decode::{AnyListener, Tree};
use qdissect::exchange::{Exchange, Windows};
use qdissect::net::{Datagram, DropReason, Tunnel};
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Id, Level};
use qdissect::report::{Detail, Details, Explain, Packet, Report, Wants};
use qdissect::schema::example;
use qdissect::text::escape::is_hostile;
use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The output since the last call.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    fn take(&self) -> String {
        String::from_utf8(self.0.take()).expect("it is text")
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compares the output for each packet with the packet.
struct CheckedDetails {
    details: Details<Shared>,
    out: Shared,
    name: String,
    packets: u64,
    others: u64,
    exchanges: u64,
    /// The whole output, if it is wanted.
    transcript: Option<String>,
}

impl CheckedDetails {
    fn new(detail: Detail, name: &str) -> CheckedDetails {
        let out = Shared::default();
        let details = Details::new(out.clone(), true, false, detail);
        CheckedDetails {
            details,
            out,
            name: name.into(),
            packets: 0,
            others: 0,
            exchanges: 0,
            transcript: None,
        }
    }

    /// The output for a packet. Checks that it is harmless and ends with an empty line.
    fn text(&mut self, frame: u64) -> String {
        let text = self.out.take();
        let bad = text.chars().find(|&c| c != '\n' && is_hostile(c));
        assert_eq!(bad, None, "{} {frame}: {text}", self.name);
        assert!(text.ends_with("\n\n"), "{} {frame}: {text}", self.name);
        self.transcript.iter_mut().for_each(|transcript| transcript.push_str(&text));
        text
    }
}

/// The bytes in rows of hex; `None` for masked ones.
fn bytes(text: &str) -> Vec<Option<u8>> {
    let mut out = vec![];
    for line in text.lines() {
        let Some((at, rest)) = line.split_once("  ").filter(|(at, _)| at.len() == 4) else { continue };
        if let Ok(at) = usize::from_str_radix(at, 16) {
            assert_eq!(at, out.len(), "{text}");
            let (row, _) = rest.split_at(16 * 3);
            out.extend(row.split_whitespace().map(|digits| u8::from_str_radix(digits, 16).ok()));
        }
    }
    out
}

fn assert_bytes(text: &str, message: &[u8], secret: &dyn Fn(usize) -> bool) {
    let expected: Vec<_> = message.iter().enumerate().map(|(i, &b)| (!secret(i)).then_some(b)).collect();
    assert_eq!(bytes(text), expected, "{text}");
}

/// Checks that every leaf and group is in the text, in order and with its range.
fn assert_fields(text: &str, tree: &Tree) {
    let mut lines = text.lines().map(str::trim_start);
    for node in tree.nodes() {
        let (key, range) = (node.field.key, format!(" [{}..{}]", node.at.start, node.at.end));
        let is_it = |line: &str| match node.derived {
            true => line.starts_with(&format!("[{key}: ")) && line.ends_with(']'),
            false => line.starts_with(key) && line.contains(&range),
        };
        assert!(lines.any(is_it), "{key}{range} is missing in\n{text}");
    }
}

impl Report for CheckedDetails {
    fn listener(&self) -> AnyListener {
        AnyListener::Tree(Tree::default())
    }

    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.details.frame(frame, parsed);
    }
    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.details.packet(p)?;
        let text = self.text(p.datagram.frame);
        let tree = p.tree().expect("trees were asked for");
        let secret = |i: usize| {
            tree.nodes().iter().any(|n| n.is_secret() && (n.at.start.into()..n.at.end.into()).contains(&i))
        };
        // The bytes of a joined message are below those of the datagram.
        let (own, message) = text.split_once("[Joined message: ").unwrap_or(("", &text));
        let own_len = p.whole().map_or(0, |_| p.datagram.payload.len());
        assert_eq!(bytes(own).len(), own_len, "{text}");
        assert_bytes(message, p.bytes, &secret);
        assert_fields(&text, tree);
        for f in p.findings {
            assert!(text.contains(&format!("^ {}[{}]", f.severity.name(), f.rule.id)), "{text}");
        }
        assert!(text.contains("[Recognised as "), "{text}");
        self.packets += 1;
        Ok(())
    }
    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.details.unclaimed(d)?;
        let text = self.text(d.frame);
        assert_eq!(bytes(&text).len(), d.payload.len(), "{text}");
        assert!(text.contains("User Datagram Protocol, Src Port: "), "{text}");
        self.others += 1;
        Ok(())
    }
    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        self.details.exchange(e, findings)?;
        let text = self.text(e.request_frame);
        assert!(text.starts_with(&format!("Exchange {}, ", e.id)), "{text}");
        self.exchanges += 1;
        Ok(())
    }
    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.details.file(name, facts, before)
    }
    fn tunnels(&mut self, number: u16, path: &[Tunnel]) {
        self.details.tunnels(number, path);
    }
    fn reassembled(&mut self, frame: u64, pieces: &[u64]) {
        self.details.reassembled(frame, pieces);
    }
    fn first_frame(&mut self, time: Time) {
        self.details.first_frame(time);
    }
}

fn everything() -> Detail {
    let explain = Some(Explain { choice: Choice::default(), windows: Windows::new(None) });
    Detail { tree: true, hex: true, explain, ..Detail::default() }
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut out: Vec<_> = entries.flat_map(|p| if p.is_dir() { captures(&p) } else { vec![p] }).collect();
    out.retain(|p| p.extension().is_some_and(|e| e != "md"));
    out.sort();
    out
}

#[test]
fn every_leaf_byte_and_finding_of_every_capture_is_shown() {
    let (mut packets, mut others, mut exchanges) = (0, 0, 0);
    for path in captures(Path::new("captures")) {
        let Ok(mut source) = Source::open(&path) else { continue };
        let options = Options { all: true, min_confidence: Level::Low, ..Options::default() };
        let mut report = CheckedDetails::new(everything(), &path.to_string_lossy());
        let mut pipeline = Pipeline::new(options, &mut report);
        // Damage at the end of a file is ignored here.
        let _ = pipeline.read(&mut source, &path.to_string_lossy());
        pipeline.finish(true).unwrap();
        (packets, others) = (packets + report.packets, others + report.others);
        exchanges += report.exchanges;
    }
    assert!(packets > 1_000 && others > 100 && exchanges > 100, "{packets} {others} {exchanges}");
}

#[test]
fn every_example_of_a_rule_is_explained() {
    let mut transcript = String::new();
    for example in qdissect::protocols::rules().flat_map(|rule| rule.examples) {
        let options = Options { all: true, min_confidence: Level::Low, ..Options::default() };
        let mut details_report = CheckedDetails::new(everything(), "example");
        details_report.transcript = Some(String::new());
        example::run(example, options, &mut details_report).unwrap();
        transcript += &details_report.transcript.unwrap_or_default();
    }
    for sentence in [
        "; asked with the value issued there; answered in frame ",
        "asked with another value than the one issued in frame ",
        "asked without a challenge in the capture; ",
        "; repeated once; ",
        ": answered late in frame ",
        "the server was silent for 1.000 s, the whole window.",
        ": refused: port unreachable.",
        "[It repeats the answer in frame ",
        "[The capture holds it twice: it is the datagram of frame ",
        "[No request is open that it could answer.]",
        "[Requests are open, but none that it answers.]",
        "; what is damaged in it leaves medium.]",
    ] {
        assert!(transcript.contains(sentence), "{sentence}");
    }
}

/// The output for a capture.
fn written(path: &str, options: Options, detail: Detail) -> String {
    let out = Shared::default();
    let mut source = Source::open(Path::new(path)).unwrap();
    let mut report = Details::new(out.clone(), false, false, detail);
    let mut pipeline = Pipeline::new(options, &mut report);
    pipeline.read(&mut source, path).unwrap();
    pipeline.finish(true).unwrap();
    out.take()
}

/// A password in that capture, and its first bytes in hex.
const PASSWORD: [&str; 2] = ["Wolf-1942", "57 6f 6c 66 2d"];

#[test]
fn passwords_are_masked_in_trees_and_bytes_of_every_protocol() {
    let path = "captures/skycoop/rcon.pcap";
    let shown = Options { secrets: true, all: true, ..Options::default() };
    let text = written(path, shown.clone(), Detail { secrets: true, ..everything() });
    assert!(PASSWORD.iter().all(|p| text.contains(p)), "{text}");
    // The datagram is unclaimed: its protocol is left out, or the confidence is too low.
    let nobody = Choice { protocols: Choice::only(&[Id::Sqp]), pins: vec![] };
    let all = Options { secrets: false, ..shown };
    for options in [
        all.clone(),
        Options { choice: nobody, ..all.clone() },
        Options { min_confidence: Level::High, ..all.clone() },
    ] {
        let text = written(path, options, everything());
        assert!(text.contains("** ** **"), "{text}");
        assert!(!PASSWORD.iter().any(|p| text.contains(p)), "{text}");
    }
}

#[test]
fn findings_are_marked_by_colours_or_by_a_line_below() {
    let path = "captures/sqp/fake_badutf8.pcap";
    let of = |colour| {
        let detail = Detail { hex: true, colour, ..Detail::default() };
        written(path, Options::default(), detail)
    };
    assert!(of(true).contains("\x1b[") && !of(true).contains("^^"));
    assert!(!of(false).contains('\x1b') && of(false).contains("^^"));
}

#[test]
fn a_quiet_run_writes_only_the_counts() {
    let detail = Detail { quiet: true, ..everything() };
    let text = written("captures/demo.pcapng", Options { all: true, ..Options::default() }, detail);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("108 packets, "), "{text}");
}

/// A filter hides packets from the output, but explanations use them.
#[test]
fn explanations_know_packets_that_a_filter_hides() {
    let run = |filter: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_qdissect"));
        command.args(["dump", "--no-config", "--color", "never", "--explain", "captures/demo.pcapng"]);
        let out = command.args(filter).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines().filter(|line| line.contains("Exchange ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = run(&[]);
    let some = run(&["-Y", "response_time > 0.01"]);
    assert!(!some.is_empty() && some.len() < all.len(), "{} of {}", some.len(), all.len());
    assert!(some.iter().any(|line| line.contains("challenged in frame")), "{some:#?}");
    for line in &some {
        assert!(all.contains(line), "{line} is not said without a filter");
    }
}
