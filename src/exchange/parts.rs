//! Answers in parts: parts in sequence, numbered parts in any order (some repeated, some missing), and parts of a
//! message that is joined.

use super::incomplete::{Numbered, Reply, record};
use super::queue::{Request, State};
use super::table::Table;
use super::{Answer, Exchange, MAX_PARTS, PARTS_WINDOW, Pairing};
use crate::classify::Verdict;
use crate::contract::{Joining, Part, Piece, Split};
use crate::conversation::{Conversation, Slot};
use crate::net::Datagram;
use crate::protocols::{Probe, Role};

impl Table {
    /// Adds a further part to an answer with numbered parts; `None` where no such answer with its key is under way.
    #[cold]
    pub(super) fn numbered_part(&mut self, slot: Slot, reply: &Reply<'_>, part: Part) -> Option<Pairing> {
        let &Reply { d, v, now, hash } = reply;
        let queue = &self.queues[v.id as usize];
        let key = v.probe.key;
        // If the step has no rule for contradicting parts, a part whose number has come before belongs to another
        // answer.
        let contradicting = v.id.info().steps[usize::from(v.probe.step)].rules.contradicting.is_some();
        let seq = self.chain(slot).filter(|(_, r)| r.state == State::Answering).find_map(|(seq, r)| {
            let open =
                |(later, o): (u64, &Request)| later > seq && o.state == State::Open && o.step == r.step;
            let its = |numbered: &Numbered| {
                let sent = self.seconds.get(&(r.id, hash)).is_some();
                // As with whole answers, nothing is a copy while a later request of the step is open.
                let again = || (contradicting || sent) && !self.chain(slot).any(open);
                (numbered.key == key || r.key() == key) && (!sent && !numbered.has(part) || again())
            };
            self.answering.by_exchange.get(&r.id)?.numbered.as_ref().is_some_and(its).then_some(seq)
        })?;
        let request = *queue.get(seq)?;
        let window = self.windows.answer(v.id);
        let answering = self.answering.by_exchange.get_mut(&request.id)?;
        let numbered = answering.numbered.as_mut()?;
        if numbered.lacks(now, window).is_some() {
            self.finish_parts(slot, seq, &request);
            return None;
        }
        if let Some(&of) = self.seconds.get(&(request.id, hash)) {
            return Some(request.copied(of));
        }
        let shuffled = part.number < numbered.highest;
        let foreign_key = request.key().is_some() && request.key() != key;
        let contradicts = !numbered.add(part, now);
        let complete = numbered.is_complete();
        let before = answering.take(d);
        if contradicts {
            answering.contradicted.get_or_insert(d.frame);
        }
        self.remember_second(request.id, hash, d.frame);
        if complete {
            self.finish_parts(slot, seq, &request);
        }
        let answer = request.answered(d.time);
        Some(Pairing::Answered(Answer { part: true, before, shuffled, contradicts, foreign_key, ..answer }))
    }

    /// A copy of a part of an answer that is complete by now.
    #[cold]
    pub(super) fn part_again(&self, slot: Slot, reply: &Reply<'_>) -> Option<Pairing> {
        reply.v.probe.part?;
        self.chain(slot).find_map(|(_, r)| {
            let of = *self.seconds.get(&(r.id, reply.hash))?;
            Some(r.copied(of))
        })
    }

