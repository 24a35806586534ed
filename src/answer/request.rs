//! What a datagram asks.

use crate::contract::answering::{Reply, Slot};
use crate::contract::{Direction, Known, Level, Role};
use crate::protocols::Id;

/// A request, as far as answers depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The message: index into the protocol's messages.
    pub message: u8,
    /// What the conditions of all answers say of it: requests that are equal in this ask for the same.
    pub kind: Vec<bool>,
    pub payload: Vec<u8>,
}

impl Request {
    /// The request that a datagram to a server of the protocol is, if it is one.
    pub fn of(id: Id, payload: &[u8]) -> Option<Request> {
        let known = Known { pinned: true, ..Known::of(Direction::C2s, Level::High) };
        let asks =
            |role| matches!(role, Role::Request | Role::RequestPart | Role::MaybeRequest | Role::Stray);
        let probe = id.probe(payload, payload.len(), [0; 2]).filter(|probe| asks(probe.role));
        let probe = probe.or_else(|| id.probe_known(payload, payload.len(), known))?;
        asks(probe.role).then(|| Request {
            message: probe.message,
            kind: kind(id, probe.message, payload),
            payload: payload.to_vec(),
        })
    }

    /// The answers that are declared for it, but for what they say of challenges.
    pub fn answers(&self, id: Id) -> impl Iterator<Item = &'static Reply> {
        id.info().replies.iter().filter(|reply| reply.to == self.message && (reply.when)(&self.payload))
    }

    /// The challenge that it returns.
    pub fn returned(&self, id: Id) -> Option<u32> {
        self.answers(id).find_map(|reply| reply.returns?(&self.payload))
    }

    /// Whether it asks for the same.
    pub fn is_like(&self, other: &Request) -> bool {
        (self.message, &self.kind) == (other.message, &other.kind)
    }
}

fn kind(id: Id, message: u8, payload: &[u8]) -> Vec<bool> {
    let mut kind = vec![];
    for reply in id.info().replies.iter().filter(|reply| reply.to == message) {
        kind.push((reply.when)(payload));
        kind.push(reply.returns.is_some_and(|find| find(payload).is_some()));
        conditions(reply.slots, payload, &mut kind);
    }
    kind
}

fn conditions(slots: &[Slot], payload: &[u8], kind: &mut Vec<bool>) {
    for slot in slots {
        match slot {
            Slot::If(condition, inner) => {
                kind.push(condition(payload));
                conditions(inner, payload, kind);
            }
            Slot::Within(_, inner) | Slot::Each(inner) => conditions(inner, payload, kind),
            _ => {}
        }
    }
}
