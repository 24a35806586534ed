//! Tests of the limits of reassembly in memory and time.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::Endpoint;
use super::fragment_header::{Fragment, Header, Key, Location, MAX_TOTAL};
use super::fragment_set::{MAX_FRAMES, MAX_RUNS, MAX_SET_MEMORY, Packet};
use super::fragments::{Fragments, MAX_AGE, MAX_BYTES, MAX_SETS};
use super::fragments_tests::{bytes, in_frame, piece};
use crate::capture::Time;
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;

/// The first fragment of a packet, 8 bytes of payload.
fn begin(id: u32, frame: u64, nanos: i64) -> Fragment<'static> {
    in_frame(piece(id, 0, true, b"begining"), frame, nanos)
}

/// Takes out the packets that expire at `nanos`; returns the frames of their first fragments.
fn given_up(fragments: &mut Fragments, nanos: i64) -> Vec<u64> {
    let time = Time::from_nanos(nanos);
    std::iter::from_fn(|| fragments.next_expired(time, false)).map(|packet| packet.first.frame).collect()
}

fn finish(fragments: &mut Fragments) -> Vec<u64> {
    std::iter::from_fn(|| fragments.next_expired(Time::UNKNOWN, true))
        .map(|packet| packet.first.frame)
        .collect()
}

#[test]
fn incomplete_packets_expire_in_order() {
    let mut fragments = Fragments::default();
    for (id, nanos) in [(1, 0), (2, 5), (3, 6)] {
        fragments.add(&begin(id, id.into(), nanos));
    }
    assert!(given_up(&mut fragments, MAX_AGE).is_empty());
    assert_eq!(given_up(&mut fragments, MAX_AGE + 5), [1]);
    assert_eq!(given_up(&mut fragments, MAX_AGE + 7), [2, 3]);
    let counts = fragments.counts();
    assert_eq!((counts.begun, counts.headless, counts.evicted, fragments.usage()), (3, 0, 0, (0, 0)));
}

#[test]
fn an_expired_packet_ends_at_its_first_gap() {
    let payload = bytes(80);
    let part = |offset: usize, stop: usize, frame| {
        in_frame(piece(7, offset, stop < 80, &payload[offset..stop]), frame, frame as i64)
    };
    let mut fragments = Fragments::default();
    for (offset, stop, frame) in [(72, 80, 3), (0, 16, 4), (16, 24, 5), (32, 40, 6)] {
        assert!(fragments.add(&part(offset, stop, frame)).is_none());
    }
    let begun = fragments.next_expired(Time::from_nanos(MAX_AGE + 4), false).unwrap();
    assert_eq!(begun.payload, payload[..24]);
    assert_eq!((begun.total, begun.arrived, begun.is_whole()), (Some(80), 40, false));
    assert_eq!(begun.first, Location { frame: 4, time: Time::from_nanos(4) });
    assert_eq!(begun.frames, [3, 4, 5, 6]);
    // Without the last fragment the length is unknown; without the first there is nothing to show.
    fragments.add(&part(0, 16, 7));
    fragments.add(&Fragment { header: Header { more: true, ..part(72, 80, 8).header }, ..part(72, 80, 8) });
    assert_eq!(fragments.next_expired(Time::UNKNOWN, true).unwrap().total, None);
    fragments.add(&part(16, 24, 9));
    assert!(fragments.next_expired(Time::UNKNOWN, true).is_none());
    assert_eq!((fragments.counts().begun, fragments.counts().headless), (2, 1));
}

#[test]
fn the_oldest_set_is_evicted_beyond_the_number_limit() {
    let mut fragments = Fragments::default();
    for id in 0..MAX_SETS as u32 {
        assert!(given_up(&mut fragments, 0).is_empty());
        fragments.add(&begin(id, id.into(), 0));
    }
    assert_eq!(given_up(&mut fragments, 0), [0]);
    fragments.add(&begin(9_999, 9_999, 0));
    assert_eq!(given_up(&mut fragments, 0), [1]);
    assert_eq!((fragments.counts().evicted, fragments.usage().0), (2, MAX_SETS - 1));
    assert!(finish(&mut fragments).is_sorted());
    assert_eq!(fragments.counts().evicted, 2, "the end of a file is no want of room");
}

#[test]
fn the_oldest_set_is_evicted_beyond_the_memory_limit() {
    let long = bytes(65_000);
    let mut fragments = Fragments::default();
    let mut evicted = vec![];
    for frame in 0..300 {
        evicted.extend(given_up(&mut fragments, 0));
        fragments.add(&in_frame(piece(frame as u32, 0, true, &long), frame, 0));
        assert!(fragments.usage().1 <= MAX_BYTES);
    }
    assert!(fragments.usage().1 > MAX_BYTES / 2, "the limit is memory, not the number of sets");
    assert_eq!(evicted, (0..evicted.len() as u64).collect::<Vec<_>>());
    assert_eq!(fragments.counts().evicted as usize, evicted.len());
}

