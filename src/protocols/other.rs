//! Recognises other queries on the wire, which a protocol must not claim.

use super::Id;
use crate::contract::{Info, Known, Level, Probe};

/// The protocols whose messages may begin with each byte, one bit each.
static FIRST_BYTES: [u32; 256] = {
    let (mut table, mut protocols) = ([0; 256], Id::ALL);
    while let [id, others @ ..] = protocols {
        id.info().mark(0, 1 << *id as u32, &mut table);
        protocols = others;
    }
    table
};

/// The protocols that have messages of the form of a payload, with at least this confidence by its bytes alone.
pub(crate) fn resembled(payload: &[u8], least: Level) -> impl Iterator<Item = Id> {
    let may_be = payload.first().and_then(|first| FIRST_BYTES.get(usize::from(*first))).copied().unwrap_or(0);
    Id::ALL
        .iter()
        .copied()
        .filter(move |id| may_be >> *id as u32 & 1 == 1 && id.info().resembles(payload, least))
}

/// Whether the payload begins like another query or its answer. A host may offer several query protocols, and a client may
/// use one socket for all of them. What begins as datagrams outside a connection do in Quake's family, or as parts of Valve's
/// answers, is other traffic whatever follows.
pub(super) fn is_other_query(own: &Info, payload: &[u8]) -> bool {
    matches!(payload, [0xfe | 0xff, 0xff, 0xff, 0xff, ..])
        || resembled(payload, Level::Hint).any(|id| id.info().name != own.name)
}

/// Claims a datagram as `unknown` if its conversation is known or the user names its server, unless it is another query.
pub(super) fn unknown(own: &Info, payload: &[u8], known: Known<'_>) -> Option<Probe> {
    let ours = (known.conversation || known.pinned) && !is_other_query(own, payload);
    let probe = if ours { own.stray(own.unknown(), payload, known) } else { None };
    probe.map(|probe| Probe { request_state: Probe::ANYTHING, ..probe })
}
