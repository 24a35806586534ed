//! GQP, the Gameserver Query Protocol: a draft without known implementations. Text.
//!
//! ```text
//! request   command { GS command } EOT      command  name [ RS argument { US argument } ]
//! response  reply { GS reply } EOT          reply    digit digit name RS data, see `message`
//! either    SOH encoding ACK … EOT
//! SOH 01  EOT 04  ACK 06  DC1–DC4 11–14  GS 1d  RS 1e  US 1f
//! ```
//!
//! Oddities: no magic, no port, no identifier. A message may span several datagrams, which are not numbered. The draft's own
//! examples violate its grammar, and its table has a wrong value for ETB.

mod answering;
mod grammar;
mod layouts;
mod message;
mod probing;

use super::other::is_other_query;
use super::prelude::*;
use crate::bounded::hashing::hash_one;
use crate::net::Endpoint;
use grammar::*;
use hashbrown::DefaultHashBuilder;
use message::*;
use std::hash::Hash;

messages! {
    REQUEST = Message::named("request");
    RESPONSE = Message::named("response");
    FRAGMENT = Message::named("fragment");
    UNKNOWN = Message::named("unknown");
}

/// Minimum length of a cut message that is recognised as the beginning of a required command.
const SHORTEST_PART: usize = 4;

/// Maximum number of requests whose commands are remembered until their answer comes; the oldest goes first.
const MAX_ASKED: usize = 4_096;
/// Maximum number of a request's commands that are compared with their replies. Beyond it, only their number is compared.
const MAX_COMMANDS: usize = 16;
/// Maximum number of logins remembered over all servers; the oldest goes first.
const MAX_LOGINS: usize = 16_384;
/// Maximum number of servers whose extensions are remembered, and of extensions per server. If a server has more, any command
/// may be an extension.
const MAX_ANNOUNCING: usize = 16_384;
const MAX_EXTENSIONS: usize = 32;
/// From this ratio of answer to request on, a server is useful as a reflector for attacks.
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
    TXN_008: UNANSWERED = "GQP-TXN-008" {
        cite: draft("Grammar, Server response"),
        examples: [Example::of(&[IDQ])],
    }
    /// A byte-identical copy of an earlier answer: UDP may duplicate datagrams.
    TXN_009: COPY = "GQP-TXN-009" {
        cite: draft("Grammar, Server response"),
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

/// Rules that a message without an end breaks as well, besides the rules of its replies.
static UNPAIRED: &[&Rule] =
    &[&REQ_005, &TXN_001, &TXN_002, &TXN_003, &TXN_004, &TXN_005, &TXN_006, &TXN_007, &TXN_008, &TXN_009];
/// Errors in a reply that make it impossible to find out what is missing from it.
static BROKEN_RECORDS: &[&Rule] = &[&REC_003, &REC_004, &REC_006, &RSP_009];

static CAUSES: &[Causation] = &[
    (Relation::Same, &[&FRM_001], REPLY_RULES),
    (Relation::Same, &[&FRM_001], UNPAIRED),
    (Relation::Same, &[&RSP_001, &RSP_004], &[&RSP_003, &RSP_006, &TXN_003]),
    (Relation::Same, BROKEN_RECORDS, &[&TXN_004]),
    // A reply must repeat the name of its command, whatever characters that contains.
    (Relation::Asked, grammar::RULES, &[]),
];

/// The Gameserver Query Protocol.
#[derive(Debug)]
pub struct Gqp;

impl Protocol for Gqp {
    type Memory = Memory;

    const INFO: Info = Info {
        probes: probing::ROWS,
        ports: &[],
        first: &[
            Form::of(&[SOH]).length(2, usize::MAX),
            // Each byte is looked up by itself, so that these pairs stand for all pairs of digits.
            Form::of(b"").after(&[b"00", b"11", b"22", b"33", b"44", b"55", b"66", b"77", b"88", b"99"]),
            Form::of(b"").after(&[b"auth", b"chal", b"echo", b"exte", b"iden"]),
        ],
        messages: MESSAGES,
        fragment: Some(FRAGMENT),
        steps: &[StepInfo {
            repeats: Some(&NAME),
            ..StepInfo::ordered(
                "request",
                StepRules { unsolicited: Some(&TXN_001), copy: Some(&TXN_009), ..StepRules::new(&TXN_008) },
            )
        }],
        fields: &[FRAME_FIELDS, REQUEST_FIELDS, REPLY_FIELDS],
        rules: &[FRAME_RULES, grammar::RULES, REQUEST_RULES, REPLY_RULES],
        exchange_rules: RULES,
        causes: CAUSES,
        layouts: layouts::LAYOUTS,
        replies: answering::REPLIES,
        samples: SAMPLES,
        is_public: message::is_public,
        ..Info::of("gqp", "Gameserver Query Protocol (draft)", SPEC, &ENDS)
    };

    #[inline]
    fn probe(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Probe> {
        // Other text and binary traffic must be dismissed quickly, by the first bytes.
        let (&last, cut) = (p.last()?, p.len() < wire_len);
        match *p {
            [SOH, ..] if last == EOT && !cut => encoded_probe(p),
            [b'0'..=b'9', b'0'..=b'9', ..] if last == EOT || cut => response_probe(p),
            [b'i', b'd', b'e', b'n', ..]
            | [b'e', b'c', b'h', b'o', ..]
            | [b'a', b'u', b't', b'h', ..]
            | [b'c', b'h', b'a', b'l', ..]
            | [b'e', b'x', b't', b'e', ..] => request_probe(p, wire_len),
            _ => None,
        }
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let by_server = known.direction == Direction::S2c;
        let level = known.level.min(Level::Medium);
        if p.is_empty() {
            let cut = known.conversation && known.level >= Level::Medium && wire_len == 0;
            return cut.then(|| Probe::of(UNKNOWN, Role::Stray, level));
        }
        let ended = ends(p, wire_len);
        // If the conversation is only a candidate, further datagrams are expected only while a request is open.
        let expected = known.conversation && (known.open || known.level >= Level::Medium);
        let begins = if by_server { begins_response(p) } else { begins_request(p) };
        let whole =
            begins || ended && p.iter().all(|b| *b < 0x80) && known.level >= Level::Medium && !by_server;
        if !(expected || whole) || !(begins || is_text(p, known)) {
            return None;
        }
        let probe = match by_server {
            true => response(role(by_server, ended), first_name(p, true), level),
            false => request(role(by_server, ended), first_name(p, false), level),
        };
        // Any text might follow a request that only begins like a command. So only a name or a status proves that it is an
        // answer.
        let proves = known.level >= Level::Medium || begins && p.first() != Some(&SOH);
        let paired = if proves { probe.paired } else { Level::Low };
        Some(Probe { begins, paired, ..probe })
    }

    #[inline(never)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        message::decode(c, cx)
    }

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let commands: &[&[u8]] = &[b"identify\x04", b"extensions\x04", b"echo\x1equery\x04"];
        let wanted = if ask.all { commands } else { commands.get(..1)? };
        wanted.get(ask.answered).map(|command| command.to_vec())
    }

    #[inline(never)]
    fn observe(memory: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        let payload = seen.datagram.payload;
        // Messages in parts and messages that the capture cut are not compared.
        let whole = seen.datagram.cut == 0 && matches!(seen.probe.role, Role::Request | Role::Response);
        match *seen.pairing {
            Pairing::Asked { exchange, .. } if whole => observe_request(memory, seen, exchange, raised),
            Pairing::Asked { .. } => memory.may_have_asked(seen),
            Pairing::Answered(answer) => {
                if whole && !answer.part {
                    observe_response(memory, seen, &answer, payload, raised);
                } else {
                    memory.may_have_answered(seen, answer.exchange);
                }
                let most = RATIO.saturating_mul(answer.request_bytes as usize);
                if answer.exceeds(most, seen.datagram) {
                    raised.add_values(
                        &SEC_002,
                        None,
                        Compared::new(answer.bytes(seen.datagram), ComparedValue::AtMost(most as i64)),
                    );
                }
            }
            _ => {}
        }
    }
}