#[test]
fn limits_hold_for_a_caller_that_takes_no_packets_out() {
    let long = bytes(65_528);
    let mut fragments = Fragments::default();
    for (half, more) in [(0, true), (32_768, true)] {
        for id in 0..3 * MAX_SETS as u32 {
            fragments.add(&piece(id, half, more, &long[..32_760]));
            let (sets, memory) = fragments.usage();
            assert!(sets <= MAX_SETS && memory <= MAX_BYTES, "{sets} sets, {memory} bytes");
        }
    }
    assert!(fragments.counts().evicted > 0);
}

#[test]
fn a_set_stays_within_its_memory_limit() {
    let payload = bytes(MAX_TOTAL);
    let mut fragments = Fragments::default();
    // Every second piece of 8 bytes, backwards, then all the rest in one fragment: the worst case for growing
    // vectors.
    for unit in (0..2 * MAX_RUNS).step_by(2).rev() {
        fragments.add(&piece(7, unit * 8, true, &payload[unit * 8..][..8]));
        assert!(fragments.usage().1 <= MAX_SET_MEMORY);
    }
    fragments.add(&piece(7, 4096, true, &payload[4096..65_528]));
    assert!(fragments.usage().1 <= MAX_SET_MEMORY);
    assert_eq!(fragments.counts().crowded, 1);
}

#[test]
fn lone_fragments_stay_within_bounds() {
    let mut fragments = Fragments::default();
    let mut given = 0;
    for frame in 0..300_000_u64 {
        let nanos = frame as i64 * 1_000;
        given += given_up(&mut fragments, nanos).len() as u64;
        let id = frame as u32;
        let lone = if frame % 3 == 0 {
            begin(id, frame, nanos)
        } else {
            piece(id, 8 * frame as usize % 65_000, true, b"somebody")
        };
        assert!(fragments.add(&in_frame(lone, frame, nanos)).is_none());
        let (sets, memory) = fragments.usage();
        assert!(sets <= MAX_SETS && memory <= sets * 1024, "{sets} sets, {memory} bytes");
    }
    given += finish(&mut fragments).len() as u64;
    let counts = *fragments.counts();
    assert_eq!(counts.begun + counts.headless, 300_000);
    assert_eq!(counts.begun, given);
}

#[test]
fn tiny_fragments_in_order_are_one_run() {
    let payload = bytes(MAX_TOTAL);
    let mut fragments = Fragments::default();
    let whole: Vec<_> = payload
        .chunks(8)
        .zip(0..)
        .filter_map(|(part, unit)| fragments.add(&piece(7, unit * 8, unit < 8191, part)))
        .collect();
    assert_eq!((whole.len(), &whole[0].payload), (1, &payload));
    assert_eq!((whole[0].frames.len(), fragments.counts().crowded), (MAX_FRAMES, 0));
}

#[test]
fn every_frame_of_the_longest_packet_over_ethernet_is_listed() {
    let payload = bytes(MAX_TOTAL);
    let mut fragments = Fragments::default();
    let parts = payload.chunks(1480).zip(0..);
    let whole: Vec<_> =
        parts.filter_map(|(part, n)| fragments.add(&piece(7, n * 1480, part.len() == 1480, part))).collect();
    assert_eq!((whole.len(), whole[0].frames.len()), (1, 45));
}

#[test]
fn tiny_fragments_out_of_order_find_no_room() {
    let payload = bytes(16 * MAX_RUNS);
    let mut fragments = Fragments::default();
    for unit in (0..2 * MAX_RUNS).rev() {
        let splinter = piece(7, unit * 8, unit + 1 < 2 * MAX_RUNS, &payload[unit * 8..][..8]);
        assert!(fragments.add(&splinter).is_none());
    }
    assert_eq!(fragments.counts().crowded as usize, MAX_RUNS);
    // A run that grows at its end needs no further run, and one fragment may close all gaps.
    assert!(fragments.add(&piece(7, 8 * MAX_RUNS - 8, true, &payload[8 * MAX_RUNS - 8..][..8])).is_none());
    assert_eq!((fragments.counts().crowded as usize, fragments.usage().0), (MAX_RUNS + 1, 1));
    assert!(fragments.next_expired(Time::UNKNOWN, true).is_none());
    assert_eq!(fragments.counts().headless, 1);
}

#[test]
fn a_complete_packet_expires_without_being_reported() {
    let mut fragments = Fragments::default();
    fragments.add(&begin(7, 1, 0));
    assert!(fragments.add(&in_frame(piece(7, 8, false, b"end"), 2, 1)).is_some());
    fragments.add(&begin(8, 3, 1));
    assert_eq!(given_up(&mut fragments, MAX_AGE + 2), [3]);
    assert_eq!((fragments.counts().reassembled, fragments.counts().begun, fragments.usage()), (1, 1, (0, 0)));
    // Once its set is removed, a late copy is no longer recognised: it begins a packet of its own.
    assert!(fragments.add(&in_frame(piece(7, 8, false, b"end"), 4, MAX_AGE)).is_none());
    assert_eq!((fragments.counts().copies, fragments.usage().0), (0, 1));
}

