//! The types that all stages share, as plain data: the results of recognising, pairing and decoding, and what a
//! protocol declares.

mod abuse;
pub mod answering;
mod declared;
mod message;
pub mod probing;
mod split;

pub use crate::bounded::Budget;
use crate::capture::Time;
use crate::decode::{Compared, Cursor, Ends, Facts, Fault, FieldSink, Span, UNPARSED, dissect, wire};
use crate::net::{Datagram, Endpoint};
use crate::rule::Rule;
pub use abuse::{Abuse, Flood, Mistake, Unused};
use arrayvec::ArrayVec;
pub use declared::{Ask, Causation, Info, Protocol, Relation, ShownKey, StepInfo, StepRules};
pub(crate) use message::messages;
pub use message::{
    Answers, Form, KeyOf, LONG, Lengths, Listing, Message, begins_with_length, hashed, number_at, recognise,
    recognise_known,
};
pub use split::{
    CRC32, DECOMPRESSED_SIZE, FIELDS as SPLIT_FIELDS, Joining, Layout, Piece, SPLIT, SPLIT_CONTINUED,
    SPLIT_DATA, SPLIT_ID, SPLIT_LAYOUT, SPLIT_NUMBER, SPLIT_NUMBERS, SPLIT_SIZE, SPLIT_TOTAL, Split, Whole,
};

// --- Recognising

/// Confidence of a recognition; also the three values of `--min-confidence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not enough to claim the datagram, but enough to remember it until its conversation shows more.
    Hint,
    /// The bytes may be of the protocol, or of something else.
    Low,
    /// Several independent fields agree.
    Medium,
    /// A coincidence is practically excluded.
    High,
}

impl Level {
    /// The levels that records name.
    pub const ALL: &[Level] = &[Level::Low, Level::Medium, Level::High];

    /// `low`, `medium` or `high`, as in records and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Hint | Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
        }
    }
}

/// Which way a datagram travels, decided by the messages, never by port numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to server.
    C2s,
    /// Server to client.
    S2c,
}

impl Direction {
    /// Both ways.
    pub const ALL: &[Direction] = &[Direction::C2s, Direction::S2c];

    /// `c2s` or `s2c`, as in records.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::C2s => "c2s",
            Direction::S2c => "s2c",
        }
    }
    /// Turns source and destination into client and server, or client and server into source and destination.
    #[inline(always)]
    pub fn order<T>(self, [first, second]: [T; 2]) -> [T; 2] {
        match self {
            Direction::C2s => [first, second],
            Direction::S2c => [second, first],
        }
    }
}

/// The role of a message in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A request, or the last part of a request that spans datagrams.
    Request,
    /// An answer, or the last part of one.
    Response,
    /// A request whose last part is still to come: the parts are one exchange.
    RequestPart,
    /// A part of an answer; further parts follow.
    ResponsePart,
    /// A request by its bytes, which could also be those of an answer: the conversation decides.
    MaybeRequest,
    /// An answer by its bytes, which could also be those of a request: the conversation decides.
    MaybeResponse,
    /// Neither a request nor an answer: it is too damaged, or travels the wrong way.
    Stray,
    /// No message: bytes that no protocol claims, which came in the place of an answer.
    Unreadable,
}

/// The result of probing a payload: what a few of its bytes show, without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Index into [`Info::messages`].
    pub message: u8,
    /// Its role in an exchange.
    pub role: Role,
    /// Index into [`Info::steps`].
    pub step: u8,
    /// The key that an answer shares with its request; `None` where they are matched by addresses and order only.
    pub key: Option<u64>,
    /// In a request: the state that the decoder of the answer needs (SQP: the requested chunks). In an answer of a step
    /// that [issues](StepInfo::issues) a value: that value.
    pub request_state: u32,
    /// Confidence from the bytes alone.
    pub level: Level,
    /// Confidence once it is paired with a request.
    pub paired: Level,
    /// It begins a message, as far as its bytes show; where messages span datagrams, it may continue one instead.
    pub begins: bool,
    /// Its part of an answer, where parts are numbered.
    pub part: Option<Part>,
}

impl Probe {
    /// Flag in the request_state of a request: its answer comes in one datagram, although that has a part number.
    pub const WHOLE_ANSWER: u32 = 1 << 30;

