//! A bounded queue of the requests of one protocol, in the order in which they were sent.

use super::{Answer, Pairing};
use crate::bounded::packed::Flags;
use crate::capture::Time;
use crate::net::Datagram;
use crate::protocols::{Level, Probe, Role};
use prefetch_index::prefetch_index;
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
    /// Bytes that are no message came in the place of its answer, which may still come inside the window.
    Unreadable,
    /// Closed without an answer, or moved to the end of the queue.
    Gone,
    /// Withdrawn: it was an answer instead, as far as is known.
    Withdrawn,
}

/// A request, open or remembered, in one cache line: tens of thousands are kept until their late windows end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub id: u64,
    /// See [`Request::key`].
    key: u64,
    pub frame: u64,
    pub time: Time,
    /// Number of its conversation's slot, which holds that conversation as long as the request is not [`State::Gone`].
    pub conversation: u32,
    /// The previous request of its conversation was sent this many requests of the protocol ago; 0 for none.
    back: u32,
    pub request_state: u32,
    pub bytes: u32,
    pub answer_hash: u32,
    /// The lower half of the frame's number: an answer comes less than 2^31 frames after its request, or before it.
    answer_frame: u32,
    pub retransmissions: u16,
    /// See [`Request::parts`] and [`Request::add_further`].
    counts: u8,
    pub step: u8,
    /// See [`Request::paired`] and [`Request::returns`].
    level: u8,
    /// The message that answered it: index into the protocol's messages.
    pub answer_message: u8,
    pub state: State,
    marks: Flags,
}

const _: () = assert!(size_of::<Request>() == 64);

/// The client sends other requests by now: of several requests, an answer belongs to another one.
pub(super) const GIVEN_UP: u8 = 1;
/// No other request of the step was open when it was sent: as long as it is the latest request, an answer can belong to
/// no other.
pub(super) const ALONE: u8 = 1 << 1;
/// The last part of the request has not come yet.
pub(super) const PARTIAL: u8 = 1 << 2;
/// It was sent once, and its time stamp is the capture time; otherwise [`Queue::sent`] has its other times.
const TIMELY: u8 = 1 << 3;
/// It has a key.
const KEYED: u8 = 1 << 4;
/// Its datagram is not reported, so that a missing answer is not reported either.
pub(super) const HIDDEN: u8 = 1 << 5;
/// Bytes that are no message came in the place of its answer. Its record waits until its late window ends.
pub(super) const MISANSWERED: u8 = 1 << 6;
/// The server has repeated an answer to it.
pub(super) const REPEATED: u8 = 1 << 7;

/// In [`Request::level`]: it carries a challenge that the server has issued to the client.
const RETURNS: u8 = 1 << 7;

// No two marks share a bit, and no level has the bit of the mark beside it.
const _: () = assert!(
    (GIVEN_UP | ALONE | PARTIAL | TIMELY | KEYED | HIDDEN | MISANSWERED | REPEATED).count_ones() == 8
        && (Level::High as u8) < RETURNS
);

/// When a request was last sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// By its time stamp, from which windows run.
    pub stamp: Time,
    /// In capture time. Requests are forgotten by this time, because it never jumps back.
    pub clock: Time,
}

