//! What recognising says of a datagram: which message, which way, how sure.

/// How sure a recognition is; also the three values of `--min-confidence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not enough to claim the datagram; worth remembering until its conversation has spoken.
    Hint,
    /// The bytes could be it, and could be something else.
    Low,
    /// Several independent fields agree.
    Medium,
    /// Chance is out of the question.
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
    /// Client and server of a datagram between two ends, source first; and its source and destination,
    /// client first.
    #[inline(always)]
    pub fn order<T>(self, [first, second]: [T; 2]) -> [T; 2] {
        match self {
            Direction::C2s => [first, second],
            Direction::S2c => [second, first],
        }
    }
}

/// What a message does in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Asks; the last part of a request that spans datagrams.
    Request,
    /// Answers.
    Response,
    /// A request whose last part is still to come: the parts are one exchange.
    RequestPart,
    /// A part of an answer, more follow.
    ResponsePart,
    /// A request by its looks, but it could be an answer: the conversation must tell.
    MaybeRequest,
    /// An answer by its looks, but it could be a request: the conversation must tell.
    MaybeResponse,
    /// Neither asks nor answers: damaged beyond that, or travelling the wrong way.
    Stray,
}

/// What recognising learns from a glance at a payload, without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Index into [`Info::messages`](super::Info::messages).
    pub message: u8,
    /// What it does.
    pub role: Role,
    /// Index into [`Info::steps`](super::Info::steps).
    pub step: u8,
    /// What ties the answer to its request besides the addresses; `None` where only order does.
    pub key: Option<u64>,
    /// In a request: what the decoder of the answer must know (SQP: which chunks were asked for).
    /// In an answer of a step that [issues](super::StepInfo::issues) a value: that value.
    pub memo: u32,
    /// What the bytes alone are worth.
    pub level: Level,
    /// What the bytes are worth once they pair with a request.
    pub paired: Level,
    /// It begins a message, as far as its bytes tell; where messages span datagrams, others may go on
    /// with one.
    pub begins: bool,
}

/// What is known of a conversation when a datagram is read again with that knowledge.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Which way the datagram travels.
    pub direction: Direction,
    /// How sure the conversation, or the server it belongs to, is.
    pub level: Level,
    /// The two ends have spoken before; otherwise only the server is known.
    pub conversation: bool,
    /// A request of the conversation is open.
    pub open: bool,
    /// What its receiver sent waits for an answer, and may instead have issued this value to its sender.
    pub issued: Option<u32>,
    /// The user says that the port speaks the protocol, or asks what it would make of the datagram.
    pub pinned: bool,
}
