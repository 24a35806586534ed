//! Captures with something in them changed: whatever says something about one says the same.
//!
//! Mutants are made by number, from the captures of the repository and those named in the environment: see
//! `differ/cases.rs`. By default there are few of each; the long runs are asked for by name, see docs/robustness.md.
#![cfg(feature = "cli")]
#![allow(clippy::panic)] // tests fail that way
#![allow(dead_code)] // what only other test programs need

#[path = "differ/agree.rs"]
mod agree;
#[path = "differ/apart.rs"]
mod apart;
#[path = "fuzz/bodies/mod.rs"]
mod bodies;
#[path = "differ/cases.rs"]
mod cases;
#[path = "ci_formats/hold.rs"]
mod ci;
#[path = "bench/frames.rs"]
mod envelope;
#[path = "differ/flood.rs"]
mod flood;
#[path = "differ/floods.rs"]
mod floods;
#[path = "pasted/format.rs"]
mod format;
#[path = "inputs/frames.rs"]
mod frames;
#[path = "house/hold.rs"]
mod hold;
#[path = "inputs/captures.rs"]
mod inputs;
#[path = "bench/measure.rs"]
mod measure;
#[path = "differ/mutate.rs"]
mod mutate;
#[path = "differ/mutations.rs"]
mod mutations;
#[path = "inputs/packed.rs"]
mod packed;
#[path = "house/play.rs"]
mod play;
#[path = "bench/random.rs"]
mod random;
#[path = "house/records.rs"]
mod records;
#[path = "inputs/run.rs"]
mod run;
#[path = "inputs/said.rs"]
mod said;
#[path = "inputs/tshark.rs"]
mod seen;
#[path = "differ/shark.rs"]
mod shark;
#[path = "differ/ways.rs"]
mod ways;
#[path = "inputs/records.rs"]
mod written;
