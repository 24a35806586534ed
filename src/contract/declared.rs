//! What a protocol declares: its steps and their rules, its other static properties, and its hand-written
//! functions.

use super::answering::Reply;
use super::message::{Begins, Form, Message, recognise, recognise_known};
use super::probing::ProbeRow;
use super::{Context, Joining, Known, Level, Observation, Probe, Raised, Role};
use crate::bounded::Forgets;
use crate::decode::{Colours, Cursor, Ends, Fault, Field, FieldKind, FieldSink, Node, Span, Str};
use crate::layout::Layout;
use crate::net::{Datagram, Endpoint};
use crate::rule::{Example, Rule, Severity};
use crate::text::escape::to_hex;
use std::net::SocketAddrV4;

/// One step of a protocol: a request and its answer.
#[derive(Debug)]
pub struct StepInfo {
    /// Name in records: `challenge`, `query`, `status`, `request`.
    pub name: &'static str,
    /// How the key is shown, where it is not that number.
    pub shown_key: ShownKey,
    /// Number of hex digits of the key; 0 where requests and answers are paired by order.
    pub key_digits: usize,
    /// An answer without a key is paired by order, preferably with a request without a key; an answer with a key is
    /// never paired by order.
    pub keyless: bool,
    /// Servers fill up the key of a request that ends before its key does: an answer whose key no open request has
    /// belongs to the oldest request without a key.
    pub fills_keys: bool,
    /// Clients send the same key repeatedly: as without a key, a request is given up when another one follows 250 ms
    /// later or more, and among the open requests with the key, one that was not given up is preferred.
    pub reuses_keys: bool,
    /// A step whose keys the answers of this one may repeat: an answer may carry the key of an earlier request of that
    /// step instead of the key of its request, if only one request of this step is open.
    pub key_of: Option<u8>,
    /// Its answers carry a value made for this client, which later requests must repeat.
    pub issues: bool,
    /// A request with the key of an open one is a retransmission.
    pub retransmits: bool,
    /// The request_state of an answer has the bits of those requests that it cannot belong to, whatever its key.
    pub excludes: bool,
    /// Any second answer to a key counts as a copy, even a different one.
    pub once: bool,
    /// A second, different answer of the same kind to a key counts as unsolicited.
    pub single: bool,
    /// An answer to a request of another step, see `Answers::also`, breaks a rule: requests of its own step are preferred
    /// even after their window, and a repeated answer is a copy.
    pub prefers_own: bool,
    /// The answer comes in lines, each in a datagram of its own and some of them equal; the first one closes the
    /// exchange, and no line is known to be the last.
    pub lines: bool,
    /// Servers may leave the request unanswered: then the finding about a missing answer is a note.
    pub may_be_silent: bool,
    /// Its answers have no known end: each further datagram belongs to the same request, unless another request is open
    /// or the late window is over.
    pub open_ended: bool,
    /// Its requests prove that the client receives what is sent to its address.
    pub validated: bool,
    /// Bits in the request_state of a request that mean that the request carries a value which an answer issued, so that
    /// the client has proven its address.
    pub carries: u32,
    /// A field of the request that its answer repeats, so that their request states are equal. Only such a pair has
    /// the confidence [`Probe::paired`]; others have medium at most. An error in this field of the request is
    /// repeated in the answer.
    pub repeats: Option<&'static Field>,
    /// The rules that its datagrams break by their pairing.
    pub rules: StepRules,
}

/// How reports show the key of an exchange.
#[derive(Clone, Copy, Debug)]
pub enum ShownKey {
    /// The key, in [`StepInfo::key_digits`] hex digits.
    Number,
    /// All requests of the step have this byte in common, and nothing else.
    Byte(u8),
    /// So many bytes of the request, as hex.
    Bytes(usize, fn(&[u8]) -> Option<&[u8]>),
    /// A text in the request.
    Text(fn(&[u8]) -> Option<&[u8]>),
}

impl ShownKey {
    /// The bytes of a request that are its key, as long as they are needed.
    pub fn bytes_of(self, request: &[u8]) -> Option<&[u8]> {
        match self {
            ShownKey::Number | ShownKey::Byte(_) => None,
            ShownKey::Bytes(_, find) | ShownKey::Text(find) => find(request),
        }
    }

    /// The key as it is shown, given those bytes.
    pub fn show(self, bytes: Option<&[u8]>) -> Option<Box<str>> {
        let hex = |bytes: &[u8]| format!("0x{}", to_hex(bytes)).into();
        match self {
            ShownKey::Number => None,
            ShownKey::Byte(byte) => Some(hex(&[byte])),
            ShownKey::Bytes(..) => bytes.map(hex),
            ShownKey::Text(_) => bytes.map(|bytes| {
                let text = Str(bytes).to_value(FieldKind::Text).text().unwrap_or_default();
                text.into_owned().into_boxed_str()
            }),
        }
    }
}

