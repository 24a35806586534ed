//! Applies a display filter in front of a report, which receives only the packets and exchanges that pass.

use super::recent_frames::{Missed, RecentFrames};
use super::{Candidate, Report, SilentServer, Totals, Wants};
use crate::bounded::Numbered;
use crate::capture::{self, Comments, Frame};
use crate::check::{Finding, Packet};
use crate::contract::Budget;
use crate::decode::AnyListener;
use crate::exchange::{Exchange, Pairing};
use crate::filter::{Filter, Needs, Pick, View};
use crate::net::{Datagram, DropReason, Endpoint};
use crate::protocols::Id;
use hashbrown::HashMap;
use std::io;

/// Maximum number of exchanges with packets that passed, remembered until they close; more than can be open.
const MAX_PASSED: usize = 262_144;

/// Maximum number of endpoints remembered as receivers of unclaimed datagrams; as many as can be candidates.
const MAX_RECEIVERS: usize = 4_096;

/// A report that forwards to another report what passes a filter: packets, unclaimed datagrams, and exchanges that pass
/// themselves or have a packet that passed.
pub struct Filtered<'r> {
    report: &'r mut dyn Report,
    wants: Wants,
    filter: Filter,
    needs: Needs,
    pick: Pick,
    secrets: bool,
    recent_frames: RecentFrames,
    /// Identifiers of exchanges with packets that passed.
    passed_exchanges: Numbered<(), MAX_PASSED>,
    /// Number of exchanges that did not pass, but may be among those that `passed_exchanges` forgot.
    uncertain_exchanges: u64,
    /// Counts of packets and exchanges that passed.
    totals: Totals,
    /// Number of unclaimed datagrams that passed, by receiver.
    unclaimed_by_receiver: HashMap<Endpoint, u64>,
}

impl<'r> Filtered<'r> {
    /// A filter in front of `report`. `secrets` allows the filter to read passwords, as in the options of the pipeline.
    pub fn new(filter: Filter, secrets: bool, report: &'r mut dyn Report) -> Self {
        let (needs, pick, wants) = (filter.needs(), Pick::new(&filter), report.wants());
        Filtered {
            report,
            wants,
            filter,
            needs,
            pick,
            secrets,
            recent_frames: RecentFrames::new(needs),
            passed_exchanges: Numbered::from(Budget::default()),
            uncertain_exchanges: 0,
            totals: Totals::default(),
            unclaimed_by_receiver: HashMap::new(),
        }
    }

    /// The totals of a run with the counts of packets and exchanges that passed. The counts of everything are in
    /// [`Totals::unfiltered`].
    pub fn narrow(&self, all: &Totals) -> Totals {
        let passed = self.totals.clone();
        let candidate = |c: &Candidate| {
            let datagrams = *self.unclaimed_by_receiver.get(&c.server)?;
            Some(Candidate { datagrams: c.datagrams.min(datagrams), ..*c })
        };
        Totals {
            packets: passed.packets,
            udp: passed.udp,
            recognised: passed.recognised,
            unclaimed: passed.unclaimed,
            not_datagrams: passed.not_datagrams, // none of them passes
            exchanges: passed.exchanges,
            answered: passed.answered,
            late: passed.late,
            unanswered: passed.unanswered,
            undecided: passed.undecided,
            refused: passed.refused,
            retransmissions: passed.retransmissions,
            findings: passed.findings,
            span: passed.span,
            candidates: all.candidates.iter().filter_map(candidate).collect(),
            unfiltered: Some(Box::new(all.clone())),
            ..all.clone()
        }
    }

    /// Counts of data that the filter needed, but that was not kept for want of room.
    pub fn missed(&self) -> Missed {
        Missed {
            frames: self.recent_frames.missed,
            values: self.pick.missed(),
            exchanges: self.uncertain_exchanges,
        }
    }

