//! The last stage: decodes, judges and reports datagrams and exchanges.

use super::Pipeline;
use super::attribution::Attribution;
use super::options::Options;
use super::pending::Claimed;
use super::silence::Silences;
use crate::conversation::Slot;
use crate::decode::{AnyListener, Listener, Violation};
use crate::exchange::{Exchange, Outcome};
use crate::general::GEN_003;
use crate::net::Datagram;
use crate::packet::Packet;
use crate::protocols::{Context, Decoded, Direction, Level, Role};
use crate::report::{Report, Totals};
use std::io;

impl Pipeline<'_> {
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
        let secrets = self.options.secrets;
        let (asked, continues) = (told.pairing.asked(), told.pairing.continues());
        let (bytes, missing, layout) =
            (told.bytes(d), told.missing(d), told.piece.map(|piece| piece.split.layout));
        let cx = Context { message, direction, asked, missing, continues, layout, secrets };
        let mut decoded = Decoded::default();
        let breaks = match &mut self.listener {
            AnyListener::Notes(listener) => decode(&told, bytes, &cx, listener, &mut decoded),
            AnyListener::Coverage(listener) => decode(&told, bytes, &cx, listener, &mut decoded),
            AnyListener::Tree(listener) => decode(&told, bytes, &cx, listener, &mut decoded),
            AnyListener::Json(listener) => decode(&told, bytes, &cx, listener, &mut decoded),
        };
        let (mut findings, mut more_findings) = (&[][..], 0);
        if breaks || !told.raised.is_empty() {
            self.findings.clear();
            let notes = self.listener.notes();
            more_findings = notes.more();
            if more_findings > 0 && told.is_copy() {
                more_findings = 0;
            }
            if self.has_news(&told, notes.heard()) {
                let awaited = self.table.awaited(told.slot, d, v, told.pairing);
                let rules = (&self.options.policy, &mut self.classifier.servers, self.wants.every);
                self.attribution.judge(&mut self.findings, d, &told, notes.heard(), rules, awaited);
                self.count_findings(&told);
            } else if direction == Direction::C2s {
                self.attribution.remarked(d, &told, notes.heard());
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
            server_index: told.verdict.server_index,
            pairing: told.pairing,
            raised: told.raised,
            decoded: &decoded,
            listener: &self.listener,
            findings,
            more_findings,
        })
    }

    /// Counts the findings of a datagram in the totals: a remark once for each server, even if the report wants every one.
    #[cold]
    fn count_findings(&mut self, told: &Claimed<'_>) {
        let (servers, id, every) = (&mut self.classifier.servers, told.verdict.id, self.wants.every);
        for f in &mut self.findings {
            let remark = every && f.rule.per_server && f.counts();
            f.repeated = remark && !servers.mark_reported(told.verdict.server_index, id, f.rule);
            if !f.repeated {
                self.totals.findings.add_finding(f);
            }
        }
    }

    /// Whether any of the broken rules still has to be reported for this server.
    #[inline]
    fn has_news(&self, told: &Claimed<'_>, heard: &[Violation]) -> bool {
        let servers = &self.classifier.servers;
        let news = |rule| {
            self.wants.every || !servers.has_reported(told.verdict.server_index, told.verdict.id, rule)
        };
        heard.iter().any(|violation| news(violation.rule)) || told.raised.rules().any(news)
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

/// Decodes a message and reports it to the listener; returns whether it breaks a rule.
#[inline(always)]
fn decode<'a>(
    told: &Claimed<'_>,
    bytes: &'a [u8],
    cx: &Context,
    listener: &mut impl Listener,
    decoded: &mut Decoded<'a>,
) -> bool {
    let id = told.verdict.id;
    listener.begin();
    if let Some(piece) = told.piece {
        piece.tell(id.info(), listener);
    }
    id.dissect_to(bytes, cx, listener, decoded);
    listener.end();
    !listener.notes().heard().is_empty()
}

#[inline]
pub(super) fn deliver_exchange(
    e: &Exchange,
    options: &Options,
    (attribution, silences, silence_wanted): (&Attribution, &mut Silences, bool),
    totals: &mut Totals,
    report: &mut dyn Report,
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
    let answered = matches!(e.outcome, Outcome::Answered | Outcome::Late);
    if e.level < options.min_confidence || e.hidden && !answered {
        return Ok(());
    }
    totals.exchange(e);
    if answered && silence_wanted {
        silences.answered(e);
    }
    if answered && e.incomplete.is_none() {
        return report.exchange(e, &[]);
    }
    let mut finding = attribution.finding(e, &options.policy, totals);
    if !answered && silence_wanted && !e.server.is_group() {
        let silent = silences.unanswered(e);
        finding.iter_mut().for_each(|finding| finding.provisional = silent);
    }
    totals.found(e, finding.as_slice());
    report.exchange(e, finding.as_slice())
}