#[test]
fn a_packet_outlives_an_earlier_one_with_its_identification() {
    let mut fragments = Fragments::default();
    fragments.add(&begin(7, 1, 0));
    assert!(fragments.add(&in_frame(piece(7, 8, false, b"end"), 2, 0)).is_some());
    assert!(fragments.add(&in_frame(piece(7, 0, true, b"nextbegi"), 3, SECOND)).is_none());
    assert_eq!(fragments.usage().0, 2);
    assert!(given_up(&mut fragments, MAX_AGE + 1).is_empty());
    assert_eq!(fragments.usage().0, 1);
    let next = fragments.add(&in_frame(piece(7, 8, false, b"end"), 4, MAX_AGE + 1)).unwrap();
    assert_eq!(next.payload, b"nextbegiend");
}

#[test]
fn time_that_jumps_back_delays_no_expiry() {
    let mut fragments = Fragments::default();
    fragments.add(&begin(1, 1, 100 * SECOND));
    fragments.add(&begin(2, 2, 5 * SECOND));
    assert!(given_up(&mut fragments, 6 * SECOND).is_empty());
    assert!(fragments.add(&in_frame(piece(1, 8, false, b"end"), 3, 0)).is_some());
    assert_eq!(given_up(&mut fragments, 100 * SECOND + MAX_AGE + 1), [2]);
    // One time stamp far in the future ends the time of all fragments that came before it.
    fragments.add(&begin(3, 4, 200 * SECOND));
    fragments.add(&begin(4, 5, i64::MAX));
    assert_eq!(given_up(&mut fragments, 0), [4]);
    assert_eq!(finish(&mut fragments), [5]);
}

#[test]
fn fragments_without_time_age_from_the_first_time_stamp() {
    let mut fragments = Fragments::default();
    let timeless = |piece: Fragment<'static>| Fragment {
        location: Location { time: Time::UNKNOWN, ..piece.location },
        ..piece
    };
    fragments.add(&timeless(begin(1, 1, 0)));
    assert!(fragments.next_expired(Time::UNKNOWN, false).is_none());
    assert!(given_up(&mut fragments, 7 * SECOND).is_empty());
    fragments.add(&timeless(begin(2, 2, 0)));
    assert!(given_up(&mut fragments, 7 * SECOND + MAX_AGE).is_empty());
    assert_eq!(given_up(&mut fragments, 7 * SECOND + MAX_AGE + 1), [1, 2]);
}

#[test]
fn each_file_has_a_time_of_its_own() {
    let mut fragments = Fragments::default();
    fragments.add(&begin(1, 1, 100 * SECOND));
    assert_eq!(finish(&mut fragments), [1]);
    fragments.add(&begin(1, 2, 0));
    assert!(given_up(&mut fragments, MAX_AGE).is_empty());
    assert_eq!(given_up(&mut fragments, MAX_AGE + 1), [2]);
}

/// The facts about a packet that the tests compare.
fn facts(packet: &Packet) -> (Vec<u8>, u64, Option<usize>, bool) {
    (packet.payload.clone(), packet.first.frame, packet.total, packet.is_whole())
}

proptest! {
    /// For any fragments, the limits hold, every packet is accounted for, and two runs give the same.
    #[test]
    fn limits_hold_for_any_fragments(
        pieces in prop::collection::vec(
            ((0_u32..6, 0_usize..9000, any::<bool>()), (0_usize..70, 0_usize..70_000), any::<i64>()), 1..200),
    ) {
        let mut runs = [Fragments::default(), Fragments::default()];
        let mut results = [vec![], vec![]];
        for (frame, ((id, unit, more), (held, wire), nanos)) in (1..).zip(pieces) {
            let key = Key { hosts: [1, 2].map(|byte| Endpoint::v6([byte; 16], 0)), id, protocol: 0, tunnel: 0 };
            let header = Header { key, protocol: 17, offset: unit * 8 % 1000, more };
            let wire_len = if wire % 2 == 0 { held & !7 } else { wire };
            let time = if nanos % 5 == 0 { Time::UNKNOWN } else { Time::from_nanos(nanos % SECOND) };
            let bytes = vec![frame as u8; held];
            let location = Location { frame, time };
            let piece = Fragment { header, bytes: &bytes, wire_len, location, others: &[] };
            for (fragments, results) in runs.iter_mut().zip(&mut results) {
                while let Some(packet) = fragments.next_expired(time, false) {
                    results.push(facts(&packet));
                }
                if let Some(packet) = fragments.add(&piece) {
                    results.push(facts(&packet));
                }
                prop_assert!(fragments.usage().1 <= MAX_BYTES);
            }
        }
        for (fragments, results) in runs.iter_mut().zip(&mut results) {
            while let Some(packet) = fragments.next_expired(Time::UNKNOWN, true) {
                results.push(facts(&packet));
            }
            prop_assert_eq!(fragments.usage(), (0, 0));
            prop_assert_eq!(fragments.counts().reassembled + fragments.counts().begun, results.len() as u64);
        }
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert!(results[0].iter().all(|(payload, _, total, _)| payload.len() <= total.unwrap_or(MAX_TOTAL)));
    }
}
