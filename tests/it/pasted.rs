//! Pasted bytes: output of tools, typed text, and the output of the formatters in the test kit.

mod forms;
mod sources;
mod table;

use crate::kit::format::FORMATTERS;
use proptest::prelude::*;
use qdissect::capture::Source;
use qdissect::net::parse;
use qdissect::pasted::{
    self, AssumedEndpoints, Form, MAX_COMPLAINTS, MAX_PAYLOAD, MAX_PIECES, Mark, frames, read,
};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Bytes as hex.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The payload of every datagram of a text as hex, with `>` before those to port 7777 and `<` before others.
fn datagrams(text: &str) -> Vec<String> {
    let pasted = read(text, None);
    let raw_frames = frames(&pasted.pieces, AssumedEndpoints::default());
    let datagram = |raw_frame: &qdissect::net::OwnedFrame| match parse(&raw_frame.frame(1)) {
        Ok(d) => format!("{}{}", if d.dst.port() == 7777 { '>' } else { '<' }, digits(d.payload)),
        Err(reason) => reason.name().to_owned(),
    };
    raw_frames.iter().map(datagram).collect()
}

/// Line and column of every error.
fn places(text: &str) -> Vec<(usize, usize)> {
    read(text, None).complaints.iter().map(|c| (c.line, c.column)).collect()
}

#[test]
fn pasted_texts_are_read() {
    assert!(table::LINES.len() >= 40);
    for (text, expected) in table::LINES {
        assert_eq!(datagrams(text), *expected, "{text:?}: {:?}", read(text, None));
        assert_eq!(places(text), [], "{text:?}");
    }
}

#[test]
fn invalid_places_are_reported_and_the_rest_is_read() {
    for (text, expected, complaints) in table::DAMAGED {
        assert_eq!(datagrams(text), *expected, "{text:?}: {:?}", read(text, None));
        assert_eq!(places(text), *complaints, "{text:?}");
        for complaint in read(text, None).complaints {
            assert!(complaint.what.ends_with('.') && complaint.what.len() > 20, "{complaint:?}");
        }
    }
}

#[test]
fn texts_of_many_sources_are_read() {
    assert!(sources::READ.len() >= 100);
    for (text, expected) in sources::READ {
        let pasted = read(text, None);
        let bytes: Vec<_> = pasted.pieces.iter().map(|piece| digits(&piece.bytes)).collect();
        assert_eq!(bytes, *expected, "{text}");
        assert_eq!(pasted.complaints, [], "{text}");
        let dos = text.replace('\n', "\r\n");
        assert_eq!(read(&dos, None).pieces, pasted.pieces, "{text} with CRLF");
    }
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    for (text, place, words) in sources::TOLD {
        let complaints = read(text, None).complaints;
        let said = complaints.iter().any(|c| (c.line, c.column) == *place && c.what.contains(words));
        assert!(said, "{text}: {complaints:?}");
    }
}

/// Source and destination of every datagram; words where they are made up.
fn ends(text: &str) -> Vec<String> {
    let pieces = read(text, None).pieces;
    let raw_frames = frames(&pieces, AssumedEndpoints::default());
    let stand_ins = pasted::stand_ins(&pieces, AssumedEndpoints::default());
    let ends = |(number, frame): (u64, &qdissect::net::OwnedFrame)| {
        let frame = frame.frame(number);
        let d = parse(&frame).unwrap();
        stand_ins.ends(&d).unwrap_or_else(|| format!("{} → {}", d.src, d.dst))
    };
    (1..).zip(&raw_frames).map(ends).collect()
}

