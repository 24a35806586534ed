//! From a UDP segment to the datagram (RFC 768).
//!
//! ```text
//!  0      7 8     15 16    23 24    31
//! ┌────────┴────────┬────────┴────────┐
//! │   source port   │ destination port│
//! ├─────────────────┼─────────────────┤
//! │     length      │    checksum     │   length: header and payload, 8..=65535 bytes
//! ├─────────────────┴─────────────────┤
//! │ payload ...                       │
//! ```

use super::{Datagram, Endpoint, Turned};
use crate::capture::Frame;

/// Bytes of a UDP header.
const HEADER: usize = 8;

/// Reads the UDP header at the start of `segment`.
///
/// `segment` is the captured rest of the frame, padding included; `room` is the length of the IP payload on the
/// wire in bytes, which the caller has found to lie within the frame. `endpoint` joins an address, `src` or
/// `dst`, and a port.
#[inline(always)]
pub(super) fn datagram<'a, A>(
    frame: &Frame<'a>,
    segment: &'a [u8],
    room: usize,
    (src, dst): (A, A),
    endpoint: impl Fn(A, u16) -> Endpoint,
) -> Result<Datagram<'a>, Turned> {
    let Some((head, rest)) = segment.split_first_chunk::<HEADER>() else {
        return Err(if room < HEADER { Turned::BadUdpLength } else { Turned::HeadersCut });
    };
    let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if length > room {
        return Err(Turned::BadUdpLength);
    }
    let Some(announced) = length.checked_sub(HEADER) else {
        return Err(Turned::BadUdpLength);
    };
    let payload = rest.get(..announced).unwrap_or(rest);
    let offset = frame.bytes.len().wrapping_sub(rest.len());
    Ok(Datagram {
        frame: frame.number,
        time: frame.time,
        src: endpoint(src, u16::from_be_bytes([head[0], head[1]])),
        dst: endpoint(dst, u16::from_be_bytes([head[2], head[3]])),
        at: frame.at.wrapping_add(offset as u64),
        cut: announced.wrapping_sub(payload.len()) as u32,
        checksum: u16::from_be_bytes([head[6], head[7]]),
        payload,
    })
}
