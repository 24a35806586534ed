//! Finds captures in directories.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The captures whose pages are tested in a browser: hostile ones, and ones with little traffic.
pub const CLICKED: [&str; 9] = [
    "captures/demo.pcapng",
    "captures/hostile/sqp_names.pcap",
    "captures/hostile/sky_names.pcap",
    "captures/hostile/sat_names.pcap",
    "captures/hostile/gqp_names.pcap",
    "captures/hostile/clock_jumps.pcap",
    "captures/hostile/stress_pairing.pcapng",
    "captures/containers/empty_capture.pcap",
    "captures/sqp/fake_noanswer.pcap",
];

/// The captures in a directory and its subdirectories, or the file itself, ordered by name.
pub fn captures(at: &Path) -> Vec<PathBuf> {
    if !at.is_dir() {
        return if at.to_string_lossy().contains(".pcap") { vec![at.to_owned()] } else { vec![] };
    }
    let mut entries: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    entries.iter().flat_map(|entry| captures(entry)).collect()
}

/// The captures of the repository.
pub fn own() -> Vec<PathBuf> {
    let all = captures(Path::new("captures"));
    assert!(all.len() > 100, "the captures of the repository");
    all
}

/// The captures named in `QDISSECT_CAPTURES`: files and directories, separated as in `PATH`.
pub fn further() -> Vec<PathBuf> {
    let named = env::var_os("QDISSECT_CAPTURES").unwrap_or_default();
    env::split_paths(&named).flat_map(|path| captures(&path)).collect()
}
