//! Classifies datagrams by their bytes and by what is known of their endpoints.

use super::Pipeline;
use crate::classify::{Verdict, protocols_of};
use crate::conversation::NONE;
use crate::net::Datagram;
use crate::protocols::{Level, Role};

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
        if weak && slot.is_none() && v.server_index == NONE && self.classifier.may_know(d) {
            self.classify_in_other(d, v);
        }
        true
    }

    /// Classifies a datagram with weak evidence for one protocol whose ends have a conversation in another protocol. As a
    /// message of that protocol, it is one. If that protocol can only say that it is `unknown`, the conversation in the new
    /// protocol decides, which may begin here; until then, this is the other reading of the claim.
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
        match self.classify_unrecognised(d, true) {
            Some(other) if other.probe.role == Role::Stray => {
                self.other_reading = Some((d.frame, other));
            }
            Some(other) => *v = other,
            None => {}
        }
    }

    /// Classifies a datagram that no probe of their conversations recognised, by what is known of its endpoints, and notes
    /// it in these conversations. `is_claimed` says whether another protocol claims it.
    #[cold]
    #[inline(never)]
    pub(super) fn classify_unrecognised(&mut self, d: &Datagram<'_>, is_claimed: bool) -> Option<Verdict> {
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
        // A datagram that is claimed is remembered as an original later.
        let is_copy = match verdict {
            None if !is_claimed => self.dedup.copy_of(d).is_some(),
            _ => self.dedup.is_copy(d),
        };
        if is_copy {
            return verdict;
        }
        for id in protocols_of(shared) {
            let slot = table.conversations.find(d.src, d.dst, id);
            if let Some(c) = slot.and_then(|slot| table.conversations.get_mut(slot)) {
                c.note_unrecognised(d.src);
            }
        }
        verdict
    }
}
