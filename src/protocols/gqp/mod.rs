//! GQP, the Gameserver Query Protocol of a draft that nobody is known to have implemented. Text.
//!
//! ```text
//! request   command { GS command } EOT      command  name [ RS argument { US argument } ]
//! response  reply { GS reply } EOT          reply    digit digit name RS data, see `reply`
//! either    SOH encoding ACK … EOT
//! SOH 01  EOT 04  ACK 06  DC1–DC4 11–14  GS 1d  RS 1e  US 1f
//! ```
//!
//! Oddities: no magic, no port, no identifier; a message may span datagrams without any number; the
//! draft's own examples break its grammar, and its table has the value of ETB wrong.

mod exchange;
mod grammar;
mod message;
mod reply;
mod request;
mod samples;
mod strings;

use super::{
    Ask, Context, Direction, Glance, Info, Known, Level, Protocol, Role, StepInfo, StepRules, is_other_query,
};
use crate::contract::{Message, Raised};
use crate::decode::{Cursor, Fault, FieldSink};
use crate::exchange::Seen;
use exchange::*;
use grammar::*;

const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const FRAGMENT: u8 = 2;
const UNKNOWN: u8 = 3;

/// Shortest beginning of a required command that may be one, cut.
const SHORTEST_PART: usize = 4;

/// The Gameserver Query Protocol.
#[derive(Debug)]
pub struct Gqp;

impl Protocol for Gqp {
    type Memory = exchange::Memory;

    const INFO: Info = Info {
        name: "gqp",
        title: "Gameserver Query Protocol (draft)",
        ports: &[],
        spec: samples::SPEC,
        first: &[
            &[SOH],
            b"0",
            b"1",
            b"2",
            b"3",
            b"4",
            b"5",
            b"6",
            b"7",
            b"8",
            b"9",
            b"auth",
            b"chal",
            b"e",
            b"iden",
        ],
        messages: &[
            Message::named("request"),
            Message::named("response"),
            Message::named("fragment"),
            Message::named("unknown"),
        ],
        fragment: Some(FRAGMENT),
        joining: None,
        steps: &[StepInfo {
            repeats: Some(&request::NAME),
            ..StepInfo::ordered(
                "request",
                StepRules { unasked: Some(&TXN_001), copy: Some(&TXN_009), ..StepRules::new(&TXN_008) },
            )
        }],
        window_ms: 2000,
        ends: &message::ENDS,
        fields: &[message::FIELDS, request::FIELDS, reply::FIELDS],
        rules: &[message::RULES, strings::RULES, request::RULES, reply::RULES, exchange::RULES],
        causes: exchange::CAUSES,
        samples: samples::SAMPLES,
    };

    #[inline]
    fn glance(p: &[u8], wire_len: usize, _ports: [u16; 2]) -> Option<Glance> {
        // Other text and binary traffic must leave at once: it is looked at here by its first byte alone.
        let (&last, cut) = (p.last()?, p.len() < wire_len);
        match *p {
            [SOH, ..] if last == EOT && !cut => encoded_glance(p),
            [b'0'..=b'9', b'0'..=b'9', ..] if last == EOT || cut => response_glance(p),
            [b'i', b'd', b'e', b'n', ..]
            | [b'e', b'c', b'h', b'o', ..]
            | [b'a', b'u', b't', b'h', ..]
            | [b'c', b'h', b'a', b'l', ..]
            | [b'e', b'x', b't', b'e', ..] => request_glance(p, wire_len),
            _ => None,
        }
    }

    fn read(p: &[u8], wire_len: usize, known: Known) -> Option<Glance> {
        let by_server = known.direction == Direction::S2c;
        let level = known.level.min(Level::Medium);
        if p.is_empty() {
            let cut = known.conversation && known.level >= Level::Medium && wire_len == 0;
            return cut.then(|| Glance {
                message: UNKNOWN,
                role: Role::Stray,
                ..request(Role::Stray, 0, level)
            });
        }
        let ended = ends(p, wire_len);
        // A candidate is only gone on with, or answered.
        let expected = known.conversation && (known.open || known.level >= Level::Medium);
        let begins = if by_server { begins_response(p) } else { begins_request(p) };
        let whole =
            begins || ended && p.iter().all(|b| *b < 0x80) && known.level >= Level::Medium && !by_server;
        if !(expected || whole) || !(begins || is_text(p, known)) {
            return None;
        }
        let glance = match by_server {
            true => response(role(by_server, ended), first_name(p, true), level),
            false => request(role(by_server, ended), first_name(p, false), level),
        };
        // Any text may answer what only begins like a command; a name or a status must say that it does.
        let proves = known.level >= Level::Medium || begins && p.first() != Some(&SOH);
        let paired = if proves { glance.paired } else { Level::Low };
        Some(Glance { begins, paired, ..glance })
    }

    #[inline(never)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        message::decode(c, cx)
    }

    fn forgotten(memory: &Self::Memory) -> u64 {
        memory.forgotten()
    }

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let commands: &[&[u8]] = &[b"identify\x04", b"extensions\x04", b"echo\x1equery\x04"];
        let wanted = if ask.all { commands } else { commands.get(..1)? };
        wanted.get(ask.answered).map(|command| command.to_vec())
    }

    #[inline(never)]
    fn observe(memory: &mut Self::Memory, seen: &Seen<'_>, raised: &mut Raised) {
        exchange::observe(memory, seen, raised);
    }
}

