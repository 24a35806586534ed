//! `-w`: the recognised packets are written byte for byte, and nothing is overwritten.

use crate::kit::captures::own;
use crate::kit::run::slashes;
use pcap_parser::pcapng::OptionCode;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use qdissect::capture::Source;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::{TempDir, tempdir};

const DEMO: &str = "captures/demo.pcapng";

fn qdissect(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdissect"));
    command.args(args).env("COLUMNS", "100").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    qdissect(args).output().unwrap()
}

#[track_caller]
fn sound(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run that must end with 2 and print nothing to standard output.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The path of a file in the directory, as messages show it.
fn at(folder: &TempDir, name: &str) -> String {
    slashes(&folder.path().join(name))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The captures of the repository that can be opened.
fn captures() -> Vec<PathBuf> {
    let mut all = own();
    all.retain(|path| path.extension().is_some_and(|e| e == "pcap" || e == "pcapng"));
    all.retain(|path| Source::open(path).is_ok());
    all
}

/// Time, link type, length on the wire and bytes of a frame.
type Plain = (Option<i64>, u16, u32, Vec<u8>);

/// The frames of a capture by number, as far as it can be read.
fn frames(path: &Path) -> BTreeMap<u64, Plain> {
    let mut source = Source::open(path).unwrap();
    let mut frames = BTreeMap::new();
    while let Ok(Some(f)) = source.next() {
        frames.insert(f.number, (f.time.nanos(), f.link, f.wire_len, f.bytes.to_vec()));
    }
    frames
}

/// The packet records among the lines.
fn packets(lines: &str) -> Vec<Value> {
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["type"] == "packet").collect()
}

/// Packet records with consecutive frame numbers and without file names.
fn comparable(packets: &[Value]) -> Vec<Value> {
    let numbers: Vec<u64> = packets.iter().map(|p| p["frame"].as_u64().unwrap()).collect();
    let renumber = |frame: &mut Value| {
        let number = frame.as_u64().unwrap();
        *frame = numbers.iter().position(|n| *n == number).into();
    };
    // Packets with too little confidence to be shown also have exchange numbers.
    let mut exchanges: Vec<Value> = packets.iter().filter_map(|p| p.get("exchange").cloned()).collect();
    exchanges.sort_by_key(Value::as_u64);
    exchanges.dedup();
    let renumbered = packets.iter().cloned().map(|mut packet| {
        if let Some(exchange) = packet.get_mut("exchange") {
            *exchange = exchanges.iter().position(|other| other == exchange).into();
        }
        packet["file"] = Value::Null;
        for key in ["frame", "request_frame", "duplicate_of"] {
            packet.get_mut(key).map(renumber);
        }
        let parts = packet.pointer_mut("/fields/split/parts").and_then(Value::as_array_mut);
        parts.into_iter().flatten().for_each(renumber);
        for finding in packet["findings"].as_array_mut().unwrap() {
            finding.pointer_mut("/caused_by/frame").map(renumber);
        }
        packet
    });
    renumbered.collect()
}

/// Comments of the packets of a capture.
fn comments(path: &str) -> Vec<Vec<String>> {
    let mut reader = PcapNGReader::new(1 << 20, File::open(path).unwrap()).unwrap();
    let mut all = vec![];
    loop {
        match reader.next() {
            Ok((size, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    let own = packet.options.iter().filter(|o| o.code == OptionCode::Comment);
                    all.push(own.map(|o| o.as_str().unwrap().to_owned()).collect());
                }
                reader.consume(size);
            }
            Err(PcapError::Eof) => return all,
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn recognised_packets_are_written_as_they_were_captured() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let mut compared = 0;
    for capture in captures() {
        let name = capture.to_str().unwrap();
        let records = run(&["dump", "-Tndjson", "-w", &file, name]);
        let before = packets(str::from_utf8(&records.stdout).unwrap());
        let original = frames(&capture);
        // All fragments of a reassembled datagram are written.
        let own = |p: &Value| match p.get("fragments") {
            Some(frames) => frames.as_array().unwrap().clone(),
            None => vec![p["frame"].clone()],
        };
        let wanted = before.iter().flat_map(own).map(|frame| &original[&frame.as_u64().unwrap()]);
        let wanted: Vec<_> = wanted.collect();
        let written = frames(file.as_ref());
        assert_eq!(written.len(), wanted.len(), "{name}");
        for (new, old) in written.values().zip(wanted) {
            let time = if old.0.is_none() && new.0 == Some(0) { None } else { new.0 };
            assert_eq!((time, new.1, new.2, &new.3), (old.0, old.1, old.2, &old.3), "{name}");
        }
        let after = packets(&sound(&["dump", "-Tndjson", &file]));
        // Whether a conversation may be older than the capture depends on the capture's first frame.
        let first = original.keys().next();
        if before.first().and_then(|p| p["frame"].as_u64()).as_ref() == first {
            assert_eq!(comparable(&after), comparable(&before), "{name}");
            compared += after.len();
        }
        fs::remove_file(&file).unwrap();
    }
    assert!(compared > 1000, "{compared}");
    assert_eq!(names(folder.path()), [""; 0], "nothing is left aside");
}

#[test]
fn the_saved_packets_are_those_of_the_result() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let choices = [
        &["--protocol", "sqp"][..],
        &["--protocol", "gqp", "-c", "60"],
        &["-d", "udp.port==7777,sqp", "--protocol", "sqp"],
        &["--min-confidence", "high"],
        &["--all"],
        &["--all", "-c", "9"],
        &["--all", "-c", "1"],
    ];
    let original = frames(DEMO.as_ref());
    for choice in choices {
        let args = [&["dump", "-Tndjson", "-w", &file, DEMO][..], choice].concat();
        let wanted: Vec<_> =
            packets(&sound(&args)).iter().map(|p| original[&p["frame"].as_u64().unwrap()].clone()).collect();
        assert_eq!(frames(file.as_ref()).into_values().collect::<Vec<_>>(), wanted, "{choice:?}");
    }
    // The output format makes no difference.
    sound(&["dump", "-w", &file, DEMO]);
    let dumped = fs::read(&file).unwrap();
    for args in [&["summary"][..], &["exchanges"], &["check", "--fail-on=never"], &["dump", "-q", "-Tjson"]] {
        sound(&[args, &["-w", &file, DEMO]].concat());
        assert_eq!(fs::read(&file).unwrap(), dumped, "{args:?}");
    }
    assert_eq!(names(folder.path()), ["out.pcapng"]);
}

#[test]
fn interfaces_of_several_captures_are_kept_apart() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let inputs = ["sll.pcap", "ng_two_sections.pcapng", "raw101.pcap", "ng_two_ifaces.pcapng", "vlan.pcap"];
    let inputs = inputs.map(|name| format!("captures/containers/{name}"));
    let args = [&["dump", "--all", "-w", &file], &inputs.each_ref().map(String::as_str)[..]].concat();
    sound(&args);
    let read = |path: &Path| {
        let mut source = Source::open(path).unwrap();
        let mut frames = vec![];
        while let Some(f) = source.next().unwrap() {
            frames.push((f.interface, f.link, f.time, f.bytes.to_vec()));
        }
        frames
    };
    let (mut expected, mut above) = (vec![], 0);
    for input in &inputs {
        let frames = read(input.as_ref());
        let interfaces = frames.iter().map(|f| f.0 + 1).max().unwrap();
        expected.extend(frames.into_iter().map(|(i, link, time, bytes)| (above + i, link, time, bytes)));
        above += interfaces;
    }
    assert_eq!(above, 7);
    assert!(read(file.as_ref()) == expected);
}

#[test]
fn findings_are_comments_on_their_packets() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let lines = sound(&["dump", "-Tndjson", "--annotate", "-w", &file, DEMO]);
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let comments = comments(&file);
    let packets = packets(&lines);
    assert_eq!(comments.len(), packets.len());
    for (packet, own) in packets.iter().zip(&comments) {
        let exchange = records
            .iter()
            .find(|r| r["type"] == "exchange" && r["request_frame"] == packet["frame"])
            .map_or(&[][..], |r| r["findings"].as_array().unwrap());
        let findings: Vec<_> = packet["findings"].as_array().unwrap().iter().chain(exchange).collect();
        assert_eq!(own.len(), findings.len(), "{packet} {own:?}");
        for (finding, comment) in findings.iter().zip(own) {
            let text = |key: &str| finding[key].as_str().unwrap_or_default();
            assert!(comment.starts_with(&format!("{} {} ", text("severity"), text("rule"))), "{comment}");
            assert!(comment.contains(text("message")) && comment.contains(text("field")), "{comment}");
        }
    }
    let all = comments.concat();
    let expected = "error SQP-STR-002 server: string is not valid UTF-8: 0xe9, expected UTF-8 (server_info.server_name, payload bytes 23..24)";
    assert!(
        all.iter().any(|c| c == expected)
            && all.iter().any(|c| c == "warning SQP-TXN-009 server: no answer in time")
    );
    sound(&["dump", "-w", &file, DEMO]);
    assert!(self::comments(&file).concat().is_empty(), "they are there only when asked for");
}

