//! Classifies datagrams by their bytes and by what is known of their endpoints.

use super::Pipeline;
use crate::classify::{Verdict, protocols_of};
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
        let weak = v.probe.level <= Level::Low;
        if !self.classifier.classify(d, v, known, open) {
            return false;
        }
        if weak
            && slot.is_none()
            && v.server_index == NONE
            && let Some(other) = self.classify_in_other(d, v.id, v.probe.level)
        {
            *v = other;
        }
        true
    }

    /// Classifies a datagram with weak evidence for one protocol in a conversation of another protocol, if there is
    /// one.
    #[cold]
    #[inline(never)]
    fn classify_in_other(&mut self, d: &Datagram<'_>, id: Id, level: Level) -> Option<Verdict> {
        if !self.classifier.may_know(d) {
            return None;
        }
        let table = &self.table;
        let shared = table.conversations.protocols_between(d.src, d.dst);
        let owner = protocols_of(shared).find(|other| *other != id)?;
        match owner.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()]) {
            Some(probe) => {
                let slot = table.conversations.find(d.src, d.dst, owner)?;
                let known = table.conversations.get(slot).map(|c| (slot, c));
                let mut v = Verdict::by_bytes(owner, probe);
                let open = |step| table.has_open(slot, step);
                self.classifier.classify(d, &mut v, known, open).then_some(v)
            }
            None => self.classify_unclaimed(d, level == Level::Low),
        }
    }

    /// Classifies a datagram that no probe recognised, by what is known of its endpoints, and notes it in their
    /// conversations.
    #[cold]
    #[inline(never)]
    pub(super) fn classify_unrecognised(&mut self, d: &Datagram<'_>) -> Option<Verdict> {
        self.classify_unclaimed(d, false)
    }

    /// The same for a datagram of which a probe says that it may be of another protocol, if `is_candidate`: then it is not in
    /// the place of an answer.
    #[cold]
    #[inline(never)]
    fn classify_unclaimed(&mut self, d: &Datagram<'_>, is_candidate: bool) -> Option<Verdict> {
        let table = &mut self.table;
        let shared = table.conversations.protocols_between(d.src, d.dst);
        let conversation = |id| {
            let slot = table.conversations.find(d.src, d.dst, id)?;
            Some((slot, *table.conversations.get(slot)?))
        };
        let verdict = self
            .classifier
            .classify_unrecognised(d, shared, conversation, |slot| table.open_requests(slot, d));
        if shared == 0 {
            return verdict;
        }
        let original = self.dedup.original_of(d);
        // Where a protocol claims whatever its ports exchange, that is no evidence of a message.
        let is_anything =
            |v: &Verdict| v.probe.role == Role::Stray && v.probe.request_state & Probe::ANYTHING != 0;
        let is_unclaimed = verdict.as_ref().is_none_or(is_anything);
        let unreadable =
            if is_unclaimed && !is_candidate { table.unreadable(d, shared, original) } else { None };
        let is_other_traffic = is_unclaimed && unreadable.is_none();
        let verdict = match (unreadable, verdict) {
            (Some(unreadable), Some(v)) if v.id == unreadable.id => {
                Some(Verdict { probe: Probe { role: Role::Unreadable, ..v.probe }, ..unreadable })
            }
            (unreadable, verdict) => unreadable.or(verdict),
        };
        // A datagram that is claimed is remembered as an original later.
        let is_copy = match verdict {
            Some(_) => original.is_some(),
            None => self.dedup.copy_of(d).is_some(),
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
        let original = self.dedup.original_of(d);
        let verdict = table.unreadable(d, shared, original);
        if verdict.is_none() && self.dedup.copy_of(d).is_none() {
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
