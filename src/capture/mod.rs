//! Reads the frames of pcap and pcapng captures: files and pipes, also compressed ones.
//!
//! ```text
//!                        one buffer of 256 KiB and one record
//!  file, FIFO, stdin --read--> [....|record|record|rec] --Source::next--> Frame<'_> --> net
//!                   ^                 ^                                    number, time, link,
//!                   |                 |                                    place, lengths, bytes
//!      compressed.rs, when needed:    pcap.rs    records of a classic file
//!      another `Read` between the     pcapng.rs  packet blocks, the fast path
//!      file and the buffer            blocks.rs  sections, interfaces, everything else
//! ```
//!
//! [`Source`] hands out one [`Frame`] at a time, borrowed from its buffer: no frame is copied or allocated, and
//! memory does not grow with the capture. An incomplete record at the end of the buffer is moved to the front before
//! the next read. A frame is handed out as soon as its last byte has arrived, so a pipe from a running capture
//! program is read without delay.
//!
//! [`Writer`] writes the frames of any number of captures into one pcapng file.
//!
//! Reading always ends, whatever the input: with [`None`], or once with an [`Error`] that names the offset of the
//! fault, after the frames before it.
//!
//! In a compressed capture, offsets count decompressed bytes.
//!
//! A running capture is read like a file: [`Source::is_ready`] and [`Source::refill`] let the main loop do other
//! work while no bytes arrive, and [`Cutter`] finds the ends of records in the bytes that are saved.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod blocks;
mod blockwise;
mod buffer;
mod comments;
mod compressed;
mod cutter;
mod error;
mod info;
mod input;
mod magic;
mod pcap;
mod pcapng;
mod source;
mod time;
mod writer;
mod xz;

#[cfg(feature = "internals")]
pub use buffer::CAPACITY;
pub use buffer::{Bytes, Refill};
pub use comments::{Comments, MAX_PACKET_COMMENTS, PacketComments};
pub use compressed::compressions;
pub use cutter::{Cut, Cutter};
pub use error::{Error, ErrorKind};
pub use info::{CaptureInfo, Interface, MAX_LISTED_INTERFACES, link_name};
#[cfg(feature = "internals")]
pub use input::MAX_WINDOW;
pub use magic::capture_format;
pub use source::Source;
pub use time::{SECOND, Time};
pub use writer::Writer;
#[cfg(feature = "internals")]
pub use xz::MAX_BLOCKS;

/// The most bytes a frame may have, as in libpcap and Wireshark. A record that announces more counts as damaged:
/// reading on would take packet data for record headers.
pub const MAX_FRAME: u32 = 262_144;

/// One captured frame, borrowed from the reader's buffer until the next one is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// Frame number, counted from 1 as in Wireshark, or on from [`Source::count_from`].
    pub number: u64,
    /// When it was captured.
    pub time: Time,
    /// Link type of its interface (`LINKTYPE_…` of tcpdump.org).
    pub link: u16,
    /// Number of its interface, counted from 0 over all sections of the file; 0 in pcap.
    pub interface: u32,
    /// Offset of `bytes` in the capture file (after decompression).
    pub at: u64,
    /// Length on the wire in bytes; larger than `bytes.len()` where the snap length cut the frame.
    pub wire_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}