fn request(role: Role, request_state: u32, level: Level) -> Probe {
    Probe { request_state, ..Probe::of(REQUEST, role, level) }
}

fn response(role: Role, request_state: u32, level: Level) -> Probe {
    Probe { message: RESPONSE, ..request(role, request_state, level) }
}

fn role(by_server: bool, ended: bool) -> Role {
    match (by_server, ended) {
        (false, true) => Role::Request,
        (false, false) => Role::RequestPart,
        (true, true) => Role::Response,
        (true, false) => Role::ResponsePart,
    }
}

/// Whether the message ends in the datagram. If the capture cut it, it is assumed to.
fn ends(p: &[u8], wire_len: usize) -> bool {
    p.len() < wire_len || p.contains(&EOT)
}

/// A hash of the name that ties a reply to its command; 0 if there is no name.
fn request_state(name: &[u8]) -> u32 {
    // FNV-1a. Later, names are compared again in full.
    let mix = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193);
    if name.is_empty() { 0 } else { name.iter().fold(0x811c_9dc5, mix) }
}

/// The hash of the name in the first command or reply.
fn first_name(p: &[u8], reply: bool) -> u32 {
    let Some(first) = pieces(p).next().map(|piece| piece.text) else { return 0 };
    request_state(if reply { Reply::of(first).name } else { Command::of(first).name })
}

