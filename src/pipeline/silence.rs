//! Servers that answer nothing, or nothing but challenges, and endpoints that could be such servers.
//!
//! Only the end of the input shows whether a server answered nothing. The counts come from exchanges that close without
//! an answer; of an answered exchange, only the fact that its server answers is remembered.

use super::attribution::Attribution;
use super::options::Options;
use crate::bounded::packed::Bits;
use crate::bounded::{Budget, Forgets as _, Numbered};
use crate::capture::Time;
use crate::check::{Finding, Silence};
use crate::classify::protocols_of;
use crate::classify::servers::{MAX_SERVERS, Servers};
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome, Windows};
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::{Candidate, SilentServer};
use crate::rule::Rule;
use crate::rule::general::{GEN_009, GEN_011};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// The fewest unanswered requests for which their server is reported.
const MIN_REQUESTS: u64 = 3;
/// The least time from the first to the last of them, in nanoseconds: a short loss proves nothing.
const MIN_DURATION: i64 = 2_000_000_000;
/// The fewest possible requests for which their endpoint is listed as a possible server.
const MIN_CANDIDATE_REQUESTS: u64 = 2;
/// Most retransmitted requests whose times are remembered with 64 MiB; the oldest is dropped first.
const MAX_RETRANSMITTED: usize = 8_192;
/// Most endpoints remembered that receive possible requests; further ones are not remembered.
const MAX_CANDIDATES: usize = 4_096;

/// One transmission of a request: its time and frame, and the number of datagrams of the request up to it.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    datagrams: u64,
    time: Time,
    frame: u64,
}

/// A retransmitted request. Its answer window starts anew with each transmission, so that at the end of the capture
/// the last transmissions may be undecided while the earlier ones are not.
#[derive(Clone, Copy, Debug)]
struct Retransmitted {
    last: Transmission,
    /// A transmission at most one answer window before the last one.
    recent: Transmission,
    /// A transmission more than the answer window before `recent`.
    earlier: Option<Transmission>,
}

/// The requests to a server that has not answered any.
#[derive(Debug)]
struct UnansweredRequests {
    requests: u64,
    refused: u64,
    /// Exchanges that another endpoint has answered.
    answered_elsewhere: u64,
    first: Time,
    last: Time,
    /// Frame of the last datagram, and its time.
    frame: u64,
    time: Time,
    /// The exchange of that datagram.
    exchange: Exchange,
}

impl UnansweredRequests {
    /// The requests to the server of an exchange, among those of all servers.
    fn of<'a>(all: &'a mut HashMap<u32, UnansweredRequests>, e: &Exchange) -> &'a mut UnansweredRequests {
        all.entry(e.server_index).or_insert_with(|| UnansweredRequests {
            requests: 0,
            refused: 0,
            answered_elsewhere: 0,
            first: e.request_time,
            last: e.request_time,
            frame: 0,
            time: e.request_time,
            exchange: e.clone(),
        })
    }

    /// Counts an exchange whose request was sent last at that time, as far as that is decided.
    fn count(&mut self, e: &Exchange, last: &Transmission) {
        if self.requests == 0 {
            (self.first, self.last) = (e.request_time, last.time);
        }
        self.requests += last.datagrams;
        self.refused += if e.outcome == Outcome::Refused { last.datagrams } else { 0 };
        self.first = self.first.min(e.request_time);
        self.last = self.last.max(last.time);
        if last.frame > self.frame {
            (self.frame, self.time, self.exchange) = (last.frame, last.time, e.clone());
        }
    }

    /// The details of the finding about a server that answers nothing but challenges.
    fn with_challenge(&self) -> Silence {
        let requests = [self.requests, self.refused, 0];
        Silence { challenged: true, ..Silence::new(requests, (self.first, self.last), false, None) }
    }

    /// Whether there are enough over enough time.
    fn suffice(&self, min_duration: i64) -> bool {
        self.requests >= MIN_REQUESTS && self.last.since(self.first).is_some_and(|t| t >= min_duration)
    }
}

/// See the module documentation. Servers are identified by their index, so that the server table bounds this state too.
#[derive(Debug)]
pub(super) struct Silences {
    windows: Windows,
    /// Servers that have answered.
    answered: Bits,
    /// By index of the server.
    unanswered: HashMap<u32, UnansweredRequests>,
    /// Servers that have answered a request with their challenge.
    answered_challenged: Bits,
    /// The requests with their challenge, by index of the server.
    challenged: HashMap<u32, UnansweredRequests>,
    /// By exchange.
    retransmitted: Numbered<Retransmitted, MAX_RETRANSMITTED>,
    /// Possible requests, by the endpoint and the protocol of their server.
    candidates: HashMap<(Endpoint, Id), CandidateCounts>,
    /// Capture time at the end of the input; unknown before.
    end: Time,
}

