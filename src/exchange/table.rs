//! The table of exchanges.

use super::answer::{Answering, closed};
use super::ask::Orphan;
use super::queue::{Closed, Queue, Request, State};
use super::{Exchange, MAX_STEPS_BACK, Outcome, Pairing, Windows};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::conversation::{Conversation, Conversations, Slot};
use crate::net::Datagram;
use crate::protocols::{Id, Level, Role};
use hashbrown::DefaultHashBuilder;
use std::collections::VecDeque;

/// See the module's words. Every part is bounded, and what has to go is counted.
#[derive(Debug)]
pub struct Table {
    /// Who speaks with whom.
    pub conversations: Conversations,
    pub(super) queues: Vec<Queue>,
    pub(super) windows: Windows,
    pub(super) orphans: VecDeque<Orphan>,
    pub(super) answering: VecDeque<Answering>,
    pub(super) hasher: DefaultHashBuilder,
    pub(super) clock: Time,
    pub(super) next_deadline: Time,
    pub(super) next_id: u64,
    pub(super) evicted: u64,
    pub(super) closed: Closed,
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
            closed: Closed::default(),
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
        self.closed.next()
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
        self.closed.drop_front();
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

    /// The end of a capture: closes everything that is open. The next one has a time of its own.
    pub fn finish(&mut self) {
        while let Some((at, _)) = self.first_due() {
            self.close_oldest(at);
        }
        self.orphans.clear();
        self.clock = Time::UNKNOWN;
        self.next_deadline = Time::from_nanos(i64::MAX);
    }

    /// Which queue's front is due first, and when.
    fn first_due(&self) -> Option<(usize, Time)> {
        let mut first: Option<(usize, Time)> = None;
        for (at, queue) in self.queues.iter().enumerate() {
            if let Some(request) = queue.front() {
                let due = request.last.plus(self.windows.late(Id::ALL[at]));
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
    pub(super) fn close_oldest(&mut self, at: usize) {
        let Some((seq, request)) = self.queues[at].pop() else { return };
        if request.state == State::Answering {
            self.finish_parts(at, seq, &request);
        }
        let Some(c) = self.conversations.get(request.conversation) else { return };
        // What seemed to ask and was never confirmed was more likely an answer.
        if request.state == State::Open && (c.decided || !c.doubtful) {
            let outcome = self.outcome(c.id, &request);
            self.closed.push(closed(c, &request, outcome));
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
        let mut turned = false;
        if let Some(c) = self.conversations.get_mut(slot) {
            if !c.decided {
                turned = c.level <= Level::Low && c.latest != 0 && c.client() != v.client(d);
                c.set_client(v.client(d));
                c.decided = v.decided;
                c.doubtful = v.doubtful;
            }
            c.level = c.level.max(v.glance.level);
        }
        if turned {
            self.withdraw(slot, v.id);
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
    pub(super) fn confirm(&mut self, slot: Slot, paired: Level) {
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
                self.closed.push(closed(gone, &request, outcome));
            }
        }
    }

    /// The requests of a conversation, latest first: sequence numbers.
    pub(super) fn chain(&self, slot: Slot) -> impl Iterator<Item = (u64, &Request)> {
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
}
