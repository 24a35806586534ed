//! The messages.
//!
//! ```text
//! envelope  d5 f6 │ message_type u8 │ protocol_version u8 │ payload │ 01
//! poll      cookie u64
//! state     cookie u64 │ server_state u8 │ server_net_cl u32 │ server_flags u64
//!           │ num_sub_states u8 │ num × (id u8 │ version u16) │ server_name_length u16 │ server_name
//! ```
//!
//! Version 0, before the game's 1.0, had no envelope and UDP port 15777:
//!
//! ```text
//! poll      00 │ 00 │ cookie u64
//! state     01 │ 00 │ cookie u64 │ server_state u8 │ server_net_cl u32 │ beacon_port u16
//! ```

use super::LEGACY_POLL;
use super::exchange::*;
use crate::decode::{Facts, Version};
use crate::protocols::prelude::*;

const MAGIC: u16 = 0xf6d5;

// --- The envelope, and the poll

fields! {
    list ENVELOPE_FIELDS;
    /// 0xF6D5 in every message.
    PROTOCOL_MAGIC = "protocol_magic": Uint;
    /// 0 poll, 1 state response.
    MESSAGE_TYPE = "message_type": Uint, Labels::FromZero(&["poll", "state response"]);
    /// 1; 0 in messages from before the game's 1.0.
    PROTOCOL_VERSION = "protocol_version": Uint;
    /// Identifier of the request, copied back; opaque. Clients use a time or a constant.
    COOKIE = "cookie": Uint64 volatile token;
    /// Bytes before the terminator that belong to no field.
    PAYLOAD_SURPLUS = "payload_surplus": Bytes;
    /// 1, the last byte.
    TERMINATOR = "terminator": Uint;
    /// Bytes behind the end of the message.
    SURPLUS = "surplus": Bytes;
}

rules! {
    list ENVELOPE_RULES;
    /// Magic, type, version and terminator are five bytes. In a known conversation an empty datagram or
    /// half the magic counts too.
    ENV_001 = "SFQ-ENV-001" Error "message is shorter than its envelope" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 01")])],
    }
    /// Numbers are little-endian, so the message starts with D5 F6. F6 D5 is the same number with its bytes
    /// swapped; anything else stands where the answer to an open poll belongs.
    ENV_002 = "SFQ-ENV-002" Error "magic is not 0xF6D5" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("f6d50001efcdab896745230101")])],
    }
    /// Only polls (0) and state responses (1) exist.
    ENV_003 = "SFQ-ENV-003" Error "message type is neither 0 nor 1" {
        cite: api("Protocol, message types"),
        examples: [Example::of(&[C("d5f6 02 01 efcdab8967452301 01")])],
    }
    /// Version 1 is the current one. Version 0, before the game's 1.0, never had this envelope.
    ENV_004 = "SFQ-ENV-004" Error "protocol version is not 1" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 02 efcdab8967452301 01")])],
    }
    /// Messages that do not end with 0x01 are discarded: Unreal takes the highest bit set in the last byte
    /// as the end of the data, and refuses a last byte of 0.
    ENV_005 = "SFQ-ENV-005" Error "last byte is not the terminator" {
        cite: api("Protocol"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301 00")])],
    }
    /// The name is the last field of the payload.
    ENV_006 = "SFQ-ENV-006" Warning "bytes stand between server name and terminator" {
        cite: api("Server State"),
        examples: [Example::of(&[PQ, S("d5f6 01 01 efcdab8967452301 03 7a960500 0000000000000000 04 0011000101000305000201000300466162aa01")])],
    }
    /// Its cookie is incomplete, or the terminator is missing.
    REQ_001 = "SFQ-REQ-001" Error "poll is shorter than 13 bytes" {
        cite: api("Poll Server State"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301")])],
    }
    /// Bytes stand between cookie and terminator.
    REQ_002 = "SFQ-REQ-002" Warning "poll is longer than 13 bytes" {
        cite: api("Poll Server State"),
        examples: [Example::of(&[C("d5f6 00 01 efcdab8967452301 0001")])],
    }
    /// The cookie should be a unique identifier of the request.
    REQ_004 = "SFQ-REQ-004" Note "cookie is 0" {
        cite: api("Poll Server State"),
        strict: Warning,
        examples: [Example::of(&[C("d5f6 00 01 0000000000000000 01")])],
    }
    /// A state response from the client, or a poll from the server.
    REQ_005 = "SFQ-REQ-005" Error "message type contradicts the direction" {
        cite: api("Protocol, message types"),
        examples: [Example::of(&[PQ, OK, C("d5f6 01 01 efcdab8967452301 037a960500000000000000000004001100010100030500020100030046616201")])],
    }
}

pub(super) static ENVELOPE: Ends = Ends::new(&ENV_001, &ENV_006, &SURPLUS);
static POLL_ENDS: Ends = Ends::new(&REQ_001, &REQ_002, &SURPLUS);

#[inline(always)]
pub(super) fn decode<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    let magic = c.field(&PROTOCOL_MAGIC, le_u16)?;
    c.require_that(&ENV_002, magic == MAGIC, || {
        Compared::new(ComparedValue::Hex(magic.into(), 4), ComparedValue::Hex(MAGIC.into(), 4))
    })?;
    c.check(&LEG_001, || true);
    let kind = c.field(&MESSAGE_TYPE, byte)?;
    c.require_that(&ENV_003, kind <= 1, || Compared::new(kind, "0 or 1"))?;
    let by_server = cx.direction == Direction::S2c;
    c.compare(&REQ_005, || (kind == 1) == by_server, || Compared::new(kind, i64::from(by_server)));
    let version = c.field(&PROTOCOL_VERSION, byte)?;
    c.compare(&ENV_004, || version == 1, || Compared::new(version, 1));
    c.compare(&TXN_007, || version == 1 || cx.asked != Some(1) || !by_server, || Compared::new(version, 1));
    if c.rest().is_empty() {
        c.about(Some(if c.is_cut() { &COOKIE } else { &TERMINATOR }));
        return Err(Fault { needs: 1, ..c.short(&ENV_001) });
    }
    // A closure that holds the cursor, as `map_err` takes, would keep the cursor out of registers.
    match if kind == 1 { state(c) } else { poll(c) } {
        Ok(()) => Ok(()),
        Err(fault) => Err(c.out_of_line(|c| cut_short(c, fault))),
    }
}

