//! The end of the way: what is known of a datagram or an exchange is decoded, judged and reported.

use super::blame::{self, Blame};
use super::silence::Silences;
use super::{Options, Pipeline};
use crate::check::{GEN_003, GEN_008, Raised};
use crate::classify::Verdict;
use crate::conversation::Slot;
use crate::decode::Listener;
use crate::exchange::{Exchange, Outcome, Pairing};
use crate::net::Datagram;
use crate::protocols::{Context, Direction, Level, Role};
use crate::report::{Packet, Report, Totals};
use std::io;

/// Everything known of a datagram when it is reported.
pub(super) struct Told<'a> {
    pub verdict: &'a Verdict,
    pub pairing: &'a Pairing,
    pub raised: &'a Raised,
    /// Its request may stand before the capture.
    pub edge: bool,
    pub server_index: u32,
    pub slot: Slot,
}

impl Told<'_> {
    /// The capture holds it twice; what it breaks is said of the first.
    pub fn is_copy(&self) -> bool {
        !self.raised.is_empty() && self.raised.has(&GEN_008)
    }
}

impl<R: Report> Pipeline<R> {
    pub(super) fn unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if R::ORDERED && self.options.all && !self.room.is_empty() {
            return self.wait(d, None);
        }
        self.deliver_unclaimed(d)
    }

    pub(super) fn deliver_unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.totals.unclaimed += 1;
        if self.options.all { self.report.unclaimed(d) } else { Ok(()) }
    }

    /// Whether a conversation has shown what it is.
    #[inline]
    pub(super) fn confirmed(&self, slot: Slot) -> bool {
        self.table.conversations.get(slot).is_some_and(|c| c.level >= Level::Medium)
    }

    /// Reports a datagram of one of the protocols, whose conversation is so sure.
    pub(super) fn deliver(&mut self, d: &Datagram<'_>, sure: Level, told: Told<'_>) -> io::Result<()> {
        let v = told.verdict;
        let level = match v.glance.role {
            Role::Stray => v.glance.level.max(sure.min(Level::Medium)),
            _ => v.glance.level.max(sure),
        };
        let doubtful = !told.raised.is_empty() && told.raised.has(&GEN_003);
        let level = if doubtful { level.min(Level::Medium) } else { level };
        if level == Level::Hint || level < self.options.min_confidence {
            return self.deliver_unclaimed(d);
        }
        self.totals.recognised += 1;
        let (message, direction) = (v.glance.message, v.direction);
        let asked = told.pairing.asked();
        self.sink.begin();
        let (missing, secrets) = (d.cut as usize, self.options.secrets);
        let continues = told.pairing.continues();
        let cx = Context { message, direction, asked, missing, continues, secrets };
        let mut decoded = Ok(None);
        v.id.tell(d.payload, &cx, &mut self.sink, &mut decoded);
        self.sink.end();
        let (mut findings, mut more_findings) = (&[][..], 0);
        if !(self.sink.notes().heard().is_empty() && told.raised.is_empty()) {
            self.findings.clear();
            more_findings = self.sink.notes().more();
            if more_findings > 0 && told.is_copy() {
                more_findings = 0;
            }
            if R::SILENCE && direction == Direction::S2c {
                self.silences.heard();
            }
            if self.has_news(&told) {
                // What a request breaks is laid to its own exchange.
                let open = (direction == Direction::S2c).then(|| self.table.oldest_open(told.slot)).flatten();
                let rules = (&self.options.policy, &mut self.memory.servers, R::EVERY);
                self.blame.judge(&mut self.findings, d, &told, &self.sink, rules, open);
                self.findings.iter().for_each(|f| self.totals.findings.see(f));
            } else if direction == Direction::C2s {
                self.blame.remarked(d, &told, &self.sink);
            }
            findings = &self.findings;
        }
        self.report.packet(&Packet {
            datagram: d,
            id: v.id,
            message,
            step: v.glance.step,
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

    /// Whether a rule is broken of which not everything has been said.
    #[inline]
    fn has_news(&self, told: &Told<'_>) -> bool {
        let servers = &self.memory.servers;
        let news = |rule| R::EVERY || !servers.knows(told.server_index, rule);
        let mut heard = self.sink.notes().heard().iter().map(|violation| violation.rule);
        heard.any(news) || told.raised.rules().any(news)
    }

    #[inline(always)]
    pub(super) fn deliver_closed(&mut self) -> io::Result<()> {
        while let Some(e) = self.table.front_closed() {
            let judges = (&self.blame, &mut self.silences);
            deliver_exchange(e, &self.options, judges, &mut self.totals, &mut self.report)?;
            self.table.drop_closed();
        }
        Ok(())
    }
}

#[inline]
pub(super) fn deliver_exchange<R: Report>(
    e: &Exchange,
    options: &Options,
    (blame, silences): (&Blame, &mut Silences),
    totals: &mut Totals,
    report: &mut R,
) -> io::Result<()> {
    if e.level <= Level::Low {
        if R::SILENCE && e.level == Level::Low {
            silences.candidate(e);
        }
        if e.level == Level::Hint || options.min_confidence > Level::Low {
            return Ok(());
        }
    }
    if e.level < options.min_confidence {
        return Ok(());
    }
    totals.exchange(e);
    let silence = match e.outcome {
        Outcome::Answered | Outcome::Late => {
            if R::SILENCE {
                silences.answered(e.server_index);
            }
            return report.exchange(e, &[]);
        }
        Outcome::Unanswered => {
            totals.memory_forgotten += u64::from(blame.may_have_forgotten(e));
            blame.silence(e, &options.policy)
        }
        Outcome::Refused => blame::refusal(&options.policy),
        Outcome::Undecided => None,
    };
    silence.iter().for_each(|f| totals.findings.see(f));
    if R::SILENCE {
        silences.unanswered(e, silence.as_ref());
    }
    report.exchange(e, silence.as_slice())
}
