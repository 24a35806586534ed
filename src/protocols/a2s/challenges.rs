//! Rules across datagrams: challenges, and numbers of players.

use super::answers::*;
use super::parts::SOURCE;
use super::*;
use crate::capture::Time;
use crate::contract::{Piece, Proof};
use arrayvec::ArrayVec;

/// Maximum numbers of requests whose answers may still come, of addresses with challenges, of challenges, and of servers whose
/// number of players is known. The oldest entry goes first.
const MAX_ASKED: usize = 16_384;
const MAX_ADDRESSES: usize = 16_384;
const MAX_CHALLENGES: usize = 16_384;
const MAX_COUNTS: usize = 8_192;
/// Maximum number of requests for lists with right challenges that are remembered; the oldest goes first.
const MAX_PROVEN: usize = 4_096;
/// Maximum number of pairs of server and client that speak the dialect of Frontlines; the oldest goes first.
const MAX_FRONTLINES: usize = 4_096;
/// Maximum number of challenges remembered for an address at one server.
const MAX_ISSUED: usize = 8;
/// Maximum age of a challenge or a number of players, in nanoseconds.
const FRESH: i64 = 5_000_000_000;

/// The state for rules across datagrams.
#[derive(Debug)]
pub struct Memory {
    /// Requests by exchange.
    requests: Numbered<Request, MAX_ASKED>,
    /// The last exchange in which a client asked for a list with a right challenge, by server, client and step.
    proven: Bounded<(Endpoint, Endpoint, u8), u64, MAX_PROVEN>,
    /// Challenges by server and client address, the latest last.
    issued: Bounded<(Endpoint, Endpoint), ArrayVec<Challenge, MAX_ISSUED>, MAX_ADDRESSES>,
    /// The address that a challenge was first issued to, and when it was issued to it last, by server and value.
    owners: Bounded<(Endpoint, u32), (Endpoint, Time), MAX_CHALLENGES>,
    /// The number of players in the last INFO answer, by server.
    counts: Bounded<Endpoint, (u8, Time), MAX_COUNTS>,
    /// Servers and clients that have asked them as Frontlines does.
    frontlines: Bounded<(Endpoint, Endpoint), (), MAX_FRONTLINES>,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Memory {
        Memory {
            requests: budget.into(),
            proven: budget.into(),
            issued: budget.into(),
            owners: budget.into(),
            counts: budget.into(),
            frontlines: budget.into(),
        }
    }
}

/// A request whose answers may still come.
#[derive(Clone, Copy, Debug)]
struct Request {
    step: u8,
    proof: Carried,
}

/// What a request proves about its sender's address.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Carried {
    /// Nothing, because it carries no challenge.
    None,
    /// Nothing, because the server had issued only other challenges.
    Foreign,
    /// Probably nothing, because the server has issued none to the address since the capture began.
    Unissued,
    /// Probably that its sender receives what is sent to the address: the challenge was issued before the capture, cut, or
    /// forgotten.
    Unknown,
    /// That its sender receives what is sent to the address.
    Right,
    /// That its sender receives what is sent to the address, by the latest challenge, which is not too old.
    Fresh,
}

/// Whether a time is at most [`FRESH`] before a datagram.
fn is_fresh(time: Time, seen: &Observation<'_>) -> bool {
    seen.datagram.time.since(time).is_some_and(|age| age <= FRESH)
}

#[derive(Clone, Copy, Debug)]
struct Challenge {
    value: u32,
    port: u16,
    time: Time,
}

/// Whether the answers of a step are lists, which servers give to proven addresses only.
fn is_list(step: u8) -> bool {
    [PLAYERS_STEP, RULES_STEP].contains(&step)
}

impl Forgets for Memory {
    fn forgotten(&self) -> u64 {
        let by_requests = self.requests.forgotten().saturating_add(self.issued.forgotten());
        let by_requests = by_requests.saturating_add(self.proven.forgotten());
        let by_answers = self.owners.forgotten().saturating_add(self.counts.forgotten());
        by_requests.saturating_add(by_answers).saturating_add(self.frontlines.forgotten())
    }
}

impl Memory {
    /// Marks a request for a list whose answer is in the dialect of Frontlines, or may be.
    #[inline(always)]
    pub(super) fn recall(&self, [client, server]: [Endpoint; 2], probe: &mut Probe) {
        if ![PLAYERS_REQUEST, RULES_REQUEST].contains(&probe.message) {
            return;
        }
        if !self.frontlines.is_empty() && self.frontlines.get(&(server, client)).is_some() {
            probe.request_state |= FRONTLINES;
        } else if server.port() == frontlines::PORT {
            probe.request_state |= FRONTLINES_IF_IT_FITS;
        }
    }