fn request(role: Role, memo: u32, level: Level) -> Glance {
    Glance {
        message: REQUEST,
        role,
        step: 0,
        key: None,
        memo,
        level,
        paired: Level::High,
        begins: true,
        part: None,
    }
}

fn response(role: Role, memo: u32, level: Level) -> Glance {
    Glance { message: RESPONSE, ..request(role, memo, level) }
}

fn role(by_server: bool, ended: bool) -> Role {
    match (by_server, ended) {
        (false, true) => Role::Request,
        (false, false) => Role::RequestPart,
        (true, true) => Role::Response,
        (true, false) => Role::ResponsePart,
    }
}

/// Whether the message ends in the datagram; where the capture cut it, it is believed to.
fn ends(p: &[u8], wire_len: usize) -> bool {
    p.len() < wire_len || p.contains(&EOT)
}

/// Ties a reply to its command, by name; 0 where there is none.
fn memo(name: &[u8]) -> u32 {
    // FNV-1a: names are compared again, in full, when everything is known.
    let mix = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193);
    if name.is_empty() { 0 } else { name.iter().fold(0x811c_9dc5, mix) }
}

/// The name in the first command or reply.
fn first_name(p: &[u8], reply: bool) -> u32 {
    let Some(first) = pieces(p).next().map(|piece| piece.text) else { return 0 };
    memo(if reply { Reply::of(first).name } else { Command::of(first).name })
}

/// Whether a required command and what may follow it begin the payload.
fn begins_request(p: &[u8]) -> bool {
    let (name, rest) = until(p, &[GS, RS, US, EOT]);
    begins_encoded(p) || required(name).is_some() && !rest.is_empty()
}

/// Whether two digits, a name and RS begin the payload.
fn begins_response(p: &[u8]) -> bool {
    let named = p.get(2..).map(|rest| until(rest, &[GS, RS, US, EOT]));
    let named = named.is_some_and(|(name, rest)| is_string(name) && rest.first() == Some(&RS));
    begins_encoded(p) || status(p).is_some() && named
}

/// Whether SOH, a name of ASCII, and ACK or EOT begin the payload.
fn begins_encoded(p: &[u8]) -> bool {
    let Some((name, rest)) = encoding(p) else { return false };
    let named = name.iter().all(|b| matches!(b, b' '..=b'~'));
    // An empty name says something only with ACK behind it, and no name behind EOT.
    named && (rest.first() == Some(&ACK) || !name.is_empty() && rest.len() == 1)
}

/// Whether the payload is text, or damaged text, rather than something binary on the same socket.
fn is_text(p: &[u8], known: Known) -> bool {
    if is_other_query(p) {
        return false;
    }
    let plain = p.iter().filter(|b| matches!(**b, b' '..=b'~' | EOT | ACK | DC1..=DC4 | GS..=US)).count();
    let framed = known.conversation && p.last() == Some(&EOT) || known.pinned && p.first() == Some(&SOH);
    // Where an answer belongs, it may be worse damaged.
    let expected = known.open && known.direction == Direction::S2c;
    let most = if expected { p.len() / 2 } else { p.len() / 4 };
    framed || p.len().saturating_sub(plain) <= most
}

/// Begins with a required command, or with enough of one.
#[inline(never)]
fn request_glance(p: &[u8], wire_len: usize) -> Option<Glance> {
    let (name, rest) = p.split_at_checked(p.iter().position(|b| *b < 0x20).unwrap_or(p.len()))?;
    let ended = ends(p, wire_len);
    if required(name).is_none() {
        let name = name.strip_suffix(b"#").unwrap_or(name);
        let cut = |r: &Required| r.name.as_bytes().starts_with(name);
        let part = !ended && name.len() >= SHORTEST_PART && matches!(rest, [] | [ETB]);
        return (part && REQUIRED.iter().any(cut)).then(|| request(Role::RequestPart, 0, Level::Hint));
    }
    let clean = p.len() == wire_len && p.last() == Some(&EOT) && body(p).len().saturating_add(1) == p.len();
    let clean = clean && pieces(p).all(|piece| Command::of(piece.text).is_clean());
    let structured = body(p).len() > name.len();
    let level = match clean {
        true if structured => Level::High,
        true => Level::Medium,
        false => Level::Low,
    };
    Some(request(role(false, ended), memo(name), level))
}

/// Begins with a reply to a required command, and ends as a message does.
#[inline(never)]
fn response_glance(p: &[u8]) -> Option<Glance> {
    let first = pieces(p).next()?;
    let reply = Reply::of(first.text);
    let known = required(reply.name).is_some() && reply.is_marked();
    known.then(|| response(Role::Response, memo(reply.name), Level::Medium))
}

/// SOH, a printable name, ACK and EOT.
#[inline(never)]
fn encoded_glance(p: &[u8]) -> Option<Glance> {
    // Either side may send one, and nothing in two of them says that they belong together.
    (begins_encoded(p) && p.get(1) != Some(&ACK))
        .then(|| Glance { paired: Level::Low, ..request(Role::MaybeRequest, 0, Level::Low) })
}