/// The rules of a step that depend on pairing alone, as far as its protocol has them: several protocols share each kind,
/// so they are raised in one place, see `crate::exchange`. What only one protocol finds wrong with a pairing is raised by its
/// [`Protocol::observe`].
#[derive(Debug)]
pub struct StepRules {
    /// No answer has come in time, or none at all; a rule about the exchange.
    pub unanswered: Option<&'static Rule>,
    /// An unsolicited answer.
    pub unsolicited: Option<&'static Rule>,
    /// An answer whose key is that of no open request, although requests are open.
    pub other_key: Option<&'static Rule>,
    /// The same where exactly one request is open.
    pub other_than_only: Option<&'static Rule>,
    /// An open request is sent again.
    pub repeated: Option<&'static Rule>,
    /// A part of an answer that contradicts another one.
    pub contradicting: Option<&'static Rule>,
    /// An answer of which parts are missing when none has come for an answer window; a rule about the exchange.
    pub incomplete: Option<&'static Rule>,
    /// An answer of which no part is known to be missing, but no part is marked as the last; a rule about the exchange.
    /// Without this rule, such an answer breaks `incomplete`.
    pub unended: Option<&'static Rule>,
    /// An answer after the answer window.
    pub late: Option<&'static Rule>,
    /// A copy of an earlier answer.
    pub copy: Option<&'static Rule>,
    /// An answer more than that many times as large as its request, if the request [carries](StepInfo::carries) no
    /// issued value.
    pub larger: Option<(usize, &'static Rule)>,
    /// Where the key is in an answer, if the rules about the key are to point to it.
    pub key_at: Option<Span>,
}

impl StepRules {
    /// No rules.
    pub const NONE: StepRules = StepRules {
        unanswered: None,
        unsolicited: None,
        other_key: None,
        other_than_only: None,
        repeated: None,
        contradicting: None,
        incomplete: None,
        unended: None,
        late: None,
        copy: None,
        larger: None,
        key_at: None,
    };

    /// Only the rule about missing answers, which nearly every step has.
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
            shown_key: ShownKey::Number,
            key_digits,
            keyless: false,
            fills_keys: false,
            reuses_keys: false,
            key_of: None,
            issues: false,
            retransmits: false,
            excludes: false,
            once: false,
            single: false,
            prefers_own: false,
            lines: false,
            may_be_silent: false,
            open_ended: false,
            validated: false,
            carries: 0,
            repeats: None,
            rules,
        }
    }

    /// Whether a request with that state proves its sender's address.
    #[inline]
    pub fn proves(&self, request_state: u32) -> bool {
        self.validated || request_state & self.carries != 0
    }

    /// Whether an answer with that state cannot belong to a request with that state.
    #[inline]
    pub fn excluded(&self, answer_state: u32, request_state: u32) -> bool {
        self.excludes && answer_state & request_state != 0
    }

    /// Confidence of a pair, from the confidence `paired` of its datagrams and their request states; a state of 0 is no
    /// evidence.
    #[inline]
    pub fn pair_level(&self, paired: Level, states: [u32; 2]) -> Level {
        let agree = states[0] == states[1] && states[0] != 0;
        match agree {
            // An answer that repeats the bytes of its request comes from an echo service.
            true if self.issues => paired.min(Level::Low),
            false if self.repeats.is_some() => paired.min(Level::Medium),
            _ => paired,
        }
    }
}

/// Where a cause is, relative to its symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// In the same datagram.
    Same,
    /// In the request that was not answered.
    Request,
    /// In a datagram of the server that came while the request was open, and was no answer.
    Instead,
    /// In the request; the symptom is in its answer. Both are about the field that the answer
    /// [repeats](StepInfo::repeats). A rule that may be such a cause is also a cause of itself.
    Asked,
    /// In an earlier datagram of the server; the symptom is in a later request of the conversation. Here, too, a
    /// rule that may be a cause is also a cause of itself.
    Earlier,
}

/// Broken rules that cause others to be broken: where the causes are, the causes, and their symptoms.
pub type Causation = (Relation, &'static [&'static Rule], &'static [&'static Rule]);