#[inline(always)]
fn poll<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&POLL_ENDS);
    let cookie = c.field(&COOKIE, le_u64)?;
    c.compare(
        &REQ_004,
        || cookie != 0,
        || Compared::new(ComparedValue::Hex(cookie, 16), "a cookie other than 0"),
    );
    if c.rest().is_empty() {
        c.about(Some(&TERMINATOR));
        return Err(Fault { needs: 1, ..c.short(&REQ_001) });
    }
    terminator(c, &REQ_001, &REQ_002)
}

/// A message that was cut short has lost its terminator as well, unless its last byte looks like one. The missing terminator is
/// reported after its cause.
#[cold]
#[inline(never)]
fn cut_short<S: FieldSink>(c: &mut Cursor<'_, '_, S>, fault: Fault) -> Fault {
    let whole = c.whole();
    let lost = [&RSP_001, &RSP_004, &RSP_005, &REQ_001].contains(&fault.rule) && c.last_byte() != Some(1);
    if !lost {
        return fault;
    }
    c.report(fault);
    let at = Span { start: whole.end.saturating_sub(1), ..whole };
    Fault { rule: &ENV_005, at, field: Some(&TERMINATOR), needs: 0, values: Compared::NOTHING }
}

/// Reads the terminator, which is the last byte. `none` is broken if no byte is left for it, and `more` if other bytes precede
/// it.
#[inline(always)]
fn terminator<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    none: &'static Rule,
    more: &'static Rule,
) -> Result<(), Fault> {
    let before = c.rest().len().saturating_sub(1);
    if c.is_cut() {
        c.about(Some(&TERMINATOR));
        return Err(c.short(none));
    }
    if c.rest().is_empty() {
        // Decoding has succeeded up to here, so its result is kept.
        let at = c.to_end();
        c.about(Some(&TERMINATOR));
        c.compare_at(none, at, || false, || Compared::new(ComparedValue::Bytes(0), ComparedValue::Bytes(1)));
        return Ok(());
    }
    if before > 0 {
        c.out_of_line(|c| surplus(c, before, more))?;
    }
    let last = c.field(&TERMINATOR, byte)?;
    c.compare(&ENV_005, || last == 1, || Compared::new(ComparedValue::byte(last), ComparedValue::byte(1)));
    Ok(())
}

