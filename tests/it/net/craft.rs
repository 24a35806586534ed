//! Hand-built frames for tests: datagrams, the IP packets around them, tunnels, link headers.

use qdissect::capture::{Frame, Time};
use qdissect::net::{Datagram, DropReason, Endpoint, parse};

/// Offset in its file of the first byte of every test frame.
pub const AT: u64 = 1000;
pub const SRC4: [u8; 4] = [192, 0, 2, 1];
pub const DST4: [u8; 4] = [198, 51, 100, 2];
pub const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
pub const PORTS: (u16, u16) = (40_000, 7777);
/// A payload.
pub const QUERY: &[u8] = b"\x01\x00\x00\x00\x00\x00\x01\x01";

/// Every link type that is read, but for those that hold whole frames.
pub const LINKS: [u16; 14] = [0, 1, 9, 12, 14, 50, 51, 101, 108, 113, 219, 228, 229, 276];

/// A frame that the snap length did not cut.
pub fn frame(link: u16, bytes: &[u8]) -> Frame<'_> {
    cut_frame(link, bytes, bytes.len())
}

/// A frame of `bytes` that was `wire` bytes long.
pub fn cut_frame(link: u16, bytes: &[u8], wire: usize) -> Frame<'_> {
    Frame { number: 1, time: Time::from_nanos(5), link, interface: 0, at: AT, wire_len: wire as u32, bytes }
}

/// The reason why a whole frame is dropped.
pub fn reason(link: u16, bytes: &[u8]) -> DropReason {
    parse(&frame(link, bytes)).expect_err("the frame should be dropped")
}

/// The datagram of a whole frame, after the checks of [`hold`].
pub fn datagram(link: u16, bytes: &[u8]) -> Datagram<'_> {
    let frame = frame(link, bytes);
    let datagram = parse(&frame).unwrap_or_else(|reason| panic!("dropped: {reason:?}"));
    hold(&frame, &datagram);
    datagram
}

/// Checks that hold for every datagram of every frame.
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
}

/// Checks that the datagram is the one built by [`v4`] and [`udp`].
pub fn is_ours_v4(datagram: &Datagram<'_>, payload: &[u8]) {
    let ends = (Endpoint::v4(SRC4, PORTS.0), Endpoint::v4(DST4, PORTS.1));
    assert_eq!(((datagram.src, datagram.dst), datagram.payload, datagram.cut), (ends, payload, 0));
}

/// Checks that the datagram is the one built by [`v6`] and [`udp`].
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

/// A UDP segment whose length field is `length`.
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

/// Our datagram in IPv4.
pub fn query4() -> Vec<u8> {
    v4(17, &udp(QUERY))
}

/// Our datagram in IPv6.
pub fn query6() -> Vec<u8> {
    v6(17, &udp(QUERY))
}

/// An Ethernet frame.
pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    join(&[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind.to_be_bytes(), body])
}

/// The bytes after the first tag type of a frame: tag control and the next type, repeated for each of `kinds`.
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

/// The ethertype of an IP packet.
fn kind(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] }
}

/// A packet after an Ethernet header.
pub fn wired(packet: &[u8]) -> Vec<u8> {
    ethernet(u16::from_be_bytes(kind(packet)), packet)
}

/// A packet after the simplest header of each link type; `None` where the link type has no such packets.
pub fn linked(link: u16, packet: &[u8]) -> Option<Vec<u8>> {
    let kind = kind(packet);
    let is_v6 = kind == [0x86, 0xdd];
    let family = |v4, v6| if is_v6 { v6 } else { v4 };
    let ppp = [0, family(0x21, 0x57)];
    Some(match link {
        0 => join(&[&[family(2, 30), 0, 0, 0], packet]),
        1 => wired(packet),
        9 | 50 => join(&[&[0xff, 3], &ppp, packet]),
        51 => join(&[&[0x11, 0, 0, 7], &(packet.len() as u16 + 2).to_be_bytes(), &ppp, packet]),
        108 => join(&[&[0, 0, 0, family(2, 24)], packet]),
        113 => join(&[&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], &kind, packet]),
        219 => join(&[&[0, 1, 0x10, 64], &[0, 1, 0x21, 64], packet]),
        276 => join(&[&kind, &[0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0], packet]),
        228 if is_v6 => return None,
        229 if !is_v6 => return None,
        _ => packet.to_vec(),
    })
}

/// PPP's protocol number of an IP packet.
pub fn ppp(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 6 { [0, 0x57] } else { [0, 0x21] }
}

fn length(bytes: usize) -> [u8; 2] {
    (bytes as u16).to_be_bytes()
}

/// GRE as PPTP has it, for the call 9; `numbers` are those of sequence and acknowledgement.
pub fn pptp(flags: u8, version: u8, numbers: &[u8], ppp: &[&[u8]]) -> Vec<u8> {
    let ppp = join(ppp);
    join(&[&[flags, version, 0x88, 0x0b], &length(ppp.len()), &[0, 9], numbers, &ppp])
}

