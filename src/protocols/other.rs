//! Recognises other queries on the wire, which a protocol must not claim.

use super::candidates::resembled;
use crate::contract::{Info, Known, Level, Probe};

/// Whether the payload begins like another query or its answer. A host may offer several query protocols, and a client may
/// use one socket for all of them. What begins as datagrams outside a connection do in Quake's family, or as parts of Valve's
/// answers, is other traffic whatever follows.
pub(super) fn is_other_query(own: &Info, payload: &[u8]) -> bool {
    matches!(payload, [0xfe | 0xff, 0xff, 0xff, 0xff, ..])
        || resembled(payload, Level::Hint, Some(own)).next().is_some()
}

/// Claims a datagram as `unknown` if its conversation is known or the user names its server, unless it is another query.
pub(super) fn unknown(own: &Info, payload: &[u8], known: Known<'_>) -> Option<Probe> {
    let ours = (known.conversation || known.pinned) && !is_other_query(own, payload);
    let probe = if ours { own.stray(own.unknown(), payload, known) } else { None };
    probe.map(|probe| Probe { request_state: Probe::ANYTHING, ..probe })
}
