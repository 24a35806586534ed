//! The index opens every packet as `dump -V -x` prints it.

use crate::kit::captures;
use qdissect::browse::{IN_SPOOL, Index, Indexer, Unopened};
use qdissect::capture::Source;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::report::{AnyListener, Detail, Details, Exchange, Finding, Report, Wants};
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
