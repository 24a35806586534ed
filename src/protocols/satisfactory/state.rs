//! The state response.
//!
//! ```text
//! cookie u64 │ server_state u8 │ server_net_cl u32 │ server_flags u64
//! │ num_sub_states u8 │ num × (id u8 │ version u16) │ server_name_length u16 │ server_name │ 01
//! ```

use super::envelope::{COOKIE, ENV_005, ENV_006, SURPLUS, terminator};
use super::samples::*;
use crate::decode::wire::*;
use crate::decode::{
    Cursor, Ends, Facts, Fault, Field, FieldSink, Labels, Span, Str, Value, Version, fields,
};
use crate::rule::{Example, Rule, Step::*, rules};

/// The game client's receive buffer in bytes.
const CLIENT_BUFFER: usize = 256;

/// Names of the server states, by number.
pub(super) static STATES: [&str; 4] = ["Offline", "Idle", "Loading", "Playing"];
const PLAYING: u8 = 3;

/// Names of the server flags, lowest bit first.
static FLAGS: &[&str] = &["Modded", "Custom1", "Custom2", "Custom3", "Custom4"];
const KNOWN_FLAGS: u64 = 0x1f;

/// Names of the sub states, by number. Vanilla servers send the first four.
static SUB_STATES: [&str; 8] = [
    "ServerGameState",
    "ServerOptions",
    "AdvancedGameSettings",
    "SaveCollection",
    "Custom1",
    "Custom2",
    "Custom3",
    "Custom4",
];
const VANILLA: u64 = 0x0f;
/// Bytes of a sub state: number and version.
const ENTRY: usize = 3;

fields! {
    /// State of the server: 0 offline, 1 idle, 2 loading, 3 playing.
    SERVER_STATE = "server_state": Uint, Labels::FromZero(&STATES);
    /// The same by name.
    SERVER_STATE_NAME = "server_state_name": Named;
    /// Changelist of the server; a client needs the same to join.
    SERVER_NET_CL = "server_net_cl": Uint;
    /// Bit 0 Modded, bits 1 to 4 Custom1 to Custom4.
    SERVER_FLAGS = "server_flags": Uint64, Labels::Bits(FLAGS);
    /// The same by name.
    SERVER_FLAG_NAMES = "server_flag_names": Names;
    /// How many sub states follow.
    NUM_SUB_STATES = "num_sub_states": Uint;
    /// Counters that tell a client which part of its knowledge is out of date.
    SUB_STATE_LIST = "sub_states": List;
    /// One counter.
    SUB_STATE = "sub_states[]": Group;
    /// Its number.
    SUB_STATE_ID = "sub_states[].id": Uint, Labels::FromZero(&SUB_STATES);
    /// The same by name.
    SUB_STATE_NAME = "sub_states[].name": Named;
    /// Its value, one higher after each change.
    SUB_STATE_VERSION = "sub_states[].version": Uint;
    /// Length of the name in bytes.
    SERVER_NAME_LENGTH = "server_name_length": Uint;
    /// Name of the server, as its owner set it.
    SERVER_NAME = "server_name": Text;
}

