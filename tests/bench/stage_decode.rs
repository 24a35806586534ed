//! Recognition and decoding. The floor of a probe reads the first byte of a payload, that of decoding reads every byte.

use crate::samples::{SampleDatagram, datagrams, sample_datagrams};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use qdissect::classify::probe;
use qdissect::decode::{FieldSink, Json, Listener, Notes, Skip};
use qdissect::net::Datagram;
use std::sync::LazyLock;

/// Datagrams of a message that are decoded in turn.
const MOST: usize = 1_000;

static SAMPLES: LazyLock<Vec<SampleDatagram>> = LazyLock::new(sample_datagrams);

/// The kinds of messages in the sample.
static TITLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut titles: Vec<String> = SAMPLES.iter().map(SampleDatagram::title).collect();
    titles.sort();
    titles.dedup();
    titles
});

fn titles() -> impl Iterator<Item = &'static str> {
    TITLES.iter().map(String::as_str)
}

fn of(title: &str) -> Vec<&'static SampleDatagram> {
    SAMPLES.iter().filter(|sample| sample.title() == title).take(MOST).collect()
}

fn shuffled<T>(bencher: Bencher<'_, '_>, each: impl Fn(&Datagram<'static>) -> T + Sync) {
    let datagrams = datagrams();
    let bytes: usize = datagrams.iter().map(|d| d.payload.len()).sum();
    let bencher = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(datagrams.len()));
    bencher.bench(|| {
        for datagram in &datagrams {
            black_box(each(black_box(datagram)));
        }
    });
}

#[divan::bench]
fn probe_floor(bencher: Bencher<'_, '_>) {
    shuffled(bencher, |d| d.payload.first().copied());
}

#[divan::bench]
fn probe_all(bencher: Bencher<'_, '_>) {
    shuffled(bencher, |d| probe(d, u32::MAX));
}

fn messages(bencher: Bencher<'_, '_>, title: &str, mut each: impl FnMut(&SampleDatagram)) {
    let messages = of(title);
    let bytes: usize = messages.iter().map(|sample| sample.datagram.payload.len()).sum();
    let bencher = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(messages.len()));
    bencher.bench_local(|| {
        for sample in &messages {
            each(black_box(sample));
        }
    });
}

fn decode<S: FieldSink>(sample: &SampleDatagram, sink: &mut S) {
    let _ = black_box(sample.id.dissect(sample.datagram.payload, &sample.context, sink));
}

#[divan::bench(args = titles())]
fn decode_floor(bencher: Bencher<'_, '_>, title: &str) {
    messages(bencher, title, |sample| {
        black_box(sample.datagram.payload.iter().fold(0, |sum, byte| sum ^ byte));
    });
}

/// The message alone.
#[divan::bench(args = titles())]
fn decode_skip(bencher: Bencher<'_, '_>, title: &str) {
    messages(bencher, title, |sample| decode(sample, &mut Skip));
}

/// With every rule.
#[divan::bench(args = titles())]
fn decode_rules(bencher: Bencher<'_, '_>, title: &str) {
    let mut notes = Notes::default();
    messages(bencher, title, |sample| {
        notes.begin();
        decode(sample, &mut notes);
    });
}

/// With every rule and the fields as JSON.
#[divan::bench(args = titles())]
fn decode_json(bencher: Bencher<'_, '_>, title: &str) {
    let mut json = Json::default();
    messages(bencher, title, |sample| {
        json.begin();
        decode(sample, &mut json);
        json.end();
    });
}
