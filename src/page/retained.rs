//! Keeps single exchanges and datagrams for the page, and counts the answers of each server over time in a few numbers, for
//! its sparkline. The memory is bounded.

use crate::capture::Time;
use crate::check::{Finding, Packet};
use crate::exchange::{Exchange, Outcome};
use crate::filter::masked;
use crate::report::Place;
use crate::report::secrets::in_packet;
use crate::rule::Rule;
use hashbrown::HashMap;
use serde_json::{Value, json};

/// Most plain exchanges kept: exchanges that were answered in time, without findings.
pub const MAX_EXCHANGES: usize = 4_000;
/// Most odd exchanges kept: all others.
pub const MAX_ODD: usize = 2_000;
/// Most exchanges kept of one server, for each of both kinds.
pub const MAX_OF_SERVER: usize = 20;
/// Most frames with findings whose times are kept.
pub const MAX_FRAMES: usize = 50_000;
/// Most datagrams whose bytes are kept for a rule, the first ones.
pub const MAX_OF_RULE: usize = 20;
/// Most bytes kept of a datagram, or of the message that was joined from it and other parts.
pub const MAX_BYTES: usize = 512;
/// Bytes in a line of hex: where not all bytes are kept, the first byte kept begins a line.
const LINE: usize = 16;

/// The first plain exchanges and the first odd exchanges of each server.
#[derive(Debug, Default)]
pub struct Exchanges {
    kept: [Vec<(Exchange, Vec<Finding>)>; 2],
    of_server: HashMap<u32, [usize; 2]>,
    /// Number of exchanges that were not kept.
    pub left_out: u64,
}

impl Exchanges {
    /// Keeps an exchange if there is room.
    pub fn add(&mut self, e: &Exchange, findings: &[Finding]) {
        let odd = usize::from(e.outcome != Outcome::Answered || !findings.is_empty());
        let [kept, most] = [self.kept[odd].len(), [MAX_EXCHANGES, MAX_ODD][odd]];
        let of_server = &mut self.of_server.entry(e.server_index).or_default()[odd];
        if kept >= most || *of_server >= MAX_OF_SERVER {
            self.left_out += 1;
            return;
        }
        *of_server += 1;
        self.kept[odd].push((e.clone(), findings.to_vec()));
    }

    /// The exchanges kept, by number.
    pub fn sorted(&self) -> Vec<&(Exchange, Vec<Finding>)> {
        let mut all: Vec<_> = self.kept.iter().flatten().collect();
        all.sort_by_key(|(e, _)| e.id);
        all
    }
}

/// Times and bytes of frames with findings.
#[derive(Debug, Default)]
pub struct Frames {
    frames: HashMap<Place, Kept>,
    of_rule: HashMap<&'static str, usize>,
}

/// The time of a frame, and bytes of its message.
#[derive(Debug)]
struct Kept {
    time: Time,
    /// Offset of the first byte that is kept, and the bytes as hex digits; passwords are masked.
    bytes: Option<(usize, String)>,
}

impl Frames {
    /// Remembers the time of a frame.
    pub fn time(&mut self, place: Place, time: Time) {
        if self.frames.len() < MAX_FRAMES {
            self.frames.entry(place).or_insert(Kept { time, bytes: None });
        }
    }

    /// Remembers a datagram with findings; `secrets` says whether passwords may be shown.
    pub fn packet(&mut self, place: Place, p: &Packet<'_>, secrets: bool) {
        self.time(place, p.datagram.time);
        let Some(kept) = self.frames.get_mut(&place).filter(|kept| kept.bytes.is_none()) else { return };
        let of_rule = &mut self.of_rule;
        let has_room = |rule: &'static Rule| of_rule.get(rule.id).is_none_or(|&n| n < MAX_OF_RULE);
        let Some(worst) = p.findings.iter().rev().filter(|f| has_room(f.rule)).max_by_key(|f| f.severity)
        else {
            return;
        };
        p.findings.iter().for_each(|f| *of_rule.entry(f.rule.id).or_default() += 1);
        // Half of the bytes kept come before the place of the finding.
        let start = usize::from(worst.span.unwrap_or_default().start).saturating_sub(MAX_BYTES / 2);
        let from = if p.bytes.len() > MAX_BYTES { start / LINE * LINE } else { 0 };
        let hidden = if secrets { vec![] } else { in_packet(p) };
        let end = p.bytes.len().min(from + MAX_BYTES);
        let digits = masked(p.bytes.get(..end).unwrap_or_default(), &hidden, 0);
        kept.bytes = Some((from, digits.get(2 * from..).unwrap_or_default().to_owned()));
    }

    /// Time of a frame; unknown where it is not kept.
    pub fn time_of(&self, place: Place) -> Time {
        self.frames.get(&place).map_or(Time::UNKNOWN, |kept| kept.time)
    }

    /// The offset of the first byte kept of a frame, and the bytes as hex, with `**` for a masked byte. `None` if the
    /// bytes kept do not reach `offset`.
    pub fn bytes_of(&self, place: Place, offset: usize) -> Option<Value> {
        let (from, hex) = self.frames.get(&place)?.bytes.as_ref()?;
        let range = *from..=from + hex.len() / 2;
        range.contains(&offset).then(|| json!({ "from": from, "hex": hex }))
    }
}

