//! Incomplete exchanges: answers of which some parts have come, and answers that come before their request.

use super::queue::{HIDDEN, Request};
use super::search::answers_of;
use super::windows::{EARLY, EARLY_FRAMES};
use super::{Answer, Exchange, Lack, MAX_HOSTS, Outcome};
use crate::bounded::packed::Numbers;
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::{Budget, Part};
use crate::conversation::{Conversation, Slot};
use crate::net::Datagram;
use crate::protocols::{Id, Level, Probe, Role, StepInfo};
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Which parts of an answer have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberedParts {
    /// Their numbers.
    numbers: Numbers,
    /// The highest number among them.
    pub(super) highest: u8,
    /// Number of parts, once a part has shown it.
    total: Option<u8>,
    /// Elements of the list that they have listed, and how many there are, once a part has shown it.
    listed: u16,
    of: Option<u16>,
    /// The key that they carry.
    pub key: Option<u64>,
    /// Time of the last one.
    last: Time,
}

impl NumberedParts {
    /// An answer whose first part to arrive is this one.
    pub fn new(part: Part, key: Option<u64>, now: Time) -> NumberedParts {
        let mut numbered = NumberedParts {
            numbers: Numbers::default(),
            highest: 0,
            total: None,
            listed: 0,
            of: None,
            key,
            last: now,
        };
        numbered.add(part, now);
        numbered
    }

    /// Adds a part; `false` where it contradicts the parts before it. If it shows that it is the last, parts with
    /// higher numbers no longer count.
    pub fn add(&mut self, part: Part, now: Time) -> bool {
        self.last = self.last.max(now);
        let other_total = self.total.is_some() && part.total.is_some() && self.total != part.total;
        let total = part.total.or(self.total);
        let last = total.map_or(u8::MAX, |total| total.saturating_sub(1));
        if other_total || part.number > last || !self.numbers.insert(part.number) {
            return false;
        }
        if let Some(share) = part.share {
            self.listed = self.listed.saturating_add(share.listed);
            self.of = share.of.or(self.of);
        }
        let has_higher = self.highest > last;
        self.numbers.keep_up_to(last);
        (self.highest, self.total) = (self.highest.max(part.number).min(last), total);
        !has_higher
    }

    pub fn is_complete(&self) -> bool {
        let all_listed = self.of.is_some_and(|of| self.listed >= of);
        all_listed || self.total.is_some_and(|total| u32::from(total) == self.count())
    }

    /// Whether the elements of a list, not the parts, show whether the answer is complete.
    fn lists(&self) -> bool {
        self.listed > 0 || self.of.is_some()
    }

    /// Number of parts that have come.
    pub fn count(&self) -> u32 {
        self.numbers.len()
    }

    /// Whether the part with that number has come.
    pub fn has(&self, part: Part) -> bool {
        self.numbers.has(part.number)
    }

    /// What is missing and no longer expected, because the last part came more than `window` nanoseconds ago.
    pub fn missing(&self, now: Time, window: i64) -> Option<Lack> {
        let is_over = now.since(self.last).is_some_and(|age| age > window);
        let has_gap = self.total.is_some() || self.count() <= self.highest.into();
        let lack = if has_gap { Lack::Part } else { Lack::End };
        (is_over && !self.is_complete()).then_some(lack)
    }
}

/// Most answers in parts that are not complete, with 64 MiB; if there are more, the one that began first ends.
const MAX_ANSWERING: usize = 4_096;

/// The answers of which some parts have come.
#[derive(Debug)]
pub(super) struct PartialAnswers {
    /// By exchange; see [`PartialAnswers::insert`].
    pub by_exchange: HashMap<u64, PartialAnswer>,
    /// Their exchanges in the order in which they began, and some that have ended.
    order: VecDeque<u64>,
    most: usize,
}

impl From<Budget> for PartialAnswers {
    fn from(budget: Budget) -> Self {
        let (by_exchange, order, most) = (HashMap::new(), VecDeque::new(), budget.of(MAX_ANSWERING));
        PartialAnswers { by_exchange, order, most }
    }
}

impl PartialAnswers {
    /// Remembers an answer, for which there is [room](Self::oldest_if_full).
    pub fn insert(&mut self, exchange: u64, answer: PartialAnswer) {
        if self.order.len() > 2 * self.by_exchange.len() + 64 {
            self.order.retain(|exchange| self.by_exchange.contains_key(exchange));
        }
        self.order.push_back(exchange);
        self.by_exchange.insert(exchange, answer);
    }

    /// The answer that began first, if there is no room for another one.
    pub fn oldest_if_full(&mut self) -> Option<&PartialAnswer> {
        if self.by_exchange.len() < self.most {
            return None;
        }
        while self.order.front().is_some_and(|exchange| !self.by_exchange.contains_key(exchange)) {
            self.order.pop_front();
        }
        self.by_exchange.get(self.order.front()?)
    }
}

