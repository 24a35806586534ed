//! Servers that answer nothing, and endpoints that could be such servers.
//!
//! That no request was answered is known at the end of the input, and so is nothing else here: what is added up comes from
//! exchanges that close without an answer. Of an answered one it is only remembered that its server answers.

use super::options::Options;
use crate::bounded::Numbered;
use crate::capture::Time;
use crate::check::{Counts, Finding, Silence};
use crate::contract::Budget;
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome, Windows};
use crate::general::GEN_009;
use crate::net::Endpoint;
use crate::packed::Bits;
use crate::protocols::{Direction, Id};
use crate::report::{Candidate, Silent};
use crate::servers::MAX_SERVERS;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// So many requests without an answer are the fewest that say something of their server.
const LEAST: u64 = 3;
/// … the last of them that long after the first, in nanoseconds: a short loss proves nothing.
const LONG: i64 = 2_000_000_000;
/// Datagrams sent to one endpoint that could ask something: fewer are not worth a word.
const REPEATED: u64 = 2;
/// Exchanges whose request was sent again, and when; the oldest goes first.
const MAX_AGAIN: usize = 8_192;
/// Endpoints that get what could be requests; further ones are not remembered.
const MAX_CANDIDATES: usize = 4_096;

/// The datagrams of a request up to one of them.
#[derive(Clone, Copy, Debug)]
struct Sent {
    datagrams: u64,
    time: Time,
    frame: u64,
}

/// A request that was sent again. Its window passes anew each time, so with the capture at its end the last datagrams of
/// it may be undecided while those before them are not.
#[derive(Clone, Copy, Debug)]
struct Again {
    last: Sent,
    /// From here to the last one the answer window has not passed.
    recent: Sent,
    /// More than the answer window before that.
    earlier: Option<Sent>,
}

/// The requests to a server that has not answered any.
#[derive(Debug)]
struct Unheard {
    requests: u64,
    refused: u64,
    first: Time,
    last: Time,
    /// Frame of the last datagram.
    frame: u64,
    /// Its exchange.
    exchange: Exchange,
    /// What was counted of findings about these exchanges.
    findings: Counts,
}

/// See the module's words. Servers go by their index, so that their table bounds what is kept of them.
#[derive(Debug)]
pub(super) struct Silences {
    windows: Windows,
    /// Servers that have answered.
    answered: Bits,
    unheard: HashMap<u32, Unheard>,
    again: Numbered<Again>,
    /// Datagrams that could ask something, by whom they ask.
    candidates: HashMap<(Endpoint, Id), Asked>,
    /// Somebody has answered something.
    anybody: bool,
    /// Capture time at the end of the input; unknown before.
    end: Time,
    forgotten: u64,
}

/// What an endpoint got of what could be requests.
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
            again: Numbered::new(budget.of(MAX_AGAIN)),
            candidates: HashMap::new(),
            anybody: false,
            end: Time::UNKNOWN,
            forgotten: 0,
        }
    }

    /// A server answers.
    #[inline(always)]
    pub fn answered(&mut self, server: u32) {
        self.answered.set(server as usize);
    }

    /// Something has come from a server, whatever it answers: both directions are in the capture.
    #[inline]
    pub fn heard(&mut self) {
        self.anybody = true;
    }

    /// A request is sent again.
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

    /// The input ends at that capture time.
    pub fn ends(&mut self, clock: Time) {
        self.end = clock;
    }

    /// An exchange of low confidence has closed.
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
            // Of a request that was sent again only the last datagram is open in any case.
            Outcome::Undecided => asked.undecided += 1,
        }
        asked.datagrams += if e.response_time.is_none() { datagrams } else { 0 };
    }

    /// An exchange has closed without an answer; of it this was found.
    #[cold]
    #[inline(never)]
    pub fn unanswered(&mut self, e: &Exchange, finding: Option<&Finding>) {
        if e.server_index == NONE || self.has_answered(e.server_index) {
            return;
        }
        let Some(sent) = self.sent(e) else { return };
        let unheard = self.unheard.entry(e.server_index).or_insert_with(|| Unheard {
            requests: 0,
            refused: 0,
            first: e.request_time,
            last: sent.time,
            frame: 0,
            exchange: e.clone(),
            findings: Counts::default(),
        });
        unheard.requests += sent.datagrams;
        unheard.refused += if e.outcome == Outcome::Refused { sent.datagrams } else { 0 };
        unheard.first = unheard.first.min(e.request_time);
        unheard.last = unheard.last.max(sent.time);
        if sent.frame > unheard.frame {
            (unheard.frame, unheard.exchange) = (sent.frame, e.clone());
        }
        finding.into_iter().for_each(|finding| unheard.findings.see(finding));
    }

    fn has_answered(&self, server: u32) -> bool {
        self.answered.has(server as usize)
    }

    /// The datagrams of a request up to the last one that had its time; `None` where none had.
    fn sent(&mut self, e: &Exchange) -> Option<Sent> {
        let first = Sent { datagrams: 1, time: e.request_time, frame: e.request_frame };
        if e.retransmissions == 0 {
            return (e.outcome != Outcome::Undecided).then_some(first);
        }
        let known = self.again.get(e.id).copied();
        self.forgotten += u64::from(known.is_none());
        if e.outcome != Outcome::Undecided {
            // How many there were is known in any case.
            let datagrams = 1 + u64::from(e.retransmissions);
            return Some(Sent { datagrams, ..known.map_or(first, |again| again.last) });
        }
        let (end, window) = (self.end, self.windows.answer(e.protocol));
        let had_time = |sent: &Sent| end.since(sent.time).is_some_and(|t| t > window);
        let Again { recent, earlier, .. } = known?;
        [Some(recent), earlier, Some(first)].into_iter().flatten().find(had_time)
    }

    /// Nothing goes on with what has been read so far: the servers that answered nothing, and what was counted of
    /// findings that are only symptoms of that. `heard` says whether the capture holds an answer.
    pub fn take(&mut self, options: &Options, heard: bool) -> (Vec<Silent>, Counts) {
        let unheard = std::mem::take(&mut self.unheard);
        let nobody = !heard && !self.anybody && options.watched.is_none();
        let long = if options.watched.is_some() { 0 } else { LONG };
        let mut silent: Vec<Unheard> = unheard
            .into_iter()
            .filter(|&(server, _)| !self.has_answered(server))
            .map(|(_, unheard)| unheard)
            .filter(|u| u.requests >= LEAST && u.last.since(u.first).is_some_and(|t| t >= long))
            .collect();
        silent.sort_by_key(|unheard| unheard.frame);
        self.answered.clear();
        (self.anybody, self.end) = (false, Time::UNKNOWN);
        let mut symptoms = Counts::default();
        let Some(severity) = options.policy.severity(&GEN_009) else { return (vec![], symptoms) };
        let told = silent.into_iter().map(|unheard| {
            symptoms.merge(&unheard.findings);
            let silence =
                Silence::new(unheard.requests, unheard.refused, (unheard.first, unheard.last), nobody);
            let mut finding = Finding { severity, silence: Some(silence), ..Finding::of_exchange(&GEN_009) };
            finding.sent(Direction::S2c);
            Silent { frame: unheard.frame, exchange: unheard.exchange, finding }
        });
        (told.collect(), symptoms)
    }

    /// Endpoints to which something was sent repeatedly that could ask, and never answered; those with the most come
    /// first. What `known` says of them is no longer only possible.
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

    /// Requests of which it was forgotten when they were sent last.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}
