//! The table of exchanges.

use super::closed::Closed;
use super::incomplete::{Orphan, PartialAnswers, record};
use super::join::Joins;
use super::queue::{GIVEN_UP, MAX_REQUESTS, MISANSWERED, NEVER, Queue, Request, State};
use super::{
    Exchange, MAX_FAR_BACK, MAX_SHOWN_KEY, MAX_SHOWN_KEYS, MAX_STEPS_BACK, Outcome, Pairing, Windows,
};
use crate::bounded::hashing::hash_one;
use crate::bounded::packed::ones;
use crate::bounded::{Bounded, Budget, Forgets as _, Numbered};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::{Piece, ShownKey};
use crate::conversation::{Conversation, Conversations, Slot};
use crate::net::Datagram;
use crate::protocols::{Id, Level, Probe, Role};
use arrayvec::ArrayVec;
use hashbrown::DefaultHashBuilder;
use std::collections::VecDeque;

/// Most further answers remembered, of all requests together, with 64 MiB; the oldest is dropped first.
const MAX_FURTHER_ANSWERS: usize = 65_536;

/// The memory of a conversation is prefetched this many requests before it is used.
const PREFETCH_DISTANCE: usize = 16;

/// The table of exchanges. Every part of it is bounded, and dropped entries are counted.
#[derive(Debug)]
pub struct Table {
    /// The conversations.
    pub conversations: Conversations,
    pub(super) queues: Vec<Queue>,
    /// The queues that have held a request, one bit each: few of the protocols are in use.
    pub(super) used_queues: u32,
    /// Number of requests in the queues.
    pub(super) requests: usize,
    pub(super) max_requests: usize,
    /// See [`MAX_FAR_BACK`].
    pub(super) far_back: usize,
    pub(super) windows: Windows,
    pub(super) orphans: VecDeque<Orphan>,
    pub(super) partial_answers: PartialAnswers,
    pub(super) hasher: DefaultHashBuilder,
    pub(super) clock: Time,
    pub(super) next_deadline: Time,
    pub(super) next_id: u64,
    pub(super) evicted: u64,
    /// Exchanges that have closed and are not reported yet.
    pub(super) closed: Closed,
    /// Frames of further answers and of parts, by exchange and hash of their payload.
    pub(super) further_answers: Bounded<(u64, u32), u64, MAX_FURTHER_ANSWERS>,
    /// Keys of requests as they are shown, by exchange.
    pub(super) shown_keys: Numbered<ArrayVec<u8, MAX_SHOWN_KEY>, MAX_SHOWN_KEYS>,
    /// Closed exchanges get their keys as they are shown.
    pub shows_keys: bool,
    /// The latest exchanges that were withdrawn.
    pub(super) withdrawn: VecDeque<u64>,
    /// Messages whose parts have not all come.
    pub(super) joins: Joins,
    /// See [`Table::take_piece`].
    pub(super) piece: Option<Box<Piece>>,
    /// See [`Table::changes`].
    pub(super) changes: u64,
}

impl Table {
    /// An empty table.
    pub fn new(windows: Windows, budget: Budget) -> Self {
        Table {
            conversations: Conversations::new(budget),
            queues: Id::ALL.iter().map(|&id| Queue::new(windows.late(id))).collect(),
            used_queues: 0,
            requests: 0,
            max_requests: budget.of(MAX_REQUESTS),
            far_back: budget.of(MAX_FAR_BACK).max(MAX_STEPS_BACK),
            windows,
            orphans: VecDeque::new(),
            partial_answers: budget.into(),
            hasher: DefaultHashBuilder::default(),
            clock: Time::UNKNOWN,
            next_deadline: NEVER,
            next_id: 1,
            evicted: 0,
            closed: Closed::default(),
            further_answers: budget.into(),
            shown_keys: budget.into(),
            shows_keys: false,
            withdrawn: VecDeque::new(),
            joins: budget.into(),
            piece: None,
            changes: 1,
        }
    }

