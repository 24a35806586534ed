//! Mutants of every capture through every subcommand and format. Conversations that were not mutated stay the same.

use super::cases::{ORIGINALS, for_each_mutant, number, numbers, original, save_mutant};
use super::mutate::{Mutant, Original, Touched};
use crate::bench::measure::thread_time;
use crate::bodies::writers::{Case, Content};
use crate::kit::reports::{ReadOptions, records};
use qdissect::pipeline::Options;
use serde_json::Value;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum processor time for a mutant in all subcommands together, many times the usual time.
const LIMIT: Duration = Duration::from_secs(5);
/// After this time a mutant counts as hanging, even on a busy machine.
const HANGS: Duration = Duration::from_secs(120);
/// Number of mutants of each capture in the long run.
const OF_EACH: u64 = 30;
/// A rule about the whole capture: it depends on the number of correct checksums of an interface.
const OF_ALL: &str = "GEN-003";

/// Whether a packet was pending. It may have waited for earlier ones as well, and have more confidence afterwards.
fn waited(packet: &Value) -> bool {
    let early = packet["request_frame"].as_u64() > packet["frame"].as_u64();
    early || matches!(packet["message"].as_str(), Some("challenge_request" | "fragment"))
}

/// Packets and exchanges of conversations without these endpoints, and without numbers that count through the whole capture.
fn elsewhere(bytes: &[u8], touched: &Touched) -> Vec<Value> {
    let ends: Vec<Value> = touched.ends.iter().map(|end| end.to_string().into()).collect();
    let all = records(&[bytes.to_vec()], ReadOptions::PLAIN).0;
    let all = all.lines().map(|line| line.parse::<Value>().expect("records are JSON"));
    let untouched = |r: &Value| {
        let own = ["src", "dst", "client", "server"].map(|key| &r[key]);
        let is_packet_or_exchange = matches!(r["type"].as_str(), Some("packet" | "exchange"));
        is_packet_or_exchange && r["frame"] != touched.frame && !own.iter().any(|end| ends.contains(end))
    };
    let mut kept: Vec<Value> = all.filter(untouched).collect();
    for record in &mut kept {
        if waited(record) && record["confidence"] == "high" {
            record["confidence"] = "medium".into();
        }
        let record = record.as_object_mut().expect("records are objects");
        ["exchange", "id"].iter().for_each(|key| drop(record.remove(*key)));
        if let Some(findings) = record.get_mut("findings").and_then(Value::as_array_mut) {
            findings.retain(|f| f["rule"] != OF_ALL);
        }
    }
    // An exchange is reported when it closes, and the end of another one may close it.
    kept.sort_by_key(|r| (r["type"] == "exchange", r["frame"].as_u64(), r["request_frame"].as_u64()));
    kept
}

/// Checks that if only one datagram was mutated, conversations without its endpoints are claimed, paired and judged as before.
/// Returns the number of compared records.
fn stays(original: &Original, mutant: &Mutant) -> usize {
    let Some(touched) = &mutant.touched else { return 0 };
    let [before, after] = [&original.bytes, &mutant.bytes].map(|bytes| elsewhere(bytes, touched));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(after, before, "{}: frame {} was touched", mutant.name, touched.frame);
    }
    assert_eq!(after.len(), before.len(), "{}: frame {} was touched", mutant.name, touched.frame);
    after.len()
}

#[test]
fn a_mutation_changes_only_its_own_conversations() {
    let compared = Cell::new(0);
    for_each_mutant(300, |original, mutant, _| compared.set(compared.get() + stays(original, mutant)));
    assert!(compared.get() > 1000 || number("QDISSECT_CASES").is_some(), "{} say nothing", compared.get());
}

/// Runs a mutant through everything in the long run.
fn play(original: &Original, mutant: &Mutant) {
    let (name, begun) = (mutant.name.clone(), thread_time());
    let [plain, all] = [Options::default(), crate::kit::play::everything()];
    for options in [plain, all] {
        Case { options, name: name.clone(), content: Content::Capture(&mutant.bytes) }.write();
    }
    stays(original, mutant);
    let took = Duration::from_nanos(thread_time().saturating_sub(begun));
    assert!(took <= LIMIT, "{name} took {took:?}");
}

/// Runs on another thread, so that a hanging mutant is noticed.
#[test]
#[ignore = "takes minutes: cargo test --release --test it -- --ignored mutations"]
fn mutations() {
    let (to, from) = mpsc::channel();
    thread::spawn(move || {
        for number in numbers(OF_EACH * ORIGINALS.len() as u64) {
            let (original, mut random) = original(number);
            let mutant = original.mutant(&mut random);
            let result = panic::catch_unwind(AssertUnwindSafe(|| play(original, &mutant)));
            let failed = result.is_err().then(|| save_mutant(number, &mutant));
            if to.send((number, failed)).is_err() {
                return;
            }
        }
    });
    let (mut done, mut failed, mut next) = (0u64, vec![], number("QDISSECT_SEED").unwrap_or(1));
    loop {
        match from.recv_timeout(HANGS) {
            Ok((number, why)) => {
                (done, next) = (done + 1, number + 1);
                failed.extend(why);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let (original, mut random) = original(next);
                panic!("{HANGS:?} were not enough for {}", save_mutant(next, &original.mutant(&mut random)));
            }
        }
    }
    println!("{done} mutants of {} captures, {} failed", ORIGINALS.len(), failed.len());
    assert!(failed.is_empty(), "for the reasons above:\n{}", failed.join("\n"));
}
