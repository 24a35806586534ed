//! Hand-built packets in tunnels: each kind, each inside each, cut, damaged, and datagrams that only look like
//! tunnels.

use super::craft::*;
use proptest::prelude::*;
use qdissect::capture::Frame;
use qdissect::net::{
    Content, Datagram, Decapsulator, DropReason, MAX_DEPTH, MAX_GTP_EXTENSIONS, MAX_PATHS, parse,
};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The innermost datagram of a frame, and the tunnels around it.
fn innermost<'a>(frame: &Frame<'a>) -> Result<(Datagram<'a>, String), DropReason> {
    let decapsulator: &'a mut Decapsulator = Box::leak(Box::default());
    let found = decapsulator.decapsulate(frame)?;
    match found.content {
        Content::Datagram(datagram) => {
            hold(frame, &datagram);
            let names: Vec<_> = found.tunnels.path(datagram.tunnel).iter().map(|t| t.to_string()).collect();
            Ok((datagram, names.join(" ")))
        }
        Content::Icmp(_) => Err(DropReason::Icmp),
    }
}

fn is_ours(datagram: &Datagram<'_>) {
    match datagram.src.octets() {
        Some(_) => is_ours_v4(datagram, QUERY),
        None => is_ours_v6(datagram, QUERY),
    }
}

#[test]
fn every_tunnel_leads_to_the_datagram_inside() {
    for (name, packet) in tunnelled() {
        for link in LINKS {
            let Some(bytes) = linked(link, &packet) else { continue };
            let frame = frame(link, &bytes);
            assert_eq!(parse(&frame).unwrap_err(), DropReason::Tunnel, "{name}");
            let (datagram, path) = innermost(&frame).unwrap_or_else(|e| panic!("{name} on {link}: {e:?}"));
            is_ours(&datagram);
            assert_eq!((path.as_str(), datagram.at), (name, AT + (bytes.len() - QUERY.len()) as u64));
        }
    }
}

#[test]
fn padding_after_a_tunnelled_packet_is_no_payload() {
    for (name, packet) in tunnelled() {
        let bytes = join(&[&wired(&packet), &[0xee; 30]]);
        is_ours(&innermost(&frame(1, &bytes)).unwrap_or_else(|e| panic!("{name}: {e:?}")).0);
    }
}

