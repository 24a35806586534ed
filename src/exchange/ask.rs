//! Handles requests: a request opens an exchange, repeats an open request, or is a further part of one.

use super::incomplete::{Orphan, record};
use super::queue::{GIVEN_UP, HIDDEN, PARTIAL, Request, Sent, State};
use super::table::Table;
use super::windows::{EARLY_FRAMES, GIVE_UP};
use super::{Exchange, MAX_PARTS, MAX_SHOWN_KEY, MAX_STEPS_BACK, Outcome, PARTS_WINDOW, Pairing};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::conversation::{Conversation, Slot};
use crate::net::Datagram;
use crate::protocols::{Id, Level, Role, StepInfo};

/// Most withdrawn exchanges remembered: no more of them can be pending.
const MAX_WITHDRAWN: usize = 1_024;

/// How a request relates to the earlier requests of its conversation.
enum Earlier {
    /// The latest request is incomplete, and the new one is a part of it.
    Part(u64),
    /// The same request is still open.
    Same(u64),
    /// Other requests, or none.
    Others(Others),
}

/// The state of the other requests of a conversation.
#[derive(Clone, Copy)]
struct Others {
    /// No request of the step is open.
    alone: bool,
    /// The latest request is of the step, and open.
    repeated: bool,
    /// A request with the same key was answered.
    reused: bool,
}

impl Others {
    /// There are none.
    const NONE: Others = Others { alone: true, repeated: false, reused: false };
}

