//! What stands between link header and IP: Wi-Fi, PPPoE, MPLS, headers that announce other link types.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::craft::*;
use super::craft_links::*;
use super::{Turned, ethertype, peel};

const QUERY: &[u8] = b"\x00\x12\x34\x56\x78";
const WIFI: u16 = 105;
const RADIOTAP: u16 = 127;

fn query4() -> Vec<u8> {
    v4(17, &udp(QUERY))
}

fn query6() -> Vec<u8> {
    v6(17, &udp(QUERY))
}

#[test]
fn wifi_headers_of_every_length_are_stepped_over() {
    // Data, data with acknowledgements and polls, the same with QoS.
    for kind in [0x08, 0x18, 0x28, 0x38, 0x88, 0x98, 0xa8, 0xb8] {
        // To, from, between access points; retry, power, more data; order, which means HT control with QoS.
        for flags in [0, 1, 2, 3, 0x38, 0x80, 0x81, 0x83] {
            is_ours_v4(&datagram(WIFI, &wifi(kind, flags, &query4())), QUERY);
            is_ours_v6(&datagram(WIFI, &wifi(kind, flags, &query6())), QUERY);
        }
    }
}

#[test]
fn wifi_frames_that_cannot_be_read_say_why() {
    // Management, control, extension; data frames without data.
    for kind in [0x80, 0x40, 0xb4, 0xd4, 0x0c, 0x48, 0xc8, 0xf8, 0x09] {
        assert_eq!(reason(WIFI, &wifi(kind, 1, &query4())), Turned::NotIp, "{kind:#x}");
    }
    for kind in [0x08, 0x88] {
        assert_eq!(reason(WIFI, &wifi(kind, 0x41, &query4())), Turned::Encrypted);
        assert_eq!(reason(WIFI, &wifi(kind, 0x05, &query4())), Turned::WifiPieces);
        let mut second = wifi(kind, 0x01, &query4());
        second[22] |= 1;
        assert_eq!(reason(WIFI, &second), Turned::WifiPieces);
    }
    let mut aggregate = wifi(0x88, 1, &query4());
    aggregate[24] |= 0x80;
    assert_eq!(reason(WIFI, &aggregate), Turned::WifiPieces);
    assert_eq!(reason(WIFI, &join(&[&wifi_head(0x08, 1), &[0x42, 0x42, 3, 0, 0, 0, 0, 0]])), Turned::NotIp);
}

/// A radiotap header with one word of present bits or several, and the fields.
fn radiotap(present: &[u32], fields: &[u8]) -> Vec<u8> {
    let words: Vec<u8> = present.iter().flat_map(|word| word.to_le_bytes()).collect();
    let length = (4 + words.len() + fields.len()) as u16;
    join(&[&[0, 0], &length.to_le_bytes(), &words, fields])
}

#[test]
fn radiotap_says_whether_headers_are_padded() {
    let padded = |kind, flags| {
        let mut head = wifi_head(kind, flags);
        head.resize(head.len().next_multiple_of(4), 0xee);
        join(&[&head, &snap(&query4())])
    };
    for (kind, flags) in [(0x08, 1), (0x08, 3), (0x88, 1), (0x88, 3), (0x88, 0x81)] {
        // Flags alone; behind a second word; behind the time, which is aligned to 8; both.
        for (present, before) in [
            (&[2][..], &[][..]),
            (&[0x8000_0002, 0], &[]),
            (&[3], &[0; 8]),
            (&[0x8000_0003, 0], &[0xaa; 12]),
            (&[0x8000_0003, 0x8000_0000, 0], &[0xaa; 8]),
        ] {
            for other in [0, 0x10] {
                let head = radiotap(present, &join(&[before, &[0x20 | other]]));
                is_ours_v4(&datagram(RADIOTAP, &join(&[&head, &padded(kind, flags), &[0; 4]])), QUERY);
                let head = radiotap(present, &join(&[before, &[other]]));
                is_ours_v4(
                    &datagram(RADIOTAP, &join(&[&head, &wifi(kind, flags, &query4()), &[0; 4]])),
                    QUERY,
                );
            }
        }
    }
    let other = join(&[&[1, 0, 8, 0, 0, 0, 0, 0], &wifi(0x08, 1, &query4())]);
    assert_eq!(reason(RADIOTAP, &other), Turned::BadLink);
}