#[test]
fn a_symptom_says_what_caused_it() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    sound(&["check", "--fail-on=never", "--annotate", "-w", &file, "captures/gqp/fragments.pcap"]);
    let own = "warning GQP-TXN-008 server: no answer in time; caused by GQP-FRM-001";
    assert!(comments(&file).concat().iter().any(|c| c == own));
    sound(&["check", "--fail-on=never", "--annotate", "-w", &file, "captures/gqp/bad_requests.pcapng"]);
    let other = "; caused by GQP-CHR-001 in frame 8 of the original";
    assert!(comments(&file).concat().iter().any(|c| c.ends_with(other)));
}

#[test]
fn findings_that_are_in_no_comment_are_counted() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let capture = "captures/hostile/sqp_lengths.pcap";
    let output = run(&["dump", "-Tndjson", "--annotate", "-w", &file, capture]);
    assert_eq!(output.status.code(), Some(0));
    let packets = packets(str::from_utf8(&output.stdout).unwrap());
    let more: u64 = packets.iter().filter_map(|p| p["more_findings"].as_u64()).sum();
    assert!(more > 0);
    let expected = format!("warning: Comments leave out {more} findings for want of room.\n");
    assert_eq!(str::from_utf8(&output.stderr), Ok(expected.as_str()));
}

