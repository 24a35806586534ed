//! Facts that pcapng files state about their interfaces and about lost packets.

use super::files::{BIG, LITTLE, Order, data, drain, open};
use qdissect::capture::{CAPACITY, CaptureInfo, Comments, Source};
use std::path::Path;

/// The facts once everything has been read.
fn facts(capture: &[u8]) -> CaptureInfo {
    let mut source = open(capture).unwrap();
    let (_, error) = drain(&mut source);
    assert!(error.is_none(), "{}", error.unwrap());
    source.info().clone()
}

fn statistics(order: Order, interface: u32, counts: &[(u16, u64)]) -> Vec<u8> {
    let options: Vec<u8> =
        counts.iter().flat_map(|&(code, n)| order.option(code, &order.long(n as i64))).collect();
    order.block(5, &[&order.word(interface), &[0; 8], &options])
}

#[test]
fn descriptions_of_sections_and_interfaces_are_read() {
    for order in [LITTLE, BIG] {
        let section =
            [order.option(2, b"a machine"), order.option(3, b"a system"), order.option(3, b"other")];
        let first = [
            order.option(2, b"eth0\0"),
            order.option(3, b"the wire"),
            order.option(1, b"noisy"),
            order.option(2, b"another name"),
        ];
        let capture = [
            order.section(&section.concat()),
            order.interface(1, 262_144, &first.concat()),
            order.interface(101, 0, &[]),
            order.section(&[]),
            order.interface(1, 96, &order.option(2, &[b'x'; 500])),
        ];
        let facts = facts(&capture.concat());
        assert_eq!((facts.hardware.as_deref(), facts.os.as_deref()), (Some("a machine"), Some("a system")));
        let [wire, raw, long] = facts.interfaces.as_slice() else { panic!("{facts:?}") };
        assert_eq!((wire.link, wire.snaplen, wire.name.as_deref()), (1, Some(262_144), Some("eth0")));
        assert_eq!((wire.description.as_deref(), wire.comment.as_deref()), (Some("the wire"), Some("noisy")));
        assert_eq!((raw.link, raw.snaplen, &raw.name), (101, None, &None));
        assert_eq!((long.snaplen, long.name.as_ref().unwrap().len()), (Some(96), 128), "bounded");
    }
}

#[test]
fn interfaces_listed_are_bounded() {
    let interfaces = LITTLE.interface(1, 0, &[]).repeat(300);
    let capture = [LITTLE.section(&[]), interfaces, statistics(LITTLE, 299, &[(5, 7)])].concat();
    let facts = facts(&capture);
    assert_eq!((facts.interfaces.len(), facts.dropped()), (256, None));
}

#[test]
fn texts_of_interfaces_are_cut() {
    for (length, kept) in [(128, 128), (129, 128)] {
        let options = LITTLE.option(2, &vec![b'n'; length]);
        let facts = facts(&[LITTLE.section(&[]), LITTLE.interface(1, 0, &options)].concat());
        assert_eq!(facts.interfaces[0].name, Some("n".repeat(kept)));
    }
    // A character that the limit cuts goes with it; one that was broken before stays.
    for (name, kept) in [
        (["n".repeat(127).as_bytes(), "ü".as_bytes()].concat(), "n".repeat(127)),
        (b"n\xff".to_vec(), "n\u{fffd}".into()),
    ] {
        let facts = facts(&[LITTLE.section(&[]), LITTLE.interface(1, 0, &LITTLE.option(2, &name))].concat());
        assert_eq!(facts.interfaces[0].name, Some(kept));
    }
}

