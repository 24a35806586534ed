//! Captures as files: arbitrary files, blocks of pcapng, and compressed files.

use qdissect::capture::{Comments, ErrorKind, Frame, Source, Writer};
use qdissect::pipeline::{Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::screen::{self, Screen};
use qdissect::report::summary::Summary;
use qdissect::report::{Form, Output, summary};
use qdissect::text::escape::is_hostile;
use std::io::{self, Read};

use crate::kit::play::everything;

/// Maximum number of decompressed bytes that are read, because a few kilobytes can be compressed gigabytes.
const MOST_BYTES: u64 = 4 << 20;

/// A section header and an Ethernet interface, little-endian.
const LITTLE: &[u8] =
    b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\
    \x01\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0";
/// A section header and an Ethernet interface, big-endian.
const BIG: &[u8] =
    b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x1c\
    \0\0\0\x01\0\0\0\x14\0\x01\0\0\0\0\0\0\0\0\0\x14";

/// First bytes of the compression formats: gzip, zstd, lz4, its legacy form, xz, bzip2, a skippable frame.
pub const MAGICS: [&[u8]; 7] = [
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"\x02\x21\x4c\x18",
    b"\xfd7zXZ\0",
    b"BZh",
    b"\x50\x2a\x4d\x18",
];

/// Returns a few bytes at a time, as a pipe may.
struct Drops(Vec<u8>, usize, usize);

impl Read for Drops {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Drops(bytes, at, step) = self;
        let most = (*step).min(to.len()).min(bytes.len() - *at);
        to[..most].copy_from_slice(&bytes[*at..*at + most]);
        *at += most;
        Ok(most)
    }
}

/// A frame that was read.
#[derive(Debug, PartialEq)]
struct Kept {
    head: (u64, Option<i64>, u16, u32, u64, u32),
    bytes: Vec<u8>,
}

impl Kept {
    fn of(f: &Frame<'_>) -> Kept {
        let head = (f.number, f.time.nanos(), f.link, f.interface, f.at, f.wire_len);
        Kept { head, bytes: f.bytes.to_vec() }
    }
}

/// The kind of an error, its offset and its message.
type End = Option<(ErrorKind, Option<u64>, String)>;

/// Reads a capture `step` bytes at a time. Returns its frames, and the error that ended it.
fn read(bytes: &[u8], step: usize) -> (Vec<Kept>, End) {
    let reader = Drops(bytes.to_vec(), 0, step);
    let checked_error = |e: qdissect::capture::Error| {
        let text = e.to_string();
        assert!(!text.chars().any(is_hostile), "{text:?} does something to a terminal");
        Some((e.kind(), e.offset(), text))
    };
    let mut source = match Source::from_reader("fuzz", Box::new(reader)) {
        Ok(source) => source,
        Err(e) => return (vec![], checked_error(e)),
    };
    let comments = Comments::default();
    source.comment_into(&comments);
    let (mut frames, mut before): (Vec<Kept>, u64) = (vec![], 0);
    loop {
        match source.next() {
            Ok(Some(frame)) => frames.push(Kept::of(&frame)),
            Ok(None) => return (frames, None),
            Err(e) => {
                assert!(
                    matches!(source.next(), Ok(None)),
                    "an error is told once, and then there is nothing"
                );
                return (frames, checked_error(e));
            }
        }
        assert!(source.offset() > before, "reading stands still at {before}");
        before = source.offset();
        if before > MOST_BYTES {
            return (frames, None);
        }
    }
}

/// Checks that the same frames are read with any read size, and returns them. If a compressed stream is damaged, the last
/// decompressed bytes may be lost; how many depends on the read size.
fn steady(bytes: &[u8], step: usize) -> Vec<Kept> {
    let (whole, drops) = (read(bytes, usize::MAX), read(bytes, step));
    let skippable = matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    let packed = skippable || MAGICS.iter().any(|magic| bytes.starts_with(magic));
    if packed && whole.1.is_some() {
        let same = whole.0.len().min(drops.0.len());
        assert!(drops.1.is_some(), "{step} bytes at a time, nothing is wrong: {:?}", whole.1);
        assert_eq!(drops.0[..same], whole.0[..same], "{step} bytes at a time tell something else");
    } else {
        assert_eq!(drops, whole, "{step} bytes at a time tell something else");
    }
    let (frames, end) = whole;
    assert!(frames.is_sorted_by(|a, b| a.head.0 < b.head.0 && a.head.4 < b.head.4), "out of order");
    if let Some((kind, at, _)) = end {
        assert!(kind != ErrorKind::Io, "nothing failed to be read");
        assert!(frames.is_empty() || at.is_some(), "an error behind frames has a place");
    }
    frames
}

