//! Hand-built frames and random bytes through the whole parser.

use super::craft::*;
use proptest::prelude::*;
use qdissect::capture::Frame;
use qdissect::net::{DropReason, MAX_LABELS, MAX_TAGS, is_supported_link, parse};

/// The link types whose frames hold whole frames.
const HOLD_FRAMES: [u16; 4] = [149, 192, 239, 258];

#[test]
fn every_link_type_leads_to_the_datagram() {
    for link in LINKS {
        if let Some(bytes) = linked(link, &query4()) {
            let datagram = datagram(link, &bytes);
            is_ours_v4(&datagram, QUERY);
            assert_eq!(datagram.at, AT + (bytes.len() - QUERY.len()) as u64, "link type {link}");
        }
        if let Some(bytes) = linked(link, &query6()) {
            is_ours_v6(&datagram(link, &bytes), QUERY);
        }
    }
}

#[test]
fn unknown_link_types_are_dropped() {
    for link in (0..=u16::MAX).filter(|link| !LINKS.contains(link) && !HOLD_FRAMES.contains(link)) {
        assert_eq!(reason(link, &query4()), DropReason::UnknownLink);
    }
}

#[test]
fn tags_are_followed_to_the_limit() {
    for kind in [0x8100, 0x88a8, 0x9100, 0x9200] {
        for depth in 1..=MAX_TAGS {
            let mut kinds = vec![kind; depth - 1];
            kinds.push(0x0800);
            is_ours_v4(&datagram(1, &ethernet(kind, &tags(&kinds, &query4()))), QUERY);
            *kinds.last_mut().unwrap() = 0x86dd;
            is_ours_v6(&datagram(1, &ethernet(kind, &tags(&kinds, &query6()))), QUERY);
        }
        let mut kinds = vec![kind; MAX_TAGS];
        kinds.push(0x0800);
        assert_eq!(reason(1, &ethernet(kind, &tags(&kinds, &query4()))), DropReason::BadLink);
    }
}

#[test]
fn tags_inside_linux_cooked_captures_are_followed() {
    let inner = tags(&[0x88a8, 0x0800], &query4());
    let sll = join(&[&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x81, 0], &inner]);
    is_ours_v4(&datagram(113, &sll), QUERY);
    let sll2 = join(&[&[0x81, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], &inner]);
    is_ours_v4(&datagram(276, &sll2), QUERY);
}

#[test]
fn length_fields_lead_to_snap_and_other_llc_is_not_ip() {
    let snap4 = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &query4()]);
    for length in [0, 46, snap4.len() as u16, 1500] {
        is_ours_v4(&datagram(1, &ethernet(length, &snap4)), QUERY);
        is_ours_v4(&datagram(1, &ethernet(0x8100, &tags(&[length], &snap4))), QUERY);
    }
    let snap6 = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd], &query6()]);
    is_ours_v6(&datagram(1, &ethernet(100, &snap6)), QUERY);
    let tagged = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0], &tags(&[0x0800], &query4())]);
    is_ours_v4(&datagram(1, &ethernet(100, &tagged)), QUERY);

    let spanning_tree = [0x42, 0x42, 3, 0, 0, 0, 0, 0, 0, 0];
    let cisco = [0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0];
    for other in [&spanning_tree[..], &spanning_tree[..2], &cisco, &[0xaa, 0xaa, 3], &[]] {
        assert_eq!(reason(1, &ethernet(38, other)), DropReason::NotIp);
    }
    // Type fields between the largest length and the first ethertype have no meaning.
    for kind in [1501, 1535] {
        assert_eq!(reason(1, &ethernet(kind, &snap4)), DropReason::NotIp);
    }
}

#[test]
fn snap_headers_inside_snap_headers_end() {
    let body = [0xaa, 0xaa, 3, 0, 0, 0, 0, 100].repeat(50);
    assert_eq!(reason(1, &ethernet(100, &body)), DropReason::BadLink);
}

#[test]
fn other_ethertypes_are_not_ip() {
    for kind in [0x0806, 0x88cc, 0x8863, 0x8864, 0x88e5, 0x86dc, 0xffff] {
        assert_eq!(reason(1, &ethernet(kind, &[0; 46])), DropReason::NotIp);
        assert_eq!(reason(1, &ethernet(0x8100, &tags(&[kind], &[0; 46]))), DropReason::NotIp);
    }
}

