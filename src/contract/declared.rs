//! What a protocol declares: its steps with their rules, everything static, and what it does by hand.

use super::message::{Begins, Message, recognise, recognise_known};
use super::{Budget, Context, Joining, Known, Level, Observation, Probe, Raised, Role};
use crate::decode::{Cursor, Ends, Fault, Field, FieldSink, Span};
use crate::rule::{Example, Rule, Severity};
use std::net::SocketAddrV4;

/// One step of a protocol: a question and its answer.
#[derive(Debug)]
pub struct StepInfo {
    /// Name in records: `challenge`, `query`, `status`, `request`.
    pub name: &'static str,
    /// Hex digits of the key; 0 where order pairs.
    pub key_digits: usize,
    /// An answer without a key is paired by order, with a request that has none if there is one; one with a key never is.
    pub keyless: bool,
    /// Its clients send the same key again and again: of open requests the one counts that was not given up.
    pub reuses_keys: bool,
    /// What is asked of a broadcast or multicast address, any host may answer from its own, or none; the key tells.
    pub many: bool,
    /// An answer may carry the key of an earlier request of this step instead, where only one of its own is open.
    pub key_of: Option<u8>,
    /// Its answers carry a value made for this client, which later requests must repeat.
    pub issues: bool,
    /// A request with the key of an open one is a retransmission.
    pub retransmits: bool,
    /// Any second answer to a key is a copy, even a different one.
    pub once: bool,
    /// Its answer comes in lines, each a datagram and some the same; the first one closes the exchange, and none is known to be
    /// the last.
    pub lines: bool,
    /// Servers may leave it unanswered: that is a note.
    pub may_be_silent: bool,
    /// Its answers have no end: each further one belongs to the same request, unless another one is open or the late window is over.
    pub open_ended: bool,
    /// Its requests prove that the client receives what is sent to its address.
    pub validated: bool,
    /// Bits in the request_state of a request that say that it carries a value which an answer issued: it has proven its address.
    pub carries: u32,
    /// A field of the request that its answer repeats, so that their states are equal. Only such a pair is as
    /// sure as [`Probe::paired`] says; others are medium at most. What is wrong with it there, is here too.
    pub repeats: Option<&'static Field>,
    /// What its datagrams break by their pairing.
    pub rules: StepRules,
}

/// The rules that a step breaks by pairing alone, as far as its protocol has them: they are the same everywhere, and raised in one
/// place, see [`crate::exchange`].
#[derive(Debug)]
pub struct StepRules {
    /// No answer has come in time, or none at all; of the exchange.
    pub unanswered: Option<&'static Rule>,
    /// An answer that nobody asked for.
    pub unasked: Option<&'static Rule>,
    /// An answer whose key is that of no open request, though there are some.
    pub other_key: Option<&'static Rule>,
    /// A request while another one of the step is open.
    pub overlapping: Option<&'static Rule>,
    /// An open request is sent again.
    pub repeated: Option<&'static Rule>,
    /// A request with the key of one that was answered.
    pub reused: Option<&'static Rule>,
    /// An answer without a key to a request that has one, see [`StepInfo::keyless`].
    pub keyless: Option<&'static Rule>,
    /// An answer to a request of another step, see [`Answers::also`](super::message::Answers::also); or where it has none of
    /// these, one that answers nothing while such a request is open.
    pub other_step: Option<&'static Rule>,
    /// An answer that nobody asked for, where a request of another step is open.
    pub mistaken: Option<&'static Rule>,
    /// An answer with the key of an earlier request, see [`StepInfo::key_of`].
    pub earlier_key: Option<&'static Rule>,
    /// A part of an answer that contradicts another one.
    pub contradicting: Option<&'static Rule>,
    /// An answer of which parts are missing when the window is over; of the exchange.
    pub incomplete: Option<&'static Rule>,
    /// A second, different answer of the same kind, see [`Answers::follows`](super::Answers::follows).
    pub second: Option<&'static Rule>,
    /// An answer of whose parts none is missing as far as is known, but none says that it is the last; of the exchange. Without
    /// it that breaks `incomplete`.
    pub unended: Option<&'static Rule>,
    /// An answer behind the answer window.
    pub late: Option<&'static Rule>,
    /// An answer that came before.
    pub copy: Option<&'static Rule>,
    /// A part behind one with a higher number, or one that came before; otherwise only the latter breaks [`copy`](Self::copy).
    pub shuffled: Option<&'static Rule>,
    /// An answer more than so many times as large as a request that [carries](StepInfo::carries) nothing.
    pub larger: Option<(usize, &'static Rule)>,
    /// Where the key stands in an answer, where the rules about it are to point to that.
    pub key_at: Option<Span>,
}

impl StepRules {
    /// None at all.
    pub const NONE: StepRules = StepRules {
        unanswered: None,
        unasked: None,
        other_key: None,
        overlapping: None,
        repeated: None,
        reused: None,
        keyless: None,
        other_step: None,
        mistaken: None,
        earlier_key: None,
        contradicting: None,
        incomplete: None,
        second: None,
        unended: None,
        late: None,
        copy: None,
        shuffled: None,
        larger: None,
        key_at: None,
    };

    /// The one that nearly every step has, and no other.
    pub const fn new(unanswered: &'static Rule) -> StepRules {
        StepRules { unanswered: Some(unanswered), ..StepRules::NONE }
    }
}

impl StepInfo {
    /// A step whose answers are paired by order.
    pub const fn ordered(name: &'static str, rules: StepRules) -> StepInfo {
        StepInfo::keyed(name, 0, rules)
    }

