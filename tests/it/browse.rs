//! The index opens every packet as `dump -V -x` prints it, for reports and as the page gets it.

use crate::kit::captures;
use crate::kit::frames::datagrams;
use crate::kit::packed;
use qdissect::browse::{IN_SPOOL, Index, Indexer, Unopened};
use qdissect::capture::Source;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{AnyListener, Detail, Details, Exchange, Finding, Report, StandIns, Wants};
use serde_json::Value;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn options() -> Options {
    Options { all: true, ..Options::default() }
}

fn details(out: &mut Vec<u8>) -> Details<&mut Vec<u8>> {
    let detail = Detail { tree: true, hex: true, ..Detail::default() };
    Details::new(out, true, false, detail)
}

/// Reads a capture, as far as that is possible, into a report.
fn read(path: &Path, report: &mut dyn Report) {
    let mut pipeline = Pipeline::new(options(), report);
    if let Ok(mut source) = Source::open(path) {
        let _ = pipeline.read(&mut source, "a");
    }
    let _ = pipeline.finish(true);
}

/// What an index tells of a capture: the text of each packet, `None` where it must be read again, and how many there are.
fn opened(path: &Path, spool: Option<File>) -> Vec<Option<String>> {
    let index = Arc::new(Mutex::new(Index::new(usize::MAX)));
    let mut read_back = spool.as_ref().map(|spool| spool.try_clone().expect("a handle"));
    read(path, &mut Indexer::new(index.clone()).with_spool(spool));
    let index = index.lock().expect("nobody panics");
    let bytes = fs::read(path).expect("a capture");
    let text = |row| {
        let mut out = vec![];
        let mut report = details(&mut out);
        let mut read = |_: usize, at: u64, buffer: &mut [u8]| match at.checked_sub(IN_SPOOL) {
            Some(at) => {
                let spool = read_back.as_mut().expect("a spool");
                spool.seek(SeekFrom::Start(at))?;
                spool.read_exact(buffer)
            }
            None => {
                let at = at as usize;
                buffer.copy_from_slice(&bytes[at..at + buffer.len()]);
                Ok(())
            }
        };
        match index.open(row, false, &mut read, &mut report) {
            Ok(()) => {}
            Err(Unopened::Again) => return None,
            Err(e) => panic!("{}: {e}", path.display()),
        }
        drop(report);
        Some(String::from_utf8(out).expect("text"))
    };
    (0..index.rows().len()).map(text).collect()
}

/// The packets that `dump -V -x --all` prints of a capture, without its exchanges.
fn printed(path: &Path) -> Vec<String> {
    struct NoExchanges<'a>(Details<&'a mut Vec<u8>>);
    impl Report for NoExchanges<'_> {
        fn inner(&mut self) -> Option<&mut dyn Report> {
            Some(&mut self.0)
        }
        fn listener(&self) -> AnyListener {
            self.0.listener()
        }
        fn wants(&self) -> Wants {
            self.0.wants()
        }
        fn exchange(&mut self, _: &Exchange, _: &[Finding]) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut out = vec![];
    let mut report = NoExchanges(details(&mut out));
    read(path, &mut report);
    drop(report);
    let text = String::from_utf8(out).expect("text");
    // A packet begins with its frame.
    let mut packets: Vec<String> = vec![];
    for line in text.split_inclusive('\n') {
        if line.starts_with("Frame ") {
            packets.push(String::new());
        }
        packets.last_mut().expect("a packet").push_str(line);
    }
    packets
}

#[test]
fn every_packet_opens_as_dump_prints_it() {
    let mut packets = 0;
    for path in captures::own() {
        let (opened, printed) = (opened(&path, Some(tempfile::tempfile().expect("a file"))), printed(&path));
        assert_eq!(opened.len(), printed.len(), "{}", path.display());
        for (at, (opened, printed)) in opened.iter().zip(&printed).enumerate() {
            let opened =
                opened.as_ref().unwrap_or_else(|| panic!("{}: {at} must be read again", path.display()));
            assert_eq!(opened, printed, "{}: {at}", path.display());
        }
        packets += opened.len();
    }
    assert!(packets > 1_000, "{packets}");
}

/// The text of `dump -V -x` for a packet that the page gets as JSON.
fn text_of(json: &str) -> String {
    let packet: Value = json.parse().expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut out = String::new();
    for line in packet["lines"].as_array().expect("lines") {
        let level = line["level"].as_u64().expect("a level") as usize;
        let parts = ["name", "value", "place"].map(|part| text(&line[part]));
        let _ = writeln!(out, "{}{}", "    ".repeat(level), parts.concat());
    }
    out.push('\n');
    let (digits, marks) = (text(&packet["bytes"]), text(&packet["marks"]));
    let cells: Vec<&str> = (0..digits.len() / 2).map(|at| &digits[2 * at..2 * at + 2]).collect();
    assert_eq!(cells.len(), marks.len(), "a mark for each byte");
    for (at, row) in cells.chunks(16).enumerate() {
        let byte = |cell: &&str| u8::from_str_radix(cell, 16).ok();
        let character =
            |cell| byte(cell).map_or('*', |b| if matches!(b, b' '..=b'~') { b.into() } else { '.' });
        let letters: String = row.iter().map(character).collect();
        let _ = writeln!(out, "{:04x}  {:48}  {letters}", 16 * at, row.join(" "));
        let below: String = marks[16 * at..][..row.len()]
            .chars()
            .map(|mark| if mark == ' ' { "   " } else { "^^ " })
            .collect();
        if !below.trim().is_empty() {
            let _ = writeln!(out, "      {}", below.trim_end());
        }
    }
    match packet["missing"].as_u64() {
        Some(0) | None => {}
        Some(missing) => _ = writeln!(out, "[{missing} more bytes were not captured]"),
    }
    out + "\n"
}

