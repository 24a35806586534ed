//! Unpacks compressed messages within bounds: eighty bytes may unpack to a megabyte, and a capture may hold any number of
//! them. What is unpacked stays in proportion to what has been read so far.

use crate::net::Datagram;
use std::io::Read;

/// Most bytes of a message that are unpacked. Of a longer one only the beginning is, and its checksum stays unchecked.
pub(super) const MAX_UNPACKED: usize = u16::MAX as usize;
/// Most bytes that a message may claim to unpack to.
pub(super) const MAX_CLAIMED: u32 = 1 << 20;
/// Most bytes unpacked for each byte of the captures that has been read so far. Text compresses to a fifth, and with its
/// request and headers takes a tenth of that again.
const MAX_FACTOR: u64 = 16;
/// Bytes that may be unpacked besides, so that a short capture may hold a few answers that compress well.
const MAX_FREE: u64 = 1 << 20;

/// Bytes of a bzip2 block with the smallest tables. A block is unpacked as a whole before its first byte is known.
const BLOCK: u64 = 100_000;
/// What beginning to unpack takes, as a number of bytes unpacked: tables are made.
const BEGINNING: u64 = 4_096;

/// What came of unpacking a message.
#[derive(Debug, PartialEq)]
pub(super) enum Unpacked {
    /// Its bytes, of a long one the first [`MAX_UNPACKED`] and one more.
    Bytes(Vec<u8>),
    /// It is not what it claims to be.
    Damaged,
    /// It was left as it is, and counted.
    Refused,
}

/// Counts what is read and what is unpacked.
#[derive(Debug, Default)]
pub(super) struct Unpacking {
    /// Bytes of the captures so far.
    read: u64,
    /// Where in its file the payload noted last stands.
    last: u64,
    /// Bytes unpacked so far.
    spent: u64,
    /// Messages that were left as they are.
    pub refused: u64,
}

impl Unpacking {
    /// Notes how far the captures have been read: up to this datagram.
    pub fn note(&mut self, d: &Datagram<'_>) {
        let behind_last = d.file_offset(0).and_then(|at| at.checked_sub(self.last));
        // Another file begins, or the datagram is not in a file as it is.
        self.read = self.read.saturating_add(behind_last.unwrap_or(d.payload.len() as u64));
        self.last = d.file_offset(0).unwrap_or(self.last);
    }

    /// Unpacks a bzip2 stream that claims this size and CRC-32.
    pub fn unpack(&mut self, packed: &[u8], [size, crc]: [u32; 2]) -> Unpacked {
        if size > MAX_CLAIMED {
            return Unpacked::Damaged;
        }
        let level = packed.get(3).map_or(0, |level| level.saturating_sub(b'0'));
        // Runs of four bytes take five in a block, so these tables hold the message, whatever the stream asks for.
        let tables = (u64::from(size).saturating_mul(5) / 4 / BLOCK).saturating_add(1).min(level.into());
        let block = tables.saturating_mul(BLOCK);
        let is_short = size as usize <= MAX_UNPACKED;
        let price = if is_short { u64::from(size).saturating_add(BEGINNING) } else { block };
        if self.spent.saturating_add(price) > self.read.saturating_mul(MAX_FACTOR).saturating_add(MAX_FREE) {
            self.refused = self.refused.saturating_add(1);
            return Unpacked::Refused;
        }
        let bytes = unpack(packed, tables as u8);
        let is_right = |bytes: &Vec<u8>| bytes.len() == size as usize && crc_of(bytes) == crc;
        let is_sound = bytes
            .as_ref()
            .is_some_and(|bytes| if is_short { is_right(bytes) } else { bytes.len() > MAX_UNPACKED });
        self.spent = self.spent.saturating_add(if is_sound { price } else { block.max(price) });
        bytes.filter(|_| is_sound).map_or(Unpacked::Damaged, Unpacked::Bytes)
    }
}

