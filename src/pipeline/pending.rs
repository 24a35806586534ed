//! Pending datagrams: their record must wait for what follows in their conversation.
//!
//! Three kinds wait: a candidate that only its conversation can confirm (SQP's five zero bytes), an
//! answer whose request may stand behind it in the file, and a part of a message whose next part may
//! follow. Pairing has happened; only the record waits,
//! and where records are printed in order, everything behind it too. Bounded in datagrams, bytes and
//! capture time; whoever leaves early is taken for what its own bytes are worth, and is counted.

use crate::capture::Time;
use crate::check::Finding;
use crate::classify::Verdict;
use crate::contract::{Piece, Raised, Whole};
use crate::conversation::Slot;
use crate::exchange::{EARLY, EARLY_FRAMES, Exchange, PARTS_WINDOW, Pairing, Table};
use crate::general::GEN_008;
use crate::net::Datagram;
use crate::protocols::{Direction, Level, Probe, Role};
use std::collections::VecDeque;

/// Most pending items.
pub const MAX_WAITING: usize = 1024;
/// Most bytes of their payloads.
pub const MAX_WAITING_BYTES: usize = 256 * 1024;
/// How long a candidate waits in any case, in nanoseconds of capture time. One that asks waits on while its answer may come,
/// as long as there is room.
pub const MAX_WAIT: i64 = 1_000_000_000;

/// What has been found out about a datagram that one of the protocols claims.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What it is.
    pub verdict: Verdict,
    /// Its conversation.
    pub slot: Slot,
    /// What it is to its exchange.
    pub pairing: Pairing,
    /// Cross-packet rules it breaks.
    pub raised: Raised,
    /// It is a part of a message, and nobody has gone on with it yet.
    pub unfinished: bool,
    /// It stands so close to the start of the capture that its request may stand before it.
    pub edge: bool,
    /// It is a candidate: its conversation must confirm it.
    pub candidate: bool,
    /// How sure its conversation was when it came; the conversation may be closed since.
    pub level: Level,
    /// Nothing more is to be found out about it: it waits for its turn behind others, whatever they wait for.
    pub settled: bool,
    /// Capture time when it came; its own time stamp may lie far behind.
    pub since: Time,
    /// What it is a part of.
    pub piece: Option<Box<Piece>>,
}

impl Claim {
    /// Bytes of the message that it completes.
    pub fn joined_bytes(&self) -> usize {
        self.piece.as_ref().and_then(|piece| piece.whole.as_ref()).map_or(0, |whole| whole.bytes.len())
    }
}

/// Everything known of a datagram of a protocol when it is reported.
pub(super) struct Claimed<'a> {
    pub verdict: &'a Verdict,
    pub pairing: &'a Pairing,
    pub raised: &'a Raised,
    /// Its request may stand before the capture.
    pub edge: bool,
    pub server_index: u32,
    pub slot: Slot,
    /// What it is a part of.
    pub piece: Option<&'a Piece>,
}

impl Claimed<'_> {
    /// The message that it completes.
    pub fn whole(&self) -> Option<&Whole> {
        self.piece?.whole.as_ref()
    }
    /// The bytes that its fields and findings speak of: its payload, or the message that it completes.
    pub fn bytes<'b>(&'b self, d: &Datagram<'b>) -> &'b [u8] {
        self.piece.map_or(d.payload, |piece| piece.bytes(d))
    }
    /// How many more there are that cannot be decoded.
    pub fn missing(&self, d: &Datagram<'_>) -> usize {
        self.whole().map_or(d.cut as usize, Whole::missing)
    }
    /// The capture holds it twice; what it breaks is said of the first.
    pub fn is_copy(&self) -> bool {
        !self.raised.is_empty() && self.raised.has(&GEN_008)
    }
    /// Whether a finding is about the field that an answer repeats from its request.
    pub fn repeats(&self, finding: &Finding) -> bool {
        let Verdict { id, probe, .. } = self.verdict;
        finding.field.is_some() && finding.field == id.info().steps[usize::from(probe.step)].repeats
    }
    /// Whether a finding in an answer is the matter of another exchange, which it names. Only that it names that, is not.
    pub fn is_of_another(&self, finding: &Finding) -> bool {
        let Probe { role, key, .. } = self.verdict.probe;
        role != Role::Stray && key.is_some() && !self.raised.has(finding.rule)
    }
}

