//! Which mutants are tried, and what is left behind of one that fails.
//!
//! `QDISSECT_SEED` is the number of the first mutant, `QDISSECT_CASES` how many there are, `QDISSECT_CAPTURES` names
//! further captures: files and folders, separated as in `PATH`. So `QDISSECT_SEED=N QDISSECT_CASES=1` tries the one again
//! that has failed.

use super::mutate::{Mutant, Original};
use crate::bench::random::Random;
use crate::kit::captures::{further, own};
use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::LazyLock;

/// Every capture that there is.
pub static ORIGINALS: LazyLock<Vec<Original>> =
    LazyLock::new(|| [own(), further()].concat().iter().map(|path| Original::open(path)).collect());

/// A number in the environment.
pub fn number(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value:?} is no number: give one, or leave it out")))
}

/// The numbers of the mutants to try: so many unless the environment says otherwise.
pub fn numbers(usual: u64) -> impl Iterator<Item = u64> {
    let first = number("QDISSECT_SEED").unwrap_or(1);
    (first..).take(number("QDISSECT_CASES").unwrap_or(usual) as usize)
}

/// The original that a number stands for, and the draws that follow: neighbouring numbers are of different captures.
pub fn original(number: u64) -> (&'static Original, Random) {
    let all = &*ORIGINALS;
    // A prime, so that a few numbers already meet captures of every folder.
    (&all[(number.wrapping_mul(7919) % all.len() as u64) as usize], Random::new(number))
}

/// Holds something for so many mutants. One that fails is written to a file, and how it is tried again is said.
#[track_caller]
pub fn each(usual: u64, law: impl Fn(&Original, &Mutant, &mut Random)) {
    let failed: Vec<String> = numbers(usual)
        .filter_map(|number| {
            let (original, mut random) = original(number);
            let mutant = original.mutant(&mut random);
            let held = panic::catch_unwind(AssertUnwindSafe(|| law(original, &mutant, &mut random)));
            held.is_err().then(|| left(number, &mutant))
        })
        .collect();
    assert!(failed.is_empty(), "{} failed, for the reasons above:\n{}", failed.len(), failed.join("\n"));
}

/// Leaves a mutant behind, and says where and of what.
pub fn left(number: u64, mutant: &Mutant) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutant-{number}"));
    let written = fs::write(&path, &mutant.bytes);
    let place =
        written.map_or_else(|e| format!("which cannot be written: {e}"), |()| path.display().to_string());
    format!("QDISSECT_SEED={number} QDISSECT_CASES=1: {} with {} changed, {place}", mutant.name, mutant.what)
}
