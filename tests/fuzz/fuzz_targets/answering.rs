#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| qdissect_fuzz::bodies::run("answering", bytes));
