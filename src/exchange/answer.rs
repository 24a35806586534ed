//! Handles answers: which request an answer belongs to, and the record of the exchange that it closes.

use super::incomplete::{Answering, Numbered, Orphan, Reply, record};
use super::queue::{ALONE, GIVEN_UP, PARTIAL, Request, State};
use super::search::{Found, Search, answers_of};
use super::table::Table;
use super::{Answer, Exchange, MAX_ELSEWHERE, MAX_HOSTS, MAX_STEPS_BACK, Outcome, Pairing};
use crate::classify::Verdict;
use crate::conversation::{Conversation, Slot};
use crate::fold::hash_one;
use crate::net::Datagram;
use crate::protocols::{Direction, Probe, Role, StepInfo};

impl Table {
    pub(super) fn answer(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let g = &v.probe;
        let step = &v.id.info().steps[g.step as usize];
        let reply = &self.reply(d, v);
        if !self.answering.by_exchange.is_empty()
            && let Some(pairing) = self.more_parts(slot, reply)
        {
            return pairing;
        }
        if let Some(seq) = self.only_candidate(self.conversations.latest(slot), v, step) {
            self.issue(slot, step, g.request_state);
            return self.answered(slot, seq, reply, false);
        }
        // The search uses the value issued before this answer.
        let found = self.candidates(slot, reply, step);
        self.evicted += u64::from(found.ended_early);
        // A copy issues no new value: the value may have been used since, or another one issued. But while a
        // request is open, the server may have issued the same value again, and its use must not be reported as an
        // error.
        if found.copy.is_none() || found.open {
            self.issue(slot, step, g.request_state);
            self.used_before(slot);
        }
        if let Some((seq, foreign_key)) = found.request {
            return self.answered_apart(slot, seq, reply, foreign_key);
        }
        if let Some(copy) = found.copy.or_else(|| self.part_again(slot, reply)) {
            return copy;
        }
        if let Some(answer) = found.second {
            return if step.lines { Pairing::Answered(answer) } else { self.second(answer, reply) };
        }
        let own = &self.of_host(reply, step);
        if let Some(answer) = self.asked_of_many(slot, own, step) {
            return self.second(answer, own);
        }
        if !found.open
            && let Some((seq, asked)) = self.asked_elsewhere(d, v, step)
            && let Pairing::Answered(answer) = self.answered_apart(asked, seq, reply, false)
        {
            self.conversations.confirm(slot, g.paired);
            self.just_closed(answer.exchange).into_iter().for_each(|e| e.elsewhere = true);
            return Pairing::Answered(Answer { elsewhere: true, ..answer });
        }
        if found.ended_early {
            return Pairing::Nothing; // nobody knows whether it was asked for
        }
        self.orphan(slot, reply);
        let keyless = step.key_digits == 0 || g.key.is_none();
        let elsewhere = keyless && self.asked_another_port(slot, reply);
        let other_step = !found.open && self.has_open(slot, None);
        Pairing::Unsolicited { open: found.open, asked: found.asked, other_step, elsewhere }
    }

