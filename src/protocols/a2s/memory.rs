//! What takes more than one datagram: challenges, and numbers of players.

use super::parts::SOURCE;
use super::rules::*;
use super::{
    CHALLENGE_RESPONSE, GOLDSRC_INFO_RESPONSE, INFO_RESPONSE, INFO_STEP, MARK, NONE_YET, PLAYERS_RESPONSE,
    PLAYERS_STEP, RULES_STEP, answers, carried,
};
use crate::capture::Time;
use crate::contract::Piece;
use crate::net::Endpoint;
use crate::protocols::prelude::*;
use arrayvec::ArrayVec;

/// Requests whose answers may still come, addresses with challenges, challenges, servers whose players are known, and answers in
/// parts that nobody asked for; the oldest goes first.
const MAX_ASKED: usize = 16_384;
const MAX_ADDRESSES: usize = 16_384;
const MAX_CHALLENGES: usize = 16_384;
const MAX_COUNTS: usize = 8_192;
const MAX_STRAYS: usize = 1_024;
/// Challenges remembered of one address at one server.
const MAX_ISSUED: usize = 8;
/// How old a challenge or a number of players may be, in nanoseconds.
const FRESH: i64 = 5_000_000_000;

/// See the module's words.
#[derive(Debug)]
pub struct Memory {
    /// By exchange.
    asked: Bounded<u64, Asked>,
    /// By server and address of the client, the latest last.
    issued: Bounded<(Endpoint, Endpoint), ArrayVec<Challenge, MAX_ISSUED>>,
    /// By server and value, the address that it was issued to first.
    owners: Bounded<(Endpoint, u32), Endpoint>,
    /// By server, what INFO said last.
    counts: Bounded<Endpoint, (u8, Time)>,
    /// By server, client and number of the message, the frame of the first part.
    strays: Bounded<(Endpoint, Endpoint, u64), u64>,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Memory {
        Memory {
            asked: Bounded::new(budget.of(MAX_ASKED)),
            issued: Bounded::new(budget.of(MAX_ADDRESSES)),
            owners: Bounded::new(budget.of(MAX_CHALLENGES)),
            counts: Bounded::new(budget.of(MAX_COUNTS)),
            strays: Bounded::new(budget.of(MAX_STRAYS)),
        }
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Asked {
    step: u8,
    proof: Proof,
}

/// What a request proves of its sender's address.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Proof {
    /// Nothing: it carries no challenge.
    None,
    /// Nothing: the server had issued other challenges only.
    Foreign,
    /// That it gets what is sent there.
    Right,
    /// The same with the latest one, which is not old.
    Fresh,
}

#[derive(Clone, Copy, Debug)]
struct Challenge {
    value: u32,
    port: u16,
    time: Time,
}

impl Memory {
    /// Entries forgotten for want of room.
    pub(super) fn forgotten(&self) -> u64 {
        let asked = self.asked.forgotten().saturating_add(self.issued.forgotten());
        let answered = self.owners.forgotten().saturating_add(self.counts.forgotten());
        asked.saturating_add(answered).saturating_add(self.strays.forgotten())
    }

    pub(super) fn observe(&mut self, seen: &Seen<'_>, raised: &mut Raised) {
        if let Some(Piece { split, .. }) = seen.piece
            && (split.layout != SOURCE || split.id >> 31 == 1 || split.total == 1)
        {
            raised.add(&SPL_007);
        }
        match *seen.pairing {
            Pairing::Asked { exchange, .. } => {
                let proof = self.judge(seen, raised);
                self.asked.insert(exchange, Asked { step: seen.glance.step, proof });
            }
            Pairing::Unasked { .. } => self.unasked(seen, raised),
            Pairing::Answered(ref answer) => self.answered(seen, answer, raised),
            _ => {}
        }
    }

    /// What a request proves.
    fn judge(&self, seen: &Seen<'_>, raised: &mut Raised) -> Proof {
        let Some(value) = carried(seen.bytes()) else { return Proof::None };
        let Some(issued) = self.issued.get(&(seen.server, seen.client.host())) else { return Proof::Right };
        let now = seen.datagram.time;
        let last = issued.iter().rev().find(|challenge| challenge.port == seen.client.port());
        if last
            .is_some_and(|last| last.value == value && now.since(last.time).is_some_and(|age| age <= FRESH))
        {
            return Proof::Fresh;
        }
        // Where older ones were forgotten it may be one of them.
        if issued.is_full() || issued.iter().any(|challenge| challenge.value == value) {
            return Proof::Right;
        }
        let end = u16::try_from(seen.bytes().len()).unwrap_or(u16::MAX);
        let start = if seen.glance.step == INFO_STEP { 25 } else { 5 };
        raised.add_at(&CHL_005, Span { start, end: end.min(start.saturating_add(4)) });
        Proof::Foreign
    }

    /// Of an answer in parts the first one to come is told.
    fn unasked(&mut self, seen: &Seen<'_>, raised: &mut Raised) {
        let frame = seen.datagram.frame;
        let first = match (seen.glance.part, seen.glance.key) {
            (Some(_), Some(id)) => *self.strays.get_or_insert((seen.server, seen.client, id), frame),
            _ => frame,
        };
        if first == frame {
            raised.add(&TXN_001);
        }
    }

    fn answered(&mut self, seen: &Seen<'_>, answer: &Answer, raised: &mut Raised) {
        let Some(&Asked { step, proof }) = self.asked.get(&answer.exchange) else { return };
        let message = seen.glance.message;
        if message == CHALLENGE_RESPONSE {
            if proof == Proof::Fresh && !answer.second {
                raised.add(&CHL_004);
            }
            return self.issue(seen, raised);
        }
        if !answer.part && !answer.second {
            let lists = [PLAYERS_STEP, RULES_STEP].contains(&step);
            match proof {
                Proof::None if step == INFO_STEP => raised.add(&SEC_001),
                Proof::None if lists => raised.add(&SEC_002),
                Proof::Foreign if lists && !seen.edge => raised.add(&SEC_002),
                _ => {}
            }
        }
        let (now, bytes) = (seen.datagram.time, seen.bytes());
        match message {
            INFO_RESPONSE | GOLDSRC_INFO_RESPONSE => {
                if let Some(players) = answers::players_of_info(bytes) {
                    self.counts.insert(seen.server, (players, now));
                }
            }
            PLAYERS_RESPONSE => {
                let said = self.counts.get(&seen.server);
                let said = said.filter(|(_, time)| now.since(*time).is_some_and(|age| age <= FRESH));
                if let (Some((players, _)), Some(count)) = (said, bytes.get(5))
                    && players != count
                {
                    raised.add_at(&PLY_004, Span { start: 5, end: 6 });
                }
            }
            _ => {}
        }
    }

    /// A server issues a challenge.
    fn issue(&mut self, seen: &Seen<'_>, raised: &mut Raised) {
        let value = seen.bytes().strip_prefix(MARK).and_then(|p| p.get(1..)).and_then(|p| p.first_chunk());
        let Some(value) = value.map(|value| u32::from_le_bytes(*value)) else { return };
        if NONE_YET.contains(&value) {
            return;
        }
        let (server, client) = (seen.server, seen.client);
        if *self.owners.get_or_insert((server, value), client.host()) != client.host() {
            raised.add(&SEC_003);
        }
        let issued = self.issued.get_or_insert((server, client.host()), ArrayVec::new());
        let challenge = Challenge { value, port: client.port(), time: seen.datagram.time };
        issued.retain(|known| (known.value, known.port) != (value, challenge.port));
        if issued.is_full() {
            issued.remove(0);
        }
        issued.push(challenge);
    }
}