rules! {
    /// It is cut in the cookie, state, changelist, flags, number of sub states or length of the name.
    RSP_001 = "SFQ-RSP-001" Error "response ends inside its fixed fields" {
        cite: api("Server State"),
        examples: [
            Example::of(&[PQ, S("d5f6 01 01 efcdab8901")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 01")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a01")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 00000001")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 01")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 0011000101000305000201000301")]),
        ],
    }
    /// States go from 0 (Offline) to 3 (Playing).
    RSP_002 = "SFQ-RSP-002" Error "server state is undefined" {
        cite: api("Server State Enum"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 04 7a960500 0000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// State 0 exists in the list, but servers never send it.
    RSP_003 = "SFQ-RSP-003" Error "server says it is offline" {
        cite: api("Server State Enum"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 00 7a960500 0000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// NumSubStates announces more entries of three bytes than there are.
    RSP_004 = "SFQ-RSP-004" Error "sub states run past the end" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 c8 001100010100030500020100030046616201")])],
    }
    /// ServerNameLength announces more bytes than there are before the terminator.
    RSP_005 = "SFQ-RSP-005" Error "server name runs past the end" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100010100030500020100f40146616201")])],
    }
    /// Some clients decode it byte by byte and do not notice; others show nothing.
    RSP_006 = "SFQ-RSP-006" Error "server name is not valid UTF-8" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 0011000101000305000201000100ff01")])],
    }
    /// The game client receives into a buffer of 256 bytes. With four sub states the name may have 215.
    RSP_007 = "SFQ-RSP-007" Warning "response is longer than 256 bytes" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [Example::of(&[PQ, S("d5f60101efcdab8967452301037a960500000000000000000004001100010100030500020100d800 46*216 01")])],
    }
    /// The published tables print the name behind a one-byte length and sub states of ten bytes. Real ones
    /// have a two-byte length and three bytes; so do the header of the game and every client.
    RSP_008 = "SFQ-RSP-008" Error "layout follows an error of the document" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 00 0346616201")]),
            Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 01 00000000000000001100030046616201")]),
        ],
    }
    /// Bit 5 or above: values for which no meaning is published.
    RSP_009 = "SFQ-RSP-009" Note "reserved server flags are set" {
        cite: api("Server Flags Bits"),
        per_server: true,
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 2000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// One of the bits 0 to 4 is set. Vanilla clients do not connect to modded servers.
    RSP_010 = "SFQ-RSP-010" Note "server is modded or uses custom flags" {
        cite: api("Server Flags Bits"),
        per_server: true,
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0100000000000000 04 001100010100030500020100030046616201")])],
    }
    /// It must equal the client's for a client to be able to join.
    RSP_011 = "SFQ-RSP-011" Warning "changelist is 0" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 00000000 0000000000000000 04 001100010100030500020100030046616201")])],
    }
    /// It is set by the player who claimed the server.
    RSP_012 = "SFQ-RSP-012" Note "server name is empty" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 001100010100030500020100000001")])],
    }
    /// Usually the terminator of a C string, counted in by mistake.
    RSP_013 = "SFQ-RSP-013" Warning "server name contains a control character" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 00110001010003050002010004004661620001")])],
    }
    /// Its number is above 7. Unknown ones are not invalid; clients discard them.
    SUB_001 = "SFQ-SUB-001" Note "sub state is unknown" {
        cite: api("Server Sub States"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 05 001100010100030500020100090100030046616201")])],
    }
    /// Numbers 4 to 7 are for mods; vanilla servers do not send them.
    SUB_002 = "SFQ-SUB-002" Note "custom sub state is used" {
        cite: api("Server Sub States"),
        per_server: true,
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 05 001100010100030500020100040100030046616201")])],
    }
    /// The game client keeps them in a map by number: the last one wins.
    SUB_003 = "SFQ-SUB-003" Warning "sub state occurs twice" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 05 001100010100030500020100001200030046616201")])],
    }
    /// A vanilla server that runs a game sends all of 0 to 3.
    SUB_004 = "SFQ-SUB-004" Note "sub state is missing while playing" {
        cite: api("Server Sub States"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 01 001100030046616201")])],
    }
}

static FIXED: Ends = ends(&RSP_001);
static NAME: Ends = ends(&RSP_005);

const fn ends(early: &'static Rule) -> Ends {
    Ends::new(early, &ENV_006, &SURPLUS)
}

#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&FIXED);
    let wire_len = c.wire_len();
    c.check_whole(&RSP_007, || wire_len <= CLIENT_BUFFER);
    c.field(&COOKIE, le_u64)?;
    cut_before(c, &SERVER_STATE, 1)?;
    let server_state = c.field(&SERVER_STATE, byte)?;
    c.derived(&SERVER_STATE_NAME, named(server_state, &STATES));
    c.check(&RSP_002, || server_state <= PLAYING);
    c.check(&RSP_003, || server_state != 0);
    let server_net_cl = c.field(&SERVER_NET_CL, le_u32)?;
    c.check(&RSP_011, || server_net_cl != 0);
    let server_flags = c.field(&SERVER_FLAGS, le_u64)?;
    c.derived(&SERVER_FLAG_NAMES, Value::Names(FLAGS, server_flags as u32));
    c.check(&RSP_009, || server_flags & !KNOWN_FLAGS == 0);
    c.check(&RSP_010, || server_flags & KNOWN_FLAGS == 0);
    cut_before(c, &NUM_SUB_STATES, 1)?;
    let count = c.field(&NUM_SUB_STATES, byte)?;
    if !c.is_cut() && is_misprinted(count.into(), c.rest()) {
        return Err(c.stop_here(&RSP_008));
    }
    c.check(&RSP_008, || true);
    sub_states(c, count, server_state)?;
    c.ends(&FIXED);
    cut_before(c, &SERVER_NAME_LENGTH, 2)?;
    let length = c.field(&SERVER_NAME_LENGTH, le_u16)?;
    c.ends(&NAME);
    let server_name = c.text_behind_length(2, &SERVER_NAME, text(length as usize), Value::from)?;
    c.check(&RSP_012, || !server_name.0.is_empty());
    c.check_text(server_name, &RSP_006, &RSP_013);
    *c.facts = Facts {
        server_name: Some(server_name.into()),
        version: Some(Version::Number(server_net_cl.into())),
        state: STATES.get(usize::from(server_state)).copied(),
        ..Facts::default()
    };
    terminator(c, &ENV_005, &ENV_006)
}

/// Where the changelist stands in a message with its envelope.
pub(super) const NET_CL_AT: Span = Span { start: 13, end: 17 };
/// Where the sub states begin.
const SUB_STATES_AT: usize = 26;

/// What is compared from one response to the next.
pub(super) struct Brief<'a> {
    pub net_cl: u32,
    entries: &'a [u8],
}

