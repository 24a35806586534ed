//! Turns broken rules into findings, each with its severity, the side at fault and its cause.
//!
//! One fault often breaks several rules, in its own datagram and in later ones: the first broken rule is the cause, the
//! others are symptoms. A bounded number of faults of earlier datagrams is remembered here; the protocol declares which
//! rule causes which.

use super::claim::{ClaimRef, Edge};
use crate::bounded::{Bounded, Budget, Forgets as _, Numbered};
use crate::check::{Cause, Finding, Policy};
use crate::classify::servers::Servers;
use crate::decode::Violation;
use crate::exchange::{Exchange, Lack, Outcome, Pairing};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id, Relation};
use crate::report::Totals;
use crate::rule::general::{GEN_001, GEN_004, GEN_005, GEN_010};
use crate::rule::{Rule, Severity, Side};
use arrayvec::ArrayVec;
use hashbrown::HashSet;
use std::sync::LazyLock;

/// Most exchanges whose causes are remembered with 64 MiB; the oldest is dropped first.
const MAX_EXCHANGES: usize = 8_192;
/// Most causes remembered for one exchange.
const MAX_CAUSES: usize = 4;
/// Most conversations whose last broken answer is remembered with 64 MiB; the oldest is dropped first.
const MAX_CONVERSATIONS: usize = 4_096;

/// Faults of earlier datagrams that may cause later findings.
#[derive(Debug)]
pub struct Attribution {
    /// Causes of later findings, by exchange.
    exchanges: Numbered<ArrayVec<NotedCause, MAX_CAUSES>, MAX_EXCHANGES>,
    /// The fault of the last broken answer, by client and server; `None` once the client has sent a request without its
    /// symptoms.
    broken_answers: Bounded<(Endpoint, Endpoint), Option<Cause>, MAX_CONVERSATIONS>,
}

/// Addresses of the rules that may be a cause or a symptom: those that [`Info::causes`](crate::protocols::Info::causes)
/// lists, and all errors, because any error may cause a missing answer.
static RELATED: LazyLock<HashSet<usize>> = LazyLock::new(|| {
    let errors = crate::protocols::rules().filter(|rule| rule.severity == Severity::Error);
    let declared = Id::ALL.iter().flat_map(|id| id.info().causes);
    let declared = declared.flat_map(|(_, causes, symptoms)| causes.iter().chain(*symptoms).copied());
    errors.chain(declared).map(|rule| rule.address()).collect()
});

/// A cause, and its relation to the symptoms that it may have in its exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NotedCause {
    cause: Cause,
    relation: Relation,
}

impl From<Budget> for Attribution {
    fn from(budget: Budget) -> Self {
        Attribution { exchanges: budget.into(), broken_answers: budget.into() }
    }
}

