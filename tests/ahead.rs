//! Reading ahead on a thread of its own changes nothing: not a byte of any output, nor where an error is met.
#![cfg(feature = "cli")]
#![allow(clippy::panic)] // tests fail that way

#[path = "inputs/said.rs"]
mod said;

use said::{How, said};
use std::fs;
use std::path::{Path, PathBuf};

/// Captures below a directory.
fn captures(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(captures(&path));
        } else if path.extension().is_some_and(|e| e == "pcap" || e == "pcapng") {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn same(inputs: &[Vec<u8>], name: &str, steps: &[usize]) {
    let expected = said(inputs, How::PLAIN);
    for &step in steps {
        let ahead = said(inputs, How { ahead: true, step, ..How::PLAIN });
        for (ahead, expected) in ahead.iter().zip(&expected) {
            let first = ahead.lines().zip(expected.lines()).find(|(a, b)| a != b);
            assert!(ahead == expected, "{name}, {step} bytes at a time: {first:#?}");
        }
    }
}

#[test]
fn every_capture_says_the_same() {
    let all = captures(Path::new("captures"));
    assert!(all.len() > 50, "{}", all.len());
    for path in &all {
        same(&[fs::read(path).unwrap()], &path.display().to_string(), &[usize::MAX, 1_000]);
    }
}

#[test]
fn many_buffers_and_files_that_go_on_say_the_same() {
    let demo = fs::read("captures/demo.pcapng").unwrap();
    for step in [1, 7, 64, 333] {
        same(std::slice::from_ref(&demo), "demo", &[step]);
    }
    let all: Vec<_> = captures(Path::new("captures")).iter().map(|path| fs::read(path).unwrap()).collect();
    same(&all, "all captures in one run", &[300, 4_096, usize::MAX]);
}

#[test]
fn a_capture_that_is_cut_or_damaged_ends_in_the_same_place() {
    for name in ["captures/demo.pcapng", "captures/sqp/fake_badutf8.pcap"] {
        let whole = fs::read(name).unwrap();
        for cut in (30..whole.len()).step_by(97) {
            same(&[whole[..cut].to_vec()], &format!("{name} cut at {cut}"), &[500]);
            let mut damaged = whole.clone();
            damaged[cut] ^= 0xff;
            same(&[damaged], &format!("{name} damaged at {cut}"), &[500]);
        }
    }
}
