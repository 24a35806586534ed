//! Mutated captures. The same number always gives the same mutant.
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

/// Maximum number of edits of one mutant.
const EDITS: u32 = 4;
/// Bytes before a frame that belong to its record: the header of an Enhanced Packet Block.
const HEAD: usize = 28;
/// Number of bytes of a frame that count as headers if their length is unknown.
const HEADERS: usize = 64;
/// Maximum number of bytes that are copied to another place.
const STRETCH: usize = 16;
/// Byte values with a meaning in headers and lengths.
const TELLING: [u8; 16] = [0, 1, 2, 4, 6, 8, 17, 20, 0x2c, 0x45, 0x46, 0x60, 0x7f, 0x80, 0xfe, 0xff];

/// An intact capture, and the places of its parts.
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
    /// The range of the payload, if the frame contains a datagram.
    payload: Option<Range<usize>>,
}

/// The only mutated frame, whose length is unchanged, and the endpoints of its datagram before and after. It is no fragment,
/// contains no tunnel and quotes no datagram, so that it does not affect conversations without these endpoints.
#[derive(Clone, Debug)]
pub struct Touched {
    pub frame: u64,
    pub ends: Vec<Endpoint>,
}

/// A mutated capture.
pub struct Mutant {
    pub name: String,
    pub bytes: Vec<u8>,
    /// `None` if more than one frame was mutated.
    pub touched: Option<Touched>,
    pub what: &'static str,
}

impl Place {
    /// The endpoints of the frame's datagram, empty without one; `None` if the frame affects other conversations.
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
    /// Reads a capture. If it is compressed or damaged, the places of its parts are unknown or incomplete.
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

    /// Whether the capture is compressed.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Generates a mutant.
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

    /// Removes, duplicates and moves records. The first one, a section header, is kept.
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

/// Changes one to eight neighbouring bytes, or copies some from elsewhere, without changing the length.
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

/// The blocks of a pcapng file, up to the first invalid length.
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