    /// Flag in the request_state of a stray datagram: it is claimed only because its conversation is known, whatever its
    /// bytes are.
    pub const ANYTHING: u32 = 1 << 29;
    /// Flag in the request_state of a stray datagram of a client: the server may answer it by a message that could also
    /// refuse a request.
    pub const COMMAND: u32 = 1 << 28;
    /// Flag in the request_state of an answer to an [open-ended](StepInfo::open_ended) step: it is not the last datagram, as far as it
    /// shows.
    pub const UNENDED: u32 = 1 << 27;
    /// Flag in the request_state of a request of medium confidence: in another protocol its bytes are an answer, and it is one where
    /// a request of that protocol is open between its ends.
    pub const CONTESTED: u32 = 1 << 26;

    /// A whole message of the first step without a key, with that confidence; pairing a stray one does not raise it.
    pub const fn of(message: u8, role: Role, level: Level) -> Probe {
        let paired = if matches!(role, Role::Stray | Role::Unreadable) { level } else { Level::High };
        Probe { message, role, step: 0, key: None, request_state: 0, level, paired, begins: true, part: None }
    }

    /// Whether it may be an answer in another protocol: see [`Probe::CONTESTED`].
    #[inline(always)]
    pub fn is_contested(&self) -> bool {
        self.request_state & Probe::CONTESTED != 0
            && self.level == Level::Medium
            && matches!(self.role, Role::Request)
    }

    /// The same as a stray message: it neither asks nor answers, and pairing does not raise its confidence.
    pub const fn as_stray(self) -> Probe {
        Probe { role: Role::Stray, key: None, paired: self.level, ..self }
    }
}

/// A part of an answer whose parts are numbered. They may come in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0, up to 254.
    pub number: u8,
    /// Number of parts, where the part says so.
    pub total: Option<u8>,
    /// The message that the parts make up, where the part says so: index into [`Info::messages`].
    pub makes: Option<u8>,
    /// What it lists of a list that goes over all parts, where that shows whether the answer is complete.
    pub share: Option<Share>,
}

/// A part of a list whose parts are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Elements in this part.
    pub listed: u16,
    /// Elements in all parts, where this one says so.
    pub of: Option<u16>,
}

/// Knowledge of a conversation, with which a datagram is probed again.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// Which way the datagram travels.
    pub direction: Direction,
    /// Confidence of the conversation, or of the server.
    pub level: Level,
    /// The two ends have exchanged datagrams before; otherwise only the server is known.
    pub conversation: bool,
    /// A request of the conversation is open, or further parts of its answer may come.
    pub open: bool,
    /// The client has lately sent what [`Probe::COMMAND`] marks.
    pub commanded: bool,
    /// The receiver's datagram that waits for an answer may itself be an answer that issued this value to the sender.
    pub issued: Option<u32>,
    /// Steps with an open request, one bit each, for datagrams whose bytes do not identify them.
    pub awaited: u32,
    /// Keys of the latest requests, for datagrams whose bytes do not identify them.
    pub keys: &'k [Option<u64>],
    /// The user has assigned the port to the protocol, or wants the datagram read in that protocol.
    pub pinned: bool,
}

impl Known<'_> {
    /// Knowledge only that the two ends have exchanged datagrams before, with that confidence.
    pub const fn of(direction: Direction, level: Level) -> Known<'static> {
        Known {
            direction,
            level,
            conversation: true,
            open: false,
            commanded: false,
            issued: None,
            awaited: 0,
            keys: &[],
            pinned: false,
        }
    }
}

// --- Pairing

