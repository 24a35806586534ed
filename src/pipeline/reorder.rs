//! Releases pending datagrams, in frame order where records are printed in that order.

use super::deliver::deliver_exchange;
use super::pending::{Claim, Claimed, Item};
use super::{Pipeline, learn, observe, seen};
use crate::capture::Time;
use crate::classify::{Classifier, Verdict};
use crate::contract::Raised;
use crate::conversation::{Conversation, NONE, Slot};
use crate::exchange::{Answer, Exchange, Pairing};
use crate::general::GEN_008;
use crate::net::Datagram;
use crate::protocols::{Direction, Level, Memories, Role};
use std::io;

impl Pipeline<'_> {
    /// A pending answer has found its request, which comes after it in the file: it is judged as its answer now.
    #[cold]
    #[inline(never)]
    pub(super) fn answered_early(
        &mut self,
        slot: Slot,
        frame: u64,
        exchange: u64,
        request: &Datagram<'_>,
        v: &Verdict,
    ) {
        let mut payload = std::mem::take(&mut self.payload);
        let conversation = self.table.conversations.get(slot);
        if let Some((claim, d)) = self.pending.orphan(slot, frame, &mut payload)
            && conversation.is_some()
        {
            claim.pairing = Pairing::Answered(Answer {
                exchange,
                request_frame: request.frame,
                asked: v.probe.request_state,
                step: v.probe.step,
                response_time: d.time.since(request.time),
                request_bytes: request.wire_len() as u32,
                ..Answer::default()
            });
            claim.verdict.probe.role = Role::Response;
            claim.verdict.direction = Direction::S2c;
            // The server of its conversation may have become known only now.
            claim.verdict.server_index = conversation.map_or(NONE, Conversation::server_index);
            reconsider(&mut self.memories, conversation, &Datagram { payload: &payload, ..d }, claim);
        }
        self.payload = payload;
    }

    /// Takes a copy that the capture holds of a datagram: it is reported as a copy, and otherwise ignored.
    #[cold]
    #[inline(never)]
    pub(super) fn twice(&mut self, d: &Datagram<'_>, v: &Verdict, of: u64) -> io::Result<()> {
        self.totals.copies += 1;
        // The conversation may have ended since the original.
        let slot = v.slot.unwrap_or_else(|| self.table.enter(d, v));
        self.pending.touch(slot);
        let (pairing, mut verdict) = self.read_twice(d, v, slot, of);
        let level;
        (level, verdict.server_index) = match self.table.conversations.get(slot) {
            Some(c) => (c.level, c.server_index()),
            None => (Level::Hint, NONE),
        };
        let mut raised = Raised::default();
        raised.add(&GEN_008);
        self.hold(d, self.claim(verdict, (slot, level), pairing, raised))
    }

    /// The pairing of such a copy, and its classification. The original may have been recognised only because a
    /// request was open, which it has answered.
    fn read_twice(&self, d: &Datagram<'_>, v: &Verdict, slot: Slot, of: u64) -> (Pairing, Verdict) {
        if v.probe.role == Role::Stray
            && let Some(c) = self.table.conversations.get(slot)
            && let known = self.classifier.known_in(d, v.direction, c, true)
            && let Some(probe) = v.id.probe_known(d.payload, d.wire_len(), known)
        {
            let read = Verdict { probe, ..*v };
            let pairing = self.table.pair_copy(slot, d, &read, of);
            if matches!(pairing, Pairing::DuplicateResponse { .. }) {
                return (pairing, read);
            }
        }
        (self.table.pair_copy(slot, d, v, of), *v)
    }

    /// The claim of a datagram that has just come, in a conversation of that level.
    pub(super) fn claim(
        &self,
        verdict: Verdict,
        (slot, level): (Slot, Level),
        pairing: Pairing,
        raised: Raised,
    ) -> Claim {
        let (since, piece) = (self.table.clock(), None);
        let (unfinished, edge, settled) = (false, false, false);
        Claim { verdict, slot, pairing, raised, unfinished, edge, level, settled, since, piece }
    }

    /// Takes a datagram of which not everything is known yet, or that must not overtake others.
    #[inline(never)]
    pub(super) fn hold(&mut self, d: &Datagram<'_>, mut claim: Claim) -> io::Result<()> {
        if claim.waits(d, false, &self.table, (d.frame, self.table.clock())).is_some() {
            return self.wait(d, Some(claim));
        }
        // Its classification must not depend on whether it has to wait for its turn.
        self.classify_late(d, &mut claim);
        claim.settled = true;
        if self.waits_its_turn(&claim.verdict, &claim.raised) {
            return self.wait(d, Some(claim));
        }
        self.deliver_claim(d, &claim)
    }

    /// Whether a datagram must not overtake the pending ones.
    #[inline(always)]
    pub(super) fn waits_its_turn(&self, v: &Verdict, raised: &Raised) -> bool {
        !self.pending.is_empty() && (self.wants.ordered || self.pending.is_ahead(v, raised))
    }

    fn deliver_claim(&mut self, d: &Datagram<'_>, claim: &Claim) -> io::Result<()> {
        let surer = self.table.conversations.get(claim.slot).filter(|_| !claim.settled);
        let level = surer.map_or(claim.level, |c| c.level);
        let Claim { verdict, pairing, raised, piece, .. } = claim;
        let (edge, slot, piece) = (claim.edge, claim.slot, piece.as_deref());
        self.deliver(d, level, Claimed { verdict, pairing, raised, edge, slot, piece })
    }

    pub(super) fn wait(&mut self, d: &Datagram<'_>, claim: Option<Claim>) -> io::Result<()> {
        self.make_room(claim.as_ref().map_or(0, Claim::joined_bytes))?;
        self.pending.wait(d, claim);
        Ok(())
    }

    /// Releases the first items until there is room for another.
    fn make_room(&mut self, joined: usize) -> io::Result<()> {
        while self.pending.is_full(joined) {
            self.pending.count_early(self.table.clock());
            self.let_one_out()?;
        }
        Ok(())
    }

    /// Releases the items whose turn has come, then reports the exchanges that have closed meanwhile.
    #[inline(never)]
    pub(super) fn release_pending(&mut self, clock: Time) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.queue_closed()?;
        }
        let frame = self.frame;
        self.drain(|pipeline| pipeline.first_waits((frame, clock)))?;
        self.deliver_closed()
    }

    /// Reports the exchanges that have closed, or lets them wait behind pending datagrams, where there are any. An
    /// exchange of whose conversation more may become known waits in any case.
    #[inline(always)]
    pub(super) fn queue_closed(&mut self) -> io::Result<()> {
        while let Some(waits) = self.table.closed_uncertain() {
            if self.wants.ordered || self.wants.packets_first || waits {
                let Some(mut e) = self.table.next_closed() else { break };
                e.refresh(&self.table.conversations);
                self.make_room(0)?;
                self.pending.wait_exchange(e, waits);
            } else {
                self.deliver_front()?;
            }
        }
        Ok(())
    }

    /// Whether the first item still has to wait.
    fn first_waits(&mut self, at: (u64, Time)) -> bool {
        let Some(Item::Datagram(d, _, Some(claim))) = self.pending.front() else { return false };
        let until = claim.waits(d, self.confirmed(claim.slot), &self.table, at);
        until.into_iter().for_each(|until| self.pending.keep_first(until));
        until.is_some()
    }

    pub(super) fn drain(&mut self, waits: impl Fn(&mut Self) -> bool) -> io::Result<()> {
        while !self.pending.is_empty() && !waits(self) {
            self.let_one_out()?;
        }
        Ok(())
    }

    fn let_one_out(&mut self) -> io::Result<()> {
        self.comments.reached(self.frame);
        let mut payload = std::mem::take(&mut self.payload);
        let item = self.pending.pop(&mut payload);
        let out = match item {
            None => Ok(()),
            Some(Item::Exchange(e, true)) if self.table.is_withdrawn(e.id) => Ok(()),
            Some(Item::Exchange(mut e, waited)) => {
                if waited {
                    e.refresh(&self.table.conversations); // it may have become surer since
                }
                self.deliver_exchange(&e)
            }
            Some(Item::Datagram(d, _, None)) => self.deliver_unclaimed(&Datagram { payload: &payload, ..d }),
            Some(Item::Datagram(d, _, Some(mut claim))) => {
                let d = Datagram { payload: &payload, ..d };
                if !claim.settled {
                    self.stand_by(&d, &claim);
                    self.classify_late(&d, &mut claim);
                }
                if matches!(claim.pairing, Pairing::Unsolicited { .. }) {
                    // It is reported as unsolicited now, so no later request may claim it.
                    self.table.drop_orphan(claim.slot, d.frame);
                }
                self.deliver_claim(&d, &claim)
            }
        };
        self.payload = payload;
        out
    }

    /// An answer that comes before its request confirms their conversation, unless their exchange has been
    /// withdrawn.
    fn stand_by(&mut self, d: &Datagram<'_>, claim: &Claim) {
        let Pairing::Answered(answer) = claim.pairing else { return };
        if answer.request_frame <= d.frame || self.table.is_withdrawn(answer.exchange) {
            return;
        }
        let Verdict { id, probe: g, .. } = &claim.verdict;
        let step = &id.info().steps[usize::from(g.step)];
        let worth = step.worth(g.paired, [answer.asked, g.request_state]);
        if let Some(c) = self.table.conversations.get_mut(claim.slot).filter(|c| c.level <= Level::Low) {
            c.confirm_pair(step, worth, g.level);
            learn(c, &mut self.classifier.servers, &claim.pairing);
        }
    }

    /// Classifies a datagram that waited, by everything that has come since.
    #[inline(never)]
    fn classify_late(&mut self, d: &Datagram<'_>, claim: &mut Claim) {
        if claim.pairing.exchange().is_some_and(|exchange| self.table.is_withdrawn(exchange)) {
            claim.pairing = Pairing::Nothing;
        }
        let conversation = self.table.conversations.get(claim.slot).copied();
        let v = &mut claim.verdict;
        if v.server_index == NONE
            && let Some(c) = &conversation
        {
            v.server_index = c.server_index(); // may have become known since
        }
        let maybe = matches!(v.probe.role, Role::MaybeRequest | Role::MaybeResponse);
        match conversation.as_ref().filter(|c| c.decided()) {
            Some(c) if c.direction(d.src) == v.direction => {
                // Parts are not read again: the message that they belong to is known already.
                let unsure = v.probe.role == Role::Request && !v.decided;
                if maybe || unsure {
                    let known = self.classifier.known_in(d, v.direction, c, true);
                    v.server_index = c.server_index();
                    v.probe = v.id.probe_known(d.payload, d.wire_len(), known).unwrap_or(v.probe);
                }
                return;
            }
            // It was paired before its conversation changed direction: that exchange stands.
            Some(_) if claim.pairing.exchange().is_some() => return,
            Some(c) => turn(&self.classifier, c, d, v),
            None if v.probe.role != Role::MaybeResponse => return,
            // It was an answer after all, and nothing was asked.
            None => (v.direction, v.probe.role) = (Direction::S2c, Role::Response),
        }
        if claim.raised.has(&GEN_008) {
            return; // findings are reported for the original
        }
        let answers = matches!(v.probe.role, Role::Response | Role::ResponsePart);
        // Which of two similar messages is the request is known only where the conversation has a direction.
        let directed = conversation.as_ref().is_some_and(Conversation::decided);
        let asked = |exchange| Pairing::Asked {
            exchange,
            answered_by: None,
            alone: true,
            repeated: false,
            reused: false,
            unheard: false,
        };
        claim.pairing = match v.probe.role {
            Role::Stray => Pairing::Nothing,
            _ if !answers => {
                self.table.exchange_opened_in(claim.slot, d.frame).map_or(Pairing::Nothing, asked)
            }
            _ if directed && self.table.has_open_before(claim.slot, d.frame) => {
                self.table.pair(claim.slot, d, v)
            }
            _ => Pairing::Unsolicited { open: false, asked: None, other_step: false, elsewhere: false },
        };
        reconsider(&mut self.memories, conversation.as_ref(), d, claim);
    }

    fn deliver_exchange(&mut self, e: &Exchange) -> io::Result<()> {
        let judges = (&self.attribution, &mut self.silences, self.wants.silence);
        deliver_exchange(e, &self.options, judges, &mut self.totals, self.report)
    }
}

/// Reads a datagram again whose conversation turned out to go the other way.
fn turn(classifier: &Classifier, c: &Conversation, d: &Datagram<'_>, v: &mut Verdict) {
    (v.direction, v.server_index) = (c.direction(d.src), c.server_index());
    let known = classifier.known_in(d, v.direction, c, true);
    match v.id.probe_known(d.payload, d.wire_len(), known) {
        Some(read) => v.probe = read,
        // It is no message of this direction.
        None => (v.probe.message, v.probe.role) = (v.id.info().unknown(), Role::Stray),
    }
}

/// Checks a datagram again whose pairing has changed, if its conversation is still known.
fn reconsider(
    memories: &mut Memories,
    conversation: Option<&Conversation>,
    datagram: &Datagram<'_>,
    claim: &mut Claim,
) {
    claim.raised.reconsider();
    let Some(conversation) = conversation else { return };
    let (probe, pairing) = (&claim.verdict.probe, &claim.pairing);
    let seen = seen(conversation, datagram, probe, pairing, (claim.piece.as_deref(), claim.edge, None));
    observe(memories, claim.verdict.id, &seen, &mut claim.raised);
}
