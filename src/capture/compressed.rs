//! A compressed input, decompressed on its way to the buffer.
//!
//! ```text
//!  file, FIFO, stdin --read--> Input --bytes--> Stream --bytes--> Unpacked as Read --> Buffer
//!                              256 KiB          the readers of the crates
//! ```
//!
//! Several members, frames or streams may follow each other in one file. Each gets its own reader, and
//! [`Input`] goes from one to the next. It also tells a cut from damage, because not all readers do: at a cut, a
//! reader asks for more bytes than there are. The bytes that a reader decodes in a call that fails are lost, so each
//! call asks for few.
//!
//! A reader takes no more from a pipe than it needs: everything it can decode is handed out before more is read.

use super::Error;
use super::blockwise::{FRAME, Legacy, Zstd};
use super::buffer::Buffer;
use super::input::{Fault, Input, is_skippable};
use super::xz::Xz;
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use std::io::{self, BufRead, Read};
use std::mem;

/// Bytes requested per call from a reader that loses them if the call fails. The gzip reader has decoded up to 32
/// KiB more.
const PART: usize = 32 << 10;

/// A compression format that is read.
pub(super) struct Packing {
    magic: &'static [u8],
    /// Name of the format in the `capture` record.
    pub(super) name: &'static str,
    /// Command that decompresses `FILE` to standard output.
    pub(super) command: &'static str,
    between: Between,
    /// Opens a stream. Takes the input, unless it fails.
    open: fn(&mut Input) -> Result<Stream, Fault>,
}

/// Bytes allowed between streams and after the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Zeros,
    /// Skippable frames: magic number, length in four bytes (little-endian), data.
    Frames,
}

static PACKINGS: [Packing; 6] = [
    Packing {
        magic: b"\x1f\x8b",
        name: "gzip",
        command: "gzip -dc FILE",
        between: Between::Zeros,
        open: |input| Ok(Stream::Gzip(GzDecoder::new(mem::take(input)))),
    },
    Packing {
        magic: b"\x28\xb5\x2f\xfd",
        name: "zstd",
        command: "zstd -dc --long=31 FILE",
        between: Between::Frames,
        open: |input| Ok(Stream::Zstd(Box::new(Zstd::open(input)?))),
    },
    Packing {
        magic: FRAME,
        name: "lz4",
        command: "lz4 -dc FILE",
        between: Between::Frames,
        open: |input| Ok(Stream::Lz4(FrameDecoder::new(mem::take(input)))),
    },
    Packing {
        magic: Legacy::MAGIC,
        name: "lz4",
        command: "lz4 -dc FILE",
        between: Between::Frames,
        open: |input| Ok(Stream::Legacy(Legacy::open(input))),
    },
    Packing {
        magic: b"\xfd7zXZ\0",
        name: "xz",
        command: "xz -dc FILE",
        between: Between::Zeros,
        open: |input| Ok(Stream::Xz(Box::new(Xz::open(input)))),
    },
    Packing {
        magic: b"BZh",
        name: "bzip2",
        command: "bzip2 -dc FILE",
        between: Between::Nothing,
        open: open_bzip2,
    },
];

/// What follows the level of an empty member of bzip2: the mark of its end, and the checksum of nothing.
const EMPTY_BZIP2: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];

/// Length of an empty member of bzip2, magic number and level included.
const EMPTY_LENGTH: usize = 4 + EMPTY_BZIP2.len();

/// An empty member is skipped: the reader would make and clear tables of up to 4 MB for its fourteen bytes.
fn open_bzip2(input: &mut Input) -> Result<Stream, Fault> {
    let head = input.peek(EMPTY_LENGTH)?;
    if packing(head).is_some() && head.get(4..).is_some_and(|end| end == EMPTY_BZIP2) {
        input.consume(EMPTY_LENGTH);
        return Ok(Stream::None(mem::take(input)));
    }
    Ok(Stream::Bzip2(BzDecoder::new(mem::take(input))))
}

/// Names of the compression formats that are read, as in records, each once.
pub fn compressions() -> Vec<&'static str> {
    let mut names: Vec<_> = PACKINGS.iter().map(|packing| packing.name).collect();
    names.dedup();
    names
}

/// How the input that begins with `head` is compressed. Four bytes are enough.
pub(super) fn packing(head: &[u8]) -> Option<&'static Packing> {
    // The magic of xz has six bytes, of which four are compared; a text file may begin with the three bytes of
    // bzip2.
    let level = |head: &[u8]| head.get(3).is_some_and(|level| (b'1'..=b'9').contains(level));
    PACKINGS.iter().find(|packing| {
        head.starts_with(packing.magic.get(..4).unwrap_or(packing.magic))
            && (packing.name != "bzip2" || level(head))
    })
}

/// One stream, member or frame, with the input that it is decoded from.
enum Stream {
    /// No stream: the previous one, if any, has ended.
    None(Input),
    Gzip(GzDecoder<Input>),
    Zstd(Box<Zstd>),
    Lz4(FrameDecoder<Input>),
    Legacy(Legacy),
    Xz(Box<Xz>),
    Bzip2(BzDecoder<Input>),
}

