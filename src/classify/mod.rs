//! Recognises datagrams by content and conversation, never by port alone.
//!
//! [`probe`] is pure and may run on any thread: tables map the first bytes to the protocols that are possible, and each
//! of these examines a few bytes. [`Classifier::classify`] runs in frame order and uses earlier datagrams and the
//! options: the known servers of each protocol, and the ports that the user pinned. The state of a conversation is
//! passed in, see `crate::conversation`.

pub mod looks_like;
pub mod servers;

use crate::classify::servers::Servers;
use crate::contract::Budget;
use crate::conversation::{Conversation, NONE, Slot};
use crate::net::{Datagram, Endpoint};
pub use crate::protocols::candidates::{candidates, candidates_by_first_byte, protocols_of};
use crate::protocols::{Direction, Id, Known, Level, Probe, Role};

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
    /// Whether the recogniser of a protocol may run.
    fn allows(&self, id: Id) -> bool {
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
    let (id, others) = (*Id::ALL.get(bits.trailing_zeros() as usize)?, bits & (bits - 1));
    let probe = probe_of(id, d);
    // No other protocol can have a higher level than high.
    if others == 0 || probe.as_ref().is_some_and(|(_, probe)| probe.level == Level::High) {
        return probe;
    }
    most_certain(d, probe, others)
}

#[inline(always)]
fn probe_of(id: Id, d: &Datagram<'_>) -> Option<(Id, Probe)> {
    Some((id, id.probe(d.payload, d.wire_len(), [d.src.port(), d.dst.port()])?))
}

/// The probe with the highest level among that of the first protocol and those of `others`, in a tie the first. Nearly always the
/// tables leave only one to be probed.
#[cold]
#[inline(never)]
fn most_certain(d: &Datagram<'_>, first: Option<(Id, Probe)>, others: u32) -> Option<(Id, Probe)> {
    let level = |found: &Option<(Id, Probe)>| found.as_ref().map(|(_, probe)| probe.level);
    protocols_of(others)
        .map(|id| probe_of(id, d))
        .fold(first, |best, next| if level(&next) > level(&best) { next } else { best })
}

/// The classification of a datagram by its bytes and by earlier datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Protocol.
    pub id: Id,
    /// The result of its probe; the role is certain unless the verdict is undecided.
    pub probe: Probe,
    /// Which way it travels.
    pub direction: Direction,
    /// Whether that direction is certain.
    pub decided: bool,
    /// It looks like a request, but may be an answer.
    pub doubtful: bool,
    /// It shows that client and server of its conversation have to be swapped, although they were certain.
    pub turns: bool,
    /// Its conversation, if there is one already.
    pub slot: Option<Slot>,
    /// Index of its server, or `NONE`.
    pub server_index: u32,
    /// Only its server suggests the protocol: neither its bytes nor its conversation show it.
    pub by_server: bool,
}

