//! Reading ahead on a separate thread changes nothing: neither the output nor the place of an error.

use crate::kit::captures::own;
use crate::kit::play::{CLIENTS, SERVER, START, udp_frame};
use crate::kit::reports::{ReadOptions, all_reports, columns, filtered, records};
use qdissect::capture::Source;
use qdissect::pipeline::{Options, Pipeline, Stopped};
use qdissect::protocols::Level;
use qdissect::report::{Form, Output, Records};
use std::fs;
use std::io::{self, Cursor};
use std::path::PathBuf;

/// The captures of the repository that are not compressed.
fn plain() -> Vec<PathBuf> {
    let mut all = own();
    all.retain(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng"));
    all
}

fn same(inputs: &[Vec<u8>], name: &str, steps: &[usize]) {
    let expected = all_reports(inputs, ReadOptions::PLAIN);
    for &chunk_size in steps {
        let read_ahead =
            all_reports(inputs, ReadOptions { read_ahead: true, chunk_size, ..ReadOptions::PLAIN });
        for (read_ahead, expected) in read_ahead.iter().zip(&expected) {
            let first = read_ahead.lines().zip(expected.lines()).find(|(a, b)| a != b);
            assert!(read_ahead == expected, "{name}, {chunk_size} bytes at a time: {first:#?}");
        }
    }
}

#[test]
fn every_capture_gives_the_same_reports_read_ahead() {
    let all = plain();
    assert!(all.len() > 50, "{}", all.len());
    for path in &all {
        same(&[fs::read(path).unwrap()], &path.display().to_string(), &[usize::MAX, 1_000]);
    }
}

#[test]
fn many_buffers_and_continued_files_give_the_same_reports() {
    let demo = fs::read("captures/demo.pcapng").unwrap();
    for chunk_size in [1, 7, 64, 333] {
        same(std::slice::from_ref(&demo), "demo", &[chunk_size]);
    }
    let all: Vec<_> = plain().iter().map(|path| fs::read(path).unwrap()).collect();
    same(&all, "all captures in one run", &[300, 4_096, usize::MAX]);
}

#[test]
fn a_capture_that_is_cut_or_damaged_ends_in_the_same_place() {
    for name in ["captures/demo.pcapng", "captures/sqp/fake_badutf8.pcap"] {
        let whole = fs::read(name).unwrap();
        for cut in (30..whole.len()).step_by(197) {
            same(&[whole[..cut].to_vec()], &format!("{name} cut at {cut}"), &[500]);
            let mut damaged = whole.clone();
            damaged[cut] ^= 0xff;
            same(&[damaged], &format!("{name} damaged at {cut}"), &[500]);
        }
    }
}

/// A pcap file with the frames of another one repeated, each time a minute later.
fn repeated(capture: &[u8], times: u32) -> Vec<u8> {
    let (head, records) = capture.split_at(24);
    let field = |at: usize| u32::from_le_bytes(records[at..at + 4].try_into().unwrap());
    let mut out = head.to_vec();
    for minute in 0..times {
        let mut at = 0;
        while at < records.len() {
            let end = at + 16 + field(at + 8) as usize;
            out.extend((field(at) + 60 * minute).to_le_bytes());
            out.extend(&records[at + 4..end]);
            at = end;
        }
    }
    out
}

/// A capture that does not fit into the blocks between the threads.
fn long() -> Vec<u8> {
    let capture = fs::read("captures/sqp/fake_badutf8.pcap").unwrap();
    let long = repeated(&capture, 5_000);
    assert!(long.len() > 5 * (256 << 10), "{}", long.len());
    long
}

#[test]
fn a_long_capture_gives_the_same_reports_read_ahead() {
    // With reads of the second size, reading ahead is soon given up.
    same(&[long()], "long", &[usize::MAX, 2_000]);
}

/// A pcapng block in little-endian order.
fn block(kind: u32, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let total = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &total, &body, &total].concat()
}

/// The frames as pcapng with blocks that need more parsing: comments on every third packet, and statistics or interfaces before
/// some.
fn commented(capture: &[u8]) -> Vec<u8> {
    let section = block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]]);
    let interface = block(1, &[&[1, 0, 0, 0], &[0; 4]]);
    let statistics = block(5, &[&[0; 12]]);
    let mut out = [section, interface.clone()].concat();
    let (mut at, mut n) = (24, 0u32);
    while at < capture.len() {
        let word = |i: usize| u32::from_le_bytes(capture[at + 4 * i..][..4].try_into().unwrap());
        let micros = u64::from(word(0)) * 1_000_000 + u64::from(word(1));
        let frame = &capture[at + 16..][..word(2) as usize];
        let head = [0, (micros >> 32) as u32, micros as u32, word(2), word(3)].map(u32::to_le_bytes).concat();
        let padding = &[0; 3][..frame.len().wrapping_neg() % 4];
        let comment = format!("packet {n:05}");
        let comment_option = [&[1, 0, 12, 0][..], comment.as_bytes(), &[0; 4]].concat();
        let options: &[u8] = if n % 3 == 0 { &comment_option } else { &[] };
        match n % 50 {
            7 => out.extend(&statistics),
            31 => out.extend(&interface),
            _ => {}
        }
        out.extend(block(6, &[&head, frame, padding, options]));
        (at, n) = (at + 16 + frame.len(), n + 1);
    }
    out
}

