//! Mutants of every capture through every subcommand and format; what was not touched stays as it was.

use super::cases::{ORIGINALS, each, left, number, numbers, original};
use super::mutate::{Mutant, Original, Touched};
use crate::bench::measure::thread_time;
use crate::bodies::writers::{Given, Told};
use crate::kit::said::{How, records};
use qdissect::pipeline::Options;
use serde_json::Value;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Processor time that a mutant may take, in all subcommands together: many times of what it does take.
const LIMIT: Duration = Duration::from_secs(5);
/// After that time it hangs, however busy the machine is.
const HANGS: Duration = Duration::from_secs(120);
/// Mutants of each capture in the long run.
const OF_EACH: u64 = 30;
/// Findings about a capture as a whole: how many checksums of an interface are right.
const OF_ALL: &str = "GEN-003";

/// What waited for the rest of its conversation may have had to wait for others in front of it, too, and be surer then.
fn waited(packet: &Value) -> bool {
    let early = packet["request_frame"].as_u64() > packet["frame"].as_u64();
    early || matches!(packet["message"].as_str(), Some("challenge_request" | "fragment"))
}

/// Packets and exchanges of conversations without these ends, and without the numbers that others have a share in.
fn elsewhere(bytes: &[u8], touched: &Touched) -> Vec<Value> {
    let ends: Vec<Value> = touched.ends.iter().map(|end| end.to_string().into()).collect();
    let all = records(&[bytes.to_vec()], How::PLAIN).0;
    let all = all.lines().map(|line| line.parse::<Value>().expect("records are JSON"));
    let untouched = |r: &Value| {
        let own = ["src", "dst", "client", "server"].map(|key| &r[key]);
        let told = matches!(r["type"].as_str(), Some("packet" | "exchange"));
        told && r["frame"] != touched.frame && !own.iter().any(|end| ends.contains(end))
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
    // An exchange is told when it closes, and another one's end may close it.
    kept.sort_by_key(|r| (r["type"] == "exchange", r["frame"].as_u64(), r["request_frame"].as_u64()));
    kept
}

/// Where only one datagram was touched, every conversation but those of its ends stays as it was: nothing in them is
/// claimed, paired or judged otherwise. Gives how many records were compared.
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
fn what_is_elsewhere_than_a_mutation_stays_as_it_was() {
    let compared = Cell::new(0);
    each(300, |original, mutant, _| compared.set(compared.get() + stays(original, mutant)));
    assert!(compared.get() > 1000 || number("QDISSECT_CASES").is_some(), "{} say nothing", compared.get());
}

/// Everything that is done with a mutant in the long run.
fn play(original: &Original, mutant: &Mutant) {
    let (name, begun) = (mutant.name.clone(), thread_time());
    let [plain, all] = [Options::default(), crate::kit::play::everything()];
    for options in [plain, all] {
        Given { options, name: name.clone(), told: Told::Capture(&mutant.bytes) }.write();
    }
    stays(original, mutant);
    let took = Duration::from_nanos(thread_time().saturating_sub(begun));
    assert!(took <= LIMIT, "{name} took {took:?}");
}

/// One after the other on a thread, so that one that hangs is noticed.
#[test]
#[ignore = "takes minutes: cargo test --release --test it -- --ignored mutations"]
fn mutations() {
    let (to, from) = mpsc::channel();
    thread::spawn(move || {
        for number in numbers(OF_EACH * ORIGINALS.len() as u64) {
            let (original, mut random) = original(number);
            let mutant = original.mutant(&mut random);
            let held = panic::catch_unwind(AssertUnwindSafe(|| play(original, &mutant)));
            let failed = held.is_err().then(|| left(number, &mutant));
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
                panic!("{HANGS:?} were not enough for {}", left(next, &original.mutant(&mut random)));
            }
        }
    }
    println!("{done} mutants of {} captures, {} failed", ORIGINALS.len(), failed.len());
    assert!(failed.is_empty(), "for the reasons above:\n{}", failed.join("\n"));
}
