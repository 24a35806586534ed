//! The last stage: decodes, judges and reports datagrams and exchanges.

use super::Pipeline;
use super::attribution::Attribution;
use super::claim::ClaimRef;
use super::options::Options;
use super::silence::Silences;
use crate::check::{Message, Packet};
use crate::classify::Verdict;
use crate::conversation::Slot;
use crate::decode::{AnyListener, Listener, Violation};
use crate::diagnosis::{self, Case, Examined};
use crate::exchange::{Exchange, Outcome, Pairing};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Context, Decoded, Direction, Level, Role};
use crate::report::{Report, Totals};
use crate::rule::general::{GEN_003, GEN_011};
use std::io;

impl Pipeline<'_> {
    pub(super) fn process_unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        if self.wants.ordered && self.options.all && !self.pending.is_empty() {
            return self.push_pending(d, None);
        }
        self.deliver_unclaimed(d)
    }

    pub(super) fn deliver_unclaimed(&mut self, d: &Datagram<'_>) -> io::Result<()> {
        self.totals.unclaimed += 1;
        if self.options.all {
            return self.report.unclaimed(d);
        }
        if self.wants.count_unclaimed {
            self.report.count_unclaimed(d);
        }
        Ok(())
    }

    /// Whether a conversation is confirmed, that is, of medium confidence at least.
    #[inline]
    pub(super) fn is_confirmed(&self, slot: Slot) -> bool {
        self.table.conversations.get(slot).is_some_and(|c| c.level >= Level::Medium)
    }

    /// Reports a datagram of one of the protocols; `conversation_level` is the confidence of its conversation.
    pub(super) fn deliver(
        &mut self,
        d: &Datagram<'_>,
        conversation_level: Level,
        claim: ClaimRef<'_>,
    ) -> io::Result<()> {
        let v = claim.verdict;
        let level = match v.probe.role {
            Role::Stray => v.probe.level.max(conversation_level.min(Level::Medium)),
            // It belongs to nobody where its conversation is not certain, or its request was an answer instead.
            Role::Unreadable if conversation_level < Level::Medium || *claim.pairing == Pairing::Nothing => {
                Level::Hint
            }
            _ => v.probe.level.max(conversation_level),
        };
        let is_damaged = !claim.raised.is_empty() && claim.raised.has(&GEN_003);
        let level = if is_damaged { level.min(Level::Medium) } else { level };
        if level == Level::Hint || level < self.options.min_confidence {
            self.table.hide(claim.slot, claim.pairing);
            self.totals.by_servers += u64::from(level > Level::Hint && v.direction == Direction::S2c);
            return self.deliver_unclaimed(d);
        }
        self.totals.recognised += 1;
        let (message, direction) = (v.probe.message, v.direction);
        self.totals.by_servers += u64::from(direction == Direction::S2c);
        let secrets = self.options.secrets;
        let (asked, continues) = (claim.pairing.asked(), claim.pairing.continues());
        let (bytes, missing, layout) =
            (claim.bytes(d), claim.missing(d), claim.piece.map(|piece| piece.split.layout));
        let cx = Context { message, direction, asked, missing, continues, layout, secrets };
        let mut decoded = Decoded::default();
        let breaks_rule = match &mut self.listener {
            AnyListener::Notes(listener) => decode(&claim, bytes, &cx, listener, &mut decoded),
            AnyListener::Coverage(listener) => decode(&claim, bytes, &cx, listener, &mut decoded),
            AnyListener::Tree(listener) => decode(&claim, bytes, &cx, listener, &mut decoded),
            AnyListener::Json(listener) => decode(&claim, bytes, &cx, listener, &mut decoded),
        };
        let (mut findings, mut more_findings) = (&[][..], 0);
        let may_be_examined = || breaks_rule || message == v.id.info().unknown() || is_suspicious(&claim);
        let examined = match self.wants.diagnosis && may_be_examined() {
            true => self.examine(d, &claim, bytes, cx),
            false => Examined::Clean,
        };
        if breaks_rule || !claim.raised.is_empty() {
            self.findings.clear();
            let notes = self.listener.notes();
            more_findings = notes.more();
            if more_findings > 0 && claim.is_copy() {
                more_findings = 0;
            }
            if self.has_unreported(&claim, notes.violations()) {
                let awaited = claim.awaited.filter(|_| claim.pairing.exchange().is_none());
                let awaited = awaited.or_else(|| self.table.awaited(claim.slot, d, v, claim.pairing));
                let rules = (&self.options.policy, &mut self.classifier.servers, self.wants.repeat_remarks);
                self.attribution.judge(&mut self.findings, d, &claim, notes.violations(), rules, awaited);
                self.count_findings(d, &claim);
            } else if direction == Direction::C2s {
                self.attribution.note_request_causes(d, &claim, notes.violations());
            }
            findings = &self.findings;
        }
        if direction == Direction::C2s && self.attribution.has_broken_answers() {
            self.attribution.note_request(d, &claim);
        }
        let may_differ = match claim.pairing {
            Pairing::Answered(answer) => answer.elsewhere,
            Pairing::Asked { .. } | Pairing::Retransmission { .. } | Pairing::Nothing => false,
            _ => true,
        };
        let asked_server = if may_differ { self.asked_server(d, v) } else { None };
        self.report.packet(&Packet {
            datagram: d,
            bytes,
            piece: claim.piece,
            id: v.id,
            message,
            step: v.probe.step,
            direction,
            level,
            server_index: claim.verdict.server_index,
            asked_server,
            pairing: claim.pairing,
            raised: claim.raised,
            decoded: &decoded,
            listener: &self.listener,
            findings,
            more_findings,
            examined: &examined,
            unreadable: v.is_unreadable(),
        })
    }

    /// What would make a message fit that breaks rules or is unknown.
    #[cold]
    #[inline(never)]
    fn examine(
        &mut self,
        d: &Datagram<'_>,
        claim: &ClaimRef<'_>,
        bytes: &[u8],
        context: Context,
    ) -> Examined {
        let v = claim.verdict;
        let violations = self.listener.notes().violations().iter().map(|v| (v.rule, v.minor));
        let raised = claim.raised.rules().map(|rule| (rule, true));
        let Some(reason) = diagnosis::reason(v.id, v.probe.message, violations.chain(raised)) else {
            return Examined::Clean;
        };
        if claim.piece.is_some() || context.missing > 0 || claim.is_copy() {
            return Examined::Untried;
        }
        let (expected, step) = self.table.expected(claim.slot, d, v, claim.pairing);
        let case = Case { id: v.id, bytes, context, expected, step };
        self.diagnoses.examine(v.server_index, &case, reason)
    }

    /// The server that was asked, if it is not at an end of the datagram.
    #[cold]
    fn asked_server(&self, d: &Datagram<'_>, v: &Verdict) -> Option<Endpoint> {
        self.classifier.servers.endpoint(v.server_index).filter(|server| *server != v.server(d))
    }

    /// Counts the findings of a datagram in the totals. A once-per-server finding counts once for each server, even if
    /// the report wants every finding.
    #[cold]
    fn count_findings(&mut self, d: &Datagram<'_>, claim: &ClaimRef<'_>) {
        let endpoint = self.asked_server(d, claim.verdict).unwrap_or_else(|| claim.verdict.server(d));
        let (servers, id, every) =
            (&mut self.classifier.servers, claim.verdict.id, self.wants.repeat_remarks);
        for f in &mut self.findings {
            let once_per_server = every && f.rule.per_server && f.counts();
            f.repeated = once_per_server && !servers.mark_reported(claim.verdict.server_index, id, f.rule);
            let server = claim.verdict.server_index;
            if self.wants.silent_servers && id.info().challenges_again == Some(f.rule) {
                f.provisional = self.silences.may_answer_only_challenges(server).then_some(&GEN_011);
            }
            if !f.repeated {
                self.totals.add_finding((server, endpoint, id), f);
            }
        }
    }

    /// Whether any of the broken rules still has to be reported for this server.
    #[inline]
    fn has_unreported(&self, claim: &ClaimRef<'_>, violations: &[Violation]) -> bool {
        let servers = &self.classifier.servers;
        let unreported = |rule| {
            self.wants.repeat_remarks
                || !servers.has_reported(claim.verdict.server_index, claim.verdict.id, rule)
        };
        violations.iter().any(|violation| unreported(violation.rule)) || claim.raised.rules().any(unreported)
    }

    #[inline(always)]
    pub(super) fn deliver_closed(&mut self) -> io::Result<()> {
        while self.deliver_front()? {}
        Ok(())
    }

    /// Reports the exchange that closed first; returns `false` if there is none.
    #[inline(always)]
    pub(super) fn deliver_front(&mut self) -> io::Result<bool> {
        let Some(e) = self.table.front_closed() else { return Ok(false) };
        let context = (&self.attribution, &mut self.silences, self.wants.silent_servers);
        deliver_exchange(e, &self.options, context, &mut self.totals, self.report)?;
        self.table.drop_closed();
        Ok(true)
    }
}