/// How a datagram belongs to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// It neither asks nor answers.
    Nothing,
    /// A request that opens an exchange.
    Asked {
        /// Number of the exchange.
        exchange: u64,
        /// Frame of its answer, if that precedes it in the file.
        answered_by: Option<u64>,
        /// No other request of the step was open when it was sent.
        alone: bool,
        /// The client's request just before it is of the same step, and open.
        repeated: bool,
        /// A request with its key was answered before.
        reused: bool,
        /// Just before it, the client asked the server to issue a value, and no answer to that is known.
        issue_pending: bool,
    },
    /// It repeats an open request, or is a further part of one.
    Retransmission {
        /// Number of the exchange.
        exchange: u64,
        /// Frame of the request, or of its first part.
        request_frame: u64,
        /// A further part of a request, not a repetition.
        part: bool,
    },
    /// It answers a request.
    Answered(Answer),
    /// It is a copy of an earlier answer.
    DuplicateResponse {
        /// Number of the exchange.
        exchange: u64,
        /// Frame of the request.
        request_frame: u64,
        /// Frame of that answer.
        of: u64,
        /// State of the request, see [`Probe::request_state`].
        asked: u32,
        /// Its step: index into the protocol's steps.
        step: u8,
        /// Number of further answers to the request and of copies so far, including this one; see `Answer::further`.
        further: u8,
        /// It is the first copy of an answer to the request.
        first: bool,
    },
    /// It is a copy that the capture holds of another datagram; it is not paired.
    DuplicateFrame {
        /// The frame of the original.
        of: u64,
        /// State of the request that it seems to answer, see [`Probe::request_state`].
        asked: Option<u32>,
    },
    /// An unsolicited answer.
    Unsolicited {
        /// Other requests of the step are open.
        open: bool,
        /// State of the only open request, to which it does not belong: see [`Context::asked`].
        asked: Option<u32>,
        /// Key of the only open request.
        key: Option<u64>,
        /// A request of another step is open.
        other_step: bool,
        /// The client waits for an answer from another port of the same host, and order does not prove that this is that
        /// answer.
        elsewhere: bool,
    },
}

/// The facts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Number of the exchange.
    pub exchange: u64,
    /// Frame of the request.
    pub request_frame: u64,
    /// State of the request, see [`Probe::request_state`].
    pub asked: u32,
    /// The step of the request: index into the protocol's steps.
    pub step: u8,
    /// Nanoseconds since the request (the first, if it was repeated); negative where time stamps
    /// are out of order, `None` where one is unknown.
    pub response_time: Option<i64>,
    /// It came after the answer window.
    pub late: bool,
    /// Payload of the request in bytes, on the wire.
    pub request_bytes: u32,
    /// A further, different answer to the request.
    pub second: bool,
    /// Number of further answers to the request and of copies so far, including this one, 15 at most; 0 for the first
    /// answer, for parts, and where a request may have several answers.
    pub further: u8,
    /// The answer before it was the same kind of message, and the request was not sent again.
    pub repeats_message: bool,
    /// It has no key, although the request has one.
    pub keyless: bool,
    /// It is a part with the number of another part, with another total, or beyond the last part.
    pub contradicts: bool,
    /// It carries the value last issued to the client, not the one that the request carries.
    pub foreign_key: bool,
    /// Key of the request, where the answer carries another one.
    pub asked_key: Option<u64>,
    /// A further part of an answer that has begun.
    pub part: bool,
    /// A part with a higher number came before it.
    pub out_of_order: bool,
    /// Payload of the parts before it in bytes, on the wire.
    pub before: u32,
    /// It comes from another endpoint than the request was sent to.
    pub elsewhere: bool,
}

impl Answer {
    /// Payload of the answer so far in bytes, on the wire, including this datagram.
    pub fn bytes(&self, d: &Datagram<'_>) -> usize {
        (self.before as usize).saturating_add(d.wire_len())
    }
    /// Whether this datagram makes the answer larger than `most` bytes.
    #[inline(always)]
    pub fn exceeds(&self, most: usize, d: &Datagram<'_>) -> bool {
        self.bytes(d) > most && self.before as usize <= most
    }
}

/// Whether two datagrams that differ only in an address may be one datagram, captured on both sides of an address
/// translation: at most a millisecond lies between them.
pub fn at_translation(now: Time, before: Time) -> bool {
    now.since(before).is_some_and(|interval| interval.unsigned_abs() <= 1_000_000)
}

