//! What one datagram alone cannot show: order, copies, time, how much an answer multiplies.

use super::reply::{RSP_001, RSP_002};
use super::samples::*;
use crate::contract::{Causation, Raised};
use crate::exchange::{Pairing, Seen};
use crate::protocols::Relation;
use crate::rule::{Example, Step::*, rules};

/// The port of a server whose port nobody changed.
pub(super) const PORT: u16 = 26950;

rules! {
    /// The server only responds: the query was lost before the capture, or somebody answers what was never
    /// asked.
    TXN_001 = "SKY-TXN-001" Error "reply without a query" {
        cite: wiki("Query format"),
        needs_past: true,
        examples: [Example::of(&[OK])],
    }
    /// The mod waits five seconds and does not ask again.
    TXN_002 = "SKY-TXN-002" Warning "no answer in time" {
        cite: client("ClientUser.Ping"),
        examples: [Example::of(&[RQ])],
    }
    /// Replies carry no identifier: they are paired first in, first out, and a lost one shifts the others.
    TXN_003 = "SKY-TXN-003" Note "second query while one is open" {
        cite: wiki("Query format"),
        examples: [Example::of(&[RQ, RQ])],
    }
    /// A byte-identical copy of an earlier answer: UDP may duplicate datagrams.
    TXN_004 = "SKY-TXN-004" Note "answer arrived twice" {
        cite: wiki("Reply format"),
        side: Path,
        examples: [Example::of(&[RQ, OK, OK])],
    }
    /// Later than the answer window of five seconds, within the late window.
    TXN_005 = "SKY-TXN-005" Note "answer came after the time-out" {
        cite: client("ClientUser.Ping"),
        examples: [Example::of(&[RQ, Wait(6000), OK])],
    }
    /// The default is 26950; any port that is configured is legal.
    TXN_006 = "SKY-TXN-006" Note "server is not on the default port" {
        cite: wiki("Examples for easier understanding"),
        per_server: true,
        examples: [Example::on(35735, &[RQ, OK])],
    }
    /// Four bytes with a forged source address bring a victim more than ten times as much: nothing proves
    /// that the client is who it seems to be.
    SEC_001 = "SKY-SEC-001" Warning "answer is more than ten times its query, without a challenge" {
        cite: wiki("Query format"),
        per_server: true,
        ratio: true,
        lenient: Note,
        examples: [Example::of(&[RQ, OK])],
    }
}

pub(super) fn observe(seen: &Seen<'_>, raised: &mut Raised) {
    if matches!(seen.pairing, Pairing::Answered(_)) && seen.server.port() != PORT {
        raised.add(&TXN_006);
    }
}

pub(super) static CAUSES: &[Causation] = &[
    // Something else in place of a reply, or one that is cut inside its header.
    (Relation::Instead, &[&RSP_001, &RSP_002], &[&TXN_002]),
];
