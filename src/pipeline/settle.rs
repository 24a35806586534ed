//! What a datagram is, by its bytes and by all that is known of its ends.

use super::Pipeline;
use crate::classify::Verdict;
use crate::conversation::NONE;
use crate::net::Datagram;
use crate::protocols::{Id, Level};
use crate::report::Report;

impl<R: Report> Pipeline<R> {
    /// Whether a datagram is what it looks like, or what else.
    #[inline]
    pub(super) fn settle<const CALLER: u8>(&mut self, d: &Datagram<'_>, v: &mut Verdict) -> bool {
        let slot = self.table.conversations.find(d.src, d.dst, v.id);
        let known = slot.and_then(|slot| Some((slot, self.table.conversations.get(slot)?)));
        let open = || slot.is_some_and(|slot| self.table.has_open(slot));
        let weak = v.glance.level <= Level::Low;
        if !self.memory.settle(d, v, known, open) {
            return false;
        }
        if weak && slot.is_none() && v.server_index == NONE {
            self.contested(d, v);
        }
        true
    }

    /// Weak evidence for one protocol, in what may be a conversation of another: then it is left to that.
    #[cold]
    fn contested(&mut self, d: &Datagram<'_>, v: &mut Verdict) {
        if self.memory.may_know(d)
            && let Some(other) = self.others(d, v.id)
        {
            *v = other;
        }
    }

    /// What a datagram is in a conversation of another protocol.
    fn others(&mut self, d: &Datagram<'_>, id: Id) -> Option<Verdict> {
        let mut others = Id::ALL.iter().copied().filter(|other| *other != id);
        let (owner, slot) =
            others.find_map(|o| Some((o, self.table.conversations.find(d.src, d.dst, o)?)))?;
        match owner.glance(d.payload, d.wire_len(), [d.src.port(), d.dst.port()]) {
            Some(g) => {
                let known = self.table.conversations.get(slot).map(|c| (slot, c));
                let mut v = Verdict::by_looks(owner, g);
                self.memory.settle(d, &mut v, known, || self.table.has_open(slot)).then_some(v)
            }
            None => self.settle_unrecognised(d),
        }
    }

    #[cold]
    pub(super) fn settle_unrecognised(&mut self, d: &Datagram<'_>) -> Option<Verdict> {
        self.memory.settle_unrecognised(d, |id| {
            let slot = self.table.conversations.find(d.src, d.dst, id)?;
            Some((slot, *self.table.conversations.get(slot)?, self.table.has_open(slot)))
        })
    }
}