/// Counts of the possible requests to an endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct CandidateCounts {
    datagrams: u64,
    refused: u64,
    undecided: u64,
    answered: bool,
}

impl Silences {
    pub fn new(windows: Windows, budget: Budget) -> Self {
        let [answered, answered_challenged] = std::array::from_fn(|_| {
            let mut servers = Bits::default();
            servers.grow(budget.of(MAX_SERVERS));
            servers
        });
        Silences {
            windows,
            answered,
            unanswered: HashMap::new(),
            answered_challenged,
            challenged: HashMap::new(),
            retransmitted: budget.into(),
            candidates: HashMap::new(),
            end: Time::UNKNOWN,
        }
    }

    /// Notes that a server answers, or that another endpoint answers in its place.
    #[inline(always)]
    pub fn note_answered(&mut self, e: &Exchange, attribution: &Attribution) {
        match e.elsewhere {
            false => self.answered.set(e.server_index as usize),
            true => self.unanswered_requests(e).answered_elsewhere += 1,
        }
        if e.returns {
            match e.answer {
                Some(answer) if e.protocol.info().challenge == Some(answer) => {
                    self.count_challenged_again(e, attribution);
                }
                Some(answer) if answer == e.protocol.info().unknown() => {}
                _ => self.answered_challenged.set(e.server_index as usize),
            }
        }
    }

    /// Counts a request whose challenge the server has answered by another one.
    #[cold]
    #[inline(never)]
    fn count_challenged_again(&mut self, e: &Exchange, attribution: &Attribution) {
        if e.server_index != NONE
            && !self.answered_challenged.has(e.server_index as usize)
            && !attribution.explains(e.id)
        {
            let datagrams = 1 + u64::from(e.retransmissions);
            let sent = Transmission { datagrams, time: e.request_time, frame: e.request_frame };
            UnansweredRequests::of(&mut self.challenged, e).count(e, &sent);
        }
    }

    /// Whether a server has answered no request with its challenge so far.
    pub fn may_answer_only_challenges(&self, server: u32) -> bool {
        server != NONE && !self.answered_challenged.has(server as usize)
    }

    /// The unanswered requests to the server of an exchange.
    #[cold]
    #[inline(never)]
    fn unanswered_requests(&mut self, e: &Exchange) -> &mut UnansweredRequests {
        UnansweredRequests::of(&mut self.unanswered, e)
    }

    /// Notes the retransmission of a request.
    #[cold]
    #[inline(never)]
    pub fn note_retransmission(&mut self, id: Id, exchange: u64, time: Time, frame: u64) {
        let window = self.windows.answer(id);
        let Some(request) = self.retransmitted.get_mut(exchange) else {
            let last = Transmission { datagrams: 2, time, frame };
            let request = Retransmitted { last, recent: last, earlier: None };
            return self.retransmitted.insert(exchange, request);
        };
        request.last = Transmission { datagrams: request.last.datagrams + 1, time, frame };
        if time.since(request.recent.time).is_some_and(|t| t > window) {
            request.earlier = Some(std::mem::replace(&mut request.recent, request.last));
        }
    }

    /// Sets the capture time at the end of the input.
    pub fn set_end(&mut self, clock: Time) {
        self.end = clock;
    }

    /// Counts a closed exchange of low confidence.
    #[cold]
    #[inline(never)]
    pub fn count_candidate(&mut self, e: &Exchange) {
        let full = self.candidates.len() >= MAX_CANDIDATES;
        let key = (e.server, e.protocol);
        if full && !self.candidates.contains_key(&key) {
            return;
        }
        let counts = self.candidates.entry(key).or_default();
        let datagrams = 1 + u64::from(e.retransmissions);
        match e.outcome {
            Outcome::Answered | Outcome::Late => counts.answered = true,
            Outcome::Unanswered => {}
            Outcome::Refused => counts.refused += datagrams,
            // Of a retransmitted request, only the last datagram is certainly undecided.
            Outcome::Undecided => counts.undecided += 1,
        }
        counts.datagrams += if e.response_time.is_none() { datagrams } else { 0 };
    }

