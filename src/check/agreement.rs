//! Whether all broken messages of one kind from one server, or one client of it, have the same cause. One message may be
//! damaged in a way that looks like a habit; many are not.

use super::{Finding, Packet};
use crate::contract::Direction;
use crate::conversation::NONE;
use crate::diagnosis::{Diagnosis, Examined};
use crate::net::Endpoint;
use crate::protocols::Id;
use crate::rule::{Rule, Severity};
use hashbrown::HashMap;
use std::fmt;
use std::sync::Arc;

/// Kinds of broken messages that are remembered at most. Nothing is said about further ones.
pub const MAX_KINDS: usize = 4_096;
/// Rules that a diagnosis names at most.
const MAX_RULES: usize = 16;
/// Messages that a diagnosis which explains one value only must fit.
const LEAST_OF_WEAK: u64 = 2;
/// Bits of a mask of messages.
const MASK: u8 = 63;

/// Messages of one kind: the index of the server, the client where it sends them, and the message.
pub type Kind = (u32, Option<Endpoint>, u8);

/// What explains the broken messages of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The diagnosis of the first of them.
    pub diagnosis: Diagnosis,
    /// The server.
    pub server: Endpoint,
    /// The protocol.
    pub protocol: Id,
    /// The rules that they break, in the order found.
    pub rules: Vec<&'static Rule>,
    /// Number of messages.
    pub messages: u64,
    /// They are answers.
    pub by_server: bool,
}

impl Explained {
    /// Whether clients give up on such messages: they break more than notes.
    pub fn is_serious(&self) -> bool {
        self.rules.iter().any(|rule| rule.severity > Severity::Note)
    }
}

/// `everything fits if numbers are little-endian: .... SQP is big-endian (Data types) (explains SQP-RSP-004 in 12 answers)`.
impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.by_server { "answer" } else { "request" };
        let (n, s) = (self.messages, if self.messages == 1 { "" } else { "s" });
        let rules = self.rules.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ");
        let place = if rules.is_empty() { "" } else { " in " };
        write!(f, "{} (explains {rules}{place}{n} {what}{s})", self.diagnosis)
    }
}

/// What was found of one kind.
#[derive(Debug)]
struct Seen {
    explained: Option<Arc<Explained>>,
    disagrees: bool,
}

/// The kinds of broken messages so far.
#[derive(Debug, Default)]
pub struct Agreements {
    kinds: HashMap<Kind, Seen>,
    /// The clean answers of each server, by server index, a bit for each message.
    clean: Vec<u64>,
    /// Requests are among the kinds.
    has_requests: bool,
}

impl Agreements {
    /// The kind of a message.
    pub fn kind(p: &Packet<'_>) -> Kind {
        let client = (p.direction == Direction::C2s).then(|| p.ends()[0].host());
        (p.server_index, client, p.message)
    }

    /// Takes a message. Of requests, those before the first broken one do not count.
    #[inline]
    pub fn note(&mut self, p: &Packet<'_>) {
        match p.examined {
            Examined::Clean if p.direction == Direction::S2c => {
                match self.clean.get_mut(p.server_index as usize) {
                    Some(clean) => *clean |= 1 << (p.message & MASK),
                    None => self.note_first(p),
                }
            }
            Examined::Clean if self.has_requests => self.disagree(p),
            Examined::Clean => {}
            _ => self.note_broken(p),
        }
    }

    #[cold]
    #[inline(never)]
    fn note_first(&mut self, p: &Packet<'_>) {
        let at = p.server_index as usize;
        if p.server_index != NONE {
            self.clean.resize(at.saturating_add(1), 0);
            self.clean[at] = 1 << (p.message & MASK);
        }
    }

    #[cold]
    #[inline(never)]
    fn disagree(&mut self, p: &Packet<'_>) {
        if let Some(seen) = self.kinds.get_mut(&Self::kind(p)) {
            seen.disagrees = true;
        }
    }

    #[cold]
    #[inline(never)]
    fn note_broken(&mut self, p: &Packet<'_>) {
        let kind = Self::kind(p);
        if matches!(p.examined, Examined::Untried)
            || self.kinds.len() >= MAX_KINDS && !self.kinds.contains_key(&kind)
        {
            return;
        }
        self.has_requests |= kind.1.is_some();
        let seen = self.kinds.entry(kind).or_insert(Seen { explained: None, disagrees: false });
        let Some(diagnosis) = p.diagnosis() else {
            seen.disagrees = true;
            return;
        };
        let explained = seen.explained.get_or_insert_with(|| {
            Arc::new(Explained {
                diagnosis: diagnosis.clone(),
                server: p.server(),
                protocol: p.id,
                rules: vec![],
                messages: 0,
                by_server: kind.1.is_none(),
            })
        });
        let explained = Arc::make_mut(explained);
        seen.disagrees |= explained.diagnosis.variations != diagnosis.variations;
        explained.messages += 1;
        for Finding { rule, .. } in p.findings.iter().filter(|f| p.explains(f)) {
            if explained.rules.len() < MAX_RULES && !explained.rules.contains(rule) {
                explained.rules.push(rule);
            }
        }
    }

    /// What explains the broken messages of a kind, if all of them agree and none is clean.
    pub fn agreed(&self, kind: Kind) -> Option<&Arc<Explained>> {
        let seen = self.kinds.get(&kind).filter(|seen| !seen.disagrees)?;
        let (server, client, message) = kind;
        let clean = self.clean.get(server as usize).copied().unwrap_or(0);
        let has_clean = client.is_none() && clean & 1 << (message & MASK) != 0;
        let explained = seen.explained.as_ref()?;
        let is_enough = !explained.diagnosis.weak || explained.messages >= LEAST_OF_WEAK;
        (!has_clean && is_enough).then_some(explained)
    }

    /// All that is agreed, by server, answers first.
    #[cfg(feature = "page")]
    pub fn all(&self) -> Vec<&Arc<Explained>> {
        let mut all: Vec<_> =
            self.kinds.keys().filter_map(|kind| Some((kind, self.agreed(*kind)?))).collect();
        all.sort_by_key(|((server, client, message), _)| (client.is_some(), *server, *client, *message));
        all.into_iter().map(|(_, explained)| explained).collect()
    }
}
