//! `diff` and `reduce`: laws on all captures, and what the commands say.

use crate::kit::captures::own;
use crate::kit::run::{assert_refused, parsed, qdissect, run};
use qdissect::capture::{CaptureInfo, Comments, Frame, Source, Writer};
use qdissect::case::Target;
use qdissect::check::Policy;
use qdissect::diff::{Comparison, DifferenceRecord, Ignored, Seen};
use qdissect::net::OwnedFrame;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::reduce::{Candidates, Search};
use qdissect::rule::{Rule, Severity};
use qdissect::verdict::{Check, Entry};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What is seen in a capture; `None` where it cannot be read to its end.
fn seen(path: &Path) -> Option<Seen> {
    let mut seen = Seen::new(Target::Any);
    let mut source = Source::open(path).ok()?;
    let mut pipeline = Pipeline::new(Options::default(), &mut seen);
    pipeline.read(&mut source, "capture").ok()?;
    pipeline.finish(true).expect("nothing is written");
    Some(seen)
}

fn all_seen() -> Vec<(PathBuf, Seen)> {
    let mut paths = own();
    paths.sort();
    paths.into_iter().filter_map(|path| seen(&path).map(|seen| (path, seen))).collect()
}

fn records(comparison: &Comparison) -> Vec<Value> {
    comparison.records().1.map(|record: DifferenceRecord| json!(record)).collect()
}

