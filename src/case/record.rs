//! The record of a server.

use super::port::{Broken, Client, Port};
use super::{Case, Reason};
use crate::check::Explained;
use crate::diagnosis::DiagnosisRecord;
use crate::report::listings::Listing;
use crate::report::{Captures, terms};
use crate::text::timestamps::stamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Most clients listed of a port, those that ask most.
pub const MAX_LISTED: usize = 100;

/// One server: what server writes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename = "server_case", deny_unknown_fields)]
pub struct CaseRecord<'a> {
    address: String,
    #[schemars(extend("enum" = Reason::ALL.iter().map(|reason| reason.name()).collect::<Vec<_>>()))]
    reason: &'static str,
    text: String,
    command: String,
    ports: Vec<PortRecord<'a>>,
    in_vain: Vec<InVain>,
    dropped: u64,
    namesakes: Vec<terms::Endpoint<String>>,
    listed_by: Vec<ListingRecord>,
}

/// A master that lists it, or that it tells of itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_case.listing", deny_unknown_fields)]
struct ListingRecord {
    server: terms::Endpoint<String>,
    master: terms::Endpoint<String>,
    protocol: terms::Protocol<&'static str>,
    lists: u64,
    heartbeats: u64,
    first_time: Option<terms::Time<String>>,
    last_time: Option<terms::Time<String>>,
}

/// A port of it in one protocol.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_case.port", deny_unknown_fields)]
struct PortRecord<'a> {
    endpoint: terms::Endpoint<String>,
    protocol: terms::Protocol<&'static str>,
    name: Option<String>,
    players: Option<u32>,
    max_players: Option<u32>,
    requests: u64,
    answered: u64,
    late: u64,
    unanswered: u64,
    undecided: u64,
    refused: u64,
    challenges: u64,
    unsolicited: u64,
    one_direction: bool,
    answered_elsewhere: u64,
    answered_from: Vec<terms::Endpoint<String>>,
    answers_for: Vec<terms::Endpoint<String>>,
    translated_to: Option<terms::Endpoint<String>>,
    cut: u64,
    more_clients: bool,
    clients: Vec<ClientRecord>,
    findings: Vec<BrokenRecord<'a>>,
}

/// Who asked it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_case.client", deny_unknown_fields)]
struct ClientRecord {
    client: terms::Address<String>,
    requests: u64,
    answered: u64,
    late: u64,
    unanswered: u64,
    refused: u64,
}

/// A rule that it breaks, or its clients.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_case.finding", deny_unknown_fields)]
struct BrokenRecord<'a> {
    rule: terms::RuleId<&'static str>,
    severity: terms::Severity<&'static str>,
    fault: terms::Fault<&'static str>,
    count: u64,
    message: String,
    file: Option<terms::File<String>>,
    first_frame: terms::Number<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiagnosisRecord<'_>")]
    diagnosis: Option<DiagnosisRecord<'a>>,
}

/// An endpoint of the address that was asked, and answered nothing.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "server_case.in_vain", deny_unknown_fields)]
struct InVain {
    endpoint: terms::Endpoint<String>,
    protocol: terms::Protocol<&'static str>,
    requests: u64,
}

impl<'a> CaseRecord<'a> {
    /// The record of a case.
    pub fn new(case: &Case<'a>, captures: &Captures) -> CaseRecord<'a> {
        let in_vain = case.in_vain().into_iter().map(|(end, id, requests)| InVain {
            endpoint: terms::Endpoint(end.to_string()),
            protocol: terms::Protocol(id.info().name),
            requests,
        });
        CaseRecord {
            address: case.address.clone(),
            reason: case.verdict.reason.name(),
            text: case.verdict.text.clone(),
            command: case.verdict.command.clone(),
            ports: case.ports.iter().map(|p| port(p, case, captures)).collect(),
            in_vain: in_vain.collect(),
            dropped: case.dropped,
            namesakes: endpoints(&case.namesakes),
            listed_by: case.listed.iter().map(listing).collect(),
        }
    }
}

fn listing(listing: &Listing) -> ListingRecord {
    let time = |time| Some(stamp(time)).filter(|text| !text.is_empty()).map(terms::Time);
    ListingRecord {
        server: terms::Endpoint(listing.server.to_string()),
        master: terms::Endpoint(listing.master.to_string()),
        protocol: terms::Protocol(listing.id.info().name),
        lists: listing.lists,
        heartbeats: listing.heartbeats,
        first_time: time(listing.first),
        last_time: time(listing.last),
    }
}

fn endpoints(ends: &[crate::net::Endpoint]) -> Vec<terms::Endpoint<String>> {
    ends.iter().map(|end| terms::Endpoint(end.to_string())).collect()
}

fn port<'a>(p: &Port, case: &Case<'a>, captures: &Captures) -> PortRecord<'a> {
    let c = p.counts;
    PortRecord {
        endpoint: terms::Endpoint(p.endpoint.to_string()),
        protocol: terms::Protocol(p.id.info().name),
        name: p.name.as_ref().map(|name| name.text().into_owned()),
        players: p.players.map(|(players, _)| players),
        max_players: p.players.map(|(_, max)| max),
        requests: c.requests,
        answered: c.answered,
        late: c.late,
        unanswered: c.unanswered,
        undecided: c.undecided,
        refused: c.refused,
        challenges: p.challenges,
        unsolicited: p.unsolicited,
        one_direction: p.is_one_sided(),
        answered_elsewhere: p.elsewhere,
        answered_from: endpoints(&p.others),
        answers_for: endpoints(&p.in_place_of),
        translated_to: p.inner.map(|inner| terms::Endpoint(inner.to_string())),
        cut: p.cut,
        more_clients: p.more_clients || p.clients.len() > MAX_LISTED,
        clients: p.busiest().into_iter().take(MAX_LISTED).map(client).collect(),
        findings: p.findings.iter().map(|b| broken(b, case.explained(p), captures)).collect(),
    }
}

fn client(client: &Client) -> ClientRecord {
    let c = client.counts;
    ClientRecord {
        client: terms::Address(client.address.ip().to_string()),
        requests: c.requests,
        answered: c.answered,
        late: c.late,
        unanswered: c.unanswered,
        refused: c.refused,
    }
}

fn broken<'a>(b: &Broken, explained: Option<&'a Explained>, captures: &Captures) -> BrokenRecord<'a> {
    let explained = explained.filter(|explained| explained.rules.contains(&b.finding.rule));
    BrokenRecord {
        rule: terms::RuleId(b.finding.rule.id),
        severity: terms::Severity(b.finding.severity.name()),
        fault: terms::Fault(b.finding.fault.name()),
        count: b.count,
        message: b.finding.to_string(),
        file: captures.name(b.first.file).map(|name| terms::File(name.to_owned())),
        first_frame: terms::Number(b.first.frame),
        diagnosis: explained.map(|explained| explained.diagnosis.record()),
    }
}
