//! Finds the request of a conversation that an answer belongs to.

use super::queue::{GIVEN_UP, PARTIAL, Request, State};
use super::windows::GIVE_UP;
use super::{Answer, Pairing};
use crate::capture::Time;
use crate::classify::Verdict;
use crate::contract::Answers;
use crate::protocols::{Context, StepInfo};

/// An order-paired answer may carry a time stamp this much before its request, in nanoseconds.
const SKEW: i64 = 10_000_000;

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Sequence number of the request, and whether the answer carries the issued value, or an earlier key, instead
    /// of the request's own key.
    pub request: Option<(u64, bool)>,
    /// Its pairing if it is a copy.
    pub copy: Option<Pairing>,
    /// It is a second, different answer.
    pub second: Option<Answer>,
    /// Requests of the step are open.
    pub open: bool,
    /// What the only open request asked, to which the answer does not belong: see [`Context::asked`].
    pub asked: Option<u32>,
    /// It may belong to a request further back than was searched.
    pub ended_early: bool,
}

/// The order of preference among open requests, the lowest first: requests of the answer's own step or, where all
/// steps are alike, requests that carry no issued value; then requests without a key where the answer has none
/// either, requests inside their window that were not given up where their keys or their steps are alike, and complete
/// requests.
type Rank = (u8, [bool; 3]);

/// The requests that an answer may belong to.
pub(super) fn answers_of(v: &Verdict) -> Answers {
    let message = v.id.info().messages.get(usize::from(v.probe.message));
    let answers = message.map_or(Answers::OWN, |message| message.answers);
    // A part that says which message it belongs to answers requests of no further step.
    let sure = v.probe.part.is_some_and(|part| part.makes.is_some());
    if sure { Answers { also: &[], ..answers } } else { answers }
}

/// Examines the requests of a conversation, the latest first, and keeps the best of each kind.
#[derive(Debug)]
pub(super) struct Search<'v> {
    step: &'v StepInfo,
    number: u8,
    message: u8,
    /// Its request_state.
    state: u32,
    answers: Answers,
    key: Option<u64>,
    window: i64,
    now: Time,
    hash: u32,
    /// Oldest open request with the key; see [`Rank`].
    by_key: Option<(Rank, u64)>,
    /// Oldest open request with another key.
    by_other_key: Option<(Rank, u64)>,
    /// Of the requests that are paired by order: the oldest open one inside its window that was not given up, and
    /// the oldest open one at all.
    waiting: Option<(Rank, u64)>,
    any: Option<(Rank, u64)>,
    open: u32,
    only_open: (u64, u32),
    copy: Option<Pairing>,
    /// Whether the answer that it copies has the same bytes.
    same: bool,
    /// An answer to a request of its own step has the same bytes.
    repeats: bool,
    answered: Option<Answer>,
    /// That request was sent after the one whose answer it copies, and other messages may follow its answer.
    accompanies: bool,
    /// When the latest request was sent that the answer may belong to.
    latest: Option<Time>,
    /// An earlier request of another step has the key, see [`StepInfo::key_of`].
    earlier: bool,
    /// Requests further back were not examined, although it may belong to one of them.
    ended_early: bool,
}

impl<'v> Search<'v> {
    pub fn new(v: &'v Verdict, step: &'v StepInfo, window: i64, now: Time, hash: u32) -> Self {
        Search {
            step,
            number: v.probe.step,
            message: v.probe.message,
            state: v.probe.request_state,
            answers: answers_of(v),
            key: v.probe.key,
            window,
            now,
            hash,
            by_key: None,
            by_other_key: None,
            waiting: None,
            any: None,
            open: 0,
            only_open: (0, 0),
            copy: None,
            same: false,
            repeats: false,
            answered: None,
            accompanies: false,
            latest: None,
            earlier: false,
            ended_early: false,
        }
    }

    fn keyed(&self) -> bool {
        self.step.key_digits > 0
    }

