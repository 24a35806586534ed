//! Display filters: tshark's language for the fields of frames, headers and game-query protocols.
//!
//! ```text
//!  text ─lexer─> tokens ─parser─> Expr ─compile─> Plan ─eval─> passes or not
//!                                   │   names, kinds,  ▲
//!                                Display   literal     │
//!                                                    View <── FrameFacts    frame and headers
//!                                                         <── Packet   what the pipeline knows
//!                                                         <── Pick     declared fields, picked while decoding
//! ```
//!
//! A filter is compiled once. It [says what it needs](Filter::needs), so that a filter on ports alone is answered
//! before anything is decoded. The language, and how it differs from tshark's: `docs/filter.md`.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod columns;
mod compile;
mod error;
mod eval;
mod frame_facts;
mod kinds;
mod lexer;
mod literal;
mod names;
mod parser;
mod pick;
mod plan;
mod syntax;
mod value;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use columns::masked;
pub use columns::{Columns, MAX_COLUMNS, Printed};
pub use error::FilterError;
pub use frame_facts::{Ethernet, FrameFacts, Ip, MAX_TAGS};
pub use names::names;
pub use pick::{MAX_PICKED, MAX_PICKED_BYTES, Pick};
pub use view::View;

use names::{Builtin, Wanted};
use plan::{Plan, Source};
use std::fmt;
use syntax::Place;
pub use syntax::{MAX_DEPTH, MAX_LENGTH, MAX_NODES, MAX_PATTERNS, REGEX_SIZE};

/// A compiled display filter.
#[derive(Clone, Debug)]
pub struct Filter {
    plan: Plan,
    wanted: Vec<Wanted>,
    needs: Needs,
    text: String,
}

/// The parts of a [`View`] that a filter needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`View::facts`].
    pub facts: bool,
    /// [`View::bytes`].
    pub bytes: bool,
    /// [`View::comments`].
    pub comments: bool,
    /// Results of the pipeline: protocol, message, findings, pairing. A filter without them can judge a datagram
    /// before its protocol is recognised.
    pub packet: bool,
    /// [`View::findings`].
    pub findings: bool,
    /// [`View::outcome`], which for a request is known only once its exchange has closed.
    pub outcome: bool,
    /// [`View::picked`]: the payload must be decoded for [`Pick`].
    pub fields: bool,
    /// Raw bytes, which may contain passwords.
    pub raw: bool,
    /// Properties that a datagram has and an exchange has not: bytes, lengths, frame, message, direction, declared
    /// fields.
    pub datagram: bool,
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
        let tokens = lexer::tokens(text)?;
        if tokens.is_empty() {
            let (plan, needs) = (Plan::All(vec![]), Needs::default());
            return Ok(Filter { plan, wanted: vec![], needs, text: String::new() });
        }
        let expr = parser::parse(&tokens, text.len())?;
        let mut compiler = compile::Compiler::default();
        let plan = compiler.expr(&expr)?;
        let mut needs = Needs::default();
        plan.sources(&mut |source| needs.add(source));
        Ok(Filter { plan, wanted: compiler.wanted, needs, text: expr.to_string() })
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

/// The filter as it was understood, with the brackets it needs and the first spelling of each operator. The text
/// compiles to the same filter.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Needs {
    fn add(&mut self, source: Source) {
        match source {
            Source::Picked(..) => (self.packet, self.fields, self.datagram) = (true, true, true),
            Source::Protocol(_) => self.packet = true,
            Source::Builtin(builtin) => {
                self.add_builtin(builtin);
                self.datagram |= !builtin.is_of_exchanges();
            }
        }
    }

    fn add_builtin(&mut self, builtin: Builtin) {
        use Builtin::*;
        match builtin {
            FrameComment => self.comments = true,
            FrameNumber | FrameTime | FrameTimeText | File => {} // the datagram has them
            Ip | IpSrc | IpDst | IpAddr | IpHost | IpVersion | V6 | V6Src | V6Dst | V6Addr => {}
            UdpSrc | UdpDst | UdpPort | UdpLength | UdpChecksum | UdpChecksumStatus => {}
            Udp | UdpPayload => self.raw = true,
            Frame => (self.raw, self.bytes) = (true, true),
            FrameProtocols => (self.packet, self.facts) = (true, true),
            FrameTimeRelative | FrameTimeDelta | FrameInterfaceName | UdpStream => self.facts = true,
            FrameLen | FrameCapLen | FrameInterface | Eth | EthSrc | EthDst | EthAddr | EthType | Vlan
            | VlanId | IpLen | IpId | IpTtl | IpProto | V6Len | V6Next | V6Hops => self.facts = true,
            Finding | Rule | Severity => (self.packet, self.findings) = (true, true),
            Outcome => (self.packet, self.outcome) = (true, true),
            Protocol | Message | Direction | Confidence | Exchange | ResponseTime | Retransmission
            | Duplicate | Server | Client | ServerName | Game | Map | Version | Players | MaxPlayers => {
                self.packet = true;
            }
        }
    }
}
