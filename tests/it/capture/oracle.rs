//! Compares the frames with those of `pcap-parser`, where that is right.

use super::files::{Got, LITTLE, Order, data, read, read_sound};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};
use proptest::prelude::*;

const CAPACITY: usize = 1 << 15;

/// The values compared: time, link type, length on the wire, bytes.
pub type Plain = (Option<i64>, u16, u32, Vec<u8>);

fn ours(capture: &[u8]) -> Vec<Plain> {
    plain(read_sound(capture))
}

fn plain(got: Vec<Got>) -> Vec<Plain> {
    got.into_iter().map(|Got { time, link, wire_len, bytes, .. }| (time, link, wire_len, bytes)).collect()
}

/// Passes each block of a capture to `each`, up to a fault; returns whether there was one.
pub fn blocks(mut reader: Box<dyn PcapReaderIterator + '_>, mut each: impl FnMut(PcapBlockOwned)) -> bool {
    let mut asked = 0;
    loop {
        match reader.next() {
            Ok((size, block)) => {
                each(block);
                reader.consume(size);
                asked = 0;
            }
            Err(PcapError::Eof) => return false,
            // At the end of a file, `pcap-parser` may ask for more for ever.
            Err(PcapError::Incomplete(_)) if asked < 3 => {
                asked += 1;
                reader.refill().unwrap();
            }
            Err(_) => return true,
        }
    }
}

/// The frames of a capture in which nothing is wrong.
fn sound((frames, wrong): (Vec<Plain>, bool)) -> Vec<Plain> {
    assert!(!wrong, "it ends too early");
    frames
}

fn theirs_pcap(capture: &[u8]) -> (Vec<Plain>, bool) {
    let (mut link, mut unit, mut frames) = (0, 1000, Vec::new());
    let wrong = blocks(Box::new(LegacyPcapReader::new(CAPACITY, capture).unwrap()), |block| match block {
        PcapBlockOwned::LegacyHeader(header) => {
            link = header.network.0 as u16;
            unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
        }
        PcapBlockOwned::Legacy(record) => {
            let nanos = i64::from(record.ts_sec) * 1_000_000_000 + i64::from(record.ts_usec) * unit;
            frames.push((Some(nanos), link, record.origlen.max(record.caplen), record.data.to_vec()));
        }
        PcapBlockOwned::NG(_) => panic!("not pcapng"),
    });
    (frames, wrong)
}

/// The time in nanoseconds, computed in another way than in the code under test.
fn nanos(resolution: u8, offset: i64, count: u64) -> i64 {
    let units = if resolution < 0x80 { 10u128.pow(resolution.into()) } else { 1 << (resolution & 0x7f) };
    let (whole, part) = (u128::from(count) / units, u128::from(count) % units);
    let nanos = (whole as i128 + i128::from(offset)) * 1_000_000_000 + (part * 1_000_000_000 / units) as i128;
    // The year 2262 is the last one that fits.
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

pub fn theirs_pcapng(capture: &[u8]) -> Vec<Plain> {
    sound(damaged_pcapng(capture))
}

/// The frames of a capture in which packets may be damaged, and whether a fault was found.
fn damaged_pcapng(capture: &[u8]) -> (Vec<Plain>, bool) {
    let (mut interfaces, mut frames, mut unknown) = (Vec::new(), Vec::new(), false);
    let wrong = blocks(Box::new(PcapNGReader::new(CAPACITY, capture).unwrap()), |block| match block {
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(idb)) => {
            interfaces.push((idb.linktype.0 as u16, idb.snaplen, idb.if_tsresol, idb.if_tsoffset));
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            // `pcap-parser` does not check that the interface exists.
            let Some(&(link, _, resolution, offset)) = interfaces.get(packet.if_id as usize) else {
                unknown = true;
                return;
            };
            if unknown {
                return;
            }
            let count = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let wire_len = packet.origlen.max(packet.caplen);
            frames.push((
                Some(nanos(resolution, offset, count)),
                link,
                wire_len,
                packet.packet_data().to_vec(),
            ));
        }
        // Where the length of a block is not a multiple of four, it cuts the packet.
        PcapBlockOwned::NG(Block::SimplePacket(packet)) if !packet.block_len1.is_multiple_of(4) => {
            unknown = true
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) if !unknown => {
            let (link, snaplen, ..) = interfaces[0];
            let limit = if snaplen == 0 { usize::MAX } else { snaplen as usize };
            let data = packet.packet_data();
            frames.push((None, link, packet.origlen, data[..data.len().min(limit)].to_vec()));
        }
        // Nor does it read the obsolete Packet Block, which a damaged type can name; it gives types of unknown
        // blocks as little-endian in every section.
        PcapBlockOwned::NG(Block::Unknown(block)) if [2, 2u32.to_be()].contains(&block.block_type) => {
            unknown = true
        }
        PcapBlockOwned::NG(_) => {}
        _ => panic!("not pcap"),
    });
    (frames, wrong || unknown)
}

