//! The line writer. The floor copies lines that are already there.

use crate::samples::{Heard, heard};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use qdissect::capture::CaptureInfo as Capture;
use qdissect::contract::{Decoded, Raised};
use qdissect::decode::AnyListener;
use qdissect::report::{Form, Output, Packet, Records, Report};
use std::io::{self, Write};

/// Bytes gathered before they are written.
const BUFFER: usize = 64 * 1024;

/// Writes the record of every datagram.
fn write<W: Write>(out: W, heard: &[(Heard, AnyListener)]) -> io::Result<()> {
    let mut records = Records::new(Output::new(out, Form::Ndjson, false), true, false);
    records.file("sample", &Capture::default(), 0)?;
    let (raised, decoded) = (Raised::default(), Decoded::default());
    for (heard, listener) in heard {
        records.packet(&Packet {
            datagram: &heard.datagram,
            bytes: heard.datagram.payload,
            piece: None,
            id: heard.id,
            message: heard.context.message,
            step: heard.step,
            direction: heard.context.direction,
            level: heard.level,
            server_index: Heard::SERVER,
            pairing: &heard.pairing,
            decoded: &decoded,
            listener,
            raised: &raised,
            findings: &[],
            more_findings: 0,
        })?;
    }
    records.finish(&Default::default())
}

fn decoded() -> Vec<(Heard, AnyListener)> {
    heard()
        .into_iter()
        .map(|heard| {
            let json = heard.decoded();
            (heard, AnyListener::Json(json))
        })
        .collect()
}

/// What is written of them.
fn lines(heard: &[(Heard, AnyListener)]) -> Vec<u8> {
    let mut lines = Vec::new();
    // Writing to memory does not fail.
    let _ = write(&mut lines, heard);
    assert!(lines.split(|&byte| byte == b'\n').count() > heard.len(), "a line for each datagram");
    lines
}

#[divan::bench]
fn ndjson_floor(bencher: Bencher<'_, '_>) {
    let heard = decoded();
    let lines = lines(&heard);
    let mut buffer = Vec::with_capacity(2 * BUFFER);
    let bencher = bencher.counter(BytesCount::new(lines.len())).counter(ItemsCount::new(heard.len()));
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
    let heard = decoded();
    let bytes = lines(&heard).len();
    let bencher = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(heard.len()));
    bencher.bench_local(|| write(io::sink(), black_box(&heard)));
}
