//! Captures made in memory, and ways to read them.

use qdissect::capture::{Error, Frame, Source};
use std::io::{self, Cursor, ErrorKind, Read};

/// A frame that has been read, with its own copy of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub number: u64,
    /// Nanoseconds.
    pub time: Option<i64>,
    pub link: u16,
    pub at: u64,
    pub wire_len: u32,
    pub bytes: Vec<u8>,
}

impl From<Frame<'_>> for Got {
    fn from(frame: Frame<'_>) -> Got {
        let Frame { number, time, link, at, wire_len, bytes, .. } = frame;
        Got { number, time: time.nanos(), link, at, wire_len, bytes: bytes.to_vec() }
    }
}

/// All frames of `source` and its error; checks that `source` gives nothing afterwards.
pub fn drain(source: &mut Source) -> (Vec<Got>, Option<Error>) {
    let mut frames = Vec::new();
    let error = loop {
        match source.next() {
            Ok(Some(frame)) => frames.push(Got::from(frame)),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    for _ in 0..3 {
        assert!(matches!(source.next(), Ok(None)), "silent after the end");
    }
    (frames, error)
}

/// Reads a whole capture, and checks that every frame is at the offset it names.
pub fn read(capture: &[u8]) -> (Vec<Got>, Option<Error>) {
    let (frames, error) = match open(capture) {
        Ok(mut source) => drain(&mut source),
        Err(error) => (Vec::new(), Some(error)),
    };
    for frame in &frames {
        let at = frame.at as usize;
        assert_eq!(capture[at..at + frame.bytes.len()], frame.bytes, "frame {} is at {at}", frame.number);
        assert!(frame.wire_len as usize >= frame.bytes.len());
    }
    (frames, error)
}

/// Reads a capture in which nothing is wrong.
pub fn read_sound(capture: &[u8]) -> Vec<Got> {
    let (frames, error) = read(capture);
    assert!(error.is_none(), "{}", error.unwrap());
    frames
}

pub fn open(capture: &[u8]) -> Result<Source, Error> {
    Source::from_reader("memory", Box::new(Cursor::new(capture.to_vec())))
}

/// A pipe: gives at most `step` bytes at a time, and is interrupted before each.
pub struct Pipe {
    pub inner: Cursor<Vec<u8>>,
    pub step: usize,
    pub interrupted: bool,
}

impl Pipe {
    pub fn new(capture: &[u8], step: usize) -> Pipe {
        Pipe { inner: Cursor::new(capture.to_vec()), step, interrupted: false }
    }
}

impl Read for Pipe {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let step = self.step.min(space.len());
        self.inner.read(&mut space[..step])
    }
}

/// Writes integers in one byte order.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub big: bool,
}

pub const LITTLE: Order = Order { big: false };
pub const BIG: Order = Order { big: true };

impl Order {
    pub fn half(self, value: u16) -> [u8; 2] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
    pub fn word(self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
    pub fn long(self, value: i64) -> [u8; 8] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    /// File header of pcap.
    pub fn pcap(self, magic: u32, snaplen: u32, link: u32) -> Vec<u8> {
        let version = [self.half(2), self.half(4)].concat();
        [&self.word(magic)[..], &version, &[0; 8], &self.word(snaplen), &self.word(link)].concat()
    }

    /// Record of pcap; `extra` follows its header.
    pub fn record(self, time: (u32, u32), wire_len: u32, extra: &[u8], data: &[u8]) -> Vec<u8> {
        let words = [time.0, time.1, data.len() as u32, wire_len].map(|word| self.word(word));
        [&words.concat(), extra, data].concat()
    }

    /// Any block of pcapng; pads the body.
    pub fn block(self, kind: u32, body: &[&[u8]]) -> Vec<u8> {
        let mut body = body.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let total = self.word(body.len() as u32 + 12);
        [&self.word(kind)[..], &total, &body, &total].concat()
    }

    pub fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut option = [&self.half(code)[..], &self.half(value.len() as u16), value].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    pub fn section(self, options: &[u8]) -> Vec<u8> {
        let version = [self.half(1), self.half(0)].concat();
        self.block(0x0a0d_0d0a, &[&self.word(0x1a2b_3c4d), &version, &self.long(-1), options])
    }

    pub fn interface(self, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        self.block(1, &[&self.half(link), &[0, 0], &self.word(snaplen), options])
    }

    pub fn enhanced(self, interface: u32, count: u64, wire_len: u32, data: &[u8]) -> Vec<u8> {
        self.enhanced_with(interface, count, wire_len, data, &[])
    }

    pub fn enhanced_with(
        self,
        interface: u32,
        count: u64,
        wire_len: u32,
        data: &[u8],
        options: &[u8],
    ) -> Vec<u8> {
        let captured = data.len() as u32;
        let words =
            [interface, (count >> 32) as u32, count as u32, captured, wire_len].map(|word| self.word(word));
        let pad = vec![0; data.len().next_multiple_of(4) - data.len()];
        self.block(6, &[&words.concat(), data, &pad, options])
    }
}

/// `len` bytes that differ from place to place.
pub fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + (i >> 8) + 1) as u8).collect()
}
