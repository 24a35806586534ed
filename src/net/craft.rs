//! Frames for tests, put together by hand. Link headers are in `craft_links.rs`.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::{Datagram, Endpoint, Turned, peel};
use crate::capture::{Frame, Time};

/// Where the first byte of every test frame lies in its file.
pub const AT: u64 = 1000;
pub const SRC4: [u8; 4] = [192, 0, 2, 1];
pub const DST4: [u8; 4] = [198, 51, 100, 2];
pub const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub const PORTS: (u16, u16) = (40_000, 7777);

/// A frame that the snap length did not cut.
pub fn frame(link: u16, bytes: &[u8]) -> Frame<'_> {
    cut_frame(link, bytes, bytes.len())
}

/// A frame of `bytes` that was `wire` bytes long.
pub fn cut_frame(link: u16, bytes: &[u8], wire: usize) -> Frame<'_> {
    Frame { number: 1, time: Time::from_nanos(5), link, interface: 0, at: AT, wire_len: wire as u32, bytes }
}

/// The reason why a whole frame is turned away.
pub fn reason(link: u16, bytes: &[u8]) -> Turned {
    peel(&frame(link, bytes)).expect_err("the frame should be turned away")
}

/// The datagram of a whole frame, after checking what holds for every datagram.
pub fn datagram(link: u16, bytes: &[u8]) -> Datagram<'_> {
    let frame = frame(link, bytes);
    let datagram = peel(&frame).unwrap_or_else(|reason| panic!("turned away: {reason:?}"));
    hold(&frame, &datagram);
    datagram
}

/// What holds for every datagram of every frame.
pub fn hold(frame: &Frame<'_>, datagram: &Datagram<'_>) {
    assert_eq!((datagram.frame, datagram.time), (frame.number, frame.time));
    let offset = (datagram.at - frame.at) as usize;
    let end = offset + datagram.payload.len();
    assert!(end <= frame.bytes.len());
    assert_eq!(datagram.payload.as_ptr_range(), frame.bytes[offset..end].as_ptr_range());
    let udp = &frame.bytes[offset - 8..offset];
    assert_eq!(datagram.src.port(), u16::from_be_bytes([udp[0], udp[1]]));
    assert_eq!(datagram.dst.port(), u16::from_be_bytes([udp[2], udp[3]]));
    assert_eq!(datagram.wire_len() + 8, usize::from(u16::from_be_bytes([udp[4], udp[5]])));
    if datagram.cut > 0 {
        assert_eq!(end, frame.bytes.len(), "only the end of the frame may cut a payload");
        assert!(end + datagram.cut as usize <= frame.wire_len as usize);
    }
}

/// That the datagram is the one that [`v4`] and [`udp`] craft.
pub fn is_ours_v4(datagram: &Datagram<'_>, payload: &[u8]) {
    let ends = (Endpoint::v4(SRC4, PORTS.0), Endpoint::v4(DST4, PORTS.1));
    assert_eq!(((datagram.src, datagram.dst), datagram.payload, datagram.cut), (ends, payload, 0));
}

/// That the datagram is the one that [`v6`] and [`udp`] craft.
pub fn is_ours_v6(datagram: &Datagram<'_>, payload: &[u8]) {
    let ends = (Endpoint::v6(SRC6, PORTS.0), Endpoint::v6(DST6, PORTS.1));
    assert_eq!(((datagram.src, datagram.dst), datagram.payload, datagram.cut), (ends, payload, 0));
}

/// A UDP segment.
pub fn udp(payload: &[u8]) -> Vec<u8> {
    udp_of_length(payload.len() as u16 + 8, payload)
}

/// A UDP segment between other ports.
pub fn udp_between(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let mut segment = udp(payload);
    segment[..2].copy_from_slice(&src.to_be_bytes());
    segment[2..4].copy_from_slice(&dst.to_be_bytes());
    segment
}

/// A UDP segment that says it has `length` bytes.
pub fn udp_of_length(length: u16, payload: &[u8]) -> Vec<u8> {
    let [src, dst] = [PORTS.0.to_be_bytes(), PORTS.1.to_be_bytes()];
    join(&[&src, &dst, &length.to_be_bytes(), &[0, 0], payload])
}

/// An IPv4 packet.
pub fn v4(protocol: u8, body: &[u8]) -> Vec<u8> {
    v4_with(&[], protocol, body)
}

/// An IPv4 packet with options (a multiple of 4 bytes).
pub fn v4_with(options: &[u8], protocol: u8, body: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let total = (words * 4 + body.len()) as u16;
    let first = [0x40 | words as u8, 0];
    join(&[&first, &total.to_be_bytes(), &[0, 1, 0x40, 0, 64, protocol, 0, 0], &SRC4, &DST4, options, body])
}

/// An IPv6 packet; `body` begins with the extension headers, if any.
pub fn v6(next: u8, body: &[u8]) -> Vec<u8> {
    join(&[&[0x60, 0, 0, 0], &(body.len() as u16).to_be_bytes(), &[next, 64], &SRC6, &DST6, body])
}

/// An Ethernet frame.
pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    join(&[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind.to_be_bytes(), body])
}

/// What follows the first tag type of a frame: tag control, then the next type, again and again.
pub fn tags(kinds: &[u16], body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    for kind in kinds {
        bytes.extend([0, 7]);
        bytes.extend(kind.to_be_bytes());
    }
    join(&[&bytes, body])
}

/// The parts one after the other.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