    /// Capture time: the highest time stamp so far.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// The time stamp of a datagram, or capture time where it has none.
    #[inline(always)]
    pub(super) fn now(&self, d: &Datagram<'_>) -> Time {
        if d.time == Time::UNKNOWN { self.clock } else { d.time }
    }

    /// A hash that tells the payloads of answers apart: equal payloads have equal hashes, others have different
    /// ones except by chance, once in 2^32. Never 0.
    #[inline(always)]
    pub(super) fn fingerprint(&self, d: &Datagram<'_>) -> u32 {
        (hash_one(&self.hasher, d.payload) as u32).max(1)
    }

    /// Number of open requests and conversations dropped before their time.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Number of entries forgotten for lack of room: further answers, whose copies then count as different answers;
    /// issued values that were not used; and messages in parts and their layouts.
    pub fn forgotten(&self) -> u64 {
        let shown_keys = self.shown_keys.forgotten();
        self.further_answers.forgotten()
            + self.conversations.forgotten()
            + self.joins.forgotten()
            + shown_keys
    }

    /// Number of compressed messages that were not unpacked, because too much had been.
    pub fn not_unpacked(&self) -> u64 {
        self.joins.unpacking.refused
    }

    /// Remembers the frame of a further answer or of a part. An entry that is dropped for it counts as forgotten if its
    /// request is remembered, so that copies could still have been recognised.
    #[cold]
    pub(super) fn remember_further_answer(&mut self, exchange: u64, hash: u32, frame: u64) {
        let (queues, used_queues) = (&self.queues, self.used_queues);
        let is_needed = |&((exchange, _), _): &((u64, u32), u64)| {
            ones(used_queues)
                .filter_map(|at| queues.get(at)?.oldest())
                .any(|(_, oldest)| oldest.id <= exchange)
        };
        *self.further_answers.get_or_insert_over((exchange, hash), frame, is_needed) = frame;
    }

    /// The next exchange that has closed.
    pub fn next_closed(&mut self) -> Option<Exchange> {
        self.front_closed()?;
        self.closed.take_front()
    }

    /// Whether the next closed exchange was uncertain when it closed; `None` without one.
    #[inline(always)]
    pub(crate) fn closed_uncertain(&self) -> Option<bool> {
        self.closed.front().map(Exchange::is_uncertain)
    }

    /// The next closed exchange, updated and left in the list; see [`Table::drop_closed`].
    #[inline]
    pub fn front_closed(&mut self) -> Option<&Exchange> {
        let e = self.closed.front_mut()?;
        e.refresh(&self.conversations);
        if super::SHOWN_KEYS >> e.protocol as u32 & 1 == 1 && e.shown_key.is_none() {
            show_key(e, &mut self.shown_keys, self.shows_keys);
        }
        Some(e)
    }

    /// Adds an exchange that has closed otherwise than by a whole answer, which is the one that occurs all the time.
    #[cold]
    #[inline(never)]
    pub(super) fn push_closed(&mut self, e: Exchange) {
        self.closed.push(e);
    }

    /// The exchange of that number, which has just closed.
    pub(super) fn just_closed(&mut self, exchange: u64) -> Option<&mut Exchange> {
        self.closed.find_mut(exchange)
    }

    /// Removes the exchange that [`Table::front_closed`] has returned.
    #[inline]
    pub fn drop_closed(&mut self) {
        self.closed.drop_front();
    }

