//! Servers that answer nothing, and endpoints that could be such servers.
//!
//! Whether a server answered nothing is known only at the end of the input. The counts come from exchanges that
//! close without an answer; of an answered exchange only the fact that its server answers is remembered.

use super::options::Options;
use crate::bounded::Numbered;
use crate::budget::{Budget, Forgets as _};
use crate::capture::Time;
use crate::check::{Finding, Silence};
use crate::classify::protocols_of;
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome, Windows};
use crate::general::GEN_009;
use crate::net::Endpoint;
use crate::packed::Bits;
use crate::protocols::{Direction, Id};
use crate::report::{Candidate, Silent};
use crate::servers::{MAX_SERVERS, Servers};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// The fewest unanswered requests that say something about their server.
const LEAST: u64 = 3;
/// The least time from the first to the last of them, in nanoseconds: a short loss proves nothing.
const LONG: i64 = 2_000_000_000;
/// The fewest possible requests to an endpoint for which it is listed as a possible server.
const REPEATED: u64 = 2;
/// Most retransmitted requests whose times are remembered with 64 MiB; the oldest is dropped first.
const MAX_AGAIN: usize = 8_192;
/// Most endpoints remembered that get possible requests; further ones are not remembered.
const MAX_CANDIDATES: usize = 4_096;

/// How many datagrams of a request were sent up to one of them, and when and in which frame that was.
#[derive(Clone, Copy, Debug)]
struct Sent {
    datagrams: u64,
    time: Time,
    frame: u64,
}

/// A retransmitted request. Its answer window starts anew with each transmission, so that at the end of the capture
/// the last transmissions may be undecided while the earlier ones are not.
#[derive(Clone, Copy, Debug)]
struct Again {
    last: Sent,
    /// A transmission that the last one followed within the answer window.
    recent: Sent,
    /// A transmission more than the answer window before `recent`.
    earlier: Option<Sent>,
}

/// The requests to a server that has not answered any.
#[derive(Debug)]
struct Unheard {
    requests: u64,
    refused: u64,
    /// Exchanges that another endpoint has answered.
    elsewhere: u64,
    first: Time,
    last: Time,
    /// Frame of the last datagram.
    frame: u64,
    /// The exchange of that datagram.
    exchange: Exchange,
}

/// See the module documentation. Servers are known by their index, so that the server table bounds this state too.
#[derive(Debug)]
pub(super) struct Silences {
    windows: Windows,
    /// Servers that have answered.
    answered: Bits,
    unheard: HashMap<u32, Unheard>,
    again: Numbered<Again, MAX_AGAIN>,
    /// Possible requests, by the endpoint and the protocol of their server.
    candidates: HashMap<(Endpoint, Id), Asked>,
    /// Capture time at the end of the input; unknown before.
    end: Time,
}

/// Counts of the possible requests to an endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    datagrams: u64,
    refused: u64,
    undecided: u64,
    answered: bool,
}

impl Silences {
    pub fn new(windows: Windows, budget: Budget) -> Self {
        let mut answered = Bits::default();
        answered.grow(budget.of(MAX_SERVERS));
        Silences {
            windows,
            answered,
            unheard: HashMap::new(),
            again: budget.into(),
            candidates: HashMap::new(),
            end: Time::UNKNOWN,
        }
    }

    /// Notes that a server answers, or that another endpoint answers in its place.
    #[inline(always)]
    pub fn answered(&mut self, e: &Exchange) {
        match e.elsewhere {
            false => self.answered.set(e.server_index as usize),
            true => self.unheard_of(e).elsewhere += 1,
        }
    }

    /// What is known of the requests to the server of an exchange.
    #[cold]
    #[inline(never)]
    fn unheard_of(&mut self, e: &Exchange) -> &mut Unheard {
        self.unheard.entry(e.server_index).or_insert_with(|| Unheard {
            requests: 0,
            refused: 0,
            elsewhere: 0,
            first: e.request_time,
            last: e.request_time,
            frame: 0,
            exchange: e.clone(),
        })
    }

    /// Notes the retransmission of a request.
    #[cold]
    #[inline(never)]
    pub fn again(&mut self, id: Id, exchange: u64, time: Time, frame: u64) {
        let window = self.windows.answer(id);
        let Some(again) = self.again.get_mut(exchange) else {
            let last = Sent { datagrams: 2, time, frame };
            return self.again.insert(exchange, Again { last, recent: last, earlier: None });
        };
        again.last = Sent { datagrams: again.last.datagrams + 1, time, frame };
        if time.since(again.recent.time).is_some_and(|t| t > window) {
            again.earlier = Some(std::mem::replace(&mut again.recent, again.last));
        }
    }

    /// Sets the capture time at the end of the input.
    pub fn ends(&mut self, clock: Time) {
        self.end = clock;
    }

    /// Counts a closed exchange of low confidence.
    #[cold]
    #[inline(never)]
    pub fn candidate(&mut self, e: &Exchange) {
        let full = self.candidates.len() >= MAX_CANDIDATES;
        let key = (e.server, e.protocol);
        if full && !self.candidates.contains_key(&key) {
            return;
        }
        let asked = self.candidates.entry(key).or_default();
        let datagrams = 1 + u64::from(e.retransmissions);
        match e.outcome {
            Outcome::Answered | Outcome::Late => asked.answered = true,
            Outcome::Unanswered => {}
            Outcome::Refused => asked.refused += datagrams,
            // Of a retransmitted request, only the last datagram is certainly undecided.
            Outcome::Undecided => asked.undecided += 1,
        }
        asked.datagrams += if e.response_time.is_none() { datagrams } else { 0 };
    }

