//! Answers whose parts have numbers: they come in any order, some twice, some never.

use super::answer::Reply;
use super::queue::State;
use super::table::Table;
use super::{Answer, Lack, MAX_HOSTS, Pairing};
use crate::capture::Time;
use crate::contract::Part;
use crate::conversation::Slot;

/// Which parts of an answer have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered {
    /// One bit each.
    seen: [u128; 2],
    /// The highest number among them.
    highest: u8,
    /// How many there are, once one has said so.
    total: Option<u8>,
    /// The key that they carry.
    key: Option<u64>,
    /// Time of the last one.
    last: Time,
}

/// Where the bit of a part stands.
fn place(number: u8) -> (usize, u128) {
    (usize::from(number >> 7), 1 << (number & 127))
}

impl Numbered {
    /// An answer of which this part comes first.
    pub fn new(part: Part, key: Option<u64>, now: Time) -> Numbered {
        let mut numbered = Numbered { seen: [0; 2], highest: 0, total: None, key, last: now };
        numbered.add(part, now);
        numbered
    }

    /// Adds a part; `false` where it contradicts those that came before.
    fn add(&mut self, part: Part, now: Time) -> bool {
        self.last = self.last.max(now);
        let other_total = self.total.is_some() && part.total.is_some() && self.total != part.total;
        let total = part.total.or(self.total);
        let highest = self.highest.max(part.number);
        let (half, bit) = place(part.number);
        if self.seen[half] & bit != 0 || other_total || total.is_some_and(|total| highest >= total) {
            return false;
        }
        self.seen[half] |= bit;
        (self.highest, self.total) = (highest, total);
        true
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| u32::from(total) == self.came())
    }

    /// How many have come.
    fn came(&self) -> u32 {
        self.seen.iter().map(|half| half.count_ones()).sum()
    }

    /// Whether the part with that number has come.
    fn has(&self, part: Part) -> bool {
        let (half, bit) = place(part.number);
        self.seen[half] & bit != 0
    }

    /// What is missing that is no longer expected, so long after the last part.
    pub fn lacks(&self, now: Time, window: i64) -> Option<Lack> {
        let over = now.since(self.last).is_some_and(|age| age > window);
        let gap = self.total.is_some() || self.came() <= self.highest.into();
        let lack = if gap { Lack::Part } else { Lack::End };
        (over && !self.is_complete()).then_some(lack)
    }
}

impl Table {
    /// A further part of an answer whose parts have numbers; `None` where none is under way with its key.
    #[cold]
    pub(super) fn numbered_part(&mut self, slot: Slot, reply: &Reply<'_>, part: Part) -> Option<Pairing> {
        let &Reply { d, v, now, hash } = reply;
        let queue = &self.queues[v.id as usize];
        let key = v.glance.key;
        // Where parts cannot contradict each other, one with a number that has come is of another answer.
        let contradicting = v.id.info().steps[usize::from(v.glance.step)].rules.contradicting.is_some();
        let (seq, at) =
            self.chain(slot).filter(|(_, r)| r.state == State::Answering).find_map(|(seq, r)| {
                let its = |numbered: &Numbered| {
                    let sent = self.seconds.get(&(r.id, hash)).is_some();
                    (numbered.key == key || r.key() == key) && (contradicting || sent || !numbered.has(part))
                };
                let at = self.answering.iter().position(|a| a.exchange == r.id)?;
                self.answering[at].numbered.as_ref().is_some_and(its).then_some((seq, at))
            })?;
        let request = queue.get(seq)?;
        if let Some(&of) = self.seconds.get(&(request.id, hash)) {
            return Some(request.copied(of));
        }
        let window = self.windows.answer(v.id);
        let answering = &mut self.answering[at];
        let numbered = answering.numbered.as_mut()?;
        if numbered.lacks(now, window).is_some() {
            self.finish_parts(slot, seq, &request);
            return None;
        }
        let shuffled = part.number < numbered.highest;
        let foreign_key = request.key.is_some() && request.key != key;
        let contradicts = !numbered.add(part, now);
        let complete = numbered.is_complete();
        let before = u32::try_from(answering.bytes).unwrap_or(u32::MAX);
        if answering.frames.len() < MAX_HOSTS {
            answering.frames.push(d.frame);
        }
        answering.bytes += d.wire_len() as u64;
        if contradicts {
            answering.contradicted.get_or_insert(d.frame);
        }
        self.seconds.insert((request.id, hash), d.frame);
        if complete {
            self.finish_parts(slot, seq, &request);
        }
        let answer = request.answered(d.time);
        Some(Pairing::Answered(Answer { part: true, before, shuffled, contradicts, foreign_key, ..answer }))
    }

    /// A part that came before, of an answer that is whole by now.
    #[cold]
    pub(super) fn part_again(&self, slot: Slot, reply: &Reply<'_>) -> Option<Pairing> {
        reply.v.glance.part?;
        self.chain(slot).find_map(|(_, r)| {
            let of = *self.seconds.get(&(r.id, reply.hash))?;
            Some(Pairing::Copy { exchange: r.id, request_frame: r.frame, of, asked: r.memo })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time::from_nanos(0);

    fn part(number: u8, total: Option<u8>) -> Part {
        Part { number, total, makes: None }
    }

    #[test]
    fn parts_come_in_any_order_and_all_of_them_make_the_answer() {
        let mut numbered = Numbered::new(part(2, Some(3)), None, AT);
        assert!(numbered.add(part(0, None), AT) && !numbered.is_complete());
        assert!(numbered.add(part(1, None), AT) && numbered.is_complete());
    }

    #[test]
    fn what_contradicts_is_said_and_changes_nothing() {
        let mut numbered = Numbered::new(part(0, None), None, AT);
        assert!(!numbered.add(part(0, None), AT), "the same number");
        assert!(numbered.add(part(2, Some(3)), AT));
        assert!(!numbered.add(part(3, None), AT) && !numbered.add(part(1, Some(2)), AT), "beyond the last");
        assert!(numbered.add(part(1, None), AT) && numbered.is_complete());
    }

    #[test]
    fn parts_are_missed_only_after_the_window() {
        let numbered = Numbered::new(part(0, None), None, AT);
        let lacks = |numbered: &Numbered, time| numbered.lacks(Time::from_nanos(time), 10);
        assert_eq!([10, 11].map(|time| lacks(&numbered, time)), [None, Some(Lack::End)]);
        assert_eq!(lacks(&Numbered::new(part(0, Some(1)), None, AT), 11), None);
        assert_eq!(lacks(&Numbered::new(part(0, Some(2)), None, AT), 11), Some(Lack::Part));
        assert_eq!(lacks(&Numbered::new(part(1, None), None, AT), 11), Some(Lack::Part));
    }
}