impl Pairing {
    /// Number of the exchange it belongs to.
    pub fn exchange(&self) -> Option<u64> {
        match *self {
            Pairing::Asked { exchange, .. } | Pairing::Retransmission { exchange, .. } => Some(exchange),
            Pairing::DuplicateResponse { exchange, .. } => Some(exchange),
            Pairing::Answered(answer) => Some(answer.exchange),
            Pairing::Nothing | Pairing::DuplicateFrame { .. } | Pairing::Unsolicited { .. } => None,
        }
    }
    /// Frame of the request of that exchange; `frame` is that of the datagram.
    pub fn request_frame(&self, frame: u64) -> Option<u64> {
        match *self {
            Pairing::Asked { .. } => Some(frame),
            Pairing::Retransmission { request_frame, .. }
            | Pairing::DuplicateResponse { request_frame, .. } => Some(request_frame),
            Pairing::Answered(answer) => Some(answer.request_frame),
            Pairing::Nothing | Pairing::DuplicateFrame { .. } | Pairing::Unsolicited { .. } => None,
        }
    }
    /// The step of the request that it answers, as far as that is known: index into the protocol's steps.
    pub fn step(&self) -> Option<u8> {
        match *self {
            Pairing::Answered(Answer { step, .. }) | Pairing::DuplicateResponse { step, .. } => Some(step),
            _ => None,
        }
    }
    /// Whether an earlier datagram began the message.
    #[inline]
    pub fn continues(&self) -> bool {
        match *self {
            Pairing::Retransmission { part, .. } => part,
            Pairing::Answered(answer) => answer.part,
            _ => false,
        }
    }
    /// State of the request that it answers or seems to answer; see [`Context::asked`].
    #[inline]
    pub fn asked(&self) -> Option<u32> {
        match *self {
            Pairing::Answered(answer) => Some(answer.asked),
            Pairing::DuplicateResponse { asked, .. } => Some(asked),
            Pairing::Unsolicited { asked, .. } | Pairing::DuplicateFrame { asked, .. } => asked,
            _ => None,
        }
    }
}

/// A value that a server issued to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The value.
    pub value: u32,
    /// A request has carried it since.
    pub used: bool,
}

/// What a datagram shows about the challenge that proves a client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    #[default]
    None,
    /// A server issues this challenge.
    Issues(u32),
    /// A request carries a challenge that the server has issued to the client.
    Returns,
    /// A request that could carry a challenge carries none.
    Lacks,
    /// A request carries a challenge that the server has not issued to the client, or an answer belongs to such a
    /// request.
    Wrong,
}

/// A datagram with all that cross-packet rules may examine.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The datagram itself.
    pub datagram: &'a Datagram<'a>,
    /// Its header as a part of a message, and the message if it completes one.
    pub piece: Option<&'a Piece>,
    /// The result of probing its bytes.
    pub probe: &'a Probe,
    /// How it belongs to an exchange.
    pub pairing: &'a Pairing,
    /// The client.
    pub client: Endpoint,
    /// The server.
    pub server: Endpoint,
    /// Requests of the conversation since its last answer, 255 at most.
    pub unanswered: u8,
    /// The last value that the server issued to this client before this datagram.
    pub issued: Option<Issued>,
    /// The conversation may be older than the capture.
    pub may_predate_capture: bool,
}

impl Observation<'_> {
    /// The bytes of the message: the payload of the datagram, or the message that it completes.
    pub fn bytes(&self) -> &[u8] {
        self.piece.map_or(self.datagram.payload, |piece| piece.bytes(self.datagram))
    }
}

/// Most rules that one datagram can break in view of earlier ones; no protocol raises more.
const MAX_RAISED: usize = 8;
/// Most of them whose values are kept; others are named without values.
const MAX_COMPARED: usize = 2;

/// Rules that a datagram breaks in view of earlier ones, each once, without the heap; and what it shows of challenges.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    rules: ArrayVec<(&'static Rule, Option<Span>), MAX_RAISED>,
    /// What it shows about the challenge.
    pub proof: Proof,
    /// It makes an answer larger than its request, which proves nothing about the client's address.
    pub unproven: bool,
    /// The numbers of the finding about abuse, if it has one.
    pub abuse: Option<Abuse>,
    /// What is there and what should be, for rules among them that compare.
    compared: ArrayVec<(&'static Rule, Compared), MAX_COMPARED>,
}

impl Raised {
    /// Nothing.
    pub const NOTHING: Raised = Raised {
        rules: ArrayVec::new_const(),
        proof: Proof::None,
        unproven: false,
        abuse: None,
        compared: ArrayVec::new_const(),
    };

