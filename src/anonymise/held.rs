//! Datagrams on their way into the capture. Parts of a message wait for the others, because only the whole message shows what is
//! replaced in them.

use super::pairs::Way;
use super::payload::Payloads;
use crate::check::Packet;
use crate::classify;
use crate::contract::Split;
use crate::net::{Datagram, Endpoint};
use std::collections::VecDeque;

/// Most datagrams that are held; then the first one goes on as it is.
pub const MAX_HELD: usize = 4096;
/// Most bytes that they take; then the first one goes on as it is, too.
pub const MAX_HELD_BYTES: usize = 16 << 20;

/// A datagram of no protocol is written if its ends speak one within so many frames.
pub const MAX_AHEAD: u64 = 64;
/// Most parts that are remembered because they may come again; then the oldest is forgotten.
pub const MAX_KNOWN: usize = 64;

/// A byte that begins no message.
const NOTHING: u8 = 0xa5;
/// Numbers of own bytes of a datagram of no protocol that are tried, in turn.
const OWN_BYTES: [usize; 5] = [0, 1, 4, 8, 16];

/// What is true of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// There is none.
    None,
    /// It is right, or nobody can tell.
    Right,
    /// It is wrong.
    Wrong,
}

impl Checksum {
    /// What is true of the checksum of a datagram.
    fn in_datagram(d: &Datagram<'_>) -> Checksum {
        match (d.checksum, d.checksum_holds()) {
            (0, _) => Checksum::None,
            (_, Some(false)) => Checksum::Wrong,
            _ => Checksum::Right,
        }
    }

    /// The checksum of a datagram of which this is true.
    pub fn of(self, d: &Datagram<'_>) -> u16 {
        let right = d.right_checksum(d.payload_sum());
        match self {
            Checksum::None => 0,
            Checksum::Right => right,
            // Neither zero, which says that there is none.
            Checksum::Wrong if right == 1 => 2,
            Checksum::Wrong => right ^ 1,
        }
    }
}

/// A datagram that will be written.
#[derive(Debug)]
pub struct Held {
    /// The datagram without its payload, between other ends.
    pub datagram: Datagram<'static>,
    /// The payload that is written.
    pub payload: Vec<u8>,
    /// What is true of its checksum.
    pub checksum: Checksum,
    /// Number of its capture.
    pub capture: usize,
    /// It is of no protocol, and its bytes mean nothing.
    pub is_meaningless: bool,
    /// The ends that have to speak one of the protocols before it is written.
    waits: Option<Way>,
    /// It belongs to a compressed message, and is not written.
    pub is_compressed: bool,
    /// The part of a message that it is, with the bytes that it had, while it waits for others.
    part: Option<(Split, Box<[u8]>)>,
}

impl Held {
    /// A datagram, between other ends; its payload is still missing.
    pub fn new(d: &Datagram<'_>, datagram: Datagram<'static>, capture: usize) -> Held {
        Held {
            datagram,
            payload: vec![],
            checksum: Checksum::in_datagram(d),
            capture,
            is_meaningless: false,
            waits: None,
            is_compressed: false,
            part: None,
        }
    }

    /// A datagram of no protocol, between other ends: as many bytes that mean nothing, behind as few of its own as it needs to look
    /// like the same, and still is of no protocol.
    pub fn meaningless(d: &Datagram<'_>, datagram: Datagram<'static>, capture: usize) -> Held {
        let mut held =
            Held { payload: d.payload.to_vec(), is_meaningless: true, ..Held::new(d, datagram, capture) };
        held.lose_meaning();
        held
    }

    /// A datagram of no protocol that is written, without a meaning, if its ends speak one of the protocols soon after it. Until
    /// then it is between its own ends.
    pub fn waiting(d: &Datagram<'_>, capture: usize, way: Way) -> Held {
        let (payload, datagram) = (d.payload.to_vec(), Datagram { payload: &[], ..*d });
        Held { payload, is_meaningless: true, waits: Some(way), ..Held::new(d, datagram, capture) }
    }

    fn lose_meaning(&mut self) {
        let d = Datagram { payload: &self.payload, ..self.datagram };
        let looks_like = |payload: &[u8]| {
            let probe = classify::probe(&Datagram { payload, ..d }, u32::MAX);
            let ports = [d.src.port(), d.dst.port()];
            (classify::looks_like::looks_like(payload, ports), probe.map(|(id, probe)| (id, probe.level)))
        };
        let wanted = looks_like(d.payload);
        let forms: [fn(u8) -> u8; 2] = [nothing, kind];
        let mut variants = forms.into_iter().flat_map(|form| OWN_BYTES.map(|kept| (kept, form)));
        let found = variants.find_map(|(kept, form)| {
            Some(replaced(d.payload, kept, form)).filter(|payload| looks_like(payload) == wanted)
        });
        self.payload = found.unwrap_or_else(|| replaced(d.payload, 0, nothing));
    }

