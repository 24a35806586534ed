#![no_main]

use qdissect_fuzz::bodies::settings::config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config(bytes, &qdissect::program));
