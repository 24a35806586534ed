//! The registry of protocols. A new protocol needs a new file (or folder) here, its `mod` line, and a
//! line in the registry at the end of this file.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

use crate::bounded::Forgets;
use crate::contract::recognise;
pub use crate::contract::{
    Ask, Budget, Context, Decoded, Direction, Info, Known, Level, Observation, Probe, Protocol, Raised,
    Relation, Role, ShownKey, StepInfo, StepRules,
};
use crate::decode::{FieldSink, dissect};
use crate::net::{Datagram, Endpoint};
use crate::rule::Rule;

pub mod a2s;
pub mod armagetron;
pub mod ase;
pub(crate) mod candidates;
pub mod doom3;
mod gamespy;
pub mod gamespy1;
pub mod gamespy2;
pub mod gamespy3;
pub mod gqp;
pub mod masters;
pub mod mindustry;
pub mod mumble;
pub mod openttd;
mod other;
mod prelude;
pub mod quake3;
pub mod raknet;
pub mod samp;
pub mod satisfactory;
pub mod skycoop;
mod sources;
pub mod sqp;
pub mod teamspeak3;
pub mod teeworlds;
pub mod titanfall;
pub mod unreal2;

macro_rules! registry {
    ($($file:ident::$Proto:ident),* $(,)?) => {
        /// A registered protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Id { $(#[doc = concat!("See [`", stringify!($file), "`].")] $Proto),* }

        /// The memories of all protocols' cross-packet rules.
        pub(crate) struct Memories { $($file: <$file::$Proto as Protocol>::Memory),* }

        impl From<Budget> for Memories {
            fn from(budget: Budget) -> Memories {
                Memories { $($file: budget.into()),* }
            }
        }

        impl Memories {
            /// Number of entries that the memories have forgotten, all together.
            pub fn forgotten(&self) -> u64 {
                0u64$(.saturating_add(self.$file.forgotten()))*
            }
        }

        impl Id {
            /// Every registered protocol, in registry order.
            pub const ALL: &'static [Id] = &[$(Id::$Proto),*];

            /// The static declarations of the protocol.
            #[inline]
            pub const fn info(self) -> &'static Info {
                match self { $(Id::$Proto => const { &<$file::$Proto as Protocol>::INFO }),* }
            }
            /// See [`Protocol::probe`].
            #[inline(always)]
            pub fn probe(self, payload: &[u8], wire_len: usize, ports: [u16; 2]) -> Option<Probe> {
                match self { $(Id::$Proto => $file::$Proto::probe(payload, wire_len, ports)),* }
            }
            /// The confidence with which the forms of its messages recognise a payload by its bytes alone.
            pub(crate) fn resembles(self, payload: &[u8]) -> Option<Level> {
                match self { $(Id::$Proto => recognise::<$file::$Proto>(payload, payload.len()).map(|probe| probe.level)),* }
            }
            /// See [`Protocol::probe_known`].
            pub fn probe_known(self, payload: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
                match self { $(Id::$Proto => $file::$Proto::probe_known(payload, wire_len, known)),* }
            }
            /// [`Id::dissect`] into an empty `out` of the caller, because the result is too large to be copied.
            #[inline(always)]
            pub(crate) fn dissect_to<'a, S: FieldSink>(self, payload: &'a [u8], cx: &Context, sink: &mut S, out: &mut Decoded<'a>) {
                match self { $(Id::$Proto => dissect_as::<$file::$Proto, S>(payload, cx, sink, out)),* }
            }
            /// See [`Protocol::ask`].
            pub fn ask(self, ask: &Ask<'_>) -> Option<Vec<u8>> {
                match self { $(Id::$Proto => $file::$Proto::ask(ask)),* }
            }
            /// See [`Protocol::prefetch`].
            #[inline(always)]
            pub(crate) fn prefetch(self, memories: &Memories, server: Endpoint, probe: &Probe) {
                match self { $(Id::$Proto => $file::$Proto::prefetch(&memories.$file, server, probe)),* }
            }
            /// See [`Protocol::recall`].
            #[inline(always)]
            pub(crate) fn recall(self, memories: &Memories, d: &Datagram<'_>, ends: [Endpoint; 2], probe: &mut Probe) {
                match self { $(Id::$Proto => $file::$Proto::recall(&memories.$file, d, ends, probe)),* }
            }
            /// See [`Protocol::observe`].
            #[inline]
            pub(crate) fn observe(self, memories: &mut Memories, seen: &Observation<'_>, raised: &mut Raised) {
                match self { $(Id::$Proto => $file::$Proto::observe(&mut memories.$file, seen, raised)),* }
            }
        }
    };
}