/// Whether the payload begins with a required command and a byte that may follow it.
fn begins_request(p: &[u8]) -> bool {
    let (name, rest) = split_before(p, &[GS, RS, US, EOT]);
    begins_encoded(p) || required(name).is_some() && !rest.is_empty()
}

/// Whether the payload begins with two digits, a name and RS.
fn begins_response(p: &[u8]) -> bool {
    let after_status = p.get(2..).map(|rest| split_before(rest, &[GS, RS, US, EOT]));
    let has_name = after_status.is_some_and(|(name, rest)| is_string(name) && rest.first() == Some(&RS));
    begins_encoded(p) || status(p).is_some() && has_name
}

/// Whether the payload begins with SOH, an ASCII name, and ACK or EOT.
fn begins_encoded(p: &[u8]) -> bool {
    let Some((name, rest)) = encoding(p) else { return false };
    let is_name = name.iter().all(|b| matches!(b, b' '..=b'~'));
    // An empty name is accepted only before ACK, and EOT must be the last byte.
    is_name && (rest.first() == Some(&ACK) || !name.is_empty() && rest.len() == 1)
}

/// Whether the payload is text, possibly damaged, rather than something binary on the same socket.
fn is_text(p: &[u8], known: Known<'_>) -> bool {
    if is_other_query(&Gqp::INFO, p) {
        return false;
    }
    let plain_count =
        p.iter().filter(|b| matches!(**b, b' '..=b'~' | EOT | ACK | DC1..=DC4 | ETB | GS..=US)).count();
    let is_framed = known.conversation && p.last() == Some(&EOT) || known.pinned && p.first() == Some(&SOH);
    // An expected answer may be more damaged than other datagrams.
    let expected = known.open && known.direction == Direction::S2c;
    let max_other = if expected { p.len() / 2 } else { p.len() / 4 };
    is_framed || p.len().saturating_sub(plain_count) <= max_other
}

/// Recognises a request by a required command at its start, or a sufficiently long part of one.
#[inline(never)]
fn request_probe(p: &[u8], wire_len: usize) -> Option<Probe> {
    let (name, rest) = p.split_at_checked(p.iter().position(|b| *b < 0x20).unwrap_or(p.len()))?;
    let ended = ends(p, wire_len);
    if required(name).is_none() {
        let name = name.strip_suffix(b"#").unwrap_or(name);
        let cut = |r: &Required| r.name.as_bytes().starts_with(name);
        let part = !ended && name.len() >= SHORTEST_PART && matches!(rest, [] | [ETB]);
        // The start of a name begins a message only if this datagram does not continue one.
        let request_part = || Probe { begins: false, ..request(Role::RequestPart, 0, Level::Hint) };
        return (part && REQUIRED.iter().any(cut)).then(request_part);
    }
    let clean = p.len() == wire_len && p.last() == Some(&EOT) && body(p).len().saturating_add(1) == p.len();
    let clean = clean && pieces(p).all(|piece| Command::of(piece.text).is_clean());
    let structured = body(p).len() > name.len();
    let level = match clean {
        true if structured => Level::High,
        true => Level::Medium,
        false => Level::Low,
    };
    Some(request(role(false, ended), request_state(name), level))
}

/// Recognises a response by a reply to a required command at its start.
#[inline(never)]
fn response_probe(p: &[u8]) -> Option<Probe> {
    let first = pieces(p).next()?;
    let reply = Reply::of(first.text);
    let known = required(reply.name).is_some() && reply.is_marked();
    known.then(|| response(Role::Response, request_state(reply.name), Level::Medium))
}

/// Recognises an encoded message: SOH, a printable name, ACK and EOT.
#[inline(never)]
fn encoded_probe(p: &[u8]) -> Option<Probe> {
    // Both sides may send encoded messages, and nothing in two of them proves that they belong together.
    (begins_encoded(p) && p.get(1) != Some(&ACK))
        .then(|| Probe { paired: Level::Low, ..request(Role::MaybeRequest, 0, Level::Low) })
}

// --- Rules across datagrams: replies that fit their commands, logins, copies

/// The commands of an open request.
#[derive(Clone, Copy, Debug, Default)]
struct OpenRequest {
    /// Hash of its encoding's name.
    encoding: Option<u64>,
    /// Number of commands before the first one that has an encoding of its own.
    count: usize,
    /// Whether a command has an encoding of its own. Everything after it is opaque.
    opaque: bool,
    names: [u64; MAX_COMMANDS],
    arguments: [u64; MAX_COMMANDS],
}

