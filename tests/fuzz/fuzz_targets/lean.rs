//! With a protocol's name in `FUZZ_PROTOCOL`, only its decoder is fuzzed.
#![no_main]

use qdissect::protocols::Id;
use std::sync::LazyLock;

static ONLY: LazyLock<Option<u8>> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_PROTOCOL").ok()?;
    let id = Id::ALL.iter().find(|id| id.info().name == name).expect("FUZZ_PROTOCOL names a protocol");
    Some(*id as u8)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| match (*ONLY, bytes) {
    (Some(id), [_, rest @ ..]) => qdissect_fuzz::bodies::run("lean", &[&[id], rest].concat()),
    _ => qdissect_fuzz::bodies::run("lean", bytes),
});
