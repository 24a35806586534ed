//! Turns broken rules into findings, each with its severity, the side at fault and its cause.
//!
//! One fault often breaks several rules, in its own datagram and in later ones: the first is the cause, the others
//! are symptoms. Faults of earlier datagrams are kept here, bounded; the protocol declares which rule causes which.

use super::pending::Claimed;
use crate::bounded::{Bounded, Numbered};
use crate::budget::{Budget, Forgets as _};
use crate::check::{Cause, Finding, Policy};
use crate::decode::Violation;
use crate::exchange::{Exchange, Lack, Outcome, Pairing};
use crate::general::{GEN_001, GEN_004, GEN_005};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id, Relation};
use crate::report::Totals;
use crate::rule::{Rule, Severity, Side};
use crate::servers::Servers;
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
    exchanges: Numbered<ArrayVec<Noted, MAX_CAUSES>, MAX_EXCHANGES>,
    /// By client and server.
    answers: Bounded<(Endpoint, Endpoint), Option<Cause>, MAX_CONVERSATIONS>,
}

/// Addresses of the rules that [`Info::causes`](crate::protocols::Info::causes) knows, for any error may cause a missing
/// answer: most other rules are neither cause nor symptom.
static RELATED: LazyLock<HashSet<usize>> = LazyLock::new(|| {
    let errors = crate::protocols::rules().filter(|rule| rule.severity == Severity::Error);
    let declared = Id::ALL.iter().flat_map(|id| id.info().causes);
    let declared = declared.flat_map(|(_, causes, symptoms)| causes.iter().chain(*symptoms).copied());
    errors.chain(declared).map(|rule| rule.address()).collect()
});

/// A cause, and its relation to the symptoms that it may have in its exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Noted {
    cause: Cause,
    relation: Relation,
}

impl From<Budget> for Attribution {
    fn from(budget: Budget) -> Self {
        Attribution { exchanges: budget.into(), answers: budget.into() }
    }
}

impl Attribution {
    /// Turns the violations found by the decoder and by pairing into findings, in byte order as far as possible.
    /// `awaited` is the exchange whose answer the datagram comes instead of; `every` reports once-per-server
    /// findings each time.
    #[cold]
    #[inline(never)]
    pub fn judge(
        &mut self,
        out: &mut Vec<Finding>,
        d: &Datagram<'_>,
        told: &Claimed<'_>,
        heard: &[Violation],
        (policy, servers, every): (&Policy, &mut Servers, bool),
        awaited: Option<u64>,
    ) {
        let heard = if told.is_copy() { &[] } else { heard };
        let len = told.bytes(d).len();
        // Missing fragments and the end of a long joined message are not the fault of the snap length.
        let whole = d.partial || told.whole().is_some();
        out.extend(heard.iter().filter(|v| !(whole && v.rule == &GEN_001)).map(Finding::of_violation));
        let decoded = out.len();
        // If decoding reached the cut, its finding has the exact place.
        let cut = |f: &Finding| f.rule == &GEN_001;
        let placed = out.iter().any(cut);
        out.extend(Finding::of_raised(told.raised, len).filter(|f| !(placed && cut(f))));
        let id = told.verdict.id;
        if told.edge && out.iter().any(|f| f.rule.needs_past) {
            out.push(Finding::of_datagram(&GEN_005, len));
        }
        for finding in out.iter_mut() {
            self.complete(finding, d, told);
        }
        if let Some(piece) = told.piece
            && let Some(cause) = contradicted(id, told.verdict.probe.step, piece.contradicted)
        {
            let in_whole = if piece.whole.is_some() { decoded } else { 0 };
            let symptoms =
                out.iter_mut().enumerate().filter(|(i, f)| *i < in_whole || piece.broken == Some(f.rule));
            symptoms.for_each(|(_, f)| f.caused_by = Some(cause));
        }
        out.retain_mut(|f| {
            let Some(severity) = policy.severity(f.rule) else { return false };
            let minor = f.minor || told.edge && f.rule.needs_past;
            f.severity = if minor { Severity::Note } else { severity };
            true
        });
        if out.iter().any(|f| RELATED.contains(&f.rule.address())) {
            self.link(id, out, d, told);
            self.remember(id, out, d, told, awaited);
        }
        // Filter these last, because a finding that is not reported must not count as reported. A finding that was
        // reported before can still be a cause of others.
        if !every {
            out.retain(|f| {
                !f.rule.per_server
                    || servers.mark_reported(told.verdict.server_index, told.verdict.id, f.rule)
            });
        }
    }

