//! Captures with something in them changed: whatever says something about one says the same.
//!
//! Mutants are made by number, from the captures of the repository and those named in the environment: see
//! `differ/cases.rs`. By default there are few of each; the long runs are asked for by name, see docs/robustness.md.

mod agree;
mod apart;
mod cases;
mod flood;
mod floods;
mod mutate;
mod mutations;
mod shark;
mod ways;
