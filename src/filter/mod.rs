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
//! A filter is compiled once. [`Filter::needs`] lists the parts of a packet that it reads, so a filter on ports alone
//! is evaluated before anything is decoded. `docs/filter.md` describes the language and its differences from tshark's.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod builtins;
mod columns;
mod compile;
mod complete;
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
pub use complete::{candidates, completion};
pub use error::FilterError;
pub use names::names;
pub use pick::{MAX_PICKED, Pick};
pub use view::{Ethernet, FrameFacts, Ip, MAX_TAGS, Stream, View};

use compile::Compiler;
use error::TextSpan;
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
    /// Properties of datagrams that exchanges lack: bytes, lengths, frame, message, direction, declared fields.
    pub const DATAGRAM: Needs = Needs(256);

    /// Whether any of these parts is needed.
    pub const fn any(self, parts: Needs) -> bool {
        self.0 & parts.0 != 0
    }

    /// The union of these parts and others.
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
    /// Compiles an expression. The empty expression matches everything, as in tshark.
    ///
    /// # Errors
    /// When the expression has a syntax error, names an unknown field, compares values of incompatible types, or
    /// exceeds [`MAX_LENGTH`], [`MAX_DEPTH`], [`MAX_NODES`], [`MAX_PATTERNS`] or [`REGEX_SIZE`].
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        if text.len() > MAX_LENGTH {
            let message = format!("The filter has {} bytes; {MAX_LENGTH} are the most.", text.len());
            return Err(FilterError::new(TextSpan { start: MAX_LENGTH, end: MAX_LENGTH }, message));
        }
        let (plan, Compiler { wanted, needs, .. }) = match lexer::tokens(text)?.as_slice() {
            [] => (Plan::All(vec![]), Compiler::default()),
            tokens => parser::parse(text, tokens)?,
        };
        Ok(Filter { plan, wanted, needs })
    }

    /// The parts of a [`View`] that the filter needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether it is empty, so that everything matches.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && matches!(&self.plan, Plan::All(parts) if parts.is_empty())
    }

    /// Whether a packet or an exchange matches the filter.
    pub fn matches(&self, view: &View<'_>) -> bool {
        self.plan.holds(view)
    }
}