/// Most slots of a trace, which goes from the beginning of the captures to their end.
pub const MAX_SLOTS: usize = 24;
/// Length of a slot at first, in nanoseconds; it doubles whenever a request comes after the last slot.
const SHORTEST: i64 = 1_000_000;

/// The exchanges of a server, counted by the time of their requests.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Length of a slot in nanoseconds.
    length: i64,
    /// Those up to the last one with a request: most servers of a long list were asked but once.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slot {
    requests: u32,
    /// Requests that were not answered, or refused.
    lost: u32,
    /// Answers with a response time, and the sum of their response times in nanoseconds.
    timed: u32,
    response_time_sum: i64,
}

impl Slot {
    fn add(&mut self, other: Slot) {
        self.requests = self.requests.saturating_add(other.requests);
        self.lost = self.lost.saturating_add(other.lost);
        self.timed = self.timed.saturating_add(other.timed);
        self.response_time_sum = self.response_time_sum.saturating_add(other.response_time_sum);
    }
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { length: SHORTEST, slots: vec![] }
    }
}

impl Trace {
    /// Counts an exchange whose request came `after` nanoseconds after the beginning.
    pub fn add(&mut self, after: i64, e: &Exchange) {
        let after = after.max(0);
        while after / self.length >= MAX_SLOTS as i64 {
            self.fold();
        }
        let at = (after / self.length) as usize;
        if at >= self.slots.len() {
            self.slots.reserve_exact(at + 1 - self.slots.len());
            self.slots.resize(at + 1, Slot::default());
        }
        let Some(slot) = self.slots.get_mut(at) else { return };
        let lost = matches!(e.outcome, Outcome::Unanswered | Outcome::Refused);
        let (timed, response_time_sum) = e.response_time.map_or((0, 0), |time| (1, time));
        slot.add(Slot { requests: 1, lost: lost.into(), timed, response_time_sum });
    }

    /// Doubles the length of the slots.
    fn fold(&mut self) {
        let old = std::mem::take(self);
        self.length = old.length.saturating_mul(2);
        let joined = old.slots.chunks(2).map(|pair| {
            pair.iter().fold(Slot::default(), |mut slot, half| {
                slot.add(*half);
                slot
            })
        });
        self.slots = joined.collect();
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
        let mean = |slot: &Slot| {
            slot.response_time_sum.checked_div(slot.timed.into()).map(|nanos| nanos as f64 / 1e9)
        };
        let slots = self.slots.iter().take(used);
        slots.map(|slot| json!([slot.requests, slot.lost, mean(slot)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Endpoint;
    use crate::protocols::Id;

    fn exchange(id: u64, server_index: u32, outcome: Outcome) -> Exchange {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        Exchange { server_index, outcome, ..Exchange::unanswered(id, Id::Sqp, [end; 2]) }
    }

    #[test]
    fn plain_and_odd_exchanges_of_each_server_are_kept_up_to_the_limit() {
        let mut kept = Exchanges::default();
        for id in 0..50 {
            kept.add(&exchange(2 * id, 7, Outcome::Answered), &[]);
            kept.add(&exchange(2 * id + 1, 7, Outcome::Unanswered), &[]);
        }
        let ids: Vec<_> = kept.sorted().iter().map(|(e, _)| e.id).collect();
        assert_eq!((ids, kept.left_out), ((0..2 * MAX_OF_SERVER as u64).collect(), 60));
    }

    #[test]
    fn further_exchanges_of_many_servers_are_counted() {
        for (outcome, most) in [(Outcome::Answered, MAX_EXCHANGES), (Outcome::Late, MAX_ODD)] {
            let mut kept = Exchanges::default();
            (0..most as u32 + 3).for_each(|n| kept.add(&exchange(n.into(), n, outcome), &[]));
            assert_eq!((kept.sorted().len(), kept.left_out), (most, 3));
        }
    }

    #[test]
    fn times_of_frames_are_kept_up_to_the_limit() {
        let mut frames = Frames::default();
        let place = |frame| Place { file: 0, frame };
        (0..=MAX_FRAMES as u64).for_each(|frame| frames.time(place(frame), Time::from_nanos(5)));
        let time = |frame| frames.time_of(place(frame)).nanos();
        assert_eq!((time(MAX_FRAMES as u64 - 1), time(MAX_FRAMES as u64)), (Some(5), None));
    }

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
    fn any_time_fits_in_the_slots() {
        let lost = Exchange::unanswered(1, Id::Sqp, [Endpoint::v4([192, 0, 2, 1], 1); 2]);
        let mut trace = Trace::default();
        [i64::MIN, -1, 0, i64::MAX].iter().for_each(|&after| trace.add(after, &lost));
        let record = trace.record(0);
        let slots = record.as_array().expect("slots");
        assert!(slots.len() <= MAX_SLOTS, "{record}");
        assert_eq!((slots[0][0].as_u64(), slots[slots.len() - 1][0].as_u64()), (Some(3), Some(1)));
    }
}