impl Request {
    /// The request in a datagram of that conversation; it is in no queue yet.
    #[inline(always)]
    pub fn new(id: u64, conversation: u32, d: &Datagram<'_>, g: &Probe, alone: bool) -> Request {
        let partial = g.role == Role::RequestPart;
        Request {
            id,
            key: g.key.unwrap_or(0),
            frame: d.frame,
            time: d.time,
            conversation,
            back: 0,
            request_state: g.request_state,
            bytes: d.wire_len() as u32,
            answer_hash: 0,
            answer_frame: 0,
            retransmissions: 0,
            counts: 0,
            step: g.step,
            level: g.paired as u8,
            answer_message: u8::MAX,
            state: State::Open,
            marks: Flags::of([(ALONE, alone), (PARTIAL, partial), (KEYED, g.key.is_some())]),
        }
    }
    /// Confidence of the pair if the request turns out to be an answer.
    pub fn paired(&self) -> Level {
        match self.level & !RETURNS {
            level if level == Level::Hint as u8 => Level::Hint,
            level if level == Level::Low as u8 => Level::Low,
            level if level == Level::Medium as u8 => Level::Medium,
            _ => Level::High,
        }
    }
    /// Whether it carries a challenge that the server has issued to the client.
    #[inline(always)]
    pub fn returns(&self) -> bool {
        self.level & RETURNS != 0
    }
    /// Notes that it carries such a challenge.
    #[inline(always)]
    pub fn note_returned(&mut self) {
        self.level |= RETURNS;
    }
    /// Number of its datagrams, up to [`MAX_PARTS`](super::MAX_PARTS).
    pub fn parts(&self) -> u8 {
        (self.counts & 0xf) + 1
    }
    /// Adds a datagram, if there are fewer than [`MAX_PARTS`](super::MAX_PARTS).
    pub fn add_part(&mut self) {
        self.counts += u8::from(self.counts & 0xf < 0xf);
    }
    /// Counts a further answer, or a copy of one; returns their number, 15 at most.
    pub fn add_further(&mut self) -> u8 {
        self.counts += if self.counts < 0xf0 { 0x10 } else { 0 };
        self.counts >> 4
    }
    /// Whether a mark is set, one of the constants above.
    #[inline(always)]
    pub fn is(&self, mark: u8) -> bool {
        self.marks.has(mark)
    }
    /// Sets a mark or clears it.
    pub fn set_mark(&mut self, mark: u8, yes: bool) {
        self.marks.set(mark, yes);
    }
    /// Its key; `None` where the step has no key, and where the message ends before the key.
    #[inline(always)]
    pub fn key(&self) -> Option<u64> {
        self.marks.has(KEYED).then_some(self.key)
    }
    #[inline(always)]
    pub fn answer_frame(&self) -> u64 {
        let after = self.answer_frame.wrapping_sub(self.frame as u32) as i32;
        self.frame.wrapping_add_signed(after.into())
    }
    /// Flags it as answered by a datagram with that hash, in that frame and of that message.
    #[inline(always)]
    pub fn mark_answered(&mut self, hash: u32, frame: u64, message: u8) {
        (self.answer_hash, self.answer_frame, self.answer_message) = (hash, frame as u32, message);
    }
    /// Sequence number, plus one, of the request before it in its conversation; 0 for none. `seq` is its own.
    #[inline(always)]
    pub fn previous(&self, seq: u64) -> u64 {
        if self.back == 0 { 0 } else { seq + 1 - u64::from(self.back) }
    }

    /// The pairing of a copy of the answer in the frame `of`.
    pub fn duplicate_response(&self, of: u64) -> Pairing {
        Pairing::DuplicateResponse {
            exchange: self.id,
            request_frame: self.frame,
            of,
            asked: self.request_state,
            step: self.step,
            further: 0,
            first: false,
        }
    }

    /// The facts of an answer that came at `time`, inside the window.
    #[inline(always)]
    pub fn answer_at(&self, time: Time) -> Answer {
        Answer {
            exchange: self.id,
            request_frame: self.frame,
            asked: self.request_state,
            step: self.step,
            response_time: time.since(self.time),
            request_bytes: self.bytes,
            ..Answer::default()
        }
    }
}

/// Requests by sequence number; the oldest are removed at the front.
#[derive(Debug)]
pub(super) struct Queue {
    requests: VecDeque<Request>,
    /// Sequence number of the oldest request.
    first: u64,
    /// The times of the requests that are not timely, by sequence number and in order.
    times: VecDeque<(u64, Sent)>,
    /// The protocol's late window in nanoseconds.
    late_window: i64,
    /// When the late window of the oldest request ends; [`NEVER`] where there is none.
    due: Time,
}

/// Later than any time stamp.
pub(super) const NEVER: Time = Time::from_nanos(i64::MAX);

