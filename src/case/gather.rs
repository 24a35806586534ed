//! The report that gathers what the captures say about a server.

use super::Target;
use super::port::Port;
use crate::capture::CaptureInfo;
use crate::check::{Agreements, Finding, Packet};
use crate::contract::{Abuse, Flood};
use crate::exchange::{Exchange, Pairing};
use crate::net::Endpoint;
use crate::protocols::{Direction, Id};
use crate::report::listings::Listings;
use crate::report::{Captures, Report, SilentServer, Wants};
use crate::rule::Severity;
use crate::rule::general::{GEN_006, GEN_008, GEN_014};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;
use std::io;

/// Most ports of servers in the table: those of the address, or of all servers as long as only a name is known.
pub const MAX_PORTS: usize = 4_096;
/// Most answers from other endpoints whose exchanges have not closed.
pub const MAX_PENDING: usize = 4_096;
/// Most addresses of the server on both sides of an address translation.
pub const MAX_HOSTS: usize = 64;

/// Everything that is known of the ports of the server.
#[derive(Debug)]
pub struct Gathered {
    pub(super) target: Target,
    /// The captures.
    pub captures: Captures,
    ports: HashMap<(Endpoint, Id), Port>,
    /// The addresses that are gathered; all where only a name is known.
    hosts: HashSet<Endpoint>,
    /// Which endpoint has answered an exchange in the place of its server.
    pending: HashMap<u64, Endpoint>,
    /// Addresses that hosts translate, and those behind them.
    translations: Vec<(Endpoint, Endpoint)>,
    /// Ports for which there was no room.
    pub(super) untracked: u64,
    /// What explains the broken answers.
    pub(super) agreements: Agreements,
    /// Who has listed whom.
    pub(super) listings: Listings,
}

impl Gathered {
    /// Nothing yet, about that server.
    pub fn new(target: Target) -> Gathered {
        let hosts = match target {
            Target::Address(ip, _) => HashSet::from_iter([Endpoint::of(ip, 0)]),
            Target::Name(_) | Target::Any => HashSet::new(),
        };
        Gathered {
            target,
            captures: Captures::default(),
            ports: HashMap::new(),
            hosts,
            pending: HashMap::new(),
            translations: vec![],
            untracked: 0,
            agreements: Agreements::default(),
            listings: Listings::default(),
        }
    }

    /// All ports, in no order.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        self.ports.values()
    }

    /// The address of the server, the port that it is about, and other servers of the same name.
    pub(super) fn found(&self) -> (Option<Endpoint>, Option<u16>, Vec<Endpoint>) {
        let name = match &self.target {
            Target::Address(ip, port) => return (Some(Endpoint::of(*ip, 0)), *port, vec![]),
            Target::Any => return (None, None, vec![]),
            Target::Name(name) => name,
        };
        let named_as = |is_name: &dyn Fn(&str) -> bool| -> Vec<&Port> {
            self.ports().filter(|p| p.name.as_ref().is_some_and(|known| is_name(&known.text()))).collect()
        };
        let mut named = named_as(&|known| known == name);
        if named.is_empty() {
            named = named_as(&|known| known.to_lowercase() == name.to_lowercase());
        }
        named.sort_by_key(|p| (std::cmp::Reverse(p.weight()), p.endpoint));
        let Some((first, others)) = named.split_first() else { return (None, None, vec![]) };
        let others = others.iter().map(|p| p.endpoint).filter(|end| *end != first.endpoint).collect();
        (Some(first.endpoint.host()), Some(first.endpoint.port()), others)
    }

    /// Names of servers that contain the wanted one, or else any, in order.
    pub(super) fn other_names(&self) -> Vec<String> {
        /// Most names.
        const SUGGESTED: usize = 5;
        let Target::Name(name) = &self.target else { return vec![] };
        let all: BTreeSet<_> =
            self.ports().filter_map(|p| Some(p.name.as_ref()?.text().into_owned())).collect();
        let is_like = |known: &&String| known.to_lowercase().contains(&name.to_lowercase());
        let like: Vec<_> = all.iter().filter(is_like).take(SUGGESTED).cloned().collect();
        if like.is_empty() { all.into_iter().take(SUGGESTED).collect() } else { like }
    }

    /// Whether an endpoint is the target, once everything has been read.
    pub fn is_target(&self, end: Endpoint) -> bool {
        let (host, port, _) = self.found();
        let is_found =
            host.is_some_and(|host| host == end.host()) && port.is_none_or(|port| port == end.port());
        is_found || self.target == Target::Any
    }

    /// Whether a server may be the target.
    pub fn is_wanted(&self, end: Endpoint) -> bool {
        matches!(self.target, Target::Name(_) | Target::Any) || self.hosts.contains(&end.host())
    }

    /// The row of a port of the server, if it is one and there is room.
    fn port(&mut self, end: Endpoint, id: Id) -> Option<&mut Port> {
        if !self.is_wanted(end) {
            return None;
        }
        if self.ports.len() >= MAX_PORTS && !self.ports.contains_key(&(end, id)) {
            self.untracked += 1;
            return None;
        }
        let translations = &self.translations;
        Some(self.ports.entry((end, id)).or_insert_with(|| {
            let inner = translations.iter().find(|(outer, _)| *outer == end).map(|(_, inner)| *inner);
            let mut port = Port::new(end, id);
            port.inner = inner;
            port
        }))
    }
}