    /// Counts an exchange that closed without an answer. Returns whether its server has answered nothing so far.
    #[cold]
    #[inline(never)]
    pub fn unanswered(&mut self, e: &Exchange) -> bool {
        if e.server_index == NONE || self.has_answered(e.server_index) {
            return false;
        }
        let Some(sent) = self.sent(e) else { return true };
        let unheard = self.unheard_of(e);
        if unheard.requests == 0 {
            (unheard.first, unheard.last) = (e.request_time, sent.time);
        }
        unheard.requests += sent.datagrams;
        unheard.refused += if e.outcome == Outcome::Refused { sent.datagrams } else { 0 };
        unheard.first = unheard.first.min(e.request_time);
        unheard.last = unheard.last.max(sent.time);
        if sent.frame > unheard.frame {
            (unheard.frame, unheard.exchange) = (sent.frame, e.clone());
        }
        true
    }

    fn has_answered(&self, server: u32) -> bool {
        self.answered.has(server as usize)
    }

    /// The datagrams of a request up to the last one whose answer window has passed; `None` where none has.
    fn sent(&mut self, e: &Exchange) -> Option<Sent> {
        let first = Sent { datagrams: 1, time: e.request_time, frame: e.request_frame };
        if e.retransmissions == 0 {
            return (e.outcome != Outcome::Undecided).then_some(first);
        }
        let known = self.again.find(e.id).copied();
        if e.outcome != Outcome::Undecided {
            // The number of datagrams is known even if their times are forgotten.
            let datagrams = 1 + u64::from(e.retransmissions);
            return Some(Sent { datagrams, ..known.map_or(first, |again| again.last) });
        }
        let (end, window) = (self.end, self.windows.answer(e.protocol));
        let had_time = |sent: &Sent| end.since(sent.time).is_some_and(|t| t > window);
        let Again { recent, earlier, .. } = known?;
        [Some(recent), earlier, Some(first)].into_iter().flatten().find(had_time)
    }

    /// Ends a series of files: returns the servers that answered nothing. `heard` says whether the capture holds anything
    /// that one of the `servers` sent.
    pub fn take(&mut self, options: &Options, servers: &Servers, heard: bool) -> Vec<Silent> {
        let unheard = std::mem::take(&mut self.unheard);
        let nobody = !heard && options.watched.is_none();
        let long = if options.watched.is_some() { 0 } else { LONG };
        let mut silent: Vec<Unheard> = unheard
            .into_iter()
            .filter(|&(server, _)| !self.has_answered(server))
            .map(|(_, unheard)| unheard)
            // A server with several addresses may answer from another one; a stray answer does not speak for it.
            .filter(|u| {
                u.requests >= LEAST
                    && u.requests > u.elsewhere
                    && u.last.since(u.first).is_some_and(|t| t >= long)
            })
            .collect();
        silent.sort_by_key(|unheard| unheard.frame);
        let severity = options.policy.severity(&GEN_009);
        let told = silent.into_iter().filter_map(|unheard| {
            let (severity, silence) = (severity?, Some(self.silence_of(&unheard, servers, nobody)));
            let mut finding = Finding { severity, silence, ..Finding::of_exchange(&GEN_009) };
            finding.sent(Direction::S2c);
            Some(Silent { frame: unheard.frame, exchange: unheard.exchange, finding })
        });
        let told = told.collect();
        self.answered.clear();
        self.end = Time::UNKNOWN;
        told
    }

    /// What there is to say of a server that answered nothing.
    fn silence_of(&self, unheard: &Unheard, servers: &Servers, nobody: bool) -> Silence {
        let at = unheard.exchange.server;
        let answers = |id: &Id| servers.find(at, *id).is_some_and(|index| self.answered.has(index as usize));
        let answers = protocols_of(servers.protocols_at(at)).find(answers).map(|id| id.info().name);
        let requests = [unheard.requests, unheard.refused, unheard.elsewhere];
        Silence::new(requests, (unheard.first, unheard.last), nobody, answers)
    }

    /// Endpoints that got possible requests repeatedly and never answered; those that got the most come first.
    /// Endpoints that are `known` servers are left out.
    pub fn candidates(&self, known: impl Fn(Endpoint, Id) -> bool) -> Vec<Candidate> {
        let repeated =
            self.candidates.iter().filter(|(_, asked)| asked.datagrams >= REPEATED && !asked.answered);
        let mut list: Vec<Candidate> = repeated
            .filter(|((server, protocol), _)| !known(*server, *protocol))
            .map(|(&(server, protocol), &Asked { datagrams, refused, undecided, .. })| Candidate {
                server,
                protocol,
                datagrams,
                refused,
                undecided,
            })
            .collect();
        list.sort_by_cached_key(|c| (Reverse(c.datagrams), c.server.to_string(), c.protocol as u8));
        list
    }

    /// Number of retransmitted requests whose times were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.again.forgotten()
    }
}
