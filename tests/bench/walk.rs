//! The floor: walks the records of a capture and nothing else. Each record is complete in memory and its length is checked, as in
//! every reader, but no byte of a packet is read.

use std::io::{self, Read};

/// Size of a read. Between 64 KiB and 1 MiB the time hardly depends on it; a larger buffer does not fit into the second-level
/// cache.
const READ: usize = 256 * 1024;
/// Maximum length of a record. It must fit into one read and the bytes carried over.
const BUFFER: usize = 2 * READ;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;

/// A part of the file in memory.
struct Window<R> {
    input: R,
    bytes: Vec<u8>,
    filled: usize,
    /// Offset of the window in the file.
    at: u64,
}

/// Calls `each` with the captured bytes of every packet; returns their number.
pub fn walk(input: impl Read, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut window = Window { input, bytes: vec![0; BUFFER], filled: 0, at: 0 };
    while window.filled < 24 && window.next(0)? {}
    let Some([a, b, c, d, ..]) = window.filled().first_chunk::<24>() else {
        return Err(broken("The file is shorter than a file header", 0));
    };
    match u32::from_le_bytes([*a, *b, *c, *d]) {
        0xa1b2_c3d4 | 0xa1b2_3c4d => pcap::<false, _>(window, &mut each),
        0xd4c3_b2a1 | 0x4d3c_b2a1 => pcap::<true, _>(window, &mut each),
        SECTION_HEADER => pcapng(window, &mut each),
        _ => Err(broken("The file does not begin like pcap or pcapng", 0)),
    }
}

impl<R: Read> Window<R> {
    fn filled(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Moves the unused bytes to the front and reads further ones. Returns false at the end of the file.
    fn next(&mut self, used: usize) -> io::Result<bool> {
        self.bytes.copy_within(used..self.filled, 0);
        self.filled -= used;
        self.at += used as u64;
        let Some(room) = self.bytes.get_mut(self.filled..self.filled + READ) else {
            return Err(broken("The record is longer than 256 KiB", self.at));
        };
        let read = self.input.read(room)?;
        self.filled += read;
        Ok(read > 0)
    }

    fn end(&self, packets: u64) -> io::Result<u64> {
        if self.filled == 0 { Ok(packets) } else { Err(broken("The last record is cut off", self.at)) }
    }
}

fn pcap<const BIG: bool, R: Read>(mut window: Window<R>, each: &mut impl FnMut(&[u8])) -> io::Result<u64> {
    let mut packets = 0;
    window.next(24)?;
    loop {
        let mut rest = window.filled();
        while let Some((head, after)) = rest.split_first_chunk::<16>()
            && let Some((packet, after)) = after.split_at_checked(number::<BIG>(head, 8) as usize)
        {
            each(packet);
            packets += 1;
            rest = after;
        }
        let used = window.filled - rest.len();
        if !window.next(used)? {
            return window.end(packets);
        }
    }
}

/// Why the loop over blocks stopped.
enum Stop {
    /// The next block is not complete in memory.
    Short,
    /// A section in the other byte order begins.
    Order,
}

fn pcapng<R: Read>(mut window: Window<R>, each: &mut impl FnMut(&[u8])) -> io::Result<u64> {
    let mut packets = 0;
    let mut big = false;
    loop {
        let (bytes, at) = (window.filled(), window.at);
        let (used, stop) = if big {
            blocks::<true>(bytes, at, &mut packets, each)?
        } else {
            blocks::<false>(bytes, at, &mut packets, each)?
        };
        if matches!(stop, Stop::Order) {
            big = !big;
        }
        if !window.next(used)? && matches!(stop, Stop::Short) {
            return window.end(packets);
        }
    }
}

fn blocks<const BIG: bool>(
    bytes: &[u8],
    at: u64,
    packets: &mut u64,
    each: &mut impl FnMut(&[u8]),
) -> io::Result<(usize, Stop)> {
    let mut rest = bytes;
    while let Some(head) = rest.first_chunk::<12>() {
        let used = bytes.len() - rest.len();
        let kind = number::<BIG>(head, 0);
        if kind == SECTION_HEADER && number::<BIG>(head, 8) != 0x1a2b_3c4d {
            if number::<BIG>(head, 8) == 0x4d3c_2b1a {
                return Ok((used, Stop::Order));
            }
            return Err(broken("The section has no byte-order magic", at + used as u64));
        }
        let length = number::<BIG>(head, 4) as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Err(broken("The block length is impossible", at + used as u64));
        }
        let Some((block, after)) = rest.split_at_checked(length) else { break };
        let packet = match kind {
            6 => block.get(28..length - 4).zip(block.get(20..24).map(|field| number::<BIG>(field, 0))),
            3 => block.get(12..length - 4).zip(block.get(8..12).map(|field| number::<BIG>(field, 0))),
            _ => None,
        };
        if let Some((body, captured)) = packet {
            // A Simple Packet Block has the length on the wire; the captured length may be less.
            each(&body[..body.len().min(captured as usize)]);
            *packets += 1;
        }
        rest = after;
    }
    Ok((bytes.len() - rest.len(), Stop::Short))
}

fn number<const BIG: bool>(head: &[u8], at: usize) -> u32 {
    let field = [head[at], head[at + 1], head[at + 2], head[at + 3]];
    if BIG { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }
}

fn broken(what: &str, at: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} (at byte {at})."))
}
