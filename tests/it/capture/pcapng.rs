//! Every variant of pcapng.

use super::files::{BIG, LITTLE, Order, Pipe, data, drain, open, read, read_sound};
use qdissect::capture::CAPACITY;
use qdissect::capture::{ErrorKind, MAX_FRAME, Source};

const SECOND: i64 = 1_000_000_000;

/// A section with one Ethernet interface.
fn start(order: Order) -> Vec<u8> {
    [order.section(&[]), order.interface(1, 0, &[])].concat()
}

#[test]
fn enhanced_packets_in_either_byte_order() {
    for order in [LITTLE, BIG] {
        let capture = [
            start(order),
            order.enhanced(0, 1_700_000_000_123_456, 1500, &data(57)),
            order.enhanced_with(0, 1, 0, &data(4), &order.option(1, b"a comment")),
        ]
        .concat();
        let frames = read_sound(&capture);
        let shown: Vec<_> = frames
            .iter()
            .map(|frame| (frame.number, frame.time, frame.link, frame.at, frame.wire_len))
            .collect();
        let second = 28 + 20 + 92 + 28;
        assert_eq!(
            shown,
            [(1, Some(1_700_000_000 * SECOND + 123_456_000), 1, 76, 1500), (2, Some(1000), 1, second, 4)]
        );
        assert_eq!((&frames[0].bytes, &frames[1].bytes), (&data(57), &data(4)));
    }
}

#[test]
fn time_resolutions_and_offsets() {
    let cases: [(&[u8], i64, u64, i64); 10] = [
        (&[6], 0, 1_500_000, 1_500_000_000),
        (&[9], 0, 1_500_000_001, 1_500_000_001),
        (&[3], 0, 1500, 1_500_000_000),
        (&[0], 0, 1_700_000_000, 1_700_000_000 * SECOND),
        (&[0x80 | 10], 0, 1536, 1_500_000_000),
        (&[0x94], 0, 3 << 19, 1_500_000_000),
        (&[0x9e], 0, 3 << 29, 1_500_000_000),
        (&[6], -86_400, 1_500_000, -86_400 * SECOND + 1_500_000_000),
        (&[0x94], -2, 3 << 19, -500_000_000),
        (&[6, 0], 5, 1_500_000, 6_500_000_000),
    ];
    for order in [LITTLE, BIG] {
        for (resolution, offset, count, nanos) in cases {
            let options =
                [order.option(9, resolution), order.option(14, &order.long(offset)), order.option(0, &[])];
            let capture = [
                order.section(&[]),
                order.interface(1, 0, &options.concat()),
                order.enhanced(0, count, 4, &data(4)),
            ]
            .concat();
            assert_eq!(
                read_sound(&capture)[0].time,
                Some(nanos),
                "{order:?} {resolution:x?} {offset} {count}"
            );
        }
    }
}

#[test]
fn simple_packets() {
    for order in [LITTLE, BIG] {
        let capture = [
            order.section(&[]),
            order.interface(101, 50, &[]),
            order.block(3, &[&order.word(20), &data(20)]),
            order.block(3, &[&order.word(1500), &data(50)]),
            order.section(&[]),
            order.interface(1, 0, &[]),
            order.block(3, &[&order.word(60), &data(60)]),
        ]
        .concat();
        let shown: Vec<_> = read_sound(&capture)
            .into_iter()
            .map(|frame| (frame.time, frame.link, frame.wire_len, frame.bytes.len()))
            .collect();
        assert_eq!(shown, [(None, 101, 20, 20), (None, 101, 1500, 50), (None, 1, 60, 60)]);
    }
}

#[test]
fn obsolete_packets() {
    for order in [LITTLE, BIG] {
        let head = [order.word(0), order.word(1_500_000), order.word(5), order.word(9)].concat();
        let capture = [
            start(order),
            order.interface(113, 0, &[]),
            order.block(
                2,
                &[&order.half(1), &order.half(77), &head, &data(5), &[0; 3], &order.option(2, &[0; 4])],
            ),
        ]
        .concat();
        let frames = read_sound(&capture);
        assert_eq!((frames[0].time, frames[0].link, frames[0].wire_len), (Some(1_500_000_000), 113, 9));
        assert_eq!(frames[0].bytes, data(5));
    }
}

#[test]
fn two_interfaces() {
    let capture = [
        start(LITTLE),
        LITTLE.interface(101, 0, &LITTLE.option(9, &[9])),
        LITTLE.enhanced(1, 7, 4, &data(4)),
        LITTLE.enhanced(0, 7, 4, &data(4)),
        LITTLE.interface(228, 0, &LITTLE.option(9, &[0])),
        LITTLE.enhanced(2, 7, 4, &data(4)),
    ]
    .concat();
    let mut source = open(&capture).unwrap();
    assert_eq!(source.info().links, [1, 101], "known before the first packet");
    let shown: Vec<_> = drain(&mut source).0.iter().map(|frame| (frame.link, frame.time.unwrap())).collect();
    assert_eq!(shown, [(101, 7), (1, 7000), (228, 7 * SECOND)]);
    assert_eq!(source.info().links, [1, 101, 228]);
}