#[test]
fn endpoints_of_the_text_are_kept_and_others_are_words() {
    let (to, from) = ("client → 192.0.2.10:27015", "192.0.2.10:27015 → client");
    for (text, expected) in [
        ("> d5f60001\n< d5f60001\n", ["client → server", "server → client"]),
        ("192.0.2.10:27015 UDP--> d5f60001\n192.0.2.10:27015 <--UDP d5f60001\n", [to, from]),
        ("-> 192.0.2.10:27015: d5f60001\n<- 192.0.2.10:27015: d5f60001\n", [to, from]),
        ("TX 192.0.2.10:27015 d5f60001\nRX 192.0.2.10:27015 d5f60001\n", [to, from]),
        ("sent to 192.0.2.10:27015: d5f60001\nreceived from 192.0.2.10:27015: d5f60001\n", [to, from]),
        ("s.sendto(b'\\xd5\\xf6', ('192.0.2.10', 27015))\n(b'\\xd5', ('192.0.2.10', 27015))\n", [to, from]),
        (
            "TO 192.0.2.10:27015 len 4\n    0: d5f60001\nFROM 192.0.2.10:27015 len 5\n    0: ffffffff 49\n",
            [to, from],
        ),
        (
            "192.0.2.1:9 -> 192.0.2.2:10 d5f60001\n192.0.2.1:9 <- 192.0.2.2:10 d5f60001\n",
            ["192.0.2.1:9 → 192.0.2.2:10", "192.0.2.2:10 → 192.0.2.1:9"],
        ),
    ] {
        assert_eq!(ends(text), expected, "{text}");
    }
    let gamedig = fs::read_to_string("tests/data/pasted/gamedig.txt").unwrap();
    assert_eq!(ends(&gamedig), ["client → 192.0.2.40:7777", "192.0.2.40:7777 → client"]);
    let raw_frames = frames(&read(&gamedig, None).pieces, AssumedEndpoints::default());
    assert_eq!(parse(&raw_frames[0].frame(1)).unwrap().src.port(), 54321, "gamedig names its own port");
}

#[test]
fn output_of_tools_is_read() {
    let folder = Path::new("tests/data/pasted");
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let known: Vec<&str> = table::FILES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, known, "every file is in the table, in order");
    for (name, expected, complaints) in table::FILES {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(datagrams(&text), *expected, "{name}");
        assert_eq!(places(&text), *complaints, "{name}");
        let dos = text.replace('\n', "\r\n");
        assert_eq!(datagrams(&dos), *expected, "{name} with CRLF");
    }
}

#[test]
fn a_dump_of_tcpdump_keeps_its_times_and_ends() {
    let text = fs::read_to_string("tests/data/pasted/tcpdump_link.txt").unwrap();
    let raw_frames = frames(&read(&text, None).pieces, AssumedEndpoints::default());
    let frame = raw_frames[1].frame(2);
    let d = parse(&frame).unwrap();
    assert_eq!(d.src.to_string(), "192.0.2.10:7777");
    assert_eq!(d.time.nanos(), Some(1_795_170_720_616_390_000));
    assert_eq!(d.checksum_holds(), Some(true));
}

#[test]
fn a_form_can_be_forced() {
    let bytes = |text: &str, form| {
        let pasted = read(text, Some(form));
        (pasted.pieces.iter().map(|p| digits(&p.bytes)).collect::<Vec<_>>(), pasted.complaints.len())
    };
    let one = |hex: &str| (vec![hex.to_owned()], 0);
    assert_eq!(bytes("00000000 00", Form::Hex), one("0000000000"));
    assert_eq!(bytes("AAAA", Form::Base64), one("000000"));
    assert_eq!(bytes("0010  d5 f6", Form::Dump).0, ["d5f6"]);
    assert_eq!(bytes("not hex", Form::Hex), (vec![], 1));
    assert_eq!(bytes("d5f6", Form::Dump), (vec![], 1));
    assert_eq!(bytes("[213, 246]", Form::Array), one("d5f6"));
}

#[test]
fn limits_are_enforced_and_reported() {
    let long = "d5".repeat(MAX_PAYLOAD + 1);
    let pasted = read(&long, None);
    assert_eq!((pasted.pieces[0].bytes.len(), pasted.complaints.len()), (MAX_PAYLOAD, 1));
    let many = "d5 f6\n\n".repeat(MAX_PIECES + 3);
    let pasted = read(&many, None);
    assert_eq!((pasted.pieces.len(), pasted.complaints.len()), (MAX_PIECES, 1));
    let bad = "d5f\n\n".repeat(MAX_COMPLAINTS + 7);
    let pasted = read(&bad, None);
    assert_eq!((pasted.complaints.len(), pasted.more_complaints), (MAX_COMPLAINTS, 7));
    let text = "é".repeat(pasted::MAX_TEXT);
    assert_eq!(read(&text, None).complaints.len(), 1);
}