/// Unpacks with tables of that level: [`MAX_UNPACKED`] bytes, and one more where there are more.
fn unpack(packed: &[u8], tables: u8) -> Option<Vec<u8>> {
    let behind = packed.strip_prefix(b"BZh")?.get(1..)?;
    let head = [b'B', b'Z', b'h', b'0'.saturating_add(tables)];
    let (mut bytes, most) = (vec![], MAX_UNPACKED as u64 + 1);
    bzip2::read::BzDecoder::new(head.chain(behind)).take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn crc_of(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::net::Endpoint;

    fn packed(bytes: &[u8]) -> (Vec<u8>, [u32; 2]) {
        let mut packed = vec![];
        bzip2::read::BzEncoder::new(bytes, bzip2::Compression::best()).read_to_end(&mut packed).unwrap();
        (packed, [bytes.len() as u32, crc_of(bytes)])
    }

    /// As if so many bytes had been read.
    fn after(read: u64) -> Unpacking {
        let mut unpacking = Unpacking::default();
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        unpacking.note(&Datagram { at: read, ..Datagram::between(end, end, b"") });
        unpacking
    }

    #[test]
    fn what_is_unpacked_stays_in_proportion_to_what_was_read() {
        let (bomb, claims) = packed(&vec![0; MAX_UNPACKED]);
        assert!(bomb.len() < 80);
        for read in [0, 1 << 20, 2 << 20] {
            let mut unpacking = after(read);
            let unpacked =
                (0..500).filter(|_| unpacking.unpack(&bomb, claims) != Unpacked::Refused).count() as u64;
            let price = MAX_UNPACKED as u64 + BEGINNING;
            assert_eq!(unpacked, ((read * MAX_FACTOR + MAX_FREE) / price).min(500), "{read}");
            assert_eq!((unpacking.refused, unpacking.spent), (500 - unpacked, unpacked * price));
        }
    }

    #[test]
    fn what_claims_less_than_it_unpacks_costs_what_it_takes() {
        let (bomb, [_, crc]) = packed(&vec![0; 90_000]);
        let mut unpacking = after(0);
        let tried =
            (0..1_000).take_while(|_| unpacking.unpack(&bomb, [1, crc]) == Unpacked::Damaged).count() as u64;
        assert_eq!(tried, MAX_FREE / BLOCK + 1);
    }

    #[test]
    fn the_beginning_of_a_long_message_is_unpacked() {
        let mut bytes: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for (length, expected) in
            [(MAX_UNPACKED, MAX_UNPACKED), (MAX_UNPACKED + 1, MAX_UNPACKED + 1), (300_000, MAX_UNPACKED + 1)]
                .into_iter()
                .rev()
        {
            bytes.truncate(length);
            let (packed, claims) = packed(&bytes);
            let unpacked = after(1 << 20).unpack(&packed, claims);
            assert_eq!(unpacked, Unpacked::Bytes(bytes.get(..expected).unwrap().to_vec()), "{length}");
        }
    }

    #[test]
    fn nothing_is_unpacked_that_claims_more_than_a_mebibyte() {
        let (bomb, [_, crc]) = packed(&vec![0; MAX_CLAIMED as usize + 1]);
        for (size, spent) in [(MAX_CLAIMED, 9 * BLOCK), (MAX_CLAIMED + 1, 0)] {
            let mut unpacking = after(1 << 20);
            let unpacked = unpacking.unpack(&bomb, [size, crc]);
            assert_eq!((unpacked == Unpacked::Damaged, unpacking.spent), (spent == 0, spent), "{size}");
        }
    }

    #[test]
    fn runs_that_grow_in_a_block_fit_into_its_tables() {
        let bytes: Vec<u8> = (0..MAX_UNPACKED).map(|at| (at / 4) as u8).collect();
        let (packed, [size, crc]) = packed(&bytes);
        assert_eq!(after(0).unpack(&packed, [size, crc]), Unpacked::Bytes(bytes));
        for claims in [[size - 1, crc], [size, crc ^ 1], [size + 1, crc], [200_000, crc]] {
            assert_eq!(after(0).unpack(&packed, claims), Unpacked::Damaged, "{claims:?}");
        }
        assert_eq!(after(0).unpack(b"BZh", [1, 0]), Unpacked::Damaged);
    }
}
