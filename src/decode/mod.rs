//! The building blocks of decoders: a [`Cursor`] reads fields and reports them to a [`FieldSink`], the listener.
//!
//! A decoder is generic over its listener, and is compiled once for each of them:
//!
//! ```text
//!                        ┌ Skip      nothing                      (where only the message counts)
//! decode::<S: FieldSink> ┼ Notes     broken rules                 (summary, text)
//!                        ┼ Coverage  broken and checked rules     (check)
//!                        ┼ Tree      a tree, and broken rules     (to show, pick or mask fields)
//!                        ┼ Json      the record's `fields` object (json, ndjson)
//!                        └ Fit       whether a layout fits        (trials inside a decoder)
//! ```
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod checks;
mod colours;
mod compact;
mod compared;
mod coverage;
mod cursor;
mod escapes;
mod facts;
mod fault;
mod field;
mod json;
mod json_text;
mod key;
mod labels;
mod lines;
mod listener;
mod repeats;
mod scopes;
mod sinks;
mod text;
mod tree;
pub mod wire;
pub mod work;

pub use colours::Colours;
#[cfg(feature = "internals")]
pub use compact::compact_index;
pub use compact::{Counted, counted};
pub use compared::{Compared, ComparedValue};
pub use coverage::Coverage;
pub use cursor::{Cursor, Ends, FIELDS as SHARED_FIELDS, UNPARSED, dissect};
pub use escapes::{Chunks, Escapes, swapped};
pub use facts::{Fact, Facts, Version};
pub use fault::Fault;
pub(crate) use field::fields;
pub use field::{Field, FieldKind, Index, SECRET, Span, Value, path};
#[cfg(feature = "cli")]
pub use field::{KINDS, kind_names};
pub use json::Json;
pub use json_text::push_text;
pub use labels::Labels;
#[cfg(feature = "cli")]
pub(crate) use labels::names_of_bits;
pub use lines::{after_mark, remaining, until, zero_ended};
pub use listener::{AnyListener, Listener};
pub use repeats::Repeats;
#[cfg(feature = "internals")]
pub use sinks::MAX_VIOLATIONS;
pub use sinks::{FieldSink, Fit, Kept, Notes, Shape, Skip, Violation};
pub use text::{Str, utf16};
#[cfg(feature = "page")]
pub(crate) use tree::display;
pub use tree::{Node, Tree};
