//! A compressed input, decompressed on its way to the buffer.
//!
//! ```text
//!  file, FIFO, stdin --read--> Input --bytes--> Decode --bytes--> Unpacked as Read --> Buffer
//!                              64 KiB           gzip.rs zstd.rs lz4.rs xz.rs bzip2.rs
//! ```
//!
//! Each format is a walk over its members, frames or streams, which may stand in one file one behind
//! the other, with the decoder of a crate for what is compressed in them. The walk is ours for three
//! reasons: what was decoded before a stream breaks is handed out before the error, a cut is told
//! from damage, and nothing is allocated because a header announces it.
//!
//! A step of a decoder reads only when it has nothing to give: what a pipe holds is handed out at once.

use super::{Error, bzip2, gzip, input::Input, lz4, xz, zstd};
use std::io::{self, Read};

/// The largest window or dictionary that is kept: what `zstd --long` and `xz` need at the most
/// unless told otherwise, 128 MiB.
pub(super) const MAX_WINDOW: u64 = 128 << 20;

/// A way of compressing that is read.
pub(super) struct Packing {
    magic: &'static [u8],
    /// As the `capture` record names it.
    pub(super) name: &'static str,
    /// Decompresses `FILE` to standard output.
    pub(super) command: &'static str,
    decoder: fn() -> Box<dyn Decode>,
}

static PACKINGS: [Packing; 6] = [
    Packing { magic: gzip::MAGIC, name: "gzip", command: "gzip -dc FILE", decoder: gzip::decoder },
    Packing { magic: zstd::MAGIC, name: "zstd", command: "zstd -dc --long=31 FILE", decoder: zstd::decoder },
    Packing { magic: lz4::MAGIC, name: "lz4", command: "lz4 -dc FILE", decoder: lz4::decoder },
    Packing { magic: lz4::LEGACY, name: "lz4", command: "lz4 -dc FILE", decoder: lz4::decoder },
    Packing { magic: xz::MAGIC, name: "xz", command: "xz -dc FILE", decoder: xz::decoder },
    Packing { magic: bzip2::MAGIC, name: "bzip2", command: "bzip2 -dc FILE", decoder: bzip2::decoder },
];

/// The ways of compressing that are read, by the names in records, each once.
pub fn compressions() -> Vec<&'static str> {
    let mut names: Vec<_> = PACKINGS.iter().map(|packing| packing.name).collect();
    names.dedup();
    names
}

/// How the input that begins with `head` is compressed. Four bytes are enough.
pub(super) fn packing(head: &[u8]) -> Option<&'static Packing> {
    // xz has six bytes of magic, and a file of text may begin with those of bzip2.
    let level = |head: &[u8]| head.get(3).is_some_and(|level| (b'1'..=b'9').contains(level));
    PACKINGS.iter().find(|packing| {
        head.starts_with(packing.magic.get(..4).unwrap_or(packing.magic))
            && (packing.name != "bzip2" || level(head))
    })
}

/// Whether `head` begins a skippable frame, of zstd or of lz4: only what follows tells which.
pub(super) fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Why there is no more to decode.
pub(super) enum Stop {
    /// The input cannot be read.
    Io(io::Error),
    /// The input ends inside a stream.
    Cut,
    /// What is wrong with the stream, as a predicate: "has a wrong checksum".
    Damaged(String),
    /// What the stream would need that is not given, as a predicate: "needs a dictionary".
    Refused(String),
}

impl Stop {
    pub(super) fn damaged(text: impl Into<String>) -> Stop {
        Stop::Damaged(text.into())
    }

    /// For a window or dictionary above [`MAX_WINDOW`].
    pub(super) fn window(what: &str, bytes: u64) -> Stop {
        let most = MAX_WINDOW >> 20;
        Stop::Refused(format!("needs a {what} of {bytes} bytes, and at most {most} MiB are kept"))
    }
}

/// Whether a decoder goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    /// The last stream is complete, and nothing follows it.
    End,
}

/// Where a decoder writes.
pub(super) struct Out<'a> {
    space: &'a mut [u8],
    len: usize,
}

impl<'a> Out<'a> {
    pub(super) fn new(space: &'a mut [u8]) -> Out<'a> {
        Out { space, len: 0 }
    }

    /// What is still free.
    pub(super) fn free(&mut self) -> &mut [u8] {
        self.space.get_mut(self.len..).unwrap_or_default()
    }

    /// `count` bytes of [`free`](Self::free) have been written.
    pub(super) fn add(&mut self, count: usize) {
        self.len = self.len.saturating_add(count).min(self.space.len());
    }

    /// Takes what fits of `bytes`, and says how much that was.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let fits = bytes.len().min(self.free().len());
        if let (Some(to), Some(from)) = (self.free().get_mut(..fits), bytes.get(..fits)) {
            to.copy_from_slice(from);
        }
        self.add(fits);
        fits
    }
}