    /// The bytes of the message that it is a part of, as they were: those from `start` on, or else from where its own header ends.
    fn body(&self, start: Option<u16>) -> &[u8] {
        let (split, payload) = match &self.part {
            Some((split, payload)) => (split, payload),
            None => return &[],
        };
        payload.get(usize::from(start.unwrap_or(split.body))..).unwrap_or_default()
    }

    /// Puts other bytes in their place.
    fn fill(&mut self, start: Option<u16>, body: &[u8]) {
        let start = self.payload.len().saturating_sub(self.body(start).len());
        let to = self.payload.get_mut(start..).unwrap_or_default();
        to.iter_mut().zip(body).for_each(|(to, from)| *to = *from);
    }

    /// Memory that it takes, in bytes.
    fn size(&self) -> usize {
        size_of::<Held>().saturating_add(self.payload.len().saturating_mul(2))
    }
}

/// Other bytes in the place of a payload, but for so many at the beginning; those that are none or all stay.
fn replaced(payload: &[u8], kept: usize, other: fn(u8) -> u8) -> Vec<u8> {
    let stays = |at: usize, byte: u8| at < kept || [0, 0xff].contains(&byte);
    let bytes = payload.iter().enumerate();
    bytes.map(|(at, byte)| if stays(at, *byte) { *byte } else { other(*byte) }).collect()
}

fn nothing(_: u8) -> u8 {
    NOTHING
}

/// What stands for letters and digits of the same kind; separators stay.
fn kind(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        b'0'..=b'9' => b'0',
        0x80.. => NOTHING,
        separator => separator,
    }
}

/// Datagrams in the order in which they are written.
#[derive(Debug, Default)]
pub struct Queue {
    held: VecDeque<Held>,
    /// Bytes of all payloads.
    bytes: usize,
    /// The latest parts of messages that have come whole.
    known: VecDeque<Known>,
}

/// What a part has become, which may come again.
#[derive(Debug)]
struct Known {
    original: Box<[u8]>,
    became: Vec<u8>,
    is_compressed: bool,
}

