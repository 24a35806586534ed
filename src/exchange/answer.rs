//! Handles answers: which request an answer belongs to, and the record of the exchange that it closes.

use super::incomplete::{NumberedParts, Orphan, PartialAnswer, Reply, record};
use super::queue::{ALONE, GIVEN_UP, MISANSWERED, REPEATED, Request, State};
use super::search::{Found, Search, answers_of};
use super::table::Table;
use super::windows::{EARLY, GIVE_UP};
use super::{Answer, Exchange, MAX_ELSEWHERE, MAX_HOSTS, MAX_STEPS_BACK, Outcome, Pairing};
use crate::bounded::hashing::hash_one;
use crate::classify::Verdict;
use crate::contract::Part;
use crate::conversation::{Conversation, NONE, Slot};
use crate::layout::Expected;
use crate::net::Datagram;
use crate::protocols::{Direction, Level, Probe, Role, StepInfo};

impl Table {
    /// Pairs an answer: with an open request, as a copy or a further answer, or with none.
    pub(super) fn answer(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let probe = &v.probe;
        let step = &v.id.info().steps[probe.step as usize];
        let reply = &self.reply(d, v);
        if !self.partial_answers.by_exchange.is_empty()
            && let Some(pairing) = self.continue_answer(slot, reply)
        {
            return pairing;
        }
        if let Some(seq) = self.only_candidate(self.conversations.latest(slot), v, step) {
            self.note_issued(slot, step, probe.request_state);
            return self.answer_request(slot, seq, reply, false);
        }
        // The search uses the value issued before this answer.
        let found = self.search_request(slot, reply, step);
        self.evicted += u64::from(found.ended_early);
        // A copy issues no new value: the value may have been used since, or another one issued. But while a
        // request is open, the server may have issued the same value again, and its use must not be reported as an
        // error.
        if found.copy.is_none() || found.open {
            self.note_issued(slot, step, probe.request_state);
            self.note_used_by_latest(slot);
        }
        if let Some((seq, foreign_key)) = found.request {
            return self.answer_found_request(slot, seq, reply, foreign_key);
        }
        let repeated = self.repeated_answer(slot, reply, step, &found);
        if let Some(repeated) = repeated.filter(|repeated| !self.may_be_early(slot, reply, step, repeated)) {
            return self.repeat_answer(slot, repeated, reply, step);
        }
        let reply_of_host = &self.reply_of_host(reply, step);
        if let Some(answer) = self.answer_to_group(slot, reply_of_host, step) {
            let pairing = self.further_answer(answer, reply_of_host);
            return self.note_copy_of_host(pairing, v);
        }
        if !found.open
            && repeated.is_none()
            && let Some((seq, other_slot)) = self.request_to_another(slot, reply, step)
            && let Pairing::Answered(answer) = self.answer_found_request(other_slot, seq, reply, false)
        {
            self.conversations.confirm(slot, probe.paired);
            self.share_server(slot, other_slot, step, probe.request_state);
            self.just_closed(answer.exchange).into_iter().for_each(|e| e.elsewhere = true);
            return Pairing::Answered(Answer { elsewhere: true, ..answer });
        }
        if found.ended_early {
            return Pairing::Nothing; // an older request may be open
        }
        self.remember_orphan(slot, reply);
        let keyless = step.key_digits == 0 || probe.key.is_none();
        let elsewhere = keyless && self.awaits_another_port(slot, reply);
        let other_step = !found.open && self.has_open(slot, None);
        Pairing::Unsolicited { open: found.open, asked: found.asked, key: found.key, other_step, elsewhere }
    }

    /// The pairing of an answer that belongs to no open request, if it is a copy of one, or a further one.
    fn repeated_answer(
        &self,
        slot: Slot,
        reply: &Reply<'_>,
        step: &StepInfo,
        found: &Found,
    ) -> Option<Pairing> {
        let single = |answer: &Answer| {
            step.single && answer.repeats_message && reply.v.probe.part.is_none() && reply.d.cut == 0
        };
        let second = || found.second.filter(|answer| !single(answer)).map(Pairing::Answered);
        found.copy.or_else(|| self.repeated_part(slot, reply)).or_else(second)
    }

