//! Containers with a bound: they take memory only when they need it, and forget the oldest first.
//!
//! ```text
//!  --memory ──> Budget ──> Bounded, Numbered ──> Forgets: how much was forgotten
//!                           └─ Buckets: the hash index of their entries
//!  Count, Flags, Bits, Numbers: entries in few bytes; Rate: the busiest second
//! ```

pub(crate) mod buckets;
mod budget;
mod by_frame;
pub(crate) mod hashing;
mod map;
pub(crate) mod packed;
pub(crate) mod rate;

pub use budget::{Budget, Forgets};
pub(crate) use by_frame::ByFrame;
pub use map::{Bounded, Numbered};
