//! The table of exchanges.

use super::queue::{MAX_REQUESTS, Queue, Request, State};
use super::search::{Found, Search};
use super::{Answer, Exchange, Outcome, Pairing};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::conversation::{Conversation, Conversations, Slot};
use crate::net::Datagram;
use crate::protocols::{Id, Level, Role, Step};
use hashbrown::DefaultHashBuilder;
use std::collections::VecDeque;
use std::hash::BuildHasher;

const MS: i64 = 1_000_000;
/// A request without a key is given up when its endpoint asks again this much later.
const GIVE_UP: i64 = 250 * MS;
/// An answer may stand this far before its request.
const EARLY: i64 = 10 * MS;
/// … and this many frames.
pub const EARLY_FRAMES: u64 = 64;
/// The parts of a message: how many, and for how long.
const MAX_PARTS: u8 = 16;
const PARTS_WINDOW: i64 = 2_000 * MS;
/// How far back the requests of one conversation are searched.
const MAX_STEPS_BACK: usize = 64;
/// Answers in parts that are under way at once.
const MAX_ANSWERING: usize = 64;

/// Answer windows of all protocols.
#[derive(Clone, Debug)]
pub struct Windows {
    answer: Vec<i64>,
    late: Vec<i64>,
}

impl Windows {
    /// The protocols' own windows, or `override_ns` nanoseconds for all of them.
    pub fn new(override_ns: Option<i64>) -> Self {
        let own = |id: &Id| override_ns.unwrap_or(i64::from(id.info().window_ms) * MS);
        let answer: Vec<i64> = Id::ALL.iter().map(own).collect();
        let late = answer.iter().map(|ns| ns.saturating_mul(5).max(5_000 * MS)).collect();
        Windows { answer, late }
    }
    /// Answer window in nanoseconds.
    pub fn answer(&self, id: Id) -> i64 {
        self.answer[id as usize]
    }
    /// Late window in nanoseconds: five times the answer window, at least 5 s.
    pub fn late(&self, id: Id) -> i64 {
        self.late[id as usize]
    }
}

/// An answer that stands before its request, if there is one.
#[derive(Clone, Copy, Debug)]
struct Orphan {
    conversation: Slot,
    step: u8,
    key: Option<u64>,
    frame: u64,
    time: Time,
    hash: u64,
    bytes: u32,
}

/// An answer of which some parts have come.
#[derive(Debug)]
struct Answering {
    seq: u64,
    frames: Vec<u64>,
    bytes: u64,
}

/// See the module's words. Every part is bounded, and what has to go is counted.
#[derive(Debug)]
pub struct Table {
    /// Who speaks with whom.
    pub conversations: Conversations,
    queues: Vec<Queue>,
    windows: Windows,
    orphans: VecDeque<Orphan>,
    answering: VecDeque<Answering>,
    hasher: DefaultHashBuilder,
    clock: Time,
    next_deadline: Time,
    next_id: u64,
    evicted: u64,
    closed: VecDeque<Exchange>,
}

impl Table {
    /// An empty table.
    pub fn new(windows: Windows) -> Self {
        Table {
            conversations: Conversations::default(),
            queues: Id::ALL.iter().map(|_| Queue::default()).collect(),
            windows,
            orphans: VecDeque::new(),
            answering: VecDeque::new(),
            hasher: DefaultHashBuilder::default(),
            clock: Time::UNKNOWN,
            next_deadline: Time::from_nanos(i64::MAX),
            next_id: 1,
            evicted: 0,
            closed: VecDeque::with_capacity(64),
        }
    }

    /// Capture time: the highest time stamp so far.
    pub fn clock(&self) -> Time {
        self.clock
    }

    /// Open requests and conversations that had to go before their time.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The next exchange that has closed.
    pub fn next_closed(&mut self) -> Option<Exchange> {
        self.closed.pop_front()
    }

    /// The same, brought up to date and left where it is; see [`Table::drop_closed`].
    #[inline]
    pub fn front_closed(&mut self) -> Option<&Exchange> {
        let e = self.closed.front_mut()?;
        if let Some(c) = self.conversations.get(e.conversation) {
            (e.level, e.server_index) = (c.level, c.server); // it may have become surer since
        }
        Some(e)
    }

    /// Forgets the exchange that [`Table::front_closed`] has shown.
    #[inline]
    pub fn drop_closed(&mut self) {
        self.closed.pop_front();
    }

    /// Whether a request of the conversation is open.
    pub fn has_open(&self, slot: Slot) -> bool {
        self.chain(slot).any(|(_, r)| r.state == State::Open)
    }

