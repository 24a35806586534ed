//! Captures compressed with different programs.

use lzma_rust2::{XzOptions, XzWriter};
use std::io::Write;

/// Every supported format: its file extension, and a capture in it.
pub fn all(capture: &[u8]) -> [(&'static str, Vec<u8>); 5] {
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    gzip.write_all(capture).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(vec![]);
    lz4.write_all(capture).unwrap();
    let mut xz = XzWriter::new(vec![], XzOptions::default()).unwrap();
    xz.write_all(capture).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::default());
    bzip2.write_all(capture).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(capture, ruzstd::encoding::CompressionLevel::Fastest);
    [
        ("gz", gzip.finish().unwrap()),
        ("zst", zstd),
        ("lz4", lz4.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("bz2", bzip2.finish().unwrap()),
    ]
}