/// A tunnel's name, and a function that puts a packet into it; it returns an IP protocol number and the IP payload.
pub type Craft = (&'static str, fn(&[u8]) -> (u8, Vec<u8>));

/// A datagram to that port.
pub fn over(port: u16, parts: &[&[u8]]) -> (u8, Vec<u8>) {
    (17, udp_between(55_555, port, &join(parts)))
}

/// Every form of every tunnel except IP in IP, which [`tunnelled`] adds.
pub const CRAFTS: &[Craft] = &[
    ("gre", |p| (47, join(&[&[0, 0], &kind(p), p]))),
    ("gre:7", |p| (47, join(&[&[0x20, 0], &kind(p), &[0, 0, 0, 7], p]))),
    ("gre:7", |p| (47, join(&[&[0xb0, 0], &kind(p), &[0; 4], &[0, 0, 0, 7], &[0; 4], p]))),
    ("gre", |p| (47, join(&[&[0x10, 0, 0x65, 0x58], &[0; 4], &wired(p)]))),
    ("gre", |p| (47, join(&[&[0, 0, 0x88, 0x47], &[0, 1, 0x10, 64], &[0, 1, 0x21, 64], p]))),
    ("gre", |p| (47, join(&[&[0, 0, 0x88, 0x0b], &[0xff, 3], &ppp(p), p]))),
    ("gre:7", |p| (47, join(&[&[0x20, 0, 0x88, 0x0b], &[0, 0, 0, 7], &ppp(p)[1..], p]))),
    ("pptp:9", |p| (47, pptp(0x30, 1, &[0; 4], &[&[0xff, 3], &ppp(p), p]))),
    ("pptp:9", |p| (47, pptp(0x30, 0x81, &[0; 8], &[&ppp(p)[1..], p]))),
    ("pptp:9", |p| (47, pptp(0x20, 1, &[], &[&[0xff, 3, 0x02, 0x81, 0, 1, 0x21, 64], p]))),
    ("gtp:66051", |p| over(2152, &[&[0x30, 0xff], &length(p.len()), &[0, 1, 2, 3], p])),
    ("gtp:1", |p| over(2152, &[&[0x32, 0xff], &length(p.len() + 4), &[0, 0, 0, 1, 0, 1, 0, 0x85], p])),
    ("gtp:1", |p| {
        let head = [0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0x40, 2, 1, 1, 1, 1, 1, 1, 0];
        over(2152, &[&[0x34, 0xff], &length(p.len() + 16), &head, p])
    }),
    ("erspan", |p| (47, join(&[&[0, 0, 0x88, 0xbe], &wired(p)]))),
    ("erspan:517", |p| {
        (47, join(&[&[0x10, 0, 0x88, 0xbe], &[0; 4], &[0x10, 1, 0xfa, 5], &[0; 4], &wired(p)]))
    }),
    ("erspan:5", |p| (47, join(&[&[0x10, 0, 0x22, 0xeb], &[0; 4], &[0x20, 1, 0, 5], &[0; 8], &wired(p)]))),
    ("erspan:5", |p| {
        let head = [0x20, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0x08, 0x01, 9, 9, 9, 9, 9, 9, 9, 9];
        (47, join(&[&[0x10, 0, 0x22, 0xeb], &[0; 4], &head, p]))
    }),
    ("vxlan:66051", |p| over(4789, &[&[8, 0, 0, 0, 1, 2, 3, 0], &wired(p)])),
    ("vxlan:1", |p| over(8472, &[&[8, 0, 0, 0, 0, 0, 1, 0], &wired(p)])),
    ("vxlan:1", |p| over(4790, &[&[0x0c, 0, 0, 3, 0, 0, 1, 0], &wired(p)])),
    ("vxlan:1", |p| over(4790, &[&[0x0c, 0, 0, if p[0] >> 4 == 6 { 2 } else { 1 }, 0, 0, 1, 0], p])),
    ("geneve:9", |p| over(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 9, 0], &wired(p)])),
    ("geneve:9", |p| over(6081, &[&[2, 0x40], &kind(p), &[0, 0, 9, 0], &[1; 8], p])),
    ("geneve:9", |p| over(6081, &[&[0x3f, 0], &kind(p), &[0, 0, 9, 0], &[1; 252], p])),
];

/// Packets with our datagram, each with the name of its tunnel: one tunnel of each form.
pub fn tunnelled() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![
        ("ipip", v4(4, &query4())),
        ("6in4", v4(41, &query6())),
        ("4in6", v6(4, &query4())),
        ("ip6ip6", v6(41, &query6())),
    ];
    for inner in [query4(), query6()] {
        for (name, craft) in CRAFTS {
            let (protocol, body) = craft(&inner);
            all.push((*name, v4(protocol, &body)));
            all.push((*name, v4_with(&[1; 4], protocol, &body)));
            all.push((*name, v6(protocol, &body)));
            all.push((*name, v6(60, &join(&[&[protocol, 0, 0, 0, 0, 0, 0, 0], &body]))));
        }
    }
    all
}
