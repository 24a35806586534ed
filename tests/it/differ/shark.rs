//! tshark finds the same datagrams in mutants. Runs if tshark is installed.
//!
//! tshark takes half a second to start, so the mutated frames of many mutants are written to one file.

use super::apart::{Head, disputed, guessed, is_strange_clock, is_strange_fraction, overrun, pseudo, reason};
use super::cases::{self, number, save_mutant};
use super::mutate::Mutant;
use crate::kit::frames::{Kept, pcap};
use crate::kit::tshark::{by_tshark, by_us, columns, have_tshark, nanos};
use qdissect::capture::{ErrorKind, Frame, Source};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;

/// Maximum length that tshark prints.
const MOST: u64 = i32::MAX as u64;
/// Time between two frames, so that none is a fragment or a copy of another.
const STEP: i64 = 10_000_000_000;
/// 1 January 2026, in nanoseconds.
const START: i64 = 1_767_225_600_000_000_000;

/// The mutated frame of a mutant, and the mutant; `None` if the frame may affect others.
fn touched(number: u64) -> Option<(Kept, Mutant)> {
    let (original, mut random) = cases::original(number);
    let mutant = original.mutant(&mut random);
    let touched = mutant.touched.as_ref()?;
    let mut source = Source::from_reader("mutant", Box::new(Cursor::new(mutant.bytes.clone()))).ok()?;
    while let Ok(Some(Frame { number, link, wire_len, bytes, .. })) = source.next() {
        if number == touched.frame {
            return Some((Kept { time: 0, link, wire_len, bytes: bytes.to_vec() }, mutant));
        }
    }
    None
}

/// Writes frames of one link type to a file, [`STEP`] apart.
fn written(frames: &[&Kept]) -> std::path::PathBuf {
    let link = frames.first().map_or(0, |frame| frame.link);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("touched-{link}.pcap"));
    let spread: Vec<Kept> = frames
        .iter()
        .zip(0..)
        .map(|(frame, i)| Kept { time: START + i * STEP, ..(*frame).clone() })
        .collect();
    fs::write(&path, pcap(&spread)).expect("it can be written");
    path
}

#[test]
fn tshark_sees_the_same_datagrams_in_mutated_frames() {
    if !have_tshark() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let mut by_link: BTreeMap<u16, Vec<(u64, Kept, Mutant)>> = BTreeMap::new();
    for number in cases::numbers(1500) {
        if let Some((frame, mutant)) = touched(number) {
            by_link.entry(frame.link).or_default().push((number, frame, mutant));
        }
    }
    let (mut compared, mut apart) = (0, vec![]);
    // tshark runs once for each link type; those with the most frames are tested.
    let most = if number("QDISSECT_CASES").is_some() { usize::MAX } else { 2 };
    let mut links: Vec<_> = by_link.into_values().collect();
    links.sort_by_key(|all| std::cmp::Reverse(all.len()));
    for all in links.iter().take(most) {
        let path = written(&all.iter().map(|(_, frame, _)| frame).collect::<Vec<_>>());
        let Some(theirs) = by_tshark(&path) else { continue };
        let ours = by_us(&path);
        compared += theirs.len();
        for ((number, frame, mutant), at) in all.iter().zip(1..) {
            let (a, b) = (theirs.get(&at), ours.get(&at));
            let it = disputed(frame.link, frame.wire_len, &frame.bytes, b.is_some());
            if a != b && reason(&it).is_none() {
                let hex: String = frame.bytes.iter().take(80).map(|b| format!("{b:02x}")).collect();
                apart.push(format!(
                    "tshark {a:?}, we {b:?}: link {} {hex}\n  {}",
                    frame.link,
                    save_mutant(*number, mutant)
                ));
            }
        }
    }
    assert!(compared > 100 || number("QDISSECT_CASES").is_some(), "{compared} datagrams are too few");
    assert!(
        apart.is_empty(),
        "{} of {compared} differ:\n{}",
        apart.len(),
        apart[..apart.len().min(40)].join("\n")
    );
}

