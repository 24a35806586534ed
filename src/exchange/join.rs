//! Joins messages that were split into datagrams.
//!
//! The request that the parts answer is found as for any answer in parts. This module keeps their bytes until all parts
//! have come, and recognises the joined bytes as a message of the protocol.

use super::unpack::{Unpacked, Unpacking};
use super::{Answer, MS};
use crate::bounded::{Bounded, Budget, Forgets as _};
use crate::capture::Time;
use crate::contract::{Joining, Known, Layout, Part, Role, Split, Whole};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id, Level};
use std::collections::BTreeMap;

/// Most incomplete messages, and most bytes of all together, with 64 MiB; the message of the oldest exchange is
/// dropped.
const MAX_JOINS: usize = 4_096;
const MAX_JOINED_BYTES: usize = 4 << 20;
/// Longest message that is joined, in bytes as they are sent.
const MAX_MESSAGE: usize = 1 << 20;
/// Longest message that is decoded as a whole, in bytes; of a longer one only the beginning is decoded.
const MAX_DECODED: usize = u16::MAX as usize;
/// Most servers whose layout is remembered; the oldest is dropped first.
const MAX_LAYOUTS: usize = 4_096;
/// A message is given up this long after its last part, in nanoseconds.
const GIVEN_UP: i64 = 3_000 * MS;

/// A part of a message.
#[derive(Debug)]
struct JoinedPart {
    number: u8,
    frame: u64,
    /// Its datagram, and where its bytes of the message begin.
    payload: Vec<u8>,
    body: u16,
}

impl JoinedPart {
    fn body(&self) -> &[u8] {
        self.payload.get(usize::from(self.body)..).unwrap_or_default()
    }
}

/// A message of which some parts have come.
#[derive(Debug)]
pub(super) struct Join {
    first: Split,
    /// The layout is certain: a part has proven it.
    proven: bool,
    /// Decompressed size and CRC-32, where the first part shows that the message is compressed.
    packed: Option<[u32; 2]>,
    parts: Vec<JoinedPart>,
    last: Time,
    /// Frame of the first part that contradicts the others.
    pub(super) contradicted: Option<u64>,
}

/// The incomplete messages, and the layouts of servers.
#[derive(Debug)]
pub(super) struct Joins {
    /// By the number of the exchange and the identification of the message.
    messages: BTreeMap<(u64, u32), Join>,
    most: usize,
    bytes: usize,
    most_bytes: usize,
    pub(super) layouts: Bounded<(Id, Endpoint), u8, MAX_LAYOUTS>,
    forgotten: u64,
    pub(super) unpacking: Unpacking,
}

impl From<Budget> for Joins {
    fn from(budget: Budget) -> Joins {
        Joins {
            messages: BTreeMap::new(),
            most: budget.of(MAX_JOINS),
            bytes: 0,
            most_bytes: budget.of(MAX_JOINED_BYTES),
            layouts: budget.into(),
            forgotten: 0,
            unpacking: Unpacking::default(),
        }
    }
}