    /// Notes the causes in a request whose findings were all reported for its server before: they may still explain
    /// why it gets no answer.
    #[cold]
    #[inline(never)]
    pub fn remarked(&mut self, d: &Datagram<'_>, told: &Claimed<'_>, heard: &[Violation]) {
        let (id, frame) = (told.verdict.id, d.frame);
        let Some(exchange) = told.pairing.exchange() else { return };
        let rules = heard.iter().map(|violation| violation.rule).chain(told.raised.rules());
        let Some(silence) = silence_of(id, told.verdict.probe.step) else { return };
        for rule in rules.filter(|rule| id.info().causes(rule, silence, Relation::Request)) {
            self.note(exchange, Cause { rule, frame }, Relation::Request);
        }
    }

    /// Fills in the side at fault and the sizes.
    fn complete(&self, f: &mut Finding, d: &Datagram<'_>, told: &Claimed<'_>) {
        f.sent(told.verdict.direction);
        if told.edge && f.rule.needs_past {
            f.fault = Side::Capture;
        }
        if let (true, Pairing::Answered(answer)) = (f.rule.ratio, told.pairing) {
            f.sizes = Some([answer.request_bytes, answer.bytes(d) as u32]);
        }
    }

    /// Whether an answer was broken that may have symptoms in later requests.
    #[inline(always)]
    pub fn has_broken_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// A request without the symptoms that the last broken answer to its client may have: the client has come through that,
    /// so the answer causes nothing from here on.
    #[cold]
    #[inline(never)]
    pub fn asked(&mut self, d: &Datagram<'_>, told: &Claimed<'_>) {
        let info = told.verdict.id.info();
        let Some(answer) = self.answers.get_mut(&(d.src, d.dst)) else { return };
        let Some(cause) = *answer else { return };
        let causes = |rule| info.causes(cause.rule, rule, Relation::Earlier);
        let concerns = causes(cause.rule) && told.verdict.probe.key.is_some() && cause.frame < d.frame;
        let asks = matches!(told.pairing, Pairing::Asked { .. });
        if concerns && asks && !told.raised.rules().any(causes) {
            *answer = None;
        }
    }

    /// Marks findings that are symptoms with their cause.
    fn link(&self, id: Id, out: &mut [Finding], d: &Datagram<'_>, told: &Claimed<'_>) {
        let exchange = told.pairing.exchange().and_then(|e| self.exchanges.get(e));
        let answer = match told.verdict.direction {
            Direction::C2s => self.answers.get(&(d.src, d.dst)).and_then(Option::as_ref),
            Direction::S2c => None,
        };
        for i in 0..out.len() {
            let symptom = out[i].rule;
            let same = (0..out.len()).filter(|&j| j != i).find(|&j| {
                let cause = out[j].rule;
                let both = id.info().causes(symptom, cause, Relation::Same);
                id.info().causes(cause, symptom, Relation::Same)
                    && (j < i || !both)
                    && may_concern(&out[j], &out[i])
            });
            let same = same.map(|j| Cause { rule: out[j].rule, frame: d.frame });
            // A pending datagram may be judged after later frames, which cannot have caused its findings.
            let before = |c: &&Cause| c.frame < d.frame;
            let repeated = exchange.into_iter().flatten().filter(|_| told.repeats(&out[i]));
            let asked = repeated.filter(|noted| noted.relation == Relation::Asked).map(|noted| &noted.cause);
            let asked = asked.filter(before).find(|c| id.info().causes(c.rule, symptom, Relation::Asked));
            let earlier =
                answer.filter(before).filter(|c| id.info().causes(c.rule, symptom, Relation::Earlier));
            out[i].caused_by = same.or(asked.copied()).or(earlier.copied()).or(out[i].caused_by);
        }
    }

