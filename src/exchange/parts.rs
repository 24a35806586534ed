//! Answers in parts: parts in sequence, numbered parts in any order (some repeated, some missing), and parts of a
//! message that is joined.

use super::incomplete::{NumberedParts, Reply, record};
use super::queue::{MISANSWERED, Request, State};
use super::table::Table;
use super::{Answer, Exchange, MAX_PARTS, PARTS_WINDOW, Pairing};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::{Joining, Part, Piece, Split};
use crate::conversation::{Conversation, Slot};
use crate::net::Datagram;
use crate::protocols::{Level, Probe, Role};

impl Table {
    /// Adds a further part to an answer with numbered parts; `None` where no such answer with its key is under way.
    #[cold]
    pub(super) fn add_numbered_part(&mut self, slot: Slot, reply: &Reply<'_>, part: Part) -> Option<Pairing> {
        let &Reply { d, v, now, hash } = reply;
        let queue = &self.queues[v.id as usize];
        let key = v.probe.key;
        // If the step has no rule for contradicting parts, a part whose number has come before belongs to another
        // answer.
        let has_rule = v.id.info().steps[usize::from(v.probe.step)].rules.contradicting.is_some();
        let seq = self.chain(slot).filter(|(_, r)| r.state == State::Answering).find_map(|(seq, r)| {
            let is_later_open =
                |(later, o): (u64, &Request)| later > seq && o.state == State::Open && o.step == r.step;
            let takes_part = |numbered: &NumberedParts| {
                let is_known = self.further_answers.get(&(r.id, hash)).is_some();
                // As with whole answers, no part is a copy while a later request of the step is open.
                let may_repeat = || (has_rule || is_known) && !self.chain(slot).any(is_later_open);
                (numbered.key == key || r.key() == key) && (!is_known && !numbered.has(part) || may_repeat())
            };
            let numbered = self.partial_answers.by_exchange.get(&r.id)?.numbered.as_ref()?;
            takes_part(numbered).then_some(seq)
        })?;
        let request = *queue.get(seq)?;
        let window = self.windows.answer(v.id);
        let partial = self.partial_answers.by_exchange.get_mut(&request.id)?;
        let numbered = partial.numbered.as_mut()?;
        if numbered.missing(now, window).is_some() {
            self.finish_parts(slot, seq, &request);
            return None;
        }
        if let Some(&of) = self.further_answers.get(&(request.id, hash)) {
            return Some(self.count_further(slot, request.duplicate_response(of), v));
        }
        let out_of_order = part.number < numbered.highest;
        let contradicts = !numbered.add(part, now);
        let complete = numbered.is_complete();
        let before = partial.add(d, v.probe.request_state);
        if contradicts {
            partial.contradicted.get_or_insert(d.frame);
        }
        self.remember_further_answer(request.id, hash, d.frame);
        if complete {
            self.finish_parts(slot, seq, &request);
        }
        let answer = request.answer_at(d.time);
        Some(Pairing::Answered(Answer { part: true, before, out_of_order, contradicts, ..answer }))
    }

    /// The pairing of a copy of a part whose answer is complete by now; `None` where it is no copy.
    #[cold]
    pub(super) fn repeated_part(&self, slot: Slot, reply: &Reply<'_>) -> Option<Pairing> {
        reply.v.probe.part?;
        self.chain(slot).find_map(|(_, r)| {
            let of = *self.further_answers.get(&(r.id, reply.hash))?;
            Some(r.duplicate_response(of))
        })
    }

    /// Adds a further part to an answer under way. A part that comes too late, or begins another message, does not
    /// belong to the answer: then the answer is closed with the parts that have come.
    pub(super) fn continue_answer(&mut self, slot: Slot, reply: &Reply<'_>) -> Option<Pairing> {
        let &Reply { d, v, .. } = reply;
        let probe = &v.probe;
        if let Some(part) = probe.part {
            let pairing = self.add_numbered_part(slot, reply, part);
            if pairing.is_some() || self.has_open(slot, Some(probe.step)) {
                return pairing;
            }
        }
        // A datagram that the capture cut may have lost its part number: it begins another answer only if one is
        // awaited.
        let begins =
            probe.begins && probe.part.is_none() && (d.cut == 0 || self.has_open(slot, Some(probe.step)));
        let steps = v.id.info().steps;
        let is_under_way =
            |r: &Request| r.state == State::Answering && !steps[usize::from(r.step)].open_ended;
        let (seq, _) = self.chain(slot).find(|(_, r)| is_under_way(r))?;
        let request = *self.queues[v.id as usize].get(seq)?;
        let now = self.now(d);
        let partial = self.partial_answers.by_exchange.get_mut(&request.id)?;
        // Missing numbered parts may still come, whatever else the server sends meanwhile.
        if partial.numbered.is_some() && (begins || probe.part.is_some()) {
            return None;
        }
        if begins || now.since(partial.first).is_some_and(|t| t > PARTS_WINDOW) {
            self.finish_parts(slot, seq, &request);
            return None;
        }
        // After a part without a number, perhaps because the capture cut it, it is unknown which parts are missing.
        partial.numbered = None;
        let before = partial.add(d, probe.request_state);
        let is_last = probe.role == Role::Response || partial.frames.len() >= MAX_PARTS as usize;
        partial.may_be_ended |= is_last;
        if is_last {
            self.finish_parts(slot, seq, &request);
        }
        Some(Pairing::Answered(Answer { part: true, before, ..request.answer_at(d.time) }))
    }