/// The frame headers by number, as tshark counts and prints them, with the offset of each frame, and the error that ends the
/// capture.
fn heads(bytes: &[u8]) -> (BTreeMap<u64, (Head, usize)>, Option<ErrorKind>) {
    let mut found = BTreeMap::new();
    let mut source = match Source::from_reader("mutant", Box::new(Cursor::new(bytes.to_vec()))) {
        Ok(source) => source,
        Err(e) => return (found, Some(e.kind())),
    };
    let strange = is_strange_clock(bytes);
    loop {
        match source.next() {
            Ok(Some(f)) => {
                let apart = strange || is_pcap(bytes) && is_strange_fraction(bytes, f.at as usize);
                let time = f.time.nanos().filter(|_| !apart).map(i128::from);
                let less = pseudo(f.link);
                let [captured, wire] =
                    [f.bytes.len() as u64, f.wire_len.into()].map(|n| n.saturating_sub(less));
                found.insert(f.number, ((time, captured, wire), f.at as usize));
            }
            Ok(None) => return (found, None),
            Err(e) => return (found, Some(e.kind())),
        }
    }
}

/// Clamps a time to the range of qdissect's time stamps.
fn within(nanos: i128) -> i128 {
    nanos.clamp(i128::from(i64::MIN) + 1, i128::from(i64::MAX))
}

fn is_pcap(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\x0a\x0d\x0d\x0a")
}

fn heads_by_tshark(path: &Path) -> Option<BTreeMap<u64, Head>> {
    let rows = columns(path, "frame", &["frame.number", "frame.time_epoch", "frame.cap_len", "frame.len"])?;
    let one = |row: &Vec<String>| {
        let [number, time, captured, wire] = row.as_slice() else { return None };
        Some((number.parse().ok()?, (nanos(time), captured.parse().ok()?, wire.parse().ok()?)))
    };
    Some(rows.iter().filter_map(one).collect())
}

#[test]
fn tshark_reads_the_same_frames_of_mutated_files() {
    if !have_tshark() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let compared = Cell::new(0);
    cases::for_each_mutant(5, |original, mutant, _| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutant.pcap");
        fs::write(&path, &mutant.bytes).expect("it can be written");
        if original.is_packed() {
            return;
        }
        let (ours, end) = heads(&mutant.bytes);
        if let Some((expected, why)) = guessed(&mutant.bytes) {
            let known = |((ours, _), it): (&(Head, usize), Head)| (ours.0.and(it.0), it.1, it.2);
            let walked: Vec<_> = ours.values().zip(expected.iter().copied()).map(known).collect();
            let ours: Vec<_> = ours.values().map(|(head, _)| *head).collect();
            assert_eq!((&ours, ours.len(), end), (&walked, expected.len(), why), "{}", mutant.name);
            compared.set(compared.get() + ours.len());
            return;
        }
        let Some(mut theirs) = heads_by_tshark(&path) else { return };
        let (most, overrun) = (theirs.len(), overrun(&mutant.bytes));
        for (number, (ours, at)) in &ours {
            // A packet is complete to qdissect even if the end of its block is missing.
            let last = end == Some(ErrorKind::CutShort) && *number as usize == most + 1;
            let Some(their) = theirs.remove(number) else {
                let given_up = overrun.is_some_and(|block| block < *at);
                assert!(
                    last || given_up,
                    "{}: frame {number} is only ours; it ends with {end:?}",
                    mutant.name
                );
                continue;
            };
            let time = if ours.0.is_none() { None } else { their.0.map(within) };
            // The length on the wire is at least the captured length; in tshark at most an `int`.
            let wire = if their.2 == MOST { ours.2.max(MOST) } else { their.1.max(their.2) };
            let expected = (time, their.1, wire);
            assert_eq!(*ours, expected, "{}, frame {number}", mutant.name);
        }
        // Blocks that are no packets and have no time, but are numbered by Wireshark.
        theirs.retain(|_, head| head.0.is_some());
        assert!(theirs.is_empty(), "{}: only tshark's, it ends for us with {end:?}: {theirs:?}", mutant.name);
        compared.set(compared.get() + ours.len());
    });
    assert!(compared.get() > 0 || number("QDISSECT_CASES").is_some(), "nothing was compared");
}
