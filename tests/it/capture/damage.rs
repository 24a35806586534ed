//! Inputs that are cut, damaged, not captures at all, or slow.

use super::files::{BIG, Got, LITTLE, Order, Pipe, data, drain, open, read, read_sound};
use proptest::prelude::*;
use qdissect::capture::{Error, ErrorKind, Source};
use std::error::Error as _;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Parts of a capture, and whether each is a frame.
type Parts = Vec<(Vec<u8>, bool)>;

fn pcap_parts(order: Order, magic: u32, extra: usize) -> Parts {
    let record = |len: usize| (order.record((1, 2), len as u32, &data(extra), &data(len)), true);
    vec![(order.pcap(magic, 0, 1), false), record(60), record(0), record(1), record(74)]
}

fn pcapng_parts(order: Order, other: Order) -> Parts {
    let options = [order.option(1, b"comment"), order.option(4, b"app"), order.option(0, &[])].concat();
    vec![
        (order.section(&options), false),
        (order.interface(1, 40, &order.option(9, &[9])), false),
        (order.enhanced(0, 7, 33, &data(33)), true),
        (order.block(5, &[&data(24)]), false),
        (order.block(3, &[&order.word(38), &data(38)]), true),
        (order.block(2, &[&[0; 12], &order.word(2), &order.word(2), &data(2)]), true),
        (other.section(&[]), false),
        (other.interface(101, 0, &[]), false),
        (other.enhanced_with(0, 8, 0, &[], &other.option(1, b"empty")), true),
    ]
}

fn join(parts: &Parts) -> Vec<u8> {
    parts.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
}

/// Cuts at every byte: checks that the frames before the cut are read, and that the error names the start of the cut
/// part.
fn cut_everywhere(parts: &Parts, least: usize) {
    let capture = join(parts);
    let whole = read_sound(&capture);
    for cut in 0..capture.len() {
        let (mut start, mut frames) = (0, 0);
        for (bytes, is_frame) in parts {
            if start + bytes.len() > cut {
                break;
            }
            start += bytes.len();
            frames += usize::from(*is_frame);
        }
        let (got, error) = read(&capture[..cut]);
        assert_eq!(got, whole[..frames], "cut at {cut}");
        match error {
            None => assert!(cut == start && cut >= least, "cut at {cut}"),
            Some(error) if cut < least => assert_eq!(error.kind(), ErrorKind::NotACapture, "cut at {cut}"),
            Some(error) => {
                assert_eq!(
                    (error.kind(), error.offset()),
                    (ErrorKind::CutShort, Some(start as u64)),
                    "cut at {cut}"
                );
                let message = error.to_string();
                assert!(message.contains(&format!("at byte {start} ")), "{message}");
                assert!(cut != start && error.source().is_none());
            }
        }
    }
}

#[test]
fn cut_at_every_byte() {
    for order in [LITTLE, BIG] {
        cut_everywhere(&pcap_parts(order, 0xa1b2_c3d4, 0), 24);
        cut_everywhere(&pcap_parts(order, 0xa1b2_cd34, 8), 24);
    }
    cut_everywhere(&pcapng_parts(LITTLE, BIG), 28);
    cut_everywhere(&pcapng_parts(BIG, LITTLE), 28);
}

#[test]
fn cut_messages() {
    let capture = join(&pcap_parts(LITTLE, 0xa1b2_c3d4, 0));
    let message = |capture: &[u8]| read(capture).1.unwrap().to_string();
    assert_eq!(
        message(&capture[..capture.len() - 7]),
        "the capture is cut short: the record at byte 133 announces 74 bytes and 7 are missing"
    );
    assert_eq!(
        message(&capture[..capture.len() - 1]),
        "the capture is cut short: the record at byte 133 announces 74 bytes and 1 is missing"
    );
    assert_eq!(
        message(&capture[..138]),
        "the capture is cut short: of the head of the record at byte 133 there are 5 of 16 bytes"
    );
    let capture = join(&pcapng_parts(LITTLE, LITTLE));
    assert_eq!(
        message(&capture[..56]),
        "the capture is cut short: of the head of the block at byte 52 there are 4 of 8 bytes"
    );
    assert_eq!(
        message(&capture[..60]),
        "the capture is cut short: the interface description block at byte 52 announces 28 bytes and 20 are missing"
    );
}