    /// Closes an exchange whose answer came in parts.
    pub(super) fn finish_parts(&mut self, slot: Slot, seq: u64, request: &Request) {
        let Some(c) = self.conversations.get(slot).copied() else { return };
        self.queues[c.id as usize].set_state(seq, State::Answered);
        let exchange = self.take_parts(&c, request);
        exchange.into_iter().for_each(|e| self.push_closed(e));
    }

    /// Removes the parts of an answer, and returns the record of its exchange, unless that was withdrawn.
    pub(super) fn take_parts(&mut self, c: &Conversation, request: &Request) -> Option<Exchange> {
        let parts = self.partial_answers.by_exchange.remove(&request.id)?;
        if self.is_withdrawn(request.id) {
            return None;
        }
        let first = parts.frames.first().copied().or(parts.frame);
        let exchange = record(c, request, parts.outcome, first, parts.response_time, parts.bytes);
        let window = self.windows.answer(c.id);
        let step = &c.id.info().steps[usize::from(request.step)];
        let incomplete = parts.missing(self.clock, window, step);
        // Where the client sends unknown datagrams, too, what came first may be one of a game.
        let unreadable = request.is(MISANSWERED) && c.level >= Level::Medium && !c.has_other_traffic();
        Some(Exchange {
            unreadable,
            answer: parts.message,
            response_parts: parts.frames,
            incomplete,
            contradicted: parts.contradicted,
            ..exchange
        })
    }

    /// Pairs an answer that is a part of a message, by the layout of that message, and joins the parts that have
    /// come.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_part(
        &mut self,
        slot: Slot,
        d: &Datagram<'_>,
        v: &Verdict,
        joining: &'static Joining,
    ) -> Pairing {
        let now = self.now(d);
        self.joins.unpacking.note(d);
        let server = (v.id, v.server(d));
        let id = v.probe.key.map_or(0, |key| key as u32);
        let message_layout = self.chain(slot).find_map(|(_, r)| self.joins.layout_of(r.id, id, now));
        let layout = self.joins.layout(message_layout, server);
        let Some(split) = (joining.read)(d.payload, d.wire_len(), layout) else {
            return self.answer(slot, d, v);
        };
        if let Some((_, false)) = message_layout
            && (joining.proves)(d.payload, &split)
        {
            self.prove_layout(slot, id, &split, joining, now);
        }
        let makes = v.probe.part.and_then(|part| part.makes);
        let part = Part { number: split.number, total: Some(split.total), makes, share: None };
        let role = if split.total == 1 { Role::Response } else { Role::ResponsePart };
        let pairing =
            self.answer(slot, d, &Verdict { probe: Probe { part: Some(part), role, ..v.probe }, ..*v });
        let mut piece = Piece { split, whole: None, broken: None, contradicted: None };
        if let Pairing::Answered(answer) = &pairing {
            let proves = (joining.proves)(d.payload, &split);
            if proves || message_layout.is_none() {
                self.joins.layouts.insert(server, split.layout);
            }
            if let Some(mut join) = self.joins.add(d, now, &split, proves, answer) {
                piece.contradicted = join.contradicted;
                match join.whole(v.id, joining, &mut self.joins.unpacking) {
                    Ok(Some((first, whole))) => {
                        let closed = self.just_closed(answer.exchange);
                        closed.into_iter().for_each(|e| e.answer = Some(whole.message));
                        piece.split = Split { number: split.number, ..first };
                        piece.whole = Some(whole);
                    }
                    Ok(None) => {}
                    Err(rule) => piece.broken = Some(rule),
                }
            }
        }
        self.piece = Some(Box::new(piece));
        pairing
    }

    /// Reads the parts of a message again, in the layout that a further part proves.
    #[cold]
    fn prove_layout(&mut self, slot: Slot, id: u32, proof: &Split, joining: &Joining, now: Time) {
        let has_message = |r: &Request| self.joins.layout_of(r.id, id, now).is_some();
        let Some(exchange) = self.chain(slot).find(|(_, r)| has_message(r)).map(|(_, r)| r.id) else {
            return;
        };
        let Some(parts) = self.joins.prove((exchange, id), proof, joining) else { return };
        let partial = self.partial_answers.by_exchange.get_mut(&exchange);
        if let Some(numbered) = partial.and_then(|partial| partial.numbered.as_mut()) {
            let key = numbered.key;
            let mut parts = parts.into_iter();
            if let Some(first) = parts.next() {
                *numbered = NumberedParts::new(first, key, now);
                parts.for_each(|part| _ = numbered.add(part, now));
            }
        }
    }

    /// Takes the part of a message that the datagram paired last contained, if any.
    #[inline(always)]
    pub fn take_piece(&mut self) -> Option<Box<Piece>> {
        self.piece.take()
    }
}