    /// Whether [`Table::next_closed`] has something to give.
    #[inline]
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Moves capture time on; closes what has waited too long.
    #[inline]
    pub fn advance(&mut self, time: Time) {
        if time > self.clock {
            self.clock = time;
            if time > self.next_deadline {
                self.expire();
            }
        }
    }

    /// The end of the capture: closes everything that is open.
    pub fn finish(&mut self) {
        while let Some((at, _)) = self.first_due() {
            self.close_oldest(at);
        }
    }

    /// Which queue's front is due first, and when.
    fn first_due(&self) -> Option<(usize, Time)> {
        let mut first: Option<(usize, Time)> = None;
        for (at, queue) in self.queues.iter().enumerate() {
            if let Some(request) = queue.front() {
                let due = request.last.plus(self.windows.late[at]);
                if first.is_none_or(|(_, time)| due < time) {
                    first = Some((at, due));
                }
            }
        }
        first
    }

    #[inline(never)]
    fn expire(&mut self) {
        while let Some((at, due)) = self.first_due() {
            if due >= self.clock {
                self.next_deadline = due;
                return;
            }
            self.close_oldest(at);
        }
        self.next_deadline = Time::from_nanos(i64::MAX);
    }

    /// Takes the oldest request out of a queue: closes it, if it was still open, and with it its
    /// conversation, if that has asked nothing since.
    fn close_oldest(&mut self, at: usize) {
        let Some((seq, request)) = self.queues[at].pop() else { return };
        if request.state == State::Answering {
            self.finish_parts(at, seq, &request);
        }
        let Some(c) = self.conversations.get(request.conversation) else { return };
        // What seemed to ask and was never confirmed was more likely an answer.
        if request.state == State::Open && (c.decided || !c.doubtful) {
            let outcome = self.outcome(c.id, &request);
            self.closed.push_back(closed(c, &request, outcome));
        }
        if c.latest == seq + 1 {
            self.conversations.close(request.conversation);
        }
    }

    /// How a request ends that gets no answer any more.
    fn outcome(&self, id: Id, request: &Request) -> Outcome {
        let over = self.clock.since(request.last).is_some_and(|t| t > self.windows.answer(id));
        if over { Outcome::Unanswered } else { Outcome::Undecided }
    }

    /// Takes a datagram in: opens or finds its conversation and says what it is to its exchange.
    #[inline]
    pub fn show(&mut self, d: &Datagram<'_>, v: &Verdict) -> (Slot, Pairing) {
        let slot = match v.slot {
            Some(slot) => slot,
            None => self.open(d, v),
        };
        if let Some(c) = self.conversations.get_mut(slot) {
            if !c.decided {
                c.set_client(v.client(d));
                c.decided = v.decided;
                c.doubtful = v.doubtful;
            }
            c.level = c.level.max(v.glance.level);
        }
        let pairing = match v.glance.role {
            Role::Request | Role::RequestPart | Role::MaybeRequest | Role::MaybeResponse => {
                self.ask(slot, d, v)
            }
            Role::Response | Role::ResponsePart => self.answer(slot, d, v),
            Role::Stray => Pairing::Nothing,
        };
        (slot, pairing)
    }

    /// A pair was found: the conversation is as sure as that makes it.
    fn confirm(&mut self, slot: Slot, paired: Level) {
        if let Some(c) = self.conversations.get_mut(slot) {
            c.level = c.level.max(paired);
            c.decided |= c.level >= Level::Medium;
        }
    }

    fn open(&mut self, d: &Datagram<'_>, v: &Verdict) -> Slot {
        let (client, server) = (v.client(d), v.server(d));
        let (slot, gone) = self.conversations.open(client, server, v.id);
        if let Some(gone) = gone {
            self.forget(&gone);
        }
        if let Some(c) = self.conversations.get_mut(slot) {
            c.server = v.server_index;
        }
        slot
    }

    /// Closes the open requests of a conversation that had to go.
    #[cold]
    fn forget(&mut self, gone: &Conversation) {
        self.evicted += 1;
        let at = gone.id as usize;
        let mut next = gone.latest;
        while let Some(request) = next.checked_sub(1).and_then(|seq| self.queues[at].get_mut(seq)) {
            next = request.previous;
            let was = std::mem::replace(&mut request.state, State::Gone);
            if was == State::Open && (gone.decided || !gone.doubtful) {
                let request = *request;
                let outcome = self.outcome(gone.id, &request);
                self.closed.push_back(closed(gone, &request, outcome));
            }
        }
    }

