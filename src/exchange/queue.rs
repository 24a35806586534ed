//! The requests of one protocol in the order they were asked: a bounded queue.

use super::{Answer, Exchange};
use crate::capture::Time;
use crate::conversation::Slot;
use crate::protocols::Level;
use std::collections::VecDeque;

/// Most requests remembered per protocol: open ones, and answered ones until their late window ends.
pub const MAX_REQUESTS: usize = 65_536;
/// The least that a queue grows by.
const MIN_GROWTH: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// Some parts of the answer have come.
    Answering,
    Answered,
    /// Closed without an answer, or moved to the end of the queue.
    Gone,
}

/// A request, open or remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub conversation: Slot,
    /// Sequence number, plus one, of the request before it in its conversation; 0 for none.
    pub previous: u64,
    pub id: u64,
    pub key: u64,
    pub memo: u64,
    pub frame: u64,
    pub time: Time,
    /// Time stamp of the last transmission: windows run from it.
    pub sent: Time,
    /// Capture time at the last transmission: forgetting goes by it, for it never jumps back.
    pub last: Time,
    pub answer_hash: u64,
    pub answer_frame: u64,
    pub bytes: u32,
    pub retransmissions: u16,
    pub parts: u8,
    pub step: u8,
    /// What its bytes would be worth as an answer, if they turn out to be one.
    pub paired: Level,
    pub state: State,
    pub given_up: bool,
    /// No other request of the step was open when it was asked, so that as long as it is the latest
    /// it is the only one an answer can belong to.
    pub alone: bool,
    /// The last part of the request has not come yet.
    pub partial: bool,
}

impl Request {
    /// The facts of an answer that came at `time`, inside the window.
    #[inline(always)]
    pub fn answered(&self, time: Time) -> Answer {
        Answer {
            exchange: self.id,
            request_frame: self.frame,
            asked: self.memo,
            response_time: time.since(self.time),
            request_bytes: self.bytes,
            late: false,
            second: false,
            foreign_key: false,
            part: false,
            elsewhere: false,
        }
    }
}

/// Exchanges that have closed and were not reported yet. Starts again at its first place whenever it
/// has been emptied, so that the usual one or two stay in the fastest memory.
#[derive(Debug, Default)]
pub(super) struct Closed {
    list: Vec<Exchange>,
    shown: usize,
}

impl Closed {
    pub fn push(&mut self, e: Exchange) {
        self.list.push(e);
    }
    pub fn front_mut(&mut self) -> Option<&mut Exchange> {
        self.list.get_mut(self.shown)
    }
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

/// Requests by sequence number; the oldest leave at the front.
#[derive(Debug)]
pub(super) struct Queue {
    requests: VecDeque<Request>,
    first: u64,
    /// The protocol's late window in nanoseconds.
    late: i64,
    /// When that of the oldest request ends; [`NEVER`] where there is none.
    due: Time,
}

/// Later than any time stamp.
pub(super) const NEVER: Time = Time::from_nanos(i64::MAX);

impl Queue {
    pub fn new(late: i64) -> Queue {
        Queue { requests: VecDeque::new(), first: 0, late, due: NEVER }
    }
    /// When the oldest request is to be forgotten; [`NEVER`] where there is none.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.due
    }
    fn see_due(&mut self) {
        self.due = self.requests.front().map_or(NEVER, |oldest| oldest.last.plus(self.late));
    }
    pub fn get(&self, seq: u64) -> Option<&Request> {
        self.requests.get(seq.checked_sub(self.first)? as usize)
    }
    pub fn get_mut(&mut self, seq: u64) -> Option<&mut Request> {
        self.requests.get_mut(seq.checked_sub(self.first)? as usize)
    }
    /// The oldest, with its sequence number.
    pub fn oldest(&self) -> Option<(u64, &Request)> {
        Some((self.first, self.requests.front()?))
    }
    /// Takes the oldest out.
    pub fn drop_oldest(&mut self) {
        self.first += u64::from(self.requests.pop_front().is_some());
        self.see_due();
    }
    /// Sequence number of the next request.
    pub fn end(&self) -> u64 {
        self.first + self.requests.len() as u64
    }
    /// Appends a request.
    pub fn push(&mut self, request: Request) {
        if self.requests.len() == self.requests.capacity() {
            // By a quarter, not twofold: all of it is in use, for it goes round.
            self.requests.reserve_exact((self.requests.len() / 4).max(MIN_GROWTH));
        }
        self.requests.push_back(request);
        if self.requests.len() == 1 {
            self.see_due();
        }
    }
    /// The latest requests, the last one first, with their sequence numbers.
    pub fn latest(&self, most: u64) -> impl Iterator<Item = (u64, &Request)> {
        let end = self.end();
        (self.first.max(end.saturating_sub(most))..end).rev().filter_map(|seq| Some((seq, self.get(seq)?)))
    }
    pub fn len(&self) -> usize {
        self.requests.len()
    }
}