impl Verdict {
    /// The verdict from the bytes alone, for [`Classifier::classify`].
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
    /// Whether it is a request, or may be one.
    pub fn is_request(&self) -> bool {
        !matches!(self.probe.role, Role::Response | Role::ResponsePart | Role::Stray | Role::Unreadable)
    }
    /// The verdict about bytes that no protocol claims, in the place of an answer in that conversation.
    #[cold]
    pub fn unreadable(slot: Slot, c: &Conversation) -> Verdict {
        let probe = Probe::of(c.id.info().unknown(), Role::Unreadable, Level::Hint);
        Verdict {
            direction: Direction::S2c,
            decided: c.decided(),
            doubtful: c.doubtful(),
            slot: Some(slot),
            server_index: c.server_index(),
            ..Verdict::by_bytes(c.id, probe)
        }
    }
    /// Whether no decoder of its protocol reads the datagram.
    #[inline(always)]
    pub fn is_unreadable(&self) -> bool {
        self.probe.role == Role::Unreadable && self.probe.request_state & Probe::ANYTHING == 0
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

/// A damaged answer may belong to one of this many latest requests.
const LATEST: usize = 4;

/// The open requests of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenRequests {
    /// Whether there is one, or one whose answer is not complete. A request whose answer is repeated counts as open,
    /// too.
    pub open: bool,
    /// The value that the latest of them carries in the place of an issued value, because that request may instead be
    /// an answer; if there is none, the value issued last.
    pub issued: Option<u32>,
    /// Steps with an open request, one bit each.
    pub steps: u32,
    /// Keys of the latest requests, open or not.
    pub keys: [Option<u64>; LATEST],
}

/// The state of the classifier: the servers that the capture has shown so far, and the user's choice.
#[derive(Debug, Default)]
pub struct Classifier {
    /// Endpoints that are servers.
    pub servers: Servers,
    choice: Choice,
}

impl Classifier {
    /// A classifier that knows no server.
    pub fn new(choice: Choice, budget: Budget) -> Self {
        let mut servers = Servers::new(budget);
        choice.pins.iter().for_each(|&(port, _)| servers.watch(port));
        Classifier { servers, choice }
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

    /// The protocol that the user pinned to a port of the datagram, and the direction that follows from the port.
    #[inline]
    pub fn pinned(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        // Nearly always there are no pins.
        if self.choice.pins.is_empty() { None } else { self.pin_of(d) }
    }

    #[cold]
    fn pin_of(&self, d: &Datagram<'_>) -> Option<(Id, Direction)> {
        let is_at = |port| move |&&(p, id): &&(u16, Id)| p == port && self.choice.allows(id);
        let pin = |port| self.choice.pins.iter().rev().find(is_at(port)).map(|&(_, id)| id);
        let destination = pin(d.dst.port()).map(|id| (id, Direction::C2s));
        destination.or_else(|| pin(d.src.port()).map(|id| (id, Direction::S2c)))
    }

    /// Whether the user pinned another protocol to a port of the datagram.
    #[inline]
    pub fn contradicts(&self, d: &Datagram<'_>, id: Id) -> bool {
        self.pinned(d).is_some_and(|(pin, _)| pin != id)
    }

    /// The knowledge with which a datagram of that direction in its conversation is probed; `open` says whether a
    /// request is open.
    pub fn known_in(
        &self,
        d: &Datagram<'_>,
        direction: Direction,
        c: &Conversation,
        open: bool,
    ) -> Known<'static> {
        let pinned = self.pinned(d).is_some_and(|(pin, _)| pin == c.id);
        let commanded = c.is_commanded(d.time);
        Known {
            open,
            commanded,
            pinned,
            conversation: pinned || !c.unproven(),
            ..Known::of(direction, c.level)
        }
    }

    /// The direction of a datagram from or to a known server of a protocol, and the number of that server.
    #[inline(always)]
    fn known_server(&self, d: &Datagram<'_>, id: Id) -> Option<(Direction, u32)> {
        match (self.servers.find(d.dst, id), self.servers.find(d.src, id)) {
            (Some(_), Some(_)) => None, // of two servers, only the messages show the client
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
            Some((slot, c)) if c.decided() => return self.classify_decided(d, v, slot, c, open),
            Some((slot, c)) => {
                if carries_issued(v, d, c) {
                    v.probe.level = Level::High;
                }
                self.classify_alone(d, v, Some(c));
                (v.slot, v.server_index) = (Some(slot), c.server_index());
                if !v.decided {
                    return self.classify_undecided(d, v, c);
                }
            }
            None => self.classify_alone(d, v, None),
        }
        true
    }

    /// Classifies a datagram whose conversation is not certain: by a known server, or by its bytes alone.
    fn classify_alone(&self, d: &Datagram<'_>, v: &mut Verdict, c: Option<&Conversation>) {
        let pinned = self.pinned(d).filter(|(pin, _)| *pin == v.id);
        let (role, level) = (v.probe.role, v.probe.level);
        let declared_direction = || v.id.info().messages.get(usize::from(v.probe.message))?.direction;
        let direction = match role {
            Role::Request | Role::RequestPart => Some(Direction::C2s),
            Role::Response | Role::ResponsePart => Some(Direction::S2c),
            Role::MaybeRequest | Role::MaybeResponse => None,
            Role::Stray | Role::Unreadable => declared_direction(),
        };
        let has_direction = direction.is_some();
        v.direction = direction.unwrap_or(Direction::C2s);
        v.decided = has_direction && level >= Level::Medium;
        v.doubtful = role == Role::MaybeResponse;
        let is_client = |direction: Direction, proof: Level| {
            // A known server may be the client here: its conversation suggests that, or its own message proves it.
            let [_, server] = direction.order([d.src, d.dst]);
            c.is_some_and(|c| c.client() == server)
                || has_direction && level >= proof && v.direction != direction
        };
        let server = self.known_server(d, v.id).filter(|&(direction, _)| !is_client(direction, Level::High));
        // A pinned port is weaker evidence than a known server: it does not turn a likely request into an answer.
        let pin = pinned.map(|(_, direction)| direction).filter(|&direction| {
            !is_client(direction, Level::Medium) && (role, direction) != (Role::MaybeRequest, Direction::S2c)
        });
        let by_server = server.map(|(direction, _)| direction).or(pin);
        let Some(direction) = by_server else { return };
        v.server_index = server.map_or(NONE, |(_, index)| index);
        if fits_direction(v, direction) || probe_again(d, v, known_at(direction, pinned.is_some())) {
            v.probe.level = v.probe.level.max(level).max(Level::Medium);
            (v.direction, v.decided, v.doubtful) = (direction, true, false);
            v.by_server = level < Level::Medium && server.is_some();
        } else if v.direction != direction {
            v.server_index = NONE;
        }
    }

