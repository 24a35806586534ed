//! Sums up how a server answered over time in a few numbers, from which a sparkline is drawn.

use crate::exchange::{Exchange, Outcome};
use serde_json::{Value, json};

/// Most slots of a trace, which goes from the beginning of the captures to their end.
pub const MAX_SLOTS: usize = 24;
/// Length of a slot at first, in nanoseconds; it doubles whenever a request comes after the last slot.
const SHORTEST: i64 = 1_000_000;

/// The exchanges of a server, counted by the time of their requests.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Length of a slot in nanoseconds.
    length: i64,
    slots: [Slot; MAX_SLOTS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slot {
    requests: u32,
    /// Requests that were not answered, or refused.
    lost: u32,
    /// Answers with a response time, and the sum of their response times in nanoseconds.
    timed: u32,
    waited: i64,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { length: SHORTEST, slots: [Slot::default(); MAX_SLOTS] }
    }
}

impl Trace {
    /// Counts an exchange whose request came `after` nanoseconds after the beginning.
    pub fn add(&mut self, after: i64, e: &Exchange) {
        let after = after.max(0);
        while after / self.length >= MAX_SLOTS as i64 {
            self.fold();
        }
        let Some(slot) = self.slots.get_mut((after / self.length) as usize) else { return };
        slot.requests = slot.requests.saturating_add(1);
        slot.lost =
            slot.lost.saturating_add(u32::from(matches!(e.outcome, Outcome::Unanswered | Outcome::Refused)));
        if let Some(time) = e.response_time {
            slot.timed = slot.timed.saturating_add(1);
            slot.waited = slot.waited.saturating_add(time);
        }
    }

    /// Doubles the length of the slots.
    fn fold(&mut self) {
        let old = std::mem::take(self);
        self.length = old.length.saturating_mul(2);
        for (slot, pair) in self.slots.iter_mut().zip(old.slots.chunks(2)) {
            for half in pair {
                slot.requests = slot.requests.saturating_add(half.requests);
                slot.lost = slot.lost.saturating_add(half.lost);
                slot.timed = slot.timed.saturating_add(half.timed);
                slot.waited = slot.waited.saturating_add(half.waited);
            }
        }
    }

    /// Length of a slot in nanoseconds.
    pub fn length(&self) -> i64 {
        self.length
    }

    /// For each slot: requests, lost requests, and the mean response time in seconds or null. Slots are at least `length`
    /// long.
    pub fn record(mut self, length: i64) -> Value {
        while self.length < length {
            self.fold();
        }
        let used = self.slots.iter().rposition(|slot| slot.requests > 0).map_or(0, |last| last + 1);
        let mean = |slot: &Slot| slot.waited.checked_div(slot.timed.into()).map(|nanos| nanos as f64 / 1e9);
        let slots = self.slots.iter().take(used);
        slots.map(|slot| json!([slot.requests, slot.lost, mean(slot)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    #[test]
    fn slots_grow_with_time_and_lose_nothing() {
        let lost = Exchange::unanswered(1, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 1); 2]);
        let answered =
            Exchange { outcome: Outcome::Answered, response_time: Some(2_000_000), ..lost.clone() };
        let mut trace = Trace::default();
        for n in 0..1_000 {
            trace.add(n * 1_000_000, if n % 10 == 0 { &lost } else { &answered });
        }
        assert_eq!(trace.length(), 64_000_000, "the least power of two with which 24 slots reach a second");
        let sum = |record: &Value, at: usize| {
            record
                .as_array()
                .expect("slots")
                .iter()
                .map(|slot| slot[at].as_u64().expect("a count"))
                .sum::<u64>()
        };
        for (length, slots) in [(0, 16), (128_000_000, 8), (1 << 40, 1)] {
            let record = trace.clone().record(length);
            let all = record.as_array().expect("slots").len();
            assert_eq!((all, sum(&record, 0), sum(&record, 1)), (slots, 1_000, 100));
            assert_eq!(record[0][2], 0.002);
        }
    }

    #[test]
    fn no_time_is_out_of_reach_of_twenty_four_slots() {
        let lost = Exchange::unanswered(1, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 1); 2]);
        let mut trace = Trace::default();
        [i64::MIN, -1, 0, i64::MAX].iter().for_each(|&after| trace.add(after, &lost));
        let record = trace.record(0);
        let slots = record.as_array().expect("slots");
        assert!(slots.len() <= MAX_SLOTS, "{record}");
        assert_eq!((slots[0][0].as_u64(), slots[slots.len() - 1][0].as_u64()), (Some(3), Some(1)));
    }
}
