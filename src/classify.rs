//! Recognises datagrams by content and conversation, never by port alone.
//!
//! Two halves. [`glance`] is pure and may run on any thread: a table from the first byte to the
//! protocols worth asking, then their own look at a few bytes. [`Memory::settle`] runs in frame order
//! and holds what was learnt: which endpoints are servers of what, and what the user pinned. What a
//! conversation has shown is handed in, see [`crate::conversation`].

use crate::conversation::{Conversation, NONE, Slot};
use crate::net::{Datagram, Endpoint};
use crate::protocols::{Direction, Glance, Id, Known, Level, Role};
use crate::servers::Servers;

/// For every first byte, the protocols that a glance may recognise, one bit each: built at compile time.
static CANDIDATES: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut p = 0;
    while p < Id::ALL.len() {
        let first = Id::ALL[p].info().first;
        let mut i = 0;
        while i < first.len() {
            table[first[i] as usize] |= 1 << p;
            i += 1;
        }
        p += 1;
    }
    table
};

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
pub fn glance(d: &Datagram<'_>, protocols: u32) -> Option<(Id, Glance)> {
    let first = *d.payload.first()?;
    let mut bits = CANDIDATES[first as usize] & protocols;
    if bits == 0 {
        return None;
    }
    let (wire_len, ports) = (d.wire_len(), [d.src.port(), d.dst.port()]);
    let id = Id::ALL[bits.trailing_zeros() as usize];
    bits &= bits - 1;
    let first = id.glance(d.payload, wire_len, ports).map(|g| (id, g));
    if bits == 0 || first.is_some_and(|(_, g)| g.level == Level::High) {
        return first; // nothing is surer
    }
    let mut best = first;
    while bits != 0 {
        let id = Id::ALL[bits.trailing_zeros() as usize];
        bits &= bits - 1;
        if let Some(g) = id.glance(d.payload, wire_len, ports)
            && best.is_none_or(|(_, b)| g.level > b.level)
        {
            best = Some((id, g));
        }
    }
    best
}

/// What a datagram is, as far as its bytes and what came before it tell.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Protocol.
    pub id: Id,
    /// What it is; its role is settled unless the verdict is open.
    pub glance: Glance,
    /// Which way it travels.
    pub direction: Direction,
    /// That direction is certain.
    pub decided: bool,
    /// It asks as it seems, but may be an answer.
    pub doubtful: bool,
    /// Its conversation, if there is one already.
    pub slot: Option<Slot>,
    /// Index of its server, or [`NONE`].
    pub server_index: u32,
}

impl Verdict {
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

/// What was learnt so far.
#[derive(Debug, Default)]
pub struct Memory {
    /// Endpoints that are servers.
    pub servers: Servers,
    choice: Choice,
}

impl Memory {
    /// A memory that obeys the user's choice.
    pub fn new(choice: Choice) -> Self {
        let mut servers = Servers::default();
        choice.pins.iter().for_each(|&(port, _)| servers.watch(port));
        Memory { servers, choice }
    }

    /// Recognisers that may speak, for [`glance`].
    pub fn protocols(&self) -> u32 {
        self.choice.protocols
    }

    /// Whether a datagram that no glance recognised may still belong to something known.
    #[inline(always)]
    pub fn may_know(&self, d: &Datagram<'_>) -> bool {
        self.servers.watches(d.src.port()) || self.servers.watches(d.dst.port())
    }

    /// The protocol the user pinned to a port of the datagram, and the direction that follows.
    pub fn pinned(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        let of = |port| move |&&(p, id): &&(u16, Id)| p == port && self.choice.speaks(id);
        let pin = |port| self.choice.pins.iter().find(of(port)).map(|&(_, id)| id);
        let to = pin(d.dst.port()).map(|id| (id, Direction::C2s));
        to.or_else(|| pin(d.src.port()).map(|id| (id, Direction::S2c)))
    }

    /// Whether the user pinned another protocol to a port of the datagram.
    #[inline]
    pub fn contradicts(&self, d: &Datagram<'_>, id: Id) -> bool {
        !self.choice.pins.is_empty() && self.pinned(d).is_some_and(|(pin, _)| pin != id)
    }

    /// The known server of a protocol among the ends of a datagram.
    fn known_server(&self, d: &Datagram<'_>, id: Id) -> Option<(Id, Direction, u32)> {
        match (self.servers.find(d.dst, id), self.servers.find(d.src, id)) {
            (Some(_), Some(_)) => None, // two servers: only the messages can tell
            (Some(index), None) => Some((id, Direction::C2s, index)),
            (None, index) => index.map(|index| (id, Direction::S2c, index)),
        }
    }

    /// Settles a datagram that a glance recognised; `None` where its conversation says that it is none
    /// of ours.
    #[inline(always)]
    pub fn settle(
        &self,
        d: &Datagram<'_>,
        id: Id,
        g: Glance,
        known: Option<(Slot, &Conversation)>,
        open: impl FnOnce() -> bool,
    ) -> Option<Verdict> {
        match known {
            Some((slot, c)) if c.decided => self.in_conversation(d, id, g, slot, c, open),
            Some((slot, c)) => {
                let verdict =
                    Verdict { slot: Some(slot), server_index: c.server, ..self.by_itself(d, id, g) };
                Some(if verdict.decided { verdict } else { tentative(d, verdict, c) })
            }
            None => Some(self.by_itself(d, id, g)),
        }
    }