/// Everything static about a protocol.
#[derive(Debug)]
pub struct Info {
    /// Name in records and on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Names that people use for it or for a game that speaks it, each with the port that goes with it; 0 where that is the
    /// first of `ports`. Only `ask` takes them.
    pub known_as: &'static [(&'static str, u16)],
    /// Default server ports: they never decide, but break ties.
    pub ports: &'static [u16],
    /// How far above the port of the game servers answer queries, where they do not on that port itself.
    pub offsets: &'static [u16],
    /// Address of the specification.
    pub spec: &'static str,
    /// Forms of payloads that a hand-written probe recognises, as far as their bytes and lengths are fixed, besides the
    /// forms of the messages.
    pub first: &'static [Form],
    /// Whether each payload that a probe may recognise begins with its own length on the wire: u16, little-endian.
    pub begins_with_length: bool,
    /// Its messages; the last one is `unknown`.
    pub messages: &'static [Message],
    /// Where messages span datagrams, the message that a part is reported as: index into `messages`.
    pub fragment: Option<u8>,
    /// How the engine joins messages that are split into parts, if the protocol has such messages.
    pub joining: Option<&'static Joining>,
    /// Its steps.
    pub steps: &'static [StepInfo],
    /// Answer window in milliseconds of capture time.
    pub window_ms: u32,
    /// The rules that the ends of the datagram break until the decoder sets others.
    pub ends: &'static Ends,
    /// The declared fields, file by file.
    pub fields: &'static [&'static [&'static Field]],
    /// Keys whose values belong to one request or one moment, among the texts that name the elements of its lists: as volatile as
    /// a field may be.
    pub volatile_keys: &'static [&'static str],
    /// Whether the text of a node, by its index, is one that later messages refer to, or that a rule expects word by word: as
    /// public as a field may be.
    pub is_public: fn(nodes: &[Node], at: usize, payload: &[u8]) -> bool,
    /// The declared rules about the bytes of one message, file by file.
    pub rules: &'static [&'static [&'static Rule]],
    /// The declared rules that are checked by comparing datagrams, or the times at which they came.
    pub exchange_rules: &'static [&'static Rule],
    /// Which rules cause others to be broken, in addition to what holds for every protocol: a request with an error
    /// in it gets no answer.
    pub causes: &'static [Causation],
    /// The message that issues a challenge, which later requests must carry: index into `messages`. It is no answer to a
    /// request that carries one.
    pub challenge: Option<u8>,
    /// The rule about a challenge in answer to a request that carries one. It is not reported of a server that answers no
    /// such request.
    pub challenges_again: Option<&'static Rule>,
    /// Its own rule about many answers to one address, which then stands instead of the shared one.
    pub floods: Option<&'static Rule>,
    /// How its messages are built, for the diagnosis of broken ones; none: no diagnosis.
    pub layouts: &'static [Layout],
    /// Rules that are a reason for a diagnosis although they are notes, or compare datagrams.
    pub suspicious: &'static [&'static Rule],
    /// Rules about the bytes of a message that are no reason for a diagnosis.
    pub unsuspicious: &'static [&'static Rule],
    /// The tests of `ask --probe`; the first one is the plain query.
    pub probes: &'static [ProbeRow],
    /// The answers of `answer`; of several to a request, the first one that fits is sent.
    pub replies: &'static [Reply],
    /// Conversations that follow the specification. Tested: no rule above note is broken in them.
    pub samples: &'static [Example],
}

impl Info {
    /// A protocol with that name, that title for people, that specification and those rules for the ends of a datagram.
    /// Nothing else is declared; an answer is in time within two seconds.
    pub const fn of(
        name: &'static str,
        title: &'static str,
        spec: &'static str,
        ends: &'static Ends,
    ) -> Info {
        Info {
            name,
            title,
            known_as: &[],
            ports: &[],
            offsets: &[],
            spec,
            first: &[],
            begins_with_length: false,
            messages: &[],
            fragment: None,
            joining: None,
            steps: &[],
            window_ms: 2000,
            ends,
            fields: &[],
            volatile_keys: &[],
            is_public: |_, _, _| false,
            rules: &[],
            exchange_rules: &[],
            causes: &[],
            challenge: None,
            challenges_again: None,
            floods: None,
            layouts: &[],
            suspicious: &[],
            unsuspicious: &[],
            probes: &[],
            replies: &[],
            samples: &[],
        }
    }

    /// Whether breaking `cause` causes `symptom`, which then is not counted.
    pub fn causes(&self, cause: &Rule, symptom: &Rule, relation: Relation) -> bool {
        let itself = [Relation::Asked, Relation::Earlier].contains(&relation) && cause == symptom;
        let declared = |(declared_relation, causes, symptoms): &Causation| {
            *declared_relation == relation
                && causes.contains(&cause)
                && (itself || symptoms.contains(&symptom))
        };
        relation == Relation::Request && cause.severity == Severity::Error && self.is_missing_answer(symptom)
            || self.causes.iter().any(declared)
    }

