//! Captures read one after another: which of them go on where the one before ends, and that those which do not say nothing
//! of each other.

use crate::kit::play::{
    Collected, MS, POLL, S, START, STATE, Shot, c, everything, foreign, frame, s, summed,
};
use qdissect::capture::CaptureInfo;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::Totals;

/// Plays the captures of one run.
fn read(options: Options, captures: [&[Shot]; 2]) -> (Collected<true>, Totals) {
    let (mut heard, mut number) = (Collected::default(), 0);
    let mut pipeline = Pipeline::new(options, &mut heard);
    for (name, shots) in ["first", "second"].into_iter().zip(captures) {
        let frames = shots.iter().map(|shot| {
            number += 1;
            frame(shot, number, 0)
        });
        pipeline.read_frames(name, &CaptureInfo::default(), frames).expect("the report takes everything");
    }
    let totals = pipeline.finish(true).expect("the report takes everything");
    (heard, totals)
}

#[test]
fn a_capture_goes_on_if_it_begins_little_before_the_end_of_the_last_one() {
    // A request at the end of a capture, an answer in the next one, and how long before the request that one begins.
    let told = |options: Options, length: i64, before: i64| {
        let first = [foreign(START), c(length, POLL)];
        let (_, totals) = read(options, [&first, &[foreign(START + length - before), s(length + MS, STATE)]]);
        (totals.answered, totals.overlap)
    };
    assert_eq!(told(everything(), S, 100 * MS), (1, false));
    assert_eq!(told(everything(), S, 100 * MS + 1), (0, true), "it shows the same time");
    assert_eq!(told(everything(), 90 * MS, 44 * MS), (1, false));
    assert_eq!(told(everything(), 90 * MS, 45 * MS), (0, true), "half of it, however short");
    let apart = Options { per_file: true, ..everything() };
    assert_eq!(told(apart, S, 100 * MS + 1), (0, false), "captures for themselves may be of any time");
}

#[test]
fn after_a_gap_of_more_than_half_a_minute_what_was_asked_may_stand_in_it() {
    let told = |time: i64| {
        let (heard, _) = read(everything(), [&[foreign(START), foreign(START + 10 * S)], &[s(time, STATE)]]);
        heard.frame(3).rules()
    };
    assert_eq!(told(40 * S), ["SFQ-TXN-001"]);
    assert_eq!(told(40 * S + 1), ["SFQ-TXN-001", "GEN-005"]);
}

#[test]
fn the_same_capture_again_has_no_copies_of_the_first() {
    let mut shots = [c(0, POLL), s(MS, STATE)];
    shots.iter_mut().for_each(|shot| shot.bytes[18..20].copy_from_slice(&[0, 7])); // the IP identification
    let (_, totals) = read(everything(), [&shots, &shots]);
    assert_eq!((totals.duplicate_frames, totals.exchanges, totals.answered), (0, 2, 2));
}

#[test]
fn right_checksums_of_one_capture_prove_no_wrong_one_of_another() {
    let right = [c(0, POLL), s(MS, STATE)].map(|shot| summed(shot, 0));
    let told = |time: i64| {
        let (heard, _) = read(everything(), [&right, &[summed(c(time, POLL), 1)]]);
        heard.frame(3).rules().contains(&"GEN-003")
    };
    assert!(told(20 * S), "it goes on");
    assert!(!told(-3_600 * S), "a network card may compute them there");
}
