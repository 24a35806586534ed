//! Replays the inputs with which the fuzz targets found faults, and those that reach the most code.
//!
//! This runs the bodies of the targets in `tests/fuzz/` without the nightly toolchain that the targets need.

use crate::bodies;
use crate::seeds;
use bodies::BODIES;
use qdissect::protocols::Id;
use qdissect::text::escape::is_hostile;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

/// The directories of inputs that reach the most code, and of inputs that caused faults; both have a directory for every target.
const KEPT: [&str; 2] = ["corpus", "regressions"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// The files in a directory, ordered by name; none if the directory does not exist.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut files: Vec<_> = entries.map(|e| e.expect("it can be read").path()).collect();
    files.sort();
    files
}

/// Runs the body of a target with every input. Returns the inputs that failed, and the number of inputs.
fn replay(name: &str, body: &dyn Fn(&[u8])) -> (Vec<PathBuf>, usize) {
    let inputs: Vec<_> = KEPT.iter().flat_map(|kept| files(&folder().join(kept).join(name))).collect();
    let fails = |path: &&PathBuf| {
        let bytes = fs::read(path).expect("it can be read");
        panic::catch_unwind(AssertUnwindSafe(|| body(&bytes))).is_err()
    };
    (inputs.iter().filter(fails).cloned().collect(), inputs.len())
}

fn held(name: &str, (failed, all): (Vec<PathBuf>, usize)) {
    assert!(failed.is_empty(), "{name} breaks a promise: {failed:#?}");
    assert!(all > 0, "{name} has no inputs");
}

#[test]
fn no_corpus_input_fails() {
    thread::scope(|scope| {
        for (name, body) in BODIES {
            scope.spawn(move || held(name, replay(name, body)));
        }
    });
}

/// Runs the program and checks that its messages contain no escape sequences.
fn program(args: Vec<OsString>) -> u8 {
    let out = Command::new(env!("CARGO_BIN_EXE_qdissect")).args(&args[1..]).output().expect("it runs");
    let stderr = String::from_utf8(out.stderr).expect("what it says is UTF-8");
    let found = stderr.chars().find(|c| *c != '\n' && is_hostile(*c));
    assert_eq!(found, None, "{stderr:?}");
    let code = out.status.code().unwrap_or_else(|| panic!("a signal ended it: {stderr}"));
    u8::try_from(code).expect("a code is a byte")
}

#[test]
fn no_corpus_configuration_fails() {
    held("config", replay("config", &|bytes| bodies::settings::config(bytes, &program)));
}

#[test]
fn every_fuzz_target_has_a_body_and_every_corpus_a_target() {
    let known: Vec<&str> = BODIES.iter().map(|(name, _)| *name).chain(["config"]).collect();
    let stem = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut targets: Vec<_> = files(&folder().join("fuzz_targets")).iter().map(stem).collect();
    targets.sort();
    let mut sorted = known.clone();
    sorted.sort();
    assert_eq!(targets, sorted);
    for name in Id::ALL.iter().map(|id| id.info().name) {
        assert!(
            known.contains(&name),
            "{name} has no target: section 8 of docs/adding-a-protocol.md tells of it"
        );
    }
    for kept in KEPT.iter().flat_map(|kept| files(&folder().join(kept))) {
        assert!(known.contains(&&*stem(&kept)), "{kept:?} is of no target");
    }
}

/// Writes the seeds to the directory in `FUZZ_SEEDS`.
#[test]
fn every_target_has_seeds() {
    let seeds = seeds::Seeds::all();
    let without: Vec<_> =
        BODIES.iter().map(|(name, _)| *name).filter(|name| !seeds.0.contains_key(name)).collect();
    assert!(without.is_empty() && seeds.0.contains_key("config"), "{without:?}");
    if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
        seeds.write(Path::new(&folder)).expect("seeds can be written");
    }
}

#[test]
fn the_dictionary_is_up_to_date() {
    let (path, made) = (folder().join("qdissect.dict"), seeds::dictionary());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).expect("it can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "it is out of date: run UPDATE_DOCS=1 cargo test --test it robust::");
}