    /// Remembers findings that may cause findings in later datagrams.
    fn remember(
        &mut self,
        id: Id,
        found: &[Finding],
        d: &Datagram<'_>,
        told: &Claimed<'_>,
        awaited: Option<u64>,
    ) {
        let (silence, mut broken) = (silence_of(id, told.verdict.probe.step), false);
        for f in found {
            let cause = Cause { rule: f.rule, frame: d.frame };
            match told.verdict.direction {
                Direction::C2s => {
                    let Some(exchange) = told.pairing.exchange() else { continue };
                    // What follows from a symptom follows from its cause.
                    if silence.is_some_and(|silence| id.info().causes(f.rule, silence, Relation::Request)) {
                        self.note(exchange, f.caused_by.unwrap_or(cause), Relation::Request);
                    }
                    if f.counts() && told.repeats(f) && id.info().causes(f.rule, f.rule, Relation::Asked) {
                        self.note(exchange, cause, Relation::Asked);
                    }
                }
                Direction::S2c if f.counts() => {
                    if silence.is_some_and(|silence| id.info().causes(f.rule, silence, Relation::Instead))
                        && let Some(exchange) = awaited.filter(|_| !told.is_of_another(f))
                    {
                        self.note(exchange, cause, Relation::Instead);
                    }
                    // Only the first fault of a datagram is taken as the cause of later ones.
                    if id.info().causes(f.rule, f.rule, Relation::Earlier)
                        && !std::mem::replace(&mut broken, true)
                    {
                        self.answers.insert((d.dst, d.src), Some(cause));
                    }
                }
                Direction::S2c => {}
            }
        }
    }

    fn note(&mut self, exchange: u64, cause: Cause, relation: Relation) {
        let noted = Noted { cause, relation };
        match self.exchanges.get_mut(exchange) {
            Some(causes) if causes.contains(&noted) => {}
            Some(causes) => drop(causes.try_push(noted)),
            None => self.exchanges.insert(exchange, ArrayVec::from_iter([noted])),
        }
    }

    /// Number of broken answers forgotten for lack of room, which may have had symptoms.
    pub fn forgotten(&self) -> u64 {
        self.answers.forgotten()
    }

    /// The finding about an exchange without an answer, or whose answer is incomplete; `None` where that breaks no rule or
    /// the rule is switched off.
    #[inline(never)]
    pub fn finding(&self, e: &Exchange, policy: &Policy, totals: &mut Totals) -> Option<Finding> {
        let step = &e.protocol.info().steps[usize::from(e.step)];
        let (rule, caused_by) = match e.outcome {
            Outcome::Answered | Outcome::Late => {
                let rule = match e.incomplete? {
                    Lack::Part => step.rules.incomplete,
                    Lack::End => step.rules.unended.or(step.rules.incomplete),
                }?;
                let cause = contradicted(e.protocol, e.step, e.contradicted);
                let causes = |c: &Cause| e.protocol.info().causes(c.rule, rule, Relation::Instead);
                (rule, cause.filter(causes))
            }
            Outcome::Unanswered => {
                totals.memory_forgotten += u64::from(self.exchanges.may_have_forgotten(e.id));
                let noted = self.exchanges.get(e.id).into_iter().flatten();
                let causes = noted.filter(|noted| noted.relation != Relation::Asked).map(|noted| noted.cause);
                let rule = step.rules.unanswered.filter(|_| !e.server.is_group())?;
                // Take the earliest one: pending datagrams are judged late, so causes are not noted in frame order.
                (rule, causes.min_by_key(|cause| cause.frame))
            }
            Outcome::Refused => (&GEN_004, None),
            Outcome::Undecided => return None,
        };
        let severity = policy.severity(rule)?;
        let minor = e.outcome == Outcome::Unanswered && step.may_be_silent;
        let severity = if minor { Severity::Note } else { severity };
        let mut finding = Finding { severity, caused_by, ..Finding::of_exchange(rule) };
        finding.sent(Direction::S2c);
        Some(finding)
    }
}

