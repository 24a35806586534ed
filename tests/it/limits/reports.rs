//! Limits of the summary and the statistics, and their messages at the limit.

use super::{SERVER_ADDR, answered_by, everything, host, poll};
use crate::kit::play::{PORT, RawFrame, START, report, udp_frame};
use qdissect::capture::{CaptureInfo, Frame};
use qdissect::pipeline::Pipeline;
use qdissect::report::screen::{self, Screen, Sort};
use qdissect::report::summary::{self, Summary};
use qdissect::report::{Form, Output, Totals};
use qdissect::stats::{self, Prefix, Section, Stats};
use serde_json::Value;

const SCREEN: Screen =
    Screen { width: 100, colour: false, ascii: false, top: None, sort: Sort::Findings, show: None };

fn parsed(out: &[u8]) -> Vec<Value> {
    str::from_utf8(out).expect("records are UTF-8").lines().map(|line| line.parse().expect("JSON")).collect()
}

/// The summary as records and as text.
fn records_and_text(summary: &Summary, totals: &Totals) -> (Vec<Value>, String) {
    let (mut records, mut text) = (vec![], vec![]);
    summary::records(&mut Output::new(&mut records, Form::Ndjson, false), summary, totals).expect("memory");
    screen::write(&mut text, SCREEN, summary, totals).expect("memory");
    (parsed(&records), String::from_utf8(text).expect("UTF-8"))
}

fn records_of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

#[test]
fn servers_beyond_the_limit_have_no_quantiles_in_the_summary_and_a_note() {
    for (servers, bare) in [(1_024, 0), (1_026, 2)] {
        let (summary, totals) = report(everything(), Summary::default(), &answered_by(servers));
        let (records, text) = records_and_text(&summary, &totals);
        let times: Vec<_> =
            records_of_type(&records, "server").iter().map(|server| &server["response_time"]).collect();
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
fn tables_have_two_hundred_rows_and_count_the_rest() {
    let (summary, totals) = report(everything(), Summary::default(), &answered_by(200));
    assert!(!records_and_text(&summary, &totals).1.contains("\nand "));
    let (summary, totals) = report(everything(), Summary::default(), &answered_by(201));
    assert!(records_and_text(&summary, &totals).1.contains("\nand 1 server more; --top 201 shows all\n"));
}

#[test]
fn files_beyond_the_limit_have_no_record_and_are_counted() {
    let files = |count: usize| {
        let mut summary = Summary::default();
        let mut pipeline = Pipeline::new(everything(), &mut summary);
        for n in 0..count {
            let none: [Frame<'_>; 0] = [];
            pipeline.read_frames(&format!("{n}.pcap"), &CaptureInfo::default(), none).expect("memory");
        }
        let totals = pipeline.finish(true).expect("memory");
        records_and_text(&summary, &totals)
    };
    for (count, without) in [(1_000, 0), (1_003, 3)] {
        let (records, text) = files(count);
        assert_eq!(records_of_type(&records, "capture").len(), count - without);
        assert_eq!(records_of_type(&records, "summary")[0]["files"], count);
        assert!(text.starts_with(&format!("{count} captures, ")), "{text}");
    }
}

/// The records of a section of the statistics.
fn counted(section: Section, frames: &[RawFrame]) -> Vec<Value> {
    let (stats, totals) = report(everything(), Stats::new(None), frames);
    let mut out = vec![];
    stats::records(&mut Output::new(&mut out, Form::Ndjson, false), &stats, &totals, &[section])
        .expect("memory");
    parsed(&out)
}

/// The number of rows of a role without the row for the rest, and the number of endpoints in the rest. Checks that all datagrams
/// are counted and that this endpoint has its own row.
fn rows(frames: &[RawFrame], role: &str, endpoint: &str) -> (usize, u64) {
    let (stats, _) = report(everything(), Stats::new(None), frames);
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
    assert_eq!(sum(2) + sum(3), frames.len() as u64);
    assert!(ends.iter().any(|row| row[1] == endpoint), "{endpoint} stays");
    (ends.iter().filter(|row| !row[1].is_empty()).count(), sum(4))
}

#[test]
fn servers_with_the_least_traffic_are_added_up_beyond_the_limit() {
    let limit = 2 * 8_192;
    for (servers, expected) in [(limit, (16_384, 0)), (limit + 1, (8_193, 8_192))] {
        let mut frames = answered_by(servers);
        // One more poll, so that this server has more traffic than others. By its address it would be left out.
        frames.insert(0, udp_frame(START, (host(7), 9), (host(9_999), PORT), &poll(9)));
        assert_eq!(rows(&frames, "server", &format!("10.0.39.15:{PORT}")), expected);
    }
}

#[test]
fn clients_with_the_least_traffic_are_added_up_beyond_the_limit() {
    let limit = 2 * 32_768;
    for (clients, expected) in [(limit, (65_536, 0)), (limit + 1, (32_769, 32_768))] {
        let mut frames: Vec<_> =
            (0..clients).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(n))).collect();
        // One client has asked twice. By its address it would be left out.
        frames.insert(40_000, udp_frame(START, (host(40_000), 9), SERVER_ADDR, &poll(9)));
        assert_eq!(rows(&frames, "client", "10.0.156.64"), expected);
    }
}

#[test]
fn clients_with_the_fewest_requests_are_added_up_beyond_the_limit() {
    for (clients, rows, left_out) in [(32_768, 32_768, 0), (32_769, 16_386, 16_384)] {
        let mut frames: Vec<_> =
            (0..clients).map(|n| udp_frame(START, (host(n), 9), SERVER_ADDR, &poll(n))).collect();
        // One client has asked twice. By its address it would be left out.
        frames.insert(20_001, udp_frame(START, (host(20_000), 9), SERVER_ADDR, &poll(9)));
        let (stats, totals) = report(everything(), Stats::new(None).with_clients(Prefix::NONE), &frames);
        let mut out = vec![];
        stats::records(&mut Output::new(&mut out, Form::Ndjson, false), &stats, &totals, &[Section::Clients])
            .expect("memory");
        let records = parsed(&out);
        let found = records_of_type(&records, "client");
        assert_eq!(found.len(), rows);
        assert_eq!((&found[0]["client"], &found[0]["requests"]), (&"10.0.78.32".into(), &2.into()));
        let sum: u64 = found.iter().filter_map(|row| row["requests"].as_u64()).sum();
        assert_eq!(sum, frames.len() as u64, "all are counted");
        assert_eq!(found[rows - 1]["left_out"].as_u64().unwrap_or(0), left_out);
    }
}

#[test]
fn servers_beyond_the_limit_have_no_quantiles_in_the_statistics() {
    for (servers, bare) in [(1_024, 0), (1_026, 2)] {
        let frames = answered_by(servers);
        let records = counted(Section::Times, &frames);
        let times =
            records_of_type(&records, "response_times").into_iter().filter(|row| row["server"].is_string());
        let medians: Vec<_> = times.map(|row| &row["median"]).collect();
        assert_eq!((medians.len(), medians.iter().filter(|m| m.is_null()).count()), (servers as usize, bare));
        let (stats, totals) = report(everything(), Stats::new(None), &frames);
        let mut text = vec![];
        stats::write(&mut text, SCREEN, &stats, &totals, &[Section::Times]).expect("memory");
        let text = String::from_utf8(text).expect("UTF-8");
        let remark = "2 servers beyond the first 1024 have no median, p90 and p99";
        assert_eq!(text.contains(remark), bare > 0);
    }
}
