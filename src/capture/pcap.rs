//! Classic capture files: a header, then records.
//!
//! ```text
//!  file header, 24 bytes                        record header, 16 bytes
//!   0  magic             4                       0  seconds since 1970       4, unsigned
//!   4  version 2.4       2 + 2                   4  fraction of the second   4, unit by magic
//!   8  zone, accuracy    4 + 4, unused           8  captured length n        4
//!  16  snap length       4                      12  length on the wire       4
//!  20  FCS, P, reserved  2  | link type 2       16  n bytes
//!
//!  a1b2c3d4  microseconds      a1b23c4d  nanoseconds
//!  a1b2cd34  microseconds, record header of 24 bytes: index 4, protocol 2, type 1, pad 1
//! ```
//! The magic number gives the byte order. The last two fields of the file header are one 32-bit integer, in
//! which the link type is the low half. draft-ietf-opsawg-pcap, sections 4 and 5.

use super::buffer::{Buffer, half_in, word, word_in};
use super::{Error, Frame, MAX_FRAME, Time};

/// Size of the file header in bytes.
pub(super) const FILE_HEAD: usize = 24;

/// A frame that is complete in the buffer, by its position there.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(super) time: Time,
    pub(super) link: u16,
    pub(super) interface: u32,
    pub(super) wire_len: u32,
    /// Bytes before the frame in its record.
    pub(super) skip: u32,
    /// Captured bytes.
    pub(super) len: u32,
    /// Bytes of the whole record.
    pub(super) total: u32,
}

impl Found {
    /// The frame, its captured bytes, and the bytes after its record, which is at the start of `rest`.
    #[inline(always)]
    pub(super) fn split(self, rest: &[u8]) -> (Found, &[u8], &[u8]) {
        let (record, after) = rest.split_at_checked(self.total as usize).unwrap_or((rest, &[]));
        let bytes = record.get(self.skip as usize..).and_then(|rest| rest.get(..self.len as usize));
        (self, bytes.unwrap_or_default(), after)
    }

    /// The frame with that number. Its record begins at offset `at` of the file.
    #[inline(always)]
    pub(super) fn frame<'a>(&self, number: u64, at: u64, bytes: &'a [u8]) -> Frame<'a> {
        let Found { time, link, interface, wire_len, skip, .. } = *self;
        Frame { number, time, link, interface, at: at.wrapping_add(skip.into()), wire_len, bytes }
    }
}

/// The layout of the records, from the file header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    pub(super) big: bool,
    pub(super) link: u16,
    pub(super) snaplen: u32,
    /// Bytes of a record header.
    pub(super) header_len: u8,
    /// Nanoseconds in the unit of the fraction.
    pub(super) unit: u16,
}

/// Whether the file is big-endian, nanoseconds per unit of the fraction, and bytes of a record header; `None` where
/// the magic number is not one of pcap.
pub(super) fn magic(head: &[u8]) -> Option<(bool, u16, u8)> {
    match word::<false>(head, 0) {
        0xa1b2_c3d4 => Some((false, 1000, 16)),
        0xd4c3_b2a1 => Some((true, 1000, 16)),
        0xa1b2_3c4d => Some((false, 1, 16)),
        0x4d3c_b2a1 => Some((true, 1, 16)),
        0xa1b2_cd34 => Some((false, 1000, 24)),
        0x34cd_b2a1 => Some((true, 1000, 24)),
        _ => None,
    }
}

impl Layout {
    /// Reads the file header, `head`, which starts with a [`magic`] of pcap.
    pub(super) fn read(head: &[u8]) -> Result<Layout, Error> {
        let Some((big, unit, header_len)) = magic(head).filter(|_| head.len() >= FILE_HEAD) else {
            return Err(Error::not_a_capture(format!(
                "it starts like a pcap file and ends within its file header: there are {} of {FILE_HEAD} bytes",
                head.len()
            )));
        };
        let major = half_in(big, head, 4);
        if major < 2 {
            return Err(Error::not_a_capture(format!(
                "it is a pcap file of version {major}, and only version 2 and later are known"
            )));
        }
        let link = (word_in(big, head, 20) & 0xffff) as u16;
        Ok(Layout { big, link, snaplen: word_in(big, head, 16), header_len, unit })
    }

    /// The record at the start of `rest`; `None` where it is incomplete or damaged.
    #[inline(always)]
    pub(super) fn parse_record<const BIG: bool>(&self, rest: &[u8]) -> Option<Found> {
        let head = rest.first_chunk::<16>()?;
        let captured = word::<BIG>(head, 8);
        let total = captured.wrapping_add(self.header_len.into());
        if captured > MAX_FRAME || rest.len() < total as usize {
            return None;
        }
        // 2^32 seconds and 2^32 microseconds are well below 2^63 nanoseconds.
        let seconds = i64::from(word::<BIG>(head, 0)).wrapping_mul(1_000_000_000);
        let fraction = i64::from(word::<BIG>(head, 4)).wrapping_mul(self.unit.into());
        Some(Found {
            time: Time::from_nanos(seconds.wrapping_add(fraction)),
            link: self.link,
            interface: 0,
            wire_len: word::<BIG>(head, 12).max(captured),
            skip: self.header_len.into(),
            len: captured,
            total,
        })
    }

    /// The next record where [`parse_record`](Self::parse_record) found none: reads more input, or returns the error.
    #[cold]
    pub(super) fn read_record<const BIG: bool>(&self, buffer: &mut Buffer) -> Result<Option<Found>, Error> {
        let at = buffer.offset();
        if !buffer.fill(self.header_len.into())? {
            return match buffer.rest().len() {
                0 => Ok(None),
                present => Err(Error::cut_head("record", at, present as u64, self.header_len.into())),
            };
        }
        let captured = word::<BIG>(buffer.rest(), 8);
        if captured > MAX_FRAME {
            let problem = format!("announces {captured} bytes, and a frame has at most {MAX_FRAME}");
            return Err(Error::damaged("record", at, problem));
        }
        let total = usize::from(self.header_len).saturating_add(captured as usize);
        if !buffer.fill(total)? {
            let missing = total.saturating_sub(buffer.rest().len());
            return Err(Error::cut("record", at, captured.into(), missing as u64));
        }
        Ok(self.parse_record::<BIG>(buffer.rest()))
    }
}