    /// Closes the request that an ICMP error has refused. Among the open requests of the quoted step, or of any step if
    /// the quotation does not show it, that is the one with the quoted key, or else the oldest one without a key; if no
    /// key is quoted, the oldest one. A request that was given up is closed only if there is no other.
    #[cold]
    pub fn refuse(&mut self, slot: Slot, quoted: Option<&Probe>, reason: &'static str) {
        let key = quoted.and_then(|probe| probe.key);
        let open = || {
            let latest = self.whole_chain(slot).take(self.far_back);
            latest.filter(|(_, r)| r.state == State::Open && quoted.is_none_or(|probe| r.step == probe.step))
        };
        let with_key = key.and_then(|key| open().find(|(_, r)| r.key() == Some(key)));
        let without_key = || open().filter(|(_, r)| key.is_none() || r.key().is_none());
        // Of equal ones, `max_by_key` returns the last, which is the oldest.
        let oldest = || without_key().max_by_key(|(_, r)| !r.is(GIVEN_UP));
        let Some((seq, _)) = with_key.or_else(oldest) else { return };
        let Some(c) = self.conversations.get(slot) else { return };
        let Some(request) = self.queues[c.id as usize].get(seq) else { return };
        self.changes += 1;
        let refused = record(c, request, Outcome::Refused, None, None, 0);
        self.queues[c.id as usize].set_state(seq, State::Gone);
        self.push_closed(Exchange { reason: Some(reason), ..refused });
    }

    /// Number of changes by expiry, lack of room, ICMP errors and conversations whose roles were swapped: as long as it
    /// stays the same, a conversation has changed only by its own datagrams.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Advances capture time, and closes the requests and conversations whose time is over.
    #[inline]
    pub fn advance(&mut self, time: Time) {
        if time > self.clock {
            self.clock = time;
            if time > self.next_deadline {
                self.expire();
            }
        }
    }

    /// Closes the request that is due first, at the end of a capture; `false` where there is none.
    #[inline]
    pub fn close_next(&mut self) -> bool {
        let oldest = self.oldest_due();
        oldest.into_iter().for_each(|(_, at)| self.close_oldest(at));
        oldest.is_some()
    }

    /// Closes everything that is open, at the end of a capture. Capture time starts anew with the next capture.
    pub fn finish(&mut self) {
        while self.close_next() {}
        self.orphans.clear();
        self.conversations.clear();
        self.clock = Time::UNKNOWN;
        self.next_deadline = NEVER;
    }

    /// The earliest deadline of all requests, and the index of its queue; `None` where all queues are empty.
    #[inline]
    pub(super) fn oldest_due(&self) -> Option<(Time, usize)> {
        let used = ones(self.used_queues).filter_map(|at| Some((at, self.queues.get(at)?)));
        used.filter(|(_, queue)| queue.oldest().is_some()).map(|(at, queue)| (queue.due(), at)).min()
    }

    #[inline(never)]
    fn expire(&mut self) {
        self.changes += 1;
        self.next_deadline = loop {
            match self.oldest_due() {
                Some((due, at)) if due < self.clock => self.close_oldest(at),
                next => break next.map_or(NEVER, |(due, _)| due),
            }
        };
        self.conversations.expire_idle(self.clock);
        self.schedule_idle();
    }

    /// Lowers the next deadline to the time at which the next idle conversation ends.
    pub(super) fn schedule_idle(&mut self) {
        let until = self.conversations.idle_until();
        self.next_deadline = until.map_or(self.next_deadline, |until| self.next_deadline.min(until));
    }

    /// Removes the oldest request of a queue, and closes it if it was still open. Its conversation becomes idle or
    /// ends, if it has sent no request since.
    pub(super) fn close_oldest(&mut self, at: usize) {
        let queue = &self.queues[at];
        let Some((seq, oldest)) = queue.oldest() else { return };
        // The oldest requests and their conversations have not been used for seconds, and the next ones are likely to
        // be closed soon.
        queue.prefetch(2 * PREFETCH_DISTANCE);
        let next = queue.get(seq + PREFETCH_DISTANCE as u64);
        next.into_iter().for_each(|r| self.conversations.prefetch(r.conversation));
        let (conversation, last) = (oldest.conversation, self.queues[at].sent(seq, oldest).clock);
        if matches!(oldest.state, State::Open | State::Answering) || oldest.is(MISANSWERED) {
            self.close_waiting(at, seq);
        }
        self.queues[at].drop_oldest();
        self.requests -= 1;
        // The slot may hold another conversation by now, which has another latest request or another protocol.
        if let Some((slot, c)) = self.conversations.at(conversation)
            && c.latest() == seq + 1
            && c.id as usize == at
            // An answer may be waiting for the next request of the conversation.
            && (self.orphans.is_empty() || !self.orphans.iter().any(|o| o.conversation == slot))
        {
            self.conversations.make_idle(slot, last);
        }
    }