    /// The conversation knows which end is the client. What goes the wrong way may be none of ours.
    #[inline(always)]
    fn in_conversation(
        &self,
        d: &Datagram<'_>,
        id: Id,
        g: Glance,
        slot: Slot,
        c: &Conversation,
        open: impl FnOnce() -> bool,
    ) -> Option<Verdict> {
        let direction = c.direction(d.src);
        let glance = travelling(g, direction).or_else(|| {
            let known = Known { direction, level: c.level, conversation: true, open: open() };
            id.read(d.payload, d.wire_len(), known)
        })?;
        Some(Verdict {
            id,
            glance,
            direction,
            decided: true,
            doubtful: false,
            slot: Some(slot),
            server_index: c.server,
        })
    }

    /// Nothing is known of the conversation: a known server, or the bytes alone, must tell.
    fn by_itself(&self, d: &Datagram<'_>, id: Id, g: Glance) -> Verdict {
        let pinned = match self.choice.pins.as_slice() {
            [] => None,
            _ => self.pinned(d).filter(|(pin, _)| *pin == id),
        };
        let server = self.known_server(d, id);
        let by_server = server.map(|(_, direction, _)| direction).or(pinned.map(|(_, direction)| direction));
        let server_index = server.map_or(NONE, |(_, _, index)| index);
        let base = Verdict {
            id,
            glance: g,
            direction: Direction::C2s,
            decided: false,
            doubtful: false,
            slot: None,
            server_index,
        };
        if let Some(direction) = by_server {
            let known =
                Known { direction, level: Level::Medium, conversation: pinned.is_some(), open: false };
            let read = travelling(g, direction).or_else(|| id.read(d.payload, d.wire_len(), known));
            if let Some(read) = read {
                let level = read.level.max(g.level).max(Level::Medium);
                return Verdict { glance: Glance { level, ..read }, direction, decided: true, ..base };
            }
        }
        let direction = match g.role {
            Role::Response | Role::ResponsePart => Direction::S2c,
            _ => Direction::C2s,
        };
        let sure = !matches!(g.role, Role::MaybeRequest | Role::MaybeResponse | Role::Stray);
        let decided = sure && g.level >= Level::Medium;
        Verdict { direction, decided, doubtful: g.role == Role::MaybeResponse, ..base }
    }

    /// Settles a datagram that no glance recognised: it may be a damaged part of something known.
    pub fn settle_unrecognised(
        &self,
        d: &Datagram<'_>,
        conversation: impl Fn(Id) -> Option<(Slot, Conversation, bool)>,
    ) -> Option<Verdict> {
        let read = |id: Id, known: Known| id.read(d.payload, d.wire_len(), known);
        let pinned = self.pinned(d).map(|(id, direction)| (id, direction, NONE));
        let may_speak = |id: Id| self.choice.speaks(id) && pinned.is_none_or(|p| p.0 == id);
        for &id in Id::ALL.iter().filter(|id| may_speak(**id)) {
            let Some((slot, c, open)) = conversation(id) else { continue };
            let direction = c.direction(d.src);
            let known = Known { direction, level: c.level, conversation: true, open };
            if let Some(glance) = read(id, known) {
                let (slot, server_index) = (Some(slot), c.server);
                return Some(Verdict {
                    id,
                    glance,
                    direction,
                    decided: c.decided,
                    doubtful: c.doubtful,
                    slot,
                    server_index,
                });
            }
        }
        let (id, direction, server_index) = pinned.or_else(|| {
            Id::ALL.iter().filter(|id| may_speak(**id)).find_map(|&id| self.known_server(d, id))
        })?;
        let known = Known { direction, level: Level::Medium, conversation: pinned.is_some(), open: false };
        let glance = read(id, known)?;
        let slot = conversation(id).map(|(slot, ..)| slot);
        Some(Verdict { id, glance, direction, decided: true, doubtful: false, slot, server_index })
    }
}

/// The glance at a datagram whose direction is known, if it agrees with that.
#[inline(always)]
fn travelling(g: Glance, direction: Direction) -> Option<Glance> {
    let role = match (g.role, direction) {
        (Role::Request | Role::RequestPart, Direction::C2s) => g.role,
        (Role::Response | Role::ResponsePart, Direction::S2c) => g.role,
        (Role::MaybeRequest, Direction::C2s) => Role::Request,
        (Role::MaybeResponse, Direction::S2c) => Role::Response,
        _ => return None,
    };
    Some(Glance { role, ..g })
}

/// The conversation has a candidate, and who asks is not certain yet.
fn tentative(d: &Datagram<'_>, v: Verdict, c: &Conversation) -> Verdict {
    let by_asker = c.client() == d.src;
    let role = match (v.glance.role, by_asker) {
        (Role::MaybeRequest | Role::MaybeResponse, true) => v.glance.role,
        // What seemed to ask was the answer to this one, which the capture shows too late.
        (Role::MaybeRequest, false) if c.doubtful => Role::Request,
        (Role::MaybeRequest | Role::MaybeResponse, false) => Role::Response,
        (role, _) => role,
    };
    let direction = match role {
        Role::Response | Role::ResponsePart => Direction::S2c,
        Role::Stray if !by_asker => Direction::S2c,
        _ => Direction::C2s,
    };
    let mut glance = Glance { role, ..v.glance };
    if role != v.glance.role
        && let Some(read) = v.id.read(
            d.payload,
            d.wire_len(),
            Known { direction, level: Level::Medium, conversation: true, open: true },
        )
    {
        glance.message = read.message;
    }
    Verdict { glance, direction, doubtful: c.doubtful && by_asker, ..v }
}