    /// Whether it says nothing that matters later on: rules of the protocol, when they are checked again, ask only
    /// for a wrong proof.
    pub fn says_nothing(&self) -> bool {
        let Raised { rules, proof, unproven: _, abuse, compared } = self;
        rules.is_empty() && compared.is_empty() && abuse.is_none() && *proof != Proof::Wrong
    }
    /// Adds a rule that the datagram as a whole breaks.
    #[cold]
    pub fn add(&mut self, rule: &'static Rule) {
        self.put(rule, None);
    }
    /// Adds a rule that the bytes at `at` break.
    #[cold]
    pub fn add_at(&mut self, rule: &'static Rule, at: Span) {
        self.put(rule, Some(at));
    }
    /// Adds a rule that compares: the values at `at` break it, or those of the datagram as a whole.
    #[cold]
    pub fn add_values(&mut self, rule: &'static Rule, at: Option<Span>, values: Compared) {
        self.put(rule, at);
        if !self.compared.iter().any(|(known, _)| std::ptr::eq(*known, rule)) {
            let _ = self.compared.try_push((rule, values)); // further ones are named without their values
        }
    }
    /// What a rule among them compares.
    pub fn values(&self, rule: &Rule) -> Compared {
        let of_rule = self.compared.iter().find(|(known, _)| std::ptr::eq(*known, rule));
        of_rule.map_or(Compared::NOTHING, |(_, values)| *values)
    }
    #[inline(never)]
    fn put(&mut self, rule: &'static Rule, at: Option<Span>) {
        if !self.rules.iter().any(|(known, _)| std::ptr::eq(*known, rule)) {
            let _ = self.rules.try_push((rule, at)); // no protocol raises more than fit
        }
    }
    /// Removes a rule.
    #[cold]
    pub fn remove(&mut self, rule: &Rule) {
        self.rules.retain(|(raised, _)| !std::ptr::eq(*raised, rule));
    }
    /// Removes the rules of the protocol, because the pairing of the datagram has changed. Rules about effects of the
    /// capture or the path stay.
    #[cold]
    pub fn retain_shared(&mut self) {
        self.rules.retain(|(rule, _)| rule.is_shared());
    }
    /// Whether a rule is among them.
    #[inline]
    pub fn has(&self, rule: &Rule) -> bool {
        self.rules.iter().any(|(raised, _)| std::ptr::eq(*raised, rule))
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules.iter().map(|(rule, _)| *rule)
    }
    /// The rules, each with the bytes that break it; `None` for the datagram as a whole.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Rule, Option<Span>)> {
        self.rules.iter().copied()
    }
}

// --- Decoding

/// The knowledge from pairing with which a datagram is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Index into [`Info::messages`].
    pub message: u8,
    /// Which way the datagram travels.
    pub direction: Direction,
    /// The request_state of the paired request; `None` when the request was not seen. With [`Context::UNPAIRED`]
    /// set, the request_state of the only open request, to which the datagram does not belong.
    pub asked: Option<u32>,
    /// Payload bytes that the capture left out.
    pub missing: usize,
    /// An earlier datagram began the message.
    pub continues: bool,
    /// The layout of a part, or of the parts that were joined: index into `Joining::layouts`.
    pub layout: Option<u8>,
    /// Passwords may be shown.
    pub secrets: bool,
}

impl Context {
    /// See [`Context::asked`]; a bit that is not used in any request_state that a decoder reads.
    pub const UNPAIRED: u32 = 1 << 31;

    /// The context of a whole message without further knowledge.
    pub const fn of(message: u8, direction: Direction) -> Context {
        Context {
            message,
            direction,
            asked: None,
            missing: 0,
            continues: false,
            layout: None,
            secrets: false,
        }
    }
}

// The flags in a request_state share no bit with another.
const _: () = {
    let flags = Context::UNPAIRED | Probe::WHOLE_ANSWER | Probe::ANYTHING | Probe::COMMAND;
    let flags = flags | Probe::UNENDED | Probe::CONTESTED;
    assert!(flags.count_ones() == 6);
};

/// The result of decoding a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decoded<'a> {
    /// Facts that the message states about its server, valid only if decoding did not stop.
    pub(crate) facts: Facts<'a>,
    /// Where decoding stopped.
    pub fault: Option<Fault>,
}

impl<'a> Decoded<'a> {
    /// Reports bytes that are no message to a listener, as one field.
    #[cold]
    pub(crate) fn read_nothing<S: FieldSink>(
        &mut self,
        bytes: &'a [u8],
        cx: &Context,
        ends: &'static Ends,
        listener: &mut S,
    ) {
        let all = |c: &mut Cursor<'a, '_, S>| c.field(&UNPARSED, wire::bytes(bytes.len())).map(drop);
        self.fault = dissect(bytes, cx.missing, ends, listener, &mut self.facts, all).err();
    }
    /// Facts that the message states about its server; `None` where decoding stopped.
    #[inline]
    pub fn facts(&self) -> Option<&Facts<'a>> {
        if self.fault.is_none() { Some(&self.facts) } else { None }
    }
}
