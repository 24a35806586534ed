//! What one datagram alone cannot show: whether replies fit their commands, logins, copies.

use super::grammar::*;
use super::message::FRM_001;
use super::reply::{self, REC_003, REC_004, REC_006, RSP_001, RSP_003, RSP_004, RSP_006, RSP_009};
use super::request::REQ_005;
use super::samples::*;
use super::strings;
use crate::bounded::{Bounded, Numbered};
use crate::contract::{Budget, Causation, Raised};
use crate::decode::Span;
use crate::exchange::{Answer, Pairing, Seen};
use crate::net::Endpoint;
use crate::protocols::{Relation, Role};
use crate::rule::{Example, Rule, Step::*, rules};
use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hash};

/// Requests whose commands are remembered until their answer comes; the oldest goes first.
const MAX_ASKED: usize = 4_096;
/// Commands of a request that are compared with their replies; of further ones only the number is.
const MAX_COMMANDS: usize = 16;
/// Logins remembered over all servers; the oldest goes first.
const MAX_LOGINS: usize = 16_384;
/// Servers whose extensions are remembered, and how many of each; where one has more, any command may be among them.
const MAX_ANNOUNCING: usize = 16_384;
const MAX_EXTENSIONS: usize = 32;
/// From this ratio of answer to request on, a server is worth abusing as a reflector.
const RATIO: usize = 5;

rules! {
    /// The response uses an encoding, and the request did not use the same: nothing negotiates it.
    ENC_005 = "GQP-ENC-005" Warning "response is encoded in another way than its request" {
        cite: draft("Encoding"),
        examples: [Example::of(&[IDQ, S("01 627a697032 06 7878 04")])],
    }
    /// Neither one of the required commands nor one that the server has announced as an extension.
    REQ_004 = "GQP-REQ-004" Note "command is neither required nor announced" {
        cite: draft("Required commands"),
        per_server: true,
        examples: [Example::of(&[IDQ, IDR, C("706c6179657273 04")])],
    }
    /// No request of this client is outstanding: it was lost before the capture, or somebody answers what
    /// was never asked.
    TXN_001 = "GQP-TXN-001" Error "response without a request" {
        cite: draft("Grammar, Server response"),
        needs_past: true,
        examples: [Example::of(&[IDR])],
    }
    /// Every command has its reply, in the order of the commands.
    TXN_002 = "GQP-TXN-002" Error "number of replies differs from the number of commands" {
        cite: draft("Status Codes"),
        examples: [Example::of(&[C("6563686f 1e 61 1d 6563686f 1e 62 04"), S("3130 6563686f 1e 11 61 04")])],
    }
    /// The n-th reply answers the n-th command and repeats its name.
    TXN_003 = "GQP-TXN-003" Error "reply names another command" {
        cite: draft("Grammar, COMMAND-NAME"),
        examples: [Example::of(&[EQ, IDR])],
    }
    /// It should return each argument, in order, in records of whatever kind.
    TXN_004 = "GQP-TXN-004" Error "echo returns something else than its arguments" {
        cite: draft("Required commands, echo"),
        examples: [Example::of(&[EQ, S("3130 6563686f 1e 11 686f 04")])],
    }
    /// The string to send comes with the answer to auth, and none was asked for.
    TXN_005 = "GQP-TXN-005" Warning "challenge without auth" {
        cite: draft("Required commands, challenge"),
        needs_past: true,
        examples: [Example::of(&[C("6368616c6c656e6765 1e 616263 04")])],
    }
    /// It is not the one that the last auth of this client was answered with.
    TXN_006 = "GQP-TXN-006" Error "challenge string is not the one that auth returned" {
        cite: draft("Required commands, challenge"),
        examples: [Example::of(&[AQ, AR, C("6368616c6c656e6765 1e 616263 04")])],
    }
    /// Another client got it. The draft does not bind the string to an address, so it may be replayed.
    TXN_007 = "GQP-TXN-007" Error "challenge string belongs to another client" {
        cite: draft("Required commands, challenge"),
        examples: [Example::of(&[AQ, AR, C2("6368616c6c656e6765 1e 78797a 04")])],
    }
    /// The answer window is two seconds; the draft itself says nothing about time.
    TXN_008 = "GQP-TXN-008" Warning "no answer in time" {
        cite: draft("Grammar, Server response"),
        examples: [Example::of(&[IDQ])],
    }
    /// A byte-identical copy of an earlier answer: UDP may duplicate datagrams.
    TXN_009 = "GQP-TXN-009" Note "answer arrived twice" {
        cite: draft("Grammar, Server response"),
        side: Path,
        examples: [Example::of(&[IDQ, IDR, IDR])],
    }
    /// A request with a forged source address brings a victim more than five times as much: nothing proves
    /// that the client is who it seems to be.
    SEC_002 = "GQP-SEC-002" Warning "answer is more than five times its request, without a challenge" {
        cite: draft("Grammar"),
        per_server: true,
        ratio: true,
        lenient: Note,
        examples: [Example::of(&[IDQ, IDR])],
    }
}

