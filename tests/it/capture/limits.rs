//! The limits of compressed streams: the largest stream that is read, and the first that is too large. The frames
//! before the fault are read in any case.

use super::files::{LITTLE, data};
use super::packed::{BARE, LEGACY, lz4_blocks, many, read, sealed, xz, zstd, zstd_blocks};
use lz4_flex::block::compress;
use qdissect::capture::ErrorKind;
use qdissect::capture::MAX_BLOCKS;
use qdissect::capture::MAX_WINDOW;
use std::fs;

/// The largest block of zstd (RFC 8878, 3.1.1.2.4).
const ZSTD_BLOCK: usize = 128 << 10;
/// A header with a window of 128 MiB.
const WINDOW: &[u8] = &[0, 17 << 3];
/// The largest block of a legacy frame, and its longest data: `LZ4_compressBound`.
const LEGACY_BLOCK: usize = 8 << 20;
const LEGACY_DATA: usize = LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16;

/// A capture of exactly `len` bytes in few frames, and the number of frames.
fn sized(len: usize) -> (Vec<u8>, usize) {
    let (mut capture, mut frames) = (LITTLE.pcap(0xa1b2_c3d4, 0, 1), 0);
    while capture.len() < len {
        // The bytes left must be enough for a record.
        let part = (len - capture.len()).min(200_000);
        let part = if (1..100).contains(&(len - capture.len() - part)) { part - 100 } else { part };
        capture.extend(LITTLE.record((frames as u32, 0), 200_000, &[], &vec![7; part - 16]));
        frames += 1;
    }
    (capture, frames)
}