    /// Closes a request whose answer is missing or incomplete.
    #[inline(never)]
    pub(super) fn close_waiting(&mut self, at: usize, seq: u64) {
        let Some(&request) = self.queues[at].get(seq) else { return };
        let Some((slot, c)) = self.conversations.at(request.conversation) else { return };
        if request.is(MISANSWERED) {
            let c = *c;
            let exchange = self.take_misanswered(&c, seq, &request);
            self.queues[at].set_state(seq, State::Answered);
            exchange.into_iter().for_each(|e| self.push_closed(e));
        } else if request.state == State::Answering {
            self.finish_parts(slot, seq, &request);
        } else {
            let exchange = self.record_unanswered(c, seq, &request);
            self.push_closed(exchange);
        }
    }

    /// The record of an open request that gets no answer any more.
    pub(super) fn record_unanswered(&self, c: &Conversation, seq: u64, request: &Request) -> Exchange {
        let last = self.queues[c.id as usize].sent(seq, request).clock;
        let is_over = self.clock.since(last).is_some_and(|t| t > self.windows.answer(c.id));
        let outcome = if is_over { Outcome::Unanswered } else { Outcome::Undecided };
        let assumed = !c.decided() && c.doubtful();
        Exchange { assumed, ..record(c, request, outcome, None, None, 0) }
    }

    /// Finds or opens the conversation of a datagram, and updates it by the verdict.
    #[inline(always)]
    pub fn enter(&mut self, d: &Datagram<'_>, v: &Verdict) -> Slot {
        let Some(slot) = v.slot else { return self.open(d, v) };
        match self.conversations.get_mut(slot) {
            Some(c) if c.steady() && !v.turns => {
                c.level = c.level.max(v.probe.level);
                slot
            }
            _ => self.decide(slot, d, v),
        }
    }