    /// The requests of a conversation, latest first: sequence numbers.
    fn chain(&self, slot: Slot) -> impl Iterator<Item = (u64, &Request)> {
        let conversation = self.conversations.get(slot);
        let queue = conversation.map(|c| &self.queues[c.id as usize]);
        let mut next = conversation.map_or(0, |c| c.latest);
        let step = move || {
            let seq = next.checked_sub(1)?;
            let request = queue?.get(seq)?;
            next = request.previous;
            Some((seq, request))
        };
        std::iter::from_fn(step).take(MAX_STEPS_BACK)
    }

    fn ask(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let (g, id) = (&v.glance, v.id);
        let step = &id.info().steps[g.step as usize];
        let key = g.key.unwrap_or(0);
        let now = if d.time == Time::UNKNOWN { self.clock } else { d.time };
        let latest = self.conversations.get(slot).map_or(0, |c| c.latest);
        let mut alone = true;
        if latest != 0 {
            match self.look_back(latest, v, step, now) {
                Earlier::Part(seq) => {
                    if let Some(exchange) = self.join(id, seq, now, d, g.role) {
                        return Pairing::Again { exchange, part: true };
                    }
                }
                Earlier::Same(seq) => return Pairing::Again { exchange: self.renew(id, seq, slot), part: false },
                Earlier::Others { alone: none_open } => alone = none_open,
            }
        }
        let orphan = if self.orphans.is_empty() { None } else { self.take_orphan(slot, d, v, step) };
        if orphan.is_some() {
            self.confirm(slot, g.paired);
        }
        let exchange = self.next_id;
        self.next_id += 1;
        let request = Request {
            conversation: slot,
            previous: 0,
            id: exchange,
            key,
            memo: g.memo,
            frame: d.frame,
            time: d.time,
            last: self.clock,
            answer_hash: orphan.map_or(0, |o| o.hash),
            answer_frame: orphan.map_or(0, |o| o.frame),
            bytes: d.wire_len() as u32,
            retransmissions: 0,
            parts: 1,
            step: g.step,
            state: if orphan.is_some() { State::Answered } else { State::Open },
            given_up: false,
            alone,
            partial: g.role == Role::RequestPart,
        };
        self.push(id, slot, request);
        if let Some(o) = orphan
            && let Some(c) = self.conversations.get(slot)
        {
            let (time, bytes) = (o.time.since(d.time), u64::from(o.bytes));
            self.closed.push_back(record(c, &request, Outcome::Answered, Some(o.frame), time, bytes));
        }
        Pairing::Asked { exchange, answered_by: orphan.map(|o| o.frame) }
    }

    /// Appends a request to its queue and its conversation; the oldest goes when the queue is full.
    fn push(&mut self, id: Id, slot: Slot, mut request: Request) {
        let at = id as usize;
        if self.queues[at].len() >= MAX_REQUESTS {
            let open = self.queues[at].front().is_some_and(|r| r.state == State::Open);
            self.evicted += u64::from(open);
            self.close_oldest(at);
        }
        if let Some(c) = self.conversations.get_mut(slot) {
            request.previous = c.latest;
            c.latest = self.queues[at].push(request) + 1;
        }
        self.conversations.touch(slot);
        let due = request.last.plus(self.windows.late(id));
        self.next_deadline = self.next_deadline.min(due);
    }

    /// A further part of a request; `None` if it comes too late or is one too many.
    #[cold]
    fn join(&mut self, id: Id, seq: u64, now: Time, d: &Datagram<'_>, role: Role) -> Option<u64> {
        let request = self.queues[id as usize].get_mut(seq)?;
        let in_time = now.since(request.time).is_none_or(|t| t <= PARTS_WINDOW);
        if request.parts >= MAX_PARTS || !in_time {
            return None;
        }
        request.parts += 1;
        request.bytes = request.bytes.saturating_add(d.wire_len() as u32);
        request.partial = role == Role::RequestPart;
        Some(request.id)
    }

    /// A retransmission: the window starts anew, so the request moves to the end of the queue.
    #[cold]
    fn renew(&mut self, id: Id, seq: u64, slot: Slot) -> u64 {
        let Some(request) = self.queues[id as usize].get_mut(seq) else { return 0 };
        let mut again = *request;
        request.state = State::Gone;
        again.retransmissions = again.retransmissions.saturating_add(1);
        again.last = self.clock;
        self.push(id, slot, again);
        again.id
    }