impl Attribution {
    /// Turns the violations found by the decoder and by pairing into findings, in byte order as far as possible.
    /// `awaited` is the exchange whose answer the datagram replaces; with `every`, once-per-server findings are
    /// reported each time.
    #[cold]
    #[inline(never)]
    pub fn judge(
        &mut self,
        findings: &mut Vec<Finding>,
        d: &Datagram<'_>,
        claim: &ClaimRef<'_>,
        violations: &[Violation],
        (policy, servers, every): (&Policy, &mut Servers, bool),
        awaited: Option<u64>,
    ) {
        let violations = if claim.is_copy() { &[] } else { violations };
        let len = claim.bytes(d).len();
        // The snap length explains neither missing fragments nor the missing end of a long joined message.
        let other_reason = d.partial || claim.whole().is_some();
        findings.extend(
            violations.iter().filter(|v| !(other_reason && v.rule == &GEN_001)).map(Finding::of_violation),
        );
        let decoded = findings.len();
        // If decoding reached the cut, its finding has the exact place.
        let is_cut = |f: &Finding| f.rule == &GEN_001;
        let has_place = findings.iter().any(is_cut);
        findings.extend(Finding::of_raised(claim.raised, len).filter(|f| !(has_place && is_cut(f))));
        let id = claim.verdict.id;
        if claim.edge == Some(Edge::Start) && findings.iter().any(|f| f.rule.needs_past) {
            findings.push(Finding::of_datagram(&GEN_005, len));
        }
        for finding in findings.iter_mut() {
            self.set_fault_and_sizes(finding, d, claim);
        }
        if let Some(piece) = claim.piece
            && let Some(cause) = contradiction(id, claim.verdict.probe.step, piece.contradicted)
        {
            let in_message = if piece.whole.is_some() { decoded } else { 0 };
            let symptoms = findings
                .iter_mut()
                .enumerate()
                .filter(|(i, f)| *i < in_message || piece.broken == Some(f.rule));
            symptoms.for_each(|(_, f)| f.caused_by = Some(cause));
        }
        findings.retain_mut(|f| {
            let Some(severity) = policy.severity(f.rule) else { return false };
            let minor = f.minor || claim.edge.is_some() && f.rule.needs_past;
            f.severity = if minor { Severity::Note } else { severity };
            true
        });
        if findings.iter().any(|f| RELATED.contains(&f.rule.address())) {
            self.link(id, findings, d, claim);
            self.remember(id, findings, d, claim, awaited);
        }
        // Only now, because what a request looks like may explain its answer.
        if let Some(server) = policy.asked_server {
            // What looks like an answer may come from the program, which tests the server with it.
            let is_own = claim.verdict.direction == Direction::S2c && d.src != server;
            findings.retain(|f| f.fault != Side::Client && !is_own);
        }
        // Filter once-per-server findings last: a finding that is not reported must not count as reported, nor must a
        // symptom, which counts nowhere; and one that was reported before can still be a cause of others.
        if !every {
            findings.retain(|f| {
                !f.rule.per_server
                    || !f.counts()
                    || servers.mark_reported(claim.verdict.server_index, claim.verdict.id, f.rule)
            });
        }
    }

    /// Notes the causes in a request whose findings were all reported for its server before: they may still explain
    /// why it gets no answer.
    #[cold]
    #[inline(never)]
    pub fn note_request_causes(&mut self, d: &Datagram<'_>, claim: &ClaimRef<'_>, violations: &[Violation]) {
        let (id, frame) = (claim.verdict.id, d.frame);
        let Some(exchange) = claim.pairing.exchange() else { return };
        let rules = violations.iter().map(|violation| violation.rule).chain(claim.raised.rules());
        let Some(unanswered) = unanswered_rule(id, claim.verdict.probe.step) else { return };
        for rule in rules.filter(|rule| id.info().causes(rule, unanswered, Relation::Request)) {
            self.note(exchange, Cause { rule, frame }, Relation::Request);
        }
    }

    /// Fills in the side at fault and the sizes.
    fn set_fault_and_sizes(&self, f: &mut Finding, d: &Datagram<'_>, claim: &ClaimRef<'_>) {
        f.resolve_sender(claim.verdict.direction);
        if claim.edge.is_some() && f.rule.needs_past {
            f.fault = Side::Capture;
        }
        if let (true, Pairing::Answered(answer)) = (f.rule.ratio, claim.pairing) {
            f.sizes = Some([answer.request_bytes, answer.bytes(d) as u32]);
        }
    }

    /// Whether there was a broken answer that may have symptoms in later requests.
    #[inline(always)]
    pub fn has_broken_answers(&self) -> bool {
        !self.broken_answers.is_empty()
    }

    /// Forgets the last broken answer to a client that has sent a request without the symptoms of that answer: from
    /// here on, the answer causes no findings.
    #[cold]
    #[inline(never)]
    pub fn note_request(&mut self, d: &Datagram<'_>, claim: &ClaimRef<'_>) {
        let info = claim.verdict.id.info();
        let Some(answer) = self.broken_answers.get_mut(&(d.src, d.dst)) else { return };
        let Some(cause) = *answer else { return };
        let causes = |rule| info.causes(cause.rule, rule, Relation::Earlier);
        let is_later = claim.verdict.probe.key.is_some() && cause.frame < d.frame;
        let is_request = matches!(claim.pairing, Pairing::Asked { .. });
        if is_later && is_request && !claim.raised.rules().any(causes) {
            *answer = None;
        }
    }