#[test]
fn an_input_that_cannot_be_read_twice_is_copied() {
    let folder = tempdir().unwrap();
    let (file, other) = (at(&folder, "out.pcapng"), at(&folder, "other.pcapng"));
    let expected = sound(&["dump", "-w", &file, DEMO]);
    let mut command = qdissect(&["dump", "-w", &other, "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(DEMO).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), str::from_utf8(&output.stdout)), (Some(0), Ok(expected.as_str())));
    assert_eq!(fs::read(&other).unwrap(), fs::read(&file).unwrap());
    assert_eq!(names(folder.path()), ["other.pcapng", "out.pcapng"], "the copy is gone");
}

#[test]
fn the_capture_may_go_to_standard_output_without_a_result() {
    let folder = tempdir().unwrap();
    let (file, result) = (at(&folder, "out.pcapng"), at(&folder, "result.txt"));
    let expected = sound(&["dump", "-w", &file, DEMO]);
    let capture = fs::read(&file).unwrap();
    assert_eq!(run(&["dump", "--output", &result, "-w", "-", DEMO]).stdout, capture);
    assert_eq!(fs::read_to_string(&result).unwrap(), expected);
    for command in ["dump", "summary", "exchanges"] {
        assert_eq!(run(&[command, "-q", "-w", "-", DEMO]).stdout, capture, "{command}");
    }
    let output = run(&["check", "-q", "-w", "-", DEMO]);
    assert_eq!((output.status.code(), output.stdout), (Some(1), capture));
    assert!(refused(&["dump", "-w", "-", DEMO]).contains("name a file for the result with --output"));
}

#[test]
fn no_input_or_output_is_overwritten() {
    let folder = tempdir().unwrap();
    let (input, other) = (at(&folder, "in.pcapng"), at(&folder, "other.pcapng"));
    fs::copy(DEMO, &input).unwrap();
    let around =
        format!("{}/../{}/in.pcapng", folder.path().display(), folder.path().file_name().unwrap().display());
    for name in [&input, &around] {
        let message = refused(&["dump", "-w", name, DEMO, &input]);
        assert_eq!(message, format!("error: -w would overwrite the input \"{input}\": name another file.\n"));
    }
    let message = refused(&["dump", "-w", &other, "--output", &other, DEMO]);
    assert_eq!(
        message,
        format!(
            "error: \"{other}\" is to hold two things, that of -w and that of --output: name two files.\n"
        )
    );
    let message = refused(&["check", "-w", &other, "--report", &format!("json={other}"), DEMO]);
    assert!(message.contains("that of -w and that of --report"), "{message}");
    let message = refused(&["check", "-w", &other, "--baseline", &other, "--update-baseline", DEMO]);
    assert!(message.contains("that of -w and that of --baseline"), "{message}");
    assert_eq!(fs::read(&input).unwrap(), fs::read(DEMO).unwrap());
    assert_eq!(names(folder.path()), ["in.pcapng"]);
    assert!(refused(&["dump", "--annotate", DEMO]).contains("--write <FILE>"));
}

#[test]
fn a_capture_that_cannot_be_written_is_an_error() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let message = refused(&["dump", "-w", &at(&folder, "nowhere/out.pcapng"), DEMO]);
    assert!(message.starts_with("error: The capture cannot be written to \""), "{message}");
    let output = run(&["dump", "-q", "-w", &at(&folder, "folder"), DEMO]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(names(folder.path()), ["folder"]);
    // If nothing could be read, the old file is kept.
    let file = at(&folder, "out.pcapng");
    fs::write(&file, "of yesterday").unwrap();
    refused(&["dump", "-w", &file, "missing.pcap", "Cargo.toml"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "of yesterday");
}

#[test]
fn packets_before_the_truncation_are_written() {
    let folder = tempdir().unwrap();
    let file = at(&folder, "out.pcapng");
    let cut = "captures/containers/cut_mid_record.pcap";
    let output = run(&["dump", "--all", "-w", &file, cut]);
    assert_eq!(output.status.code(), Some(2));
    let expected: Vec<_> = frames(cut.as_ref()).into_values().collect();
    assert!(frames(file.as_ref()).into_values().collect::<Vec<_>>() == expected && expected.len() > 9);
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_capture() {
    let folder = tempdir().unwrap();
    let (file, whole) = (at(&folder, "out.pcapng"), at(&folder, "whole.pcapng"));
    sound(&["dump", "-w", &whole, DEMO]);
    let mut child = qdissect(&["dump", "-l", "-w", &file, DEMO]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read(file).unwrap(), fs::read(whole).unwrap());
}

#[cfg(unix)]
mod unix;
