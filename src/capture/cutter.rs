//! Finds where the records of a capture end, by their lengths alone.
//!
//! Used where the bytes of a capture are saved and must not end in half a record. Contents are not looked at.

use super::MAX_FRAME;
use super::blocks::{ENHANCED, HEAD, PACKET, SECTION, SECTION_LEAST, SIMPLE, TRAILER, is_big};
use super::buffer::{word, word_in};
use super::pcap::{self, FILE_HEAD, Layout};

/// The longest block that is accepted, in bytes: four times the largest frame.
const MAX_BLOCK: u64 = 4 * MAX_FRAME as u64;

/// The piece at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A whole packet and its length in bytes.
    Packet(usize),
    /// Another complete piece, a file header or another block, and its length in bytes.
    Other(usize),
    /// An incomplete piece, or no bytes at all.
    Part,
    /// Not a record: where the following records begin is not known.
    Damaged,
}

#[derive(Clone, Copy, Debug, Default)]
enum Form {
    #[default]
    Unknown,
    Pcap {
        big: bool,
        /// Bytes of a record header.
        header_len: u8,
    },
    Pcapng {
        big: bool,
    },
}

/// Finds the ends of records, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cutter {
    form: Form,
}

impl Cutter {
    /// A cutter for the records after a pcap file header.
    pub(super) fn pcap(layout: &Layout) -> Cutter {
        Cutter { form: Form::Pcap { big: layout.big, header_len: layout.header_len } }
    }

    /// A cutter for the blocks inside a pcapng section.
    pub(super) fn pcapng(big: bool) -> Cutter {
        Cutter { form: Form::Pcapng { big } }
    }

    /// The piece at the start of `bytes`. These must follow the previous piece; the first call gets the start of a
    /// capture.
    pub fn next(&mut self, bytes: &[u8]) -> Cut {
        match self.form {
            Form::Unknown => self.start(bytes),
            Form::Pcap { big, header_len } => record(big, header_len, bytes),
            Form::Pcapng { big } => self.block(big, bytes),
        }
    }

    fn start(&mut self, bytes: &[u8]) -> Cut {
        if bytes.len() < 4 {
            return Cut::Part;
        }
        match pcap::magic(bytes) {
            Some(_) if bytes.len() < FILE_HEAD => Cut::Part,
            Some((big, _, header_len)) => {
                self.form = Form::Pcap { big, header_len };
                Cut::Other(FILE_HEAD)
            }
            None if word::<false>(bytes, 0) == SECTION => self.block(false, bytes),
            None => Cut::Damaged,
        }
    }

    fn block(&mut self, mut big: bool, bytes: &[u8]) -> Cut {
        let kind = word_in(big, bytes, 0);
        if bytes.len() < HEAD || kind == SECTION && bytes.len() < SECTION_LEAST {
            return Cut::Part;
        }
        if kind == SECTION {
            let Some(order) = is_big(bytes) else { return Cut::Damaged };
            big = order;
        }
        let total = u64::from(word_in(big, bytes, 4)).next_multiple_of(4);
        if total < (HEAD + TRAILER) as u64 || total > MAX_BLOCK {
            return Cut::Damaged;
        }
        if kind == SECTION {
            self.form = Form::Pcapng { big };
        }
        let total = total as usize;
        match kind {
            _ if bytes.len() < total => Cut::Part,
            ENHANCED | PACKET | SIMPLE => Cut::Packet(total),
            _ => Cut::Other(total),
        }
    }
}

/// A pcap record.
fn record(big: bool, header_len: u8, bytes: &[u8]) -> Cut {
    if bytes.len() < usize::from(header_len) {
        return Cut::Part;
    }
    let captured = word_in(big, bytes, 8);
    let total = usize::from(header_len).saturating_add(captured as usize);
    match captured {
        captured if captured > MAX_FRAME => Cut::Damaged,
        _ if bytes.len() < total => Cut::Part,
        _ => Cut::Packet(total),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::capture::Source;
    use std::fs;
    use std::io::Cursor;

    /// The complete pieces of a file, the bytes they cover, and the result that ends them.
    fn pieces(bytes: &[u8]) -> (Vec<Cut>, usize, Cut) {
        let (mut cutter, mut at, mut pieces) = (Cutter::default(), 0, vec![]);
        loop {
            match cutter.next(&bytes[at..]) {
                whole @ (Cut::Packet(len) | Cut::Other(len)) => {
                    at += len;
                    pieces.push(whole);
                }
                end => return (pieces, at, end),
            }
        }
    }

    #[test]
    fn finds_every_packet_of_every_format() {
        let forms = ["be", "nano_be", "modified", "base", "ng_be", "ng_two_sections", "ng_spb", "ng_options"];
        for name in forms {
            let ending = if name.starts_with("ng_") { "pcapng" } else { "pcap" };
            let bytes = fs::read(format!("captures/containers/{name}.{ending}")).unwrap();
            let mut source = Source::from_reader(name, Box::new(Cursor::new(bytes.clone()))).unwrap();
            let mut packets = 0;
            while source.next().unwrap().is_some() {
                packets += 1;
            }
            let (pieces, at, end) = pieces(&bytes);
            assert_eq!(pieces.iter().filter(|p| matches!(p, Cut::Packet(_))).count(), packets, "{name}");
            assert!(matches!(pieces[0], Cut::Other(_)), "{name}");
            assert_eq!((at, end), (bytes.len(), Cut::Part), "{name}");
        }
    }

    #[test]
    fn an_incomplete_record_is_a_part_wherever_it_ends() {
        for name in ["base.pcap", "ng_plain.pcapng"] {
            let bytes = fs::read(format!("captures/containers/{name}")).unwrap();
            let (all_pieces, whole_len, _) = pieces(&bytes);
            for len in 0..whole_len.min(2_000) {
                let (found, at, end) = pieces(&bytes[..len]);
                assert!(at <= len && end == Cut::Part && all_pieces.starts_with(&found), "{name} {len}");
                assert_ne!((found.len(), at), (all_pieces.len(), whole_len), "{name} {len}");
            }
        }
    }

    #[test]
    fn the_longest_record_and_block_are_parts() {
        let file = fs::read("captures/containers/base.pcap").unwrap();
        for (length, end) in [(MAX_FRAME, Cut::Part), (MAX_FRAME + 1, Cut::Damaged)] {
            let mut bytes = file[..FILE_HEAD + 16].to_vec();
            bytes[FILE_HEAD + 8..][..4].copy_from_slice(&length.to_le_bytes());
            assert_eq!(pieces(&bytes).2, end, "{length}");
        }
        for (length, end) in [(MAX_BLOCK, Cut::Part), (MAX_BLOCK + 4, Cut::Damaged)] {
            let block = [1u32.to_le_bytes(), (length as u32).to_le_bytes()].concat();
            assert_eq!(Cutter::pcapng(false).next(&block), end, "{length}");
        }
    }

    #[test]
    fn bytes_that_are_no_record_are_damage() {
        assert_eq!(pieces(b"no capture").2, Cut::Damaged);
        let mut bytes = fs::read("captures/containers/base.pcap").unwrap();
        bytes[FILE_HEAD + 11] = 0xff;
        assert_eq!(pieces(&bytes), (vec![Cut::Other(FILE_HEAD)], FILE_HEAD, Cut::Damaged));
        let mut bytes = fs::read("captures/containers/ng_plain.pcapng").unwrap();
        bytes[7] = 0x7f;
        assert_eq!(pieces(&bytes), (vec![], 0, Cut::Damaged));
    }
}
