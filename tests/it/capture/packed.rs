//! Compressed streams made in memory.

use super::files::{Got, LITTLE, data, drain, open, read_sound};
use flate2::{Compression, Crc, write::GzEncoder};
use qdissect::capture::Error;
use std::hash::Hasher;
use std::io::Write;
use twox_hash::XxHash32;

/// All frames of a capture, and the error that ended reading, if any.
pub fn read(capture: &[u8]) -> (Vec<Got>, Option<Error>) {
    open(capture).map_or_else(|error| (Vec::new(), Some(error)), |mut source| drain(&mut source))
}

/// A capture of `count` different frames, and the frames.
pub fn many(count: u32) -> (Vec<u8>, Vec<Got>) {
    let mut capture = LITTLE.pcap(0xa1b2_c3d4, 0, 1);
    for index in 0..count {
        let frame: Vec<u8> = data(60)
            .iter()
            .enumerate()
            .map(|(at, &b)| b ^ (index.wrapping_mul(0x9e37_79b1) >> (at % 24)) as u8)
            .collect();
        capture.extend(LITTLE.record((index, 0), 60, &[], &frame));
    }
    let frames = read_sound(&capture);
    (capture, frames)
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// The mark of a frame in the first format of lz4.
pub const LEGACY: &[u8] = b"\x02\x21\x4c\x18";

/// Flag in the size of an lz4 block: the data are not compressed.
pub const BARE: u32 = 1 << 31;

/// A zstd frame whose header is `head`, with `data` in blocks that are not compressed.
pub fn zstd(head: &[u8], data: &[u8]) -> Vec<u8> {
    zstd_blocks(head, &data.chunks(100_000).map(|block| (0, block.len(), block)).collect::<Vec<_>>())
}

/// A zstd frame of blocks with these kinds and sizes; kind 0 is not compressed, 1 is one byte repeated.
pub fn zstd_blocks(head: &[u8], blocks: &[(u32, usize, &[u8])]) -> Vec<u8> {
    let mut frame = [b"\x28\xb5\x2f\xfd", head].concat();
    for (kind, size, data) in blocks {
        frame.extend(&((*size as u32) << 3 | kind << 1).to_le_bytes()[..3]);
        frame.extend(*data);
    }
    frame.extend([1, 0, 0]);
    frame
}

/// An lz4 frame with blocks of up to 4 MiB; `flags` are added to the version, and `optional` header fields follow.
pub fn lz4(flags: u8, optional: &[u8], blocks: &[&[u8]]) -> Vec<u8> {
    let blocks: Vec<_> = blocks.iter().map(|block| (0, *block)).collect();
    lz4_blocks(&[&[0x40 | flags, 0x70], optional].concat(), &blocks)
}

/// An lz4 frame whose header is `head`, with blocks that are [`BARE`] or not.
pub fn lz4_blocks(head: &[u8], blocks: &[(u32, &[u8])]) -> Vec<u8> {
    let mut frame = [b"\x04\x22\x4d\x18", head, &[(xxh32(head) >> 8) as u8]].concat();
    for (bare, block) in blocks {
        frame.extend((block.len() as u32 | bare).to_le_bytes());
        frame.extend(*block);
    }
    frame.extend([0; 4]);
    frame
}

pub fn xxh32(data: &[u8]) -> u32 {
    let mut hash = XxHash32::with_seed(0);
    hash.write(data);
    hash.finish() as u32
}

fn crc32(data: &[u8]) -> [u8; 4] {
    let mut sum = Crc::new();
    sum.update(data);
    sum.sum().to_le_bytes()
}

/// What xz protects with a checksum of its own.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32(bytes)].concat()
}

/// An xz stream of one block with the check CRC-32, in chunks that are not compressed, with a dictionary size of
/// code `dictionary`; and the number of bytes of the stream before the end of the data.
pub fn xz(data: &[u8], dictionary: u8) -> (Vec<u8>, usize) {
    let mut stream = [b"\xfd7zXZ\0".as_slice(), &sealed(&[0, 1])].concat();
    let head = stream.len();
    stream.extend(sealed(&[2, 0, 0x21, 1, dictionary, 0, 0, 0]));
    for (index, chunk) in data.chunks(1 << 16).enumerate() {
        stream.push(if index == 0 { 1 } else { 2 });
        stream.extend(((chunk.len() - 1) as u16).to_be_bytes());
        stream.extend(chunk);
    }
    let begun = stream.len();
    stream.push(0);
    let unpadded = stream.len() - head + 4;
    stream.resize(stream.len().next_multiple_of(4), 0);
    stream.extend(crc32(data));
    let mut index = vec![0, 1];
    for mut number in [unpadded, data.len()] {
        while number >= 0x80 {
            index.push(number as u8 | 0x80);
            number >>= 7;
        }
        index.push(number as u8);
    }
    index.resize(index.len().next_multiple_of(4), 0);
    let index = sealed(&index);
    stream.extend(&index);
    let tail = [&((index.len() / 4 - 1) as u32).to_le_bytes()[..], &[0, 1]].concat();
    stream.extend([&crc32(&tail)[..], &tail, b"YZ"].concat());
    (stream, begun)
}
