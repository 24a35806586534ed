//! A bounded queue of the requests of one protocol, in the order in which they were sent.

use super::{Answer, Exchange, Pairing};
use crate::capture::Time;
use crate::packed::Marks;
use crate::protocols::Level;
use std::collections::VecDeque;

/// Most requests remembered with 64 MiB: open ones, and answered ones until their late windows end.
pub const MAX_REQUESTS: usize = 524_288;
/// The fewest requests that a queue grows by.
const MIN_GROWTH: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// Some parts of the answer have come.
    Answering,
    Answered,
    /// Closed without an answer, or moved to the end of the queue.
    Gone,
    /// Withdrawn: it was an answer instead, as far as is known.
    Withdrawn,
}

/// A request, open or remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Number of its conversation's slot, which still holds that conversation as long as the request is not
    /// [`State::Gone`].
    pub conversation: u32,
    /// Sequence number, plus one, of the request before it in its conversation; 0 for none.
    pub previous: u64,
    pub id: u64,
    /// `None` where the step has no key, and where the message ends before the key.
    pub key: Option<u64>,
    pub request_state: u32,
    pub frame: u64,
    pub time: Time,
    /// Time stamp of the last transmission, from which windows run.
    pub sent: Time,
    /// Capture time at the last transmission. Requests are forgotten by this time, because it never jumps back.
    pub last: Time,
    pub answer_hash: u32,
    pub answer_frame: u64,
    /// Index into the protocol's messages, once it is answered.
    pub answer_message: u8,
    pub bytes: u32,
    pub retransmissions: u16,
    pub parts: u8,
    pub step: u8,
    /// Confidence of the pair if it turns out to be an answer.
    pub paired: Level,
    pub state: State,
    pub given_up: bool,
    /// No other request of the step was open when it was sent, so that as long as it is the latest request, it is
    /// the only one that an answer can belong to.
    pub alone: bool,
    /// The last part of the request has not come yet.
    pub partial: bool,
    /// Its datagram is not reported, so that a missing answer is not reported either.
    pub hidden: bool,
}

/// A request as it is kept, in one cache line: tens of thousands are kept until their late windows end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub id: u64,
    key: u64,
    pub frame: u64,
    time: Time,
    pub conversation: u32,
    /// How many requests of the protocol ago the previous request of its conversation was sent; 0 for none.
    back: u32,
    pub request_state: u32,
    pub bytes: u32,
    pub answer_hash: u32,
    /// The lower half of the frame's number: an answer comes less than 2^31 frames after its request, or before it.
    answer_frame: u32,
    retransmissions: u16,
    pub parts: u8,
    pub step: u8,
    paired: Level,
    pub answer_message: u8,
    pub state: State,
    marks: Marks,
}

/// See [`Request::given_up`], [`Request::alone`], [`Request::partial`].
const GIVEN_UP: u8 = 1;
const ALONE: u8 = 1 << 1;
const PARTIAL: u8 = 1 << 2;
/// Its three times are equal; otherwise [`Queue::times`] has the other two.
const TIMELY: u8 = 1 << 3;
/// It has a key.
const KEYED: u8 = 1 << 4;
/// See [`Request::hidden`].
const HIDDEN: u8 = 1 << 5;