#[test]
fn address_families_are_read_in_both_byte_orders() {
    for link in [0, 108] {
        for family in 0..=255 {
            for head in [[family, 0, 0, 0], [0, 0, 0, family]] {
                let four = join(&[&head, &query4()]);
                let six = join(&[&head, &query6()]);
                match family {
                    2 => is_ours_v4(&datagram(link, &four), QUERY),
                    10 | 23 | 24 | 28 | 30 => is_ours_v6(&datagram(link, &six), QUERY),
                    _ => assert_eq!(reason(link, &four), DropReason::NotIp),
                }
            }
        }
        assert_eq!(reason(link, &join(&[&[2, 0, 0, 2], &query4()])), DropReason::NotIp);
    }
}

#[test]
fn ppp_is_read_in_all_its_lengths() {
    for link in [9, 50] {
        for head in [&[0xff, 3, 0, 0x21][..], &[0xff, 3, 0x21], &[0, 0x21], &[0x21]] {
            is_ours_v4(&datagram(link, &join(&[head, &query4()])), QUERY);
        }
        for head in [&[0xff, 3, 0, 0x57][..], &[0xff, 3, 0x57], &[0, 0x57], &[0x57]] {
            is_ours_v6(&datagram(link, &join(&[head, &query6()])), QUERY);
        }
        for head in [&[0xff, 3, 0xc0, 0x21][..], &[0xc0, 0x21], &[0x2d], &[0xff, 4]] {
            assert_eq!(reason(link, &join(&[head, &query4()])), DropReason::NotIp);
        }
        for head in [&[][..], &[0xff], &[0xff, 3], &[0]] {
            assert_eq!(reason(link, head), DropReason::BadLink);
            assert_eq!(parse(&cut_frame(link, head, 60)).unwrap_err(), DropReason::HeadersCut);
        }
    }
}

#[test]
fn pppoe_sessions_are_read_after_any_tag() {
    let session = |code, ppp: &[u8], packet: &[u8]| join(&[&[0x11, code, 0, 7, 0, 40], ppp, packet]);
    is_ours_v4(&datagram(1, &ethernet(0x8864, &session(0, &[0, 0x21], &query4()))), QUERY);
    is_ours_v6(&datagram(1, &ethernet(0x8864, &session(0, &[0, 0x57], &query6()))), QUERY);
    let tagged = tags(&[0x8864], &session(0, &[0, 0x21], &query4()));
    is_ours_v4(&datagram(1, &ethernet(0x8100, &tagged)), QUERY);
    // Discovery, a session's end, link control.
    assert_eq!(reason(1, &ethernet(0x8863, &session(9, &[], &[0; 30]))), DropReason::NotIp);
    assert_eq!(reason(1, &ethernet(0x8864, &session(0xa7, &[0, 0x21], &query4()))), DropReason::NotIp);
    assert_eq!(reason(1, &ethernet(0x8864, &session(0, &[0xc0, 0x21], &query4()))), DropReason::NotIp);
}

#[test]
fn ethertypes_within_each_other_have_a_limit() {
    let mut frame = ethernet(0x0800, &query4());
    for _ in 0..200 {
        frame = ethernet(0x6558, &frame);
    }
    assert_eq!(reason(1, &frame), DropReason::BadLink);
}

#[test]
fn the_origin_is_interface_and_direction() {
    for (link, direction) in [(1, 0), (113, 4), (276, 3 << 3 | 4), (101, 0)] {
        let bytes = linked(link, &query4()).unwrap();
        let frame = Frame { interface: 600, ..frame(link, &bytes) };
        assert_eq!(parse(&frame).unwrap().origin, 600 << 8 | direction, "link type {link}");
    }
}

#[test]
fn supported_link_types_are_known() {
    assert!(LINKS.iter().all(|link| is_supported_link(*link)));
    assert!(!is_supported_link(127), "radiotap");
}

#[test]
fn only_ipv4_has_an_identification() {
    assert_eq!(datagram(1, &ethernet(0x0800, &query4())).ip_id, 1);
    assert_eq!(datagram(1, &ethernet(0x0800, &v4_with(&[1; 4], 17, &udp(QUERY)))).ip_id, 1);
    assert_eq!(datagram(1, &ethernet(0x86dd, &query6())).ip_id, 0);
}