    /// Looks at the earlier requests of a conversation that asks again. Those without a key may be
    /// given up by it.
    fn look_back(&mut self, latest: u64, v: &Verdict, step: &Step, now: Time) -> Earlier {
        let mut next = latest;
        let queue = &mut self.queues[v.id as usize];
        let keyed = step.key_digits > 0;
        let key = v.glance.key.unwrap_or(0);
        let mut alone = true;
        for _ in 0..MAX_STEPS_BACK {
            let Some(seq) = next.checked_sub(1) else { return Earlier::Others { alone } };
            let Some(r) = queue.get_mut(seq) else { return Earlier::Others { alone } };
            next = r.previous;
            if r.step != v.glance.step || r.state != State::Open {
                continue;
            }
            if r.partial {
                return Earlier::Part(seq);
            }
            if step.retransmits && r.key == key && r.memo == v.glance.memo {
                return Earlier::Same(seq);
            }
            r.given_up |= !keyed && now.since(r.time).is_some_and(|t| t >= GIVE_UP);
            alone = false;
        }
        Earlier::Others { alone: false }
    }

    fn answer(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let (g, id) = (&v.glance, v.id);
        let step = &id.info().steps[g.step as usize];
        let hash = self.hasher.hash_one(d.payload);
        let now = if d.time == Time::UNKNOWN { self.clock } else { d.time };
        if !self.answering.is_empty()
            && let Some(pairing) = self.more_parts(slot, d, g.role)
        {
            return pairing;
        }
        let latest = self.conversations.get(slot).map_or(0, |c| c.latest);
        let found = match self.only_candidate(latest, v, step) {
            Some(seq) => Found { request: Some((seq, false)), open: true, ..Found::default() },
            None => self.candidates(slot, v, step, now, hash),
        };
        if step.issues
            && let Some(c) = self.conversations.get_mut(slot)
        {
            c.issued = Some(g.memo);
        }
        if let Some((seq, foreign_key)) = found.request {
            return self.answered(slot, seq, d, v, now, hash, foreign_key);
        }
        if let Some((exchange, of)) = found.copy {
            return Pairing::Copy { exchange, of };
        }
        if let Some(answer) = found.second {
            return Pairing::Answered(answer);
        }
        self.orphan(slot, d, g.step, g.key, hash);
        Pairing::Unasked { open: found.open }
    }

    /// The latest request, where nothing else can be what an answer belongs to: no search is needed.
    #[inline]
    fn only_candidate(&self, latest: u64, v: &Verdict, step: &Step) -> Option<u64> {
        let seq = latest.checked_sub(1)?;
        let r = self.queues[v.id as usize].get(seq)?;
        let its = r.step == v.glance.step && r.state == State::Open && r.alone && !r.partial;
        let keyed = step.key_digits > 0;
        // Without a key, copies and time stamps have a say.
        let sure = if keyed { v.glance.key == Some(r.key) } else { r.previous == 0 && r.last >= r.time };
        (its && sure).then_some(seq)
    }

    /// Answers a request.
    #[allow(clippy::too_many_arguments)] // what is known of the answer, gathered once above
    fn answered(
        &mut self,
        slot: Slot,
        seq: u64,
        d: &Datagram<'_>,
        v: &Verdict,
        now: Time,
        hash: u64,
        foreign_key: bool,
    ) -> Pairing {
        self.confirm(slot, v.glance.paired);
        let window = self.windows.answer(v.id);
        let Some(request) = self.queues[v.id as usize].get_mut(seq) else { return Pairing::Nothing };
        request.answer_hash = hash;
        request.answer_frame = d.frame;
        let late = now.since(request.last).is_some_and(|t| t > window);
        let answer = Answer {
            exchange: request.id,
            request_frame: request.frame,
            asked: request.memo,
            response_time: d.time.since(request.time),
            late,
            second: false,
            foreign_key,
        };
        if v.glance.role == Role::ResponsePart && self.answering.len() < MAX_ANSWERING {
            request.state = State::Answering;
            self.answering.push_back(Answering { seq, frames: vec![d.frame], bytes: d.wire_len() as u64 });
            return Pairing::Answered(answer);
        }
        request.state = State::Answered;
        if let Some(c) = self.conversations.get(slot) {
            let outcome = if late { Outcome::Late } else { Outcome::Answered };
            let (frame, bytes) = (Some(d.frame), d.wire_len() as u64);
            self.closed.push_back(record(c, request, outcome, frame, answer.response_time, bytes));
        }
        Pairing::Answered(answer)
    }

