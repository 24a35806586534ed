//! Selects the mutants to test, and saves those that fail.
//!
//! `QDISSECT_SEED` is the number of the first mutant, `QDISSECT_CASES` how many there are, `QDISSECT_CAPTURES` names further
//! captures: files and folders, separated as in `PATH`. `QDISSECT_SEED=N QDISSECT_CASES=1` repeats a failed one.

use super::mutate::{Mutant, Original};
use crate::bench::random::Random;
use crate::kit::captures::{further, own};
use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::LazyLock;

/// All captures.
pub static ORIGINALS: LazyLock<Vec<Original>> =
    LazyLock::new(|| [own(), further()].concat().iter().map(|path| Original::open(path)).collect());

/// A number from an environment variable.
pub fn number(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value:?} is no number: give one, or leave it out")))
}

/// The numbers of the mutants to test: `usual` many, unless the environment sets another number.
pub fn numbers(usual: u64) -> impl Iterator<Item = u64> {
    let first = number("QDISSECT_SEED").unwrap_or(1);
    (first..).take(number("QDISSECT_CASES").unwrap_or(usual) as usize)
}

/// The original for a number, and the random generator for its mutation. Neighbouring numbers have different captures.
pub fn original(number: u64) -> (&'static Original, Random) {
    let all = &*ORIGINALS;
    // A prime, so that even a few numbers include captures of every directory.
    (&all[(number.wrapping_mul(7919) % all.len() as u64) as usize], Random::new(number))
}

/// Runs a test for mutants. A mutant that fails is written to a file, and the command to repeat it is printed.
#[track_caller]
pub fn for_each_mutant(usual: u64, property: impl Fn(&Original, &Mutant, &mut Random)) {
    let failed: Vec<String> = numbers(usual)
        .filter_map(|number| {
            let (original, mut random) = original(number);
            let mutant = original.mutant(&mut random);
            let result = panic::catch_unwind(AssertUnwindSafe(|| property(original, &mutant, &mut random)));
            result.is_err().then(|| save_mutant(number, &mutant))
        })
        .collect();
    assert!(failed.is_empty(), "{} failed, for the reasons above:\n{}", failed.len(), failed.join("\n"));
}

/// Saves a mutant; returns a message with its path and original.
pub fn save_mutant(number: u64, mutant: &Mutant) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutant-{number}"));
    let written = fs::write(&path, &mutant.bytes);
    let place =
        written.map_or_else(|e| format!("which cannot be written: {e}"), |()| path.display().to_string());
    format!("QDISSECT_SEED={number} QDISSECT_CASES=1: {} with {} changed, {place}", mutant.name, mutant.what)
}