    /// Updates a conversation that is idle, whose roles are swapped by the verdict, or whose client is not certain yet.
    #[cold]
    fn decide(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Slot {
        let Some(c) = self.conversations.get(slot) else { return slot };
        let swaps = c.client() != v.client(d);
        if swaps && c.idle() {
            // The same endpoints with swapped roles: that is another conversation.
            self.conversations.close(slot);
            return self.open(d, v);
        }
        if swaps && c.level >= Level::Medium {
            // What was sent in the other direction has been judged: it stands, and its conversation ends here.
            let ended = *c;
            self.conversations.close(slot);
            self.close_requests(&ended);
            return self.open(d, v);
        }
        self.conversations.wake(slot, v.is_request(), self.clock);
        let Some(c) = self.conversations.get_mut(slot) else { return slot };
        let had_requests = swaps && c.latest() != 0;
        c.set_client(v.client(d));
        note_verdict(c, v);
        if had_requests {
            self.withdraw_requests(slot, v.id);
        }
        slot
    }

    /// Pairs a datagram that has [entered](Table::enter) its conversation.
    pub fn pair(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        match v.probe.role {
            Role::Request | Role::RequestPart | Role::MaybeRequest | Role::MaybeResponse => {
                self.ask(slot, d, v)
            }
            Role::Response | Role::ResponsePart => match v.probe.part.and_then(|_| v.id.info().joining) {
                Some(joining) => self.answer_part(slot, d, v, joining),
                None => self.answer(slot, d, v),
            },
            Role::Stray => {
                if v.probe.request_state & Probe::COMMAND != 0 {
                    self.conversations.get_mut(slot).into_iter().for_each(|c| c.note_command(d.time));
                }
                Pairing::Nothing
            }
            Role::Unreadable => self.answer_unreadable(slot, d, v),
        }
    }

    #[inline(never)]
    fn open(&mut self, d: &Datagram<'_>, v: &Verdict) -> Slot {
        let (client, server) = (v.client(d), v.server(d));
        let (slot, evicted) = self.conversations.open(client, server, v.id);
        if let Some(evicted) = evicted {
            self.close_evicted(&evicted);
        }
        if let Some(c) = self.conversations.get_mut(slot) {
            c.set_server_index(v.server_index);
            note_verdict(c, v);
        }
        if !v.is_request() {
            self.conversations.await_request(slot, self.clock);
            self.schedule_idle();
        }
        slot
    }

    /// Counts an evicted conversation, and closes its open requests.
    #[cold]
    fn close_evicted(&mut self, evicted: &Conversation) {
        // Nothing is lost with a conversation without remembered requests.
        self.evicted += u64::from(self.queues[evicted.id as usize].back_to(evicted.latest()).is_some());
        self.close_requests(evicted);
    }

    /// Closes the open requests of a conversation that has ended.
    fn close_requests(&mut self, ended: &Conversation) {
        self.changes += 1;
        let (at, mut next) = (ended.id as usize, ended.latest());
        while let Some((seq, &request)) = self.queues[at].back_to(next) {
            next = request.previous(seq);
            self.queues[at].set_state(seq, State::Gone);
            let exchange = match request.state {
                _ if request.is(MISANSWERED) => self.take_misanswered(ended, seq, &request),
                State::Open => Some(self.record_unanswered(ended, seq, &request)),
                State::Answering => self.take_parts(ended, &request),
                State::Answered | State::Unreadable | State::Gone | State::Withdrawn => None,
            };
            exchange.into_iter().for_each(|e| self.push_closed(e));
        }
    }

    /// The latest requests of a conversation with their sequence numbers, the last one first.
    #[inline]
    pub(super) fn chain(&self, slot: Slot) -> impl Iterator<Item = (u64, &Request)> {
        self.whole_chain(slot).take(MAX_STEPS_BACK)
    }

    /// All remembered requests of a conversation, as [`chain`](Self::chain) returns the latest.
    #[inline]
    pub(super) fn whole_chain(&self, slot: Slot) -> impl Iterator<Item = (u64, &Request)> {
        let conversation = self.conversations.get(slot);
        let queue = conversation.map(|c| &self.queues[c.id as usize]);
        let mut next = conversation.map_or(0, |c| c.latest());
        let step = move || {
            let seq = next.checked_sub(1)?;
            let request = queue?.get(seq)?;
            next = request.previous(seq);
            Some((seq, request))
        };
        std::iter::from_fn(step)
    }
}

/// Sets the key of an exchange as it is shown, if it `is_wanted`: that takes memory. A key that is forgotten counts in any case.
#[cold]
fn show_key(
    e: &mut Exchange,
    keys: &mut Numbered<ArrayVec<u8, MAX_SHOWN_KEY>, MAX_SHOWN_KEYS>,
    is_wanted: bool,
) {
    let shown = e.protocol.info().steps[usize::from(e.step)].shown_key;
    if !matches!(shown, ShownKey::Number) {
        let bytes = if e.key.take().is_some() { keys.find(e.id) } else { None };
        let bytes = bytes.map(|bytes| bytes.as_slice());
        e.shown_key = if is_wanted { shown.show(bytes) } else { None };
    }
}

/// Updates a conversation by the verdict about one of its datagrams: whether its client is certain, and its confidence.
fn note_verdict(c: &mut Conversation, v: &Verdict) {
    c.decide(c.decided() || v.decided, v.doubtful);
    if v.by_server {
        c.trust_server();
    }
    c.level = c.level.max(v.probe.level);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::{Direction, Probe};

    const MS: i64 = 1_000_000;

    /// Processes a datagram of a message that may span several; its payload is the number of its frame.
    fn process(table: &mut Table, frame: u8, time: i64, role: Role) -> Pairing {
        let (client, server) = (Endpoint::v4([192, 0, 2, 1], 1), Endpoint::v4([192, 0, 2, 2], 2));
        let is_request = matches!(role, Role::Request | Role::RequestPart);
        let (src, dst) = if is_request { (client, server) } else { (server, client) };
        let (payload, time) = ([frame], Time::from_nanos(time));
        let d = Datagram { frame: u64::from(frame), time, ..Datagram::between(src, dst, &payload) };
        let probe = Probe {
            message: 0,
            role,
            step: 0,
            key: None,
            request_state: 0,
            level: Level::High,
            paired: Level::High,
            begins: false,
            part: None,
        };
        let direction = if is_request { Direction::C2s } else { Direction::S2c };
        let (id, slot) = (Id::Sqp, table.conversations.find(src, dst, Id::Sqp));
        let verdict = Verdict { direction, decided: true, slot, ..Verdict::by_bytes(id, probe) };
        table.advance(time);
        let slot = table.enter(&d, &verdict);
        table.pair(slot, &d, &verdict)
    }

    #[test]
    fn parts_of_a_request_are_one_exchange() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        assert!(matches!(process(&mut table, 1, 0, Role::RequestPart), Pairing::Asked { exchange: 1, .. }));
        let further_part = Pairing::Retransmission { exchange: 1, request_frame: 1, part: true };
        assert_eq!(process(&mut table, 2, MS, Role::RequestPart), further_part);
        assert_eq!(process(&mut table, 3, 2 * MS, Role::Request), further_part);
        assert!(
            matches!(process(&mut table, 4, 3 * MS, Role::Response), Pairing::Answered(a) if a.request_frame == 1)
        );
        let done = table.next_closed().unwrap();
        assert_eq!((done.request_frame, done.request_bytes, done.response_frame), (1, 3, Some(4)));
        assert_eq!(done.response_time, Some(3 * MS));
    }

