//! What differs between two captures of one server: fields of its answers, rules that it breaks, response times.
//!
//! ```text
//! pipeline ──> Seen (a report) ─┐ A
//!               answers.rs      ├──> Comparison ──> pairs.rs    which server of A is which of B
//! pipeline ──> Seen ────────────┘ B      ├────────> fields.rs   the values of an answer, by path
//!                                        ├────────> record.rs   records
//!                                        └────────> screen.rs   tables
//! ```

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod answers;
mod compare;
mod fields;
mod pairs;
mod record;
mod screen;

pub use answers::Seen;
pub use compare::{Comparison, Unmatched};
pub use fields::Ignored;
pub use record::{DifferenceRecord, PairRecord};
pub use screen::write;
