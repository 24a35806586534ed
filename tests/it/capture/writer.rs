//! Captures that are written read back unchanged, here and with `pcap-parser`.

use super::files::{BIG, LITTLE, Order, data, drain, open, read_sound};
use super::oracle::{Plain, blocks, theirs_pcapng};
use pcap_parser::pcapng::OptionCode;
use pcap_parser::{Block, PcapBlockOwned, PcapNGReader};
use proptest::prelude::*;
use qdissect::capture::{CaptureInfo, Frame, Interface, Source, Time, Writer};

/// A frame with its input and interface; its time is `None` where it is unknown.
type Taken = (usize, u32, Plain);

/// Everything in `captures`, written as one.
fn written(captures: &[Vec<u8>]) -> (Vec<u8>, Vec<Taken>) {
    let mut writer = Writer::new(Vec::new(), "test 1.0").unwrap();
    let mut taken = Vec::new();
    for (input, capture) in captures.iter().enumerate() {
        let mut source = open(capture).unwrap();
        while let Some(frame) = source.next().unwrap() {
            let bytes = frame.bytes.to_vec();
            let frame = Frame { bytes: &bytes, ..frame };
            writer.frame(input, source.info(), &frame, &[""; 0]).unwrap();
            taken.push((
                input,
                frame.interface,
                (frame.time.nanos(), frame.link, frame.wire_len, bytes.clone()),
            ));
        }
        writer.statistics(input, source.info()).unwrap();
    }
    (writer.finish().unwrap(), taken)
}

/// The frames of a capture, with their interfaces.
fn taken(capture: &[u8]) -> Vec<(u32, Plain)> {
    let mut source = open(capture).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = source.next().unwrap() {
        let plain = (frame.time.nanos(), frame.link, frame.wire_len, frame.bytes.to_vec());
        frames.push((frame.interface, plain));
    }
    frames
}

/// Comments of the packets, as `pcap-parser` reads them.
fn comments(capture: &[u8]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let wrong = blocks(Box::new(PcapNGReader::new(1 << 20, capture).unwrap()), |block| {
        if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
            let texts = packet.options.iter().filter(|o| o.code == OptionCode::Comment);
            all.push(texts.map(|o| o.as_str().unwrap().to_owned()).collect());
        }
    });
    assert!(!wrong);
    all
}

/// One step of a capture: which block, its numbers, its bytes.
type Step = (u8, u8, i64, u32, Vec<u8>);

/// Sections in either byte order, interfaces of several resolutions, packets with and without time.
fn capture(steps: &[Step]) -> Vec<u8> {
    let mut order = LITTLE;
    let mut interfaces = vec![0];
    let mut capture = [order.section(&[]), order.interface(1, 0, &[])].concat();
    for (kind, pick, number, wire_len, bytes) in steps {
        match kind {
            0 => {
                order = Order { big: pick & 1 != 0 };
                capture.extend(order.section(&[]));
                capture.extend(order.interface(u16::from(*pick), 64, &order.option(2, b"x")));
                interfaces = vec![64];
            }
            1 => {
                let options =
                    [order.option(9, &[pick % 12]), order.option(14, &order.long(number % 1_000_000_000))];
                capture.extend(order.interface(u16::from(*pick), 9, &options.concat()));
                interfaces.push(9);
            }
            2 => {
                let limit = if interfaces[0] == 0 { usize::MAX } else { interfaces[0] };
                let kept = &bytes[..bytes.len().min(limit)];
                capture.extend(order.block(3, &[&order.word(bytes.len() as u32), kept]));
            }
            _ => {
                let interface = u32::from(*pick) % interfaces.len() as u32;
                capture.extend(order.enhanced(interface, number.unsigned_abs(), *wire_len, bytes));
            }
        }
    }
    capture
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![proptest::collection::vec(any::<u8>(), 0..90), (0usize..3000).prop_map(data)];
    proptest::collection::vec((0u8..8, any::<u8>(), any::<i64>(), 0u32..3000, bytes), 0..40)
}

proptest! {
    /// Frames come back with their bytes, lengths, link types and times, and no two interfaces are mixed up.
    #[test]
    fn frames_come_back(inputs in proptest::collection::vec(steps(), 1..4)) {
        let captures: Vec<_> = inputs.iter().map(|steps| capture(steps)).collect();
        let (file, expected) = written(&captures);
        let back = taken(&file);
        prop_assert_eq!(back.len(), expected.len());
        let mut pairs = Vec::new();
        for ((input, interface, mut frame), (new, mut plain)) in expected.into_iter().zip(back) {
            if frame.0.is_none() && plain.0 == Some(0) {
                // Not written as a simple packet: the frame is not of the first interface, or has another length
                // than its snap length allows.
                prop_assert!(new != 0 || frame.3.len() != frame.2 as usize);
                (frame.0, plain.0) = (None, None);
            }
            prop_assert_eq!(&frame, &plain);
            pairs.push(((input, interface, frame.0 < Some(0) && frame.0.is_some()), new));
        }
        for (old, new) in &pairs {
            prop_assert!(pairs.iter().all(|(other, number)| (other == old) == (number == new)));
        }
    }

    /// `pcap-parser` reads the same frames.
    #[test]
    fn pcap_parser_reads_what_is_written(records in proptest::collection::vec((any::<u32>(), 0u32..1_000_000_000, 0u32..3000, 0usize..200), 0..30)) {
        let mut capture = BIG.pcap(0xa1b2_3c4d, 65_535, 113);
        for (seconds, nanos, wire_len, len) in records {
            capture.extend(BIG.record((seconds, nanos), wire_len, &[], &data(len)));
        }
        let (file, expected) = written(&[capture]);
        let expected: Vec<_> = expected.into_iter().map(|(_, _, plain)| plain).collect();
        prop_assert_eq!(theirs_pcapng(&file), expected);
    }

    /// Every time reads back unchanged, also from before 1970.
    #[test]
    fn times_come_back(times in proptest::collection::vec(any::<i64>(), 1..20)) {
        let info = CaptureInfo::default();
        let mut writer = Writer::new(Vec::new(), "").unwrap();
        for &nanos in &times {
            writer.frame(0, &info, &frame(Time::from_nanos(nanos), &data(4)), &[""; 0]).unwrap();
        }
        let expected: Vec<_> = times.iter().map(|&nanos| Time::from_nanos(nanos).nanos()).collect();
        let back: Vec<_> = read_sound(&writer.finish().unwrap()).iter().map(|got| got.time).collect();
        prop_assert_eq!(back, expected);
    }
}