    /// Whether the answer has no key and needs none.
    fn is_keyless(&self) -> bool {
        self.step.keyless && self.key.is_none()
    }

    fn has_key_of(&self, r: &Request) -> bool {
        r.key().is_some() && r.key() == self.key
    }

    /// Whether to go on beyond the latest requests: the one with the key may be anywhere, and without a key the
    /// oldest is sought of those that wait. If there is no room to go on, that is noted.
    pub fn goes_on(&mut self, next: &Request, room: bool) -> bool {
        let keyed = self.keyed() && !self.is_keyless();
        let found = self.by_key.is_some() || self.copy.is_some();
        let wanted = if keyed { !found } else { matches!(next.state, State::Open | State::Gone) };
        self.ended_early = wanted && !room;
        wanted && room
    }

    /// Examines a request that was last sent at that time, by its time stamp.
    pub fn look(&mut self, seq: u64, r: &Request, sent: Time) {
        self.earlier |= self.step.key_of == Some(r.step) && self.has_key_of(r);
        self.look_followed(r, sent);
        let Some(place) = self.place(r) else { return };
        self.repeats |= place == 0 && r.state == State::Answered && r.answer_hash == self.hash;
        // What the client asks with another key gives up nothing that it asked with this one.
        let given_up = match self.answers.alike || self.step.reuses_keys && self.has_key_of(r) {
            true => self.latest.get_or_insert(sent).since(sent).is_some_and(|t| t >= GIVE_UP),
            false => r.is(GIVEN_UP),
        };
        match r.state {
            State::Open => self.look_open(seq, r, sent, (place, given_up)),
            State::Answering if self.step.open_ended => self.look_answered(r),
            // A server may answer with another key than the request's: copies of such an answer are recognised by
            // their bytes.
            State::Answered if !self.keyed() || self.has_key_of(r) || r.answer_hash == self.hash => {
                self.look_answered(r);
            }
            _ => {}
        }
    }

    /// The rank of its step among the steps that the answer may belong to; `None` where the answer cannot belong to
    /// the request.
    fn place(&self, r: &Request) -> Option<u8> {
        let Answers { also, alike, .. } = self.answers;
        let also = || also.iter().position(|step| *step == r.step).map(|at| at.saturating_add(1) as u8);
        let place = if r.step == self.number { Some(0) } else { also() };
        let place =
            if alike { place.map(|_| u8::from(r.request_state & self.step.carries != 0)) } else { place };
        place.filter(|_| !self.step.excluded(self.state, r.request_state))
    }

    fn look_open(&mut self, seq: u64, r: &Request, sent: Time, (place, given_up): (u8, bool)) {
        self.open += 1;
        self.only_open = (seq, r.request_state);
        // What may continue the answer to a later request does not answer one that was given up.
        let passed_over = (self.step.open_ended || self.step.lines) && self.answered.is_some();
        // Older requests are examined later, and are preferred.
        let better = |kept: Option<(Rank, u64)>, rank| kept.is_none_or(|(kept, _)| rank <= kept);
        if r.key().is_some() && !self.is_keyless() {
            // Where the key is always the same, it proves no more than the order.
            let waits = !given_up && self.now.since(sent).is_none_or(|t| t <= self.window);
            if passed_over && !waits {
                return;
            }
            let rank = (place, [false, self.step.reuses_keys && !waits, false]);
            let kept = if self.has_key_of(r) { &mut self.by_key } else { &mut self.by_other_key };
            if better(*kept, rank) {
                *kept = Some((rank, seq));
            }
            return;
        }
        let age = self.now.since(sent);
        if age.is_some_and(|t| t < -SKEW) {
            return; // sent only after the answer
        }
        // A request that carries an issued value was sent because that came: it gives up no other request for one.
        let awaits_value = self.answers.alike && place == 0;
        // A complete request is preferred to a partial one.
        let rank = (place, [r.key().is_some(), awaits_value && given_up, r.is(PARTIAL)]);
        if !passed_over && better(self.any, rank) {
            self.any = Some((rank, seq));
        }
        if (awaits_value || !given_up) && age.is_none_or(|t| t <= self.window) && better(self.waiting, rank) {
            self.waiting = Some((rank, seq));
        }
    }

