//! What the summary and the statistics hold: the first that finds no place, and what is said of it.

use super::{END, answered_by, everything, host, poll};
use crate::kit::play::{PORT, START, Shot, report, shot};
use qdissect::capture::{CaptureInfo, Frame};
use qdissect::pipeline::Pipeline;
use qdissect::report::screen::{self, Screen, Sort};
use qdissect::report::summary::{self, Summary};
use qdissect::report::{Form, Output, Totals};
use qdissect::stats::{self, Section, Stats};
use serde_json::Value;

const SCREEN: Screen = Screen { width: 100, colour: false, ascii: false, top: None, sort: Sort::Findings };

fn parsed(out: &[u8]) -> Vec<Value> {
    str::from_utf8(out).expect("records are UTF-8").lines().map(|line| line.parse().expect("JSON")).collect()
}

/// The summary as records and as people see it.
fn said(summary: &Summary, totals: &Totals) -> (Vec<Value>, String) {
    let (mut records, mut text) = (vec![], vec![]);
    summary::records(&mut Output::new(&mut records, Form::Ndjson, false), summary, totals).expect("memory");
    screen::write(&mut text, SCREEN, summary, totals).expect("memory");
    (parsed(&records), String::from_utf8(text).expect("UTF-8"))
}

fn of<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

#[test]
fn further_servers_have_no_quantiles_in_the_summary_and_that_is_said() {
    for (servers, bare) in [(1_024, 0), (1_026, 2)] {
        let (summary, totals) = report(everything(), Summary::default(), &answered_by(servers));
        let (records, text) = said(&summary, &totals);
        let times: Vec<_> = of(&records, "server").iter().map(|server| &server["response_time"]).collect();
        assert_eq!(times.len(), servers as usize);
        assert!(times.iter().all(|time| time["min"].is_number() && time["max"].is_number()));
        for key in ["median", "p99"] {
            assert_eq!(times.iter().filter(|time| time[key].is_null()).count(), bare);
        }
        let remark = "servers beyond the first 1024 have no median and no p99";
        assert_eq!(text.contains(&format!("{remark}: {bare}\n")), bare > 0);
        assert!(text.contains(&format!("\nand {} servers more; --top {servers} shows all\n", servers - 200)));
    }
}

#[test]
fn a_table_of_two_hundred_rows_counts_none_beyond_them() {
    let (summary, totals) = report(everything(), Summary::default(), &answered_by(200));
    assert!(!said(&summary, &totals).1.contains("\nand "));
    let (summary, totals) = report(everything(), Summary::default(), &answered_by(201));
    assert!(said(&summary, &totals).1.contains("\nand 1 server more; --top 201 shows all\n"));
}

#[test]
fn further_files_have_no_record_of_their_own_and_are_counted() {
    let files = |count: usize| {
        let mut summary = Summary::default();
        let mut pipeline = Pipeline::new(everything(), &mut summary);
        for n in 0..count {
            let none: [Frame<'_>; 0] = [];
            pipeline.read_frames(&format!("{n}.pcap"), &CaptureInfo::default(), none).expect("memory");
        }
        let totals = pipeline.finish(true).expect("memory");
        said(&summary, &totals)
    };
    for (count, without) in [(1_000, 0), (1_003, 3)] {
        let (records, text) = files(count);
        assert_eq!(of(&records, "capture").len(), count - without);
        assert_eq!(of(&records, "summary")[0]["files"], count);
        assert!(text.starts_with(&format!("{count} captures, ")), "{text}");
    }
}

/// The records of a section of the statistics.
fn counted(section: Section, shots: &[Shot]) -> Vec<Value> {
    let (stats, totals) = report(everything(), Stats::new(None), shots);
    let mut out = vec![];
    stats::records(&mut Output::new(&mut out, Form::Ndjson, false), &stats, &totals, &[section])
        .expect("memory");
    parsed(&out)
}

/// Rows of a role, those of what was left out apart, and how many were left out; all datagrams must be in one of them,
/// and this endpoint in one of its own.
fn rows(shots: &[Shot], role: &str, endpoint: &str) -> (usize, u64) {
    let (stats, _) = report(everything(), Stats::new(None), shots);
    let mut out = vec![];
    stats::csv(&mut out, &stats, Section::Endpoints).expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("names");
    let at = |name: &str| names.iter().position(|known| *known == name).expect("a column");
    let columns = ["role", "endpoint", "datagrams_sent", "datagrams_received", "left_out"].map(at);
    let ends: Vec<_> =
        lines.map(|line| columns.map(|column| line[column])).filter(|row| row[0] == role).collect();
    let sum = |column: usize| ends.iter().map(|row| row[column].parse().unwrap_or(0)).sum::<u64>();
    assert_eq!(sum(2) + sum(3), shots.len() as u64);
    assert!(ends.iter().any(|row| row[1] == endpoint), "{endpoint} stays");
    (ends.iter().filter(|row| !row[1].is_empty()).count(), sum(4))
}

#[test]
fn of_too_many_servers_those_with_the_least_traffic_are_added_up() {
    let most = 2 * 8_192;
    for (servers, expected) in [(most, (16_384, 0)), (most + 1, (8_193, 8_192))] {
        let mut shots = answered_by(servers);
        // One more poll, so that this one has more traffic than others; by its address alone it would have to go.
        shots.insert(0, shot(START, (host(7), 9), (host(9_999), PORT), &poll(9)));
        assert_eq!(rows(&shots, "server", &format!("10.0.39.15:{PORT}")), expected);
    }
}

#[test]
fn of_too_many_clients_those_with_the_least_traffic_are_added_up() {
    let most = 2 * 32_768;
    for (clients, expected) in [(most, (65_536, 0)), (most + 1, (32_769, 32_768))] {
        let mut shots: Vec<_> = (0..clients).map(|n| shot(START, (host(n), 9), END, &poll(n))).collect();
        // One has asked twice, and by its address alone it would have to go.
        shots.insert(40_000, shot(START, (host(40_000), 9), END, &poll(9)));
        assert_eq!(rows(&shots, "client", "10.0.156.64"), expected);
    }
}

#[test]
fn further_servers_have_no_quantiles_in_the_statistics() {
    for (servers, bare) in [(1_024, 0), (1_026, 2)] {
        let shots = answered_by(servers);
        let records = counted(Section::Times, &shots);
        let times = of(&records, "response_times").into_iter().filter(|row| row["server"].is_string());
        let medians: Vec<_> = times.map(|row| &row["median"]).collect();
        assert_eq!((medians.len(), medians.iter().filter(|m| m.is_null()).count()), (servers as usize, bare));
        let (stats, totals) = report(everything(), Stats::new(None), &shots);
        let mut text = vec![];
        stats::write(&mut text, SCREEN, &stats, &totals, &[Section::Times]).expect("memory");
        let text = String::from_utf8(text).expect("UTF-8");
        let remark = "2 servers beyond the first 1024 have no median, p90 and p99";
        assert_eq!(text.contains(remark), bare > 0);
    }
}