impl Table {
    /// Pairs a request: it opens an exchange, repeats an open request, or is a further part of one.
    pub(super) fn ask(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Pairing {
        let (probe, id) = (&v.probe, v.id);
        let step = &id.info().steps[probe.step as usize];
        let now = self.now(d);
        let latest = self.conversations.latest(slot);
        let mut others = Others::NONE;
        if latest != 0 {
            match self.examine_earlier(latest, v, step, now) {
                Earlier::Part(seq) => {
                    if let Some(pairing) = self.add_request_part(id, seq, now, d, probe.role) {
                        return pairing;
                    }
                }
                Earlier::Same(seq) => return self.retransmit(v, seq, slot, now),
                Earlier::Others(earlier) => others = earlier,
            }
        }
        let issue_pending = probe.key.is_some_and(|key| self.unheard(slot, id, key, now));
        let orphan = if self.orphans.is_empty() { None } else { self.take_orphan(slot, d, v) };
        let exchange = self.next_id;
        self.next_id += 1;
        let mut request = Request::new(exchange, slot.at(), d, probe, others.alone);
        if probe.role == Role::MaybeResponse {
            // If it turns out to be an answer, this hash identifies its copies.
            request.answer_hash = self.fingerprint(d);
        }
        if let Some(orphan) = &orphan {
            let pair_level =
                step.pair_level(orphan.paired.max(probe.paired), [orphan.request_state, probe.request_state]);
            // Without a certain direction or a key, only the order shows this pair, and not the order in the file:
            // later datagrams may still contradict it.
            let is_proven = v.decided || step.key_digits > 0;
            let pair_level = if is_proven { pair_level } else { pair_level.min(Level::Low) };
            if let Some(c) = self.conversations.get_mut(slot) {
                c.confirm_pair(step, pair_level, Level::Low);
            }
            // An answer in parts is paired like any other, as soon as its request is there.
            if orphan.is_whole(step, probe.request_state) {
                request.mark_answered(orphan.hash, orphan.frame, orphan.message.unwrap_or(u8::MAX));
                request.state = State::Answered;
            }
        }
        self.push(id, slot, request, latest, now);
        if super::SHOWN_KEYS >> id as u32 & 1 == 1 && probe.key.is_some() {
            self.keep_shown_key(exchange, d, step);
        }
        if let Some(orphan) = orphan.as_ref().filter(|_| request.state == State::Answered) {
            self.close_answered_early(slot, d, orphan);
        }
        let (answered_by, Others { alone, repeated, reused }) = (orphan.map(|o| o.frame), others);
        Pairing::Asked { exchange, answered_by, alone, repeated, reused, issue_pending }
    }

    /// Keeps the key of a request as it is shown.
    #[cold]
    fn keep_shown_key(&mut self, exchange: u64, d: &Datagram<'_>, step: &StepInfo) {
        if let Some(bytes) = step.shown_key.bytes_of(d.payload) {
            self.shown_keys.insert(exchange, bytes.iter().copied().take(MAX_SHOWN_KEY).collect());
        }
    }

    /// Closes the exchange of the latest request, whose answer came before it.
    #[cold]
    fn close_answered_early(&mut self, slot: Slot, d: &Datagram<'_>, orphan: &Orphan) {
        let Some(c) = self.conversations.get(slot) else { return };
        let Some((_, request)) = self.queues[c.id as usize].back_to(c.latest()) else { return };
        let (time, bytes) = (orphan.time.since(d.time), u64::from(orphan.bytes));
        let exchange = record(c, request, Outcome::Answered, Some(orphan.frame), time, bytes);
        self.push_closed(Exchange { answer: orphan.message, ..exchange });
    }

    /// Withdraws the open requests of a conversation whose client and server were swapped: those that may be answers
    /// wait for a request that comes after them. Requests that were withdrawn by an earlier swap are open again.
    #[cold]
    pub(super) fn withdraw_requests(&mut self, slot: Slot, id: Id) {
        self.changes += 1;
        let mut next = self.conversations.latest(slot);
        let mut issued = None;
        for _ in 0..MAX_STEPS_BACK {
            let queue = &mut self.queues[id as usize];
            let Some((seq, &r)) = queue.back_to(next) else { break };
            next = r.previous(seq);
            match r.state {
                State::Open => {
                    queue.set_state(seq, State::Withdrawn);
                    // A datagram that can only be a request has no hash: it was no answer either.
                    if r.answer_hash != 0 {
                        issued = issued.or(Some((r.step, r.request_state)));
                        let since = queue.sent(seq, &r).clock;
                        self.keep_orphan(Orphan::of(slot, &r, since));
                    }
                    self.remember_withdrawn(r.id);
                }
                State::Withdrawn => {
                    queue.set_state(seq, State::Open);
                    self.withdrawn.retain(|&exchange| exchange != r.id);
                    self.conversations.get_mut(slot).into_iter().for_each(Conversation::mark_asked);
                }
                // It counted as a request only because it was paired with an earlier frame.
                State::Answered | State::Answering if r.answer_frame() < r.frame => {
                    queue.set_state(seq, State::Gone);
                    self.remember_withdrawn(r.id);
                }
                State::Unreadable => {
                    queue.set_state(seq, State::Gone);
                    self.partial_answers.by_exchange.remove(&r.id);
                    self.remember_withdrawn(r.id);
                }
                _ => {}
            }
        }
        if let Some((step, request_state)) = issued {
            self.note_issued(slot, &id.info().steps[usize::from(step)], request_state);
        }
    }

    /// Withdraws the exchange of a request that turns out to belong to another protocol.
    #[cold]
    pub fn withdraw(&mut self, slot: Slot, pairing: &Pairing) {
        let Pairing::Asked { exchange, .. } = *pairing else { return };
        let open = self.chain(slot).find(|(_, r)| r.id == exchange && r.state == State::Open);
        match (open.map(|(seq, _)| seq), self.conversations.get(slot)) {
            (Some(seq), Some(c)) => self.queues[c.id as usize].set_state(seq, State::Gone),
            _ => self.remember_withdrawn(exchange),
        }
    }

    /// Remembers that an exchange was withdrawn.
    fn remember_withdrawn(&mut self, exchange: u64) {
        if self.withdrawn.len() >= MAX_WITHDRAWN {
            self.withdrawn.pop_front();
        }
        self.withdrawn.push_back(exchange);
    }

    /// Marks the exchange of a request that is not reported: if the exchange gets no answer, it is not reported either.
    #[cold]
    #[inline(never)]
    pub fn hide(&mut self, slot: Slot, pairing: &Pairing) {
        let Pairing::Asked { exchange, .. } = *pairing else { return };
        let found = self.chain(slot).find(|(_, r)| r.id == exchange).map(|(seq, _)| seq);
        if let (Some(seq), Some(c)) = (found, self.conversations.get(slot)) {
            self.queues[c.id as usize].get_mut(seq).into_iter().for_each(|r| r.set_mark(HIDDEN, true));
        }
    }

    /// Notes that a new request carries a challenge that the server has issued to the client.
    #[inline]
    pub fn mark_returns(&mut self, slot: Slot, pairing: &Pairing) {
        let Pairing::Asked { exchange, answered_by, .. } = *pairing else { return };
        if answered_by.is_some() {
            return self.just_closed(exchange).into_iter().for_each(|e| e.returns = true);
        }
        let Some(c) = self.conversations.get(slot) else { return };
        let latest = c.latest().checked_sub(1);
        let request = latest.and_then(|seq| self.queues[c.id as usize].get_mut(seq));
        request.filter(|r| r.id == exchange).into_iter().for_each(Request::note_returned);
    }

    /// Remembers an answer as long as its request may come after it.
    pub(super) fn keep_orphan(&mut self, new: Orphan) {
        while self.orphans.front().is_some_and(|o| o.frame + EARLY_FRAMES < new.frame)
            || self.orphans.len() >= EARLY_FRAMES as usize
        {
            self.orphans.pop_front();
        }
        self.orphans.push_back(new);
    }

    /// Drops the request whose late window ends first, for lack of room.
    #[cold]
    #[inline(never)]
    fn evict(&mut self) {
        let Some((_, at)) = self.oldest_due() else { return };
        self.changes += 1;
        let is_open = self.queues[at].oldest().is_some_and(|(_, r)| r.state == State::Open);
        self.evicted += u64::from(is_open);
        self.close_oldest(at);
        self.schedule_idle();
    }

    /// Appends a request to its queue and its conversation, whose latest request is `previous`; `now` is its time
    /// stamp. If there is no room, the oldest request of all is dropped.
    #[inline(always)]
    fn push(&mut self, id: Id, slot: Slot, request: Request, previous: u64, now: Time) {
        let at = id as usize;
        if let Some(c) = self.conversations.get_mut(slot) {
            request.key().into_iter().for_each(|key| c.note_carried(key));
            c.note_request(self.queues[at].end() + 1);
        }
        if self.requests >= self.max_requests {
            // This may end the conversation of the dropped request, unless that conversation has sent a request since,
            // as the one of this request just has.
            self.evict();
        }
        self.requests += 1;
        self.used_queues |= 1 << at;
        self.queues[at].push(request, previous, Sent { stamp: now, clock: self.clock });
        self.conversations.touch(slot);
        self.next_deadline = self.next_deadline.min(self.queues[at].due());
    }

    /// Adds a further part to a request; `None` if it comes too late, or the request has too many parts.
    #[cold]
    fn add_request_part(
        &mut self,
        id: Id,
        seq: u64,
        now: Time,
        d: &Datagram<'_>,
        role: Role,
    ) -> Option<Pairing> {
        let queue = &mut self.queues[id as usize];
        let request = queue.get_mut(seq)?;
        let in_time = now.since(request.time).is_none_or(|t| t <= PARTS_WINDOW);
        if request.parts() >= MAX_PARTS || !in_time {
            return None;
        }
        request.add_part();
        request.bytes = request.bytes.saturating_add(d.wire_len() as u32);
        request.set_mark(PARTIAL, role == Role::RequestPart);
        Some(Pairing::Retransmission { exchange: request.id, request_frame: request.frame, part: true })
    }

    /// Handles a retransmission: the window starts anew, so the request moves to the end of the queue.
    #[cold]
    fn retransmit(&mut self, v: &Verdict, seq: u64, slot: Slot, now: Time) -> Pairing {
        let id = v.id;
        let previous = self.conversations.latest(slot);
        let queue = &mut self.queues[id as usize];
        let Some(request) = queue.get_mut(seq) else { return Pairing::Nothing };
        let mut retransmitted = *request;
        request.state = State::Gone;
        retransmitted.retransmissions = retransmitted.retransmissions.saturating_add(1);
        retransmitted.request_state = v.probe.request_state;
        retransmitted.set_mark(GIVEN_UP, false);
        self.push(id, slot, retransmitted, previous, now);
        let Request { id: exchange, frame: request_frame, .. } = retransmitted;
        Pairing::Retransmission { exchange, request_frame, part: false }
    }

    /// Examines the earlier requests of a conversation when a new one comes. Those without a key, or of a step that
    /// reuses keys, may be given up by the new request.
    fn examine_earlier(&mut self, latest: u64, v: &Verdict, step: &StepInfo, now: Time) -> Earlier {
        let mut next = latest;
        let window = self.windows.answer(v.id);
        let queue = &mut self.queues[v.id as usize];
        let key = v.probe.key;
        let mut others = Others::NONE;
        for _ in 0..MAX_STEPS_BACK {
            let Some((seq, r)) = queue.back_to(next) else { return Earlier::Others(others) };
            next = r.previous(seq);
            let same_key = key.is_some() && r.key() == key;
            if r.step != v.probe.step || r.state != State::Open {
                let answered = matches!(r.state, State::Answered | State::Answering);
                others.reused |= answered && same_key;
                continue;
            }
            // A client does not continue a message after sending another one.
            if r.is(PARTIAL) && !v.probe.begins && seq + 1 == latest {
                return Earlier::Part(seq);
            }
            // Where keys stay the same, a client that waited a whole window does not retransmit, but sends a new
            // request.
            let waited = now.since(queue.sent(seq, r).stamp).unwrap_or(0);
            let is_new = || step.reuses_keys && waited > window;
            // Where a key gets one answer only, it does not matter what else the request says.
            let same = step.once || r.request_state == v.probe.request_state;
            if step.retransmits && same_key && same && !is_new() {
                return Earlier::Same(seq);
            }
            if (r.key().is_none() || step.reuses_keys) && waited >= GIVE_UP {
                queue.get_mut(seq).into_iter().for_each(|r| r.set_mark(GIVEN_UP, true));
            }
            others.alone = false;
            others.repeated |= seq + 1 == latest;
        }
        Earlier::Others(Others { alone: false, ..others })
    }

    /// Whether the client has just asked for a value that was not issued yet; see [`Pairing::Asked`]. Not if it has
    /// asked twice for the value, because then it has waited for it in vain, nor if it carries the value issued last.
    #[inline]
    fn unheard(&self, slot: Slot, id: Id, key: u64, now: Time) -> bool {
        let steps = id.info().steps;
        let issued = self.conversations.get(slot).and_then(Conversation::issued);
        if !steps.iter().any(|s| s.issues) || issued.is_some_and(|issued| u64::from(issued.value) == key) {
            return false;
        }
        let asks_for_value = |r: &Request| steps[usize::from(r.step)].issues;
        let mut earlier = self.chain(slot).map(|(_, r)| r);
        let Some(latest) = earlier.find(|r| asks_for_value(r)) else { return false };
        let in_window = |r: &Request| now.since(r.time).is_none_or(|t| t <= self.windows.answer(id));
        let is_open = |r: &Request| asks_for_value(r) && r.state == State::Open;
        is_open(latest) && in_window(latest) && !earlier.next().is_some_and(is_open)
    }

    /// Removes and returns the answer that came before this request, if there is one.
    fn take_orphan(&mut self, slot: Slot, d: &Datagram<'_>, v: &Verdict) -> Option<Orphan> {
        let at = self.orphans.iter().position(|o| o.precedes(slot, d, v, self.clock))?;
        self.orphans.remove(at)
    }

    /// Removes the next of the answers before a request that goes on with its answer in parts, and returns its frame.
    #[cold]
    pub fn take_early_part(
        &mut self,
        slot: Slot,
        d: &Datagram<'_>,
        v: &Verdict,
        exchange: u64,
    ) -> Option<u64> {
        let partial = self.partial_answers.by_exchange.get(&exchange)?;
        let goes_on = |o: &Orphan| match &partial.numbered {
            Some(numbered) => numbered.key == o.key && o.part.is_some_and(|part| !numbered.has(part)),
            None => partial.open_ended || !o.begins && o.part.is_none(),
        };
        let at = self.orphans.iter().position(|o| o.precedes(slot, d, v, self.clock) && goes_on(o))?;
        self.orphans.remove(at).map(|o| o.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Budget;
    use crate::conversation::MAX_CONVERSATIONS;
    use crate::exchange::{MAX_REQUESTS, Windows};
    use crate::net::Endpoint;
    use crate::protocols::Probe;

    /// Sends a datagram of the n-th client; returns its conversation and its pairing. Unless `is_request`, it may be an
    /// answer.
    fn send(table: &mut Table, n: u32, is_request: bool) -> (Slot, Pairing) {
        let (src, dst) = (Endpoint::v4(n.to_be_bytes(), 1), Endpoint::v4([192, 0, 2, 2], 7777));
        let (frame, time) = (n.into(), Time::from_nanos(0));
        let d = Datagram { frame, time, ..Datagram::between(src, dst, &[0; 5]) };
        let (role, level) =
            if is_request { (Role::Request, Level::High) } else { (Role::MaybeResponse, Level::Low) };
        let (message, step, key, request_state, paired, begins) = (0, 0, None, 0, Level::High, is_request);
        let probe = Probe { message, role, step, key, request_state, level, paired, begins, part: None };
        let (id, slot) = (Id::Sqp, table.conversations.find(src, dst, Id::Sqp));
        let verdict =
            Verdict { decided: is_request, doubtful: !is_request, slot, ..Verdict::by_bytes(id, probe) };
        let slot = table.enter(&d, &verdict);
        (slot, table.pair(slot, &d, &verdict))
    }

    #[test]
    fn a_client_whose_oldest_request_is_evicted_by_its_next_one_stays_known() {
        let budget = Budget::mib(1);
        let (requests, clients) = (budget.of(MAX_REQUESTS), budget.of(MAX_CONVERSATIONS) as u32);
        let mut table = Table::new(Windows::new(None), budget);
        let others = (1..clients).cycle().take(requests - 1);
        std::iter::once(0).chain(others).for_each(|n| {
            send(&mut table, n, true);
        });
        let exchange = requests as u64 + 1;
        let (_, asked) = send(&mut table, 0, true);
        assert!(matches!(asked, Pairing::Asked { exchange: id, .. } if id == exchange));
        assert_eq!((table.evicted(), table.next_closed().map(|e| e.id)), (1, Some(1)));
        table.finish();
        let closed: Vec<_> = std::iter::from_fn(|| table.next_closed()).map(|e| e.id).collect();
        assert_eq!((closed.len(), closed.last()), (requests, Some(&exchange)));
    }

    #[test]
    fn forgets_the_oldest_withdrawn_exchange() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        let turn = |table: &mut Table, n| {
            let (slot, _) = send(table, n, false);
            table.withdraw_requests(slot, Id::Sqp);
        };
        (1..=MAX_WITHDRAWN as u32).for_each(|n| turn(&mut table, n));
        assert!(table.is_withdrawn(1) && table.is_withdrawn(MAX_WITHDRAWN as u64));
        turn(&mut table, MAX_WITHDRAWN as u32 + 1);
        assert_eq!([1, 2, 1_025].map(|exchange| table.is_withdrawn(exchange)), [false, true, true]);
        assert!(table.orphans.len() <= EARLY_FRAMES as usize, "what may be answers is bounded as well");
    }

    #[test]
    fn a_withdrawn_request_waits_for_another_only_if_it_may_be_an_answer() {
        for (is_request, waiting) in [(true, 0), (false, 1)] {
            let mut table = Table::new(Windows::new(None), Budget::default());
            let (slot, _) = send(&mut table, 1, is_request);
            table.withdraw_requests(slot, Id::Sqp);
            assert_eq!(
                (table.orphans.len(), table.is_withdrawn(1)),
                (waiting, true),
                "request: {is_request}"
            );
        }
    }

    #[test]
    fn a_request_that_is_open_again_counts_as_a_request_of_its_client() {
        let mut table = Table::new(Windows::new(None), Budget::default());
        let (slot, _) = send(&mut table, 1, false);
        let swap = |table: &mut Table| {
            let c = table.conversations.get_mut(slot).expect("it is open");
            c.set_client(c.server());
            table.withdraw_requests(slot, Id::Sqp);
            table.conversations.get(slot).expect("it is open").asked()
        };
        assert_eq!([swap(&mut table), swap(&mut table)], [false, true]);
    }

    #[test]
    fn only_open_requests_count_as_evicted() {
        for (refused, evicted) in [(false, 1), (true, 0)] {
            let budget = Budget::mib(1);
            let mut table = Table::new(Windows::new(None), budget);
            let (slot, _) = send(&mut table, 0, true);
            if refused {
                table.refuse(slot, None, "port unreachable");
            }
            (0..budget.of(MAX_REQUESTS)).for_each(|_| {
                send(&mut table, 1, true);
            });
            assert_eq!(table.evicted(), evicted, "refused: {refused}");
        }
    }
}
