#![no_main]

// The command line is not part of the library.
#[path = "../../../src/cli/mod.rs"]
mod cli;

use qdissect_fuzz::bodies::settings::config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config(bytes, &cli::main));