/// Not even volatile fields differ: it is the same capture.
#[test]
fn no_capture_differs_from_itself() {
    let (mut compared, everything) = (0, Ignored { volatile: true, ..Ignored::default() });
    for (path, first) in all_seen() {
        let again = seen(&path).expect("it was read before");
        if let Ok(comparison) = Comparison::of(&first, &again, &everything) {
            assert_eq!(records(&comparison), Vec::<Value>::new(), "{}", path.display());
            assert!(!comparison.pairs.is_empty(), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

/// The same difference seen from the other side.
fn mirrored(mut record: Value) -> Value {
    let object = record.as_object_mut().expect("an object");
    for [a, b] in [["a", "b"], ["server_a", "server_b"]] {
        let (of_a, of_b) = (object[a].take(), object[b].take());
        (object[a], object[b]) = (of_b, of_a);
    }
    record
}

#[test]
fn what_differs_is_the_same_from_either_side() {
    let all = all_seen();
    let (mut differing, mut kinds) = (0, BTreeSet::new());
    for pair in all.windows(2) {
        let [(a, in_a), (b, in_b)] = pair else { unreachable!("windows of two") };
        let there = Comparison::of(in_a, in_b, &Ignored::default());
        let back = Comparison::of(in_b, in_a, &Ignored::default());
        let (Ok(there), Ok(back)) = (there, back) else { continue };
        let sorted = |mut all: Vec<Value>| {
            all.sort_by_key(Value::to_string);
            all
        };
        let there = sorted(records(&there));
        let back = sorted(records(&back).into_iter().map(mirrored).collect());
        assert_eq!(there, back, "{} {}", a.display(), b.display());
        kinds.extend(there.iter().map(|record| record["what"].as_str().expect("a kind").to_owned()));
        differing += usize::from(!there.is_empty());
    }
    assert!(differing > 50, "{differing}");
    assert!(["field", "message", "rule", "server"].iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

/// The frames of a capture, each with its interface.
fn frames(capture: &[u8]) -> Vec<(u32, OwnedFrame)> {
    let mut source =
        Source::from_reader("reduced", Box::new(Cursor::new(capture.to_vec()))).expect("a capture");
    let mut all = vec![];
    while let Some(Frame { time, link, interface, wire_len, bytes, .. }) = source.next().expect("it is whole")
    {
        all.push((interface, OwnedFrame { time, link, wire_len, bytes: bytes.to_vec() }));
    }
    all
}

fn written(frames: &[(u32, OwnedFrame)]) -> Vec<u8> {
    let mut writer = Writer::new(vec![], "test").expect("memory takes everything");
    for (interface, frame) in frames {
        let frame = Frame { interface: *interface, ..frame.frame(1) };
        writer.frame(0, &CaptureInfo::default(), &frame, &[""; 0]).expect("memory takes everything");
    }
    writer.finish().expect("memory takes everything")
}

/// The findings of a rule in a capture: whether it is no symptom, and its severity.
fn found(capture: &[u8], id: &str) -> Vec<(bool, Severity)> {
    let mut all = vec![];
    let mut check = Check::new(Policy::default(), |_: &mut Entry, _: &str| Ok(()));
    let mut pipeline = Pipeline::new(Options::default(), &mut check);
    let mut source =
        Source::from_reader("reduced", Box::new(Cursor::new(capture.to_vec()))).expect("a capture");
    pipeline.read(&mut source, "reduced").expect("it is whole");
    let totals = pipeline.finish(true).expect("nothing is written");
    let verdict = check.verdict(totals).expect("nothing is written");
    let of_rule = verdict.findings.iter().filter(|entry| entry.finding.rule.id == id);
    all.extend(of_rule.map(|entry| (entry.finding.counts(), entry.finding.severity)));
    all
}

/// The rules that a capture breaks.
fn broken(path: &Path) -> Option<BTreeMap<&'static str, u64>> {
    let any = qdissect::protocols::rules().next()?;
    Some(searched(path, any)?.rules)
}

fn searched(path: &Path, rule: &'static Rule) -> Option<Search> {
    let mut search = Search::new(rule, None);
    let mut source = Source::open(path).ok()?;
    let mut pipeline = Pipeline::new(Options::default(), &mut search);
    pipeline.read(&mut source, "capture").ok()?;
    pipeline.finish(true).expect("nothing is written");
    Some(search)
}

/// The smallest capture that shows a finding of the rule, made of all frames of a capture.
fn reduced(path: &Path, rule: &'static Rule) -> Option<(Vec<u8>, (bool, Severity))> {
    let best = searched(path, rule)?.best()?;
    let mut source = Source::open(path).ok()?;
    let comments = Comments::default();
    source.comment_into(&comments);
    let mut all = vec![];
    while let Ok(Some(frame)) = source.next() {
        let Frame { time, link, interface, wire_len, bytes, number, .. } = frame;
        all.push((number, interface, OwnedFrame { time, link, wire_len, bytes: bytes.to_vec() }));
    }
    let infos = vec![source.info().clone()];
    let mut candidates = Candidates::new((best, false), Options::default(), infos, "test");
    for (number, interface, owned) in &all {
        let frame = Frame { interface: *interface, ..owned.frame(*number) };
        assert!(candidates.add((0, &frame), [true, *number == best.frame], vec![]));
    }
    let minimised = candidates.minimised(|| false).expect("memory takes everything")?;
    assert!(minimised.is_minimal, "{} {}: {} trials", path.display(), rule.id, minimised.trials);
    let capture = candidates.capture(&minimised.kept).expect("memory takes everything");
    Some((capture, (best.counts, best.severity)))
}

/// Of each rule, the captures of the project that break it, at most two.
#[test]
fn each_rule_stays_in_what_is_left_and_goes_with_any_frame_of_it() {
    let (mut times, mut left): (BTreeMap<&str, usize>, Vec<usize>) = (BTreeMap::new(), vec![]);
    let mut paths = own();
    paths.sort();
    for path in paths {
        for id in broken(&path).unwrap_or_default().into_keys() {
            let rule = qdissect::protocols::rules().find(|rule| rule.id == id).expect("a rule");
            let seen = times.entry(id).or_default();
            if *seen >= 2 {
                continue;
            }
            *seen += 1;
            let at = format!("{} {id}", path.display());
            let Some((capture, wanted)) = reduced(&path, rule) else {
                panic!("{at}: its frames do not show it")
            };
            let is_as_good =
                |&(counts, severity): &(bool, Severity)| severity >= wanted.1 && (counts || !wanted.0);
            let is_shown = |capture: &[u8]| found(capture, id).iter().any(is_as_good);
            assert!(is_shown(&capture), "{at}");
            let frames = frames(&capture);
            for without in 0..frames.len() {
                let mut fewer = frames.clone();
                fewer.remove(without);
                assert!(!is_shown(&written(&fewer)), "{at}: frame {} can go", without + 1);
            }
            left.push(frames.len());
        }
    }
    let small = left.iter().filter(|frames| **frames <= 4).count();
    assert!(
        left.len() > 300 && small * 4 > left.len() * 3,
        "{small} of {} have four frames at most",
        left.len()
    );
}

const A: &str = "captures/a2s/a2s_edf20.pcap";
const B: &str = "captures/a2s/a2s_edf80.pcapng";

#[test]
fn captures_that_differ_end_with_one_and_others_with_none() {
    let (code, out, _) = run(["diff", A, B]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("info_response  keywords") && out.ends_with("3 differences\n"), "{out}");
    let (code, out, _) = run(["diff", "--ignore-fields", "edf,keywords,port", A, B]);
    assert!(code == Some(0) && out.ends_with("no difference\n"), "{out}");
    assert_eq!(run(["diff", A, A]).0, Some(0));
}

/// Tokens, session numbers, the echo of a challenge and response times are others in each half, and nothing else is.
#[test]
fn halves_of_a_steady_capture_do_not_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    let half = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let halves = [half("a.pcapng"), half("b.pcapng")];
    let steady = [
        ("sqp/real_cli_sample.pcapng", 6, "token"),
        ("quake3/q3_fake.pcap", 7, "info[challenge].value"),
        ("a2s/a2s_all_clients.pcap", 38, ""),
        ("gamespy3/gs3_zero.pcapng", 4, "session_id"),
    ];
    for (name, frames, volatile) in steady {
        let file = format!("captures/{name}");
        for (to, filter) in halves.iter().zip(["<=", ">"]) {
            let filter = format!("frame.number {filter} {frames}");
            assert_eq!(run(["dump", "-q", "-w", to, &file, &filter]).0, Some(0), "{name}");
        }
        let (code, out, _) = run(["diff", &halves[0], &halves[1]]);
        assert_eq!(code, Some(0), "{name}: {out}");
        let (code, out, _) = run(["diff", "--volatile", &halves[0], &halves[1]]);
        assert_eq!(code == Some(1) && out.contains(volatile), !volatile.is_empty(), "{name}: {out}");
    }
}

#[test]
fn records_of_differences_name_field_and_values() {
    let output = qdissect().args(["diff", "-T", "ndjson", A, B]).output().expect("it runs");
    let records = parsed(&output, 1);
    assert_eq!(records[0]["type"], "server_pair");
    let keywords = records.iter().find(|record| record["field"] == "keywords").expect("a difference");
    assert_eq!((&keywords["a"], &keywords["b"]), (&json!("alltalk,nocrits"), &Value::Null));
    assert_eq!(keywords["message"], "info_response");
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    assert_refused(
        "diff",
        &[
            (&[A], "name A and B"),
            (&[A, B, A], "name A and B"),
            (&["-", "-"], "Standard input can be read once"),
            (&[A, "captures/noise/negative.pcap"], "There is no server of a known protocol"),
            (&["--server", "192.0.2.1", A, B], "There is no server 192.0.2.1"),
            (&["--ignore-fields", "keywerds", A, B], "did you mean keywords?"),
            (&["-w", "x.pcapng", A, B], "leave --follow and -w out"),
            (&[A, "missing.pcap"], "missing.pcap"),
        ],
    );
}

/// What a client asks for is its choice: SQP's chunks.
#[test]
fn parts_that_only_one_asked_for_are_told_and_no_difference() {
    let (_, out, _) = run(["diff", "captures/sqp/fake_chunk02.pcap", "captures/sqp/fake_badutf8.pcap"]);
    assert!(out.contains("not asked for, and not compared: query_response.server_info"), "{out}");
    assert!(!out.contains("server_rules[gravity]"), "{out}");
}

#[test]
fn a_finding_is_reduced_to_its_frames_with_their_bytes_and_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("small.pcapng");
    let to = to.to_str().expect("text");
    let (code, out, err) =
        run(["reduce", "--rule", "SQP-STR-002", "--keep", "-w", to, "captures/demo.pcapng"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert!(err.contains("2 of 108 frames left: `qdissect check --select SQP-STR-002 --show note"), "{err}");
    let small = frames(&std::fs::read(to).expect("it was written"));
    let all = frames(&std::fs::read("captures/demo.pcapng").expect("it is there"));
    assert_eq!(small.len(), 2);
    assert!(small.iter().all(|(_, frame)| all.iter().any(|(_, other)| other == frame)));
    let (code, out, _) = run(["check", "--select", "SQP-STR-002", "--show", "note", to]);
    assert!(code == Some(1) && out.contains("SQP-STR-002"), "{out}");
    // The finding at a frame of its own.
    let at = |frame: &str| {
        run(["reduce", "--rule", "SFQ-SUB-006", "--frame", frame, "--keep", "-w", to, "captures/demo.pcapng"])
    };
    assert_eq!(at("52").0, Some(0));
    let last = frames(&std::fs::read(to).expect("it was written")).pop().expect("a frame");
    assert_eq!(last.1, all[51].1);
    let (code, _, err) = at("1");
    assert!(code == Some(2) && err.contains("no finding of SFQ-SUB-006 at frame 1"), "{err}");
}

#[test]
fn what_cannot_be_reduced_is_an_error() {
    let demo = "captures/demo.pcapng";
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("small.pcapng");
    let to = to.to_str().expect("text");
    assert_refused(
        "reduce",
        &[
            (&["--rule", "SQP-STR-02", "--keep", "-w", to, demo], "did you mean SQP-STR-002?"),
            (&["--rule", "SQP-STR", "--keep", "-w", to, demo], "rules, and one finding is looked for"),
            (&["--rule", "SQP-STR-002", "--keep", demo], "name its file with -w"),
            (&["--rule", "A2S-CHL-004", "--keep", "-w", to, demo], "Broken are "),
            (&["--rule", "SQP-STR-002", "--ignore", "SQP", "--keep", "-w", to, demo], "is switched off"),
            (&["--rule", "SQP-STR-002", "--keep", "-w", demo, demo], "would overwrite the input"),
        ],
    );
    assert!(!Path::new(to).exists());
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    for (args, code) in [
        (["diff", "captures/a2s/a2s_edf20.pcap", "captures/sqp"], 1),
        (["server", "192.0.2.99", "captures/demo.pcapng"], 3),
    ] {
        let mut child = qdissect().args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_capture_that_is_the_result_may_go_to_standard_output() {
    for args in [&["anonymise"][..], &["reduce", "--rule", "SQP-STR-002"]] {
        let run = qdissect().args(args).args(["-w", "-", "captures/demo.pcapng"]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{args:?}");
        assert!(run.stdout.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]), "a section of pcapng");
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(!said.is_empty() && !said.contains("shows"), "{said}");
    }
}
