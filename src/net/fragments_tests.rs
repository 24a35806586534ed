//! Packets reassembled from fragments: orders, copies, two ends, snap lengths; and the headers of fragments.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use super::Endpoint;
use super::fragment_header::{Fragment, Header, Key, Location, v4, v6};
use super::fragment_set::Packet;
use super::fragments::Fragments;
use crate::capture::Time;
use etherparse::Ipv6FragmentHeaderSlice;

/// The ends of every packet here.
pub const SRC4: [u8; 4] = [192, 0, 2, 1];
pub const DST4: [u8; 4] = [198, 51, 100, 2];
pub const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// From the source to the destination of every IPv4 packet here.
const HOSTS: [Endpoint; 2] = [Endpoint::v4(SRC4, 0), Endpoint::v4(DST4, 0)];
/// The same in IPv6.
const HOSTS_V6: [Endpoint; 2] = [Endpoint::v6(SRC6, 0), Endpoint::v6(DST6, 0)];

/// A fragment of the packet `id`, captured as a whole.
pub fn piece(id: u32, offset: usize, more: bool, bytes: &[u8]) -> Fragment<'_> {
    let key = Key { hosts: HOSTS, id, protocol: 17, tunnel: 0 };
    let location = Location { frame: 1, time: Time::from_nanos(0) };
    let header = Header { key, protocol: 17, offset, more };
    Fragment { header, bytes, wire_len: bytes.len(), location, others: &[] }
}

/// A fragment, moved to another frame.
pub fn in_frame(piece: Fragment<'_>, frame: u64, nanos: i64) -> Fragment<'_> {
    Fragment { location: Location { frame, time: Time::from_nanos(nanos) }, ..piece }
}

/// The parts one after the other.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Bytes that differ from each other for a while.
pub fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
}

/// Cuts a payload at multiples of 8 bytes: offset, whether more follows, bytes.
pub fn cut<'a>(payload: &'a [u8], cuts: &[usize]) -> Vec<(usize, bool, &'a [u8])> {
    let mut edges: Vec<_> = cuts.iter().map(|c| c * 8).filter(|c| (1..payload.len()).contains(c)).collect();
    edges.extend([0, payload.len()]);
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|w| (w[0], w[1] < payload.len(), &payload[w[0]..w[1]])).collect()
}

/// Adds fragments of the packet `id`; returns the packets that are completed.
pub fn add_all<'a>(
    fragments: &mut Fragments,
    id: u32,
    parts: impl IntoIterator<Item = &'a (usize, bool, &'a [u8])>,
) -> Vec<Packet> {
    parts
        .into_iter()
        .filter_map(|&(offset, more, bytes)| fragments.add(&piece(id, offset, more, bytes)))
        .collect()
}

#[test]
fn fragments_in_any_order_make_the_packet() {
    let payload = bytes(4000);
    let parts = cut(&payload, &[185, 370]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1], [0, 2, 1], [1, 2, 0]] {
        let mut fragments = Fragments::default();
        let mut whole = None;
        for (nth, index) in (1..).zip(order) {
            assert!(whole.is_none());
            let (offset, more, bytes) = parts[index];
            whole = fragments.add(&in_frame(piece(7, offset, more, bytes), nth * 10, nth as i64));
        }
        let whole = whole.unwrap();
        assert_eq!(whole.payload, payload);
        assert_eq!((whole.is_whole(), whole.total, whole.arrived), (true, Some(4000), 4000));
        assert_eq!(whole.frames, [10, 20, 30]);
        let first = 10 * (1 + order.iter().position(|index| *index == 0).unwrap() as u64);
        let location = Location { frame: first, time: Time::from_nanos(first as i64 / 10) };
        assert_eq!((whole.first, whole.protocol, whole.key.hosts), (location, 17, HOSTS));
        let counts = fragments.counts();
        assert_eq!((counts.seen, counts.reassembled, counts.disputes), (3, 1, 0));
    }
}

#[test]
fn packets_mix_only_where_all_of_the_key_is_the_same() {
    let payload = bytes(32);
    let first = piece(7, 0, true, &payload[..16]);
    let last = piece(7, 16, false, &payload[16..]);
    let changed = |change: fn(&mut Key)| {
        let mut other = last;
        change(&mut other.header.key);
        other
    };
    let others = [
        changed(|key| key.id = 8),
        changed(|key| key.protocol = 6),
        changed(|key| key.tunnel = 1),
        changed(|key| key.hosts.reverse()),
    ];
    let mut fragments = Fragments::default();
    assert!(fragments.add(&first).is_none());
    for other in &others {
        assert!(fragments.add(other).is_none());
    }
    assert_eq!(fragments.add(&last).unwrap().payload, payload);
    for other in &others {
        let mut first = first;
        first.header.key = other.header.key;
        let whole = fragments.add(&first).unwrap();
        assert_eq!((whole.payload, whole.key), (payload.clone(), other.header.key));
    }
}