fn frame(time: Time, bytes: &[u8]) -> Frame<'_> {
    Frame { number: 1, time, link: 1, interface: 0, at: 0, wire_len: bytes.len() as u32, bytes }
}

#[test]
fn descriptions_of_interfaces_and_losses_are_written() {
    let options = [LITTLE.option(2, b"eth0"), LITTLE.option(3, "der Mitschnitt für ☃".as_bytes())].concat();
    let capture = [
        LITTLE.section(&[]),
        LITTLE.interface(101, 0, &LITTLE.option(2, b"nothing of this one")),
        LITTLE.interface(1, 96, &options),
        LITTLE.enhanced(1, 1, 4, &data(4)),
        LITTLE.block(
            5,
            &[
                &LITTLE.word(1),
                &[0; 8],
                &LITTLE.option(4, &LITTLE.long(70)),
                &LITTLE.option(7, &LITTLE.long(9)),
            ],
        ),
    ]
    .concat();
    let (file, _) = written(&[capture]);
    let mut source = open(&file).unwrap();
    assert!(drain(&mut source).1.is_none());
    let info = source.info();
    let [unused, interface] = info.interfaces.as_slice() else { panic!("{info:?}") };
    assert_eq!((unused.link, unused.name.as_deref()), (101, Some("nothing of this one")));
    let Interface { link, snaplen, name, description, received, .. } = interface;
    assert_eq!((*link, *snaplen, name.as_deref(), *received), (1, Some(96), Some("eth0"), Some(70)));
    assert_eq!(description.as_deref(), Some("der Mitschnitt für ☃"));
    assert_eq!((info.dropped(), info.application.as_deref()), (Some(9), Some("test 1.0")));
}

#[test]
fn frames_without_a_time_stamp() {
    let info = CaptureInfo::default();
    let mut writer = Writer::new(Vec::new(), "").unwrap();
    writer.frame(0, &info, &frame(Time::UNKNOWN, &data(5)), &[""; 0]).unwrap();
    writer.frame(0, &info, &frame(Time::UNKNOWN, &data(5)), &["said"]).unwrap();
    writer.frame(0, &info, &Frame { wire_len: 9, ..frame(Time::UNKNOWN, &data(5)) }, &[""; 0]).unwrap();
    writer.frame(1, &info, &frame(Time::UNKNOWN, &data(5)), &[""; 0]).unwrap();
    let file = writer.finish().unwrap();
    let times: Vec<_> =
        read_sound(&file).iter().map(|got| (got.time, got.wire_len, got.bytes.len())).collect();
    assert_eq!(times, [(None, 5, 5), (Some(0), 5, 5), (Some(0), 9, 5), (Some(0), 5, 5)]);
    let untimed = "qdissect: this packet had no time stamp";
    assert_eq!(comments(&file), [&[untimed, "said"][..], &[untimed], &[untimed]]);
}

#[test]
fn comments_come_back_and_long_ones_are_cut() {
    let long = "é".repeat(40_000);
    let mut writer = Writer::new(Vec::new(), "").unwrap();
    let texts = ["one", "", "a \u{202e} third\nof two lines", &long];
    for count in 0..=texts.len() {
        writer
            .frame(0, &CaptureInfo::default(), &frame(Time::from_nanos(5), &data(6)), &texts[..count])
            .unwrap();
    }
    let file = writer.finish().unwrap();
    let read = comments(&file);
    assert_eq!((&read[0], &read[3]), (&vec![], &texts[..3].iter().map(|s| (*s).to_owned()).collect()));
    let cut = &read[4][3];
    let (kept, more) = cut.split_once(" … and ").unwrap();
    assert!(long.starts_with(kept) && cut.len() <= 65_535);
    assert_eq!(more, format!("{} more bytes", long.len() - kept.len()));
    assert!(read_sound(&file).iter().all(|got| got.bytes == data(6)));
}

/// Readers remember 65,536 interfaces in a section, so a new section begins after them.
#[test]
fn interfaces_beyond_the_limit_of_a_section() {
    let mut writer = Writer::new(Vec::new(), "").unwrap();
    for input in 0..65_537 {
        let frame = Frame { wire_len: input, ..frame(Time::from_nanos(5), &[]) };
        writer.frame(input as usize, &CaptureInfo::default(), &frame, &[""; 0]).unwrap();
    }
    let frames = taken(&writer.finish().unwrap());
    assert!(frames.iter().enumerate().all(|(i, (number, plain))| *number == i as u32 && plain.2 == i as u32));
    assert_eq!(frames.len(), 65_537);
}

#[test]
fn a_capture_without_frames_is_valid() {
    let file = Writer::new(Vec::new(), "nobody").unwrap().finish().unwrap();
    let source = Source::from_reader("empty", Box::new(std::io::Cursor::new(file))).unwrap();
    assert_eq!(source.info().application.as_deref(), Some("nobody"));
}