/// An answer of which some parts have come.
#[derive(Debug)]
pub(super) struct PartialAnswer {
    /// Its protocol and the number of its request.
    pub(super) request: (Id, u64),
    /// No part shows that it is the last.
    pub(super) open_ended: bool,
    pub(super) outcome: Outcome,
    pub(super) response_time: Option<i64>,
    /// Index of the message, or of the message of its first part; `None` where many hosts answer.
    pub(super) message: Option<u8>,
    /// Time of its first part.
    pub(super) first: Time,
    /// The only frame of an open-ended answer: most of these are one datagram, for which no list is allocated.
    pub(super) frame: Option<u64>,
    /// Otherwise the frames of its parts, at most [`MAX_HOSTS`].
    pub(super) frames: Vec<u64>,
    pub(super) bytes: u64,
    /// Its last part has come, or it is not known whether it has: the capture has cut a part.
    pub(super) may_be_ended: bool,
    /// Frame of the first part that contradicts others.
    pub(super) contradicted: Option<u64>,
    /// Which parts have come, where they are numbered.
    pub(super) numbered: Option<NumberedParts>,
}

impl PartialAnswer {
    /// An answer to the request with that number, to which no part has been [added](Self::add) yet.
    pub fn new(request: (Id, u64), answer: &Answer, now: Time) -> PartialAnswer {
        PartialAnswer {
            request,
            open_ended: false,
            outcome: if answer.late { Outcome::Late } else { Outcome::Answered },
            response_time: answer.response_time,
            message: None,
            first: now,
            frame: None,
            frames: vec![],
            bytes: 0,
            may_be_ended: false,
            contradicted: None,
            numbered: None,
        }
    }

    /// What is missing and no longer expected after `window` nanoseconds.
    pub fn missing(&self, now: Time, window: i64, step: &StepInfo) -> Option<Lack> {
        let Some(numbered) = &self.numbered else {
            let is_over = now.since(self.first).is_some_and(|age| age > window);
            let is_unended = step.rules.unended.is_some() && !self.may_be_ended && is_over;
            return is_unended.then_some(Lack::End);
        };
        // A part that the capture has cut lists more than can be counted.
        let is_counted = !numbered.lists() || !self.may_be_ended;
        numbered.missing(now, window).filter(|_| is_counted)
    }

    /// Adds a part; returns the number of bytes before it. In an open-ended answer without numbers, `state` is that of the datagram,
    /// see [`Probe::UNENDED`].
    pub fn add(&mut self, d: &Datagram<'_>, state: u32) -> u32 {
        if self.open_ended && self.frame.is_none() && self.frames.is_empty() {
            self.frame = Some(d.frame);
        } else if self.frames.len() < MAX_HOSTS {
            self.frames.extend(self.frame.take());
            self.frames.push(d.frame);
        }
        let before = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        self.bytes += d.wire_len() as u64;
        let is_last = self.open_ended && self.numbered.is_none() && state & Probe::UNENDED == 0;
        self.may_be_ended |= d.cut > 0 || is_last;
        before
    }
}

/// An answer whose request is being searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply<'a> {
    pub d: &'a Datagram<'a>,
    pub v: &'a Verdict,
    pub now: Time,
    /// See `Table::fingerprint`.
    pub hash: u32,
}

/// An answer without a request so far: its request may come after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orphan {
    pub conversation: Slot,
    pub step: u8,
    /// Index into the protocol's messages.
    pub message: Option<u8>,
    pub key: Option<u64>,
    /// Its role, its part number, and whether it begins a message.
    pub role: Role,
    pub part: Option<Part>,
    pub begins: bool,
    /// Confidence of the pair, if a request is found.
    pub paired: Level,
    /// See [`Probe::request_state`](crate::protocols::Probe::request_state).
    pub request_state: u32,
    pub frame: u64,
    pub time: Time,
    /// Capture time when it came.
    pub since: Time,
    pub hash: u32,
    pub bytes: u32,
    /// The client had lately sent a command, which it may answer.
    pub commanded: bool,
}

impl Orphan {
    /// Whether it is all of the answer to a request with that state.
    pub fn is_whole(&self, step: &StepInfo, request_state: u32) -> bool {
        let part = self.part.filter(|_| request_state & Probe::WHOLE_ANSWER == 0);
        let is_part = self.role == Role::ResponsePart && (part.is_some() || self.part.is_none());
        !step.open_ended && !is_part
    }

    /// Whether it may answer a request of that step with that state and key.
    fn answers(&self, id: Id, asked_step: u8, key: Option<u64>, request_state: u32) -> bool {
        let Some(step) = id.info().steps.get(usize::from(self.step)) else { return false };
        let answers = answers_of(id, self.message, self.part);
        // A request that carries an issued value was sent because that value came.
        let carries = answers.equivalent && request_state & step.carries != 0;
        let also = || !(answers.refuses && self.commanded) && answers.also.contains(&asked_step);
        let of_step = self.step == asked_step || also();
        let has_key = step.key_digits == 0 || self.key == key;
        of_step && !carries && has_key && !step.excluded(self.request_state, request_state)
    }

