//! Findings that are held until the end of the input, where they are judged: which servers answered nothing, or nothing but
//! challenges, which were captured in one direction only, and how large the floods became.
//!
//! ```text
//! packet, exchange ──hold──> held ──floods, silent_servers, one_sided──> final findings
//!                       └──> neither pending nor held: reported at once
//! ```
//!
//! [`Check`](super::Check) and the tables of `export` share this, so that both report the same findings.

use super::MAX_MARKED;
use crate::capture::Time;
use crate::check::{Agreements, Cause, Explained, Finding, Kind, Packet};
use crate::contract::{Abuse, Flood};
use crate::exchange::Exchange;
use crate::net::Endpoint;
use crate::protocols::{Id, Level};
use crate::report::SilentServer;
use crate::rule::{Severity, Side};
use arrayvec::ArrayVec;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of remarks made once per server, and of findings of each kind held until the end. Further findings are
/// judged at once, as if both directions had been captured, the server had answered, and the flood had ended.
pub(crate) const MAX_REMARKS: usize = 50_000;

/// A finding with what is known where it was found. Its frames are numbered through the run.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The finding; the frame of its cause is numbered through the run, too.
    pub finding: Finding,
    /// The frame. For a finding about an exchange, the frame of the request.
    pub frame: u64,
    /// Time of that frame.
    pub time: Time,
    /// Protocol.
    pub protocol: Id,
    /// The endpoint that asks.
    pub client: Endpoint,
    /// The server that was asked.
    pub server: Endpoint,
    /// Confidence of the recognition.
    pub level: Level,
    /// Name of the message; `None` for a finding about an exchange.
    pub message: Option<&'static str>,
    /// Offset of the first marked byte in the decompressed capture file.
    pub file_offset: Option<u64>,
    /// The first [`MAX_MARKED`] of the marked bytes; none if they include a password.
    pub marked: ArrayVec<u8, MAX_MARKED>,
    /// Number of the exchange, and the frame of its request.
    pub exchange: Option<(u64, u64)>,
    /// The messages whose diagnosis explains it, if they agree.
    pub kind: Option<Kind>,
}

impl Found {
    /// A finding about a datagram.
    pub fn in_packet(p: &Packet<'_>, finding: &Finding) -> Found {
        let (d, [client, _], server) = (p.datagram, p.ends(), p.server());
        let span = finding.span.unwrap_or_default();
        let marked = if p.coverage().is_some_and(|c| c.secret) { &[][..] } else { span.of(p.bytes) };
        Found {
            finding: *finding,
            frame: d.frame,
            time: d.time,
            protocol: p.id,
            client,
            server,
            level: p.level,
            message: Some(p.message_name()),
            file_offset: p.file_offset(span.start),
            marked: first_of(marked),
            exchange: p.pairing.exchange().zip(p.pairing.request_frame(d.frame)),
            kind: p.explains(finding).then(|| Agreements::kind(p)),
        }
    }

    /// A finding about an exchange, or about its server, located at this frame.
    pub fn of_exchange(e: &Exchange, (frame, time): (u64, Time), finding: Finding) -> Found {
        Found {
            finding,
            frame,
            time,
            protocol: e.protocol,
            client: e.client,
            server: e.server,
            level: e.level,
            message: None,
            file_offset: None,
            marked: ArrayVec::new(),
            exchange: Some((e.id, e.request_frame)),
            kind: None,
        }
    }
}

/// The first of some bytes, as many as are kept.
fn first_of(bytes: &[u8]) -> ArrayVec<u8, MAX_MARKED> {
    let mut first = ArrayVec::new();
    let _ = first.try_extend_from_slice(&bytes[..bytes.len().min(MAX_MARKED)]); // they fit
    first
}

/// Findings held for one reason.
#[derive(Debug, Default)]
struct Held {
    /// At most [`MAX_REMARKS`].
    found: Vec<Found>,
    /// Number of further findings, which were not held.
    more: u64,
}

impl Held {
    /// Holds a finding, or returns it if there is no room.
    fn hold(&mut self, found: Found) -> Option<Found> {
        if self.found.len() < MAX_REMARKS {
            self.found.push(found);
            return None;
        }
        self.more += 1;
        Some(found)
    }
}

