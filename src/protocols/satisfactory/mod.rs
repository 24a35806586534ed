//! Satisfactory's Lightweight Query. Little-endian throughout.
//!
//! ```text
//! envelope    d5 f6 │ message_type u8 │ protocol_version u8 │ payload │ 01
//! Poll (0)    cookie u64
//! State (1)   see `message`
//! ```
//!
//! Oddities: the terminator is Unreal's end-of-packet bit, seen as a byte. The port is shared with the game, whose packets
//! begin with `5a 74` and are not handled here. The published tables print two offsets wrong (see `SFQ-RSP-008`). Before 1.0
//! there was no envelope.

mod answering;
mod exchange;
mod layouts;
mod message;
mod probing;

use super::other::is_other_query;
use super::prelude::*;
use crate::net::Endpoint;
use exchange::*;
use message::*;

messages! {
    POLL = Message::named("poll");
    STATE_RESPONSE = Message::named("state_response");
    LEGACY_POLL = Message::named("legacy_poll");
    LEGACY_STATE_RESPONSE = Message::named("legacy_state_response");
    UNKNOWN = Message::named("unknown");
}

const WIRE_MAGIC: [u8; 2] = [0xd5, 0xf6];
const GAME_MAGIC: [u8; 2] = [0x5a, 0x74];
const GAME_PORT: u16 = 7777;
const POLL_LEN: usize = 13;

static CAUSES: &[Causation] = &[
    // A message that was cut short has lost its terminator as well.
    (Relation::Same, &[&RSP_001, &RSP_004, &RSP_005, &REQ_001], &[&ENV_005]),
    // This includes an answer that is cut inside its cookie.
    (Relation::Instead, &[&ENV_002, &ENV_003, &REQ_005, &RSP_001], &[&TXN_003]),
];

/// Satisfactory's Lightweight Query.
#[derive(Debug)]
pub struct Satisfactory;

impl Protocol for Satisfactory {
    type Memory = exchange::Memory;

    const INFO: Info = Info {
        probes: probing::ROWS,
        ports: &[GAME_PORT, LEGACY_PORT],
        first: &[
            Form::of(&WIRE_MAGIC),
            Form::of(b"\xf6\xd5").length(POLL_LEN, usize::MAX),
            Form::of(&[0, 0]).length(10, 10),
            Form::of(&[1, 0]).length(17, 17),
        ],
        messages: MESSAGES,
        steps: &[StepInfo {
            retransmits: true,
            once: true,
            ..StepInfo::keyed(
                "status",
                16,
                StepRules {
                    unsolicited: Some(&TXN_001),
                    other_key: Some(&TXN_002),
                    repeated: Some(&TXN_004),
                    late: Some(&TXN_010),
                    copy: Some(&TXN_005),
                    larger: Some((3, &SEC_001)),
                    ..StepRules::new(&TXN_003)
                },
            )
        }],
        fields: &[ENVELOPE_FIELDS, STATE_FIELDS, LEGACY_FIELDS],
        rules: &[ENVELOPE_RULES, STATE_RULES, LEGACY_RULES],
        exchange_rules: exchange::RULES,
        causes: CAUSES,
        layouts: layouts::LAYOUTS,
        suspicious: &[&TXN_002],
        unsuspicious: &[&REQ_001, &REQ_002, &REQ_005],
        replies: answering::REPLIES,
        samples: SAMPLES,
        ..Info::of("satisfactory", "Satisfactory Lightweight Query", SPEC, &message::ENVELOPE)
    };

    #[inline(always)]
    fn probe(p: &[u8], wire_len: usize, [source, destination]: [u16; 2]) -> Option<Probe> {
        let (&magic, rest) = p.split_first_chunk::<2>()?;
        match magic {
            WIRE_MAGIC => Some(with_magic(p, rest, wire_len)),
            // The bytes are swapped, so only length or port can confirm the protocol.
            [0xf6, 0xd5] => {
                let is_plausible = wire_len == POLL_LEN || wire_len >= 29 && source == GAME_PORT;
                is_plausible.then(|| stray(Level::Low))
            }
            [0, 0] if wire_len == 10 => legacy(Role::Request, p, destination),
            [1, 0] if wire_len == 17 => legacy(Role::Response, p, source),
            _ => None,
        }
    }