    fn passes_packet(&mut self, p: &Packet<'_>) -> bool {
        if self.needs.any(Needs::FIELDS) {
            self.pick.packet(p, self.secrets);
        }
        let view = View { picked: Some(&self.pick), ..View::of_packet(p) };
        let passes = self.recent_frames.with_frame(view, |view| self.filter.matches(view));
        // A duplicate response arrives after its exchange has closed.
        let is_duplicate = matches!(p.pairing, Pairing::DuplicateResponse { .. });
        if let Some(exchange) = p.pairing.exchange().filter(|_| passes && !is_duplicate) {
            self.passed_exchanges.insert(exchange, ());
        }
        passes
    }

    fn passes_exchange(&mut self, e: &Exchange, findings: &[Finding]) -> bool {
        // With a filter on datagrams, an exchange passes only because of its packets, unless the filter tests outcomes
        // or findings, which the exchange itself may have.
        let needs_exchange = Needs::OUTCOME.and(Needs::FINDINGS);
        let may_pass_itself = !self.needs.any(Needs::DATAGRAM) || self.needs.any(needs_exchange);
        let passes = self.passed_exchanges.get(e.id).is_some()
            || may_pass_itself && self.filter.matches(&View::of_exchange(e, findings));
        self.uncertain_exchanges += u64::from(!passes && self.passed_exchanges.may_have_forgotten(e.id));
        passes
    }

    /// Whether an unclaimed datagram passes. Counts it if it does.
    fn passes_unclaimed(&mut self, d: &Datagram<'_>) -> bool {
        let passes = self.recent_frames.with_frame(View::of_datagram(d), |view| self.filter.matches(view));
        if passes {
            self.count(d);
            self.totals.unclaimed += 1;
            if self.unclaimed_by_receiver.len() < MAX_RECEIVERS
                || self.unclaimed_by_receiver.contains_key(&d.dst)
            {
                *self.unclaimed_by_receiver.entry(d.dst).or_default() += 1;
            }
        }
        passes
    }

    /// Counts a datagram that passed.
    fn count(&mut self, d: &Datagram<'_>) {
        self.totals.add_frame(d.time);
        self.totals.udp += 1;
    }
}