#[test]
fn prism_headers_are_read_in_either_byte_order_and_may_be_avs() {
    let packet = wifi(0x08, 1, &query4());
    let big = join(&[&[0, 0, 0, 0x44, 0, 0, 0, 144], &[0; 136], &packet]);
    is_ours_v4(&datagram(119, &big), QUERY);
    is_ours_v4(&datagram(119, &linked(163, &query4()).unwrap()), QUERY);
    assert_eq!(reason(163, &big), Turned::BadLink);
}

#[test]
fn pppoe_sessions_are_read_behind_any_ethertype() {
    let session = |code, ppp: &[u8], packet: &[u8]| join(&[&[0x11, code, 0, 7, 0, 40], ppp, packet]);
    is_ours_v4(&datagram(1, &ethernet(0x8864, &session(0, &[0, 0x21], &query4()))), QUERY);
    is_ours_v6(&datagram(1, &ethernet(0x8864, &session(0, &[0, 0x57], &query6()))), QUERY);
    let tagged = tags(&[0x8864], &session(0, &[0, 0x21], &query4()));
    is_ours_v4(&datagram(1, &ethernet(0x8100, &tagged)), QUERY);
    // Discovery, a session's end, link control.
    assert_eq!(reason(1, &ethernet(0x8863, &session(9, &[], &[0; 30]))), Turned::NotIp);
    assert_eq!(reason(1, &ethernet(0x8864, &session(0xa7, &[0, 0x21], &query4()))), Turned::NotIp);
    assert_eq!(reason(1, &ethernet(0x8864, &session(0, &[0xc0, 0x21], &query4()))), Turned::NotIp);
}

#[test]
fn mpls_labels_are_followed_to_the_bottom() {
    for kind in [0x8847, 0x8848] {
        for count in 1..=ethertype::MAX_TAGS {
            let mut labels = [0, 1, 0x20, 64].repeat(count);
            let bottom = labels.len() - 2;
            labels[bottom] |= 1;
            is_ours_v4(&datagram(1, &ethernet(kind, &join(&[&labels, &query4()]))), QUERY);
            is_ours_v6(&datagram(1, &ethernet(kind, &join(&[&labels, &query6()]))), QUERY);
            let wire = join(&[&labels, &[0; 4], &ethernet(0x0800, &query4())]);
            is_ours_v4(&datagram(1, &ethernet(kind, &wire)), QUERY);
            assert_eq!(reason(1, &ethernet(kind, &join(&[&labels, &[0x10; 40]]))), Turned::NotIp);
        }
        assert_eq!(reason(1, &ethernet(kind, &[0, 1, 0x20, 64].repeat(200))), Turned::BadLink);
    }
}

#[test]
fn ethertypes_within_each_other_have_a_limit() {
    let mut frame = ethernet(0x0800, &query4());
    for _ in 0..200 {
        frame = ethernet(0x6558, &frame);
    }
    assert_eq!(reason(1, &frame), Turned::BadLink);
}

