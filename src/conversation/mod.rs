//! Conversations: which endpoints speak which protocol with each other.

mod idle;
mod table;

pub use table::Conversations;
#[cfg(feature = "internals")]
pub use table::MAX_CONVERSATIONS;

use crate::bounded::packed::{Count, Flags};
use crate::capture::Time;
use crate::contract::{Issued, StepInfo};
use crate::net::Endpoint;
use crate::protocols::{Direction, Id, Level};

/// No slot, no server.
pub const NONE: u32 = u32::MAX;

/// One conversation of two endpoints in one protocol. It takes exactly one cache line, because there are many.
#[derive(Clone, Copy, Debug)]
pub struct Conversation {
    /// Client and server, certain or assumed: the words of their addresses; `ends` has the other word of each
    /// [`Endpoint`].
    ips: [[u64; 2]; 2],
    ends: [u32; 2],
    /// See [`Conversation::issued`], where [`ISSUED`] is set; where [`COMMANDED`] is, the time of the latest command in
    /// milliseconds.
    value: u32,
    /// Distinguishes this conversation from earlier ones in the same slot.
    generation: u32,
    /// See [`Conversation::latest`]; where it is [`IDLE`], the time of its last datagram in milliseconds.
    latest: Count,
    /// See [`Conversation::server_index`].
    server: u32,
    /// The protocol.
    pub id: Id,
    /// Confidence that it is of the protocol.
    pub level: Level,
    /// Requests since the last answer, 255 at most.
    pub unanswered: u8,
    marks: Flags,
    /// See [`Conversation::note_unrecognised`]; 255 at most.
    unrecognised: u8,
    /// Further marks: [`UNPROVEN`] and those after it.
    traits: Flags,
}

/// An unproven conversation with this many datagrams that no probe recognises is of another protocol.
const MIN_FOREIGN: u8 = 8;

/// The client is certain.
const DECIDED: u8 = 1;
/// The datagrams that the client sent so far may have been answers instead.
const DOUBTFUL: u8 = 1 << 1;
/// The table of servers had no room for its server.
const REFUSED: u8 = 1 << 2;
/// The server has issued a value to this client.
const ISSUED: u8 = 1 << 3;
/// A request has carried that value since.
const USED: u8 = 1 << 4;
/// The conversation is over, and its slot is free.
const OVER: u8 = 1 << 5;
/// All its requests are forgotten.
const IDLE: u8 = 1 << 6;
/// The client has sent a request.
const ASKED: u8 = 1 << 7;

/// In `traits`: only its server, or the order of its datagrams, suggests that it is of the protocol.
const UNPROVEN: u8 = 1;
/// A datagram of its ends was claimed by no protocol.
const UNCLAIMED: u8 = 1 << 1;
/// The client sent such a datagram: the ends exchange something else, too.
const OTHER_TRAFFIC: u8 = 1 << 2;
/// The client has sent a command; see [`Conversation::is_commanded`].
const COMMANDED: u8 = 1 << 3;
/// Bytes that are no message came in the place of an answer.
const MISANSWERED: u8 = 1 << 4;

