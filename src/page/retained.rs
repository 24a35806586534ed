//! Keeps single exchanges and datagrams for the page, in bounded memory.

use crate::capture::Time;
use crate::check::Finding;
use crate::exchange::{Exchange, Outcome};
use crate::filter::masked;
use crate::packet::Packet;
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
/// Most datagrams whose bytes are kept for a rule, in the order found.
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
    /// How many exchanges were not kept.
    pub left_out: u64,
}

impl Exchanges {
    /// Keeps an exchange if there is room.
    pub fn add(&mut self, e: &Exchange, findings: &[Finding]) {
        let odd = usize::from(e.outcome != Outcome::Answered || !findings.is_empty());
        let [kept, most] = [self.kept[odd].len(), [MAX_EXCHANGES, MAX_ODD][odd]];
        let own = &mut self.of_server.entry(e.server_index).or_default()[odd];
        if kept >= most || *own >= MAX_OF_SERVER {
            self.left_out += 1;
            return;
        }
        *own += 1;
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
    pub fn packet<S>(&mut self, place: Place, p: &Packet<'_, S>, secrets: bool) {
        self.time(place, p.datagram.time);
        let Some(kept) = self.frames.get_mut(&place).filter(|kept| kept.bytes.is_none()) else { return };
        let of_rule = &mut self.of_rule;
        let room = |rule: &'static Rule| of_rule.get(rule.id).is_none_or(|&n| n < MAX_OF_RULE);
        let Some(wanted) = p.findings.iter().rev().filter(|f| room(f.rule)).max_by_key(|f| f.severity) else {
            return;
        };
        p.findings.iter().for_each(|f| *of_rule.entry(f.rule.id).or_default() += 1);
        // Half of the bytes kept come before the place of the finding.
        let start = usize::from(wanted.span.unwrap_or_default().start).saturating_sub(MAX_BYTES / 2);
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

    /// The offset of the first byte kept of a frame, and the bytes as hex, with `**` for a masked byte. `None` where the
    /// bytes kept do not reach to `offset`.
    pub fn bytes_of(&self, place: Place, offset: usize) -> Option<Value> {
        let (from, hex) = self.frames.get(&place)?.bytes.as_ref()?;
        let kept = *from..=from + hex.len() / 2;
        kept.contains(&offset).then(|| json!({ "from": from, "hex": hex }))
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
    fn the_first_exchanges_of_each_server_are_kept_and_the_odd_ones_apart() {
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
    fn times_of_so_many_frames_are_kept() {
        let mut frames = Frames::default();
        let place = |frame| Place { file: 0, frame };
        (0..=MAX_FRAMES as u64).for_each(|frame| frames.time(place(frame), Time::from_nanos(5)));
        let time = |frame| frames.time_of(place(frame)).nanos();
        assert_eq!((time(MAX_FRAMES as u64 - 1), time(MAX_FRAMES as u64)), (Some(5), None));
    }
}