/// Something whose turn to be reported has not come.
#[derive(Debug)]
pub enum Item {
    /// A datagram without its payload, which lies apart, in one ring for all.
    Datagram(Datagram<'static>, usize, Option<Claim>),
    /// A closed exchange, and whether it waits until its conversation is surer.
    Exchange(Exchange, bool),
}

/// See the module's words.
#[derive(Debug, Default)]
pub struct Pending {
    items: VecDeque<Item>,
    bytes: VecDeque<u8>,
    /// Bytes of joined messages.
    joined: usize,
    /// Datagrams of which nothing more is to be found out.
    settled: usize,
    early: u64,
    first: Until,
}

/// How long the first one waits as long as nothing happens.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    clock: Time,
    frame: u64,
    /// See [`Table::changes`].
    changes: u64,
}

impl Until {
    /// It is to be looked at.
    const NEVER: Until = Until { clock: Time::UNKNOWN, frame: 0, changes: 0 };
}

impl Default for Until {
    fn default() -> Self {
        Until::NEVER
    }
}

impl Pending {
    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether the first one certainly waits on at that frame and capture time: nothing has happened since it was looked at
    /// that it could wait for.
    #[inline(always)]
    pub fn first_stays(&self, changes: u64, (frame, clock): (u64, Time)) -> bool {
        let Until { clock: until, frame: until_frame, changes: then } = self.first;
        clock <= until && frame <= until_frame && changes == then
    }

    /// The first one has been looked at, and waits on.
    pub fn keep_first(&mut self, until: Until) {
        self.first = until;
    }

    /// A datagram has come in a conversation: the first one is looked at again if it waits for that.
    #[inline(always)]
    pub fn touch(&mut self, slot: Slot) {
        match self.items.front() {
            Some(Item::Datagram(_, _, Some(claim))) if claim.slot != slot => {}
            _ => self.first = Until::NEVER,
        }
    }

    /// Whether a datagram stays behind those that wait, although nothing more is to be found out about it: where an
    /// answer among them may be why a request breaks a rule, that waits, and what follows it.
    pub fn is_ahead(&self, v: &Verdict, raised: &Raised) -> bool {
        self.settled > 0 || v.direction == Direction::C2s && !raised.is_empty()
    }

    /// Whether somebody must leave before the next may come in, with so many bytes of a joined message.
    pub fn is_full(&self, joined: usize) -> bool {
        let bytes = self.bytes.len() + self.joined + joined + usize::from(u16::MAX);
        self.items.len() >= MAX_WAITING || bytes > MAX_WAITING_BYTES
    }

    /// Counts the one whose turn is next, who leaves before its conversation has spoken, for want of room.
    pub fn count_early(&mut self, clock: Time) {
        let waited_on =
            matches!(self.front(), Some(Item::Datagram(_, _, Some(c))) if c.waited(clock) > MAX_WAIT);
        self.early += u64::from(!waited_on);
    }

    /// The request in a frame has turned out to be one: counts it if it waited on for that, and had to leave.
    #[cold]
    pub fn count_missed(&mut self, frame: u64) {
        let waits = self.claims().any(|(number, _)| number == frame);
        self.early += u64::from(!waits);
    }

    /// How many left early.
    pub fn early(&self) -> u64 {
        self.early
    }

    /// Lets a datagram in.
    pub fn wait(&mut self, d: &Datagram<'_>, claim: Option<Claim>) {
        self.settled += usize::from(claim.as_ref().is_some_and(|claim| claim.settled));
        self.joined += claim.as_ref().map_or(0, Claim::joined_bytes);
        self.bytes.extend(d.payload);
        self.items.push_back(Item::Datagram(Datagram { payload: &[], ..*d }, d.payload.len(), claim));
    }

    /// Lets an exchange in, which waits until its conversation is surer, or only for its turn.
    pub fn wait_exchange(&mut self, e: Exchange, waits: bool) {
        self.items.push_back(Item::Exchange(e, waits));
    }

