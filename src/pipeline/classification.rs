//! Classifies datagrams by their bytes and by what is known of their endpoints.

use super::Pipeline;
use crate::classify::{Verdict, protocols_of};
use crate::conversation::NONE;
use crate::net::Datagram;
use crate::protocols::{Id, Level};

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
            && let Some(other) = self.classify_in_other(d, v.id)
        {
            *v = other;
        }
        true
    }

    /// Classifies a datagram with weak evidence for one protocol in a conversation of another protocol, if there is
    /// one.
    #[cold]
    #[inline(never)]
    fn classify_in_other(&mut self, d: &Datagram<'_>, id: Id) -> Option<Verdict> {
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
            None => self.classify_unrecognised(d),
        }
    }

    /// Classifies a datagram that no probe recognised, by what is known of its endpoints, and notes it in their
    /// conversations.
    #[cold]
    #[inline(never)]
    pub(super) fn classify_unrecognised(&mut self, d: &Datagram<'_>) -> Option<Verdict> {
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
            Some(v) => self.dedup.is_copy(d, v.slot),
            None => self.dedup.copy_of(d, None).is_some(),
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
