//! Compressed captures: sound, cut, damaged, followed by other bytes, larger than they look.
//!
//! The files were made with the programs of the formats, see `captures/README.md`: `base` is a single stream,
//! `parts` are several, which end inside records.

use super::files::{Got, Pipe, drain, open, read_sound};
use super::packed::{LEGACY, bzip2, gzip, lz4, many, read, xxh32, xz, zstd};
use flate2::{Compression, write::GzEncoder};
use lz4_flex::block::compress as lz4_block;
use qdissect::capture::{Error, ErrorKind, Source};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;

/// Names of the formats and endings of their files.
const FORMATS: [(&str, &str); 5] =
    [("gzip", "gz"), ("zstd", "zst"), ("lz4", "lz4"), ("xz", "xz"), ("bzip2", "bz2")];

fn file(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/containers").join(name)).unwrap()
}

fn base() -> Vec<u8> {
    file("base.pcap")
}

/// The files that are a single stream.
fn whole() -> Vec<(&'static str, Vec<u8>)> {
    FORMATS.map(|(name, ending)| (name, file(&format!("base.pcap.{ending}")))).into()
}

/// All files, also those of several streams.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    whole()
        .into_iter()
        .chain(FORMATS.map(|(name, ending)| (name, file(&format!("parts.pcap.{ending}")))))
        .collect()
}

fn message(capture: &[u8]) -> String {
    read(capture).1.unwrap().to_string()
}

fn kind(error: &Error) -> ErrorKind {
    error.kind()
}

/// The start of a gzip stream with `data`, followed by `tail` in place of its rest.
fn begun(data: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.flush().unwrap();
    [encoder.get_ref(), tail].concat()
}

#[test]
fn asking_for_the_first_time_stamp_hides_no_error() {
    for capture in [base(), file("ng_plain.pcapng")] {
        let at = read_sound(&capture)[0].at as usize;
        for (cut, tail) in (0..at + 2).flat_map(|cut| [(cut, &b""[..]), (cut, &[7, 0xff, 0xff])]) {
            let stream = begun(&capture[..cut], tail);
            let (Ok(mut asked), Ok(mut source)) = (open(&stream), open(&stream)) else { continue };
            asked.next_time();
            let (theirs, expected) = (drain(&mut asked), drain(&mut source));
            let text = |error: &Option<Error>| error.as_ref().map(Error::to_string);
            assert!(theirs.0 == expected.0 && expected.1.is_some(), "cut at {cut}");
            assert_eq!(text(&theirs.1), text(&expected.1), "cut at {cut}");
        }
    }
}

#[test]
fn frames_are_those_of_the_plain_capture() {
    let plain = read_sound(&base());
    for (name, file) in files() {
        let mut source = open(&file).unwrap();
        assert_eq!((source.info().format, source.info().compression), ("pcap", Some(name)));
        let (frames, error) = drain(&mut source);
        assert!(error.is_none() && frames == plain, "{name}: {error:?}");
        assert_eq!(source.offset(), 1648, "offsets count decompressed bytes");
    }
    assert_eq!(open(&base()).unwrap().info().compression, None);
}

#[test]
fn a_pipe_may_give_a_byte_at_a_time() {
    let plain = read_sound(&base());
    for step in [1, 3, 100] {
        for (name, file) in files() {
            let mut source = Source::from_reader("pipe", Box::new(Pipe::new(&file, step))).unwrap();
            let (frames, error) = drain(&mut source);
            assert!(error.is_none() && frames == plain, "{name}: {error:?}");
        }
    }
}

