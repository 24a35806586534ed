//! The registry. Adding a protocol is one new file (or folder) here and one line at the bottom.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, clippy::arithmetic_side_effects)]

mod recognised;

use crate::check::Raised;
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Value, dissect};
use crate::exchange::Seen;
use crate::rule::{Example, Rule};
pub use recognised::{Direction, Glance, Known, Level, Role};

/// What pairing knows when a datagram is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Index into [`Info::messages`].
    pub message: u8,
    /// Which way the datagram travels.
    pub direction: Direction,
    /// The paired request's memo; `None` when the request was not seen. With [`Context::NOT_ITS_OWN`] set, that of the only
    /// open request, to which the datagram does not belong.
    pub asked: Option<u32>,
    /// Payload bytes that the capture left out.
    pub missing: usize,
    /// An earlier datagram began the message.
    pub continues: bool,
    /// Passwords may be shown.
    pub secrets: bool,
}

impl Context {
    /// See [`Context::asked`]; a bit that no memo uses which a decoder reads.
    pub const NOT_ITS_OWN: u32 = 1 << 31;
}

/// What a message says about its server, for the table of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts<'a> {
    /// Name of the server, a text in any encoding.
    pub server_name: Option<Value<'a>>,
    /// Name of the game, its type or mode, likewise.
    pub game: Option<Value<'a>>,
    /// Version, build or changelist.
    pub version: Option<Version<'a>>,
    /// Players now and at most.
    pub players: Option<(u32, u32)>,
    /// State of the server, by name.
    pub state: Option<&'static str>,
}

/// What a message says about its server, if anything, or where decoding stopped.
pub type Decoded<'a> = Result<Option<Facts<'a>>, Fault>;

/// A version, as text or as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version<'a> {
    /// Text in any encoding.
    Text(Value<'a>),
    /// A changelist or build number.
    Number(u64),
}

/// One step of a protocol: a question and its answer.
#[derive(Debug)]
pub struct StepInfo {
    /// Name in records: `challenge`, `query`, `status`, `request`.
    pub name: &'static str,
    /// Hex digits of the key; 0 where order pairs.
    pub key_digits: usize,
    /// Its answers carry a value made for this client, which later requests must repeat.
    pub issues: bool,
    /// A request with the key of an open one is a retransmission.
    pub retransmits: bool,
    /// Any second answer to a key is a copy, even a different one.
    pub once: bool,
    /// Its requests prove that the client receives what is sent to its address.
    pub validated: bool,
    /// A field of the request that its answer repeats, so that their memos are equal. Only such a pair is as
    /// sure as [`Glance::paired`] says; others are medium at most. What is wrong with it there, is here too.
    pub repeats: Option<&'static Field>,
}

impl StepInfo {
    /// What a pair is worth whose parts are worth `paired`, and which have these memos; 0 says nothing.
    pub fn worth(&self, paired: Level, memos: [u32; 2]) -> Level {
        let agree = memos[0] == memos[1] && memos[0] != 0;
        match agree {
            // Who gets back what it sent speaks with an echo.
            true if self.issues => paired.min(Level::Low),
            false if self.repeats.is_some() => paired.min(Level::Medium),
            _ => paired,
        }
    }
}

/// Where a cause stands, seen from its symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// In the same datagram.
    Same,
    /// In the request that was not answered.
    Request,
    /// In a datagram of the server that came while the request was open, and answered nothing.
    Instead,
    /// In the request; the symptom is in its answer. Both are about the field that it [repeats](StepInfo::repeats).
    Asked,
    /// In an earlier datagram of the server; the symptom is in a later request of the conversation. A rule that may be such
    /// a cause is one of itself.
    Earlier,
}

/// Everything static about a protocol.
#[derive(Debug)]
pub struct Info {
    /// Name in records and on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Default server ports: they never decide, but break ties.
    pub ports: &'static [u16],
    /// Address of the specification.
    pub spec: &'static str,
    /// First bytes that a glance may recognise.
    pub first: &'static [u8],
    /// Names of the messages; the last one is `unknown`.
    pub messages: &'static [&'static str],
    /// Where messages span datagrams, the message that a part is shown as: index into `messages`.
    pub fragment: Option<u8>,
    /// Its steps.
    pub steps: &'static [StepInfo],
    /// Answer window in milliseconds of capture time.
    pub window_ms: u32,
    /// The rule a request breaks, or rather its exchange, when no answer comes.
    pub unanswered: &'static Rule,
    /// What the ends of the datagram break until the decoder says otherwise.
    pub ends: &'static Ends,
    /// The declared fields, file by file.
    pub fields: &'static [&'static [&'static Field]],
    /// The declared fields that a message may have, list by list, in the order of `messages`. Any of them is
    /// missing where decoding stopped before it.
    pub message_fields: &'static [&'static [&'static [&'static Field]]],
    /// The declared rules, file by file; the last file has those that take more than one datagram.
    pub rules: &'static [&'static [&'static Rule]],
    /// Conversations that follow the specification. Tested: no rule above note is broken in them.
    pub samples: &'static [Example],
}