    /// What an answer may belong to.
    fn candidates(&self, slot: Slot, v: &Verdict, step: &Step, now: Time, hash: u64) -> Found {
        let mut search = Search::new(v, step, self.windows.answer(v.id), now, hash);
        self.chain(slot).for_each(|(seq, r)| search.look(seq, r));
        let issued = self.conversations.get(slot).and_then(|c| c.issued);
        search.found(issued)
    }

    fn orphan(&mut self, slot: Slot, d: &Datagram<'_>, step: u8, key: Option<u64>, hash: u64) {
        while self.orphans.front().is_some_and(|o| o.frame + EARLY_FRAMES < d.frame)
            || self.orphans.len() >= EARLY_FRAMES as usize
        {
            self.orphans.pop_front();
        }
        let (frame, time, bytes) = (d.frame, d.time, d.wire_len() as u32);
        self.orphans.push_back(Orphan { conversation: slot, step, key, frame, time, hash, bytes });
    }

    /// The answer that stands before this request.
    fn take_orphan(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict, step: &Step) -> Option<Orphan> {
        let near = |o: &Orphan| {
            o.frame + EARLY_FRAMES >= d.frame
                && d.time.since(o.time).is_none_or(|t| t.abs() <= EARLY)
                && o.conversation == slot
                && o.step == v.glance.step
                && (step.key_digits == 0 || o.key == v.glance.key)
        };
        let at = self.orphans.iter().position(near)?;
        self.orphans.remove(at)
    }

    /// A further part of an answer under way.
    fn more_parts(&mut self, slot: Slot, d: &Datagram<'_>, role: Role) -> Option<Pairing> {
        if self.answering.is_empty() {
            return None;
        }
        let (seq, request) = self.chain(slot).find(|(_, r)| r.state == State::Answering)?;
        let request = *request;
        let at = self.answering.iter().position(|a| a.seq == seq)?;
        let parts = self.answering.get_mut(at)?;
        parts.frames.push(d.frame);
        parts.bytes += d.wire_len() as u64;
        let last = role == Role::Response || parts.frames.len() >= MAX_PARTS as usize;
        let response_time = d.time.since(request.time);
        if last {
            let id = self.conversations.get(slot)?.id;
            self.finish_parts(id as usize, seq, &request);
        }
        let (exchange, request_frame, asked) = (request.id, request.frame, request.memo);
        let (late, second, foreign_key) = (false, false, false);
        Some(Pairing::Answered(Answer {
            exchange,
            request_frame,
            asked,
            response_time,
            late,
            second,
            foreign_key,
        }))
    }

    fn finish_parts(&mut self, at: usize, seq: u64, request: &Request) {
        if let Some(r) = self.queues[at].get_mut(seq) {
            r.state = State::Answered;
        }
        let Some(i) = self.answering.iter().position(|a| a.seq == seq) else { return };
        let Some(parts) = self.answering.remove(i) else { return };
        let Some(c) = self.conversations.get(request.conversation) else { return };
        let mut done = closed(c, request, Outcome::Answered);
        done.response_frame = parts.frames.first().copied();
        done.response_parts = parts.frames;
        done.response_time = None;
        done.response_bytes = parts.bytes;
        self.closed.push_back(done);
    }
}

/// What stands before a request in its conversation.
enum Earlier {
    /// A request whose end is still to come: this is a part of it.
    Part(u64),
    /// The same request, still open.
    Same(u64),
    /// Others, or nothing.
    Others {
        /// None of the step is open.
        alone: bool,
    },
}

/// The record of a request that got no answer.
fn closed(c: &Conversation, r: &Request, outcome: Outcome) -> Exchange {
    record(c, r, outcome, None, None, 0)
}

/// The record of an exchange; the last three speak of the answer.
#[inline(always)]
fn record(
    c: &Conversation,
    r: &Request,
    outcome: Outcome,
    response_frame: Option<u64>,
    response_time: Option<i64>,
    response_bytes: u64,
) -> Exchange {
    let keyed = c.id.info().steps[r.step as usize].key_digits > 0;
    Exchange {
        id: r.id,
        protocol: c.id,
        step: r.step,
        level: c.level,
        conversation: r.conversation,
        client: c.client(),
        server: c.server(),
        server_index: c.server,
        key: keyed.then_some(r.key),
        request_frame: r.frame,
        response_frame,
        response_parts: vec![],
        outcome,
        response_time,
        request_bytes: u64::from(r.bytes),
        response_bytes,
        retransmissions: r.retransmissions,
    }
}