/// In a line of sixteen times the length, each word may take twice the time, but not sixteen times.
#[test]
fn the_time_for_a_long_line_grows_with_its_length() {
    let took = |head: &str, word: &str, length: usize| {
        let text = format!("{head}{}", word.repeat(length / word.len()));
        let started = Instant::now();
        assert!(!read(&text, None).pieces.is_empty(), "{word}");
        started.elapsed()
    };
    for (head, word) in [("0000: ", "00 "), ("0000  ", "00 "), ("", "b\"\\x01\",")] {
        // Other programs may affect a measurement.
        let linear = (0..5).any(|_| took(head, word, 1 << 17) < took(head, word, 1 << 13) * 32);
        assert!(linear, "{word}");
    }
}

#[test]
fn every_datagram_of_the_captures_comes_back_from_every_formatter() {
    let mut count = 0;
    for folder in ["sqp", "satisfactory", "skycoop", "gqp", "a2s", "quake3", "raknet"] {
        for entry in fs::read_dir(Path::new("captures").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(mut source) = Source::open(&path) else { continue };
            while let Ok(Some(frame)) = source.next() {
                let Ok(d) = parse(&frame) else { continue };
                if d.payload.is_empty() {
                    continue;
                }
                for (name, format) in FORMATTERS {
                    let text = format(d.payload);
                    let pasted = read(&text, None);
                    let read: Vec<_> = pasted.pieces.iter().map(|p| p.bytes.as_slice()).collect();
                    assert_eq!(read, [d.payload], "{name} of {} in {path:?}:\n{text}", d.frame);
                    assert_eq!(pasted.complaints, [], "{name} of {} in {path:?}", d.frame);
                }
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

/// Text of fragments of pasted text, in any order.
fn anything() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "0000",
        "00000000",
        "0x0010:",
        ":",
        "  ",
        " ",
        "\t",
        "\n",
        "\n\n",
        "d5",
        "f6",
        "00",
        "0",
        "*",
        "|..|",
        ">",
        "<",
        "->",
        "[",
        "]",
        "{",
        "}",
        ",",
        "0x",
        "\\x",
        "\\",
        "'",
        "\"",
        "b'",
        "<Buffer ",
        "...",
        "AAAA",
        "=",
        "é",
        "\u{1b}",
        "10:32:02",
        "2026-11-20 ",
        "Buffer length: 9 bytes\n",
        "server",
        "/*",
        "*/",
        "(",
        ")",
        "192.0.2.1:7777",
        "\r\n",
        "Follow: udp\n",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_come_back_from_every_formatter(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        for (name, format) in FORMATTERS {
            let text = format(&bytes);
            let pasted = read(&text, None);
            prop_assert_eq!(pasted.pieces.len(), 1, "{}:\n{}", name, &text);
            prop_assert_eq!(&pasted.pieces[0].bytes, &bytes, "{}:\n{}", name, &text);
            prop_assert!(pasted.complaints.is_empty(), "{}:\n{}\n{:?}", name, &text, pasted.complaints);
        }
    }

    #[test]
    fn marked_datagrams_come_back_in_order(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..8)) {
        let text: String = all.iter().enumerate().map(|(i, b)| format!("{} {}\n", [">", "<"][i % 2], digits(b))).collect();
        let pasted = read(&text, None);
        let read: Vec<_> = pasted.pieces.iter().map(|p| p.bytes.clone()).collect();
        prop_assert_eq!(read, all);
        prop_assert_eq!(pasted.pieces[0].metadata.mark, Some(Mark::ToServer));
    }

    #[test]
    fn no_text_is_too_much(text in prop_oneof![anything(), any::<String>()]) {
        let lines = text.split('\n').count();
        for form in [None, Some(Form::Hex), Some(Form::Dump), Some(Form::Array), Some(Form::String), Some(Form::Base64)] {
            let pasted = read(&text, form);
            let frames = frames(&pasted.pieces, AssumedEndpoints::default());
            prop_assert_eq!(frames.len(), pasted.pieces.len());
            for complaint in &pasted.complaints {
                prop_assert!((1..=lines).contains(&complaint.line), "{:?}", complaint);
            }
            for piece in &pasted.pieces {
                prop_assert!(!piece.bytes.is_empty(), "{:?}", piece);
            }
        }
    }
}