/// Positions of bytes and their new values.
type Damage = Vec<(prop::sample::Index, u8)>;

fn damage() -> impl Strategy<Value = Damage> {
    let notable = proptest::sample::select(&[0u8, 1, 2, 3, 4, 6, 8, 28, 32, 60, 0x7f, 0x80, 0xff][..]);
    proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![notable, any::<u8>()]), 1..4)
}

/// Both readers agree on the frames of a damaged capture that both read; the one that reads fewer reports an error.
fn agree(capture: &[u8], (theirs, wrong): (Vec<Plain>, bool)) {
    let (got, error) = read(capture);
    let ours = plain(got);
    let both = ours.len().min(theirs.len());
    assert_eq!(ours[..both], theirs[..both]);
    assert!(ours.len() >= theirs.len() || error.is_some(), "{} frames of {}", ours.len(), theirs.len());
    assert!(ours.len() <= theirs.len() || wrong, "{} frames, and there are {}", ours.len(), theirs.len());
}

/// As [`agree`], for a capture that is damaged after its head, and for the same capture when it is also cut there.
fn agree_once_damaged(
    (mut capture, head): (Vec<u8>, usize),
    damage: Damage,
    cut: prop::sample::Index,
    theirs: fn(&[u8]) -> (Vec<Plain>, bool),
) {
    for (at, byte) in damage {
        let at = head + at.index(capture.len() - head);
        capture[at] = byte;
    }
    agree(&capture, theirs(&capture));
    capture.truncate(head + cut.index(capture.len() - head));
    agree(&capture, theirs(&capture));
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..90), (0usize..3000).prop_map(data)]
}

/// One step of a pcapng file: which block, its numbers, its bytes.
type Step = (u8, u8, u64, u32, Vec<u8>);

/// A sound file: sections in either byte order, interfaces of many resolutions, packets of both
/// kinds, options and unknown blocks. No offset in big-endian sections, which pcap-parser misreads.
fn pcapng(first: bool, steps: Vec<Step>) -> Vec<u8> {
    let mut order = Order { big: first };
    let mut interfaces: Vec<(u32, u8)> = Vec::new();
    let mut capture = order.section(&order.option(4, b"generated"));
    for (kind, pick, number, wire_len, bytes) in steps {
        let comment = order.option(1, &bytes[..bytes.len().min(50)]);
        match kind {
            0 => {
                order = Order { big: pick & 1 != 0 };
                interfaces.clear();
                capture.extend(order.section(&comment));
            }
            1 | 2 => {
                let resolution = [6, 9, 3, 0, 0x8a, 0x94, 0x9e, 12][usize::from(pick & 7)];
                let snaplen = if pick & 8 == 0 { 0 } else { 64 };
                let mut options = [comment, order.option(9, &[resolution])].concat();
                if !order.big {
                    options.extend(order.option(14, &order.long((number % 4001) as i64 - 2000)));
                }
                interfaces.push((snaplen, resolution));
                capture.extend(order.interface(number as u16 % 300, snaplen, &options));
            }
            3 => capture.extend(order.block(0x1000 + u32::from(pick), &[&bytes])),
            _ if interfaces.is_empty() => {}
            4 => {
                let limit = if interfaces[0].0 == 0 { usize::MAX } else { interfaces[0].0 as usize };
                capture.extend(
                    order.block(3, &[&order.word(bytes.len() as u32), &bytes[..bytes.len().min(limit)]]),
                );
            }
            _ => {
                let interface = usize::from(pick) % interfaces.len();
                // Within the range of years that fits.
                let seconds = number % 4_000_000_000;
                let resolution = interfaces[interface].1;
                let units =
                    if resolution < 0x80 { 10u64.pow(resolution.into()) } else { 1 << (resolution & 0x7f) };
                let count = (seconds % (u64::MAX / units)) * units + (number >> 32) % units;
                let options = if pick & 1 == 0 { comment } else { Vec::new() };
                capture.extend(order.enhanced_with(interface as u32, count, wire_len, &bytes, &options));
            }
        }
    }
    capture
}