#[test]
fn packets_between_other_blocks_and_with_comments_give_the_same_reports() {
    let capture = commented(&long());
    assert!(
        all_reports(std::slice::from_ref(&capture), ReadOptions::PLAIN)
            .iter()
            .any(|out| out.contains("packet 00003"))
    );
    same(&[capture], "commented", &[usize::MAX]);
}

#[test]
fn filtered_packets_and_the_recorder_are_the_same() {
    let demo = fs::read("captures/demo.pcapng").unwrap();
    let commented = commented(&long());
    // Filters about messages, about comments and statistics, and about frames.
    for (capture, filter) in [
        (&demo, "response_time || finding"),
        (&commented, "frame.comment || finding"),
        (&demo, "frame.len > 60"),
    ] {
        let inputs = [capture.clone(), demo.clone()];
        let plain = filtered(&inputs, ReadOptions::PLAIN, filter);
        assert!(plain[0].contains("\"packet\"") && plain[1].contains("SQP-"), "{filter}: {plain:?}");
        let read_ahead = filtered(&inputs, ReadOptions { read_ahead: true, ..ReadOptions::PLAIN }, filter);
        assert!(read_ahead == plain, "{filter}");
    }
}

#[test]
fn columns_are_the_same() {
    let inputs = [commented(&long()), fs::read("captures/demo.pcapng").unwrap()];
    // Columns of messages, of comments, and of frames.
    let columns_of = ["frame.number", "ip.src", "sqp.token", "response_time", "frame.comment"];
    for (names, expected) in [(&columns_of[..], "packet 00003"), (&["frame.number", "frame.len"], "\n3,50\r")]
    {
        let plain = columns(&inputs, ReadOptions::PLAIN, names);
        assert!(plain.contains(expected), "{}", plain.lines().take(9).collect::<Vec<_>>().join("\n"));
        assert!(
            columns(&inputs, ReadOptions { read_ahead: true, ..ReadOptions::PLAIN }, names) == plain,
            "{names:?}"
        );
    }
}

/// A pending packet with a comment, followed by as many comments as are kept with that one; then the same some seconds later.
fn waiting(times: u32) -> Vec<u8> {
    let section = block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]]);
    let mut out = [section, block(1, &[&[1, 0, 0, 0], &[0; 4]])].concat();
    let mut packet = |seconds: u32, port: u16, payload: &[u8], options: &[u8]| {
        let frame = udp_frame(START, CLIENTS[0], (SERVER, port), payload).bytes;
        let micros = u64::from(seconds) * 1_000_000;
        let len = frame.len() as u32;
        let head = [0, (micros >> 32) as u32, micros as u32, len, len].map(u32::to_le_bytes).concat();
        out.extend(block(6, &[&head, &frame, &[0; 3][..frame.len().wrapping_neg() % 4], options]));
    };
    // Each byte that is not UTF-8 becomes three bytes of text.
    let long = [&[1, 0, 0, 16][..], &[0xff; 4096]].concat().repeat(64);
    for n in 0..times {
        packet(1_700_000_000 + 9 * n, 7777, &[0; 5], b"\x01\0\x07\0waiting\0");
        (0..10).for_each(|_| packet(1_700_000_000 + 9 * n, 9, b"x", &long));
        packet(1_700_000_006 + 9 * n, 9, b"y", &[]);
    }
    out
}

#[test]
fn comments_of_pending_packets_survive_reading_ahead() {
    let capture = [waiting(4)];
    let [plain, read_ahead] = [false, true].map(|read_ahead| {
        let (records, ..) =
            records(&capture, ReadOptions { read_ahead, min_confidence: Level::Low, ..ReadOptions::PLAIN });
        records
    });
    assert_eq!(plain.matches("\"waiting\"").count(), 4);
    assert!(read_ahead == plain, "{} are left", read_ahead.matches("\"waiting\"").count());
}

/// A writer that fails after this many bytes.
struct Full<'a>(&'a mut Vec<u8>, usize);

impl io::Write for Full<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let takes = bytes.len().min(self.1 - self.0.len());
        self.0.extend(&bytes[..takes]);
        if takes == 0 { Err(io::Error::other("it is full")) } else { Ok(takes) }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_report_that_cannot_be_written_ends_the_reading() {
    let (long, mut expected) = (long(), vec![]);
    for read_ahead in [false, true] {
        let mut written = vec![];
        let mut records =
            Records::new(Output::new(Full(&mut written, 100_000), Form::Ndjson, false), true, false);
        let mut pipeline = Pipeline::new(Options::default(), &mut records);
        let mut source = Source::from_reader("input", Box::new(Cursor::new(long.clone()))).unwrap();
        let read = match read_ahead {
            true => pipeline.read_ahead(&mut source, "input"),
            false => pipeline.read(&mut source, "input"),
        };
        match read {
            Err(Stopped::Report(e)) => assert_eq!(e.to_string(), "it is full"),
            other => panic!("{other:?}"),
        }
        drop(pipeline);
        if read_ahead {
            assert!(written == expected, "{} bytes, not {}", written.len(), expected.len());
        } else {
            expected = written;
        }
    }
}