#[test]
fn the_latest_statistics_of_an_interface_count() {
    for order in [LITTLE, BIG] {
        let mut capture = [
            order.section(&[]),
            order.interface(1, 0, &[]),
            order.interface(1, 0, &[]),
            statistics(order, 0, &[(4, 100), (5, 3), (7, 4)]),
            statistics(order, 1, &[(4, 50)]),
            statistics(order, 9, &[(5, 1000)]),
        ]
        .concat();
        assert_eq!(
            facts(&capture).dropped(),
            Some(7),
            "nothing is known of the second, nor is there a tenth"
        );
        capture.extend(statistics(order, 0, &[(4, 200), (5, 8), (5, 99)]));
        capture.extend(statistics(order, 1, &[(7, 0)]));
        // A new section has interfaces of its own.
        capture.extend(order.section(&[]));
        capture.extend(order.interface(1, 0, &[]));
        capture.extend(statistics(order, 0, &[(5, 30)]));
        let facts = facts(&capture);
        let each: Vec<_> = facts.interfaces.iter().map(|i| (i.received, i.dropped())).collect();
        assert_eq!(each, [(Some(200), Some(8)), (Some(50), Some(0)), (None, Some(30))]);
        assert_eq!(facts.dropped(), Some(38));
    }
}

#[test]
fn invalid_statistics_are_ignored() {
    let wrong = [LITTLE.option(5, &[1; 4]), LITTLE.option(5, &[]), [5, 0, 255, 0].to_vec()].concat();
    let capture = [
        LITTLE.section(&[]),
        LITTLE.interface(1, 0, &[]),
        LITTLE.block(5, &[]),
        LITTLE.block(5, &[&[0; 8]]),
        LITTLE.block(5, &[&[0; 12]]),
        LITTLE.block(5, &[&[0; 12], &wrong]),
        LITTLE.enhanced(0, 1, 4, &data(4)),
    ]
    .concat();
    assert_eq!(facts(&capture).dropped(), None);
    let huge = statistics(LITTLE, 0, &[(5, u64::MAX), (7, u64::MAX)]);
    assert_eq!(facts(&[capture, huge].concat()).dropped(), Some(u64::MAX));
}

#[test]
fn losses_before_packets_are_counted() {
    for order in [LITTLE, BIG] {
        let lost = |n: i64| [order.option(2, &[0; 4]), order.option(4, &order.long(n))].concat();
        let obsolete = |drops: u16| {
            let head = [order.word(0), order.word(1), order.word(5), order.word(9)].concat();
            order.block(2, &[&order.half(0), &order.half(drops), &head, &data(5)])
        };
        let mut capture =
            [order.section(&[]), order.interface(1, 0, &[]), order.interface(1, 0, &[])].concat();
        for len in 0..9 {
            capture.extend(order.enhanced_with(0, 1, 70, &data(len), &lost(2)));
            capture.extend(order.enhanced_with(0, 1, 70, &data(len), &order.option(1, b"a comment")));
            capture.extend(order.enhanced(0, 1, 70, &data(len)));
        }
        assert_eq!(facts(&capture).dropped(), Some(18));
        capture.extend([obsolete(5), obsolete(0xffff), obsolete(0)].concat());
        assert_eq!(facts(&capture).dropped(), Some(23), "ffff is not known");
        // Both counts describe the same packets.
        capture.extend(statistics(order, 0, &[(5, 20)]));
        assert_eq!(facts(&capture).dropped(), Some(23));
        capture.extend(statistics(order, 0, &[(5, 30)]));
        capture.extend(order.enhanced_with(1, 1, 4, &data(4), &lost(1)));
        assert_eq!(facts(&capture).dropped(), Some(31));
    }
}

#[test]
fn invalid_options_of_packets_are_ignored() {
    let lies: [&[u8]; 5] =
        [&[4, 0, 255, 255], &[4, 0, 4, 0, 1, 2, 3, 4], &[0, 0, 0, 0, 4, 0, 0, 0], &[4, 0], &[9; 16]];
    for lie in lies {
        let packet = LITTLE.enhanced_with(0, 1, 70, &data(7), lie);
        let capture = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[]), packet].concat();
        assert_eq!(facts(&capture).dropped(), None, "{lie:x?}");
    }
    // A block larger than the buffer: its frame is read, its options are skipped.
    let options = [LITTLE.option(1, &data(60_000)).repeat(20), LITTLE.option(4, &LITTLE.long(3))].concat();
    let packet = LITTLE.enhanced_with(0, 1, 70, &data(70), &options);
    assert!(packet.len() > 2 * CAPACITY);
    let capture = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[]), packet].concat();
    assert_eq!(facts(&capture).dropped(), None);
}

