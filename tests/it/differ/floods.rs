//! Floods of datagrams: two subcommands have the same counts, and memory does not grow.

use super::cases::number;
use super::flood::{FILE_HEAD, Flood, Line};
use crate::bench::measure::peak;
use crate::kit::captures::own;
use qdissect::capture::Source;
use qdissect::net::Endpoint;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::protocols::{Direction, Id};
use qdissect::report::{Packet, Report, Wants};
use qdissect::rule::{Example, hex};
use qdissect::schema::example::Act;
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// How much the peak memory of a whole run may exceed that of its first half and of its first tenth, in KiB. Some tables fill
/// slowly: remarks, and texts and response times of each server. One byte kept for each datagram would exceed this.
const GROWTH: [u64; 2] = [1024, 16 * 1024];
/// Minimum number of datagrams with which the first half fills every table.
const LONG: u64 = 10_000_000;
/// Number of datagrams per write.
const BLOCK: u64 = 1000;
/// The subcommands, with options for short output.
const COMMANDS: [&[&str]; 2] = [&["summary", "-T", "ndjson"], &["check", "-T", "ndjson", "-q"]];
/// Keys that may differ between the two, because remarks are counted differently.
const EXCLUDED_KEYS: [&str; 3] = ["finding_counts", "more_findings", OVERFLOW];
/// The number of pending datagrams that were released early because of the memory limit. It is higher in the subcommand that
/// keeps the order, which may classify them differently.
const OVERFLOW: &str = "waiting_overflow";

/// Payloads of one protocol by conversation.
struct PayloadCollector {
    id: Id,
    talks: BTreeMap<[Endpoint; 2], Vec<Line>>,
}

impl Report for PayloadCollector {
    fn wants(&self) -> Wants {
        Wants { ordered: true, ..Wants::default() }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if p.id == self.id {
            let ends = p.direction.order([p.datagram.src, p.datagram.dst]);
            let line = (p.direction == Direction::S2c, p.datagram.payload.to_vec());
            self.talks.entry(ends).or_default().push(line);
        }
        Ok(())
    }
}

/// The payloads of an example.
fn lines(example: &Example) -> Vec<Line> {
    let payloads = example.steps.iter().filter_map(|step| match Act::of(step) {
        Act::Send { direction, payload, .. } => Some((direction == Direction::S2c, hex(payload))),
        _ => None,
    });
    payloads.collect()
}

/// All conversations of a protocol: samples, examples of rules, captures.
fn scripts(id: Id) -> Vec<Vec<Line>> {
    let examples = id.info().samples.iter().chain(id.rules().flat_map(|rule| rule.examples));
    let mut all: Vec<_> = examples.map(lines).collect();
    for path in own() {
        let Ok(mut source) = Source::open(&path) else { continue };
        let mut collected = PayloadCollector { id, talks: BTreeMap::new() };
        let mut pipeline = Pipeline::new(Options::default(), &mut collected);
        let _ = pipeline.read(&mut source, "capture"); // damaged ones are read as far as they go
        pipeline.finish(true).expect("nothing is written");
        all.extend(collected.talks.into_values());
    }
    all.retain(|script| !script.is_empty());
    all
}

/// The result of a flood.
struct Drained {
    summary: Value,
    /// Peak memory in KiB after each tenth.
    peaks: Vec<u64>,
    seconds: f64,
}

/// Reads a pipe to its end on another thread.
fn gathered(mut pipe: impl Read + Send + 'static) -> JoinHandle<io::Result<String>> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).map(|_| text)
    })
}

