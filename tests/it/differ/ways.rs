//! A capture gives the same reports with any read size, compressed, read ahead, and in several files.

use super::cases::for_each_mutant;
use super::mutate::Mutant;
use crate::bench::random::Random;
use crate::kit::frames::{self, Kept};
use crate::kit::normalised::{LastFrames, normalised};
use crate::kit::packed;
use crate::kit::reports::{ReadOptions, all_reports, records};
use qdissect::capture::{Frame, Source};
use serde_json::Value;
use std::io::Cursor;

/// After a longer gap a file does not continue the previous one, in nanoseconds.
const GAP: i64 = 30_000_000_000;

fn same(mutant: &Mutant, way: &str, got: &[String], expected: &[String]) {
    for (got, expected) in got.iter().zip(expected) {
        let first = got.lines().zip(expected.lines()).find(|(a, b)| a != b);
        assert!(got == expected, "{}, {way}: {first:#?}", mutant.name);
    }
}

#[test]
fn a_mutated_capture_gives_the_same_reports_with_any_read_size_and_read_ahead() {
    for_each_mutant(60, |original, mutant, random| {
        // The last bytes of a damaged compressed stream may be lost; how many depends on the read size.
        if original.is_packed() {
            return;
        }
        let input = std::slice::from_ref(&mutant.bytes);
        let expected = all_reports(input, ReadOptions::PLAIN);
        let steps = [1, 2 + random.below(300) as usize];
        for read_options in steps.map(|chunk_size| ReadOptions { chunk_size, ..ReadOptions::PLAIN }) {
            same(mutant, &format!("{read_options:?}"), &all_reports(input, read_options), &expected);
        }
        for read_options in [steps[1], usize::MAX].map(|chunk_size| ReadOptions {
            read_ahead: true,
            chunk_size,
            ..ReadOptions::PLAIN
        }) {
            same(mutant, &format!("{read_options:?}"), &all_reports(input, read_options), &expected);
        }
    });
}

#[test]
fn a_mutated_capture_gives_the_same_reports_when_compressed() {
    for_each_mutant(20, |original, mutant, random| {
        if original.is_packed()
            || Source::from_reader("it", Box::new(Cursor::new(mutant.bytes.clone()))).is_err()
        {
            return; // nothing is in it that could be compared
        }
        let expected = all_reports(std::slice::from_ref(&mutant.bytes), ReadOptions::PLAIN);
        let chunk_size = 1 + random.below(5000) as usize;
        for (ending, bytes) in packed::all(&mutant.bytes) {
            let got = all_reports(&[bytes], ReadOptions { chunk_size, ..ReadOptions::PLAIN });
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

/// The frames of a capture that fit into a pcap file: one link type, and times that never step back.
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

/// The last frames of the files: each file begins later than the previous one, and soon after its end.
fn last_frames(frames: &[Kept], random: &mut Random) -> Vec<usize> {
    let (mut last_frames, mut began) = (vec![], 0);
    for at in 1..frames.len() {
        let [before, next] = [at - 1, at].map(|i| frames[i].time);
        if next > frames[began].time && next - before <= GAP && random.below(frames.len() as u32) < 3 {
            last_frames.push(at);
            began = at;
        }
    }
    last_frames.push(frames.len());
    last_frames
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| line.parse().expect("records are JSON")).collect()
}

#[test]
fn a_mutated_capture_gives_the_same_records_when_split_into_files() {
    let mut several = std::cell::Cell::new(0);
    for_each_mutant(60, |_, mutant, random| {
        let frames = in_order(&mutant.bytes);
        let last_frames = last_frames(&frames, random);
        if last_frames.len() < 2 {
            return;
        }
        several.set(several.get() + 1);
        let begins = std::iter::once(0).chain(last_frames.iter().copied());
        let files: Vec<_> =
            begins.zip(&last_frames).map(|(begin, end)| frames::pcap(&frames[begin..*end])).collect();
        let whole =
            normalised(&parsed(&records(&[frames::pcap(&frames)], ReadOptions::PLAIN).0), &LastFrames(&[]));
        let numbers: Vec<u64> = last_frames.iter().map(|end| *end as u64).collect();
        let parts = normalised(&parsed(&records(&files, ReadOptions::PLAIN).0), &LastFrames(&numbers));
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