#[test]
fn labels_of_mpls_are_skipped_to_the_limit() {
    for kind in [0x8847, 0x8848] {
        for count in 1..40 {
            let mut labels = [0, 1, 0x10, 64].repeat(count);
            labels[count * 4 - 2] |= 1;
            for packet in [query4(), query6()] {
                let bytes = ethernet(kind, &join(&[&labels, &packet]));
                let tagged = ethernet(0x8100, &tags(&[kind], &join(&[&labels, &packet])));
                let read = [&bytes, &tagged].map(|bytes| parse(&frame(1, bytes)).map(|d| d.payload));
                let expected = if count <= MAX_LABELS { Ok(QUERY) } else { Err(DropReason::BadLink) };
                assert_eq!(read, [expected; 2], "{count}");
            }
        }
    }
    let labelled = |head: &[u8], rest: &[u8]| ethernet(0x8847, &join(&[&[0, 1, 1, 64], head, rest]));
    // Ethernet in a pseudo wire, with and without a control word.
    is_ours_v4(&datagram(1, &labelled(&[0, 0, 0, 9], &wired(&query4()))), QUERY);
    is_ours_v4(&datagram(1, &labelled(&[], &wired(&query4()))), QUERY);
    // A control channel, nothing known.
    assert_eq!(reason(1, &labelled(&[0x10, 0, 0, 7], &[0; 40])), DropReason::Mpls);
    assert_eq!(reason(1, &labelled(&[], &[0x35; 40])), DropReason::Mpls);
    for (bytes, cut) in [(&[0, 1, 1, 64][..], 8), (&[0, 1, 1], 8), (&[], 8)] {
        assert_eq!(reason(1, &ethernet(0x8847, bytes)), DropReason::BadLink);
        let bytes = ethernet(0x8847, bytes);
        assert_eq!(parse(&cut_frame(1, &bytes, bytes.len() + cut)).unwrap_err(), DropReason::HeadersCut);
    }
    let ppp = join(&[&[0xff, 3, 0x02, 0x81, 0, 1, 0, 64, 0, 2, 1, 64], &query4()]);
    is_ours_v4(&datagram(9, &ppp), QUERY);
}

#[test]
fn labels_sessions_and_frames_within_each_other_end() {
    let mut bytes = wired(&query4());
    for depth in 1..60 {
        bytes = match depth % 3 {
            0 => ethernet(0x8864, &join(&[&[0x11, 0, 0, 7, 0, 0, 0x02, 0x81, 0, 0, 1, 64], &bytes])),
            _ => ethernet(0x8847, &join(&[&[0, 1, 1, 64], &bytes])),
        };
        let read = parse(&frame(1, &bytes)).map(|d| d.payload);
        assert!(
            if depth < 3 { read == Ok(QUERY) } else { depth < 9 || read == Err(DropReason::BadLink) },
            "{depth}"
        );
    }
}

#[test]
fn raw_packets_of_other_versions_are_damaged() {
    for link in [12, 14, 101, 228, 229] {
        for version in (0..16).filter(|version| ![4, 6].contains(version)) {
            assert_eq!(reason(link, &[version << 4 | 5; 60]), DropReason::BadIp);
        }
        assert_eq!(reason(link, &[]), DropReason::BadIp);
        assert_eq!(parse(&cut_frame(link, &[], 60)).unwrap_err(), DropReason::HeadersCut);
    }
    assert_eq!(reason(228, &query6()), DropReason::BadIp);
    assert_eq!(reason(229, &query4()), DropReason::BadIp);
}

#[test]
fn padding_is_no_payload() {
    for packet in [query4(), query6()] {
        for link in LINKS {
            let Some(mut bytes) = linked(link, &packet) else { continue };
            bytes.extend([0xee; 40]);
            assert_eq!(datagram(link, &bytes).payload, QUERY);
        }
    }
    // Bytes of the IP payload after the UDP segment are not part of the payload either.
    let bytes = ethernet(0x0800, &v4(17, &join(&[&udp(QUERY), &[0xee; 9]])));
    is_ours_v4(&datagram(1, &bytes), QUERY);
}

#[test]
fn an_empty_payload_is_a_datagram() {
    let bytes = ethernet(0x0800, &v4(17, &udp(b"")));
    let datagram = datagram(1, &bytes);
    is_ours_v4(&datagram, b"");
    assert_eq!(datagram.at, AT + 42);
}