impl Info {
    /// Index of the message called `unknown`.
    pub const fn unknown(&self) -> u8 {
        self.messages.len().saturating_sub(1) as u8
    }
}

/// One game-query protocol; implemented by a unit struct in a file or folder of its own.
pub trait Protocol {
    /// A decoded message, borrowed from the payload.
    type Message<'a>;
    /// What its cross-packet rules remember: bounded.
    type Memory: Default;
    /// Everything static.
    const INFO: Info;

    /// Recognises a datagram by its own bytes. Pure; runs on any thread. `wire_len` is the payload's
    /// length on the wire, `ports` those of source and destination (a tie-breaker, no evidence).
    fn glance(payload: &[u8], wire_len: usize, ports: [u16; 2]) -> Option<Glance>;

    /// Reads a datagram again when its conversation or server is known; `None` if it is none of ours.
    fn read(payload: &[u8], wire_len: usize, known: Known) -> Option<Glance>;

    /// Decodes a datagram for whoever listens.
    fn decode<'a, S: FieldSink>(c: &mut Cursor<'a, '_, S>, cx: Context) -> Result<Self::Message<'a>, Fault>;

    /// The inverse of `decode` for messages that break no rule.
    fn encode(message: &Self::Message<'_>, out: &mut Vec<u8>);

    /// What a message says about its server, if anything.
    fn facts<'a>(message: &Self::Message<'a>) -> Option<Facts<'a>>;

    /// How many entries that memory has forgotten for want of room.
    fn forgotten(_memory: &Self::Memory) -> u64 {
        0
    }

    /// Whether breaking `cause` makes `symptom` happen, which then counts nowhere.
    fn causes(_cause: &Rule, _symptom: &Rule, _relation: Relation) -> bool {
        false
    }

    /// Checks what one datagram alone cannot show. Runs in frame order.
    fn observe(memory: &mut Self::Memory, seen: &Seen<'_>, raised: &mut Raised);
}

macro_rules! registry {
    ($($file:ident::$Proto:ident),* $(,)?) => {
        $(pub mod $file;)*

        /// A registered protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Id { $(#[doc = concat!("See [`", stringify!($file), "`].")] $Proto),* }

        /// A decoded message of any registered protocol.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Message<'a> {
            $(#[doc = concat!("See [`", stringify!($file), "`].")]
              $Proto(<$file::$Proto as Protocol>::Message<'a>)),*
        }

        impl Message<'_> {
            /// Writes the message as a payload: the inverse of decoding for what breaks no rule.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self { $(Message::$Proto(m) => $file::$Proto::encode(m, out)),* }
            }
        }

        /// The memories of all protocols' cross-packet rules.
        #[derive(Default)]
        pub(crate) struct Memories { $($file: <$file::$Proto as Protocol>::Memory),* }

        impl Memories {
            /// Entries forgotten by all of them.
            pub fn forgotten(&self) -> u64 {
                0 $(+ $file::$Proto::forgotten(&self.$file))*
            }
        }

        impl Id {
            /// Every registered protocol, in registry order.
            pub const ALL: &'static [Id] = &[$(Id::$Proto),*];

            /// Everything static about it.
            #[inline]
            pub const fn info(self) -> &'static Info {
                match self { $(Id::$Proto => const { &<$file::$Proto as Protocol>::INFO }),* }
            }
            /// See [`Protocol::glance`].
            #[inline(always)]
            pub fn glance(self, payload: &[u8], wire_len: usize, ports: [u16; 2]) -> Option<Glance> {
                match self { $(Id::$Proto => $file::$Proto::glance(payload, wire_len, ports)),* }
            }
            /// See [`Protocol::read`].
            pub fn read(self, payload: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
                match self { $(Id::$Proto => $file::$Proto::read(payload, wire_len, known)),* }
            }
            /// Decodes a payload for whoever listens.
            #[inline(always)]
            pub fn dissect<'a, S: FieldSink>(self, payload: &'a [u8], cx: Context, sink: &mut S)
                -> Result<Message<'a>, Fault> {
                let ends = self.info().ends;
                match self {
                    $(Id::$Proto => dissect(payload, cx.missing, ends, sink, |c| $file::$Proto::decode(c, cx))
                        .map(Message::$Proto)),*
                }
            }
            /// The same for what the message says about its server: the message itself goes nowhere, and need
            /// not be moved. Nor need that, so it is written where it is wanted, into an `Ok(None)`.
            #[inline(always)]
            pub(crate) fn tell<'a, S: FieldSink>(
                self, payload: &'a [u8], cx: &Context, sink: &mut S, decoded: &mut Decoded<'a>,
            ) {
                match self { $(Id::$Proto => tell::<$file::$Proto, S>(payload, cx, sink, decoded)),* }
            }
            /// See [`Protocol::causes`].
            pub(crate) fn causes(self, cause: &Rule, symptom: &Rule, relation: Relation) -> bool {
                match self { $(Id::$Proto => $file::$Proto::causes(cause, symptom, relation)),* }
            }
            /// See [`Protocol::observe`].
            #[inline]
            pub(crate) fn observe(self, memories: &mut Memories, seen: &Seen<'_>, raised: &mut Raised) {
                match self { $(Id::$Proto => $file::$Proto::observe(&mut memories.$file, seen, raised)),* }
            }
        }
    };
}

