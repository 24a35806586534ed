//! gzip (RFC 1952): members one behind the other.
//!
//! ```text
//!  1f 8b | 08 | flags | time 4 | xfl | os | [extra] [name 0] [comment 0] [crc 2] | deflate | crc 4 | size 4
//! ```

use super::compressed::{Decode, Flow, Next, Out, Stop, next_of};
use super::input::Input;
use flate2::{Crc, Decompress, FlushDecompress, Status};

pub(super) const MAGIC: &[u8] = b"\x1f\x8b";

/// Flags of the header (RFC 1952, 2.3.1).
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

pub(super) fn decoder() -> Box<dyn Decode> {
    Box::new(Gzip { inflate: Decompress::new(false), crc: Crc::new(), at: At::Member, full: false })
}

enum At {
    Member,
    Data,
    Trailer,
    Behind,
}

struct Gzip {
    inflate: Decompress,
    /// Of what the member gave so far, and how much that is.
    crc: Crc,
    at: At,
    /// The last step wrote all there was room for, so there may be more without further input.
    full: bool,
}

impl Decode for Gzip {
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        match self.at {
            At::Member => self.member(input),
            At::Data => self.data(input, out),
            At::Trailer => self.trailer(input),
            At::Behind => self.behind(input),
        }
    }
}

impl Gzip {
    fn member(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        let head = input.array::<10>()?;
        let [_, _, method, flags, ..] = head;
        if method != 8 {
            return Err(Stop::Damaged(format!("names the method {method}, and gzip has only 8, deflate")));
        }
        if flags & RESERVED != 0 {
            return Err(Stop::Damaged(format!("sets flags that gzip does not have: {flags:#04x}")));
        }
        self.crc.reset();
        self.crc.update(&head);
        if flags & EXTRA != 0 {
            let length = input.array()?;
            let mut extra = length.to_vec();
            input.gather(u16::from_le_bytes(length).into(), &mut extra)?;
            self.crc.update(&extra);
        }
        for _ in [NAME, COMMENT].iter().filter(|&text| flags & text != 0) {
            while let byte @ 1.. = input.byte()? {
                self.crc.update(&[byte]);
            }
            self.crc.update(&[0]);
        }
        if flags & HEADER_CRC != 0 && u16::from_le_bytes(input.array()?) != self.crc.sum() as u16 {
            return Err(Stop::damaged("has a header with a wrong checksum"));
        }
        self.crc.reset();
        self.inflate.reset(false);
        self.full = false;
        self.at = At::Data;
        Ok(Flow::More)
    }

    fn data(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop> {
        let bytes = if self.full { input.buffered() } else { input.bytes()? };
        if bytes.is_empty() && !self.full {
            return Err(Stop::Cut);
        }
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(bytes, out.free(), FlushDecompress::None);
        let used = self.inflate.total_in().saturating_sub(before.0) as usize;
        let got = self.inflate.total_out().saturating_sub(before.1) as usize;
        let starved = bytes.is_empty();
        input.consume(used);
        self.crc.update(out.free().get(..got).unwrap_or_default());
        self.full = got == out.free().len();
        out.add(got);
        match status {
            Ok(Status::StreamEnd) => self.at = At::Trailer,
            Ok(_) if used != 0 || got != 0 || starved => {}
            Ok(_) | Err(_) => return Err(Stop::damaged("cannot be decoded")),
        }
        Ok(Flow::More)
    }

    fn trailer(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        let [a, b, c, d, size @ ..] = input.array::<8>()?;
        if u32::from_le_bytes([a, b, c, d]) != self.crc.sum() {
            return Err(Stop::damaged("has a wrong checksum"));
        }
        if u32::from_le_bytes(size) != self.crc.amount() {
            return Err(Stop::damaged("has a wrong length behind its checksum"));
        }
        self.at = At::Behind;
        Ok(Flow::More)
    }

    /// Tapes and some writers pad with zeros.
    fn behind(&mut self, input: &mut Input) -> Result<Flow, Stop> {
        if input.bytes()?.first() != Some(&0) {
            return Ok(match next_of(input, &[MAGIC], "gzip")? {
                Next::End => Flow::End,
                Next::Stream(_) => {
                    self.at = At::Member;
                    Flow::More
                }
            });
        }
        loop {
            let bytes = input.bytes()?;
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            match (bytes.len(), zeros) {
                (0, _) => return Ok(Flow::End),
                (_, 0) => return Err(Stop::damaged("is followed by zeros and then by something else")),
                _ => input.consume(zeros),
            }
        }
    }
}