#[test]
fn cut_at_every_byte() {
    for (name, packet) in tunnelled() {
        let bytes = wired(&packet);
        let start = bytes.len() - QUERY.len();
        for kept in 0..bytes.len() {
            // Cut by the snap length, or by a mirror port that keeps no length.
            for wire_len in [bytes.len(), kept] {
                match innermost(&cut_frame(1, &bytes[..kept], wire_len)) {
                    Ok((datagram, path)) => {
                        assert_eq!(path, name, "{kept} bytes kept");
                        assert_eq!(datagram.payload, &bytes[start..kept]);
                        assert_eq!(datagram.cut as usize, bytes.len() - kept);
                    }
                    Err(reason) => {
                        assert!(kept < start, "{name}, {kept} bytes kept");
                        assert!(wire_len == kept || reason == DropReason::HeadersCut, "{name}, {kept}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_packet_that_a_mirror_cut_inside_its_tunnel_is_cut() {
    // A message of GTP-U is known by its exact length.
    for (name, craft) in CRAFTS.iter().filter(|(name, _)| !name.starts_with("gtp")) {
        let (protocol, mut body) = craft(&query4());
        body.truncate(body.len() - 3);
        if protocol == UDP {
            let length = body.len() as u16;
            body[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let bytes = wired(&v4(protocol, &body));
        let (datagram, path) = innermost(&frame(1, &bytes)).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!((datagram.payload, datagram.cut), (&QUERY[..QUERY.len() - 3], 3), "{name}");
        assert_eq!(path, *name);
    }
}

/// Checks that a datagram to or from a tunnel's port is an ordinary datagram.
fn is_plain(src: u16, dst: u16, payload: &[u8]) {
    let bytes = wired(&v4(17, &udp_between(src, dst, payload)));
    let frame = frame(1, &bytes);
    assert_eq!(parse(&frame).unwrap_err(), DropReason::Tunnel);
    let (datagram, path) = innermost(&frame).unwrap_or_else(|e| panic!("{payload:02x?}: {e:?}"));
    assert_eq!((datagram.payload, datagram.tunnel, path.as_str()), (payload, 0, ""));
    assert_eq!((datagram.src.port(), datagram.dst.port()), (src, dst));
}

#[test]
fn other_payloads_on_tunnel_ports_are_datagrams() {
    let inner = query4();
    for port in [2152, 3544, 4789, 4790, 6081, 8472] {
        for length in [0, 1, 7, 8, 22, 60] {
            is_plain(7777, port, &vec![0xff; length]);
            is_plain(7777, port, &vec![0x55; length]);
        }
        is_plain(7777, port, QUERY);
    }
    is_plain(3544, 7777, QUERY);
    for (_, craft) in CRAFTS {
        let (protocol, segment) = craft(&inner);
        if protocol != 17 {
            continue;
        }
        let port = u16::from_be_bytes([segment[2], segment[3]]);
        // Every bit of the first four bytes counts, and so do the reserved bits after them.
        for at in 0..4 {
            for bit in 0..8 {
                let mut payload = segment[8..].to_vec();
                payload[at] ^= 1 << bit;
                let bytes = wired(&v4(17, &udp_between(7777, port, &payload)));
                if let Ok((datagram, path)) = innermost(&frame(1, &bytes)) {
                    // Geneve's two flags and VXLAN-GPE's "next" may change the result, which must still lie inside
                    // the payload.
                    assert!(path.is_empty() || datagram.payload.len() <= QUERY.len());
                }
            }
        }
        let mut payload = segment[8..].to_vec();
        payload[if port == 2152 { 3 } else { 7 }] ^= 1;
        is_plain(7777, port, &payload);
    }
}

#[test]
fn almost_valid_tunnel_headers_are_payload() {
    let wire = wired(&query4());
    for head in [
        [0x00, 0, 0, 0, 0, 0, 1, 0],
        [0x0c, 0, 0, 0, 0, 0, 1, 0],
        [0x88, 0, 0, 0, 0, 0, 1, 0],
        [0x08, 1, 0, 0, 0, 0, 1, 0],
        [0x08, 0, 0, 1, 0, 0, 1, 0],
        [0x08, 0, 0, 0, 0, 0, 1, 1],
    ] {
        is_plain(7777, 4789, &join(&[&head, &wire]));
    }
    let mut strange = wire.clone();
    strange[12..14].copy_from_slice(&[0x12, 0x34]);
    is_plain(7777, 4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &strange]));
    for head in [[0x40, 0, 0x65, 0x58], [0, 0x01, 0x65, 0x58], [0, 0, 0x65, 0x59]] {
        is_plain(7777, 6081, &join(&[&head, &[0, 0, 9, 0], &wire]));
    }
}

/// A packet in GTP-U.
fn gtp(head: &[u8], packet: &[u8]) -> Vec<u8> {
    let length = (head.len() - 8 + packet.len()) as u16;
    join(&[&head[..2], &length.to_be_bytes(), &head[4..], packet])
}

#[test]
fn teredo_and_gtp_without_ip_are_counted_by_their_names() {
    let reason = |src, dst, payload: &[u8]| {
        innermost(&frame(1, &wired(&v4(17, &udp_between(src, dst, payload))))).unwrap_err()
    };
    let plain = [0x30, 0xff, 0, 0, 0, 0, 0, 1];
    for inside in [&wired(&query4())[..], &[0x35; 20], &[]] {
        assert_eq!(reason(2152, 2152, &gtp(&plain, inside)), DropReason::GtpU);
    }
    // Optional fields that are cut, extension headers of no length and beyond the message.
    for rest in
        [&[][..], &[0, 0, 0], &[0, 0, 0, 0x85], &[0, 0, 0, 0x85, 0, 0, 0, 0], &[0, 0, 0, 0x85, 9, 0, 0, 0]]
    {
        let head = [0x34, 0xff, 0, 0, 0, 0, 0, 1];
        assert_eq!(reason(2152, 2152, &gtp(&head, rest)), DropReason::GtpU, "{rest:?}");
    }
    for head in [&[][..], &[0, 0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 1, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 0]] {
        let payload = join(&[head, &query6()]);
        assert_eq!(reason(55_555, 3544, &payload), DropReason::Teredo);
        assert_eq!(reason(3544, 55_555, &payload), DropReason::Teredo);
    }
    // Version 2, GTP', another message, a wrong length; no IPv6 packet, or none that ends with the datagram.
    for head in [[0x50, 0xff], [0x20, 0xff], [0x38, 0xff], [0x30, 0x01]] {
        is_plain(7777, 2152, &gtp(&join(&[&head, &[0, 0, 0, 0, 0, 1]]), &query4()));
    }
    is_plain(7777, 2152, &join(&[&gtp(&[0x30, 0xff, 0, 0, 0, 0, 0, 1], &query4()), &[0]]));
    is_plain(7777, 3544, &join(&[&query6(), &[0]]));
    is_plain(7777, 3544, &join(&[&[0, 1, 9, 9], &query6()]));
    is_plain(7777, 3544, &query4());
}

#[test]
fn gre_of_other_kinds_is_dropped() {
    let packet = query4();
    // Version 2, PPTP's version 1 with a checksum, without key, with another ethertype, routing, ERSPAN of the wrong version.
    for head in [
        &[0x30, 2, 0x88, 0x0b, 0, 40, 0, 0, 0, 0, 0, 0][..],
        &[0xb0, 1, 0x88, 0x0b, 0, 40, 0, 0, 0, 0, 0, 0],
        &[0x10, 1, 0x88, 0x0b, 0, 40, 0, 0, 0, 0, 0, 0],
        &[0x30, 1, 0x08, 0x00, 0, 40, 0, 0, 0, 0, 0, 0],
        &[0x40, 0, 8, 0, 0, 0, 0, 0],
        &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0],
        &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0],
        &[0, 0],
    ] {
        let rest: &[u8] = if head.len() < 4 { &[] } else { &packet };
        let bytes = v4(47, &join(&[head, rest]));
        assert_eq!(innermost(&frame(101, &bytes)).unwrap_err(), DropReason::Tunnel, "{head:02x?}");
    }
}

#[test]
fn extension_headers_of_gtp_have_a_limit() {
    for (count, is_read) in [(MAX_GTP_EXTENSIONS, true), (MAX_GTP_EXTENSIONS + 1, false)] {
        let mut head = vec![0x34, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85];
        (0..count).for_each(|_| head.extend([1, 0, 0, 0x85]));
        *head.last_mut().unwrap() = 0;
        let bytes = v4(17, &udp_between(2152, 2152, &gtp(&head, &query4())));
        let found = innermost(&frame(101, &bytes)).map(|(_, path)| path);
        assert_eq!(found, if is_read { Ok("gtp:1".into()) } else { Err(DropReason::GtpU) });
    }
}

#[test]
fn pptp_without_a_packet_of_ip_holds_none() {
    let reason = |body: Vec<u8>| innermost(&frame(101, &v4(47, &body))).unwrap_err();
    // Only an acknowledgement; link control; a compressed packet.
    assert_eq!(reason(pptp(0x20, 0x81, &[0; 4], &[])), DropReason::NotIp);
    assert_eq!(reason(pptp(0x30, 1, &[0; 4], &[&[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]])), DropReason::NotIp);
    assert_eq!(reason(pptp(0x30, 1, &[0; 4], &[&[0, 0xfd, 0x90, 0, 1, 2, 3]])), DropReason::NotIp);
    // What is behind its length is no part of it.
    let bytes = v4(47, &join(&[&pptp(0x30, 1, &[0; 4], &[&[0x21], &query4()]), &[0xee; 9]]));
    is_ours(&innermost(&frame(101, &bytes)).unwrap().0);
}

#[test]
fn inner_packets_are_dropped_for_the_same_reasons() {
    let inside = |packet: &[u8]| innermost(&frame(101, &v4(4, packet))).unwrap_err();
    assert_eq!(inside(&v4(TCP, &[0; 20])), DropReason::Tcp);
    assert_eq!(inside(&v4(50, &[0; 20])), DropReason::OtherProtocol);
    assert_eq!(inside(&[0x35; 60]), DropReason::BadIp);
    assert_eq!(inside(&v4(17, &udp_of_length(99, QUERY))), DropReason::BadUdpLength);
    assert_eq!(inside(&v4(1, &[8, 0, 0, 0, 0, 0, 0, 0])), DropReason::Icmp);
    let mut piece = query4();
    piece[6] = 0x20;
    assert_eq!(inside(&piece), DropReason::Fragment);
    // A tunnel's packet may itself be a fragment.
    let mut piece = v4(4, &query4());
    piece[6] = 0x20;
    assert_eq!(innermost(&frame(101, &piece)).unwrap_err(), DropReason::Fragment);
    // What is behind the tunnel's packet does not belong to a longer one inside.
    let mut long = query4();
    long[3] += 20;
    long[25] += 20;
    let bytes = join(&[&wired(&v4(4, &long)), &[0; 20]]);
    let (datagram, _) = innermost(&frame(1, &bytes)).unwrap();
    assert_eq!((datagram.payload, datagram.cut), (QUERY, 20));
    let arp = join(&[&[0, 0, 0x65, 0x58], &ethernet(0x0806, &[0; 28])]);
    assert_eq!(innermost(&frame(101, &v4(47, &arp))).unwrap_err(), DropReason::NotIp);
}

#[test]
fn tunnels_within_tunnels_are_followed_to_the_limit() {
    for (name, craft) in CRAFTS {
        let mut packet = query4();
        for depth in 1..=100 {
            let (protocol, body) = craft(&packet);
            packet = v4(protocol, &body);
            let found = innermost(&frame(101, &packet));
            if depth <= MAX_DEPTH {
                let (datagram, path) = found.unwrap();
                is_ours(&datagram);
                assert_eq!(path, vec![*name; depth].join(" "));
            } else {
                assert_eq!(found.unwrap_err(), DropReason::TooDeep, "{name}, {depth}");
            }
        }
    }
    let mixed =
        v6(17, &udp_between(1, 4789, &join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &wired(&v4(4, &query4()))])));
    assert_eq!(innermost(&frame(101, &mixed)).unwrap().1, "vxlan:42 ipip");
}

/// An IPv4 packet as two fragments with that identification; the first has `at` bytes of its payload.
fn halves(id: u8, packet: &[u8], at: usize) -> [Vec<u8>; 2] {
    let (first, last) = packet[20..].split_at(at);
    [(first, 0x20, 0), (last, 0, at as u8 / 8)].map(|(body, more, offset)| {
        let mut piece = join(&[&packet[..20], body]);
        piece[3] = piece.len() as u8;
        piece[4..8].copy_from_slice(&[0, id, more, offset]);
        piece
    })
}

#[test]
fn fragments_within_fragments_are_joined() {
    let outer = halves(1, &query4(), 8).map(|piece| v4(4, &piece));
    let pieces = [halves(2, &outer[0], 16), halves(3, &outer[1], 8)].concat();
    let mut decapsulator = Decapsulator::default();
    for (number, piece) in (1..).zip(&pieces) {
        let found = decapsulator.decapsulate(&Frame { number, ..frame(101, piece) });
        if number < 4 {
            assert_eq!(found.map(|_| ()), Err(DropReason::Fragment), "{number}");
            continue;
        }
        let found = found.unwrap();
        let Content::Datagram(datagram) = &found.content else { panic!("{:?}", found.content) };
        is_ours(datagram);
        assert_eq!((datagram.frame, found.fragments), (4, &[1, 2, 3, 4][..]));
    }
}

/// An ICMP error that quotes the test datagram as it was sent.
fn refusal(is_v6: bool) -> Vec<u8> {
    let head = [if is_v6 { 1 } else { 3 }, if is_v6 { 4 } else { 3 }, 0, 0, 0, 0, 0, 0];
    match is_v6 {
        true => v6(58, &join(&[&head, &query6()])),
        false => v4(1, &join(&[&head, &query4()])),
    }
}

#[test]
fn icmp_errors_quote_on_every_link_and_in_every_tunnel() {
    for version in [false, true] {
        let mut packets = vec![refusal(version)];
        for (_, craft) in CRAFTS {
            let (protocol, body) = craft(&refusal(version));
            packets.push(v4(protocol, &body));
        }
        for (link, packet) in LINKS.iter().flat_map(|link| packets.iter().map(move |p| (*link, p))) {
            let Some(bytes) = linked(link, packet) else { continue };
            let frame = frame(link, &bytes);
            let mut decapsulator = Decapsulator::default();
            let Ok(Content::Icmp(Some(quote))) = decapsulator.decapsulate(&frame).map(|found| found.content)
            else {
                panic!("link {link}")
            };
            let d = quote.datagram;
            assert_eq!((d.payload, d.wire_len(), quote.reason), (QUERY, QUERY.len(), "port unreachable"));
            assert_eq!((d.src.port(), d.dst.port()), PORTS);
            assert_eq!(d.src.octets().is_some(), !version);
        }
    }
    let echo = v4(1, &join(&[&[8, 0, 0, 0, 0, 0, 0, 0], &query4()]));
    assert!(matches!(
        Decapsulator::default().decapsulate(&frame(101, &echo)).map(|found| found.content),
        Ok(Content::Icmp(None))
    ));
}

#[test]
fn paths_are_numbered_in_the_order_met() {
    let mut decapsulator = Decapsulator::default();
    let mut number = |network: u32| {
        let [_, a, b, c] = network.to_be_bytes();
        let (protocol, body) = over(4789, &[&[8, 0, 0, 0, a, b, c, 0], &wired(&query4())]);
        match decapsulator.decapsulate(&frame(101, &v4(protocol, &body))).map(|found| found.content) {
            Ok(Content::Datagram(datagram)) => datagram.tunnel,
            other => panic!("{other:?}"),
        }
    };
    let most = MAX_PATHS as u32;
    let numbers: Vec<_> = (0..most + 2).map(&mut number).collect();
    assert!(numbers[..MAX_PATHS].iter().copied().eq(1..=most as u16));
    assert_eq!(numbers[MAX_PATHS..], [most as u16 + 1; 2]);
    assert_eq!((number(0), number(1)), (1, 2));
    assert_eq!(decapsulator.tunnels().unnamed(), 2);
}

#[test]
fn a_datagram_has_at_most_104_bytes() {
    assert!(size_of::<Datagram<'_>>() <= 104);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Damaged tunnels on every link type: a datagram inside the frame or a reason, never a panic.
    #[test]
    fn damaged_tunnels_never_panic(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
        more in 0_usize..50,
        link in prop::sample::select(LINKS.to_vec()),
    ) {
        let all = tunnelled();
        let (_, packet) = which.get(&all);
        let Some(mut bytes) = linked(link, packet) else { return Ok(()) };
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let kept = bytes.len() - kept.index(bytes.len()) / 2;
        let frame = cut_frame(link, &bytes[..kept], kept + more);
        drop(innermost(&frame));
        // Where `parse` finds a datagram, the slow path finds the same.
        if let Ok(datagram) = parse(&frame) {
            prop_assert_eq!(format!("{datagram:?}"), format!("{:?}", innermost(&frame).unwrap().0));
        }
    }

    /// Random bytes: a datagram inside the frame or a reason, never a panic.
    #[test]
    fn random_bytes_never_panic_when_decapsulated(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        link in prop::sample::select(LINKS.to_vec()),
        more in 0_usize..50,
    ) {
        drop(innermost(&cut_frame(link, &bytes, bytes.len() + more)));
    }
}