#[test]
fn interfaces_count_on_over_sections() {
    let mut source = Source::open(Path::new("captures/containers/ng_two_sections.pcapng")).unwrap();
    let mut numbers = Vec::new();
    while let Some(frame) = source.next().unwrap() {
        if numbers.last() != Some(&frame.interface) {
            numbers.push(frame.interface);
        }
    }
    assert_eq!((numbers.as_slice(), source.info().interfaces.len()), (&[0, 1][..], 2));
}

/// The comments on the first frames of a capture.
fn comments_of(capture: &[u8], frames: u64) -> Vec<Vec<String>> {
    let (mut source, comments) = (open(capture).unwrap(), Comments::default());
    source.comment_into(&comments);
    let (_, error) = drain(&mut source);
    assert!(error.is_none(), "{}", error.unwrap());
    let text = |frame| comments.of(frame).iter().flat_map(|s| s.iter()).map(|s| s.to_string()).collect();
    (1..=frames).map(text).collect()
}

#[test]
fn comments_on_packets_are_kept_by_frame() {
    for order in [LITTLE, BIG] {
        let several =
            [order.option(1, b"one"), order.option(2, &[0; 4]), order.option(1, "zw\u{f6}lf".as_bytes())];
        let cut_off = [order.option(1, b"kept"), order.half(1).to_vec(), order.half(400).to_vec()].concat();
        let behind_end = [order.option(0, b""), order.option(1, b"never")].concat();
        let mut capture = [order.section(&[]), order.interface(1, 0, &[])].concat();
        for options in [&order.option(1, b"first")[..], &[], &several.concat(), &cut_off, &behind_end] {
            capture.extend(order.enhanced_with(0, 1, 70, &data(7), options));
        }
        // The obsolete block has its options in the same place.
        let head = [order.half(0), order.half(0xffff)].concat();
        let words = [0, 1, 4, 4].map(|word| order.word(word)).concat();
        capture.extend(order.block(2, &[&head, &words, &data(4), &order.option(1, b"old")]));
        let expected: [&[&str]; 6] = [&["first"], &[], &["one", "zw\u{f6}lf"], &["kept"], &[], &["old"]];
        assert_eq!(comments_of(&capture, 6), expected);
    }
}

#[test]
fn comments_are_bounded_and_skipped_in_blocks_beyond_the_buffer() {
    let many = LITTLE.option(1, b"x").repeat(100);
    let long = LITTLE.option(1, &[b'y'; 60_000]);
    let huge = [LITTLE.option(1, b"z"), LITTLE.option(2, &[0; 65_532]).repeat(CAPACITY / 65_532)].concat();
    let mut capture = [LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat();
    for options in [many, long, huge, LITTLE.option(1, b"last")] {
        capture.extend(LITTLE.enhanced_with(0, 1, 70, &data(70), &options));
    }
    let comments = comments_of(&capture, 4);
    assert_eq!((comments[0].len(), comments[1][0].len()), (64, 4096));
    assert!(comments[2].is_empty());
    assert_eq!(comments[3], ["last"]);
}

#[test]
fn interfaces_give_the_decimals_of_their_time_stamps() {
    for (resolution, decimals) in [
        (0, 0),
        (2, 2),
        (3, 3),
        (5, 3),
        (6, 6),
        (8, 6),
        (9, 9),
        (12, 9),
        (127, 9),
        (0x80, 0),
        (0x80 | 10, 3),
        (0x80 | 20, 6),
        (0x80 | 30, 9),
        (0xff, 9),
    ] {
        let interface = LITTLE.interface(1, 0, &LITTLE.option(9, &[resolution]));
        let facts = facts(&[LITTLE.section(&[]), interface].concat());
        assert_eq!(facts.interfaces[0].decimals, decimals, "{resolution:#x}");
    }
    let usual = facts(&[LITTLE.section(&[]), LITTLE.interface(1, 0, &[])].concat());
    assert_eq!(usual.interfaces[0].decimals, 6);
    for (magic, decimals) in [(0xa1b2_c3d4, 6), (0xa1b2_3c4d, 9)] {
        assert_eq!(facts(&LITTLE.pcap(magic, 65_535, 1)).interfaces[0].decimals, decimals);
    }
}