    /// A step whose answers are paired by a key of so many hex digits.
    pub const fn keyed(name: &'static str, key_digits: usize, rules: StepRules) -> StepInfo {
        StepInfo {
            name,
            key_digits,
            keyless: false,
            reuses_keys: false,
            many: false,
            key_of: None,
            issues: false,
            retransmits: false,
            once: false,
            lines: false,
            may_be_silent: false,
            open_ended: false,
            validated: false,
            carries: 0,
            repeats: None,
            rules,
        }
    }

    /// What a pair is worth whose parts are worth `paired`, and which have these states; 0 says nothing.
    pub fn worth(&self, paired: Level, states: [u32; 2]) -> Level {
        let agree = states[0] == states[1] && states[0] != 0;
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
    /// In the request; the symptom is in its answer. Both are about the field that it [repeats](StepInfo::repeats). A rule that
    /// may be such a cause is one of itself.
    Asked,
    /// In an earlier datagram of the server; the symptom is in a later request of the conversation. Here, too, a rule that may be
    /// a cause is one of itself.
    Earlier,
}

/// Broken rules, any of which makes others break: where they stand, they themselves, and their symptoms.
pub type Causation = (Relation, &'static [&'static Rule], &'static [&'static Rule]);

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
    /// How payloads begin that a probe recognises by hand, of any length; those of the messages' forms are not repeated.
    pub first: &'static [&'static [u8]],
    /// Its messages; the last one is `unknown`.
    pub messages: &'static [Message],
    /// Where messages span datagrams, the message that a part is shown as: index into `messages`.
    pub fragment: Option<u8>,
    /// Where messages are cut into parts that the engine joins: how.
    pub joining: Option<&'static Joining>,
    /// Its steps.
    pub steps: &'static [StepInfo],
    /// Answer window in milliseconds of capture time.
    pub window_ms: u32,
    /// What the ends of the datagram break until the decoder says otherwise.
    pub ends: &'static Ends,
    /// The declared fields, file by file.
    pub fields: &'static [&'static [&'static Field]],
    /// The declared rules, file by file; the last file has those that take more than one datagram.
    pub rules: &'static [&'static [&'static Rule]],
    /// Which of them make others break, beside what holds for every protocol: who sends a request with an error in it gets no
    /// answer.
    pub causes: &'static [Causation],
    /// Conversations that follow the specification. Tested: no rule above note is broken in them.
    pub samples: &'static [Example],
}

impl Info {
    /// Whether breaking `cause` makes `symptom` happen, which then counts nowhere.
    pub fn causes(&self, cause: &Rule, symptom: &Rule, relation: Relation) -> bool {
        let itself = [Relation::Asked, Relation::Earlier].contains(&relation) && cause == symptom;
        let declared = |(its, causes, symptoms): &Causation| {
            *its == relation && causes.contains(&cause) && (itself || symptoms.contains(&symptom))
        };
        relation == Relation::Request && cause.severity == Severity::Error && self.is_silence(symptom)
            || self.causes.iter().any(declared)
    }

    /// Whether a rule says that no answer has come.
    pub fn is_silence(&self, rule: &Rule) -> bool {
        self.steps.iter().any(|step| step.rules.unanswered.is_some_and(|unanswered| unanswered == rule))
    }

    /// Whether several messages may answer the requests of a step, so that which one did is worth telling.
    pub fn has_several_answers(&self, step: u8) -> bool {
        let answers = |message: &&Message| {
            let its = message.step == step || message.answers.also.contains(&step);
            its && message.role == Role::Response && message.part.is_none()
        };
        self.messages.iter().filter(answers).count() > 1
    }

    /// Name of a message.
    pub fn message_name(&self, message: u8) -> &'static str {
        self.messages.get(usize::from(message)).map_or("unknown", |message| message.name)
    }

    /// Index of the message called `unknown`.
    pub const fn unknown(&self) -> u8 {
        self.messages.len().saturating_sub(1) as u8
    }
}

/// Where a client stands that asks a server.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Requests that have been answered.
    pub answered: usize,
    /// Everything is to be asked for, and not only what every client wants.
    pub all: bool,
    /// Random bits, for cookies.
    pub random: u64,
    /// The server's address, where it is one of IPv4.
    pub server: Option<SocketAddrV4>,
    /// Payload of the answer to the first request; empty before it.
    pub first: &'a [u8],
}

/// One game-query protocol; implemented by a unit struct in a file or folder of its own.
pub trait Protocol {
    /// What its cross-packet rules remember: bounded.
    type Memory: From<Budget>;
    /// Everything static.
    const INFO: Info;
    /// Which of its messages may begin with a byte; not to be written by hand.
    const BEGINS: &'static Begins = &Self::INFO.begins();

    /// Recognises a datagram by its own bytes. Pure; runs on any thread. `wire_len` is the payload's
    /// length on the wire, `ports` those of source and destination (a tie-breaker, no evidence).
    /// By default by the forms of its messages.
    #[inline]
    fn probe(payload: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(payload, wire_len)
    }

    /// Reads a datagram again when its conversation or server is known; `None` if it is none of ours. By default by the forms
    /// of its messages.
    fn probe_known(payload: &[u8], wire_len: usize, known: Known) -> Option<Probe> {
        recognise_known::<Self>(payload, wire_len, known)
    }

    /// Decodes a datagram for whoever listens, and writes what it says about its server into [`Cursor::facts`].
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault>;

    /// How many entries that memory has forgotten for want of room.
    fn forgotten(_memory: &Self::Memory) -> u64 {
        0
    }

    /// The payload that a client sends next; `None` where it has asked for everything, or the answers do not allow more.
    fn ask(_: &Ask<'_>) -> Option<Vec<u8>> {
        None
    }

    /// Checks what one datagram alone cannot show. Runs in frame order.
    fn observe(_memory: &mut Self::Memory, _seen: &Observation<'_>, _raised: &mut Raised) {}
}
