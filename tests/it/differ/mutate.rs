//! Captures with something in them changed, each by a number that gives the same one again.
//!
//! ```text
//! capture ──> Original: records │ frames │ payloads ──(number)──> Mutant: bytes, and what was touched
//! ```

use crate::bench::random::Random;
use qdissect::capture::{Frame, Source, Time};
use qdissect::net::{DropReason, Endpoint, parse};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Most edits of one mutant.
const EDITS: u32 = 4;
/// Bytes in front of a frame that belong to its record: the head of an Enhanced Packet Block.
const HEAD: usize = 28;
/// Bytes of a frame that may be headers, where nothing says how far they go.
const HEADERS: usize = 64;
/// Longest stretch that is copied to another place.
const STRETCH: usize = 16;
/// Bytes that mean something in headers and lengths.
const TELLING: [u8; 16] = [0, 1, 2, 4, 6, 8, 17, 20, 0x2c, 0x45, 0x46, 0x60, 0x7f, 0x80, 0xfe, 0xff];

/// A sound capture, and where its parts are.
pub struct Original {
    pub name: String,
    pub bytes: Vec<u8>,
    frames: Vec<Place>,
    records: Vec<Range<usize>>,
    packed: bool,
}

/// A frame in its capture.
struct Place {
    number: u64,
    link: u16,
    wire_len: u32,
    bytes: Range<usize>,
    /// Where the payload of its datagram is, if it holds one.
    payload: Option<Range<usize>>,
}

/// The only frame touched, whose length is as it was, and the ends of its datagram before and after. It is no part of
/// another datagram, holds none in a tunnel, and quotes none: who has none of these ends has nothing to do with it.
#[derive(Clone, Debug)]
pub struct Touched {
    pub frame: u64,
    pub ends: Vec<Endpoint>,
}

/// A capture with something in it changed.
pub struct Mutant {
    pub name: String,
    pub bytes: Vec<u8>,
    /// `None` where more than that was touched.
    pub touched: Option<Touched>,
    pub what: &'static str,
}

impl Place {
    /// The ends of the frame's datagram, none where it holds none; `None` where it concerns others.
    fn ends(&self, file: &[u8]) -> Option<Vec<Endpoint>> {
        let Place { number, link, wire_len, ref bytes, .. } = *self;
        let (time, at, bytes) = (Time::UNKNOWN, bytes.start as u64, &file[bytes.clone()]);
        match parse(&Frame { number, time, link, interface: 0, at, wire_len, bytes }) {
            Ok(d) => Some(vec![d.src, d.dst]),
            Err(DropReason::Tunnel | DropReason::Fragment | DropReason::Icmp) => None,
            Err(_) => Some(vec![]),
        }
    }
}

impl Original {
    /// Reads a capture; of one that is compressed or damaged, only the bytes that can be told apart are known.
    pub fn open(path: &Path) -> Original {
        let name = path.display().to_string();
        let bytes = fs::read(path).expect("the capture can be read");
        let mut original = Original { name, bytes, frames: vec![], records: vec![], packed: false };
        let Ok(mut source) = Source::open(path) else { return original };
        original.packed = source.info().compression.is_some();
        if original.packed {
            return original;
        }
        while let Ok(Some(frame)) = source.next() {
            let start = frame.at as usize;
            let payload = parse(&frame).ok().map(|d| d.at as usize..d.at as usize + d.payload.len());
            let (number, link, wire_len) = (frame.number, frame.link, frame.wire_len);
            let bytes = start..start + frame.bytes.len();
            original.frames.push(Place { number, link, wire_len, bytes, payload });
        }
        original.records = match source.info().format {
            "pcap" => original
                .frames
                .iter()
                .scan(24, |end, f| Some(std::mem::replace(end, f.bytes.end)..f.bytes.end))
                .collect(),
            _ => blocks(&original.bytes),
        };
        original
    }

