//! Recognises datagrams by content and conversation, never by port alone.
//!
//! There are two halves. [`probe`] is pure and may run on any thread: a table maps the first bytes to the protocols
//! worth asking, and each of these examines a few bytes. [`Memory::classify`] runs in frame order and uses what was
//! learnt: which endpoints are servers of which protocol, and what the user pinned. What is known of a conversation
//! is passed in, see [`crate::conversation`].

use crate::contract::{Budget, LONG, Lengths};
use crate::conversation::{Conversation, NONE, Slot};
use crate::net::{Datagram, Endpoint};
use crate::packed::ones;
use crate::protocols::{Direction, Id, Known, Level, Probe, Role};
use crate::servers::Servers;
use std::cmp::Reverse;

/// For each of the first five bytes of a payload and each of its values, the protocols that a probe may recognise,
/// one bit each: built at compile time. Few payloads of other traffic pass all five.
static CANDIDATES: [[u32; 256]; 5] = {
    let mut tables = [[0; 256]; 5];
    let mut p = 0;
    while p < Id::ALL.len() {
        let mut at = 0;
        while at < tables.len() {
            Id::ALL[p].info().mark(at, 1 << p, &mut tables[at]);
            at += 1;
        }
        p += 1;
    }
    tables
};

/// The same for every length on the wire, by the upper two bits of the first byte.
static LENGTHS: Lengths = {
    let mut table = [[0; LONG]; 4];
    let mut p = 0;
    while p < Id::ALL.len() {
        Id::ALL[p].info().mark_lengths(1 << p, &mut table);
        p += 1;
    }
    table
};

/// The protocols that a probe may recognise in a payload, one bit each. `wire_len` is its length on the wire in bytes.
#[inline(always)]
pub fn candidates(payload: &[u8], wire_len: usize) -> u32 {
    let [of_first, of_second, of_third, of_fourth, of_fifth] = &CANDIDATES;
    let Some(&first) = payload.first() else { return 0 };
    let bits = of_first[usize::from(first)] & LENGTHS[usize::from(first >> 6)][wire_len.min(LONG - 1)];
    match *payload {
        [_, second, third, fourth, fifth, ..] => {
            bits & of_second[usize::from(second)]
                & of_third[usize::from(third)]
                & of_fourth[usize::from(fourth)]
                & of_fifth[usize::from(fifth)]
        }
        _ => bits,
    }
}

/// The protocols whose payloads may begin with that byte; none for an empty payload.
pub fn candidates_by_first_byte(byte: Option<&u8>) -> impl Iterator<Item = Id> {
    protocols_of(byte.map_or(0, |byte| CANDIDATES[0][usize::from(*byte)]))
}

/// The protocols whose bits are set, in registry order.
pub fn protocols_of(bits: u32) -> impl Iterator<Item = Id> {
    ones(bits).filter_map(|at| Id::ALL.get(at).copied())
}

/// The user's choices for the classifier.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Recognisers that may run, one bit each in registry order.
    pub protocols: u32,
    /// `--decode-as`: server ports and the protocol they speak. The last one of a port takes effect.
    pub pins: Vec<(u16, Id)>,
}

impl Default for Choice {
    fn default() -> Self {
        Choice { protocols: u32::MAX, pins: vec![] }
    }
}

impl Choice {
    /// Whether a recogniser may run.
    fn speaks(&self, id: Id) -> bool {
        self.protocols >> id as u32 & 1 == 1
    }

    /// The bits of these recognisers only.
    pub fn only(ids: &[Id]) -> u32 {
        ids.iter().fold(0, |bits, &id| bits | 1 << id as u32)
    }
}

/// Recognises a datagram by its own bytes: returns the protocol with the strongest evidence, in a tie the one that
/// is registered first.
#[inline(always)]
pub fn probe(d: &Datagram<'_>, protocols: u32) -> Option<(Id, Probe)> {
    let bits = candidates(d.payload, d.wire_len()) & protocols;
    let (mut id, mut others) = (*Id::ALL.get(bits.trailing_zeros() as usize)?, bits & (bits - 1));
    loop {
        let probe = id.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()]);
        // No level is above high.
        if others == 0 || probe.as_ref().is_some_and(|probe| probe.level == Level::High) {
            return probe.map(|probe| (id, probe));
        }
        (id, others) = (surest(d, bits), 0);
    }
}

