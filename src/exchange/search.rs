//! Finds the request of a conversation that an answer belongs to.

use super::queue::{GIVEN_UP, PARTIAL, Request, State};
use super::windows::GIVE_UP;
use super::{Answer, Pairing};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::{Answers, Part};
use crate::protocols::{Context, Id, StepInfo};

/// An order-paired answer may carry a time stamp this much before its request, in nanoseconds.
const SKEW: i64 = 10_000_000;

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Sequence number of the request, and whether the answer carries the issued value, or an earlier key, instead
    /// of the key of the request.
    pub request: Option<(u64, bool)>,
    /// The pairing of the answer if it is a copy.
    pub copy: Option<Pairing>,
    /// The facts of the answer if it is a second, different one.
    pub second: Option<Answer>,
    /// Requests of the step are open.
    pub open: bool,
    /// What the only open request asked, although the answer does not belong to it: see [`Context::asked`].
    pub asked: Option<u32>,
    /// Its key.
    pub key: Option<u64>,
    /// The answer may belong to an older request than those searched.
    pub ended_early: bool,
}

/// The order of preference among open requests, the lowest first. First, the rank of the step: the answer's own step
/// before others, or where all steps are alike, requests that carry no issued value. Then, where each `false` is
/// preferred: the request has a key and the answer has none; its window is over or it was given up, where keys or steps
/// are alike; it is partial.
type Rank = (u8, [bool; 3]);

/// The requests that an answer may belong to.
pub(super) fn answers_of(id: Id, message: Option<u8>, part: Option<Part>) -> Answers {
    let message = message.and_then(|message| id.info().messages.get(usize::from(message)));
    let answers = message.map_or(Answers::OWN_STEP, |message| message.answers);
    // A part that shows which message it belongs to answers requests of its own step only.
    let shows_message = part.is_some_and(|part| part.makes.is_some());
    if shows_message { Answers { also: &[], ..answers } } else { answers }
}

/// Examines the requests of a conversation, the latest first, and remembers the best of each kind.
#[derive(Debug)]
pub(super) struct Search<'v> {
    /// The step of the answer.
    step: &'v StepInfo,
    step_index: u8,
    message: u8,
    request_state: u32,
    answers: Answers,
    key: Option<u64>,
    window: i64,
    late_window: i64,
    now: Time,
    hash: u32,
    /// Oldest open request with the key of the answer; see [`Rank`].
    by_key: Option<(Rank, u64)>,
    /// Oldest open request with another key.
    by_other_key: Option<(Rank, u64)>,
    /// Oldest open request, among those paired by order, that is inside its window and was not given up.
    waiting: Option<(Rank, u64)>,
    /// Oldest open request of all that are paired by order.
    any: Option<(Rank, u64)>,
    /// Oldest request that bytes which are no message came in the place of an answer to, inside its window.
    misanswered: Option<(u8, u64)>,
    /// Number of open requests.
    open: u32,
    /// Sequence number and `request_state` of the open request examined last.
    last_open: (u64, u32, Option<u64>),
    copy: Option<Pairing>,
    /// The answer that `copy` repeats has the same bytes.
    copy_has_same_bytes: bool,
    /// An answer to a request of its own step has the same bytes.
    repeats_own_step: bool,
    answered: Option<Answer>,
    /// The request in `answered` was sent after the one whose answer is copied, and other messages may follow its
    /// answer.
    accompanies: bool,
    /// Time of the latest request that the answer may belong to.
    latest: Option<Time>,
    /// An earlier request of another step has the key, see [`StepInfo::key_of`].
    has_earlier_key: bool,
    /// Older requests were not examined, although the answer may belong to one of them.
    ended_early: bool,
}

impl<'v> Search<'v> {
    /// A search for the request of an answer that came at `now`, given the answer window and the late window. `commanded`
    /// says whether the client has lately sent a command.
    pub fn new(
        v: &'v Verdict,
        step: &'v StepInfo,
        [window, late_window]: [i64; 2],
        (now, hash): (Time, u32),
        commanded: bool,
    ) -> Self {
        let answers = answers_of(v.id, Some(v.probe.message), v.probe.part);
        let also = if answers.refuses && commanded { &[] } else { answers.also };
        Search {
            step,
            step_index: v.probe.step,
            message: v.probe.message,
            request_state: v.probe.request_state,
            answers: Answers { also, ..answers },
            key: v.probe.key,
            window,
            late_window,
            now,
            hash,
            by_key: None,
            by_other_key: None,
            waiting: None,
            any: None,
            misanswered: None,
            open: 0,
            last_open: (0, 0, None),
            copy: None,
            copy_has_same_bytes: false,
            repeats_own_step: false,
            answered: None,
            accompanies: false,
            latest: None,
            has_earlier_key: false,
            ended_early: false,
        }
    }