registry! {
    sqp::Sqp,
    satisfactory::Satisfactory,
    skycoop::Skycoop,
    gqp::Gqp,
}

/// [`Id::tell`] of one protocol. A function of its own: between other things the compiler takes the
/// longer messages for rare, and leaves their decoders in pieces.
#[inline(never)]
fn tell<'a, P: Protocol, S: FieldSink>(
    payload: &'a [u8],
    cx: &Context,
    sink: &mut S,
    decoded: &mut Decoded<'a>,
) {
    let done = dissect(payload, cx.missing, P::INFO.ends, sink, |c| {
        let message = P::decode(c, *cx)?;
        if let Some(facts) = P::facts(&message) {
            *decoded = Ok(Some(facts));
        }
        Ok(())
    });
    if let Err(fault) = done {
        *decoded = Err(fault);
    }
}

/// Whether the payload begins as other queries and their answers do: hosts offer them beside ours, and a client may use one
/// socket.
pub(crate) fn is_other_query(payload: &[u8]) -> bool {
    match payload {
        // Source and Quake; GameSpy 2 and 3; SA-MP; All-Seeing Eye; Unreal 2.
        [0xfe | 0xff, 0xff, 0xff, 0xff, ..] | [0xfe, 0xfd, 0 | 9, _, _, _, _, ..] => true,
        [b'S', b'A', b'M', b'P', _, _, _, _, _, _, b'c' | b'd' | b'i' | b'p' | b'r' | b'x', ..] => true,
        [b'E', b'Y', b'E', b'1', _, _, ..] | [0x79, 0, 0, 0, 0..=2] => true,
        // GameSpy 1: `\key\`, and what belongs to it.
        [b'\\', key @ ..] => key.iter().find(|b| !b.is_ascii_alphanumeric() && **b != b'_') == Some(&b'\\'),
        _ => is_raknet(payload),
    }
}

/// Whether the payload is RakNet's ping or pong, which hold sixteen fixed bytes. A ping's time may look like the header of an SQP
/// answer.
pub(crate) fn is_raknet(payload: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78";
    match payload {
        [1 | 2, ..] => payload.get(9..25) == Some(MAGIC),
        [0x1c, ..] => payload.get(17..33) == Some(MAGIC),
        _ => false,
    }
}

impl Id {
    /// The protocol of that name.
    pub fn by_name(name: &str) -> Option<Id> {
        Id::ALL.iter().copied().find(|id| id.info().name == name)
    }
    /// The protocol's own rules in the order of declaration.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        self.info().rules.iter().copied().flatten().copied()
    }
    /// The protocol that declares a rule; `None` for one that belongs to none.
    pub fn of_rule(rule: &Rule) -> Option<Id> {
        Id::ALL.iter().copied().find(|id| id.rules().any(|own| own == rule))
    }
}