proptest! {
    #[test]
    fn pcap_as_pcap_parser(
        big: bool,
        magic in proptest::sample::select(&[0xa1b2_c3d4u32, 0xa1b2_3c4d][..]),
        link: u16,
        records in proptest::collection::vec(((any::<u32>(), any::<u32>()), 0u32..3000, bytes()), 0..40),
    ) {
        let order = Order { big };
        let mut capture = order.pcap(magic, 65535, link.into());
        for (time, wire_len, bytes) in &records {
            capture.extend(order.record(*time, *wire_len, &[], bytes));
        }
        prop_assert_eq!(ours(&capture), sound(theirs_pcap(&capture)));
    }

    #[test]
    fn modified_pcap_as_pcap_parser(records in proptest::collection::vec((any::<u32>(), any::<[u8; 8]>(), bytes()), 0..40)) {
        let mut capture = LITTLE.pcap(0xa1b2_cd34, 65535, 1);
        for (time, extra, bytes) in &records {
            capture.extend(LITTLE.record((*time, 5), bytes.len() as u32, extra, bytes));
        }
        prop_assert_eq!(ours(&capture), sound(theirs_pcap(&capture)));
    }

    #[test]
    fn pcapng_as_pcap_parser(
        first: bool,
        steps in proptest::collection::vec((0u8..12, any::<u8>(), any::<u64>(), 0u32..3000, bytes()), 0..60),
    ) {
        let capture = pcapng(first, steps);
        prop_assert_eq!(ours(&capture), theirs_pcapng(&capture));
    }
}

proptest! {
    #[test]
    fn damaged_pcap_as_pcap_parser(
        big: bool,
        records in proptest::collection::vec((any::<u32>(), 0u32..3000, bytes()), 1..20),
        damage in damage(),
        cut in any::<prop::sample::Index>(),
    ) {
        let order = Order { big };
        let mut capture = order.pcap(0xa1b2_c3d4, 65535, 1);
        let head = capture.len();
        for (time, wire_len, bytes) in &records {
            capture.extend(order.record((*time, 5), *wire_len, &[], bytes));
        }
        agree_once_damaged((capture, head), damage, cut, theirs_pcap);
    }

    /// Damage after the interface descriptions: with damaged ones, `pcap-parser` computes wrong time stamps.
    #[test]
    fn damaged_pcapng_as_pcap_parser(
        big: bool,
        packets in proptest::collection::vec((0u8..3, any::<u32>(), 0u32..3000, bytes()), 1..20),
        damage in damage(),
        cut in any::<prop::sample::Index>(),
    ) {
        let order = Order { big };
        let mut capture = [order.section(&[]), order.interface(1, 0, &[]), order.interface(101, 0, &[])].concat();
        let head = capture.len();
        for (kind, time, wire_len, bytes) in &packets {
            let packet = match kind {
                0 => order.block(3, &[&order.word(bytes.len() as u32), bytes]),
                _ => order.enhanced(u32::from(kind - 1), (*time).into(), *wire_len, bytes),
            };
            capture.extend(packet);
        }
        agree_once_damaged((capture, head), damage, cut, damaged_pcapng);
    }
}