impl Kept {
    #[inline(always)]
    pub fn answer_frame(&self) -> u64 {
        let after = self.answer_frame.wrapping_sub(self.frame as u32) as i32;
        self.frame.wrapping_add_signed(after.into())
    }
    /// See [`Request::key`].
    #[inline(always)]
    pub fn key(&self) -> Option<u64> {
        self.marks.has(KEYED).then_some(self.key)
    }
    /// Marks its datagram as not reported.
    pub fn hide(&mut self) {
        self.marks.set(HIDDEN, true);
    }
    /// Sets whether its last part is still to come.
    pub fn set_partial(&mut self, partial: bool) {
        self.marks.set(PARTIAL, partial);
    }
    /// Marks it as given up: the client sends other requests now, and of several requests an answer does not belong
    /// to this one.
    pub fn give_up(&mut self) {
        self.marks.set(GIVEN_UP, true);
    }
    /// See [`Request::previous`].
    #[inline(always)]
    pub fn previous(&self, seq: u64) -> u64 {
        if self.back == 0 { 0 } else { seq + 1 - u64::from(self.back) }
    }
    /// The `seq`-th request, as it was added and has changed since.
    #[inline(always)]
    fn request(&self, seq: u64, times: &VecDeque<Times>) -> Request {
        let (sent, last) = if self.marks.has(TIMELY) { (self.time, self.time) } else { times_of(seq, times) };
        Request {
            conversation: self.conversation,
            previous: self.previous(seq),
            id: self.id,
            key: self.key(),
            request_state: self.request_state,
            frame: self.frame,
            time: self.time,
            sent,
            last,
            answer_hash: self.answer_hash,
            answer_frame: self.answer_frame(),
            answer_message: self.answer_message,
            bytes: self.bytes,
            retransmissions: self.retransmissions,
            parts: self.parts,
            step: self.step,
            paired: self.paired,
            state: self.state,
            given_up: self.marks.has(GIVEN_UP),
            alone: self.marks.has(ALONE),
            partial: self.marks.has(PARTIAL),
            hidden: self.marks.has(HIDDEN),
        }
    }
}

const _: () = assert!(size_of::<Kept>() == 64);

/// The times of a request that was sent again, or whose time stamp is out of order.
#[derive(Clone, Copy, Debug)]
struct Times {
    seq: u64,
    sent: Time,
    last: Time,
}

impl Request {
    /// The pairing of a copy of the answer in the frame `of`.
    pub fn copied(&self, of: u64) -> Pairing {
        Pairing::DuplicateResponse {
            exchange: self.id,
            request_frame: self.frame,
            of,
            asked: self.request_state,
        }
    }

    /// The facts of an answer that came at `time`, inside the window.
    #[inline(always)]
    pub fn answered(&self, time: Time) -> Answer {
        Answer {
            exchange: self.id,
            request_frame: self.frame,
            asked: self.request_state,
            response_time: time.since(self.time),
            request_bytes: self.bytes,
            late: false,
            second: false,
            alike: false,
            keyless: false,
            other_step: false,
            contradicts: false,
            foreign_key: false,
            part: false,
            shuffled: false,
            before: 0,
            elsewhere: false,
        }
    }
}

/// Exchanges that have closed and were not reported yet. The list starts again at its first place whenever it is
/// emptied, so that the usual one or two exchanges stay in the fastest memory.
#[derive(Debug, Default)]
pub(super) struct Closed {
    list: Vec<Exchange>,
    shown: usize,
}

impl Closed {
    #[inline]
    pub fn push(&mut self, e: Exchange) {
        self.list.push(e);
    }
    /// Sets which message answered an exchange that has just closed.
    pub fn name(&mut self, exchange: u64, message: u8) {
        let its = self.list.iter_mut().rev().find(|e| e.id == exchange);
        its.into_iter().for_each(|e| e.answer = Some(message));
    }
    /// Notes that another endpoint has answered an exchange that has just closed.
    #[cold]
    pub fn set_elsewhere(&mut self, exchange: u64) {
        let its = self.list.iter_mut().rev().find(|e| e.id == exchange);
        its.into_iter().for_each(|e| e.elsewhere = true);
    }
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut Exchange> {
        self.list.get_mut(self.shown)
    }
    #[inline(always)]
    pub fn front(&self) -> Option<&Exchange> {
        self.list.get(self.shown)
    }
    #[inline]
    pub fn drop_front(&mut self) {
        self.shown += 1;
        if self.shown >= self.list.len() {
            self.list.clear();
            self.shown = 0;
        }
    }
    pub fn next(&mut self) -> Option<Exchange> {
        let e = self.front_mut().map(|e| e.clone());
        self.drop_front();
        e
    }
}

