//! Joins messages that were split into datagrams.
//!
//! The request that the parts answer is found as for any answer in parts. Here their bytes are kept until all parts
//! have come, and the joined bytes are read as a message of the protocol.

use super::{Answer, MS};
use crate::bounded::Bounded;
use crate::capture::Time;
use crate::contract::{Joining, Known, Layout, Role, Split, Whole};
use crate::conversation::Slot;
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id, Level};
use std::collections::VecDeque;
use std::io::Read;

/// Most incomplete messages, in all conversations and in one; the oldest is dropped first.
const MAX_JOINS: usize = 64;
const MAX_OF_CONVERSATION: usize = 8;
/// Most bytes of all incomplete messages together.
const MAX_JOINED_BYTES: usize = 4 << 20;
/// Longest message that is joined or decompressed, in bytes.
const MAX_MESSAGE: usize = 1 << 20;
/// Longest message that is decoded as a whole, in bytes; of a longer one only the beginning is decoded.
const MAX_DECODED: usize = u16::MAX as usize;
/// Most servers whose layout is remembered; the oldest is dropped first.
const MAX_LAYOUTS: usize = 4_096;
/// A message is given up this long after its last part, in nanoseconds.
const GIVEN_UP: i64 = 3_000 * MS;

/// A message of which some parts have come.
#[derive(Debug)]
pub(super) struct Join {
    slot: Slot,
    exchange: u64,
    first: Split,
    /// Size and CRC-32, where the first part says that the message is compressed.
    packed: Option<[u32; 2]>,
    /// Number, frame and bytes of each part.
    parts: Vec<(u8, u64, Vec<u8>)>,
    last: Time,
    /// Frame of the first part that contradicts the others.
    pub(super) contradicted: Option<u64>,
}

/// The incomplete messages, and the layouts of servers.
#[derive(Debug)]
pub(super) struct Joins {
    list: VecDeque<Join>,
    bytes: usize,
    pub(super) layouts: Bounded<(Id, Endpoint), u8>,
    forgotten: u64,
}

impl Default for Joins {
    fn default() -> Joins {
        Joins { list: VecDeque::new(), bytes: 0, layouts: Bounded::new(MAX_LAYOUTS), forgotten: 0 }
    }
}

impl Joins {
    /// Number of messages and layouts forgotten for lack of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten + self.layouts.forgotten()
    }

    /// What is known of the layout of a part: the layout of its message, or else the one that its server used.
    pub fn layout(&self, slot: Slot, id: u32, now: Time, server: (Id, Endpoint)) -> Layout {
        let its = |join: &&Join| join.slot == slot && join.first.id == id && !join.is_over(now);
        match (self.list.iter().rev().find(its), self.layouts.get(&server)) {
            (Some(join), _) => Layout::Certain(join.first.layout),
            (None, Some(&used)) => Layout::Used(used),
            (None, None) => Layout::Unknown,
        }
    }

    fn remove(&mut self, at: usize) -> Option<Join> {
        let join = self.list.remove(at)?;
        self.bytes -= join.bytes();
        Some(join)
    }

    /// Makes room for one more message of a conversation.
    fn make_room(&mut self, slot: Slot, now: Time) {
        while let Some(at) = self.list.iter().position(|join| join.is_over(now)) {
            self.remove(at);
        }
        let of_slot = |join: &Join| join.slot == slot;
        if self.list.iter().filter(|join| of_slot(join)).count() >= MAX_OF_CONVERSATION
            && let Some(at) = self.list.iter().position(of_slot)
        {
            self.forgotten += 1;
            self.remove(at);
        }
        self.keep(MAX_JOINS - 1);
    }

    /// Forgets the oldest messages until there are at most `most`, and no more bytes than allowed.
    fn keep(&mut self, most: usize) {
        while self.list.len() > most || self.bytes > MAX_JOINED_BYTES {
            self.remove(0);
            self.forgotten += 1;
        }
    }

    /// Takes in a part of an answer; returns the message if all parts have come.
    pub fn take(
        &mut self,
        slot: Slot,
        d: &Datagram<'_>,
        now: Time,
        split: &Split,
        answer: &Answer,
    ) -> Option<Join> {
        let its = |join: &Join| join.exchange == answer.exchange && join.first.id == split.id;
        if let Some(join) = self.list.iter_mut().find(|join| its(join))
            && answer.contradicts
        {
            join.contradicted.get_or_insert(d.frame);
            return None;
        }
        let body = d.payload.get(usize::from(split.body)..).filter(|_| d.cut == 0)?;
        let at = match self.list.iter().position(its) {
            Some(at) => at,
            None => {
                self.make_room(slot, now);
                self.list.push_back(Join {
                    slot,
                    exchange: answer.exchange,
                    first: *split,
                    packed: None,
                    parts: vec![],
                    last: now,
                    contradicted: None,
                });
                self.list.len() - 1
            }
        };
        let join = self.list.get_mut(at)?;
        join.last = join.last.max(now);
        join.packed = join.packed.or(split.packed);
        if join.bytes() + body.len() > MAX_MESSAGE {
            return None;
        }
        join.parts.push((split.number, d.frame, body.to_vec()));
        self.bytes += body.len();
        let whole = join.parts.len() == usize::from(join.first.total);
        if whole {
            return self.remove(at);
        }
        self.keep(MAX_JOINS);
        None
    }
}

