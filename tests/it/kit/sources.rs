//! The sources of the project, for tests that read them.

use std::fs;
use std::path::PathBuf;
use walkdir::{DirEntry, WalkDir};

/// The Rust files below a directory of the project, each with its text.
pub fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap());
    let paths = entries.map(DirEntry::into_path).filter(|path| path.extension().is_some_and(|it| it == "rs"));
    paths.map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}
