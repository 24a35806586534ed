//! The input of a filter: everything known about a packet or an exchange, borrowed.

use super::frame_facts::FrameFacts;
use super::pick::Pick;
use crate::capture::Time;
use crate::check::Finding;
use crate::decode::Facts;
use crate::exchange::{Answer, Exchange, Outcome, Pairing};
use crate::net::{Datagram, Endpoint};
use crate::packet::Packet;
use crate::protocols::{Direction, Id, Level};

/// The known parts of a packet or exchange. A part that is `None` or empty is absent, and tests of it do not hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// The facts about the frame.
    pub facts: Option<&'a FrameFacts>,
    /// The captured bytes of the frame, where the filter [needs](super::Needs::bytes) them.
    pub bytes: &'a [u8],
    /// The comments on the frame.
    pub comments: &'a [Box<str>],
    /// Source and destination; for an exchange, client and server.
    pub ends: Option<[Endpoint; 2]>,
    /// The datagram.
    pub datagram: Option<&'a Datagram<'a>>,
    /// Its protocol, if a protocol claims it.
    pub protocol: Option<Id>,
    /// Name of the message.
    pub message: Option<&'static str>,
    /// Its direction.
    pub direction: Option<Direction>,
    /// How sure the recognition is.
    pub confidence: Option<Level>,
    /// The findings: broken rules.
    pub findings: &'a [Finding],
    /// Number of the exchange.
    pub exchange: Option<u64>,
    /// How the exchange ended. Known for an answer and for a closed exchange; for a request only once its exchange
    /// has closed.
    pub outcome: Option<Outcome>,
    /// Nanoseconds from request to answer.
    pub response_time: Option<i64>,
    /// It repeats a request.
    pub retransmission: bool,
    /// It is a copy of an answer.
    pub duplicate: bool,
    /// Facts that the message states about its server.
    pub said: Option<&'a Facts<'a>>,
    /// Name of the file.
    pub file: Option<&'a str>,
    /// Values of the declared fields that the filter names.
    pub picked: Option<&'a Pick>,
}

impl<'a> View<'a> {
    /// The view of a datagram that no protocol claims, or of which nothing else is known yet.
    pub fn of_datagram(datagram: &'a Datagram<'a>) -> View<'a> {
        View { ends: Some([datagram.src, datagram.dst]), datagram: Some(datagram), ..View::default() }
    }

    /// The view of a packet as it is reported, without facts, bytes and declared fields.
    pub fn of_packet<S>(packet: &Packet<'a, S>) -> View<'a> {
        let answer = match packet.pairing {
            Pairing::Answered(answer) => Some(answer),
            _ => None,
        };
        let outcome = |answer: &Answer| if answer.late { Outcome::Late } else { Outcome::Answered };
        View {
            protocol: Some(packet.id),
            message: Some(packet.message_name()),
            direction: Some(packet.direction),
            confidence: Some(packet.level),
            findings: packet.findings,
            exchange: packet.pairing.exchange(),
            outcome: answer.map(outcome),
            response_time: answer.and_then(|answer| answer.response_time),
            retransmission: matches!(packet.pairing, Pairing::Retransmission { part: false, .. }),
            duplicate: matches!(packet.pairing, Pairing::DuplicateResponse { .. }),
            said: packet.decoded.as_ref().ok(),
            ..View::of_datagram(packet.datagram)
        }
    }

    /// When the frame was captured.
    pub(super) fn time(&self) -> Option<Time> {
        self.facts.map(|facts| facts.time).or(self.datagram.map(|datagram| datagram.time))
    }

    /// The endpoint that answers, where that is known.
    pub(super) fn server(&self) -> Option<Endpoint> {
        let [_, server] = self.direction_or_exchange()?.order(self.ends?);
        Some(server)
    }

    /// The endpoint that asks, where that is known.
    pub(super) fn client(&self) -> Option<Endpoint> {
        let [client, _] = self.direction_or_exchange()?.order(self.ends?);
        Some(client)
    }

    /// The direction of a packet; the endpoints of an exchange are ordered as in its request.
    fn direction_or_exchange(&self) -> Option<Direction> {
        self.direction.or((self.datagram.is_none() && self.exchange.is_some()).then_some(Direction::C2s))
    }

    /// The view of a closed exchange, which has no frame, length or payload.
    pub fn of_exchange(exchange: &Exchange, findings: &'a [Finding]) -> View<'a> {
        View {
            ends: Some([exchange.client, exchange.server]),
            protocol: Some(exchange.protocol),
            confidence: Some(exchange.level),
            findings,
            exchange: Some(exchange.id),
            outcome: Some(exchange.outcome),
            response_time: exchange.response_time,
            retransmission: exchange.retransmissions > 0,
            ..View::default()
        }
    }
}