/// Pipes a flood into a subcommand.
fn drain(id: Id, command: &[&str], seed: u64, datagrams: u64) -> Drained {
    let begun = Instant::now();
    let mut program = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    program.args(command).args(["--no-config", "-"]);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().expect("the program runs");
    let process = child.id().to_string();
    let (mut to, out, err) = (
        child.stdin.take().expect("piped"),
        child.stdout.take().expect("piped"),
        child.stderr.take().expect("piped"),
    );
    let (out, err) = (gathered(out), gathered(err));
    let (mut flood, mut bytes, mut peaks) = (Flood::new(scripts(id), seed), FILE_HEAD.to_vec(), vec![]);
    for sent in 1..=datagrams {
        flood.next(&mut bytes);
        if sent % BLOCK == 0 || sent == datagrams {
            to.write_all(&bytes).expect("it reads to the end");
            bytes.clear();
        }
        if sent * 10 % datagrams < 10 && sent * 10 / datagrams > peaks.len() as u64 {
            peaks.push(peak(&process));
        }
    }
    drop(to);
    let status = child.wait().expect("it ends");
    let [out, err] = [out, err].map(|text| text.join().expect("it ends").expect("it is UTF-8"));
    let ended = status.code().is_some_and(|code| code <= 1);
    // A flood may exceed the memory limit, which `check` reports in notes.
    assert!(
        ended && err.lines().all(|line| line.starts_with("note: ")),
        "{} {command:?}, seed {seed}: {status}: {err}",
        id.info().name
    );
    let summary = out.lines().last().expect("a summary comes last").parse().expect("records are JSON");
    Drained { summary, peaks, seconds: begun.elapsed().as_secs_f64() }
}

/// Checks that both subcommands read the same flood to its end and have the same counts.
fn check_flood(id: Id, datagrams: u64) {
    let (name, seed) = (id.info().name, number("QDISSECT_SEED").unwrap_or(1));
    let [summary, check] = COMMANDS.map(|command| {
        let drained = drain(id, command, seed, datagrams);
        let Drained { summary, peaks, seconds } = &drained;
        let found: u64 =
            summary["finding_counts"].as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum();
        let mib = |kib: Option<&u64>| *kib.unwrap_or(&0) as f64 / 1024.0;
        println!(
            "| `{name}` | `{}` | {datagrams} | {} | {} | {found} | {} | {:.1} | {:.1} | {seconds:.0} |",
            command[0],
            summary["recognised"],
            summary["exchanges"],
            summary["evicted"],
            mib(peaks.first()),
            mib(peaks.last()),
        );
        // Some datagrams go to the port of a tunnel and look like one.
        let lost = datagrams - summary["udp"].as_u64().unwrap_or(0);
        assert!(
            summary["packets"] == datagrams && lost * 10_000 <= datagrams,
            "{name}, seed {seed}: {summary}"
        );
        // Of some protocols less is left after mutations: Mindustry's requests have two bytes, and its answers no mark.
        assert!(
            found > 0 && summary["recognised"].as_u64() > Some(datagrams / 5),
            "too little is claimed: {summary}"
        );
        let [tenth, half, whole] = [0, 4, 9].map(|at| peaks.get(at).copied().unwrap_or(0));
        let flat = whole <= half + GROWTH[0] && whole <= tenth + GROWTH[1];
        assert!(datagrams < LONG || flat, "memory grows: {peaks:?} KiB after each tenth");
        drained
    });
    let early =
        [&summary, &check].iter().filter_map(|drained| drained.summary[OVERFLOW].as_u64()).max().unwrap_or(0);
    for (key, one) in summary.summary.as_object().expect("records are objects") {
        let (other, context) =
            (&check.summary[key], format!("{name}, seed {seed}: {key} of summary and check"));
        match (one.as_u64(), other.as_u64()) {
            _ if EXCLUDED_KEYS.contains(&&**key) => {}
            (Some(one), Some(other)) => {
                assert!(one.abs_diff(other) <= early, "{context}: {one}, {other}, {early} early")
            }
            _ => assert_eq!(one, other, "{context}"),
        }
    }
}

/// The protocol that the environment selects, or all.
fn protocols() -> impl Iterator<Item = Id> {
    let chosen = env::var("QDISSECT_PROTOCOL").ok();
    Id::ALL.iter().copied().filter(move |id| chosen.as_ref().is_none_or(|name| name == id.info().name))
}

#[test]
fn a_short_flood_of_every_protocol_is_counted_the_same_by_the_model() {
    protocols().for_each(|id| check_flood(id, number("QDISSECT_DATAGRAMS").unwrap_or(2000)));
}

#[test]
#[ignore = "takes minutes: cargo test --release --test it -- --ignored ten_million --nocapture"]
fn ten_million_mutated_datagrams() {
    println!(
        "| protocol | command | datagrams | claimed | exchanges | findings | evicted | MiB after a tenth | MiB | seconds |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    protocols().for_each(|id| check_flood(id, number("QDISSECT_DATAGRAMS").unwrap_or(LONG)));
}