    /// Whether such an answer may instead belong to a request that follows it in the file: no datagram is doubled so
    /// long after the first one.
    fn may_be_early(&self, slot: Slot, reply: &Reply<'_>, step: &StepInfo, repeated: &Pairing) -> bool {
        let queue = &self.queues[reply.v.id as usize];
        let first = self.chain(slot).find(|(_, r)| Some(r.id) == repeated.exchange());
        let age = first.and_then(|(seq, r)| reply.now.since(queue.sent(seq, r).stamp));
        !step.lines && age.is_some_and(|age| age >= GIVE_UP)
    }

    /// The pairing of such an answer after it has waited for its request. What came later is no original of it, and what was
    /// asked later no request.
    #[cold]
    pub fn pair_repeated(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Option<Pairing> {
        let step = &v.id.info().steps[v.probe.step as usize];
        let reply = &self.reply(d, v);
        let found = self.search_request(slot, reply, step);
        let is_earlier = |repeated: &Pairing| match repeated {
            Pairing::DuplicateResponse { of, .. } => *of < d.frame,
            Pairing::Answered(answer) => answer.response_time.is_none_or(|time| time >= -EARLY),
            _ => true,
        };
        let repeated = self.repeated_answer(slot, reply, step, &found);
        let repeated = repeated.filter(|repeated| found.request.is_none() && is_earlier(repeated))?;
        Some(self.repeat_answer(slot, repeated, reply, step))
    }

    /// Notes a copy or a further answer, and counts it; of an answer in lines or parts, neither.
    fn repeat_answer(
        &mut self,
        slot: Slot,
        repeated: Pairing,
        reply: &Reply<'_>,
        step: &StepInfo,
    ) -> Pairing {
        match repeated {
            Pairing::Answered(_) if step.lines => repeated,
            Pairing::Answered(answer) => {
                let pairing = self.further_answer(answer, reply);
                self.count_further(slot, pairing, reply.v)
            }
            copy => self.count_further(slot, copy, reply.v),
        }
    }

    #[inline(always)]
    pub(super) fn reply<'a>(&self, d: &'a Datagram<'a>, v: &'a Verdict) -> Reply<'a> {
        Reply { d, v, now: self.now(d), hash: self.fingerprint(d) }
    }

    /// Notes the value that an answer issues to the client, if its step issues one.
    #[inline(always)]
    pub(super) fn note_issued(&mut self, slot: Slot, step: &StepInfo, value: u32) {
        if step.issues
            && let Some(c) = self.conversations.get_mut(slot)
        {
            c.note_issued(value);
        }
    }

    /// Notes that the value just issued is used, if the latest request, which stands before the answer in the file,
    /// carries it.
    fn note_used_by_latest(&mut self, slot: Slot) {
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
        let is_only = r.step == v.probe.step && r.state == State::Open && r.is(ALONE);
        // Without a key, it may be a copy of an earlier answer.
        let matches = match step.key_digits {
            0 => r.previous(seq) == 0,
            _ => v.probe.key.is_some() && v.probe.key == r.key(),
        };
        (is_only && matches && !step.excluded(v.probe.request_state, r.request_state)).then_some(seq)
    }

    /// [`answer_request`](Self::answer_request), not inlined: for a request that was found by a search.
    #[inline(never)]
    fn answer_found_request(
        &mut self,
        slot: Slot,
        seq: u64,
        reply: &Reply<'_>,
        foreign_key: bool,
    ) -> Pairing {
        let request = self.queues[reply.v.id as usize].get(seq);
        match request.filter(|r| r.state == State::Unreadable && r.is(MISANSWERED)).map(|r| r.id) {
            Some(exchange) => self.take_over(slot, seq, exchange, reply),
            None => self.answer_request(slot, seq, reply, foreign_key),
        }
    }

    /// Pairs an answer with a request to which bytes came first that are no message. The record goes on waiting.
    #[cold]
    fn take_over(&mut self, slot: Slot, seq: u64, exchange: u64, reply: &Reply<'_>) -> Pairing {
        self.partial_answers.by_exchange.remove(&exchange);
        let pairing = self.answer_request(slot, seq, reply, false);
        if let Pairing::Answered(answer) = &pairing
            && self.closed.remove(exchange)
        {
            self.keep_waiting((reply.v.id, seq), answer, reply);
        }
        pairing
    }

    /// Pairs an answer with a request: closes its exchange, or begins an answer in parts.
    #[inline(always)]
    fn answer_request(&mut self, slot: Slot, seq: u64, reply: &Reply<'_>, foreign_key: bool) -> Pairing {
        let &Reply { d, v, now, hash } = reply;
        let window = self.windows.answer(v.id);
        let queue = &mut self.queues[v.id as usize];
        let Some(stored) = queue.get_mut(seq) else { return Pairing::Nothing };
        let request = *stored;
        let step = &v.id.info().steps[request.step as usize];
        let part = v.probe.part.filter(|_| request.request_state & Probe::WHOLE_ANSWER == 0);
        let open_ended = step.open_ended;
        let whole =
            !open_ended && (v.probe.role != Role::ResponsePart || part.is_none() && v.probe.part.is_some());
        let state = if whole { State::Answered } else { State::Answering };
        stored.state = state;
        stored.mark_answered(hash, d.frame, v.probe.message);
        let sent = queue.sent(seq, &request).stamp;
        let pair_level = step.pair_level(v.probe.paired, [request.request_state, v.probe.request_state]);
        if let Some(c) = self.conversations.get_mut(slot) {
            c.confirm_pair(step, pair_level, v.probe.level);
        }
        let late = now.since(sent).is_some_and(|t| t > window);
        let keyless = request.key().is_some() && v.probe.key.is_none();
        let asked_key = if foreign_key { request.key() } else { None };
        let answer = Answer { late, foreign_key, asked_key, keyless, ..request.answer_at(d.time) };
        let outcome = if late { Outcome::Late } else { Outcome::Answered };
        if !whole {
            let mut partial = PartialAnswer {
                open_ended,
                message: Some(v.probe.message),
                numbered: part.map(|part| NumberedParts::new(part, v.probe.key, now)),
                ..PartialAnswer::new((v.id, seq), &answer, now)
            };
            partial.add(d, v.probe.request_state);
            self.begin_answer(answer.exchange, partial);
            if part.is_some() {
                self.remember_further_answer(answer.exchange, hash, d.frame);
            }
            return Pairing::Answered(answer);
        }
        if let Some(c) = self.conversations.get(slot) {
            let (frame, bytes) = (Some(d.frame), d.wire_len() as u64);
            let exchange = record(c, &request, outcome, frame, answer.response_time, bytes);
            self.closed.push(Exchange { answer: Some(v.probe.message), ..exchange });
        }
        Pairing::Answered(answer)
    }

    /// Remembers an answer in parts. If there is no room, the one that began first ends; an open-ended one is not
    /// counted as evicted, because it is most likely complete.
    #[cold]
    pub(super) fn begin_answer(&mut self, exchange: u64, partial: PartialAnswer) {
        if let Some(&PartialAnswer { request: (id, seq), open_ended, .. }) =
            self.partial_answers.oldest_if_full()
        {
            self.evicted += u64::from(!open_ended);
            self.close_waiting(id as usize, seq);
        }
        self.partial_answers.insert(exchange, partial);
    }

    /// The pairing of a further answer, which differs from the first; it may be a copy of one that came after the
    /// first.
    #[cold]
    fn further_answer(&mut self, answer: Answer, &Reply { d, v, hash, .. }: &Reply<'_>) -> Pairing {
        if let Some(&of) = self.further_answers.get(&(answer.exchange, hash)) {
            let Answer { exchange, request_frame, asked, step, .. } = answer;
            let (further, first) = (0, false);
            return Pairing::DuplicateResponse { exchange, request_frame, of, asked, step, further, first };
        }
        self.remember_further_answer(answer.exchange, hash, d.frame);
        let open_ended = self.partial_answers.by_exchange.get_mut(&answer.exchange).filter(|_| answer.part);
        let state = v.probe.request_state;
        let before = open_ended.map_or(answer.before, |partial| partial.add(d, state));
        Pairing::Answered(Answer { before, ..answer })
    }

    /// Counts a further answer to a request, or a copy of one. A part is no answer of its own, and neither is a datagram of
    /// an open-ended answer.
    #[cold]
    pub(super) fn count_further(&mut self, slot: Slot, pairing: Pairing, v: &Verdict) -> Pairing {
        let Some(exchange) = pairing.exchange() else { return pairing };
        let found =
            self.whole_chain(slot).take(self.far_back).find(|(_, r)| r.id == exchange).map(|(seq, _)| seq);
        let Some(seq) = found else { return pairing };
        let Some(request) = self.queues[v.id as usize].get_mut(seq) else { return pairing };
        let is_alone = |part: Part| (part.number, part.total) == (0, Some(1));
        let open_ended = v.id.info().steps[usize::from(v.probe.step)].open_ended;
        let is_part = open_ended || !v.probe.part.is_none_or(is_alone) || !v.probe.begins;
        let further = if is_part { 0 } else { request.add_further() };
        match pairing {
            Pairing::DuplicateResponse { exchange, request_frame, of, asked, step, .. } => {
                let first = !request.is(REPEATED);
                request.set_mark(REPEATED, true);
                Pairing::DuplicateResponse { exchange, request_frame, of, asked, step, further, first }
            }
            Pairing::Answered(answer) => Pairing::Answered(Answer { further, ..answer }),
            other => other,
        }
    }

    /// Notes whether a copy of the answer of one host to a request that was sent to many is the first one.
    #[cold]
    fn note_copy_of_host(&mut self, mut pairing: Pairing, v: &Verdict) -> Pairing {
        if let Pairing::DuplicateResponse { exchange, first, .. } = &mut pairing {
            let queue = &mut self.queues[v.id as usize];
            let found = queue.latest(MAX_ELSEWHERE).find(|(_, r)| r.id == *exchange).map(|(seq, _)| seq);
            if let Some(request) = found.and_then(|seq| queue.get_mut(seq)) {
                *first = !request.is(REPEATED);
                request.set_mark(REPEATED, true);
            }
        }
        pairing
    }

    /// Finds an open request of the client to another endpoint: one with the key of the answer, or by order the only one
    /// that waits, if the client has not asked the sender and the answer comes from another port of the asked host, or
    /// from the same port of another host.
    #[cold]
    fn request_to_another(
        &self,
        slot: Slot,
        &Reply { d, v, now, .. }: &Reply<'_>,
        step: &StepInfo,
    ) -> Option<(u64, Slot)> {
        if let Some(key) = v.probe.key.filter(|_| step.key_digits > 0) {
            let matches = |_, r: &Request| r.step == v.probe.step && r.key() == Some(key);
            return self.latest_open(d, v, matches).next().map(|(seq, slot, _)| (seq, slot));
        }
        if self.conversations.get(slot).is_none_or(Conversation::asked) {
            return None;
        }
        let (window, queue) = (self.windows.answer(v.id), &self.queues[v.id as usize]);
        let waits = |seq, r: &Request| {
            let age = now.since(queue.sent(seq, r).stamp);
            !r.is(GIVEN_UP) && age.is_some_and(|t| (0..=window).contains(&t))
        };
        let mut waiting = self.latest_open(d, v, waits);
        let (seq, other_slot, c) = waiting.next().filter(|_| waiting.next().is_none())?;
        let r = queue.get(seq)?;
        let (asked, sender) = (c.server(), d.src);
        let is_near = asked.host() == sender.host() || asked.port() == sender.port();
        let is_of_kind = r.step == v.probe.step
            || answers_of(v.id, Some(v.probe.message), v.probe.part).also.contains(&r.step);
        let is_sure = c.level.max(v.probe.level) >= Level::Medium && !asked.is_group();
        let is_excluded = step.excluded(v.probe.request_state, r.request_state);
        (is_near && is_of_kind && is_sure && !is_excluded).then_some((seq, other_slot))
    }

    /// Notes that an endpoint answers in the place of the asked one: both count as one server, and a value that it issues
    /// is one of the asked server.
    #[cold]
    fn share_server(&mut self, slot: Slot, asked: Slot, step: &StepInfo, value: u32) {
        self.note_issued(asked, step, value);
        let index = self.conversations.get(asked).map_or(NONE, Conversation::server_index);
        self.conversations.get_mut(slot).into_iter().for_each(|c| c.set_server_index(index));
    }

    /// The same answer, with a hash that differs from those of equal answers of other hosts. Where a host answers only
    /// once, all of its answers have the same hash.
    fn reply_of_host<'a>(&self, reply: &Reply<'a>, step: &StepInfo) -> Reply<'a> {
        let answer_hash = if step.once { 0 } else { reply.hash };
        Reply { hash: answer_hash ^ hash_one(&self.hasher, reply.d.src) as u32, ..*reply }
    }

    /// The answer of one host to a request that was sent to many hosts; its exchange closes when the late window of the
    /// request ends.
    #[cold]
    fn answer_to_group(&mut self, slot: Slot, reply: &Reply<'_>, step: &StepInfo) -> Option<Answer> {
        let &Reply { d, v, now, .. } = reply;
        let also = answers_of(v.id, Some(v.probe.message), v.probe.part).also;
        // Hosts answer independently of each other, so no order can be wrong.
        let by_order = step.key_digits == 0 || step.keyless && v.probe.key.is_none();
        let is_candidate = |r: &Request| {
            (by_order || r.key() == v.probe.key) && (r.step == v.probe.step || also.contains(&r.step))
        };
        let requests = self.queues[v.id as usize].latest(MAX_ELSEWHERE).filter_map(|(seq, r)| {
            let is_open = matches!(r.state, State::Open | State::Answering) && is_candidate(r);
            let (_, c) = self.conversations.at(r.conversation).filter(|_| is_open)?;
            let other_port = c.server().port() != d.src.port();
            (c.client() == d.dst && c.server().is_group()).then_some((other_port, seq, *r))
        });
        // A client that searches for servers asks several ports at once, and a host answers from the port of its
        // server.
        let (_, seq, request) = requests.min_by_key(|(other_port, ..)| *other_port)?;
        let sent = self.queues[v.id as usize].sent(seq, &request).stamp;
        let late = now.since(sent).is_some_and(|t| t > self.windows.answer(v.id));
        let answer = Answer { late, ..request.answer_at(d.time) };
        self.conversations.confirm(slot, v.probe.paired);
        if request.state == State::Open {
            self.queues[v.id as usize].set_state(seq, State::Answering);
            self.begin_answer(request.id, PartialAnswer::new((v.id, seq), &answer, now));
        }
        let partial = self.partial_answers.by_exchange.get_mut(&request.id);
        match partial.filter(|partial| partial.frames.len() < MAX_HOSTS) {
            Some(partial) if self.further_answers.get(&(request.id, reply.hash)).is_none() => {
                partial.add(d, v.probe.request_state);
            }
            Some(_) => {}
            None => self.evicted += 1,
        }
        Some(answer)
    }

    /// The latest open requests of an answer's receiver for which `matches` holds, to any endpoint.
    fn latest_open(
        &self,
        d: &Datagram<'_>,
        v: &Verdict,
        matches: impl Fn(u64, &Request) -> bool,
    ) -> impl Iterator<Item = (u64, Slot, &Conversation)> {
        let client = d.dst;
        let latest = self.queues[v.id as usize].latest(MAX_ELSEWHERE);
        let open = latest.filter(move |(seq, r)| r.state == State::Open && matches(*seq, r));
        open.filter_map(move |(seq, r)| {
            let (slot, c) = self.conversations.at(r.conversation)?;
            (c.client() == client).then_some((seq, slot, c))
        })
    }

    /// Whether the client sent no request to the sender, but waits for an answer of another port of that host.
    #[cold]
    fn awaits_another_port(&self, slot: Slot, &Reply { d, v, now, .. }: &Reply<'_>) -> bool {
        if self.conversations.latest(slot) != 0 {
            return false;
        }
        let window = self.windows.answer(v.id);
        let queue = &self.queues[v.id as usize];
        let in_window = |seq, r: &Request| {
            let age = now.since(queue.sent(seq, r).stamp);
            r.step == v.probe.step && age.is_some_and(|t| (0..=window).contains(&t))
        };
        self.latest_open(d, v, in_window).any(|(_, _, c)| c.server().host() == d.src.host())
    }

    /// Searches for the request that an answer may belong to.
    fn search_request(&self, slot: Slot, &Reply { v, now, hash, .. }: &Reply<'_>, step: &StepInfo) -> Found {
        let commanded = self.conversations.get(slot).is_some_and(|c| c.is_commanded(now));
        let windows = [self.windows.answer(v.id), self.windows.late(v.id)];
        let mut search = Search::new(v, step, windows, (now, hash), commanded);
        let queue = &self.queues[v.id as usize];
        for (back, (seq, r)) in self.whole_chain(slot).enumerate() {
            if back >= MAX_STEPS_BACK && !search.continues(r, back < self.far_back) {
                break;
            }
            search.examine(seq, r, queue.sent(seq, r).stamp);
        }
        let issued = self.conversations.get(slot).and_then(|c| c.issued());
        search.found(issued.map(|i| i.value))
    }

    /// The exchange whose answer is replaced by a datagram of the server that is paired with no exchange: the exchange
    /// that an answer in its place would be paired with by order. A stray datagram, or one whose step has no open
    /// request while another step has one, may replace an answer of any step.
    #[cold]
    #[inline(never)]
    pub fn awaited(&self, slot: Slot, d: &Datagram<'_>, v: &Verdict, pairing: &Pairing) -> Option<u64> {
        if v.direction == Direction::C2s || pairing.exchange().is_some() {
            return None;
        }
        let (now, window) = (self.now(d), self.windows.answer(v.id));
        let queue = &self.queues[v.id as usize];
        let any_step =
            v.probe.role == Role::Stray || matches!(pairing, Pairing::Unsolicited { other_step: true, .. });
        let open = || {
            let is_open = |r: &Request| r.state == State::Open && r.frame < d.frame;
            self.chain(slot).filter(move |(_, r)| is_open(r) && (any_step || r.step == v.probe.step))
        };
        let waits = |&(seq, r): &(u64, &Request)| {
            !r.is(GIVEN_UP) && now.since(queue.sent(seq, r).stamp).is_none_or(|t| t <= window)
        };
        open().filter(waits).last().or_else(|| open().last()).map(|(_, r)| r.id)
    }

    /// What is known about a message from its request, and that request's step: the request that it answers, or else the
    /// latest one before it.
    #[cold]
    #[inline(never)]
    pub fn expected(
        &self,
        slot: Slot,
        d: &Datagram<'_>,
        v: &Verdict,
        pairing: &Pairing,
    ) -> (Expected, Option<u8>) {
        let issued = self.conversations.get(slot).and_then(|c| c.issued()).map(|issued| issued.value);
        if v.direction == Direction::C2s {
            return (Expected { issued, ..Expected::default() }, None);
        }
        let before = || self.chain(slot).map(|(_, r)| r).filter(|r| r.frame < d.frame);
        let asked =
            pairing.exchange().and_then(|id| before().find(|r| r.id == id)).or_else(|| before().next());
        let expected = Expected {
            key: asked.and_then(Request::key),
            asked: asked.map(|r| r.request_state),
            issued,
            ..Expected::default()
        };
        (expected, asked.map(|r| r.step))
    }

    /// The pairing of a second copy that the capture holds of the datagram in frame `of`. It changes no state.
    #[cold]
    pub fn pair_copy(&self, slot: Slot, d: &Datagram<'_>, v: &Verdict, of: u64) -> Pairing {
        let step = &v.id.info().steps[v.probe.step as usize];
        let is_answer = matches!(v.probe.role, Role::Response | Role::ResponsePart);
        let found =
            if is_answer { self.search_request(slot, &self.reply(d, v), step) } else { Found::default() };
        let asked = found.second.map(|answer| answer.asked).or(found.asked);
        found.copy.unwrap_or(Pairing::DuplicateFrame { of, asked })
    }

    /// Forgets an answer that has been reported as unsolicited.
    pub fn drop_orphan(&mut self, slot: Slot, frame: u64) {
        self.orphans.retain(|o| o.conversation != slot || o.frame != frame);
    }

    /// Remembers an answer whose request may come after it.
    fn remember_orphan(&mut self, slot: Slot, &Reply { d, v, now, hash }: &Reply<'_>) {
        let Probe { step, message, key, paired, request_state, role, part, begins, .. } = v.probe;
        let (frame, time, since, bytes) = (d.frame, d.time, self.clock, d.wire_len() as u32);
        let conversation = slot;
        let message = Some(message);
        let commanded = self.conversations.get(slot).is_some_and(|c| c.is_commanded(now));
        self.keep_orphan(Orphan {
            conversation,
            step,
            message,
            key,
            role,
            part,
            begins,
            paired,
            request_state,
            frame,
            time,
            since,
            hash,
            bytes,
            commanded,
        });
    }
}