#[test]
fn bytes_that_came_first_win_overlaps() {
    static OURS: [u8; 32] = [1; 32];
    static THEIRS: [u8; 32] = [2; 32];
    let (ours, theirs) = (&OURS, &THEIRS);
    let mixed = [&OURS[..24], &THEIRS[24..]].concat();
    let overlap = |offset: usize, stop: usize, bytes: &'static [u8; 32]| {
        piece(7, offset, stop < 32, &bytes.as_slice()[offset..stop])
    };
    // The same place, within, over the edge, over everything; over the edge with equal bytes.
    let cases = [
        (vec![overlap(0, 24, theirs)], &OURS[..], 1),
        (vec![overlap(8, 16, theirs)], &OURS[..], 1),
        (vec![overlap(16, 32, theirs)], &mixed[..], 1),
        (vec![overlap(0, 32, theirs)], &mixed[..], 1),
        (vec![overlap(16, 32, ours)], &OURS[..], 1),
        (vec![overlap(0, 24, ours), overlap(8, 16, ours)], &OURS[..], 0),
    ];
    for (pieces, payload, disputes) in cases {
        let mut fragments = Fragments::default();
        assert!(fragments.add(&overlap(0, 24, ours)).is_none());
        let mut whole = pieces.iter().find_map(|piece| fragments.add(piece));
        whole = whole.or_else(|| fragments.add(&overlap(24, 32, ours)));
        assert_eq!(whole.unwrap().payload, payload);
        assert_eq!(fragments.counts().disputes, disputes);
    }
}

