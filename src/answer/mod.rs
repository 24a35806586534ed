//! A server that answers queries: right, with the fault of one rule, or from a capture. It does no I/O.
//!
//! ```text
//!  datagram ──> Guard ──> Request ──> Rounds: a fault, a capture ──> Guard ──> answers
//!               counts                └─ else Written: what the protocol declares
//! ```
//!
//! To an address that is not its own machine's, [`Guard`] lets pass no more bytes than came from it before the address has
//! returned a challenge.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod challenges;
mod fault;
mod guard;
mod replay;
mod request;
mod rounds;
pub mod talk;
mod written;

pub use fault::faults;
pub use guard::is_own;
pub use replay::Replay;
pub use rounds::Rounds;
pub use written::Settings;

use crate::protocols::Id;
use challenges::Challenges;
use guard::Guard;
use request::Request;
use std::net::{IpAddr, SocketAddr};
use written::Asked;

/// An answer: how long after the request it is sent, in milliseconds, and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Milliseconds after the request.
    pub after: u32,
    /// The payload.
    pub payload: Vec<u8>,
}

/// A server of one protocol.
#[derive(Debug)]
pub struct Server {
    id: Id,
    settings: Settings,
    /// What it plays instead of the right answers.
    rounds: Option<Rounds>,
    guard: Guard,
    /// The challenges.
    challenges: Challenges,
    /// Number of requests answered so far.
    serial: u32,
}

impl Server {
    /// A server that answers rightly. `is_own` says which addresses are this machine's own, see [`is_own`].
    pub fn new(id: Id, settings: Settings, is_own: fn(IpAddr) -> bool) -> Server {
        let guard = Guard::new(is_own, has_challenge(id));
        Server { id, settings, rounds: None, guard, challenges: Challenges::default(), serial: 0 }
    }

    /// The same, which answers as these rounds say wherever they know the request.
    pub fn playing(self, rounds: Rounds) -> Server {
        Server { rounds: Some(rounds), ..self }
    }

    /// The answers to a datagram.
    pub fn answer(&mut self, from: SocketAddr, payload: &[u8]) -> Vec<Reply> {
        self.guard.receive(from.ip(), payload.len());
        let Some(request) = Request::of(self.id, payload) else { return vec![] };
        let is_returned = request.returned(self.id).is_some_and(|value| self.challenges.has(from, value));
        if is_returned {
            self.guard.prove(from.ip());
        }
        let issues = request.answers(self.id).any(|reply| reply.issues());
        let challenge = if issues { self.challenges.issue(from) } else { 0 };
        let asked = Asked { payload, challenge, serial: self.serial, settings: &self.settings };
        let played = self.rounds.as_mut().and_then(|rounds| rounds.replies(from, &request, &asked));
        let mut replies = match played {
            Some(played) => played,
            None => self.right(&request, &asked, is_returned),
        };
        self.serial = self.serial.wrapping_add(1);
        replies.retain(|reply| self.guard.may_send(from.ip(), reply.payload.len()));
        replies
    }

    /// The right answer; where a fault is played, any challenge will do, because the fault may be in that.
    fn right(&self, request: &Request, asked: &Asked<'_>, is_returned: bool) -> Vec<Reply> {
        let payload = written::right(self.id, request, asked, is_returned || self.rounds.is_some());
        let right = payload.map(|payload| Reply { after: 0, payload });
        let after = self.rounds.as_ref().map_or(&[][..], Rounds::unasked);
        right.into_iter().chain(after.iter().cloned()).collect()
    }
}

/// Whether servers of the protocol prove the addresses of their clients.
pub fn has_challenge(id: Id) -> bool {
    id.info().replies.iter().any(|reply| reply.issues())
}