#[cold]
fn surplus<S: FieldSink>(c: &mut Cursor<'_, '_, S>, len: usize, rule: &'static Rule) -> Result<(), Fault> {
    c.field(&PAYLOAD_SURPLUS, bytes(len))?;
    c.compare(rule, || false, || Compared::new(ComparedValue::Bytes(len as u64), "none"));
    Ok(())
}

// --- The state

/// The game client's receive buffer in bytes.
const CLIENT_BUFFER: usize = 256;

/// Names of the server states, by number.
static STATES: [&str; 4] = ["Offline", "Idle", "Loading", "Playing"];
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

fields! {
    list STATE_FIELDS;
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
    SERVER_NAME = "server_name": Text personal;
}

rules! {
    list STATE_RULES;
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

static FIXED: Ends = Ends::new(&RSP_001, &ENV_006, &SURPLUS);
static NAME: Ends = Ends::new(&RSP_005, &ENV_006, &SURPLUS);

#[inline(always)]
fn state<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Result<(), Fault> {
    c.ends(&FIXED);
    let wire_len = c.wire_len();
    c.compare_whole(
        &RSP_007,
        || wire_len <= CLIENT_BUFFER,
        || Compared::new(ComparedValue::Bytes(wire_len as u64), ComparedValue::AtMost(CLIENT_BUFFER as i64)),
    );
    c.field(&COOKIE, le_u64)?;
    cut_before(c, &SERVER_STATE, 1)?;
    let server_state = c.field(&SERVER_STATE, byte)?;
    c.derived(&SERVER_STATE_NAME, named(server_state, &STATES));
    c.compare(
        &RSP_002,
        || server_state <= PLAYING,
        || Compared::new(server_state, ComparedValue::AtMost(PLAYING.into())),
    );
    c.check_number(&RSP_003, server_state, ComparedValue::Not(0));
    cut_before(c, &SERVER_NET_CL, 4)?;
    let server_net_cl = c.field(&SERVER_NET_CL, le_u32)?;
    c.check_number(&RSP_011, server_net_cl, ComparedValue::Not(0));
    cut_before(c, &SERVER_FLAGS, 8)?;
    let server_flags = c.field(&SERVER_FLAGS, le_u64)?;
    c.derived(&SERVER_FLAG_NAMES, Value::Names(FLAGS, server_flags as u32));
    c.compare(
        &RSP_009,
        || server_flags & !KNOWN_FLAGS == 0,
        || {
            Compared::new(
                ComparedValue::Hex(server_flags, 16),
                ComparedValue::Hex(server_flags & KNOWN_FLAGS, 16),
            )
        },
    );
    c.compare(
        &RSP_010,
        || server_flags & KNOWN_FLAGS == 0,
        || {
            Compared::new(
                ComparedValue::Hex(server_flags, 16),
                ComparedValue::Hex(server_flags & !KNOWN_FLAGS, 16),
            )
        },
    );
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
    if ends_with_terminator(c, length.into()) {
        return Err(name_too_long(c));
    }
    let server_name = c.text_after_length(2, &SERVER_NAME, text(length as usize), Value::from)?;
    c.compare(&RSP_012, || !server_name.0.is_empty(), || Compared::new(server_name, "a name"));
    c.check_text(server_name, &RSP_006, &RSP_013);
    *c.facts = Facts {
        server_name: Some(server_name.into()),
        version: Some(Version::Number(server_net_cl.into())),
        state: STATES.get(usize::from(server_state)).copied(),
        ..Facts::default()
    };
    terminator(c, &ENV_005, &ENV_006)
}

/// Fails if the message ends after the next `width` bytes, so that its terminator is not read as part of the field.
#[inline(always)]
fn cut_before<S: FieldSink>(
    c: &mut Cursor<'_, '_, S>,
    field: &'static Field,
    width: usize,
) -> Result<(), Fault> {
    if ends_with_terminator(c, width) {
        c.about(Some(field));
        let left = ComparedValue::Bytes(width.saturating_sub(1) as u64);
        let values = Compared::new(left, ComparedValue::Bytes(width as u64));
        return Err(Fault { values, ..c.short(&RSP_001) });
    }
    Ok(())
}

/// The fault of a name whose length includes the terminator. It covers the length and the name.
#[cold]
fn name_too_long<S: FieldSink>(c: &mut Cursor<'_, '_, S>) -> Fault {
    c.about(Some(&SERVER_NAME));
    let fault = c.short(&RSP_005);
    Fault { at: Span { start: fault.at.start.saturating_sub(2), ..fault.at }, ..fault }
}

/// Whether the message ends after the next `width` bytes, with a terminator.
#[inline(always)]
fn ends_with_terminator<S: FieldSink>(c: &Cursor<'_, '_, S>, width: usize) -> bool {
    c.rest().len() == width && c.rest().last() == Some(&1) && !c.is_cut()
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
                c.about(Some(&SUB_STATE_LIST));
                let values = Compared::new(c.element(), count);
                return Err(Fault { values, ..c.short(&RSP_004) }); // an incomplete entry does not count
            }
            c.group(&SUB_STATE, |c| {
                let id = c.field(&SUB_STATE_ID, byte)?;
                c.derived(&SUB_STATE_NAME, named(id, &SUB_STATES));
                c.compare(
                    &SUB_001,
                    || (id as usize) < SUB_STATES.len(),
                    || Compared::new(id, ComparedValue::AtMost(SUB_STATES.len().saturating_sub(1) as i64)),
                );
                c.compare(
                    &SUB_002,
                    || !(4..8).contains(&id),
                    || Compared::new(id, "a number that the game uses"),
                );
                c.compare(&SUB_003, || first_time(&mut seen, id), || Compared::new(id, "each number once"));
                c.field(&SUB_STATE_VERSION, le_u16).map(drop)
            })
        },
    )?;
    c.check(&RSP_004, || true);
    let at = Span { start: before, end: c.offset() };
    c.about(Some(&SUB_STATE_LIST));
    let required = seen[0] & VANILLA;
    let count = |set: u64| ComparedValue::Number(set.count_ones().into());
    let values = || Compared::new(count(required), count(VANILLA));
    c.compare_at(&SUB_004, at, || state != PLAYING || required == VANILLA, values);
    Ok(())
}