/// When a request that is not timely was last sent, by its time stamp and in capture time.
#[cold]
fn times_of(seq: u64, times: &VecDeque<Times>) -> (Time, Time) {
    let at = times.partition_point(|times| times.seq < seq);
    times.get(at).map_or((Time::UNKNOWN, Time::UNKNOWN), |times| (times.sent, times.last))
}

/// Requests by sequence number; the oldest are removed at the front.
#[derive(Debug)]
pub(super) struct Queue {
    requests: VecDeque<Kept>,
    first: u64,
    /// The times of the requests that are not timely, in order.
    times: VecDeque<Times>,
    /// The protocol's late window in nanoseconds.
    late: i64,
    /// When the late window of the oldest request ends; [`NEVER`] where there is none.
    due: Time,
}

/// Later than any time stamp.
pub(super) const NEVER: Time = Time::from_nanos(i64::MAX);

impl Queue {
    pub fn new(late: i64) -> Queue {
        Queue { requests: VecDeque::new(), first: 0, times: VecDeque::new(), late, due: NEVER }
    }
    /// When the oldest request is to be forgotten; [`NEVER`] where there is none.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.due
    }
    /// Capture time at the last transmission of the oldest request.
    #[inline]
    pub fn oldest_sent(&self) -> Time {
        match self.requests.front() {
            Some(oldest) if oldest.marks.has(TIMELY) => oldest.time,
            _ => times_of(self.first, &self.times).1,
        }
    }
    fn see_due(&mut self) {
        self.due = if self.requests.is_empty() { NEVER } else { self.oldest_sent().plus(self.late) };
    }
    #[inline(always)]
    pub fn get(&self, seq: u64) -> Option<Request> {
        Some(self.kept(seq)?.request(seq, &self.times))
    }
    /// The request that [`Request::previous`] of a later one, or
    /// [`latest`](crate::conversation::Conversation::latest) of a conversation, points to.
    #[inline(always)]
    pub fn back_to(&self, next: u64) -> Option<(u64, Request)> {
        let seq = next.checked_sub(1)?;
        Some((seq, self.get(seq)?))
    }
    /// Marks a request as answered; returns the request as it was before.
    #[inline(always)]
    pub fn answer(
        &mut self,
        seq: u64,
        state: State,
        hash: u32,
        (frame, message): (u64, u8),
    ) -> Option<Request> {
        let kept = self.requests.get_mut(seq.checked_sub(self.first)? as usize)?;
        let request = kept.request(seq, &self.times);
        (kept.state, kept.answer_hash, kept.answer_frame) = (state, hash, frame as u32);
        kept.answer_message = message;
        Some(request)
    }
    /// The request as it is kept.
    #[inline(always)]
    pub fn kept(&self, seq: u64) -> Option<&Kept> {
        self.requests.get(seq.checked_sub(self.first)? as usize)
    }
    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, seq: u64) -> Option<&mut Kept> {
        self.requests.get_mut(seq.checked_sub(self.first)? as usize)
    }
    /// Sets the state of a request.
    #[inline(always)]
    pub fn set(&mut self, seq: u64, state: State) {
        if let Some(kept) = self.get_mut(seq) {
            kept.state = state;
        }
    }
    /// The oldest request, with its sequence number.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(u64, &Kept)> {
        Some((self.first, self.requests.front()?))
    }
    /// Removes the oldest request.
    pub fn drop_oldest(&mut self) {
        let Some(oldest) = self.requests.front() else { return };
        if !oldest.marks.has(TIMELY) {
            self.times.pop_front();
        }
        self.requests.pop_front();
        self.first += 1;
        self.see_due();
    }
    /// Sequence number of the next request.
    pub fn end(&self) -> u64 {
        self.first + self.requests.len() as u64
    }
    /// Appends a request.
    #[inline(always)]
    pub fn push(&mut self, r: &Request) {
        if self.requests.len() == self.requests.capacity() {
            self.grow();
        }
        let seq = self.end();
        let timely = r.sent == r.time && r.last == r.time;
        if !timely {
            self.times.push_back(Times { seq, sent: r.sent, last: r.last });
        }
        self.requests.push_back(Kept {
            id: r.id,
            key: r.key.unwrap_or(0),
            frame: r.frame,
            time: r.time,
            conversation: r.conversation,
            // A request that is further back than 32 bits can count is long gone.
            back: if r.previous == 0 { 0 } else { u32::try_from(seq + 1 - r.previous).unwrap_or(0) },
            request_state: r.request_state,
            bytes: r.bytes,
            answer_hash: r.answer_hash,
            answer_frame: r.answer_frame as u32,
            answer_message: r.answer_message,
            retransmissions: r.retransmissions,
            parts: r.parts,
            step: r.step,
            paired: r.paired,
            state: r.state,
            marks: Marks::of([
                (GIVEN_UP, r.given_up),
                (ALONE, r.alone),
                (PARTIAL, r.partial),
                (TIMELY, timely),
                (KEYED, r.key.is_some()),
                (HIDDEN, r.hidden),
            ]),
        });
        if self.requests.len() == 1 {
            self.see_due();
        }
    }
    /// Grows by an eighth rather than twofold: the queue is a ring and uses all of its memory.
    #[cold]
    fn grow(&mut self) {
        self.requests.reserve_exact((self.requests.len() / 8).max(MIN_GROWTH));
    }
    /// At most `most` of the latest requests, the last one first, with their sequence numbers.
    pub fn latest(&self, most: u64) -> impl Iterator<Item = (u64, Request)> {
        let end = self.end();
        (self.first.max(end.saturating_sub(most))..end).rev().filter_map(|seq| Some((seq, self.get(seq)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Time stamps near each other, anywhere, or none.
    fn time() -> impl Strategy<Value = Time> {
        prop_oneof![
            4 => (0..4_i64).prop_map(Time::from_nanos),
            1 => any::<i64>().prop_map(Time::from_nanos),
            1 => Just(Time::UNKNOWN),
        ]
    }

    prop_compose! {
        /// A request whose `previous` counts back from its own place in the queue.
        fn request()(
            (time, sent, last) in prop_oneof![time().prop_map(|t| (t, t, t)), (time(), time(), time())],
            (id, key, frame, after) in (any::<u64>(), any::<Option<u64>>(), 1 << 40..u64::MAX >> 1, any::<i32>()),
            (conversation, request_state, bytes, answer_hash) in any::<(u32, u32, u32, u32)>(),
            (retransmissions, parts, step, previous) in (any::<u16>(), any::<u8>(), any::<u8>(), 0..9_u64),
            (given_up, alone, partial, hidden) in any::<(bool, bool, bool, bool)>(),
            state in prop::sample::select(vec![
                State::Open, State::Answering, State::Answered, State::Gone, State::Withdrawn,
            ]),
        ) -> Request {
            let (paired, answer_frame, answer_message) = (Level::High, frame.wrapping_add_signed(after.into()), 7);
            Request {
                conversation, previous, id, key, request_state, frame, time, sent, last, answer_hash, answer_frame, answer_message, bytes,
                retransmissions, parts, step, paired, state, given_up, alone, partial, hidden,
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(requests in prop::collection::vec((request(), any::<bool>()), 1..200)) {
            let (mut queue, mut model) = (Queue::new(7), VecDeque::new());
            let mut first = 0;
            for (mut r, leaves) in requests {
                // It points to one of the requests before it.
                let seq = queue.end();
                r.previous = if r.previous == 0 { 0 } else { (seq + 1).saturating_sub(r.previous) };
                queue.push(&r);
                model.push_back(r);
                if leaves {
                    queue.drop_oldest();
                    model.pop_front();
                    first += 1;
                }
                prop_assert_eq!(queue.requests.len(), model.len());
                prop_assert_eq!(queue.due(), model.front().map_or(NEVER, |oldest: &Request| oldest.last.plus(7)));
                for (seq, r) in (first..).zip(&model) {
                    prop_assert_eq!(queue.get(seq).map(|r| format!("{r:?}")), Some(format!("{r:?}")));
                }
                prop_assert!(queue.get(queue.end()).is_none());
            }
        }
    }
}