    /// Marks findings that are symptoms with their cause.
    fn link(&self, id: Id, findings: &mut [Finding], d: &Datagram<'_>, claim: &ClaimRef<'_>) {
        let exchange = claim.pairing.exchange().and_then(|e| self.exchanges.get(e));
        let answer = match claim.verdict.direction {
            Direction::C2s => self.broken_answers.get(&(d.src, d.dst)).and_then(Option::as_ref),
            Direction::S2c => None,
        };
        for i in 0..findings.len() {
            let symptom = findings[i].rule;
            let same = (0..findings.len()).filter(|&j| j != i).find(|&j| {
                let cause = findings[j].rule;
                let mutual = id.info().causes(symptom, cause, Relation::Same);
                id.info().causes(cause, symptom, Relation::Same)
                    && (j < i || !mutual)
                    && may_explain(&findings[j], &findings[i])
            });
            let same = same.map(|j| Cause { rule: findings[j].rule, frame: d.frame });
            // A pending datagram may be judged after later frames, which cannot have caused its findings.
            let before = |c: &&Cause| c.frame < d.frame;
            let repeated = exchange.into_iter().flatten().filter(|_| claim.repeats(&findings[i]));
            let asked = repeated.filter(|noted| noted.relation == Relation::Asked).map(|noted| &noted.cause);
            let asked = asked.filter(before).find(|c| id.info().causes(c.rule, symptom, Relation::Asked));
            let earlier =
                answer.filter(before).filter(|c| id.info().causes(c.rule, symptom, Relation::Earlier));
            findings[i].caused_by = same.or(asked.copied()).or(earlier.copied()).or(findings[i].caused_by);
        }
    }

    /// Remembers findings that may cause findings in later datagrams.
    fn remember(
        &mut self,
        id: Id,
        findings: &[Finding],
        d: &Datagram<'_>,
        claim: &ClaimRef<'_>,
        awaited: Option<u64>,
    ) {
        let (unanswered, mut has_fault) = (unanswered_rule(id, claim.verdict.probe.step), false);
        for f in findings {
            let cause = Cause { rule: f.rule, frame: d.frame };
            match claim.verdict.direction {
                Direction::C2s => {
                    let Some(exchange) = claim.pairing.exchange() else { continue };
                    // The consequences of a symptom are attributed to its cause.
                    if unanswered.is_some_and(|rule| id.info().causes(f.rule, rule, Relation::Request)) {
                        self.note(exchange, f.caused_by.unwrap_or(cause), Relation::Request);
                    }
                    if f.counts() && claim.repeats(f) && id.info().causes(f.rule, f.rule, Relation::Asked) {
                        self.note(exchange, cause, Relation::Asked);
                    }
                }
                Direction::S2c if f.counts() => {
                    if let Some(exchange) = claim.pairing.exchange()
                        && let Some(unended) = unended_rule(id, claim.pairing.step())
                        && id.info().causes(f.rule, unended, Relation::Same)
                    {
                        self.note(exchange, cause, Relation::Same);
                    }
                    if unanswered.is_some_and(|rule| id.info().causes(f.rule, rule, Relation::Instead))
                        && let Some(exchange) = awaited.filter(|_| !claim.is_of_another_exchange(f))
                    {
                        self.note(exchange, cause, Relation::Instead);
                    }
                    // Only the first fault of a datagram is taken as the cause of later ones.
                    if id.info().causes(f.rule, f.rule, Relation::Earlier)
                        && !std::mem::replace(&mut has_fault, true)
                    {
                        self.broken_answers.insert((d.dst, d.src), Some(cause));
                    }
                }
                Direction::S2c => {}
            }
        }
    }

    fn note(&mut self, exchange: u64, cause: Cause, relation: Relation) {
        let noted = NotedCause { cause, relation };
        match self.exchanges.get_mut(exchange) {
            Some(causes) if causes.contains(&noted) => {}
            Some(causes) => drop(causes.try_push(noted)),
            None => self.exchanges.insert(exchange, ArrayVec::from_iter([noted])),
        }
    }

