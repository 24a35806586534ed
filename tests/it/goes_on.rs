//! Captures read one after another: which of them continue the previous one, and that separate captures do not affect each other.

use crate::kit::play::{
    Collected, MS, POLL, RawFrame, S, START, STATE, c, everything, foreign, numbered_frame, s, summed,
};
use qdissect::capture::CaptureInfo;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::Totals;

/// Plays the captures of one run.
fn read(options: Options, captures: [&[RawFrame]; 2]) -> (Collected<true>, Totals) {
    let (mut collected, mut number) = (Collected::default(), 0);
    let mut pipeline = Pipeline::new(options, &mut collected);
    for (name, raw_frames) in ["first", "second"].into_iter().zip(captures) {
        let frames = raw_frames.iter().map(|raw_frame| {
            number += 1;
            numbered_frame(raw_frame, number, 0)
        });
        pipeline.read_frames(name, &CaptureInfo::default(), frames).expect("the report takes everything");
    }
    let totals = pipeline.finish(true).expect("the report takes everything");
    (collected, totals)
}

#[test]
fn a_capture_may_begin_slightly_before_the_end_of_the_previous_one() {
    // A request at the end of a capture, its answer in the next one, and how long before the request the next one begins.
    let answered_and_overlap = |options: Options, length: i64, before: i64| {
        let first = [foreign(START), c(length, POLL)];
        let (_, totals) = read(options, [&first, &[foreign(START + length - before), s(length + MS, STATE)]]);
        (totals.answered, totals.overlap)
    };
    assert_eq!(answered_and_overlap(everything(), S, 100 * MS), (1, false));
    assert_eq!(answered_and_overlap(everything(), S, 100 * MS + 1), (0, true), "it shows the same time");
    assert_eq!(answered_and_overlap(everything(), 90 * MS, 44 * MS), (1, false));
    assert_eq!(answered_and_overlap(everything(), 90 * MS, 45 * MS), (0, true), "half of it, however short");
    let apart = Options { per_file: true, ..everything() };
    assert_eq!(
        answered_and_overlap(apart, S, 100 * MS + 1),
        (0, false),
        "captures for themselves may be of any time"
    );
}

#[test]
fn requests_may_be_missing_after_a_gap_of_more_than_half_a_minute() {
    let rules_at = |time: i64| {
        let (collected, _) =
            read(everything(), [&[foreign(START), foreign(START + 10 * S)], &[s(time, STATE)]]);
        collected.frame(3).rules()
    };
    assert_eq!(rules_at(40 * S), ["SFQ-TXN-001"]);
    assert_eq!(rules_at(40 * S + 1), ["SFQ-TXN-001", "GEN-005"]);
}

#[test]
fn reading_a_capture_twice_finds_no_copies() {
    let mut raw_frames = [c(0, POLL), s(MS, STATE)];
    raw_frames.iter_mut().for_each(|raw_frame| raw_frame.bytes[18..20].copy_from_slice(&[0, 7]));
    // the IP identification
    let (_, totals) = read(everything(), [&raw_frames, &raw_frames]);
    assert_eq!((totals.duplicate_frames, totals.exchanges, totals.answered), (0, 2, 2));
}

#[test]
fn valid_checksums_of_one_capture_do_not_affect_another() {
    let right = [c(0, POLL), s(MS, STATE)].map(|raw_frame| summed(raw_frame, 0));
    let has_wrong_checksum = |time: i64| {
        let (collected, _) = read(everything(), [&right, &[summed(c(time, POLL), 1)]]);
        collected.frame(3).rules().contains(&"GEN-003")
    };
    assert!(has_wrong_checksum(20 * S), "it goes on");
    assert!(!has_wrong_checksum(-3_600 * S), "a network card may compute them there");
}