    /// Adds a further part to an answer under way. A part that comes too late, or begins a message of its own, does
    /// not belong to it: then the answer is closed with the parts that have come.
    pub(super) fn more_parts(&mut self, slot: Slot, reply: &Reply<'_>) -> Option<Pairing> {
        let &Reply { d, v, .. } = reply;
        let g = &v.probe;
        if let Some(part) = g.part {
            let pairing = self.numbered_part(slot, reply, part);
            if pairing.is_some() || self.has_open(slot, Some(g.step)) {
                return pairing;
            }
        }
        // Of a datagram that the capture cut, the number may be missing: it begins another answer only if one is awaited.
        let begins = g.begins && g.part.is_none() && (d.cut == 0 || self.has_open(slot, Some(g.step)));
        let steps = v.id.info().steps;
        let ends = |r: &Request| r.state == State::Answering && !steps[usize::from(r.step)].open_ended;
        let (seq, _) = self.chain(slot).find(|(_, r)| ends(r))?;
        let request = *self.queues[v.id as usize].get(seq)?;
        let now = self.now(d);
        let parts = self.answering.by_exchange.get_mut(&request.id)?;
        // Numbered parts that are missing may still come, whatever else the server says meanwhile.
        if parts.numbered.is_some() && (begins || g.part.is_some()) {
            return None;
        }
        if begins || now.since(parts.first).is_some_and(|t| t > PARTS_WINDOW) {
            self.finish_parts(slot, seq, &request);
            return None;
        }
        // Where a part has no number, perhaps because the capture cut it, which of them are missing is unknown.
        parts.numbered = None;
        let before = parts.take(d);
        let last = g.role == Role::Response || parts.frames.len() >= MAX_PARTS as usize;
        if last {
            self.finish_parts(slot, seq, &request);
        }
        Some(Pairing::Answered(Answer { part: true, before, ..request.answered(d.time) }))
    }

    /// Closes an exchange whose answer came in parts.
    pub(super) fn finish_parts(&mut self, slot: Slot, seq: u64, request: &Request) {
        let Some(c) = self.conversations.get(slot).copied() else { return };
        self.queues[c.id as usize].set(seq, State::Answered);
        let done = self.parts_of(&c, request);
        self.closed.extend(done);
    }

    /// Makes the record of an exchange whose answer came in parts, and forgets the parts.
    pub(super) fn parts_of(&mut self, c: &Conversation, request: &Request) -> Option<Exchange> {
        let parts = self.answering.by_exchange.remove(&request.id)?;
        let first = parts.frames.first().copied().or(parts.frame);
        let done = record(c, request, parts.outcome, first, parts.response_time, parts.bytes);
        let window = self.windows.answer(c.id);
        let incomplete = parts.numbered.and_then(|numbered| numbered.lacks(self.clock, window));
        Some(Exchange {
            answer: parts.message,
            response_parts: parts.frames,
            incomplete,
            contradicted: parts.contradicted,
            ..done
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
        let server = (v.id, v.server(d));
        let id = v.probe.key.map_or(0, |key| key as u32);
        let of_message = self.chain(slot).find_map(|(_, r)| self.joins.layout_of(r.id, id, now));
        let layout = self.joins.layout(of_message, server);
        let Some(split) = (joining.read)(d.payload, d.wire_len(), layout) else {
            return self.answer(slot, d, v);
        };
        let makes = v.probe.part.and_then(|part| part.makes);
        let part = Part { number: split.number, total: Some(split.total), makes };
        let role = if split.total == 1 { Role::Response } else { Role::ResponsePart };
        let pairing =
            self.answer(slot, d, &Verdict { probe: Probe { part: Some(part), role, ..v.probe }, ..*v });
        let mut piece = Piece { split, whole: None, broken: None, contradicted: None };
        if let Pairing::Answered(answer) = &pairing {
            self.joins.layouts.insert(server, split.layout);
            if let Some(mut join) = self.joins.take(d, now, &split, answer) {
                piece.contradicted = join.contradicted;
                match join.whole(v.id, joining) {
                    Ok((first, whole)) => {
                        let its = self.just_closed(answer.exchange);
                        its.into_iter().for_each(|e| e.answer = Some(whole.message));
                        piece.split = Split { number: split.number, ..first };
                        piece.whole = Some(whole);
                    }
                    Err(rule) => piece.broken = Some(rule),
                }
            }
        }
        self.piece = Some(Box::new(piece));
        pairing
    }

    /// Takes the part that the datagram paired last was, if it was one.
    #[inline(always)]
    pub fn take_piece(&mut self) -> Option<Box<Piece>> {
        self.piece.take()
    }
}