/// The protocol whose probe is the surest, in a tie the first. Nearly always the tables leave one to be asked.
#[cold]
#[inline(never)]
fn surest(d: &Datagram<'_>, bits: u32) -> Id {
    let level = |id: Id| Some(id.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()])?.level);
    protocols_of(bits).max_by_key(|&id| (level(id), Reverse(id as u32))).unwrap_or(Id::ALL[0])
}

/// The classification of a datagram by its bytes and by what came before it.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Protocol.
    pub id: Id,
    /// What its bytes show; the role is certain unless the verdict is undecided.
    pub probe: Probe,
    /// Which way it travels.
    pub direction: Direction,
    /// Whether that direction is certain.
    pub decided: bool,
    /// It looks like a request, but may be an answer.
    pub doubtful: bool,
    /// It shows that its conversation goes the other way than was certain so far.
    pub turns: bool,
    /// Its conversation, if there is one already.
    pub slot: Option<Slot>,
    /// Index of its server, or [`NONE`].
    pub server_index: u32,
    /// It rests on its server alone: neither its bytes nor its conversation show that it is of the protocol.
    pub by_server: bool,
}

impl Verdict {
    /// The verdict from the bytes alone, for [`Memory::classify`].
    #[inline(always)]
    pub fn by_bytes(id: Id, probe: Probe) -> Verdict {
        Verdict {
            id,
            probe,
            direction: Direction::C2s,
            decided: false,
            doubtful: false,
            turns: false,
            slot: None,
            server_index: NONE,
            by_server: false,
        }
    }
    /// Whether it is a request, or seems to be one.
    pub fn asks(&self) -> bool {
        !matches!(self.probe.role, Role::Response | Role::ResponsePart | Role::Stray)
    }
    /// The client.
    pub fn client(&self, d: &Datagram<'_>) -> Endpoint {
        let [client, _] = self.direction.order([d.src, d.dst]);
        client
    }
    /// The server.
    pub fn server(&self, d: &Datagram<'_>) -> Endpoint {
        let [_, server] = self.direction.order([d.src, d.dst]);
        server
    }
}

/// How many of the latest requests a damaged answer may belong to.
const LATEST: usize = 4;

/// The open requests of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Whether there are any, or any whose answer has not come in all its parts. One whose answer is repeated is open, too.
    pub open: bool,
    /// The value that the latest of them carries in the place where an answer would carry an issued one, for that
    /// request may be the answer instead; if there is none, the value issued last.
    pub issued: Option<u32>,
    /// Steps with an open request, one bit each.
    pub steps: u32,
    /// Keys of the latest requests, open or not.
    pub keys: [Option<u64>; LATEST],
}

/// What was learnt from the capture so far, and the user's choice.
#[derive(Debug, Default)]
pub struct Memory {
    /// Endpoints that are servers.
    pub servers: Servers,
    choice: Choice,
}

impl Memory {
    /// A memory that obeys the user's choice.
    pub fn new(choice: Choice, budget: Budget) -> Self {
        let mut servers = Servers::new(budget);
        choice.pins.iter().for_each(|&(port, _)| servers.watch(port));
        Memory { servers, choice }
    }

    /// Recognisers that may run, for [`probe`].
    pub fn protocols(&self) -> u32 {
        self.choice.protocols
    }

    /// Whether a datagram that no probe recognised may still belong to a known conversation or server.
    #[inline(always)]
    pub fn may_know(&self, d: &Datagram<'_>) -> bool {
        self.servers.watches(d.src.port()) || self.servers.watches(d.dst.port())
    }

    /// The protocol the user pinned to a port of the datagram, and the direction that follows.
    #[inline]
    pub fn pinned(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        // Nearly always there are no pins.
        if self.choice.pins.is_empty() { None } else { self.pin_of(d) }
    }

    #[cold]
    fn pin_of(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        let of = |port| move |&&(p, id): &&(u16, Id)| p == port && self.choice.speaks(id);
        let pin = |port| self.choice.pins.iter().rev().find(of(port)).map(|&(_, id)| id);
        let to = pin(d.dst.port()).map(|id| (id, Direction::C2s));
        to.or_else(|| pin(d.src.port()).map(|id| (id, Direction::S2c)))
    }

