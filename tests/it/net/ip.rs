//! Hand-built IP packets: lengths, options, extension headers, fragments, other protocols.

use super::craft::*;
use qdissect::net::{DropReason, MAX_EXTENSIONS, parse};

/// The packet with bytes overwritten at an offset.
fn patched(mut packet: Vec<u8>, at: usize, with: &[u8]) -> Vec<u8> {
    packet[at..at + with.len()].copy_from_slice(with);
    packet
}

/// The packet with another length field: total length (IPv4), payload length (IPv6).
fn of_length(packet: Vec<u8>, length: usize) -> Vec<u8> {
    let at = if packet[0] >> 4 == 4 { 2 } else { 4 };
    patched(packet, at, &(length as u16).to_be_bytes())
}

/// An extension header of `8 * (1 + units)` bytes in the form most of them share.
fn extension(next: u8, units: u8) -> Vec<u8> {
    join(&[&[next, units], &vec![0; 6 + 8 * usize::from(units)]])
}

#[test]
fn protocols_have_their_reasons() {
    for protocol in 0..=255 {
        let reason_of = |packet: Vec<u8>| parse(&frame(101, &packet)).map(|_| ()).err();
        let expected = match protocol {
            17 => None,
            6 => Some(DropReason::Tcp),
            1 | 58 => Some(DropReason::Icmp),
            4 | 41 | 47 => Some(DropReason::Tunnel),
            _ => Some(DropReason::OtherProtocol),
        };
        if protocol != 51 {
            assert_eq!(reason_of(v4(protocol, &udp(QUERY))), expected, "IPv4 {protocol}");
            let authenticated = v4(51, &join(&[&[protocol, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &udp(QUERY)]));
            assert_eq!(reason_of(authenticated), expected, "IPv4 AH {protocol}");
        }
        if ![0, 43, 44, 51, 60, 135, 139, 140].contains(&protocol) {
            assert_eq!(reason_of(v6(protocol, &udp(QUERY))), expected, "IPv6 {protocol}");
            let extended = v6(0, &join(&[&extension(protocol, 0), &udp(QUERY)]));
            assert_eq!(reason_of(extended), expected, "IPv6 hop-by-hop {protocol}");
        }
    }
}

#[test]
fn the_protocol_counts_before_the_lengths() {
    assert_eq!(reason(1, &wired(&of_length(v4(6, &[0; 20]), 3))), DropReason::Tcp);
    assert_eq!(reason(1, &wired(&of_length(v4_with(&[1; 8], 6, &[0; 20]), 3))), DropReason::Tcp);
    assert_eq!(reason(1, &wired(&of_length(v6(6, &[0; 20]), 9000))), DropReason::Tcp);
    assert_eq!(reason(1, &wired(&of_length(v6(59, &[]), 0))), DropReason::OtherProtocol);
}

#[test]
fn damaged_versions_and_header_lengths_are_dropped() {
    let packet = query4();
    for first in [0x05, 0x35, 0x65, 0xf5, 0x40, 0x44] {
        assert_eq!(reason(228, &patched(packet.clone(), 0, &[first])), DropReason::BadIp, "{first:#x}");
    }
    for first in [0x00, 0x50, 0x40, 0x70] {
        assert_eq!(reason(229, &patched(query6(), 0, &[first])), DropReason::BadIp, "{first:#x}");
    }
}

#[test]
fn ipv4_options_of_every_length_are_stepped_over() {
    for words in 0..=10 {
        let packet = v4_with(&vec![1; words * 4], 17, &udp(QUERY));
        is_ours_v4(&datagram(1, &wired(&packet)), QUERY);
        // A total length inside the options or the header leaves no packet.
        for total in 1..20 + words * 4 {
            assert_eq!(reason(1, &wired(&of_length(packet.clone(), total))), DropReason::BadIp);
        }
    }
}

#[test]
fn total_lengths_are_checked_against_the_wire_and_the_udp_length() {
    let packet = query4();
    for total in 20..packet.len() {
        assert_eq!(reason(1, &wired(&of_length(packet.clone(), total))), DropReason::BadUdpLength, "{total}");
    }
    // Beyond the frame, the packet is cut; the datagram in it need not be.
    let bytes = wired(&of_length(packet.clone(), packet.len() + 1));
    is_ours_v4(&datagram(1, &bytes), QUERY);
    is_ours_v4(&parse(&cut_frame(1, &bytes, bytes.len() + 1)).unwrap(), QUERY);
    // With segmentation offload, the packet ends with the frame.
    is_ours_v4(&datagram(1, &wired(&of_length(packet.clone(), 0))), QUERY);
    let bytes = wired(&of_length(packet, 0));
    let datagram = parse(&cut_frame(1, &bytes[..bytes.len() - 3], bytes.len())).unwrap();
    assert_eq!((datagram.payload, datagram.cut), (&QUERY[..5], 3));
}

#[test]
fn payload_lengths_are_checked_against_the_wire_and_the_udp_length() {
    let packet = query6();
    for length in 1..packet.len() - 40 {
        assert_eq!(
            reason(1, &wired(&of_length(packet.clone(), length))),
            DropReason::BadUdpLength,
            "{length}"
        );
    }
    is_ours_v6(&datagram(1, &wired(&of_length(packet.clone(), packet.len() - 39))), QUERY);
    is_ours_v6(&datagram(1, &wired(&of_length(packet, 0))), QUERY);
    // A length of zero before extension headers is a jumbogram or damage.
    let extended = v6(0, &join(&[&extension(17, 0), &udp(QUERY)]));
    assert_eq!(reason(1, &wired(&of_length(extended, 0))), DropReason::BadIp);
}

#[test]
fn wrong_udp_lengths_are_dropped() {
    for length in (0..8).chain([17, 18, 1000, 65_535]) {
        let segment = udp_of_length(length, QUERY);
        assert_eq!(reason(1, &wired(&v4(17, &segment))), DropReason::BadUdpLength, "{length}");
        assert_eq!(reason(1, &wired(&v6(17, &segment))), DropReason::BadUdpLength, "{length}");
        assert_eq!(reason(1, &wired(&v4_with(&[1; 4], 17, &segment))), DropReason::BadUdpLength, "{length}");
    }
    // Padding does not count as room for a segment.
    let padded = join(&[&wired(&v4(17, &udp_of_length(17, QUERY))), &[0; 30]]);
    assert_eq!(reason(1, &padded), DropReason::BadUdpLength);
    // The IP payload ends inside the UDP header.
    for kept in 0..8 {
        assert_eq!(reason(1, &wired(&v4(17, &udp(QUERY)[..kept]))), DropReason::BadUdpLength, "{kept}");
    }
}

#[test]
fn the_largest_datagram_fits() {
    let payload = vec![3; 65_507];
    is_ours_v4(&datagram(1, &wired(&v4(17, &udp(&payload)))), &payload);
    let payload = vec![3; 65_527];
    is_ours_v6(&datagram(1, &wired(&v6(17, &udp(&payload)))), &payload);
}

#[test]
fn ipv4_fragments_are_dropped() {
    // Flags and offset: more fragments, an offset, both; then "don't fragment" and the reserved flag.
    for fragment in [[0x20, 0], [0, 1], [0x20, 0xb9], [0x1f, 0xff], [0x60, 0]] {
        for packet in [query4(), v4_with(&[1; 4], 17, &udp(QUERY)), v4(51, &udp(QUERY))] {
            assert_eq!(reason(1, &wired(&patched(packet, 6, &fragment))), DropReason::Fragment);
        }
        assert_eq!(reason(1, &wired(&patched(v4(6, &[0; 20]), 6, &fragment))), DropReason::Tcp);
    }
    for whole in [[0, 0], [0x40, 0], [0x80, 0], [0xc0, 0]] {
        is_ours_v4(&datagram(1, &wired(&patched(query4(), 6, &whole))), QUERY);
    }
}

#[test]
fn ipv6_fragments_are_dropped_unless_alone() {
    let fragment = |next, offset: u16| {
        let [high, low] = offset.to_be_bytes();
        v6(44, &join(&[&[next, 0, high, low, 0, 0, 0, 9], &udp(QUERY)]))
    };
    for offset in [1, 8, 9, 0xfff8, 0xffff] {
        assert_eq!(reason(1, &wired(&fragment(17, offset))), DropReason::Fragment);
        assert_eq!(reason(1, &wired(&fragment(60, offset))), DropReason::Fragment);
        assert_eq!(reason(1, &wired(&fragment(6, offset))), DropReason::Tcp);
    }
    // Offset zero and no more fragments: complete, whatever the reserved bits say.
    for offset in [0, 2, 4, 6] {
        is_ours_v6(&datagram(1, &wired(&fragment(17, offset))), QUERY);
    }
}

#[test]
fn extension_headers_are_stepped_over() {
    for kind in [0, 43, 60, 135, 139, 140] {
        for units in [0, 1, 30] {
            let packet = v6(kind, &join(&[&extension(17, units), &udp(QUERY)]));
            is_ours_v6(&datagram(1, &wired(&packet)), QUERY);
        }
    }
    // The length of an authentication header is in words of 4 bytes, less two.
    let authentication = join(&[&[17, 4], &[0; 22]]);
    is_ours_v6(&datagram(1, &wired(&v6(51, &join(&[&authentication, &udp(QUERY)])))), QUERY);
    is_ours_v4(&datagram(1, &wired(&v4(51, &join(&[&authentication, &udp(QUERY)])))), QUERY);
    let two_headers = join(&[&[51, 4], &[0; 22], &authentication, &udp(QUERY)]);
    is_ours_v6(&datagram(1, &wired(&v6(51, &two_headers))), QUERY);
    assert_eq!(reason(1, &wired(&v4(51, &two_headers))), DropReason::OtherProtocol, "IPv4 has one at most");
    // The order of RFC 8200, 4.1.
    let chain = join(&[
        &extension(60, 0),
        &extension(43, 1),
        &extension(44, 2),
        &[51, 0, 0, 0, 0, 0, 0, 1],
        &[60, 4],
        &[0; 22],
        &extension(17, 0),
    ]);
    is_ours_v6(&datagram(1, &wired(&v6(0, &join(&[&chain, &udp(QUERY)])))), QUERY);
}

#[test]
fn extension_headers_have_a_limit() {
    let chain = |count: usize| {
        let mut body = extension(60, 0).repeat(count);
        body[(count - 1) * 8] = 17;
        wired(&v6(60, &join(&[&body, &udp(QUERY)])))
    };
    is_ours_v6(&datagram(1, &chain(MAX_EXTENSIONS)), QUERY);
    assert_eq!(reason(1, &chain(MAX_EXTENSIONS + 1)), DropReason::BadIp);
    assert_eq!(reason(1, &chain(1000)), DropReason::BadIp);
}

#[test]
fn misplaced_and_oversized_extension_headers_are_damage() {
    let late = v6(60, &join(&[&extension(0, 0), &extension(17, 0), &udp(QUERY)]));
    assert_eq!(reason(1, &wired(&late)), DropReason::BadIp);
    for kind in [0, 43, 60, 135] {
        assert_eq!(reason(1, &wired(&v6(kind, &[17, 9, 0, 0, 0, 0, 0, 0]))), DropReason::BadIp);
        assert_eq!(reason(1, &wired(&v6(kind, &[17, 0, 0]))), DropReason::BadIp);
    }
    assert_eq!(reason(1, &wired(&v6(44, &[17, 0, 0, 0]))), DropReason::BadIp);
    let empty = join(&[&[17, 0], &[0; 10], &udp(QUERY)]);
    assert_eq!(reason(1, &wired(&v6(51, &empty))), DropReason::BadIp);
    assert_eq!(reason(1, &wired(&v4(51, &empty))), DropReason::BadIp);
    // The header is in the frame but not in the packet.
    let outside = of_length(v6(0, &join(&[&extension(17, 2), &udp(QUERY)])), 16);
    assert_eq!(reason(1, &wired(&outside)), DropReason::BadIp);
}