#[test]
fn blocks_that_contradict_themselves() {
    for order in [LITTLE, BIG] {
        let start =
            [order.section(&[]), order.interface(1, 60, &[]), order.enhanced(0, 1, 4, &data(4))].concat();
        let at = start.len();
        let packet = order.enhanced(0, 1, 60, &data(60));
        let simple = order.block(3, &[&order.word(60), &data(40)]);
        let changed = |block: &[u8], place: usize, value: u32| {
            let mut block = block.to_vec();
            block[place..place + 4].copy_from_slice(&order.word(value));
            block
        };
        let cases = [
            (changed(&packet, 4, 0), "has a total length of 0 bytes and needs 12"),
            (changed(&packet, 4, 8), "has a total length of 8 bytes and needs 12"),
            (changed(&packet, 4, 28), "has a total length of 28 bytes and needs 32"),
            (changed(&packet, 88, 93), "has a total length of 92 bytes at its start and 93 at its end"),
            (changed(&packet, 20, 61), "announces 61 captured bytes and has room for 60"),
            (changed(&packet, 20, 262_145), "announces 262145 bytes, and a frame has at most 262144"),
            (changed(&packet, 8, 1), "refers to interface 1, counted from 0"),
            (simple, "announces 60 captured bytes and has room for 40"),
            (
                changed(&order.block(0x777, &[&[0; 8]]), 16, 0),
                "has a total length of 20 bytes at its start and 0 at its end",
            ),
            (changed(&order.interface(1, 0, &[]), 4, 16), "has a total length of 16 bytes and needs 20"),
            (changed(&order.section(&[]), 4, 24), "has a total length of 24 bytes and needs 28"),
            (changed(&order.section(&[]), 8, 5), "in place of its byte order, 0x1a2b3c4d"),
            (changed(&order.section(&[]), 12, 0x0002_0002), "is of version 2.2, and only 1.0 is known"),
        ];
        for (block, wrong) in cases {
            let (frames, error) = read(&[&start[..], &block].concat());
            assert_eq!(frames.len(), 1);
            let error = error.unwrap();
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Damaged, Some(at as u64)), "{wrong}");
            let message = error.to_string();
            assert!(message.contains(wrong), "{message}");
            assert!(message.contains(&format!("block at byte {at} ")), "{message}");
        }
    }
}

#[test]
fn a_packet_before_any_interface() {
    for packet in [LITTLE.enhanced(0, 1, 4, &data(4)), LITTLE.block(3, &[&LITTLE.word(4), &data(4)])] {
        let (frames, error) = read(&[LITTLE.section(&[]), packet].concat());
        let error = error.unwrap();
        assert_eq!((frames.len(), error.kind(), error.offset()), (0, ErrorKind::Damaged, Some(28)));
    }
}

#[test]
fn no_captures() {
    let cases: [(&[u8], &str); 13] = [
        (b"", "it is empty"),
        (b"a", "it is text"),
        (b"Hello, this is a text of more than one line,\nsaved as a capture\n", "it is text"),
        ("Grüße".as_bytes(), "it is text"),
        (&"Grüße"[..].as_bytes()[..3], "it is text"),
        (&[0xff; 40], "its first bytes are ff ff ff ff ff ff ff ff;"),
        (b"PK\x03\x04\x14\0", "`unzip -p FILE | qdissect -`"),
        (b"LZIP\x01\x0c", "compressed with lzip, which is not read"),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff", "`xz -dc FILE | qdissect -`"),
        (b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", "a capture of Solaris' snoop, which is not read"),
        (b"snoop 1", "it is text"),
        (&[0; 100], "`editcap -F pcapng FILE NEW` converts others"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x01\x02\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "not a capture"),
    ];
    for (input, text) in cases {
        let error = open(input).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::NotACapture, None), "{input:x?}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(error.path(), Path::new("memory"));
    }
}

#[test]
fn files_that_cannot_be_opened() {
    let missing = Source::open(Path::new("no such file")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.to_string().starts_with("the capture cannot be opened: "), "{missing}");
    assert!(missing.source().unwrap().is::<io::Error>());
    let directory = Source::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
    assert_eq!(directory.kind(), ErrorKind::NotACapture);
    assert!(directory.to_string().contains("it is a directory"), "{directory}");
}

/// A reader that fails after its bytes.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self.0.read(space)? {
            0 => Err(io::Error::other("the cable was pulled")),
            got => Ok(got),
        }
    }
}