/// The same text without what the page leaves out of it: the bytes of the datagram that completes a joined message.
fn without_parts(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let joined = lines.iter().position(|line| line.starts_with("[Joined message: "));
    let empty = lines.iter().position(|line| *line == "\n").expect("bytes below the tree");
    let kept = joined.map_or(empty + 1..empty + 1, |joined| empty + 1..joined + 1);
    lines.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, line)| *line).collect()
}

#[test]
fn the_page_gets_the_tree_and_the_bytes_that_dump_prints() {
    let mut packets = 0;
    for path in captures::own() {
        // The page has no file for the frames of compressed captures.
        let index = Index::new(usize::MAX).with_room_for_frames(64 << 20);
        let index = Arc::new(Mutex::new(index));
        read(&path, &mut Indexer::new(index.clone()));
        let index = index.lock().expect("nobody panics");
        let bytes = fs::read(&path).expect("a capture");
        let mut read = |_: usize, at: u64, buffer: &mut [u8]| {
            let at = at as usize;
            buffer.copy_from_slice(&bytes[at..at + buffer.len()]);
            Ok(())
        };
        let printed = printed(&path);
        assert_eq!(index.rows().len(), printed.len(), "{}", path.display());
        let none = StandIns::default();
        let listed: Value = index.listed(0..usize::MAX, &none, &mut read).parse().expect("JSON");
        for (at, printed) in printed.iter().enumerate() {
            let json = index.picked(at, &none, &mut read).expect("it opens");
            assert_eq!(text_of(&json), without_parts(printed), "{}: {at}", path.display());
            let (packet, row): (Value, &Value) = (json.parse().expect("JSON"), &listed[at]);
            assert_eq!(packet["frame"], row["frame"], "{}: {at}", path.display());
            assert_eq!(
                packet["findings"].as_array().map(Vec::len),
                row["findings"].as_u64().map(|n| n as usize)
            );
            assert_eq!(packet["protocol"].is_null(), row["protocol"].is_null());
        }
        packets += printed.len();
    }
    assert!(packets > 1_000, "{packets}");
}

#[test]
fn an_index_begins_after_other_packets_and_ends_where_its_memory_does() {
    let rows = |path: &str, index: Index| {
        let index = Arc::new(Mutex::new(index));
        read(Path::new(path), &mut Indexer::new(index.clone()));
        let index = index.lock().expect("nobody panics");
        (index.rows().iter().map(|row| row.frame).collect::<Vec<_>>(), index.left_out)
    };
    let demo = "captures/demo.pcapng";
    let (all, _) = rows(demo, Index::new(usize::MAX));
    assert_eq!(rows(demo, Index::new(3).after(5)), (all[5..8].to_vec(), all.len() as u64 - 8));
    assert_eq!(rows(demo, Index::new(3).after(1 << 40)), (vec![], 0));
    let folder = tempfile::tempdir().expect("a folder");
    let packed = folder.path().join("large.pcap.gz");
    let [(_, gzip), ..] = packed::all(&datagrams(3_000, 1_200));
    fs::write(&packed, gzip).expect("room");
    let packed = packed.to_str().expect("a name");
    let (kept, left_out) = rows(packed, Index::new(usize::MAX).with_room_for_frames(1 << 20));
    assert!(kept.len() > 500 && kept.len() as u64 + left_out == 3_000, "{} {left_out}", kept.len());
    let next = Index::new(usize::MAX).after(kept.len() as u64).with_room_for_frames(1 << 20);
    assert_eq!(rows(packed, next).0.first(), Some(&(kept.len() as u64 + 1)));
}

#[test]
fn packets_of_a_compressed_capture_need_a_spool() {
    let compressed = Path::new("captures/containers/base.pcap.gz");
    let without = opened(compressed, None);
    assert!(!without.is_empty() && without.iter().all(Option::is_none));
    let with = opened(compressed, Some(tempfile::tempfile().expect("a file")));
    let plain: Vec<_> = printed(compressed).into_iter().map(Some).collect();
    assert_eq!(with, plain);
}

#[test]
fn packets_without_room_are_counted() {
    let index = Arc::new(Mutex::new(Index::new(3)));
    let demo = Path::new("captures/demo.pcapng");
    read(demo, &mut Indexer::new(index.clone()));
    let index = index.lock().expect("nobody panics");
    assert_eq!((index.rows().len(), index.left_out), (3, printed(demo).len() as u64 - 3));
    assert!(index.size() >= 3 * 64);
}
