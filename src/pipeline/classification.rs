//! Classifies datagrams by their bytes and by what is known of their endpoints.

use super::Pipeline;
use crate::classify::{OpenRequests, Verdict, protocols_of};
use crate::conversation::NONE;
use crate::net::Datagram;
use crate::protocols::{Id, Level, Probe, Role};

impl Pipeline<'_> {
    /// Classifies a datagram that a probe recognised; `false` where it belongs to none of our protocols.
    #[inline(always)]
    pub(super) fn classify(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> bool {
        let table = &self.table;
        let slot = table.conversations.find(d.src, d.dst, v.id);
        let known = slot.and_then(|slot| Some((slot, table.conversations.get(slot)?)));
        let open = |step| slot.is_some_and(|slot| table.has_open(slot, step));
        let (weak, contested) = (v.probe.level <= Level::Low, v.probe.is_contested());
        let unconfirmed = known.is_none_or(|(_, c)| c.level <= Level::Low);
        if !self.classifier.classify(d, v, known, open) {
            return false;
        }
        if weak && v.server_index == NONE && self.classifier.may_know(d) {
            let is_command = self.note_command_in_others(d, v.id);
            if slot.is_none() || unconfirmed && is_command {
                self.classify_in_other(d, v);
            }
        }
        if contested && self.classifier.may_know(d) {
            self.classify_as_due(d, v);
        }
        true
    }

    /// Classifies a request whose bytes may be an answer in another protocol: it is one where that is due.
    #[cold]
    #[inline(never)]
    fn classify_as_due(&self, d: &Datagram<'_>, v: &mut Verdict) {
        let table = &self.table;
        let shared = table.conversations.protocols_between(d.src, d.dst) & !(1 << v.id as u32);
        let conversation = |id| {
            let slot = table.conversations.find(d.src, d.dst, id)?;
            Some((slot, *table.conversations.get(slot)?))
        };
        if shared == 0 {
            return;
        }
        let other = self
            .classifier
            .classify_unrecognised(d, shared, conversation, |slot| table.open_requests(slot, d));
        if let Some(other) = other.filter(|other| other.probe.role == Role::Response) {
            *v = other;
        }
    }

    /// Notes a datagram with weak evidence for the protocol `id` in the conversations of its ends in other protocols that
    /// read it as a command: what the server prints next may be its answer, whatever the datagram turns out to be.
    /// Returns whether there is one.
    #[cold]
    #[inline(never)]
    fn note_command_in_others(&mut self, d: &Datagram<'_>, id: Id) -> bool {
        let (table, mut noted) = (&mut self.table, false);
        let shared = table.conversations.protocols_between(d.src, d.dst);
        for other in protocols_of(shared).filter(|other| *other != id) {
            let Some(slot) = table.conversations.find(d.src, d.dst, other) else { continue };
            let open = table.has_open(slot, None);
            let Some(c) = table.conversations.get_mut(slot) else { continue };
            let known = self.classifier.known_in(d, c.direction(d.src), c, open);
            let probe = other.probe_known(d.payload, d.wire_len(), known);
            let is_command = |p: &Probe| p.role == Role::Stray && p.request_state & Probe::COMMAND != 0;
            if probe.as_ref().is_some_and(is_command) {
                c.note_command(d.time);
                noted = true;
            }
        }
        noted
    }

    /// Classifies a datagram with weak evidence for one protocol whose ends have a conversation in another protocol. As a
    /// message of that protocol, it is one. If that protocol can only say that it is `unknown`, the conversation in the new
    /// protocol decides, which may begin here or be unconfirmed; until then, this is the other reading of the claim.
    #[cold]
    #[inline(never)]
    fn classify_in_other(&mut self, d: &Datagram<'_>, v: &mut Verdict) {
        let table = &self.table;
        let shared = table.conversations.protocols_between(d.src, d.dst);
        let Some(owner) = protocols_of(shared).find(|other| *other != v.id) else { return };
        if let Some(probe) = owner.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()]) {
            let slot = table.conversations.find(d.src, d.dst, owner);
            let known = slot.and_then(|slot| Some((slot, table.conversations.get(slot)?)));
            let mut other = Verdict::by_bytes(owner, probe);
            let open = |step| slot.is_some_and(|slot| table.has_open(slot, step));
            if self.classifier.classify(d, &mut other, known, open) {
                *v = other;
            }
            return;
        }
        match self.classify_unclaimed(d, Some((v.id, v.probe.level))) {
            Some(other) if other.probe.role == Role::Stray => {
                self.other_reading = Some((d.frame, other));
            }
            Some(other) => *v = other,
            None => {}
        }
    }

    /// Classifies a datagram that no probe of their conversations recognised, by what is known of its endpoints, and notes
    /// it in these conversations.
    #[cold]
    #[inline(never)]
    pub(super) fn classify_unrecognised(&mut self, d: &Datagram<'_>) -> Option<Verdict> {
        self.classify_unclaimed(d, None)
    }

    /// The same for a datagram for which there is evidence of another protocol, of this level: that protocol is left out. If
    /// the evidence is more than a hint, the datagram is not in the place of an answer.
    #[cold]
    #[inline(never)]
    fn classify_unclaimed(&mut self, d: &Datagram<'_>, evidence: Option<(Id, Level)>) -> Option<Verdict> {
        let own = evidence.map_or(0, |(id, _)| 1 << id as u32);
        let shared = self.table.conversations.protocols_between(d.src, d.dst) & !own;
        if shared == 0 {
            // The packets of a game come here.
            return self.classifier.classify_unrecognised(d, 0, |_| None, |_| OpenRequests::default());
        }
        self.classify_in_conversations(d, shared, evidence)
    }

    /// The same for a datagram whose ends have conversations in the protocols `shared`, one bit each.
    #[inline(never)]
    fn classify_in_conversations(
        &mut self,
        d: &Datagram<'_>,
        shared: u32,
        evidence: Option<(Id, Level)>,
    ) -> Option<Verdict> {
        let table = &mut self.table;
        let conversation = |id| {
            let slot = table.conversations.find(d.src, d.dst, id)?;
            Some((slot, *table.conversations.get(slot)?))
        };
        let verdict = self
            .classifier
            .classify_unrecognised(d, shared, conversation, |slot| table.open_requests(slot, d));
        let dedup = &self.dedup;
        let original = || {
            let slots = protocols_of(shared).filter_map(|id| table.conversations.find(d.src, d.dst, id));
            dedup.original_of(d, slots)
        };
        // Where a protocol claims whatever its ports exchange, that is no evidence of a message.
        let is_anything =
            |v: &Verdict| v.probe.role == Role::Stray && v.probe.request_state & Probe::ANYTHING != 0;
        let is_unclaimed = verdict.as_ref().is_none_or(is_anything);
        let unreadable = if is_unclaimed && evidence.is_none_or(|(_, level)| level != Level::Low) {
            table.unreadable(d, shared, original)
        } else {
            None
        };
        let is_other_traffic = is_unclaimed && unreadable.is_none();
        let verdict = match (unreadable, verdict) {
            (Some(unreadable), Some(v)) if v.id == unreadable.id => {
                Some(Verdict { probe: Probe { role: Role::Unreadable, ..v.probe }, ..unreadable })
            }
            (unreadable, verdict) => unreadable.or(verdict),
        };
        // A datagram that is claimed is remembered as an original later.
        let is_copy = match verdict {
            None if evidence.is_none() => self.dedup.copy_of(d, None).is_some(),
            _ => original().is_some(),
        };
        if is_copy {
            return verdict;
        }
        for id in protocols_of(shared) {
            let slot = table.conversations.find(d.src, d.dst, id);
            if let Some(c) = slot.and_then(|slot| table.conversations.get_mut(slot)) {
                c.note_unrecognised(d.src);
                if is_other_traffic {
                    c.note_unclaimed(d.src);
                }
            }
        }
        verdict
    }

    /// Classifies a datagram that a probe recognised, but which does not fit its conversation. Like one that none
    /// recognised, it may come in the place of an answer.
    #[cold]
    #[inline(never)]
    pub(super) fn classify_unfitting(&mut self, d: &Datagram<'_>) -> Option<Verdict> {
        let table = &mut self.table;
        let shared = table.conversations.protocols_between(d.src, d.dst);
        if shared == 0 {
            return None;
        }
        let dedup = &self.dedup;
        let original = || {
            let slots = protocols_of(shared).filter_map(|id| table.conversations.find(d.src, d.dst, id));
            dedup.original_of(d, slots)
        };
        let verdict = table.unreadable(d, shared, original);
        if verdict.is_none() && self.dedup.copy_of(d, None).is_none() {
            for id in protocols_of(shared) {
                let slot = table.conversations.find(d.src, d.dst, id);
                slot.and_then(|slot| table.conversations.get_mut(slot))
                    .into_iter()
                    .for_each(|c| c.note_unclaimed(d.src));
            }
        }
        verdict
    }
}
