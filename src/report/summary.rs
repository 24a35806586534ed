//! Collects the data of the summary: servers, response times, findings by rule.

use super::server::{Broken, Server};
use super::server_counters::HotCounters;
use super::server_record::ServerRecord;
use super::{CaptureRecord, Captures, Output, Report, SilentServer, Totals, UnclaimedTraffic, Wants};
use crate::capture::CaptureInfo;
use crate::check::{Agreements, Finding, Packet};
use crate::contract::Flood;
use crate::conversation::NONE;
use crate::exchange::{Exchange, Outcome, Pairing};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id};
use crate::rule::general::{GEN_009, GEN_011};
use std::io::{self, Write};

/// Most translated addresses whose inner ones are shown.
pub const MAX_TRANSLATIONS: usize = 256;
/// Maximum number of records of endpoints with unclaimed datagrams; the busiest come first.
pub(crate) const MAX_UNCLAIMED: usize = 200;

/// Collects the data of the summary. Its memory is bounded by the table of servers and the number of rules.
#[derive(Debug, Default)]
pub struct Summary {
    /// Servers, by the pipeline's server index.
    pub servers: Vec<Option<Server>>,
    /// Broken rules, in the order in which they were first broken.
    pub broken: Vec<Broken>,
    /// Files in the order read.
    pub captures: Captures,
    /// Number of exchanges with servers that are not in the table.
    pub untracked: u64,
    /// Whether a capture contains requests to servers but no answers.
    pub one_way: bool,
    /// Traffic that no protocol claims, by endpoint.
    pub unclaimed: UnclaimedTraffic,
    /// Number of floods of unproven addresses, and the largest.
    pub floods: (u64, Option<Flood>),
    /// What explains the broken messages of servers.
    pub agreements: Agreements,
    hot_counters: HotCounters,
    /// Number of servers, the first ones, whose broken rules are kept apart.
    with_rules: usize,
    /// Addresses that hosts translate, and those behind them.
    translations: Vec<(Endpoint, Endpoint)>,
}

impl Summary {
    /// Keeps the broken rules of the first so many servers apart as well.
    pub(super) fn with_rules_of(servers: usize) -> Summary {
        Summary { with_rules: servers, ..Summary::default() }
    }

    #[inline(always)]
    pub(super) fn server(&mut self, index: u32) -> Option<&mut Server> {
        self.servers.get_mut(index as usize)?.as_mut()
    }

    /// Adds a server, if it is new and in the pipeline's table.
    #[inline(always)]
    pub(super) fn begin_server(&mut self, index: u32, server: impl FnOnce() -> (Endpoint, Id)) {
        if !self.hot_counters.has(index) {
            self.begin_new_server(index, server());
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_new_server(&mut self, index: u32, (endpoint, id): (Endpoint, Id)) {
        if index == NONE {
            return;
        }
        let at = index as usize;
        if at >= self.servers.len() {
            self.servers.resize_with(at + 1, || None);
        }
        let mut server = Server::new(endpoint, id);
        server.inner =
            self.translations.iter().find(|(outer, _)| *outer == endpoint).map(|(_, inner)| *inner);
        self.servers[at] = Some(server);
        self.hot_counters.begin(at);
    }

    /// Adds the facts and findings of a packet.
    #[inline(never)]
    fn add_packet(&mut self, p: &Packet<'_>) {
        let by_server = p.direction == Direction::S2c;
        self.begin_server(p.server_index, || (p.server(), p.id));
        if !p.findings.is_empty() {
            self.count_findings(p.server_index, p.findings, p.datagram.frame);
        }
        if by_server
            && let Some(facts) = p.facts()
            && !matches!(p.pairing, Pairing::DuplicateResponse { .. } | Pairing::DuplicateFrame { .. })
            && self.hot_counters.update_facts(p.server_index, facts)
            && let Some(server) = self.server(p.server_index)
        {
            server.facts.update(facts);
        }
    }

    /// Counts an exchange that was not answered in time, has findings, or has not been counted yet because its server
    /// is new.
    #[cold]
    #[inline(never)]
    fn count_rare(&mut self, e: &Exchange, findings: &[Finding], is_counted: bool) {
        self.begin_server(e.server_index, || (e.server, e.protocol));
        self.count_findings(e.server_index, findings, e.request_frame);
        if !is_counted && !self.hot_counters.count(e, &mut self.servers) {
            self.untracked += 1;
            return;
        }
        let Some(server) = self.server(e.server_index) else { return };
        match e.outcome {
            Outcome::Answered => {}
            Outcome::Late => server.late += 1,
            Outcome::Unanswered => server.unanswered += 1,
            Outcome::Undecided => server.undecided += 1,
            Outcome::Refused => server.refused += 1,
        }
    }

    /// Counts findings for their server, if it is in the table, and by rule.
    #[inline(never)]
    fn count_findings(&mut self, server: u32, findings: &[Finding], frame: u64) {
        let first = self.captures.files.place(frame);
        let keeps_rules = (server as usize) < self.with_rules;
        let mut server = self.servers.get_mut(server as usize).and_then(Option::as_mut);
        for f in findings.iter().filter(|f| f.counts()) {
            let list = match &mut server {
                Some(server) if f.provisional == Some(&GEN_009) => &mut server.silent,
                Some(server) if f.provisional.is_some() => &mut server.challenging,
                _ => &mut self.broken,
            };
            Broken::of(list, f.rule, first).counts.add_finding(f);
            if let (Some(server), true, None) = (&mut server, keeps_rules, f.provisional) {
                Broken::of(&mut server.broken, f.rule, first).counts.add_finding(f);
            }
            if let (Some(server), true) = (&mut server, f.depends_on_past()) {
                Broken::of(&mut server.past_dependent, f.rule, first).counts.add_finding(f);
            }
            server.iter_mut().for_each(|server| server.findings.add_finding(f));
        }
    }

    /// Moves all counters to their servers.
    pub(super) fn flush(&mut self) {
        (0..self.servers.len()).for_each(|at| self.hot_counters.flush(at, &mut self.servers));
    }

    /// All servers in the order of recognition.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().flatten()
    }
}

impl Report for Summary {
    fn wants(&self) -> Wants {
        Wants { silent_servers: true, count_unclaimed: true, diagnosis: true, ..Wants::default() }
    }