/// Cuts the frame at every byte and checks the result against the position of its payload.
fn cut_everywhere(link: u16, bytes: &[u8]) {
    let start = (datagram(link, bytes).at - AT) as usize;
    let end = start + datagram(link, bytes).payload.len();
    for kept in 0..=bytes.len() {
        let frame = cut_frame(link, &bytes[..kept], bytes.len());
        match parse(&frame) {
            Ok(datagram) => {
                hold(&frame, &datagram);
                assert!(kept >= start, "link {link}, {kept} bytes kept");
                assert_eq!(datagram.payload, &bytes[start..end.min(kept)]);
                assert_eq!(datagram.cut as usize, end - end.min(kept));
            }
            Err(reason) => {
                assert_eq!(reason, DropReason::HeadersCut, "link {link}, {kept} bytes kept");
                assert!(kept < start, "link {link}, {kept} bytes kept");
            }
        }
        // The same bytes without the length that the frame had: a mirror port has cut it.
        match parse(&self::frame(link, &bytes[..kept])) {
            Ok(datagram) => {
                assert!(kept >= start, "link {link}, {kept} bytes kept");
                assert_eq!(datagram.payload, &bytes[start..end.min(kept)]);
                assert_eq!(datagram.cut as usize, end - end.min(kept));
            }
            Err(_) => assert!(kept < start, "link {link}, {kept} bytes kept"),
        }
    }
}

#[test]
fn snap_lengths_cut_headers_or_payloads() {
    let options = v4_with(&[1; 12], 17, &udp(QUERY));
    let authenticated = v4(51, &join(&[&[17, 4], &[0; 22], &udp(QUERY)]));
    // Hop-by-hop, destination options, an atomic fragment header.
    let chain = [&[60, 1], &[0; 14][..], &[44, 0, 0, 0, 0, 0, 0, 0], &[17, 0, 0, 0, 0, 0, 0, 9], &udp(QUERY)];
    let extensions = v6(0, &join(&chain));
    let (empty, large) = (v4(17, &udp(b"")), v6(17, &udp(&[7; 900])));
    for packet in [query4(), query6(), options, authenticated, extensions, empty, large] {
        for link in LINKS {
            let Some(mut bytes) = linked(link, &packet) else { continue };
            cut_everywhere(link, &bytes);
            bytes.extend([0; 10]);
            cut_everywhere(link, &bytes);
        }
    }
    cut_everywhere(1, &ethernet(0x88a8, &tags(&[0x8100, 0x0800], &query4())));
    let snap = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &query4()]);
    cut_everywhere(1, &ethernet(snap.len() as u16, &snap));
}

#[test]
fn headers_that_end_with_the_frame_are_cut_not_damaged() {
    let kept = &[0; 13];
    assert_eq!(parse(&cut_frame(1, kept, 14)).unwrap_err(), DropReason::HeadersCut);
    assert_eq!(parse(&cut_frame(1, kept, 13)).unwrap_err(), DropReason::BadLink);
    // Of an IP packet the header tells that more was on the wire.
    let extension = ethernet(0x86dd, &v6(0, &[17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(reason(1, &extension[..extension.len() - 1]), DropReason::HeadersCut);
    assert_eq!(reason(1, &extension), DropReason::BadUdpLength);
}

#[test]
fn a_wire_length_below_the_capture_does_not_matter() {
    let bytes = ethernet(0x0800, &query4());
    let frame = cut_frame(1, &bytes, 0);
    is_ours_v4(&parse(&frame).unwrap(), QUERY);
    let bytes = ethernet(0x0800, &v4_with(&[1; 4], 17, &udp(QUERY)));
    is_ours_v4(&parse(&cut_frame(1, &bytes, 0)).unwrap(), QUERY);
    assert_eq!(parse(&cut_frame(1, &bytes[..20], 0)).unwrap_err(), DropReason::BadIp);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Random bytes after every link type: a datagram inside the frame or a reason, never a panic.
    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        more in 0_usize..100,
    ) {
        for link in LINKS.into_iter().chain([2, 147]) {
            let frame = cut_frame(link, &bytes, bytes.len() + more);
            if let Ok(datagram) = parse(&frame) {
                hold(&frame, &datagram);
            }
        }
    }
}
