//! What a datagram is, by its bytes and by all that is known of its ends.
//!
//! Functions of what they need, and not of the pipeline: that is compiled for each report.

use crate::classify::{Memory, Verdict};
use crate::conversation::NONE;
use crate::exchange::Table;
use crate::net::Datagram;
use crate::protocols::{Id, Level};

/// Whether a datagram is what it looks like, or what else.
#[inline(always)]
pub(super) fn classify(memory: &Memory, table: &Table, d: &Datagram<'_>, v: &mut Verdict) -> bool {
    let slot = table.conversations.find(d.src, d.dst, v.id);
    let known = slot.and_then(|slot| Some((slot, table.conversations.get(slot)?)));
    let open = |step| slot.is_some_and(|slot| table.has_open(slot, step));
    let weak = v.probe.level <= Level::Low;
    if !memory.classify(d, v, known, open) {
        return false;
    }
    if weak && slot.is_none() && v.server_index == NONE {
        contested(memory, table, d, v);
    }
    true
}

/// Weak evidence for one protocol, in what may be a conversation of another: then it is left to that.
#[cold]
#[inline(never)]
fn contested(memory: &Memory, table: &Table, d: &Datagram<'_>, v: &mut Verdict) {
    if memory.may_know(d)
        && let Some(other) = others(memory, table, d, v.id)
    {
        *v = other;
    }
}

/// What a datagram is in a conversation of another protocol.
fn others(memory: &Memory, table: &Table, d: &Datagram<'_>, id: Id) -> Option<Verdict> {
    let mut others = Id::ALL.iter().copied().filter(|other| *other != id);
    let (owner, slot) = others.find_map(|o| Some((o, table.conversations.find(d.src, d.dst, o)?)))?;
    match owner.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()]) {
        Some(g) => {
            let known = table.conversations.get(slot).map(|c| (slot, c));
            let mut v = Verdict::by_looks(owner, g);
            memory.classify(d, &mut v, known, |step| table.has_open(slot, step)).then_some(v)
        }
        None => classify_unrecognised(memory, table, d),
    }
}

/// What a datagram is that no probe recognised, by what is known of its ends.
#[cold]
#[inline(never)]
pub(super) fn classify_unrecognised(memory: &Memory, table: &Table, d: &Datagram<'_>) -> Option<Verdict> {
    memory.classify_unrecognised(d, |id| {
        let slot = table.conversations.find(d.src, d.dst, id)?;
        Some((slot, *table.conversations.get(slot)?, table.waiting(slot)))
    })
}