#[test]
fn blocks_of_zstd_have_a_limit() {
    let (capture, plain) = many(4_000);
    let (first, rest) = capture.split_at(100_000);
    let (most, last) = rest.split_at(ZSTD_BLOCK);
    let sound = zstd_blocks(WINDOW, &[(0, first.len(), first), (0, most.len(), most), (0, last.len(), last)]);
    let (frames, error) = read(&sound);
    assert!(error.is_none() && frames == plain, "{error:?}");
    for (kind, data) in [(0, &rest[..=ZSTD_BLOCK]), (1, &rest[..1])] {
        let (frames, error) =
            read(&zstd_blocks(WINDOW, &[(0, first.len(), first), (kind, ZSTD_BLOCK + 1, data)]));
        let error = error.unwrap();
        assert!(error.to_string().contains("Is: 131073"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert_eq!(frames, plain[..(first.len() - 24) / 76], "what stands before it is there");
    }
    // One byte may stand for a whole block: the last frame is made of one such block.
    let mut long = LITTLE.pcap(0xa1b2_c3d4, 0, 1);
    long.extend(LITTLE.record((0, 0), ZSTD_BLOCK as u32, &[], &vec![9; ZSTD_BLOCK]));
    let head = &long[..40];
    let (frames, error) = read(&zstd_blocks(WINDOW, &[(0, head.len(), head), (1, ZSTD_BLOCK, &[9])]));
    assert!(error.is_none() && frames.len() == 1 && frames[0].bytes == vec![9; ZSTD_BLOCK], "{error:?}");
}

/// An lz4 frame with blocks of up to the size that `code` stands for, independent of each other or not.
fn lz4(code: u8, independent: bool, blocks: &[(u32, &[u8])]) -> Vec<u8> {
    lz4_blocks(&[0x40 | u8::from(independent) << 5, code << 4], blocks)
}

#[test]
fn blocks_of_lz4_have_the_limit_that_their_frame_names() {
    for (code, most) in [(4, 64 << 10), (5, 256 << 10), (6, 1 << 20), (7, 4 << 20)] {
        let (capture, count) = sized(most);
        for block in [(BARE, &capture[..]), (0, &compress(&capture))] {
            let (frames, error) = read(&lz4(code, true, &[block]));
            assert!(error.is_none() && frames.len() == count, "{most}: {error:?}");
        }
        let (capture, _) = sized(most + 1);
        let packed = compress(&capture);
        for (block, what) in [((BARE, &capture[..]), "BlockTooBig"), ((0, &packed[..]), "OutputTooSmall")] {
            // An empty capture before the block, so that there is something to lose.
            let head = (BARE, &capture[..24]);
            let error = read(&lz4(code, true, &[head, block])).1.unwrap();
            assert_eq!(error.kind(), ErrorKind::Damaged);
            assert!(error.to_string().contains(what), "{most}: {error}");
        }
    }
}

#[test]
fn blocks_of_legacy_lz4_have_a_limit() {
    let legacy = |size: usize, block: &[u8]| [LEGACY, &(size as u32).to_le_bytes(), block].concat();
    let (capture, count) = sized(LEGACY_BLOCK);
    let packed = compress(&capture);
    let (frames, error) = read(&legacy(packed.len(), &packed));
    assert!(error.is_none() && frames.len() == count, "{error:?}");
    let packed = compress(&[&capture[..], b"!"].concat());
    let error = read(&legacy(packed.len(), &packed)).1.unwrap();
    assert!(error.to_string().contains("has a block that cannot be decoded"), "{error}");
    // The reader waits for the longest data that a block may announce, and refuses longer data at once.
    let cut = read(&legacy(LEGACY_DATA, b"")).1.unwrap();
    assert_eq!(cut.kind(), ErrorKind::CutShort, "{cut}");
    let error = read(&legacy(LEGACY_DATA + 1, b"")).1.unwrap();
    assert!(error.to_string().contains("has a block of 8421521 bytes where 8421520 are the most"), "{error}");
}

#[test]
fn blocks_of_lz4_refer_back_up_to_the_largest_offset() {
    let first = LITTLE.record((1, 0), 60, &[], &data(60));
    let filler = LITTLE.record((2, 0), 65_443, &[], &data(65_535 - first.len() - 16));
    let capture = [LITTLE.pcap(0xa1b2_c3d4, 0, 1), first.clone(), filler].concat();
    assert_eq!(capture.len(), 24 + 65_535);
    let (one, two) = capture.split_at(64 << 10);
    // The first record once more: 71 bytes from 65,535 bytes back, and its last five as they are.
    let again = [&[0x0f, 0xff, 0xff, 52, 0x50], &first[71..]].concat();
    let (frames, error) = read(&lz4(4, false, &[(BARE, one), (BARE, two), (0, &again)]));
    assert!(error.is_none(), "{error:?}");
    let bytes: Vec<_> = frames.iter().map(|frame| &frame.bytes[..]).collect();
    assert_eq!((bytes.len(), bytes[0], bytes[2]), (3, &data(60)[..], &data(60)[..]));
}

#[test]
fn larger_windows_are_read_up_to_the_limit() {
    let most = MAX_WINDOW as usize;
    let (capture, count) = sized(most + (1 << 20));
    let zstd = |window| zstd(&[0, window], &capture);
    let xz = |dictionary| xz(&capture, dictionary).0;
    for (fits, larger) in [(zstd(15 << 3), zstd(15 << 3 | 1)), (xz(26), xz(27))] {
        let (frames, error) = read(&fits);
        assert!(error.is_none() && frames.len() == count, "{error:?}");
        let (frames, error) = read(&larger);
        let error = error.unwrap();
        let given = error.offset().unwrap() as usize;
        assert!((most..=most + ZSTD_BLOCK).contains(&given), "{error}");
        assert_eq!((frames.len(), error.kind()), ((given - 24) / 200_016, ErrorKind::Damaged));
        let text = error.to_string();
        assert!(text.contains("needs a window of more than the 32 MiB that are kept, at byte 33"), "{text}");
        assert!(text.contains("decompress it on the way, with `"), "{text}");
    }
}

#[test]
fn blocks_of_xz_have_a_limit() {
    let (capture, plain) = many(10);
    let block = |chunk: &[u8]| {
        let mut block = [&sealed(&[2, 0, 0x21, 1, 0, 0, 0, 0]), chunk, &[0]].concat();
        block.resize(block.len().next_multiple_of(4), 0);
        block
    };
    let first = block(&[&[1], &(capture.len() as u16 - 1).to_be_bytes()[..], &capture].concat());
    let mut stream = [b"\xfd7zXZ\0".as_slice(), &sealed(&[0, 0]), &first].concat();
    stream.extend(block(&[]).repeat(MAX_BLOCKS as usize - 1));
    let (frames, error) = read(&stream);
    assert_eq!((frames, error.unwrap().kind()), (plain.clone(), ErrorKind::CutShort));
    stream.extend(block(&[]));
    let (frames, error) = read(&stream);
    let error = error.unwrap().to_string();
    assert!(frames == plain && error.contains("has more than 262144 blocks"), "{error}");
}

#[test]
fn levels_of_bzip2_end_at_nine() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/captures/containers/base.pcap.bz2");
    let mut file = fs::read(path).unwrap();
    assert_eq!((file[3], read(&file).1.is_none()), (b'9', true));
    for level in [b'0', b'9' + 1] {
        file[3] = level;
        let (frames, error) = read(&file);
        assert_eq!((frames.len(), error.unwrap().kind()), (0, ErrorKind::NotACapture), "{level}");
    }
}
