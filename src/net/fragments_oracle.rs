//! Compares reassembly with a model that works byte by byte, and with etherparse.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::Endpoint;
use super::fragment_header::{Fragment, v4, v6};
use super::fragments::Fragments;
use super::fragments_tests::{DST4, DST6, SRC4, SRC6, add_all, cut, join, piece};
use crate::capture::Time;
use etherparse::defrag::IpDefragPool;
use etherparse::{Ipv6FragmentHeaderSlice, SlicedPacket};
use proptest::prelude::*;

/// A model of a set that works byte by byte.
#[derive(Default)]
struct Model {
    /// Bytes that arrived; their values where they were captured.
    arrived: Vec<Option<Option<u8>>>,
    total: Option<usize>,
    disputes: u64,
    copies: u64,
}

impl Model {
    fn add(&mut self, piece: &Fragment<'_>) {
        let (start, end) = (piece.header.offset, piece.end());
        let reach = self.arrived.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let contradicts_end = match (self.total, piece.header.more) {
            (Some(total), true) => end >= total,
            (Some(total), false) => end != total,
            (None, more) => !more && reach >= end,
        };
        if contradicts_end {
            self.disputes += 1;
            return;
        }
        if !piece.header.more {
            self.total = Some(end);
        }
        self.arrived.resize(self.arrived.len().max(end), None);
        let (mut new, mut common, mut differs) = (false, false, false);
        for index in start..end {
            let theirs = piece.bytes.get(index - start).copied();
            match self.arrived[index] {
                None => (self.arrived[index], new) = (Some(theirs), true),
                Some(ours) => {
                    common = true;
                    differs |= ours.zip(theirs).is_some_and(|(ours, theirs)| ours != theirs);
                }
            }
        }
        self.disputes += u64::from(differs || common && new);
        self.copies += u64::from(!differs && !new);
    }

    fn prefix(&self) -> Vec<u8> {
        self.arrived.iter().map_while(|byte| byte.flatten()).collect()
    }

    fn is_whole(&self) -> bool {
        self.total
            .is_some_and(|total| self.arrived.len() == total && self.arrived.iter().all(Option::is_some))
    }
}

/// A whole IPv4 or IPv6 packet with a fragment in it.
fn packet_of(is_v6: bool, id: u16, offset: usize, more: bool, bytes: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    if is_v6 {
        let word = (offset as u16 | u16::from(more)).to_be_bytes();
        let length = (bytes.len() as u16 + 8).to_be_bytes();
        let head: [&[u8]; 5] = [&[0x60, 0, 0, 0], &length, &[44, 64], &SRC6, &DST6];
        return join(&[&head.concat(), &[17, 0], &word, &[0, 0], &id, bytes]);
    }
    let word = (offset as u16 / 8 + (u16::from(more) << 13)).to_be_bytes();
    let length = (bytes.len() as u16 + 20).to_be_bytes();
    join(&[&[0x45, 0], &length, &id, &word, &[64, 17, 0, 0], &SRC4, &DST4, bytes])
}

/// The fragment in such a packet, as the parser would read it.
fn piece_of(packet: &[u8]) -> Option<Fragment<'_>> {
    let (header, bytes) = match packet[0] >> 4 {
        4 => (v4(packet.first_chunk().unwrap())?, &packet[20..]),
        _ => {
            let hosts = [8, 24].map(|at| Endpoint::v6(*packet[at..].first_chunk().unwrap(), 0));
            let slice = Ipv6FragmentHeaderSlice::from_slice(&packet[40..]).unwrap();
            (v6(hosts, &slice)?, &packet[48..])
        }
    };
    Some(Fragment { header, ..piece(0, 0, true, bytes) })
}