/// The commands of an open request.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// Name of its encoding.
    encoding: Option<u64>,
    /// Commands in front of the first that is encoded by itself.
    count: usize,
    /// One is: what follows it is opaque.
    opaque: bool,
    names: [u64; MAX_COMMANDS],
    arguments: [u64; MAX_COMMANDS],
}

/// What became of a client's last auth.
#[derive(Clone, Copy, Debug)]
enum Login {
    /// Its answer was not seen.
    Asked,
    /// It was refused.
    Refused,
    /// It was answered with this string.
    Got(u64),
}

/// The extensions of a server.
#[derive(Clone, Copy, Debug)]
struct Announced {
    names: [u64; MAX_EXTENSIONS],
    /// There are more.
    more: bool,
}

/// What was asked, who logged in, and what was announced. Texts are kept as seeded hashes: a mistake would
/// take one chance in 2^64.
#[derive(Debug)]
pub struct Memory {
    asked: Numbered<Asked>,
    logins: Bounded<u64, Login>,
    /// The client that got a string.
    owners: Bounded<u64, u64>,
    announced: Bounded<Endpoint, Announced>,
    /// Commands, replies and extensions that could not be compared, for want of room.
    beyond: u64,
    hasher: DefaultHashBuilder,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Self {
        Memory {
            asked: Numbered::new(budget.of(MAX_ASKED)),
            logins: Bounded::new(budget.of(MAX_LOGINS)),
            owners: Bounded::new(budget.of(MAX_LOGINS)),
            announced: Bounded::new(budget.of(MAX_ANNOUNCING)),
            beyond: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Memory {
    /// How much was forgotten for want of room; of requests, those that were answered afterwards.
    pub fn forgotten(&self) -> u64 {
        let logins = self.logins.forgotten().saturating_add(self.owners.forgotten());
        logins.saturating_add(self.announced.forgotten()).saturating_add(self.beyond)
    }

    /// Counts what could not be compared.
    fn count_beyond(&mut self, count: usize) {
        self.beyond = self.beyond.saturating_add(count as u64);
    }

    fn hash(&self, what: impl Hash) -> u64 {
        self.hasher.hash_one(what)
    }

    /// Hash of several texts, whichever separators stood between them.
    fn texts<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> u64 {
        texts.fold(0, |all, text| self.hash((all, text)))
    }
}

pub(super) fn observe(memory: &mut Memory, seen: &Seen<'_>, raised: &mut Raised) {
    let payload = seen.datagram.payload;
    // Of a message in parts, or cut by the capture, nothing is compared.
    let whole = seen.datagram.cut == 0 && matches!(seen.glance.role, Role::Request | Role::Response);
    match *seen.pairing {
        Pairing::Asked { exchange, .. } if whole => asked(memory, seen, exchange, raised),
        Pairing::Answered(answer) => {
            if whole && !answer.part {
                answered(memory, seen, &answer, payload, raised);
            }
            if answer.exceeds(RATIO.saturating_mul(answer.request_bytes as usize), seen.datagram) {
                raised.add(&SEC_002);
            }
        }
        _ => {}
    }
}

/// A whole request.
fn asked(memory: &mut Memory, seen: &Seen<'_>, exchange: u64, raised: &mut Raised) {
    let payload = seen.datagram.payload;
    let mut new =
        Asked { encoding: encoding(payload).map(|(name, _)| memory.hash(name)), ..Asked::default() };
    if new.encoding.is_none() {
        for piece in pieces(payload) {
            if piece.is_encoded() {
                new.opaque = true;
                break;
            }
            let command = Command::of(piece.text);
            let slots = new.names.get_mut(new.count).zip(new.arguments.get_mut(new.count));
            if let Some((name, arguments)) = slots {
                *name = memory.hash(command.name);
                *arguments = memory.texts(command.arguments());
            }
            new.count = new.count.saturating_add(1);
            let at = span(piece);
            unannounced(memory, seen, &command, at, raised);
            login(memory, seen, &command, at, raised);
        }
    }
    memory.count_beyond(new.count.saturating_sub(MAX_COMMANDS));
    memory.asked.insert(exchange, new);
}

fn span(piece: Piece<'_>) -> Span {
    let start = piece.at as u16;
    Span { start, end: start.saturating_add(piece.text.len() as u16) }
}

fn unannounced(memory: &Memory, seen: &Seen<'_>, command: &Command<'_>, at: Span, raised: &mut Raised) {
    let by_case = |r: &Required| r.name.as_bytes().eq_ignore_ascii_case(command.name);
    if command.name.is_empty() || REQUIRED.iter().any(by_case) {
        return;
    }
    let name = memory.hash(command.name);
    let announced = memory.announced.get(&seen.server);
    if announced.is_none_or(|all| !all.more && !all.names.contains(&name)) {
        raised.add_at(&REQ_004, at);
    }
}

/// auth and challenge.
fn login(memory: &mut Memory, seen: &Seen<'_>, command: &Command<'_>, at: Span, raised: &mut Raised) {
    let (server, client) = (seen.server, seen.client);
    let key = memory.hash((server, client));
    // Who was refused and asks again may get a string.
    if command.name == b"auth" && !matches!(memory.logins.get(&key), Some(Login::Got(_))) {
        memory.logins.insert(key, Login::Asked);
    }
    let Some(string) = command.arguments().next().filter(|_| command.name == b"challenge") else { return };
    let (hash, owner) = (memory.hash(string), memory.hash((server, string)));
    let foreign = memory.owners.get(&owner).is_some_and(|c| *c != memory.hash(client));
    match memory.logins.get(&key) {
        Some(Login::Got(own)) if *own == hash => {}
        _ if foreign => raised.add_at(&TXN_007, at),
        Some(Login::Got(_)) => raised.add_at(&TXN_006, at),
        Some(Login::Asked) => {}
        Some(Login::Refused) | None => raised.add_at(&TXN_005, at),
    }
}

/// A whole response to a request.
fn answered(memory: &mut Memory, seen: &Seen<'_>, answer: &Answer, payload: &[u8], raised: &mut Raised) {
    let asked = memory.asked.get(answer.exchange).copied();
    memory.count_beyond(usize::from(memory.asked.may_have_forgotten(answer.exchange)));
    if let Some((name, _)) = encoding(payload) {
        if asked.is_some_and(|a| a.encoding != Some(memory.hash(name))) {
            raised.add(&ENC_005);
        }
        return;
    }
    let plain = asked.filter(|a| a.encoding.is_none());
    let (mut count, mut opaque) = (0usize, false);
    for piece in pieces(payload) {
        if piece.is_encoded() {
            opaque = true;
            break;
        }
        let reply = Reply::of(piece.text);
        if let Some(asked) = &plain {
            compare(memory, asked, count, &reply, span(piece), raised);
        }
        learn(memory, seen, &reply);
        count = count.saturating_add(1);
    }
    if plain.is_some_and(|a| !a.opaque && !opaque && a.count != count) {
        raised.add(&TXN_002);
    }
}

/// The n-th reply with the n-th command.
fn compare(memory: &Memory, asked: &Asked, n: usize, reply: &Reply<'_>, at: Span, raised: &mut Raised) {
    let command = asked.names.get(n).zip(asked.arguments.get(n)).filter(|_| n < asked.count);
    let Some((name, arguments)) = command else { return };
    // Without its status a name begins elsewhere; without a name only the position tells.
    if reply.status.is_none() || reply.name.is_empty() {
        return;
    }
    if memory.hash(reply.name) != *name {
        raised.add_at(&TXN_003, at);
    } else if reply.name == b"echo" && reply.status == Some(10) && memory.texts(reply.values()) != *arguments
    {
        raised.add_at(&TXN_004, at);
    }
}

/// What later requests may refer to.
fn learn(memory: &mut Memory, seen: &Seen<'_>, reply: &Reply<'_>) {
    let (server, client) = (seen.server, seen.client);
    if reply.status != Some(10) {
        let key = memory.hash((server, client));
        if let Some(login @ Login::Asked) = memory.logins.get_mut(&key).filter(|_| reply.name == b"auth") {
            *login = Login::Refused;
        }
        return;
    }
    match reply.name {
        b"auth" => {
            let Some(string) = reply.values().next() else { return };
            memory.logins.insert(memory.hash((server, client)), Login::Got(memory.hash(string)));
            memory.owners.insert(memory.hash((server, string)), memory.hash(client));
        }
        b"extensions" => {
            let mut names = [0; MAX_EXTENSIONS];
            for (slot, name) in names.iter_mut().zip(reply.values()) {
                *slot = memory.hash(name);
            }
            let beyond = reply.values().skip(MAX_EXTENSIONS).count();
            memory.count_beyond(beyond);
            memory.announced.insert(server, Announced { names, more: beyond > 0 });
        }
        _ => {}
    }
}

/// What a message that never ends breaks as well, beside the rules of its replies.
static UNPAIRED: &[&Rule] =
    &[&REQ_005, &TXN_001, &TXN_002, &TXN_003, &TXN_004, &TXN_005, &TXN_006, &TXN_007, &TXN_008, &TXN_009];
/// Errors of a reply that make it unknown what it lacks.
static RECORDS: &[&Rule] = &[&REC_003, &REC_004, &REC_006, &RSP_009];

pub(super) static CAUSES: &[Causation] = &[
    (Relation::Same, &[&FRM_001], reply::RULES),
    (Relation::Same, &[&FRM_001], UNPAIRED),
    (Relation::Same, &[&RSP_001, &RSP_004], &[&RSP_003, &RSP_006, &TXN_003]),
    (Relation::Same, RECORDS, &[&TXN_004]),
    // A reply must repeat the name of its command, whatever stands in that.
    (Relation::Asked, strings::RULES, &[]),
];
