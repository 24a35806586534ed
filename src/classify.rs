//! Recognises datagrams by content and conversation, never by port alone.
//!
//! Two halves. [`probe`] is pure and may run on any thread: a table from the first byte to the
//! protocols worth asking, then their own look at a few bytes. [`Memory::classify`] runs in frame order
//! and holds what was learnt: which endpoints are servers of what, and what the user pinned. What a
//! conversation has shown is handed in, see [`crate::conversation`].

use crate::contract::Budget;
use crate::conversation::{Conversation, NONE, Slot};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Id, Known, Level, Probe, Role};
use crate::servers::Servers;

/// For each of the first bytes of a payload, and every value that it may have, the protocols that a probe may recognise, one bit
/// each: built at compile time. Few payloads of other traffic pass all four.
static CANDIDATES: [[u32; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
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

/// The same for every length on the wire in bytes; the last one stands for all that are longer.
static LENGTHS: [u32; 64] = {
    let mut table = [0; 64];
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
    let [of_first, of_second, of_third, of_fourth] = &CANDIDATES;
    let Some(&first) = payload.first() else { return 0 };
    let bits = of_first[usize::from(first)] & LENGTHS[wire_len.min(LENGTHS.len() - 1)];
    match *payload {
        [_, second, third, fourth, ..] => {
            bits & of_second[usize::from(second)]
                & of_third[usize::from(third)]
                & of_fourth[usize::from(fourth)]
        }
        _ => bits,
    }
}

/// The protocols with payloads that begin with that byte.
pub fn beginning(byte: Option<&u8>) -> impl Iterator<Item = Id> {
    let bits = byte.map_or(0, |byte| CANDIDATES[0][usize::from(*byte)]);
    Id::ALL.iter().copied().filter(move |id| bits >> *id as u32 & 1 == 1)
}

/// What the classifier is told by the user.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Recognisers that may speak, one bit each in registry order.
    pub protocols: u32,
    /// `--decode-as`: server ports and the protocol they speak.
    pub pins: Vec<(u16, Id)>,
}

impl Default for Choice {
    fn default() -> Self {
        Choice { protocols: u32::MAX, pins: vec![] }
    }
}

impl Choice {
    /// Whether a recogniser may speak.
    fn speaks(&self, id: Id) -> bool {
        self.protocols >> id as u32 & 1 == 1
    }

    /// Only these recognisers.
    pub fn only(ids: &[Id]) -> u32 {
        ids.iter().fold(0, |bits, &id| bits | 1 << id as u32)
    }
}

/// Recognises a datagram by its own bytes: the protocol whose evidence is strongest, and in a tie the
/// one that is registered first.
#[inline(always)]
pub fn probe(d: &Datagram<'_>, protocols: u32) -> Option<(Id, Probe)> {
    let (wire_len, ports) = (d.wire_len(), [d.src.port(), d.dst.port()]);
    let mut bits = candidates(d.payload, wire_len) & protocols;
    if bits == 0 {
        return None;
    }
    let mut id = Id::ALL[bits.trailing_zeros() as usize];
    let mut best = id.probe(d.payload, wire_len, ports);
    bits &= bits - 1;
    // Nothing is surer than high.
    while bits != 0 && best.as_ref().is_none_or(|b| b.level != Level::High) {
        let next = Id::ALL[bits.trailing_zeros() as usize];
        bits &= bits - 1;
        let other = probe_apart(d, next);
        if other.as_ref().is_some_and(|o| best.as_ref().is_none_or(|b| o.level > b.level)) {
            (id, best) = (next, other);
        }
    }
    best.map(|g| (id, g))
}

/// The probe of one protocol, not inlined: the loop would prepare what all of them need, for the one that it asks.
#[inline(never)]
fn probe_apart(d: &Datagram<'_>, id: Id) -> Option<Probe> {
    id.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()])
}

/// What a datagram is, as far as its bytes and what came before it tell.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Protocol.
    pub id: Id,
    /// What it is; its role is certain unless the verdict is open.
    pub probe: Probe,
    /// Which way it travels.
    pub direction: Direction,
    /// That direction is certain.
    pub decided: bool,
    /// It asks as it seems, but may be an answer.
    pub doubtful: bool,
    /// Its conversation goes the other way than was certain so far.
    pub turns: bool,
    /// Its conversation, if there is one already.
    pub slot: Option<Slot>,
    /// Index of its server, or [`NONE`].
    pub server_index: u32,
}

impl Verdict {
    /// What the bytes alone tell, for [`Memory::classify`].
    #[inline(always)]
    pub fn by_looks(id: Id, probe: Probe) -> Verdict {
        Verdict {
            id,
            probe,
            direction: Direction::C2s,
            decided: false,
            doubtful: false,
            turns: false,
            slot: None,
            server_index: NONE,
        }
    }
    /// Who asks.
    pub fn client(&self, d: &Datagram<'_>) -> Endpoint {
        let [client, _] = self.direction.order([d.src, d.dst]);
        client
    }
    /// Who answers.
    pub fn server(&self, d: &Datagram<'_>) -> Endpoint {
        let [_, server] = self.direction.order([d.src, d.dst]);
        server
    }
}