    /// The one whose turn is next.
    pub fn front(&self) -> Option<&Item> {
        self.items.front()
    }

    /// Takes the next out; its payload is copied to `payload`.
    pub fn pop(&mut self, payload: &mut Vec<u8>) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.first = Until::NEVER;
        payload.clear();
        if let Item::Datagram(_, len, claim) = &item {
            payload.extend(self.bytes.drain(..*len));
            self.settled -= usize::from(claim.as_ref().is_some_and(|claim| claim.settled));
            self.joined -= claim.as_ref().map_or(0, Claim::joined_bytes);
        }
        Some(item)
    }

    /// A message goes on: the last part that waits for that is shown as one.
    pub fn go_on(&mut self, slot: Slot, direction: Direction) {
        let part = |c: &Claim| c.unfinished && c.slot == slot && c.verdict.direction == direction;
        let Some((frame, claim)) = self.claims().rev().find(|(_, claim)| part(claim)) else { return };
        claim.unfinished = false;
        // Where each part is told as the message that it is.
        let Some(message) = claim.verdict.id.info().fragment else { return };
        claim.verdict.probe.message = message;
        // What the capture holds of it once more stands behind it.
        for (_, copy) in self.claims() {
            if matches!(copy.pairing, Pairing::DuplicateFrame { of, .. } if of == frame) {
                copy.verdict.probe.message = message;
            }
        }
    }

    /// What is known of the datagrams that wait, with their frames.
    fn claims(&mut self) -> impl DoubleEndedIterator<Item = (u64, &mut Claim)> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Datagram(d, _, claim) => Some((d.frame, claim.as_mut()?)),
            Item::Exchange(..) => None,
        })
    }

    /// The answer in a frame, if it waits for its request; its payload is copied to `payload`.
    pub fn orphan(
        &mut self,
        slot: Slot,
        frame: u64,
        payload: &mut Vec<u8>,
    ) -> Option<(&mut Claim, Datagram<'static>)> {
        let (items, bytes, mut start) = (&mut self.items, &self.bytes, 0);
        items.iter_mut().find_map(|item| {
            let Item::Datagram(d, len, claim) = item else { return None };
            let place = start..start + *len;
            start = place.end;
            let claim = claim.as_mut().filter(|claim| d.frame == frame && claim.slot == slot)?;
            payload.clear();
            payload.extend(bytes.range(place));
            Some((claim, *d))
        })
    }
}

/// Whether a role is that of a message whose end is still to come.
pub fn is_part(role: Role) -> bool {
    matches!(role, Role::RequestPart | Role::ResponsePart)
}

impl Claim {
    /// How long it has waited.
    fn waited(&self, clock: Time) -> i64 {
        clock.since(self.since).unwrap_or(0)
    }

    /// Whether its answer may still come.
    fn hopes(&self, table: &Table, passed: i64) -> bool {
        let asks = matches!(self.pairing, Pairing::Asked { .. } | Pairing::Retransmission { .. });
        asks && passed <= table.late_window(self.verdict.id) && table.has_open(self.slot, None)
    }

    /// Until when it waits in any case if it still must at that frame and capture time, its conversation having been confirmed
    /// or not.
    pub fn waits(
        &self,
        d: &Datagram<'_>,
        confirmed: bool,
        table: &Table,
        (frame, clock): (u64, Time),
    ) -> Option<Until> {
        if self.settled {
            return None;
        }
        let passed = self.waited(clock);
        let until =
            |wait, frame| Some(Until { clock: self.since.plus(wait), frame, changes: table.changes() });
        if self.candidate && !confirmed {
            if passed <= MAX_WAIT {
                return until(MAX_WAIT, u64::MAX);
            }
            if self.hopes(table, passed) {
                return until(table.late_window(self.verdict.id), u64::MAX);
            }
        }
        let last_frame = d.frame.saturating_add(EARLY_FRAMES);
        if matches!(self.pairing, Pairing::Unsolicited { .. }) && passed <= EARLY && frame <= last_frame {
            return until(EARLY, last_frame);
        }
        if self.unfinished && passed <= PARTS_WINDOW { until(PARTS_WINDOW, u64::MAX) } else { None }
    }
}