impl Report for Gathered {
    /// Every remark, because each answer is judged by itself whether clients can read it.
    fn wants(&self) -> Wants {
        Wants {
            silent_servers: true,
            packets_first: true,
            repeat_remarks: true,
            diagnosis: true,
            ..Wants::default()
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if p.raised.has(&GEN_008) {
            return Ok(()); // the datagram was on the wire once
        }
        self.agreements.note(p);
        self.listings.packet(p);
        let [_, server] = p.ends();
        let answers_elsewhere = p.direction == Direction::S2c && p.raised.has(&GEN_006);
        if answers_elsewhere
            && let Pairing::Answered(answer) = p.pairing
            && self.pending.len() < MAX_PENDING
        {
            self.pending.insert(answer.exchange, server);
        }
        let place = self.captures.files.place(p.datagram.frame);
        if let Some(port) = self.port(server, p.id) {
            port.packet(p);
            port.unsolicited += u64::from(matches!(p.pairing, Pairing::Unsolicited { .. }));
        }
        // Findings belong to the server that was asked, where it is wanted.
        let asked = if self.is_wanted(p.server()) { p.server() } else { server };
        if !p.findings.is_empty()
            && let Some(port) = self.port(asked, p.id)
        {
            port.add_findings(p.findings, place);
        }
        Ok(())
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let place = self.captures.files.place(e.request_frame);
        let other = if e.elsewhere { self.pending.remove(&e.id) } else { None };
        if let Some(port) = self.port(e.server, e.protocol) {
            port.exchange(e, findings, place);
            other.into_iter().for_each(|other| Port::note(&mut port.others, other));
        }
        if let Some(port) = other.and_then(|other| self.port(other, e.protocol)) {
            Port::note(&mut port.in_place_of, e.server);
        }
        Ok(())
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        if self.translations.len() < MAX_PORTS {
            self.translations.push((outer, inner));
        }
        if self.is_wanted(inner) && self.hosts.len() < MAX_HOSTS {
            self.hosts.insert(outer.host());
        }
        self.ports.values_mut().filter(|p| p.endpoint == outer).for_each(|p| p.inner = Some(inner));
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for SilentServer { frame, exchange: e, finding, .. } in servers {
            let place = self.captures.files.place(*frame);
            if let Some(port) = self.port(e.server, e.protocol) {
                port.findings.retain(|b| b.finding.provisional != Some(finding.rule));
                port.add_findings(&[*finding], place);
            }
        }
        Ok(())
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        for server in servers {
            let findings = self.ports.get_mut(server).into_iter().flat_map(|port| &mut port.findings);
            let depending = findings.filter(|b| b.finding.depends_on_past());
            depending.for_each(|b| b.finding.severity = Severity::Note);
        }
        Ok(())
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        for (frame, flood) in floods {
            let place = self.captures.files.place(*frame);
            let findings = self.ports.values_mut().flat_map(|port| &mut port.findings);
            let raised = findings.filter(|b| b.finding.rule == &GEN_014 && b.first == place);
            raised.for_each(|b| b.finding.abuse = Some(Abuse::Flood(*flood)));
        }
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.captures.begin(name, facts, before);
        Ok(())
    }
}