// No two marks share a bit, and no two traits.
const _: () = assert!(
    (DECIDED | DOUBTFUL | REFUSED | ISSUED | USED | OVER | IDLE | ASKED).count_ones() == 8
        && (UNPROVEN | UNCLAIMED | OTHER_TRAFFIC | COMMANDED).count_ones() == 4
);

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
            marks: Flags::default(),
            unrecognised: 0,
            traits: Flags::default(),
        }
    }
    /// The client, certain or assumed.
    #[inline(always)]
    pub fn client(&self) -> Endpoint {
        Endpoint::new(self.ips[0], self.ends[0])
    }
    /// The server.
    #[inline(always)]
    pub fn server(&self) -> Endpoint {
        Endpoint::new(self.ips[1], self.ends[1])
    }
    /// Whether it is the conversation of these two endpoints, in either direction.
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
    /// Sets the client. If that was the server so far, the index of the server and the value that it issued are
    /// forgotten.
    pub fn set_client(&mut self, client: Endpoint) {
        if client != self.client() {
            self.ips.reverse();
            self.ends.reverse();
            self.server = NONE;
            self.marks.set(REFUSED, false);
            self.marks.set(ISSUED, false);
            self.marks.set(ASKED, false);
            self.traits.set(COMMANDED, false);
            self.unrecognised = 0;
        }
    }
    /// Whether the client has sent a request. A datagram that looked like one, while the server was taken for the
    /// client, does not count.
    #[inline(always)]
    pub fn asked(&self) -> bool {
        self.marks.has(ASKED)
    }
    /// Notes that a datagram of the client is a request after all.
    pub fn mark_asked(&mut self) {
        self.marks.set(ASKED, true);
    }
    /// Whether the client is certain.
    #[inline(always)]
    pub fn decided(&self) -> bool {
        self.marks.has(DECIDED)
    }
    /// Whether the datagrams that the client sent so far may have been answers instead, as long as that is not decided.
    pub fn doubtful(&self) -> bool {
        self.marks.has(DOUBTFUL)
    }
    /// Whether all its requests are forgotten.
    pub fn idle(&self) -> bool {
        self.marks.has(IDLE)
    }
    /// Whether the client is certain and the conversation is not idle.
    #[inline(always)]
    pub fn steady(&self) -> bool {
        self.marks.equals_under(DECIDED | IDLE, DECIDED)
    }
    /// Sets whether the client is certain, and whether its datagrams are doubtful.
    pub fn decide(&mut self, decided: bool, doubtful: bool) {
        self.marks.set(DECIDED, decided);
        self.marks.set(DOUBTFUL, doubtful);
    }
    /// Notes a pair of request and answer: raises the confidence to that of the pair.
    #[inline(always)]
    pub fn confirm(&mut self, paired: Level) {
        self.level = self.level.max(paired);
        self.marks.set(DECIDED, self.decided() || self.level >= Level::Medium);
        self.traits.set(UNPROVEN, self.unproven() && paired < Level::Medium);
        self.unanswered = 0;
    }
    /// Notes a pair of that step and confidence; `by_bytes` is the confidence of the answer by its bytes alone. In game
    /// traffic, two datagrams may look like request and answer: as long as the server also sends datagrams that are no
    /// answers, the order proves nothing.
    #[inline(always)]
    pub fn confirm_pair(&mut self, step: &StepInfo, paired: Level, by_bytes: Level) {
        let by_order = step.key_digits == 0;
        // The answer itself may be one of the unrecognised datagrams.
        let tolerated = u8::from(!self.unproven() && !self.doubtful());
        let is_disturbed = by_order && self.unrecognised > tolerated;
        self.unrecognised -= u8::from(is_disturbed);
        let by_bytes = if self.unproven() { Level::Low } else { by_bytes.max(Level::Low) };
        self.confirm(if is_disturbed { paired.min(by_bytes) } else { paired });
        self.traits.set(UNPROVEN, self.unproven() || by_order && self.doubtful());
    }
    /// Notes a datagram from `src` that no probe recognised: it is a damaged message at best. A client may ask its
    /// server in other protocols, so only datagrams of the server count where it is certain which end is the server.
    pub fn note_unrecognised(&mut self, src: Endpoint) {
        let counts = self.unproven() || self.doubtful() || src == self.server();
        self.unrecognised = self.unrecognised.saturating_add(u8::from(counts));
    }
    /// Whether only its server, or the order of its datagrams, suggests that it is of the protocol.
    #[inline(always)]
    pub fn unproven(&self) -> bool {
        self.traits.has(UNPROVEN)
    }
    /// Notes a datagram from `src` that no protocol claims.
    pub fn note_unclaimed(&mut self, src: Endpoint) {
        self.traits.set(UNCLAIMED, true);
        self.traits.set(OTHER_TRAFFIC, self.has_other_traffic() || src == self.client());
    }
    /// Notes that the client sent what [`Probe::COMMAND`](crate::protocols::Probe::COMMAND) marks. A protocol with commands
    /// issues no values.
    pub fn note_command(&mut self, now: Time) {
        if self.issued().is_none() {
            self.value = millis(now);
            self.traits.set(COMMANDED, true);
        }
    }
    /// Whether the client has sent a command within the answer window of the protocol.
    #[inline]
    pub fn is_commanded(&self, now: Time) -> bool {
        let age = millis(now).wrapping_sub(self.value) as i32;
        self.traits.has(COMMANDED) && age <= self.id.info().window_ms as i32
    }
    /// Notes that bytes which are no message came in the place of an answer.
    pub fn note_misanswered(&mut self) {
        self.traits.set(MISANSWERED, true);
    }
    /// Whether bytes that are no message have come in the place of an answer.
    pub fn is_misanswered(&self) -> bool {
        self.traits.has(MISANSWERED)
    }
    /// Whether no protocol claimed a datagram of its ends. One that came in the place of an answer does not count.
    pub fn has_unclaimed(&self) -> bool {
        self.traits.has(UNCLAIMED)
    }
    /// Whether the client sent a datagram that no protocol claims, such as a game's.
    pub fn has_other_traffic(&self) -> bool {
        self.traits.has(OTHER_TRAFFIC)
    }
    /// Notes that only its server suggests the protocol, unless there was more evidence before.
    pub fn trust_server(&mut self) {
        self.traits.set(UNPROVEN, self.unproven() || self.level <= Level::Low);
    }
    /// Whether it is most likely of another protocol, such as a game's with its player.
    #[inline(always)]
    pub fn is_foreign(&self) -> bool {
        self.unproven() && self.unrecognised >= MIN_FOREIGN
    }
    /// Index of the server in the table of servers, or [`NONE`].
    #[inline(always)]
    pub fn server_index(&self) -> u32 {
        self.server
    }
    /// Sets the index of the server in the table of servers.
    #[inline(always)]
    pub fn set_server_index(&mut self, index: u32) {
        self.server = index;
    }
    /// Whether the table of servers had no room for its server.
    pub fn refused(&self) -> bool {
        self.marks.has(REFUSED)
    }
    /// Notes that the table of servers had no room for its server.
    pub fn refuse(&mut self) {
        self.marks.set(REFUSED, true);
    }
    /// The value that the server issued last to this client.
    #[inline(always)]
    pub fn issued(&self) -> Option<Issued> {
        self.marks.has(ISSUED).then_some(Issued { value: self.value, used: self.marks.has(USED) })
    }
    /// Notes that the server issues a value to this client.
    #[inline(always)]
    pub fn note_issued(&mut self, value: u32) {
        self.value = value;
        self.marks.set(ISSUED, true);
        self.marks.set(USED, false);
    }
    /// Notes that a request carries a value, which may be the issued one.
    #[inline(always)]
    pub fn note_carried(&mut self, value: u64) {
        if self.marks.has(ISSUED) && u64::from(self.value) == value {
            self.marks.set(USED, true);
            // Nothing else in the traffic of a game carries that value.
            self.traits.set(UNPROVEN, self.unproven() && value == 0);
        }
    }
    /// Notes that a request carries a value that the server has issued, which need not be the last one.
    #[inline(always)]
    pub fn note_returned(&mut self) {
        self.marks.set(USED, true);
    }
    /// Sequence number of the latest request, plus one; 0 where there was none. If that request is forgotten, it is a
    /// number that no request has.
    #[inline(always)]
    pub fn latest(&self) -> u64 {
        self.latest.get()
    }
    /// Notes a new request, given its sequence number plus one.
    #[inline(always)]
    pub fn note_request(&mut self, latest: u64) {
        self.latest = Count::new(latest);
        self.marks.set(ASKED, true);
        self.unanswered = self.unanswered.saturating_add(1);
    }
    /// Its slot, given its number in the table.
    #[inline(always)]
    pub fn slot(&self, at: u32) -> Slot {
        Slot { at, generation: self.generation }
    }
}