impl OpenRequest {
    /// Whether a command whose name has this hash may be among its commands.
    fn may_hold(&self, name: u64) -> bool {
        self.opaque || self.encoding.is_some() || self.count > MAX_COMMANDS || self.names.contains(&name)
    }
}

/// The state of a client's last auth command.
#[derive(Clone, Copy, Debug)]
enum Login {
    /// Its answer was not seen.
    Asked,
    /// It was refused.
    Refused,
    /// It was answered with the string that has this hash.
    Got(u64),
}

/// The extensions that a server announced.
#[derive(Clone, Copy, Debug)]
struct Announced {
    names: [u64; MAX_EXTENSIONS],
    /// Whether there are more.
    more: bool,
}

/// The open requests, logins and announced extensions. Texts are stored as seeded hashes, which collide with a probability of
/// one in 2^64.
#[derive(Debug)]
pub struct Memory {
    asked: Numbered<OpenRequest, MAX_ASKED>,
    logins: Bounded<u64, Login, MAX_LOGINS>,
    /// The client that received a string.
    owners: Bounded<u64, u64, MAX_LOGINS>,
    announced: Bounded<Endpoint, Announced, MAX_ANNOUNCING>,
    /// Number of commands, replies and extensions that could not be compared because the tables were full.
    uncompared: u64,
    hasher: DefaultHashBuilder,
}