impl Joins {
    /// Number of messages and layouts forgotten for lack of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten + self.layouts.forgotten()
    }

    /// The layout of a message of which parts have come, and whether one of them proves it.
    pub fn layout_of(&self, exchange: u64, id: u32, now: Time) -> Option<(u8, bool)> {
        let join = self.messages.get(&(exchange, id)).filter(|join| !join.is_over(now))?;
        Some((join.first.layout, join.proven))
    }

    /// The layout of a part, as far as it is known: that of its message, or else the one that its server used.
    pub fn layout(&self, message_layout: Option<(u8, bool)>, server: (Id, Endpoint)) -> Layout {
        match (message_layout, self.layouts.get(&server)) {
            (Some((layout, true)), _) => Layout::Certain(layout),
            (Some((layout, false)), _) => Layout::Used(layout),
            (None, Some(&used)) => Layout::Used(used),
            (None, None) => Layout::Unknown,
        }
    }

    fn remove(&mut self, key: (u64, u32)) -> Option<Join> {
        let join = self.messages.remove(&key)?;
        self.bytes -= join.bytes();
        Some(join)
    }

    /// Makes room for more bytes of a message, and drops messages that were given up.
    fn make_room(&mut self, key: (u64, u32), bytes: usize, now: Time) {
        while let Some((&oldest, join)) = self.messages.first_key_value() {
            let added = usize::from(!self.messages.contains_key(&key));
            let is_full = self.messages.len() + added > self.most || self.bytes + bytes > self.most_bytes;
            let is_over = oldest != key && join.is_over(now);
            if !is_over && !is_full {
                break;
            }
            self.forgotten += u64::from(!is_over);
            self.remove(oldest);
        }
    }

    /// Reads the parts of a message that have come in the layout that a further part proves. Returns them if that makes a
    /// difference.
    pub fn prove(&mut self, key: (u64, u32), proof: &Split, joining: &Joining) -> Option<Vec<Part>> {
        let join = self.messages.get_mut(&key).filter(|join| !join.proven)?;
        join.proven = true;
        if join.first.layout == proof.layout {
            return None;
        }
        (join.first, join.packed) = (*proof, None);
        for part in &mut join.parts {
            let layout = Layout::Certain(proof.layout);
            let split = (joining.read)(&part.payload, part.payload.len(), layout)?;
            (part.number, part.body) = (split.number, split.body);
        }
        let total = Some(proof.total);
        Some(
            join.parts
                .iter()
                .map(|part| Part { number: part.number, total, makes: None, share: None })
                .collect(),
        )
    }

    /// Adds a part of an answer; returns the message if all parts have come. `proves` says whether the part proves the
    /// layout.
    pub fn add(
        &mut self,
        d: &Datagram<'_>,
        now: Time,
        split: &Split,
        proves: bool,
        answer: &Answer,
    ) -> Option<Join> {
        let key = (answer.exchange, split.id);
        if let Some(join) = self.messages.get_mut(&key)
            && answer.contradicts
        {
            join.contradicted.get_or_insert(d.frame);
            return None;
        }
        let payload = d.payload;
        if d.cut > 0 || payload.len() < usize::from(split.body) {
            return None;
        }
        self.make_room(key, payload.len(), now);
        let (first, packed, parts, contradicted) = (*split, None, vec![], None);
        let new = Join { first, proven: proves, packed, parts, last: now, contradicted };
        let join = self.messages.entry(key).or_insert(new);
        join.last = join.last.max(now);
        join.packed = join.packed.or(split.packed);
        if join.bytes() + payload.len() > MAX_MESSAGE {
            return None;
        }
        let (number, frame, body) = (split.number, d.frame, split.body);
        join.parts.push(JoinedPart { number, frame, payload: payload.to_vec(), body });
        self.bytes += payload.len();
        let is_complete = join.parts.len() == usize::from(join.first.total);
        if is_complete { self.remove(key) } else { None }
    }
}

