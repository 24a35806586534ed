//! Recognises other queries on the wire, which a protocol must not claim.

use super::raknet::is_ping_or_pong;
use crate::contract::{Info, Known, Probe};

/// Whether the payload begins like another query or its answer. A host may offer several query protocols, and a client may
/// use one socket for all of them.
pub(super) fn is_other_query(payload: &[u8]) -> bool {
    match payload {
        // Source, Quake and Titanfall; GameSpy 2 and 3; SA-MP and Vice City; TeamSpeak 3; All-Seeing Eye; Unreal 2.
        [0xfe | 0xff, 0xff, 0xff, 0xff, ..] | [0xfe, 0xfd, 0 | 9, _, _, _, _, ..] => true,
        [b'S', b'A', b'M', b'P', head @ ..] => head.get(6).is_some_and(|opcode| b"ircdpxo".contains(opcode)),
        [b'V', b'C', b'M', b'P', ..] | [b'T', b'S', b'3', b'I', b'N', b'I', b'T', b'1', ..] => true,
        [b'E', b'Y', b'E', b'1'..=b'3', _, _, ..] | [0x78 | 0x79, 0, 0, 0, 0..=3] => true,
        // GameSpy 1: `\key\`, and messages like it.
        [b'\\', key @ ..] => key.iter().find(|b| !b.is_ascii_alphanumeric() && **b != b'_') == Some(&b'\\'),
        // Mumble's ping, and its answer, which repeats what follows the zeros.
        [0, 0, 0, 0, ident @ ..] if ident.len() == 8 => ident.iter().any(|b| *b != 0),
        // A letter of All-Seeing Eye.
        [b's' | b'b' | b'x' | b'v'] => true,
        _ => is_ping_or_pong(payload),
    }
}

/// Claims a datagram as `unknown` if its conversation is known or the user names its server, unless it is another query.
pub(super) fn unknown(info: &Info, payload: &[u8], known: Known<'_>) -> Option<Probe> {
    let ours = (known.conversation || known.pinned) && !is_other_query(payload);
    let probe = if ours { info.stray(info.unknown(), payload, known) } else { None };
    probe.map(|probe| Probe { request_state: Probe::ANYTHING, ..probe })
}