    /// Counts an exchange that closed without an answer. Returns the rule about its server of which the missing answer may
    /// turn out to be a symptom. `explained` says whether a fault of the request or of another answer explains it.
    #[cold]
    #[inline(never)]
    pub fn count_unanswered(
        &mut self,
        e: &Exchange,
        explained: impl FnOnce() -> bool,
    ) -> Option<&'static Rule> {
        if e.server_index == NONE {
            return None;
        }
        let last = self.last_decided(e);
        let (requests, rule) = match self.has_answered(e.server_index) {
            false => (&mut self.unanswered, &GEN_009),
            true if !e.returns || self.answered_challenged.has(e.server_index as usize) || explained() => {
                return None;
            }
            true => (&mut self.challenged, &GEN_011),
        };
        if let Some(last) = last {
            UnansweredRequests::of(requests, e).count(e, &last);
        }
        Some(rule)
    }

    fn has_answered(&self, server: u32) -> bool {
        self.answered.has(server as usize)
    }

    /// The last transmission of a request whose answer window has passed; `None` where there is none.
    fn last_decided(&mut self, e: &Exchange) -> Option<Transmission> {
        let first = Transmission { datagrams: 1, time: e.request_time, frame: e.request_frame };
        if e.retransmissions == 0 {
            return (e.outcome != Outcome::Undecided).then_some(first);
        }
        let known = self.retransmitted.find(e.id).copied();
        if e.outcome != Outcome::Undecided {
            // The number of datagrams is known even if their times are forgotten.
            let datagrams = 1 + u64::from(e.retransmissions);
            return Some(Transmission { datagrams, ..known.map_or(first, |request| request.last) });
        }
        let (end, window) = (self.end, self.windows.answer(e.protocol));
        let is_decided = |sent: &Transmission| end.since(sent.time).is_some_and(|t| t > window);
        let Retransmitted { recent, earlier, .. } = known?;
        [Some(recent), earlier, Some(first)].into_iter().flatten().find(is_decided)
    }

    /// Ends a series of files: removes and returns the servers that answered nothing, or nothing but challenges.
    /// `from_servers` says whether the capture holds any datagram from one of the `servers`.
    pub fn take_silent(
        &mut self,
        options: &Options,
        servers: &Servers,
        from_servers: bool,
    ) -> Vec<SilentServer> {
        let unanswered = std::mem::take(&mut self.unanswered);
        let challenged = std::mem::take(&mut self.challenged);
        let no_answers = !from_servers && options.watched.is_none();
        let min_duration = if options.watched.is_some() { 0 } else { MIN_DURATION };
        let silent = unanswered.into_iter().filter(|&(server, _)| !self.has_answered(server));
        // A server with several addresses may answer from another one, but a few answers of another endpoint prove
        // nothing.
        let silent = silent.filter(|(_, u)| u.requests > u.answered_elsewhere).map(|(_, u)| (&GEN_009, u));
        let challenged = challenged.into_iter();
        let challenged = challenged.filter(|&(server, _)| self.may_answer_only_challenges(server));
        let challenged = challenged.map(|(_, u)| (&GEN_011, u));
        let mut all: Vec<(&'static Rule, UnansweredRequests)> =
            silent.chain(challenged).filter(|(_, u)| u.suffice(min_duration)).collect();
        all.sort_by_key(|(_, unanswered)| unanswered.frame);
        let records = all.into_iter().filter_map(|(rule, unanswered)| {
            let severity = options.policy.severity(rule)?;
            let silence = match rule == &GEN_011 {
                true => unanswered.with_challenge(),
                false => self.silence_of(&unanswered, servers, no_answers),
            };
            let mut finding = Finding { severity, silence: Some(silence), ..Finding::of_exchange(rule) };
            finding.resolve_sender(Direction::S2c);
            let UnansweredRequests { frame, time, exchange, .. } = unanswered;
            Some(SilentServer { frame, time, exchange, finding })
        });
        let records = records.collect();
        self.answered.clear();
        self.answered_challenged.clear();
        self.end = Time::UNKNOWN;
        records
    }

    /// The details of the finding about a server that answered nothing.
    fn silence_of(&self, unanswered: &UnansweredRequests, servers: &Servers, no_answers: bool) -> Silence {
        let server = unanswered.exchange.server;
        let answers =
            |id: &Id| servers.find(server, *id).is_some_and(|index| self.answered.has(index as usize));
        let other_protocol =
            protocols_of(servers.protocols_at(server)).find(answers).map(|id| id.info().name);
        let requests = [unanswered.requests, unanswered.refused, unanswered.answered_elsewhere];
        Silence::new(requests, (unanswered.first, unanswered.last), no_answers, other_protocol)
    }

    /// Endpoints that received possible requests repeatedly and never answered, those with the most requests first.
    /// Endpoints that are `known` servers are left out.
    pub fn candidates(&self, known: impl Fn(Endpoint, Id) -> bool) -> Vec<Candidate> {
        let unanswered = self
            .candidates
            .iter()
            .filter(|(_, counts)| counts.datagrams >= MIN_CANDIDATE_REQUESTS && !counts.answered);
        let mut list: Vec<Candidate> =
            unanswered
                .filter(|((server, protocol), _)| !known(*server, *protocol))
                .map(|(&(server, protocol), &CandidateCounts { datagrams, refused, undecided, .. })| {
                    Candidate { server, protocol, datagrams, refused, undecided }
                })
                .collect();
        list.sort_by_cached_key(|c| (Reverse(c.datagrams), c.server.to_string(), c.protocol as u8));
        list
    }

    /// Number of retransmitted requests whose times were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.retransmitted.forgotten()
    }
}