    #[inline(always)]
    fn reply<'a>(&self, d: &'a Datagram<'a>, v: &'a Verdict) -> Reply<'a> {
        Reply { d, v, now: self.now(d), hash: self.fingerprint(d) }
    }

    /// Remembers the value that an answer issues to the client.
    #[inline(always)]
    pub(super) fn issue(&mut self, slot: Slot, step: &StepInfo, value: u32) {
        if step.issues
            && let Some(c) = self.conversations.get_mut(slot)
        {
            c.note_issued(value);
        }
    }

    /// Notes that the value just issued is used, if the request that carries it stands before it in the file.
    fn used_before(&mut self, slot: Slot) {
        let carried = self.whole_chain(slot).next().and_then(|(_, r)| r.key());
        if let (Some(value), Some(c)) = (carried, self.conversations.get_mut(slot)) {
            c.note_carried(value);
        }
    }

    /// The latest request, if the answer cannot belong to anything else: then no search is needed.
    #[inline]
    fn only_candidate(&self, latest: u64, v: &Verdict, step: &StepInfo) -> Option<u64> {
        let queue = &self.queues[v.id as usize];
        let (seq, r) = queue.back_to(latest)?;
        let its = r.step == v.probe.step && r.state == State::Open && r.is(ALONE) && !r.is(PARTIAL);
        let keyed = step.key_digits > 0;
        // Without a key, copies and time stamps have to be considered.
        let sure = if keyed {
            v.probe.key.is_some() && v.probe.key == r.key()
        } else {
            r.previous(seq) == 0 && queue.sent(seq, r).clock >= r.time
        };
        (its && sure && !step.excluded(v.probe.request_state, r.request_state)).then_some(seq)
    }

    /// [`answered`](Self::answered) where it took a search.
    #[inline(never)]
    fn answered_apart(&mut self, slot: Slot, seq: u64, reply: &Reply<'_>, foreign_key: bool) -> Pairing {
        self.answered(slot, seq, reply, foreign_key)
    }

    /// Answers a request.
    #[inline(always)]
    fn answered(&mut self, slot: Slot, seq: u64, reply: &Reply<'_>, foreign_key: bool) -> Pairing {
        let &Reply { d, v, now, hash } = reply;
        let window = self.windows.answer(v.id);
        let queue = &mut self.queues[v.id as usize];
        let Some(kept) = queue.get_mut(seq) else { return Pairing::Nothing };
        let request = *kept;
        let step = &v.id.info().steps[request.step as usize];
        let part = v.probe.part.filter(|_| request.request_state & Probe::WHOLE_ANSWER == 0);
        let open_ended = step.open_ended;
        let whole =
            !open_ended && (v.probe.role != Role::ResponsePart || part.is_none() && v.probe.part.is_some());
        let state = if whole { State::Answered } else { State::Answering };
        kept.state = state;
        kept.answer(hash, d.frame, v.probe.message);
        let sent = queue.sent(seq, &request).stamp;
        let paired = step.worth(v.probe.paired, [request.request_state, v.probe.request_state]);
        if let Some(c) = self.conversations.get_mut(slot) {
            c.confirm_pair(step, paired, v.probe.level);
        }
        let late = now.since(sent).is_some_and(|t| t > window);
        let keyless = request.key().is_some() && v.probe.key.is_none();
        let answer = Answer { late, foreign_key, keyless, ..request.answered(d.time) };
        let outcome = if late { Outcome::Late } else { Outcome::Answered };
        if !whole {
            let mut answering = Answering {
                open_ended,
                message: Some(v.probe.message),
                numbered: part.map(|part| Numbered::new(part, v.probe.key, now)),
                ..Answering::new((v.id, seq), &answer, now)
            };
            answering.take(d);
            self.begin_answer(answer.exchange, answering);
            if part.is_some() {
                self.remember_second(answer.exchange, hash, d.frame);
            }
            return Pairing::Answered(answer);
        }
        if let Some(c) = self.conversations.get(slot) {
            let (frame, bytes) = (Some(d.frame), d.wire_len() as u64);
            let done = record(c, &request, outcome, frame, answer.response_time, bytes);
            self.closed.push_back(Exchange { answer: Some(v.probe.message), ..done });
        }
        Pairing::Answered(answer)
    }

    /// Remembers an answer in parts. The one that began first ends to make room: of an open-ended one most likely all has come.
    #[cold]
    fn begin_answer(&mut self, exchange: u64, answering: Answering) {
        if let Some(&Answering { request: (id, seq), open_ended, .. }) = self.answering.oldest_if_full() {
            self.evicted += u64::from(!open_ended);
            self.close_waiting(id as usize, seq);
        }
        self.answering.insert(exchange, answering);
    }

    /// A further answer, which differs from the first: it may be a copy of one that came after the first.
    #[cold]
    fn second(&mut self, answer: Answer, &Reply { d, hash, .. }: &Reply<'_>) -> Pairing {
        if let Some(&of) = self.seconds.get(&(answer.exchange, hash)) {
            let Answer { exchange, request_frame, asked, step, .. } = answer;
            return Pairing::DuplicateResponse { exchange, request_frame, of, asked, step };
        }
        self.remember_second(answer.exchange, hash, d.frame);
        let open_ended = self.answering.by_exchange.get_mut(&answer.exchange).filter(|_| answer.part);
        let before = open_ended.map_or(answer.before, |parts| parts.take(d));
        Pairing::Answered(Answer { before, ..answer })
    }

    /// Finds an open request of the client to another endpoint with the key of the answer. Pairing by order proves
    /// nothing there.
    #[cold]
    fn asked_elsewhere(&self, d: &Datagram<'_>, v: &Verdict, step: &StepInfo) -> Option<(u64, Slot)> {
        let key = v.probe.key.filter(|_| step.key_digits > 0)?;
        self.latest_open(d, v, |_, r| r.key() == Some(key)).next().map(|(seq, slot, _)| (seq, slot))
    }

    /// The same answer, with a hash that differs from those of equal answers of other hosts. A host that answers
    /// once has the same hash for all of its answers.
    fn of_host<'a>(&self, reply: &Reply<'a>, step: &StepInfo) -> Reply<'a> {
        let its = if step.once { 0 } else { reply.hash };
        Reply { hash: its ^ hash_one(&self.hasher, reply.d.src) as u32, ..*reply }
    }

    /// The answer of one host to a request that went to many hosts: the exchange closes when the late window of
    /// that ends.
    #[cold]
    fn asked_of_many(&mut self, slot: Slot, reply: &Reply<'_>, step: &StepInfo) -> Option<Answer> {
        let &Reply { d, v, now, .. } = reply;
        let also = answers_of(v).also;
        // Every host answers for itself, so that no order can be wrong.
        let by_order = step.key_digits == 0 || step.keyless && v.probe.key.is_none();
        let is = |r: &Request| {
            (by_order || r.key() == v.probe.key) && (r.step == v.probe.step || also.contains(&r.step))
        };
        let asked = self.queues[v.id as usize].latest(MAX_ELSEWHERE).filter_map(|(seq, r)| {
            let waits = matches!(r.state, State::Open | State::Answering) && is(r);
            let (_, c) = self.conversations.at(r.conversation).filter(|_| waits)?;
            let other_port = c.server().port() != d.src.port();
            (c.client() == d.dst && c.server().is_group()).then_some((other_port, seq, *r))
        });
        // Who searches asks several ports at once, and a host answers from its own.
        let (_, seq, request) = asked.min_by_key(|(other_port, ..)| *other_port)?;
        let sent = self.queues[v.id as usize].sent(seq, &request).stamp;
        let late = now.since(sent).is_some_and(|t| t > self.windows.answer(v.id));
        let answer = Answer { late, ..request.answered(d.time) };
        self.conversations.confirm(slot, v.probe.paired);
        if request.state == State::Open {
            self.queues[v.id as usize].set(seq, State::Answering);
            self.begin_answer(request.id, Answering::new((v.id, seq), &answer, now));
        }
        let answers = self.answering.by_exchange.get_mut(&request.id);
        match answers.filter(|answers| answers.frames.len() < MAX_HOSTS) {
            Some(answers) if self.seconds.get(&(request.id, reply.hash)).is_none() => _ = answers.take(d),
            Some(_) => {}
            None => self.evicted += 1,
        }
        Some(answer)
    }

    /// The latest open requests of an answer's receiver, of the answer's step, for which `is` holds, wherever they
    /// were sent.
    fn latest_open(
        &self,
        d: &Datagram<'_>,
        v: &Verdict,
        is: impl Fn(u64, &Request) -> bool,
    ) -> impl Iterator<Item = (u64, Slot, &Conversation)> {
        let (client, step) = (d.dst, v.probe.step);
        let latest = self.queues[v.id as usize].latest(MAX_ELSEWHERE);
        let open = latest.filter(move |(seq, r)| r.state == State::Open && r.step == step && is(*seq, r));
        open.filter_map(move |(seq, r)| {
            let (slot, c) = self.conversations.at(r.conversation)?;
            (c.client() == client).then_some((seq, slot, c))
        })
    }

    /// Whether the client sent no request to the sender, but waits for an answer of another port of that host.
    #[cold]
    fn asked_another_port(&self, slot: Slot, &Reply { d, v, now, .. }: &Reply<'_>) -> bool {
        if self.conversations.latest(slot) != 0 {
            return false;
        }
        let window = self.windows.answer(v.id);
        let queue = &self.queues[v.id as usize];
        let waits =
            |seq, r: &Request| now.since(queue.sent(seq, r).stamp).is_some_and(|t| (0..=window).contains(&t));
        self.latest_open(d, v, waits).any(|(_, _, c)| c.server().host() == d.src.host())
    }

    /// Searches for the request that an answer may belong to.
    fn candidates(&self, slot: Slot, &Reply { v, now, hash, .. }: &Reply<'_>, step: &StepInfo) -> Found {
        let mut search = Search::new(v, step, self.windows.answer(v.id), now, hash);
        let queue = &self.queues[v.id as usize];
        for (back, (seq, r)) in self.whole_chain(slot).enumerate() {
            if back >= MAX_STEPS_BACK && !search.goes_on(r, back < self.far_back) {
                break;
            }
            search.look(seq, r, queue.sent(seq, r).stamp);
        }
        let issued = self.conversations.get(slot).and_then(|c| c.issued());
        search.found(issued.map(|i| i.value))
    }

    /// The exchange whose answer a datagram of the server comes instead of, if it is no answer itself: the exchange
    /// that an answer in its place would be paired with by order. A stray datagram, or one whose step has no open
    /// request while another step has, may come instead of an answer of any step.
    #[cold]
    #[inline(never)]
    pub fn awaited(&self, slot: Slot, d: &Datagram<'_>, v: &Verdict, pairing: &Pairing) -> Option<u64> {
        if v.direction == Direction::C2s || pairing.exchange().is_some() {
            return None;
        }
        let (now, window) = (self.now(d), self.windows.answer(v.id));
        let queue = &self.queues[v.id as usize];
        let any =
            v.probe.role == Role::Stray || matches!(pairing, Pairing::Unsolicited { other_step: true, .. });
        let open = || {
            let open = |r: &Request| r.state == State::Open && r.frame < d.frame;
            self.chain(slot).filter(move |(_, r)| open(r) && (any || r.step == v.probe.step))
        };
        let waits = |&(seq, r): &(u64, &Request)| {
            !r.is(GIVEN_UP) && now.since(queue.sent(seq, r).stamp).is_none_or(|t| t <= window)
        };
        open().filter(waits).last().or_else(|| open().last()).map(|(_, r)| r.id)
    }

    /// How a copy of frame `of` made by the capture belongs to an exchange. It changes nothing.
    #[cold]
    pub fn copied(&self, slot: Slot, d: &Datagram<'_>, v: &Verdict, of: u64) -> Pairing {
        let step = &v.id.info().steps[v.probe.step as usize];
        let answers = matches!(v.probe.role, Role::Response | Role::ResponsePart);
        let found = if answers { self.candidates(slot, &self.reply(d, v), step) } else { Found::default() };
        let asked = found.second.map(|answer| answer.asked).or(found.asked);
        found.copy.unwrap_or(Pairing::DuplicateFrame { of, asked })
    }

    /// Forgets an answer that has been reported as unsolicited.
    pub fn drop_orphan(&mut self, slot: Slot, frame: u64) {
        self.orphans.retain(|o| o.conversation != slot || o.frame != frame);
    }

    fn orphan(&mut self, slot: Slot, &Reply { d, v, hash, .. }: &Reply<'_>) {
        let Probe { step, message, key, paired, request_state, .. } = v.probe;
        let (frame, time, since, bytes) = (d.frame, d.time, self.clock, d.wire_len() as u32);
        let conversation = slot;
        let message = Some(message);
        self.keep_orphan(Orphan {
            conversation,
            step,
            message,
            key,
            paired,
            request_state,
            frame,
            time,
            since,
            hash,
            bytes,
        });
    }
}