#[test]
fn sections_start_afresh_and_change_byte_order() {
    let options = |order: Order| order.option(9, &[9]);
    let capture = [
        start(LITTLE),
        LITTLE.interface(101, 0, &[]),
        LITTLE.enhanced(1, 5, 4, &data(4)),
        BIG.section(&[]),
        BIG.interface(276, 0, &options(BIG)),
        BIG.enhanced(0, 5, 4, &data(4)),
        LITTLE.section(&[]),
        LITTLE.interface(113, 0, &options(LITTLE)),
        LITTLE.enhanced(0, 6, 4, &data(4)),
        LITTLE.enhanced(1, 6, 4, &data(4)),
    ]
    .concat();
    let (frames, error) = read(&capture);
    let shown: Vec<_> = frames.iter().map(|frame| (frame.number, frame.link, frame.time.unwrap())).collect();
    assert_eq!(shown, [(1, 101, 5000), (2, 276, 5), (3, 113, 6)]);
    let error = error.unwrap();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(capture.len() as u64 - 36)));
    assert!(
        error.to_string().contains(
            "refers to interface 1, counted from 0; interfaces described before it in its section: 1"
        )
    );
}

#[test]
fn facts_of_sections() {
    let options = [
        LITTLE.option(2, b"hardware"),
        LITTLE.option(4, b"Dumpcap (Wireshark) 4.2\0\0"),
        LITTLE.option(1, "zwölf Server".as_bytes()),
        LITTLE.option(1, b"a second comment"),
        LITTLE.option(0, &[]),
        LITTLE.option(1, b"behind the end"),
    ];
    let other = [BIG.option(4, b"other"), BIG.option(1, b"other")].concat();
    let capture = [
        LITTLE.section(&options.concat()),
        LITTLE.interface(1, 262_144, &[]),
        BIG.section(&other),
        BIG.interface(1, 5, &[]),
    ];
    let source = open(&capture.concat()).unwrap();
    let facts = source.info();
    assert_eq!((facts.format, facts.snaplen, &facts.links[..]), ("pcapng", Some(262_144), &[1][..]));
    assert_eq!(facts.application.as_deref(), Some("Dumpcap (Wireshark) 4.2"));
    assert_eq!(facts.comment.as_deref(), Some("zwölf Server"));
}

#[test]
fn facts_are_bounded() {
    let long = "é".repeat(30_000);
    let options = LITTLE.option(1, &long.as_bytes()[1..]);
    let mut capture = LITTLE.section(&options);
    for link in 0..2000 {
        capture.extend(LITTLE.interface(link, 1, &[]));
    }
    let source = open(&capture).unwrap();
    let comment = source.info().comment.clone().unwrap();
    assert!(comment.starts_with("\u{fffd}é") && comment.ends_with('é') && comment.len() <= 4096 + 3);
    assert_eq!(source.info().links.len(), 256);
}

#[test]
fn interfaces_are_bounded() {
    let mut capture = LITTLE.section(&[]);
    for _ in 0..65_537 {
        capture.extend(LITTLE.interface(1, 0, &[]));
    }
    capture.extend(LITTLE.enhanced(65_535, 0, 4, &data(4)));
    capture.extend(LITTLE.enhanced(65_536, 0, 4, &data(4)));
    let (frames, error) = read(&capture);
    assert_eq!((frames.len(), error.unwrap().kind()), (1, ErrorKind::Damaged));
}

#[test]
fn unknown_blocks_of_any_size() {
    for size in [0, 4, CAPACITY - 1, CAPACITY, 1 << 20, 5 << 20] {
        let unknown = LITTLE.block(0x7777, &[&data(size)]);
        let capture = [start(LITTLE), unknown.clone(), LITTLE.enhanced(0, 1, 4, &data(4)), unknown].concat();
        let frames = read_sound(&capture);
        assert_eq!((frames.len(), frames[0].number), (1, 1), "{size}");
    }
}

#[test]
fn blocks_that_wireshark_numbers() {
    for (kind, counts) in
        [(9, 1), (0xbad, 1), (0x4000_0bad, 1), (0x204, 1), (4, 0), (5, 0), (10, 0), (0x8000_0001, 0)]
    {
        let capture = [
            start(BIG),
            BIG.enhanced(0, 1, 4, &data(4)),
            BIG.block(kind, &[&data(40)]),
            BIG.enhanced(0, 1, 4, &data(4)),
        ]
        .concat();
        assert_eq!(read_sound(&capture)[1].number, 2 + counts, "{kind:#x}");
    }
}

