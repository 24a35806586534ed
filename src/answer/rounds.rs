//! Plays a recorded conversation: for each request of a client the answers to a similar one.

use super::Reply;
use super::request::Request;
use super::written::{Asked, Settings, Written};
use crate::bounded::{Bounded, Budget};
use crate::protocols::Id;
use std::net::SocketAddr;
use std::ops::Range;

/// Maximum number of clients whose place in the conversation is remembered; the oldest is forgotten, and begins anew.
const MAX_CLIENTS: usize = 1_024;
/// Length of a repeated part from which on it is looked for where it does not stand in its place.
const DISTINCT: usize = 2;

/// A request of the recorded conversation, and what the server sent before the next one.
#[derive(Clone, Debug)]
pub struct Round {
    pub request: Request,
    pub replies: Vec<Planned>,
}

/// A recorded answer.
#[derive(Clone, Debug)]
pub struct Planned {
    pub reply: Reply,
    /// A challenge in it stays as it is.
    pub as_recorded: bool,
}

/// A conversation that is played.
#[derive(Debug)]
pub struct Rounds {
    id: Id,
    rounds: Vec<Round>,
    /// What follows a right answer without a request.
    unasked: Vec<Reply>,
    /// The next round of each client.
    places: Bounded<SocketAddr, usize, MAX_CLIENTS>,
}

/// The same conversation, which no client has begun.
impl Clone for Rounds {
    fn clone(&self) -> Rounds {
        Rounds::new(self.id, self.rounds.clone(), self.unasked.clone())
    }
}

impl Rounds {
    /// A conversation of these rounds.
    pub fn new(id: Id, rounds: Vec<Round>, unasked: Vec<Reply>) -> Rounds {
        Rounds { id, rounds, unasked, places: Budget::default().into() }
    }

    /// Number of rounds.
    pub fn count(&self) -> usize {
        self.rounds.len()
    }

    /// What follows a right answer without a request.
    pub fn unasked(&self) -> &[Reply] {
        &self.unasked
    }

    /// The answers to a request, fitted to it; `None` where nobody asked for such a thing in the conversation.
    pub fn replies(&mut self, from: SocketAddr, request: &Request, asked: &Asked<'_>) -> Option<Vec<Reply>> {
        let place = self.places.get_or_insert(from, 0);
        let like = |(_, round): &(usize, &Round)| round.request.is_like(request);
        let equal = |(_, round): &(usize, &Round)| round.request.payload == request.payload;
        let all = || self.rounds.iter().enumerate().filter(like);
        let ahead = all().filter(|(at, _)| at >= place).min_by_key(|round| !equal(round));
        let (at, round) = ahead.or_else(|| all().rev().min_by_key(|round| !equal(round)))?;
        *place = (*place).max(at.saturating_add(1));
        let fit = |planned: &Planned| Reply {
            payload: fitted(self.id, planned, &round.request, asked),
            ..planned.reply
        };
        Some(round.replies.iter().map(fit).collect())
    }
}

/// The recorded answer with what it repeats taken from this request, and with the challenge of this client.
fn fitted(id: Id, planned: &Planned, recorded: &Request, asked: &Asked<'_>) -> Vec<u8> {
    let mut payload = planned.reply.payload.clone();
    let plain = Settings::default();
    for reply in recorded.answers(id) {
        let before = Asked { payload: &recorded.payload, settings: &plain, ..*asked };
        let [old, new] =
            [before, Asked { settings: &plain, ..*asked }].map(|asked| Written::of(reply.slots, &asked));
        for (was, is) in old.repeated.iter().zip(&new.repeated).rev() {
            let parts = old.bytes.get(was.clone()).zip(new.bytes.get(is.clone()));
            let Some((from, to)) = parts.filter(|(from, to)| !from.is_empty() && from != to) else {
                continue;
            };
            if let Some(place) = place(&payload, from, was) {
                payload.splice(place, to.iter().copied());
            }
        }
        let challenge = old.challenge.filter(|_| !planned.as_recorded);
        if let Some((place, bytes)) = challenge.and_then(|at| challenge_place(&payload, &old.bytes, at)) {
            payload.splice(place, bytes);
        }
    }
    payload
}

/// Where in an answer a repeated part stands.
fn place(payload: &[u8], part: &[u8], expected: &Range<usize>) -> Option<Range<usize>> {
    if payload.get(expected.clone()) == Some(part) {
        return Some(expected.clone());
    }
    let start = payload.windows(part.len()).position(|window| window == part)?;
    (part.len() >= DISTINCT).then(|| start..start.saturating_add(part.len()))
}

/// Where in a recorded answer the challenge stands, and what is written there; `None` where it is another kind of answer.
fn challenge_place(payload: &[u8], right: &[u8], at: Range<usize>) -> Option<(Range<usize>, Vec<u8>)> {
    let head = right.get(..at.start)?;
    let rest = payload.strip_prefix(head)?;
    let bytes = right.get(at.clone())?;
    // A text ends with its zero, a number where all such numbers end.
    let is_text = bytes.last() == Some(&0) && bytes.iter().rev().skip(1).all(u8::is_ascii_digit);
    let length = if is_text { rest.iter().position(|b| *b == 0)?.saturating_add(1) } else { bytes.len() };
    (length <= rest.len()).then(|| (at.start..at.start.saturating_add(length), bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKS: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

    fn round(answer: &[u8]) -> Round {
        let request = Request::of(Id::Mumble, ASKS).expect("a request");
        let reply = Reply { after: 0, payload: answer.to_vec() };
        Round { request, replies: vec![Planned { reply, as_recorded: false }] }
    }

    /// The answers that a client of this port gets.
    fn answers(rounds: &mut Rounds, port: u16, payload: &[u8]) -> Vec<Vec<u8>> {
        let request = Request::of(Id::Mumble, payload).expect("a request");
        let settings = Settings::default();
        let asked = Asked { payload, challenge: 1, serial: 0, settings: &settings };
        let replies = rounds.replies(([127, 0, 0, 1], port).into(), &request, &asked);
        replies.into_iter().flatten().map(|reply| reply.payload).collect()
    }

    #[test]
    fn the_places_of_clients_are_bounded() {
        let mut rounds = Rounds::new(Id::Mumble, vec![round(b"one"), round(b"two")], vec![]);
        let mut ask = |port| answers(&mut rounds, port, ASKS);
        assert_eq!([ask(1), ask(1), ask(1)].concat(), [b"one", b"two", b"two"]);
        (2..=MAX_CLIENTS as u16).for_each(|port| assert_eq!(ask(port), [b"one"]));
        assert_eq!(ask(1), [b"two"]);
        ask(MAX_CLIENTS as u16 + 1);
        assert_eq!(ask(1), [b"one"], "it was forgotten, and begins anew");
    }

    #[test]
    fn what_an_answer_repeats_is_taken_from_the_request() {
        let recorded = [&[0, 1, 4, 0][..], &[0, 0, 0, 0, 0, 0, 0, 1], &[9; 12]].concat();
        let mut rounds = Rounds::new(Id::Mumble, vec![round(&recorded)], vec![]);
        let asks = [&[0; 4][..], b"abcdefgh"].concat();
        assert_eq!(answers(&mut rounds, 1, &asks), [[&[0, 1, 4, 0][..], b"abcdefgh", &[9; 12]].concat()]);
        // What it does not repeat stays wrong.
        let mut rounds = Rounds::new(Id::Mumble, vec![round(b"else")], vec![]);
        assert_eq!(answers(&mut rounds, 1, &asks), [b"else"]);
    }
}
