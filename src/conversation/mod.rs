//! Conversations: who speaks which protocol with whom.

mod idle;
mod table;

pub use table::{Conversations, MAX_CONVERSATIONS};

use crate::contract::Issued;
use crate::net::Endpoint;
use crate::packed::{Count, Marks};
use crate::protocols::{Direction, Id, Level};

/// No slot, no server.
pub const NONE: u32 = u32::MAX;

/// One conversation of two endpoints in one protocol: one line of the cache, for there are many of them.
#[derive(Clone, Copy, Debug)]
pub struct Conversation {
    /// Client and server, for certain or as it seems: the words of their addresses, and the other word of [`Endpoint`].
    ips: [[u64; 2]; 2],
    ends: [u32; 2],
    /// See [`Conversation::issued`], where [`ISSUED`] is set.
    value: u32,
    /// Tells this conversation from an earlier one in the same slot.
    generation: u32,
    /// See [`Conversation::latest`]; where it is [`IDLE`], the time of its last datagram in milliseconds.
    latest: Count,
    /// See [`Conversation::server_index`].
    server: u32,
    /// The protocol.
    pub id: Id,
    /// How sure that is.
    pub level: Level,
    /// Requests since the last answer, 255 at most.
    pub unanswered: u8,
    marks: Marks,
}

/// Who the client is, is certain.
const DECIDED: u8 = 1;
/// What it sent so far may have been an answer instead.
const DOUBTFUL: u8 = 1 << 1;
/// The table of servers had no place for its server.
const REFUSED: u8 = 1 << 2;
/// The server has issued a value to this client.
const ISSUED: u8 = 1 << 3;
/// A request has carried that since.
const USED: u8 = 1 << 4;
/// It is over, and its slot is free.
const OVER: u8 = 1 << 5;
/// All that it asked is forgotten.
const IDLE: u8 = 1 << 6;

const _: () = assert!(size_of::<Conversation>() == 64);

impl Conversation {
    #[inline(always)]
    fn new(client: Endpoint, server: Endpoint, id: Id) -> Conversation {
        let ((client_ip, client_end), (server_ip, server_end)) = (client.halves(), server.halves());
        Conversation {
            ips: [client_ip, server_ip],
            ends: [client_end, server_end],
            value: 0,
            generation: 0,
            latest: Count::default(),
            server: NONE,
            id,
            level: Level::Hint,
            unanswered: 0,
            marks: Marks::default(),
        }
    }
    /// Who asks, for certain or as it seems.
    #[inline(always)]
    pub fn client(&self) -> Endpoint {
        Endpoint::new(self.ips[0], self.ends[0])
    }
    /// Who answers.
    #[inline(always)]
    pub fn server(&self) -> Endpoint {
        Endpoint::new(self.ips[1], self.ends[1])
    }
    /// Whether it is that of two endpoints, in either direction.
    #[inline(always)]
    fn is_of(&self, [a, b]: [Endpoint; 2]) -> bool {
        let (client, server) = (self.client(), self.server());
        if client == a { server == b } else { client == b && server == a }
    }
    /// Which way a datagram from `src` travels.
    #[inline(always)]
    pub fn direction(&self, src: Endpoint) -> Direction {
        if self.client() == src { Direction::C2s } else { Direction::S2c }
    }
    /// Says who the client is.
    pub fn set_client(&mut self, client: Endpoint) {
        if client != self.client() {
            self.ips.reverse();
            self.ends.reverse();
        }
    }
    /// Who the client is, is certain.
    #[inline(always)]
    pub fn decided(&self) -> bool {
        self.marks.has(DECIDED)
    }
    /// What the client sent so far may have been an answer instead, as long as that is not decided.
    pub fn doubtful(&self) -> bool {
        self.marks.has(DOUBTFUL)
    }
    /// All that it asked is forgotten.
    pub fn idle(&self) -> bool {
        self.marks.has(IDLE)
    }
    /// Who the client is, is certain, and it is not idle.
    #[inline(always)]
    pub fn steady(&self) -> bool {
        self.marks.of_these_only(DECIDED | IDLE, DECIDED)
    }
    /// Says both.
    pub fn decide(&mut self, decided: bool, doubtful: bool) {
        self.marks.set(DECIDED, decided);
        self.marks.set(DOUBTFUL, doubtful);
    }
    /// A pair was found: it is as sure as that makes it.
    #[inline(always)]
    pub fn confirm(&mut self, paired: Level) {
        self.level = self.level.max(paired);
        self.marks.set(DECIDED, self.decided() || self.level >= Level::Medium);
        self.unanswered = 0;
    }
    /// Index of the server in the table of servers, or [`NONE`].
    #[inline(always)]
    pub fn server_index(&self) -> u32 {
        self.server
    }
    /// Says what that is.
    #[inline(always)]
    pub fn set_server_index(&mut self, index: u32) {
        self.server = index;
    }
    /// That table had no place for it.
    pub fn refused(&self) -> bool {
        self.marks.has(REFUSED)
    }
    /// Says so.
    pub fn refuse(&mut self) {
        self.marks.set(REFUSED, true);
    }
    /// The value the server issued last to this client.
    #[inline(always)]
    pub fn issued(&self) -> Option<Issued> {
        self.marks.has(ISSUED).then_some(Issued { value: self.value, used: self.marks.has(USED) })
    }
    /// The server issues a value.
    #[inline(always)]
    pub fn issue(&mut self, value: u32) {
        self.value = value;
        self.marks.set(ISSUED, true);
        self.marks.set(USED, false);
    }
    /// What was issued went the other way.
    pub fn take_back(&mut self) {
        self.marks.set(ISSUED, false);
    }
    /// A request carries that value.
    #[inline(always)]
    pub fn carry(&mut self, value: u64) {
        if self.marks.has(ISSUED) && u64::from(self.value) == value {
            self.marks.set(USED, true);
        }
    }
    /// Sequence number of the latest request, plus one; 0 where there was none. Of one that is forgotten another number,
    /// which no request has.
    #[inline(always)]
    pub fn latest(&self) -> u64 {
        self.latest.get()
    }
    /// A request is asked.
    #[inline(always)]
    pub fn ask(&mut self, latest: u64) {
        self.latest = Count::new(latest);
        self.unanswered = self.unanswered.saturating_add(1);
    }
    /// Its place, if that is the one with this number.
    #[inline(always)]
    pub fn slot(&self, at: u32) -> Slot {
        Slot { at, generation: self.generation }
    }
}

/// A place in the table, valid as long as the conversation is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    at: u32,
    generation: u32,
}

impl Slot {
    /// Its number, without what makes it that of one conversation.
    pub fn at(self) -> u32 {
        self.at
    }
}
