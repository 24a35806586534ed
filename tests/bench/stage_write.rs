//! The writer of lines. The floor copies finished lines.

use crate::samples::{SampleDatagram, sample_datagrams};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use qdissect::capture::CaptureInfo as Capture;
use qdissect::contract::{Decoded, Raised};
use qdissect::decode::AnyListener;
use qdissect::diagnosis::Examined;
use qdissect::report::{Form, Output, Packet, Records, Report};
use std::io::{self, Write};

/// Size of the output buffer in bytes.
const BUFFER: usize = 64 * 1024;

/// Writes the record of every datagram.
fn write<W: Write>(out: W, sample: &[(SampleDatagram, AnyListener)]) -> io::Result<()> {
    let mut records = Records::new(Output::new(out, Form::Ndjson, false), true, false);
    records.file("sample", &Capture::default(), 0)?;
    let (raised, decoded) = (Raised::default(), Decoded::default());
    for (sample, listener) in sample {
        records.packet(&Packet {
            datagram: &sample.datagram,
            bytes: sample.datagram.payload,
            piece: None,
            unreadable: false,
            id: sample.id,
            message: sample.context.message,
            step: sample.step,
            direction: sample.context.direction,
            level: sample.level,
            server_index: SampleDatagram::SERVER,
            asked_server: None,
            examined: &Examined::Clean,
            pairing: &sample.pairing,
            decoded: &decoded,
            listener,
            raised: &raised,
            findings: &[],
            more_findings: 0,
        })?;
    }
    records.finish(&Default::default())
}

fn decoded() -> Vec<(SampleDatagram, AnyListener)> {
    sample_datagrams()
        .into_iter()
        .map(|sample| {
            let json = sample.decoded();
            (sample, AnyListener::Json(json))
        })
        .collect()
}

/// What is written of them.
fn lines(sample: &[(SampleDatagram, AnyListener)]) -> Vec<u8> {
    let mut lines = Vec::new();
    // Writing to memory does not fail.
    let _ = write(&mut lines, sample);
    assert!(lines.split(|&byte| byte == b'\n').count() > sample.len(), "a line for each datagram");
    lines
}

#[divan::bench]
fn ndjson_floor(bencher: Bencher<'_, '_>) {
    let sample = decoded();
    let lines = lines(&sample);
    let mut buffer = Vec::with_capacity(2 * BUFFER);
    let bencher = bencher.counter(BytesCount::new(lines.len())).counter(ItemsCount::new(sample.len()));
    let lines: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    bencher.bench_local(|| {
        for line in &lines {
            buffer.extend_from_slice(line);
            if buffer.len() >= BUFFER {
                black_box(&buffer);
                buffer.clear();
            }
        }
    });
}

#[divan::bench]
fn ndjson_records(bencher: Bencher<'_, '_>) {
    let sample = decoded();
    let bytes = lines(&sample).len();
    let bencher = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(sample.len()));
    bencher.bench_local(|| write(io::sink(), black_box(&sample)));
}
