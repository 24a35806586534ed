//! The last stage: decodes, judges and reports datagrams and exchanges.

use super::Pipeline;
use super::attribution::Attribution;
use super::options::Options;
use super::pending::Claimed;
use super::silence::Silences;
use crate::conversation::Slot;
use crate::decode::Listener;
use crate::exchange::{Exchange, Outcome};
use crate::general::GEN_003;
use crate::net::Datagram;
use crate::packet::Packet;
use crate::protocols::{Context, Decoded, Direction, Level, Role};
use crate::report::{Report, Totals};
use std::io;

impl<S: Listener> Pipeline<'_, S> {
    pub(super) fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.wants.ordered && self.options.all && !self.pending.is_empty() {
            return self.wait(d, None);
        }
        self.deliver_unclaimed(d)
    }

    pub(super) fn deliver_unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.totals.unclaimed += 1;
        if self.options.all {
            return self.report.unclaimed(d);
        }
        if self.wants.foreign {
            self.report.foreign(d);
        }
        Ok(())
    }

    /// Whether a conversation is confirmed, that is, of medium confidence at least.
    #[inline]
    pub(super) fn confirmed(&self, slot: Slot) -> bool {
        self.table.conversations.get(slot).is_some_and(|c| c.level >= Level::Medium)
    }

    /// Reports a datagram of one of the protocols; `sure` is the confidence of its conversation.
    pub(super) fn deliver(&mut self, d: &Datagram<'_>, sure: Level, told: Claimed<'_>) -> io::Result<()> {
        let v = told.verdict;
        let level = match v.probe.role {
            Role::Stray => v.probe.level.max(sure.min(Level::Medium)),
            _ => v.probe.level.max(sure),
        };
        let doubtful = !told.raised.is_empty() && told.raised.has(&GEN_003);
        let level = if doubtful { level.min(Level::Medium) } else { level };
        if level == Level::Hint || level < self.options.min_confidence {
            self.table.hide(told.slot, told.pairing);
            self.totals.by_servers += u64::from(level > Level::Hint && v.direction == Direction::S2c);
            return self.deliver_unclaimed(d);
        }
        self.totals.recognised += 1;
        let (message, direction) = (v.probe.message, v.direction);
        self.totals.by_servers += u64::from(direction == Direction::S2c);
        self.sink.begin();
        let secrets = self.options.secrets;
        let (asked, continues) = (told.pairing.asked(), told.pairing.continues());
        let (bytes, missing, layout) =
            (told.bytes(d), told.missing(d), told.piece.map(|piece| piece.split.layout));
        let cx = Context { message, direction, asked, missing, continues, layout, secrets };
        if let Some(piece) = told.piece {
            piece.tell(v.id.info(), &mut self.sink);
        }
        let mut decoded = Decoded::default();
        v.id.dissect_to(bytes, &cx, &mut self.sink, &mut decoded);
        self.sink.end();
        let (mut findings, mut more_findings) = (&[][..], 0);
        if !(self.sink.notes().heard().is_empty() && told.raised.is_empty()) {
            self.findings.clear();
            more_findings = self.sink.notes().more();
            if more_findings > 0 && told.is_copy() {
                more_findings = 0;
            }
            if self.has_news(&told) {
                let awaited = self.table.awaited(told.slot, d, v, told.pairing);
                let rules = (&self.options.policy, &mut self.memory.servers, self.wants.every);
                self.attribution.judge(&mut self.findings, d, &told, &self.sink, rules, awaited);
                self.count_findings(&told);
            } else if direction == Direction::C2s {
                self.attribution.remarked(d, &told, &self.sink);
            }
            findings = &self.findings;
        }
        if direction == Direction::C2s && self.attribution.has_broken_answers() {
            self.attribution.asked(d, &told);
        }
        self.report.packet(&Packet {
            datagram: d,
            bytes,
            piece: told.piece,
            id: v.id,
            message,
            step: v.probe.step,
            direction,
            level,
            server_index: told.server_index,
            pairing: told.pairing,
            raised: told.raised,
            decoded: &decoded,
            sink: &self.sink,
            findings,
            more_findings,
        })
    }

    /// Counts the findings of a datagram in the totals: a remark once for each server, even if the report wants every one.
    #[cold]
    fn count_findings(&mut self, told: &Claimed<'_>) {
        let (servers, id, every) = (&mut self.memory.servers, told.verdict.id, self.wants.every);
        for f in &self.findings {
            let again = every && f.rule.per_server && f.counts();
            if !again || servers.first_time(told.server_index, id, f.rule) {
                self.totals.findings.see(f);
            }
        }
    }

    /// Whether any of the broken rules still has to be reported for this server.
    #[inline]
    fn has_news(&self, told: &Claimed<'_>) -> bool {
        let servers = &self.memory.servers;
        let news = |rule| self.wants.every || !servers.knows(told.server_index, told.verdict.id, rule);
        let mut heard = self.sink.notes().heard().iter().map(|violation| violation.rule);
        heard.any(news) || told.raised.rules().any(news)
    }

    #[inline(always)]
    pub(super) fn deliver_closed(&mut self) -> io::Result<()> {
        while self.deliver_front()? {}
        Ok(())
    }

    /// Reports the exchange that closed first; `false` where there is none.
    #[inline(always)]
    pub(super) fn deliver_front(&mut self) -> io::Result<bool> {
        let Some(e) = self.table.front_closed() else { return Ok(false) };
        let judges = (&self.attribution, &mut self.silences, self.wants.silence);
        deliver_exchange(e, &self.options, judges, &mut self.totals, self.report)?;
        self.table.drop_closed();
        Ok(true)
    }
}

#[inline]
pub(super) fn deliver_exchange<S: Listener>(
    e: &Exchange,
    options: &Options,
    (attribution, silences, silence_wanted): (&Attribution, &mut Silences, bool),
    totals: &mut Totals,
    report: &mut dyn Report<Sink = S>,
) -> io::Result<()> {
    if e.assumed {
        return Ok(());
    }
    if e.level <= Level::Low {
        if silence_wanted && e.level == Level::Low {
            silences.candidate(e);
        }
        if e.level == Level::Hint || options.min_confidence > Level::Low {
            return Ok(());
        }
    }
    if e.level < options.min_confidence || e.hidden {
        return Ok(());
    }
    totals.exchange(e);
    let answered = matches!(e.outcome, Outcome::Answered | Outcome::Late);
    if answered && silence_wanted {
        silences.answered(e);
    }
    if answered && e.incomplete.is_none() {
        return report.exchange(e, &[]);
    }
    let finding = attribution.finding(e, &options.policy, totals);
    if !answered && silence_wanted && !e.server.is_group() {
        silences.unanswered(e, finding.as_ref());
    }
    report.exchange(e, finding.as_slice())
}