impl Join {
    fn bytes(&self) -> usize {
        self.parts.iter().map(|(_, _, body)| body.len()).sum()
    }

    fn is_over(&self, now: Time) -> bool {
        now.since(self.last).is_some_and(|age| age > GIVEN_UP)
    }

    /// The bytes of the message; `None` where they cannot be decompressed to the announced size and checksum.
    fn expanded(&self) -> Option<Vec<u8>> {
        let joined: Vec<u8> = self.parts.iter().flat_map(|(_, _, body)| body).copied().collect();
        let Some([size, crc]) = self.packed else { return Some(joined) };
        if size as usize > MAX_MESSAGE {
            return None;
        }
        let (mut bytes, mut sum) = (Vec::new(), flate2::Crc::new());
        let most = u64::from(size) + 1;
        bzip2::read::BzDecoder::new(&joined[..]).take(most).read_to_end(&mut bytes).ok()?;
        sum.update(&bytes);
        (bytes.len() == size as usize && sum.sum() == crc).then_some(bytes)
    }

    /// The message that the parts make up, or the rule that they break.
    pub fn whole(&mut self, id: Id, joining: &Joining) -> Result<(Split, Whole), &'static crate::rule::Rule> {
        self.parts.sort_by_key(|(number, ..)| *number);
        let mut bytes = self.expanded().ok_or(joining.damaged)?;
        let known = Known { open: true, ..Known::of(Direction::S2c, Level::High) };
        let probe = id.probe_known(&bytes, bytes.len(), known).filter(|probe| probe.role != Role::Stray);
        let message = probe.map(|probe| probe.message).filter(|message| joining.makes.contains(message));
        let message = message.ok_or(joining.foreign)?;
        let length = bytes.len() as u32;
        bytes.truncate(MAX_DECODED);
        let parts = self.parts.iter().map(|(_, frame, _)| *frame).collect();
        let split = Split { packed: self.packed, ..self.first };
        Ok((split, Whole { message, bytes, length, parts }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Conversations;

    /// Distinct slots.
    fn slots(count: u8) -> Vec<Slot> {
        let mut conversations = Conversations::new(crate::contract::Budget::default());
        let server = Endpoint::v4([192, 0, 2, 1], 1);
        let open = |n| conversations.open(Endpoint::v4([192, 0, 2, 2], n), server, Id::A2s).0;
        (0..u16::from(count)).map(open).collect()
    }

    /// Takes in a part, given its exchange, its number and the total, and its bytes; returns the message if it is
    /// complete.
    fn take(
        joins: &mut Joins,
        slot: Slot,
        exchange: u64,
        [number, total]: [u8; 2],
        body: &[u8],
    ) -> Option<Join> {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let d = Datagram { frame: exchange, ..Datagram::between(end, end, body) };
        let split =
            Split { id: exchange as u32, layout: 0, total, number, size: None, packed: None, body: 0 };
        joins.take(slot, &d, Time::from_nanos(0), &split, &Answer { exchange, ..Answer::default() })
    }

    #[test]
    fn of_too_many_messages_under_way_the_oldest_is_forgotten() {
        let (mut joins, slots) = (Joins::default(), slots(65));
        (0..64).for_each(|n| assert!(take(&mut joins, slots[n], n as u64, [0, 2], b"a").is_none()));
        assert_eq!(joins.forgotten(), 0);
        assert!(take(&mut joins, slots[64], 64, [0, 2], b"a").is_none());
        assert_eq!(joins.forgotten(), 1);
        assert!(take(&mut joins, slots[1], 1, [1, 2], b"b").is_some(), "the second oldest is still there");
        assert!(take(&mut joins, slots[0], 0, [1, 2], b"b").is_none(), "the oldest has lost its first part");
    }

    #[test]
    fn of_nine_messages_of_a_conversation_the_oldest_is_forgotten() {
        let (mut joins, slots) = (Joins::default(), slots(1));
        (0..9).for_each(|n| assert!(take(&mut joins, slots[0], n, [0, 2], b"a").is_none()));
        assert_eq!(joins.forgotten(), 1);
        let whole = |joins: &mut Joins, n| take(joins, slots[0], n, [1, 2], b"b").is_some();
        assert_eq!([whole(&mut joins, 8), whole(&mut joins, 0)], [true, false]);
    }

    #[test]
    fn of_too_many_bytes_the_oldest_are_forgotten_and_no_message_has_more_than_its_most() {
        let (mut joins, slots, body) = (Joins::default(), slots(8), vec![0; 1 << 16]);
        for n in 0..64u64 {
            let number = [(n / 4) as u8, 255];
            assert!(take(&mut joins, slots[n as usize % 4], n % 4, number, &body).is_none());
        }
        assert_eq!((joins.bytes, joins.forgotten()), (4 << 20, 0), "four messages of 1 MiB");
        assert!(take(&mut joins, slots[0], 0, [16, 255], b"x").is_none());
        assert_eq!((joins.bytes, joins.forgotten()), (4 << 20, 0), "a longer one does not grow");
        assert!(take(&mut joins, slots[4], 4, [0, 2], b"x").is_none());
        assert_eq!((joins.bytes, joins.forgotten()), ((3 << 20) + 1, 1));
    }

    #[test]
    fn nothing_above_the_most_is_expanded() {
        let (mut joins, slots) = (Joins::default(), slots(1));
        let mut packed = vec![];
        let zeros = std::io::repeat(0).take(MAX_MESSAGE as u64 + 1);
        bzip2::read::BzEncoder::new(zeros, bzip2::Compression::best())
            .read_to_end(&mut packed)
            .expect("it is memory");
        let mut join = take(&mut joins, slots[0], 1, [0, 1], &packed).expect("it is whole");
        for (size, right) in [(MAX_MESSAGE as u32 + 1, false), (MAX_MESSAGE as u32, false)] {
            join.packed = Some([size, 0]);
            assert_eq!(join.expanded().is_some(), right, "{size}");
        }
    }

    #[test]
    fn of_a_long_message_the_beginning_is_decoded() {
        let (mut joins, slots) = (Joins::default(), slots(1));
        let body = [&b"\xff\xff\xff\xff\x45\x01\0k\0"[..], &vec![b'v'; MAX_DECODED]].concat();
        let mut join = take(&mut joins, slots[0], 1, [0, 1], &body).expect("it is whole");
        let (_, whole) = join.whole(Id::A2s, Id::A2s.info().joining.expect("it has one")).expect("a message");
        assert_eq!((whole.bytes.len(), whole.length as usize), (MAX_DECODED, body.len()));
        assert_eq!(whole.missing(), 9);
    }

    #[test]
    fn layouts_of_servers_that_are_forgotten_are_counted() {
        let mut joins = Joins::default();
        for n in 0..4_097u32 {
            assert_eq!(joins.forgotten(), 0);
            joins.layouts.insert((Id::A2s, Endpoint::v4(n.to_be_bytes(), 1)), 0);
        }
        assert_eq!(joins.forgotten(), 1);
    }
}
