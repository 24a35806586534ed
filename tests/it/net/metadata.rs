//! Hand-built frames of link types that describe a whole frame: each kind, cut, damaged, within each other.

use super::craft::*;
use proptest::prelude::*;
use qdissect::capture::Frame;
use qdissect::net::{
    Content, Datagram, Decapsulator, DropReason, MAX_ATTRIBUTES, MAX_HEADERS, ip_packet, is_supported_link,
    packet_hosts, parse,
};

const PKTAP_USER2: u16 = 149;
const PPI: u16 = 192;
const NFLOG: u16 = 239;
const PKTAP: u16 = 258;

const ALL: [u16; 4] = [PKTAP_USER2, PPI, NFLOG, PKTAP];

fn opened<'a>(frame: &Frame<'a>) -> Result<Datagram<'a>, DropReason> {
    let decapsulator: &'a mut Decapsulator = Box::leak(Box::default());
    match decapsulator.decapsulate(frame)?.content {
        Content::Datagram(datagram) => Ok(datagram),
        Content::Icmp(_) => Err(DropReason::Icmp),
    }
}

fn attribute(big: bool, kind: u16, value: &[u8]) -> Vec<u8> {
    let head = [value.len() as u16 + 4, kind];
    let head = head.map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() });
    join(&[head.as_flattened(), value, &vec![0; value.len().wrapping_neg() % 4]])
}

/// An NFLOG message of that family, hook and receiving interface; `before` are attributes in front of the packet.
fn nflog(big: bool, family: u8, (hook, interface): (u8, u8), before: &[u8], packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    let header = attribute(big, 1, &[kind[0], kind[1], hook, 0]);
    let place = attribute(big, 4, &[0, 0, 0, interface]);
    join(&[&[family, 0, 0, 5], &header, &place, before, &attribute(big, 9, packet)])
}

fn pktap(name: &str, flags: u8, link: u16, more: usize, frame: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 108 + more];
    head[0] = 108 + more as u8;
    head[4] = 1;
    head[8..10].copy_from_slice(&link.to_le_bytes());
    head[12..12 + name.len()].copy_from_slice(name.as_bytes());
    head[36] = flags;
    join(&[&head, frame])
}

fn ppi(link: u16, fields: &[u8], frame: &[u8]) -> Vec<u8> {
    join(&[&[0, 0], &(8 + fields.len() as u16).to_le_bytes(), &link.to_le_bytes(), &[0, 0], fields, frame])
}

/// A packet in a frame of a link type.
fn described(link: u16, packet: &[u8]) -> Vec<u8> {
    match link {
        NFLOG => nflog(false, if packet[0] >> 4 == 6 { 10 } else { 2 }, (1, 2), &[], packet),
        PPI => ppi(1, &[], &wired(packet)),
        _ => pktap("en0", 1, 1, 0, &wired(packet)),
    }
}

#[test]
fn every_kind_leads_to_the_datagram_inside() {
    for link in ALL {
        assert!(is_supported_link(link));
        for packet in [query4(), query6()] {
            let bytes = described(link, &packet);
            let frame = frame(link, &bytes);
            assert_eq!(parse(&frame).unwrap_err(), DropReason::Tunnel);
            let datagram = opened(&frame).unwrap();
            hold(&frame, &datagram);
            assert_eq!((datagram.payload, datagram.cut, datagram.tunnel), (QUERY, 0, 0));
            assert!(ip_packet(&frame).unwrap().starts_with(&packet));
            assert_eq!(packet_hosts(&frame).len(), 1);
        }
    }
}

#[test]
fn the_frame_inside_may_have_any_link_type() {
    for link in LINKS {
        for packet in [query4(), query6()] {
            let Some(inner) = linked(link, &packet) else { continue };
            for (outer, bytes) in [
                (PPI, ppi(link, &[], &inner)),
                (PPI, ppi(link, &[1; 12], &inner)),
                (PKTAP, pktap("utun3", 2, link, 0, &inner)),
                (PKTAP_USER2, pktap("lo0", 2, link, 48, &inner)),
            ] {
                let frame = frame(outer, &bytes);
                assert_eq!(opened(&frame).unwrap().payload, QUERY, "{link} in {outer}");
            }
        }
    }
    for link in [105, 127, 65_000] {
        assert_eq!(opened(&frame(PPI, &ppi(link, &[], &[0; 80]))).unwrap_err(), DropReason::UnknownLink);
    }
}

