//! The record of the totals of a run.

use super::totals::{Candidate, MAX_LISTED, MAX_UNREAD, Totals, Unread};
use crate::capture::link_name;
use crate::check::Counts;
use crate::net::{DropReason, FragmentCounts};
use crate::report::terms;
use crate::text::timestamps::stamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// What a run adds up to; the last record.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "summary", deny_unknown_fields)]
pub struct TotalsRecord<'a> {
    complete: bool,
    files: u64,
    packets: u64,
    dropped: Option<u64>,
    udp: u64,
    recognised: u64,
    unclaimed: u64,
    #[schemars(schema_with = "by_reason")]
    not_datagrams: Map<String, Value>,
    links: Vec<terms::Link<Cow<'static, str>>>,
    first_time: Option<terms::Time<String>>,
    last_time: Option<terms::Time<String>>,
    exchanges: u64,
    answered: u64,
    late: u64,
    unanswered: u64,
    undecided: u64,
    refused: u64,
    retransmissions: u64,
    pub(crate) finding_counts: Counts,
    evicted: u64,
    waiting_overflow: u64,
    one_sided_servers: usize,
    duplicate_frames: u64,
    servers_refused: u64,
    memory_forgotten: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Fragments")]
    fragments: Option<Fragments>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = MAX_LISTED))]
    candidates: Vec<CandidateRecord>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 1))]
    more_candidates: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Narrowed")]
    of: Option<Narrowed>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(length(min = 1, max = MAX_UNREAD))]
    unread: &'a [Unread],
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 1))]
    tunnels_unnamed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 1))]
    not_unpacked: u64,
    /// Findings beyond those that check lists.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 1))]
    pub(crate) more_findings: u64,
}

/// IP fragments.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "summary.fragments", deny_unknown_fields)]
struct Fragments {
    seen: u64,
    datagrams: u64,
    incomplete: u64,
    evicted: u64,
    copies: u64,
    disputed: u64,
    damaged: u64,
    crowded: u64,
}

/// An endpoint that got what could be requests, and answered none.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "summary.candidate", deny_unknown_fields)]
struct CandidateRecord {
    server: terms::Endpoint<String>,
    protocol: terms::Protocol<&'static str>,
    datagrams: u64,
    refused: u64,
    undecided: u64,
}

/// The same of everything, where the other numbers are of what passed a filter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "summary.of", deny_unknown_fields)]
struct Narrowed {
    packets: u64,
    udp: u64,
    recognised: u64,
    unclaimed: u64,
    exchanges: u64,
    answered: u64,
    late: u64,
    unanswered: u64,
    undecided: u64,
    refused: u64,
    retransmissions: u64,
    finding_counts: Counts,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The schema of the counts of frames without a UDP datagram, by reason.
fn by_reason(_: &mut SchemaGenerator) -> Schema {
    let count = json!({ "type": "integer", "minimum": 1 });
    let reasons: Map<_, _> = DropReason::all().map(|why| (why.name().to_owned(), count.clone())).collect();
    schemars::json_schema!({ "type": "object", "properties": reasons, "additionalProperties": false })
}

impl Totals {
    /// The `summary` record.
    pub fn record(&self) -> TotalsRecord<'_> {
        let (candidates, more_candidates) = self.candidates();
        TotalsRecord {
            complete: self.complete,
            files: self.files,
            packets: self.packets,
            dropped: self.dropped,
            udp: self.udp,
            recognised: self.recognised,
            unclaimed: self.unclaimed,
            not_datagrams: self
                .not_datagrams
                .iter()
                .map(|(why, n)| (why.name().to_owned(), n.into()))
                .collect(),
            links: self.links.iter().map(|&link| terms::Link(link_name(link))).collect(),
            first_time: self.span.map(|(first, _)| terms::Time(stamp(first))),
            last_time: self.span.map(|(_, last)| terms::Time(stamp(last))),
            exchanges: self.exchanges,
            answered: self.answered,
            late: self.late,
            unanswered: self.unanswered,
            undecided: self.undecided,
            refused: self.refused,
            retransmissions: self.retransmissions,
            finding_counts: self.findings,
            evicted: self.evicted,
            waiting_overflow: self.waiting_overflow,
            one_sided_servers: self.one_sided.len(),
            duplicate_frames: self.duplicate_frames,
            servers_refused: self.servers_refused,
            memory_forgotten: self.memory_forgotten,
            fragments: Some(&self.fragments).filter(|f| f.seen > 0).map(Fragments::new),
            candidates: candidates.iter().map(CandidateRecord::new).collect(),
            more_candidates,
            of: self.unfiltered.as_deref().map(Narrowed::new),
            unread: &self.unread,
            tunnels_unnamed: self.tunnels_unnamed,
            not_unpacked: self.not_unpacked,
            more_findings: 0,
        }
    }
}

impl Fragments {
    fn new(f: &FragmentCounts) -> Fragments {
        Fragments {
            seen: f.seen,
            datagrams: f.reassembled,
            incomplete: f.begun + f.headless,
            evicted: f.evicted,
            copies: f.copies,
            disputed: f.disputes,
            damaged: f.damaged,
            crowded: f.crowded,
        }
    }
}

impl CandidateRecord {
    fn new(candidate: &Candidate) -> CandidateRecord {
        let Candidate { server, protocol, datagrams, refused, undecided } = *candidate;
        let server = terms::Endpoint(server.to_string());
        let protocol = terms::Protocol(protocol.info().name);
        CandidateRecord { server, protocol, datagrams, refused, undecided }
    }
}

impl Narrowed {
    fn new(all: &Totals) -> Narrowed {
        Narrowed {
            packets: all.packets,
            udp: all.udp,
            recognised: all.recognised,
            unclaimed: all.unclaimed,
            exchanges: all.exchanges,
            answered: all.answered,
            late: all.late,
            unanswered: all.unanswered,
            undecided: all.undecided,
            refused: all.refused,
            retransmissions: all.retransmissions,
            finding_counts: all.findings,
        }
    }
}
