//! Releases pending datagrams, in frame order where records are printed in that order.

use super::claim::{Claim, ClaimRef, Reading, SpareRaised};
use super::deliver::deliver_exchange;
use super::pending::{Item, is_part};
use super::{Pipeline, apply_piece, observation, observe, register_server};
use crate::capture::Time;
use crate::classify::{Classifier, Verdict};
use crate::contract::{Piece, Raised};
use crate::conversation::{Conversation, NONE, Slot};
use crate::exchange::{Answer, Exchange, Pairing};
use crate::net::Datagram;
use crate::protocols::{Direction, Level, Memories, Role};
use crate::rule::general::{GEN_008, GEN_012};
use std::io;

impl Pipeline<'_> {
    /// Pairs pending answers with a request that comes after them in the file, which is the answer in `frame` and the
    /// further parts of it, and checks the rules of these answers again.
    #[cold]
    #[inline(never)]
    pub(super) fn pair_early_answers(
        &mut self,
        slot: Slot,
        frame: u64,
        exchange: u64,
        request: &Datagram<'_>,
        v: &Verdict,
    ) {
        let mut next = Some(frame);
        while let Some(frame) = next {
            self.pair_early_answer(slot, frame, exchange, request, v);
            next = self.table.take_early_part(slot, request, v, exchange);
        }
    }

    /// Pairs the pending answer in a frame with a request that comes after it in the file.
    fn pair_early_answer(
        &mut self,
        slot: Slot,
        frame: u64,
        exchange: u64,
        request: &Datagram<'_>,
        v: &Verdict,
    ) {
        let mut payload = std::mem::take(&mut self.payload);
        let conversation = self.table.conversations.get(slot).copied();
        let mut joined_bytes = [0; 2];
        if let Some((claim, d)) = self.pending.find_answer(slot, frame, &mut payload)
            && let Some(conversation) = &conversation
        {
            let d = Datagram { payload: &payload, ..d };
            let v_answer = &mut claim.verdict;
            v_answer.direction = Direction::S2c;
            // The server of its conversation may have become known only now.
            v_answer.server_index = conversation.server_index();
            joined_bytes[0] = claim.piece.as_deref().map_or(0, Piece::joined_bytes);
            self.spare_raised.change(&mut claim.raised, Raised::retain_shared);
            if self.table.waits(slot, exchange) {
                claim.pairing = self.table.pair(slot, &d, v_answer);
                claim.piece = self.table.take_piece();
                if let Some(piece) = &mut claim.piece {
                    let before = self.frames_before_file;
                    let apply = |raised: &mut Raised| apply_piece(piece, v_answer, before, raised);
                    self.spare_raised.change(&mut claim.raised, apply);
                }
                claim.unfinished = is_part(v_answer.probe.role) && v_answer.probe.part.is_none();
            } else {
                v_answer.probe.role = Role::Response;
                claim.pairing = Pairing::Answered(Answer {
                    exchange,
                    request_frame: request.frame,
                    asked: v.probe.request_state,
                    step: v.probe.step,
                    response_time: d.time.since(request.time),
                    request_bytes: request.wire_len() as u32,
                    ..Answer::default()
                });
            }
            joined_bytes[1] = claim.piece.as_deref().map_or(0, Piece::joined_bytes);
            let continues = claim.pairing.continues();
            let memories = (&mut self.protocol_memories, &mut self.spare_raised);
            recheck(memories, Some(conversation), &d, claim);
            if continues {
                self.pending.continue_message(slot, Direction::S2c, frame);
            }
        }
        self.pending.resize_joined(joined_bytes);
        self.payload = payload;
    }

    /// Pairs an answer that belongs to no request that came after it: it may be a copy of another one, or a further one.
    fn pair_repeated_answer(&mut self, d: &Datagram<'_>, claim: &mut Claim) {
        self.table.drop_orphan(claim.slot, d.frame);
        if !matches!(claim.verdict.probe.role, Role::Response | Role::ResponsePart) {
            return;
        }
        if let Some(pairing) = self.table.pair_repeated(claim.slot, d, &claim.verdict) {
            claim.pairing = pairing;
            let conversation = self.table.conversations.get(claim.slot).copied();
            let memories = (&mut self.protocol_memories, &mut self.spare_raised);
            recheck(memories, conversation.as_ref(), d, claim);
        }
    }

    /// Processes a second copy of a datagram in the capture: it is reported as a copy, and otherwise ignored.
    #[cold]
    #[inline(never)]
    pub(super) fn process_copy(&mut self, d: &Datagram<'_>, v: &Verdict, of: u64) -> io::Result<()> {
        self.totals.duplicate_frames += 1;
        // The conversation may have ended since the original.
        let slot = v.slot.unwrap_or_else(|| self.table.enter(d, v));
        self.pending.note_arrival(slot);
        let (pairing, mut verdict) = self.pair_copy(d, v, slot, of);
        let level;
        (level, verdict.server_index) = match self.table.conversations.get(slot) {
            Some(c) => (c.level, c.server_index()),
            None => (Level::Hint, NONE),
        };
        let mut raised = Raised::default();
        raised.add(&GEN_008);
        let claim = self.new_claim(verdict, (slot, level), pairing, raised);
        self.hold_or_deliver(d, claim)
    }

    /// The pairing of a copy of the datagram in frame `of`, and its classification. The original may have been
    /// recognised only because a request was open, which the original has answered.
    fn pair_copy(&self, d: &Datagram<'_>, v: &Verdict, slot: Slot, of: u64) -> (Pairing, Verdict) {
        if v.probe.role == Role::Stray
            && let Some(c) = self.table.conversations.get(slot)
            && let known = self.classifier.known_in(d, v.direction, c, true)
            && let Some(probe) = v.id.probe_known(d.payload, d.wire_len(), known)
        {
            let as_answer = Verdict { probe, ..*v };
            let pairing = self.table.pair_copy(slot, d, &as_answer, of);
            if matches!(pairing, Pairing::DuplicateResponse { .. }) {
                return (pairing, as_answer);
            }
        }
        (self.table.pair_copy(slot, d, v, of), *v)
    }

    /// The claim of a datagram that has just come, in a conversation of that level.
    pub(super) fn new_claim(
        &mut self,
        verdict: Verdict,
        (slot, level): (Slot, Level),
        pairing: Pairing,
        raised: Raised,
    ) -> Claim {
        let raised = self.spare_raised.keep(raised);
        let (arrival, piece, awaited) = (self.table.clock(), None, None);
        let (unfinished, edge, is_final, other) = (false, None, false, None);
        Claim {
            verdict,
            slot,
            pairing,
            awaited,
            raised,
            unfinished,
            edge,
            level,
            is_final,
            arrival,
            piece,
            other,
        }
    }

    /// The reading of a datagram that is right if its new conversation does not prove its own protocol.
    #[inline]
    pub(super) fn other_reading(&mut self, d: &Datagram<'_>) -> Option<Box<Reading>> {
        let (_, verdict) = self.other_reading.take().filter(|(frame, _)| *frame == d.frame)?;
        let slot = verdict.slot?;
        let awaited = self.table.awaited(slot, d, &verdict, &Pairing::Nothing);
        let level = self.table.conversations.get(slot).map_or(Level::Hint, |c| c.level);
        Some(Box::new(Reading { verdict, slot, level, awaited }))
    }

    /// Reads a datagram in the protocol of an older conversation, because its own one has proven nothing.
    #[cold]
    fn read_otherwise(&mut self, claim: &mut Claim, other: Reading) {
        self.table.withdraw(claim.slot, &claim.pairing);
        let Reading { verdict, slot, level, awaited } = other;
        (claim.verdict, claim.slot, claim.level, claim.awaited) = (verdict, slot, level, awaited);
        (claim.pairing, claim.piece, claim.is_final) = (Pairing::Nothing, None, true);
        self.spare_raised.change(&mut claim.raised, Raised::retain_shared);
    }

    /// Holds back a datagram whose classification is not final yet, or that must not overtake others; delivers any
    /// other.
    #[inline(never)]
    pub(super) fn hold_or_deliver(&mut self, d: &Datagram<'_>, mut claim: Claim) -> io::Result<()> {
        if claim.deadline(d, false, &self.table, (d.frame, self.table.clock())).is_some() {
            return self.push_pending(d, Some(claim));
        }
        // Its classification must not depend on whether it has to wait for its turn.
        self.reclassify(d, &mut claim);
        claim.is_final = true;
        if self.waits_its_turn(&claim.verdict, &claim.raised) {
            return self.push_pending(d, Some(claim));
        }
        if !self.pending.is_empty() {
            self.pass_pending(d.payload.len(), claim.joined_bytes())?;
        }
        self.deliver_claim(d, claim)
    }

    /// Whether a datagram must not overtake the pending ones.
    #[inline(always)]
    pub(super) fn waits_its_turn(&self, v: &Verdict, raised: &Raised) -> bool {
        !self.pending.is_empty() && (self.wants.ordered || self.pending.holds_back(v, raised))
    }

    fn deliver_claim(&mut self, d: &Datagram<'_>, mut claim: Claim) -> io::Result<()> {
        let conversation = self.table.conversations.get(claim.slot).filter(|_| !claim.is_final);
        let level = conversation.map_or(claim.level, |c| c.level);
        let Claim { verdict, pairing, raised, piece, .. } = &claim;
        let Claim { edge, slot, awaited, .. } = claim;
        let piece = piece.as_deref();
        self.deliver(d, level, ClaimRef { verdict, pairing, awaited, raised, edge, slot, piece })?;
        self.spare_raised.take_back(&mut claim.raised);
        Ok(())
    }

    /// Adds a datagram to the pending ones.
    pub(super) fn push_pending(&mut self, d: &Datagram<'_>, claim: Option<Claim>) -> io::Result<()> {
        let joined_bytes = claim.as_ref().map_or(0, Claim::joined_bytes);
        if self.pending.is_full(joined_bytes) {
            self.make_room(joined_bytes)?;
        }
        self.pending.push_datagram(d, claim);
        Ok(())
    }

    /// Counts an item that passes the pending ones, of that many bytes and bytes of a joined message, as if it were
    /// pending.
    #[inline(always)]
    pub(super) fn pass_pending(&mut self, bytes: usize, joined: usize) -> io::Result<()> {
        if self.pending.is_full(joined) {
            self.make_room(joined)?;
        }
        self.pending.note_passing(bytes + joined);
        Ok(())
    }

    /// Releases the first items until there is room for another, which completes a joined message of that many bytes.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, joined_bytes: usize) -> io::Result<()> {
        while self.pending.is_full(joined_bytes) {
            self.pending.count_early(self.table.clock());
            self.release_first()?;
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
        self.release_until(|pipeline| pipeline.first_waits((frame, clock)))?;
        self.deliver_closed()
    }

    /// Reports the exchanges that have closed, or lets them wait behind the pending datagrams. An exchange whose
    /// conversation may still become more certain waits in any case, and so does one behind a request that breaks a rule.
    #[inline(always)]
    pub(super) fn queue_closed(&mut self) -> io::Result<()> {
        while let Some(uncertain) = self.table.closed_uncertain() {
            let keeps_order = self.wants.ordered || self.wants.packets_first;
            if keeps_order || uncertain || self.pending.holds_back_all() {
                let Some(mut e) = self.table.next_closed() else { break };
                e.refresh(&self.table.conversations);
                if self.pending.is_full(0) {
                    self.make_room(0)?;
                }
                self.pending.push_exchange(e, uncertain);
            } else {
                self.pass_pending(0, 0)?;
                self.deliver_front()?;
            }
        }
        Ok(())
    }

    /// Whether the first item still has to wait.
    fn first_waits(&mut self, at: (u64, Time)) -> bool {
        let Some(Item::Datagram(d, _, Some(claim))) = self.pending.front() else { return false };
        let deadline = claim.deadline(d, self.is_confirmed(claim.slot), &self.table, at);
        deadline.into_iter().for_each(|deadline| self.pending.set_first_deadline(deadline));
        deadline.is_some()
    }

    /// Releases the first items until none is left, or until `first_waits` holds.
    pub(super) fn release_until(&mut self, first_waits: impl Fn(&mut Self) -> bool) -> io::Result<()> {
        while !self.pending.is_empty() && !first_waits(self) {
            self.release_first()?;
        }
        Ok(())
    }

    /// Removes the first item and reports it.
    fn release_first(&mut self) -> io::Result<()> {
        self.comments.reached(self.frame);
        let mut payload = std::mem::take(&mut self.payload);
        let item = self.pending.pop(&mut payload);
        let result = match item {
            None => Ok(()),
            Some(Item::Exchange(e, _)) if self.table.is_withdrawn(e.id) => Ok(()),
            Some(Item::Exchange(mut e, uncertain)) => {
                if uncertain {
                    e.refresh(&self.table.conversations); // it may have become more certain since
                }
                self.deliver_exchange(&e)
            }
            Some(Item::Datagram(d, _, None)) => self.deliver_unclaimed(&Datagram { payload: &payload, ..d }),
            Some(Item::Datagram(d, _, Some(mut claim))) => {
                let d = Datagram { payload: &payload, ..d };
                if !claim.is_final {
                    self.confirm_early_answer(&d, &claim);
                    self.reclassify(&d, &mut claim);
                    let proven = claim.level >= Level::Medium || self.is_confirmed(claim.slot);
                    if let Some(other) = claim.other.take().filter(|_| !proven) {
                        self.read_otherwise(&mut claim, *other);
                    }
                    if claim.raised.has(&GEN_012) && self.unused.is_flooded((d.src, d.dst), claim.arrival) {
                        self.spare_raised.change(&mut claim.raised, |raised| raised.remove(&GEN_012));
                    }
                }
                if matches!(claim.pairing, Pairing::Unsolicited { .. }) {
                    // It is reported now, so no later request may claim it.
                    self.pair_repeated_answer(&d, &mut claim);
                }
                self.deliver_claim(&d, claim)
            }
        };
        self.payload = payload;
        result
    }

    /// Confirms the conversation of an answer that came before its request, unless their exchange has been withdrawn.
    fn confirm_early_answer(&mut self, d: &Datagram<'_>, claim: &Claim) {
        let Pairing::Answered(answer) = claim.pairing else { return };
        if answer.request_frame <= d.frame || self.table.is_withdrawn(answer.exchange) {
            return;
        }
        let Verdict { id, probe, .. } = &claim.verdict;
        let step = &id.info().steps[usize::from(probe.step)];
        let pair_level = step.pair_level(probe.paired, [answer.asked, probe.request_state]);
        if let Some(c) = self.table.conversations.get_mut(claim.slot).filter(|c| c.level <= Level::Low) {
            c.confirm_pair(step, pair_level, probe.level);
            register_server(c, &mut self.classifier.servers, &claim.pairing);
        }
    }

    /// Classifies a datagram again after it has waited, in view of everything that has come since.
    #[inline(never)]
    fn reclassify(&mut self, d: &Datagram<'_>, claim: &mut Claim) {
        if claim.pairing.exchange().is_some_and(|exchange| self.table.is_withdrawn(exchange)) {
            claim.pairing = Pairing::Nothing;
        }
        if claim.verdict.probe.role == Role::Unreadable {
            return;
        }
        let conversation = self.table.conversations.get(claim.slot).copied();
        let v = &mut claim.verdict;
        if v.server_index == NONE
            && let Some(c) = &conversation
        {
            v.server_index = c.server_index(); // it may have become known since
        }
        let ambiguous = matches!(v.probe.role, Role::MaybeRequest | Role::MaybeResponse);
        match conversation.as_ref().filter(|c| c.decided()) {
            Some(c) if c.direction(d.src) == v.direction => {
                // Parts are not probed again: the message that they belong to is known already.
                let undecided = v.probe.role == Role::Request && !v.decided;
                if ambiguous || undecided {
                    let known = self.classifier.known_in(d, v.direction, c, true);
                    v.server_index = c.server_index();
                    v.probe = v.id.probe_known(d.payload, d.wire_len(), known).unwrap_or(v.probe);
                }
                return;
            }
            // It was paired before its conversation turned: that exchange stands.
            Some(_) if claim.pairing.exchange().is_some() => return,
            Some(c) => reclassify_turned(&self.classifier, c, d, v),
            None if v.probe.role != Role::MaybeResponse => return,
            // It was an answer after all, but to no request.
            None => (v.direction, v.probe.role) = (Direction::S2c, Role::Response),
        }
        if claim.raised.has(&GEN_008) {
            return; // findings are reported for the original
        }
        let is_answer = matches!(v.probe.role, Role::Response | Role::ResponsePart);
        // Of two similar messages, it is known which one is the request only where the conversation has a direction.
        let has_direction = conversation.as_ref().is_some_and(Conversation::decided);
        let asked = |exchange| Pairing::Asked {
            exchange,
            answered_by: None,
            alone: true,
            repeated: false,
            reused: false,
            issue_pending: false,
        };
        claim.pairing = match v.probe.role {
            Role::Stray | Role::Unreadable => Pairing::Nothing,
            _ if !is_answer => {
                self.table.exchange_opened_in(claim.slot, d.frame).map_or(Pairing::Nothing, asked)
            }
            _ if has_direction && self.table.has_open_before(claim.slot, d.frame) => {
                self.table.pair(claim.slot, d, v)
            }
            _ => Pairing::Unsolicited {
                open: false,
                asked: None,
                key: None,
                other_step: false,
                elsewhere: false,
            },
        };
        let memories = (&mut self.protocol_memories, &mut self.spare_raised);
        recheck(memories, conversation.as_ref(), d, claim);
    }

    fn deliver_exchange(&mut self, e: &Exchange) -> io::Result<()> {
        let context = (&self.attribution, &mut self.silences, self.wants.silent_servers);
        deliver_exchange(e, &self.options, context, &mut self.totals, self.report)
    }
}

