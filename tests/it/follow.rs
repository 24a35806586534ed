//! `--follow`: files that grow or are replaced, and directories that get new files.
#![cfg(unix)]

use crate::kit::live::{BASE, Ended, Running, head, qdissect, run_to_end};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use tempfile::tempdir;

/// Exit code after SIGINT.
const INTERRUPTED: Option<i32> = Some(130);

fn follow(path: &Path) -> Running {
    let mut command = qdissect();
    command.args(["dump", "--no-config", "--follow", "-T", "ndjson"]).arg(path);
    Running::new(command)
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// The frames of the reported packets, each with its file name.
fn packet_frames(ended: &Ended) -> Vec<(String, u64)> {
    let records = ended.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let packets = records.filter(|r| r["type"] == "packet");
    let name = |r: &serde_json::Value| r["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    packets.map(|r| (name(&r), r["frame"].as_u64().unwrap())).collect()
}

#[test]
fn appended_packets_are_shown_once_their_record_is_complete() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    let capture = fs::read(BASE).unwrap();
    let (four, twelve) = (head(&capture, 4).len(), head(&capture, 12).len());
    fs::write(&path, &capture[..four - 7]).unwrap();
    let mut run = follow(&path);
    run.await_line("\"frame\":3,");
    append(&path, &capture[four - 7..four]);
    run.await_line("\"frame\":4,");
    append(&path, &capture[four..twelve + 5]);
    run.await_line("\"frame\":12,");
    run.signal("INT");
    let ended = run.end();
    assert_eq!(ended.code, INTERRUPTED, "{}", ended.err);
    assert!(ended.err.contains("interrupted") && !ended.err.contains("cut short"), "{}", ended.err);
    let whole = run_to_end(qdissect().args(["dump", "-T", "ndjson", "-c", "12"]).arg(&path));
    assert_eq!(packet_frames(&ended), packet_frames(&whole));
    assert_eq!(ended.summary()["packets"], 12);
}

#[test]
fn packets_in_detail_are_shown_as_they_come() {
    let mut command = qdissect();
    command.args(["dump", "--no-config", "--follow", "-V"]).arg(BASE);
    let mut run = Running::new(command);
    run.await_line("Frame 16");
    run.signal("INT");
    assert_eq!(run.end().code, INTERRUPTED);
}

#[test]
fn a_file_that_is_replaced_is_read_to_its_end_and_then_the_new_one() {
    let folder = tempdir().unwrap();
    let (path, old) = (folder.path().join("a.pcap"), folder.path().join("a.pcap.old"));
    let capture = fs::read(BASE).unwrap();
    let half = head(&capture, 8).len();
    fs::write(&path, &capture[..half - 3]).unwrap();
    let mut run = follow(&path);
    run.await_line("\"frame\":7,");
    fs::rename(&path, &old).unwrap();
    append(&old, &capture[half - 3..half]);
    let rest = [&capture[..24], &capture[half..]].concat();
    fs::write(folder.path().join("new"), rest).unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    run.await_line("\"payload_length\":222,");
    run.signal("INT");
    let ended = run.end();
    assert_eq!((ended.code, ended.summary()["packets"].as_u64()), (INTERRUPTED, Some(16)), "{}", ended.err);
    let numbers: Vec<_> = packet_frames(&ended).into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(numbers, (1..=8).chain(1..=8).collect::<Vec<_>>());
}

#[test]
fn new_files_in_a_directory_are_read_in_order() {
    let folder = tempdir().unwrap();
    let mut run = follow(folder.path());
    let capture = fs::read(BASE).unwrap();
    let place = |name: &str| folder.path().join(name);
    let ends: Vec<_> = [4, 9, 16].into_iter().map(|n| head(&capture, n).len()).collect();
    fs::write(place("r_1.pcap"), &capture[..ends[0]]).unwrap();
    run.await_line("\"frame\":4,");
    fs::write(place("r_2.pcap"), [&capture[..24], &capture[ends[0]..ends[1]]].concat()).unwrap();
    run.await_line("\"payload_length\":13,");
    fs::write(place("notes.txt"), "no capture").unwrap();
    fs::write(place("r_3.pcap"), [&capture[..24], &capture[ends[1]..ends[2]]].concat()).unwrap();
    run.await_line("\"payload_length\":222,");
    run.signal("TERM");
    let ended = run.end();
    assert_eq!(ended.code, Some(143), "{}", ended.err);
    let files: Vec<_> = packet_frames(&ended).into_iter().map(|(name, _)| name).collect();
    let count = |name: &str| files.iter().filter(|f| *f == name).count();
    assert_eq!((count("r_1.pcap"), count("r_2.pcap"), count("r_3.pcap")), (4, 5, 7));
    // A poll at the end of the second file has its answer in the third.
    assert!(ended.out.contains("\"request_file\":"), "{}", ended.out);
}

#[test]
fn a_number_of_packets_ends_follow() {
    let ended = run_to_end(qdissect().args(["dump", "--follow", "-T", "ndjson", "-c", "5", BASE]));
    assert_eq!((ended.code, ended.summary()["packets"].as_u64()), (Some(0), Some(5)), "{}", ended.err);
    let ended = run_to_end(qdissect().args(["dump", "--follow", "-w", "x.pcapng", BASE]));
    assert_eq!(ended.code, Some(2));
}