    fn is_keyed(&self) -> bool {
        self.step.key_digits > 0
    }

    /// Whether the answer has no key and needs none.
    fn is_keyless(&self) -> bool {
        self.step.keyless && self.key.is_none()
    }

    fn has_key_of(&self, r: &Request) -> bool {
        r.key().is_some() && r.key() == self.key
    }

    /// Whether to continue beyond the latest requests: the request with the key may be anywhere, and without a key the
    /// oldest open request is sought. Notes if the search should continue, but is not `allowed` to.
    pub fn continues(&mut self, next: &Request, allowed: bool) -> bool {
        let by_key = self.is_keyed() && !self.is_keyless();
        let found = self.by_key.is_some() || self.copy.is_some();
        let wanted = if by_key { !found } else { matches!(next.state, State::Open | State::Gone) };
        self.ended_early = wanted && !allowed;
        wanted && allowed
    }

    /// Examines a request that was last sent at that time, by its time stamp.
    pub fn examine(&mut self, seq: u64, r: &Request, sent: Time) {
        self.has_earlier_key |= self.step.key_of == Some(r.step) && self.has_key_of(r);
        self.examine_followed(r, sent);
        let Some(step_rank) = self.step_rank(r) else { return };
        self.repeats_own_step |= step_rank == 0 && r.state == State::Answered && r.answer_hash == self.hash;
        // A request with another key does not give up requests with this one.
        let given_up = match self.answers.equivalent || self.step.reuses_keys && self.has_key_of(r) {
            true => self.latest.get_or_insert(sent).since(sent).is_some_and(|t| t >= GIVE_UP),
            false => r.is(GIVEN_UP),
        };
        match r.state {
            State::Open => self.examine_open(seq, r, sent, (step_rank, given_up)),
            State::Unreadable => self.examine_misanswered(seq, r, sent, step_rank),
            State::Answering if self.step.open_ended => self.examine_answered(r),
            // A server may answer with another key than that of the request: copies of such an answer are recognised by
            // their bytes.
            State::Answered if !self.is_keyed() || self.has_key_of(r) || r.answer_hash == self.hash => {
                self.examine_answered(r);
            }
            _ => {}
        }
    }

    /// The rank of its step among the steps that the answer may belong to; `None` where the answer cannot belong to
    /// the request.
    fn step_rank(&self, r: &Request) -> Option<u8> {
        let Answers { also, equivalent, .. } = self.answers;
        let also = || also.iter().position(|step| *step == r.step).map(|at| at.saturating_add(1) as u8);
        let rank = if r.step == self.step_index { Some(0) } else { also() };
        let rank =
            if equivalent { rank.map(|_| u8::from(r.request_state & self.step.carries != 0)) } else { rank };
        rank.filter(|_| !self.step.excluded(self.request_state, r.request_state))
    }

    fn examine_open(&mut self, seq: u64, r: &Request, sent: Time, (step_rank, given_up): (u8, bool)) {
        self.open += 1;
        self.last_open = (seq, r.request_state, r.key());
        // A datagram that may continue the answer to a later request does not answer one that was given up.
        let may_continue = (self.step.open_ended || self.step.lines) && self.answered.is_some();
        // Older requests are examined later, and are preferred.
        let is_better = |best: Option<(Rank, u64)>, rank| best.is_none_or(|(best, _)| rank <= best);
        if r.key().is_some() && !self.is_keyless() {
            // A key that is always the same proves no more than the order does.
            let waits = !given_up && self.now.since(sent).is_none_or(|t| t <= self.window);
            if may_continue && !waits {
                return;
            }
            let rank = (step_rank, [false, self.step.reuses_keys && !waits, false]);
            let best = if self.has_key_of(r) { &mut self.by_key } else { &mut self.by_other_key };
            if is_better(*best, rank) {
                *best = Some((rank, seq));
            }
            return;
        }
        let age = self.now.since(sent);
        if age.is_some_and(|t| t < -SKEW) {
            return; // sent only after the answer
        }
        // A request that carries an issued value was sent because that value came: it does not give up other requests
        // for a value.
        let awaits_value = self.answers.equivalent && step_rank == 0;
        // A complete request is preferred to a partial one.
        let rank = (step_rank, [r.key().is_some(), awaits_value && given_up, r.is(PARTIAL)]);
        if !may_continue && is_better(self.any, rank) {
            self.any = Some((rank, seq));
        }
        // A client that has asked again for a value uses the one that comes next for its latest request.
        let is_better_waiting = match awaits_value {
            true => self.waiting.is_none_or(|(best, _)| rank < best),
            false => is_better(self.waiting, rank),
        };
        if (awaits_value || !given_up) && age.is_none_or(|t| t <= self.window) && is_better_waiting {
            self.waiting = Some((rank, seq));
        }
    }

