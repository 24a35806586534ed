//! Invariants of the records of any capture.

use crate::kit::invariants::sound_json;
use crate::kit::play::{RawFrame, lines};
use qdissect::pipeline::Options;
use qdissect::protocols::Level;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Plays frames and checks that every line is valid JSON, that packets are in frame order, and that the summary comes last and
/// counts the records. If every endpoint keeps its role (`orderly`), the frames and exchanges that a record names must exist,
/// too.
pub fn check_records(options: Options, raw_frames: &[RawFrame], orderly: bool) {
    let everything = options.min_confidence <= Level::Low && options.all;
    let text = lines(options, raw_frames);
    text.lines().for_each(|line| sound_json(line.as_bytes()));
    let mut records: Vec<Value> = text.lines().map(|l| l.parse().expect("checked before")).collect();
    let summary = records.pop().expect("there is a summary");
    assert_eq!(summary["type"], "summary", "{text}");
    let of = |kind: &str| records.iter().filter(|r| r["type"] == kind).collect::<Vec<_>>();
    let (packets, exchanges) = (of("packet"), of("exchange"));
    assert_eq!(packets.len() + exchanges.len(), records.len(), "records of another type: {text}");
    // An incomplete fragmented datagram is reported with its first frame, after the missing fragments are given up.
    let whole = packets.iter().filter(|p| p.get("fragments").is_none());
    let frames: Vec<u64> = whole.map(|p| number(&p["frame"])).collect();
    assert!(frames.is_sorted_by(|a, b| a < b), "packets out of order: {frames:?}\n{text}");
    counted(&summary, &packets, &exchanges, &text);
    if everything {
        assert_eq!(packets.len() as u64, number(&summary["udp"]), "{text}");
    }
    if everything && orderly {
        referred(&packets, &exchanges, &text);
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Checks that the summary counts the records.
fn counted(summary: &Value, packets: &[&Value], exchanges: &[&Value], text: &str) {
    let count = |key: &str| number(&summary[key]);
    let claimed = packets.iter().filter(|p| !p["protocol"].is_null()).count() as u64;
    assert_eq!(claimed, count("recognised"), "{text}");
    assert_eq!(count("recognised") + count("unclaimed"), count("udp"), "{text}");
    assert_eq!(exchanges.len() as u64, count("exchanges"), "{text}");
    let outcomes = ["answered", "late", "unanswered", "undecided", "refused"];
    for outcome in outcomes {
        let written = exchanges.iter().filter(|e| e["outcome"] == outcome).count() as u64;
        assert_eq!(written, count(outcome), "{outcome}: {text}");
    }
    assert_eq!(outcomes.map(count).iter().sum::<u64>(), count("exchanges"), "{text}");
    let findings = || {
        let all = packets.iter().chain(exchanges).filter_map(|r| r.get("findings")?.as_array());
        all.flatten()
    };
    let more: u64 = packets.iter().filter_map(|p| p.get("more_findings")?.as_u64()).sum();
    let mut total = 0;
    for severity in ["error", "warning", "note"] {
        let written = findings().filter(|f| f["severity"] == severity && f.get("caused_by").is_none());
        let written = written.count() as u64;
        let counted = number(&summary["finding_counts"][severity]);
        assert!(counted >= written, "{severity}: {text}");
        total += counted - written;
    }
    assert!(total <= more, "findings counted that nobody wrote: {text}");
}

/// Checks that the frames and exchanges that a record names exist and agree.
fn referred(packets: &[&Value], exchanges: &[&Value], text: &str) {
    let by_frame: HashMap<u64, &Value> = packets.iter().map(|p| (number(&p["frame"]), *p)).collect();
    let by_id: HashMap<u64, &Value> = exchanges.iter().map(|e| (number(&e["id"]), *e)).collect();
    assert_eq!(by_id.len(), exchanges.len(), "two exchanges have one number: {text}");
    // If the roles were recognised late, earlier records have the other direction.
    let ways: HashSet<_> = exchanges.iter().map(|e| (&e["client"], &e["server"])).collect();
    let turned = |p: &Value| ways.contains(&(&p["src"], &p["dst"])) && ways.contains(&(&p["dst"], &p["src"]));
    // A candidate that waited too long was released before its answer came.
    let weak = |p: &Value| p["protocol"].is_null() || p["confidence"] == "low" || turned(p);
    for packet in packets.iter().filter(|p| !weak(p)) {
        let Some(id) = packet.get("exchange") else { continue };
        let exchange = by_id.get(&number(id)).unwrap_or_else(|| panic!("no exchange {id}: {packet}\n{text}"));
        assert_eq!(packet["protocol"], exchange["protocol"], "{packet} {exchange}");
        if let Some(frame) = packet.get("request_frame") {
            assert_eq!(*frame, exchange["request_frame"], "{packet} {exchange}\n{text}");
        }
        for key in ["request_frame", "duplicate_of"] {
            let named = packet.get(key).map(|f| by_frame[&number(f)]);
            assert!(
                named.is_none_or(|p| p["exchange"] == *id || weak(p)),
                "{key} of {packet} is elsewhere\n{text}"
            );
        }
    }
    for exchange in exchanges {
        let responses = exchange["response_frames"].as_array().expect("a list").iter();
        for frame in responses.chain([&exchange["request_frame"]]) {
            let packet = by_frame[&number(frame)];
            if weak(packet) {
                continue;
            }
            assert_eq!(packet["exchange"], exchange["id"], "{exchange} names {packet}\n{text}");
        }
    }
}
