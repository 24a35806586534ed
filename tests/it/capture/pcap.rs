//! Every variant of pcap.

use super::files::{BIG, Got, LITTLE, Order, Pipe, data, drain, open, read, read_sound};
use qdissect::capture::{CAPACITY, ErrorKind, MAX_FRAME, Source};

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// Two frames, the second one cut by a snap length.
fn two_frames(order: Order, magic: u32, extra: &[u8]) -> Vec<u8> {
    let first = order.record((1_700_000_000, 123_456), 60, extra, &data(60));
    let second = order.record((1_700_000_001, 999_999), 1500, extra, &data(33));
    [order.pcap(magic, 33, 1), first, second].concat()
}

#[test]
fn byte_orders_and_magics() {
    for order in [LITTLE, BIG] {
        for (magic, extra, unit) in [(MICRO, 0, 1000), (NANO, 0, 1), (MODIFIED, 8, 1000)] {
            let capture = two_frames(order, magic, &data(extra));
            let head = 16 + extra as u64;
            let first = Got {
                number: 1,
                time: Some(1_700_000_000_000_000_000 + 123_456 * unit),
                link: 1,
                at: 24 + head,
                wire_len: 60,
                bytes: data(60),
            };
            let second = Got {
                number: 2,
                time: Some(1_700_000_001_000_000_000 + 999_999 * unit),
                at: 24 + head + 60 + head,
                wire_len: 1500,
                bytes: data(33),
                ..first.clone()
            };
            assert_eq!(read_sound(&capture), [first, second], "{order:?} {magic:#x}");
        }
    }
}

#[test]
fn times_beyond_the_ordinary() {
    let capture = [
        LITTLE.pcap(MICRO, 65535, 1),
        LITTLE.record((0, 0), 1, &[], &[0]),
        LITTLE.record((1_700_000_000, 2_500_000), 1, &[], &[0]),
        LITTLE.record((u32::MAX, u32::MAX), 1, &[], &[0]),
    ]
    .concat();
    let times: Vec<_> = read_sound(&capture).iter().map(|frame| frame.time.unwrap()).collect();
    let last = u32::MAX as i64 * 1_000_000_000 + u32::MAX as i64 * 1000;
    assert_eq!(times, [0, 1_700_000_002_500_000_000, last], "carried, unsigned");

    let capture = [BIG.pcap(NANO, 0, 1), BIG.record((7, 3_000_000_001), 1, &[], &[0])].concat();
    assert_eq!(read_sound(&capture)[0].time, Some(10_000_000_001));
}

#[test]
fn link_type_is_the_low_half() {
    for order in [LITTLE, BIG] {
        // Four bytes of frame check sequence, and reserved bits.
        let capture = [order.pcap(MICRO, 0, 0x2401_0071), order.record((0, 0), 1, &[], &[0])].concat();
        let mut source = open(&capture).unwrap();
        assert_eq!(source.info().links, [113]);
        assert_eq!(source.info().snaplen, None, "0 is no limit");
        assert_eq!(drain(&mut source).0[0].link, 113);
    }
}

#[test]
fn lengths() {
    let capture = [
        LITTLE.pcap(MICRO, 10, 1),
        LITTLE.record((0, 0), 60, &[], &data(60)),
        LITTLE.record((0, 0), 3, &[], &data(4)),
        LITTLE.record((0, 0), 0, &[], &[]),
        LITTLE.record((0, 0), MAX_FRAME, &[], &data(MAX_FRAME as usize)),
    ]
    .concat();
    let lengths: Vec<_> =
        read_sound(&capture).iter().map(|frame| (frame.bytes.len(), frame.wire_len)).collect();
    assert_eq!(
        lengths,
        [(60, 60), (4, 4), (0, 0), (MAX_FRAME as usize, MAX_FRAME)],
        "more than the snap length and more than on the wire are accepted"
    );
}

#[test]
fn a_length_that_cannot_be() {
    for captured in [MAX_FRAME + 1, u32::MAX] {
        let mut capture = two_frames(LITTLE, MICRO, &[]);
        let at = capture.len() as u64;
        capture.extend([0, 0, captured, captured].map(u32::to_le_bytes).concat());
        let (frames, error) = read(&capture);
        let error = error.unwrap();
        assert_eq!((frames.len(), error.kind(), error.offset()), (2, ErrorKind::Damaged, Some(at)));
        assert_eq!(
            error.to_string(),
            format!(
                "the capture is damaged: the record at byte {at} announces {captured} bytes, \
                 and a frame has at most 262144; reading ends there"
            )
        );
    }
}

#[test]
fn a_header_and_nothing_else() {
    let capture = LITTLE.pcap(MICRO, 65535, 101);
    let mut source = open(&capture).unwrap();
    let facts = source.info().clone();
    assert_eq!((facts.format, &facts.links[..], facts.snaplen), ("pcap", &[101][..], Some(65535)));
    assert_eq!((facts.application, facts.comment), (None, None));
    assert_eq!(source.offset(), 24);
    assert!(drain(&mut source).0.is_empty());
}

#[test]
fn other_versions() {
    let mut capture = two_frames(LITTLE, MICRO, &[]);
    capture[4] = 3;
    assert_eq!(read_sound(&capture).len(), 2, "as Wireshark does");
    capture[4] = 1;
    let error = read(&capture).1.unwrap();
    assert_eq!(error.kind(), ErrorKind::NotACapture);
    assert_eq!(error.to_string(), "it is a pcap file of version 1, and only version 2 and later are known");
}

/// A capture larger than the buffer, in reads of many sizes: the result does not depend on where a read ends.
#[test]
fn reads_of_any_size() {
    let mut capture = LITTLE.pcap(MICRO, 0, 1);
    for i in 0..3000u32 {
        let len = if i % 500 == 7 { 100_000 } else { i % 1400 };
        capture.extend(LITTLE.record((i, i), len, &[], &data(len as usize)));
    }
    assert!(capture.len() > 4 * CAPACITY);
    let whole = read_sound(&capture);
    assert_eq!(whole.len(), 3000);
    for step in [511, 4096, 65_537, usize::MAX] {
        let mut source = Source::from_reader("pipe", Box::new(Pipe::new(&capture, step))).unwrap();
        let (frames, error) = drain(&mut source);
        assert!(error.is_none() && frames == whole, "step {step}");
        assert_eq!(source.offset(), capture.len() as u64);
    }
}

#[test]
fn one_byte_at_a_time() {
    for order in [LITTLE, BIG] {
        let capture = two_frames(order, MODIFIED, &data(8));
        let mut source = Source::from_reader("pipe", Box::new(Pipe::new(&capture, 1))).unwrap();
        assert_eq!(drain(&mut source).0, read_sound(&capture));
    }
}