    #[cold]
    fn examine_misanswered(&mut self, seq: u64, r: &Request, sent: Time, step_rank: u8) {
        let in_window = self.now.since(sent).is_none_or(|t| (-SKEW..=self.window).contains(&t));
        let by_order = r.key().is_none() || self.is_keyless();
        let is_better = self.misanswered.is_none_or(|(best, _)| step_rank <= best);
        if in_window && (by_order || self.has_key_of(r)) && is_better {
            self.misanswered = Some((step_rank, seq));
        }
    }

    fn examine_answered(&mut self, r: &Request) {
        if self.step.lines {
            self.answered.get_or_insert(Answer { second: true, ..r.answer_at(self.now) });
            return;
        }
        if self.step.open_ended && self.answered.is_some() {
            return; // it continues the latest answer
        }
        let same = r.answer_hash == self.hash;
        if same || self.step.once {
            // Of the answers to one key, take the one with the same bytes, or else the latest.
            if self.copy.is_none() || same && !self.copy_has_same_bytes {
                (self.copy, self.copy_has_same_bytes) = (Some(r.duplicate_response(r.answer_frame())), same);
            }
        } else if self.answered.is_none() && (self.is_keyed() && !self.step.keyless || self.step.open_ended) {
            let part = self.step.open_ended;
            // A request that was sent again may be answered again.
            let repeats_message = r.answer_message == self.message && r.retransmissions == 0;
            self.answered = Some(Answer { second: !part, repeats_message, part, ..r.answer_at(self.now) });
        }
    }

    /// Examines a request whose answer may be followed by this message, if its late window is not over.
    fn examine_followed(&mut self, r: &Request, sent: Time) {
        let follows = self.answers.follows.contains(&r.answer_message) && r.state == State::Answered;
        let in_time = self.now.since(sent).is_none_or(|t| t <= self.late_window);
        if follows && in_time && self.answered.is_none() {
            let repeats_message = r.answer_message == self.message;
            self.accompanies = !repeats_message && self.copy.is_none();
            self.answered = Some(Answer { second: true, repeats_message, ..r.answer_at(self.now) });
        }
    }

    /// The result; `issued` is the value that the server issued last to this client.
    pub fn found(self, issued: Option<u32>) -> Found {
        let found = Found { open: self.open > 0, ended_early: self.ended_early, ..Found::default() };
        // A server waits for the end of a request before it answers.
        let is_partial = |candidate: &(Rank, u64)| candidate.0.1[2];
        let complete = self.any.filter(|candidate| !is_partial(candidate));
        let breaks_rule = |candidate: &(Rank, u64)| self.step.prefers_own && candidate.0.0 > 0;
        // A line of the console answers no other request.
        let is_line = self.step.lines && self.answered.is_some();
        let breaks_rule = |candidate: &(Rank, u64)| breaks_rule(candidate) || is_line && candidate.0.0 > 0;
        let waiting = self
            .waiting
            .filter(|candidate| !breaks_rule(candidate) || self.any.as_ref().is_some_and(breaks_rule));
        let by_order =
            waiting.filter(|candidate| !is_partial(candidate)).or(complete).or(waiting).or(self.any);
        let may_answer = |candidate: &(Rank, u64)| !(self.repeats_own_step && breaks_rule(candidate));
        let by_order =
            by_order.filter(may_answer).filter(|(rank, _)| !is_line || rank.0 == 0).map(|(_, seq)| seq);
        let by_key = self.by_key.filter(may_answer).map(|(_, seq)| seq);
        // An answer without its key is paired by order, if at all; so it may look like a copy of another answer.
        let is_ordered = !self.is_keyed() || self.key.is_none();
        let request = if is_ordered { by_order } else { by_key };
        if let Some(seq) = request {
            return Found { request: Some((seq, false)), ..found };
        }
        if let Some((_, seq)) = self.misanswered {
            return Found { request: Some((seq, false)), ..found };
        }
        if self.copy.is_some() && !self.accompanies {
            return Found { copy: self.copy, ..found };
        }
        if self.answered.is_some() {
            return Found { second: self.answered, ..found };
        }
        let has_issued = issued.is_some() && issued.map(u64::from) == self.key;
        let by_earlier_key = self.by_other_key.filter(|_| self.has_earlier_key).map(|(_, seq)| seq);
        let by_issued = (has_issued && self.open == 1).then_some(self.last_open.0);
        if let Some(seq) = by_earlier_key.or(by_issued).filter(|_| self.is_keyed()) {
            return Found { request: Some((seq, true)), ..found };
        }
        // A request that ends before its key is paired by order.
        if let Some(seq) = by_order.filter(|_| !self.step.keyless || self.step.fills_keys) {
            return Found { request: Some((seq, false)), ..found };
        }
        let asked = (self.open == 1).then_some(self.last_open.1 | Context::UNPAIRED);
        let key = asked.and(self.last_open.2);
        Found { asked, key, ..found }
    }
}