    #[inline]
    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        self.agreements.note(p);
        // Nearly all requests add nothing.
        if p.direction == Direction::S2c || !p.findings.is_empty() || !self.hot_counters.has(p.server_index) {
            self.add_packet(p);
        }
        Ok(())
    }

    fn translated(&mut self, outer: Endpoint, inner: Endpoint) {
        let room = self.translations.len() < MAX_TRANSLATIONS;
        match self.translations.iter_mut().find(|(known, _)| *known == outer) {
            Some((_, latest)) => *latest = inner,
            None if room => self.translations.push((outer, inner)),
            None => return,
        }
        let servers = self.servers.iter_mut().flatten();
        servers.filter(|server| server.endpoint == outer).for_each(|server| server.inner = Some(inner));
    }

    fn count_unclaimed(&mut self, d: &Datagram<'_>) {
        self.unclaimed.add(d);
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        let is_counted = self.hot_counters.count(e, &mut self.servers);
        if !is_counted || e.outcome != Outcome::Answered || !findings.is_empty() {
            self.count_rare(e, findings, is_counted);
        }
        Ok(())
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        for SilentServer { frame, exchange: e, finding, .. } in servers {
            self.one_way |= finding.silence.is_some_and(|silence| silence.is_one_way());
            self.begin_server(e.server_index, || (e.server, e.protocol));
            self.count_findings(e.server_index, &[*finding], *frame);
            let only_challenges = finding.rule == &GEN_011;
            if let Some(server) = self.server(e.server_index) {
                let symptoms = if only_challenges { &mut server.challenging } else { &mut server.silent };
                let counts: Vec<_> = symptoms.drain(..).map(|symptoms| symptoms.counts).collect();
                counts.iter().for_each(|counts| server.findings.take_back(counts));
            }
        }
        // No silent server is the cause of the remaining ones.
        for (at, server) in self.servers.iter_mut().enumerate() {
            let Some(server) = server else { continue };
            let symptoms = [&mut server.silent, &mut server.challenging].map(std::mem::take);
            for Broken { rule, counts, first } in symptoms.into_iter().flatten() {
                let own = (at < self.with_rules).then_some(&mut server.broken);
                for list in [&mut self.broken].into_iter().chain(own) {
                    let broken = Broken::of(list, rule, first);
                    broken.counts.merge(&counts);
                    broken.first = broken.first.min(first);
                }
            }
        }
        Ok(())
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        for (at, server) in self.servers.iter_mut().enumerate() {
            let Some(server) = server else { continue };
            if server.past_dependent.is_empty() {
                continue;
            }
            let is_one_sided = servers.contains(&(server.endpoint, server.id));
            for Broken { rule, counts, first } in server.past_dependent.drain(..).filter(|_| is_one_sided) {
                server.findings.demote(&counts);
                let own = (at < self.with_rules).then_some(&mut server.broken);
                for list in [&mut self.broken].into_iter().chain(own) {
                    Broken::of(list, rule, first).counts.demote(&counts);
                }
            }
        }
        Ok(())
    }

    fn floods(&mut self, floods: &[(u64, Flood)]) -> io::Result<()> {
        self.floods.0 += floods.len() as u64;
        let all = floods.iter().map(|(_, flood)| *flood).chain(self.floods.1);
        self.floods.1 = all.max_by_key(|flood| flood.answers);
        Ok(())
    }

    fn finish(&mut self, _totals: &Totals) -> io::Result<()> {
        self.flush();
        Ok(())
    }

    fn file(&mut self, name: &str, facts: &CaptureInfo, before: u64) -> io::Result<()> {
        self.captures.begin(name, facts, before);
        Ok(())
    }
}

/// Writes the summary as records: captures, servers, the busiest unclaimed endpoints, broken rules, totals.
///
/// # Errors
/// When they cannot be written.
pub fn records<W: Write>(out: &mut Output<W>, summary: &Summary, totals: &Totals) -> io::Result<()> {
    summary.captures.list.iter().try_for_each(|(name, facts)| out.value(&CaptureRecord::new(name, facts)))?;
    summary.servers().try_for_each(|s| out.value(&ServerRecord::new(s)))?;
    let busiest = summary.unclaimed.busiest();
    busiest.iter().take(MAX_UNCLAIMED).try_for_each(|busy| out.value(&busy.record()))?;
    summary.broken.iter().try_for_each(|broken| out.value(&broken.record(&summary.captures)))?;
    out.value(&totals.record())?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_addresses_are_shown_within_limits() {
        let mut summary = Summary::default();
        let end = |n: usize| Endpoint::v4([10, 0, (n >> 8) as u8, n as u8], 7777);
        for n in 0..MAX_TRANSLATIONS + 3 {
            summary.translated(end(n), end(0));
        }
        assert_eq!(summary.translations.len(), MAX_TRANSLATIONS);
        summary.translated(end(1), end(2));
        assert_eq!(summary.translations[1], (end(1), end(2)), "the latest");
    }
}