#[test]
fn frame_relay_is_read_in_all_its_forms() {
    for address in [&[0x18, 0x41][..], &[0x18, 0x40, 0x41], &[0x18, 0x40, 0x40, 0x41]] {
        for relay in [107, 206] {
            let direction: &[u8] = if relay == 206 { &[0] } else { &[] };
            for form in [&[3, 0xcc][..], &[3, 0, 0xcc], &[8, 0], &[3, 0, 0x80, 0, 0, 0, 8, 0]] {
                is_ours_v4(&datagram(relay, &join(&[direction, address, form, &query4()])), QUERY);
            }
            // Link management, a bridged frame of another kind.
            assert_eq!(reason(relay, &join(&[direction, address, &[3, 8, 0]])), Turned::NotIp);
            let bridged = join(&[direction, address, &[3, 0, 0x80, 0, 0x80, 0xc2, 0, 7], &[0; 40]]);
            assert_eq!(reason(relay, &bridged), Turned::NotIp);
        }
    }
    assert_eq!(reason(107, &[0; 60]), Turned::NotIp);
}

#[test]
fn headers_that_announce_a_link_type_lead_to_it_once() {
    for (inner, dlt) in [(1, 1), (0, 0), (12, 12), (127, 127), (239, 239)] {
        let frame = linked(inner, &query4()).unwrap();
        let announced = [&[16, 0, 0, 0, 1, 0, 0, 0][..], &[dlt, 0, 0, 0], &[0; 4]].concat();
        for link in [149, 258] {
            is_ours_v4(&datagram(link, &join(&[&announced, &frame])), QUERY);
        }
        is_ours_v4(&datagram(192, &join(&[&[0, 0, 8, 0, dlt, 0, 0, 0], &frame])), QUERY);
    }
    let mut tower = ethernet(0x0800, &query4());
    for _ in 0..100 {
        tower = join(&[&[0, 0, 8, 0, 192, 0, 0, 0], &tower]);
    }
    assert_eq!(reason(192, &tower), Turned::BadLink);
    assert_eq!(reason(192, &join(&[&[0, 0, 8, 0, 147, 0, 0, 0], &query4()])), Turned::UnknownLink);
    assert_eq!(reason(258, &query4()), Turned::BadLink);
}

#[test]
fn source_routes_and_attributes_are_stepped_over() {
    let routed =
        join(&[&[0x10, 0x40], &[2; 6], &[0x82, 2, 2, 2, 2, 2], &[6, 0, 1, 2, 3, 4], &snap(&query4())]);
    is_ours_v4(&datagram(6, &routed), QUERY);
    assert_eq!(reason(6, &join(&[&[0x10, 0], &[2; 12], &snap(&query4())])), Turned::NotIp);
    // Big-endian machines write attributes their way.
    let big = join(&[&[2, 0, 0, 0], &[0, 6, 0, 10, b'x', 0, 0, 0], &[0, 44, 0, 9], &query4()]);
    is_ours_v4(&datagram(239, &big), QUERY);
    assert_eq!(reason(239, &[2, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0]), Turned::BadLink);
    assert_eq!(reason(239, &join(&[&[7, 0, 0, 0], &[44, 0, 9, 0], &query4()])), Turned::NotIp);
}

#[test]
fn cisco_frames_are_known_in_what_may_be_ppp() {
    for address in [0x0f, 0x8f] {
        is_ours_v4(&datagram(50, &join(&[&[address, 0, 8, 0], &query4()])), QUERY);
    }
    assert_eq!(reason(104, &[0x8f, 0, 0x80, 0x35, 0, 0, 0, 2]), Turned::NotIp);
}

#[test]
fn the_origin_is_interface_and_way() {
    for (link, way) in [(1, 0), (113, 4), (276, 4), (101, 0)] {
        let bytes = linked(link, &query4()).unwrap();
        let frame = crate::capture::Frame { interface: 600, ..frame(link, &bytes) };
        assert_eq!(peel(&frame).unwrap().origin, 600 << 8 | way, "link type {link}");
    }
}

#[test]
fn the_identification_is_ipv4s() {
    assert_eq!(datagram(1, &ethernet(0x0800, &query4())).ip_id, 1);
    assert_eq!(datagram(1, &ethernet(0x0800, &v4_with(&[1; 4], 17, &udp(QUERY)))).ip_id, 1);
    assert_eq!(datagram(1, &ethernet(0x86dd, &query6())).ip_id, 0);
}
