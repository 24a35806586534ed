//! The input of the reports.

use crate::kit::play;
use qdissect::capture::Source;
use qdissect::check::Policy;
use qdissect::pipeline::{Options, Pipeline};
use qdissect::verdict::{Check, Entry, Excuse, Verdict};
use std::fs;
use std::io::Cursor;

/// The verdict on captures, given by their bytes and names.
pub fn judge(captures: &[(&[u8], &str)], complete: bool, excuse: fn(&Entry) -> Option<Excuse>) -> Verdict {
    let judge = |entry: &mut Entry, _: &str| {
        entry.excused = excuse(entry);
        Ok(())
    };
    let mut check = Check::new(Policy::default(), judge);
    let mut pipeline = Pipeline::new(Options::default(), &mut check);
    for (bytes, name) in captures {
        let mut source = Source::from_reader(name, Box::new(Cursor::new(bytes.to_vec()))).expect("a capture");
        pipeline.read(&mut source, name).expect("it can be read");
    }
    let totals = pipeline.finish(complete).expect("nothing is written yet");
    check.verdict(totals).expect("nothing is written yet")
}

pub fn bytes(path: &str) -> Vec<u8> {
    fs::read(path).expect("the capture exists")
}

/// The verdict on one capture under another name.
pub fn called(path: &str, name: &str) -> Verdict {
    judge(&[(&bytes(path), name)], true, |_| None)
}

/// A capture in which one conversation breaks `SQP-STR-002` forty times.
pub fn forty() -> Vec<u8> {
    let rule = qdissect::protocols::rules().find(|r| r.id == "SQP-STR-002").expect("the rule exists");
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for turn in 0..40 {
        for frame in play::example_frames(&rule.examples[0]) {
            let micros = frame.time / 1000 + turn * 300_000_000;
            let (seconds, rest) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
            for n in [seconds, rest, frame.bytes.len() as u32, frame.wire_len] {
                file.extend(n.to_le_bytes());
            }
            file.extend(&frame.bytes);
        }
    }
    file
}

/// Names with special characters for terminals, CI runners, parsers or spreadsheets.
pub fn hostile_names() -> Vec<String> {
    let mut names: Vec<String> = [
        "\x1b[2J",
        "::error::x",
        "##[error]x",
        "a\nb",
        "a\r\n::error::b",
        "x%0A::error::y",
        "f,title=x::y",
        "]]>",
        "<!--\"'&--></testcase>",
        "=cmd|'/C calc'",
        "\u{202e}gpj.pcap",
        "\u{85}\u{2028}::error::z",
        "\u{fffe}\u{ffff}\0",
        "[[ATTACHMENT|/etc/passwd]]",
        "[x](https://example.org) ![](https://example.org) <img src=x> www.example.org",
        "`| @all #1 **b** $x$ \\`",
        "\\|",
        " ",
        " a ",
        "-",
        "",
        "c:\\new\\x41.pcap",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push(String::from_utf8_lossy(b"\xff\xfe\x1b.pcap").into_owned());
    names.extend(["`", "|", "\\", "a", "é", "#", ":"].map(|c| c.repeat(255 / c.len())));
    names
}