/// A time in milliseconds, to compare it with near ones.
fn millis(time: Time) -> u32 {
    time.since(Time::from_nanos(0)).unwrap_or(0).div_euclid(1_000_000) as u32
}

/// A place in the table, valid as long as the conversation is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    at: u32,
    generation: u32,
}

impl Slot {
    /// Its number, without the generation that identifies one conversation.
    pub fn at(self) -> u32 {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Endpoint = Endpoint::v4([192, 0, 2, 1], 1);
    const SERVER: Endpoint = Endpoint::v4([192, 0, 2, 2], 2);

    fn conversation() -> Conversation {
        Conversation::new(CLIENT, SERVER, Id::Sqp)
    }

    /// The confidence after a pair that only the order shows, with that many unrecognised datagrams before it.
    fn level_of_pair(mut c: Conversation, unrecognised: u8) -> Level {
        (0..unrecognised).for_each(|_| c.note_unrecognised(SERVER));
        c.confirm_pair(&Id::Sqp.info().steps[0], Level::High, Level::Low);
        c.level
    }

    #[test]
    fn one_unrecognised_datagram_is_tolerated_where_the_direction_is_not_in_doubt() {
        assert_eq!(
            [0, 1, 2].map(|n| level_of_pair(conversation(), n)),
            [Level::High, Level::High, Level::Low]
        );
        let mut doubtful = conversation();
        doubtful.decide(false, true);
        assert_eq!([0, 1].map(|n| level_of_pair(doubtful, n)), [Level::High, Level::Low]);
    }

    #[test]
    fn unrecognised_datagrams_of_a_client_count_only_while_it_may_be_the_server() {
        for (doubtful, expected) in [(false, Level::High), (true, Level::Low)] {
            let mut c = conversation();
            c.decide(false, doubtful);
            (0..2).for_each(|_| c.note_unrecognised(CLIENT));
            assert_eq!(level_of_pair(c, 0), expected, "doubtful: {doubtful}");
        }
    }

    #[test]
    fn a_conversation_that_only_its_server_suggests_is_foreign_after_eight_unrecognised_datagrams() {
        for (level, foreign_from) in [(Level::Low, Some(MIN_FOREIGN)), (Level::Medium, None)] {
            let mut c = conversation();
            c.level = level;
            c.trust_server();
            let turned_foreign = (1..=20).find(|_| {
                c.note_unrecognised(SERVER);
                c.is_foreign()
            });
            assert_eq!(turned_foreign, foreign_from, "{level:?}");
        }
    }

    #[test]
    fn swapped_roles_forget_what_was_known_of_the_other_server() {
        let mut c = conversation();
        (0..9).for_each(|_| c.note_unrecognised(SERVER));
        c.refuse();
        c.note_issued(7);
        c.set_client(SERVER);
        assert!(!c.refused() && c.issued().is_none());
        assert_eq!(level_of_pair(c, 0), Level::High);
    }
}