impl Join {
    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.payload.len()).sum()
    }

    fn is_over(&self, now: Time) -> bool {
        now.since(self.last).is_some_and(|age| age > GIVEN_UP)
    }

    /// The message that the parts make up, or the rule that they break; `None` where it is not unpacked.
    pub fn whole(
        &mut self,
        id: Id,
        joining: &Joining,
        unpacking: &mut Unpacking,
    ) -> Result<Option<(Split, Whole)>, &'static crate::rule::Rule> {
        self.parts.sort_by_key(|part| part.number);
        let mut bytes: Vec<u8> = self.parts.iter().flat_map(JoinedPart::body).copied().collect();
        let mut length = bytes.len() as u32;
        if let Some(claims) = self.packed {
            match unpacking.unpack(&bytes, claims) {
                Unpacked::Bytes(unpacked) => bytes = unpacked,
                Unpacked::Damaged => return Err(joining.damaged),
                Unpacked::Refused => return Ok(None),
            }
            length = claims[0];
        }
        let known = Known { open: true, ..Known::of(Direction::S2c, Level::High) };
        let probe = id.probe_known(&bytes, length as usize, known).filter(|probe| probe.role != Role::Stray);
        let message = probe.map(|probe| probe.message).filter(|message| joining.makes.contains(message));
        let message = message.ok_or(joining.foreign)?;
        bytes.truncate(MAX_DECODED);
        let parts = self.parts.iter().map(|part| part.frame).collect();
        let split = Split { packed: self.packed, ..self.first };
        Ok(Some((split, Whole { message, bytes, length, parts })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a part, given its exchange, its number and the total, and its bytes; returns the message if it is complete.
    fn add(joins: &mut Joins, exchange: u64, [number, total]: [u8; 2], body: &[u8]) -> Option<Join> {
        add_at(joins, exchange, [number, total], body, 0)
    }

    fn add_at(
        joins: &mut Joins,
        exchange: u64,
        [number, total]: [u8; 2],
        body: &[u8],
        now: i64,
    ) -> Option<Join> {
        let end = Endpoint::v4([192, 0, 2, 1], 1);
        let d = Datagram { frame: exchange, ..Datagram::between(end, end, body) };
        let split =
            Split { id: exchange as u32, layout: 0, total, number, size: None, packed: None, body: 0 };
        joins.add(&d, Time::from_nanos(now), &split, true, &Answer { exchange, ..Answer::default() })
    }

    #[test]
    fn forgets_the_oldest_of_too_many_incomplete_messages() {
        let mut joins = Joins::from(Budget::mib(1));
        (0..64).for_each(|n| assert!(add(&mut joins, n, [0, 2], b"a").is_none()));
        assert_eq!(joins.forgotten(), 0);
        assert!(add(&mut joins, 64, [0, 2], b"a").is_none());
        assert_eq!(joins.forgotten(), 1);
        assert!(add(&mut joins, 1, [1, 2], b"b").is_some(), "the second oldest is still there");
        assert!(add(&mut joins, 0, [1, 2], b"b").is_none(), "the oldest has lost its first part");
    }

    #[test]
    fn messages_given_up_make_room_and_are_not_counted() {
        let mut joins = Joins::from(Budget::mib(1));
        (0..64).for_each(|n| assert!(add_at(&mut joins, n, [0, 2], b"a", n as i64).is_none()));
        assert!(add_at(&mut joins, 64, [0, 2], b"a", GIVEN_UP + 32).is_none());
        assert_eq!((joins.messages.len(), joins.bytes, joins.forgotten()), (33, 33, 0));
    }

    #[test]
    fn forgets_the_oldest_of_too_many_bytes_and_limits_each_message() {
        let (mut joins, body) = (Joins::from(Budget::default()), vec![0; 1 << 16]);
        for n in 0..64u64 {
            let number = [(n / 4) as u8, 255];
            assert!(add(&mut joins, n % 4, number, &body).is_none());
        }
        assert_eq!((joins.bytes, joins.forgotten()), (4 << 20, 0), "four messages of 1 MiB");
        assert!(add(&mut joins, 3, [16, 255], b"x").is_none());
        assert_eq!((joins.bytes, joins.forgotten()), (3 << 20, 1), "a longer one does not grow");
        assert!(add(&mut joins, 4, [0, 2], b"x").is_none());
        assert_eq!((joins.bytes, joins.forgotten()), ((3 << 20) + 1, 1));
    }

    #[test]
    fn decodes_the_beginning_of_a_long_message() {
        let mut joins = Joins::from(Budget::default());
        let body = [&b"\xff\xff\xff\xff\x45\x01\0k\0"[..], &vec![b'v'; MAX_DECODED]].concat();
        let mut join = add(&mut joins, 1, [0, 1], &body).expect("it is whole");
        let joining = Id::A2s.info().joining.expect("it has one");
        let whole = join.whole(Id::A2s, joining, &mut joins.unpacking).expect("a message");
        let (_, whole) = whole.expect("it is not compressed");
        assert_eq!((whole.bytes.len(), whole.length as usize), (MAX_DECODED, body.len()));
        assert_eq!(whole.missing(), 9);
    }

    #[test]
    fn counts_forgotten_layouts_of_servers() {
        let mut joins = Joins::from(Budget::default());
        for n in 0..4_097u32 {
            assert_eq!(joins.forgotten(), 0);
            joins.layouts.insert((Id::A2s, Endpoint::v4(n.to_be_bytes(), 1)), 0);
        }
        assert_eq!(joins.forgotten(), 1);
    }

    #[test]
    fn a_message_goes_on_as_long_as_its_answer() {
        let mut joins = Joins::from(Budget::default());
        assert!(add_at(&mut joins, 1, [0, 2], b"a", 0).is_none());
        let message = add_at(&mut joins, 1, [1, 2], b"b", GIVEN_UP + 1);
        assert_eq!(message.map(|join| join.bytes()), Some(2), "a long window may be chosen");
    }
}