    fn probe_known(p: &[u8], wire_len: usize, known: Known<'_>) -> Option<Probe> {
        let by_server = known.direction == Direction::S2c;
        let level = known.level.min(Level::Medium);
        let answers_poll = by_server && known.open;
        // Also accepts a further answer to a poll.
        let may_answer_again = by_server && known.conversation && known.level >= Level::Medium;
        if let [1, 0, ..] = p
            && (answers_poll || may_answer_again)
            && (10..=32).contains(&wire_len)
        {
            return legacy(Role::Response, p, LEGACY_PORT);
        }
        if known.level <= Level::Low {
            return None;
        }
        match p {
            [0xd5, 0xf6, rest @ ..] => {
                let g = with_magic(p, rest, wire_len);
                let agrees = (g.role == Role::Response) == by_server;
                let role = if agrees { g.role } else { Role::Stray };
                Some(Probe { role, level: g.level.max(level), ..g })
            }
            [] | [0xd5] => (known.conversation && wire_len < 2).then(|| stray(level)),
            [0, 0, ..] if wire_len == 10 && !by_server => legacy(Role::Request, p, LEGACY_PORT),
            [0xf6, 0xd5, ..] => Some(stray(level)),
            // The game shares the port; its packets are not handled here.
            [a, b, ..] if [*a, *b] == GAME_MAGIC => None,
            _ if is_other_query(&Satisfactory::INFO, p) && !known.pinned => None,
            _ => (answers_poll && known.conversation).then(|| stray(level)),
        }
    }

    #[inline(always)]
    fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
        match cx.message {
            LEGACY_POLL | LEGACY_STATE_RESPONSE => c.out_of_line(|c| message::legacy(c, cx)),
            _ => message::decode(c, cx),
        }
    }

    fn ask(ask: &Ask<'_>) -> Option<Vec<u8>> {
        let poll = || [&[0xd5, 0xf6, 0, 1][..], &ask.random.to_le_bytes(), &[1]].concat();
        (ask.answered == 0).then(poll)
    }

    #[inline(always)]
    fn prefetch(memory: &Self::Memory, server: Endpoint, probe: &Probe) {
        memory.prefetch(server, probe);
    }

    #[inline]
    fn observe(memory: &mut Self::Memory, seen: &Observation<'_>, raised: &mut Raised) {
        exchange::observe(memory, seen, raised);
    }
}

#[inline(always)]
fn status(role: Role, message: u8, key: Option<u64>, level: Level) -> Probe {
    Probe { key, ..Probe::of(message, role, level) }
}

fn stray(level: Level) -> Probe {
    Probe::of(UNKNOWN, Role::Stray, level)
}

/// Recognises a message that begins with the magic; `rest` follows it. Confidence grows with the number of matches among type,
/// version, terminator and length, because two bytes alone match by chance once in 65,536.
#[inline]
fn with_magic(p: &[u8], rest: &[u8], wire_len: usize) -> Probe {
    let terminated = p.len() == wire_len && wire_len >= 5 && p.last() == Some(&1);
    let level = |known: bool, version: bool, length: bool| {
        let signs = [known, version, length, terminated];
        match signs.into_iter().filter(|sign| *sign).count() {
            0 | 1 => Level::Low,
            2 => Level::Medium,
            _ => Level::High,
        }
    };
    let key = rest.get(2..).and_then(|r| r.first_chunk::<8>()).map(|c| u64::from_le_bytes(*c));
    match *rest {
        [POLL, version, ..] => {
            let level = level(true, version == 1, wire_len == POLL_LEN);
            Probe { request_state: u32::from(version), ..status(Role::Request, POLL, key, level) }
        }
        [STATE_RESPONSE, version, ..] => {
            let level = level(true, version == 1, state_len(p) == Some(wire_len));
            status(Role::Response, STATE_RESPONSE, key, level)
        }
        [POLL] => stray(level(true, false, wire_len == POLL_LEN)),
        [STATE_RESPONSE] => stray(level(true, false, false)),
        _ => stray(level(false, rest.get(1) == Some(&1), false)),
    }
}

/// The length that a state response announces: 29 bytes, three for each sub state, and the name.
#[inline]
fn state_len(p: &[u8]) -> Option<usize> {
    let entries = (*p.get(25)? as usize).saturating_mul(3);
    let name = p.get(entries.saturating_add(26)..)?.first_chunk::<2>()?;
    Some(entries.saturating_add(29).saturating_add(u16::from_le_bytes(*name) as usize))
}

/// Recognises a message of version 0: a hint, or low confidence on one of the usual ports, and certain once a pair agrees.
fn legacy(role: Role, p: &[u8], port: u16) -> Option<Probe> {
    let key = p.get(2..)?.first_chunk::<8>().map(|c| u64::from_le_bytes(*c))?;
    let level = if port == LEGACY_PORT || port == GAME_PORT { Level::Low } else { Level::Hint };
    let message = if role == Role::Request { LEGACY_POLL } else { LEGACY_STATE_RESPONSE };
    Some(status(role, message, Some(key), level))
}