/// Decodes one format, stream after stream.
pub(super) trait Decode: Send {
    /// Goes one step further; writes nothing, something, or all that fits. What was written counts
    /// also when the step fails, and no further step is made then.
    fn step(&mut self, input: &mut Input, out: &mut Out<'_>) -> Result<Flow, Stop>;
}

/// The decompressed input. Its errors are [`Error`]s inside of [`io::Error`], but for those of the
/// input itself.
pub(super) struct Unpacked {
    input: Input,
    packing: &'static Packing,
    decoder: Box<dyn Decode>,
    flow: Flow,
    stop: Option<Stop>,
    given: u64,
}

impl Unpacked {
    /// Goes on behind skippable frames to the first one that says how it is compressed.
    ///
    /// # Errors
    /// As [`Source::from_reader`](super::Source::from_reader).
    pub(super) fn open(mut input: Input) -> Result<Unpacked, Error> {
        let skipped = |stop: Stop, input: &Input| match stop {
            Stop::Io(cause) => Error::io(0, cause),
            _ => Error::packing_cut("zstd or lz4", input.offset(), 0),
        };
        loop {
            let head = input.peek(4).map_err(|cause| Error::io(0, cause))?;
            if is_skippable(head) {
                skip_frame(&mut input).map_err(|stop| skipped(stop, &input))?;
            } else if let Some(packing) = packing(head) {
                let decoder = (packing.decoder)();
                return Ok(Unpacked { input, packing, decoder, flow: Flow::More, stop: None, given: 0 });
            } else if head.is_empty() {
                return Err(Error::not_a_capture("it holds nothing but skippable frames of zstd or lz4"));
            } else if head.len() < 4 {
                return Err(skipped(Stop::Cut, &input));
            } else {
                return Err(Error::not_a_capture(format!(
                    "it begins with skippable frames of zstd or lz4, and at byte {} stands neither",
                    input.offset()
                )));
            }
        }
    }

    pub(super) fn packing(&self) -> &'static Packing {
        self.packing
    }

    fn error(&self, stop: Stop) -> io::Error {
        let (name, at) = (self.packing.name, self.input.offset());
        io::Error::other(match stop {
            Stop::Io(cause) => return cause,
            Stop::Cut => Error::packing_cut(name, at, self.given),
            Stop::Damaged(text) => Error::packing_damaged(name, at, self.given, &text),
            Stop::Refused(text) => Error::packing_refused(self.packing, at, self.given, &text),
        })
    }
}

impl Read for Unpacked {
    /// Returns as soon as there is something.
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let mut out = Out::new(space);
        while self.flow == Flow::More && self.stop.is_none() && out.len == 0 && !out.space.is_empty() {
            match self.decoder.step(&mut self.input, &mut out) {
                Ok(flow) => self.flow = flow,
                Err(stop) => self.stop = Some(stop),
            }
        }
        let len = out.len;
        self.given = self.given.saturating_add(len as u64);
        match self.stop.take_if(|_| len == 0) {
            Some(stop) => {
                self.flow = Flow::End;
                Err(self.error(stop))
            }
            None => Ok(len),
        }
    }
}

/// What stands where a stream may begin.
pub(super) enum Next {
    /// The input ends.
    End,
    /// The magic number of this index, which has not been read yet.
    Stream(usize),
}

/// Looks for one of `magics` at the front of the input, which belongs to a format called `name`.
pub(super) fn next_of(input: &mut Input, magics: &[&[u8]], name: &str) -> Result<Next, Stop> {
    let most = magics.iter().map(|magic| magic.len()).max().unwrap_or_default();
    let head = input.peek(most).map_err(Stop::Io)?;
    if head.is_empty() {
        return Ok(Next::End);
    }
    if let Some(index) = magics.iter().position(|magic| head.starts_with(magic)) {
        return Ok(Next::Stream(index));
    }
    if magics.iter().any(|magic| magic.starts_with(head)) {
        input.skip(most as u64)?;
    }
    Err(Stop::Damaged(format!("is followed by something that is not {name}")))
}

/// [`next_of`], behind a skippable frame `None`.
pub(super) fn next_frame(input: &mut Input, magics: &[&[u8]], name: &str) -> Result<Option<Next>, Stop> {
    match input.peek(4).map_err(Stop::Io)? {
        [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d] => Err(Stop::Cut),
        head if is_skippable(head) => skip_frame(input).map(|()| None),
        _ => next_of(input, magics, name).map(Some),
    }
}

/// Reads past a skippable frame: magic number, length in four bytes (little-endian), data.
pub(super) fn skip_frame(input: &mut Input) -> Result<(), Stop> {
    let [.., a, b, c, d] = input.array::<8>()?;
    input.skip(u32::from_le_bytes([a, b, c, d]).into())
}
