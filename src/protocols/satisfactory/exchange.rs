//! What one datagram alone cannot show: cookies, copies, time.

use super::samples::*;
use crate::check::Raised;
use crate::exchange::{Answer, Pairing, Seen};
use crate::rule::{Example, Step::*, rules};

rules! {
    /// No poll of this client is outstanding: it was lost before the capture, or somebody answers what was
    /// never asked.
    TXN_001 = "SFQ-TXN-001" Error "response without a poll" {
        cite: api("Flow"),
        examples: [Example::of(&[OK])],
    }
    /// The cookie is copied from the request; this one belongs to none of the open polls of the client.
    TXN_002 = "SFQ-TXN-002" Error "cookie matches no outstanding poll" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 0200000000000000 03 7a960500 0000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// The answer window is two seconds. UDP may lose datagrams; a server that starts up does not answer
    /// either.
    TXN_003 = "SFQ-TXN-003" Warning "no answer in time" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ])],
    }
    /// The same cookie again: a retransmission. The document advises to poll at an interval instead of
    /// waiting.
    TXN_004 = "SFQ-TXN-004" Note "poll is repeated while unanswered" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, PQ, OK])],
    }
    /// A second response for a cookie already answered: UDP duplicated it, or the server answered a
    /// retransmission too.
    TXN_005 = "SFQ-TXN-005" Note "answer arrived twice" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, OK, OK])],
    }
    /// Later than the answer window of two seconds, within the late window.
    TXN_010 = "SFQ-TXN-010" Note "answer came after the time-out" {
        cite: api("Flow"),
        examples: [Example::of(&[PQ, Wait(3010), OK])],
    }
}

pub(super) fn observe(seen: &Seen<'_>, raised: &mut Raised) {
    match *seen.pairing {
        Pairing::Again { .. } => raised.add(&TXN_004),
        Pairing::Answered(Answer { late: true, .. }) => raised.add(&TXN_010),
        Pairing::Copy { .. } => raised.add(&TXN_005),
        // Without a whole cookie nobody can say whose answer it is.
        Pairing::Unasked { open, .. } if seen.glance.key.is_some() => {
            raised.add(if open { &TXN_002 } else { &TXN_001 })
        }
        _ => {}
    }
}
