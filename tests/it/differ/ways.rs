//! A capture says the same however its bytes come: a few at a time, compressed, read ahead, or in several files.

use super::cases::each;
use super::mutate::Mutant;
use crate::bench::random::Random;
use crate::kit::frames::{self, Kept};
use crate::kit::packed;
use crate::kit::said::{How, records, said};
use crate::kit::written::{Ends, bare};
use qdissect::capture::{Frame, Source};
use serde_json::Value;
use std::io::Cursor;

/// After a longer gap a file does not go on with the one before, in nanoseconds.
const GAP: i64 = 30_000_000_000;

fn same(mutant: &Mutant, way: &str, got: &[String], expected: &[String]) {
    for (got, expected) in got.iter().zip(expected) {
        let first = got.lines().zip(expected.lines()).find(|(a, b)| a != b);
        assert!(got == expected, "{}, {way}: {first:#?}", mutant.name);
    }
}

#[test]
fn a_mutated_capture_is_read_alike_at_once_in_drops_and_ahead() {
    each(60, |original, mutant, random| {
        // Where a compressed stream breaks, its last bytes may be lost: how many, depends on how they came.
        if original.is_packed() {
            return;
        }
        let input = std::slice::from_ref(&mutant.bytes);
        let expected = said(input, How::PLAIN);
        let steps = [1, 2 + random.below(300) as usize];
        for how in steps.map(|step| How { step, ..How::PLAIN }) {
            same(mutant, &format!("{how:?}"), &said(input, how), &expected);
        }
        for how in [steps[1], usize::MAX].map(|step| How { ahead: true, step, ..How::PLAIN }) {
            same(mutant, &format!("{how:?}"), &said(input, how), &expected);
        }
    });
}

#[test]
fn a_mutated_capture_is_read_alike_compressed_and_plain() {
    each(20, |original, mutant, random| {
        if original.is_packed()
            || Source::from_reader("it", Box::new(Cursor::new(mutant.bytes.clone()))).is_err()
        {
            return; // nothing is in it that could be compared
        }
        let expected = said(std::slice::from_ref(&mutant.bytes), How::PLAIN);
        let step = 1 + random.below(5000) as usize;
        for (ending, bytes) in packed::all(&mutant.bytes) {
            let got = said(&[bytes], How { step, ..How::PLAIN });
            let plain = |text: &String| {
                let name = ["gzip", "zstd", "lz4", "xz", "bzip2"]
                    .into_iter()
                    .find(|name| name.starts_with(&ending[..1]));
                let name = name.expect("every ending is of a compression");
                text.replace(&format!("\"compression\":\"{name}\""), "\"compression\":null")
                    .replace(&format!("compression: Some(\"{name}\")"), "compression: None")
            };
            same(mutant, ending, &got.iter().map(plain).collect::<Vec<_>>(), &expected);
        }
    });
}

/// The frames of a capture that a classic file can hold: one link type, and times that never step back.
fn in_order(bytes: &[u8]) -> Vec<Kept> {
    let mut kept: Vec<Kept> = vec![];
    let Ok(mut source) = Source::from_reader("mutant", Box::new(Cursor::new(bytes.to_vec()))) else {
        return kept;
    };
    while let Ok(Some(Frame { time, link, wire_len, bytes, .. })) = source.next() {
        let Some(time) = time.nanos().filter(|t| (0..=u32::MAX as i64).contains(&(t / 1_000_000_000))) else {
            continue;
        };
        if kept.last().is_none_or(|last| last.link == link && last.time <= time) {
            kept.push(Kept { time, link, wire_len, bytes: bytes.to_vec() });
        }
    }
    kept
}

/// Where files end: each begins later than the one before, and not long after its end.
fn ends(frames: &[Kept], random: &mut Random) -> Vec<usize> {
    let (mut ends, mut began) = (vec![], 0);
    for at in 1..frames.len() {
        let [before, next] = [at - 1, at].map(|i| frames[i].time);
        if next > frames[began].time && next - before <= GAP && random.below(frames.len() as u32) < 3 {
            ends.push(at);
            began = at;
        }
    }
    ends.push(frames.len());
    ends
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| line.parse().expect("records are JSON")).collect()
}

#[test]
fn a_mutated_capture_says_the_same_in_one_file_and_in_several() {
    let mut several = std::cell::Cell::new(0);
    each(60, |_, mutant, random| {
        let frames = in_order(&mutant.bytes);
        let ends = ends(&frames, random);
        if ends.len() < 2 {
            return;
        }
        several.set(several.get() + 1);
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let files: Vec<_> =
            begins.zip(&ends).map(|(begin, end)| frames::pcap(&frames[begin..*end])).collect();
        let whole = bare(&parsed(&records(&[frames::pcap(&frames)], How::PLAIN).0), &Ends(&[]));
        let numbers: Vec<u64> = ends.iter().map(|end| *end as u64).collect();
        let parts = bare(&parsed(&records(&files, How::PLAIN).0), &Ends(&numbers));
        for (part, whole) in parts.iter().zip(&whole) {
            assert_eq!(part, whole, "{}, cut behind frames {numbers:?}", mutant.name);
        }
        assert_eq!(parts.len(), whole.len(), "{}, cut behind frames {numbers:?}", mutant.name);
    });
    assert!(
        *several.get_mut() > 0 || super::cases::number("QDISSECT_CASES").is_some(),
        "none was in several files"
    );
}
