//! Frames inside a tunnel over Ethernet, between two hosts that appear nowhere else.

use crate::kit::frames::Kept;

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

type Wrap = fn(&[u8]) -> Option<Vec<u8>>;

/// The tunnels by their names in records, with functions that encapsulate an Ethernet frame with an IP packet; `None` if that is
/// not possible.
pub const ALL: [(&str, Wrap); 4] = [
    ("ip", |frame| Some(outer(if is_v6(frame) { 41 } else { 4 }, &frame[ETHERNET..]))),
    ("gre", |frame| Some(outer(47, &[&[0, 0], &frame[12..14], &frame[ETHERNET..]].concat()))),
    ("vxlan:42", |frame| Some(udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0], frame].concat()))),
    ("geneve:42", |frame| Some(udp(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 42, 0], frame].concat()))),
];

fn is_v6(frame: &[u8]) -> bool {
    frame[12..14] == [0x86, 0xdd]
}

/// An Ethernet frame with an IPv4 packet of that protocol.
fn outer(protocol: u8, body: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + body.len() as u16).to_be_bytes();
    let ethernet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let ip = [0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 9, 8, 7, 10, 9, 8, 6];
    [&ethernet[..], &ip, body].concat()
}

fn udp(port: u16, body: &[u8]) -> Vec<u8> {
    let [port_high, port_low] = port.to_be_bytes();
    let [high, low] = (8 + body.len() as u16).to_be_bytes();
    outer(17, &[&[0xc0, 0x01, port_high, port_low, high, low, 0, 0], body].concat())
}

/// Encapsulates Ethernet frames in a tunnel. Frames without an IP packet stay outside.
pub fn wrapped(frames: &[Kept], wrap: Wrap) -> Vec<Kept> {
    let inside = |f: &Kept| {
        let ip = matches!(f.bytes[12..14], [8, 0] | [0x86, 0xdd]);
        let bytes = ip.then(|| wrap(&f.bytes)).flatten().unwrap_or_else(|| f.bytes.clone());
        assert_eq!(f.bytes.len(), f.wire_len as usize, "the frames are whole");
        Kept { wire_len: bytes.len() as u32, bytes, ..f.clone() }
    };
    frames.iter().map(inside).collect()
}