impl Stream {
    fn input(&mut self) -> &mut Input {
        match self {
            Stream::None(input) => input,
            Stream::Gzip(reader) => reader.get_mut(),
            Stream::Zstd(reader) => &mut reader.input,
            Stream::Lz4(reader) => reader.get_mut(),
            Stream::Legacy(reader) => &mut reader.input,
            Stream::Xz(reader) => &mut reader.input,
            Stream::Bzip2(reader) => reader.get_mut(),
        }
    }

    /// Returns 0 at the end of the stream, and perhaps where it is cut.
    fn read(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        let part = PART.min(space.len());
        match self {
            Stream::None(_) => Ok(0),
            Stream::Gzip(reader) => Ok(reader.read(space.get_mut(..part).unwrap_or_default())?),
            Stream::Zstd(reader) => reader.read(space),
            Stream::Lz4(reader) => Ok(reader.read(space)?),
            Stream::Legacy(reader) => reader.read(space),
            Stream::Xz(reader) => reader.read(space),
            Stream::Bzip2(reader) => Ok(reader.read(space.get_mut(..part).unwrap_or_default())?),
        }
    }
}

/// Makes `buffer` decompress the bytes it has read and all that follow; returns the compression format, which is that
/// of the first frame that is not skippable.
///
/// # Errors
/// As [`Source::from_reader`](super::Source::from_reader).
pub(super) fn unpack(buffer: &mut Buffer) -> Result<&'static Packing, Error> {
    let stream = Stream::None(Input::new(mem::take(buffer)));
    let mut unpacked = Unpacked { stream, packing: None, given: 0, over: false };
    let next = unpacked.next_stream().map_err(|fault| Error::io(0, unpacked.error(fault)))?;
    let only_skippable = || Error::not_a_capture("it holds nothing but skippable frames of zstd or lz4");
    let packing = next.ok_or_else(only_skippable)?;
    *buffer = Buffer::new(Box::new(unpacked));
    Ok(packing)
}

/// The decompressed input. Its errors are [`Error`]s inside [`io::Error`], except for errors of the input itself.
struct Unpacked {
    stream: Stream,
    /// `None` as long as only skippable frames have been read.
    packing: Option<&'static Packing>,
    /// Bytes handed out so far.
    given: u64,
    over: bool,
}

impl Unpacked {
    /// Opens the next stream; `None` at the end of the input.
    fn next_stream(&mut self) -> Result<Option<&'static Packing>, Fault> {
        let input = self.stream.input();
        let between = self.packing.map_or(Between::Frames, |packing| packing.between);
        let head = loop {
            let head = input.peek(6)?;
            let zeros = head.iter().take_while(|&&byte| byte == 0).count();
            if head.is_empty() {
                return Ok(None);
            } else if between == Between::Zeros && zeros > 0 {
                input.consume(zeros);
            } else if between == Between::Frames && is_skippable(head) {
                let [.., a, b, c, d] = input.array::<8>()?;
                input.skip(u32::from_le_bytes([a, b, c, d]).into())?;
            } else {
                break head;
            }
        };
        let same_format =
            || PACKINGS.iter().filter(|it| self.packing.is_none_or(|packing| packing.name == it.name));
        let next = match self.packing {
            None => packing(head),
            Some(_) => same_format().find(|it| head.starts_with(it.magic)),
        };
        let Some(next) = next else {
            let cut_skippable =
                matches!(head, [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d]);
            if between == Between::Frames && cut_skippable
                || same_format().any(|it| it.magic.starts_with(head))
            {
                input.consume(6);
                return Err(Fault::Cut);
            }
            let name = self.packing.map_or("zstd or lz4", |packing| packing.name);
            return Err(Fault::Damaged(format!("is followed by something that is not {name}")));
        };
        self.packing = Some(next);
        self.stream = (next.open)(input)?;
        Ok(Some(next))
    }

    fn decode(&mut self, space: &mut [u8]) -> Result<usize, Fault> {
        loop {
            let got = self.stream.read(space)?;
            if got > 0 {
                return Ok(got);
            }
            if self.stream.input().starved {
                return Err(Fault::Cut);
            }
            if self.next_stream()?.is_none() {
                return Ok(0);
            }
        }
    }

    fn error(&mut self, fault: Fault) -> io::Error {
        let input = self.stream.input();
        if let Some(cause) = input.failed.take() {
            return cause;
        }
        let at = input.offset();
        let name = self.packing.map_or("zstd or lz4", |packing| packing.name);
        io::Error::other(match (fault, self.packing) {
            (Fault::Damaged(_), _) if input.starved => Error::packing_cut(name, at, self.given),
            (Fault::Cut, _) => Error::packing_cut(name, at, self.given),
            (Fault::Damaged(text), Some(_)) => Error::packing_damaged(name, at, self.given, &text),
            (Fault::Refused(text), Some(packing)) => {
                Error::packing_refused([packing.name, packing.command], at, self.given, &text)
            }
            (_, None) => Error::not_a_capture(format!(
                "it begins with skippable frames of zstd or lz4, and at byte {at} stands neither"
            )),
        })
    }
}

impl Read for Unpacked {
    /// Returns as soon as there are any bytes.
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.over || space.is_empty() {
            return Ok(0);
        }
        let got = self.decode(space).map_err(|fault| self.error(fault));
        self.over = !matches!(got, Ok(1..));
        self.given = self.given.saturating_add(*got.as_ref().unwrap_or(&0) as u64);
        got
    }
}