    /// Whether it is compressed.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// The mutant of a number.
    pub fn mutant(&self, random: &mut Random) -> Mutant {
        let mut mutant =
            Mutant { name: self.name.clone(), bytes: self.bytes.clone(), touched: None, what: "any bytes" };
        let chosen = random.below(12);
        let place = self.frames.get(random.below(self.frames.len() as u32) as usize);
        let (what, within) = match (chosen, place) {
            (0..=4, Some(Place { payload: Some(payload), .. })) if !payload.is_empty() => {
                ("a payload", payload.clone())
            }
            (0..=7, Some(Place { bytes, payload, .. })) if !bytes.is_empty() => {
                let end = payload.as_ref().map_or(bytes.start + HEADERS, |payload| payload.start);
                ("headers", bytes.start..end.min(bytes.end))
            }
            (8, Some(Place { bytes, .. })) => {
                ("the head of a record", bytes.start.saturating_sub(HEAD)..bytes.start)
            }
            (9..=10, _) if self.records.len() > 1 => {
                self.shuffle(&mut mutant.bytes, random);
                mutant.what = "the order of records";
                return mutant;
            }
            (11, _) => {
                mutant.bytes.truncate(random.below(self.bytes.len() as u32) as usize);
                mutant.what = "the end of the file";
                return mutant;
            }
            _ => ("any bytes", 0..self.bytes.len()),
        };
        mutant.what = what;
        for _ in 0..=random.below(EDITS) {
            edit(&mut mutant.bytes, within.clone(), random);
        }
        let place = place.filter(|place| within.start >= place.bytes.start && within.end <= place.bytes.end);
        mutant.touched = place.and_then(|place| {
            let ends = [&self.bytes, &mutant.bytes].map(|file| place.ends(file));
            let ends = ends.into_iter().collect::<Option<Vec<_>>>()?.concat();
            Some(Touched { frame: place.number, ends })
        });
        mutant
    }

    /// Leaves records out, doubles them and puts them elsewhere; the first one, a section header, stays.
    fn shuffle(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let (Some(first), mut order) = (self.records.first(), self.records.clone()) else { return };
        for _ in 0..=random.below(EDITS) {
            let places = order.len() as u32 - 1;
            let (from, to) = (1 + random.below(places) as usize, 1 + random.below(places) as usize);
            match random.below(3) {
                _ if order.len() < 3 => order.push(first.clone()),
                0 => drop(order.remove(from)),
                1 => order.insert(to, order[from].clone()),
                _ => order.swap(from, to),
            }
        }
        bytes.truncate(first.start);
        order.iter().for_each(|record| bytes.extend(&self.bytes[record.clone()]));
    }
}

/// Changes one to eight neighbouring bytes, or copies some from elsewhere; the length stays.
pub fn edit(bytes: &mut [u8], within: Range<usize>, random: &mut Random) {
    if within.is_empty() {
        return;
    }
    let at = within.start + random.below(within.len() as u32) as usize;
    let place = &mut bytes[at];
    match random.below(8) {
        0 | 1 => *place = random.bits() as u8,
        2 | 3 => *place = random.pick(&TELLING),
        4 => *place ^= 1 << random.below(8),
        5 => *place = place.wrapping_add(random.pick(&[1, 0xff])),
        6 => {
            let end = (at + random.pick(&[2, 4, 8])).min(within.end);
            let any = random.bits() as u8;
            bytes[at..end].fill(random.pick(&[0, 0xff, 0x7f, any]));
        }
        _ => {
            let length = (1 + random.below(STRETCH as u32) as usize).min(within.end - at);
            let from = random.below((bytes.len() - length) as u32 + 1) as usize;
            bytes.copy_within(from..from + length, at);
        }
    }
}

/// The blocks of a pcapng file, as far as their lengths make sense.
pub fn blocks(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut at, mut big, mut found) = (0, false, vec![]);
    while let Some(head) = bytes.get(at..at + 12) {
        if head.starts_with(b"\x0a\x0d\x0d\x0a") {
            big = head[8] == 0x1a;
        }
        let length = [head[4], head[5], head[6], head[7]];
        let length = if big { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
        if length < 12 || length > bytes.len() - at {
            break;
        }
        found.push(at..at + length);
        at += length;
    }
    found
}