    /// Whether a fault of the request, or of a datagram that came instead of its answer, explains why an exchange has no
    /// answer.
    pub fn explains(&self, exchange: u64) -> bool {
        let noted = self.exchanges.get(exchange).into_iter().flatten();
        noted.into_iter().any(|noted| noted.relation != Relation::Asked)
    }

    /// Number of broken answers forgotten for lack of room, which may have had symptoms.
    pub fn forgotten(&self) -> u64 {
        self.broken_answers.forgotten()
    }

    /// The findings about an exchange as a whole.
    #[inline(never)]
    pub fn findings(&self, e: &Exchange, policy: &Policy, totals: &mut Totals) -> ArrayVec<Finding, 2> {
        let unreadable = policy.severity(&GEN_010).filter(|_| e.unreadable).map(|severity| {
            let mut finding = Finding { severity, ..Finding::of_exchange(&GEN_010) };
            finding.resolve_sender(Direction::S2c);
            finding
        });
        unreadable.into_iter().chain(self.finding(e, policy, totals)).collect()
    }

    /// The finding about an exchange whose answer is missing or incomplete; `None` where that breaks no rule, or the
    /// rule is switched off.
    fn finding(&self, e: &Exchange, policy: &Policy, totals: &mut Totals) -> Option<Finding> {
        let step = &e.protocol.info().steps[usize::from(e.step)];
        let (rule, caused_by) = match e.outcome {
            Outcome::Answered | Outcome::Late => {
                let rule = match e.incomplete? {
                    Lack::Part => step.rules.incomplete,
                    Lack::End => step.rules.unended.or(step.rules.incomplete),
                }?;
                let cause = contradiction(e.protocol, e.step, e.contradicted);
                let causes = |c: &Cause| e.protocol.info().causes(c.rule, rule, Relation::Instead);
                let noted = self.exchanges.get(e.id).into_iter().flatten();
                let mut inside =
                    noted.filter(|noted| noted.relation == Relation::Same).map(|noted| noted.cause);
                (rule, cause.filter(causes).or_else(|| inside.next()))
            }
            Outcome::Unanswered => {
                totals.memory_forgotten += u64::from(self.exchanges.may_have_forgotten(e.id));
                let noted = self.exchanges.get(e.id).into_iter().flatten();
                let causes = noted.filter(|noted| noted.relation != Relation::Asked).map(|noted| noted.cause);
                let rule = step.rules.unanswered.filter(|_| !e.server.is_group())?;
                // Take the earliest cause: pending datagrams are judged later, so causes are not noted in frame order.
                // What is legal explains less than a fault of the same datagram.
                (rule, causes.min_by_key(|cause| (cause.frame, cause.rule.severity == Severity::Note)))
            }
            Outcome::Refused => (&GEN_004, None),
            Outcome::Undecided => return None,
        };
        let severity = policy.severity(rule)?;
        let minor = e.outcome == Outcome::Unanswered && step.may_be_silent;
        let severity = if minor { Severity::Note } else { severity };
        let mut finding = Finding { severity, caused_by, ..Finding::of_exchange(rule) };
        finding.resolve_sender(Direction::S2c);
        Some(finding)
    }
}

/// Whether a fault may be the cause of another one in its datagram. A fault of one element of a list explains nothing
/// about another element; a finding shows its element by the index of its field, or by its bytes.
fn may_explain(cause: &Finding, symptom: &Finding) -> bool {
    let list = |f: &Finding| Some(f.field?.name.split_once("[]")?.0);
    let Some(cause_list) = list(cause) else { return true };
    match (list(symptom), cause.span, symptom.span) {
        (Some(symptom_list), ..) => symptom_list != cause_list || cause.index[0] == symptom.index[0],
        (None, Some(cause), Some(bytes)) if symptom.field.is_none() => {
            bytes.start < cause.end && cause.start < bytes.end
        }
        _ => true,
    }
}

