//! What an input is, by its first bytes.
//!
//! ```text
//!  a1 b2 c3 d4, a1 b2 3c 4d, a1 b2 cd 34   pcap (or backwards)
//!  0a 0d 0d 0a .. .. .. .. 1a 2b 3c 4d     pcapng (the last four or backwards)
//!  1f 8b   28 b5 2f fd   04 22 4d 18   fd 37 7a 58 5a 00   42 5a 68   50 4b 03 04
//!  gzip    zstd          lz4           xz                  bzip2      zip
//! ```

use super::Error;
use super::blocks::{BYTE_ORDER, SECTION, SECTION_LEAST};
use super::buffer::{Buffer, word};
use super::pcap::{self, Layout};

/// Compressed inputs: first bytes, name, and the command that decompresses `FILE` to standard output.
const COMPRESSED: [(&[u8], &str, &str); 6] = [
    (b"\x1f\x8b", "gzip", "gzip -dc FILE"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc FILE"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"),
    (b"\xfd7zXZ\0", "xz", "xz -dc FILE"),
    (b"BZh", "bzip2", "bzip2 -dc FILE"),
    (b"PK\x03\x04", "zip", "unzip -p FILE"),
];

/// A format that is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Pcap(Layout),
    Pcapng,
}

/// Reads the first bytes of an input, no more than its format needs, and leaves them in `buffer`.
pub(super) fn format(buffer: &mut Buffer) -> Result<Format, Error> {
    buffer.fill(4)?;
    if pcap::magic(buffer.rest()).is_some() {
        buffer.fill(pcap::FILE_HEAD)?;
        return Layout::read(buffer.rest()).map(Format::Pcap);
    }
    buffer.fill(SECTION_LEAST)?;
    let head = buffer.rest();
    let order = word::<false>(head, 8);
    if word::<false>(head, 0) == SECTION && (order == BYTE_ORDER || order.swap_bytes() == BYTE_ORDER) {
        return if head.len() < SECTION_LEAST { Err(too_short(head)) } else { Ok(Format::Pcapng) };
    }
    Err(not_a_capture(head.get(..SECTION_LEAST).unwrap_or(head)))
}

fn too_short(head: &[u8]) -> Error {
    Error::not_a_capture(format!(
        "it starts like a pcapng file and ends within its section header: there are {} of {SECTION_LEAST} bytes",
        head.len()
    ))
}

/// Says what it is instead, and what to do.
fn not_a_capture(head: &[u8]) -> Error {
    if head.is_empty() {
        return Error::not_a_capture("it is empty: a capture has at least a file header");
    }
    if let Some((_, name, command)) = COMPRESSED.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Error::not_a_capture(format!(
            "it is compressed with {name}, which is not read yet: decompress it on the way, with `{command} | qdissect -`"
        ));
    }
    if head.len() < 12 && word::<false>(head, 0) == SECTION {
        return too_short(head);
    }
    if is_text(head) {
        return Error::not_a_capture("it is text and not a capture: only pcap and pcapng are read");
    }
    let first = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    Error::not_a_capture(format!(
        "it is not a capture, or of a format that is not read: its first bytes are {first}; \
         pcap and pcapng are read, and `editcap -F pcapng FILE NEW` converts others"
    ))
}

/// UTF-8, but for a last character that may be cut, and without control characters.
fn is_text(head: &[u8]) -> bool {
    let valid = match str::from_utf8(head) {
        Ok(_) => head.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return false,
    };
    head.iter().take(valid).all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..))
}