/// What waits for an answer in a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Something does.
    pub open: bool,
    /// The value that the latest of it carries where an answer would issue one: it may be that answer instead.
    pub issued: Option<u32>,
    /// Steps of which a request waits, one bit each.
    pub steps: u32,
}

/// What was learnt so far.
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

    /// Recognisers that may speak, for [`probe`].
    pub fn protocols(&self) -> u32 {
        self.choice.protocols
    }

    /// Whether a datagram that no probe recognised may still belong to something known.
    #[inline(always)]
    pub fn may_know(&self, d: &Datagram<'_>) -> bool {
        self.servers.watches(d.src.port()) || self.servers.watches(d.dst.port())
    }

    /// The protocol the user pinned to a port of the datagram, and the direction that follows.
    #[inline]
    pub fn pinned(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        // Nearly always nothing is.
        if self.choice.pins.is_empty() { None } else { self.pin_of(d) }
    }

    #[cold]
    fn pin_of(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        let of = |port| move |&&(p, id): &&(u16, Id)| p == port && self.choice.speaks(id);
        let pin = |port| self.choice.pins.iter().find(of(port)).map(|&(_, id)| id);
        let to = pin(d.dst.port()).map(|id| (id, Direction::C2s));
        to.or_else(|| pin(d.src.port()).map(|id| (id, Direction::S2c)))
    }

    /// Whether the user pinned another protocol to a port of the datagram.
    #[inline]
    pub fn contradicts(&self, d: &Datagram<'_>, id: Id) -> bool {
        self.pinned(d).is_some_and(|(pin, _)| pin != id)
    }

    /// What is known of a datagram that travels so in its conversation, which is so sure.
    pub fn known_in(
        &self,
        d: &Datagram<'_>,
        id: Id,
        direction: Direction,
        (level, open): (Level, bool),
    ) -> Known {
        let pinned = self.pinned(d).is_some_and(|(pin, _)| pin == id);
        Known { open, pinned, ..Known::of(direction, level) }
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

    /// Classifies a datagram that a probe recognised, see [`Verdict::by_looks`]; `false` where its conversation says
    /// that it is none of ours.
    #[inline(always)]
    pub fn classify(
        &self,
        d: &Datagram<'_>,
        v: &mut Verdict,
        known: Option<(Slot, &Conversation)>,
        open: impl Fn(Option<u8>) -> bool,
    ) -> bool {
        match known {
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

    /// Nothing is certain of the conversation: a known server, or the bytes alone, must tell.
    fn by_itself(&self, d: &Datagram<'_>, v: &mut Verdict, c: Option<&Conversation>) {
        let pinned = self.pinned(d).filter(|(pin, _)| *pin == v.id);
        let (role, level) = (v.probe.role, v.probe.level);
        let declared = v.id.info().messages.get(usize::from(v.probe.message)).and_then(|m| m.direction);
        v.direction = match role {
            Role::Response | Role::ResponsePart => Direction::S2c,
            Role::Stray => declared.unwrap_or(Direction::C2s),
            _ => Direction::C2s,
        };
        let sure = match role {
            Role::MaybeRequest | Role::MaybeResponse => false,
            Role::Stray => declared.is_some(),
            _ => true,
        };
        v.decided = sure && level >= Level::Medium;
        v.doubtful = role == Role::MaybeResponse;
        let asks = |&(direction, _): &(Direction, u32)| {
            // A server may ask others: it seems to do so here, or what it sends says so for certain.
            let [_, server] = direction.order([d.src, d.dst]);
            c.is_some_and(|c| c.client() == server)
                || sure && level == Level::High && v.direction != direction
        };
        let server = self.known_server(d, v.id).filter(|server| !asks(server));
        let by_server = server.map(|(direction, _)| direction).or(pinned.map(|(_, direction)| direction));
        let Some(direction) = by_server else { return };
        v.server_index = server.map_or(NONE, |(_, index)| index);
        if agrees(v, direction) || reads(d, v, known_at(direction, pinned.is_some())) {
            v.probe.level = v.probe.level.max(level).max(Level::Medium);
            (v.direction, v.decided, v.doubtful) = (direction, true, false);
        } else if v.direction != direction {
            v.server_index = NONE;
        }
    }

    /// The conversation knows which end is the client. What goes the wrong way may be none of ours.
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

    /// Has the protocol read a datagram of its conversation again, unless that goes the other way: its bytes say so for
    /// certain, nothing so sure has said before which way it goes, and it is no damaged answer to an open request of its
    /// step.
    #[cold]
    #[inline(never)]
    fn reads_in(&self, d: &Datagram<'_>, v: &mut Verdict, c: &Conversation, [any, same]: [bool; 2]) -> bool {
        let other = match v.probe.role {
            Role::Request | Role::RequestPart if !same => Direction::C2s,
            Role::Response | Role::ResponsePart => Direction::S2c,
            _ => v.direction,
        };
        if v.probe.level == Level::High && c.level < Level::High && other != v.direction {
            (v.direction, v.server_index, v.turns) = (other, NONE, true);
            return true;
        }
        if c.idle() {
            // The other one may ask now.
            let (way, server) = (v.direction, v.server_index);
            self.by_itself(d, v, None);
            if v.direction != way {
                return true;
            }
            (v.decided, v.server_index) = (true, server);
        }
        reads(d, v, self.known_in(d, v.id, v.direction, (c.level, any)))
    }

    /// The conversation has a candidate, and who asks is not certain yet; `false` where it is none of ours.
    fn tentative(&self, d: &Datagram<'_>, v: &mut Verdict, c: &Conversation) -> bool {
        let by_asker = c.client() == d.src;
        if v.probe.level == Level::Hint && v.probe.role == Role::Response && by_asker && !c.doubtful() {
            return c.latest() == 0; // who asks does not answer
        }
        let role = match (v.probe.role, by_asker) {
            (Role::MaybeRequest | Role::MaybeResponse, true) => v.probe.role,
            // What seemed to ask was the answer to this one, which the capture shows too late; or nothing was
            // asked yet that it could answer.
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
            let known = self.known_in(d, v.id, v.direction, (Level::Medium, true));
            let read = v.id.probe_known(d.payload, d.wire_len(), known);
            v.probe.message = read.map_or(v.probe.message, |read| read.message);
            // What cannot be read as an answer is none.
            let stray = role == Role::Response && read.is_some_and(|read| read.role == Role::Stray);
            v.probe.role = if stray { Role::Stray } else { role };
        }
        true
    }

    /// Classifies a datagram that no probe recognised: it may be a damaged part of something known.
    pub fn classify_unrecognised(
        &self,
        d: &Datagram<'_>,
        conversation: impl Fn(Id) -> Option<(Slot, Conversation, Waiting)>,
    ) -> Option<Verdict> {
        let read = |id: Id, known: Known| id.probe_known(d.payload, d.wire_len(), known);
        let pinned = self.pinned(d).map(|(id, direction)| (id, direction, NONE));
        let may_speak = |id: Id| self.choice.speaks(id) && pinned.is_none_or(|p| p.0 == id);
        let mut stray = None;
        for &id in Id::ALL.iter().filter(|id| may_speak(**id)) {
            let Some((slot, c, Waiting { open, issued, steps })) = conversation(id) else { continue };
            let way = c.direction(d.src);
            let reads = |direction| {
                let known =
                    Known { issued, awaited: steps, ..self.known_in(d, id, direction, (c.level, open)) };
                Some((direction, read(id, known)?))
            };
            // What seems to have asked may have answered: then this asks.
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
                    ..Verdict::by_looks(id, probe)
                };
                if probe.role != Role::Stray {
                    return Some(v);
                }
                // The same two may speak another protocol, too, and there it may be a message.
                stray.get_or_insert(v);
            }
        }
        if stray.is_some() {
            return stray;
        }
        let (id, direction, server_index) = pinned.or_else(|| {
            let mut ids = Id::ALL.iter().copied().filter(|&id| may_speak(id));
            ids.find_map(|id| self.known_server(d, id).map(|(direction, index)| (id, direction, index)))
        })?;
        let probe = read(id, known_at(direction, pinned.is_some()))?;
        let slot = conversation(id).map(|(slot, ..)| slot);
        Some(Verdict { direction, decided: true, slot, server_index, ..Verdict::by_looks(id, probe) })
    }
}

/// Whether the client of a conversation that is not sure yet asks with the value that was issued to it.
#[inline]
fn carries_issued(v: &Verdict, d: &Datagram<'_>, c: &Conversation) -> bool {
    let issued = || c.issued().is_some_and(|issued| Some(u64::from(issued.value)) == v.probe.key);
    v.probe.role == Role::Request && c.client() == d.src && issued()
}

/// What is known of a datagram to or from a server, or to or from a port that the user pinned.
fn known_at(direction: Direction, pinned: bool) -> Known {
    Known { conversation: pinned, pinned, ..Known::of(direction, Level::Medium) }
}

/// Whether what a probe saw goes in the direction that is known; decides what it may be.
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

/// Has the protocol read a datagram again with what is known; `false` where it is none of its.
#[cold]
#[inline(never)]
fn reads(d: &Datagram<'_>, v: &mut Verdict, known: Known) -> bool {
    let read = v.id.probe_known(d.payload, d.wire_len(), known);
    v.probe = read.unwrap_or(v.probe);
    read.is_some()
}