    #[test]
    fn a_part_that_comes_too_late_begins_another_request() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        process(&mut table, 1, 0, Role::RequestPart);
        assert!(matches!(
            process(&mut table, 2, 2001 * MS, Role::Request),
            Pairing::Asked { exchange: 2, .. }
        ));
        // The complete request is answered, not the one that never ended.
        assert!(
            matches!(process(&mut table, 3, 2002 * MS, Role::Response), Pairing::Answered(a) if a.exchange == 2)
        );
    }

    #[test]
    fn the_last_part_of_an_answer_closes_its_exchange() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        process(&mut table, 1, 0, Role::Request);
        for (frame, role) in [(2, Role::ResponsePart), (3, Role::ResponsePart)] {
            assert!(
                matches!(process(&mut table, frame, MS, role), Pairing::Answered(a) if a.request_frame == 1)
            );
            assert!(table.next_closed().is_none());
        }
        process(&mut table, 4, 2 * MS, Role::Response);
        let done = table.next_closed().unwrap();
        assert_eq!((done.response_parts, done.response_bytes), (vec![2, 3, 4], 3));
        assert_eq!((done.outcome, done.response_time), (Outcome::Answered, Some(MS)));
    }

    #[test]
    fn an_answer_without_its_last_part_is_reported_at_the_end() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        process(&mut table, 1, 0, Role::Request);
        process(&mut table, 2, MS, Role::ResponsePart);
        table.finish();
        let done = table.next_closed().unwrap();
        assert_eq!((done.response_parts, done.outcome), (vec![2], Outcome::Answered));
        assert!(table.next_closed().is_none());
    }
}