#[test]
fn cut_everywhere() {
    let plain = read_sound(&base());
    for (name, file) in files() {
        for cut in 0..file.len() {
            let (frames, error) = read(&file[..cut]);
            assert!(plain.starts_with(&frames), "{name} cut at {cut}");
            match error.as_ref().map(kind) {
                // Only padding or a skippable frame is missing …
                None => assert_eq!(frames, plain, "{name} cut at {cut}"),
                // … or the magic number is incomplete, or there is only a skippable frame, or nothing follows the
                // magic number of a legacy frame, which has no end mark.
                Some(ErrorKind::NotACapture) => {
                    let is_skippable = matches!(&file[..], [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
                    let nothing = is_skippable && cut == 13 || file.starts_with(LEGACY) && cut == 4;
                    assert!(cut < 4 || nothing, "{name} cut at {cut}: {error:?}");
                }
                Some(kind) => assert_eq!(kind, ErrorKind::CutShort, "{name} cut at {cut}: {error:?}"),
            }
        }
    }
}

/// A file of each format with many frames in several blocks, and the first block that can be damaged: its offset,
/// and the bytes of the capture before it.
fn blocks(capture: &[u8]) -> [(&'static str, Vec<u8>, usize, usize); 5] {
    const BLOCK: usize = 100_000;
    let mut stored = GzEncoder::new(Vec::new(), Compression::none());
    stored.write_all(capture).unwrap();
    let gzip = stored.finish().unwrap();
    // After the header of 10 bytes come stored blocks: 0 | length | its complement | data.
    let (mut at, mut before) = (10, 0);
    while before < 2 * BLOCK {
        let length = usize::from(u16::from_le_bytes([gzip[at + 1], gzip[at + 2]]));
        (at, before) = (at + 5 + length, before + length);
    }
    // A stream begins with four bytes and the magic number of a block.
    let (one, two) = capture.split_at(2 * BLOCK);
    let (one, two) = (bzip2(one), bzip2(two));
    let packed: Vec<_> = capture.chunks(BLOCK).map(lz4_block).collect();
    let lz4 = lz4(0x20, &[], &packed.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let second = 7 + 4 + packed[0].len();
    [
        ("gzip", gzip, at + 3, before),
        ("zstd", zstd(&[0, 17 << 3], capture), 6 + 2 * (3 + BLOCK), 2 * BLOCK),
        ("lz4", lz4, second + 3, BLOCK),
        ("xz", xz(capture, 20).0, 24 + 3 * (3 + (1 << 16)), 3 << 16),
        ("bzip2", [&one[..], &two].concat(), one.len() + 4, 2 * BLOCK),
    ]
}

#[test]
fn frames_before_the_cut_of_a_stream_are_handed_out() {
    let (capture, plain) = many(6_000);
    for (name, file, ..) in blocks(&capture) {
        let (frames, error) = read(&file[..file.len() / 2]);
        assert!(plain.starts_with(&frames) && frames.len() > 1_200, "{name}: {} frames", frames.len());
        assert_eq!(kind(&error.unwrap()), ErrorKind::CutShort, "{name}");
    }
}

/// The files above are stored; these chunks are compressed, and a reader might need them whole.
#[test]
fn frames_in_a_cut_xz_chunk_are_handed_out() {
    let (plain, file) = (read_sound(&base()), file("base.pcap.xz"));
    let (frames, error) = read(&file[..file.len() * 2 / 3]);
    assert!(plain.starts_with(&frames) && frames.len() > plain.len() / 2, "{} frames", frames.len());
    assert_eq!(kind(&error.unwrap()), ErrorKind::CutShort);
}

#[test]
fn cut_messages() {
    let gzip = file("base.pcap.gz");
    assert_eq!(
        message(&gzip[..700]),
        "the capture is cut short: its gzip stream ends at byte 700 and is not complete; \
         1297 bytes could be decompressed"
    );
    assert_eq!(read(&gzip[..700]).1.unwrap().offset(), Some(1297));
    // Four bytes are enough to recognise the format.
    assert!(message(&file("base.pcap.xz")[..4]).contains("its xz stream ends at byte 4 and"));
    assert!(message(b"\xfd7zXxxxxxxxxxxxx").contains("its xz stream cannot be decoded (invalid XZ magic"));
}

/// Single bits are flipped: nothing panics, and a format with checksums gives the right frames or an error.
#[test]
fn flipped_bits() {
    let plain = read_sound(&base());
    for (index, (name, mut file)) in files().into_iter().enumerate() {
        let checked = index < FORMATS.len();
        for at in 0..file.len() {
            let flip = 1 << (at % 8);
            file[at] ^= flip;
            let (frames, error) = read(&file);
            assert!(!checked || error.is_some() || frames == plain, "{name}: byte {at} ^ {flip:#x}");
            file[at] ^= flip;
        }
    }
}

#[test]
fn other_bytes_after_the_end_are_damage() {
    let plain = read_sound(&base());
    for (name, file) in files() {
        for more in ["garbage", "\0\0\0\0garbage", "g", if name == "bzip2" { "P" } else { "B" }] {
            let (frames, error) = read(&[&file, more.as_bytes()].concat());
            let error = error.unwrap();
            assert_eq!((frames == plain, error.kind()), (true, ErrorKind::Damaged), "{name}: {error}");
        }
        // A further stream is the next part of the capture.
        let (frames, error) = read(&file.repeat(2));
        assert!(frames.starts_with(&plain) && error.is_some(), "{name}: two file headers");
    }
    assert_eq!(
        message(&[file("base.pcap.gz").as_slice(), b"garbage"].concat()),
        "the capture is damaged: its gzip stream is followed by something that is not gzip, at byte 883; \
         1648 bytes could be decompressed"
    );
}

#[test]
fn checksums_at_the_end() {
    let plain = read_sound(&base());
    // Distance from the end of the checksum of the last stream; in xz the index and a footer of 12 bytes follow it.
    for (index, at) in [(0, 8), (1, 4), (2, 4), (3, 12 + 8 + 8)] {
        let (name, mut file) = whole().remove(index);
        let place = file.len() - at;
        file[place] ^= 1;
        let (frames, error) = read(&file);
        let error = error.unwrap();
        assert_eq!((frames == plain, error.kind()), (true, ErrorKind::Damaged), "{name}: {error}");
        assert!(error.to_string().to_lowercase().contains("checksum"), "{name}: {error}");
    }
}

#[test]
fn damage_loses_at_most_64_kib_of_decoded_bytes() {
    let (capture, plain) = many(6_000);
    for (name, mut file, at, before) in blocks(&capture) {
        file[at] ^= 0x7f;
        let (frames, error) = read(&file);
        let error = error.unwrap();
        assert_eq!(
            (frames == plain[..frames.len()], error.kind()),
            (true, ErrorKind::Damaged),
            "{name}: {error}"
        );
        let given = error.offset().unwrap();
        let lost = if matches!(name, "zstd" | "lz4") { 0 } else { 64 << 10 };
        assert!(given + lost >= before as u64, "{name}: {error}");
        assert_eq!(frames.len() as u64, (given - 24) / 76, "{name}: {error}");
        let says_lost = error.to_string().contains("up to 64 KiB of what was decoded are lost");
        assert!(says_lost || lost == 0, "{name}: {error}");
    }
}

/// Frames that have arrived are handed out before more bytes are requested.
#[test]
fn a_frame_is_handed_out_as_soon_as_it_can_be_decoded() {
    let (capture, plain) = many(1_000);
    let (first, rest) = capture.split_at(plain[499].at as usize + 60);
    let mut flushed = GzEncoder::new(Vec::new(), Compression::best());
    flushed.write_all(first).unwrap();
    flushed.flush().unwrap();
    let block = lz4(0, &[], &[&lz4_block(first)]);
    let (chunk, chunk_end) = xz(first, 20);
    let begun = [
        ("gzip", flushed.get_ref().clone()),
        ("gzip member", gzip(first)),
        ("zstd frame", compress_to_vec(first, CompressionLevel::Fastest)),
        ("lz4 block", block[..block.len() - 4].to_vec()),
        ("xz chunk", chunk[..chunk_end].to_vec()),
        ("bzip2 stream", bzip2(first)),
    ];
    for (name, begun) in begun {
        let mut source = Source::from_reader("pipe", Box::new(Begun(Cursor::new(begun)))).unwrap();
        for expected in &plain[..500] {
            let frame = source.next().unwrap_or_else(|error| panic!("{name}: {error}")).unwrap();
            assert_eq!(&Got::from(frame), expected, "{name}");
        }
        let error = source.next().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{name}: an error of the input stays one: {error}");
        assert!(error.to_string().contains("the pipe is empty"), "{name}: {error}");
    }
    assert!(!rest.is_empty());
}

/// A reader that gives its bytes, and then an error instead of waiting for more.
struct Begun(Cursor<Vec<u8>>);

impl Read for Begun {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self.0.read(space)? {
            0 => Err(io::Error::other("the pipe is empty")),
            got => Ok(got),
        }
    }
}

#[test]
fn compressed_twice_is_refused() {
    for (outer, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("bzip2", bzip2)] {
        for (inner, file) in whole() {
            let error = read(&pack(&file)).1.unwrap();
            assert_eq!(error.kind(), ErrorKind::NotACapture);
            let expected = format!(
                "it is compressed with {outer}, and what is in it with {inner} once more: only one compression \
                 is undone, so do the outer one on the way, with `{outer} -dc FILE | qdissect -`"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn empty_streams_are_empty_inputs() {
    let empty_xz =
        b"\xfd7zXZ\0\0\x01\x69\x22\xde\x36\0\0\0\0\x1c\xdf\x44\x21\x90\x42\x99\x0d\x01\0\0\0\0\x01YZ";
    let none = [
        ("gzip", gzip(&[])),
        ("zstd", zstd(&[0, 0], &[])),
        ("lz4", lz4(0, &[], &[])),
        ("xz", empty_xz.to_vec()),
        ("bzip2", bzip2(&[])),
    ];
    for (name, stream) in none {
        // With any number of streams, the stack does not overflow and the time stays short.
        let (frames, error) = read(&stream.repeat(20_000));
        assert!(frames.is_empty());
        assert_eq!(error.unwrap().to_string(), "it is empty: a capture has at least a file header", "{name}");
    }
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd".repeat(20_000);
    assert_eq!(read(&[&skippable[..], &file("base.pcap.zst")].concat()).0, read_sound(&base()));
    assert!(message(&skippable).contains("nothing but skippable frames"));
    let garbage = message(&[&skippable[..12], b"garbage"].concat());
    assert!(garbage.contains("at byte 12 stands neither"), "{garbage}");
}

#[test]
fn announced_sizes_do_not_matter() {
    let (capture, plain) = many(10);
    // Windows of 32 MiB, of 36, of 2 GiB and of 2 TiB; dictionaries of 1 MiB, of 32, of 48 MiB and of 4 GiB.
    let windows = [15 << 3, 15 << 3 | 1, 21 << 3, 31 << 3]
        .map(|window| (zstd(&[0, window], &capture), window == 31 << 3));
    let dictionaries = [16, 26, 27, 40].map(|dictionary| (xz(&capture, dictionary).0, dictionary == 40));
    for (stream, is_beyond_32_bits) in windows.into_iter().chain(dictionaries) {
        let (frames, error) = read(&stream);
        if is_beyond_32_bits && usize::BITS == 32 {
            assert!(error.unwrap().to_string().contains("needs a window of more than"));
        } else {
            assert!(error.is_none() && frames == plain, "{:?}: {error:?}", &stream[..32]);
        }
    }
    let length = 1_u64 << if usize::BITS == 32 { 31 } else { 41 };
    let single = [&[0b1110_0000][..], &length.to_le_bytes()].concat();
    assert!(message(&zstd(&single, &capture)).contains("another length than its header says"));
}

#[test]
fn dictionaries_and_filters_are_refused() {
    assert!(message(&zstd(&[1, 0, 7], b"")).contains("needs the dictionary 7"));
    assert_eq!(
        message(&lz4(1, &[7, 0, 0, 0], &[])),
        "the capture cannot be read on: its lz4 stream needs what is not supported here (DictionaryNotSupported), \
         at byte 11; decompress it on the way, with `lz4 -dc FILE | qdissect -`"
    );
    let (mut filtered, _) = xz(b"", 20);
    // Two filters: the header's checksum is that of its first eight bytes.
    filtered[13] = 1;
    assert!(message(&filtered).contains("block header CRC32 mismatch"));
    let mut sum = flate2::Crc::new();
    sum.update(&filtered[12..20]);
    filtered[20..24].copy_from_slice(&sum.sum().to_le_bytes());
    assert!(message(&filtered).contains("Unsupported filter"));
}

#[test]
fn errors_of_lz4_name_the_mismatch() {
    let (capture, plain) = many(10);
    let block = lz4_block(&capture);
    let sum = |frame: Vec<u8>, content: &[u8]| [&frame, &xxh32(content).to_le_bytes()[..]].concat();
    let size = |size: usize| (size as u64).to_le_bytes();
    assert_eq!(read(&sum(lz4(0x0c, &size(capture.len()), &[&block]), &capture)).0, plain);
    for (file, what) in [
        (sum(lz4(0x04, &[], &[&block]), b"other"), "ContentChecksumError"),
        (lz4(0x08, &size(7), &[&block]), "ContentLengthError"),
        (lz4(0x10, &[], &[&block, &[0; 4]]), "BlockChecksumError"),
        (lz4(0x00, &[], &[&block, &vec![0; (4 << 20) + 1]]), "BlockTooBig"),
        (lz4(0x02, &[], &[&block]), "ReservedBitsSet"),
    ] {
        let error = read(&file).1.unwrap();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains(what), "{error}");
    }
}