    /// Whether it came so shortly before that datagram, at that capture time, that it may belong to a request in it.
    pub fn is_just_before(&self, d: &Datagram<'_>, clock: Time) -> bool {
        self.frame + EARLY_FRAMES >= d.frame
            && clock.since(self.since).is_none_or(|t| t <= EARLY)
            && d.time.since(self.time).is_none_or(|t| t.abs() <= EARLY)
    }

    /// Whether it may answer the request in that datagram, which comes after it.
    pub fn precedes(&self, slot: Slot, d: &Datagram<'_>, v: &Verdict, clock: Time) -> bool {
        let Probe { step, key, request_state, .. } = v.probe;
        self.conversation == slot
            && self.is_just_before(d, clock)
            && self.answers(v.id, step, key, request_state)
    }

    /// An open request that turned out to be an answer, and came at the capture time `since`.
    pub fn of(conversation: Slot, r: &Request, since: Time) -> Orphan {
        let &Request { step, request_state, frame, time, answer_hash: hash, bytes, .. } = r;
        let paired = r.paired();
        Orphan {
            conversation,
            step,
            message: None,
            key: None,
            role: Role::Response,
            part: None,
            begins: true,
            paired,
            request_state,
            frame,
            time,
            since,
            hash,
            bytes,
            commanded: false,
        }
    }
}

/// The record of an exchange; the last three parameters describe the answer.
#[inline(always)]
pub(super) fn record(
    c: &Conversation,
    r: &Request,
    outcome: Outcome,
    response_frame: Option<u64>,
    response_time: Option<i64>,
    response_bytes: u64,
) -> Exchange {
    Exchange {
        id: r.id,
        protocol: c.id,
        step: r.step,
        level: c.level,
        conversation: c.slot(r.conversation),
        client: c.client(),
        server: c.server(),
        server_index: c.server_index(),
        key: r.key(),
        shown_key: None,
        request_frame: r.frame,
        request_time: r.time,
        response_frame,
        answer: None,
        response_parts: vec![],
        outcome,
        response_time,
        request_bytes: u64::from(r.bytes),
        response_bytes,
        retransmissions: r.retransmissions,
        reason: None,
        incomplete: None,
        contradicted: None,
        elsewhere: false,
        unreadable: false,
        returns: r.returns(),
        hidden: r.is(HIDDEN),
        assumed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Share;

    const AT: Time = Time::from_nanos(0);

    fn part(number: u8, total: Option<u8>) -> Part {
        Part { number, total, makes: None, share: None }
    }

    #[test]
    fn parts_that_list_as_many_as_the_first_one_counts_complete_the_answer() {
        let listing = |number, listed, of| Part { share: Some(Share { listed, of }), ..part(number, None) };
        let mut numbered = NumberedParts::new(listing(2, 1, None), None, AT);
        assert!(numbered.add(listing(0, 4, Some(7)), AT) && !numbered.is_complete());
        assert_eq!(numbered.missing(Time::from_nanos(11), 10), Some(Lack::Part));
        assert!(numbered.add(listing(1, 2, None), AT) && numbered.is_complete());
        assert_eq!(numbered.missing(Time::from_nanos(11), 10), None);
    }

    #[test]
    fn parts_in_any_order_complete_the_answer() {
        let mut numbered = NumberedParts::new(part(2, Some(3)), None, AT);
        assert!(numbered.add(part(0, None), AT) && !numbered.is_complete());
        assert!(numbered.add(part(1, None), AT) && numbered.is_complete());
    }

    #[test]
    fn a_contradicting_part_is_reported_and_ignored() {
        let mut numbered = NumberedParts::new(part(0, None), None, AT);
        assert!(!numbered.add(part(0, None), AT), "the same number");
        assert!(numbered.add(part(2, Some(3)), AT));
        assert!(!numbered.add(part(3, None), AT) && !numbered.add(part(1, Some(2)), AT), "beyond the last");
        assert!(numbered.add(part(1, None), AT) && numbered.is_complete());
    }

    #[test]
    fn parts_are_missing_only_after_the_window() {
        let numbered = NumberedParts::new(part(0, None), None, AT);
        let missing = |numbered: &NumberedParts, time| numbered.missing(Time::from_nanos(time), 10);
        assert_eq!([10, 11].map(|time| missing(&numbered, time)), [None, Some(Lack::End)]);
        assert_eq!(missing(&NumberedParts::new(part(0, Some(1)), None, AT), 11), None);
        assert_eq!(missing(&NumberedParts::new(part(0, Some(2)), None, AT), 11), Some(Lack::Part));
        assert_eq!(missing(&NumberedParts::new(part(1, None), None, AT), 11), Some(Lack::Part));
    }
}