    /// Whether the user pinned another protocol to a port of the datagram.
    #[inline]
    pub fn contradicts(&self, d: &Datagram<'_>, id: Id) -> bool {
        self.pinned(d).is_some_and(|(pin, _)| pin != id)
    }

    /// What is known of a datagram that travels in that direction in its conversation; `open` says whether a request
    /// is open.
    pub fn known_in(
        &self,
        d: &Datagram<'_>,
        direction: Direction,
        c: &Conversation,
        open: bool,
    ) -> Known<'static> {
        let pinned = self.pinned(d).is_some_and(|(pin, _)| pin == c.id);
        Known { open, pinned, conversation: pinned || !c.unproven(), ..Known::of(direction, c.level) }
    }

    /// The known server of a protocol among the ends of a datagram, and the direction that follows.
    #[inline(always)]
    fn known_server(&self, d: &Datagram<'_>, id: Id) -> Option<(Direction, u32)> {
        match (self.servers.find(d.dst, id), self.servers.find(d.src, id)) {
            (Some(_), Some(_)) => None, // two servers: only the messages can tell
            (Some(index), None) => Some((Direction::C2s, index)),
            (None, index) => index.map(|index| (Direction::S2c, index)),
        }
    }

    /// Classifies a datagram that a probe recognised, see [`Verdict::by_bytes`]; `false` where its conversation
    /// shows that it belongs to none of our protocols.
    #[inline(always)]
    pub fn classify(
        &self,
        d: &Datagram<'_>,
        v: &mut Verdict,
        known: Option<(Slot, &Conversation)>,
        open: impl Fn(Option<u8>) -> bool,
    ) -> bool {
        match known {
            Some((_, c)) if c.is_foreign() && v.probe.level < Level::Medium && self.pinned(d).is_none() => {
                return false;
            }
            Some((slot, c)) if c.decided() => return self.in_conversation(d, v, slot, c, open),
            Some((slot, c)) => {
                if carries_issued(v, d, c) {
                    v.probe.level = Level::High;
                }
                self.by_itself(d, v, Some(c));
                (v.slot, v.server_index) = (Some(slot), c.server_index());
                if !v.decided {
                    return self.tentative(d, v, c);
                }
            }
            None => self.by_itself(d, v, None),
        }
        true
    }

    /// Classifies a datagram whose conversation is not certain: by a known server, or by its bytes alone.
    fn by_itself(&self, d: &Datagram<'_>, v: &mut Verdict, c: Option<&Conversation>) {
        let pinned = self.pinned(d).filter(|(pin, _)| *pin == v.id);
        let (role, level) = (v.probe.role, v.probe.level);
        let declared = || v.id.info().messages.get(usize::from(v.probe.message))?.direction;
        let shown = match role {
            Role::Request | Role::RequestPart => Some(Direction::C2s),
            Role::Response | Role::ResponsePart => Some(Direction::S2c),
            Role::MaybeRequest | Role::MaybeResponse => None,
            Role::Stray => declared(),
        };
        let sure = shown.is_some();
        v.direction = shown.unwrap_or(Direction::C2s);
        v.decided = sure && level >= Level::Medium;
        v.doubtful = role == Role::MaybeResponse;
        let asks = |direction: Direction, proof: Level| {
            // A server may be a client of others: its conversation suggests that here, or its own message proves
            // it.
            let [_, server] = direction.order([d.src, d.dst]);
            c.is_some_and(|c| c.client() == server) || sure && level >= proof && v.direction != direction
        };
        let server = self.known_server(d, v.id).filter(|&(direction, _)| !asks(direction, Level::High));
        // A port says less than a server that was seen. What looks like a request is not yet an answer because of it.
        let pin = pinned.map(|(_, direction)| direction).filter(|&direction| {
            !asks(direction, Level::Medium) && (role, direction) != (Role::MaybeRequest, Direction::S2c)
        });
        let by_server = server.map(|(direction, _)| direction).or(pin);
        let Some(direction) = by_server else { return };
        v.server_index = server.map_or(NONE, |(_, index)| index);
        if agrees(v, direction) || reads(d, v, known_at(direction, pinned.is_some())) {
            v.probe.level = v.probe.level.max(level).max(Level::Medium);
            (v.direction, v.decided, v.doubtful) = (direction, true, false);
            v.by_server = level < Level::Medium && server.is_some();
        } else if v.direction != direction {
            v.server_index = NONE;
        }
    }

    /// Classifies a datagram of a conversation whose client is certain. If it goes the wrong way, it may belong to
    /// none of our protocols.
    #[inline(always)]
    fn in_conversation(
        &self,
        d: &Datagram<'_>,
        v: &mut Verdict,
        slot: Slot,
        c: &Conversation,
        open: impl Fn(Option<u8>) -> bool,
    ) -> bool {
        (v.direction, v.decided) = (c.direction(d.src), true);
        (v.slot, v.server_index) = (Some(slot), c.server_index());
        agrees(v, v.direction) || self.reads_in(d, v, c, [open(None), open(Some(v.probe.step))])
    }

    /// Reads a datagram again with what is known of its conversation, unless it shows that the conversation goes
    /// the other way: its bytes are of high confidence, the conversation is not or nothing was asked in it, and it is
    /// no damaged answer to an open request of its step.
    #[cold]
    #[inline(never)]
    fn reads_in(&self, d: &Datagram<'_>, v: &mut Verdict, c: &Conversation, [any, same]: [bool; 2]) -> bool {
        let other = match v.probe.role {
            Role::Request | Role::RequestPart if !same => Direction::C2s,
            Role::Response | Role::ResponsePart => Direction::S2c,
            _ => v.direction,
        };
        let sure = c.level == Level::High && c.latest() != 0;
        if v.probe.level == Level::High && !sure && other != v.direction {
            (v.direction, v.server_index, v.turns) = (other, NONE, true);
            return true;
        }
        if c.idle() {
            // The other end may be the client now.
            let (way, server) = (v.direction, v.server_index);
            self.by_itself(d, v, None);
            if v.direction != way {
                return true;
            }
            (v.decided, v.server_index) = (true, server);
        }
        reads(d, v, self.known_in(d, v.direction, c, any))
    }

    /// Classifies a datagram of a conversation whose client is not certain yet; `false` where it belongs to none of
    /// our protocols.
    fn tentative(&self, d: &Datagram<'_>, v: &mut Verdict, c: &Conversation) -> bool {
        let by_asker = c.client() == d.src;
        if v.probe.level == Level::Hint && v.probe.role == Role::Response && by_asker && !c.doubtful() {
            return c.latest() == 0; // a client does not answer
        }
        let role = match (v.probe.role, by_asker) {
            (Role::MaybeRequest | Role::MaybeResponse, true) => v.probe.role,
            // The datagram that looked like a request was the answer to this one, which comes too late in the
            // capture; or there is no request yet that this one could answer.
            (Role::MaybeRequest, false) if c.doubtful() || c.latest() == 0 => Role::Request,
            (Role::MaybeRequest | Role::MaybeResponse, false) => Role::Response,
            (role, _) => role,
        };
        v.direction = match role {
            Role::Response | Role::ResponsePart => Direction::S2c,
            Role::Stray if !by_asker => Direction::S2c,
            _ => Direction::C2s,
        };
        v.doubtful = c.doubtful() && v.client(d) == c.client();
        if role != v.probe.role {
            let known = Known { level: Level::Medium, ..self.known_in(d, v.direction, c, true) };
            let read = v.id.probe_known(d.payload, d.wire_len(), known);
            v.probe.message = read.map_or(v.probe.message, |read| read.message);
            // A datagram that cannot be read as an answer is no answer.
            let stray = role == Role::Response && read.is_some_and(|read| read.role == Role::Stray);
            v.probe.role = if stray { Role::Stray } else { role };
        }
        true
    }

    /// Classifies a datagram that no probe recognised: it may be a damaged message of a known conversation or
    /// server. `met` has a bit for each protocol in which its ends have a conversation.
    pub fn classify_unrecognised(
        &self,
        d: &Datagram<'_>,
        met: u32,
        conversation: impl Fn(Id) -> Option<(Slot, Conversation)>,
        waiting: impl Fn(Slot) -> Waiting,
    ) -> Option<Verdict> {
        let read = |id: Id, known: Known<'_>| id.probe_known(d.payload, d.wire_len(), known);
        let pinned = self.pinned(d);
        let may_speak = |id: Id| self.choice.speaks(id) && pinned.is_none_or(|p| p.0 == id);
        let (mut stray, mut foreign) = (None, 0);
        for id in protocols_of(met).filter(|&id| may_speak(id)) {
            let Some((slot, c)) = conversation(id) else { continue };
            if c.is_foreign() && pinned.is_none() {
                foreign |= 1 << id as u32;
                continue;
            }
            let Waiting { open, issued, steps, keys } = waiting(slot);
            let way = c.direction(d.src);
            let reads = |direction| {
                let known = self.known_in(d, direction, &c, open);
                Some((direction, read(id, Known { issued, awaited: steps, keys: &keys, ..known })?))
            };
            // The datagram that looked like a request may have been an answer: then this one is the request.
            let asks = !c.decided() && c.doubtful() && way == Direction::S2c;
            let asks = if asks { reads(Direction::C2s) } else { None };
            if let Some((direction, probe)) = asks.or_else(|| reads(way)) {
                let (slot, server_index) = (Some(slot), c.server_index());
                let decided = c.decided() || probe.role == Role::Request && probe.level == Level::High;
                let doubtful = c.doubtful() && direction == way;
                let v = Verdict {
                    direction,
                    decided,
                    doubtful,
                    slot,
                    server_index,
                    ..Verdict::by_bytes(id, probe)
                };
                if probe.role != Role::Stray {
                    return Some(v);
                }
                // The same endpoints may also speak another protocol, in which it may be a message.
                stray.get_or_insert(v);
            }
        }
        if stray.is_some() {
            return stray;
        }
        let (id, direction) = pinned.or_else(|| {
            let [to, from] = [d.dst, d.src].map(|end| self.servers.at(end));
            // Of two servers only the messages can tell which asks.
            let id = protocols_of((to ^ from) & !foreign).find(|&id| may_speak(id))?;
            Some((id, if to >> id as u32 & 1 == 1 { Direction::C2s } else { Direction::S2c }))
        })?;
        let probe = read(id, known_at(direction, pinned.is_some()))?;
        let by_server = pinned.is_none();
        let [_, server] = direction.order([d.src, d.dst]);
        let server_index = self.servers.find(server, id).filter(|_| by_server).unwrap_or(NONE);
        let slot = conversation(id).map(|(slot, _)| slot);
        Some(Verdict {
            direction,
            decided: true,
            slot,
            server_index,
            by_server,
            ..Verdict::by_bytes(id, probe)
        })
    }
}