impl From<Budget> for Memory {
    fn from(budget: Budget) -> Self {
        Memory {
            asked: budget.into(),
            logins: budget.into(),
            owners: budget.into(),
            announced: budget.into(),
            uncompared: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl Forgets for Memory {
    /// A forgotten request counts only if it was answered afterwards.
    fn forgotten(&self) -> u64 {
        let asked = self.asked.forgotten().saturating_add(self.logins.forgotten());
        let logins = asked.saturating_add(self.owners.forgotten());
        logins.saturating_add(self.announced.forgotten()).saturating_add(self.uncompared)
    }
}

impl Memory {
    /// Counts entries that could not be compared.
    fn count_uncompared(&mut self, count: usize) {
        self.uncompared = self.uncompared.saturating_add(count as u64);
    }

    /// Notes a request that asks for a login, or may ask for one because it is read only in part.
    fn may_have_asked(&mut self, seen: &Observation<'_>) {
        let key = self.hash((seen.server, seen.client));
        if !matches!(self.logins.get(&key), Some(Login::Got(_))) {
            self.logins.insert(key, Login::Asked);
        }
    }

    /// Notes an answer that is read only in part. It may have announced any extension and returned any string, unless its
    /// request asked for neither.
    fn may_have_answered(&mut self, seen: &Observation<'_>, exchange: u64) {
        let asked = self.asked.find(exchange).copied();
        let may_hold = |name: &[u8]| asked.is_none_or(|asked| asked.may_hold(self.hash(name)));
        let [extensions, auth] = [may_hold(b"extensions"), may_hold(b"auth")];
        if extensions {
            self.announced.insert(seen.server, Announced { names: [0; MAX_EXTENSIONS], more: true });
        }
        if auth {
            self.logins.insert(self.hash((seen.server, seen.client)), Login::Asked);
        }
    }

    fn hash(&self, what: impl Hash) -> u64 {
        hash_one(&self.hasher, what)
    }

    /// A hash of several texts, independent of the separators between them.
    fn hash_texts<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> u64 {
        texts.fold(0, |all, text| self.hash((all, text)))
    }
}

/// Handles a complete request.
fn observe_request(memory: &mut Memory, seen: &Observation<'_>, exchange: u64, raised: &mut Raised) {
    let payload = seen.datagram.payload;
    let encoding = encoding(payload).map(|(name, _)| memory.hash(name));
    let mut request = OpenRequest { encoding, ..OpenRequest::default() };
    if request.encoding.is_none() {
        for piece in pieces(payload) {
            if piece.is_encoded() {
                request.opaque = true;
                break;
            }
            let command = Command::of(piece.text);
            let slots = request.names.get_mut(request.count).zip(request.arguments.get_mut(request.count));
            if let Some((name, arguments)) = slots {
                *name = memory.hash(command.name);
                *arguments = memory.hash_texts(command.arguments());
            }
            request.count = request.count.saturating_add(1);
            let at = span(piece);
            check_announced(memory, seen, &command, at, raised);
            observe_login(memory, seen, &command, at, raised);
        }
    }
    memory.count_uncompared(request.count.saturating_sub(MAX_COMMANDS));
    memory.asked.insert(exchange, request);
}

fn span(piece: Piece<'_>) -> Span {
    let start = piece.at as u16;
    Span { start, end: start.saturating_add(piece.text.len() as u16) }
}

/// Checks that a command is required or announced.
fn check_announced(
    memory: &Memory,
    seen: &Observation<'_>,
    command: &Command<'_>,
    at: Span,
    raised: &mut Raised,
) {
    let by_case = |r: &Required| r.name.as_bytes().eq_ignore_ascii_case(command.name);
    if command.name.is_empty() || REQUIRED.iter().any(by_case) {
        return;
    }
    let name = memory.hash(command.name);
    let announced = memory.announced.get(&seen.server);
    if announced.is_none_or(|all| !all.more && !all.names.contains(&name)) {
        raised.add_values(
            &REQ_004,
            Some(at),
            Compared::new(command.name, "a command that the server has announced"),
        );
    }
}

/// Handles the commands auth and challenge.
fn observe_login(
    memory: &mut Memory,
    seen: &Observation<'_>,
    command: &Command<'_>,
    at: Span,
    raised: &mut Raised,
) {
    let (server, client) = (seen.server, seen.client);
    let key = memory.hash((server, client));
    // A client that was refused may ask again and get a string.
    if command.name == b"auth" {
        memory.may_have_asked(seen);
    }
    let Some(string) = command.arguments().next().filter(|_| command.name == b"challenge") else { return };
    let (hash, owner) = (memory.hash(string), memory.hash((server, string)));
    let foreign = memory.owners.get(&owner).is_some_and(|c| *c != memory.hash(client));
    let mut values = |rule, expected: &'static str| {
        raised.add_values(rule, Some(at), Compared::new(string, expected));
    };
    match memory.logins.get(&key) {
        Some(Login::Got(issued)) if *issued == hash => {}
        _ if foreign => values(&TXN_007, "a string of its own"),
        Some(Login::Got(_)) => values(&TXN_006, "the string issued before"),
        Some(Login::Asked) => {}
        Some(Login::Refused) | None => raised.add_at(&TXN_005, at),
    }
}

/// Handles a complete response to a request.
fn observe_response(
    memory: &mut Memory,
    seen: &Observation<'_>,
    answer: &Answer,
    payload: &[u8],
    raised: &mut Raised,
) {
    let asked = memory.asked.find(answer.exchange).copied();
    if let Some((name, _)) = encoding(payload) {
        if asked.is_some_and(|a| a.encoding != Some(memory.hash(name))) {
            raised.add_values(&ENC_005, None, Compared::new(name, "the encoding of the request"));
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
        remember(memory, seen, &reply);
        count = count.saturating_add(1);
    }
    if plain.is_some_and(|a| !a.opaque && !opaque && a.count != count) {
        raised.add_values(
            &TXN_002,
            None,
            Compared::new(
                count,
                asked.map_or(ComparedValue::Nothing, |asked| ComparedValue::from(asked.count)),
            ),
        );
    }
}

/// Compares the n-th reply with the n-th command.
fn compare(memory: &Memory, asked: &OpenRequest, n: usize, reply: &Reply<'_>, at: Span, raised: &mut Raised) {
    let command = asked.names.get(n).zip(asked.arguments.get(n)).filter(|_| n < asked.count);
    let Some((name, arguments)) = command else { return };
    // Without a status the name begins at another offset, and without a name only the position could be compared.
    if reply.status.is_none() || reply.name.is_empty() {
        return;
    }
    if memory.hash(reply.name) != *name {
        let is_asked = |known: &&Required| memory.hash(known.name.as_bytes()) == *name;
        let expected = REQUIRED.iter().find(is_asked).map_or("the name of the command", |known| known.name);
        raised.add_values(&TXN_003, Some(at), Compared::new(reply.name, expected));
    } else if reply.name == b"echo"
        && reply.status == Some(10)
        && memory.hash_texts(reply.values()) != *arguments
    {
        let first = reply.values().next().unwrap_or_default();
        raised.add_values(&TXN_004, Some(at), Compared::new(first, "what was sent"));
    }
}

/// Remembers facts that later requests may refer to.
fn remember(memory: &mut Memory, seen: &Observation<'_>, reply: &Reply<'_>) {
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
            let uncompared = reply.values().skip(MAX_EXTENSIONS).count();
            memory.count_uncompared(uncompared);
            memory.announced.insert(server, Announced { names, more: uncompared > 0 });
        }
        _ => {}
    }
}