    /// Classifies a datagram of a conversation whose client is certain; `false` where it belongs to none of our
    /// protocols.
    #[inline(always)]
    fn classify_decided(
        &self,
        d: &Datagram<'_>,
        v: &mut Verdict,
        slot: Slot,
        c: &Conversation,
        open: impl Fn(Option<u8>) -> bool,
    ) -> bool {
        (v.direction, v.decided) = (c.direction(d.src), true);
        (v.slot, v.server_index) = (Some(slot), c.server_index());
        fits_direction(v, v.direction)
            || self.classify_mismatched(d, v, c, [open(None), open(Some(v.probe.step))])
    }

    /// Classifies a datagram whose role does not fit the direction of its conversation: probes it again with the
    /// knowledge of its conversation, unless it shows that client and server have to be swapped. It does so if its
    /// bytes are of high confidence, the conversation is not, or has no request, and it is no damaged answer to an open
    /// request of its step. The last argument says whether a request is open, of any step and of its step.
    #[cold]
    #[inline(never)]
    fn classify_mismatched(
        &self,
        d: &Datagram<'_>,
        v: &mut Verdict,
        c: &Conversation,
        [open, open_of_step]: [bool; 2],
    ) -> bool {
        let shown = match v.probe.role {
            Role::Request | Role::RequestPart if !open_of_step => Direction::C2s,
            Role::Response | Role::ResponsePart => Direction::S2c,
            _ => v.direction,
        };
        let is_certain = c.level == Level::High && c.latest() != 0;
        if v.probe.level == Level::High && !is_certain && shown != v.direction {
            (v.direction, v.server_index, v.turns) = (shown, NONE, true);
            return true;
        }
        if c.idle() {
            // The other end may be the client now.
            let (direction, server_index) = (v.direction, v.server_index);
            self.classify_alone(d, v, None);
            if v.direction != direction {
                return true;
            }
            (v.decided, v.server_index) = (true, server_index);
        }
        probe_again(d, v, self.known_in(d, v.direction, c, open))
    }

    /// Classifies a datagram of a conversation whose client is not certain yet; `false` where it belongs to none of
    /// our protocols.
    fn classify_undecided(&self, d: &Datagram<'_>, v: &mut Verdict, c: &Conversation) -> bool {
        let by_client = c.client() == d.src;
        if v.probe.level == Level::Hint && v.probe.role == Role::Response && by_client && !c.doubtful() {
            return c.latest() == 0; // a client does not answer
        }
        let role = match (v.probe.role, by_client) {
            (Role::MaybeRequest | Role::MaybeResponse, true) => v.probe.role,
            // The datagram that looked like a request was the answer to this one, which stands after it in the
            // capture; or there is no request yet that this one could answer.
            (Role::MaybeRequest, false) if c.doubtful() || c.latest() == 0 => Role::Request,
            (Role::MaybeRequest | Role::MaybeResponse, false) => Role::Response,
            (role, _) => role,
        };
        v.direction = match role {
            Role::Response | Role::ResponsePart => Direction::S2c,
            Role::Stray if !by_client => Direction::S2c,
            _ => Direction::C2s,
        };
        v.doubtful = c.doubtful() && v.client(d) == c.client();
        if role != v.probe.role {
            let known = Known { level: Level::Medium, ..self.known_in(d, v.direction, c, true) };
            let probe = v.id.probe_known(d.payload, d.wire_len(), known);
            v.probe.message = probe.map_or(v.probe.message, |probe| probe.message);
            // A datagram that cannot be read as an answer is no answer.
            let is_stray = role == Role::Response && probe.is_some_and(|probe| probe.role == Role::Stray);
            v.probe.role = if is_stray { Role::Stray } else { role };
        }
        true
    }