/// The rule that an unanswered exchange of a step breaks, if there is one.
fn unanswered_rule(id: Id, step: u8) -> Option<&'static Rule> {
    id.info().steps[usize::from(step)].rules.unanswered
}

/// The rule that an answer without an end breaks, if the step has one.
fn unended_rule(id: Id, step: Option<u8>) -> Option<&'static Rule> {
    id.info().steps.get(usize::from(step?))?.rules.unended
}

/// The cause of findings about an answer, if its part in that frame contradicts other parts.
fn contradiction(id: Id, step: u8, frame: Option<u64>) -> Option<Cause> {
    let rule = id.info().steps[usize::from(step)].rules.contradicting?;
    Some(Cause { rule, frame: frame? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cause that explains a missing answer.
    fn cause(frame: u64) -> Cause {
        let unanswered = unanswered_rule(Id::Sqp, 0);
        let rule = crate::protocols::rules()
            .find(|rule| Id::Sqp.info().causes(rule, unanswered.expect("it has one"), Relation::Request));
        Cause { rule: rule.expect("there are some"), frame }
    }

    /// The cause in the finding about an unanswered exchange.
    fn cause_of_silence(attribution: &Attribution, id: u64) -> Option<Cause> {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let e = Exchange::unanswered(id, Id::Sqp, [end; 2]);
        let finding = attribution.finding(&e, &Policy::default(), &mut Totals::default());
        finding.expect("the rule is on").caused_by
    }

    #[test]
    fn unrelated_rules_are_neither_causes_nor_symptoms() {
        use Relation::*;
        for info in Id::ALL.iter().map(|id| id.info()) {
            let all = || info.rules.iter().copied().flatten().chain(info.exchange_rules);
            for (cause, symptom) in all().flat_map(|cause| all().map(move |symptom| (cause, symptom))) {
                if [Same, Request, Instead, Asked, Earlier].iter().any(|&at| info.causes(cause, symptom, at))
                {
                    assert!(RELATED.contains(&cause.address()), "{}", cause.id);
                    assert!(
                        RELATED.contains(&symptom.address()) || info.is_missing_answer(symptom),
                        "{}",
                        symptom.id
                    );
                }
            }
        }
    }

    #[test]
    fn remembers_four_causes_of_an_exchange() {
        for (others, expected) in [(3, Some(cause(9))), (4, None)] {
            let mut attribution = Attribution::from(Budget::default());
            (0..others).for_each(|frame| attribution.note(7, cause(frame), Relation::Asked));
            attribution.note(7, cause(9), Relation::Request);
            assert_eq!(cause_of_silence(&attribution, 7), expected, "{others} before it");
        }
    }

    #[test]
    fn a_cause_noted_twice_is_stored_once() {
        let mut attribution = Attribution::from(Budget::default());
        (0..MAX_CAUSES).for_each(|_| attribution.note(7, cause(8), Relation::Asked));
        attribution.note(7, cause(9), Relation::Instead);
        assert_eq!(cause_of_silence(&attribution, 7), Some(cause(9)));
    }

    #[test]
    fn forgets_the_causes_of_the_oldest_exchanges_and_counts_them() {
        let (mut attribution, most) = (Attribution::from(Budget::default()), MAX_EXCHANGES as u64);
        let cause = cause(1);
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let has_forgotten = |attribution: &Attribution, id| {
            let (mut totals, e) = (Totals::default(), Exchange::unanswered(id, Id::Sqp, [end; 2]));
            attribution.finding(&e, &Policy::default(), &mut totals);
            totals.memory_forgotten == 1
        };
        (1..=most).for_each(|n| attribution.note(2 * n, cause, Relation::Request));
        assert_eq!((cause_of_silence(&attribution, 2), has_forgotten(&attribution, 1)), (Some(cause), false));
        attribution.note(2 * most + 2, cause, Relation::Request);
        assert_eq!(
            (cause_of_silence(&attribution, 2), cause_of_silence(&attribution, 4)),
            (None, Some(cause))
        );
        assert_eq!([1, 2, 3, 4].map(|id| has_forgotten(&attribution, id)), [true, true, false, false]);
    }
}