impl Queue {
    /// Adds the datagram of a packet. `bytes` stand for those of the packet: its payload, or the message that it completes.
    /// `before` is the number of frames in earlier captures.
    pub fn add(
        &mut self,
        mut held: Held,
        (p, bytes): (&Packet<'_>, Vec<u8>),
        before: u64,
        payloads: &Payloads,
    ) {
        if p.whole().is_none() && self.is_again(&mut held, p.datagram.payload) {
            return self.push(held);
        }
        if let Some(piece) = p.piece {
            held.is_compressed = piece.split.packed.is_some();
            held.part = Some((piece.split, p.datagram.payload.into()));
        }
        let Some((piece, whole)) = p.piece.zip(p.whole()) else {
            held.payload = bytes;
            return self.push(held);
        };
        held.payload = payloads.part(p.datagram.payload, held.body(None).len());
        self.push(held);
        let frames: Vec<u64> = whole.parts.iter().map(|part| part.saturating_add(before)).collect();
        self.complete((&frames, piece.split.body), &whole.bytes, &bytes);
    }

    /// Whether the bytes of a datagram are those of a part that waits, or has waited before. Then it gets what that one gets.
    fn is_again(&self, held: &mut Held, payload: &[u8]) -> bool {
        let is_same = |other: &&Held| other.part.as_ref().is_some_and(|(_, other)| **other == *payload);
        if let Some(twin) = self.held.iter().find(is_same) {
            held.part.clone_from(&twin.part);
            (held.payload, held.is_compressed) = (twin.payload.clone(), twin.is_compressed);
            return true;
        }
        let Some(known) = self.known.iter().find(|known| *known.original == *payload) else { return false };
        (held.payload, held.is_compressed) = (known.became.clone(), known.is_compressed);
        true
    }

    /// Remembers what a part has become.
    fn know(&mut self, original: Box<[u8]>, became: Vec<u8>, is_compressed: bool) {
        if self.known.len() >= MAX_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(Known { original, became, is_compressed });
    }

    /// Adds a datagram.
    pub fn push(&mut self, held: Held) {
        self.bytes = self.bytes.saturating_add(held.size());
        self.held.push_back(held);
    }

    /// Two ends speak one of the protocols: what came between them shortly before is written, between others. Returns the ways in
    /// which it came.
    pub fn release_between(&mut self, pair: u64, other: &mut dyn FnMut(Endpoint) -> Endpoint) -> u8 {
        let is_between = |held: &&mut Held| held.waits.is_some_and(|(of, _)| of == pair);
        let mut ways = 0;
        for held in self.held.iter_mut().filter(is_between) {
            ways |= held.waits.take().map_or(0, |(_, way)| way);
            held.lose_meaning();
            (held.datagram.src, held.datagram.dst) = (other(held.datagram.src), other(held.datagram.dst));
        }
        ways
    }

    /// Drops what has waited in vain: for its ends, more than so many frames before that one.
    pub fn drop_waiting(&mut self, latest: u64) {
        let is_over =
            |held: &Held| held.waits.is_some() && latest.saturating_sub(held.datagram.frame) > MAX_AHEAD;
        while self.held.front().is_some_and(is_over) {
            drop(self.take_first());
        }
    }

    /// The next datagram, if it does not wait for others, or if too many wait.
    pub fn pop_ready(&mut self) -> Option<Held> {
        let is_full = self.held.len() > MAX_HELD || self.bytes > MAX_HELD_BYTES;
        let is_ready = self.held.front().is_some_and(|held| held.part.is_none() && held.waits.is_none());
        if is_ready || is_full { self.pop() } else { None }
    }

    /// The next datagram, whichever parts it waits for. What waits for its ends is dropped: it must not be written as it is.
    pub fn pop(&mut self) -> Option<Held> {
        std::iter::from_fn(|| self.take_first()).find(|held| held.waits.is_none())
    }

    fn take_first(&mut self) -> Option<Held> {
        let held = self.held.pop_front()?;
        self.bytes = self.bytes.saturating_sub(held.size());
        Some(held)
    }

    /// The parts of a message have come, in these frames; `start` is where the message begins in the last one. `bytes` stand for
    /// those of the message.
    fn complete(&mut self, (frames, start): (&[u64], u16), message: &[u8], bytes: &[u8]) {
        let places = frames.iter().filter_map(|frame| {
            self.held.iter().position(|held| held.datagram.frame == *frame && held.part.is_some())
        });
        let places: Vec<usize> = places.collect();
        if places.len() < frames.len() {
            return self.complete_last(start, message, bytes);
        }
        let is_plain = |start: &Option<u16>| {
            let bodies = places.iter().filter_map(|at| self.held.get(*at)).flat_map(|held| held.body(*start));
            bodies.zip(message).all(|(body, message)| body == message)
        };
        // Which header parts have may show only once another one has come.
        let plain = [None, Some(start)].into_iter().find(is_plain);
        let mut rest = bytes;
        for at in places {
            let Some(held) = self.held.get_mut(at) else { continue };
            let start = plain.flatten();
            let (this, others) = rest.split_at_checked(held.body(start).len()).unwrap_or((rest, &[]));
            rest = others;
            held.is_compressed |= plain.is_none();
            held.fill(start, this);
            self.release(at);
        }
    }

    /// The last part of a message has come, and others have gone on before it: because there were too many, or because they had come
    /// before.
    fn complete_last(&mut self, start: u16, message: &[u8], bytes: &[u8]) {
        let Some((at, held)) = self.held.iter_mut().enumerate().next_back() else { return };
        let start = [None, Some(start)].into_iter().find(|start| message.ends_with(held.body(*start)));
        if let Some(start) = start {
            let before = bytes.len().saturating_sub(held.body(start).len());
            held.fill(start, bytes.get(before..).unwrap_or_default());
        }
        self.release(at);
    }

    /// Ends the waiting of a part whose bytes are known, and of all that are the same.
    fn release(&mut self, at: usize) {
        let Some(held) = self.held.get_mut(at) else { return };
        let Some((_, original)) = held.part.take() else { return };
        let (became, is_compressed) = (held.payload.clone(), held.is_compressed);
        let is_same = |other: &&mut Held| other.part.as_ref().is_some_and(|(_, other)| *other == original);
        for other in self.held.iter_mut().filter(is_same) {
            (other.payload, other.is_compressed) = (became.clone(), is_compressed);
            other.part = None;
        }
        self.know(original, became, is_compressed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn part(frame: u64, body: &[u8]) -> Held {
        let payload: Box<[u8]> = [&[0xfe, 0xff], body].concat().into();
        let split = Split { id: 1, layout: 0, total: 2, number: 0, size: None, packed: None, body: 2 };
        let datagram = Datagram { frame, ..Datagram::default() };
        Held { payload: payload.to_vec(), part: Some((split, payload)), ..Held::new(&datagram, datagram, 0) }
    }

    fn queue(parts: Vec<Held>) -> Queue {
        let bytes = parts.iter().map(Held::size).sum();
        Queue { held: parts.into(), bytes, known: VecDeque::new() }
    }

    #[test]
    fn parts_wait_until_the_message_is_whole() {
        let mut queue = queue(vec![part(1, b"Cam"), part(2, b"Cam"), part(3, b"p 1")]);
        assert!(queue.pop_ready().is_none());
        queue.complete((&[1, 3], 2), b"Camp 1", b"Xyzw 7");
        let all: Vec<Vec<u8>> = std::iter::from_fn(|| queue.pop_ready()).map(|held| held.payload).collect();
        assert_eq!(all, [b"\xfe\xffXyz", b"\xfe\xffXyz", b"\xfe\xffw 7"]);
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn a_part_that_comes_again_gets_what_it_got() {
        let mut queue = queue(vec![part(1, b"Cam"), part(2, b"p 1")]);
        let again = |queue: &Queue| {
            let mut copy = Held::new(&Datagram::default(), Datagram::default(), 0);
            queue.is_again(&mut copy, b"\xfe\xffCam").then_some((copy.payload, copy.part.is_some()))
        };
        assert_eq!(again(&queue), Some((b"\xfe\xffCam".to_vec(), true)), "it waits, too");
        queue.complete((&[1, 2], 2), b"Camp 1", b"Xyzw 7");
        assert_eq!(again(&queue), Some((b"\xfe\xffXyz".to_vec(), false)));
        (0..MAX_KNOWN as u64).for_each(|n| queue.know(n.to_be_bytes().into(), vec![], false));
        assert_eq!((again(&queue), queue.known.len()), (None, MAX_KNOWN));
    }

    #[test]
    fn the_last_part_is_filled_where_others_have_gone_on() {
        let mut queue = queue(vec![part(9, b"p 1")]);
        queue.complete((&[1, 9], 2), b"Camp 1", b"Xyzw 7");
        assert_eq!(queue.pop_ready().map(|held| held.payload), Some(b"\xfe\xffw 7".to_vec()));
    }

    #[test]
    fn parts_of_a_message_that_is_not_in_them_are_compressed() {
        let mut queue = queue(vec![part(1, b"BZh"), part(2, b"91A")]);
        queue.complete((&[1, 2], 2), b"Camp 1 and more", b"Xyzw 7 fri moru");
        assert!(std::iter::from_fn(|| queue.pop_ready()).all(|held| held.is_compressed));
    }

    #[test]
    fn another_header_may_show_only_in_the_last_part() {
        let mut early = part(1, b"\x04\xb0Cam");
        early.part.as_mut().unwrap().0.body = 4;
        let mut queue = queue(vec![early, part(2, b"p 1")]);
        queue.complete((&[1, 2], 2), b"\x04\xb0Camp 1", b"\x04\xb0Xyzw 7");
        let all: Vec<Vec<u8>> = std::iter::from_fn(|| queue.pop_ready()).map(|held| held.payload).collect();
        assert_eq!(all, [&b"\xfe\xff\x04\xb0Xyz"[..], b"\xfe\xffw 7"]);
    }

    #[test]
    fn what_waits_for_its_ends_is_written_or_dropped() {
        let waiting = |frame: u64, pair: u64| {
            let d = Datagram { frame, payload: b"hello", ..Datagram::default() };
            Held::waiting(&d, 0, (pair, 1))
        };
        let mut queue = queue(vec![waiting(1, 7), waiting(2, 8), waiting(3, 9)]);
        let mut released = [8, 5].map(|pair| queue.release_between(pair, &mut |_| Endpoint::v4([9; 4], 9)));
        released.sort_unstable();
        assert_eq!(released, [0, 1]);
        assert!(queue.pop_ready().is_none(), "the first one waits");
        queue.drop_waiting(1 + MAX_AHEAD);
        assert!(queue.pop_ready().is_none());
        queue.drop_waiting(2 + MAX_AHEAD);
        let ready = queue.pop_ready().unwrap();
        assert_eq!((ready.datagram.frame, ready.payload.as_slice()), (2, &[NOTHING; 5][..]));
        assert_eq!(ready.datagram.src, Endpoint::v4([9; 4], 9));
        assert!(queue.pop().is_none());
    }

    #[test]
    fn no_more_than_so_many_are_held() {
        let mut full = queue((0..=MAX_HELD as u64).map(|frame| part(frame, b"x")).collect());
        assert!(full.pop_ready().is_some());
        assert!(full.pop_ready().is_none());
        let mut full = queue(vec![part(1, &vec![0; MAX_HELD_BYTES])]);
        assert!(full.pop_ready().is_some());
    }

    #[test]
    fn checksums_stay_what_they_are() {
        let ends = [1, 2].map(|last| crate::net::Endpoint::v4([192, 0, 2, last], 7777));
        let d = Datagram::between(ends[0], ends[1], b"abcd");
        let with = |checksum: Checksum| Datagram { checksum: checksum.of(&d), ..d };
        for checksum in [Checksum::None, Checksum::Right, Checksum::Wrong] {
            assert_eq!(Checksum::in_datagram(&with(checksum)), checksum);
        }
    }
}