#[test]
fn attributes_of_nflog_are_read_in_both_byte_orders_and_any_order() {
    for big in [false, true] {
        // A prefix, a time stamp, a nested attribute.
        let before = join(&[
            &attribute(big, 10, b"log\0"),
            &attribute(big, 3, &[7; 16]),
            &attribute(big, 0x8014, &[1, 0, 0, 0]),
            &attribute(big, 8, &[0; 10]),
        ]);
        for (family, packet) in [(2, query4()), (10, query6()), (7, query4()), (5, query6()), (1, query4())] {
            let bytes = nflog(big, family, (0, 0), &before, &packet);
            assert_eq!(opened(&frame(NFLOG, &bytes)).unwrap().payload, QUERY, "{big}, family {family}");
        }
        // Attributes behind the packet are none of it.
        let packet = query4();
        let bytes = join(&[&nflog(big, 2, (0, 0), &[], &packet), &attribute(big, 11, &[0, 0, 0, 1])]);
        assert_eq!(opened(&frame(NFLOG, &bytes)).unwrap().payload, QUERY);
        // The kernel was told to copy less of the packet: what fills it up is no payload.
        let bytes = nflog(big, 2, (0, 0), &[], &packet[..packet.len() - 3]);
        let d = opened(&frame(NFLOG, &bytes)).unwrap();
        assert_eq!((d.payload, d.cut), (&QUERY[..QUERY.len() - 3], 3));
    }
}

#[test]
fn messages_of_nflog_without_a_packet_hold_none() {
    let header = attribute(false, 1, &[8, 0, 1, 0]);
    let packet = attribute(false, 9, &query4());
    let why = |bytes: &[u8]| opened(&frame(NFLOG, bytes)).unwrap_err();
    assert_eq!(why(&join(&[&[2, 0, 0, 5], &header])), DropReason::NotIp);
    assert_eq!(why(&[2, 0, 0, 5]), DropReason::NotIp);
    assert_eq!(why(&join(&[&[7, 0, 0, 5], &packet])), DropReason::NotIp, "of an unknown protocol");
    assert_eq!(why(&join(&[&[2, 1, 0, 5], &packet])), DropReason::BadLink, "version 1");
    assert_eq!(why(&[2, 0, 0]), DropReason::BadLink);
    for damage in [[3, 0, 1, 0], [0, 0, 1, 0], [0xff, 0xff, 1, 0], [8, 0, 0, 0], [8, 0, 1, 1]] {
        assert_eq!(why(&join(&[&[2, 0, 0, 5], &damage, &[0; 40]])), DropReason::BadLink, "{damage:?}");
    }
}

#[test]
fn attributes_have_a_limit() {
    for (attributes, is_read) in [(MAX_ATTRIBUTES - 1, true), (MAX_ATTRIBUTES, false), (20_000, false)] {
        let bytes = join(&[
            &[2, 0, 0, 5],
            &attribute(false, 6, &[]).repeat(attributes),
            &attribute(false, 9, &query4()),
        ]);
        let read = opened(&frame(NFLOG, &bytes)).map(|d| d.payload);
        assert_eq!(read, if is_read { Ok(QUERY) } else { Err(DropReason::BadLink) }, "{attributes}");
    }
}

#[test]
fn headers_within_each_other_have_a_limit() {
    for (name, outer) in [("ppi", PPI), ("pktap", PKTAP)] {
        let mut bytes = wired(&query4());
        let mut link = 1;
        for depth in 1..=50 {
            bytes = if outer == PPI { ppi(link, &[], &bytes) } else { pktap("en0", 1, link, 0, &bytes) };
            link = outer;
            let read = opened(&frame(outer, &bytes)).map(|d| d.payload);
            let expected = if depth <= MAX_HEADERS { Ok(QUERY) } else { Err(DropReason::BadLink) };
            assert_eq!(read, expected, "{name}, {depth}");
        }
    }
}

