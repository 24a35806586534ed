//! Idle conversations: they were certain, and all their requests are forgotten. They stay known for a while, because
//! clients ask again after ten or thirty seconds, and those requests belong to the same conversation.
//!
//! ```text
//!  last request forgotten ──> idle ──┬─ next request ───────> no longer idle
//!                                    ├─ any other datagram ─> idle since that datagram
//!                                    └─ 60 s, or no room ───> over
//! ```
//!
//! A conversation that did not begin with a request, and has had none since, ends after the same time.

use crate::bounded::packed::{Count, ones};
use crate::capture::Time;
use crate::protocols::Id;
use std::collections::VecDeque;

/// Most idle conversations remembered with 64 MiB.
pub const MAX_IDLE: usize = 8_192;
/// Idle conversations are remembered this long after their last datagram, in milliseconds of capture time.
const MAX_IDLE_MS: u64 = 60_000;
/// A datagram within this time after the last entry adds no further entry, in milliseconds.
pub(super) const MIN_INTERVAL: u64 = 1_000;
/// Added to stamps: makes them larger than any sequence number, and never 0.
const BIAS: i64 = 1 << 45;
const MS: i64 = 1_000_000;

/// The idle conversations, and the times since which they are idle. Entries of conversations that have sent a request
/// since, or are over, are skipped.
///
/// There is a list for each protocol, because protocols forget requests after different times, and the list
/// [`WITHOUT_REQUEST`]: so each list is in the order of time.
#[derive(Debug, Default)]
pub(super) struct Idle {
    lists: [VecDeque<Entry>; Id::ALL.len() + 1],
    /// The lists that have entries, one bit each: few of the protocols are in use.
    filled: u32,
    len: usize,
    /// The list with the oldest entry, and the stamp since which the conversation of that entry is idle.
    oldest: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) last: Count,
    pub(super) at: u32,
}

/// The list of conversations in which another datagram than a request came while they were idle, or at their beginning.
pub(super) const WITHOUT_REQUEST: usize = Id::ALL.len();

/// A time in milliseconds as a stamp, which fits in the field of the latest request's number and equals no such number.
#[inline]
pub(super) fn stamp(time: Time) -> u64 {
    (time.nanos().unwrap_or(i64::MIN).div_euclid(MS) + BIAS) as u64
}

impl Idle {
    /// Removes all entries.
    pub fn clear(&mut self) {
        self.lists.iter_mut().for_each(VecDeque::clear);
        (self.filled, self.len, self.oldest) = (0, 0, None);
    }

    /// Adds the conversation in a slot, whose last datagram has that stamp, to a list.
    #[inline]
    pub fn add(&mut self, list: usize, last: u64, at: u32) {
        self.lists[list].push_back(Entry { last: Count::new(last), at });
        self.len += 1;
        if self.lists[list].len() == 1 {
            self.filled |= 1 << list;
            self.find_oldest();
        }
    }

    /// The slot in the entry that is `ahead` places behind the oldest one in its list.
    #[inline(always)]
    pub fn slot_ahead(&self, ahead: usize) -> Option<u32> {
        let (list, _) = self.oldest?;
        self.lists[list].get(ahead).map(|entry| entry.at)
    }

    pub fn pop_oldest(&mut self) -> Option<Entry> {
        let (list, _) = self.oldest?;
        let entry = self.lists[list].pop_front()?;
        self.len -= 1;
        if self.lists[list].is_empty() {
            self.filled &= !(1 << list);
        }
        self.find_oldest();
        Some(entry)
    }

    /// Number of entries, including those of conversations that are over.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the conversation of the oldest entry has been idle for too long at that stamp.
    pub fn is_over(&self, now: u64) -> bool {
        self.oldest.is_some_and(|(_, last)| last + MAX_IDLE_MS < now)
    }

    /// The time after which a conversation has been idle for too long; `None` where there is no entry.
    pub fn until(&self) -> Option<Time> {
        let (_, last) = self.oldest?;
        Some(Time::from_nanos(((last + MAX_IDLE_MS + 1) as i64 - BIAS).saturating_mul(MS) - 1))
    }

