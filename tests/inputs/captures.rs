//! Captures in folders.

use std::fs;
use std::path::{Path, PathBuf};

/// Captures in a directory and those below it, or the file itself, in the order of their names.
pub fn captures(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| captures(entry, found));
    } else if at.to_string_lossy().contains(".pcap") {
        found.push(at.to_owned());
    }
}