proptest! {
    /// Any cuts in any order, with copies, give the payload exactly once.
    #[test]
    fn any_order_with_copies(
        payload in prop::collection::vec(any::<u8>(), 1..2040),
        cuts in prop::collection::vec(1_usize..255, 0..40),
        extra in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        seed in prop::collection::vec(any::<u32>(), 60),
    ) {
        let mut parts = cut(&payload, &cuts);
        let count = parts.len();
        parts.extend(extra.iter().map(|index| parts[index.index(count)]).collect::<Vec<_>>());
        let mut order: Vec<_> = seed.into_iter().zip(&parts).collect();
        order.sort_by_key(|(random, _)| *random);
        let mut fragments = Fragments::default();
        let whole = add_all(&mut fragments, 7, order.iter().map(|(_, part)| *part));
        prop_assert_eq!(whole.len(), 1);
        prop_assert_eq!(&whole[0].payload, &payload);
        let counts = fragments.counts();
        prop_assert_eq!((counts.copies as usize, counts.disputes), (extra.len(), 0));
    }

    /// Overlaps, two ends and snap lengths give the same as the model.
    #[test]
    fn any_fragments_of_one_packet(
        pieces in prop::collection::vec((0_usize..12, 1_usize..40, any::<bool>(), 0_usize..40, 0_u8..2), 1..30),
    ) {
        let (mut model, mut fragments) = (Model::default(), Fragments::default());
        for (unit, length, more, held, fill) in pieces {
            let wire_len = if more { length.next_multiple_of(8) } else { length };
            // Half of all fragments are captured completely.
            let captured = if held < 20 { wire_len } else { wire_len.min(held - 20) };
            let bytes = vec![fill; captured];
            let piece = Fragment { wire_len, ..piece(7, unit * 8, more, &bytes) };
            model.add(&piece);
            let whole = fragments.add(&piece);
            prop_assert_eq!(whole.is_some(), model.is_whole());
            let counts = fragments.counts();
            prop_assert_eq!((counts.disputes, counts.copies), (model.disputes, model.copies));
            if let Some(whole) = whole {
                prop_assert_eq!(whole.total, model.total);
                prop_assert_eq!(whole.payload, model.prefix());
                return Ok(());
            }
        }
        let begun = fragments.next_expired(Time::UNKNOWN, true);
        prop_assert_eq!(begun.is_some(), model.arrived.first().is_some_and(Option::is_some));
        if let Some(begun) = begun {
            prop_assert_eq!((begun.total, begun.is_whole()), (model.total, false));
            prop_assert_eq!(begun.arrived, model.arrived.iter().flatten().count());
            prop_assert_eq!(begun.payload, model.prefix());
        }
    }

    /// Two interleaved packets are reassembled as by etherparse.
    #[test]
    fn agrees_with_etherparse(
        is_v6: bool,
        payloads in [prop::collection::vec(any::<u8>(), 9..1500), prop::collection::vec(any::<u8>(), 9..1500)],
        cuts in prop::collection::vec(1_usize..180, 0..20),
        seed in prop::collection::vec(any::<u32>(), 60),
    ) {
        let mut packets = vec![];
        for (id, payload) in (7..).zip(&payloads) {
            let parts = cut(payload, &[&cuts[..], &[1]].concat());
            packets.extend(parts.iter().map(|(offset, more, bytes)| packet_of(is_v6, id, *offset, *more, bytes)));
        }
        let mut order: Vec<_> = seed.into_iter().zip(&packets).collect();
        order.sort_by_key(|(random, _)| *random);
        let mut pool = IpDefragPool::<(), ()>::new();
        let mut fragments = Fragments::default();
        let mut found = 0;
        for (_, packet) in order {
            let theirs = pool.process_sliced_packet(&SlicedPacket::from_ip(packet).unwrap(), (), ()).unwrap();
            let ours = fragments.add(&piece_of(packet).unwrap());
            found += usize::from(ours.is_some());
            let theirs = theirs.map(|packet| (packet.ip_number.0, packet.payload));
            prop_assert_eq!(ours.map(|packet| (packet.protocol, packet.payload)), theirs);
        }
        prop_assert_eq!(found, 2);
    }
}