/// Probes a datagram again after its conversation turned out to go the other way.
fn reclassify_turned(classifier: &Classifier, c: &Conversation, d: &Datagram<'_>, v: &mut Verdict) {
    (v.direction, v.server_index) = (c.direction(d.src), c.server_index());
    let known = classifier.known_in(d, v.direction, c, true);
    match v.id.probe_known(d.payload, d.wire_len(), known) {
        Some(probe) => v.probe = probe,
        // It is no message of this direction.
        None => (v.probe.message, v.probe.role) = (v.id.info().unknown(), Role::Stray),
    }
}

/// Checks the rules of a datagram again after its pairing has changed, if its conversation is still known.
fn recheck(
    (memories, spare): (&mut Memories, &mut SpareRaised),
    conversation: Option<&Conversation>,
    datagram: &Datagram<'_>,
    claim: &mut Claim,
) {
    let Some(conversation) = conversation else {
        return spare.change(&mut claim.raised, Raised::retain_shared);
    };
    let (probe, pairing) = (&claim.verdict.probe, &claim.pairing);
    let further = (claim.piece.as_deref(), claim.edge.is_some(), None);
    let observation = observation(conversation, datagram, probe, pairing, further);
    let id = claim.verdict.id;
    spare.change(&mut claim.raised, |raised| {
        raised.retain_shared();
        observe(memories, id, &observation, raised);
    });
}
