//! Bytes that no protocol claims, in the place of an answer.
//!
//! A server that answers with something else than a message leaves its request open, and all later pairs by order would be
//! shifted. So such bytes close the only request that waits for an answer. The record of the exchange waits until the late
//! window ends: inside the answer window, a real answer that belongs to no open request may still take the exchange, and
//! only then is it known whether the client sends unknown datagrams, too, as games do.

use super::incomplete::{PartialAnswer, Reply};
use super::queue::{GIVEN_UP, MISANSWERED, PARTIAL, Request, State};
use super::table::Table;
use super::{Answer, Exchange, Pairing};
use crate::classify::{Verdict, protocols_of};
use crate::conversation::{Conversation, Slot};
use crate::net::Datagram;
use crate::protocols::Id;

impl Table {
    /// The verdict about a datagram that no protocol claims, if it comes in the place of an answer: its receiver waits for
    /// exactly one answer of its sender, and the two have exchanged nothing else that is unclaimed. `shared` has a bit for
    /// each protocol in which they have a conversation. If the datagram is a copy of the one in the frame that `original`
    /// returns, it has the verdict of that.
    #[cold]
    pub fn unreadable(
        &self,
        d: &Datagram<'_>,
        shared: u32,
        original: impl Fn() -> Option<u64>,
    ) -> Option<Verdict> {
        let mut only = None;
        for id in protocols_of(shared) {
            let slot = self.conversations.find(d.src, d.dst, id)?;
            let c = self.conversations.get(slot)?;
            if c.is_misanswered() {
                let original = original();
                let has_original = |r: &Request| r.is(MISANSWERED) && Some(r.answer_frame()) == original;
                if self.chain(slot).any(|(_, r)| has_original(r)) {
                    return Some(Verdict::unreadable(slot, c));
                }
            }
            if c.has_unclaimed() || c.server() != d.src {
                return None;
            }
            for _ in self.waiting(slot, id, d) {
                if only.replace((slot, c)).is_some() {
                    return None;
                }
            }
        }
        let (slot, c) = only.filter(|_| original().is_none())?;
        self.waiting(slot, c.id, d).any(|(_, r)| r.state == State::Open).then(|| Verdict::unreadable(slot, c))
    }

    /// The requests of a conversation that wait for an answer, or for further parts of one, inside their windows.
    fn waiting(&self, slot: Slot, id: Id, d: &Datagram<'_>) -> impl Iterator<Item = (u64, &Request)> {
        let (now, window, queue) = (self.now(d), self.windows.answer(id), &self.queues[id as usize]);
        self.chain(slot).filter(move |&(seq, r)| {
            let waits = match r.state {
                State::Open => !r.is(GIVEN_UP) && !r.is(PARTIAL),
                State::Answering => !id.info().steps[usize::from(r.step)].open_ended,
                _ => false,
            };
            waits && now.since(queue.sent(seq, r).stamp).is_none_or(|t| (0..=window).contains(&t))
        })
    }

    /// Pairs bytes that are no message with the request that waits for an answer.
    #[cold]
    pub(super) fn answer_unreadable(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let Some((seq, &request)) = self.waiting(slot, v.id, d).find(|(_, r)| r.state == State::Open) else {
            return Pairing::Nothing;
        };
        let hash = self.fingerprint(d);
        if let Some(stored) = self.queues[v.id as usize].get_mut(seq) {
            stored.state = State::Unreadable;
            stored.set_mark(MISANSWERED, true);
            stored.mark_answered(hash, d.frame, v.probe.message);
        }
        self.conversations.get_mut(slot).into_iter().for_each(Conversation::note_misanswered);
        self.changes += 1;
        let answer = request.answer_at(d.time);
        self.keep_waiting((v.id, seq), &answer, &self.reply(d, v));
        Pairing::Answered(answer)
    }

    /// Keeps the answer of an exchange whose record waits.
    #[cold]
    pub(super) fn keep_waiting(
        &mut self,
        request: (Id, u64),
        answer: &Answer,
        &Reply { d, v, now, .. }: &Reply<'_>,
    ) {
        // The answer is one datagram, for which no list is needed, and in which no part is missing.
        let (open_ended, may_be_ended, message) = (true, true, Some(v.probe.message));
        let new = PartialAnswer::new(request, answer, now);
        let mut partial = PartialAnswer { open_ended, may_be_ended, message, ..new };
        partial.add(d, v.probe.request_state);
        self.begin_answer(answer.exchange, partial);
    }

    /// The record of an exchange with bytes that are no message. Where their conversation is not certain, or the client
    /// sends unknown datagrams, too, they were no answer.
    #[cold]
    pub(super) fn take_misanswered(&mut self, c: &Conversation, seq: u64, r: &Request) -> Option<Exchange> {
        let exchange = self.take_parts(c, r)?;
        match r.state {
            State::Unreadable if !exchange.unreadable => Some(self.record_unanswered(c, seq, r)),
            _ => Some(exchange),
        }
    }
}