impl Report for Filtered<'_> {
    fn listener(&self) -> AnyListener {
        self.report.listener()
    }

    fn inner(&mut self) -> Option<&mut dyn Report> {
        Some(self.report)
    }

    /// Requests frames, and exchanges after their packets, which decide whether they pass.
    fn wants(&self) -> Wants {
        Wants { packets_first: true, frames: true, count_unclaimed: true, ..self.wants }
    }

    fn comments(&mut self, comments: &Comments) {
        self.recent_frames.comments = comments.clone();
        self.report.comments(comments);
    }

    fn needs_frames(&self) -> bool {
        self.recent_frames.needs_frames() || self.report.needs_frames()
    }

    fn frame(&mut self, frame: &Frame<'_>, parsed: &Result<Datagram<'_>, DropReason>) {
        self.recent_frames.see(frame, parsed);
        // Forward frames that do not pass, too, because times are relative to the first or the previous frame.
        if self.wants.frames {
            self.report.frame(frame, parsed);
        }
    }

    fn packet(&mut self, p: &Packet<'_>) -> io::Result<()> {
        if self.passes_packet(p) {
            self.count(p.datagram);
            self.totals.recognised += 1;
            let server = (p.server_index, p.server(), p.id);
            let reported = p.findings.iter().filter(|finding| !finding.repeated);
            reported.for_each(|finding| self.totals.add_finding(server, finding));
            return self.report.packet(p);
        }
        self.report.packet_left_out(p);
        Ok(())
    }

    fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.passes_unclaimed(d) {
            return self.report.unclaimed(d);
        }
        self.report.frame_left_out(d.frame);
        Ok(())
    }

    fn count_unclaimed(&mut self, d: &Datagram<'_>) {
        if self.passes_unclaimed(d) {
            self.report.count_unclaimed(d);
        }
    }

    fn exchange(&mut self, e: &Exchange, findings: &[Finding]) -> io::Result<()> {
        if !self.passes_exchange(e, findings) {
            return Ok(());
        }
        self.totals.add_exchange(e);
        self.totals.add_findings(e, findings);
        self.report.exchange(e, findings)
    }

    fn file(&mut self, name: &str, facts: &capture::CaptureInfo, before: u64) -> io::Result<()> {
        self.recent_frames.begin(name, facts, before);
        self.report.file(name, facts, before)
    }

    fn silent_servers(&mut self, servers: &[SilentServer]) -> io::Result<()> {
        let passes = |s: &&SilentServer| self.passes_exchange(&s.exchange, std::slice::from_ref(&s.finding));
        let passed: Vec<_> = servers.iter().filter(passes).cloned().collect();
        self.totals.add_silent_servers(&passed);
        self.report.silent_servers(&passed)
    }

    fn one_sided(&mut self, servers: &[(Endpoint, Id)]) -> io::Result<()> {
        self.totals.add_one_sided(servers, self.wants.silent_servers);
        self.report.one_sided(servers)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        self.report.finish(&self.narrow(totals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Time;
    use crate::net::{Endpoint, OwnedFrame, parse};
    use crate::protocols::Id;
    use crate::report::Exchanges;

    fn exchange(id: u64) -> Exchange {
        Exchange::unanswered(id, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 1); 2])
    }

    #[test]
    fn receivers_beyond_the_limit_are_no_candidates() {
        let filter = Filter::parse("udp.srcport == 9").expect("a filter");
        let mut report = Exchanges::new(io::sink(), false, true, false);
        let mut filtered = Filtered::new(filter, false, &mut report);
        let server = |port| Endpoint::v4([192, 0, 2, 1], port);
        let mut ask = |port| {
            let frame = OwnedFrame::udp(Time::UNKNOWN, server(9), server(port), b"x", 0);
            assert!(filtered.passes_unclaimed(&parse(&frame.frame(1)).expect("it is a datagram")));
        };
        (0..MAX_RECEIVERS as u16 + 1).for_each(|n| ask(10_000 + n));
        ask(10_000);
        let last = 10_000 + MAX_RECEIVERS as u16;
        let candidate = |port, datagrams| {
            let (server, protocol) = (server(port), Id::Sqp);
            Candidate { server, protocol, datagrams, refused: 0, undecided: 0 }
        };
        let candidates = vec![candidate(10_000, 8), candidate(last, 3), candidate(last - 1, 3)];
        let all = Totals { candidates, packets: 10_000, ..Totals::default() };
        let narrow = filtered.narrow(&all);
        assert_eq!(narrow.candidates, [candidate(10_000, 2), candidate(last - 1, 1)]);
        assert_eq!((narrow.packets, narrow.all().packets), (MAX_RECEIVERS as u64 + 2, 10_000));
        assert_eq!(narrow.part("packet", |t| t.packets), "4,098 of 10,000 packets");
    }

    #[test]
    fn forgets_the_oldest_exchanges_that_passed_and_counts_uncertain_ones() {
        let filter = Filter::parse("udp.srcport == 9").expect("a filter");
        let mut report = Exchanges::new(io::sink(), false, true, false);
        let mut filtered = Filtered::new(filter, false, &mut report);
        let max = 262_144;
        (1..=max).for_each(|id| filtered.passed_exchanges.insert(2 * id, ()));
        assert!(filtered.passes_exchange(&exchange(2), &[]) && !filtered.passes_exchange(&exchange(3), &[]));
        assert_eq!(filtered.uncertain_exchanges, 0);
        filtered.passed_exchanges.insert(2 * max, ());
        assert!(filtered.passes_exchange(&exchange(2), &[]), "that one is known");
        filtered.passed_exchanges.insert(2 * max + 2, ());
        assert!(!filtered.passes_exchange(&exchange(2), &[]) && filtered.passes_exchange(&exchange(4), &[]));
        assert!(!filtered.passes_exchange(&exchange(3), &[]), "this one never passed, and comes behind");
        assert_eq!(filtered.missed(), Missed { exchanges: 1, ..Missed::default() });
    }
}
