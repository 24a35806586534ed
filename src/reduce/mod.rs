//! The smallest capture that still shows a finding.
//!
//! ```text
//! first pass   captures ──> Recorder ──> Search     the finding, and the frames of the protocols
//! second pass  captures ──> Candidates              these frames, in memory
//! trials       Candidates ──> capture ──> Search    minimise.rs: conversations first, then frames
//! ```
//! Each trial is read as the file that it would be, so that the result holds what the trial has found.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod candidates;
mod minimise;
mod search;

pub use candidates::{Candidates, MAX_BYTES};
pub use minimise::Minimised;
pub use search::Search;