/// Decodes a message and reports it to the listener; returns whether it breaks a rule.
#[inline(always)]
fn decode<'a>(
    claim: &ClaimRef<'_>,
    bytes: &'a [u8],
    cx: &Context,
    listener: &mut impl Listener,
    decoded: &mut Decoded<'a>,
) -> bool {
    let message =
        Message { id: claim.verdict.id, piece: claim.piece, unreadable: claim.verdict.is_unreadable() };
    message.decode(bytes, cx, listener, decoded);
    !listener.notes().violations().is_empty()
}

/// Whether a rule that a datagram breaks in view of earlier ones is a reason for a diagnosis.
#[inline]
fn is_suspicious(claim: &ClaimRef<'_>) -> bool {
    let suspicious = claim.verdict.id.info().suspicious;
    !claim.raised.is_empty() && claim.raised.rules().any(|rule| suspicious.contains(&rule))
}

#[inline]
pub(super) fn deliver_exchange(
    e: &Exchange,
    options: &Options,
    (attribution, silences, wants_silence): (&Attribution, &mut Silences, bool),
    totals: &mut Totals,
    report: &mut dyn Report,
) -> io::Result<()> {
    if e.assumed {
        return Ok(());
    }
    if e.level <= Level::Low {
        if wants_silence && e.level == Level::Low {
            silences.count_candidate(e);
        }
        if e.level == Level::Hint || options.min_confidence > Level::Low {
            return Ok(());
        }
    }
    let answered = matches!(e.outcome, Outcome::Answered | Outcome::Late);
    if e.level < options.min_confidence || e.hidden && !answered {
        return Ok(());
    }
    totals.add_exchange(e);
    if answered {
        silences.note_answered(e, attribution);
    }
    if answered && e.incomplete.is_none() && !e.unreadable {
        return report.exchange(e, &[]);
    }
    let mut findings = attribution.findings(e, &options.policy, totals);
    if !answered && !e.server.is_group() {
        let explained = || findings.iter().any(|finding| finding.caused_by.is_some());
        let silent = silences.count_unanswered(e, explained).filter(|_| wants_silence);
        findings.iter_mut().for_each(|finding| finding.provisional = silent);
    }
    totals.add_findings(e, &findings);
    report.exchange(e, &findings)
}
