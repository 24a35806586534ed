//! The record walk.

use crate::samples::{open, pcap, pcapng};
use crate::walk::walk;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

fn floor(bencher: Bencher<'_, '_>, file: &'static [u8]) {
    let lengths = || {
        let mut captured = 0;
        let packets = walk(black_box(file), |packet| captured += packet.len());
        (packets.ok(), captured)
    };
    let packets = lengths().0.unwrap_or_default();
    bencher.counter(BytesCount::new(file.len())).counter(ItemsCount::new(packets)).bench(lengths);
}

fn source(bencher: Bencher<'_, '_>, file: &'static [u8]) {
    let lengths = || {
        let mut source = open(black_box(file));
        let (mut packets, mut captured) = (0_u64, 0);
        while let Ok(Some(frame)) = source.next() {
            packets += 1;
            captured += frame.bytes.len();
        }
        (packets, captured)
    };
    let packets = lengths().0;
    bencher.counter(BytesCount::new(file.len())).counter(ItemsCount::new(packets)).bench(lengths);
}

#[divan::bench]
fn pcap_floor(bencher: Bencher<'_, '_>) {
    floor(bencher, pcap());
}

#[divan::bench]
fn pcap_source(bencher: Bencher<'_, '_>) {
    source(bencher, pcap());
}

#[divan::bench]
fn pcapng_floor(bencher: Bencher<'_, '_>) {
    floor(bencher, pcapng());
}

#[divan::bench]
fn pcapng_source(bencher: Bencher<'_, '_>) {
    source(bencher, pcapng());
}
