//! Tests the generator with the walk, and checks the headers of every frame.

use crate::frames::{INSIDE, checksum};
use crate::generate::{Kind, Plan, generate};
use crate::walk::walk;
use std::collections::HashSet;
use std::io;

const PACKETS: u64 = 2_000;
/// Ethernet header, and the 802.1Q tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;
/// Bytes per packet with the record header of a pcap file.
const QUERY_SIZE: std::ops::Range<usize> = 85..101;
const MIXED_SIZE: std::ops::Range<usize> = 340..421;
const GAME_SIZE: std::ops::Range<usize> = 150..260;

/// Offsets of the addresses of client and server in a request over Ethernet and IPv4.
const CLIENT: usize = 26;
const SERVER: usize = 30;

/// Totals of the frames of one capture.
#[derive(Default)]
struct FrameTotals {
    captured: u64,
    tcp: u64,
    ipv6: u64,
}

/// Generates small captures of every kind and format in memory and checks them.
pub fn check() -> io::Result<()> {
    for kind in [Kind::Query, Kind::Mixed, Kind::Game] {
        for bits in 0..16_u8 {
            let mut plan = Plan::new(kind, PACKETS);
            plan.format.pcapng = bits & 1 > 0;
            plan.format.big_endian = bits & 2 > 0;
            plan.format.nanoseconds = bits & 4 > 0;
            plan.vlan = bits & 8 > 0;
            whole(&plan)?;
            cut(&plan)?;
        }
        seeds(kind)?;
        size(kind)?;
    }
    repeated()?;
    distinct(Kind::Clients, CLIENT, PACKETS)?;
    distinct(Kind::Servers, SERVER, PACKETS / 3)?;
    assert!(walk(&[0xd4, 0xc3, 0xb2, 0xa1, 0, 0][..], |_| ()).is_err(), "a file header cut off");
    println!("ok: 3 kinds in 16 formats and 2 hostile ones, {PACKETS} packets each");
    Ok(())
}

fn make(plan: &Plan) -> io::Result<(Vec<u8>, u64)> {
    let mut file = Vec::new();
    let captured = generate(&mut file, plan)?;
    Ok((file, captured))
}

fn whole(plan: &Plan) -> io::Result<()> {
    let (file, captured) = make(plan)?;
    let mut totals = FrameTotals::default();
    let packets = walk(&file[..], |frame| headers(frame, plan.vlan, &mut totals))?;
    assert_eq!(packets, PACKETS);
    assert_eq!(totals.captured, captured);
    assert!((PACKETS / 20..PACKETS / 5).contains(&totals.ipv6), "{} IPv6 packets", totals.ipv6);
    assert_eq!(plan.kind == Kind::Mixed, totals.tcp > PACKETS / 5, "{} TCP packets", totals.tcp);
    // A file that ends inside its last record is an error.
    assert!(walk(&file[..file.len() - 1], |_| ()).is_err());
    Ok(())
}

fn cut(plan: &Plan) -> io::Result<()> {
    let mut plan = *plan;
    plan.format.snap_len = 64;
    let (file, captured) = make(&plan)?;
    let (mut total, mut longest) = (0, 0);
    let packets = walk(&file[..], |frame| {
        total += frame.len() as u64;
        longest = longest.max(frame.len());
    })?;
    assert_eq!((packets, total, longest), (PACKETS, captured, 64));
    Ok(())
}

fn seeds(kind: Kind) -> io::Result<()> {
    let plan = Plan::new(kind, PACKETS);
    let (first, _) = make(&plan)?;
    assert!(first == make(&plan)?.0, "the same seed gave another file");
    assert!(first != make(&Plan { seed: 2, ..plan })?.0, "another seed gave the same file");
    assert!(first != make(&Plan { loss: 500_000, ..plan })?.0, "loss changed nothing");
    Ok(())
}

/// Requests without an answer are repeated with the same bytes.
fn repeated() -> io::Result<()> {
    let requests = |retries| {
        // Two seconds, so that clients repeat requests.
        let plan = Plan { loss: 300_000, retries, rate: 1_000, ..Plan::new(Kind::Query, PACKETS) };
        let (mut totals, mut again) = (HashSet::new(), 0);
        // A poll of Satisfactory has 13 bytes, and a cookie that is never the same twice.
        walk(&make(&plan)?.0[..], |frame| {
            let poll = frame.get(42..46) == Some(&[0xd5, 0xf6, 0, 1]);
            again += usize::from(poll && !totals.insert(frame.to_vec()));
        })?;
        io::Result::Ok(again)
    };
    let (none, half) = (requests(0)?, requests(500_000)?);
    assert!(none == 0 && half > PACKETS as usize / 100, "{none} and {half} polls repeated");
    Ok(())
}

/// Checks that the requests of a flood have `expected` different addresses at `offset`.
fn distinct(kind: Kind, offset: usize, expected: u64) -> io::Result<()> {
    let mut addresses = HashSet::new();
    walk(&make(&Plan::new(kind, PACKETS))?.0[..], |frame| {
        headers(frame, false, &mut FrameTotals::default());
        if frame[..6] == INSIDE {
            addresses.insert(frame[offset..offset + 4].to_vec());
        }
    })?;
    let found = addresses.len() as u64;
    assert!((expected..expected + 2).contains(&found), "{found} addresses instead of {expected}");
    Ok(())
}

fn size(kind: Kind) -> io::Result<()> {
    let size = make(&Plan::new(kind, PACKETS))?.0.len() / PACKETS as usize;
    let expected = match kind {
        Kind::Query => QUERY_SIZE,
        Kind::Game => GAME_SIZE,
        _ => MIXED_SIZE,
    };
    assert!(expected.contains(&size), "{size} bytes per packet, expected {expected:?}");
    Ok(())
}

/// Asserts the lengths and checksums of one frame.
fn headers(frame: &[u8], vlan: bool, totals: &mut FrameTotals) {
    let tag = if vlan { TAG } else { 0 };
    assert_eq!(vlan, frame[12..14] == [0x81, 0x00]);
    let packet = &frame[ETHERNET + tag..];
    let v6 = frame[ETHERNET + tag - 2..ETHERNET + tag] == [0x86, 0xdd];
    let (length, protocol, addresses, start) = if v6 {
        (40 + half(packet, 4), packet[6], 8..40, 40)
    } else {
        assert_eq!(checksum(0, &packet[..20]), 0, "IPv4 header checksum");
        (half(packet, 2), packet[9], 12..20, 20)
    };
    let padded = frame.len() == 60 && packet.len() >= length;
    assert!(packet.len() == length || padded, "IP length {length} in a frame of {}", frame.len());
    let body = &packet[start..length];
    let mut pseudo = packet[addresses].to_vec();
    pseudo.extend_from_slice(&[0, protocol]);
    pseudo.extend_from_slice(&(body.len() as u16).to_be_bytes());
    pseudo.extend_from_slice(body);
    assert_eq!(checksum(0, &pseudo), 0, "checksum above IP, protocol {protocol}");
    if protocol == 17 {
        assert_eq!(half(body, 4), body.len(), "UDP length");
    }
    totals.captured += frame.len() as u64;
    totals.tcp += u64::from(protocol == 6);
    totals.ipv6 += u64::from(v6);
}

fn half(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}