#[test]
fn reads_that_fail() {
    for parts in [pcap_parts(BIG, 0xa1b2_c3d4, 0), pcapng_parts(LITTLE, BIG)] {
        let capture = join(&parts);
        let whole = read_sound(&capture);
        let mut source =
            Source::from_reader("wire", Box::new(Failing(io::Cursor::new(capture.clone())))).unwrap();
        let (frames, error) = drain(&mut source);
        let error = error.unwrap();
        assert_eq!(
            (frames, error.kind(), error.offset()),
            (whole, ErrorKind::Io, Some(capture.len() as u64))
        );
        assert_eq!(
            error.to_string(),
            format!("the capture cannot be read on from byte {}: the cable was pulled", capture.len())
        );
        assert_eq!(error.path(), Path::new("wire"));
    }
    let error = Source::from_reader("wire", Box::new(Failing(io::Cursor::new(vec![])))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
}

/// A reader that gives one piece per read, and panics when asked for more.
struct Live(std::vec::IntoIter<Vec<u8>>);

impl Read for Live {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.next().expect("not asked before its time");
        space[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

/// A complete frame is handed out without another read, which might wait for ever.
#[test]
fn live_frames_are_not_held_back() {
    let parts = pcap_parts(LITTLE, 0xa1b2_c3d4, 0);
    let pieces: Vec<_> = parts.iter().map(|(bytes, _)| bytes.clone()).collect();
    let mut source = Source::from_reader("pipe", Box::new(Live(pieces.into_iter()))).unwrap();
    for number in 1..=4 {
        assert_eq!(source.next().unwrap().unwrap().number, number);
    }
    let parts = pcapng_parts(LITTLE, LITTLE);
    let pieces: Vec<_> = parts.iter().map(|(bytes, _)| bytes.clone()).collect();
    let mut source = Source::from_reader("pipe", Box::new(Live(pieces.into_iter()))).unwrap();
    for number in 1..=4 {
        assert_eq!(source.next().unwrap().unwrap().number, number);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_by_its_path() {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    let (reader, mut writer) = io::pipe().unwrap();
    let capture = join(&pcap_parts(BIG, 0xa1b2_3c4d, 0));
    writer.write_all(&capture).unwrap();
    drop(writer);
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    let (frames, error) = drain(&mut Source::open(Path::new(&path)).unwrap());
    assert!(error.is_none());
    assert_eq!(frames, read_sound(&capture));
}

/// A reader that notes how many bytes are requested.
struct Asked(io::Cursor<Vec<u8>>, Arc<Mutex<Vec<usize>>>);

impl Read for Asked {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.1.lock().unwrap().push(space.len());
        self.0.read(space)
    }
}

#[test]
fn reads_are_large_and_few() {
    let record = LITTLE.record((1, 2), 1000, &[], &data(1000));
    let capture = [LITTLE.pcap(0xa1b2_c3d4, 0, 1), record.repeat(4000)].concat();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let reader = Asked(io::Cursor::new(capture.clone()), asked.clone());
    let mut source = Source::from_reader("memory", Box::new(reader)).unwrap();
    assert_eq!(drain(&mut source).0.len(), 4000);
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|&size| size == 256 * 1024), "{asked:?}");
    assert_eq!(asked.len(), capture.len().div_ceil(256 * 1024) + 1);
}

/// Reads any input, at once and in small pieces, and checks that both give the same and end.
fn survives(capture: &[u8]) -> (Vec<Got>, Option<Error>) {
    let (frames, error) = read(capture);
    assert!(frames.len() <= capture.len() / 16);
    if let Ok(mut source) = Source::from_reader("pipe", Box::new(Pipe::new(capture, 13))) {
        let (again, other) = drain(&mut source);
        assert!(source.offset() <= capture.len() as u64);
        assert_eq!((&again, other.map(|e| e.to_string())), (&frames, error.as_ref().map(|e| e.to_string())));
    }
    (frames, error)
}

const MAGICS: [u32; 6] = [0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1, 0xa1b2_cd34, 0x34cd_b2a1];

proptest! {
    #[test]
    fn random_bytes_after_a_magic(magic in proptest::sample::select(&MAGICS[..]), mut bytes: Vec<u8>) {
        survives(&[&magic.to_le_bytes()[..], &bytes].concat());
        // Short lengths, so that some records are whole.
        for byte in bytes.iter_mut().skip(20).step_by(2) {
            *byte = 0;
        }
        survives(&[&magic.to_le_bytes()[..], &bytes].concat());
    }

    #[test]
    fn random_blocks_after_a_section(big: bool, blocks in proptest::collection::vec((0u32..8, proptest::collection::vec(prop_oneof![Just(0u8), 0u8..40, any::<u8>()], 0..80)), 0..12)) {
        let order = Order { big };
        let mut capture = [order.section(&[]), order.interface(1, 0, &[])].concat();
        for (kind, body) in blocks {
            capture.extend(order.block(kind, &[&body]));
        }
        survives(&capture);
        survives(&[&capture[..28], &data(100)].concat());
    }

    #[test]
    fn bytes_changed_in_a_sound_capture(ng: bool, big: bool, changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6)) {
        let (order, other) = if big { (BIG, LITTLE) } else { (LITTLE, BIG) };
        let mut capture = join(&if ng { pcapng_parts(order, other) } else { pcap_parts(order, 0xa1b2_c3d4, 0) });
        for (at, value) in changes {
            let at = at.index(capture.len());
            capture[at] = value;
        }
        survives(&capture);
    }
}