/// Marks a number as seen; returns `false` if it was seen before.
fn first_time(seen: &mut [u64; 4], id: u8) -> bool {
    let Some(word) = seen.get_mut(id as usize / 64) else { return true };
    let bit = 1u64 << (id % 64);
    let new = *word & bit == 0;
    *word |= bit;
    new
}

// --- Before 1.0

fields! {
    list LEGACY_FIELDS;
    /// UDP port of the beacon.
    BEACON_PORT = "beacon_port": Uint;
}

rules! {
    list LEGACY_RULES;
    /// Version 0 on UDP port 15777, without envelope. Servers of today do not answer it.
    LEG_001 = "SFQ-LEG-001" Note "protocol is the one before 1.0" {
        cite: css("Server/FGDSQueryTypes.h"),
        per_server: true,
        examples: [Example::on(15777, &[C("0000efcdab8967452301"), S("0100efcdab8967452301037f3b0300983a")])],
    }
    /// The client of that time takes exactly 17 bytes.
    LEG_002 = "SFQ-LEG-002" Error "answer of version 0 is not 17 bytes" {
        cite: css("Server/FGDSQueryTypes.h"),
        examples: [Example::on(15777, &[C("0000efcdab8967452301"), S("0100efcdab896745230103")])],
    }
}

static LEGACY: Ends = Ends::new(&LEG_002, &LEG_002, &SURPLUS);

pub(super) fn legacy<S: FieldSink>(c: &mut Cursor<'_, '_, S>, cx: Context) -> Result<(), Fault> {
    c.ends(&LEGACY);
    let kind = c.field(&MESSAGE_TYPE, byte)?;
    let version = c.field(&PROTOCOL_VERSION, byte)?;
    c.check_whole(&LEG_001, || false);
    let expected = if cx.message == LEGACY_POLL { 0 } else { 1 };
    let both = |kind: u8, version: u8| ComparedValue::Hex(u64::from(kind) << 8 | u64::from(version), 4);
    let values = || Compared::new(both(kind, version), both(expected, 0));
    c.require_that(&LEG_002, (kind, version) == (expected, 0), values)?;
    c.field(&COOKIE, le_u64)?;
    if cx.message == LEGACY_POLL {
        return Ok(());
    }
    let server_state = c.field(&SERVER_STATE, byte)?;
    c.derived(&SERVER_STATE_NAME, named(server_state, &STATES));
    let server_net_cl = c.field(&SERVER_NET_CL, le_u32)?;
    c.facts.version = Some(Version::Number(server_net_cl.into()));
    c.field(&BEACON_PORT, le_u16).map(drop)
}