registry! {
    sqp::Sqp,
    satisfactory::Satisfactory,
    skycoop::Skycoop,
    gqp::Gqp,
    quake3::Quake3,
    raknet::Raknet,
    gamespy3::Gamespy3,
    a2s::A2s,
    gamespy1::Gamespy1,
    gamespy2::Gamespy2,
    ase::Ase,
    unreal2::Unreal2,
    samp::Samp,
    titanfall::Titanfall,
    mumble::Mumble,
    teamspeak3::Teamspeak3,
    teeworlds::Teeworlds,
    armagetron::Armagetron,
    mindustry::Mindustry,
    doom3::Doom3,
    openttd::Openttd,
    masters::Masters,
}

/// [`Id::dissect_to`] for one protocol. It is a separate function because the compiler would otherwise treat the longer messages
/// as rare and split their decoders into pieces.
#[inline(never)]
fn dissect_as<'a, P: Protocol, S: FieldSink>(
    payload: &'a [u8],
    cx: &Context,
    sink: &mut S,
    out: &mut Decoded<'a>,
) {
    let facts = &mut out.facts;
    out.fault = dissect(payload, cx.missing, P::INFO.ends, sink, facts, |c| P::decode(c, *cx)).err();
    if let Some(colours) = P::COLOURS {
        facts.strip(colours);
    }
}

/// The protocols in which pairing notes the challenges that servers issue and clients return, one bit each.
const NOTED_BY_PAIRING: u32 = {
    let (mut bits, mut protocols): (u32, &[Id]) = (0, Id::ALL);
    while let [id, others @ ..] = protocols {
        let mut steps = id.info().steps;
        while let [step, further @ ..] = steps {
            bits |= (step.issues as u32) << *id as u32;
            steps = further;
        }
        protocols = others;
    }
    bits
};

impl Id {
    /// Whether pairing notes the challenges that a server issues and a client returns.
    #[inline(always)]
    pub(crate) fn pairing_notes_challenges(self) -> bool {
        NOTED_BY_PAIRING >> self as u32 & 1 == 1
    }

    /// Decodes a payload and reports it to `sink`.
    pub fn dissect<'a, S: FieldSink>(self, payload: &'a [u8], cx: &Context, sink: &mut S) -> Decoded<'a> {
        let mut decoded = Decoded::default();
        self.dissect_to(payload, cx, sink, &mut decoded);
        decoded
    }
    /// Finds a protocol by its name.
    pub fn by_name(name: &str) -> Option<Id> {
        Id::ALL.iter().copied().find(|id| id.info().name == name)
    }
    /// Finds a protocol by its name or by one that people use; the port is the one that goes with that name.
    pub fn known_as(name: &str) -> Option<(Id, Option<u16>)> {
        let of = |id: &Id| {
            let known = id.info().known_as.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
            Some((*id, Some(known.1).filter(|port| *port != 0)))
        };
        Id::by_name(name).map(|id| (id, None)).or_else(|| Id::ALL.iter().find_map(of))
    }
    /// The protocol's own rules in the order of declaration, those about exchanges last.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        let info = self.info();
        info.rules.iter().copied().flatten().chain(info.exchange_rules).copied()
    }
    /// The protocol that declares a rule; `None` if no protocol does.
    pub fn of_rule(rule: &Rule) -> Option<Id> {
        Id::ALL.iter().copied().find(|id| id.rules().any(|declared| declared == rule))
    }
}

/// Every rule: the shared ones first, then each protocol's in registry order.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    crate::rule::general::RULES.iter().copied().chain(Id::ALL.iter().flat_map(|id| id.rules()))
}
