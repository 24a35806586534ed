//! Writes capture files.
//!
//! ```text
//! pcap    | magic 4 | 2.4 | 0 | 0 | snap length 4 | link type 4 |   then per packet
//!         | seconds 4 | fraction 4 | captured 4 | on the wire 4 | bytes |
//! pcapng  section header and interface description, then per packet one Enhanced Packet Block
//!         | 6 | block length 4 | interface 4 | time 8 | captured 4 | on the wire 4 | bytes, padded to 4 |
//!         | block length 4 |
//! ```

use std::io::{self, BufWriter, Write};

const BUFFER: usize = 1 << 20;
const ETHERNET: u32 = 1;

/// How the file is written.
#[derive(Clone, Copy)]
pub struct Format {
    /// pcapng rather than pcap.
    pub pcapng: bool,
    /// Big-endian rather than little-endian.
    pub big_endian: bool,
    /// Times in nanoseconds rather than microseconds.
    pub nanoseconds: bool,
    /// At most this many bytes of each packet.
    pub snap_len: u32,
}

/// A capture file being written.
pub struct Capture<W: Write> {
    out: BufWriter<W>,
    format: Format,
}

impl<W: Write> Capture<W> {
    /// Writes the head of the file.
    pub fn new(out: W, format: Format) -> io::Result<Self> {
        let mut capture = Self { out: BufWriter::with_capacity(BUFFER, out), format };
        if format.pcapng {
            capture.pcapng_head()?
        } else {
            capture.pcap_head()?
        }
        Ok(capture)
    }

    /// Writes one packet, seen `time` nanoseconds after 1970; returns the captured length.
    pub fn packet(&mut self, time: u64, frame: &[u8]) -> io::Result<usize> {
        let captured = frame.len().min(self.format.snap_len as usize);
        let lengths = [captured as u32, frame.len() as u32];
        if self.format.pcapng {
            let padded = captured.next_multiple_of(4);
            let block = 32 + padded as u32;
            let time = if self.format.nanoseconds { time } else { time / 1_000 };
            let [high, low] = [(time >> 32) as u32, time as u32];
            self.words([6, block, 0, high, low, lengths[0], lengths[1]])?;
            self.out.write_all(&frame[..captured])?;
            self.out.write_all(&[0; 3][..padded - captured])?;
            self.words([block])?;
        } else {
            let unit = if self.format.nanoseconds { 1 } else { 1_000 };
            let [seconds, fraction] = [time / 1_000_000_000, time % 1_000_000_000 / unit];
            self.words([seconds as u32, fraction as u32, lengths[0], lengths[1]])?;
            self.out.write_all(&frame[..captured])?;
        }
        Ok(captured)
    }

    /// Writes what is still buffered.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn pcap_head(&mut self) -> io::Result<()> {
        let magic = if self.format.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        self.words([magic])?;
        self.halves([2, 4])?;
        self.words([0, 0, self.format.snap_len, ETHERNET])
    }

    fn pcapng_head(&mut self) -> io::Result<()> {
        // Section of unknown length (-1), version 1.0.
        self.words([0x0a0d_0d0a, 28, 0x1a2b_3c4d])?;
        self.halves([1, 0])?;
        self.words([u32::MAX, u32::MAX, 28])?;
        // One interface; if_tsresol (9) is 6 or 9 decimal places; end of options.
        self.words([1, 32])?;
        self.halves([ETHERNET as u16, 0])?;
        self.words([self.format.snap_len])?;
        self.halves([9, 1])?;
        self.out.write_all(&[if self.format.nanoseconds { 9 } else { 6 }, 0, 0, 0])?;
        self.words([0, 32])
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) -> io::Result<()> {
        let big = self.format.big_endian;
        let bytes = words.map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() });
        self.out.write_all(bytes.as_flattened())
    }

    fn halves(&mut self, halves: [u16; 2]) -> io::Result<()> {
        let big = self.format.big_endian;
        let bytes = halves.map(|half| if big { half.to_be_bytes() } else { half.to_le_bytes() });
        self.out.write_all(bytes.as_flattened())
    }
}