/// Whether a fault may be the cause of another one in its datagram: what is wrong with one element of a list explains nothing
/// about another element, which a finding names by its field, or by its bytes.
fn may_concern(cause: &Finding, symptom: &Finding) -> bool {
    let list = |f: &Finding| Some(f.field?.name.split_once("[]")?.0);
    let Some(inside) = list(cause) else { return true };
    match (list(symptom), cause.span, symptom.span) {
        (Some(other), ..) => other != inside || cause.index[0] == symptom.index[0],
        (None, Some(cause), Some(place)) if symptom.field.is_none() => {
            place.start < cause.end && cause.start < place.end
        }
        _ => true,
    }
}

/// The rule that an unanswered exchange of a step breaks, if there is one.
fn silence_of(id: Id, step: u8) -> Option<&'static Rule> {
    id.info().steps[usize::from(step)].rules.unanswered
}

/// The cause for findings about an answer of which the part in that frame contradicts others.
fn contradicted(id: Id, step: u8, frame: Option<u64>) -> Option<Cause> {
    let rule = id.info().steps[usize::from(step)].rules.contradicting?;
    Some(Cause { rule, frame: frame? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cause that explains a missing answer.
    fn cause(frame: u64) -> Cause {
        let silence = silence_of(Id::Sqp, 0);
        let rule = crate::protocols::rules()
            .find(|rule| Id::Sqp.info().causes(rule, silence.expect("it has one"), Relation::Request));
        Cause { rule: rule.expect("there are some"), frame }
    }

    fn silence(attribution: &Attribution, id: u64) -> Option<Cause> {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let e = Exchange::unanswered(id, Id::Sqp, [end; 2]);
        let finding = attribution.finding(&e, &Policy::default(), &mut Totals::default());
        finding.expect("the rule is on").caused_by
    }

    #[test]
    fn rules_that_are_not_related_neither_cause_anything_nor_are_caused() {
        use Relation::*;
        for info in Id::ALL.iter().map(|id| id.info()) {
            let all = || info.rules.iter().copied().flatten().chain(info.exchange_rules);
            for (cause, symptom) in all().flat_map(|cause| all().map(move |symptom| (cause, symptom))) {
                if [Same, Request, Instead, Asked, Earlier].iter().any(|&at| info.causes(cause, symptom, at))
                {
                    assert!(RELATED.contains(&cause.address()), "{}", cause.id);
                    assert!(
                        RELATED.contains(&symptom.address()) || info.is_silence(symptom),
                        "{}",
                        symptom.id
                    );
                }
            }
        }
    }

    #[test]
    fn four_causes_of_an_exchange_are_remembered() {
        for (others, expected) in [(3, Some(cause(9))), (4, None)] {
            let mut attribution = Attribution::from(Budget::default());
            (0..others).for_each(|frame| attribution.note(7, cause(frame), Relation::Asked));
            attribution.note(7, cause(9), Relation::Request);
            assert_eq!(silence(&attribution, 7), expected, "{others} before it");
        }
    }

    #[test]
    fn what_is_noted_twice_takes_one_place() {
        let mut attribution = Attribution::from(Budget::default());
        (0..MAX_CAUSES).for_each(|_| attribution.note(7, cause(8), Relation::Asked));
        attribution.note(7, cause(9), Relation::Instead);
        assert_eq!(silence(&attribution, 7), Some(cause(9)));
    }

    #[test]
    fn the_oldest_exchanges_are_forgotten_and_that_is_known() {
        let (mut attribution, most) = (Attribution::from(Budget::default()), MAX_EXCHANGES as u64);
        let cause = cause(1);
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let doubtful = |attribution: &Attribution, id| {
            let (mut totals, e) = (Totals::default(), Exchange::unanswered(id, Id::Sqp, [end; 2]));
            attribution.finding(&e, &Policy::default(), &mut totals);
            totals.memory_forgotten == 1
        };
        (1..=most).for_each(|n| attribution.note(2 * n, cause, Relation::Request));
        assert_eq!((silence(&attribution, 2), doubtful(&attribution, 1)), (Some(cause), false));
        attribution.note(2 * most + 2, cause, Relation::Request);
        assert_eq!((silence(&attribution, 2), silence(&attribution, 4)), (None, Some(cause)));
        assert_eq!([1, 2, 3, 4].map(|id| doubtful(&attribution, id)), [true, true, false, false]);
    }
}
