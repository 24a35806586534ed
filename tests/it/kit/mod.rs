//! Shared code of the tests: plays conversations, reads captures and runs the program.

pub mod captures;
pub mod ci;
pub mod exposition;
pub mod feed;
pub mod format;
pub mod frames;
pub mod invariants;
#[cfg(unix)] // the fake capture programs are shell scripts
pub mod live;
pub mod normalised;
pub mod packed;
pub mod play;
pub mod records;
pub mod reports;
pub mod run;
pub mod serve;
pub mod sources;
pub mod tshark;
