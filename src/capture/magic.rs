//! Recognises the format of an input by its first bytes.
//!
//! ```text
//!  a1 b2 c3 d4, a1 b2 3c 4d, a1 b2 cd 34   pcap (or backwards)
//!  0a 0d 0d 0a .. .. .. .. 1a 2b 3c 4d     pcapng (the last four or backwards)
//!  1f 8b   28 b5 2f fd   04 22 4d 18   fd 37 7a 58 5a 00   42 5a 68   4c 5a 49 50
//!  gzip    zstd          lz4           xz                  bzip2      lzip, and others that are not read
//! ```

use super::Error;
use super::blocks::{SECTION, SECTION_LEAST, is_big};
use super::buffer::{Buffer, word};
use super::compressed::{Packing, packing, unpack};
use super::input::is_skippable;
use super::pcap::{self, Layout};

/// A format that is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Pcap(Layout),
    Pcapng,
}

/// Reads the first bytes of an input, no more than its format needs, and leaves them in `buffer`, which decompresses
/// from then on if necessary. Also returns the name of the compression.
pub(super) fn format(buffer: &mut Buffer) -> Result<(Format, Option<&'static str>), Error> {
    buffer.fill(4)?;
    if packing(buffer.rest()).is_none() && !is_skippable(buffer.rest()) {
        return uncompressed(buffer).map(|format| (format, None));
    }
    let outer = unpack(buffer)?;
    buffer.fill(4)?;
    if let Some(inner) = packing(buffer.rest()) {
        return Err(nested(outer, inner));
    }
    uncompressed(buffer).map(|format| (format, Some(outer.name)))
}

fn nested(outer: &Packing, inner: &Packing) -> Error {
    Error::not_a_capture(format!(
        "it is compressed with {}, and what is in it with {} once more: only one compression is undone, \
         so do the outer one on the way, with `{} | qdissect -`",
        outer.name, inner.name, outer.command
    ))
}

/// The format of an input that is not compressed, or has been decompressed.
fn uncompressed(buffer: &mut Buffer) -> Result<Format, Error> {
    buffer.fill(4)?;
    if pcap::magic(buffer.rest()).is_some() {
        buffer.fill(pcap::FILE_HEAD)?;
        return Layout::read(buffer.rest()).map(Format::Pcap);
    }
    buffer.fill(SECTION_LEAST)?;
    let head = buffer.rest();
    if word::<false>(head, 0) == SECTION && is_big(head).is_some() {
        return if head.len() < SECTION_LEAST { Err(too_short(head)) } else { Ok(Format::Pcapng) };
    }
    buffer.fill(TAR_END)?;
    let head = buffer.rest();
    if head.get(TAR_AT..TAR_END) == Some(TAR) {
        return Err(Error::not_a_capture(
            "it is a tar archive, which is not read: take the captures out of it, with `tar -xf FILE`, and name them \
             or their directory",
        ));
    }
    Err(not_a_capture(head.get(..SECTION_LEAST).unwrap_or(head)))
}

/// Magic of a tar archive at offset 257, since POSIX.
const TAR: &[u8] = b"ustar";
const TAR_AT: usize = 257;
const TAR_END: usize = 262;

/// The format of a capture, `pcap` or `pcapng`, that begins with these bytes; `None` if they begin no capture.
pub fn capture_format(bytes: &[u8]) -> Option<&'static str> {
    if bytes.len() >= pcap::FILE_HEAD && pcap::magic(bytes).is_some() {
        return Some("pcap");
    }
    let section = bytes.len() >= 12 && word::<false>(bytes, 0) == SECTION && is_big(bytes).is_some();
    section.then_some("pcapng")
}

fn too_short(head: &[u8]) -> Error {
    Error::not_a_capture(format!(
        "it starts like a pcapng file and ends within its section header: there are {} of {SECTION_LEAST} bytes",
        head.len()
    ))
}

/// Formats that are not read: first bytes, name, and the beginning of the command that decompresses it; `None` for captures.
const OTHERS: [(&[u8], &str, Option<&str>); 11] = [
    (b"PK\x03\x04", "a zip archive", Some("unzip -p")),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", Some("7z x -so")),
    (b"LZIP", "compressed with lzip", Some("lzip -dc")),
    (b"\x89LZO", "compressed with lzop", Some("lzop -dc")),
    (b"\x5d\0\0", "compressed with lzma", Some("xz -dc")),
    (b"\x1f\x9d", "compressed with compress", Some("gzip -dc")),
    (b"snoop\0\0\0", "a capture of Solaris' snoop", None),
    (b"GMBU", "a capture of Microsoft's Network Monitor", None),
    (b"RTSS", "a capture of Microsoft's Network Monitor", None),
    (b"TRSNIFF data", "a capture of Sniffer", None),
    (b"XCP\0", "a capture of Sniffer", None),
];

/// The error for an input that is not a capture: it says what the input is, and what to do.
fn not_a_capture(head: &[u8]) -> Error {
    if head.is_empty() {
        return Error::not_a_capture("it is empty: a capture has at least a file header");
    }
    if let Some((_, what, unpack)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        let remedy = match unpack {
            Some(unpack) => format!("decompress it on the way, with `{unpack} FILE | qdissect -`"),
            None => "`editcap -F pcapng FILE NEW` converts it".to_owned(),
        };
        return Error::not_a_capture(format!("it is {what}, which is not read: {remedy}"));
    }
    if head.len() < 12 && word::<false>(head, 0) == SECTION {
        return too_short(head);
    }
    if is_text(head) {
        return Error::not_a_capture(
            "it is text and not a capture: only pcap and pcapng are read; for pasted bytes there is `qdissect hex FILE`",
        );
    }
    let first = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    Error::not_a_capture(format!(
        "it is not a capture, or of a format that is not read: its first bytes are {first}; \
         pcap and pcapng are read, and `editcap -F pcapng FILE NEW` converts others"
    ))
}

/// Whether the bytes are UTF-8 without control characters; the last character may be cut.
fn is_text(head: &[u8]) -> bool {
    let valid = match str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    head.iter().take(valid).all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
}