/// Reads it out of a whole state response; `None` where that is too short.
pub(super) fn brief(p: &[u8]) -> Option<Brief<'_>> {
    let net_cl = u32::from_le_bytes(*p.get(NET_CL_AT.start.into()..)?.first_chunk()?);
    let count = usize::from(*p.get(SUB_STATES_AT.saturating_sub(1))?);
    let rest = p.get(SUB_STATES_AT..)?;
    let (entries, behind) = rest.split_at_checked(count.saturating_mul(ENTRY))?;
    if behind.is_empty() && rest.last() == Some(&1) {
        return None; // the last one would hold the terminator
    }
    Some(Brief { net_cl, entries: if is_misprinted(count, rest) { &[] } else { entries } })
}

impl Brief<'_> {
    /// Place of the version, number and version of each sub state.
    pub fn sub_states(&self) -> impl Iterator<Item = (Span, u8, u16)> {
        self.entries.as_chunks::<ENTRY>().0.iter().enumerate().map(|(i, &[id, low, high])| {
            let start = i.saturating_mul(ENTRY).saturating_add(SUB_STATES_AT).saturating_add(1) as u16;
            (Span { start, end: start.saturating_add(2) }, id, u16::from_le_bytes([low, high]))
        })
    }
}

/// The terminator, if it is all that is left, is not taken for a field of `width` bytes.
#[inline(always)]
fn cut_before<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    width: usize,
) -> Result<(), Fault> {
    if ends_with_terminator(c, width) {
        c.about(Some(field));
        return Err(c.short(&RSP_001));
    }
    Ok(())
}

/// Whether of the next `width` bytes the last one, or one before it, is the terminator.
#[inline(always)]
fn ends_with_terminator<S: FieldSink>(c: &Cursor<'_, '_, S>, width: usize) -> bool {
    c.rest().len() <= width && c.rest().last() == Some(&1) && !c.is_cut()
}

fn named(value: u8, names: &'static [&'static str]) -> Value<'static> {
    Value::Named(value as u32, names.get(value as usize).copied())
}

#[inline(always)]
fn sub_states<S: FieldSink>(c: &mut Cursor<'_, '_, S>, count: u8, state: u8) -> Result<(), Fault> {
    let before = c.to_end().start;
    let mut seen = [0u64; 4];
    c.list(
        &SUB_STATE_LIST,
        |_, done| done < count as u16,
        |c| {
            if c.rest().len() < ENTRY || ends_with_terminator(c, ENTRY) {
                return Err(c.short(&RSP_004)); // half an entry is none
            }
            c.group(&SUB_STATE, |c| {
                let id = c.field(&SUB_STATE_ID, byte)?;
                c.derived(&SUB_STATE_NAME, named(id, &SUB_STATES));
                c.check(&SUB_001, || (id as usize) < SUB_STATES.len());
                c.check(&SUB_002, || !(4..8).contains(&id));
                c.check(&SUB_003, || first_time(&mut seen, id));
                c.field(&SUB_STATE_VERSION, le_u16).map(drop)
            })
        },
    )?;
    let at = Span { start: before, end: c.offset() };
    c.about(Some(&SUB_STATE_LIST));
    c.check_at(&SUB_004, at, || state != PLAYING || seen[0] & VANILLA == VANILLA);
    Ok(())
}

/// Marks a number as seen; `false` if it was before.
fn first_time(seen: &mut [u64; 4], id: u8) -> bool {
    let Some(word) = seen.get_mut(id as usize / 64) else { return true };
    let bit = 1u64 << (id % 64);
    let new = *word & bit == 0;
    *word |= bit;
    new
}

/// Whether the length of a name at `at`, the name and the terminator end where the message ends.
#[inline(always)]
fn ends_with_name(rest: &[u8], at: usize) -> bool {
    let Some(&[low, high]) = rest.get(at..).and_then(|r| r.first_chunk::<2>()) else { return false };
    let name = u16::from_le_bytes([low, high]) as usize;
    rest.len() == at.saturating_add(name).saturating_add(3)
}

/// Whether so many sub states are laid out as the document misprints them, and not as they are.
#[inline(always)]
fn is_misprinted(count: usize, rest: &[u8]) -> bool {
    !ends_with_name(rest, count.saturating_mul(ENTRY)) && follows_misprint(count, rest)
}

/// Whether what follows the number of sub states fits one of the document's misprints exactly: a name
/// behind a one-byte length, or sub states of ten bytes.
#[cold]
fn follows_misprint(count: usize, rest: &[u8]) -> bool {
    // Length of the name at `at`, in `width` bytes, with name and terminator up to the end.
    let fits = |at: usize, width: usize| {
        let length = match rest.get(at..at.saturating_add(width)) {
            Some(&[low]) => low as usize,
            Some(&[low, high]) => u16::from_le_bytes([low, high]) as usize,
            _ => return false,
        };
        let name = at.saturating_add(width);
        let end = name.saturating_add(length);
        let clean = rest.get(name..end).is_some_and(|name| !Str(name).has_control() && Str(name).is_utf8());
        clean && rest.get(end..) == Some(&[1])
    };
    fits(count.saturating_mul(ENTRY), 1) || count > 0 && fits(count.saturating_mul(10), 2)
}