    pub(super) fn observe(&mut self, seen: &Observation<'_>, raised: &mut Raised) {
        if let (Some(Piece { split, .. }), Pairing::Answered(_)) = (seen.piece, seen.pairing)
            && (split.layout != SOURCE || split.id >> 31 == 1 || split.total == 1)
        {
            raised.add(&SPL_007);
        }
        match *seen.pairing {
            Pairing::Asked { exchange, .. } => {
                if seen.probe.message == FRONTLINES_INFO_REQUEST {
                    self.frontlines.insert((seen.server, seen.client), ());
                }
                let proof = self.proof_of(seen, raised);
                if proof != Carried::None && proof != Carried::Foreign && is_list(seen.probe.step) {
                    self.proven.insert((seen.server, seen.client, seen.probe.step), exchange);
                }
                raised.proof = match proof {
                    Carried::None if seen.probe.step == PING_STEP => Proof::None,
                    Carried::None => Proof::Lacks,
                    Carried::Foreign => Proof::Wrong,
                    Carried::Unknown | Carried::Unissued => Proof::None,
                    Carried::Right | Carried::Fresh => Proof::Returns,
                };
                self.requests.insert(exchange, Request { step: seen.probe.step, proof });
            }
            // Only the first part of an answer shows that it is an answer.
            Pairing::Unsolicited { .. } if seen.probe.part.is_none_or(|part| part.number == 0) => {
                raised.add(&TXN_001);
            }
            Pairing::DuplicateResponse { first: true, .. } if seen.probe.part.is_some() => {
                raised.remove(&TXN_005);
                raised.add(&SPL_003);
            }
            Pairing::Answered(ref answer) => {
                if answer.out_of_order {
                    raised.add(&SPL_003);
                }
                if answer.second && answer.repeats_message {
                    raised.add(if frontlines::is_over(answer) { &TXN_001 } else { &TXN_006 });
                }
                self.answered(seen, answer, raised);
            }
            _ => {}
        }
    }

    /// Determines what a request proves.
    fn proof_of(&self, seen: &Observation<'_>, raised: &mut Raised) -> Carried {
        let Some(value) = challenge_of(seen.bytes()) else {
            // The request counts as carrying one, although its bytes contain none: they were cut.
            let cut_off = seen.probe.request_state & CARRIES != 0;
            return if cut_off { Carried::Unknown } else { Carried::None };
        };
        let Some(issued) = self.issued.get(&(seen.server, seen.client.host())) else {
            return if seen.may_predate_capture { Carried::Unknown } else { Carried::Unissued };
        };
        let last = issued.iter().rfind(|challenge| challenge.port == seen.client.port());
        if last.is_some_and(|last| last.value == value && is_fresh(last.time, seen)) {
            return Carried::Fresh;
        }
        if issued.iter().any(|challenge| challenge.value == value) {
            return Carried::Right;
        }
        // If older challenges were forgotten, it may be one of those.
        if issued.is_full() {
            return Carried::Unknown;
        }
        let start = challenge_at(seen.bytes()).unwrap_or_default() as u16;
        raised.add_values(
            &CHL_005,
            Some(Span { start, end: start.saturating_add(4) }),
            Compared::new(
                ComparedValue::Hex(value.into(), 8),
                last.map_or(ComparedValue::from("a challenge of this client"), |last| {
                    ComparedValue::Hex(last.value.into(), 8)
                }),
            ),
        );
        Carried::Foreign
    }

    fn answered(&mut self, seen: &Observation<'_>, answer: &Answer, raised: &mut Raised) {
        let Some(&mut Request { step, proof }) = self.requests.find(answer.exchange) else { return };
        let message = seen.probe.message;
        if message == PRINT_RESPONSE {
            return raised.add(&TXN_007);
        }
        if message == CHALLENGE_RESPONSE {
            if proof == Carried::Fresh && !answer.second {
                raised.add(&CHL_004);
            }
            return self.issue(seen, raised);
        }
        if [Carried::Foreign, Carried::Unissued].contains(&proof) {
            raised.proof = Proof::Wrong;
        }
        if !answer.part && !answer.second {
            // Where the same request with a challenge has followed, that may be the one that was answered.
            let proven = || self.proven.get(&(seen.server, seen.client, step));
            let lists = is_list(step) && proven().is_none_or(|later| *later < answer.exchange);
            match proof {
                Carried::None if step == INFO_STEP => raised.add(&SEC_001),
                Carried::None if lists => raised.add(&SEC_002),
                Carried::Foreign if lists && !seen.may_predate_capture => raised.add(&SEC_002),
                _ => {}
            }
        }
        let bytes = seen.bytes();
        match message {
            INFO_RESPONSE | GOLDSRC_INFO_RESPONSE | GOLDSRC_SHORT_INFO_RESPONSE => {
                if let Some(players) = players_of_info(bytes, answer.asked & FRONTLINES != 0) {
                    self.counts.insert(seen.server, (players, seen.datagram.time));
                }
            }
            PLAYERS_RESPONSE => {
                let stated = self.counts.get(&seen.server).filter(|(_, time)| is_fresh(*time, seen));
                if let (Some((players, _)), Some(count)) =
                    (stated, bytes.get(5).filter(|_| prefix_len(bytes) == MARK.len()))
                    && players != count
                {
                    raised.add_values(
                        &PLY_004,
                        Some(Span { start: 5, end: 6 }),
                        Compared::new(*count, *players),
                    );
                }
            }
            _ => {}
        }
    }

    /// Records a challenge that a server issues.
    fn issue(&mut self, seen: &Observation<'_>, raised: &mut Raised) {
        let at = prefix_len(seen.bytes()).saturating_add(1);
        let value = read_at(seen.bytes(), at, le_u32).filter(|value| !NONE_YET.contains(value));
        let Some(value) = value else { return };
        raised.proof = Proof::Issues(value);
        let (server, client, now) = (seen.server, seen.client, seen.datagram.time);
        let (owner, since) = self.owners.get_or_insert((server, value), (client.host(), now));
        if *owner == client.host() {
            *since = now;
        } else if !at_translation(now, *since) {
            let values = Compared::new(ComparedValue::Hex(value.into(), 8), "a value of its own");
            raised.add_values(&SEC_003, None, values);
        }
        let issued = self.issued.get_or_insert((server, client.host()), ArrayVec::new());
        let challenge = Challenge { value, port: client.port(), time: now };
        issued.retain(|known| (known.value, known.port) != (value, challenge.port));
        if issued.is_full() {
            issued.remove(0);
        }
        issued.push(challenge);
    }
}
