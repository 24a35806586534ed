//! Frames of a capture, which tests write in other formats.

use qdissect::capture::{Frame, Source};
use std::path::Path;

/// A frame that owns its bytes.
#[derive(Clone, Debug)]
pub struct Kept {
    pub time: i64,
    pub link: u16,
    pub wire_len: u32,
    pub bytes: Vec<u8>,
}

/// All frames of a capture whose frames have time stamps.
pub fn read(path: &Path) -> Vec<Kept> {
    let mut source = Source::open(path).unwrap();
    let mut frames = vec![];
    while let Some(Frame { time, link, wire_len, bytes, .. }) = source.next().unwrap() {
        frames.push(Kept { time: time.nanos().unwrap(), link, wire_len, bytes: bytes.to_vec() });
    }
    frames
}

/// Frames of one link type as a pcap file in nanoseconds.
pub fn pcap(frames: &[Kept]) -> Vec<u8> {
    let mut file = vec![];
    let words = |file: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|w| file.extend(w.to_le_bytes()));
    words(&mut file, &[0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, u32::from(frames[0].link)]);
    for f in frames {
        assert_eq!(f.link, frames[0].link, "pcap has one link type");
        let (seconds, nanos) = (f.time / 1_000_000_000, f.time % 1_000_000_000);
        words(&mut file, &[seconds as u32, nanos as u32, f.bytes.len() as u32, f.wire_len]);
        file.extend_from_slice(&f.bytes);
    }
    file
}

/// A capture of `count` datagrams of no known protocol with `length` bytes, a millisecond apart.
pub fn datagrams(count: u32, length: u16) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7];
    bytes[2..4].copy_from_slice(&(28 + length).to_be_bytes());
    bytes.extend([0x23, 0x28, 0x23, 0x29]);
    bytes.extend((8 + length).to_be_bytes());
    bytes.extend([0, 0]);
    let wire_len = 28 + u32::from(length);
    bytes.resize(wire_len as usize, 0x5a);
    let frame = |n| Kept { time: i64::from(n) * 1_000_000, link: 101, wire_len, bytes: bytes.clone() };
    pcap(&(1..=count).map(frame).collect::<Vec<_>>())
}