    /// Whether a rule is about a missing answer.
    pub fn is_missing_answer(&self, rule: &Rule) -> bool {
        self.steps.iter().any(|step| step.rules.unanswered.is_some_and(|unanswered| unanswered == rule))
    }

    /// Name of a step; `None` where there is no such step.
    pub fn step_name(&self, step: u8) -> Option<&'static str> {
        self.steps.get(usize::from(step)).map(|step| step.name)
    }

    /// The first step with the name of `step`: some kinds of request share a name, and differ in the rules for their
    /// answers.
    pub fn first_step_of_name(&self, step: u8) -> u8 {
        (0..step).find(|&at| self.step_name(at) == self.step_name(step)).unwrap_or(step)
    }

    /// One step of each name.
    pub fn named_steps(&self) -> impl Iterator<Item = &'static StepInfo> {
        (0..).zip(self.steps).filter(|(at, _)| self.first_step_of_name(*at) == *at).map(|(_, step)| step)
    }

    /// Whether several messages may answer the requests of a step, so that reports name the one that did.
    pub fn has_several_answers(&self, step: u8) -> bool {
        let answers = |message: &&Message| {
            let of_step = message.step == step || message.answers.also.contains(&step);
            of_step && message.role == Role::Response && message.part.is_none() && !message.answers.refuses
        };
        self.messages.iter().filter(answers).count() > 1
    }

    /// Whether a message refuses a request of that step, see `Answers::refuses`.
    pub fn refuses(&self, message: u8, step: u8) -> bool {
        let message = self.messages.get(usize::from(message));
        message.is_some_and(|message| message.answers.refuses && message.step != step)
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

/// The progress of a client that queries a server.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Number of requests that have been answered.
    pub answered: usize,
    /// How often the next request was already sent without an answer.
    pub silences: usize,
    /// Ask for everything, not only for what every client needs.
    pub all: bool,
    /// Random bits, for cookies.
    pub random: u64,
    /// The server's address, if that is an IPv4 address.
    pub server: Option<SocketAddrV4>,
    /// Payload of the answer to the first request; empty before it.
    pub first: &'a [u8],
    /// Payload of the answer to the latest request.
    pub latest: &'a [u8],
}

/// One game-query protocol; implemented by a unit struct in a file or folder of its own.
pub trait Protocol {
    /// The state of its cross-packet rules, which is bounded.
    type Memory: Forgets;
    /// Everything static.
    const INFO: Info;
    /// Colour marks in the texts that its messages state about their server.
    const COLOURS: Option<Colours> = None;
    /// The messages that may be recognised by their bytes alone, and those that need a known conversation or server;
    /// derived, not to be written by hand.
    const BEGINS: &'static [Begins; 2] = &[Self::INFO.begins(false), Self::INFO.begins(true)];

    /// Recognises a datagram by its bytes alone. Pure; runs on any thread. `wire_len` is the payload's
    /// length on the wire, `ports` those of source and destination (a tie-breaker, no evidence).
    /// By default by the forms of its messages.
    #[inline]
    fn probe(payload: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        recognise::<Self>(payload, wire_len)
    }

    /// Probes a datagram again when its conversation or server is known; `None` if it does not belong to the
    /// protocol. By default by the forms of its messages.
    fn probe_known(payload: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        recognise_known::<Self>(payload, wire_len, known)
    }

    /// Decodes a datagram into a sink, and stores the facts about its server in `Cursor::facts`.
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault>;

    /// The payload that a client sends next; `None` where it has asked for everything, or the answers do not allow more.
    fn ask(_: &Ask<'_>) -> Option<Vec<u8>> {
        None
    }

    /// Checks the rules that need more than one datagram. Runs in frame order.
    fn observe(_memory: &mut Self::Memory, _observation: &Observation<'_>, _raised: &mut Raised) {}

    /// Reads a datagram between client and server again in view of what is remembered of them, where its bytes alone may
    /// mean either of two messages.
    #[inline(always)]
    fn recall(_memory: &Self::Memory, _d: &Datagram<'_>, _ends: [Endpoint; 2], _probe: &mut Probe) {}

    /// Prefetches the part of the memory that [`observe`](Self::observe) will need for a datagram of that server. It is
    /// called some steps earlier, because the memory may be larger than the caches.
    fn prefetch(_memory: &Self::Memory, _server: Endpoint, _probe: &Probe) {}
}