#[test]
fn cut_at_every_byte() {
    for link in ALL {
        let packet = query4();
        let bytes = described(link, &packet);
        let start = bytes.len() - QUERY.len();
        for kept in 0..bytes.len() {
            // Cut by the snap length, or shorter from the beginning.
            for wire_len in [bytes.len(), kept] {
                match opened(&cut_frame(link, &bytes[..kept], wire_len)) {
                    Ok(d) => {
                        assert_eq!(d.payload, &bytes[start..kept], "{link}, {kept}");
                        assert_eq!(d.cut as usize, bytes.len() - kept);
                    }
                    Err(reason) => {
                        assert!(kept < start, "{link}, {kept} bytes kept");
                        let expected = if link == PKTAP_USER2 && kept < 108 {
                            DropReason::UnknownLink
                        } else {
                            DropReason::HeadersCut
                        };
                        assert!(wire_len == kept || reason == expected, "{link}, {kept}: {reason:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn damaged_headers_of_apple_are_told_from_other_uses_of_the_link_type() {
    let good = pktap("en0", 1, 1, 0, &wired(&query4()));
    for (at, byte, reason) in [
        (0, 107, DropReason::BadLink),
        (0, 255, DropReason::BadLink),
        (2, 1, DropReason::BadLink),
        (4, 0, DropReason::NotIp),
        (10, 1, DropReason::BadLink),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        assert_eq!(opened(&frame(PKTAP, &bytes)).unwrap_err(), reason, "{at}");
        assert_eq!(opened(&frame(PKTAP_USER2, &bytes)).unwrap_err(), DropReason::UnknownLink, "{at}");
    }
    assert_eq!(opened(&frame(PKTAP_USER2, b"whatever a user likes")).unwrap_err(), DropReason::UnknownLink);
    for bytes in [[1, 0, 8, 0, 1, 0, 0, 0], [0, 0, 7, 0, 1, 0, 0, 0], [0, 0, 255, 1, 1, 0, 0, 0]] {
        assert_eq!(opened(&frame(PPI, &bytes)).unwrap_err(), DropReason::BadLink, "{bytes:?}");
    }
    assert_eq!(opened(&frame(PPI, &[0, 0, 8, 0, 1, 0, 1, 0])).unwrap_err(), DropReason::UnknownLink);
}

#[test]
fn the_origin_is_the_hook_or_direction_and_the_interface() {
    let origin = |link, bytes: &[u8]| {
        let frame = Frame { interface: 3, ..frame(link, bytes) };
        opened(&frame).unwrap().origin
    };
    let packet = query4();
    assert_eq!(origin(NFLOG, &nflog(false, 2, (3, 2), &[], &packet)), 3 << 8 | 2 << 3 | 3);
    let [inward, outward, other] =
        [("en0", 1), ("en0", 2), ("en1", 1)].map(|(name, way)| pktap(name, way, 1, 0, &wired(&packet)));
    let [inward, outward, other] = [inward, outward, other].map(|bytes| origin(PKTAP, &bytes));
    assert!(inward != outward && inward != other && outward != other);
    assert!(
        [inward, outward, other].iter().all(|origin| origin >> 8 == 3),
        "all of one interface of the file"
    );
    assert_eq!(origin(PPI, &ppi(1, &[], &wired(&packet))), 3 << 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Damaged headers: a datagram inside the frame or a reason, never a panic.
    #[test]
    fn damaged_headers_never_panic(
        link in prop::sample::select(ALL.to_vec()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
        more in 0_usize..50,
    ) {
        let mut bytes = described(link, &query4());
        for (index, byte) in damage {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let kept = bytes.len() - kept.index(bytes.len()) / 2;
        let _ = opened(&cut_frame(link, &bytes[..kept], kept + more));
    }

    /// Random bytes: likewise.
    #[test]
    fn random_bytes_never_panic(
        link in prop::sample::select(ALL.to_vec()),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        more in 0_usize..50,
    ) {
        let _ = opened(&cut_frame(link, &bytes, bytes.len() + more));
    }
}