/// Checks that frames that are written and read back are the same except for their offsets.
fn copied(frames: &[Kept]) {
    let mut writer = Writer::new(vec![], "fuzz").expect("memory takes everything");
    let mut source = Source::from_reader("fuzz", Box::new(LITTLE)).expect("it is a capture without packets");
    assert!(matches!(source.next(), Ok(None)));
    for Kept { head: (number, time, link, interface, at, wire_len), bytes } in frames {
        let time = time.map_or(qdissect::capture::Time::UNKNOWN, qdissect::capture::Time::from_nanos);
        let (number, link, interface, at, wire_len) = (*number, *link, *interface, *at, *wire_len);
        let frame = Frame { number, time, link, interface, at, wire_len, bytes };
        writer.frame(0, source.info(), &frame, &[""; 0]).expect("memory takes everything");
    }
    let file = writer.finish().expect("memory takes everything");
    let (again, end) = read(&file, usize::MAX);
    assert_eq!(end, None, "what was written cannot be read");
    let frame_key = |k: &Kept| (k.head.2, k.head.5, k.bytes.clone());
    let (before, after): (Vec<_>, Vec<_>) =
        (frames.iter().map(frame_key).collect(), again.iter().map(frame_key).collect());
    assert_eq!(after, before, "what was written is not what is read");
}

/// Runs the whole pipeline to the summary, as `qdissect FILE` does.
fn summarised(bytes: &[u8]) {
    let reader = Drops(bytes.to_vec(), 0, usize::MAX);
    let Ok(mut source) = Source::from_reader("fuzz", Box::new(reader)) else { return };
    let options = qdissect::pipeline::Options { min_confidence: Level::Medium, ..everything() };
    let mut summary = Summary::default();
    let mut pipeline = Pipeline::new(options, &mut summary);
    let stopped = pipeline.read(&mut source, "fuzz");
    assert!(!matches!(stopped, Err(Stopped::Report(_))), "the summary takes everything");
    let totals = pipeline.finish(stopped.is_ok()).expect("the summary takes everything");
    let mut text = vec![];
    screen::write(&mut text, Screen { width: 80, colour: false, ..Screen::default() }, &summary, &totals)
        .expect("memory");
    let text = String::from_utf8(text).expect("the screen is text");
    assert!(!text.chars().any(|c| c != '\n' && is_hostile(c)), "the screen is not harmless: {text:?}");
    let mut records = vec![];
    summary::records(&mut Output::new(&mut records, Form::Json, false), &summary, &totals).expect("memory");
    serde_json::from_slice::<serde_json::Value>(&records).expect("records are JSON");
}

/// A file of any kind.
pub fn file(bytes: &[u8]) {
    let step = bytes.len() % 61 + 1;
    copied(&steady(bytes, step));
    summarised(bytes);
}

/// Blocks after a section header and an interface. The lowest bit of the first byte is the byte order; with the next one, the
/// blocks have no lengths: type u8, length of the body u8, body.
pub fn pcapng(bytes: &[u8]) {
    let Some((flags, blocks)) = bytes.split_first() else { return };
    let big = flags & 1 != 0;
    let mut file = if big { BIG } else { LITTLE }.to_vec();
    if flags & 2 == 0 {
        file.extend(blocks);
    } else {
        blocks_of(blocks, big, &mut file);
    }
    copied(&steady(&file, usize::from(flags >> 2) + 1));
    summarised(&file);
}

fn blocks_of(bytes: &[u8], big: bool, file: &mut Vec<u8>) {
    let mut input = super::input::Input::new(bytes);
    while !input.is_empty() {
        let (kind, length) = (input.byte(), usize::from(input.byte()));
        let mut body = input.take(length).to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let kind = if kind == 0 { 0x0a0d_0d0a } else { u32::from(kind) };
        let number = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let total = number(body.len() as u32 + 12);
        file.extend([number(kind), total].as_flattened());
        file.extend(body);
        file.extend(total);
    }
}

/// A compressed file: the first byte selects the format, whose first bytes are inserted.
pub fn unpack(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let mut file = MAGICS[usize::from(*kind) % MAGICS.len()].to_vec();
    file.extend(rest);
    steady(&file, usize::from(*kind >> 3) + 1);
}