/// Packet blocks that are larger than the buffer because of their options: the frame is read, the rest is skipped.
#[test]
fn packets_with_options_of_any_size() {
    let options = LITTLE.option(1, &data(60_000)).repeat(20);
    let big = LITTLE.enhanced_with(0, 1, 70, &data(70), &options);
    assert!(big.len() > 2 * CAPACITY);
    let small = LITTLE.enhanced(0, 2, 5, &data(5));
    let capture = [start(LITTLE), big.clone(), small.clone(), big.clone()].concat();
    let shown: Vec<_> = read_sound(&capture).iter().map(|frame| (frame.number, frame.bytes.len())).collect();
    assert_eq!(shown, [(1, 70), (2, 5), (3, 70)]);

    let (frames, error) = read(&capture[..capture.len() - 9]);
    let at = (capture.len() - big.len()) as u64;
    assert_eq!((frames.len(), error.as_ref().unwrap().kind()), (3, ErrorKind::CutShort));
    let message = error.unwrap().to_string();
    assert!(
        message.contains(&format!("at byte {at} announces {} bytes and 9 are missing", big.len())),
        "{message}"
    );

    let mut capture = capture;
    capture[48 + big.len() - 4] ^= 4;
    let (frames, error) = read(&capture);
    assert_eq!((frames.len(), error.unwrap().kind()), (1, ErrorKind::Damaged), "a trailer that disagrees");
}

/// The options of an interface may be longer than the buffer, and the option that matters may be the last.
#[test]
fn interfaces_with_options_of_any_size() {
    let options = [BIG.option(1, &data(65_535)).repeat(20), BIG.option(9, &[9])].concat();
    let capture =
        [BIG.section(&options), BIG.interface(1, 0, &options), BIG.enhanced(0, 77, 4, &data(4))].concat();
    assert_eq!(read_sound(&capture)[0].time, Some(77));
}

#[test]
fn invalid_options_are_ignored() {
    for order in [LITTLE, BIG] {
        let good = order.option(9, &[9]);
        let overrun = [order.half(1), order.half(500)].concat();
        let cut = order.half(1);
        for lie in [&overrun[..], &[&overrun[..], &[1, 2, 3, 4]].concat(), &cut, &[0xff; 8], &[0xff; 3]] {
            let options = [&good, lie].concat();
            let capture =
                [order.section(lie), order.interface(1, 0, &options), order.enhanced(0, 7, 4, &data(4))]
                    .concat();
            assert_eq!(read_sound(&capture)[0].time, Some(7), "{order:?} {lie:x?}");
        }
        let wrong = [order.option(9, &[]), order.option(9, &[1, 2]), order.option(14, &[1; 4])].concat();
        let capture =
            [order.section(&[]), order.interface(1, 0, &wrong), order.enhanced(0, 7, 4, &data(4))].concat();
        assert_eq!(read_sound(&capture)[0].time, Some(7000), "options of a wrong size are none");
        let twice = [order.option(9, &[9]), order.option(9, &[3])].concat();
        let capture =
            [order.section(&[]), order.interface(1, 0, &twice), order.enhanced(0, 7, 4, &data(4))].concat();
        assert_eq!(read_sound(&capture)[0].time, Some(7), "the first counts, as in Wireshark");
    }
}

/// Some writers write the padding but do not count it in the total length.
#[test]
fn a_total_length_without_its_padding() {
    for order in [LITTLE, BIG] {
        let mut packet = order.enhanced(0, 7, 5, &data(5));
        let total = order.word(packet.len() as u32 - 3);
        let end = packet.len() - 4;
        packet[4..8].copy_from_slice(&total);
        let capture = [start(order), packet.clone(), order.enhanced(0, 8, 4, &data(4))].concat();
        assert_eq!(read_sound(&capture).len(), 2, "rounded up at the end");
        packet[end..].copy_from_slice(&total);
        let capture = [start(order), packet, order.enhanced(0, 8, 4, &data(4))].concat();
        assert_eq!(read_sound(&capture).len(), 2, "the same at both ends");
    }
}

#[test]
fn reads_of_any_size() {
    let mut capture = Vec::new();
    for i in 0..3000u32 {
        let order = if i / 700 % 2 == 0 { LITTLE } else { BIG };
        if i % 700 == 0 {
            capture.extend(start(order));
        }
        let len = if i % 400 == 7 { MAX_FRAME } else { i % 1400 };
        capture.extend(order.enhanced(0, i.into(), len, &data(len as usize)));
    }
    let whole = read_sound(&capture);
    assert_eq!(whole.len(), 3000);
    for step in [977, 65_537, usize::MAX] {
        let mut source = Source::from_reader("pipe", Box::new(Pipe::new(&capture, step))).unwrap();
        let (frames, error) = drain(&mut source);
        assert!(error.is_none() && frames == whole, "step {step}");
    }
    let mut source = Source::from_reader("pipe", Box::new(Pipe::new(&capture[..9000], 1))).unwrap();
    assert_eq!(drain(&mut source).0, read(&capture[..9000]).0, "one byte at a time");
}