    fn look_answered(&mut self, r: &Request) {
        if self.step.lines {
            self.answered.get_or_insert(Answer { second: true, ..r.answered(self.now) });
            return;
        }
        if self.step.open_ended && self.answered.is_some() {
            return; // the latest answer continues
        }
        let same = r.answer_hash == self.hash;
        if same || self.step.once {
            // Of the answers to one key, take the one with the same bytes, or else the latest.
            if self.copy.is_none() || same && !self.same {
                (self.copy, self.same) = (Some(r.copied(r.answer_frame())), same);
            }
        } else if self.answered.is_none() && (self.keyed() && !self.step.keyless || self.step.open_ended) {
            let part = self.step.open_ended;
            // A request that was sent again may be answered again.
            let alike = r.answer_message == self.message && r.retransmissions == 0;
            self.answered = Some(Answer { second: !part, alike, part, ..r.answered(self.now) });
        }
    }

    /// Examines a request that was answered by a message which this one may follow, if its window is not over.
    fn look_followed(&mut self, r: &Request, sent: Time) {
        let follows = self.answers.follows.contains(&r.answer_message) && r.state == State::Answered;
        let in_time = self.now.since(sent).is_none_or(|t| t <= self.window);
        if follows && in_time && self.answered.is_none() {
            let alike = r.answer_message == self.message;
            self.accompanies = !alike && self.copy.is_none();
            self.answered = Some(Answer { second: true, alike, ..r.answered(self.now) });
        }
    }

    /// The result; `issued` is the value that the server issued last to this client.
    pub fn found(self, issued: Option<u32>) -> Found {
        let found = Found { open: self.open > 0, ended_early: self.ended_early, ..Found::default() };
        // A server waits for the end of a request before it answers.
        let is_partial = |found: &(Rank, u64)| found.0.1[2];
        let complete = self.any.filter(|found| !is_partial(found));
        // Where it is wrong to answer another step, requests of its own are preferred even late, and copies are none.
        let wrong = |found: &(Rank, u64)| self.step.rules.other_step.is_some() && found.0.0 > 0;
        let waiting = self.waiting.filter(|found| !wrong(found) || self.any.as_ref().is_some_and(wrong));
        let by_order = waiting.filter(|found| !is_partial(found)).or(complete).or(waiting).or(self.any);
        let answers = |found: &(Rank, u64)| !(self.repeats && wrong(found));
        let by_order = by_order.filter(answers).map(|(_, seq)| seq);
        let by_key = self.by_key.filter(answers).map(|(_, seq)| seq);
        // Without its key, an answer is paired by order, if at all; so it may look like a copy of another.
        let ordered = !self.keyed() || self.key.is_none();
        let request = if ordered { by_order } else { by_key };
        if let Some(seq) = request {
            return Found { request: Some((seq, false)), ..found };
        }
        if self.copy.is_some() && !self.accompanies {
            return Found { copy: self.copy, ..found };
        }
        if self.answered.is_some() {
            return Found { second: self.answered, ..found };
        }
        let issued = issued.is_some() && issued.map(u64::from) == self.key;
        let earlier = self.by_other_key.filter(|_| self.earlier).map(|(_, seq)| seq);
        let only = (issued && self.open == 1).then_some(self.only_open.0);
        if let Some(seq) = earlier.or(only).filter(|_| self.keyed()) {
            return Found { request: Some((seq, true)), ..found };
        }
        // A request that ends before its key is paired by order.
        if let Some(seq) = by_order.filter(|_| !self.step.keyless) {
            return Found { request: Some((seq, false)), ..found };
        }
        let asked = (self.open == 1).then_some(self.only_open.1 | Context::NOT_ITS_OWN);
        Found { asked, ..found }
    }
}
