//! Parses frames to datagrams. The floor reads the same fields at fixed offsets without any checks.

use crate::samples::{frames, pcap, tagged};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use qdissect::capture::Frame;
use qdissect::net::parse;

/// Offsets of the IP header without and with an 802.1Q tag.
const ETHERNET: usize = 14;
const TAGGED: usize = 18;

/// The frames with an IP header of this version at this offset.
fn of_kind(file: &'static [u8], start: usize, version: u8) -> Vec<Frame<'static>> {
    let mut frames = frames(file);
    frames.retain(|frame| frame.bytes.get(start).is_some_and(|byte| byte >> 4 == version));
    assert!(frames.len() > 100, "{} frames of version {version}", frames.len());
    frames
}

fn measured<T>(
    bencher: Bencher<'_, '_>,
    frames: &[Frame<'static>],
    each: impl Fn(&Frame<'static>) -> T + Sync,
) {
    let bytes: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
    let bencher = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(frames.len()));
    bencher.bench(|| {
        for frame in frames {
            black_box(each(black_box(frame)));
        }
    });
}

/// Reads addresses and ports at fixed offsets.
fn fixed<const ADDRESSES: usize, const LENGTH: usize>(frame: &Frame<'static>, at: usize) -> Option<u64> {
    let addresses = frame.bytes.get(at..at + LENGTH)?.as_chunks::<8>().0;
    let ports = frame.bytes.get(at + LENGTH..)?.first_chunk::<8>()?;
    debug_assert_eq!(addresses.len(), ADDRESSES);
    let sum = addresses.iter().fold(0, |sum, word| sum ^ u64::from_be_bytes(*word));
    Some(sum ^ u64::from_be_bytes(*ports))
}

#[divan::bench]
fn v4_floor(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(pcap(), ETHERNET, 4), |frame| fixed::<1, 8>(frame, ETHERNET + 12));
}

#[divan::bench]
fn v4_parse(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(pcap(), ETHERNET, 4), |frame| parse(frame));
}

#[divan::bench]
fn v6_floor(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(pcap(), ETHERNET, 6), |frame| fixed::<4, 32>(frame, ETHERNET + 8));
}

#[divan::bench]
fn v6_parse(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(pcap(), ETHERNET, 6), |frame| parse(frame));
}

#[divan::bench]
fn vlan_floor(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(tagged(), TAGGED, 4), |frame| fixed::<1, 8>(frame, TAGGED + 12));
}

#[divan::bench]
fn vlan_parse(bencher: Bencher<'_, '_>) {
    measured(bencher, &of_kind(tagged(), TAGGED, 4), |frame| parse(frame));
}