/// Whether it is a request of the client of an undecided conversation, with the value that was issued to that
/// client.
#[inline]
fn carries_issued(v: &Verdict, d: &Datagram<'_>, c: &Conversation) -> bool {
    let issued = || c.issued().is_some_and(|issued| Some(u64::from(issued.value)) == v.probe.key);
    v.probe.role == Role::Request && c.client() == d.src && issued()
}

/// What is known of a datagram to or from a server, or to or from a port that the user pinned.
fn known_at(direction: Direction, pinned: bool) -> Known<'static> {
    Known { conversation: pinned, pinned, ..Known::of(direction, Level::Medium) }
}

/// Whether the role that a probe saw fits the known direction; makes an uncertain role certain.
#[inline(always)]
fn agrees(v: &mut Verdict, direction: Direction) -> bool {
    v.probe.role = match (v.probe.role, direction) {
        (role @ (Role::Request | Role::RequestPart), Direction::C2s) => role,
        (role @ (Role::Response | Role::ResponsePart), Direction::S2c) => role,
        (Role::MaybeRequest, Direction::C2s) => Role::Request,
        (Role::MaybeResponse, Direction::S2c) => Role::Response,
        _ => return false,
    };
    true
}

/// Reads a datagram again with what is known; `false` where it does not belong to its protocol.
#[cold]
#[inline(never)]
fn reads(d: &Datagram<'_>, v: &mut Verdict, known: Known<'_>) -> bool {
    let read = v.id.probe_known(d.payload, d.wire_len(), known);
    v.probe = read.unwrap_or(v.probe);
    read.is_some()
}
