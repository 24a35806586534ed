//! Display filters: tshark's language for the fields of frames, headers and game-query protocols.
//!
//! ```text
//!  text ─lexer─> tokens ─parser─> operands ─compile─> Plan ─eval─> passes or not
//!                                      names, kinds,         ▲
//!                                      literal               │
//!                                                          View <── FrameFacts    frame and headers
//!                                                               <── Packet   what the pipeline knows
//!                                                               <── Pick     declared fields, picked while decoding
//! ```
//!
//! A filter is compiled once. It [says what it needs](Filter::needs), so that a filter on ports alone is answered
//! before anything is decoded. The language, and how it differs from tshark's: `docs/filter.md`.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod builtins;
mod columns;
mod compile;
mod error;
mod eval;
mod kinds;
mod lexer;
mod literal;
mod names;
mod operand;
mod parser;
mod pick;
mod plan;
mod value;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use columns::masked;
pub use columns::{Columns, MAX_COLUMNS, Printed};
pub use error::FilterError;
pub use names::names;
pub use pick::{MAX_PICKED, Pick};
pub use view::{Ethernet, FrameFacts, Ip, MAX_TAGS, View};

use compile::Compiler;
use error::Place;
use pick::Wanted;
use plan::{Plan, Source};

/// Longest expression in bytes.
pub const MAX_LENGTH: usize = 16_384;
/// Deepest nesting of brackets, `not`, functions and masks.
pub const MAX_DEPTH: usize = 64;
/// Most operands: fields, values, members of sets.
pub const MAX_NODES: usize = 2_048;
/// Most regular expressions.
pub const MAX_PATTERNS: usize = 32;
/// Most bytes of memory for a compiled regular expression, and again while it runs.
pub const REGEX_SIZE: usize = 1 << 20;

/// A compiled display filter.
#[derive(Clone, Debug)]
pub struct Filter {
    plan: Plan,
    wanted: Vec<Wanted>,
    needs: Needs,
}

/// The parts of a [`View`] that a filter needs, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u16);

impl Needs {
    const NOTHING: Needs = Needs(0);
    /// [`View::facts`].
    pub const FACTS: Needs = Needs(1);
    /// [`View::bytes`].
    pub const BYTES: Needs = Needs(2);
    /// [`View::comments`].
    pub const COMMENTS: Needs = Needs(4);
    /// Results of the pipeline: protocol, message, findings, pairing. A filter without them can judge a datagram
    /// before its protocol is recognised.
    pub const PACKET: Needs = Needs(8);
    /// [`View::findings`].
    pub const FINDINGS: Needs = Needs(16);
    /// [`View::outcome`], which for a request is known only once its exchange has closed.
    pub const OUTCOME: Needs = Needs(32);
    /// [`View::picked`]: the payload must be decoded for [`Pick`].
    pub const FIELDS: Needs = Needs(64);
    /// Raw bytes, which may contain passwords.
    pub const RAW: Needs = Needs(128);
    /// Properties that a datagram has and an exchange has not: bytes, lengths, frame, message, direction, declared
    /// fields.
    pub const DATAGRAM: Needs = Needs(256);

    /// Whether any of these parts is needed.
    pub const fn any(self, parts: Needs) -> bool {
        self.0 & parts.0 != 0
    }

    /// These parts and others.
    pub const fn and(self, others: Needs) -> Needs {
        Needs(self.0 | others.0)
    }

    fn add(&mut self, source: Source) {
        *self = self.and(match source {
            Source::Picked(..) => Needs::PACKET.and(Needs::FIELDS).and(Needs::DATAGRAM),
            Source::Protocol(_) => Needs::PACKET,
            Source::Builtin(builtin) => builtin.needs,
        });
    }
}

impl Filter {
    /// Compiles an expression. An empty one lets everything pass, as in tshark.
    ///
    /// # Errors
    /// When it cannot be read, names an unknown field, compares values that do not fit together, or exceeds
    /// [`MAX_LENGTH`], [`MAX_DEPTH`], [`MAX_NODES`], [`MAX_PATTERNS`] or [`REGEX_SIZE`].
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        if text.len() > MAX_LENGTH {
            let what = format!("The filter has {} bytes; {MAX_LENGTH} are the most.", text.len());
            return Err(FilterError::new(Place { start: MAX_LENGTH, end: MAX_LENGTH }, what));
        }
        let (plan, Compiler { wanted, needs, .. }) = match lexer::tokens(text)?.as_slice() {
            [] => (Plan::All(vec![]), Compiler::default()),
            tokens => parser::parse(text, tokens)?,
        };
        Ok(Filter { plan, wanted, needs })
    }

    /// The parts of a [`View`] that it needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether a packet, or an exchange, passes.
    pub fn matches(&self, view: &View<'_>) -> bool {
        self.plan.holds(view)
    }
}