/// The findings held until the end.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Those about floods, whose final numbers are known at the end.
    floods: Held,
    /// Those that are [provisional](Finding::provisional).
    provisional: Held,
    /// Those that become notes if only one direction of their server's traffic was captured, and those that are explained
    /// if all broken messages agree.
    to_the_end: Held,
    /// Whether broken messages agree.
    agreements: Agreements,
    /// Number of provisional findings reported early, although a server answered nothing.
    reported_early: u64,
}

impl Pending {
    /// Holds a finding that is judged at the end, or returns it to be reported at once.
    pub fn hold(&mut self, found: Found) -> Option<Found> {
        if let Some(Abuse::Flood(_)) = found.finding.abuse {
            return self.floods.hold(found).and_then(|found| self.hold_to_the_end(found));
        }
        match found.finding.provisional {
            Some(_) => self.provisional.hold(found),
            None => self.hold_to_the_end(found),
        }
    }

    /// Takes a message, before its findings.
    #[inline]
    pub fn note(&mut self, p: &Packet<'_>) {
        self.agreements.note(p);
    }

    /// What explains the messages of that kind.
    pub fn explained(&self, kind: Kind) -> Option<Arc<Explained>> {
        self.agreements.agreed(kind).cloned()
    }

    /// Holds a finding that may become a note or be explained, or returns it to be reported at once.
    fn hold_to_the_end(&mut self, found: Found) -> Option<Found> {
        let may_be_explained = found.kind.is_some() && !found.finding.rule.per_server;
        if !may_be_explained && !found.finding.depends_on_past() {
            return Some(found);
        }
        self.to_the_end.hold(found).map(|found| Found { kind: None, ..found })
    }

    /// Gives the findings about floods their final numbers, by frame in the run. Returns those to be reported.
    pub fn floods(&mut self, floods: &[(u64, Flood)]) -> Vec<Found> {
        let finals: HashMap<_, _> = floods.iter().copied().collect();
        let mut held = std::mem::take(&mut self.floods.found);
        for Found { finding, frame, .. } in &mut held {
            if let Some(flood) = finals.get(frame) {
                finding.abuse = Some(Abuse::Flood(*flood));
            }
        }
        self.not_held(held)
    }

    /// Adds the findings about silent servers, and makes the findings that these explain symptoms of them. Returns those
    /// to be reported, the servers first.
    pub fn silent_servers(&mut self, servers: &[SilentServer]) -> Vec<Found> {
        let Held { mut found, more } = std::mem::take(&mut self.provisional);
        self.reported_early += if servers.is_empty() { 0 } else { more };
        let causes: HashMap<_, _> = servers
            .iter()
            .map(|s| ((s.exchange.server, s.exchange.protocol, s.finding.rule.id), s.frame))
            .collect();
        found.retain_mut(|found| {
            let Some(rule) = found.finding.provisional.take() else { return true };
            let Some(&frame) = causes.get(&(found.server, found.protocol, rule.id)) else { return true };
            // A challenge that comes again is what that rule is about.
            if found.protocol.info().challenges_again == Some(found.finding.rule) {
                return false;
            }
            // An error that explains a single missing answer remains its cause.
            let has_error_cause =
                found.finding.caused_by.is_some_and(|cause| cause.rule.severity == Severity::Error);
            if !has_error_cause {
                found.finding.caused_by = Some(Cause { rule, frame });
            }
            true
        });
        let silent = servers.iter().map(|s| Found::of_exchange(&s.exchange, (s.frame, s.time), s.finding));
        self.not_held(silent.chain(found).collect())
    }

    /// Makes notes of the findings that depend on what was not captured of these servers. Returns those to be reported, and
    /// those that may be explained.
    pub fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> Vec<Found> {
        let one_sided: HashSet<_> = servers.iter().copied().collect();
        let mut held = std::mem::take(&mut self.to_the_end.found);
        for Found { finding, server, protocol, .. } in &mut held {
            if finding.depends_on_past() && one_sided.contains(&(*server, *protocol)) {
                finding.severity = Severity::Note;
                finding.fault = Side::Capture;
            }
        }
        held
    }

    /// Those that are not held further.
    fn not_held(&mut self, found: Vec<Found>) -> Vec<Found> {
        found.into_iter().filter_map(|found| self.hold_to_the_end(found)).collect()
    }

    /// Number of findings reported early that were judged otherwise at the end; `one_sided` says whether any server was
    /// captured in one direction only.
    pub fn misjudged(&self, one_sided: bool) -> u64 {
        self.reported_early + if one_sided { self.to_the_end.more } else { 0 }
    }
}
