//! Checks of xz blocks (The .xz File Format, 2.1.1.2).

use flate2::Crc;
use sha2::{Digest, Sha256};

/// Lengths of the checks in bytes, by number.
const SIZES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// A check under way, and its length in bytes.
pub(super) struct Check(Kind, usize);

enum Kind {
    /// None, or one of a number that nobody has given a meaning yet.
    Nothing,
    Crc32(Crc),
    Crc64(u64),
    Sha256(Box<Sha256>),
}

impl Check {
    /// `number` is that of the stream's flags, up to 15.
    pub(super) fn new(number: u8) -> Check {
        let kind = match number {
            1 => Kind::Crc32(Crc::new()),
            4 => Kind::Crc64(!0),
            10 => Kind::Sha256(Box::default()),
            _ => Kind::Nothing,
        };
        Check(kind, SIZES.get(usize::from(number)).copied().unwrap_or_default())
    }

    /// Length in bytes.
    pub(super) fn size(&self) -> usize {
        self.1
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Kind::Nothing => {}
            Kind::Crc32(sum) => sum.update(bytes),
            Kind::Crc64(sum) => *sum = bytes.iter().fold(*sum, |sum, &byte| crc64(sum, byte)),
            Kind::Sha256(sum) => sum.update(bytes),
        }
    }

    /// Whether `check`, as it stands in the file, is that of what came by.
    pub(super) fn is(&self, check: &[u8]) -> bool {
        match &self.0 {
            Kind::Nothing => true,
            Kind::Crc32(sum) => check == sum.sum().to_le_bytes(),
            Kind::Crc64(sum) => check == (!sum).to_le_bytes(),
            Kind::Sha256(sum) => check == sum.as_ref().clone().finalize().as_slice(),
        }
    }
}

fn crc64(sum: u64, byte: u8) -> u64 {
    let index = (sum as u8 ^ byte) as usize;
    CRC64.get(index).copied().unwrap_or_default() ^ sum >> 8
}

/// CRC-64 of ECMA-182, reflected, for each byte.
#[allow(clippy::indexing_slicing)] // by the compiler
static CRC64: [u64; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let (mut sum, mut bit) = (index as u64, 0);
        while bit < 8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0xc96c_5795_d787_0f42 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
};