    fn find_oldest(&mut self) {
        let first = |list: usize| Some((list, self.lists[list].front()?.last.get()));
        self.oldest = ones(self.filled).filter_map(first).min_by_key(|&(_, last)| last);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Slot;
    use super::super::table::Conversations;
    use super::*;
    use crate::contract::Budget;
    use crate::net::Endpoint;
    use crate::protocols::Level;

    const S: i64 = 1_000 * MS;

    fn end(n: u16) -> Endpoint {
        Endpoint::v4([192, 0, 2, 1], n)
    }

    fn at(seconds: i64) -> Time {
        Time::from_nanos(seconds * S)
    }

    /// Adds a conversation that was certain and is idle since that second.
    fn add_idle(table: &mut Conversations, client: u16, since: i64) -> Slot {
        add_idle_in(table, Id::Sqp, client, since)
    }

    fn add_idle_in(table: &mut Conversations, id: Id, client: u16, since: i64) -> Slot {
        let (slot, _) = table.open(end(client), end(9), id);
        let c = table.get_mut(slot).unwrap();
        c.level = Level::Medium;
        c.decide(true, false);
        c.note_request(7);
        table.make_idle(slot, at(since));
        slot
    }

    #[test]
    fn a_certain_conversation_stays_known_for_a_minute() {
        let mut table = Conversations::new(Budget::default());
        let (slot, _) = table.open(end(1), end(9), Id::Sqp);
        table.make_idle(slot, at(0));
        assert!(table.get(slot).is_none(), "it was never certain");
        for since in [0, -5_000_000_000, 1_767_225_600] {
            let slot = add_idle(&mut table, 1, since);
            assert_eq!(table.idle_until(), Some(at(since + 60).plus(MS - 1)));
            table.expire_idle(at(since + 60));
            assert_eq!(table.find(end(9), end(1), Id::Sqp), Some(slot));
            assert!(table.latest(slot) > 1 << 44, "its request is forgotten");
            table.expire_idle(at(since + 60).plus(MS));
            assert_eq!((table.find(end(9), end(1), Id::Sqp), table.idle_until()), (None, None));
        }
    }

    #[test]
    fn each_datagram_restarts_the_minute_and_a_request_ends_it() {
        let mut table = Conversations::new(Budget::default());
        let [other, one] = [(1, 0), (2, 10)].map(|(n, since)| add_idle(&mut table, n, since));
        let older = add_idle_in(&mut table, Id::Gqp, 3, 5);
        table.wake(one, false, at(50));
        table.wake(other, true, at(55));
        assert_eq!(table.latest(other), 1);
        table.expire_idle(at(66));
        assert!(table.get(older).is_none(), "in the order of time, not of insertion");
        table.expire_idle(at(110));
        assert!(table.get(one).is_some() && table.get(other).is_some());
        table.expire_idle(at(111));
        assert!(table.get(one).is_none() && table.get(other).is_some());
    }

    #[test]
    fn idle_conversations_are_dropped_first_and_not_counted() {
        let mut table = Conversations::of(Budget::default(), 3);
        let (asking, _) = table.open(end(1), end(9), Id::Sqp);
        let [one, two] = [2, 3].map(|n| add_idle(&mut table, n, 0));
        table.wake(one, true, at(1));
        assert!(table.open(end(4), end(9), Id::Sqp).1.is_none());
        assert!(table.get(two).is_none() && table.get(asking).is_some() && table.evicted() == 0);
        assert_eq!(table.open(end(5), end(9), Id::Sqp).1.map(|c| c.client()), Some(end(1)));
        assert_eq!(table.evicted(), 1);
    }

    #[test]
    fn a_conversation_without_a_request_ends_after_a_minute() {
        let mut table = Conversations::new(Budget::default());
        let [silent, asking] = [1, 2].map(|n| {
            let (slot, _) = table.open(end(n), end(9), Id::Sqp);
            table.await_request(slot, at(0));
            slot
        });
        table.get_mut(asking).unwrap().note_request(7);
        table.expire_idle(at(60));
        assert!(table.get(silent).is_some());
        table.expire_idle(at(60).plus(MS));
        assert!(table.get(silent).is_none() && table.get(asking).is_some());
    }

    #[test]
    fn drops_the_oldest_of_too_many_idle_conversations() {
        let mut table = Conversations::new(Budget::default());
        let first = add_idle(&mut table, 0, 0);
        let all: Vec<_> = (1..MAX_IDLE as u16).map(|n| add_idle(&mut table, n, 1)).collect();
        assert!(table.get(first).is_some());
        add_idle(&mut table, MAX_IDLE as u16, 1);
        assert!(table.get(first).is_none() && all.into_iter().all(|slot| table.get(slot).is_some()));
        assert_eq!(table.evicted(), 0);
    }
}