impl Queue {
    pub fn new(late_window: i64) -> Queue {
        Queue { requests: VecDeque::new(), first: 0, times: VecDeque::new(), late_window, due: NEVER }
    }
    /// When the oldest request is to be forgotten; [`NEVER`] where there is none.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.due
    }
    /// When a request was last sent.
    #[inline(always)]
    pub fn sent(&self, seq: u64, r: &Request) -> Sent {
        if r.marks.has(TIMELY) { Sent { stamp: r.time, clock: r.time } } else { self.other_times(seq) }
    }
    #[cold]
    fn other_times(&self, seq: u64) -> Sent {
        let at = self.times.partition_point(|(number, _)| *number < seq);
        let unknown = Sent { stamp: Time::UNKNOWN, clock: Time::UNKNOWN };
        self.times.get(at).map_or(unknown, |(_, sent)| *sent)
    }
    #[inline(always)]
    fn update_due(&mut self) {
        let oldest = self.oldest();
        self.due = oldest.map_or(NEVER, |(seq, r)| self.sent(seq, r).clock.plus(self.late_window));
    }
    #[inline(always)]
    pub fn get(&self, seq: u64) -> Option<&Request> {
        self.requests.get(seq.checked_sub(self.first)? as usize)
    }
    /// A request, mutably.
    #[inline(always)]
    pub fn get_mut(&mut self, seq: u64) -> Option<&mut Request> {
        self.requests.get_mut(seq.checked_sub(self.first)? as usize)
    }
    /// The request that [`Request::previous`] of a later one, or
    /// [`latest`](crate::conversation::Conversation::latest) of a conversation, points to.
    #[inline(always)]
    pub fn back_to(&self, next: u64) -> Option<(u64, &Request)> {
        let seq = next.checked_sub(1)?;
        Some((seq, self.get(seq)?))
    }
    /// Sets the state of a request.
    #[inline(always)]
    pub fn set_state(&mut self, seq: u64, state: State) {
        if let Some(request) = self.get_mut(seq) {
            request.state = state;
        }
    }
    /// The oldest request, with its sequence number.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(u64, &Request)> {
        Some((self.first, self.requests.front()?))
    }
    /// Removes the oldest request.
    #[inline(always)]
    pub fn drop_oldest(&mut self) {
        let Some(oldest) = self.requests.front() else { return };
        if !oldest.marks.has(TIMELY) {
            self.times.pop_front();
        }
        self.requests.pop_front();
        self.first += 1;
        self.update_due();
    }
    /// Prefetches the request that is `ahead` places behind the oldest one.
    #[inline(always)]
    pub fn prefetch(&self, ahead: usize) {
        let (front, back) = self.requests.as_slices();
        match ahead.checked_sub(front.len()) {
            None => prefetch_index(front, ahead),
            Some(ahead) => prefetch_index(back, ahead),
        }
    }
    /// Sequence number of the next request.
    pub fn end(&self) -> u64 {
        self.first + self.requests.len() as u64
    }
    /// Appends a request, last sent at these times; `previous` is the one before it in its conversation, see
    /// [`Request::previous`].
    #[inline(always)]
    pub fn push(&mut self, mut r: Request, previous: u64, sent: Sent) {
        if self.requests.len() == self.requests.capacity() {
            self.grow();
        }
        let seq = self.end();
        let timely = sent.stamp == r.time && sent.clock == r.time;
        if !timely {
            self.times.push_back((seq, sent));
        }
        r.marks.set(TIMELY, timely);
        // A request so far back that 32 bits cannot count it has been removed long ago.
        r.back = if previous == 0 { 0 } else { u32::try_from(seq + 1 - previous).unwrap_or(0) };
        self.requests.push_back(r);
        if self.requests.len() == 1 {
            self.update_due();
        }
    }
    /// Grows by an eighth rather than twofold: the queue is a ring and uses all of its memory.
    #[cold]
    fn grow(&mut self) {
        self.requests.reserve_exact((self.requests.len() / 8).max(MIN_GROWTH));
    }
    /// At most `most` of the latest requests, the last one first, with their sequence numbers.
    pub fn latest(&self, most: u64) -> impl Iterator<Item = (u64, &Request)> {
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
        /// A request, the times when it was last sent, and how many requests ago the previous one of its conversation
        /// was.
        fn request()(
            (time, stamp, clock) in prop_oneof![time().prop_map(|t| (t, t, t)), (time(), time(), time())],
            (id, key, frame, after) in (any::<u64>(), any::<Option<u64>>(), 1 << 40..u64::MAX >> 1, any::<i32>()),
            (conversation, step, alone, back) in (any::<u32>(), any::<u8>(), any::<bool>(), 0..9_u64),
        ) -> (Request, Sent, u64, u64) {
            let end = crate::net::Endpoint::v4([192, 0, 2, 1], 1);
            let d = Datagram { frame, time, ..Datagram::between(end, end, b"request") };
            let role = Role::RequestPart;
            let probe = Probe {
                message: 0, role, step, key, request_state: 9, level: Level::High, paired: Level::Low, begins: true, part: None,
            };
            let mut r = Request::new(id, conversation, &d, &probe, alone);
            let answer_frame = frame.wrapping_add_signed(after.into());
            r.mark_answered(7, answer_frame, 3);
            assert_eq!((r.key(), r.is(ALONE), r.is(PARTIAL), r.bytes), (key, alone, true, 7));
            (r, Sent { stamp, clock }, answer_frame, back)
        }
    }

    proptest! {
        #[test]
        fn requests_are_read_back_as_pushed(requests in prop::collection::vec((request(), any::<bool>()), 1..200)) {
            let (mut queue, mut model) = (Queue::new(7), VecDeque::new());
            let mut first = 0;
            for ((r, sent, answer_frame, back), drops_oldest) in requests {
                // It points to one of the requests before it.
                let previous = if back == 0 { 0 } else { (queue.end() + 1).saturating_sub(back) };
                queue.push(r, previous, sent);
                model.push_back((r.id, previous, sent, answer_frame));
                if drops_oldest {
                    queue.drop_oldest();
                    model.pop_front();
                    first += 1;
                }
                prop_assert_eq!(queue.requests.len(), model.len());
                prop_assert_eq!(queue.due(), model.front().map_or(NEVER, |oldest| oldest.2.clock.plus(7)));
                for (seq, expected) in (first..).zip(&model) {
                    let r = queue.get(seq).unwrap();
                    prop_assert_eq!((r.id, r.previous(seq), queue.sent(seq, r), r.answer_frame()), *expected);
                }
                prop_assert!(queue.get(queue.end()).is_none());
            }
        }
    }
}