    /// Classifies a datagram that no probe recognised: it may be a damaged message of a known conversation or server.
    /// `shared` has a bit for each protocol in which its ends have a conversation.
    pub fn classify_unrecognised(
        &self,
        d: &Datagram<'_>,
        shared: u32,
        conversation: impl Fn(Id) -> Option<(Slot, Conversation)>,
        open_requests: impl Fn(Slot) -> OpenRequests,
    ) -> Option<Verdict> {
        let probe_known = |id: Id, known: Known<'_>| id.probe_known(d.payload, d.wire_len(), known);
        let pinned = self.pinned(d);
        let is_allowed = |id: Id| self.choice.allows(id) && pinned.is_none_or(|p| p.0 == id);
        let (mut message, mut label, mut unknown, mut foreign) = (None, None, None, 0);
        for id in protocols_of(shared).filter(|&id| is_allowed(id)) {
            let Some((slot, c)) = conversation(id) else { continue };
            if c.is_foreign() && pinned.is_none() {
                foreign |= 1 << id as u32;
                continue;
            }
            let OpenRequests { open, issued, steps, keys } = open_requests(slot);
            let assumed = c.direction(d.src);
            let probe_as = |direction| {
                let known = self.known_in(d, direction, &c, open);
                Some((direction, probe_known(id, Known { issued, awaited: steps, keys: &keys, ..known })?))
            };
            // The datagram that looked like a request may have been an answer: then this one is the request.
            let may_be_request = !c.decided() && c.doubtful() && assumed == Direction::S2c;
            let as_request = if may_be_request { probe_as(Direction::C2s) } else { None };
            if let Some((direction, probe)) = as_request.or_else(|| probe_as(assumed)) {
                let (slot, server_index) = (Some(slot), c.server_index());
                let decided = c.decided() || probe.role == Role::Request && probe.level == Level::High;
                let doubtful = c.doubtful() && direction == assumed;
                let v = Verdict {
                    direction,
                    decided,
                    doubtful,
                    slot,
                    server_index,
                    ..Verdict::by_bytes(id, probe)
                };
                // In another protocol that the same endpoints speak, it may be a message, or the answer to a request.
                if open && direction == Direction::S2c && probe.key.is_some() && keys.contains(&probe.key) {
                    return Some(v);
                }
                let kind = match probe.role {
                    Role::Stray if probe.message == id.info().unknown() => &mut unknown,
                    Role::Stray => &mut label,
                    _ => &mut message,
                };
                kind.get_or_insert(v);
            }
        }
        if let Some(v) = message.or(label).or(unknown) {
            return Some(v);
        }
        let (id, direction) = pinned.or_else(|| {
            let (at_dst, at_src) = (self.servers.protocols_at(d.dst), self.servers.protocols_at(d.src));
            // Of two servers, only the messages show the client.
            let id = protocols_of((at_dst ^ at_src) & !foreign).find(|&id| is_allowed(id))?;
            Some((id, if at_dst >> id as u32 & 1 == 1 { Direction::C2s } else { Direction::S2c }))
        })?;
        let probe = probe_known(id, known_at(direction, pinned.is_some()))?;
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

/// Whether a datagram is a request of the client of an undecided conversation, with the value that was issued to that
/// client.
#[inline]
fn carries_issued(v: &Verdict, d: &Datagram<'_>, c: &Conversation) -> bool {
    let has_issued = || c.issued().is_some_and(|issued| Some(u64::from(issued.value)) == v.probe.key);
    v.probe.role == Role::Request && c.client() == d.src && has_issued()
}

/// The knowledge about a datagram to or from a known server, or to or from a port that the user pinned.
fn known_at(direction: Direction, pinned: bool) -> Known<'static> {
    Known { conversation: pinned, pinned, ..Known::of(direction, Level::Medium) }
}

/// Whether the role that a probe found fits the known direction; makes an uncertain role certain.
#[inline(always)]
fn fits_direction(v: &mut Verdict, direction: Direction) -> bool {
    v.probe.role = match (v.probe.role, direction) {
        (role @ (Role::Request | Role::RequestPart), Direction::C2s) => role,
        (role @ (Role::Response | Role::ResponsePart), Direction::S2c) => role,
        (Role::MaybeRequest, Direction::C2s) => Role::Request,
        (Role::MaybeResponse, Direction::S2c) => Role::Response,
        _ => return false,
    };
    true
}

/// Probes a datagram again with that knowledge; `false` where it does not belong to its protocol.
#[cold]
#[inline(never)]
fn probe_again(d: &Datagram<'_>, v: &mut Verdict, known: Known<'_>) -> bool {
    let probe = v.id.probe_known(d.payload, d.wire_len(), known);
    v.probe = probe.unwrap_or(v.probe);
    probe.is_some()
}