#[test]
fn the_first_of_two_ends_wins() {
    let payload = bytes(64);
    let end = |offset, stop| piece(7, offset, false, &payload[offset..stop]);
    let part = |offset, stop| piece(7, offset, true, &payload[offset..stop]);
    // Another end; beyond the end; more at the end; an end before what is there; an end where more was announced.
    let contradictions: [&[Fragment<'_>]; 5] = [
        &[end(16, 24), end(16, 32), part(0, 16)],
        &[end(16, 24), part(16, 32), part(0, 16)],
        &[end(16, 24), part(16, 24), part(0, 16)],
        &[part(16, 24), end(8, 16), part(0, 16), end(24, 32)],
        &[part(16, 24), end(16, 24), part(0, 16), end(24, 32)],
    ];
    for pieces in contradictions {
        let mut fragments = Fragments::default();
        let (last, others) = pieces.split_last().unwrap();
        assert!(others.iter().all(|piece| fragments.add(piece).is_none()));
        let whole = fragments.add(last).unwrap();
        assert_eq!(whole.payload, payload[..last.end().max(24)]);
        assert!(whole.is_whole());
        assert_eq!(fragments.counts().disputes, 1);
    }
}

#[test]
fn invalid_fragments_are_ignored() {
    let long = bytes(65_536);
    let mut fragments = Fragments::default();
    let damaged = [
        piece(7, 0, true, &[]),
        piece(7, 24, false, &[]),
        piece(7, 0, true, &long[..15]),
        piece(7, 65_528, false, &long[..8]),
        piece(7, 65_528, true, &long[..8]),
        piece(7, usize::MAX, true, &long[..8]),
        piece(7, 0, false, &long),
    ];
    for piece in &damaged {
        assert!(fragments.add(piece).is_none());
    }
    assert_eq!((fragments.counts().damaged, fragments.usage()), (7, (0, 0)));
    assert!(fragments.add(&piece(7, 0, true, &long[..65_528])).is_none());
    let whole = fragments.add(&piece(7, 65_528, false, &long[65_528..65_535])).unwrap();
    assert_eq!((whole.payload.as_slice(), fragments.counts().disputes), (&long[..65_535], 0));
}

#[test]
fn a_snap_length_leaves_holes_of_known_length() {
    let payload = bytes(64);
    let snapped = |offset: usize, stop: usize, held: usize| Fragment {
        wire_len: stop - offset,
        ..piece(7, offset, stop < 64, &payload[offset..offset + held])
    };
    // The first fragment cut, a later one, the last one, one of which nothing was captured.
    for (held, prefix) in [([5, 16, 32], 5), ([16, 3, 32], 19), ([16, 16, 31], 63), ([16, 0, 32], 16)] {
        for order in [[0, 1, 2], [2, 1, 0]] {
            let parts = [snapped(0, 16, held[0]), snapped(16, 32, held[1]), snapped(32, 64, held[2])];
            let mut fragments = Fragments::default();
            let whole = order.into_iter().find_map(|i| fragments.add(&parts[i])).unwrap();
            assert_eq!(whole.payload, payload[..prefix]);
            assert_eq!((whole.total, whole.is_whole(), fragments.counts().disputes), (Some(64), true, 0));
        }
    }
}

#[test]
fn padding_is_no_part_of_a_fragment() {
    let payload = bytes(24);
    let mut fragments = Fragments::default();
    let padded = Fragment { wire_len: 16, ..piece(7, 0, true, &payload) };
    assert!(fragments.add(&padded).is_none());
    let whole = fragments.add(&Fragment { wire_len: 2, ..piece(7, 16, false, &payload[16..]) }).unwrap();
    assert_eq!((whole.payload.as_slice(), whole.total), (&payload[..18], Some(18)));
}

#[test]
fn a_late_copy_opens_no_set() {
    let (old, new) = (bytes(40), vec![9; 40]);
    let mut fragments = Fragments::default();
    let parts = |payload: &'static [u8]| cut(payload, &[2]);
    let (old, new): (&'static [u8], &'static [u8]) = (old.leak(), new.leak());
    assert_eq!(add_all(&mut fragments, 7, &parts(old))[0].payload, old);
    // All fragments again, and the last fragment once more.
    assert!(add_all(&mut fragments, 7, &parts(old)).is_empty());
    assert!(add_all(&mut fragments, 7, &parts(old)[1..]).is_empty());
    assert_eq!((fragments.counts().copies, fragments.usage().0), (3, 1));
    // The next packet with the same identification gets a set of its own, and has its own late copies.
    let next = add_all(&mut fragments, 7, &parts(new));
    assert_eq!((next.len(), next[0].payload.as_slice(), fragments.counts().disputes), (1, new, 0));
    assert!(add_all(&mut fragments, 7, &parts(new)).is_empty());
    assert_eq!(fragments.counts().copies, 5);
    assert!(fragments.next_expired(Time::UNKNOWN, true).is_none());
    assert_eq!(
        (fragments.counts().reassembled, fragments.counts().begun, fragments.counts().headless),
        (2, 0, 0)
    );
}

#[test]
fn a_common_fragment_that_comes_early_counts_as_a_late_copy() {
    let old = bytes(40);
    let mut new = old.clone();
    new[0] ^= 1;
    let mut fragments = Fragments::default();
    assert_eq!(add_all(&mut fragments, 7, &cut(&old, &[2])).len(), 1);
    // After the first, different fragment, the common one belongs to the new packet.
    assert_eq!(add_all(&mut fragments, 7, &cut(&new, &[2]))[0].payload, new);
    // Before it, the common fragment is taken for a copy.
    assert!(add_all(&mut fragments, 7, cut(&old, &[2]).iter().rev()).is_empty());
    assert_eq!(fragments.next_expired(Time::UNKNOWN, true).unwrap().payload, old[..16]);
}

#[test]
fn headers_of_ipv4() {
    let head = |word: u16| {
        let [w0, w1] = word.to_be_bytes();
        let head = join(&[&[0x45, 0, 0, 60, 0xab, 0xcd, w0, w1, 64, 17, 0, 0], &SRC4, &DST4]);
        v4(head.first_chunk().unwrap())
    };
    // Whole, "don't fragment", the reserved flag.
    assert_eq!([head(0), head(0x4000), head(0x8000)], [None; 3]);
    let key = Key { hosts: HOSTS, id: 0xabcd, protocol: 17, tunnel: 0 };
    let header = |offset, more| Some(Header { key, protocol: 17, offset, more });
    assert_eq!([head(0x2000), head(1)], [header(0, true), header(8, false)]);
    assert_eq!([head(0x20b9), head(0xffff)], [header(1480, true), header(65_528, true)]);
}

#[test]
fn headers_of_ipv6() {
    let head = |next: u8, word: u16| {
        let bytes = join(&[&[next, 0], &word.to_be_bytes(), &[0xfe, 0, 0, 9]]);
        v6(HOSTS_V6, &Ipv6FragmentHeaderSlice::from_slice(&bytes).unwrap())
    };
    assert_eq!([head(17, 0), head(17, 6)], [None; 2], "alone, reserved bits set or not");
    let key = Key { hosts: HOSTS_V6, id: 0xfe00_0009, protocol: 0, tunnel: 0 };
    let header = |protocol, offset, more| Some(Header { key, protocol, offset, more });
    assert_eq!([head(17, 1), head(60, 8)], [header(17, 0, true), header(60, 8, false)]);
    assert_eq!(head(17, 0xffff), header(17, 65_528, true));
}

#[test]
fn in_ipv6_the_first_fragment_gives_the_protocol() {
    let payload = bytes(32);
    let of = |protocol, offset, more, part| {
        let header = Header { protocol, ..piece(7, offset, more, part).header };
        let key = Key { hosts: HOSTS_V6, protocol: 0, ..header.key };
        Fragment { header: Header { key, ..header }, ..piece(7, offset, more, part) }
    };
    let mut fragments = Fragments::default();
    assert!(fragments.add(&of(60, 16, false, &payload[16..])).is_none());
    let whole = fragments.add(&of(17, 0, true, &payload[..16])).unwrap();
    assert_eq!((whole.protocol, whole.payload, whole.key.hosts), (17, payload, HOSTS_V6));
}
